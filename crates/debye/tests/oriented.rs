//! Particles with orientations: every potential against its derivatives, published numbers, and the engines against one
//! another.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::Read;
use std::path::Path;

use debye::engines::cpu::CpuEngine;
use debye::engines::cuda::CudaEngine;
use debye::engines::reference::{self, Evaluation};
use debye::engines::{Engine, Precision, Settings};
use debye::expr::{Dual, Quat, Table, Vec3};
use debye::forces::{ForceField, OrientedTerm, PairTerm};
use debye::integrate::{Dynamics, Scheme, Thermostat, ThermostatKind};
use debye::potentials::{
    INVARIANTS, MAX_ORIENTED, ORIENTED, OrientedEnergy, OrientedFamily, OrientedPair, OrientedSample,
    Parameters, Preparation, oriented_truncation,
};
use debye::random::Philox;
use debye::simulation::Simulation;
use debye::system::{Cell, Rotor, Species, System, Units, builders};
use debye::truncation::Truncation;
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

/// Random configurations of two particles for a sample: separation, orientations.
fn configurations(sample: &OrientedSample, count: u32) -> Vec<(Vec3<f64>, [Quat<f64>; 2])> {
    let philox = Philox::new(7);
    let turn = |k: u32| {
        let [a, b, c] = philox.normals(0, k, 1 << 16);
        let [d, ..] = philox.normals(1, k, 1 << 16);
        Quat {
            w: a,
            v: Vec3::new(b, c, d),
        }
        .normalized()
    };
    let one = |k: u32| {
        let direction = turn(3 * k).rotate(Vec3::new(0.0, 0.0, 1.0));
        let share = (f64::from(k) + 0.5) / f64::from(count);
        let distance = sample.from + (sample.to - sample.from) * share;
        (direction * distance, [turn(3 * k + 1), turn(3 * k + 2)])
    };
    (0..count).map(one).collect()
}

fn axes(turn: Quat<f64>) -> [Vec3<f64>; 3] {
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(|axis| turn.rotate(axis.into()))
}

const CHARGES: [f64; 2] = [0.7, -0.4];
const DIPOLES: [f64; 2] = [0.05, 0.03];

const TRUNCATIONS: [Truncation; 5] = [
    Truncation::Cut,
    Truncation::Shift,
    Truncation::ForceShift,
    Truncation::QuadraticShift,
    Truncation::Switch { from: 0.0 },
];

/// Every registered potential with every sample and truncation.
fn each_case(
    mut check: impl FnMut(&str, &'static dyn OrientedFamily, Truncation, &OrientedSample, &Numbers),
) {
    for family in &ORIENTED {
        for sample in family.samples() {
            for truncation in TRUNCATIONS {
                let truncation = match truncation {
                    Truncation::Switch { .. } => Truncation::Switch {
                        from: 0.5 * (sample.from + sample.to),
                    },
                    other => other,
                };
                let mut table = Table::new(Vec::new());
                let own = [&sample.own[0], &sample.own[1]].map(|own| Parameters(own));
                let preparation = &mut Preparation {
                    cutoff: sample.to,
                    table: &mut table,
                };
                let numbers = Numbers {
                    c: family.coefficients(Parameters(&sample.values), own, preparation),
                    t: oriented_truncation(truncation, sample.to),
                    table,
                };
                let name = format!("{} {truncation:?}", family.name());
                check(&name, family, truncation, &sample, &numbers);
            }
        }
    }
}

struct Numbers {
    c: [f64; MAX_ORIENTED],
    t: [f64; 4],
    table: Table,
}

impl Numbers {
    fn pair(&self, d: Vec3<f64>, turns: [Quat<f64>; 2]) -> OrientedPair<'_, f64> {
        OrientedPair::new(d, turns.map(axes), CHARGES, DIPOLES, &self.table)
    }
}

/// The energy as the separation is moved or a particle is turned about an axis: derivatives by brute force.
fn derivative(
    family: &dyn OrientedFamily,
    truncation: Truncation,
    n: &Numbers,
    d: Vec3<f64>,
    turns: [Quat<f64>; 2],
    change: (usize, usize),
) -> f64 {
    let mut unit = [Dual::constant(0.0); 3];
    unit[change.1] = Dual::variable(0.0);
    let mut moved = [Vec3::zero(); 3];
    moved[change.0] = Vec3::from(unit);
    let turned = |k: usize| {
        let axes = axes(turns[k]).map(|axis| axis.map(Dual::constant));
        axes.map(|axis| axis + moved[1 + k].cross(axis))
    };
    let pair = OrientedPair::new(
        d.map(Dual::constant) + moved[0],
        [turned(0), turned(1)],
        CHARGES.map(Dual::constant),
        DIPOLES.map(Dual::constant),
        &n.table,
    );
    family.energy_dual(truncation, &pair, &n.c, &n.t).derivative
}

/// The reverse sweep against forward derivatives, and r × F + T₁ + T₂ = 0.
#[test]
fn forces_and_torques_are_derivatives_and_balance() {
    each_case(|name, family, truncation, sample, n| {
        let tape = family.tape(truncation);
        assert_eq!(tape.outputs(), 1 + INVARIANTS);
        for (d, turns) in configurations(sample, 40) {
            let pair = n.pair(d, turns);
            let [first, second] = pair.along;
            let mut inputs = vec![pair.r2];
            inputs.extend(first.iter().chain(&second).chain(pair.cosines.as_flattened()));
            inputs.extend(CHARGES.iter().chain(&DIPOLES).chain(&n.c).chain(&n.t));
            let energy = OrientedEnergy::from_slice(&tape.evaluate(&inputs, &[&n.table]));
            let forces = energy.forces(d, turns.map(axes));
            let plain = family.energy(truncation, &pair, &n.c, &n.t);
            let scale = plain.abs() + forces.force.norm() * d.norm();
            assert!(
                (energy.value - plain).abs() <= 1e-12 * scale,
                "{name}: {} {plain}",
                energy.value
            );
            let along = |k: usize| {
                Vec3::from([0, 1, 2].map(|axis| -derivative(family, truncation, n, d, turns, (k, axis))))
            };
            let close = |a: Vec3<f64>, b: Vec3<f64>, unit: f64| {
                assert!((a - b).norm() <= 1e-10 * scale / unit, "{name}: {a:?} {b:?}");
            };
            close(forces.force, along(0), d.norm());
            close(forces.torques[0], along(1), 1.0);
            close(forces.torques[1], along(2), 1.0);
            let balance = d.cross(forces.force) + forces.torques[0] + forces.torques[1];
            close(balance, Vec3::zero(), 1.0);
        }
    });
}

/// Turning everything changes no energy, and exchanging the particles neither.
#[test]
fn energies_do_not_depend_on_the_laboratory() {
    let whole = Quat::about(Vec3::new(0.36, 0.48, 0.8), 2.1);
    each_case(|name, family, truncation, sample, n| {
        for (d, turns) in configurations(sample, 20) {
            let energy = |d, turns| family.energy(truncation, &n.pair(d, turns), &n.c, &n.t);
            let (before, after) = (
                energy(d, turns),
                energy(whole.rotate(d), turns.map(|q| whole.compose(q))),
            );
            assert!(
                (before - after).abs() <= 1e-11 * (1.0 + before.abs()),
                "{name}: {before} {after}"
            );
        }
    });
}

/// Closed forms against the general one, and both end smoothly.
#[test]
fn force_shifts_end_smoothly() {
    each_case(|name, family, truncation, sample, n| {
        if truncation != Truncation::ForceShift {
            return;
        }
        for (d, turns) in configurations(sample, 20) {
            let pair = n.pair(d, turns);
            let (closed, general) = (
                family.energy(truncation, &pair, &n.c, &n.t),
                family.force_shifted_by_duals(&pair, &n.c, sample.to),
            );
            assert!(
                (closed - general).abs() <= 1e-11 * (1.0 + closed.abs()),
                "{name}: {closed} {general}"
            );
            let end = n.pair(d * (sample.to / d.norm()), turns);
            assert!(
                family.energy(truncation, &end, &n.c, &n.t).abs() < 1e-11,
                "{name}"
            );
        }
    });
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

/// Velocity Verlet with one thermostat for all.
fn with_thermostat(kind: ThermostatKind, temperature: f64, time: f64, timestep: f64) -> Dynamics {
    Dynamics {
        timestep,
        thermostats: vec![Thermostat {
            kind,
            species: Vec::new(),
            temperature,
            time,
        }],
        remove_momentum_every: if kind.scales_velocities() { 100 } else { 0 },
        ..at_rest()
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

/// Sticky energies, forces and torques of OpenMD's own routine, A15.
#[test]
fn sticky_pairs_are_those_of_openmd() {
    for (file, v0, [a, b, c, d]) in [
        ("ssd", 3.7284, [2.75, 3.35, 2.75, 4.0]),
        ("ssd1", 3.6613, [2.75, 3.35, 2.75, 4.0]),
        ("ssd_e", 3.9, [2.4, 3.8, 2.75, 3.35]),
    ] {
        let species = [Species::point("W", 18.0, 0.0)];
        let parameters = [
            ("v0", v0),
            ("w0", 0.07715),
            ("lower", a),
            ("upper", b),
            ("lower_prime", c),
            ("upper_prime", d),
        ];
        let builder = OrientedTerm::build("sticky", &species).unwrap();
        let term = builder
            .truncation(Truncation::Cut)
            .all(&parameters)
            .unwrap()
            .finish()
            .unwrap();
        for row in rows(&format!("ssd/pairs_sticky_{file}.dat")) {
            let turn = |at: usize| Quat {
                w: row[at],
                v: Vec3::new(row[at + 1], row[at + 2], row[at + 3]),
            };
            let mut system = empty(Cell::orthorhombic([30.0; 3]).unwrap(), Units::LennardJones);
            system.species = species.to_vec();
            for (r, q) in [
                (Vec3::zero(), turn(3)),
                (Vec3::new(row[0], row[1], row[2]), turn(7)),
            ] {
                system.particles.push(r + Vec3::splat(10.0), 0, 18.0, 0.0, 0);
                let last = system.particles.len() - 1;
                system
                    .particles
                    .orient(last, Rotor::body([1.7696, 0.6145, 1.155]), q);
            }
            let mut field = ForceField::new(Units::LennardJones);
            field.oriented.push(term.clone());
            let vector = |at: usize| Vec3::new(row[at], row[at + 1], row[at + 2]);
            for found in [
                reference::evaluate(&system, &field),
                Backend::Cpu.evaluate(&system, &field, Precision::Double),
            ] {
                assert!(
                    (found.potential - row[11]).abs() < 2e-9,
                    "{file}: {} {}",
                    found.potential,
                    row[11]
                );
                // Ten decimals of numbers that come from quaternions of nine.
                for (a, b) in [
                    (found.forces[0], vector(12)),
                    (found.torques[0], vector(15)),
                    (found.torques[1], vector(18)),
                ] {
                    assert!((a - b).norm() < 3e-8, "{file}: {a:?} {b:?}");
                }
            }
        }
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

/// Side by side, end to end, T and crossed: distances and depths of the minima, A17.
#[test]
fn gay_berne_has_its_limits() {
    let species = [Species::point("R", 1.0, 0.0)];
    let own = [
        "diameter_x",
        "diameter_y",
        "diameter_z",
        "well_x",
        "well_y",
        "well_z",
    ];
    let own = own.iter().map(|name| (*name).to_owned());
    let values = [1.0, 1.0, 3.0, 1.0, 1.0, 0.2].map(debye::potentials::Value::Number);
    let term = OrientedTerm::build("gay-berne", &species).unwrap();
    let term = term.cutoff(5.0).truncation(Truncation::Cut);
    let term = term.all(&[("epsilon", 1.0), ("sigma", 1.0)]).unwrap();
    let term = term
        .own_values("R", own.zip(values).collect())
        .unwrap()
        .finish()
        .unwrap();
    let row = term.rows[0].unwrap();
    let energy = |d: Vec3<f64>, first: Vec3<f64>, second: Vec3<f64>| {
        let axes = [first, second].map(|z| axes(Quat::from_z_to(z)));
        let pair = OrientedPair::new(d, axes, [0.0; 2], [0.0; 2], &term.table);
        term.family
            .energy(term.truncation, &pair, &row.coefficients, &row.truncation)
    };
    let [x, y, z] = axes(Quat::identity());
    for (first, second, direction, distance, depth) in [
        (z, z, x, 1.122462048, 5.0 / 3.0),
        (z, z, z, 3.122462048, 1.0 / 3.0),
        (z, x, z, 2.358530026, 0.381966011),
        (z, y, x, 1.122462048, 1.0),
    ] {
        let at = |r: f64| energy(direction * r, first, second);
        assert!((at(distance) + depth).abs() < 1e-8, "{} {depth}", at(distance));
        assert!(at(distance - 1e-3) > at(distance) && at(distance + 1e-3) > at(distance));
    }
    assert!((energy(x * 1.5, z, z) + 0.533894323798).abs() < 1e-11);
}

/// The 48 particles of LAMMPS's own test: spheres, discs and rods, A17.
#[test]
fn gay_berne_agrees_with_lammps() {
    let low = [-1.3679807573413574, -1.3679807573413574, -1.0259855680060177];
    let high = [8.207884544048145, 8.207884544048145, 6.155913408036108];
    let lengths = [0, 1, 2].map(|k| high[k] - low[k]);
    let mut system = empty(Cell::orthorhombic(lengths).unwrap(), Units::LennardJones);
    let shapes = [[1.0; 3], [1.0, 2.0, 2.0], [3.0, 1.0, 1.0]];
    system.species = ["S", "D", "R"]
        .map(|name| Species::point(name, 1.0, 0.0))
        .to_vec();
    let table = rows("gay_berne/gb48.dat.xz");
    for (i, row) in table.iter().enumerate() {
        let r = Vec3::from([0, 1, 2].map(|k| row[2 + k] - low[k]));
        system.particles.push(r, row[1] as u32 - 1, 1.0, 0.0, i as u32);
        let q = Quat {
            w: row[5],
            v: Vec3::new(row[6], row[7], row[8]),
        };
        system.particles.orient(i, Rotor::body([1.0, 1.0, 1.0]), q);
    }
    let mut term = OrientedTerm::build("gay-berne", &system.species).unwrap();
    term = term.cutoff(4.0).truncation(Truncation::Cut);
    term = term
        .all(&[
            ("sigma", 1.0),
            ("gamma", 1.0),
            ("upsilon", 3.0),
            ("mu", 1.0),
            ("epsilon", 1.0),
        ])
        .unwrap();
    let number = debye::potentials::Value::Number;
    for (name, shape) in ["S", "D", "R"].iter().zip(shapes) {
        let last = if *name == "S" { 1.0 } else { 0.2 };
        let names = [
            "diameter_x",
            "diameter_y",
            "diameter_z",
            "well_x",
            "well_y",
            "well_z",
        ];
        let [x, y, z] = shape;
        let values = [x, y, z, 1.0, 1.0, last].map(number);
        let own = names.iter().map(|n| (*n).to_owned()).zip(values).collect();
        term = term.own_values(name, own).unwrap();
    }
    let epsilon = |value: f64| vec![("epsilon".to_owned(), number(value))];
    term = term.pair_values("S", "S", epsilon(3.0), Some(2.5)).unwrap();
    term = term.pair_values("S", "D", epsilon(3.0), None).unwrap();
    term = term.pair_values("S", "R", epsilon(3.0), None).unwrap();
    let mut field = ForceField::new(Units::LennardJones);
    field.oriented.push(term.finish().unwrap());
    let mut found = vec![(reference::evaluate(&system, &field), 1.0)];
    for backend in Backend::all() {
        for (precision, tolerance) in [
            (Precision::Double, 1.0),
            (Precision::Mixed, 1e4),
            (Precision::Single, 1e4),
        ] {
            // On a device no cell may be shorter than two cut-offs: there it is two of them.
            let copies = if matches!(backend, Backend::Cpu) { 1 } else { 2 };
            let several = builders::replicate(&system, [1, 1, copies]).unwrap();
            let mut one = backend.evaluate(&several, &field, precision);
            one.potential /= copies as f64;
            one.virial = one.virial.map(|w| w / copies as f64);
            found.push((one, tolerance));
        }
    }
    for (found, tolerance) in found {
        assert!(
            (found.potential + 19.3967066653).abs() < 2e-9 * tolerance,
            "{}",
            found.potential
        );
        let pressure = found.virial[..3].iter().sum::<f64>() / (3.0 * system.cell.volume());
        assert!(
            (pressure + 0.0684233764676).abs() < 1e-10 * tolerance,
            "{pressure}"
        );
        for (i, row) in table.iter().enumerate() {
            let vector = |at: usize| Vec3::new(row[at], row[at + 1], row[at + 2]);
            assert!((found.forces[i] - vector(12)).norm() < 3e-8 * tolerance, "{i}");
            assert!((found.torques[i] - vector(15)).norm() < 3e-8 * tolerance, "{i}");
        }
    }
}

/// An input that takes the published set as it is.
fn elba(file: &str) -> Simulation {
    let text = format!(
        "units = \"md\"\n[system]\nfile = \"{}\"\nformat = \"lammps\"\nlength_unit = \"Å\"\n[forcefield]\ninclude = \"elba\"\n",
        data(&format!("elba/{file}")).display()
    );
    let options = debye::input::InputOptions {
        moves: false,
        ..Default::default()
    };
    Simulation::parse_with(&text, ".", "elba.toml", &options).unwrap()
}

/// Energies by term, pressure, forces and torques of LAMMPS, A14.
#[test]
fn elba_agrees_with_lammps() {
    for (file, forces, wanted, pressure) in [
        (
            "single_lipid_dopc.data",
            "forces_single_lipid.dat",
            [115.4251255, -1.716025351, 88.65048432, 12.15729489],
            269.5519746,
        ),
        (
            "bilayer_128dopc_4232wat.data.xz",
            "forces_dopc.dat.xz",
            [-13481.80104, -31888.36944, 122.7014258, 758.9120912],
            8307.837481,
        ),
    ] {
        let simulation = elba(file);
        assert!(simulation.warnings.is_empty(), "{:?}", simulation.warnings);
        let (system, field) = (&simulation.system, &simulation.forces);
        let table = rows(&format!("elba/{forces}"));
        let mut found = Vec::new();
        let few = system.particles.len() < 100;
        if few {
            found.push((reference::evaluate(system, field), 1.0));
        }
        for backend in if few { Backend::all() } else { Backend::fast() } {
            for (precision, tolerance) in [(Precision::Double, 1.0), (Precision::Mixed, 200.0)] {
                found.push((backend.evaluate(system, field, precision), tolerance));
            }
        }
        for (found, tolerance) in found {
            let energy = |name: &str| found.terms.iter().find(|t| t.0 == name).unwrap().1 / KCAL;
            let terms = [
                energy("lennard-jones"),
                energy("dipoles"),
                energy("harmonic-bond"),
                energy("cosine-squared-angle") + energy("axis-restraint"),
            ];
            for (a, b) in terms.iter().zip(wanted) {
                assert!(
                    (a - b).abs() <= 1e-7 * tolerance * b.abs().max(1.0),
                    "{file}: {a} {b}"
                );
            }
            // 68568.415 atm of LAMMPS for one kcal/mol/Å³.
            let virial = found.virial[..3].iter().sum::<f64>() / KCAL;
            let atmospheres = virial / (3.0 * system.cell.volume() * 1e3) * 68568.415;
            assert!(
                (atmospheres - pressure).abs() < 1e-6 * tolerance * pressure.abs(),
                "{file}: {atmospheres} {pressure}"
            );
            for row in &table {
                let i = row[0] as usize - 1;
                let vector = |at: usize| Vec3::new(row[at], row[at + 1], row[at + 2]);
                let (force, torque) = (found.forces[i] * (0.1 / KCAL), found.torques[i] * KCAL.recip());
                assert!(
                    (force - vector(8)).norm() < 2e-7 * tolerance * vector(8).norm().max(1.0),
                    "{file} {i}: {force:?}"
                );
                assert!(
                    (torque - vector(11)).norm() < 2e-7 * tolerance * vector(11).norm().max(1.0),
                    "{file} {i}: {torque:?}"
                );
            }
        }
    }
}

/// Points, charges and dipoles of a lipid on each backend, in each precision, against the reference.
#[test]
fn backends_agree_with_the_reference() {
    let simulation = elba("single_lipid_dopc.data");
    let exact = reference::evaluate(&simulation.system, &simulation.forces);
    for (precision, tolerance) in [
        (Precision::Double, 1e-11),
        (Precision::Mixed, 3e-6),
        (Precision::Single, 3e-6),
    ] {
        for backend in Backend::all() {
            agree(
                &backend.evaluate(&simulation.system, &simulation.forces, precision),
                &exact,
                tolerance,
            );
        }
    }
}

/// Derivatives by hand against those of the reverse sweep.
#[test]
fn derivatives_by_hand_are_the_derived_ones() {
    let mut found = 0;
    each_case(|name, family, truncation, sample, n| {
        let tape = family.tape(truncation);
        for (d, turns) in configurations(sample, 40) {
            let pair = n.pair(d, turns);
            let Some(by_hand) = family.energy_and_derivatives(truncation, &pair, &n.c) else {
                return;
            };
            found += 1;
            let [first, second] = pair.along;
            let mut inputs = vec![pair.r2];
            inputs.extend(first.iter().chain(&second).chain(pair.cosines.as_flattened()));
            inputs.extend(CHARGES.iter().chain(&DIPOLES).chain(&n.c).chain(&n.t));
            let derived = OrientedEnergy::from_slice(&tape.evaluate(&inputs, &[&n.table]));
            let mut all = vec![(by_hand.value, derived.value), (by_hand.r2, derived.r2)];
            all.extend(
                by_hand
                    .along
                    .as_flattened()
                    .iter()
                    .copied()
                    .zip(derived.along.as_flattened().iter().copied()),
            );
            all.extend(
                by_hand
                    .cosines
                    .as_flattened()
                    .iter()
                    .copied()
                    .zip(derived.cosines.as_flattened().iter().copied()),
            );
            for (a, b) in all {
                assert!((a - b).abs() <= 1e-11 * (1e-3 + a.abs()), "{name}: {a} {b}");
            }
        }
    });
    assert!(found > 0);
}

/// 256 molecules of SSD or SSD/E in Å, kcal/mol, u and debye: plain cut-offs at 9 Å.
fn ssd(model: &str) -> (System, ForceField) {
    let (sigma, mu, v0, ranges) = match model {
        "ssd" => (3.051, 2.35, 3.7284, [2.75, 3.35, 2.75, 4.0]),
        _ => (3.035, 2.42, 3.9, [2.4, 3.8, 2.75, 3.35]),
    };
    let mut system = empty(Cell::orthorhombic([19.7166; 3]).unwrap(), Units::LennardJones);
    let rotor = Rotor::body([1.7696, 0.6145, 1.155]).with_dipole(mu);
    system.species = vec![Species::point("W", 18.0153, 0.0).with_rotor(rotor)];
    for (i, row) in rows(&format!("ssd/snapshot_256_{model}.dat.xz"))
        .iter()
        .enumerate()
    {
        let (r, _) = system.cell.wrap(Vec3::new(row[0], row[1], row[2]));
        system.particles.push(r, 0, 18.0153, 0.0, i as u32);
        let q = Quat {
            w: row[3],
            v: Vec3::new(row[4], row[5], row[6]),
        };
        system.particles.orient(i, rotor, q);
    }
    let mut field = ForceField::new(Units::LennardJones);
    field.coulomb_constant = 14.39325;
    let lj = PairTerm::build("lennard-jones", &system.species).unwrap();
    let lj = lj.cutoff(9.0).truncation(Truncation::Cut);
    field.pairs.push(
        lj.all(&[("epsilon", 0.152), ("sigma", sigma)])
            .unwrap()
            .finish()
            .unwrap(),
    );
    let dipoles = OrientedTerm::build("dipoles", &system.species).unwrap();
    let dipoles = dipoles.cutoff(9.0).truncation(Truncation::Cut);
    field.oriented.push(dipoles.finish().unwrap());
    let [a, b, c, d] = ranges;
    let parameters = [
        ("v0", v0),
        ("w0", 0.07715),
        ("lower", a),
        ("upper", b),
        ("lower_prime", c),
        ("upper_prime", d),
    ];
    let sticky = OrientedTerm::build("sticky", &system.species).unwrap();
    field.oriented.push(
        sticky
            .truncation(Truncation::Cut)
            .all(&parameters)
            .unwrap()
            .finish()
            .unwrap(),
    );
    (system, field)
}

/// Sums over two snapshots of the liquid, A15.
#[test]
fn snapshots_of_ssd_have_their_energies() {
    for (model, wanted) in [
        ("ssd", [220.816380, -1939.845472, -633.067421]),
        ("ssde", [278.627828, -2167.479167, -549.106352]),
    ] {
        let (system, field) = ssd(model);
        let exact = reference::evaluate(&system, &field);
        let mut all = vec![(exact.clone(), 1e-6)];
        for backend in Backend::all() {
            let double = backend.evaluate(&system, &field, Precision::Double);
            agree(&double, &exact, 1e-10);
            all.push((double, 1e-6));
            all.push((backend.evaluate(&system, &field, Precision::Mixed), 2e-3));
        }
        for (found, tolerance) in all {
            for ((name, energy), wanted) in found.terms.iter().zip(wanted) {
                assert!(
                    (energy - wanted).abs() < tolerance,
                    "{model} {name}: {energy} {wanted}"
                );
            }
        }
    }
}

/// Two molecules of every published set at their minimum, in Å and kcal/mol: distance, Lennard-Jones, dipoles, sticky. The
/// reaction field of SSD/RF is not in the numbers, and changes them by little.
#[test]
fn dimers_of_ssd_have_their_minimum() {
    for (set, [r, lj, dipoles, sticky], within) in [
        ("ssd", [2.7545, 0.9505, -5.8728, -2.7144], 1e-3),
        ("ssd1", [2.7199, 0.9708, -6.1439, -2.6232], 1e-3),
        ("ssd-e", [2.6752, 1.4673, -6.9739, -2.4162], 1e-3),
        ("ssd-rf", [2.6505, 1.5716, -7.6040, -2.3851], 0.1),
    ] {
        let text = format!(
            "units = \"md\"\n[system]\nbuild = {{ kind = \"lattice\", lattice = \"sc\", cells = [2, 1, 1], spacing = 3.0 }}\n\
             periodic = [false, false, false]\n[forcefield]\ninclude = \"{set}\"\n"
        );
        let options = debye::input::InputOptions {
            moves: false,
            ..Default::default()
        };
        let simulation = Simulation::parse_with(&text, ".", "dimer.toml", &options).unwrap();
        let fire = debye::engines::cpu::Fire {
            force_tolerance: 1e-4,
            max_steps: 20_000,
            max_displacement: 0.01,
        };
        // From some directions it goes to other minima.
        let found = (0..12).map(|seed| {
            let mut system = simulation.system.clone();
            system.particles.positions[0] = Vec3::new(1.0, 1.0, 1.0);
            system.particles.positions[1] = Vec3::new(1.28, 1.0, 1.0);
            system.particles.turn_at_random(seed);
            let settings = Settings {
                precision: Precision::Double,
                ..Settings::default()
            };
            let mut engine = CpuEngine::new(&system, &simulation.forces, &at_rest(), &settings).unwrap();
            engine.minimize(fire).unwrap();
            let p = engine.particles();
            let d = (p.positions[1] - p.positions[0]).norm();
            (engine.observe().unwrap(), d)
        });
        let (best, d) = found
            .min_by(|a, b| a.0.potential.total_cmp(&b.0.potential))
            .unwrap();
        assert!((10.0 * d - r).abs() < within, "{set}: {d}");
        for ((name, energy), wanted) in best.terms.iter().zip([lj, dipoles, sticky]) {
            let found = energy / KCAL;
            // The electric constant of the table has five digits. Dipoles also feel their own reaction field.
            let allowed = if name.contains("reaction-field") {
                0.25
            } else {
                2.0 * within
            };
            assert!((found - wanted).abs() < allowed, "{set} {name}: {found} {wanted}");
        }
    }
}

/// The spread of the total energy over half a picosecond (in units of √(u Å²/(kcal/mol)) = 48.9 fs).
fn spread(backend: &Backend, timestep: f64, scheme: Scheme) -> f64 {
    let (mut system, mut field) = ssd("ssde");
    debye::system::velocities::thermalize(&mut system, 0.6, 3).unwrap();
    // Smooth ends: the sticky part is one as it is.
    let lj = PairTerm::build("lennard-jones", &system.species)
        .unwrap()
        .cutoff(9.0);
    let lj = lj
        .truncation(Truncation::ForceShift)
        .all(&[("epsilon", 0.152), ("sigma", 3.035)])
        .unwrap();
    field.pairs[0] = lj.finish().unwrap();
    let dipoles = OrientedTerm::build("dipoles", &system.species)
        .unwrap()
        .cutoff(9.0);
    field.oriented[0] = dipoles.truncation(Truncation::ForceShift).finish().unwrap();
    let dynamics = Dynamics {
        timestep,
        scheme,
        ..at_rest()
    };
    let settings = Settings {
        precision: Precision::Double,
        ..Settings::default()
    };
    let mut engine = backend.engine(&system, &field, &dynamics, &settings);
    let steps = (10.0 / timestep).round() as u64;
    let every = steps / 40;
    let mut energies = Vec::new();
    for _ in 0..40 {
        engine.advance(every, true).unwrap();
        energies.push(engine.observe().unwrap().total());
    }
    let mean = energies.iter().sum::<f64>() / energies.len() as f64;
    (energies.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / energies.len() as f64).sqrt()
}

/// A symplectic scheme keeps the energy to second order in the time step, C8.
#[test]
fn rigid_bodies_keep_their_energy_to_second_order() {
    for backend in Backend::fast() {
        let [coarse, fine] = [0.04, 0.02].map(|timestep| spread(&backend, timestep, Scheme::VelocityVerlet));
        assert!((3.0..5.5).contains(&(coarse / fine)), "{coarse} {fine}");
        assert!(fine < 0.1, "{fine}");
        assert!(spread(&backend, 0.02, Scheme::Leapfrog) < 0.4);
    }
}

/// What comes after a step does not depend on whether the state was saved there, and orientations stay unit quaternions.
#[test]
fn turning_particles_resume_bit_for_bit() {
    let (mut system, field) = ssd("ssd");
    debye::system::velocities::thermalize(&mut system, 0.6, 3).unwrap();
    let settings = Settings::default();
    let cases = (Backend::all().into_iter()).flat_map(|backend| {
        ThermostatKind::ALL
            .iter()
            .map(move |kind| (backend.clone(), *kind))
    });
    for (backend, thermostat) in cases {
        let dynamics = with_thermostat(thermostat, 0.6, 10.0, 0.02);
        let mut whole = backend.engine(&system, &field, &dynamics, &settings);
        whole.advance(15, false).unwrap();
        let saved = whole.save().unwrap();
        whole.advance(15, false).unwrap();
        let mut resumed = backend.resumed(&system, &field, &dynamics, &settings, &saved);
        resumed.advance(15, false).unwrap();
        let (a, b) = (whole.particles().unwrap(), resumed.particles().unwrap());
        assert_eq!(a, b, "{thermostat:?}");
        for q in &a.orientations.rotations {
            assert!((q.w * q.w + q.v.norm2() - 1.0).abs() < 1e-12);
        }
    }
}

/// Translation and rotation have one temperature, whichever thermostat keeps it.
#[test]
fn thermostats_heat_rotations_too() {
    let (mut system, field) = ssd("ssde");
    debye::system::velocities::thermalize(&mut system, 0.3, 3).unwrap();
    let cases = (Backend::fast().into_iter()).flat_map(|backend| {
        ThermostatKind::ALL
            .iter()
            .map(move |kind| (backend.clone(), *kind))
    });
    for (backend, kind) in cases {
        let dynamics = with_thermostat(kind, 0.6, 2.0, 0.04);
        let mut engine = backend.engine(&system, &field, &dynamics, &Settings::default());
        engine.advance(800, false).unwrap();
        let (mut of_rotation, mut of_all) = (0.0, 0.0);
        for _ in 0..60 {
            engine.advance(10, true).unwrap();
            let o = engine.particles().unwrap().orientations;
            let turning: f64 = (0..256).map(|i| o.kinetic_energy(i)).sum();
            of_rotation += 2.0 * turning / (3.0 * 256.0) / 60.0;
            of_all += engine.observe().unwrap().temperature / 60.0;
        }
        assert!((of_all - 0.6).abs() < 0.04, "{kind:?}: {of_all}");
        assert!((of_rotation - 0.6).abs() < 0.05, "{kind:?}: {of_rotation}");
    }
}

/// Downhill in positions and orientations: two dipoles end head to tail.
#[test]
fn minimization_turns_dipoles() {
    let rotor = Rotor::linear(1.0).with_dipole(1.0);
    let mut system = empty(Cell::orthorhombic([20.0; 3]).unwrap(), Units::LennardJones);
    system.species = vec![Species::point("D", 1.0, 0.0).with_rotor(rotor)];
    for (i, (x, z)) in [
        (9.0, Vec3::new(0.3_f64, 0.1, 0.9)),
        (10.2, Vec3::new(0.2, 0.9, 0.3)),
    ]
    .iter()
    .enumerate()
    {
        system
            .particles
            .push(Vec3::new(*x, 10.0, 10.0), 0, 1.0, 0.0, i as u32);
        system
            .particles
            .orient(i, rotor, Quat::from_z_to(*z * z.norm().recip()));
    }
    let mut field = ForceField::new(Units::LennardJones);
    let lj = PairTerm::build("lennard-jones", &system.species)
        .unwrap()
        .cutoff(5.0);
    field.pairs.push(
        lj.all(&[("epsilon", 1.0), ("sigma", 1.0)])
            .unwrap()
            .finish()
            .unwrap(),
    );
    let dipoles = OrientedTerm::build("dipoles", &system.species)
        .unwrap()
        .cutoff(5.0);
    field
        .oriented
        .push(dipoles.truncation(Truncation::ForceShift).finish().unwrap());
    let fire = debye::engines::cpu::Fire {
        force_tolerance: 1e-4,
        max_steps: 20_000,
        max_displacement: 0.05,
    };
    // As fast after it as before, about axes that have turned.
    for i in 0..2 {
        let [x, y, _] = system.particles.orientations.axes(i);
        system.particles.orientations.angular_momenta[i] = x * 0.7 + y * 0.2;
    }
    let turning = |o: &debye::system::Orientations| [0, 1].map(|i| o.kinetic_energy(i));
    let before = turning(&system.particles.orientations);
    for backend in Backend::all() {
        let mut engine = backend.engine(&system, &field, &at_rest(), &Settings::default());
        let done = engine.minimize(fire, &mut |_| true).unwrap();
        assert!(done.converged, "{done:?}");
        let p = engine.particles().unwrap();
        let d = p.positions[1] - p.positions[0];
        for i in 0..2 {
            let z = p.orientations.axes(i)[2];
            assert!((z.dot(d).abs() / d.norm() - 1.0).abs() < 1e-5, "{z:?} {d:?}");
        }
        assert!((p.orientations.axes(0)[2].dot(p.orientations.axes(1)[2]) - 1.0).abs() < 1e-5);
        for (after, before) in turning(&p.orientations).iter().zip(before) {
            assert!((after / before - 1.0).abs() < 1e-6, "{after} {before}");
        }
    }
}

/// Extended XYZ keeps orientations and dipoles; what no orientation is, is refused.
#[test]
fn extended_xyz_keeps_orientations() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("water.xyz");
    let write = |system: &System| {
        let moment = debye::run::export::Moment {
            title: "water",
            step: 0,
            time: 0.0,
            particles: &system.particles,
            cell: &system.cell,
        };
        debye::run::export::write_system(&file, system, moment).unwrap();
    };
    let (mut system, _) = ssd("ssd");
    system.units = Units::Md;
    write(&system);
    let input = "units = \"md\"\n[system]\nfile = \"water.xyz\"\n[forcefield]\ninclude = \"ssd\"\n";
    let options = debye::input::InputOptions {
        moves: false,
        ..Default::default()
    };
    let parse = || Simulation::parse_with(input, folder.path(), "water.toml", &options);
    let mut read = parse().unwrap().system;
    for i in 0..read.particles.len() {
        let (a, b) = (&read.particles.orientations, &system.particles.orientations);
        assert!((a.rotations[i].v - b.rotations[i].v).norm() < 1e-14);
        assert!((a.rotors[i].dipole - 2.35).abs() < 1e-12);
        assert!((read.particles.positions[i] - system.particles.positions[i]).norm() < 1e-12);
    }
    // A dipole of the set is the same again, to the last bit.
    let declared = read.species[0].rotor;
    read.particles.orientations.rotors.fill(declared);
    write(&read);
    let again = parse().unwrap().system.particles.orientations.rotors;
    assert!(again.iter().all(|rotor| *rotor == declared));
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("orientation:R:4:dipole:R:3"), "{text}");
    let first = text.lines().nth(2).unwrap();
    let words: Vec<&str> = first.split(' ').collect();
    let mut wrong = words.clone();
    wrong[4..8].fill("0.0");
    std::fs::write(&file, text.replacen(first, &wrong.join(" "), 1)).unwrap();
    let error = parse().err().unwrap().to_string();
    assert!(error.contains("no unit quaternion"), "{error}");
}

/// LAMMPS data keep dipoles, angular velocities, and restraints of axes, which are angles there. LAMMPS takes moments of
/// inertia from diameters, I = m d²/10.
#[test]
fn lammps_data_keep_dipoles() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lipid.data");
    let write = |system: &System| {
        let moment = debye::run::export::Moment {
            title: "lipid",
            step: 0,
            time: 0.0,
            particles: &system.particles,
            cell: &system.cell,
        };
        debye::run::export::write_system(&file, system, moment).unwrap()
    };
    let simulation = elba("single_lipid_dopc.data");
    let mut system = simulation.system.clone();
    debye::system::velocities::thermalize(&mut system, 300.0, 7).unwrap();
    assert_eq!(write(&system), None);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("Atoms # hybrid") && !text.contains("Masses"),
        "{text}"
    );
    let input = "units = \"md\"\n[system]\nfile = \"lipid.data\"\n[forcefield]\ninclude = \"elba\"\n";
    let options = debye::input::InputOptions {
        moves: false,
        ..Default::default()
    };
    let read = Simulation::parse_with(input, folder.path(), "lipid.toml", &options).unwrap();
    assert!(read.warnings.is_empty(), "{:?}", read.warnings);
    let (a, b) = (&read.system.particles, &system.particles);
    assert!(!system.topology.axes.is_empty());
    assert_eq!(read.system.topology.axes.len(), system.topology.axes.len());
    assert_eq!(read.system.topology.angles.len(), system.topology.angles.len());
    let close =
        |a: Vec3<f64>, b: Vec3<f64>, scale: f64| assert!((a - b).norm() < 1e-13 * scale, "{a:?} {b:?}");
    for i in 0..b.len() {
        let (o, p) = (&a.orientations, &b.orientations);
        close(a.positions[i], b.positions[i], 10.0);
        close(a.velocities[i], b.velocities[i], 1.0);
        close(o.angular_momenta[i], p.angular_momenta[i], 1.0);
        if p.rotors[i].dipole != 0.0 {
            close(o.axes(i)[2], p.axes(i)[2], 10.0);
            assert!((o.rotors[i].dipole - p.rotors[i].dipole).abs() < 1e-15);
        }
        assert_eq!(o.rotors[i].inertia, p.rotors[i].inertia);
        assert_eq!((a.charges[i], a.masses[i]), (b.charges[i], b.masses[i]));
    }
    assert!(a.orientations.angular_momenta.iter().any(|l| l.norm() > 0.0));
    let energy = |s: &Simulation, system: &System| reference::evaluate(system, &s.forces).potential;
    let (one, other) = (energy(&read, &read.system), energy(&simulation, &system));
    assert!((one - other).abs() < 1e-10 * other.abs(), "{one} {other}");
    // The spheres of the file have the moments of inertia of the species, in u Å².
    let structure = debye_io::read_structure(&file).unwrap();
    for (atom, rotor) in structure.atoms.iter().zip(&b.orientations.rotors) {
        let (mass, diameter) = (atom.mass.unwrap(), 2.0 * atom.radius.unwrap());
        if rotor.inertia[0] > 0.0 {
            let inertia = 100.0 * rotor.inertia[0];
            assert!((mass * diameter * diameter / 10.0 / inertia - 1.0).abs() < 1e-12);
        } else {
            assert!((atom.density.unwrap() - 1.0).abs() < 1e-12);
        }
    }
    // Rigid bodies have no place there.
    let lost = write(&ssd("ssd").0).unwrap();
    assert!(lost.contains("no orientations of"), "{lost}");
}

/// Bad input, each with a message that says what to do.
#[test]
fn bad_input_is_refused_in_words() {
    let water = format!(
        "file = \"{}\"\nformat = \"lammps\"\nlength_unit = \"Å\"",
        data("elba/single_lipid_dopc.data").display()
    );
    let elba = "[forcefield]\ninclude = \"elba\"\n";
    for (text, words) in [
        (
            format!("units = \"md\"\n[system]\n{water}\n[forcefield]\ninclude = [\"elba\", \"ssd-e\"]\n"),
            "which elba (published set) declares too",
        ),
        (
            format!("units = \"md\"\n[system]\n{water}\n{elba}[species.C]\ndipole = \"1 D\"\n"),
            "without a moment of inertia",
        ),
        (
            format!(
                "units = \"md\"\n[system]\n{water}\n{elba}[species.C]\ninertia = [\"1 u*Å^2\", \"1 u*Å^2\", \"9 u*Å^2\"]\n"
            ),
            "moments of inertia",
        ),
        (
            format!("units = \"md\"\n[system]\n{water}\n{elba}[species.C]\ninertia = \"1 u*Å^2\"\n"),
            "no orientation of atom 1",
        ),
        (
            format!("units = \"md\"\n[system]\n{water}\n[topology]\naxes = [[1, 2, \"dipole\"]]\n{elba}"),
            "which is a point",
        ),
        (
            format!("units = \"md\"\n[system]\n{water}\n[forcefield]\ninclude = \"elbow\"\n"),
            "elba",
        ),
        (
            format!("units = \"md\"\n[system]\n{water}\n[forcefield]\ninclude = \"absent.toml\"\n"),
            "cannot be read",
        ),
    ] {
        let options = debye::input::InputOptions {
            moves: false,
            ..Default::default()
        };
        let error = Simulation::parse_with(&text, ".", "bad.toml", &options)
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains(words), "{error}\nlacks: {words}");
    }
}
