//! [`Real`]: what a formula may ask of a number.

use std::fmt::Debug;
use std::ops::{Add, Div, Mul, Neg, Sub};

use super::Table;
use super::erfc::{erfc_double, erfc_single, real_space_force, screened};

/// A real number, a vector of them, a derivative pair or a symbol.
///
/// Implemented by `f64` (the reference), `f32`, SIMD lanes, [`super::Dual`] and [`super::Sym`]. There
/// is no comparison that returns a `bool`: a formula must hold for every lane at once, so a case
/// distinction is a [`Real::select_lt`], which evaluates both sides. A side that is not taken may be
/// infinite or NaN; it must not be multiplied into the one that is.
///
/// Arithmetic and roots are correctly rounded, functions good to two units in the last place: the
/// checks of every potential rely on it.
pub trait Real:
    Copy
    + Debug
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + 'static
{
    /// A whole number that a table can be indexed with.
    type Index: Copy;

    /// The constant `x`, rounded to this kind of number.
    fn lit(x: f64) -> Self;
    /// Square root; NaN below zero.
    fn sqrt(self) -> Self;
    /// e to the power of `self`.
    fn exp(self) -> Self;
    /// Natural logarithm; NaN below zero.
    fn ln(self) -> Self;
    /// Sine (radians).
    fn sin(self) -> Self;
    /// Cosine (radians).
    fn cos(self) -> Self;
    /// Inverse cosine, in 0..π; NaN outside −1..1, and without a derivative at the ends.
    fn acos(self) -> Self;
    /// Angle of the point (`x`, `self`), in −π..π.
    fn atan2(self, x: Self) -> Self;
    /// Complementary error function.
    fn erfc(self) -> Self;
    /// The same for `self` ≥ 0 where exp(−`self`²) is known: a fraction of the work, and good to a few units in the last
    /// place of one rather than of itself.
    fn erfc_beside(self, gaussian: Self) -> Self;
    /// erfc(√x)/√x for x > 0: what a Gaussian cloud leaves of Coulomb's law, as exact as 1/√x.
    fn screened(self) -> Self;
    /// [erfc(√x)/√x + 2/√π exp(−x)]/x: −2 times the derivative of [`Real::screened`], as exact as x^(−3/2).
    fn real_space_force(self) -> Self;
    /// `yes` where `a < b`, else `no` (also where either is NaN). Both are evaluated.
    fn select_lt(a: Self, b: Self, yes: Self, no: Self) -> Self;
    /// `self * a + b`, in one rounding where the hardware has it, in two elsewhere.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// The floor as an index (zero where it is negative or NaN), and what is left of it (0 ≤ rest < 1).
    fn split(self) -> (Self::Index, Self);
    /// `table[index + offset]`; past the end, the last value.
    fn gather(table: &Table, index: Self::Index, offset: usize) -> Self;

    /// 1 / `self`.
    #[inline(always)]
    fn recip(self) -> Self {
        Self::lit(1.0) / self
    }

    /// `self` / `below`, good to three units in the last place where that is faster.
    #[inline(always)]
    fn over(self, below: Self) -> Self {
        self / below
    }

    /// 1 / √`self`, good to two units in the last place.
    #[inline(always)]
    fn inverse_sqrt(self) -> Self {
        self.sqrt().recip()
    }

    /// Absolute value.
    #[inline(always)]
    fn abs(self) -> Self {
        Self::select_lt(self, Self::lit(0.0), -self, self)
    }

    /// The smaller of two.
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self::select_lt(self, other, self, other)
    }

    /// The larger of two.
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self::select_lt(other, self, self, other)
    }

    /// `self` squared.
    #[inline(always)]
    fn squared(self) -> Self {
        self * self
    }

    /// Whole power by repeated squaring, unrolled while tracing.
    #[inline(always)]
    fn powi(self, n: u32) -> Self {
        let (mut result, mut base, mut left) = (None, self, n);
        while left > 0 {
            if left & 1 == 1 {
                result = Some(result.map_or(base, |r| r * base));
            }
            left >>= 1;
            if left > 0 {
                base = base * base;
            }
        }
        result.unwrap_or_else(|| Self::lit(1.0))
    }
}

macro_rules! scalar_real {
    ($t:ident, $erfc:path, $erfc_beside:path, $double:literal, $slice:ident) => {
        impl Real for $t {
            type Index = usize;

            #[inline(always)]
            fn lit(x: f64) -> Self {
                x as $t
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                $t::sqrt(self)
            }
            #[inline(always)]
            fn exp(self) -> Self {
                $t::exp(self)
            }
            #[inline(always)]
            fn ln(self) -> Self {
                $t::ln(self)
            }
            #[inline(always)]
            fn sin(self) -> Self {
                $t::sin(self)
            }
            #[inline(always)]
            fn cos(self) -> Self {
                $t::cos(self)
            }
            #[inline(always)]
            fn acos(self) -> Self {
                $t::acos(self)
            }
            #[inline(always)]
            fn atan2(self, x: Self) -> Self {
                $t::atan2(self, x)
            }
            #[inline(always)]
            fn erfc(self) -> Self {
                $erfc(self)
            }
            #[inline(always)]
            fn erfc_beside(self, gaussian: Self) -> Self {
                $erfc_beside(self, gaussian)
            }
            #[inline(always)]
            fn screened(self) -> Self {
                screened($double, self)
            }
            #[inline(always)]
            fn real_space_force(self) -> Self {
                real_space_force($double, self)
            }
            #[inline(always)]
            fn select_lt(a: Self, b: Self, yes: Self, no: Self) -> Self {
                if a < b { yes } else { no }
            }
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                self * a + b
            }
            #[inline(always)]
            fn split(self) -> (usize, Self) {
                let floor = self.floor();
                (floor as usize, self - floor)
            }
            #[inline(always)]
            fn gather(table: &Table, index: usize, offset: usize) -> Self {
                // A distance outside the table (an overlap, or a lane that is masked) reads its end.
                let values = table.$slice();
                values[(index.saturating_add(offset)).min(values.len() - 1)]
            }
        }
    };
}

scalar_real!(f64, libm::erfc, erfc_double, true, f64s);
scalar_real!(f32, libm::erfcf, erfc_single, false, f32s);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_and_choices() {
        for n in 0..20 {
            assert!((Real::powi(1.1_f64, n) - 1.1_f64.powf(f64::from(n))).abs() < 1e-14 * 1.1_f64.powf(20.0));
        }
        assert_eq!(Real::abs(-2.0_f32), 2.0);
        assert_eq!((Real::min(1.0_f64, 2.0), Real::max(1.0_f64, 2.0)), (1.0, 2.0));
        assert_eq!(f64::select_lt(f64::NAN, 1.0, 1.0, 2.0), 2.0);
    }

    #[test]
    fn look_ups_stay_inside() {
        let table = Table::new(vec![1.0, 2.0, 3.0]);
        assert_eq!(2.75_f64.split(), (2, 0.75));
        for (x, value) in [
            (0.5, 2.0),
            (1.5, 3.0),
            (7.0, 3.0),
            (-4.0, 2.0),
            (f64::NAN, 2.0),
            (f64::INFINITY, 3.0),
        ] {
            assert_eq!(f64::gather(&table, x.split().0, 1), value, "{x}");
        }
    }
}
