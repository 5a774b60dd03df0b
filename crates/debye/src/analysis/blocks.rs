//! Sums over blocks of frames, whose number is bounded: from their spread come standard errors.

use super::AnalysisError;
use super::state::{Reader, Writer};

/// More blocks than this are merged in pairs.
const MOST: u64 = 32;

/// Sums of `columns` numbers over blocks of equally many entries (frames or time origins).
///
/// When there would be more than 32 blocks, neighbors are added together and blocks are twice as
/// long from then on: 16 to 32 blocks of any length of run, in 32 · `columns` · 8 bytes. Counts stay
/// exact up to 2⁵³. Blocks are taken to be independent; that is so when they are longer than the
/// correlation time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Blocks {
    columns: usize,
    entries_per_block: u64,
    sums: Vec<Vec<f64>>,
}

impl Blocks {
    pub(crate) fn new(columns: usize) -> Self {
        Self {
            columns,
            entries_per_block: 1,
            sums: Vec::new(),
        }
    }

    /// The sums that entry number `entry` adds to.
    pub(crate) fn at(&mut self, entry: u64) -> &mut [f64] {
        while entry / self.entries_per_block >= MOST {
            self.sums = self
                .sums
                .chunks(2)
                .map(|pair| add_up(pair, self.columns))
                .collect();
            self.entries_per_block *= 2;
        }
        let block = (entry / self.entries_per_block) as usize;
        while self.sums.len() <= block {
            self.sums.push(vec![0.0; self.columns]);
        }
        &mut self.sums[block]
    }

    /// The sums over all blocks.
    pub(crate) fn total(&self) -> Vec<f64> {
        add_up(&self.sums, self.columns)
    }

    /// The blocks that the first `entries` entries fill.
    pub(crate) fn complete(&self, entries: u64) -> &[Vec<f64>] {
        let blocks = (entries / self.entries_per_block).min(self.sums.len() as u64);
        &self.sums[..blocks as usize]
    }

    /// Standard error of a statistic over the blocks that the first `entries` entries fill.
    pub(crate) fn error_of(&self, entries: u64, statistic: impl Fn(&[f64]) -> f64) -> f64 {
        standard_error(self.complete(entries).iter().map(|sums| statistic(sums)))
    }

    pub(crate) fn save(&self, writer: &mut Writer) {
        writer.u64(self.entries_per_block).u64(self.sums.len() as u64);
        for sums in &self.sums {
            writer.f64s(sums);
        }
    }

    /// Reads blocks that hold `entries` entries.
    pub(crate) fn restore(
        reader: &mut Reader<'_>,
        columns: usize,
        entries: u64,
    ) -> Result<Self, AnalysisError> {
        let entries_per_block = reader.u64()?;
        let blocks = reader.length(8)?;
        if !entries_per_block.is_power_of_two() || entries.div_ceil(entries_per_block) != blocks as u64 {
            return Err(reader.error("its blocks do not fit its frames"));
        }
        if blocks as u64 > MOST {
            return Err(reader.error("it has too many blocks"));
        }
        let sums = (0..blocks)
            .map(|_| reader.f64s())
            .collect::<Result<Vec<_>, _>>()?;
        if sums.iter().any(|s| s.len() != columns) {
            return Err(reader.error("its blocks have another number of columns"));
        }
        Ok(Self {
            columns,
            entries_per_block,
            sums,
        })
    }
}

fn add_up(blocks: &[Vec<f64>], columns: usize) -> Vec<f64> {
    let mut sum = vec![0.0; columns];
    for block in blocks {
        sum.iter_mut().zip(block).for_each(|(s, b)| *s += b);
    }
    sum
}

/// Standard error of the mean of independent values; NaN (not known) for fewer than three.
pub(crate) fn standard_error(values: impl Iterator<Item = f64>) -> f64 {
    let (mut n, mut mean, mut squares) = (0.0, 0.0, 0.0);
    for value in values {
        n += 1.0;
        let difference = value - mean;
        mean += difference / n;
        squares += difference * (value - mean);
    }
    if n < 3.0 {
        f64::NAN
    } else {
        (squares / (n * (n - 1.0))).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_stay_few_and_lose_nothing() {
        let mut blocks = Blocks::new(2);
        for entry in 0..1000_u64 {
            let sums = blocks.at(entry);
            sums[0] += 1.0;
            sums[1] += entry as f64;
        }
        assert_eq!(blocks.total(), [1000.0, 499_500.0]);
        assert_eq!(blocks.entries_per_block, 32);
        assert_eq!(blocks.sums.len(), 32);
        assert_eq!(blocks.complete(1000).len(), 31);
    }
}
