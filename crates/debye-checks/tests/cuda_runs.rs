//! Whole runs on the emulation of a CUDA device: explosions, lost devices, checkpoints, memory, profiles.

// A test may stop at the first surprise.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::Path;

use debye::engines::cuda::CudaEngine;
use debye::engines::{Engine, EngineError, Needs, PairHistogram, Precision, Settings};
use debye::run::{Existing, Outcome, RunError, RunOptions, Summary, run};
use debye::simulation::{DeviceChoice, Simulation};
use debye_gpu::{Device, Emulation};

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
    simulation.output.folder = Some(folder.join("out"));
    simulation
}

/// The same with open faces along z, which is laid out as large systems are, whatever its size.
fn slab(folder: &Path) -> Simulation {
    let mut simulation = simulation(folder);
    let cell = &mut simulation.system.cell;
    *cell = cell.with_periodicity([true, true, false]);
    simulation
}

/// The same of dipoles, which turn.
fn dipoles(folder: &Path) -> Simulation {
    let turning = "[species.A]\ndipole = 0.7\ninertia = 0.1\n[[forces]]\nkind = \"dipoles\"\ncutoff = 2.2\n\
                   truncation = \"force-shift\"";
    let text = INPUT.replace("[species.A]", turning);
    let mut simulation = Simulation::parse(&text, ".", "dipoles").unwrap();
    simulation.output.folder = Some(folder.join("out"));
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
    assert_eq!(atoms, culprit.neighborhood.len(), "{text}");
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
    let whole = slab(&folder.path().join("whole"));
    let sound = emulated(Emulation::default());
    run_on(&sound, &whole, Existing::Refuse).unwrap();
    let mut failed = 0;
    for fail_after in [12, 60, 110, 150] {
        let broken = slab(&folder.path().join(fail_after.to_string()));
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
            assert!(!broken.output.path("melt.checkpoint").exists(), "{message}");
            continue;
        };
        failed += 1;
        assert!(step < 60 && file.is_file(), "{message}");
        let summary = run_on(&sound, &broken, Existing::Resume).unwrap();
        assert_eq!((summary.outcome, summary.first_step), (Outcome::Finished, step));
        let table = |s: &Simulation| std::fs::read(s.output.path("table.csv")).unwrap();
        assert!(
            table(&broken) == table(&whole),
            "the table of {fail_after} differs"
        );
    }
    assert!(failed >= 3);
}

fn needs(device: &Device, s: &Simulation) -> Result<Needs, EngineError> {
    CudaEngine::needs(device, &s.system, &s.forces, &s.dynamics, &Settings::default())
}

fn engine(device: &Device, s: &Simulation) -> Result<CudaEngine, EngineError> {
    CudaEngine::new(device, &s.system, &s.forces, &s.dynamics, &Settings::default())
}

/// Atoms in one corner of a large cell: more neighbors than a layout foresees, so that it grows.
fn crowd() -> Simulation {
    let mut simulation = Simulation::parse(INPUT, ".", "crowd").unwrap();
    let s = &mut simulation.system;
    s.cell = debye::system::Cell::orthorhombic([30.0; 3]).unwrap();
    for (i, r) in s.particles.positions.iter_mut().enumerate() {
        let at = [i % 7, i / 7 % 7, i / 49].map(|k| 1.0 + 0.5 * k as f64);
        *r = debye::expr::Vec3::from(at);
    }
    simulation
}

#[test]
fn memory_is_as_predicted() {
    let folder = tempfile::tempdir().unwrap();
    let melt = simulation(folder.path());
    for (s, grows) in [(&melt, false), (&crowd(), true)] {
        let device = emulated(Emulation::default());
        let free = || device.memory().unwrap().free;
        let before = free();
        let predicted = needs(&device, s).unwrap();
        assert_eq!(free(), before, "a prediction takes nothing");
        let engine = engine(&device, s).unwrap();
        assert_eq!(before - free(), engine.bytes());
        assert_eq!(engine.bytes() > predicted.total(), grows);
        assert_eq!(engine.device_use().unwrap().memory.total(), engine.bytes());
    }
}

#[test]
fn too_little_memory_is_refused_with_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let melt = simulation(folder.path());
    let plenty = emulated(Emulation::default());
    let with = |memory: usize| {
        emulated(Emulation {
            memory,
            ..Emulation::default()
        })
    };
    let first = needs(&plenty, &melt).unwrap().total();
    engine(&with(first), &melt).unwrap();
    let small = with(first - 1);
    let error = engine(&small, &melt).err().unwrap().to_string();
    println!("{error}");
    for word in [
        "lists",
        "particles",
        "free",
        "emulated device",
        "cutoff",
        "buffer",
    ] {
        assert!(error.contains(word), "no `{word}` in: {error}");
    }
    assert_eq!(small.memory().unwrap().free, first - 1, "nothing was taken");
    // A run that is refused leaves no folder behind.
    assert!(run_on(&small, &melt, Existing::Refuse).is_err());
    assert!(!melt.output.path("").exists());
    // Enough for the first layout, not for the one that is needed.
    let crowd = crowd();
    let first = needs(&plenty, &crowd).unwrap().total();
    let grown = engine(&plenty, &crowd).unwrap().bytes();
    assert!(grown > first);
    let between = with((first + grown) / 2);
    let error = engine(&between, &crowd).err().unwrap();
    assert!(matches!(error, EngineError::DeviceMemory(_)), "{error}");
}

#[test]
fn a_profile_changes_nothing_and_says_where_the_time_goes() {
    let folder = tempfile::tempdir().unwrap();
    let device = emulated(Emulation::default());
    let (plain, timed) = (
        slab(&folder.path().join("plain")),
        slab(&folder.path().join("timed")),
    );
    let told = run_on(&device, &plain, Existing::Refuse).unwrap();
    let options = RunOptions {
        threads: Some(1),
        device: Some(&device),
        profile: Some(30),
        ..RunOptions::default()
    };
    let summary = run(&timed, options).unwrap();
    for file in ["table.csv", "melt.checkpoint"] {
        let read = |s: &Simulation| std::fs::read(s.output.path(file)).unwrap();
        // A checkpoint also says how many seconds it took.
        let same = |a: Vec<u8>, b: Vec<u8>| a.iter().zip(&b).filter(|(a, b)| a != b).count();
        assert!(same(read(&plain), read(&timed)) <= 12, "{file} differs");
    }
    let found = summary.device_use.unwrap();
    let profile = found.profile.as_ref().unwrap();
    let of = |name: &str| profile.kernels.iter().find(|k| k.name == name);
    assert_eq!(profile.steps, 30);
    assert_eq!(of("step").unwrap().launches, 30);
    let lists = of("lists").map_or(0, |k| k.launches);
    assert_eq!(of("sort").map_or(0, |k| k.launches), lists);
    assert!(profile.kernels.iter().all(|k| k.seconds > 0.0 && k.bytes > 0.0));
    // Every particle's positions and velocities are read and written.
    assert!(of("step").unwrap().bytes / 30.0 > 320.0 * 72.0);
    assert_eq!(found.steps, 60);
    assert!(found.launches > 60 && found.replays > 0 && found.lists > 0 && found.host_seconds > 0.0);
    println!("{}\n{}", debye::run::report::utc_now(), profile.note());
    let page = |s: &Simulation| std::fs::read_to_string(s.output.path("report.html")).unwrap();
    let (with, without) = (page(&timed), page(&plain));
    assert!(with.contains("<h3>Kernels</h3>") && with.contains("<th>step</th>"));
    assert!(!without.contains("<h3>Kernels</h3>") && told.device_use.unwrap().profile.is_none());
    for text in [
        "Kernels queued per step",
        "Graphs replayed",
        "Host, working",
        "Memory, of the device",
    ] {
        assert!(without.contains(text), "no {text}");
    }
}

/// A run goes on on another device and in another precision, and says so; its files are those of one run.
#[test]
fn a_run_goes_on_elsewhere() {
    goes_on_elsewhere(simulation);
}

/// The same where particles turn.
#[test]
fn a_run_of_dipoles_goes_on_elsewhere() {
    goes_on_elsewhere(dipoles);
}

fn goes_on_elsewhere(simulation: impl Fn(&Path) -> Simulation) {
    let folder = tempfile::tempdir().unwrap();
    let device = emulated(Emulation::default());
    let table = |simulation: &Simulation| -> Vec<Vec<f64>> {
        let text = std::fs::read_to_string(simulation.output.path("table.csv")).unwrap();
        let row = |line: &str| line.split(',').map(|x| x.parse().unwrap()).collect();
        text.lines().skip(1).map(row).collect()
    };
    let on_cpu = |simulation: &Simulation, existing| {
        let options = RunOptions {
            threads: Some(1),
            existing,
            ..RunOptions::default()
        };
        run(simulation, options).unwrap()
    };
    let mut whole = simulation(&folder.path().join("whole"));
    whole.run.device = DeviceChoice::Cpu;
    whole.run.precision = Precision::Double;
    on_cpu(&whole, Existing::Refuse);
    let mut parts = simulation(&folder.path().join("parts"));
    parts.run.device = DeviceChoice::Cpu;
    parts.run.precision = Precision::Double;
    parts.run.steps = 20;
    run_on(&device, &parts, Existing::Refuse).unwrap();
    parts.run.steps = 40;
    let point = debye::run::resume_point(&parts, false).unwrap();
    assert!(point.step == 20 && point.elsewhere.unwrap().contains("emulated"));
    let summary = on_cpu(&parts, Existing::Resume);
    let moved = |summary: &Summary| summary.notes.iter().any(|note| note.contains("bits may differ"));
    assert!(summary.first_step == 20 && moved(&summary), "{:?}", summary.notes);
    // Once there it stays, bit for bit.
    parts.run.steps = 50;
    let summary = on_cpu(&parts, Existing::Resume);
    assert!(!moved(&summary), "{:?}", summary.notes);
    parts.run.steps = 60;
    parts.run.precision = Precision::Mixed;
    let summary = run_on(&device, &parts, Existing::Resume).unwrap();
    assert!(moved(&summary), "{:?}", summary.notes);
    let (found, expected) = (table(&parts), table(&whole));
    assert_eq!(found.len(), expected.len());
    for (a, b) in found.iter().flatten().zip(expected.iter().flatten()) {
        assert!((a - b).abs() <= 1e-4 * b.abs().max(1.0), "{a} {b}");
    }
}

/// Salt whose potential is mapped every step, in a cell that changes.
const SALT: &str = r#"
units = "md"
[system]
build = { kind = "nacl", cells = [2, 2, 2] }
[species.Na]
model = "joung-cheatham-spce:Na+"
[species.Cl]
model = "joung-cheatham-spce:Cl-"
[[forces]]
kind = "lennard-jones"
cutoff = "0.45 nm"
truncation = "cut"
mixing = "lorentz-berthelot"
[[forces]]
kind = "pme"
cutoff = "0.45 nm"
tolerance = 5e-3
pressure_tolerance = "1 kbar"
[integrator]
kind = "bussi"
timestep = "1 fs"
temperature = "300 K"
time = "0.1 ps"
[barostat]
kind = "cell-rescale"
pressure = "1 bar"
time = "1 ps"
compressibility = "4e-6 1/bar"
[run]
steps = 18
temperature = "300 K"
[output]
map = { every = 1, from = 1, spacing = "1.5 Å", units = "V" }
checkpoint = { every = 10, file = "salt.checkpoint" }
"#;

/// All modules of an engine are known before the first of them is compiled.
#[test]
fn nothing_is_compiled_late() {
    let device = emulated(Emulation::default());
    for input in [SALT, INPUT] {
        let mut simulation = Simulation::parse(input, ".", "ahead").unwrap();
        let cell = &mut simulation.system.cell;
        // Not as a small system.
        if input == INPUT {
            *cell = cell.with_periodicity([true, true, false]);
        }
        debye::run::engine_on(&simulation, Some(&device)).unwrap();
    }
    let counted = Simulation::parse(&format!("{INPUT}{COUNTED}"), ".", "counted").unwrap();
    let mut engine = debye::run::engine_on(&counted, Some(&device)).unwrap();
    let of = PairHistogram {
        pair: None,
        reach: 2.0,
        bins: 10,
    };
    assert_eq!(engine.count_pairs(&[of]).unwrap(), 1);
    assert!(device.not_ahead().is_empty(), "{:?}", device.not_ahead());
}

/// A map that is summed on the device is the CPU's, and a run that went on has the same bytes.
#[test]
fn maps_are_made_on_the_device() {
    let folder = tempfile::tempdir().unwrap();
    let device = emulated(Emulation::default());
    let salt = |name: &str| {
        let mut simulation = Simulation::parse(SALT, ".", "salt").unwrap();
        simulation.output.folder = Some(folder.path().join(name));
        simulation
    };
    let whole = salt("whole");
    run_on(&device, &whole, Existing::Refuse).unwrap();
    let mut parts = salt("parts");
    parts.run.steps = 17;
    run_on(&device, &parts, Existing::Refuse).unwrap();
    parts.run.steps = 18;
    run_on(&device, &parts, Existing::Resume).unwrap();
    for file in ["map.dx", "map.error.dx"] {
        let [a, b] = [&whole, &parts].map(|simulation| std::fs::read(simulation.output.path(file)).unwrap());
        assert!(a == b, "{file}");
    }
    let mut here = salt("here");
    here.run.device = DeviceChoice::Cpu;
    let options = RunOptions {
        threads: Some(1),
        ..RunOptions::default()
    };
    run(&here, options).unwrap();
    let [there, here] = [&whole, &here].map(|simulation| {
        let path = simulation.output.path("map.dx");
        debye::maps::PotentialMap::read(&path, debye::maps::PotentialUnit::Volt).unwrap()
    });
    assert_eq!(there.grid().shape(), here.grid().shape());
    let [low, high] = here.range();
    for i in 0..here.grid().points() {
        let point = here.grid().point(i);
        let apart = (there.value(point) - here.value(point)).abs();
        assert!(apart < 2e-4 * (high - low), "{point:?}: {apart}");
    }
    assert!(there.method().contains("mean of 18 frames"), "{}", there.method());
}

/// Pairs of a melt by their distance: within half of the cell, beyond it, and of velocities besides.
const COUNTED: &str = r#"
[[analyze]]
kind = "rdf"
every = 2
r_max = 3.3
file = "near.csv"
[[analyze]]
kind = "rdf"
every = 4
r_max = 5.0
bins = 50
file = "far.csv"
[[analyze]]
kind = "vacf"
every = 4
file = "vacf.csv"
"#;

/// Distributions that are counted on the device are the CPU's to the last byte, and a run that went on has the same.
#[test]
fn distributions_are_counted_on_the_device() {
    let folder = tempfile::tempdir().unwrap();
    let device = emulated(Emulation::default());
    for (name, open) in [("small", false), ("large", true)] {
        let melt = |of: &str| {
            let mut simulation = Simulation::parse(&format!("{INPUT}{COUNTED}"), ".", "melt").unwrap();
            simulation.output.folder = Some(folder.path().join(format!("{name}-{of}")));
            simulation.run.precision = Precision::Double;
            simulation.run.steps = 20;
            let cell = &mut simulation.system.cell;
            *cell = cell.with_periodicity([true, true, !open]);
            simulation
        };
        let whole = melt("whole");
        run_on(&device, &whole, Existing::Refuse).unwrap();
        let mut parts = melt("parts");
        parts.run.steps = 11;
        run_on(&device, &parts, Existing::Refuse).unwrap();
        parts.run.steps = 20;
        run_on(&device, &parts, Existing::Resume).unwrap();
        let mut here = melt("here");
        here.run.device = DeviceChoice::Cpu;
        let options = RunOptions {
            threads: Some(1),
            ..RunOptions::default()
        };
        run(&here, options).unwrap();
        for file in ["near.csv", "far.csv"] {
            let [a, b, c] = [&whole, &parts, &here]
                .map(|simulation| std::fs::read_to_string(simulation.output.path(file)).unwrap());
            assert!(a == b, "{name}, resumed: {file}");
            assert!(a == c, "{name}, on the CPU: {file}");
        }
    }
}
