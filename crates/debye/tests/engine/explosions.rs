//! A simulation that explodes says who did it.

use debye::backend::cpu::CpuEngine;
use debye::backend::{Culprit, EngineError};
use debye::expr::Vec3;
use debye::forces::ForceField;
use debye::system::System;
use debye::truncation::Truncation;

use super::{liquid, lj, nve, precisions};

/// The error a system ends in.
fn explosion(system: &System, field: &ForceField, settings: &debye::backend::Settings) -> Culprit {
    let ended = CpuEngine::new(system, field, &nve(0.004), settings)
        .and_then(|mut engine| engine.advance(200, true).map(|()| engine.observe()));
    match ended {
        Err(EngineError::Exploded(culprit)) => *culprit,
        other => panic!("no explosion: {:?}", other.map(|o| o.map(|o| o.potential))),
    }
}

#[test]
fn overlapping_particles_are_named() {
    let mut system = liquid(5, 0.7, 0.5, 1);
    let field = lj(&system, 2.5, Truncation::Shift, false);
    // Far apart in the list, nearly at one place.
    system.particles.positions[321] = system.particles.positions[123] + Vec3::new(1e-4, 2e-4, 0.0);
    for settings in precisions() {
        let culprit = explosion(&system, &field, &settings);
        let pair = [culprit.particle, culprit.partner.unwrap()];
        assert!(
            pair == [123, 321] || pair == [321, 123],
            "{settings:?}: {culprit}"
        );
        assert_eq!(culprit.term.as_deref(), Some("lennard-jones"), "{culprit}");
        assert!(culprit.step <= 2, "{culprit}");
        assert!(culprit.neighbourhood.len() > 1);
        let message = EngineError::Exploded(Box::new(culprit)).to_string();
        // Messages count from 1, as structure files do.
        assert!(
            message.contains("particle 124") && message.contains("particle 322"),
            "{message}"
        );
    }
}

#[test]
fn particles_at_the_same_place_are_named() {
    let mut system = liquid(4, 0.7, 0.5, 1);
    let field = lj(&system, 2.5, Truncation::Shift, false);
    system.particles.positions[200] = system.particles.positions[10];
    for settings in precisions() {
        let culprit = explosion(&system, &field, &settings);
        let pair = [culprit.particle, culprit.partner.unwrap()];
        assert!(pair == [10, 200] || pair == [200, 10], "{settings:?}: {culprit}");
    }
}

#[test]
fn a_particle_without_a_place_is_named() {
    let field = lj(&liquid(4, 0.7, 0.5, 1), 2.5, Truncation::Shift, false);
    for settings in precisions() {
        for (position, velocity) in [
            (Vec3::new(f64::NAN, 0.0, 0.0), Vec3::zero()),
            (Vec3::zero(), Vec3::new(0.0, f64::INFINITY, 0.0)),
        ] {
            let mut system = liquid(4, 0.7, 0.5, 1);
            system.particles.positions[77] += position;
            system.particles.velocities[77] += velocity;
            let culprit = explosion(&system, &field, &settings);
            assert_eq!(culprit.particle, 77, "{settings:?}: {culprit}");
        }
    }
}

/// A system without particles is refused.
#[test]
fn nothing_to_simulate() {
    let mut system = liquid(2, 0.7, 0.5, 1);
    let field = lj(&system, 1.2, Truncation::Shift, false);
    system.particles = Default::default();
    let refused = CpuEngine::new(&system, &field, &nve(0.004), &super::double());
    assert!(matches!(refused, Err(EngineError::Empty)));
}
