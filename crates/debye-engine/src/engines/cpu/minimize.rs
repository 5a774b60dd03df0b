//! FIRE: the fast inertial relaxation engine (Bitzek et al. 2006), with their parameters.

use crate::parallel::{InParallel, Indexed};

use super::engine::CpuEngine;
use super::motion::{self, Rounding, per_mass};
use super::state::BLOCK;
use crate::engines::EngineError;
use crate::expr::Vec3;
use crate::integrate::Scheme;
use crate::record::{Absent, Conventions, Doc, Key, Record};
use crate::system::{Dimension, Particles};

/// When to stop, and how far to go at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fire {
    /// Done when no force component is larger.
    pub force_tolerance: f64,
    /// Give up after so many steps.
    pub max_steps: u64,
    /// No particle moves further in one step.
    pub max_displacement: f64,
}

impl Fire {
    /// `force_tolerance` unless said, in md and in lj units.
    pub const FORCE_TOLERANCE: [f64; 2] = [10.0, 1e-2];
    /// `max_steps` unless said.
    pub const MAX_STEPS: u64 = 10_000;
    /// `max_displacement` unless said, in md and in lj units.
    pub const MAX_DISPLACEMENT: [f64; 2] = [0.01, 0.05];
}

/// How a minimization ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Minimized {
    /// Steps done.
    pub steps: u64,
    /// Energy before and after.
    pub energy: [f64; 2],
    /// Largest force component at the end.
    pub largest_force: f64,
    /// Whether the tolerance was reached.
    pub converged: bool,
}

const WAIT: u64 = 5;
const FASTER: f64 = 1.1;
const SLOWER: f64 = 0.5;
const ALPHA: f64 = 0.1;
const ALPHA_DECAY: f64 = 0.99;
const LONGEST: f64 = 10.0;

/// What a descent remembers from step to step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Descent {
    first: f64,
    dt: f64,
    alpha: f64,
    positive_steps: u64,
}

impl Descent {
    pub(crate) fn new(first: f64) -> Self {
        Self {
            first,
            dt: first,
            alpha: ALPHA,
            positive_steps: 0,
        }
    }

    /// From F·v, v² and F²: v is to become v × the first + F × the second of what this gives.
    fn turn(&mut self, [power, v2, f2]: [f64; 3]) -> [f64; 2] {
        if power <= 0.0 {
            (self.positive_steps, self.alpha, self.dt) = (0, ALPHA, self.dt * SLOWER);
            return [0.0; 2];
        }
        let mix = if f2 > 0.0 {
            self.alpha * (v2 / f2).sqrt()
        } else {
            0.0
        };
        let keep = 1.0 - self.alpha;
        self.positive_steps += 1;
        if self.positive_steps > WAIT {
            self.dt = (self.dt * FASTER).min(LONGEST * self.first);
            self.alpha *= ALPHA_DECAY;
        }
        [keep, mix]
    }

    /// A step of particles whose velocities are those of the descent.
    pub(crate) fn step(&mut self, particles: &mut Particles, forces: &[Vec3<f64>], longest: f64) {
        let mut sums = [0.0; 3];
        for (v, &f) in particles.velocities.iter().zip(forces) {
            sums[0] += f.dot(*v);
            sums[1] += v.norm2();
            sums[2] += f.norm2();
        }
        let [keep, mix] = self.turn(sums);
        let Particles {
            positions,
            velocities,
            masses,
            ..
        } = particles;
        for (((r, v), &f), &m) in positions.iter_mut().zip(velocities).zip(forces).zip(&*masses) {
            *v = *v * keep + f * mix;
            move_one(r, v, f, m, self.dt, longest);
        }
    }
}

fn move_one(r: &mut Vec3<f64>, v: &mut Vec3<f64>, f: Vec3<f64>, m: f64, dt: f64, longest: f64) {
    *v += f * per_mass(dt, m);
    let d = *v * dt;
    let far = d.norm();
    *r += if far > longest { d * (longest / far) } else { d };
}

impl CpuEngine {
    /// Minimizes the energy. Velocities and the step counter are as before.
    pub fn minimize(&mut self, fire: Fire) -> Result<Minimized, EngineError> {
        self.minimize_while(fire, &mut |_| true)
    }

    /// The same, asking after every step with its number whether to go on.
    pub fn minimize_while(
        &mut self,
        fire: Fire,
        proceed: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Minimized, EngineError> {
        let (start, velocities) = (self.observe()?.potential, self.velocities_now());
        let turns = &self.state.rotations.turns;
        // In the particles' own axes: what has turned since goes on as fast as it did.
        let momenta: Vec<Vec3<f64>> = (self.angular_momenta_now().iter())
            .zip(turns)
            .map(|(&momentum, turn)| turn.conjugate().rotate(momentum))
            .collect();
        let ids = self.state.ids.clone();
        self.state.velocities.fill(Vec3::zero());
        self.state.rotations.momenta.fill(Vec3::zero());
        self.constrain_forces()?;
        let first = self.dynamics.timestep;
        let (mut descent, mut steps) = (Descent::new(first), 0);
        let mut largest = self.largest_force();
        while largest > fire.force_tolerance && steps < fire.max_steps && proceed(steps) {
            if largest.is_infinite() {
                return Err(self.diagnose());
            }
            let (alpha, [[power, v2, f2], [turning, l2, t2]]) = (descent.alpha, self.power());
            let [keep, mix] = descent.turn([power + turning, v2, f2]);
            let of_rotations = if keep > 0.0 && t2 > 0.0 {
                alpha * (l2 / t2).sqrt()
            } else {
                0.0
            };
            self.state.rotations.descend([keep, of_rotations], descent.dt);
            let state = &mut self.state;
            state
                .velocities
                .par_iter_mut()
                .zip(&state.forces)
                .with_min_len(BLOCK)
                .for_each(|(v, &f)| *v = *v * keep + f * mix);
            self.before_drift();
            self.descend(descent.dt, fire.max_displacement);
            self.constrain_positions_within(descent.dt, fire.max_displacement)?;
            self.refresh()?;
            self.constrain_velocities()?;
            self.evaluate(false)?;
            self.constrain_forces()?;
            largest = self.largest_force();
            steps += 1;
        }
        self.evaluate(true)?;
        // The velocities of the input come back; the particles may have been sorted since.
        for (k, &id) in ids.iter().enumerate() {
            let slot = self.state.slot_of[id as usize] as usize;
            self.state.velocities[slot] = velocities[k];
            if let Some(momentum) = momenta.get(k) {
                let turned = self.state.rotations.turns[slot].rotate(*momentum);
                self.state.rotations.set_momentum(slot, turned);
            }
        }
        self.rest_massless();
        self.turn_velocities()?;
        if self.dynamics.scheme == Scheme::Leapfrog {
            // Half a step behind again, by the forces of the minimum and not of the start.
            motion::kick(&mut self.state, -0.5 * first, Rounding::Double);
        }
        let end = self.observe()?.potential;
        Ok(Minimized {
            steps,
            energy: [start, end],
            largest_force: largest,
            converged: largest <= fire.force_tolerance,
        })
    }

    /// The velocities of the start for molecules that have turned since, as hot as they were.
    fn turn_velocities(&mut self) -> Result<(), EngineError> {
        if !self.is_constrained() {
            return Ok(());
        }
        let every = vec![true; 1 + self.state.species.iter().fold(0, |most, &s| most.max(s)) as usize];
        let before = motion::kinetic_energy_of(&self.state, &every);
        self.constrain_velocities()?;
        let after = motion::kinetic_energy_of(&self.state, &every);
        if after > 0.0 {
            let factor = (before / after).sqrt();
            motion::scale(&mut self.state, &vec![factor; every.len()], self.rounding);
        }
        Ok(())
    }

    fn largest_force(&self) -> f64 {
        // A maximum passes over what is not a number; that must not look like convergence.
        let of = |f: &Vec3<f64>| {
            let largest = f.x.abs().max(f.y.abs()).max(f.z.abs());
            if f.norm2().is_nan() {
                f64::INFINITY
            } else {
                largest
            }
        };
        let blocks: Vec<f64> = self
            .state
            .forces
            .par_chunks(BLOCK)
            .map(|c| c.iter().map(of).fold(0.0, f64::max))
            .collect();
        let torques = self.state.rotations.torques_at_rim(&self.state.masses);
        let torques = torques.map(|t| if t.is_nan() { f64::INFINITY } else { t });
        blocks.into_iter().chain(torques).fold(0.0, f64::max)
    }

    /// F·v, v² and F² over all particles, and the same of rotations.
    fn power(&self) -> [[f64; 3]; 2] {
        let s = &self.state;
        let of_positions = motion::sum(
            s.len(),
            |t: &mut [f64; 3], i| {
                t[0] += s.forces[i].dot(s.velocities[i]);
                t[1] += s.velocities[i].norm2();
                t[2] += s.forces[i].norm2();
            },
            |t, b| t.iter_mut().zip(b).for_each(|(t, b)| *t += b),
        );
        [of_positions, s.rotations.power()]
    }

    fn descend(&mut self, dt: f64, longest: f64) {
        let s = &mut self.state;
        s.positions
            .par_iter_mut()
            .zip(&mut s.velocities)
            .zip(&s.forces)
            .zip(&s.masses)
            .with_min_len(BLOCK)
            .for_each(|(((r, v), &f), &m)| move_one(r, v, f, m, dt, longest));
    }
}

/// `fire`.
pub const FIRE: Record = Record {
    name: "fire",
    also: &[],
    keys: &[
        Key::new(
            "force_tolerance",
            "done when no component of a force is larger",
            Dimension::FORCE,
            Absent::Both(Fire::FORCE_TOLERANCE[0], Fire::FORCE_TOLERANCE[1]),
        ),
        Key::new(
            "max_steps",
            "done after so many steps in any case",
            Dimension::NONE,
            Absent::Value(Fire::MAX_STEPS as f64),
        ),
        Key::new(
            "max_displacement",
            "no particle moves farther in one step",
            Dimension::LENGTH,
            Absent::Both(Fire::MAX_DISPLACEMENT[0], Fire::MAX_DISPLACEMENT[1]),
        ),
    ],
    doc: Doc {
        title: "Fast inertial relaxation engine",
        formula: "F·v > 0: v ← (1 − α) v + α |v| F/|F|; else v ← 0\n\
                  then v ← v + Δt F/m, r ← r + Δt v; F·v, |v| and |F| are those of all particles together",
        remarks: &[
            "Parameters of the paper: N_min = 5, f_inc = 1.1, f_dec = 0.5, α_start = 0.1, f_α = 0.99; Δt \
             begins at the time step of [integrator] and grows to ten times that.",
            "Particles that turn are turned by their torques in the same way; a torque counts as the force at the radius of \
             gyration, √(I/m).",
            "Velocities of the input come back afterwards.",
        ],
        conventions: Conventions {
            gromacs: [
                "steep, cg, l-bfgs; emtol is the largest norm of a force, not of a component",
                "force_tolerance ≤ emtol/√3 is as strict in any case",
            ],
            lammps: [
                "min_style fire, with the changes of FIRE 2.0; ftol is the norm of all forces together",
                "–",
            ],
            openmm: ["LocalEnergyMinimizer (L-BFGS); tolerance is the rms force", "–"],
            amber_charmm: [
                "steepest descent and conjugate gradients; drms is the rms gradient",
                "–",
            ],
        },
        references: &["Bitzek, Koskinen, Gähler, Moseler & Gumbsch, Phys. Rev. Lett. 97, 170201 (2006)"],
        examples: &[],
    },
};
