//! Velocities: Maxwell–Boltzmann, temperature, momentum.

use rayon::prelude::*;

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
    /// No motion is left once the centre of mass rests.
    #[error("{particles} particle(s) at rest on average cannot have a temperature; at least 2 are needed")]
    TooFew {
        /// How many there are.
        particles: usize,
    },
}

/// Gives all particles velocities of the Maxwell–Boltzmann distribution, removes the total momentum and
/// scales to exactly this temperature for 3N − 3 degrees of freedom.
///
/// The normals are those of step 0 of [`stream::VELOCITIES`] of the seed: a particle's velocity before
/// removal and scaling depends on its index, its mass and the seed only.
pub fn thermalise(system: &mut System, temperature: f64, seed: u64) -> Result<(), VelocityError> {
    if !(temperature.is_finite() && temperature >= 0.0) {
        return Err(VelocityError::Temperature(temperature));
    }
    let n = system.particles.len();
    if temperature == 0.0 {
        system.particles.velocities = vec![Vec3::zero(); n];
        return Ok(());
    }
    check_masses(system)?;
    if n < 2 {
        return Err(VelocityError::TooFew { particles: n });
    }
    let kt = system.units.boltzmann() * temperature;
    let philox = Philox::new(seed);
    system.particles.velocities = system
        .particles
        .masses
        .par_iter()
        .enumerate()
        .map(|(i, &mass)| Vec3::from(philox.normals(0, i as u32, stream::VELOCITIES)) * (kt / mass).sqrt())
        .collect();
    remove_momentum(system)?;
    let degrees_of_freedom = 3.0 * (n as f64 - 1.0);
    let factor = (temperature / self::temperature(system, degrees_of_freedom)).sqrt();
    for v in &mut system.particles.velocities {
        *v = *v * factor;
    }
    Ok(())
}

/// Σ m v² / 2, summed in the order of the particles.
pub fn kinetic_energy(system: &System) -> f64 {
    let particles = &system.particles;
    let twice: f64 = particles
        .masses
        .iter()
        .zip(&particles.velocities)
        .map(|(&m, v)| m * v.norm2())
        .sum();
    0.5 * twice
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

/// Brings the centre of mass to rest by taking its velocity from every particle.
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
    let bad = |m: &f64| !(m.is_finite() && *m > 0.0);
    match system.particles.masses.iter().position(bad) {
        Some(particle) => Err(VelocityError::Mass {
            particle,
            mass: system.particles.masses[particle],
        }),
        None => Ok(()),
    }
}
