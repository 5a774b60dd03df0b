//! `debye run`: a simulation from its input file to its report.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use debye::analysis::BlockAverage;
use debye::engines::InstructionSet;
use debye::engines::cpu::describe;
use debye::engines::{DeviceUse, Needs};
use debye::run::{Averages, Existing, Outcome, Progress, ResumePoint, RunOptions, Summary};
use debye::simulation::{DeviceChoice, MOST_STEPS, Simulation};
use debye::system::{Dimension, Units};
use debye_gpu::Device;
use indicatif::{ProgressBar, ProgressStyle};

use super::{cores, primitives};
use crate::console;
use crate::failure::Failure;
use crate::flags::EngineFlags;
use crate::signals::Wishes;

/// Run a simulation and write its table, trajectory, checkpoints and report
#[derive(Args)]
#[command(after_help = "\
Examples:
  debye run examples/argon-droplet.toml
  debye run melt.toml --precision double --threads 2 --out melt-double
  debye run melt.toml --resume              goes on where it was stopped or killed
  debye run melt.toml --resume --steps 50000   goes on to step 50000
  debye run melt.toml --resume --max-hours 23.5   ends in time for a queue of a day

Ctrl-C, SIGTERM and SIGHUP stop soon and leave a checkpoint; another one, more than a second
later, stops at once. SIGUSR1 writes a checkpoint and goes on.
Exit status: 0 finished, 130 stopped before its last step (by a signal or --max-hours) with
everything saved, 1 the simulation blew up, 2 the input, the folder or the checkpoint was refused.")]
pub struct Run {
    /// The input file (docs/input-file.md)
    input: PathBuf,
    #[command(flatten)]
    engine: EngineFlags,
    /// Steps in all, in place of the file's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MOST_STEPS))]
    steps: Option<u64>,
    /// Stop so many hours after the start at the latest, with everything saved
    #[arg(long, value_name = "H", value_parser = hours)]
    max_hours: Option<f64>,
    /// Output folder, in place of the file's
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go on from the last checkpoint in the output folder
    #[arg(long, conflicts_with = "overwrite")]
    resume: bool,
    /// Replace an output folder that an earlier run left
    #[arg(long)]
    overwrite: bool,
    /// Time every kernel of so many steps on a CUDA device; results stay the same
    #[arg(long, value_name = "STEPS", num_args = 0..=1, require_equals = true, default_missing_value = "200", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    profile: Option<u64>,
    /// Say nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

impl Run {
    /// Does it.
    pub fn execute(self) -> Result<ExitCode, Failure> {
        let began = Instant::now();
        let deadline = self
            .max_hours
            .map(|hours| began + Duration::from_secs_f64(3600.0 * hours));
        let wishes = Wishes::listen()?;
        let mut simulation = Simulation::read(&self.input)?;
        self.engine.apply(&mut simulation);
        if let Some(steps) = self.steps {
            simulation.run.steps = steps;
        }
        if let Some(out) = &self.out {
            simulation.output.folder = Some(out.clone());
        }
        let existing = match (self.resume, self.overwrite) {
            (true, _) => Existing::Resume,
            (_, true) => Existing::Overwrite,
            _ => Existing::Refuse,
        };
        let (device, why) = debye::run::choose_device(&simulation, existing);
        simulation.run.device = device;
        debye::run::inspect(&simulation, existing)?;
        if !self.quiet {
            let memory = debye::run::device_memory(&simulation)?;
            let on_device = matches!(simulation.run.device, DeviceChoice::Cuda(_));
            let from = self
                .resume
                .then(|| debye::run::resume_point(&simulation, on_device))
                .flatten();
            let text = header(&simulation, self.engine.threads.number(), memory, why, from);
            console::print(&text)?;
            console::report_compilations();
        }
        let mut meter = Meter::new(self.quiet);
        let mut progress = |p: Progress| meter.show(p);
        let options = RunOptions {
            threads: self.engine.threads.number(),
            existing,
            device: None,
            profile: self.profile,
            stop: Some(&wishes.stop),
            save: Some(&wishes.save),
            deadline,
            progress: Some(&mut progress),
        };
        let before = began.elapsed().as_secs_f64();
        let result = debye::run::run(&simulation, options);
        meter.clear();
        let summary = result?;
        if !self.quiet {
            console::print(&closing(&simulation, &summary, before))?;
        }
        if summary.outcome == Outcome::OutOfTime && summary.last_step == summary.first_step {
            let needs = "the start and the time kept for saving and the report take longer";
            return Err(Failure::failed(format!(
                "no step fits into --max-hours {}: {needs}; the run is still at step {}",
                self.max_hours.unwrap_or_default(),
                summary.last_step
            )));
        }
        let after = match (summary.outcome, self.max_hours) {
            (Outcome::Finished, _) => return Ok(ExitCode::SUCCESS),
            (Outcome::OutOfTime, Some(1.0)) => " after 1 hour".into(),
            (Outcome::OutOfTime, Some(hours)) => format!(" after {hours} hours"),
            _ => String::new(),
        };
        let step = summary.last_step;
        console::report(&format!("stopped{after} at step {step}; continue with --resume"));
        Ok(ExitCode::from(130))
    }
}

/// Understands a positive number of hours.
fn hours(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(hours) if hours > 0.0 && hours <= 1e6 => Ok(hours),
        _ => Err("expected a number of hours above 0, such as 23.5".into()),
    }
}

fn header(
    simulation: &Simulation,
    threads: Option<usize>,
    memory: Option<Needs>,
    why: Option<String>,
    resumed: Option<ResumePoint>,
) -> String {
    let s = simulation;
    let threads = threads.unwrap_or_else(cores);
    let device = match s.run.device {
        DeviceChoice::Cuda(number) => {
            let device =
                Device::open(number).map_or_else(|_| String::new(), |d| primitives::on_device(d.info()));
            format!("CUDA, {device}, deterministic")
        }
        _ => describe(threads, InstructionSet::detect()),
    };
    let mut rows = vec![(
        "device",
        format!("{device}, {} precision", s.run.precision.name()),
    )];
    rows.extend(why.map(|why| ("chosen", why)));
    rows.extend(memory.map(|needs| ("memory", format!("{needs} on the device"))));
    rows.extend(resumed.map(|point| {
        let elsewhere = match point.elsewhere {
            Some(device) => format!(" of a run on {device}; bits may differ from one run from here on"),
            None => String::new(),
        };
        ("resumes", format!("from step {}{elsewhere}", point.step))
    }));
    rows.extend(debye::run::setup(s));
    let version = env!("CARGO_PKG_VERSION");
    let mut text = format!("debye {version}: {}\n{}", s.title, console::facts(&rows));
    for warning in &s.warnings {
        text += &format!("  warning: {warning}\n");
    }
    text
}

/// What is said at the end. `before`: seconds until the run was asked for.
fn closing(simulation: &Simulation, s: &Summary, before: f64) -> String {
    let mut rows = vec![("start", console::duration(before + s.start_seconds))];
    let steps = s.last_step - s.first_step;
    let mut done = format!(
        "{} steps in {}",
        console::grouped(steps),
        console::duration(s.seconds)
    );
    if s.first_step > 0 {
        done += &format!(", from step {}", s.first_step);
    }
    rows.push(("done", done));
    if steps > 0 {
        let mut speed = format!("{} steps/s", console::short(s.steps_per_second()));
        if let Some(rate) = s.nanoseconds_per_day {
            speed += &format!(", {} ns/day", console::short(rate));
        }
        rows.push(("speed", speed));
    }
    if let Some(d) = s.drift {
        let (rate, error, unit) = match simulation.system.units {
            Units::Md => {
                let [rate, error] = d.per_nanosecond();
                (rate, error, "kT/ns/dof")
            }
            Units::LennardJones => (d.per_freedom, d.per_freedom_error, "kT/τ/dof"),
        };
        let caution = if d.converged {
            ""
        } else {
            " (a short series: the error is a lower bound)"
        };
        let rate = console::measured(rate, error);
        rows.push(("drift", format!("{rate} {unit}{caution}")));
    }
    rows.extend(s.averages.iter().map(|a| ("mean", means(simulation, a))));
    for (name, value) in s.device_use.iter().flat_map(DeviceUse::facts) {
        rows.push((name, value));
    }
    let place = s.report.as_ref().or(s.folder.as_ref());
    rows.extend(place.map(|place| ("see", place.display().to_string())));
    let mut text = console::facts(&rows);
    if let Some(profile) = s.device_use.as_ref().and_then(|d| d.profile.as_ref()) {
        text += &primitives::profile(profile);
    }
    for note in s.notes.iter().filter(|n| !simulation.warnings.contains(n)) {
        text += &format!("  note: {note}\n");
    }
    text
}

/// Temperature, pressure and density with their errors, and from when on.
fn means(simulation: &Simulation, averages: &Averages) -> String {
    let mean = |(name, unit, a): &(String, String, BlockAverage)| {
        format!("{name} {} {unit}", console::measured(a.mean, a.standard_error))
    };
    let all: Vec<String> = averages.columns.iter().map(mean).collect();
    let time = simulation.system.units.label(Dimension::TIME);
    let over = match simulation.run.equilibration {
        0 => format!("all {} rows", console::grouped(averages.rows as u64)),
        _ => format!(
            "{} rows from {} {time} on",
            console::grouped(averages.rows as u64),
            console::short(averages.from)
        ),
    };
    format!("{} ({over})", all.join(", "))
}

/// Steps per second and the time that is left at this rate.
fn pace(p: Progress) -> String {
    let left = p.steps.saturating_sub(p.step) as f64 / p.steps_per_second.max(1e-9);
    let rate = console::short(p.steps_per_second);
    format!("{rate} steps/s, {} left", console::duration(left))
}

/// Shows how far a run is: a bar on a terminal, a line now and then elsewhere.
struct Meter {
    quiet: bool,
    terminal: bool,
    began: Instant,
    last_line: Instant,
    bar: Option<ProgressBar>,
}

/// A bar is for runs that take longer than this.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time between two lines where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(30);

impl Meter {
    fn new(quiet: bool) -> Self {
        let now = Instant::now();
        Self {
            quiet,
            terminal: std::io::stderr().is_terminal(),
            began: now,
            last_line: now,
            bar: None,
        }
    }

    fn show(&mut self, p: Progress) {
        if self.quiet || self.began.elapsed() < PATIENCE {
            return;
        }
        if !self.terminal {
            if self.last_line.elapsed() > LINE_EVERY {
                self.last_line = Instant::now();
                let (step, steps) = (console::grouped(p.step), console::grouped(p.steps));
                console::report(&format!("  step {step} of {steps}, {}", pace(p)));
            }
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let style = "  {wide_bar} {pos}/{len} steps  {msg}";
            let bar = ProgressBar::new(p.steps);
            bar.set_style(
                ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()),
            );
            bar
        });
        bar.set_position(p.step);
        bar.set_message(pace(p));
    }

    fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}
