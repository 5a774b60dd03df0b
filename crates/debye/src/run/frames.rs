//! What is made of frames while a run goes on: trajectories and analyses, in order, by a thread of their own.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use debye_io::{Frame, OrientationWriter, WriteFrames};

use super::RunError;
use super::export::{Export, unwrapped};
use super::threads::with_threads;
use crate::analysis::{Analysis, CountedPairs, Snapshot};
use crate::engines::{LaterParticles, PairCounts};
use crate::simulation::{AnalysisPlan, TrajectoryPlan};
use crate::system::Cell;

/// Frames that may wait to be written; a run that is further ahead waits.
const WAITING: usize = 2;

/// A trajectory on its way to the disk.
pub(super) struct TrajectoryFile {
    pub(super) path: PathBuf,
    pub(super) plan: TrajectoryPlan,
    pub(super) export: Export,
    pub(super) writer: Box<dyn WriteFrames>,
    /// Where orientations go that the format does not hold.
    pub(super) orientations: Option<(PathBuf, OrientationWriter)>,
    /// What goes into it, for a checkpoint.
    pub(super) content: u32,
    pub(super) fresh: bool,
}

/// An analysis and when it looks.
pub struct Measurement {
    /// What was asked for.
    pub plan: AnalysisPlan,
    /// The accumulator.
    pub analysis: Box<dyn Analysis>,
    pub(super) fresh: bool,
    /// Which of the pairs it is that the engine counts, if it does.
    pub(super) counted: Option<usize>,
}

/// A frame to be written.
pub(super) struct TakenFrame {
    pub(super) step: u64,
    pub(super) time: f64,
    pub(super) particles: Option<LaterParticles>,
    /// Pairs by distance, of those that the engine counts.
    pub(super) counts: Option<PairCounts>,
    pub(super) cell: Cell,
    /// Only for outputs that begin with it: the others have it already.
    pub(super) only_fresh: bool,
}

/// Everything that is made of frames.
pub(super) struct FrameOutputs {
    pub(super) title: String,
    pub(super) trajectories: Vec<TrajectoryFile>,
    pub(super) measurements: Vec<Measurement>,
    /// The species of every particle.
    pub(super) species: Arc<[u32]>,
}

impl FrameOutputs {
    /// Writes and measures what is due.
    fn add(&mut self, taken: TakenFrame) -> Result<(), RunError> {
        let TakenFrame {
            step,
            time,
            ref cell,
            only_fresh,
            ..
        } = taken;
        let wanted = |fresh: bool| fresh || !only_fresh;
        for m in &mut self.measurements {
            let counts = taken
                .counts
                .as_deref()
                .and_then(|all| m.counted.map(|number| &all[number]));
            if let (true, Some(counts), Some(of_pairs)) = (
                m.plan.looks_at(step) && wanted(m.fresh),
                counts,
                m.analysis.of_pairs(),
            ) {
                of_pairs.add_counted(&CountedPairs {
                    step,
                    cell,
                    species: &self.species,
                    counts,
                })?;
            }
        }
        let Some(particles) = taken.particles else {
            return Ok(());
        };
        let particles = &particles()?;
        for t in &mut self.trajectories {
            if step.is_multiple_of(t.plan.every) && wanted(t.fresh) {
                t.add(&t.export.frame(particles, cell, step, time, &self.title))?;
            }
        }
        let counts = taken.counts.is_some();
        let looks =
            |m: &Measurement| m.plan.looks_at(step) && wanted(m.fresh) && !(counts && m.counted.is_some());
        if !self.measurements.iter().any(looks) {
            return Ok(());
        }
        let unwrapped = unwrapped(particles, cell);
        let turning = &particles.orientations;
        let axes = turning.facings();
        let rotation: Vec<f64> = (0..axes.len()).map(|i| turning.kinetic_energy(i)).collect();
        let snapshot = Snapshot {
            step,
            time,
            cell,
            positions: &particles.positions,
            unwrapped: &unwrapped,
            velocities: Some(&particles.velocities),
            species: &particles.species,
            axes: (!axes.is_empty()).then_some(&axes),
            rotational_energies: (!axes.is_empty()).then_some(&rotation),
        };
        for m in self.measurements.iter_mut().filter(|m| looks(m)) {
            m.analysis.add(&snapshot)?;
        }
        Ok(())
    }

    /// All frames that come.
    fn add_all(&mut self, frames: Receiver<TakenFrame>) -> Result<(), RunError> {
        frames.into_iter().try_for_each(|frame| self.add(frame))
    }
}

impl TrajectoryFile {
    fn add(&mut self, frame: &Frame) -> Result<(), RunError> {
        // A full disk leaves whole frames, as far as it lets us.
        let cut = |path: &Path, whole: u64| {
            let file = OpenOptions::new().write(true).open(path);
            let _ = file.and_then(|file| file.set_len(whole));
        };
        let before = self.writer.bytes_written();
        if let Err(e) = self.writer.write_frame(self.export.atoms(), frame) {
            cut(&self.path, before);
            return Err(e.into());
        }
        if let Some((path, orientations)) = &mut self.orientations
            && let Err(e) = orientations.write_frame(frame)
        {
            cut(path, orientations.bytes_written());
            return Err(e.into());
        }
        Ok(())
    }
}

/// The thread that has what is written, while there is one.
struct Writer {
    frames: SyncSender<TakenFrame>,
    thread: JoinHandle<(Box<FrameOutputs>, Result<(), RunError>)>,
}

/// Frames are written beside the steps that follow them; whoever looks at what was written waits for them.
pub(super) struct Beside {
    here: Option<Box<FrameOutputs>>,
    writer: Option<Writer>,
    threads: Option<usize>,
    /// What went wrong and was not told yet.
    failed: Option<RunError>,
}

impl Beside {
    /// With so many threads for the analyses.
    pub(super) fn new(written: FrameOutputs, threads: Option<usize>) -> Self {
        Self {
            here: Some(Box::new(written)),
            writer: None,
            threads,
            failed: None,
        }
    }

    /// Hands a frame over. What went wrong with an earlier one is told now.
    pub(super) fn add(&mut self, frame: TakenFrame) -> Result<(), RunError> {
        if let Some(mut written) = self.here.take() {
            let (frames, come) = sync_channel::<TakenFrame>(WAITING);
            let threads = self.threads;
            let work = move || {
                let done = with_threads(threads, || written.add_all(come)).flatten();
                (written, done)
            };
            let thread = std::thread::spawn(work);
            self.writer = Some(Writer { frames, thread });
        }
        let sent = self.writer.as_ref().is_some_and(|w| w.frames.send(frame).is_ok());
        if sent { Ok(()) } else { self.settled().map(|_| ()) }
    }

    /// Waits until all frames are written.
    pub(super) fn settle(&mut self) {
        let Some(Writer { frames, thread }) = self.writer.take() else {
            return;
        };
        drop(frames);
        // A panic goes on where it began.
        let (written, done) = thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        self.here = Some(written);
        self.failed = self.failed.take().or(done.err());
    }

    /// What was written, when all of it is; what went wrong is told once.
    pub(super) fn settled(&mut self) -> Result<Option<&mut FrameOutputs>, RunError> {
        self.settle();
        match self.failed.take() {
            Some(error) => Err(error),
            None => Ok(self.here.as_deref_mut()),
        }
    }

    /// What was measured, when nothing is on its way.
    pub(super) fn measurements(&self) -> &[Measurement] {
        self.here.as_ref().map_or(&[], |written| &written.measurements)
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.settle();
        }
    }
}
