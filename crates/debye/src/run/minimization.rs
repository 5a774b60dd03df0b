//! The minimization before the first step.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::pace::{Closing, Pace, is_over};
use super::{GLANCE, Progress, RunError, RunOptions};
use crate::engines::Engine;
use crate::simulation::Minimize;

/// Minimizes, and says in a sentence how it went.
pub(super) fn minimize(
    engine: &mut dyn Engine,
    plan: &Minimize,
    options: &mut RunOptions,
) -> Result<String, RunError> {
    let (stop, deadline) = (options.stop, options.deadline);
    let (mut glance, mut since, mut pace) = (Instant::now(), 0, Pace::default());
    let (mut stopped, mut over) = (false, false);
    let done = engine.minimize(plan.descent(), &mut |step| {
        stopped = stop.is_some_and(|flag| flag.load(Ordering::Relaxed));
        let seconds = glance.elapsed().as_secs_f64();
        if seconds > GLANCE {
            if let Some(report) = &mut options.progress {
                let steps_per_second = pace.add(step - since, seconds);
                report(Progress {
                    step,
                    steps: plan.max_steps,
                    steps_per_second,
                });
            }
            over = is_over(deadline, Closing::default().room(seconds, 0));
            (glance, since) = (Instant::now(), step);
        }
        !(stopped || over)
    })?;
    if stopped {
        return Err(RunError::StoppedEarly);
    }
    if over {
        return Err(RunError::NoTime);
    }
    let how = if done.converged {
        "converged"
    } else {
        "stopped without reaching the tolerance"
    };
    Ok(format!(
        "minimization {how} after {} steps: energy {:.6} → {:.6}, largest force {:.3e}",
        done.steps, done.energy[0], done.energy[1], done.largest_force
    ))
}
