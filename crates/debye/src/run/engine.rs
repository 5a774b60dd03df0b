//! The engine of a simulation, at its beginning or where a checkpoint left it.

use debye_gpu::Device;

use super::device::{device, settings};
use super::{Existing, RunError};
use crate::backend::cpu::CpuEngine;
use crate::backend::cuda::CudaEngine;
use crate::backend::{Backend, Precision};
use crate::input::Simulation;
use crate::neighbors::Grid;

/// The engine a simulation asks for, at step 0.
pub fn engine(simulation: &Simulation) -> Result<Box<dyn Backend>, RunError> {
    engine_on(simulation, device(simulation, Existing::Refuse)?.as_ref())
}

/// The same on a CUDA device that is open already, or on the CPU.
pub fn engine_on(simulation: &Simulation, device: Option<&Device>) -> Result<Box<dyn Backend>, RunError> {
    let settings = settings(simulation);
    let s = simulation;
    Ok(match device {
        Some(device) => Box::new(CudaEngine::new(
            device,
            &s.system,
            &s.forces,
            &s.dynamics,
            &settings,
        )?),
        None => Box::new(CpuEngine::new(&s.system, &s.forces, &s.dynamics, &settings)?),
    })
}

/// The engine a simulation asks for, going on from a saved state.
pub fn resumed_engine(simulation: &Simulation, saved: &[u8]) -> Result<Box<dyn Backend>, RunError> {
    resumed_engine_on(simulation, saved, device(simulation, Existing::Refuse)?.as_ref())
}

pub(super) fn resumed_engine_on(
    simulation: &Simulation,
    saved: &[u8],
    device: Option<&Device>,
) -> Result<Box<dyn Backend>, RunError> {
    let settings = settings(simulation);
    let s = simulation;
    Ok(match device {
        Some(device) => Box::new(CudaEngine::resumed(
            device,
            &s.system,
            &s.forces,
            &s.dynamics,
            &settings,
            saved,
        )?),
        None => Box::new(CpuEngine::resumed(
            &s.system,
            &s.forces,
            &s.dynamics,
            &settings,
            saved,
        )?),
    })
}

/// Systems longer than this many cut-offs cost mixed precision more than its own arithmetic does.
const LONGEST: f64 = 500.0;

/// A warning for systems so large that coordinates of 32 bits are too coarse: the cell where it is periodic, and the
/// particles where it is open.
pub fn coarse_coordinates(simulation: &Simulation) -> Option<String> {
    let (system, cutoff) = (&simulation.system, simulation.forces.cutoff());
    if simulation.run.precision == Precision::Double || cutoff <= 0.0 {
        return None;
    }
    let (low, high) = Grid::over(&system.cell, &system.particles.positions, cutoff).region();
    let size = (high - low).to_array().into_iter().fold(0.0, f64::max);
    (size > LONGEST * cutoff).then(|| {
        let cutoffs = size / cutoff;
        let cutoffs = if cutoffs < 1e6 {
            format!("{cutoffs:.0}")
        } else {
            format!("{cutoffs:.1e}")
        };
        format!(
            "the particles and their cell are {cutoffs} cut-offs across: {} precision resolves a billionth of that; use \
             precision = \"double\" where forces must be better than 1e-4",
            simulation.run.precision.name()
        )
    })
}
