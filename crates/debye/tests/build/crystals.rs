//! Crystals, spheres, random places, copies.

use debye::expr::Vec3;
use debye::system::builders::{self, BuildError, Edge, Lattice};
use debye::system::{Cell, ExclusionRule, Exclusions, Link, System, Units, velocities};

fn crystal(lattice: Lattice, cells: [usize; 3], a: f64) -> System {
    let builder = builders::lattice(lattice, cells)
        .spacing(a)
        .species("A", 2.0, 1.0);
    let builder = match lattice.species_count() {
        2 => builder.species("B", 3.0, -1.0),
        _ => builder,
    };
    builder.build().unwrap()
}

/// Shortest distance of all pairs, and how many pairs have it.
fn nearest(system: &System) -> (f64, usize) {
    let r = &system.particles.positions;
    let mut distances = Vec::new();
    for i in 0..r.len() {
        for j in 0..i {
            distances.push(system.cell.minimum_image(r[j] - r[i]).norm());
        }
    }
    let shortest = distances.iter().copied().fold(f64::INFINITY, f64::min);
    let equal = |d: &&f64| **d < shortest * (1.0 + 1e-9);
    (shortest, distances.iter().filter(equal).count())
}

#[test]
fn crystals_have_their_coordination() {
    let coordination = [6, 8, 12, 12, 4, 6, 8, 4];
    for (lattice, coordination) in Lattice::ALL.into_iter().zip(coordination) {
        let system = crystal(lattice, [4, 3, 3], 1.7);
        let n = system.particles.len();
        assert_eq!(n, 36 * lattice.particles_per_cell());
        let (distance, pairs) = nearest(&system);
        assert!(
            (distance - 1.7 * lattice.nearest_neighbor()).abs() < 1e-12,
            "{lattice:?} {distance}"
        );
        assert_eq!(2 * pairs, n * coordination, "{lattice:?}");
        for &r in &system.particles.positions {
            assert_eq!(system.cell.wrap(r).1, [0; 3]);
        }
    }
}

#[test]
fn density_is_met() {
    for lattice in Lattice::ALL {
        let builder = builders::lattice(lattice, [3, 2, 5])
            .density(0.37)
            .species("A", 1.0, 0.0);
        let builder = match lattice.species_count() {
            2 => builder.species("B", 1.0, 0.0),
            _ => builder,
        };
        let system = builder.build().unwrap();
        let density = system.particles.len() as f64 / system.cell.volume();
        assert!((density - 0.37).abs() < 1e-14, "{lattice:?} {density}");
    }
}

#[test]
fn salts_alternate_and_are_neutral() {
    for lattice in [Lattice::RockSalt, Lattice::CsCl, Lattice::ZincBlende] {
        let system = crystal(lattice, [3, 3, 3], 5.62);
        let p = &system.particles;
        let mut sum = 0.0;
        for (i, q) in p.charges.iter().enumerate() {
            assert_eq!(*q, if i % 2 == 0 { 1.0 } else { -1.0 });
            assert_eq!(p.species[i], (i % 2) as u32);
            assert_eq!(p.masses[i], if i % 2 == 0 { 2.0 } else { 3.0 });
            sum += q;
        }
        assert_eq!(sum, 0.0);
        // Every nearest pair joins unlike charges.
        let shortest = 5.62 * lattice.nearest_neighbor();
        for i in 0..p.len() {
            for j in 0..i {
                let d = system.cell.minimum_image(p.positions[i] - p.positions[j]).norm();
                assert!(d > shortest * 1.001 || p.charges[i] != p.charges[j]);
            }
        }
    }
    assert_eq!(crystal(Lattice::RockSalt, [3, 3, 3], 5.62).particles.len(), 216);
}

#[test]
fn melt_is_that_of_lammps_in_order() {
    let system = builders::lj_melt([20, 20, 20]).build().unwrap();
    assert_eq!(system.particles.len(), 32_000);
    assert!((system.cell.to_arrays()[0][0] - 33.591_923_8).abs() < 1e-6);
    let rows = include_str!("../data/build_ljmelt_first2000.dat").lines().skip(1);
    let mut compared = 0;
    for (row, r) in rows.zip(&system.particles.positions) {
        let v: Vec<f64> = row.split(' ').map(|w| w.parse().unwrap()).collect();
        assert!((*r - Vec3::new(v[0], v[1], v[2])).norm() < 1e-6, "{row} {r:?}");
        compared += 1;
    }
    assert_eq!(compared, 2000);
}

#[test]
fn argon_spheres_have_the_published_counts() {
    let small = builders::small_argon_sphere().build().unwrap();
    assert_eq!(small.particles.len(), 14_147);
    assert!((small.cell.to_arrays()[0][0] - 25.228_8).abs() < 1e-12);
    let large = builders::argon_sphere().build().unwrap();
    assert_eq!(large.particles.len(), 1_047_293);
    assert!((large.cell.to_arrays()[0][0] - 105.12).abs() < 1e-12);
    assert_eq!(large.units, Units::Md);
    assert_eq!(large.particles.masses[0], 39.948);
    for (system, radius) in [(&small, 15.0), (&large, 63.0)] {
        let center = Vec3::splat(system.cell.to_arrays()[0][0] / 2.0);
        let mut mean = Vec3::zero();
        for &r in &system.particles.positions {
            assert!((r - center).norm() < 0.5256 * radius * (1.0 + 1e-12));
            mean += r - center;
        }
        // Rounding keeps some surface points and drops their mirror images, in the large one only.
        assert!((mean * (system.particles.len() as f64).recip()).norm() < 0.01);
    }
}

#[test]
fn spheres_of_exact_arithmetic() {
    let count = |builder: builders::SphereBuilder| builder.spacing(1.0).build().unwrap().particles.len();
    assert_eq!(count(builders::sphere(Lattice::Sc, 63.0)), 1_047_331);
    assert_eq!(count(builders::sphere(Lattice::Sc, 1.0)), 7);
    assert_eq!(count(builders::sphere(Lattice::Fcc, 0.75)), 13);
    assert_eq!(count(builders::sphere(Lattice::Bcc, 1.0)), 15);
    assert_eq!(
        count(builders::sphere(Lattice::Sc, 15.0).edge(Edge::Rounded { spacing: 1.0 })),
        14_147
    );
    assert!(matches!(
        builders::sphere(Lattice::Sc, 5.0).spacing(1.0).side(10).build(),
        Err(BuildError::SphereTooLarge { .. })
    ));
    assert!(
        builders::sphere(Lattice::Sc, 5.0)
            .spacing(1.0)
            .side(13)
            .build()
            .is_err()
    );
    assert!(builders::sphere(Lattice::Sc, 1e300).spacing(1.0).build().is_err());
}

#[test]
fn mistakes_are_named() {
    let fcc = || builders::lattice(Lattice::Fcc, [2, 2, 2]);
    assert!(matches!(fcc().build(), Err(BuildError::MissingScale { .. })));
    assert!(matches!(
        fcc().density(-1.0).build(),
        Err(BuildError::Invalid { .. })
    ));
    assert!(matches!(
        fcc().spacing(f64::NAN).build(),
        Err(BuildError::Invalid { .. })
    ));
    assert!(matches!(
        fcc().spacing(1.0).species("A", 0.0, 0.0).build(),
        Err(BuildError::Invalid { what: "mass", .. })
    ));
    assert!(matches!(
        builders::lattice(Lattice::RockSalt, [1, 1, 1])
            .spacing(1.0)
            .build(),
        Err(BuildError::SpeciesCount {
            expected: 2,
            given: 0,
            ..
        })
    ));
    assert!(matches!(
        builders::lattice(Lattice::Sc, [usize::MAX; 3])
            .spacing(1.0)
            .build(),
        Err(BuildError::TooMany { .. })
    ));
    assert!(matches!(
        builders::lattice(Lattice::Sc, [0, 1, 1]).spacing(1.0).build(),
        Err(BuildError::Cell(_))
    ));
    assert!(matches!(
        fcc().spacing(1.0).thermalize(-3.0, 0),
        Err(BuildError::Velocities(_))
    ));
}

#[test]
fn random_places_keep_their_distance() {
    let skewed = Cell::triclinic([[9.0, 0.0, 0.0], [3.0, 8.0, 0.0], [-2.0, 1.5, 7.0]]).unwrap();
    let straight = Cell::orthorhombic([8.0, 9.0, 7.0]).unwrap();
    for cell in [skewed, straight, straight.with_periodicity([false; 3])] {
        let make = |seed| {
            builders::random(cell)
                .add(150, "Na", 22.99, 1.0)
                .add(100, "Cl", 35.45, -1.0)
                .minimum_distance(0.9)
                .seed(seed)
                .build()
                .unwrap()
        };
        let system = make(4);
        assert_eq!(system.particles.len(), 250);
        assert_eq!(system.particles.charges.iter().sum::<f64>(), 50.0);
        let (distance, _) = nearest(&system);
        assert!((0.9..1.0).contains(&distance), "{distance}");
        assert_eq!(system.cell.periodic(), cell.periodic());
        assert_eq!(system, make(4));
        assert_ne!(system, make(5));
    }
}

#[test]
fn random_places_say_when_they_do_not_fit() {
    let cell = Cell::orthorhombic([5.0; 3]).unwrap();
    let try_place = |n| {
        builders::random(cell)
            .add(n, "A", 1.0, 0.0)
            .minimum_distance(1.0)
            .build()
    };
    assert!(matches!(
        try_place(200),
        Err(BuildError::DoesNotFit {
            placed: 0,
            attempts: 0,
            ..
        })
    ));
    // 60 %: possible for a crystal, not at random.
    match try_place(143) {
        Err(
            error @ BuildError::DoesNotFit {
                placed, wanted: 143, ..
            },
        ) => {
            assert!((60..110).contains(&placed), "{placed}");
            assert!(error.to_string().contains("enlarge the cell"), "{error}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn many_random_places_are_quick() {
    let cell = Cell::orthorhombic([60.0; 3]).unwrap();
    let begin = std::time::Instant::now();
    let system = builders::random(cell)
        .add(100_000, "A", 1.0, 0.0)
        .minimum_distance(0.8)
        .build();
    println!("100 000 random places: {:?}", begin.elapsed());
    assert_eq!(system.unwrap().particles.len(), 100_000);
}

/// A ring of four and a chain that cross the border, and a wire bonded to its own image.
fn tangle() -> System {
    let cell = Cell::orthorhombic([4.0, 5.0, 6.0]).unwrap();
    let mut system = builders::random(cell).add(0, "A", 1.0, 0.0).build().unwrap();
    let p = &mut system.particles;
    for (r, molecule) in [
        ([3.8, 0.2, 0.2], 0),
        ([0.3, 0.2, 0.2], 0),
        ([0.3, 4.8, 0.2], 0),
        ([3.8, 4.8, 0.2], 0),
        ([0.5, 2.5, 3.0], 1),
        ([1.5, 2.5, 3.0], 1),
        ([2.5, 2.5, 3.0], 1),
        ([3.5, 2.5, 3.0], 1),
        ([2.0, 1.0, 5.8], 2),
        ([2.0, 1.0, 0.4], 2),
    ] {
        p.push(Vec3::from(r), 0, 1.0, 0.0, molecule);
    }
    let bonds = [
        [0, 1],
        [1, 2],
        [2, 3],
        [3, 0],
        [4, 5],
        [5, 6],
        [6, 7],
        [7, 4],
        [8, 9],
    ];
    system.topology.bond_kinds = vec!["b".into()];
    system.topology.bonds = bonds.map(|atoms| Link { kind: 0, atoms }).to_vec();
    system.topology.angle_kinds = vec!["a".into()];
    system.topology.angles = vec![Link {
        kind: 0,
        atoms: [6, 7, 4],
    }];
    system.exclusions = Exclusions::from_bonds(&system.topology, 10, &ExclusionRule::through(1)).unwrap();
    system
}

#[test]
fn copies_keep_bonds_short_and_molecules_whole() {
    let system = tangle();
    let copies = builders::replicate(&system, [3, 2, 2]).unwrap();
    assert_eq!(copies.particles.len(), 120);
    assert_eq!(copies.topology.bonds.len(), 12 * 9);
    assert_eq!(copies.cell.volume(), 12.0 * system.cell.volume());
    let p = &copies.particles;
    for bond in &copies.topology.bonds {
        let [i, j] = bond.atoms.map(|i| i as usize);
        let d = copies.cell.minimum_image(p.positions[j] - p.positions[i]).norm();
        assert!(d < 1.01, "{bond:?} {d}");
        // All but the wire are whole once unwrapped, and share a molecule number.
        let unwrapped = |i: usize| p.positions[i] + copies.cell.translation(p.images[i]);
        if i % 10 < 4 || i % 10 > 7 {
            assert!((unwrapped(i) - unwrapped(j)).norm() < 1.01);
            assert_eq!(p.molecules[i], p.molecules[j]);
        }
        assert!(copies.exclusions.contains(i as u32, j as u32));
        assert!(copies.exclusions.contains(j as u32, i as u32));
    }
    assert_eq!(copies.exclusions.partners.len(), 2 * copies.topology.bonds.len());
    assert_eq!(copies.exclusions.pairs().count(), copies.topology.bonds.len());
    for angle in &copies.topology.angles {
        let [i, j, k] = angle.atoms.map(|i| p.positions[i as usize]);
        assert!((copies.cell.minimum_image(i - j).norm() - 1.0).abs() < 1e-12);
        assert!((copies.cell.minimum_image(k - j).norm() - 1.0).abs() < 1e-12);
    }
    for &r in &p.positions {
        assert_eq!(copies.cell.wrap(r).1, [0; 3]);
    }
    // The exclusions of the copies are those of the copied bonds.
    let again = Exclusions::from_bonds(&copies.topology, 120, &ExclusionRule::through(1)).unwrap();
    assert_eq!(again, copies.exclusions);
}

#[test]
fn copies_of_a_crystal_are_the_larger_crystal() {
    let small = crystal(Lattice::Fcc, [2, 2, 2], 1.5);
    let once = builders::replicate(&small, [1, 1, 1]).unwrap();
    assert_eq!(once, small);
    let copies = builders::replicate(&small, [2, 1, 3]).unwrap();
    let large = crystal(Lattice::Fcc, [4, 2, 6], 1.5);
    let sorted = |system: &System| {
        let key = |r: &Vec3<f64>| r.to_array().map(|x| (x * 1e6).round() as i64);
        let mut keys: Vec<_> = system.particles.positions.iter().map(key).collect();
        keys.sort_unstable();
        keys
    };
    assert_eq!(sorted(&copies), sorted(&large));
    assert_eq!(copies.cell, large.cell);
    assert!(builders::replicate(&small, [1, 0, 1]).is_err());
    assert!(builders::replicate(&small, [1 << 20, 1 << 20, 1]).is_err());
    let nothing = builders::random(small.cell).build().unwrap();
    assert!(builders::replicate(&nothing, [usize::MAX, 1, 1]).is_err());
}

#[test]
fn thermalized_melt_has_its_temperature() {
    let system = builders::lj_melt([10, 10, 10]).thermalize(1.44, 7).unwrap();
    let dof = 3.0 * (system.particles.len() as f64 - 1.0);
    assert!((velocities::temperature(&system, dof) - 1.44).abs() < 1e-13);
    assert!(velocities::momentum(&system).norm() < 1e-10);
    assert_eq!(
        system,
        builders::lj_melt([10, 10, 10]).thermalize(1.44, 7).unwrap()
    );
}
