//! [`Density`]: number, mass, charge and electron density across the cell.

use std::sync::Arc;

use super::blocks::FrameSums;
use super::kind::{AnalysisKind, Setting, Subject};
use super::slabs::{Axis, Slabs};
use super::state::{Reader, Writer};
use super::{Analysis, AnalysisError, Analyzed, Column, Labels, Plot, Scalar, Snapshot, check, group_names};

/// Density profiles by species.
///
/// Slabs are fractions of the cell, so a cell may change; distances are those of the mean height.
/// Memory: 32 · slabs · (species + 1) · 32 bytes.
#[derive(Clone, Debug)]
pub struct Density {
    name: String,
    labels: Labels,
    slabs: Slabs,
    masses: Arc<[f64]>,
    charges: Arc<[f64]>,
    electrons: Arc<[f64]>,
    /// For each group: number, mass, charge and electron density of each slab; then frames, height and how many
    /// particles were outside.
    sums: FrameSums,
}

/// Density of what.
const KINDS: [&str; 4] = ["number", "mass", "charge", "electron"];

impl Density {
    /// An empty accumulator.
    ///
    /// # Errors
    /// Slabs that make no sense.
    pub fn new(slabs: Slabs, subject: &Subject) -> Result<Self, AnalysisError> {
        slabs.check("density", &subject.labels)?;
        let groups = group_names(&subject.labels).len();
        Ok(Self {
            name: format!("density-{}", slabs.axis.name()),
            sums: FrameSums::new(groups * slabs.count * KINDS.len() + 3),
            slabs,
            masses: Arc::clone(&subject.masses),
            charges: Arc::clone(&subject.charges),
            electrons: Arc::clone(&subject.electrons),
            labels: subject.labels.clone(),
        })
    }

    fn head(&self) -> Writer {
        let mut writer = Writer::new(b"DENS");
        writer
            .text(self.slabs.axis.name())
            .u64(self.slabs.count as u64)
            .u64(self.labels.species.len() as u64);
        self.slabs.center.iter().for_each(|&species| {
            writer.u64(u64::from(species));
        });
        writer
    }

    fn columns(&self) -> usize {
        group_names(&self.labels).len() * self.slabs.count * KINDS.len() + 3
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
        let count = self.slabs.count;
        let (columns, known) = (self.columns(), self.labels.species.len());
        let weight = count as f64 / frame.cell.volume();
        let origin = self.slabs.origin(frame);
        let sums = self.sums.next_frame();
        sums[columns - 3] += 1.0;
        sums[columns - 2] += frame.cell.heights()[self.slabs.axis as usize];
        for (i, &species) in frame.species.iter().enumerate() {
            let Some(slab) = self.slabs.slab(frame, origin, i) else {
                sums[columns - 1] += 1.0;
                continue;
            };
            let electrons = self.electrons[species as usize];
            let amounts = [1.0, self.masses[i], self.charges[i], electrons];
            let groups = std::iter::once(species as usize).chain((known != 1).then_some(known));
            for group in groups {
                let at = (group * count + slab) * KINDS.len();
                let place = &mut sums[at..at + KINDS.len()];
                place
                    .iter_mut()
                    .zip(amounts)
                    .for_each(|(sum, amount)| *sum += weight * amount);
            }
        }
        Ok(())
    }

    fn needs_velocities(&self) -> bool {
        false
    }

    fn finish(&self) -> Analyzed {
        let (slabs, total) = (self.slabs.count, self.sums.total());
        let axis = self.slabs.axis.name();
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
            format!("{length}⁻³"),
        ];
        let mut columns = vec![self.slabs.middles(height, &self.labels)];
        let mut plots = Vec::new();
        for (kind, unit) in units.iter().enumerate() {
            if KINDS[kind] == "electron" && self.electrons.iter().all(|&n| n == 0.0) {
                continue;
            }
            let first = columns.len();
            for (group, name) in group_names(&self.labels).iter().enumerate() {
                let mean = |sums: &[f64], slab: usize| {
                    sums[(group * slabs + slab) * KINDS.len() + kind] / sums[end - 3]
                };
                let values = (0..slabs).map(|slab| mean(&total, slab)).collect();
                let errors = (0..slabs)
                    .map(|slab| self.sums.error_of(|sums| mean(sums, slab)))
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
                    axis
                );
                plots.push(Plot::new(
                    &title,
                    &format!("{} ({length})", axis),
                    &format!("{} density ({unit})", KINDS[kind]),
                    (first..columns.len()).collect(),
                ));
            }
        }
        let known = self.electrons.iter().any(|&n| n > 0.0);
        let unknown: Vec<&str> = (self.labels.species.iter().zip(self.electrons.iter()))
            .filter(|(_, n)| known && **n == 0.0)
            .map(|(name, _)| name.as_str())
            .collect();
        let unknown = (!unknown.is_empty()).then(|| {
            let names = unknown.join(", ");
            format!("Electrons of {names} are not known (`electrons` of a species) and are missing in all.")
        });
        Analyzed {
            name: self.name.clone(),
            title: format!("Density along {}", axis),
            notes: [format!(
                "Frames: {}; {}",
                self.sums.frames(),
                self.slabs.note(&self.labels)
            )]
            .into_iter()
            .chain(unknown)
            .collect(),
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
        self.sums.save(self.head())
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), AnalysisError> {
        let reader = Reader::new("density", state, &self.head())?;
        self.sums = self.sums.restored(reader)?;
        Ok(())
    }
}

pub(super) static KIND: AnalysisKind = AnalysisKind {
    name: "density",
    about: "Density profile along an axis",
    settings: &[Setting::BINS, Axis::SETTING, Slabs::CENTER, Setting::SPECIES],
    fewest_frames: 1,
    build: |request, subject| Ok(Box::new(Density::new(Slabs::of(request)?, subject)?)),
    check: |_, _| Ok(()),
};
