//! The checks on the emulation in another order of execution, under the race check and under the sanitizers, and every
//! kernel for every architecture: `cargo test --workspace --release --test exhaustive`.

// A test may stop at the first surprise.
#![allow(clippy::unwrap_used)]

mod emulation;

use debye_checks::device::{self as checks, Extent};
use debye_gpu::Instrument;
use emulation::{by_file, compile, emulation, extent, nvrtc, run, under_sanitizers};

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

/// Files of few specializations are compiled for all other architectures, the more there are the fewer of them: one in
/// three, or one in twelve, for each architecture in turn.
#[test]
fn nvrtc_accepts_kernels_for_every_architecture() {
    let Some(nvrtc) = nvrtc() else { return };
    let modules = checks::modules();
    let mut jobs = Vec::new();
    for one in by_file(&modules) {
        let wanted = |k: usize| match one.alike {
            _ if extent() == Extent::Full => true,
            0..4 => true,
            4..12 => one.number % 3 == k,
            _ => one.number % 12 == 4 * k,
        };
        let others = ["sm_75", "sm_80", "sm_100"].into_iter().enumerate();
        let turn = others.filter(|(k, _)| wanted(*k));
        jobs.extend(turn.map(|(_, architecture)| (one.source, architecture)));
    }
    compile(nvrtc, &jobs);
}
