//! [`Resident`]: everything that lives on the device, and the graphs that work on it.

use std::time::Instant;

use crate::backend::cuda::primitives::CountingSort;
use crate::backend::cuda::{Buffer, Bundle, CudaError, Device, Shape, Stream};
use crate::backend::{DeviceUse, EngineError, Needs, Precision};
use crate::expr::Vec3;
use crate::forces::electrostatics::Part;
use crate::system::{Cell, Particles};

use super::arrays::{self, Arrays, Numbers, world};
use super::bonded::{Bonded, LinkSums, LinkTables};
use super::constraints::{Held, HeldSums, HeldTables};
use super::frame::{Frame, Region};
use super::kernels::{Case, Control, Kernels, OnWorld, Setup, Values, World, setup};
use super::layout::{BLOCK, Layout};
use super::mesh::{MeshForces, MeshTables, Within};
use super::needs::{self, Tables};
use super::rules::{DeviceBath, Fire, Rules};
use super::skeleton::Skeleton;
use super::state::{NOBODY, State, fraction};
use super::terms::Terms;
use super::watch::{AT_ONCE, Bytes, Counted, Sizes, Watch};

/// A simulation in device memory.
pub(super) struct Resident {
    device: Device,
    stream: Stream,
    /// For what is done beside the forces of pairs.
    side: Option<Stream>,
    pub(super) layout: Layout,
    pub(super) terms: Terms,
    pub(super) rules: Rules,
    pub(super) values: Values,
    setup: Setup,
    kernels: Kernels,
    arrays: Arrays,
    world: Bundle<World>,
    control: Buffer<Control>,
    pub(super) numbers: Numbers,
    /// A new list if needed, and this many steps.
    steps_of_graph: u32,
    graph: Option<Counted>,
    rebuild: Option<Counted>,
    last: Control,
    bonded: Option<Bonded>,
    mesh: Option<MeshForces>,
    held: Option<Held>,
    needs: Needs,
    watch: Watch,
}

/// Sums over all particles.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    pub(super) energies: Vec<f64>,
    pub(super) virial: [f64; 6],
    /// Σ m v⊗v and Σ m v of every group.
    pub(super) groups: Vec<([f64; 6], [f64; 3])>,
    /// Virial of what keeps molecules together as they turn, of every group; goes with the square of its velocities.
    pub(super) turning: Vec<[f64; 6]>,
}

/// Queues a kernel of the constraints.
type QueueHeld = fn(&Held, &Stream, &Bundle<World>, Setup) -> Result<(), CudaError>;

/// What happens to the velocities of a group: v becomes v × factor − shift.
pub(super) type Change = (f64, [f64; 3]);

impl Resident {
    #[expect(clippy::too_many_arguments, reason = "each is a part of its own")]
    pub(super) fn new(
        device: &Device,
        layout: Layout,
        terms: Terms,
        rules: Rules,
        links: Option<&LinkTables>,
        mesh: Option<&MeshTables>,
        held: Option<HeldTables>,
        values: Values,
    ) -> Result<Self, EngineError> {
        let case = Case {
            layout: &layout,
            terms: &terms,
            rules: &rules,
            region: &values.region,
            bonded: links.is_some() || mesh.is_some(),
            meshed: mesh.is_some(),
            held: held.is_some(),
        };
        let tables = Tables {
            links: links.map(LinkTables::needs),
            held: held.as_ref().map(|held| held.bytes(&rules)),
            mesh: mesh.map_or(0, MeshTables::bytes),
        };
        let needs = needs::check(device, case, tables, values.radius)?;
        let held = held.map(|held| Held::new(device, held, case)).transpose()?;
        let bonded = links.map(|links| Bonded::new(device, links, case)).transpose()?;
        let kernels = Kernels::new(device, case)?;
        let arrays = Arrays::new(device, case)?;
        let frame = values.region.frame(values.radius, values.cutoff);
        let numbers = Numbers::new(device, &terms, &rules, frame)?;
        let control = device.upload(&[Control::default()])?;
        let within = Within {
            control: &control,
            pos: &arrays.pos,
            reference: &arrays.reference,
            column_blocks: &arrays.column_blocks,
            frame: &numbers.frame,
            slots: layout.slots(),
        };
        let mesh = mesh
            .map(|mesh| MeshForces::new(device, mesh, within, case))
            .transpose()?;
        Ok(Self {
            setup: setup(&layout, &values, &rules),
            world: world(&control, &arrays, &numbers, mesh.as_ref()),
            control,
            numbers,
            stream: device.stream()?,
            side: Some(device.stream()?),
            device: device.clone(),
            layout,
            terms,
            rules,
            values,
            kernels,
            arrays,
            steps_of_graph: 8,
            graph: None,
            rebuild: None,
            last: Control::default(),
            bonded,
            mesh,
            held,
            needs,
            watch: Watch::default(),
        })
    }

    fn case(&self) -> Case<'_> {
        Case {
            layout: &self.layout,
            terms: &self.terms,
            rules: &self.rules,
            region: &self.values.region,
            bonded: self.bonded.is_some() || self.mesh.is_some(),
            meshed: self.mesh.is_some(),
            held: self.held.is_some(),
        }
    }

    /// Pairs of particles in the lists.
    pub(super) fn pairs(&self) -> usize {
        self.listed() * self.layout.grain.sites.pow(2)
    }

    /// Pairs of bodies in the lists.
    fn listed(&self) -> usize {
        (u64::from(self.last.pairs[0]) | u64::from(self.last.pairs[1]) << 32) as usize
    }

    /// Puts particles into slots in their own order; the list is stale.
    pub(super) fn place(&mut self, particles: &Particles) -> Result<(), EngineError> {
        let region = self.values.region;
        let (slots, bodies, grain) = (self.layout.slots(), self.terms.bodies.len(), self.layout.grain);
        let (mut pos, mut low) = (vec![0_u32; 4 * slots], vec![0_u32; 3 * slots]);
        let (mut velocities, mut images) = (vec![0.0; 3 * slots], vec![0_i32; 3 * slots]);
        let mut ids = vec![NOBODY; slots];
        for slot in 0..slots {
            pos[4 * slot + 3] = NOBODY;
        }
        let members = |body: usize| {
            let members = self.terms.bodies.members(body);
            members
                .enumerate()
                .map(move |(site, i)| (body * grain.lanes + site, i))
        };
        for (slot, i) in (0..bodies).flat_map(members) {
            let (inside, shift) = region.cell.wrap(particles.positions[i]);
            let s = region.fractional(inside);
            for k in 0..3 {
                let at = fraction(s[k]);
                pos[4 * slot + k] = (at >> 32) as u32;
                low[k * slots + slot] = at as u32;
                velocities[k * slots + slot] = particles.velocities[i][k];
                images[k * slots + slot] = particles.images.get(i).map_or(0, |image| image[k]) + shift[k];
            }
            pos[4 * slot + 3] = self.terms.kind_of[i];
            ids[slot] = i as u32;
        }
        self.upload(&State {
            pos,
            low,
            velocities,
            images,
            ids,
        })?;
        self.last = Control {
            stale: 1,
            blocks: bodies.div_ceil(grain.bodies()) as u32,
            split: self.rules.needs_of(0),
            ..Control::default()
        };
        Ok(self.write_control()?)
    }

    fn is(&self, precision: Precision) -> bool {
        self.terms.precision == precision
    }

    /// Puts a state into the first half of everything.
    pub(super) fn upload(&mut self, state: &State) -> Result<(), CudaError> {
        let (slots, single) = (self.layout.slots(), self.is(Precision::Single));
        let numbered = self.case().numbered();
        let (a, s) = (&mut self.arrays, &self.stream);
        s.upload(&state.pos, a.pos.part_mut(0..4 * slots))?;
        if !single {
            s.upload(&state.low, a.low.part_mut(0..3 * slots))?;
        }
        let velocities = arrays::words(&state.velocities, !single);
        s.upload(&velocities, a.velocities.part_mut(0..velocities.len()))?;
        s.upload(&state.images, a.images.part_mut(0..3 * slots))?;
        s.upload(&state.ids, a.ids.part_mut(0..slots))?;
        if numbered {
            s.upload(&state.slot_of(), a.slot_of.part_mut(0..slots))?;
        }
        s.synchronise()
    }

    /// The state as it is now.
    pub(super) fn download(&mut self) -> Result<State, CudaError> {
        self.read_control()?;
        self.download_with(self.last.parity)
    }

    /// The same with the upper halves of `parity`; those that are not of now are of the step before, unless a list
    /// was made since.
    pub(super) fn download_with(&self, parity: u32) -> Result<State, CudaError> {
        let (slots, single) = (self.layout.slots(), self.is(Precision::Single));
        let (a, s) = (&self.arrays, &self.stream);
        let (p, h) = (parity as usize, self.last.side as usize);
        let half = |which: usize, length: usize| which * length..(which + 1) * length;
        let of_low = if self.is(Precision::Double) { p } else { h };
        let words = if single { 3 } else { 6 } * slots;
        Ok(State {
            pos: s.download_part(a.pos.part(half(p, 4 * slots)))?,
            low: if single {
                vec![0; 3 * slots]
            } else {
                s.download_part(a.low.part(half(of_low, 3 * slots)))?
            },
            velocities: arrays::numbers(&s.download_part(a.velocities.part(half(h, words)))?, !single),
            images: s.download_part(a.images.part(half(h, 3 * slots)))?,
            ids: s.download_part(a.ids.part(half(h, slots)))?,
        })
    }

    /// The cell as a barostat left it, and what velocities are yet to be multiplied with.
    pub(super) fn frame(&self) -> Result<Frame, CudaError> {
        let frames = self.stream.download(&self.numbers.frame)?;
        Ok(frames
            .first()
            .copied()
            .unwrap_or_else(|| self.values.region.frame(1.0, 1.0)))
    }

    /// Thermostats as they are now.
    pub(super) fn baths(&self) -> Result<Vec<DeviceBath>, CudaError> {
        let mut baths = self.stream.download(&self.numbers.baths)?;
        baths.truncate(self.rules.baths.len());
        Ok(baths)
    }

    /// Sets the cell and the thermostats, after a restart or because the region grew.
    pub(super) fn set_frame(&mut self, frame: Frame) -> Result<(), CudaError> {
        self.stream.upload(&[frame], self.numbers.frame.all_mut())
    }

    pub(super) fn set_baths(&mut self, baths: &[DeviceBath]) -> Result<(), CudaError> {
        let part = self.numbers.baths.part_mut(0..baths.len());
        self.stream.upload(baths, part)
    }

    pub(super) fn write_control(&mut self) -> Result<(), CudaError> {
        self.stream.upload(&[self.last], self.control.all_mut())?;
        self.stream.synchronise()
    }

    pub(super) fn read_control(&mut self) -> Result<(), CudaError> {
        if let Some(&now) = self.stream.download(&self.control)?.first() {
            self.last = now;
        }
        Ok(())
    }

    pub(super) fn control_mut(&mut self) -> &mut Control {
        &mut self.last
    }

    /// Does steps until the target.
    pub(super) fn advance(&mut self, target: u64) -> Result<(), EngineError> {
        let (began, waited) = (Instant::now(), self.watch.waited_seconds);
        let (first, last) = self.watch.span();
        if first <= target && self.last.step < last {
            self.replay_until(first)?;
            self.time_until(target.min(last))?;
        }
        let done = self.replay_until(target);
        self.watch.host_seconds += began.elapsed().as_secs_f64() - (self.watch.waited_seconds - waited);
        done
    }

    /// Does steps without graphs, with the time of every kernel.
    fn time_until(&mut self, target: u64) -> Result<(), EngineError> {
        self.read_control()?;
        self.last.target = target;
        self.write_control()?;
        loop {
            self.check()?;
            let left = target.saturating_sub(self.last.step);
            if left == 0 {
                return Ok(());
            }
            let (step, builds) = (self.last.step, self.last.builds);
            let stream = self.device.stream()?;
            self.watch.begin();
            if self.last.stale != 0 {
                self.queue_rebuild(&stream)?;
            }
            let count = left.min(AT_ONCE) as u32;
            for number in 0..count {
                self.watch.step();
                self.queue_step(&stream, number, count)?;
            }
            let began = Instant::now();
            stream.synchronise()?;
            self.read_control()?;
            self.watch.waited(began);
            let sizes = self.sizes()?;
            self.watch
                .end(self.last.step - step, self.last.builds != builds, &sizes)?;
        }
    }

    /// Sizes of what the kernels work on now.
    fn sizes(&self) -> Result<Sizes, CudaError> {
        let (a, blocks) = (&self.arrays, self.last.blocks as usize);
        let staged = self.stream.download_part(a.stage_counts.part(0..blocks))?;
        // Pairs are listed in numbers of two bytes, for a particle or for a warp.
        let listed = 2.0 * self.listed() as f64 / if self.layout.tiles { 32.0 } else { 1.0 };
        let columns = f64::from(self.layout.columns[0] * self.layout.columns[1]);
        Ok(Sizes {
            slots: (blocks * BLOCK) as f64,
            blocks: blocks as f64,
            room: self.layout.slots() as f64,
            staged: staged.into_iter().map(f64::from).sum(),
            listed,
            moving: if self.is(Precision::Single) { 12.0 } else { 36.0 },
            columns,
            buckets: columns * f64::from(self.layout.columns[2]),
        })
    }

    /// Does steps until the target by replaying graphs.
    fn replay_until(&mut self, target: u64) -> Result<(), EngineError> {
        self.read_control()?;
        self.last.target = target;
        self.write_control()?;
        loop {
            self.check()?;
            let left = target.saturating_sub(self.last.step);
            if left == 0 {
                return Ok(());
            }
            let (step, builds) = (self.last.step, self.last.builds);
            let replays = left.div_ceil(u64::from(self.steps_of_graph)).min(64);
            let graph = match self.graph.take() {
                Some(graph) => graph,
                None => self.capture(self.steps_of_graph)?,
            };
            for _ in 0..replays {
                self.watch.replay(&self.stream, &graph)?;
            }
            self.graph = Some(graph);
            let began = Instant::now();
            self.read_control()?;
            self.watch.waited(began);
            let (steps, lists) = (self.last.step - step, u64::from(self.last.builds - builds));
            if lists == 0 && steps >= 4 * u64::from(self.steps_of_graph) && self.steps_of_graph < 64 {
                self.steps_of_graph = (2 * self.steps_of_graph).min(64);
                self.graph = None;
            } else if lists >= 8 {
                // One list to a graph: as many steps as a list lasts, and one more; some wait for those that need sums.
                let waiting = self.rules.waiting() * steps as f64 / lists as f64;
                let fitting = (steps / lists + 1 + waiting.ceil() as u64).clamp(1, 64) as u32;
                if fitting.abs_diff(self.steps_of_graph) * 5 > self.steps_of_graph {
                    self.steps_of_graph = fitting;
                    self.graph = None;
                }
            }
        }
    }

    /// Makes a new list if the old one is stale.
    pub(super) fn settle(&mut self) -> Result<(), EngineError> {
        self.read_control()?;
        while self.last.stale != 0 {
            let graph = match self.rebuild.take() {
                Some(graph) => graph,
                None => self.capture(0)?,
            };
            self.watch.replay(&self.stream, &graph)?;
            self.rebuild = Some(graph);
            self.read_control()?;
            self.check()?;
        }
        Ok(())
    }

    /// Reports what went wrong, makes room for what did not fit.
    fn check(&mut self) -> Result<(), EngineError> {
        self.check_held(self.last.step.saturating_sub(1))?;
        if self.last.lost != 0 {
            return Err(EngineError::Lost {
                step: self.last.step,
                particle: self.last.lost - 1,
            });
        }
        if self.last.torn != 0 {
            return Err(EngineError::Cell {
                step: self.last.step,
                why: "its pressure cannot be followed".into(),
            });
        }
        let full = self.last.overflow != 0;
        if let Some(mesh) = &mut self.mesh {
            mesh.check(&self.device, &self.stream)?;
        }
        if full {
            self.grow()?;
        }
        Ok(())
    }

    /// Reports a distance that could not be held in a step.
    fn check_held(&self, step: u64) -> Result<(), EngineError> {
        match &self.held {
            Some(held) if self.last.unheld != 0 => Err(held.failed(self.last.unheld, step)),
            _ => Ok(()),
        }
    }

    fn grow(&mut self) -> Result<(), EngineError> {
        let mut state = self.download()?;
        let old = self.layout.slots();
        let layout = if self.last.needed[7] > 0 {
            self.other_region(&mut state)?
        } else {
            self.layout.grown(self.last.needed)?
        };
        let (shared, excludes) = (self.device.info().shared_per_block, self.terms.excluded.any);
        let layout = layout.fitting(shared, self.terms.precision, excludes)?;
        self.relayout(layout)?;
        self.upload(&state.moved(old, layout.slots()))?;
        self.last = Control {
            step: self.last.step,
            target: self.last.target,
            stale: 1,
            blocks: self.last.blocks,
            split: self.last.split,
            builds: self.last.builds,
            held: self.last.held,
            ..Control::default()
        };
        Ok(self.write_control()?)
    }

    /// A layout for a cell that changed too much, or for particles that left the region: then theirs is a larger one.
    fn other_region(&mut self, state: &mut State) -> Result<Layout, EngineError> {
        let (old, radius) = (self.values.region, self.values.radius);
        let slots = self.layout.slots();
        let used: Vec<usize> = state.used(&self.last).map(|(slot, _)| slot).collect();
        if old.open() == 0 {
            let mut frame = self.frame()?;
            self.values.region = old.followed(&frame);
            super::refuse_short(&self.values.region, radius)?;
            let half = 0.5 * (radius - self.values.cutoff);
            frame.limit2 = (half * half * 0.9999) as f32;
            self.set_frame(frame)?;
        } else if self.mesh.as_ref().is_some_and(|mesh| mesh.tables().is_slab()) {
            return Err(EngineError::Device(format!(
                "particles of a slab came nearer than {:.4} to the end of the cell that its waves are summed in; a larger \
                 `slab_factor` makes room",
                1.5 * radius
            )));
        } else {
            let positions: Vec<_> = used
                .iter()
                .map(|&slot| old.position(state.fractions(slot, slots)))
                .collect();
            let region = Region::around(&old.cell, &positions, radius);
            for (&slot, &r) in used.iter().zip(&positions) {
                state.put(slot, slots, region.fractional(r));
            }
            self.values.region = region;
            self.set_frame(region.frame(radius, self.values.cutoff))?;
        }
        let grain = self.layout.grain;
        let anchors = used.iter().filter(|&slot| slot.is_multiple_of(grain.lanes));
        let fractions: Vec<_> = anchors.map(|&slot| state.fractions(slot, slots)).collect();
        Ok(Layout {
            tiles: self.layout.tiles,
            ..Layout::new(&fractions, &self.values.region, radius, grain, self.values.arm)?
        })
    }

    fn capture(&mut self, steps: u32) -> Result<Counted, CudaError> {
        let stream = self.device.stream()?;
        let before = self.watch.recording();
        let graph = stream.capture(|s| {
            self.queue_rebuild(s)?;
            (0..steps).try_for_each(|number| self.queue_step(s, number, steps))
        })?;
        let launches = self.watch.recorded(before);
        Ok(Counted { graph, launches })
    }

    /// Queues a kernel; `bytes` is what it must move at least.
    fn launch(&self, s: &Stream, kernel: &OnWorld, shape: Shape, bytes: Bytes) -> Result<(), CudaError> {
        let queue = || kernel.launch(s, shape, (&self.world, self.setup));
        self.watch.around(s, kernel.name(), 1, bytes, queue)
    }

    fn queue_rebuild(&mut self, s: &Stream) -> Result<(), CudaError> {
        let every = Shape::covering(self.layout.bodies(), 256);
        self.launch(s, &self.kernels.keys, every, |n| 16.0 * n.slots + 4.0 * n.room)?;
        let a = &mut self.arrays;
        let traffic: Bytes = |n| CountingSort::traffic(n.room, n.buckets);
        self.watch
            .around(s, "sort", CountingSort::LAUNCHES, traffic, || {
                a.sort.sort(s, a.keys.all(), a.order.all_mut(), &mut a.starts)
            })?;
        let k = &self.kernels;
        self.launch(s, &k.columns, Shape::new(1, 1024), |n| 8.0 * n.columns)?;
        // Order and id, upper halves to two places, lower halves, velocities and images from half to half.
        let moved: Bytes = |n| n.slots * (4.0 + 8.0 + 3.0 * 16.0 + 2.0 * (12.0 + 24.0 + 12.0));
        self.launch(s, &k.place, self.blocks(0), moved)?;
        self.queue_lists(s)
    }

    /// Boxes and lists of the reference positions.
    pub(super) fn queue_lists(&self, s: &Stream) -> Result<(), CudaError> {
        let k = &self.kernels;
        self.launch(s, &k.boxes, self.bodies(0), |n| {
            16.0 * n.slots + 9.0 * 32.0 * n.blocks
        })?;
        // Boxes, and the positions of what may be near; stages.
        self.launch(s, &k.stages, self.blocks(0), |n| {
            9.0 * 32.0 * n.blocks + 16.0 * n.slots + 4.0 * n.staged
        })?;
        // Stages and their positions; lists, and how many rows.
        let written: Bytes = |n| 18.0 * n.slots + 4.0 * n.staged + n.listed;
        self.launch(s, &k.lists, self.bodies(self.layout.list_shared()), written)?;
        if let Some(mesh) = &self.mesh {
            // Counts cleared, particles read and entered in a few bricks each.
            let bytes: Bytes = |n| (16.0 + 12.0) * n.slots;
            self.watch
                .around(s, "mesh lists", 2, bytes, || mesh.queue_lists(s))?;
        }
        self.launch(s, &k.commit, Shape::new(1, 32), |_| size_of::<Control>() as f64)
    }

    /// Bonded terms before all steps (0), those without sums (1) or those with (2).
    fn queue_bonded(&self, s: &Stream, links: u32) -> Result<(), CudaError> {
        let Some(bonded) = &self.bonded else {
            return Ok(());
        };
        let mut setup = self.setup;
        setup.links = links;
        // Links name their particles by number: each position is counted once.
        self.watch.around(
            s,
            "bonded",
            1,
            |n| (28.0 + 8.0 + 24.0) * n.slots,
            || bonded.queue(s, &self.world, setup),
        )
    }

    /// The same where they move anybody: within rigid molecules they do not.
    fn queue_links(&self, s: &Stream, links: u32) -> Result<(), CudaError> {
        if self.moved_by_links() {
            self.queue_bonded(s, links)
        } else {
            Ok(())
        }
    }

    /// Whether bonded terms move anybody, or change the cell.
    fn moved_by_links(&self) -> bool {
        let scales = self.rules.scale_every > 0;
        self.bonded.as_ref().is_some_and(|links| !links.inert || scales)
    }

    /// Forces of the mesh at the positions of now, on top of those of bonded terms; with `sums`, energy and virial.
    fn queue_mesh(&mut self, s: &Stream, sums: bool) -> Result<(), CudaError> {
        let add = self.moved_by_links() || sums && self.bonded.is_some();
        let Some(mesh) = &mut self.mesh else {
            return Ok(());
        };
        let forces = &mut self.arrays.bonded;
        // Positions read twice, forces written.
        let bytes: Bytes = |n| (2.0 * 16.0 + 24.0) * n.slots;
        let (launches, on) = (mesh.launches(), (&self.world, self.setup));
        let queue = || mesh.queue(s, forces, on, add, sums);
        self.watch.around(s, "mesh", launches, bytes, queue)
    }

    /// Kernels of constraints, for steps without sums (1) or those with (2).
    fn queue_held(&self, s: &Stream, queue: QueueHeld, links: u32) -> Result<(), CudaError> {
        let Some(held) = &self.held else {
            return Ok(());
        };
        let mut setup = self.setup;
        setup.links = links;
        // At most all particles: place, what moves both ways, the list's position and the new place.
        self.watch.around(
            s,
            "constraints",
            1,
            |n| n.slots * (3.0 * 16.0 + 2.0 * n.moving),
            || queue(held, s, &self.world, setup),
        )
    }

    /// A step of a graph, or without one: the kernels of plain steps, and every so many of those the kernels of steps
    /// that need sums. Each returns at once if it is not due.
    fn queue_step(&mut self, s: &Stream, number: u32, of: u32) -> Result<(), CudaError> {
        let plain = self.rules.baths.is_empty();
        let due = (number + 1).is_multiple_of(self.rules.spacing()) || number + 1 == of;
        if plain {
            self.queue_plain(s)?;
        }
        if self.kernels.split.is_none() || !due {
            return Ok(());
        }
        // What came before may have been the step before.
        self.queue_links(s, if plain { 2 } else { 0 })?;
        // A barostat asks for the virial.
        self.queue_mesh(s, self.rules.scale_every > 0)?;
        self.queue_split(s, plain)
    }

    /// The kernels of a step that needs no sums. Pairs and the mesh know nothing of each other.
    fn queue_plain(&mut self, s: &Stream) -> Result<(), CudaError> {
        let beside = self.mesh.is_some() && !self.watch.timing();
        let side = self.side.take_if(|_| beside);
        let queued = self.queue_beside(s, side.as_ref());
        self.side = side.or(self.side.take());
        queued?;
        self.queue_held(s, Held::queue_motion, 1)
    }

    /// The same up to constraints, with a stream for what can be done beside pairs.
    fn queue_beside(&mut self, s: &Stream, side: Option<&Stream>) -> Result<(), CudaError> {
        let rest = side.unwrap_or(s);
        if let Some(side) = side {
            side.follow(s)?;
        }
        self.queue_links(rest, u32::from(self.kernels.split.is_some()))?;
        self.queue_mesh(rest, false)?;
        let (k, shape) = (&self.kernels, self.blocks(self.case().step_shared()));
        // Upper halves read and written, the list's positions, what moves both ways, id and rows; stages, lists.
        let bytes: Bytes = |n| n.slots * (3.0 * 16.0 + 2.0 * n.moving + 6.0) + 4.0 * n.staged + n.listed;
        match &k.pairs {
            Some(pairs) => {
                let of_pairs: Bytes = |n| n.slots * (16.0 + 24.0) + 4.0 * n.staged + n.listed;
                self.launch(s, pairs, shape, of_pairs)?;
                if let Some(side) = side {
                    s.follow(side)?;
                }
                let of_motion: Bytes = |n| n.slots * (3.0 * 16.0 + 2.0 * n.moving + 4.0 + 48.0);
                self.launch(s, &k.step, self.blocks(0), of_motion)
            }
            None => self.launch(s, &k.step, shape, bytes),
        }
    }

    /// The kernels of a step that needs sums.
    fn queue_split(&self, s: &Stream, plain: bool) -> Result<(), CudaError> {
        let (k, shape) = (&self.kernels, self.blocks(self.case().step_shared()));
        match &k.split {
            Some(split) => {
                let bytes: Bytes = |n| n.slots * (16.0 + n.moving + 24.0 + 2.0) + 4.0 * n.staged + n.listed;
                if !plain || self.rules.remove_every > 0 {
                    self.launch(s, &split.pull, shape, bytes)?;
                }
                if let Some(pull) = &split.pull_virial {
                    self.launch(s, pull, shape, bytes)?;
                }
                self.queue_held(s, Held::queue_sums, 2)?;
                let bytes: Bytes = |n| n.slots * (3.0 * 16.0 + 2.0 * n.moving + 24.0 + 4.0);
                self.launch(s, &split.moves, self.blocks(0), bytes)?;
                self.queue_held(s, Held::queue_motion, 2)?;
                self.queue_held(s, Held::queue_reshape, 2)
            }
            _ => Ok(()),
        }
    }

    /// A thread for every body, with so much shared memory.
    fn bodies(&self, shared: u32) -> Shape {
        Shape::new(self.layout.blocks as u32, self.layout.grain.bodies() as u32).shared(shared)
    }

    /// A thread for every slot, with so much shared memory.
    fn blocks(&self, shared: u32) -> Shape {
        Shape::new(self.layout.blocks as u32, BLOCK as u32).shared(shared)
    }

    /// Forces, energies by term, virial and what velocities sum to. The list must be good.
    pub(super) fn evaluate(&mut self) -> Result<Sums, EngineError> {
        let links = self.bonded_sums()?;
        let mesh = self.mesh_sums()?;
        let shape = self.blocks(self.case().step_shared());
        // Upper halves, what moves, forces and how many rows; stages and lists.
        let bytes: Bytes = |n| n.slots * (16.0 + n.moving + 24.0 + 2.0) + 4.0 * n.staged + n.listed;
        self.launch(&self.stream, &self.kernels.evaluate, shape, bytes)?;
        let (terms, groups) = (self.terms.count, self.rules.groups());
        let width = terms + 6 + 9 * groups;
        let used = self.last.blocks as usize * width;
        let parts = self.stream.download_part(self.arrays.partial.part(0..used))?;
        let mut all = vec![0.0; width];
        for block in parts.chunks_exact(width) {
            all.iter_mut().zip(block).for_each(|(sum, x)| *sum += x);
        }
        let of_group = |g: usize| {
            let first = terms + 6 + 9 * g;
            let tensor = std::array::from_fn(|k| all[first + k]);
            (tensor, std::array::from_fn(|k| all[first + 6 + k]))
        };
        let mut sums = Sums {
            energies: all[..terms].to_vec(),
            virial: std::array::from_fn(|k| all[terms + k]),
            groups: (0..groups).map(of_group).collect(),
            turning: vec![[0.0; 6]; groups],
        };
        if let Some((energies, virial)) = links {
            sums.energies.extend(energies);
            sums.virial.iter_mut().zip(virial).for_each(|(sum, x)| *sum += x);
        }
        for part in mesh {
            sums.energies.push(part.energy);
            sums.virial
                .iter_mut()
                .zip(part.virial)
                .for_each(|(sum, x)| *sum += x);
        }
        self.add_held(&mut sums)?;
        Ok(sums)
    }

    /// Forces of the mesh, and what it and the rest of electrostatics sum to, where there are any.
    pub(super) fn mesh_sums(&mut self) -> Result<Vec<Part>, EngineError> {
        if self.mesh.is_none() {
            return Ok(Vec::new());
        }
        let stream = self.device.stream()?;
        self.queue_mesh(&stream, true)?;
        stream.synchronise()?;
        let cell = self.region(&self.frame()?).cell;
        let Some(mesh) = &mut self.mesh else {
            return Ok(Vec::new());
        };
        let sums = mesh.read_sums(&stream, &cell)?;
        mesh.check(&self.device, &stream)?;
        Ok(sums)
    }

    /// Velocities of the particles at fixed distances, their sums, and the virial of what holds them.
    fn add_held(&mut self, sums: &mut Sums) -> Result<(), EngineError> {
        let Some(held) = &self.held else {
            return Ok(());
        };
        let more = held.look(&self.stream, &self.world, self.setup, self.rules.groups())?;
        let HeldSums {
            forces,
            turning,
            groups,
        } = more;
        let add = |to: &mut [f64], from: &[f64]| to.iter_mut().zip(from).for_each(|(sum, x)| *sum += x);
        let pairs = sums.virial;
        add(&mut sums.virial, &forces);
        for ((tensor, momentum), more) in sums.groups.iter_mut().zip(&groups) {
            add(tensor, &more.0);
            add(momentum, &more.1);
        }
        sums.turning = turning;
        self.read_control()?;
        // Forces that are no numbers are somebody else's fault.
        let sound = sums.energies.iter().chain(&pairs).all(|x| x.is_finite());
        if sound {
            self.check_held(self.last.step)?;
        }
        Ok(())
    }

    /// Forces of the bonded terms, and their sums, where there are any.
    pub(super) fn bonded_sums(&self) -> Result<Option<LinkSums>, CudaError> {
        let Some(bonded) = &self.bonded else {
            return Ok(None);
        };
        bonded.queue_sums(&self.stream, &self.world, self.setup)?;
        let sums = bonded.read_sums(&self.stream, self.last.blocks as usize)?;
        Ok(Some(sums))
    }

    /// Takes half a kick from the velocities: from those of now to those that are kept.
    pub(super) fn kick_back(&mut self) -> Result<(), EngineError> {
        let mut state = self.download()?;
        let slots = self.layout.slots();
        let forces = self.stream.download(&self.arrays.forces)?;
        for slot in 0..slots {
            let kind = state.pos[4 * slot + 3];
            if kind == NOBODY || slot >= self.last.blocks as usize * BLOCK {
                continue;
            }
            let inverse_mass = self.terms.kinds[kind as usize].inverse_mass;
            for k in 0..3 {
                let at = k * slots + slot;
                state.velocities[at] -= 0.5 * self.values.dt * inverse_mass * forces[at];
            }
        }
        let words = arrays::words(&state.velocities, !self.is(Precision::Single));
        let half = self.last.side as usize * words.len();
        let to = self.arrays.velocities.part_mut(half..half + words.len());
        self.stream.upload(&words, to)?;
        Ok(self.stream.synchronise()?)
    }

    /// Particles as they are now, in the order of the input. `change` is what has yet to happen to the velocities of
    /// every group.
    pub(super) fn particles(
        &mut self,
        like: &Particles,
        change: &[Change],
    ) -> Result<Particles, EngineError> {
        let (state, frame) = (self.download()?, self.frame()?);
        let forces = self.stream.download(&self.arrays.forces)?;
        let slots = self.layout.slots();
        let region = self.region(&frame);
        let mut out = like.clone();
        out.images.resize(like.len(), [0; 3]);
        for (slot, &id) in state.used(&self.last) {
            let i = id as usize;
            let kind = &self.terms.kinds[state.pos[4 * slot + 3] as usize];
            let (factor, shift) = change[kind.group as usize];
            out.positions[i] = region.position(state.fractions(slot, slots));
            out.velocities[i] = Vec3::from(std::array::from_fn(|k| {
                let at = k * slots + slot;
                let kept = state.velocities[at] * frame.pending[k];
                (kept + 0.5 * self.values.dt * kind.inverse_mass * forces[at]) * factor - shift[k]
            }));
            out.images[i] = std::array::from_fn(|k| state.images[k * slots + slot]);
        }
        if let Some(held) = &self.held {
            for (id, v) in held.velocities(&self.stream)? {
                let i = id as usize;
                let (factor, shift) = change[self.terms.kinds[self.terms.kind_of[i] as usize].group as usize];
                out.velocities[i] = v * factor - Vec3::from(shift);
            }
        }
        Ok(out)
    }

    /// The region as a barostat left it.
    pub(super) fn region(&self, frame: &Frame) -> Region {
        if self.rules.scale_every > 0 {
            self.values.region.followed(frame)
        } else {
            self.values.region
        }
    }

    /// Forces in the order of the input.
    pub(super) fn forces(&mut self) -> Result<Vec<Vec3<f64>>, EngineError> {
        self.settle()?;
        self.evaluate()?;
        let forces = self.stream.download(&self.arrays.forces)?;
        self.by_particle(&forces)
    }

    /// Forces of the bonded terms alone, as they were last evaluated, in the order of the input.
    pub(super) fn bonded_forces(&mut self) -> Result<Vec<Vec3<f64>>, EngineError> {
        let forces = self.stream.download(&self.arrays.bonded)?;
        self.by_particle(&forces)
    }

    fn by_particle(&mut self, forces: &[f64]) -> Result<Vec<Vec3<f64>>, EngineError> {
        let state = self.download()?;
        let slots = self.layout.slots();
        let mut out = vec![Vec3::zero(); self.terms.kind_of.len()];
        for (slot, &id) in state.used(&self.last) {
            out[id as usize] = Vec3::from(std::array::from_fn(|k| forces[k * slots + slot]));
        }
        Ok(out)
    }

    /// How a descent begins.
    pub(super) fn set_fire(&mut self, fire: Fire) -> Result<(), CudaError> {
        self.stream.upload(&[fire], self.numbers.fire.all_mut())
    }

    /// The number of the step, which a descent has used for itself.
    pub(super) fn set_step(&mut self, step: u64) -> Result<(), CudaError> {
        self.read_control()?;
        (self.last.step, self.last.target) = (step, step);
        self.last.split = self.rules.needs_of(step);
        self.write_control()
    }

    /// Steps downhill until a target, or until they reach the tolerance.
    pub(super) fn descend(&mut self, target: u64) -> Result<(), EngineError> {
        self.read_control()?;
        self.last.target = target;
        self.write_control()?;
        while self.last.step < target {
            let before = self.last.step;
            self.settle()?;
            // Kept by the device once they are compiled; growing changes them.
            let kernels = self.case().downhill(&self.device)?;
            let (shape, stream) = (self.blocks(self.case().step_shared()), self.device.stream()?);
            for _ in before..target {
                self.queue_links(&stream, 0)?;
                self.queue_mesh(&stream, false)?;
                kernels[0].launch(&stream, shape, (&self.world, self.setup))?;
                kernels[1].launch(&stream, self.blocks(0), (&self.world, self.setup))?;
            }
            stream.synchronise()?;
            self.read_control()?;
            self.check()?;
            if self.last.target == self.last.step {
                break;
            }
        }
        Ok(())
    }

    /// What the list was made from: positions, the column of each block, and where columns begin.
    pub(super) fn list_source(&self) -> Result<[Vec<u32>; 3], CudaError> {
        let a = &self.arrays;
        Ok([
            self.stream.download(&a.reference)?,
            self.stream.download(&a.block_column)?,
            self.stream.download(&a.column_blocks)?,
        ])
    }

    /// Makes the list of another run again.
    pub(super) fn restore_list(
        &mut self,
        [reference, block_column, column_blocks]: &[Vec<u32>; 3],
    ) -> Result<(), EngineError> {
        let a = &mut self.arrays;
        self.stream.upload(reference, a.reference.all_mut())?;
        self.stream.upload(block_column, a.block_column.all_mut())?;
        self.stream.upload(column_blocks, a.column_blocks.all_mut())?;
        // The commit changes sides.
        let before = Control {
            parity: self.last.parity ^ 1,
            side: self.last.side ^ 1,
            building: 1,
            builds: self.last.builds.wrapping_sub(1),
            ..self.last
        };
        loop {
            self.last = before;
            self.write_control()?;
            let stream = self.device.stream()?;
            self.queue_lists(&stream)?;
            stream.synchronise()?;
            self.read_control()?;
            if self.last.overflow == 0 && self.last.building == 0 {
                return Ok(());
            }
            // Lists of bricks have no more room than those of a run that begins.
            let more = match &mut self.mesh {
                Some(mesh) => mesh.check(&self.device, &stream)?,
                None => false,
            };
            if !more {
                return Err(EngineError::Restore(
                    "its list does not fit on this device".into(),
                ));
            }
        }
    }

    /// Forgets what was counted and timed so far.
    pub(super) fn forget(&mut self) {
        self.watch = Watch::default();
    }

    /// Another layout, with everything anew.
    pub(super) fn relayout(&mut self, layout: Layout) -> Result<(), EngineError> {
        self.graph = None;
        self.rebuild = None;
        // The old arrays go before the new ones come.
        self.layout = Layout {
            grain: layout.grain,
            ..Layout::smallest()
        };
        self.arrays = Arrays::new(&self.device, self.case())?;
        self.world = world(&self.control, &self.arrays, &self.numbers, self.mesh.as_ref());
        self.layout = layout;
        let tables = Tables {
            links: self.bonded.as_ref().map(Bonded::needs),
            held: self.held.as_ref().map(Held::bytes),
            mesh: self.mesh.as_ref().map_or(0, |mesh| mesh.tables().bytes()),
        };
        self.needs = needs::check(&self.device, self.case(), tables, self.values.radius)?;
        self.setup = setup(&layout, &self.values, &self.rules);
        self.kernels = Kernels::new(&self.device, self.case())?;
        self.arrays = Arrays::new(&self.device, self.case())?;
        if let Some(bonded) = &mut self.bonded {
            bonded.resize(&self.device, layout.blocks)?;
        }
        let cells = [self.values.region.cell, self.region(&self.frame()?).cell];
        if let Some(mesh) = &mut self.mesh {
            let within = Within {
                control: &self.control,
                pos: &self.arrays.pos,
                reference: &self.arrays.reference,
                column_blocks: &self.arrays.column_blocks,
                frame: &self.numbers.frame,
                slots: layout.slots(),
            };
            mesh.rebind(&self.device, within, [&cells[0], &cells[1]])?;
        }
        self.world = world(&self.control, &self.arrays, &self.numbers, self.mesh.as_ref());
        Ok(())
    }
}

impl Skeleton for Resident {
    fn place(&mut self, particles: &Particles) -> Result<(), EngineError> {
        Self::place(self, particles)
    }

    fn kick_back(&mut self) -> Result<(), EngineError> {
        Self::kick_back(self)
    }

    fn advance(&mut self, target: u64) -> Result<(), EngineError> {
        Self::advance(self, target)
    }

    fn settle(&mut self) -> Result<(), EngineError> {
        Self::settle(self)
    }

    fn evaluate(&mut self) -> Result<Sums, EngineError> {
        Self::evaluate(self)
    }

    fn particles(&mut self, like: &Particles, change: &[Change]) -> Result<Particles, EngineError> {
        Self::particles(self, like, change)
    }

    fn forces(&mut self) -> Result<Vec<Vec3<f64>>, EngineError> {
        Self::forces(self)
    }

    fn set_step(&mut self, step: u64) -> Result<(), EngineError> {
        Ok(Self::set_step(self, step)?)
    }

    fn baths(&self) -> Result<Vec<DeviceBath>, EngineError> {
        Ok(Self::baths(self)?)
    }

    fn cell(&self) -> Result<Option<Cell>, EngineError> {
        let moves = self.rules.scale_every > 0;
        Ok(if moves {
            Some(self.region(&self.frame()?).cell)
        } else {
            None
        })
    }

    fn held(&self) -> u32 {
        self.last.held
    }

    fn builds(&self) -> u32 {
        self.last.builds
    }

    fn pairs(&self) -> usize {
        Self::pairs(self)
    }

    fn needs(&self) -> &Needs {
        &self.needs
    }

    fn device_use(&self, steps: u64) -> DeviceUse {
        DeviceUse {
            memory: self.needs.clone(),
            steps,
            launches: self.watch.launches(),
            replays: self.watch.replays,
            lists: u64::from(self.last.builds),
            host_seconds: self.watch.host_seconds,
            waited_seconds: self.watch.waited_seconds,
            profile: self.watch.profile.clone(),
        }
    }

    fn profile(&mut self, from: u64, steps: u64) -> bool {
        self.watch.ask(from, steps, self.device.info().bandwidth);
        true
    }

    fn before_the_step(&mut self, like: &Particles) -> Result<(u64, Particles), EngineError> {
        self.read_control()?;
        let control = self.last;
        // A step that some blocks have not finished is not counted, and its positions are still those of now.
        let whole = control.finished == 0;
        let (step, parity) = if whole {
            (control.step, control.parity ^ 1)
        } else {
            (control.step + 1, control.parity)
        };
        let state = self.download_with(parity)?;
        let (region, slots) = (self.region(&self.frame()?), self.layout.slots());
        let mut out = like.clone();
        out.images.resize(like.len(), [0; 3]);
        for (slot, &id) in state.used(&control) {
            let i = id as usize;
            // The lower halves are those of the step that went wrong.
            let s = std::array::from_fn(|k| f64::from(state.pos[4 * slot + k]) / 2.0_f64.powi(32));
            out.positions[i] = region.position(s);
            out.velocities[i] = Vec3::from(std::array::from_fn(|k| state.velocities[k * slots + slot]));
            out.images[i] = std::array::from_fn(|k| state.images[k * slots + slot]);
        }
        Ok((step, out))
    }

    fn saved(&mut self) -> Result<Vec<u8>, EngineError> {
        self.state_saved()
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(u64, u32), EngineError> {
        self.state_restored(saved)
    }

    fn large(&mut self) -> Option<&mut Resident> {
        Some(self)
    }
}
