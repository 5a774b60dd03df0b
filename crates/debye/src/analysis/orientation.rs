//! [`OrientationProfile`]: how dipoles point along an axis, slab by slab.

use super::blocks::FrameSums;
use super::kind::{AnalysisKind, Setting, Subject};
use super::slabs::{Axis, Slabs};
use super::state::{Reader, Writer};
use super::{Analysis, AnalysisError, Analyzed, Column, Labels, Plot, Snapshot, axes, group_names};

/// Mean cosine between the axes of particles that turn and the axis of the profile, by species.
///
/// Memory: 32 · slabs · (species + 1) · 16 bytes.
#[derive(Clone, Debug)]
pub struct OrientationProfile {
    labels: Labels,
    slabs: Slabs,
    /// For each group and slab how many, and the sum of their cosines; then frames and height.
    sums: FrameSums,
}

impl OrientationProfile {
    /// An empty accumulator.
    ///
    /// # Errors
    /// Slabs that make no sense.
    pub fn new(slabs: Slabs, subject: &Subject) -> Result<Self, AnalysisError> {
        slabs.check("orientation", &subject.labels)?;
        let labels = subject.labels.clone();
        Ok(Self {
            sums: FrameSums::new(columns(&labels, &slabs)),
            labels,
            slabs,
        })
    }

    fn head(&self) -> Writer {
        let mut writer = Writer::new(b"ORIE");
        writer
            .text(self.slabs.axis.name())
            .u64(self.slabs.count as u64)
            .u64(self.labels.species.len() as u64);
        writer
    }
}

fn columns(labels: &Labels, slabs: &Slabs) -> usize {
    2 * group_names(labels).len() * slabs.count + 2
}

impl Analysis for OrientationProfile {
    fn name(&self) -> &str {
        "orientation"
    }

    fn add(&mut self, frame: &Snapshot<'_>) -> Result<(), AnalysisError> {
        let axes = axes(frame, &self.labels, "orientation")?;
        let known = self.labels.species.len();
        let normal = frame.cell.normal(self.slabs.axis as usize);
        let origin = self.slabs.origin(frame);
        let sums = self.sums.next_frame();
        let end = sums.len();
        sums[end - 2] += 1.0;
        sums[end - 1] += frame.cell.heights()[self.slabs.axis as usize];
        for (i, (&axis, &species)) in axes.iter().zip(frame.species).enumerate() {
            if axis == crate::expr::Vec3::zero() {
                continue;
            }
            let Some(slab) = self.slabs.slab(frame, origin, i) else {
                continue;
            };
            let groups = std::iter::once(species as usize).chain((known != 1).then_some(known));
            for group in groups {
                let at = 2 * (group * self.slabs.count + slab);
                sums[at] += 1.0;
                sums[at + 1] += axis.dot(normal);
            }
        }
        Ok(())
    }

    fn needs_velocities(&self) -> bool {
        false
    }

    fn finish(&self) -> Analyzed {
        let (total, count) = (self.sums.total(), self.slabs.count);
        let end = total.len();
        let height = total[end - 1] / total[end - 2];
        let axis = self.slabs.axis.name();
        let mut columns = vec![self.slabs.middles(height, &self.labels)];
        for (group, name) in group_names(&self.labels).iter().enumerate() {
            let at = |slab: usize| 2 * (group * count + slab);
            if (0..count).all(|slab| total[at(slab)] == 0.0) {
                continue;
            }
            let mean = |sums: &[f64], slab: usize| sums[at(slab) + 1] / sums[at(slab)];
            let values = (0..count).map(|slab| mean(&total, slab)).collect();
            let errors = (0..count)
                .map(|slab| self.sums.error_of(|sums| mean(sums, slab)))
                .collect();
            columns.push(Column::new(&format!("cos θ, {name}"), "", values, Some(errors)));
        }
        let x = format!("{axis} ({})", self.labels.length);
        Analyzed {
            name: "orientation".into(),
            title: format!("Orientation along {axis}"),
            notes: vec![format!(
                "Frames: {}; {}",
                self.sums.frames(),
                self.slabs.note(&self.labels)
            )],
            plots: vec![Plot::new("", &x, "mean cos θ", (1..columns.len()).collect())],
            columns,
            scalars: Vec::new(),
        }
    }

    fn save(&self) -> Vec<u8> {
        self.sums.save(self.head())
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), AnalysisError> {
        let reader = Reader::new("orientation", state, &self.head())?;
        self.sums = self.sums.restored(reader)?;
        Ok(())
    }
}

pub(super) static KIND: AnalysisKind = AnalysisKind {
    name: "orientation",
    about: "Orientation of dipoles along an axis, as a profile",
    settings: &[Setting::BINS, Axis::SETTING, Slabs::CENTER, Setting::SPECIES],
    fewest_frames: 1,
    build: |request, subject| Ok(Box::new(OrientationProfile::new(Slabs::of(request)?, subject)?)),
    check: |_, _| Ok(()),
};
