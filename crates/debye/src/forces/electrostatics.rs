//! [`Electrostatics`]: Coulomb's law between all charges and all their images.
//!
//! 1/r = erfc(α r)/r + erf(α r)/r. The first part falls off fast and is a pair term like any other
//! ([`Electrostatics::short_range`]); the second is smooth, so that few waves or a coarse mesh carry it. It acts between a
//! charge and itself, and between pairs that are excluded: both are taken out again.

use super::pme::Basis;
use super::{ListedPairs, MixingRule, PairRow, PairTerm};
use crate::expr::{Table, Vec3};
use crate::potentials::{COULOMB_ERF, MAX_COEFFICIENTS, Tail};
use crate::system::{Cell, Exclusions, Species};
use crate::truncation::{TRUNCATION_COEFFICIENTS, Truncation};

/// How charges interact over any distance.
#[derive(Clone, Debug, PartialEq)]
pub struct Electrostatics {
    /// Name in tables.
    pub name: String,
    /// Where the pair term ends.
    pub cutoff: f64,
    /// The splitting parameter α, an inverse length.
    pub alpha: f64,
    /// Relative permittivity of what everything is in.
    pub permittivity: f64,
    /// How the smooth part is summed.
    pub method: Method,
    /// What surrounds the periodic images.
    pub boundary: Boundary,
}

/// How the smooth part of 1/r is summed.
#[derive(Clone, Debug, PartialEq)]
pub enum Method {
    /// Wave by wave.
    Ewald(WaveSet),
    /// On a mesh.
    Mesh(MeshPlan),
}

/// Which waves an Ewald sum has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WaveSet {
    /// The highest number along each axis.
    pub reach: [usize; 3],
    /// Of those, only the ones for which this holds.
    pub within: Within,
}

/// Limits of a set of waves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Within {
    /// All.
    Box,
    /// Numbers whose squares sum to less than this.
    Numbers(u32),
    /// Reciprocal vectors no longer than this (waves per length).
    Length(f64),
}

/// A mesh and how charges are spread over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeshPlan {
    /// Points along each axis.
    pub size: [usize; 3],
    /// How charges are spread.
    pub basis: Basis,
    /// Whether the influence function is the one with the smallest error for this mesh (P3M), rather than Essmann's.
    pub optimal: bool,
}

/// What surrounds the periodic images at infinity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Boundary {
    /// A conductor ("tin foil"): no term.
    Conductor,
    /// Vacuum: the energy of the total dipole.
    Vacuum,
    /// Periodic along two axes only: the cell is made longer by this factor along the third, and the dipole along it
    /// taken out (Yeh & Berkowitz 1999; for charged slabs Ballenegger, Arnold & Cerdà 2009).
    Slab {
        /// How much longer.
        factor: f64,
    },
}

/// Σ q and Σ q² of a system.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ChargeSums {
    /// Σ q.
    pub total: f64,
    /// Σ q².
    pub squares: f64,
}

impl ChargeSums {
    /// Of these charges.
    pub fn of(charges: &[f64]) -> Self {
        let total: f64 = charges.iter().sum();
        let size: f64 = charges.iter().map(|q| q.abs()).sum();
        Self {
            // What is left of rounding is no charge.
            total: if total.abs() <= 1e-10 * size { 0.0 } else { total },
            squares: charges.iter().map(|q| q * q).sum(),
        }
    }
}

/// Energy and virial (xx yy zz xy xz yz) of a part of the sum.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Part {
    /// Energy.
    pub energy: f64,
    /// Σ r⊗F.
    pub virial: [f64; 6],
}

impl Part {
    fn isotropic(energy: f64, along: f64) -> Self {
        Self {
            energy,
            virial: [along, along, along, 0.0, 0.0, 0.0],
        }
    }
}

impl Electrostatics {
    /// The pair term: erfc(α r)/r within the cut-off.
    pub fn short_range(&self, species: &[Species]) -> Result<PairTerm, super::TermError> {
        PairTerm::build("coulomb-ewald", species)?
            .name(format!("{}-real", self.name))
            .cutoff(self.cutoff)
            .truncation(Truncation::Cut)
            .all(&[("alpha", self.alpha), ("epsilon_r", self.permittivity)])?
            .finish()
    }

    /// What takes the smooth part out again between pairs that are excluded, or leaves a share of it.
    pub(super) fn excluded(&self, species: usize, exclusions: &Exclusions) -> Option<ListedPairs> {
        let share = |i: u32, j: u32| {
            let scaled = &exclusions.scaled;
            let found = scaled.binary_search_by_key(&[i, j], |pair| pair.atoms);
            1.0 - found.map_or(0.0, |k| scaled[k].charge)
        };
        let partners = |i: u32| {
            let above = exclusions.of(i).iter().copied().filter(move |&j| j > i);
            above.map(move |j| ([i, j], share(i, j)))
        };
        let pairs: Vec<_> = (0..exclusions.start.len().saturating_sub(1) as u32)
            .flat_map(partners)
            .collect();
        if pairs.is_empty() {
            return None;
        }
        let mut coefficients = [0.0; MAX_COEFFICIENTS];
        coefficients[0] = self.permittivity.recip();
        coefficients[1] = self.alpha;
        coefficients[2] = self.alpha * std::f64::consts::FRAC_2_SQRT_PI;
        let row = PairRow {
            cutoff: f64::INFINITY,
            truncation: [0.0; TRUNCATION_COEFFICIENTS],
            coefficients,
            tail: Tail::default(),
        };
        let name = format!("{}-excluded", self.name);
        Some(ListedPairs {
            term: PairTerm {
                name: name.clone(),
                family: COULOMB_ERF,
                truncation: Truncation::Cut,
                mixing: MixingRule::None,
                rows: vec![row; species * species],
                table: Table::default(),
                tail: false,
            },
            name,
            pairs,
        })
    }

    /// Names of the parts that [`Self::rest`] and the sum over waves give, in order; the sum over waves is the first.
    pub fn names(&self, sums: ChargeSums) -> Vec<String> {
        let mut parts = vec!["reciprocal", "self"];
        if sums.total != 0.0 {
            parts.push("background");
        }
        match self.boundary {
            Boundary::Conductor => {}
            Boundary::Vacuum => parts.push("surface"),
            Boundary::Slab { .. } => parts.push("slab"),
        }
        parts.iter().map(|part| format!("{}-{part}", self.name)).collect()
    }

    /// The cell in which waves are summed: the system's own, or a longer one for a slab. Always periodic.
    pub fn wave_cell(&self, cell: &Cell) -> Cell {
        let whole = cell.with_periodicity([true; 3]);
        match (self.boundary, open_axis(cell)) {
            (Boundary::Slab { factor }, Some(axis)) => {
                let mut vectors = whole.to_arrays();
                vectors[axis].iter_mut().for_each(|x| *x *= factor);
                Cell::triclinic(vectors).unwrap_or(whole)
            }
            _ => whole,
        }
    }

    /// Everything of the sum but its pairs and waves: self-energy, background, surface or slab; adds their forces.
    /// `positions` are those of the unwrapped particles; `coulomb` is k_e.
    pub fn rest(
        &self,
        cell: &Cell,
        coulomb: f64,
        sums: ChargeSums,
        positions: &dyn Fn(usize) -> Vec3<f64>,
        charges: &[f64],
        forces: &mut [Vec3<f64>],
    ) -> Vec<Part> {
        let k = coulomb / self.permittivity;
        let volume = self.wave_cell(cell).volume();
        let itself = -k * self.alpha / std::f64::consts::PI.sqrt() * sums.squares;
        let mut parts = vec![Part::isotropic(itself, 0.0)];
        if sums.total != 0.0 {
            let pull = std::f64::consts::PI * k / (2.0 * volume * self.alpha * self.alpha);
            let energy = -pull * sums.total * sums.total;
            parts.push(Part::isotropic(energy, energy));
        }
        match (self.boundary, open_axis(cell)) {
            (Boundary::Vacuum, _) => parts.push(vacuum(k / volume, positions, charges, forces)),
            (Boundary::Slab { .. }, Some(axis)) => {
                let length = self.wave_cell(cell).heights()[axis];
                parts.push(slab(
                    k / volume,
                    axis,
                    length,
                    sums.total,
                    positions,
                    charges,
                    forces,
                ));
            }
            _ => {}
        }
        parts
    }
}

/// The one axis along which a cell is open.
pub fn open_axis(cell: &Cell) -> Option<usize> {
    let open: Vec<usize> = (0..3).filter(|&k| !cell.periodic()[k]).collect();
    match open[..] {
        [axis] => Some(axis),
        _ => None,
    }
}

/// (2π/3V)|M|² with M = Σ q r.
fn vacuum(
    k_per_volume: f64,
    positions: &dyn Fn(usize) -> Vec3<f64>,
    charges: &[f64],
    forces: &mut [Vec3<f64>],
) -> Part {
    let mut dipole = Vec3::zero();
    for (i, &q) in charges.iter().enumerate() {
        dipole += positions(i) * q;
    }
    let pull = std::f64::consts::TAU / 3.0 * k_per_volume;
    for (f, &q) in forces.iter_mut().zip(charges) {
        *f -= dipole * (2.0 * pull * q);
    }
    let energy = pull * dipole.norm2();
    let m = dipole;
    let tensor = [m.x * m.x, m.y * m.y, m.z * m.z, m.x * m.y, m.x * m.z, m.y * m.z];
    Part {
        energy,
        virial: std::array::from_fn(|a| -2.0 * pull * tensor[a] + if a < 3 { energy } else { 0.0 }),
    }
}

/// (2π/V)(M² − Q Σ q z² − Q² L²/12) along the open axis.
fn slab(
    k_per_volume: f64,
    axis: usize,
    length: f64,
    total: f64,
    positions: &dyn Fn(usize) -> Vec3<f64>,
    charges: &[f64],
    forces: &mut [Vec3<f64>],
) -> Part {
    let (mut dipole, mut square) = (0.0, 0.0);
    for (i, &q) in charges.iter().enumerate() {
        let z = positions(i)[axis];
        dipole += q * z;
        square += q * z * z;
    }
    let pull = std::f64::consts::TAU * k_per_volume;
    for (i, (f, &q)) in forces.iter_mut().zip(charges).enumerate() {
        let mut push = [0.0; 3];
        push[axis] = -2.0 * pull * q * (dipole - total * positions(i)[axis]);
        *f += Vec3::from(push);
    }
    let energy = pull * (dipole * dipole - total * square - total * total * length * length / 12.0);
    let mut virial = [energy, energy, energy, 0.0, 0.0, 0.0];
    virial[axis] -= 2.0 * energy;
    Part { energy, virial }
}
