//! 512-bit vectors.

use std::arch::x86_64::*;
use std::ops::{Add, Div, Mul, Neg, Sub};

use super::intrinsics::{Usual, add_one_by_one, lanes_of_intrinsics};
use super::polynomials::{self, Exponents};
use super::real_space::{END as REAL_SPACE_END, FIRST as REAL_SPACE_FIRST, REAL_SPACE_FORCE};
use super::{Lanes, Masked};
use crate::expr::{Real, Table, Vec3};

/// Sixteen single-precision numbers.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct F32x16(__m512);

/// Eight double-precision numbers.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct F64x8(__m512d);

lanes_of_intrinsics! {
    F32x16(f32, 16): Coordinate = i32, Indices = __m512i, Mask = __mmask16, Stored = __m512i;
    splat _mm512_set1_ps, add _mm512_add_ps, sub _mm512_sub_ps, mul _mm512_mul_ps, div _mm512_div_ps,
    sqrt _mm512_sqrt_ps, fma _mm512_fmadd_ps, load _mm512_loadu_ps, store _mm512_storeu_ps
}

lanes_of_intrinsics! {
    F64x8(f64, 8): Coordinate = f64, Indices = __m256i, Mask = __mmask8, Stored = __m512d;
    splat _mm512_set1_pd, add _mm512_add_pd, sub _mm512_sub_pd, mul _mm512_mul_pd, div _mm512_div_pd,
    sqrt _mm512_sqrt_pd, fma _mm512_fmadd_pd, load _mm512_loadu_pd, store _mm512_storeu_pd
}

// SAFETY (whole file): values of these types are only made and used inside kernels entered after
// `InstructionSet::detect` found AVX-512 F, DQ and VL; pointers are checked by the callers.

impl F32x16 {
    #[inline(always)]
    fn less_mask(a: Self, b: Self) -> __mmask16 {
        unsafe { _mm512_cmp_ps_mask::<_CMP_LT_OQ>(a.0, b.0) }
    }
    #[inline(always)]
    fn holds_anywhere(mask: __mmask16) -> bool {
        mask != 0
    }
    #[inline(always)]
    fn mask_of(bits: u16) -> __mmask16 {
        bits
    }
    #[inline(always)]
    fn blend(mask: __mmask16, yes: Self, no: Self) -> Self {
        Self(unsafe { _mm512_mask_blend_ps(mask, no.0, yes.0) })
    }
    #[inline(always)]
    fn kept(mask: __mmask16, x: Self) -> Self {
        Self(unsafe { _mm512_maskz_mov_ps(mask, x.0) })
    }
    /// 14 bits, then one Newton step: below 1.5 ulp.
    #[inline(always)]
    fn inverse(self) -> Self {
        unsafe {
            let guess = _mm512_rcp14_ps(self.0);
            let error = _mm512_fnmadd_ps(self.0, guess, _mm512_set1_ps(1.0));
            Self(_mm512_fmadd_ps(guess, error, guess))
        }
    }
    /// By the inverse: below 3 ulp, in a third of the time of the division.
    #[inline(always)]
    fn quotient(self, below: Self) -> Self {
        self * below.inverse()
    }
    /// 14 bits, then one Newton step: below 2 ulp, in a third of the time of the root.
    #[inline(always)]
    fn inverse_root(self) -> Self {
        unsafe {
            let guess = _mm512_rsqrt14_ps(self.0);
            let half = _mm512_mul_ps(guess, _mm512_set1_ps(0.5));
            let error = _mm512_fnmadd_ps(_mm512_mul_ps(self.0, guess), guess, _mm512_set1_ps(1.0));
            Self(_mm512_fmadd_ps(half, error, guess))
        }
    }
    /// Where x is at least 2⁻⁴; from 2⁴ on zero.
    #[inline(always)]
    fn ewald_forces_by_table<const N: usize>(x: [Self; N]) -> [Self; N] {
        let mut sum = x;
        let mut away = x;
        unsafe {
            let mut stretch = [_mm512_setzero_si512(); N];
            let mut inside = [0; N];
            // The middle of a stretch: the first bits of a number, and a one after them.
            let (first, next) = (_mm512_set1_epi32(!0x1f_ffff), _mm512_set1_epi32(0x10_0000));
            for k in 0..N {
                let x = x[k].0;
                inside[k] = Self::less_mask(Self(x), Self::lit(REAL_SPACE_END));
                let bits = _mm512_castps_si512(x);
                stretch[k] = _mm512_srli_epi32::<21>(bits);
                let middle = _mm512_ternarylogic_epi32::<0xea>(bits, first, next);
                away[k] = Self(_mm512_sub_ps(x, _mm512_castsi512_ps(middle)));
            }
            for (power, row) in REAL_SPACE_FORCE.iter().enumerate().rev() {
                let row = row.0.as_ptr();
                let (low, high) = (_mm512_load_ps(row), _mm512_load_ps(row.add(16)));
                for k in 0..N {
                    let c = Self(_mm512_permutex2var_ps(low, stretch[k], high));
                    sum[k] = match power {
                        0 => Self(_mm512_maskz_fmadd_ps(inside[k], sum[k].0, away[k].0, c.0)),
                        5 => c,
                        _ => sum[k].mul_add(away[k], c),
                    };
                }
            }
        }
        sum
    }
}

impl Usual for F32x16 {
    #[inline(always)]
    fn ewald_force(self) -> Self {
        let [found] = Self::ewald_forces([self]);
        found
    }
    /// By a table in registers, in half the instructions of the quotient; the few below its beginning by the quotient.
    #[inline(always)]
    fn ewald_forces<const N: usize>(x: [Self; N]) -> [Self; N] {
        let mut found = Self::ewald_forces_by_table(x);
        let mut below = [0; N];
        let mut any = 0;
        for k in 0..N {
            below[k] = Self::less_mask(x[k], Self::lit(REAL_SPACE_FIRST));
            any |= below[k];
        }
        if any != 0 {
            for k in 0..N {
                found[k] = Self::blend(below[k], crate::expr::real_space_force(false, x[k]), found[k]);
            }
        }
        found
    }
    #[inline(always)]
    fn total(self) -> f64 {
        unsafe {
            let low = _mm512_cvtps_pd(_mm512_castps512_ps256(self.0));
            let high = _mm512_cvtps_pd(_mm512_extractf32x8_ps::<1>(self.0));
            _mm512_reduce_add_pd(_mm512_add_pd(low, high))
        }
    }
    /// In single precision up to the last step: three sums for little more than one.
    #[inline(always)]
    fn totals(v: Vec3<Self>) -> Vec3<f64> {
        unsafe {
            let halves = |x: Self| {
                let (low, high) = (_mm512_castps512_ps256(x.0), _mm512_extractf32x8_ps::<1>(x.0));
                _mm256_add_ps(low, high)
            };
            let (x, y, z) = (halves(v.x), halves(v.y), halves(v.z));
            let quarters = _mm256_hadd_ps(_mm256_hadd_ps(x, y), _mm256_hadd_ps(z, z));
            let sums = _mm_add_ps(
                _mm256_castps256_ps128(quarters),
                _mm256_extractf128_ps::<1>(quarters),
            );
            let mut out = [0.0; 4];
            _mm256_storeu_pd(out.as_mut_ptr(), _mm256_cvtps_pd(sums));
            Vec3::new(out[0], out[1], out[2])
        }
    }
}

impl Exponents for F32x16 {
    const DOUBLE: bool = false;
    #[inline(always)]
    fn nearest(self) -> Self {
        Self(unsafe { _mm512_roundscale_ps::<0>(self.0) })
    }
    #[inline(always)]
    fn power_of_two(n: Self) -> Self {
        Self(unsafe { _mm512_scalef_ps(_mm512_set1_ps(1.0), n.0) })
    }
    #[inline(always)]
    fn mantissa_and_exponent(self) -> (Self, Self) {
        unsafe {
            let m = _mm512_getmant_ps::<_MM_MANT_NORM_P75_1P5, _MM_MANT_SIGN_SRC>(self.0);
            // The exponent that belongs to this mantissa: x/m is a power of two, its own exponent exact.
            (Self(m), Self(_mm512_getexp_ps(_mm512_div_ps(self.0, m))))
        }
    }
}

impl F64x8 {
    #[inline(always)]
    fn less_mask(a: Self, b: Self) -> __mmask8 {
        unsafe { _mm512_cmp_pd_mask::<_CMP_LT_OQ>(a.0, b.0) }
    }
    #[inline(always)]
    fn holds_anywhere(mask: __mmask8) -> bool {
        mask != 0
    }
    #[inline(always)]
    fn mask_of(bits: u16) -> __mmask8 {
        bits as __mmask8
    }
    #[inline(always)]
    fn blend(mask: __mmask8, yes: Self, no: Self) -> Self {
        Self(unsafe { _mm512_mask_blend_pd(mask, no.0, yes.0) })
    }
    #[inline(always)]
    fn kept(mask: __mmask8, x: Self) -> Self {
        Self(unsafe { _mm512_maskz_mov_pd(mask, x.0) })
    }
    /// 14 bits, then two Newton steps: below 2 ulp.
    #[inline(always)]
    fn inverse(self) -> Self {
        unsafe {
            let one = _mm512_set1_pd(1.0);
            let first = _mm512_rcp14_pd(self.0);
            let second = _mm512_fmadd_pd(first, _mm512_fnmadd_pd(self.0, first, one), first);
            Self(_mm512_fmadd_pd(
                second,
                _mm512_fnmadd_pd(self.0, second, one),
                second,
            ))
        }
    }
    #[inline(always)]
    fn quotient(self, below: Self) -> Self {
        self / below
    }
    /// 14 bits, then two Newton steps: below 2 ulp.
    #[inline(always)]
    fn inverse_root(self) -> Self {
        unsafe {
            let refined = |guess| {
                let half = _mm512_mul_pd(guess, _mm512_set1_pd(0.5));
                let error = _mm512_fnmadd_pd(_mm512_mul_pd(self.0, guess), guess, _mm512_set1_pd(1.0));
                _mm512_fmadd_pd(half, error, guess)
            };
            Self(refined(refined(_mm512_rsqrt14_pd(self.0))))
        }
    }
}

impl Usual for F64x8 {
    #[inline(always)]
    fn total(self) -> f64 {
        unsafe { _mm512_reduce_add_pd(self.0) }
    }
}

impl Exponents for F64x8 {
    const DOUBLE: bool = true;
    #[inline(always)]
    fn nearest(self) -> Self {
        Self(unsafe { _mm512_roundscale_pd::<0>(self.0) })
    }
    #[inline(always)]
    fn power_of_two(n: Self) -> Self {
        Self(unsafe { _mm512_scalef_pd(_mm512_set1_pd(1.0), n.0) })
    }
    #[inline(always)]
    fn mantissa_and_exponent(self) -> (Self, Self) {
        unsafe {
            let m = _mm512_getmant_pd::<_MM_MANT_NORM_P75_1P5, _MM_MANT_SIGN_SRC>(self.0);
            (Self(m), Self(_mm512_getexp_pd(_mm512_div_pd(self.0, m))))
        }
    }
}

impl F32x16 {
    #[inline(always)]
    unsafe fn read_indices(entries: *const u32) -> __m512i {
        unsafe { _mm512_loadu_si512(entries.cast()) }
    }
    #[inline(always)]
    fn stored(x: i32) -> __m512i {
        unsafe { _mm512_set1_epi32(x) }
    }
    #[inline(always)]
    fn minus(a: __m512i, b: __m512i) -> Self {
        Self(unsafe { _mm512_cvtepi32_ps(_mm512_sub_epi32(a, b)) })
    }
    #[inline(always)]
    fn numbers_of(stored: __m512i) -> Self {
        Self(unsafe { _mm512_castsi512_ps(stored) })
    }
    /// Sixteen loads of a whole particle and a transposition: fewer memory operations than three
    /// gathers of sixteen.
    #[inline(always)]
    unsafe fn transposed(row: impl Fn(usize) -> *const [i32; 4]) -> [__m512i; 4] {
        unsafe {
            let load = |k: usize| _mm_loadu_si128(row(k).cast());
            // Particles k, k + 4, k + 8, k + 12, one in each quarter.
            let quarters = |k: usize| {
                let a = _mm512_castsi128_si512(load(k));
                let a = _mm512_inserti32x4::<1>(a, load(k + 4));
                let a = _mm512_inserti32x4::<2>(a, load(k + 8));
                _mm512_inserti32x4::<3>(a, load(k + 12))
            };
            let (a, b, c, d) = (quarters(0), quarters(1), quarters(2), quarters(3));
            let (xy01, xy23) = (_mm512_unpacklo_epi32(a, b), _mm512_unpacklo_epi32(c, d));
            let (zw01, zw23) = (_mm512_unpackhi_epi32(a, b), _mm512_unpackhi_epi32(c, d));
            [
                _mm512_unpacklo_epi64(xy01, xy23),
                _mm512_unpackhi_epi64(xy01, xy23),
                _mm512_unpacklo_epi64(zw01, zw23),
                _mm512_unpackhi_epi64(zw01, zw23),
            ]
        }
    }
    /// The way back of `transposed`: a record is read, added to and written at once, as one may be there twice.
    #[inline(always)]
    unsafe fn add_transposed(row: impl Fn(usize) -> *mut [f32; 4], v: Vec3<Self>) {
        unsafe {
            let zero = _mm512_setzero_ps();
            let (xy_low, xy_high) = (
                _mm512_castps_pd(_mm512_unpacklo_ps(v.x.0, v.y.0)),
                _mm512_castps_pd(_mm512_unpackhi_ps(v.x.0, v.y.0)),
            );
            let (z_low, z_high) = (
                _mm512_castps_pd(_mm512_unpacklo_ps(v.z.0, zero)),
                _mm512_castps_pd(_mm512_unpackhi_ps(v.z.0, zero)),
            );
            let add = |k: usize, record: __m128| {
                let to = row(k).cast::<f32>();
                _mm_storeu_ps(to, _mm_add_ps(_mm_loadu_ps(to), record));
            };
            // Particles k, k + 4, k + 8, k + 12, one in each quarter.
            let quarters = |k: usize, records: __m512d| {
                let records = _mm512_castpd_ps(records);
                add(k, _mm512_castps512_ps128(records));
                add(k + 4, _mm512_extractf32x4_ps::<1>(records));
                add(k + 8, _mm512_extractf32x4_ps::<2>(records));
                add(k + 12, _mm512_extractf32x4_ps::<3>(records));
            };
            quarters(0, _mm512_unpacklo_pd(xy_low, z_low));
            quarters(1, _mm512_unpackhi_pd(xy_low, z_low));
            quarters(2, _mm512_unpacklo_pd(xy_high, z_high));
            quarters(3, _mm512_unpackhi_pd(xy_high, z_high));
        }
    }
    #[inline(always)]
    unsafe fn gather_species(species: *const u32, others: __m512i, offset: u32) -> __m512i {
        unsafe {
            _mm512_add_epi32(
                _mm512_i32gather_epi32::<4>(others, species.cast()),
                _mm512_set1_epi32(offset as i32),
            )
        }
    }
    #[inline(always)]
    unsafe fn gather_column(column: *const f32, indices: __m512i) -> Self {
        Self(unsafe { _mm512_i32gather_ps::<4>(indices, column) })
    }
    /// Floor as an index between 0 and `last`, and the rest.
    #[inline(always)]
    fn floor_split(self) -> (__m512i, Self) {
        unsafe {
            let floor = _mm512_roundscale_ps::<1>(self.0);
            (_mm512_cvttps_epi32(floor), Self(_mm512_sub_ps(self.0, floor)))
        }
    }
    #[inline(always)]
    fn clamp_indices(indices: __m512i, offset: usize, last: usize) -> __m512i {
        unsafe {
            let moved = _mm512_add_epi32(
                _mm512_max_epi32(indices, _mm512_setzero_si512()),
                _mm512_set1_epi32(offset as i32),
            );
            _mm512_min_epi32(
                _mm512_max_epi32(moved, _mm512_setzero_si512()),
                _mm512_set1_epi32(last as i32),
            )
        }
    }
}

impl F64x8 {
    #[inline(always)]
    unsafe fn read_indices(entries: *const u32) -> __m256i {
        unsafe { _mm256_loadu_si256(entries.cast()) }
    }
    #[inline(always)]
    fn stored(x: f64) -> __m512d {
        unsafe { _mm512_set1_pd(x) }
    }
    #[inline(always)]
    fn minus(a: __m512d, b: __m512d) -> Self {
        Self(unsafe { _mm512_sub_pd(a, b) })
    }
    #[inline(always)]
    fn numbers_of(stored: __m512d) -> Self {
        Self(stored)
    }
    #[inline(always)]
    unsafe fn transposed(row: impl Fn(usize) -> *const [f64; 4]) -> [__m512d; 4] {
        unsafe {
            let load = |k: usize| _mm256_loadu_pd(row(k).cast());
            // Particles k and k + 4, one in each half.
            let halves = |k: usize| _mm512_insertf64x4::<1>(_mm512_castpd256_pd512(load(k)), load(k + 4));
            let (a, b, c, d) = (halves(0), halves(1), halves(2), halves(3));
            let (xz01, xz23) = (_mm512_unpacklo_pd(a, b), _mm512_unpacklo_pd(c, d));
            let (yw01, yw23) = (_mm512_unpackhi_pd(a, b), _mm512_unpackhi_pd(c, d));
            let first = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
            let second = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
            [
                _mm512_permutex2var_pd(xz01, first, xz23),
                _mm512_permutex2var_pd(yw01, first, yw23),
                _mm512_permutex2var_pd(xz01, second, xz23),
                _mm512_permutex2var_pd(yw01, second, yw23),
            ]
        }
    }
    #[inline(always)]
    unsafe fn add_transposed(row: impl Fn(usize) -> *mut [f64; 4], v: Vec3<Self>) {
        unsafe { add_one_by_one(row, [v.x, v.y, v.z].map(Self::to_array)) }
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
    unsafe fn gather_column(column: *const f64, indices: __m256i) -> Self {
        Self(unsafe { _mm512_i32gather_pd::<8>(indices, column) })
    }
    #[inline(always)]
    fn floor_split(self) -> (__m256i, Self) {
        unsafe {
            let floor = _mm512_roundscale_pd::<1>(self.0);
            (_mm512_cvttpd_epi32(floor), Self(_mm512_sub_pd(self.0, floor)))
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
