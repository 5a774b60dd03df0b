//! A simulation that explodes says who did it.

use debye::engines::cpu::CpuEngine;
use debye::engines::{Culprit, EngineError};
use debye::expr::Vec3;
use debye::forces::{BondedTerm, ForceField};
use debye::potentials::Value;
use debye::system::{Link, System};
use debye::truncation::Truncation;

use super::{liquid, lj, nve, precisions};

/// The error a system ends in.
fn explosion(system: &System, field: &ForceField, settings: &debye::engines::Settings) -> Culprit {
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
        let pair = [culprit.particle, culprit.partners[0]];
        assert!(
            pair == [123, 321] || pair == [321, 123],
            "{settings:?}: {culprit}"
        );
        assert_eq!(culprit.term.as_deref(), Some("lennard-jones"), "{culprit}");
        assert!(culprit.step <= 2, "{culprit}");
        assert!(culprit.neighborhood.len() > 1);
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
        let pair = [culprit.particle, culprit.partners[0]];
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

/// Chains whose bonds are of one kind, with a repulsion between beads that are not bonded.
fn chains(bond: &str, values: &[(&str, f64)]) -> (System, ForceField) {
    let system = debye::system::builders::polymers(20, 10)
        .density(0.5)
        .exclude(1)
        .seed(3)
        .build()
        .unwrap();
    let mut field = lj(&system, 2f64.powf(1.0 / 6.0), Truncation::Shift, false);
    let values = values
        .iter()
        .map(|&(name, x)| (name.to_owned(), Value::Number(x)));
    field.bonds = vec![BondedTerm::build(bond, &[Some(values.collect())]).unwrap()];
    (system, field)
}

#[test]
fn a_bond_beyond_its_limit_is_named() {
    let (mut system, field) = chains("fene-bond", &[("k", 30.0), ("r0", 1.5)]);
    // The end of a chain, away from it along the bond.
    let (last, before) = (99, 98);
    let p = &mut system.particles.positions;
    let bond = system.cell.minimum_image(p[last] - p[before]);
    p[last] = p[before] + bond * (1.6 / bond.norm());
    for settings in precisions() {
        let culprit = explosion(&system, &field, &settings);
        assert_eq!(culprit.term.as_deref(), Some("fene-bond"), "{culprit}");
        assert!(culprit.bonded, "{culprit}");
        let pair = [culprit.particle, culprit.partners[0]];
        assert!(pair == [98, 99] || pair == [99, 98], "{culprit}");
        assert!((culprit.distance.unwrap() - 1.6).abs() < 1e-6, "{culprit}");
        let message = culprit.to_string();
        assert!(
            message.contains("`fene-bond` with particle") && message.contains("longer than its potential"),
            "{message}"
        );
    }
}

#[test]
fn a_bond_too_stiff_for_the_time_step_is_named() {
    let (system, field) = chains("harmonic-bond", &[("k", 1e9), ("r0", 0.9)]);
    for settings in precisions() {
        let culprit = explosion(&system, &field, &settings);
        assert_eq!(culprit.term.as_deref(), Some("harmonic-bond"), "{culprit}");
        assert_eq!(culprit.partners[0].abs_diff(culprit.particle), 1, "{culprit}");
        assert!(culprit.to_string().contains("shorter time step"), "{culprit}");
    }
}

#[test]
fn an_angle_too_stiff_for_the_time_step_is_named() {
    let (mut system, mut field) = chains("harmonic-bond", &[("k", 100.0), ("r0", 0.97)]);
    system.topology.angle_kinds = vec!["angle".into()];
    let atoms = [41, 42, 43];
    system.topology.angles = vec![Link { kind: 0, atoms }];
    let values = [("k", 1e8), ("theta0", 1.0)].map(|(name, x)| (name.to_owned(), Value::Number(x)));
    field.angles = vec![BondedTerm::build("harmonic-angle", &[Some(values.to_vec())]).unwrap()];
    let culprit = explosion(&system, &field, &super::double());
    assert_eq!(culprit.term.as_deref(), Some("harmonic-angle"), "{culprit}");
    assert_eq!(culprit.partners.len(), 2, "{culprit}");
    assert!(culprit.partners.iter().all(|p| atoms.contains(p)), "{culprit}");
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
