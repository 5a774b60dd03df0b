//! [`CpuEngine`]: the state, its forces, and the steps that move it.

use std::time::Instant;

use crate::parallel::{InParallel, Indexed};

use super::bonded::BondedForces;
use super::constraints::Constrained;
use super::diagnosis::{self, Scene};
use super::interactions::{Interactions, Typed};
use super::long_range::LongRange;
use super::motion::{self, Rounding};
use super::pair::{Double, Single};
use super::shared_rows::SharedRows;
use super::state::{BLOCK, State};
use super::tolerance::CutoffEnd;
use super::verlet::Verlet;
use crate::engines::{Culprit, EngineError, Precision, Settings, Stages};
use crate::expr::Vec3;
use crate::forces::{ForceField, TailCorrection};
use crate::integrate::{ActiveThermostat, BEGINNING, Dynamics, MotionState, Scheme, ThermostatKind};
use crate::potentials::PairSums;
use crate::random::Philox;
use crate::simd::InstructionSet;
use crate::system::{Exclusions, Rotor, System, Units};

/// A simulation on the CPU.
pub struct CpuEngine {
    pub(super) state: State,
    pub(super) dynamics: Dynamics,
    pub(super) thermostats: Vec<ActiveThermostat>,
    pub(super) verlet: Verlet,
    pub(super) field: ForceField,
    pub(super) exclusions: Exclusions,
    pub(super) units: Units,
    pub(super) molecules: Vec<u32>,
    pub(super) original: Original,
    pub(super) pairs: Box<dyn Interactions>,
    pub(super) bonded: BondedForces,
    pub(super) long_range: Option<LongRange>,
    pub(super) constrained: Constrained,
    /// Those that share a row of the list.
    pub(super) shared_rows: Option<SharedRows>,
    pub(super) tail: TailCorrection,
    /// What particles have by themselves, of every oriented term.
    pub(super) self_energies: Vec<f64>,
    /// Energy and virial by term of the last evaluation that asked for them, and its step.
    pub(super) sums: Vec<PairSums>,
    pub(super) sums_step: Option<u64>,
    pub(super) names: Vec<String>,
    pub(super) degrees_of_freedom: f64,
    pub(super) rounding: Rounding,
    pub(super) set: InstructionSet,
    pub(super) philox: Philox,
    pub(super) stages: Stages,
}

/// What never changes of the particles, in the order of the input.
#[derive(Clone)]
pub(super) struct Original {
    pub(super) masses: Vec<f64>,
    pub(super) charges: Vec<f64>,
    pub(super) species: Vec<u32>,
    pub(super) rotors: Vec<Rotor>,
}

impl CpuEngine {
    /// An engine at step 0, with forces and energies evaluated.
    pub fn new(
        system: &System,
        field: &ForceField,
        dynamics: &Dynamics,
        settings: &Settings,
    ) -> Result<Self, EngineError> {
        Self::at(system, field, dynamics, settings, &BEGINNING)
    }

    /// An engine that goes on with a system from a step of another one.
    pub fn at(
        system: &System,
        field: &ForceField,
        dynamics: &Dynamics,
        settings: &Settings,
        start: &MotionState,
    ) -> Result<Self, EngineError> {
        let mut engine = Self::unevaluated(system, field, dynamics, settings)?;
        engine.state.step = start.step;
        for (thermostat, state) in engine.thermostats.iter_mut().zip(&start.thermostats) {
            thermostat.set_state(state);
        }
        if let Some(barostat) = &engine.dynamics.barostat {
            barostat.limited.set(start.barostat_limited);
        }
        engine.before_drift();
        engine.constrain_positions(0.0)?;
        engine.constrain_velocities()?;
        engine.state.wrap();
        engine.rebuild()?;
        engine.evaluate(true)?;
        if engine.state.forces.iter().any(|f| !f.norm2().is_finite()) {
            return Err(engine.diagnose());
        }
        if dynamics.scheme == Scheme::Leapfrog {
            motion::kick(&mut engine.state, -0.5 * dynamics.timestep, engine.rounding);
        }
        Ok(engine)
    }

    /// An engine that goes on from a saved state.
    pub fn resumed(
        system: &System,
        field: &ForceField,
        dynamics: &Dynamics,
        settings: &Settings,
        saved: &[u8],
    ) -> Result<Self, EngineError> {
        let mut engine = Self::unevaluated(system, field, dynamics, settings)?;
        engine.restore(saved)?;
        Ok(engine)
    }

    /// An engine without lists or forces.
    fn unevaluated(
        system: &System,
        field: &ForceField,
        dynamics: &Dynamics,
        settings: &Settings,
    ) -> Result<Self, EngineError> {
        if system.particles.is_empty() {
            return Err(EngineError::Empty);
        }
        dynamics
            .check(system.particles.len())
            .map_err(EngineError::Unsupported)?;
        (system.check_massless()).map_err(|e| EngineError::Unsupported(e.to_string()))?;
        let set = settings.instruction_set.unwrap_or_else(InstructionSet::detect);
        let pairs: Box<dyn Interactions> = match settings.precision {
            Precision::Double => Box::new(Typed::<Double>::new(field, set)),
            Precision::Single | Precision::Mixed => Box::new(Typed::<Single>::new(field, set)),
        };
        let cutoff = field.cutoff();
        let bonded = BondedForces::new(system, field);
        let long_range = LongRange::new(field, &system.particles.charges, settings.precision, set);
        let mut constrained = Constrained::new(system, set)?;
        let degrees_of_freedom = dynamics.freedom_of(system);
        let names = field
            .pairs
            .iter()
            .map(|t| t.name.clone())
            .chain(field.oriented.iter().map(|t| t.name.clone()))
            .chain(bonded.names())
            .chain(long_range.iter().flat_map(LongRange::names))
            .collect();
        let mut state = State::new(system);
        let shared_rows = if pairs.keeps_waters() {
            SharedRows::of(system, cutoff)
        } else {
            None
        };
        if let Some(shared_rows) = &shared_rows {
            state.sort(&shared_rows.order());
            state.sharing = shared_rows.sharing(&state.ids);
            constrained.set_slots(&state.slot_of);
        }
        Ok(Self {
            verlet: Verlet {
                cutoff,
                fixed_buffer: settings.buffer,
                radius: cutoff + settings.buffer.unwrap_or(0.1 * cutoff),
                reference: Vec::new(),
                reference_cell: system.cell,
                scale: Vec3::splat(1.0),
                step: 0,
                builds: 0,
                tolerance: settings.drift_tolerance.map(|rate| {
                    let charge = system
                        .particles
                        .charges
                        .iter()
                        .fold(0.0_f64, |q, c| q.max(c.abs()));
                    (rate * dynamics.timestep, CutoffEnd::of(field, charge))
                }),
            },
            thermostats: ActiveThermostat::all(system, dynamics),
            tail: field.tail_correction(system),
            self_energies: (field.oriented.iter())
                .map(|term| term.self_energy(system, field.coulomb_constant))
                .collect(),
            exclusions: system.exclusions.clone(),
            units: system.units,
            molecules: system.particles.molecules.clone(),
            original: Original {
                masses: system.particles.masses.clone(),
                charges: system.particles.charges.clone(),
                species: system.particles.species.clone(),
                rotors: system.particles.orientations.rotors.clone(),
            },
            rounding: if settings.precision == Precision::Single {
                Rounding::Single
            } else {
                Rounding::Double
            },
            philox: Philox::new(dynamics.seed),
            dynamics: dynamics.clone(),
            field: field.clone(),
            sums: Vec::new(),
            sums_step: None,
            stages: Stages::default(),
            state,
            shared_rows,
            pairs,
            bonded,
            long_range,
            constrained,
            names,
            degrees_of_freedom,
            set,
        })
    }

    /// Does `steps` steps. With `observe`, energies are there afterwards at no extra cost.
    pub fn advance(&mut self, steps: u64, observe: bool) -> Result<(), EngineError> {
        for left in (0..steps).rev() {
            self.step(observe && left == 0)?;
        }
        Ok(())
    }

    fn step(&mut self, observe: bool) -> Result<(), EngineError> {
        let (dt, rounding) = (self.dynamics.timestep, self.rounding);
        let began = Instant::now();
        let inner = if self.barostat_is_due() {
            self.inner_virial()?
        } else {
            [0.0; 6]
        };
        self.before_drift();
        match self.dynamics.scheme {
            Scheme::VelocityVerlet => {
                self.nose_hoover_half()?;
                if self.dynamics.has_langevin() {
                    motion::kick_and_drift(&mut self.state, 0.5 * dt, 0.5 * dt, rounding);
                    self.constrain_positions(0.5 * dt)?;
                    self.langevin()?;
                    self.before_drift();
                    motion::drift(&mut self.state, 0.5 * dt, rounding);
                    self.constrain_positions(0.5 * dt)?;
                } else {
                    motion::kick_and_drift(&mut self.state, 0.5 * dt, dt, rounding);
                    self.constrain_positions(dt)?;
                }
            }
            Scheme::Leapfrog if self.is_constrained() => {
                // The thermostat must see velocities without what the constraints are about to take.
                motion::kick(&mut self.state, dt, rounding);
                motion::drift(&mut self.state, dt, rounding);
                self.constrain_positions(dt)?;
                self.rescale()?;
            }
            Scheme::Leapfrog => {
                motion::kick(&mut self.state, dt, rounding);
                self.rescale()?;
                motion::drift(&mut self.state, dt, rounding);
            }
        }
        self.barostat(inner)?;
        self.state.step += 1;
        self.stages.add("integrate", began);
        self.refresh()?;
        self.evaluate(observe || self.barostat_is_due())?;
        let began = Instant::now();
        if self.dynamics.scheme == Scheme::VelocityVerlet {
            motion::kick(&mut self.state, 0.5 * dt, rounding);
            self.constrain_velocities()?;
            self.rescale()?;
            self.nose_hoover_half()?;
        }
        let every = self.dynamics.remove_momentum_every;
        if every > 0 && self.state.step.is_multiple_of(every) {
            motion::remove_momentum(&mut self.state, rounding);
        }
        self.stages.add("integrate", began);
        Ok(())
    }

    /// The exact Ornstein–Uhlenbeck step, for velocities that change no fixed distance before it and none after. Taking out
    /// what would change one is linear: where all velocities are damped alike, doing it once, at the end, is enough.
    fn langevin(&mut self) -> Result<(), EngineError> {
        let species = self.thermostats.first().map_or(0, |b| b.marked.len());
        let (mut keep, mut kt) = (vec![1.0; species], vec![0.0; species]);
        for thermostat in self
            .thermostats
            .iter()
            .filter(|b| !b.thermostat.kind.scales_velocities())
        {
            for s in (0..species).filter(|&s| thermostat.marked[s]) {
                keep[s] = (-self.dynamics.timestep / thermostat.thermostat.time).exp();
                kt[s] = thermostat.kt;
            }
        }
        if keep.iter().any(|c| *c != keep[0]) {
            self.constrain_velocities()?;
        }
        motion::ornstein_uhlenbeck(&mut self.state, &keep, &kt, self.philox, self.rounding);
        self.constrain_velocities()
    }

    /// Weak coupling and stochastic rescaling, at the end of a step.
    fn rescale(&mut self) -> Result<(), EngineError> {
        let (dt, step, philox) = (self.dynamics.timestep, self.state.step, self.philox);
        self.scale_groups(|thermostat, state| match thermostat.thermostat.kind {
            ThermostatKind::Langevin | ThermostatKind::NoseHoover { .. } => None,
            _ if !thermostat.acts(step, dt) => None,
            ThermostatKind::Bussi | ThermostatKind::Berendsen => Some(thermostat.rescale(
                motion::kinetic_energy_of(state, &thermostat.marked),
                dt,
                step,
                philox,
            )),
        })
    }

    fn nose_hoover_half(&mut self) -> Result<(), EngineError> {
        let dt = self.dynamics.timestep;
        self.scale_groups(|thermostat, state| match thermostat.thermostat.kind {
            ThermostatKind::NoseHoover { .. } => {
                Some(thermostat.nose_hoover_half(motion::kinetic_energy_of(state, &thermostat.marked), dt))
            }
            _ => None,
        })
    }

    fn scale_groups(
        &mut self,
        factor: impl Fn(&mut ActiveThermostat, &State) -> Option<f64>,
    ) -> Result<(), EngineError> {
        let mut factors: Option<Vec<f64>> = None;
        for thermostat in &mut self.thermostats {
            if let Some(f) = factor(thermostat, &self.state) {
                let all = factors.get_or_insert_with(|| vec![1.0; thermostat.marked.len()]);
                for (to, _) in all
                    .iter_mut()
                    .zip(&thermostat.marked)
                    .filter(|(_, marked)| **marked)
                {
                    *to = f;
                }
            }
        }
        if let Some(factors) = factors {
            motion::scale(&mut self.state, &factors, self.rounding);
            // Groups of different temperature may share a molecule.
            if factors.iter().any(|f| *f != factors[0]) {
                self.constrain_velocities()?;
            }
        }
        Ok(())
    }

    /// Whether the step that begins now changes the cell.
    fn barostat_is_due(&self) -> bool {
        let barostat = self.dynamics.barostat.as_ref();
        barostat.is_some_and(|b| self.state.step.is_multiple_of(b.every))
    }

    /// Scales the cell between drift and forces, so that the forces belong to the scaled positions. What constraints hold
    /// together is moved as a whole, and so the pressure that counts is that of the centers: without `inner`, the virial
    /// within such groups.
    fn barostat(&mut self, inner: [f64; 6]) -> Result<(), EngineError> {
        if !self.barostat_is_due() {
            return Ok(());
        }
        let Some(barostat) = &self.dynamics.barostat else {
            return Ok(());
        };
        // Virial of the step's start, kinetic energy of its middle.
        let mut kinetic = motion::kinetic_tensor(&self.state, &self.state.velocities);
        let within = self.inner_kinetic()?;
        (0..6).for_each(|k| kinetic[k] -= within[k] + inner[k]);
        let [x, y, z, ..] = self.pressure_tensor(&kinetic);
        let dt = self.dynamics.timestep * barostat.every as f64;
        let (kb, cell) = (self.units.boltzmann(), &self.state.cell);
        let factors = barostat.factors([x, y, z], cell, kb, dt, self.state.step, self.philox);
        if !factors.to_array().iter().all(|f| f.is_finite()) {
            let why = format!("pressure {x:.3e}, {y:.3e}, {z:.3e} cannot be followed");
            return Err(EngineError::Cell {
                step: self.state.step,
                why,
            });
        }
        self.constrained
            .check_reach(&self.state.cell.scaled(factors), self.state.step)?;
        let kind = barostat.kind;
        let of_velocities = factors.map(|f| kind.velocity_factor(f));
        self.scale_constrained(factors, of_velocities)?;
        self.state.cell = self.state.cell.scaled(factors);
        self.verlet.scale = self.verlet.scale.scale(factors);
        let constrained = &self.constrained;
        let State {
            positions,
            velocities,
            ..
        } = &mut self.state;
        positions
            .par_iter_mut()
            .zip(velocities)
            .enumerate()
            .with_min_len(BLOCK)
            .for_each(|(slot, (r, v))| {
                if constrained.is_free(slot) {
                    *r = r.scale(factors);
                    *v = v.scale(of_velocities);
                }
            });
        Ok(())
    }

    /// Forces at the positions now; with `energy`, energies and virials too.
    pub(super) fn evaluate(&mut self, energy: bool) -> Result<(), EngineError> {
        let began = Instant::now();
        let mut forces = std::mem::take(&mut self.state.forces);
        let mut torques = std::mem::take(&mut self.state.rotations.torques);
        let mut sums = self.pairs.forces(&mut forces, &mut torques, energy);
        for (sum, alone) in sums[self.field.pairs.len()..].iter_mut().zip(&self.self_energies) {
            sum.energy += alone;
        }
        self.stages.add("pairs", began);
        if !self.bonded.is_empty() {
            let began = Instant::now();
            let s = &self.state;
            let terms = self.bonded.add(
                &s.cell,
                &self.field,
                &s.slots(),
                &mut forces,
                &mut torques,
                energy,
            );
            sums.extend(terms);
            self.stages.add("bonded", began);
        }
        if let Some(long_range) = &mut self.long_range {
            let began = Instant::now();
            sums.extend(long_range.add(&self.state, &mut forces, energy)?);
            self.stages.add("mesh", began);
        }
        if self.rounding == Rounding::Single {
            for vectors in [&mut forces, &mut torques] {
                let all = vectors.par_iter_mut().with_min_len(BLOCK);
                all.for_each(|f| *f = f.map(|x| f64::from(x as f32)));
            }
        }
        self.state.rotations.torques = torques;
        self.state.forces = forces;
        if energy {
            self.sums = sums;
            self.sums_step = Some(self.state.step);
        }
        Ok(())
    }

    /// Who went wrong, from the forces and places of the last evaluation.
    pub(crate) fn diagnose(&self) -> EngineError {
        let culprit = diagnosis::culprit(&self.scene(), self.dynamics.timestep);
        EngineError::Exploded(Box::new(culprit))
    }

    /// Who went wrong in a step that another engine did. `system` has the positions before it and the velocities it
    /// led to.
    pub(crate) fn culprit_of_step(
        system: &System,
        field: &ForceField,
        dynamics: &Dynamics,
        step: u64,
    ) -> Result<Culprit, EngineError> {
        let settings = Settings {
            precision: Precision::Double,
            ..Settings::default()
        };
        let mut engine = Self::unevaluated(system, field, dynamics, &settings)?;
        engine.state.step = step;
        engine.state.wrap();
        engine.rebuild()?;
        engine.evaluate(false)?;
        Ok(diagnosis::culprit_of_step(&engine.scene(), dynamics.timestep))
    }

    fn scene(&self) -> Scene<'_> {
        Scene {
            state: &self.state,
            field: &self.field,
            exclusions: &self.exclusions,
            bonded: &self.bonded,
            verlet: &self.verlet,
        }
    }
}
