//! Salt, water and solutions from the command line.

use crate::lab::Lab;

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

/// What is printed is an input file as it stands: `energy` takes it.
#[test]
fn what_is_printed_runs() {
    let lab = Lab::new();
    for (arguments, particles) in [
        (vec!["nacl", "--cells", "2", "-o", "nacl.gro"], 64),
        (
            vec![
                "nacl",
                "--salt",
                "KBr",
                "--spacing",
                "6.6 Å",
                "--cells",
                "1,2,1",
                "-o",
                "kbr.pqr",
            ],
            16,
        ),
        (
            vec!["water", "--model", "tip3p", "--molecules", "50", "-o", "w.xyz"],
            150,
        ),
        (vec!["water", "--cell", "1.5 nm", "-o", "w.pdb"], 336),
        (
            vec![
                "solution",
                "--molecules",
                "100",
                "--molality",
                "2 mol/kg",
                "-o",
                "b.gro",
            ],
            3 * 94 + 6,
        ),
        (
            vec![
                "solution",
                "--model",
                "tip3p",
                "--salt",
                "LiF",
                "--molecules",
                "40",
                "--pairs",
                "3",
                "-o",
                "b.pqr",
            ],
            3 * 34 + 6,
        ),
        // No atoms in the file: built again.
        (
            vec!["water", "--molecules", "20", "--seed", "7", "-o", "w.xtc"],
            60,
        ),
    ] {
        let built = lab.succeeds(&[&["build"], &arguments[..]].concat());
        assert!(built.out.contains("g/cm³"), "{}", built.out);
        lab.write("it.toml", &built.out);
        let seen = json(&lab.succeeds(&["energy", "it.toml", "--json"]).out);
        assert_eq!(seen["particles"], particles, "{arguments:?}");
        assert!(
            seen["terms"]["lennard-jones"].as_f64().unwrap().abs() > 1.0,
            "{arguments:?}"
        );
    }
}

#[test]
fn a_solute_in_water() {
    let lab = Lab::new();
    let pqr = "ATOM 1 C LIG 1 0.0 0.0 0.0 0.4 1.7\nATOM 2 O LIG 1 1.2 0.0 0.0 0.6 1.5\nEND\n";
    lab.write("ion.pqr", pqr);
    let solvate = |file: &'static str| {
        vec![
            "build",
            "solution",
            "--solute",
            "ion.pqr",
            "--padding",
            "0.8 nm",
            "--neutralize",
            "--species",
            "C=12.011 u,O=15.999 u",
            "-o",
            file,
        ]
    };
    let forces = "[[forces]]\nkind = \"lennard-jones\"\ncutoff = \"0.7 nm\"\nmixing = \"lorentz-berthelot\"\n\
                  species = { C = { epsilon = 0.4, sigma = 0.34 }, O = { epsilon = 0.8, sigma = 0.3 } }\n";
    let mut energies = Vec::new();
    for file in ["s.pqr", "s.xyz", "s.data", "s.debye", "s.gro"] {
        let built = lab.succeeds(&solvate(file));
        assert!(
            built.out.contains("1 Cl") && !built.out.contains(" Na,"),
            "{}",
            built.out
        );
        let again = built.out.contains("is built again");
        assert_eq!(again, file == "s.gro", "{}", built.out);
        lab.write("it.toml", built.out + forces);
        let seen = json(&lab.succeeds(&["energy", "it.toml", "--json"]).out);
        energies.push(seen["potential"].as_f64().unwrap());
    }
    // Built again and read with all digits: the same system.
    for (energy, allowed) in energies.iter().zip([1e-2, 1e-9, 1e-9, 1e-9]) {
        assert!((energy / energies[4] - 1.0).abs() < allowed, "{energies:?}");
    }
}

#[test]
fn refused_with_advice() {
    let lab = Lab::new();
    lab.write("ion.pqr", "ATOM 1 C LIG 1 0.0 0.0 0.0 0.4 1.7\nEND\n");
    for (arguments, expected) in [
        (&["water"][..], &["missing key `molecules`"][..]),
        (
            &["water", "--model", "tip9", "--molecules", "9"],
            &["no water model `tip9`", "tip3p, spce"],
        ),
        (
            &["water", "--molecules", "9", "--units", "lj"],
            &["md units only"],
        ),
        (
            &["water", "--molecules", "9", "--species", "O=16"],
            &["takes no --species"],
        ),
        (
            &["water", "--molecules", "9", "--cell", "2", "--density", "900"],
            &["follows from"],
        ),
        (
            &["water", "--molecules", "9", "--density", "1 nm"],
            &["a mass density"],
        ),
        (
            &["nacl", "--cells", "2", "--salt", "KBr"],
            &["the lattice constant of KBr"],
        ),
        (
            &["nacl", "--cells", "2", "--salt", "Na2O"],
            &["is not a salt", "such as NaCl"],
        ),
        (
            &["nacl", "--cells", "2", "--ions", "dang"],
            &["no set of ions `dang`", "joung-cheatham-spce"],
        ),
        (&["nacl", "--cells", "0"], &["at least 1"]),
        (&["solution", "--molecules", "100"], &["what is dissolved?"]),
        (
            &["solution", "--molecules", "100", "--molality", "1 K"],
            &["an amount per mass"],
        ),
        (
            &["solution", "--molecules", "10", "--pairs", "5"],
            &["more water or less salt"],
        ),
        (&["solution", "--solute", "none.pqr"], &["does not exist"]),
        (
            &["solution", "--solute", "ion.pqr"],
            &["no declared species", "`C`"],
        ),
        (
            &[
                "solution",
                "--solute",
                "ion.pqr",
                "--species",
                "C=12 u",
                "--neutralize",
            ],
            &["the solute has the charge 0.4"],
        ),
        (
            &["solution", "--solute", "ion.pqr", "--species", "OW=16 u"],
            &["leave it out of --species"],
        ),
    ] {
        let all = [&["build"], arguments, &["-o", "x.gro"]].concat();
        lab.refuses(&all, 2, expected);
        assert!(!lab.path("x.gro").exists());
    }
}

#[test]
fn info_lists_the_models() {
    let lab = Lab::new();
    let seen = lab.succeeds(&["info"]).out;
    for name in [
        "tip3p",
        "spce",
        "joung-cheatham-tip3p",
        "J. Phys. Chem. B 112, 9020",
    ] {
        assert!(seen.contains(name), "{name}");
    }
    let seen = json(&lab.succeeds(&["info", "--json"]).out);
    assert_eq!(seen["models"][1]["name"], "spce");
}
