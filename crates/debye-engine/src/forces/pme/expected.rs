//! [`Expected`]: the settings of long-range electrostatics in a sentence, with the errors they are expected to have.

use super::Basis;
use super::estimate::Charged;
use super::pressure::{ChargeOrder, PressureError};
use crate::expr::Vec3;
use crate::forces::ForceField;
use crate::forces::electrostatics::{Boundary, Electrostatics, Method, ReciprocalVectors, Within};
use crate::system::{Dimension, System, Units};

/// Errors of forces before any is computed: root mean squares over the charged particles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// Of leaving out pairs beyond the cut-off.
    pub pairs: f64,
    /// Of the mesh, or of leaving out reciprocal vectors.
    pub rest: f64,
    /// The force between neighbors, which tolerances are fractions of.
    pub usual: f64,
}

impl Expected {
    /// For a system and its force field, with regard to where its charges are; `None` where it has no long-range
    /// electrostatics, or no charges.
    pub fn of(system: &System, field: &ForceField) -> Option<Self> {
        let plan = field.electrostatics.as_ref()?;
        let charged = charged(system, field, plan);
        let p = &system.particles;
        match plan.grids() {
            Some(_) => Self::of_plan(&charged, plan),
            None => Self::of_plan(&charged.placed(&p.positions, &p.charges, plan.alpha), plan),
        }
    }

    /// For settings that are not those of a field yet.
    pub fn of_plan(charged: &Charged, plan: &Electrostatics) -> Option<Self> {
        if charged.squares == 0.0 {
            return None;
        }
        let pairs = || charged.pair_error(plan.alpha, plan.cutoff);
        let (pairs, rest) = match &plan.method {
            Method::Mesh(mesh) => (pairs(), charged.mesh_error(plan.alpha, mesh)),
            Method::Ewald(set) => (
                pairs(),
                charged.reciprocal_error(plan.alpha, complete_up_to(charged, set)),
            ),
            // The pair term ends where the smooth part is all of 1/r.
            Method::Multilevel(grids) => (0.0, charged.grid_error(&grids.split)),
        };
        Some(Self {
            pairs,
            rest,
            usual: charged.usual_force(),
        })
    }

    /// Both errors together: they are independent of one another.
    pub fn total(&self) -> f64 {
        self.pairs.hypot(self.rest)
    }

    /// The same in units of the usual force.
    pub fn relative(&self) -> f64 {
        self.total() / self.usual
    }

    /// In words.
    pub fn sentence(&self, plan: &Electrostatics, units: Units) -> String {
        let parts = match plan.method {
            Method::Ewald(_) => format!(
                " (pairs {:.1e}, reciprocal vectors left out {:.1e})",
                self.pairs, self.rest
            ),
            Method::Mesh(_) => format!(" (pairs {:.1e}, the mesh {:.1e})", self.pairs, self.rest),
            Method::Multilevel(_) => String::new(),
        };
        format!(
            "{:.1e} {}{parts}, {:.1e} of the force between neighbors",
            self.total(),
            units.label(Dimension::FORCE),
            self.relative()
        )
    }
}

/// What errors depend on besides the settings.
pub fn charged(system: &System, field: &ForceField, plan: &Electrostatics) -> Charged {
    let k = field.coulomb_constant / plan.permittivity;
    Charged::of(system, plan.boundary, k)
}

/// The length of reciprocal vectors up to which a set has all reciprocal vectors.
pub(super) fn complete_up_to(charged: &Charged, set: &ReciprocalVectors) -> f64 {
    let lengths = charged.cell.to_arrays().map(|v| Vec3::from(v).norm());
    let longest_edge = lengths.iter().fold(0.0_f64, |a, &b| a.max(b));
    let of_box = (0..3).fold(f64::INFINITY, |least, k| {
        least.min(set.reach[k] as f64 / lengths[k])
    });
    match set.within {
        Within::Box => of_box,
        Within::Numbers(limit) => of_box.min(f64::from(limit.saturating_sub(1)).sqrt() / longest_edge),
        // Its reach is the longest vector, rounded down to whole indices.
        Within::Length(longest) => longest,
    }
    .max(0.5 / longest_edge)
}

impl Electrostatics {
    /// Its kind, as input files name it.
    pub fn kind(&self) -> &'static str {
        match &self.method {
            Method::Ewald(_) => "ewald",
            Method::Mesh(mesh) if mesh.optimal => "p3m",
            Method::Mesh(_) => "pme",
            Method::Multilevel(_) => "multilevel",
        }
    }

    /// Mesh, reciprocal vectors or grids: `mesh 63 × 63 × 63, order 5`.
    pub fn sum_in_words(&self) -> String {
        let three = |[x, y, z]: [usize; 3]| format!("{x} × {y} × {z}");
        match &self.method {
            Method::Ewald(set) => format!("kmax {}", three(set.reach)),
            Method::Mesh(mesh) => format!("mesh {}, {}", three(mesh.size), mesh.basis.in_words()),
            Method::Multilevel(grids) => format!(
                "{} grids, the finest {}{}, order {}",
                grids.levels,
                if self.boundary == Boundary::Open {
                    "about "
                } else {
                    ""
                },
                three(grids.points),
                grids.split.interpolation.order()
            ),
        }
    }

    /// The settings: kind, cut-off, α or spacing, mesh, reciprocal vectors or grids.
    pub fn in_words(&self, units: Units) -> String {
        let length = units.label(Dimension::LENGTH);
        let parameter = match self.grids() {
            None => format!(
                "α {} {}",
                four_digits(self.alpha),
                units.label(Dimension::PER_LENGTH)
            ),
            Some(grids) => format!("spacing {} {length}", four_digits(grids.split.spacing)),
        };
        format!(
            "{}, cut-off {} {length}, {parameter}, {}",
            self.kind(),
            four_digits(self.cutoff),
            self.sum_in_words()
        )
    }
}

impl Basis {
    /// `order 5`, or `cubic`.
    pub fn in_words(self) -> String {
        match self {
            Self::BSpline(order) => format!("order {order}"),
            Self::Cubic => "cubic".into(),
            Self::Interpolating(interpolation) => format!("interpolation of order {}", interpolation.order()),
        }
    }
}

/// The settings and their expected errors in one line; `None` where there is no long-range electrostatics. The error of
/// the pressure is named where there is one that is allowed.
pub fn describe(system: &System, field: &ForceField, pressure: Option<f64>) -> Option<String> {
    let plan = field.electrostatics.as_ref()?;
    let expected = Expected::of(system, field);
    let mut line = described(plan, expected, system.units);
    if let (Some(allowed), Some(_)) = (pressure, expected)
        && let Some(error) = PressureError::of(system, field)
    {
        line += &format!("; {}", error.sentence(plan, allowed, system.units));
    }
    Some(line)
}

impl PressureError {
    /// For a system and its force field; `None` where it has no long-range electrostatics, or no charges. That of
    /// multilevel summation is not estimated.
    pub fn of(system: &System, field: &ForceField) -> Option<Self> {
        let plan = field
            .electrostatics
            .as_ref()
            .filter(|plan| plan.grids().is_none())?;
        let charged = charged(system, field, plan);
        (charged.squares > 0.0).then(|| ChargeOrder::of(system, charged, plan.cutoff).error(plan))
    }

    /// In words: `estimated error of the pressure 0.8 bar (pairs 0.5, the mesh 0.6), allowed 1 bar`.
    pub fn sentence(&self, plan: &Electrostatics, allowed: f64, units: Units) -> String {
        let (factor, unit) = units.readable(Dimension::PRESSURE);
        let rest = match plan.method {
            Method::Ewald(_) => "reciprocal vectors left out",
            Method::Mesh(_) | Method::Multilevel(_) => "the mesh",
        };
        let two = |x: f64| two_digits(factor * x.abs());
        format!(
            "estimated error of the pressure {} {unit} (pairs {}, {rest} {}), allowed {} {unit}",
            two(self.total()),
            two(self.pairs),
            two(self.rest),
            four_digits(factor * allowed)
        )
    }
}

/// Two digits: `0.83`, `12`, `3.1e-4`.
pub fn two_digits(x: f64) -> String {
    match x {
        _ if x == 0.0 => "0".into(),
        _ if !(1e-2..1e4).contains(&x) => format!("{x:.1e}"),
        _ => {
            let digits = (1 - x.log10().floor() as i32).clamp(0, 4) as usize;
            format!("{x:.digits$}")
        }
    }
}

/// The same of errors that are known.
pub fn described(plan: &Electrostatics, expected: Option<Expected>, units: Units) -> String {
    let settings = plan.in_words(units);
    match expected {
        Some(expected) => format!(
            "{settings}; estimated error of forces {}",
            expected.sentence(plan, units)
        ),
        None => format!("{settings}; no particle has a charge"),
    }
}

/// About four digits, without zeros at the end.
fn four_digits(x: f64) -> String {
    let digits = (3 - x.abs().max(1e-12).log10().floor() as i32).clamp(0, 12) as usize;
    let text = format!("{x:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forces::electrostatics::{Boundary, MeshPlan};
    use crate::system::Cell;

    fn plan(method: Method) -> Electrostatics {
        Electrostatics {
            name: "coulomb".into(),
            cutoff: 1.0,
            alpha: 3.12,
            permittivity: 1.0,
            method,
            boundary: Boundary::Conductor,
        }
    }

    #[test]
    fn settings_in_words() {
        let mesh = |basis, optimal| {
            Method::Mesh(MeshPlan {
                size: [32, 36, 40],
                basis,
                optimal,
            })
        };
        let words = |method| plan(method).in_words(Units::Md);
        let expected = "pme, cut-off 1 nm, α 3.12 1/nm, mesh 32 × 36 × 40, order 5";
        assert_eq!(words(mesh(Basis::BSpline(5), false)), expected);
        let expected = "p3m, cut-off 1 nm, α 3.12 1/nm, mesh 32 × 36 × 40, cubic";
        assert_eq!(words(mesh(Basis::Cubic, true)), expected);
        let set = ReciprocalVectors {
            reach: [5, 6, 7],
            within: Within::Box,
        };
        assert!(words(Method::Ewald(set)).ends_with("kmax 5 × 6 × 7"));
        assert_eq!(four_digits(0.282), "0.282");
        assert_eq!(four_digits(12345.6), "12346");
    }

    /// Fewer reciprocal vectors, larger errors, however the set is limited.
    #[test]
    fn errors_of_sets_of_waves() {
        let cell = Cell::orthorhombic([2.0, 2.0, 3.0]).unwrap();
        let charges = [1.0, -1.0].repeat(50);
        let charged = Charged::new(&cell, Boundary::Conductor, &charges, 138.9);
        let rest = |reach, within| {
            let set = ReciprocalVectors { reach, within };
            Expected::of_plan(&charged, &plan(Method::Ewald(set)))
                .unwrap()
                .rest
        };
        let boxed = rest([8, 8, 12], Within::Box);
        assert!((rest([8, 8, 12], Within::Length(4.0)) / boxed - 1.0).abs() < 1e-12);
        assert!((rest([12; 3], Within::Numbers(145)) / boxed - 1.0).abs() < 1e-12);
        assert!(rest([8; 3], Within::Box) > 10.0 * boxed);
        assert!(rest([8, 8, 12], Within::Numbers(26)) > 10.0 * boxed);
        let none = Charged::new(&cell, Boundary::Conductor, &[0.0; 4], 138.9);
        let set = ReciprocalVectors::up_to(&cell, 3.0);
        assert_eq!(Expected::of_plan(&none, &plan(Method::Ewald(set))), None);
    }
}
