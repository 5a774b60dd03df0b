//! Whole runs on the emulation of a CUDA device: explosions, lost devices, checkpoints, memory, profiles.

// A test may stop at the first surprise.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::Path;

use debye::backend::EngineError;
use debye::backend::cuda::{Device, Emulation};
use debye::input::Simulation;
use debye::run::{Existing, Outcome, RunError, RunOptions, Summary, run};

/// A melt of 320 atoms that writes its table and a checkpoint every ten steps.
const INPUT: &str = r#"
units = "lj"
[system]
build = { kind = "lattice", lattice = "fcc", cells = [4, 4, 5], density = 0.8442 }
[species.A]
[[forces]]
kind = "lennard-jones"
cutoff = 2.3
truncation = "force-shift"
epsilon = 1.0
sigma = 1.0
[integrator]
kind = "nve"
timestep = 0.004
[run]
steps = 60
temperature = 1.44
[output]
table = { every = 10, file = "table.csv" }
checkpoint = { every = 10, file = "melt.checkpoint" }
"#;

fn simulation(folder: &Path) -> Simulation {
    let mut simulation = Simulation::parse(INPUT, ".", "melt").unwrap();
    simulation.output.folder = folder.join("out");
    simulation
}

fn emulated(emulation: Emulation) -> Device {
    Device::emulated(emulation).unwrap_or_else(|error| panic!("{error}"))
}

fn run_on(device: &Device, simulation: &Simulation, existing: Existing) -> Result<Summary, RunError> {
    let options = RunOptions {
        threads: Some(1),
        existing,
        device: Some(device),
        ..RunOptions::default()
    };
    run(simulation, options)
}

#[test]
fn an_explosion_is_explained_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let mut simulation = simulation(folder.path());
    let p = &mut simulation.system.particles;
    p.positions[17] = p.positions[200] + debye::expr::Vec3::new(0.05, 0.0, 0.0);
    let error = run_on(&emulated(Emulation::default()), &simulation, Existing::Refuse).unwrap_err();
    let message = error.to_string();
    let RunError::Explained {
        error: EngineError::Exploded(culprit),
        file,
    } = error
    else {
        panic!("{message}");
    };
    assert!(
        message.contains("particle 18")
            && message.contains("particle 201")
            && message.contains("`lennard-jones`"),
        "{message}"
    );
    let text = std::fs::read_to_string(file).unwrap();
    let atoms: usize = text.lines().next().unwrap().parse().unwrap();
    assert_eq!(atoms, culprit.neighbourhood.len(), "{text}");
    // The two are drawn as they were before.
    let place = |line: usize| -> Vec<f64> {
        let line = text.lines().nth(2 + line).unwrap();
        line.split_whitespace()
            .skip(1)
            .map(|x| x.parse().unwrap())
            .collect()
    };
    let (a, b) = (place(0), place(1));
    let apart = (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt();
    assert!((apart - 0.05).abs() < 1e-3, "{text}");
}

#[test]
fn a_lost_device_leaves_a_checkpoint_to_go_on_from() {
    let folder = tempfile::tempdir().unwrap();
    let whole = simulation(&folder.path().join("whole"));
    let sound = emulated(Emulation::default());
    run_on(&sound, &whole, Existing::Refuse).unwrap();
    let mut failed = 0;
    for fail_after in [12, 60, 110, 150] {
        let broken = simulation(&folder.path().join(fail_after.to_string()));
        let failing = emulated(Emulation {
            fail_after: Some(fail_after),
            ..Emulation::default()
        });
        let error = run_on(&failing, &broken, Existing::Refuse).unwrap_err();
        let message = error.to_string();
        println!("{message}");
        assert!(
            message.contains(&format!("told to fail after {fail_after} kernels")),
            "{message}"
        );
        let RunError::Broken { step, file, .. } = error else {
            // Before the run had begun there is nothing to go on from.
            assert!(
                !broken.output.folder.join("melt.checkpoint").exists(),
                "{message}"
            );
            continue;
        };
        failed += 1;
        assert!(step < 60 && file.is_file(), "{message}");
        let summary = run_on(&sound, &broken, Existing::Resume).unwrap();
        assert_eq!((summary.outcome, summary.first_step), (Outcome::Finished, step));
        let table = |s: &Simulation| std::fs::read(s.output.folder.join("table.csv")).unwrap();
        assert!(
            table(&broken) == table(&whole),
            "the table of {fail_after} differs"
        );
    }
    assert!(failed >= 3);
}
