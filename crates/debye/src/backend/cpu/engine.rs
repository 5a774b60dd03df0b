//! [`CpuEngine`]: the state, its forces, and the steps that move it.

use std::time::Instant;

use rayon::prelude::*;

use super::bonded::{BondedForces, Slots};
use super::interactions::{Interactions, Typed};
use super::motion::{self, Rounding};
use super::pair::{Double, PairSums, Single};
use super::simd::InstructionSet;
use super::space::Sorted;
use super::state::{BLOCK, State};
use crate::backend::{Backend, EngineError, Lists, Observation, Precision, Settings, Stages};
use crate::expr::Vec3;
use crate::forces::{ForceField, TailCorrection};
use crate::integrate::{Bath, Dynamics, Scheme, ThermostatKind};
use crate::neighbors::{CountingSort, Grid};
use crate::random::Philox;
use crate::system::{Cell, Exclusions, Particles, System, Units};

/// Cost of a new list in units of one evaluation of the forces; only the choice of the buffer uses it.
const REBUILD_COST: f64 = 4.0;

/// A simulation on the CPU.
pub struct CpuEngine {
    pub(super) state: State,
    pub(super) dynamics: Dynamics,
    pub(super) baths: Vec<Bath>,
    pub(super) verlet: Verlet,
    field: ForceField,
    exclusions: Exclusions,
    units: Units,
    molecules: Vec<u32>,
    /// Masses, charges and species in the order of the input.
    original: (Vec<f64>, Vec<f64>, Vec<u32>),
    pairs: Box<dyn Interactions>,
    bonded: BondedForces,
    tail: TailCorrection,
    /// Energy and virial by term of the last evaluation that asked for them, and its step.
    pub(super) sums: Vec<PairSums>,
    pub(super) sums_step: Option<u64>,
    names: Vec<String>,
    degrees_of_freedom: f64,
    rounding: Rounding,
    set: InstructionSet,
    philox: Philox,
    stages: Stages,
}

/// What the list of neighbours was made from, and how long it holds.
#[derive(Clone, Debug)]
pub(super) struct Verlet {
    /// Largest cut-off.
    pub(super) cutoff: f64,
    /// The buffer asked for; `None` to choose.
    pub(super) fixed_buffer: Option<f64>,
    /// Everything within this distance was listed.
    pub(super) radius: f64,
    /// Positions then.
    pub(super) reference: Vec<Vec3<f64>>,
    /// Cell then.
    pub(super) reference_cell: Cell,
    /// By how much a barostat has scaled space since.
    pub(super) scale: Vec3<f64>,
    /// Step of the list.
    pub(super) step: u64,
    /// Lists made so far.
    pub(super) builds: u64,
}

impl CpuEngine {
    /// An engine at step 0, with forces and energies evaluated.
    pub fn new(
        system: &System,
        field: &ForceField,
        dynamics: &Dynamics,
        settings: &Settings,
    ) -> Result<Self, EngineError> {
        let mut engine = Self::unevaluated(system, field, dynamics, settings)?;
        engine.state.wrap();
        engine.rebuild()?;
        engine.evaluate(true)?;
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
        let set = settings.instruction_set.unwrap_or_else(InstructionSet::detect);
        let pairs: Box<dyn Interactions> = match settings.precision {
            Precision::Double => Box::new(Typed::<Double>::new(field, set)),
            Precision::Single | Precision::Mixed => Box::new(Typed::<Single>::new(field, set)),
        };
        let cutoff = field.cutoff();
        let n = system.particles.len() as f64;
        let bonded = BondedForces::new(system, field);
        let degrees_of_freedom = degrees_of_freedom(n, dynamics);
        let names = field
            .pairs
            .iter()
            .map(|t| t.name.clone())
            .chain(bonded.names())
            .collect();
        let state = State::new(system);
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
            },
            baths: baths(system, dynamics, degrees_of_freedom),
            tail: field.tail_correction(system),
            exclusions: system.exclusions.clone(),
            units: system.units,
            molecules: system.particles.molecules.clone(),
            original: (
                system.particles.masses.clone(),
                system.particles.charges.clone(),
                system.particles.species.clone(),
            ),
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
            pairs,
            bonded,
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
        match self.dynamics.scheme {
            Scheme::VelocityVerlet => {
                self.nose_hoover_half();
                if self.is_langevin() {
                    motion::kick_and_drift(&mut self.state, 0.5 * dt, 0.5 * dt, rounding);
                    self.langevin();
                    motion::drift(&mut self.state, 0.5 * dt, rounding);
                } else {
                    motion::kick_and_drift(&mut self.state, 0.5 * dt, dt, rounding);
                }
            }
            Scheme::Leapfrog => {
                motion::kick(&mut self.state, dt, rounding);
                self.rescale();
                motion::drift(&mut self.state, dt, rounding);
            }
        }
        self.barostat()?;
        self.state.step += 1;
        self.stages.add("integrate", began);
        self.refresh()?;
        let next_scales = self
            .dynamics
            .barostat
            .as_ref()
            .is_some_and(|b| self.state.step.is_multiple_of(b.every));
        self.evaluate(observe || next_scales)?;
        let began = Instant::now();
        if self.dynamics.scheme == Scheme::VelocityVerlet {
            motion::kick(&mut self.state, 0.5 * dt, rounding);
            self.rescale();
            self.nose_hoover_half();
        }
        let every = self.dynamics.remove_momentum_every;
        if every > 0 && self.state.step.is_multiple_of(every) {
            motion::remove_momentum(&mut self.state, rounding);
        }
        self.stages.add("integrate", began);
        Ok(())
    }

    fn is_langevin(&self) -> bool {
        self.baths
            .iter()
            .any(|b| b.thermostat.kind == ThermostatKind::Langevin)
    }

    fn langevin(&mut self) {
        let species = self.baths.first().map_or(0, |b| b.marked.len());
        let (mut keep, mut kt) = (vec![1.0; species], vec![0.0; species]);
        for bath in self
            .baths
            .iter()
            .filter(|b| b.thermostat.kind == ThermostatKind::Langevin)
        {
            for s in (0..species).filter(|&s| bath.marked[s]) {
                keep[s] = (-self.dynamics.timestep / bath.thermostat.time).exp();
                kt[s] = bath.kt;
            }
        }
        motion::ornstein_uhlenbeck(&mut self.state, &keep, &kt, self.philox, self.rounding);
    }

    /// Weak coupling and stochastic rescaling, at the end of a step.
    fn rescale(&mut self) {
        let (dt, step, philox) = (self.dynamics.timestep, self.state.step, self.philox);
        self.scale_groups(|bath, state| match bath.thermostat.kind {
            ThermostatKind::Bussi | ThermostatKind::Berendsen => {
                Some(bath.rescale(motion::kinetic_energy_of(state, &bath.marked), dt, step, philox))
            }
            _ => None,
        });
    }

    fn nose_hoover_half(&mut self) {
        let dt = self.dynamics.timestep;
        self.scale_groups(|bath, state| match bath.thermostat.kind {
            ThermostatKind::NoseHoover { .. } => {
                Some(bath.nose_hoover_half(motion::kinetic_energy_of(state, &bath.marked), dt))
            }
            _ => None,
        });
    }

    fn scale_groups(&mut self, factor: impl Fn(&mut Bath, &State) -> Option<f64>) {
        let mut factors: Option<Vec<f64>> = None;
        for bath in &mut self.baths {
            if let Some(f) = factor(bath, &self.state) {
                let all = factors.get_or_insert_with(|| vec![1.0; bath.marked.len()]);
                for (to, _) in all.iter_mut().zip(&bath.marked).filter(|(_, marked)| **marked) {
                    *to = f;
                }
            }
        }
        if let Some(factors) = factors {
            motion::scale(&mut self.state, &factors, self.rounding);
        }
    }

    /// Scales the cell between drift and forces, so that the forces belong to the scaled positions.
    fn barostat(&mut self) -> Result<(), EngineError> {
        let Some(barostat) = &self.dynamics.barostat else {
            return Ok(());
        };
        if !self.state.step.is_multiple_of(barostat.every) {
            return Ok(());
        }
        // Virial of the step's start, kinetic energy of its middle.
        let [x, y, z, ..] =
            self.pressure_tensor(&motion::kinetic_tensor(&self.state, &self.state.velocities));
        let dt = self.dynamics.timestep * barostat.every as f64;
        let (kb, volume) = (self.units.boltzmann(), self.state.cell.volume());
        let factors = barostat.factors([x, y, z], volume, kb, dt, self.state.step, self.philox);
        if !factors.to_array().iter().all(|f| f.is_finite()) {
            let why = format!("pressure {x:.3e}, {y:.3e}, {z:.3e} cannot be followed");
            return Err(EngineError::Cell {
                step: self.state.step,
                why,
            });
        }
        let back = factors.map(|f| 1.0 / f);
        let rescales = barostat.kind == crate::integrate::BarostatKind::CellRescale;
        self.state.cell = self.state.cell.scaled(factors);
        self.verlet.scale = self.verlet.scale.scale(factors);
        let State {
            positions,
            velocities,
            ..
        } = &mut self.state;
        positions
            .par_iter_mut()
            .zip(velocities)
            .with_min_len(BLOCK)
            .for_each(|(r, v)| {
                *r = r.scale(factors);
                if rescales {
                    *v = v.scale(back);
                }
            });
        Ok(())
    }

    /// Brings the list up to date: a new one where any pair may have come too close unseen.
    pub(super) fn refresh(&mut self) -> Result<(), EngineError> {
        let began = Instant::now();
        let v = &self.verlet;
        let [first, second] = motion::largest_displacements(&self.state.positions, &v.reference, v.scale);
        let heights = self.state.cell.heights();
        let longest = heights.x.max(heights.y).max(heights.z).max(4.0 * v.radius);
        if first.is_nan() || first > longest {
            return Err(self.diagnose());
        }
        let shrink = v.scale.x.min(v.scale.y).min(v.scale.z);
        let left = if v.cutoff > 0.0 {
            v.radius * shrink - v.cutoff - first - second
        } else {
            // No pairs: particles are only wrapped now and then.
            0.1 * heights.x.min(heights.y).min(heights.z) - first
        };
        if left < 0.0 {
            self.choose_buffer(first + second);
            self.state.wrap();
            self.rebuild()?;
        } else {
            self.pairs.update(&self.state.cell, &self.state.positions);
            self.stages.add("positions", began);
        }
        Ok(())
    }

    /// The buffer b for which (r_c + b)³ (1 + B w/b) is smallest: forces cost as the volume of the
    /// list, lists B times that every b/w steps, w being how fast the two fastest particles moved.
    fn choose_buffer(&mut self, moved: f64) {
        let v = &mut self.verlet;
        let buffer = v.fixed_buffer.unwrap_or_else(|| {
            let steps = (self.state.step - v.step).max(1) as f64;
            let bw = REBUILD_COST * moved / steps;
            let best = ((4.0 * bw * bw + 12.0 * bw * v.cutoff).sqrt() - 2.0 * bw) / 6.0;
            best.clamp(0.03 * v.cutoff, 0.5 * v.cutoff)
        });
        v.radius = v.cutoff + buffer;
    }

    /// Sorts the particles and makes a new list.
    fn rebuild(&mut self) -> Result<(), EngineError> {
        let began = Instant::now();
        let radius = self.verlet.radius;
        let grid = Grid::over(&self.state.cell, &self.state.positions, radius);
        let sort = sort_into(&grid, &self.state.positions);
        self.state.sort(sort.order());
        self.verlet.reference = self.state.positions.clone();
        self.verlet.reference_cell = self.state.cell;
        self.verlet.scale = Vec3::splat(1.0);
        self.verlet.step = self.state.step;
        self.verlet.builds += 1;
        self.stages.add("sort", began);
        let began = Instant::now();
        self.list(&grid, sort.starts());
        self.stages.add("neighbours", began);
        Ok(())
    }

    /// The list of the reference positions, which are in the order of `grid`.
    fn list(&mut self, grid: &Grid, starts: &[u32]) {
        let cells: Vec<u32> = self
            .verlet
            .reference
            .par_iter()
            .with_min_len(BLOCK)
            .map(|&r| grid.cell_of(r))
            .collect();
        let sorted = Sorted {
            grid,
            cells: &cells,
            starts,
            positions: &self.verlet.reference,
            species: &self.state.species,
            charges: &self.state.charges,
            ids: &self.state.ids,
            exclusions: &self.exclusions,
        };
        self.pairs
            .rebuild(&self.verlet.reference_cell, &sorted, self.verlet.radius);
    }

    /// Makes the list of a restored state again, bit for bit.
    pub(super) fn restore_list(&mut self) {
        let grid = Grid::over(
            &self.verlet.reference_cell,
            &self.verlet.reference,
            self.verlet.radius,
        );
        let sort = sort_into(&grid, &self.verlet.reference);
        self.list(&grid, sort.starts());
        self.pairs.update(&self.state.cell, &self.state.positions);
    }

    /// Forces at the positions now; with `energy`, energies and virials too.
    pub(super) fn evaluate(&mut self, energy: bool) -> Result<(), EngineError> {
        let began = Instant::now();
        let mut forces = std::mem::take(&mut self.state.forces);
        let mut sums = self.pairs.forces(&mut forces, energy);
        self.stages.add("pairs", began);
        if !self.bonded.is_empty() {
            let began = Instant::now();
            let s = &self.state;
            let slots = Slots {
                ids: &s.ids,
                slot_of: &s.slot_of,
                positions: &s.positions,
                species: &s.species,
                charges: &s.charges,
            };
            sums.extend(self.bonded.add(&s.cell, &self.field, &slots, &mut forces));
            self.stages.add("bonded", began);
        }
        if self.rounding == Rounding::Single {
            forces
                .par_iter_mut()
                .with_min_len(BLOCK)
                .for_each(|f| *f = f.map(|x| f64::from(x as f32)));
        }
        self.state.forces = forces;
        if energy {
            self.sums = sums;
            self.sums_step = Some(self.state.step);
        }
        Ok(())
    }

    /// Energies and pressure now.
    pub fn observe(&mut self) -> Result<Observation, EngineError> {
        if self.sums_step != Some(self.state.step) {
            self.evaluate(true)?;
        }
        let kinetic = motion::kinetic_tensor(&self.state, &self.velocities_now());
        let mut terms: Vec<(String, f64)> = self
            .names
            .iter()
            .zip(&self.sums)
            .map(|(name, sum)| (name.clone(), sum.energy))
            .collect();
        if self.tail.present {
            terms.push(("tail".into(), self.tail.energy(self.state.cell.volume())));
        }
        let energy = 0.5 * (kinetic[0] + kinetic[1] + kinetic[2]);
        let kept = !self.is_langevin() && self.dynamics.barostat.is_none();
        Ok(Observation {
            step: self.state.step,
            time: self.state.step as f64 * self.dynamics.timestep,
            potential: terms.iter().map(|t| t.1).sum(),
            terms,
            kinetic: energy,
            bath: kept.then(|| self.baths.iter().map(Bath::energy).sum()),
            temperature: 2.0 * energy / (self.degrees_of_freedom * self.units.boltzmann()),
            degrees_of_freedom: self.degrees_of_freedom,
            pressure_tensor: self.pressure_tensor(&kinetic),
            cell: self.state.cell,
        })
    }

    /// (Σ m v⊗v + Σ r⊗F)/V and the tail's pressure, from the virials of the last evaluation.
    fn pressure_tensor(&self, kinetic: &[f64; 6]) -> [f64; 6] {
        let volume = self.state.cell.volume();
        let mut virial = [0.0; 6];
        for sum in &self.sums {
            virial.iter_mut().zip(sum.virial).for_each(|(t, w)| *t += w);
        }
        let mut tensor: [f64; 6] = std::array::from_fn(|k| (kinetic[k] + virial[k]) / volume);
        if self.tail.present {
            tensor[..3]
                .iter_mut()
                .for_each(|p| *p += self.tail.pressure(volume));
        }
        tensor
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
                    *v += f * (half / m);
                });
        }
        velocities
    }

    /// The particles now, in the order of the input.
    pub fn particles(&self) -> Particles {
        self.state.particles(&self.velocities_now(), &self.molecules)
    }

    /// Forces on the particles, in the order of the input.
    pub fn forces(&self) -> Vec<Vec3<f64>> {
        self.state.unsorted(&self.state.forces)
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
    }

    /// Masses, charges and species in the order of the input.
    pub(super) fn original(&self) -> (Vec<f64>, Vec<f64>, Vec<u32>) {
        self.original.clone()
    }

    /// Who went wrong, from the forces and places of the last evaluation.
    fn diagnose(&self) -> EngineError {
        EngineError::Exploded(Box::new(super::diagnosis::culprit(
            &self.state,
            &self.field,
            &self.verlet,
            self.dynamics.timestep,
        )))
    }
}

impl Backend for CpuEngine {
    fn device(&self) -> String {
        format!(
            "CPU, {} threads, {}",
            rayon::current_num_threads(),
            self.set.name()
        )
    }
    fn advance(&mut self, steps: u64, observe: bool) -> Result<(), EngineError> {
        self.advance(steps, observe)
    }
    fn minimise(&mut self, fire: super::Fire) -> Result<super::Minimised, EngineError> {
        self.minimise(fire)
    }
    fn observe(&mut self) -> Result<Observation, EngineError> {
        self.observe()
    }
    fn particles(&self) -> Particles {
        self.particles()
    }
    fn forces(&self) -> Vec<Vec3<f64>> {
        self.forces()
    }
    fn step_number(&self) -> u64 {
        self.step_number()
    }
    fn cell(&self) -> Cell {
        self.cell()
    }
    fn save(&self) -> Vec<u8> {
        self.save()
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
}

fn sort_into(grid: &Grid, positions: &[Vec3<f64>]) -> CountingSort {
    let keys: Vec<u32> = positions
        .par_iter()
        .with_min_len(BLOCK)
        .map(|&r| grid.cell_of(r))
        .collect();
    let mut sort = CountingSort::new();
    // The keys are cells of the grid, so the sort cannot refuse them.
    if sort.sort(&keys, grid.cells()).is_err() {
        debug_assert!(false, "a cell outside the grid");
    }
    sort
}

/// 3N less the motion of the centre of mass, unless a Langevin thermostat drives that too.
fn degrees_of_freedom(n: f64, dynamics: &Dynamics) -> f64 {
    let langevin = dynamics
        .thermostats
        .iter()
        .any(|t| t.kind == ThermostatKind::Langevin);
    let free = if langevin && dynamics.remove_momentum_every == 0 {
        3.0 * n
    } else {
        3.0 * n - 3.0
    };
    free.max(1.0)
}

fn baths(system: &System, dynamics: &Dynamics, degrees_of_freedom: f64) -> Vec<Bath> {
    let p = &system.particles;
    dynamics
        .thermostats
        .iter()
        .enumerate()
        .map(|(number, t)| {
            let belongs = |s: u32| t.species.is_empty() || t.species.contains(&s);
            let count = p.species.iter().filter(|&&s| belongs(s)).count() as f64;
            let share = degrees_of_freedom * count / p.len() as f64;
            Bath::new(
                t,
                number as u32,
                system.species.len(),
                share,
                system.units.boltzmann(),
            )
        })
        .collect()
}
