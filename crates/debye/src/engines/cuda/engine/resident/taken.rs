//! [`Taken`]: particles as a device has them, to be put in order by any thread while the device goes on.

use super::super::frame::Region;
use super::super::kernels::Control;
use super::super::state::State;
use super::super::terms::Kind;
use super::Change;
use crate::expr::Vec3;
use crate::system::Particles;

/// Everything that particles are made of, slot by slot.
pub(in super::super) struct Taken {
    pub(super) state: State,
    pub(super) control: Control,
    pub(super) forces: Vec<f64>,
    pub(super) torques: Vec<f64>,
    pub(super) slots: usize,
    pub(super) region: Region,
    /// What velocities are yet to be multiplied with.
    pub(super) pending: [f64; 3],
    pub(super) dt: f64,
    pub(super) kinds: Vec<Kind>,
    /// What has yet to happen to the velocities of every group.
    pub(super) change: Vec<Change>,
    /// Velocities of particles at fixed distances, and what has yet to happen to them.
    pub(super) constrained: Vec<(u32, Vec3<f64>, Change)>,
}

impl Taken {
    /// The particles in the order of the input.
    pub(in super::super) fn particles(&self, like: &Particles) -> Particles {
        let (state, slots, half) = (&self.state, self.slots, 0.5 * self.dt);
        let mut out = like.clone();
        out.images.resize(like.len(), [0; 3]);
        for (slot, &id) in state.used(&self.control) {
            let i = id as usize;
            let kind = &self.kinds[state.pos[4 * slot + 3] as usize];
            let (factor, shift) = self.change[kind.group as usize];
            out.positions[i] = self.region.position(state.fractions(slot, slots));
            out.velocities[i] = Vec3::from(std::array::from_fn(|k| {
                let at = k * slots + slot;
                let kept = state.velocities[at] * self.pending[k];
                (kept + half * kind.inverse_mass * self.forces[at]) * factor - shift[k]
            }));
            out.images[i] = std::array::from_fn(|k| state.images[k * slots + slot]);
            if let Some(turn) = out.orientations.rotations.get_mut(i).filter(|_| kind.turns != 0) {
                *turn = state.rotation(slot, slots);
                out.orientations.angular_momenta[i] = Vec3::from(std::array::from_fn(|k| {
                    let at = k * slots + slot;
                    (state.momenta[at] + half * self.torques[at]) * factor
                }));
            }
        }
        for &(id, v, (factor, shift)) in &self.constrained {
            out.velocities[id as usize] = v * factor - Vec3::from(shift);
        }
        out
    }
}
