//! Everything on a CUDA device, run on its emulation: the same checks as `debye check --device cuda`, and kernels that are
//! wrong on purpose. `exhaustive.rs` runs them in other orders, under the race check and the sanitizers.

// A test may stop at the first surprise.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod emulation;

use debye_checks::device::{self as checks, Extent};
use debye_gpu::{CudaError, Instrument, Mut, Shape};
use emulation::{OfFile, by_file, compile, emulated, emulation, extent, nvrtc, run, under_sanitizers};

#[test]
fn primitives_agree_with_plain_loops() {
    run(&emulation(1, Instrument::Nothing), extent(), 1);
}

/// Launches a faulty kernel that takes an array and a number.
fn fault(instrument: Instrument, name: &str, blocks: u32, number: u32) -> Result<(), CudaError> {
    let device = emulated(6, instrument);
    let stream = device.stream()?;
    let module = device.module(&checks::faults())?;
    let mut out = device.zeros::<u32>(64)?;
    let threads = if name == "debye_fault_block_race" { 32 } else { 64 };
    let shape = Shape::new(blocks, threads);
    match module.kernel::<(Mut<u32>, u32)>(name) {
        Ok(kernel) => kernel.launch(&stream, shape, (out.all_mut(), number)),
        Err(_) => module
            .kernel::<(Mut<u32>,)>(name)?
            .launch(&stream, shape, (out.all_mut(),)),
    }
}

fn must_fail(instrument: Instrument, name: &str, blocks: u32, number: u32, words: &[&str]) {
    let error = fault(instrument, name, blocks, number)
        .expect_err(name)
        .to_string();
    println!("{error}\n");
    for word in words {
        assert!(error.contains(word), "{name}: no `{word}` in: {error}");
    }
}

#[test]
fn diverged_collectives_are_reported() {
    let plain = Instrument::Nothing;
    must_fail(plain, "debye_fault_barrier", 1, 0, &["barrier", "faults.cu"]);
    must_fail(
        plain,
        "debye_fault_two_barriers",
        1,
        0,
        &["barrier", "while others"],
    );
    must_fail(plain, "debye_fault_shuffle", 1, 0, &["faults.cu"]);
}

#[test]
fn endless_waiting_is_reported() {
    let device = emulated(1, Instrument::Nothing);
    let stream = device.stream().unwrap();
    let kernel = device.module(&checks::faults()).unwrap();
    let kernel = kernel.kernel::<(Mut<u64>,)>("debye_fault_spin").unwrap();
    let mut flag = device.zeros::<u64>(1).unwrap();
    let error = kernel
        .launch(&stream, Shape::new(1, 64), (flag.all_mut(),))
        .unwrap_err();
    assert!(error.to_string().contains("no thread can go on"), "{error}");
    // A thread is interrupted at every sixteenth atomic, and two thousand passes without progress are a stall.
    fault(Instrument::Nothing, "debye_no_fault_adds", 1, 100_000).unwrap();
}

#[test]
fn races_are_reported() {
    let races = Instrument::Races;
    must_fail(races, "debye_fault_race", 1, 0, &["race", "no barrier"]);
    // Inside a warp its own barrier is enough; across warps it is not.
    must_fail(races, "debye_fault_warp_race", 1, 32, &["race"]);
    must_fail(
        races,
        "debye_fault_block_race",
        2,
        0,
        &["race", "block 0", "block 1"],
    );
    fault(races, "debye_fault_block_race", 1, 0).unwrap();
    // Unwatched, nothing is said.
    fault(Instrument::Nothing, "debye_fault_race", 1, 0).unwrap();
}

#[test]
fn bad_memory_is_reported() {
    for (name, number, words) in [
        ("debye_fault_beyond", "1", "heap-buffer-overflow"),
        ("debye_fault_shared_beyond", "1", "out of bounds"),
        ("debye_fault_shift", "32", "shift exponent"),
    ] {
        let variables = [("DEBYE_TEST_FAULT", name), ("DEBYE_TEST_NUMBER", number)];
        let found = under_sanitizers("sanitized_fault", &variables).expect_err(name);
        assert!(found.contains(words), "{name}: {found}");
    }
}

#[test]
#[ignore = "started by another test, with the sanitizers preloaded"]
fn sanitized_fault() {
    let name = std::env::var("DEBYE_TEST_FAULT").unwrap();
    let number = std::env::var("DEBYE_TEST_NUMBER").unwrap().parse().unwrap();
    fault(Instrument::Memory, &name, 1, number).unwrap();
}

/// Every specialization becomes PTX, which is where errors and warnings come from. Machine code, which takes three times
/// as long, is made of every fourth of a file, and of all where there are few.
#[test]
fn nvrtc_accepts_every_kernel_without_warnings() {
    let Some(nvrtc) = nvrtc() else { return };
    let modules = checks::modules();
    let target = |one: &OfFile<'_>| {
        let whole = extent() == Extent::Full || one.alike < 12 || one.number.is_multiple_of(4);
        if whole { "sm_90" } else { "compute_90" }
    };
    let jobs: Vec<_> = by_file(&modules)
        .iter()
        .map(|one| (one.source, target(one)))
        .collect();
    compile(nvrtc, &jobs);
}
