//! Molecules, bilayers, dispersions and liquids through input files.

use debye::system::Class;

use crate::bad::check;
use crate::{accept, parse, with};

/// A bilayer of a published lipid and one of the file's own.
pub const MEMBRANE: &str = r#"units = "md"
[system]
build = { kind = "bilayer", lipids = { DOPC = 8, single = 8 }, waters = 300, water = "W", seed = 2 }
[forcefield]
include = "elba"
[molecules.single]
beads = ["C", "P", "G", "E", "T", "T"]
bonds = [[1, 2], [2, 3, "P-G"], [3, 4], [4, 5], [5, 6]]
angles = [[1, 2, 3, "head"], [3, 4, 5, "straight"]]
axes = [[3, 2, "dipole"], [4, 5, "dipole"]]
length_unit = "Å"
positions = [[0, 0, 21], [0, 0, 16.5], ["0 nm", "0 nm", "1.2 nm"], [0, 0, 8], [0, 0, 4], [0, 0, 0]]
[integrator]
kind = "langevin"
timestep = "10 fs"
temperature = "303 K"
time = "1 ps"
[run]
steps = 10
"#;

#[test]
fn a_molecule_of_the_file_is_built_beside_one_of_a_set() {
    let s = accept(MEMBRANE);
    let (p, t) = (&s.system.particles, &s.system.topology);
    assert_eq!(p.len(), 8 * 15 + 8 * 6 + 300);
    assert_eq!(t.bonds.len(), 8 * 14 + 8 * 5);
    assert_eq!(t.angles.len(), 8 * 13 + 8 * 2);
    assert_eq!(t.axes.len(), 8 * 3 + 8 * 2);
    // Bonded pairs are excluded, as the set says.
    assert_eq!(s.system.exclusions.partners.len(), 2 * t.bonds.len());
    // The heads of one leaflet are followed by the lipids of the file's own.
    assert_eq!(p.molecules[..15], [0; 15]);
    let lipids = 4 * 15 + 4 * 6;
    assert_eq!(p.molecules[lipids], 8);
    let turns = (0..p.len())
        .filter(|&i| p.orientations.rotor(i).class() == Class::Linear)
        .count();
    assert_eq!(turns, 8 * 3 + 8 * 2 + 300);
    assert!(s.warnings.is_empty(), "{:?}", s.warnings);
}

#[test]
fn a_molecule_of_the_file_wins_over_that_of_a_set() {
    let own = with(
        &with(MEMBRANE, "single = 8", ""),
        "[molecules.single]",
        "[molecules.DOPC]",
    );
    assert_eq!(
        accept(&own.replace("8,  }", "8 }")).system.particles.len(),
        8 * 6 + 300
    );
}

#[test]
fn leaflets_of_their_own() {
    let build = "upper = { DOPC = 5, single = 2 }, lower = { DOPC = 4 }";
    let s = accept(&with(MEMBRANE, "lipids = { DOPC = 8, single = 8 }", build));
    assert_eq!(s.system.particles.len(), 9 * 15 + 2 * 6 + 300);
}

#[test]
fn the_seed_is_that_of_the_run_unless_given() {
    let build = |text: &str| accept(text).system.particles;
    let unseeded = with(MEMBRANE, ", seed = 2", "");
    let run = with(&unseeded, "steps = 10", "steps = 10\nseed = 2");
    assert_eq!(build(MEMBRANE).positions, build(&run).positions);
    assert_eq!(build(MEMBRANE).orientations, build(&run).orientations);
    assert_ne!(build(MEMBRANE).positions, build(&unseeded).positions);
}

#[test]
fn liquids_and_dispersions() {
    let base = with(
        MEMBRANE,
        "lipids = { DOPC = 8, single = 8 }, waters = 300, water = \"W\", seed = 2",
        "REST",
    );
    let liquid = with(
        &base,
        "\"bilayer\", REST",
        "\"liquid\", counts = { W = 500, T = 20 }, density = \"30 nm^-3\"",
    );
    let s = accept(&liquid);
    assert_eq!(s.system.particles.len(), 520);
    assert!((s.system.cell.volume() - 520.0 / 30.0).abs() < 1e-9);
    let by_mass = with(&liquid, "\"30 nm^-3\"", "\"0.997 g/cm^3\"");
    let system = accept(&by_mass).system;
    let mass: f64 = system.particles.masses.iter().sum();
    let density = mass / system.cell.volume() * system.units.grams_per_cubic_centimeter();
    assert!((density - 0.997).abs() < 1e-9, "{density}");
    let dispersion = "\"dispersion\", lipids = { DOPE = 7 }, waters = 600, relative_density = 0.8";
    let s = accept(&with(&base, "\"bilayer\", REST", dispersion));
    assert_eq!(s.system.particles.len(), 7 * 15 + 600);
}

#[test]
fn refused() {
    for (old, new, parts) in [
        (
            "DOPC = 8",
            "«DOPX» = 8",
            &[
                "there is no molecule `DOPX`",
                "did you mean `DOPC`?",
                "DMPC, POPC",
            ][..],
        ),
        (
            "DOPC = 8",
            "DOPC = «0»",
            &["is 0, expected a whole number of at least 1"],
        ),
        (
            "single = 8",
            "single = 7",
            &["15 lipids do not make two equal leaflets"],
        ),
        (
            "{ DOPC = 8, single = 8 }",
            "«{ }»",
            &["at least one lipid with its number"],
        ),
        (
            "water = \"W\"",
            "water = «\"Q\"»",
            &["there is no species `Q`", "declared are: W, C"],
        ),
        (
            "water = \"W\"",
            "water = «\"single\"»",
            &["there is no species `single`"],
        ),
        ("waters = 300, ", "", &["missing key `waters`"]),
        (
            "waters = 300",
            "waters = 300, «are» = 1",
            &["did you mean `area`?"],
        ),
        (
            "waters = 300",
            "waters = 300, area = \"0.7 nm\"",
            &["is not an area"],
        ),
        (
            "waters = 300",
            "waters = 300, area = \"0.1 nm^2\"",
            &["upright, need an area of", "the cell has 0.8"],
        ),
        (
            "waters = 300",
            "waters = 300, «upper» = { DOPC = 4 }",
            &["both `lipids` and `upper`"],
        ),
        (
            "lipids = { DOPC = 8, single = 8 }",
            "upper = { DOPC = 4 }",
            &["missing key `lower`"],
        ),
        (
            "[forcefield]",
            "cell = [\"2 nm\", \"2 nm\", \"4 nm\"]\n[forcefield]",
            &["lipids and water need", "along z, and the cell has 4.000"],
        ),
        (
            "seed = 2 }",
            "seed = 2, «area» = 0.7 }\ncell = [\"3 nm\", \"3 nm\", \"9 nm\"]",
            &["`area` makes a cell, but [system] has `cell`"],
        ),
        (
            "\"P\", \"G\"",
            "\"P\", «\"Glycerol\"»",
            &["there is no species `Glycerol`"],
        ),
        (
            "[[1, 2], [2, 3, \"P-G\"]",
            "[[1, «7»], [2, 3, \"P-G\"]",
            &["`molecules.single.bonds[0][1]` is 7, expected a bead number from 1 to 6"],
        ),
        (
            "[[1, 2], [2, 3, \"P-G\"]",
            "[[1, 2], «[2, 2, \"P-G\"]»",
            &["names bead 2 twice"],
        ),
        (
            "[[1, 2], [2, 3, \"P-G\"]",
            "[[1, 2], «[2]»",
            &["2 bead numbers, and the name of a kind"],
        ),
        (
            "[2, 3, \"P-G\"]",
            "«[2, 3, \"P-Q\"]»",
            &["is of the kind `P-Q`, of which no [[forces]] know a bond", "P-G"],
        ),
        (
            "[3, 4, 5, \"straight\"]",
            "«[3, 4, 5, \"straigth\"]»",
            &["did you mean `straight`?"],
        ),
        (
            "[4, 5, \"dipole\"]",
            "«[4, 5]»",
            &["is of the kind `E-T`, of which no [[forces]] know a restraint"],
        ),
        (
            "positions = [[0, 0, 21], [0, 0, 16.5], [\"0 nm\", \"0 nm\", \"1.2 nm\"], [0, 0, 8], [0, 0, 4], [0, 0, 0]]",
            "positions = «[[0, 0, 21], [0, 0, 16.5]]»",
            &["has 2 positions for 6 beads"],
        ),
        ("[0, 0, 16.5]", "«[0, 16.5]»", &["three coordinates"]),
        (
            "length_unit = \"Å\"",
            "length_unit = «\"fs\"»",
            &["is not a unit of length"],
        ),
        ("beads = [", "«bead» = [", &["did you mean `beads`?"]),
    ] {
        if new.contains('«') {
            check(MEMBRANE, old, new, parts);
        } else {
            let shown = parse(&with(MEMBRANE, old, new))
                .map(|_| ())
                .unwrap_err()
                .to_string();
            for part in parts {
                assert!(shown.contains(part), "`{part}` is not in:\n{shown}");
            }
        }
    }
}
