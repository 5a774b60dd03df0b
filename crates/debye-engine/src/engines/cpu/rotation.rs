//! [`Rotations`]: orientations and angular momenta of a running simulation, and what moves them.

use crate::parallel::{InParallel, Indexed};

use super::motion::{Rounding, sum};
use super::state::{BLOCK, permute};
use crate::expr::{Quat, Vec3};
use crate::integrate::rotation::{turn_body, turn_to_minimum, turn_top};
use crate::random::{Philox, stream};
use crate::system::{Class, Orientations, Rotor};

/// Particles that turn, in the order of the state; all lists are empty where everything is a point.
#[derive(Clone, Debug, Default)]
pub struct Rotations {
    /// Orientations.
    pub turns: Vec<Quat<f64>>,
    /// Angular momenta in the laboratory's axes; half a step behind for leapfrog.
    pub momenta: Vec<Vec3<f64>>,
    /// Torques at these orientations.
    pub torques: Vec<Vec3<f64>>,
    /// Moments of inertia and dipoles.
    pub rotors: Vec<Rotor>,
}

impl Rotations {
    /// Those of a system.
    pub fn new(from: &Orientations) -> Self {
        Self {
            turns: from.rotations.clone(),
            momenta: from.angular_momenta.clone(),
            torques: vec![Vec3::zero(); from.rotors.len()],
            rotors: from.rotors.clone(),
        }
    }

    /// Whether everything is a point.
    pub fn is_empty(&self) -> bool {
        self.rotors.is_empty()
    }

    /// Puts slot `order[k]` into slot k.
    pub fn sort(&mut self, order: &[u32]) {
        if !self.is_empty() {
            permute(&mut self.turns, order);
            permute(&mut self.momenta, order);
            permute(&mut self.torques, order);
            permute(&mut self.rotors, order);
        }
    }

    /// L += T · `time`.
    pub fn kick(&mut self, time: f64, rounding: Rounding) {
        self.momenta
            .par_iter_mut()
            .zip(&self.torques)
            .zip(&self.rotors)
            .with_min_len(BLOCK)
            .for_each(|((l, &t), rotor)| {
                if rotor.class() != Class::Point {
                    *l = rounding.apply(*l + t * time);
                }
            });
    }

    /// Free rotation.
    pub fn drift(&mut self, time: f64, rounding: Rounding) {
        self.turns
            .par_iter_mut()
            .zip(&mut self.momenta)
            .zip(&self.rotors)
            .with_min_len(BLOCK)
            .for_each(|((q, l), rotor)| {
                match rotor.class() {
                    Class::Point => return,
                    Class::Linear => (*q, *l) = turn_top(*q, *l, rotor.inertia[0], time),
                    Class::Body => *q = turn_body(*q, *l, rotor.inertia, time),
                }
                if rounding == Rounding::Single {
                    q.w = f64::from(q.w as f32);
                    q.v = rounding.apply(q.v);
                }
            });
    }

    /// Multiplies angular momenta by the factor of each species.
    pub fn scale(&mut self, species: &[u32], factor_of_species: &[f64], rounding: Rounding) {
        let all = self.momenta.par_iter_mut().zip(species);
        all.with_min_len(BLOCK)
            .for_each(|(l, &s)| *l = rounding.apply(*l * factor_of_species[s as usize]));
    }

    /// The exact Ornstein–Uhlenbeck step about every axis: L = c L + √((1 − c²) kT I) ξ.
    pub fn ornstein_uhlenbeck(&mut self, noise: &Noise) {
        let (turns, rotors) = (&self.turns, &self.rotors);
        let all = self.momenta.par_iter_mut().enumerate().with_min_len(BLOCK);
        all.for_each(|(i, l)| {
            let s = noise.species[i] as usize;
            let (c, kt) = (noise.keep[s], noise.kt[s]);
            if c < 1.0 && rotors[i].class() != Class::Point {
                let xi = noise
                    .philox
                    .normals(noise.step, noise.ids[i], stream::LANGEVIN_ROTATIONS);
                let spread = |k: usize| ((1.0 - c * c) * kt * rotors[i].inertia[k]).sqrt() * xi[k];
                let kicked = turns[i].rotate(Vec3::new(spread(0), spread(1), spread(2)));
                *l = noise.rounding.apply(*l * c + kicked);
            }
        });
    }

    /// Kinetic energy of a particle's rotation with this angular momentum.
    pub fn kinetic_energy(&self, i: usize, momentum: Vec3<f64>) -> f64 {
        self.rotors[i].kinetic_energy(self.turns[i].conjugate().rotate(momentum))
    }

    /// Kinetic energy of the rotation of the particles whose species are marked.
    pub fn kinetic_energy_of(&self, momenta: &[Vec3<f64>], marked: impl Fn(usize) -> bool + Sync) -> f64 {
        sum(
            self.rotors.len(),
            |t: &mut f64, i| {
                if marked(i) {
                    *t += self.kinetic_energy(i, momenta[i]);
                }
            },
            |t, b| *t += b,
        )
    }

    /// Angular momenta half a time step further.
    pub fn momenta_after(&self, time: f64) -> Vec<Vec3<f64>> {
        let further = |(l, t): (&Vec3<f64>, &Vec3<f64>)| *l + *t * time;
        self.momenta.iter().zip(&self.torques).map(further).collect()
    }

    /// T·ω, L² and T² over all particles: what decides how a descent goes on.
    pub fn power(&self) -> [f64; 3] {
        sum(
            self.rotors.len(),
            |t: &mut [f64; 3], i| {
                let (torque, l) = (self.torques[i], self.momenta[i]);
                t[0] += torque.dot(l) / self.largest_moment(i);
                t[1] += l.norm2();
                t[2] += torque.norm2();
            },
            |t, b| t.iter_mut().zip(b).for_each(|(t, b)| *t += b),
        )
    }

    /// A step of a descent: L becomes L × `keep` + T × `mix` + T dt, and every particle turns with it, none by more than a
    /// tenth of a radian.
    pub fn descend(&mut self, [keep, mix]: [f64; 2], dt: f64) {
        for i in 0..self.rotors.len() {
            if self.rotors[i].class() != Class::Point {
                let l = self.momenta[i] * keep + self.torques[i] * (mix + dt);
                let rate = l * self.largest_moment(i).recip();
                self.turns[i] = turn_to_minimum(self.turns[i], rate, dt);
                self.momenta[i] = l;
            }
        }
    }

    /// A particle of zero inertia does not turn, and so nothing is divided by it.
    fn largest_moment(&self, i: usize) -> f64 {
        self.rotors[i]
            .inertia
            .into_iter()
            .fold(f64::MIN_POSITIVE, f64::max)
    }

    /// Torques as the forces they are at the radius of gyration.
    pub fn torques_at_rim(&self, masses: &[f64]) -> impl Iterator<Item = f64> {
        let turning = (0..self.rotors.len()).filter(|&i| self.rotors[i].class() != Class::Point);
        turning.map(move |i| self.torques[i].norm() / (self.largest_moment(i) / masses[i]).sqrt())
    }

    /// Gives back an angular momentum to a particle that may lie otherwise now: a linear top cannot spin about its axis.
    pub fn set_momentum(&mut self, i: usize, momentum: Vec3<f64>) {
        let z = self.turns[i].rotate(Vec3::new(0.0, 0.0, 1.0));
        let along = if self.rotors[i].class() == Class::Linear {
            momentum.dot(z)
        } else {
            0.0
        };
        self.momenta[i] = momentum - z * along;
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.rotors.capacity() * (size_of::<Quat<f64>>() + 2 * size_of::<Vec3<f64>>() + size_of::<Rotor>())
    }
}

/// What a thermostat with friction draws from.
pub struct Noise<'a> {
    /// The step.
    pub step: u64,
    /// Numbers of the particles.
    pub ids: &'a [u32],
    /// Their species.
    pub species: &'a [u32],
    /// What remains of a momentum, by species.
    pub keep: &'a [f64],
    /// k_B T, by species.
    pub kt: &'a [f64],
    /// Random numbers.
    pub philox: Philox,
    /// How results are rounded.
    pub rounding: Rounding,
}
