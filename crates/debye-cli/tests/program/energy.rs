//! `debye energy` against numbers of others.

use std::collections::BTreeMap;

use crate::lab::{ARGON, Lab, changed};

fn nist(keys: &str) -> Lab {
    let lab = Lab::new();
    lab.write("lj-4.xyz", include_str!("../data/nist-lj-4.xyz"));
    let text = format!(
        "units = \"lj\"\n[system]\nfile = \"lj-4.xyz\"\ncell = [8.0, 8.0, 8.0]\n[species.LJ]\nnames = \"H\"\n\
         [[forces]]\nkind = \"lennard-jones\"\nepsilon = 1.0\nsigma = 1.0\n{keys}\n\
         [integrator]\nkind = \"nve\"\ntimestep = 0.005\n"
    );
    lab.write("nist.toml", text);
    lab
}

fn json(lab: &Lab, arguments: &[&str]) -> serde_json::Value {
    let tried = lab.succeeds(arguments);
    serde_json::from_str(&tried.out).unwrap()
}

/// Energies and virials of configuration 4 (30 particles, L = 8) of the NIST Lennard-Jones reference
/// calculations; see data/README.md.
#[test]
fn nist_configuration_4() {
    let cases = [
        (
            "cutoff = 3.0\ntruncation = \"cut\"\ntail = true",
            -16.790_321,
            -46.249_197,
            Some(-0.545_166_00),
        ),
        (
            "cutoff = 4.0\ntruncation = \"cut\"\ntail = true",
            -17.060_453,
            -47.868_828,
            Some(-0.230_078_39),
        ),
        (
            "cutoff = 3.0\ntruncation = \"force-shift\"",
            -15.001_402,
            -43.096_006,
            None,
        ),
    ];
    for (keys, energy, virial, tail) in cases {
        let lab = nist(keys);
        for (precision, tolerance) in [("double", 5e-8), ("mixed", 2e-6), ("single", 5e-6)] {
            let answer = json(&lab, &["energy", "nist.toml", "--json", "--precision", precision]);
            let number = |value: &serde_json::Value| value.as_f64().unwrap();
            let close = |found: f64, wanted: f64, what: &str| {
                let error = (found / wanted - 1.0).abs();
                assert!(
                    error < tolerance,
                    "{keys} {precision} {what}: {found}, not {wanted}"
                );
            };
            assert_eq!(answer["units"], "lj");
            assert_eq!(answer["particles"], 30);
            close(number(&answer["terms"]["lennard-jones"]), energy, "energy");
            let mut pressure = number(&answer["pressure"]);
            if let Some(tail) = tail {
                close(number(&answer["terms"]["tail"]), tail, "tail");
                close(number(&answer["potential"]), energy + tail, "potential");
                // Of the tail of r⁻⁶ the pressure is twice the energy per volume, of r⁻¹² four times.
                let cutoff: f64 = if keys.contains("3.0") { 3.0 } else { 4.0 };
                let (n, volume) = (30.0_f64, 512.0);
                let density = n / volume;
                pressure -= 16.0 / 3.0
                    * std::f64::consts::PI
                    * density
                    * density
                    * (2.0 / 3.0 * cutoff.powi(-9) - cutoff.powi(-3));
            }
            // At rest the pressure is the virial over three volumes.
            close(3.0 * 512.0 * pressure, virial, "virial");
            let tensor = answer["pressure_tensor"].as_array().unwrap();
            assert_eq!(tensor.len(), 6);
            let trace: f64 = tensor[..3].iter().map(number).sum();
            assert!((trace / 3.0 - number(&answer["pressure"])).abs() < 1e-12);
            assert_eq!(answer["kinetic"], 0.0);
        }
    }
}

#[test]
fn forces_are_written_for_every_particle() {
    let lab = nist("cutoff = 3.0\ntruncation = \"force-shift\"");
    lab.succeeds(&["energy", "nist.toml", "--forces", "forces.csv"]);
    let text = String::from_utf8(lab.read("forces.csv")).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("id,fx,fy,fz"));
    let rows: BTreeMap<usize, [f64; 3]> = lines
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            let force = [1, 2, 3].map(|k| cells[k].parse().unwrap());
            (cells[0].parse().unwrap(), force)
        })
        .collect();
    assert_eq!(
        (rows.keys().next(), rows.keys().last(), rows.len()),
        (Some(&1), Some(&30), 30)
    );
    for k in 0..3 {
        let sum: f64 = rows.values().map(|f| f[k]).sum();
        assert!(sum.abs() < 1e-10, "forces do not cancel: {sum}");
    }
}

#[test]
fn units_and_labels_in_md() {
    let lab = Lab::with_argon(ARGON);
    let answer = json(&lab, &["energy", "argon.toml", "--json"]);
    let number = |key: &str| answer[key].as_f64().unwrap();
    assert_eq!(answer["units"], "md");
    assert_eq!(answer["unit_labels"]["pressure"], "kJ/mol/nm³");
    // 1 kJ/mol/nm³ is 16.6054 bar.
    assert!((number("pressure_bar") / number("pressure") - 16.605_39).abs() < 1e-4);
    assert!((number("temperature") - 120.0).abs() < 1e-6);
    assert!((number("volume") - 2.75_f64.powi(3)).abs() < 1e-9);
    // (3N − 3)/2 kT.
    assert!((number("kinetic") / (0.5 * 1497.0 * 0.008_314_462_618 * 120.0) - 1.0).abs() < 1e-9);
}

#[test]
fn precisions_agree() {
    let lab = Lab::with_argon(&changed(ARGON, "spacing = \"5.5 Å\"", "spacing = \"5.256 Å\""));
    let potential = |precision: &str| {
        let answer = json(
            &lab,
            &["energy", "argon.toml", "--json", "--precision", precision],
        );
        answer["potential"].as_f64().unwrap()
    };
    let exact = potential("double");
    for precision in ["single", "mixed"] {
        assert!((potential(precision) / exact - 1.0).abs() < 2e-6, "{precision}");
    }
}

/// Nothing moves, so nobody need say how or how long.
#[test]
fn no_integrator_is_asked_for() {
    let lab = Lab::with_argon(ARGON);
    // All but the rows about motion.
    let energy = || {
        let mut answer = json(&lab, &["energy", "argon.toml", "--json"]);
        answer["setup"].take();
        answer
    };
    let whole = energy();
    let text = changed(ARGON, "[integrator]\nkind = \"nve\"\ntimestep = \"2 fs\"\n", "");
    let text = changed(&text, "steps = 20\n", "");
    lab.write("argon.toml", &text);
    assert_eq!(whole, energy());
    lab.refuses(&["run", "argon.toml"], 2, &["steps"]);
    lab.write(
        "argon.toml",
        changed(&text, "[run]\ntemperature = \"120 K\"\n", ""),
    );
    let still = json(&lab, &["energy", "argon.toml", "--json"]);
    assert_eq!(still["potential"], whole["potential"]);
    assert_eq!(still["temperature"], 0.0);
    lab.refuses(&["run", "argon.toml"], 2, &["integrator"]);
}

/// Where the cell is open in any direction, its volume is nobody's.
#[test]
fn open_systems_have_no_pressure() {
    for periodic in ["false", "[true, true, false]"] {
        let open = format!("species = \"Ar\" }}\nperiodic = {periodic}");
        let lab = Lab::with_argon(&changed(ARGON, "species = \"Ar\" }", &open));
        let answer = json(&lab, &["energy", "argon.toml", "--json"]);
        for key in ["volume", "pressure", "pressure_tensor", "pressure_bar"] {
            assert!(
                answer[key].is_null() && answer.get(key).is_some(),
                "{key}: {answer}"
            );
        }
        let text = lab.succeeds(&["energy", "argon.toml"]).out;
        assert!(
            text.contains("temperature") && !text.contains("pressure") && !text.contains("volume"),
            "{text}"
        );
        lab.succeeds(&["run", "argon.toml"]);
        let table = String::from_utf8(lab.read("argon.out/energy.csv")).unwrap();
        assert!(table.contains("temperature (K),term lennard-jones"), "{table}");
        assert!(
            !table.contains("pressure") && !table.contains("density"),
            "{table}"
        );
        // And goes on from there.
        lab.succeeds(&["run", "argon.toml", "--resume", "--steps", "30"]);
        lab.succeeds(&["analyze", "drift", "argon.out/energy.csv"]);
    }
}

/// One particle in reduced units, with an integrator of 0.01.
fn alone(integrator: &str, run: &str) -> String {
    format!(
        "units = \"lj\"\n[system]\nbuild = {{ kind = \"lattice\", lattice = \"sc\", cells = 1, spacing = 10.0 }}\n\
         [species.A]\n[[forces]]\nkind = \"lennard-jones\"\ncutoff = 2.5\nepsilon = 1.0\nsigma = 1.0\n\
         [integrator]\n{integrator}\ntimestep = 0.01\n[run]\nsteps = 40000\ntemperature = 0.7\n{run}\
         [output]\ntable = {{ every = 20 }}\nreport = false\n"
    )
}

#[test]
fn a_lone_particle_has_three_degrees_of_freedom() {
    let lab = Lab::new();
    lab.write("one.toml", alone("kind = \"nve\"", ""));
    let answer = json(&lab, &["energy", "one.toml", "--json"]);
    assert!((answer["temperature"].as_f64().unwrap() / 0.7 - 1.0).abs() < 1e-12);
    assert!((answer["kinetic"].as_f64().unwrap() / (1.5 * 0.7) - 1.0).abs() < 1e-12);

    let langevin = "kind = \"langevin\"\ntemperature = 1.5\nfriction = 2.0";
    lab.write("one.toml", alone(langevin, ""));
    lab.succeeds(&["run", "one.toml"]);
    let table = String::from_utf8(lab.read("one.out/energy.csv")).unwrap();
    let names: Vec<&str> = table.lines().next().unwrap().split(',').collect();
    let column = names.iter().position(|n| n.starts_with("temperature")).unwrap();
    let values: Vec<f64> = (table.lines().skip(1))
        .map(|row| row.split(',').nth(column).unwrap().parse().unwrap())
        .collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    // About 800 independent values of relative spread √(2/3).
    assert!((mean / 1.5 - 1.0).abs() < 0.12, "{mean}");

    for kind in ["bussi", "nose-hoover", "berendsen"] {
        lab.write(
            "one.toml",
            alone(&format!("kind = \"{kind}\"\ntemperature = 1.5\ntime = 0.5"), ""),
        );
        lab.refuses(
            &["run", "one.toml"],
            2,
            &["one.toml:", "lone particle", "langevin"],
        );
    }
    lab.write("one.toml", alone(langevin, "remove_momentum_every = 10\n"));
    lab.refuses(
        &["run", "one.toml"],
        2,
        &["one.toml:", "remove_momentum_every", "to rest"],
    );
}

/// A particle far from all others makes the coordinates of all coarse, and that is said.
#[test]
fn coarse_coordinates_are_said() {
    let lab = Lab::with_argon(&changed(
        ARGON,
        "build = { kind = \"lattice\", lattice = \"fcc\", cells = [5, 5, 5], spacing = \"5.5 Å\", species = \"Ar\" }",
        "file = \"far.xyz\"\ncell = [\"5 nm\", \"5 nm\", \"5 nm\"]\nperiodic = false",
    ));
    for (place, coarse) in [("30.0", false), ("10000.0", true)] {
        lab.write(
            "far.xyz",
            format!("3\n\nAr 0.0 0.0 0.0\nAr 4.0 0.0 0.0\nAr {place} 0.0 0.0\n"),
        );
        let said = |arguments: &[&str]| lab.succeeds(&[&["energy", "argon.toml"], arguments].concat()).err;
        assert_eq!(
            said(&["--precision", "mixed"]).contains("cut-offs across"),
            coarse
        );
        assert!(!said(&[]).contains("cut-offs across"));
        let tried = lab.succeeds(&["run", "argon.toml", "--overwrite"]);
        assert_eq!(tried.out.contains("cut-offs across"), coarse, "{}", tried.out);
    }
}

/// Where nothing is conserved there is no column that says so.
#[test]
fn langevin_tables_have_no_conserved_energy() {
    let langevin = "kind = \"langevin\"\ntemperature = \"120 K\"\ntime = \"0.1 ps\"";
    let lab = Lab::with_argon(&changed(ARGON, "kind = \"nve\"", langevin));
    lab.succeeds(&["run", "argon.toml"]);
    let table = String::from_utf8(lab.read("argon.out/energy.csv")).unwrap();
    assert!(!table.contains("conserved") && !table.contains("nan"), "{table}");
    lab.refuses(
        &["analyze", "drift", "argon.out/energy.csv"],
        2,
        &["no column `conserved`"],
    );
    lab.succeeds(&["run", "argon.toml", "--resume", "--steps", "30"]);
}
