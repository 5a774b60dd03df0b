//! Runs that are stopped or killed.

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::continuation::{input, same_outputs};
use crate::lab::{ARGON, Lab, changed};

/// Long enough to be stopped on the way, with a checkpoint every few milliseconds.
fn long(steps: u64) -> String {
    let text = input("kind = \"langevin\"\ntemperature = \"120 K\"\ntime = \"0.1 ps\"\n");
    let text = changed(&text, "steps = 150", &format!("steps = {steps}"));
    changed(
        &text,
        "checkpoint = { every = 10, keep = 1 }",
        "checkpoint = { every = 60, keep = 2 }",
    )
}

fn send(child: &Child, signal: &str) {
    let done = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status()
        .unwrap();
    assert!(done.success());
}

/// Waits until the run has written some rows of its table.
fn wait_for_rows(lab: &Lab, rows: usize) {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(20) {
        let table = std::fs::read_to_string(lab.path("argon.out/energy.csv")).unwrap_or_default();
        if table.lines().count() > rows {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("the run does not get going");
}

#[test]
#[cfg(unix)]
fn twenty_kills_lose_nothing() {
    let lab = Lab::with_argon(&long(6000));
    lab.succeeds(&["run", "argon.toml", "--out", "whole"]);
    // The same moments every time the test runs, as far as the machine allows.
    let mut random = 12345_u64;
    let mut kills = 0;
    for _ in 0..20 {
        let mut child = lab.start(&["run", "argon.toml", "--resume"]);
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_millis(5 + (random >> 33) % 60));
        // SIGKILL.
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        if output.status.code().is_none() {
            kills += 1;
        } else {
            let err = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{err}");
        }
    }
    assert_eq!(kills, 20, "the run ended before the last kill: make it longer");
    lab.succeeds(&["run", "argon.toml", "--resume"]);
    same_outputs(&lab, "whole", "argon.out", "killed");
    let litter = lab
        .files()
        .into_keys()
        .filter(|p| p.to_string_lossy().contains(".unfinished"));
    assert_eq!(litter.count(), 0);
}

#[test]
#[cfg(unix)]
fn interruption_saves_everything() {
    let lab = Lab::with_argon(&long(3000));
    lab.succeeds(&["run", "argon.toml", "--out", "whole"]);
    for (signal, rows) in [("-INT", 3), ("-TERM", 20)] {
        let child = lab.start(&["run", "argon.toml", "--resume"]);
        wait_for_rows(&lab, rows);
        send(&child, signal);
        let output = child.wait_with_output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{signal}: {err}");
        assert!(err.contains("--resume") && !err.contains("error"), "{err}");
        lab.succeeds(&["analyze", "info", "argon.out/argon.xtc"]);
        lab.succeeds(&["analyze", "info", "argon.out/argon.dcd"]);
    }
    lab.succeeds(&["run", "argon.toml", "--resume"]);
    same_outputs(&lab, "whole", "argon.out", "interrupted");
}

#[test]
#[cfg(unix)]
fn a_reader_that_goes_away_is_no_error() {
    let lab = Lab::with_argon(ARGON);
    for command in ["info", "--help", "check", "energy argon.toml", "run argon.toml"] {
        let tried = lab.shell(&format!("\"$0\" {command} | head -c 1 > head.txt"));
        assert!(!tried.err.contains("panicked"), "{command}: {}", tried.err);
    }
    // With standard error closed there is nobody to tell.
    let tried = lab.shell("\"$0\" run missing.toml 2>&-; echo $?");
    assert_eq!(tried.out.trim(), "2");
}

#[test]
#[cfg(unix)]
fn a_minimisation_can_be_stopped() {
    let text = changed(
        ARGON,
        "[run]",
        "[minimize]\nforce_tolerance = 1e-300\nmax_steps = 1_000_000_000\n[run]",
    );
    let lab = Lab::with_argon(&text);
    let child = lab.start(&["run", "argon.toml"]);
    std::thread::sleep(Duration::from_millis(700));
    let began = Instant::now();
    send(&child, "-TERM");
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(130),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(began.elapsed() < Duration::from_secs(5));
}
