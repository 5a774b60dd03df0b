//! Structure files and tables beside the input file.

use debye::expr::Vec3;
use debye::input::Simulation;

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
    assert_eq!(s.output.folder, folder.path().join("argon.out"));
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
        error
            .to_string()
            .contains("particles 1 and 2 lie on top of one another"),
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
