//! [`InFlight`]: steps that were queued, and what was seen of them.

use std::collections::VecDeque;
use std::time::Instant;

use super::CudaEngine;
use super::snapshot::{Pipeline, Snapshot};
use crate::engines::{Engine, EngineError, Moment, Wanted};

/// Steps on their way.
#[derive(Default)]
pub(super) struct InFlight {
    pub(super) pipeline: Pipeline,
    pub(super) wanted: VecDeque<Wanted>,
    pub(super) seen: VecDeque<Snapshot>,
    /// What went wrong after these.
    pub(super) failed: Option<EngineError>,
    /// The last step that was seen.
    pub(super) step: u64,
    /// Seconds of a step, when that was measured, and how often it was gone by since.
    pace: Option<(f64, Instant)>,
    gone_by: u32,
    /// Whether to queue ahead; `None`: where steps do not take long.
    ahead: Option<bool>,
}

/// Steps that take longer than this, in seconds, are waited for: who stops a run does not wait for seconds.
const LONG: f64 = 0.1;
/// How often a pace is gone by at least, and for how many seconds: all that is on its way must have come before it is
/// measured again.
const PACE_LASTS: u32 = 64;
const PACE_SECONDS: f64 = 1.0;

impl InFlight {
    /// With `ahead` as told.
    pub(super) fn new(ahead: Option<bool>) -> Self {
        Self {
            ahead,
            ..Self::default()
        }
    }

    /// Whether so many steps take long, or nobody knows.
    pub(super) fn takes_long(&mut self, steps: u64) -> bool {
        self.gone_by = self.gone_by.saturating_add(1);
        let lasts = |then: &Instant| self.gone_by < PACE_LASTS || then.elapsed().as_secs_f64() < PACE_SECONDS;
        let known = self.pace.filter(|(_, then)| lasts(then));
        let long = known.is_none_or(|(pace, _)| pace * steps as f64 > LONG);
        self.ahead.map_or(long, |ahead| !ahead)
    }
}

impl CudaEngine {
    /// What was wanted of a step that was seen.
    fn moment(&self, mut snapshot: Snapshot, wanted: Wanted) -> Result<Moment, EngineError> {
        let observation = wanted
            .observation
            .then(|| self.observation(&snapshot))
            .transpose()?;
        let counts = snapshot.counts.take();
        let uncounted = wanted.counts != 0 && counts.is_none();
        let particles = (wanted.particles || uncounted).then(|| self.later(&mut snapshot, wanted.velocities));
        Ok(Moment {
            step: snapshot.step,
            cell: snapshot.cell.unwrap_or(self.cell),
            observation,
            particles: particles.transpose()?,
            counts,
        })
    }

    /// The moments that have come, in order, and then what went wrong; with `all`, waits for the rest.
    pub(super) fn moments(&mut self, all: bool) -> Result<Vec<Moment>, EngineError> {
        let mut moments = Vec::new();
        loop {
            let in_flight = self.in_flight.get_mut();
            let snapshot = match (in_flight.seen.pop_front(), in_flight.failed.take()) {
                (Some(snapshot), failed) => {
                    in_flight.failed = failed;
                    snapshot
                }
                (None, Some(error)) if moments.is_empty() => return Err(error),
                (None, Some(error)) => {
                    in_flight.failed = Some(error);
                    return Ok(moments);
                }
                (None, None) => match in_flight.pipeline.next(self.skeleton.get_mut().as_mut(), all) {
                    Ok(Some(snapshot)) => snapshot,
                    Ok(None) => return Ok(moments),
                    Err(error) => {
                        self.step = in_flight.step;
                        let error = self.explained(error);
                        self.in_flight.get_mut().failed = Some(error);
                        continue;
                    }
                },
            };
            let in_flight = self.in_flight.get_mut();
            let wanted = in_flight.wanted.pop_front().unwrap_or_default();
            in_flight.step = snapshot.step;
            self.cell = snapshot.cell.unwrap_or(self.cell);
            moments.push(self.moment(snapshot, wanted)?);
        }
    }

    /// Does steps and sees what is wanted of the last, after all that is on its way.
    pub(super) fn advance_waiting(&mut self, steps: u64, wanted: Wanted) -> Result<Vec<Moment>, EngineError> {
        let mut moments = self.moments(true)?;
        if self.in_flight.get_mut().failed.is_some() {
            return Ok(moments);
        }
        let began = Instant::now();
        let done = self.advance(steps, wanted.observation);
        let pace = began.elapsed().as_secs_f64() / steps.max(1) as f64;
        let in_flight = self.in_flight.get_mut();
        (in_flight.pace, in_flight.gone_by) = (Some((pace, Instant::now())), 0);
        let see = |()| self.arrived()?.snapshot(wanted);
        match done
            .and_then(see)
            .and_then(|snapshot| self.moment(snapshot, wanted))
        {
            Ok(moment) => moments.push(moment),
            Err(error) if moments.is_empty() => return Err(error),
            Err(error) => self.in_flight.get_mut().failed = Some(error),
        }
        Ok(moments)
    }
}
