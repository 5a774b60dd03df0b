//! Analytic corrections for what lies beyond the cut-off of a uniform fluid.

use super::ForceField;
use crate::system::System;

/// Tail energy × volume and tail pressure × volume²; both constant for fixed numbers of particles.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TailCorrection {
    energy_volume: f64,
    pressure_volume2: f64,
    /// Whether any term has one.
    pub present: bool,
}

impl TailCorrection {
    /// The tail energy in this volume.
    pub fn energy(&self, volume: f64) -> f64 {
        self.energy_volume / volume
    }

    /// The tail pressure in this volume.
    pub fn pressure(&self, volume: f64) -> f64 {
        self.pressure_volume2 / (volume * volume)
    }
}

impl ForceField {
    /// E = (2π/V) Σ Nᵢ Nⱼ ∫ r² u dr and P = −(2π/3V²) Σ Nᵢ Nⱼ ∫ r³ u′ dr over all pairs of species.
    pub fn tail_correction(&self, system: &System) -> TailCorrection {
        let mut counts = vec![0.0; system.species.len()];
        for &s in &system.particles.species {
            counts[s as usize] += 1.0;
        }
        let mut tail = TailCorrection::default();
        for term in self.pairs.iter().filter(|term| term.tail) {
            tail.present = true;
            for (i, ni) in counts.iter().enumerate() {
                for (j, nj) in counts.iter().enumerate() {
                    let row = term.rows[i * counts.len() + j].tail;
                    tail.energy_volume += std::f64::consts::TAU * ni * nj * row.energy;
                    tail.pressure_volume2 -= std::f64::consts::TAU / 3.0 * ni * nj * row.virial;
                }
            }
        }
        tail
    }

    /// The largest cut-off of any pair term.
    pub fn cutoff(&self) -> f64 {
        let pairs = self.pairs.iter().flat_map(|t| &t.rows).map(|row| row.cutoff);
        let oriented = self.oriented.iter().flat_map(|t| t.rows.iter().flatten());
        pairs.chain(oriented.map(|row| row.cutoff)).fold(0.0, f64::max)
    }
}
