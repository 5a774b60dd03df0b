//! The checks on the emulation in another order of execution, under the race check and under the sanitizers, and every
//! kernel for every architecture: `cargo test --workspace --release --test exhaustive`.

// A test may stop at the first surprise.
#![allow(clippy::unwrap_used)]

mod emulation;

use debye_checks::device::{self as checks, Extent};
use debye_gpu::Instrument;
use emulation::{compile, emulation, extent, nvrtc, run, under_sanitizers};

/// Less than the plain tests do, unless more is asked for.
fn watched() -> Extent {
    match extent() {
        Extent::Smallest => Extent::Watched,
        more => more,
    }
}

/// The kernels of the plain tests in another order of blocks and threads: the same results.
#[test]
fn order_of_execution_does_not_matter() {
    run(&emulation(3, Instrument::Nothing), watched(), 1);
}

#[test]
fn primitives_have_no_races() {
    run(&emulation(4, Instrument::Races), watched(), 4);
}

/// The address sanitizer must be in the process from the start, so the checks run in a second one.
#[test]
fn primitives_are_clean_under_sanitizers() {
    println!("{}", under_sanitizers("sanitized_checks", &[]).unwrap());
}

#[test]
#[ignore = "started by another test, with the sanitizers preloaded"]
fn sanitized_checks() {
    run(&emulation(5, Instrument::Memory), watched(), 5);
}

/// Of the many specializations of a file every fourth is compiled for one of the other architectures in turn.
#[test]
fn nvrtc_accepts_kernels_for_every_architecture() {
    let Some(nvrtc) = nvrtc() else { return };
    let modules = checks::modules();
    let file = |label: &str| label.split_whitespace().next().unwrap_or_default().to_owned();
    let mut seen: std::collections::HashMap<String, usize> = std::collections::HashMap::new();
    let mut jobs = Vec::new();
    for source in &modules {
        let name = file(&source.label());
        let alike = modules.iter().filter(|m| file(&m.label()) == name).count();
        let count = seen.entry(name).or_default();
        let number = *count;
        *count += 1;
        let others = ["sm_75", "sm_80", "sm_100"].into_iter().enumerate();
        let turn = others.filter(|(k, _)| extent() == Extent::Full || alike < 12 || number % 12 == 4 * k);
        jobs.extend(turn.map(|(_, architecture)| (source, architecture)));
    }
    compile(nvrtc, &jobs);
}
