//! How a run begins: threads, folder, engine.

use std::path::Path;

use super::checkpoint::{UNFINISHED, holds_checkpoint};
use super::{Existing, RunError};
use crate::backend::cpu::{CpuEngine, Fire};
use crate::backend::{Backend, Precision, Settings};
use crate::input::{Buffer, DeviceChoice, Minimize, Simulation};

/// The input file as it was read, in the output folder.
const INPUT_COPY: &str = "input.toml";

/// Works on a number of threads; on all cores where none is given.
pub fn with_threads<T: Send>(number: Option<usize>, work: impl FnOnce() -> T + Send) -> Result<T, RunError> {
    threads(number).map(|pool| pool.install(work))
}

fn threads(number: Option<usize>) -> Result<rayon::ThreadPool, RunError> {
    let number = number.unwrap_or(0);
    rayon::ThreadPoolBuilder::new()
        .num_threads(number)
        .build()
        .map_err(|_| RunError::Threads(number))
}

/// Refuses an output folder that is not to be written to; [`run`](super::run) does so too. Nothing is changed.
pub fn inspect_folder(simulation: &Simulation, existing: Existing) -> Result<(), RunError> {
    let folder = simulation.output.folder.as_path();
    let owned = folder.to_path_buf();
    if folder.exists() && !folder.is_dir() {
        return Err(RunError::NotAFolder(owned));
    }
    if !std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
        return Ok(());
    }
    if existing == Existing::Refuse {
        return Err(RunError::Exists { folder: owned });
    }
    let refused = |why: String| Err(RunError::Occupied { folder: owned, why });
    let copy = folder.join(INPUT_COPY);
    let place = |path: &Path| path.canonicalize().ok();
    if place(&copy).is_some() && place(&copy) == place(&simulation.input_path) {
        return refused(format!("its {INPUT_COPY} is the input of this run"));
    }
    let begun_alike = std::fs::read(&copy).is_ok_and(|text| text == simulation.input_text.as_bytes());
    if begun_alike || holds_checkpoint(folder) {
        Ok(())
    } else {
        refused("it holds files, but no run of this program".into())
    }
}

/// Makes the folder, or takes the files of an earlier run out of it, and puts a copy of the input in.
pub(super) fn prepare_folder(
    folder: &Path,
    existing: Existing,
    simulation: &Simulation,
) -> Result<(), RunError> {
    let fail = |e| RunError::write(folder, e);
    std::fs::create_dir_all(folder).map_err(fail)?;
    for entry in std::fs::read_dir(folder).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let stale = existing == Existing::Overwrite && !path.is_dir();
        if stale || name.starts_with(UNFINISHED) {
            std::fs::remove_file(&path).map_err(|e| RunError::write(&path, e))?;
        }
    }
    let copy = folder.join(INPUT_COPY);
    if existing == Existing::Resume && copy.exists() {
        return Ok(());
    }
    std::fs::write(&copy, &simulation.input_text).map_err(|e| RunError::write(&copy, e))
}

/// Whether two descriptions of a device differ at most in the number of threads, which changes nothing.
pub(super) fn same_device(a: &str, b: &str) -> bool {
    let parts = |text: &str| -> Vec<String> {
        let kept = text.split(", ").filter(|part| !part.ends_with(" threads"));
        kept.map(str::to_owned).collect()
    };
    parts(a) == parts(b)
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
        drift_tolerance: simulation.neighbors.drift_tolerance,
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

/// Cells longer than this many cut-offs cost mixed precision more than its own arithmetic does.
const LARGEST_CELL: f64 = 500.0;

/// A warning for cells so large that coordinates of 32 bits are too coarse.
pub(super) fn coarse_coordinates(simulation: &Simulation) -> Option<String> {
    let h = simulation.system.cell.heights();
    let (longest, cutoff) = (h.x.max(h.y).max(h.z), simulation.forces.cutoff());
    let coarse =
        simulation.run.precision != Precision::Double && longest > LARGEST_CELL * cutoff && cutoff > 0.0;
    coarse.then(|| {
        format!(
            "the cell is {:.0} cut-offs long: {} precision resolves a billionth of that; use precision = \"double\" \
             where forces must be better than 1e-4",
            longest / cutoff,
            simulation.run.precision.name()
        )
    })
}
