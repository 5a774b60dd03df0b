//! `debye analyze info`: what a file holds.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use debye_io::{Format, ReadFrames, read_structure_as};
use serde::Serialize;

use super::frames::{Reading, Warnings};
use crate::console;
use crate::failure::Failure;

/// A file to look into.
#[derive(Args)]
pub struct Look {
    /// Trajectory or structure file
    file: PathBuf,
    #[command(flatten)]
    reading: Reading,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Answer {
    format: &'static str,
    length_unit: &'static str,
    frames: usize,
    particles: usize,
    species: BTreeMap<String, usize>,
    velocities: bool,
    first_time: Option<f64>,
    last_time: Option<f64>,
    first_step: Option<u64>,
    last_step: Option<u64>,
    first_cell: Option<[[f64; 3]; 3]>,
    last_cell: Option<[[f64; 3]; 3]>,
    lowest: [f64; 3],
    highest: [f64; 3],
}

impl Look {
    /// Does it.
    pub fn execute(&self) -> Result<(), Failure> {
        let answer = self.read()?;
        let text = if self.json {
            console::json("analyze-info/1", &answer)?
        } else {
            answer.page()
        };
        console::print(&text)
    }

    fn read(&self) -> Result<Answer, Failure> {
        let mut warnings = Warnings::default();
        let mut trajectory = self.reading.open(&self.file)?;
        let format: Format = trajectory.format();
        let mut species = BTreeMap::new();
        if format.has_atoms() {
            let structure = read_structure_as(&self.file, format)?;
            warnings.print(structure.warnings);
            for atom in structure.atoms {
                *species.entry(atom.type_name.unwrap_or(atom.name)).or_default() += 1;
            }
        }
        let mut answer: Option<Answer> = None;
        while let Some(frame) = trajectory.next_frame()? {
            let a = answer.get_or_insert_with(|| Answer {
                format: format.name(),
                length_unit: frame.length_unit.name(),
                frames: 0,
                particles: frame.positions.len(),
                species: std::mem::take(&mut species),
                velocities: frame.velocities.is_some(),
                first_time: frame.time,
                first_step: frame.step,
                first_cell: frame.cell,
                last_time: None,
                last_step: None,
                last_cell: None,
                lowest: [f64::INFINITY; 3],
                highest: [f64::NEG_INFINITY; 3],
            });
            a.frames += 1;
            (a.last_time, a.last_step, a.last_cell) = (frame.time, frame.step, frame.cell);
            for r in &frame.positions {
                a.lowest = std::array::from_fn(|k| a.lowest[k].min(r[k]));
                a.highest = std::array::from_fn(|k| a.highest[k].max(r[k]));
            }
        }
        warnings.print(trajectory.warnings());
        answer.ok_or_else(|| Failure::refused(format!("{} holds no frame", self.file.display())))
    }
}

impl Answer {
    fn page(&self) -> String {
        let unit = self.length_unit;
        let triple = |v: [f64; 3]| v.map(console::short).join(", ");
        let cell = |c: Option<[[f64; 3]; 3]>| match c {
            Some(rows) => format!(
                "{} {unit}",
                rows.map(|row| format!("({})", triple(row))).join(" ")
            ),
            None => "none".into(),
        };
        let time = |t: Option<f64>| t.map_or("unknown".into(), console::short);
        let mut rows = vec![
            ("format", format!("{}, lengths in {unit}", self.format)),
            ("frames", self.frames.to_string()),
            ("particles", console::grouped(self.particles as u64)),
        ];
        if !self.species.is_empty() {
            let names = self
                .species
                .iter()
                .map(|(name, n)| format!("{name} {}", console::grouped(*n as u64)));
            rows.push(("species", names.collect::<Vec<_>>().join(", ")));
        }
        rows.push((
            "time",
            format!("{} to {}", time(self.first_time), time(self.last_time)),
        ));
        rows.push(("cell", cell(self.first_cell)));
        if self.last_cell != self.first_cell {
            rows.push(("cell, last", cell(self.last_cell)));
        }
        rows.push((
            "extent",
            format!("({}) to ({}) {unit}", triple(self.lowest), triple(self.highest)),
        ));
        rows.push((
            "velocities",
            if self.velocities {
                "yes".into()
            } else {
                "no".into()
            },
        ));
        console::facts(&rows)
    }
}
