//! The inner loops of spreading and gathering, for every instruction set.
//!
//! Weights are found for a vector of charges at a time; then each charge works on rows of eight values along z.

#![allow(unsafe_code)]

use super::MeshReal;
use super::spread::Spot;
use crate::expr::Vec3;
use crate::forces::electrostatics::MeshPlan;
use crate::forces::pme::{MOST_POINTS, Weights};
use crate::simd::{Array, Eight, InstructionSet, Lanes, Plain};
#[cfg(target_arch = "x86_64")]
use crate::simd::{EightDoubles, EightSingles, F32x8, F32x16, F64x4, F64x8};

/// Planes that a thread writes to: those of a slab, and those that follow.
pub(super) struct Slab<'a, T> {
    /// The number of the first plane.
    pub(super) first: usize,
    /// The planes of the slab.
    pub(super) own: &'a mut [T],
    /// The planes of the next one; none if the slab is the whole mesh, which begins again where it ends.
    pub(super) next: &'a mut [T],
    /// Places of a row.
    pub(super) pitch: usize,
    /// Places of a plane.
    pub(super) plane: usize,
}

impl<T> Slab<'_, T> {
    /// The plane so many after the first.
    #[inline(always)]
    fn plane(&mut self, number: usize) -> &mut [T] {
        let begin = number * self.plane;
        if begin < self.own.len() {
            &mut self.own[begin..begin + self.plane]
        } else if self.next.is_empty() {
            let begin = begin % self.own.len();
            &mut self.own[begin..begin + self.plane]
        } else {
            let begin = begin - self.own.len();
            &mut self.next[begin..begin + self.plane]
        }
    }
}

/// Where a mesh lies in space.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axes {
    /// What fractional coordinates along periodic axes are found with, and numbers of points along open ones.
    pub(super) vectors: [Vec3<f64>; 3],
    /// The number of the first point along open axes.
    pub(super) first: [Option<i32>; 3],
}

/// Finds where charges are on the mesh.
type Place<T> = unsafe fn(&MeshPlan, &Axes, &[Vec3<f64>], &[f64], &mut [Spot<T>]);
/// Adds those of the charges that are listed to the planes of a slab.
type Spread<T> = unsafe fn(&MeshPlan, &[Spot<T>], &[u32], &mut Slab<T>);
/// The derivatives of the potential by the coordinates in units of the mesh, at every charge.
type Gather<T> = unsafe fn(&MeshPlan, &[Spot<T>], &[T], usize, &mut [Vec3<f64>]);

/// The loops for one instruction set.
///
/// Each may be called only on a processor that has it.
#[derive(Clone, Copy)]
pub struct Entries<T> {
    pub(super) place: Place<T>,
    pub(super) spread: Spread<T>,
    pub(super) gather: Gather<T>,
}

/// The widest vector of weights.
const WIDEST: usize = 16;

#[inline(always)]
fn place<T: MeshReal>(
    plan: &MeshPlan,
    axes: &Axes,
    positions: &[Vec3<f64>],
    charges: &[f64],
    spots: &mut [Spot<T>],
) {
    let MeshPlan { size, basis, .. } = *plan;
    for ((spot, &r), &q) in spots.iter_mut().zip(positions).zip(charges) {
        for (axis, &points) in size.iter().enumerate() {
            let s = axes.vectors[axis].dot(r);
            let (u, first) = match axes.first[axis] {
                None => ((s - s.floor()) * points as f64, 0),
                Some(first) => (s, first),
            };
            let below = u.floor();
            let mut point = below as i32 + basis.first() - first;
            // Rounding may lead to the end of the cell, which is its beginning.
            if !(0..points as i32).contains(&point) {
                point = point.rem_euclid(points as i32);
            }
            spot.first[axis] = point as u32;
            spot.rest[axis] = T::of(u - below);
        }
        spot.charge = T::of(q);
    }
}

/// Weights of a vector of charges: by axis, then point, then charge.
struct Stencils<T> {
    values: [[[T; WIDEST]; MOST_POINTS]; 3],
    derivatives: [[[T; WIDEST]; MOST_POINTS]; 3],
}

impl<T: MeshReal> Stencils<T> {
    fn new() -> Self {
        let none = [[[T::of(0.0); WIDEST]; MOST_POINTS]; 3];
        Self {
            values: none,
            derivatives: none,
        }
    }

    /// Finds the weights of at most a vector of charges.
    #[inline(always)]
    fn find<'a, L: Lanes<Element = T>>(
        &mut self,
        plan: &MeshPlan,
        spots: impl Iterator<Item = &'a Spot<T>>,
        derivatives: bool,
    ) {
        let mut rest = [[T::of(0.0); WIDEST]; 3];
        for (k, spot) in spots.take(L::WIDTH).enumerate() {
            for (rest, &of_spot) in rest.iter_mut().zip(&spot.rest) {
                rest[k] = of_spot;
            }
        }
        for (axis, rest) in rest.iter().enumerate() {
            let found: Weights<L> = plan.basis.weights(L::load(rest));
            for j in 0..plan.basis.points() {
                found.values[j].store(&mut self.values[axis][j]);
                if derivatives {
                    found.derivatives[j].store(&mut self.derivatives[axis][j]);
                }
            }
        }
    }
}

/// The weights of one charge along an axis.
#[inline(always)]
fn of_charge<T: MeshReal>(weights: &[[T; WIDEST]; MOST_POINTS], k: usize) -> [T; MOST_POINTS] {
    std::array::from_fn(|j| weights[j][k])
}

/// Where the rows that a charge touches begin in a plane, or the planes in a mesh: `step` apart, with periodic wrap.
#[inline(always)]
fn begins(first: u32, count: usize, end: usize, step: usize) -> [usize; MOST_POINTS] {
    let mut places = [0; MOST_POINTS];
    let mut at = first as usize;
    for place in places.iter_mut().take(count) {
        *place = at * step;
        at += 1;
        if at == end {
            at = 0;
        }
    }
    places
}

/// How many points a charge touches along an axis, which is `N` where that is known when this is compiled: then loops over
/// them are written out.
#[inline(always)]
fn points_of<const N: usize>(plan: &MeshPlan) -> usize {
    if N > 0 { N } else { plan.basis.points() }
}

#[inline(always)]
fn spread_over<const N: usize, T: MeshReal, L: Lanes<Element = T>, E: Eight<T>>(
    plan: &MeshPlan,
    spots: &[Spot<T>],
    which: &[u32],
    slab: &mut Slab<T>,
) {
    let (points, pitch) = (points_of::<N>(plan), slab.pitch);
    let zero = E::splat(T::of(0.0));
    let mut stencils = Stencils::new();
    for which in which.chunks(L::WIDTH) {
        let spots = || which.iter().map(|&i| &spots[i as usize]);
        stencils.find::<L>(plan, spots(), false);
        for (k, spot) in spots().enumerate() {
            let [x, y, z] = &stencils.values;
            let z = E::read(&of_charge(z, k));
            let rows = begins(spot.first[1], points, plan.size[1], pitch);
            for (i, x) in x.iter().enumerate().take(points) {
                let share = E::splat(x[k] * spot.charge).mul_add(z, zero);
                let plane = slab.plane(spot.first[0] as usize - slab.first + i);
                for (y, row) in y.iter().zip(rows).take(points) {
                    let begin = row + spot.first[2] as usize;
                    if let Some(to) = plane[begin..].first_chunk_mut() {
                        E::splat(y[k]).mul_add(share, E::read(to)).write(to);
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn gather_from<const N: usize, T: MeshReal, L: Lanes<Element = T>, E: Eight<T>>(
    plan: &MeshPlan,
    spots: &[Spot<T>],
    values: &[T],
    pitch: usize,
    derivatives: &mut [Vec3<f64>],
) {
    let (points, [along_x, along_y, _]) = (points_of::<N>(plan), plan.size);
    let zero = E::splat(T::of(0.0));
    let mut stencils = Stencils::new();
    for (spots, derivatives) in spots.chunks(L::WIDTH).zip(derivatives.chunks_mut(L::WIDTH)) {
        stencils.find::<L>(plan, spots.iter(), true);
        for (k, (spot, derivative)) in spots.iter().zip(derivatives).enumerate() {
            let ([x, y, z], [dx, dy, dz]) = (&stencils.values, &stencils.derivatives);
            // Sums over x and y for every place along z: with the derivatives along x, along y, and with neither.
            let (mut across, mut up, mut plain) = (zero, zero, zero);
            let planes = begins(spot.first[0], points, along_x, along_y * pitch);
            let rows = begins(spot.first[1], points, along_y, pitch);
            for ((x, dx), plane) in x.iter().zip(dx).zip(planes).take(points) {
                let (mut flat, mut steep) = (zero, zero);
                for ((y, dy), row) in y.iter().zip(dy).zip(rows).take(points) {
                    let begin = plane + row + spot.first[2] as usize;
                    if let Some(values) = values[begin..].first_chunk() {
                        let values = E::read(values);
                        flat = E::splat(y[k]).mul_add(values, flat);
                        steep = E::splat(dy[k]).mul_add(values, steep);
                    }
                }
                across = E::splat(dx[k]).mul_add(flat, across);
                up = E::splat(x[k]).mul_add(steep, up);
                plain = E::splat(x[k]).mul_add(flat, plain);
            }
            let (z, dz) = (E::read(&of_charge(z, k)), E::read(&of_charge(dz, k)));
            *derivative = Vec3::new(
                across.sum_of_products(z).into(),
                up.sum_of_products(z).into(),
                plain.sum_of_products(dz).into(),
            );
        }
    }
}

#[inline(always)]
fn spread<T: MeshReal, L: Lanes<Element = T>, E: Eight<T>>(
    plan: &MeshPlan,
    spots: &[Spot<T>],
    which: &[u32],
    slab: &mut Slab<T>,
) {
    match plan.basis.points() {
        4 => spread_over::<4, T, L, E>(plan, spots, which, slab),
        5 => spread_over::<5, T, L, E>(plan, spots, which, slab),
        _ => spread_over::<0, T, L, E>(plan, spots, which, slab),
    }
}

#[inline(always)]
fn gather<T: MeshReal, L: Lanes<Element = T>, E: Eight<T>>(
    plan: &MeshPlan,
    spots: &[Spot<T>],
    values: &[T],
    pitch: usize,
    derivatives: &mut [Vec3<f64>],
) {
    match plan.basis.points() {
        4 => gather_from::<4, T, L, E>(plan, spots, values, pitch, derivatives),
        5 => gather_from::<5, T, L, E>(plan, spots, values, pitch, derivatives),
        _ => gather_from::<0, T, L, E>(plan, spots, values, pitch, derivatives),
    }
}

macro_rules! entries {
    ($name:ident, $features:literal, $element:ty, $lanes:ty, $eight:ty) => {
        #[cfg(target_arch = "x86_64")]
        mod $name {
            use super::*;

            #[target_feature(enable = $features)]
            unsafe fn place(
                plan: &MeshPlan,
                axes: &Axes,
                positions: &[Vec3<f64>],
                charges: &[f64],
                spots: &mut [Spot<$element>],
            ) {
                super::place(plan, axes, positions, charges, spots);
            }
            #[target_feature(enable = $features)]
            unsafe fn spread(
                plan: &MeshPlan,
                spots: &[Spot<$element>],
                which: &[u32],
                slab: &mut Slab<$element>,
            ) {
                super::spread::<$element, $lanes, $eight>(plan, spots, which, slab);
            }
            #[target_feature(enable = $features)]
            unsafe fn gather(
                plan: &MeshPlan,
                spots: &[Spot<$element>],
                values: &[$element],
                pitch: usize,
                derivatives: &mut [Vec3<f64>],
            ) {
                super::gather::<$element, $lanes, $eight>(plan, spots, values, pitch, derivatives);
            }
            pub(super) const ALL: Entries<$element> = Entries {
                place,
                spread,
                gather,
            };
        }
    };
}
entries!(
    single512,
    "avx512f,avx512dq,avx512vl,avx2,fma",
    f32,
    F32x16,
    EightSingles
);
entries!(
    double512,
    "avx512f,avx512dq,avx512vl,avx2,fma",
    f64,
    F64x8,
    EightDoubles
);
entries!(single256, "avx2,fma", f32, F32x8, EightSingles);
entries!(double256, "avx2,fma", f64, F64x4, Plain<f64>);

macro_rules! of_set {
    ($name:ident, $element:ty, $lanes:ty, $avx512:ident, $avx2:ident) => {
        /// The loops of a set, which this processor must have.
        pub(super) fn $name(set: InstructionSet) -> Entries<$element> {
            match set {
                #[cfg(target_arch = "x86_64")]
                InstructionSet::Avx512 => $avx512::ALL,
                #[cfg(target_arch = "x86_64")]
                InstructionSet::Avx2 => $avx2::ALL,
                _ => Entries {
                    place: place::<$element>,
                    spread: spread::<$element, $lanes, Plain<$element>>,
                    gather: gather::<$element, $lanes, Plain<$element>>,
                },
            }
        }
    };
}
of_set!(single, f32, Array<f32, 4>, single512, single256);
of_set!(double, f64, Array<f64, 2>, double512, double256);
