//! Particles that turn: linear tops, such as a dipole on a bead, and rigid bodies.
//!
//! A body has axes x, y, z of its own, along which its inertia is diagonal. Its orientation turns vectors given in them
//! into those of the laboratory. A dipole points along z, and z is the axis of a linear top.

use std::f64::consts::TAU;

use super::{Particles, System};
use crate::expr::{Quat, Vec3};
use crate::random::{Philox, stream};

/// The shape of a particle's data: what can move, besides its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// A point: nothing.
    Point,
    /// A direction, with two equal moments of inertia; spinning about it means nothing.
    Linear,
    /// A body with three moments of inertia.
    Body,
}

impl Class {
    /// Degrees of freedom of its rotation.
    pub fn rotations(self) -> u32 {
        match self {
            Self::Point => 0,
            Self::Linear => 2,
            Self::Body => 3,
        }
    }
}

/// How a particle turns, and its dipole.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rotor {
    /// Principal moments of inertia about x, y, z: none for a point, I, I and 0 for a linear top.
    pub inertia: [f64; 3],
    /// Dipole moment, along z.
    pub dipole: f64,
}

/// Why a [`Rotor`] makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RotorError {
    /// Moments that no body has.
    #[error(
        "moments of inertia {0:?}: a body has three above zero, none larger than the sum of the others; a linear top I, I, 0"
    )]
    Inertia([f64; 3]),
    /// A dipole that could never turn.
    #[error("a dipole of {0} without a moment of inertia")]
    Dipole(f64),
}

impl Rotor {
    /// A point.
    pub const POINT: Self = Self {
        inertia: [0.0; 3],
        dipole: 0.0,
    };

    /// A direction with this moment of inertia across it.
    pub const fn linear(inertia: f64) -> Self {
        Self {
            inertia: [inertia, inertia, 0.0],
            dipole: 0.0,
        }
    }

    /// A rigid body with these moments about x, y, z.
    pub const fn body(inertia: [f64; 3]) -> Self {
        Self { inertia, dipole: 0.0 }
    }

    /// The same with a dipole along z.
    #[must_use]
    pub const fn with_dipole(self, dipole: f64) -> Self {
        Self { dipole, ..self }
    }

    /// What it is by its moments of inertia.
    pub fn class(&self) -> Class {
        match self.inertia {
            [0.0, 0.0, 0.0] => Class::Point,
            [_, _, 0.0] => Class::Linear,
            _ => Class::Body,
        }
    }

    /// Refuses what no particle is.
    ///
    /// # Errors
    /// [`RotorError`].
    pub fn check(&self) -> Result<(), RotorError> {
        let [x, y, z] = self.inertia;
        // Flat bodies have one moment that equals the sum of the others, but for the digits it is given with.
        let within = |a: f64, b: f64, c: f64| a <= (b + c) * (1.0 + 1e-3);
        let sound = match self.class() {
            Class::Point => true,
            Class::Linear => x > 0.0 && x == y,
            Class::Body => {
                x > 0.0 && y > 0.0 && z > 0.0 && within(x, y, z) && within(y, x, z) && within(z, x, y)
            }
        };
        if !sound || !self.inertia.iter().all(|i| i.is_finite()) {
            return Err(RotorError::Inertia(self.inertia));
        }
        if self.class() == Class::Point && self.dipole != 0.0 {
            return Err(RotorError::Dipole(self.dipole));
        }
        Ok(())
    }

    /// Kinetic energy of a rotation with this angular momentum in the body's own axes.
    pub fn kinetic_energy(&self, momentum: Vec3<f64>) -> f64 {
        let along = |l: f64, i: f64| if i > 0.0 { 0.5 * l * l / i } else { 0.0 };
        let [x, y, z] = self.inertia;
        along(momentum.x, x) + along(momentum.y, y) + along(momentum.z, z)
    }
}

/// What particles that turn have more than points. The lists are as long as those of the particles, or all empty where
/// everything is a point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Orientations {
    /// Unit quaternions that turn vectors of the body's axes into the laboratory's.
    pub rotations: Vec<Quat<f64>>,
    /// Angular momenta in the laboratory's axes; that of a linear top is perpendicular to its z.
    pub angular_momenta: Vec<Vec3<f64>>,
    /// Moments of inertia and dipoles.
    pub rotors: Vec<Rotor>,
}

impl Orientations {
    /// Whether everything is a point.
    pub fn is_empty(&self) -> bool {
        self.rotors.is_empty()
    }

    /// What a particle is; a point where everything is one.
    pub fn rotor(&self, i: usize) -> Rotor {
        self.rotors.get(i).copied().unwrap_or(Rotor::POINT)
    }

    /// The axes x, y, z of a particle; those of the laboratory where everything is a point.
    pub fn axes(&self, i: usize) -> [Vec3<f64>; 3] {
        let turn = self.rotations.get(i).copied().unwrap_or(Quat::identity());
        turn.axes()
    }

    /// Axis z of every particle, zero for points; none where everything is a point.
    pub fn facings(&self) -> Vec<Vec3<f64>> {
        let facing = |i: usize| match self.rotors[i].class() {
            Class::Point => Vec3::zero(),
            Class::Linear | Class::Body => self.axes(i)[2],
        };
        (0..self.rotors.len()).map(facing).collect()
    }

    /// Kinetic energy of the rotation of a particle.
    pub fn kinetic_energy(&self, i: usize) -> f64 {
        match self.rotations.get(i) {
            Some(turn) => self.rotors[i].kinetic_energy(turn.conjugate().rotate(self.angular_momenta[i])),
            None => 0.0,
        }
    }

    /// Takes over angular momenta of particles that may have lain otherwise: a linear top cannot spin about its axis.
    pub fn set_momenta(&mut self, momenta: Vec<Vec3<f64>>) {
        self.angular_momenta = momenta;
        for i in 0..self.rotors.len() {
            if self.rotors[i].class() == Class::Linear {
                let z = self.axes(i)[2];
                let momentum = &mut self.angular_momenta[i];
                *momentum -= z * momentum.dot(z);
            }
        }
    }

    /// Takes over angular momenta of the same particles before they turned, each in its own axes: as fast as they were.
    pub(crate) fn turn_momenta(&mut self, before: &Self) {
        let both = self
            .rotations
            .iter()
            .zip(before.rotations.iter().zip(&before.angular_momenta));
        let turned = both.map(|(now, (then, &momentum))| now.rotate(then.conjugate().rotate(momentum)));
        self.angular_momenta = turned.collect();
    }

    /// The same so many times over.
    pub(super) fn repeated(&self, copies: usize) -> Self {
        Self {
            rotations: self.rotations.repeat(copies),
            angular_momenta: self.angular_momenta.repeat(copies),
            rotors: self.rotors.repeat(copies),
        }
    }

    /// Keeps up with `n` particles, the new ones being points.
    pub(super) fn grow(&mut self, n: usize) {
        if !self.is_empty() {
            self.extend_with_points(n);
        }
    }

    fn extend_with_points(&mut self, n: usize) {
        self.rotations.resize(n, Quat::identity());
        self.angular_momenta.resize(n, Vec3::zero());
        self.rotors.resize(n, Rotor::POINT);
    }
}

impl System {
    /// Gives every particle of a species that turns an orientation, any as likely as any other.
    pub fn orient_at_random(&mut self, seed: u64) {
        for i in 0..self.particles.len() {
            let rotor = self.species[self.particles.species[i] as usize].rotor;
            if rotor.class() != Class::Point {
                self.particles.orient(i, rotor, Quat::identity());
            }
        }
        self.particles.turn_at_random(seed);
    }
}

impl Particles {
    /// Makes a particle turn: what it is, and how its axes lie; it does not rotate yet.
    pub fn orient(&mut self, i: usize, rotor: Rotor, rotation: Quat<f64>) {
        let n = self.len();
        self.orientations.extend_with_points(n);
        self.orientations.rotors[i] = rotor;
        self.orientations.rotations[i] = rotation.normalized();
    }

    /// Draws the orientation of every particle that turns, any as likely as any other.
    pub fn turn_at_random(&mut self, seed: u64) {
        let philox = Philox::new(seed);
        let all = self
            .orientations
            .rotations
            .iter_mut()
            .zip(&self.orientations.rotors);
        for (i, (turn, _)) in all
            .enumerate()
            .filter(|(_, (_, rotor))| rotor.class() != Class::Point)
        {
            *turn = random_rotation(philox.uniforms(0, i as u32, stream::ORIENTATIONS));
        }
    }

    /// Draws angular momenta of this k_B T, of step 0 of [`stream::ROTATIONS`].
    pub(super) fn draw_angular_momenta(&mut self, kt: f64, philox: Philox) {
        let o = &mut self.orientations;
        for (i, momentum) in o.angular_momenta.iter_mut().enumerate() {
            let noise = philox.normals(0, i as u32, stream::ROTATIONS);
            let inertia = o.rotors[i].inertia;
            let along = std::array::from_fn(|k| (kt * inertia[k]).sqrt() * noise[k]);
            *momentum = o.rotations[i].rotate(Vec3::from(along));
        }
    }

    /// Degrees of freedom of all rotations.
    pub fn rotational_freedom(&self) -> u64 {
        let rotations = |rotor: &Rotor| u64::from(rotor.class().rotations());
        self.orientations.rotors.iter().map(rotations).sum()
    }
}

/// A rotation, any as likely as any other, from three numbers in [0, 1) (Shoemake, Graphics Gems III, 1992).
pub(crate) fn random_rotation([a, b, c, _]: [f64; 4]) -> Quat<f64> {
    let (long, short) = ((1.0 - a).sqrt(), a.sqrt());
    let (first, second) = (TAU * b, TAU * c);
    let (x, y) = (long * libm::sin(first), long * libm::cos(first));
    let (z, w) = (short * libm::sin(second), short * libm::cos(second));
    Quat {
        w,
        v: Vec3::new(x, y, z),
    }
    .normalized()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_follow_from_inertia() {
        assert_eq!(Rotor::POINT.class(), Class::Point);
        assert_eq!(Rotor::linear(2.0).class(), Class::Linear);
        assert_eq!(Rotor::body([1.0, 2.0, 2.5]).class(), Class::Body);
        for sound in [
            Rotor::POINT,
            Rotor::linear(3.0).with_dipole(1.0),
            Rotor::body([1.7696, 0.6145, 1.1550]),
        ] {
            sound.check().unwrap();
        }
        assert_eq!(
            Rotor::POINT.with_dipole(1.0).check(),
            Err(RotorError::Dipole(1.0))
        );
        for wrong in [
            [1.0, 2.0, 0.0],
            [1.0, 1.0, -1.0],
            [1.0, 1.0, 3.0],
            [0.0, 0.0, 1.0],
            [f64::NAN; 3],
        ] {
            assert!(Rotor::body(wrong).check().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn energy_of_rotation_does_not_depend_on_the_orientation_of_the_laboratory() {
        let mut p = Particles::default();
        p.push(Vec3::zero(), 0, 1.0, 0.0, 0);
        p.push(Vec3::zero(), 0, 1.0, 0.0, 0);
        let turn = Quat::about(Vec3::new(0.6, 0.0, 0.8), 1.1);
        p.orient(1, Rotor::body([1.0, 2.0, 2.5]), turn);
        p.orientations.angular_momenta[1] = turn.rotate(Vec3::new(0.1, 0.2, 0.3));
        let expected = 0.5 * (0.01 / 1.0 + 0.04 / 2.0 + 0.09 / 2.5);
        assert!((p.orientations.kinetic_energy(1) - expected).abs() < 1e-15);
        assert_eq!(p.orientations.kinetic_energy(0), 0.0);
        assert_eq!(p.rotational_freedom(), 3);
    }
}
