//! `debye bench`: steps per second on the standard cases, through the code that `debye run` uses.

mod cases;
mod compare;
mod timing;

use std::path::PathBuf;
use std::process::ExitCode;

pub use cases::usual;
use cases::{CASES, PRIMITIVES, Selection};
use clap::Args;
use debye::engines::cuda::{Choice, CudaEngine};
use debye::engines::{DeviceUse, Engine, Precision, Settings};
use debye::run::Existing;
use debye::simulation::{DeviceChoice, Simulation};
use debye::system::Units;
use debye_gpu::Device;
use serde::Serialize;

use super::{fft, mapping, primitives};
use crate::console;
use crate::failure::Failure;
use crate::flags::{ThreadFlag, precision};

/// Cases that are measured unless others are named.
const DEFAULT_CASES: &[&str] = &["lj4k", "lj32k", "argon-droplet"];

/// Measure steps per second and ns per day on the standard cases
#[derive(Args)]
#[command(after_help = after_help())]
pub struct Bench {
    /// Cases, separated by commas [default: lj4k,lj32k,argon-droplet; with --compare lj32k,nacl6k,water97k]
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    cases: Vec<String>,
    /// Arithmetic, one or more separated by commas
    #[arg(long, value_delimiter = ',', default_value = "mixed", value_parser = precision(), value_name = "NAMES")]
    precision: Vec<Precision>,
    /// Where to compute: auto, cpu, cuda or cuda:N
    #[arg(long, default_value = "auto")]
    device: DeviceChoice,
    #[command(flatten)]
    threads: ThreadFlag,
    /// Seconds to measure each for, after the warm-up
    #[arg(long, default_value_t = 10.0, value_parser = seconds)]
    seconds: f64,
    /// Time every kernel of so many further steps on a CUDA device
    #[arg(long, value_name = "STEPS", num_args = 0..=1, require_equals = true, default_missing_value = "200", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    profile: Option<u64>,
    /// Make the cases of rigid water of copies of this box of 895 molecules, O H H, instead of building them, or those of
    /// bilayers of this LAMMPS data
    #[arg(long, value_name = "FILE")]
    structure: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Lay small systems out on a CUDA device so: lanes, threads, buffer, cached, staged; 0 or nothing for the rule
    #[arg(long, hide = true, value_parser = LayoutOverride::parse, value_name = "NUMBERS")]
    small: Vec<LayoutOverride>,
    #[command(flatten)]
    comparison: compare::Options,
    #[command(flatten)]
    meshes: fft::Flags,
    #[command(flatten)]
    mapping: mapping::Options,
}

/// A layout of a small system, as the command line has it.
#[derive(Clone, Debug)]
struct LayoutOverride {
    text: String,
    choice: Choice,
}

impl LayoutOverride {
    fn parse(text: &str) -> Result<Self, String> {
        let numbers: Result<Vec<f64>, _> = text.split(',').map(|x| x.trim().parse::<f64>()).collect();
        let numbers = numbers.map_err(|e| format!("{e}; expected numbers separated by commas"))?;
        let number = |k: usize| numbers.get(k).copied();
        let size = |k: usize| number(k).filter(|&x| x > 0.0).map(|x| x as u32);
        if size(0).is_some_and(|lanes| lanes > 32 || !lanes.is_power_of_two()) {
            return Err("expected 1, 2, 4, 8, 16 or 32 lanes".into());
        }
        Ok(Self {
            text: text.into(),
            choice: Choice {
                small: Some(true),
                lanes: size(0),
                threads: size(1),
                cached: number(3).map(|x| x != 0.0),
                staged: number(4).map(|x| x != 0.0),
                buffer: number(2).filter(|&x| x > 0.0),
                ..Choice::default()
            },
        })
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(s) if s > 0.0 && s <= 3600.0 => Ok(s),
        _ => Err("expected a number of seconds, at most 3600".into()),
    }
}

fn after_help() -> String {
    let mut text = String::from(
        "Examples:\n  debye bench\n  debye bench --cases lj32k,lj1m --precision mixed,double --json\n  \
         debye bench --compare --cases lj32k,nacl6k --rounds 5 -o compare\n\nCases:\n",
    );
    for case in CASES {
        text += &format!("  {:14} {}\n", case.name, case.what);
    }
    text += &format!("  {:14} LJ melt of about N atoms, such as lj:10000000\n", "lj:N");
    for (name, what) in PRIMITIVES {
        text += &format!("  {name:14} {what}\n");
    }
    text + "\nLJ melts: ρ* 0.8442, started at T* 1.44 (fcc), cut at 2.5 σ, Δt* 0.005, NVE. Water is built at the density of\n\
            895 molecules in (3 nm)³, or made of copies of such a box by --structure. The energy of the\n\
            first configuration is compared with a stored value before anything is timed, but for\n\
            those copies.\n\n\
            --compare measures melts, salt and water by other programs as well, round by round, each\n\
            with the same threads and from the equilibrated configuration of the case. The error of\n\
            their forces on that configuration is root mean square, relative, and against an Ewald sum\n\
            in double precision. GROMACS and OpenMM run melts as argon, cut at 2.5 σ. Ctrl-C\n\
            keeps what was measured."
}

/// What was measured.
#[derive(Serialize)]
struct Measured {
    case: String,
    /// How it was laid out, if the command line says.
    #[serde(skip_serializing_if = "Option::is_none")]
    layout: Option<String>,
    particles: usize,
    device: String,
    precision: &'static str,
    threads: usize,
    steps_per_second: f64,
    ns_per_day: Option<f64>,
    microseconds_per_atom_step: f64,
    bytes_per_particle: f64,
    steps: u64,
    seconds: f64,
    /// The fastest stretch, for machines that others use too.
    best_steps_per_second: f64,
    /// Of the first configuration; left out where it comes from a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    energy_error: Option<f64>,
    /// What a CUDA device did for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    device_use: Option<DeviceLine>,
}

/// What a CUDA device did, and the kernels of a profile.
#[derive(Serialize)]
struct DeviceLine {
    kernels_per_step: f64,
    graph_replays: u64,
    host_microseconds_per_step: f64,
    steps_per_list: f64,
    memory_bytes: usize,
    kernels: Vec<KernelLine>,
    #[serde(skip)]
    text: String,
}

/// A kernel in a profile.
#[derive(Serialize)]
struct KernelLine {
    name: String,
    launches: u64,
    microseconds: f64,
    share: f64,
    bytes: f64,
    share_of_bandwidth: Option<f64>,
}

impl DeviceLine {
    fn new(found: &DeviceUse) -> Self {
        let steps = found.steps.max(1) as f64;
        let mut text = String::new();
        let mut kernels = Vec::new();
        if let Some(profile) = &found.profile {
            let facts: Vec<(&str, String)> = found.facts();
            text = console::facts(&facts) + &primitives::profile(profile);
            kernels.extend(profile.kernels.iter().map(|k| KernelLine {
                name: k.name.clone(),
                launches: k.launches,
                microseconds: 1e6 * k.seconds / k.launches.max(1) as f64,
                share: k.seconds / profile.seconds(),
                bytes: k.bytes / k.launches.max(1) as f64,
                share_of_bandwidth: profile.bandwidth.map(|limit| k.bytes / k.seconds / limit),
            }));
        }
        Self {
            kernels_per_step: found.launches as f64 / steps,
            graph_replays: found.replays,
            host_microseconds_per_step: 1e6 * found.host_seconds / steps,
            steps_per_list: steps / found.lists.max(1) as f64,
            memory_bytes: found.memory.total(),
            kernels,
            text,
        }
    }
}

impl Bench {
    /// The cases that were named, or the usual ones.
    fn names(&self) -> Vec<&str> {
        match (&self.cases[..], self.comparison.compare) {
            ([], true) => compare::CASES.to_vec(),
            ([], false) => DEFAULT_CASES.to_vec(),
            (named, _) => named.iter().map(String::as_str).collect(),
        }
    }

    /// Does it.
    pub fn execute(self) -> Result<ExitCode, Failure> {
        let mut chosen = Vec::new();
        let (primitive, cases): (Vec<_>, Vec<_>) = self
            .names()
            .into_iter()
            .partition(|name| PRIMITIVES.iter().any(|p| p.0 == *name));
        if let Some(name) = primitive.first().filter(|_| self.comparison.compare) {
            return Err(Failure::refused(format!(
                "{name} is not compared: it is a part of the engine, and no simulation"
            )));
        }
        for name in primitive {
            match name {
                "fft" => fft::bench(self.device, &self.precision, &self.meshes, self.json)?,
                mapping::CASE => mapping::bench(self.device, &self.precision, &self.mapping, self.json)?,
                _ => primitives::bench(self.device, name, self.json)?,
            }
        }
        if cases.is_empty() {
            return Ok(ExitCode::SUCCESS);
        }
        for name in cases {
            chosen.push(Selection::named(name)?);
        }
        if let Some(file) = &self.structure
            && !chosen.iter().any(Selection::takes_structure)
        {
            return Err(Failure::refused(format!(
                "--structure {} is for cases of rigid water and bilayers, and there is none among those to run",
                file.display()
            )));
        }
        // Before others are run for a while.
        if let Some(file) = self.structure.as_ref().filter(|file| !file.is_file()) {
            return Err(Failure::refused(format!(
                "--structure {}: there is no such file",
                file.display()
            )));
        }
        if self.comparison.compare {
            return self.comparison.execute(&compare::Request {
                cases: &chosen,
                structure: self.structure.as_deref(),
                precisions: &self.precision,
                device: self.device,
                threads: self.threads,
                seconds: self.seconds,
                json: self.json,
            });
        }
        let mut all = Vec::new();
        if !self.json {
            let head = [
                "case",
                "particles",
                "precision",
                "steps/s",
                "ns/day",
                "µs/atom/step",
                "bytes/atom",
            ];
            console::print(&line(&head.map(String::from)))?;
        }
        for case in &chosen {
            let layout: Vec<Option<&LayoutOverride>> = match &self.small[..] {
                [] => vec![None],
                some => some.iter().map(Some).collect(),
            };
            for (&precision, &layout) in self
                .precision
                .iter()
                .flat_map(|precision| layout.iter().map(move |layout| (precision, layout)))
            {
                let measured = self.threads.install(|| self.measure(case, precision, layout))?;
                if !self.json {
                    console::print(&line(&measured.cells()))?;
                    if let Some(device) = &measured.device_use {
                        console::print(&device.text)?;
                    }
                    if let Some(layout) = &measured.layout {
                        console::print(&format!("  laid out as {layout}\n"))?;
                    }
                }
                all.push(measured);
            }
        }
        if self.json {
            console::print(&console::json_list("bench/1", &all)?)?;
        } else if let Some(first) = all.first() {
            console::print(&format!("on {}\n", first.device))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn measure(
        &self,
        case: &Selection,
        precision: Precision,
        layout: Option<&LayoutOverride>,
    ) -> Result<Measured, Failure> {
        let structure = self.structure.as_deref().filter(|_| case.takes_structure());
        let mut simulation = case.simulation(structure)?;
        simulation.run.precision = precision;
        simulation.run.device = self.device;
        simulation.run.device = debye::run::choose_device(&simulation, Existing::Refuse).0;
        let mut engine = match (layout, self.device) {
            (Some(layout), DeviceChoice::Cuda(number)) => layout.engine(&simulation, number)?,
            _ => debye::run::engine(&simulation)?,
        };
        let energy_error = match structure {
            Some(_) => None,
            None => Some(case.check(engine.as_mut(), &simulation)?),
        };
        let particles = simulation.system.particles.len();

        timing::equilibrate(case, structure.is_some(), engine.as_mut(), &|| true)?;
        let timing = timing::time(case, engine.as_mut(), self.seconds, &|| true)?;
        let rate = timing.rate();
        let before = engine.device_use();
        let profiled = self.profile.filter(|&steps| engine.profile(0, steps));
        if let Some(steps) = profiled {
            engine.advance(steps, false)?;
        }
        // Counts of the steps so far, and the kernels of those that come after.
        let device_use = before.map(|before| {
            let profile = engine.device_use().and_then(|after| after.profile);
            DeviceLine::new(&DeviceUse { profile, ..before })
        });
        let md = simulation.system.units == Units::Md;
        Ok(Measured {
            case: case.name.clone(),
            layout: layout.map(|layout| layout.text.clone()),
            particles,
            device: engine.device(),
            precision: precision.name(),
            threads: self.threads.number().unwrap_or_else(crate::commands::cores),
            steps_per_second: rate,
            ns_per_day: md.then_some(rate * simulation.dynamics.timestep * 1e-3 * 86_400.0),
            microseconds_per_atom_step: 1e6 / (rate * particles as f64),
            bytes_per_particle: engine.bytes() as f64 / particles as f64,
            steps: timing.steps,
            seconds: timing.seconds,
            best_steps_per_second: timing.best,
            energy_error,
            device_use,
        })
    }
}

impl LayoutOverride {
    fn engine(&self, s: &Simulation, device: u32) -> Result<Box<dyn Engine>, Failure> {
        let device = Device::open(device).map_err(Failure::failed)?;
        let settings = Settings {
            precision: s.run.precision,
            ..Settings::default()
        };
        let engine = CudaEngine::with_choice(
            &device,
            &s.system,
            &s.forces,
            &s.dynamics,
            &settings,
            &self.choice,
        )?;
        Ok(Box::new(engine))
    }
}

fn line(cells: &[String; 7]) -> String {
    let [case, particles, precision, rate, day, each, memory] = cells;
    format!("{case:14} {particles:>10} {precision:>9} {rate:>10} {day:>9} {each:>13} {memory:>11}\n")
}

impl Measured {
    fn cells(&self) -> [String; 7] {
        [
            self.case.clone(),
            console::grouped(self.particles as u64),
            self.precision.into(),
            console::short(self.steps_per_second),
            self.ns_per_day.map_or("–".into(), console::short),
            format!("{:.5}", self.microseconds_per_atom_step),
            format!("{:.0}", self.bytes_per_particle),
        ]
    }
}
