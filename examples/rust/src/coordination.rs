//! The mean number of neighbors within a distance, over time.

use debye::analysis::{
    Analysis, AnalysisError, AnalysisKind, Analyzed, Column, Plot, Scalar, Setting, SettingKind, Snapshot,
};
use debye::io::codec::{Reader, Writer};
use debye::system::Dimension;

/// Counts neighbors, frame by frame.
#[derive(Clone, Debug)]
pub struct Coordination {
    radius: f64,
    unit: String,
    times: Vec<f64>,
    means: Vec<f64>,
}

/// What input files and `Measure` call it.
pub static COORDINATION: AnalysisKind = AnalysisKind {
    name: "coordination",
    about: "Mean number of neighbors within a distance, over time",
    settings: &[Setting {
        name: "radius",
        key: Some("radius"),
        flag: Some("How far neighbors are counted"),
        kind: SettingKind::Quantity(Dimension::LENGTH),
    }],
    fewest_frames: 1,
    build: |request, subject| {
        Ok(Box::new(Coordination {
            radius: request.quantity("radius")?.unwrap_or(subject.reach),
            unit: subject.labels.time.clone(),
            times: Vec::new(),
            means: Vec::new(),
        }))
    },
    check: |_, _| Ok(()),
};

impl Analysis for Coordination {
    fn name(&self) -> &str {
        "coordination"
    }

    fn add(&mut self, frame: &Snapshot<'_>) -> Result<(), AnalysisError> {
        let (r, within) = (frame.positions, self.radius * self.radius);
        let near = |i: &usize, j: &usize| frame.cell.minimum_image(r[*i] - r[*j]).norm2() < within;
        let pairs: usize = (0..r.len()).map(|i| (0..i).filter(|j| near(&i, j)).count()).sum();
        self.times.push(frame.time);
        self.means.push(2.0 * pairs as f64 / r.len() as f64);
        Ok(())
    }

    fn needs_velocities(&self) -> bool {
        false
    }

    fn finish(&self) -> Analyzed {
        let mean = self.means.iter().sum::<f64>() / self.means.len().max(1) as f64;
        Analyzed {
            name: self.name().into(),
            title: format!("Neighbors within {}", self.radius),
            notes: vec![format!("{} frames.", self.means.len())],
            columns: vec![
                Column::new("time", &self.unit, self.times.clone(), None),
                Column::new("neighbors", "", self.means.clone(), None),
            ],
            scalars: vec![Scalar::new(
                "mean number of neighbors",
                "",
                mean,
                f64::NAN,
                "over all frames",
            )],
            plots: vec![Plot::new("Neighbors", "time", "neighbors", vec![1])],
        }
    }

    fn save(&self) -> Vec<u8> {
        let mut state = Writer::new();
        state.f64s(&self.times);
        state.f64s(&self.means);
        state.finish()
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), AnalysisError> {
        let mut reader = Reader::new(state);
        let damaged = |_| AnalysisError::State {
            analysis: COORDINATION.name,
            reason: "it is damaged",
        };
        (self.times, self.means) = (reader.f64s().map_err(damaged)?, reader.f64s().map_err(damaged)?);
        Ok(())
    }
}
