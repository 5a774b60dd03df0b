//! [`Observation`]: energies and pressure at one step.

use crate::system::Cell;

/// What a table shows of one step.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// The step.
    pub step: u64,
    /// Its time.
    pub time: f64,
    /// Energy by term, the tail correction last where there is one.
    pub terms: Vec<(String, f64)>,
    /// Potential energy.
    pub potential: f64,
    /// Kinetic energy.
    pub kinetic: f64,
    /// Energy held by thermostats, so that `total + thermostat` stays constant; `None` where it is not kept.
    pub thermostat: Option<f64>,
    /// Temperature.
    pub temperature: f64,
    /// Degrees of freedom behind the temperature.
    pub degrees_of_freedom: f64,
    /// Σ m v⊗v + Σ r⊗F over the volume of the cell, tail correction included: xx yy zz xy xz yz. The pressure
    /// tensor where the cell [has a volume](Cell::has_volume).
    pub pressure_tensor: [f64; 6],
    /// The cell.
    pub cell: Cell,
}

impl Observation {
    /// Potential and kinetic energy.
    pub fn total(&self) -> f64 {
        self.potential + self.kinetic
    }

    /// The scalar pressure, where the cell has a volume.
    pub fn pressure(&self) -> Option<f64> {
        let [xx, yy, zz, ..] = self.pressure_tensor;
        self.cell.has_volume().then_some((xx + yy + zz) / 3.0)
    }
}
