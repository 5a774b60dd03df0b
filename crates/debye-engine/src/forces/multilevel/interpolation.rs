//! [`Interpolation`]: between points of a grid, in a way that also spreads charges over them.

use crate::expr::Real;

/// The most points that a value is interpolated from along an axis.
pub const MOST: usize = 8;

/// Interpolation of even order p from p points along an axis: polynomials through p − 1 points, those about the point
/// below and those about the point above, weighted by the distance. Continuous with its first derivative. Order 4 is
/// the interpolating cubic of Skeel, Tezcan & Hardy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Interpolation {
    order: usize,
}

impl Interpolation {
    /// Orders there are.
    pub const ORDERS: [usize; 3] = [4, 6, 8];
    /// Of order 6.
    pub const SIX: Self = Self { order: 6 };
    /// Of order 8.
    pub const EIGHT: Self = Self { order: 8 };

    /// Of an order, if there is one.
    pub fn of_order(order: usize) -> Option<Self> {
        Self::ORDERS.contains(&order).then_some(Self { order })
    }

    /// The order: points along an axis.
    pub fn order(self) -> usize {
        self.order
    }

    /// The first point, counted from the one below.
    pub fn first(self) -> i64 {
        1 - self.order as i64 / 2
    }

    /// Weights of the points for a place `rest` (0 ≤ rest < 1) beyond the point below it. Those past the order are
    /// zero.
    pub fn weights<R: Real>(self, rest: R) -> [R; MOST] {
        let mut weights = [R::lit(0.0); MOST];
        match self.order {
            4 => weights[..4].copy_from_slice(&Self::points::<R, 4>(rest)),
            6 => weights[..6].copy_from_slice(&Self::points::<R, 6>(rest)),
            _ => weights = Self::points::<R, MOST>(rest),
        }
        weights
    }

    /// The weights of order N.
    #[inline(always)]
    pub(crate) fn points<R: Real, const N: usize>(rest: R) -> [R; N] {
        let nodes = N - 1;
        let first = 1 - N as i64 / 2;
        let mut weights = [R::lit(0.0); N];
        for (from, share) in [(0, R::lit(1.0) - rest), (1, rest)] {
            for j in 0..nodes {
                let at = (first + (from + j) as i64) as f64;
                let mut product = share;
                for k in (0..nodes).filter(|&k| k != j) {
                    let other = (first + (from + k) as i64) as f64;
                    product = product * (rest - R::lit(other)) * R::lit(1.0 / (at - other));
                }
                weights[from + j] = weights[from + j] + product;
            }
        }
        weights
    }

    /// The Fourier transform of the function of one point about it, `f` in cycles per spacing: by Simpson's rule, the
    /// error of which is below 1e-8 for f up to 2.
    pub fn transform(self, f: f64) -> f64 {
        const STEPS: usize = 128;
        let at = |j: usize, rest: f64| {
            let x = rest - (self.first() + j as i64) as f64;
            self.weights(rest)[j] * (std::f64::consts::TAU * f * x).cos()
        };
        let step = |k: usize| {
            let weight = match k {
                0 | STEPS => 1.0,
                _ if k.is_multiple_of(2) => 2.0,
                _ => 4.0,
            };
            let rest = k as f64 / STEPS as f64;
            weight * (0..self.order).map(|j| at(j, rest)).sum::<f64>()
        };
        (0..=STEPS).map(step).sum::<f64>() / (3.0 * STEPS as f64)
    }

    /// The function of one point at a half-integer distance k/2 from it, for k = 0, 1, 3, …: how grids are joined.
    pub fn halves(self) -> Vec<(i64, f64)> {
        let weights = self.weights(0.5_f64);
        let first = self.first();
        let odd = (0..self.order).map(|j| (1 - 2 * (first + j as i64), weights[j]));
        odd.chain([(0, 1.0)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forces::pme::cubic;

    /// The quintic as it is published, of the distance from the point.
    fn quintic(x: f64) -> f64 {
        let x = x.abs();
        match x {
            ..=1.0 => (1.0 - x * x) * (2.0 - x) * (6.0 + 3.0 * x - 5.0 * x * x) / 12.0,
            ..=2.0 => -(x - 1.0) * (2.0 - x) * (3.0 - x) * (4.0 + 9.0 * x - 5.0 * x * x) / 24.0,
            ..=3.0 => (x - 1.0) * (x - 2.0) * (3.0 - x) * (3.0 - x) * (4.0 - x) / 24.0,
            _ => 0.0,
        }
    }

    #[test]
    fn weights_are_the_published_ones() {
        for rest in [0.0, 0.2, 0.5, 0.83] {
            let four = Interpolation::of_order(4).unwrap().weights(rest);
            let (published, _) = cubic(rest);
            let six = Interpolation::of_order(6).unwrap();
            let weights = six.weights(rest);
            for j in 0..6 {
                let at = (six.first() + j as i64) as f64;
                assert!((weights[j] - quintic(rest - at)).abs() < 1e-14, "{rest} {j}");
                if j < 4 {
                    assert!((four[j] - published[j]).abs() < 1e-14);
                }
            }
        }
        let mut halves = Interpolation::of_order(4).unwrap().halves();
        halves.sort_by_key(|(k, _)| *k);
        let expected = [
            (-3, -1.0 / 16.0),
            (-1, 9.0 / 16.0),
            (0, 1.0),
            (1, 9.0 / 16.0),
            (3, -1.0 / 16.0),
        ];
        assert_eq!(halves, expected);
    }

    #[test]
    fn polynomials_are_interpolated_exactly() {
        for order in Interpolation::ORDERS {
            let interpolation = Interpolation::of_order(order).unwrap();
            for power in 0..order as i32 - 1 {
                let rest = 0.37_f64;
                let weights = interpolation.weights(rest);
                let sum: f64 = (0..order)
                    .map(|j| weights[j] * ((interpolation.first() + j as i64) as f64).powi(power))
                    .sum();
                assert!((sum - rest.powi(power)).abs() < 1e-12, "{order} {power}");
            }
        }
    }
}
