//! Particles that turn: energy, resumed runs, thermostats, minimization.

use debye::engines::{Precision, Settings};
use debye::expr::{Quat, Vec3};
use debye::forces::{ForceField, OrientedTerm, PairTerm};
use debye::integrate::{Dynamics, Scheme, Thermostat, ThermostatKind};
use debye::system::{Cell, Rotor, Species, Units};
use debye::truncation::Truncation;

use super::ssd::ssd;
use super::{Backend, at_rest, empty};

/// Velocity Verlet with one thermostat for all.
fn with_thermostat(kind: ThermostatKind, temperature: f64, time: f64, timestep: f64) -> Dynamics {
    Dynamics {
        timestep,
        thermostats: vec![Thermostat {
            kind,
            species: Vec::new(),
            temperature,
            time,
            every: None,
        }],
        remove_momentum_every: if kind.scales_velocities() { 100 } else { 0 },
        ..at_rest()
    }
}

/// The spread of the total energy over half a picosecond (in units of √(u Å²/(kcal/mol)) = 48.9 fs).
fn spread(backend: &Backend, timestep: f64, scheme: Scheme) -> f64 {
    let (mut system, mut field) = ssd("ssde");
    debye::system::velocities::thermalize(&mut system, 0.6, 3).unwrap();
    // Smooth ends: the sticky part is one as it is.
    let lj = PairTerm::build("lennard-jones", &system.species)
        .unwrap()
        .cutoff(9.0);
    let lj = lj
        .truncation(Truncation::ForceShift)
        .all(&[("epsilon", 0.152), ("sigma", 3.035)])
        .unwrap();
    field.pairs[0] = lj.finish().unwrap();
    let dipoles = OrientedTerm::build("dipoles", &system.species)
        .unwrap()
        .cutoff(9.0);
    field.oriented[0] = dipoles.truncation(Truncation::ForceShift).finish().unwrap();
    let dynamics = Dynamics {
        timestep,
        scheme,
        ..at_rest()
    };
    let settings = Settings {
        precision: Precision::Double,
        ..Settings::default()
    };
    let mut engine = backend.engine(&system, &field, &dynamics, &settings);
    let steps = (10.0 / timestep).round() as u64;
    let every = steps / 40;
    let mut energies = Vec::new();
    for _ in 0..40 {
        engine.advance(every, true).unwrap();
        energies.push(engine.observe().unwrap().total());
    }
    let mean = energies.iter().sum::<f64>() / energies.len() as f64;
    (energies.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / energies.len() as f64).sqrt()
}

/// A symplectic scheme keeps the energy to second order in the time step, C8.
#[test]
fn rigid_bodies_keep_their_energy_to_second_order() {
    for backend in Backend::fast() {
        let [coarse, fine] = [0.04, 0.02].map(|timestep| spread(&backend, timestep, Scheme::VelocityVerlet));
        assert!((3.0..5.5).contains(&(coarse / fine)), "{coarse} {fine}");
        assert!(fine < 0.1, "{fine}");
        assert!(spread(&backend, 0.02, Scheme::Leapfrog) < 0.4);
    }
}

/// What comes after a step does not depend on whether the state was saved there, and orientations stay unit quaternions.
#[test]
fn turning_particles_resume_bit_for_bit() {
    let (mut system, field) = ssd("ssd");
    debye::system::velocities::thermalize(&mut system, 0.6, 3).unwrap();
    let settings = Settings::default();
    let cases = (Backend::all().into_iter()).flat_map(|backend| {
        ThermostatKind::ALL
            .iter()
            .map(move |kind| (backend.clone(), *kind))
    });
    for (backend, thermostat) in cases {
        let dynamics = with_thermostat(thermostat, 0.6, 10.0, 0.02);
        let mut whole = backend.engine(&system, &field, &dynamics, &settings);
        whole.advance(15, false).unwrap();
        let saved = whole.save().unwrap();
        whole.advance(15, false).unwrap();
        let mut resumed = backend.resumed(&system, &field, &dynamics, &settings, &saved);
        resumed.advance(15, false).unwrap();
        let (a, b) = (whole.particles().unwrap(), resumed.particles().unwrap());
        assert_eq!(a, b, "{thermostat:?}");
        for q in &a.orientations.rotations {
            assert!((q.w * q.w + q.v.norm2() - 1.0).abs() < 1e-12);
        }
    }
}

/// Translation and rotation have one temperature, whichever thermostat keeps it.
#[test]
fn thermostats_heat_rotations_too() {
    let (mut system, field) = ssd("ssde");
    debye::system::velocities::thermalize(&mut system, 0.3, 3).unwrap();
    let cases = (Backend::fast().into_iter()).flat_map(|backend| {
        ThermostatKind::ALL
            .iter()
            .map(move |kind| (backend.clone(), *kind))
    });
    for (backend, kind) in cases {
        let dynamics = with_thermostat(kind, 0.6, 2.0, 0.04);
        let mut engine = backend.engine(&system, &field, &dynamics, &Settings::default());
        engine.advance(800, false).unwrap();
        let (mut of_rotation, mut of_all) = (0.0, 0.0);
        for _ in 0..60 {
            engine.advance(10, true).unwrap();
            let o = engine.particles().unwrap().orientations;
            let turning: f64 = (0..256).map(|i| o.kinetic_energy(i)).sum();
            of_rotation += 2.0 * turning / (3.0 * 256.0) / 60.0;
            of_all += engine.observe().unwrap().temperature / 60.0;
        }
        assert!((of_all - 0.6).abs() < 0.04, "{kind:?}: {of_all}");
        assert!((of_rotation - 0.6).abs() < 0.05, "{kind:?}: {of_rotation}");
    }
}

/// Minimization in positions and orientations: two dipoles end head to tail.
#[test]
fn minimization_turns_dipoles() {
    let rotor = Rotor::linear(1.0).with_dipole(1.0);
    let mut system = empty(Cell::orthorhombic([20.0; 3]).unwrap(), Units::LennardJones);
    system.species = vec![Species::point("D", 1.0, 0.0).with_rotor(rotor)];
    for (i, (x, z)) in [
        (9.0, Vec3::new(0.3_f64, 0.1, 0.9)),
        (10.2, Vec3::new(0.2, 0.9, 0.3)),
    ]
    .iter()
    .enumerate()
    {
        system
            .particles
            .push(Vec3::new(*x, 10.0, 10.0), 0, 1.0, 0.0, i as u32);
        system
            .particles
            .orient(i, rotor, Quat::from_z_to(*z * z.norm().recip()));
    }
    let mut field = ForceField::new(Units::LennardJones);
    let lj = PairTerm::build("lennard-jones", &system.species)
        .unwrap()
        .cutoff(5.0);
    field.pairs.push(
        lj.all(&[("epsilon", 1.0), ("sigma", 1.0)])
            .unwrap()
            .finish()
            .unwrap(),
    );
    let dipoles = OrientedTerm::build("dipoles", &system.species)
        .unwrap()
        .cutoff(5.0);
    field
        .oriented
        .push(dipoles.truncation(Truncation::ForceShift).finish().unwrap());
    let fire = debye::engines::cpu::Fire {
        force_tolerance: 1e-4,
        max_steps: 20_000,
        max_displacement: 0.05,
    };
    // As fast after it as before, about axes that have turned.
    for i in 0..2 {
        let [x, y, _] = system.particles.orientations.axes(i);
        system.particles.orientations.angular_momenta[i] = x * 0.7 + y * 0.2;
    }
    let turning = |o: &debye::system::Orientations| [0, 1].map(|i| o.kinetic_energy(i));
    let before = turning(&system.particles.orientations);
    for backend in Backend::all() {
        let mut engine = backend.engine(&system, &field, &at_rest(), &Settings::default());
        let done = engine.minimize(fire, &mut |_| true).unwrap();
        assert!(done.converged, "{done:?}");
        let p = engine.particles().unwrap();
        let d = p.positions[1] - p.positions[0];
        for i in 0..2 {
            let z = p.orientations.axes(i)[2];
            assert!((z.dot(d).abs() / d.norm() - 1.0).abs() < 1e-5, "{z:?} {d:?}");
        }
        assert!((p.orientations.axes(0)[2].dot(p.orientations.axes(1)[2]) - 1.0).abs() < 1e-5);
        for (after, before) in turning(&p.orientations).iter().zip(before) {
            assert!((after / before - 1.0).abs() < 1e-6, "{after} {before}");
        }
    }
}
