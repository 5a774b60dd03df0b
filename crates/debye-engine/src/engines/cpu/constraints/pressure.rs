//! What constraints have to do with pressure: the virial of their forces, what is within groups, and space that is scaled.

use super::bodies::virial_of_body;
use super::{add, center, gather_now, outer, slots};
use crate::engines::EngineError;
use crate::engines::cpu::engine::CpuEngine;
use crate::engines::cpu::motion::Rounding;
use crate::expr::Vec3;
use crate::forces::constraints::{Nearest, Triangle};

impl CpuEngine {
    /// Σ r⊗G of the forces of constraints G, which are those that keep distances from changing now: they follow from
    /// positions, velocities and forces of this moment and not from the step that led here.
    pub(in crate::engines::cpu) fn constraint_virial(
        &self,
        velocities: &[Vec3<f64>],
    ) -> Result<[f64; 6], EngineError> {
        let state = &self.state;
        let nearest = Nearest::new(&state.cell);
        self.constrained.sum(state.step, |clusters, group, scratch| {
            gather_now(clusters, group, state, nearest, scratch);
            scratch.new.clear();
            if let Some((_, shape)) = clusters.body(group) {
                return Ok(virial_of_body(clusters, group, shape, state, velocities, scratch));
            }
            scratch
                .new
                .extend(slots(clusters, group, state).map(|s| state.forces[s] * (1.0 / state.masses[s])));
            // d²|r|²/dt² = 0: the force along the bond makes up for the turning.
            let turning = |k: usize| {
                let ends = clusters.constraint(group, k).0;
                let [i, j] = ends.map(|id| velocities[state.slot_of[id as usize] as usize]);
                -(i - j).norm2()
            };
            let multipliers = clusters.rates(group, scratch, turning)?.to_vec();
            let mut virial = [0.0; 6];
            for (bond, force) in clusters.bonds(group).iter().zip(multipliers) {
                let [i, j] = bond.ends.map(|end| scratch.old[end as usize]);
                add(&mut virial, outer(i - j, (i - j) * force));
            }
            Ok(virial)
        })
    }

    /// What forces within constrained groups add to the virial: Σ (r − R)⊗F, with R the group's center of mass. Without it,
    /// and without the kinetic energy within groups, the pressure is that of the centers.
    pub(in crate::engines::cpu) fn inner_virial(&self) -> Result<[f64; 6], EngineError> {
        let state = &self.state;
        let nearest = Nearest::new(&state.cell);
        self.constrained.sum(state.step, |clusters, group, scratch| {
            gather_now(clusters, group, state, nearest, scratch);
            let middle = center(clusters.inverse_masses(group), scratch.old.iter().copied());
            let mut virial = [0.0; 6];
            for (slot, &r) in slots(clusters, group, state).zip(&scratch.old) {
                add(&mut virial, outer(r - middle, state.forces[slot]));
            }
            Ok(virial)
        })
    }

    /// The kinetic tensor of motion within constrained groups: Σ m u⊗u, with u relative to the center of mass.
    pub(in crate::engines::cpu) fn inner_kinetic(&self) -> Result<[f64; 6], EngineError> {
        let state = &self.state;
        self.constrained.sum(state.step, |clusters, group, _| {
            let masses = clusters.inverse_masses(group);
            let common = center(masses, slots(clusters, group, state).map(|s| state.velocities[s]));
            let mut kinetic = [0.0; 6];
            for (slot, w) in slots(clusters, group, state).zip(masses) {
                let u = state.velocities[slot] - common;
                add(&mut kinetic, outer(u, u * (1.0 / w)));
            }
            Ok(kinetic)
        })
    }

    /// Moves every constrained group as a whole where space is scaled, and its common velocity likewise: instead of scaling
    /// its particles one by one. The cell is still that of before.
    pub(in crate::engines::cpu) fn scale_constrained(
        &mut self,
        factors: Vec3<f64>,
        velocity_factors: Vec3<f64>,
    ) -> Result<(), EngineError> {
        if !self.is_constrained() {
            return Ok(());
        }
        let mut changes = self.constrained.lend();
        let constrained = &self.constrained;
        let less = |f: Vec3<f64>| f - Vec3::splat(1.0);
        let alone = |_: &Triangle<f64>, _: &[[u32; 3]], _: &mut [Vec3<f64>]| false;
        let state = &self.state;
        let nearest = Nearest::new(&state.cell);
        constrained.change(
            &mut changes,
            state.step,
            alone,
            |clusters, group, scratch, changes| {
                gather_now(clusters, group, state, nearest, scratch);
                let middle = center(clusters.inverse_masses(group), scratch.old.iter().copied());
                let mut first = None;
                for (k, slot) in slots(clusters, group, state).enumerate() {
                    let origin = *first.get_or_insert(state.positions[slot]);
                    // A particle stored an image away moves with that image of the center.
                    let image = scratch.old[k] - (state.positions[slot] - origin);
                    changes[k] = (origin + middle - image).scale(less(factors));
                }
                Ok(())
            },
        )?;
        let state = &mut self.state;
        constrained.apply(&changes, &mut state.positions, Rounding::Double);
        let state = &self.state;
        constrained.change(&mut changes, state.step, alone, |clusters, group, _, changes| {
            let masses = clusters.inverse_masses(group);
            let common = center(masses, slots(clusters, group, state).map(|s| state.velocities[s]));
            changes.fill(common.scale(less(velocity_factors)));
            Ok(())
        })?;
        let state = &mut self.state;
        constrained.apply(&changes, &mut state.velocities, Rounding::Double);
        self.constrained.changes = changes;
        self.rest_massless();
        Ok(())
    }
}
