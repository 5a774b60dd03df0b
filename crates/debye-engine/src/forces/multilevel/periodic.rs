//! The potential of a unit charge and all its images, less its short-range part: the kernel of the coarsest periodic
//! grid.

use std::f64::consts::{FRAC_2_SQRT_PI, PI, TAU};

use super::Softening;
use super::kernel::{Strained, add, over_images, radial, square};

/// Σ over images of g_s(r), in a box of these edges with a background that makes the mean of the whole potential zero:
/// an Ewald sum with erf(αr)/r in place of what is short-range.
pub(super) struct PeriodicKernel {
    edges: [f64; 3],
    softening: Softening,
    s: f64,
    alpha: f64,
    /// 2π m, its term, and its derivatives by a strain.
    vectors: Vec<([f64; 3], Strained)>,
}

impl PeriodicKernel {
    pub(super) fn new(edges: [f64; 3], softening: Softening, s: f64) -> Self {
        let volume: f64 = edges.iter().product();
        // Both sums to 1e-16: erfc(6) and exp(−36).
        let alpha = 6.0 / (1.5 * volume.cbrt());
        let most = edges.map(|edge| (6.0 * alpha * edge / PI).ceil() as i64);
        let mut vectors = Vec::new();
        over_images([0.0; 3], edges.map(f64::recip), most, |m| {
            let m2 = square(m);
            let exponent = (PI / alpha).powi(2) * m2;
            if m2 > 0.0 && exponent < 37.0 {
                let value = (-exponent).exp() / (PI * volume * m2);
                let mut term = radial(m, (value, 2.0 * value * (1.0 + exponent) / m2));
                term.1[..3].iter_mut().for_each(|w| *w -= value);
                vectors.push((m.map(|x| TAU * x), term));
            }
        });
        Self {
            edges,
            softening,
            s,
            alpha,
            vectors,
        }
    }

    /// At a difference of two points.
    pub(super) fn at(&self, d: [f64; 3]) -> Strained {
        let volume: f64 = self.edges.iter().product();
        let background = PI / (self.alpha * self.alpha * volume);
        let mut sum = (-background, [background, background, background, 0.0, 0.0, 0.0]);
        over_images(d, self.edges, self.images(), |r| {
            add(
                &mut sum,
                radial(r, near(self.softening, self.s, self.alpha, square(r))),
            );
        });
        for (w, (value, tensor)) in &self.vectors {
            let turn = (w[0] * d[0] + w[1] * d[1] + w[2] * d[2]).cos();
            add(&mut sum, (turn * value, tensor.map(|x| turn * x)));
        }
        sum
    }

    fn images(&self) -> [i64; 3] {
        let far = (6.5 / self.alpha).max(self.s);
        self.edges.map(|edge| (far / edge).ceil() as i64 + 1)
    }
}

/// g_s(r) − erf(αr)/r, and its derivative by r over r.
pub(super) fn near(softening: Softening, s: f64, alpha: f64, r2: f64) -> (f64, f64) {
    let (x2, r) = (alpha * alpha * r2, r2.sqrt());
    if r >= s {
        if alpha * r > 6.5 {
            return (0.0, 0.0);
        }
        let value = libm::erfc(alpha * r) / r;
        return (value, -(value + FRAC_2_SQRT_PI * alpha * (-x2).exp()) / r2);
    }
    let (value, along) = softening.smooth_radial(r2, s);
    let erf = if x2 < 1e-4 {
        let unit = FRAC_2_SQRT_PI * alpha;
        let derivative = -2.0 / 3.0 + x2 * (0.4 - x2 / 7.0);
        (
            unit * (1.0 - x2 * (1.0 / 3.0 - x2 * (0.1 - x2 / 42.0))),
            unit * alpha * alpha * derivative,
        )
    } else {
        let erf = libm::erf(alpha * r) / r;
        (erf, (FRAC_2_SQRT_PI * alpha * (-x2).exp() - erf) / r2)
    };
    (value - erf.0, along - erf.1)
}
