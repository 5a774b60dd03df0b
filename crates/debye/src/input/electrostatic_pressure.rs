//! Settings of long-range electrostatics that keep the error of the pressure small, where a barostat goes by it.

use super::error::InputError;
use super::forces::Terms;
use super::reader::Section;
use crate::forces::electrostatics::{Boundary, Electrostatics, MeshPlan, Method};
use crate::forces::pme::estimate::{Charged, coarsest_where, waves_where};
use crate::forces::pme::expected::{Expected, two_digits};
use crate::forces::pme::pressure::{ChargeOrder, PressureError};
use crate::system::{Dimension, System, Units};

/// The error of the pressure that is always allowed, in bar, or in ε/σ³: what one atmosphere is to a liquid.
const MD_BAR: f64 = 1.0;
const REDUCED: f64 = 1e-3;
/// And so much of the pressure that the barostat is to keep.
const OF_TARGET: f64 = 0.01;

impl<'a> Terms<'_, 'a> {
    /// The error of the pressure that is allowed: the file's, or with a barostat the usual one.
    pub(super) fn pressure_bound(
        &self,
        section: &Section<'a>,
        boundary: Boundary,
    ) -> Result<Option<f64>, InputError> {
        if let (Some(item), Boundary::Slab { .. }) = (section.get("pressure_tolerance"), boundary) {
            return Err(item
                .key_error("`pressure_tolerance` is for cells that are periodic in all directions")
                .expected("no such key")
                .help("the pressure of a slab is not defined by its cell"));
        }
        let own = section.map("pressure_tolerance", |i| {
            i.positive(self.units, Dimension::PRESSURE)
        })?;
        let least = match self.units {
            Units::Md => MD_BAR / self.units.bar(),
            Units::LennardJones => REDUCED,
        };
        Ok(own.or(self.target_pressure.map(|target| least + OF_TARGET * target)))
    }
}

/// What settings are chosen by.
pub(super) struct Choice<'c, 'a> {
    pub(super) system: &'c System,
    pub(super) section: &'c Section<'a>,
    pub(super) charged: &'c Charged,
    /// Error of forces of the pair term and of the rest, each.
    pub(super) force_error: f64,
    /// Error of the pressure.
    pub(super) allowed: f64,
}

impl Choice<'_, '_> {
    /// Makes α and the mesh finer where the pressure needs it and the file leaves them open. The answer is a warning where
    /// the error stays above what is allowed.
    pub(super) fn tighten(&self, plan: &mut Electrostatics, units: Units) -> Option<String> {
        let order = ChargeOrder::of(self.system, *self.charged, plan.cutoff);
        let mut error = order.error(plan);
        if error.total() <= self.allowed {
            return None;
        }
        if let Some(finer) = self.finer(&order, plan) {
            let found = order.error(&finer);
            if found.total() < error.total() && self.forces_no_worse(plan, &finer) {
                (*plan, error) = (finer, found);
            }
        }
        (error.total() > self.allowed).then(|| self.warning(plan, &error, units))
    }

    fn finer(&self, order: &ChargeOrder, plan: &Electrostatics) -> Option<Electrostatics> {
        // Half to the pair term, half to the rest, which may have one sign.
        let each = 0.5 * self.allowed;
        let given = |key: &str| self.section.get(key).is_some();
        let alpha = match given("alpha") {
            true => plan.alpha,
            false => order.alpha(plan.alpha, each),
        };
        let method = match &plan.method {
            _ if given("mesh") || given("waves") => plan.method.clone(),
            Method::Mesh(mesh) => {
                let good = |mesh: &MeshPlan| {
                    self.charged.mesh_error(alpha, mesh) <= self.force_error
                        && order.mesh_error(alpha, mesh)[1] <= each
                };
                let found = coarsest_where(self.charged, alpha, mesh.basis, mesh.optimal, good);
                Method::Mesh(found?)
            }
            Method::Ewald(_) => Method::Ewald(waves_where(self.charged, |longest| {
                self.charged.wave_error(alpha, longest) <= self.force_error
                    && order.wave_error(alpha, longest)[1] <= each
            })),
        };
        Some(Electrostatics {
            alpha,
            method,
            ..plan.clone()
        })
    }

    /// A larger α asks more of a mesh that is given.
    fn forces_no_worse(&self, before: &Electrostatics, after: &Electrostatics) -> bool {
        let of = |plan| Expected::of_plan(self.charged, plan).map_or(0.0, |e| e.total());
        of(after) <= of(before).max(self.force_error * 2.0_f64.sqrt())
    }

    fn warning(&self, plan: &Electrostatics, error: &PressureError, units: Units) -> String {
        let given: Vec<&str> = ["alpha", "mesh", "waves"]
            .into_iter()
            .filter(|key| self.section.get(key).is_some())
            .collect();
        let help = match given[..] {
            [] => "a longer `cutoff` or a higher `order` helps".to_owned(),
            _ => format!("without `{}` the rest is chosen for it", given.join("` and `")),
        };
        let (factor, unit) = units.readable(Dimension::PRESSURE);
        let two = |x: f64| two_digits(factor * x.abs());
        format!(
            "the error of the pressure from {} is estimated at {} {unit} (pairs {}, the rest {}), above the {} {unit} that \
             are allowed (`pressure_tolerance`): {help}; `debye energy --check-electrostatics` measures it",
            plan.kind(),
            two(error.total()),
            two(error.pairs),
            two(error.rest),
            two(self.allowed)
        )
    }
}
