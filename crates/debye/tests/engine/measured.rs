//! Errors that are measured: against the full reference, and beside the estimates.

use debye::engines::reference;
use debye::engines::{Precision, Settings};
use debye::expr::Vec3;
use debye::forces::electrostatics::{Boundary, Electrostatics, MeshPlan, Method, ReciprocalVectors};
use debye::forces::pme::Basis;
use debye::forces::pme::estimate::{Charged, coarsest, vectors};
use debye::forces::pme::expected::Expected;
use debye::forces::{ForceField, PairTerm};
use debye::run::measure::{Exact, MeasureError, coulomb_only, measured_error};
use debye::system::{Cell, ExclusionRule, Exclusions, ScaledPair, Species, System, builders};

use super::electrostatics::{mesh, spce, xyz};
use super::{double, precisions, random};

const K: f64 = 138.935;

/// Charges at random, no two too close.
fn charges(cell: Cell, number: usize, seed: u64) -> System {
    let mut system = builders::random(cell).add(0, "A", 1.0, 0.0).build().unwrap();
    system.species = vec![Species::point("S", 1.0, 0.0)];
    let mut k = 0;
    while system.particles.len() < number {
        let r = cell.position(random(seed, k));
        k += 1;
        let places = &system.particles.positions;
        if places.iter().all(|&p| cell.minimum_image(r - p).norm() > 0.15) {
            let q = if places.len().is_multiple_of(2) { 1.0 } else { -1.0 };
            system.particles.push(r, 0, 1.0, q, 0);
        }
    }
    system
}

fn field(system: &System, plan: Electrostatics) -> ForceField {
    ForceField {
        pairs: vec![plan.short_range(&system.species).unwrap()],
        electrostatics: Some(plan),
        coulomb_constant: K,
        ..ForceField::new(debye::system::Units::LennardJones)
    }
}

fn plan(cutoff: f64, alpha: f64, boundary: Boundary, method: Method) -> Electrostatics {
    Electrostatics {
        name: "coulomb".into(),
        cutoff,
        alpha,
        permittivity: 1.3,
        method,
        boundary,
    }
}

/// Excluded and scaled pairs, and a charge too many.
fn complicated(cell: Cell, seed: u64) -> System {
    let mut system = charges(cell, 60, seed);
    system.particles.charges[7] = 2.5;
    system.particles.charges[9] = 0.0;
    let rule = ExclusionRule::default().extra([[0, 1], [4, 10], [11, 30]]);
    let with = rule.clone().extra([[2, 3]]);
    system.exclusions = Exclusions::from_bonds(&system.topology, 60, &with).unwrap();
    system.exclusions.scaled.push(ScaledPair {
        atoms: [2, 3],
        pair: 0.5,
        charge: 0.8,
    });
    // Pairs that belong together are near one another.
    for [i, j] in [[0, 1], [4, 10], [11, 30], [2, 3]] {
        system.particles.positions[j] = system.particles.positions[i] + Vec3::new(0.06, 0.05, 0.04);
    }
    system
}

/// The sum for a sample is the reference with every reciprocal vector that matters: cells of any shape, net charge,
/// exclusions, slabs.
#[test]
fn the_sample_is_exact() {
    let straight = Cell::orthorhombic([2.1, 2.3, 2.0]).unwrap();
    let skew = Cell::triclinic([[2.1, 0.0, 0.0], [0.4, 2.3, 0.0], [-0.3, 0.5, 2.0]]).unwrap();
    let open = |cell: Cell, axis: usize| {
        let mut periodic = [true; 3];
        periodic[axis] = false;
        cell.with_periodicity(periodic)
    };
    let slab = Boundary::Slab { factor: 3.0 };
    for (cell, boundary) in [
        (straight, Boundary::Conductor),
        (skew, Boundary::Conductor),
        (skew, Boundary::Vacuum),
        (open(straight, 0), slab),
        (open(skew, 2), slab),
    ] {
        let system = complicated(cell, 3);
        // The reference splits at a length of its own, with all reciprocal vectors.
        let mut settings = plan(
            0.99,
            6.4,
            boundary,
            Method::Ewald(ReciprocalVectors::up_to(&cell, 1.0)),
        );
        settings.method = Method::Ewald(ReciprocalVectors::converged(
            &settings.ewald_cell(&cell),
            settings.alpha,
        ));
        let field = field(&system, settings);
        let want = reference::evaluate(&system, &field);
        let exact = Exact::within(&system, &field, 1e-4, &mut |_| {}).unwrap();
        assert_eq!(exact.sample.len(), 59, "the one without a charge is left out");
        let measured = exact.measure(&want.forces);
        assert!(measured.relative < 2e-10, "{boundary:?}: {measured:?}");
        assert!((measured.absolute / measured.usual / measured.relative - 1.0).abs() < 1e-12);
        assert!(measured.largest >= measured.absolute);
    }
}

/// What was measured for a sample is what a comparison with the whole reference gives.
#[test]
fn a_measured_error_is_the_error() {
    let cell = Cell::triclinic([[2.4, 0.0, 0.0], [0.6, 2.3, 0.0], [-0.5, 0.7, 2.5]]).unwrap();
    let system = complicated(cell, 5);
    for (basis, optimal) in [(Basis::BSpline(5), false), (Basis::Cubic, true)] {
        let mesh = MeshPlan {
            size: [16, 15, 18],
            basis,
            optimal,
        };
        let field = field(&system, plan(0.9, 3.2, Boundary::Conductor, Method::Mesh(mesh)));
        let all = ReciprocalVectors::converged(&cell, 5.6);
        let fine = self::field(&system, plan(1.15, 5.6, Boundary::Conductor, Method::Ewald(all)));
        let want = reference::evaluate(&system, &fine);
        for settings in precisions() {
            let got = super::evaluated(&system, &field, &settings);
            let charged = |i: &usize| system.particles.charges[*i] != 0.0;
            let square: f64 = (0..60)
                .filter(charged)
                .map(|i| (got.forces[i] - want.forces[i]).norm2())
                .sum();
            let rms = (square / 59.0).sqrt();
            let measured = measured_error(&system, &field, &settings, &mut |_| {}).unwrap();
            assert!(
                (measured.absolute / rms - 1.0).abs() < 1e-3,
                "{basis:?}: {measured:?} instead of {rms:e}"
            );
        }
    }
}

/// For charges at random, what is measured is what was estimated: the pair term, reciprocal vectors and meshes.
#[test]
fn estimates_are_right_for_random_charges() {
    let cell = Cell::orthorhombic([2.4, 2.2, 2.6]).unwrap();
    let system = charges(cell, 500, 8);
    let charged = Charged::new(&cell, Boundary::Conductor, &system.particles.charges, K / 1.3);
    for tolerance in [1e-3, 1e-4, 1e-5] {
        let error = tolerance * charged.usual_force() * 0.5_f64.sqrt();
        let cutoff = 0.9;
        let alpha = charged.alpha(cutoff, error);
        let mesh = |basis, optimal| Method::Mesh(coarsest(&charged, alpha, basis, optimal, error).unwrap());
        // Low orders want large meshes for small errors.
        let mut methods = vec![
            Method::Ewald(vectors(&charged, alpha, error)),
            mesh(Basis::BSpline(6), false),
        ];
        if tolerance > 5e-4 {
            methods.extend([mesh(Basis::BSpline(4), false), mesh(Basis::Cubic, true)]);
        }
        for method in methods {
            let field = field(&system, plan(cutoff, alpha, Boundary::Conductor, method.clone()));
            let expected = Expected::of(&system, &field).unwrap();
            let mut parts = Vec::new();
            let measured = measured_error(&system, &field, &double(), &mut |part| parts.push(part)).unwrap();
            let ratio = measured.absolute / expected.total();
            assert!(
                (0.5..2.0).contains(&ratio),
                "{tolerance} {method:?}: {measured:?} {expected:?}"
            );
            // Settings are chosen without regard to places.
            let plan = field.electrostatics.as_ref().unwrap();
            let chosen_for = Expected::of_plan(&charged, plan).unwrap().relative();
            assert!(chosen_for <= tolerance * 1.001);
            assert!(parts.is_sorted() && parts.last() == Some(&1.0), "{parts:?}");
        }
    }
}

/// In molecules charges are not at random: estimates know that, for balanced settings and others.
#[test]
fn estimates_are_right_for_water() {
    let text = include_str!("../data/nist_spce/spce-4.xyz");
    let (water, _) = spce(Cell::orthorhombic([30.0; 3]).unwrap(), &xyz(text), 0.5);
    for (alpha, points, order) in [(0.29, 27, 5), (0.31, 20, 5), (0.35, 20, 5), (0.26, 40, 4)] {
        let mesh = mesh([points; 3], Basis::BSpline(order));
        let plan = plan(9.0, alpha, Boundary::Conductor, mesh);
        let field = field(&water, plan.clone());
        let charged = Charged::new(
            &water.cell,
            Boundary::Conductor,
            &water.particles.charges,
            K / 1.3,
        );
        let at_random = Expected::of_plan(&charged, &plan).unwrap().total();
        let expected = Expected::of(&water, &field).unwrap().total();
        let measured = measured_error(&water, &field, &double(), &mut |_| {})
            .unwrap()
            .absolute;
        let ratio = measured / expected;
        assert!(
            (0.6..1.9).contains(&ratio),
            "α {alpha}, {points}³: {measured:e} {expected:e}"
        );
        assert!(
            expected < at_random,
            "α {alpha}, {points}³: {expected:e} {at_random:e}"
        );
    }
}

/// Same bits on any number of threads, and a sample of a larger system.
#[test]
fn samples_do_not_depend_on_threads() {
    let cell = Cell::orthorhombic([4.0; 3]).unwrap();
    let system = charges(cell, 1500, 2);
    let field = field(
        &system,
        plan(
            0.9,
            3.0,
            Boundary::Conductor,
            Method::Ewald(ReciprocalVectors::up_to(&cell, 2.0)),
        ),
    );
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| Exact::within(&system, &field, 0.1, &mut |_| {}).unwrap())
    };
    let (one, three) = (run(1), run(3));
    assert_eq!(one.forces, three.forces);
    assert!(one.sample.len() < 1000 && one.sample.len() > 100);
}

#[test]
fn nothing_to_measure() {
    let cell = Cell::orthorhombic([3.0; 3]).unwrap();
    let mut system = charges(cell, 20, 1);
    let none = ForceField::new(debye::system::Units::LennardJones);
    let tried = measured_error(&system, &none, &Settings::default(), &mut |_| {});
    assert!(matches!(tried, Err(MeasureError::Nothing)));
    let field = field(
        &system,
        plan(
            0.9,
            3.0,
            Boundary::Conductor,
            Method::Ewald(ReciprocalVectors::up_to(&cell, 2.0)),
        ),
    );
    system.particles.charges.iter_mut().for_each(|q| *q = 0.0);
    let settings = Settings {
        precision: Precision::Double,
        ..Settings::default()
    };
    let tried = measured_error(&system, &field, &settings, &mut |_| {});
    assert!(matches!(tried, Err(MeasureError::NoCharges)));
}

/// Other forces are no part of what is measured.
#[test]
fn only_charges_count() {
    let cell = Cell::orthorhombic([3.0; 3]).unwrap();
    let system = charges(cell, 40, 4);
    let vectors = ReciprocalVectors::up_to(&cell, 3.0);
    let mut field = field(
        &system,
        plan(1.0, 3.0, Boundary::Conductor, Method::Ewald(vectors)),
    );
    let before = measured_error(&system, &field, &double(), &mut |_| {}).unwrap();
    let lj = PairTerm::build("lennard-jones", &system.species)
        .unwrap()
        .cutoff(1.0)
        .all(&[("epsilon", 1.0), ("sigma", 0.2)])
        .unwrap()
        .finish()
        .unwrap();
    field.pairs.insert(0, lj);
    assert_eq!(
        measured_error(&system, &field, &double(), &mut |_| {}).unwrap(),
        before
    );
    assert_eq!(coulomb_only(&system, &field).unwrap().1.pairs.len(), 1);
}
