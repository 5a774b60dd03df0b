//! [`NeighborList`]: all pairs within the cut-off plus a buffer. A full list has a row for every particle. In a half list a
//! pair stands once, and a few particles that follow each other share a row: everybody near any of them.

use std::ops::Range;

use crate::parallel::{InParallel, Indexed};

use super::grid::Grid;
use super::images::Image;
use crate::simd::{Near, Search};

/// Particles per block: the unit of parallel work and of ordered sums.
pub const BLOCK: usize = 504;

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
    starts: [u32; MOST_GROUPS * BLOCK + 1],
    /// How many particles share the row that begins with each; 0 for those that share an earlier one.
    sharing: [u8; BLOCK],
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
            starts: [0; MOST_GROUPS * BLOCK + 1],
            sharing: [1; BLOCK],
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
                .for_each(|block| (block.entries, block.surroundings, block.masks) = Default::default());
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
    block.sharing = [1; BLOCK];
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
        block.pairs += near
            .masks
            .iter()
            .map(|mask| mask.count_ones() as usize)
            .sum::<usize>();
        if c.halves {
            surroundings.take(near);
            block.name_cuts(members.clone(), near, cuts);
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

/// Moves entries that some particles of a row do not interact with to the beginning, and adds the masks of the vectors that
/// they are in. `cuts` are the places and the particles, bit by bit. Returns how many vectors these are.
fn put_first(cuts: &[(u32, u32)], entries: &mut [u32], width: usize, masks: &mut Vec<[u16; SHARED]>) -> u16 {
    let (begin, mut first) = (masks.len(), 0);
    for &(place, particles) in cuts {
        // A place may be cut twice, and one that nobody of the row is near is not there.
        let Some(at) = entries.iter().position(|&entry| entry == place) else {
            continue;
        };
        let to = at.min(first);
        first = first.max(to + 1);
        entries.swap(at, to);
        if begin + to / width == masks.len() {
            masks.push([u16::MAX; SHARED]);
        }
        for (k, mask) in masks[begin + to / width].iter_mut().enumerate() {
            *mask &= !((particles as u16 >> k & 1) << (to % width));
        }
    }
    (masks.len() - begin) as u16
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
    /// Leaves a pair to the one that comes first; between an image of a particle and those that share its row, to the ones
    /// that see an image whose shift is positive in its first component that is not zero.
    fn keep_later(&self, members: Range<usize>, near: &mut Near, c: &Candidates) {
        let all = |end: usize| ((1_u64 << (end - members.start)) - 1) as u32;
        // Particles before the members are not among the places, and images come last.
        let images = near
            .places
            .partition_point(|&place| (place as usize) < c.particles);
        let (places, of_images) = near.places.split_at(images);
        let (masks, masks_of_images) = near.masks.split_at_mut(images);
        for (&place, mask) in places.iter().zip(masks) {
            if (place as usize) < members.end {
                *mask &= all(place as usize);
            }
        }
        for (&place, mask) in of_images.iter().zip(masks_of_images) {
            let image = &c.images[place as usize - c.particles];
            let owner = image.owner as usize;
            if owner < members.start {
                *mask = 0;
            } else if owner < members.end {
                let row = self.row_of(owner);
                *mask &= all(if image.shift < [0; 3] { row.start } else { row.end });
            }
        }
    }

    /// The particles that share the row of one.
    fn row_of(&self, particle: usize) -> Range<usize> {
        let offset = particle - self.first;
        let head = (0..=offset).rev().find(|&at| self.sharing[at] > 0).unwrap_or(0);
        self.first + head..self.first + head + usize::from(self.sharing[head])
    }

    /// The pairs that stand in the row of both: those from each member on are left out.
    fn cut_companions(&self, members: Range<usize>, near: &Near, cuts: &mut Vec<(u32, u32)>) {
        // The members are near themselves, and follow each other among the places found.
        let start = members.start;
        let own = near.places.iter().position(|&place| place as usize == start);
        for (member, at) in members.zip(own.unwrap_or(0)..) {
            let of = |end: usize| (1_u64 << (end - start)) - 1;
            let row = self.row_of(member);
            if member > row.start {
                cuts.push((at as u32, (of(row.end) & !of(member)) as u32));
            }
        }
    }

    /// Keeps the cuts between a place and a row that has it, and gives the place in place of its number among those near.
    fn name_cuts(&self, members: Range<usize>, near: &Near, cuts: &mut Vec<(u32, u32)>) {
        cuts.retain_mut(|(at, cut)| {
            let (place, mask) = (near.places[*at as usize], near.masks[*at as usize]);
            let row = self.row_of(members.start + cut.trailing_zeros() as usize);
            let of = |end: usize| (1_u64 << (end - members.start)) - 1;
            let row = (of(row.end) & !of(row.start)) as u32;
            *at = place;
            // What is cut from more than one row is kept for all.
            mask != 0 && (*cut & !row != 0 || mask & row != 0)
        });
    }

    /// Takes over who is kept together, and lets others share rows with those that follow them. What reaches beyond the block
    /// is taken apart.
    fn share(&mut self, sharing: &[u8]) {
        let particles = self.particles();
        let sharing = sharing.get(particles).unwrap_or(&[]);
        let mut offset = 0;
        // The block may begin within a row.
        while offset < self.count {
            let alike = sharing.get(offset).map_or(1, |&alike| usize::from(alike));
            let row = if alike > 1 && offset + alike <= self.count {
                alike
            } else {
                let alone = |&at: &usize| at < self.count && sharing.get(at).is_none_or(|&alike| alike <= 1);
                (offset..offset + SHARED).take_while(alone).count().max(1)
            };
            self.sharing[offset..offset + row].fill(0);
            self.sharing[offset] = row as u8;
            offset += row;
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

    /// Removes excluded pairs from what is near, and notes them among the cuts.
    fn remove(
        &mut self,
        first: usize,
        near: &mut Near,
        search: Search,
        from: &dyn PairExclusions,
        cuts: &mut Vec<(u32, u32)>,
    ) {
        if self.pairs.is_empty() {
            return;
        }
        let (ids, mut suspects) = (from.ids(), std::mem::take(&mut self.suspects));
        search.marked(&near.places, ids, &self.ends, &mut suspects);
        for &at in &suspects {
            let (place, mask) = (near.places[at as usize], &mut near.masks[at as usize]);
            if *mask != 0 {
                let excluded = self.members(first, place, ids[place as usize], from);
                *mask &= !excluded;
                if excluded != 0 {
                    cuts.push((at, excluded));
                }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_of_a_row_comes_first() {
        let (mut entries, mut masks) = ([10, 11, 12, 13, 14, 15, 16], vec![[7; SHARED]]);
        // Twice the same place, one that is not there, and more than a vector of them.
        let cuts = [
            (13, 0b0001),
            (99, 0b1111),
            (11, 0b0110),
            (13, 0b1000),
            (16, 0b0001),
        ];
        assert_eq!(put_first(&cuts, &mut entries, 2, &mut masks), 2);
        assert_eq!(entries, [13, 11, 16, 10, 14, 15, 12]);
        let all = u16::MAX;
        assert_eq!(
            masks[1..],
            [[all ^ 1, all ^ 2, all ^ 2, all ^ 1], [all ^ 1, all, all, all]]
        );
    }

    #[test]
    fn rows_are_shared_within_a_block() {
        let mut block = ListBlock {
            first: 2,
            count: 11,
            ..ListBlock::default()
        };
        // The block begins in the middle of a water, has two of its own and one that reaches beyond it.
        block.share(&[3, 0, 0, 3, 0, 0, 1, 3, 0, 0, 1, 1, 3, 0, 0]);
        let rows: Vec<_> = block.rows().map(|row| row.of).collect();
        assert_eq!(rows, [0..1, 1..4, 4..5, 5..8, 8..10, 10..11]);
        block.share(&[]);
        assert_eq!(
            block.rows().map(|row| row.of.len()).collect::<Vec<_>>(),
            [4, 4, 3]
        );
    }
}
