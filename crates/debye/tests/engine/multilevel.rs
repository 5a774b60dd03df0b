//! Multilevel summation against closed forms, the reference and itself: periodic cells, slabs, open systems.

use debye::engines::cpu::CpuEngine;
use debye::engines::reference::{self, Evaluation};
use debye::engines::{EngineError, Precision, Settings};
use debye::expr::Vec3;
use debye::forces::electrostatics::{Boundary, Electrostatics, Method, ReciprocalVectors};
use debye::forces::pme::estimate::Charged;
use debye::forces::{ForceField, LongRange, LongRangeError, PairTerm};
use debye::run::measure::measured_error;
use debye::system::{Cell, ExclusionRule, Exclusions, System, Units};
use debye::truncation::Truncation;

use super::electrostatics::{bag, close, coulomb, crystal, crystals, melt};
use super::{Tolerance, double, evaluated, nve, precisions, relative_rms, with_precision};

const K: f64 = 138.935_458;

/// A force field of long-range electrostatics after other pair terms.
fn field(system: &System, request: &LongRange, pairs: Vec<PairTerm>) -> ForceField {
    let mut field = ForceField {
        pairs,
        coulomb_constant: K,
        ..ForceField::new(Units::Md)
    };
    field.add_long_range(request, system).unwrap();
    field
}

fn plan(field: &ForceField) -> &Electrostatics {
    field.electrostatics.as_ref().unwrap()
}

fn multilevel(cutoff: f64, order: usize, spacing: f64) -> LongRange {
    LongRange::multilevel()
        .cutoff(cutoff)
        .order(order)
        .spacing(spacing)
}

/// The same ions in a periodic cell, as a slab, and alone.
fn boundaries() -> [(&'static str, [bool; 3]); 3] {
    [
        ("periodic", [true; 3]),
        ("slab", [true, false, true]),
        ("open", [false; 3]),
    ]
}

fn ions(periodic: [bool; 3], number: usize) -> System {
    let cell = Cell::orthorhombic([2.6, 2.3, 2.9]).unwrap();
    melt(cell.with_periodicity(periodic), number, 9).0
}

/// √⟨|a − b|²⟩.
fn rms(a: &[Vec3<f64>], b: &[Vec3<f64>]) -> f64 {
    let square: f64 = a.iter().zip(b).map(|(&a, &b)| (a - b).norm2()).sum();
    (square / a.len() as f64).sqrt()
}

#[test]
fn madelung_constants() {
    for (name, unit, neighbors, madelung) in crystals() {
        let crystal = crystal(&unit, 4, 0.56);
        let exact = -K * madelung / (0.56 * neighbors) * crystal.particles.len() as f64 / 2.0;
        for (order, spacing, error) in [(4, 0.12, 3e-3), (6, 0.12, 1e-3), (8, 0.12, 5e-4), (8, 0.08, 5e-5)] {
            let field = field(&crystal, &multilevel(0.9, order, spacing), vec![]);
            let found = coulomb(&evaluated(&crystal, &field, &double()));
            close(found, exact, error, &format!("{name}, order {order}, {spacing}"));
        }
    }
}

/// In every precision, for every order and boundary, forces are as good as was estimated, and their sum is nothing.
#[test]
fn errors_are_those_estimated() {
    for (name, periodic) in boundaries() {
        let salt = ions(periodic, 200);
        let request = |order: usize| multilevel(0.9, order, 0.9 / 6.0);
        for order in [4, 6, 8] {
            let field = field(&salt, &request(order), vec![]);
            let want = reference::evaluate(&salt, &field);
            let charged = Charged::of(&salt, plan(&field).boundary, K);
            let Method::Multilevel(grids) = plan(&field).method else {
                panic!("{:?}", plan(&field));
            };
            let estimated = charged.grid_error(&grids.split);
            let mut first: Option<Evaluation> = None;
            for settings in precisions().into_iter().rev() {
                let what = format!("{name}, order {order}, {}", settings.precision.name());
                let e = evaluated(&salt, &field, &settings);
                let off = rms(&e.forces, &want.forces);
                assert!(
                    off < 2.0 * estimated && off > 0.3 * estimated,
                    "{what}: {off:e} measured, {estimated:e} estimated"
                );
                let scale = want.terms.iter().fold(0.0_f64, |most, t| most.max(t.1.abs()));
                for (got, want) in e.terms.iter().zip(&want.terms) {
                    assert_eq!(got.0, want.0);
                    assert!((got.1 - want.1).abs() < 2e-3 * scale, "{what}: {got:?} {want:?}");
                }
                let sum = e.forces.iter().fold(Vec3::zero(), |a, &b| a + b);
                assert!(sum.norm() < 1e-4 * charged.usual_force(), "{what}: {sum:?}");
                // Double precision came first.
                let tolerance = Tolerance::of(settings.precision);
                let exact = first.get_or_insert_with(|| e.clone());
                let rounding = relative_rms(&e.forces, &exact.forces);
                assert!(rounding <= tolerance.forces, "{what}: {rounding:e}");
                assert!(
                    (e.potential - exact.potential).abs() <= tolerance.energy * scale,
                    "{what}"
                );
                for (a, b) in e.virial.iter().zip(exact.virial).filter(|_| name == "periodic") {
                    assert!((a - b).abs() <= tolerance.virial * scale, "{what}: {a} {b}");
                }
            }
            let measured = measured_error(&salt, &field, &double(), &mut |_| {}).unwrap();
            close(
                measured.absolute,
                rms(&first.unwrap().forces, &want.forces),
                1e-3,
                name,
            );
        }
    }
}

/// A reference must not depend on where 1/r is split: charged cells, excluded pairs, every boundary.
#[test]
fn the_reference_does_not_depend_on_the_split() {
    for (name, periodic) in boundaries() {
        let mut salt = ions(periodic, 60);
        salt.particles.charges[7] = 2.0;
        let rule = ExclusionRule::default().extra([[0, 1], [4, 9], [11, 30]]);
        salt.exclusions = Exclusions::from_bonds(&salt.topology, 60, &rule).unwrap();
        let near = reference::evaluate(&salt, &field(&salt, &multilevel(0.7, 4, 0.2), vec![]));
        let whole = field(&salt, &multilevel(1.1, 8, 0.2), vec![]);
        let mut others = vec![reference::evaluate(&salt, &whole)];
        if plan(&whole).boundary == Boundary::Open {
            // Coulomb's law between all pairs that are not excluded.
            let law = PairTerm::build("coulomb", &salt.species).unwrap().cutoff(100.0);
            let law = law
                .truncation(Truncation::Cut)
                .all(&[("epsilon_r", 1.0)])
                .unwrap();
            others.push(reference::evaluate(
                &salt,
                &ForceField {
                    pairs: vec![law.finish().unwrap()],
                    coulomb_constant: K,
                    ..ForceField::new(Units::Md)
                },
            ));
        } else {
            let mut ewald = Electrostatics {
                cutoff: 1.1,
                alpha: 5.4,
                ..plan(&whole).clone()
            };
            ewald.method = Method::Ewald(ReciprocalVectors::converged(&ewald.ewald_cell(&salt.cell), 5.4));
            let mut sum = ForceField {
                coulomb_constant: K,
                ..ForceField::new(Units::Md)
            };
            sum.add_electrostatics(ewald, &salt.species).unwrap();
            others.push(reference::evaluate(&salt, &sum));
        }
        for other in others {
            close(near.potential, other.potential, 1e-8, name);
            assert!(relative_rms(&near.forces, &other.forces) < 1e-8, "{name}");
            for (a, b) in near.virial.iter().zip(other.virial).filter(|_| name != "slab") {
                assert!((a - b).abs() < 1e-8 * near.potential.abs(), "{name}: {a} {b}");
            }
        }
        // And the engine agrees, with excluded pairs and charge.
        let e = evaluated(&salt, &field(&salt, &multilevel(1.1, 8, 0.1), vec![]), &double());
        close(e.potential, near.potential, 1e-3, name);
        assert!(relative_rms(&e.forces, &near.forces) < 2e-3, "{name}");
    }
}

/// The virial is the derivative of the energy by a strain that grids follow.
#[test]
fn the_virial_is_a_derivative() {
    let salt = ions([true; 3], 120);
    let field = field(&salt, &multilevel(0.9, 6, 0.2), vec![]);
    let e = evaluated(&salt, &field, &double());
    for axis in 0..3 {
        let energy = |by: f64| {
            let mut factors = [1.0; 3];
            factors[axis] += by;
            let mut strained = salt.clone();
            strained.cell = salt.cell.scaled(Vec3::from(factors));
            let positions = strained.particles.positions.iter_mut();
            positions.for_each(|r| *r = r.scale(Vec3::from(factors)));
            evaluated(&strained, &field, &double()).potential
        };
        let step = 1e-5;
        let derivative = (energy(step) - energy(-step)) / (2.0 * step);
        close(e.virial[axis], -derivative, 1e-6, "virial");
    }
    // Shear is held to the reference.
    let fine = self::field(&salt, &multilevel(0.9, 8, 0.06), vec![]);
    let (got, want) = (
        evaluated(&salt, &fine, &double()),
        reference::evaluate(&salt, &fine),
    );
    for k in 0..6 {
        let error = (got.virial[k] - want.virial[k]).abs();
        assert!(
            error < 3e-5 * want.potential.abs(),
            "{k}: {:?} {:?}",
            got.virial,
            want.virial
        );
    }
}

/// Forces are derivatives of the energy, but for the mean that is taken away from all of them: two particles are moved
/// in opposite directions.
#[test]
fn forces_are_derivatives() {
    for (name, periodic) in boundaries() {
        let salt = ions(periodic, 40);
        let field = field(&salt, &multilevel(0.9, 4, 0.3), vec![]);
        let energy = |by: f64, axis: usize| {
            let mut moved = salt.clone();
            for (i, by) in [(3, by), (8, -by)] {
                let mut r = moved.particles.positions[i].to_array();
                r[axis] += by;
                moved.particles.positions[i] = r.into();
            }
            evaluated(&moved, &field, &double()).potential
        };
        let e = evaluated(&salt, &field, &double());
        let step = 1e-5;
        for axis in 0..3 {
            let derivative = (energy(step, axis) - energy(-step, axis)) / (2.0 * step);
            let force = e.forces[3][axis] - e.forces[8][axis];
            let off = (force + derivative).abs();
            assert!(off < 1e-6 * e.forces[3].norm(), "{name}: {off:e} of {force}");
        }
    }
}

fn soft(salt: &System) -> PairTerm {
    PairTerm::build("lennard-jones", &salt.species)
        .unwrap()
        .cutoff(0.9)
        .truncation(Truncation::ForceShift)
        .all(&[("epsilon", 0.4), ("sigma", 0.27)])
        .unwrap()
        .finish()
        .unwrap()
}

fn heavy(mut salt: System) -> System {
    salt.particles.masses.iter_mut().for_each(|m| *m = 30.0);
    salt.species[0].mass = 30.0;
    salt
}

/// Same bits on any number of threads and after a resume, no momentum, energy kept.
#[test]
fn ions_move() {
    for (name, periodic) in boundaries() {
        let salt = heavy(ions(periodic, 120));
        let field = field(&salt, &multilevel(0.9, 6, 0.25), vec![soft(&salt)]);
        let run = |threads: usize, settings: &Settings, resume: bool| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            pool.build().unwrap().install(|| {
                let mut engine = CpuEngine::new(&salt, &field, &nve(5e-4), settings).unwrap();
                engine.advance(100, true).unwrap();
                let first = engine.observe().unwrap();
                if resume {
                    let saved = engine.save();
                    engine = CpuEngine::resumed(&salt, &field, &nve(5e-4), settings, &saved).unwrap();
                }
                engine.advance(100, true).unwrap();
                let last = engine.observe().unwrap();
                let drift = (last.potential + last.kinetic - first.potential - first.kinetic) / last.kinetic;
                assert!(drift.abs() < 3e-3, "{name}, {:?}: {drift:e}", settings.precision);
                let allowed = if settings.precision == Precision::Double {
                    1e-9
                } else {
                    1e-3
                };
                assert!(engine.momentum().norm() < allowed, "{name}");
                engine.particles().positions
            })
        };
        for precision in [Precision::Mixed, Precision::Double] {
            let settings = with_precision(precision);
            assert!(
                run(1, &settings, false) == run(3, &settings, true),
                "{name}, {precision:?}: other bits"
            );
        }
    }
}

/// Grids of an open system follow it: parts that fly apart are resumed with the same bits and keep their forces, and
/// stop with words where no grid holds them.
#[test]
fn an_open_system_spreads() {
    let mut salt = heavy(ions([false; 3], 60));
    for (i, (r, v)) in salt
        .particles
        .positions
        .clone()
        .iter()
        .zip(&mut salt.particles.velocities)
        .enumerate()
    {
        let side = if r.x > 1.3 { 1.0 } else { -1.0 };
        *v = Vec3::new(40.0 * side, 0.01 * i as f64, 0.0);
    }
    let field = field(&salt, &multilevel(0.9, 6, 0.2), vec![soft(&salt)]);
    let mut straight = CpuEngine::new(&salt, &field, &nve(5e-4), &double()).unwrap();
    straight.advance(100, true).unwrap();
    let saved = straight.save();
    straight.advance(100, true).unwrap();
    let mut resumed = CpuEngine::resumed(&salt, &field, &nve(5e-4), &double(), &saved).unwrap();
    resumed.advance(100, true).unwrap();
    assert!(straight.save() == resumed.save());
    let mut far = salt.clone();
    far.particles = straight.particles();
    let along = far.particles.positions.iter().map(|r| r.x);
    let spread = along.clone().fold(0.0, f64::max) - along.fold(0.0, f64::min);
    assert!(spread > 2.0 * 2.6 + 3.0, "{spread}");
    let want = reference::evaluate(&far, &field);
    let error = relative_rms(&straight.forces(), &want.forces);
    assert!(error < 5e-3, "{error:e}");
    far.particles.positions[0].x = 1e7;
    let refused = CpuEngine::new(&far, &field, &nve(5e-4), &double()).err().unwrap();
    assert!(matches!(refused, EngineError::Spread { .. }), "{refused}");
    assert!(refused.to_string().contains("spacing"));
}

#[test]
fn settings_follow_the_tolerance_or_are_refused() {
    let salt = ions([true; 3], 200);
    for tolerance in [1e-2, 1e-3] {
        let request = LongRange::multilevel().cutoff(1.0).tolerance(tolerance);
        let field = field(&salt, &request, vec![]);
        let want = reference::evaluate(&salt, &field);
        let charged = Charged::of(&salt, Boundary::Conductor, K);
        let off = rms(&evaluated(&salt, &field, &double()).forces, &want.forces);
        let relative = off / charged.usual_force();
        assert!(
            relative < 1.3 * tolerance && relative > 0.05 * tolerance,
            "{relative:e}"
        );
    }
    let refused = |request: LongRange, system: &System| {
        let mut field = ForceField::new(Units::Md);
        field.add_long_range(&request, system).unwrap_err()
    };
    let fine = LongRange::multilevel().cutoff(1.0);
    for (request, words) in [
        (fine.clone().order(5), "4, 6 or 8"),
        (fine.clone().spacing(0.4), "a third of the cut-off"),
        (fine.clone().spacing(-0.1), "the spacing is -0.1"),
        (fine.clone().spacing(1e-4), "points"),
        (LongRange::multilevel(), "the cut-off of multilevel"),
    ] {
        let text = refused(request, &salt).to_string();
        assert!(text.contains(words), "{text}");
    }
    let wire = ions([true, false, false], 10);
    assert!(matches!(refused(fine.clone(), &wire), LongRangeError::Grids(_)));
    let skewed = Cell::triclinic([[2.4, 0.0, 0.0], [0.6, 2.3, 0.0], [0.0, 0.0, 2.5]]).unwrap();
    let text = refused(fine, &bag(skewed, &[(1.0, Vec3::zero())])).to_string();
    assert!(text.contains("triclinic") && text.contains("pme"), "{text}");
}
