//! [`Shots`]: snapshots that the kernel of a small system takes on its way.
//!
//! To end the kernel and begin it again takes as long as several steps. So the host waits until it knows the steps of
//! several snapshots, and tells them with one launch. The kernel puts the snapshots side by side; a copy beside the next
//! launch brings them to the host.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::super::count::{PairCounting, Several, Slots};
use super::super::frame::Frame;
use super::super::resident::Sums;
use super::super::rules::ScalingThermostat;
use super::super::snapshot::Snapshot;
use super::super::terms::Terms;
use super::kernels::{
    DUE_BITS, DUE_ENERGIES, DUE_PLACES, DUE_SUMS, MOST_DUE, SmallShot, SmallShots, evaluating_blocks,
    low_words_of_half, velocity_words,
};
use super::shape::WARP;
use super::snapshot::{Copied, ParticlePlaces};
use super::{EVALUATE, STEPS, Small, SmallControl, Variant};
use crate::engines::{EngineError, Precision, Wanted};
use debye_gpu::primitives::{Collected, Place, Turns};
use debye_gpu::{Binder, Buffer, ConstAddress, CudaError, Device, Element, Shape};

/// The snapshots of a launch take no more bytes than this, unless one does.
const MOST_BYTES: usize = 8 << 20;
/// Parts of a snapshot begin at multiples of this.
const ALIGNMENT: usize = 16;

/// Where the parts of a snapshot lie, in bytes from its beginning.
#[derive(Clone, Copy, Debug)]
struct Form {
    parts: SmallShots,
    /// Numbers of the sums of blocks.
    sums: usize,
    /// Words of lower halves and of velocities.
    low: usize,
    velocities: usize,
    particles: usize,
    thermostats: usize,
    /// Counts of pairs by distance, and where they begin.
    counts: usize,
    counts_at: u32,
    /// Bytes of one without particles, with places, and with velocities too.
    bytes: [usize; 3],
}

impl Form {
    fn new(variant: &Variant, terms: &Terms, thermostats: usize, counts: usize) -> Self {
        let particles = terms.kind_of.len();
        let sums = evaluating_blocks(particles, &variant.form) * variant.columns(terms);
        let (low, velocities) = (low_words_of_half(variant, terms), velocity_words(terms));
        let mut end = size_of::<SmallShot>();
        let mut place = |bytes: usize| {
            let at = end.next_multiple_of(ALIGNMENT);
            end = at + bytes;
            at
        };
        let frame = place(size_of::<Frame>());
        let of_thermostats = place(size_of::<ScalingThermostat>() * thermostats);
        let of_sums = place(8 * sums);
        let of_counts = place(8 * counts);
        let pos = place(16 * particles);
        let of_low = place(4 * low);
        let images = place(12 * particles);
        let of_velocities = place(4 * velocities);
        let forces = place(24 * particles);
        let at = |at: usize| at as u32;
        Self {
            parts: SmallShots {
                frame: at(frame),
                thermostats: at(of_thermostats),
                sums: at(of_sums),
                pos: at(pos),
                low: at(of_low),
                images: at(images),
                velocities: at(of_velocities),
                forces: at(forces),
                ..SmallShots::default()
            },
            sums,
            low,
            velocities,
            particles,
            thermostats,
            counts,
            counts_at: at(of_counts),
            bytes: [pos, of_velocities, end].map(|end| end.next_multiple_of(ALIGNMENT)),
        }
    }

    /// Bytes of a snapshot of which this is wanted.
    fn bytes(&self, wanted: Wanted) -> usize {
        let places = has_places(wanted);
        self.bytes[usize::from(places) + usize::from(places && wanted.velocities)]
    }
}

/// Whether a snapshot has places: pairs are counted in it too.
fn has_places(wanted: Wanted) -> bool {
    wanted.particles || wanted.counts != 0
}

/// Room for the snapshots of two launches, and those that wait for one.
pub(super) struct Shots {
    turns: Turns,
    /// Sums of warps, for the snapshots of one launch.
    sums: Buffer<f64>,
    form: Form,
    /// Most snapshots of a launch.
    most: usize,
    waiting: Vec<(u64, Wanted)>,
    /// Launches so far.
    launched: u64,
    /// Memory of the host that is not in use.
    spare: Arc<Mutex<Vec<Collected>>>,
}

/// The snapshots of a launch. Their memory is used again when they go.
pub(super) struct Batch {
    collected: Option<Collected>,
    number: u64,
    form: Form,
    stride: usize,
    spare: Arc<Mutex<Vec<Collected>>>,
}

fn lock(spare: &Mutex<Vec<Collected>>) -> MutexGuard<'_, Vec<Collected>> {
    spare.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Batch {
    fn drop(&mut self) {
        if let Some(collected) = self.collected.take() {
            lock(&self.spare).push(collected);
        }
    }
}

impl Batch {
    /// What was copied, waiting for it.
    pub(super) fn view<T: Element>(&self, place: Place<T>) -> Result<&[T], CudaError> {
        let collected = self.collected.as_ref();
        collected.map_or(Ok(&[]), |from| from.view(place))
    }

    fn has_arrived(&self) -> Result<bool, CudaError> {
        self.collected.as_ref().map_or(Ok(false), Collected::is_there)
    }

    fn first<T: Element>(&self, at: usize) -> Result<Option<T>, CudaError> {
        Ok(self.view(Place::new(at, 1))?.first().copied())
    }

    /// A part of a snapshot.
    fn place<T>(&self, number: usize, at: u32, length: usize) -> Place<T> {
        Place::new(HEAD + number * self.stride + at as usize, length)
    }

    /// Where the particles of a snapshot lie.
    fn particles(&self, number: usize, wanted: Wanted) -> ParticlePlaces {
        let (n, parts) = (self.form.particles, &self.form.parts);
        ParticlePlaces {
            pos: self.place(number, parts.pos, 4 * n),
            low: self.place(number, parts.low, self.form.low),
            images: self.place(number, parts.images, 3 * n),
            motion: wanted.velocities.then(|| {
                (
                    self.place(number, parts.velocities, self.form.velocities),
                    self.place(number, parts.forces, 3 * n),
                )
            }),
        }
    }
}

/// The words that steer, before all snapshots.
const HEAD: usize = size_of::<SmallControl>().next_multiple_of(ALIGNMENT);

/// A snapshot that was asked for.
pub(super) enum Ordered {
    /// Taken after a launch, by kernels of its own.
    After,
    /// To be taken by a launch that is yet to come.
    Waiting,
    /// Taken on the way: the launch, the number in it, how many it has, and what was wanted.
    OnTheWay(Arc<Batch>, [usize; 2], Wanted),
}

impl Ordered {
    /// Whether a launch takes it on its way.
    pub(super) fn is_on_the_way(&self) -> bool {
        !matches!(self, Self::After)
    }
}

impl Shots {
    /// `None` where they would take much of the memory that is left.
    pub(super) fn new(
        device: &Device,
        variant: &Variant,
        terms: &Terms,
        thermostats: usize,
        counts: usize,
    ) -> Result<Option<Self>, CudaError> {
        let form = Form::new(variant, terms, thermostats, counts);
        let most = (MOST_BYTES / form.bytes[2]).clamp(1, MOST_DUE);
        let Some(turns) = Turns::new(device, HEAD + most * form.bytes[2])? else {
            return Ok(None);
        };
        let together = (WARP / variant.form.lanes) as usize;
        let warps = terms.kind_of.len().div_ceil(together);
        Ok(Some(Self {
            turns,
            sums: device.allocate(most * warps * variant.columns(terms))?,
            form,
            most,
            waiting: Vec::new(),
            launched: 0,
            spare: Arc::default(),
        }))
    }

    /// What kernels see of them.
    pub(super) fn buffers(&self) -> (&Buffer<u64>, &Buffer<f64>) {
        (self.turns.memory(), &self.sums)
    }

    pub(super) fn bytes_on_device(&self) -> usize {
        size_of::<u64>() * self.turns.memory().len() + size_of::<f64>() * self.sums.len()
    }

    pub(super) fn most(&self) -> usize {
        self.most
    }

    pub(super) fn forget(&mut self) {
        self.waiting.clear();
    }
}

impl Small {
    /// Has a snapshot of a step taken on the way to it; false where it must be taken by itself.
    pub(super) fn queue_on_the_way(&mut self, step: u64, mut wanted: Wanted) -> Result<bool, EngineError> {
        if !self.has_shots()? {
            return Ok(false);
        }
        // The kernel takes one snapshot of a step.
        let waiting = self.shots.as_ref().and_then(|shots| shots.waiting.last());
        if step <= waiting.map_or(self.aimed, |&(last, _)| last) {
            self.launch_waiting()?;
            return Ok(false);
        }
        // Where nobody counts, or the cell may become too small for it, particles come in place of counts.
        wanted.particles |= wanted.counts != 0 && (self.counting.is_none() || self.variant.moving);
        if step - self.aimed > STEPS {
            self.launch_waiting()?;
            while self.aimed + STEPS < step {
                self.aimed += STEPS;
                self.queue_steps(self.aimed, false)?;
            }
        }
        let Some(shots) = &mut self.shots else {
            return Ok(false);
        };
        shots.waiting.push((step, wanted));
        self.ordered.push_back(Ordered::Waiting);
        if shots.waiting.len() >= shots.most || step - self.aimed >= STEPS {
            self.launch_waiting()?;
        }
        Ok(true)
    }

    /// Whether there is room for snapshots on the way; makes it where nobody asked before.
    fn has_shots(&mut self) -> Result<bool, EngineError> {
        if !self.shots_tried {
            self.shots_tried = true;
            let thermostats = usize::from(self.variant.split) * self.rules.thermostats.len();
            let counts = self.counting.as_ref().map_or(0, PairCounting::numbers);
            self.shots = Shots::new(&self.device, &self.variant, &self.terms, thermostats, counts)?;
            self.bind_several()?;
            self.world = self.arrays.world(self.shots.as_ref().map(Shots::buffers));
            self.set_needs();
        }
        Ok(self.shots.is_some())
    }

    /// Tells what counts pairs where snapshots on the way lie.
    fn bind_several(&mut self) -> Result<(), CudaError> {
        let (Some(shots), Some(counting)) = (&self.shots, &mut self.counting) else {
            return Ok(());
        };
        let (memory, form) = (shots.turns.memory(), &shots.form);
        let n = form.particles;
        let low_words = match (self.variant.fine(&self.terms), self.terms.precision) {
            (_, Precision::Single) => [0; 3],
            (true, _) => [0, 4, 1],
            (false, _) => [0, 1, n],
        };
        let place = |turn: usize| {
            let first = shots.turns.first(turn) + HEAD;
            let mut at = Binder::default();
            let low = match self.terms.precision {
                Precision::Single => ConstAddress::default(),
                _ => at.field(memory, first + form.parts.low as usize),
            };
            let slots = Slots {
                pos: at.field(memory, first + form.parts.pos as usize),
                parity: ConstAddress::default(),
                low,
                low_half: ConstAddress::default(),
                ids: ConstAddress::default(),
                side: ConstAddress::default(),
                blocks: ConstAddress::default(),
                frame: at.field(memory, first + form.parts.frame as usize),
                at,
                slots: n,
                block: 1,
                low_words,
            };
            (slots, memory, first + form.counts_at as usize)
        };
        counting.bind_several(&self.device, shots.most, [place(0), place(1)])?;
        self.needs.set("pairs by distance", counting.bytes());
        Ok(())
    }

    /// Queues the counting of pairs in the snapshots of a launch that want it.
    fn count_in(&self, shots: &Shots, waiting: &[(u64, Wanted)], stride: usize) -> Result<(), EngineError> {
        let Some(counting) = &self.counting else {
            return Ok(());
        };
        let wanting = waiting.iter().map(|(_, wanted)| wanted.counts).enumerate();
        let (mut those, mut which) = (0, 0);
        for (number, counts) in wanting.filter(|(_, counts)| *counts != 0) {
            those |= 1 << number;
            which |= counts;
        }
        let room = shots.turns.turn();
        let several = Several { room, those, stride };
        match those {
            0 => Ok(()),
            _ => counting.queue_several(&self.stream, several, which, &self.values.region),
        }
    }

    /// Launches the steps up to the last snapshot that waits.
    pub(super) fn launch_waiting(&mut self) -> Result<(), EngineError> {
        let Some(mut shots) = self.shots.take() else {
            return Ok(());
        };
        let launched = self.launch_shots(&mut shots);
        self.shots = Some(shots);
        launched
    }

    fn launch_shots(&mut self, shots: &mut Shots) -> Result<(), EngineError> {
        let waiting = std::mem::take(&mut shots.waiting);
        let Some(&(last, wanted)) = waiting.last() else {
            return Ok(());
        };
        shots.launched += 1;
        let stride = (waiting.iter())
            .map(|&(_, wanted)| shots.form.bytes(wanted))
            .max();
        let stride = stride.unwrap_or_default();
        let begin = shots.turns.begin(&self.stream)?;
        let mut due = [0; MOST_DUE];
        for (due, &(step, wanted)) in due.iter_mut().zip(&waiting) {
            let sums = if wanted.needs_forces() { DUE_SUMS } else { 0 };
            let places = if has_places(wanted) { DUE_PLACES } else { 0 };
            let energies = if wanted.observation { DUE_ENERGIES } else { 0 };
            *due = step << DUE_BITS | u64::from(sums | places | energies);
        }
        let at = SmallShots {
            first: (begin + HEAD) as u64,
            stride: stride as u64,
            control: begin as u64,
            batch: shots.launched,
            ..shots.form.parts
        };
        let setup = self.launch_steps(last, wanted.needs_forces(), due, at)?;
        let numbers = waiting.len() * shots.form.sums;
        let shape = Shape::covering(numbers.max(1), EVALUATE);
        self.kernels
            .shots
            .launch(&self.stream, shape, (&self.world, setup))?;
        self.launches += 1;
        self.count_in(shots, &waiting, stride)?;
        self.aimed = last;
        let spare = lock(&shots.spare).pop();
        let bytes = HEAD + waiting.len() * stride;
        let batch = Arc::new(Batch {
            collected: Some(shots.turns.queue(&self.stream, bytes, spare)?),
            number: shots.launched,
            form: shots.form,
            stride,
            spare: Arc::clone(&shots.spare),
        });
        let those = self.ordered.iter_mut().filter(|o| matches!(o, Ordered::Waiting));
        for (number, (ordered, &(_, wanted))) in those.zip(&waiting).enumerate() {
            *ordered = Ordered::OnTheWay(Arc::clone(&batch), [number, waiting.len()], wanted);
        }
        Ok(())
    }

    /// Whether the first snapshot that was asked for has arrived.
    pub(super) fn first_arrived(&self) -> Result<bool, CudaError> {
        match self.ordered.front() {
            Some(Ordered::OnTheWay(batch, ..)) => batch.has_arrived(),
            Some(Ordered::After) => self.snapshots.arrived(),
            Some(Ordered::Waiting) | None => Ok(false),
        }
    }

    /// A snapshot that was taken on the way; `None` where it was not.
    pub(super) fn read_shot(
        &mut self,
        step: u64,
        (batch, [number, all], wanted): (Arc<Batch>, [usize; 2], Wanted),
    ) -> Result<Option<Snapshot>, EngineError> {
        let head: Option<SmallShot> = batch.first(HEAD + number * batch.stride)?;
        if head.is_none_or(|head| head.step != step || head.batch != batch.number) {
            return Ok(None);
        }
        if number + 1 == all {
            self.last = batch.first(0)?.unwrap_or(self.last);
        }
        let parts = batch.form.parts;
        let mut region = self.values.region;
        if self.variant.moving
            && let Some(frame) = batch.view(batch.place::<Frame>(number, parts.frame, 1))?.first()
        {
            region = region.with_frame(frame);
        }
        let thermostats = batch.place(number, parts.thermostats, batch.form.thermostats);
        let sums = match wanted.needs_forces() {
            true => self.sums_of(batch.view(batch.place(number, parts.sums, batch.form.sums))?),
            false => Sums::default(),
        };
        let counts = match (&self.counting, wanted.counts) {
            (Some(counting), which @ 1..) => {
                let all = batch.view(batch.place(number, batch.form.counts_at, batch.form.counts))?;
                counting.read(all, which, &region)
            }
            _ => None,
        };
        Ok(Some(Snapshot {
            step,
            counts,
            sums,
            thermostats: batch.view(thermostats)?.to_vec(),
            cell: self.variant.moving.then_some(region.cell),
            particles: wanted.particles.then(|| {
                let at = batch.particles(number, wanted);
                self.copied(Copied::OnTheWay(batch), at, region)
            }),
        }))
    }
}
