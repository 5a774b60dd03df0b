//! `debye analyze`: what a trajectory or a table shows.

mod average;
mod drift;
pub(super) mod frames;
mod info;
mod measure;
pub(super) mod picture;
mod rows;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use debye::analysis::Analyzed;
use serde::Serialize;

use crate::console;
use crate::failure::Failure;
use crate::flags::ThreadFlag;

/// Analyze a trajectory, or an energy table
#[derive(Args)]
#[command(after_help = "\
Examples:
  debye analyze info argon.out/argon.xtc
  debye analyze rdf argon.out/argon.xtc --topology argon.out/final.gro --pair Ar-Ar --r-max \"12 Å\"
  debye analyze msd melt.out/melt.dcd --units lj
  debye analyze drift argon.out/energy.csv
  debye analyze average argon.out/energy.csv --from \"20 ps\"
  debye analyze bilayer dopc.out/lipids.xtc --input dopc.toml --heads P
  debye analyze picture dopc.out/lipids.xtc --input dopc.toml --frames 4 --hide W -o strip.png

Curves go to CSV and PNG files named after the analysis, next to where you are, or where -o says.
Files that are there are replaced with --overwrite only.")]
pub struct Analyze {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    #[command(flatten)]
    Frames(Box<measure::Measure>),
    /// Means of the columns of a table, with errors from block averages
    Average(average::Table),
    /// Drift of the conserved energy, from the table of a run
    Drift(drift::Table),
    /// What a trajectory or structure file holds
    Info(info::Look),
    /// Pictures of frames, side by side: particles as spheres, those that turn with arrows
    Picture(Box<picture::Look>),
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

impl Analyze {
    /// Does it.
    pub fn execute(self) -> Result<ExitCode, Failure> {
        match &self.what {
            What::Frames(measure) => measure.execute(),
            What::Average(table) => table.execute(),
            What::Drift(table) => table.execute(),
            What::Info(look) => look.execute(),
            What::Picture(look) => look.execute(),
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
    /// Writes what came out of `count` frames, and prints the numbers.
    fn conclude(&self, result: &Analyzed, count: usize, csv: &Path) -> Result<(), Failure> {
        let files = self.write(result, csv)?;
        if self.json {
            let answer = Answer {
                analysis: &result.name,
                frames: count,
                results: numbers(result),
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

fn numbers(result: &Analyzed) -> Vec<Number<'_>> {
    let number = |s: &'_ debye::analysis::Scalar| s.error.is_finite().then_some(s.error);
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
    fn write(&self, result: &Analyzed, csv: &Path) -> Result<Vec<String>, Failure> {
        let files = result.files(csv)?;
        let paths: Vec<PathBuf> = files.iter().map(|(path, _)| path.clone()).collect();
        self.refuse_existing(&paths)?;
        for (path, content) in &files {
            console::save(path, content)?;
        }
        Ok(paths.iter().map(|path| path.display().to_string()).collect())
    }
}
