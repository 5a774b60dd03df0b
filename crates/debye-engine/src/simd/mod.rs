//! Vectors of numbers: the fast CPU instances of [`Real`], and the choice among them at run time.
//!
//! One binary holds every instruction set. Kernels are generic over [`Lanes`]; each is entered
//! through a function compiled for its instruction set ([`InstructionSet::detect`] says which may
//! be called), into which the generic body and the operations below are inlined.
#![allow(unsafe_code)]

mod abreast;
mod array;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod intrinsics;
mod polynomials;
#[cfg(target_arch = "x86_64")]
mod real_space;
mod search;
mod stencil;
#[cfg(test)]
mod tests;

pub use abreast::{Abreast, Four, Three};
pub use array::Array;
#[cfg(target_arch = "x86_64")]
pub use avx2::{F32x8, F64x4};
#[cfg(target_arch = "x86_64")]
pub use avx512::{F32x16, F64x8};
pub use search::{Near, Search};
pub use stencil::{Eight, EightDoubles, EightSingles, Plain};

use crate::expr::{Real, Table, Vec3};

/// Instruction sets a kernel exists for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstructionSet {
    /// 512-bit vectors.
    Avx512,
    /// 256-bit vectors with fused multiply-add.
    Avx2,
    /// Arrays that the compiler vectorizes with the target's baseline (SSE2, NEON).
    Portable,
}

impl InstructionSet {
    /// The best this processor has.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if std::arch::is_x86_feature_detected!("avx512f")
                && std::arch::is_x86_feature_detected!("avx512dq")
                && std::arch::is_x86_feature_detected!("avx512vl")
            {
                return Self::Avx512;
            }
            if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
                return Self::Avx2;
            }
        }
        Self::Portable
    }

    /// Every set this processor can run, best first.
    pub fn available() -> Vec<Self> {
        match Self::detect() {
            Self::Avx512 => vec![Self::Avx512, Self::Avx2, Self::Portable],
            Self::Avx2 => vec![Self::Avx2, Self::Portable],
            Self::Portable => vec![Self::Portable],
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Avx512 => "AVX-512",
            Self::Avx2 => "AVX2",
            Self::Portable => "portable",
        }
    }
}

/// Coordinates as the pair kernels read them: x, y, z and the charge.
///
/// `f64` holds lengths. `i32` holds lengths in units of the frame's resolution, so that
/// differences are exact and single precision loses nothing to the size of the cell; its charge
/// is the bit pattern of an `f32`.
pub trait Coordinate: Copy + Send + Sync + Default + PartialOrd + std::fmt::Debug + 'static {}

impl Coordinate for i32 {}
impl Coordinate for f64 {}

/// Numbers that can be compared and left out.
pub trait Masked: Real {
    /// Whether in double precision.
    const DOUBLE: bool;
    /// As many truths.
    type Mask: Copy;

    /// Where `a < b`.
    fn less(a: Self, b: Self) -> Self::Mask;

    /// `x` where the mask holds, zero elsewhere, whatever `x` is there (even NaN).
    fn keep(mask: Self::Mask, x: Self) -> Self;
}

/// A vector of numbers with what a pair kernel needs beyond arithmetic.
pub trait Lanes: Masked {
    /// How many.
    const WIDTH: usize;
    /// What each is.
    type Element: Copy + Send + Sync + 'static;
    /// How positions are stored for this precision.
    type Coordinate: Coordinate;
    /// As many particle numbers.
    type Indices: Copy;
    /// Coordinates and charges of as many particles, as stored.
    type Stored: Copy;

    /// Reads `WIDTH` particle numbers.
    ///
    /// # Safety
    /// `entries` must be readable for `WIDTH` numbers and the processor must have the instructions.
    unsafe fn indices(entries: *const u32) -> Self::Indices;

    /// `WIDTH` particles, by their numbers.
    ///
    /// # Safety
    /// As for [`Lanes::indices`], and every index must be inside `coordinates`.
    unsafe fn gather_records(coordinates: *const [Self::Coordinate; 4], numbers: *const u32) -> Self::Stored;

    /// One of two numbers for each lane: the first where its bit is set.
    fn pick(bits: u16, yes: Self, no: Self) -> Self;

    /// [`Real::real_space_force`] of several vectors, operation by operation where that is worth it.
    #[inline(always)]
    fn real_space_forces<const N: usize>(mut x: [Self; N]) -> [Self; N] {
        for x in &mut x {
            *x = x.real_space_force();
        }
        x
    }

    /// Adds a vector of vectors to the first three numbers of as many records, one after the other.
    ///
    /// # Safety
    /// As for [`Lanes::indices`], and every number must be inside `to`.
    unsafe fn scatter_add(to: *mut [Self::Element; 4], numbers: *const u32, vectors: Vec3<Self>);

    /// `these − other` for one other, in the units of the coordinates.
    fn away(these: &Self::Stored, other: &[Self::Coordinate; 4]) -> Vec3<Self>;

    /// What is stored in a place as a number and not as a coordinate, such as the charge in the fourth.
    fn numbers(stored: &Self::Stored, place: usize) -> Self;

    /// The same of one particle.
    fn own_number(own: &[Self::Coordinate; 4], place: usize) -> Self;

    /// `offset + species[index]` for every index.
    ///
    /// # Safety
    /// Every index must be inside `species` and the processor must have the instructions.
    unsafe fn species(species: *const u32, others: Self::Indices, offset: u32) -> Self::Indices;

    /// `column[index]` for every index.
    ///
    /// # Safety
    /// Every index must be inside `column` and the processor must have the instructions.
    unsafe fn lookup(column: *const Self::Element, indices: Self::Indices) -> Self;

    /// The first `WIDTH` numbers of a slice, which must have as many.
    fn load(from: &[Self::Element]) -> Self;

    /// Writes the lanes to the first places of a slice, which must have as many.
    fn store(self, to: &mut [Self::Element]);

    /// Rounds a number to this precision.
    fn element(x: f64) -> Self::Element;

    /// The same number in every lane.
    fn splat(x: Self::Element) -> Self;

    /// A table's values in this precision.
    fn table(table: &Table) -> &[Self::Element];

    /// Whether the mask holds anywhere.
    fn any(mask: Self::Mask) -> bool;

    /// The sum of all lanes, always in the same order.
    fn sum(self) -> f64;

    /// The sums of three vectors, likewise.
    #[inline(always)]
    fn sums(v: Vec3<Self>) -> Vec3<f64> {
        Vec3::new(v.x.sum(), v.y.sum(), v.z.sum())
    }

    /// Brings what lies there into the cache.
    #[inline(always)]
    fn prefetch(place: *const u32) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch reads nothing; every such processor has it.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(place.cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = place;
    }

    /// The lanes one by one.
    fn to_vec(self) -> Vec<f64>;

    /// Lanes from numbers (repeated if there are fewer).
    fn from_values(values: &[f64]) -> Self;
}

/// A table's values in one precision.
pub(crate) trait TableOf: Sized {
    /// The values.
    fn of(table: &Table) -> &[Self];
}

impl TableOf for f32 {
    #[inline(always)]
    fn of(table: &Table) -> &[f32] {
        table.f32s()
    }
}

impl TableOf for f64 {
    #[inline(always)]
    fn of(table: &Table) -> &[f64] {
        table.f64s()
    }
}
