//! Rigid bodies of several sites: velocities after a drift, sites without mass, and what holds a body together.

use super::{FREE, add, gather, outer, slots};
use crate::engines::EngineError;
use crate::engines::cpu::engine::CpuEngine;
use crate::engines::cpu::state::State;
use crate::expr::Vec3;
use crate::forces::constraints::{Clusters, Group, Motion, Nearest, Pose, Scratch, Triangle};
use crate::system::RigidShape;

impl CpuEngine {
    /// After a drift of rigid bodies: their angular momenta are those of before, and the sites have the velocities of now.
    pub(super) fn turn_velocities_of_bodies(&mut self, changes: &mut [Vec3<f64>]) -> Result<(), EngineError> {
        let (state, constrained, rounding) = (&self.state, &self.constrained, self.rounding);
        let nearest = Nearest::new(&state.cell);
        let alone = |_: &Triangle<f64>, _: &[[u32; 3]], _: &mut [Vec3<f64>]| true;
        constrained.change(changes, state.step, alone, |clusters, group, scratch, changes| {
            let Some((_, shape)) = clusters.body(group) else {
                return Ok(());
            };
            let Scratch { old, new, .. } = scratch;
            gather(clusters, group, state, nearest, &constrained.before, old);
            let (_, motion) = body_before(clusters, group, shape, state, old, new);
            gather(clusters, group, state, nearest, &state.positions, old);
            let now = Pose::of(shape, old).velocities(shape, &motion, old);
            let sites = slots(clusters, group, state).zip(now).zip(shape.masses());
            for (change, ((slot, v), &m)) in changes.iter_mut().zip(sites) {
                *change = if m > 0.0 { v } else { Vec3::zero() } - state.velocities[slot];
            }
            Ok(())
        })?;
        let state = &mut self.state;
        let places = constrained.first_of_bodies..FREE;
        constrained.apply_to(places, changes, &mut state.velocities, rounding);
        Ok(())
    }

    /// Sites without mass have no velocity between two steps.
    pub(in crate::engines::cpu) fn rest_massless(&mut self) {
        for &id in &self.constrained.massless {
            self.state.velocities[self.state.slot_of[id as usize] as usize] = Vec3::zero();
        }
    }

    /// Velocities that sites without mass have from their bodies.
    pub(in crate::engines::cpu) fn carry_massless(&self, velocities: &mut [Vec3<f64>]) {
        if self.constrained.massless.is_empty() {
            return;
        }
        let carried = self.constrained_velocities(velocities.to_vec());
        for &id in &self.constrained.massless {
            let slot = self.state.slot_of[id as usize] as usize;
            velocities[slot] = carried[slot];
        }
    }
}

/// How a body lay at the places in `old`, and how it moves by the velocities of its sites, which go to `rates`.
pub(super) fn body_before(
    clusters: &Clusters,
    group: &Group,
    shape: &RigidShape,
    state: &State,
    old: &[Vec3<f64>],
    rates: &mut Vec<Vec3<f64>>,
) -> (Pose, Motion) {
    rates.clear();
    rates.extend(slots(clusters, group, state).map(|slot| state.velocities[slot]));
    let pose = Pose::of(shape, old);
    (pose, pose.gather(shape, old, rates))
}

/// Σ r⊗G of the forces that keep a body together, whose sites are at the places in `scratch.old`.
pub(super) fn virial_of_body(
    clusters: &Clusters,
    group: &Group,
    shape: &RigidShape,
    state: &State,
    velocities: &[Vec3<f64>],
    scratch: &mut Scratch,
) -> [f64; 6] {
    let Scratch { old, new, .. } = scratch;
    let sites = slots(clusters, group, state).zip(shape.masses());
    new.extend(sites.map(|(slot, &m)| if m > 0.0 { velocities[slot] } else { Vec3::zero() }));
    let pose = Pose::of(shape, old);
    let motion = pose.gather(shape, old, new);
    let forces: Vec<Vec3<f64>> = slots(clusters, group, state)
        .map(|slot| state.forces[slot])
        .collect();
    let mut virial = [0.0; 6];
    for (&r, holding) in old
        .iter()
        .zip(pose.constraint_forces(shape, &motion, old, &forces))
    {
        add(&mut virial, outer(r - pose.center, holding));
    }
    virial
}
