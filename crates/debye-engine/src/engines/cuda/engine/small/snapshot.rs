//! Snapshots of a small system.

use std::mem::offset_of;
use std::sync::Arc;
use std::time::Instant;

use super::super::arrays::numbers;
use super::super::frame::{Frame, Region};
use super::super::resident::{Change, GROUP_SUMS, Sums, VIRIAL_SUMS};
use super::super::rules::ScalingThermostat;
use super::super::snapshot::{CopiedParticles, Snapshot, SnapshotPlan};
use super::super::state::part_of;
use super::super::terms::Kind;
use super::shots::{Batch, Ordered, Shots};
use super::{EVALUATE, STEPS, Small, SmallControl, kind_in};
use crate::engines::{EngineError, Precision, Wanted};
use crate::expr::Vec3;
use crate::system::Particles;
use debye_gpu::primitives::{Pieces, Place};
use debye_gpu::{CudaError, Element, Shape};

/// Where everything lies in what was copied.
pub(super) struct Places {
    control: Place<SmallControl>,
    frames: Place<Frame>,
    thermostats: Place<ScalingThermostat>,
    partial: Place<f64>,
    particles: Option<ParticlePlaces>,
    counts: Option<Place<u64>>,
}

/// Where particles lie.
#[derive(Clone, Copy)]
pub(super) struct ParticlePlaces {
    pub(super) pos: Place<u32>,
    pub(super) low: Place<u32>,
    pub(super) images: Place<i32>,
    /// Velocities, and the forces that they are half a kick behind.
    pub(super) motion: Option<(Place<u32>, Place<f64>)>,
}

type QueuedSnapshot = super::super::snapshot::QueuedSnapshot<Places>;

impl Small {
    /// What to copy for a snapshot.
    fn plan_snapshot(&self, wanted: Wanted) -> Result<SnapshotPlan<Places>, CudaError> {
        let mut pieces = Pieces::default();
        let (a, n) = (&self.arrays, self.particles_in());
        let parity = (&a.control, offset_of!(SmallControl, parity));
        let fine = self.variant.fine(&self.terms);
        let counting = self.counting.as_ref().filter(|_| wanted.counts != 0);
        let places = Places {
            control: pieces.add(a.control.all()),
            frames: pieces.add(a.frames.all()),
            thermostats: pieces.add(a.thermostats.all()),
            partial: pieces.add(a.partial.all()),
            particles: wanted.particles.then(|| ParticlePlaces {
                pos: pieces.add_which(&a.pos, 4 * n, parity),
                low: match fine {
                    true => pieces.add_which(&a.low, 4 * n, parity),
                    false => pieces.add(a.low.all()),
                },
                images: pieces.add(a.images.all()),
                motion: (wanted.velocities)
                    .then(|| (pieces.add(a.velocities.all()), pieces.add(a.forces.all()))),
            }),
            counts: counting.map(|counting| pieces.add(counting.counts())),
        };
        SnapshotPlan::new(&self.device, places, pieces)
    }

    /// Queues steps until the target, and a list if there must be one then to evaluate forces with.
    pub(super) fn queue_until(&mut self, target: u64, evaluates: bool) -> Result<(), EngineError> {
        while self.aimed + STEPS < target {
            self.aimed += STEPS;
            self.queue_steps(self.aimed, false)?;
        }
        self.aimed = target;
        self.queue_steps(target, evaluates)
    }

    /// Queues a snapshot of the configuration that the device will have come to, with forces and energies where it is to
    /// evaluate them.
    pub(super) fn queue_snapshot(&mut self, mut wanted: Wanted, evaluates: bool) -> Result<(), EngineError> {
        if evaluates {
            let n = self.particles_in();
            let setup = self.values.setup(n, self.capacity, &self.rules);
            let shape = Shape::covering(n * self.variant.form.lanes as usize, EVALUATE);
            self.kernels
                .evaluate
                .launch(&self.stream, shape, (&self.world, setup))?;
            self.launches += 1;
        }
        // Where nobody counts, or the cell may become too small for it, particles come in place of counts.
        let moving = self.variant.moving;
        wanted.particles |= wanted.counts != 0 && (self.counting.is_none() || moving);
        if let (true, Some(counting)) = (wanted.counts != 0, &mut self.counting) {
            counting.queue(&self.stream, wanted.counts, &self.values.region)?;
        }
        let plan = match self.snapshots.plan(wanted) {
            Some(plan) => plan,
            None => Arc::new(self.plan_snapshot(wanted)?),
        };
        self.snapshots.queue(&self.stream, wanted, evaluates, plan)?;
        self.set_needs();
        Ok(())
    }

    /// Says what snapshots take on the device.
    pub(super) fn set_needs(&mut self) {
        let shots = self.shots.as_ref().map_or(0, Shots::bytes_on_device);
        self.needs
            .set("snapshots", self.snapshots.bytes_on_device() + shots);
    }

    /// Sees what is there now, after a new list if there must be one.
    pub(super) fn snapshot(&mut self, wanted: Wanted) -> Result<Snapshot, EngineError> {
        loop {
            self.queue_steps(self.last.step, true)?;
            self.queue_snapshot(wanted, true)?;
            let Some(queued) = self.snapshots.pop_last() else {
                continue;
            };
            self.last = self.control_of(&queued)?;
            if self.last.stale == 0 {
                return self.read(queued);
            }
            self.check()?;
        }
    }

    /// The first snapshot that was queued, waiting for it; `None` where the device has not come to this step, or something
    /// went wrong.
    pub(super) fn next_snapshot(&mut self, step: u64) -> Result<Option<Snapshot>, EngineError> {
        let began = Instant::now();
        if let Some(Ordered::Waiting) = self.ordered.front() {
            self.launch_waiting()?;
        }
        if let Some(Ordered::OnTheWay(batch, number, wanted)) = self.ordered.pop_front() {
            let seen = self.read_shot(step, (batch, number, wanted))?;
            self.waited_seconds += began.elapsed().as_secs_f64();
            return Ok(seen);
        }
        let Some(queued) = self.snapshots.pop_first() else {
            return Ok(None);
        };
        let control = self.control_of(&queued)?;
        self.waited_seconds += began.elapsed().as_secs_f64();
        // Places are there without a list.
        let stale = if queued.evaluated { control.stale } else { 0 };
        let wrong = control.failed | control.cell_invalid | control.overflow | stale;
        if control.step != step || wrong != 0 {
            return Ok(None);
        }
        self.last = control;
        self.read(queued).map(Some)
    }

    fn control_of(&self, queued: &QueuedSnapshot) -> Result<SmallControl, CudaError> {
        let read = queued.read(queued.places().control)?;
        Ok(read.first().copied().unwrap_or(self.last))
    }

    /// What was copied when the control words were those of now.
    fn read(&mut self, queued: QueuedSnapshot) -> Result<Snapshot, EngineError> {
        let at = queued.places();
        let mut region = self.values.region;
        if let (true, Some(frame)) = (self.variant.moving, queued.read(at.frames)?.first()) {
            region = region.with_frame(frame);
        }
        let mut thermostats = queued.read(at.thermostats)?;
        thermostats.truncate(self.rules.thermostats.len());
        let sums = match queued.evaluated {
            true => self.sums_of(queued.view(at.partial)?),
            false => Sums::default(),
        };
        let counts = match (&self.counting, at.counts) {
            (Some(counting), Some(place)) => counting.read(&queued.read(place)?, queued.counts, &region),
            _ => None,
        };
        Ok(Snapshot {
            step: self.last.step,
            counts,
            sums,
            thermostats,
            cell: self.variant.moving.then_some(region.cell),
            particles: at
                .particles
                .map(|at| self.copied(Copied::After(queued), at, region)),
        })
    }

    /// Particles that were copied, in a region as it was then.
    pub(super) fn copied(
        &self,
        from: Copied,
        at: ParticlePlaces,
        region: Region,
    ) -> Box<dyn CopiedParticles> {
        Box::new(CopiedSmall {
            from,
            at,
            region,
            dt: self.values.dt,
            precision: self.terms.precision,
            fine: self.variant.fine(&self.terms),
            images: self.variant.images,
            kinds: Arc::clone(&self.terms.kinds),
        })
    }

    /// Sums of blocks, added in their order.
    pub(super) fn sums_of(&mut self, blocks: &[f64]) -> Sums {
        let mut sums = vec![0.0; self.variant.columns(&self.terms)];
        for block in blocks.chunks_exact(sums.len()) {
            sums.iter_mut().zip(block).for_each(|(sum, x)| *sum += x);
        }
        self.pairs = sums.pop().unwrap_or(0.0) as usize;
        let terms = self.terms.count + self.variant.bonded;
        let six = |first: usize| std::array::from_fn(|k| sums[first + k]);
        let group = |g: usize| {
            let first = terms + VIRIAL_SUMS + GROUP_SUMS * g;
            (six(first), std::array::from_fn(|k| sums[first + 6 + k]))
        };
        Sums {
            energies: sums[..terms].to_vec(),
            virial: six(terms),
            groups: (0..self.variant.groups).map(group).collect(),
            ..Sums::default()
        }
    }
}

/// What was copied, after a launch or on its way.
pub(super) enum Copied {
    After(QueuedSnapshot),
    OnTheWay(Arc<Batch>),
}

impl Copied {
    fn view<T: Element>(&self, place: Place<T>) -> Result<&[T], CudaError> {
        match self {
            Self::After(queued) => queued.view(place),
            Self::OnTheWay(batch) => batch.view(place),
        }
    }
}

/// Everything that particles are made of, in memory of the host.
struct CopiedSmall {
    from: Copied,
    at: ParticlePlaces,
    region: Region,
    dt: f64,
    precision: Precision,
    /// Whether lower halves lie as upper ones do.
    fine: bool,
    /// Whether images are told apart.
    images: bool,
    kinds: Arc<[Kind]>,
}

impl CopiedParticles for CopiedSmall {
    fn fill(&self, out: &mut Particles, change: &[Change]) -> Result<(), EngineError> {
        let (from, at, n) = (&self.from, &self.at, out.len());
        let (pos, low, images) = (from.view(at.pos)?, from.view(at.low)?, from.view(at.images)?);
        let lower = |i: usize, k: usize| match self.precision {
            Precision::Single => 0,
            _ if self.fine => low[4 * i + k],
            _ => low[k * n + i],
        };
        out.images.resize(n, [0; 3]);
        for i in 0..n {
            let fractions = std::array::from_fn(|k| part_of(pos[4 * i + k], lower(i, k)));
            out.positions[i] = self.region.position(fractions);
            out.images[i] = std::array::from_fn(|k| images[k * n + i]);
        }
        let Some((velocities, forces)) = at.motion else {
            out.velocities.clear();
            return Ok(());
        };
        let velocities = numbers(from.view(velocities)?, self.precision != Precision::Single);
        let forces = from.view(forces)?;
        out.velocities.resize(n, Vec3::zero());
        for i in 0..n {
            let kind = &self.kinds[kind_in(pos[4 * i + 3], self.images)];
            let (factor, shift) = change[kind.group as usize];
            out.velocities[i] = Vec3::from(std::array::from_fn(|k| {
                let at = k * n + i;
                (velocities[at] + 0.5 * self.dt * kind.inverse_mass * forces[at]) * factor - shift[k]
            }));
        }
        Ok(())
    }
}
