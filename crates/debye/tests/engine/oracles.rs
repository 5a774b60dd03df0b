//! Numbers published by others: NIST's Lennard-Jones configurations, the LAMMPS melt, argon spheres.

use debye::engines::InstructionSet;
use debye::engines::cpu::CpuEngine;
use debye::engines::reference::{self, Evaluation};
use debye::engines::{Precision, Settings};
use debye::expr::Vec3;
use debye::system::{Cell, System, Units, builders};
use debye::truncation::Truncation;

use super::{Tolerance, argon, csv, electron_volt, evaluated, lj, nve, precisions, variants, with_precision};

/// A system of one species at these places.
fn system(cell: Cell, positions: impl Iterator<Item = Vec3<f64>>) -> System {
    let mut system = builders::random(cell).add(0, "A", 1.0, 0.0).build().unwrap();
    for r in positions {
        system.particles.push(r, 0, 1.0, 0.0, 0);
    }
    system
}

/// The last three columns of an XYZ file.
fn positions(text: &str) -> impl Iterator<Item = Vec3<f64>> {
    text.lines()
        .skip(2)
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            let numbers: Vec<f64> = line
                .split_whitespace()
                .skip(1)
                .map(|x| x.parse().unwrap())
                .collect();
            Vec3::new(numbers[0], numbers[1], numbers[2])
        })
}

/// Every way to evaluate a system: the reference, then the engine in every variant, with the
/// relative error it may have.
fn evaluations(system: &System, field: &debye::forces::ForceField) -> Vec<(String, Evaluation, Tolerance)> {
    let double = Tolerance::of(Precision::Double);
    let mut all = vec![("reference".to_owned(), reference::evaluate(system, field), double)];
    for settings in variants() {
        let name = format!("{} {:?}", settings.precision.name(), settings.instruction_set);
        all.push((
            name,
            evaluated(system, field, &settings),
            Tolerance::of(settings.precision),
        ));
    }
    all
}

/// A printed number is right to half a unit of its last digit; `ours` comes on top.
fn assert_printed(got: f64, printed: &str, ours: f64, what: &str) {
    let want: f64 = printed.parse().unwrap();
    let digits = printed.split('.').nth(1).map_or(0, str::len) as i32;
    let allowed = 0.51 * 10f64.powi(-digits) + ours;
    assert!(
        (got - want).abs() <= allowed,
        "{what}: {got} instead of {printed} ± {allowed:e}"
    );
}

#[test]
fn nist_lennard_jones() {
    let files = [
        include_str!("../data/nist_lj/lj-1.xyz"),
        include_str!("../data/nist_lj/lj-2.xyz"),
        include_str!("../data/nist_lj/lj-3.xyz"),
        include_str!("../data/nist_lj/lj-4.xyz"),
    ];
    for (row, text) in csv(include_str!("../data/nist_lj/expected.csv"))
        .iter()
        .zip(files)
    {
        let cell = Cell::orthorhombic([row[2].parse().unwrap(); 3]).unwrap();
        let system = system(cell, positions(text));
        assert_eq!(system.particles.len(), row[1].parse::<usize>().unwrap());
        for (cutoff, truncation, columns) in [
            (3.0, Truncation::Cut, &row[3..6]),
            (4.0, Truncation::Cut, &row[6..9]),
            (3.0, Truncation::ForceShift, &row[9..11]),
        ] {
            let field = lj(&system, cutoff, truncation, columns.len() == 3);
            let tail_pressure = field.tail_correction(&system).pressure(cell.volume()) * cell.volume();
            for (name, e, tolerance) in evaluations(&system, &field) {
                let what = format!("{} cut-off {cutoff} {truncation:?} {name}", row[0]);
                let size = e.terms[0].1.abs();
                assert_printed(e.terms[0].1, columns[0], tolerance.energy * size, &what);
                let w = e.virial[0] + e.virial[1] + e.virial[2] - 3.0 * tail_pressure;
                // A sum of both signs: relative to the energy where it cancels.
                assert_printed(w, columns[1], tolerance.virial * size.max(w.abs()), &what);
                if let Some(tail) = columns.get(2) {
                    assert_printed(e.terms[1].1, tail, 1e-9, &what);
                }
            }
        }
    }
}

#[test]
fn nist_triclinic() {
    let text = include_str!("../data/nist_lj/lj_triclinic_sample_config_periodic3.xyz");
    let line = text.lines().nth(1).unwrap();
    let c: Vec<f64> = line
        .split_whitespace()
        .skip(1)
        .map(|x| x.parse().unwrap())
        .collect();
    let cell = Cell::triclinic([[c[0], 0.0, 0.0], [c[3], c[1], 0.0], [c[4], c[5], c[2]]]).unwrap();
    let system = system(cell, positions(text));
    assert_eq!(system.particles.len(), 300);
    let field = lj(&system, 3.0, Truncation::Cut, true);
    // NIST, to all digits it prints.
    let (energy, tail) = (-505.78567945268367_f64, -29.37186430697248_f64);
    for (name, e, tolerance) in evaluations(&system, &field) {
        let allowed = tolerance.energy.max(1e-9);
        assert!(
            (e.terms[0].1 / energy - 1.0).abs() < allowed,
            "{name}: {:?}",
            e.terms
        );
        assert!((e.terms[1].1 / tail - 1.0).abs() < 1e-9, "{name}: {:?}", e.terms);
    }
}

/// The state of the melt at step 0: its lattice, and the velocities of the data file.
fn melt() -> System {
    let mut system = builders::lj_melt([20; 3]).build().unwrap();
    let bytes = include_bytes!("../data/ljmelt_velocities.i32");
    let numbers: Vec<f64> = bytes
        .chunks_exact(4)
        .map(|b| f64::from(i32::from_le_bytes([b[0], b[1], b[2], b[3]])) * 1e-7)
        .collect();
    system.particles.velocities = numbers
        .chunks_exact(3)
        .map(|v| Vec3::new(v[0], v[1], v[2]))
        .collect();
    system
}

/// How far the melt may be off at a step: (energy per particle, temperature and pressure), relative.
fn melt_tolerance(step: u64, precision: Precision) -> (f64, f64) {
    let (energy, rest): (f64, f64) = match step {
        0 => (1e-8, 1e-7),
        1..=20 => (1e-5, 1e-5),
        _ => (1e-4, 1e-3),
    };
    let t = Tolerance::of(precision);
    (energy.max(t.energy), rest.max(t.virial))
}

#[test]
fn lammps_melt() {
    let system = melt();
    let n = system.particles.len() as f64;
    let field = lj(&system, 2.5, Truncation::Cut, false);
    let rows: Vec<Vec<f64>> = csv(include_str!("../data/ljmelt_thermo.csv"))
        .iter()
        .map(|row| row.iter().map(|x| x.parse().unwrap()).collect())
        .collect();
    for settings in variants() {
        let mut engine = CpuEngine::new(&system, &field, &nve(0.005), &settings).unwrap();
        // The whole way with the best instruction set only.
        let best = settings.instruction_set == Some(InstructionSet::detect());
        for row in rows.iter().take(if best { 5 } else { 2 }) {
            let step = row[0] as u64;
            engine.advance(step - engine.step_number(), true).unwrap();
            let o = engine.observe().unwrap();
            let (energy, rest) = melt_tolerance(step, settings.precision);
            let got = [
                o.temperature,
                o.potential / n,
                o.total() / n,
                o.pressure().unwrap(),
            ];
            let allowed = [rest, energy, energy, rest];
            for k in 0..4 {
                // A pressure is a small difference of large numbers: relative to those at the start.
                let size = if k == 3 {
                    row[4].abs().max(1.0)
                } else {
                    row[k + 1].abs()
                };
                let error = (got[k] - row[k + 1]).abs() / size;
                assert!(
                    error < allowed[k],
                    "{settings:?} step {step}: {got:?} instead of {row:?}; column {k} off by {error:e}"
                );
            }
        }
    }
}

/// Runs a sphere through the rows of the table that are its.
fn sphere(
    system: &System,
    name: &str,
    settings: &Settings,
    allowed: impl Fn(u64) -> f64,
) -> debye::engines::Observation {
    let mut engine = CpuEngine::new(system, &argon(system, Truncation::Cut), &nve(0.002), settings).unwrap();
    for row in csv(include_str!("../data/argon_spheres.csv")) {
        if row[0] != name {
            continue;
        }
        let [step, potential, kinetic]: [f64; 3] = std::array::from_fn(|k| row[k + 1].parse().unwrap());
        engine.advance(step as u64 - engine.step_number(), true).unwrap();
        let o = engine.observe().unwrap();
        for (got, want) in [(o.potential, potential), (o.kinetic, kinetic)] {
            let got = got / electron_volt();
            let error = (got - want).abs() / potential.abs();
            assert!(
                error <= allowed(step as u64),
                "{name} {settings:?} step {step}: {got} eV instead of {want}, off by {error:e}"
            );
        }
    }
    engine.observe().unwrap()
}

#[test]
fn small_argon_sphere() {
    let system = builders::small_argon_sphere().build().unwrap();
    assert_eq!((system.particles.len(), system.units), (14_147, Units::Md));
    let field = argon(&system, Truncation::Cut);
    for settings in variants() {
        let error = evaluated(&system, &field, &settings).potential / electron_volt() / -154.9843703 - 1.0;
        let allowed = Tolerance::of(settings.precision).energy.max(1e-8);
        assert!(error.abs() < allowed, "{settings:?}: {error:e}");
    }
    for settings in precisions() {
        let energy = Tolerance::of(settings.precision).energy;
        sphere(&system, "small", &settings, |step| match step {
            0 => energy.max(1e-8),
            // In single precision a position in a cube of 25 nm is known to 1e-6 nm.
            500 if settings.precision == Precision::Single => 5e-5,
            500 => 1e-6,
            _ if settings.precision == Precision::Single => 1e-4,
            _ => 2e-5,
        });
    }
}

#[test]
fn large_argon_sphere() {
    let system = builders::argon_sphere().build().unwrap();
    assert_eq!(system.particles.len(), 1_047_293);
    let bins = (2.0 * system.cell.heights().x / 1.2).floor();
    assert_eq!(bins.powi(3), 5_359_375.0);
    let settings = with_precision(Precision::Mixed);
    sphere(&system, "large", &settings, |_| 1e-6);
    // Step 0 in double precision, to all digits.
    let e = evaluated(&system, &argon(&system, Truncation::Cut), &super::double());
    let error = e.potential / electron_volt() / -12007.95413 - 1.0;
    assert!(error.abs() < 1e-8, "{error:e}");
}
