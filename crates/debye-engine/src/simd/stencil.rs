//! [`Eight`]: eight values of a mesh side by side, as many as a charge touches along an axis at most.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use crate::expr::Real;

/// Eight numbers of a row.
pub trait Eight<T>: Copy {
    /// Reads them.
    fn read(from: &[T; 8]) -> Self;
    /// Writes them.
    fn write(self, to: &mut [T; 8]);
    /// The same number in every place.
    fn splat(x: T) -> Self;
    /// `self · a + b`.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// Their sum, always in the same order.
    fn sum_of_products(self, other: Self) -> T;
}

/// For any processor.
#[derive(Clone, Copy, Debug)]
pub struct Plain<T>([T; 8]);

impl<T: Real> Eight<T> for Plain<T> {
    #[inline(always)]
    fn read(from: &[T; 8]) -> Self {
        Self(*from)
    }
    #[inline(always)]
    fn write(self, to: &mut [T; 8]) {
        *to = self.0;
    }
    #[inline(always)]
    fn splat(x: T) -> Self {
        Self([x; 8])
    }
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        Self(std::array::from_fn(|k| self.0[k].mul_add(a.0[k], b.0[k])))
    }
    #[inline(always)]
    fn sum_of_products(self, other: Self) -> T {
        (0..8).fold(T::lit(0.0), |sum, k| self.0[k].mul_add(other.0[k], sum))
    }
}

/// Single precision with AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
pub struct EightSingles(__m256);

/// Double precision with AVX-512.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
pub struct EightDoubles(__m512d);

// SAFETY (both): values of these types are only made and used inside functions entered after `InstructionSet::detect`
// found what they need.

#[cfg(target_arch = "x86_64")]
impl Eight<f32> for EightSingles {
    #[inline(always)]
    fn read(from: &[f32; 8]) -> Self {
        Self(unsafe { _mm256_loadu_ps(from.as_ptr()) })
    }
    #[inline(always)]
    fn write(self, to: &mut [f32; 8]) {
        unsafe { _mm256_storeu_ps(to.as_mut_ptr(), self.0) }
    }
    #[inline(always)]
    fn splat(x: f32) -> Self {
        Self(unsafe { _mm256_set1_ps(x) })
    }
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        Self(unsafe { _mm256_fmadd_ps(self.0, a.0, b.0) })
    }
    #[inline(always)]
    fn sum_of_products(self, other: Self) -> f32 {
        unsafe {
            let all = _mm256_mul_ps(self.0, other.0);
            let four = _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps::<1>(all));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl Eight<f64> for EightDoubles {
    #[inline(always)]
    fn read(from: &[f64; 8]) -> Self {
        Self(unsafe { _mm512_loadu_pd(from.as_ptr()) })
    }
    #[inline(always)]
    fn write(self, to: &mut [f64; 8]) {
        unsafe { _mm512_storeu_pd(to.as_mut_ptr(), self.0) }
    }
    #[inline(always)]
    fn splat(x: f64) -> Self {
        Self(unsafe { _mm512_set1_pd(x) })
    }
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        Self(unsafe { _mm512_fmadd_pd(self.0, a.0, b.0) })
    }
    #[inline(always)]
    fn sum_of_products(self, other: Self) -> f64 {
        unsafe { _mm512_reduce_add_pd(_mm512_mul_pd(self.0, other.0)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::InstructionSet;

    fn check<T: Real + Into<f64>, E: Eight<T>>() {
        let [a, b, c] =
            [3, 5, 7].map(|n| std::array::from_fn::<T, 8, _>(|k| T::lit(f64::from(k as u32 * n % 11) - 4.0)));
        let mut out = [T::lit(0.0); 8];
        E::read(&a).mul_add(E::read(&b), E::read(&c)).write(&mut out);
        let mut dot = 0.0;
        for k in 0..8 {
            let [a, b, c, out]: [f64; 4] = [a[k], b[k], c[k], out[k]].map(Into::into);
            assert_eq!(out, a * b + c);
            dot += a * b;
        }
        let found: f64 = E::read(&a).sum_of_products(E::read(&b)).into();
        assert_eq!(found, dot);
        E::splat(a[1]).write(&mut out);
        assert!(out.map(Into::into).iter().all(|&x: &f64| x == a[1].into()));
    }

    #[test]
    fn every_kind_multiplies_and_adds() {
        check::<f32, Plain<f32>>();
        check::<f64, Plain<f64>>();
        #[cfg(target_arch = "x86_64")]
        {
            let sets = InstructionSet::available();
            if sets.contains(&InstructionSet::Avx2) {
                check::<f32, EightSingles>();
            }
            if sets.contains(&InstructionSet::Avx512) {
                check::<f64, EightDoubles>();
            }
        }
    }
}
