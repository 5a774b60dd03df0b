//! Velocities: Maxwell–Boltzmann, temperature, momentum.

use crate::parallel::{InParallel, Indexed};

use super::System;
use crate::expr::Vec3;
use crate::random::{Philox, stream};

/// Why velocities could not be given.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum VelocityError {
    /// A mass that cannot move thermally.
    #[error("particle {particle} has mass {mass}; thermal velocities need a positive, finite mass")]
    Mass {
        /// Index of the particle.
        particle: usize,
        /// Its mass.
        mass: f64,
    },
    /// A temperature that is none.
    #[error("temperature is {0}; expected zero or a positive number")]
    Temperature(f64),
    /// Constraints that leave no velocities to draw.
    #[error(transparent)]
    Constraint(#[from] super::ConstraintError),
    /// Nobody to move.
    #[error("there are no particles to give velocities to")]
    Empty,
}

/// Gives all particles velocities of the Maxwell–Boltzmann distribution, and angular momenta where they turn, removes the
/// total momentum and scales to exactly this temperature for [`degrees_of_freedom`] and those of rotation. A lone particle
/// keeps its momentum.
///
/// Fixed distances stay as they are: what would change them is taken from the velocities before these are scaled, and each
/// takes one degree of freedom.
///
/// The normals are those of step 0 of [`stream::VELOCITIES`] of the seed: a particle's velocity before
/// removal and scaling depends on its index, its mass and the seed only.
pub fn thermalize(system: &mut System, temperature: f64, seed: u64) -> Result<(), VelocityError> {
    if !(temperature.is_finite() && temperature >= 0.0) {
        return Err(VelocityError::Temperature(temperature));
    }
    let n = system.particles.len();
    if temperature == 0.0 {
        system.particles.velocities = vec![Vec3::zero(); n];
        system.particles.orientations.angular_momenta.fill(Vec3::zero());
        return Ok(());
    }
    check_masses(system)?;
    if n == 0 {
        return Err(VelocityError::Empty);
    }
    let kt = system.units.boltzmann() * temperature;
    let philox = Philox::new(seed);
    system.particles.velocities = system
        .particles
        .masses
        .par_iter()
        .enumerate()
        .map(|(i, &mass)| match mass > 0.0 {
            true => Vec3::from(philox.normals(0, i as u32, stream::VELOCITIES)) * (kt / mass).sqrt(),
            // A site that goes with its rigid body.
            false => Vec3::zero(),
        })
        .collect();
    if n > 1 {
        remove_momentum(system)?;
    }
    system.constrain_velocities()?;
    system.particles.draw_angular_momenta(kt, philox);
    let rotations = system.particles.rotational_freedom() as f64;
    let freedom = degrees_of_freedom(n) - system.constraints.len() as f64 + rotations;
    let factor = (temperature / self::temperature(system, freedom)).sqrt();
    let p = &mut system.particles;
    for v in p.velocities.iter_mut().chain(&mut p.orientations.angular_momenta) {
        *v = *v * factor;
    }
    Ok(())
}

/// Degrees of freedom of the motion of so many particles whose center of mass rests: 3N − 3. A lone particle
/// has its three: relative to itself it could not move at all.
pub fn degrees_of_freedom(particles: usize) -> f64 {
    match particles {
        0 => 0.0,
        1 => 3.0,
        n => 3.0 * (n as f64 - 1.0),
    }
}

/// Σ m v² / 2 and the energy of rotation, summed in the order of the particles.
pub fn kinetic_energy(system: &System) -> f64 {
    let particles = &system.particles;
    let twice: f64 = particles
        .masses
        .iter()
        .zip(&particles.velocities)
        .map(|(&m, v)| m * v.norm2())
        .sum();
    let o = &particles.orientations;
    0.5 * twice + (0..o.rotors.len()).map(|i| o.kinetic_energy(i)).sum::<f64>()
}

/// The temperature 2 E_kin / (k_B · degrees of freedom); zero where there are none.
pub fn temperature(system: &System, degrees_of_freedom: f64) -> f64 {
    if degrees_of_freedom > 0.0 {
        2.0 * kinetic_energy(system) / (system.units.boltzmann() * degrees_of_freedom)
    } else {
        0.0
    }
}

/// Σ m v.
pub fn momentum(system: &System) -> Vec3<f64> {
    let particles = &system.particles;
    particles
        .masses
        .iter()
        .zip(&particles.velocities)
        .fold(Vec3::zero(), |sum, (&m, &v)| sum + v * m)
}

/// Brings the center of mass to rest by taking its velocity from every particle.
pub fn remove_momentum(system: &mut System) -> Result<(), VelocityError> {
    check_masses(system)?;
    if system.particles.is_empty() {
        return Ok(());
    }
    let mass: f64 = system.particles.masses.iter().sum();
    let drift = momentum(system) * mass.recip();
    for v in &mut system.particles.velocities {
        *v -= drift;
    }
    Ok(())
}

fn check_masses(system: &System) -> Result<(), VelocityError> {
    let carried = system.constraints.in_bodies(system.particles.len());
    let bad = |(&m, &carried): (&f64, &bool)| !(m.is_finite() && (m > 0.0 || m == 0.0 && carried));
    match system.particles.masses.iter().zip(&carried).position(bad) {
        Some(particle) => Err(VelocityError::Mass {
            particle,
            mass: system.particles.masses[particle],
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::Units;
    use crate::system::builders::{self, Lattice};

    fn salt() -> System {
        builders::lattice(Lattice::RockSalt, [12, 12, 12])
            .spacing(0.562)
            .units(Units::Md)
            .species("Na", 22.99, 1.0)
            .species("Cl", 35.45, -1.0)
            .build()
            .unwrap()
    }

    #[test]
    fn exact_temperature_and_rest() {
        let mut system = salt();
        thermalize(&mut system, 300.0, 11).unwrap();
        let dof = 3.0 * (system.particles.len() as f64 - 1.0);
        assert!((temperature(&system, dof) / 300.0 - 1.0).abs() < 1e-14);
        // Thermal momentum of one ion is about √(m k_B T) = 8 u nm/ps.
        assert!(momentum(&system).norm() < 1e-9);
        assert_eq!(temperature(&system, 0.0), 0.0);
    }

    #[test]
    fn maxwell_boltzmann_for_each_mass_and_axis() {
        let mut system = salt();
        thermalize(&mut system, 300.0, 2).unwrap();
        let kt = system.units.boltzmann() * 300.0;
        let p = &system.particles;
        for species in 0..2 {
            let of = || {
                p.species
                    .iter()
                    .zip(&p.velocities)
                    .filter(move |s| *s.0 == species)
            };
            let (n, m) = (of().count() as f64, system.species[species as usize].mass);
            for axis in 0..3 {
                let x = || of().map(move |(_, v)| v[axis] * (m / kt).sqrt());
                let (second, fourth) = (
                    x().map(|x| x * x).sum::<f64>() / n,
                    x().map(|x| x.powi(4)).sum::<f64>() / n,
                );
                assert!((second - 1.0).abs() < 5.0 * (2.0 / n).sqrt(), "{second}");
                assert!((fourth - 3.0).abs() < 5.0 * (96.0 / n).sqrt(), "{fourth}");
            }
        }
    }

    #[test]
    fn drift_is_removed() {
        let mut system = salt();
        thermalize(&mut system, 300.0, 2).unwrap();
        let before = system.clone();
        for v in &mut system.particles.velocities {
            *v += Vec3::new(10.0, -3.0, 0.5);
        }
        remove_momentum(&mut system).unwrap();
        for (a, b) in system
            .particles
            .velocities
            .iter()
            .zip(&before.particles.velocities)
        {
            assert!((*a - *b).norm() < 1e-12);
        }
    }

    /// The kinetic energy is 3/2 kT exactly, the direction follows from the seed.
    #[test]
    fn a_lone_particle_keeps_its_momentum() {
        let one = builders::lattice(Lattice::Sc, [1, 1, 1])
            .spacing(1.0)
            .build()
            .unwrap();
        let drawn = |seed| {
            let mut one = one.clone();
            thermalize(&mut one, 0.7, seed).unwrap();
            assert!((kinetic_energy(&one) - 1.5 * 0.7).abs() < 1e-14);
            momentum(&one)
        };
        assert!((drawn(1) - drawn(2)).norm() > 1e-3);
    }

    #[test]
    fn impossible_masses_and_temperatures() {
        for mass in [0.0, -1.0, f64::INFINITY, f64::NAN] {
            let mut system = salt();
            system.particles.masses[5] = mass;
            let refused = thermalize(&mut system, 1.0, 0);
            assert!(matches!(refused, Err(VelocityError::Mass { particle: 5, .. })));
            assert!(remove_momentum(&mut system).is_err());
        }
        for t in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(thermalize(&mut salt(), t, 0).is_err());
        }
        let mut one = builders::lattice(Lattice::Sc, [1, 1, 1])
            .spacing(1.0)
            .build()
            .unwrap();
        assert_eq!(thermalize(&mut one, 0.0, 0), Ok(()));
        one.particles = Default::default();
        assert_eq!(thermalize(&mut one, 1.0, 0), Err(VelocityError::Empty));
    }
}
