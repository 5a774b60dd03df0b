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
    /// Energy held by thermostats, so that `total + bath` stays constant; `None` where it is not kept.
    pub bath: Option<f64>,
    /// Temperature.
    pub temperature: f64,
    /// Degrees of freedom behind the temperature.
    pub degrees_of_freedom: f64,
    /// Pressure tensor: xx yy zz xy xz yz, tail correction included.
    pub pressure_tensor: [f64; 6],
    /// The cell.
    pub cell: Cell,
}

impl Observation {
    /// Potential and kinetic energy.
    pub fn total(&self) -> f64 {
        self.potential + self.kinetic
    }

    /// The scalar pressure.
    pub fn pressure(&self) -> f64 {
        (self.pressure_tensor[0] + self.pressure_tensor[1] + self.pressure_tensor[2]) / 3.0
    }
}
