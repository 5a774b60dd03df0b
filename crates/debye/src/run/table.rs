//! The table of energies: a CSV file that grows while the run goes on.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::RunError;
use crate::checkpoint::Written;
use crate::engines::Observation;
use crate::integrate::Dynamics;
use crate::system::{Dimension, System, Units};

/// What a column of the table holds.
#[derive(Clone, Debug, PartialEq)]
pub struct TableColumn {
    /// Its name.
    pub name: String,
    /// Its unit; empty for a plain number.
    pub unit: String,
}

/// Turns observations into rows.
#[derive(Clone, Debug)]
pub struct TableLayout {
    units: Units,
    mass: f64,
    /// Whether there is a column of the surface tension.
    layered: bool,
    columns: Vec<TableColumn>,
}

const DENSITY: Dimension = Dimension {
    length: -3,
    mass: 1,
    time: 0,
    charge: 0,
    temperature: 0,
};
const VOLUME: Dimension = Dimension {
    length: 3,
    mass: 0,
    time: 0,
    charge: 0,
    temperature: 0,
};

impl TableLayout {
    /// The columns for a system, with the terms of an observation, and `conserved` where it keeps account of the
    /// thermostat. Pressure, volume and density are those of cells that have a volume, the surface tension that of
    /// layers: where a barostat changes x and y together and z by itself.
    pub fn new(system: &System, dynamics: &Dynamics, example: &Observation) -> Self {
        let layered = dynamics
            .barostat
            .as_ref()
            .is_some_and(|b| b.coupling.is_layered());
        let u = system.units;
        let readable = |d: Dimension| u.readable(d).1;
        let mut columns = vec![
            ("step".to_owned(), String::new()),
            ("time".into(), readable(Dimension::TIME)),
            ("potential".into(), readable(Dimension::ENERGY)),
            ("kinetic".into(), readable(Dimension::ENERGY)),
            ("total".into(), readable(Dimension::ENERGY)),
        ];
        if example.thermostat.is_some() {
            columns.push(("conserved".into(), readable(Dimension::ENERGY)));
        }
        columns.push(("temperature".into(), readable(Dimension::TEMPERATURE)));
        if example.cell.has_volume() {
            columns.extend([
                ("pressure".into(), readable(Dimension::PRESSURE)),
                ("volume".into(), readable(VOLUME)),
                ("density".into(), readable(DENSITY)),
            ]);
            for axis in ["xx", "yy", "zz"] {
                columns.push((format!("pressure {axis}"), readable(Dimension::PRESSURE)));
            }
            if layered {
                columns.push(("surface tension".into(), u.readable_tension().1));
            }
        }
        for (name, _) in &example.terms {
            columns.push((format!("term {name}"), readable(Dimension::ENERGY)));
        }
        let columns = columns
            .into_iter()
            .map(|(name, unit)| TableColumn { name, unit })
            .collect();
        Self {
            units: u,
            mass: system.particles.masses.iter().sum(),
            layered,
            columns,
        }
    }

    /// Where a column is.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == name)
    }

    /// The columns.
    pub fn columns(&self) -> &[TableColumn] {
        &self.columns
    }

    /// A row.
    pub fn row(&self, o: &Observation) -> Vec<f64> {
        let unit = self.units.readable(Dimension::PRESSURE).0;
        let mut row = vec![o.step as f64, o.time, o.potential, o.kinetic, o.total()];
        row.extend(o.thermostat.map(|thermostat| o.total() + thermostat));
        row.push(o.temperature);
        if let Some(pressure) = o.pressure() {
            let volume = o.cell.volume();
            row.extend([
                pressure * unit,
                volume,
                self.mass / volume * self.units.readable(DENSITY).0,
            ]);
            let [x, y, z, ..] = o.pressure_tensor;
            row.extend([x, y, z].map(|p| p * unit));
            if self.layered {
                let tension = o.cell.to_arrays()[2][2] * (z - 0.5 * (x + y));
                row.push(tension * self.units.readable_tension().0);
            }
        }
        row.extend(o.terms.iter().map(|(_, energy)| energy));
        row
    }

    /// The first line of the file.
    pub(super) fn header(&self) -> String {
        let name = |c: &TableColumn| {
            if c.unit.is_empty() {
                c.name.clone()
            } else {
                format!("{} ({})", c.name, c.unit)
            }
        };
        self.columns.iter().map(name).collect::<Vec<_>>().join(",") + "\n"
    }
}

/// The file.
#[derive(Debug)]
pub struct Table {
    path: PathBuf,
    file: File,
    written: Written,
}

impl Table {
    /// A new file with its header.
    pub fn create(path: &Path, layout: &TableLayout) -> Result<Self, RunError> {
        let file = File::create(path).map_err(|e| RunError::write(path, e))?;
        let mut table = Self {
            path: path.to_path_buf(),
            file,
            written: Written::default(),
        };
        table.put(&layout.header())?;
        table.written.frames = 0;
        Ok(table)
    }

    /// An existing file that is long enough, cut back to where a checkpoint saw it.
    pub fn resume(path: &Path, written: Written) -> Result<Self, RunError> {
        let fail = |e| RunError::write(path, e);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .map_err(fail)?;
        file.set_len(written.bytes).map_err(fail)?;
        file.seek(SeekFrom::End(0)).map_err(fail)?;
        Ok(Self {
            path: path.to_path_buf(),
            file,
            written,
        })
    }

    /// Adds a row: numbers with as many digits as they need.
    pub fn add(&mut self, row: &[f64]) -> Result<(), RunError> {
        let mut line = String::new();
        for (k, x) in row.iter().enumerate() {
            if k > 0 {
                line.push(',');
            }
            if x.is_finite() {
                line += &x.to_string();
            } else {
                line += "nan";
            }
        }
        line.push('\n');
        self.put(&line)
    }

    /// Length of the file so far.
    pub fn bytes(&self) -> u64 {
        self.written.bytes
    }

    /// Hands everything to the disk and says how far the file goes.
    pub fn sync(&mut self) -> Result<Written, RunError> {
        self.file
            .sync_data()
            .map_err(|e| RunError::write(&self.path, e))?;
        Ok(self.written)
    }

    fn put(&mut self, text: &str) -> Result<(), RunError> {
        if let Err(e) = self.file.write_all(text.as_bytes()) {
            // A full disk leaves whole rows.
            let _ = self.file.set_len(self.written.bytes);
            return Err(RunError::write(&self.path, e));
        }
        self.written.bytes += text.len() as u64;
        self.written.frames += 1;
        Ok(())
    }
}

/// Reads a table back: names of the columns and the columns. Rows that do not fit are refused.
pub fn read_table(path: &Path) -> Result<(Vec<String>, Vec<Vec<f64>>), RunError> {
    let mut text = String::new();
    File::open(path)
        .and_then(|mut f| f.read_to_string(&mut text))
        .map_err(|e| RunError::read(path, e))?;
    let mut lines = text.lines();
    let names: Vec<String> = lines
        .next()
        .unwrap_or_default()
        .split(',')
        .map(str::to_owned)
        .collect();
    let mut columns = vec![Vec::new(); names.len()];
    for (number, line) in lines.enumerate() {
        let cells: Vec<&str> = line.split(',').collect();
        let values: Option<Vec<f64>> = cells.iter().map(|cell| cell.trim().parse().ok()).collect();
        match values {
            Some(values) if values.len() == names.len() => {
                columns
                    .iter_mut()
                    .zip(values)
                    .for_each(|(column, x)| column.push(x));
            }
            _ => {
                return Err(RunError::Table {
                    file: path.to_path_buf(),
                    line: number + 2,
                    found: line.chars().take(60).collect(),
                    expected: names.len(),
                });
            }
        }
    }
    Ok((names, columns))
}
