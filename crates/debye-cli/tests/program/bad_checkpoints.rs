//! Checkpoints that are damaged, or of another simulation.

use crate::lab::{ARGON, Lab, changed};

/// Where to damage a file of this length, and what the place is.
fn places(length: usize) -> Vec<(usize, &'static str)> {
    vec![
        (0, "the mark"),
        (8, "the version"),
        (16, "the length"),
        (24, "the first byte of the content"),
        (30, "the fingerprint"),
        (length / 3, "the engine's state"),
        (length / 2, "the engine's state"),
        (length - 40, "the files"),
        (length - 5, "the last byte of the content"),
        (length - 1, "the checksum"),
    ]
}

#[test]
fn damage_anywhere_is_noticed() {
    let lab = Lab::with_argon(ARGON);
    lab.succeeds(&["run", "argon.toml"]);
    let sound = lab.read("argon.out/argon.checkpoint");
    let resume = ["run", "argon.toml", "--resume", "--steps", "40"];
    for (place, what) in places(sound.len()) {
        let mut bytes = sound.clone();
        bytes[place] ^= 0x55;
        lab.write("argon.out/argon.checkpoint", &bytes);
        let tried = lab.refuses(&resume, 2, &["argon.checkpoint", "damaged checkpoint"]);
        assert!(tried.err.lines().count() == 1, "{what}: {}", tried.err);
    }
    for length in [0, 7, 27, sound.len() / 2, sound.len() - 1] {
        lab.write("argon.out/argon.checkpoint", &sound[..length]);
        lab.refuses(&resume, 2, &["argon.checkpoint", "damaged checkpoint"]);
    }
    let mut longer = sound.clone();
    longer.push(0);
    lab.write("argon.out/argon.checkpoint", &longer);
    lab.refuses(&resume, 2, &["argon.checkpoint", "damaged checkpoint"]);
    // Put back, it works.
    lab.write("argon.out/argon.checkpoint", &sound);
    lab.succeeds(&resume);
}

#[test]
fn the_one_before_is_taken_and_said() {
    let text = changed(ARGON, "keep = 1", "keep = 3");
    let lab = Lab::with_argon(&text);
    lab.succeeds(&["run", "argon.toml", "--out", "whole", "--steps", "40"]);
    lab.succeeds(&["run", "argon.toml"]);
    let mut bytes = lab.read("argon.out/argon.checkpoint");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    lab.write("argon.out/argon.checkpoint", &bytes);
    let tried = lab.succeeds(&["run", "argon.toml", "--resume", "--steps", "40"]);
    assert!(tried.out.contains("damaged checkpoint"), "{}", tried.out);
    for name in ["energy.csv", "argon.xtc", "final.gro"] {
        assert!(
            lab.read(&format!("whole/{name}")) == lab.read(&format!("argon.out/{name}")),
            "{name}"
        );
    }
}

#[test]
fn a_changed_simulation_is_named() {
    let lab = Lab::with_argon(ARGON);
    lab.succeeds(&["run", "argon.toml"]);
    let changes = [
        ("timestep = \"2 fs\"", "timestep = \"1 fs\"", "[integrator]"),
        ("cutoff = \"10 Å\"", "cutoff = \"9 Å\"", "[[forces]]"),
        (
            "cells = [5, 5, 5]",
            "cells = [5, 5, 6]",
            "the number of particles",
        ),
        ("mass = \"39.948 u\"", "mass = \"40 u\"", "species"),
        ("kind = \"nve\"", "kind = \"leapfrog\"", "[integrator]"),
    ];
    for (from, to, part) in changes {
        lab.write("argon.toml", changed(ARGON, from, to));
        let resume = ["run", "argon.toml", "--resume"];
        let next = "[system] from = \"argon.out\"";
        lab.refuses(
            &resume,
            2,
            &["argon.checkpoint", "another simulation", part, next],
        );
    }
}

/// Another precision is another engine: it goes on from the same particles, and says so before and after.
#[test]
fn another_precision_goes_on() {
    let lab = Lab::with_argon(ARGON);
    lab.succeeds(&["run", "argon.toml"]);
    let resume = [
        "run",
        "argon.toml",
        "--resume",
        "--precision",
        "double",
        "--steps",
        "40",
    ];
    let out = lab.succeeds(&resume).out;
    for part in [
        "resumes     from step 20 of a run on CPU",
        "bits may differ from one run from here on",
        "note: went on from the exact positions, velocities and thermostats of CPU",
    ] {
        assert!(out.contains(part), "`{part}` is missing in {out}");
    }
}

#[test]
fn replaced_outputs_are_noticed() {
    for name in ["energy.csv", "argon.xtc"] {
        let lab = Lab::with_argon(ARGON);
        lab.succeeds(&["run", "argon.toml"]);
        lab.write(&format!("argon.out/{name}"), "short");
        lab.refuses(&["run", "argon.toml", "--resume", "--steps", "40"], 2, &[name]);
        std::fs::remove_file(lab.path(&format!("argon.out/{name}"))).unwrap();
        let lost = [name, "is missing", "step 20", "another `file`"];
        lab.refuses(&["run", "argon.toml", "--resume", "--steps", "40"], 2, &lost);
    }
}
