//! What all studies share: a [`Study`] of a paper climbs ladders of [`Variant`]s on the same [`Input`]s.
//!
//! Each variant is prepared for an input, compared with a reference in double precision, and timed: once to warm up,
//! then in rounds, of which the median counts and the fastest and slowest are shown ([`Bench::measure`]). What came of
//! it goes into sections with tables, figures and the paper's numbers beside ours, and [`Findings::save`] writes all
//! of it. A study of another paper is another line of [`STUDIES`].

mod bench;
mod files;
mod findings;
mod html;
mod journal;
mod leads;
mod losses;
mod machine;
mod profile;
mod steps;

pub(crate) use bench::check_stop;
pub use bench::{Bench, Extent};
#[cfg(test)]
pub(crate) use findings::timed;
pub use findings::{Comparison, Figure, Findings, Row, Section, Shown, Table};
pub(crate) use html::{number, seconds};
pub use journal::Journal;
pub use leads::Lead;
pub(crate) use losses::Why;
pub use machine::{DeviceStudied, occupancy};
pub use profile::Profile;
pub(crate) use steps::Steps;

use std::time::Instant;

use debye::engines::EngineError;
use debye::maps::MapError;
use debye::plot::PlotError;
use debye::run::RunError;
use debye_gpu::{CudaError, Device, Stream};

/// A paper as a command: what it compares, done again on this machine.
pub struct Study {
    /// As it is typed.
    pub name: &'static str,
    /// Who wrote the paper, and its title.
    pub paper: &'static str,
    /// What is measured.
    pub what: &'static str,
    /// Its page in the documentation.
    pub page: &'static str,
    /// Whether it reads a profile of the kernels ([`Bench::counters`]).
    pub counters: bool,
    pub(crate) why: Why,
    pub(crate) run: fn(&mut Bench<'_>) -> Result<(), StudyError>,
}

/// All studies, by name.
pub const STUDIES: &[Study] = &[
    crate::charge_mapping::STUDY,
    crate::coarse_grain::STUDY,
    crate::potential_map::STUDY,
    crate::prefix_sum::STUDY,
    crate::spme::STUDY,
];

impl Study {
    /// The study of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        STUDIES.iter().find(|study| study.name == name)
    }

    /// Why the engine may lose in this measurement.
    pub fn why(&self, row: &Row) -> Option<&'static str> {
        (self.why)(row)
    }

    /// Measures everything. What fails a check is in the rows, and the rest goes on.
    ///
    /// # Errors
    /// What cannot be gone on from: no memory, a simulation that cannot be set up, a journal that cannot be written.
    pub fn run(&self, bench: &mut Bench<'_>) -> Result<(), StudyError> {
        let done = (self.run)(bench).and(bench.written());
        bench.found.explain(self.why);
        bench.found.complete = done.is_ok() && !bench.stopped();
        match done {
            Err(StudyError::Interrupted) => Ok(()),
            done => done,
        }
    }
}

/// Why a study, or a variant of it, cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StudyError {
    /// A variant for CUDA where there is none.
    #[error("no CUDA device")]
    NoDevice,
    /// An output too far from the reference.
    #[error("{what}: off by {error:.1e}, allowed {allowed:.1e}")]
    Inexact {
        /// The variant and the input.
        what: String,
        /// How far it is off.
        error: f64,
        /// How far it may be off.
        allowed: f64,
    },
    /// It was told to stop.
    #[error("interrupted")]
    Interrupted,
    /// A library that is not there.
    #[error("{0}")]
    Missing(String),
    /// A device that failed.
    #[error(transparent)]
    Device(#[from] CudaError),
    /// A map that could not be computed.
    #[error(transparent)]
    Map(#[from] MapError),
    /// A simulation that could not be run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// An engine that failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A picture that could not be drawn.
    #[error(transparent)]
    Plot(#[from] PlotError),
    /// Anything else, in words.
    #[error("{0}")]
    Other(String),
}

impl StudyError {
    /// Of words.
    pub fn other(error: impl std::fmt::Display) -> Self {
        Self::Other(error.to_string())
    }
}

/// Where a variant runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// This processor.
    Cpu,
    /// A CUDA device, or its emulation.
    Cuda,
}

impl Place {
    /// `cpu` or `cuda`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
        }
    }
}

/// Something to compute, with what is right in double precision.
pub trait Input {
    /// What a variant gives.
    type Output;

    /// In words: `2^20 elements`.
    fn label(&self) -> String;

    /// How much work it is, in the unit of the ladder: elements, evaluations, particles.
    fn work(&self) -> f64;

    /// How far an output is from the reference; not a number where it is none.
    fn error(&self, output: &Self::Output) -> f64;
}

/// A version of an algorithm.
pub trait Variant<I: Input> {
    /// Its name in tables and figures.
    fn name(&self) -> String;

    /// Where it runs.
    fn place(&self) -> Place;

    /// The largest error that is allowed on any input; [`Work::rounding`] is added to it.
    fn tolerance(&self) -> f64;

    /// Why it is not run on this input, if so: too much work, a limit of the algorithm.
    fn declines(&self, _input: &I) -> Option<String> {
        None
    }

    /// Gets everything ready that is not timed. Variants for CUDA are given the device, if there is one.
    ///
    /// # Errors
    /// [`StudyError::NoDevice`] where it needs a device, and what the device says.
    fn prepare<'i>(
        &self,
        input: &'i I,
        device: Option<&Device>,
    ) -> Result<Box<dyn Work<I::Output> + 'i>, StudyError>;
}

/// A variant that is ready to run on an input.
pub trait Work<O> {
    /// Does it so many times; seconds for all of them.
    ///
    /// # Errors
    /// What the device or the library says.
    fn seconds(&mut self, passes: u32) -> Result<f64, StudyError>;

    /// What the last pass gave.
    ///
    /// # Errors
    /// As [`Self::seconds`].
    fn output(&mut self) -> Result<O, StudyError>;

    /// The error that rounding alone costs on this input, where that depends on the input: fixed-point sums have as
    /// many places as it leaves room for.
    fn rounding(&self) -> f64 {
        0.0
    }
}

/// Prepares a variant, runs it as it is timed, and compares what it gives.
///
/// # Errors
/// [`StudyError::Inexact`] where it is off by more than is allowed, and what the variant says.
pub fn check<I: Input>(
    input: &I,
    variant: &dyn Variant<I>,
    device: Option<&Device>,
) -> Result<(), StudyError> {
    let mut work = variant.prepare(input, device)?;
    work.seconds(1)?;
    let [error, allowed] = compare(input, variant, work.as_mut())?;
    if error <= allowed {
        return Ok(());
    }
    Err(StudyError::Inexact {
        what: format!("{}, {}", variant.name(), input.label()),
        error,
        allowed,
    })
}

/// What rounding may cost at most: with more, nothing would be checked.
const MOST_ROUNDING: f64 = 1e-2;

/// How far the output is off, and how far it may be.
fn compare<I: Input>(
    input: &I,
    variant: &dyn Variant<I>,
    work: &mut dyn Work<I::Output>,
) -> Result<[f64; 2], StudyError> {
    let (error, rounding) = (input.error(&work.output()?), work.rounding());
    if rounding.is_nan() || rounding > MOST_ROUNDING {
        return Err(StudyError::Inexact {
            what: format!("{}, {}: rounding", variant.name(), input.label()),
            error: rounding,
            allowed: MOST_ROUNDING,
        });
    }
    Ok([error, variant.tolerance() + rounding])
}

/// Work whose arithmetic costs something by itself on its input ([`Work::rounding`]).
pub(crate) struct Rounded<'i, O> {
    pub(crate) work: Box<dyn Work<O> + 'i>,
    pub(crate) rounding: f64,
}

impl<O> Work<O> for Rounded<'_, O> {
    fn seconds(&mut self, passes: u32) -> Result<f64, StudyError> {
        self.work.seconds(passes)
    }

    fn output(&mut self) -> Result<O, StudyError> {
        self.work.output()
    }

    fn rounding(&self) -> f64 {
        self.rounding
    }
}

/// Work on the processor: a function that gives the output, timed by the clock.
pub struct OnHost<'i, O> {
    work: Box<dyn FnMut() -> Result<O, StudyError> + 'i>,
    last: Option<O>,
}

impl<'i, O: 'i> OnHost<'i, O> {
    /// Of this function.
    pub fn boxed(work: impl FnMut() -> Result<O, StudyError> + 'i) -> Box<dyn Work<O> + 'i> {
        Box::new(Self {
            work: Box::new(work),
            last: None,
        })
    }
}

impl<O> Work<O> for OnHost<'_, O> {
    fn seconds(&mut self, passes: u32) -> Result<f64, StudyError> {
        let began = Instant::now();
        for _ in 0..passes {
            // Dropped on the way, as every caller would.
            self.last = Some((self.work)()?);
        }
        Ok(began.elapsed().as_secs_f64())
    }

    fn output(&mut self) -> Result<O, StudyError> {
        match self.last.take() {
            Some(output) => Ok(output),
            None => (self.work)(),
        }
    }
}

/// Work on a device: launches that are captured once and replayed, timed by events; and how to get the output.
pub struct OnDevice<'i, O, S> {
    stream: Stream,
    state: S,
    queue: Queue<S>,
    output: Output<'i, O, S>,
}

type Queue<S> = fn(&mut S, &Stream) -> Result<(), CudaError>;
type Output<'i, O, S> = Box<dyn FnMut(&mut S, &Stream) -> Result<O, StudyError> + 'i>;

impl<'i, O: 'i, S: 'i> OnDevice<'i, O, S> {
    /// `queue` launches the kernels of one pass; `output` does a pass and reads what came of it.
    pub fn boxed(
        device: &Device,
        state: S,
        queue: Queue<S>,
        output: impl FnMut(&mut S, &Stream) -> Result<O, StudyError> + 'i,
    ) -> Result<Box<dyn Work<O> + 'i>, StudyError> {
        Ok(Box::new(Self {
            stream: device.stream()?,
            state,
            queue,
            output: Box::new(output),
        }))
    }
}

impl<O, S> Work<O> for OnDevice<'_, O, S> {
    fn seconds(&mut self, passes: u32) -> Result<f64, StudyError> {
        // Several passes in a graph, so that gaps between launches of graphs do not count.
        let each = passes.min(20);
        let graph = self
            .stream
            .capture(|stream| (0..each).try_for_each(|_| (self.queue)(&mut self.state, stream)))?;
        let replays = passes.div_ceil(each);
        let seconds = self.stream.time(&graph, replays)?;
        Ok(seconds * f64::from(passes) / f64::from(replays * each))
    }

    fn output(&mut self) -> Result<O, StudyError> {
        (self.output)(&mut self.state, &self.stream)
    }
}
