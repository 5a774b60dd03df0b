//! [`CudaEngine`]: a simulation that lives on a device.
//!
//! A graph of [new list if the old one is stale][K steps] is replayed; every step returns at once when an earlier one
//! made the list stale, when the target is reached or when something did not fit, so that the host looks only now and
//! then. What is computed does not depend on how the steps are cut into graphs.
//!
//! Small systems have a layout of their own ([`small`]): one kernel that stays on the device for many steps.

mod arrays;
mod bodies;
mod bonded;
mod boundary;
mod choice;
mod choose;
mod constraints;
mod count;
pub(super) mod coupling;
mod diagnosis;
mod exclusions;
mod frame;
mod in_flight;
mod kernels;
mod layout;
mod mesh;
mod minimize;
mod modules;
mod needs;
mod parts;
mod resident;
pub(super) mod rotation;
mod rules;
mod save;
pub(super) mod shared;
mod skeleton;
mod small;
mod snapshot;
mod state;
mod terms;
mod watch;

pub use choice::Choice;
pub use modules::{modules, pair_counting, small_module};

use std::cell::{OnceCell, RefCell, RefMut};
use std::sync::Arc;
use std::time::Instant;

use bonded::LinkTables;
use diagnosis::HostCopy;
use in_flight::InFlight;
use layout::Grain;
use parts::{Request, refuse};
use resident::{Change, Sums};
use skeleton::Skeleton;
use small::Small;
use snapshot::Snapshot;

use crate::engines::ChargesOnDevice;
use crate::engines::cpu::{Fire, ListSize, Minimized};
use crate::engines::lent::ParticleMemory;
use crate::engines::{
    DeviceUse, Engine, EngineError, LaterParticles, Lists, Moment, Needs, Observation, PairCounts,
    PairHistogram, Settings, Stages, Wanted,
};
use crate::expr::Vec3;
use crate::forces::electrostatics::ChargeSums;
use crate::forces::{ForceField, TailCorrection};
use crate::integrate::{ActiveThermostat, BEGINNING, Dynamics, MotionState, Scheme};
use crate::random::Philox;
use crate::system::{Cell, Particles, System, Units};
use debye_gpu::{CudaError, Device};

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
    skeleton: RefCell<Box<dyn Skeleton>>,
    /// What was seen of now, where it was asked for since anything moved.
    seen: RefCell<Option<Snapshot>>,
    /// What is wanted of steps that are on their way, and what was seen of those that nobody has asked for yet.
    in_flight: RefCell<InFlight>,
    cell: Cell,
    units: Units,
    dynamics: Dynamics,
    langevin: bool,
    degrees_of_freedom: f64,
    /// Thermostats; those that scale velocities work on the device.
    thermostats: Vec<ActiveThermostat>,
    names: Vec<String>,
    tail: TailCorrection,
    /// What does not change, and what is needed to say why a step went wrong.
    host: HostCopy,
    /// Memory for particles, shared with threads that put frames in order.
    memory: OnceCell<Arc<ParticleMemory>>,
    /// Particles before a step that went wrong.
    failed_state: Option<Particles>,
    radius: f64,
    /// The step it began at, from particles as they were after it.
    first: u64,
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
        Self::at(device, system, field, dynamics, settings, &BEGINNING)
    }

    /// An engine that goes on with a system from a step of another one.
    pub fn at(
        device: &Device,
        system: &System,
        field: &ForceField,
        dynamics: &Dynamics,
        settings: &Settings,
        start: &MotionState,
    ) -> Result<Self, EngineError> {
        Self::at_with_choice(
            device,
            system,
            field,
            dynamics,
            settings,
            &Choice::default(),
            start,
        )
    }

    /// An engine at step 0, laid out as told; for tests and measurements.
    #[doc(hidden)]
    pub fn with_choice(
        device: &Device,
        system: &System,
        field: &ForceField,
        dynamics: &Dynamics,
        settings: &Settings,
        choice: &Choice,
    ) -> Result<Self, EngineError> {
        Self::at_with_choice(device, system, field, dynamics, settings, choice, &BEGINNING)
    }

    /// An engine that goes on from a step of another one, laid out as told; for tests.
    #[doc(hidden)]
    pub fn at_with_choice(
        device: &Device,
        system: &System,
        field: &ForceField,
        dynamics: &Dynamics,
        settings: &Settings,
        choice: &Choice,
        start: &MotionState,
    ) -> Result<Self, EngineError> {
        Self::begun(
            device,
            Request::new(system, field, dynamics, settings, choice, start),
        )
    }

    fn begun(device: &Device, request: Request) -> Result<Self, EngineError> {
        let mut engine = Self::unevaluated(device, request)?;
        let particles = constraints::constrained(request.system)?;
        let large = engine.skeleton.get_mut().large();
        let plain = large
            .filter(|large| large.layout.grain == Grain::PARTICLE)
            .filter(|large| !large.terms.own_lists());
        if let (true, Some(resident)) = (request.tries_lists(device), plain) {
            resident.place(&particles)?;
            choose::choose(resident)?;
        }
        engine.begin(&particles)?;
        Ok(engine)
    }

    /// Puts particles on the device, with the velocities of now.
    fn begin(&mut self, particles: &Particles) -> Result<(), EngineError> {
        self.seen.take();
        let resident = self.skeleton.get_mut();
        resident.place(particles)?;
        // Velocities are kept half a kick behind.
        let sums = resident.snapshot(Wanted::default())?.sums;
        self.host.check_start(&sums.energies, &sums.virial)?;
        resident.kick_back()?;
        resident.snapshot(Wanted::default())?;
        Ok(())
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
        let start = &MotionState {
            step: save::first_of(saved)?,
            ..MotionState::default()
        };
        let request = Request::new(system, field, dynamics, settings, choice, start);
        let mut engine = Self::unevaluated(device, request)?;
        let skeleton = engine.skeleton.get_mut();
        let (step, builds) = skeleton.restore(saved)?;
        engine.cell = skeleton.cell()?.unwrap_or(engine.cell);
        engine.step = step;
        engine.began = (step, u64::from(builds));
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
        let choice = Choice::default();
        let request = Request::new(system, field, dynamics, settings, &choice, &BEGINNING);
        if request.is_small()? {
            return request.small_needs(device);
        }
        let parts = request.parts(device)?;
        needs::check(device, parts.case(), parts.tables(), parts.values.radius)
    }

    fn unevaluated(device: &Device, request: Request) -> Result<Self, EngineError> {
        let Request {
            system,
            field,
            dynamics,
            settings,
            choice,
            start,
        } = request;
        refuse(system, field, dynamics, settings)?;
        let host = HostCopy::new(system, field, dynamics)?;
        let small = request.is_small()?;
        let (radius, skeleton): (f64, Box<dyn Skeleton>) = if small {
            let counting = settings.counts_pairs.then(count::source);
            let _ahead = device.compile_ahead(counting.into_iter().collect());
            let values = request.small_values();
            let rules = request.rules()?;
            let (terms, links) = (request.small_terms(&rules)?, LinkTables::new(system, field)?);
            let small = Small::new(device, system, terms, values, rules, links, choice)?;
            (values.radius, Box::new(small))
        } else {
            let large = request.large(device)?;
            (large.values.radius, Box::new(large))
        };
        let info = device.info();
        Ok(Self {
            device: format!("CUDA, {}, deterministic", info.name),
            skeleton: RefCell::new(skeleton),
            seen: RefCell::default(),
            in_flight: RefCell::new(InFlight::new(choice.ahead)),
            cell: system.cell,
            units: system.units,
            dynamics: dynamics.clone(),
            langevin: dynamics.has_langevin(),
            degrees_of_freedom: dynamics.freedom_of(system),
            thermostats: ActiveThermostat::all(system, dynamics),
            names: names(system, field, LinkTables::new(system, field)?.as_ref()),
            tail: field.tail_correction(system),
            host,
            memory: OnceCell::new(),
            failed_state: None,
            radius,
            first: start.step,
            step: start.step,
            began: (start.step, 0),
            stages: Stages::default(),
        })
    }

    /// The layout, when the device has come to where all that was queued leads.
    fn arrived(&self) -> Result<RefMut<'_, Box<dyn Skeleton>>, EngineError> {
        let mut skeleton = self.skeleton.borrow_mut();
        let mut in_flight = self.in_flight.borrow_mut();
        let InFlight { pipeline, seen, .. } = &mut *in_flight;
        while let Some(snapshot) = pipeline.next(skeleton.as_mut(), true)? {
            seen.push_back(snapshot);
        }
        Ok(skeleton)
    }

    /// What is there now and wanted.
    fn snapshot(&self, wanted: Wanted) -> Result<RefMut<'_, Snapshot>, EngineError> {
        let mut skeleton = self.arrived()?;
        let mut seen = self.seen.borrow_mut();
        let lacks =
            |snapshot: &Snapshot| wanted.particles && snapshot.particles.is_none() || wanted.counts != 0;
        if seen.as_ref().is_none_or(lacks) {
            *seen = Some(skeleton.snapshot(wanted)?);
        }
        RefMut::filter_map(seen, Option::as_mut)
            .map_err(|_| EngineError::Device("nothing was seen of the device".into()))
    }

    /// Particles that were copied, put in order by whoever asks for them.
    fn later(&self, snapshot: &mut Snapshot, velocities: bool) -> Result<LaterParticles, EngineError> {
        let change = match velocities {
            true => self.ending(snapshot).0,
            false => Vec::new(),
        };
        let still = || {
            let mut particles = self.host.system.particles.clone();
            particles.velocities = Vec::new();
            Arc::new(ParticleMemory::new(particles))
        };
        let memory = Arc::clone(self.memory.get_or_init(still));
        match snapshot.particles.take() {
            Some(copied) => Ok(Box::new(move || {
                let mut particles = memory.lend();
                copied.fill(particles.get_mut(), &change)?;
                Ok(particles)
            })),
            None => Err(EngineError::Device(format!(
                "the particles of step {} were not copied",
                snapshot.step
            ))),
        }
    }

    /// What ends the step but is left to the beginning of the next one: thermostats that scale velocities, and the
    /// removal of momentum. The changes of every group, and the thermostats after them.
    fn ending(&self, snapshot: &Snapshot) -> (Vec<Change>, Vec<ActiveThermostat>) {
        let (step, sums) = (snapshot.step, &snapshot.sums);
        let mut thermostats = self.thermostats.clone();
        let mut change: Vec<Change> = vec![(1.0, [0.0; 3]); sums.groups.len()];
        let (dt, philox) = (self.dynamics.timestep, Philox::new(self.dynamics.seed));
        let scaling = thermostats
            .iter_mut()
            .filter(|b| b.thermostat.kind.scales_velocities());
        for (g, (thermostat, state)) in scaling.zip(&snapshot.thermostats).enumerate() {
            thermostat.given = state.given;
            let links = state.links;
            thermostat
                .chain
                .iter_mut()
                .zip(links)
                .for_each(|(to, from)| *to = from);
            let acts = thermostat.acts(step, dt);
            if step == self.first || self.dynamics.scheme == Scheme::Leapfrog || !acts {
                continue;
            }
            let [xx, yy, zz, ..] = sums.groups[g].0;
            let turning = sums.rotations.get(g).copied().unwrap_or(0.0);
            let kinetic = 0.5 * (xx + yy + zz + turning);
            change[g].0 = if thermostat.chain.is_empty() {
                thermostat.rescale(kinetic, dt, step, philox)
            } else {
                thermostat.nose_hoover_half(kinetic, dt)
            };
        }
        let every = self.dynamics.remove_momentum_every;
        if every > 0 && step != self.first && step.is_multiple_of(every) {
            let mass: f64 = self.host.system.particles.masses.iter().sum();
            for k in 0..3 {
                let momentum: f64 = change.iter().zip(&sums.groups).map(|(c, g)| c.0 * g.1[k]).sum();
                change.iter_mut().for_each(|c| c.1[k] = momentum / mass);
            }
        }
        (change, thermostats)
    }

    fn observation(&self, snapshot: &Snapshot) -> Result<Observation, EngineError> {
        let (sums, cell) = (&snapshot.sums, snapshot.cell.unwrap_or(self.cell));
        let (change, thermostats) = self.ending(snapshot);
        let kinetic = kinetic_tensor(sums, &change);
        let energies = sums.energies.iter().copied();
        let mut terms: Vec<_> = self.names.iter().cloned().zip(energies).collect();
        let (system, field) = (&self.host.system, &self.host.field);
        for (sum, term) in terms[field.pairs.len()..].iter_mut().zip(&field.oriented) {
            sum.1 += term.self_energy(system, field.coulomb_constant);
        }
        let volume = cell.volume();
        if self.tail.present {
            terms.push(("tail".into(), self.tail.energy(volume)));
        }
        let turning = turning(sums, &change);
        let mut tensor: [f64; 6] =
            std::array::from_fn(|k| (kinetic[k] + sums.virial[k] + turning[k]) / volume);
        if self.tail.present {
            tensor[..3]
                .iter_mut()
                .for_each(|p| *p += self.tail.pressure(volume));
        }
        let rotations = change.iter().zip(&sums.rotations).map(|(c, x)| c.0 * c.0 * x);
        let energy = 0.5 * (kinetic[0] + kinetic[1] + kinetic[2] + rotations.sum::<f64>());
        let kept = !self.langevin && self.dynamics.barostat.is_none();
        Ok(Observation {
            step: snapshot.step,
            time: snapshot.step as f64 * self.dynamics.timestep,
            potential: terms.iter().map(|t| t.1).sum(),
            terms,
            kinetic: energy,
            thermostat: kept.then(|| thermostats.iter().map(ActiveThermostat::energy).sum()),
            temperature: 2.0 * energy / (self.degrees_of_freedom * self.units.boltzmann()),
            degrees_of_freedom: self.degrees_of_freedom,
            pressure_tensor: tensor,
            cell,
        })
    }
}

/// Σ m v⊗v after a change of velocities.
fn kinetic_tensor(sums: &Sums, change: &[Change]) -> [f64; 6] {
    const AXES: [[usize; 2]; 6] = [[0, 0], [1, 1], [2, 2], [0, 1], [0, 2], [1, 2]];
    // A common velocity u is taken from all: the tensor loses P⊗u, where P is the momentum of all.
    let momentum: [f64; 3] =
        std::array::from_fn(|k| change.iter().zip(&sums.groups).map(|(c, g)| c.0 * g.1[k]).sum());
    std::array::from_fn(|k| {
        let scaled: f64 = change
            .iter()
            .zip(&sums.groups)
            .map(|(c, g)| c.0 * c.0 * g.0[k])
            .sum();
        let [a, b] = AXES[k];
        scaled - change.first().map_or(0.0, |c| momentum[a] * c.1[b])
    })
}

/// The virial of what keeps molecules together as they turn, after a change of velocities.
fn turning(sums: &Sums, change: &[Change]) -> [f64; 6] {
    let groups = || change.iter().zip(&sums.constraint_virial);
    std::array::from_fn(|k| groups().map(|(c, turning)| c.0 * c.0 * turning[k]).sum())
}

/// Names of the terms in the order of their energies: pairs, then bonded terms.
fn names(system: &System, field: &ForceField, links: Option<&LinkTables>) -> Vec<String> {
    let sums = ChargeSums::of(&system.particles.charges);
    let pairs = field.pairs.iter().map(|t| t.name.clone());
    let pairs = pairs.chain(field.oriented.iter().map(|t| t.name.clone()));
    let rest = field.electrostatics.iter().flat_map(|plan| plan.names(sums));
    pairs
        .chain(links.into_iter().flat_map(|links| links.names.clone()))
        .chain(rest)
        .collect()
}

/// Forces, energies by term and virial of the bonded terms alone: without the pairs, which are of single precision, they
/// can be checked to the last digits.
pub fn bonded_alone(
    device: &Device,
    system: &System,
    field: &ForceField,
    dynamics: &Dynamics,
) -> Result<(Vec<Vec3<f64>>, bonded::LinkSums), EngineError> {
    let (settings, choice) = (Settings::default(), Choice::default());
    let request = Request::new(system, field, dynamics, &settings, &choice, &BEGINNING);
    let mut resident = request.large(device)?;
    resident.place(&system.particles)?;
    resident.refresh_list()?;
    let sums = resident.bonded_sums()?.unwrap_or_default();
    Ok((resident.bonded_forces()?, sums))
}

impl Engine for CudaEngine {
    fn device(&self) -> String {
        self.device.clone()
    }

    fn advance(&mut self, steps: u64, _observe: bool) -> Result<(), EngineError> {
        let began = Instant::now();
        self.seen.take();
        let done = self
            .arrived()
            .and_then(|mut skeleton| skeleton.advance(self.step + steps));
        self.stages.add("steps", began);
        if let Err(error) = done {
            return Err(self.explained(error));
        }
        self.step += steps;
        self.cell = self.skeleton.get_mut().cell()?.unwrap_or(self.cell);
        Ok(())
    }

    fn advance_for(&mut self, steps: u64, wanted: Wanted) -> Result<Vec<Moment>, EngineError> {
        let target = self.step + steps;
        let timed = self.skeleton.get_mut().times(target);
        if timed || self.in_flight.get_mut().takes_long(steps) {
            return self.advance_waiting(steps, wanted);
        }
        let began = Instant::now();
        self.seen.take();
        let in_flight = self.in_flight.get_mut();
        if in_flight.failed.is_none() {
            if in_flight.pipeline.is_empty() {
                in_flight.step = self.step;
            }
            let skeleton = self.skeleton.get_mut().as_mut();
            in_flight.pipeline.queue(skeleton, target, wanted)?;
            in_flight.wanted.push_back(wanted);
            self.step = target;
        }
        let moments = self.moments(false);
        self.stages.add("steps", began);
        moments
    }

    fn rest(&mut self) -> Result<Vec<Moment>, EngineError> {
        let began = Instant::now();
        let moments = self.moments(true);
        self.stages.add("steps", began);
        moments
    }

    fn minimize(
        &mut self,
        fire: Fire,
        proceed: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Minimized, EngineError> {
        self.seen.take();
        self.descend(fire, proceed).map_err(|error| self.explained(error))
    }

    fn observe(&mut self) -> Result<Observation, EngineError> {
        let snapshot = self.snapshot(Wanted::default())?;
        self.observation(&snapshot)
    }

    fn particles(&self) -> Result<Particles, EngineError> {
        if let Some(particles) = &self.failed_state {
            return Ok(particles.clone());
        }
        let snapshot = self.snapshot(Wanted::PARTICLES)?;
        let (change, _) = self.ending(&snapshot);
        let mut particles = self.host.system.particles.clone();
        if let Some(copied) = &snapshot.particles {
            copied.fill(&mut particles, &change)?;
        }
        Ok(particles)
    }

    fn particles_later(&self) -> Result<LaterParticles, EngineError> {
        if let Some(particles) = self.failed_state.clone() {
            return Ok(Box::new(|| Ok(particles.into())));
        }
        let mut snapshot = self.snapshot(Wanted::PARTICLES)?;
        self.later(&mut snapshot, true)
    }

    fn charges_on_device(&mut self) -> Result<Option<ChargesOnDevice>, EngineError> {
        self.arrived()?.charges_on_device()
    }

    fn count_pairs(&mut self, of: &[PairHistogram]) -> Result<u32, EngineError> {
        let species = &self.host.system.particles.species;
        self.seen.take();
        self.arrived()?.count_pairs(of, species)
    }

    fn pair_counts(&mut self, which: u32) -> Result<Option<PairCounts>, EngineError> {
        // Where nobody can count, these are the particles that others find.
        let wanted = Wanted {
            counts: which,
            velocities: true,
            ..Wanted::default()
        };
        let mut snapshot = self.snapshot(wanted)?;
        Ok(snapshot.counts.take())
    }

    fn forces(&self) -> Result<Vec<Vec3<f64>>, EngineError> {
        self.arrived()?.forces()
    }

    fn torques(&self) -> Result<Vec<Vec3<f64>>, EngineError> {
        self.arrived()?.torques()
    }

    fn step_number(&self) -> u64 {
        self.step
    }

    fn cell(&self) -> Cell {
        self.cell
    }

    fn save(&self) -> Result<Vec<u8>, EngineError> {
        self.arrived()?.saved()
    }

    fn motion(&self) -> Result<MotionState, EngineError> {
        let (_, thermostats) = self.ending(&*self.snapshot(Wanted::default())?);
        Ok(MotionState {
            step: self.step,
            thermostats: thermostats.iter().map(ActiveThermostat::state).collect(),
            barostat_limited: u64::from(self.skeleton.borrow().limited()),
        })
    }

    fn stages(&self) -> &Stages {
        &self.stages
    }

    fn lists(&self) -> Lists {
        let resident = self.skeleton.borrow();
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
        self.skeleton.borrow().needs().total()
    }

    fn barostat_limited(&self) -> u64 {
        u64::from(self.skeleton.borrow().limited())
    }

    fn device_use(&self) -> Option<DeviceUse> {
        let mut all = self.skeleton.borrow().device_use(self.step - self.began.0);
        all.lists -= self.began.1;
        Some(all)
    }

    fn profile(&mut self, after: u64, steps: u64) -> bool {
        self.skeleton.get_mut().profile(self.step + after, steps)
    }
}
