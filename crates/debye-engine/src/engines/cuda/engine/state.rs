//! [`State`]: what moves with the particles, as the host sees it.

use super::kernels::Control;
use super::layout::BLOCK;
use crate::engines::cuda::mesh::EMPTY_SLOT;
use crate::expr::{Quat, Vec3};

/// What moves with the particles, slot by slot.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) pos: Vec<u32>,
    pub(super) low: Vec<u32>,
    pub(super) velocities: Vec<f64>,
    pub(super) images: Vec<i32>,
    pub(super) ids: Vec<u32>,
    /// Orientations and angular momenta, and words of what others see of them; empty where nothing turns.
    pub(super) turns: Vec<f64>,
    pub(super) momenta: Vec<f64>,
    pub(super) facings: Vec<u32>,
}

impl State {
    /// Slots with a particle.
    pub(super) fn used(&self, control: &Control) -> Used<'_> {
        Used::new(control, &self.pos, &self.ids)
    }

    /// How the particle of a slot lies.
    pub(super) fn rotation(&self, slot: usize, slots: usize) -> Quat<f64> {
        rotation(&self.turns, slot, slots)
    }

    /// Where the particle of a slot is, as fractions of the region.
    pub(super) fn fractions(&self, slot: usize, slots: usize) -> [f64; 3] {
        std::array::from_fn(|k| part_of(self.pos[4 * slot + k], self.low[k * slots + slot]))
    }

    /// Puts it there.
    pub(super) fn put(&mut self, slot: usize, slots: usize, fractions: [f64; 3]) {
        for (k, s) in fractions.into_iter().enumerate() {
            let at = fraction(s);
            self.pos[4 * slot + k] = (at >> 32) as u32;
            self.low[k * slots + slot] = at as u32;
        }
    }

    /// The slot of every particle, in as many places as there are slots.
    pub(super) fn slot_of(&self) -> Vec<u32> {
        let mut slot_of = vec![0; self.ids.len()];
        // Slots behind those in use may hold what was there before: the first slot of a particle is where it is.
        for (slot, &id) in self.ids.iter().enumerate().rev() {
            if let Some(to) = slot_of.get_mut(id as usize) {
                *to = slot as u32;
            }
        }
        slot_of
    }

    /// The same in arrays of another number of slots.
    pub(super) fn moved(&self, old: usize, new: usize) -> Self {
        fn each<T: Copy>(from: &[T], parts: usize, old: usize, new: usize, nothing: T) -> Vec<T> {
            let mut to = vec![nothing; parts * new];
            let both = old.min(new);
            for part in 0..parts {
                to[part * new..part * new + both].copy_from_slice(&from[part * old..part * old + both]);
            }
            to
        }
        Self {
            pos: each(&self.pos, 1, 4 * old, 4 * new, EMPTY_SLOT),
            low: each(&self.low, 3, old, new, 0),
            velocities: each(&self.velocities, 3, old, new, 0.0),
            images: each(&self.images, 3, old, new, 0),
            ids: each(&self.ids, 1, old, new, EMPTY_SLOT),
            turns: each(&self.turns, self.turns.len() / old, old, new, 0.0),
            momenta: each(&self.momenta, self.momenta.len() / old, old, new, 0.0),
            facings: {
                let words = self.facings.len() / old;
                each(&self.facings, 1, words * old, words * new, 0)
            },
        }
    }
}

/// Slots with a particle.
#[derive(Clone, Copy)]
pub(super) struct Used<'a> {
    pos: &'a [u32],
    ids: &'a [u32],
}

impl<'a> Used<'a> {
    pub(super) fn new(control: &Control, pos: &'a [u32], ids: &'a [u32]) -> Self {
        let used = control.blocks as usize * BLOCK;
        Self {
            pos,
            ids: &ids[..used.min(ids.len())],
        }
    }

    /// Each of them, and which particle it has.
    pub(super) fn slots(self) -> impl Iterator<Item = (usize, usize)> {
        let all = self.ids.iter().map(|&id| id as usize).enumerate();
        all.filter(move |(slot, _)| self.pos[4 * slot + 3] != EMPTY_SLOT)
    }

    /// The kind of the particle of a slot.
    pub(super) fn kind(self, slot: usize) -> usize {
        self.pos[4 * slot + 3] as usize
    }
}

/// How the particle of a slot lies.
pub(super) fn rotation(turns: &[f64], slot: usize, slots: usize) -> Quat<f64> {
    let at = |k: usize| turns[k * slots + slot];
    Quat {
        w: at(0),
        v: Vec3::new(at(1), at(2), at(3)),
    }
}

/// A fraction of the cell from both halves of its 64 bits.
pub(super) fn part_of(upper: u32, lower: u32) -> f64 {
    (u64::from(upper) << 32 | u64::from(lower)) as f64 / 2.0_f64.powi(64)
}

/// A fraction of the cell as a 64-bit whole number.
pub(super) fn fraction(s: f64) -> u64 {
    let scaled = (s - s.floor()) * 2.0_f64.powi(64);
    // A fraction that rounds to one is the other face.
    if scaled >= 2.0_f64.powi(64) {
        0
    } else {
        scaled as u64
    }
}
