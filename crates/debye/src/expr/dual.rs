//! [`Dual`]: a value and its derivative, so that a force follows from an energy.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::{Real, Table};

/// `value + derivative·ε` with ε² = 0 (forward-mode differentiation).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dual<R> {
    /// The value.
    pub value: R,
    /// Its derivative with respect to the one variable.
    pub derivative: R,
}

impl<R: Real> Dual<R> {
    /// The variable itself: derivative one.
    #[inline(always)]
    pub fn variable(value: R) -> Self {
        Self {
            value,
            derivative: R::lit(1.0),
        }
    }

    /// Something that does not depend on the variable.
    #[inline(always)]
    pub fn constant(value: R) -> Self {
        Self {
            value,
            derivative: R::lit(0.0),
        }
    }

    #[inline(always)]
    fn chain(self, value: R, slope: R) -> Self {
        Self {
            value,
            derivative: self.derivative * slope,
        }
    }
}

impl<R: Real> Add for Dual<R> {
    type Output = Self;
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        Self {
            value: self.value + o.value,
            derivative: self.derivative + o.derivative,
        }
    }
}

impl<R: Real> Sub for Dual<R> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        Self {
            value: self.value - o.value,
            derivative: self.derivative - o.derivative,
        }
    }
}

impl<R: Real> Mul for Dual<R> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        Self {
            value: self.value * o.value,
            derivative: self.derivative.mul_add(o.value, self.value * o.derivative),
        }
    }
}

impl<R: Real> Div for Dual<R> {
    type Output = Self;
    #[inline(always)]
    #[allow(clippy::suspicious_arithmetic_impl)] // a quotient is a product with the inverse
    fn div(self, o: Self) -> Self {
        self * o.recip()
    }
}

impl<R: Real> Neg for Dual<R> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self {
            value: -self.value,
            derivative: -self.derivative,
        }
    }
}

impl<R: Real> Real for Dual<R> {
    type Index = R::Index;

    #[inline(always)]
    fn lit(x: f64) -> Self {
        Self::constant(R::lit(x))
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        let root = self.value.sqrt();
        self.chain(root, R::lit(0.5) / root)
    }
    #[inline(always)]
    fn recip(self) -> Self {
        let inverse = self.value.recip();
        self.chain(inverse, -(inverse * inverse))
    }
    #[inline(always)]
    fn exp(self) -> Self {
        let e = self.value.exp();
        self.chain(e, e)
    }
    #[inline(always)]
    fn ln(self) -> Self {
        self.chain(self.value.ln(), self.value.recip())
    }
    #[inline(always)]
    fn sin(self) -> Self {
        self.chain(self.value.sin(), self.value.cos())
    }
    #[inline(always)]
    fn cos(self) -> Self {
        self.chain(self.value.cos(), -self.value.sin())
    }
    #[inline(always)]
    fn acos(self) -> Self {
        let sine = (R::lit(1.0) - self.value * self.value).sqrt();
        self.chain(self.value.acos(), -(sine.recip()))
    }
    #[inline(always)]
    fn atan2(self, x: Self) -> Self {
        let square = self.value * self.value + x.value * x.value;
        let derivative = (x.value * self.derivative - self.value * x.derivative) / square;
        Self {
            value: self.value.atan2(x.value),
            derivative,
        }
    }
    #[inline(always)]
    fn erfc(self) -> Self {
        // d erfc(x)/dx = −2/√π exp(−x²)
        let slope = R::lit(-std::f64::consts::FRAC_2_SQRT_PI) * (-(self.value * self.value)).exp();
        self.chain(self.value.erfc(), slope)
    }
    #[inline(always)]
    fn select_lt(a: Self, b: Self, yes: Self, no: Self) -> Self {
        Self {
            value: R::select_lt(a.value, b.value, yes.value, no.value),
            derivative: R::select_lt(a.value, b.value, yes.derivative, no.derivative),
        }
    }
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        Self {
            value: self.value.mul_add(a.value, b.value),
            derivative: self
                .derivative
                .mul_add(a.value, self.value.mul_add(a.derivative, b.derivative)),
        }
    }
    #[inline(always)]
    fn split(self) -> (R::Index, Self) {
        let (index, rest) = self.value.split();
        (
            index,
            Self {
                value: rest,
                derivative: self.derivative,
            },
        )
    }
    #[inline(always)]
    fn gather(table: &Table, index: R::Index, offset: usize) -> Self {
        Self::constant(R::gather(table, index, offset))
    }
}
