//! [`Rules`]: thermostats that scale velocities, the removal of momentum and barostats, as the kernels know them.

use super::unsupported;
use crate::engines::EngineError;
use crate::forces::TailCorrection;
use crate::integrate::{ActiveThermostat, Dynamics, MotionState, Scheme, ThermostatKind};
use crate::system::System;

/// The most links of a chain, and groups of particles.
pub(super) const MOST_LINKS: usize = 16;
pub(super) const MOST_GROUPS: usize = 8;

/// Bits of `Control::split`: the step needs sums over all particles, it changes the cell, the sums are there.
pub(super) const SUMS: u32 = 1;
pub(super) const SCALES: u32 = 2;
pub(super) const SUMMED: u32 = 4;

/// Steps of a graph between kernels of steps that need sums, at most.
const MOST_SPACING: u32 = 32;

/// Values of `ScalingThermostat::kind`.
pub(super) const BUSSI: u32 = 1;
pub(super) const BERENDSEN: u32 = 2;
pub(super) const NOSE_HOOVER: u32 = 3;

debye_gpu::device_struct! {
    /// A thermostat that scales velocities, and its memory.
    #[derive(Default, PartialEq)]
    pub(super) struct ScalingThermostat {
        /// Degrees of freedom.
        freedom: f64,
        kt: f64,
        time: f64,
        /// Energy given to the particles.
        pub(super) given: f64,
        /// Positions and velocities of the chain.
        pub(super) links: [[f64; 2]; MOST_LINKS],
        /// [`BUSSI`], [`BERENDSEN`] or [`NOSE_HOOVER`].
        kind: u32,
        /// Links in use.
        chain: u32,
        /// Its place among all thermostats: it draws by this.
        number: u32,
        /// Steps between two actions.
        pub(super) every: u32,
    }

    /// What happens to the velocities of a group: v becomes v × factor − shift.
    #[derive(Default)]
    pub(super) struct VelocityScaling {
        factor: f64,
        shift: [f64; 3],
    }

    /// What thermostats, barostat and the removal of momentum need to know, and does not change.
    #[derive(Default)]
    pub(super) struct Ensemble {
        /// Of the groups.
        mass: [f64; MOST_GROUPS],
        boltzmann: f64,
        /// Pressure × volume².
        tail: f64,
        pressure: [f64; 3],
        compressibility: [f64; 3],
        time: f64,
        temperature: f64,
        /// Of the layer across z.
        tension: f64,
        /// The step that the engine began at: nothing of the step before it is left to do.
        pub(super) first: u64,
        /// Stochastic cell rescaling rather than weak coupling.
        rescales: u32,
        /// The number of a [`Coupling`](crate::integrate::Coupling).
        coupling: u32,
        /// How many thermostats scale velocities.
        thermostats: u32,
        leapfrog: u32,
    }

    /// The state of a descent by FIRE.
    #[derive(Default)]
    pub(super) struct Fire {
        /// It ends when no component of a force is larger.
        pub(super) tolerance: f64,
        /// No particle moves farther in a step.
        pub(super) longest: f64,
        /// The time step of the beginning.
        pub(super) first: f64,
        pub(super) dt: f64,
        pub(super) alpha: f64,
        /// v becomes v × keep + F × mix.
        pub(super) keep: f64,
        pub(super) mix: f64,
        /// The same of angular momenta and torques.
        pub(super) turning_mix: f64,
        /// Steps since the last one uphill.
        pub(super) positive_steps: u64,
        /// The largest component of a force, as bits.
        pub(super) largest: u64,
    }
}

/// The kind of a thermostat in the kernels.
pub(super) fn number_of(kind: ThermostatKind) -> u32 {
    match kind {
        ThermostatKind::Langevin => 0,
        ThermostatKind::Bussi => BUSSI,
        ThermostatKind::Berendsen => BERENDSEN,
        ThermostatKind::NoseHoover { .. } => NOSE_HOOVER,
    }
}

fn common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

/// What needs sums over all particles.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub(super) ensemble: Ensemble,
    /// Thermostats that scale velocities, each with a group of particles; one more group is for the rest.
    pub(super) thermostats: Vec<ScalingThermostat>,
    /// The group of each species.
    pub(super) group_of: Vec<u32>,
    /// Steps between actions of thermostats, the largest number that fits all of them, between removals of momentum, and
    /// between changes of the cell; zero for never.
    pub(super) rescale_every: u32,
    pub(super) remove_every: u32,
    pub(super) scale_every: u32,
    /// How often the barostat was held back before.
    pub(super) limited: u32,
}

impl Rules {
    pub(super) fn new(
        system: &System,
        dynamics: &Dynamics,
        tail: &TailCorrection,
        start: &MotionState,
    ) -> Result<Self, EngineError> {
        let every = |steps: u64| u32::try_from(steps).unwrap_or(u32::MAX);
        let mut thermostats = Vec::new();
        let all = ActiveThermostat::all(system, dynamics);
        let mut group_of = vec![u32::MAX; system.species.len()];
        for (number, thermostat) in all
            .iter()
            .enumerate()
            .filter(|(_, b)| b.thermostat.kind.scales_velocities())
        {
            if thermostat.chain.len() > MOST_LINKS {
                return Err(unsupported(format!(
                    "Nosé–Hoover chains of {} links (at most {MOST_LINKS})",
                    thermostat.chain.len()
                )));
            }
            for (group, _) in group_of
                .iter_mut()
                .zip(&thermostat.marked)
                .filter(|(_, marked)| **marked)
            {
                *group = thermostats.len() as u32;
            }
            let state = start.thermostats.get(number);
            let mut links = [[0.0; 2]; MOST_LINKS];
            for (link, from) in links.iter_mut().zip(state.iter().flat_map(|s| &s.chain)) {
                *link = *from;
            }
            thermostats.push(ScalingThermostat {
                given: state.map_or(0.0, |s| s.given),
                links,
                freedom: thermostat.degrees_of_freedom,
                kt: thermostat.kt,
                time: thermostat.thermostat.time,
                kind: number_of(thermostat.thermostat.kind),
                chain: thermostat.chain.len() as u32,
                number: number as u32,
                every: every(thermostat.thermostat.interval(dynamics.timestep)),
            });
        }
        if thermostats.len() >= MOST_GROUPS {
            return Err(unsupported(format!(
                "{} thermostats that scale velocities",
                thermostats.len()
            )));
        }
        group_of
            .iter_mut()
            .for_each(|group| *group = (*group).min(thermostats.len() as u32));
        let mut ensemble = Ensemble {
            boltzmann: system.units.boltzmann(),
            tail: tail.pressure(1.0),
            first: start.step,
            thermostats: thermostats.len() as u32,
            leapfrog: u32::from(dynamics.scheme == Scheme::Leapfrog),
            ..Ensemble::default()
        };
        let p = &system.particles;
        for (&species, mass) in p.species.iter().zip(&p.masses) {
            ensemble.mass[group_of[species as usize] as usize] += mass;
        }
        let mut rules = Self {
            ensemble,
            rescale_every: thermostats.iter().fold(0, |n, t| common_divisor(n, t.every)),
            thermostats,
            group_of,
            remove_every: every(dynamics.remove_momentum_every),
            scale_every: 0,
            limited: u32::try_from(start.barostat_limited).unwrap_or(u32::MAX),
        };
        if let Some(barostat) = &dynamics.barostat {
            rules.scale_every = every(barostat.every.max(1));
            let n = &mut rules.ensemble;
            n.pressure = barostat.pressure;
            n.compressibility = barostat.compressibility;
            n.time = barostat.time;
            n.temperature = barostat.temperature;
            n.rescales = barostat.kind as u32;
            n.coupling = barostat.coupling.number();
            n.tension = barostat.coupling.tension();
        }
        Ok(rules)
    }

    /// Thermostats of another time act as often as these.
    pub(super) fn keep_intervals(&self, thermostats: &mut [ScalingThermostat]) {
        let now = self.thermostats.iter().map(|t| t.every);
        thermostats
            .iter_mut()
            .zip(now)
            .for_each(|(t, every)| t.every = every);
    }

    /// Whether any of so many steps from here on needs sums.
    pub(super) fn due_within(&self, from: u64, steps: u64) -> bool {
        self.intervals()
            .any(|n| from.next_multiple_of(u64::from(n)) < from + steps)
    }

    /// Groups of particles: one for every thermostat that scales, and one for the rest.
    pub(super) fn groups(&self) -> usize {
        self.thermostats.len() + 1
    }

    /// Whether any step needs sums over all particles.
    pub(super) fn split(&self) -> bool {
        !self.thermostats.is_empty() || self.remove_every > 0 || self.scale_every > 0
    }

    /// What a step needs besides forces and motion: `Control::split`.
    pub(super) fn needs_of(&self, step: u64) -> u32 {
        let every = |steps: u32| steps > 0 && step.is_multiple_of(u64::from(steps));
        let scales = every(self.scale_every);
        let sums = scales || every(self.rescale_every) || every(self.remove_every) && step != 0;
        (u32::from(sums) * SUMS) | (u32::from(scales) * SCALES)
    }

    /// The kernels of a step that needs sums are queued with every so many steps. A kernel that is not due costs little,
    /// but not nothing, and so does a step that must wait for one. With a divisor of the interval the first step of a
    /// graph may wait, and those after it need not.
    pub(super) fn spacing(&self) -> u32 {
        let interval = self.intervals().min().unwrap_or(1);
        let cost = |every: &u32| {
            let waits = if interval.is_multiple_of(*every) {
                0.25
            } else {
                0.5
            };
            waits * f64::from(*every) + f64::from(interval) / f64::from(*every)
        };
        let best = (1..=interval.min(MOST_SPACING)).min_by(|a, b| cost(a).total_cmp(&cost(b)));
        best.unwrap_or(1)
    }

    fn intervals(&self) -> impl Iterator<Item = u32> {
        let every = [self.rescale_every, self.remove_every, self.scale_every];
        every.into_iter().filter(|&n| n > 0)
    }

    /// Whether every step needs sums, the first one too.
    pub(super) fn always(&self) -> bool {
        self.rescale_every == 1 || self.scale_every == 1
    }

    /// Whether steps may need sums that do not change the cell.
    pub(super) fn sums_alone(&self) -> bool {
        let beside = |n: &u32| self.scale_every == 0 || !n.is_multiple_of(self.scale_every);
        let every = [self.rescale_every, self.remove_every];
        every.iter().any(|n| *n > 0 && beside(n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules([rescale_every, remove_every, scale_every]: [u32; 3]) -> Rules {
        Rules {
            ensemble: Ensemble::default(),
            thermostats: Vec::new(),
            group_of: Vec::new(),
            rescale_every,
            remove_every,
            scale_every,
            limited: 0,
        }
    }

    /// Steps between thermostats, removals of momentum, changes of the cell.
    fn all() -> impl Iterator<Item = [u32; 3]> {
        let some = [0, 1, 2, 3, 5, 10, 12];
        let pairs = move |a| some.into_iter().map(move |b| [a, b]);
        let pairs = some.into_iter().flat_map(pairs);
        pairs.flat_map(move |[a, b]| some.into_iter().map(move |c| [a, b, c]))
    }

    /// Kernels of sums without a virial are compiled where a step needs them, and nowhere else.
    #[test]
    fn sums_alone_are_those_that_a_step_needs() {
        for every in all() {
            let rules = rules(every);
            let needed = (1..=60).any(|step| rules.needs_of(step) == SUMS);
            assert_eq!(rules.sums_alone(), needed, "{every:?}");
        }
    }

    #[test]
    fn steps_with_sums_are_foreseen() {
        for every in all() {
            let rules = rules(every);
            for from in 0..13 {
                for steps in 1..13 {
                    let needed = (from..from + steps).any(|step| rules.needs_of(step) != 0);
                    assert!(
                        rules.due_within(from, steps) || !needed,
                        "{every:?} {from} {steps}"
                    );
                }
            }
        }
    }

    #[test]
    fn kernels_of_sums_are_as_far_apart_as_costs_least() {
        for (interval, spacing) in [(0, 1), (1, 1), (2, 2), (10, 5), (12, 6), (100, 20), (10_000, 32)] {
            assert_eq!(rules([interval, 0, 0]).spacing(), spacing, "{interval}");
            assert_eq!(rules([0, 0, interval]).spacing(), spacing, "{interval}");
        }
        // The most frequent decides.
        assert_eq!(rules([100, 10, 1000]).spacing(), 5);
    }
}
