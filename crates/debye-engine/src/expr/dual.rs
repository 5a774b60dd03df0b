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
    fn chain(self, value: R, derivative: R) -> Self {
        Self {
            value,
            derivative: self.derivative * derivative,
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
        let derivative = R::lit(-std::f64::consts::FRAC_2_SQRT_PI) * (-(self.value * self.value)).exp();
        self.chain(self.value.erfc(), derivative)
    }
    #[inline(always)]
    fn erfc_beside(self, gaussian: Self) -> Self {
        let derivative = gaussian.value * R::lit(-std::f64::consts::FRAC_2_SQRT_PI);
        self.chain(self.value.erfc_beside(gaussian.value), derivative)
    }
    #[inline(always)]
    fn screened(self) -> Self {
        self.chain(
            self.value.screened(),
            self.value.real_space_force() * R::lit(-0.5),
        )
    }
    #[inline(always)]
    fn real_space_force(self) -> Self {
        let force = self.value.real_space_force();
        let gaussian = (-self.value).exp() * R::lit(2.0 * std::f64::consts::FRAC_2_SQRT_PI);
        let derivative = (force * R::lit(3.0) + gaussian) / (self.value * R::lit(-2.0));
        self.chain(force, derivative)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Each function against the derivative it has on paper.
    #[test]
    fn derivatives_are_those_on_paper() {
        let (x, y) = (0.37_f64, 1.9_f64);
        let v = Dual::variable(x);
        let k = Dual::<f64>::lit;
        let gauss = std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp();
        let cases = [
            ("sum", (v + k(y)).derivative, 1.0),
            ("difference", (k(y) - v).derivative, -1.0),
            ("product", (v * v).derivative, 2.0 * x),
            ("quotient", (k(y) / v).derivative, -y / (x * x)),
            ("negative", (-v).derivative, -1.0),
            ("square root", v.sqrt().derivative, 0.5 / x.sqrt()),
            ("inverse", v.recip().derivative, -1.0 / (x * x)),
            ("exponential", v.exp().derivative, x.exp()),
            ("logarithm", v.ln().derivative, 1.0 / x),
            ("sine", v.sin().derivative, x.cos()),
            ("cosine", v.cos().derivative, -x.sin()),
            ("inverse cosine", v.acos().derivative, -1.0 / (1.0 - x * x).sqrt()),
            ("angle by y", v.atan2(k(y)).derivative, y / (x * x + y * y)),
            ("angle by x", k(y).atan2(v).derivative, -y / (x * x + y * y)),
            ("erfc", v.erfc().derivative, -gauss),
            ("multiply-add", v.mul_add(v, v).derivative, 2.0 * x + 1.0),
            ("power", v.powi(5).derivative, 5.0 * x.powi(4)),
            ("yes", Dual::select_lt(v, k(y), v * v, k(0.0)).derivative, 2.0 * x),
            ("no", Dual::select_lt(k(y), v, v * v, k(3.0)).derivative, 0.0),
            ("absolute", (v - k(y)).abs().derivative, -1.0),
        ];
        for (name, got, want) in cases {
            assert!(
                (got - want).abs() < 1e-14 * want.abs().max(1.0),
                "{name}: {got} {want}"
            );
        }
    }

    #[test]
    fn a_table_look_up_is_constant_within_its_cell() {
        let table = Table::new(vec![1.0, 3.0, 7.0]);
        let (index, rest) = Dual::variable(1.25_f64).split();
        assert_eq!(
            rest,
            Dual {
                value: 0.25,
                derivative: 1.0
            }
        );
        assert_eq!(Dual::gather(&table, index, 1), Dual::constant(7.0));
    }

    /// Duals of duals give second derivatives.
    #[test]
    fn nests() {
        let x = Dual {
            value: Dual::variable(1.3_f64),
            derivative: Dual::lit(1.0),
        };
        let second = (x.sin() * x).derivative.derivative;
        assert!((second - (2.0 * 1.3_f64.cos() - 1.3 * 1.3_f64.sin())).abs() < 1e-14);
    }
}
