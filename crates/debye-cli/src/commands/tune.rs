//! `debye tune`: the fastest settings of electrostatics within a tolerance, on this machine.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use debye::input::{electrostatics_lines, electrostatics_tolerance, with_electrostatics};
use debye::plot::{Axis, Chart, Series, Stroke};
use debye::run::Existing;
use debye::run::measure::MeasureError;
use debye::run::tune::{Trial, TuneOptions, Tuned, tune};
use debye::simulation::Simulation;
use debye::system::{Dimension, Units};
use serde::Serialize;

use super::electrostatics::{EstimateLine, MeasuredLine, SettingsLine};
use crate::console;
use crate::failure::Failure;
use crate::flags::EngineFlags;

/// Find the fastest settings of electrostatics whose measured error is within the tolerance
#[derive(Args)]
#[command(after_help = "\
Examples:
  debye tune salt.toml
  debye tune salt.toml --tolerance 1e-5 --write

Cut-offs and orders 4 to 6 are tried, with α and the mesh from the estimates. Each is timed for some tens of steps, and
its forces and its pressure are compared with an exact sum on the system itself after a few steps. Printed are all whose
forces stay within the tolerance, fastest first, and the lines of the best to paste into [[forces]]. With a barostat the
best keeps the error of the pressure within `pressure_tolerance` too. Lennard-Jones keeps its cut-off.
--write puts them there, after a copy of the file as it was (salt.toml.before).")]
pub struct Tune {
    /// The input file (docs/input-file.md)
    input: PathBuf,
    #[command(flatten)]
    engine: EngineFlags,
    /// Relative error of the Coulomb forces [default: the file's `tolerance`, else 5e-4]
    #[arg(long, value_parser = tolerance)]
    tolerance: Option<f64>,
    /// Error of the pressure in bar (md) or ε/σ³ (lj) [default: the file's `pressure_tolerance`, or what a barostat allows]
    #[arg(long, value_parser = pressure, value_name = "P")]
    pressure_tolerance: Option<f64>,
    /// Steps before anything is measured
    #[arg(long, default_value_t = 100, value_name = "N")]
    warm_up: u64,
    /// Seconds to time each of the settings for
    #[arg(long, default_value_t = 0.5, value_parser = seconds)]
    seconds: f64,
    /// Write the best into the input file, keeping its comments
    #[arg(long)]
    write: bool,
    /// Picture of error against time: PNG or SVG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(x) if (1e-9..=0.1).contains(&x) => Ok(x),
        _ => Err("expected a relative error between 1e-9 and 0.1; 5e-4 is usual".into()),
    }
}

fn pressure(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x > 0.0 && x.is_finite() => Ok(x),
        _ => Err("expected a pressure greater than zero, such as 1".into()),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(s) if s > 0.0 && s <= 600.0 => Ok(s),
        _ => Err("expected a number of seconds, at most 600".into()),
    }
}

#[derive(Serialize)]
struct Answer {
    tolerance: f64,
    /// In bar or reduced units, as all pressures here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pressure_tolerance: Option<f64>,
    device: String,
    precision: &'static str,
    particles: usize,
    best: Option<TrialLine>,
    trials: Vec<TrialLine>,
}

#[derive(Serialize)]
struct TrialLine {
    #[serde(flatten)]
    settings: SettingsLine,
    estimated: EstimateLine,
    measured: MeasuredLine,
    #[serde(skip_serializing_if = "Option::is_none")]
    pressure_error: Option<f64>,
    milliseconds_per_step: f64,
}

impl TrialLine {
    fn new(trial: &Trial, units: Units) -> Self {
        let (factor, _) = units.readable(Dimension::PRESSURE);
        Self {
            pressure_error: pressure_error(trial).map(|p| factor * p),
            settings: SettingsLine::new(&trial.plan),
            estimated: trial.expected.into(),
            measured: trial.measured.into(),
            milliseconds_per_step: 1e3 * trial.seconds,
        }
    }
}

impl Tune {
    /// Does it.
    pub fn execute(self) -> Result<ExitCode, Failure> {
        let mut simulation = Simulation::read(&self.input)?;
        self.engine.apply(&mut simulation);
        simulation.run.device = debye::run::choose_device(&simulation, Existing::Refuse).0;
        if simulation.forces.electrostatics.is_none() {
            return Err(MeasureError::Nothing.into());
        }
        if simulation.system.particles.charges.iter().all(|q| *q == 0.0) {
            return Err(MeasureError::NoCharges.into());
        }
        let plotted = self.plot.as_deref().map(format_of).transpose()?;
        let asked = self.tolerance;
        let units = simulation.system.units;
        let (factor, _) = units.readable(Dimension::PRESSURE);
        let asked_pressure = self.pressure_tolerance.map(|p| p / factor);
        let tolerance = asked.or_else(|| electrostatics_tolerance(&simulation.input_text));
        let options = TuneOptions {
            tolerance: tolerance.unwrap_or(DEFAULT),
            pressure_tolerance: asked_pressure.or(simulation.pressure_tolerance),
            warm_up: self.warm_up,
            seconds: self.seconds,
            progress: &mut |what| console::report(&format!("  {what}")),
        };
        let tuned = self.engine.threads.install(|| Ok(tune(&simulation, options)?))?;
        let best = tuned.best.map(|k| &tuned.trials[k]);
        let text = if self.json {
            console::json(
                "tune/1",
                &Answer {
                    tolerance: tuned.tolerance,
                    pressure_tolerance: tuned.pressure_tolerance.map(|p| factor * p),
                    device: tuned.device.clone(),
                    precision: simulation.run.precision.name(),
                    particles: simulation.system.particles.len(),
                    best: best.map(|t| TrialLine::new(t, units)),
                    trials: tuned.trials.iter().map(|t| TrialLine::new(t, units)).collect(),
                },
            )?
        } else {
            table(&simulation, &tuned)
        };
        console::print(&text)?;
        if let (Some(file), Some(plotted)) = (&self.plot, plotted) {
            draw(file, plotted, &tuned)?;
        }
        if let (true, Some(best)) = (self.write, best) {
            let changed = with_electrostatics(&simulation.input_text, &best.plan).ok_or_else(|| {
                let file = self.input.display();
                Failure::refused(format!(
                    "cannot write into {file}: its electrostatics is no [[forces]] of its own. Paste the lines above"
                ))
            })?;
            let mut copy = self.input.clone().into_os_string();
            copy.push(".before");
            let copy = PathBuf::from(copy);
            console::save(&copy, simulation.input_text.as_bytes())?;
            console::save(&self.input, changed.as_bytes())?;
            console::report(&format!(
                "wrote the settings into {}; as it was: {}",
                self.input.display(),
                copy.display()
            ));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Where neither the file nor the command says.
const DEFAULT: f64 = 5e-4;

fn table(simulation: &Simulation, tuned: &Tuned) -> String {
    let units = simulation.system.units;
    let force = units.label(Dimension::FORCE);
    let (factor, bar) = units.readable(Dimension::PRESSURE);
    let head = [
        "kind",
        &format!("cut-off ({})", units.label(Dimension::LENGTH)),
        &format!("α ({})", units.label(Dimension::PER_LENGTH)),
        "mesh",
        "order",
        &format!("estimated ({force})"),
        &format!("measured ({force})"),
        "relative",
        &format!("pressure ({bar})"),
        "ms per step",
    ]
    .map(String::from);
    let mut rows = vec![head.to_vec()];
    for trial in &tuned.trials {
        let words = trial.plan.sum_in_words();
        let (mesh, order) = words.rsplit_once(", ").unwrap_or((&words, ""));
        rows.push(vec![
            trial.plan.kind().to_owned(),
            console::short(trial.plan.cutoff),
            console::short(trial.plan.alpha),
            mesh.trim_start_matches("mesh ").to_owned(),
            order.trim_start_matches("order ").to_owned(),
            format!("{:.1e}", trial.expected.total()),
            format!("{:.1e}", trial.measured.absolute),
            format!("{:.1e}", trial.measured.relative),
            pressure_error(trial).map_or_else(|| "-".into(), |p| format!("{:+.1e}", factor * p)),
            console::short(1e3 * trial.seconds),
        ]);
    }
    let mut text = format!(
        "measured relative error at most {:e}{}, {} precision, on {}\n{}",
        tuned.tolerance,
        tuned.pressure_tolerance.map_or_else(String::new, |p| format!(
            ", error of the pressure at most {} {bar}",
            console::short(factor * p)
        )),
        simulation.run.precision.name(),
        tuned.device,
        console::columns(&rows)
    );
    match tuned.best {
        Some(best) => {
            text += &format!(
                "the fastest, for [[forces]]:\n{}",
                electrostatics_lines(&tuned.trials[best].plan)
            );
        }
        None if tuned.pressure_tolerance.is_some() => {
            text += "none of them is within both tolerances: ask for less, or allow a longer cut-off\n";
        }
        None => text += "none of them is within the tolerance\n",
    }
    text
}

fn pressure_error(trial: &Trial) -> Option<f64> {
    trial.sums.and_then(|sums| sums.pressure)
}

#[derive(Clone, Copy)]
enum Plotted {
    Png,
    Svg,
}

fn format_of(file: &Path) -> Result<Plotted, Failure> {
    match file.extension().and_then(|e| e.to_str()) {
        Some("png") => Ok(Plotted::Png),
        Some("svg") => Ok(Plotted::Svg),
        _ => Err(Failure::refused(format!(
            "cannot draw {}: expected a name that ends in .png or .svg",
            file.display()
        ))),
    }
}

/// Measured errors over the time of a step, one curve for each basis.
fn draw(file: &Path, format: Plotted, tuned: &Tuned) -> Result<(), Failure> {
    let mut chart = Chart::new(
        "Electrostatics: error against time",
        Axis::log("time of a step (ms)"),
        Axis::log("measured relative error of forces"),
    );
    let mut names: Vec<String> = Vec::new();
    let name = |t: &Trial| {
        let words = t.plan.sum_in_words();
        let order = words.rsplit_once(", ").map_or("", |(_, order)| order);
        format!("{}, {order}", t.plan.kind())
    };
    for trial in &tuned.trials {
        if !names.contains(&name(trial)) {
            names.push(name(trial));
        }
    }
    names.sort();
    for of in names {
        let some = tuned.trials.iter().filter(|t| name(t) == of);
        let (x, y): (Vec<f64>, Vec<f64>) = some.map(|t| (1e3 * t.seconds, t.measured.relative)).unzip();
        chart = chart.with(Series::new(&of, &x, &y).with_stroke(Stroke::Dots));
    }
    let times = || tuned.trials.iter().map(|t| 1e3 * t.seconds);
    let ends = [times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max)];
    let limit = Series::new("allowed", &ends, &[tuned.tolerance; 2]);
    chart = chart.with(limit.with_stroke(Stroke::Dashed));
    match format {
        Plotted::Png => console::save(file, &chart.to_png()?),
        Plotted::Svg => console::save(file, chart.to_svg().as_bytes()),
    }
}
