//! [`BlockForces`]: the forces that blocks of half lists add to those around them; [`Copies`]: what they read of them.

use std::ops::Range;

use crate::parallel::{InParallel, Indexed};

use super::space::{Space, Store};
use crate::expr::Vec3;
use crate::neighbors::ListBlock;

/// The distance of what is out of reach, in search radii.
pub const OUT_OF_REACH: f64 = 3.0;

/// Particles whose forces one thread adds up.
const STRETCH: usize = 1024;

/// Forces on those around every block, kept apart by block: no two threads write to one place, and the order of sums
/// does not depend on their number.
#[derive(Debug)]
pub struct BlockForces<P: Store> {
    forces: Vec<[P::Element; 4]>,
    /// The particle that each is added to, and by which shift its image is there.
    owners: Vec<u32>,
    shifts: Vec<u16>,
    /// What is added to every stretch of particles, in the order of the blocks.
    parts: Vec<Vec<Range<usize>>>,
}

impl<P: Store> Default for BlockForces<P> {
    fn default() -> Self {
        Self {
            forces: Vec::new(),
            owners: Vec::new(),
            shifts: Vec::new(),
            parts: Vec::new(),
        }
    }
}

/// Forces of a block: those around, and the place out of reach that pads its rows.
fn room(block: &ListBlock) -> usize {
    block.surroundings().len() + 1
}

/// A part for every block.
fn cut<'a, T>(mut all: &'a mut [T], blocks: &[ListBlock]) -> Vec<&'a mut [T]> {
    let parts = blocks.iter().map(|block| {
        let (part, rest) = std::mem::take(&mut all).split_at_mut(room(block));
        all = rest;
        part
    });
    parts.collect()
}

/// Runs of owners in one stretch each. They ascend among the first, which are particles, and among the others.
fn runs(owners: &[u32], particles: usize) -> Vec<Range<usize>> {
    let (particles, images) = owners.split_at(particles);
    let stretch = |owner: &u32| *owner as usize / STRETCH;
    let mut end = 0;
    [particles, images]
        .into_iter()
        .flat_map(|owners| owners.chunk_by(|a, b| stretch(a) == stretch(b)))
        .map(|run| {
            end += run.len();
            end - run.len()..end
        })
        .collect()
}

impl<P: Store> BlockForces<P> {
    /// Makes room for new lists.
    pub fn lay_out(&mut self, space: &Space<P>) {
        let blocks = space.halves.blocks();
        let all = blocks.iter().map(room).sum();
        self.forces.resize(all, Default::default());
        // The place out of reach has no owner.
        self.owners.clear();
        self.owners.resize(all, 0);
        self.shifts.clear();
        self.shifts.resize(all, 0);
        let of_blocks = cut(&mut self.owners, blocks);
        let runs: Vec<Vec<Range<usize>>> = blocks
            .par_iter()
            .zip(of_blocks)
            .zip(cut(&mut self.shifts, blocks))
            .map(|((block, owners), shifts)| {
                for ((owner, shift), &place) in owners.iter_mut().zip(shifts).zip(block.surroundings()) {
                    *owner = space.owner(place as usize) as u32;
                    *shift = space.shift(place as usize);
                }
                runs(
                    &owners[..block.surroundings().len()],
                    block.particles_in_surroundings(),
                )
            })
            .collect();
        self.parts.iter_mut().for_each(Vec::clear);
        self.parts
            .resize_with(space.particles().div_ceil(STRETCH), Vec::new);
        let mut begin = 0;
        for (block, runs) in blocks.iter().zip(runs) {
            for run in runs {
                let run = begin + run.start..begin + run.end;
                self.parts[self.owners[run.start] as usize / STRETCH].push(run);
            }
            begin += room(block);
        }
    }

    /// For each block its forces on those around it, whose particles and shifts come with them.
    pub fn of_blocks(&mut self, space: &Space<P>) -> Vec<Around<'_, P>> {
        let blocks = space.halves.blocks();
        let mut from = 0;
        let forces = cut(&mut self.forces, blocks);
        let around = blocks.iter().zip(forces).map(|(block, forces)| {
            let around = from..from + block.surroundings().len();
            from += room(block);
            Around {
                forces,
                owners: &self.owners[around.clone()],
                shifts: &self.shifts[around],
            }
        });
        around.collect()
    }

    /// Adds what every block gives to those around it.
    pub fn add_up(&self, unit: f64, forces: &mut [Vec3<f64>]) {
        let scale = -2.0 * unit;
        debug_assert!(self.parts.is_empty() || self.parts.len() == forces.len().div_ceil(STRETCH));
        let stretches = forces.par_chunks_mut(STRETCH).zip(&self.parts);
        stretches.for_each(|(to, parts)| {
            for part in parts {
                for (&owner, given) in self.owners[part.clone()].iter().zip(&self.forces[part.clone()]) {
                    let [x, y, z, _] = given.map(Into::<f64>::into);
                    to[owner as usize % STRETCH] += Vec3::new(x, y, z) * scale;
                }
            }
        });
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let parts: usize = self.parts.iter().map(Vec::capacity).sum();
        self.forces.capacity() * size_of::<[P::Element; 4]>()
            + self.owners.capacity() * 4
            + self.shifts.capacity() * 2
            + parts * size_of::<Range<usize>>()
    }
}

/// Those around a block, and the block's forces on them.
#[derive(Debug)]
pub struct Around<'a, P: Store> {
    /// The forces; one more than there are around.
    pub forces: &'a mut [[P::Element; 4]],
    owners: &'a [u32],
    shifts: &'a [u16],
}

/// Copies of those around a block, close together in memory.
#[derive(Debug)]
pub struct Copies<P: Store> {
    /// Those around, and one out of reach.
    pub others: Vec<[P::Coordinate; 4]>,
    /// Species of these, where vectors are of several.
    pub species: Vec<u32>,
}

impl<P: Store> Default for Copies<P> {
    fn default() -> Self {
        Self {
            others: Vec::new(),
            species: Vec::new(),
        }
    }
}

impl<P: Store> Copies<P> {
    /// Takes those around a block, and their species if they are `mixed`.
    pub fn take(&mut self, space: &Space<P>, number: usize, around: &Around<P>, mixed: bool) {
        let block = &space.halves.blocks()[number];
        let (owners, images) = around.owners.split_at(block.particles_in_surroundings());
        let shifts = &around.shifts[owners.len()..];
        let from = |&owner: &u32| space.coordinates[owner as usize];
        let image = |(owner, &shift)| P::shifted(from(owner), space.shifts[usize::from(shift)]);
        self.others.clear();
        self.others.reserve(around.forces.len());
        self.others.extend(owners.iter().map(from));
        self.others.extend(images.iter().zip(shifts).map(image));
        // Out of reach of all, and no farther than need be: see `PairJob::far2`.
        let beyond = P::store(Vec3::new(OUT_OF_REACH * space.radius, 0.0, 0.0), 1.0 / space.unit);
        let own = space.coordinates[block.particles()].iter();
        let last = own.max_by(|a, b| a[0].partial_cmp(&b[0]).unwrap_or(std::cmp::Ordering::Equal));
        self.others.extend(last.map(|&last| P::shifted(last, beyond)));
        self.species.clear();
        if mixed {
            let of = |&owner: &u32| space.species[owner as usize];
            self.species.extend(around.owners.iter().map(of).chain([0]));
        }
    }
}
