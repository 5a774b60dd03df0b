//! Simulations of small systems on the device against the CPU: what only their kernel does.

use super::engine::{alike, continues, moves_alike, seen, wrong};
use super::systems::{Space, integrators, layout, melt_of, plain, settings};
use super::{Extent, Place, Wrong};
use debye::engines::cuda::{Choice, CudaEngine};
use debye::engines::{
    Engine, EngineError, Moment, Observation, PairCounts, PairHistogram, Precision, Wanted,
};
use debye::forces::ForceField;
use debye::integrate::Dynamics;
use debye::system::{Cell, ExclusionRule, Exclusions, Particles, System, Topology};
use debye_gpu::ModuleSource;

/// Small layouts that the rule does not choose by itself: few lanes, many particles to a group, lists and positions elsewhere.
fn layouts() -> Vec<Choice> {
    let with = |lanes, threads, staged, cached| Choice {
        lanes: Some(lanes),
        threads: Some(threads),
        staged: Some(staged),
        cached: Some(cached),
        buffer: BUFFER,
        ..layout(true)
    };
    vec![
        with(1, 64, true, false),
        with(8, 256, true, true),
        with(32, 96, false, false),
        with(4, 512, false, true),
        with(16, 992, true, true),
    ]
}

/// A short buffer, so that lists do not last.
const BUFFER: Option<f64> = Some(0.15);

/// By rule on a card. An emulation has few lanes, as it runs one after the other.
fn usual(place: &Place<'_>) -> Choice {
    Choice {
        lanes: (place.extent != Extent::Full).then_some(4),
        buffer: BUFFER,
        ..layout(true)
    }
}

fn langevin() -> Dynamics {
    let all = integrators().into_iter();
    all.filter(|(name, _)| *name == "Langevin")
        .map(|(_, dynamics)| dynamics)
        .next()
        .unwrap_or_else(plain)
}

fn compare(
    place: &mut Place<'_>,
    (system, field): &(System, ForceField),
    precision: Precision,
    choice: &Choice,
) -> Result<(), Wrong> {
    let all = |place: &mut Place<'_>| {
        alike(place, system, field, precision, choice)?;
        moves_alike(place, system, field, &plain(), precision, steps(place), choice)?;
        let half = steps(place) / 2;
        let parts = [half, half / 3];
        continues(place, system, field, &langevin(), precision, parts, choice)
    };
    let heights = system.cell.heights();
    all(place).map_err(|e| wrong(format!("{heights:?}, {}: {e}", precision.name())))
}

/// Of every precision where there is time for it.
fn precisions(place: &Place<'_>, number: usize) -> Vec<Precision> {
    let mut all = vec![Precision::Double, Precision::Single, Precision::Mixed];
    if place.extent <= Extent::Smallest {
        all.rotate_left(number % 3);
        all.truncate(1);
    }
    all
}

fn steps(place: &Place<'_>) -> u64 {
    match place.extent {
        Extent::Watched | Extent::Smallest => 8,
        Extent::Small => 16,
        Extent::Full => 40,
    }
}

pub(super) fn lanes(place: &mut Place<'_>) -> Result<(), Wrong> {
    let cells = if place.extent == Extent::Full {
        [8, 9, 10]
    } else {
        [4, 4, 4]
    };
    let (system, field) = melt_of(cells, true, Space::Box, 40)?;
    let count = if place.extent <= Extent::Smallest { 3 } else { 5 };
    for choice in layouts().into_iter().take(count) {
        moves_alike(
            place,
            &system,
            &field,
            &langevin(),
            Precision::Mixed,
            steps(place),
            &choice,
        )?;
    }
    Ok(())
}

/// Every way to move in cells that are short, with one and with several particles to a group.
pub(super) fn motion(place: &mut Place<'_>) -> Result<(), Wrong> {
    let smallest = place.extent <= Extent::Smallest;
    let many = Choice {
        threads: Some(64),
        ..usual(place)
    };
    let few: &[usize] = if place.extent == Extent::Watched {
        &[3, 6]
    } else {
        &[3, 4, 6, 12]
    };
    let wanted = |number: usize| !smallest || few.contains(&number);
    for (number, (name, dynamics)) in integrators().into_iter().enumerate().filter(|x| wanted(x.0)) {
        let (cells, space) = [([2, 2, 3], Space::Box), ([2, 3, 2], Space::Triclinic)][number % 2];
        let (system, field) = melt_of(cells, number % 3 == 0, space, 40)?;
        let precision = [Precision::Double, Precision::Mixed, Precision::Single][number % 3];
        let choice = if number % 2 == 0 { many } else { usual(place) };
        let half = steps(place) / 2;
        moves_alike(place, &system, &field, &dynamics, precision, 2 * half, &choice)
            .and_then(|()| {
                let parts = [half, half / 3];
                continues(place, &system, &field, &dynamics, precision, parts, &choice)
            })
            .map_err(|e| wrong(format!("{name}, {}: {e}", precision.name())))?;
    }
    Ok(())
}

/// Of three shapes of cells.
fn most(place: &Place<'_>) -> usize {
    if place.extent == Extent::Watched { 2 } else { 3 }
}

/// Shorter than twice the radius, than the radius, and in one direction only.
pub(super) fn short_cells(place: &mut Place<'_>) -> Result<(), Wrong> {
    let all = [[2, 2, 3], [1, 1, 2], [1, 4, 3]];
    for (number, cells) in all.into_iter().take(most(place)).enumerate() {
        let of = melt_of(cells, true, Space::Box, 40)?;
        let usual = usual(place);
        for precision in precisions(place, number) {
            compare(place, &of, precision, &usual)?;
        }
        let elsewhere = Choice {
            staged: Some(false),
            ..usual
        };
        alike(place, &of.0, &of.1, Precision::Mixed, &elsewhere)?;
    }
    Ok(())
}

pub(super) fn triclinic(place: &mut Place<'_>) -> Result<(), Wrong> {
    let all = [[2, 3, 2], [1, 2, 1], [4, 4, 4]];
    for (number, cells) in all.into_iter().take(most(place)).enumerate() {
        let of = melt_of(cells, false, Space::Triclinic, 40)?;
        let usual = usual(place);
        for precision in precisions(place, number + 1) {
            compare(place, &of, precision, &usual)?;
        }
    }
    Ok(())
}

/// Leaves out pairs inside the cells of the lattice: neighbors, and two particles with several partners.
fn exclude(system: &mut System) -> Result<(), Wrong> {
    let n = system.particles.len() as u32;
    let pairs = (0..n / 4).map(|k| [4 * k, 4 * k + 1]);
    let more = (0..n / 8).flat_map(|k| [[8 * k, 8 * k + 2], [8 * k, 8 * k + 3]]);
    let rule = ExclusionRule::through(0).extra(pairs.chain(more));
    system.exclusions = Exclusions::from_bonds(&Topology::default(), n as usize, &rule).map_err(wrong)?;
    Ok(())
}

pub(super) fn exclusions(place: &mut Place<'_>) -> Result<(), Wrong> {
    let all = [
        ([4, 4, 4], Space::Box),
        ([2, 3, 2], Space::Triclinic),
        ([2, 2, 3], Space::Box),
    ];
    for (cells, space) in all.into_iter().take(most(place)) {
        let mut of = melt_of(cells, true, space, 40)?;
        exclude(&mut of.0)?;
        let choice = usual(place);
        alike(place, &of.0, &of.1, Precision::Mixed, &choice)?;
        // In longer runs of small cells another image of a partner becomes the nearest, sooner or later.
        if cells == [4, 4, 4] {
            moves_alike(
                place,
                &of.0,
                &of.1,
                &plain(),
                Precision::Mixed,
                steps(place),
                &choice,
            )?;
        }
        continues(place, &of.0, &of.1, &plain(), Precision::Mixed, [6, 1], &choice)?;
    }
    Ok(())
}

/// Lists with no room at first: the same bits as with enough.
pub(super) fn overflow(place: &mut Place<'_>) -> Result<(), Wrong> {
    let (system, field) = melt_of([4, 4, 4], false, Space::Box, 40)?;
    let (d, s) = (plain(), settings(Precision::Mixed));
    let (device, usual, steps) = (place.device, usual(place), 2 * steps(place));
    let run = |capacity: Option<u32>, staged: bool| {
        let choice = Choice {
            capacity,
            staged: Some(staged),
            ahead: Some(true),
            ..usual
        };
        let mut engine = CudaEngine::with_choice(device, &system, &field, &d, &s, &choice)?;
        // What does not fit is found while more is queued.
        let seen = seen(&mut engine, &[steps / 4, steps / 4, steps - 2 * (steps / 4)])?;
        let found = Engine::particles(&engine)?;
        Ok::<_, EngineError>((found, engine.lists().builds, seen.len()))
    };
    let (expected, builds, _) = run(None, true)?;
    place.expect("lists are made anew", &[builds > 2], &[true])?;
    // Nothing fits, the first list does not, a later one does not.
    for (capacity, staged) in [(1, true), (50, false), (58, true)] {
        let (found, made, seen) = run(Some(capacity), staged)?;
        place.expect("lists", &[made], &[builds])?;
        place.expect("moments", &[seen], &[3])?;
        place.expect("positions", &found.positions, &expected.positions)?;
        place.expect("velocities", &found.velocities, &expected.velocities)?;
    }
    Ok(())
}

/// What is seen of steps on the way, more of them than a launch has, is what is seen where every one is waited for.
pub(super) fn on_the_way(place: &mut Place<'_>) -> Result<(), Wrong> {
    const SEEN: u64 = 20;
    let (system, field) = melt_of([4, 4, 4], false, Space::Box, 40)?;
    let (device, usual, s) = (place.device, usual(place), settings(Precision::Mixed));
    let heights = system.cell.heights().to_array();
    let of = PairHistogram {
        pair: None,
        reach: 0.45 * heights.into_iter().fold(f64::INFINITY, f64::min),
        bins: 50,
    };
    // Everything by turns, also with nothing else.
    let wanted = |number: u64, bits: u32| Wanted {
        observation: number.is_multiple_of(3),
        particles: !number.is_multiple_of(3) && number % 4 != 1,
        velocities: number % 5 == 2,
        counts: if number % 2 == 1 { bits } else { 0 },
    };
    let run = |dynamics: &Dynamics, capacity: Option<u32>, ahead: bool| {
        let choice = Choice {
            capacity,
            ahead: Some(ahead),
            ..usual
        };
        let mut engine = CudaEngine::with_choice(device, &system, &field, dynamics, &s, &choice)?;
        let bits = engine.count_pairs(&[of])?;
        let mut seen = Vec::new();
        for number in 0..SEEN {
            // Some of them see the same step as the one before.
            let steps = if number % 7 == 6 { 0 } else { 1 + number % 2 };
            seen.extend(engine.advance_for(steps, wanted(number, bits))?);
        }
        loop {
            let more = engine.rest()?;
            if more.is_empty() {
                return Ok::<_, EngineError>(seen);
            }
            seen.extend(more);
        }
    };
    let changing = integrators()
        .into_iter()
        .filter(|(name, _)| *name == "Bussi, cell rescaling");
    let all = [("plain", plain())].into_iter().chain(changing);
    for (name, dynamics) in all {
        let expected = run(&dynamics, None, false)?;
        place.expect("moments", &[expected.len() as u64], &[SEEN])?;
        let expected: Vec<Seen> = expected.into_iter().map(Seen::new).collect::<Result<_, _>>()?;
        // With room for all lists, and without.
        for capacity in [None, Some(58)] {
            let found = run(&dynamics, capacity, true)?;
            let found: Vec<Seen> = found.into_iter().map(Seen::new).collect::<Result<_, _>>()?;
            place
                .expect("what is seen on the way", &found, &expected)
                .map_err(|e| wrong(format!("{name}, room for {capacity:?}: {e}")))?;
        }
    }
    Ok(())
}

/// All that was seen of a step.
#[derive(Debug, PartialEq)]
struct Seen {
    step: u64,
    cell: Cell,
    observation: Option<Observation>,
    counts: Option<PairCounts>,
    particles: Option<Particles>,
}

impl Seen {
    fn new(moment: Moment) -> Result<Self, EngineError> {
        let taken = moment.particles.map(|particles| particles()).transpose()?;
        Ok(Self {
            step: moment.step,
            cell: moment.cell,
            observation: moment.observation,
            counts: moment.counts,
            particles: taken.map(|particles| (*particles).clone()),
        })
    }
}

/// A particle that flies through a quarter of the cell in a step is reported, and nothing hangs.
pub(super) fn exploded(place: &mut Place<'_>) -> Result<(), Wrong> {
    let (mut system, field) = melt_of([4, 4, 4], false, Space::Box, 10)?;
    system.particles.velocities[77].x = 1e4;
    let (d, s) = (plain(), settings(Precision::Mixed));
    let usual = usual(place);
    let mut engine = CudaEngine::with_choice(place.device, &system, &field, &d, &s, &usual)?;
    let found = Engine::advance(&mut engine, 100, false);
    let reported = match found {
        Err(EngineError::Exploded(culprit)) => culprit.particle == 77 && culprit.step == 1,
        _ => false,
    };
    place.expect("the particle that exploded", &[reported], &[true])?;
    // The same while more is queued: nothing is seen, and the engine is where it was.
    let usual = Choice {
        ahead: Some(true),
        ..usual
    };
    let mut engine = CudaEngine::with_choice(place.device, &system, &field, &d, &s, &usual)?;
    let reported = match seen(&mut engine, &[10; 3]) {
        Err(EngineError::Exploded(culprit)) => culprit.particle == 77 && culprit.step == 1,
        _ => false,
    };
    place.expect("the same on the way", &[reported], &[true])?;
    place.expect("its step", &[engine.step_number()], &[0])
}

/// Kernels that the checks of other systems do not use.
pub(super) fn modules() -> Vec<ModuleSource> {
    let mut all = Vec::new();
    let mut add = |cells, space, noisy, excluding: bool, precision, choice: Choice| {
        if let Ok((mut system, field)) = melt_of(cells, true, space, 0) {
            if excluding && exclude(&mut system).is_err() {
                return;
            }
            let d = if noisy { langevin() } else { plain() };
            all.extend(debye::engines::cuda::small_module(
                &system,
                &field,
                &d,
                &settings(precision),
                132,
                &choice,
            ));
        }
    };
    for precision in [Precision::Single, Precision::Mixed, Precision::Double] {
        add([2, 2, 3], Space::Box, false, true, precision, layout(true));
        add([1, 2, 1], Space::Triclinic, true, true, precision, layout(true));
        add([4, 4, 4], Space::Triclinic, false, false, precision, layout(true));
    }
    for choice in layouts() {
        add([4, 4, 4], Space::Box, true, true, Precision::Mixed, choice);
    }
    for (number, (_, dynamics)) in integrators().into_iter().enumerate().skip(2) {
        let precision = [Precision::Double, Precision::Mixed, Precision::Single][number % 3];
        let space = [Space::Box, Space::Triclinic][number % 2];
        let choice = Choice {
            threads: (number % 4 < 2).then_some(64),
            ..layout(true)
        };
        if let Ok((system, field)) = melt_of([4, 4, 4], true, space, 0) {
            let s = settings(precision);
            all.extend(debye::engines::cuda::small_module(
                &system, &field, &dynamics, &s, 3, &choice,
            ));
        }
    }
    all
}
