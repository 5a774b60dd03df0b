//! The commands, one file each.

mod bench;
mod energy;
mod run;

use std::process::ExitCode;

use clap::Subcommand;

use crate::failure::Failure;

/// What to do.
#[derive(Subcommand)]
pub enum Command {
    Run(run::Run),
    Energy(energy::Energy),
    Bench(bench::Bench),
}

impl Command {
    /// Does it.
    pub fn execute(self) -> Result<ExitCode, Failure> {
        match self {
            Self::Run(command) => command.execute(),
            Self::Energy(command) => command.execute(),
            Self::Bench(command) => command.execute(),
        }
    }
}

/// Threads the library takes when nobody says how many.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
