//! Terms of particles with orientations, over the lists of neighbors that the pair terms use.
//!
//! Every particle owns its force and its torque and visits all its neighbors, a vector of them at a time. Energies and
//! derivatives come from the tape of the potential, differentiated by a reverse sweep and interpreted line by line, or from
//! a formula by hand where there is one. A Lennard-Jones term may be taken along in the same visit: neighbors and distances
//! are looked up once for both.
#![allow(unsafe_code)]

mod visit;

use crate::parallel::{InParallel, Indexed};

use super::pair::{Double, PairPrecision, Single};
use super::rotation::Rotations;
use super::space::{Sorted, Space, Store};
use crate::expr::{Node, Table, Tape, Vec3};
use crate::forces::{ForceField, OrientedTerm, PairTerm};
use crate::neighbors::ListBlock;
use crate::potentials::{
    Axes, Dipoles, INVARIANTS, LennardJones, MAX_ORIENTED, Numbers, OrientedPotential, PairPotential,
    PairSums, Sticky,
};
use crate::simd::{Array, InstructionSet};
#[cfg(all(target_arch = "x86_64", not(test)))]
use crate::simd::{F32x8, F32x16, F64x4, F64x8};
use crate::truncation::{TRUNCATION_COEFFICIENTS, Truncation};
use visit::{ByHand, ByTape, Formula, Fused, FusedPair, NoPair, visit};

/// Particles per block of copying.
const BLOCK: usize = 4096;
/// Charges and dipoles of both particles.
const PROPERTIES: usize = 4;
/// Numbers of a row after its cut-off.
const ROW: usize = MAX_ORIENTED + TRUNCATION_COEFFICIENTS;

/// All oriented terms in one precision.
pub struct Oriented<P: Store> {
    terms: Vec<Term<P>>,
    /// The pair term that is visited with the first.
    beside: Option<usize>,
    /// The axis z of every place and its dipole, as numbers.
    z: Vec<[P::Coordinate; 4]>,
    /// The axis x of every place; empty where no term reads it.
    x: Vec<[P::Coordinate; 4]>,
}

/// A term as its kernel reads it.
pub struct Term<P: Store> {
    tape: Tape,
    table: Table,
    axes: Axes,
    electrostatic: bool,
    strength: f64,
    /// `columns[k][own * species + other]`: squared cut-off, coefficients, truncation.
    columns: Vec<Vec<P::Element>>,
    /// Which of the columns the tape reads.
    read: Vec<usize>,
    /// Whether a species interacts with none.
    idle: Vec<bool>,
    /// Whether nothing acts on a species: it interacts with none, or has neither charges nor dipoles where these count.
    inert: Vec<bool>,
    species: u32,
    /// Whether all pairs of species have the same numbers.
    uniform: bool,
    truncation: Truncation,
    /// Without and with energies.
    kernels: [Kernel<P>; 2],
}

/// What a kernel reads besides its term.
pub struct Scene<'a, P: Store> {
    coordinates: &'a [[P::Coordinate; 4]],
    z: &'a [[P::Coordinate; 4]],
    x: &'a [[P::Coordinate; 4]],
    species: &'a [u32],
    unit: f64,
    /// Whether lists are sorted by species.
    grouped: bool,
}

/// The numbers of a pair term, which a kernel takes along where it has code for it.
type Beside<'a, P> = Numbers<'a, <P as PairPrecision>::Element>;

/// Adds forces and torques of one block of a list; gives the sums of the term, and those of the pair term beside it.
///
/// # Safety
/// The processor must have the kernel's instruction set, and every entry of the block must be a place of the scene. A kernel
/// with a pair term beside it must be given the numbers of that term.
type Kernel<P> =
    unsafe fn(&Scene<P>, &Term<P>, Option<&Beside<P>>, &ListBlock, [&mut [Vec3<f64>]; 2]) -> [PairSums; 2];

/// The pair term that goes along with the first oriented one.
fn beside(field: &ForceField) -> Option<usize> {
    let first = field.oriented.first()?;
    let fits = |term: &PairTerm| term.family.name() == LennardJones::NAME;
    let place = field.pairs.iter().position(fits)?;
    matches!(Written::of(first), Written::Dipoles).then_some(place)
}

impl<P: OrientedPrecision> Oriented<P> {
    /// The terms of a force field; `None` where there are none.
    ///
    /// `pairs` are the pair terms that may go along with the first one.
    pub fn new(field: &ForceField, set: InstructionSet, pairs: &[usize]) -> Option<Self> {
        let beside = beside(field).filter(|place| pairs.contains(place));
        let term = |(number, term): (usize, &OrientedTerm)| {
            let along = number == 0 && beside.is_some();
            let kernels = [false, true].map(|energy| P::oriented_kernel(term, set, along, energy));
            Term::new(term, field.coulomb_constant, kernels)
        };
        (!field.oriented.is_empty()).then(|| Self {
            terms: field.oriented.iter().enumerate().map(term).collect(),
            beside,
            z: Vec::new(),
            x: Vec::new(),
        })
    }

    /// How many terms there are.
    pub fn count(&self) -> usize {
        self.terms.len()
    }

    /// Looks which species nothing acts on.
    pub fn rebuild(&mut self, sorted: &Sorted) {
        let rotors = &sorted.rotations.rotors;
        for term in &mut self.terms {
            term.inert.clone_from(&term.idle);
            if term.electrostatic {
                let mut charged = vec![false; term.inert.len()];
                for (i, &species) in sorted.species.iter().enumerate() {
                    let dipole = rotors.get(i).map_or(0.0, |rotor| rotor.dipole);
                    charged[species as usize] |= sorted.charges[i] != 0.0 || dipole != 0.0;
                }
                term.inert
                    .iter_mut()
                    .zip(charged)
                    .for_each(|(inert, charged)| *inert |= !charged);
            }
        }
    }

    /// Takes over the axes of all particles, for every place of the space.
    pub fn update(&mut self, space: &Space<P>, rotations: &Rotations) {
        let places = space.coordinates.len();
        let axis = |of: usize, unit: Vec3<f64>, last: f64| {
            let axis = rotations.turns.get(of).map_or(unit, |turn| turn.rotate(unit));
            [axis.x, axis.y, axis.z, last].map(P::number)
        };
        let all = self.terms.iter().any(|term| term.axes == Axes::All);
        let far = [1.0, 0.0, 0.0, 0.0].map(P::number);
        for (to, unit, wanted) in [
            (&mut self.z, Vec3::new(0.0, 0.0, 1.0), true),
            (&mut self.x, Vec3::new(1.0, 0.0, 0.0), all),
        ] {
            if wanted {
                to.clear();
                to.resize(places, far);
                let dipole = |i: usize| rotations.rotors.get(i).map_or(0.0, |rotor| rotor.dipole);
                to.par_iter_mut()
                    .zip(space.owners())
                    .with_min_len(BLOCK)
                    .for_each(|(to, of)| *to = axis(of, unit, dipole(of)));
            }
        }
    }

    /// The pair term that is visited with the first.
    pub fn beside(&self) -> Option<usize> {
        self.beside
    }

    /// Adds forces and torques of one block, of the pair term beside them too, whose `beside` must be given; with `energy`, gives
    /// energy and virial by term, the pair terms first.
    pub fn block_forces(
        &self,
        space: &Space<P>,
        beside: Option<&Beside<P>>,
        number: usize,
        [forces, torques]: [&mut [Vec3<f64>]; 2],
        energy: bool,
        [of_pairs, sums]: [&mut [PairSums]; 2],
    ) {
        let scene = Scene {
            coordinates: &space.coordinates,
            z: &self.z,
            x: &self.x,
            species: &space.species,
            unit: space.unit,
            grouped: space.is_grouped(),
        };
        for (k, (term, sum)) in self.terms.iter().zip(sums).enumerate() {
            let block = &space.list.blocks()[number];
            let beside = beside.filter(|_| k == 0);
            let kernel = term.kernels[usize::from(energy)];
            // SAFETY: the set was looked for when the terms were made; the list holds places of this space only.
            let [own, pair] = unsafe { kernel(&scene, term, beside, block, [forces, torques]) };
            *sum = own;
            if let (0, Some(place)) = (k, self.beside) {
                of_pairs[place] = pair;
            }
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        (self.z.capacity() + self.x.capacity()) * size_of::<[P::Coordinate; 4]>()
    }
}

impl<P: Store> Term<P> {
    fn new(term: &OrientedTerm, coulomb_constant: f64, kernels: [Kernel<P>; 2]) -> Self {
        let tape = term.family.tape(term.truncation);
        let species = (term.rows.len() as f64).sqrt().round() as u32;
        let column = |k: usize| {
            let value = |row: &Option<crate::forces::OrientedRow>| match (row, k) {
                (None, _) => 0.0,
                (Some(row), 0) => row.cutoff * row.cutoff,
                (Some(row), k) if k <= MAX_ORIENTED => row.coefficients[k - 1],
                (Some(row), k) => row.truncation[k - 1 - MAX_ORIENTED],
            };
            term.rows.iter().map(|row| P::round(value(row))).collect()
        };
        let first = INVARIANTS + PROPERTIES;
        let reads = |k: usize| tape.nodes().contains(&Node::Input((first + k) as u32));
        let rows = term.rows.chunks(species.max(1) as usize);
        Self {
            table: term.table.clone(),
            axes: term.family.axes(),
            electrostatic: term.family.is_electrostatic(),
            strength: term.strength(coulomb_constant),
            columns: (0..=ROW).map(column).collect(),
            read: (0..ROW).filter(|k| reads(*k)).collect(),
            inert: vec![false; species as usize],
            idle: rows.map(|row| row.iter().all(Option::is_none)).collect(),
            species,
            uniform: term.rows.windows(2).all(|pair| pair[0] == pair[1]),
            truncation: term.truncation,
            kernels,
            tape,
        }
    }
}

/// A precision with kernels of oriented terms.
pub trait OrientedPrecision: Store {
    /// The kernel of a term for an instruction set: with a Lennard-Jones term `along`, with energies.
    fn oriented_kernel(term: &OrientedTerm, set: InstructionSet, along: bool, energy: bool) -> Kernel<Self>
    where
        Self: Sized;
}

/// Formulas that kernels are built with; all others are tapes, for the build's sake.
enum Written {
    Dipoles,
    Sticky,
    Tape,
}

impl Written {
    fn of(term: &OrientedTerm) -> Self {
        match (term.family.name(), term.truncation) {
            (Dipoles::NAME, Truncation::Cut | Truncation::ForceShift | Truncation::Switch { .. }) => {
                Self::Dipoles
            }
            (Sticky::NAME, Truncation::Cut) => Self::Sticky,
            _ => Self::Tape,
        }
    }
}

/// A kernel for an instruction set.
macro_rules! entry {
    ($name:ident, $features:literal, $precision:ident, $lanes:ident, $portable:ty) => {
        #[cfg_attr(all(target_arch = "x86_64", not(test)), target_feature(enable = $features))]
        unsafe fn $name<F: Formula, B: FusedPair, const ENERGY: bool>(
            scene: &Scene<$precision>,
            term: &Term<$precision>,
            beside: Option<&Beside<$precision>>,
            block: &ListBlock,
            to: [&mut [Vec3<f64>]; 2],
        ) -> [PairSums; 2] {
            #[cfg(not(all(target_arch = "x86_64", not(test))))]
            type $lanes = $portable;
            // SAFETY: the caller's promise.
            unsafe { visit::<F, B, $precision, $lanes, ENERGY>(scene, term, beside, block, to) }
        }
    };
}
entry!(avx512_single, "avx512f,avx512dq,avx512vl,avx2,fma", Single, F32x16, Array<f32, 4>);
entry!(avx512_double, "avx512f,avx512dq,avx512vl,avx2,fma", Double, F64x8, Array<f64, 2>);
entry!(avx2_single, "avx2,fma", Single, F32x8, Array<f32, 4>);
entry!(avx2_double, "avx2,fma", Double, F64x4, Array<f64, 2>);

macro_rules! precision {
    ($name:ident, $avx512:ident, $avx2:ident, $portable:ty) => {
        impl OrientedPrecision for $name {
            fn oriented_kernel(
                term: &OrientedTerm,
                set: InstructionSet,
                along: bool,
                energy: bool,
            ) -> Kernel<Self> {
                use InstructionSet::{Avx2, Avx512, Portable};
                type Moments = ByHand<Dipoles>;
                type Pair = Fused<LennardJones>;
                type Stuck = ByHand<Sticky>;
                // Tapes, and what is rare, give energies whether they are wanted or not.
                match (set, Written::of(term), along, energy) {
                    (Avx512, Written::Dipoles, true, false) => $avx512::<Moments, Pair, false>,
                    (Avx512, Written::Dipoles, true, true) => $avx512::<Moments, Pair, true>,
                    (Avx512, Written::Dipoles, false, _) => $avx512::<Moments, NoPair, true>,
                    (Avx512, Written::Sticky, ..) => $avx512::<Stuck, NoPair, true>,
                    (Avx512, Written::Tape, ..) => $avx512::<ByTape, NoPair, true>,
                    (Avx2, Written::Dipoles, true, false) => $avx2::<Moments, Pair, false>,
                    (Avx2, Written::Dipoles, true, true) => $avx2::<Moments, Pair, true>,
                    (Avx2, Written::Dipoles, false, _) => $avx2::<Moments, NoPair, true>,
                    (Avx2, Written::Sticky, ..) => $avx2::<Stuck, NoPair, true>,
                    (Avx2, Written::Tape, ..) => $avx2::<ByTape, NoPair, true>,
                    (Portable, Written::Dipoles, true, _) => visit::<Moments, Pair, $name, $portable, true>,
                    (Portable, Written::Dipoles, false, _) => {
                        visit::<Moments, NoPair, $name, $portable, true>
                    }
                    (Portable, Written::Sticky, ..) => visit::<Stuck, NoPair, $name, $portable, true>,
                    (Portable, Written::Tape, ..) => visit::<ByTape, NoPair, $name, $portable, true>,
                }
            }
        }
    };
}
precision!(Single, avx512_single, avx2_single, Array<f32, 4>);
precision!(Double, avx512_double, avx2_double, Array<f64, 2>);
