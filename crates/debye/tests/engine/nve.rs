//! Motion without a thermostat: order of the integrator, momentum, leapfrog and Verlet.

use debye::engines::cpu::CpuEngine;
use debye::expr::Vec3;
use debye::integrate::{Dynamics, Scheme};
use debye::system::velocities;
use debye::truncation::Truncation;

use super::{double, energy_spread, liquid, lj, nve, precisions};

/// The spread of the total energy falls as the square of the time step.
#[test]
fn energy_error_is_of_second_order() {
    let mut system = liquid(4, 0.8442, 1.0, 2);
    // Smooth forces, so that the order is not hidden by what happens at the cut-off.
    let field = lj(&system, 2.5, Truncation::Switch { from: 1.8 }, false);
    let mut engine = CpuEngine::new(&system, &field, &nve(0.004), &double()).unwrap();
    engine.advance(300, true).unwrap();
    system.particles = engine.particles();
    for scheme in [Scheme::VelocityVerlet, Scheme::Leapfrog] {
        let [coarse, middle, fine] =
            [0.008, 0.004, 0.002].map(|dt| energy_spread(&system, &field, scheme, 2.0, dt));
        for ratio in [coarse / middle, middle / fine] {
            assert!(
                (3.2..4.8).contains(&ratio),
                "{scheme:?}: {coarse} {middle} {fine}"
            );
        }
    }
}

/// Both schemes give the same trajectory; only the velocities they store differ.
#[test]
fn leapfrog_is_velocity_verlet() {
    let system = liquid(4, 0.8442, 1.0, 2);
    let field = lj(&system, 2.5, Truncation::ForceShift, false);
    let [a, b] = [Scheme::VelocityVerlet, Scheme::Leapfrog].map(|scheme| {
        let dynamics = Dynamics { scheme, ..nve(0.004) };
        let mut engine = CpuEngine::new(&system, &field, &dynamics, &double()).unwrap();
        engine.advance(50, true).unwrap();
        (engine.particles(), engine.observe().unwrap())
    });
    for k in 0..system.particles.len() {
        let off = system
            .cell
            .minimum_image(a.0.positions[k] - b.0.positions[k])
            .norm();
        assert!(off < 1e-10, "{off:e}");
        assert!((a.0.velocities[k] - b.0.velocities[k]).norm() < 1e-9);
    }
    assert!((a.1.kinetic - b.1.kinetic).abs() < 1e-8);
}

/// Momentum stays where it was: to rounding in double, to the precision of forces elsewhere.
#[test]
fn momentum_is_conserved() {
    let mut system = liquid(6, 0.8442, 1.44, 2);
    system
        .particles
        .velocities
        .iter_mut()
        .for_each(|v| *v += Vec3::new(0.3, -0.2, 0.1));
    let field = lj(&system, 2.5, Truncation::ForceShift, false);
    let thermal = (system.particles.len() as f64 * 1.44).sqrt();
    for settings in precisions() {
        let mut engine = CpuEngine::new(&system, &field, &nve(0.004), &settings).unwrap();
        let before = velocities::momentum(&system);
        engine.advance(500, true).unwrap();
        let change = (engine.momentum() - before).norm() / thermal;
        let allowed = match settings.precision {
            debye::engines::Precision::Double => 1e-12,
            debye::engines::Precision::Mixed => 1e-5,
            debye::engines::Precision::Single => 1e-4,
        };
        assert!(change < allowed, "{:?}: {change:e}", settings.precision);
    }
}

/// The center of mass comes to rest where that was asked for.
#[test]
fn momentum_is_removed() {
    let mut system = liquid(4, 0.8442, 1.44, 2);
    system
        .particles
        .velocities
        .iter_mut()
        .for_each(|v| *v += Vec3::splat(0.5));
    let field = lj(&system, 2.5, Truncation::ForceShift, false);
    let dynamics = Dynamics {
        remove_momentum_every: 10,
        ..nve(0.004)
    };
    let mut engine = CpuEngine::new(&system, &field, &dynamics, &double()).unwrap();
    engine.advance(9, true).unwrap();
    assert!(engine.momentum().norm() > 1.0);
    engine.advance(1, true).unwrap();
    assert!(engine.momentum().norm() < 1e-10);
}
