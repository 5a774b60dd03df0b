//! What is understood, key by key.

use std::path::Path;

use debye::expr::Vec3;
use debye::input::{AnalysisKind, Buffer, DeviceChoice, Minimize, MinimizeKind, Precision, Simulation};
use debye::integrate::{BarostatKind, Coupling, Scheme, ThermostatKind};
use debye::potentials::{ANGLES, BONDS, BondedSample, DIHEDRALS, PAIRS, Parameter, Parameters, Value};
use debye::system::{Units, velocities};
use debye::truncation::Truncation;

use crate::{ARGON, CHAIN, SALT, accept, parse, with};

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-12 * b.abs().max(1e-3), "{a} is not {b}");
}

#[test]
fn argon() {
    let s = accept(ARGON);
    assert_eq!((s.title.as_str(), s.system.units), ("argon", Units::Md));
    assert_eq!(s.system.particles.len(), 864);
    close(s.system.cell.volume(), (6.0 * 0.5256f64).powi(3));
    assert_eq!(s.system.species[0].mass, 39.948);
    let term = &s.forces.pairs[0];
    assert_eq!(
        (term.name.as_str(), term.truncation, term.rows.len()),
        ("lennard-jones", Truncation::Shift, 1)
    );
    let (epsilon, sigma) = (0.0104 * 96.485_332_123_310_02, 0.34f64);
    close(term.rows[0].cutoff, 1.2);
    close(term.rows[0].coefficients[1], 4.0 * epsilon * sigma.powi(6));
    let s6 = (sigma / 1.2).powi(6);
    close(term.rows[0].truncation[0], 4.0 * epsilon * s6 * (s6 - 1.0));
    close(s.forces.coulomb_constant, Units::Md.coulomb_constant());
    assert_eq!(
        (s.dynamics.timestep, s.dynamics.scheme),
        (0.002, Scheme::VelocityVerlet)
    );
    assert_eq!((s.run.steps, s.run.seed, s.dynamics.seed), (10_000, 1, 1));
    close(velocities::temperature(&s.system, 3.0 * 863.0), 120.0);
    assert_eq!(s.output.folder, std::env::temp_dir().join("test.out"));
    assert_eq!(s.output.table.unwrap().file, Path::new("energy.csv"));
    assert_eq!(s.output.trajectories[0].every, 1000);
    assert_eq!(s.output.checkpoint.unwrap().keep, 2);
    assert!(s.warnings.is_empty() && s.output.report, "{:?}", s.warnings);
    assert_eq!(s.input_text, ARGON);
}

#[test]
fn mixing() {
    let s = accept(SALT);
    let row = |s: &Simulation, i: usize, j: usize| s.forces.pairs[0].rows[i * 2 + j].coefficients[1];
    close(row(&s, 0, 1), 4.0 * 2.0);
    assert_eq!(row(&s, 0, 1), row(&s, 1, 0));
    let geometric = accept(&with(SALT, "lorentz-berthelot", "geometric"));
    close(row(&geometric, 0, 1), 8.0 * (0.8f64 * 1.2).powi(3));
    // An explicit pair wins, in either order, and may have a cut-off of its own.
    let explicit = accept(&with(
        SALT,
        "species = {",
        "pairs = { Cl-Na = { epsilon = 3, sigma = 1, cutoff = 1.5 } }\nspecies = {",
    ));
    close(row(&explicit, 0, 1), 12.0);
    assert_eq!(explicit.forces.pairs[0].rows[1].cutoff, 1.5);
    let none = accept(&with(
        SALT,
        "species = {",
        "pairs = { Na-Cl = \"none\" }\nspecies = {",
    ));
    assert_eq!(
        (
            none.forces.pairs[0].rows[1].cutoff,
            none.forces.pairs[0].rows[0].cutoff
        ),
        (0.0, 2.0)
    );
    // Reduced units: masses are one unless said, charges those of the species.
    assert_eq!(s.system.species[0].mass, 1.0);
    assert_eq!(
        (s.system.particles.masses[1], s.system.particles.charges[1]),
        (1.5, -1.0)
    );
    assert_eq!(s.dynamics.thermostats[0].kind, ThermostatKind::Langevin);
    assert_eq!(s.dynamics.thermostats[0].time, 2.0);
    assert_eq!(s.dynamics.remove_momentum_every, 0);
}

#[test]
fn chain() {
    let s = accept(CHAIN);
    assert_eq!(s.system.topology.bond_kinds, ["stiff", "soft"]);
    assert_eq!(s.system.particles.molecules, [0, 0, 0, 0, 1, 2]);
    assert_eq!(s.system.exclusions.of(0), [1, 2, 3]);
    let scaled = s.system.exclusions.scaled[0];
    assert_eq!((scaled.atoms, scaled.pair, scaled.charge), ([0, 3], 0.5, 0.8333));
    assert_eq!(s.forces.bonds[0].rows[1].unwrap()[0], 5.0);
    assert_eq!(s.dynamics.scheme, Scheme::Leapfrog);
    assert_eq!(s.dynamics.thermostats[1].species, [1]);
    assert_eq!(
        s.dynamics.thermostats[1].kind,
        ThermostatKind::NoseHoover { chain: 3 }
    );
    assert_eq!(s.dynamics.remove_momentum_every, 100);
    let plain = accept(&with(
        CHAIN,
        "scale_14 = { pair = 0.5, charge = 0.8333 }",
        "bonds = 1\npairs = [[1, 6]]",
    ));
    assert_eq!(plain.system.exclusions.of(0), [1, 5]);
    // Without the section, three bonds.
    let text = with(
        CHAIN,
        "[exclusions]\nscale_14 = { pair = 0.5, charge = 0.8333 }\n",
        "",
    );
    assert_eq!(accept(&text).system.exclusions.of(0), [1, 2, 3]);
    // One set of parameters for all kinds.
    let all = with(
        CHAIN,
        "types = { stiff = { k = 100.0, r0 = 1.0 }, soft = { k = 10.0, r0 = 1.0 } }",
        "k = 8\nr0 = 1.0",
    );
    assert_eq!(accept(&all).forces.bonds[0].rows[0].unwrap()[0], 4.0);
}

#[test]
fn every_other_key() {
    let text = with(
        ARGON,
        "[run]",
        r#"[barostat]
kind = "cell-rescale"
coupling = "semi-isotropic"
pressure = ["1 bar", "2 bar"]
time = "2 ps"
compressibility = "1e-4 1/bar"
temperature = "90 K"
every = 5
[minimize]
kind = "fire"
force_tolerance = "5 kJ/mol/nm"
max_steps = 500
max_displacement = "0.2 Å"
[neighbors]
buffer = "1 Å"
drift_tolerance = 1e-5
[[analyze]]
kind = "rdf"
every = 10
bins = 50
r_max = "1 nm"
species = "Ar-Ar"
[[analyze]]
kind = "rdf"
every = 20
[[analyze]]
kind = "msd"
every = 10
species = ["Ar"]
file = "moved.csv"
[[analyze]]
kind = "density"
every = 10
axis = "x"
bins = 30
[[analyze]]
kind = "vacf"
every = 10
lags = 77
[run]
precision = "double"
device = "cuda:1"
remove_momentum_every = 50"#,
    );
    let text = with(
        &text,
        "[output]",
        "[output]\nfolder = \"here\"\nfinal = [\"end.gro\", \"end.pdb\"]\nreport = false",
    );
    let text = with(
        &text,
        "trajectory = { every = 1000, file = \"argon.xtc\" }",
        "trajectory = [{ every = 5 }, { every = 9, file = \"a.dcd\", unwrap = true, species = \"Ar\" }]",
    );
    let text = with(&text, "file = \"argon.checkpoint\"", "keep = 4");
    let text = with(
        &text,
        "cutoff = \"12 Å\"\ntruncation = \"shift\"",
        "name = \"vdw\"\ncutoff = \"12 Å\"\ntruncation = \"switch\"\nswitch_from = \"10 Å\"",
    );
    let s = accept(&text);
    let barostat = s.dynamics.barostat.as_ref().unwrap();
    assert_eq!(
        (barostat.kind, barostat.coupling),
        (BarostatKind::CellRescale, Coupling::SemiIsotropic)
    );
    let bar = Units::Md.bar();
    for (found, expected) in barostat.pressure.iter().zip([1.0, 1.0, 2.0]) {
        close(found * bar, expected);
    }
    close(barostat.compressibility[2] / bar, 1e-4);
    assert_eq!(
        (barostat.time, barostat.temperature, barostat.every),
        (2.0, 90.0, 5)
    );
    let minimize = Minimize {
        kind: MinimizeKind::Fire,
        force_tolerance: 5.0,
        max_steps: 500,
        max_displacement: 0.2 * 0.1,
    };
    assert_eq!(s.minimize, Some(minimize));
    assert_eq!(
        (s.neighbors.buffer, s.neighbors.drift_tolerance),
        (Buffer::Length(0.1), Some(1e-5))
    );
    assert_eq!(
        (s.run.precision, s.run.device),
        (Precision::Double, DeviceChoice::Cuda(1))
    );
    assert_eq!(s.dynamics.remove_momentum_every, 50);
    let files: Vec<&str> = s.analyses.iter().map(|a| a.file.to_str().unwrap()).collect();
    assert_eq!(
        files,
        ["rdf.csv", "rdf-2.csv", "moved.csv", "density.csv", "vacf.csv"]
    );
    assert_eq!(
        s.analyses[0].kind,
        AnalysisKind::Rdf {
            bins: 50,
            r_max: Some(1.0),
            pair: Some([0, 0])
        }
    );
    assert_eq!(
        s.analyses[3].kind,
        AnalysisKind::Density {
            axis: 0,
            bins: 30,
            species: vec![]
        }
    );
    assert_eq!(
        s.analyses[4].kind,
        AnalysisKind::Vacf {
            lags: 77,
            species: vec![]
        }
    );
    assert_eq!((s.output.last.len(), s.output.report), (2, false));
    assert_eq!(s.output.folder, std::env::temp_dir().join("here"));
    assert_eq!(s.output.trajectories[0].file, Path::new("test.xtc"));
    assert!(s.output.trajectories[1].unwrap);
    let checkpoint = s.output.checkpoint.unwrap();
    assert_eq!(
        (checkpoint.file.as_path(), checkpoint.keep),
        (Path::new("test.checkpoint"), 4)
    );
    assert_eq!(
        (s.forces.pairs[0].name.as_str(), s.forces.pairs[0].truncation),
        ("vdw", Truncation::Switch { from: 1.0 })
    );
}

#[test]
fn builders() {
    let build = |new: &str| {
        let start = ARGON.find("build =").unwrap();
        let end = start + ARGON[start..].find('\n').unwrap();
        parse(&with(ARGON, &ARGON[start..end], new)).map(|s| s.system)
    };
    let system =
        build("build = { kind = \"lattice\", lattice = \"sc\", cells = 8, density = \"1.4 g/cm^3\" }")
            .unwrap();
    let density = 512.0 * 39.948 / system.cell.volume() * Units::Md.grams_per_cubic_centimetre();
    close(density, 1.4);
    let system = build("build = { kind = \"sphere\", lattice = \"sc\", radius_spacings = 4, spacing = \"5.256 Å\", side_spacings = 20 }").unwrap();
    assert_eq!(system.particles.len(), 257);
    close(system.cell.vectors().x.x, 20.0 * 0.5256);
    let same = build(
        "build = { kind = \"sphere\", lattice = \"sc\", radius = \"21.024 Å\", spacing = \"5.256 Å\" }",
    )
    .unwrap();
    assert_eq!(same.particles.len(), 257);
    let rounded = "build = { kind = \"sphere\", lattice = \"sc\", radius_spacings = 4, spacing = 0.5256, edge_spacing = 5.256 }";
    assert!(build(rounded).unwrap().particles.len() <= 257);
    let system = build("cell = [\"3 nm\", 3, 3]\nbuild = { kind = \"random\", counts = { Ar = 20 }, minimum_distance = \"3 Å\", attempts = 100 }\ncopies = [1, 2, 1]").unwrap();
    assert_eq!((system.particles.len(), system.cell.vectors().y.y), (40, 6.0));
    let triclinic =
        build("cell = [[3, 0, 0], [1, 3, 0], [0, 1, 3]]\nbuild = { kind = \"random\", counts = { Ar = 5 } }")
            .unwrap();
    assert_eq!(triclinic.cell.vectors().y.x, 1.0);
    let open = build("periodic = false\nbuild = { kind = \"lattice\", lattice = \"fcc\", cells = [2, 2, 2], spacing = 0.5 }").unwrap();
    assert_eq!(open.cell.periodic(), [false; 3]);
    let polymer = with(
        SALT,
        &SALT[SALT.find("build").unwrap()..SALT.find("[species.Na]").unwrap()],
        "build = { kind = \"polymer\", chains = 3, beads = 5, density = 0.3, species = \"Na\", bond_kind = \"fene\", bond_length = 1.0, minimum_distance = 0.7, seed = 5 }\n[exclusions]\nbonds = 0\n",
    );
    let polymer = with(
        &polymer,
        "[integrator]",
        "[[forces]]\nkind = \"harmonic-bond\"\ntypes = { fene = { k = 1, r0 = 1 }, other = { k = 1, r0 = 1 } }\n[integrator]",
    );
    let s = accept(&polymer);
    assert_eq!(
        (s.system.particles.len(), s.system.topology.bonds.len()),
        (15, 12)
    );
    assert!(s.system.exclusions.is_empty());
    // Cl is declared and used nowhere, as is the kind `other`: odd, not wrong.
    assert_eq!(s.system.species.len(), 1);
    assert!(
        s.warnings.iter().any(|w| w.contains("`Cl`")) && s.warnings.iter().any(|w| w.contains("`other`"))
    );
}

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
    let dropped = parse(&with(
        &text,
        "[integrator]",
        "[topology]\nkeep = false\n[integrator]",
    ))
    .unwrap();
    assert!(
        dropped.system.topology.bonds.is_empty() && dropped.warnings.len() == 1,
        "{:?}",
        dropped.warnings
    );
}

/// A value as it stands in a file.
fn written(value: &Value) -> String {
    match value {
        Value::Number(x) => format!("{x:?}"),
        Value::Samples(rows) => format!("{rows:?}"),
    }
}

fn keys(parameters: &[Parameter], values: &[Value]) -> String {
    let pair = |(p, v): (&Parameter, &Value)| format!("{} = {}", p.name, written(v));
    parameters
        .iter()
        .zip(values)
        .map(pair)
        .collect::<Vec<_>>()
        .join(", ")
}

/// Every potential of the registers takes its samples from an input file, and gives the same numbers.
#[test]
fn every_potential() {
    let start = SALT.find("[[forces]]").unwrap();
    let end = SALT.find("[integrator]").unwrap();
    for family in PAIRS {
        for sample in family.samples() {
            let (name, keys) = (family.name(), keys(family.parameters(), &sample.values));
            let forces = format!(
                "[[forces]]\nkind = \"{name}\"\ncutoff = {:?}\npairs = {{ Na-Na = {{ {keys} }}, Na-Cl = {{ {keys} }}, Cl-Cl = \"none\" }}\n",
                sample.to
            );
            let s = accept(&with(SALT, &SALT[start..end], &forces));
            let term = &s.forces.pairs[0];
            assert_eq!((term.name.as_str(), term.rows[3].cutoff), (name, 0.0));
            assert!(
                term.rows[0].cutoff > 0.0 && term.rows[0].cutoff <= sample.to,
                "{name}"
            );
            assert_eq!(term.rows[1], term.rows[2]);
        }
    }
    let chain = with(
        CHAIN,
        "bonds = [[1, 2, \"stiff\"], [2, 3, \"soft\"], [3, 4, \"soft\"]]",
        "bonds = [[1, 2, \"t\"]]\nangles = [[1, 2, 3, \"t\"]]\ndihedrals = [[1, 2, 3, 4, \"t\"]]\nimpropers = [[4, 3, 2, 1, \"t\"]]",
    );
    let start = chain.find("[[forces]]\nkind = \"harmonic-bond\"").unwrap();
    let end = chain.find("[integrator]").unwrap();
    let line = |name: &str, parameters: &[Parameter], sample: &BondedSample, more: &str| {
        let keys = keys(parameters, &sample.values);
        format!("[[forces]]\nkind = \"{name}\"\ntypes = {{ t = {{ {keys} }} }}\n{more}")
    };
    let mut forces = String::new();
    for f in BONDS {
        forces += &f
            .samples()
            .iter()
            .map(|s| line(f.name(), f.parameters(), s, ""))
            .collect::<String>();
    }
    for f in ANGLES {
        forces += &f
            .samples()
            .iter()
            .map(|s| line(f.name(), f.parameters(), s, ""))
            .collect::<String>();
    }
    for f in DIHEDRALS {
        for s in f.samples() {
            forces += &line(f.name(), f.parameters(), &s, "");
            forces += &line(f.name(), f.parameters(), &s, "on = \"impropers\"\n");
        }
    }
    let s = accept(&with(&chain, &chain[start..end], &forces));
    assert!(s.forces.bonds.len() >= BONDS.len() && s.forces.angles.len() >= ANGLES.len());
    assert_eq!(s.forces.dihedrals.len(), s.forces.impropers.len());
    for (term, family) in s
        .forces
        .bonds
        .iter()
        .flat_map(|t| BONDS.iter().find(|f| f.name() == t.family.name()).map(|f| (t, f)))
    {
        let rows = term.rows[0].unwrap();
        assert!(
            family
                .samples()
                .iter()
                .any(|s| family.coefficients(Parameters(&s.values)) == rows)
        );
    }
    // Terms of one kind are told apart in tables.
    let mut names: Vec<&str> = s.forces.dihedrals.iter().map(|t| t.name.as_str()).collect();
    names.extend(s.forces.impropers.iter().map(|t| t.name.as_str()));
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
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
