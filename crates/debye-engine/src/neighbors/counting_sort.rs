//! [`CountingSort`]: a stable sort of small integers, in parallel and without races.
//!
//! Scattering straight into the result would have threads write between one another. Instead
//!
//! 1. the keys are cut into blocks of a fixed length, and each block sorts its own keys, with their
//!    indices, by their leading bits into at most 256 groups, inside its own stretch of a scratch list;
//! 2. each group owns one stretch of the result: it collects its part of every block in order and
//!    sorts it by the remaining bits.
//!
//! Both steps are stable and write only what they own. A stable permutation is unique, so the
//! result depends neither on the number of threads nor on the cut. Every random access falls into a few
//! hundred open lines, which makes this faster than the plain loop even on one thread once the keys
//! outgrow the cache.

use crate::parallel::{InParallel, Indexed, IntoIndexed};

use super::scan::scan_from;

/// Keys in a block of the first step.
const BLOCK: usize = 1 << 15;
/// Most groups of the first step.
const GROUPS: usize = 256;
/// Below this many keys the plain loop is as fast (two cores meet it at about 100 000 keys, more cores
/// earlier).
const SERIAL: usize = 1 << 16;

/// Why keys could not be sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SortError {
    /// A key without a bin.
    #[error("key {key} of element {index} is out of range; there are {bins} bins")]
    KeyOutOfRange {
        /// Index of the element.
        index: usize,
        /// Its key.
        key: u32,
        /// Number of bins.
        bins: usize,
    },
    /// More elements than can be numbered.
    #[error("{count} elements; at most {max} can be sorted", max = u32::MAX)]
    TooMany {
        /// How many there are.
        count: usize,
    },
}

/// The result of a sort, and the memory for the next one.
#[derive(Clone, Debug, Default)]
pub struct CountingSort {
    starts: Vec<u32>,
    order: Vec<u32>,
    /// Key in the upper half, index in the lower: blocks sorted by group.
    packed: Vec<u64>,
    /// For each block, where its groups begin; one more for its end.
    offsets: Vec<u32>,
}

impl CountingSort {
    /// Nothing sorted yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Indices of the elements sorted by key, those of equal keys in their old order.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Bin b holds `order[starts[b]..starts[b + 1]]`.
    pub fn starts(&self) -> &[u32] {
        &self.starts
    }

    /// Indices of the elements of a bin.
    pub fn bin(&self, b: usize) -> &[u32] {
        &self.order[self.starts[b] as usize..self.starts[b + 1] as usize]
    }

    /// Sorts the elements by their keys, all below `bins`.
    pub fn sort(&mut self, keys: &[u32], bins: usize) -> Result<(), SortError> {
        check(keys, bins)?;
        if keys.len() < SERIAL {
            self.sort_serial(keys, bins);
        } else {
            self.sort_parallel(keys, bins);
        }
        Ok(())
    }

    /// Count, scan, scatter.
    fn sort_serial(&mut self, keys: &[u32], bins: usize) {
        self.starts.clear();
        self.starts.resize(bins + 1, 0);
        self.order.resize(keys.len(), 0);
        // Counts sit one place up: scattering moves each start to its end, which is the next start.
        let Some((_, counts)) = self.starts.split_first_mut() else {
            return;
        };
        for &key in keys {
            counts[key as usize] += 1;
        }
        scan_from(counts, 0);
        for (i, &key) in keys.iter().enumerate() {
            let slot = &mut counts[key as usize];
            self.order[*slot as usize] = i as u32;
            *slot += 1;
        }
    }

    fn sort_parallel(&mut self, keys: &[u32], bins: usize) {
        let mut shift = 0;
        while (bins - 1) >> shift >= GROUPS {
            shift += 1;
        }
        let groups = ((bins - 1) >> shift) + 1;
        self.starts.resize(bins + 1, 0);
        self.order.resize(keys.len(), 0);
        self.packed.resize(keys.len(), 0);
        self.offsets.resize(keys.len().div_ceil(BLOCK) * (groups + 1), 0);

        self.packed
            .par_chunks_mut(BLOCK)
            .zip(self.offsets.par_chunks_mut(groups + 1))
            .zip(keys.par_chunks(BLOCK))
            .enumerate()
            .for_each(|(block, ((packed, offsets), keys))| {
                group_block(keys, (block * BLOCK) as u32, shift, packed, offsets);
            });

        let (packed, offsets) = (&self.packed, &self.offsets);
        let mut parts = Vec::with_capacity(groups);
        let (mut order, mut starts) = (&mut self.order[..], &mut self.starts[..bins]);
        let mut before = 0;
        for group in 0..groups {
            let size: u32 = offsets
                .chunks_exact(groups + 1)
                .map(|o| o[group + 1] - o[group])
                .sum();
            let (mine, rest) = order.split_at_mut(size as usize);
            let width = starts.len().min(1 << shift);
            let (my_starts, rest_starts) = starts.split_at_mut(width);
            (order, starts) = (rest, rest_starts);
            parts.push((group, before, mine, my_starts));
            before += size;
        }
        parts.into_par_iter().for_each(|(group, before, order, starts)| {
            let pieces = packed
                .chunks(BLOCK)
                .zip(offsets.chunks_exact(groups + 1))
                .map(|(packed, o)| &packed[o[group] as usize..o[group + 1] as usize]);
            sort_group(pieces, (group << shift) as u32, before, order, starts);
        });
        self.starts[bins] = before;
    }
}

/// The stable order of the elements by key; see [`CountingSort`] to use memory again.
pub fn counting_sort(keys: &[u32], bins: usize) -> Result<CountingSort, SortError> {
    let mut sort = CountingSort::new();
    sort.sort(keys, bins)?;
    Ok(sort)
}

fn check(keys: &[u32], bins: usize) -> Result<(), SortError> {
    if u32::try_from(keys.len()).is_err() {
        return Err(SortError::TooMany { count: keys.len() });
    }
    let largest = |keys: &[u32]| keys.iter().copied().max().unwrap_or(0);
    let bad = |&key: &u32| key as usize >= bins;
    if !keys.is_empty() && bad(&keys.par_chunks(BLOCK).map(largest).max().unwrap_or(0)) {
        let index = keys.iter().position(bad).unwrap_or(0);
        let key = keys[index];
        return Err(SortError::KeyOutOfRange { index, key, bins });
    }
    Ok(())
}

/// First step: a block's keys and indices by group.
fn group_block(keys: &[u32], first: u32, shift: u32, packed: &mut [u64], offsets: &mut [u32]) {
    let mut cursor = [0u32; GROUPS];
    for &key in keys {
        cursor[(key >> shift) as usize % GROUPS] += 1;
    }
    scan_from(&mut cursor, 0);
    let groups = offsets.len() - 1;
    offsets[..groups].copy_from_slice(&cursor[..groups]);
    offsets[groups] = keys.len() as u32;
    for (i, &key) in keys.iter().enumerate() {
        let slot = &mut cursor[(key >> shift) as usize % GROUPS];
        packed[*slot as usize] = u64::from(key) << 32 | u64::from(first + i as u32);
        *slot += 1;
    }
}

/// Second step: a group's part of the result, which begins at `before` with the bin `first`.
fn sort_group<'a>(
    pieces: impl Iterator<Item = &'a [u64]> + Clone,
    first: u32,
    before: u32,
    order: &mut [u32],
    starts: &mut [u32],
) {
    let bin = |entry: u64| ((entry >> 32) as u32 - first) as usize;
    starts.fill(0);
    for piece in pieces.clone() {
        for &entry in piece {
            starts[bin(entry)] += 1;
        }
    }
    scan_from(starts, 0);
    let mut cursor = starts.to_vec();
    for piece in pieces {
        for &entry in piece {
            let slot = &mut cursor[bin(entry)];
            order[*slot as usize] = entry as u32;
            *slot += 1;
        }
    }
    for start in starts {
        *start += before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn keys(n: usize, bins: usize) -> Vec<u32> {
        let hash = |i: u64| (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (i * i) << 20;
        (0..n as u64)
            .map(|i| ((hash(i) >> 24) % bins as u64) as u32)
            .collect()
    }

    /// Holds a result against the serial loop: exact integers.
    fn check(keys: &[u32], bins: usize) {
        let mut sort = CountingSort::new();
        sort.sort(keys, bins).unwrap();
        let mut plain = CountingSort::new();
        plain.sort_serial(keys, bins);
        assert_eq!(sort.starts, plain.starts, "{} keys, {bins} bins", keys.len());
        assert_eq!(sort.order, plain.order, "{} keys, {bins} bins", keys.len());
    }

    #[test]
    fn serial_is_a_stable_sort() {
        for (n, bins) in [(0, 0), (0, 5), (1, 1), (1000, 7), (1000, 5000), (40_001, 300)] {
            let keys = keys(n, bins.max(1));
            let mut sort = CountingSort::new();
            sort.sort_serial(&keys, bins);
            let mut order: Vec<u32> = (0..n as u32).collect();
            order.sort_by_key(|&i| keys[i as usize]);
            assert_eq!(sort.order, order);
            assert_eq!((sort.starts[0], sort.starts[bins]), (0, n as u32));
            for b in 0..bins {
                assert!(sort.bin(b).iter().all(|&i| keys[i as usize] == b as u32));
            }
        }
    }

    #[test]
    fn all_sizes_and_odd_ones() {
        for n in (9..=20).map(|p| 1 << p) {
            check(&keys(n, 1000), 1000);
            check(&keys(n - 1, n), n);
            check(&keys(n + 3, 65_536), 65_536);
        }
        for bins in [1, 2, 255, 256, 257, 511, 513, 100_003, 5_359_375] {
            check(&keys(3 * BLOCK + 1, bins), bins);
        }
    }

    #[test]
    fn equal_zero_and_one_bin() {
        for n in [100, SERIAL, 4 * BLOCK + 9] {
            check(&vec![0; n], 1);
            check(&vec![0; n], 70_000);
            check(&vec![69_999; n], 70_000);
            check(&vec![1234; n], 70_000);
            check(&(0..n as u32).collect::<Vec<_>>(), n);
            check(&(0..n as u32).rev().collect::<Vec<_>>(), n);
        }
    }

    #[test]
    fn memory_is_used_again() {
        let mut sort = CountingSort::new();
        for (n, bins) in [
            (200_000, 9000),
            (100, 10),
            (150_000, 40),
            (150_001, 20_000),
            (0, 3),
        ] {
            let keys = keys(n, bins);
            sort.sort(&keys, bins).unwrap();
            let fresh = counting_sort(&keys, bins).unwrap();
            assert_eq!((sort.order(), sort.starts()), (fresh.order(), fresh.starts()));
            assert_eq!(sort.order.len(), n);
        }
    }

    #[test]
    fn any_number_of_threads() {
        let keys = keys(300_001, 5000);
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            let sort = pool.install(|| counting_sort(&keys, 5000)).unwrap();
            (sort.starts, sort.order)
        };
        assert!([2, 3, 7].into_iter().all(|threads| run(threads) == run(1)));
    }

    #[test]
    fn keys_without_a_bin_are_named() {
        let mut many = vec![3; 100_000];
        many[77_777] = 9;
        let error = SortError::KeyOutOfRange {
            index: 77_777,
            key: 9,
            bins: 9,
        };
        assert_eq!(counting_sort(&many, 9).err(), Some(error));
        assert!(counting_sort(&[0], 0).is_err());
    }

    #[test]
    fn a_million_keys_are_quick() {
        for (n, bins) in [
            (10_000, 1000),
            (32_000, 4096),
            (100_000, 8192),
            (1_000_000, 65_536),
            (1_047_293, 5_359_375),
        ] {
            let keys = keys(n, bins);
            let mut sort = CountingSort::new();
            let mut best = |f: &mut dyn FnMut(&mut CountingSort)| {
                f(&mut sort);
                let time = |_| {
                    let begin = Instant::now();
                    f(&mut sort);
                    begin.elapsed()
                };
                (0..7).map(time).min().unwrap()
            };
            let serial = best(&mut |sort| sort.sort_serial(&keys, bins));
            let parallel = best(&mut |sort| sort.sort_parallel(&keys, bins));
            println!("{n} keys, {bins} bins: serial {serial:?}, parallel {parallel:?}");
        }
    }

    /// Keys i mod bins, whose order has a closed form.
    fn closed_form(n: u32, bins: u32) {
        let keys: Vec<u32> = (0..n).map(|i| i % bins).collect();
        let begin = Instant::now();
        let sort = counting_sort(&keys, bins as usize).unwrap();
        println!("{n} keys sorted into new memory: {:?}", begin.elapsed());
        let each = n / bins;
        assert!((0..=bins).all(|b| sort.starts[b as usize] == b * each));
        assert!((0..n).all(|at| sort.order[at as usize] == at / each + at % each * bins));
    }

    #[test]
    fn two_to_the_24() {
        closed_form(1 << 24, 1 << 16);
    }

    #[test]
    #[ignore = "takes 2 GB of memory and several seconds"]
    fn two_to_the_27() {
        closed_form(1 << 27, 1 << 17);
    }
}
