//! `[[constraints]]`: what is understood and what is refused.

use debye::engines::Settings;
use debye::engines::cpu::CpuEngine;
use debye::input::InputError;
use debye::simulation::Simulation;

use crate::with;

/// Two waters, the second across the border of the cell, and an ion.
const XYZ: &str = "7
Lattice=\"8 0 0 0 8 0 0 0 8\" Properties=species:S:1:pos:R:3
O 2.0 2.0 2.0
H 2.757 2.586 2.0
H 1.243 2.586 2.0
O 0.1 5.0 5.0
H 0.857 5.586 5.0
H 7.343 5.586 5.0
Na 5.0 2.0 6.0
";

const WATER: &str = r#"units = "md"
[system]
file = "water.xyz"
[species.OW]
names = ["O"]
mass = "15.9994 u"
charge = -0.834
[species.HW]
names = ["H"]
mass = "1.008 u"
charge = 0.417
[species.Na]
mass = "22.99 u"
charge = 1.0
[[forces]]
kind = "coulomb-reaction-field"
cutoff = "3.9 Å"
[[constraints]]
kind = "rigid-water"
species = ["OW", "HW", "HW"]
bond = "0.9572 Å"
base = "1.5139 Å"
[integrator]
kind = "nve"
timestep = "1 fs"
[run]
steps = 10
temperature = "300 K"
"#;

/// A chain of four beads with its bonds, of two kinds.
const CHAIN: &str = r#"units = "lj"
[system]
build = { kind = "polymer", chains = 3, beads = 4, density = 0.1, seed = 2, bond_kind = "stiff" }
[species.A]
[[forces]]
kind = "lennard-jones"
cutoff = 1.5
epsilon = 1.0
sigma = 1.0
[[constraints]]
kind = "bonds"
bonds = { stiff = 0.97 }
[integrator]
kind = "nve"
timestep = 0.002
[run]
steps = 10
temperature = 1.0
"#;

fn read_with(xyz: &str, text: &str) -> Result<Simulation, InputError> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("water.xyz"), xyz).unwrap();
    Simulation::parse(text, folder.path(), "water.toml")
}

fn read(text: &str) -> Result<Simulation, InputError> {
    read_with(XYZ, text)
}

fn refused(xyz: &str, text: &str, parts: &[&str]) {
    let shown = match read_with(xyz, text) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(error) => error.to_string(),
    };
    for part in parts {
        assert!(shown.contains(part), "`{part}` is not in:\n{shown}");
    }
}

#[test]
fn rigid_waters() {
    let s = read(WATER).unwrap();
    let water = &s.system.constraints.waters[0];
    assert_eq!(water.molecules, [[0, 1, 2], [3, 4, 5]]);
    assert!((water.bond - 0.09572).abs() < 1e-15 && (water.base - 0.15139).abs() < 1e-15);
    assert_eq!(s.system.constraints.len(), 6);
    // The lengths of the file are off by 2e-4; these are not, and neither do the velocities change them.
    let [length, speed] = s.system.constraint_errors();
    assert!(length < 1e-12 && speed < 1e-12, "{length:e} {speed:e}");
    let pairs: Vec<[u32; 2]> = s.system.exclusions.pairs().collect();
    assert_eq!(pairs, [[0, 1], [0, 2], [1, 2], [3, 4], [3, 5], [4, 5]]);
    assert_eq!(s.system.particles.molecules, [0, 0, 0, 1, 1, 1, 2]);
    let kinetic = debye::system::velocities::temperature(&s.system, 21.0 - 3.0 - 6.0);
    assert!((kinetic - 300.0).abs() < 1e-9);
    assert!(s.warnings.is_empty(), "{:?}", s.warnings);
    let mut engine = CpuEngine::new(&s.system, &s.forces, &s.dynamics, &Settings::default()).unwrap();
    let seen = engine.observe().unwrap();
    assert_eq!(seen.degrees_of_freedom, 12.0);
    assert!((seen.temperature - 300.0).abs() < 1e-6);
}

#[test]
fn copies_of_constraints() {
    let s = read(&with(WATER, "water.xyz\"", "water.xyz\"\ncopies = [2, 1, 2]")).unwrap();
    assert_eq!(s.system.constraints.len(), 24);
    assert_eq!(s.system.exclusions.pairs().count(), 24);
    let [length, speed] = s.system.constraint_errors();
    assert!(length < 1e-12 && speed < 1e-12, "{length:e} {speed:e}");
    for molecule in &s.system.constraints.waters[0].molecules {
        let [a, b, c] = molecule.map(|i| s.system.particles.molecules[i as usize]);
        assert!(a == b && b == c, "{molecule:?}");
    }
}

#[test]
fn bonds_and_pairs() {
    let parse = |text: &str| Simulation::parse(text, ".", "test.toml");
    let s = parse(CHAIN).unwrap();
    assert_eq!(s.system.constraints.distances.len(), 9);
    assert_eq!(s.system.constraints.tolerance, 1e-10);
    // No potential is needed for bonds that do not change.
    assert!(s.forces.bonds.is_empty());
    assert!(s.system.constraint_errors()[0] < 1e-9);
    // One of a chain by itself, with its own length and tolerance.
    let some = with(
        CHAIN,
        "bonds = { stiff = 0.97 }",
        "pairs = [[1, 2, 0.97], [2, 3, 0.96]]\ntolerance = 1e-12\n[[forces]]\nkind = \"harmonic-bond\"\nk = 100.0\nr0 = 1.0",
    );
    let s = parse(&some).unwrap();
    assert_eq!(s.system.constraints.distances[1].atoms, [1, 2]);
    assert_eq!(s.system.constraints.distances[1].length, 0.96);
    assert_eq!(s.system.constraints.tolerance, 1e-12);
    let errors = s.system.constraint_errors();
    assert!(errors[0] < 1e-11 && errors[1] < 1e-11, "{errors:?}");
}

/// Chains of twenty fixed bonds, whose bonds all depend on one another.
#[test]
fn long_chains_hold() {
    let text = with(CHAIN, "chains = 3, beads = 4", "chains = 6, beads = 21");
    let mut s = Simulation::parse(&text, ".", "test.toml").unwrap();
    assert_eq!(s.system.constraints.len(), 120);
    let settings = Settings {
        precision: debye::engines::Precision::Double,
        ..Settings::default()
    };
    let mut engine = CpuEngine::new(&s.system, &s.forces, &s.dynamics, &settings).unwrap();
    let start = engine.observe().unwrap();
    assert_eq!(start.degrees_of_freedom, 3.0 * 126.0 - 3.0 - 120.0);
    assert!((start.temperature - 1.0).abs() < 1e-8);
    engine.advance(500, true).unwrap();
    let end = engine.observe().unwrap();
    assert!(
        (end.total() - start.total()).abs() < 0.05 * start.kinetic,
        "{start:?} {end:?}"
    );
    s.system.particles = engine.particles();
    let [length, speed] = s.system.constraint_errors();
    assert!(length < 2e-10 && speed < 2e-9, "{length:e} {speed:e}");
}

#[test]
fn mistakes_in_waters() {
    let start = "[[constraints]]\nkind = \"rigid-water\"";
    for (old, new, parts) in [
        (
            "kind = \"rigid-water\"",
            "kind = \"rigid-watr\"",
            [
                "unknown kind of constraints `rigid-watr`",
                "rigid-water, rigid-body, bonds",
            ],
        ),
        (
            "base = \"1.5139 Å\"\n",
            "",
            ["missing key `base` in [[constraints]]", "base ="],
        ),
        (
            "bond = \"0.9572 Å\"",
            "bond = \"0.9572 ps\"",
            ["constraints[0].bond", "expected a length"],
        ),
        (
            "base = \"1.5139 Å\"",
            "base = \"1.5139 Å\"\ntolerance = 1e-9",
            [
                "unknown key `tolerance`",
                "valid keys: kind, model, species, bond, base",
            ],
        ),
        (
            "base = \"1.5139 Å\"",
            "base = \"1.92 Å\"",
            [
                "are 0.15140 nm apart instead of 0.19200 nm",
                "molecule 1 (particles 1, 2 and 3)",
            ],
        ),
        (
            "[\"OW\", \"HW\", \"HW\"]",
            "[\"OW\", \"HW\"]",
            [
                "the species of oxygen, hydrogen and hydrogen",
                "`constraints[0].species`",
            ],
        ),
        (
            "[\"OW\", \"HW\", \"HW\"]",
            "[\"OW\", \"HW\", \"OW\"]",
            ["two species of hydrogen", "constraints[0].species"],
        ),
        (
            "[\"OW\", \"HW\", \"HW\"]",
            "[\"OW\", \"HX\", \"HX\"]",
            ["there is no species `HX`", "HW"],
        ),
        (
            "[\"OW\", \"HW\", \"HW\"]",
            "[\"HW\", \"OW\", \"OW\"]",
            ["does not fit particle 1 (OW)", "a species of their own"],
        ),
        (
            start,
            "[[constraints]]\nkind = \"bonds\"\npairs = [[1, 2, \"0.9572 Å\"]]\n[[constraints]]\nkind = \"rigid-water\"",
            [
                "particle 1 belongs to a rigid molecule and to another constraint",
                "keeps its shape",
            ],
        ),
        (
            start,
            "[[constraints]]\nkind = \"bonds\"\npairs = [[1, 7, \"3 Å\"]]\n[[constraints]]\nkind = \"rigid-water\"",
            ["particles 1 and 7 are", "0.30000 nm"],
        ),
    ] {
        refused(XYZ, &with(WATER, old, new), &parts);
    }
    let far = with(XYZ, "H 2.757 2.586 2.0", "H 2.857 2.686 2.0");
    refused(
        &far,
        WATER,
        &["molecule 1 (particles 1, 2 and 3)", "instead of 0.09572 nm"],
    );
    let second = with(XYZ, "H 7.343 5.586 5.0", "H 7.243 5.586 5.0");
    refused(
        &second,
        WATER,
        &["molecule 2 (particles 4, 5 and 6)", "particles 4 and 6"],
    );
    let order = with(
        XYZ,
        "O 0.1 5.0 5.0\nH 0.857 5.586 5.0",
        "H 0.857 5.586 5.0\nO 0.1 5.0 5.0",
    );
    refused(&order, WATER, &["does not fit particle 4 (HW)", "OW, HW, HW"]);
    let bonded = with(
        WATER,
        "[[forces]]",
        "[topology]\nbonds = [[3, 7, \"odd\"]]\n[[forces]]",
    );
    refused(
        XYZ,
        &bonded,
        &[
            "takes particles 1, 2 and 3 for a molecule",
            "check molecule or residue numbers",
        ],
    );
}

#[test]
fn mistakes_in_bonds() {
    let all = "bonds = { stiff = 0.97 }";
    for (new, parts) in [
        (
            "bonds = { stif = 0.97 }",
            ["there are no bonds of kind `stif`", "there are stiff"],
        ),
        (
            "bonds = { stiff = -1 }",
            ["greater than zero", "constraints[0].bonds.stiff"],
        ),
        ("tolerance = 1e-9", ["missing key `bonds`", "pairs ="]),
        (
            "bonds = { stiff = 0.97 }\ntolerance = 1",
            ["`constraints[0].tolerance` is 1", "from 1e-13 to 1e-3"],
        ),
        (
            "pairs = [[1, 2]]",
            ["two particle numbers and a length", "constraints[0].pairs[0]"],
        ),
        (
            "pairs = [[1, 1, 0.97]]",
            ["names particle 1 twice", "constraints[0].pairs[0]"],
        ),
        (
            "pairs = [[1, 13, 0.97]]",
            ["a particle number from 1 to 12", "pairs[0][1]"],
        ),
        (
            "bonds = { stiff = 0.97 }\npairs = [[2, 1, 0.97]]",
            ["particles 2 and 1 are constrained twice", "leave one"],
        ),
        (
            "bonds = { stiff = 0.8 }",
            ["particles 1 and 2 are 0.97000", "their constraint is 0.80000"],
        ),
    ] {
        refused("", &with(CHAIN, all, new), &parts);
    }
    // Its own kind of bond has neither potential nor constraint.
    refused(
        "",
        &with(CHAIN, all, "pairs = [[1, 2, 0.97]]"),
        &["no [[forces]] act on the 8 bonds of kind `stiff`"],
    );
}

/// [`WATER`] by its model.
fn modeled() -> String {
    let text = with(
        WATER,
        "mass = \"15.9994 u\"\ncharge = -0.834",
        "model = \"tip3p:O\"",
    );
    let text = with(&text, "mass = \"1.008 u\"\ncharge = 0.417", "model = \"tip3p:H\"");
    with(
        &text,
        "species = [\"OW\", \"HW\", \"HW\"]\nbond = \"0.9572 Å\"\nbase = \"1.5139 Å\"",
        "model = \"tip3p\"",
    )
}

#[test]
fn rigid_waters_by_their_model() {
    let s = read(&modeled()).unwrap();
    let water = &s.system.constraints.waters[0];
    assert_eq!(water.molecules, [[0, 1, 2], [3, 4, 5]]);
    assert_eq!((water.bond, water.base), (0.09572, 0.15139));
    // What the file says wins.
    let text = with(
        &modeled(),
        "model = \"tip3p\"\n",
        "model = \"tip3p\"\nbond = \"0.96 Å\"\n",
    );
    let water = &read(&text).unwrap().system.constraints.waters[0];
    assert!((water.bond - 0.096).abs() < 1e-15);
    assert_eq!(water.base, 0.15139);
    let text = with(
        &modeled(),
        "model = \"tip3p\"\n",
        "model = \"tip3p\"\nspecies = [\"OW\", \"HW\", \"HW\"]\n",
    );
    assert_eq!(
        read(&text).unwrap().system.constraints.waters[0].molecules.len(),
        2
    );
    // Species without a model, named.
    let text = with(
        WATER,
        "bond = \"0.9572 Å\"\nbase = \"1.5139 Å\"",
        "model = \"tip3p\"",
    );
    assert_eq!(read(&text).unwrap().system.constraints.waters[0].bond, 0.09572);
}

#[test]
fn models_that_are_refused() {
    let changed = |from: &str, to: &str| with(&modeled(), from, to);
    refused(
        XYZ,
        &changed("model = \"tip3p\"\n", "model = \"tip4p\"\n"),
        &["tip4p", "tip3p, spce"],
    );
    refused(
        XYZ,
        &changed("model = \"tip3p\"\n", "model = \"spce\"\n"),
        &["no species is spce:O", "model = \"spce:O\"", "species = ["],
    );
    let two = changed("[species.Na]\nmass", "[species.Na]\nmodel = \"tip3p:O\"\nmass");
    refused(XYZ, &two, &["several species are tip3p:O: OW, Na"]);
    // Shapes that do not fit are found with the lengths of the model.
    let moved = XYZ.replace("H 2.757 2.586 2.0", "H 2.957 2.586 2.0");
    refused(&moved, &modeled(), &["does not have the shape"]);
    let without = changed("model = \"tip3p\"\n", "bond = \"1 Å\"\nbase = \"1.6 Å\"\n");
    refused(XYZ, &without, &["missing key `species`", "model = \"tip3p\""]);
    let dry = XYZ.replace("O ", "Na ").replace("H ", "Na ");
    refused(&dry, &modeled(), &["no particle of species `OW`"]);
}

/// Two four-site molecules, the second across the border of the cell, a linear one, and an ion.
const BODIES: &str = "12
Lattice=\"8 0 0 0 8 0 0 0 8\" Properties=species:S:1:pos:R:3
O 2.0 2.0 2.0
H 2.757 2.586 2.0
H 1.243 2.586 2.0
M 2.0 2.15 2.0
O 0.1 5.0 5.0
H 0.857 5.586 5.0
H 7.343 5.586 5.0
M 0.1 5.15 5.0
C 5.0 5.0 2.0
OC 6.16 5.0 2.0
OC 3.84 5.0 2.0
Na 5.0 2.0 6.0
";

fn bodies() -> String {
    let text = with(
        WATER,
        "[species.Na]",
        "[species.M]\nmass = 0\ncharge = -1.0\n[species.C]\nmass = \"12 u\"\n[species.OC]\nmass = \"16 u\"\n[species.Na]",
    );
    with(
        &text,
        "kind = \"rigid-water\"\nspecies = [\"OW\", \"HW\", \"HW\"]\nbond = \"0.9572 Å\"\nbase = \"1.5139 Å\"",
        "kind = \"rigid-body\"\nspecies = [\"OW\", \"HW\", \"HW\", \"M\"]\nsites = [[\"0 Å\", \"0 Å\", \"0 Å\"], \
         [\"0.757 Å\", \"0.586 Å\", \"0 Å\"], [\"-0.757 Å\", \"0.586 Å\", \"0 Å\"], [0, 0.015, 0]]\n\
         [[constraints]]\nkind = \"rigid-body\"\nspecies = [\"C\", \"OC\", \"OC\"]",
    )
}

#[test]
fn rigid_bodies() {
    let s = read_with(BODIES, &bodies()).unwrap();
    let [bent, line] = &s.system.constraints.bodies[..] else {
        panic!("{:?}", s.system.constraints);
    };
    assert_eq!(bent.particles, [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(line.particles, [8, 9, 10]);
    assert_eq!(
        (bent.shape.degrees_of_freedom(), line.shape.degrees_of_freedom()),
        (6, 5)
    );
    assert!((bent.shape.distance(0, 3) - 0.015).abs() < 1e-12);
    let [length, speed] = s.system.constraint_errors();
    assert!(length < 1e-12 && speed < 1e-12, "{length:e} {speed:e}");
    // Nothing acts within a body, and its particles are a molecule.
    assert_eq!(s.system.exclusions.pairs().count(), 6 + 6 + 3);
    assert_eq!(s.system.particles.molecules, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3]);
    let mut engine = CpuEngine::new(&s.system, &s.forces, &s.dynamics, &Settings::default()).unwrap();
    let seen = engine.observe().unwrap();
    assert_eq!(seen.degrees_of_freedom, 6.0 + 6.0 + 5.0 + 3.0 - 3.0);
    assert!((seen.temperature - 300.0).abs() < 1e-6);
    engine.advance(10, true).unwrap();
}

#[test]
fn mistakes_in_rigid_bodies() {
    for (old, new, parts) in [
        (
            "species = [\"C\", \"OC\", \"OC\"]",
            "species = [\"C\"]",
            ["fewer than two sites", "constraints[1].species"],
        ),
        (
            "species = [\"C\", \"OC\", \"OC\"]",
            "species = [\"C\", \"OC\", \"X\"]",
            ["X", "species"],
        ),
        (
            "species = [\"C\", \"OC\", \"OC\"]",
            "species = [\"OC\", \"C\", \"OC\"]",
            ["does not begin a molecule of OC, C, OC", "particle 9"],
        ),
        (
            "[0, 0.015, 0]]",
            "[0, 0.015]]",
            ["three coordinates", "constraints[0].sites"],
        ),
        (
            ", [0, 0.015, 0]]",
            "]",
            ["3 places for 4 species", "a place for each species"],
        ),
        (
            "[0, 0.015, 0]]",
            "[0, 0.03, 0]]",
            ["does not have the shape", "check the cell"],
        ),
        (
            "timestep = \"1 fs\"",
            "timestep = \"1 fs\"\n[[thermostat]]\nkind = \"bussi\"\nspecies = [\"M\"]\ntemperature = \"300 K\"\ntime = \"1 ps\"",
            ["sites without mass", "thermostat[0].species"],
        ),
        (
            "[0, 0.015, 0]]",
            "[0, \"1 ps\", 0]]",
            ["constraints[0].sites", "a length"],
        ),
        (
            "[species.M]\nmass = 0",
            "[species.M]\nmass = -1",
            ["species.M.mass", "-1"],
        ),
        (
            "[species.Na]\nmass = \"22.99 u\"",
            "[species.Na]\nmass = 0",
            ["Na) has no mass", "rigid-body"],
        ),
        (
            "kind = \"rigid-body\"\nspecies = [\"C\", \"OC\", \"OC\"]",
            "kind = \"rigid-body\"\nspecies = [\"C\", \"OC\", \"OC\"]\nbond = 1.0",
            ["unknown key `bond`", "valid keys: kind, species, sites"],
        ),
        (
            "kind = \"rigid-body\"\nspecies = [\"C\", \"OC\", \"OC\"]",
            "kind = \"bonds\"\npairs = [[1, 2, \"0.957 Å\"]]",
            [
                "belongs to a rigid molecule and to another constraint",
                "particle",
            ],
        ),
    ] {
        refused(BODIES, &with(&bodies(), old, new), &parts);
    }
    // The body turns, not its sites.
    let text = with(
        &bodies(),
        "[species.M]\nmass = 0",
        "[species.M]\nmass = 0\ninertia = [0.1, 0.1, 0.2]",
    );
    let text = with(&text, "[system]", "[system]\norientations = \"random\"");
    refused(BODIES, &text, &["turns by itself", "rigid body"]);
    // A distance that is short beside the body may be rounded by more than 5 % of itself; a bend that rounding made is none.
    let rounded = BODIES
        .replace("M 2.0 2.15 2.0", "M 2.0 2.14 2.0")
        .replace("OC 6.16 5.0 2.0", "OC 6.16 5.01 2.0");
    let s = read_with(&rounded, &bodies()).unwrap();
    assert_eq!(s.system.constraints.bodies[1].shape.degrees_of_freedom(), 5);
    assert!(s.warnings.is_empty(), "{:?}", s.warnings);
    // All mass in a point: nothing can turn it.
    let text = with(
        &bodies(),
        "[species.OC]\nmass = \"16 u\"",
        "[species.OC]\nmass = 0",
    );
    refused(BODIES, &text, &["all its mass is in one point"]);
    // Without the constraint, nothing carries the site.
    let text = with(
        WATER,
        "[species.Na]\nmass = \"22.99 u\"",
        "[species.Na]\nmass = 0",
    );
    refused(
        XYZ,
        &text,
        &["is zero, but particle 7 (Na) has no mass", "rigid-body"],
    );
}

#[test]
fn heavier_hydrogens() {
    let heavy = with(WATER, "[system]\n", "[system]\nhydrogen_mass = \"3.024 u\"\n");
    let s = read(&with(&heavy, "file =", "copies = [1, 1, 2]\nfile =")).unwrap();
    let oxygen = 15.9994 - 2.0 * (3.024 - 1.008);
    let expected = [oxygen, 3.024, 3.024, oxygen, 3.024, 3.024, 22.99].repeat(2);
    for (found, expected) in s.system.particles.masses.iter().zip(&expected) {
        assert!(
            (found - expected).abs() < 1e-12,
            "{:?}",
            s.system.particles.masses
        );
    }
    // Velocities of the start belong to these masses.
    let kinetic = debye::system::velocities::temperature(&s.system, 42.0 - 3.0 - 12.0);
    assert!((kinetic - 300.0).abs() < 1e-9, "{kinetic}");
    let facts = debye::run::setup(&s);
    let masses = facts.iter().find(|(name, _)| *name == "masses").unwrap();
    assert_eq!(masses.1, "OW 11.9674, HW 3.024 u");
    assert!(
        debye::run::setup(&read(WATER).unwrap())
            .iter()
            .all(|(name, _)| *name != "masses")
    );

    let free = &heavy[..heavy.find("[[constraints]]").unwrap()];
    let rest = &heavy[heavy.find("[integrator]").unwrap()..];
    for (text, parts) in [
        (
            format!("{free}{rest}"),
            [
                "hydrogen_mass",
                "particle 2 is a hydrogen bonded to 0 heavier particles",
            ],
        ),
        (
            heavy.replace("3.024 u", "1 u"),
            ["hydrogen_mass", "expected more than 1.02 u"],
        ),
        (
            heavy.replace("3.024 u", "8 u"),
            ["less than its hydrogens", "\"3.024 u\" is usual"],
        ),
        (
            heavy.replace("3.024 u", "-3 u"),
            ["hydrogen_mass", "greater than zero"],
        ),
        (
            heavy.replace("\"1.008 u\"", "\"2.014 u\""),
            ["no particle has the mass of hydrogen", "known by their mass"],
        ),
    ] {
        refused(XYZ, &text, &parts);
    }
    let reduced = with(CHAIN, "[system]\n", "[system]\nhydrogen_mass = 3.0\n");
    refused(
        XYZ,
        &reduced,
        &["reduced units have no hydrogens", "give them in [species]"],
    );
}
