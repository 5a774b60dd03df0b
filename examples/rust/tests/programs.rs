//! Every program of the examples runs as written.

#![allow(clippy::unwrap_used)]

use std::process::Command;

fn output(program: &str, arguments: &[&str], folder: &std::path::Path) -> String {
    let answer = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&answer.stdout).into_owned();
    let errors = String::from_utf8_lossy(&answer.stderr);
    assert!(answer.status.success(), "{program}: {text}{errors}");
    text
}

#[test]
fn lj_fluid() {
    let folder = tempfile::tempdir().unwrap();
    // Twice: the second run replaces the files of the first.
    for _ in 0..2 {
        let text = output(env!("CARGO_BIN_EXE_lj_fluid"), &[], folder.path());
        assert!(text.contains("step  1000") && text.contains("drift"), "{text}");
    }
    for file in ["energy.csv", "fluid.xtc", "report.html", "run.checkpoint"] {
        assert!(folder.path().join("lj-fluid.out").join(file).is_file(), "{file}");
    }
}

#[test]
fn salt_pme() {
    let folder = tempfile::tempdir().unwrap();
    let text = output(env!("CARGO_BIN_EXE_salt_pme"), &[], folder.path());
    assert!(
        text.contains("coulomb-real") && text.contains("moved by 1 pm"),
        "{text}"
    );
    // Nothing was asked to be written.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn user_potential() {
    let folder = tempfile::tempdir().unwrap();
    let text = output(env!("CARGO_BIN_EXE_user_potential"), &["cpu"], folder.path());
    let numbers = text.split_once("energy ").unwrap().1;
    let (before, after) = numbers.trim().split_once(" → ").unwrap();
    let [before, after] = [before, after].map(|x| x.parse::<f64>().unwrap());
    assert!((after / before - 1.0).abs() < 1e-4, "{text}");
}

#[test]
fn custom_analysis() {
    let folder = tempfile::tempdir().unwrap();
    let text = output(env!("CARGO_BIN_EXE_custom_analysis"), &[], folder.path());
    // Twelve nearest neighbors of a crystal; it is warm, and 0.5 nm is short of the second shell.
    assert!(text.contains("mean number of neighbors: 1"), "{text}");
    let rows = std::fs::read_to_string(folder.path().join("argon.out/argon.rows")).unwrap();
    assert_eq!(rows.lines().count(), 4 * 500);
    assert!(folder.path().join("argon.out/coordination.csv").is_file());
}
