//! Particles that turn, on the device against the CPU: points, dipoles and rigid bodies among each other.

use super::bonded::moves;
use super::engine::{alike, difference, within, wrong};
use super::systems::{Space, integrators, layout, melt, plain, settings};
use super::{Extent, Place, Wrong};
use debye::engines::cpu::{CpuEngine, Fire};
use debye::engines::cuda::{Choice, CudaEngine};
use debye::engines::{Engine, Precision};
use debye::forces::{BondedTerm, ForceField, OrientedTerm, PairTerm};
use debye::integrate::Dynamics;
use debye::potentials::Value;
use debye::system::{Link, Rotor, Species, System};
use debye::truncation::Truncation;
use debye_gpu::ModuleSource;

/// What turns among the charged points of a melt.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mixture {
    /// Dipoles, each held toward a neighbor.
    Dipoles,
    /// Dipoles, and bodies that stick to each other.
    Bodies,
}

/// A melt of three species: points; dipoles; dipoles or bodies.
fn turning(
    extent: Extent,
    mixture: Mixture,
    space: Space,
    dynamics: &Dynamics,
) -> Result<(System, ForceField), Wrong> {
    let (mut system, mut field) = melt(extent, true, space, 40)?;
    field.pairs.truncate(1);
    let linear = Rotor::linear(0.2).with_dipole(0.7);
    let other = match mixture {
        Mixture::Dipoles => Rotor::linear(0.3).with_dipole(-0.4),
        Mixture::Bodies => Rotor::body([0.3, 0.2, 0.25]).with_dipole(0.5),
    };
    let rotors = [Rotor::POINT, linear, other];
    for (species, rotor) in system.species.iter_mut().zip(rotors) {
        *species = Species::point(species.name.clone(), species.mass, species.charge).with_rotor(rotor);
    }
    // Dipoles without a charge, and with bodies also points that no orientation matters to.
    let without = if mixture == Mixture::Bodies { 0..=1 } else { 1..=1 };
    let p = &mut system.particles;
    (0..p.len())
        .filter(|i| without.contains(&(i % 3)))
        .for_each(|i| p.charges[i] = 0.0);
    system.orient_at_random(11);
    let dipoles = OrientedTerm::build("dipoles", &system.species).map_err(wrong)?;
    let dipoles = dipoles.cutoff(2.2).truncation(Truncation::ForceShift);
    field.oriented.push(dipoles.finish().map_err(wrong)?);
    match mixture {
        Mixture::Dipoles => {
            let row = [Some(vec![
                ("k".to_owned(), Value::Number(2.0)),
                ("gamma0".to_owned(), Value::Number(0.6)),
            ])];
            field.axes = vec![BondedTerm::build("axis-restraint", &row).map_err(wrong)?];
            let n = system.particles.len() as u32;
            let links = (1..n - 1).step_by(3).map(|i| Link {
                kind: 0,
                atoms: [i, i + 1],
            });
            system.topology.axes.extend(links);
        }
        Mixture::Bodies => {
            let sticky = OrientedTerm::build("sticky", &system.species).map_err(wrong)?;
            let numbers = [
                ("v0", 3.0),
                ("w0", 0.07715),
                ("lower", 0.8),
                ("upper", 1.2),
                ("lower_prime", 0.9),
                ("upper_prime", 1.3),
            ];
            let named = numbers.map(|(name, x)| (name.to_owned(), Value::Number(x)));
            let mut sticky = sticky
                .truncation(Truncation::Cut)
                .pair_values(
                    &system.species[2].name,
                    &system.species[2].name,
                    named.to_vec(),
                    None,
                )
                .map_err(wrong)?;
            for [a, b] in [[0, 0], [0, 1], [0, 2], [1, 1], [1, 2]] {
                let [a, b] = [a, b].map(|k: usize| &system.species[k].name);
                sticky = sticky.no_interaction(a, b).map_err(wrong)?;
            }
            field.oriented.push(sticky.finish().map_err(wrong)?);
        }
    }
    // Torques turn what lies at random.
    let mut engine = CpuEngine::new(&system, &field, dynamics, &settings(Precision::Double))?;
    engine.advance(20, false)?;
    system.particles = engine.particles();
    Ok((system, field))
}

/// One thread to a particle, or several.
fn lanes(lanes: u32) -> Choice {
    Choice {
        lanes: Some(lanes),
        ..layout(false)
    }
}

/// Energies by term, pressure, forces and torques.
pub(super) fn forces(place: &mut Place<'_>) -> Result<(), Wrong> {
    let all = [
        (Mixture::Dipoles, Space::Box, Precision::Mixed, 1),
        (Mixture::Bodies, Space::Box, Precision::Double, 1),
        (Mixture::Dipoles, Space::Triclinic, Precision::Double, 4),
        (Mixture::Bodies, Space::Slab, Precision::Mixed, 4),
        (Mixture::Dipoles, Space::Open, Precision::Single, 1),
        (Mixture::Bodies, Space::Triclinic, Precision::Single, 8),
    ];
    let few = if place.extent <= Extent::Smallest {
        2
    } else {
        all.len()
    };
    for &(mixture, space, precision, threads) in &all[..few] {
        let (system, field) = turning(place.extent, mixture, space, &plain())?;
        alike(place, &system, &field, precision, &lanes(threads))
            .map_err(|e| wrong(format!("{mixture:?}, {space:?}, {}: {e}", precision.name())))?;
    }
    Ok(())
}

/// Numbers of every particle's own: dipoles and masses, or charges too. More of them than there are rows for.
pub(super) fn own_numbers(place: &mut Place<'_>) -> Result<(), Wrong> {
    let mut all = vec![
        (Mixture::Dipoles, false),
        (Mixture::Bodies, true),
        (Mixture::Dipoles, true),
    ];
    if place.extent == Extent::Watched {
        all.truncate(2);
    }
    for (mixture, charges) in all {
        let (mut system, mut field) = turning(place.extent, mixture, Space::Box, &plain())?;
        vary(&mut system, charges);
        alike(place, &system, &field, Precision::Double, &lanes(1))
            .map_err(|e| wrong(format!("{mixture:?}, charges {charges}: {e}")))?;
        // The same where nothing turns.
        (system.particles.orientations, field.oriented, field.axes) = Default::default();
        system.topology.axes.clear();
        let coulomb = PairTerm::build("coulomb-reaction-field", &system.species).map_err(wrong)?;
        let coulomb = coulomb.cutoff(2.1).all(&[]).map_err(wrong)?;
        field.pairs.push(coulomb.finish().map_err(wrong)?);
        alike(place, &system, &field, Precision::Mixed, &lanes(4))?;
    }
    Ok(())
}

/// Gives every particle other numbers than its neighbors have.
fn vary(system: &mut System, charges: bool) {
    let p = &mut system.particles;
    for i in 0..p.len() {
        let part = 1.0 + 0.3 * (i as f64 * 0.618_033_988_75).fract();
        p.masses[i] *= part;
        p.orientations.rotors[i].dipole *= 2.0 - part;
        if charges {
            p.charges[i] *= part;
        }
    }
}

/// They move as on the CPU in every way, and to the last bit the same after saving and going on.
pub(super) fn motion(place: &mut Place<'_>) -> Result<(), Wrong> {
    let mixtures = [Mixture::Dipoles, Mixture::Bodies];
    let precisions = [Precision::Double, Precision::Mixed];
    let every = if place.extent <= Extent::Smallest { 6 } else { 1 };
    let few = if place.extent == Extent::Watched {
        2
    } else {
        usize::MAX
    };
    let all = integrators().into_iter().enumerate().step_by(every);
    for (k, (name, dynamics)) in all.take(few) {
        let dynamics = Dynamics {
            timestep: 0.002,
            ..dynamics
        };
        let (mixture, precision) = (mixtures[k % 2], precisions[k / 2 % 2]);
        let (system, field) = turning(place.extent, mixture, Space::Box, &plain())?;
        moves(
            place,
            &system,
            &field,
            &dynamics,
            precision,
            &lanes(1 + 3 * (k as u32 % 2)),
        )
        .map_err(|e| wrong(format!("{name}, {mixture:?}, {}: {e}", precision.name())))?;
    }
    Ok(())
}

/// Minimization, as on the CPU.
pub(super) fn minimization(place: &mut Place<'_>) -> Result<(), Wrong> {
    let (system, field) = turning(place.extent, Mixture::Bodies, Space::Box, &plain())?;
    let fire = Fire {
        force_tolerance: 1e-3,
        max_steps: if place.extent <= Extent::Smallest { 20 } else { 100 },
        max_displacement: 0.1,
    };
    let s = settings(Precision::Double);
    let mut cuda = CudaEngine::with_choice(place.device, &system, &field, &plain(), &s, &lanes(1))?;
    let mut cpu = CpuEngine::new(&system, &field, &plain(), &s)?;
    let found = Engine::minimize(&mut cuda, fire, &mut |_| true)?;
    let expected = cpu.minimize(fire)?;
    place.expect("steps", &[found.steps], &[expected.steps])?;
    within(place, "energy", found.energy[1], expected.energy[1], 1e-7)?;
    let (a, b) = (Engine::particles(&cuda)?, cpu.particles());
    let momenta = |p: &debye::system::Particles| p.orientations.angular_momenta.clone();
    within(
        place,
        "angular momenta",
        difference(&momenta(&a), &momenta(&b)),
        0.0,
        1e-5,
    )
}

/// The kernels of the systems above.
pub(super) fn modules() -> Vec<ModuleSource> {
    let mut all = Vec::new();
    for (charges, threads) in [(false, 1), (true, 4)] {
        if let Ok((mut system, field)) = turning(Extent::Small, Mixture::Bodies, Space::Box, &plain()) {
            vary(&mut system, charges);
            let (choice, settings) = (lanes(threads), settings(Precision::Mixed));
            let made = debye::engines::cuda::modules(&system, &field, &plain(), &settings, &choice);
            all.extend(made.into_iter().flatten());
        }
    }
    let mut add = |mixture, space, precision, dynamics: &Dynamics, threads| {
        if let Ok((system, field)) = turning(Extent::Smallest, mixture, space, &plain()) {
            let choice = lanes(threads);
            let made =
                debye::engines::cuda::modules(&system, &field, dynamics, &settings(precision), &choice);
            all.extend(made.into_iter().flatten());
        }
    };
    for precision in [Precision::Single, Precision::Mixed, Precision::Double] {
        add(Mixture::Dipoles, Space::Box, precision, &plain(), 1);
        add(Mixture::Bodies, Space::Triclinic, precision, &plain(), 4);
    }
    for (_, dynamics) in integrators() {
        add(Mixture::Bodies, Space::Box, Precision::Mixed, &dynamics, 1);
    }
    all
}
