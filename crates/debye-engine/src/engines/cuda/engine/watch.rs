//! [`Watch`]: what the host queues and how long it waits; on request, the time of every kernel.

use std::cell::{Cell, RefCell};
use std::time::Instant;

use crate::engines::{KernelUse, Profile};
use debye_gpu::{CudaError, Event, Graph, Stream};

/// Sizes of what kernels work on, from the layout and the list that was made last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sizes {
    /// Slots of the blocks in use.
    pub(super) slots: f64,
    /// Blocks in use.
    pub(super) blocks: f64,
    /// Slots there is room for.
    pub(super) room: f64,
    /// Places of all stages.
    pub(super) staged: f64,
    /// Bytes of all lists.
    pub(super) listed: f64,
    /// Bytes of a particle's lower halves and velocity.
    pub(super) moving: f64,
    /// Columns.
    pub(super) columns: f64,
    /// Buckets of the sort.
    pub(super) buckets: f64,
    /// Bytes of a mesh of charges.
    pub(super) mesh: f64,
}

/// Bytes that a kernel must read and write at least: each array once, however often caches are asked.
pub(super) type Bytes = fn(&Sizes) -> f64;

/// Steps whose kernels are timed, one queue of them at a time.
pub(super) const AT_ONCE: u64 = 16;

/// A graph, and how many kernels are in it.
pub(super) struct Counted {
    pub(super) graph: Graph,
    pub(super) launches: u64,
}

/// A launch between two events.
struct Entry {
    name: String,
    bytes: Bytes,
    from: Event,
    to: Event,
}

/// What was queued since the host last waited.
#[derive(Default)]
struct Queue {
    entries: Vec<Entry>,
    /// Where each step begins; what comes before the first is the making of a list.
    steps: Vec<usize>,
}

/// Counts and times of a simulation.
#[derive(Default)]
pub(super) struct Watch {
    launches: Cell<u64>,
    queue: RefCell<Option<Queue>>,
    /// First and last step to be timed.
    span: Option<(u64, u64)>,
    pub(super) profile: Option<Profile>,
    pub(super) replays: u64,
    pub(super) host_seconds: f64,
    pub(super) waited_seconds: f64,
}

impl Watch {
    /// Asks for the times of the kernels of some steps.
    pub(super) fn ask(&mut self, from: u64, steps: u64, bandwidth: Option<f64>) {
        self.span = Some((from, from + steps));
        self.profile = Some(Profile {
            bandwidth,
            ..Profile::default()
        });
    }

    /// Which steps are to be timed.
    pub(super) fn span(&self) -> (u64, u64) {
        self.span.unwrap_or((u64::MAX, u64::MAX))
    }

    pub(super) fn launches(&self) -> u64 {
        self.launches.get()
    }

    /// Queues kernels, between events where they are timed.
    pub(super) fn around(
        &self,
        stream: &Stream,
        name: &str,
        kernels: u64,
        bytes: Bytes,
        work: impl FnOnce() -> Result<(), CudaError>,
    ) -> Result<(), CudaError> {
        self.launches.set(self.launches.get() + kernels);
        let mut queue = self.queue.borrow_mut();
        let Some(queue) = queue.as_mut() else {
            return work();
        };
        let from = stream.event()?;
        work()?;
        let to = stream.event()?;
        let name = name.strip_prefix("debye_").unwrap_or(name).to_owned();
        queue.entries.push(Entry {
            name,
            bytes,
            from,
            to,
        });
        Ok(())
    }

    /// Begins a graph: what is queued now is not launched. Gives what [`Watch::recorded`] takes.
    pub(super) fn recording(&self) -> u64 {
        self.launches.get()
    }

    /// The kernels recorded since, which count when they are replayed.
    pub(super) fn recorded(&self, before: u64) -> u64 {
        self.launches.replace(before) - before
    }

    /// Queues a graph.
    pub(super) fn replay(&mut self, stream: &Stream, counted: &Counted) -> Result<(), CudaError> {
        self.replays += 1;
        self.launches.set(self.launches.get() + counted.launches);
        stream.replay(&counted.graph)
    }

    /// Adds the time since `began` to that of the host's waiting.
    pub(super) fn waited(&mut self, began: Instant) {
        self.waited_seconds += began.elapsed().as_secs_f64();
    }

    /// Times what is queued from now on.
    pub(super) fn begin(&self) {
        self.queue.replace(Some(Queue::default()));
    }

    /// Whether kernels are timed one by one.
    pub(super) fn timing(&self) -> bool {
        self.queue.borrow().is_some()
    }

    /// A step begins.
    pub(super) fn step(&self) {
        if let Some(queue) = self.queue.borrow_mut().as_mut() {
            queue.steps.push(queue.entries.len());
        }
    }

    /// Adds up what was timed. Only the first `done` steps did something, and the list was made or not.
    pub(super) fn end(&mut self, done: u64, made: bool, sizes: &Sizes) -> Result<(), CudaError> {
        let Some(Queue { entries, steps }) = self.queue.take() else {
            return Ok(());
        };
        let Some(profile) = self.profile.as_mut() else {
            return Ok(());
        };
        profile.steps += done;
        let first = steps.first().copied().unwrap_or(entries.len());
        let last = steps.get(done as usize).copied().unwrap_or(entries.len());
        for (place, entry) in entries.iter().enumerate() {
            let worked = if place < first { made } else { place < last };
            if !worked {
                continue;
            }
            let seconds = entry.from.seconds_until(&entry.to)?;
            let known = profile.kernels.iter().position(|k| k.name == entry.name);
            let place = known.unwrap_or_else(|| {
                profile.kernels.push(KernelUse {
                    name: entry.name.clone(),
                    ..KernelUse::default()
                });
                profile.kernels.len() - 1
            });
            let kernel = &mut profile.kernels[place];
            kernel.launches += 1;
            kernel.seconds += seconds;
            kernel.bytes += (entry.bytes)(sizes);
        }
        Ok(())
    }
}
