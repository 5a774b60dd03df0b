//! [`Interactions`]: all pair terms of a simulation in one precision, behind a pointer.
#![allow(unsafe_code)]

use rayon::prelude::*;

use super::pair::{PairColumns, PairJob, PairKernel, PairSums};
use super::simd::InstructionSet;
use super::space::{Sorted, Space, Store};
use crate::expr::Vec3;
use crate::forces::ForceField;
use crate::neighbors::BLOCK;
use crate::system::Cell;

/// Pair terms over a list of neighbours.
pub trait Interactions: Send {
    /// New lists.
    fn rebuild(&mut self, cell: &Cell, sorted: &Sorted, radius: f64);
    /// Positions that moved a little.
    fn update(&mut self, cell: &Cell, positions: &[Vec3<f64>]);
    /// Sets the forces; with `energy`, returns energy and virial by term.
    fn forces(&self, forces: &mut [Vec3<f64>], energy: bool) -> Vec<PairSums>;
    /// Entries of the lists, images, and bytes held.
    fn size(&self) -> ListSize;
}

/// How large the lists are.
#[derive(Clone, Copy, Debug, Default)]
pub struct ListSize {
    /// Entries of the lists, padding included.
    pub entries: usize,
    /// Images of particles.
    pub images: usize,
    /// Bytes held.
    pub bytes: usize,
}

struct Term<P: Store> {
    columns: PairColumns<P::Element>,
    table: crate::expr::Table,
    force: PairKernel<P::Coordinate, P::Element>,
    energy: PairKernel<P::Coordinate, P::Element>,
}

/// The pair terms in precision `P`.
pub struct Typed<P: Store> {
    space: Space<P>,
    terms: Vec<Term<P>>,
    coulomb: f64,
    set: InstructionSet,
}

impl<P: Store> Typed<P> {
    /// Kernels for the terms of a force field. A set this processor lacks is replaced by the best it has.
    pub fn new(field: &ForceField, set: InstructionSet) -> Self {
        let set = if InstructionSet::available().contains(&set) {
            set
        } else {
            InstructionSet::detect()
        };
        let terms = field
            .pairs
            .iter()
            .map(|term| {
                let columns = PairColumns::new(term, P::round);
                let uniform = columns.is_uniform();
                Term {
                    force: P::kernel(term, set, uniform, false),
                    energy: P::kernel(term, set, uniform, true),
                    table: term.table.clone(),
                    columns,
                }
            })
            .collect();
        Self {
            space: Space::new(set),
            terms,
            coulomb: field.coulomb_constant,
            set,
        }
    }

    fn block_forces(&self, number: usize, forces: &mut [Vec3<f64>], energy: bool, sums: &mut [PairSums]) {
        let block = &self.space.list.blocks()[number];
        for (term, sum) in self.terms.iter().zip(sums) {
            let job = PairJob {
                coordinates: &self.space.coordinates,
                species: &self.space.species,
                unit: self.space.unit,
                columns: &term.columns,
                table: &term.table,
                coulomb: self.coulomb,
            };
            let kernel = if energy { term.energy } else { term.force };
            // SAFETY: the set was checked in `new`; the list holds places of this space only, the
            // last of them being the one out of reach.
            *sum = unsafe { kernel(&job, block, forces) };
        }
    }
}

impl<P: Store> Interactions for Typed<P> {
    fn rebuild(&mut self, cell: &Cell, sorted: &Sorted, radius: f64) {
        self.space.rebuild(cell, sorted, radius, self.set);
    }

    fn update(&mut self, cell: &Cell, positions: &[Vec3<f64>]) {
        self.space.update(cell, positions);
    }

    fn forces(&self, forces: &mut [Vec3<f64>], energy: bool) -> Vec<PairSums> {
        let blocks: Vec<Vec<PairSums>> = forces
            .par_chunks_mut(BLOCK)
            .enumerate()
            .map(|(number, forces)| {
                forces.fill(Vec3::zero());
                let mut sums = vec![PairSums::default(); self.terms.len()];
                self.block_forces(number, forces, energy, &mut sums);
                sums
            })
            .collect();
        let mut total = vec![PairSums::default(); self.terms.len()];
        for block in &blocks {
            for (sum, part) in total.iter_mut().zip(block) {
                sum.add(part);
            }
        }
        total
    }

    fn size(&self) -> ListSize {
        ListSize {
            entries: self.space.list.entries(),
            images: self.space.image_count(),
            bytes: self.space.bytes(),
        }
    }
}
