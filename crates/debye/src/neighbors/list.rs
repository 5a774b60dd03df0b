//! [`NeighborList`]: for every particle, all others within the cut-off plus a buffer.

use std::ops::Range;

use rayon::prelude::*;

use super::grid::Grid;
use crate::backend::cpu::simd::Search;
use crate::expr::Vec3;

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

/// Says whether an entry of particle i's list (a place) is to be left out.
pub type LeaveOut<'a> = dyn Fn(u32, u32) -> bool + Sync + 'a;

impl NeighborList {
    /// Makes the lists anew, reusing memory. `excluded` names, for particles with exclusions,
    /// whether a place is an excluded partner.
    pub fn build(&mut self, candidates: &Candidates, search: Search, exclusions: Option<&LeaveOut>) {
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
        self.blocks.par_iter_mut().enumerate().for_each_init(
            || (Vec::new(), Vec::new()),
            |(ranges, scratch), (number, block)| {
                block.first = number * BLOCK;
                let end = (block.first + BLOCK).min(candidates.particles);
                fill(
                    block,
                    block.first..end,
                    candidates,
                    search,
                    exclusions,
                    ranges,
                    scratch,
                );
            },
        );
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

fn fill(
    block: &mut ListBlock,
    particles: Range<usize>,
    c: &Candidates,
    search: Search,
    exclusions: Option<&LeaveOut>,
    ranges: &mut Vec<(u32, u32)>,
    scratch: &mut Vec<u32>,
) {
    let far = c.places[0].len() as u32;
    let mut cell = u32::MAX;
    let mut runs: Vec<Range<usize>> = Vec::new();
    scratch.clear();
    block.count = particles.len();
    let first = particles.start;
    for i in particles {
        if c.cells[i] != cell {
            cell = c.cells[i];
            c.grid.neighbours(cell, ranges);
            candidate_runs(ranges, c, &mut runs);
        }
        let begin = scratch.len();
        let own = Vec3::new(c.places[0][i], c.places[1][i], c.places[2][i]);
        search.append(c.places, &runs, own, c.radius * c.radius, i as u32, scratch);
        if let Some(leave_out) = exclusions {
            let mut kept = begin;
            for at in begin..scratch.len() {
                if !leave_out(i as u32, scratch[at]) {
                    scratch[kept] = scratch[at];
                    kept += 1;
                }
            }
            scratch.truncate(kept);
        }
        scratch.resize(begin + (scratch.len() - begin).next_multiple_of(c.width), far);
        block.starts[i + 1 - first] = scratch.len() as u32;
    }
    block.entries.clear();
    if block.entries.capacity() < scratch.len() {
        // Room for a radius one hundredth longer, and for chance.
        block.entries = Vec::with_capacity(scratch.len() + scratch.len() / 20);
    }
    block.entries.extend_from_slice(scratch);
}

/// Turns ranges of cells into runs of places, particles first, joining runs that touch.
fn candidate_runs(ranges: &[(u32, u32)], c: &Candidates, runs: &mut Vec<Range<usize>>) {
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
