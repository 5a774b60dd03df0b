//! [`Rounding`]: a number with a bound of its rounding error.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::expr::{Real, Table};

/// A value in double precision, and how far the same formula may end up from it in a format of
/// unit roundoff u: `error`·u, to first order.
///
/// The bound follows the rules of running error analysis (Higham, Accuracy and Stability of
/// Numerical Algorithms, section 3.3): each operation passes the errors of its operands on, times
/// its derivatives, and adds its own rounding: one u for arithmetic and roots, four
/// (two units in the last place) for the transcendental functions. Where terms cancel the bound stays as large as the terms, so a
/// test against it needs no tolerance by hand.
#[derive(Clone, Copy, Debug)]
pub struct Rounding {
    /// The value.
    pub value: f64,
    /// The error bound in units of u.
    pub error: f64,
}

/// Rounding error of exp, ln, sin, … in units of u: two units in the last place.
const FUNCTION_ERROR: f64 = 4.0;

/// The unit roundoff that decides whether a comparison is too close to call: that of f32.
const CLOSE: f64 = 1.0 / 16_777_216.0;

impl Rounding {
    /// A number that was rounded once, when it was stored.
    pub fn stored(value: f64) -> Self {
        let exact = f64::from(value as f32) == value;
        Self {
            value,
            error: if exact { 0.0 } else { value.abs() },
        }
    }

    /// The result of an operation: passed-on error plus its own.
    fn result(value: f64, passed_on: f64, own: f64) -> Self {
        Self {
            value,
            error: passed_on + own * value.abs(),
        }
    }

    fn function(self, value: f64, derivative: f64) -> Self {
        Self::result(value, self.error * derivative.abs(), FUNCTION_ERROR)
    }
}

impl Add for Rounding {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        Self::result(self.value + o.value, self.error + o.error, 1.0)
    }
}

impl Sub for Rounding {
    type Output = Self;
    fn sub(self, o: Self) -> Self {
        Self::result(self.value - o.value, self.error + o.error, 1.0)
    }
}

impl Mul for Rounding {
    type Output = Self;
    fn mul(self, o: Self) -> Self {
        Self::result(
            self.value * o.value,
            self.error * o.value.abs() + o.error * self.value.abs(),
            1.0,
        )
    }
}

impl Div for Rounding {
    type Output = Self;
    fn div(self, o: Self) -> Self {
        let value = self.value / o.value;
        Self::result(value, (self.error + o.error * value.abs()) / o.value.abs(), 1.0)
    }
}

impl Neg for Rounding {
    type Output = Self;
    fn neg(self) -> Self {
        Self {
            value: -self.value,
            ..self
        }
    }
}

impl Real for Rounding {
    type Index = usize;

    fn lit(x: f64) -> Self {
        Self::stored(x)
    }
    fn sqrt(self) -> Self {
        let value = self.value.sqrt();
        Self::result(value, self.error * 0.5 / value, 1.0)
    }
    fn exp(self) -> Self {
        self.function(self.value.exp(), self.value.exp())
    }
    fn ln(self) -> Self {
        self.function(self.value.ln(), self.value.recip())
    }
    fn sin(self) -> Self {
        self.function(self.value.sin(), self.value.cos())
    }
    fn cos(self) -> Self {
        self.function(self.value.cos(), self.value.sin())
    }
    fn acos(self) -> Self {
        self.function(self.value.acos(), (1.0 - self.value * self.value).sqrt().recip())
    }
    fn atan2(self, x: Self) -> Self {
        let square = self.value * self.value + x.value * x.value;
        let passed_on = (self.error * x.value.abs() + x.error * self.value.abs()) / square;
        Self::result(self.value.atan2(x.value), passed_on, FUNCTION_ERROR)
    }
    fn erfc(self) -> Self {
        let derivative = std::f64::consts::FRAC_2_SQRT_PI * (-self.value * self.value).exp();
        self.function(Real::erfc(self.value), derivative)
    }
    /// A multiple of the Gaussian, whatever that is; the polynomial beside it depends little on where it is taken.
    fn erfc_beside(self, gaussian: Self) -> Self {
        let value = Real::erfc(self.value);
        let passed_on = gaussian.error * (value / gaussian.value.max(f64::MIN_POSITIVE)) + self.error * value;
        Self::result(value, passed_on, 3.0 * FUNCTION_ERROR)
    }
    /// As exact as 1/√x.
    fn screened(self) -> Self {
        let derivative = 0.5 * self.value.real_space_force();
        let own = 10.0 * self.value.powf(-0.5);
        Self {
            value: self.value.screened(),
            error: self.error * derivative + own,
        }
    }
    /// As exact as x^(−3/2).
    fn real_space_force(self) -> Self {
        let (x, value) = (self.value, self.value.real_space_force());
        let derivative = (3.0 * value + 2.0 * std::f64::consts::FRAC_2_SQRT_PI * (-x).exp()) / (2.0 * x);
        Self {
            value,
            error: self.error * derivative + 14.0 * x.powf(-1.5),
        }
    }
    /// Where the comparison may go the other way in f32, either side may be the result.
    fn select_lt(a: Self, b: Self, yes: Self, no: Self) -> Self {
        let (taken, other) = if a.value < b.value { (yes, no) } else { (no, yes) };
        if (a.value - b.value).abs() > 2.0 * CLOSE * (a.error + b.error) {
            return taken;
        }
        let apart = (taken.value - other.value).abs() / CLOSE;
        Self {
            value: taken.value,
            error: taken.error.max(other.error + apart),
        }
    }
    fn mul_add(self, a: Self, b: Self) -> Self {
        self * a + b
    }
    fn split(self) -> (usize, Self) {
        let (index, rest) = self.value.split();
        (
            index,
            Self {
                value: rest,
                error: self.error,
            },
        )
    }
    fn gather(table: &Table, index: usize, offset: usize) -> Self {
        Self::stored(f64::gather(table, index, offset))
    }
}
