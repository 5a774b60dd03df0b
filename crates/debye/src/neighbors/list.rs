//! [`NeighborList`]: for every particle, all others within the cut-off plus a buffer.

use std::ops::Range;

use rayon::prelude::*;

use super::grid::Grid;
use crate::backend::cpu::simd::{Near, Search};

/// Particles per block: the unit of parallel work and of ordered sums.
pub const BLOCK: usize = 256;

/// The neighbours of a run of particles. Rows are padded to whole vectors with a place that is
/// out of everyone's reach.
#[derive(Clone, Debug)]
pub struct ListBlock {
    first: usize,
    count: usize,
    /// In place, so that nothing small lies between the entries of two blocks in memory.
    starts: [u32; BLOCK + 1],
    entries: Vec<u32>,
}

impl Default for ListBlock {
    fn default() -> Self {
        Self {
            first: 0,
            count: 0,
            starts: [0; BLOCK + 1],
            entries: Vec::new(),
        }
    }
}

impl ListBlock {
    /// The particles of this block.
    #[inline(always)]
    pub fn particles(&self) -> Range<usize> {
        self.first..self.first + self.count
    }

    /// The neighbours of the block's particle number `offset`.
    #[inline(always)]
    pub fn entries(&self, offset: usize) -> &[u32] {
        &self.entries[self.starts[offset] as usize..self.starts[offset + 1] as usize]
    }
}

/// Full lists: every pair stands in the list of both.
#[derive(Debug, Default)]
pub struct NeighborList {
    blocks: Vec<ListBlock>,
    radius: f32,
}

/// What a list is made from.
#[derive(Debug)]
pub struct Candidates<'a> {
    /// Cells over particles and images.
    pub grid: &'a Grid,
    /// Cell of each particle, ascending.
    pub cells: &'a [u32],
    /// Where each cell's particles begin.
    pub particle_starts: &'a [u32],
    /// Where each cell's images begin, counted from the first image.
    pub image_starts: &'a [u32],
    /// x, y and z of particles and then images, relative to the middle of the region.
    pub places: [&'a [f32]; 3],
    /// How many of the places are particles.
    pub particles: usize,
    /// Search radius.
    pub radius: f32,
    /// Lists are padded to a multiple of this.
    pub width: usize,
}

/// Which pairs a list leaves out.
pub trait LeaveOut: Sync {
    /// The number of the particle at a place, its own or its owner's.
    fn id(&self, place: u32) -> u32;
    /// The numbers of those that particle `i` does not interact with, ascending.
    fn partners(&self, i: usize) -> &[u32];
    /// Whether this place of a partner is the one that particle `i` is bonded to, and not another image of it.
    fn is_bonded(&self, i: usize, place: u32) -> bool;
}

impl NeighborList {
    /// Makes the lists anew, reusing memory.
    pub fn build(&mut self, candidates: &Candidates, search: Search, exclusions: Option<&dyn LeaveOut>) {
        self.blocks
            .resize_with(candidates.particles.div_ceil(BLOCK), ListBlock::default);
        // Longer lists need larger blocks: all memory goes back first, or the old blocks would leave
        // holes that none of the new ones fits into.
        if candidates.radius > self.radius {
            self.blocks
                .iter_mut()
                .for_each(|block| block.entries = Vec::new());
            self.radius = 1.01 * candidates.radius;
        }
        self.blocks
            .par_iter_mut()
            .enumerate()
            .for_each_init(Scratch::default, |scratch, (number, block)| {
                block.first = number * BLOCK;
                block.count = BLOCK.min(candidates.particles - block.first);
                fill(block, candidates, search, exclusions, scratch);
            });
    }

    /// The blocks, in the order of the particles.
    pub fn blocks(&self) -> &[ListBlock] {
        &self.blocks
    }

    /// Entries in all lists, padding included.
    pub fn entries(&self) -> usize {
        self.blocks.iter().map(|b| b.entries.len()).sum()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.blocks
            .iter()
            .map(|b| 4 * b.entries.capacity() + size_of::<ListBlock>())
            .sum()
    }
}

/// Memory of one thread that fills blocks.
#[derive(Default)]
struct Scratch {
    ranges: Vec<(u32, u32)>,
    runs: Vec<Range<usize>>,
    near: Near,
    entries: Vec<u32>,
}

fn fill(
    block: &mut ListBlock,
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
    } = scratch;
    let far = c.places[0].len() as u32;
    entries.clear();
    let particles = block.particles();
    // What is near any of a few particles that follow each other is found once for all of them.
    for start in particles.clone().step_by(search.members()) {
        let members = start..(start + search.members()).min(particles.end);
        c.grid.neighbours(&c.cells[members.clone()], ranges);
        candidate_runs(ranges, c, runs);
        search.cluster(c.places, runs, members.clone(), c.radius * c.radius, near);
        // The members are near themselves, and follow each other among the places found.
        let own = near.places.iter().position(|&place| place as usize == start);
        for (k, mask) in near.masks[own.unwrap_or(0)..]
            .iter_mut()
            .take(members.len())
            .enumerate()
        {
            *mask &= !(1 << k);
        }
        for (k, i) in members.enumerate() {
            let begin = entries.len();
            search.of_member(near, k, entries);
            if let Some(e) = exclusions.filter(|e| !e.partners(i).is_empty()) {
                let mut kept = begin;
                for at in begin..entries.len() {
                    let place = entries[at];
                    if e.partners(i).binary_search(&e.id(place)).is_err() || !e.is_bonded(i, place) {
                        entries[kept] = place;
                        kept += 1;
                    }
                }
                entries.truncate(kept);
            }
            entries.resize(begin + (entries.len() - begin).next_multiple_of(c.width), far);
            block.starts[i + 1 - particles.start] = entries.len() as u32;
        }
    }
    refill(&mut block.entries, entries);
}

/// Copies, with room for a radius one hundredth longer, and for chance.
pub(super) fn refill(to: &mut Vec<u32>, from: &[u32]) {
    to.clear();
    if to.capacity() < from.len() {
        *to = Vec::with_capacity(from.len() + from.len() / 20);
    }
    to.extend_from_slice(from);
}

/// Turns ranges of cells into runs of places, particles first, joining runs that touch.
pub(super) fn candidate_runs(ranges: &[(u32, u32)], c: &Candidates, runs: &mut Vec<Range<usize>>) {
    runs.clear();
    for (starts, base) in [(c.particle_starts, 0), (c.image_starts, c.particles)] {
        for &(first, end) in ranges {
            let run = base + starts[first as usize] as usize..base + starts[end as usize] as usize;
            match runs.last_mut() {
                Some(last) if last.end == run.start => last.end = run.end,
                _ if run.is_empty() => {}
                _ => runs.push(run),
            }
        }
    }
}
