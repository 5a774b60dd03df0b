//! [`ActiveThermostat`]: a thermostat at work, with the numbers it must remember.

use super::{CHAIN, Dynamics, Thermostat, ThermostatKind, ThermostatState};
use crate::expr::Real;
use crate::random::{Philox, stream};
use crate::record::{Absent, Conventions, Doc, Key, Record};
use crate::system::{Dimension, System};

/// A thermostat, its particles and its memory.
#[derive(Clone, Debug)]
pub struct ActiveThermostat {
    /// What was asked for.
    pub thermostat: Thermostat,
    /// Which species belong to it.
    pub marked: Vec<bool>,
    /// Degrees of freedom of those.
    pub degrees_of_freedom: f64,
    /// k_B T of the target.
    pub kt: f64,
    /// Energy given to the particles so far.
    pub given: f64,
    /// Positions and velocities of the Nosé–Hoover chain.
    pub chain: Vec<[f64; 2]>,
    number: u32,
}

impl ActiveThermostat {
    /// Every thermostat of a simulation, which has done nothing yet.
    pub fn all(system: &System, dynamics: &Dynamics) -> Vec<Self> {
        let p = &system.particles;
        let freedom = dynamics.degrees_of_freedom(p.len());
        let with_mass = p.masses.iter().filter(|m| **m > 0.0).count();
        let thermostat = |(number, t): (usize, &Thermostat)| {
            let belongs = |s: u32| t.species.is_empty() || t.species.contains(&s);
            let of_group = p.species.iter().zip(&p.masses).filter(|(s, _)| belongs(**s));
            let (heavy, all) = of_group.fold((0.0, 0.0), |(heavy, all), (_, &m)| {
                (if m > 0.0 { heavy + 1.0 } else { heavy }, all + 1.0)
            });
            let limited = system
                .constraints
                .taken_from(&p.masses, |i| belongs(p.species[i as usize]));
            let turns = |i: &usize| belongs(p.species[*i]);
            let rotations = |i: usize| p.orientations.rotor(i).class().rotations();
            let rotations: u32 = (0..p.orientations.rotors.len())
                .filter(turns)
                .map(rotations)
                .sum();
            // The center of mass rests by the motion of particles with mass alone.
            let massless = (p.len() - with_mass) as f64;
            let share = (freedom - 3.0 * massless) * heavy / with_mass as f64
                - (limited - 3.0 * (all - heavy))
                + f64::from(rotations);
            Self::new(
                t,
                number as u32,
                system.species.len(),
                share,
                system.units.boltzmann(),
            )
        };
        dynamics.thermostats.iter().enumerate().map(thermostat).collect()
    }

    /// A thermostat that has done nothing yet.
    pub fn new(
        thermostat: &Thermostat,
        number: u32,
        species: usize,
        degrees_of_freedom: f64,
        kb: f64,
    ) -> Self {
        let marked = (0..species as u32)
            .map(|s| thermostat.species.is_empty() || thermostat.species.contains(&s))
            .collect();
        let chain = match thermostat.kind {
            ThermostatKind::NoseHoover { chain } => vec![[0.0; 2]; chain.max(1)],
            _ => Vec::new(),
        };
        Self {
            marked,
            degrees_of_freedom,
            kt: kb * thermostat.temperature,
            given: 0.0,
            chain,
            number,
            thermostat: thermostat.clone(),
        }
    }

    /// What it remembers.
    pub fn state(&self) -> ThermostatState {
        ThermostatState {
            given: self.given,
            chain: self.chain.clone(),
        }
    }

    /// Goes on from what it remembered; a chain of another length begins anew.
    pub fn set_state(&mut self, state: &ThermostatState) {
        self.given = state.given;
        if state.chain.len() == self.chain.len() {
            self.chain.clone_from(&state.chain);
        }
    }

    /// What the thermostat itself holds, so that the energy of particles and thermostats stays the same.
    pub fn energy(&self) -> f64 {
        match self.thermostat.kind {
            ThermostatKind::NoseHoover { .. } => {
                let mut total = 0.0;
                for (k, &[eta, v]) in self.chain.iter().enumerate() {
                    let link = self.link(k);
                    total += 0.5 * link.mass() * v * v + link.degrees_of_freedom * self.kt * eta;
                }
                total
            }
            _ => -self.given,
        }
    }

    /// Whether a thermostat that does nothing but scale velocities acts at the end of this step.
    pub fn acts(&self, step: u64, timestep: f64) -> bool {
        step.is_multiple_of(self.thermostat.interval(timestep))
    }

    /// The factor for the velocities after a step at which it acts, given their kinetic energy, for thermostats that do
    /// nothing but scale them. Counts the energy it gives.
    pub fn rescale(&mut self, kinetic: f64, timestep: f64, step: u64, philox: Philox) -> f64 {
        let dt = timestep * self.thermostat.interval(timestep) as f64;
        if kinetic <= 0.0 || self.degrees_of_freedom <= 0.0 {
            return 1.0;
        }
        let noise = || {
            let others = self.degrees_of_freedom.round().max(1.0) as u64 - 1;
            let [normal, ..] = philox.normals(step, self.number, stream::BUSSI);
            // A stream of its own for every thermostat; the sum counts its attempts where particles are numbered.
            let own = stream::BUSSI + (self.number + 1) * stream::THERMOSTATS;
            [normal, philox.sum_of_squares(others, step, own)]
        };
        let [factor, given] = self.thermostat.kind.rescale(&self.link(0), kinetic, dt, noise);
        self.given += given;
        factor
    }

    /// Half a step of the chain; returns the factor for the velocities (Martyna, Tuckerman, Tobias &
    /// Klein 1996, Sec. 4, one Suzuki–Yoshida weight).
    pub fn nose_hoover_half(&mut self, kinetic: f64, dt: f64) -> f64 {
        let last = self.chain.len() - 1;
        let mut twice = 2.0 * kinetic;
        let push = |thermostat: &mut Self, k: usize, twice: f64| {
            let below = match k {
                0 => twice,
                _ => thermostat.link(k - 1).twice_kinetic(thermostat.chain[k - 1][1]),
            };
            let next = thermostat.chain.get(k + 1);
            let friction = next.map_or(1.0, |next| chain_decay(next[1], 0.125 * dt));
            thermostat.chain[k][1] =
                thermostat
                    .link(k)
                    .velocity(thermostat.chain[k][1], below, friction, 0.25 * dt);
        };
        for k in (0..=last).rev() {
            push(self, k, twice);
        }
        let factor = chain_decay(self.chain[0][1], 0.5 * dt);
        twice *= factor * factor;
        for link in &mut self.chain {
            link[0] += link[1] * (0.5 * dt);
        }
        for k in 0..=last {
            push(self, k, twice);
        }
        factor
    }

    /// A link of the chain; the first one stands for thermostats without a chain too.
    fn link(&self, k: usize) -> Link<f64> {
        Link {
            degrees_of_freedom: if k == 0 { self.degrees_of_freedom } else { 1.0 },
            kt: self.kt,
            time: self.thermostat.time,
        }
    }
}

impl ThermostatKind {
    /// The factor λ for the velocities and the energy this gives to the particles; one and none for kinds that do more
    /// than scale them. `noise` draws a standard normal R₁ and R₂² + … + R_g². Printed for CUDA.
    pub(crate) fn rescale<R: Real>(
        self,
        link: &Link<R>,
        kinetic: R,
        dt: R,
        noise: impl FnOnce() -> [R; 2],
    ) -> [R; 2] {
        let factor2 = match self {
            Self::Langevin | Self::NoseHoover { .. } => R::lit(1.0),
            Self::Berendsen => berendsen(link, kinetic, dt),
            Self::Bussi => bussi(link, kinetic, dt, noise()),
        };
        [factor2.sqrt(), kinetic * (factor2 - R::lit(1.0))]
    }
}

/// λ² = 1 + Δt/τ (T₀/T − 1).
fn berendsen<R: Real>(link: &Link<R>, kinetic: R, dt: R) -> R {
    let (one, target) = (R::lit(1.0), R::lit(0.5) * link.degrees_of_freedom * link.kt);
    (one + dt / link.time * (target / kinetic - one)).max(R::lit(0.0))
}

/// Bussi, Donadio & Parrinello 2007, Eq. A7.
fn bussi<R: Real>(link: &Link<R>, kinetic: R, dt: R, [r, rest]: [R; 2]) -> R {
    let c = (-dt / link.time).exp();
    let ratio = (R::lit(1.0) - c) * R::lit(0.5) * link.kt / kinetic;
    (c + ratio * (r * r + rest) + R::lit(2.0) * r * (c * ratio).sqrt()).max(R::lit(0.0))
}

/// A thermostat or a link of a chain of them: the degrees of freedom it is coupled to, k_B T of the target, and τ.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link<R> {
    pub(crate) degrees_of_freedom: R,
    pub(crate) kt: R,
    pub(crate) time: R,
}

impl<R: Real> Link<R> {
    /// Q₁ = g kT τ², Q_k = kT τ².
    fn mass(&self) -> R {
        self.degrees_of_freedom * self.kt * self.time * self.time
    }

    /// Twice its kinetic energy at a velocity.
    pub(crate) fn twice_kinetic(&self, velocity: R) -> R {
        self.mass() * velocity.squared()
    }

    /// Its velocity after a time, from twice the kinetic energy of what it is coupled to.
    pub(crate) fn velocity(&self, velocity: R, twice: R, friction: R, time: R) -> R {
        let force = twice - self.degrees_of_freedom * self.kt;
        (velocity * friction + force / self.mass() * time) * friction
    }
}

/// What friction leaves of a velocity after a time; the coefficient is the velocity of the (next) link.
pub(crate) fn chain_decay<R: Real>(coefficient: R, time: R) -> R {
    (-coefficient * time).exp()
}

// Keys that several of these have.
const KEY_TEMPERATURE: Key = Key::new(
    "temperature",
    "T, of the thermostat",
    Dimension::TEMPERATURE,
    Absent::Required,
);
const KEY_EVERY: Key = Key::new(
    "every",
    "n, steps between two actions",
    Dimension::NONE,
    Absent::Otherwise("10, 5, 2 or 1: at least 20 actions in τ"),
);
const KEY_TIME: Key = Key::new("time", "τ, relaxation time", Dimension::TIME, Absent::Required);

/// `langevin`.
pub(super) const LANGEVIN: Record = Record {
    name: "langevin",
    also: &["baoab"],
    keys: &[
        KEY_TEMPERATURE,
        Key::new(
            "friction",
            "γ; or give `time`",
            Dimension::PER_TIME,
            Absent::Otherwise("1/time"),
        ),
        Key::new(
            "time",
            "1/γ; or give `friction`",
            Dimension::TIME,
            Absent::Otherwise("1/friction"),
        ),
    ],
    doc: Doc {
        title: "Langevin dynamics, BAOAB splitting",
        formula: "m dv = F dt − mγ v dt + √(2mγ k_B T) dW\n\
                  BAOAB: half kick, half drift, v ← c v + √((1 − c²) k_B T/m) ξ, half drift, half kick\n\
                  c = exp(−γΔt), ξ standard normal",
        remarks: &[
            "γ is a rate, not a mass per time: every particle loses its velocity in the time 1/γ, \
             whatever its mass.",
            "Canonical. Momentum is not conserved, so all 3N degrees of freedom count \
             unless `remove_momentum_every` is set. Positions are \
             sampled with an error of Δt² that is small even for long steps. Constraints are kept in each \
             half drift.",
        ],
        conventions: Conventions {
            gromacs: ["integrator = sd: tau-t = 1/γ", "time = tau-t"],
            lammps: ["fix langevin: damp = 1/γ", "time = damp"],
            openmm: [
                "LangevinMiddleIntegrator: friction γ in 1/ps",
                "friction as it is",
            ],
            amber_charmm: [
                "AMBER: ntt = 3, gamma_ln in 1/ps; CHARMM: FBETA in 1/ps",
                "friction = gamma_ln = FBETA",
            ],
        },
        references: &["Leimkuhler & Matthews, Appl. Math. Res. Express 2013, 34 (2013)"],
        examples: &[],
    },
};

/// `bussi`.
pub(super) const BUSSI: Record = Record {
    name: "bussi",
    also: &["v-rescale", "csvr"],
    keys: &[KEY_TEMPERATURE, KEY_TIME, KEY_EVERY],
    doc: Doc {
        title: "Stochastic velocity rescaling (Bussi, Donadio & Parrinello)",
        formula: "v ← λv, λ² = c + b (R₁² + … + R_g²) + 2R₁ √(c b)\n\
                  every n steps; c = exp(−nΔt/τ), b = (1 − c) k_B T/(2K), R standard normal\n\
                  K: kinetic energy, g: degrees of freedom",
        remarks: &[
            "Canonical for any n. The mean of K relaxes as exp(−t/τ). λ is never negative here: the sign of the \
             paper's Eq. A8 is not drawn, which matters for few particles only.",
            "Energy taken from or given to the particles is counted: the conserved energy of the run \
             includes it.",
        ],
        conventions: Conventions {
            gromacs: [
                "tcoupl = V-rescale: tau-t, nsttcouple",
                "time = tau-t, every = nsttcouple",
            ],
            lammps: ["fix temp/csvr: Tdamp", "time = Tdamp"],
            openmm: ["not among its integrators", "–"],
            amber_charmm: ["AMBER: ntt = 11, tautp; CHARMM: no", "time = tautp"],
        },
        references: &["Bussi, Donadio & Parrinello, J. Chem. Phys. 126, 014101 (2007), Eq. A7"],
        examples: &[],
    },
};

/// `nose-hoover`.
pub(super) const NOSE_HOOVER: Record = Record {
    name: "nose-hoover",
    also: &[],
    keys: &[
        KEY_TEMPERATURE,
        Key::new(
            "time",
            "τ; it sets the masses of the thermostats",
            Dimension::TIME,
            Absent::Required,
        ),
        Key::new(
            "chain",
            "length of the chain, 1 to 20",
            Dimension::NONE,
            Absent::Value(CHAIN as f64),
        ),
    ],
    doc: Doc {
        title: "Nosé–Hoover chain",
        formula: "dv/dt = F/m − ξ₁v, Q₁ dξ₁/dt = 2K − g k_B T − Q₁ξ₁ξ₂\n\
                  Q_k dξ_k/dt = Q_(k−1) ξ_(k−1)² − k_B T − Q_k ξ_k ξ_(k+1); the last one without ξ_(k+1)\n\
                  Q₁ = g k_B T τ², Q_k = k_B T τ² for k > 1",
        remarks: &[
            "Canonical where the motion is ergodic: not for few stiff oscillators, even with a chain.",
            "τ is not a period: the temperature of an ideal gas oscillates with √2 π τ = 4.44 τ.",
            "One step of the chain per half time step, with one Suzuki–Yoshida weight. The conserved \
             energy includes the chain.",
        ],
        conventions: Conventions {
            gromacs: [
                "tcoupl = nose-hoover: tau-t is a period, Q = g k_B T tau-t²/4π²; chain length 10 with \
                 md-vv, 1 with md",
                "time = tau-t/2π",
            ],
            lammps: ["fix nvt: Q₁ = g k_B T Tdamp², chain of 3", "time = Tdamp"],
            openmm: [
                "NoseHooverIntegrator: Q₁ = g k_B T/ν², ν the collision frequency, chain of 3",
                "time = 1/ν",
            ],
            amber_charmm: [
                "CHARMM: NOSE with the mass QREF itself; AMBER: no plain chain",
                "time = √(Q/(g k_B T))",
            ],
        },
        references: &[
            "Martyna, Klein & Tuckerman, J. Chem. Phys. 97, 2635 (1992)",
            "Martyna, Tuckerman, Tobias & Klein, Mol. Phys. 87, 1117 (1996), Sec. 4",
        ],
        examples: &[],
    },
};

/// `berendsen`.
pub(super) const WEAK_COUPLING: Record = Record {
    name: "berendsen",
    also: &["weak-coupling"],
    keys: &[KEY_TEMPERATURE, KEY_TIME, KEY_EVERY],
    doc: Doc {
        title: "Weak coupling (Berendsen)",
        formula: "v ← λv, λ² = 1 + nΔt/τ (T/T_now − 1), every n steps",
        remarks: &[
            "Not canonical: fluctuations of the kinetic energy are too small. For equilibration; `bussi` \
             costs the same and is canonical.",
        ],
        conventions: Conventions {
            gromacs: [
                "tcoupl = berendsen: tau-t, nsttcouple",
                "time = tau-t, every = nsttcouple",
            ],
            lammps: ["fix temp/berendsen: Tdamp", "time = Tdamp"],
            openmm: ["not among its integrators", "–"],
            amber_charmm: [
                "AMBER: ntt = 1, tautp; CHARMM: TCONST, TCOUP",
                "time = tautp = TCOUP",
            ],
        },
        references: &["Berendsen, Postma, van Gunsteren, DiNola & Haak, J. Chem. Phys. 81, 3684 (1984)"],
        examples: &[],
    },
};
