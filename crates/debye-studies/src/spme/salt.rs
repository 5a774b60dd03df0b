//! [`Salt`]: ions in a cubic box, the paper's settings for them, and what is right in double precision.

use std::sync::OnceLock;

use debye::expr::Vec3;
use debye::forces::electrostatics::{Electrostatics, MeshPlan, Method};
use debye::forces::pme::Basis;
use debye::potentials::CoulombEwald;
use debye::prelude::{
    Cell, LongRange, PairForce, Particles, Simulation, SimulationBuilder, Species, System, Truncation, Units,
    builders,
};
use rayon::prelude::*;

use super::exact::{self, Sums};
use crate::random::Random;
use crate::study::StudyError;

/// Lattice constant of the paper's crystals, nm.
pub(super) const SPACING: f64 = 0.562;
/// Real-space cut-off of the paper's runs, nm; smaller crystals have [`HALF`] of their side.
pub(super) const CUTOFF: f64 = 1.0;
/// The nearest image must be the only one within the cut-off.
const HALF: f64 = 0.45;
/// What is added to the cut-off where blocks are paired, nm.
pub(super) const SKIN: f64 = 0.3;
/// Order of the B-splines of the paper's runs.
pub(super) const ORDER: usize = 6;
/// The error tolerance of the paper's runs.
pub(super) const TOLERANCE: f64 = 1e-5;
/// The tolerance of crystals beyond the paper's, so that their mesh fits into memory.
const COARSE: f64 = 1e-4;
/// The largest crystal of the paper, in cells.
pub(super) const LARGEST: usize = 9;
/// The farthest that an ion is from its site along an axis, nm: about 300 K.
const DISPLACED: f64 = 0.02;

/// How ions lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ions {
    /// Rock salt without a fault.
    Perfect,
    /// Rock salt with every ion a little off its site.
    Displaced,
    /// On some of the sites, everywhere alike.
    Random,
    /// In a tight cluster, and far from it.
    Clustered,
    /// Against the faces of the box.
    Boundary,
}

impl Ions {
    /// Every arrangement.
    pub const ALL: [Self; 5] = [
        Self::Perfect,
        Self::Displaced,
        Self::Random,
        Self::Clustered,
        Self::Boundary,
    ];
}

/// Ions in a cubic box, and how the sum is split.
pub struct Salt {
    /// Cells of rock salt along an axis.
    pub cells: usize,
    /// How ions lie.
    pub ions: Ions,
    pub(super) side: f64,
    pub(super) positions: Vec<[f64; 3]>,
    pub(super) charges: Vec<f64>,
    pub(super) cutoff: f64,
    pub(super) alpha: f64,
    pub(super) tolerance: f64,
    /// Of how many ions all others are copies, and the side of what is copied.
    unit: (usize, f64),
    real: OnceLock<Sums>,
    total: OnceLock<Sums>,
}

/// Points along an axis for a tolerance δ: 2αL/(3δ^⅕) rounded up, the rule of OpenMM that the paper's code has.
pub(super) fn points(alpha: f64, side: f64, tolerance: f64) -> usize {
    unrounded(alpha, side, tolerance).ceil() as usize
}

fn unrounded(alpha: f64, side: f64, tolerance: f64) -> f64 {
    2.0 * alpha * side / (3.0 * tolerance.powf(0.2))
}

/// α = √(−ln 2δ)/r_c, the rule of OpenMM that the paper's code has.
pub(super) fn alpha(cutoff: f64, tolerance: f64) -> f64 {
    (-(2.0 * tolerance).ln()).sqrt() / cutoff
}

/// How a sum is split, and the mesh of its reciprocal part.
#[derive(Clone, Copy, Debug)]
pub struct Split {
    /// In nm.
    pub cutoff: f64,
    /// In 1/nm.
    pub alpha: f64,
    /// Along an axis.
    pub points: usize,
}

impl std::fmt::Display for Split {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [cutoff, alpha] = [self.cutoff, self.alpha];
        write!(
            f,
            "r_c = {cutoff:.3} nm, α = {alpha:.3}/nm, {}³ points",
            self.points
        )
    }
}

/// The next number from `least` on without prime factors but 2, 3 and 5.
pub(super) fn smooth(least: usize) -> usize {
    let has_no_other = |n: &usize| {
        let mut rest = *n;
        for prime in [2, 3, 5] {
            while rest.is_multiple_of(prime) {
                rest /= prime;
            }
        }
        rest == 1
    };
    (least.max(1)..).find(has_no_other).unwrap_or(least)
}

impl Salt {
    /// So many cells along an axis, with the settings of the paper.
    pub fn new(ions: Ions, cells: usize) -> Self {
        let tolerance = if cells > LARGEST { COARSE } else { TOLERANCE };
        Self::within(ions, cells, tolerance)
    }

    /// The same with a tolerance.
    pub(super) fn within(ions: Ions, cells: usize, tolerance: f64) -> Self {
        // Large crystals repeat a smaller one, so that the sums of that one are right for them.
        let copied = match ions {
            Ions::Perfect => 1,
            Ions::Displaced => (1..=5)
                .rev()
                .find(|n| cells.is_multiple_of(*n))
                .filter(|n| *n > 2)
                .unwrap_or(cells),
            _ => cells,
        };
        let (first, charges) = arranged(ions, copied);
        let times = cells / copied;
        let unit = copied as f64 * SPACING;
        let (mut all, mut all_charges) = (Vec::new(), Vec::new());
        for n in 0..times.pow(3) {
            let by = [n % times, n / times % times, n / (times * times)].map(|i| i as f64 * unit);
            all.extend(
                first
                    .iter()
                    .map(|r| std::array::from_fn::<f64, 3, _>(|k| r[k] + by[k])),
            );
            all_charges.extend_from_slice(&charges);
        }
        let side = cells as f64 * SPACING;
        let cutoff = CUTOFF.min(HALF * side);
        Self {
            cells,
            ions,
            side,
            positions: all,
            charges: all_charges,
            cutoff,
            alpha: alpha(cutoff, tolerance),
            tolerance,
            unit: (first.len(), unit),
            real: OnceLock::new(),
            total: OnceLock::new(),
        }
    }

    /// Ions.
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// Points of the mesh along an axis: what the tolerance asks for, rounded up to a product of 2, 3 and 5.
    pub fn mesh(&self) -> usize {
        smooth(points(self.alpha, self.side, self.tolerance).max(ORDER))
    }

    /// The paper's splitting. Where its mesh would have more than `most` points along an axis, the cut-off is as much
    /// longer as the same rules need for the same tolerance with so many.
    pub fn split(&self, most: usize) -> Split {
        // Points are proportional to α, and α to the reciprocal of the cut-off.
        let longer = match self.mesh() > most {
            true => unrounded(self.alpha, self.side, self.tolerance) / most as f64,
            false => 1.0,
        };
        Split {
            cutoff: self.cutoff * longer,
            alpha: self.alpha / longer,
            points: self.mesh().min(most),
        }
    }

    /// The error of forces that the engine chooses its own settings for: what the paper's leave (table `whole`).
    pub(super) fn own_error(&self) -> f64 {
        2.0 * self.tolerance
    }

    pub(super) fn label(&self) -> String {
        let kind = match self.ions {
            Ions::Perfect => "a perfect crystal",
            Ions::Displaced => "a crystal",
            Ions::Random => "random ions",
            Ions::Clustered => "a cluster",
            Ions::Boundary => "ions at the faces",
        };
        format!("{} ions, {}³ cells, {kind}", self.len(), self.cells)
    }

    pub(super) fn vectors(&self) -> Vec<Vec3<f64>> {
        self.positions.iter().map(|&r| Vec3::from(r)).collect()
    }

    pub(super) fn cell(&self) -> Result<Cell, StudyError> {
        Cell::orthorhombic([self.side; 3]).map_err(StudyError::other)
    }

    /// The mesh with B-splines of the paper's order.
    pub(super) fn plan(&self) -> MeshPlan {
        MeshPlan {
            size: [self.mesh(); 3],
            basis: Basis::BSpline(ORDER),
            optimal: false,
        }
    }

    /// What is copied, with what it sums to.
    fn unit(&self) -> exact::Unit<'_> {
        let (ions, side) = self.unit;
        exact::Unit {
            positions: &self.positions[..ions],
            charges: &self.charges[..ions],
            side,
        }
    }

    fn repeated(&self, sums: Sums) -> Sums {
        let copies = self.len() / self.unit.0;
        Sums {
            energy: sums.energy * copies as f64,
            forces: sums.forces,
        }
    }

    /// The real-space sum: its energy, and the forces on the ions that all others repeat.
    pub(super) fn real_space(&self) -> &Sums {
        self.real
            .get_or_init(|| self.repeated(exact::real_space(&self.unit(), self.alpha, self.cutoff)))
    }

    /// The whole sum, likewise.
    pub(super) fn whole(&self) -> &Sums {
        self.total
            .get_or_init(|| self.repeated(exact::ewald(&self.unit())))
    }

    /// How far sums are from these: of the energy, or of the force that is farthest off by the largest force.
    pub(super) fn error(&self, want: &Sums, got: &Sums) -> f64 {
        if got.forces.len() != self.len() {
            return f64::NAN;
        }
        let largest = |all: &[[f64; 3]]| all.iter().flatten().fold(0.0_f64, |most, f| most.max(f.abs()));
        // Ions of a perfect crystal feel nothing: then by the force between neighbors.
        let scale = largest(&want.forces).max(0.1 * exact::coulomb() / (0.5 * SPACING).powi(2));
        let unit = want.forces.len();
        let off =
            (0..self.len())
                .into_par_iter()
                .map(|i| {
                    let (a, b) = (got.forces[i], want.forces[i % unit]);
                    (0..3).map(|k| (a[k] - b[k]).abs()).fold(0.0, |most, x: f64| {
                        if x.is_nan() { f64::NAN } else { x.max(most) }
                    })
                })
                .reduce(
                    || 0.0,
                    |a, b| {
                        if a.is_nan() || b.is_nan() {
                            f64::NAN
                        } else {
                            a.max(b)
                        }
                    },
                );
        // Energies may cancel: then by those of neighbors.
        let usual = 0.05 * exact::coulomb() / (0.5 * SPACING) * self.len() as f64;
        let energy = (got.energy - want.energy).abs() / want.energy.abs().max(usual);
        if off.is_nan() || energy.is_nan() {
            return f64::NAN;
        }
        (off / scale).max(energy)
    }

    /// The ions as a system of the engine.
    fn system(&self) -> Result<System, StudyError> {
        let ions = [
            Species::point("Na", 22.990, 1.0),
            Species::point("Cl", 35.45, -1.0),
        ];
        let masses = [22.990, 35.45];
        let mut system = builders::salt([1; 3], ions, SPACING)
            .build()
            .map_err(StudyError::other)?;
        system.cell = self.cell()?;
        system.particles = Particles::default();
        for (i, (r, &q)) in self.positions.iter().zip(&self.charges).enumerate() {
            let kind = usize::from(q < 0.0);
            system
                .particles
                .push(Vec3::from(*r), kind as u32, masses[kind], q, i as u32);
        }
        system.labels = Default::default();
        Ok(system)
    }

    /// The real-space sum alone. Steps are so short that no ion leaves its place, where nothing keeps ions apart.
    pub(super) fn pairs(&self) -> Result<SimulationBuilder, StudyError> {
        let force = PairForce::new(CoulombEwald::new(self.alpha, 1.0))
            .cutoff(self.cutoff)
            .truncation(Truncation::Cut);
        Ok(Simulation::builder(self.system()?).pair(force).timestep(1e-7))
    }

    /// The whole sum with this splitting; or with its cut-off, and α and the mesh as the engine chooses them.
    pub(super) fn charged(&self, split: &Split, own: bool) -> Result<SimulationBuilder, StudyError> {
        let request = LongRange::pme().cutoff(split.cutoff);
        let request = match own {
            true => request.tolerance(self.own_error()),
            false => request
                .alpha(split.alpha)
                .mesh([split.points; 3])
                .basis(Basis::BSpline(ORDER)),
        };
        Ok(Simulation::builder(self.system()?)
            .electrostatics(request)
            .timestep(1e-7))
    }

    /// What the engine chooses with the cut-off of a splitting, and the order of its splines.
    pub(super) fn chosen(&self, split: &Split) -> Result<(Split, usize), StudyError> {
        let simulation = self.charged(split, true)?.build().map_err(StudyError::other)?;
        match simulation.forces.electrostatics {
            Some(Electrostatics {
                alpha,
                method: Method::Mesh(mesh),
                ..
            }) => {
                let own = Split {
                    cutoff: split.cutoff,
                    alpha,
                    points: mesh.size.into_iter().max().unwrap_or(0),
                };
                Ok((own, mesh.basis.points()))
            }
            _ => Err(StudyError::other("the engine chose no mesh")),
        }
    }

    /// Self energy, which belongs to neither part of the sum.
    pub(super) fn self_energy(&self) -> f64 {
        let squares: f64 = self.charges.iter().map(|q| q * q).sum();
        -exact::coulomb() * self.alpha / std::f64::consts::PI.sqrt() * squares
    }
}

/// Positions and charges of so many cells along an axis.
fn arranged(ions: Ions, cells: usize) -> (Vec<[f64; 3]>, Vec<f64>) {
    let (sites, spacing) = (2 * cells, 0.5 * SPACING);
    let (side, middle) = (cells as f64 * SPACING, cells as f64);
    let mut random = Random(11);
    let (mut positions, mut charges) = (Vec::new(), Vec::new());
    for n in 0..sites.pow(3) {
        let at = [n % sites, n / sites % sites, n / (sites * sites)];
        let from_middle: f64 = at.iter().map(|&x| (x as f64 - middle).powi(2)).sum();
        let keep = match ions {
            Ions::Perfect | Ions::Displaced => true,
            Ions::Random => random.unit() < 0.5,
            Ions::Clustered => from_middle < 9.0 || random.unit() < 0.02,
            Ions::Boundary => at.iter().any(|&x| x == 0 || x + 1 == sites) && random.unit() < 0.8,
        };
        if !keep {
            continue;
        }
        let farthest = match ions {
            Ions::Perfect => 0.0,
            Ions::Displaced => DISPLACED,
            _ => 0.2 * spacing,
        };
        let shaken =
            at.map(|x| (x as f64 * spacing + farthest * (2.0 * random.unit() - 1.0)).rem_euclid(side));
        positions.push(shaken.map(|x| if x >= side { 0.0 } else { x }));
        let odd = at.iter().sum::<usize>() % 2 == 1;
        charges.push(if odd { -1.0 } else { 1.0 });
    }
    // Neutral, whatever was kept.
    if !matches!(ions, Ions::Perfect | Ions::Displaced) {
        if positions.len() % 2 == 1 {
            positions.pop();
        }
        charges = (0..positions.len())
            .map(|i| if i % 2 == 1 { -1.0 } else { 1.0 })
            .collect();
    }
    (positions, charges)
}

/// The unit of charge, energy and length that everything here has.
pub(super) const UNITS: Units = Units::Md;
