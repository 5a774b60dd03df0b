//! The potential of a unit charge and all its images, less its short-range part: the kernel of the coarsest periodic
//! grid.

use std::f64::consts::{PI, TAU};

use super::Softening;

/// Σ over images of g_s(r), in a box of these edges with a background that makes the mean of the whole potential zero.
pub(super) struct PeriodicKernel {
    edges: [f64; 3],
    softening: Softening,
    s: f64,
    alpha: f64,
    waves: Vec<([f64; 3], f64)>,
}

impl PeriodicKernel {
    pub(super) fn new(edges: [f64; 3], softening: Softening, s: f64) -> Self {
        let volume: f64 = edges.iter().product();
        // Both sums to 1e-16: erfc(6) and exp(−36).
        let alpha = 6.0 / (1.5 * volume.cbrt());
        let most = edges.map(|edge| (6.0 * alpha * edge / PI).ceil() as i64);
        let mut waves = Vec::new();
        for i in -most[0]..=most[0] {
            for j in -most[1]..=most[1] {
                for k in -most[2]..=most[2] {
                    let m = [i as f64 / edges[0], j as f64 / edges[1], k as f64 / edges[2]];
                    let m2: f64 = m.iter().map(|x| x * x).sum();
                    let exponent = (PI / alpha).powi(2) * m2;
                    if m2 > 0.0 && exponent < 37.0 {
                        waves.push((m.map(|x| TAU * x), (-exponent).exp() / (PI * volume * m2)));
                    }
                }
            }
        }
        Self {
            edges,
            softening,
            s,
            alpha,
            waves,
        }
    }

    /// At a difference of two points.
    pub(super) fn at(&self, d: [f64; 3]) -> f64 {
        let volume: f64 = self.edges.iter().product();
        let far = (6.0 / self.alpha).max(self.s);
        let most: [i64; 3] = std::array::from_fn(|k| (far / self.edges[k]).ceil() as i64 + 1);
        let mut sum = -PI / (self.alpha * self.alpha * volume);
        for i in -most[0]..=most[0] {
            for j in -most[1]..=most[1] {
                for k in -most[2]..=most[2] {
                    let n = [i, j, k];
                    let r = (0..3)
                        .map(|c| (d[c] + n[c] as f64 * self.edges[c]).powi(2))
                        .sum::<f64>()
                        .sqrt();
                    // erfc(αr)/r − (1/r − g_s(r)), of which g_s(r) = 1/r beyond s.
                    if r < self.s {
                        let erf = if r < 1e-8 {
                            2.0 * self.alpha / PI.sqrt()
                        } else {
                            libm::erf(self.alpha * r) / r
                        };
                        sum += self.softening.smooth(r, self.s) - erf;
                    } else if self.alpha * r < 6.5 {
                        sum += libm::erfc(self.alpha * r) / r;
                    }
                }
            }
        }
        let turn = |w: &[f64; 3]| (w[0] * d[0] + w[1] * d[1] + w[2] * d[2]).cos();
        sum + self.waves.iter().map(|(w, factor)| factor * turn(w)).sum::<f64>()
    }
}
