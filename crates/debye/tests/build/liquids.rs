//! Salt, water, solutions: counts, densities, distances, neutrality, geometry.

use super::nearest;
use debye::expr::Vec3;
use debye::system::builders::{self, BuildError};
use debye::system::models::{self, WaterModel};
use debye::system::{Cell, Species, System, Units};

fn model(name: &str) -> &'static WaterModel {
    models::water(name).unwrap()
}

fn ions(water: &str) -> [Species; 2] {
    let pair = models::ions_for(water).unwrap().salt("NaCl").unwrap();
    pair.map(|ion| ion.species(ion.element()))
}

fn brine(water: &str) -> builders::SolutionBuilder {
    let [cation, anion] = ions(water);
    builders::solution(model(water), cation, anion)
}

fn count(system: &System, name: &str) -> usize {
    let kind = system.species.iter().position(|s| s.name == name);
    let is = |k: &&u32| Some(**k as usize) == kind;
    system.particles.species.iter().filter(is).count()
}

/// Grams per cubic centimeter.
fn density(system: &System) -> f64 {
    let mass: f64 = system.particles.masses.iter().sum();
    mass / system.cell.volume() * Units::Md.grams_per_cubic_centimeter()
}

fn charge(system: &System) -> f64 {
    system.particles.charges.iter().sum()
}

/// Every molecule of water is O, H, H with the lengths of the model.
fn check_geometry(system: &System, model: &WaterModel) {
    let p = &system.particles;
    let oxygen = system.species.iter().position(|s| s.name == "OW").unwrap() as u32;
    for i in (0..p.len()).filter(|&i| p.species[i] == oxygen) {
        let [o, a, b] = [i, i + 1, i + 2].map(|i| p.positions[i]);
        assert_eq!(p.species[i + 1], p.species[i + 2]);
        assert_eq!([p.molecules[i + 1], p.molecules[i + 2]], [p.molecules[i]; 2]);
        for (d, length) in [(a - o, model.bond), (b - o, model.bond), (b - a, model.base)] {
            assert!((d.norm() - length).abs() < 1e-12, "{}", d.norm() - length);
        }
    }
}

#[test]
fn rock_salt() {
    let crystal = builders::nacl([3, 2, 2]).build().unwrap();
    assert_eq!((count(&crystal, "Na"), count(&crystal, "Cl")), (48, 48));
    assert_eq!(charge(&crystal), 0.0);
    assert!((nearest(&crystal) - 0.282).abs() < 1e-12);
    // 2.165 g/cm³ at room temperature.
    assert!((density(&crystal) - 2.163).abs() < 0.01, "{}", density(&crystal));
    let set = models::ions("joung-cheatham-spce").unwrap();
    let salt = set.salt("KBr").unwrap().map(|ion| ion.species(ion.name));
    let other = builders::salt([1, 1, 1], salt, 0.66).build().unwrap();
    assert_eq!((count(&other, "K+"), count(&other, "Br-")), (4, 4));
}

#[test]
fn water_of_any_number() {
    for (name, molecules) in [
        ("tip3p", 1),
        ("spce", 2),
        ("tip3p", 17),
        ("spce", 216),
        ("tip3p", 217),
    ] {
        let model = model(name);
        let system = builders::water(model)
            .molecules(molecules)
            .seed(3)
            .build()
            .unwrap();
        assert_eq!(
            (count(&system, "OW"), count(&system, "HW")),
            (molecules, 2 * molecules)
        );
        assert!((density(&system) - 0.997).abs() < 1e-9);
        assert!(charge(&system).abs() < 1e-12 * molecules as f64);
        check_geometry(&system, model);
        assert!(nearest(&system) > 0.14, "{molecules}: {}", nearest(&system));
        assert_eq!(system.particles.molecules.last(), Some(&(molecules as u32 - 1)));
    }
}

#[test]
fn water_in_a_cell() {
    let cell = Cell::orthorhombic([2.0, 3.0, 1.5]).unwrap();
    let system = builders::water(model("spce")).cell(cell).build().unwrap();
    // 9 nm³ at 33.33 per nm³.
    assert_eq!(count(&system, "OW"), 300);
    assert!((density(&system) - 0.997).abs() < 0.002);
    assert_eq!(system.cell, cell);
    let system = builders::water(model("spce"))
        .cell(cell)
        .molecules(50)
        .build()
        .unwrap();
    assert_eq!(count(&system, "OW"), 50);
    let tilted = Cell::triclinic([[2.5, 0.0, 0.0], [0.6, 2.2, 0.0], [-0.4, 0.5, 2.0]]).unwrap();
    let system = builders::water(model("tip3p")).cell(tilted).build().unwrap();
    check_geometry(&system, model("tip3p"));
    assert!(nearest(&system) > 0.12, "{}", nearest(&system));
    let light = builders::water(model("spce"))
        .density(300.0)
        .molecules(100)
        .build()
        .unwrap();
    assert!((density(&light) / Units::Md.grams_per_cubic_centimeter() - 300.0).abs() < 1e-9);
}

#[test]
fn the_seed_decides() {
    let make = |seed| {
        brine("spce")
            .molecules(100)
            .molality(2.0)
            .seed(seed)
            .build()
            .unwrap()
    };
    assert_eq!(make(1), make(1));
    let (one, two) = (make(1), make(2));
    assert_ne!(one.particles.positions, two.particles.positions);
    assert_eq!(one.particles.species, two.particles.species);
    // Orientations point everywhere: the mean of 100 dipoles is short.
    let water = builders::water(model("tip3p"))
        .molecules(500)
        .seed(9)
        .build()
        .unwrap();
    let r = &water.particles.positions;
    let dipoles = (0..500).map(|m| (r[3 * m + 1] + r[3 * m + 2]) * 0.5 - r[3 * m]);
    let sum = dipoles.fold(Vec3::zero(), |sum, d| sum + d * (1.0 / d.norm()));
    assert!(sum.norm() / 500.0 < 0.12, "{}", sum.norm());
}

#[test]
fn salt_in_water() {
    let system = brine("tip3p")
        .molecules(1000)
        .molality(1.0)
        .seed(5)
        .build()
        .unwrap();
    // b = p / (w (N − 2 p)): 17.4 pairs, so 17.
    assert_eq!((count(&system, "Na"), count(&system, "Cl")), (17, 17));
    assert_eq!(count(&system, "OW"), 966);
    let molality = 17.0 / (966.0 * 18.015e-3);
    assert!((molality - 1.0f64).abs() < 0.03, "{molality}");
    assert!(charge(&system).abs() < 1e-9);
    check_geometry(&system, model("tip3p"));
    assert!(nearest(&system) > 0.14, "{}", nearest(&system));
    // Ions stand after the water, cations first, and keep apart.
    let n = system.particles.len();
    let first = n - 34;
    assert_eq!(system.particles.charges[first], 1.0);
    assert_eq!(system.particles.charges[n - 1], -1.0);
    let apart = |i: usize, j: usize| {
        let r = &system.particles.positions;
        system.cell.minimum_image(r[i] - r[j]).norm()
    };
    let smallest = (first..n)
        .flat_map(|i| (first..i).map(move |j| (i, j)))
        .map(|(i, j)| apart(i, j))
        .fold(f64::INFINITY, f64::min);
    assert!(smallest > 0.5, "{smallest}");

    let pairs = brine("spce").molecules(60).ion_pairs(10).build().unwrap();
    assert_eq!((count(&pairs, "Na"), count(&pairs, "OW")), (10, 40));
    // Nearly all water replaced still finds places.
    let dense = brine("spce").molecules(60).ion_pairs(29).build().unwrap();
    assert_eq!((count(&dense, "Cl"), count(&dense, "OW")), (29, 2));
}

/// A rod of five atoms of charge +0.6 each: three elementary charges.
fn rod() -> System {
    let open = Cell::orthorhombic([1.0; 3]).unwrap().with_periodicity([false; 3]);
    let atoms = builders::random(open).units(Units::Md);
    let mut rod = atoms
        .add(3, "C", 12.0, 0.0)
        .add(2, "X", 12.0, 0.0)
        .build()
        .unwrap();
    let p = &mut rod.particles;
    for (i, r) in p.positions.iter_mut().enumerate() {
        *r = Vec3::new(7.0 + 0.15 * i as f64, -3.0, 2.0);
    }
    p.charges.fill(0.6);
    p.molecules.fill(0);
    rod
}

#[test]
fn a_solute_is_surrounded_and_neutralized() {
    let system = brine("spce")
        .solute(rod())
        .padding(0.9)
        .clearance(0.28)
        .neutralize(true)
        .seed(2)
        .build()
        .unwrap();
    let [x, y, z] = [0, 1, 2].map(|k| system.cell.heights()[k]);
    assert!((x - 2.4).abs() < 1e-12 && (y - 1.8).abs() < 1e-12 && (z - 1.8).abs() < 1e-12);
    assert_eq!(system.cell.periodic(), [true; 3]);
    assert!(charge(&system).abs() < 1e-9);
    // Three anions and no cation, which is therefore no species of the system.
    assert_eq!(count(&system, "Cl"), 3);
    let names: Vec<&str> = system.species.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["C", "X", "OW", "HW", "Cl"]);
    let p = &system.particles;
    assert_eq!(&p.charges[..5], &[0.6; 5]);
    assert_eq!(&p.species[..5], &[0, 0, 0, 1, 1]);
    assert!((p.positions[2] - Vec3::new(1.2, 0.9, 0.9)).norm() < 1e-12);
    check_geometry(&system, model("spce"));
    for i in (5..p.len()).filter(|&i| p.species[i] != 3) {
        let to_solute = |j: usize| system.cell.minimum_image(p.positions[i] - p.positions[j]).norm();
        let d = (0..5).map(to_solute).fold(f64::INFINITY, f64::min);
        assert!(d >= 0.28, "{d}");
    }
    assert!(nearest(&system) > 0.14);
    // About the water that the volume left over holds.
    let water = count(&system, "OW");
    assert!((200..260).contains(&water), "{water}");

    // The same around a negative one, with salt besides.
    let mut negative = rod();
    negative.particles.charges.fill(-0.2);
    let system = brine("tip3p")
        .solute(negative)
        .neutralize(true)
        .ion_pairs(4)
        .build()
        .unwrap();
    assert_eq!((count(&system, "Na"), count(&system, "Cl")), (5, 4));
    // Plain water around it.
    let system = builders::water(model("tip3p")).solute(rod()).build().unwrap();
    assert!((charge(&system) - 3.0).abs() < 1e-9);
}

#[test]
fn what_cannot_be() {
    use BuildError as E;
    let water = || builders::water(model("spce"));
    let brine = || brine("spce");
    let fails = |builder: builders::SolutionBuilder| builder.build().unwrap_err();
    assert_eq!(fails(water()), E::MissingExtent);
    assert_eq!(
        fails(water().molecules(10).units(Units::LennardJones)),
        E::ReducedWater
    );
    assert_eq!(fails(water().molecules(10).ion_pairs(1)), E::MissingIons);
    for (bad, what) in [
        (water().molecules(0), "side of the cell"),
        (water().molecules(10).density(-1.0), "density"),
        (water().molecules(10).density(f64::NAN), "density"),
        (
            water().cell(Cell::orthorhombic([0.1; 3]).unwrap()),
            "number of molecules",
        ),
        (brine().molecules(100).molality(0.0), "molality"),
        (brine().molecules(100).molality(f64::INFINITY), "molality"),
        (
            brine().molecules(100).ion_pairs(3).ions_apart(-0.1),
            "distance of the ions",
        ),
        (water().solute(rod()).padding(-1.0), "padding"),
        (water().solute(rod()).clearance(f64::NAN), "clearance"),
    ] {
        match fails(bad) {
            E::Invalid { what: found, .. } => assert_eq!(found, what),
            other => panic!("{what}: {other}"),
        }
    }
    assert!(matches!(
        fails(water().molecules(3_000_000_000)),
        E::TooMany { .. }
    ));
    assert!(matches!(
        fails(water().cell(Cell::orthorhombic([1e4; 3]).unwrap())),
        E::TooMany { .. }
    ));
    assert!(matches!(
        fails(water().molecules(50).density(3000.0)),
        E::Crowded { .. }
    ));
    assert!(matches!(
        fails(brine().molecules(20).molality(0.1)),
        E::TooDilute { .. }
    ));
    assert!(matches!(
        fails(brine().molecules(20).ion_pairs(10)),
        E::TooManyIons {
            wanted: 20,
            places: 20
        }
    ));
    assert!(matches!(
        fails(brine().molecules(20).ion_pairs(usize::MAX)),
        E::TooManyIons { .. }
    ));
    assert!(matches!(
        fails(brine().molecules(100).ion_pairs(20).ions_apart(0.8)),
        E::IonsDoNotFit { wanted: 40, .. }
    ));
    let mut odd = rod();
    odd.particles.charges[0] = 0.1;
    assert!(matches!(
        fails(brine().solute(odd).neutralize(true)),
        E::ChargeNotWhole { .. }
    ));
    let [cation, _] = ions("spce");
    let twice = builders::solution(model("spce"), cation.clone(), cation)
        .molecules(50)
        .ion_pairs(2);
    assert!(matches!(fails(twice), E::NotASalt { .. }));
    let small = Cell::orthorhombic([0.5, 3.0, 3.0]).unwrap();
    assert!(matches!(
        fails(water().solute(rod()).cell(small)),
        E::SoluteTooLarge { axis: 'x', .. }
    ));
}
