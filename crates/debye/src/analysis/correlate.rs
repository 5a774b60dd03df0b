//! Time correlations over many time origins, for [`super::Msd`] and [`super::Vacf`].

use std::collections::VecDeque;

use crate::parallel::{InParallel, Indexed};

use super::blocks::{Blocks, standard_error};
use super::state::{Reader, Writer};
use super::{AnalysisError, Labels, Snapshot, check, group_names};
use crate::expr::Vec3;

/// Particles summed at a time: fixed, so that sums do not depend on the number of threads.
const CHUNK: usize = 4096;

/// At which lags a correlation is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lags {
    /// This many, evenly spaced.
    Even(usize),
    /// This many for each factor of ten.
    PerDecade(usize),
}

/// How far back a correlation looks, and from how many origins at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The longest lag, in frames.
    pub longest: usize,
    /// How many time origins are kept: memory is this times 24 bytes for each particle.
    pub origins: usize,
    /// The lags.
    pub lags: Lags,
}

impl Default for Window {
    /// 1000 frames, 100 lags, 20 origins.
    fn default() -> Self {
        Self {
            longest: 1000,
            origins: 20,
            lags: Lags::Even(100),
        }
    }
}

impl Window {
    /// The lags in frames, rising from 0.
    fn frames(self) -> Vec<u64> {
        let longest = self.longest as f64;
        let mut frames: Vec<u64> = match self.lags {
            Lags::Even(count) => {
                let count = count.clamp(1, self.longest);
                (0..=count)
                    .map(|k| (longest * k as f64 / count as f64).round() as u64)
                    .collect()
            }
            Lags::PerDecade(points) => {
                let steps = (longest.log10() * points as f64).ceil() as usize;
                let lag = |k: usize| 10_f64.powf(k as f64 / points as f64).round().min(longest) as u64;
                std::iter::once(0).chain((0..=steps).map(lag)).collect()
            }
        };
        frames.dedup();
        frames
    }
}

/// Means of f(value at the origin, value now) by group and lag.
#[derive(Clone, Debug)]
pub(crate) struct Correlator {
    analysis: &'static str,
    labels: Labels,
    groups: usize,
    lags: Vec<u64>,
    origin_every: u64,
    longest: u64,
    frames: u64,
    /// Times of the first and the last frame.
    times: [f64; 2],
    origins: VecDeque<(u64, Vec<Vec3<f64>>)>,
    /// For each lag: how many origins, then the sum of means for each group.
    blocks: Blocks,
}

impl Correlator {
    pub(crate) fn new(
        analysis: &'static str,
        window: Window,
        labels: &Labels,
    ) -> Result<Self, AnalysisError> {
        let wrong = |setting, value: usize, expected: &str| AnalysisError::Setting {
            analysis,
            setting,
            value: value.to_string(),
            expected: expected.into(),
        };
        if !(1..=10_000_000).contains(&window.longest) {
            return Err(wrong("longest lag", window.longest, "1 to 10000000 frames"));
        }
        if window.origins == 0 {
            return Err(wrong("origins", 0, "at least 1"));
        }
        let (Lags::Even(count) | Lags::PerDecade(count)) = window.lags;
        if !(1..=100_000).contains(&count) {
            return Err(wrong("lags", count, "1 to 100000"));
        }
        if labels.species.is_empty() {
            return Err(wrong("species", 0, "at least 1"));
        }
        let (lags, groups) = (window.frames(), group_names(labels).len());
        Ok(Self {
            analysis,
            labels: labels.clone(),
            groups,
            blocks: Blocks::new(lags.len() * (groups + 1)),
            lags,
            origin_every: window.longest.div_ceil(window.origins) as u64,
            longest: window.longest as u64,
            frames: 0,
            times: [0.0; 2],
            origins: VecDeque::new(),
        })
    }

    pub(crate) fn labels(&self) -> &Labels {
        &self.labels
    }

    pub(crate) fn frames(&self) -> u64 {
        self.frames
    }

    /// Takes in a frame's values; `f` gives what is averaged from the values then and now.
    pub(crate) fn add(
        &mut self,
        frame: &Snapshot<'_>,
        values: &[Vec3<f64>],
        what: &'static str,
        f: impl Fn(Vec3<f64>, Vec3<f64>) -> f64 + Sync,
    ) -> Result<(), AnalysisError> {
        check(frame, &self.labels, values, what)?;
        if let Some((_, before)) = self.origins.front()
            && before.len() != values.len()
        {
            return Err(AnalysisError::Length {
                step: frame.step,
                what: "particles",
                found: values.len(),
                expected: before.len(),
            });
        }
        self.check_time(frame)?;
        let now = self.frames;
        while self
            .origins
            .front()
            .is_some_and(|(then, _)| now - then > self.longest)
        {
            self.origins.pop_front();
        }
        if now.is_multiple_of(self.origin_every) {
            self.origins.push_back((now, values.to_vec()));
        }
        for (then, before) in &self.origins {
            if let Ok(lag) = self.lags.binary_search(&(now - then)) {
                let means = group_means(before, values, frame.species, self.labels.species.len(), &f);
                let row = lag * (self.groups + 1);
                let sums = &mut self.blocks.at(then / self.origin_every)[row..=row + self.groups];
                sums[0] += 1.0;
                sums[1..].iter_mut().zip(means).for_each(|(s, m)| *s += m);
            }
        }
        self.frames += 1;
        Ok(())
    }

    /// Frames must be equally spaced, but for the rounding of times stored in single precision.
    fn check_time(&mut self, frame: &Snapshot<'_>) -> Result<(), AnalysisError> {
        if self.frames == 0 {
            self.times = [frame.time; 2];
            return Ok(());
        }
        let interval = self.interval();
        let expected = self.times[1] + interval;
        let slack = 0.01 * interval.abs() + 2e-6 * frame.time.abs();
        // The second frame sets the interval; it only has to come later.
        let good = match self.frames {
            1 => frame.time > self.times[0],
            _ => (frame.time - expected).abs() <= slack,
        };
        if !good {
            return Err(AnalysisError::Uneven {
                step: frame.step,
                found: frame.time,
                expected,
            });
        }
        self.times[1] = frame.time;
        Ok(())
    }

    /// Time between frames.
    fn interval(&self) -> f64 {
        if self.frames < 2 {
            0.0
        } else {
            (self.times[1] - self.times[0]) / (self.frames - 1) as f64
        }
    }

    /// Lags that have been reached, as times.
    pub(crate) fn lag_times(&self) -> Vec<f64> {
        let reached = self.lags.iter().take_while(|&&lag| lag < self.frames.max(1));
        reached.map(|&lag| lag as f64 * self.interval()).collect()
    }

    /// Number of origins that have reached a lag.
    fn complete(&self, lag: usize) -> u64 {
        match self.frames.checked_sub(self.lags[lag] + 1) {
            Some(last) => last / self.origin_every + 1,
            None => 0,
        }
    }

    /// The mean of a group by lag, for the lags that have been reached, and its standard errors.
    pub(crate) fn curve(&self, group: usize) -> (Vec<f64>, Vec<f64>) {
        let total = self.blocks.total();
        let lags = self.lag_times().len();
        let errors = (0..lags)
            .map(|lag| {
                self.blocks
                    .error_of(self.complete(lag), |sums| self.mean(sums, lag, group))
            })
            .collect();
        (
            (0..lags).map(|lag| self.mean(&total, lag, group)).collect(),
            errors,
        )
    }

    fn mean(&self, sums: &[f64], lag: usize, group: usize) -> f64 {
        let row = lag * (self.groups + 1);
        sums[row + 1 + group] / sums[row]
    }

    /// Standard error of something computed from a group's curve up to lag number `last`.
    pub(crate) fn error_of(&self, group: usize, last: usize, statistic: impl Fn(&[f64]) -> f64) -> f64 {
        let blocks = self.blocks.complete(self.complete(last));
        standard_error(blocks.iter().map(|sums| {
            let curve: Vec<f64> = (0..=last).map(|lag| self.mean(sums, lag, group)).collect();
            statistic(&curve)
        }))
    }

    /// What a saved state must begin with.
    pub(crate) fn head(&self, writer: &mut Writer) {
        writer
            .u64(self.longest)
            .u64(self.origin_every)
            .u64(self.groups as u64)
            .u64(self.lags.len() as u64);
        self.lags.iter().for_each(|&lag| {
            writer.u64(lag);
        });
    }

    /// Ends a state that begins with what is written so far.
    pub(crate) fn save(&self, mut writer: Writer) -> Vec<u8> {
        writer
            .u64(self.frames)
            .f64(self.times[0])
            .f64(self.times[1])
            .u64(self.origins.len() as u64);
        for (then, values) in &self.origins {
            writer.u64(*then).vectors(values);
        }
        self.blocks.save(&mut writer);
        writer.finish()
    }

    /// The state behind the head.
    pub(crate) fn restored(&self, mut reader: Reader<'_>) -> Result<Self, AnalysisError> {
        let frames = reader.u64()?;
        let times = [reader.f64()?, reader.f64()?];
        let count = reader.length(16)?;
        let mut origins = VecDeque::new();
        for _ in 0..count {
            origins.push_back((reader.u64()?, reader.vectors()?));
        }
        let wanted =
            |(then, _): &(u64, Vec<Vec3<f64>>)| *then < frames && then.is_multiple_of(self.origin_every);
        let steady = origins
            .iter()
            .zip(origins.iter().skip(1))
            .all(|(a, b)| a.0 < b.0 && a.1.len() == b.1.len());
        if !origins.iter().all(wanted) || !steady {
            return Err(reader.error("its time origins do not fit its frames"));
        }
        let blocks = Blocks::restore(
            &mut reader,
            self.lags.len() * (self.groups + 1),
            frames.div_ceil(self.origin_every),
        )?;
        reader.finish()?;
        Ok(Self {
            frames,
            times,
            origins,
            blocks,
            analysis: self.analysis,
            labels: self.labels.clone(),
            lags: self.lags.clone(),
            ..*self
        })
    }
}

/// The mean of f over each species, and over all where there are several.
fn group_means(
    before: &[Vec3<f64>],
    now: &[Vec3<f64>],
    species: &[u32],
    known: usize,
    f: &(impl Fn(Vec3<f64>, Vec3<f64>) -> f64 + Sync),
) -> Vec<f64> {
    let partial: Vec<Vec<[f64; 2]>> = (before.par_chunks(CHUNK))
        .zip(now.par_chunks(CHUNK))
        .zip(species.par_chunks(CHUNK))
        .map(|((before, now), species)| {
            let mut sums = vec![[0.0; 2]; known];
            for ((&a, &b), &s) in before.iter().zip(now).zip(species) {
                let sum = &mut sums[s as usize];
                sum[0] += f(a, b);
                sum[1] += 1.0;
            }
            sums
        })
        .collect();
    let mut sums = vec![[0.0; 2]; known];
    for part in partial {
        sums.iter_mut()
            .zip(part)
            .for_each(|(s, p)| *s = [s[0] + p[0], s[1] + p[1]]);
    }
    if known > 1 {
        let all = sums.iter().fold([0.0; 2], |a, s| [a[0] + s[0], a[1] + s[1]]);
        sums.push(all);
    }
    sums.iter()
        .map(|s| if s[1] > 0.0 { s[0] / s[1] } else { 0.0 })
        .collect()
}
