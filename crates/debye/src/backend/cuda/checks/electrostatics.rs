//! Simulations with charges on a mesh against the CPU.

use super::engine::{Space, difference, integrators, layout, melt, plain, settings, within, wrong};
use super::{Extent, Place, Wrong};
use crate::backend::cpu::CpuEngine;
use crate::backend::cuda::{Choice, CudaEngine};
use crate::backend::{Backend, Precision};
use crate::forces::ForceField;
use crate::forces::electrostatics::{Boundary, Electrostatics, MeshPlan, Method};
use crate::forces::pme::Basis;
use crate::integrate::Dynamics;
use crate::system::{ExclusionRule, Exclusions, System, Topology};

/// A melt of charges of three sizes, with a net charge and pairs left out.
fn ions(extent: Extent, space: Space, basis: Basis, optimal: bool) -> Result<(System, ForceField), Wrong> {
    let (mut system, mut field) = melt(extent, true, space, 40)?;
    let rule = ExclusionRule::default().extra([[0, 1], [2, 50], [7, 9]]);
    let n = system.particles.len();
    system.exclusions = Exclusions::from_bonds(&Topology::default(), n, &rule).map_err(wrong)?;
    field.pairs.truncate(1);
    let size = match extent {
        Extent::Full => [60, 64, 70],
        _ => [15, 18, 20],
    };
    let plan = Electrostatics {
        name: "coulomb".into(),
        cutoff: 2.3,
        alpha: 1.2,
        permittivity: 1.3,
        method: Method::Mesh(MeshPlan { size, basis, optimal }),
        boundary: Boundary::Conductor,
    };
    field
        .pairs
        .push(plan.short_range(&system.species).map_err(wrong)?);
    field.electrostatics = Some(plan);
    field.coulomb_constant = 20.0;
    Ok((system, field))
}

/// What a precision must hold: forces, energies, pressures. Coordinates on the mesh have 32 bits in any of them.
fn tolerances(precision: Precision) -> [f64; 3] {
    match precision {
        Precision::Single => [1e-5, 1e-5, 1e-4],
        Precision::Mixed => [5e-6, 1e-6, 1e-5],
        Precision::Double => [1e-8, 1e-8, 1e-8],
    }
}

/// Energies by term, pressure and forces.
pub(super) fn forces(place: &mut Place<'_>) -> Result<(), Wrong> {
    let all = [
        (Space::Box, Precision::Mixed, Basis::BSpline(5), false),
        (Space::Triclinic, Precision::Double, Basis::BSpline(6), false),
        (Space::Box, Precision::Single, Basis::BSpline(4), false),
        (Space::Triclinic, Precision::Mixed, Basis::Cubic, true),
    ];
    let few = if place.extent == Extent::Smallest { 2 } else { 4 };
    for &(space, precision, basis, optimal) in &all[..few] {
        forces_of(place, space, precision, basis, optimal)
            .map_err(|e| wrong(format!("{space:?}, {}, {basis:?}: {e}", precision.name())))?;
    }
    Ok(())
}

fn forces_of(
    place: &mut Place<'_>,
    space: Space,
    precision: Precision,
    basis: Basis,
    optimal: bool,
) -> Result<(), Wrong> {
    let (system, field) = ions(place.extent, space, basis, optimal)?;
    let s = settings(precision);
    let shared = Choice {
        lanes: (space == Space::Box).then_some(8),
        ..layout(false)
    };
    let mut cuda = CudaEngine::with_choice(place.device, &system, &field, &plain(), &s, &shared)?;
    let mut cpu = CpuEngine::new(&system, &field, &plain(), &settings(Precision::Double))?;
    let (found, expected) = (cuda.observe()?, cpu.observe()?);
    let [force, energy, pressure] = tolerances(precision);
    let names = |o: &crate::backend::Observation| o.terms.iter().map(|t| t.0.clone()).collect::<Vec<_>>();
    place.expect("names", &names(&found), &names(&expected))?;
    // Charges cancel: an energy is as exact as what it is the sum of.
    let largest = expected.terms.iter().fold(1.0_f64, |most, t| most.max(t.1.abs()));
    for (a, b) in found.terms.iter().zip(&expected.terms) {
        within(place, &a.0, a.1 - b.1, 0.0, energy * largest)?;
    }
    let most = expected
        .pressure_tensor
        .iter()
        .fold(1.0_f64, |most, p| most.max(p.abs()));
    for k in 0..6 {
        let (a, b) = (found.pressure_tensor[k], expected.pressure_tensor[k]);
        within(place, "pressure", a - b, 0.0, pressure * most * 10.0)?;
    }
    let off = difference(&Backend::forces(&cuda)?, &cpu.forces());
    within(place, "forces", off, 0.0, force)
}

/// A short run stays with the CPU's through several lists; the same bits again, and resumed.
pub(super) fn motion(place: &mut Place<'_>) -> Result<(), Wrong> {
    let (steps, few) = match place.extent {
        Extent::Smallest => (6, 1),
        Extent::Small => (12, 3),
        Extent::Full => (30, 7),
    };
    for (name, dynamics) in integrators()
        .into_iter()
        .filter(|(_, d)| d.barostat.is_none())
        .take(few)
    {
        motion_of(place, steps, &dynamics).map_err(|e| wrong(format!("{name}: {e}")))?;
    }
    Ok(())
}

fn motion_of(place: &mut Place<'_>, steps: u64, dynamics: &Dynamics) -> Result<(), Wrong> {
    let (system, field) = ions(place.extent, Space::Box, Basis::BSpline(5), false)?;
    let device = place.device;
    let large = Choice {
        lanes: Some(8),
        ..layout(false)
    };
    let s = settings(Precision::Mixed);
    let start = || CudaEngine::with_choice(device, &system, &field, dynamics, &s, &large);
    let (mut one, mut two) = (start()?, start()?);
    Backend::advance(&mut one, steps, false)?;
    let found = Backend::particles(&one)?;
    let mut cpu = CpuEngine::new(&system, &field, dynamics, &settings(Precision::Double))?;
    cpu.advance(steps, false)?;
    let off = difference(&found.velocities, &cpu.particles().velocities);
    within(place, "velocities", off, 0.0, 2e-3)?;
    Backend::advance(&mut two, steps / 2, false)?;
    let saved = Backend::save(&two)?;
    let mut resumed = CudaEngine::resumed_with_choice(device, &system, &field, dynamics, &s, &large, &saved)?;
    Backend::advance(&mut two, steps - steps / 2, false)?;
    Backend::advance(&mut resumed, steps - steps / 2, false)?;
    for engine in [&two, &resumed] {
        let again = Backend::particles(engine)?;
        place.expect("positions", &again.positions, &found.positions)?;
        place.expect("velocities", &again.velocities, &found.velocities)?;
    }
    Ok(())
}
