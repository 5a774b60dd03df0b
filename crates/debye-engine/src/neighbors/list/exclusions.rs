//! [`Excluded`]: pairs that are left out of a list.

use std::ops::Range;

use crate::simd::{Near, Search};

/// Pairs that are excluded from a list.
pub trait PairExclusions: Sync {
    /// The number of the particle at each place, its own or its owner's.
    fn ids(&self) -> &[u32];
    /// The numbers of those that particle `i` does not interact with, ascending.
    fn partners(&self, i: usize) -> &[u32];
    /// Whether this place of a partner is the one that particle `i` is bonded to, and not another image of it.
    fn is_bonded(&self, i: usize, place: u32) -> bool;
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
    pub(super) fn remove(
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
