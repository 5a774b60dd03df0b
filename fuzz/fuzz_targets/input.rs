//! The input file: any text is taken or refused, without a panic and without much memory.
#![no_main]

use debye::input::{InputOptions, Simulation};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let options = InputOptions {
        max_particles: 10_000,
        ..InputOptions::default()
    };
    if let Err(error) = Simulation::parse_with(text, "/nowhere", "fuzz.toml", &options) {
        assert!(!error.to_string().is_empty());
    }
});
