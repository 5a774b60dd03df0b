//! `debye bench`: steps per second on the standard cases, through the code that `debye run` uses.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use debye::backend::cpu::Fire;
use debye::backend::cuda::{Choice, CudaEngine, Device};
use debye::backend::{Backend, DeviceUse, Precision, Settings};
use debye::input::{DeviceChoice, Simulation};
use debye::run::Existing;
use debye::system::{Dimension, Units};
use serde::Serialize;

use super::{fft, mapping, primitives};
use crate::console;
use crate::failure::Failure;
use crate::flags::{ThreadFlag, precision};

/// Measure steps per second and ns per day on the standard cases
#[derive(Args)]
#[command(after_help = after_help())]
pub struct Bench {
    /// Cases, separated by commas
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "lj4k,lj32k,argon-droplet",
        value_name = "NAMES"
    )]
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
    /// Make the water cases of copies of this box of 895 molecules, O H H, instead of building them
    #[arg(long, value_name = "FILE")]
    structure: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Lay small systems out on a CUDA device as told: lanes, threads, buffer, cached, staged; 0 or nothing for the rule
    #[arg(long, hide = true, value_parser = Told::parse, value_name = "NUMBERS")]
    small: Vec<Told>,
    #[command(flatten)]
    meshes: fft::Flags,
    #[command(flatten)]
    mapping: mapping::Options,
}

/// A layout of a small system, as told.
#[derive(Clone, Debug)]
struct Told {
    text: String,
    choice: Choice,
}

impl Told {
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

/// A standard case: what it is, and the energy it must have before it is timed.
struct Case {
    name: &'static str,
    what: &'static str,
    kind: Kind,
}

/// A case to measure.
struct Chosen {
    name: String,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    /// Melt of so many cells of a crystal along each side.
    Melt(&'static Crystal, usize),
    /// Argon at rest: builder keys, and the energy in eV.
    Argon(&'static str, f64),
    /// Rock salt with PME.
    Salt(&'static Salt),
    /// Rigid water with PME.
    Water(&'static Water),
}

/// Rock salt: cells along each side, the mesh, and the energy of the crystal in kJ/mol.
struct Salt {
    cells: usize,
    mesh: usize,
    energy: f64,
}

/// Copies of a box of 895 molecules and 3 nm, the mesh, and the energy in kJ/mol of what is built of that size.
struct Water {
    copies: [usize; 3],
    mesh: [usize; 3],
    energy: f64,
}

/// Molecules of the box, and its side in nm.
const BOX: (usize, f64) = (895, 3.0);
/// Steps downhill before water from the builder moves: molecules are turned at random.
const DOWNHILL: u64 = 100;
/// Steps of the charged cases before the clock starts.
const SETTLE: u64 = 300;

// α and the order go with the meshes: docs/benchmarks.md says how they were chosen.
const SALT_ALPHA: f64 = 2.95;
const WATER_ALPHA: f64 = 2.98;
const ORDER: usize = 5;

const NACL6K: Salt = Salt {
    cells: 9,
    mesh: 42,
    energy: -2_308_711.817_874,
};
const NACL512K: Salt = Salt {
    cells: 40,
    mesh: 192,
    energy: -202_685_276.001_2,
};
const WATER21K: Water = Water {
    copies: [2, 2, 2],
    mesh: [40, 40, 40],
    energy: -42_131.031_883,
};
const WATER97K: Water = Water {
    copies: [4, 3, 3],
    mesh: [80, 60, 60],
    energy: -183_569.801_371,
};
const WATER1M: Water = Water {
    copies: [6, 8, 8],
    mesh: [120, 160, 160],
    energy: -1_957_897.116_667,
};

/// What a melt is made from.
struct Crystal {
    name: &'static str,
    /// Atoms of a cell.
    atoms: usize,
    /// Energy per atom at ρ* = 0.8442, Lennard-Jones cut at 2.5 σ.
    energy: f64,
    /// Where it starts; both have the same total energy, so the melts are alike.
    temperature: f64,
}

const FCC: Crystal = Crystal {
    name: "fcc",
    atoms: 4,
    energy: -6.773_368_053,
    temperature: 1.44,
};
const SC: Crystal = Crystal {
    name: "sc",
    atoms: 1,
    energy: -5.220_218_519,
    temperature: 0.4046,
};

const CASES: &[Case] = &[
    Case {
        name: "lj1k",
        what: "LJ melt from a simple cubic lattice, 10³ cells = 1 000 atoms",
        kind: Kind::Melt(&SC, 10),
    },
    Case {
        name: "lj4k",
        what: "LJ melt, 10³ cells = 4 000 atoms",
        kind: Kind::Melt(&FCC, 10),
    },
    Case {
        name: "lj6k",
        what: "LJ melt from a simple cubic lattice, 18³ cells = 5 832 atoms",
        kind: Kind::Melt(&SC, 18),
    },
    Case {
        name: "lj32k",
        what: "LJ melt, 20³ cells = 32 000 atoms",
        kind: Kind::Melt(&FCC, 20),
    },
    Case {
        name: "lj98k",
        what: "LJ melt, 29³ cells = 97 556 atoms",
        kind: Kind::Melt(&FCC, 29),
    },
    Case {
        name: "lj256k",
        what: "LJ melt, 40³ cells = 256 000 atoms",
        kind: Kind::Melt(&FCC, 40),
    },
    Case {
        name: "lj1m",
        what: "LJ melt, 63³ cells = 1 000 188 atoms",
        kind: Kind::Melt(&FCC, 63),
    },
    Case {
        name: "argon-droplet",
        what: "sphere of 14 147 argon atoms at rest, cut 12 Å, 2 fs",
        kind: Kind::Argon("radius_spacings = 15, side_spacings = 48", -154.984_370_3),
    },
    Case {
        name: "argon-sphere",
        what: "sphere of 1 047 293 argon atoms at rest, cut 12 Å, 2 fs",
        kind: Kind::Argon(
            "radius_spacings = 63, side_spacings = 200, edge_spacing = 5.256",
            -12_007.954_13,
        ),
    },
    Case {
        name: "nacl6k",
        what: "rock salt, 9³ cells = 5 832 ions, PME, cut 1.0 nm, 2 fs, 300 K start",
        kind: Kind::Salt(&NACL6K),
    },
    Case {
        name: "nacl512k",
        what: "the same, 40³ cells = 512 000 ions",
        kind: Kind::Salt(&NACL512K),
    },
    Case {
        name: "water21k",
        what: "rigid TIP3P water, 21 480 atoms, PME, cut 0.9 nm, 2 fs, Langevin 300 K",
        kind: Kind::Water(&WATER21K),
    },
    Case {
        name: "water97k",
        what: "the same, 96 660 atoms",
        kind: Kind::Water(&WATER97K),
    },
    Case {
        name: "water1m",
        what: "the same, 1 031 040 atoms",
        kind: Kind::Water(&WATER1M),
    },
];

/// Begins the name of a melt of any size.
const ANY_MELT: &str = "lj:";

/// Cases that measure parts of the engine on a CUDA device.
const PRIMITIVES: &[(&str, &str)] = &[
    ("scan", "prefix sums of 2^16 to 2^27 numbers beside a copy (CUDA)"),
    ("sort", "counting and radix sorts of 2^14 to 2^24 pairs (CUDA)"),
    (
        "fft",
        "mesh solves of 48³ to 256³ points, kernel by kernel (CUDA)",
    ),
    (
        mapping::CASE,
        "charges spread over a mesh and forces gathered from it (CUDA)",
    ),
];

fn after_help() -> String {
    let mut text = String::from(
        "Examples:\n  debye bench\n  debye bench --cases lj32k,lj1m --precision mixed,double --json\n\nCases:\n",
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
            first configuration is compared with a stored value before anything is timed."
}

/// What was measured.
#[derive(Serialize)]
struct Measured {
    case: String,
    /// How it was laid out, if it was told to be.
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
    /// Does it.
    pub fn execute(self) -> Result<ExitCode, Failure> {
        let mut chosen = Vec::new();
        let (primitive, cases): (Vec<_>, Vec<_>) = self
            .cases
            .iter()
            .partition(|name| PRIMITIVES.iter().any(|p| p.0 == name.as_str()));
        for name in primitive {
            match name.as_str() {
                "fft" => fft::bench(self.device, &self.precision, &self.meshes, self.json)?,
                mapping::CASE => mapping::bench(self.device, &self.precision, &self.mapping, self.json)?,
                _ => primitives::bench(self.device, name, self.json)?,
            }
        }
        if cases.is_empty() {
            return Ok(ExitCode::SUCCESS);
        }
        for name in cases {
            chosen.push(Chosen::named(name)?);
        }
        if let Some(file) = &self.structure {
            let is_water = |c: &Chosen| matches!(c.kind, Kind::Water(_));
            if let Some(other) = chosen.iter().find(|c| !is_water(c)) {
                return Err(Failure::refused(format!(
                    "--structure {} is for the water cases; `{}` is built",
                    file.display(),
                    other.name
                )));
            }
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
            let told: Vec<Option<&Told>> = match &self.small[..] {
                [] => vec![None],
                some => some.iter().map(Some).collect(),
            };
            for (&precision, &told) in self
                .precision
                .iter()
                .flat_map(|precision| told.iter().map(move |told| (precision, told)))
            {
                let measured = self.threads.install(|| self.measure(case, precision, told))?;
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
            console::print(&console::json(&all)?)?;
        } else if let Some(first) = all.first() {
            console::print(&format!("on {}\n", first.device))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn measure(&self, case: &Chosen, precision: Precision, told: Option<&Told>) -> Result<Measured, Failure> {
        let mut simulation = case.simulation(self.structure.as_deref())?;
        simulation.run.precision = precision;
        simulation.run.device = self.device;
        simulation.run.device = debye::run::choose_device(&simulation, Existing::Refuse).0;
        let mut engine = match (told, self.device) {
            (Some(told), DeviceChoice::Cuda(number)) => told.engine(&simulation, number)?,
            _ => debye::run::engine(&simulation)?,
        };
        let energy_error = match &self.structure {
            Some(_) => None,
            None => Some(case.check(engine.as_mut(), &simulation)?),
        };
        let particles = simulation.system.particles.len();

        // The melt has to melt, and the list has to find its buffer. A sphere is timed from rest, before it collapses.
        let began = match case.kind {
            Kind::Melt(..) => {
                engine.advance(WARM_UP, false)?;
                Instant::now()
            }
            Kind::Argon(..) => Instant::now(),
            Kind::Salt(_) => {
                engine.advance(SETTLE, false)?;
                Instant::now()
            }
            Kind::Water(_) => {
                if self.structure.is_none() {
                    engine.minimise(downhill(), &mut |_| true)?;
                }
                engine.advance(SETTLE, false)?;
                Instant::now()
            }
        };
        let (mut steps, mut stretch, mut best) = (0, 10, 0.0_f64);
        if matches!(case.kind, Kind::Argon(..)) {
            engine.advance(FROM_REST, false)?;
            steps = FROM_REST;
        }
        while !matches!(case.kind, Kind::Argon(..)) && began.elapsed().as_secs_f64() < self.seconds {
            let lap = Instant::now();
            engine.advance(stretch, false)?;
            steps += stretch;
            let rate = stretch as f64 / lap.elapsed().as_secs_f64();
            if lap.elapsed().as_secs_f64() > 0.5 * STRETCH {
                best = best.max(rate);
            }
            stretch = ((rate * STRETCH.min(0.25 * self.seconds)) as u64).max(1);
        }
        let seconds = began.elapsed().as_secs_f64();
        let rate = steps as f64 / seconds;
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
            layout: told.map(|told| told.text.clone()),
            particles,
            device: engine.device(),
            precision: precision.name(),
            threads: self.threads.number().unwrap_or_else(crate::commands::cores),
            steps_per_second: rate,
            ns_per_day: md.then_some(rate * simulation.dynamics.timestep * 1e-3 * 86_400.0),
            microseconds_per_atom_step: 1e6 / (rate * particles as f64),
            bytes_per_particle: engine.bytes() as f64 / particles as f64,
            steps,
            seconds,
            best_steps_per_second: best.max(rate),
            energy_error,
            device_use,
        })
    }
}

impl Salt {
    fn input(&self) -> String {
        let Self { cells, mesh, .. } = self;
        format!(
            "units = \"md\"\n\
             [system]\nbuild = {{ kind = \"nacl\", cells = {cells}, spacing = 0.564 }}\n\
             [species.Na]\nmass = 22.99\ncharge = 1.0\n[species.Cl]\nmass = 35.45\ncharge = -1.0\n\
             [[forces]]\nkind = \"lennard-jones\"\ncutoff = 1.0\ntruncation = \"cut\"\nmixing = \"lorentz-berthelot\"\n\
             species = {{ Na = {{ sigma = 0.2159538, epsilon = 1.4754533 }}, Cl = {{ sigma = 0.4830453, epsilon = 0.0534924 }} }}\n\
             [[forces]]\nkind = \"pme\"\ncutoff = 1.0\nalpha = {SALT_ALPHA}\nmesh = {mesh}\norder = {ORDER}\n\
             [integrator]\nkind = \"nve\"\ntimestep = 0.002\n\
             [run]\nsteps = 1\ntemperature = 300\n"
        )
    }
}

impl Water {
    fn input(&self, structure: Option<&Path>) -> String {
        let (molecules, side) = BOX;
        let [x, y, z] = self.copies;
        let system = match structure {
            // A name between quotes of which nothing is special but the quote itself.
            Some(file) => format!("file = '{}'\ncopies = [{x}, {y}, {z}]\n", file.display()),
            None => {
                let cell = self.copies.map(|n| n as f64 * side);
                let molecules = molecules * x * y * z;
                format!("build = {{ kind = \"water\", molecules = {molecules} }}\ncell = {cell:?}\n")
            }
        };
        let mesh = self.mesh;
        format!(
            "units = \"md\"\n[system]\n{system}\
             [species.OW]\nmodel = \"tip3p:O\"\nnames = [\"O\", \"OW\"]\n\
             [species.HW]\nmodel = \"tip3p:H\"\nnames = [\"H\", \"HW\"]\n\
             [[constraints]]\nkind = \"rigid-water\"\nmodel = \"tip3p\"\n\
             [[forces]]\nkind = \"lennard-jones\"\ncutoff = 0.9\ntruncation = \"cut\"\nmixing = \"lorentz-berthelot\"\n\
             [[forces]]\nkind = \"pme\"\ncutoff = 0.9\nalpha = {WATER_ALPHA}\nmesh = {mesh:?}\norder = {ORDER}\n\
             [integrator]\nkind = \"langevin\"\ntimestep = 0.002\ntemperature = 300\ntime = 1.0\n\
             [run]\nsteps = 1\ntemperature = 300\n"
        )
    }
}

/// A few steps that take molecules off one another.
fn downhill() -> Fire {
    Fire {
        force_tolerance: 100.0,
        max_steps: DOWNHILL,
        max_displacement: 0.01,
    }
}

impl Told {
    fn engine(&self, s: &Simulation, device: u32) -> Result<Box<dyn Backend>, Failure> {
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

/// Atoms that a melt of any size may have.
const SIZES: std::ops::RangeInclusive<u64> = 500..=900_000_000;

/// The fcc melt whose number of atoms is nearest to this one.
fn any_melt(number: &str) -> Option<Kind> {
    let wanted = number.parse().ok().filter(|n| SIZES.contains(n))?;
    let atoms = |side: usize| (FCC.atoms * side * side * side) as u64;
    let below = (wanted as f64 / FCC.atoms as f64).cbrt() as usize;
    let side = (below..=below + 1).min_by_key(|&side| atoms(side).abs_diff(wanted))?;
    Some(Kind::Melt(&FCC, side))
}

/// Steps that a sphere at rest is timed for.
const FROM_REST: u64 = 200;
/// Steps before the clock starts.
const WARM_UP: u64 = 200;
/// Seconds between two looks at the clock.
const STRETCH: f64 = 0.5;

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

impl Chosen {
    /// A case of the list, or a melt of about as many atoms as its name says.
    fn named(name: &str) -> Result<Self, Failure> {
        let listed = || CASES.iter().find(|c| c.name == name).map(|c| c.kind);
        let kind = name.strip_prefix(ANY_MELT).map_or_else(listed, any_melt);
        let name = name.to_owned();
        if let Some(kind) = kind {
            return Ok(Self { name, kind });
        }
        let known = CASES.iter().map(|c| c.name).chain(PRIMITIVES.iter().map(|p| p.0));
        let known: Vec<&str> = known.collect();
        Err(Failure::refused(format!(
            "unknown case `{name}`; known are {}, and lj:N with N from {} to {}",
            known.join(", "),
            SIZES.start(),
            SIZES.end()
        )))
    }

    /// The input file of the case.
    fn input(&self, structure: Option<&Path>) -> String {
        match self.kind {
            Kind::Melt(crystal, cells) => format!(
                "units = \"lj\"\n\
                 [system]\nbuild = {{ kind = \"lattice\", lattice = \"{}\", cells = {cells}, density = 0.8442 }}\n\
                 [species.A]\n\
                 [[forces]]\nkind = \"lennard-jones\"\ncutoff = 2.5\ntruncation = \"cut\"\nepsilon = 1.0\nsigma = 1.0\n\
                 [integrator]\nkind = \"nve\"\ntimestep = 0.005\n\
                 [run]\nsteps = 1\ntemperature = {}\n",
                crystal.name, crystal.temperature
            ),
            Kind::Argon(build, _) => format!(
                "units = \"md\"\n\
                 [system]\nbuild = {{ kind = \"sphere\", lattice = \"sc\", spacing = \"5.256 Å\", {build} }}\n\
                 [species.Ar]\nmass = \"39.948 u\"\n\
                 [[forces]]\nkind = \"lennard-jones\"\ncutoff = \"12 Å\"\ntruncation = \"cut\"\n\
                 epsilon = \"0.0104 eV\"\nsigma = \"3.40 Å\"\n\
                 [integrator]\nkind = \"nve\"\ntimestep = \"2 fs\"\n\
                 [run]\nsteps = 1\n"
            ),
            Kind::Salt(salt) => salt.input(),
            Kind::Water(water) => water.input(structure),
        }
    }

    fn simulation(&self, structure: Option<&Path>) -> Result<Simulation, Failure> {
        Ok(Simulation::parse(&self.input(structure), ".", &self.name)?)
    }

    /// Refuses to time what computes the wrong energy; gives its relative error.
    fn check(&self, engine: &mut dyn Backend, simulation: &Simulation) -> Result<f64, Failure> {
        let expected = match self.kind {
            Kind::Melt(crystal, cells) => crystal.energy * (crystal.atoms * cells * cells * cells) as f64,
            Kind::Argon(_, energy) => {
                let volt = simulation.system.units.quantity("1 eV", Dimension::ENERGY);
                energy * volt.map_err(Failure::failed)?
            }
            Kind::Salt(salt) => salt.energy,
            Kind::Water(water) => water.energy,
        };
        let seen = engine.observe()?;
        let found = seen.potential;
        // Parts of an Ewald sum are much larger than their sum, and so is their rounding.
        let parts: f64 = seen.terms.iter().map(|(_, energy)| energy.abs()).sum();
        let error = (found - expected).abs() / expected.abs().max(parts);
        let allowed = match simulation.run.precision {
            Precision::Double => 1e-8,
            Precision::Mixed => 2e-6,
            Precision::Single => 1e-5,
        };
        if error <= allowed {
            return Ok(error);
        }
        Err(Failure::failed(format!(
            "{}: the energy of the first configuration is {found}, expected {expected}: off by {error:.1e}, \
             allowed {allowed:.0e} in {} precision. Nothing was timed",
            self.name,
            simulation.run.precision.name()
        )))
    }
}
