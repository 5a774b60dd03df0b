//! Exclusive prefix sums of counts, in parallel.
//!
//! The input is cut into blocks of a fixed length: every block is summed, the sums are scanned, every
//! block is scanned from its own start. Sums are taken in 64 bits, so a total that 32 bits cannot hold is
//! reported, never wrapped.

use crate::parallel::{InParallel, Indexed};

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

#[cfg(test)]
mod tests {
    use super::*;

    /// A reproducible count below `most` for each index.
    fn count(i: usize, most: u32) -> u32 {
        ((i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) as u32 % most
    }

    fn check(n: usize, count: impl Fn(usize) -> u32) {
        let mut counts: Vec<u32> = (0..n).map(&count).collect();
        let total = exclusive_scan(&mut counts).unwrap();
        let mut before = 0;
        for (i, &got) in counts.iter().enumerate() {
            assert_eq!(got, before, "{i} of {n}");
            before += count(i);
        }
        assert_eq!(total, before);
    }

    #[test]
    fn all_sizes_and_odd_ones() {
        for n in (9..=22).map(|p| 1 << p) {
            check(n, |i| count(i, 7));
            check(n - 1, |i| count(i, 1000));
            check(n + 3, |i| count(i, 2));
        }
        for n in [
            0,
            1,
            2,
            3,
            5,
            BLOCK - 1,
            BLOCK,
            BLOCK + 1,
            3 * BLOCK,
            3 * BLOCK + 17,
        ] {
            check(n, |i| count(i, 100));
        }
    }

    #[test]
    fn equal_zero_and_single_counts() {
        for n in [1000, BLOCK, 5 * BLOCK + 1] {
            check(n, |_| 0);
            check(n, |_| 3);
            check(n, |i| if i == n / 2 { u32::MAX } else { 0 });
        }
    }

    #[test]
    fn two_to_the_27() {
        let begin = std::time::Instant::now();
        check(1 << 27, |i| (i as u32 >> 3) & 31);
        println!("2^27 counts made, scanned and checked: {:?}", begin.elapsed());
    }

    #[test]
    fn overflow_is_reported_and_nothing_changed() {
        for n in [2, BLOCK, 4 * BLOCK + 5] {
            let mut counts = vec![0; n];
            (counts[0], counts[n - 1]) = (u32::MAX, 1);
            let before = counts.clone();
            let total = 1 << 32;
            assert_eq!(exclusive_scan(&mut counts), Err(ScanOverflow { total }));
            assert_eq!(counts, before);
        }
        let mut all = vec![u32::MAX; 3 * BLOCK];
        let total = 3 * BLOCK as u64 * u64::from(u32::MAX);
        assert_eq!(exclusive_scan(&mut all), Err(ScanOverflow { total }));
    }

    #[test]
    fn any_number_of_threads() {
        let counts: Vec<u32> = (0..10 * BLOCK + 77).map(|i| count(i, 50)).collect();
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            let mut counts = counts.clone();
            let total = pool.install(|| exclusive_scan(&mut counts));
            (total, counts)
        };
        assert!([2, 3, 7].into_iter().all(|threads| run(threads) == run(1)));
    }
}
