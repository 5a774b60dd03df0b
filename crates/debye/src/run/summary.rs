//! [`Summary`]: what came out of a run.

use std::path::PathBuf;

use crate::analysis::{BlockAverage, Drift};
use crate::engines::DeviceUse;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All steps were done.
    Finished,
    /// It was asked to stop; a checkpoint was written.
    Interrupted,
    /// Its time was over; a checkpoint was written.
    OutOfTime,
}

/// What came out of a run.
#[derive(Clone, Debug)]
pub struct Summary {
    /// How it ended.
    pub outcome: Outcome,
    /// Where the files are, if any were written.
    pub folder: Option<PathBuf>,
    /// The first step of this part of the run.
    pub first_step: u64,
    /// The last.
    pub last_step: u64,
    /// Seconds before the first step: the device, its kernels, a minimization, the first files.
    pub start_seconds: f64,
    /// Seconds that the steps took, files included.
    pub seconds: f64,
    /// Simulated nanoseconds per day, where time has that unit.
    pub nanoseconds_per_day: Option<f64>,
    /// Drift of the conserved energy, where there is one and the table has enough rows.
    pub drift: Option<Drift>,
    /// Averages over the table without the equilibration, where it has enough rows.
    pub averages: Option<Averages>,
    /// Where it ran.
    pub device: String,
    /// What a CUDA device did for it.
    pub device_use: Option<DeviceUse>,
    /// The report, if one was written.
    pub report: Option<PathBuf>,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// Averages over the rows of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Averages {
    /// The time of the first row that counts.
    pub from: f64,
    /// How many rows count.
    pub rows: usize,
    /// Temperature, and where there are any pressure and density: name, unit, average.
    pub columns: Vec<(String, String, BlockAverage)>,
}

impl Summary {
    /// Steps per second of this part of the run.
    pub fn steps_per_second(&self) -> f64 {
        (self.last_step - self.first_step) as f64 / self.seconds.max(1e-9)
    }
}
