//! [`Basis`]: how a charge is spread over the points of a mesh near it, and a potential gathered from them.

use crate::expr::{Dual, Real};
use crate::forces::multilevel::Interpolation;

/// Points along an axis that a charge may be spread over.
pub const MOST_POINTS: usize = 8;

/// Functions of one coordinate in units of the mesh; along three axes they are multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Basis {
    /// Cardinal B-splines of this order, 3 to 8 (Essmann et al. 1995).
    BSpline(usize),
    /// The interpolating C¹ cubic of Skeel, Tezcan & Hardy (2002).
    Cubic,
    /// Interpolation of order 6 or 8 of multilevel summation.
    Interpolating(Interpolation),
}

/// Weights of the points a charge touches along one axis, and their derivatives. Those beyond [`Basis::points`] are
/// zero.
#[derive(Clone, Copy, Debug)]
pub struct Weights<R> {
    /// Weights; they sum to one.
    pub values: [R; MOST_POINTS],
    /// Derivatives by the coordinate in units of the mesh; they sum to zero.
    pub derivatives: [R; MOST_POINTS],
}

impl Basis {
    /// Every basis that meshes of Ewald sums are offered with.
    pub const ALL: [Self; 7] = [
        Self::BSpline(3),
        Self::BSpline(4),
        Self::BSpline(5),
        Self::BSpline(6),
        Self::BSpline(7),
        Self::BSpline(8),
        Self::Cubic,
    ];

    /// The basis of an interpolation: order 4 is the cubic.
    pub fn interpolating(interpolation: Interpolation) -> Self {
        match interpolation.order() {
            4 => Self::Cubic,
            _ => Self::Interpolating(interpolation),
        }
    }

    /// Points along an axis.
    pub fn points(self) -> usize {
        match self {
            Self::BSpline(order) => order,
            Self::Cubic => 4,
            Self::Interpolating(interpolation) => interpolation.order(),
        }
    }

    /// The first point, counted from the one at or below the charge.
    pub fn first(self) -> i32 {
        match self {
            Self::BSpline(order) => 1 - order as i32,
            Self::Cubic => -1,
            Self::Interpolating(interpolation) => interpolation.first() as i32,
        }
    }

    /// Weights for a charge that lies `rest` (0 ≤ rest < 1) beyond the mesh point below it.
    #[inline(always)]
    pub fn weights<R: Real>(self, rest: R) -> Weights<R> {
        match self {
            Self::BSpline(3) => padded(b_spline::<R, 3>(rest)),
            Self::BSpline(4) => padded(b_spline::<R, 4>(rest)),
            Self::BSpline(5) => padded(b_spline::<R, 5>(rest)),
            Self::BSpline(6) => padded(b_spline::<R, 6>(rest)),
            Self::BSpline(7) => padded(b_spline::<R, 7>(rest)),
            Self::BSpline(_) => padded(b_spline::<R, 8>(rest)),
            Self::Cubic => padded(cubic(rest)),
            Self::Interpolating(interpolation) => match interpolation.order() {
                6 => padded(interpolating::<R, 6>(rest)),
                _ => padded(interpolating::<R, 8>(rest)),
            },
        }
    }

    /// The Fourier transform of the function about its middle, `f` in cycles per mesh spacing.
    pub fn transform(self, f: f64) -> f64 {
        match self {
            Self::BSpline(order) => sinc(f).powi(order as i32),
            Self::Cubic if f.abs() < 1e-4 => 1.0,
            Self::Cubic => {
                let per = (std::f64::consts::PI * f).powi(-2);
                let [one, two, four] = [1.0, 2.0, 4.0].map(|k| sinc(k * f));
                per * (3.0 * (one * one - two) - (3.0 * two * two - 2.0 * two - four))
            }
            Self::Interpolating(interpolation) => interpolation.transform(f),
        }
    }

    /// Σ over mesh points of the function times a reciprocal vector of `f` per spacing: what spreading does to a
    /// reciprocal vector. Real, because the function is even about its middle.
    pub fn on_mesh(self, f: f64) -> f64 {
        let turn = std::f64::consts::TAU * f;
        match self {
            // It interpolates: one at its middle, zero at all other points.
            Self::Cubic | Self::Interpolating(_) => 1.0,
            Self::BSpline(order) => {
                // At a point of the mesh, weights are M_n(1), …, M_n(n−1); their middle is n/2.
                let weights = self.weights(0.0_f64).values;
                let middle = (order as f64 - 2.0) / 2.0;
                (0..order)
                    .map(|j| weights[j] * (turn * (j as f64 - middle)).cos())
                    .sum()
            }
        }
    }
}

/// sin(πx)/(πx).
fn sinc(x: f64) -> f64 {
    let y = std::f64::consts::PI * x;
    if y.abs() < 1e-8 { 1.0 } else { y.sin() / y }
}

#[inline(always)]
fn padded<R: Real, const N: usize>((values, derivatives): ([R; N], [R; N])) -> Weights<R> {
    let fill = |from: [R; N]| std::array::from_fn(|j| if j < N { from[j] } else { R::lit(0.0) });
    Weights {
        values: fill(values),
        derivatives: fill(derivatives),
    }
}

/// B-splines of order N and their derivatives, by recursion from order 2.
#[inline(always)]
pub fn b_spline<R: Real, const N: usize>(f: R) -> ([R; N], [R; N]) {
    let one = R::lit(1.0);
    let mut t = [R::lit(0.0); N];
    let mut derivatives = t;
    (t[0], t[1]) = (one - f, f);
    for k in 3..=N {
        if k == N {
            derivatives[0] = -t[0];
            derivatives[N - 1] = t[N - 2];
            for j in 1..N - 1 {
                derivatives[j] = t[j - 1] - t[j];
            }
        }
        let per = R::lit(1.0 / (k as f64 - 1.0));
        t[k - 1] = f * t[k - 2] * per;
        for j in 1..k - 1 {
            let (rise, fall) = (f + R::lit(j as f64), R::lit((k - j) as f64) - f);
            t[k - 1 - j] = rise.mul_add(t[k - 2 - j], fall * t[k - 1 - j]) * per;
        }
        t[0] = (one - f) * t[0] * per;
    }
    (t, derivatives)
}

/// The interpolating cubic at four points.
#[inline(always)]
pub fn cubic<R: Real>(o: R) -> ([R; 4], [R; 4]) {
    let l = R::lit;
    let (o2, half) = (o * o, l(0.5));
    let o3 = o2 * o;
    let values = [
        o2 - half * (o3 + o),
        l(1.5) * o3 - l(2.5) * o2 + l(1.0),
        l(2.0) * o2 - l(1.5) * o3 + half * o,
        half * (o3 - o2),
    ];
    let derivatives = [
        l(2.0) * o - l(1.5) * o2 - half,
        l(4.5) * o2 - l(5.0) * o,
        l(4.0) * o - l(4.5) * o2 + half,
        l(1.5) * o2 - o,
    ];
    (values, derivatives)
}

/// Interpolation of order N and its derivatives.
#[inline(always)]
fn interpolating<R: Real, const N: usize>(rest: R) -> ([R; N], [R; N]) {
    let found = Interpolation::points::<Dual<R>, N>(Dual::variable(rest));
    (found.map(|w| w.value), found.map(|w| w.derivative))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF_GRIDS: [Basis; 2] = [
        Basis::Interpolating(Interpolation::SIX),
        Basis::Interpolating(Interpolation::EIGHT),
    ];

    #[test]
    fn weights_sum_to_one_and_follow_the_charge() {
        for basis in Basis::ALL.into_iter().chain(OF_GRIDS) {
            let n = basis.points();
            for k in 0..100 {
                let f = f64::from(k) / 100.0;
                let w = basis.weights(f);
                let sum: f64 = w.values.iter().sum();
                let derivative: f64 = w.derivatives.iter().sum();
                assert!(
                    (sum - 1.0).abs() < 1e-14 && derivative.abs() < 1e-14,
                    "{basis:?} {f}"
                );
                assert!(w.values[n..].iter().all(|x| *x == 0.0));
                let moment = |p: i32| -> f64 {
                    let at = |j: usize| f64::from(j as i32 + basis.first());
                    (0..n).map(|j| at(j).powi(p) * w.values[j]).sum()
                };
                match basis {
                    // The middle of the function is order/2 above its first point.
                    Basis::BSpline(order) => {
                        assert!(
                            (moment(1) - (f - order as f64 / 2.0)).abs() < 1e-14,
                            "{basis:?} {f}"
                        );
                    }
                    Basis::Cubic | Basis::Interpolating(_) => {
                        assert!((moment(1) - f).abs() < 1e-14 && (moment(2) - f * f).abs() < 1e-14);
                    }
                }
                let dual = basis.weights(Dual::variable(f));
                for j in 0..n {
                    assert!(
                        (dual.values[j].derivative - w.derivatives[j]).abs() < 1e-13,
                        "{basis:?} {f} {j}"
                    );
                }
                let single = basis.weights(f as f32);
                for j in 0..n {
                    assert!((f64::from(single.values[j]) - w.values[j]).abs() < 5e-7);
                }
            }
        }
        let half = Basis::Cubic.weights(0.5).values;
        assert_eq!(half[..4], [-0.0625, 0.5625, 0.5625, -0.0625]);
    }

    #[test]
    fn transforms_of_the_cubic_are_those_published() {
        for (f, w) in [
            (0.1, 0.998_119_766_7),
            (0.3, 0.885_251_691_0),
            (0.7, 0.113_478_962_0),
            (1.2, -0.004_359_832_4),
        ] {
            assert!((Basis::Cubic.transform(f) - w).abs() < 1e-10, "{f}");
            let four = Interpolation::of_order(4).unwrap();
            assert!((four.transform(f) - w).abs() < 1e-8, "{f}");
        }
    }

    #[test]
    fn what_spreading_does_to_a_wave_is_the_sum_of_the_transforms() {
        for basis in Basis::ALL.into_iter().chain(OF_GRIDS) {
            for f in [0.05, 0.2, 0.45] {
                // The middle of a function of odd order lies between two points: a reciprocal vector there turns by
                // half a turn per point.
                let odd = basis.points() % 2 == 1;
                let sign = |s: i32| if odd && s % 2 != 0 { -1.0 } else { 1.0 };
                let alias = |s: i32| sign(s) * basis.transform(f + f64::from(s));
                let most = if OF_GRIDS.contains(&basis) { 20 } else { 200 };
                let sum: f64 = (-most..=most).map(alias).sum();
                assert!((sum - basis.on_mesh(f)).abs() < 2e-5, "{basis:?} {f}");
            }
        }
    }
}
