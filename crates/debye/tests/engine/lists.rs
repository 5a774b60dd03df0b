//! Lists that may miss pairs do so within the drift they were allowed.

use debye::engines::Settings;
use debye::engines::cpu::CpuEngine;
use debye::truncation::Truncation;

use crate::{double, liquid, lj, nve};

#[test]
fn a_tolerated_drift_is_kept_and_saves_lists() {
    let system = liquid(5, 0.8442, 1.0, 7);
    let dynamics = nve(0.005);
    let per_particle = system.particles.len() as f64;
    for (truncation, tolerance) in [
        (Truncation::Cut, 1e-3),
        (Truncation::Shift, 1e-4),
        (Truncation::ForceShift, 1e-5),
    ] {
        let field = lj(&system, 2.5, truncation, false);
        let strict = Settings {
            buffer: Some(0.2),
            ..double()
        };
        let loose = Settings {
            drift_tolerance: Some(tolerance),
            ..strict.clone()
        };
        let mut exact = CpuEngine::new(&system, &field, &dynamics, &strict).unwrap();
        let mut engine = CpuEngine::new(&system, &field, &dynamics, &loose).unwrap();
        exact.advance(200, false).unwrap();
        // What is bounded is the mean: single steps lose a pair more or less by chance.
        let (mut age, mut lost, mut allowed) = (0.0, 0.0, 0.0);
        for _ in 0..200 {
            let builds = engine.lists().builds;
            engine.advance(1, true).unwrap();
            age = if engine.lists().builds > builds {
                0.0
            } else {
                age + dynamics.timestep
            };
            let mut now = system.clone();
            now.particles = engine.particles();
            let whole = CpuEngine::new(&now, &field, &dynamics, &strict)
                .unwrap()
                .observe()
                .unwrap()
                .potential;
            lost += (engine.observe().unwrap().potential - whole).abs();
            allowed += tolerance * age * per_particle;
        }
        assert!(
            lost < allowed,
            "{truncation:?}: lost {lost:e} where {allowed:e} was allowed"
        );
        let (few, many) = (engine.lists().builds, exact.lists().builds);
        assert!(few < many, "{truncation:?}: {few} lists against {many}");
        println!(
            "{truncation:?}: {few} lists against {many}, {:.2} of the drift allowed",
            lost / allowed
        );
    }
}
