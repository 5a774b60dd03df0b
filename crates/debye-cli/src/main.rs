//! The program `debye`: one file per command, all of them thin; the work is done by the library.

mod commands;
mod console;
mod failure;
mod flags;
mod progress;
mod signals;

use std::process::ExitCode;

use clap::Parser;

use commands::Command;

/// Molecular dynamics in Rust.
#[derive(Parser)]
#[command(
    name = "debye",
    version,
    about = "Molecular dynamics: one input file, one command",
    after_help = "Example:\n  debye run examples/argon-droplet.toml\n\n\
                  `debye <command> --help` explains a command; the input file is described in docs/input-file.md.",
    arg_required_else_help = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    match Cli::parse().command.execute() {
        Ok(code) => code,
        Err(failure) => {
            console::report(&format!("error: {failure}"));
            failure.code()
        }
    }
}
