//! [`Spots`]: charges in units of the mesh; spreading them over it and gathering forces from it.

use rayon::prelude::*;

use super::MeshReal;
use super::transform::{PAD, Transform};
use crate::expr::Vec3;
use crate::forces::electrostatics::MeshPlan;
use crate::forces::pme::{Basis, MOST_POINTS};
use crate::neighbors::CountingSort;

/// Particles per block of parallel work and of ordered sums.
pub(super) const BLOCK: usize = 2048;

/// A charge on the mesh.
#[derive(Clone, Copy, Debug)]
struct Spot<T> {
    /// The first point it touches along each axis.
    first: [u32; 3],
    /// Where it is between the mesh points below and above it.
    rest: [T; 3],
    /// Weights along the second axis, times the charge, and along the third.
    weights: [[T; MOST_POINTS]; 2],
    /// Weights along the first axis.
    across: [T; MOST_POINTS],
}

/// All charges on the mesh.
pub(super) struct Spots<T> {
    plan: MeshPlan,
    spots: Vec<Spot<T>>,
    planes: Vec<u32>,
    sort: CountingSort,
}

impl<T: MeshReal> Spots<T> {
    pub(super) fn new(plan: MeshPlan) -> Self {
        Self {
            plan,
            spots: Vec::new(),
            planes: Vec::new(),
            sort: CountingSort::new(),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.spots.capacity() * size_of::<Spot<T>>() + self.planes.capacity() * 4
    }

    /// Takes positions, and sorts them by the first plane they touch.
    pub(super) fn place(&mut self, vectors: &[Vec3<f64>; 3], positions: &[Vec3<f64>], charges: &[f64]) {
        let MeshPlan { size, basis, .. } = self.plan;
        let spot = |r: Vec3<f64>, q: f64| {
            let mut first = [0; 3];
            let mut rest = [T::of(0.0); 3];
            for axis in 0..3 {
                let s = vectors[axis].dot(r);
                let u = (s - s.floor()) * size[axis] as f64;
                let below = u.floor();
                // Rounding may lead to the end of the cell, which is its beginning.
                let point = below as i64 + i64::from(basis.first());
                first[axis] = point.rem_euclid(size[axis] as i64) as u32;
                rest[axis] = T::of(u - below);
            }
            let [x, y, z] = rest.map(|rest| basis.weights(rest).values);
            Spot {
                first,
                rest,
                weights: [y.map(|w| w * T::of(q)), z],
                across: x,
            }
        };
        self.spots.clear();
        positions
            .par_iter()
            .zip(charges)
            .with_min_len(BLOCK)
            .map(|(&r, &q)| spot(r, q))
            .collect_into_vec(&mut self.spots);
        self.planes.clear();
        self.planes.extend(self.spots.iter().map(|spot| spot.first[0]));
        // Planes are inside the mesh, so the sort cannot refuse them.
        if self.sort.sort(&self.planes, size[0]).is_err() {
            debug_assert!(false, "a plane outside the mesh");
        }
    }

    /// Charges on the mesh, plane by plane: each takes from all particles that touch it.
    pub(super) fn spread(&self, transform: &mut Transform<T>) {
        let [along_x, along_y, along_z] = self.plan.size;
        let points = self.plan.basis.points();
        let (order, starts) = (self.sort.order(), self.sort.starts());
        let pitch = transform.pitch();
        transform.planes_mut().enumerate().for_each(|(x, plane)| {
            plane.fill(T::of(0.0));
            for j in 0..points {
                let from = (x + along_x - j % along_x) % along_x;
                let of_plane = starts[from] as usize..starts[from + 1] as usize;
                for &number in &order[of_plane] {
                    self.spots[number as usize].add(j, points, plane, pitch, along_y);
                }
            }
            // What reached beyond the end of a row belongs to its beginning.
            for row in plane.chunks_exact_mut(pitch) {
                for k in along_z..pitch {
                    let beyond = row[k];
                    row[(k - along_z) % along_z] += beyond;
                }
            }
        });
    }

    /// Sets the force on every particle; gives their sum.
    pub(super) fn gather(
        &self,
        transform: &Transform<T>,
        charges: &[f64],
        along: [Vec3<f64>; 3],
        forces: &mut [Vec3<f64>],
    ) -> Vec3<f64> {
        let sums: Vec<Vec3<f64>> = forces
            .par_chunks_mut(BLOCK)
            .zip(self.spots.par_chunks(BLOCK))
            .zip(charges.par_chunks(BLOCK))
            .map(|((forces, spots), charges)| {
                let mut sum = Vec3::zero();
                for ((force, spot), &q) in forces.iter_mut().zip(spots).zip(charges) {
                    *force = Vec3::zero();
                    if q != 0.0 {
                        let slope = spot.slope(self.plan.basis, self.plan.size, transform);
                        *force = (along[0] * slope[0] + along[1] * slope[1] + along[2] * slope[2]) * q;
                        sum += *force;
                    }
                }
                sum
            })
            .collect();
        sums.into_iter().fold(Vec3::zero(), |total, part| total + part)
    }
}

impl<T: MeshReal> Spot<T> {
    /// Adds the charge to the j-th plane it touches.
    #[inline(always)]
    fn add(&self, j: usize, points: usize, plane: &mut [T], pitch: usize, along_y: usize) {
        let share = self.across[j];
        let mut y = self.first[1] as usize;
        for k in 0..points {
            let weight = share * self.weights[0][k];
            let begin = y * pitch + self.first[2] as usize;
            let row = &mut plane[begin..begin + MOST_POINTS];
            for (to, &w) in row.iter_mut().zip(&self.weights[1]) {
                *to = weight.mul_add(w, *to);
            }
            y += 1;
            if y == along_y {
                y = 0;
            }
        }
    }

    /// The derivatives of the potential by the coordinates in units of the mesh.
    #[inline(always)]
    fn slope(&self, basis: Basis, size: [usize; 3], transform: &Transform<T>) -> [f64; 3] {
        let [x, y, z] = self.rest.map(|rest| basis.weights(rest));
        let points = basis.points();
        let mut total = [T::of(0.0); 3];
        let mut px = self.first[0] as usize;
        for i in 0..points {
            let plane = transform.plane(px);
            let (mut across, mut up, mut along) = (T::of(0.0), T::of(0.0), T::of(0.0));
            let mut py = self.first[1] as usize;
            for j in 0..points {
                let begin = py * transform.pitch() + self.first[2] as usize;
                let row = &plane[begin..begin + MOST_POINTS];
                let (mut plain, mut steep) = (T::of(0.0), T::of(0.0));
                for ((&x, &value), &slope) in row.iter().zip(&z.values).zip(&z.slopes) {
                    plain = x.mul_add(value, plain);
                    steep = x.mul_add(slope, steep);
                }
                across = plain.mul_add(y.values[j], across);
                up = plain.mul_add(y.slopes[j], up);
                along = steep.mul_add(y.values[j], along);
                py += 1;
                if py == size[1] {
                    py = 0;
                }
            }
            total[0] = across.mul_add(x.slopes[i], total[0]);
            total[1] = up.mul_add(x.values[i], total[1]);
            total[2] = along.mul_add(x.values[i], total[2]);
            px += 1;
            if px == size[0] {
                px = 0;
            }
        }
        total.map(Into::into)
    }
}

const _: () = assert!(PAD >= MOST_POINTS);
