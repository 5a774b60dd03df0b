//! What every program of a comparison does, and how another program is started.

use std::fmt;
#[cfg(unix)]
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use debye::simulation::Simulation;

use super::super::cases::Selection;
use super::model::Model;

/// A program that can run a case.
pub(super) trait Program {
    /// Its name in tables and charts.
    fn name(&self) -> String;
    /// Which version of it, and what it was built for.
    fn version(&self) -> &str;
    /// Why it does not run on a CUDA device, or without one; `None` where it does.
    fn declines(&self, _on_cuda: bool) -> Option<String> {
        None
    }
    /// What it is told of accuracy and motion.
    fn settings(&self, case: &Case<'_>, place: &Place<'_>) -> String;
    /// Writes its input.
    fn start<'a>(
        &'a self,
        case: &'a Case<'a>,
        place: &Place<'a>,
    ) -> Result<Box<dyn Contestant + 'a>, Problem>;
}

/// A program with its input.
pub(super) trait Contestant {
    /// Forces on the first configuration without those of constraints, in the units of the case.
    fn forces(&mut self) -> Result<Vec<[f64; 3]>, Problem>;
    /// Steps per second, measured for about so many seconds.
    fn speed(&mut self, seconds: f64) -> Result<f64, Problem>;
    /// Which of several ways to run it was the fastest, where there are several.
    fn choice(&self) -> Option<String> {
        None
    }
}

/// A case after its equilibration.
pub(super) struct Case<'a> {
    pub(super) selection: &'a Selection,
    pub(super) simulation: Simulation,
    pub(super) model: Model,
}

/// Where and how a program runs.
#[derive(Clone)]
pub(super) struct Place<'a> {
    /// A folder of its own.
    pub(super) folder: PathBuf,
    pub(super) threads: usize,
    /// The number of a CUDA device.
    pub(super) cuda: Option<u32>,
    pub(super) stop: &'a AtomicBool,
}

/// Why a program gave nothing.
#[derive(Debug)]
pub(super) enum Problem {
    /// The user stopped it.
    Stopped,
    /// It failed; with the end of what it wrote.
    Failed(String),
}

impl Problem {
    pub(super) fn failed(what: impl fmt::Display) -> Self {
        Self::Failed(what.to_string())
    }
}

/// Lines of the output of a failed program that are shown.
const TAIL: usize = 12;
/// Between two looks at a program that runs.
const PATIENCE: Duration = Duration::from_millis(20);

impl Place<'_> {
    /// Whether the user has stopped it.
    pub(super) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Writes a file of the folder.
    pub(super) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> Result<(), Problem> {
        let path = self.folder.join(name);
        std::fs::create_dir_all(&self.folder)
            .and_then(|()| std::fs::write(&path, text))
            .map_err(|e| Problem::Failed(format!("cannot write {}: {e}", path.display())))
    }

    /// Reads a file of the folder.
    pub(super) fn read(&self, name: &str) -> Result<String, Problem> {
        let path = self.folder.join(name);
        std::fs::read_to_string(&path)
            .map_err(|e| Problem::Failed(format!("cannot read {}: {e}", path.display())))
    }

    /// Runs a program in the folder to its end, with so many OpenMP threads; what it writes goes to a file and is given
    /// back.
    pub(super) fn run(&self, words: &[String], threads: usize, log: &str) -> Result<String, Problem> {
        let shown = || words.join(" ");
        let [program, arguments @ ..] = words else {
            return Err(Problem::failed("no command"));
        };
        let file = std::fs::File::create(self.folder.join(log)).and_then(|out| Ok([out.try_clone()?, out]));
        let [out, err] = file.map_err(|e| Problem::Failed(format!("cannot write {log}: {e}")))?;
        let mut command = Command::new(program);
        if let Some(number) = self.cuda {
            command.env(
                VISIBLE,
                visible_device(number, std::env::var(VISIBLE).ok().as_deref()),
            );
        }
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command
            .args(arguments)
            .env("OMP_NUM_THREADS", threads.to_string())
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            .spawn()
            .map_err(|e| Problem::Failed(format!("`{}` does not start: {e}", shown())))?;
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if self.stopped() => {
                    end(&mut child);
                    return Err(Problem::Stopped);
                }
                Ok(None) => std::thread::sleep(PATIENCE),
                Err(e) => return Err(Problem::Failed(format!("`{}`: {e}", shown()))),
            }
        };
        let text = self.read_lossy(log);
        if status.success() {
            return Ok(text);
        }
        Err(Problem::Failed(format!(
            "`{}` failed ({status}):\n{}",
            shown(),
            tail(&text)
        )))
    }

    fn read_lossy(&self, name: &str) -> String {
        let bytes = std::fs::read(self.folder.join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// A folder within.
    pub(super) fn within(&self, name: &str) -> Self {
        Self {
            folder: self.folder.join(name),
            ..self.clone()
        }
    }
}

/// Ends a program and what it has started: `lmp` of the Python package is a script that starts another.
fn end(child: &mut Child) {
    // They may have ended by themselves meanwhile.
    if cfg!(unix) {
        let group = format!("-{}", child.id());
        let _ = Command::new("kill").args(["-TERM", "--", &group]).status();
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// Which CUDA devices a program sees: the first of those is the one it takes.
const VISIBLE: &str = "CUDA_VISIBLE_DEVICES";

/// The device of a number among those that are visible.
pub(super) fn visible_device(number: u32, visible: Option<&str>) -> String {
    let listed = visible.and_then(|list| list.split(',').nth(number as usize));
    listed.map_or_else(|| number.to_string(), |name| name.trim().to_owned())
}

/// The last lines of a text.
fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let lines = &lines[lines.len().saturating_sub(TAIL)..];
    lines.iter().map(|line| format!("  | {line}\n")).collect()
}

/// Forces of the first frame of a file.
pub(super) fn forces_of(path: &Path) -> Result<Vec<[f64; 3]>, Problem> {
    let missing = || Problem::Failed(format!("{} has no forces", path.display()));
    let mut frames = debye_io::Trajectory::open(path).map_err(Problem::failed)?;
    let frame = frames.next().ok_or_else(missing)?.map_err(Problem::failed)?;
    frame.forces.ok_or_else(missing)
}

/// Ways to run a program that counts steps: on ranks or threads, with shorter or longer lists. The first measurement
/// tries all of them, and the fastest stays.
pub(super) struct Ways<W> {
    ways: Vec<W>,
    /// Steps per second so far.
    rate: Option<f64>,
}

/// Steps of the first attempt.
const FIRST: u64 = 20;
/// Part of the wished time that an attempt must last for its speed to be believed.
const ENOUGH: f64 = 0.2;
/// Part of the wished time that each way is tried for.
const TRIAL: f64 = 0.4;

impl<W> Ways<W> {
    pub(super) fn new(ways: Vec<W>) -> Self {
        Self { ways, rate: None }
    }

    /// The first of them, or the fastest where that is known.
    pub(super) fn one(&self) -> Option<&W> {
        self.ways.first()
    }

    /// Steps per second, measured for about so many seconds. `run` does as many steps as it is told, and gives their number
    /// per second.
    pub(super) fn measure(
        &mut self,
        seconds: f64,
        mut run: impl FnMut(&W, u64) -> Result<f64, Problem>,
    ) -> Result<f64, Problem> {
        let mut failure = Problem::failed("there is no way to run it");
        if self.rate.is_none() {
            let mut tried: Vec<(f64, W)> = Vec::new();
            for way in std::mem::take(&mut self.ways) {
                match trial(TRIAL * seconds, |steps| run(&way, steps)) {
                    Ok(rate) => tried.push((rate, way)),
                    Err(Problem::Stopped) => return Err(Problem::Stopped),
                    Err(failed) => failure = failed,
                }
            }
            let fastest = tried.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
            let (rate, way) = fastest.ok_or(failure)?;
            self.rate = Some(rate);
            self.ways = vec![way];
        }
        let (Some(way), Some(rate)) = (self.ways.first(), self.rate) else {
            return Err(Problem::failed("there is no way to run it"));
        };
        let rate = run(way, ((rate * seconds) as u64).max(FIRST))?;
        self.rate = Some(rate);
        Ok(rate)
    }
}

/// The speed of a program of which nothing is known: runs that become longer, until one takes about as long as wished.
/// Short runs look slower than long ones.
fn trial(seconds: f64, mut run: impl FnMut(u64) -> Result<f64, Problem>) -> Result<f64, Problem> {
    let mut steps = FIRST;
    loop {
        let rate = run(steps)?;
        if steps as f64 >= ENOUGH * rate * seconds {
            return Ok(rate);
        }
        steps = ((rate * seconds) as u64).max(2 * steps);
    }
}
