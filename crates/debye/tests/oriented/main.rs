//! Particles with orientations: every potential against its derivatives, published numbers, and the engines against one
//! another.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod derivatives;
mod elba;
mod files;
mod gay_berne;
mod motion;
mod ssd;

use std::io::Read;
use std::path::Path;

use debye::engines::cpu::CpuEngine;
use debye::engines::cuda::CudaEngine;
use debye::engines::reference::Evaluation;
use debye::engines::{Engine, Precision, Settings};
use debye::expr::{Quat, Vec3};
use debye::forces::ForceField;
use debye::integrate::{Dynamics, Scheme};
use debye::system::{Cell, System, Units};
use debye_gpu::{Device, Emulation};

const KCAL: f64 = 4.184;

fn data(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

/// Rows of numbers of a file, packed or not.
fn rows(name: &str) -> Vec<Vec<f64>> {
    let mut text = String::new();
    let file = std::io::BufReader::new(std::fs::File::open(data(name)).unwrap());
    debye_io::unpack(file).unwrap().read_to_string(&mut text).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            line.split_whitespace()
                .map(|word| word.parse().unwrap())
                .collect()
        })
        .collect()
}

fn axes(turn: Quat<f64>) -> [Vec3<f64>; 3] {
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(|axis| turn.rotate(axis.into()))
}

fn at_rest() -> Dynamics {
    Dynamics {
        timestep: 0.001,
        scheme: Scheme::VelocityVerlet,
        thermostats: Vec::new(),
        barostat: None,
        remove_momentum_every: 0,
        seed: 1,
    }
}

/// Where a body of a test runs: on the CPU, and on a CUDA device or the emulation of one.
#[derive(Clone)]
enum Backend {
    Cpu,
    Cuda(Device),
}

impl Backend {
    /// The CPU, and the card of the number in `DEBYE_TEST_DEVICE`, or the emulation.
    fn all() -> Vec<Self> {
        let device = match std::env::var("DEBYE_TEST_DEVICE") {
            Ok(number) if number != "emulated" => Device::open(number.parse().unwrap()),
            _ => Device::emulated(Emulation::default()),
        };
        vec![Self::Cpu, Self::Cuda(device.unwrap())]
    }

    /// The same for what takes an emulation long: without it.
    fn fast() -> Vec<Self> {
        let mut all = Self::all();
        all.retain(|backend| !matches!(backend, Self::Cuda(device) if device.info().emulated));
        all
    }

    fn engine(
        &self,
        system: &System,
        field: &ForceField,
        dynamics: &Dynamics,
        settings: &Settings,
    ) -> Box<dyn Engine> {
        match self {
            Self::Cpu => Box::new(CpuEngine::new(system, field, dynamics, settings).unwrap()),
            Self::Cuda(device) => {
                Box::new(CudaEngine::new(device, system, field, dynamics, settings).unwrap())
            }
        }
    }

    fn resumed(
        &self,
        system: &System,
        field: &ForceField,
        dynamics: &Dynamics,
        settings: &Settings,
        saved: &[u8],
    ) -> Box<dyn Engine> {
        match self {
            Self::Cpu => Box::new(CpuEngine::resumed(system, field, dynamics, settings, saved).unwrap()),
            Self::Cuda(device) => {
                Box::new(CudaEngine::resumed(device, system, field, dynamics, settings, saved).unwrap())
            }
        }
    }

    /// What it finds, in the form of the reference.
    fn evaluate(&self, system: &System, field: &ForceField, precision: Precision) -> Evaluation {
        let settings = Settings {
            precision,
            ..Settings::default()
        };
        let mut engine = self.engine(system, field, &at_rest(), &settings);
        let seen = engine.observe().unwrap();
        Evaluation {
            potential: seen.potential,
            terms: seen.terms,
            virial: seen.pressure_tensor.map(|p| p * system.cell.volume()),
            forces: engine.forces().unwrap(),
            torques: engine.torques().unwrap(),
        }
    }
}

fn relative_error(a: &[Vec3<f64>], b: &[Vec3<f64>]) -> f64 {
    assert_eq!(a.len(), b.len());
    let square = |v: &mut dyn Iterator<Item = Vec3<f64>>| v.map(|x| x.norm2()).sum::<f64>();
    let difference = square(&mut a.iter().zip(b).map(|(a, b)| *a - *b));
    (difference / square(&mut b.iter().copied()).max(1e-300)).sqrt()
}

fn agree(a: &Evaluation, b: &Evaluation, tolerance: f64) {
    for ((name, x), (other, y)) in a.terms.iter().zip(&b.terms) {
        assert_eq!(name, other);
        assert!((x - y).abs() <= tolerance * (1.0 + y.abs()), "{name}: {x} {y}");
    }
    assert!(relative_error(&a.forces, &b.forces) < tolerance);
    assert!(relative_error(&a.torques, &b.torques) < tolerance);
    let size = b.virial.iter().map(|w| w.abs()).fold(0.0, f64::max);
    for (x, y) in a.virial.iter().zip(b.virial) {
        assert!((x - y).abs() <= 10.0 * tolerance * size, "virial {x} {y}");
    }
}

fn empty(cell: Cell, units: Units) -> System {
    System {
        units,
        cell,
        species: Vec::new(),
        particles: Default::default(),
        topology: Default::default(),
        exclusions: Default::default(),
        constraints: Default::default(),
        labels: Default::default(),
    }
}
