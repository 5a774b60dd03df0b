//! Exclusive prefix sums of counts, in parallel.
//!
//! The input is cut into blocks of a fixed length: every block is summed, the sums are scanned, every
//! block is scanned from its own start. Sums are taken in 64 bits, so a total that 32 bits cannot hold is
//! reported, never wrapped.

use rayon::prelude::*;

/// Counts in a block: large enough to be worth a thread, small enough to stay in its cache.
const BLOCK: usize = 1 << 15;

/// A prefix sum that 32 bits cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the counts add up to {total}; at most {max} can be numbered", max = u32::MAX)]
pub struct ScanOverflow {
    /// What the counts add up to.
    pub total: u64,
}

/// Replaces every count by the sum of those before it, and returns the sum of all. On overflow nothing is
/// changed.
pub fn exclusive_scan(counts: &mut [u32]) -> Result<u32, ScanOverflow> {
    if counts.len() <= BLOCK {
        let total = fit(sum(counts))?;
        scan_from(counts, 0);
        return Ok(total);
    }
    let sums: Vec<u64> = counts.par_chunks(BLOCK).map(sum).collect();
    let total = fit(sums.iter().sum())?;
    let mut before = 0;
    let starts: Vec<u32> = sums
        .iter()
        .map(|&s| {
            let start = before;
            before += s;
            start as u32
        })
        .collect();
    counts
        .par_chunks_mut(BLOCK)
        .zip(starts)
        .for_each(|(block, start)| scan_from(block, start));
    Ok(total)
}

fn sum(counts: &[u32]) -> u64 {
    counts.iter().map(|&c| u64::from(c)).sum()
}

fn fit(total: u64) -> Result<u32, ScanOverflow> {
    u32::try_from(total).map_err(|_| ScanOverflow { total })
}

/// A scan that begins with `before`; the caller knows that no sum wraps.
pub(super) fn scan_from(counts: &mut [u32], mut before: u32) {
    for count in counts {
        let next = before.wrapping_add(*count);
        *count = before;
        before = next;
    }
}
