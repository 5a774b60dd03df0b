//! The files a run writes while it goes on; those it has written before are cut back together when it resumes.

use std::cell::LazyCell;
use std::path::Path;
use std::sync::Arc;

use debye_gpu::Device;
use debye_io::{Format, OrientationWriter, create_writer, open_append};

use super::RunError;
use super::export::{Export, Placement};
use super::frames::{self, Beside, Measurement, TakenFrame, TrajectoryFile};
use super::table::{Table, TableLayout};
use crate::checkpoint::{Checkpoint, Record, Written};
use crate::engines::{Engine, Moment, Wanted};
use crate::maps::{MapError, MapFrames};
use crate::simulation::{AnalysisPlan, MapPlan, OutputPlan, Simulation, TrajectoryPlan};
use crate::system::System;

struct TableFile {
    every: u64,
    file: Table,
    fresh: bool,
}

/// A mean map of the potential, and when it looks.
pub struct MapFile {
    /// What was asked for.
    pub plan: MapPlan,
    /// The sums.
    pub frames: MapFrames,
    fresh: bool,
}

impl MapFile {
    fn wants(&self, step: u64) -> bool {
        step >= self.plan.from && step.is_multiple_of(self.plan.every)
    }
}

/// Everything that is written or measured on the way.
pub struct Outputs {
    timestep: f64,
    plan: OutputPlan,
    table: Option<TableFile>,
    layout: TableLayout,
    /// Maps of the potential.
    pub maps: Vec<MapFile>,
    /// Trajectories and analyses.
    frames: Beside,
    /// When frames are wanted.
    due: Vec<Due>,
}

/// When an output wants frames, and whether it has just begun.
struct Due {
    every: u64,
    from: u64,
    fresh: bool,
    /// A bit where the engine counts pairs for it; else it wants particles.
    counts: u32,
    /// Whether it wants their velocities.
    velocities: bool,
}

impl Due {
    fn wants(&self, step: u64) -> bool {
        step >= self.from && step.is_multiple_of(self.every)
    }
}

/// Kinds of outputs, as checkpoints call them.
const TABLE: &str = "table";
const TRAJECTORY: &str = "trajectory";
const ANALYSIS: &str = "analysis";
const MAP: &str = "map";

/// What goes into an output, for a checkpoint: where it changes, a file cannot be continued.
fn content(text: &str) -> u32 {
    crc32fast::hash(text.as_bytes())
}

fn trajectory_content(plan: &TrajectoryPlan, system: &System) -> u32 {
    // Only where there are any: checkpoints from before there were orientations beside trajectories still fit.
    let beside = match plan.companion(system) {
        Some(_) => " with orientations beside it",
        None => "",
    };
    content(&format!("{} {:?}{beside}", plan.unwrap, plan.species))
}

fn analysis_content(plan: &AnalysisPlan) -> u32 {
    // Only where it begins later: checkpoints from before there was `from` still fit.
    match plan.from {
        0 => content(&format!("{:?}", plan.request)),
        from => content(&format!("{:?} from step {from}", plan.request)),
    }
}

/// The outputs of a plan that a checkpoint knows, in the order of the plan; none where a run begins.
#[derive(Default)]
pub struct Known<'a> {
    table: Option<&'a Record>,
    trajectories: Vec<Option<&'a Record>>,
    maps: Vec<Option<&'a Record>>,
    analyses: Vec<Option<&'a Record>>,
}

impl<'a> Known<'a> {
    /// Finds the outputs of a run that goes on, by file and kind. Refuses what cannot be continued before
    /// anything is changed; an output the checkpoint does not know begins now, and one that is not in the
    /// plan any more stays as it is.
    pub fn find(
        simulation: &Simulation,
        folder: &Path,
        layout: &TableLayout,
        checkpoint: &'a Checkpoint,
    ) -> Result<Self, RunError> {
        let find = |kind: &str, file: &Path, content: u32, what: &'static str| {
            known(checkpoint, folder, kind, file, content, what)
        };
        let mut all = Self::default();
        if let Some(plan) = &simulation.output.table {
            all.table = find(TABLE, &plan.file, content(&layout.header()), "its columns")?;
        }
        for plan in &simulation.output.trajectories {
            let content = trajectory_content(plan, &simulation.system);
            let record = find(
                TRAJECTORY,
                &plan.file,
                content,
                "whether `orientations` are beside it, the `species` written, or whether they are wrapped,",
            )?;
            if let Some((file, turning)) = plan.companion(&simulation.system) {
                let frames = record.map(|r| r.written.frames);
                companion(&folder.join(file), turning.len(), frames, checkpoint.step)?;
            }
            all.trajectories.push(record);
        }
        for plan in &simulation.output.maps {
            let content = content(&format!("{plan:?}"));
            all.maps
                .push(find(MAP, &plan.file, content, "what is mapped, or from when,")?);
        }
        for plan in &simulation.analyses {
            let content = analysis_content(plan);
            all.analyses.push(find(
                ANALYSIS,
                &plan.file,
                content,
                "what is measured, or from when,",
            )?);
        }
        Ok(all)
    }
}

fn known<'a>(
    checkpoint: &'a Checkpoint,
    folder: &Path,
    kind: &str,
    file: &Path,
    content: u32,
    what: &'static str,
) -> Result<Option<&'a Record>, RunError> {
    let (path, name, step) = (folder.join(file), file.to_string_lossy(), checkpoint.step);
    let record = checkpoint
        .outputs
        .iter()
        .find(|r| r.kind == kind && r.file == name);
    let Some(record) = record else {
        return if path.exists() {
            Err(RunError::Taken { file: path })
        } else {
            Ok(None)
        };
    };
    if record.content != content {
        return Err(RunError::OtherContent {
            file: path,
            what,
            step,
        });
    }
    // What an analysis or a map has gathered is in the checkpoint itself.
    if kind == ANALYSIS || kind == MAP {
        return Ok(Some(record));
    }
    let Written { bytes, frames } = record.written;
    match std::fs::metadata(&path) {
        Ok(found) if found.len() >= bytes => Ok(Some(record)),
        Ok(found) => Err(RunError::Shorter {
            file: path,
            length: found.len(),
            expected: bytes,
        }),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Err(RunError::Lost {
            file: path,
            written: format!("{frames} {}", if kind == TABLE { "rows" } else { "frames" }),
            step,
        }),
        Err(e) => Err(RunError::read(&path, e)),
    }
}

/// Refuses orientations beside a trajectory that cannot be continued after so many frames; `None` where it begins now.
fn companion(path: &Path, turning: usize, frames: Option<u64>, step: u64) -> Result<(), RunError> {
    let file = path.to_path_buf();
    match (frames, std::fs::metadata(path)) {
        (None, Ok(_)) => Err(RunError::Taken { file }),
        (None, Err(_)) => Ok(()),
        (Some(frames), Ok(found)) => {
            let expected = OrientationWriter::length(turning, frames);
            match found.len() < expected {
                true => Err(RunError::Shorter {
                    file,
                    length: found.len(),
                    expected,
                }),
                false => Ok(()),
            }
        }
        (Some(frames), Err(e)) if e.kind() == std::io::ErrorKind::NotFound => Err(RunError::Lost {
            file,
            written: format!("orientations of {frames} frames"),
            step,
        }),
        (_, Err(e)) => Err(RunError::read(path, e)),
    }
}

impl Outputs {
    /// New files in the output folder; those a checkpoint knows are cut back to where it saw them. Maps are made on the
    /// device, pairs counted by the engine where it can; other analyses have so many threads.
    pub fn open(
        simulation: &Simulation,
        folder: &Path,
        layout: TableLayout,
        known: &Known,
        (engine, device): (&mut dyn Engine, Option<&Device>),
        threads: Option<usize>,
    ) -> Result<Self, RunError> {
        let mut table = None;
        if let Some(plan) = &simulation.output.table {
            let path = folder.join(&plan.file);
            let file = match known.table {
                Some(record) => Table::resume(&path, record.written)?,
                None => Table::create(&path, &layout)?,
            };
            table = Some(TableFile {
                every: plan.every,
                file,
                fresh: known.table.is_none(),
            });
        }
        let mut trajectories = Vec::new();
        for (number, plan) in simulation.output.trajectories.iter().enumerate() {
            let path = folder.join(&plan.file);
            let format = Format::from_path(&path)?;
            let record = known.trajectories.get(number).copied().flatten();
            let writer = match record.map(|r| r.written) {
                Some(w) => open_append(&path, format, w.bytes, w.frames)?,
                None => create_writer(&path, format)?,
            };
            let placement = if plan.unwrap {
                Placement::Unwrapped
            } else {
                Placement::Wrapped
            };
            let mut export = Export::new(&simulation.system, format, &plan.species, placement);
            let mut orientations = None;
            if let Some((file, turning)) = plan.companion(&simulation.system) {
                let (file, atoms) = (folder.join(file), export.len());
                let writer = match record.map(|r| r.written.frames) {
                    Some(frames) => OrientationWriter::resume(&file, atoms, turning, frames)?,
                    None => OrientationWriter::create(&file, atoms, turning)?,
                };
                export = export.with_orientations();
                orientations = Some((file, writer));
            }
            trajectories.push(TrajectoryFile {
                path,
                plan: plan.clone(),
                export: Arc::new(export),
                writer,
                orientations,
                content: trajectory_content(plan, &simulation.system),
                fresh: record.is_none(),
            });
        }
        let mut maps = Vec::new();
        for (number, plan) in simulation.output.maps.iter().enumerate() {
            let mut frames = plan.frames(&simulation.system, device)?;
            let record = known.maps.get(number).copied().flatten();
            if let Some(record) = record {
                frames.restore(&record.state).map_err(MapError::State)?;
            }
            maps.push(MapFile {
                plan: plan.clone(),
                frames,
                fresh: record.is_none(),
            });
        }
        let mut measurements = Vec::new();
        let subject = LazyCell::new(|| simulation.subject());
        for (number, plan) in simulation.analyses.iter().enumerate() {
            let mut analysis = plan.request.build(&subject)?;
            let record = known.analyses.get(number).copied().flatten();
            if let Some(record) = record {
                analysis.restore(&record.state)?;
            }
            measurements.push(Measurement {
                plan: plan.clone(),
                analysis,
                fresh: record.is_none(),
                counted: None,
            });
        }
        count_on(engine, &mut measurements)?;
        let mut due = Vec::new();
        due.extend(trajectories.iter().map(|t| Due {
            every: t.plan.every,
            from: 0,
            fresh: t.fresh,
            counts: 0,
            velocities: t.needs_velocities(),
        }));
        due.extend(measurements.iter().map(|m| Due {
            every: m.plan.every,
            from: m.plan.from,
            fresh: m.fresh,
            counts: m.counted.map_or(0, |number| 1 << number),
            velocities: m.needs_velocities(),
        }));
        let written = frames::FrameOutputs {
            trajectories,
            measurements,
            species: simulation.system.particles.species.as_slice().into(),
        };
        Ok(Self {
            timestep: simulation.dynamics.timestep,
            plan: simulation.output.clone(),
            table,
            layout,
            maps,
            frames: Beside::new(simulation.title.clone(), written, threads, device.is_some()),
            due,
        })
    }

    /// The next step after `step` at which anything is due.
    pub fn next_after(&self, step: u64) -> Option<u64> {
        self.periods().map(|every| (step / every + 1) * every).min()
    }

    /// Length of the table, which is read again at the end.
    pub fn table_bytes(&self) -> u64 {
        self.table.as_ref().map_or(0, |t| t.file.bytes())
    }

    /// What is to be seen of a step.
    pub fn wanted(&self, step: u64) -> Wanted {
        let table = self.table.as_ref();
        Wanted {
            observation: table.is_some_and(|t| step.is_multiple_of(t.every)),
            ..self.wanted_of(|due| due.wants(step))
        }
    }

    /// What these of the outputs want.
    fn wanted_of(&self, those: impl Fn(&Due) -> bool) -> Wanted {
        let due = || self.due.iter().filter(|due| those(due));
        Wanted {
            observation: false,
            particles: due().any(|due| due.counts == 0),
            velocities: due().any(|due| due.velocities),
            counts: due().fold(0, |all, due| all | due.counts),
        }
    }

    /// Writes and measures what was seen, or has it done beside the steps that follow; maps are made apart.
    pub fn record(&mut self, seen: Moment) -> Result<(), RunError> {
        self.record_of(seen, false)
    }

    /// The same for outputs that begin at this step: the others have it already.
    pub fn record_fresh(&mut self, engine: &mut dyn Engine) -> Result<(), RunError> {
        let step = engine.step_number();
        let wanted = Wanted {
            observation: self.wanted(step).observation && self.table.as_ref().is_some_and(|t| t.fresh),
            ..self.wanted_of(|due| due.fresh && due.wants(step))
        };
        let failed = self.map_of(engine, true);
        self.record_of(Moment::of(engine, wanted)?, true)?;
        failed
    }

    fn record_of(&mut self, seen: Moment, only_fresh: bool) -> Result<(), RunError> {
        if let (Some(table), Some(observation)) = (&mut self.table, &seen.observation) {
            table.file.add(&self.layout.row(observation))?;
        }
        if seen.particles.is_some() || seen.counts.is_some() {
            self.frames.add(TakenFrame {
                step: seen.step,
                // As engines have it.
                time: seen.step as f64 * self.timestep,
                particles: seen.particles,
                counts: seen.counts,
                cell: seen.cell,
                only_fresh,
            })?;
        }
        Ok(())
    }

    /// Whether a map is to be made of this step.
    pub fn wants_map(&self, step: u64) -> bool {
        self.maps.iter().any(|map| map.wants(step))
    }

    /// Adds the step that an engine is at to the maps. One that fails does so after the others are made, and after all
    /// else of the step is written: the checkpoint that follows has it.
    pub fn map(&mut self, engine: &mut dyn Engine) -> Result<(), RunError> {
        self.map_of(engine, false)
    }

    fn map_of(&mut self, engine: &mut dyn Engine, only_fresh: bool) -> Result<(), RunError> {
        let step = engine.step_number();
        let (mut left, mut failed) = (Vec::new(), Ok(()));
        let maps = self.maps.iter_mut();
        for map in maps.filter(|map| map.wants(step) && (map.fresh || !only_fresh)) {
            match map.frames.add_on_device(engine) {
                Ok(true) => {}
                Ok(false) => left.push(map),
                Err(error) => failed = failed.and(Err(error)),
            }
        }
        if !left.is_empty() {
            let (particles, cell) = (engine.particles()?, engine.cell());
            for map in left {
                failed = failed.and(map.frames.add_particles(&particles, &cell));
            }
        }
        Ok(failed?)
    }

    /// Waits until all frames so far are written and measured.
    pub fn drain(&mut self) {
        self.frames.drain();
    }

    /// Analyses, when nothing is on its way.
    pub fn measurements(&self) -> &[Measurement] {
        self.frames.measurements()
    }

    /// Hands everything to the disk and says how far each output has come.
    pub fn sync(&mut self) -> Result<Vec<Record>, RunError> {
        let mut records = Vec::new();
        let mut put = |kind: &str, file: &Path, content: u32, written: Written, state: Vec<u8>| {
            records.push(Record {
                file: file.to_string_lossy().into_owned(),
                kind: kind.to_owned(),
                content,
                written,
                state,
            });
        };
        if let (Some(table), Some(plan)) = (&mut self.table, &self.plan.table) {
            let columns = content(&self.layout.header());
            put(TABLE, &plan.file, columns, table.file.sync()?, Vec::new());
        }
        let mut written = self.frames.drained()?;
        for t in written.iter_mut().flat_map(|w| &mut w.trajectories) {
            t.writer.flush()?;
            if let Some((_, orientations)) = &mut t.orientations {
                orientations.flush()?;
            }
            let written = Written {
                bytes: t.writer.bytes_written(),
                frames: t.writer.frames_written(),
            };
            put(TRAJECTORY, &t.plan.file, t.content, written, Vec::new());
        }
        for m in &self.maps {
            let content = content(&format!("{:?}", m.plan));
            put(MAP, &m.plan.file, content, Written::default(), m.frames.save()?);
        }
        for m in written.iter().flat_map(|w| &w.measurements) {
            let (content, state) = (analysis_content(&m.plan), m.analysis.save());
            put(ANALYSIS, &m.plan.file, content, Written::default(), state);
        }
        Ok(records)
    }

    /// Writes what closes the files. A run that goes on cuts it off again.
    pub fn finish(&mut self) -> Result<(), RunError> {
        for t in self
            .frames
            .drained()?
            .into_iter()
            .flat_map(|w| &mut w.trajectories)
        {
            t.writer.finish()?;
        }
        Ok(())
    }

    fn periods(&self) -> impl Iterator<Item = u64> + '_ {
        let table = self.table.iter().map(|t| t.every);
        let maps = self.maps.iter().map(|m| m.plan.every);
        table.chain(maps).chain(self.due.iter().map(|due| due.every))
    }
}

/// Has an engine count the pairs of those analyses that want nothing else, as far as it can.
fn count_on(engine: &mut dyn Engine, measurements: &mut [Measurement]) -> Result<(), RunError> {
    let of_pairs = |m: &mut Measurement| m.analysis.of_pairs().map(|of| of.histogram());
    let wanted: Vec<_> = measurements.iter_mut().map(of_pairs).collect();
    let named: Vec<_> = wanted.iter().flatten().copied().collect();
    if named.is_empty() {
        return Ok(());
    }
    let counted = engine.count_pairs(&named)?;
    let theirs = measurements
        .iter_mut()
        .zip(&wanted)
        .filter(|(_, of)| of.is_some());
    for (number, (measurement, _)) in theirs.enumerate() {
        measurement.counted = (number < 32 && counted >> number & 1 != 0).then_some(number);
    }
    Ok(())
}

/// Refuses outputs of formats and analyses of settings that cannot be.
pub fn check(simulation: &Simulation) -> Result<(), RunError> {
    for plan in &simulation.output.trajectories {
        Format::from_path(&plan.file)?;
    }
    for plan in &simulation.output.maps {
        plan.frames(&simulation.system, None)?;
    }
    let subject = LazyCell::new(|| simulation.subject());
    for plan in &simulation.analyses {
        plan.request.check(&subject)?;
    }
    Ok(())
}
