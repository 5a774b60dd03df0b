//! Emulated devices for tests, and tests under the sanitizers.

// Each test program uses some of it.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used)]

use std::collections::HashMap;
use std::process::Command;

use debye_checks::device::{self as checks, Extent};
use debye_gpu::{Device, Emulation, Instrument, ModuleSource, Nvrtc};

/// How a device of this order of execution is emulated.
pub fn emulation(seed: u64, instrument: Instrument) -> Emulation {
    Emulation {
        seed,
        instrument,
        ..Emulation::default()
    }
}

/// A device with this order of execution.
pub fn emulated(seed: u64, instrument: Instrument) -> Device {
    let emulation = Emulation {
        seed,
        instrument,
        ..Emulation::default()
    };
    Device::emulated(emulation).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs the checks on an emulated device for each core, all of them alike.
pub fn run(emulation: &Emulation, extent: Extent, seed: u64) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let devices: Vec<Device> = (0..cores.min(8))
        .map(|_| Device::emulated(emulation.clone()).unwrap_or_else(|error| panic!("{error}")))
        .collect();
    // Some of them only, while working on something.
    let text = std::env::var("DEBYE_TEST_CHECKS").unwrap_or_default();
    let findings = checks::run(&devices, extent, seed, &text, &|found| {
        let how = found.failure.as_deref().unwrap_or("ok");
        println!(
            "{:45} {:4} cases {:6.2} s  {how}",
            found.what, found.cases, found.seconds
        );
    });
    assert!(!findings.is_empty(), "no check has `{text}` in its name");
    let failed = findings.iter().filter(|found| found.failure.is_some()).count();
    assert_eq!(failed, 0, "see the lines above");
}

/// How much was asked for: `small` takes minutes more, `full`, as much as on a card, is for a few checks only.
pub fn extent() -> Extent {
    match std::env::var("DEBYE_TEST_EXTENT").as_deref() {
        Ok("full") => Extent::Full,
        Ok("small") => Extent::Small,
        _ => Extent::Smallest,
    }
}

/// Runs an ignored test of this program with the sanitizers; its output, or what they found.
pub fn under_sanitizers(test: &str, variables: &[(&str, &str)]) -> Result<String, String> {
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

/// NVRTC; `None` where it is missing and need not be there.
pub fn nvrtc() -> Option<&'static Nvrtc> {
    match Nvrtc::get() {
        Ok(nvrtc) => Some(nvrtc),
        Err(missing) if std::env::var_os("DEBYE_REQUIRE_NVRTC").is_some_and(|value| value == "1") => {
            panic!("{missing}")
        }
        Err(missing) => {
            println!("skipped: {missing}");
            None
        }
    }
}

/// A module, how many of its file come before it, and how many there are.
pub struct OfFile<'a> {
    pub source: &'a ModuleSource,
    pub number: usize,
    pub alike: usize,
}

/// The modules, counted by the file they are made from.
pub fn by_file(modules: &[ModuleSource]) -> Vec<OfFile<'_>> {
    let mut found: HashMap<&str, usize> = HashMap::new();
    let mut all = Vec::new();
    for source in modules {
        let count = found.entry(&source.name).or_default();
        let (number, alike) = (*count, 0);
        *count += 1;
        all.push(OfFile {
            source,
            number,
            alike,
        });
    }
    for one in &mut all {
        one.alike = found[one.source.name.as_str()];
    }
    all
}

/// Compiles modules for architectures, on all cores; a warning is a failure.
pub fn compile(nvrtc: &Nvrtc, jobs: &[(&ModuleSource, &str)]) {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some((source, architecture)) =
                    jobs.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
                {
                    let label = source.label();
                    let warnings = checks::warnings(nvrtc, source, architecture);
                    let warnings =
                        warnings.unwrap_or_else(|error| panic!("{label} for {architecture}: {error}"));
                    assert!(warnings.is_empty(), "{label} for {architecture}: {warnings}");
                }
            });
        }
    });
    println!("{} compilations", jobs.len());
}
