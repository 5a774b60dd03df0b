//! The engine of a simulation, at its beginning or where a checkpoint left it.

use std::path::Path;

use debye_gpu::{Ahead, Device};

use super::device::{device, settings};
use super::{Existing, RunError};
use crate::checkpoint::Checkpoint;
use crate::engines::cpu::CpuEngine;
use crate::engines::cuda::CudaEngine;
use crate::engines::{Engine, EngineError, Precision};
use crate::expr::Vec3;
use crate::integrate::MotionState;
use crate::neighbors::Grid;
use crate::simulation::Simulation;
use crate::system::{Cell, Orientations, System};

/// The engine a simulation asks for, at step 0.
pub fn engine(simulation: &Simulation) -> Result<Box<dyn Engine>, RunError> {
    engine_on(simulation, device(simulation, Existing::Refuse)?.as_ref())
}

/// The same on a CUDA device that is open already, or on the CPU.
pub fn engine_on(simulation: &Simulation, device: Option<&Device>) -> Result<Box<dyn Engine>, RunError> {
    let settings = &settings(simulation);
    let (system, forces, dynamics) = (&simulation.system, &simulation.forces, &simulation.dynamics);
    Ok(match device {
        Some(device) => Box::new(CudaEngine::new(device, system, forces, dynamics, settings)?),
        None => Box::new(CpuEngine::new(system, forces, dynamics, settings)?),
    })
}

/// Begins to compile what a simulation would use on a CUDA device, so that a run finds it on disk.
pub fn prepare(simulation: &Simulation, device: &Device) -> Result<Ahead, RunError> {
    let s = simulation;
    Ok(CudaEngine::prepare(
        device,
        &s.system,
        &s.forces,
        &s.dynamics,
        &settings(s),
    )?)
}

/// The engine a simulation asks for, going on from a saved state.
pub fn resumed_engine(simulation: &Simulation, saved: &[u8]) -> Result<Box<dyn Engine>, RunError> {
    resumed_engine_on(simulation, saved, device(simulation, Existing::Refuse)?.as_ref())
}

fn resumed_engine_on(
    simulation: &Simulation,
    saved: &[u8],
    device: Option<&Device>,
) -> Result<Box<dyn Engine>, RunError> {
    let settings = &settings(simulation);
    let (system, forces, dynamics) = (&simulation.system, &simulation.forces, &simulation.dynamics);
    Ok(match device {
        Some(device) => Box::new(CudaEngine::resumed(
            device, system, forces, dynamics, settings, saved,
        )?),
        None => Box::new(CpuEngine::resumed(system, forces, dynamics, settings, saved)?),
    })
}

/// The form of an engine: those of one form read one another's state.
pub(super) fn form(simulation: &Simulation, on_device: bool) -> String {
    let device = if on_device { "cuda" } else { "cpu" };
    format!("{device} {}", simulation.run.precision.name())
}

/// The engine of a run that goes on: with its own state where the one that saved it was of the same form, which is exact
/// to the last bit, else from the particles and what thermostats remember. Says which.
pub(super) fn resumed(
    simulation: &Simulation,
    saved: &Checkpoint,
    file: &Path,
    device: Option<&Device>,
) -> Result<(Box<dyn Engine>, bool), RunError> {
    if saved.form == form(simulation, device.is_some()) {
        match resumed_engine_on(simulation, &saved.engine, device) {
            // Laid out otherwise, as on another card: what every engine reads is there too.
            Err(RunError::Engine(EngineError::Restore(_))) => {}
            other => return other.map(|engine| (engine, true)),
        }
    }
    let s = simulation;
    let mut native = saved.native_system(file)?;
    let mut system = s.system.clone();
    let cell = Cell::triclinic(native.cell).map_err(|e| EngineError::Restore(e.to_string()))?;
    system.cell = cell.with_periodicity(system.cell.periodic());
    let p = &mut system.particles;
    if !p.orientations.is_empty() {
        let found = Orientations::from_native(&mut native);
        p.orientations.rotations = found.rotations;
        p.orientations.angular_momenta = found.angular_momenta;
    }
    p.positions = native.positions.into_iter().map(Vec3::from).collect();
    p.velocities = native.velocities.into_iter().map(Vec3::from).collect();
    p.images = native.images;
    Ok((engine_at(s, &system, &saved.motion, device)?, false))
}

/// The engine of a simulation whose particles, cell and thermostats are these.
pub(super) fn engine_at(
    simulation: &Simulation,
    system: &System,
    motion: &MotionState,
    device: Option<&Device>,
) -> Result<Box<dyn Engine>, RunError> {
    let (s, settings) = (simulation, settings(simulation));
    Ok(match device {
        Some(device) => Box::new(CudaEngine::at(
            device,
            system,
            &s.forces,
            &s.dynamics,
            &settings,
            motion,
        )?),
        None => Box::new(CpuEngine::at(system, &s.forces, &s.dynamics, &settings, motion)?),
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
