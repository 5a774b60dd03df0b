//! GROMACS: topology, coordinates and parameters of a run, `gmx grompp` and `gmx mdrun`.

use std::fmt::Write as _;
use std::process::Command;

use debye_io::{Atom, Frame, GroWriter, LengthUnit, WriteFrames};

use super::model::{Model, Scale};
use super::program::{Case, Contestant, Place, Problem, Program, Ways, forces_of};

/// Its defaults.
const ORDER: u32 = 4;
const SPACING: f64 = 0.12;
const RTOL: f64 = 1e-5;
/// Steps between lists, of which the fastest is taken. Their buffer follows from the tolerated drift. In the
/// microcanonical ensemble `mdrun` changes neither, so that each is an input of its own.
const LISTS: &[u32] = &[10, 20, 40];
const DEVICE_LISTS: &[u32] = &[100, 200];
/// Digits of coordinates, in nm.
const DECIMALS: usize = 9;

/// GROMACS, as it is installed.
pub(super) struct Gromacs {
    program: &'static str,
    version: String,
    cuda: bool,
}

impl Gromacs {
    /// The first that answers.
    pub(super) fn find() -> Option<Self> {
        ["gmx", "gmx_mpi"].into_iter().find_map(|program| {
            let output = Command::new(program).arg("--version").output().ok()?;
            Self::read(program, &String::from_utf8_lossy(&output.stdout))
        })
    }

    /// From what `gmx --version` prints.
    pub(super) fn read(program: &'static str, text: &str) -> Option<Self> {
        let fact = |name: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(name))
                .map(str::trim)
        };
        Some(Self {
            program,
            version: format!(
                "{}, {}, {} precision",
                fact("GROMACS version:")?,
                fact("SIMD instructions:").unwrap_or("unknown SIMD"),
                fact("Precision:").unwrap_or("unknown"),
            ),
            cuda: fact("GPU support:").is_some_and(|support| support.starts_with("CUDA")),
        })
    }

    /// Makes the input of `mdrun`.
    fn grompp(&self, name: &str, parameters: String, place: &Place<'_>) -> Result<(), Problem> {
        let [mdp, tpr] = ["mdp", "tpr"].map(|extension| format!("{name}.{extension}"));
        place.write(&mdp, parameters)?;
        let inputs = ["-f", &mdp, "-c", "system.gro", "-p", "system.top"];
        let words = [&["grompp"], &inputs[..], &["-o", &tpr, "-po", "used.mdp"]].concat();
        place
            .run(&self.words(&words), place.threads, "grompp.txt")
            .map(drop)
    }

    fn words(&self, words: &[&str]) -> Vec<String> {
        let head = [self.program, "-quiet", "-nobackup"];
        head.iter().chain(words).map(|word| (*word).to_owned()).collect()
    }
}

impl Program for Gromacs {
    fn name(&self) -> String {
        "GROMACS".into()
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn declines(&self, on_cuda: bool) -> Option<String> {
        let without = on_cuda && !self.cuda;
        without.then(|| format!("`{}` was built without CUDA", self.program))
    }

    fn settings(&self, case: &Case<'_>, _: &Place<'_>) -> String {
        let model = &case.model;
        let charges = match model.tolerance {
            Some(_) => format!("PME order {ORDER}, spacing {SPACING} nm, rtol {RTOL:e}, "),
            None => String::new(),
        };
        let motion = model.motion("v-rescale");
        format!(
            "{charges}Verlet buffer by tolerance, {motion}{}",
            model.argon_note()
        )
    }

    fn start<'a>(
        &'a self,
        case: &'a Case<'a>,
        place: &Place<'a>,
    ) -> Result<Box<dyn Contestant + 'a>, Problem> {
        let (model, scale) = case.model.in_md_units().map_err(Problem::failed)?;
        let order = order(&model);
        place.write("system.top", topology(&model))?;
        place.write("system.gro", coordinates(&model, &order)?)?;
        let lists = if place.cuda.is_some() { DEVICE_LISTS } else { LISTS };
        for list in lists {
            let more = format!("nstlist = {list}\nnsteps = -1\n");
            self.grompp(&speed(*list), parameters(&model) + &more, place)?;
        }
        let more = "nsteps = 0\nnstxout = 1\nnstfout = 1\n";
        self.grompp("forces", parameters(&model) + more, place)?;
        Ok(Box::new(Started {
            runner: Runner {
                gromacs: self,
                place: place.clone(),
                charges: model.tolerance.is_some(),
                timestep: model.timestep,
            },
            lists: Ways::new(lists.to_vec()),
            scale,
            order,
        }))
    }
}

/// GROMACS with its input.
struct Started<'a> {
    runner: Runner<'a>,
    /// Steps between lists.
    lists: Ways<u32>,
    scale: Scale,
    /// The particle of every line of its coordinates.
    order: Vec<usize>,
}

/// What starts it.
struct Runner<'a> {
    gromacs: &'a Gromacs,
    place: Place<'a>,
    charges: bool,
    /// In ps.
    timestep: f64,
}

impl Runner<'_> {
    /// Runs `mdrun` on one of the inputs.
    fn mdrun(&self, name: &str, more: &[&str]) -> Result<String, Problem> {
        let threads = self.place.threads.to_string();
        let mut words = vec![
            "mdrun",
            "-deffnm",
            name,
            "-noconfout",
            "-ntomp",
            &threads,
            "-notunepme",
        ];
        if self.gromacs.program == "gmx" {
            words.extend(["-ntmpi", "1"]);
        }
        let tasks: &[&str] = match (self.place.cuda.is_some(), self.charges) {
            (true, true) => &["-nb", "gpu", "-pme", "gpu", "-update", "gpu"],
            (true, false) => &["-nb", "gpu", "-update", "gpu"],
            (false, _) => &["-nb", "cpu"],
        };
        words.extend(tasks);
        words.extend(more);
        let words = self.gromacs.words(&words);
        self.place.run(&words, self.place.threads, &format!("{name}.txt"))
    }

    /// Steps per second of a run after some steps that do not count.
    fn timed(&self, list: u32, steps: u64) -> Result<f64, Problem> {
        let before = steps / 4;
        let name = speed(list);
        let [list, all, before] = [u64::from(list), steps + before, before].map(|n| n.to_string());
        let more = ["-nstlist", &list, "-nsteps", &all, "-resetstep", &before];
        let text = self.mdrun(&name, &more)?;
        nanoseconds_per_day(&text)
            .map(|day| day * 1e3 / self.timestep / 86_400.0)
            .ok_or_else(|| Problem::failed("`gmx mdrun` does not say how fast it was"))
    }
}

impl Contestant for Started<'_> {
    fn forces(&mut self) -> Result<Vec<[f64; 3]>, Problem> {
        self.runner.mdrun("forces", &[])?;
        let found = forces_of(&self.runner.place.folder.join("forces.trr"))?;
        let mut forces = vec![[0.0; 3]; found.len()];
        for (&particle, force) in self.order.iter().zip(&found) {
            forces[particle] = *force;
        }
        Ok(self.scale.forces_back(forces))
    }

    fn speed(&mut self, seconds: f64) -> Result<f64, Problem> {
        let runner = &self.runner;
        self.lists
            .measure(seconds, |&list, steps| runner.timed(list, steps))
    }

    fn choice(&self) -> Option<String> {
        let list = self.lists.one()?;
        Some(format!("lists every {list} steps"))
    }
}

/// The name of the run with so many steps between lists.
fn speed(list: u32) -> String {
    format!("speed-{list}")
}

/// The first number of the line `Performance:`.
pub(super) fn nanoseconds_per_day(text: &str) -> Option<f64> {
    let mut lines = text
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("Performance:"));
    lines.next()?.split_whitespace().next()?.parse().ok()
}

/// Particles of one species, or molecules, must stand together.
pub(super) fn order(model: &Model) -> Vec<usize> {
    if let Some(water) = &model.water {
        return water.molecules.iter().flatten().map(|&i| i as usize).collect();
    }
    let mut order: Vec<usize> = (0..model.len()).collect();
    order.sort_by_key(|&i| model.kinds[i]);
    order
}

pub(super) fn topology(model: &Model) -> String {
    let mut text = String::from(
        "[ defaults ]\n; nbfunc comb-rule gen-pairs\n1 2 no\n\n\
         [ atomtypes ]\n; name mass charge ptype sigma epsilon\n",
    );
    // Writing to a string cannot fail.
    for s in &model.species {
        let _ = writeln!(
            text,
            "{} {} {} A {} {}",
            s.name, s.mass, s.charge, s.sigma, s.epsilon
        );
    }
    let molecule = |text: &mut String, name: &str, atoms: &[&super::model::Species]| {
        let _ = writeln!(text, "\n[ moleculetype ]\n{name} 1\n\n[ atoms ]");
        for (k, s) in atoms.iter().enumerate() {
            let n = k + 1;
            let _ = writeln!(text, "{n} {0} 1 {name} {0} 1 {1} {2}", s.name, s.charge, s.mass);
        }
    };
    let counts: Vec<(String, usize)> = match &model.water {
        Some(water) => {
            let first = water.molecules.first().copied().unwrap_or_default();
            molecule(&mut text, "SOL", &first.map(|i| model.species_of(i as usize)));
            let _ = writeln!(
                text,
                "\n[ settles ]\n1 1 {} {}\n\n[ exclusions ]\n1 2 3\n2 1 3\n3 1 2",
                water.bond, water.base
            );
            vec![("SOL".into(), water.molecules.len())]
        }
        None => {
            let number = |k: usize| model.kinds.iter().filter(|&&kind| kind as usize == k).count();
            for s in &model.species {
                molecule(&mut text, &s.name, &[s]);
            }
            let species = model.species.iter().enumerate();
            species.map(|(k, s)| (s.name.clone(), number(k))).collect()
        }
    };
    text += "\n[ system ]\nsystem\n\n[ molecules ]\n";
    for (name, count) in counts {
        let _ = writeln!(text, "{name} {count}");
    }
    text
}

pub(super) fn coordinates(model: &Model, order: &[usize]) -> Result<Vec<u8>, Problem> {
    let size = if model.water.is_some() { 3 } else { 1 };
    let atom = |(line, &i): (usize, &usize)| {
        let name = model.species_of(i).name.clone();
        Atom {
            residue: if size == 3 { "SOL".into() } else { name.clone() },
            residue_number: (line / size + 1) as i64,
            name,
            ..Atom::default()
        }
    };
    let atoms: Vec<Atom> = order.iter().enumerate().map(atom).collect();
    let [x, y, z] = model.cell;
    let frame = Frame {
        title: "system".into(),
        length_unit: LengthUnit::Nanometer,
        cell: Some([[x, 0.0, 0.0], [0.0, y, 0.0], [0.0, 0.0, z]]),
        positions: order.iter().map(|&i| model.positions[i]).collect(),
        velocities: Some(order.iter().map(|&i| model.velocities[i]).collect()),
        ..Frame::default()
    };
    let mut file = Vec::new();
    let mut writer = GroWriter::with_decimals(&mut file, "system.gro", DECIMALS);
    writer.write_frame(&atoms, &frame).map_err(Problem::failed)?;
    drop(writer);
    Ok(file)
}

/// Parameters of a run but for its length.
pub(super) fn parameters(model: &Model) -> String {
    let mut text = format!(
        "integrator = md\ndt = {}\ncontinuation = yes\n\
         cutoff-scheme = Verlet\nrvdw = {1}\nrcoulomb = {1}\n\
         vdwtype = Cut-off\nvdw-modifier = None\ncoulomb-modifier = None\nDispCorr = no\n\
         nstlog = 0\nnstenergy = 0\n",
        model.timestep, model.cutoff
    );
    text += &match model.tolerance {
        Some(_) => format!(
            "coulombtype = PME\npme-order = {ORDER}\nfourierspacing = {SPACING}\newald-rtol = {RTOL:e}\n"
        ),
        None => "coulombtype = Cut-off\n".into(),
    };
    text += &match model.thermostat {
        Some([temperature, time]) => {
            format!("tcoupl = v-rescale\ntc-grps = System\ntau-t = {time}\nref-t = {temperature}\n")
        }
        None => "tcoupl = no\n".into(),
    };
    text
}
