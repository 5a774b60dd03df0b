//! [`Rows`]: the table of a run, as analyses of single series want it.

use std::ops::Range;
use std::path::{Path, PathBuf};

use debye::run::table::read_table;
use debye::system::{Dimension, Units};

use crate::failure::Failure;

/// A table that was read.
pub struct Rows {
    file: PathBuf,
    /// Names of the columns, and their units.
    pub names: Vec<(String, String)>,
    /// The columns.
    pub columns: Vec<Vec<f64>>,
    /// The unit system of the run.
    pub units: Units,
}

impl Rows {
    /// Reads a table.
    pub fn read(file: &Path) -> Result<Self, Failure> {
        let (titles, columns) = read_table(file)?;
        let split = |title: &String| match title.split_once(" (") {
            Some((name, unit)) => (name.trim().to_owned(), unit.trim_end_matches(')').to_owned()),
            None => (title.trim().to_owned(), String::new()),
        };
        let names: Vec<(String, String)> = titles.iter().map(split).collect();
        let picoseconds = names.iter().any(|(name, unit)| name == "time" && unit == "ps");
        Ok(Self {
            file: file.to_owned(),
            names,
            columns,
            units: if picoseconds {
                Units::Md
            } else {
                Units::LennardJones
            },
        })
    }

    /// The place of a column.
    pub fn find(&self, wanted: &str) -> Result<usize, Failure> {
        let place = self.names.iter().position(|(name, _)| name == wanted);
        place.ok_or_else(|| {
            let known: Vec<&str> = self.names.iter().map(|(name, _)| name.as_str()).collect();
            Failure::refused(format!(
                "{} has no column `{wanted}`; it has {}",
                self.file.display(),
                known.join(", ")
            ))
        })
    }

    /// The rows from a time or a step on; all where neither is given.
    pub fn from(&self, time: Option<&str>, step: Option<u64>) -> Result<Range<usize>, Failure> {
        let (name, least) = match (time, step) {
            (Some(text), _) => {
                let time = self.units.quantity(text, Dimension::TIME);
                let time = time.map_err(|e| Failure::refused(format!("--from {text}: {e}")))?;
                if time < 0.0 {
                    return Err(Failure::refused(format!(
                        "--from {text}: expected a time from 0 on"
                    )));
                }
                // Times are sums of steps: the last digit of the text may not be theirs.
                ("time", time - 1e-9 * time.abs())
            }
            (None, Some(step)) => ("step", step as f64),
            (None, None) => return Ok(0..self.columns.first().map_or(0, Vec::len)),
        };
        let column = &self.columns[self.find(name)?];
        let first = column.iter().position(|x| *x >= least);
        Ok(first.unwrap_or(column.len())..column.len())
    }
}
