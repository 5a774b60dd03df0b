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

use rayon::prelude::*;

use super::scan::scan_from;

/// Keys in a block of the first step.
const BLOCK: usize = 1 << 15;
/// Most groups of the first step.
const GROUPS: usize = 256;
/// Below this many keys the plain loop is faster.
const SERIAL: usize = 1 << 15;

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
    for &entry in pieces.clone().flatten() {
        starts[bin(entry)] += 1;
    }
    scan_from(starts, 0);
    let mut cursor = starts.to_vec();
    for &entry in pieces.flatten() {
        let slot = &mut cursor[bin(entry)];
        order[*slot as usize] = entry as u32;
        *slot += 1;
    }
    for start in starts {
        *start += before;
    }
}
