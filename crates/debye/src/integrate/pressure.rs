//! Factors by which a barostat changes the cell.

use super::{Barostat, BarostatKind, Coupling};
use crate::expr::Vec3;
use crate::random::{Philox, stream};

impl Barostat {
    /// The factors for x, y and z after `dt`, from the pressure along them.
    ///
    /// Weak coupling: μ = 1 − β Δt/(3τ) (P₀ − P). Stochastic cell rescaling (Bernetti & Bussi 2020):
    /// each group of n lengths moves together by Δ ln = −n β Δt/(3τ) (P₀ − P) + √(2 n k T β Δt/(3 V τ)) ξ,
    /// which for n = 3 is their Eq. 7 for ln V and for n = 2, 1 their Eqs. 9 for the area and the height.
    pub fn factors(
        &self,
        pressure: [f64; 3],
        volume: f64,
        kb: f64,
        dt: f64,
        step: u64,
        philox: Philox,
    ) -> Vec3<f64> {
        let noise = philox.normals(step, 0, stream::BAROSTAT);
        let groups: &[&[usize]] = match self.coupling {
            Coupling::Isotropic => &[&[0, 1, 2]],
            Coupling::SemiIsotropic => &[&[0, 1], &[2]],
            Coupling::Anisotropic => &[&[0], &[1], &[2]],
        };
        let mut factors = [1.0; 3];
        let mut held = false;
        for (number, axes) in groups.iter().enumerate() {
            let n = axes.len() as f64;
            let mean = |values: &[f64; 3]| axes.iter().map(|&k| values[k]).sum::<f64>() / n;
            let excess = mean(&self.pressure) - mean(&pressure);
            let rate = mean(&self.compressibility) * dt / (3.0 * self.time);
            let factor = match self.kind {
                BarostatKind::Berendsen => 1.0 - rate * excess,
                BarostatKind::CellRescale => {
                    let spread = (2.0 * n * kb * self.temperature * rate / volume).sqrt();
                    ((-n * rate * excess + spread * noise[number]) / n).exp()
                }
            };
            // No step may change a length by more than a tenth: the pressure of a bad start is absurd.
            let gentle = factor.clamp(0.9, 1.1);
            held |= gentle != factor;
            for &k in *axes {
                factors[k] = gentle;
            }
        }
        if held {
            self.held.increase();
        }
        factors.into()
    }
}
