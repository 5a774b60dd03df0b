//! [`NematicOrder`]: whether particles point along a common direction, and along which.
//!
//! From the tensor Q = ⟨3 u u − 1⟩ / 2 of the axes u of a frame: its largest eigenvalue is the order parameter S, 1 where
//! all are parallel, and its eigenvector the director. In N particles without order S is not 0 but of the size of
//! 1/√N; minus twice the middle eigenvalue is 0 on average there, and S where the phase is uniaxial.

use super::blocks::FrameSums;
use super::kind::{AnalysisKind, Setting, Subject};
use super::state::{Reader, Writer};
use super::{Analysis, AnalysisError, Analyzed, Column, Labels, Plot, Scalar, Snapshot, axes};
use crate::expr::{Vec3, eigen};

/// Sums of a frame: frames, time, S, minus twice the middle eigenvalue, polar order; then the six parts of d d.
const SUMS: usize = 11;

/// Nematic order parameter and director.
///
/// Memory: a few kilobytes.
#[derive(Clone, Debug)]
pub struct NematicOrder {
    labels: Labels,
    /// Empty means all that turn.
    species: Vec<u32>,
    sums: FrameSums,
}

impl NematicOrder {
    /// An empty accumulator; of all species that turn where none are named.
    pub fn new(species: &[u32], labels: &Labels) -> Self {
        Self {
            labels: labels.clone(),
            species: species.to_vec(),
            sums: FrameSums::new(SUMS),
        }
    }

    fn head(&self) -> Writer {
        let mut writer = Writer::new(b"NEMA");
        self.species.iter().for_each(|&species| {
            writer.u64(u64::from(species));
        });
        writer
    }
}

impl Analysis for NematicOrder {
    fn name(&self) -> &str {
        "nematic"
    }

    fn add(&mut self, frame: &Snapshot<'_>) -> Result<(), AnalysisError> {
        let axes = axes(frame, &self.labels, "nematic")?;
        let mut tensor = [0.0; 6];
        let (mut count, mut sum) = (0.0, Vec3::zero());
        for (&u, species) in axes.iter().zip(frame.species) {
            let wanted = self.species.is_empty() || self.species.contains(species);
            if !wanted || u == Vec3::zero() {
                continue;
            }
            let products = [u.x * u.x, u.y * u.y, u.z * u.z, u.x * u.y, u.x * u.z, u.y * u.z];
            tensor.iter_mut().zip(products).for_each(|(t, p)| *t += p);
            sum += u;
            count += 1.0;
        }
        if count == 0.0 {
            let (step, analysis) = (frame.step, "nematic");
            return Err(AnalysisError::NoOrientations { step, analysis });
        }
        let q = |k: usize| 1.5 * tensor[k] / count - if k < 3 { 0.5 } else { 0.0 };
        let [_, (middle, _), (largest, d)] = eigen(std::array::from_fn(q));
        let polar = (sum * f64::recip(count)).dot(d).abs();
        let amounts = [
            1.0,
            frame.time,
            largest,
            -2.0 * middle,
            polar,
            d.x * d.x,
            d.y * d.y,
            d.z * d.z,
            d.x * d.y,
            d.x * d.z,
            d.y * d.z,
        ];
        self.sums.add(amounts);
        Ok(())
    }

    fn needs_velocities(&self) -> bool {
        false
    }

    fn finish(&self) -> Analyzed {
        let total = self.sums.total();
        let mean = |sums: &[f64], what: usize| sums[what] / sums[0];
        let scalar = |name: &str, what: usize, note: &str| {
            let error = self.sums.error_of(|sums| mean(sums, what));
            Scalar::new(name, "", mean(&total, what), error, note)
        };
        let [.., (steadiness, d)] = eigen(std::array::from_fn(|k| mean(&total, 5 + k)));
        // A director has no sign: that of its largest part is taken to be +.
        let largest = [d.x, d.y, d.z]
            .into_iter()
            .fold(0.0, |a: f64, b| if b.abs() > a.abs() { b } else { a });
        let d = d * largest.signum();
        let part = |name: &str, value: f64| {
            let note = "of the mean director";
            Scalar::new(&format!("director, {name}"), "", value, f64::NAN, note)
        };
        let blocks = self.sums.complete();
        let column = |name: &str, unit: &str, what: usize| {
            Column::new(
                name,
                unit,
                blocks.iter().map(|sums| mean(sums, what)).collect(),
                None,
            )
        };
        let time = &self.labels.time;
        Analyzed {
            name: "nematic".into(),
            title: "Nematic order".into(),
            notes: vec![format!(
                "Frames: {}; rows are means over equal blocks of time.",
                self.sums.frames()
            )],
            columns: vec![
                column("time", time, 1),
                column("S", "", 2),
                column("S, unbiased", "", 3),
                column("polar order", "", 4),
            ],
            scalars: vec![
                scalar("S", 2, "largest eigenvalue; of the size of 1/√N without order"),
                scalar("S, unbiased", 3, "minus twice the middle eigenvalue"),
                scalar(
                    "polar order",
                    4,
                    "mean cosine to the director, as a size: some 1/√N unless the phase is polar",
                ),
                part("x", d.x),
                part("y", d.y),
                part("z", d.z),
                Scalar::new(
                    "order of the director in time",
                    "",
                    steadiness,
                    f64::NAN,
                    "1 where it does not turn",
                ),
            ],
            plots: vec![Plot::new(
                "",
                &format!("time ({time})"),
                "order parameter",
                vec![1, 2, 3],
            )],
        }
    }

    fn save(&self) -> Vec<u8> {
        self.sums.save(self.head())
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), AnalysisError> {
        let reader = Reader::new("nematic", state, &self.head())?;
        self.sums = self.sums.restored(reader)?;
        Ok(())
    }
}

pub(super) static KIND: AnalysisKind = AnalysisKind {
    name: "nematic",
    about: "Nematic order parameter and director of particles that turn",
    settings: &[Setting {
        flag: Some("Species that count [default: all that turn]"),
        ..Setting::SPECIES
    }],
    fewest_frames: 1,
    build: |request, subject: &Subject| {
        let species = request.species("species")?;
        Ok(Box::new(NematicOrder::new(species, &subject.labels)))
    },
    check: |_, _| Ok(()),
};
