//! [`Msd`]: mean-square displacement and the diffusion coefficient.
//!
//! D = slope / 6 of ⟨|r(t) − r(0)|²⟩ over a window of lags where it is a straight line. In a periodic
//! cell D comes out too small by about 2.837297 kT / (6 π η L) (Yeh & Hummer 2004, Eq. 12, cubic
//! cells of edge L, viscosity η): extrapolate over cell sizes, or add the term where η is known.

use std::sync::Arc;

use super::correlate::{Correlator, Lags, Window};
use super::kind::{AnalysisKind, Setting, SettingKind};
use super::state::{Reader, Writer};
use super::{
    Analysis, AnalysisError, Analyzed, Column, Labels, ORIGINS, Plot, Scalar, Snapshot, fit_line, group_names,
};
use crate::expr::Vec3;

/// How to measure displacements.
#[derive(Clone, Debug, Default)]
pub struct MsdOptions {
    /// Lags and origins.
    pub window: Window,
    /// Masses, to take the motion of the center of mass out; `None` leaves it in.
    pub masses: Option<Arc<[f64]>>,
    /// The lags the line is fitted to, as times; `None` is 20 to 80 % of the longest reached.
    pub fit: Option<[f64; 2]>,
}

/// Mean-square displacement by species.
///
/// Memory: (origins + 1) · 24 bytes for each particle, and 32 · lags · (species + 2) · 8 bytes. The error of D
/// is the spread of D over blocks of time origins; while a run is shorter than a few times the longest
/// lag the blocks overlap and it is too small.
#[derive(Clone, Debug)]
pub struct Msd {
    correlator: Correlator,
    masses: Option<Arc<[f64]>>,
    fit: Option<[f64; 2]>,
}

impl Msd {
    /// An empty accumulator.
    pub fn new(options: MsdOptions, labels: &Labels) -> Result<Self, AnalysisError> {
        let wrong = |setting, value, expected: &str| AnalysisError::Setting {
            analysis: "msd",
            setting,
            value,
            expected: expected.into(),
        };
        if let Some([from, to]) = options.fit
            && !(from >= 0.0 && to > from)
        {
            return Err(wrong("fit", format!("{from} to {to}"), "0 ≤ from < to"));
        }
        if let Some(masses) = &options.masses {
            let total: f64 = masses.iter().sum();
            if !(total.is_finite() && total > 0.0) {
                return Err(wrong("masses", format!("{total} in all"), "a positive sum"));
            }
        }
        Ok(Self {
            correlator: Correlator::new("msd", options.window, labels)?,
            masses: options.masses,
            fit: options.fit,
        })
    }

    fn head(&self) -> Writer {
        let mut writer = Writer::new(b"MSD ");
        writer.u64(u64::from(self.masses.is_some()));
        self.correlator.head(&mut writer);
        writer
    }
}

/// Numbers of the first and the last lag that the line is fitted to: those between two times, or 20 to 80 % of the longest.
pub(super) fn fit_range(times: &[f64], fit: Option<[f64; 2]>) -> Option<[usize; 2]> {
    let longest = *times.last()?;
    let [from, to] = fit.unwrap_or([0.2 * longest, 0.8 * longest]);
    let slack = 1e-9 * longest;
    let first = times.iter().position(|&t| t >= from - slack)?;
    let last = times.iter().rposition(|&t| t <= to + slack)?;
    (last > first).then_some([first, last])
}

/// The diffusion coefficient of a group of squared displacements in so many dimensions.
pub(super) fn diffusion(
    correlator: &Correlator,
    group: usize,
    name: &str,
    [first, last]: [usize; 2],
    dimensions: u32,
) -> Scalar {
    let Labels { length, time, .. } = correlator.labels();
    let times = correlator.lag_times();
    // Times of frames are often written in single precision.
    let rounded = |t: f64| format!("{t:.5e}").parse().unwrap_or(t);
    let slope = |curve: &[f64]| {
        let points = (first..=last).map(|k| (times[k], curve[k]));
        fit_line(points).map_or(f64::NAN, |line| line.slope / f64::from(2 * dimensions))
    };
    let (from, to) = (rounded(times[first]), rounded(times[last]));
    Scalar::new(
        &format!("D, {name}"),
        &format!("{length}²/{time}"),
        slope(&correlator.curve(group).0),
        correlator.error_of(group, last, slope),
        &format!("from a line through {from} to {to} {time}"),
    )
}

impl Analysis for Msd {
    fn name(&self) -> &str {
        "msd"
    }

    fn add(&mut self, frame: &Snapshot<'_>) -> Result<(), AnalysisError> {
        let squared = |a: Vec3<f64>, b: Vec3<f64>| (b - a).norm2();
        let Some(masses) = &self.masses else {
            return self.correlator.add(frame, frame.unwrapped, "position", squared);
        };
        if masses.len() != frame.unwrapped.len() {
            return Err(AnalysisError::Length {
                step: frame.step,
                what: "particles",
                found: frame.unwrapped.len(),
                expected: masses.len(),
            });
        }
        let weighted = frame
            .unwrapped
            .iter()
            .zip(masses.iter())
            .fold(Vec3::zero(), |sum, (&r, &m)| sum + r * m);
        let center = weighted * (1.0 / masses.iter().sum::<f64>());
        let relative: Vec<_> = frame.unwrapped.iter().map(|&r| r - center).collect();
        self.correlator.add(frame, &relative, "position", squared)
    }

    fn needs_velocities(&self) -> bool {
        false
    }

    fn finish(&self) -> Analyzed {
        let labels = self.correlator.labels();
        let times = self.correlator.lag_times();
        let (time, area) = (&labels.time, format!("{}²", labels.length));
        let range = fit_range(&times, self.fit);
        let mut columns = vec![Column::new("lag", time, times.clone(), None)];
        let mut scalars = Vec::new();
        for (group, name) in group_names(labels).iter().enumerate() {
            let (values, errors) = self.correlator.curve(group);
            scalars.extend(range.map(|range| diffusion(&self.correlator, group, name, range, 3)));
            columns.push(Column::new(name, &area, values, Some(errors)));
        }
        let groups = (1..columns.len()).collect();
        let motion = if self.masses.is_some() {
            "taken out"
        } else {
            "left in"
        };
        Analyzed {
            name: "msd".into(),
            title: "Mean-square displacement".into(),
            notes: vec![
                format!(
                    "Frames: {}; motion of the center of mass {motion}.",
                    self.correlator.frames()
                ),
                "D is that of the periodic cell: no correction for its size (Yeh & Hummer 2004).".into(),
            ],
            columns,
            scalars,
            plots: vec![Plot::new(
                "",
                &format!("lag ({time})"),
                &format!("MSD ({area})"),
                groups,
            )],
        }
    }

    fn save(&self) -> Vec<u8> {
        self.correlator.save(self.head())
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), AnalysisError> {
        let reader = Reader::new("msd", state, &self.head())?;
        self.correlator = self.correlator.restored(reader)?;
        Ok(())
    }
}

pub(super) static KIND: AnalysisKind = AnalysisKind {
    name: "msd",
    about: "Mean-square displacement and diffusion coefficient",
    settings: &[
        Setting::SPECIES,
        Setting {
            name: "lags",
            key: None,
            flag: Some("Longest lag in frames"),
            kind: SettingKind::Count(1000),
        },
    ],
    fewest_frames: 2,
    build: |request, subject| {
        let window = Window {
            longest: request.count("lags")?,
            origins: ORIGINS,
            lags: Lags::PerDecade(20),
        };
        let options = MsdOptions {
            window,
            masses: Some(Arc::clone(&subject.masses)),
            fit: None,
        };
        Ok(Box::new(Msd::new(options, &subject.labels)?))
    },
    check: |_, _| Ok(()),
};
