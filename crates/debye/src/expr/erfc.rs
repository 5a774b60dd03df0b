//! The complementary error function where exp(−x²) is known anyway, as it is in an Ewald sum.
//!
//! erfc x = exp(−x²) t P(t) with t = 1/(1 + p x): what is left of erfc without its Gaussian is so smooth a function of t
//! that a polynomial takes it (the form of Abramowitz & Stegun 7.1.26; coefficients interpolated at Chebyshev nodes in
//! forty digits). For x ≥ 0.

use super::Real;

/// To 7·10⁻⁸ of its value up to x = 5, where it is 10⁻¹².
#[inline(always)]
pub(super) fn erfc_single<R: Real>(x: R, gaussian: R) -> R {
    product(x, gaussian, 0.33, &SINGLE)
}

/// To 5·10⁻¹⁷ of its value up to x = 7, where it is 10⁻²³.
#[inline(always)]
pub(super) fn erfc_double<R: Real>(x: R, gaussian: R) -> R {
    product(x, gaussian, 0.3, &DOUBLE)
}

/// In the length that a precision needs.
#[inline(always)]
pub(crate) fn erfc_beside<R: Real>(double: bool, x: R, gaussian: R) -> R {
    if double {
        erfc_double(x, gaussian)
    } else {
        erfc_single(x, gaussian)
    }
}

#[inline(always)]
fn product<R: Real>(x: R, gaussian: R, p: f64, coefficients: &[f64]) -> R {
    let t = x.mul_add(R::lit(p), R::lit(1.0)).recip();
    let (&last, rest) = coefficients.split_last().unwrap_or((&0.0, &[]));
    let sum = rest
        .iter()
        .rev()
        .fold(R::lit(last), |sum, &c| sum.mul_add(t, R::lit(c)));
    gaussian * t * sum
}

const SINGLE: [f64; 8] = [
    0.186_011_518_711_452_62,
    0.186_894_285_880_151_42,
    0.182_437_775_465_794_2,
    0.095_960_998_300_498_22,
    0.334_168_991_052_288_5,
    -0.284_464_451_132_574_4,
    0.427_620_327_233_605_8,
    -0.128_629_487_791_826_33,
];

const DOUBLE: [f64; 19] = [
    0.169_256_706_128_710_03,
    0.169_262_305_963_330_2,
    0.161_558_964_466_974_47,
    0.147_160_525_801_219_33,
    0.119_763_135_183_099_84,
    0.120_829_630_020_805_54,
    -0.009_758_301_120_920_9,
    0.260_623_620_853_962_43,
    -0.430_700_207_708_051_46,
    0.720_358_649_038_458_7,
    -0.822_577_794_083_850_2,
    0.593_807_870_545_430_8,
    -0.117_467_206_707_271_8,
    -0.329_713_306_171_879_15,
    0.457_456_285_061_722_5,
    -0.304_622_858_908_946_6,
    0.117_891_847_977_411_28,
    -0.025_553_413_062_742_74,
    0.002_423_546_722_537_76,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_lengths_hold_what_they_promise() {
        for k in 0..=1000 {
            let x = 7.0 * f64::from(k) / 1000.0;
            let (gaussian, exact) = ((-x * x).exp(), libm::erfc(x));
            let double = erfc_double(x, gaussian);
            assert!((double - exact).abs() <= 4e-15 * exact, "{x}: {double} {exact}");
            let single = erfc_single(x, gaussian);
            assert!(
                (single - exact).abs() <= 1e-7 * exact + 1e-13,
                "{x}: {single} {exact}"
            );
            let x = x as f32;
            let rounded = f64::from(erfc_single(x, (-x * x).exp()));
            assert!(
                (rounded - libm::erfc(f64::from(x))).abs() < 4e-7,
                "{x}: {rounded} {exact}"
            );
        }
    }
}
