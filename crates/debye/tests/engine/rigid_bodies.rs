//! Rigid bodies of several sites: shapes, conservation, temperature, pressure, and what is refused. The molecules are made up:
//! bent ones of four sites, one of them a charge without mass, and linear ones of three.

use debye::analysis::BlockAverage;
use debye::engines::cpu::{CpuEngine, Fire};
use debye::engines::{Precision, reference};
use debye::expr::Vec3;
use debye::forces::{ForceField, PairTerm};
use debye::integrate::{
    ActiveThermostat, Barostat, BarostatKind, Coupling, Dynamics, Scheme, Thermostat, ThermostatKind,
};
use debye::system::{
    Cell, ConstraintError, Constraints, Exclusions, Particles, RigidShape, RigidWater, Species, System,
    Topology, Units, velocities,
};
use debye::truncation::Truncation;

use super::{double, energy_spread, nve, precisions, random, with_precision};

const BENT: [[f64; 3]; 4] = [
    [0.0, 0.0, 0.0],
    [0.0757, 0.0586, 0.0],
    [-0.0757, 0.0586, 0.0],
    [0.0, 0.015, 0.0],
];
const LINE: [f64; 3] = [0.0, 0.116, -0.116];
const SPECIES: [(&str, f64, f64); 6] = [
    ("O", 15.9994, 0.0),
    ("H", 1.008, 0.5),
    ("M", 0.0, -1.0),
    ("C", 12.011, 0.6),
    ("OC", 15.9994, -0.3),
    ("AR", 39.948, 0.0),
];

/// Molecules turned at random on a lattice, at rest: every fourth is linear, and there is an atom.
fn lattice(side: u32) -> System {
    let spacing = 0.33;
    let mut particles = Particles::default();
    for k in 0..side.pow(3) {
        let at = [k % side, k / side % side, k / (side * side)].map(|n| f64::from(n) * spacing);
        let turn = |j: usize| random(3, 2 * k as usize + j) - Vec3::splat(0.5);
        let x = turn(0) * turn(0).norm().recip();
        let y = x.cross(turn(1));
        let y = y * y.norm().recip();
        let at = Vec3::from(at);
        let mut push = |place: Vec3<f64>, kind: usize| {
            particles.push(place, kind as u32, SPECIES[kind].1, SPECIES[kind].2, k);
        };
        match k {
            1 => push(at, 5),
            k if k % 4 == 3 => LINE
                .iter()
                .zip([3, 4, 4])
                .for_each(|(&way, kind)| push(at + x * way, kind)),
            _ => BENT
                .iter()
                .zip([0, 1, 1, 2])
                .for_each(|(place, kind)| push(at + x * place[0] + y * place[1], kind)),
        }
    }
    System {
        labels: Default::default(),
        units: Units::Md,
        cell: Cell::orthorhombic([f64::from(side) * spacing; 3]).unwrap(),
        species: SPECIES
            .map(|(name, mass, charge)| Species::point(name, mass, charge))
            .to_vec(),
        particles,
        topology: Topology::default(),
        exclusions: Exclusions::default(),
        constraints: Constraints::default(),
    }
    .with_rigid_bodies(&["O", "H", "H", "M"], Some(&BENT.map(Vec3::from)))
    .unwrap()
    .with_rigid_bodies(&["C", "OC", "OC"], None)
    .unwrap()
}

fn field(system: &System) -> ForceField {
    let truncation = Truncation::Switch { from: 0.45 };
    let mut middle = PairTerm::build("lennard-jones", &system.species)
        .unwrap()
        .cutoff(0.6)
        .truncation(truncation)
        .all(&[("epsilon", 0.65), ("sigma", 0.315)])
        .unwrap()
        .finish()
        .unwrap();
    let count = system.species.len();
    for (k, row) in middle.rows.iter_mut().enumerate() {
        if [k / count, k % count].iter().any(|s| [1, 2].contains(s)) {
            row.coefficients.iter_mut().for_each(|c| *c = 0.0);
            row.truncation.iter_mut().for_each(|t| *t = 0.0);
        }
    }
    let charges = PairTerm::build("coulomb-reaction-field", &system.species)
        .unwrap()
        .cutoff(0.6)
        .truncation(truncation)
        .all(&[("epsilon_rf", 78.0)])
        .unwrap()
        .finish()
        .unwrap();
    ForceField {
        pairs: vec![middle, charges],
        coulomb_constant: Units::Md.coulomb_constant(),
        ..ForceField::new(Units::LennardJones)
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

/// A liquid at 300 K.
fn liquid() -> (System, ForceField) {
    static MADE: std::sync::OnceLock<System> = std::sync::OnceLock::new();
    let system = MADE.get_or_init(|| {
        let mut system = lattice(4);
        let field = field(&system);
        let dynamics = thermostat(ThermostatKind::Langevin, 300.0, 0.1);
        let mut engine = CpuEngine::new(&system, &field, &dynamics, &double()).unwrap();
        let fire = Fire {
            force_tolerance: 500.0,
            max_steps: 200,
            max_displacement: 0.01,
        };
        engine.minimize(fire).unwrap();
        engine.advance(2000, false).unwrap();
        system.particles = engine.particles();
        velocities::remove_momentum(&mut system).unwrap();
        system
    });
    (system.clone(), field(system))
}

/// Bodies of 4 and of 3 sites, and one atom.
const BENT_MOLECULES: f64 = 47.0;
const LINEAR_MOLECULES: f64 = 16.0;
const TURNING: f64 = 3.0 * BENT_MOLECULES + 2.0 * LINEAR_MOLECULES;
const MOVING: f64 = 3.0 * 64.0;

#[test]
fn shapes_and_velocities_hold() {
    let (system, field) = liquid();
    let leapfrog = Dynamics {
        scheme: Scheme::Leapfrog,
        ..nve(0.002)
    };
    let dynamics = [
        nve(0.002),
        leapfrog,
        thermostat(ThermostatKind::Langevin, 300.0, 0.5),
    ];
    for dynamics in dynamics {
        for settings in precisions() {
            let mut engine = CpuEngine::new(&system, &field, &dynamics, &settings).unwrap();
            engine.advance(500, true).unwrap();
            let mut end = system.clone();
            (end.particles, end.cell) = (engine.particles(), engine.cell());
            let [length, speed] = end.constraint_errors();
            let [close, slow] = match settings.precision {
                Precision::Single => [1e-5, 1e-3],
                _ => [1e-12, 1e-11],
            };
            // Sites without mass have the velocity of their bodies too.
            assert!(
                length < close && speed < slow,
                "{:?}: {length:e} {speed:e}",
                settings.precision
            );
        }
    }
}

/// Water of three sites is the same by SETTLE and as a body: forces, energy, pressure at one moment, and nearly the motion.
#[test]
fn bodies_and_settle_agree() {
    let (bond, base) = (0.09572_f64, 0.15139_f64);
    let height = (bond * bond - 0.25 * base * base).sqrt();
    let sites = [[0.0; 3], [0.5 * base, height, 0.0], [-0.5 * base, height, 0.0]].map(Vec3::from);
    let mut system = lattice(3);
    system.constraints = Constraints::default();
    system.exclusions = Exclusions::default();
    let mut p = Particles::default();
    for k in 0..27 {
        let at = Vec3::new(f64::from(k % 3), f64::from(k / 3 % 3), f64::from(k / 9)) * 0.33;
        let turn = |j: usize| random(5, 2 * k as usize + j) - Vec3::splat(0.5);
        let x = turn(0) * turn(0).norm().recip();
        let y = x.cross(turn(1));
        let y = y * y.norm().recip();
        for (site, kind, charge) in [(0, 0, -1.0), (1, 1, 0.5), (2, 1, 0.5)] {
            let s = sites[site];
            p.push(at + x * s.x + y * s.y, kind, SPECIES[kind as usize].1, charge, k);
        }
    }
    system.particles = p;
    let mut settled = system.clone();
    settled.constraints.waters.push(RigidWater {
        bond,
        base,
        molecules: (0..27).map(|k| [3 * k, 3 * k + 1, 3 * k + 2]).collect(),
    });
    settled.apply_constraints().unwrap();
    velocities::thermalize(&mut settled, 300.0, 3).unwrap();
    let mut body = system;
    body.particles = settled.particles.clone();
    let body = body.with_rigid_bodies(&["O", "H", "H"], Some(&sites)).unwrap();
    let field = field(&settled);
    let [mut a, mut b] =
        [&settled, &body].map(|s| CpuEngine::new(s, &field, &nve(0.0005), &double()).unwrap());
    let [one, other] = [a.observe().unwrap(), b.observe().unwrap()];
    assert!((one.potential - other.potential).abs() < 1e-9 * one.potential.abs());
    assert_eq!(one.degrees_of_freedom, other.degrees_of_freedom);
    assert!((one.temperature - other.temperature).abs() < 1e-9);
    for (p, q) in one.pressure_tensor.iter().zip(other.pressure_tensor) {
        assert!((p - q).abs() < 1e-8 * one.pressure_tensor[0].abs(), "{p} {q}");
    }
    // Two splittings of the same motion are apart by the square of the time step.
    let apart = |dt: f64| {
        let run = |s: &System| {
            let mut engine = CpuEngine::new(s, &field, &nve(dt), &double()).unwrap();
            engine.advance((0.025 / dt).round() as u64, false).unwrap();
            engine.particles().positions
        };
        let both = run(&settled).into_iter().zip(run(&body));
        both.map(|(p, q)| settled.cell.minimum_image(p - q).norm())
            .fold(0.0, f64::max)
    };
    let (coarse, fine) = (apart(0.0005), apart(0.00025));
    assert!(
        coarse < 2e-4 && (3.5..4.5).contains(&(coarse / fine)),
        "{coarse:e} {fine:e}"
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
        assert!(coarse < 2.0, "{coarse}");
    }
}

/// A line that was rounded in a file is straightened, and keeps the energy of its rotation.
#[test]
fn rounded_lines_keep_their_energy() {
    let (system, field) = liquid();
    let mut rounded = system.clone();
    rounded.constraints.bodies.truncate(1);
    let line = &system.constraints.bodies[1];
    // The first molecule is bent by less than a hundredth.
    let first = line.particles[1] as usize;
    rounded.particles.positions[first] += Vec3::new(3e-4, -3e-4, 3e-4);
    let mut rounded = rounded.with_rigid_bodies(&["C", "OC", "OC"], None).unwrap();
    assert_eq!(rounded.constraints.bodies[1].shape.degrees_of_freedom(), 5);
    velocities::thermalize(&mut rounded, 300.0, 8).unwrap();
    let mut engine = CpuEngine::new(&rounded, &field, &nve(0.0005), &double()).unwrap();
    let start = engine.observe().unwrap().total();
    engine.advance(4000, true).unwrap();
    let end = engine.observe().unwrap().total();
    // A moment that is not that of the sites takes some 5e-6 of the rotation with every step.
    assert!((end - start).abs() < 0.3, "{start} {end}");
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

/// A body in free space keeps its momenta and its energy.
#[test]
fn a_free_body_spins() {
    let (mut system, _) = liquid();
    velocities::thermalize(&mut system, 300.0, 8).unwrap();
    let none = ForceField::new(Units::LennardJones);
    let mut engine = CpuEngine::new(&system, &none, &nve(0.002), &double()).unwrap();
    let momenta = |p: &Particles| {
        let mut all = Vec::new();
        for molecule in system.constraints.bodies.iter().flat_map(|b| b.molecules()) {
            let origin = p.positions[molecule[0] as usize];
            let (mut mass, mut center, mut l) = (0.0, Vec3::zero(), Vec3::zero());
            for &i in molecule {
                let i = i as usize;
                let r = system.cell.minimum_image(p.positions[i] - origin);
                mass += p.masses[i];
                center += r * p.masses[i];
            }
            center = center * (1.0 / mass);
            for &i in molecule {
                let i = i as usize;
                let r = system.cell.minimum_image(p.positions[i] - origin) - center;
                l += r.cross(p.velocities[i]) * p.masses[i];
            }
            all.push(l);
        }
        all
    };
    let (before, energy) = (momenta(&engine.particles()), engine.observe().unwrap().total());
    engine.advance(500, true).unwrap();
    for (a, b) in before.iter().zip(momenta(&engine.particles())) {
        assert!((*a - b).norm() < 1e-11 * (1.0 + a.norm()), "{a:?} {b:?}");
    }
    // The splitting keeps the energy of an asymmetric top to second order.
    let off = (engine.observe().unwrap().total() / energy - 1.0).abs();
    assert!(off < 1e-4, "{off:e}");
}

/// Kinetic energies of centers, and of all that turns about them.
fn shares(system: &System, p: &Particles) -> [f64; 2] {
    let (mut shares, mut inside) = ([0.0; 2], vec![false; p.len()]);
    for molecule in system.constraints.bodies.iter().flat_map(|b| b.molecules()) {
        let (mut mass, mut momentum, mut all) = (0.0, Vec3::zero(), 0.0);
        for &i in molecule {
            let i = i as usize;
            inside[i] = true;
            mass += p.masses[i];
            momentum += p.velocities[i] * p.masses[i];
            all += 0.5 * p.masses[i] * p.velocities[i].norm2();
        }
        let common = 0.5 * momentum.norm2() / mass;
        shares[0] += common;
        shares[1] += all - common;
    }
    for i in (0..p.len()).filter(|&i| !inside[i]) {
        shares[0] += 0.5 * p.masses[i] * p.velocities[i].norm2();
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
    // Some sites of a molecule with one thermostat, the others with another.
    let mut split = thermostat(ThermostatKind::Langevin, 300.0, 0.1);
    split.thermostats[0].species = vec![0, 3, 5];
    split.thermostats.push(Thermostat {
        species: vec![1, 2, 4],
        time: 0.2,
        ..split.thermostats[0].clone()
    });
    for (dynamics, moves) in [
        (thermostat(ThermostatKind::Langevin, 300.0, 0.1), MOVING),
        (thermostat(ThermostatKind::Bussi, 300.0, 0.05), MOVING - 3.0),
        (
            thermostat(ThermostatKind::NoseHoover { chain: 3 }, 300.0, 0.05),
            MOVING - 3.0,
        ),
        (thermostat(ThermostatKind::Berendsen, 300.0, 0.05), MOVING - 3.0),
        (leapfrog, MOVING - 3.0),
        (split, MOVING),
    ] {
        let mut engine =
            CpuEngine::new(&system, &field, &dynamics, &with_precision(Precision::Mixed)).unwrap();
        assert_eq!(engine.observe().unwrap().degrees_of_freedom, moves + TURNING);
        engine.advance(500, false).unwrap();
        let half = 0.5 * system.units.boltzmann();
        let (mut all, mut parts) = (Vec::new(), [Vec::new(), Vec::new()]);
        for _ in 0..600 {
            engine.advance(10, true).unwrap();
            all.push(engine.observe().unwrap().temperature);
            let [common, own] = shares(&system, &engine.particles());
            parts[0].push(common / (half * moves));
            parts[1].push(own / (half * TURNING));
        }
        for (what, values) in [("all", &all), ("centers", &parts[0]), ("turning", &parts[1])] {
            let average = BlockAverage::of(values);
            let off = (average.mean - 300.0).abs();
            assert!(
                off < 3.5 * average.standard_error + 2.5,
                "{:?}, {what}: {average:?}",
                dynamics.thermostats[0].kind
            );
        }
    }
}

/// A site has of the freedom of its body what moves it.
#[test]
fn groups_share_the_freedom_of_a_body() {
    let system = lattice(3);
    let mut dynamics = thermostat(ThermostatKind::Bussi, 300.0, 0.1);
    dynamics.thermostats[0].species = vec![0, 3, 5];
    dynamics.thermostats.push(Thermostat {
        species: vec![1, 2, 4],
        ..dynamics.thermostats[0].clone()
    });
    let shares: Vec<f64> = (ActiveThermostat::all(&system, &dynamics).iter())
        .map(|t| t.degrees_of_freedom)
        .collect();
    let sum: f64 = shares.iter().sum();
    assert!((sum - dynamics.freedom_of(&system)).abs() < 1e-9, "{sum}");
    // Hydrogens turn more than oxygens.
    assert!(shares[1] > 40.0 && shares[0] > 0.0, "{shares:?}");
    // Where a site without mass belongs changes nothing.
    dynamics.thermostats[0].species.push(2);
    dynamics.thermostats[1].species = vec![1, 4];
    for (found, expected) in ActiveThermostat::all(&system, &dynamics).iter().zip(shares) {
        assert!((found.degrees_of_freedom - expected).abs() < 1e-9);
    }
}

#[test]
fn drawn_velocities_hold() {
    let mut system = lattice(4);
    velocities::thermalize(&mut system, 300.0, 9).unwrap();
    assert!(system.constraint_errors()[1] < 1e-12);
    let freedom = MOVING - 3.0 + TURNING;
    assert!((velocities::temperature(&system, freedom) - 300.0).abs() < 1e-9);
    assert!(velocities::momentum(&system).norm() < 1e-11);
    let none = ForceField::new(Units::LennardJones);
    let engine = CpuEngine::new(&system, &none, &nve(0.001), &double()).unwrap();
    for (a, b) in engine
        .particles()
        .velocities
        .iter()
        .zip(&system.particles.velocities)
    {
        assert!((*a - *b).norm() < 1e-12);
    }
}

/// The virial of the centers is −dU/d ln λ where these are scaled and the bodies are not.
#[test]
fn the_pressure_is_that_of_the_centers() {
    let (system, field) = liquid();
    let swollen = |factor: f64| {
        let mut made = system.clone();
        made.cell = system.cell.scaled(Vec3::splat(factor));
        let p = &mut made.particles;
        let mut inside = vec![false; p.len()];
        for molecule in system.constraints.bodies.iter().flat_map(|b| b.molecules()) {
            let origin = p.positions[molecule[0] as usize];
            let (mut mass, mut middle) = (0.0, Vec3::zero());
            let mut whole = Vec::new();
            for &i in molecule {
                let i = i as usize;
                inside[i] = true;
                let r = origin + system.cell.minimum_image(p.positions[i] - origin);
                mass += p.masses[i];
                middle += r * p.masses[i];
                whole.push(r);
            }
            for (&i, r) in molecule.iter().zip(whole) {
                p.positions[i as usize] = r + middle * ((factor - 1.0) / mass);
            }
        }
        for i in (0..p.len()).filter(|&i| !inside[i]) {
            p.positions[i] = p.positions[i] * factor;
        }
        made
    };
    let h = 1e-5;
    let energy = |factor| reference::evaluate(&swollen(factor), &field).potential;
    let virial = -(energy(1.0 + h) - energy(1.0 - h)) / (2.0 * h);
    let centers = 2.0 * shares(&system, &system.particles)[0];
    for scheme in [Scheme::VelocityVerlet, Scheme::Leapfrog] {
        let dynamics = Dynamics { scheme, ..nve(0.002) };
        let mut engine = CpuEngine::new(&system, &field, &dynamics, &double()).unwrap();
        let [x, y, z, ..] = engine.observe().unwrap().pressure_tensor;
        let (got, want) = ((x + y + z) * system.cell.volume(), centers + virial);
        let off = (got - want).abs();
        assert!(off < 1e-5 * virial.abs().max(centers), "{got} instead of {want}");
    }
}

fn barostats() -> Vec<Dynamics> {
    let with = |kind, coupling, dynamics| Dynamics {
        barostat: Some(Barostat {
            kind,
            coupling,
            pressure: [200.0; 3],
            time: 0.5,
            compressibility: [5e-5; 3],
            temperature: 300.0,
            every: 5,
            limited: Default::default(),
        }),
        remove_momentum_every: 50,
        ..dynamics
    };
    let bussi = || thermostat(ThermostatKind::Bussi, 300.0, 0.1);
    vec![
        with(BarostatKind::Berendsen, Coupling::Anisotropic, bussi()),
        with(
            BarostatKind::CellRescale,
            Coupling::SemiIsotropic,
            thermostat(ThermostatKind::Langevin, 300.0, 0.1),
        ),
        with(
            BarostatKind::CellRescale,
            Coupling::SurfaceTension { tension: 20.0 },
            bussi(),
        ),
    ]
}

#[test]
fn barostats_keep_bodies_rigid() {
    let (system, field) = liquid();
    for dynamics in barostats() {
        let mut engine = CpuEngine::new(&system, &field, &dynamics, &double()).unwrap();
        engine.advance(300, true).unwrap();
        let mut end = system.clone();
        (end.particles, end.cell) = (engine.particles(), engine.cell());
        let [length, speed] = end.constraint_errors();
        assert!(length < 1e-12 && speed < 1e-11, "{length:e} {speed:e}");
        assert!(end.cell != system.cell);
    }
}

#[test]
fn saved_runs_continue_exactly() {
    let (system, field) = liquid();
    let kinds = [ThermostatKind::Langevin, ThermostatKind::NoseHoover { chain: 3 }];
    let all = kinds
        .map(|kind| thermostat(kind, 300.0, 0.1))
        .into_iter()
        .chain(barostats())
        .chain([nve(0.002)]);
    for dynamics in all {
        for settings in precisions() {
            let new = || CpuEngine::new(&system, &field, &dynamics, &settings).unwrap();
            let (mut straight, mut first) = (new(), new());
            straight.advance(60, true).unwrap();
            first.advance(32, false).unwrap();
            let mut second =
                CpuEngine::resumed(&system, &field, &dynamics, &settings, &first.save()).unwrap();
            second.advance(28, true).unwrap();
            let bits = |e: &mut CpuEngine| (format!("{:?}", e.observe().unwrap()), e.save());
            assert!(bits(&mut straight) == bits(&mut second), "{dynamics:?}");
        }
    }
}

/// Minimization: the energy falls, the bodies stay rigid and as hot as they were.
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
        let mut end = system.clone();
        end.particles = engine.particles();
        let [length, speed] = end.constraint_errors();
        assert!(length < 1e-12 && speed < 1e-9, "{length:e} {speed:e}");
        engine.advance(10, true).unwrap();
    }
}

/// Kinds with sites that have no mass are set one after the other.
#[test]
fn kinds_of_bodies_are_set_one_by_one() {
    let mut system = lattice(3);
    system.constraints = Constraints::default();
    system.exclusions = Exclusions::default();
    // The middle of every linear molecule has no mass either.
    for i in 0..system.particles.len() {
        if system.particles.species[i] == 3 {
            system.particles.masses[i] = 0.0;
        }
    }
    let bent = system.with_rigid_bodies(&["O", "H", "H", "M"], None).unwrap();
    assert!(matches!(
        bent.check_massless(),
        Err(ConstraintError::Massless { .. })
    ));
    let both = bent.with_rigid_bodies(&["C", "OC", "OC"], None).unwrap();
    both.check_massless().unwrap();
    let field = field(&both);
    CpuEngine::new(&both, &field, &nve(0.001), &double()).unwrap();
}

/// A larger cell has larger numbers of the same molecules, across its faces too.
#[test]
fn copies_have_bodies_too() {
    let (system, field) = liquid();
    let larger = debye::system::builders::replicate(&system, [2, 1, 1]).unwrap();
    assert_eq!(larger.constraints.len(), 2 * system.constraints.len());
    assert!(larger.constraint_errors()[0] < 1e-12);
    let energy = |s: &System| {
        CpuEngine::new(s, &field, &nve(0.001), &double())
            .unwrap()
            .observe()
            .unwrap()
            .potential
    };
    let (once, twice) = (energy(&system), energy(&larger));
    assert!((twice / once - 2.0).abs() < 1e-9, "{once} {twice}");
}

#[test]
fn what_cannot_be_is_refused() {
    let (system, field) = liquid();
    let shape = || system.constraints.bodies[0].shape.clone();
    let mut lost = system.clone();
    lost.constraints.bodies.remove(0);
    let error = CpuEngine::new(&lost, &field, &nve(0.001), &double())
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("no mass"), "{error}");
    let mut twice = system.clone();
    let again = twice.constraints.bodies[0].clone();
    twice.constraints.bodies.push(again);
    assert!(matches!(
        twice.check_constraints(),
        Err(ConstraintError::Shared { .. })
    ));
    let mut heavier = system.clone();
    let first = heavier.constraints.bodies[0].particles[0] as usize;
    heavier.particles.masses[first] = 17.0;
    assert!(matches!(
        heavier.check_constraints(),
        Err(ConstraintError::SiteMass { .. })
    ));
    let mut turning = system.clone();
    turning.particles.orient(
        first,
        debye::system::Rotor::linear(1.0),
        debye::expr::Quat::identity(),
    );
    assert!(matches!(
        turning.check_constraints(),
        Err(ConstraintError::Turns { .. })
    ));
    let mut bent = system.clone();
    bent.particles.positions[first] += Vec3::splat(0.05);
    assert!(matches!(
        bent.constrain_positions(),
        Err(ConstraintError::Misfit { mirrored: false, .. })
    ));
    assert!(shape().degrees_of_freedom() == 6);
    // The mirror image has the same distances, and is another molecule.
    let hand = [
        [0.0, 0.0, 0.0],
        [0.1, 0.0, 0.0],
        [0.0, 0.12, 0.0],
        [0.02, 0.03, 0.09],
    ]
    .map(Vec3::from);
    let mut pair = system.clone();
    pair.constraints = Constraints::default();
    pair.exclusions = Exclusions::default();
    pair.particles = Particles::default();
    for (molecule, sign) in [(0, 1.0), (1, -1.0)] {
        for (site, kind) in hand.iter().zip([0, 1, 3, 4]) {
            let at = Vec3::new(site.x, site.y, sign * site.z) + Vec3::splat(0.3 + 0.4 * f64::from(molecule));
            pair.particles
                .push(at, kind, SPECIES[kind as usize].1, 0.0, molecule);
        }
    }
    let mirrored = pair.with_rigid_bodies(&["O", "H", "C", "OC"], None).unwrap_err();
    assert!(
        matches!(mirrored, ConstraintError::Misfit { mirrored: true, .. }),
        "{mirrored}"
    );
    // A body that could meet its own image.
    let mut long = system.clone();
    long.cell = Cell::orthorhombic([0.15; 3]).unwrap();
    assert!(matches!(
        long.check_constraints(),
        Err(ConstraintError::TooLong { .. })
    ));
    let none = system.with_rigid_bodies(&["M", "H"], None).unwrap_err();
    assert!(matches!(none, ConstraintError::NoMolecules(_)), "{none}");
    let line = RigidShape::new(&[Vec3::zero(), Vec3::splat(1.0)], &[1.0, 2.0]).unwrap();
    assert_eq!(line.degrees_of_freedom(), 5);
}
