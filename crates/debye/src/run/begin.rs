//! How a run begins: at step 0, or where a checkpoint left off.

use std::borrow::Cow;
use std::path::Path;
use std::time::Instant;

use debye_gpu::Device;

use super::fingerprint::fingerprint;
use super::lock::Lock;
use super::outputs::{self, Known, Outputs};
use super::pace::Closing;
use super::table::TableLayout;
use super::{
    Existing, Files, Run, RunError, RunOptions, coarse_coordinates, device, engine, folder, minimization,
};
use crate::checkpoint::{Checkpoint, Found};
use crate::engines::Engine;
use crate::simulation::{CheckpointPlan, Simulation};

/// A run at its first step here, before anything is saved.
struct Start {
    engine: Box<dyn Engine>,
    outputs: Outputs,
    first_step: u64,
    seconds_before: f64,
}

impl Start {
    /// At step 0, minimized where that is asked for; with files in `folder` where the simulation writes any.
    fn anew(
        simulation: &Simulation,
        device: Option<&Device>,
        options: &mut RunOptions,
        notes: &mut Vec<String>,
        folder: &Path,
    ) -> Result<Self, RunError> {
        let writes = simulation.output.folder.is_some();
        // Nothing of an earlier run goes before this one stands on its feet.
        if writes {
            folder::try_outputs(folder, options.existing, simulation)?;
        } else {
            outputs::check(simulation)?;
        }
        let mut engine = engine::engine_on(simulation, device)?;
        if let Some(m) = &simulation.minimize {
            notes.push(minimization::minimize(engine.as_mut(), m, options)?);
        }
        let layout = TableLayout::new(&simulation.system, &simulation.dynamics, &engine.observe()?);
        if writes {
            folder::prepare(folder, options.existing, true, simulation)?;
        }
        let mut outputs = Outputs::open(
            simulation,
            folder,
            layout,
            &Known::default(),
            (engine.as_mut(), device),
            options.threads,
        )?;
        outputs.record_fresh(engine.as_mut())?;
        Ok(Self {
            engine,
            outputs,
            first_step: 0,
            seconds_before: 0.0,
        })
    }

    /// Where a checkpoint left off.
    fn resumed(
        simulation: &Simulation,
        device: Option<&Device>,
        found: Found,
        plan: &CheckpointPlan,
        notes: &mut Vec<String>,
        folder: &Path,
        threads: Option<usize>,
    ) -> Result<Self, RunError> {
        let Found {
            checkpoint: saved,
            file,
            passed,
        } = found;
        let passed = passed.into_iter();
        notes.extend(passed.map(|why| format!("{why}; the one before it was taken")));
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let planned = plan.file.to_string_lossy();
        if !name.starts_with(&*planned) {
            notes.push(format!(
                "went on from {name} of step {}; checkpoints now go to {planned}",
                saved.step
            ));
        }
        let (mut engine, exact) = engine::resumed(simulation, &saved, &file, device)?;
        let layout = TableLayout::new(&simulation.system, &simulation.dynamics, &engine.observe()?);
        let known = Known::find(simulation, folder, &layout, &saved)?;
        folder::try_outputs(folder, Existing::Resume, simulation)?;
        folder::prepare(folder, Existing::Resume, false, simulation)?;
        let (then, here) = (&saved.device, engine.device());
        if !exact {
            notes.push(format!(
                "went on from the exact positions, velocities and thermostats of {then} on {here}, {} precision: \
                 bits may differ from one run",
                simulation.run.precision.name()
            ));
        } else if !device::same_device(then, &here) {
            notes.push(format!(
                "begun on {then}, continued on {here}: the bits may differ from one run"
            ));
        }
        let mut outputs = Outputs::open(
            simulation,
            folder,
            layout,
            &known,
            (engine.as_mut(), device),
            threads,
        )?;
        outputs.record_fresh(engine.as_mut())?;
        if saved.step >= simulation.run.steps && simulation.run.steps > 0 {
            notes.push(format!(
                "nothing is left to do: the run is at step {}, and {} were asked for",
                saved.step, simulation.run.steps
            ));
        }
        Ok(Self {
            engine,
            outputs,
            first_step: saved.step,
            seconds_before: saved.seconds,
        })
    }
}

impl<'a> Run<'a> {
    pub(super) fn begin(simulation: Cow<'a, Simulation>, options: &mut RunOptions) -> Result<Self, RunError> {
        let began = Instant::now();
        let mut run = Self::begun(simulation, options)?;
        run.start_seconds = began.elapsed().as_secs_f64();
        Ok(run)
    }

    fn begun(simulation: Cow<'a, Simulation>, options: &mut RunOptions) -> Result<Self, RunError> {
        let device = match options.device {
            Some(device) => Some(device.clone()),
            None => device::device(&simulation, options.existing)?,
        };
        let mut notes = simulation.warnings.clone();
        notes.extend(coarse_coordinates(&simulation));
        let s = simulation.as_ref();
        let Some(folder) = s.output.folder.clone() else {
            let start = Start::anew(s, device.as_ref(), options, &mut notes, Path::new(""))?;
            return Ok(Self::new(simulation, device, start, None, notes));
        };
        let plan = folder::checkpoint_plan(s);
        folder::inspect(s, options.existing)?;
        let lock = Lock::take(&folder)?;
        // Another run may have come and gone in between.
        folder::inspect_content(s, options.existing)?;
        let found = match options.existing {
            Existing::Resume => Checkpoint::newest(&folder.join(&plan.file), Some(&fingerprint(s)))?,
            _ => None,
        };
        if options.existing == Existing::Resume && found.is_none() {
            notes.push("no checkpoint found: the run begins at step 0".into());
        }
        let start = match found {
            Some(found) => Start::resumed(
                s,
                device.as_ref(),
                found,
                &plan,
                &mut notes,
                &folder,
                options.threads,
            )?,
            None => Start::anew(s, device.as_ref(), options, &mut notes, &folder)?,
        };
        let files = Files {
            folder,
            checkpoint: plan,
            saved: Instant::now(),
            saved_step: 0,
            drawing: None,
            _lock: lock,
        };
        let mut run = Self::new(simulation, device, start, Some(files), notes);
        if let Some(steps) = options.profile {
            run.profile(steps);
        }
        run.draw_first()?;
        run.save()?;
        if let Some(files) = &run.files {
            folder::has_begun(&files.folder);
        }
        Ok(run)
    }

    fn new(
        simulation: Cow<'a, Simulation>,
        open: Option<Device>,
        start: Start,
        files: Option<Files>,
        notes: Vec<String>,
    ) -> Self {
        Self {
            simulation,
            open,
            engine: start.engine,
            outputs: start.outputs,
            files,
            first_step: start.first_step,
            start_seconds: 0.0,
            seconds: 0.0,
            since: None,
            rate: 100.0,
            seconds_before: start.seconds_before,
            closing: Closing::default(),
            notes,
        }
    }
}
