//! [`BlockNeighbors`]: everybody near a block of a half list, and the numbers by which its rows name them.

use super::Candidates;
use crate::simd::{Near, Search};

/// Those around a block, and their numbers.
#[derive(Default)]
pub(super) struct BlockNeighbors {
    pub(super) places: Vec<u32>,
    /// A bit for every place: whether it is around.
    seen: Vec<u64>,
    /// Words of those bits that are not zero.
    words: Vec<u32>,
    /// The number of each place that is around.
    numbers: Vec<u32>,
}

impl BlockNeighbors {
    /// Makes room for so many places and the one out of reach.
    pub(super) fn begin(&mut self, places: usize) {
        self.seen.resize(places / 64 + 1, 0);
        self.numbers.resize(places + 1, 0);
    }

    /// Counts in the places that are near any member, and gives how many pairs these are.
    pub(super) fn take(&mut self, near: &Near) -> usize {
        // Those of one word mostly follow each other.
        let (mut word, mut bits, mut pairs) = (0, 0, 0);
        for (&place, &mask) in near.places.iter().zip(&near.masks) {
            if place / 64 != word {
                self.count_in(word, bits);
                (word, bits) = (place / 64, 0);
            }
            bits |= u64::from(mask != 0) << (place % 64);
            pairs += mask.count_ones();
        }
        self.count_in(word, bits);
        pairs as usize
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
    pub(super) fn number(&mut self, entries: &mut [u32], search: Search, c: &Candidates) -> usize {
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
