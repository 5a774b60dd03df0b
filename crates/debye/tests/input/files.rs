//! Structure files and tables beside the input file.

use debye::expr::Vec3;
use debye::simulation::Simulation;

use crate::good::close;
use crate::{ARGON, SALT, with};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn with_file(text: &str) -> String {
    let start = ARGON.find("build =").unwrap();
    let end = start + ARGON[start..].find('\n').unwrap();
    with(ARGON, &ARGON[start..end], text)
}

#[test]
fn gro_file() {
    let folder = folder();
    let gro = "argon\n    2\n    1AR      AR    1   0.100   0.200   0.300  0.1000  0.2000  0.3000\n    2AR      AR    2   1.100   1.200   1.300  0.1000  0.2000  0.3000\n   3.00000   4.00000   5.00000\n";
    std::fs::write(folder.path().join("start.gro"), gro).unwrap();
    let text = with(
        &with_file("file = \"start.gro\""),
        "temperature = \"120 K\"\n",
        "",
    );
    std::fs::write(folder.path().join("argon.toml"), &text).unwrap();
    let s = Simulation::read(folder.path().join("argon.toml")).unwrap();
    assert_eq!(s.system.particles.positions[1], Vec3::new(1.1, 1.2, 1.3));
    assert_eq!(s.system.particles.velocities[1], Vec3::new(0.1, 0.2, 0.3));
    assert_eq!(s.system.particles.molecules, [0, 1]);
    assert_eq!(s.system.cell.vectors().z.z, 5.0);
    assert_eq!(s.output.folder, Some(folder.path().join("argon.out")));
    assert_eq!(s.input_path, folder.path().join("argon.toml"));
    let parse = |text: &str| Simulation::parse(text, folder.path(), "argon.toml");
    // Another cell, and copies.
    let more = parse(&with(
        &text,
        "start.gro\"",
        "start.gro\"\ncell = [9, 9, 9]\ncopies = [2, 1, 1]",
    ))
    .unwrap();
    assert_eq!(
        (more.system.particles.len(), more.system.cell.vectors().x.x),
        (4, 18.0)
    );
    // A species that the file has and the input has not.
    let error = parse(&with(&text, "[species.Ar]", "[species.Ar]\nnames = [\"XX\"]"))
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains("atom 1, `AR` of residue `AR`") && error.contains("names = [\"AR\"]"),
        "{error}"
    );
    // Two species claim one name.
    let error = parse(&with(
        &text,
        "[[forces]]",
        "[species.B]\nnames = [\"Ar\"]\n[[forces]]",
    ))
    .err()
    .unwrap();
    assert!(error.to_string().contains("species `Ar` claims too"), "{error}");
    // Overlap.
    std::fs::write(
        folder.path().join("start.gro"),
        gro.replace("1.100   1.200   1.300", "0.100   0.200   5.300"),
    )
    .unwrap();
    let error = parse(&text).err().unwrap();
    assert!(
        error.to_string().contains(
            "particles 1 (AR of residue AR 1) and 2 (AR of residue AR 2) lie on top of one another"
        ),
        "{error}"
    );
    assert_eq!(error.line, 3);
    // NaN in the file.
    std::fs::write(
        folder.path().join("start.gro"),
        gro.replace("0.300  0.1", "  nan  0.1"),
    )
    .unwrap();
    let error = parse(&text).err().unwrap().to_string();
    assert!(
        error.contains("start.gro, line 3") && error.contains("argon.toml:4"),
        "{error}"
    );
}

#[test]
fn xyz_without_a_cell() {
    let folder = folder();
    std::fs::write(folder.path().join("two.xyz"), "2\n\nAr 0 0 0\nAr 4 0 0\n").unwrap();
    let parse = |text: &str| Simulation::parse(text, folder.path(), "argon.toml");
    let error = parse(&with_file("file = \"two.xyz\"")).err().unwrap();
    assert!(error.to_string().contains("\"two.xyz\" has no cell"), "{error}");
    let s = parse(&with_file("file = \"two.xyz\"\nperiodic = [false, false, false]")).unwrap();
    close(s.system.particles.positions[1].x, 0.4);
    let s = parse(&with_file(
        "file = \"two.xyz\"\ncell = [3, 3, 3]\nlength_unit = \"nm\"",
    ))
    .unwrap();
    close(s.system.particles.positions[1].x, 4.0);
    let error = parse(&with_file(
        "file = \"two.xyz\"\ncell = [3, 3, 3]\nlength_unit = \"ps\"",
    ))
    .err()
    .unwrap();
    assert!(error.to_string().contains("is not a unit of a length"), "{error}");
}

#[test]
fn lammps_data() {
    let folder = folder();
    let data = "chain\n\n3 atoms\n2 bonds\n2 atom types\n1 bond types\n\n1.0 41.0 xlo xhi\n1.0 41.0 ylo yhi\n1.0 41.0 zlo zhi\n\nMasses\n\n1 12.0\n2 1.0\n\nAtoms # full\n\n1 1 1 0.5 2.0 2.0 2.0\n2 1 2 -0.5 3.0 2.0 2.0\n3 2 2 0.0 9.0 2.0 2.0\n\nVelocities\n\n1 0.01 0 0\n2 0 0 0\n3 0 0 0\n\nBonds\n\n1 1 1 2\n2 1 2 3\n";
    std::fs::write(folder.path().join("chain.data"), data).unwrap();
    let text = r#"units = "md"
[system]
file = "chain.data"
[species.C]
names = ["1"]
[species.H]
names = ["2"]
[[forces]]
kind = "lennard-jones"
cutoff = "1 nm"
epsilon = "1 kJ/mol"
sigma = "3 Å"
[[forces]]
kind = "harmonic-bond"
types = { 1 = { k = "1000 kJ/mol/nm^2", r0 = "1 Å" } }
[integrator]
kind = "nve"
timestep = "1 fs"
"#;
    let parse = |text: &str| Simulation::parse(text, folder.path(), "chain.toml");
    let error = parse(text).err().unwrap();
    assert!(
        error
            .to_string()
            .contains("does not say what unit its lengths are in"),
        "{error}"
    );
    let text = with(
        text,
        "data\"",
        "data\"\nlength_unit = \"Å\"\ntime_unit = \"fs\"\natom_style = \"full\"",
    );
    let s = parse(&text).unwrap_or_else(|e| panic!("{e}"));
    close(s.system.particles.positions[0].x, 0.1);
    close(s.system.particles.velocities[0].x, 1.0);
    assert_eq!(s.system.particles.masses, [12.0, 1.0, 1.0]);
    assert_eq!(s.system.particles.charges, [0.5, -0.5, 0.0]);
    assert_eq!(s.system.particles.molecules, [0, 0, 1]);
    assert_eq!(s.system.topology.bonds.len(), 2);
    assert_eq!(s.run.steps, 0);
    let dropped = with(&text, "[integrator]", "[topology]\nkeep = false\n[integrator]");
    let error = parse(&dropped).err().unwrap().to_string();
    assert!(
        error.contains("acts on nothing: the system has no bonds"),
        "{error}"
    );
    let (start, end) = (
        dropped.find("[[forces]]\nkind = \"harmonic").unwrap(),
        dropped.find("[topology]").unwrap(),
    );
    let dropped = parse(&with(&dropped, &dropped[start..end], "")).unwrap();
    assert!(dropped.system.topology.bonds.is_empty());
}

/// A chain with coefficients, and the forces that take them.
const CHAIN: &str = "chain\n\n4 atoms\n3 bonds\n2 angles\n1 dihedrals\n2 atom types\n1 bond types\n1 angle types\n\
    1 dihedral types\n\n0 41.0 xlo xhi\n0 41.0 ylo yhi\n0 41.0 zlo zhi\n\nMasses\n\n1 12.0\n2 14.0\n\n\
    Pair Coeffs # lj/cut/coul/long\n\n1 0.1 3.5\n2 0.2 3.0\n\nBond Coeffs # harmonic\n\n1 450 1.5\n\n\
    Angle Coeffs # harmonic\n\n1 50 109.5\n\nDihedral Coeffs # harmonic\n\n1 1.4 -1 3\n\nAtoms # full\n\n\
    1 1 1 0 2.0 2.0 2.0\n2 1 2 0 3.5 2.0 2.0\n3 1 2 0 4.0 3.4 2.0\n4 1 1 0 5.5 3.4 2.2\n\n\
    Bonds\n\n1 1 1 2\n2 1 2 3\n3 1 3 4\n\nAngles\n\n1 1 1 2 3\n2 1 2 3 4\n\nDihedrals\n\n1 1 1 2 3 4\n";
const CHAIN_INPUT: &str = r#"units = "md"
[system]
file = "chain.data"
length_unit = "Å"
energy_unit = "kcal/mol"
[species.C]
names = ["1"]
[species.N]
names = ["2"]
[[forces]]
kind = "lennard-jones"
cutoff = "1 nm"
mixing = "geometric"
[[forces]]
kind = "harmonic-bond"
[[forces]]
kind = "harmonic-angle"
[[forces]]
kind = "periodic-dihedral"
[integrator]
kind = "nve"
timestep = "1 fs"
"#;

#[test]
fn coefficients_of_lammps_data_are_parameters() {
    let folder = folder();
    std::fs::write(folder.path().join("chain.data"), CHAIN).unwrap();
    let parse = |text: &str| Simulation::parse(text, folder.path(), "chain.toml");
    let taken = parse(CHAIN_INPUT).unwrap_or_else(|e| panic!("{e}"));
    assert!(taken.warnings.is_empty(), "{:?}", taken.warnings);
    let mut text = CHAIN_INPUT.to_owned();
    for (after, parameters) in [
        (
            "mixing = \"geometric\"",
            "species = { C = { epsilon = \"0.1 kcal/mol\", sigma = \"3.5 Å\" }, N = { epsilon = \"0.2 kcal/mol\", sigma = \"3 Å\" } }",
        ),
        (
            "kind = \"harmonic-bond\"",
            "types = { 1 = { k = \"900 kcal/mol/Å^2\", r0 = \"1.5 Å\" } }",
        ),
        (
            "kind = \"harmonic-angle\"",
            "types = { 1 = { k = \"100 kcal/mol\", theta0 = \"109.5 deg\" } }",
        ),
        (
            "kind = \"periodic-dihedral\"",
            "types = { 1 = { k = \"1.4 kcal/mol\", n = 3, phase = \"180 deg\" } }",
        ),
    ] {
        text = with(&text, after, &format!("{after}\n{parameters}"));
    }
    let said = parse(&text).unwrap_or_else(|e| panic!("{e}"));
    // Parameters of their own win, and the file's are not passed over in silence.
    assert_eq!(said.warnings.len(), 4, "{:?}", said.warnings);
    assert!(
        said.warnings
            .iter()
            .any(|w| w.contains("chain.data") && w.contains("`Bond Coeffs` (style harmonic) is not used")),
        "{:?}",
        said.warnings
    );
    let same = |a: &[f64], b: &[f64]| {
        for (a, b) in a.iter().zip(b) {
            assert!((a - b).abs() <= 1e-12 * b.abs(), "{a} {b}");
        }
    };
    for (a, b) in taken.forces.pairs[0].rows.iter().zip(&said.forces.pairs[0].rows) {
        same(&a.coefficients, &b.coefficients);
        assert_eq!(a.cutoff, b.cutoff);
    }
    same(
        &taken.forces.bonds[0].rows[0].unwrap(),
        &said.forces.bonds[0].rows[0].unwrap(),
    );
    same(
        &taken.forces.angles[0].rows[0].unwrap(),
        &said.forces.angles[0].rows[0].unwrap(),
    );
    same(
        &taken.forces.dihedrals[0].rows[0].unwrap(),
        &said.forces.dihedrals[0].rows[0].unwrap(),
    );
}

#[test]
fn coefficients_that_cannot_be_taken_are_refused_with_the_reason() {
    let folder = folder();
    let parse = |data: &str, text: &str| {
        std::fs::write(folder.path().join("chain.data"), data).unwrap();
        Simulation::parse(text, folder.path(), "chain.toml")
    };
    let refused = |data: &str, text: &str, expected: &str| {
        let error = parse(data, text).err().unwrap().to_string();
        assert!(error.contains(expected), "{error}");
    };
    refused(
        CHAIN,
        &with(CHAIN_INPUT, "energy_unit = \"kcal/mol\"\n", ""),
        "energy_unit = \"kcal/mol\" beside file",
    );
    refused(
        &with(CHAIN, "1 450 1.5", "1 450 x"),
        CHAIN_INPUT,
        "`1 450 x` in Bond Coeffs",
    );
    // A style that is not known, or not named.
    for (style, told) in [(" # class2", "is of style class2"), ("", "names no style")] {
        let data = with(CHAIN, "Bond Coeffs # harmonic", &format!("Bond Coeffs{style}"));
        refused(
            &data,
            CHAIN_INPUT,
            &format!("the section `Bond Coeffs` of \"chain.data\" {told}"),
        );
        refused(
            &data,
            CHAIN_INPUT,
            "`harmonic-bond` takes those of style harmonic",
        );
        let data = with(
            CHAIN,
            "Pair Coeffs # lj/cut/coul/long",
            &format!("Pair Coeffs{style}"),
        );
        refused(
            &data,
            CHAIN_INPUT,
            &format!("the section `Pair Coeffs` of \"chain.data\" {told}"),
        );
        refused(
            &data,
            CHAIN_INPUT,
            "`lennard-jones` takes those of style lj/cut and lj/cut/coul/…",
        );
    }
    let data = with(CHAIN, "Bond Coeffs # harmonic", "Bond Coeffs");
    refused(&data, CHAIN_INPUT, "(`Bond Coeffs # harmonic`)");
    // How the parameters of unlike pairs were mixed is not in the file.
    let unmixed = with(CHAIN_INPUT, "mixing = \"geometric\"\n", "");
    refused(CHAIN, &unmixed, "mixing = \"geometric\" (its default for lj/cut)");
    // Types of one species that differ.
    let text = with(CHAIN_INPUT, "names = [\"1\"]", "names = [\"1\", \"2\"]");
    let text = with(&text, "[species.N]\nnames = [\"2\"]\n", "");
    refused(CHAIN, &text, "`2 0.2 3.0` in Pair Coeffs");
    // PairIJ gives every pair, and hybrid styles stand in the rows.
    let data = with(
        CHAIN,
        "Pair Coeffs # lj/cut/coul/long\n\n1 0.1 3.5\n2 0.2 3.0",
        "PairIJ Coeffs # hybrid/overlay\n\n1 1 lj/cut 0.1 3.5\n1 2 lj/cut 0.3 3.2\n2 2 lj/cut 0.2 3.0",
    );
    let s =
        parse(&data, &with(CHAIN_INPUT, "mixing = \"geometric\"\n", "")).unwrap_or_else(|e| panic!("{e}"));
    assert!(s.warnings.is_empty() && s.forces.pairs[0].rows.len() == 4);
    // Two styles in one section: what no term takes is told.
    let data = with(
        CHAIN,
        "Bond Coeffs # harmonic\n\n1 450 1.5",
        "Bond Coeffs # hybrid\n\n1 harmonic 450 1.5\n2 morse 1 1 1",
    );
    let s = parse(&data, CHAIN_INPUT).unwrap_or_else(|e| panic!("{e}"));
    assert!(
        s.warnings.len() == 1 && s.warnings[0].contains("1 of 2 rows"),
        "{:?}",
        s.warnings
    );
}

#[test]
fn what_is_odd_about_a_structure_file_is_a_warning() {
    let folder = folder();
    let pdb = "CRYST1   30.000   30.000   30.000  90.00  90.00  90.00 P 1           1\n\
        ATOM      1 AR  AAR  A   1       1.000   1.000   1.000  0.40  0.00          AR\n\
        ATOM      2 AR  BAR  A   1       1.500   1.000   1.000  0.60  0.00          AR\n\
        ATOM      3 AR   AR  A   2       9.000   1.000   1.000  1.00  0.00          AR\nEND\n";
    std::fs::write(folder.path().join("two.pdb"), pdb).unwrap();
    let s = Simulation::parse(&with_file("file = \"two.pdb\""), folder.path(), "argon.toml");
    let s = s.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(s.system.particles.len(), 2);
    close(s.system.particles.positions[0].x, 0.15);
    assert!(s.warnings[0].contains("1 alternate location"), "{:?}", s.warnings);
}

#[test]
fn tables_from_files() {
    let folder = folder();
    let rows: String = (0..=20)
        .map(|i| format!("{} {}\n", 1.0 + 0.05 * i as f64, (-(i as f64)).exp()))
        .collect();
    std::fs::write(folder.path().join("u.dat"), format!("# r u\n\n{rows}")).unwrap();
    let forces = "[[forces]]\nkind = \"tabulated\"\ntable = \"u.dat\"\n";
    let (start, end) = (
        SALT.find("[[forces]]").unwrap(),
        SALT.find("[integrator]").unwrap(),
    );
    let text = with(SALT, &SALT[start..end], forces);
    let s = Simulation::parse(&text, folder.path(), "t.toml").unwrap_or_else(|e| panic!("{e}"));
    close(s.forces.pairs[0].rows[0].cutoff, 2.0);
    std::fs::write(folder.path().join("u.dat"), format!("{rows}3.0 what\n")).unwrap();
    let error = Simulation::parse(&text, folder.path(), "t.toml")
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("u.dat, line 22: found `3.0 what`"), "{error}");
    let error = Simulation::parse(&text, "/nonexistent", "t.toml")
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("`forces[0].table` cannot be read"), "{error}");
}
