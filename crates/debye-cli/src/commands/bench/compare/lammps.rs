//! LAMMPS: a data file and scripts, on MPI ranks or OpenMP threads, whichever is faster.

use std::fmt::Write as _;
use std::process::Command;

use debye_studies::lammps::{CALORIE, Lammps as Installed, LammpsLog};

use super::model::{Model, Scale};
use super::program::{Case, Contestant, Place, Problem, Program, Ways, forces_of};

/// Relative accuracy of P3M.
const ACCURACY: f64 = 1e-4;
/// The units `real`, from nm, ps and kJ/mol: Å, fs, kcal/mol.
pub(super) const REAL: Scale = Scale {
    length: 10.0,
    mass: 1.0,
    energy: 1.0 / CALORIE,
    time: 1e3,
    temperature: 1.0,
};
/// Of the random forces of the thermostat.
const SEED: u32 = 4711;

/// LAMMPS, as it is installed.
pub(super) struct Lammps {
    installed: Installed,
    version: String,
    cuda: bool,
    mpi: bool,
}

impl Lammps {
    /// The one that answers.
    pub(super) fn find() -> Option<Self> {
        let installed = Installed::find().ok()?;
        let about = installed.about()?;
        let mpi = Command::new("mpiexec").arg("--version").output();
        Some(Self {
            installed,
            version: version(&about).unwrap_or("unknown version").to_owned(),
            cuda: about.contains("KOKKOS package API: CUDA"),
            mpi: mpi.is_ok_and(|output| output.status.success()),
        })
    }
}

/// From `… Massively Parallel Simulator - 22 Jul 2025 - Update 4` or `LAMMPS (22 Jul 2025 - Update 4)`.
pub(super) fn version(about: &str) -> Option<&str> {
    about.lines().find_map(|line| {
        let program = line
            .split_once("Massively Parallel Simulator - ")
            .map(|(_, rest)| rest.trim());
        let package = || {
            line.strip_prefix("LAMMPS (")
                .and_then(|rest| rest.strip_suffix(')'))
        };
        program.or_else(package)
    })
}

impl Program for Lammps {
    fn name(&self) -> String {
        "LAMMPS".into()
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn declines(&self, on_cuda: bool) -> Option<String> {
        let without = on_cuda && !self.cuda;
        without.then(|| format!("{} has no KOKKOS package for CUDA", self.installed.name()))
    }

    fn settings(&self, case: &Case<'_>, place: &Place<'_>) -> String {
        let model = &case.model;
        let precision = match place.cuda {
            Some(_) => "precision as it was built",
            None => "double precision",
        };
        let charges = match model.tolerance {
            Some(_) => format!("P3M, relative accuracy {ACCURACY:e}"),
            None => "lists every 20 steps, untested".into(),
        };
        format!("{precision}, {charges}, {}", model.motion("Langevin"))
    }

    fn start<'a>(
        &'a self,
        case: &'a Case<'a>,
        place: &Place<'a>,
    ) -> Result<Box<dyn Contestant + 'a>, Problem> {
        let scale = if case.model.reduced { Scale::ONE } else { REAL };
        let model = case.model.scaled(&scale);
        place.write("system.data", data(&model))?;
        place.write("in.speed", input(&model) + &motion(&model))?;
        place.write("in.forces", input(&model) + FORCES)?;
        Ok(Box::new(Started {
            runner: Runner {
                lammps: self,
                place: place.clone(),
            },
            ways: Ways::new(self.ways(place)),
            scale,
        }))
    }
}

/// A way to use several cores, or a device.
struct Way {
    ranks: usize,
    threads: usize,
    arguments: Vec<String>,
}

impl Way {
    fn new(ranks: usize, threads: usize, arguments: &str) -> Self {
        Self {
            ranks,
            threads,
            arguments: arguments.split(' ').map(String::from).collect(),
        }
    }
}

impl Lammps {
    /// The ways it can be run here.
    fn ways(&self, place: &Place<'_>) -> Vec<Way> {
        let n = place.threads;
        if place.cuda.is_some() {
            return vec![Way::new(1, n, &format!("-k on g 1 t {n} -sf kk"))];
        }
        let mut ways = vec![match n {
            1 => Way::new(1, 1, "-sf opt"),
            _ => Way::new(1, n, &format!("-sf omp -pk omp {n}")),
        }];
        if n > 1 && self.mpi {
            ways.push(Way::new(n, 1, "-sf opt"));
        }
        ways
    }
}

/// LAMMPS with its input.
struct Started<'a> {
    runner: Runner<'a>,
    ways: Ways<Way>,
    scale: Scale,
}

/// What starts it.
struct Runner<'a> {
    lammps: &'a Lammps,
    place: Place<'a>,
}

impl Runner<'_> {
    fn run(&self, way: &Way, input: &str, more: &[&str]) -> Result<(), Problem> {
        let mut words: Vec<String> = Vec::new();
        if way.ranks > 1 {
            words.extend(["mpiexec".into(), "-n".into(), way.ranks.to_string()]);
        }
        words.extend(self.lammps.installed.words().into_iter().map(String::from));
        words.extend(way.arguments.iter().cloned());
        words.extend(more.iter().map(|word| (*word).to_owned()));
        words.extend(["-log", "none", "-in", input].map(String::from));
        self.place
            .run(&words, way.threads, &format!("{input}.txt"))
            .map(drop)
    }

    /// Steps per second of a run after some steps that do not count.
    fn timed(&self, way: &Way, steps: u64) -> Result<f64, Problem> {
        let (before, steps) = ((steps / 4).to_string(), steps.to_string());
        let lengths = ["-var", "before", &before, "-var", "steps", &steps];
        self.run(way, "in.speed", &lengths)?;
        rate(&self.place.read("log.speed")?)
            .ok_or_else(|| Problem::failed("LAMMPS does not say how fast it was: see log.speed"))
    }
}

impl Contestant for Started<'_> {
    fn forces(&mut self) -> Result<Vec<[f64; 3]>, Problem> {
        let way = self
            .ways
            .one()
            .ok_or_else(|| Problem::failed("no way to run it"))?;
        self.runner.run(way, "in.forces", &[])?;
        let forces = forces_of(&self.runner.place.folder.join("forces.lammpstrj"))?;
        Ok(self.scale.forces_back(forces))
    }

    fn speed(&mut self, seconds: f64) -> Result<f64, Problem> {
        let runner = &self.runner;
        self.ways.measure(seconds, |way, steps| runner.timed(way, steps))
    }

    fn choice(&self) -> Option<String> {
        let way = self.ways.one()?;
        let ranks = format!("{} MPI ranks", way.ranks);
        let threads = format!("{} OpenMP threads", way.threads);
        Some(if way.ranks > 1 { ranks } else { threads })
    }
}

/// Steps per second of a log.
pub(super) fn rate(log: &str) -> Option<f64> {
    LammpsLog::read(log).map(|log| log.steps / log.seconds)
}

/// After the input: forces of the first configuration, without those of constraints.
const FORCES: &str = "dump 1 all custom 1 forces.lammpstrj id type x y z fx fy fz\n\
                      dump_modify 1 sort id format float %.16g\nrun 0\n";

/// After the input: what moves it.
pub(super) fn motion(model: &Model) -> String {
    let mut text = String::new();
    if model.water.is_some() {
        text += "fix constraints all shake 1e-5 50 0 b 1 a 1\n";
    }
    text += "fix motion all nve\n";
    if let Some([temperature, time]) = model.thermostat {
        let _ = writeln!(
            text,
            "fix thermostat all langevin {temperature} {temperature} {time} {SEED}"
        );
    }
    let _ = writeln!(text, "timestep {}\nthermo 1000", model.timestep);
    text + "run ${before}\nlog log.speed\nrun ${steps}\n"
}

/// Columns of the section Atoms.
fn style(model: &Model) -> &'static str {
    match (&model.water, model.tolerance) {
        (Some(_), _) => "full",
        (None, Some(_)) => "charge",
        (None, None) => "atomic",
    }
}

/// The system and its forces.
pub(super) fn input(model: &Model) -> String {
    let mut text = format!(
        "units {}\natom_style {}\n",
        if model.reduced { "lj" } else { "real" },
        style(model)
    );
    // The styles `zero` have lengths and angles for SHAKE, and no forces.
    if model.water.is_some() {
        text += "bond_style zero\nangle_style zero\n";
    }
    let pairs = if model.tolerance.is_some() {
        "lj/cut/coul/long"
    } else {
        "lj/cut"
    };
    let _ = writeln!(
        text,
        "pair_style {pairs} {}\npair_modify mix arithmetic\nread_data system.data",
        model.cutoff
    );
    for (k, s) in model.species.iter().enumerate() {
        let _ = writeln!(text, "pair_coeff {0} {0} {1} {2}", k + 1, s.epsilon, s.sigma);
    }
    if let Some(water) = &model.water {
        let angle = 2.0 * (0.5 * water.base / water.bond).asin().to_degrees();
        let _ = writeln!(text, "bond_coeff 1 {}\nangle_coeff 1 {angle}", water.bond);
    }
    if model.tolerance.is_some() {
        let _ = writeln!(text, "kspace_style pppm {ACCURACY:e}");
    }
    // Melts as in the benchmark that LAMMPS publishes.
    text + match model.reduced {
        true => "neighbor 0.3 bin\nneigh_modify delay 0 every 20 check no\n",
        false => "neighbor 1.0 bin\nneigh_modify delay 0 every 1 check yes\n",
    }
}

/// The system in the format of `read_data`.
pub(super) fn data(model: &Model) -> String {
    let (n, style) = (model.len(), style(model));
    let mut text = format!("system\n\n{n} atoms\n{} atom types\n", model.species.len());
    let molecules = model.water.as_ref().map_or(&[][..], |water| &water.molecules);
    let m = molecules.len();
    if m > 0 {
        let _ = writeln!(text, "{} bonds\n1 bond types\n{m} angles\n1 angle types", 2 * m);
    }
    for (side, axis) in model.cell.iter().zip(["x", "y", "z"]) {
        let _ = writeln!(text, "0 {side} {axis}lo {axis}hi");
    }
    text += "\nMasses\n\n";
    for (k, s) in model.species.iter().enumerate() {
        let _ = writeln!(text, "{} {}", k + 1, s.mass);
    }
    let mut molecule_of = vec![0; n];
    for (k, molecule) in molecules.iter().enumerate() {
        for &i in molecule {
            molecule_of[i as usize] = k + 1;
        }
    }
    let _ = writeln!(text, "\nAtoms # {style}\n");
    for (i, [x, y, z]) in model.positions.iter().enumerate() {
        let (kind, charge) = (model.kinds[i] + 1, model.species_of(i).charge);
        let columns = match style {
            "full" => format!("{} {kind} {charge}", molecule_of[i]),
            "charge" => format!("{kind} {charge}"),
            _ => kind.to_string(),
        };
        let _ = writeln!(text, "{} {columns} {x} {y} {z}", i + 1);
    }
    text += "\nVelocities\n\n";
    for (i, [x, y, z]) in model.velocities.iter().enumerate() {
        let _ = writeln!(text, "{} {x} {y} {z}", i + 1);
    }
    if m > 0 {
        text += "\nBonds\n\n";
        for (k, [o, h, g]) in molecules.iter().map(|m| m.map(|i| i + 1)).enumerate() {
            let _ = writeln!(text, "{} 1 {o} {h}\n{} 1 {o} {g}", 2 * k + 1, 2 * k + 2);
        }
        text += "\nAngles\n\n";
        for (k, [o, h, g]) in molecules.iter().map(|m| m.map(|i| i + 1)).enumerate() {
            let _ = writeln!(text, "{} 1 {h} {o} {g}", k + 1);
        }
    }
    text
}
