//! The complementary error function where exp(−x²) is known anyway, as it is in an Ewald sum.
//!
//! erfc x = exp(−x²) t P(t) with t = 1/(1 + p x): what is left of erfc without its Gaussian is so smooth a function of t
//! that a polynomial takes it (the form of Abramowitz & Stegun 7.1.26; coefficients interpolated at Chebyshev nodes in
//! forty digits). For x ≥ 0.

use super::Real;

/// erfc(√x)/√x, what a Gaussian cloud leaves of 1/r. In single precision it is the difference of 1/r and of what the cloud
/// takes, a quotient of polynomials: to 3·10⁻⁸ of 1/r, and zero where it is less than that.
#[inline(always)]
pub(crate) fn screened<R: Real>(double: bool, x: R) -> R {
    if double {
        let root = x.sqrt();
        erfc_double(root, (-x).exp()) / root
    } else {
        let rest = x.inverse_sqrt() - quotient(x, &ENERGY);
        R::select_lt(x, R::lit(FAR), rest, R::lit(0.0))
    }
}

/// erf(√x)/√x, the potential of a Gaussian charge: as exact as [`screened`] of single precision, and finite at zero.
#[inline(always)]
pub(crate) fn smooth<R: Real>(x: R) -> R {
    R::select_lt(x, R::lit(FAR), quotient(x, &ENERGY), x.inverse_sqrt())
}

/// [erfc(√x)/√x + 2/√π exp(−x)]/x, −2 times the derivative of [`screened`]; in single precision to 2·10⁻⁷ of x^(−3/2),
/// and zero where no more than 5·10⁻⁷ of that is left.
#[inline(always)]
pub(crate) fn real_space_force<R: Real>(double: bool, x: R) -> R {
    if double {
        let (root, gaussian) = (x.sqrt(), (-x).exp());
        let near = erfc_double(root, gaussian) / root;
        gaussian.mul_add(R::lit(std::f64::consts::FRAC_2_SQRT_PI), near) / x
    } else {
        let inverse = x.inverse_sqrt();
        let rest = inverse * inverse * inverse - quotient(x, &REAL_SPACE_FORCE);
        R::select_lt(x, R::lit(FAR), rest, R::lit(0.0))
    }
}

/// Where erfc(√x) is 1.5·10⁻⁸.
const FAR: f64 = 16.0;

/// Two polynomials, lowest powers first; the second begins with one.
type Quotient = ([f64; 5], [f64; 7]);

#[inline(always)]
fn quotient<R: Real>(x: R, (above, below): &Quotient) -> R {
    let at = |c: &[f64]| {
        let (&last, rest) = c.split_last().unwrap_or((&0.0, &[]));
        rest.iter()
            .rev()
            .fold(R::lit(last), |sum, &c| sum.mul_add(x, R::lit(c)))
    };
    at(above).over(at(below))
}

/// erf(√x)/√x, and −2 times its derivative, on 0 ≤ x ≤ 16: fitted so that the largest error is least, relative to x^(−1/2) and
/// x^(−3/2), by weighted least squares on values of forty digits.
const ENERGY: Quotient = (
    [
        1.128_378_891_968_331_3,
        0.198_002_715_000_672_65,
        0.052_581_087_482_191_126,
        0.003_927_687_324_567_644_5,
        0.000_237_826_857_955_009_24,
    ],
    [
        1.0,
        0.508_805_506_458_668_5,
        0.116_212_378_537_436_74,
        0.015_127_230_518_243_294,
        0.001_135_961_704_153_039_3,
        2.309_197_586_160_934_8e-5,
        -1.065_515_427_387_403_3e-7,
    ],
);
const REAL_SPACE_FORCE: Quotient = (
    [
        0.752_256_237_946_687_3,
        0.007_418_664_187_268_803,
        0.017_000_302_510_715_156,
        0.000_803_892_808_795_874_5,
        5.979_366_806_260_280_5e-5,
    ],
    [
        1.0,
        0.609_912_891_648_158_8,
        0.174_098_999_416_048_45,
        0.030_636_614_956_330_303,
        0.003_449_613_660_086_187_3,
        0.000_304_588_438_253_892,
        4.144_286_355_436_786e-6,
    ],
);

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
    fn what_a_cloud_leaves_is_as_exact_as_one_over_r() {
        for k in 1..=2000 {
            let root = 5.0 * f64::from(k) / 2000.0;
            let x = f64::from((root * root) as f32);
            let (energy, gaussian) = (libm::erfc(x.sqrt()) / x.sqrt(), (-x).exp());
            let force = (energy + std::f64::consts::FRAC_2_SQRT_PI * gaussian) / x;
            let close = |a: f64, b: f64, limit: f64| assert!((a - b).abs() <= limit, "{x}: {a} {b}");
            close(screened(true, x), energy, 1e-14 * energy);
            close(real_space_force(true, x), force, 1e-14 * force);
            close(screened(false, x), energy, 4e-8 * x.powf(-0.5));
            close(smooth(x), x.powf(-0.5) - energy, 4e-8 * x.powf(-0.5));
            let left_out = if x < FAR { 2e-7 } else { 6e-7 };
            close(real_space_force(false, x), force, left_out * x.powf(-1.5));
            let single = x as f32;
            close(f64::from(screened(false, single)), energy, 6e-7 * x.powf(-0.5));
            close(
                f64::from(real_space_force(false, single)),
                force,
                8e-7 * x.powf(-1.5),
            );
        }
    }

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
