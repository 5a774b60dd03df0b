//! Whole simulations on the device against the CPU.

use super::{Extent, Place, Wrong};
use crate::backend::cpu::CpuEngine;
use crate::backend::cuda::{Choice, CudaEngine};
use crate::backend::{Backend, EngineError, Precision, Settings};
use crate::expr::Vec3;
use crate::forces::{ForceField, PairTerm};
use crate::integrate::{Dynamics, Scheme, Thermostat, ThermostatKind};
use crate::system::{Cell, System, build};
use crate::truncation::Truncation;

impl From<EngineError> for Wrong {
    fn from(error: EngineError) -> Self {
        Self::Result(error.to_string())
    }
}

pub(super) fn wrong(error: impl std::fmt::Display) -> Wrong {
    Wrong::Result(error.to_string())
}

/// Both ways to lay a simulation out, whatever its size. An emulation has few lanes, as it runs one after the other.
fn layouts(extent: Extent) -> [Choice; 2] {
    let small = match extent {
        Extent::Full => layout(true),
        _ => Choice {
            lanes: Some(4),
            ..layout(true)
        },
    };
    [layout(false), small]
}

pub(super) const fn layout(small: bool) -> Choice {
    Choice {
        small: Some(small),
        lanes: None,
        threads: None,
        buffer: None,
        capacity: None,
        staged: None,
        cached: None,
    }
}

pub(super) fn dynamics(langevin: bool) -> Dynamics {
    let bath = Thermostat {
        kind: ThermostatKind::Langevin,
        species: vec![],
        temperature: 1.0,
        time: 0.5,
    };
    Dynamics {
        timestep: 0.004,
        scheme: Scheme::VelocityVerlet,
        thermostats: if langevin { vec![bath] } else { vec![] },
        barostat: None,
        remove_momentum_every: 0,
        seed: 5,
    }
}

/// A melt of atoms that are alike, or of three species with charges, far enough from a crystal.
fn melt(extent: Extent, mixed: bool, steps: u64) -> Result<(System, ForceField), Wrong> {
    let cells = match extent {
        Extent::Smallest => [4, 4, 5],
        Extent::Small => [5, 6, 7],
        Extent::Full => [14, 15, 16],
    };
    melt_of(cells, [0.0; 3], mixed, steps)
}

/// The same of a stated size, in a cell with its vectors tilted by these parts of those before them.
pub(super) fn melt_of(
    cells: [usize; 3],
    tilt: [f64; 3],
    mixed: bool,
    steps: u64,
) -> Result<(System, ForceField), Wrong> {
    let builder = build::lj_melt(cells);
    let mut system = builder.thermalise(1.4, 3).map_err(wrong)?;
    let straight = system.cell;
    let [x, y, z] = straight.heights().to_array();
    system.cell = Cell::triclinic([
        [x, 0.0, 0.0],
        [tilt[0] * x, y, 0.0],
        [tilt[1] * x, tilt[2] * y, z],
    ])
    .map_err(wrong)?;
    for r in &mut system.particles.positions {
        *r = system.cell.position(straight.fractional(*r));
    }
    if mixed {
        let like = system.species[0].clone();
        for name in ["B", "C"] {
            let mut other = like.clone();
            other.name = name.into();
            system.species.push(other);
        }
        for i in 0..system.particles.len() {
            system.particles.species[i] = (i % 3) as u32;
            system.particles.charges[i] = [0.4, -0.2, -0.2][i % 3];
            system.particles.masses[i] = [1.0, 1.5, 2.0][i % 3];
        }
    }
    let built = PairTerm::build("lennard-jones", &system.species)
        .map_err(wrong)?
        .cutoff(2.3)
        .truncation(Truncation::ForceShift)
        .all(&[("epsilon", 1.0), ("sigma", 1.0)])
        .map_err(wrong)?;
    let mut pairs = vec![built.finish().map_err(wrong)?];
    if mixed {
        // Pairs of species that differ.
        let term = &mut pairs[0];
        for a in 0..3 {
            for b in 0..3 {
                let strength = 1.0 - 0.1 * (a + b) as f64;
                let row = &mut term.rows[a * 3 + b];
                row.coefficients.iter_mut().for_each(|c| *c *= strength);
                row.truncation.iter_mut().for_each(|t| *t *= strength);
            }
        }
        let field = PairTerm::build("coulomb-reaction-field", &system.species)
            .map_err(wrong)?
            .cutoff(2.1)
            .all(&[])
            .map_err(wrong)?;
        pairs.push(field.finish().map_err(wrong)?);
    }
    let field = ForceField {
        pairs,
        coulomb_constant: 1.0,
        ..ForceField::default()
    };
    // Away from the lattice, where forces vanish.
    let mut engine = CpuEngine::new(&system, &field, &dynamics(false), &settings(Precision::Double))?;
    engine.advance(steps, false)?;
    system.particles = engine.particles();
    Ok((system, field))
}

/// The kernels of simulations: particles alike or not, with and without Langevin's noise, in small cells and large ones.
pub(super) fn modules() -> Vec<crate::backend::cuda::ModuleSource> {
    let mut all = Vec::new();
    for (extent, mixed, langevin) in [
        (Extent::Smallest, false, true),
        (Extent::Small, true, false),
        (Extent::Full, false, false),
        (Extent::Full, true, true),
    ] {
        // The melt is one that the other checks use: it can be built.
        if let Ok((system, field)) = melt(extent, mixed, 0) {
            let radius = 1.16 * field.cutoff();
            let made = super::super::engine::modules(&system, &field, &dynamics(langevin), radius);
            all.extend(made.into_iter().flatten());
            let small =
                super::super::engine::small_module(&system, &field, &dynamics(langevin), 132, &layout(true));
            all.extend(small);
        }
    }
    all.extend(super::small::modules());
    all
}

pub(super) fn settings(precision: Precision) -> Settings {
    Settings {
        precision,
        ..Settings::default()
    }
}

fn engines(
    place: &Place<'_>,
    system: &System,
    field: &ForceField,
    langevin: bool,
    choice: &Choice,
) -> Result<(CudaEngine, CpuEngine), Wrong> {
    let d = dynamics(langevin);
    Ok((
        CudaEngine::with_choice(
            place.device,
            system,
            field,
            &d,
            &settings(Precision::Mixed),
            choice,
        )?,
        CpuEngine::new(system, field, &d, &settings(Precision::Double))?,
    ))
}

pub(super) fn within(
    place: &mut Place<'_>,
    what: &str,
    found: f64,
    expected: f64,
    relative: f64,
) -> Result<(), Wrong> {
    place.cases += 1;
    let allowed = relative * expected.abs().max(1.0);
    if (found - expected).abs() <= allowed {
        return Ok(());
    }
    Err(Wrong::Result(format!(
        "{what}: {found:.9e}, expected {expected:.9e} within {allowed:.1e}"
    )))
}

fn difference(a: &[Vec3<f64>], b: &[Vec3<f64>]) -> f64 {
    let sum = |v: &mut dyn Iterator<Item = f64>| -> f64 { v.sum() };
    let off = sum(&mut a.iter().zip(b).map(|(a, b)| (*a - *b).norm2()));
    (off / sum(&mut b.iter().map(|b| b.norm2())).max(1e-300)).sqrt()
}

/// Energies by term, virial and forces.
pub(super) fn forces(place: &mut Place<'_>) -> Result<(), Wrong> {
    for mixed in [false, true] {
        let (system, field) = melt(place.extent, mixed, 40)?;
        for choice in layouts(place.extent) {
            compare_forces(place, &system, &field, &choice)?;
        }
    }
    Ok(())
}

/// Energies, pressure and forces of one system against the CPU.
pub(super) fn compare_forces(
    place: &mut Place<'_>,
    system: &System,
    field: &ForceField,
    choice: &Choice,
) -> Result<(), Wrong> {
    let (mut cuda, mut cpu) = engines(place, system, field, false, choice)?;
    let (found, expected) = (cuda.observe()?, cpu.observe()?);
    for (a, b) in found.terms.iter().zip(&expected.terms) {
        // Charges cancel: an energy is as exact as what it is the sum of.
        let scale = (0.05 * system.particles.len() as f64 / b.1.abs()).max(1.0);
        within(place, &a.0, a.1, b.1, 1e-6 * scale)?;
    }
    within(place, "kinetic energy", found.kinetic, expected.kinetic, 1e-6)?;
    for k in 0..6 {
        let (a, b) = (found.pressure_tensor[k], expected.pressure_tensor[k]);
        within(place, "pressure", a, b, 1e-5)?;
    }
    let off = difference(&Backend::forces(&cuda)?, &cpu.forces());
    within(place, "forces", off, 0.0, 5e-6)?;
    let off = difference(
        &Backend::particles(&cuda)?.velocities,
        &cpu.particles().velocities,
    );
    within(place, "velocities", off, 0.0, 1e-6)
}

/// A short run stays with the CPU's, through several lists.
pub(super) fn motion(place: &mut Place<'_>) -> Result<(), Wrong> {
    let steps = if place.extent == Extent::Smallest { 12 } else { 40 };
    for (mixed, langevin) in [(false, false), (true, false), (false, true)] {
        let (system, field) = melt(place.extent, mixed, 40)?;
        for choice in layouts(place.extent) {
            compare_motion(place, &system, &field, langevin, steps, &choice)?;
        }
    }
    Ok(())
}

/// A run of one system against the CPU's.
pub(super) fn compare_motion(
    place: &mut Place<'_>,
    system: &System,
    field: &ForceField,
    langevin: bool,
    steps: u64,
    choice: &Choice,
) -> Result<(), Wrong> {
    let (mut cuda, mut cpu) = engines(place, system, field, langevin, choice)?;
    Backend::advance(&mut cuda, steps, false)?;
    cpu.advance(steps, false)?;
    let (a, b) = (Backend::particles(&cuda)?, cpu.particles());
    let cell = system.cell;
    let furthest = a
        .positions
        .iter()
        .zip(&b.positions)
        .map(|(a, b)| cell.minimum_image(*a - *b).norm())
        .fold(0.0, f64::max);
    within(place, "positions", furthest, 0.0, 1e-4)?;
    // Where a particle crossed a face, both must have counted it.
    let unwrapped = |p: &crate::system::Particles, i: usize| p.positions[i] + cell.translation(p.images[i]);
    let torn = (0..a.len())
        .map(|i| (unwrapped(&a, i) - unwrapped(&b, i)).norm())
        .fold(0.0, f64::max);
    within(place, "images", torn, 0.0, 1e-4)
}

/// Twice the same, and the same after saving and going on: to the last bit.
pub(super) fn continuation(place: &mut Place<'_>) -> Result<(), Wrong> {
    let (half, odd) = if place.extent == Extent::Smallest {
        (6, 1)
    } else {
        (24, 7)
    };
    for langevin in [false, true] {
        let (system, field) = melt(place.extent, true, 40)?;
        for choice in layouts(place.extent) {
            compare_continued(place, &system, &field, langevin, half, odd, &choice)?;
        }
    }
    Ok(())
}

/// A run of one system against itself in parts.
pub(super) fn compare_continued(
    place: &mut Place<'_>,
    system: &System,
    field: &ForceField,
    langevin: bool,
    half: u64,
    odd: u64,
    choice: &Choice,
) -> Result<(), Wrong> {
    let d = dynamics(langevin);
    let s = settings(Precision::Mixed);
    let device = place.device;
    let fresh = || CudaEngine::with_choice(device, system, field, &d, &s, choice);
    let mut whole = fresh()?;
    Backend::advance(&mut whole, 2 * half, false)?;
    let expected = Backend::particles(&whole)?;
    // The same steps in other portions, looked at in between.
    let mut parts = fresh()?;
    Backend::advance(&mut parts, odd, true)?;
    Backend::advance(&mut parts, half - odd, false)?;
    let saved = Backend::save(&parts)?;
    let mut resumed = CudaEngine::resumed_with_choice(device, system, field, &d, &s, choice, &saved)?;
    for engine in [&mut parts, &mut resumed] {
        Backend::advance(engine, half, false)?;
        let found = Backend::particles(engine)?;
        place.expect("positions", &found.positions, &expected.positions)?;
        place.expect("velocities", &found.velocities, &expected.velocities)?;
        place.expect("images", &found.images, &expected.images)?;
    }
    Ok(())
}
