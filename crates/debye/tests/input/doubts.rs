//! Odd values are questioned, with their line and what was probably meant; sensible ones are not.

use crate::{ARGON, CHAIN, SALT, accept, with};
use debye::simulation::Simulation;

/// Argon at constant temperature and pressure, as the guide has it.
const LIQUID: &str = r#"units = "md"
[system]
build = { kind = "lattice", lattice = "fcc", cells = [5, 5, 5], density = "1.374 g/cm^3" }
[species.Ar]
mass = "39.948 u"
[[forces]]
kind = "lennard-jones"
cutoff = "10 Å"
epsilon = "0.0104 eV"
sigma = "3.40 Å"
[integrator]
kind = "bussi"
timestep = "4 fs"
temperature = "94.4 K"
time = "0.5 ps"
[barostat]
kind = "cell-rescale"
pressure = "1 bar"
time = "2 ps"
compressibility = "2e-4 1/bar"
[run]
steps = 5000
temperature = "180 K"
[output]
table = { every = 50 }
"#;

/// The one warning of a text, which must begin with its place.
fn doubt(text: &str) -> String {
    let warnings = accept(text).warnings;
    assert_eq!(warnings.len(), 1, "{warnings:?}\n---\n{text}");
    assert!(warnings[0].starts_with("test.toml:"), "{}", warnings[0]);
    warnings[0].clone()
}

fn doubts_of(old: &str, new: &str, expected: &[&str]) {
    let text = with(LIQUID, old, new);
    let found = doubt(&text);
    let line = text.lines().position(|l| l.contains(new.lines().last().unwrap()));
    assert!(
        found.starts_with(&format!("test.toml:{}: `", line.unwrap() + 1)),
        "{found}"
    );
    for part in expected {
        assert!(found.contains(part), "`{part}` is missing in {found}");
    }
}

#[test]
fn a_thermostat_that_seldom_acts_is_questioned() {
    let time = "temperature = \"94.4 K\"\ntime = \"0.5 ps\"";
    let seldom = format!("{time}\nevery = 100");
    doubts_of(time, &seldom, &["every", "0.8 relaxation times"]);
}

#[test]
fn examples_and_validation_raise_no_doubts() {
    for folder in ["examples", "validation"] {
        let folder = format!("{}/../../{folder}", env!("CARGO_MANIFEST_DIR"));
        let mut count = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "toml") {
                let s = Simulation::read(&path).unwrap_or_else(|e| panic!("{e}"));
                assert!(s.warnings.is_empty(), "{}: {:?}", path.display(), s.warnings);
                count += 1;
            }
        }
        assert!(count >= 9);
    }
}

#[test]
fn standard_inputs_raise_no_doubts() {
    for text in [ARGON, CHAIN, LIQUID] {
        let warnings = accept(text).warnings;
        assert!(warnings.is_empty(), "{warnings:?}");
    }
}

#[test]
fn forgotten_units() {
    doubts_of(
        "pressure = \"1 bar\"",
        "pressure = 1.0",
        &["16.61 bar", "kJ/mol/nm³", "did you mean \"1.0 bar\"?"],
    );
    doubts_of(
        "pressure = \"1 bar\"",
        "pressure = 0.101325",
        &["1.683 bar", "\"0.101325 bar\""],
    );
    doubts_of(
        "pressure = \"1 bar\"",
        "pressure = \"1\"",
        &["16.61 bar", "did you mean \"1 bar\"?"],
    );
    // One bar in the units of the file is meant.
    let bar = accept(&with(LIQUID, "pressure = \"1 bar\"", "pressure = 0.06022")).warnings;
    assert!(bar.is_empty(), "{bar:?}");
    doubts_of(
        "compressibility = \"2e-4 1/bar\"",
        "compressibility = 4.5e-5",
        &["2.71e-6 1/bar", "1/bar\"?"],
    );
    doubts_of(
        "sigma = \"3.40 Å\"",
        "sigma = 3.4",
        &["is 3.4 nm", "did you mean \"3.4 Å\"?"],
    );
    doubts_of(
        "sigma = \"3.40 Å\"",
        "sigma = \"3.4 nm\"",
        &["did you mean \"3.4 Å\"?"],
    );
    doubts_of(
        "sigma = \"3.40 Å\"",
        "sigma = \"0.34 Å\"",
        &["is 0.034 nm", "did you mean \"0.34 nm\"?"],
    );
    doubts_of(
        "epsilon = \"0.0104 eV\"",
        "epsilon = 0.0104",
        &["0.0104 kJ/mol", "did you mean \"0.0104 eV\"?"],
    );
    doubts_of(
        "epsilon = \"0.0104 eV\"",
        "epsilon = 119.8",
        &["119.8 kJ/mol", "kelvins (0.996073 kJ/mol)"],
    );
    doubts_of(
        "epsilon = \"0.0104 eV\"",
        "epsilon = \"0.0001 kJ/mol\"",
        &["0.0001 kJ/mol"],
    );
    doubts_of(
        "timestep = \"4 fs\"",
        "timestep = 0.02",
        &["is 20 fs", "at most 10 fs is usual"],
    );
    doubts_of(
        "cutoff = \"10 Å\"",
        "cutoff = \"10 nm\"",
        &["is 10 nm", "did you mean \"10 Å\"?"],
    );
    doubts_of("cutoff = \"10 Å\"", "cutoff = \"5 Å\"", &["1.47 σ", "2.5 σ"]);
    doubts_of("mass = \"39.948 u\"", "mass = 0.039948", &["0.039948 u"]);
    // Charges that nothing acts on are a warning of their own.
    let charged = with(LIQUID, "mass = \"39.948 u\"", "mass = \"39.948 u\"\ncharge = 18");
    let warnings = accept(&charged).warnings;
    assert!(
        warnings.len() == 2 && warnings.iter().any(|w| w.contains("is 18 e")),
        "{warnings:?}"
    );
}

/// Every thing else that comes of a wrong time step is questioned too, but the step first.
#[test]
fn picoseconds_for_femtoseconds() {
    for step in ["2.0", "\"2 ps\""] {
        let text = with(ARGON, "timestep = \"2 fs\"", &format!("timestep = {step}"));
        let found = doubt(&text);
        assert!(
            found.contains("`integrator.timestep` is 2 ps") && found.contains("did you mean \"2"),
            "{found}"
        );
        assert!(found.contains(" fs\"?"), "{found}");
    }
}

#[test]
fn temperatures() {
    doubts_of(
        "temperature = \"94.4 K\"",
        "temperature = 0.85",
        &["is 0.85 K", "units = \"lj\""],
    );
    doubts_of("temperature = \"180 K\"", "temperature = 3000", &["is 3000 K"]);
    let water = std::fs::read_to_string(format!(
        "{}/../../examples/water.toml",
        env!("CARGO_MANIFEST_DIR")
    ));
    let found = doubt(&with(
        &water.unwrap(),
        "temperature = \"298 K\"",
        "temperature = 25.0",
    ));
    assert!(found.contains("degrees Celsius (\"298.15 K\")"), "{found}");
    // Neon is a liquid at 25 K.
    let neon = with(LIQUID, "temperature = \"94.4 K\"", "temperature = 25.0");
    assert!(accept(&neon).warnings.is_empty());
}

#[test]
fn relaxation_times() {
    doubts_of("time = \"0.5 ps\"", "time = \"20 fs\"", &["5 time steps"]);
    doubts_of(
        "time = \"2 ps\"",
        "time = \"0.2 ps\"",
        &["is 0.2 ps, 50 time steps"],
    );
    let slow = with(LIQUID, "time = \"2 ps\"", "time = \"4.5 ps\"");
    let found = doubt(&with(&slow, "time = \"0.5 ps\"", "time = \"5 ps\""));
    assert!(found.contains("shorter than the thermostat's 5 ps"), "{found}");
    let nvt = LIQUID.replace(
        "[barostat]\nkind = \"cell-rescale\"\npressure = \"1 bar\"\ntime = \"2 ps\"\ncompressibility = \"2e-4 1/bar\"\n",
        "",
    );
    let found = doubt(&with(&nvt, "time = \"0.5 ps\"", "time = \"500 ps\""));
    assert!(found.contains("longer than the run (20 ps)"), "{found}");
    let langevin = with(&nvt, "kind = \"bussi\"", "kind = \"langevin\"");
    let found = doubt(&with(&langevin, "time = \"0.5 ps\"", "friction = 500"));
    assert!(found.contains("friction of 500 1/ps"), "{found}");
    doubts_of(
        "compressibility = \"2e-4 1/bar\"",
        "compressibility = \"2 1/bar\"",
        &["is 2 1/bar"],
    );
}

#[test]
fn densities_and_outputs() {
    let dense = with(LIQUID, "density = \"1.374 g/cm^3\"", "density = \"40 g/cm^3\"");
    let found = accept(&dense).warnings;
    assert!(
        found
            .iter()
            .any(|w| w.contains("`system.build` makes a density of 40")),
        "{found:?}"
    );
    let thin = with(LIQUID, "density = \"1.374 g/cm^3\"", "density = \"1e-5 g/cm^3\"");
    assert!(doubt(&thin).contains("thin gas"));
    doubts_of(
        "table = { every = 50 }",
        "table = { every = 6000 }",
        &["`output.table.every`", "only the start"],
    );
    doubts_of(
        "steps = 5000",
        "steps = 5000\nequilibration = 5000",
        &["nothing is left to average"],
    );
    let late = format!("{LIQUID}[[analyze]]\nkind = \"rdf\"\nevery = 50\nfrom = \"1 ns\"\n");
    assert!(doubt(&late).contains("`analyze[0].from` begins at step 250000"));
}

/// Hydrogens on flexible bonds, and stiff bonds of anything.
#[test]
fn time_steps_by_mass_and_bond() {
    let molecule = |mass: &str, k: &str, step: &str| {
        format!(
            "units = \"md\"\n[system]\ncell = [3.0, 3.0, 3.0]\n\
             build = {{ kind = \"random\", counts = {{ A = 2 }}, minimum_distance = \"3 Å\" }}\n\
             [species.A]\nmass = {mass}\n[topology]\nbonds = [[1, 2, \"b\"]]\n\
             [[forces]]\nkind = \"harmonic-bond\"\nk = {k}\nr0 = 0.3\n\
             [integrator]\nkind = \"nve\"\ntimestep = \"{step} fs\"\n[run]\nsteps = 10\n"
        )
    };
    assert!(doubt(&molecule("1.008", "1000", "2")).contains("hydrogens whose bonds are not constrained"));
    assert!(doubt(&molecule("12.0", "250_000", "6")).contains("vibrate once in"));
    assert!(accept(&molecule("12.0", "250_000", "2")).warnings.is_empty());
    assert!(doubt(&molecule("4.0", "100", "8")).contains("particles of 4 u"));
}

#[test]
fn reduced_units() {
    let melt = "units = \"lj\"\n[system]\nbuild = { kind = \"lattice\", lattice = \"fcc\", cells = [4, 4, 4], density = 0.8 }\n\
                [species.A]\n[[forces]]\nkind = \"lennard-jones\"\ncutoff = 2.5\nepsilon = 1.0\nsigma = 1.0\n\
                [integrator]\nkind = \"nve\"\ntimestep = 0.005\n[run]\nsteps = 10\ntemperature = 1.44\n";
    assert!(accept(melt).warnings.is_empty());
    assert!(doubt(&with(melt, "0.005", "0.05")).contains("at most 0.02 τ"));
    assert!(doubt(&with(melt, "temperature = 1.44", "temperature = 300")).contains("kelvins"));
    assert!(doubt(&with(melt, "cutoff = 2.5", "cutoff = 0.9")).contains("0.9 σ"));
}

#[test]
fn grids_that_take_minutes_are_doubted() {
    let open = with(SALT, "[system]\n", "[system]\nperiodic = false\n");
    let slow = |spacing: &str| {
        let term = format!("[[forces]]\nkind = \"multilevel\"\nspacing = {spacing}\n[integrator]");
        let warnings = accept(&with(&open, "[integrator]", &term)).warnings;
        warnings
            .iter()
            .any(|warning| warning.contains("products for every step"))
    };
    assert!(slow("0.05"));
    assert!(!slow("0.3"));
}
