//! `debye energy`: one evaluation of what an input file describes.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use debye::engines::{Observation, Precision};
use debye::expr::Vec3;
use debye::input::InputOptions;
use debye::simulation::Simulation;
use debye::system::{Dimension, Units};
use serde::{Serialize, Serializer};

use super::electrostatics::Checked;
use crate::console;
use crate::failure::Failure;
use crate::flags::EngineFlags;

/// Evaluate energies, pressure and forces once, as the input file starts
#[derive(Args)]
#[command(after_help = "\
Examples:
  debye energy examples/argon-droplet.toml
  debye energy melt.toml --json
  debye energy melt.toml --forces forces.csv
  debye energy salt.toml --check-electrostatics

Nothing moves: no minimization, no step; the file needs neither [integrator] nor [run]. The arithmetic is double unless --precision says otherwise.
Numbers of --json are in the run's own units, as plain numbers in the input file are
(md: kJ/mol, nm, K, pressure in kJ/mol/nm³, and pressure_bar besides). The pressure tensor is
xx yy zz xy xz yz; pressure and volume are null where the cell is open in any direction. Particles in the file of forces are counted from 1.")]
pub struct Energy {
    /// The input file (docs/input-file.md)
    input: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Write the force on every particle: id,fx,fy,fz
    #[arg(long, value_name = "FILE")]
    forces: Option<PathBuf>,
    /// Measure the error of the Coulomb forces against a sum in double precision: an Ewald sum, or all pairs of an open system
    #[arg(long)]
    check_electrostatics: bool,
    #[command(flatten)]
    engine: EngineFlags,
}

/// What is printed.
#[derive(Serialize)]
struct Answer {
    units: &'static str,
    particles: usize,
    precision: &'static str,
    /// Left out on the CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    device_memory_bytes: Option<usize>,
    /// Left out where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    electrostatics: Option<Checked>,
    #[serde(serialize_with = "in_order")]
    terms: Vec<(String, f64)>,
    potential: f64,
    kinetic: f64,
    temperature: f64,
    volume: Option<f64>,
    pressure: Option<f64>,
    pressure_tensor: Option<[f64; 6]>,
    /// Left out where the unit means nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pressure_bar: Option<Option<f64>>,
    unit_labels: Labels,
    /// What the header of a run says of the system and its forces.
    setup: Vec<Fact>,
    warnings: Vec<String>,
}

/// A row of the header.
#[derive(Serialize)]
struct Fact {
    fact: &'static str,
    text: String,
}

#[derive(Serialize)]
struct Labels {
    energy: String,
    length: String,
    temperature: String,
    pressure: String,
    force: String,
}

fn in_order<S: Serializer>(terms: &[(String, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(terms.iter().map(|(name, energy)| (name, energy)))
}

impl Energy {
    /// Does it.
    pub fn execute(self) -> Result<ExitCode, Failure> {
        let options = InputOptions {
            moves: false,
            ..InputOptions::default()
        };
        let mut simulation = Simulation::read_with(&self.input, &options)?;
        simulation.run.precision = Precision::Double;
        self.engine.apply(&mut simulation);
        let (seen, [forces, torques], device) = self.engine.threads.install(|| {
            let mut engine = debye::run::engine(&simulation)?;
            let seen = engine.observe()?;
            Ok((seen, [engine.forces()?, engine.torques()?], engine.device_use()))
        })?;
        if let Some(file) = &self.forces {
            write_forces(file, &forces, &torques)?;
        }
        let charges = if self.check_electrostatics {
            let measured = self.engine.threads.install(|| Checked::measured(&simulation))?;
            Some(measured)
        } else {
            Checked::expected(&simulation)
        };
        let mut answer = Answer::new(&simulation, seen);
        answer.electrostatics = charges;
        answer.device_memory_bytes = device.as_ref().map(|device| device.memory.total());
        let text = if self.json {
            console::json("energy/1", &answer)?
        } else {
            let memory = device.map(|device| format!("device memory: {}\n", device.memory));
            memory.unwrap_or_default() + &answer.table(&forces)
        };
        console::print(&text)?;
        let coarse = debye::run::coarse_coordinates(&simulation);
        for warning in simulation.warnings.iter().chain(&coarse) {
            console::report(&format!("warning: {warning}"));
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Answer {
    fn new(simulation: &Simulation, seen: Observation) -> Self {
        let units = simulation.system.units;
        let label = |d| units.label(d);
        let pressure = seen.pressure();
        Self {
            units: match units {
                Units::Md => "md",
                Units::LennardJones => "lj",
            },
            particles: simulation.system.particles.len(),
            precision: simulation.run.precision.name(),
            device_memory_bytes: None,
            electrostatics: None,
            potential: seen.potential,
            kinetic: seen.kinetic,
            temperature: seen.temperature,
            volume: pressure.map(|_| seen.cell.volume()),
            pressure,
            pressure_tensor: pressure.map(|_| seen.pressure_tensor),
            pressure_bar: (units == Units::Md).then(|| pressure.map(|p| p * units.bar())),
            terms: seen.terms,
            unit_labels: Labels {
                energy: label(Dimension::ENERGY),
                length: label(Dimension::LENGTH),
                temperature: label(Dimension::TEMPERATURE),
                pressure: label(Dimension::PRESSURE),
                force: label(Dimension::FORCE),
            },
            setup: debye::run::setup(simulation)
                .into_iter()
                .map(|(fact, text)| Fact { fact, text })
                .collect(),
            warnings: simulation.warnings.clone(),
        }
    }

    fn table(&self, forces: &[Vec3<f64>]) -> String {
        let l = &self.unit_labels;
        let n = self.particles.max(1) as f64;
        let energy = |name: &str, value: f64| {
            vec![
                name.to_owned(),
                number(value),
                l.energy.clone(),
                number(value / n),
            ]
        };
        let mut rows = vec![["energy", "total", "", "per particle"].map(String::from).to_vec()];
        rows.extend(
            self.terms
                .iter()
                .map(|(name, value)| energy(&format!("  {name}"), *value)),
        );
        rows.push(energy("potential", self.potential));
        rows.push(energy("kinetic", self.kinetic));
        let mut plain = |name: &str, value: f64, unit: &str| {
            rows.push(vec![name.to_owned(), number(value), unit.to_owned()]);
        };
        plain("temperature", self.temperature, &l.temperature);
        if let (Some(pressure), Some(tensor)) = (self.pressure, self.pressure_tensor) {
            plain("pressure", pressure, &l.pressure);
            if let Some(bar) = self.pressure_bar.flatten() {
                plain("", bar, "bar");
            }
            for (name, value) in ["xx", "yy", "zz", "xy", "xz", "yz"].iter().zip(tensor) {
                plain(&format!("  {name}"), value, &l.pressure);
            }
        }
        if let Some(volume) = self.volume {
            plain("volume", volume, &format!("{}³", l.length));
        }
        let largest = forces.iter().map(|f| f.norm2()).fold(0.0, f64::max).sqrt();
        plain("largest force", largest, &l.force);
        let count = console::grouped(self.particles as u64);
        let charges = self.electrostatics.as_ref().map_or("", Checked::text);
        format!(
            "{count} particles, {} precision\n{charges}{}",
            self.precision,
            console::columns(&rows)
        )
    }
}

/// Forces, and torques where anything turns.
fn write_forces(path: &Path, forces: &[Vec3<f64>], torques: &[Vec3<f64>]) -> Result<(), Failure> {
    let mut text = String::from(if torques.is_empty() {
        "id,fx,fy,fz\n"
    } else {
        "id,fx,fy,fz,tx,ty,tz\n"
    });
    for (i, f) in forces.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = write!(text, "{},{},{},{}", i + 1, f.x, f.y, f.z);
        if let Some(t) = torques.get(i) {
            let _ = write!(text, ",{},{},{}", t.x, t.y, t.z);
        }
        text.push('\n');
    }
    console::save(path, text.as_bytes())
}

/// Eight decimals; no sign before zeros.
fn number(value: f64) -> String {
    let text = format!("{value:.8}");
    match text.strip_prefix('-') {
        Some(rest) if rest.chars().all(|c| c == '0' || c == '.') => rest.to_owned(),
        _ => text,
    }
}
