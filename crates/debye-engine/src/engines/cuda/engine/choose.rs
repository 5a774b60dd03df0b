//! Which kind of list is faster here: both are tried on the simulation itself.
//!
//! Both give the same results to the last bit, so that the choice may depend on a clock.

use std::time::{Duration, Instant};

use super::frame::{Frame, Region};
use super::kernels::Control;
use super::layout::Layout;
use super::resident::Resident;
use super::rules::ScalingThermostat;
use super::state::State;
use crate::engines::EngineError;

/// Steps before the clock is looked at, in which graphs are captured.
const BEFORE: u64 = 16;

/// Steps that are timed, and how often; the fastest counts.
const TIMED: u64 = 48;
const TIMES: usize = 3;

/// Tries lists of particles and of warps, and keeps the faster. To be called when particles have been placed and no list
/// has been made yet: everything else is afterwards as it was before.
pub(super) fn choose(resident: &mut Resident) -> Result<(), EngineError> {
    let begin = Begin {
        state: resident.download()?,
        slots: resident.layout.slots(),
        layout: resident.layout,
        region: resident.values.region,
        frame: resident.frame()?,
        thermostats: resident.thermostats()?,
        control: *resident.control_mut(),
    };
    let first = resident.layout.tiles;
    let mut best: Option<(Duration, bool)> = None;
    for tiles in [first, !first] {
        // What does not fit or does not run is not chosen; if neither does, the run itself will say so.
        let tried = begin.again(resident, tiles).and_then(|()| time(resident));
        if let Ok(time) = tried
            && best.is_none_or(|(shortest, _)| time < shortest)
        {
            best = Some((time, tiles));
        }
    }
    let chosen = best.map_or(first, |(_, tiles)| tiles);
    begin.again(resident, chosen)?;
    // Trials are no part of the run.
    resident.forget();
    Ok(())
}

/// Everything as it was before.
struct Begin {
    state: State,
    slots: usize,
    layout: Layout,
    region: Region,
    frame: Frame,
    thermostats: Vec<ScalingThermostat>,
    control: Control,
}

impl Begin {
    /// Once more, with this kind of list, which is to be made.
    fn again(&self, resident: &mut Resident, tiles: bool) -> Result<(), EngineError> {
        // What was found to need more room keeps it.
        let same = resident.values.region == self.region;
        let sizes = if same { resident.layout } else { self.layout };
        let layout = Layout { tiles, ..sizes };
        resident.values.region = self.region;
        resident.relayout(layout)?;
        resident.upload(&self.state.moved(self.slots, layout.slots()))?;
        resident.set_frame(self.frame)?;
        resident.set_thermostats(&self.thermostats)?;
        *resident.control_mut() = self.control;
        Ok(resident.write_control()?)
    }
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
