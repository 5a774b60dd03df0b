//! [`Spots`]: charges in units of the mesh; spreading them over it and gathering forces from it.
//!
//! The mesh is cut into slabs of planes, at least as thick as a charge reaches. Charges are sorted by the slab of their
//! first plane, and touch that slab and the next. First all even slabs are worked on at the same time, then all odd ones:
//! no two threads write to one place, and every sum has the same order whatever their number.
#![allow(unsafe_code)]

use crate::parallel::{InParallel, Indexed};

use super::MeshReal;
use super::kernels::{Axes, Entries, Slab};
use super::planes::{PAD, Planes};
use crate::expr::Vec3;
use crate::forces::electrostatics::MeshPlan;
use crate::forces::pme::MOST_POINTS;
use crate::neighbors::CountingSort;
use crate::simd::InstructionSet;

/// Planes of a slab of a mesh that is open along x.
pub(super) const OPEN_SLAB: usize = 8;
/// Particles per block of parallel work and of ordered sums.
pub(super) const BLOCK: usize = 512;

/// A charge on the mesh.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot<T> {
    /// The first point it touches along each axis.
    pub(super) first: [u32; 3],
    /// Where it is between the mesh points below and above it.
    pub(super) rest: [T; 3],
    /// The charge.
    pub(super) charge: T,
}

/// All charges on the mesh.
pub(super) struct Spots<T: MeshReal> {
    plan: MeshPlan,
    entries: Entries<T>,
    /// Where each slab of planes begins, and the end.
    slabs: Vec<usize>,
    slab_of: Vec<u32>,
    spots: Vec<Spot<T>>,
    keys: Vec<u32>,
    sort: CountingSort,
}

/// Cuts planes into an even number of slabs no thinner than a charge reaches, or into one.
fn slabs(planes: usize, points: usize) -> Vec<usize> {
    cut_into((planes / (points - 1)) & !1, planes)
}

fn cut_into(number: usize, planes: usize) -> Vec<usize> {
    let number = if number == 0 { 1 } else { number };
    (0..=number).map(|s| s * planes / number).collect()
}

impl<T: MeshReal> Spots<T> {
    pub(super) fn new(plan: MeshPlan, set: InstructionSet) -> Self {
        Self::with_slabs(plan, slabs(plan.size[0], plan.basis.points()), set)
    }

    /// With slabs of [`OPEN_SLAB`] planes, for meshes that may grow by pairs of them without other sums.
    pub(super) fn open(plan: MeshPlan, set: InstructionSet) -> Self {
        Self::with_slabs(plan, cut_into(plan.size[0] / OPEN_SLAB, plan.size[0]), set)
    }

    fn with_slabs(plan: MeshPlan, slabs: Vec<usize>, set: InstructionSet) -> Self {
        let slab_of = (0..plan.size[0]).map(|x| slabs.partition_point(|&s| s <= x) as u32 - 1);
        Self {
            plan,
            entries: T::entries(set),
            slab_of: slab_of.collect(),
            slabs,
            spots: Vec::new(),
            keys: Vec::new(),
            sort: CountingSort::new(),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.spots.capacity() * size_of::<Spot<T>>() + self.keys.capacity() * 4
    }

    /// Takes positions, and sorts them by the first slab they touch.
    pub(super) fn place(&mut self, axes: &Axes, positions: &[Vec3<f64>], charges: &[f64]) {
        let nowhere = Spot {
            first: [0; 3],
            rest: [T::of(0.0); 3],
            charge: T::of(0.0),
        };
        self.spots.resize(positions.len(), nowhere);
        self.keys.resize(positions.len(), 0);
        let (plan, place, slab_of) = (&self.plan, self.entries.place, &self.slab_of);
        self.spots
            .par_chunks_mut(BLOCK)
            .zip(self.keys.par_chunks_mut(BLOCK))
            .zip(positions.par_chunks(BLOCK).zip(charges.par_chunks(BLOCK)))
            .for_each(|((spots, keys), (positions, charges))| {
                // SAFETY: the entries are those of a set that this processor has.
                unsafe { place(plan, axes, positions, charges, spots) };
                for (key, spot) in keys.iter_mut().zip(spots) {
                    *key = slab_of[spot.first[0] as usize];
                }
            });
        // Slabs are those of the mesh, so the sort cannot refuse them.
        if self.sort.sort(&self.keys, self.slabs.len() - 1).is_err() {
            debug_assert!(false, "a plane outside the mesh");
        }
    }

    /// Charges on the mesh.
    pub(super) fn spread(&self, planes: &mut Planes<T>) {
        let pitch = planes.pitch();
        let last = self.slabs.len() - 2;
        for odd in [false, true] {
            let mut tasks = self.tasks(planes, odd);
            tasks.par_iter_mut().with_max_len(1).for_each(|(number, slab)| {
                if !odd {
                    slab.own.fill(T::of(0.0));
                    slab.next.fill(T::of(0.0));
                }
                // SAFETY: the entries are those of a set that this processor has.
                unsafe { (self.entries.spread)(&self.plan, &self.spots, self.sort.bin(*number), slab) };
                if odd || last == 0 {
                    let rows = slab.own.chunks_exact_mut(pitch);
                    rows.chain(slab.next.chunks_exact_mut(pitch))
                        .for_each(|row| wrap(row, self.plan.size[2]));
                }
            });
        }
    }

    /// The even or the odd slabs with their numbers, each with the one that follows it.
    fn tasks<'a>(&self, planes: &'a mut Planes<T>, odd: bool) -> Vec<(usize, Slab<'a, T>)> {
        let (pitch, length) = (planes.pitch(), planes.plane_length());
        let mut rest = &mut planes.values[..];
        let mut slices = Vec::with_capacity(self.slabs.len());
        for ends in self.slabs.windows(2) {
            let (slice, others) = rest.split_at_mut((ends[1] - ends[0]) * length);
            slices.push((ends[0], slice));
            rest = others;
        }
        let number = slices.len();
        if odd {
            slices.rotate_left(1);
        }
        if number == 1 && odd {
            return Vec::new();
        }
        let mut tasks = Vec::with_capacity(number.div_ceil(2));
        let mut slices = slices.into_iter();
        while let Some((first, own)) = slices.next() {
            let next = slices.next().map(|s| s.1).unwrap_or_default();
            let slab = Slab {
                first,
                own,
                next,
                pitch,
                plane: length,
            };
            tasks.push((2 * tasks.len() + usize::from(odd), slab));
        }
        tasks
    }

    /// Sets the force on every particle; gives their sum.
    pub(super) fn gather(
        &self,
        planes: &Planes<T>,
        charges: &[f64],
        along: [Vec3<f64>; 3],
        forces: &mut [Vec3<f64>],
    ) -> Vec3<f64> {
        let (plan, gather) = (&self.plan, self.entries.gather);
        let (pitch, values) = (planes.pitch(), &planes.values[..]);
        let sums: Vec<Vec3<f64>> = forces
            .par_chunks_mut(BLOCK)
            .zip(self.spots.par_chunks(BLOCK))
            .zip(charges.par_chunks(BLOCK))
            .map(|((forces, spots), charges)| {
                // SAFETY: the entries are those of a set that this processor has.
                unsafe { gather(plan, spots, values, pitch, forces) };
                let mut sum = Vec3::zero();
                for (force, &q) in forces.iter_mut().zip(charges) {
                    let derivative = *force;
                    *force =
                        (along[0] * derivative.x + along[1] * derivative.y + along[2] * derivative.z) * q;
                    sum += *force;
                }
                sum
            })
            .collect();
        sums.into_iter().fold(Vec3::zero(), |total, part| total + part)
    }
}

/// What reached beyond the end of a row belongs to its beginning.
fn wrap<T: MeshReal>(row: &mut [T], along_z: usize) {
    for k in along_z..row.len() {
        let beyond = row[k];
        row[(k - along_z) % along_z] += beyond;
    }
}

const _: () = assert!(PAD >= MOST_POINTS && OPEN_SLAB >= MOST_POINTS - 1);
