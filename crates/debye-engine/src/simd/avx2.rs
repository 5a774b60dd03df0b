//! 256-bit vectors with fused multiply-add.

use std::arch::x86_64::*;
use std::ops::{Add, Div, Mul, Neg, Sub};

use super::intrinsics::{Usual, add_one_by_one, lanes_of_intrinsics};
use super::polynomials::{self, Exponents};
use super::{Lanes, Masked};
use crate::expr::{Real, Table, Vec3};

/// Eight single-precision numbers.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct F32x8(__m256);

/// Four double-precision numbers.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct F64x4(__m256d);

lanes_of_intrinsics! {
    F32x8(f32, 8): Coordinate = i32, Indices = __m256i, Mask = __m256, Stored = __m256i;
    splat _mm256_set1_ps, add _mm256_add_ps, sub _mm256_sub_ps, mul _mm256_mul_ps, div _mm256_div_ps,
    sqrt _mm256_sqrt_ps, fma _mm256_fmadd_ps, load _mm256_loadu_ps, store _mm256_storeu_ps
}

lanes_of_intrinsics! {
    F64x4(f64, 4): Coordinate = f64, Indices = __m128i, Mask = __m256d, Stored = __m256d;
    splat _mm256_set1_pd, add _mm256_add_pd, sub _mm256_sub_pd, mul _mm256_mul_pd, div _mm256_div_pd,
    sqrt _mm256_sqrt_pd, fma _mm256_fmadd_pd, load _mm256_loadu_pd, store _mm256_storeu_pd
}

// SAFETY (whole file): values of these types are only made and used inside kernels entered after
// `InstructionSet::detect` found AVX2 and FMA; pointers are checked by the callers.

impl F32x8 {
    #[inline(always)]
    fn less_mask(a: Self, b: Self) -> __m256 {
        unsafe { _mm256_cmp_ps::<_CMP_LT_OQ>(a.0, b.0) }
    }
    #[inline(always)]
    fn holds_anywhere(mask: __m256) -> bool {
        unsafe { _mm256_movemask_ps(mask) != 0 }
    }
    #[inline(always)]
    fn mask_of(bits: u16) -> __m256 {
        unsafe {
            let lanes = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
            let set = _mm256_and_si256(_mm256_set1_epi32(i32::from(bits)), lanes);
            _mm256_castsi256_ps(_mm256_cmpeq_epi32(set, lanes))
        }
    }
    #[inline(always)]
    fn blend(mask: __m256, yes: Self, no: Self) -> Self {
        Self(unsafe { _mm256_blendv_ps(no.0, yes.0, mask) })
    }
    #[inline(always)]
    fn kept(mask: __m256, x: Self) -> Self {
        Self(unsafe { _mm256_and_ps(mask, x.0) })
    }
    #[inline(always)]
    fn inverse(self) -> Self {
        Self(unsafe { _mm256_div_ps(_mm256_set1_ps(1.0), self.0) })
    }
    #[inline(always)]
    fn quotient(self, below: Self) -> Self {
        self / below
    }
    #[inline(always)]
    fn inverse_root(self) -> Self {
        self.sqrt().inverse()
    }
    #[inline(always)]
    unsafe fn read_indices(entries: *const u32) -> __m256i {
        unsafe { _mm256_loadu_si256(entries.cast()) }
    }
    #[inline(always)]
    fn stored(x: i32) -> __m256i {
        unsafe { _mm256_set1_epi32(x) }
    }
    #[inline(always)]
    fn minus(a: __m256i, b: __m256i) -> Self {
        Self(unsafe { _mm256_cvtepi32_ps(_mm256_sub_epi32(a, b)) })
    }
    #[inline(always)]
    fn numbers_of(stored: __m256i) -> Self {
        Self(unsafe { _mm256_castsi256_ps(stored) })
    }
    /// Eight loads of a whole particle and a transposition.
    #[inline(always)]
    unsafe fn transposed(row: impl Fn(usize) -> *const [i32; 4]) -> [__m256i; 4] {
        unsafe {
            let load = |k: usize| _mm_loadu_si128(row(k).cast());
            let halves =
                |k: usize| _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(load(k)), load(k + 4));
            let (a, b, c, d) = (halves(0), halves(1), halves(2), halves(3));
            let (xy01, xy23) = (_mm256_unpacklo_epi32(a, b), _mm256_unpacklo_epi32(c, d));
            let (zw01, zw23) = (_mm256_unpackhi_epi32(a, b), _mm256_unpackhi_epi32(c, d));
            [
                _mm256_unpacklo_epi64(xy01, xy23),
                _mm256_unpackhi_epi64(xy01, xy23),
                _mm256_unpacklo_epi64(zw01, zw23),
                _mm256_unpackhi_epi64(zw01, zw23),
            ]
        }
    }
    /// The way back of `transposed`: a record is read, added to and written at once, as one may be there twice.
    #[inline(always)]
    unsafe fn add_transposed(row: impl Fn(usize) -> *mut [f32; 4], v: Vec3<Self>) {
        unsafe {
            let zero = _mm256_setzero_ps();
            let (xy_low, xy_high) = (
                _mm256_castps_pd(_mm256_unpacklo_ps(v.x.0, v.y.0)),
                _mm256_castps_pd(_mm256_unpackhi_ps(v.x.0, v.y.0)),
            );
            let (z_low, z_high) = (
                _mm256_castps_pd(_mm256_unpacklo_ps(v.z.0, zero)),
                _mm256_castps_pd(_mm256_unpackhi_ps(v.z.0, zero)),
            );
            let add = |k: usize, record: __m128| {
                let to = row(k).cast::<f32>();
                _mm_storeu_ps(to, _mm_add_ps(_mm_loadu_ps(to), record));
            };
            // Particles k and k + 4, one in each half.
            let halves = |k: usize, records: __m256d| {
                let records = _mm256_castpd_ps(records);
                add(k, _mm256_castps256_ps128(records));
                add(k + 4, _mm256_extractf128_ps::<1>(records));
            };
            halves(0, _mm256_unpacklo_pd(xy_low, z_low));
            halves(1, _mm256_unpackhi_pd(xy_low, z_low));
            halves(2, _mm256_unpacklo_pd(xy_high, z_high));
            halves(3, _mm256_unpackhi_pd(xy_high, z_high));
        }
    }
    #[inline(always)]
    unsafe fn gather_species(species: *const u32, others: __m256i, offset: u32) -> __m256i {
        unsafe {
            _mm256_add_epi32(
                _mm256_i32gather_epi32::<4>(species.cast(), others),
                _mm256_set1_epi32(offset as i32),
            )
        }
    }
    #[inline(always)]
    unsafe fn gather_column(column: *const f32, indices: __m256i) -> Self {
        Self(unsafe { _mm256_i32gather_ps::<4>(column, indices) })
    }
    #[inline(always)]
    fn floor_split(self) -> (__m256i, Self) {
        unsafe {
            let floor = _mm256_floor_ps(self.0);
            (_mm256_cvttps_epi32(floor), Self(_mm256_sub_ps(self.0, floor)))
        }
    }
    #[inline(always)]
    fn clamp_indices(indices: __m256i, offset: usize, last: usize) -> __m256i {
        unsafe {
            let zero = _mm256_setzero_si256();
            let moved = _mm256_add_epi32(_mm256_max_epi32(indices, zero), _mm256_set1_epi32(offset as i32));
            _mm256_min_epi32(_mm256_max_epi32(moved, zero), _mm256_set1_epi32(last as i32))
        }
    }
}

impl Usual for F32x8 {
    #[inline(always)]
    fn total(self) -> f64 {
        unsafe {
            let low = _mm256_cvtps_pd(_mm256_castps256_ps128(self.0));
            let high = _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(self.0));
            F64x4(_mm256_add_pd(low, high)).total()
        }
    }
}

impl Exponents for F32x8 {
    const DOUBLE: bool = false;
    #[inline(always)]
    fn nearest(self) -> Self {
        Self(unsafe { _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self.0) })
    }
    #[inline(always)]
    fn power_of_two(n: Self) -> Self {
        unsafe {
            let biased = _mm256_add_epi32(_mm256_cvtps_epi32(n.0), _mm256_set1_epi32(127));
            Self(_mm256_castsi256_ps(_mm256_slli_epi32::<23>(biased)))
        }
    }
    #[inline(always)]
    fn mantissa_and_exponent(self) -> (Self, Self) {
        unsafe {
            // Half the range of the mantissa more, and [¾, 3/2) has one exponent.
            let bits = _mm256_castps_si256(self.0);
            let shifted = _mm256_add_epi32(bits, _mm256_set1_epi32(0x0040_0000));
            let e = _mm256_sub_epi32(_mm256_srli_epi32::<23>(shifted), _mm256_set1_epi32(127));
            let m = _mm256_sub_epi32(bits, _mm256_slli_epi32::<23>(e));
            (Self(_mm256_castsi256_ps(m)), Self(_mm256_cvtepi32_ps(e)))
        }
    }
}

impl F64x4 {
    #[inline(always)]
    fn less_mask(a: Self, b: Self) -> __m256d {
        unsafe { _mm256_cmp_pd::<_CMP_LT_OQ>(a.0, b.0) }
    }
    #[inline(always)]
    fn holds_anywhere(mask: __m256d) -> bool {
        unsafe { _mm256_movemask_pd(mask) != 0 }
    }
    #[inline(always)]
    fn mask_of(bits: u16) -> __m256d {
        unsafe {
            let lanes = _mm256_setr_epi64x(1, 2, 4, 8);
            let set = _mm256_and_si256(_mm256_set1_epi64x(i64::from(bits)), lanes);
            _mm256_castsi256_pd(_mm256_cmpeq_epi64(set, lanes))
        }
    }
    #[inline(always)]
    fn blend(mask: __m256d, yes: Self, no: Self) -> Self {
        Self(unsafe { _mm256_blendv_pd(no.0, yes.0, mask) })
    }
    #[inline(always)]
    fn kept(mask: __m256d, x: Self) -> Self {
        Self(unsafe { _mm256_and_pd(mask, x.0) })
    }
    #[inline(always)]
    fn inverse(self) -> Self {
        Self(unsafe { _mm256_div_pd(_mm256_set1_pd(1.0), self.0) })
    }
    #[inline(always)]
    fn quotient(self, below: Self) -> Self {
        self / below
    }
    #[inline(always)]
    fn inverse_root(self) -> Self {
        self.sqrt().inverse()
    }
    #[inline(always)]
    unsafe fn read_indices(entries: *const u32) -> __m128i {
        unsafe { _mm_loadu_si128(entries.cast()) }
    }
    #[inline(always)]
    fn stored(x: f64) -> __m256d {
        unsafe { _mm256_set1_pd(x) }
    }
    #[inline(always)]
    fn minus(a: __m256d, b: __m256d) -> Self {
        Self(unsafe { _mm256_sub_pd(a, b) })
    }
    #[inline(always)]
    fn numbers_of(stored: __m256d) -> Self {
        Self(stored)
    }
    #[inline(always)]
    unsafe fn transposed(row: impl Fn(usize) -> *const [f64; 4]) -> [__m256d; 4] {
        unsafe {
            let load = |k: usize| _mm256_loadu_pd(row(k).cast());
            let (a, b, c, d) = (load(0), load(1), load(2), load(3));
            let (xz01, xz23) = (_mm256_unpacklo_pd(a, b), _mm256_unpacklo_pd(c, d));
            let (yw01, yw23) = (_mm256_unpackhi_pd(a, b), _mm256_unpackhi_pd(c, d));
            [
                _mm256_permute2f128_pd::<0x20>(xz01, xz23),
                _mm256_permute2f128_pd::<0x20>(yw01, yw23),
                _mm256_permute2f128_pd::<0x31>(xz01, xz23),
                _mm256_permute2f128_pd::<0x31>(yw01, yw23),
            ]
        }
    }
    #[inline(always)]
    unsafe fn add_transposed(row: impl Fn(usize) -> *mut [f64; 4], v: Vec3<Self>) {
        unsafe { add_one_by_one(row, [v.x, v.y, v.z].map(Self::to_array)) }
    }
    #[inline(always)]
    unsafe fn gather_species(species: *const u32, others: __m128i, offset: u32) -> __m128i {
        unsafe {
            _mm_add_epi32(
                _mm_i32gather_epi32::<4>(species.cast(), others),
                _mm_set1_epi32(offset as i32),
            )
        }
    }
    #[inline(always)]
    unsafe fn gather_column(column: *const f64, indices: __m128i) -> Self {
        Self(unsafe { _mm256_i32gather_pd::<8>(column, indices) })
    }
    #[inline(always)]
    fn floor_split(self) -> (__m128i, Self) {
        unsafe {
            let floor = _mm256_floor_pd(self.0);
            (_mm256_cvttpd_epi32(floor), Self(_mm256_sub_pd(self.0, floor)))
        }
    }
    #[inline(always)]
    fn clamp_indices(indices: __m128i, offset: usize, last: usize) -> __m128i {
        unsafe {
            let zero = _mm_setzero_si128();
            let moved = _mm_add_epi32(_mm_max_epi32(indices, zero), _mm_set1_epi32(offset as i32));
            _mm_min_epi32(_mm_max_epi32(moved, zero), _mm_set1_epi32(last as i32))
        }
    }
}

impl Usual for F64x4 {
    #[inline(always)]
    fn total(self) -> f64 {
        unsafe {
            let pair = _mm_add_pd(_mm256_castpd256_pd128(self.0), _mm256_extractf128_pd::<1>(self.0));
            _mm_cvtsd_f64(_mm_add_sd(pair, _mm_unpackhi_pd(pair, pair)))
        }
    }
}

impl Exponents for F64x4 {
    const DOUBLE: bool = true;
    #[inline(always)]
    fn nearest(self) -> Self {
        Self(unsafe { _mm256_round_pd::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self.0) })
    }
    #[inline(always)]
    fn power_of_two(n: Self) -> Self {
        unsafe {
            let biased = _mm256_add_epi64(
                _mm256_cvtepi32_epi64(_mm256_cvtpd_epi32(n.0)),
                _mm256_set1_epi64x(1023),
            );
            Self(_mm256_castsi256_pd(_mm256_slli_epi64::<52>(biased)))
        }
    }
    #[inline(always)]
    fn mantissa_and_exponent(self) -> (Self, Self) {
        unsafe {
            let bits = _mm256_castpd_si256(self.0);
            let shifted = _mm256_add_epi64(bits, _mm256_set1_epi64x(0x0008_0000_0000_0000));
            let e = _mm256_sub_epi64(_mm256_srli_epi64::<52>(shifted), _mm256_set1_epi64x(1023));
            let m = _mm256_sub_epi64(bits, _mm256_slli_epi64::<52>(e));
            // AVX2 has no conversion from 64-bit integers: the exponents fit the low halves.
            let low = _mm256_permutevar8x32_epi32(e, _mm256_setr_epi32(0, 2, 4, 6, 0, 0, 0, 0));
            (
                Self(_mm256_castsi256_pd(m)),
                Self(_mm256_cvtepi32_pd(_mm256_castsi256_si128(low))),
            )
        }
    }
}
