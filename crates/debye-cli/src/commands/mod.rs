//! The commands, one file each.

mod analyze;
mod animate;
mod bench;
mod builders;
mod check;
mod electrostatics;
mod energy;
mod fft;
mod info;
mod ionize;
mod manual;
mod map;
mod mapping;
mod primitives;
mod run;
mod study;
mod tune;

use std::process::ExitCode;

use clap::Subcommand;

use crate::failure::Failure;

/// What to do.
#[derive(Subcommand)]
pub enum Command {
    Run(run::Run),
    Energy(energy::Energy),
    Build(builders::Build),
    Analyze(analyze::Analyze),
    Map(Box<map::Map>),
    Ionize(Box<ionize::Ionize>),
    Bench(bench::Bench),
    Check(check::Check),
    Info(info::Info),
    Tune(tune::Tune),
    Study(study::StudyCommand),
    Animate(Box<animate::Animate>),
}

impl Command {
    /// Does it.
    pub fn execute(self) -> Result<ExitCode, Failure> {
        match self {
            Self::Run(command) => command.execute(),
            Self::Energy(command) => command.execute(),
            Self::Build(command) => command.execute(),
            Self::Analyze(command) => command.execute(),
            Self::Map(command) => command.execute(),
            Self::Ionize(command) => command.execute(),
            Self::Bench(command) => command.execute(),
            Self::Check(command) => command.execute(),
            Self::Info(command) => command.execute(),
            Self::Tune(command) => command.execute(),
            Self::Study(command) => command.execute(),
            Self::Animate(command) => command.execute(),
        }
    }
}

/// Threads the library takes when nobody says how many.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
