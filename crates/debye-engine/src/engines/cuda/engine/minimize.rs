//! FIRE on the device.

use super::resident::{Change, Resident};
use super::{CudaEngine, rules};
use crate::engines::cpu::{CpuEngine, Descent, Fire, Minimized};
use crate::engines::{Engine, EngineError, Settings, Wanted};
use crate::expr::Vec3;
use crate::integrate::{Dynamics, Scheme};
use crate::system::Particles;

/// Steps of minimization between two checks by the host.
const GLANCE: u64 = 25;
const ALPHA: f64 = 0.1;

impl CudaEngine {
    /// Minimizes the energy. Velocities and the step counter are as before.
    pub(super) fn descend(
        &mut self,
        fire: Fire,
        proceed: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Minimized, EngineError> {
        if !self.host.system.constraints.is_empty() {
            return self.descend_by_cpu(fire, proceed);
        }
        let start = Engine::observe(self)?.potential;
        let before = Engine::particles(self)?;
        let mut still = before.clone();
        still.velocities.fill(Vec3::zero());
        still.orientations.angular_momenta.fill(Vec3::zero());
        let steps = match self.skeleton.get_mut().large() {
            Some(resident) => descend(resident, &still, fire, self.dynamics.timestep, proceed)?,
            None => self.descend_on_host(still.clone(), fire, proceed)?,
        };
        let skeleton = self.skeleton.get_mut();
        let largest = largest(&skeleton.forces()?);
        let snapshot = skeleton.snapshot(Wanted::PARTICLES)?;
        let change: Vec<Change> = vec![(1.0, [0.0; 3]); snapshot.sums.groups.len()];
        let mut after = still;
        if let Some(copied) = snapshot.particles {
            copied.fill(&mut after, &change)?;
        }
        after.velocities = before.velocities;
        after.orientations.turn_momenta(&before.orientations);
        let step = self.step;
        self.begin(&after)?;
        self.skeleton.get_mut().set_step(step)?;
        let end = Engine::observe(self)?.potential;
        Ok(Minimized {
            steps,
            energy: [start, end],
            largest_force: largest,
            converged: largest <= fire.force_tolerance,
        })
    }

    /// The same by the CPU, which keeps fixed distances on the way.
    fn descend_by_cpu(
        &mut self,
        fire: Fire,
        proceed: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Minimized, EngineError> {
        let mut system = self.host.system.clone();
        system.particles = Engine::particles(self)?;
        system.cell = self.cell;
        let dynamics = Dynamics {
            scheme: Scheme::VelocityVerlet,
            ..self.dynamics.clone()
        };
        let mut cpu = CpuEngine::new(&system, &self.host.field, &dynamics, &Settings::default())?;
        let done = cpu.minimize_while(fire, proceed)?;
        let step = self.step;
        self.begin(&cpu.particles())?;
        self.skeleton.get_mut().set_step(step)?;
        Ok(done)
    }

    /// The same with the motion on the host, for layouts that have no kernels for it: those of small systems.
    fn descend_on_host(
        &mut self,
        mut particles: Particles,
        fire: Fire,
        proceed: &mut dyn FnMut(u64) -> bool,
    ) -> Result<u64, EngineError> {
        let skeleton = self.skeleton.get_mut();
        let mut descent = Descent::new(self.dynamics.timestep);
        let mut steps = 0;
        loop {
            skeleton.place(&particles)?;
            let forces = skeleton.forces()?;
            let most = largest(&forces);
            if most.is_infinite()
                || most <= fire.force_tolerance
                || steps >= fire.max_steps
                || !proceed(steps)
            {
                return Ok(steps);
            }
            descent.step(&mut particles, &forces, fire.max_displacement);
            steps += 1;
        }
    }
}

/// Runs FIRE on the device.
fn descend(
    resident: &mut Resident,
    still: &Particles,
    fire: Fire,
    first: f64,
    proceed: &mut dyn FnMut(u64) -> bool,
) -> Result<u64, EngineError> {
    resident.place(still)?;
    resident.set_fire(rules::Fire {
        tolerance: fire.force_tolerance,
        longest: fire.max_displacement,
        first,
        dt: first,
        alpha: ALPHA,
        ..rules::Fire::default()
    })?;
    let mut steps = 0;
    while steps < fire.max_steps && proceed(steps) {
        let target = (steps + GLANCE).min(fire.max_steps);
        resident.descend(target)?;
        steps = resident.control_mut().step;
        if steps < target {
            break;
        }
    }
    Ok(steps)
}

/// The largest component of a force; one that is not a number must not look like convergence.
fn largest(forces: &[Vec3<f64>]) -> f64 {
    let all = forces.iter().flat_map(|f| f.to_array());
    all.fold(0.0, |most: f64, f| {
        if f.is_nan() {
            f64::INFINITY
        } else {
            most.max(f.abs())
        }
    })
}
