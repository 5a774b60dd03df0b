//! FIRE on the device.

use super::{Change, CudaEngine, rules};
use crate::backend::cpu::{Fire, Minimised};
use crate::backend::{Backend, EngineError};
use crate::expr::Vec3;

/// Steps between two looks of the host.
const GLANCE: u64 = 25;
const ALPHA: f64 = 0.1;

impl CudaEngine {
    /// Moves the particles downhill. Velocities and the step counter are as before.
    pub(super) fn descend(
        &mut self,
        fire: Fire,
        go_on: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Minimised, EngineError> {
        let start = Backend::observe(self)?.potential;
        let before = Backend::particles(self)?;
        let mut still = before.clone();
        still.velocities.fill(Vec3::zero());
        let groups = self.resident.get_mut().rules.groups();
        let change: Vec<Change> = vec![(1.0, [0.0; 3]); groups];
        let first = self.dynamics.timestep;
        let resident = self.resident.get_mut();
        resident.place(&still)?;
        resident.set_fire(rules::Fire {
            tolerance: fire.force_tolerance,
            longest: fire.max_displacement,
            first,
            dt: first,
            alpha: ALPHA,
            ..rules::Fire::default()
        })?;
        let mut steps = 0;
        while steps < fire.max_steps && go_on(steps) {
            let target = (steps + GLANCE).min(fire.max_steps);
            resident.descend(target)?;
            let reached = resident.control_mut().step;
            if reached < target {
                steps = reached;
                break;
            }
            steps = reached;
        }
        resident.settle()?;
        resident.evaluate()?;
        let largest = resident
            .forces()?
            .iter()
            .flat_map(|f| f.to_array())
            .fold(0.0, |most: f64, f| {
                if f.is_nan() {
                    f64::INFINITY
                } else {
                    most.max(f.abs())
                }
            });
        let mut after = resident.particles(&self.witness.system.particles, &change)?;
        after.velocities = before.velocities;
        let step = self.step;
        self.begin(&after)?;
        self.resident.get_mut().set_step(step)?;
        let end = Backend::observe(self)?.potential;
        Ok(Minimised {
            steps,
            energy: [start, end],
            largest_force: largest,
            converged: largest <= fire.force_tolerance,
        })
    }
}
