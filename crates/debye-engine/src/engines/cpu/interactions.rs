//! [`Interactions`]: all pair terms of a simulation in one precision, behind a pointer.
#![allow(unsafe_code)]

use crate::parallel::{InParallel, Indexed};

use super::block_forces::{Around, BlockForces, Copies, OUT_OF_REACH};
use super::oriented::{Oriented, OrientedPrecision};
use super::rotation::Rotations;
use super::space::{Lists, Sorted, Space, Store};
use crate::expr::Vec3;
use crate::forces::ForceField;
use crate::neighbors::{ListBlock, MOST_GROUPS, block_of};
use crate::potentials::{Numbers, PairColumns, PairForces, PairJob, PairKernel, PairSums};
use crate::simd::InstructionSet;
use crate::system::Cell;
use crate::truncation::TruncationKind;

/// Pair terms over a list of neighbors.
pub trait Interactions: Send {
    /// New lists.
    fn rebuild(&mut self, cell: &Cell, sorted: &Sorted, radius: f64);
    /// Positions that moved a little, and orientations.
    fn update(&mut self, cell: &Cell, positions: &[Vec3<f64>], rotations: &Rotations);
    /// Sets the forces, and the torques where anything turns; with `energy`, returns energy and virial by term, pair terms
    /// first.
    fn forces(&mut self, forces: &mut [Vec3<f64>], torques: &mut [Vec3<f64>], energy: bool) -> Vec<PairSums>;
    /// Entries of the lists, images, and bytes held.
    fn size(&self) -> ListSize;
    /// Whether the atoms of a water are worth keeping together.
    fn keeps_waters(&self) -> bool;
    /// How many rows of full length the lists of so many particles are as large as.
    fn rows(&self, particles: usize) -> usize;
}

/// How large the lists are.
#[derive(Clone, Copy, Debug, Default)]
pub struct ListSize {
    /// Entries of the lists, padding included.
    pub entries: usize,
    /// Pairs within the radius when the lists were made, each counted twice.
    pub pairs: usize,
    /// Images of particles.
    pub images: usize,
    /// Bytes held.
    pub bytes: usize,
}

struct Term<P: Store> {
    columns: PairColumns<P::Element>,
    table: crate::expr::Table,
    truncation: TruncationKind,
    /// Without and with energies.
    kernels: [PairKernel<P::Coordinate, P::Element, ListBlock>; 2],
}

/// The pair terms in precision `P`.
pub struct Typed<P: Store> {
    space: Space<P>,
    block_forces: BlockForces<P>,
    terms: Vec<Term<P>>,
    couple: Option<Couple<P>>,
    oriented: Option<Oriented<P>>,
    coulomb: f64,
    set: InstructionSet,
    grouped: bool,
}

/// Two terms that are visited in one pass over the lists of particles.
struct Couple<P: Store> {
    terms: [usize; 2],
    kernels: [PairKernel<P::Coordinate, P::Element, ListBlock>; 2],
}

impl<P: Store> Couple<P> {
    /// The first two terms that have a kernel together.
    fn of(field: &ForceField, set: InstructionSet) -> Option<Self> {
        let terms = &field.pairs;
        let couples = (0..terms.len()).flat_map(|a| (0..terms.len()).map(move |b| [a, b]));
        couples.filter(|[a, b]| a != b).find_map(|[a, b]| {
            let kernel = |energy| P::kernel_of_both(&terms[a], &terms[b], set, energy);
            Some(Self {
                terms: [a, b],
                kernels: [kernel(false)?, kernel(true)?],
            })
        })
    }
}

impl<P: OrientedPrecision> Typed<P> {
    /// Kernels for the terms of a force field. A set this processor lacks is replaced by the best it has.
    pub fn new(field: &ForceField, set: InstructionSet) -> Self {
        let set = if InstructionSet::available().contains(&set) {
            set
        } else {
            InstructionSet::detect()
        };
        let columns: Vec<_> = field
            .pairs
            .iter()
            .map(|t| PairColumns::new(t, P::round))
            .collect();
        let many = columns.iter().any(|c| !c.is_uniform());
        let species = columns.iter().map(PairColumns::species).max().unwrap_or(1);
        let couple = Couple::of(field, set);
        // The padding of groups must not cost more than looking numbers up pair by pair. The kernel of two terms needs groups.
        let grouped = (many || couple.is_some()) && species <= MOST_GROUPS;
        let terms: Vec<Term<P>> = field
            .pairs
            .iter()
            .zip(columns)
            .map(|(term, columns)| {
                let uniform = columns.is_uniform();
                Term {
                    kernels: [false, true].map(|energy| P::kernel(term, set, uniform, energy)),
                    table: term.table.clone(),
                    truncation: term.truncation.kind(),
                    columns,
                }
            })
            .collect();
        // What an oriented term may take along: a term that is visited alone and whose numbers are alike for a vector.
        let coupled = couple
            .as_ref()
            .map_or([usize::MAX; 2], |couple: &Couple<P>| couple.terms);
        let alike = |t: &usize| grouped || terms[*t].columns.is_uniform();
        let free: Vec<usize> = (0..field.pairs.len())
            .filter(|t| !coupled.contains(t))
            .filter(alike)
            .collect();
        let oriented = Oriented::new(field, set, &free);
        let beside = usize::from(
            oriented
                .as_ref()
                .is_some_and(|oriented| oriented.beside().is_some()),
        );
        let lists = Lists {
            full: oriented.is_some(),
            half: terms.len() > beside,
        };
        Self {
            space: Space::new(set, if grouped { species } else { 1 }, lists),
            block_forces: BlockForces::default(),
            terms,
            couple,
            oriented,
            coulomb: field.coulomb_constant,
            set,
            grouped,
        }
    }

    fn numbers(&self, term: usize) -> Numbers<'_, P::Element> {
        Numbers {
            columns: &self.terms[term].columns,
            table: &self.terms[term].table,
            truncation: self.terms[term].truncation,
        }
    }

    /// The pair term that is visited with an oriented one.
    fn beside(&self) -> Option<usize> {
        self.oriented.as_ref().and_then(Oriented::beside)
    }

    /// Whether vectors of a list may be of several species.
    fn is_mixed(&self) -> bool {
        !self.grouped && self.terms.iter().any(|term| !term.columns.is_uniform())
    }

    /// Adds the forces of the pair terms of a block that no oriented term takes along.
    fn block_forces(
        &self,
        number: usize,
        copies: &mut Copies<P>,
        own: &mut [Vec3<f64>],
        around: Around<'_, P>,
        energy: bool,
        sums: &mut [PairSums],
    ) {
        around.forces.fill(Default::default());
        copies.take(&self.space, number, &around, self.is_mixed());
        let block = &self.space.halves.blocks()[number];
        // What the kernel of two terms, or of one twice, reads.
        let job = |terms: [usize; 2]| PairJob {
            own: &self.space.coordinates[block.particles()],
            species: &self.space.species[block.particles()],
            others: &copies.others,
            unit: self.space.unit,
            other_species: &copies.species,
            grouped: self.grouped,
            terms: terms.map(|t| self.numbers(t)),
            coulomb: self.coulomb,
            far2: P::round((OUT_OF_REACH * self.space.radius).powi(2)),
        };
        let given = around.forces;
        let mut coupled = [usize::MAX; 2];
        if let Some(couple) = &self.couple {
            coupled = couple.terms;
            let to = PairForces { own, others: given };
            // SAFETY: the set was checked in `new`; the list names those around the block, which were copied.
            let both = unsafe { couple.kernels[usize::from(energy)](&job(coupled), block, to) };
            for (term, sum) in coupled.into_iter().zip(both) {
                sums[term] = sum;
            }
        }
        let beside = self.beside();
        for t in (0..self.terms.len()).filter(|t| !coupled.contains(t) && Some(*t) != beside) {
            let kernel = self.terms[t].kernels[usize::from(energy)];
            let to = PairForces { own, others: given };
            // SAFETY: as above.
            let [sum, _] = unsafe { kernel(&job([t, t]), block, to) };
            sums[t] = sum;
        }
    }
}

impl<P: OrientedPrecision> Interactions for Typed<P> {
    fn rebuild(&mut self, cell: &Cell, sorted: &Sorted, radius: f64) {
        self.space.rebuild(cell, sorted, radius, self.set);
        self.block_forces.lay_out(&self.space);
        if let Some(oriented) = &mut self.oriented {
            oriented.rebuild(sorted);
            oriented.update(&self.space, sorted.rotations);
        }
    }

    fn update(&mut self, cell: &Cell, positions: &[Vec3<f64>], rotations: &Rotations) {
        self.space.update(cell, positions);
        if let Some(oriented) = &mut self.oriented {
            oriented.update(&self.space, rotations);
        }
    }

    fn forces(&mut self, forces: &mut [Vec3<f64>], torques: &mut [Vec3<f64>], energy: bool) -> Vec<PairSums> {
        let oriented = self.oriented.as_ref().map_or(0, Oriented::count);
        let terms = self.terms.len() + oriented;
        torques.fill(Vec3::zero());
        // Where nothing turns there are as many blocks of torques, all of them empty.
        let of_block = block_of(forces.len());
        let mut of_blocks: Vec<&mut [Vec3<f64>]> = torques.chunks_mut(of_block).collect();
        of_blocks.resize_with(forces.len().div_ceil(of_block), Default::default);
        let mut block_forces = std::mem::take(&mut self.block_forces);
        let this = &*self;
        let mut around: Vec<_> = block_forces
            .of_blocks(&this.space)
            .into_iter()
            .map(Some)
            .collect();
        around.resize_with(of_blocks.len(), || None);
        let blocks: Vec<Vec<PairSums>> = forces
            .par_chunks_mut(of_block)
            .zip(of_blocks)
            .zip(around)
            .enumerate()
            .map_init(
                Copies::default,
                |copies, (number, ((forces, torques), around))| {
                    forces.fill(Vec3::zero());
                    let mut sums = vec![PairSums::default(); terms];
                    let (of_pairs, of_oriented) = sums.split_at_mut(this.terms.len());
                    if let Some(around) = around {
                        this.block_forces(number, copies, forces, around, energy, of_pairs);
                    }
                    if let Some(oriented) = &this.oriented {
                        let beside = this.beside().map(|t| this.numbers(t));
                        let to = [forces, torques];
                        let sums = [of_pairs, of_oriented];
                        oriented.block_forces(&this.space, beside.as_ref(), number, to, energy, sums);
                    }
                    sums
                },
            )
            .collect();
        block_forces.add_up(self.space.unit, forces);
        self.block_forces = block_forces;
        let mut total = vec![PairSums::default(); terms];
        for block in &blocks {
            for (sum, part) in total.iter_mut().zip(block) {
                sum.add(part);
            }
        }
        total
    }

    fn size(&self) -> ListSize {
        let mut size = self.space.size();
        size.bytes += self.block_forces.bytes();
        size.bytes += self.oriented.as_ref().map_or(0, Oriented::bytes);
        size
    }

    fn keeps_waters(&self) -> bool {
        self.couple.is_some()
    }

    fn rows(&self, particles: usize) -> usize {
        let Lists { full, half } = self.space.lists();
        // A row that four share has their neighbors, less than twice as many as each has, and each pair is there once.
        particles * usize::from(full) + particles.div_ceil(4) * usize::from(half)
    }
}
