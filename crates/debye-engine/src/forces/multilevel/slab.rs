//! The same between two vacua: images along two axes, none along the third. The kernel of the coarsest grid of a slab.

use std::f64::consts::{PI, TAU};

use super::Softening;
use super::kernel::{over_images, square};
use super::periodic::near;

/// Σ over images in a plane of g_s(r), less the constant that diverges: far away it is −(2π/A)|z|.
///
/// By the two-dimensional Ewald sum (Parry, Surf. Sci. 49, 433 (1975)), with A the area and k the reciprocal vectors of
/// the plane:
///
/// ```text
/// Σ [g_s(r) − erf(αr)/r] + (π/A) Σ_(k≠0) cos(k·ρ)/k [e^(kz) erfc(k/2α + αz) + e^(−kz) erfc(k/2α − αz)]
///   − (2π/A) [z erf(αz) + e^(−α²z²)/(α√π)]
/// ```
pub(super) struct SlabKernel {
    edges: [f64; 3],
    open: usize,
    softening: Softening,
    s: f64,
    alpha: f64,
    area: f64,
    /// Reciprocal vectors, one of each two that differ by their sign.
    vectors: Vec<([f64; 3], f64)>,
}

impl SlabKernel {
    pub(super) fn new(edges: [f64; 3], open: usize, softening: Softening, s: f64) -> Self {
        let area = (0..3).filter(|&k| k != open).map(|k| edges[k]).product::<f64>();
        // As in three dimensions.
        let alpha = 6.0 / (1.5 * area.sqrt());
        let mut most = edges.map(|edge| (6.0 * alpha * edge / PI).ceil() as i64);
        most[open] = 0;
        let mut vectors = Vec::new();
        over_images([0.0; 3], edges.map(f64::recip), most, |m| {
            let k = square(m).sqrt() * TAU;
            let first = m.iter().find(|x| **x != 0.0);
            if first.is_some_and(|x| *x > 0.0) && k < 12.2 * alpha {
                vectors.push((m.map(|x| TAU * x), k));
            }
        });
        Self {
            edges,
            open,
            softening,
            s,
            alpha,
            area,
            vectors,
        }
    }

    /// At a difference of two points.
    pub(super) fn at(&self, d: [f64; 3]) -> f64 {
        let (alpha, z) = (self.alpha, d[self.open].abs());
        let far = (6.5 / alpha).max(self.s);
        let mut images = self.edges.map(|edge| (far / edge).ceil() as i64 + 1);
        images[self.open] = 0;
        let mut sum = 0.0;
        over_images(d, self.edges, images, |r| {
            sum += near(self.softening, self.s, alpha, square(r)).0;
        });
        let plane = z * libm::erf(alpha * z) + (-(alpha * z).powi(2)).exp() / (alpha * PI.sqrt());
        sum -= TAU / self.area * plane;
        for (w, k) in &self.vectors {
            let turn: f64 = (0..3).filter(|&c| c != self.open).map(|c| w[c] * d[c]).sum();
            // Twice, for the vector of the other sign.
            sum += TAU / self.area * turn.cos() / k * decay(*k, alpha, z);
        }
        sum
    }
}

/// e^(kz) erfc(k/2α + αz) + e^(−kz) erfc(k/2α − αz) for z ≥ 0.
fn decay(k: f64, alpha: f64, z: f64) -> f64 {
    let (half, u) = (k / (2.0 * alpha), k / (2.0 * alpha) + alpha * z);
    let rising = if u < 4.0 {
        (k * z).exp() * libm::erfc(u)
    } else {
        // By the continued fraction of e^(u²) erfc(u): the product above overflows.
        let fraction = (1..=60).rev().fold(u, |below, n| u + 0.5 * f64::from(n) / below);
        (-(half * half + (alpha * z).powi(2))).exp() / (PI.sqrt() * fraction)
    };
    rising + (-k * z).exp() * libm::erfc(half - alpha * z)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two charges of opposite sign and all their images in a plane, row by row of squares, in the limit.
    #[test]
    fn sums_over_images_are_what_they_converge_to() {
        let edges = [1.1, 0.9, 1.0];
        let softening = Softening::C3;
        let kernel = SlabKernel::new(edges, 2, softening, 0.8);
        // The potential of a quadrupole along z converges by itself: weights 1, −2, 1.
        let at = |z: f64| kernel.at([0.3, 0.4, z]);
        let found = at(0.2) - 2.0 * at(0.5) + at(0.8);
        let mut sum = 0.0;
        over_images([0.3, 0.4, 0.0], edges, [400, 400, 0], |[x, y, _]| {
            let g = |z: f64| softening.smooth((x * x + y * y + z * z).sqrt(), 0.8);
            sum += g(0.2) - 2.0 * g(0.5) + g(0.8);
        });
        // What is beyond the last row falls as its inverse radius: −(∂²/∂z²) over a plane.
        assert!((found - sum).abs() < 2e-3, "{found} {sum}");
        // It does not depend on the splitting.
        for alpha in [5.0, 7.0] {
            let other = SlabKernel {
                alpha,
                ..SlabKernel::new(edges, 2, softening, 0.8)
            };
            let mut vectors = Vec::new();
            over_images([0.0; 3], [1.0 / 1.1, 1.0 / 0.9, 1.0], [16, 16, 0], |m| {
                let first = m.iter().find(|x| **x != 0.0);
                if first.is_some_and(|x| *x > 0.0) {
                    vectors.push((m.map(|x| TAU * x), square(m).sqrt() * TAU));
                }
            });
            let other = SlabKernel { vectors, ..other };
            for d in [[0.0, 0.0, 0.0], [0.3, 0.4, 0.2], [0.5, 0.1, -3.0]] {
                let (a, b) = (kernel.at(d), other.at(d));
                assert!((a - b).abs() < 1e-12 * a.abs().max(1.0), "{d:?} {a} {b}");
            }
        }
        // Far away it is a charged plane.
        let derivative = (kernel.at([0.2, 0.3, 40.0]) - kernel.at([0.2, 0.3, 30.0])) / 10.0;
        assert!((derivative + TAU / (1.1 * 0.9)).abs() < 1e-12);
    }
}
