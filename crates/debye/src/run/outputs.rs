//! The files a run writes while it goes on, all cut back together when it resumes.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use debye_io::{Format, WriteFrames, create_writer, open_append};

use super::RunError;
use super::checkpoint::Written;
use super::export::{Export, unwrapped};
use super::table::{Table, TableLayout};
use crate::analyse::{
    Analysis, Density, Labels, Lags, Msd, MsdOptions, Rdf, RdfOptions, Snapshot, Vacf, Window,
};
use crate::backend::{Backend, Observation};
use crate::input::{AnalysisKind, AnalysisPlan, Simulation, TrajectoryPlan};
use crate::system::Particles;

struct TrajectoryFile {
    path: PathBuf,
    plan: TrajectoryPlan,
    export: Export,
    writer: Box<dyn WriteFrames>,
}

/// An analysis and when it looks.
pub struct Measurement {
    /// What was asked for.
    pub plan: AnalysisPlan,
    /// The accumulator.
    pub analysis: Box<dyn Analysis>,
}

/// Everything that is written or measured on the way.
pub struct Outputs {
    title: String,
    table: Option<(u64, Table)>,
    layout: TableLayout,
    trajectories: Vec<TrajectoryFile>,
    /// Analyses.
    pub measurements: Vec<Measurement>,
}

impl Outputs {
    /// New files in the output folder, or those of a checkpoint cut back to where it saw them.
    pub fn open(
        simulation: &Simulation,
        folder: &Path,
        example: &Observation,
        resume: Option<(&[Written], &[Vec<u8>])>,
    ) -> Result<Self, RunError> {
        let layout = TableLayout::new(&simulation.system, example);
        let mut written = resume.map(|(w, _)| w.iter().copied());
        let mut next = || written.as_mut().map(|w| w.next().unwrap_or_default());
        let mut table = None;
        if let Some(plan) = &simulation.output.table {
            let path = folder.join(&plan.file);
            let file = match next() {
                Some(w) => Table::resume(&path, w)?,
                None => Table::create(&path, &layout)?,
            };
            table = Some((plan.every, file));
        }
        let mut trajectories = Vec::new();
        for plan in &simulation.output.trajectories {
            let path = folder.join(&plan.file);
            let format = Format::from_path(&path)?;
            let writer = match next() {
                Some(w) => open_append(&path, format, w.bytes, w.frames)?,
                None => create_writer(&path, format)?,
            };
            let export = Export::new(&simulation.system, format, &plan.species, plan.unwrap);
            trajectories.push(TrajectoryFile {
                path,
                plan: plan.clone(),
                export,
                writer,
            });
        }
        let mut measurements = Vec::new();
        for (number, plan) in simulation.analyses.iter().enumerate() {
            let mut analysis = analysis(&plan.kind, simulation)?;
            if let Some(state) = resume.and_then(|(_, states)| states.get(number)) {
                analysis.restore(state)?;
            }
            measurements.push(Measurement {
                plan: plan.clone(),
                analysis,
            });
        }
        Ok(Self {
            title: simulation.title.clone(),
            table,
            layout,
            trajectories,
            measurements,
        })
    }

    /// The next step after `step` at which anything is due.
    pub fn next_after(&self, step: u64) -> Option<u64> {
        self.periods().map(|every| (step / every + 1) * every).min()
    }

    /// Whether the table wants a row at this step.
    pub fn wants_row(&self, step: u64) -> bool {
        self.table
            .as_ref()
            .is_some_and(|(every, _)| step.is_multiple_of(*every))
    }

    /// Writes and measures all that is due at the engine's step.
    pub fn record(&mut self, engine: &mut dyn Backend) -> Result<(), RunError> {
        let step = engine.step_number();
        let due = |every: u64| step.is_multiple_of(every);
        let time = if self.wants_row(step) {
            let observation = engine.observe()?;
            if let Some((_, table)) = &mut self.table {
                table.add(&self.layout.row(&observation))?;
            }
            Some(observation.time)
        } else {
            None
        };
        let frames = self.trajectories.iter().any(|t| due(t.plan.every));
        let looks = self.measurements.iter().any(|m| due(m.plan.every));
        if !frames && !looks {
            return Ok(());
        }
        let time = match time {
            Some(time) => time,
            None => engine.observe()?.time,
        };
        let (particles, cell) = (engine.particles(), engine.cell());
        for t in self.trajectories.iter_mut().filter(|t| due(t.plan.every)) {
            let frame = t.export.frame(&particles, &cell, step, time, &self.title);
            if let Err(e) = t.writer.write_frame(t.export.atoms(), &frame) {
                // A full disk leaves whole frames, as far as it lets us.
                let whole = t.writer.bytes_written();
                let _ = OpenOptions::new()
                    .write(true)
                    .open(&t.path)
                    .and_then(|file| file.set_len(whole));
                return Err(e.into());
            }
        }
        if looks {
            let unwrapped = unwrapped(&particles, &cell);
            let snapshot = Snapshot {
                step,
                time,
                cell: &cell,
                positions: &particles.positions,
                unwrapped: &unwrapped,
                velocities: Some(&particles.velocities),
                species: &particles.species,
            };
            for m in self.measurements.iter_mut().filter(|m| due(m.plan.every)) {
                m.analysis.add(&snapshot)?;
            }
        }
        Ok(())
    }

    /// Hands everything to the disk and says how far each file goes.
    pub fn sync(&mut self) -> Result<Vec<Written>, RunError> {
        let mut written = Vec::new();
        if let Some((_, table)) = &mut self.table {
            written.push(table.sync()?);
        }
        for t in &mut self.trajectories {
            t.writer.flush()?;
            written.push(Written {
                bytes: t.writer.bytes_written(),
                frames: t.writer.frames_written(),
            });
        }
        Ok(written)
    }

    fn periods(&self) -> impl Iterator<Item = u64> + '_ {
        let table = self.table.iter().map(|(every, _)| *every);
        let trajectories = self.trajectories.iter().map(|t| t.plan.every);
        table
            .chain(trajectories)
            .chain(self.measurements.iter().map(|m| m.plan.every))
    }
}

/// How many time origins a correlation keeps.
const ORIGINS: usize = 16;

fn analysis(kind: &AnalysisKind, simulation: &Simulation) -> Result<Box<dyn Analysis>, RunError> {
    let system = &simulation.system;
    let p: &Particles = &system.particles;
    let labels = Labels::new(system.units, &system.species);
    Ok(match kind {
        AnalysisKind::Rdf { bins, r_max, pair } => {
            let h = system.cell.heights();
            let r_max = r_max.unwrap_or(0.5 * h.x.min(h.y).min(h.z));
            Box::new(Rdf::new(
                RdfOptions {
                    pair: *pair,
                    r_max,
                    bins: *bins,
                },
                &labels,
            )?)
        }
        AnalysisKind::Msd { .. } => {
            let window = Window {
                longest: 1000,
                origins: ORIGINS,
                lags: Lags::PerDecade(20),
            };
            Box::new(Msd::new(
                MsdOptions {
                    window,
                    masses: Some(p.masses.clone().into()),
                    fit: None,
                },
                &labels,
            )?)
        }
        AnalysisKind::Density { axis, bins, .. } => {
            let axis = [
                crate::analyse::Axis::X,
                crate::analyse::Axis::Y,
                crate::analyse::Axis::Z,
            ][(*axis).min(2)];
            Box::new(Density::new(
                axis,
                *bins,
                p.masses.clone().into(),
                p.charges.clone().into(),
                &labels,
            )?)
        }
        AnalysisKind::Vacf { lags, .. } => Box::new(Vacf::new(Vacf::every_lag(*lags, ORIGINS), &labels)?),
    })
}
