//! [`Softening`]: γ, which is 1/x from one on and a polynomial in x² below.

use crate::expr::Real;

/// The Taylor expansion of (x²)^(−1/2) about one, up to a power: its derivatives are continuous up to that order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Softening {
    /// Two continuous derivatives.
    C2,
    /// Three.
    C3,
    /// Four.
    C4,
}

impl Softening {
    /// The one that goes with an interpolation of this order.
    pub fn for_order(order: usize) -> Self {
        match order {
            ..=4 => Self::C2,
            5..=6 => Self::C3,
            _ => Self::C4,
        }
    }

    /// Coefficients of 1, x², x⁴, …; those that are not there are zero.
    pub const fn coefficients(self) -> [f64; 5] {
        match self {
            Self::C2 => [15.0 / 8.0, -5.0 / 4.0, 3.0 / 8.0, 0.0, 0.0],
            Self::C3 => [35.0 / 16.0, -35.0 / 16.0, 21.0 / 16.0, -5.0 / 16.0, 0.0],
            Self::C4 => [
                315.0 / 128.0,
                -105.0 / 32.0,
                189.0 / 64.0,
                -45.0 / 32.0,
                35.0 / 128.0,
            ],
        }
    }

    /// Coefficients that there are.
    pub(crate) const fn terms(self) -> usize {
        match self {
            Self::C2 => 3,
            Self::C3 => 4,
            Self::C4 => 5,
        }
    }

    /// The polynomial below one, of x².
    #[inline(always)]
    pub fn polynomial<R: Real>(self, x2: R) -> R {
        let (c, terms) = (self.coefficients(), self.terms());
        let mut sum = R::lit(c[terms - 1]);
        for k in (0..terms - 1).rev() {
            sum = sum.mul_add(x2, R::lit(c[k]));
        }
        sum
    }

    /// g_s(r) = γ(r/s)/s.
    pub fn smooth(self, r: f64, s: f64) -> f64 {
        if r >= s {
            1.0 / r
        } else {
            self.polynomial((r / s).powi(2)) / s
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Dual;

    #[test]
    fn gamma_joins_one_over_x() {
        for softening in [Softening::C2, Softening::C3, Softening::C4] {
            let x2 = Dual {
                value: 1.0,
                derivative: 1.0,
            };
            let at = softening.polynomial(x2);
            assert!((at.value - 1.0).abs() < 1e-14);
            // d(x²)^(−1/2)/d(x²) at one.
            assert!((at.derivative + 0.5).abs() < 1e-14);
        }
    }
}
