//! How a run begins: threads, folder, engine.

use std::path::Path;

use super::{Existing, RunError};
use crate::backend::cpu::{CpuEngine, Fire};
use crate::backend::{Backend, Settings};
use crate::input::{Buffer, DeviceChoice, Minimize, Simulation};

/// A pool of threads; all cores where no number is given.
pub(super) fn threads(number: Option<usize>) -> Result<rayon::ThreadPool, RunError> {
    let number = number.unwrap_or(0);
    rayon::ThreadPoolBuilder::new()
        .num_threads(number)
        .build()
        .map_err(|_| RunError::Threads(number))
}

/// An empty folder, or the one to go on in.
pub(super) fn prepare_folder(folder: &Path, existing: Existing) -> Result<(), RunError> {
    let occupied = std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    if occupied {
        match existing {
            Existing::Refuse => {
                return Err(RunError::Exists {
                    folder: folder.to_path_buf(),
                });
            }
            Existing::Resume => {}
            Existing::Overwrite => std::fs::remove_dir_all(folder).map_err(|e| RunError::write(folder, e))?,
        }
    }
    std::fs::create_dir_all(folder).map_err(|e| RunError::write(folder, e))
}

/// The engine a simulation asks for, at step 0.
pub fn engine(simulation: &Simulation) -> Result<Box<dyn Backend>, RunError> {
    let settings = settings(simulation)?;
    let s = simulation;
    Ok(Box::new(CpuEngine::new(
        &s.system,
        &s.forces,
        &s.dynamics,
        &settings,
    )?))
}

/// The engine a simulation asks for, going on from a saved state.
pub fn resumed_engine(simulation: &Simulation, saved: &[u8]) -> Result<Box<dyn Backend>, RunError> {
    let settings = settings(simulation)?;
    let s = simulation;
    Ok(Box::new(CpuEngine::resumed(
        &s.system,
        &s.forces,
        &s.dynamics,
        &settings,
        saved,
    )?))
}

fn settings(simulation: &Simulation) -> Result<Settings, RunError> {
    if let DeviceChoice::Cuda(number) = simulation.run.device {
        return Err(RunError::Device(format!("cuda:{number}")));
    }
    Ok(Settings {
        precision: simulation.run.precision,
        buffer: match simulation.neighbors.buffer {
            Buffer::Auto => None,
            Buffer::Length(length) => Some(length),
        },
        instruction_set: None,
    })
}

/// Minimises, and says in a sentence how it went.
pub(super) fn minimise(engine: &mut dyn Backend, plan: &Minimize) -> Result<String, RunError> {
    let done = engine.minimise(Fire {
        force_tolerance: plan.force_tolerance,
        max_steps: plan.max_steps,
        max_displacement: plan.max_displacement,
    })?;
    let how = if done.converged {
        "converged"
    } else {
        "stopped without reaching the tolerance"
    };
    Ok(format!(
        "minimisation {how} after {} steps: energy {:.6} → {:.6}, largest force {:.3e}",
        done.steps, done.energy[0], done.energy[1], done.largest_force
    ))
}
