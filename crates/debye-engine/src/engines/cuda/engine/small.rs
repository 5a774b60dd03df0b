//! [`Small`]: a small system in device memory. One kernel that stays on the device does many steps in a launch.

mod kernels;
mod shape;
mod shots;
mod snapshot;
mod transfer;

use std::collections::VecDeque;
use std::mem::offset_of;
use std::time::Instant;

use crate::engines::{DeviceUse, EngineError, Needs, PairHistogram, Precision, Wanted};
use crate::expr::Vec3;
use crate::forces::ForceField;
use crate::system::{Cell, Particles, System};
use debye_gpu::primitives::Collection;
use debye_gpu::{Binder, Bundle, ConstAddress, Device, Shape, Stream};
use debye_io::codec::{CodecError, Reader, Writer};

use super::bonded::LinkTables;
use super::choice::{Choice, MOST};
use super::count::{PairCounting, Slots};
use super::frame::Frame;
use super::rules::{Rules, ScalingThermostat};
use super::save;
use super::skeleton::Skeleton;
use super::snapshot::{AHEAD, Snapshot, Snapshots};
use super::state::State;
use super::terms::Terms;
use super::unsupported;
use kernels::{Arrays, Extents, Kernels};
pub(super) use kernels::{
    DUE_BITS, DUE_ENERGIES, DUE_PLACES, DUE_SUMS, EVALUATE, MOST_DUE, SmallControl, SmallSetup, SmallShot,
    SmallShots, SmallValues, SmallWorld, Variant,
};
use shots::{Ordered, Shots};
use snapshot::Places;
use transfer::kind_in;

/// Steps of a launch.
const STEPS: u64 = 2000;
/// Where a position counts images, after the kind of particle, and an entry of a list names one, after the particle.
pub(super) const IMAGE_BITS: u32 = 5;
pub(super) const IMAGE_X: u32 = 16;
pub(super) const IMAGE_Y: u32 = IMAGE_X + IMAGE_BITS;
pub(super) const IMAGE_Z: u32 = IMAGE_Y + IMAGE_BITS;
/// The most images on one side; entries have [`IMAGE_BITS`] for them.
pub(super) const MOST_IMAGES: i32 = 12;

/// A small simulation in device memory.
pub(super) struct Small {
    device: Device,
    stream: Stream,
    terms: Terms,
    values: SmallValues,
    rules: Rules,
    links: Option<LinkTables>,
    variant: Variant,
    /// Room for entries in the list of a particle.
    capacity: u32,
    kernels: Kernels,
    arrays: Arrays,
    world: Bundle<SmallWorld>,
    last: SmallControl,
    snapshots: Snapshots<Places>,
    counting: Option<PairCounting>,
    /// Snapshots on the way, if there is room for them and anybody asked.
    shots: Option<Shots>,
    shots_tried: bool,
    /// Snapshots that were asked for, in their order.
    ordered: VecDeque<Ordered>,
    /// The step that all that is queued leads to.
    aimed: u64,
    pairs: usize,
    /// Where the blocks of the next launch meet: by turns.
    turn: u32,
    needs: Needs,
    launches: u64,
    host_seconds: f64,
    waited_seconds: f64,
}

/// What is compiled for a system.
pub(super) fn variant(
    device_multiprocessors: u32,
    system: &System,
    values: &SmallValues,
    rules: &Rules,
    links: Option<&LinkTables>,
    choice: &Choice,
) -> Variant {
    let n = system.particles.len();
    let lanes = choice.lanes.unwrap_or_else(|| shape::lanes(n));
    let moving = rules.scale_every > 0;
    Variant {
        form: shape::shape(n, device_multiprocessors, lanes, choice.threads),
        // A cell that changes may become a short one.
        images: values.images() || moving,
        triclinic: !values.region.cell.is_orthorhombic(),
        exclusions: !system.exclusions.partners.is_empty(),
        staged: choice.staged.unwrap_or(true),
        cached: choice.cached.unwrap_or(true),
        split: rules.split(),
        groups: rules.groups(),
        moving,
        bonded: links.map_or(0, |links| links.names.len()),
    }
}

/// Entries of a list to begin with, a third more than a homogeneous system has.
fn first_capacity(particles: usize, values: &SmallValues) -> u32 {
    let sphere = 4.0 / 3.0 * std::f64::consts::PI * values.radius.powi(3);
    let mean = particles as f64 * sphere / values.region.volume();
    let guess = 1.33 * mean + 24.0;
    if values.images() {
        guess as u32
    } else {
        guess.min(particles as f64) as u32
    }
}

/// Whether the kernel of small systems can do this.
pub(super) fn supports(system: &System, field: &ForceField) -> bool {
    system.cell.periodic() == [true; 3]
        && system.constraints.is_empty()
        && system.particles.orientations.is_empty()
        && field.oriented.is_empty()
        && field.electrostatics.is_none()
}

/// The device memory it will take.
pub(super) fn needs(
    device: &Device,
    system: &System,
    terms: &Terms,
    values: &SmallValues,
    rules: &Rules,
    links: Option<&LinkTables>,
    choice: &Choice,
) -> Needs {
    let variant = variant(
        device.info().multiprocessors,
        system,
        values,
        rules,
        links,
        choice,
    );
    let capacity = capacity(system, values, choice);
    kernels::needs(Extents {
        variant: &variant,
        terms,
        links,
        excluded: excluded(system),
        capacity,
    })
}

/// Partners that are left out. Kernels take no empty arrays.
fn excluded(system: &System) -> [&[u32]; 2] {
    let excluded = [&system.exclusions.start[..], &system.exclusions.partners[..]];
    excluded.map(|part| if part.is_empty() { &[0][..] } else { part })
}

fn capacity(system: &System, values: &SmallValues, choice: &Choice) -> u32 {
    let by_rule = || first_capacity(system.particles.len(), values);
    choice.capacity.unwrap_or_else(by_rule).max(1)
}

impl Small {
    pub(super) fn new(
        device: &Device,
        system: &System,
        terms: Terms,
        values: SmallValues,
        rules: Rules,
        links: Option<LinkTables>,
        choice: &Choice,
    ) -> Result<Self, EngineError> {
        if values.images() && values.reach().into_iter().max() > Some(MOST_IMAGES) {
            return Err(unsupported(format!(
                "lists whose radius ({:.4}) is that many cells long (at most {MOST_IMAGES})",
                values.radius
            )));
        }
        let n = system.particles.len();
        let tables = links.as_ref();
        let multiprocessors = device.info().multiprocessors;
        let mut variant = variant(multiprocessors, system, &values, &rules, tables, choice);
        if variant.images && n > MOST {
            return Err(unsupported(format!(
                "{n} particles in a cell shorter than twice the radius of the lists (at most {MOST})"
            )));
        }
        let capacity = capacity(system, &values, choice);
        variant.staged &= fits(device, &variant, capacity);
        let extents = Extents {
            variant: &variant,
            terms: &terms,
            links: tables,
            excluded: excluded(system),
            capacity,
        };
        let needs = super::needs::fitting(device, kernels::needs(extents), values.radius)?;
        let arrays = Arrays::new(device, extents, &rules, values.frame())?;
        let sources = vec![variant.source(&terms, tables), Collection::source()];
        let _ahead = device.compile_ahead(sources);
        Ok(Self {
            needs,
            launches: 0,
            host_seconds: 0.0,
            waited_seconds: 0.0,
            stream: device.stream()?,
            kernels: Kernels::new(device, &variant, &terms, tables)?,
            world: arrays.world(None),
            device: device.clone(),
            terms,
            values,
            rules,
            links,
            variant,
            capacity,
            arrays,
            last: SmallControl::default(),
            snapshots: Snapshots::default(),
            counting: None,
            shots: None,
            shots_tried: false,
            ordered: VecDeque::new(),
            aimed: 0,
            pairs: 0,
            turn: 0,
        })
    }

    /// Steps until the target, or a new list alone; then reads how far it came.
    fn launch(&mut self, target: u64, refresh: bool) -> Result<(), EngineError> {
        self.queue_steps(target, refresh)?;
        let began = Instant::now();
        if let Some(&now) = self.stream.download(&self.arrays.control)?.first() {
            self.last = now;
        }
        self.waited_seconds += began.elapsed().as_secs_f64();
        self.check()
    }

    /// Queues steps until the target, and a new list where one is asked for after them.
    fn queue_steps(&mut self, target: u64, refresh: bool) -> Result<(), EngineError> {
        self.launch_steps(target, refresh, [0; MOST_DUE], SmallShots::default())?;
        Ok(())
    }

    /// The same with snapshots that are due on the way, and where they lie.
    fn launch_steps(
        &mut self,
        target: u64,
        refresh: bool,
        due: [u64; MOST_DUE],
        shots: SmallShots,
    ) -> Result<SmallSetup, EngineError> {
        let mut setup = self.values.setup(self.particles_in(), self.capacity, &self.rules);
        setup.target = target;
        setup.refresh = u32::from(refresh);
        setup.turn = self.turn;
        (setup.due, setup.shots) = (due, shots);
        let form = self.variant.form;
        let shared = self.variant.shared(self.capacity) as u32;
        // Allows the dynamic shared memory it needs.
        let resident = self.kernels.steps.resident_blocks(form.threads, shared)?;
        if resident < form.blocks {
            return Err(unsupported(format!(
                "{} blocks of {} threads at the same time on this device, which has room for {resident}",
                form.blocks, form.threads
            )));
        }
        let began = Instant::now();
        let shape = Shape::new(form.blocks, form.threads).shared(shared).cooperative();
        self.kernels
            .steps
            .launch(&self.stream, shape, (&self.world, setup))?;
        self.turn ^= 1;
        self.launches += 1;
        self.host_seconds += began.elapsed().as_secs_f64();
        Ok(setup)
    }

    /// Reports what went wrong, makes room for what did not fit.
    fn check(&mut self) -> Result<(), EngineError> {
        if self.last.failed != 0 {
            return Err(EngineError::Lost {
                step: self.last.step,
                particle: self.last.failed - 1,
            });
        }
        if self.last.cell_invalid != 0 {
            return Err(EngineError::Cell {
                step: self.last.step,
                why: "its pressure cannot be followed".into(),
            });
        }
        if self.last.overflow != 0 {
            self.make_room(self.last.needed + self.last.needed / 4)?;
            self.last.overflow = 0;
            self.last.needed = 0;
            self.write_control()?;
        }
        Ok(())
    }

    fn make_room(&mut self, capacity: u32) -> Result<(), EngineError> {
        // The old lists go before the new ones come.
        self.arrays.lists = self.device.allocate(0)?;
        self.world = self.arrays.world(self.shots.as_ref().map(Shots::buffers));
        let entries = self.particles_in() * capacity as usize;
        let mut needs = self.needs.clone();
        let all = needs.0.iter_mut().filter(|(what, _)| *what == "lists");
        all.for_each(|(_, bytes)| *bytes = 4 * (entries + self.terms.kind_of.len()));
        let taken = needs.total() - 4 * entries;
        self.needs = super::needs::growing(&self.device, needs, taken, self.values.radius)?;
        self.capacity = capacity;
        self.arrays.lists = self.device.allocate(entries)?;
        self.world = self.arrays.world(self.shots.as_ref().map(Shots::buffers));
        if self.variant.staged && !fits(&self.device, &self.variant, capacity) {
            self.variant.staged = false;
            self.kernels = Kernels::new(&self.device, &self.variant, &self.terms, self.links.as_ref())?;
        }
        Ok(())
    }
}

/// Whether the lists have room in shared memory, beside what the kernel itself takes.
fn fits(device: &Device, variant: &Variant, capacity: u32) -> bool {
    variant.shared(capacity) + 8192 <= u64::from(device.info().shared_per_block)
}

impl Skeleton for Small {
    fn place(&mut self, particles: &Particles) -> Result<(), EngineError> {
        let (n, region) = (particles.len(), self.region()?);
        let mut state = State {
            pos: vec![0; 4 * n],
            low: vec![0; 3 * n],
            velocities: vec![0.0; 3 * n],
            images: vec![0; 3 * n],
            ..State::default()
        };
        for i in 0..n {
            let (inside, shift) = region.cell.wrap(particles.positions[i]);
            let image: [i32; 3] =
                std::array::from_fn(|k| particles.images.get(i).map_or(0, |image| image[k]) + shift[k]);
            state.put(i, n, region.fractional(inside));
            for (k, count) in image.into_iter().enumerate() {
                state.velocities[k * n + i] = particles.velocities[i][k];
                state.images[k * n + i] = count;
            }
            state.pos[4 * i + 3] = self.word(self.terms.kind_of[i], image);
        }
        self.upload(&state)?;
        self.last = SmallControl {
            step: self.rules.ensemble.first,
            limited: self.rules.limited,
            stale: 1,
            ..SmallControl::default()
        };
        Ok(self.write_control()?)
    }

    fn kick_back(&mut self) -> Result<(), EngineError> {
        let mut state = self.download()?;
        let forces = self.stream.download(&self.arrays.forces)?;
        let n = self.particles_in();
        for i in 0..n {
            let inverse_mass = self.terms.kinds[self.kind(state.pos[4 * i + 3])].inverse_mass;
            for k in 0..3 {
                state.velocities[k * n + i] -= 0.5 * self.values.dt * inverse_mass * forces[k * n + i];
            }
        }
        Ok(self.upload_velocities(&state.velocities)?)
    }

    fn advance(&mut self, target: u64) -> Result<(), EngineError> {
        while self.last.step < target {
            self.launch(target.min(self.last.step + STEPS), false)?;
        }
        Ok(())
    }

    fn refresh_list(&mut self) -> Result<(), EngineError> {
        while self.last.stale != 0 {
            self.launch(self.last.step, true)?;
        }
        Ok(())
    }

    fn snapshot(&mut self, wanted: Wanted) -> Result<Snapshot, EngineError> {
        Self::snapshot(self, wanted)
    }

    fn queue(&mut self, step: u64, wanted: Wanted) -> Result<u64, EngineError> {
        if self.ordered.is_empty() {
            self.aimed = self.last.step;
        }
        if self.queue_on_the_way(step, wanted)? {
            return Ok(0);
        }
        let evaluates = wanted.needs_forces();
        self.queue_until(step, evaluates)?;
        self.queue_snapshot(wanted, evaluates)?;
        self.ordered.push_back(Ordered::After);
        Ok(1)
    }

    fn most_ahead(&self) -> usize {
        let all = self.ordered.iter().all(Ordered::is_on_the_way);
        // Two launches on their way, and one that is yet to come.
        let on_the_way = self.shots.as_ref().filter(|_| all);
        on_the_way.map_or(AHEAD, |shots| 3 * shots.most())
    }

    fn snapshot_arrived(&self) -> Result<bool, EngineError> {
        Ok(self.first_arrived()?)
    }

    fn next_snapshot(&mut self, step: u64) -> Result<Option<Snapshot>, EngineError> {
        Self::next_snapshot(self, step)
    }

    fn discard_snapshots(&mut self) -> Result<(), EngineError> {
        self.snapshots.forget();
        self.ordered.clear();
        if let Some(shots) = &mut self.shots {
            shots.forget();
        }
        Ok(self.stream.synchronize()?)
    }

    fn forces(&mut self) -> Result<Vec<Vec3<f64>>, EngineError> {
        self.snapshot(Wanted::default())?;
        let forces = self.stream.download(&self.arrays.forces)?;
        let n = self.particles_in();
        let of = |i: usize| Vec3::from(std::array::from_fn(|k| forces[k * n + i]));
        Ok((0..n).map(of).collect())
    }

    fn cell(&self) -> Result<Option<Cell>, EngineError> {
        Ok(if self.variant.moving {
            Some(self.region()?.cell)
        } else {
            None
        })
    }

    fn count_pairs(&mut self, of: &[PairHistogram], species: &[u32]) -> Result<u32, EngineError> {
        self.counting = PairCounting::new(&self.device, of, species, &self.region()?)?;
        self.snapshots = Snapshots::default();
        // They have room for counts.
        (self.shots, self.shots_tried) = (None, false);
        let Some(counting) = &mut self.counting else {
            return Ok(0);
        };
        let (a, n, mut at) = (&self.arrays, self.terms.kind_of.len(), Binder::default());
        let parity = offset_of!(SmallControl, parity);
        let (low_words, low) = match (self.variant.fine(&self.terms), self.terms.precision) {
            (_, Precision::Single) => ([0; 3], ConstAddress::default()),
            (true, _) => ([4 * n, 4, 1], at.address(&a.low)),
            // One place for both halves.
            (false, _) => ([0, 1, n], at.address(&a.low)),
        };
        let where_they_are = Slots {
            pos: at.address(&a.pos),
            parity: at.field(&a.control, parity),
            low,
            low_half: at.field(&a.control, parity),
            ids: ConstAddress::default(),
            side: ConstAddress::default(),
            blocks: ConstAddress::default(),
            frame: at.address(&a.frames),
            at,
            slots: n,
            block: 1,
            low_words,
        };
        counting.bind(&self.device, where_they_are)?;
        self.needs.set("pairs by distance", counting.bytes());
        Ok(counting.bits())
    }

    fn limited(&self) -> u32 {
        self.last.limited
    }

    fn builds(&self) -> u32 {
        self.last.builds
    }

    fn pairs(&self) -> usize {
        self.pairs
    }

    fn needs(&self) -> &Needs {
        &self.needs
    }

    fn device_use(&self, steps: u64) -> DeviceUse {
        DeviceUse {
            memory: self.needs.clone(),
            steps,
            launches: self.launches,
            lists: u64::from(self.last.builds),
            host_seconds: self.host_seconds,
            waited_seconds: self.waited_seconds,
            ..DeviceUse::default()
        }
    }

    fn before_the_step(&mut self, like: &Particles) -> Result<(u64, Particles), EngineError> {
        // The other half holds the positions before the last step.
        let (n, region) = (self.particles_in(), self.region()?);
        let state = self.download_half(self.last.parity ^ 1)?;
        let mut out = like.clone();
        for i in 0..n {
            out.positions[i] = region.position(state.fractions(i, n));
            out.velocities[i] = Vec3::from(std::array::from_fn(|k| state.velocities[k * n + i]));
        }
        Ok((self.last.step, out))
    }

    fn saved(&mut self) -> Result<Vec<u8>, EngineError> {
        self.refresh_list()?;
        let state = self.download()?;
        let mut w = Writer::new();
        w.u64(self.last.step);
        w.u64(self.rules.ensemble.first);
        let images = u32::from(self.variant.images);
        w.u32s(&[self.last.builds, self.capacity, images, self.last.limited]);
        w.u32s(bytemuck::cast_slice(&self.stream.download(&self.arrays.frames)?));
        w.u32s(bytemuck::cast_slice(
            &self.stream.download(&self.arrays.thermostats)?,
        ));
        w.u32s(&state.pos);
        w.u32s(&state.low);
        w.f64s(&state.velocities);
        w.u32s(bytemuck::cast_slice(&state.images));
        w.u32s(&self.stream.download(&self.arrays.reference)?);
        Ok(w.finish())
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(u64, u32), EngineError> {
        let read = read(saved).map_err(|e| EngineError::Restore(e.0))?;
        let (step, head, mut state, reference) = (read.step, read.head, read.state, read.reference);
        let n = self.particles_in();
        let fits = state.pos.len() == 4 * n
            && state.low.len() == 3 * n
            && state.velocities.len() == 3 * n
            && state.images.len() == 3 * n
            && reference.len() == 4 * n
            && read.thermostats.len() == self.rules.thermostats.len() + 1;
        if !fits {
            return Err(EngineError::Restore("its arrays are of other lengths".into()));
        }
        if (head[2] != 0) != self.variant.images {
            return Err(EngineError::Restore("its lists were of another radius".into()));
        }
        if head[1] > self.capacity {
            self.make_room(head[1])?;
        }
        // The same list again, from where particles were when it was made.
        let now = std::mem::replace(&mut state.pos, reference);
        self.upload(&state)?;
        self.upload_frames([read.frames[1]; 2])?;
        self.last = SmallControl {
            step,
            stale: 1,
            builds: head[0].wrapping_sub(1),
            limited: head[3],
            ..SmallControl::default()
        };
        self.write_control()?;
        self.refresh_list()?;
        state.pos = now;
        self.upload(&state)?;
        self.upload_frames(read.frames)?;
        let mut thermostats = read.thermostats;
        self.rules.keep_intervals(&mut thermostats);
        self.stream
            .upload(&thermostats, self.arrays.thermostats.all_mut())?;
        self.stream.synchronize()?;
        self.snapshot(Wanted::default())?;
        Ok((step, head[0]))
    }

    fn set_step(&mut self, step: u64) -> Result<(), EngineError> {
        self.last.step = step;
        Ok(self.write_control()?)
    }
}

/// What was saved.
struct Saved {
    step: u64,
    /// Lists made, room for entries, whether images are told apart, how often a barostat was held back.
    head: [u32; 4],
    frames: [Frame; 2],
    thermostats: Vec<ScalingThermostat>,
    state: State,
    reference: Vec<u32>,
}

fn read(saved: &[u8]) -> Result<Saved, CodecError> {
    let mut r = Reader::new(saved);
    let (step, _first) = (r.u64()?, r.u64()?);
    Ok(Saved {
        step,
        head: save::fixed(&r.u32s()?)?,
        frames: save::fixed(&save::words(&r.u32s()?)?)?,
        thermostats: save::words(&r.u32s()?)?,
        state: State {
            pos: r.u32s()?,
            low: r.u32s()?,
            velocities: r.f64s()?,
            images: r.u32s()?.into_iter().map(|x| x as i32).collect(),
            ..State::default()
        },
        reference: r.u32s()?,
    })
}
