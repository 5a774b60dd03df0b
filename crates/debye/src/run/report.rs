//! [`Report`]: what a run was and what came of it, as one page that needs nothing else.
//!
//! The page holds its style, charts (inline SVG) and pictures (PNG in the page); it reads well without
//! scripts, on paper, on a small screen, and in the light or dark scheme of the reader. A few lines of
//! script show the values under the pointer.

mod charts;
mod html;

use crate::analysis::{Analyzed, Column, Drift};
use crate::engines::DeviceUse;

/// Everything the page says. Plain data: fill in what is known, leave the rest empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// What was simulated.
    pub title: String,
    /// Program and version.
    pub program: String,
    /// The commit the program was built from, if known.
    pub commit: Option<String>,
    /// When the run ended.
    pub date: String,
    /// The machine.
    pub host: Host,
    /// The input file, as it was read.
    pub input: String,
    /// How it was simulated: ensemble, time step, forces and the rest of what [`super::setup`] says.
    pub setup: Vec<(String, String)>,
    /// What was simulated, in numbers.
    pub system: SystemFacts,
    /// Where each term of the forces ran.
    pub places: Vec<Place>,
    /// Time of each row of the table.
    pub time: Column,
    /// The other columns of the table, as long as `time`.
    pub table: Vec<Quantity>,
    /// Rows at the beginning of the table that averages and the drift leave out.
    pub equilibration_rows: usize,
    /// The drift of the total energy, fitted to the table.
    pub drift: Option<DriftFacts>,
    /// Where the time went.
    pub stages: Vec<Stage>,
    /// What a CUDA device did.
    pub device_use: Option<DeviceUse>,
    /// How fast it was.
    pub speed: Speed,
    /// Steps between rebuilds of the neighbor list, on average.
    pub rebuild_interval: Option<f64>,
    /// Memory in bytes, by what it is for.
    pub memory: Vec<(String, u64)>,
    /// Pictures.
    pub pictures: Vec<Shot>,
    /// Analyses made on the way.
    pub analyses: Vec<Analyzed>,
    /// What the reader should know before believing the rest.
    pub warnings: Vec<String>,
}

/// The machine a run was made on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Host {
    /// Processor model.
    pub processor: String,
    /// Threads used.
    pub threads: usize,
    /// Vector instructions used.
    pub simd: String,
    /// Arithmetic: single, mixed, double.
    pub precision: String,
    /// The device chosen: `cpu`, or the GPU's name.
    pub device: String,
}

/// What was simulated, in numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SystemFacts {
    /// Number of particles.
    pub particles: u64,
    /// Number of particles of each species.
    pub species: Vec<(String, u64)>,
    /// Other facts, in order: cell, cut-offs, list buffer, integrator, timestep, …
    pub facts: Vec<(String, String)>,
}

/// Where a term of the forces ran.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Place {
    /// The term.
    pub term: String,
    /// The place, and how: `GPU, staged blocks`.
    pub place: String,
}

/// What a column of the table is; decides in which chart it is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Step number.
    Step,
    /// Potential energy.
    Potential,
    /// Kinetic energy.
    Kinetic,
    /// Total or otherwise conserved energy.
    Total,
    /// Temperature.
    Temperature,
    /// Pressure.
    Pressure,
    /// Volume.
    Volume,
    /// Density.
    Density,
    /// The energy of one term.
    Term,
}

/// A column of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// What it is.
    pub kind: Kind,
    /// Name, unit and values.
    pub column: Column,
}

/// A drift and how to say it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DriftFacts {
    /// The fit.
    pub drift: Drift,
    /// The time step, for the change per step.
    pub timestep: f64,
    /// Whether times are in picoseconds, so that the rate can be said in kT/ns/dof.
    pub picoseconds: bool,
}

/// A stage of the step and the time it took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stage {
    /// Its name.
    pub name: String,
    /// Seconds in all.
    pub seconds: f64,
    /// How often it ran.
    pub calls: u64,
}

/// How fast a run was.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Speed {
    /// Steps made.
    pub steps: u64,
    /// Seconds they took.
    pub seconds: f64,
    /// Simulated nanoseconds per day, where time has that unit.
    pub nanoseconds_per_day: Option<f64>,
}

impl Speed {
    /// Steps per second; NaN when nothing was run.
    pub fn steps_per_second(&self) -> f64 {
        if self.seconds > 0.0 {
            self.steps as f64 / self.seconds
        } else {
            f64::NAN
        }
    }
}

/// A picture in the page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shot {
    /// What it shows.
    pub caption: String,
    /// The picture as a `data:image/…` address; anything else is left out.
    pub data_uri: String,
}

impl Report {
    /// The page.
    pub fn to_html(&self) -> String {
        html::page(self)
    }
}

/// The time now, as `2026-01-31 12:00 UTC`.
pub fn utc_now() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seconds = since.map_or(0, |d| d.as_secs() as i64);
    let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Days since 0000-03-01, in eras of 400 years, so that leap days fall at the end of a year.
    let z = days + 719_468;
    let (era, day) = (z.div_euclid(146_097), z.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let (dom, month) = (of_year - (153 * shifted + 2) / 5 + 1, (shifted + 2) % 12 + 1);
    let year = year + era * 400 + i64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{dom:02} {:02}:{:02} UTC",
        rest / 3600,
        rest % 3600 / 60
    )
}

/// The name of this computer's processor.
pub fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    text.lines()
        .find_map(|line| {
            line.strip_prefix("model name")?
                .split_once(':')
                .map(|(_, name)| name.trim().to_owned())
        })
        .unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}
