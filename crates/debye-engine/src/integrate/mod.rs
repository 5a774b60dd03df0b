//! How the system moves: time step, thermostats, barostat.

pub(crate) mod pressure;
pub mod rotation;
pub(crate) mod thermostat;

use std::sync::atomic::{AtomicU64, Ordering};

pub use pressure::{COMPRESSIBILITY, EVERY};
pub use thermostat::ActiveThermostat;

use crate::record::{Absent, Conventions, Doc, Key, Record};
use crate::system::{Dimension, System};

/// Everything that turns forces into motion.
#[derive(Clone, Debug, PartialEq)]
pub struct Dynamics {
    /// Time step.
    pub timestep: f64,
    /// Order of kicks and drifts.
    pub scheme: Scheme,
    /// Thermostats, each for its group of species; no species in two of them.
    pub thermostats: Vec<Thermostat>,
    /// Barostat.
    pub barostat: Option<Barostat>,
    /// Remove the motion of the center of mass every so many steps; 0 for never.
    pub remove_momentum_every: u64,
    /// Seed of every random number of the run.
    pub seed: u64,
}

impl Dynamics {
    /// How often the motion of the center of mass is removed unless said: thermostats that scale all velocities alike feed
    /// it in the long run.
    /// The temperature that all thermostats keep; `None` without any, or where they differ.
    pub fn temperature(&self) -> Option<f64> {
        let mut temperatures = self.thermostats.iter().map(|t| t.temperature);
        let first = temperatures.next()?;
        temperatures.all(|other| other == first).then_some(first)
    }

    /// How often the momentum is removed unless said.
    pub fn usual_momentum_removal(thermostats: &[Thermostat]) -> u64 {
        if thermostats.iter().any(|t| t.kind.scales_velocities()) {
            100
        } else {
            0
        }
    }

    /// Whether any thermostat is one of friction and noise.
    pub fn has_langevin(&self) -> bool {
        self.thermostats.iter().any(|t| !t.kind.scales_velocities())
    }

    /// Refuses what does not go together, or not with so many particles, with the reason.
    pub fn check(&self, particles: usize) -> Result<(), String> {
        if particles == 1 {
            if self.thermostats.iter().any(|t| t.kind.scales_velocities()) {
                return Err(
                    "a thermostat that scales velocities never turns a lone particle; langevin does".into(),
                );
            }
            if self.remove_momentum_every > 0 {
                return Err("removing the momentum would bring the only particle to rest".into());
            }
        }
        let unfit = self.thermostats.iter().find(|t| !t.kind.goes_with_leapfrog());
        for t in &self.thermostats {
            let between = t.interval(self.timestep) as f64 * self.timestep;
            if t.kind == ThermostatKind::Berendsen && between > t.time {
                return Err(format!(
                    "weak coupling that acts every {between} with a relaxation time of {} stops all motion: `every` must \
                     be less, or `time` more",
                    t.time
                ));
            }
            if t.every.is_some() && !matches!(t.kind, ThermostatKind::Bussi | ThermostatKind::Berendsen) {
                return Err(format!(
                    "{:?} acts in every step: `every` is for Bussi and Berendsen",
                    t.kind
                ));
            }
        }
        match (self.scheme, unfit) {
            (Scheme::Leapfrog, Some(thermostat)) => Err(format!(
                "{:?} is a splitting of velocity Verlet and does not go with leapfrog",
                thermostat.kind
            )),
            _ => Ok(()),
        }
    }

    /// The degrees of freedom of a system: those of its particles and their rotations, less its constraints.
    pub fn freedom_of(&self, system: &System) -> f64 {
        let rotations = system.particles.rotational_freedom() as f64;
        self.degrees_of_freedom(system.particles.len()) - system.constraints.len() as f64 + rotations
    }

    /// 3N less the motion of the center of mass, unless a Langevin thermostat drives that too or it is all there is.
    pub fn degrees_of_freedom(&self, particles: usize) -> f64 {
        let all = 3.0 * particles as f64;
        if particles == 1 || self.has_langevin() && self.remove_momentum_every == 0 {
            all
        } else {
            all - 3.0
        }
    }
}

/// Order of kicks and drifts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Velocities and positions at the same time.
    VelocityVerlet,
    /// Velocities half a step behind.
    Leapfrog,
}

impl Scheme {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::VelocityVerlet, Self::Leapfrog];

    /// Its name in input files, its formula, its conventions.
    pub fn record(self) -> &'static Record {
        match self {
            Self::VelocityVerlet => &VELOCITY_VERLET,
            Self::Leapfrog => &LEAPFROG,
        }
    }
}

/// A thermostat and the particles it acts on.
#[derive(Clone, Debug, PartialEq)]
pub struct Thermostat {
    /// Its kind.
    pub kind: ThermostatKind,
    /// Indices of species; empty means all.
    pub species: Vec<u32>,
    /// Target temperature.
    pub temperature: f64,
    /// Relaxation time; 1/friction for Langevin.
    pub time: f64,
    /// Bussi and Berendsen act every so many steps; `None`: [`Thermostat::interval`] says.
    pub every: Option<u64>,
}

impl Thermostat {
    fn new(kind: ThermostatKind, temperature: f64, time: f64) -> Self {
        Self {
            kind,
            species: Vec::new(),
            temperature,
            time,
            every: None,
        }
    }

    /// Steps between two actions. Unless said 10, 5, 2 or 1, so that there are at least twenty in the relaxation
    /// time. Each of `bussi` is exact for the time since the last one, and sums over all particles cost time.
    pub fn interval(&self, timestep: f64) -> u64 {
        match (self.kind, self.every) {
            (ThermostatKind::Langevin | ThermostatKind::NoseHoover { .. }, _) => 1,
            (_, Some(steps)) => steps.max(1),
            (_, None) => {
                let often = |steps: &u64| ACTIONS * *steps as f64 * timestep <= self.time;
                [10, 5, 2].into_iter().find(often).unwrap_or(1)
            }
        }
    }

    /// Langevin dynamics of this friction (an inverse time).
    pub fn langevin(temperature: f64, friction: f64) -> Self {
        Self::new(ThermostatKind::Langevin, temperature, friction.recip())
    }

    /// Stochastic velocity rescaling with this relaxation time.
    pub fn bussi(temperature: f64, time: f64) -> Self {
        Self::new(ThermostatKind::Bussi, temperature, time)
    }

    /// A Nosé–Hoover chain of [`CHAIN`] thermostats with this relaxation time.
    pub fn nose_hoover(temperature: f64, time: f64) -> Self {
        Self::new(ThermostatKind::NoseHoover { chain: CHAIN }, temperature, time)
    }

    /// Weak coupling with this relaxation time; not canonical.
    pub fn berendsen(temperature: f64, time: f64) -> Self {
        Self::new(ThermostatKind::Berendsen, temperature, time)
    }

    /// With so many steps between two actions of weak coupling or stochastic rescaling.
    pub fn every(mut self, steps: u64) -> Self {
        self.every = Some(steps);
        self
    }

    /// Only for these species, by their place in the system.
    pub fn of_species(mut self, species: impl Into<Vec<u32>>) -> Self {
        self.species = species.into();
        self
    }
}

/// Kinds of thermostats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThermostatKind {
    /// BAOAB Langevin dynamics (Leimkuhler & Matthews 2013).
    Langevin,
    /// Stochastic velocity rescaling (Bussi, Donadio & Parrinello 2007).
    Bussi,
    /// Nosé–Hoover chain of this length (Martyna, Klein & Tuckerman 1992).
    NoseHoover {
        /// Thermostats in the chain.
        chain: usize,
    },
    /// Weak coupling (Berendsen 1984); not canonical.
    Berendsen,
}

/// A thermostat acts at least so often in its relaxation time, unless said.
const ACTIONS: f64 = 20.0;

/// Thermostats in a Nosé–Hoover chain unless said.
pub const CHAIN: usize = 3;

impl ThermostatKind {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Langevin,
        Self::Bussi,
        Self::NoseHoover { chain: CHAIN },
        Self::Berendsen,
    ];

    /// Its name in input files, its formula, its conventions.
    pub fn record(self) -> &'static Record {
        match self {
            Self::Langevin => &thermostat::LANGEVIN,
            Self::Bussi => &thermostat::BUSSI,
            Self::NoseHoover { .. } => &thermostat::NOSE_HOOVER,
            Self::Berendsen => &thermostat::WEAK_COUPLING,
        }
    }

    /// Whether it multiplies the velocities of its group by a common factor.
    pub fn scales_velocities(self) -> bool {
        match self {
            Self::Langevin => false,
            Self::Bussi | Self::NoseHoover { .. } | Self::Berendsen => true,
        }
    }

    /// Whether it acts on velocities half a step behind; the others are splittings of velocity Verlet.
    pub fn goes_with_leapfrog(self) -> bool {
        !matches!(self, Self::Langevin | Self::NoseHoover { .. })
    }
}

/// What thermostats and the barostat remember at a step. With the particles and the cell it is all that a simulation
/// goes on from, on any device and in any precision.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MotionState {
    /// The step.
    pub step: u64,
    /// Thermostats in the order of [`Dynamics::thermostats`]; none where nothing has happened yet.
    pub thermostats: Vec<ThermostatState>,
    /// How often the barostat was kept from changing a length by more than a tenth at once.
    pub barostat_limited: u64,
}

/// What a thermostat remembers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThermostatState {
    /// Energy given to the particles so far.
    pub given: f64,
    /// Positions and velocities of the Nosé–Hoover chain.
    pub chain: Vec<[f64; 2]>,
}

/// The beginning of a simulation.
pub static BEGINNING: MotionState = MotionState {
    step: 0,
    thermostats: Vec::new(),
    barostat_limited: 0,
};

/// A barostat.
#[derive(Clone, Debug, PartialEq)]
pub struct Barostat {
    /// Its kind.
    pub kind: BarostatKind,
    /// Which lengths change together.
    pub coupling: Coupling,
    /// Target pressure along x, y, z; where a tension is kept, that along z counts.
    pub pressure: [f64; 3],
    /// Relaxation time.
    pub time: f64,
    /// Isothermal compressibility along x, y, z.
    pub compressibility: [f64; 3],
    /// Temperature of the noise of stochastic cell rescaling.
    pub temperature: f64,
    /// Act every so many steps.
    pub every: u64,
    /// How often it was held back from changing a length by more than a tenth at once.
    pub limited: Tally,
}

impl Barostat {
    /// Stochastic cell rescaling to this pressure; `compressibility` is that of the substance, an inverse pressure.
    pub fn cell_rescale(pressure: f64, time: f64, temperature: f64, compressibility: f64) -> Self {
        Self {
            kind: BarostatKind::CellRescale,
            coupling: Coupling::Isotropic,
            pressure: [pressure; 3],
            time,
            compressibility: [compressibility; 3],
            temperature,
            every: EVERY,
            limited: Tally::default(),
        }
    }

    /// Weak coupling to this pressure; fluctuations are too small.
    pub fn berendsen(pressure: f64, time: f64, compressibility: f64) -> Self {
        Self {
            kind: BarostatKind::Berendsen,
            ..Self::cell_rescale(pressure, time, 0.0, compressibility)
        }
    }

    /// Which lengths change together; all unless said.
    pub fn coupling(mut self, coupling: Coupling) -> Self {
        self.coupling = coupling;
        self
    }
}

/// A count kept while a barostat is at work. It is no part of what was asked for: all tallies are equal.
#[derive(Default)]
pub struct Tally(AtomicU64);

impl Tally {
    /// The count.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Goes on from a count.
    pub fn set(&self, count: u64) {
        self.0.store(count, Ordering::Relaxed);
    }

    fn increase(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Clone for Tally {
    fn clone(&self) -> Self {
        Self(AtomicU64::new(self.get()))
    }
}

impl PartialEq for Tally {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl std::fmt::Debug for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tally")
    }
}

/// Kinds of barostats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarostatKind {
    /// Weak coupling (Berendsen 1984); fluctuations too small.
    Berendsen,
    /// Stochastic cell rescaling (Bernetti & Bussi 2020).
    CellRescale,
}

impl BarostatKind {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::CellRescale, Self::Berendsen];

    /// Its name in input files, its formula, its conventions.
    pub fn record(self) -> &'static Record {
        match self {
            Self::Berendsen => &pressure::BERENDSEN,
            Self::CellRescale => &pressure::CELL_RESCALE,
        }
    }
}

/// Which lengths of the cell change together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Coupling {
    /// x, y and z by one factor.
    Isotropic,
    /// x and y by one factor, z by another.
    SemiIsotropic,
    /// Each by its own.
    Anisotropic,
    /// x and y by one factor, z by another. The target along x and y follows from the tension γ of the layer:
    /// P_n − γ/L_z, with the pressure P_n along z and the height L_z of the cell as it is.
    SurfaceTension {
        /// γ = L_z (P_zz − (P_xx + P_yy)/2): the sum over all interfaces across z.
        tension: f64,
    },
}

impl Coupling {
    /// All of them, without tension.
    pub const ALL: [Self; 4] = [
        Self::Isotropic,
        Self::SemiIsotropic,
        Self::Anisotropic,
        Self::SurfaceTension { tension: 0.0 },
    ];

    /// Its place in [`Coupling::ALL`], by which kernels know it.
    pub(crate) fn number(self) -> u32 {
        match self {
            Self::Isotropic => 0,
            Self::SemiIsotropic => 1,
            Self::Anisotropic => 2,
            Self::SurfaceTension { .. } => 3,
        }
    }

    /// Its name in input files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Isotropic => "isotropic",
            Self::SemiIsotropic => "semi-isotropic",
            Self::Anisotropic => "anisotropic",
            Self::SurfaceTension { .. } => "surface-tension",
        }
    }

    /// The tension of the layer that is kept; zero unless that is what is kept.
    pub(crate) fn tension(self) -> f64 {
        match self {
            Self::SurfaceTension { tension } => tension,
            _ => 0.0,
        }
    }

    /// Whether x and y change together, and z by itself: the cell holds a layer across z.
    pub fn is_layered(self) -> bool {
        matches!(self, Self::SemiIsotropic | Self::SurfaceTension { .. })
    }
}

/// `velocity-verlet`.
const VELOCITY_VERLET: Record = Record {
    name: "velocity-verlet",
    also: &["nve"],
    keys: &[Key::new(
        "timestep",
        "Δt, time step",
        Dimension::TIME,
        Absent::Required,
    )],
    doc: Doc {
        title: "Velocity Verlet",
        formula: "v ← v + ½Δt F/m, r ← r + Δt v, forces, v ← v + ½Δt F/m",
        remarks: &[
            "`kind = \"nve\"` is the same. Positions and velocities belong to the same time. Thermostats \
             named in [integrator] act on this scheme.",
            "The temperature is T = 2K/(g k_B), with g = 3N − 3 less one per constraint; 3N where a \
             Langevin thermostat moves the center of mass too.",
        ],
        conventions: Conventions {
            gromacs: ["integrator = md-vv; its default md is leapfrog", "the same"],
            lammps: ["fix nve", "the same"],
            openmm: [
                "VerletIntegrator is leapfrog",
                "the same trajectory with velocities half a step away",
            ],
            amber_charmm: ["AMBER: leapfrog; CHARMM: DYNA VVER", "the same as VVER"],
        },
        references: &["Swope, Andersen, Berens & Wilson, J. Chem. Phys. 76, 637 (1982)"],
        examples: &[],
    },
};

/// `leapfrog`.
const LEAPFROG: Record = Record {
    name: "leapfrog",
    also: &[],
    keys: &[Key::new(
        "timestep",
        "Δt, time step",
        Dimension::TIME,
        Absent::Required,
    )],
    doc: Doc {
        title: "Leapfrog",
        formula: "v(t+½Δt) = v(t−½Δt) + Δt F(t)/m, r(t+Δt) = r(t) + Δt v(t+½Δt)",
        remarks: &[
            "Initial velocities are those of t = 0: they are taken half a step back by the forces of the \
             start. Files and tables have velocities at the time of the positions, v(t−½Δt) \
             + ½Δt F/m.",
            "`langevin` and `nose-hoover` are splittings of velocity Verlet and do not go with it.",
        ],
        conventions: Conventions {
            gromacs: [
                "integrator = md; its kinetic energy is the mean of the two half steps, not that of v(t)",
                "the same trajectory; temperatures differ by O(Δt²)",
            ],
            lammps: ["no; fix nve is velocity Verlet", "the same trajectory"],
            openmm: ["VerletIntegrator", "the same"],
            amber_charmm: ["AMBER; CHARMM: DYNA LEAP", "the same"],
        },
        references: &["Hockney & Eastwood, Computer Simulation Using Particles, McGraw-Hill (1981)"],
        examples: &[],
    },
};
