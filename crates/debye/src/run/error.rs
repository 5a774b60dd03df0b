//! Why a run ended before its time.

use std::path::{Path, PathBuf};

use crate::analysis::AnalysisError;
use crate::checkpoint::CheckpointError;
use crate::engines::EngineError;
use crate::maps::MapError;
use crate::plot::PlotError;

/// Why a run ended before its time.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The engine gave up.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The engine gave up, and the surroundings of the culprit were written to a file.
    #[error("{error}. The particles around it are in {}", file.display())]
    Explained {
        /// Why.
        error: EngineError,
        /// The structure file.
        file: PathBuf,
    },
    /// The device failed on the way.
    #[error("{error}. The last checkpoint, of step {step}, is {}: `--resume` goes on from there", file.display())]
    Broken {
        /// Why.
        error: EngineError,
        /// The step of the checkpoint.
        step: u64,
        /// The checkpoint.
        file: PathBuf,
    },
    /// A map could not be made on the way.
    #[error(
        "{error}. The last checkpoint, of step {step}, is {}: without this map, `--resume` goes on from there",
        file.display()
    )]
    Unmapped {
        /// Why.
        error: Box<MapError>,
        /// The step of the checkpoint.
        step: u64,
        /// The checkpoint.
        file: PathBuf,
    },
    /// A checkpoint was refused or could not be written.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A structure or trajectory file.
    #[error(transparent)]
    Format(#[from] debye_io::IoError),
    /// A map of the potential.
    #[error(transparent)]
    Map(#[from] MapError),
    /// An analysis.
    #[error(transparent)]
    Analyze(#[from] AnalysisError),
    /// A picture.
    #[error(transparent)]
    Plot(#[from] PlotError),
    /// A file could not be written.
    #[error("cannot write {}: {source}", file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file could not be read.
    #[error("cannot read {}: {source}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// An output file is shorter than the checkpoint knows.
    #[error("{} has {length} bytes, but {expected} were written when the checkpoint was made: was it replaced? \
         Put it back as it was; or move it away and go on without it, by leaving it out of the input or giving the output \
         another `file`, or begin again with --overwrite", file.display())]
    Shorter {
        /// The file.
        file: PathBuf,
        /// Its length.
        length: u64,
        /// The length it had.
        expected: u64,
    },
    /// An output file of the run that is to go on is not there any more.
    #[error(
        "{} is missing: {written} were in it when the checkpoint of step {step} was made. Put it back; or go on without \
         it by leaving it out of the input or giving the output another `file`, which then begins at step {step}",
        file.display()
    )]
    Lost {
        /// The file.
        file: PathBuf,
        /// How much was in it.
        written: String,
        /// The step of the checkpoint.
        step: u64,
    },
    /// Something else is to be written to a file than was so far.
    #[error(
        "{} cannot be continued: {what} changed since the checkpoint of step {step}. Undo the change, or give the output \
         another `file`, which then begins at step {step}",
        file.display()
    )]
    OtherContent {
        /// The file.
        file: PathBuf,
        /// What is not the same.
        what: &'static str,
        /// The step of the checkpoint.
        step: u64,
    },
    /// An output that is new to a run that goes on would replace a file.
    #[error(
        "{} is there already, but it is no output of the checkpoint that the run goes on from. Move it away, or give the \
         output another `file`",
        file.display()
    )]
    Taken {
        /// The file.
        file: PathBuf,
    },
    /// A table that cannot be read.
    #[error("{}:{line}: `{found}` is not a row of {expected} numbers", file.display())]
    Table {
        /// The file.
        file: PathBuf,
        /// The line.
        line: usize,
        /// Its beginning.
        found: String,
        /// Columns expected.
        expected: usize,
    },
    /// Another process writes to the output folder.
    #[error(
        "the output folder {} is in use by {holder}. Wait for it to end, stop it, or name another folder with --out (its \
         lock is {}, which can be removed where that process does not run any more)",
        folder.display(),
        folder.join(super::lock::LOCK_FILE).display()
    )]
    Locked {
        /// The folder.
        folder: PathBuf,
        /// Process, host and time, as far as they are known.
        holder: String,
    },
    /// The output folder is not empty.
    #[error(
        "the output folder {} exists already. Continue it with --resume, replace it with --overwrite, or name another with --out",
        folder.display()
    )]
    Exists {
        /// The folder.
        folder: PathBuf,
    },
    /// There is nothing to go on from, but something to lose.
    #[error(
        "the output folder {} holds {file} of an earlier run, but no checkpoint to go on from: nothing is changed. \
         Put the checkpoint back, begin again with --overwrite, which replaces the files, or name another folder with --out",
        folder.display()
    )]
    NoCheckpoint {
        /// The folder.
        folder: PathBuf,
        /// A file it holds.
        file: String,
    },
    /// The output folder holds what no run left there.
    #[error("the output folder {} is not touched: {why}. Name another with --out", folder.display())]
    Occupied {
        /// The folder.
        folder: PathBuf,
        /// What it holds.
        why: String,
    },
    /// The simulation could not be made.
    #[error(transparent)]
    Setup(#[from] crate::simulation::SetupError),
    /// Values for another number of particles.
    #[error("{given} values were given for {expected} particles")]
    ParticleCount {
        /// How many were given.
        given: usize,
        /// How many there are.
        expected: usize,
    },
    /// The output folder is a file.
    #[error("the output folder {} is a file. Name a folder with --out, or in [output] of the input", .0.display())]
    NotAFolder(PathBuf),
    /// The device asked for is not there.
    #[error("device `{0}` is not available: {1}. Use --device cpu to compute on the processor")]
    Device(String, String),
    /// It was asked to stop during the minimization, of which nothing is kept.
    #[error("stopped during the minimization: nothing was written. Start it again as before")]
    StoppedEarly,
    /// The time allowed was over during the minimization, of which nothing is kept.
    #[error(
        "the time allowed ended during the minimization: nothing was written. Allow more hours, or fewer `max_steps` in \
         [minimize]"
    )]
    NoTime,
    /// Threads could not be started.
    #[error("cannot start {0} threads")]
    Threads(usize),
}

impl RunError {
    pub(super) fn write(file: &Path, source: std::io::Error) -> Self {
        Self::Write {
            file: file.to_path_buf(),
            source,
        }
    }

    pub(super) fn read(file: &Path, source: std::io::Error) -> Self {
        Self::Read {
            file: file.to_path_buf(),
            source,
        }
    }
}
