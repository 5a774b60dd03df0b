//! `debye check`: the physics on this machine, against closed forms and plain loops.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use debye::simulation::{DeviceChoice, Simulation};
use debye_checks::cpu::{Finding, SECTIONS};
use serde::Serialize;

use super::{bench, primitives};
use crate::console;
use crate::failure::Failure;
use crate::flags::ThreadFlag;

/// Check every potential, kernel and integrator on this machine
#[derive(Args)]
#[command(after_help = "\
Examples:
  debye check
  debye check --device cuda
  debye check --device cuda --prepare
  debye check --device cuda --prepare examples/water.toml

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
    /// Check nothing: compile the kernels of these simulations, or of usual ones, and keep them on disk
    #[arg(long, value_name = "FILE", num_args = 0.., conflicts_with_all = ["quick", "only", "json"])]
    prepare: Option<Vec<PathBuf>>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One check as JSON.
#[derive(Serialize)]
struct Line<'f> {
    what: &'f str,
    error: f64,
    allowed: f64,
    passed: bool,
    note: &'f str,
}

impl<'f> Line<'f> {
    fn new(finding: &'f Finding) -> Self {
        Self {
            what: &finding.what,
            error: finding.error,
            allowed: finding.allowed,
            passed: finding.passed,
            note: &finding.note,
        }
    }
}

impl Check {
    /// Does it.
    pub fn execute(self) -> Result<ExitCode, Failure> {
        if let Some(files) = &self.prepare {
            return prepare(self.device, files);
        }
        if let DeviceChoice::Cuda(number) = self.device {
            return primitives::check(number, self.quick, self.only.as_deref().unwrap_or(""), self.json);
        }
        let mut all = Vec::new();
        for (title, section) in SECTIONS {
            let found = self.threads.install(|| section().map_err(Failure::failed))?;
            if !self.json {
                console::print(&page(title, &found))?;
            }
            all.extend(found);
        }
        let failed = all.iter().filter(|f| !f.passed).count();
        if self.json {
            console::print(&console::json_list(
                "check/1",
                &all.iter().map(Line::new).collect::<Vec<_>>(),
            )?)?;
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

/// Compiles the kernels of simulations for a CUDA device, all at once.
fn prepare(choice: DeviceChoice, files: &[PathBuf]) -> Result<ExitCode, Failure> {
    let began = Instant::now();
    let (device, _) = primitives::device_for(choice, "--prepare")?;
    console::report_compilations();
    let read = |file: &PathBuf| Simulation::read(file).map_err(Failure::from);
    let simulations: Vec<Simulation> = if files.is_empty() {
        bench::usual()?
    } else {
        files.iter().map(read).collect::<Result<_, _>>()?
    };
    let under_way = simulations.iter().map(|s| debye::run::prepare(s, &device));
    drop(under_way.collect::<Result<Vec<_>, _>>()?);
    let seconds = console::duration(began.elapsed().as_secs_f64());
    console::print(&format!(
        "the kernels of {} simulations are compiled, in {seconds}\n",
        simulations.len()
    ))?;
    Ok(ExitCode::SUCCESS)
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
