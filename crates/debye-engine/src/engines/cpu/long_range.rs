//! [`LongRange`]: what long-range electrostatics has besides its pair term, on the CPU.

use super::mesh::Mesh;
use super::mesh::grids::Grids;
use super::state::State;
use crate::engines::{EngineError, Precision};
use crate::expr::Vec3;
use crate::forces::ForceField;
use crate::forces::electrostatics::{ChargeSums, Electrostatics, Method, Part, ReciprocalVectors};
use crate::forces::ewald::sum_reciprocal;
use crate::potentials::PairSums;
use crate::simd::InstructionSet;

/// Reciprocal vectors, a mesh or grids, and what belongs to none of them.
pub(super) struct LongRange {
    plan: Electrostatics,
    coulomb: f64,
    sums: ChargeSums,
    solver: Solver,
}

enum Solver {
    Ewald(ReciprocalVectors),
    Single(Box<Mesh<f32>>),
    Double(Box<Mesh<f64>>),
    SingleGrids(Box<Grids<f32>>),
    DoubleGrids(Box<Grids<f64>>),
}

impl From<Part> for PairSums {
    fn from(part: Part) -> Self {
        Self {
            energy: part.energy,
            virial: part.virial,
        }
    }
}

impl LongRange {
    /// Where the force field has one.
    pub(super) fn new(
        field: &ForceField,
        charges: &[f64],
        precision: Precision,
        set: InstructionSet,
    ) -> Option<Self> {
        let plan = field.electrostatics.clone()?;
        let solver = match (&plan.method, precision) {
            (Method::Ewald(set), _) => Solver::Ewald(*set),
            (Method::Mesh(mesh), Precision::Double) => {
                Solver::Double(Box::new(Mesh::new(*mesh, plan.alpha, set)))
            }
            (Method::Mesh(mesh), _) => Solver::Single(Box::new(Mesh::new(*mesh, plan.alpha, set))),
            (Method::Multilevel(grids), Precision::Double) => {
                Solver::DoubleGrids(Box::new(Grids::new(*grids, set)))
            }
            (Method::Multilevel(grids), _) => Solver::SingleGrids(Box::new(Grids::new(*grids, set))),
        };
        Some(Self {
            coulomb: field.coulomb_constant,
            sums: ChargeSums::of(charges),
            plan,
            solver,
        })
    }

    /// Names of its parts.
    pub(super) fn names(&self) -> Vec<String> {
        self.plan.names(self.sums)
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        match &self.solver {
            Solver::Ewald(_) => 0,
            Solver::Single(mesh) => mesh.bytes(),
            Solver::Double(mesh) => mesh.bytes(),
            Solver::SingleGrids(grids) => grids.bytes(),
            Solver::DoubleGrids(grids) => grids.bytes(),
        }
    }

    /// Adds its forces; gives energy and virial by part, which mean something only with `energy`.
    pub(super) fn add(
        &mut self,
        state: &State,
        forces: &mut [Vec3<f64>],
        energy: bool,
    ) -> Result<Vec<PairSums>, EngineError> {
        let cell = self.plan.ewald_cell(&state.cell);
        let k = self.coulomb / self.plan.permittivity;
        let (positions, charges) = (&state.positions[..], &state.charges[..]);
        let first = match &mut self.solver {
            Solver::Ewald(set) => sum_reciprocal(&cell, self.plan.alpha, set, k, positions, charges, forces),
            Solver::Single(mesh) => mesh.add(&cell, k, positions, charges, forces, energy),
            Solver::Double(mesh) => mesh.add(&cell, k, positions, charges, forces, energy),
            Solver::SingleGrids(grids) => grids.add(&state.cell, k, positions, charges, forces, energy)?,
            Solver::DoubleGrids(grids) => grids.add(&state.cell, k, positions, charges, forces, energy)?,
        };
        let unwrapped = |i: usize| state.positions[i] + state.cell.translation(state.images[i]);
        let rest = self
            .plan
            .rest(&state.cell, self.coulomb, self.sums, &unwrapped, charges, forces);
        Ok([first].into_iter().chain(rest).map(PairSums::from).collect())
    }
}
