//! What is given and used by nothing is told, or refused.

use crate::liquids::WATER;
use crate::{ARGON, CHAIN, SALT, accept, parse, with};

/// What a text is warned of.
fn warned(text: &str, part: &str) {
    let warnings = accept(text).warnings;
    assert!(
        warnings
            .iter()
            .any(|w| w.contains(part) && w.starts_with("test.toml:")),
        "`{part}` is missing in {warnings:?}"
    );
}

fn refused(text: &str, parts: &[&str]) {
    let error = parse(text).err().unwrap().to_string();
    for part in parts {
        assert!(error.contains(part), "`{part}` is missing in {error}");
    }
}

#[test]
fn charges_without_a_term() {
    warned(SALT, "64 particles have charges, but no [[forces]] uses them");
    warned(SALT, "kind = \"pme\"");
    let coulomb = with(
        SALT,
        "[integrator]",
        "[[forces]]\nkind = \"pme\"\ncutoff = 2.0\n[integrator]",
    );
    let warnings = accept(&coulomb).warnings;
    assert!(
        !warnings.iter().any(|w| w.contains("no [[forces]] uses them")),
        "{warnings:?}"
    );
    // The converse, for terms of pairs.
    let none = with(
        ARGON,
        "[integrator]",
        "[[forces]]\nkind = \"coulomb\"\ncutoff = \"10 Å\"\n[integrator]",
    );
    warned(
        &none,
        "`forces[1].kind` is \"coulomb\", but no particle has a charge",
    );
}

#[test]
fn bonded_terms_that_act_on_nothing() {
    let fene = "[[forces]]\nkind = \"fene-bond\"\nk = 30.0\nr0 = 1.5\n[integrator]";
    refused(
        &with(SALT, "[integrator]", fene),
        &[
            "`forces[1].kind` is \"fene-bond\", which acts on nothing: the system has no bonds",
            "kind = \"fene-bond\"",
            "[topology]",
            "LAMMPS data",
            "CONECT",
        ],
    );
    let other = with(
        CHAIN,
        "[integrator]",
        "[[forces]]\nkind = \"harmonic-bond\"\ntypes = { rubber = { k = 1, r0 = 1 } }\n[integrator]",
    );
    refused(&other, &["none of the 3 bonds of the system is of its `types`"]);
    let angle = with(
        CHAIN,
        "[integrator]",
        "[[forces]]\nkind = \"harmonic-angle\"\nk = 1.0\ntheta0 = 2.0\n[integrator]",
    );
    refused(&angle, &["the system has no angles"]);
}

#[test]
fn pair_terms_that_act_on_nothing() {
    let none = with(
        ARGON,
        "Ar-Ar = { epsilon = \"0.0104 eV\", sigma = \"3.40 Å\" }",
        "Ar-Ar = \"none\"",
    );
    warned(&none, "acts on no pair");
    let zero = with(ARGON, "epsilon = \"0.0104 eV\"", "epsilon = 0.0");
    warned(&zero, "acts on no pair");
}

#[test]
fn exclusions_without_effect() {
    warned(
        &with(ARGON, "[integrator]", "[exclusions]\nbonds = 2\n[integrator]"),
        "[exclusions] has no effect: the system has no bonds",
    );
    let short = with(
        CHAIN,
        "bonds = [[1, 2, \"stiff\"], [2, 3, \"soft\"], [3, 4, \"soft\"]]",
        "bonds = [[1, 2, \"stiff\"], [2, 3, \"soft\"]]",
    );
    warned(&short, "`exclusions.scale_14` has no effect");
    let (start, end) = (
        CHAIN.find("[[forces]]").unwrap(),
        CHAIN.find("[[forces]]\nkind = \"harmonic").unwrap(),
    );
    warned(
        &with(CHAIN, &CHAIN[start..end], ""),
        "[exclusions] has no effect: no [[forces]] acts on pairs",
    );
    // A pair that is named is an effect.
    let named = with(
        ARGON,
        "[integrator]",
        "[exclusions]\npairs = [[1, 2]]\n[integrator]",
    );
    assert!(accept(&named).warnings.is_empty());
}

#[test]
fn constraints_that_match_nothing() {
    let empty = with(
        CHAIN,
        "[integrator]",
        "[[constraints]]\nkind = \"bonds\"\npairs = []\n[integrator]",
    );
    refused(&empty, &["match nothing"]);
}

#[test]
fn molecules_that_nothing_keeps_together() {
    let charged = with(
        WATER,
        "[integrator]",
        "[[forces]]\nkind = \"pme\"\ncutoff = 0.6\n[integrator]",
    );
    warned(
        &charged,
        "64 molecules of several charged particles have neither bonds nor constraints",
    );
    let rigid = with(
        &charged,
        "[integrator]",
        "[[constraints]]\nkind = \"rigid-water\"\nmodel = \"tip3p\"\n[integrator]",
    );
    let warnings = accept(&rigid).warnings;
    assert!(
        !warnings.iter().any(|w| w.contains("neither bonds")),
        "{warnings:?}"
    );
}

/// Water of one site in reduced units, with these lines in its species.
fn turning_water(species: &str, force: &str) -> String {
    let first = "units = \"lj\"\n[system]\ncell = [12.0, 12.0, 12.0]\norientations = \"random\"\n\
                 build = { kind = \"random\", counts = { W = 8, A = 2 }, minimum_distance = 2.0, seed = 3 }\n\
                 [integrator]\nkind = \"nve\"\ntimestep = 0.001\n[run]\nsteps = 10\n";
    format!("{first}[species.A]\nmass = 1.0\n[species.W]\nmass = 1.0\n{species}\n[[forces]]\n{force}\n")
}

#[test]
fn terms_of_orientations_on_points_or_on_nothing() {
    let inertia = "inertia = [0.3, 0.2, 0.1]";
    let sticky =
        "kind = \"sticky\"\nw0 = 0.07715\nlower = 0.9\nupper = 1.1\nlower_prime = 0.9\nupper_prime = 1.3\n";
    let only =
        |v0: &str| format!("{sticky}pairs = {{ W-W = {{ v0 = {v0} }}, W-A = \"none\", A-A = \"none\" }}");
    let turns = turning_water(inertia, &only("3.0"));
    assert_eq!(accept(&turns).warnings, [""; 0]);
    warned(
        &turning_water("", &only("3.0")),
        "`forces[0].kind` is \"sticky\", which depends on orientations, but particles of `W` have none",
    );
    let none = format!("{sticky}pairs = {{ W-W = \"none\", W-A = \"none\", A-A = \"none\" }}");
    warned(
        &turning_water(inertia, &none),
        "`forces[0].kind` is \"sticky\", which acts on no pair",
    );
    // Spheres need not turn, rods must.
    let shapes = |rod: &str| {
        format!(
            "kind = \"gay-berne\"\ncutoff = 5.0\nepsilon = 1.0\nsigma = 1.0\nspecies = {{ \
             A = {{ diameter_x = 1.0, diameter_y = 1.0, diameter_z = 1.0, well_x = 1.0, well_y = 1.0, well_z = 1.0 }}, \
             W = {{ diameter_x = 1.0, diameter_y = 1.0, diameter_z = {rod}, well_x = 1.0, well_y = 1.0, well_z = 1.0 }} }}"
        )
    };
    assert_eq!(
        accept(&turning_water("inertia = 0.3", &shapes("3.0"))).warnings,
        [""; 0]
    );
    assert_eq!(accept(&turning_water("", &shapes("1.0"))).warnings, [""; 0]);
    warned(
        &turning_water("", &shapes("3.0")),
        "is \"gay-berne\", which depends on orientations, but particles of `W` have none",
    );
    let dipoles = "kind = \"dipoles\"\ncutoff = 5.0\ntruncation = \"force-shift\"";
    warned(
        &turning_water("charge = 1.0", dipoles),
        "is \"dipoles\", but no particle has a dipole: it acts on charges alone",
    );
    warned(&turning_water("", dipoles), "kind = \"dipoles\" acts on nothing");
    refused(
        &turning_water(inertia, "kind = \"axis-restraint\"\nk = 1.0"),
        &["`forces[0].kind` is \"axis-restraint\", which acts on nothing: the system has no axes"],
    );
}
