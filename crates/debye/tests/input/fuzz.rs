//! No text makes the reader panic, hang or take memory without bound.

use debye::input::InputOptions;

use debye::simulation::Simulation;
use debye::system::{Dimension, Units};
use proptest::prelude::*;

use crate::liquids::{BRINE, WATER};
use crate::{ARGON, CHAIN, SALT};

fn try_parse(text: &str) {
    let options = InputOptions {
        max_particles: 5000,
        ..InputOptions::default()
    };
    // A folder without files: nothing of the machine is opened.
    if let Err(error) = Simulation::parse_with(text, "/nonexistent/folder", "fuzz.toml", &options) {
        let shown = error.to_string();
        assert!(shown.starts_with("fuzz.toml"), "{shown}");
        assert!(error.line <= text.matches('\n').count() + 1);
    }
}

const PIECES: &[&str] = &[
    "0",
    "-1",
    "1e300",
    "nan",
    "inf",
    "\"\"",
    "\"12 Å\"",
    "\"1/ps\"",
    "[]",
    "{}",
    "[[forces]]",
    "[run]",
    "true",
    "Ar-Ar",
    "=",
    "\n",
    "\"",
    "'",
    "'''",
    "é",
    "\0",
    ".",
    ",",
    "-",
    "9999999999",
    "[1, 2, 3]",
    "none",
    "pairs",
];

/// Files to damage.
const FILES: [&str; 5] = [ARGON, SALT, CHAIN, WATER, BRINE];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text(text in "\\PC{0,200}") {
        try_parse(&text);
    }

    #[test]
    fn any_toml(keys in prop::collection::vec("(units|system|species|forces|run|output|x)", 0..6), piece in 0..PIECES.len()) {
        let lines: Vec<String> = keys.iter().map(|k| format!("{k} = {}", PIECES[piece])).collect();
        try_parse(&lines.join("\n"));
    }

    #[test]
    fn mutated_files(base in 0..FILES.len(), edits in prop::collection::vec((any::<prop::sample::Index>(), 0..4u8, 0..PIECES.len(), 1..12usize), 1..4)) {
        let mut text: Vec<char> = FILES[base].chars().collect();
        for (place, what, piece, length) in edits {
            let at = place.index(text.len().max(1)).min(text.len());
            let end = (at + length).min(text.len());
            match what {
                0 => { text.drain(at..end); }
                1 => { text.splice(at..end, PIECES[piece].chars()); }
                2 => { text.splice(at..at, PIECES[piece].chars()); }
                _ => { let copy: Vec<char> = text[at..end].to_vec(); text.splice(at..at, copy); }
            }
        }
        try_parse(&text.into_iter().collect::<String>());
    }

    /// A value of the file becomes something else: the error is about meaning, not about TOML.
    #[test]
    fn replaced_values(base in 0..FILES.len(), line in any::<prop::sample::Index>(), piece in 0..PIECES.len()) {
        let mut lines: Vec<String> = FILES[base].lines().map(str::to_owned).collect();
        let at = line.index(lines.len());
        if let Some((key, _)) = lines[at].split_once('=') {
            lines[at] = format!("{key}= {}", PIECES[piece]);
        }
        try_parse(&lines.join("\n"));
    }

    #[test]
    fn any_quantity(text in "[-+]?[0-9]{0,3}[.e]?[0-9]{0,3} ?[a-zA-ZÅµσ²³⁻·*/^()0-9 .-]{0,12}", lj in any::<bool>()) {
        let units = if lj { Units::LennardJones } else { Units::Md };
        for dimension in [Dimension::LENGTH, Dimension::ENERGY, Dimension::NONE] {
            match units.quantity(&text, dimension) {
                Ok(x) => prop_assert!(x.is_finite()),
                Err(e) => prop_assert!(!e.to_string().is_empty()),
            }
        }
    }
}

#[test]
fn deep_nesting() {
    try_parse(&format!("a = {}{}", "[".repeat(20_000), "]".repeat(20_000)));
    try_parse(&format!("a = {}1{}", "{a=".repeat(20_000), "}".repeat(20_000)));
    try_parse(&format!("{} = 1", vec!["a"; 20_000].join(".")));
    try_parse(&format!("units = \"{}\"", "(".repeat(100_000)));
    let _ = Units::Md.quantity(&format!("1 {}", "(".repeat(100_000)), Dimension::LENGTH);
}
