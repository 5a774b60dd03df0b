//! `debye run`: a simulation from its input file to its report.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use clap::Args;
use debye::backend::cpu::describe;
use debye::backend::cpu::simd::InstructionSet;
use debye::backend::cuda::Device;
use debye::backend::{DeviceUse, Needs};
use debye::input::{DeviceChoice, Simulation};
use debye::run::{Existing, Outcome, Progress, RunOptions, Summary};
use debye::system::{Cell, Dimension, Units};
use debye::truncation::Truncation;
use indicatif::{ProgressBar, ProgressStyle};
use signal_hook::consts::{SIGINT, SIGTERM};

use super::{cores, primitives};
use crate::console;
use crate::failure::Failure;
use crate::flags::EngineFlags;

/// Run a simulation and write its table, trajectory, checkpoints and report
#[derive(Args)]
#[command(after_help = "\
Examples:
  debye run examples/argon-droplet.toml
  debye run melt.toml --precision double --threads 2 --out melt-double
  debye run melt.toml --resume              goes on where it was stopped or killed
  debye run melt.toml --resume --steps 50000   goes on to step 50000

Ctrl-C stops soon and leaves a checkpoint; a second Ctrl-C stops at once.
Exit status: 0 finished, 130 interrupted with everything saved, 1 the simulation blew up,
2 the input, the folder or the checkpoint was refused.")]
pub struct Run {
    /// The input file (docs/input-file.md)
    input: PathBuf,
    #[command(flatten)]
    engine: EngineFlags,
    /// Steps in all, in place of the file's
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
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
        let stop = stop_on_signals()?;
        let mut simulation = Simulation::read(&self.input)?;
        self.engine.apply(&mut simulation);
        if let Some(steps) = self.steps {
            simulation.run.steps = steps;
        }
        if let Some(out) = &self.out {
            simulation.output.folder.clone_from(out);
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
            let text = header(&simulation, self.engine.threads.number(), memory, why);
            console::print(&text)?;
        }
        let mut meter = Meter::new(self.quiet);
        let mut progress = |p: Progress| meter.show(p);
        let options = RunOptions {
            threads: self.engine.threads.number(),
            existing,
            device: None,
            profile: self.profile,
            stop: Some(&stop),
            progress: Some(&mut progress),
        };
        let result = debye::run::run(&simulation, options);
        meter.clear();
        let summary = result?;
        if !self.quiet {
            console::print(&closing(&simulation, &summary))?;
        }
        Ok(match summary.outcome {
            Outcome::Finished => ExitCode::SUCCESS,
            Outcome::Interrupted => {
                let resume = format!("stopped at step {}; continue with --resume", summary.last_step);
                console::tell(&resume);
                ExitCode::from(130)
            }
        })
    }
}

/// A flag that Ctrl-C and SIGTERM set; the second of them ends the program at once.
fn stop_on_signals() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for (signal, status) in [(SIGINT, 130), (SIGTERM, 143)] {
        // In this order: the first signal finds the flag down and only raises it.
        signal_hook::flag::register_conditional_shutdown(signal, status, Arc::clone(&stop))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
            .map_err(|e| Failure::failed(format!("cannot listen to signals: {e}")))?;
    }
    Ok(stop)
}

fn header(
    simulation: &Simulation,
    threads: Option<usize>,
    memory: Option<Needs>,
    why: Option<String>,
) -> String {
    let s = simulation;
    let unit = |d| s.system.units.label(d);
    let threads = threads.unwrap_or_else(cores);
    let (device, place) = match s.run.device {
        DeviceChoice::Cuda(number) => {
            let device =
                Device::open(number).map_or_else(|_| String::new(), |d| primitives::on_device(d.info()));
            (format!("CUDA, {device}, deterministic"), "the CUDA device")
        }
        _ => (describe(threads, InstructionSet::detect()), "the CPU"),
    };
    let particles = s.system.particles.len() as u64;
    let mut rows = vec![(
        "device",
        format!("{device}, {} precision", s.run.precision.name()),
    )];
    rows.extend(why.map(|why| ("chosen", why)));
    rows.extend(memory.map(|needs| ("memory", format!("{needs} on the device"))));
    rows.extend([
        (
            "particles",
            format!("{} ({})", console::grouped(particles), species(s)),
        ),
        ("cell", describe_cell(&s.system.cell, s.system.units)),
    ]);
    for (name, what) in terms(s) {
        let what = if what.starts_with(&name) {
            what
        } else {
            format!("{name}: {what}")
        };
        rows.push(("force", format!("{what}, on {place}")));
    }
    let charges = debye::forces::pme::expected::describe(&s.system, &s.forces, s.pressure_tolerance);
    rows.extend(charges.map(|line| ("charges", line)));
    let (cutoff, length) = (s.forces.cutoff(), unit(Dimension::LENGTH));
    if cutoff > 0.0 {
        rows.push(("cut-off", format!("{} {length}", console::short(cutoff))));
    }
    let step = s.dynamics.timestep;
    rows.push((
        "run",
        format!(
            "{} steps of {step} {}",
            console::grouped(s.run.steps),
            unit(Dimension::TIME)
        ),
    ));
    rows.push(("output", s.output.folder.display().to_string()));
    let version = env!("CARGO_PKG_VERSION");
    let mut text = format!("debye {version}: {}\n{}", s.title, console::facts(&rows));
    for warning in &s.warnings {
        text += &format!("  warning: {warning}\n");
    }
    text
}

fn species(simulation: &Simulation) -> String {
    let system = &simulation.system;
    let mut counts = vec![0_u64; system.species.len()];
    for &s in &system.particles.species {
        counts[s as usize] += 1;
    }
    let names = system.species.iter().zip(counts);
    names
        .map(|(s, n)| format!("{} {}", s.name, console::grouped(n)))
        .collect::<Vec<_>>()
        .join(", ")
}

fn describe_cell(cell: &Cell, units: Units) -> String {
    let length = units.label(Dimension::LENGTH);
    let [a, b, c] = cell.to_arrays();
    let short = console::short;
    let size = if cell.is_orthorhombic() {
        format!("{} × {} × {} {length}", short(a[0]), short(b[1]), short(c[2]))
    } else {
        let row = |v: [f64; 3]| format!("({}, {}, {})", short(v[0]), short(v[1]), short(v[2]));
        format!("{} {} {} {length}", row(a), row(b), row(c))
    };
    match cell.periodic() {
        [true, true, true] => format!("{size}, periodic"),
        [false, false, false] => format!("{size}, open"),
        along => {
            let names: String = ["a", "b", "c"]
                .iter()
                .zip(along)
                .filter(|(_, on)| *on)
                .map(|(name, _)| *name)
                .collect();
            format!("{size}, periodic along {names}")
        }
    }
}

/// Name of every term and what it is.
fn terms(simulation: &Simulation) -> Vec<(String, String)> {
    let f = &simulation.forces;
    let t = &simulation.system.topology;
    let mut rows = Vec::new();
    for term in &f.pairs {
        let end = match term.truncation {
            Truncation::Cut => "cut",
            Truncation::Shift => "shifted",
            Truncation::ForceShift => "force-shifted",
            Truncation::Switch { .. } => "switched",
        };
        let tail = if term.tail { ", tail correction" } else { "" };
        rows.push((
            term.name.clone(),
            format!("{} over pairs, {end}{tail}", term.family.name()),
        ));
    }
    let mut bonded = |name: &str, family: &str, count: usize, what: &str| {
        rows.push((name.to_owned(), format!("{family}, {count} {what}")));
    };
    f.bonds
        .iter()
        .for_each(|b| bonded(&b.name, b.family.name(), t.bonds.len(), "bonds"));
    f.angles
        .iter()
        .for_each(|b| bonded(&b.name, b.family.name(), t.angles.len(), "angles"));
    f.dihedrals
        .iter()
        .for_each(|b| bonded(&b.name, b.family.name(), t.dihedrals.len(), "dihedrals"));
    f.impropers
        .iter()
        .for_each(|b| bonded(&b.name, b.family.name(), t.impropers.len(), "impropers"));
    rows
}

fn closing(simulation: &Simulation, s: &Summary) -> String {
    let mut rows = Vec::new();
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
        rows.push(("drift", format!("{rate:.2e} ± {error:.1e} {unit}{caution}")));
    }
    for (name, value) in s.device_use.iter().flat_map(DeviceUse::facts) {
        rows.push((name, value));
    }
    let place = s.report.as_ref().unwrap_or(&s.folder);
    rows.push(("see", place.display().to_string()));
    let mut text = console::facts(&rows);
    if let Some(profile) = s.device_use.as_ref().and_then(|d| d.profile.as_ref()) {
        text += &primitives::profile(profile);
    }
    for note in s.notes.iter().filter(|n| !simulation.warnings.contains(n)) {
        text += &format!("  note: {note}\n");
    }
    text
}

/// Shows how far a run is: a bar on a terminal, a line now and then elsewhere.
struct Meter {
    quiet: bool,
    terminal: bool,
    began: Instant,
    told: Instant,
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
            told: now,
            bar: None,
        }
    }

    fn show(&mut self, p: Progress) {
        if self.quiet || self.began.elapsed() < PATIENCE {
            return;
        }
        if !self.terminal {
            if self.told.elapsed() > LINE_EVERY {
                self.told = Instant::now();
                let (step, steps) = (console::grouped(p.step), console::grouped(p.steps));
                let left = (p.steps - p.step) as f64 / p.steps_per_second.max(1e-9);
                console::tell(&format!(
                    "  step {step} of {steps}, {} steps/s, {} left",
                    console::short(p.steps_per_second),
                    console::duration(left)
                ));
            }
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let style = "  {wide_bar} {pos}/{len} steps  {msg}  {eta} left";
            let bar = ProgressBar::new(p.steps);
            bar.set_style(
                ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()),
            );
            bar.set_position(p.step);
            bar.reset_eta();
            bar
        });
        bar.set_position(p.step);
        bar.set_message(format!("{} steps/s", console::short(p.steps_per_second)));
    }

    fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}
