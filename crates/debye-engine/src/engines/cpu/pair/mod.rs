//! Pair terms on the CPU: their numbers, and the kernels that add their forces.
//!
//! There is one skeleton for every potential and instruction set. A pair is computed once: its force is added to the
//! particle whose row has it, and to a copy of the other that the block of particles has for itself
//! ([`BlockForces`](super::block_forces::BlockForces)). So there are no races, and the sums do not depend on the number of
//! threads.
#![allow(unsafe_code)]

mod kernels;
mod terms;
mod visit;

use kernels::together;
pub use terms::{Any, Row, interact};

use crate::forces::PairTerm;
use crate::neighbors::ListBlock;
use crate::potentials::{PairColumns, PairKernel};
use crate::simd::{Coordinate, InstructionSet};
use crate::truncation::TRUNCATION_COEFFICIENTS;

impl<E: Copy> PairColumns<E> {
    /// Lays out the rows of a term; `round` goes from `f64` to the precision of the kernel.
    pub fn new(term: &PairTerm, round: impl Fn(f64) -> E) -> Self {
        let column = |k: usize| -> Vec<E> {
            let value = |row: &crate::forces::PairRow| match k {
                // Nobody is within reach of a term that is absent.
                0 => row.cutoff.max(0.0).powi(2),
                k if k <= TRUNCATION_COEFFICIENTS => row.truncation[k - 1],
                k => row.coefficients[k - 1 - TRUNCATION_COEFFICIENTS],
            };
            let rows = term.rows.iter().map(|row| round(value(row)));
            // Vectors that begin inside a column may end beyond it.
            rows.chain(std::iter::repeat_n(round(0.0), MAX_WIDTH)).collect()
        };
        Self {
            columns: std::array::from_fn(column),
            species: (term.rows.len() as f64).sqrt().round() as u32,
            absent: term.rows.iter().map(|row| row.cutoff <= 0.0).collect(),
            uniform: term.rows.windows(2).all(|pair| pair[0] == pair[1]),
        }
    }

    /// How many species there are.
    pub fn species(&self) -> usize {
        self.species as usize
    }

    /// Whether all pairs of species interact alike.
    pub fn is_uniform(&self) -> bool {
        self.uniform
    }
}

/// The widest vector there is.
const MAX_WIDTH: usize = 16;

/// The precision of a kernel: how coordinates and numbers are stored.
pub trait PairPrecision: Send + Sync + 'static {
    /// Stored coordinates.
    type Coordinate: Coordinate;
    /// Stored numbers.
    type Element: Copy + Default + Into<f64> + Send + Sync + std::fmt::Debug + 'static;
    /// The kernel of two terms in one pass over lists of particles, if there is one.
    fn kernel_of_both(
        first: &PairTerm,
        second: &PairTerm,
        set: InstructionSet,
        energy: bool,
    ) -> Option<PairKernel<Self::Coordinate, Self::Element, ListBlock>>;
    /// From `f64`.
    fn round(x: f64) -> Self::Element;
    /// The kernel of a term over lists of particles.
    fn kernel(
        term: &PairTerm,
        set: InstructionSet,
        uniform: bool,
        energy: bool,
    ) -> PairKernel<Self::Coordinate, Self::Element, ListBlock>;
}

/// Pair arithmetic in `f32`.
#[derive(Debug)]
pub struct Single;

/// Pair arithmetic in `f64`.
#[derive(Debug)]
pub struct Double;

macro_rules! precision {
    ($name:ident, $coordinate:ty, $element:ty, $particles:ident) => {
        impl PairPrecision for $name {
            type Coordinate = $coordinate;
            type Element = $element;
            fn round(x: f64) -> $element {
                x as $element
            }
            fn kernel(
                term: &PairTerm,
                set: InstructionSet,
                uniform: bool,
                energy: bool,
            ) -> PairKernel<$coordinate, $element, ListBlock> {
                term.family
                    .$particles(set, term.truncation, uniform, energy)
            }
            fn kernel_of_both(
                first: &PairTerm,
                second: &PairTerm,
                set: InstructionSet,
                energy: bool,
            ) -> Option<PairKernel<$coordinate, $element, ListBlock>> {
                together::$particles(first, second, set, energy)
            }
        }
    };
}
precision!(Single, i32, f32, single);
precision!(Double, f64, f64, double);
