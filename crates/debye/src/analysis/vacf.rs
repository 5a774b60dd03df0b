//! [`Vacf`]: the velocity autocorrelation function and, by Green and Kubo, the diffusion coefficient.
//!
//! D(t) = ⅓ ∫₀ᵗ ⟨v(0)·v(s)⟩ ds by the trapezoidal rule over the lags, so the lags must resolve the
//! fastest motion: with [`super::Lags::Even`] as many as there are frames in the window.

use super::correlate::{Correlator, Lags, Window};
use super::kind::{AnalysisKind, Setting, SettingKind};
use super::state::{Reader, Writer};
use super::{
    Analysis, AnalysisError, Analyzed, Column, Labels, ORIGINS, Plot, Scalar, Snapshot, group_names,
};
use crate::expr::Vec3;

/// Velocity autocorrelation by species.
///
/// Memory: (origins + 1) · 24 bytes for each particle, and 32 · lags · (species + 2) · 8 bytes.
#[derive(Clone, Debug)]
pub struct Vacf {
    correlator: Correlator,
}

impl Vacf {
    /// An empty accumulator.
    pub fn new(window: Window, labels: &Labels) -> Result<Self, AnalysisError> {
        Ok(Self {
            correlator: Correlator::new("vacf", window, labels)?,
        })
    }

    /// The window that takes every frame as a lag.
    pub fn every_lag(longest: usize, origins: usize) -> Window {
        Window {
            longest,
            origins,
            lags: Lags::Even(longest),
        }
    }

    fn head(&self) -> Writer {
        let mut writer = Writer::new(b"VACF");
        self.correlator.head(&mut writer);
        writer
    }
}

/// ⅓ of the running integral of a curve.
fn green_kubo(times: &[f64], curve: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    let mut integral = vec![0.0; curve.len().min(1)];
    for k in 1..curve.len() {
        sum += (curve[k] + curve[k - 1]) * (times[k] - times[k - 1]) / 6.0;
        integral.push(sum);
    }
    integral
}

impl Analysis for Vacf {
    fn name(&self) -> &str {
        "vacf"
    }

    fn add(&mut self, frame: &Snapshot<'_>) -> Result<(), AnalysisError> {
        let Some(velocities) = frame.velocities else {
            return Err(AnalysisError::NoVelocities {
                step: frame.step,
                analysis: "vacf",
            });
        };
        self.correlator
            .add(frame, velocities, "velocity", |a: Vec3<f64>, b| a.dot(b))
    }

    fn finish(&self) -> Analyzed {
        let labels = self.correlator.labels();
        let times = self.correlator.lag_times();
        let (time, length) = (&labels.time, &labels.length);
        let diffusion = format!("{length}²/{time}");
        let mut columns = vec![Column::new("lag", time, times.clone(), None)];
        let mut scalars = Vec::new();
        for (group, name) in group_names(labels).iter().enumerate() {
            let (values, errors) = self.correlator.curve(group);
            let start = values.first().copied().unwrap_or(f64::NAN);
            let last = times.len().saturating_sub(1);
            let at_end = |curve: &[f64]| green_kubo(&times, curve).last().copied().unwrap_or(f64::NAN);
            let start_error = errors.first().copied().unwrap_or(f64::NAN);
            let unit = format!("{length}²/{time}²");
            scalars.push(Scalar::new(
                &format!("⟨v²⟩, {name}"),
                &unit,
                start,
                start_error,
                "",
            ));
            scalars.push(Scalar::new(
                &format!("D, {name}"),
                &diffusion,
                at_end(&values),
                self.correlator.error_of(group, last, at_end),
                &format!("integral up to {} {time}", times.last().copied().unwrap_or(0.0)),
            ));
            let scaled = |list: &[f64]| list.iter().map(|v| v / start).collect::<Vec<_>>();
            columns.push(Column::new(name, "", scaled(&values), Some(scaled(&errors))));
            columns.push(Column::new(
                &format!("D(t), {name}"),
                &diffusion,
                green_kubo(&times, &values),
                None,
            ));
        }
        let lag = format!("lag ({time})");
        let curves = (1..columns.len()).step_by(2).collect();
        let integrals = (2..columns.len()).step_by(2).collect();
        Analyzed {
            name: "vacf".into(),
            title: "Velocity autocorrelation".into(),
            notes: vec![format!(
                "Frames: {}; correlations are divided by their value at lag 0.",
                self.correlator.frames()
            )],
            columns,
            scalars,
            plots: vec![
                Plot::new("", &lag, "C(t) / C(0)", curves),
                Plot::new(
                    "Diffusion coefficient (Green–Kubo)",
                    &lag,
                    &format!("D(t) ({diffusion})"),
                    integrals,
                ),
            ],
        }
    }

    fn save(&self) -> Vec<u8> {
        self.correlator.save(self.head())
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), AnalysisError> {
        let reader = Reader::new("vacf", state, &self.head())?;
        self.correlator = self.correlator.restored(reader)?;
        Ok(())
    }
}

pub(super) static KIND: AnalysisKind = AnalysisKind {
    name: "vacf",
    about: "Velocity autocorrelation (gro, xyz, trr and lammpstrj trajectories may hold velocities)",
    settings: &[
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
        let window = Vacf::every_lag(request.count("lags")?, ORIGINS);
        Ok(Box::new(Vacf::new(window, &subject.labels)?))
    },
    check: |_, _| Ok(()),
};
