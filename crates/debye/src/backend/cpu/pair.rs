//! The pair kernel: one skeleton for every potential, truncation and instruction set.
//!
//! Each particle owns its force: it visits its full list of neighbours and nobody else writes to
//! it. So there are no races, and the sums do not depend on the number of threads.
#![allow(unsafe_code)]

use std::ops::Range;

use super::simd::{Array, Coordinate, InstructionSet, Lanes};
#[cfg(target_arch = "x86_64")]
use super::simd::{F32x8, F32x16, F64x4, F64x8};
use crate::expr::{Dual, Table, Vec3};
use crate::forces::PairTerm;
use crate::neighbors::ListBlock;
use crate::potentials::{MAX_COEFFICIENTS, Pair, PairAdapter, PairPotential};
use crate::truncation::{Adapter, ForceShifted, Shifted, Switched, TRUNCATION_COEFFICIENTS, Truncation};

/// Numbers per pair of species: cut-off², truncation, potential.
const COLUMNS: usize = 1 + TRUNCATION_COEFFICIENTS + MAX_COEFFICIENTS;

/// A pair term in the layout of the kernels: one column per number, one row per pair of species.
#[derive(Clone, Debug)]
pub struct PairColumns<E> {
    columns: [Vec<E>; COLUMNS],
    species: u32,
    uniform: bool,
}

impl<E: Copy> PairColumns<E> {
    /// Lays out the rows of a term; `round` goes from `f64` to the precision of the kernel.
    pub fn new(term: &PairTerm, round: impl Fn(f64) -> E) -> Self {
        let column = |k: usize| -> Vec<E> {
            let value = |row: &crate::forces::PairRow| match k {
                0 => row.cutoff * row.cutoff,
                k if k <= TRUNCATION_COEFFICIENTS => row.truncation[k - 1],
                k => row.coefficients[k - 1 - TRUNCATION_COEFFICIENTS],
            };
            term.rows.iter().map(|row| round(value(row))).collect()
        };
        Self {
            columns: std::array::from_fn(column),
            species: (term.rows.len() as f64).sqrt().round() as u32,
            uniform: term.rows.windows(2).all(|pair| pair[0] == pair[1]),
        }
    }

    /// Whether all pairs of species interact alike.
    pub fn is_uniform(&self) -> bool {
        self.uniform
    }
}

/// What a pair kernel reads.
#[derive(Clone, Copy, Debug)]
pub struct PairJob<'a, C, E> {
    /// Particles, then images, then one place far away from all.
    pub coordinates: &'a [[C; 4]],
    /// Species of each of them.
    pub species: &'a [u32],
    /// Length of one unit of the coordinates.
    pub unit: f64,
    /// The term.
    pub columns: &'a PairColumns<E>,
    /// The term's table.
    pub table: &'a Table,
    /// k_e, for potentials that use charges.
    pub coulomb: f64,
}

/// Energy and virial of a block of particles: half of what their pairs have.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PairSums {
    /// Energy.
    pub energy: f64,
    /// Σ r⊗F: xx yy zz xy xz yz.
    pub virial: [f64; 6],
}

impl PairSums {
    /// Adds another block.
    pub fn add(&mut self, other: &Self) {
        self.energy += other.energy;
        for (total, part) in self.virial.iter_mut().zip(other.virial) {
            *total += part;
        }
    }
}

/// A kernel: adds forces of one block of a list; returns sums if it is a kernel with energies.
///
/// # Safety
/// The processor must have the kernel's instruction set, and every entry of the block must be
/// inside `coordinates` and `species`.
pub type PairKernel<C, E> = unsafe fn(&PairJob<C, E>, &ListBlock, &mut [Vec3<f64>]) -> PairSums;

/// Kernels of one potential, picked at run time.
pub trait PairKernels {
    /// In single precision over fixed-point coordinates.
    fn single(&self, set: InstructionSet, t: Truncation, uniform: bool, energy: bool)
    -> PairKernel<i32, f32>;
    /// In double precision.
    fn double(&self, set: InstructionSet, t: Truncation, uniform: bool, energy: bool)
    -> PairKernel<f64, f64>;
}

/// A row of numbers, the same in every lane or gathered.
struct Row<L> {
    cutoff2: L,
    truncation: [L; TRUNCATION_COEFFICIENTS],
    coefficients: [L; MAX_COEFFICIENTS],
}

impl<L: Lanes> Row<L> {
    #[inline(always)]
    fn with(mut read: impl FnMut(usize) -> L) -> Self {
        Self {
            cutoff2: read(0),
            truncation: std::array::from_fn(|k| read(1 + k)),
            coefficients: std::array::from_fn(|k| read(1 + TRUNCATION_COEFFICIENTS + k)),
        }
    }
}

/// The body of every kernel.
///
/// # Safety
/// As for [`PairKernel`].
#[inline(always)]
unsafe fn visit<P, T, L, const UNIFORM: bool, const ENERGY: bool>(
    job: &PairJob<L::Coordinate, L::Element>,
    block: &ListBlock,
    forces: &mut [Vec3<f64>],
) -> PairSums
where
    P: PairPotential,
    T: Adapter,
    L: Lanes,
{
    let particles: Range<usize> = block.particles();
    let unit = L::lit(job.unit);
    let unit2 = unit * unit;
    let minus2 = L::lit(-2.0);
    let columns = &job.columns.columns;
    let broadcast = Row::<L>::with(|k| L::splat(columns[k][0]));
    let mut sums = PairSums::default();
    for (offset, i) in particles.enumerate() {
        let own = &job.coordinates[i];
        let charge = if P::USES_CHARGES {
            L::own_charge(own) * L::lit(job.coulomb)
        } else {
            L::lit(1.0)
        };
        let row_of_own = job.species[i] * job.columns.species;
        let mut force = Vec3::<L>::zero();
        let mut energy = L::lit(0.0);
        let mut virial = [L::lit(0.0); 6];
        for entries in block.entries(offset).chunks_exact(L::WIDTH) {
            // SAFETY: entries of the block are inside the coordinates by the caller's promise.
            let d = unsafe { L::differences(job.coordinates.as_ptr(), entries.as_ptr(), own) };
            let r2 = d.norm2() * unit2;
            let gathered;
            let row = if UNIFORM {
                &broadcast
            } else {
                let others = unsafe { L::indices(entries.as_ptr()) };
                let pairs = unsafe { L::species(job.species.as_ptr(), others, row_of_own) };
                gathered = Row::<L>::with(|k| unsafe { L::lookup(columns[k].as_ptr(), pairs) });
                &gathered
            };
            let inside = L::less(r2, row.cutoff2);
            let bare = P::energy_and_slope(Pair { r2, table: job.table }, &row.coefficients);
            let t = row.truncation.map(Dual::constant);
            let mut full = T::apply(bare, Dual::variable(r2), &t);
            if P::USES_CHARGES {
                let others = unsafe { L::indices(entries.as_ptr()) };
                let charges = charge * unsafe { L::charges(job.coordinates.as_ptr(), others) };
                full = Dual {
                    value: full.value * charges,
                    derivative: full.derivative * charges,
                };
            }
            let strength = L::keep(inside, full.derivative * minus2);
            let pull = d * strength;
            force += pull;
            if ENERGY {
                energy = energy + L::keep(inside, full.value);
                virial[0] = d.x.mul_add(pull.x, virial[0]);
                virial[1] = d.y.mul_add(pull.y, virial[1]);
                virial[2] = d.z.mul_add(pull.z, virial[2]);
                virial[3] = d.x.mul_add(pull.y, virial[3]);
                virial[4] = d.x.mul_add(pull.z, virial[4]);
                virial[5] = d.y.mul_add(pull.z, virial[5]);
            }
        }
        forces[offset] += Vec3::new(force.x.sum(), force.y.sum(), force.z.sum()) * job.unit;
        if ENERGY {
            sums.energy += 0.5 * energy.sum();
            for (total, part) in sums.virial.iter_mut().zip(virial) {
                *total += 0.5 * job.unit * job.unit * part.sum();
            }
        }
    }
    sums
}

macro_rules! entry {
    ($name:ident, $features:literal, $lanes:ty) => {
        #[target_feature(enable = $features)]
        unsafe fn $name<P: PairPotential, T: Adapter, const U: bool, const E: bool>(
            job: &PairJob<<$lanes as Lanes>::Coordinate, <$lanes as Lanes>::Element>,
            block: &ListBlock,
            forces: &mut [Vec3<f64>],
        ) -> PairSums {
            // SAFETY: the caller's promise.
            unsafe { visit::<P, T, $lanes, U, E>(job, block, forces) }
        }
    };
}
#[cfg(target_arch = "x86_64")]
entry!(avx512_single, "avx512f,avx512dq,avx512vl,avx2,fma", F32x16);
#[cfg(target_arch = "x86_64")]
entry!(avx512_double, "avx512f,avx512dq,avx512vl,avx2,fma", F64x8);
#[cfg(target_arch = "x86_64")]
entry!(avx2_single, "avx2,fma", F32x8);
#[cfg(target_arch = "x86_64")]
entry!(avx2_double, "avx2,fma", F64x4);

/// Which of a potential's kernels fits. The forces of all of them are the same to the last bit, so
/// only the variants whose speed matters exist: without energies, and on the widest vectors for one
/// set of parameters.
macro_rules! choose {
    ($set:expr, $truncation:expr, $uniform:expr, $energy:expr, $avx512:ident, $avx2:ident, $portable:ty) => {{
        macro_rules! with {
            ($t:ty) => {
                match $set {
                    #[cfg(target_arch = "x86_64")]
                    InstructionSet::Avx512 if $energy => $avx512::<P, $t, false, true>,
                    #[cfg(target_arch = "x86_64")]
                    InstructionSet::Avx512 if $uniform => $avx512::<P, $t, true, false>,
                    #[cfg(target_arch = "x86_64")]
                    InstructionSet::Avx512 => $avx512::<P, $t, false, false>,
                    #[cfg(target_arch = "x86_64")]
                    InstructionSet::Avx2 if $energy => $avx2::<P, $t, false, true>,
                    #[cfg(target_arch = "x86_64")]
                    InstructionSet::Avx2 => $avx2::<P, $t, false, false>,
                    _ => visit::<P, $t, $portable, false, true>,
                }
            };
        }
        match $truncation {
            Truncation::Cut | Truncation::Shift => with!(Shifted),
            Truncation::ForceShift => with!(ForceShifted),
            Truncation::Switch { .. } => with!(Switched),
        }
    }};
}

impl<P: PairPotential> PairKernels for PairAdapter<P> {
    fn single(
        &self,
        set: InstructionSet,
        t: Truncation,
        uniform: bool,
        energy: bool,
    ) -> PairKernel<i32, f32> {
        choose!(set, t, uniform, energy, avx512_single, avx2_single, Array<f32, 4>)
    }
    fn double(
        &self,
        set: InstructionSet,
        t: Truncation,
        uniform: bool,
        energy: bool,
    ) -> PairKernel<f64, f64> {
        choose!(set, t, uniform, energy, avx512_double, avx2_double, Array<f64, 2>)
    }
}

/// The precision of a kernel: how coordinates and numbers are stored.
pub trait PairPrecision: Send + Sync + 'static {
    /// Stored coordinates.
    type Coordinate: Coordinate;
    /// Stored numbers.
    type Element: Copy + Send + Sync + std::fmt::Debug + 'static;
    /// From `f64`.
    fn round(x: f64) -> Self::Element;
    /// The kernel of a term.
    fn kernel(
        term: &PairTerm,
        set: InstructionSet,
        uniform: bool,
        energy: bool,
    ) -> PairKernel<Self::Coordinate, Self::Element>;
}

/// Pair arithmetic in `f32`.
#[derive(Debug)]
pub struct Single;

/// Pair arithmetic in `f64`.
#[derive(Debug)]
pub struct Double;

impl PairPrecision for Single {
    type Coordinate = i32;
    type Element = f32;
    fn round(x: f64) -> f32 {
        x as f32
    }
    fn kernel(term: &PairTerm, set: InstructionSet, uniform: bool, energy: bool) -> PairKernel<i32, f32> {
        term.family.single(set, term.truncation, uniform, energy)
    }
}

impl PairPrecision for Double {
    type Coordinate = f64;
    type Element = f64;
    fn round(x: f64) -> f64 {
        x
    }
    fn kernel(term: &PairTerm, set: InstructionSet, uniform: bool, energy: bool) -> PairKernel<f64, f64> {
        term.family.double(set, term.truncation, uniform, energy)
    }
}
