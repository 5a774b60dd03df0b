//! [`BlockForces`]: what blocks of half lists read of those around them, and the forces they add to them.

use std::ops::Range;

use crate::parallel::{InParallel, Indexed};

use super::space::{Space, Store};
use crate::expr::Vec3;
use crate::neighbors::ListBlock;

/// Particles whose forces one thread adds up.
const STRETCH: usize = 1024;

/// Forces on those around every block, kept apart by block: no two threads write to one place, and the order of sums
/// does not depend on their number.
#[derive(Debug)]
pub struct BlockForces<P: Store> {
    forces: Vec<[P::Element; 4]>,
    /// The particle that each is added to.
    owners: Vec<u32>,
    /// What is added to every stretch of particles, in the order of the blocks.
    parts: Vec<Vec<Range<usize>>>,
}

impl<P: Store> Default for BlockForces<P> {
    fn default() -> Self {
        Self {
            forces: Vec::new(),
            owners: Vec::new(),
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
    /// Makes room for new lists. Full lists give nothing to others.
    pub fn lay_out(&mut self, space: &Space<P>) {
        if !space.has_halves() {
            return;
        }
        let blocks = space.list.blocks();
        let all = blocks.iter().map(room).sum();
        self.forces.resize(all, Default::default());
        // The place out of reach has no owner.
        self.owners.clear();
        self.owners.resize(all, 0);
        let of_blocks = cut(&mut self.owners, blocks);
        let runs: Vec<Vec<Range<usize>>> = blocks
            .par_iter()
            .zip(of_blocks)
            .map(|(block, owners)| {
                for (owner, &place) in owners.iter_mut().zip(block.surroundings()) {
                    *owner = space.owner(place as usize) as u32;
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

    /// The forces of each block on those around it; full lists have none.
    pub fn of_blocks(&mut self, space: &Space<P>) -> Vec<&mut [[P::Element; 4]]> {
        let blocks = space.list.blocks();
        if space.has_halves() {
            cut(&mut self.forces, blocks)
        } else {
            blocks.iter().map(|_| Default::default()).collect()
        }
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
            + parts * size_of::<Range<usize>>()
    }
}

/// Copies of those around a block, close together in memory.
#[derive(Debug)]
pub struct Copies<P: Store> {
    coordinates: Vec<[P::Coordinate; 4]>,
    species: Vec<u32>,
}

impl<P: Store> Default for Copies<P> {
    fn default() -> Self {
        Self {
            coordinates: Vec::new(),
            species: Vec::new(),
        }
    }
}

impl<P: Store> Copies<P> {
    /// Takes those around a block, and their species if they are `mixed`.
    pub fn take(&mut self, space: &Space<P>, number: usize, mixed: bool) -> (&[[P::Coordinate; 4]], &[u32]) {
        let surroundings = space.list.blocks()[number].surroundings();
        // Last is the place out of reach.
        let far = space.coordinates.len() - 1;
        let places = || surroundings.iter().map(|&place| place as usize).chain([far]);
        self.coordinates.clear();
        self.coordinates
            .extend(places().map(|place| space.coordinates[place]));
        self.species.clear();
        if mixed {
            self.species.extend(places().map(|place| space.species[place]));
        }
        (&self.coordinates, &self.species)
    }
}
