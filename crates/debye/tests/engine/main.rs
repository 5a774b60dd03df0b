//! The engine against closed forms, published numbers and the reference evaluator.
//!
//! Each body runs for every precision and every instruction set this processor has; tolerances by
//! precision are those of `docs/validation.md`.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod barostats;
mod bonded;
mod comparison;
mod constraints;
mod continuation;
mod electrostatics;
mod explosions;
mod invariances;
mod lists;
mod measured;
mod minimization;
mod multilevel;
mod nve;
mod on_device;
mod oracles;
mod rigid_bodies;
mod thermostats;

use debye::engines::InstructionSet;
use debye::engines::cpu::CpuEngine;
use debye::engines::reference::{self, Evaluation};
use debye::engines::{Precision, Settings};
use debye::expr::Vec3;
use debye::forces::{ForceField, PairTerm};
use debye::integrate::{Dynamics, Scheme};
use debye::random::Philox;
use debye::system::{System, Units};
use debye::truncation::Truncation;

/// Every precision with every instruction set there is.
pub fn variants() -> Vec<Settings> {
    let mut all = Vec::new();
    for precision in [Precision::Single, Precision::Mixed, Precision::Double] {
        for set in InstructionSet::available() {
            all.push(Settings {
                precision,
                instruction_set: Some(set),
                ..Settings::default()
            });
        }
    }
    all
}

/// One setting per precision, with the best instruction set.
pub fn precisions() -> [Settings; 3] {
    [Precision::Single, Precision::Mixed, Precision::Double].map(with_precision)
}

/// The best instruction set in this precision.
pub fn with_precision(precision: Precision) -> Settings {
    Settings {
        precision,
        ..Settings::default()
    }
}

/// Double precision.
pub fn double() -> Settings {
    with_precision(Precision::Double)
}

/// How far the total energy strays in this time: the root of its mean square deviation.
pub fn energy_spread(system: &System, field: &ForceField, scheme: Scheme, time: f64, dt: f64) -> f64 {
    let dynamics = Dynamics { scheme, ..nve(dt) };
    let mut engine = CpuEngine::new(system, field, &dynamics, &double()).unwrap();
    let energies: Vec<f64> = (0..(time / dt) as u64)
        .map(|_| {
            engine.advance(1, true).unwrap();
            engine.observe().unwrap().total()
        })
        .collect();
    let mean = energies.iter().sum::<f64>() / energies.len() as f64;
    (energies.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / energies.len() as f64).sqrt()
}

/// Relative errors allowed: of energies, of forces (root of the mean square), of virial components.
#[derive(Clone, Copy, Debug)]
pub struct Tolerance {
    /// Of every energy.
    pub energy: f64,
    /// Of the forces.
    pub forces: f64,
    /// Of every component of the virial.
    pub virial: f64,
}

impl Tolerance {
    /// `physics/validation.md`, section G; double as rounding allows.
    pub fn of(precision: Precision) -> Self {
        let (energy, forces, virial) = match precision {
            Precision::Single => (1e-5, 1e-5, 1e-4),
            Precision::Mixed => (1e-6, 5e-6, 1e-5),
            Precision::Double => (1e-11, 1e-11, 1e-11),
        };
        Self {
            energy,
            forces,
            virial,
        }
    }
}

/// Velocity Verlet without thermostat.
pub fn nve(timestep: f64) -> Dynamics {
    Dynamics {
        timestep,
        scheme: Scheme::VelocityVerlet,
        thermostats: vec![],
        barostat: None,
        remove_momentum_every: 0,
        seed: 1,
    }
}

/// Lennard-Jones with ε = σ = 1 between all species.
pub fn lj(system: &System, cutoff: f64, truncation: Truncation, tail: bool) -> ForceField {
    let term = PairTerm::build("lennard-jones", &system.species)
        .unwrap()
        .cutoff(cutoff)
        .truncation(truncation)
        .tail(tail)
        .all(&[("epsilon", 1.0), ("sigma", 1.0)])
        .unwrap()
        .finish()
        .unwrap();
    ForceField {
        pairs: vec![term],
        ..ForceField::new(debye::system::Units::LennardJones)
    }
}

/// Argon as in the paper: ε 0.0104 eV, σ 3.40 Å, cut-off 12 Å.
pub fn argon(system: &System, truncation: Truncation) -> ForceField {
    let term = PairTerm::build("lennard-jones", &system.species)
        .unwrap()
        .cutoff(1.2)
        .truncation(truncation)
        .all(&[("epsilon", 0.0104 * electron_volt()), ("sigma", 0.34)])
        .unwrap()
        .finish()
        .unwrap();
    ForceField {
        pairs: vec![term],
        ..ForceField::new(debye::system::Units::LennardJones)
    }
}

/// In kJ/mol.
pub fn electron_volt() -> f64 {
    Units::Md
        .quantity("1 eV", debye::system::Dimension::ENERGY)
        .unwrap()
}

/// Σ m v⊗v: xx yy zz xy xz yz.
pub fn kinetic_tensor(system: &System) -> [f64; 6] {
    let p = &system.particles;
    let mut t = [0.0; 6];
    for (v, m) in p.velocities.iter().zip(&p.masses) {
        let products = [v.x * v.x, v.y * v.y, v.z * v.z, v.x * v.y, v.x * v.z, v.y * v.z];
        t.iter_mut().zip(products).for_each(|(t, x)| *t += m * x);
    }
    t
}

/// What an engine says of a system as it is, in the terms of the reference.
pub fn evaluated(system: &System, field: &ForceField, settings: &Settings) -> Evaluation {
    let mut engine = CpuEngine::new(system, field, &nve(1e-3), settings).unwrap();
    let o = engine.observe().unwrap();
    let (kinetic, volume) = (kinetic_tensor(system), system.cell.volume());
    Evaluation {
        potential: o.potential,
        virial: std::array::from_fn(|k| o.pressure_tensor[k] * volume - kinetic[k]),
        forces: engine.forces(),
        torques: engine.torques(),
        terms: o.terms,
    }
}

/// √(Σ|a − b|²/Σ|b|²).
pub fn relative_rms(a: &[Vec3<f64>], b: &[Vec3<f64>]) -> f64 {
    let difference: f64 = a.iter().zip(b).map(|(&a, &b)| (a - b).norm2()).sum();
    let size: f64 = b.iter().map(|b| b.norm2()).sum();
    if difference == 0.0 {
        0.0
    } else {
        (difference / size).sqrt()
    }
}

/// Holds two evaluations together. Energies and virials are sums of both signs, so their errors are
/// relative to the largest of the energies, the virial and a tenth of Σ|F| times the `reach` of forces.
pub fn assert_same(got: &Evaluation, want: &Evaluation, tolerance: Tolerance, reach: f64, what: &str) {
    let rms = relative_rms(&got.forces, &want.forces);
    assert!(rms <= tolerance.forces, "{what}: forces off by {rms:e}");
    assert_eq!(got.terms.len(), want.terms.len(), "{what}: {:?}", got.terms);
    let push: f64 = want.forces.iter().map(|f| f.norm()).sum();
    let energies = want.terms.iter().map(|t| t.1);
    let scale = energies
        .chain(want.virial)
        .fold(0.1 * reach * push, |a, b| a.max(b.abs()));
    for ((name, e), (wanted_name, wanted)) in got.terms.iter().zip(&want.terms) {
        assert_eq!(name, wanted_name, "{what}");
        let error = (e - wanted).abs();
        assert!(
            error <= tolerance.energy * scale,
            "{what}: `{name}` is {e} instead of {wanted}, off by {:e}",
            error / scale
        );
    }
    for k in 0..6 {
        let error = (got.virial[k] - want.virial[k]).abs();
        assert!(
            error <= tolerance.virial * scale,
            "{what}: virial {:?} instead of {:?}",
            got.virial,
            want.virial
        );
    }
}

/// Holds the engine to the reference, in every variant.
pub fn check(system: &System, field: &ForceField, what: &str) {
    let want = reference::evaluate(system, field);
    assert!(want.potential.is_finite(), "{what}");
    for settings in variants() {
        let label = format!(
            "{what}, {}, {:?}",
            settings.precision.name(),
            settings.instruction_set
        );
        let got = evaluated(system, field, &settings);
        assert_same(
            &got,
            &want,
            Tolerance::of(settings.precision),
            field.cutoff(),
            &label,
        );
    }
}

/// Three random numbers in 0..1, for the k-th thing of a test.
pub fn random(seed: u64, k: usize) -> Vec3<f64> {
    let [x, y, z, _] = Philox::new(seed).uniforms(7, k as u32, 1 << 17);
    Vec3::new(x, y, z)
}

/// The rows of a CSV file with `#` comments and one line of names.
pub fn csv(text: &'static str) -> Vec<Vec<&'static str>> {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .skip(1)
        .map(|line| line.split(',').collect())
        .collect()
}

/// A small Lennard-Jones liquid with velocities.
pub fn liquid(cells: usize, density: f64, temperature: f64, seed: u64) -> System {
    use debye::system::builders::{Lattice, lattice};
    lattice(Lattice::Fcc, [cells; 3])
        .density(density)
        .thermalize(temperature, seed)
        .unwrap()
}
