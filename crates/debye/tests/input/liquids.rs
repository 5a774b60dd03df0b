//! Models, and systems of salt and water, through input files.

use debye::run::export::{Moment, write_system};
use debye::simulation::Simulation;
use debye::system::builders;
use debye_io::Format;

use crate::good::close;
use crate::{accept, parse, with};

/// A box of TIP3P.
pub const WATER: &str = r#"units = "md"
[system]
build = { kind = "water", molecules = 64 }
[species.OW]
model = "tip3p:O"
[species.HW]
model = "tip3p:H"
[[forces]]
kind = "lennard-jones"
cutoff = "0.6 nm"
mixing = "lorentz-berthelot"
[integrator]
kind = "nve"
timestep = "1 fs"
[run]
steps = 10
seed = 4
"#;

/// Salt in SPC/E.
pub const BRINE: &str = r#"units = "md"
[system]
build = { kind = "solution", model = "spce", molecules = 100, molality = "1 mol/kg", seed = 2 }
[species.OW]
model = "spce:O"
[species.HW]
model = "spce:H"
[species.Na]
model = "joung-cheatham-spce:Na+"
[species.Cl]
model = "joung-cheatham-spce:Cl-"
[[forces]]
kind = "lennard-jones"
cutoff = "0.6 nm"
mixing = "lorentz-berthelot"
[integrator]
kind = "nve"
timestep = "1 fs"
"#;

#[test]
fn a_model_gives_mass_charge_and_parameters() {
    let s = accept(WATER);
    assert_eq!(s.system.particles.len(), 192);
    assert_eq!(s.system.particles.charges[..3], [-0.834, 0.417, 0.417]);
    assert_eq!(s.system.particles.masses[..3], [15.999, 1.008, 1.008]);
    let term = &s.forces.pairs[0];
    // Oxygen with oxygen only: 4 ε σ⁶ and 4 ε σ¹².
    let (epsilon, sigma) = (0.635_968, 0.315_075_24f64);
    close(term.rows[0].coefficients[1], 4.0 * epsilon * sigma.powi(6));
    close(term.rows[0].cutoff, 0.6);
    for row in &term.rows[1..] {
        assert_eq!(row.cutoff, 0.0);
    }
    // The seed of the run is that of the builder.
    let model = debye::system::models::water("tip3p").unwrap();
    let built = builders::water(model).molecules(64).seed(4).build().unwrap();
    assert_eq!(s.system.particles.positions, built.particles.positions);
}

#[test]
fn what_the_file_says_wins() {
    let text = with(
        WATER,
        "model = \"tip3p:H\"",
        "model = \"tip3p:H\"\nmass = 2.014\ncharge = \"0.4 e\"",
    );
    let s = accept(&text);
    assert_eq!(s.system.particles.masses[1], 2.014);
    assert_eq!(s.system.particles.charges[1], 0.4);
    let lj = |more: &str| {
        accept(&with(WATER, "mixing =", &format!("{more}\nmixing =")))
            .forces
            .pairs[0]
            .clone()
    };
    let c6 = |epsilon: f64, sigma: f64| 4.0 * epsilon * sigma.powi(6);
    // One of two parameters by species.
    let term = lj("species = { OW = { epsilon = 1.0 } }");
    close(term.rows[0].coefficients[1], c6(1.0, 0.315_075_24));
    assert_eq!(term.rows[1].cutoff, 0.0);
    // Hydrogens that do interact.
    let term = lj("species = { HW = { epsilon = 0.25, sigma = 0.04 } }");
    close(
        term.rows[1].coefficients[1],
        c6((0.25 * 0.635_968f64).sqrt(), 0.5 * (0.04 + 0.315_075_24)),
    );
    // The same for all, and one pair.
    let term = lj("epsilon = 0.5\nsigma = 0.3");
    for row in &term.rows {
        close(row.coefficients[1], c6(0.5, 0.3));
    }
    let term = lj("pairs = { OW-HW = { epsilon = 0.5, sigma = 0.2 } }");
    close(term.rows[1].coefficients[1], c6(0.5, 0.2));
    // Other potentials take nothing from models.
    let text = with(WATER, "kind = \"lennard-jones\"", "kind = \"wca\"");
    let error = parse(&text).err().unwrap().to_string();
    assert!(error.contains("no parameters for the pair OW-OW"), "{error}");
}

#[test]
fn no_energy_means_no_interaction() {
    let term = |sigma: &str| {
        let values = format!("species = {{ OW = {{ epsilon = 0, sigma = {sigma} }} }}");
        accept(&with(WATER, "mixing =", &format!("{values}\nmixing =")))
            .forces
            .pairs[0]
            .clone()
    };
    for row in term("0.3").rows.iter().chain(&term("0").rows) {
        assert_eq!(row.cutoff, 0.0);
    }
}

#[test]
fn solutions_and_salts() {
    let s = accept(BRINE);
    let system = &s.system;
    let names: Vec<&str> = system.species.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["OW", "HW", "Na", "Cl"]);
    assert_eq!(system.particles.len(), 3 * 96 + 4);
    assert!(system.particles.charges.iter().sum::<f64>().abs() < 1e-9);
    assert!(
        s.warnings.len() == 1 && s.warnings[0].contains("292 particles have charges"),
        "{:?}",
        s.warnings
    );
    // Every way to say it.
    let same = |old: &str, new: &str| assert_eq!(accept(&with(BRINE, old, new)).system, *system, "{new}");
    same("\"1 mol/kg\"", "1.0");
    same("molality = \"1 mol/kg\"", "pairs = 2");
    same("model = \"spce\", ", "");
    same(
        "seed = 2",
        "seed = 2, ions = [\"Na\", \"Cl\"], species = [\"OW\", \"HW\"]",
    );
    let dense = with(BRINE, "seed = 2", "seed = 2, density = \"0.997 g/cm^3\"");
    close(accept(&dense).system.cell.volume(), system.cell.volume());
    let cell = accept(&with(BRINE, "build =", "cell = [2, 2, 2]\nbuild ="));
    close(cell.system.cell.volume(), 8.0);

    let salt = |build: &str| {
        let text = with(
            BRINE,
            "build = { kind = \"solution\", model = \"spce\", molecules = 100, molality = \"1 mol/kg\", seed = 2 }",
            build,
        );
        with(
            &text,
            "[species.OW]\nmodel = \"spce:O\"\n[species.HW]\nmodel = \"spce:H\"\n",
            "",
        )
    };
    let s = accept(&salt("build = { kind = \"nacl\", cells = 2 }"));
    assert_eq!(s.system.particles.len(), 64);
    close(s.system.cell.vectors().x.x, 1.128);
    assert_eq!(s.system.particles.charges.iter().sum::<f64>(), 0.0);
    // σ and ε as the benchmarks of this project have them.
    let row = &s.forces.pairs[0].rows[0];
    let benchmark = 4.0 * 1.475_453_3 * 0.215_953_8f64.powi(6);
    assert!((row.coefficients[1] / benchmark - 1.0).abs() < 1e-5);
    // Without models: charges of one, and lattice constants of salts are asked for.
    let plain = with(
        &salt("build = { kind = \"nacl\", cells = [1, 2, 1] }"),
        "model = \"joung-cheatham-spce:Na+\"",
        "mass = 22.99",
    );
    let plain = with(&plain, "model = \"joung-cheatham-spce:Cl-\"", "mass = 35.45");
    let plain = with(
        &plain,
        "cutoff = \"0.6 nm\"",
        "cutoff = 0.6\nepsilon = 1\nsigma = 0.2",
    );
    let s = accept(&plain);
    assert_eq!(s.system.species[0].charge, 1.0);
    assert_eq!(s.system.species[1].charge, -1.0);
    let other = plain.replace("species.Na", "species.K");
    let error = parse(&other).err().unwrap().to_string();
    assert!(error.contains("missing key `spacing`"), "{error}");
    accept(&with(
        &other,
        "cells = [1, 2, 1]",
        "cells = [1, 2, 1], spacing = \"6.29 Å\"",
    ));
}

/// What is written is read back with its molecules, in every format with atoms.
#[test]
fn files_keep_molecules_together() {
    let folder = tempfile::tempdir().unwrap();
    let s = accept(&with(BRINE, "[species.OW]", "[species.OW]\ncharge = -0.8"));
    let system = &s.system;
    for (format, accuracy) in [
        (Format::GRO, 9e-4),
        (Format::PDB, 9e-5),
        (Format::PQR, 9e-6),
        (Format::XYZ, 1e-14),
        (Format::NATIVE, 0.0),
    ] {
        let name = format!("brine.{}", format.extensions()[0]);
        let now = Moment {
            title: "brine",
            step: 0,
            time: 0.0,
            particles: &system.particles,
            cell: &system.cell,
        };
        write_system(&folder.path().join(&name), system, now).unwrap();
        let build = &BRINE[BRINE.find("build =").unwrap()..BRINE.find("\n[species.OW]").unwrap()];
        let text = with(BRINE, build, &format!("file = \"{name}\""));
        let text = with(&text, "[species.OW]", "[species.OW]\ncharge = -0.8");
        let read = Simulation::parse(&text, folder.path(), "brine.toml").unwrap_or_else(|e| panic!("{e}"));
        let (found, given) = (&read.system.particles, &system.particles);
        assert_eq!(found.molecules, given.molecules, "{name}");
        assert_eq!(found.species, given.species, "{name}");
        assert_eq!(found.charges, given.charges, "{name}");
        for (a, b) in found.positions.iter().zip(&given.positions) {
            assert!((*a - *b).norm() <= accuracy, "{name}: {}", (*a - *b).norm());
        }
        // Copies keep molecules whole and apart.
        let many = with(&text, "[species.OW]", "copies = [2, 1, 3]\n[species.OW]");
        let many = Simulation::parse(&many, folder.path(), "brine.toml").unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(many.system.particles.len(), 6 * given.len());
        let molecules = 1 + *given.molecules.iter().max().unwrap() as usize;
        let most = 1 + *many.system.particles.molecules.iter().max().unwrap() as usize;
        assert_eq!(most, 6 * molecules);
    }
}

/// Charges of a PQR file are those of its atoms, unless the species says otherwise.
#[test]
fn charges_from_files() {
    let folder = tempfile::tempdir().unwrap();
    let pqr = "ATOM 1 C LIG 1 0.0 0.0 0.0 0.7 1.7\nATOM 2 O LIG 1 1.2 0.0 0.0 -0.4 1.5\nATOM 3 O LIG 1 -1.2 0.0 0.0 0.7 1.5\nEND\n";
    std::fs::write(folder.path().join("ligand.pqr"), pqr).unwrap();
    let file = r#"units = "md"
[system]
file = "ligand.pqr"
cell = [2, 2, 2]
[species.C]
mass = 12.011
[species.O]
mass = 15.999
[integrator]
kind = "nve"
timestep = "1 fs"
"#;
    let read =
        |text: &str| Simulation::parse(text, folder.path(), "l.toml").unwrap_or_else(|e| panic!("{e}"));
    let s = read(file);
    assert_eq!(s.system.particles.charges, [0.7, -0.4, 0.7]);
    assert_eq!(s.system.particles.molecules, [0, 0, 0]);
    let s = read(&with(file, "mass = 15.999", "mass = 15.999\ncharge = -0.5"));
    assert_eq!(s.system.particles.charges, [0.7, -0.5, -0.5]);
    let s = read(&with(file, "mass = 15.999", "model = \"spce:O\""));
    assert_eq!(s.system.particles.charges, [0.7, -0.8476, -0.8476]);

    // The same molecule in water, neutralized.
    let solvated = with(
        file,
        "file = \"ligand.pqr\"\ncell = [2, 2, 2]",
        "build = { kind = \"solution\", solute = \"ligand.pqr\", padding = \"0.8 nm\", neutralize = true }",
    );
    let solvated = with(
        &solvated,
        "[species.C]",
        "[species.OW]\nmodel = \"spce:O\"\n[species.HW]\nmodel = \"spce:H\"\n[species.Na]\nmodel = \"joung-cheatham-spce:Na+\"\n[species.Cl]\nmodel = \"joung-cheatham-spce:Cl-\"\n[species.C]",
    );
    let s = read(&solvated);
    assert_eq!(s.system.particles.charges[..3], [0.7, -0.4, 0.7]);
    assert!(s.system.particles.charges.iter().sum::<f64>().abs() < 1e-9);
    close(s.system.cell.vectors().x.x, 1.84);
    assert!(s.warnings.iter().any(|w| w.contains("`Na`")), "{:?}", s.warnings);
    std::fs::write(
        folder.path().join("ligand.pqr"),
        pqr.replace("0.7 1.7", "0.9 1.7"),
    )
    .unwrap();
    let error = Simulation::parse(&solvated, folder.path(), "l.toml")
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("the solute has the charge 1.2"), "{error}");
}

/// Old text, new text with the place marked, parts of the message.
const REFUSED: &[(&str, &str, &[&str])] = &[
    (
        "model = \"tip3p:O\"",
        "model = \"tip3p:X\"",
        &["unknown model `tip3p:X`", "tip3p:O"],
    ),
    (
        "model = \"tip3p:O\"",
        "model = \"tip4p:O\"",
        &["unknown model `tip4p:O`"],
    ),
    (
        "model = \"tip3p:O\"",
        "model = 3",
        &["`species.OW.model`", "text"],
    ),
    (
        "model = \"tip3p:O\"",
        "modle = \"tip3p:O\"",
        &["did you mean `model`"],
    ),
    (
        "molecules = 64",
        "molecules = 0",
        &["a whole number of at least 1"],
    ),
    (
        "molecules = 64",
        "molecules = 1.5",
        &["a whole number of at least 1"],
    ),
    (
        "molecules = 64",
        "molecules = 1_000_000_000",
        &["would make 3000000000 particles"],
    ),
    (
        "build = { kind = \"water\", molecules = 64 }",
        "cell = [300, 400, 500]\nbuild = { kind = \"water\" }",
        &["would make"],
    ),
    (", molecules = 64", "", &["missing key `molecules`", "cell ="]),
    ("molecules = 64", "molecule = 64", &["did you mean `molecules`"]),
    (
        "molecules = 64",
        "molecules = 64, density = \"3 nm\"",
        &["a mass density"],
    ),
    (
        "molecules = 64",
        "molecules = 64, density = 0",
        &["greater than zero"],
    ),
    (
        "molecules = 64",
        "molecules = 64, density = \"5 g/cm^3\"",
        &["cannot build this system", "lower the density"],
    ),
    (
        "molecules = 64",
        "molecules = 64, model = \"tip5p\"",
        &["unknown water model `tip5p`", "tip3p, spce"],
    ),
    (
        "molecules = 64",
        "molecules = 64, model = \"spce\"",
        &["no species has model = \"spce:O\"", "[species.OW]"],
    ),
    (
        "molecules = 64",
        "molecules = 64, species = \"OW\"",
        &["two species, oxygen and hydrogen"],
    ),
    (
        "molecules = 64",
        "molecules = 64, species = [\"OW\", \"OW\"]",
        &["two different species"],
    ),
    (
        "molecules = 64",
        "molecules = 64, species = [\"OW\", \"XX\"]",
        &["there is no species `XX`"],
    ),
    (
        "model = \"tip3p:H\"",
        "mass = 1.008",
        &["no species has model = \"tip3p:H\""],
    ),
    (
        "build = {",
        "cell = [2, 2, 2]\nbuild = { density = 600,",
        &["`density` follows from"],
    ),
    (
        "kind = \"water\", molecules = 64",
        "kind = \"nacl\", cells = 2",
        &["`HW` has the charge 0.417"],
    ),
    (
        "mixing = \"lorentz-berthelot\"",
        "mixing = \"none\"",
        &[
            "no parameters for the pair OW-HW",
            "set `mixing` and give `species`",
        ],
    ),
];

#[test]
fn bad_water() {
    for (old, new, parts) in REFUSED {
        let text = with(WATER, old, new);
        let Err(error) = parse(&text) else {
            panic!("accepted: {new}")
        };
        let shown = error.to_string();
        assert!(error.line > 0, "{shown}");
        for part in *parts {
            assert!(shown.contains(part), "`{part}` is not in:\n{shown}");
        }
    }
    let lj = WATER
        .replace("\"md\"", "\"lj\"")
        .replace("\"1 fs\"", "0.001")
        .replace("\"0.6 nm\"", "2.5");
    let error = parse(&lj).err().unwrap().to_string();
    assert!(error.contains("is a model in md units"), "{error}");
}

#[test]
fn bad_solutions() {
    let molality = "molality = \"1 mol/kg\"";
    for (old, new, parts) in [
        (
            molality,
            "molality = \"1 mol/L\"",
            "an amount per mass such as \"1 mol/kg\"",
        ),
        (molality, "molality = -1", "greater than zero"),
        (molality, "molality = 0.01", "hold no pair of ions"),
        (molality, "molality = 1, pairs = 3", "both `molality` and `pairs`"),
        (molality, "pairs = 0", "a whole number of at least 1"),
        (molality, "pairs = 60", "ask for more water or less salt"),
        (
            molality,
            "pairs = 20, ions_apart = \"1 nm\"",
            "lower that distance",
        ),
        (molality, "seed = 3", "missing key `molality`"),
        (
            molality,
            "molality = 1, ions = [\"Cl\", \"Na\"]",
            "name a cation of charge +q first",
        ),
        (
            molality,
            "molality = 1, ions = \"Na\"",
            "two species, cation and anion",
        ),
        (molality, "molality = 1, padding = 1", "belongs to `solute`"),
        (molality, "molality = 1, neutralize = true", "belongs to `solute`"),
        (
            molality,
            "molality = 1, solute = \"x.pqr\"",
            "both `solute` and `molecules`",
        ),
        (
            "molecules = 100, ",
            "solute = \"missing.pqr\", ",
            "which does not exist",
        ),
        (
            "model = \"joung-cheatham-spce:Cl-\"",
            "mass = 35.45",
            "missing key `ions`",
        ),
    ] {
        let text = with(BRINE, old, new).replace("seed = 3, seed = 2", "seed = 3");
        let Err(error) = parse(&text) else {
            panic!("accepted: {new}")
        };
        let shown = error.to_string();
        assert!(shown.contains(parts), "`{parts}` is not in:\n{shown}");
    }
}
