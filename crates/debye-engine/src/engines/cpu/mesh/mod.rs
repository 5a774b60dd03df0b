//! Particle mesh Ewald on the CPU: spread, transform, multiply, transform back, gather. Multilevel summation
//! (`grids.rs`) has the same first and last step.
//!
//! Every plane of the mesh belongs to one thread at a time, and so does every particle: no two write to one place, and
//! sums do not depend on the number of threads.

pub(super) mod grids;
mod kernels;
mod planes;
mod spread;
mod transform;

use crate::parallel::{InParallel, Indexed};
use debye_fft::Transformed;

use crate::expr::{Mat3, Real, Vec3};
use crate::forces::electrostatics::{MeshPlan, Part};
use crate::forces::ewald::reciprocal;
use crate::forces::pme::Influence;
use crate::simd::InstructionSet;
use crate::system::Cell;

use kernels::{Axes, Entries};
use spread::Spots;
use transform::Transform;

/// Numbers a mesh may hold: `f32` or `f64`.
pub trait MeshReal: Real + Transformed + Into<f64> + std::ops::AddAssign {
    /// From double precision.
    fn of(x: f64) -> Self;
    /// The inner loops for an instruction set, which this processor must have.
    fn entries(set: InstructionSet) -> Entries<Self>;
}

impl MeshReal for f32 {
    fn of(x: f64) -> Self {
        x as Self
    }
    fn entries(set: InstructionSet) -> Entries<Self> {
        kernels::single(set)
    }
}

impl MeshReal for f64 {
    fn of(x: f64) -> Self {
        x
    }
    fn entries(set: InstructionSet) -> Entries<Self> {
        kernels::double(set)
    }
}

/// A mesh and all that is needed to solve for the potential of charges on it.
pub struct Mesh<T: MeshReal> {
    plan: MeshPlan,
    alpha: f64,
    /// The cell that the influence function was made for.
    cell: Option<Cell>,
    axes: Axes,
    transform: Transform<T>,
    spots: Spots<T>,
    forces: Vec<Vec3<f64>>,
}

impl<T: MeshReal> Mesh<T> {
    /// For a plan and a splitting parameter. A set this processor lacks is replaced by the best it has.
    pub fn new(plan: MeshPlan, alpha: f64, set: InstructionSet) -> Self {
        let has = InstructionSet::available().contains(&set);
        let set = if has { set } else { InstructionSet::detect() };
        Self {
            plan,
            alpha,
            cell: None,
            axes: Axes {
                vectors: [Vec3::zero(); 3],
                first: [None; 3],
            },
            transform: Transform::new(plan.size),
            spots: Spots::new(plan, set),
            forces: Vec::new(),
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.transform.bytes() + self.spots.bytes() + self.forces.capacity() * 24
    }

    /// Adds the forces of the smooth part of 1/r; with `energy`, gives its energy and virial. `k` is k_e over the
    /// permittivity. Positions may be any images.
    pub fn add(
        &mut self,
        cell: &Cell,
        k: f64,
        positions: &[Vec3<f64>],
        charges: &[f64],
        forces: &mut [Vec3<f64>],
        energy: bool,
    ) -> Part {
        self.spread(cell, positions, charges);
        let mut part = self.solve(energy);
        part.energy *= k;
        part.virial.iter_mut().for_each(|w| *w *= k);
        self.gather(k, charges, forces);
        part
    }

    /// The first stage of [`Self::add`]: charges on the mesh.
    pub fn spread(&mut self, cell: &Cell, positions: &[Vec3<f64>], charges: &[f64]) {
        self.set_cell(cell);
        self.spots.place(&self.axes, positions, charges);
        self.spots.spread(&mut self.transform.real);
    }

    /// The second: their potential, without k_e. With `sums`, energy and virial.
    pub fn solve(&mut self, sums: bool) -> Part {
        self.transform.solve(sums)
    }

    /// Puts values on every point, the third index fastest, in place of the first stage.
    pub fn set_values(&mut self, cell: &Cell, values: &[T]) {
        self.set_cell(cell);
        self.transform.real.unpack(values);
    }

    /// What is at every point now, the third index fastest.
    pub fn values(&self) -> Vec<T> {
        self.transform.real.packed()
    }

    /// The smooth part of the potential of charges at every point of the mesh, the third index fastest, without k_e.
    pub fn potential(&mut self, cell: &Cell, positions: &[Vec3<f64>], charges: &[f64]) -> Vec<T> {
        self.spread(cell, positions, charges);
        self.solve(false);
        self.values()
    }

    /// The influence function of the cell as it is now.
    fn set_cell(&mut self, cell: &Cell) {
        if self.cell == Some(*cell) {
            return;
        }
        self.axes.vectors = reciprocal(cell);
        let [a, b, c] = self.axes.vectors;
        let rows = Mat3::from_rows(a, b, c);
        let plan = self.plan;
        let influence = Influence::new(
            rows,
            cell.volume(),
            self.alpha,
            plan.size,
            plan.basis,
            plan.optimal,
        );
        self.transform.influence(influence);
        self.cell = Some(*cell);
    }

    /// The third: adds forces from the potential on the mesh, less their mean.
    pub fn gather(&mut self, k: f64, charges: &[f64], forces: &mut [Vec3<f64>]) {
        self.forces.resize(charges.len(), Vec3::zero());
        // From derivatives along the mesh to those in space.
        let along: [Vec3<f64>; 3] =
            std::array::from_fn(|axis| self.axes.vectors[axis] * (-k * self.plan.size[axis] as f64));
        let sum = self
            .spots
            .gather(&self.transform.real, charges, along, &mut self.forces);
        add_without_mean(&self.forces, sum, charges, forces);
    }
}

/// Adds forces of a mesh less their mean, which would push the whole system.
fn add_without_mean(found: &[Vec3<f64>], sum: Vec3<f64>, charges: &[f64], forces: &mut [Vec3<f64>]) {
    let charged = charges.iter().filter(|q| **q != 0.0).count().max(1);
    let mean = sum * (1.0 / charged as f64);
    forces
        .par_iter_mut()
        .zip(found)
        .zip(charges)
        .with_min_len(spread::BLOCK)
        .for_each(|((to, &f), &q)| {
            if q != 0.0 {
                *to += f - mean;
            }
        });
}

#[cfg(test)]
mod tests;
