//! [`NeighborList`]: for every particle, all others within the cut-off plus a buffer. Particles that are always close to
//! each other, as those of a water, may share a row: everybody near any of them.

use std::ops::Range;

use crate::parallel::{InParallel, Indexed};

use super::grid::Grid;
use super::images::Image;
use crate::simd::{Near, Search};

/// Particles per block: the unit of parallel work and of ordered sums.
pub const BLOCK: usize = 256;

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
    starts: [u32; MOST_GROUPS * BLOCK + 1],
    /// How many particles share the row that begins with each; 0 for those that share an earlier one.
    sharing: [u8; BLOCK],
    /// Places, or where lists are halves their numbers among those around.
    entries: Vec<u32>,
    surroundings: Vec<u32>,
    particles_in_surroundings: usize,
}

impl Default for ListBlock {
    fn default() -> Self {
        Self {
            first: 0,
            count: 0,
            groups: 1,
            starts: [0; MOST_GROUPS * BLOCK + 1],
            sharing: [1; BLOCK],
            entries: Vec::new(),
            surroundings: Vec::new(),
            particles_in_surroundings: 0,
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
            entries: &self.entries,
        })
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

    /// Pairs of a particle and an entry of its row.
    fn pairs(&self) -> usize {
        self.rows().map(|row| row.of.len() * row.entries().len()).sum()
    }
}

/// Who is near a few particles that share a row, or near one that has its own.
#[derive(Clone, Debug)]
pub struct ListRow<'a> {
    /// Which of the block's particles.
    pub of: Range<usize>,
    starts: &'a [u32],
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
}

/// How many particles may share a row.
pub const SHARED: usize = 3;

/// Which particles share rows, in their order: how many share the one that begins with each, 0 for those that share an earlier
/// one. Empty if nobody shares.
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
    /// Which particles share rows; where rows are shared, those that share must be left out of the same pairs.
    pub sharing: &'a [u8],
    /// Whether a pair stands in the list of one of both only: of the one that comes first.
    pub halves: bool,
}

/// Pairs that are excluded from a list.
pub trait PairExclusions: Sync {
    /// The number of the particle at each place, its own or its owner's.
    fn ids(&self) -> &[u32];
    /// The numbers of those that particle `i` does not interact with, ascending.
    fn partners(&self, i: usize) -> &[u32];
    /// Whether this place of a partner is the one that particle `i` is bonded to, and not another image of it.
    fn is_bonded(&self, i: usize, place: u32) -> bool;
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
        self.blocks
            .resize_with(candidates.particles.div_ceil(BLOCK), ListBlock::default);
        // Longer lists need larger blocks: all memory goes back first, or the old blocks would leave
        // holes that none of the new ones fits into.
        if candidates.radius > self.radius {
            self.blocks
                .iter_mut()
                .for_each(|block| (block.entries, block.surroundings) = Default::default());
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

    /// Pairs of particles in all lists, each counted twice, padding included.
    pub fn pairs(&self) -> usize {
        let listed: usize = self.blocks.iter().map(ListBlock::pairs).sum();
        listed * (1 + usize::from(self.halves))
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.blocks
            .iter()
            .map(|b| 4 * (b.entries.capacity() + b.surroundings.capacity()) + size_of::<ListBlock>())
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
    block.share(c.sharing);
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
        if c.halves {
            block.keep_later(members.clone(), near, c);
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
            excluded.remove(start, near, search, from);
        }
        if c.halves {
            surroundings.take(near);
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

/// Those around a block, and their numbers.
#[derive(Default)]
struct BlockNeighbors {
    places: Vec<u32>,
    /// A bit for every place: whether it is around.
    seen: Vec<u64>,
    /// Words of those bits that are not zero.
    words: Vec<u32>,
    /// The number of each place that is around.
    numbers: Vec<u32>,
}

impl BlockNeighbors {
    /// Makes room for so many places and the one out of reach.
    fn begin(&mut self, places: usize) {
        self.seen.resize(places / 64 + 1, 0);
        self.numbers.resize(places + 1, 0);
    }

    /// Counts in the places that are near any member.
    fn take(&mut self, near: &Near) {
        // Those of one word mostly follow each other.
        let (mut word, mut bits) = (0, 0);
        for (&place, &mask) in near.places.iter().zip(&near.masks) {
            if place / 64 != word {
                self.count_in(word, bits);
                (word, bits) = (place / 64, 0);
            }
            bits |= u64::from(mask != 0) << (place % 64);
        }
        self.count_in(word, bits);
    }

    #[inline(always)]
    fn count_in(&mut self, word: u32, bits: u64) {
        let seen = &mut self.seen[word as usize];
        if *seen == 0 && bits != 0 {
            self.words.push(word);
        }
        *seen |= bits;
    }

    /// Turns places into numbers, and gives how many of those around are particles.
    fn number(&mut self, entries: &mut [u32], search: Search, c: &Candidates) -> usize {
        let Self {
            places,
            seen,
            words,
            numbers,
        } = self;
        words.sort_unstable();
        for word in words.drain(..) {
            let bits = &mut seen[word as usize];
            while *bits != 0 {
                places.push(64 * word + bits.trailing_zeros());
                *bits &= *bits - 1;
            }
        }
        let particles = places.partition_point(|&place| (place as usize) < c.particles);
        places[particles..].sort_by_key(|&place| c.images[place as usize - c.particles].owner);
        for (number, &place) in (0..).zip(&*places) {
            numbers[place as usize] = number;
        }
        // The place out of reach.
        numbers[c.places[0].len()] = places.len() as u32;
        search.look_up(entries, numbers);
        particles
    }
}

impl ListBlock {
    /// Leaves a pair to the one whose row comes first; within a row, to the one that sees
    /// an image of the other whose shift is positive in its first component that is not zero.
    fn keep_later(&self, members: Range<usize>, near: &mut Near, c: &Candidates) {
        let all = |end: usize| ((1_u64 << (end - members.start)) - 1) as u32;
        // Members whose rows begin before that of another.
        let before = |member: usize| {
            let head = (0..=member - self.first).rev().find(|&at| self.sharing[at] > 0);
            let head = self.first + head.unwrap_or(0);
            all(head)
        };
        // Particles before the members are not among the places, and images come last.
        let images = near
            .places
            .partition_point(|&place| (place as usize) < c.particles);
        let (places, of_images) = near.places.split_at(images);
        let (masks, masks_of_images) = near.masks.split_at_mut(images);
        for (&place, mask) in places.iter().zip(masks) {
            if (place as usize) < members.end {
                *mask &= before(place as usize);
            }
        }
        for (&place, mask) in of_images.iter().zip(masks_of_images) {
            let image = &c.images[place as usize - c.particles];
            let owner = image.owner as usize;
            if owner < members.start {
                *mask = 0;
            } else if owner < members.end && image.shift < [0; 3] {
                *mask &= before(owner);
            } else if owner < members.end {
                let next = (owner + 1..members.end).find(|&k| self.sharing[k - self.first] > 0);
                *mask &= all(next.unwrap_or(members.end));
            }
        }
    }

    /// Takes over who shares rows. What reaches beyond the block is taken apart.
    fn share(&mut self, sharing: &[u8]) {
        self.sharing = [1; BLOCK];
        let Some(sharing) = sharing.get(self.particles()) else {
            return;
        };
        let mut offset = 0;
        // The block may begin within a row.
        while offset < sharing.len() {
            let alike = usize::from(sharing[offset]);
            if alike > 1 && offset + alike <= sharing.len() {
                self.sharing[offset..offset + alike].fill(0);
                self.sharing[offset] = alike as u8;
            }
            offset += alike.max(1);
        }
    }

    /// The end of the rows that begin with particle `start`, as many as have at most so many members together.
    fn whole_rows(&self, start: usize, members: usize) -> usize {
        let end = self.particles().end.min(start + members);
        let whole = |&end: &usize| end == self.particles().end || self.sharing[end - self.first] > 0;
        (start + 1..=end).rev().find(whole).unwrap_or(end)
    }
}

/// The excluded partners of a few particles that follow each other.
#[derive(Default)]
pub(super) struct Excluded {
    /// Number of the partner, and which member.
    pairs: Vec<(u32, u32)>,
    /// Bit n: a partner's number ends in n. Most places are told apart by it at once.
    ends: [u32; ENDS / 32],
    suspects: Vec<u32>,
}

/// Ends of numbers that are told apart.
const ENDS: usize = 1024;

impl Excluded {
    /// Looks up the partners of the members, at most 32.
    pub(super) fn collect(&mut self, members: Range<usize>, from: &dyn PairExclusions) {
        self.pairs.clear();
        self.ends = [0; ENDS / 32];
        for (member, i) in members.enumerate() {
            for &id in from.partners(i) {
                self.pairs.push((id, member as u32));
                self.ends[id as usize % ENDS / 32] |= 1 << (id % 32);
            }
        }
        self.pairs.sort_unstable();
    }

    /// The members that must not interact with a place, as bits.
    #[inline]
    pub(super) fn members(&self, first: usize, place: u32, id: u32, from: &dyn PairExclusions) -> u32 {
        if self.ends[id as usize % ENDS / 32] >> (id % 32) & 1 == 0 {
            return 0;
        }
        let begin = self.pairs.partition_point(|pair| pair.0 < id);
        self.pairs[begin..]
            .iter()
            .take_while(|pair| pair.0 == id)
            .filter(|pair| from.is_bonded(first + pair.1 as usize, place))
            .fold(0, |bits, pair| bits | 1 << pair.1)
    }

    /// Removes excluded pairs from what is near.
    fn remove(&mut self, first: usize, near: &mut Near, search: Search, from: &dyn PairExclusions) {
        if self.pairs.is_empty() {
            return;
        }
        let (ids, mut suspects) = (from.ids(), std::mem::take(&mut self.suspects));
        search.marked(&near.places, ids, &self.ends, &mut suspects);
        for &at in &suspects {
            let (place, mask) = (near.places[at as usize], &mut near.masks[at as usize]);
            if *mask != 0 {
                *mask &= !self.members(first, place, ids[place as usize], from);
            }
        }
        self.suspects = suspects;
    }
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
