//! What is understood, key by key.

use std::path::Path;

use debye::engines::{ListKind, Precision};
use debye::integrate::{BarostatKind, Coupling, Scheme, ThermostatKind};
use debye::simulation::{Buffer, DeviceChoice, Minimize, MinimizeKind, Simulation};
use debye::system::{Units, velocities};
use debye::truncation::Truncation;

use crate::{ARGON, CHAIN, SALT, accept, parse, with};

pub(crate) fn close(a: f64, b: f64) {
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
    assert_eq!(s.output.folder, Some(std::env::temp_dir().join("test.out")));
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
    assert_eq!(s.dynamics.thermostats[1].kind, ThermostatKind::Berendsen);
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
lists = "particles"
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
        (s.neighbors.buffer, s.neighbors.drift_tolerance, s.neighbors.lists),
        (Buffer::Length(0.1), Some(1e-5), Some(ListKind::Particles))
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
    let requests = [
        (0, "Rdf { bins: 50, r_max: Some(1.0), pair: Some([0, 0]) }"),
        (3, "Density { axis: 0, bins: 30, species: [] }"),
        (4, "Vacf { lags: 77, species: [] }"),
    ];
    for (number, text) in requests {
        assert_eq!(format!("{:?}", s.analyses[number].request), text);
    }
    assert_eq!((s.output.last.len(), s.output.report), (2, false));
    assert_eq!(s.output.folder, Some(std::env::temp_dir().join("here")));
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
    let density = 512.0 * 39.948 / system.cell.volume() * Units::Md.grams_per_cubic_centimeter();
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
