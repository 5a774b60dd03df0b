//! Where a simulation runs, and what every backend answers.

pub mod cpu;
mod error;
mod observation;
mod stages;

pub use error::{Culprit, EngineError};
pub use observation::Observation;
pub use stages::{Stage, Stages};

use cpu::simd::InstructionSet;

/// In which precision a simulation runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// Pair arithmetic, positions and velocities in single precision.
    Single,
    /// Pair arithmetic in single precision from exact differences; sums and motion in double.
    #[default]
    Mixed,
    /// Everything in double precision.
    Double,
}

impl Precision {
    /// Its name in input files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Mixed => "mixed",
            Self::Double => "double",
        }
    }
}

/// How an engine computes, apart from what.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Precision.
    pub precision: Precision,
    /// Buffer of the neighbour list beyond the cut-off; `None` to choose while running.
    pub buffer: Option<f64>,
    /// Instruction set; `None` for the best this processor has.
    pub instruction_set: Option<InstructionSet>,
}
