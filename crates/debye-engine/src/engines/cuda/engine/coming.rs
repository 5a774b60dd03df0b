//! [`Coming`]: steps that were queued, and what was seen of them.

use std::collections::VecDeque;
use std::time::Instant;

use super::CudaEngine;
use super::look::{Look, Pipeline};
use crate::engines::{Engine, EngineError, Moment, Wanted};

/// Steps on their way.
#[derive(Default)]
pub(super) struct Coming {
    pub(super) pipeline: Pipeline,
    pub(super) wanted: VecDeque<Wanted>,
    pub(super) seen: VecDeque<Look>,
    /// What went wrong after these.
    pub(super) failed: Option<EngineError>,
    /// The last step that was seen.
    pub(super) step: u64,
    /// Seconds of a step, when it was last measured, and how often it was gone by since.
    pace: Option<f64>,
    gone_by: u32,
    /// Whether to queue ahead; `None`: where steps do not take long.
    ahead: Option<bool>,
}

/// Steps that take longer than this, in seconds, are waited for: what is queued behind them for nothing would take longer.
const LONG: f64 = 5e-3;
/// How often a pace is gone by.
const PACE_LASTS: u32 = 64;

impl Coming {
    /// With `ahead` as told.
    pub(super) fn new(ahead: Option<bool>) -> Self {
        Self {
            ahead,
            ..Self::default()
        }
    }

    /// Whether so many steps take long, or nobody knows.
    pub(super) fn takes_long(&mut self, steps: u64) -> bool {
        self.gone_by = (self.gone_by + 1) % PACE_LASTS;
        let known = self.pace.filter(|_| self.gone_by != 0);
        let long = known.is_none_or(|pace| pace * steps as f64 > LONG);
        self.ahead.map_or(long, |ahead| !ahead)
    }
}

impl CudaEngine {
    /// What was wanted of a step that was seen.
    fn moment(&self, mut look: Look, wanted: Wanted) -> Result<Moment, EngineError> {
        let observation = wanted.observation.then(|| self.observation(&look)).transpose()?;
        let counts = look.counts.take();
        let uncounted = wanted.counts != 0 && counts.is_none();
        let particles = (wanted.particles || uncounted).then(|| self.later(&mut look));
        Ok(Moment {
            step: look.step,
            cell: look.cell.unwrap_or(self.cell),
            observation,
            particles: particles.transpose()?,
            counts,
        })
    }

    /// The moments that have come, in order, and then what went wrong; with `all`, waits for the rest.
    pub(super) fn moments(&mut self, all: bool) -> Result<Vec<Moment>, EngineError> {
        let mut moments = Vec::new();
        loop {
            let coming = self.coming.get_mut();
            let look = match (coming.seen.pop_front(), coming.failed.take()) {
                (Some(look), failed) => {
                    coming.failed = failed;
                    look
                }
                (None, Some(error)) if moments.is_empty() => return Err(error),
                (None, Some(error)) => {
                    coming.failed = Some(error);
                    return Ok(moments);
                }
                (None, None) => match coming.pipeline.next(self.skeleton.get_mut().as_mut(), all) {
                    Ok(Some(look)) => look,
                    Ok(None) => return Ok(moments),
                    Err(error) => {
                        self.step = coming.step;
                        let error = self.explained(error);
                        self.coming.get_mut().failed = Some(error);
                        continue;
                    }
                },
            };
            let coming = self.coming.get_mut();
            let wanted = coming.wanted.pop_front().unwrap_or_default();
            coming.step = look.step;
            self.cell = look.cell.unwrap_or(self.cell);
            moments.push(self.moment(look, wanted)?);
        }
    }

    /// Does steps and sees what is wanted of the last, after all that is on its way.
    pub(super) fn advance_waiting(&mut self, steps: u64, wanted: Wanted) -> Result<Vec<Moment>, EngineError> {
        let mut moments = self.moments(true)?;
        if self.coming.get_mut().failed.is_some() {
            return Ok(moments);
        }
        let began = Instant::now();
        let done = self.advance(steps, wanted.observation);
        self.coming.get_mut().pace = Some(began.elapsed().as_secs_f64() / steps.max(1) as f64);
        let see = |()| self.arrived()?.look(wanted);
        match done.and_then(see).and_then(|look| self.moment(look, wanted)) {
            Ok(moment) => moments.push(moment),
            Err(error) if moments.is_empty() => return Err(error),
            Err(error) => self.coming.get_mut().failed = Some(error),
        }
        Ok(moments)
    }
}
