//! [`Rules`]: thermostats that scale velocities, the removal of momentum and barostats, as the kernels know them.

use super::unsupported;
use crate::engines::EngineError;
use crate::forces::TailCorrection;
use crate::integrate::{Bath, Dynamics, MotionState, Scheme, ThermostatKind};
use crate::system::System;

/// The most links of a chain, and groups of particles; as in the kernels.
const MOST_LINKS: usize = 16;
const MOST_GROUPS: usize = 8;

/// A thermostat and its memory; as in the kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct DeviceBath {
    freedom: f64,
    kt: f64,
    time: f64,
    pub(super) given: f64,
    pub(super) links: [[f64; 2]; MOST_LINKS],
    kind: u32,
    chain: u32,
    number: u32,
    unused: u32,
}

/// What happens to the velocities of a group; as in the kernels.
#[derive(Clone, Copy, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct Group {
    factor: f64,
    shift: [f64; 3],
}

/// Numbers that do not change; as in the kernels.
#[derive(Clone, Copy, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct Numbers {
    mass: [f64; MOST_GROUPS],
    boltzmann: f64,
    tail: f64,
    pressure: [f64; 3],
    compressibility: [f64; 3],
    time: f64,
    temperature: f64,
    /// The step that the engine began at: nothing of the step before it is left to do.
    pub(super) first: u64,
    rescales: u32,
    coupling: u32,
    baths: u32,
    leapfrog: u32,
}

/// The state of a descent; as in the kernels.
#[derive(Clone, Copy, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct Fire {
    pub(super) tolerance: f64,
    pub(super) longest: f64,
    pub(super) first: f64,
    pub(super) dt: f64,
    pub(super) alpha: f64,
    pub(super) keep: f64,
    pub(super) mix: f64,
    pub(super) downhill: u64,
    pub(super) largest: u64,
}
debye_gpu::cuda_struct!(DeviceBath, Group, Numbers, Fire);

/// Whether a thermostat scales velocities.
pub(super) fn scales(kind: ThermostatKind) -> bool {
    kind != ThermostatKind::Langevin
}

/// The kind of a thermostat in the kernels.
pub(super) fn number_of(kind: ThermostatKind) -> u32 {
    match kind {
        ThermostatKind::Langevin => 0,
        ThermostatKind::Bussi => 1,
        ThermostatKind::Berendsen => 2,
        ThermostatKind::NoseHoover { .. } => 3,
    }
}

/// What needs sums over all particles.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub(super) numbers: Numbers,
    /// Thermostats that scale velocities, each with a group of particles; one more group is for the rest.
    pub(super) baths: Vec<DeviceBath>,
    /// The group of each species.
    pub(super) group_of: Vec<u32>,
    pub(super) remove_every: u32,
    pub(super) scale_every: u32,
    /// How often the barostat was held back before.
    pub(super) held: u32,
}

impl Rules {
    pub(super) fn new(
        system: &System,
        dynamics: &Dynamics,
        tail: &TailCorrection,
        start: &MotionState,
    ) -> Result<Self, EngineError> {
        let mut baths = Vec::new();
        let all = Bath::all(system, dynamics);
        let mut group_of = vec![u32::MAX; system.species.len()];
        for (number, bath) in all.iter().enumerate().filter(|(_, b)| scales(b.thermostat.kind)) {
            if bath.chain.len() > MOST_LINKS {
                return Err(unsupported(format!(
                    "Nosé–Hoover chains of {} links (at most {MOST_LINKS})",
                    bath.chain.len()
                )));
            }
            for (group, _) in group_of
                .iter_mut()
                .zip(&bath.marked)
                .filter(|(_, marked)| **marked)
            {
                *group = baths.len() as u32;
            }
            let state = start.thermostats.get(number);
            let mut links = [[0.0; 2]; MOST_LINKS];
            for (link, from) in links.iter_mut().zip(state.iter().flat_map(|s| &s.chain)) {
                *link = *from;
            }
            baths.push(DeviceBath {
                given: state.map_or(0.0, |s| s.given),
                links,
                freedom: bath.degrees_of_freedom,
                kt: bath.kt,
                time: bath.thermostat.time,
                kind: number_of(bath.thermostat.kind),
                chain: bath.chain.len() as u32,
                number: number as u32,
                ..DeviceBath::default()
            });
        }
        if baths.len() >= MOST_GROUPS {
            return Err(unsupported(format!(
                "{} thermostats that scale velocities",
                baths.len()
            )));
        }
        group_of
            .iter_mut()
            .for_each(|group| *group = (*group).min(baths.len() as u32));
        let mut numbers = Numbers {
            boltzmann: system.units.boltzmann(),
            tail: tail.pressure(1.0),
            first: start.step,
            baths: baths.len() as u32,
            leapfrog: u32::from(dynamics.scheme == Scheme::Leapfrog),
            ..Numbers::default()
        };
        let p = &system.particles;
        for (&species, mass) in p.species.iter().zip(&p.masses) {
            numbers.mass[group_of[species as usize] as usize] += mass;
        }
        let every = |steps: u64| u32::try_from(steps).unwrap_or(u32::MAX);
        let mut rules = Self {
            numbers,
            baths,
            group_of,
            remove_every: every(dynamics.remove_momentum_every),
            scale_every: 0,
            held: u32::try_from(start.barostat_limited).unwrap_or(u32::MAX),
        };
        if let Some(barostat) = &dynamics.barostat {
            rules.scale_every = every(barostat.every.max(1));
            let n = &mut rules.numbers;
            n.pressure = barostat.pressure;
            n.compressibility = barostat.compressibility;
            n.time = barostat.time;
            n.temperature = barostat.temperature;
            n.rescales = barostat.kind as u32;
            n.coupling = barostat.coupling as u32;
        }
        Ok(rules)
    }

    /// Groups of particles: one for every thermostat that scales, and one for the rest.
    pub(super) fn groups(&self) -> usize {
        self.baths.len() + 1
    }

    /// Whether any step needs sums over all particles.
    pub(super) fn split(&self) -> bool {
        !self.baths.is_empty() || self.remove_every > 0 || self.scale_every > 0
    }

    /// What a step needs besides forces and motion: `Control::split` of the kernels.
    pub(super) fn needs_of(&self, step: u64) -> u32 {
        let every = |steps: u32| steps > 0 && step.is_multiple_of(u64::from(steps));
        let scales = every(self.scale_every);
        let sums = scales || !self.baths.is_empty() || every(self.remove_every) && step != 0;
        u32::from(sums) | u32::from(scales) << 1
    }

    /// How many steps are queued for each that needs sums: one where all do. A kernel that is not due costs little,
    /// but not nothing, and so does a step that must wait for one.
    pub(super) fn spacing(&self) -> u32 {
        let every = [self.remove_every, self.scale_every]
            .into_iter()
            .filter(|&n| n > 0);
        match every.min() {
            Some(steps) if self.baths.is_empty() => (2.0 * f64::from(steps)).sqrt().ceil() as u32,
            _ => 1,
        }
    }

    /// Places in a graph that stay idle for each step, on average: those between a step that needs sums and its kernels.
    pub(super) fn waiting(&self) -> f64 {
        let every = [self.remove_every, self.scale_every]
            .into_iter()
            .filter(|&n| n > 0);
        let rate: f64 = every.map(|steps| 1.0 / f64::from(steps)).sum();
        0.5 * f64::from(self.spacing() - 1) * rate
    }
}
