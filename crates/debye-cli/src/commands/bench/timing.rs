//! The clock of `debye bench`: steps that equilibrate, then steps that count.

use std::time::Instant;

use debye::engines::cpu::Fire;
use debye::engines::{Engine, EngineError};

use super::cases::{Kind, Selection};

/// Minimization steps before water from the builder moves: molecules have random orientations.
const MINIMIZATION: u64 = 100;
/// Steps of the charged cases before the clock starts.
const CHARGED: u64 = 300;
/// Steps of a melt before the clock starts.
const MELTING: u64 = 200;
/// Steps that a sphere at rest is timed for.
const FROM_REST: u64 = 200;
/// Seconds between two looks at the clock.
const STRETCH: f64 = 0.5;
/// Steps of the equilibration between two questions whether to go on.
const PATIENCE: u64 = 50;

/// Asked now and then whether to go on.
pub(super) type Proceed<'a> = &'a dyn Fn() -> bool;

/// What the clock says.
pub(super) struct Timing {
    pub(super) steps: u64,
    pub(super) seconds: f64,
    /// The fastest stretch, for machines that others use too.
    pub(super) best: f64,
}

impl Timing {
    /// Steps per second.
    pub(super) fn rate(&self) -> f64 {
        self.steps as f64 / self.seconds
    }
}

/// The melt has to melt, and the list has to find its buffer. A sphere is timed from rest, before it collapses.
pub(super) fn equilibrate(
    case: &Selection,
    from_file: bool,
    engine: &mut dyn Engine,
    proceed: Proceed<'_>,
) -> Result<(), EngineError> {
    let mut left = match case.kind {
        Kind::Argon(..) => 0,
        Kind::Melt(..) => MELTING,
        Kind::Salt(_) | Kind::Water(_) | Kind::Sticky(_) | Kind::Bilayer(_) => CHARGED,
    };
    let built = matches!(case.kind, Kind::Water(_) | Kind::Sticky(_) | Kind::Bilayer(_)) && !from_file;
    if built {
        engine.minimize(separation(), &mut |_| proceed())?;
    }
    while left > 0 && proceed() {
        let steps = left.min(PATIENCE);
        engine.advance(steps, false)?;
        left -= steps;
    }
    Ok(())
}

/// A few steps that separate molecules that overlap.
fn separation() -> Fire {
    Fire {
        force_tolerance: 100.0,
        max_steps: MINIMIZATION,
        max_displacement: 0.01,
    }
}

/// Times an engine for so many seconds; a sphere for its first steps.
pub(super) fn time(
    case: &Selection,
    engine: &mut dyn Engine,
    seconds: f64,
    proceed: Proceed<'_>,
) -> Result<Timing, EngineError> {
    let began = Instant::now();
    let (mut steps, mut stretch, mut best) = (0, 10, 0.0_f64);
    if matches!(case.kind, Kind::Argon(..)) {
        engine.advance(FROM_REST, false)?;
        steps = FROM_REST;
    }
    while !matches!(case.kind, Kind::Argon(..)) && began.elapsed().as_secs_f64() < seconds && proceed() {
        let lap = Instant::now();
        engine.advance(stretch, false)?;
        steps += stretch;
        let rate = stretch as f64 / lap.elapsed().as_secs_f64();
        if lap.elapsed().as_secs_f64() > 0.5 * STRETCH {
            best = best.max(rate);
        }
        stretch = ((rate * STRETCH.min(0.25 * seconds)) as u64).max(1);
    }
    let seconds = began.elapsed().as_secs_f64();
    let best = best.max(steps as f64 / seconds);
    Ok(Timing { steps, seconds, best })
}
