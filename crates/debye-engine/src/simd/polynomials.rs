//! Exponential and logarithm for vectors, by range reduction and polynomials.

use crate::expr::Real;

/// The bit tricks the reductions need.
pub(super) trait Exponents: Real {
    /// Whether 53 bits are wanted, not 24.
    const DOUBLE: bool;
    /// Nearest whole number.
    fn nearest(self) -> Self;
    /// 2ⁿ for a whole n within the range of normal numbers.
    fn power_of_two(n: Self) -> Self;
    /// (m, e) with `self` = m 2ᵉ and ¾ ≤ m < 3/2, for positive normal numbers.
    fn mantissa_and_exponent(self) -> (Self, Self);
}

/// ln 2 in two parts, the first exact in few bits, so that n·(first part) is exact.
const LN2_HIGH: f64 = 0.693_145_751_953_125;
const LN2_LOW: f64 = 1.428_606_820_309_417_2e-6;

/// 1/n!
const INVERSE_FACTORIALS: [f64; 14] = {
    let mut all = [1.0; 14];
    let mut n = 1;
    while n < 14 {
        all[n] = all[n - 1] / n as f64;
        n += 1;
    }
    all
};

/// eˣ: x = n ln 2 + r with |r| ≤ ½ ln 2, Taylor series of eʳ to the last bit, times 2ⁿ.
///
/// Relative error below 2 ulp. Arguments are clamped to the range of normal numbers.
#[inline(always)]
pub(super) fn exp<R: Exponents>(x: R) -> R {
    let limit = if R::DOUBLE { 708.0 } else { 87.0 };
    let x = x.min(R::lit(limit)).max(R::lit(-limit));
    let n = (x * R::lit(std::f64::consts::LOG2_E)).nearest();
    let r = n.mul_add(R::lit(-LN2_LOW), n.mul_add(R::lit(-LN2_HIGH), x));
    let terms = if R::DOUBLE { 13 } else { 7 };
    let mut sum = R::lit(INVERSE_FACTORIALS[terms]);
    for k in (0..terms).rev() {
        sum = sum.mul_add(r, R::lit(INVERSE_FACTORIALS[k]));
    }
    sum * R::power_of_two(n)
}

/// ln x for positive normal x: x = m 2ᵉ, ln m = 2 artanh((m − 1)/(m + 1)) as a series.
///
/// Absolute error below 2 ulp of 1; relative error grows near x = 1 no more than that.
#[inline(always)]
pub(super) fn ln<R: Exponents>(x: R) -> R {
    let (m, e) = x.mantissa_and_exponent();
    let t = (m - R::lit(1.0)) / (m + R::lit(1.0));
    let t2 = t * t;
    let terms: i32 = if R::DOUBLE { 12 } else { 5 };
    let mut sum = R::lit(1.0 / f64::from(2 * terms + 1));
    for k in (0..terms).rev() {
        sum = sum.mul_add(t2, R::lit(1.0 / f64::from(2 * k + 1)));
    }
    let artanh2 = (t + t) * sum;
    e.mul_add(R::lit(LN2_HIGH), e.mul_add(R::lit(LN2_LOW), artanh2))
}
