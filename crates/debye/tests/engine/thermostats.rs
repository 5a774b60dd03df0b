//! Thermostats hold the temperature, and the canonical ones its fluctuations.

use debye::analysis::BlockAverage;
use debye::engines::cpu::CpuEngine;
use debye::engines::{Observation, Precision};
use debye::forces::ForceField;
use debye::integrate::{Dynamics, Scheme, Thermostat, ThermostatKind};
use debye::system::{System, builders};
use debye::truncation::Truncation;

use super::{double, liquid, lj, nve, with_precision};

const LANGEVIN: ThermostatKind = ThermostatKind::Langevin;
const BUSSI: ThermostatKind = ThermostatKind::Bussi;
const CHAIN: ThermostatKind = ThermostatKind::NoseHoover { chain: 3 };
const BERENDSEN: ThermostatKind = ThermostatKind::Berendsen;

fn thermostat(kind: ThermostatKind, time: f64) -> Dynamics {
    Dynamics {
        thermostats: vec![Thermostat {
            kind,
            species: vec![],
            temperature: 1.2,
            time,
            every: None,
        }],
        ..nve(0.004)
    }
}

/// 256 particles of a dense fluid, and smooth forces.
fn fluid() -> (System, ForceField) {
    let system = liquid(4, 0.7, 1.2, 11);
    let field = lj(&system, 2.5, Truncation::ForceShift, false);
    (system, field)
}

/// Observations every 5 steps, after a tenth of the way.
fn sample(system: &System, field: &ForceField, dynamics: &Dynamics, steps: u64) -> Vec<Observation> {
    let settings = with_precision(Precision::Mixed);
    let mut engine = CpuEngine::new(system, field, dynamics, &settings).unwrap();
    engine.advance(steps / 10, false).unwrap();
    (0..steps / 5)
        .map(|_| {
            engine.advance(5, true).unwrap();
            engine.observe().unwrap()
        })
        .collect()
}

/// Holds a series to a mean, within three standard errors and what the integrator's step costs.
fn assert_mean(values: &[f64], want: f64, bias: f64, what: &str) {
    let average = BlockAverage::of(values);
    let off = (average.mean - want).abs();
    assert!(
        off <= 3.0 * average.standard_error + bias,
        "{what}: {} ± {} instead of {want}",
        average.mean,
        average.standard_error
    );
}

#[test]
fn temperature_and_its_fluctuations() {
    let (system, field) = fluid();
    for (kind, time, every, canonical) in [
        (LANGEVIN, 0.5, None, true),
        (BUSSI, 0.1, None, true),
        (BUSSI, 0.1, Some(9), true),
        (CHAIN, 0.2, None, true),
        (BERENDSEN, 0.2, None, false),
    ] {
        let mut dynamics = thermostat(kind, time);
        dynamics.thermostats[0].every = every;
        let rows = sample(&system, &field, &dynamics, 25_000);
        let temperatures: Vec<f64> = rows.iter().map(|o| o.temperature).collect();
        // The kinetic energy of a step of 0.004 is off by some 1e-3 (the shadow Hamiltonian's).
        assert_mean(&temperatures, 1.2, 1.5e-3 * 1.2, &format!("{kind:?}"));
        // ⟨(K − ⟨K⟩)²⟩ = g (kT)²/2, itself a mean.
        let want = 0.5 * rows[0].degrees_of_freedom * 1.2f64.powi(2);
        let mean = rows.iter().map(|o| o.kinetic).sum::<f64>() / rows.len() as f64;
        let squares: Vec<f64> = rows.iter().map(|o| (o.kinetic - mean).powi(2)).collect();
        if canonical {
            assert_mean(&squares, want, 0.02 * want, &format!("{kind:?}: variance"));
        } else {
            let variance = squares.iter().sum::<f64>() / squares.len() as f64;
            assert!(variance < 0.8 * want, "weak coupling: {variance} of {want}");
        }
    }
}

/// Unless said, twenty times in the relaxation time, or every ten steps; chains and friction in every step.
#[test]
fn thermostats_act_often_enough() {
    let interval = |kind, time| thermostat(kind, time).thermostats[0].interval(0.004);
    assert_eq!(
        [0.01, 0.1, 0.2, 0.6, 5.0].map(|time| interval(BUSSI, time)),
        [1, 1, 2, 5, 10]
    );
    assert_eq!(
        [
            interval(CHAIN, 5.0),
            interval(LANGEVIN, 5.0),
            interval(BERENDSEN, 5.0)
        ],
        [1, 1, 10]
    );
    // Velocities change in every third step alone.
    let (system, field) = fluid();
    let mut dynamics = thermostat(BERENDSEN, 0.1);
    dynamics.thermostats[0] = dynamics.thermostats[0].clone().every(3);
    let mut engine = CpuEngine::new(&system, &field, &dynamics, &double()).unwrap();
    let mut given = vec![0.0];
    for _ in 0..6 {
        engine.advance(1, true).unwrap();
        given.push(engine.observe().unwrap().thermostat.unwrap());
    }
    let acted: Vec<bool> = given.windows(2).map(|w| w[0] != w[1]).collect();
    assert_eq!(acted, [false, false, true, false, false, true]);
    // Where it would stop all motion, and where it means nothing.
    for (kind, steps) in [(BERENDSEN, 26), (CHAIN, 2), (LANGEVIN, 2)] {
        dynamics.thermostats[0] = thermostat(kind, 0.1).thermostats[0].clone().every(steps);
        assert!(dynamics.check(256).is_err(), "{kind:?}");
    }
}

/// Langevin, Bussi and Nosé–Hoover sample the same potential energy.
#[test]
fn thermostats_agree_on_the_energy() {
    let (system, field) = fluid();
    let averages: Vec<BlockAverage> = [(LANGEVIN, 0.5), (BUSSI, 0.2), (CHAIN, 0.3)]
        .into_iter()
        .map(|(kind, time)| {
            let rows = sample(&system, &field, &thermostat(kind, time), 20_000);
            BlockAverage::of(&rows.iter().map(|o| o.potential / 256.0).collect::<Vec<_>>())
        })
        .collect();
    for a in &averages {
        for b in &averages {
            let error = a.standard_error.hypot(b.standard_error);
            assert!((a.mean - b.mean).abs() < 3.5 * error + 1e-3, "{averages:?}");
        }
    }
}

/// Energy of particles and thermostat together stays, as well as that of a run without thermostat.
#[test]
fn the_conserved_quantity_is_conserved() {
    let (system, field) = fluid();
    for kind in [BUSSI, CHAIN, BERENDSEN] {
        let change = |dt: f64| {
            let dynamics = Dynamics {
                timestep: dt,
                ..thermostat(kind, 0.2)
            };
            let mut engine = CpuEngine::new(&system, &field, &dynamics, &double()).unwrap();
            engine.advance((2.0 / dt) as u64, true).unwrap();
            let conserved = |o: Observation| o.total() + o.thermostat.unwrap();
            let start = conserved(engine.observe().unwrap());
            let mut worst: f64 = 0.0;
            for _ in 0..50 {
                engine.advance((0.2 / dt) as u64, true).unwrap();
                worst = worst.max((conserved(engine.observe().unwrap()) - start).abs());
            }
            worst
        };
        let (coarse, fine) = (change(0.004), change(0.002));
        assert!(coarse < 0.5 && fine < 0.2, "{kind:?}: {coarse} {fine}");
    }
}

/// A thermostat of its own for each species; the other feels it through collisions only.
#[test]
fn groups_have_their_own_thermostats() {
    let mut system = builders::lattice(builders::Lattice::RockSalt, [4; 3])
        .density(0.5)
        .species("A", 1.0, 0.0)
        .species("B", 3.0, 0.0)
        .build()
        .unwrap();
    debye::system::velocities::thermalize(&mut system, 1.0, 3).unwrap();
    let field = lj(&system, 2.3, Truncation::ForceShift, false);
    for kind in [LANGEVIN, BUSSI, CHAIN] {
        let group = |species: u32, temperature: f64| Thermostat {
            kind,
            species: vec![species],
            temperature,
            time: 0.02,
            every: None,
        };
        let dynamics = Dynamics {
            thermostats: vec![group(0, 1.5), group(1, 0.8)],
            ..nve(0.002)
        };
        let mut engine = CpuEngine::new(&system, &field, &dynamics, &double()).unwrap();
        engine.advance(1000, false).unwrap();
        let mut means = [0.0; 2];
        for _ in 0..400 {
            engine.advance(10, false).unwrap();
            let p = engine.particles();
            for k in 0..p.len() {
                means[p.species[k] as usize] += p.masses[k] * p.velocities[k].norm2() / (3.0 * 256.0) / 400.0;
            }
        }
        // Strong coupling holds both against the heat that flows between them, nearly.
        assert!(
            (means[0] - 1.5).abs() < 0.08 && (means[1] - 0.8).abs() < 0.08,
            "{kind:?}: {means:?}"
        );
    }
}

/// Leapfrog with weak coupling and with stochastic rescaling.
#[test]
fn leapfrog_thermostats() {
    let (system, field) = fluid();
    for kind in [BUSSI, BERENDSEN] {
        let dynamics = Dynamics {
            scheme: Scheme::Leapfrog,
            ..thermostat(kind, 0.2)
        };
        let rows = sample(&system, &field, &dynamics, 8_000);
        let temperatures: Vec<f64> = rows.iter().map(|o| o.temperature).collect();
        // Half-step velocities are a little hotter than those of whole steps, which are observed.
        assert_mean(&temperatures, 1.2, 0.012, &format!("leapfrog {kind:?}"));
    }
}

/// Free particles in a Langevin thermostat: ⟨v²⟩ and its decay are known.
#[test]
fn langevin_of_free_particles() {
    let system = liquid(8, 0.001, 1.2, 5);
    let field = ForceField::new(debye::system::Units::LennardJones);
    let dynamics = thermostat(LANGEVIN, 1.0);
    let mut engine = CpuEngine::new(&system, &field, &dynamics, &double()).unwrap();
    let start = engine.particles().velocities;
    engine.advance(250, true).unwrap();
    // After one relaxation time ⟨v(0)·v(t)⟩ = 3 kT/m e⁻¹, over 2048 particles.
    let end = engine.particles().velocities;
    let n = start.len() as f64;
    let overlap = start.iter().zip(&end).map(|(a, b)| a.dot(*b)).sum::<f64>() / n;
    let want = 3.6 * (-1.0f64).exp();
    assert!(
        (overlap - want).abs() < 4.0 * 3.6 / (3.0 * n).sqrt(),
        "{overlap} instead of {want}"
    );
    assert!((engine.observe().unwrap().temperature - 1.2).abs() < 4.0 * 1.2 * (2.0 / (3.0 * n)).sqrt());
}
