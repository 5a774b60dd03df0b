//! [`Real`]: what a formula may ask of a number.

use std::fmt::Debug;
use std::ops::{Add, Div, Mul, Neg, Sub};

use super::Table;

/// A real number, a vector of them, a derivative pair or a symbol.
///
/// There is no comparison that returns a `bool`: a formula must hold for every lane at once, so a
/// case distinction is a [`Real::select_lt`], which evaluates both sides.
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

    /// The constant `x`.
    fn lit(x: f64) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// e to the power of `self`.
    fn exp(self) -> Self;
    /// Natural logarithm.
    fn ln(self) -> Self;
    /// Sine (radians).
    fn sin(self) -> Self;
    /// Cosine (radians).
    fn cos(self) -> Self;
    /// Inverse cosine, in 0..π.
    fn acos(self) -> Self;
    /// Angle of the point (`x`, `self`), in −π..π.
    fn atan2(self, x: Self) -> Self;
    /// Complementary error function.
    fn erfc(self) -> Self;
    /// `yes` where `a < b`, else `no`. Both are evaluated.
    fn select_lt(a: Self, b: Self, yes: Self, no: Self) -> Self;
    /// `self * a + b`, in one rounding where the hardware has it.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// The floor as an index, and what is left of it (0 ≤ rest < 1).
    fn split(self) -> (Self::Index, Self);
    /// `table[index + offset]`.
    fn gather(table: &Table, index: Self::Index, offset: usize) -> Self;

    /// 1 / `self`.
    #[inline(always)]
    fn recip(self) -> Self {
        Self::lit(1.0) / self
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
    ($t:ident, $erfc:path, $slice:ident) => {
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

scalar_real!(f64, libm::erfc, f64s);
scalar_real!(f32, libm::erfcf, f32s);
