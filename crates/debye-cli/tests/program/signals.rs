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
fn a_minimization_can_be_stopped() {
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

/// The step of a checkpoint, as the run that goes on from it says.
fn resumed_from(lab: &Lab) -> u64 {
    let tried = lab.succeeds(&["run", "argon.toml", "--resume"]);
    let from = tried
        .out
        .split("from step ")
        .nth(1)
        .unwrap_or_else(|| panic!("{}", tried.out));
    let digits: String = from.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

/// Where a run said it stopped.
fn stopped_at(err: &str) -> u64 {
    let step = err.split("at step ").nth(1).unwrap_or_else(|| panic!("{err}"));
    let digits: String = step.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

/// `timeout` sends its signal twice within a moment; closing a terminal sends SIGHUP.
#[test]
#[cfg(target_os = "linux")]
fn repeated_signals_lose_nothing() {
    for signals in [&["-TERM", "-TERM"][..], &["-HUP"], &["-HUP", "-TERM", "-INT"]] {
        let lab = Lab::with_argon(&long(30_000));
        // Ignored signals are inherited: whoever runs this test may ignore SIGHUP.
        let child = lab.start_with(&["env", "--default-signal=HUP"], &["run", "argon.toml"]);
        wait_for_rows(&lab, 20);
        for signal in signals {
            send(&child, signal);
            std::thread::sleep(Duration::from_millis(20));
        }
        let output = child.wait_with_output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{signals:?}: {err}");
        let step = stopped_at(&err);
        assert!(step > 0 && step < 30_000, "{err}");
        lab.write("argon.toml", long(step + 500));
        assert_eq!(resumed_from(&lab), step, "{signals:?}");
    }
}

/// With `timeout` itself, which the double signal was seen with.
#[test]
#[cfg(target_os = "linux")]
fn timeout_saves_everything() {
    let lab = Lab::with_argon(&long(1_000_000));
    let tried = lab.shell("timeout 1.5 \"$0\" run argon.toml --quiet; echo $? >&2");
    // The status is that of `timeout`.
    assert!(
        tried.err.contains("continue with --resume") && tried.err.contains("124"),
        "{}",
        tried.err
    );
    let step = stopped_at(&tried.err);
    lab.write("argon.toml", long(step + 100));
    assert_eq!(resumed_from(&lab), step);
}

/// A program that cannot look up from what it does is ended by a signal a second after the first, and not before.
#[test]
#[cfg(unix)]
fn a_later_signal_ends_at_once() {
    let lab = Lab::with_argon(ARGON);
    // Killed before its first checkpoint; now its table is a pipe that nobody reads, and opening it takes forever.
    lab.write("argon.out/input.toml", ARGON);
    let pipe = lab.path("argon.out/energy.csv");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut child = lab.start(&["run", "argon.toml", "--resume"]);
    std::thread::sleep(Duration::from_millis(1500));
    for _ in 0..3 {
        send(&child, "-TERM");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(child.try_wait().unwrap().is_none());
    std::thread::sleep(Duration::from_millis(1000));
    send(&child, "-TERM");
    let began = Instant::now();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert!(began.elapsed() < Duration::from_secs(1));
}

/// `nohup` means that the run goes on.
#[test]
#[cfg(target_os = "linux")]
fn an_ignored_hangup_stays_ignored() {
    let lab = Lab::with_argon(&long(3000));
    let child = lab.start_with(&["env", "--ignore-signal=HUP"], &["run", "argon.toml"]);
    wait_for_rows(&lab, 3);
    send(&child, "-HUP");
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{err}");
}

/// SIGUSR1 writes a checkpoint where none is planned, and the run goes on.
#[test]
#[cfg(unix)]
fn a_checkpoint_can_be_asked_for() {
    let planned = "checkpoint = { every = 60, keep = 2 }\n";
    let text = changed(&long(4000), planned, "");
    let lab = Lab::with_argon(&text);
    lab.succeeds(&["run", "argon.toml", "--out", "whole"]);
    let child = lab.start(&["run", "argon.toml"]);
    wait_for_rows(&lab, 20);
    let before = lab.read("argon.out/argon.checkpoint");
    send(&child, "-USR1");
    let began = Instant::now();
    while lab.read("argon.out/argon.checkpoint") == before {
        assert!(began.elapsed() < Duration::from_secs(20), "no checkpoint");
        std::thread::sleep(Duration::from_millis(10));
    }
    // It is a later one, and sound: a copy of the folder goes on from there.
    for name in ["argon.checkpoint", "input.toml", "files.txt"] {
        lab.write(&format!("copy/{name}"), lab.read(&format!("argon.out/{name}")));
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    same_outputs(&lab, "whole", "argon.out", "a checkpoint on the way");
}

/// A run ends before its time is over, with everything saved.
#[test]
fn hours_are_kept() {
    let lab = Lab::with_argon(&long(100_000_000));
    let began = Instant::now();
    let tried = lab.debye(&["run", "argon.toml", "--max-hours", "0.0015"]);
    let seconds = began.elapsed().as_secs_f64();
    assert_eq!(tried.status, Some(130), "{}", tried.err);
    assert!(seconds < 5.4, "{seconds}");
    let err = tried.err;
    assert!(
        err.contains("stopped after 0.0015 hours at step") && err.contains("--resume"),
        "{err}"
    );
    let step = stopped_at(&err);
    assert!(step > 0);
    lab.write("argon.toml", long(step + 100));
    assert_eq!(resumed_from(&lab), step);
    // Less time than saving takes is a mistake, not a pause.
    lab.write("argon.toml", long(step + 1000));
    let tried = lab.debye(&["run", "argon.toml", "--resume", "--max-hours", "1e-6"]);
    assert_eq!(tried.status, Some(1), "{}", tried.err);
    let why = "no step fits into --max-hours 0.000001";
    assert!(
        tried.err.contains(why) && tried.err.contains("still at step"),
        "{}",
        tried.err
    );
    for wrong in ["0", "-1", "soon", "inf", "nan"] {
        let flag = format!("--max-hours={wrong}");
        lab.refuses(
            &["run", "argon.toml", &flag],
            2,
            &["--max-hours", "hours above 0"],
        );
    }
    // Nothing is kept of a minimization that did not end.
    let endless = "[minimize]\nforce_tolerance = 1e-300\nmax_steps = 1_000_000_000\n[run]";
    lab.write("argon.toml", changed(ARGON, "[run]", endless));
    let arguments = ["run", "argon.toml", "--out", "minimal", "--max-hours", "0.0006"];
    let why = ["during the minimization", "more hours"];
    lab.refuses(&arguments, 1, &why);
    assert!(!lab.path("minimal").exists());
}

/// Two runs do not share a folder.
#[test]
#[cfg(unix)]
fn a_folder_has_one_run_at_a_time() {
    let lab = Lab::with_argon(&long(1_000_000));
    let mut child = lab.start(&["run", "argon.toml"]);
    wait_for_rows(&lab, 3);
    let process = format!("process {}", child.id());
    for flags in [&[][..], &["--resume"], &["--overwrite"]] {
        let tried = lab.debye(&[&["run", "argon.toml"], flags].concat());
        tried.is_refusal("a second run", 2, &["argon.out is in use by", &process, "--out"]);
    }
    lab.succeeds(&["run", "argon.toml", "--out", "elsewhere", "--steps", "20"]);
    // A killed process holds nothing, whatever its file says.
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(lab.path("argon.out/.debye.lock").exists());
    lab.write("argon.toml", long(400));
    lab.succeeds(&["run", "argon.toml", "--overwrite"]);
    assert!(!lab.path("argon.out/.debye.lock").exists());
    // One that was killed before it wrote anything leaves a folder that counts as empty.
    lab.write("empty/.debye.lock", "process = 1\n");
    lab.succeeds(&["run", "argon.toml", "--out", "empty"]);
}

/// Of two that begin in the same moment, one wins.
#[test]
fn of_two_starts_one_runs() {
    let lab = Lab::with_argon(&long(2000));
    let children = [0, 1].map(|_| lab.start(&["run", "argon.toml"]));
    let mut codes = children.map(|child| child.wait_with_output().unwrap().status.code());
    codes.sort();
    assert_eq!(codes, [Some(0), Some(2)]);
}
