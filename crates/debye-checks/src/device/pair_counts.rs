//! Pairs counted by their distance on the device, against a search of the same particles on the host.

use super::engine::wrong;
use super::systems::{Space, integrators, layouts, melt, plain, settings};
use super::{Extent, Place, Wrong};
use debye::analysis::count_pairs;
use debye::engines::cuda::{Choice, CudaEngine};
use debye::engines::{Engine, Moment, PairCounts, PairHistogram, Precision, Wanted};
use debye::forces::ForceField;
use debye::integrate::Dynamics;
use debye::system::System;

/// In cells of every shape, laid out in every way, and while a cell changes.
pub(super) fn counts(place: &mut Place<'_>) -> Result<(), Wrong> {
    let all = [
        (true, Space::Box, Precision::Mixed),
        (true, Space::Triclinic, Precision::Double),
        (false, Space::Open, Precision::Mixed),
        (true, Space::Slab, Precision::Single),
        (false, Space::Box, Precision::Double),
        (true, Space::Box, Precision::Single),
        (true, Space::Triclinic, Precision::Mixed),
    ];
    let few = match place.extent {
        Extent::Watched => 2,
        Extent::Smallest => 4,
        Extent::Small | Extent::Full => all.len(),
    };
    for &(mixed, space, precision) in &all[..few] {
        let (system, field) = melt(place.extent, mixed, space, 40)?;
        for choice in layouts(place.extent, space) {
            of_system(place, (&system, &field), &plain(), precision, &choice)
                .map_err(|e| wrong(format!("{space:?}, {}: {e}", precision.name())))?;
        }
    }
    if place.extent > Extent::Watched {
        many(place)?;
    }
    let (system, field) = melt(place.extent, true, Space::Box, 40)?;
    let moving = integrators()
        .into_iter()
        .find(|(name, _)| *name == "Bussi, cell rescaling");
    for choice in layouts(place.extent, Space::Box) {
        let Some((name, dynamics)) = &moving else { continue };
        of_system(place, (&system, &field), dynamics, Precision::Mixed, &choice)
            .map_err(|e| wrong(format!("{name}: {e}")))?;
    }
    Ok(())
}

fn of_system(
    place: &mut Place<'_>,
    (system, field): (&System, &ForceField),
    dynamics: &Dynamics,
    precision: Precision,
    choice: &Choice,
) -> Result<(), Wrong> {
    let (heights, last) = (system.cell.heights().to_array(), system.species.len() as u32 - 1);
    let half = 0.5 * heights.into_iter().fold(f64::INFINITY, f64::min);
    let periodic = system.cell.periodic() != [false; 3];
    let of = |pair, reach, bins| PairHistogram { pair, reach, bins };
    let named = [
        of(None, half, 200),
        of(Some([0, last]), 0.7 * half, 37),
        of(Some([last, last]), 0.3 * half, 1),
        // Much shorter than the box around a group.
        of(None, 0.1 * half, 23),
        // Around the cell, and with more intervals than a block has room for.
        of(None, 2.5 * half, 50),
        of(None, half, 1_000_000),
    ];
    let s = settings(precision);
    let mut engine = CudaEngine::with_choice(place.device, system, field, dynamics, &s, choice)?;
    let bits = engine.count_pairs(&named)?;
    place.expect("histograms", &[bits], &[if periodic { 0b1111 } else { 0b11111 }])?;
    let wanted = Wanted {
        observation: true,
        counts: bits,
        ..Wanted::default()
    };
    let expected = |engine: &CudaEngine| -> Result<PairCounts, Wrong> {
        let (particles, cell) = (Engine::particles(engine)?, Engine::cell(engine));
        let count = |of: &PairHistogram| count_pairs(of, &cell, &particles.positions, &particles.species);
        named[..bits.count_ones() as usize]
            .iter()
            .map(|of| count(of).map_err(wrong))
            .collect()
    };
    let mut compare = |engine: &mut CudaEngine, moments: Vec<Moment>| -> Result<(), Wrong> {
        for moment in moments {
            let shrunk = moment
                .cell
                .heights()
                .to_array()
                .into_iter()
                .fold(f64::INFINITY, f64::min)
                < 2.0 * half;
            let counts = match (moment.counts, moment.particles) {
                (Some(counts), _) => counts,
                (None, Some(particles)) if shrunk && periodic => {
                    let there = particles()?;
                    let now = Engine::particles(engine)?.positions;
                    place.expect("particles in place of counts", &there.positions, &now)?;
                    continue;
                }
                _ => return Err(wrong("no counts")),
            };
            for (number, (found, want)) in counts.iter().zip(&expected(engine)?).enumerate() {
                place.expect(&format!("histogram {number}"), found, want)?;
            }
        }
        Ok(())
    };
    let now = Moment::of(&mut engine, wanted)?;
    compare(&mut engine, vec![now])?;
    for steps in [1, 4, 3] {
        let mut seen = engine.advance_for(steps, wanted)?;
        seen.extend(engine.rest()?);
        one_moment(&seen)?;
        compare(&mut engine, seen)?;
    }
    // One of them alone.
    let one = Moment::of(
        &mut engine,
        Wanted {
            counts: 0b10,
            ..wanted
        },
    )?;
    if let Some(counts) = one.counts {
        let lengths: Vec<usize> = counts.iter().map(Vec::len).collect();
        place.expect("lengths", &lengths[..3], &[0, 37, 0])?;
        place.expect("histogram 1", &counts[1], &expected(&engine)?[1])?;
    }
    Ok(())
}

/// More histograms than particles have bits for, one of them of a species that nobody has.
fn many(place: &mut Place<'_>) -> Result<(), Wrong> {
    let (system, field) = melt(place.extent, true, Space::Box, 40)?;
    let of = |number: u32| PairHistogram {
        pair: (number > 0).then_some([number % 3, 3 - number % 2]),
        reach: 1.5,
        bins: 5 + number as usize,
    };
    let named: Vec<_> = (0..40).map(of).collect();
    for choice in layouts(place.extent, Space::Box) {
        let s = settings(Precision::Mixed);
        let mut engine = CudaEngine::with_choice(place.device, &system, &field, &plain(), &s, &choice)?;
        let nobody = Wanted {
            counts: 1,
            ..Wanted::default()
        };
        let uncounted = Moment::of(&mut engine, nobody)?;
        let there = [uncounted.counts.is_some(), uncounted.particles.is_some()];
        place.expect("where nobody counts", &there, &[false, true])?;
        place.expect("histograms", &[engine.count_pairs(&named)?], &[0xffff])?;
        let wanted = Wanted {
            counts: 0xffff,
            ..Wanted::default()
        };
        let Some(counts) = Moment::of(&mut engine, wanted)?.counts else {
            return Err(wrong("no counts"));
        };
        let now = Engine::particles(&engine)?;
        for (of, found) in named[..16].iter().zip(&counts) {
            let want = count_pairs(of, &system.cell, &now.positions, &now.species).map_err(wrong)?;
            place.expect(&format!("{of:?}"), found, &want)?;
        }
    }
    Ok(())
}

fn one_moment(seen: &[Moment]) -> Result<(), Wrong> {
    match seen.len() {
        1 => Ok(()),
        n => Err(wrong(format!("{n} moments of one step"))),
    }
}
