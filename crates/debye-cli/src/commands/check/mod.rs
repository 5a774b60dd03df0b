//! `debye check`: the physics on this machine, against closed forms and plain loops.

mod engine;
mod motion;
mod potentials;

use std::process::ExitCode;

use clap::Args;
use debye::input::DeviceChoice;
use serde::Serialize;

use super::primitives;
use crate::console;
use crate::failure::Failure;
use crate::flags::ThreadFlag;

/// Check every potential, kernel and integrator on this machine
#[derive(Args)]
#[command(after_help = "\
Examples:
  debye check
  debye check --device cuda

Takes less than a minute on a CPU; some minutes on a CUDA device when its kernels are compiled for
the first time. Each line is one check, on a CPU with its largest error and what is allowed.
The exit status is 1 when any of them fails.")]
pub struct Check {
    /// Where to compute: auto, cpu, cuda or cuda:N
    #[arg(long, default_value = "auto")]
    device: DeviceChoice,
    #[command(flatten)]
    threads: ThreadFlag,
    /// Small sizes only, on a CUDA device: for tools that watch every access to memory
    #[arg(long)]
    quick: bool,
    /// Only checks with this in their names, on a CUDA device: "small systems"
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One check and how it went.
#[derive(Serialize)]
pub struct Finding {
    /// What was checked.
    what: String,
    /// The largest error.
    error: f64,
    /// What is allowed.
    allowed: f64,
    /// Whether it holds.
    passed: bool,
    /// How the error is measured, or why there is none.
    note: String,
}

impl Finding {
    /// Compares an error with what is allowed; NaN fails.
    pub fn new(what: impl Into<String>, error: f64, allowed: f64, note: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            error,
            allowed,
            passed: error <= allowed,
            note: note.into(),
        }
    }
}

/// The sections, in the order they run.
type Section = (&'static str, fn() -> Result<Vec<Finding>, Failure>);
const SECTIONS: &[Section] = &[
    (
        "potentials: slope against differences, tape against function",
        potentials::check,
    ),
    (
        "kernels: every pair potential through lists and vectors, against all pairs in double precision",
        engine::check,
    ),
    ("motion: conserved energies, exact continuation", motion::check),
];

impl Check {
    /// Does it.
    pub fn execute(self) -> Result<ExitCode, Failure> {
        if let DeviceChoice::Cuda(number) = self.device {
            return primitives::check(number, self.quick, self.only.as_deref().unwrap_or(""), self.json);
        }
        let mut all = Vec::new();
        for (title, section) in SECTIONS {
            let found = self.threads.install(section)?;
            if !self.json {
                console::print(&page(title, &found))?;
            }
            all.extend(found);
        }
        let failed = all.iter().filter(|f| !f.passed).count();
        if self.json {
            console::print(&console::json_list("check/1", &all)?)?;
        } else if failed == 0 {
            console::print(&format!("all {} checks passed\n", all.len()))?;
        }
        if failed == 0 {
            Ok(ExitCode::SUCCESS)
        } else {
            Err(Failure::failed(format!(
                "{failed} of {} checks failed",
                all.len()
            )))
        }
    }
}

fn page(title: &str, findings: &[Finding]) -> String {
    let mut rows = Vec::new();
    for f in findings {
        rows.push(vec![
            format!("  {}", f.what),
            if f.passed { "ok".into() } else { "FAILED".into() },
            format!("{:.1e}", f.error),
            format!("of {:.0e}", f.allowed),
        ]);
    }
    let lines = console::columns(&rows);
    let lines = lines
        .lines()
        .zip(findings)
        .map(|(line, f)| format!("{line}  {}\n", f.note));
    format!("{title}\n{}\n", lines.collect::<String>())
}
