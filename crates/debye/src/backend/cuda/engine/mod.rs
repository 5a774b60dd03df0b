//! [`CudaEngine`]: a simulation that lives on a device.
//!
//! A graph of [new list if the old one is stale][K steps] is replayed; every step returns at once when an earlier one
//! made the list stale, when the target is reached or when something did not fit, so that the host looks only now and
//! then. What is computed does not depend on how the steps are cut into graphs.
//!
//! Small systems have a layout of their own ([`small`]): one kernel that stays on the device for many steps.

mod arrays;
mod choice;
mod kernels;
mod layout;
mod resident;
mod save;
mod skeleton;
mod small;
mod state;
mod terms;

pub use choice::Choice;

use std::cell::RefCell;
use std::time::Instant;

use kernels::Values;
use layout::Layout;
use resident::Resident;
use skeleton::Skeleton;
use small::{Small, SmallValues};
use terms::Terms;

use super::{CudaError, Device, ModuleSource};
use crate::backend::cpu::{Fire, ListSize, Minimised};
use crate::backend::{Backend, EngineError, Lists, Observation, Precision, Settings, Stages};
use crate::expr::Vec3;
use crate::forces::{ForceField, TailCorrection};
use crate::integrate::{Dynamics, Scheme, ThermostatKind};
use crate::system::{Cell, Particles, System, Units};

fn unsupported(what: String) -> EngineError {
    EngineError::Unsupported(format!(
        "the CUDA engine of this version does not do {what}; `--device cpu` does"
    ))
}

impl From<CudaError> for EngineError {
    fn from(error: CudaError) -> Self {
        Self::Device(error.to_string())
    }
}

/// A simulation on a CUDA device, or on the emulation of one.
pub struct CudaEngine {
    resident: RefCell<Box<dyn Skeleton>>,
    cell: Cell,
    units: Units,
    timestep: f64,
    langevin: bool,
    degrees_of_freedom: f64,
    names: Vec<String>,
    tail: TailCorrection,
    /// Species, masses, charges and molecules never change.
    particles: Particles,
    radius: f64,
    step: u64,
    stages: Stages,
    device: String,
}

impl CudaEngine {
    /// An engine at step 0.
    pub fn new(
        device: &Device,
        system: &System,
        field: &ForceField,
        dynamics: &Dynamics,
        settings: &Settings,
    ) -> Result<Self, EngineError> {
        Self::with_choice(device, system, field, dynamics, settings, &Choice::default())
    }

    /// The same, laid out as told; for tests and measurements.
    #[doc(hidden)]
    pub fn with_choice(
        device: &Device,
        system: &System,
        field: &ForceField,
        dynamics: &Dynamics,
        settings: &Settings,
        choice: &Choice,
    ) -> Result<Self, EngineError> {
        let engine = Self::unevaluated(device, system, field, dynamics, settings, choice)?;
        {
            let mut resident = engine.resident.borrow_mut();
            resident.place(&system.particles, &engine.cell)?;
            // Velocities are kept half a kick behind.
            resident.settle()?;
            resident.evaluate()?;
            resident.kick_back()?;
            resident.evaluate()?;
        }
        Ok(engine)
    }

    /// An engine that goes on from a saved state.
    pub fn resumed(
        device: &Device,
        system: &System,
        field: &ForceField,
        dynamics: &Dynamics,
        settings: &Settings,
        saved: &[u8],
    ) -> Result<Self, EngineError> {
        let choice = Choice::default();
        Self::resumed_with_choice(device, system, field, dynamics, settings, &choice, saved)
    }

    /// The same, laid out as told; for tests.
    #[doc(hidden)]
    pub fn resumed_with_choice(
        device: &Device,
        system: &System,
        field: &ForceField,
        dynamics: &Dynamics,
        settings: &Settings,
        choice: &Choice,
        saved: &[u8],
    ) -> Result<Self, EngineError> {
        let mut engine = Self::unevaluated(device, system, field, dynamics, settings, choice)?;
        engine.step = engine.resident.get_mut().restore(saved)?;
        Ok(engine)
    }

    fn unevaluated(
        device: &Device,
        system: &System,
        field: &ForceField,
        dynamics: &Dynamics,
        settings: &Settings,
        choice: &Choice,
    ) -> Result<Self, EngineError> {
        let cutoff = field.cutoff();
        let asked = choice.buffer.or(settings.buffer);
        let small = choice.is_small(system.particles.len(), &system.cell, cutoff, asked);
        refuse(system, field, dynamics, settings, small)?;
        let terms = Terms::new(system, field, dynamics)?;
        let langevin = terms.langevin;
        let (radius, resident) = if small {
            let buffer = asked.unwrap_or_else(|| choice::buffer(&system.cell, cutoff));
            let values = SmallValues {
                cell: system.cell,
                dt: dynamics.timestep,
                seed: dynamics.seed,
                radius: cutoff + buffer,
                buffer,
            };
            let small = Small::new(device, system, terms, values, choice)?;
            (values.radius, Box::new(small) as Box<dyn Skeleton>)
        } else {
            let radius = cutoff + asked.unwrap_or(0.16 * cutoff);
            let large = large(device, system, dynamics, terms, radius, radius - cutoff)?;
            (radius, Box::new(large) as Box<dyn Skeleton>)
        };
        let info = device.info();
        Ok(Self {
            device: format!("CUDA, {}, deterministic", info.name),
            resident: RefCell::new(resident),
            cell: system.cell,
            units: system.units,
            timestep: dynamics.timestep,
            langevin,
            degrees_of_freedom: dynamics.degrees_of_freedom(system.particles.len()),
            names: field.pairs.iter().map(|t| t.name.clone()).collect(),
            tail: field.tail_correction(system),
            particles: system.particles.clone(),
            radius,
            step: 0,
            stages: Stages::default(),
        })
    }
}

/// The layout of a system that is not small.
fn large(
    device: &Device,
    system: &System,
    dynamics: &Dynamics,
    terms: Terms,
    radius: f64,
    buffer: f64,
) -> Result<Resident, EngineError> {
    let lengths = system.cell.heights();
    let shortest = lengths.x.min(lengths.y).min(lengths.z);
    if 2.0 * radius > shortest {
        return Err(unsupported(format!(
            "cells shorter ({shortest:.4}) than twice the radius of the lists ({radius:.4}) with so many particles"
        )));
    }
    let wrapped: Vec<_> = system
        .particles
        .positions
        .iter()
        .map(|&r| system.cell.wrap(r).0)
        .collect();
    let layout = Layout::new(&wrapped, lengths, radius)?;
    let values = Values {
        lengths,
        dt: dynamics.timestep,
        seed: dynamics.seed,
        radius,
        buffer,
    };
    Resident::new(device, layout, terms, values)
}

/// The module that a small simulation would use on a device of so many multiprocessors.
pub(super) fn small_module(
    system: &System,
    field: &ForceField,
    dynamics: &Dynamics,
    multiprocessors: u32,
    choice: &Choice,
) -> Result<ModuleSource, EngineError> {
    let (terms, cutoff) = (Terms::new(system, field, dynamics)?, field.cutoff());
    let buffer = choice::buffer(&system.cell, cutoff);
    let values = SmallValues {
        cell: system.cell,
        dt: dynamics.timestep,
        seed: dynamics.seed,
        radius: cutoff + buffer,
        buffer,
    };
    Ok(small::variant(multiprocessors, system, &values, choice).source(&terms))
}

/// The modules that a simulation would use.
pub(super) fn modules(
    system: &System,
    field: &ForceField,
    dynamics: &Dynamics,
    radius: f64,
) -> Result<[ModuleSource; 2], EngineError> {
    let terms = Terms::new(system, field, dynamics)?;
    let layout = Layout::new(&system.particles.positions, system.cell.heights(), radius)?;
    Ok(kernels::sources(&layout, &terms))
}

/// What is not there yet.
fn refuse(
    system: &System,
    field: &ForceField,
    dynamics: &Dynamics,
    settings: &Settings,
    small: bool,
) -> Result<(), EngineError> {
    let no = |condition: bool, what: &str| {
        if condition {
            Err(unsupported(what.into()))
        } else {
            Ok(())
        }
    };
    if system.particles.is_empty() {
        return Err(EngineError::Empty);
    }
    let cell = &system.cell;
    no(
        settings.precision != Precision::Mixed,
        "single or double precision",
    )?;
    no(!small && !cell.is_orthorhombic(), "triclinic cells")?;
    no(cell.periodic() != [true; 3], "open boundaries")?;
    no(field.pairs.is_empty(), "systems without pair terms")?;
    let bonded = field.bonds.len() + field.angles.len() + field.dihedrals.len() + field.impropers.len();
    no(
        bonded > 0 || !system.exclusions.scaled.is_empty(),
        "bonded terms and scaled pairs",
    )?;
    no(!small && !system.exclusions.is_empty(), "exclusions")?;
    no(dynamics.barostat.is_some(), "barostats")?;
    no(
        dynamics
            .thermostats
            .iter()
            .any(|t| t.kind != ThermostatKind::Langevin),
        "thermostats other than Langevin's",
    )?;
    no(
        dynamics.remove_momentum_every > 0,
        "the removal of momentum while running",
    )?;
    no(
        settings.drift_tolerance.is_some(),
        "lists that may miss pairs (`drift_tolerance`)",
    )?;
    no(dynamics.scheme == Scheme::Leapfrog, "leapfrog")
}

impl Backend for CudaEngine {
    fn device(&self) -> String {
        self.device.clone()
    }

    fn advance(&mut self, steps: u64, observe: bool) -> Result<(), EngineError> {
        let began = Instant::now();
        let resident = self.resident.get_mut();
        let done = resident.advance(self.step + steps);
        self.stages.add("steps", began);
        done?;
        self.step += steps;
        if observe {
            let began = Instant::now();
            resident.settle()?;
            resident.evaluate()?;
            self.stages.add("observe", began);
        }
        Ok(())
    }

    fn minimise(&mut self, _: Fire, _: &mut dyn FnMut(u64) -> bool) -> Result<Minimised, EngineError> {
        Err(unsupported("minimisation".into()))
    }

    fn observe(&mut self) -> Result<Observation, EngineError> {
        let resident = self.resident.get_mut();
        resident.settle()?;
        let sums = resident.evaluate()?;
        let (energies, rest) = sums.split_at(self.names.len());
        let (virial, kinetic) = rest.split_at(6);
        let mut terms: Vec<_> = self.names.iter().cloned().zip(energies.iter().copied()).collect();
        let volume = self.cell.volume();
        if self.tail.present {
            terms.push(("tail".into(), self.tail.energy(volume)));
        }
        let mut tensor: [f64; 6] = std::array::from_fn(|k| (kinetic[k] + virial[k]) / volume);
        if self.tail.present {
            tensor[..3]
                .iter_mut()
                .for_each(|p| *p += self.tail.pressure(volume));
        }
        let energy = 0.5 * (kinetic[0] + kinetic[1] + kinetic[2]);
        Ok(Observation {
            step: self.step,
            time: self.step as f64 * self.timestep,
            potential: terms.iter().map(|t| t.1).sum(),
            terms,
            kinetic: energy,
            bath: (!self.langevin).then_some(0.0),
            temperature: 2.0 * energy / (self.degrees_of_freedom * self.units.boltzmann()),
            degrees_of_freedom: self.degrees_of_freedom,
            pressure_tensor: tensor,
            cell: self.cell,
        })
    }

    fn particles(&self) -> Result<Particles, EngineError> {
        self.resident.borrow_mut().particles(&self.particles, &self.cell)
    }

    fn forces(&self) -> Result<Vec<Vec3<f64>>, EngineError> {
        self.resident.borrow_mut().forces()
    }

    fn step_number(&self) -> u64 {
        self.step
    }

    fn cell(&self) -> Cell {
        self.cell
    }

    fn save(&self) -> Result<Vec<u8>, EngineError> {
        self.resident.borrow_mut().saved()
    }

    fn stages(&self) -> &Stages {
        &self.stages
    }

    fn lists(&self) -> Lists {
        let resident = self.resident.borrow();
        Lists {
            builds: u64::from(resident.builds()),
            radius: self.radius,
            size: ListSize {
                entries: resident.pairs(),
                pairs: resident.pairs(),
                images: 0,
                bytes: resident.bytes(),
            },
        }
    }

    fn bytes(&self) -> usize {
        self.resident.borrow().bytes()
    }

    fn barostat_held(&self) -> u64 {
        0
    }
}
