//! Rigid waters and fixed distances: lengths, conservation, temperature, pressure, and what is refused.

use debye::analysis::BlockAverage;
use debye::engines::InstructionSet;
use debye::engines::cpu::{CpuEngine, Fire};
use debye::engines::{EngineError, Observation, Precision, Settings, reference};
use debye::expr::Vec3;
use debye::forces::pme::Basis;
use debye::forces::{ForceField, PairTerm};
use debye::integrate::{Barostat, BarostatKind, Coupling, Dynamics, Scheme, Thermostat, ThermostatKind};
use debye::system::{
    Cell, ConstraintError, Constraints, Exclusions, FixedDistance, Particles, RigidWater, Species, System,
    Topology, Units, velocities,
};
use debye::truncation::Truncation;

use super::{double, electrostatics, energy_spread, nve, precisions, random, with_precision};

const BOND: f64 = 0.09572;
const BASE: f64 = 0.15139;
const OXYGEN: f64 = 15.9994;
const HYDROGEN: f64 = 1.008;

/// TIP3P waters turned at random on a lattice, at rest.
fn lattice(side: u32) -> System {
    let spacing = 0.31;
    let length = f64::from(side) * spacing;
    let mut particles = Particles::default();
    let height = (BOND * BOND - 0.25 * BASE * BASE).sqrt();
    for k in 0..side.pow(3) {
        let at = [k % side, k / side % side, k / (side * side)].map(|n| f64::from(n) * spacing);
        let turn = |j: usize| random(3, 2 * k as usize + j) - Vec3::splat(0.5);
        let x = turn(0) * turn(0).norm().recip();
        let y = x.cross(turn(1));
        let y = y * y.norm().recip();
        let o = Vec3::from(at);
        particles.push(o, 0, OXYGEN, -0.834, k);
        for side in [0.5 * BASE, -0.5 * BASE] {
            particles.push(o + x * side - y * height, 1, HYDROGEN, 0.417, k);
        }
    }
    let molecules: Vec<[u32; 3]> = (0..side.pow(3)).map(|k| [3 * k, 3 * k + 1, 3 * k + 2]).collect();
    let mut system = System {
        labels: Default::default(),
        units: Units::Md,
        cell: Cell::orthorhombic([length; 3]).unwrap(),
        species: vec![
            Species::point("OW", OXYGEN, -0.834),
            Species::point("HW", HYDROGEN, 0.417),
        ],
        particles,
        topology: Topology::default(),
        exclusions: Exclusions::default(),
        constraints: Constraints {
            waters: vec![RigidWater {
                bond: BOND,
                base: BASE,
                molecules,
            }],
            ..Constraints::default()
        },
    };
    exclude(&mut system);
    system
}

fn exclude(system: &mut System) {
    let pairs: Vec<[u32; 2]> = system.constraints.pairs().map(|(atoms, _)| atoms).collect();
    let n = system.particles.len();
    system.exclusions.exclude(n, pairs.iter().copied()).unwrap();
}

/// TIP3P with a reaction field, smooth at the cut-off of 0.6 nm.
fn field(system: &System) -> ForceField {
    let truncation = Truncation::Switch { from: 0.45 };
    let oxygen = PairTerm::build("lennard-jones", &system.species)
        .unwrap()
        .cutoff(0.6)
        .truncation(truncation)
        .like("OW", &[("epsilon", 0.635968), ("sigma", 0.31507524)])
        .unwrap()
        .no_interaction("OW", "HW")
        .unwrap()
        .no_interaction("HW", "HW")
        .unwrap()
        .finish()
        .unwrap();
    let charges = PairTerm::build("coulomb-reaction-field", &system.species)
        .unwrap()
        .cutoff(0.6)
        .truncation(truncation)
        .all(&[("epsilon_rf", 78.0)])
        .unwrap()
        .finish()
        .unwrap();
    ForceField {
        pairs: vec![oxygen, charges],
        coulomb_constant: Units::Md.coulomb_constant(),
        ..ForceField::new(debye::system::Units::LennardJones)
    }
}

fn thermostat(kind: ThermostatKind, temperature: f64, time: f64) -> Dynamics {
    Dynamics {
        thermostats: vec![Thermostat {
            kind,
            species: vec![],
            temperature,
            time,
            every: None,
        }],
        ..nve(0.001)
    }
}

/// 64 waters of a liquid at 300 K.
fn liquid() -> (System, ForceField) {
    static MADE: std::sync::OnceLock<System> = std::sync::OnceLock::new();
    let system = MADE.get_or_init(melted);
    (system.clone(), field(system))
}

fn melted() -> System {
    let mut system = lattice(4);
    let field = field(&system);
    let dynamics = thermostat(ThermostatKind::Langevin, 300.0, 0.1);
    let mut engine = CpuEngine::new(&system, &field, &dynamics, &double()).unwrap();
    engine
        .minimize(Fire {
            force_tolerance: 500.0,
            max_steps: 200,
            max_displacement: 0.01,
        })
        .unwrap();
    engine.advance(2000, false).unwrap();
    system.particles = engine.particles();
    velocities::remove_momentum(&mut system).unwrap();
    system
}

/// The same distances, held by SHAKE and RATTLE.
fn shaken(system: &System, tolerance: f64) -> System {
    let mut other = system.clone();
    other.constraints = Constraints {
        distances: system
            .constraints
            .pairs()
            .map(|(atoms, length)| FixedDistance { atoms, length })
            .collect(),
        tolerance,
        ..Constraints::default()
    };
    other
}

/// What constraints leave of a system after so many steps.
fn errors_after(system: &System, field: &ForceField, dynamics: &Dynamics, settings: &Settings) -> [f64; 2] {
    let mut engine = CpuEngine::new(system, field, dynamics, settings).unwrap();
    engine.advance(1000, true).unwrap();
    let mut end = system.clone();
    (end.particles, end.cell) = (engine.particles(), engine.cell());
    end.constraint_errors()
}

#[test]
fn lengths_and_velocities_hold() {
    let (water, forces) = liquid();
    let (free, none) = (water.clone(), ForceField::new(debye::system::Units::LennardJones));
    let leapfrog = Dynamics {
        scheme: Scheme::Leapfrog,
        ..nve(0.002)
    };
    for dynamics in [
        nve(0.002),
        leapfrog,
        thermostat(ThermostatKind::Langevin, 300.0, 0.5),
    ] {
        for (system, field) in [
            (&water, &forces),
            (&free, &none),
            (&shaken(&water, 1e-11), &forces),
        ] {
            let [length, speed] = errors_after(system, field, &dynamics, &double());
            assert!(length < 1e-10, "{dynamics:?}: {length:e}");
            // Thermal speeds are about 1 nm/ps.
            assert!(speed < 1e-9, "{dynamics:?}: {speed:e}");
        }
        let [length, speed] = errors_after(&water, &forces, &dynamics, &with_precision(Precision::Mixed));
        assert!(length < 1e-10 && speed < 1e-9, "mixed: {length:e} {speed:e}");
        // Coordinates up to 1.2 have 6e-8 of rounding, a bond is 0.1.
        let [length, speed] = errors_after(&water, &forces, &dynamics, &with_precision(Precision::Single));
        assert!(length < 4e-6 && speed < 2e-6, "single: {length:e} {speed:e}");
    }
}

/// A molecule that nothing acts on keeps energy and angular momentum, and turns.
#[test]
fn a_free_molecule_spins() {
    let mut system = lattice(1);
    system.cell = Cell::orthorhombic([1.0; 3]).unwrap();
    velocities::thermalize(&mut system, 300.0, 3).unwrap();
    assert!((velocities::temperature(&system, 3.0) - 300.0).abs() < 1e-9);
    // Across the corner of the cell, and drifting through it.
    for (r, v) in system
        .particles
        .positions
        .iter_mut()
        .zip(&mut system.particles.velocities)
    {
        *r -= Vec3::splat(0.03);
        *v += Vec3::new(1.0, 0.5, -0.7);
    }
    let spin = |system: &System| {
        let p = &system.particles;
        let r = |k: usize| system.cell.minimum_image(p.positions[k] - p.positions[0]);
        let mass: f64 = p.masses.iter().sum();
        let mean = |of: &dyn Fn(usize) -> Vec3<f64>| {
            (0..3).fold(Vec3::zero(), |s, k| s + of(k) * (p.masses[k] / mass))
        };
        let (middle, drift) = (mean(&|k| r(k)), mean(&|k| p.velocities[k]));
        (0..3).fold(Vec3::zero(), |s, k| {
            s + (r(k) - middle).cross(p.velocities[k] - drift) * p.masses[k]
        })
    };
    let field = ForceField::new(debye::system::Units::LennardJones);
    let mut engine = CpuEngine::new(&system, &field, &nve(0.001), &double()).unwrap();
    let (before, energy) = (spin(&system), engine.observe().unwrap().kinetic);
    let arm = system
        .cell
        .minimum_image(system.particles.positions[1] - system.particles.positions[0]);
    let mut turned: f64 = 1.0;
    for _ in 0..100 {
        engine.advance(20, true).unwrap();
        let mut now = system.clone();
        now.particles = engine.particles();
        assert!((spin(&now) - before).norm() < 1e-10 * before.norm());
        let arm_now = now
            .cell
            .minimum_image(now.particles.positions[1] - now.particles.positions[0]);
        turned = turned.min(arm.dot(arm_now) / BOND.powi(2));
        let off = engine.observe().unwrap().kinetic / energy - 1.0;
        assert!(off.abs() < 2e-3, "{off:e}");
    }
    assert!(turned < -0.2, "it did not turn: {turned}");
}

#[test]
fn settle_and_shake_move_alike() {
    let (system, field) = liquid();
    let other = shaken(&system, 1e-14);
    for dynamics in [nve(0.002), thermostat(ThermostatKind::Bussi, 300.0, 0.1)] {
        let [a, b] = [&system, &other].map(|s| {
            let mut engine = CpuEngine::new(s, &field, &dynamics, &double()).unwrap();
            engine.advance(20, true).unwrap();
            (engine.particles(), engine.observe().unwrap())
        });
        for (p, q) in a.0.positions.iter().zip(&b.0.positions) {
            assert!(system.cell.minimum_image(*p - *q).norm() < 1e-11);
        }
        for k in 0..6 {
            let (p, q) = (a.1.pressure_tensor[k], b.1.pressure_tensor[k]);
            assert!(
                (p - q).abs() < 1e-6 * a.1.pressure_tensor[0].abs().max(100.0),
                "{p} {q}"
            );
        }
    }
}

/// Pairs within a molecule that SETTLE holds move nobody and are left out of the motion; within one that SHAKE holds they act.
#[test]
fn pairs_within_rigid_waters_change_nothing_but_the_energy() {
    let (system, plain) = liquid();
    let other = shaken(&system, 1e-14);
    let plan = electrostatics::plan(0.6, 5.0, electrostatics::mesh([32; 3], Basis::BSpline(6)));
    let oxygen = plain.pairs[0].clone();
    let field = electrostatics::field(&system, plan, Units::Md.coulomb_constant(), vec![oxygen]);
    let thermostats = [nve(0.002), thermostat(ThermostatKind::Langevin, 300.0, 0.1)];
    for dynamics in thermostats {
        let [a, b] = [&system, &other].map(|s| {
            let mut engine = CpuEngine::new(s, &field, &dynamics, &double()).unwrap();
            engine.advance(20, false).unwrap();
            let seen = engine.observe().unwrap();
            (engine.particles(), seen, engine.forces())
        });
        for (p, q) in a.0.positions.iter().zip(&b.0.positions) {
            assert!(system.cell.minimum_image(*p - *q).norm() < 1e-10);
        }
        for (f, g) in a.2.iter().zip(&b.2) {
            assert!((*f - *g).norm() < 1e-4, "{f:?} {g:?}");
        }
        for (p, q) in a.1.terms.iter().zip(&b.1.terms) {
            assert_eq!(p.0, q.0);
            assert!((p.1 - q.1).abs() < 1e-5, "{}: {} {}", p.0, p.1, q.1);
        }
        for (p, q) in a.1.pressure_tensor.iter().zip(b.1.pressure_tensor) {
            assert!((p - q).abs() < 1e-3, "{p} {q}");
        }
    }
}

/// A step that is looked at is the step that is not.
#[test]
fn who_looks_at_rigid_waters_changes_no_bit() {
    let (system, plain) = liquid();
    let plan = electrostatics::plan(0.6, 5.0, electrostatics::mesh([32; 3], Basis::BSpline(6)));
    let oxygen = plain.pairs[0].clone();
    let field = electrostatics::field(&system, plan, Units::Md.coulomb_constant(), vec![oxygen]);
    let [a, b] = [true, false].map(|look| {
        let mut engine = CpuEngine::new(&system, &field, &nve(0.002), &Settings::default()).unwrap();
        for _ in 0..10 {
            engine.advance(1, look).unwrap();
        }
        engine.particles().positions
    });
    assert_eq!(a, b);
}

/// Hydrogens of three times the mass turn as much slower as the root of it, and the energy error goes with the square of the
/// step.
#[test]
fn heavier_hydrogens_allow_longer_steps() {
    let (system, field) = liquid();
    let mut heavy = system.clone().with_hydrogen_mass(3.0 * HYDROGEN).unwrap();
    velocities::thermalize(&mut heavy, 300.0, 5).unwrap();
    let short = energy_spread(&system, &field, Scheme::VelocityVerlet, 0.4, 0.002);
    let long = energy_spread(&system, &field, Scheme::VelocityVerlet, 0.4, 0.004);
    let found = energy_spread(&heavy, &field, Scheme::VelocityVerlet, 0.4, 0.004);
    assert!(
        found < 2.0 * short && found < 0.6 * long,
        "{short} {long} {found}"
    );
}

#[test]
fn energy_error_is_of_second_order() {
    let (system, field) = liquid();
    for scheme in [Scheme::VelocityVerlet, Scheme::Leapfrog] {
        let [coarse, middle, fine] =
            [0.002, 0.001, 0.0005].map(|dt| energy_spread(&system, &field, scheme, 0.4, dt));
        for ratio in [coarse / middle, middle / fine] {
            assert!(
                (3.0..5.0).contains(&ratio),
                "{scheme:?}: {coarse} {middle} {fine}"
            );
        }
        // Of 381 degrees of freedom with a kinetic energy of 475 kJ/mol.
        assert!(coarse < 1.5, "{coarse}");
    }
}

/// There and back again.
#[test]
fn time_can_be_turned_round() {
    let (system, field) = liquid();
    let mut engine = CpuEngine::new(&system, &field, &nve(0.002), &double()).unwrap();
    let start = engine.particles();
    engine.advance(100, false).unwrap();
    let mut turned = system.clone();
    turned.particles = engine.particles();
    turned.particles.velocities.iter_mut().for_each(|v| *v = -*v);
    let mut back = CpuEngine::new(&turned, &field, &nve(0.002), &double()).unwrap();
    back.advance(100, false).unwrap();
    for (a, b) in start.positions.iter().zip(back.particles().positions) {
        let off = system.cell.minimum_image(*a - b).norm();
        assert!(off < 1e-8, "{off:e}");
    }
}

/// Kinetic energy of the centers of mass, and of the motion about them.
fn shares(p: &Particles) -> [f64; 2] {
    let mut shares = [0.0; 2];
    for k in (0..p.len()).step_by(3) {
        let mass: f64 = p.masses[k..k + 3].iter().sum();
        let momentum = (k..k + 3).fold(Vec3::zero(), |s, i| s + p.velocities[i] * p.masses[i]);
        let all: f64 = (k..k + 3)
            .map(|i| 0.5 * p.masses[i] * p.velocities[i].norm2())
            .sum();
        let common = 0.5 * momentum.norm2() / mass;
        shares[0] += common;
        shares[1] += all - common;
    }
    shares
}

/// Every thermostat brings translation and rotation to its temperature.
#[test]
fn equipartition_under_every_thermostat() {
    let (system, field) = liquid();
    let leapfrog = Dynamics {
        scheme: Scheme::Leapfrog,
        ..thermostat(ThermostatKind::Bussi, 300.0, 0.05)
    };
    let mut split = thermostat(ThermostatKind::Langevin, 300.0, 0.1);
    split.thermostats[0].species = vec![0];
    split.thermostats.push(Thermostat {
        species: vec![1],
        ..split.thermostats[0].clone()
    });
    for (dynamics, moves) in [
        (thermostat(ThermostatKind::Langevin, 300.0, 0.1), 192.0),
        (thermostat(ThermostatKind::Bussi, 300.0, 0.05), 189.0),
        (
            thermostat(ThermostatKind::NoseHoover { chain: 3 }, 300.0, 0.05),
            189.0,
        ),
        (thermostat(ThermostatKind::Berendsen, 300.0, 0.05), 189.0),
        (leapfrog, 189.0),
        (split, 192.0),
    ] {
        let mut engine =
            CpuEngine::new(&system, &field, &dynamics, &with_precision(Precision::Mixed)).unwrap();
        let seen = engine.observe().unwrap();
        assert_eq!(seen.degrees_of_freedom, moves + 192.0);
        engine.advance(500, false).unwrap();
        let half = 0.5 * system.units.boltzmann();
        let (mut all, mut parts) = (Vec::new(), [Vec::new(), Vec::new()]);
        for _ in 0..300 {
            engine.advance(10, true).unwrap();
            all.push(engine.observe().unwrap().temperature);
            let [common, own] = shares(&engine.particles());
            parts[0].push(common / (half * moves));
            parts[1].push(own / (half * 192.0));
        }
        for (what, values) in [("all", &all), ("centers", &parts[0]), ("turning", &parts[1])] {
            let average = BlockAverage::of(values);
            let off = (average.mean - 300.0).abs();
            // A step of 1 fs costs some 1 K.
            assert!(
                off < 3.5 * average.standard_error + 2.0,
                "{:?}, {what}: {average:?}",
                dynamics.thermostats[0].kind
            );
        }
    }
}

/// Degrees of freedom of groups that share molecules add up.
#[test]
fn groups_share_constraints_by_inverse_mass() {
    let system = lattice(2);
    let mut dynamics = thermostat(ThermostatKind::Bussi, 300.0, 0.1);
    dynamics.thermostats[0].species = vec![0];
    dynamics.thermostats.push(Thermostat {
        species: vec![1],
        ..dynamics.thermostats[0].clone()
    });
    let thermostats = debye::integrate::ActiveThermostat::all(&system, &dynamics);
    let total = 3.0 * 24.0 - 3.0 - 24.0;
    let sum: f64 = thermostats.iter().map(|b| b.degrees_of_freedom).sum();
    assert!((sum - total).abs() < 1e-12, "{sum}");
    // Two bonds of each water reach the oxygen, which has HYDROGEN/(OXYGEN + HYDROGEN) of each.
    let want = 69.0 / 3.0 - 8.0 * 2.0 * HYDROGEN / (OXYGEN + HYDROGEN);
    assert!((thermostats[0].degrees_of_freedom - want).abs() < 1e-12);
}

#[test]
fn drawn_velocities_hold() {
    let mut system = lattice(4);
    velocities::thermalize(&mut system, 300.0, 9).unwrap();
    assert!(system.constraint_errors()[1] < 1e-13);
    assert!((velocities::temperature(&system, 3.0 * 191.0 - 192.0) - 300.0).abs() < 1e-9);
    assert!(velocities::momentum(&system).norm() < 1e-11);
    let [common, own] = shares(&system.particles);
    assert!((own / common / (192.0 / 189.0) - 1.0).abs() < 0.5);
    let engine = CpuEngine::new(
        &system,
        &ForceField::new(debye::system::Units::LennardJones),
        &nve(0.001),
        &double(),
    )
    .unwrap();
    let kept = engine.particles().velocities;
    for (a, b) in kept.iter().zip(&system.particles.velocities) {
        assert!((*a - *b).norm() < 1e-12);
    }
}

/// The centers of mass scaled, the molecules as they are.
fn swollen(system: &System, factor: f64) -> System {
    let mut made = system.clone();
    made.cell = system.cell.scaled(Vec3::splat(factor));
    let p = &mut made.particles;
    for k in (0..p.len()).step_by(3) {
        let o = p.positions[k];
        let r: Vec<Vec3<f64>> = (k..k + 3)
            .map(|i| o + system.cell.minimum_image(p.positions[i] - o))
            .collect();
        let mass: f64 = p.masses[k..k + 3].iter().sum();
        let middle = (0..3).fold(Vec3::zero(), |s, i| s + r[i] * (p.masses[k + i] / mass));
        for (to, &whole) in p.positions[k..].iter_mut().zip(&r) {
            *to = whole + middle * (factor - 1.0);
        }
    }
    made
}

/// For rigid molecules the trace of Σ r⊗(F + G) + Σ m v⊗v is that of the centers of mass in every configuration: what is
/// left is d²/dt² of Σ m |r − R|²/2, which does not change. The virial of the centers is −dU/d ln λ when these are scaled.
#[test]
fn the_pressure_is_that_of_the_centers() {
    let (system, field) = liquid();
    let h = 1e-5;
    let energy = |factor| reference::evaluate(&swollen(&system, factor), &field).potential;
    let virial = -(energy(1.0 + h) - energy(1.0 - h)) / (2.0 * h);
    let centers = 2.0 * shares(&system.particles)[0];
    for (other, scheme) in [
        (system.clone(), Scheme::VelocityVerlet),
        (system.clone(), Scheme::Leapfrog),
        (shaken(&system, 1e-12), Scheme::VelocityVerlet),
    ] {
        let dynamics = Dynamics { scheme, ..nve(0.002) };
        let mut engine = CpuEngine::new(&other, &field, &dynamics, &double()).unwrap();
        let [x, y, z, ..] = engine.observe().unwrap().pressure_tensor;
        let got = (x + y + z) * system.cell.volume();
        let want = centers + virial;
        assert!(
            (got - want).abs() < 1e-5 * virial.abs().max(centers),
            "{got} instead of {want}"
        );
    }
}

/// One dumb-bell turning freely: the constraint pulls by m v²/2 d along itself, and the pressure is that of its center.
#[test]
fn the_pull_of_a_turning_bond() {
    let mut system = lattice(1);
    system.cell = Cell::orthorhombic([2.0; 3]).unwrap();
    system.particles = Particles::default();
    system.exclusions = Exclusions::default();
    for (x, v) in [(0.0, 1.0), (0.2, -1.0)] {
        system.particles.push(Vec3::new(x, 0.5, 0.5), 0, 2.0, 0.0, 0);
        let last = system.particles.len() - 1;
        system.particles.velocities[last] = Vec3::new(0.3, v, 0.0);
    }
    system.constraints = Constraints {
        distances: vec![FixedDistance {
            atoms: [0, 1],
            length: 0.2,
        }],
        ..Constraints::default()
    };
    let mut engine = CpuEngine::new(
        &system,
        &ForceField::new(debye::system::Units::LennardJones),
        &nve(0.001),
        &double(),
    )
    .unwrap();
    let tensor = engine.observe().unwrap().pressure_tensor.map(|p| p * 8.0);
    // Σ m v v: xx 0.36, yy 4, xy 0; the constraint: −μ |v₁ − v₂|² along x, μ = 1.
    let want = [0.36 - 4.0, 4.0, 0.0, 0.0, 0.0, 0.0];
    for (p, w) in tensor.iter().zip(want) {
        assert!((p - w).abs() < 1e-12, "{tensor:?}");
    }
}

fn barostat(kind: BarostatKind, coupling: Coupling, pressure: f64) -> Barostat {
    Barostat {
        limited: Default::default(),
        kind,
        coupling,
        pressure: [pressure; 3],
        time: 0.2,
        compressibility: [4.5e-5 * Units::Md.bar(); 3],
        temperature: 300.0,
        every: 5,
    }
}

/// A barostat scales molecules apart, not their bonds, and reaches its pressure.
#[test]
fn barostats_keep_molecules_rigid() {
    let (system, field) = liquid();
    // 2000 bar.
    let target = 2000.0 / Units::Md.bar();
    for (kind, coupling, scheme) in [
        (
            BarostatKind::CellRescale,
            Coupling::Isotropic,
            Scheme::VelocityVerlet,
        ),
        (
            BarostatKind::CellRescale,
            Coupling::Anisotropic,
            Scheme::VelocityVerlet,
        ),
        (BarostatKind::Berendsen, Coupling::Isotropic, Scheme::Leapfrog),
    ] {
        let dynamics = Dynamics {
            barostat: Some(barostat(kind, coupling, target)),
            scheme,
            ..thermostat(ThermostatKind::Bussi, 300.0, 0.1)
        };
        let mut engine =
            CpuEngine::new(&system, &field, &dynamics, &with_precision(Precision::Mixed)).unwrap();
        engine.advance(2000, false).unwrap();
        let rows: Vec<Observation> = (0..500)
            .map(|_| {
                engine.advance(10, true).unwrap();
                engine.observe().unwrap()
            })
            .collect();
        let pressure = BlockAverage::of(&rows.iter().filter_map(Observation::pressure).collect::<Vec<_>>());
        assert!(
            (pressure.mean - target).abs() < 3.5 * pressure.standard_error + 0.05 * target,
            "{kind:?} {coupling:?}: {pressure:?} instead of {target}"
        );
        let mut end = system.clone();
        (end.particles, end.cell) = (engine.particles(), engine.cell());
        let [length, speed] = end.constraint_errors();
        assert!(length < 1e-10 && speed < 1e-9, "{length:e} {speed:e}");
        let volume = BlockAverage::of(&rows.iter().map(|o| o.cell.volume()).collect::<Vec<_>>());
        assert!(
            (volume.mean / system.cell.volume() - 1.0).abs() > 0.005,
            "{volume:?}"
        );
    }
}

fn all_dynamics() -> Vec<Dynamics> {
    let mut all = vec![
        nve(0.002),
        Dynamics {
            scheme: Scheme::Leapfrog,
            remove_momentum_every: 7,
            ..thermostat(ThermostatKind::Bussi, 300.0, 0.1)
        },
    ];
    for kind in [
        ThermostatKind::Langevin,
        ThermostatKind::Bussi,
        ThermostatKind::NoseHoover { chain: 3 },
        ThermostatKind::Berendsen,
    ] {
        all.push(thermostat(kind, 300.0, 0.1));
        all.push(Dynamics {
            barostat: Some(barostat(BarostatKind::CellRescale, Coupling::Anisotropic, 60.0)),
            ..thermostat(kind, 300.0, 0.1)
        });
    }
    all
}

/// Water and, beside it, a chain and a ring held by SHAKE.
fn mixed() -> (System, ForceField) {
    let (mut system, field) = liquid();
    let waters = std::mem::take(&mut system.constraints.waters[0].molecules);
    let (kept, others) = waters.split_at(40);
    system.constraints.waters[0].molecules = kept.to_vec();
    for &[o, a, b] in others {
        for (atoms, length) in [([o, a], BOND), ([o, b], BOND), ([a, b], BASE)] {
            // Some without their base.
            if length == BOND || o % 2 == 0 {
                system.constraints.distances.push(FixedDistance { atoms, length });
            }
        }
    }
    (system, field)
}

/// The same with a mesh: then the atoms of a water share a row of the list.
fn meshed() -> (System, ForceField) {
    let (system, field) = mixed();
    let lj = field.pairs[0].clone();
    let charges = electrostatics::plan(0.6, 5.2, electrostatics::mesh([24; 3], Basis::BSpline(5)));
    let field = electrostatics::field(&system, charges, field.coulomb_constant, vec![lj]);
    (system, field)
}

fn bits(engine: &mut CpuEngine) -> (String, Vec<u8>) {
    (format!("{:?}", engine.observe().unwrap()), engine.save())
}

#[test]
fn saved_runs_continue_exactly() {
    let fields = all_dynamics().into_iter().map(|d| (mixed(), d));
    for ((system, field), dynamics) in fields.chain([(meshed(), nve(0.002))]) {
        for settings in precisions() {
            let mut straight = CpuEngine::new(&system, &field, &dynamics, &settings).unwrap();
            straight.advance(60, true).unwrap();
            let mut first = CpuEngine::new(&system, &field, &dynamics, &settings).unwrap();
            first.advance(32, false).unwrap();
            let mut second =
                CpuEngine::resumed(&system, &field, &dynamics, &settings, &first.save()).unwrap();
            second.advance(28, true).unwrap();
            assert!(straight.lists().builds > 1);
            assert!(bits(&mut straight) == bits(&mut second), "{dynamics:?}");
        }
    }
}

/// Where lists are made otherwise, a saved run goes on with a new one.
#[test]
fn saved_runs_continue_on_other_processors() {
    let (system, field) = meshed();
    let dynamics = nve(0.002);
    let on = |set| Settings {
        instruction_set: Some(set),
        ..double()
    };
    let mut straight = CpuEngine::new(&system, &field, &dynamics, &double()).unwrap();
    straight.advance(60, true).unwrap();
    let wanted = straight.observe().unwrap();
    let sets = InstructionSet::available();
    for (here, there) in [
        (sets[0], InstructionSet::Portable),
        (InstructionSet::Portable, sets[0]),
    ] {
        let mut first = CpuEngine::new(&system, &field, &dynamics, &on(here)).unwrap();
        first.advance(32, false).unwrap();
        let saved = first.save();
        let mut second = CpuEngine::resumed(&system, &field, &dynamics, &on(there), &saved).unwrap();
        second.advance(28, true).unwrap();
        let found = second.observe().unwrap();
        let off = (found.potential - wanted.potential).abs() / wanted.potential.abs();
        assert!(off < 1e-6, "{here:?} to {there:?}: {off:e}");
    }
}

#[test]
fn threads_change_no_bit() {
    let fields = all_dynamics().into_iter().map(|d| (mixed(), d));
    for ((system, field), dynamics) in fields.chain([(meshed(), nve(0.002))]) {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| {
                let mut engine = CpuEngine::new(&system, &field, &dynamics, &double()).unwrap();
                engine.advance(20, true).unwrap();
                bits(&mut engine)
            })
        };
        assert!(run(1) == run(3), "{dynamics:?}");
    }
}

/// A start that is off by little is mended, in a triclinic cell and across its faces too.
#[test]
fn small_errors_of_a_start_are_mended() {
    let mut system = lattice(3);
    system.cell = Cell::triclinic([[1.2, 0.0, 0.0], [0.3, 1.2, 0.0], [-0.2, 0.4, 1.3]]).unwrap();
    for (k, r) in system.particles.positions.iter_mut().enumerate() {
        *r += (random(8, k) - Vec3::splat(0.5)) * 0.002;
        *r = system.cell.wrap(*r).0;
    }
    let before = system.constraint_errors()[0];
    assert!(before > 1e-3);
    let mut mended = system.clone();
    mended.constrain_positions().unwrap();
    assert!(mended.constraint_errors()[0] < 1e-12);
    let engine = CpuEngine::new(
        &system,
        &ForceField::new(debye::system::Units::LennardJones),
        &nve(0.001),
        &double(),
    )
    .unwrap();
    system.particles = engine.particles();
    assert!(system.constraint_errors()[0] < 1e-12);
    let molecules = &mut system.constraints.waters[0];
    molecules.bond *= 1.2;
    let refused = system.constrain_positions().unwrap_err();
    assert!(
        matches!(refused, ConstraintError::Start { atoms: [0, _], .. }),
        "{refused}"
    );
}

/// Minimization with rigid molecules: the energy falls, the rest of the force is zero, the molecules stay rigid and as hot as
/// they were.
#[test]
fn minimization() {
    let mut system = lattice(3);
    velocities::thermalize(&mut system, 300.0, 4).unwrap();
    let field = field(&system);
    for scheme in [Scheme::VelocityVerlet, Scheme::Leapfrog] {
        let dynamics = Dynamics { scheme, ..nve(0.001) };
        let mut engine = CpuEngine::new(&system, &field, &dynamics, &double()).unwrap();
        let done = engine
            .minimize(Fire {
                force_tolerance: 1.0,
                max_steps: 5000,
                max_displacement: 0.01,
            })
            .unwrap();
        assert!(done.converged, "{done:?}");
        assert!(done.energy[1] < done.energy[0] - 100.0, "{done:?}");
        let seen = engine.observe().unwrap();
        assert!((seen.temperature - 300.0).abs() < 1e-6, "{}", seen.temperature);
        assert_eq!(seen.potential, done.energy[1]);
        // Forces within molecules stay; they are not what is minimized.
        assert!(engine.forces().iter().any(|f| f.norm() > 10.0));
        let mut end = system.clone();
        end.particles = engine.particles();
        let [length, speed] = end.constraint_errors();
        assert!(length < 1e-10 && speed < 1e-9, "{length:e} {speed:e}");
        engine.advance(10, true).unwrap();
    }
}

#[test]
fn failures_name_the_constraint() {
    let mut system = lattice(2);
    velocities::thermalize(&mut system, 300.0, 4).unwrap();
    let field = field(&system);
    for other in [system.clone(), shaken(&system, 1e-10)] {
        let mut fast = other.clone();
        fast.particles.velocities[7] = Vec3::new(900.0, -700.0, 300.0);
        let mut engine = CpuEngine::new(&fast, &field, &nve(0.005), &double()).unwrap();
        match engine.advance(20, true).unwrap_err() {
            EngineError::Constraint {
                particles,
                wanted,
                found,
                ..
            } => {
                assert!(particles.iter().all(|i| (6..9).contains(i)), "{particles:?}");
                assert!((wanted == BOND || wanted == BASE) && (found / wanted - 1.0).abs() > 1e-3);
            }
            other => panic!("{other}"),
        }
        // It can still be looked at.
        assert_eq!(engine.particles().len(), 24);
    }
    let error = EngineError::Constraint {
        step: 12,
        particles: [3, 4],
        wanted: 0.1,
        found: 0.25,
    };
    let text = error.to_string();
    assert!(
        text.contains("particles 4 and 5") && text.contains("step 12"),
        "{text}"
    );
}

#[test]
fn contradictions_are_refused() {
    let water = lattice(1);
    let refused = |change: &dyn Fn(&mut System)| {
        let mut system = water.clone();
        change(&mut system);
        let engine = CpuEngine::new(
            &system,
            &ForceField::new(debye::system::Units::LennardJones),
            &nve(0.001),
            &double(),
        );
        let error = system.clusters().unwrap_err();
        assert_eq!(engine.err().unwrap().to_string(), error.to_string());
        error
    };
    let fixed = |atoms, length| FixedDistance { atoms, length };
    let shared = refused(&|s| s.constraints.distances.push(fixed([0, 1], BOND)));
    assert_eq!(shared, ConstraintError::Shared { particle: 0 });
    let twice = refused(&|s| {
        s.constraints.waters.clear();
        s.constraints.distances = vec![fixed([0, 1], BOND), fixed([1, 0], BOND)];
    });
    assert_eq!(twice, ConstraintError::Twice { atoms: [1, 0] });
    let beyond = refused(&|s| s.constraints.distances.push(fixed([0, 3], BOND)));
    assert!(matches!(beyond, ConstraintError::Particles { .. }));
    let flat = refused(&|s| s.constraints.waters[0].base = 2.0 * BOND);
    assert!(matches!(flat, ConstraintError::Flat { .. }));
    let uneven = refused(&|s| s.particles.masses[2] = 2.0);
    assert!(matches!(uneven, ConstraintError::Masses { atoms: [1, 2], .. }));
    let length = refused(&|s| {
        s.constraints.waters.clear();
        s.constraints.distances = vec![fixed([0, 1], -1.0)];
    });
    assert_eq!(length, ConstraintError::Length(-1.0));
    // Three particles in a line, with all three distances fixed.
    let line = refused(&|s| {
        s.constraints.waters.clear();
        for k in 0..3 {
            s.particles.positions[k] = Vec3::new(0.1 * k as f64, 0.0, 0.0);
        }
        s.constraints.distances = vec![fixed([0, 1], 0.1), fixed([1, 2], 0.1), fixed([0, 2], 0.2)];
    });
    assert_eq!(
        line,
        ConstraintError::Dependent {
            particle: 0,
            count: 3
        }
    );
}
