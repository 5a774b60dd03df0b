//! Snapshots of the state on the device, and those still in flight.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::resident::{Change, Sums};
use super::rules::ScalingThermostat;
use super::skeleton::Skeleton;
use crate::engines::{EngineError, PairCounts, Wanted};
use crate::system::{Cell, Particles};
use debye_gpu::primitives::{Collected, Collection, Pieces, Place};
use debye_gpu::{CudaError, Device, Element, Stream};

/// What the host sees of one step.
pub(super) struct Snapshot {
    pub(super) step: u64,
    /// Nothing where neither an observation nor velocities were asked for.
    pub(super) sums: Sums,
    /// Those that scale velocities.
    pub(super) thermostats: Vec<ScalingThermostat>,
    /// Where it changes.
    pub(super) cell: Option<Cell>,
    /// Where they were asked for.
    pub(super) particles: Option<Box<dyn CopiedParticles>>,
    /// Where they were asked for, unless the cell is too small; then particles were copied.
    pub(super) counts: Option<PairCounts>,
}

/// Particles as a device had them, to be put in order by any thread while the device goes on.
pub(super) trait CopiedParticles: Send {
    /// Puts them into particles of the same system. `change` is what had yet to happen to the velocities of every group.
    fn fill(&self, out: &mut Particles, change: &[Change]) -> Result<(), EngineError>;
}

/// Moments that may be on their way before the host waits for the first, and the graphs of those behind it: if it is not
/// reached, these do nothing, which takes its time too.
pub(super) const AHEAD: usize = 4;
const GRAPHS_AHEAD: u64 = 24;

/// Snapshots at steps that the device has yet to come to, in their order.
///
/// Each is of the step it was asked for or of none: a large system stops at that step until all that was queued
/// for it is done, and if that was not enough, or something did not fit, what follows does nothing. Then the
/// host does these steps and waits, and queues what follows again.
#[derive(Default)]
pub(super) struct Pipeline {
    queued: VecDeque<Queued>,
}

#[derive(Clone, Copy)]
struct Queued {
    step: u64,
    wanted: Wanted,
    /// Graphs that surely have steps to do for it.
    graphs: u64,
}

impl Pipeline {
    /// Whether nothing is on its way.
    pub(super) fn is_empty(&self) -> bool {
        self.queued.is_empty()
    }

    /// Queues the steps up to this one, and a snapshot of it.
    pub(super) fn queue(
        &mut self,
        skeleton: &mut dyn Skeleton,
        step: u64,
        wanted: Wanted,
    ) -> Result<(), EngineError> {
        let graphs = skeleton.queue(step, wanted)?;
        self.queued.push_back(Queued { step, wanted, graphs });
        Ok(())
    }

    /// The first snapshot that was queued, when it has arrived; waits for it if there are too many, or if told to.
    pub(super) fn next(
        &mut self,
        skeleton: &mut dyn Skeleton,
        wait: bool,
    ) -> Result<Option<Snapshot>, EngineError> {
        let behind: u64 = self.queued.iter().skip(1).map(|queued| queued.graphs).sum();
        let waits = wait || self.queued.len() > skeleton.most_ahead() || behind > GRAPHS_AHEAD;
        if self.queued.is_empty() || !waits && !skeleton.snapshot_arrived()? {
            return Ok(None);
        }
        let Some(Queued { step, wanted, .. }) = self.queued.pop_front() else {
            return Ok(None);
        };
        if let Some(snapshot) = skeleton.next_snapshot(step)? {
            return Ok(Some(snapshot));
        }
        skeleton.discard_snapshots()?;
        let rest = std::mem::take(&mut self.queued);
        skeleton.advance(step)?;
        let snapshot = skeleton.snapshot(wanted)?;
        for queued in rest {
            self.queue(skeleton, queued.step, queued.wanted)?;
        }
        Ok(Some(snapshot))
    }
}

/// What a snapshot copies, where each part of it lies, and memory of the host for it.
pub(super) struct SnapshotPlan<P> {
    pub(super) places: P,
    collection: Collection,
    /// Memory that is not in use.
    spare: Mutex<Vec<Collected>>,
}

impl<P> SnapshotPlan<P> {
    pub(super) fn new(device: &Device, places: P, pieces: Pieces) -> Result<Self, CudaError> {
        Ok(Self {
            places,
            collection: pieces.collection(device)?,
            spare: Mutex::default(),
        })
    }

    fn spare(&self) -> MutexGuard<'_, Vec<Collected>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A snapshot that was queued. Its memory is used again when it goes.
pub(super) struct QueuedSnapshot<P> {
    plan: Arc<SnapshotPlan<P>>,
    collected: Option<Collected>,
    /// Which pairs were counted.
    pub(super) counts: u32,
    /// Whether forces and energies were found.
    pub(super) evaluated: bool,
}

impl<P> Drop for QueuedSnapshot<P> {
    fn drop(&mut self) {
        if let Some(collected) = self.collected.take() {
            self.plan.spare().push(collected);
        }
    }
}

impl<P> QueuedSnapshot<P> {
    /// Where everything lies.
    pub(super) fn places(&self) -> &P {
        &self.plan.places
    }

    /// What was copied, waiting for it.
    pub(super) fn read<T: Element>(&self, place: Place<T>) -> Result<Vec<T>, CudaError> {
        let collected = self.collected.as_ref();
        collected.map_or(Ok(Vec::new()), |from| from.read(place))
    }

    /// The same where it lies.
    pub(super) fn view<T: Element>(&self, place: Place<T>) -> Result<&[T], CudaError> {
        let collected = self.collected.as_ref();
        collected.map_or(Ok(&[]), |from| from.view(place))
    }
}

/// Snapshots on their way, and the plans of those without particles, with their places, and with their velocities too;
/// without and with counts.
pub(super) struct Snapshots<P> {
    plans: [[Option<Arc<SnapshotPlan<P>>>; 2]; 3],
    queued: VecDeque<QueuedSnapshot<P>>,
}

impl<P> Default for Snapshots<P> {
    fn default() -> Self {
        Self {
            plans: Default::default(),
            queued: VecDeque::new(),
        }
    }
}

impl<P> Snapshots<P> {
    /// The plan, if it is known.
    pub(super) fn plan(&self, wanted: Wanted) -> Option<Arc<SnapshotPlan<P>>> {
        let (particles, counts) = Self::kind(wanted);
        self.plans[particles][counts].clone()
    }

    fn kind(wanted: Wanted) -> (usize, usize) {
        let particles = usize::from(wanted.particles) + usize::from(wanted.particles && wanted.velocities);
        (particles, usize::from(wanted.counts != 0))
    }

    /// Bytes of the device that the plans take.
    pub(super) fn bytes_on_device(&self) -> usize {
        let plans = self.plans.iter().flatten().flatten();
        plans.map(|plan| plan.collection.bytes_on_device()).sum()
    }

    /// Queues copies of what is there when the device comes to it.
    pub(super) fn queue(
        &mut self,
        stream: &Stream,
        wanted: Wanted,
        evaluated: bool,
        plan: Arc<SnapshotPlan<P>>,
    ) -> Result<(), CudaError> {
        let spare = plan.spare().pop();
        let collected = Some(plan.collection.queue(stream, spare)?);
        let (particles, counts) = Self::kind(wanted);
        self.plans[particles][counts] = Some(Arc::clone(&plan));
        self.queued.push_back(QueuedSnapshot {
            plan,
            collected,
            counts: wanted.counts,
            evaluated,
        });
        Ok(())
    }

    /// Whether none is on its way.
    pub(super) fn is_empty(&self) -> bool {
        self.queued.is_empty()
    }

    /// Whether the first has arrived.
    pub(super) fn arrived(&self) -> Result<bool, CudaError> {
        let first = self
            .queued
            .front()
            .and_then(|snapshot| snapshot.collected.as_ref());
        first.map_or(Ok(false), Collected::is_there)
    }

    /// The first that was queued.
    pub(super) fn pop_first(&mut self) -> Option<QueuedSnapshot<P>> {
        self.queued.pop_front()
    }

    /// The last that was queued.
    pub(super) fn pop_last(&mut self) -> Option<QueuedSnapshot<P>> {
        self.queued.pop_back()
    }

    /// Gives up all of them.
    pub(super) fn forget(&mut self) {
        self.queued.clear();
    }
}
