//! `debye bench --compare` with programs that only look like GROMACS, LAMMPS and OpenMM.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::lab::{Lab, Tried};

/// Its forces fail, and its speed is 86.4 ns per day.
const GMX: &str = r#"case "$*" in
*--version*) printf 'GROMACS version:    2099.1\nPrecision:          mixed\nSIMD instructions:  AVX_9000\n' ;;
*grompp*) ;;
*"-deffnm forces"*) echo "Fatal error: no forces today"; exit 1 ;;
*mdrun*) echo "Performance:       86.400        0.278" ;;
esac"#;

/// All forces are zero; 50 steps per second.
const LMP: &str = r#"case "$*" in
*-help*) echo "Large-scale Atomic/Molecular Massively Parallel Simulator - 1 Apr 2099" ;;
*in.forces*)
  {
    printf 'ITEM: TIMESTEP\n0\nITEM: NUMBER OF ATOMS\n1000\nITEM: BOX BOUNDS pp pp pp\n0 9\n0 9\n0 9\n'
    echo 'ITEM: ATOMS id type x y z fx fy fz'
    /usr/bin/awk '/^Velocities/ { on = 0 } on && NF { print $1, 1, 0, 0, 0, 0, 0, 0 } /^Atoms/ { on = 1 }' system.data
  } > forces.lammpstrj ;;
*in.speed*) printf 'Step Temp\n0 1\nLoop time of 2.0 on 2 procs for 100 steps with 1000 atoms\n' > log.speed ;;
esac"#;

/// It gives too few forces; 25 steps per second.
const PYTHON: &str = r#"case "$*" in
*getOpenMMVersion*) printf '9.9\nReference\nCPU\n' ;;
*forces.json*) echo '[[0, 0, 0]]' > forces.json ;;
*speed*) echo '{"steps": 50, "seconds": 2.0}' ;;
*) exit 1 ;;
esac"#;

/// A folder with the only programs on the PATH.
fn lab(programs: &[(&str, &str)]) -> Lab {
    let lab = Lab::new();
    for (name, script) in programs {
        let file = format!("bin/{name}");
        lab.write(&file, format!("#!/bin/sh\n{script}\n"));
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(lab.path(&file), mode).unwrap();
    }
    lab
}

const ALL: &[(&str, &str)] = &[
    ("gmx", GMX),
    ("lmp", LMP),
    ("python3", PYTHON),
    ("mpiexec", "exit 1"),
];

const SHORT: [&str; 8] = [
    "--cases",
    "lj1k",
    "--seconds",
    "0.1",
    "--threads",
    "2",
    "--device",
    "cpu",
];

fn command(lab: &Lab, arguments: &[&str]) -> Command {
    let mut command = lab.command(&["bench", "--compare"]);
    command.args(SHORT).args(arguments).env("PATH", lab.path("bin"));
    command
}

fn compare(lab: &Lab, arguments: &[&str]) -> Tried {
    command(lab, arguments).output().unwrap().into()
}

fn results(lab: &Lab) -> serde_json::Value {
    serde_json::from_slice(&lab.read("out/compare.json")).unwrap()
}

#[test]
fn every_program_has_its_turn_and_one_that_fails_stops_nobody() {
    let lab = lab(ALL);
    let tried = compare(&lab, &["--rounds", "2", "-o", "out"]);
    assert_eq!(tried.status, Some(1), "{}", tried.err);
    assert!(
        tried.err.contains("| Fatal error: no forces today"),
        "{}",
        tried.err
    );
    for text in [
        "GROMACS: 2099.1, AVX_9000",
        "LAMMPS: 1 Apr 2099",
        "OpenMM: 9.9",
        "round 2 of 2",
        "load",
    ] {
        assert!(tried.out.contains(text), "`{text}` is missing in {}", tried.out);
    }
    let found = results(&lab);
    assert_eq!(found["schema"], "debye/compare/1");
    let programs = found["cases"][0]["programs"].as_array().unwrap();
    let names: Vec<_> = programs.iter().map(|p| p["program"].as_str().unwrap()).collect();
    assert_eq!(names, ["Debye", "GROMACS", "LAMMPS", "OpenMM"]);
    let speed = |k: usize| programs[k]["speed"]["median"].as_f64().unwrap();
    // 86.4 ns of 10.73 fs steps in a day.
    assert!((speed(1) - 93.23).abs() < 0.01, "{}", speed(1));
    assert_eq!([speed(2), speed(3)], [50.0, 25.0]);
    let error = |k: usize| programs[k]["force_error"].as_f64();
    assert!(error(0).unwrap() < 1e-5);
    assert_eq!([error(1), error(2), error(3)], [None, Some(1.0), None]);
    for program in programs {
        assert_eq!(program["steps_per_second"].as_array().unwrap().len(), 2);
    }
    // `mpiexec` fails, so that threads are left.
    let settings = programs[2]["settings"].as_str().unwrap();
    assert!(settings.ends_with("2 OpenMP threads"), "{settings}");
    assert_eq!(
        String::from_utf8(lab.read("out/compare.csv"))
            .unwrap()
            .lines()
            .count(),
        1 + 4 * 2
    );
    let svg = lab.read("out/compare.svg");
    assert!(svg.ends_with(b"</svg>") && lab.read("out/compare.png").starts_with(b"\x89PNG"));
    // The same chart of the same results, but for the last digit of numbers in JSON.
    lab.succeeds(&[
        "bench",
        "--compare",
        "--redraw",
        "out/compare.json",
        "-o",
        "again",
    ]);
    let marks = |svg: &[u8]| String::from_utf8_lossy(svg).matches('<').count();
    assert_eq!(marks(&lab.read("again/compare.svg")), marks(&svg));
}

#[test]
fn what_is_missing_is_said() {
    let lab = lab(&[("lmp", LMP)]);
    let nothing = lab.path("nothing").display().to_string();
    let refused = |arguments: &[&str], path: &str, expected: &[&str]| {
        let tried: Tried = command(&lab, arguments)
            .env("PATH", path)
            .output()
            .unwrap()
            .into();
        tried.is_refusal(&format!("{arguments:?}"), 2, expected);
    };
    refused(
        &[],
        &nothing,
        &["nothing to compare with", "gmx", "lmp", "openmm"],
    );
    refused(
        &["--with", "openmm"],
        &nothing,
        &["--with openmm", "pip install openmm"],
    );
    refused(&["--with", "gromcas"], &nothing, &["did you mean `gromacs`?"]);
    let tried = compare(&lab, &["--rounds", "1", "--json"]);
    assert_eq!(tried.status, Some(0), "{}", tried.err);
    let found: serde_json::Value = serde_json::from_str(&tried.out).unwrap();
    let programs = found["programs"].as_array().unwrap();
    let missing = programs
        .iter()
        .filter(|p| p["version"].as_str().unwrap().starts_with("not run"));
    let missing: Vec<_> = missing.map(|p| p["name"].as_str().unwrap()).collect();
    assert_eq!(missing, ["GROMACS", "OpenMM"]);
    assert!(
        tried.err.contains("OpenMM: not run: no package `openmm`"),
        "{}",
        tried.err
    );
}

#[test]
fn bad_requests_are_refused_before_anything_runs() {
    let lab = lab(ALL);
    lab.write("taken", "a file");
    for (arguments, expected) in [
        (
            &["--compare", "--cases", "argon-droplet"][..],
            "collapses from rest",
        ),
        (&["--compare", "--cases", "ssd4k"], "sticky water"),
        (&["--compare", "--cases", "scan"], "part of the engine"),
        (&["--compare", "--cases", "lj33k"], "did you mean `lj32k`?"),
        (&["--compare", "--rounds", "0"], "--rounds"),
        (&["--rounds", "3"], "--compare"),
        (&["--with", "gromacs"], "--compare"),
        (&["--compare", "--profile"], "cannot be used with"),
        (
            &["--compare", "--redraw", "none.json", "-o", "out"],
            "cannot read none.json",
        ),
    ] {
        lab.refuses(&[&["bench"], arguments].concat(), 2, &[expected]);
    }
    let tried = compare(&lab, &["-o", "taken"]);
    tried.is_refusal("-o taken", 2, &["taken is a file"]);
}

#[test]
fn an_interruption_keeps_what_was_measured() {
    let slow = GMX.replace(
        "echo \"Performance:       86.400        0.278\"",
        "exec /bin/sleep 60",
    );
    let lab = lab(&[("gmx", &slow), ("lmp", LMP), ("python3", PYTHON)]);
    let mut command = command(&lab, &["-o", "out"]);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while !lab.path("out/lj1k/gromacs/speed-10.txt").exists() {
        assert!(began.elapsed() < Duration::from_secs(60), "it does not get going");
        std::thread::sleep(Duration::from_millis(10));
    }
    let id = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &id])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let found = results(&lab);
    let programs = &found["cases"][0]["programs"];
    assert_eq!(programs[0]["steps_per_second"].as_array().unwrap().len(), 1);
    assert_eq!(programs[1]["steps_per_second"].as_array().unwrap().len(), 0);
}
