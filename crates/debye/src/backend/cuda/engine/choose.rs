//! Which kind of list is faster here: both are tried on the simulation itself.
//!
//! Both give the same results to the last bit, so that the choice may depend on a clock.

use std::time::{Duration, Instant};

use super::kernels::Control;
use super::layout::Layout;
use super::resident::Resident;
use super::state::State;
use crate::backend::EngineError;

/// Steps before the clock is looked at, in which graphs are captured.
const BEFORE: u64 = 16;

/// Steps that are timed, and how often; the fastest counts.
const TIMED: u64 = 48;
const TIMES: usize = 3;

/// Tries lists of particles and of warps, and keeps the faster. To be called when particles have been placed and no list
/// has been made yet: everything else is afterwards as it was before.
pub(super) fn choose(resident: &mut Resident) -> Result<(), EngineError> {
    let state = resident.download()?;
    let before = *resident.control_mut();
    let slots = resident.layout.slots();
    let first = resident.layout.tiles;
    let mut best: Option<(Duration, bool)> = None;
    for tiles in [first, !first] {
        // What does not fit or does not run is not chosen; if neither does, the run itself will say so.
        let tried = begin(resident, tiles, &state, slots, before).and_then(|()| time(resident));
        if let Ok(time) = tried
            && best.is_none_or(|(shortest, _)| time < shortest)
        {
            best = Some((time, tiles));
        }
    }
    let chosen = best.map_or(first, |(_, tiles)| tiles);
    begin(resident, chosen, &state, slots, before)
}

/// The state as it was, with this kind of list, which is to be made.
fn begin(
    resident: &mut Resident,
    tiles: bool,
    state: &State,
    slots: usize,
    before: Control,
) -> Result<(), EngineError> {
    let layout = Layout {
        tiles,
        ..resident.layout
    };
    resident.relayout(layout)?;
    resident.upload(&state.moved(slots, layout.slots()))?;
    *resident.control_mut() = Control {
        step: before.step,
        target: before.target,
        stale: 1,
        blocks: before.blocks,
        builds: before.builds,
        ..Control::default()
    };
    Ok(resident.write_control()?)
}

/// How long some steps take with their lists.
fn time(resident: &mut Resident) -> Result<Duration, EngineError> {
    let mut step = resident.control_mut().step + BEFORE;
    resident.advance(step)?;
    let mut shortest = Duration::MAX;
    for _ in 0..TIMES {
        step += TIMED;
        let began = Instant::now();
        resident.advance(step)?;
        shortest = shortest.min(began.elapsed());
    }
    Ok(shortest)
}
