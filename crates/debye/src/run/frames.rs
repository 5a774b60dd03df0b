//! What is made of frames while a run goes on: trajectories and analyses, in order, by a thread of their own.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use debye_io::{EncodeFrame, Frame, IoError, OrientationWriter, WriteFrames};

use super::RunError;
use super::export::{Export, unwrapped};
use super::threads::with_threads;
use crate::analysis::{Analysis, CountedPairs, Snapshot};
use crate::engines::{LaterParticles, LentParticles, PairCounts};
use crate::simulation::{AnalysisPlan, TrajectoryPlan};
use crate::system::{Cell, Particles};

/// Frames that may wait to be written; a run that is further ahead waits. Beside a device, where many small ones come at
/// the same time, more of them.
const WAITING: usize = 2;
const WAITING_BESIDE: usize = 64;

/// A trajectory on its way to the disk.
pub(super) struct TrajectoryFile {
    pub(super) path: PathBuf,
    pub(super) plan: TrajectoryPlan,
    pub(super) export: Arc<Export>,
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

impl Measurement {
    /// Whether it takes frames, and looks at velocities in them.
    pub(super) fn needs_velocities(&self) -> bool {
        self.counted.is_none() && self.analysis.needs_velocities()
    }
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
    pub(super) trajectories: Vec<TrajectoryFile>,
    pub(super) measurements: Vec<Measurement>,
    /// The species of every particle.
    pub(super) species: Arc<[u32]>,
}

impl FrameOutputs {
    /// Whether any of them wants velocities.
    fn need_velocities(&self) -> bool {
        self.trajectories.iter().any(TrajectoryFile::needs_velocities)
            || self.measurements.iter().any(Measurement::needs_velocities)
    }

    /// Writes and measures what is due.
    fn add(&mut self, made: MadeFrame) -> Result<(), RunError> {
        let MadeFrame {
            step,
            time,
            ref cell,
            only_fresh,
            ..
        } = made;
        for (t, content) in self.trajectories.iter_mut().zip(made.contents) {
            content.map_or(Ok(()), |content| t.add(content?))?;
        }
        let looks = |m: &Measurement| m.plan.looks_at(step) && (m.fresh || !only_fresh);
        for m in self.measurements.iter_mut().filter(|m| looks(m)) {
            let Some((counts, number)) = made.counts.as_deref().zip(m.counted) else {
                continue;
            };
            let (Some(counts), Some(of_pairs)) = (counts.get(number), m.analysis.of_pairs()) else {
                unreachable!("an analysis of pairs stays one, and engines count what they took on");
            };
            of_pairs.add_counted(&CountedPairs {
                step,
                cell,
                species: &self.species,
                counts,
            })?;
        }
        let Some(particles) = &made.particles else {
            return Ok(());
        };
        let unwrapped = unwrapped(particles, cell);
        let turning = &particles.orientations;
        let axes = turning.facings();
        let moving = !particles.velocities.is_empty();
        let turning_now = if moving { 0..axes.len() } else { 0..0 };
        let rotation: Vec<f64> = turning_now.map(|i| turning.kinetic_energy(i)).collect();
        let snapshot = Snapshot {
            step,
            time,
            cell,
            positions: &particles.positions,
            unwrapped: &unwrapped,
            velocities: moving.then_some(&particles.velocities),
            species: &particles.species,
            axes: (!axes.is_empty()).then_some(&axes),
            rotational_energies: (!rotation.is_empty()).then_some(&rotation),
        };
        let counted = |m: &Measurement| made.counts.is_some() && m.counted.is_some();
        for m in self.measurements.iter_mut().filter(|m| looks(m) && !counted(m)) {
            m.analysis.add(&snapshot)?;
        }
        Ok(())
    }

    /// All frames that come.
    fn add_all(&mut self, frames: Receiver<Coming>, making: &Making) -> Result<(), RunError> {
        let made = |coming| match coming {
            Coming::Taken(taken) => making.make(taken),
            // A panic goes on where it began.
            Coming::Made(thread) => thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        };
        let done = frames.iter().try_for_each(|coming| self.add(made(coming)?));
        if done.is_err() {
            frames.try_iter().for_each(Coming::give_up);
        }
        done
    }
}

impl TrajectoryFile {
    /// Whether it holds velocities; orientations beside it say how particles lie, not how they turn.
    pub(super) fn needs_velocities(&self) -> bool {
        self.export.holds_velocities()
    }

    fn add(&mut self, content: Content) -> Result<(), RunError> {
        // A full disk leaves whole frames, as far as it lets us.
        let cut = |path: &Path, whole: u64| {
            let file = OpenOptions::new().write(true).open(path);
            let _ = file.and_then(|file| file.set_len(whole));
        };
        let before = self.writer.bytes_written();
        let written = match &content {
            Content::Frame(frame) => self.writer.write_frame(self.export.atoms(), frame),
            Content::Bytes(bytes) => match self.writer.apart() {
                Some(writer) => writer.write_encoded(bytes),
                None => unreachable!("bytes come from the writer's own encoder"),
            },
        };
        if let Err(e) = written {
            cut(&self.path, before);
            return Err(e.into());
        }
        if let (Some((path, orientations)), Content::Frame(frame)) = (&mut self.orientations, &content)
            && let Err(e) = orientations.write_frame(frame)
        {
            cut(path, orientations.bytes_written());
            return Err(e.into());
        }
        Ok(())
    }
}

/// What is made of a frame before its turn to be written comes, by any thread.
struct MadeFrame {
    step: u64,
    time: f64,
    cell: Cell,
    only_fresh: bool,
    counts: Option<PairCounts>,
    /// Where analyses want them.
    particles: Option<LentParticles>,
    /// For every trajectory, where it is due.
    contents: Vec<Option<Result<Content, IoError>>>,
}

/// What goes into a trajectory.
enum Content {
    Frame(Box<Frame>),
    /// As it is in the file.
    Bytes(Vec<u8>),
}

/// How frames are made.
struct Making {
    title: String,
    trajectories: Vec<MakingOfTrajectory>,
    measurements: Vec<MakingOfMeasurement>,
}

struct MakingOfTrajectory {
    every: u64,
    fresh: bool,
    export: Arc<Export>,
    /// Where its frames may be made apart, and nothing else is made of them.
    encode: Option<EncodeFrame>,
    /// Frames that were encoded: their memory is used again.
    spare: Mutex<Vec<Frame>>,
}

impl MakingOfTrajectory {
    fn spare(&self) -> MutexGuard<'_, Vec<Frame>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What goes into the file for particles of this step and time, under this title.
    fn content(&self, particles: &Particles, cell: &Cell, of: (u64, f64, &str)) -> Result<Content, IoError> {
        let earlier = self.spare().pop().unwrap_or_default();
        let frame = self.export.frame_in(earlier, particles, cell, of);
        let Some(encode) = &self.encode else {
            return Ok(Content::Frame(Box::new(frame)));
        };
        let bytes = encode(self.export.atoms(), &frame)?;
        self.spare().push(frame);
        Ok(Content::Bytes(bytes))
    }
}

struct MakingOfMeasurement {
    plan: AnalysisPlan,
    fresh: bool,
    counted: bool,
}

impl Making {
    fn new(title: String, of: &mut FrameOutputs) -> Self {
        let trajectory = |t: &mut TrajectoryFile| MakingOfTrajectory {
            every: t.plan.every,
            fresh: t.fresh,
            export: Arc::clone(&t.export),
            encode: (t.writer.apart())
                .filter(|_| t.orientations.is_none())
                .map(|writer| writer.encoder()),
            spare: Mutex::default(),
        };
        let measurement = |m: &Measurement| MakingOfMeasurement {
            plan: m.plan.clone(),
            fresh: m.fresh,
            counted: m.counted.is_some(),
        };
        Self {
            title,
            trajectories: of.trajectories.iter_mut().map(trajectory).collect(),
            measurements: of.measurements.iter().map(measurement).collect(),
        }
    }

    fn make(&self, taken: TakenFrame) -> Result<MadeFrame, RunError> {
        let TakenFrame {
            step,
            time,
            cell,
            only_fresh,
            counts,
            particles,
        } = taken;
        let particles = particles.map(|particles| particles()).transpose()?;
        let wanted = |fresh: bool| fresh || !only_fresh;
        let content = |t: &MakingOfTrajectory| {
            let particles = particles.as_ref()?;
            if !(step.is_multiple_of(t.every) && wanted(t.fresh)) {
                return None;
            }
            Some(t.content(particles, &cell, (step, time, &self.title)))
        };
        let contents = self.trajectories.iter().map(content).collect();
        let counted = counts.is_some();
        let measured = self
            .measurements
            .iter()
            .any(|m| m.plan.looks_at(step) && wanted(m.fresh) && !(counted && m.counted));
        Ok(MadeFrame {
            step,
            time,
            cell,
            only_fresh,
            counts,
            particles: particles.filter(|_| measured),
            contents,
        })
    }
}

/// A frame on its way to the thread that writes.
enum Coming {
    Taken(TakenFrame),
    Made(JoinHandle<Result<MadeFrame, RunError>>),
}

impl Coming {
    /// Waits for the thread that makes it: it reads memory of the device.
    fn give_up(self) {
        if let Self::Made(thread) = self {
            let _ = thread.join();
        }
    }
}

/// The thread that has what is written, while there is one.
struct Writer {
    frames: SyncSender<Coming>,
    thread: JoinHandle<(Box<FrameOutputs>, Result<(), RunError>)>,
}

/// Frames are written beside the steps that follow them; whoever looks at what was written waits for them.
pub(super) struct Beside {
    here: Option<Box<FrameOutputs>>,
    writer: Option<Writer>,
    making: Arc<Making>,
    threads: Option<usize>,
    /// Frames on their way that are made at the same time; one: by the thread that writes.
    at_once: usize,
    /// How many may wait where that thread makes them.
    waiting: usize,
    /// What went wrong and was not told yet.
    failed: Option<RunError>,
}

/// Frames of so many particles take a thread long enough to have one of their own.
const MANY: usize = 10_000;
/// Frames on their way hold memory, so many bytes for a particle without and with its velocity.
const MOST_AT_ONCE: usize = 16;
const MOST_BYTES: usize = 3_200_000_000;
const BYTES: [usize; 2] = [200, 400];

impl Beside {
    /// With so many threads for the analyses. Where the processor has little else to do, as beside a device, it makes
    /// several large frames at the same time.
    pub(super) fn new(title: String, written: FrameOutputs, threads: Option<usize>, idle: bool) -> Self {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let particles = written.species.len();
        let fit = MOST_BYTES / (BYTES[usize::from(written.need_velocities())] * particles.max(1));
        let at_once = if idle && particles >= MANY {
            threads.unwrap_or_else(cores).min(fit).clamp(1, MOST_AT_ONCE)
        } else {
            1
        };
        let waiting = if idle {
            fit.clamp(WAITING, WAITING_BESIDE)
        } else {
            WAITING
        };
        let mut beside = Self::making(at_once, title, written, threads);
        beside.waiting = waiting;
        beside
    }

    fn making(at_once: usize, title: String, mut written: FrameOutputs, threads: Option<usize>) -> Self {
        Self {
            making: Arc::new(Making::new(title, &mut written)),
            here: Some(Box::new(written)),
            writer: None,
            threads,
            at_once,
            waiting: WAITING,
            failed: None,
        }
    }

    /// Hands a frame over. What went wrong with an earlier one is told now.
    pub(super) fn add(&mut self, frame: TakenFrame) -> Result<(), RunError> {
        if let Some(mut written) = self.here.take() {
            // One more is waited for, and another waits to be sent.
            let room = if self.at_once > 1 {
                self.at_once - 2
            } else {
                self.waiting
            };
            let (frames, come) = sync_channel(room);
            let (threads, making) = (self.threads, Arc::clone(&self.making));
            let work = move || {
                let done = with_threads(threads, || written.add_all(come, &making)).flatten();
                (written, done)
            };
            let thread = std::thread::spawn(work);
            self.writer = Some(Writer { frames, thread });
        }
        let coming = if self.at_once > 1 && frame.particles.is_some() {
            let making = Arc::clone(&self.making);
            let thread = std::thread::Builder::new().spawn(move || making.make(frame));
            Coming::Made(thread.map_err(|_| RunError::Threads(self.at_once))?)
        } else {
            Coming::Taken(frame)
        };
        if let Some(writer) = &self.writer {
            let Err(unsent) = writer.frames.send(coming) else {
                return Ok(());
            };
            unsent.0.give_up();
        }
        self.drained().map(|_| ())
    }

    /// Waits until all frames are written.
    pub(super) fn drain(&mut self) {
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
    pub(super) fn drained(&mut self) -> Result<Option<&mut FrameOutputs>, RunError> {
        self.drain();
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
            self.drain();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Vec3;
    use crate::run::export::Placement;
    use crate::system::{System, builders};
    use debye_io::{Format, create_writer};

    /// A trajectory of frames of which each takes less time than the one before.
    fn written(system: &System, at_once: usize) -> Result<Vec<u8>, RunError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("frames.xtc");
        let plan = TrajectoryPlan {
            file: path.clone(),
            every: 5,
            unwrap: false,
            species: vec![],
            orientations: false,
        };
        let outputs = FrameOutputs {
            trajectories: vec![TrajectoryFile {
                path: path.clone(),
                plan,
                export: Arc::new(Export::new(system, Format::XTC, &[], Placement::Wrapped)),
                writer: create_writer(&path, Format::XTC).unwrap(),
                orientations: None,
                content: 0,
                fresh: false,
            }],
            measurements: vec![],
            species: system.particles.species.as_slice().into(),
        };
        let mut beside = Beside::making(at_once, "title".into(), outputs, Some(1));
        for number in 0..12_u32 {
            let mut particles = system.particles.clone();
            let shift = Vec3::new(0.01 * f64::from(number), 0.0, 0.0);
            particles.positions.iter_mut().for_each(|r| *r += shift);
            let frame = TakenFrame {
                step: 5 * u64::from(number),
                time: f64::from(number),
                particles: Some(Box::new(move || {
                    let wait = u64::from(12 - number);
                    std::thread::sleep(std::time::Duration::from_millis(wait));
                    Ok(particles.into())
                })),
                counts: None,
                cell: system.cell,
                only_fresh: false,
            };
            beside.add(frame)?;
        }
        let frames = beside
            .drained()?
            .map(|w| w.trajectories[0].writer.frames_written());
        assert_eq!(frames, Some(12));
        Ok(std::fs::read(&path).unwrap())
    }

    #[test]
    fn frames_made_at_the_same_time_are_written_in_order() {
        let system = builders::lj_melt([3, 3, 3]).thermalize(1.0, 1).unwrap();
        assert!(written(&system, 5).unwrap() == written(&system, 1).unwrap());
    }

    #[test]
    fn a_frame_that_cannot_be_written_is_told_of() {
        let mut system = builders::lj_melt([3, 3, 3]).thermalize(1.0, 1).unwrap();
        system.particles.positions[7].x = f64::NAN;
        for at_once in [1, 4] {
            let message = written(&system, at_once).unwrap_err().to_string();
            assert!(
                message.contains("frames.xtc") && message.contains("atom 8"),
                "{message}"
            );
        }
    }
}
