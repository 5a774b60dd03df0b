//! A simulation from beginning to end: schedule, files, checkpoints, report.

mod conclude;
pub mod coulomb;
pub(crate) mod describe;
mod device;
mod engine;
mod error;
pub mod export;
mod fingerprint;
mod folder;
mod lock;
pub mod measure;
mod minimization;
mod outputs;
mod pace;
pub mod report;
pub mod table;
mod threads;
pub mod tune;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

pub use describe::{Fact, setup};
pub use device::{choose_device, device_memory};
pub use engine::{coarse_coordinates, engine, engine_on, resumed_engine};
pub use error::RunError;
pub use folder::{ResumePoint, resume_point};
pub use threads::with_threads;

use crate::analysis::{BlockAverage, Drift};
use crate::checkpoint::{Checkpoint, Found};
use crate::engines::{DeviceUse, Engine, EngineError};
use crate::simulation::{CheckpointPlan, Simulation};
use debye_gpu::Device;
use fingerprint::fingerprint;
use lock::Lock;
use outputs::{Known, Outputs};
use pace::{Closing, Pace};
use table::TableLayout;

/// Refuses a device that is not there and an output folder that is not to be written to; [`run`] does so too. Nothing is
/// changed.
pub fn inspect(simulation: &Simulation, existing: Existing) -> Result<(), RunError> {
    device::device(simulation, existing)?;
    folder::inspect(simulation, existing)
}

/// What to do with an output folder that is there already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// Refuse to run.
    #[default]
    Refuse,
    /// Go on from its last checkpoint.
    Resume,
    /// Remove the files in it, if a run left them there.
    Overwrite,
}

/// How to run, apart from what.
#[derive(Default)]
pub struct RunOptions<'a> {
    /// Threads; `None` for all cores.
    pub threads: Option<usize>,
    /// What to do with an output folder that is there already.
    pub existing: Existing,
    /// A CUDA device that is open already, in place of the one that the simulation names.
    pub device: Option<&'a Device>,
    /// Steps to time every kernel of, where the run computes on a CUDA device.
    pub profile: Option<u64>,
    /// Set from outside to stop soon, with everything written.
    pub stop: Option<&'a AtomicBool>,
    /// Set from outside to have a checkpoint written soon; it is unset when that is done.
    pub save: Option<&'a AtomicBool>,
    /// The run stops early enough that everything is written by then.
    pub deadline: Option<Instant>,
    /// Told now and then how far the run is.
    pub progress: Option<&'a mut (dyn FnMut(Progress) + Send)>,
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Steps done.
    pub step: u64,
    /// Steps to do.
    pub steps: u64,
    /// Steps per second, a moving average over the last ten seconds.
    pub steps_per_second: f64,
}

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
    /// Where the files are.
    pub folder: PathBuf,
    /// The first step of this part of the run.
    pub first_step: u64,
    /// The last.
    pub last_step: u64,
    /// Seconds it took, files included.
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

/// Seconds between two looks at the clock, the stop flag and the progress bar.
const GLANCE: f64 = 0.2;
/// Seconds between checkpoints whatever the plan says.
const LONGEST_UNSAVED: f64 = 300.0;

/// Steps before a profile begins, where there are enough.
const PROFILE_AFTER: u64 = 200;

/// Runs a simulation and writes what its plan asks for.
pub fn run(simulation: &Simulation, mut options: RunOptions) -> Result<Summary, RunError> {
    with_threads(options.threads, || {
        Running::begin(simulation, &mut options)?.finish(&mut options)
    })?
}

/// A run on its way.
struct Running<'a> {
    simulation: &'a Simulation,
    folder: PathBuf,
    checkpoint: CheckpointPlan,
    engine: Box<dyn Engine>,
    outputs: Outputs,
    first_step: u64,
    began: Instant,
    saved: Instant,
    /// The step of the last checkpoint.
    saved_step: u64,
    seconds_before: f64,
    /// The first picture, while it is drawn, and since when.
    drawing: Option<(Instant, JoinHandle<Result<(), RunError>>)>,
    /// How long an end takes.
    closing: Closing,
    /// The folder is ours while the run lasts.
    _lock: Lock,
    notes: Vec<String>,
}

impl<'a> Running<'a> {
    fn begin(simulation: &'a Simulation, options: &mut RunOptions) -> Result<Self, RunError> {
        let folder = simulation.output.folder.clone();
        let plan = folder::checkpoint_plan(simulation);
        let device = match options.device {
            Some(device) => Some(device.clone()),
            None => device::device(simulation, options.existing)?,
        };
        folder::inspect(simulation, options.existing)?;
        let lock = Lock::take(&folder)?;
        // Another run may have come and gone in between.
        folder::inspect_content(simulation, options.existing)?;
        let mut notes = simulation.warnings.clone();
        notes.extend(coarse_coordinates(simulation));
        let found = match options.existing {
            Existing::Resume => Checkpoint::newest(&folder.join(&plan.file), Some(&fingerprint(simulation)))?,
            _ => None,
        };
        let now = Instant::now();
        let mut running = match found {
            Some(Found {
                checkpoint: saved,
                file,
                passed,
            }) => {
                notes.extend(
                    passed
                        .into_iter()
                        .map(|why| format!("{why}; the one before it was taken")),
                );
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                let planned = plan.file.to_string_lossy();
                if !name.starts_with(&*planned) {
                    notes.push(format!(
                        "went on from {name} of step {}; checkpoints now go to {planned}",
                        saved.step
                    ));
                }
                let (mut engine, exact) = engine::resumed(simulation, &saved, &file, device.as_ref())?;
                let layout = TableLayout::new(&simulation.system, &engine.observe()?);
                let known = Known::find(simulation, &folder, &layout, &saved)?;
                folder::try_outputs(&folder, options.existing, simulation)?;
                folder::prepare(&folder, options.existing, false, simulation)?;
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
                let mut outputs = Outputs::open(simulation, &folder, layout, &known)?;
                outputs.record_fresh(engine.as_mut())?;
                if saved.step >= simulation.run.steps {
                    notes.push(format!(
                        "nothing is left to do: the run is at step {}, and {} were asked for",
                        saved.step, simulation.run.steps
                    ));
                }
                let (first_step, seconds_before) = (saved.step, saved.seconds);
                Self {
                    simulation,
                    folder,
                    checkpoint: plan,
                    engine,
                    outputs,
                    first_step,
                    began: now,
                    saved: now,
                    saved_step: 0,
                    seconds_before,
                    drawing: None,
                    closing: Closing::default(),
                    _lock: lock,
                    notes,
                }
            }
            None => {
                if options.existing == Existing::Resume {
                    notes.push("no checkpoint found: the run begins at step 0".into());
                }
                // Nothing of an earlier run goes before this one stands on its feet.
                folder::try_outputs(&folder, options.existing, simulation)?;
                let mut engine = engine::engine_on(simulation, device.as_ref())?;
                if let Some(m) = &simulation.minimize {
                    notes.push(minimization::minimize(engine.as_mut(), m, options)?);
                }
                let layout = TableLayout::new(&simulation.system, &engine.observe()?);
                folder::prepare(&folder, options.existing, true, simulation)?;
                let mut outputs = Outputs::open(simulation, &folder, layout, &Known::default())?;
                outputs.record(engine.as_mut())?;
                Self {
                    simulation,
                    folder,
                    checkpoint: plan,
                    engine,
                    outputs,
                    first_step: 0,
                    began: now,
                    saved: now,
                    saved_step: 0,
                    seconds_before: 0.0,
                    drawing: None,
                    closing: Closing::default(),
                    _lock: lock,
                    notes,
                }
            }
        };
        if let Some(steps) = options.profile {
            running.profile(steps);
        }
        running.draw_first()?;
        running.save()?;
        folder::has_begun(&running.folder);
        // What came before the first step is not part of the speed.
        running.began = Instant::now();
        Ok(running)
    }

    /// Draws the first picture; beside the steps where a device does those.
    fn draw_first(&mut self) -> Result<(), RunError> {
        let Some(picture) = self.picture("first.png", self.first_step == 0)? else {
            return Ok(());
        };
        let began = Instant::now();
        if self.engine.device_use().is_none() {
            picture.draw()?;
            self.closing.picture = began.elapsed();
        } else {
            self.drawing = Some((began, std::thread::spawn(|| picture.draw())));
        }
        Ok(())
    }

    /// Waits for the first picture.
    fn drawn(&mut self) -> Result<(), RunError> {
        let Some((began, drawing)) = self.drawing.take() else {
            return Ok(());
        };
        let drawn = drawing.join();
        self.closing.picture = began.elapsed();
        // A panic goes on where it began.
        drawn.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Asks for the times of kernels, after some steps that find the length of the graphs.
    fn profile(&mut self, steps: u64) {
        let left = self.simulation.run.steps.saturating_sub(self.first_step);
        let after = PROFILE_AFTER.min(left / 4);
        if !self.engine.profile(after, steps) {
            let why = if self.engine.device_use().is_some() {
                "small systems do many steps in one kernel, so that there are no kernels of a step to time"
            } else {
                "a profile is of the kernels of a CUDA device; the report says where the time went on the CPU"
            };
            self.notes.push(why.into());
        }
    }

    fn finish(mut self, options: &mut RunOptions) -> Result<Summary, RunError> {
        let done = self.advance(options);
        let drawn = self.drawn();
        let done = done.and_then(|done| drawn.map(|()| done));
        let (step, file) = (self.saved_step, self.folder.join(&self.checkpoint.file));
        let summary = done.and_then(|(outcome, seconds)| self.conclude(outcome, seconds));
        summary.map_err(|error| match error {
            RunError::Engine(error @ EngineError::Device(_)) => RunError::Broken { error, step, file },
            other => other,
        })
    }

    /// Does the steps, with everything that is due on the way; gives the seconds they took.
    fn advance(&mut self, options: &mut RunOptions) -> Result<(Outcome, f64), RunError> {
        let steps = self.simulation.run.steps;
        let (mut rate, mut glance) = (100.0, Instant::now());
        let (mut pace, mut chunk) = (Pace::default(), GLANCE);
        let mut since = self.engine.step_number();
        let (stop, wanted, deadline) = (options.stop, options.save, options.deadline);
        let stopped = || stop.is_some_and(|flag| flag.load(Ordering::Relaxed));
        let mut over = false;
        while self.engine.step_number() < steps && !stopped() {
            over = pace::is_over(deadline, self.closing.room(chunk, self.outputs.table_bytes()));
            if over {
                break;
            }
            let step = self.engine.step_number();
            let due = self.outputs.next_after(step).unwrap_or(u64::MAX);
            let saves = (step / self.checkpoint.every)
                .saturating_add(1)
                .saturating_mul(self.checkpoint.every);
            let soon = step.saturating_add(((rate * GLANCE) as u64).max(1));
            let target = due.min(saves).min(steps).min(soon);
            let observe = self.outputs.wants_row(target) && target == due;
            if let Err(error) = self.engine.advance(target - step, observe) {
                return Err(self.explain(error));
            }
            if target == due {
                self.outputs.record(self.engine.as_mut())?;
            }
            let asked = wanted.is_some_and(|flag| flag.swap(false, Ordering::Relaxed));
            if target == saves || asked || self.saved.elapsed().as_secs_f64() > LONGEST_UNSAVED {
                self.save()?;
            }
            if self
                .drawing
                .as_ref()
                .is_some_and(|(_, thread)| thread.is_finished())
            {
                self.drawn()?;
            }
            let seconds = glance.elapsed().as_secs_f64();
            if seconds > 0.5 * GLANCE {
                let steps_per_second = pace.add(target - since, seconds);
                rate = (target - since) as f64 / seconds;
                (chunk, since, glance) = (seconds, target, Instant::now());
                if let Some(tell) = &mut options.progress {
                    tell(Progress {
                        step: target,
                        steps,
                        steps_per_second,
                    });
                }
            }
        }
        let seconds = self.began.elapsed().as_secs_f64();
        self.save()?;
        let outcome = if self.engine.step_number() >= steps {
            Outcome::Finished
        } else if over {
            Outcome::OutOfTime
        } else {
            Outcome::Interrupted
        };
        Ok((outcome, seconds))
    }

    /// A checkpoint, after everything it refers to is on the disk.
    fn save(&mut self) -> Result<(), RunError> {
        let began = Instant::now();
        let outputs = self.outputs.sync()?;
        let (step, system) = (self.engine.step_number(), &self.simulation.system);
        let (particles, cell) = (self.engine.particles()?, self.engine.cell());
        let time = step as f64 * self.simulation.dynamics.timestep;
        let checkpoint = Checkpoint {
            step,
            system: system
                .to_native(&particles, &cell, step, time, &self.simulation.title)
                .to_bytes(),
            planned: self.simulation.run.steps,
            fingerprint: fingerprint(self.simulation),
            device: self.engine.device(),
            motion: self.engine.motion()?,
            form: engine::form(self.simulation, self.engine.device_use().is_some()),
            engine: self.engine.save()?,
            outputs,
            seconds: self.seconds_before + self.began.elapsed().as_secs_f64(),
        };
        checkpoint.write(&self.folder.join(&self.checkpoint.file), self.checkpoint.keep)?;
        self.saved = Instant::now();
        self.saved_step = checkpoint.step;
        self.closing.save = self.closing.save.max(began.elapsed());
        Ok(())
    }

    /// Writes the surroundings of a particle that exploded.
    fn explain(&mut self, error: EngineError) -> RunError {
        let EngineError::Exploded(culprit) = &error else {
            return error.into();
        };
        let file = self.folder.join("explosion.xyz");
        match conclude::write_surroundings(&file, culprit, self.simulation, self.engine.as_ref()) {
            Ok(()) => RunError::Explained { error, file },
            Err(_) => error.into(),
        }
    }
}
