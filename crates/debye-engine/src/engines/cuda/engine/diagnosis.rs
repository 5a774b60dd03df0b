//! Why a step on the device went wrong: found on the host, from the positions before it.

use super::CudaEngine;
use super::skeleton::Skeleton;
use crate::engines::cpu::CpuEngine;
use crate::engines::{Culprit, EngineError, Settings};
use crate::forces::ForceField;
use crate::integrate::Dynamics;
use crate::system::{Particles, System};

/// What the host keeps of a simulation, so that it can say why a step went wrong.
pub(super) struct HostCopy {
    /// As it began; species, masses, charges and molecules never change.
    pub(super) system: System,
    pub(super) field: ForceField,
    dynamics: Dynamics,
}

impl HostCopy {
    /// Refuses positions that are not finite, which whole numbers cannot hold.
    pub(super) fn new(system: &System, field: &ForceField, dynamics: &Dynamics) -> Result<Self, EngineError> {
        let host = Self {
            system: system.clone(),
            field: field.clone(),
            dynamics: dynamics.clone(),
        };
        let positions = &system.particles.positions;
        if positions.iter().any(|r| !r.norm2().is_finite()) {
            return Err(host.culprit_at_start());
        }
        Ok(host)
    }

    /// Refuses energies and virials of the beginning that are not finite: some force is not either.
    pub(super) fn check_start(&self, energies: &[f64], virial: &[f64]) -> Result<(), EngineError> {
        if energies.iter().chain(virial).all(|x| x.is_finite()) {
            return Ok(());
        }
        Err(self.culprit_at_start())
    }

    /// What the CPU says of the same beginning.
    fn culprit_at_start(&self) -> EngineError {
        match CpuEngine::new(&self.system, &self.field, &self.dynamics, &Settings::default()) {
            Ok(engine) => engine.diagnose(),
            Err(error) => error,
        }
    }

    /// Who went wrong in the last step, and all particles before it.
    fn culprit(&self, skeleton: &mut dyn Skeleton) -> Result<(Culprit, Particles), EngineError> {
        let (step, particles) = skeleton.before_the_step(&self.system.particles)?;
        let mut system = self.system.clone();
        system.cell = skeleton.cell()?.unwrap_or(system.cell);
        system.particles = particles;
        let culprit = CpuEngine::culprit_of_step(&system, &self.field, &self.dynamics, step)?;
        Ok((culprit, system.particles))
    }
}

impl CudaEngine {
    /// An error with its reason, where a particle got lost and the reason can be found.
    pub(super) fn explained(&mut self, error: EngineError) -> EngineError {
        if !matches!(error, EngineError::Lost { .. }) {
            return error;
        }
        match self.host.culprit(self.skeleton.get_mut().as_mut()) {
            Ok((culprit, particles)) => {
                self.failed_state = Some(particles);
                EngineError::Exploded(Box::new(culprit))
            }
            // What is known without it still stands.
            Err(_) => error,
        }
    }
}
