//! The engine against the reference: bonds, angles, dihedrals, exclusions, scaled 1-4 pairs.

use debye::engines::cpu::{CpuEngine, Fire};
use debye::expr::Vec3;
use debye::forces::{BondedFamily, BondedTerm, ForceField, PairTerm};
use debye::potentials::{ANGLES, BONDS, DIHEDRALS, Value};
use debye::system::{Cell, ExclusionRule, Exclusions, Link, System, builders};
use debye::truncation::Truncation;

use super::{check, nve, precisions, random};

/// A term with these parameters for kind `kind` of `kinds`.
fn term<F: BondedFamily + ?Sized>(
    name: &str,
    kinds: usize,
    kind: usize,
    values: &[(&str, f64)],
) -> BondedTerm<F> {
    let values: Vec<_> = values
        .iter()
        .map(|&(name, x)| (name.to_owned(), Value::Number(x)))
        .collect();
    let rows: Vec<_> = (0..kinds).map(|k| (k == kind).then(|| values.clone())).collect();
    BondedTerm::build(name, &rows).unwrap()
}

/// Chains with two kinds of bonds, and angles, dihedrals and impropers along them.
fn chains(chains: u32, beads: u32, density: f64, rule: &ExclusionRule) -> System {
    let mut system = builders::polymers(chains as usize, beads as usize)
        .density(density)
        .minimum_distance(0.8)
        .seed(5)
        .build()
        .unwrap();
    // Off their ideal bond lengths, and charged.
    for (k, r) in system.particles.positions.iter_mut().enumerate() {
        *r += (random(17, k) - Vec3::splat(0.5)) * 0.1;
        system.particles.charges[k] = random(18, k).x - 0.5;
    }
    let t = &mut system.topology;
    for (k, bond) in t.bonds.iter_mut().enumerate() {
        bond.kind = (k % 3 == 0).into();
    }
    t.bond_kinds = vec!["soft".into(), "fene".into()];
    t.angle_kinds = vec!["a".into(), "b".into()];
    t.dihedral_kinds = vec!["d".into(), "e".into()];
    t.improper_kinds = vec!["f".into()];
    for chain in 0..chains {
        let at = |k: u32| chain * beads + k;
        for k in 0..beads.saturating_sub(2) {
            t.angles.push(Link {
                kind: k % 2,
                atoms: [at(k), at(k + 1), at(k + 2)],
            });
        }
        for k in 0..beads.saturating_sub(3) {
            let atoms = [at(k), at(k + 1), at(k + 2), at(k + 3)];
            t.dihedrals.push(Link { kind: k % 2, atoms });
            if k % 4 == 0 {
                t.impropers.push(Link { kind: 0, atoms });
            }
        }
    }
    system.exclusions = Exclusions::from_bonds(&system.topology, system.particles.len(), rule).unwrap();
    system
}

fn field(system: &System, cutoff: f64) -> ForceField {
    let lj = PairTerm::build("lennard-jones", &system.species)
        .unwrap()
        .cutoff(cutoff)
        .all(&[("epsilon", 1.0), ("sigma", 0.9)])
        .unwrap()
        .finish()
        .unwrap();
    let charges = PairTerm::build("coulomb-reaction-field", &system.species)
        .unwrap()
        .cutoff(cutoff)
        .truncation(Truncation::Cut)
        .all(&[("epsilon_rf", 5.0)])
        .unwrap()
        .finish()
        .unwrap();
    ForceField {
        pairs: vec![lj, charges],
        bonds: vec![
            term("harmonic-bond", 2, 0, &[("k", 300.0), ("r0", 0.95)]),
            term(
                "fene-bond",
                2,
                1,
                &[("k", 30.0), ("r0", 1.5), ("epsilon", 1.0), ("sigma", 1.0)],
            ),
        ],
        angles: vec![
            term("harmonic-angle", 2, 0, &[("k", 20.0), ("theta0", 2.0)]),
            term("cosine-squared-angle", 2, 1, &[("k", 9.0), ("theta0", 1.9)]),
        ],
        dihedrals: vec![
            term(
                "periodic-dihedral",
                2,
                0,
                &[("k", 2.0), ("n", 3.0), ("phase", 0.4)],
            ),
            term(
                "ryckaert-bellemans",
                2,
                1,
                &[
                    ("c0", 1.0),
                    ("c1", 1.5),
                    ("c2", -0.4),
                    ("c3", 0.3),
                    ("c4", 0.2),
                    ("c5", -0.6),
                ],
            ),
        ],
        impropers: vec![term("harmonic-improper", 1, 0, &[("k", 3.0), ("xi0", 0.5)])],
        coulomb_constant: 2.5,
        ..ForceField::new(system.units)
    }
}

#[test]
fn chains_with_everything() {
    for (rule, what) in [
        (ExclusionRule::default(), "nothing excluded"),
        (ExclusionRule::through(1), "1-2 excluded"),
        (ExclusionRule::through(3), "1-4 excluded"),
        (ExclusionRule::through(2).one_four(0.5, 0.8333), "1-4 scaled"),
        (ExclusionRule::through(2).extra([[0, 40], [3, 99]]), "extra pairs"),
    ] {
        let system = chains(10, 12, 0.5, &rule);
        check(&system, &field(&system, 2.2), what);
    }
}

/// A cell smaller than two cut-offs: a bonded partner is excluded once, its other images act.
#[test]
fn chains_in_a_small_cell() {
    let rule = ExclusionRule::through(2).one_four(0.5, 0.8333);
    let system = chains(2, 8, 0.6, &rule);
    assert!(system.cell.heights().x < 3.0);
    check(&system, &field(&system, 2.5), "small cell");
}

/// The same chains in a skewed cell, with beads wrapped anywhere.
#[test]
fn chains_in_a_triclinic_cell() {
    let mut system = chains(8, 10, 0.3, &ExclusionRule::through(2).one_four(0.4, 0.7));
    let l = system.cell.heights().x;
    let old = system.cell;
    system.cell = Cell::triclinic([[l, 0.0, 0.0], [0.0, l, 0.0], [0.35 * l, -0.4 * l, l]]).unwrap();
    for (k, r) in system.particles.positions.iter_mut().enumerate() {
        // Whole chains, shifted by lattice vectors of the new cell, bead by bead.
        *r += old.translation(system.particles.images[k]);
        let n = random(4, k).map(|x| (3.0 * x) as i32 - 1);
        *r += system.cell.translation([n.x, n.y, n.z]);
    }
    check(&system, &field(&system, 2.0), "triclinic");
}

/// Every registered bonded potential, alone.
#[test]
fn every_bonded_potential() {
    let row = |values: &[Value], names: Vec<&'static str>| -> Vec<(String, Value)> {
        names
            .into_iter()
            .map(str::to_owned)
            .zip(values.iter().cloned())
            .collect()
    };
    let system = chains(6, 8, 0.4, &ExclusionRule::through(3));
    for family in &BONDS {
        for sample in family.samples() {
            let values = row(
                &sample.values,
                family.parameters().iter().map(|p| p.name).collect(),
            );
            // Bonds of a length the sample covers.
            let mut system = system.clone();
            let factor = (0.7 * sample.from + 0.3 * sample.to) / 0.97;
            system.cell = system.cell.scaled(Vec3::splat(factor));
            system
                .particles
                .positions
                .iter_mut()
                .for_each(|r| *r = *r * factor);
            let term = BondedTerm::build(family.name(), &[Some(values.clone()), Some(values)]).unwrap();
            let field = ForceField {
                bonds: vec![term],
                ..ForceField::new(debye::system::Units::LennardJones)
            };
            check(&system, &field, family.name());
        }
    }
    for family in &ANGLES {
        for sample in family.samples() {
            let values = row(
                &sample.values,
                family.parameters().iter().map(|p| p.name).collect(),
            );
            let field = ForceField {
                angles: vec![
                    BondedTerm::build(family.name(), &[Some(values.clone()), Some(values)]).unwrap(),
                ],
                ..ForceField::new(debye::system::Units::LennardJones)
            };
            check(&system, &field, family.name());
        }
    }
    for family in &DIHEDRALS {
        for sample in family.samples() {
            let values = row(
                &sample.values,
                family.parameters().iter().map(|p| p.name).collect(),
            );
            let field = ForceField {
                dihedrals: vec![
                    BondedTerm::build(family.name(), &[Some(values.clone()), Some(values)]).unwrap(),
                ],
                ..ForceField::new(debye::system::Units::LennardJones)
            };
            check(&system, &field, family.name());
        }
    }
}

/// Chains move alike whatever the number of threads, and go on exactly where they were saved.
#[test]
fn chains_are_deterministic() {
    let system = chains(300, 12, 0.5, &ExclusionRule::through(2).one_four(0.5, 0.8333));
    let field = field(&system, 1.6);
    let fire = Fire {
        force_tolerance: 50.0,
        max_steps: 100,
        max_displacement: 0.05,
    };
    for settings in precisions() {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| {
                let mut engine = CpuEngine::new(&system, &field, &nve(0.001), &settings).unwrap();
                engine.minimize(fire).unwrap();
                engine.advance(20, true).unwrap();
                let saved = engine.save();
                engine.advance(20, true).unwrap();
                (saved, engine.save())
            })
        };
        let (middle, end) = run(1);
        for threads in [2, 3] {
            assert!(run(threads).1 == end, "{threads} threads, {settings:?}");
        }
        let mut resumed = CpuEngine::resumed(&system, &field, &nve(0.001), &settings, &middle).unwrap();
        resumed.advance(20, true).unwrap();
        assert!(resumed.save() == end, "{settings:?}");
    }
}
