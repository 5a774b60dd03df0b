//! How long a list may be used when a little drift of the energy is allowed.
//!
//! A pair is missed when it starts beyond the list's radius and comes within the cut-off. If the
//! displacement of a pair along its line is normal with variance s², a pair potential that ends with a
//! jump u, a derivative u′ and a curvature u″ loses, per particle,
//!
//! ½ · 4πρ (r_c + b)² · (|u| M₁ + |u′| M₂/2 + |u″| M₃/6),  M_k = ⟨(δ − b)₊ᵏ⟩,
//!
//! b being the buffer and ρ the density around particles. Lost energy over the age of the list is the drift. The sum
//! takes all errors with one sign, so it is an upper bound as long as the displacements are normal.

use crate::forces::ForceField;
use crate::potentials::Pair;

/// How the potentials of a force field end, at worst.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CutoffEnd {
    jump: f64,
    derivative: f64,
    curvature: f64,
}

impl CutoffEnd {
    /// The largest jump, derivative and curvature of any pair of species, terms added up. `charge` is
    /// the largest charge of any particle.
    pub fn of(field: &ForceField, charge: f64) -> Self {
        let mut all = Self::default();
        for term in &field.pairs {
            let charges = if term.family.uses_charges() {
                field.coulomb_constant * charge * charge
            } else {
                1.0
            };
            let mut worst = Self::default();
            for row in term.rows.iter().filter(|row| row.cutoff > 0.0) {
                let at = |r: f64| {
                    let pair = Pair {
                        r2: r * r,
                        table: &term.table,
                    };
                    let bare = term.family.energy_and_derivative(pair, &row.coefficients);
                    let e = term.truncation.apply(bare, r * r, &row.truncation);
                    (e.value, 2.0 * r * e.derivative)
                };
                let step = 1e-4 * row.cutoff;
                let ((u, derivative), (_, before)) = (at(row.cutoff), at(row.cutoff - step));
                worst.jump = worst.jump.max(u.abs());
                worst.derivative = worst.derivative.max(derivative.abs());
                worst.curvature = worst.curvature.max(((derivative - before) / step).abs());
            }
            all.jump += charges * worst.jump;
            all.derivative += charges * worst.derivative;
            all.curvature += charges * worst.curvature;
        }
        all
    }

    /// The energy per particle of the pairs that a list may miss: `deviation` is s, `buffer` b.
    pub fn missed_energy(&self, deviation: f64, buffer: f64, density: f64, cutoff: f64) -> f64 {
        if deviation <= 0.0 {
            return 0.0;
        }
        let (s, b) = (deviation, buffer.max(0.0));
        let u = b / s;
        let phi = (-0.5 * u * u).exp() / std::f64::consts::TAU.sqrt();
        let q = 0.5 * libm::erfc(u / std::f64::consts::SQRT_2);
        let first = s * phi - b * q;
        let second = (s * s + b * b) * q - s * b * phi;
        let third = s * (b * b + 2.0 * s * s) * phi - b * (b * b + 3.0 * s * s) * q;
        let per_pair = self.jump * first + self.derivative * second / 2.0 + self.curvature * third / 6.0;
        std::f64::consts::TAU * density * (cutoff + b).powi(2) * per_pair.max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_a_normal() {
        let (s, b) = (0.3_f64, 0.2);
        // ∫ (x − b)ᵏ φ(x/s)/s dx from b on, by Simpson's rule.
        let moment = |k: i32| {
            let (n, h) = (20_000, 6.0 * s / 20_000.0);
            let f = |i: usize| {
                let y = i as f64 * h;
                y.powi(k) * (-0.5 * ((y + b) / s).powi(2)).exp() / (s * std::f64::consts::TAU.sqrt())
            };
            let inner: f64 = (1..n).map(|i| f(i) * if i % 2 == 1 { 4.0 } else { 2.0 }).sum();
            (f(0) + inner + f(n)) * h / 3.0
        };
        let area = std::f64::consts::TAU * (1.0 + b).powi(2); // density and cut-off one
        let missed = |jump, derivative, curvature| {
            CutoffEnd {
                jump,
                derivative,
                curvature,
            }
            .missed_energy(s, b, 1.0, 1.0)
                / area
        };
        assert!((missed(1.0, 0.0, 0.0) - moment(1)).abs() < 1e-9);
        assert!((missed(0.0, 1.0, 0.0) - moment(2) / 2.0).abs() < 1e-9);
        assert!((missed(0.0, 0.0, 1.0) - moment(3) / 6.0).abs() < 1e-9);
    }
}
