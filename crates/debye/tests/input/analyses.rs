//! What an analysis cannot measure in the system of the file is refused at its line.

use debye::input::InputOptions;
use debye::simulation::Simulation;

use crate::bad::check;
use crate::membranes::MEMBRANE;
use crate::{ARGON, SALT, accept, with};

#[test]
fn settings_are_refused_where_they_stand() {
    for (base, lines, parts) in [
        (
            MEMBRANE,
            "kind = \"bilayer\"\nheads = «\"W\"»",
            &["`analyze[0].heads` is W; expected", "several beads"][..],
        ),
        (
            MEMBRANE,
            "kind = \"lateral-diffusion\"\nheads = «[\"W\"]»",
            &["`analyze[0].heads` is W; expected"],
        ),
        (
            MEMBRANE,
            "kind = \"bilayer\"\nheads = «\"Q\"»",
            &["there is no species `Q` (in `analyze[0].heads`)"],
        ),
        (
            MEMBRANE,
            "kind = \"bilayer\"\nheads = \"P\"\nwater = «\"W\"»",
            &["`analyze[0].water` is given without the other", "`water_volume`"],
        ),
        (
            MEMBRANE,
            "kind = \"bilayer\"\nheads = \"P\"\nwater_volume = «0.03»",
            &["`analyze[0].water_volume` is given without the other"],
        ),
        (
            MEMBRANE,
            "kind = \"density\"\ncenter = «\"A\"»",
            &["names species `A`, of which the system has no particle"],
        ),
        (
            MEMBRANE,
            "kind = \"density\"\nbins = «9000000»",
            &["`analyze[0].bins` is 9000000; expected 1 to 1000000"],
        ),
        (
            ARGON,
            "kind = \"rdf\"\nr_max = «\"1e9 nm\"»",
            &["`analyze[0].r_max` is "],
        ),
    ] {
        check(
            base,
            "[run]",
            &format!("[[analyze]]\nevery = 5\n{lines}\n[run]"),
            parts,
        );
    }
}

/// Where a key is missing, or no key is at fault, the analysis itself is underlined.
#[test]
fn what_no_key_says_is_refused_at_the_analysis() {
    for (base, lines, parts) in [
        (
            MEMBRANE,
            "«[[analyze]]»\nkind = \"bilayer\"\nevery = 5\n[run]",
            &["heads is not given", "`heads = \"P\"`"][..],
        ),
        (
            ARGON,
            "«[[analyze]]»\nkind = \"order\"\nevery = 5\n[run]",
            &["order: bonds is none"],
        ),
        (
            SALT,
            "«[[analyze]]»\nkind = \"pressure-profile\"\nevery = 5\n[[forces]]\nkind = \"pme\"\ncutoff = 2.0\n[run]",
            &["pressure-profile: forces is with long-range electrostatics"],
        ),
    ] {
        check(base, "[run]", lines, parts);
    }
}

/// Where nothing moves, nothing is measured.
#[test]
fn energies_need_no_analyses() {
    let text = with(ARGON, "[run]", "[[analyze]]\nkind = \"order\"\nevery = 5\n[run]");
    let options = InputOptions {
        moves: false,
        ..InputOptions::default()
    };
    assert!(Simulation::parse_with(&text, ".", "test.toml", &options).is_ok());
    accept(&with(
        MEMBRANE,
        "[run]",
        "[[analyze]]\nkind = \"bilayer\"\nevery = 5\nheads = \"P\"\n[run]",
    ));
}
