//! Rows of half lists: who shares one, which of two particles has their pair, and which pairs are left out.

use std::ops::Range;

use super::{Candidates, ListBlock, SHARED};
use crate::simd::Near;

/// Moves entries that some particles of a row do not interact with to the beginning, and adds the masks of the vectors that
/// they are in. `cuts` are the places and the particles, bit by bit. Returns how many vectors these are.
pub(super) fn put_first(
    cuts: &[(u32, u32)],
    entries: &mut [u32],
    width: usize,
    masks: &mut Vec<[u16; SHARED]>,
) -> u16 {
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

impl ListBlock {
    /// Leaves a pair to the one that comes first; between an image of a particle and those that share its row, to the ones
    /// that see an image whose shift is positive in its first component that is not zero.
    pub(super) fn keep_later(&self, members: Range<usize>, near: &mut Near, c: &Candidates) {
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
    pub(super) fn cut_companions(&self, members: Range<usize>, near: &Near, cuts: &mut Vec<(u32, u32)>) {
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
    pub(super) fn name_cuts(&self, members: Range<usize>, near: &Near, cuts: &mut Vec<(u32, u32)>) {
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
    pub(super) fn share(&mut self, sharing: &[u8]) {
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
    pub(super) fn whole_rows(&self, start: usize, members: usize) -> usize {
        let end = self.particles().end.min(start + members);
        let whole = |&end: &usize| end == self.particles().end || self.sharing[end - self.first] > 0;
        (start + 1..=end).rev().find(whole).unwrap_or(end)
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
