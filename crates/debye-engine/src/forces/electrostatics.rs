//! [`Electrostatics`]: Coulomb's law between all charges and all their images.
//!
//! 1/r = erfc(α r)/r + erf(α r)/r. The first part falls off fast and is a pair term like any other
//! ([`Electrostatics::short_range`]); the second is smooth, so that few reciprocal vectors or a coarse mesh carry it.
//! It acts between a charge and itself, and between pairs that are excluded: both are taken out again. Multilevel
//! summation splits 1/r in the same way, with γ(r/a)/a in place of erf(α r)/r.

use super::multilevel::GridPlan;
use super::pme::Basis;
use super::{ListedPairs, MixingRule, PairRow, PairTerm};
use crate::expr::{Table, Vec3};
use crate::potentials::{COULOMB_ERF, COULOMB_SMOOTH, Coefficients, MAX_COEFFICIENTS, PairFamily, Tail};
use crate::record::{Absent, Conventions, Doc, Key, Record};
use crate::system::{Cell, Dimension, Exclusions, Species};
use crate::truncation::{TRUNCATION_COEFFICIENTS, Truncation};

/// Relative error of forces unless said: that of the force between neighbors.
pub const TOLERANCE: f64 = 5e-4;
/// How much longer the cell of a slab is unless said.
pub const SLAB_FACTOR: f64 = 3.0;
/// Order of the B-splines unless said.
pub const ORDER: usize = 5;
/// Order of interpolation of multilevel summation unless said.
pub const GRID_ORDER: usize = 8;

/// How charges interact over any distance.
#[derive(Clone, Debug, PartialEq)]
pub struct Electrostatics {
    /// Name in tables.
    pub name: String,
    /// Where the pair term ends.
    pub cutoff: f64,
    /// The splitting parameter α, an inverse length. Multilevel summation has none; it is that of its reference.
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
    /// One reciprocal vector after another.
    Ewald(ReciprocalVectors),
    /// On a mesh.
    Mesh(MeshPlan),
    /// On nested grids.
    Multilevel(GridPlan),
}

/// Which reciprocal vectors an Ewald sum has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReciprocalVectors {
    /// The highest number along each axis.
    pub reach: [usize; 3],
    /// Of those, only the ones for which this holds.
    pub within: Within,
}

/// Limits of a set of reciprocal vectors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Within {
    /// All.
    Box,
    /// Numbers whose squares sum to less than this.
    Numbers(u32),
    /// Reciprocal vectors no longer than this (1/length).
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
    /// Periodic along two axes only: the cell of an Ewald sum is made longer by this factor along the third, and the
    /// dipole along it taken out (Yeh & Berkowitz 1999; for charged slabs Ballenegger, Arnold & Cerdà 2009).
    Slab {
        /// How much longer.
        factor: f64,
    },
    /// No images.
    Open,
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
    /// The pair term: erfc(α r)/r within the cut-off, or 1/r − γ(r/a)/a.
    pub fn short_range(&self, species: &[Species]) -> Result<PairTerm, super::TermError> {
        let (kind, own) = match self.grids() {
            None => ("coulomb-ewald", vec![("alpha", self.alpha)]),
            Some(grids) => {
                let order = grids.split.interpolation.order() as f64;
                ("coulomb-multilevel", vec![("a", self.cutoff), ("order", order)])
            }
        };
        PairTerm::build(kind, species)?
            .name(format!("{}-real", self.name))
            .cutoff(self.cutoff)
            .truncation(Truncation::Cut)
            .all(&[&own[..], &[("epsilon_r", self.permittivity)]].concat())?
            .finish()
    }

    /// The smooth part of 1/r with a minus sign, and its numbers.
    pub(crate) fn minus_smooth(&self) -> (&'static dyn PairFamily, Coefficients<f64>) {
        let mut coefficients = [0.0; MAX_COEFFICIENTS];
        coefficients[0] = self.permittivity.recip();
        match self.grids() {
            None => {
                coefficients[1] = self.alpha;
                coefficients[2] = self.alpha * std::f64::consts::FRAC_2_SQRT_PI;
                (COULOMB_ERF, coefficients)
            }
            Some(grids) => {
                let gamma = grids.split.softening().coefficients();
                let per = (self.cutoff * self.permittivity).recip();
                gamma
                    .iter()
                    .zip(&mut coefficients[1..])
                    .for_each(|(c, to)| *to = c * per);
                coefficients[6] = self.cutoff.powi(-2);
                (COULOMB_SMOOTH, coefficients)
            }
        }
    }

    /// The grids of multilevel summation.
    pub fn grids(&self) -> Option<&GridPlan> {
        match &self.method {
            Method::Multilevel(grids) => Some(grids),
            Method::Ewald(_) | Method::Mesh(_) => None,
        }
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
        let (family, coefficients) = self.minus_smooth();
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
                family,
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

    /// Names of the parts that the smooth sum and [`Self::rest`] give, in order; the smooth sum is the first.
    pub fn names(&self, sums: ChargeSums) -> Vec<String> {
        let grids = self.grids().is_some();
        let mut parts = vec![if grids { "grids" } else { "reciprocal" }, "self"];
        // Grids have the background and the open axis of a slab in their kernels.
        if sums.total != 0.0 && !grids {
            parts.push("background");
        }
        match self.boundary {
            Boundary::Conductor | Boundary::Open => {}
            Boundary::Vacuum => parts.push("surface"),
            Boundary::Slab { .. } if grids => {}
            Boundary::Slab { .. } => parts.push("slab"),
        }
        parts.iter().map(|part| format!("{}-{part}", self.name)).collect()
    }

    /// The cell in which reciprocal vectors are summed: the system's own, or a longer one for a slab. Always periodic.
    pub fn ewald_cell(&self, cell: &Cell) -> Cell {
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

    /// Everything of the sum but its pairs and reciprocal vectors: self-energy, background, surface or slab; adds their
    /// forces. `positions` are those of the unwrapped particles; `coulomb` is k_e.
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
        let volume = self.ewald_cell(cell).volume();
        // Half of the smooth part at no distance.
        let itself = match self.grids() {
            None => self.alpha / std::f64::consts::PI.sqrt(),
            Some(grids) => 0.5 * grids.split.softening().smooth(0.0, self.cutoff),
        };
        let mut parts = vec![Part::isotropic(-k * itself * sums.squares, 0.0)];
        if sums.total != 0.0 && self.grids().is_none() {
            let strength = std::f64::consts::PI * k / (2.0 * volume * self.alpha * self.alpha);
            let energy = -strength * sums.total * sums.total;
            parts.push(Part::isotropic(energy, energy));
        }
        match (self.boundary, open_axis(cell)) {
            (Boundary::Vacuum, _) => parts.push(vacuum(k / volume, positions, charges, forces)),
            (Boundary::Slab { .. }, Some(axis)) if self.grids().is_none() => {
                let length = self.ewald_cell(cell).heights()[axis];
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
    let strength = std::f64::consts::TAU / 3.0 * k_per_volume;
    for (f, &q) in forces.iter_mut().zip(charges) {
        *f -= dipole * (2.0 * strength * q);
    }
    let energy = strength * dipole.norm2();
    let m = dipole;
    let tensor = [m.x * m.x, m.y * m.y, m.z * m.z, m.x * m.y, m.x * m.z, m.y * m.z];
    Part {
        energy,
        virial: std::array::from_fn(|a| -2.0 * strength * tensor[a] + if a < 3 { energy } else { 0.0 }),
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
    let strength = std::f64::consts::TAU * k_per_volume;
    for (i, (f, &q)) in forces.iter_mut().zip(charges).enumerate() {
        let mut push = [0.0; 3];
        push[axis] = -2.0 * strength * q * (dipole - total * positions(i)[axis]);
        *f += Vec3::from(push);
    }
    let energy = strength * (dipole * dipole - total * square - total * total * length * length / 12.0);
    let mut virial = [energy, energy, energy, 0.0, 0.0, 0.0];
    virial[axis] -= 2.0 * energy;
    Part { energy, virial }
}

// Keys that several of these have.
const KEY_CUTOFF: Key = Key::new(
    "cutoff",
    "r_c, where the pair term ends",
    Dimension::LENGTH,
    Absent::Otherwise("the longest of the other terms"),
);
const KEY_TOLERANCE: Key = Key::new(
    "tolerance",
    "rms error of the forces, as a fraction of k_e⟨q²⟩/d², d³ the volume per charge",
    Dimension::NONE,
    Absent::Value(TOLERANCE),
);
const KEY_PRESSURE_TOLERANCE: Key = Key::new(
    "pressure_tolerance",
    "largest error of the pressure",
    Dimension::PRESSURE,
    Absent::Otherwise("with a barostat 1 bar (lj: 0.001) + 1 % of its pressure, else no bound"),
);
const KEY_BASIS: Key = Key::name(
    "basis",
    "how charges are spread: B-splines, or the cubic interpolation of charge mapping",
    "b-spline, cubic",
    "b-spline",
);
const KEY_ALPHA: Key = Key::new(
    "alpha",
    "α, splitting parameter",
    Dimension::PER_LENGTH,
    Absent::Otherwise("from tolerance and cutoff"),
);
const KEY_EPSILON_R: Key = Key::new(
    "epsilon_r",
    "ε_r, relative permittivity",
    Dimension::NONE,
    Absent::Value(1.0),
);
const KEY_BOUNDARY: Key = Key::name(
    "boundary",
    "what surrounds the images",
    "tin-foil, vacuum",
    "tin-foil",
);
const KEY_SLAB_FACTOR: Key = Key::new(
    "slab_factor",
    "how much longer the cell of the sum is along an open axis",
    Dimension::NONE,
    Absent::Value(SLAB_FACTOR),
);
const KEY_MESH: Key = Key::new(
    "mesh",
    "points along a, b, c",
    Dimension::NONE,
    Absent::Otherwise("from tolerance and alpha"),
);
const KEY_ORDER: Key = Key::new(
    "order",
    "p, order of the B-splines, 3 to 8",
    Dimension::NONE,
    Absent::Value(ORDER as f64),
);

/// `ewald`.
pub const EWALD: Record = Record {
    name: "ewald",
    also: &[],
    keys: &[
        KEY_CUTOFF,
        KEY_TOLERANCE,
        KEY_PRESSURE_TOLERANCE,
        KEY_ALPHA,
        Key::new(
            "kmax",
            "highest m along a, b, c",
            Dimension::NONE,
            Absent::Otherwise("from tolerance and alpha"),
        ),
        KEY_EPSILON_R,
        KEY_BOUNDARY,
        KEY_SLAB_FACTOR,
    ],
    doc: Doc {
        title: "Ewald sum",
        formula: "E = E_pair + E_recip + E_self + E_excluded + E_net + E_surface\n\
                  k = k_e/ε_r\n\
                  E_pair = k Σ_(i<j) q_i q_j erfc(α r_ij)/r_ij for r_ij < r_c\n\
                  E_recip = k/(2πV) Σ_(m≠0) exp(−π²m²/α²)/m² |S(m)|², S(m) = Σ_j q_j exp(2πi m·r_j)\n\
                  E_self = −k α/√π Σ_j q_j²\n\
                  E_excluded = −k Σ_excluded (1 − s) q_i q_j erf(α r_ij)/r_ij, s = charge of scale_14, \
                  else 0\n\
                  E_net = −k π Q²/(2Vα²), Q = Σ_j q_j\n\
                  E_surface = k 2π/(3V) |Σ_j q_j r_j|² for boundary = \"vacuum\", 0 for \"tin-foil\"",
        remarks: &[
            "Exact, slow: a reference, and for small systems. m are reciprocal vectors without 2π: m·a is \
             a whole number for every cell vector a.",
            "A cell open along one axis is a slab: the sum is done in a cell `slab_factor` times longer, \
             plus k 2π/V (M² − Q Σ q z² − Q²L²/12) with M = Σ q z along that axis (Yeh & Berkowitz; \
             charged slabs by Ballenegger, Arnold & Cerdà).",
        ],
        conventions: Conventions {
            gromacs: [
                "coulombtype = Ewald; ewald-rtol = erfc(β r_c), epsilon-surface = 0 for tin-foil",
                "alpha = β; `tolerance` is not ewald-rtol",
            ],
            lammps: [
                "kspace_style ewald accuracy: rms force error as a fraction of the force between two unit \
                 charges 1 Å apart",
                "alpha = g_ewald; `tolerance` has another unit of force; slab_factor = kspace_modify slab",
            ],
            openmm: [
                "NonbondedForce Ewald; δ with α = √(−ln(2δ))/r_c",
                "alpha = α; `tolerance` is not δ",
            ],
            amber_charmm: [
                "AMBER: ew_type = 1; CHARMM: EWALD KAPPA KMAX",
                "alpha = ew_coeff = KAPPA, kmax = KMAX",
            ],
        },
        references: &[
            "Ewald, Ann. Phys. 369, 253 (1921)",
            "de Leeuw, Perram & Smith, Proc. R. Soc. Lond. A 373, 27 (1980)",
            "Yeh & Berkowitz, J. Chem. Phys. 111, 3155 (1999)",
            "Ballenegger, Arnold & Cerdà, J. Chem. Phys. 131, 094107 (2009)",
        ],
        examples: &[],
    },
};

/// `pme`.
pub const PME: Record = Record {
    name: "pme",
    also: &["spme"],
    keys: &[
        KEY_CUTOFF,
        KEY_TOLERANCE,
        KEY_PRESSURE_TOLERANCE,
        KEY_ALPHA,
        KEY_MESH,
        KEY_ORDER,
        KEY_BASIS,
        KEY_EPSILON_R,
        KEY_BOUNDARY,
        KEY_SLAB_FACTOR,
    ],
    doc: Doc {
        title: "Smooth particle mesh Ewald",
        formula: "E as for ewald, with E_recip = ½ k Σ_(m≠0) G(m) |Q̂(m)|²\n\
                  Q̂(m): discrete Fourier transform of the charges, spread over the mesh by B-splines of \
                  order p\n\
                  G(m) = exp(−π²m²/α²)/(πVm²) Π_a 1/w(m_a/K_a)², w the transform of the spline at the \
                  mesh points",
        remarks: &[
            "All other parts are those of `ewald`. `debye energy --check-electrostatics` measures the \
             error of the forces, `debye tune` finds the fastest settings within `tolerance`.",
        ],
        conventions: Conventions {
            gromacs: [
                "coulombtype = PME: pme-order 4, fourierspacing, ewald-rtol = erfc(β r_c)",
                "order = pme-order, alpha = β, mesh = fourier-nx … ; `tolerance` is not ewald-rtol",
            ],
            lammps: ["kspace_style pppm is `p3m`", "–"],
            openmm: [
                "NonbondedForce PME: order 5, δ with α = √(−ln(2δ))/r_c; setPMEParameters(α, nx, ny, nz)",
                "alpha = α, mesh = [nx, ny, nz]; `tolerance` is not δ",
            ],
            amber_charmm: [
                "AMBER: order 4, nfft1 …, ew_coeff; CHARMM: PMEWALD ORDER FFTX … KAPPA",
                "order, mesh = nfft, alpha = ew_coeff = KAPPA",
            ],
        },
        references: &["Essmann et al., J. Chem. Phys. 103, 8577 (1995)"],
        examples: &[],
    },
};

/// `p3m`.
pub const P3M: Record = Record {
    name: "p3m",
    also: &["pppm"],
    keys: &[
        KEY_CUTOFF,
        KEY_TOLERANCE,
        KEY_PRESSURE_TOLERANCE,
        KEY_ALPHA,
        KEY_MESH,
        KEY_ORDER,
        KEY_BASIS,
        KEY_EPSILON_R,
        KEY_BOUNDARY,
        KEY_SLAB_FACTOR,
    ],
    doc: Doc {
        title: "Particle–particle particle–mesh",
        formula: "E as for pme, with the influence function of the smallest error\n\
                  G(m) = Σ_s W²(m+sK) g(m+sK) / (Σ_s W²(m+sK))², g(m) = exp(−π²m²/α²)/(πVm²)\n\
                  W: Fourier transform of the spline; s runs over the aliases of m on the mesh",
        remarks: &[
            "All other parts are those of `ewald`. The same cost as `pme`, a smaller error on the same \
             mesh.",
        ],
        conventions: Conventions {
            gromacs: [
                "coulombtype = P3M-AD",
                "order = pme-order, alpha = β; `tolerance` is not ewald-rtol",
            ],
            lammps: [
                "kspace_style pppm accuracy (order 5): rms force error as a fraction of the force between \
                 two unit charges 1 Å apart",
                "alpha = g_ewald, mesh, order as they are; `tolerance` has another unit of force; \
                 slab_factor = kspace_modify slab",
            ],
            openmm: ["PME only", "–"],
            amber_charmm: ["PME only", "–"],
        },
        references: &[
            "Hockney & Eastwood, Computer Simulation Using Particles, McGraw-Hill (1981)",
            "Stern & Calkins, J. Chem. Phys. 128, 214106 (2008)",
        ],
        examples: &[],
    },
};

/// `multilevel`.
pub const MULTILEVEL: Record = Record {
    name: "multilevel",
    also: &["msm"],
    keys: &[
        Key::new(
            "cutoff",
            "a, where the pair term ends",
            Dimension::LENGTH,
            Absent::Otherwise("the longest of the other terms"),
        ),
        KEY_TOLERANCE,
        Key::new(
            "spacing",
            "h of the finest grid, at most a/3",
            Dimension::LENGTH,
            Absent::Otherwise("from tolerance and cutoff"),
        ),
        Key::new(
            "order",
            "p, order of interpolation: 4, 6 or 8",
            Dimension::NONE,
            Absent::Value(GRID_ORDER as f64),
        ),
        KEY_EPSILON_R,
        KEY_BOUNDARY,
    ],
    doc: Doc {
        title: "Multilevel summation",
        formula: "1/r = [1/r − g_a] + [g_a − g_2a] + … + g_(2^L a), g_s(r) = γ(r/s)/s\n\
                  γ as for coulomb-multilevel\n\
                  E = E_pair + E_grids + E_self + E_excluded + E_surface\n\
                  k = k_e/ε_r\n\
                  E_pair = k Σ_(i<j) q_i q_j [1/r_ij − g_a(r_ij)] for r_ij < a\n\
                  E_grids = ½ k Σ_l Σ_mn Q_l(m) Q_l(n) K_l(m − n)\n\
                  K_l = g_(2^l a) − g_(2^(l+1) a), K_L = g_(2^L a)\n\
                  Q_0(m) = Σ_j q_j Φ_p(x_j/h − m_x) Φ_p(y_j/h − m_y) Φ_p(z_j/h − m_z)\n\
                  Q_(l+1)(m) = Σ_n Q_l(n) Φ_p of n/2 − m, axis by axis\n\
                  E_self = −k γ(0)/(2a) Σ_j q_j²\n\
                  E_excluded = −k Σ_excluded (1 − s) q_i q_j g_a(r_ij), s = charge of scale_14, else 0\n\
                  E_surface as for ewald",
        remarks: &[
            "For rectangular cells that are periodic along all axes, along two (a slab), or along none. Linear in the \
             number of particles, and without Fourier transforms.",
            "Periodic kernels K_l are summed over images. K_L of a periodic cell is that of an Ewald sum with its \
             background, and of a slab that of the two-dimensional Ewald sum: both agree with `ewald`, charged cells \
             included. A slab needs no empty space above and below it.",
            "Along open axes points of the grid lie at whole multiples of h, and there are as many as the particles \
             need. `periodic = false` needs no cell around them.",
        ],
        conventions: Conventions {
            gromacs: ["not there", "–"],
            lammps: [
                "kspace_style msm accuracy, kspace_modify order 10; coul/msm",
                "order as it is, up to 8; `tolerance` has another unit of force",
            ],
            openmm: ["not there", "–"],
            amber_charmm: [
                "not there; NAMD: MSM, MSMApprox, MSMGridSpacing",
                "spacing = MSMGridSpacing",
            ],
        },
        references: &[
            "Skeel, Tezcan & Hardy, J. Comput. Chem. 23, 673 (2002)",
            "Hardy et al., J. Chem. Theory Comput. 11, 766 (2015)",
            "slabs: Parry, Surf. Sci. 49, 433 (1975)",
        ],
        examples: &[],
    },
};
