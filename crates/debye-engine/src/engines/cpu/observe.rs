//! What a running engine shows: energies, pressure, particles; and the trait it answers through.

use crate::parallel::{InParallel, Indexed};

use super::engine::CpuEngine;
use super::motion::{self, per_mass};
use super::state::BLOCK;
use crate::engines::{Engine, EngineError, Lists, Observation, Stages};
use crate::expr::Vec3;
use crate::integrate::pressure::pressure;
use crate::integrate::{ActiveThermostat, MotionState, Scheme};
use crate::simd::InstructionSet;
use crate::system::{Cell, Particles};

impl CpuEngine {
    /// Energies and pressure now.
    pub fn observe(&mut self) -> Result<Observation, EngineError> {
        if self.sums_step != Some(self.state.step) {
            self.evaluate(true)?;
        }
        let velocities = self.velocities_now();
        let kinetic = motion::kinetic_tensor(&self.state, &velocities);
        let constraints = self.constraint_virial(&velocities)?;
        let mut terms: Vec<(String, f64)> = self
            .names
            .iter()
            .zip(&self.sums)
            .map(|(name, sum)| (name.clone(), sum.energy))
            .collect();
        if self.tail.present {
            terms.push(("tail".into(), self.tail.energy(self.state.cell.volume())));
        }
        let turning = self
            .state
            .rotations
            .kinetic_energy_of(&self.angular_momenta_now(), |_| true);
        let energy = 0.5 * (kinetic[0] + kinetic[1] + kinetic[2]) + turning;
        let freedom = self.degrees_of_freedom;
        let kept = !self.dynamics.has_langevin() && self.dynamics.barostat.is_none();
        Ok(Observation {
            step: self.state.step,
            time: self.state.step as f64 * self.dynamics.timestep,
            potential: terms.iter().map(|t| t.1).sum(),
            terms,
            kinetic: energy,
            thermostat: kept.then(|| self.thermostats.iter().map(ActiveThermostat::energy).sum()),
            temperature: 2.0 * energy / (freedom * self.units.boltzmann()),
            degrees_of_freedom: freedom,
            pressure_tensor: self.pressure_tensor(&std::array::from_fn(|k| kinetic[k] + constraints[k])),
            cell: self.state.cell,
        })
    }

    /// (Σ m v⊗v + Σ r⊗F)/V and the tail's pressure, from the virials of the last evaluation.
    pub(super) fn pressure_tensor(&self, kinetic: &[f64; 6]) -> [f64; 6] {
        let volume = self.state.cell.volume();
        let mut virial = [0.0; 6];
        for sum in &self.sums {
            virial.iter_mut().zip(sum.virial).for_each(|(t, w)| *t += w);
        }
        let tail = self.tail.pressure(1.0);
        let tail = [tail, tail, tail, 0.0, 0.0, 0.0];
        std::array::from_fn(|k| pressure(kinetic[k], virial[k], volume, tail[k]))
    }

    /// Velocities at the time of the positions: for leapfrog half a step further than stored.
    pub(super) fn velocities_now(&self) -> Vec<Vec3<f64>> {
        let mut velocities = self.state.velocities.clone();
        if self.dynamics.scheme == Scheme::Leapfrog {
            let half = 0.5 * self.dynamics.timestep;
            let s = &self.state;
            velocities
                .par_iter_mut()
                .zip(&s.forces)
                .zip(&s.masses)
                .with_min_len(BLOCK)
                .for_each(|((v, &f), &m)| {
                    *v += f * per_mass(half, m);
                });
            velocities = self.constrained_velocities(velocities);
        } else {
            self.carry_massless(&mut velocities);
        }
        velocities
    }

    /// Angular momenta at the time of the positions.
    pub(super) fn angular_momenta_now(&self) -> Vec<Vec3<f64>> {
        let half = match self.dynamics.scheme {
            Scheme::Leapfrog => 0.5 * self.dynamics.timestep,
            Scheme::VelocityVerlet => 0.0,
        };
        self.state.rotations.momenta_after(half)
    }

    /// The particles now, in the order of the input.
    pub fn particles(&self) -> Particles {
        let (velocities, momenta) = (self.velocities_now(), self.angular_momenta_now());
        self.state.particles(&velocities, &momenta, &self.molecules)
    }

    /// Torques on the particles, in the order of the input; none where everything is a point.
    pub fn torques(&self) -> Vec<Vec3<f64>> {
        match self.state.rotations.is_empty() {
            true => Vec::new(),
            false => self.state.unsorted(&self.state.rotations.torques),
        }
    }

    /// Forces on the particles, in the order of the input.
    pub fn forces(&self) -> Vec<Vec3<f64>> {
        let (s, mut forces) = (&self.state, self.state.forces.clone());
        self.bonded
            .add_inert(&s.cell, &self.field, &s.slots(), &mut forces);
        s.unsorted(&forces)
    }

    /// The step the engine is at.
    pub fn step_number(&self) -> u64 {
        self.state.step
    }

    /// The cell now.
    pub fn cell(&self) -> Cell {
        self.state.cell
    }

    /// Time per stage.
    pub fn stages(&self) -> &Stages {
        &self.stages
    }

    /// Forgets the time spent so far.
    pub fn clear_stages(&mut self) {
        self.stages.clear();
    }

    /// Lists made so far, the radius of the last, and its size.
    pub fn lists(&self) -> Lists {
        Lists {
            builds: self.verlet.builds,
            radius: self.verlet.radius,
            size: self.pairs.size(),
        }
    }

    /// The instruction set of the kernels.
    pub fn instruction_set(&self) -> InstructionSet {
        self.set
    }

    /// Total momentum.
    pub fn momentum(&self) -> Vec3<f64> {
        motion::momentum(&self.state).0
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.state.bytes()
            + self.verlet.reference.capacity() * 24
            + self.pairs.size().bytes
            + self.bonded.bytes()
            + self
                .long_range
                .as_ref()
                .map_or(0, super::long_range::LongRange::bytes)
            + self.constrained.bytes()
    }
}

/// The processor as a device, in the words of headers and reports.
pub fn describe(threads: usize, set: InstructionSet) -> String {
    let plural = if threads == 1 { "" } else { "s" };
    format!("CPU, {threads} thread{plural}, {}", set.name())
}

impl Engine for CpuEngine {
    fn device(&self) -> String {
        describe(rayon::current_num_threads(), self.set)
    }
    fn advance(&mut self, steps: u64, observe: bool) -> Result<(), EngineError> {
        self.advance(steps, observe)
    }
    fn minimize(
        &mut self,
        fire: super::Fire,
        proceed: &mut dyn FnMut(u64) -> bool,
    ) -> Result<super::Minimized, EngineError> {
        self.minimize_while(fire, proceed)
    }
    fn observe(&mut self) -> Result<Observation, EngineError> {
        self.observe()
    }
    fn particles(&self) -> Result<Particles, EngineError> {
        Ok(self.particles())
    }
    fn forces(&self) -> Result<Vec<Vec3<f64>>, EngineError> {
        Ok(self.forces())
    }
    fn torques(&self) -> Result<Vec<Vec3<f64>>, EngineError> {
        Ok(self.torques())
    }
    fn step_number(&self) -> u64 {
        self.step_number()
    }
    fn cell(&self) -> Cell {
        self.cell()
    }
    fn save(&self) -> Result<Vec<u8>, EngineError> {
        Ok(self.save())
    }
    fn motion(&self) -> Result<MotionState, EngineError> {
        Ok(MotionState {
            step: self.state.step,
            thermostats: self.thermostats.iter().map(ActiveThermostat::state).collect(),
            barostat_limited: self.barostat_limited(),
        })
    }
    fn stages(&self) -> &Stages {
        self.stages()
    }
    fn lists(&self) -> Lists {
        self.lists()
    }
    fn bytes(&self) -> usize {
        self.bytes()
    }
    fn barostat_limited(&self) -> u64 {
        self.dynamics.barostat.as_ref().map_or(0, |b| b.limited.get())
    }
}
