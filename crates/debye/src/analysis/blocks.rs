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

    /// Standard error of a statistic that is no mean, such as a variance, by leaving out one block after another: over
    /// single blocks it would be that of something else.
    pub(crate) fn jackknife(&self, entries: u64, statistic: impl Fn(&[f64]) -> f64) -> f64 {
        let blocks = self.complete(entries);
        let total = add_up(blocks, self.columns);
        let without =
            |block: &Vec<f64>| -> Vec<f64> { total.iter().zip(block).map(|(t, b)| t - b).collect() };
        let values = blocks.iter().map(|block| statistic(&without(block)));
        (blocks.len() as f64 - 1.0) * standard_error(values)
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

/// Sums over the frames of an analysis: how many there were, and their blocks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FrameSums {
    frames: u64,
    blocks: Blocks,
}

impl FrameSums {
    pub(super) fn new(columns: usize) -> Self {
        Self {
            frames: 0,
            blocks: Blocks::new(columns),
        }
    }

    /// How many frames there were.
    pub(super) fn frames(&self) -> u64 {
        self.frames
    }

    /// Counts another frame, and gives the sums it adds to.
    pub(super) fn next_frame(&mut self) -> &mut [f64] {
        self.frames += 1;
        self.blocks.at(self.frames - 1)
    }

    /// Adds another frame.
    pub(super) fn add<const N: usize>(&mut self, amounts: [f64; N]) {
        let sums = self.next_frame().iter_mut();
        sums.zip(amounts).for_each(|(sum, amount)| *sum += amount);
    }

    /// The sums over all frames.
    pub(super) fn total(&self) -> Vec<f64> {
        self.blocks.total()
    }

    /// The blocks that are full.
    pub(super) fn complete(&self) -> &[Vec<f64>] {
        self.blocks.complete(self.frames)
    }

    /// [`Blocks::jackknife`] over the blocks that are full.
    pub(super) fn jackknife(&self, statistic: impl Fn(&[f64]) -> f64) -> f64 {
        self.blocks.jackknife(self.frames, statistic)
    }

    /// [`Blocks::error_of`] over the blocks that are full.
    pub(super) fn error_of(&self, statistic: impl Fn(&[f64]) -> f64) -> f64 {
        self.blocks.error_of(self.frames, statistic)
    }

    /// Ends a state that begins with what is written so far.
    pub(super) fn save(&self, mut writer: Writer) -> Vec<u8> {
        writer.u64(self.frames);
        self.blocks.save(&mut writer);
        writer.finish()
    }

    /// The sums that a state ends with.
    pub(super) fn restored(&self, mut reader: Reader<'_>) -> Result<Self, AnalysisError> {
        let frames = reader.u64()?;
        let blocks = Blocks::restore(&mut reader, self.blocks.columns, frames)?;
        reader.finish()?;
        Ok(Self { frames, blocks })
    }
}

fn add_up(blocks: &[Vec<f64>], columns: usize) -> Vec<f64> {
    let mut sum = vec![0.0; columns];
    for block in blocks {
        sum.iter_mut().zip(block).for_each(|(s, b)| *s += b);
    }
    sum
}

/// Standard error of the mean of a series; NaN (not known) for fewer than three values.
///
/// Where neighbors are correlated by more than chance allows, ρ > 2/√n, the error is that of a series which forgets
/// exponentially: larger by √((1 + ρ)/(1 − ρ)).
pub(crate) fn standard_error(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    let n = values.len() as f64;
    if n < 3.0 {
        return f64::NAN;
    }
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let products: f64 = values
        .windows(2)
        .map(|pair| (pair[0] - mean) * (pair[1] - mean))
        .sum();
    let correlation = if squares > 0.0 { products / squares } else { 0.0 };
    let growth = match correlation > 2.0 / n.sqrt() {
        true => ((1.0 + correlation) / (1.0 - correlation)).sqrt(),
        false => 1.0,
    };
    growth * (squares / (n * (n - 1.0))).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_know_of_correlation_and_of_what_is_no_mean() {
        // Neighbors alternate: no more error than of independent values.
        let alternating = (0..32).map(|k| f64::from(k % 2));
        let error = standard_error(alternating);
        assert!((error - (8.0_f64 / (32.0 * 31.0)).sqrt()).abs() < 1e-15);
        // A slow wave: of 32 values few are independent.
        let wave = (0..32).map(|k| (f64::from(k) * 0.2).sin());
        assert!(standard_error(wave) > 0.3);
        // The error of a variance: σ² √(2/n) of normal numbers.
        let random = crate::random::Philox::new(5);
        let mut blocks = Blocks::new(3);
        let frames = 4096_u64;
        for entry in 0..frames {
            let x = random.normals(entry, 0, 0)[0];
            let sums = blocks.at(entry);
            (sums[0], sums[1], sums[2]) = (sums[0] + 1.0, sums[1] + x, sums[2] + x * x);
        }
        let variance = |sums: &[f64]| sums[2] / sums[0] - (sums[1] / sums[0]).powi(2);
        let (found, expected) = (blocks.jackknife(frames, variance), (2.0 / frames as f64).sqrt());
        assert!((0.6..1.6).contains(&(found / expected)), "{found}, {expected}");
    }

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
