//! The extension on every engine, by code and by input file.

#![allow(clippy::unwrap_used)]

use debye::gpu::{Device, Emulation};
use debye::prelude::*;
use debye_examples::GaussianCore;

fn soft() -> SimulationBuilder {
    let system = builders::lattice(Lattice::Bcc, [7, 7, 7])
        .density(0.4)
        .thermalize(0.01, 7)
        .unwrap();
    Simulation::builder(system)
        .pair(PairForce::new(GaussianCore::new(1.0, 1.0)).cutoff(3.5))
        .timestep(0.05)
        .precision(Precision::Double)
        .device(DeviceChoice::Cpu)
}

/// The CPU and the CUDA engine, whose kernels run on the host here, agree with the formula.
#[test]
fn potential_on_cpu_and_cuda() {
    let mut cpu = soft().start().unwrap();
    let device = Device::emulated(Emulation::default()).unwrap();
    let mut options = RunOptions {
        device: Some(&device),
        ..RunOptions::default()
    };
    let mut cuda = soft().build().unwrap().start_with(&mut options).unwrap();
    assert!(cuda.device().contains("CUDA"), "{}", cuda.device());
    for run in [&mut cpu, &mut cuda] {
        run.steps(5).unwrap();
    }
    let (r, cell) = (cpu.positions().unwrap(), cpu.cell());
    let mut expected = vec![Vec3::zero(); r.len()];
    for i in 0..r.len() {
        for j in (0..r.len()).filter(|j| *j != i) {
            let d = cell.minimum_image(r[i] - r[j]);
            let r2 = d.norm2();
            if r2 < 3.5 * 3.5 {
                expected[i] += d * (2.0 * (-r2).exp());
            }
        }
    }
    for run in [&mut cpu, &mut cuda] {
        let device = run.device();
        for (found, expected) in run.forces().unwrap().iter().zip(&expected) {
            assert!(
                (*found - *expected).norm() < 1e-10,
                "{device}: {found:?} {expected:?}"
            );
        }
    }
}

/// Potential, analysis and format by their names; the registers take them once.
#[test]
fn input_files_know_what_was_registered() {
    debye_examples::register().unwrap();
    assert!(debye_examples::register().is_err());
    let folder = tempfile::tempdir().unwrap();
    let text = r#"
        units = "lj"
        [system]
        build = { kind = "lattice", lattice = "bcc", cells = [5, 5, 5], density = 0.4 }
        [species.A]
        [[forces]]
        kind = "gaussian-core"
        cutoff = 3.0
        epsilon = 1.0
        sigma = 1.0
        [integrator]
        kind = "nve"
        timestep = 0.05
        [run]
        steps = 20
        temperature = 0.01
        device = "cpu"
        [output]
        trajectory = { every = 10, file = "soft.rows" }
        [[analyze]]
        kind = "coordination"
        every = 10
        radius = 1.5
    "#;
    let simulation = Simulation::parse(text, folder.path(), "soft.toml").unwrap();
    let summary = debye::run::run(&simulation, RunOptions::default()).unwrap();
    let rows = std::fs::read_to_string(summary.folder.unwrap().join("soft.rows")).unwrap();
    assert_eq!(rows.lines().count(), 3 * 250);
}

/// A run in pieces is the run in one, and goes on from what it is given.
#[test]
fn steps_positions_and_velocities() {
    let mut whole = soft().start().unwrap();
    whole.steps(20).unwrap();
    let mut pieces = soft().start().unwrap();
    for steps in [5, 0, 15] {
        pieces.steps(steps).unwrap();
    }
    assert_eq!(whole.positions().unwrap(), pieces.positions().unwrap());
    // The same places and velocities, given anew: the same forces, and the step stays.
    let (r, v, f) = (
        whole.positions().unwrap(),
        whole.velocities().unwrap(),
        whole.forces().unwrap(),
    );
    let mut other = soft().start().unwrap();
    other.steps(3).unwrap();
    other.set_positions(&r).unwrap();
    other.set_velocities(&v).unwrap();
    assert_eq!(other.step(), 3);
    for (a, b) in other.forces().unwrap().iter().zip(&f) {
        assert!((*a - *b).norm() < 1e-10);
    }
    let short = other.set_positions(&r[1..]).unwrap_err().to_string();
    assert!(
        short.contains("685 values were given for 686 particles"),
        "{short}"
    );
}

/// What is wrong is said in words, before anything runs.
#[test]
fn mistakes_are_explained() {
    let system = || builders::nacl([2, 2, 2]).build().unwrap();
    let say = |builder: SimulationBuilder| builder.build().map(|_| ()).unwrap_err().to_string();
    let lj = || LennardJones::new(1.0, 0.3);
    let field = || Simulation::builder(system()).timestep(0.001);
    for (text, builder) in [
        ("needs a cut-off", field().pair(PairForce::new(lj()))),
        (
            "no species named `K`",
            field().pair(PairForce::like("K", lj()).cutoff(0.4)),
        ),
        (
            "pair Na-Cl",
            field().pair(PairForce::like("Na", lj()).and_like("Cl", lj()).cutoff(0.4)),
        ),
        (
            "epsilon",
            field().pair(PairForce::new(LennardJones::new(-1.0, 0.3)).cutoff(0.4)),
        ),
        ("time step is 0", Simulation::builder(system())),
        ("cut-off of pme", field().electrostatics(LongRange::pme())),
        (
            "product of 2, 3, 5 and 7",
            field().electrostatics(LongRange::pme().cutoff(0.5).mesh([11; 3])),
        ),
        (
            "counts Coulomb's law",
            field()
                .pair(PairForce::new(Coulomb::new(1.0)).cutoff(0.5))
                .electrostatics(LongRange::pme()),
        ),
        (
            "no kind `CC`",
            field().bonds(BondedForce::new("CC", HarmonicBond::new(1.0, 0.1))),
        ),
        ("every 0 steps", field().every(0, Table::new("t.csv"))),
        (
            "no species `K`",
            field().every(1, Trajectory::new("t.xtc").species("K")),
        ),
    ] {
        let said = say(builder);
        assert!(said.contains(text), "{said}");
    }
}
