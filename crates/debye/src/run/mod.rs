//! A simulation from beginning to end: schedule, files, checkpoints, report.

mod begin;
mod conclude;
pub mod coulomb;
pub(crate) mod describe;
mod device;
mod engine;
mod error;
pub mod export;
mod fingerprint;
mod folder;
mod frames;
mod lock;
pub mod measure;
mod minimization;
mod options;
mod outputs;
mod pace;
pub mod report;
mod summary;
pub mod table;
mod threads;
pub mod tune;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Instant;

pub use crate::simulation::Existing;
pub use describe::{Fact, setup};
pub use device::{choose_device, device_memory};
pub use engine::{coarse_coordinates, engine, engine_on, prepare, resumed_engine};
pub use error::RunError;
pub use folder::{ResumePoint, resume_point};
pub use options::{Progress, RunOptions};
pub use summary::{Averages, Outcome, Summary};
pub use threads::with_threads;

use crate::analysis::Analyzed;
use crate::checkpoint::Checkpoint;
use crate::engines::cpu::Minimized;
use crate::engines::{Engine, EngineError, Moment, Observation, Wanted};
use crate::expr::Vec3;
use crate::simulation::{CheckpointPlan, Minimize, Simulation, SimulationBuilder};
use crate::system::{Cell, Particles, System};
use debye_gpu::Device;
use fingerprint::fingerprint;
use lock::Lock;
use outputs::Outputs;
use pace::{Closing, Pace};

/// Refuses a device that is not there and an output folder that is not to be written to; [`run`] does so too. Nothing is
/// changed.
pub fn inspect(simulation: &Simulation, existing: Existing) -> Result<(), RunError> {
    device::device(simulation, existing)?;
    folder::inspect(simulation, existing)
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
        let mut run = Run::begin(Cow::Borrowed(simulation), &mut options)?;
        let outcome = run.advance_to(simulation.run.steps, &mut options);
        run.end(outcome)
    })?
}

/// A simulation on its way; made by [`Simulation::start`].
///
/// ```
/// use debye::prelude::*;
///
/// let melt = builders::lattice(Lattice::Fcc, [4, 4, 4]).density(0.8442).thermalize(1.44, 1)?;
/// let mut run = Simulation::builder(melt)
///     .pair(PairForce::new(LennardJones::new(1.0, 1.0)).cutoff(2.5))
///     .timestep(0.005)
///     .device(DeviceChoice::Cpu)
///     .start()?;
/// run.steps(20)?;
/// assert_eq!(run.observe()?.step, 20);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Run<'a> {
    simulation: Cow<'a, Simulation>,
    /// The CUDA device it runs on.
    open: Option<Device>,
    engine: Box<dyn Engine>,
    outputs: Outputs,
    /// Where files go; `None` where nothing is written.
    files: Option<Files>,
    first_step: u64,
    /// Seconds before the first of them.
    start_seconds: f64,
    /// Seconds that steps and their outputs have taken.
    seconds: f64,
    /// Since when steps are done, while they are.
    since: Option<Instant>,
    /// Steps of a second, as far as is known.
    rate: f64,
    seconds_before: f64,
    /// How long an end takes.
    closing: Closing,
    notes: Vec<String>,
}

/// What a run that writes files keeps of them.
struct Files {
    folder: PathBuf,
    checkpoint: CheckpointPlan,
    saved: Instant,
    /// The step of the last checkpoint.
    saved_step: u64,
    /// The first picture, while it is drawn, and since when.
    drawing: Option<(Instant, JoinHandle<Result<(), RunError>>)>,
    /// The folder is ours while the run lasts.
    _lock: Lock,
}

impl SimulationBuilder {
    /// [`Self::build`] and [`Simulation::start`].
    ///
    /// # Errors
    /// Those of both.
    pub fn start(self) -> Result<Run<'static>, RunError> {
        let mut options = RunOptions {
            existing: self.existing,
            ..RunOptions::default()
        };
        self.build()?.start_with(&mut options)
    }
}

impl Simulation {
    /// Begins the run on the device that it asks for. What [`Simulation::run`] says of steps is not looked at:
    /// [`Run::steps`] does as many as it is told.
    ///
    /// # Errors
    /// A device that is not there, an output folder that exists, and all that an engine refuses.
    pub fn start(self) -> Result<Run<'static>, RunError> {
        self.start_with(&mut RunOptions::default())
    }

    /// [`Self::start`] that goes on from a checkpoint, writes over an earlier run, or takes a device that is open.
    ///
    /// # Errors
    /// As [`Self::start`], and checkpoints that cannot be gone on from.
    pub fn start_with(self, options: &mut RunOptions) -> Result<Run<'static>, RunError> {
        Run::begin(Cow::Owned(self), options)
    }
}

impl Run<'_> {
    /// Does so many steps, with all outputs and analyses that are due on the way.
    ///
    /// # Errors
    /// Particles that fly apart, files that cannot be written, a device that fails.
    pub fn steps(&mut self, steps: u64) -> Result<Progress, RunError> {
        self.steps_with(steps, &mut RunOptions::default())
    }

    /// [`Self::steps`] that can be watched and stopped.
    ///
    /// # Errors
    /// As [`Self::steps`].
    pub fn steps_with(&mut self, steps: u64, options: &mut RunOptions) -> Result<Progress, RunError> {
        let (before, began) = (self.step(), self.seconds);
        self.advance_to(before.saturating_add(steps), options)?;
        Ok(Progress {
            step: self.step(),
            steps: before.saturating_add(steps),
            steps_per_second: (self.step() - before) as f64 / (self.seconds - began).max(1e-9),
        })
    }

    /// Moves the particles to an energy minimum; no step is counted.
    ///
    /// # Errors
    /// As [`Self::steps`].
    pub fn minimize(&mut self, plan: &Minimize) -> Result<Minimized, RunError> {
        let fire = plan.descent();
        Ok(self.engine.minimize(fire, &mut |_| true)?)
    }

    /// What is simulated and how, as it was at the beginning.
    pub fn simulation(&self) -> &Simulation {
        &self.simulation
    }

    /// The step it is at.
    pub fn step(&self) -> u64 {
        self.engine.step_number()
    }

    /// Where it runs, in words.
    pub fn device(&self) -> String {
        self.engine.device()
    }

    /// Energies, temperature and pressure now.
    ///
    /// # Errors
    /// A device that fails; so for all that follow.
    pub fn observe(&mut self) -> Result<Observation, RunError> {
        Ok(self.engine.observe()?)
    }

    /// The particles now, in the order of the system.
    ///
    /// # Errors
    /// As [`Self::observe`].
    pub fn particles(&self) -> Result<Particles, RunError> {
        Ok(self.engine.particles()?)
    }

    /// Their positions, in the cell.
    ///
    /// # Errors
    /// As [`Self::observe`].
    pub fn positions(&self) -> Result<Vec<Vec3<f64>>, RunError> {
        Ok(self.engine.particles()?.positions)
    }

    /// Their velocities.
    ///
    /// # Errors
    /// As [`Self::observe`].
    pub fn velocities(&self) -> Result<Vec<Vec3<f64>>, RunError> {
        Ok(self.engine.particles()?.velocities)
    }

    /// The forces on them.
    ///
    /// # Errors
    /// As [`Self::observe`].
    pub fn forces(&self) -> Result<Vec<Vec3<f64>>, RunError> {
        Ok(self.engine.forces()?)
    }

    /// The cell now.
    pub fn cell(&self) -> Cell {
        self.engine.cell()
    }

    /// Puts the particles elsewhere; velocities, thermostats and the step stay.
    ///
    /// # Errors
    /// Another number of positions, or what an engine refuses.
    pub fn set_positions(&mut self, positions: &[Vec3<f64>]) -> Result<(), RunError> {
        self.change(|particles| {
            particles.images.fill([0; 3]);
            (&mut particles.positions, positions)
        })
    }

    /// Gives the particles other velocities; positions, thermostats and the step stay.
    ///
    /// # Errors
    /// As [`Self::set_positions`].
    pub fn set_velocities(&mut self, velocities: &[Vec3<f64>]) -> Result<(), RunError> {
        self.change(|particles| (&mut particles.velocities, velocities))
    }

    fn change<'v>(
        &mut self,
        values: impl for<'p> FnOnce(&'p mut Particles) -> (&'p mut Vec<Vec3<f64>>, &'v [Vec3<f64>]),
    ) -> Result<(), RunError> {
        let mut system = System {
            particles: self.engine.particles()?,
            cell: self.engine.cell(),
            ..self.simulation.system.clone()
        };
        let (to, from) = values(&mut system.particles);
        if to.len() != from.len() {
            return Err(RunError::ParticleCount {
                given: from.len(),
                expected: to.len(),
            });
        }
        to.copy_from_slice(from);
        self.engine = engine::engine_at(
            &self.simulation,
            &system,
            &self.engine.motion()?,
            self.open.as_ref(),
        )?;
        Ok(())
    }

    /// What an analysis has found so far, by the name of its file.
    pub fn analysis(&mut self, file: impl AsRef<Path>) -> Option<Analyzed> {
        self.outputs.drain();
        let names = self.species_names();
        let found = self
            .outputs
            .measurements()
            .iter()
            .find(|m| m.plan.file == file.as_ref());
        found.map(|m| m.plan.request.narrow(m.analysis.finish(), &names))
    }

    /// Ends the run: writes a checkpoint, the last structures, the analyses and the report, and says how it went.
    ///
    /// # Errors
    /// Files that cannot be written.
    pub fn finish(self) -> Result<Summary, RunError> {
        self.end(Ok(Outcome::Finished))
    }
}

impl Run<'_> {
    /// Draws the first picture; beside the steps where a device does those.
    fn draw_first(&mut self) -> Result<(), RunError> {
        let Some(picture) = self.picture("first.png", self.first_step == 0)? else {
            return Ok(());
        };
        let began = Instant::now();
        match &mut self.files {
            Some(files) if self.engine.device_use().is_some() => {
                files.drawing = Some((began, std::thread::spawn(|| picture.draw())));
            }
            _ => {
                picture.draw()?;
                self.closing.picture = began.elapsed();
            }
        }
        Ok(())
    }

    /// Waits for the first picture.
    fn drawn(&mut self) -> Result<(), RunError> {
        let Some((began, drawing)) = self.files.as_mut().and_then(|files| files.drawing.take()) else {
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

    /// The end of a run whose steps came to this outcome.
    fn end(mut self, outcome: Result<Outcome, RunError>) -> Result<Summary, RunError> {
        let drawn = self.drawn();
        let saved = self.last_checkpoint();
        let outcome = outcome.and_then(|outcome| drawn.map(|()| outcome));
        let summary = outcome.and_then(|outcome| {
            self.save()?;
            self.conclude(outcome)
        });
        summary.map_err(|error| match (error, saved) {
            (RunError::Engine(error @ EngineError::Device(_)), Some((step, file))) => {
                RunError::Broken { error, step, file }
            }
            (other, _) => other,
        })
    }

    /// The last checkpoint and its step.
    fn last_checkpoint(&self) -> Option<(u64, PathBuf)> {
        let files = self.files.as_ref()?;
        Some((files.saved_step, files.folder.join(&files.checkpoint.file)))
    }

    /// Does the steps up to this one, with everything that is due on the way.
    fn advance_to(&mut self, steps: u64, options: &mut RunOptions) -> Result<Outcome, RunError> {
        let began = Instant::now();
        self.since = Some(began);
        let outcome = self.advance(steps, options);
        self.since = None;
        self.seconds += began.elapsed().as_secs_f64();
        outcome
    }

    fn advance(&mut self, steps: u64, options: &mut RunOptions) -> Result<Outcome, RunError> {
        let mut glance = Instant::now();
        let (mut pace, mut chunk) = (Pace::default(), GLANCE);
        let mut since = self.engine.step_number();
        let (stop, save, deadline) = (options.stop, options.save, options.deadline);
        let stopped = || stop.is_some_and(|flag| flag.load(Ordering::Relaxed));
        let mut over = false;
        while self.engine.step_number() < steps && !stopped() {
            over = pace::is_over(deadline, self.closing.room(chunk, self.outputs.table_bytes()));
            if over {
                break;
            }
            let step = self.engine.step_number();
            let due = self.outputs.next_after(step).unwrap_or(u64::MAX);
            let every = self
                .files
                .as_ref()
                .map_or(u64::MAX, |files| files.checkpoint.every);
            let saves = (step / every).saturating_add(1).saturating_mul(every);
            let soon = step.saturating_add(((self.rate * GLANCE) as u64).max(1));
            let target = due.min(saves).min(steps).min(soon);
            let wanted = self.outputs.wanted(target);
            if wanted == Wanted::default() {
                self.drain()?;
                let done = self.engine.advance(target - step, false);
                done.map_err(|error| self.explain(error))?;
            } else {
                let seen = self.engine.advance_for(target - step, wanted);
                self.record(seen)?;
            }
            if self.outputs.wants_map(target) {
                self.drain()?;
                let mapped = self.outputs.map(self.engine.as_mut());
                mapped.map_err(|error| self.unmapped(error))?;
            }
            let asked = save.is_some_and(|flag| flag.swap(false, Ordering::Relaxed));
            let files = self.files.as_ref();
            let overdue = files.is_some_and(|files| files.saved.elapsed().as_secs_f64() > LONGEST_UNSAVED);
            let drawn = files
                .and_then(|files| files.drawing.as_ref())
                .is_some_and(|(_, t)| t.is_finished());
            if target == saves || asked || overdue {
                self.drain()?;
                self.save()?;
            }
            if drawn {
                self.drawn()?;
            }
            let seconds = glance.elapsed().as_secs_f64();
            if seconds > 0.5 * GLANCE {
                let steps_per_second = pace.add(target - since, seconds);
                self.rate = (target - since) as f64 / seconds;
                (chunk, since, glance) = (seconds, target, Instant::now());
                if let Some(report) = &mut options.progress {
                    report(Progress {
                        step: target,
                        steps,
                        steps_per_second,
                    });
                }
            } else if target == soon {
                // Too soon to say how fast it is: as many again.
                self.rate *= 2.0;
            }
        }
        self.drain()?;
        Ok(if self.engine.step_number() >= steps {
            Outcome::Finished
        } else if over {
            Outcome::OutOfTime
        } else {
            Outcome::Interrupted
        })
    }

    /// Writes what was seen of steps.
    fn record(&mut self, seen: Result<Vec<Moment>, EngineError>) -> Result<(), RunError> {
        let seen = seen.map_err(|error| self.explain(error))?;
        seen.into_iter()
            .try_for_each(|moment| self.outputs.record(moment))
    }

    /// Waits until all steps are done and what was wanted of them is written.
    fn drain(&mut self) -> Result<(), RunError> {
        loop {
            match self.engine.rest() {
                Ok(seen) if seen.is_empty() => return Ok(()),
                seen => self.record(seen)?,
            }
        }
    }

    /// A checkpoint, after everything it refers to is on the disk.
    fn save(&mut self) -> Result<(), RunError> {
        let Some(files) = &mut self.files else {
            return Ok(());
        };
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
            fingerprint: fingerprint(&self.simulation),
            device: self.engine.device(),
            motion: self.engine.motion()?,
            form: engine::form(&self.simulation, self.engine.device_use().is_some()),
            engine: self.engine.save()?,
            outputs,
            seconds: self.seconds_before
                + self.seconds
                + self.since.map_or(0.0, |t| t.elapsed().as_secs_f64()),
        };
        checkpoint.write(&files.folder.join(&files.checkpoint.file), files.checkpoint.keep)?;
        files.saved = Instant::now();
        files.saved_step = checkpoint.step;
        self.closing.save = self.closing.save.max(began.elapsed());
        if self.since.is_some() {
            self.closing.saves += began.elapsed();
        }
        Ok(())
    }

    /// Saves the steps so far where a map cannot be made of the particles any more: all else of the step is written.
    fn unmapped(&mut self, error: RunError) -> RunError {
        let RunError::Map(error) = error else {
            return error;
        };
        match (self.save(), self.last_checkpoint()) {
            (Ok(()), Some((step, file))) => RunError::Unmapped {
                error: Box::new(error),
                step,
                file,
            },
            // What went wrong first matters more.
            _ => error.into(),
        }
    }

    /// Writes the surroundings of a particle that exploded.
    fn explain(&mut self, error: EngineError) -> RunError {
        let (EngineError::Exploded(culprit), Some(files)) = (&error, &self.files) else {
            return error.into();
        };
        let file = files.folder.join("explosion.xyz");
        match conclude::write_surroundings(&file, culprit, &self.simulation, self.engine.as_ref()) {
            Ok(()) => RunError::Explained { error, file },
            Err(_) => error.into(),
        }
    }
}
