//! [`RunOptions`]: how to run, apart from what.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use crate::simulation::Existing;
use debye_gpu::Device;

/// How to run, apart from what.
#[derive(Default)]
pub struct RunOptions<'a> {
    /// Threads; `None` for all cores.
    pub threads: Option<usize>,
    /// What to do with an output folder that is there already.
    pub existing: Existing,
    /// A CUDA device that is open already, in place of the one that the simulation names.
    pub device: Option<&'a Device>,
    /// Steps to time every kernel of, where the run computes on a CUDA device.
    pub profile: Option<u64>,
    /// Set from outside to stop soon, with everything written.
    pub stop: Option<&'a AtomicBool>,
    /// Set from outside to have a checkpoint written soon; it is unset when that is done.
    pub save: Option<&'a AtomicBool>,
    /// The run stops early enough that everything is written by then.
    pub deadline: Option<Instant>,
    /// Told now and then how far the run is.
    pub progress: Option<&'a mut (dyn FnMut(Progress) + Send)>,
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Steps done.
    pub step: u64,
    /// Steps to do.
    pub steps: u64,
    /// Steps per second, a moving average over the last ten seconds.
    pub steps_per_second: f64,
}
