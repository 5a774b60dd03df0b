//! Whole simulations on the device against the CPU.

use super::systems::{Space, integrators, layout, layouts, melt, melt_of, plain, settings, steps_of};
use super::{Extent, Place, Wrong};
use debye::engines::cpu::{CpuEngine, Fire};
use debye::engines::cuda::{Choice, CudaEngine};
use debye::engines::{Engine, EngineError, LaterParticles, ListKind, Moment, Precision, Settings, Wanted};
use debye::expr::Vec3;
use debye::forces::ForceField;
use debye::integrate::Dynamics;
use debye::system::{Cell, ExclusionRule, Exclusions, Particles, System, Topology};

impl From<EngineError> for Wrong {
    fn from(error: EngineError) -> Self {
        Self::Result(error.to_string())
    }
}

pub(super) fn wrong(error: impl std::fmt::Display) -> Wrong {
    Wrong::Result(error.to_string())
}

/// The kernels of simulations: particles alike or not, every way to move, precision and shape of cells.
pub(super) fn modules() -> Vec<debye_gpu::ModuleSource> {
    let mut all = Vec::new();
    let mut add = |extent, mixed, space, dynamics: &Dynamics, precision| {
        // The melt is one that the other checks use: it can be built.
        if let Ok((mut system, field)) = melt(extent, mixed, space, 0) {
            if mixed {
                let rule = ExclusionRule::default().extra([[0, 1], [2, 50]]);
                system.exclusions =
                    Exclusions::from_bonds(&Topology::default(), system.particles.len(), &rule)
                        .unwrap_or_default();
            }
            let one = layout(false);
            let eight = Choice {
                lanes: Some(8),
                ..one
            };
            // More threads to a particle change the same few lines everywhere.
            let both = mixed && space == Space::Triclinic && precision == Precision::Mixed;
            let choices: &[Choice] = if both { &[one, eight] } else { &[one] };
            for choice in choices {
                let settings = settings(precision);
                let made = debye::engines::cuda::modules(&system, &field, dynamics, &settings, choice);
                all.extend(made.into_iter().flatten());
            }
        }
    };
    for (_, dynamics) in integrators() {
        add(Extent::Full, false, Space::Box, &dynamics, Precision::Mixed);
    }
    for space in [Space::Box, Space::Triclinic, Space::Slab] {
        for precision in [Precision::Single, Precision::Mixed, Precision::Double] {
            add(Extent::Smallest, true, space, &plain(), precision);
            add(Extent::Full, true, space, &plain(), precision);
        }
    }
    all.extend(super::small::modules());
    all.sort_by(|a, b| format!("{a:?}").cmp(&format!("{b:?}")));
    all.dedup();
    all
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

pub(super) fn difference(a: &[Vec3<f64>], b: &[Vec3<f64>]) -> f64 {
    let sum = |v: &mut dyn Iterator<Item = f64>| -> f64 { v.sum() };
    let off = sum(&mut a.iter().zip(b).map(|(a, b)| (*a - *b).norm2()));
    (off / sum(&mut b.iter().map(|b| b.norm2())).max(1e-300)).sqrt()
}

/// What a precision must hold: forces, energies, pressures (docs/validation.md, G).
pub(super) fn tolerances(precision: Precision) -> [f64; 3] {
    match precision {
        Precision::Single => [1e-5, 1e-5, 1e-4],
        Precision::Mixed => [5e-6, 1e-6, 1e-5],
        Precision::Double => [1e-11, 1e-11, 1e-11],
    }
}

/// Energies by term, virial and forces.
pub(super) fn forces(place: &mut Place<'_>) -> Result<(), Wrong> {
    let all = [
        (false, Space::Box, Precision::Mixed),
        (true, Space::Box, Precision::Mixed),
        (true, Space::Triclinic, Precision::Double),
        (true, Space::Slab, Precision::Single),
        (true, Space::Triclinic, Precision::Mixed),
        (true, Space::Box, Precision::Double),
        (false, Space::Open, Precision::Mixed),
        (true, Space::Box, Precision::Single),
        (false, Space::Open, Precision::Double),
    ];
    let few = if place.extent <= Extent::Smallest {
        4
    } else {
        all.len()
    };
    for &(mixed, space, precision) in &all[..few] {
        forces_of(place, mixed, space, precision)
            .map_err(|e| wrong(format!("{space:?}, {}: {e}", precision.name())))?;
    }
    Ok(())
}

fn forces_of(place: &mut Place<'_>, mixed: bool, space: Space, precision: Precision) -> Result<(), Wrong> {
    let (system, field) = melt(place.extent, mixed, space, 40)?;
    for choice in layouts(place.extent, space) {
        alike(place, &system, &field, precision, &choice)?;
    }
    Ok(())
}

/// What both engines say of a system at its start.
pub(super) fn alike(
    place: &mut Place<'_>,
    system: &System,
    field: &ForceField,
    precision: Precision,
    choice: &Choice,
) -> Result<(), Wrong> {
    let s = settings(precision);
    let mut cuda = CudaEngine::with_choice(place.device, system, field, &plain(), &s, choice)?;
    let mut cpu = CpuEngine::new(system, field, &plain(), &settings(Precision::Double))?;
    let (found, expected) = (cuda.observe()?, cpu.observe()?);
    let [force, energy, pressure] = tolerances(precision);
    for (a, b) in found.terms.iter().zip(&expected.terms) {
        // Charges cancel: an energy is as exact as what it is the sum of.
        let scale = (0.05 * system.particles.len() as f64 / b.1.abs()).max(1.0);
        within(place, &a.0, a.1, b.1, energy * scale)?;
    }
    within(place, "kinetic energy", found.kinetic, expected.kinetic, energy)?;
    for k in 0..6 {
        let (a, b) = (found.pressure_tensor[k], expected.pressure_tensor[k]);
        within(place, "pressure", a, b, pressure)?;
    }
    let off = difference(&Engine::forces(&cuda)?, &cpu.forces());
    within(place, "forces", off, 0.0, force)?;
    let (torques, expected) = (Engine::torques(&cuda)?, cpu.torques());
    place.expect("torques there", &[torques.len()], &[expected.len()])?;
    within(place, "torques", difference(&torques, &expected), 0.0, force)?;
    let (a, b) = (Engine::particles(&cuda)?, cpu.particles());
    let momenta = difference(&a.orientations.angular_momenta, &b.orientations.angular_momenta);
    within(place, "angular momenta", momenta, 0.0, 1e-6)?;
    let off = difference(&a.velocities, &b.velocities);
    within(place, "velocities", off, 0.0, 1e-6)?;
    let off = difference(&a.positions, &b.positions);
    let close = if precision == Precision::Single {
        1e-8
    } else {
        1e-14
    };
    within(place, "positions", off, 0.0, close)
}

/// Excludes some pairs that are close, some at random, and hundreds of one particle.
fn exclude_some(system: &mut System, place: &mut Place<'_>) -> Result<(), Wrong> {
    let n = system.particles.len();
    let mut rule = ExclusionRule::default();
    for i in 0..n {
        for j in i + 1..n {
            let d = system.particles.positions[i] - system.particles.positions[j];
            let close = system.cell.minimum_image(d).norm2() < 2.0;
            let chosen = if i == 7 {
                close || place.random.below(3) == 0
            } else {
                place.random.below(if close { 4 } else { 5000 }) == 0
            };
            if chosen {
                rule.extra.push([i as u32, j as u32]);
            }
        }
    }
    system.exclusions = Exclusions::from_bonds(&Topology::default(), n, &rule).map_err(wrong)?;
    Ok(())
}

/// Excluded pairs, in a small cell and in one where no difference needs wrapping; also when a run is resumed.
pub(super) fn exclusions(place: &mut Place<'_>) -> Result<(), Wrong> {
    let large = match place.extent {
        Extent::Watched | Extent::Smallest => None,
        Extent::Small => Some([8, 8, 8]),
        Extent::Full => Some([14, 15, 16]),
    };
    for cells in [Some([4, 4, 5]), large].into_iter().flatten() {
        let (mut system, field) = melt_of(cells, true, Space::Box, 40)?;
        exclude_some(&mut system, place)?;
        alike(place, &system, &field, Precision::Mixed, &layout(false))?;
    }
    let (mut system, field) = melt_of([4, 4, 5], false, Space::Box, 40)?;
    exclude_some(&mut system, place)?;
    let (d, s) = (plain(), settings(Precision::Mixed));
    let (device, large) = (place.device, layout(false));
    let mut whole = CudaEngine::with_choice(device, &system, &field, &d, &s, &large)?;
    Engine::advance(&mut whole, 4, false)?;
    let saved = Engine::save(&whole)?;
    let resumed = CudaEngine::resumed_with_choice(device, &system, &field, &d, &s, &large, &saved)?;
    let (found, expected) = (Engine::forces(&resumed)?, Engine::forces(&whole)?);
    place.expect("forces", &found, &expected)
}

/// Lists of particles and of warps give the same bits, and so does the faster of them.
pub(super) fn tiles(place: &mut Place<'_>) -> Result<(), Wrong> {
    let (cells, steps) = match place.extent {
        Extent::Watched => ([4, 4, 5], 3),
        Extent::Smallest => ([4, 4, 5], 6),
        Extent::Small => ([8, 8, 8], 12),
        Extent::Full => ([14, 15, 16], 100),
    };
    for mixed in [false, true] {
        let (system, field) = melt_of(cells, mixed, Space::Box, 40)?;
        let d = if mixed {
            integrators()[6].1.clone()
        } else {
            plain()
        };
        let [particles, warps] = [ListKind::Particles, ListKind::Clusters].map(|lists| Settings {
            lists: Some(lists),
            ..settings(Precision::Mixed)
        });
        let (device, large) = (place.device, layout(false));
        let start = |s: &Settings, c: &Choice| CudaEngine::with_choice(device, &system, &field, &d, s, c);
        let mut expected = start(&particles, &large)?;
        let mut others = vec![start(&warps, &large)?];
        if !mixed && place.extent != Extent::Small {
            let measured = Choice {
                measure: Some(true),
                ..large
            };
            others.push(start(&particles, &measured)?);
        }
        Engine::advance(&mut expected, steps, false)?;
        let (wanted, energies) = (Engine::particles(&expected)?, expected.observe()?.terms);
        for mut engine in others {
            Engine::advance(&mut engine, steps, false)?;
            let found = Engine::particles(&engine)?;
            place.expect("positions", &found.positions, &wanted.positions)?;
            place.expect("velocities", &found.velocities, &wanted.velocities)?;
            place.expect("energies", &engine.observe()?.terms, &energies)?;
            let saved = Engine::save(&engine)?;
            let resumed =
                CudaEngine::resumed_with_choice(device, &system, &field, &d, &particles, &large, &saved)?;
            place.expect("forces", &Engine::forces(&resumed)?, &Engine::forces(&engine)?)?;
        }
    }
    Ok(())
}

/// A short run stays with the CPU's, through several lists.
pub(super) fn motion(place: &mut Place<'_>) -> Result<(), Wrong> {
    let smallest = place.extent <= Extent::Smallest;
    let steps = steps_of(place.extent);
    let few = match place.extent {
        Extent::Watched | Extent::Smallest => 6,
        Extent::Small => 9,
        Extent::Full => usize::MAX,
    };
    // Without anything, with a thermostat of the whole system, with noise and a cell that moves.
    let watched = ["velocity Verlet", "Nosé–Hoover", "Langevin, cell rescaling"];
    for (number, (name, dynamics)) in integrators().iter().take(few).enumerate() {
        if place.extent == Extent::Watched && !watched.contains(name) {
            continue;
        }
        let mixed = number % 3 == 1;
        motion_of(place, dynamics, mixed, Space::Box, Precision::Mixed, steps)
            .map_err(|e| wrong(format!("{name}: {e}")))?;
    }
    if place.extent == Extent::Watched {
        return Ok(());
    }
    let mut left = integrators().into_iter().skip(few);
    if let Some((name, dynamics)) = left.find(|(name, _)| *name == "Bussi, surface tension") {
        motion_of(place, &dynamics, false, Space::Box, Precision::Mixed, steps)
            .map_err(|e| wrong(format!("{name}: {e}")))?;
    }
    if smallest {
        return Ok(());
    }
    for (space, precision) in [
        (Space::Triclinic, Precision::Double),
        (Space::Open, Precision::Mixed),
        (Space::Box, Precision::Single),
        (Space::Slab, Precision::Double),
    ] {
        motion_of(place, &plain(), false, space, precision, steps)
            .map_err(|e| wrong(format!("{space:?}, {}: {e}", precision.name())))?;
    }
    let (_, rescaled) = &integrators()[6];
    motion_of(place, rescaled, true, Space::Triclinic, Precision::Double, steps)
}

fn motion_of(
    place: &mut Place<'_>,
    dynamics: &Dynamics,
    mixed: bool,
    space: Space,
    precision: Precision,
    steps: u64,
) -> Result<(), Wrong> {
    let (system, field) = melt(place.extent, mixed, space, 40)?;
    for choice in layouts(place.extent, space) {
        moves_alike(place, &system, &field, dynamics, precision, steps, &choice)?;
    }
    Ok(())
}

/// A run of one system against the CPU's.
pub(super) fn moves_alike(
    place: &mut Place<'_>,
    system: &System,
    field: &ForceField,
    dynamics: &Dynamics,
    precision: Precision,
    steps: u64,
    choice: &Choice,
) -> Result<(), Wrong> {
    let s = settings(precision);
    let mut cuda = CudaEngine::with_choice(place.device, system, field, dynamics, &s, choice)?;
    let mut cpu = CpuEngine::new(system, field, dynamics, &settings(Precision::Double))?;
    Engine::advance(&mut cuda, steps, false)?;
    cpu.advance(steps, true)?;
    let close = if precision == Precision::Double {
        1e-9
    } else {
        1e-4
    };
    agree(place, &mut cuda, &mut cpu, close)
}

/// Two engines that did the same: where particles are, how they move, what thermostats gave.
fn agree(
    place: &mut Place<'_>,
    one: &mut dyn Engine,
    other: &mut dyn Engine,
    close: f64,
) -> Result<(), Wrong> {
    let (a, b) = (one.particles()?, other.particles()?);
    let (cell, cell_of_cpu) = (one.cell(), other.cell());
    for (a, b) in cell
        .to_arrays()
        .concat()
        .iter()
        .zip(cell_of_cpu.to_arrays().concat())
    {
        within(place, "cell", *a, b, close)?;
    }
    let furthest = a
        .positions
        .iter()
        .zip(&b.positions)
        .map(|(a, b)| cell.minimum_image(*a - *b).norm())
        .fold(0.0, f64::max);
    within(place, "positions", furthest, 0.0, close)?;
    // Where a particle crossed a face, both must have counted it.
    let unwrapped =
        |p: &debye::system::Particles, cell: &Cell, i: usize| p.positions[i] + cell.translation(p.images[i]);
    let unwrapped_off = (0..a.len())
        .map(|i| (unwrapped(&a, &cell, i) - unwrapped(&b, &cell_of_cpu, i)).norm())
        .fold(0.0, f64::max);
    within(place, "images", unwrapped_off, 0.0, 2.0 * close)?;
    let off = difference(&a.velocities, &b.velocities);
    within(place, "velocities", off, 0.0, close)?;
    let (a, b) = (one.observe()?, other.observe()?);
    within(place, "temperature", a.temperature, b.temperature, close)?;
    if let (Some(a), Some(b)) = (a.thermostat, b.thermostat) {
        within(place, "energy of the thermostats", a, b, 10.0 * close)?;
    }
    place.cases += 1;
    if a.thermostat.is_some() != b.thermostat.is_some() {
        return Err(wrong("whether the energy of thermostats is kept"));
    }
    Ok(())
}

/// Twice the same, and the same after saving and going on: to the last bit.
pub(super) fn continuation(place: &mut Place<'_>) -> Result<(), Wrong> {
    let smallest = place.extent <= Extent::Smallest;
    let (half, odd) = match place.extent {
        Extent::Watched | Extent::Smallest => (6, 1),
        Extent::Small => (12, 5),
        Extent::Full => (24, 7),
    };
    let few = if smallest { 2 } else { usize::MAX };
    for (name, dynamics) in integrators().into_iter().take(few) {
        continuation_of(place, &dynamics, Space::Box, Precision::Mixed, half, odd)
            .map_err(|e| wrong(format!("{name}: {e}")))?;
    }
    let cases = [
        (Space::Triclinic, Precision::Double),
        (Space::Open, Precision::Single),
    ];
    for (space, precision) in cases.into_iter().take(few - 2 * usize::from(smallest)) {
        continuation_of(place, &plain(), space, precision, half, odd)
            .map_err(|e| wrong(format!("{space:?}, {}: {e}", precision.name())))?;
    }
    Ok(())
}

fn continuation_of(
    place: &mut Place<'_>,
    d: &Dynamics,
    space: Space,
    precision: Precision,
    half: u64,
    odd: u64,
) -> Result<(), Wrong> {
    let (system, field) = melt(place.extent, true, space, 40)?;
    // Small systems have checks of their own, and an emulation is slow.
    let few = if place.extent == Extent::Full { 2 } else { 1 };
    for choice in layouts(place.extent, space).into_iter().take(few) {
        continues(place, &system, &field, d, precision, [half, odd], &choice)?;
    }
    Ok(())
}

/// A run of one system against itself in parts.
pub(super) fn continues(
    place: &mut Place<'_>,
    system: &System,
    field: &ForceField,
    d: &Dynamics,
    precision: Precision,
    [half, odd]: [u64; 2],
    choice: &Choice,
) -> Result<(), Wrong> {
    let (s, device) = (settings(precision), place.device);
    let fresh = || CudaEngine::with_choice(device, system, field, d, &s, choice);
    let mut whole = fresh()?;
    Engine::advance(&mut whole, 2 * half, false)?;
    let expected = Engine::particles(&whole)?;
    let observed = whole.observe()?;
    // The same steps in other portions, looked at in between.
    let mut parts = fresh()?;
    Engine::advance(&mut parts, odd, true)?;
    Engine::advance(&mut parts, half - odd, false)?;
    let saved = Engine::save(&parts)?;
    let halfway = Engine::particles(&parts)?;
    let mut resumed = CudaEngine::resumed_with_choice(device, system, field, d, &s, choice, &saved)?;
    for engine in [&mut parts, &mut resumed] {
        Engine::advance(engine, half, false)?;
        let found = Engine::particles(engine)?;
        place.expect("positions", &found.positions, &expected.positions)?;
        place.expect("velocities", &found.velocities, &expected.velocities)?;
        place.expect("images", &found.images, &expected.images)?;
        place.expect(
            "observation",
            &[engine.observe()?],
            std::slice::from_ref(&observed),
        )?;
    }
    // The same steps, seen on the way while the device goes on.
    let ahead = Choice {
        ahead: Some(true),
        ..*choice
    };
    let mut queued = CudaEngine::with_choice(device, system, field, d, &s, &ahead)?;
    let mut seen = seen(&mut queued, &[odd, half - odd, half])?;
    let steps: Vec<u64> = seen.iter().map(|moment| moment.step).collect();
    place.expect("steps seen", &steps, &[odd, half, 2 * half])?;
    let (Some(last), Some(places)) = (seen.pop(), seen.pop()) else {
        return Ok(());
    };
    let taken = |moment: Option<LaterParticles>| {
        moment.map_or_else(|| Ok(Particles::default().into()), |taken| taken())
    };
    // Who wants no velocities gets the same places.
    let found = taken(places.particles)?;
    place.expect("places seen", &found.positions, &halfway.positions)?;
    place.expect("images seen", &found.images, &halfway.images)?;
    let [rotations, want] = [&found, &halfway].map(|p| &p.orientations.rotations);
    place.expect("orientations seen", rotations, want)?;
    place.expect("no velocities seen", &[found.velocities.len()], &[0])?;
    let found = taken(last.particles)?;
    place.expect("positions seen", &found.positions, &expected.positions)?;
    place.expect("velocities seen", &found.velocities, &expected.velocities)?;
    place.expect("observation seen", &[last.observation], &[Some(observed)])
}

/// What is seen of an engine after each portion of steps, without waiting for it on the way: everything; of the last
/// portion but one only places.
pub(super) fn seen(engine: &mut CudaEngine, portions: &[u64]) -> Result<Vec<Moment>, EngineError> {
    let mut seen = Vec::new();
    for (number, &steps) in portions.iter().enumerate() {
        let moves = number + 2 != portions.len();
        let wanted = Wanted {
            observation: moves,
            particles: true,
            velocities: moves,
            counts: 0,
        };
        seen.extend(engine.advance_for(steps, wanted)?);
    }
    loop {
        let more = engine.rest()?;
        if more.is_empty() {
            return Ok(seen);
        }
        seen.extend(more);
    }
}

/// A run that changes between the CPU and the device goes on as one that does not, to rounding.
pub(super) fn handover(place: &mut Place<'_>) -> Result<(), Wrong> {
    // Without a card each way to move is tried in one layout: modules of double precision take long to compile.
    let full = place.extent == Extent::Full;
    let few = match place.extent {
        Extent::Watched | Extent::Smallest => 1,
        Extent::Small => 4,
        Extent::Full => usize::MAX,
    };
    for (number, (name, dynamics)) in integrators()
        .into_iter()
        .enumerate()
        .skip(3 * usize::from(!full))
        .take(few)
    {
        let (system, field) = melt(place.extent, number % 2 == 1, Space::Box, 40)?;
        let choices = layouts(place.extent, Space::Box);
        for choice in choices
            .iter()
            .enumerate()
            .filter(|(k, _)| full || k % 2 == number % 2)
            .map(|(_, c)| c)
        {
            changes_hands(place, &system, &field, &dynamics, choice)
                .map_err(|e| wrong(format!("{name}: {e}")))?;
        }
    }
    Ok(())
}

fn changes_hands(
    place: &mut Place<'_>,
    system: &System,
    field: &ForceField,
    d: &Dynamics,
    choice: &Choice,
) -> Result<(), Wrong> {
    // Momentum is removed and the cell changed at this step, where they are at all.
    const HALF: u64 = 15;
    let (s, device) = (settings(Precision::Double), place.device);
    let after = |engine: &dyn Engine| -> Result<System, EngineError> {
        Ok(System {
            particles: engine.particles()?,
            cell: engine.cell(),
            ..system.clone()
        })
    };
    let mut cpu = CpuEngine::new(system, field, d, &s)?;
    cpu.advance(HALF, false)?;
    let (there, state) = (after(&cpu)?, Engine::motion(&cpu)?);
    let on_device = |system, start| CudaEngine::at_with_choice(device, system, field, d, &s, choice, start);
    let mut cuda = on_device(&there, &state)?;
    place.expect("step", &[Engine::step_number(&cuda)], &[HALF])?;
    // Nothing of the step before is done again, also where that is saved at once.
    let saved = Engine::save(&cuda)?;
    let mut resumed = CudaEngine::resumed_with_choice(device, &there, field, d, &s, choice, &saved)?;
    agree(place, &mut cuda, &mut cpu, 1e-9)?;
    let mut first = CudaEngine::with_choice(device, system, field, d, &s, choice)?;
    Engine::advance(&mut first, HALF, false)?;
    let mut back = CpuEngine::at(&after(&first)?, field, d, &s, &Engine::motion(&first)?)?;
    for engine in [&mut cpu as &mut dyn Engine, &mut cuda, &mut resumed, &mut back] {
        engine.advance(HALF, false)?;
    }
    let (found, expected) = (Engine::particles(&resumed)?, Engine::particles(&cuda)?);
    place.expect("positions resumed", &found.positions, &expected.positions)?;
    place.expect("velocities resumed", &found.velocities, &expected.velocities)?;
    agree(place, &mut cuda, &mut cpu, 1e-7)?;
    agree(place, &mut back, &mut cpu, 1e-7)
}

/// Minimization, to the minimum the CPU finds.
pub(super) fn minimization(place: &mut Place<'_>) -> Result<(), Wrong> {
    let (system, field) = melt(place.extent, false, Space::Box, 40)?;
    let most = if place.extent <= Extent::Smallest { 30 } else { 400 };
    let fire = Fire {
        force_tolerance: 1e-3,
        max_steps: most,
        max_displacement: 0.1,
    };
    // Small systems move on the host, which an emulation is slow with.
    let large = layout(false);
    let s = settings(Precision::Double);
    let mut cuda = CudaEngine::with_choice(place.device, &system, &field, &plain(), &s, &large)?;
    let mut cpu = CpuEngine::new(&system, &field, &plain(), &settings(Precision::Double))?;
    let found = Engine::minimize(&mut cuda, fire, &mut |_| true)?;
    let expected = cpu.minimize(fire)?;
    within(place, "energy before", found.energy[0], expected.energy[0], 1e-10)?;
    // Paths part after many steps, and each ends in a minimum of its own; the beginning is the same.
    let close = if most > 100 { 2e-2 } else { 1e-6 };
    within(place, "energy after", found.energy[1], expected.energy[1], close)?;
    within(
        place,
        "converged",
        f64::from(u8::from(found.converged)),
        f64::from(u8::from(expected.converged)),
        0.0,
    )?;
    let (a, b) = (Engine::particles(&cuda)?, cpu.particles());
    let off = difference(&a.velocities, &b.velocities);
    within(place, "velocities are as before", off, 0.0, 1e-9)?;
    Engine::advance(&mut cuda, 3, false)?;
    place.expect("step", &[Engine::step_number(&cuda)], &[3])
}
