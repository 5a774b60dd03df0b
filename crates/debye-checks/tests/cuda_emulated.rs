//! Everything on a CUDA device, run on its emulation: the same checks as `debye check --device cuda`, also under the
//! sanitizers and the race check, and kernels that are wrong on purpose.

// A test may stop at the first surprise.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::process::Command;

use debye_checks::device::{self as checks, Extent};
use debye_gpu::{CudaError, Device, Emulation, Instrument, Mut, Nvrtc, Shape};

fn emulated(seed: u64, instrument: Instrument) -> Device {
    let emulation = Emulation {
        seed,
        instrument,
        ..Emulation::default()
    };
    Device::emulated(emulation).unwrap_or_else(|error| panic!("{error}"))
}

fn run(device: &Device, extent: Extent, seed: u64) {
    // Some of them only, while working on something.
    let text = std::env::var("DEBYE_TEST_CHECKS").unwrap_or_default();
    let findings = checks::run(device, extent, seed, &text, &|_| ());
    assert!(!findings.is_empty(), "no check has `{text}` in its name");
    for found in &findings {
        let how = found.failure.as_deref().unwrap_or("ok");
        println!(
            "{:45} {:4} cases {:6.2} s  {how}",
            found.what, found.cases, found.seconds
        );
    }
    let failed = findings.iter().filter(|found| found.failure.is_some()).count();
    assert_eq!(failed, 0, "see the lines above");
}

/// Whether as much as on a card was asked for: some checks only, as it takes minutes.
fn full() -> bool {
    std::env::var("DEBYE_TEST_EXTENT").is_ok_and(|extent| extent == "full")
}

#[test]
fn primitives_agree_with_plain_loops() {
    let extent = if full() { Extent::Full } else { Extent::Small };
    run(&emulated(1, Instrument::Nothing), extent, 1);
}

/// Another order of blocks and threads, another number of multiprocessors: the same results.
#[test]
fn order_of_execution_does_not_matter() {
    let emulation = Emulation {
        seed: 3,
        multiprocessors: 3,
        ..Emulation::default()
    };
    run(&Device::emulated(emulation).unwrap(), Extent::Smallest, 1);
}

#[test]
fn primitives_have_no_races() {
    run(&emulated(4, Instrument::Races), Extent::Smallest, 4);
}

/// The address sanitizer must be in the process from the start, so the checks run in a second one.
#[test]
fn primitives_are_clean_under_sanitizers() {
    println!("{}", under_sanitizers("sanitized_checks", &[]).unwrap());
}

/// Runs an ignored test of this program with the sanitizers; its output, or what they found.
fn under_sanitizers(test: &str, variables: &[(&str, &str)]) -> Result<String, String> {
    let library = Emulation::preload().unwrap_or_else(|error| panic!("{error}"));
    let library = library.expect("the C++ compiler has no address sanitizer (libasan)");
    let answer = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"])
        .env("LD_PRELOAD", library)
        .env("ASAN_OPTIONS", "detect_leaks=0:detect_stack_use_after_return=0")
        .env("UBSAN_OPTIONS", "print_stacktrace=1")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let text =
        String::from_utf8_lossy(&answer.stdout).into_owned() + &String::from_utf8_lossy(&answer.stderr);
    if answer.status.success() {
        Ok(text)
    } else {
        Err(text)
    }
}

#[test]
#[ignore = "started by another test, with the sanitizers preloaded"]
fn sanitized_checks() {
    run(&emulated(5, Instrument::Memory), Extent::Smallest, 5);
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

#[test]
fn nvrtc_accepts_every_kernel_without_warnings() {
    let nvrtc = match Nvrtc::get() {
        Ok(nvrtc) => nvrtc,
        Err(missing) if std::env::var_os("DEBYE_REQUIRE_NVRTC").is_some_and(|value| value == "1") => {
            panic!("{missing}")
        }
        Err(missing) => {
            println!("skipped: {missing}");
            return;
        }
    };
    let modules = checks::modules();
    let mut seen: std::collections::HashMap<String, usize> = std::collections::HashMap::new();
    let mut compiled = 0;
    for source in &modules {
        // Of the many specialisations of a file all are compiled for one architecture, and every fourth one for one of the
        // others in turn.
        let label = source.label();
        let file = label.split_whitespace().next().unwrap_or_default().to_owned();
        let alike = modules.iter().filter(|m| m.label().starts_with(&file)).count();
        let count = seen.entry(file).or_default();
        let number = *count;
        *count += 1;
        let others = ["sm_75", "sm_80", "sm_100"].into_iter().enumerate();
        let turn = others.filter(|(k, _)| full() || alike < 12 || number % 12 == 4 * k);
        for architecture in ["sm_90"].into_iter().chain(turn.map(|(_, name)| name)) {
            let warnings = checks::warnings(nvrtc, source, architecture);
            let warnings = warnings.unwrap_or_else(|error| panic!("{label} for {architecture}: {error}"));
            assert!(warnings.is_empty(), "{label} for {architecture}: {warnings}");
            compiled += 1;
        }
    }
    println!("{compiled} compilations of {} modules", modules.len());
}
