//! [`Interactions`]: all pair terms of a simulation in one precision, behind a pointer.
#![allow(unsafe_code)]

use rayon::prelude::*;

use super::pair::{Numbers, PairColumns, PairJob, PairKernel, PairSums};
use super::simd::InstructionSet;
use super::space::{List, Sorted, Space, Store};
use crate::backend::ListKind;
use crate::expr::Vec3;
use crate::forces::ForceField;
use crate::neighbors::{BLOCK, ClusterBlock, ListBlock, MOST_GROUPS};
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
    /// What the lists are lists of.
    fn kind(&self) -> ListKind;
    /// Whether there are kernels for particles that share a row.
    fn shares(&self) -> bool;
}

/// How large the lists are.
#[derive(Clone, Copy, Debug, Default)]
pub struct ListSize {
    /// Entries of the lists, padding included.
    pub entries: usize,
    /// Pairs that are listed, each counted twice: those within the radius when the lists were made, places that pad, and
    /// places that are near another particle of a row that is shared.
    pub pairs: usize,
    /// Images of particles.
    pub images: usize,
    /// Bytes held.
    pub bytes: usize,
}

struct Term<P: Store> {
    columns: PairColumns<P::Element>,
    table: crate::expr::Table,
    kernels: Kernels<P>,
}

/// Kernels without and with energies, for the kind of list there is.
enum Kernels<P: Store> {
    Particles([PairKernel<P::Coordinate, P::Element, ListBlock>; 2]),
    Clusters([PairKernel<P::Coordinate, P::Element, ClusterBlock>; 2]),
}

/// The pair terms in precision `P`.
pub struct Typed<P: Store> {
    space: Space<P>,
    terms: Vec<Term<P>>,
    couple: Option<Couple<P>>,
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

impl<P: Store> Typed<P> {
    /// Kernels for the terms of a force field. A set this processor lacks is replaced by the best it has.
    pub fn new(field: &ForceField, set: InstructionSet, kind: Option<ListKind>) -> Self {
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
        // The padding of groups must not cost more than looking numbers up pair by pair.
        let grouped = many && species <= MOST_GROUPS;
        // Clusters test three to six times as many pairs: only for pairs that are cheap, and dear to look up.
        let couple = Couple::of(field, set);
        let cheap = field.pairs.iter().all(|term| term.family.is_tuned());
        let dear = many && !grouped && couple.is_none();
        let kind = match kind {
            Some(ListKind::Clusters) if cheap => ListKind::Clusters,
            None if cheap && dear && P::CLUSTERS_FOR_MANY => ListKind::Clusters,
            _ => ListKind::Particles,
        };
        let terms = field
            .pairs
            .iter()
            .zip(columns)
            .map(|(term, columns)| {
                let uniform = columns.is_uniform();
                let clusters = |energy| P::cluster_kernel(term, set, uniform, energy);
                let kernels = match (kind, clusters(false), clusters(true)) {
                    (ListKind::Clusters, Some(force), Some(energy)) => Kernels::Clusters([force, energy]),
                    _ => {
                        Kernels::Particles([false, true].map(|energy| P::kernel(term, set, uniform, energy)))
                    }
                };
                Term {
                    kernels,
                    table: term.table.clone(),
                    columns,
                }
            })
            .collect();
        Self {
            space: Space::new(set, kind, if grouped { species } else { 1 }),
            terms,
            couple,
            coulomb: field.coulomb_constant,
            set,
            grouped,
        }
    }

    /// What the kernel of two terms, or of one twice, reads.
    fn job(&self, terms: [usize; 2]) -> PairJob<'_, P::Coordinate, P::Element> {
        PairJob {
            coordinates: &self.space.coordinates,
            species: &self.space.species,
            unit: self.space.unit,
            grouped: self.grouped,
            terms: terms.map(|t| Numbers {
                columns: &self.terms[t].columns,
                table: &self.terms[t].table,
            }),
            coulomb: self.coulomb,
        }
    }

    fn block_forces(&self, number: usize, forces: &mut [Vec3<f64>], energy: bool, sums: &mut [PairSums]) {
        let mut coupled = [usize::MAX; 2];
        if let (Some(couple), List::Particles(list)) = (&self.couple, &self.space.list) {
            coupled = couple.terms;
            let job = self.job(coupled);
            // SAFETY: the set was checked in `new`; the list holds places of this space only.
            let both = unsafe { couple.kernels[usize::from(energy)](&job, &list.blocks()[number], forces) };
            for (term, sum) in coupled.into_iter().zip(both) {
                sums[term] = sum;
            }
        }
        for t in (0..self.terms.len()).filter(|t| !coupled.contains(t)) {
            let job = self.job([t, t]);
            // SAFETY: the set was checked in `new`; the list holds places of this space only, and behind the
            // last of them there are places out of reach for the lanes of an incomplete cluster.
            let [sum, _] = match (&self.terms[t].kernels, &self.space.list) {
                (Kernels::Particles(kernels), List::Particles(list)) => unsafe {
                    kernels[usize::from(energy)](&job, &list.blocks()[number], forces)
                },
                (Kernels::Clusters(kernels), List::Clusters(list)) => unsafe {
                    kernels[usize::from(energy)](&job, &list.blocks()[number], forces)
                },
                // Both were made for the same kind.
                _ => Default::default(),
            };
            sums[t] = sum;
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
        self.space.size()
    }

    fn kind(&self) -> ListKind {
        match self.space.list {
            List::Particles(_) => ListKind::Particles,
            List::Clusters(_) => ListKind::Clusters,
        }
    }

    fn shares(&self) -> bool {
        self.couple.is_some() && self.kind() == ListKind::Particles
    }
}
