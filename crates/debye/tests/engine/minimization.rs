//! FIRE finds minima that are known.

use debye::engines::cpu::{CpuEngine, Fire};
use debye::expr::Vec3;
use debye::integrate::{Dynamics, Scheme};
use debye::system::builders::{self, Lattice};
use debye::system::{Cell, System};
use debye::truncation::Truncation;

use super::{double, lj, nve, precisions, random};

const FIRE: Fire = Fire {
    force_tolerance: 1e-8,
    max_steps: 20_000,
    max_displacement: 0.1,
};

/// Particles at these places, nothing periodic.
fn cluster(places: &[Vec3<f64>]) -> System {
    let cell = Cell::orthorhombic([20.0; 3])
        .unwrap()
        .with_periodicity([false; 3]);
    let mut system = builders::random(cell).add(0, "A", 1.0, 0.0).build().unwrap();
    for &r in places {
        system.particles.push(r + Vec3::splat(10.0), 0, 1.0, 0.0, 0);
    }
    system
}

#[test]
fn dimer() {
    let system = cluster(&[Vec3::zero(), Vec3::new(0.9, 0.8, 0.1)]);
    let field = lj(&system, 10.0, Truncation::Cut, false);
    let mut engine = CpuEngine::new(&system, &field, &nve(0.005), &double()).unwrap();
    let done = engine.minimize(FIRE).unwrap();
    assert!(done.converged && done.largest_force <= 1e-8, "{done:?}");
    assert!((done.energy[1] + 1.0).abs() < 1e-12, "{done:?}");
    let p = engine.particles();
    let r = (p.positions[0] - p.positions[1]).norm();
    assert!((r - 2f64.powf(1.0 / 6.0)).abs() < 1e-8, "{r}");
    assert_eq!(engine.step_number(), 0);
}

/// The icosahedron of 13 particles: −44.326801 ε (Hoare & Pal 1971; the Cambridge Cluster Database).
#[test]
fn icosahedron() {
    let golden = 0.5 * (1.0 + 5f64.sqrt());
    let mut places = vec![Vec3::zero()];
    for a in [-1.0, 1.0] {
        for b in [-golden, golden] {
            places.extend([Vec3::new(0.0, a, b), Vec3::new(a, b, 0.0), Vec3::new(b, 0.0, a)]);
        }
    }
    // Compressed and shaken.
    for (k, r) in places.iter_mut().enumerate() {
        *r = *r * 0.5 + (random(6, k) - Vec3::splat(0.5)) * 0.15;
    }
    let system = cluster(&places);
    let field = lj(&system, 10.0, Truncation::Cut, false);
    let mut engine = CpuEngine::new(&system, &field, &nve(0.005), &double()).unwrap();
    let done = engine.minimize(FIRE).unwrap();
    assert!(done.converged, "{done:?}");
    assert!((done.energy[1] + 44.326801).abs() < 1e-6, "{done:?}");
}

/// A shaken crystal finds its lattice again, in every precision.
#[test]
fn crystal() {
    let perfect = builders::lattice(Lattice::Fcc, [5; 3])
        .density(1.05)
        .build()
        .unwrap();
    let field = lj(&perfect, 2.5, Truncation::ForceShift, false);
    let lattice_energy = super::evaluated(&perfect, &field, &double()).potential;
    let mut shaken = perfect.clone();
    for (k, r) in shaken.particles.positions.iter_mut().enumerate() {
        *r += (random(8, k) - Vec3::splat(0.5)) * 0.2;
    }
    for settings in precisions() {
        let mut engine = CpuEngine::new(&shaken, &field, &nve(0.005), &settings).unwrap();
        let fire = Fire {
            force_tolerance: 1e-4,
            ..FIRE
        };
        let done = engine.minimize(fire).unwrap();
        assert!(done.converged, "{settings:?} {done:?}");
        assert!(done.energy[1] < done.energy[0]);
        let error = done.energy[1] / lattice_energy - 1.0;
        assert!(
            error.abs() < 2e-6,
            "{settings:?}: {done:?} instead of {lattice_energy}"
        );
    }
}

/// A minimization keeps the velocities of every particle, also where they are stored half a step behind.
#[test]
fn velocities_come_back() {
    let mut system = super::liquid(4, 0.8, 1.3, 7);
    for (k, r) in system.particles.positions.iter_mut().enumerate() {
        *r += (random(8, k) - Vec3::splat(0.5)) * 0.8;
    }
    let field = lj(&system, 2.3, Truncation::Shift, false);
    for scheme in [Scheme::VelocityVerlet, Scheme::Leapfrog] {
        let dynamics = Dynamics { scheme, ..nve(0.005) };
        let mut engine = CpuEngine::new(&system, &field, &dynamics, &double()).unwrap();
        let fire = Fire {
            force_tolerance: 0.5,
            max_steps: 500,
            max_displacement: 0.1,
        };
        engine.minimize(fire).unwrap();
        assert!(engine.lists().builds > 1);
        let largest = engine.forces().iter().map(|f| f.norm()).fold(0.0, f64::max);
        assert!(largest < 1.0, "{largest}");
        for (a, b) in engine
            .particles()
            .velocities
            .iter()
            .zip(&system.particles.velocities)
        {
            // The forces at the start were enormous: half a kick of theirs leaves rounding only.
            assert!((*a - *b).norm() < 1e-6, "{scheme:?}: {a:?} instead of {b:?}");
        }
    }
}
