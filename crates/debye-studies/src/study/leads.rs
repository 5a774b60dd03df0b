//! Which of two variants is faster, on every input of a ladder, and whether the rounds decide it.

use super::findings::{Findings, Row};

/// Below this factor two variants are as fast as each other.
const ALIKE: f64 = 1.05;

/// How many times as fast one variant is as another on one input.
#[derive(Clone, Copy, Debug)]
pub struct Lead {
    /// The size of the input.
    pub size: f64,
    /// By the medians.
    pub ratio: f64,
    /// By its slowest round and the fastest of the other, and by its fastest round and the slowest of the other.
    pub bounds: [f64; 2],
}

impl Lead {
    /// Of two measurements with the same size.
    pub(crate) fn of(one: &Row, other: &Row) -> Option<Self> {
        Some(Self {
            size: one.size,
            ratio: other.seconds? / one.seconds?,
            bounds: [other.fastest? / one.slowest?, other.slowest? / one.fastest?],
        })
    }

    /// The same where the inputs of both differ in work by a factor.
    pub fn times(self, factor: f64) -> Self {
        Self {
            ratio: self.ratio * factor,
            bounds: self.bounds.map(|bound| bound * factor),
            ..self
        }
    }

    /// The geometric mean of several.
    pub fn mean(leads: &[Self]) -> Option<Self> {
        let last = leads.last()?;
        let mean = |of: fn(&Self) -> f64| {
            let logarithms: f64 = leads.iter().map(|lead| of(lead).ln()).sum();
            (logarithms / leads.len() as f64).exp()
        };
        Some(Self {
            size: last.size,
            ratio: mean(|lead| lead.ratio),
            bounds: [mean(|lead| lead.bounds[0]), mean(|lead| lead.bounds[1])],
        })
    }

    /// Whether it is the faster one by the median.
    pub fn wins(&self) -> bool {
        self.ratio >= 1.0
    }

    /// Whether both take the same time, by the medians.
    pub(super) fn alike(&self) -> bool {
        self.ratio.max(1.0 / self.ratio) < ALIKE
    }

    /// Whether every round of one is faster than every round of the other.
    pub(super) fn decided(&self) -> bool {
        self.bounds[0] > 1.0 || self.bounds[1] < 1.0
    }

    /// `2.0 times as fast as`, or that it is not decided.
    pub fn words(&self) -> String {
        match self.ratio {
            _ if self.alike() => "as fast as".into(),
            ratio if !self.decided() => {
                format!("not decidedly faster or slower (medians {ratio:.2}, rounds overlap) than")
            }
            ratio if ratio > 1.0 => format!("{ratio:.1} times as fast as"),
            ratio => format!("{:.1} times slower than", 1.0 / ratio),
        }
    }
}

impl Findings {
    /// How many times as fast one variant is as another on each input that both were measured on, by size.
    pub fn leads(&self, ladder: &str, one: &str, other: &str) -> Vec<Lead> {
        let mut leads: Vec<Lead> = self
            .of(ladder, one)
            .filter_map(|row| {
                let other = self.of(ladder, other).find(|other| other.size == row.size)?;
                Lead::of(row, other)
            })
            .collect();
        leads.sort_by(|a, b| a.size.total_cmp(&b.size));
        leads
    }

    /// The same for the largest of them.
    pub fn lead(&self, ladder: &str, one: &str, other: &str) -> Option<Lead> {
        self.leads(ladder, one, other).last().copied()
    }

    /// The same for an input of this size.
    pub fn lead_at(&self, ladder: &str, one: &str, other: &str, size: f64) -> Option<Lead> {
        let leads = self.leads(ladder, one, other);
        leads.into_iter().find(|lead| lead.size == size)
    }

    /// The power of its size that the time of a variant grows with between the two largest inputs it ran on.
    pub fn growth(&self, ladder: &str, variant: &str) -> Option<f64> {
        let mut rows: Vec<(f64, f64)> = self
            .of(ladder, variant)
            .filter_map(|row| Some((row.size, row.seconds?)))
            .collect();
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        match rows[..] {
            [.., (size, time), (larger, longer)] => Some((longer / time).ln() / (larger / size).ln()),
            _ => None,
        }
    }

    /// Where one variant becomes faster than another as inputs grow: the size between two measured ones, on logarithmic
    /// scales.
    pub fn crossover(&self, ladder: &str, slow_start: &str, fast_start: &str) -> Option<f64> {
        let leads: Vec<(f64, f64)> = self
            .leads(ladder, fast_start, slow_start)
            .iter()
            .map(|lead| (lead.size.ln(), lead.ratio.ln()))
            .collect();
        leads
            .windows(2)
            .find(|pair| pair[0].1 > 0.0 && pair[1].1 <= 0.0)
            .map(|pair| {
                let [(x0, y0), (x1, y1)] = [pair[0], pair[1]];
                (x0 + (x1 - x0) * y0 / (y0 - y1)).exp()
            })
    }
}

#[cfg(test)]
mod tests {
    use super::super::findings::timed;
    use super::*;

    /// Words follow the medians only where no round says the opposite.
    #[test]
    fn rounds_that_overlap_decide_nothing() {
        let words = |one: [f64; 3], other: [f64; 3]| {
            let lead = Lead::of(&timed("l", "a", 1.0, one), &timed("l", "b", 1.0, other));
            lead.expect("both are timed").words()
        };
        assert_eq!(words([0.9, 1.0, 1.1], [1.9, 2.0, 2.1]), "2.0 times as fast as");
        assert_eq!(words([1.9, 2.0, 2.1], [0.9, 1.0, 1.1]), "2.0 times slower than");
        assert_eq!(words([0.9, 1.0, 1.1], [0.9, 1.02, 1.1]), "as fast as");
        let open = words([0.9, 1.0, 2.5], [1.9, 2.0, 2.1]);
        assert!(
            open.starts_with("not decidedly") && open.contains("2.00"),
            "{open}"
        );
    }

    #[test]
    fn a_mean_is_decided_by_its_rounds() {
        let lead = |ratio: f64, low: f64, high: f64| Lead {
            size: 1.0,
            ratio,
            bounds: [low, high],
        };
        let both = Lead::mean(&[lead(4.0, 3.0, 5.0), lead(1.0, 0.5, 2.0)]).expect("two");
        assert!((both.ratio - 2.0).abs() < 1e-12 && both.decided());
        let both = Lead::mean(&[lead(2.0, 1.5, 3.0), lead(0.5, 0.2, 0.8)]).expect("two");
        assert!(!both.decided());
        assert!(Lead::mean(&[]).is_none());
    }
}
