//! `debye study`: the papers that Debye unites, measured again on this machine.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use debye::simulation::DeviceChoice;
use debye::suggest::nearest;
use debye_gpu::{Device, Nvrtc};

use debye_studies::study::{Bench, Extent, Journal, Profile, Row};
use debye_studies::{STUDIES, Study};

use crate::console;
use crate::failure::Failure;
use crate::signals::Wishes;

/// Measure a paper's algorithms on this machine: every version, checked, with its tables and figures
#[derive(Args)]
#[command(after_help = "\
Examples:
  debye study
  debye study prefix-sum --quick -o scans
  debye study potential-map --device cuda -o maps
  debye study charge-mapping --quick -o mapping
  debye study spme --quick -o ewald --resume

Each version of an algorithm is compared with double precision and timed: the median of several rounds counts. \
DIR gets report.html, results.csv, results.json, figures as SVG and PNG, and films as animated PNG. Without a CUDA device the versions for \
the CPU run and the others say so. Ctrl-C stops early and writes what there is; --resume measures the rest. The exit status is 1 when any version \
is wrong.")]
pub struct StudyCommand {
    /// The study; none or `list` for a list of them
    name: Option<String>,
    /// Where to compute: auto, cpu, cuda or cuda:N
    #[arg(long, default_value = "auto")]
    device: DeviceChoice,
    /// Small sizes: less than three minutes on two cores
    #[arg(long)]
    quick: bool,
    /// The smallest sizes: seconds, for tests
    #[arg(long, hide = true, conflicts_with = "quick")]
    smallest: bool,
    /// The folder for reports, tables and figures
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    /// A profile of the kernels, as `ncu --csv` writes it: for the counters of charge-mapping
    #[arg(long, value_name = "FILE")]
    counters: Option<PathBuf>,
    /// Write into a folder that is there already
    #[arg(long)]
    overwrite: bool,
    /// Go on with the study that was stopped early in this folder: its measurements are taken over, simulations run again
    #[arg(long, conflicts_with = "overwrite")]
    resume: bool,
}

impl StudyCommand {
    /// Does it.
    pub fn execute(self) -> Result<ExitCode, Failure> {
        let name = self.name.as_deref().unwrap_or("list");
        if name == "list" {
            console::print(&list())?;
            return Ok(ExitCode::SUCCESS);
        }
        let study = Study::find(name).ok_or_else(|| unknown(name))?;
        let profile = self.counters.as_deref().map(|file| profile(study, file));
        let profile = profile.transpose()?;
        let Some(folder) = &self.output else {
            return Err(Failure::refused("say where the report goes: -o DIR"));
        };
        let device = match self.device {
            DeviceChoice::Cpu => Err("--device cpu".to_string()),
            DeviceChoice::Cuda(number) => Ok(Device::open(number).map_err(Failure::refused)?),
            DeviceChoice::Auto => Device::open(0)
                .map_err(|_| "no CUDA device".to_string())
                .and_then(|device| Nvrtc::get().map(|_| device).map_err(|error| error.to_string())),
        };
        let extent = match (self.smallest, self.quick) {
            (true, _) => Extent::Smallest,
            (_, true) => Extent::Quick,
            _ => Extent::Full,
        };
        let named = device.as_ref().map(|device| device.info().name.clone());
        let named = named.map_err(Clone::clone);
        let journal = if self.resume {
            Journal::resume(folder, study, extent, &named).map_err(Failure::refused)?
        } else {
            if Journal::is_in(folder) && !self.overwrite {
                return Err(Failure::refused(format!(
                    "{} has a study that stopped early; --resume goes on with it, --overwrite begins anew",
                    folder.display()
                )));
            }
            console::new_folder(folder, self.overwrite)?;
            Journal::begin(folder, study, extent, &named).map_err(Failure::refused)?
        };
        if self.resume {
            console::print(&format!("{} measurements are there already\n", journal.known()))?;
        }
        let wishes = Wishes::listen()?;
        let began = Instant::now();
        let without = device.as_ref().err().cloned();
        let mut left_out = 0;
        let mut show = |row: &Row| {
            if row.skipped.is_some() && row.skipped == without {
                left_out += 1;
                return;
            }
            // Where nobody reads, the files will say it.
            let _ = console::print(&line(row));
        };
        let mut bench = Bench::new(extent, device, &wishes.stop, &mut show);
        bench.counters = profile;
        bench.journal = Some(journal);
        let done = study.run(&mut bench);
        let (stopped, journal) = (bench.stopped(), bench.journal.take());
        let found = bench.found;
        // Also what was measured before something went wrong.
        found.save(study, folder).map_err(Failure::failed)?;
        done.map_err(Failure::failed)?;
        if let Some(why) = without {
            console::print(&format!("  {left_out} measurements on a device not run: {why}\n"))?;
        }
        let failures = found.failures().count();
        let report = folder.join("report.html");
        console::print(&format!(
            "{} measurements in {}: {}\n",
            found.rows.iter().filter(|row| row.seconds.is_some()).count(),
            console::duration(began.elapsed().as_secs_f64()),
            report.display()
        ))?;
        if failures > 0 {
            return Err(Failure::failed(format!(
                "{failures} measurements failed their check"
            )));
        }
        if stopped {
            return Err(Failure::interrupted(
                "stopped early; what was measured is written, and --resume measures the rest",
            ));
        }
        if let Some(journal) = journal {
            journal.end().map_err(Failure::failed)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// What to say of a study that there is not.
fn unknown(name: &str) -> Failure {
    let meant = nearest(name, STUDIES.iter().map(|study| study.name));
    let meant = meant.map_or(String::new(), |near| format!(" Did you mean `{near}`?"));
    Failure::refused(format!(
        "there is no study `{name}`.{meant} These are:\n{}",
        list().trim_end()
    ))
}

/// Reads a profile, where the study takes one.
fn profile(study: &Study, file: &Path) -> Result<Profile, Failure> {
    if !study.counters {
        let takers: Vec<&str> = STUDIES.iter().filter(|s| s.counters).map(|s| s.name).collect();
        return Err(Failure::refused(format!(
            "{} reads no profile; leave --counters out. These do: {}",
            study.name,
            takers.join(", ")
        )));
    }
    Profile::read(file).map_err(Failure::refused)
}

fn list() -> String {
    let one = |study: &Study| {
        format!(
            "{}\n  paper     {}\n  measures  {}\n  page      {}\n",
            study.name, study.paper, study.what, study.page
        )
    };
    STUDIES.iter().map(one).collect()
}

/// A measurement in a line.
fn line(row: &Row) -> String {
    let how = match (row.seconds, &row.failure, &row.skipped) {
        (_, Some(failure), _) => format!("FAILED: {failure}"),
        (Some(seconds), ..) => format!(
            "{:>10} s  {:>10} {}/s  error {:.0e}",
            console::short(seconds),
            console::short(row.work / seconds),
            row.unit,
            row.error.unwrap_or(f64::NAN)
        ),
        (.., Some(why)) => format!("not run: {why}"),
        _ => String::new(),
    };
    format!(
        "  {:<27} {:<32} {:<38} {how}\n",
        row.ladder, row.variant, row.input
    )
}
