//! What the host sees of a moment, and moments that are still to come.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::resident::{Change, Sums};
use super::rules::ScalingThermostat;
use super::skeleton::Skeleton;
use crate::engines::{EngineError, PairCounts, Wanted};
use crate::system::{Cell, Particles};
use debye_gpu::primitives::{Collected, Collection, Pieces, Place};
use debye_gpu::{CudaError, Device, Element, Stream};

/// What the host sees of a moment.
pub(super) struct Look {
    pub(super) step: u64,
    pub(super) sums: Sums,
    /// Those that scale velocities.
    pub(super) thermostats: Vec<ScalingThermostat>,
    /// Where it changes.
    pub(super) cell: Option<Cell>,
    /// Where they were asked for.
    pub(super) taken: Option<Box<dyn Taken>>,
    /// Where they were asked for, unless the cell is too small; then particles were taken.
    pub(super) counts: Option<PairCounts>,
}

/// Particles as a device had them, to be put in order by any thread while the device goes on.
pub(super) trait Taken: Send {
    /// The particles in the order of the input. `change` is what had yet to happen to the velocities of every group.
    fn particles(&self, like: &Particles, change: &[Change]) -> Result<Particles, EngineError>;
}

/// Moments that may be on their way before the host waits for the first, and the graphs of those behind it: if it is not
/// reached, these do nothing, which takes its time too.
const AHEAD: usize = 4;
const GRAPHS_AHEAD: u64 = 24;

/// Looks at steps that the device has yet to come to, in their order.
///
/// Each looks at the step it was asked for or at none: the device stops at that step until all that was queued for it is
/// done, and if that was not enough, or something did not fit, what follows does nothing. Then the host does these steps
/// and waits, and queues what follows again.
#[derive(Default)]
pub(super) struct Pipeline {
    queued: VecDeque<Queued>,
}

#[derive(Clone, Copy)]
struct Queued {
    step: u64,
    wanted: Wanted,
    /// Graphs that were queued for it.
    graphs: u64,
}

impl Pipeline {
    /// Whether nothing is on its way.
    pub(super) fn is_empty(&self) -> bool {
        self.queued.is_empty()
    }

    /// Queues the steps up to this one, and a look at it.
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

    /// The first look that was queued, when it has come; waits for it if there are too many, or if told to.
    pub(super) fn next(
        &mut self,
        skeleton: &mut dyn Skeleton,
        wait: bool,
    ) -> Result<Option<Look>, EngineError> {
        let behind: u64 = self.queued.iter().skip(1).map(|queued| queued.graphs).sum();
        let waits = wait || self.queued.len() > AHEAD || behind > GRAPHS_AHEAD;
        if self.queued.is_empty() || !waits && !skeleton.has_looked()? {
            return Ok(None);
        }
        let Some(Queued { step, wanted, .. }) = self.queued.pop_front() else {
            return Ok(None);
        };
        if let Some(look) = skeleton.looked(step)? {
            return Ok(Some(look));
        }
        skeleton.forget_looks()?;
        let rest = std::mem::take(&mut self.queued);
        skeleton.advance(step)?;
        let look = skeleton.look(wanted)?;
        for queued in rest {
            self.queue(skeleton, queued.step, queued.wanted)?;
        }
        Ok(Some(look))
    }
}

/// What a look copies, where each part of it lies, and memory of the host for it.
pub(super) struct Way<P> {
    pub(super) places: P,
    collection: Collection,
    /// Memory that is not in use.
    spare: Mutex<Vec<Collected>>,
}

impl<P> Way<P> {
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

/// A look that was queued. Its memory is used again when it goes.
pub(super) struct Glimpse<P> {
    way: Arc<Way<P>>,
    collected: Option<Collected>,
    /// Which pairs were counted.
    pub(super) counts: u32,
}

impl<P> Drop for Glimpse<P> {
    fn drop(&mut self) {
        if let Some(collected) = self.collected.take() {
            self.way.spare().push(collected);
        }
    }
}

impl<P> Glimpse<P> {
    /// Where everything lies.
    pub(super) fn places(&self) -> &P {
        &self.way.places
    }

    /// What was copied, waiting for it.
    pub(super) fn read<T: Element>(&self, place: Place<T>) -> Result<Vec<T>, CudaError> {
        let collected = self.collected.as_ref();
        collected.map_or(Ok(Vec::new()), |from| from.read(place))
    }
}

/// Looks on their way, and how to look without and with particles, and without and with counts.
pub(super) struct Looks<P> {
    ways: [[Option<Arc<Way<P>>>; 2]; 2],
    queued: VecDeque<Glimpse<P>>,
}

impl<P> Default for Looks<P> {
    fn default() -> Self {
        Self {
            ways: Default::default(),
            queued: VecDeque::new(),
        }
    }
}

impl<P> Looks<P> {
    /// The way to look, if it is known.
    pub(super) fn way(&self, wanted: Wanted) -> Option<Arc<Way<P>>> {
        self.ways[usize::from(wanted.counts != 0)][usize::from(wanted.particles)].clone()
    }

    /// Queues copies of what is there when the device comes to it.
    pub(super) fn queue(
        &mut self,
        stream: &Stream,
        wanted: Wanted,
        way: Arc<Way<P>>,
    ) -> Result<(), CudaError> {
        let spare = way.spare().pop();
        let collected = Some(way.collection.queue(stream, spare)?);
        let known = &mut self.ways[usize::from(wanted.counts != 0)][usize::from(wanted.particles)];
        *known = Some(Arc::clone(&way));
        self.queued.push_back(Glimpse {
            way,
            collected,
            counts: wanted.counts,
        });
        Ok(())
    }

    /// Whether none is on its way.
    pub(super) fn is_empty(&self) -> bool {
        self.queued.is_empty()
    }

    /// Whether the first has come.
    pub(super) fn has_come(&self) -> Result<bool, CudaError> {
        let first = self.queued.front().and_then(|look| look.collected.as_ref());
        first.map_or(Ok(false), Collected::is_there)
    }

    /// The first that was queued.
    pub(super) fn first(&mut self) -> Option<Glimpse<P>> {
        self.queued.pop_front()
    }

    /// The last that was queued.
    pub(super) fn last(&mut self) -> Option<Glimpse<P>> {
        self.queued.pop_back()
    }

    /// Gives up all of them.
    pub(super) fn forget(&mut self) {
        self.queued.clear();
    }
}
