//! The engine against the reference: pair potentials, species, cells of any shape and size.

use debye::engines::reference;
use debye::expr::Vec3;
use debye::forces::{ForceField, MixingRule, PairTerm};
use debye::potentials::{PAIRS, PairFamily, PairSample, Value};
use debye::system::{Cell, System, builders};
use debye::truncation::Truncation;

use super::{check, evaluated, lj, random, variants};

/// Particles of two charged species, no closer than the sample allows.
fn charged(sample: &PairSample, sides: f64, seed: u64) -> System {
    let side = sides * sample.to;
    let room = 0.2 * (side / sample.from.max(0.1 * sample.to)).powi(3);
    let n = (room as usize).clamp(4, 80);
    let mut system = builders::random(Cell::orthorhombic([side, 1.1 * side, 0.95 * side]).unwrap())
        .add(n / 2, "A", 1.0, 0.7)
        .add(n - n / 2, "B", 2.0, -0.5)
        .minimum_distance(sample.from)
        .seed(seed)
        .build()
        .unwrap();
    // Charges of particles may differ from those of their species.
    for (k, q) in system.particles.charges.iter_mut().enumerate() {
        *q += 0.3 * random(seed, k).x;
    }
    system
}

fn named(family: &dyn PairFamily, values: &[Value]) -> Vec<(String, Value)> {
    let names = family.parameters().iter().map(|p| p.name.to_owned());
    names.zip(values.iter().cloned()).collect()
}

#[test]
fn every_pair_potential_with_every_truncation() {
    for family in &PAIRS {
        for (number, sample) in family.samples().iter().enumerate() {
            let system = charged(sample, 2.6, number as u64);
            let from = sample.from + 0.7 * (sample.to - sample.from);
            for truncation in [
                Truncation::Cut,
                Truncation::Shift,
                Truncation::ForceShift,
                Truncation::Switch { from },
            ] {
                let term = |tail: bool| {
                    PairTerm::build(family.name(), &system.species)
                        .unwrap()
                        .cutoff(sample.to)
                        .truncation(truncation)
                        .tail(tail)
                        .all_values(named(family, &sample.values))
                        .unwrap()
                        .finish()
                };
                // With the tail where there is one.
                let term = term(true).or_else(|_| term(false)).unwrap();
                let field = ForceField {
                    pairs: vec![term],
                    coulomb_constant: 1.7,
                    ..ForceField::new(debye::system::Units::LennardJones)
                };
                let what = format!("{} sample {number} {truncation:?}", family.name());
                check(&system, &field, &what);
            }
        }
    }
}

/// Three species; mixed, explicit and missing pairs; a cut-off of its own; a second and a third term.
fn mixture(system: &System, cutoff: f64) -> ForceField {
    let lj = PairTerm::build("lennard-jones", &system.species)
        .unwrap()
        .cutoff(cutoff)
        .truncation(Truncation::ForceShift)
        .mixing(MixingRule::LorentzBerthelot)
        .like("A", &[("epsilon", 1.0), ("sigma", 1.0)])
        .unwrap()
        .like("B", &[("epsilon", 0.4), ("sigma", 1.3)])
        .unwrap()
        .like("C", &[("epsilon", 2.0), ("sigma", 0.7)])
        .unwrap()
        .no_interaction("A", "C")
        .unwrap()
        .pair_values(
            "B",
            "C",
            vec![
                ("epsilon".into(), Value::Number(0.9)),
                ("sigma".into(), Value::Number(0.8)),
            ],
            Some(0.6 * cutoff),
        )
        .unwrap()
        .finish()
        .unwrap();
    let repulsion = PairTerm::build("wca", &system.species)
        .unwrap()
        .all(&[("epsilon", 1.0), ("sigma", 0.9)])
        .unwrap()
        .finish()
        .unwrap();
    let charges = PairTerm::build("coulomb-reaction-field", &system.species)
        .unwrap()
        .cutoff(0.9 * cutoff)
        .truncation(Truncation::Cut)
        .all(&[("epsilon_rf", 78.0)])
        .unwrap()
        .finish()
        .unwrap();
    ForceField {
        pairs: vec![lj, repulsion, charges],
        coulomb_constant: 3.0,
        ..ForceField::new(debye::system::Units::LennardJones)
    }
}

fn three_species(cell: Cell, n: usize, seed: u64) -> System {
    builders::random(cell)
        .add(n, "A", 1.0, 1.0)
        .add(n / 2, "B", 3.0, -1.0)
        .add(n / 2, "C", 0.5, -1.0)
        .minimum_distance(0.8)
        .seed(seed)
        .build()
        .unwrap()
}

#[test]
fn mixtures_in_cells_of_any_shape() {
    let cells = [
        ("cube", [[9.0, 0.0, 0.0], [0.0, 9.0, 0.0], [0.0, 0.0, 9.0]]),
        ("slab", [[14.0, 0.0, 0.0], [0.0, 12.0, 0.0], [0.0, 0.0, 4.5]]),
        ("triclinic", [[8.0, 0.0, 0.0], [2.5, 8.0, 0.0], [-3.0, 2.0, 8.0]]),
        ("skewed", [[8.0, 0.0, 0.0], [3.9, 9.0, 0.0], [3.9, -4.4, 9.0]]),
        (
            "very skewed",
            [[6.0, 0.0, 0.0], [9.0, 8.0, 0.0], [-8.0, 11.0, 10.0]],
        ),
    ];
    for (seed, (name, vectors)) in cells.into_iter().enumerate() {
        let cell = Cell::triclinic(vectors).unwrap();
        let system = three_species(cell, 60, seed as u64);
        for cutoff in [1.9, 2.5, 3.4] {
            check(
                &system,
                &mixture(&system, cutoff),
                &format!("{name}, cut-off {cutoff}"),
            );
        }
    }
}

/// Lennard-Jones, absent between some species, and the short-range part of an Ewald sum with a longer cut-off.
fn ions(system: &System, truncation: Truncation, cutoff: f64, charges_first: bool) -> ForceField {
    let mut lj = PairTerm::build("lennard-jones", &system.species)
        .unwrap()
        .cutoff(0.8 * cutoff)
        .truncation(truncation)
        .mixing(MixingRule::LorentzBerthelot);
    for (k, species) in system.species.iter().enumerate() {
        let epsilon = if species.name == "C" {
            0.0
        } else {
            1.0 + 0.3 * k as f64
        };
        lj = lj
            .like(
                &species.name,
                &[("epsilon", epsilon), ("sigma", 1.0 - 0.05 * k as f64)],
            )
            .unwrap();
    }
    let charges = PairTerm::build("coulomb-ewald", &system.species)
        .unwrap()
        .cutoff(cutoff)
        .truncation(Truncation::Cut)
        .all(&[("alpha", 1.1)])
        .unwrap()
        .finish()
        .unwrap();
    let mut pairs = vec![lj.finish().unwrap(), charges];
    if charges_first {
        pairs.reverse();
    }
    ForceField {
        pairs,
        coulomb_constant: 3.0,
        ..ForceField::new(debye::system::Units::LennardJones)
    }
}

/// Two terms in one pass over the lists, where there is a kernel for both, and one after the other where there is none.
#[test]
fn two_terms_together() {
    let cell = Cell::orthorhombic([9.0, 8.0, 9.5]).unwrap();
    let system = three_species(cell, 80, 3);
    for truncation in [
        Truncation::Cut,
        Truncation::Shift,
        Truncation::ForceShift,
        Truncation::Switch { from: 1.5 },
    ] {
        for charges_first in [false, true] {
            let field = ions(&system, truncation, 2.5, charges_first);
            check(
                &system,
                &field,
                &format!("{truncation:?}, charges first: {charges_first}"),
            );
        }
    }
}

/// With more species than lists are sorted by, numbers are looked up pair by pair.
#[test]
fn many_species() {
    let cell = Cell::orthorhombic([9.0, 8.0, 9.5]).unwrap();
    let mut builder = builders::random(cell).minimum_distance(0.8).seed(5);
    for (k, name) in ["A", "B", "C", "D", "E", "F"].into_iter().enumerate() {
        builder = builder.add(30, name, 1.0, if k % 2 == 0 { 1.0 } else { -1.0 });
    }
    let system = builder.build().unwrap();
    check(
        &system,
        &ions(&system, Truncation::Cut, 2.5, false),
        "six species",
    );
}

#[test]
fn cells_smaller_than_the_cutoff() {
    for (side, n) in [(3.1, 12), (2.2, 4), (1.5, 2)] {
        let orthorhombic = Cell::orthorhombic([side, 1.2 * side, 1.1 * side]).unwrap();
        let triclinic = Cell::triclinic([
            [side, 0.0, 0.0],
            [0.4 * side, side, 0.0],
            [-0.3 * side, 0.2 * side, 1.3 * side],
        ])
        .unwrap();
        for cell in [orthorhombic, triclinic] {
            let system = builders::random(cell)
                .add(n, "A", 1.0, 0.0)
                .minimum_distance(0.85)
                .seed(3)
                .build()
                .unwrap();
            for cutoff in [2.5, 4.0] {
                let field = lj(&system, cutoff, Truncation::Cut, true);
                check(&system, &field, &format!("{n} in {side}, cut-off {cutoff}"));
            }
        }
    }
}

#[test]
fn open_and_partly_open_cells() {
    for mask in 0..8 {
        let periodic = [mask & 1 != 0, mask & 2 != 0, mask & 4 != 0];
        for (seed, vectors) in [
            [[7.0, 0.0, 0.0], [0.0, 6.0, 0.0], [0.0, 0.0, 8.0]],
            [[7.0, 0.0, 0.0], [1.5, 6.0, 0.0], [-2.0, 1.0, 8.0]],
        ]
        .into_iter()
        .enumerate()
        {
            let cell = Cell::triclinic(vectors).unwrap().with_periodicity(periodic);
            let mut system = three_species(cell, 50, seed as u64);
            // Some far outside: they come back along periodic vectors and stay out along open ones.
            for (k, r) in system.particles.positions.iter_mut().enumerate().step_by(3) {
                let s = random(11, k).map(|x| (4.0 * x).floor() as i32 - 2);
                *r += cell.translation([s.x, s.y, s.z]);
            }
            check(&system, &mixture(&system, 2.5), &format!("periodic {periodic:?}"));
        }
    }
}

#[test]
fn one_and_two_particles() {
    let small = Cell::orthorhombic([2.0, 2.1, 2.2]).unwrap();
    let large = Cell::orthorhombic([50.0; 3]).unwrap();
    for cell in [
        small,
        large,
        small.with_periodicity([false; 3]),
        large.with_periodicity([false; 3]),
    ] {
        for places in [
            &[Vec3::new(0.3, 0.4, 0.5)][..],
            &[Vec3::new(0.3, 0.4, 0.5), Vec3::new(1.2, 0.9, 1.3)],
            // Across the boundary.
            &[Vec3::new(0.1, 0.1, 0.1), Vec3::new(-0.8, -0.1, 0.2)],
        ] {
            let mut system = builders::random(cell).add(0, "A", 1.0, 0.0).build().unwrap();
            for &r in places {
                system.particles.push(r, 0, 1.0, 0.0, 0);
            }
            let field = lj(&system, 2.5, Truncation::Cut, false);
            let want = reference::evaluate(&system, &field);
            for settings in variants() {
                let got = evaluated(&system, &field, &settings);
                let tolerance = super::Tolerance::of(settings.precision);
                // One particle feels no force and its forces need not vanish to the last bit.
                for (a, b) in got.forces.iter().zip(&want.forces) {
                    assert!(
                        (*a - *b).norm() <= tolerance.forces * (10.0 + b.norm()),
                        "{settings:?}"
                    );
                }
                let error = (got.potential - want.potential).abs();
                let size = 1.0 + want.potential.abs().max(want.virial[0].abs());
                assert!(
                    error <= tolerance.energy * size,
                    "{settings:?}: {} instead of {}",
                    got.potential,
                    want.potential
                );
            }
        }
    }
}

/// A box so large that a cell list of its volume would not fit into memory.
#[test]
fn huge_sparse_boxes() {
    for side in [1e4, 1e5, 1e6] {
        for periodic in [[true; 3], [false; 3]] {
            let cell = Cell::orthorhombic([side; 3]).unwrap().with_periodicity(periodic);
            let mut system = builders::random(cell).add(0, "A", 1.0, 0.0).build().unwrap();
            for k in 0..3 {
                let at = Vec3::new(0.3, 0.6, 0.9) * (side * 0.3 * k as f64) + Vec3::splat(0.4);
                system.particles.push(at, 0, 1.0, 0.0, 0);
                system
                    .particles
                    .push(at + Vec3::new(0.9, 0.5, -0.3), 0, 1.0, 0.0, 0);
            }
            let field = lj(&system, 2.5, Truncation::Shift, false);
            let want = reference::evaluate(&system, &field);
            for settings in variants() {
                let got = evaluated(&system, &field, &settings);
                // In fixed point a length is known to a 2³⁰th of the box: report, do not hide, what that costs.
                let loss = match settings.precision {
                    debye::engines::Precision::Double => 1e-14 * side,
                    _ => 1e-9 * side,
                };
                let rms = super::relative_rms(&got.forces, &want.forces);
                let allowed = super::Tolerance::of(settings.precision).forces + 20.0 * loss;
                assert!(rms <= allowed, "{side} {settings:?}: forces off by {rms:e}");
            }
        }
    }
}
