//! What an engine must have compiled for every pair potential: kernels of the CPU, which `engines/cpu/pair` writes.
//!
//! They belong to the potential because a kernel holds its formula: a potential of another crate brings its own.

use super::pair::MAX_COEFFICIENTS;
use crate::expr::{Table, Vec3};
use crate::neighbors::ListBlock;
use crate::simd::InstructionSet;
use crate::truncation::{TRUNCATION_COEFFICIENTS, Truncation, TruncationKind};

/// Numbers per pair of species: cut-off², truncation, potential.
const COLUMNS: usize = 1 + TRUNCATION_COEFFICIENTS + MAX_COEFFICIENTS;

/// A pair term in the layout of the kernels: one column per number, one row per pair of species.
#[derive(Clone, Debug)]
pub struct PairColumns<E> {
    pub(crate) columns: [Vec<E>; COLUMNS],
    pub(crate) species: u32,
    /// For every pair of species whether it has nothing of this term.
    pub(crate) absent: Vec<bool>,
    pub(crate) uniform: bool,
}

/// The most terms that one kernel adds up.
pub const TOGETHER: usize = 2;

/// The numbers of a term, and its table.
#[derive(Clone, Copy, Debug)]
pub struct Numbers<'a, E> {
    /// Numbers by pair of species.
    pub columns: &'a PairColumns<E>,
    /// The term's table.
    pub table: &'a Table,
    /// How the term ends, for kernels that hold the code of several truncations.
    pub truncation: TruncationKind,
}

/// What a pair kernel reads of a block of particles.
#[derive(Clone, Copy, Debug)]
pub struct PairJob<'a, C, E> {
    /// Coordinates of its particles, and their charges.
    pub own: &'a [[C; 4]],
    /// Their species.
    pub species: &'a [u32],
    /// Those that its lists name, likewise, and behind them a place out of reach.
    pub others: &'a [[C; 4]],
    /// Species of these, where vectors of a list are of several.
    pub other_species: &'a [u32],
    /// Length of one unit of the coordinates.
    pub unit: f64,
    /// Whether the places of every vector of a list are of one species.
    pub grouped: bool,
    /// The terms of the kernel; where it has one only, that one twice.
    pub terms: [Numbers<'a, E>; TOGETHER],
    /// k_e, for potentials that use charges.
    pub coulomb: f64,
    /// The square of a distance out of reach, for pairs that are left out. No more than a few cut-offs: powers of what is
    /// farther leave the range of normal numbers, and a processor takes hundreds of cycles for each.
    pub far2: E,
}

/// Where a kernel adds forces.
#[derive(Debug)]
pub struct PairForces<'a, E> {
    /// Those of the block's particles.
    pub own: &'a mut [Vec3<f64>],
    /// Those that the lists name: to be multiplied by −2 and the unit of the coordinates.
    pub others: &'a mut [[E; 4]],
}

/// Energy and virial of the pairs in the lists of a block of particles.
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

/// A kernel: adds forces of one block `B` of a half list; returns sums by term if it is a kernel with energies.
///
/// # Safety
/// The processor must have the kernel's instruction set; `own` and `species` must have all the block's particles, and every
/// entry of the block must be inside `others`, its forces, and `other_species` where vectors are of several.
pub type PairKernel<C, E, B> = unsafe fn(&PairJob<C, E>, &B, PairForces<E>) -> [PairSums; TOGETHER];

/// Kernels of one potential, picked at run time: `uniform` if all pairs of species interact alike, `energy` if energies
/// are needed (they may be computed where none are). The forces of all variants are the same to the last bit.
pub trait PairKernels {
    /// In single precision over fixed-point coordinates.
    fn single(
        &self,
        set: InstructionSet,
        t: Truncation,
        uniform: bool,
        energy: bool,
    ) -> PairKernel<i32, f32, ListBlock>;
    /// In double precision.
    fn double(
        &self,
        set: InstructionSet,
        t: Truncation,
        uniform: bool,
        energy: bool,
    ) -> PairKernel<f64, f64, ListBlock>;
}
