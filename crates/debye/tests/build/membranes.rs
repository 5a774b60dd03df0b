//! Bilayers, dispersions and liquids: counts, topology, geometry, distances, and the same bits for the same seed.

use std::collections::BTreeSet;

use super::nearest;
use debye::expr::Vec3;
use debye::input::{Components, components};
use debye::simulation::Simulation;
use debye::system::builders::{self, BuildError};
use debye::system::{Cell, Link, Molecule, Rotor, Species, System, Units};

fn elba() -> Components {
    components("elba").unwrap()
}

fn lipid(name: &str) -> Molecule {
    elba().molecule(name).unwrap().clone()
}

fn water() -> Species {
    elba().species("W").unwrap().clone()
}

fn dopc(lipids: usize, waters: usize) -> builders::BilayerBuilder {
    builders::bilayer()
        .lipids(lipid("DOPC"), lipids)
        .water(water(), waters)
        .seed(3)
}

fn name(system: &System, i: usize) -> &str {
    &system.species[system.particles.species[i] as usize].name
}

fn count(system: &System, of: &str) -> usize {
    (0..system.particles.len())
        .filter(|&i| name(system, i) == of)
        .count()
}

/// Unwrapped positions.
fn whole(system: &System) -> Vec<Vec3<f64>> {
    let p = &system.particles;
    let images = p.positions.iter().zip(&p.images);
    images.map(|(r, n)| *r + system.cell.translation(*n)).collect()
}

/// Links with the names of their kinds.
fn named<const N: usize>(
    links: &[Link<N>],
    kinds: &[String],
    rename: impl Fn(&str) -> String,
) -> BTreeSet<(String, Vec<u32>)> {
    let one = |link: &Link<N>| (rename(&kinds[link.kind as usize]), link.atoms.to_vec());
    links.iter().map(one).collect()
}

/// The single lipid of the authors' toolkit.
fn published() -> System {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/data/elba/single_lipid_dopc.data"
    );
    let text = format!(
        "units = \"md\"\n[system]\nfile = \"{file}\"\nformat = \"lammps\"\nlength_unit = \"Å\"\n\
         [forcefield]\ninclude = \"elba\"\n[integrator]\nkind = \"nve\"\ntimestep = \"1 fs\"\n[run]\nsteps = 1\n"
    );
    Simulation::parse(&text, "", "dopc").unwrap().system
}

#[test]
fn dopc_is_the_published_lipid() {
    let theirs = published();
    let ours = dopc(2, 0).build().unwrap();
    let molecule = lipid("DOPC");
    for i in 0..15 {
        assert_eq!(name(&theirs, i), molecule.beads[i].name);
        assert_eq!(name(&theirs, i), name(&ours, i));
        assert_eq!(theirs.particles.masses[i], ours.particles.masses[i]);
        assert_eq!(theirs.particles.charges[i], ours.particles.charges[i]);
        assert_eq!(
            theirs.particles.orientations.rotor(i).class(),
            ours.particles.orientations.rotor(i).class()
        );
    }
    // Types of LAMMPS data are numbers.
    let bond =
        |kind: &str| ["C-P", "G-P", "E-G", "E-T", "T-T"][kind.parse::<usize>().unwrap() - 1].to_owned();
    let angle = |kind: &str| {
        ["head", "glycerol", "straight", "double-bond"][kind.parse::<usize>().unwrap() - 1].to_owned()
    };
    let same = |kind: &str| kind.to_owned();
    let (t, m) = (&theirs.topology, &molecule.topology);
    assert_eq!(
        named(&t.bonds, &t.bond_kinds, bond),
        named(&m.bonds, &m.bond_kinds, same)
    );
    assert_eq!(
        named(&t.angles, &t.angle_kinds, angle),
        named(&m.angles, &m.angle_kinds, same)
    );
    let dipole = |_: &str| "dipole".to_owned();
    assert_eq!(
        named(&t.axes, &t.axis_kinds, dipole),
        named(&m.axes, &m.axis_kinds, same)
    );
    // Both copies have all of them.
    let t = &ours.topology;
    assert_eq!((t.bonds.len(), t.angles.len(), t.axes.len()), (28, 26, 6));
    assert_eq!(t.bonds[14].atoms, [15, 16]);
}

#[test]
fn lipids_have_the_beads_of_the_table() {
    for (name, beads, bonds, angles, bent) in [
        ("DMPC", 13, 12, 11, 0),
        ("POPC", 14, 13, 12, 1),
        ("DOPC", 15, 14, 13, 2),
        ("DOPE", 15, 14, 13, 2),
        ("DSPC", 15, 14, 13, 0),
    ] {
        let m = lipid(name);
        let t = &m.topology;
        assert_eq!(
            (m.beads.len(), t.bonds.len(), t.angles.len(), t.axes.len()),
            (beads, bonds, angles, 3)
        );
        let double = t
            .angles
            .iter()
            .filter(|a| t.angle_kinds[a.kind as usize] == "double-bond");
        assert_eq!(double.count(), bent, "{name}");
        let head = if name == "DOPE" { "A" } else { "C" };
        assert_eq!(m.beads[0].name, head);
        assert!(t.bond_kinds.contains(&format!("{head}-P")));
        // Bonds have their published lengths.
        for bond in &t.bonds {
            let [i, j] = bond.atoms.map(|i| i as usize);
            let r0 = match t.bond_kinds[bond.kind as usize].as_str() {
                "C-P" => 0.4770,
                "G-P" => 0.4410,
                "E-G" => 0.4140,
                "E-T" => 0.4095,
                "T-T" => 0.4050,
                "A-P" => 0.4365,
                other => panic!("{other}"),
            };
            assert!(
                ((m.positions[i] - m.positions[j]).norm() - r0).abs() < 1e-4,
                "{name} {i} {j}"
            );
        }
    }
}

#[test]
fn a_bilayer_has_two_leaflets_and_water_around_them() {
    let system = dopc(32, 1056).build().unwrap();
    assert_eq!(system.particles.len(), 32 * 15 + 1056);
    assert_eq!(count(&system, "W"), 1056);
    let [a, b, c] = system.cell.to_arrays();
    assert!((a[0] * b[1] / 16.0 - builders::ELBA_AREA).abs() < 1e-12);
    // 1.3235 nm³ for each lipid and 0.030 for each water.
    let volume = 32.0 * 1.3235 + 1056.0 * 0.030;
    assert!((system.cell.volume() / volume - 1.0).abs() < 1e-9);
    assert_eq!(system.cell.periodic(), [true; 3]);
    let p = &system.particles;
    for r in &p.positions {
        assert_eq!(system.cell.wrap(*r).1, [0; 3]);
    }
    let positions = whole(&system);
    let middle = 0.5 * c[2];
    for lipid in 0..32 {
        let sign = if lipid < 16 { 1.0 } else { -1.0 };
        let height = |bead: usize| sign * (positions[15 * lipid + bead].z - middle);
        // Head, phosphate, glycerol, ester, tail: ever nearer to the middle, and on its side of it.
        let heights = [0, 1, 2, 3, 4, 8].map(height);
        assert!(heights.is_sorted_by(|a, b| a > b), "{heights:?}");
        assert!(heights[5] > 0.0);
        // The heads of the leaflet are its surface.
        assert!((height(0) - height(0).max(height(1))).abs() < 1e-12);
        // Dipoles point where their restraints hold them.
        for [bead, reference] in [[2, 1], [3, 4], [9, 10]] {
            let [i, j] = [bead, reference].map(|k| 15 * lipid + k);
            let d = positions[j] - positions[i];
            let z = p.orientations.axes(i)[2];
            assert!((z.dot(d) / d.norm() - 1.0).abs() < 1e-9);
        }
    }
    // As much water above as below, none among the tails.
    let above = (480..p.len()).filter(|&i| p.positions[i].z > middle).count();
    assert!(above.abs_diff(528) <= 1);
    assert!((480..p.len()).all(|i| (p.positions[i].z - middle).abs() > 1.0));
    let distance = nearest(&system);
    assert!(distance > 0.18, "{distance}");
    let charge: f64 = p.charges.iter().sum();
    assert!(charge.abs() < 1e-9);
}

#[test]
fn the_same_seed_gives_the_same_bits() {
    assert_eq!(dopc(32, 500).build().unwrap(), dopc(32, 500).build().unwrap());
    assert_ne!(
        dopc(32, 500).build().unwrap().particles.positions,
        dopc(32, 500).seed(4).build().unwrap().particles.positions
    );
    let scattered = || {
        builders::dispersion()
            .lipids(lipid("DOPC"), 16)
            .water(water(), 528)
            .seed(1)
    };
    assert_eq!(scattered().build().unwrap(), scattered().build().unwrap());
}

#[test]
fn mixtures_and_leaflets() {
    let mixed = builders::bilayer()
        .lipids(lipid("DOPC"), 45)
        .lipids(lipid("DOPE"), 19)
        .water(water(), 2000)
        .build()
        .unwrap();
    // Heads of the upper leaflet come first: 23 + 9 lipids.
    assert_eq!((count(&mixed, "C"), count(&mixed, "A")), (45, 19));
    let upper = (0..32 * 15).filter(|&i| name(&mixed, i) == "C").count();
    assert_eq!(upper, 23);
    // Mixed: both kinds are found in each half of the leaflet.
    let half = mixed.cell.to_arrays()[0][0] / 2.0;
    for side in [0.0, half] {
        let within = |i: &usize| (side..side + half).contains(&mixed.particles.positions[*i].x);
        let amines = (0..mixed.particles.len())
            .filter(|&i| name(&mixed, i) == "A")
            .filter(within);
        assert!(amines.count() >= 4);
    }
    let uneven = builders::bilayer()
        .upper(lipid("DOPC"), 20)
        .lower(lipid("DMPC"), 17)
        .water(water(), 1000)
        .build()
        .unwrap();
    assert_eq!(count(&uneven, "P"), 37);
    assert_eq!(uneven.topology.bonds.len(), 20 * 14 + 17 * 12);
    assert!((uneven.cell.to_arrays()[0][0].powi(2) / 20.0 - builders::ELBA_AREA).abs() < 1e-12);
}

#[test]
fn a_given_cell_is_kept_or_refused_with_numbers() {
    let small = Cell::orthorhombic([4.0, 4.0, 6.0]).unwrap();
    let built = dopc(40, 900).cell(small).build().unwrap();
    assert_eq!(built.cell, small);
    let hexagonal = Cell::triclinic([[4.0, 0.0, 0.0], [2.0, 12f64.sqrt(), 0.0], [0.0, 0.0, 7.0]]).unwrap();
    let built = dopc(36, 900).cell(hexagonal).build().unwrap();
    assert!(nearest(&built) > 0.15);
    match dopc(40, 4000).cell(small).build() {
        Err(BuildError::CellTooLow { needed, available }) => {
            assert!((needed - (40.0 * 1.3235 + 4000.0 * 0.03) / 16.0).abs() < 1e-9);
            assert_eq!(available, 6.0);
        }
        other => panic!("{:?}", other.map(|s| s.particles.len())),
    }
    match dopc(128, 100).cell(small).build() {
        Err(BuildError::LeafletTooLarge {
            lipids,
            needed,
            available,
        }) => {
            assert_eq!((lipids, available), (64, 16.0));
            assert!(needed > 16.0, "{needed}");
        }
        other => panic!("{:?}", other.map(|s| s.particles.len())),
    }
    assert_eq!(dopc(0, 10).build(), Err(BuildError::NoLipids));
    assert_eq!(dopc(7, 10).build(), Err(BuildError::OddLipids { lipids: 7 }));
    let tiny = Cell::orthorhombic([3.0; 3]).unwrap();
    let scattered = builders::dispersion().lipids(lipid("DOPC"), 2).cell(tiny).build();
    assert!(matches!(scattered, Err(BuildError::MoleculeTooLong { .. })));
    let tight = builders::dispersion()
        .lipids(lipid("DOPC"), 40)
        .cell(Cell::orthorhombic([3.5; 3]).unwrap())
        .build();
    assert!(matches!(tight, Err(BuildError::CellTooSmall { .. })));
    let reduced = dopc(8, 10).units(Units::LennardJones).build();
    assert!(matches!(reduced, Err(BuildError::MissingCell { .. })));
}

#[test]
fn a_dispersion_has_whole_lipids_in_all_directions() {
    let system = builders::dispersion()
        .lipids(lipid("DOPC"), 24)
        .lipids(lipid("DMPC"), 8)
        .water(water(), 1056)
        .exclude(1)
        .build()
        .unwrap();
    let beads = 24 * 15 + 8 * 13;
    assert_eq!(system.particles.len(), beads + 1056);
    let liquid = beads as f64 / 15.0 * 1.3235 + 1056.0 * 0.030;
    assert!((0.9 * system.cell.volume() / liquid - 1.0).abs() < 1e-9);
    let positions = whole(&system);
    let t = &system.topology;
    for bond in &t.bonds {
        let [i, j] = bond.atoms.map(|i| positions[i as usize]);
        let length = (i - j).norm();
        assert!((0.40..0.48).contains(&length), "{length}");
    }
    assert_eq!(system.exclusions.partners.len(), 2 * t.bonds.len());
    // Up and down alike.
    let up = (0..24)
        .filter(|k| positions[15 * k].z > positions[15 * k + 8].z)
        .count();
    assert!((5..=19).contains(&up), "{up}");
    let distance = nearest(&system);
    assert!(distance > 0.18, "{distance}");
}

#[test]
fn a_liquid_of_single_sites() {
    let dipolar = Species::point("D", 1.0, 0.0).with_rotor(Rotor::linear(0.025).with_dipole(1.0));
    let plain = Species::point("A", 2.0, 0.0);
    let build = |seed| {
        builders::liquid()
            .add(700, dipolar.clone())
            .add(301, plain.clone())
            .density(0.8)
            .seed(seed)
            .build()
            .unwrap()
    };
    let system = build(1);
    assert_eq!(system, build(1));
    assert_ne!(system, build(2));
    assert_eq!((count(&system, "D"), count(&system, "A")), (700, 301));
    assert!((1001.0 / system.cell.volume() - 0.8).abs() < 1e-12);
    assert!(nearest(&system) > 0.7 * 1.25f64.cbrt());
    // Mixed, and in all directions.
    let half = system.cell.to_arrays()[0][0] / 2.0;
    let left = (0..700)
        .filter(|&i| system.particles.positions[i].x < half)
        .count();
    assert!((280..420).contains(&left), "{left}");
    let up: f64 = (0..700).map(|i| system.particles.orientations.axes(i)[2].z).sum();
    assert!(up.abs() / 700.0 < 0.1);
    assert_eq!(system.particles.orientations.rotor(700), Rotor::POINT);
}

#[test]
fn aligned_ellipsoids_lie_on_a_stretched_lattice() {
    let ellipsoid = Species::point("GB", 1.0, 0.0).with_rotor(Rotor::linear(0.5));
    let system = builders::liquid()
        .add(500, ellipsoid)
        .density(0.3)
        .aligned(true)
        .stretch(3.0)
        .disorder(0.02)
        .build()
        .unwrap();
    let p = &system.particles;
    for i in 0..500 {
        assert_eq!(p.orientations.axes(i)[2], Vec3::new(0.0, 0.0, 1.0));
        for j in 0..i {
            // Apart in the metric of the ellipsoids.
            let d = system.cell.minimum_image(p.positions[i] - p.positions[j]);
            assert!(Vec3::new(d.x, d.y, d.z / 3.0).norm() > 0.85);
        }
    }
    assert!(matches!(
        builders::liquid().build(),
        Err(BuildError::MissingScale { .. })
    ));
    assert!(matches!(
        builders::liquid()
            .density(1.0)
            .disorder(2.0)
            .add(8, Species::point("A", 1.0, 0.0))
            .build(),
        Err(BuildError::Invalid { what: "disorder", .. })
    ));
}

/// Sizes of the paper on coarse-grain membranes on GPUs.
#[test]
fn large_systems_are_built_at_once() {
    for (lipids, waters, total) in [(16, 600, 840), (512, 15_320, 23_000), (4560, 150_504, 218_904)] {
        let system = dopc(lipids, waters).build().unwrap();
        assert_eq!(system.particles.len(), total);
        assert_eq!(system.topology.bonds.len(), 14 * lipids);
    }
}
