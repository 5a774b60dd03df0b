//! OpenMM, by a script for `python3`.

use std::process::Command;

use serde::Deserialize;

use super::model::Scale;
use super::program::{Case, Contestant, Place, Problem, Program};

/// What is written beside the system and run.
const SCRIPT: &str = include_str!("openmm_case.py");
/// Says the version and the platforms.
const ABOUT: &str = "import openmm as m; p = m.Platform; print(p.getOpenMMVersion()); \
    [print(p.getPlatform(k).getName()) for k in range(p.getNumPlatforms())]";

/// OpenMM, as it is installed.
pub(super) struct OpenMm {
    version: String,
    platforms: Vec<String>,
}

impl OpenMm {
    /// The package that `python3` has.
    pub(super) fn find() -> Option<Self> {
        let output = Command::new("python3").args(["-c", ABOUT]).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut lines = text.lines().map(str::to_owned);
        let version = lines.next().filter(|_| output.status.success())?;
        Some(Self {
            version,
            platforms: lines.collect(),
        })
    }
}

fn platform(on_cuda: bool) -> &'static str {
    if on_cuda { "CUDA" } else { "CPU" }
}

impl Program for OpenMm {
    fn name(&self) -> String {
        "OpenMM".into()
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn declines(&self, on_cuda: bool) -> Option<String> {
        let wanted = platform(on_cuda);
        let there = self.platforms.iter().any(|name| name == wanted);
        (!there).then(|| format!("it has no {wanted} platform here: {}", self.platforms.join(", ")))
    }

    fn settings(&self, case: &Case<'_>, place: &Place<'_>) -> String {
        let model = &case.model;
        let precision = if place.cuda.is_some() { "mixed" } else { "single" };
        let charges = match model.tolerance {
            Some(tolerance) => format!("PME, tolerance {tolerance:e}, "),
            None => String::new(),
        };
        let motion = model.motion("LangevinMiddle");
        let platform = platform(place.cuda.is_some());
        format!(
            "{platform} platform, {precision} precision, {charges}{motion}{}",
            model.argon_note()
        )
    }

    fn start<'a>(
        &'a self,
        case: &'a Case<'a>,
        place: &Place<'a>,
    ) -> Result<Box<dyn Contestant + 'a>, Problem> {
        let (model, scale) = case.model.in_md_units().map_err(Problem::failed)?;
        let system = serde_json::to_vec(&model).map_err(Problem::failed)?;
        place.write("system.json", system)?;
        place.write("case.py", SCRIPT)?;
        Ok(Box::new(Started {
            place: place.clone(),
            scale,
        }))
    }
}

/// OpenMM with its input.
struct Started<'a> {
    place: Place<'a>,
    scale: Scale,
}

impl Started<'_> {
    fn run(&self, task: &str, argument: &str) -> Result<String, Problem> {
        let threads = self.place.threads.to_string();
        let words = [
            "python3",
            "case.py",
            platform(self.place.cuda.is_some()),
            &threads,
            task,
            argument,
        ];
        let words = words.map(String::from);
        self.place.run(&words, self.place.threads, &format!("{task}.txt"))
    }
}

impl Contestant for Started<'_> {
    fn forces(&mut self) -> Result<Vec<[f64; 3]>, Problem> {
        self.run("forces", "forces.json")?;
        let forces = serde_json::from_str(&self.place.read("forces.json")?);
        Ok(self.scale.forces_back(forces.map_err(Problem::failed)?))
    }

    fn speed(&mut self, seconds: f64) -> Result<f64, Problem> {
        let text = self.run("speed", &seconds.to_string())?;
        rate(&text).ok_or_else(|| Problem::failed("OpenMM does not say how fast it was: see speed.txt"))
    }
}

/// The last line of the script.
#[derive(Deserialize)]
struct Timed {
    steps: f64,
    seconds: f64,
}

pub(super) fn rate(text: &str) -> Option<f64> {
    let timed: Timed = serde_json::from_str(text.lines().last()?).ok()?;
    Some(timed.steps / timed.seconds)
}
