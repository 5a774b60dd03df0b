//! [`Density`]: number, mass and charge density across the cell.

use std::sync::Arc;

use super::blocks::Blocks;
use super::kind::{AnalysisKind, Setting, SettingKind};
use super::state::{Reader, Writer};
use super::{Analysis, AnalysisError, Analyzed, Column, Labels, Plot, Scalar, Snapshot, check, group_names};

/// The cell vector a profile runs along; its slabs are parallel to the other two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Across the slabs of a.
    X,
    /// Across the slabs of b.
    Y,
    /// Across the slabs of c.
    Z,
}

impl Axis {
    fn name(self) -> &'static str {
        ["x", "y", "z"][self as usize]
    }
}

/// Density profiles by species.
///
/// Slabs are fractions of the cell, so a cell may change; distances are those of the mean height.
/// Memory: 32 · slabs · (species + 1) · 24 bytes.
#[derive(Clone, Debug)]
pub struct Density {
    name: String,
    labels: Labels,
    axis: Axis,
    slabs: usize,
    masses: Arc<[f64]>,
    charges: Arc<[f64]>,
    frames: u64,
    /// For each group: number, mass and charge density of each slab; then frames, height and how many
    /// particles were outside.
    blocks: Blocks,
}

/// Density of what.
const KINDS: [&str; 3] = ["number", "mass", "charge"];

impl Density {
    /// An empty accumulator; masses and charges are those of the particles, in their order.
    pub fn new(
        axis: Axis,
        slabs: usize,
        masses: Arc<[f64]>,
        charges: Arc<[f64]>,
        labels: &Labels,
    ) -> Result<Self, AnalysisError> {
        let wrong = |setting, value: usize, expected: String| AnalysisError::Setting {
            analysis: "density",
            setting,
            value: value.to_string(),
            expected,
        };
        if !(1..=1_000_000).contains(&slabs) {
            return Err(wrong("bins", slabs, "1 to 1000000".into()));
        }
        if charges.len() != masses.len() {
            return Err(wrong(
                "number of charges",
                charges.len(),
                masses.len().to_string(),
            ));
        }
        Ok(Self {
            name: format!("density-{}", axis.name()),
            axis,
            slabs,
            masses,
            charges,
            frames: 0,
            blocks: Blocks::new(group_names(labels).len() * slabs * 3 + 3),
            labels: labels.clone(),
        })
    }

    fn head(&self) -> Writer {
        let mut writer = Writer::new(b"DENS");
        writer
            .text(self.axis.name())
            .u64(self.slabs as u64)
            .u64(self.labels.species.len() as u64);
        writer
    }

    fn columns(&self) -> usize {
        group_names(&self.labels).len() * self.slabs * 3 + 3
    }
}

impl Analysis for Density {
    fn name(&self) -> &str {
        &self.name
    }

    fn add(&mut self, frame: &Snapshot<'_>) -> Result<(), AnalysisError> {
        check(frame, &self.labels, frame.positions, "position")?;
        if self.masses.len() != frame.positions.len() {
            return Err(AnalysisError::Length {
                step: frame.step,
                what: "particles",
                found: frame.positions.len(),
                expected: self.masses.len(),
            });
        }
        let (axis, slabs) = (self.axis as usize, self.slabs);
        let (columns, known) = (self.columns(), self.labels.species.len());
        let periodic = frame.cell.periodic()[axis];
        let weight = slabs as f64 / frame.cell.volume();
        let sums = self.blocks.at(self.frames);
        sums[columns - 3] += 1.0;
        sums[columns - 2] += frame.cell.heights()[axis];
        for (i, (&r, &species)) in frame.positions.iter().zip(frame.species).enumerate() {
            let s = frame.cell.fractional(r)[axis];
            let s = if periodic { s - s.floor() } else { s };
            if !(0.0..=1.0).contains(&s) {
                sums[columns - 1] += 1.0;
                continue;
            }
            let slab = ((s * slabs as f64) as usize).min(slabs - 1);
            let mut put = |group: usize| {
                let at = (group * slabs + slab) * 3;
                sums[at] += weight;
                sums[at + 1] += weight * self.masses[i];
                sums[at + 2] += weight * self.charges[i];
            };
            put(species as usize);
            if known != 1 {
                put(known);
            }
        }
        self.frames += 1;
        Ok(())
    }

    fn finish(&self) -> Analyzed {
        let (slabs, total) = (self.slabs, self.blocks.total());
        let end = total.len();
        let frames = total[end - 3];
        let height = total[end - 2] / frames;
        let Labels {
            length, mass, charge, ..
        } = &self.labels;
        let units = [
            format!("{length}⁻³"),
            format!("{mass}/{length}³"),
            format!("{charge}/{length}³"),
        ];
        let middles = (0..slabs)
            .map(|k| (k as f64 + 0.5) / slabs as f64 * height)
            .collect();
        let mut columns = vec![Column::new(self.axis.name(), length, middles, None)];
        let mut plots = Vec::new();
        for (kind, unit) in units.iter().enumerate() {
            let first = columns.len();
            for (group, name) in group_names(&self.labels).iter().enumerate() {
                let mean =
                    |sums: &[f64], slab: usize| sums[(group * slabs + slab) * 3 + kind] / sums[end - 3];
                let values = (0..slabs).map(|slab| mean(&total, slab)).collect();
                let errors = (0..slabs)
                    .map(|slab| self.blocks.error_of(self.frames, |sums| mean(sums, slab)))
                    .collect();
                columns.push(Column::new(
                    &format!("{}, {name}", KINDS[kind]),
                    unit,
                    values,
                    Some(errors),
                ));
            }
            let charged = columns[first..]
                .iter()
                .any(|c| c.values.iter().any(|&v| v != 0.0));
            if charged || kind < 2 {
                let title = format!(
                    "{}{} density along {}",
                    KINDS[kind][..1].to_uppercase(),
                    &KINDS[kind][1..],
                    self.axis.name()
                );
                plots.push(Plot::new(
                    &title,
                    &format!("{} ({length})", self.axis.name()),
                    &format!("{} density ({unit})", KINDS[kind]),
                    (first..columns.len()).collect(),
                ));
            }
        }
        Analyzed {
            name: self.name.clone(),
            title: format!("Density along {}", self.axis.name()),
            notes: vec![format!(
                "Frames: {}; slabs are fractions of the cell, drawn at its mean height.",
                self.frames
            )],
            columns,
            scalars: vec![
                Scalar::new("mean height", length, height, f64::NAN, ""),
                Scalar::new(
                    "particles outside, per frame",
                    "",
                    total[end - 1] / frames,
                    f64::NAN,
                    "",
                ),
            ],
            plots,
        }
    }

    fn save(&self) -> Vec<u8> {
        let mut writer = self.head();
        writer.u64(self.frames);
        self.blocks.save(&mut writer);
        writer.finish()
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), AnalysisError> {
        let mut reader = Reader::new("density", state, &self.head())?;
        let frames = reader.u64()?;
        let blocks = Blocks::restore(&mut reader, self.columns(), frames)?;
        reader.finish()?;
        (self.frames, self.blocks) = (frames, blocks);
        Ok(())
    }
}

pub(super) static KIND: AnalysisKind = AnalysisKind {
    name: "density",
    about: "Density profile along an axis",
    settings: &[
        Setting::BINS,
        Setting {
            name: "axis",
            key: Some("axis"),
            flag: Some("Axis"),
            kind: SettingKind::Choice(&["x", "y", "z"], 2),
        },
        Setting::SPECIES,
    ],
    fewest_frames: 1,
    build: |request, subject| {
        let axis = [Axis::X, Axis::Y, Axis::Z][request.choice("axis")?.min(2)];
        let (masses, charges) = (Arc::clone(&subject.masses), Arc::clone(&subject.charges));
        let density = Density::new(axis, request.count("bins")?, masses, charges, &subject.labels)?;
        Ok(Box::new(density))
    },
    check: |_, _| Ok(()),
};
