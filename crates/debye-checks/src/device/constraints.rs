//! Rigid waters and clusters of fixed distances on the device against the CPU.

use super::engine::{alike, continues, moves_alike, within, wrong};
use super::systems::{layout, settings, steps_of};
use super::{Extent, Place, Random, Wrong};
use debye::engines::cpu::{CpuEngine, Fire};
use debye::engines::cuda::CudaEngine;
use debye::engines::{Engine, EngineError, Precision};
use debye::expr::Vec3;
use debye::forces::{ForceField, OrientedTerm, PairTerm};
use debye::integrate::{Barostat, BarostatKind, Coupling, Dynamics, Scheme, Thermostat, ThermostatKind};
use debye::system::{
    Cell, Constraints, Exclusions, FixedDistance, Particles, RigidBodies, RigidShape, RigidWater, Rotor,
    Species, System, Topology, Units,
};
use debye::truncation::Truncation;
use debye_gpu::ModuleSource;

type Vector = Vec3<f64>;

// TIP3P: Jorgensen et al., J. Chem. Phys. 79, 926 (1983).
const BOND: f64 = 0.09572;
const BASE: f64 = 0.15139;
const OXYGEN: f64 = 15.9994;
const HYDROGEN: f64 = 1.008;
/// Distance of the particles of a cluster from its middle.
const ARM: f64 = 0.109;
const SPACING: f64 = 0.31;
/// A rigid body of four sites with no symmetry, and its species, masses and charges; the last site has no mass.
const BENT: [[f64; 3]; 4] = [
    [0.0, 0.0, 0.0],
    [0.1, 0.0, 0.01],
    [-0.03, 0.095, 0.0],
    [0.01, 0.014, 0.012],
];
const BENT_SITES: [(u32, f64, f64); 4] = [
    (2, 12.011, 0.0),
    (3, HYDROGEN, 0.4),
    (3, HYDROGEN, 0.4),
    (5, 0.0, -0.8),
];
/// A linear one.
const LINE: [f64; 3] = [0.0, 0.116, -0.11];
const LINE_SITES: [(u32, f64, f64); 3] = [(2, 12.011, 0.6), (0, OXYGEN, -0.3), (0, OXYGEN, -0.3)];

/// Waters alone, with free particles among them, with these and clusters of four, or with rigid bodies, bent ones with a
/// site that has no mass and linear ones, and particles that turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum What {
    Waters,
    Solution,
    Mixture,
    Bodies,
}

/// Three directions at right angles.
fn directions(random: &mut Random) -> [Vector; 3] {
    loop {
        let [x, y] = std::array::from_fn(|_| Vec3::new(random.real(), random.real(), random.real()));
        let z = x.cross(y);
        if x.norm2() > 0.1 && z.norm2() > 0.01 {
            let unit = |v: Vector| v * v.norm().recip();
            return [unit(x), unit(z.cross(x)), unit(z)];
        }
    }
}

fn cell(side: usize, skewed: bool) -> Result<Cell, Wrong> {
    let length = side as f64 * SPACING;
    let skew = if skewed { length } else { 0.0 };
    Cell::triclinic([
        [length, 0.0, 0.0],
        [0.12 * skew, length, 0.0],
        [-0.09 * skew, 0.1 * skew, length],
    ])
    .map_err(wrong)
}

/// Molecules turned at random on a lattice that begins on the faces of the cell, at rest.
fn lattice(what: What, side: usize, skewed: bool) -> Result<System, Wrong> {
    let mut random = Random(7);
    let cell = cell(side, skewed)?;
    let (mut p, mut waters, mut distances) = (Particles::default(), Vec::new(), Vec::new());
    let (mut bent, mut line) = (Vec::new(), Vec::new());
    let height = (BOND * BOND - 0.25 * BASE * BASE).sqrt();
    for k in 0..side.pow(3) {
        let at = [k % side, k / side % side, k / (side * side)].map(|n| n as f64 / side as f64);
        let (at, [x, y, z]) = (cell.position(Vec3::from(at)), directions(&mut random));
        let (first, molecule) = (p.len() as u32, k as u32);
        match k % 7 {
            5 if what != What::Waters => p.push(at, 4, 39.948, 0.0, molecule),
            0 | 3 if what == What::Bodies => {
                let molecule_of = |place: [f64; 3]| at + x * place[0] + y * place[1] + z * place[2];
                for (place, (kind, mass, charge)) in BENT.into_iter().zip(BENT_SITES) {
                    p.push(molecule_of(place), kind, mass, charge, molecule);
                }
                bent.extend(first..first + 4);
            }
            2 | 6 if what == What::Bodies => {
                for (way, (kind, mass, charge)) in LINE.into_iter().zip(LINE_SITES) {
                    p.push(at + x * way, kind, mass, charge, molecule);
                }
                line.extend(first..first + 3);
            }
            2 | 6 if what == What::Mixture => {
                p.push(at, 2, 12.011, -0.3, molecule);
                for (number, arm) in [x, y, z].into_iter().enumerate() {
                    p.push(at + arm * ARM, 3, HYDROGEN, 0.1, molecule);
                    distances.push(FixedDistance {
                        atoms: [first, first + 1 + number as u32],
                        length: ARM,
                    });
                }
                // One cluster in two has a ring.
                if k % 2 == 0 {
                    distances.push(FixedDistance {
                        atoms: [first + 2, first + 1],
                        length: ARM * 2.0_f64.sqrt(),
                    });
                }
            }
            _ => {
                p.push(at, 0, OXYGEN, -0.834, molecule);
                for way in [0.5 * BASE, -0.5 * BASE] {
                    p.push(at + x * way - y * height, 1, HYDROGEN, 0.417, molecule);
                }
                waters.push([first, first + 1, first + 2]);
            }
        }
    }
    let species = [
        ("OW", OXYGEN, -0.834),
        ("HW", HYDROGEN, 0.417),
        ("C", 12.011, -0.3),
        ("HC", HYDROGEN, 0.1),
        ("AR", 39.948, 0.0),
        ("M", 0.0, -0.8),
    ];
    let mut bodies = Vec::new();
    let line_places = LINE.map(|way| Vec3::new(way, 0.0, 0.0));
    let shapes = [
        (&BENT.map(Vec3::from)[..], &BENT_SITES.map(|s| s.1)[..], bent),
        (&line_places[..], &LINE_SITES.map(|s| s.1)[..], line),
    ];
    for (places, masses, particles) in shapes {
        if !particles.is_empty() {
            let shape = RigidShape::new(places, masses).map_err(wrong)?;
            bodies.push(RigidBodies { shape, particles });
        }
    }
    let mut system = System {
        labels: debye::system::AtomLabels::default(),
        units: Units::Md,
        cell,
        species: species
            .map(|(name, mass, charge)| Species::point(name, mass, charge))
            .to_vec(),
        particles: p,
        topology: Topology::default(),
        exclusions: Exclusions::default(),
        constraints: Constraints {
            waters: vec![RigidWater {
                bond: BOND,
                base: BASE,
                molecules: waters,
            }],
            distances,
            bodies,
            // Two ways to the same end meet as closely as this.
            tolerance: 1e-13,
        },
    };
    let mut inside: Vec<[u32; 2]> = Vec::new();
    let molecules = &system.particles.molecules;
    for i in 0..molecules.len() {
        let others = i + 1..(i + 4).min(molecules.len());
        inside.extend(
            others
                .filter(|&j| molecules[j] == molecules[i])
                .map(|j| [i as u32, j as u32]),
        );
    }
    let n = system.particles.len();
    system.exclusions.exclude(n, inside.into_iter()).map_err(wrong)?;
    if what == What::Bodies {
        system.species[4].rotor = Rotor::linear(0.3).with_dipole(0.01);
        system.orient_at_random(5);
    }
    Ok(system)
}

/// TIP3P with a reaction field; the others are like it.
fn field(system: &System) -> Result<ForceField, Wrong> {
    let truncation = Truncation::Switch { from: 0.4 };
    let mut middle = PairTerm::build("lennard-jones", &system.species)
        .map_err(wrong)?
        .cutoff(0.5)
        .truncation(truncation)
        .all(&[("epsilon", 0.635_968), ("sigma", 0.315_075_24)])
        .map_err(wrong)?
        .finish()
        .map_err(wrong)?;
    // Hydrogens have a charge and no more.
    let count = system.species.len();
    for (k, row) in middle.rows.iter_mut().enumerate() {
        if [k / count, k % count].iter().any(|s| [1, 3, 5].contains(s)) {
            row.coefficients.iter_mut().for_each(|c| *c = 0.0);
            row.truncation.iter_mut().for_each(|t| *t = 0.0);
        }
    }
    let charges = PairTerm::build("coulomb-reaction-field", &system.species)
        .map_err(wrong)?
        .cutoff(0.5)
        .truncation(truncation)
        .all(&[("epsilon_rf", 78.0)])
        .map_err(wrong)?
        .finish()
        .map_err(wrong)?;
    let mut oriented = Vec::new();
    if !system.particles.orientations.is_empty() {
        let dipoles = OrientedTerm::build("dipoles", &system.species).map_err(wrong)?;
        let dipoles = dipoles.cutoff(0.5).truncation(Truncation::ForceShift);
        oriented.push(dipoles.finish().map_err(wrong)?);
    }
    Ok(ForceField {
        pairs: vec![middle, charges],
        oriented,
        coulomb_constant: Units::Md.coulomb_constant(),
        ..ForceField::new(debye::system::Units::LennardJones)
    })
}

/// A liquid not far from its lattice.
fn liquid(what: What, side: usize, skewed: bool) -> Result<(System, ForceField), Wrong> {
    let mut system = lattice(what, side, skewed)?;
    let field = field(&system)?;
    let hot = with_thermostat(ThermostatKind::Langevin);
    let mut engine = CpuEngine::new(&system, &field, &hot, &settings(Precision::Double))?;
    engine.minimize(Fire {
        force_tolerance: 500.0,
        max_steps: 200,
        max_displacement: 0.01,
    })?;
    engine.advance(300, false)?;
    system.particles = engine.particles();
    Ok((system, field))
}

fn plain() -> Dynamics {
    Dynamics {
        timestep: 0.002,
        ..super::systems::plain()
    }
}

fn with_thermostat(kind: ThermostatKind) -> Dynamics {
    Dynamics {
        thermostats: vec![Thermostat {
            kind,
            species: vec![],
            temperature: 300.0,
            time: 0.1,
            every: None,
        }],
        ..plain()
    }
}

fn with_barostat(kind: BarostatKind, coupling: Coupling, dynamics: Dynamics) -> Dynamics {
    Dynamics {
        barostat: Some(Barostat {
            kind,
            coupling,
            pressure: [10.0, 20.0, 30.0],
            time: 0.5,
            // Softer than water, so that the cell moves.
            compressibility: [1e-3, 1e-3, 2e-3],
            temperature: 300.0,
            every: 3,
            limited: Default::default(),
        }),
        ..dynamics
    }
}

/// Every way to move that constraints allow.
pub(super) fn integrators() -> Vec<(&'static str, Dynamics)> {
    use ThermostatKind::{Berendsen, Bussi, Langevin, NoseHoover};
    let leapfrog = || Dynamics {
        scheme: Scheme::Leapfrog,
        remove_momentum_every: 7,
        ..plain()
    };
    let still = |dynamics| Dynamics {
        remove_momentum_every: 5,
        ..dynamics
    };
    let (weak, rescale) = (BarostatKind::Berendsen, BarostatKind::CellRescale);
    vec![
        ("velocity Verlet", plain()),
        (
            "Langevin, cell rescaling",
            with_barostat(rescale, Coupling::SemiIsotropic, with_thermostat(Langevin)),
        ),
        ("Langevin", with_thermostat(Langevin)),
        ("Bussi", with_thermostat(Bussi)),
        ("leapfrog", leapfrog()),
        ("Nosé–Hoover", still(with_thermostat(NoseHoover { chain: 3 }))),
        ("Langevin, momentum removed", still(with_thermostat(Langevin))),
        (
            "Berendsen twice",
            with_barostat(weak, Coupling::Anisotropic, with_thermostat(Berendsen)),
        ),
        (
            "leapfrog, cell rescaling",
            with_barostat(rescale, Coupling::Isotropic, leapfrog()),
        ),
        (
            "Bussi, cell rescaling",
            with_barostat(rescale, Coupling::Isotropic, with_thermostat(Bussi)),
        ),
        (
            "Bussi, surface tension",
            with_barostat(
                rescale,
                Coupling::SurfaceTension { tension: 40.0 },
                with_thermostat(Bussi),
            ),
        ),
    ]
}

fn side(extent: Extent) -> usize {
    match extent {
        Extent::Watched | Extent::Smallest => 4,
        Extent::Small => 5,
        // All of them fit around a block, however small a barostat makes the cell.
        Extent::Full => 8,
    }
}

/// Energies, pressure with the virial of constraints, forces and velocities at the start.
pub(super) fn observed(place: &mut Place<'_>) -> Result<(), Wrong> {
    let few = if place.extent <= Extent::Smallest { 2 } else { 3 };
    for (what, skewed) in [(What::Mixture, true), (What::Bodies, true), (What::Waters, false)]
        .into_iter()
        .take(few)
    {
        let (system, field) = liquid(what, side(place.extent), skewed)?;
        alike(place, &system, &field, Precision::Double, &layout(false))
            .map_err(|e| wrong(format!("{what:?}: {e}")))?;
        if place.device.info().emulated {
            memory(place, &system, &field)?;
        }
    }
    Ok(())
}

/// What an engine takes is what it says.
fn memory(place: &mut Place<'_>, system: &System, field: &ForceField) -> Result<(), Wrong> {
    let before = place.device.memory()?.free;
    let (s, large) = (settings(Precision::Double), layout(false));
    let cuda = CudaEngine::with_choice(place.device, system, field, &plain(), &s, &large)?;
    let taken = before - place.device.memory()?.free;
    place.expect("bytes", &[taken], &[Engine::bytes(&cuda)])
}

/// A liquid of waters in a cell that is long enough for lists of molecules.
pub(super) fn waters(what: What, extent: Extent) -> Result<(System, ForceField), Wrong> {
    liquid(what, side(extent).max(5), false)
}

/// How well distances are held after some steps, and pressures against the CPU's.
fn lengths(
    place: &mut Place<'_>,
    system: &System,
    field: &ForceField,
    dynamics: &Dynamics,
    precision: Precision,
    steps: u64,
) -> Result<(), Wrong> {
    let s = settings(precision);
    let large = layout(false);
    let mut cuda = CudaEngine::with_choice(place.device, system, field, dynamics, &s, &large)?;
    Engine::advance(&mut cuda, steps, false)?;
    let mut after = system.clone();
    after.particles = Engine::particles(&cuda)?;
    after.cell = Engine::cell(&cuda);
    let [off, speed] = after.constraint_errors();
    // A coordinate of single precision has 32 bits.
    let [close, slow] = if precision == Precision::Single {
        [3e-8, 1e-4]
    } else {
        [1e-10, 1e-9]
    };
    within(place, "lengths", off, 0.0, close)?;
    within(place, "speeds along fixed distances", speed, 0.0, slow)?;
    let mut cpu = CpuEngine::new(system, field, dynamics, &settings(Precision::Double))?;
    cpu.advance(steps, true)?;
    let (found, expected) = (cuda.observe()?, cpu.observe()?);
    let close = if precision == Precision::Double {
        1e-8
    } else {
        1e-3
    };
    within(place, "energy", found.potential, expected.potential, close)?;
    let scale = expected
        .pressure_tensor
        .iter()
        .fold(0.0, |most: f64, p| most.max(p.abs()));
    for k in 0..6 {
        let (a, b) = (found.pressure_tensor[k], expected.pressure_tensor[k]);
        within(place, "pressure", (a - b) / scale, 0.0, close)?;
    }
    let freedom = [found.degrees_of_freedom];
    place.expect("degrees of freedom", &freedom, &[expected.degrees_of_freedom])
}

/// Ways to move that need not be watched here: velocity Verlet is what energies and minimization begin with.
fn known(place: &Place<'_>) -> usize {
    usize::from(place.extent == Extent::Watched)
}

/// A run stays with the CPU's.
pub(super) fn motion(place: &mut Place<'_>) -> Result<(), Wrong> {
    let steps = steps_of(place.extent);
    let few = match place.extent {
        Extent::Watched | Extent::Smallest => 2,
        Extent::Small => 6,
        Extent::Full => usize::MAX,
    };
    for what in [What::Mixture, What::Bodies] {
        let (system, field) = liquid(what, side(place.extent), false)?;
        for (name, dynamics) in integrators().into_iter().take(few).skip(known(place)) {
            let named = |e: Wrong| wrong(format!("{what:?}, {name}: {e}"));
            let (double, large) = (Precision::Double, layout(false));
            moves_alike(place, &system, &field, &dynamics, double, steps, &large).map_err(named)?;
            lengths(place, &system, &field, &dynamics, double, 7).map_err(named)?;
        }
    }
    let (system, field) = liquid(What::Waters, side(place.extent), true)?;
    for precision in [Precision::Mixed, Precision::Single].into_iter().take(few - 2) {
        let large = layout(false);
        moves_alike(place, &system, &field, &plain(), precision, steps, &large)?;
        lengths(place, &system, &field, &plain(), precision, 7)?;
    }
    Ok(())
}

/// Twice the same, and the same after saving and going on: to the last bit.
pub(super) fn continuation(place: &mut Place<'_>) -> Result<(), Wrong> {
    let smallest = place.extent <= Extent::Smallest;
    let (half, odd) = if smallest { (4, 1) } else { (9, 4) };
    let few = match place.extent {
        Extent::Watched | Extent::Smallest => 2,
        Extent::Small => 6,
        Extent::Full => usize::MAX,
    };
    for what in [What::Mixture, What::Bodies] {
        let (system, field) = liquid(what, side(place.extent), false)?;
        // Kernels that the motion has been checked with need not be compiled again.
        for (number, (name, d)) in integrators().into_iter().enumerate().take(few).skip(known(place)) {
            let precision = if number == 2 {
                Precision::Mixed
            } else {
                Precision::Double
            };
            let large = layout(false);
            continues(place, &system, &field, &d, precision, [half, odd], &large)
                .map_err(|e| wrong(format!("{what:?}, {name}: {e}")))?;
        }
    }
    Ok(())
}

/// Minimized by the CPU, and on from there.
pub(super) fn minimization(place: &mut Place<'_>) -> Result<(), Wrong> {
    for what in [What::Mixture, What::Bodies] {
        minimizes(place, what)?;
    }
    Ok(())
}

fn minimizes(place: &mut Place<'_>, what: What) -> Result<(), Wrong> {
    let mut system = lattice(what, 4, false)?;
    let field = field(&system)?;
    let fire = Fire {
        force_tolerance: 10.0,
        max_steps: 30,
        max_displacement: 0.01,
    };
    let (s, large) = (settings(Precision::Double), layout(false));
    let mut cuda = CudaEngine::with_choice(place.device, &system, &field, &plain(), &s, &large)?;
    let mut cpu = CpuEngine::new(&system, &field, &plain(), &s)?;
    let found = Engine::minimize(&mut cuda, fire, &mut |_| true)?;
    let expected = cpu.minimize(fire)?;
    for (a, b) in found.energy.into_iter().zip(expected.energy) {
        within(place, "energy", a, b, 1e-3)?;
    }
    let energy = cuda.observe()?.potential;
    within(place, "energy on the device", energy, found.energy[1], 1e-5)?;
    Engine::advance(&mut cuda, 3, false)?;
    system.particles = Engine::particles(&cuda)?;
    let [off, _] = system.constraint_errors();
    within(place, "lengths", off, 0.0, 1e-10)?;
    place.expect("step", &[Engine::step_number(&cuda)], &[3])
}

/// Molecules that turn too fast, and what is not done.
pub(super) fn refused(place: &mut Place<'_>) -> Result<(), Wrong> {
    let (system, field) = liquid(What::Mixture, 4, false)?;
    // A water, and a cluster.
    for first in [21, 6] {
        breaks_alike(place, &system, &field, first)?;
    }
    let leapfrog = Dynamics {
        scheme: Scheme::Leapfrog,
        ..with_thermostat(ThermostatKind::Bussi)
    };
    let mut partly = with_thermostat(ThermostatKind::Bussi);
    partly.thermostats[0].species = vec![0, 2];
    for (dynamics, word) in [(leapfrog, "leapfrog"), (partly, "some particles of a molecule")] {
        let (s, large) = (settings(Precision::Double), layout(false));
        let refused = CudaEngine::with_choice(place.device, &system, &field, &dynamics, &s, &large);
        let message = refused.err().map(|e| e.to_string()).unwrap_or_default();
        place.expect(&message, &[message.contains(word)], &[true])?;
    }
    Ok(())
}

/// A molecule that turns too fast is named as the CPU names it.
pub(super) fn breaks_alike(
    place: &mut Place<'_>,
    system: &System,
    field: &ForceField,
    first: usize,
) -> Result<(), Wrong> {
    let (s, large) = (settings(Precision::Double), layout(false));
    let mut fast = system.clone();
    let p = &mut fast.particles;
    let at = |k: usize| {
        fast.cell
            .minimum_image(p.positions[first + k] - p.positions[first])
    };
    let across = at(1).cross(at(2));
    let speed = across * (120.0 / across.norm());
    p.velocities[first + 1] += speed;
    p.velocities[first + 2] -= speed;
    let mut cuda = CudaEngine::with_choice(place.device, &fast, field, &plain(), &s, &large)?;
    let mut cpu = CpuEngine::new(&fast, field, &plain(), &s)?;
    let found = Engine::advance(&mut cuda, 20, false).err();
    let expected = cpu.advance(20, false).err();
    // Which one, and when. How long it was depends on what pulls within a molecule, which a device may leave out.
    let told = |e: Option<EngineError>| match e {
        Some(EngineError::Constraint { step, particles, .. }) => Ok((step, particles)),
        other => Err(wrong(format!("a constraint that cannot be held gave {other:?}"))),
    };
    place.expect("what cannot be held", &[told(found)?], &[told(expected)?])
}

/// The kernels of the systems above.
pub(super) fn modules() -> Vec<ModuleSource> {
    let mut all = Vec::new();
    let mut add = |what, skewed, dynamics: &Dynamics, precision| {
        let made = lattice(what, 5, skewed).and_then(|s| field(&s).map(|f| (s, f)));
        if let Ok((system, field)) = made {
            let (settings, large) = (settings(precision), layout(false));
            let sources = debye::engines::cuda::modules(&system, &field, dynamics, &settings, &large);
            // The others change little with constraints: some of them are enough.
            let others = ["step.cu", "split.cu", "move.cu", "evaluate.cu", "rebuild.cu"];
            let named = |m: &ModuleSource| {
                let is = |name: &&str| m.label().starts_with(name);
                is(&"constrain") || skewed && others.iter().any(is)
            };
            all.extend(sources.into_iter().flatten().filter(named));
        }
    };
    for (_, dynamics) in integrators() {
        add(What::Mixture, false, &dynamics, Precision::Mixed);
        add(What::Bodies, false, &dynamics, Precision::Mixed);
    }
    for precision in [Precision::Single, Precision::Double] {
        add(What::Mixture, true, &integrators()[1].1, precision);
        add(What::Bodies, false, &integrators()[1].1, precision);
    }
    add(What::Mixture, true, &plain(), Precision::Mixed);
    all.sort_by(|a, b| format!("{a:?}").cmp(&format!("{b:?}")));
    all.dedup();
    all
}
