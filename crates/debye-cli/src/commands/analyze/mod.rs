//! `debye analyze`: what a trajectory or a table shows.

mod average;
mod drift;
mod frames;
mod info;
mod rows;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use debye::analyse::{
    Analysed, Analysis, Axis, Density, Lags, Msd, MsdOptions, Rdf, RdfOptions, Vacf, Window,
};
use debye::system::Dimension;
use serde::Serialize;

use crate::console;
use crate::failure::Failure;
use crate::flags::ThreadFlag;
use frames::{Frames, Source};

/// Analyze a trajectory, or an energy table
#[derive(Args)]
#[command(after_help = "\
Examples:
  debye analyze info argon.out/argon.xtc
  debye analyze rdf argon.out/argon.xtc --topology argon.out/final.gro --pair Ar-Ar --r-max \"12 Å\"
  debye analyze msd melt.out/melt.dcd --units lj
  debye analyze drift argon.out/energy.csv
  debye analyze average argon.out/energy.csv --from \"20 ps\"

Curves go to CSV and PNG files named after the analysis, next to where you are, or where -o says.
Files that are there are replaced with --overwrite only.")]
pub struct Analyze {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Radial distribution function and coordination numbers
    Rdf {
        #[command(flatten)]
        source: Source,
        /// Two species, such as Na-Cl [default: all particles]
        #[arg(long)]
        pair: Option<String>,
        /// Largest distance [default: half the shortest height of the cell, and at most the radius of a ball of 5000 particles]
        #[arg(long)]
        r_max: Option<String>,
        /// Bins
        #[arg(long, default_value_t = 200)]
        bins: usize,
        #[command(flatten)]
        to: Destination,
    },
    /// Mean-square displacement and diffusion coefficient
    Msd {
        #[command(flatten)]
        source: Source,
        /// Longest lag in frames
        #[arg(long, default_value_t = 1000)]
        lags: usize,
        #[command(flatten)]
        to: Destination,
    },
    /// Density profile along an axis
    Density {
        #[command(flatten)]
        source: Source,
        /// Axis
        #[arg(long, default_value = "z")]
        axis: AxisName,
        /// Bins
        #[arg(long, default_value_t = 200)]
        bins: usize,
        #[command(flatten)]
        to: Destination,
    },
    /// Velocity autocorrelation (gro, xyz, trr and lammpstrj trajectories may hold velocities)
    Vacf {
        #[command(flatten)]
        source: Source,
        /// Longest lag in frames
        #[arg(long, default_value_t = 200)]
        lags: usize,
        #[command(flatten)]
        to: Destination,
    },
    /// Means of the columns of a table, with errors from block averages
    Average(average::Table),
    /// Drift of the conserved energy, from the table of a run
    Drift(drift::Table),
    /// What a trajectory or structure file holds
    Info(info::Look),
}

/// Where results go.
#[derive(Args)]
struct Destination {
    /// CSV file; the pictures take its name [default: the analysis' name]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace files that are there
    #[arg(long)]
    overwrite: bool,
    /// Print the numbers as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    threads: ThreadFlag,
}

#[derive(Clone, Copy, ValueEnum)]
enum AxisName {
    X,
    Y,
    Z,
}

/// Time origins that correlations keep.
const ORIGINS: usize = 16;
/// Frames that a displacement or a correlation in time needs at the least.
const TWO_TIMES: usize = 2;
/// Particles that each particle sees in a radial distribution unless said: time grows with their number.
const MOST_SEEN: f64 = 5000.0;

impl Analyze {
    /// Does it.
    pub fn execute(self) -> Result<ExitCode, Failure> {
        match &self.what {
            What::Rdf {
                source,
                pair,
                r_max,
                bins,
                to,
            } => to.follow(source, 1, |frames| {
                let unit = frames.units();
                let r_max = match r_max {
                    Some(text) => unit
                        .quantity(text, Dimension::LENGTH)
                        .map_err(|e| Failure::refused(format!("--r-max {text}: {e}")))?,
                    None => {
                        let cell = frames.cell()?;
                        let h = cell.heights();
                        let volume = cell.volume() * MOST_SEEN / frames.masses().len().max(1) as f64;
                        let ball = (0.75 * volume / std::f64::consts::PI).cbrt();
                        ball.min(0.5 * h.x.min(h.y).min(h.z))
                    }
                };
                let pair = pair.as_deref().map(|text| frames.pair(text)).transpose()?;
                let options = RdfOptions {
                    pair,
                    r_max,
                    bins: *bins,
                };
                Ok(Box::new(Rdf::new(options, frames.labels())?))
            }),
            What::Msd { source, lags, to } => to.follow(source, TWO_TIMES, |frames| {
                let window = Window {
                    longest: *lags,
                    origins: ORIGINS,
                    lags: Lags::PerDecade(20),
                };
                let options = MsdOptions {
                    window,
                    masses: Some(frames.masses()),
                    fit: None,
                };
                Ok(Box::new(Msd::new(options, frames.labels())?))
            }),
            What::Density {
                source,
                axis,
                bins,
                to,
            } => to.follow(source, 1, |frames| {
                let axis = match axis {
                    AxisName::X => Axis::X,
                    AxisName::Y => Axis::Y,
                    AxisName::Z => Axis::Z,
                };
                let density = Density::new(axis, *bins, frames.masses(), frames.charges(), frames.labels())?;
                Ok(Box::new(density))
            }),
            What::Vacf { source, lags, to } => to.follow(source, TWO_TIMES, |frames| {
                Ok(Box::new(Vacf::new(
                    Vacf::every_lag(*lags, ORIGINS),
                    frames.labels(),
                )?))
            }),
            What::Average(table) => table.execute(),
            What::Drift(table) => table.execute(),
            What::Info(look) => look.execute(),
        }?;
        Ok(ExitCode::SUCCESS)
    }
}

#[derive(Serialize)]
struct Number<'a> {
    name: &'a str,
    unit: &'a str,
    value: f64,
    error: Option<f64>,
    note: &'a str,
}

#[derive(Serialize)]
struct Answer<'a> {
    analysis: &'a str,
    frames: usize,
    results: Vec<Number<'a>>,
    files: Vec<String>,
}

impl Destination {
    /// Feeds every frame to an analysis, which needs `fewest`, and writes what comes out.
    fn follow(
        &self,
        source: &Source,
        fewest: usize,
        make: impl FnOnce(&mut Frames) -> Result<Box<dyn Analysis>, Failure> + Send,
    ) -> Result<(), Failure> {
        let (result, count, csv) = self.threads.install(|| {
            let mut frames = Frames::open(source)?;
            let mut analysis = make(&mut frames)?;
            let csv = self.output.clone();
            let csv = csv.unwrap_or_else(|| PathBuf::from(format!("{}.csv", analysis.name())));
            // Before a long trajectory is read for nothing.
            self.refuse_existing(&[csv.clone(), csv.with_extension("png")])?;
            frames.for_each(|snapshot| Ok(analysis.add(snapshot)?))?;
            if frames.count() < fewest {
                return Err(frames.too_few(fewest, analysis.name()));
            }
            Ok((analysis.finish(), frames.count(), csv))
        })?;
        let files = self.write(&result, &csv)?;
        if self.json {
            let answer = Answer {
                analysis: &result.name,
                frames: count,
                results: numbers(&result),
                files,
            };
            return console::print(&console::json("analyze/1", &answer)?);
        }
        let mut text = format!("{}, {count} frames\n", result.title);
        for s in &result.scalars {
            text += &format!("  {} = {}", s.name, console::measured(s.value, s.error));
            text += format!(" {} {}", s.unit, s.note).trim_end();
            text.push('\n');
        }
        text += &format!("  written: {}\n", files.join(", "));
        console::print(&text)
    }
}

fn numbers(result: &Analysed) -> Vec<Number<'_>> {
    let number = |s: &'_ debye::analyse::Scalar| s.error.is_finite().then_some(s.error);
    result
        .scalars
        .iter()
        .map(|s| Number {
            name: &s.name,
            unit: &s.unit,
            value: s.value,
            error: number(s),
            note: &s.note,
        })
        .collect()
}

impl Destination {
    /// Refuses to replace files unless told to.
    fn refuse_existing(&self, files: &[PathBuf]) -> Result<(), Failure> {
        match files.iter().find(|file| file.is_file()) {
            Some(file) if !self.overwrite => Err(Failure::refused(format!(
                "{} exists already. Replace it with --overwrite, or name another file with -o",
                file.display()
            ))),
            _ => Ok(()),
        }
    }

    /// Writes the CSV file and the pictures.
    fn write(&self, result: &Analysed, csv: &Path) -> Result<Vec<String>, Failure> {
        let stem = csv.file_stem().unwrap_or_default().to_string_lossy();
        let mut files = vec![csv.to_path_buf()];
        let mut contents = vec![result.to_csv().into_bytes()];
        for (number, chart) in result.charts().iter().enumerate() {
            let suffix = if number == 0 {
                String::new()
            } else {
                format!("-{}", number + 1)
            };
            files.push(csv.with_file_name(format!("{stem}{suffix}.png")));
            contents.push(chart.to_png()?);
        }
        self.refuse_existing(&files)?;
        for (file, content) in files.iter().zip(contents) {
            console::save(file, &content)?;
        }
        Ok(files.iter().map(|file| file.display().to_string()).collect())
    }
}
