//! [`LongRange`]: what is asked of long-range electrostatics, and the settings that follow from it.

use super::electrostatics::{
    Boundary, EWALD, Electrostatics, GRID_ORDER, MULTILEVEL, MeshPlan, Method, ORDER, P3M, PME,
    ReciprocalVectors, SLAB_FACTOR, TOLERANCE, open_axis,
};
use super::multilevel::{Boundaries, GridPlan, Interpolation, MultilevelPlan};
use super::pme::Basis;
use super::pme::estimate::{
    Charged, coarsest, coarsest_where, good_size, most_points, vectors, vectors_where,
};
use super::pme::expected::{Expected, two_digits};
use super::pme::pressure::{ChargeOrder, PressureError};
use super::{ForceField, TermError};
use crate::record::Record;
use crate::system::{Cell, Dimension, System, Units};

/// The error of the pressure that is always allowed, in bar, or in ε/σ³: what one atmosphere is to a liquid.
const MD_BAR: f64 = 1.0;
const REDUCED: f64 = 1e-3;
/// And so much of the pressure that the barostat is to keep.
const OF_TARGET: f64 = 0.01;
/// Points of the finest grid of multilevel summation, at most.
const MOST_GRID_POINTS: f64 = 1e8;
/// An error of forces that nobody wants, where no tolerance was asked for.
const LARGE: f64 = 1e-2;
/// Products of grids in a step that take a core ten seconds or more, and for a particle many times what grids of usual
/// tolerances take.
const SLOW_PRODUCTS: f64 = 2e10;
const SLOW_PER_PARTICLE: f64 = 1e6;

/// Coulomb's law between all charges and their images, to a tolerance. What is not said is chosen for it:
///
/// ```
/// use debye::prelude::*;
///
/// let salt = builders::nacl([3, 3, 3]).build()?;
/// let mut field = ForceField::new(salt.units);
/// field.add_long_range(&LongRange::pme().cutoff(0.8).tolerance(1e-4), &salt)?;
/// assert_eq!(field.pairs[0].name, "coulomb-real");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct LongRange {
    /// The name of its model, such as `pme`.
    pub(crate) kind: &'static str,
    /// The name of the terms it makes.
    pub name: String,
    /// Where pairs end; the largest cut-off of the other terms if not given.
    pub cutoff: Option<f64>,
    /// Error of forces allowed, relative to the usual force between charges.
    pub tolerance: Option<f64>,
    /// α, chosen from cut-off and tolerance if not given.
    pub alpha: Option<f64>,
    /// Points along each cell vector.
    pub mesh: Option<[usize; 3]>,
    /// How charges are spread over a mesh.
    pub basis: Basis,
    /// Which reciprocal vectors are summed without a mesh.
    pub vectors: Option<ReciprocalVectors>,
    /// Spacing of the finest grid of multilevel summation.
    pub spacing: Option<f64>,
    /// Order of interpolation of multilevel summation.
    pub order: usize,
    /// Relative permittivity of everything.
    pub permittivity: f64,
    /// What is around the images, or which faces are open.
    pub boundary: Option<Boundary>,
    /// Error of the pressure allowed.
    pub pressure_tolerance: Option<f64>,
}

/// Why long-range electrostatics could not be set up.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LongRangeError {
    /// Another term has Coulomb's law already.
    #[error("`{0}` counts Coulomb's law between near charges once more; leave it out")]
    Twice(String),
    /// There is long-range electrostatics already.
    #[error("there are two terms of long-range electrostatics")]
    Two,
    /// A cell without images.
    #[error(
        "long-range electrostatics needs a cell that is periodic along two or three axes; this one is {0:?}. In an open \
         cell `Coulomb` with a cut-off beyond its size sums all pairs"
    )]
    Open([bool; 3]),
    /// A cell that multilevel summation has no grids for.
    #[error(
        "multilevel summation needs a rectangular cell that is periodic along no, two or three axes; this one is \
         {0}. `pme` sums triclinic cells"
    )]
    Grids(String),
    /// Grids that cannot represent what the cut-off leaves.
    #[error(
        "a spacing of {spacing:.4} with a cut-off of {cutoff:.4}; expected at most a third of the cut-off"
    )]
    Coarse {
        /// h.
        spacing: f64,
        /// a.
        cutoff: f64,
    },
    /// Grids too large.
    #[error(
        "grids of multilevel summation would have {points:.1e} points; take a larger spacing, tolerance or cut-off"
    )]
    ManyPoints {
        /// Of the finest.
        points: f64,
    },
    /// A slab that is open along the wrong vector.
    #[error("a slab in a triclinic cell must be open along its third vector")]
    TriclinicSlab,
    /// Neither it nor another term has a cut-off.
    #[error("the cut-off of {0} is not known: give one")]
    MissingCutoff(&'static str),
    /// A mesh that cannot be transformed.
    #[error(
        "a mesh of {size} points along an axis; expected at least {least}, and a product of 2, 3, 5 and 7"
    )]
    Mesh {
        /// Points along an axis.
        size: usize,
        /// The fewest that would do.
        least: usize,
    },
    /// A number that has no meaning.
    #[error("{what} is {value}; expected {expected}")]
    Invalid {
        /// What the number stands for.
        what: &'static str,
        /// Its value.
        value: f64,
        /// What would do.
        expected: &'static str,
    },
    /// The splitting parameter is too large for any mesh.
    #[error(
        "α = {alpha} is more than a mesh of up to {points} points can follow; about 3 divided by the cut-off is usual"
    )]
    SteepAlpha {
        /// The splitting parameter.
        alpha: f64,
        /// Points of the largest mesh.
        points: usize,
    },
    /// No mesh is fine enough.
    #[error(
        "no mesh of up to {points} points reaches this tolerance: take a longer cut-off or a higher order"
    )]
    NoMesh {
        /// Points of the largest mesh.
        points: usize,
    },
    /// The real-space term was refused.
    #[error(transparent)]
    Term(#[from] TermError),
}

impl LongRange {
    fn new(record: &'static Record) -> Self {
        Self {
            kind: record.name,
            name: "coulomb".into(),
            cutoff: None,
            tolerance: None,
            alpha: None,
            mesh: None,
            basis: Basis::BSpline(ORDER),
            vectors: None,
            spacing: None,
            order: GRID_ORDER,
            permittivity: 1.0,
            boundary: None,
            pressure_tolerance: None,
        }
    }

    /// Smooth particle mesh Ewald.
    pub fn pme() -> Self {
        Self::new(&PME)
    }

    /// Particle–particle particle–mesh: PME with the influence function of the smallest error.
    pub fn p3m() -> Self {
        Self::new(&P3M)
    }

    /// The Ewald sum, on the CPU only.
    pub fn ewald() -> Self {
        Self::new(&EWALD)
    }

    /// Multilevel summation: on nested grids, in cells periodic along no, two or three axes.
    pub fn multilevel() -> Self {
        Self::new(&MULTILEVEL)
    }

    /// Name in tables; `coulomb` unless said.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Cut-off of the real-space part; the longest of the other terms unless said.
    pub fn cutoff(mut self, cutoff: f64) -> Self {
        self.cutoff = Some(cutoff);
        self
    }

    /// Error of forces over the force between neighbors; 5e-4 unless said.
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = Some(tolerance);
        self
    }

    /// The splitting parameter α; chosen for the tolerance unless said.
    pub fn alpha(mut self, alpha: f64) -> Self {
        self.alpha = Some(alpha);
        self
    }

    /// Points of the mesh; chosen for the tolerance unless said.
    pub fn mesh(mut self, mesh: [usize; 3]) -> Self {
        self.mesh = Some(mesh);
        self
    }

    /// How charges are spread over the mesh; B-splines of order 5 unless said.
    pub fn basis(mut self, basis: Basis) -> Self {
        self.basis = basis;
        self
    }

    /// Reciprocal-space vectors of an Ewald sum; chosen for the tolerance unless said.
    pub fn vectors(mut self, vectors: ReciprocalVectors) -> Self {
        self.vectors = Some(vectors);
        self
    }

    /// Spacing of the finest grid of multilevel summation, at most; chosen for the tolerance unless said.
    pub fn spacing(mut self, spacing: f64) -> Self {
        self.spacing = Some(spacing);
        self
    }

    /// Order of interpolation between points of a grid of multilevel summation: 4, 6 or 8; 8 unless said.
    pub fn order(mut self, order: usize) -> Self {
        self.order = order;
        self
    }

    /// Relative permittivity; 1 unless said.
    pub fn permittivity(mut self, permittivity: f64) -> Self {
        self.permittivity = permittivity;
        self
    }

    /// What surrounds the images; a conductor unless said, and a slab where the cell is open along one axis.
    pub fn boundary(mut self, boundary: Boundary) -> Self {
        self.boundary = Some(boundary);
        self
    }

    /// The largest error of the pressure that is allowed; with a barostat there is one unless said.
    pub fn pressure_tolerance(mut self, pressure: f64) -> Self {
        self.pressure_tolerance = Some(pressure);
        self
    }

    /// The same for a barostat that keeps this mean pressure; what was said before counts. Slabs have no pressure.
    pub fn for_barostat(mut self, target: Option<f64>, system: &System) -> Self {
        if self.kind == MULTILEVEL.name {
            return self;
        }
        let least = match system.units {
            Units::Md => MD_BAR / system.units.bar(),
            Units::LennardJones => REDUCED,
        };
        let usual = target.map(|target| least + OF_TARGET * target.abs());
        self.pressure_tolerance = self.pressure_tolerance.or(usual);
        self
    }

    /// What surrounds the images of this system.
    pub(crate) fn boundary_of(&self, system: &System) -> Result<Boundary, LongRangeError> {
        let cell = &system.cell;
        if self.kind == MULTILEVEL.name {
            return self.boundary_of_grids(cell);
        }
        match (cell.periodic().iter().filter(|p| **p).count(), open_axis(cell)) {
            (3, _) => Ok(self.boundary.unwrap_or(Boundary::Conductor)),
            (2, Some(axis)) if axis != 2 && !cell.is_orthorhombic() => Err(LongRangeError::TriclinicSlab),
            (2, Some(_)) => Ok(match self.boundary {
                Some(slab @ Boundary::Slab { .. }) => slab,
                _ => Boundary::Slab { factor: SLAB_FACTOR },
            }),
            _ => Err(LongRangeError::Open(cell.periodic())),
        }
    }

    fn boundary_of_grids(&self, cell: &Cell) -> Result<Boundary, LongRangeError> {
        if !cell.is_orthorhombic() {
            return Err(LongRangeError::Grids("triclinic".into()));
        }
        let heights = cell.heights();
        match Boundaries::of(cell.periodic()) {
            Some(Boundaries::Periodic) => Ok(self.boundary.unwrap_or(Boundary::Conductor)),
            Some(Boundaries::Open) => Ok(Boundary::Open),
            // That of the reference: the error of a slab in a longer cell falls as exp(−2π gap/edge).
            Some(Boundaries::Slab { open }) => {
                let edge = (0..3)
                    .filter(|&k| k != open)
                    .map(|k| heights[k])
                    .fold(0.0, f64::max);
                let factor = 2.0 + 5.0 * edge / heights[open];
                Ok(Boundary::Slab { factor })
            }
            None => Err(LongRangeError::Grids(format!("periodic = {:?}", cell.periodic()))),
        }
    }

    /// The grids of multilevel summation.
    fn grid_plan(
        &self,
        charged: &Charged,
        cell: &Cell,
        cutoff: f64,
        error: f64,
    ) -> Result<GridPlan, LongRangeError> {
        let interpolation = Interpolation::of_order(self.order).ok_or(LongRangeError::Invalid {
            what: "the order of interpolation",
            value: self.order as f64,
            expected: "4, 6 or 8",
        })?;
        let boundaries = Boundaries::of(cell.periodic())
            .ok_or_else(|| LongRangeError::Grids(format!("periodic = {:?}", cell.periodic())))?;
        let chosen = || match charged.squares {
            0.0 => cutoff / 4.0,
            _ => charged.grid_spacing(self.order, cutoff, error).min(cutoff / 3.0),
        };
        let spacing = self.spacing.unwrap_or_else(chosen);
        if 3.0 * spacing > cutoff * (1.0 + 1e-9) {
            return Err(LongRangeError::Coarse { spacing, cutoff });
        }
        let edges = cell.heights().to_array();
        let points = edges.iter().map(|edge| edge / spacing).product::<f64>();
        if points > MOST_GRID_POINTS {
            return Err(LongRangeError::ManyPoints { points });
        }
        let split = MultilevelPlan {
            cutoff,
            spacing,
            interpolation,
        };
        let mut plan = GridPlan::new(split, boundaries, edges);
        plan.split.spacing = plan.spacing(edges).into_iter().fold(0.0, f64::max);
        Ok(plan)
    }

    /// All settings, and what the user should know of them. Comes after all other terms, whose cut-offs it takes over.
    ///
    /// # Errors
    /// Cells, numbers and other terms that do not go with it; a tolerance that no mesh reaches.
    pub fn plan(
        &self,
        system: &System,
        field: &ForceField,
    ) -> Result<(Electrostatics, Vec<String>), LongRangeError> {
        let (kind, mut warnings) = (self.kind, Vec::new());
        self.check()?;
        if field.electrostatics.is_some() {
            return Err(LongRangeError::Two);
        }
        let boundary = self.boundary_of(system)?;
        let k = field.coulomb_constant / self.permittivity;
        let charged = Charged::of(system, boundary, k);
        if charged.squares == 0.0 {
            warnings.push(format!("there is {kind}, but no particle has a charge"));
        }
        if let Some(twice) = field.pairs.iter().find(|term| term.family.uses_charges()) {
            return Err(LongRangeError::Twice(twice.name.clone()));
        }
        let net: f64 = system.particles.charges.iter().sum();
        if net.abs() > 1e-6 && boundary != Boundary::Open {
            warnings.push(format!(
                "the charges sum to {net:.6} e; an even background of the opposite charge makes up for it"
            ));
        }
        // Pairs within the longest cut-off are looked at anyway.
        let others = Some(field.cutoff()).filter(|cutoff| *cutoff > 0.0);
        let cutoff = (self.cutoff.or(others)).ok_or(LongRangeError::MissingCutoff(kind))?;
        // Half of the square of the error to the pair term, half to the rest.
        let tolerance = self.tolerance.unwrap_or(TOLERANCE);
        let error = tolerance * charged.usual_force().max(f64::MIN_POSITIVE) * 0.5_f64.sqrt();
        let alpha = match self.alpha {
            // erf(αr) is one to the last digit where the pair term ends.
            _ if kind == MULTILEVEL.name => 6.0 / cutoff,
            Some(alpha) => alpha,
            None if charged.squares == 0.0 => 3.0 / cutoff,
            None => charged.alpha(cutoff, error),
        };
        let method = if kind == EWALD.name {
            Method::Ewald(self.vectors.unwrap_or_else(|| vectors(&charged, alpha, error)))
        } else if kind == MULTILEVEL.name {
            // The pair term has no error.
            Method::Multilevel(self.grid_plan(&charged, &system.cell, cutoff, error * 2.0_f64.sqrt())?)
        } else {
            Method::Mesh(self.mesh_plan(&charged, alpha, error)?)
        };
        let mut plan = Electrostatics {
            name: self.name.clone(),
            cutoff,
            alpha,
            permittivity: self.permittivity,
            method,
            boundary,
        };
        if let Some(allowed) = self.pressure_tolerance
            && charged.squares > 0.0
            && !matches!(boundary, Boundary::Slab { .. })
            && plan.grids().is_none()
        {
            let choice = PressureChoice {
                system,
                request: self,
                charged: &charged,
                force_error: error,
                allowed,
            };
            warnings.extend(choice.tighten(&mut plan, system.units));
        }
        let products = plan.grids().map_or(0.0, GridPlan::products);
        if products > SLOW_PRODUCTS.max(SLOW_PER_PARTICLE * system.particles.len() as f64) {
            warnings.push(format!(
                "the grids of {kind} take {products:.0e} products for every step, of which a core makes some 10⁹ in a second: \
                 with a larger `tolerance` or a longer `cutoff` they are fewer"
            ));
        }
        if let Some(expected) = Expected::of_plan(&charged, &plan) {
            let off = expected.total() / expected.usual;
            let asked = self.tolerance.map_or(LARGE, |tolerance| 2.0 * tolerance);
            let given = match plan.grids() {
                None => "`alpha`, `mesh` and `kmax`",
                Some(_) => "`spacing` and `order`",
            };
            if off > asked {
                warnings.push(format!(
                    "the error of the forces of {kind} would be {off:.1e} of the force between neighbors if charges were \
                     placed at random; without {given} they are chosen for a tolerance, and `debye energy \
                     --check-electrostatics` measures"
                ));
            }
        }
        Ok((plan, warnings))
    }

    /// Refuses numbers that have no meaning.
    fn check(&self) -> Result<(), LongRangeError> {
        let positive = "a number greater than zero";
        for (what, value, expected) in [
            ("the cut-off", self.cutoff, positive),
            ("α", self.alpha, positive),
            ("the spacing", self.spacing, positive),
            ("the permittivity", Some(self.permittivity), positive),
            (
                "the tolerance",
                self.tolerance,
                "a relative error between 1e-12 and 0.1",
            ),
            ("the tolerance of the pressure", self.pressure_tolerance, positive),
        ] {
            let Some(value) = value else { continue };
            let fits = value > 0.0 && value.is_finite();
            if !fits || (what == "the tolerance" && !(1e-12..=0.1).contains(&value)) {
                return Err(LongRangeError::Invalid {
                    what,
                    value,
                    expected,
                });
            }
        }
        let least = self.basis.points();
        let bad = |n: &&usize| **n < least || good_size(**n) != **n;
        match self.mesh.as_ref().and_then(|mesh| mesh.iter().find(bad)) {
            Some(&size) => Err(LongRangeError::Mesh { size, least }),
            None => Ok(()),
        }
    }

    fn mesh_plan(&self, charged: &Charged, alpha: f64, error: f64) -> Result<MeshPlan, LongRangeError> {
        let (basis, optimal) = (self.basis, self.kind == P3M.name);
        if let Some(size) = self.mesh {
            return Ok(MeshPlan { size, basis, optimal });
        }
        if charged.squares == 0.0 {
            let size = [good_size(basis.points().max(8)); 3];
            return Ok(MeshPlan { size, basis, optimal });
        }
        let points = most_points(charged.particles as usize);
        coarsest(charged, alpha, basis, optimal, error).ok_or(match self.alpha {
            Some(alpha) => LongRangeError::SteepAlpha { alpha, points },
            None => LongRangeError::NoMesh { points },
        })
    }
}

impl ForceField {
    /// Adds long-range electrostatics with its real-space pair term; the answer is what the user should know.
    ///
    /// # Errors
    /// As [`LongRange::plan`].
    pub fn add_long_range(
        &mut self,
        request: &LongRange,
        system: &System,
    ) -> Result<Vec<String>, LongRangeError> {
        let (plan, warnings) = request.plan(system, self)?;
        self.add_electrostatics(plan, &system.species)?;
        Ok(warnings)
    }
}

/// What settings that keep the error of the pressure small are chosen by, where a barostat goes by it.
struct PressureChoice<'c> {
    system: &'c System,
    request: &'c LongRange,
    charged: &'c Charged,
    /// Error of forces of the pair term and of the rest, each.
    force_error: f64,
    /// Error of the pressure allowed.
    allowed: f64,
}

impl PressureChoice<'_> {
    /// Makes α and the mesh finer where the pressure needs it and the request leaves them open. The answer is a warning
    /// where the error stays above what is allowed.
    fn tighten(&self, plan: &mut Electrostatics, units: Units) -> Option<String> {
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
        let given = self.request;
        let alpha = match given.alpha {
            Some(alpha) => alpha,
            None => order.alpha(plan.alpha, each),
        };
        let method = match &plan.method {
            _ if given.mesh.is_some() || given.vectors.is_some() => plan.method.clone(),
            Method::Mesh(mesh) => {
                let good = |mesh: &MeshPlan| {
                    self.charged.mesh_error(alpha, mesh) <= self.force_error
                        && order.mesh_error(alpha, mesh)[1] <= each
                };
                let found = coarsest_where(self.charged, alpha, mesh.basis, mesh.optimal, good);
                Method::Mesh(found?)
            }
            Method::Ewald(_) => Method::Ewald(vectors_where(self.charged, |longest| {
                self.charged.reciprocal_error(alpha, longest) <= self.force_error
                    && order.reciprocal_error(alpha, longest)[1] <= each
            })),
            Method::Multilevel(_) => return None,
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
        let r = self.request;
        let given = [
            ("alpha", r.alpha.is_some()),
            ("mesh", r.mesh.is_some()),
            ("kmax", r.vectors.is_some()),
        ];
        let given: Vec<&str> = given
            .into_iter()
            .filter_map(|(key, given)| given.then_some(key))
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
