//! [`Failure`]: one message for the user, and the exit status that goes with it.

use std::fmt;
use std::process::ExitCode;

use debye::analysis::AnalysisError;
use debye::engines::EngineError;
use debye::input::InputError;
use debye::maps::MapError;
use debye::plot::PlotError;
use debye::run::RunError;
use debye::run::measure::MeasureError;
use debye::run::tune::TuneError;
use debye::system::builders::BuildError;
use debye_io::IoError;

/// Why the program stops.
#[derive(Debug)]
pub struct Failure {
    message: String,
    status: u8,
}

impl Failure {
    /// Something the user asked for cannot be done: exit status 2.
    pub fn refused(message: impl fmt::Display) -> Self {
        Self {
            message: message.to_string(),
            status: 2,
        }
    }

    /// Something went wrong on the way: exit status 1.
    pub fn failed(message: impl fmt::Display) -> Self {
        Self {
            message: message.to_string(),
            status: 1,
        }
    }

    /// The user stopped it before there was anything to save: exit status 130.
    pub fn interrupted(message: impl fmt::Display) -> Self {
        Self {
            message: message.to_string(),
            status: 130,
        }
    }

    /// The exit status.
    pub fn code(&self) -> ExitCode {
        ExitCode::from(self.status)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

macro_rules! refused {
    ($($error:ty),*) => {
        $( impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::refused(error)
            }
        } )*
    };
}

refused!(
    InputError,
    IoError,
    AnalysisError,
    PlotError,
    BuildError,
    MapError
);

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Exploded(_)
            | EngineError::Lost { .. }
            | EngineError::Cell { .. }
            | EngineError::Constraint { .. } => Self::failed(error),
            _ => Self::refused(error),
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Engine(error) => error.into(),
            RunError::Explained { .. }
            | RunError::Broken { .. }
            | RunError::Unmapped { .. }
            | RunError::NoTime => Self::failed(error),
            RunError::StoppedEarly => Self::interrupted(error),
            _ => Self::refused(error),
        }
    }
}

impl From<MeasureError> for Failure {
    fn from(error: MeasureError) -> Self {
        match error {
            MeasureError::Engine(error) => error.into(),
            _ => Self::refused(error),
        }
    }
}

impl From<TuneError> for Failure {
    fn from(error: TuneError) -> Self {
        match error {
            TuneError::Run(error) => error.into(),
            TuneError::Measure(error) => error.into(),
            _ => Self::refused(error),
        }
    }
}
