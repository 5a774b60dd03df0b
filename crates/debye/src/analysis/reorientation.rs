//! [`Reorientation`]: how long particles keep their orientation.
//!
//! C₁ = ⟨u(0)·u(t)⟩ and C₂ = ⟨(3 (u(0)·u(t))² − 1) / 2⟩ of the axes u of particles that turn. The time τ is that of the
//! exponential through the lags at which C falls from 0.2 to 0.03: before them particles librate, after them noise is
//! large.

use super::correlate::{Correlator, Lags, Window};
use super::kind::{AnalysisKind, Setting, SettingKind};
use super::state::{Reader, Writer};
use super::{
    Analysis, AnalysisError, Analyzed, Column, Labels, ORIGINS, Plot, Scalar, Snapshot, axes, fit_line,
    group_names,
};
use crate::expr::Vec3;

/// Where C is taken for an exponential.
const DECAY: std::ops::RangeInclusive<f64> = 0.03..=0.2;

/// Correlation of orientations by species.
///
/// Memory: (origins + 1) · 24 bytes for each particle.
#[derive(Clone, Debug)]
pub struct Reorientation {
    correlator: Correlator,
    /// Legendre polynomial: 1 or 2.
    rank: usize,
}

impl Reorientation {
    /// An empty accumulator for the Legendre polynomial of this rank, 1 or 2.
    ///
    /// # Errors
    /// Another rank, or a window that makes no sense.
    pub fn new(rank: usize, window: Window, labels: &Labels) -> Result<Self, AnalysisError> {
        if !(1..=2).contains(&rank) {
            return Err(AnalysisError::Setting {
                analysis: "reorientation",
                setting: "rank",
                value: rank.to_string(),
                expected: "1 or 2".into(),
            });
        }
        Ok(Self {
            correlator: Correlator::new("reorientation", window, labels)?,
            rank,
        })
    }

    fn head(&self) -> Writer {
        let mut writer = Writer::new(b"REOR");
        writer.u64(self.rank as u64);
        self.correlator.head(&mut writer);
        writer
    }
}

/// Numbers of the first and the last lag that are taken for an exponential, up to where values first fall below what counts;
/// `None` where they level off before.
fn decay(values: &[f64]) -> Option<[usize; 2]> {
    let end = values.iter().position(|value| value < DECAY.start())?;
    let first = values.iter().position(|value| DECAY.contains(value))?;
    (end > first + 1).then(|| [first, end - 1])
}

impl Analysis for Reorientation {
    fn name(&self) -> &str {
        "reorientation"
    }

    fn add(&mut self, frame: &Snapshot<'_>) -> Result<(), AnalysisError> {
        let axes = axes(frame, self.correlator.labels(), "reorientation")?;
        let rank = self.rank;
        let legendre = move |a: Vec3<f64>, b: Vec3<f64>| {
            let cosine = a.dot(b);
            match rank {
                1 => cosine,
                // Points have no axis, and no part in it.
                _ => 1.5 * cosine * cosine - 0.5 * a.norm2(),
            }
        };
        self.correlator.add(frame, axes, "orientation", legendre)
    }

    fn needs_velocities(&self) -> bool {
        false
    }

    fn finish(&self) -> Analyzed {
        let labels = self.correlator.labels();
        let times = self.correlator.lag_times();
        let time = &labels.time;
        let mut columns = vec![Column::new("lag", time, times.clone(), None)];
        let mut scalars = Vec::new();
        let known = labels.species.len();
        let mut turning = 0;
        for (group, name) in group_names(labels).iter().enumerate() {
            let (values, errors) = self.correlator.curve(group);
            // Points begin at 0, and all together are a mixture unless everything turns.
            let turns = values.first().is_some_and(|&first| (first - 1.0).abs() < 1e-6);
            if !turns || (group == known && turning < known) {
                continue;
            }
            turning += 1;
            if let Some([first, last]) = decay(&values) {
                let time_of = |curve: &[f64]| {
                    let points = (first..=last).map(|k| (times[k], curve[k].ln()));
                    fit_line(points).map_or(f64::NAN, |line| -line.slope.recip())
                };
                scalars.push(Scalar::new(
                    &format!("τ, {name}"),
                    time,
                    time_of(&values),
                    self.correlator.error_of(group, last, time_of),
                    &format!(
                        "of the exponential from {} to {} {time}",
                        times[first], times[last]
                    ),
                ));
            }
            columns.push(Column::new(&format!("C, {name}"), "", values, Some(errors)));
        }
        let rank = self.rank;
        Analyzed {
            name: "reorientation".into(),
            title: format!("Reorientation, rank {rank}"),
            notes: vec![format!(
                "Frames: {}; Legendre polynomial of rank {rank} of the angle between the axis now and then.",
                self.correlator.frames()
            )],
            plots: vec![Plot::new(
                "",
                &format!("lag ({time})"),
                "C",
                (1..columns.len()).collect(),
            )],
            columns,
            scalars,
        }
    }

    fn save(&self) -> Vec<u8> {
        self.correlator.save(self.head())
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), AnalysisError> {
        let reader = Reader::new("reorientation", state, &self.head())?;
        self.correlator = self.correlator.restored(reader)?;
        Ok(())
    }
}

pub(super) static KIND: AnalysisKind = AnalysisKind {
    name: "reorientation",
    about: "Correlation of orientations and its time",
    settings: &[
        Setting {
            name: "rank",
            key: Some("rank"),
            flag: Some("Rank of the Legendre polynomial"),
            kind: SettingKind::Choice(&["1", "2"], 0),
        },
        Setting {
            name: "lags",
            key: Some("lags"),
            flag: Some("Longest lag in frames"),
            kind: SettingKind::Count(200),
        },
        Setting::SPECIES,
    ],
    fewest_frames: 2,
    build: |request, subject| {
        let window = Window {
            longest: request.count("lags")?,
            origins: ORIGINS,
            lags: Lags::PerDecade(20),
        };
        let rank = request.choice("rank")? + 1;
        Ok(Box::new(Reorientation::new(rank, window, &subject.labels)?))
    },
    check: |_, _| Ok(()),
};
