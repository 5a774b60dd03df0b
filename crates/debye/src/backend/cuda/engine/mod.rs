//! [`CudaEngine`]: a simulation that lives on a device.
//!
//! A graph of [new list if the old one is stale][K steps] is replayed; every step returns at once when an earlier one
//! made the list stale, when the target is reached or when something did not fit, so that the host looks only now and
//! then. What is computed does not depend on how the steps are cut into graphs.

mod arrays;
mod diagnosis;
mod kernels;
mod layout;
mod needs;
mod resident;
mod save;
mod state;
mod terms;
mod watch;

use std::cell::RefCell;
use std::time::Instant;

use diagnosis::Witness;
use kernels::Values;
use layout::Layout;
use resident::Resident;
use terms::Terms;

use super::{CudaError, Device, ModuleSource};
use crate::backend::cpu::{Fire, ListSize, Minimised};
use crate::backend::{
    Backend, DeviceUse, EngineError, Lists, Needs, Observation, Precision, Settings, Stages,
};
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
    resident: RefCell<Resident>,
    cell: Cell,
    units: Units,
    timestep: f64,
    langevin: bool,
    degrees_of_freedom: f64,
    names: Vec<String>,
    tail: TailCorrection,
    /// What does not change, and what is needed to say why a step went wrong.
    witness: Witness,
    /// Particles before a step that went wrong.
    wreck: Option<Particles>,
    radius: f64,
    step: u64,
    /// Step and lists it began or went on from.
    began: (u64, u64),
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
        let engine = Self::unevaluated(device, system, field, dynamics, settings)?;
        {
            let mut resident = engine.resident.borrow_mut();
            resident.place(&system.particles, &engine.cell)?;
            // Velocities are kept half a kick behind.
            resident.settle()?;
            let sums = resident.evaluate()?;
            engine
                .witness
                .check_start(&sums[..engine.names.len() + 6], settings)?;
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
        let mut engine = Self::unevaluated(device, system, field, dynamics, settings)?;
        engine.restore(saved)?;
        Ok(engine)
    }

    /// The device memory that a simulation will take; refused where it is not free.
    pub fn needs(
        device: &Device,
        system: &System,
        field: &ForceField,
        dynamics: &Dynamics,
        settings: &Settings,
    ) -> Result<Needs, EngineError> {
        refuse(system, field, dynamics, settings)?;
        let (terms, layout, radius) = planned(system, field, dynamics, settings)?;
        needs::check(device, &layout, &terms, radius)
    }

    fn unevaluated(
        device: &Device,
        system: &System,
        field: &ForceField,
        dynamics: &Dynamics,
        settings: &Settings,
    ) -> Result<Self, EngineError> {
        refuse(system, field, dynamics, settings)?;
        let witness = Witness::new(system, field, dynamics, settings)?;
        let cutoff = field.cutoff();
        let (terms, layout, radius) = planned(system, field, dynamics, settings)?;
        let lengths = system.cell.heights();
        let langevin = terms.langevin;
        let values = Values {
            lengths,
            dt: dynamics.timestep,
            seed: dynamics.seed,
            radius,
            buffer: radius - cutoff,
        };
        let info = device.info();
        Ok(Self {
            device: format!("CUDA, {}, deterministic", info.name),
            resident: RefCell::new(Resident::new(device, layout, terms, values)?),
            cell: system.cell,
            units: system.units,
            timestep: dynamics.timestep,
            langevin,
            degrees_of_freedom: dynamics.degrees_of_freedom(system.particles.len()),
            names: field.pairs.iter().map(|t| t.name.clone()).collect(),
            tail: field.tail_correction(system),
            witness,
            wreck: None,
            radius,
            step: 0,
            began: (0, 0),
            stages: Stages::default(),
        })
    }
}

/// Terms and layout of a simulation, and the radius of its lists.
fn planned(
    system: &System,
    field: &ForceField,
    dynamics: &Dynamics,
    settings: &Settings,
) -> Result<(Terms, Layout, f64), EngineError> {
    let cutoff = field.cutoff();
    let radius = cutoff + settings.buffer.unwrap_or(0.16 * cutoff);
    let lengths = system.cell.heights();
    if 2.0 * radius > lengths.x.min(lengths.y).min(lengths.z) {
        let shortest = lengths.x.min(lengths.y).min(lengths.z);
        return Err(unsupported(format!(
            "cells shorter ({shortest:.4}) than twice the radius of the lists ({radius:.4})"
        )));
    }
    let terms = Terms::new(system, field, dynamics)?;
    let wrapped: Vec<_> = system
        .particles
        .positions
        .iter()
        .map(|&r| system.cell.wrap(r).0)
        .collect();
    Ok((terms, Layout::new(&wrapped, lengths, radius)?, radius))
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
    no(!cell.is_orthorhombic(), "triclinic cells")?;
    no(cell.periodic() != [true; 3], "open boundaries")?;
    no(field.pairs.is_empty(), "systems without pair terms")?;
    let bonded = field.bonds.len() + field.angles.len() + field.dihedrals.len() + field.impropers.len();
    no(
        bonded > 0 || !system.exclusions.is_empty(),
        "bonded terms and exclusions",
    )?;
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
        if let Err(error) = done {
            return Err(self.explained(error));
        }
        self.step += steps;
        if observe {
            let began = Instant::now();
            let resident = self.resident.get_mut();
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
        if let Some(particles) = &self.wreck {
            return Ok(particles.clone());
        }
        let like = &self.witness.system.particles;
        self.resident.borrow_mut().particles(like, &self.cell)
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
        self.saved()
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
                bytes: resident.needs().of("lists") + resident.needs().of("stages"),
            },
        }
    }

    fn bytes(&self) -> usize {
        self.resident.borrow().needs().total()
    }

    fn barostat_held(&self) -> u64 {
        0
    }

    fn device_use(&self) -> Option<DeviceUse> {
        let mut all = self.resident.borrow().device_use(self.step - self.began.0);
        all.lists -= self.began.1;
        Some(all)
    }

    fn profile(&mut self, after: u64, steps: u64) -> bool {
        self.resident.get_mut().profile(self.step + after, steps);
        true
    }
}
