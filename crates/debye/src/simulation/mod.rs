//! What is asked for: a system, the forces on it, its motion, the outputs, the device.
//!
//! A [`Simulation`] is made by [`SimulationBuilder`], or by [`crate::input`] from a TOML file.

mod builder;
mod plan;

pub use builder::{Checkpoints, Measure, Output, SetupError, SimulationBuilder, Table, Trajectory};
pub use plan::*;

use std::path::PathBuf;
use std::sync::Arc;

use crate::analysis::{Model, Subject};
use crate::forces::ForceField;
use crate::integrate::Dynamics;
use crate::system::System;

/// All a run needs to know.
#[derive(Clone)]
pub struct Simulation {
    /// What it is called.
    pub title: String,
    /// Particles with their velocities, topology and exclusions.
    pub system: System,
    /// The run they were taken from; `None` where they were built or read from another file.
    pub origin: Option<Origin>,
    /// What acts on them.
    pub forces: ForceField,
    /// How they move.
    pub dynamics: Dynamics,
    /// A minimization beforehand.
    pub minimize: Option<Minimize>,
    /// How long, where, in which numbers.
    pub run: RunPlan,
    /// What is written.
    pub output: OutputPlan,
    /// How neighbors are found.
    pub neighbors: NeighborOptions,
    /// The largest error of the pressure that long-range electrostatics may have; `None` without a barostat, unless the
    /// file says one.
    pub pressure_tolerance: Option<f64>,
    /// What is measured on the way.
    pub analyses: Vec<AnalysisPlan>,
    /// What is odd but not wrong.
    pub warnings: Vec<String>,
    /// The input file, to be kept with the results; empty where there was none.
    pub input_text: String,
    /// Where it was; empty where there was none.
    pub input_path: PathBuf,
}

/// A radial distribution looks no farther than so many cut-offs unless said: time grows with the volume.
const CUTOFFS_SEEN: f64 = 4.0;

impl Simulation {
    /// What its analyses are made for.
    pub(crate) fn subject(&self) -> Subject {
        let (system, cutoff) = (&self.system, self.forces.cutoff());
        let h = system.cell.heights();
        let half = 0.5 * h.x.min(h.y).min(h.z);
        let reach = if cutoff > 0.0 {
            half.min(CUTOFFS_SEEN * cutoff)
        } else {
            half
        };
        Subject {
            temperature: self.dynamics.temperature(),
            model: Some(Arc::new(Model {
                system: system.clone(),
                forces: self.forces.clone(),
            })),
            ..Subject::new(system, reach)
        }
    }
}
