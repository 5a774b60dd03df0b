//! [`ClusterList`]: particles in clusters of one vector, and for every cluster all places that are within the
//! cut-off plus a buffer of any of its members.
//!
//! Against lists per particle it has a fifth of the entries, and its kernels gather nothing: a neighbour is one
//! broadcast for the whole cluster. The price is three times as many pairs tested, so it suits pairs that are
//! cheap to compute and dear to look up.

use std::ops::Range;

use rayon::prelude::*;

use super::list::{BLOCK, Candidates, Excluded, LeaveOut, candidate_runs, refill};
use crate::backend::cpu::simd::{Near, Search};

/// A place that interacts with some members of a cluster only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Masked {
    /// The place.
    pub place: u32,
    /// Bit k: with member k.
    pub members: u32,
}

/// The neighbours of a run of clusters.
#[derive(Clone, Debug)]
pub struct ClusterBlock {
    first: usize,
    count: usize,
    width: usize,
    /// In place, so that nothing small lies between the entries of two blocks in memory.
    starts: [u32; BLOCK / 2 + 1],
    masked_starts: [u32; BLOCK / 2 + 1],
    entries: Vec<u32>,
    masked: Vec<Masked>,
    pairs: usize,
}

impl Default for ClusterBlock {
    fn default() -> Self {
        Self {
            first: 0,
            count: 0,
            width: 1,
            starts: [0; BLOCK / 2 + 1],
            masked_starts: [0; BLOCK / 2 + 1],
            entries: Vec::new(),
            masked: Vec::new(),
            pairs: 0,
        }
    }
}

impl ClusterBlock {
    /// The particles of this block.
    #[inline(always)]
    pub fn particles(&self) -> Range<usize> {
        self.first..self.first + self.count
    }

    /// How many clusters; each is as wide as a vector, but the last may have fewer members.
    #[inline(always)]
    pub fn clusters(&self) -> usize {
        self.count.div_ceil(self.width)
    }

    /// The members of cluster `number`, counted from the block's first particle.
    #[inline(always)]
    pub fn members(&self, number: usize) -> Range<usize> {
        number * self.width..((number + 1) * self.width).min(self.count)
    }

    /// Places that interact with all members of a cluster.
    #[inline(always)]
    pub fn entries(&self, number: usize) -> &[u32] {
        &self.entries[self.starts[number] as usize..self.starts[number + 1] as usize]
    }

    /// Places that interact with some: its own members, and excluded partners.
    #[inline(always)]
    pub fn masked(&self, number: usize) -> &[Masked] {
        &self.masked[self.masked_starts[number] as usize..self.masked_starts[number + 1] as usize]
    }
}

/// Full lists: every pair stands in the list of both clusters.
#[derive(Debug, Default)]
pub struct ClusterList {
    blocks: Vec<ClusterBlock>,
    radius: f32,
}

/// Memory of one thread that fills blocks.
#[derive(Default)]
struct Scratch {
    ranges: Vec<(u32, u32)>,
    runs: Vec<Range<usize>>,
    near: Near,
    entries: Vec<u32>,
    masked: Vec<Masked>,
    excluded: Excluded,
}

impl ClusterList {
    /// Makes the lists anew, reusing memory. Clusters are `candidates.width` particles that follow each other.
    pub fn build(&mut self, candidates: &Candidates, search: Search, exclusions: Option<&dyn LeaveOut>) {
        self.blocks
            .resize_with(candidates.particles.div_ceil(BLOCK), ClusterBlock::default);
        // Longer lists need larger blocks: all memory goes back first, or the old blocks would leave
        // holes that none of the new ones fits into.
        if candidates.radius > self.radius {
            for block in &mut self.blocks {
                block.entries = Vec::new();
                block.masked = Vec::new();
            }
            self.radius = 1.01 * candidates.radius;
        }
        self.blocks
            .par_iter_mut()
            .enumerate()
            .for_each_init(Scratch::default, |scratch, (number, block)| {
                block.first = number * BLOCK;
                block.count = BLOCK.min(candidates.particles - block.first);
                block.width = candidates.width;
                fill(block, candidates, search, exclusions, scratch);
            });
    }

    /// The blocks, in the order of the particles.
    pub fn blocks(&self) -> &[ClusterBlock] {
        &self.blocks
    }

    /// Entries in all lists.
    pub fn entries(&self) -> usize {
        self.blocks.iter().map(|b| b.entries.len() + b.masked.len()).sum()
    }

    /// Pairs of particles within the radius when the lists were made, each counted twice.
    pub fn pairs(&self) -> usize {
        self.blocks.iter().map(|b| b.pairs).sum()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let of = |b: &ClusterBlock| {
            4 * b.entries.capacity() + size_of::<Masked>() * b.masked.capacity() + size_of::<ClusterBlock>()
        };
        self.blocks.iter().map(of).sum()
    }
}

fn fill(
    block: &mut ClusterBlock,
    c: &Candidates,
    search: Search,
    exclusions: Option<&dyn LeaveOut>,
    scratch: &mut Scratch,
) {
    let Scratch {
        ranges,
        runs,
        near,
        entries,
        masked,
        excluded,
    } = scratch;
    entries.clear();
    masked.clear();
    block.pairs = 0;
    for number in 0..block.clusters() {
        let members = block.members(number);
        let members = block.first + members.start..block.first + members.end;
        let all = u32::MAX >> (32 - members.len());
        c.grid.neighbours(&c.cells[members.clone()], ranges);
        candidate_runs(ranges, c, runs);
        let radius2 = c.radius * c.radius;
        search.cluster(c.places, runs, members.clone(), radius2, near);
        // Every member is near itself.
        let pairs: usize = near.masks.iter().map(|mask| mask.count_ones() as usize).sum();
        block.pairs += pairs.saturating_sub(members.len());
        let near = &near.places;
        // The members are near each other, and follow each other among the places found.
        let own = near.iter().position(|&place| place as usize == members.start);
        let (before, rest) = near.split_at(own.unwrap_or(near.len()));
        let (own, after) = rest.split_at(members.len().min(rest.len()));
        match exclusions {
            None => {
                entries.extend_from_slice(before);
                entries.extend_from_slice(after);
                masked.extend(own.iter().enumerate().map(|(k, &place)| Masked {
                    place,
                    members: all & !(1 << k),
                }));
            }
            Some(from) => {
                excluded.collect(members.clone(), from);
                let ids = from.ids();
                let with =
                    |place: u32| all & !excluded.members(members.start, place, ids[place as usize], from);
                for &place in before.iter().chain(after) {
                    match with(place) {
                        some if some == all => entries.push(place),
                        some => masked.push(Masked { place, members: some }),
                    }
                }
                masked.extend(own.iter().enumerate().map(|(k, &place)| Masked {
                    place,
                    members: with(place) & !(1 << k),
                }));
            }
        }
        block.starts[number + 1] = entries.len() as u32;
        block.masked_starts[number + 1] = masked.len() as u32;
    }
    refill(&mut block.entries, entries);
    block.masked.clear();
    block.masked.extend_from_slice(masked);
}
