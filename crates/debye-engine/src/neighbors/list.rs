//! [`NeighborList`]: all pairs within the cut-off plus a buffer. A full list has a row for every particle. In a half list a
//! pair stands once, and a few particles that follow each other share a row: everybody near any of them.

mod exclusions;
mod rows;
mod surroundings;

use std::ops::Range;

use crate::parallel::{InParallel, Indexed};

use super::grid::Grid;
use super::images::Image;
use crate::simd::{Near, Search};
use exclusions::Excluded;
pub use exclusions::PairExclusions;
use rows::put_first;
use surroundings::BlockNeighbors;

/// Particles of the largest block.
const LARGEST: usize = 504;

/// Particles per block of a system of so many: the unit of parallel work and of ordered sums. Larger ones have fewer
/// around them for each of their own; a small system must be enough of them for many threads.
pub fn block_of(particles: usize) -> usize {
    if particles < 8192 { LARGEST / 2 } else { LARGEST }
}

/// The most particles that share a row.
pub const SHARED: usize = 4;

/// The most groups that the neighbors of a particle are sorted into: every group is padded to whole vectors.
pub const MOST_GROUPS: usize = 8;

/// The neighbors of a run of particles. Rows are padded to whole vectors with a place that is
/// out of everyone's reach; where lists are grouped, so are the neighbors of each species.
#[derive(Clone, Debug)]
pub struct ListBlock {
    first: usize,
    count: usize,
    groups: usize,
    /// Where the groups of each row begin. In place, so that nothing small lies between the entries of two blocks in memory.
    starts: [u32; MOST_GROUPS * LARGEST + 1],
    /// How many particles share the row that begins with each; 0 for those that share an earlier one.
    sharing: [u8; LARGEST],
    /// Places, or where lists are halves their numbers among those around.
    entries: Vec<u32>,
    /// How many vectors at the beginning of each group have masks; empty where nothing is masked.
    masked: Vec<u16>,
    /// For each of these, in the order of the rows, which of its lanes every particle of the row interacts with.
    masks: Vec<[u16; SHARED]>,
    surroundings: Vec<u32>,
    particles_in_surroundings: usize,
    /// Pairs within the radius.
    pairs: usize,
}

impl Default for ListBlock {
    fn default() -> Self {
        Self {
            first: 0,
            count: 0,
            groups: 1,
            starts: [0; MOST_GROUPS * LARGEST + 1],
            sharing: [1; LARGEST],
            entries: Vec::new(),
            masked: Vec::new(),
            masks: Vec::new(),
            surroundings: Vec::new(),
            particles_in_surroundings: 0,
            pairs: 0,
        }
    }
}

impl ListBlock {
    /// The particles of this block.
    #[inline(always)]
    pub fn particles(&self) -> Range<usize> {
        self.first..self.first + self.count
    }

    /// The rows.
    #[inline(always)]
    pub fn rows(&self) -> impl Iterator<Item = ListRow<'_>> {
        let heads = (0..self.count).filter(|&offset| self.sharing[offset] > 0);
        heads.map(|offset| ListRow {
            of: offset..offset + usize::from(self.sharing[offset]),
            starts: &self.starts[offset * self.groups..=(offset + 1) * self.groups],
            masked: self.masked.get(offset * self.groups..(offset + 1) * self.groups),
            entries: &self.entries,
        })
    }

    /// The masks of the vectors that have some, in the order of the rows. A bit is set for every lane that a particle of the row
    /// interacts with.
    #[inline(always)]
    pub fn masks(&self) -> &[[u16; SHARED]] {
        &self.masks
    }

    /// Where lists are halves: the places that rows name by their numbers among these, particles in ascending order and then
    /// images by their owners. The number behind the last is out of everyone's reach.
    #[inline(always)]
    pub fn surroundings(&self) -> &[u32] {
        &self.surroundings
    }

    /// How many of those around are particles.
    pub fn particles_in_surroundings(&self) -> usize {
        self.particles_in_surroundings
    }
}

/// Who is near a few particles that share a row, or near one that has its own.
#[derive(Clone, Debug)]
pub struct ListRow<'a> {
    /// Which of the block's particles.
    pub of: Range<usize>,
    starts: &'a [u32],
    masked: Option<&'a [u16]>,
    entries: &'a [u32],
}

impl<'a> ListRow<'a> {
    /// Everybody.
    #[inline(always)]
    pub fn entries(&self) -> &'a [u32] {
        let end = self.starts[self.starts.len() - 1];
        &self.entries[self.starts[0] as usize..end as usize]
    }

    /// Those of every group.
    #[inline(always)]
    pub fn groups(&self) -> impl Iterator<Item = &'a [u32]> {
        let entries = self.entries;
        let ends = self.starts.windows(2);
        ends.map(move |ends| &entries[ends[0] as usize..ends[1] as usize])
    }

    /// How many vectors at the beginning of a group have masks.
    #[inline(always)]
    pub fn masked(&self, group: usize) -> usize {
        self.masked.map_or(0, |masked| usize::from(masked[group]))
    }
}

/// Which particles of half lists are kept together and share rows, in their order: how many share the one that begins with
/// each, 0 for those that share an earlier one. Empty if nobody is. Others share rows with whoever follows them.
pub type Sharing = Vec<u8>;

/// Every pair stands in the list of both, or of one of them.
#[derive(Debug, Default)]
pub struct NeighborList {
    blocks: Vec<ListBlock>,
    radius: f32,
    halves: bool,
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
    /// The images.
    pub images: &'a [Image],
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
    /// Species of each place.
    pub species: &'a [u32],
    /// Into how many groups, one for a species, the neighbors of a particle are sorted, at most [`MOST_GROUPS`]; 1 for one
    /// group of all.
    pub groups: usize,
    /// Which particles are kept together and share rows.
    pub sharing: &'a [u8],
    /// Whether a pair stands in the list of one of both only: of the one that comes first.
    pub halves: bool,
}

impl NeighborList {
    /// Makes the lists anew, reusing memory.
    pub fn build(
        &mut self,
        candidates: &Candidates,
        search: Search,
        exclusions: Option<&dyn PairExclusions>,
    ) {
        self.halves = candidates.halves;
        let of_block = block_of(candidates.particles);
        self.blocks
            .resize_with(candidates.particles.div_ceil(of_block), ListBlock::default);
        // Longer lists need larger blocks: all memory goes back first, or the old blocks would leave
        // holes that none of the new ones fits into.
        if candidates.radius > self.radius {
            self.blocks
                .iter_mut()
                .for_each(|block| (block.entries, block.surroundings, block.masks) = Default::default());
            self.radius = 1.01 * candidates.radius;
        }
        self.blocks
            .par_iter_mut()
            .enumerate()
            .for_each_init(Scratch::default, |scratch, (number, block)| {
                block.first = number * of_block;
                block.count = of_block.min(candidates.particles - block.first);
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

    /// Pairs of particles within the radius, each counted twice.
    pub fn pairs(&self) -> usize {
        let listed: usize = self.blocks.iter().map(|block| block.pairs).sum();
        listed * (1 + usize::from(self.halves))
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.blocks
            .iter()
            .map(|b| {
                let masks = 2 * (b.masked.capacity() + SHARED * b.masks.capacity());
                4 * (b.entries.capacity() + b.surroundings.capacity()) + masks + size_of::<ListBlock>()
            })
            .sum()
    }
}

/// Memory of one thread that fills blocks.
#[derive(Default)]
struct Scratch {
    ranges: Vec<(u32, u32)>,
    runs: Vec<Range<usize>>,
    near: Near,
    groups: Vec<Near>,
    excluded: Excluded,
    /// Places and the members that do not interact with them.
    cuts: Vec<(u32, u32)>,
    /// Those of one row and group.
    of_row: Vec<(u32, u32)>,
    entries: Vec<u32>,
    surroundings: BlockNeighbors,
}

fn fill(
    block: &mut ListBlock,
    c: &Candidates,
    search: Search,
    exclusions: Option<&dyn PairExclusions>,
    scratch: &mut Scratch,
) {
    let Scratch {
        ranges,
        runs,
        near,
        groups,
        excluded,
        cuts,
        of_row,
        entries,
        surroundings,
    } = scratch;
    let far = c.places[0].len() as u32;
    entries.clear();
    surroundings.places.clear();
    if c.halves {
        surroundings.begin(far as usize);
    }
    let particles = block.particles();
    block.groups = c.groups;
    block.pairs = 0;
    block.masked.clear();
    block.masks.clear();
    block.sharing = [1; LARGEST];
    if c.halves {
        block.share(c.sharing);
        block.masked.resize(block.count * c.groups, 0);
    }
    // What is near any of a few particles that follow each other is found once for all of them.
    let mut next = particles.start;
    while next < particles.end {
        let start = next;
        next = block.whole_rows(start, search.members());
        let members = start..next;
        c.grid.neighbors(&c.cells[members.clone()], ranges);
        candidate_runs(ranges, c, runs);
        if c.halves {
            drop_earlier(runs, start);
        }
        search.cluster(c.places, runs, members.clone(), c.radius * c.radius, near);
        cuts.clear();
        if c.halves {
            block.keep_later(members.clone(), near, c);
            block.cut_companions(members.clone(), near, cuts);
        } else {
            // The members are near themselves, and follow each other among the places found.
            let own = near.places.iter().position(|&place| place as usize == start);
            for (k, mask) in near.masks[own.unwrap_or(0)..]
                .iter_mut()
                .take(members.len())
                .enumerate()
            {
                *mask &= !(1 << k);
            }
        }
        if let Some(from) = exclusions {
            excluded.collect(members.clone(), from);
            excluded.remove(start, near, search, from, cuts);
        }
        if c.halves {
            block.pairs += surroundings.take(near);
            block.name_cuts(members.clone(), near, cuts);
        } else {
            let all = near.masks.iter().map(|mask| mask.count_ones() as usize);
            block.pairs += all.sum::<usize>();
        }
        if c.groups > 1 {
            groups.resize_with(c.groups, Near::default);
            search.by_group(near, c.species, groups);
        } else {
            groups.resize_with(1, Near::default);
            std::mem::swap(&mut groups[0], near);
        }
        for i in members {
            let offset = i - particles.start;
            let sharing = u32::from(block.sharing[offset]);
            let bits = ((1 << sharing) - 1) << (i - start);
            for (g, group) in groups.iter().enumerate() {
                if sharing > 0 {
                    let begin = entries.len();
                    search.of_members(group, bits, entries);
                    if c.halves {
                        let own = |&&(place, of): &&(u32, u32)| {
                            of & bits != 0 && (c.groups == 1 || c.species[place as usize] as usize == g)
                        };
                        of_row.clear();
                        of_row.extend(
                            cuts.iter()
                                .filter(own)
                                .map(|&(place, of)| (place, (of & bits) >> (i - start))),
                        );
                        block.masked[offset * c.groups + g] =
                            put_first(of_row, &mut entries[begin..], c.width, &mut block.masks);
                    }
                    entries.resize(begin + (entries.len() - begin).next_multiple_of(c.width), far);
                }
                block.starts[offset * c.groups + g + 1] = entries.len() as u32;
            }
        }
    }
    block.particles_in_surroundings = if c.halves {
        surroundings.number(entries, search, c)
    } else {
        0
    };
    refill(&mut block.surroundings, &surroundings.places);
    refill(&mut block.entries, entries);
}

/// Takes places before `first` out of runs.
fn drop_earlier(runs: &mut Vec<Range<usize>>, first: usize) {
    for run in runs.iter_mut() {
        run.start = run.start.max(first).min(run.end);
    }
    runs.retain(|run| !run.is_empty());
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
