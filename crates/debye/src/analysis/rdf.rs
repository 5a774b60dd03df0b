//! [`Rdf`]: the radial distribution function g(r).
//!
//! g(r) = ⟨pairs in the shell⟩ / (pairs an ideal gas would have there). For one species an ideal gas
//! of N particles has N(N−1)/V · shell ordered pairs; when `r_max` reaches past the cell, so that
//! particles see their own images, it is N²/V. Two species have N_a N_b/V. Cells that do not repeat
//! count with their volume, and then g falls off towards the surface.

use std::f64::consts::PI;

use super::blocks::FrameSums;
use super::histogram::{CountedPairs, OfPairs, count_pairs};
use super::kind::{AnalysisKind, AnalysisRequest, Setting, SettingKind, Subject};
use super::pairs::check_reach;
use super::state::{Reader, Writer};
use super::{Analysis, AnalysisError, Analyzed, Column, Labels, Plot, Scalar, Snapshot, check};
use crate::engines::PairHistogram;
use crate::system::Dimension;

/// What to count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RdfOptions {
    /// The two species, or `None` for all particles.
    pub pair: Option<[u32; 2]>,
    /// The largest distance. It may exceed half the cell: images are counted.
    pub r_max: f64,
    /// Number of intervals.
    pub bins: usize,
}

impl RdfOptions {
    fn histogram(&self) -> PairHistogram {
        PairHistogram {
            pair: self.pair,
            reach: self.r_max,
            bins: self.bins,
        }
    }
}

/// Radial distribution function and coordination number.
///
/// A frame takes time proportional to the number of pairs within `r_max`. Counts are whole numbers,
/// so the result does not depend on threads. Memory: 32 · 8 · `bins` bytes, and per frame 72 bytes
/// for each particle.
#[derive(Clone, Debug)]
pub struct Rdf {
    name: String,
    labels: Labels,
    options: RdfOptions,
    /// Ordered pairs per bin; then Σ N_a N_b / V; then Σ N_a.
    sums: FrameSums,
}

impl Rdf {
    /// An empty accumulator.
    pub fn new(options: RdfOptions, labels: &Labels) -> Result<Self, AnalysisError> {
        let wrong = |setting, value: String, expected: &str| AnalysisError::Setting {
            analysis: "rdf",
            setting,
            value,
            expected: expected.into(),
        };
        if !(options.r_max.is_finite() && options.r_max > 0.0) {
            return Err(wrong("r_max", options.r_max.to_string(), "a positive length"));
        }
        if !(1..=1_000_000).contains(&options.bins) {
            return Err(wrong("bins", options.bins.to_string(), "1 to 1000000"));
        }
        let known = labels.species.len();
        if let Some(s) = options.pair.iter().flatten().find(|&&s| s as usize >= known) {
            return Err(wrong(
                "pair",
                format!("species {s}"),
                &format!("species below {known}"),
            ));
        }
        let name = match options.pair {
            None => "rdf".into(),
            Some(pair) => {
                let [a, b] = pair.map(|s| labels.species[s as usize].as_str());
                format!("rdf-{a}-{b}")
            }
        };
        Ok(Self {
            name,
            labels: labels.clone(),
            options,
            sums: FrameSums::new(options.bins + 2),
        })
    }

    fn head(&self) -> Writer {
        let mut writer = Writer::new(b"RDF ");
        let [a, b] = self.options.pair.unwrap_or([u32::MAX; 2]).map(u64::from);
        writer
            .u64(a)
            .u64(b)
            .f64(self.options.r_max)
            .u64(self.options.bins as u64);
        writer
    }
}

impl Analysis for Rdf {
    fn name(&self) -> &str {
        &self.name
    }

    fn add(&mut self, frame: &Snapshot<'_>) -> Result<(), AnalysisError> {
        check(frame, &self.labels, frame.positions, "position")?;
        let of = self.options.histogram();
        let counts = count_pairs(&of, frame.cell, frame.positions, frame.species)?;
        self.add_counted(&CountedPairs {
            step: frame.step,
            cell: frame.cell,
            species: frame.species,
            counts: &counts,
        })
    }

    fn of_pairs(&mut self) -> Option<&mut dyn OfPairs> {
        Some(self)
    }

    fn needs_velocities(&self) -> bool {
        false
    }

    fn finish(&self) -> Analyzed {
        let RdfOptions { pair, r_max, bins } = self.options;
        let width = r_max / bins as f64;
        let shell = |bin: usize| {
            let (a, b) = (bin as f64 * width, (bin + 1) as f64 * width);
            4.0 / 3.0 * PI * (b.powi(3) - a.powi(3))
        };
        let g = |sums: &[f64], bin: usize| sums[bin] / (sums[bins] * shell(bin));
        let total = self.sums.total();
        let values: Vec<f64> = (0..bins).map(|bin| g(&total, bin)).collect();
        let errors = (0..bins)
            .map(|bin| self.sums.error_of(|sums| g(sums, bin)))
            .collect();
        let neighbors = (total[..bins].iter())
            .scan(0.0, |sum, count| {
                *sum += count;
                Some(*sum / total[bins + 1])
            })
            .collect();
        let radii: Vec<f64> = (0..bins).map(|bin| (bin as f64 + 0.5) * width).collect();
        let (r, what) = (format!("r ({})", self.labels.length), self.pair_name(pair));
        let mut scalars = Vec::new();
        let highest = (0..bins)
            .filter(|&b| values[b].is_finite())
            .max_by(|&a, &b| values[a].total_cmp(&values[b]));
        if let Some(peak) = highest {
            scalars.push(Scalar::new(
                "highest peak at",
                &self.labels.length,
                radii[peak],
                f64::NAN,
                "",
            ));
            scalars.push(Scalar::new(
                "height of the highest peak",
                "",
                values[peak],
                f64::NAN,
                "",
            ));
        }
        Analyzed {
            name: self.name.clone(),
            title: format!("Radial distribution function, {what}"),
            notes: vec![
                format!(
                    "Frames: {}; r is the middle of an interval of {width} {}.",
                    self.sums.frames(),
                    self.labels.length
                ),
                "The coordination number counts neighbors up to the interval's outer edge.".into(),
            ],
            columns: vec![
                Column::new("r", &self.labels.length, radii, None),
                Column::new("g(r)", "", values, Some(errors)),
                Column::new("coordination number", "", neighbors, None),
            ],
            scalars,
            plots: vec![
                Plot::new("", &r, "g(r)", vec![1]),
                Plot::new(
                    &format!("Coordination number, {what}"),
                    &r,
                    "neighbors within r",
                    vec![2],
                ),
            ],
        }
    }

    fn save(&self) -> Vec<u8> {
        self.sums.save(self.head())
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), AnalysisError> {
        let reader = Reader::new("rdf", state, &self.head())?;
        self.sums = self.sums.restored(reader)?;
        Ok(())
    }
}

impl OfPairs for Rdf {
    fn histogram(&self) -> PairHistogram {
        self.options.histogram()
    }

    fn add_counted(&mut self, frame: &CountedPairs<'_>) -> Result<(), AnalysisError> {
        let (RdfOptions { r_max, bins, .. }, histogram) = (self.options, self.options.histogram());
        if frame.counts.len() != bins {
            return Err(AnalysisError::Length {
                step: frame.step,
                what: "intervals",
                found: frame.counts.len(),
                expected: bins,
            });
        }
        let [firsts, seconds] = histogram.members(frame.species).map(|n| n as f64);
        let heights = frame.cell.heights().to_array();
        let sees_itself = (0..3).any(|k| frame.cell.periodic()[k] && heights[k] < r_max);
        let (others, ordered) = match (histogram.is_mixed(), sees_itself) {
            (true, _) => (seconds, 1.0),
            (false, true) => (firsts, 2.0),
            (false, false) => (firsts - 1.0, 2.0),
        };
        let sums = self.sums.next_frame();
        let counted = sums.iter_mut().zip(frame.counts);
        counted.for_each(|(sum, &count)| *sum += ordered * count as f64);
        sums[bins] += firsts * others / frame.cell.volume();
        sums[bins + 1] += firsts;
        Ok(())
    }
}

impl Rdf {
    fn pair_name(&self, pair: Option<[u32; 2]>) -> String {
        pair.map_or("all particles".into(), |p| {
            let [a, b] = p.map(|s| self.labels.species[s as usize].as_str());
            format!("{a}–{b}")
        })
    }
}

/// How far pairs are counted.
fn r_max(request: &AnalysisRequest, subject: &Subject) -> Result<f64, AnalysisError> {
    Ok(request.quantity("r_max")?.unwrap_or(subject.reach))
}

pub(super) static KIND: AnalysisKind = AnalysisKind {
    name: "rdf",
    about: "Radial distribution function and coordination numbers",
    settings: &[
        Setting::BINS,
        Setting {
            name: "r_max",
            key: Some("r_max"),
            flag: Some(
                "Largest distance [default: half the shortest height of the cell, and at most the radius of a \
                 ball of 5000 particles]",
            ),
            kind: SettingKind::Quantity(Dimension::LENGTH),
        },
        Setting {
            name: "pair",
            key: Some("species"),
            flag: Some("Two species, such as Na-Cl [default: all particles]"),
            kind: SettingKind::Pair,
        },
    ],
    fewest_frames: 1,
    build: |request, subject| {
        let options = RdfOptions {
            pair: request.pair("pair")?,
            r_max: r_max(request, subject)?,
            bins: request.count("bins")?,
        };
        Ok(Box::new(Rdf::new(options, &subject.labels)?))
    },
    check: |request, subject| check_reach(&subject.cell, subject.masses.len(), r_max(request, subject)?),
};
