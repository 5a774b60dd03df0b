//! [`Resident`]: everything that lives on the device, and the graphs that work on it.

use crate::backend::EngineError;
use crate::backend::cuda::{Buffer, Bundle, CudaError, Device, Graph, Shape, Stream};
use crate::expr::Vec3;
use crate::system::{Cell, Particles};

use super::arrays::{Arrays, Numbers, world};
use super::kernels::{Control, Kernels, Setup, Values, World, setup};
use super::layout::{BLOCK, Layout};
use super::skeleton::Skeleton;
use super::state::{NOBODY, State, fraction};
use super::terms::Terms;

/// A simulation in device memory.
pub(super) struct Resident {
    device: Device,
    stream: Stream,
    pub(super) layout: Layout,
    terms: Terms,
    values: Values,
    setup: Setup,
    kernels: Kernels,
    arrays: Arrays,
    world: Bundle<World>,
    control: Buffer<Control>,
    numbers: Numbers,
    /// A new list if needed, and this many steps.
    steps_of_graph: u32,
    graph: Option<Graph>,
    rebuild: Option<Graph>,
    last: Control,
    pair_terms: usize,
}

impl Resident {
    pub(super) fn new(
        device: &Device,
        layout: Layout,
        terms: Terms,
        values: Values,
    ) -> Result<Self, EngineError> {
        let stream = device.stream()?;
        let pair_terms = terms.count;
        let kernels = Kernels::new(device, &layout, &terms)?;
        let arrays = Arrays::new(device, &layout, pair_terms)?;
        let numbers = Numbers::new(device, &terms)?;
        let control = device.upload(&[Control::default()])?;
        Ok(Self {
            setup: setup(&layout, &values),
            world: world(&control, &arrays, &numbers),
            control,
            numbers,
            device: device.clone(),
            stream,
            layout,
            terms,
            values,
            kernels,
            arrays,
            steps_of_graph: 8,
            graph: None,
            rebuild: None,
            last: Control::default(),
            pair_terms,
        })
    }

    pub(super) fn builds(&self) -> u32 {
        self.last.builds
    }

    pub(super) fn pairs(&self) -> usize {
        (u64::from(self.last.pairs[0]) | u64::from(self.last.pairs[1]) << 32) as usize
    }

    pub(super) fn bytes(&self) -> usize {
        self.arrays.bytes()
    }

    /// Puts particles into slots in their own order; the list is stale.
    pub(super) fn place(&mut self, particles: &Particles, cell: &Cell) -> Result<(), EngineError> {
        let n = particles.len();
        let slots = self.layout.slots();
        let (mut pos, mut low) = (vec![0_u32; 4 * slots], vec![0_u32; 3 * slots]);
        let (mut velocities, mut images) = (vec![0.0; 3 * slots], vec![0_i32; 3 * slots]);
        let mut ids = vec![NOBODY; slots];
        for slot in 0..slots {
            pos[4 * slot + 3] = NOBODY;
        }
        for i in 0..n {
            let (inside, shift) = cell.wrap(particles.positions[i]);
            let s = cell.fractional(inside);
            for k in 0..3 {
                let at = fraction(s[k]);
                pos[4 * i + k] = (at >> 32) as u32;
                low[k * slots + i] = at as u32;
                velocities[k * slots + i] = particles.velocities[i][k];
                images[k * slots + i] = particles.images.get(i).map_or(0, |image| image[k]) + shift[k];
            }
            pos[4 * i + 3] = self.terms.kind_of[i];
            ids[i] = i as u32;
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
            blocks: n.div_ceil(BLOCK) as u32,
            ..Control::default()
        };
        Ok(self.write_control()?)
    }

    /// Puts a state into the first half of everything.
    pub(super) fn upload(&mut self, state: &State) -> Result<(), CudaError> {
        let slots = self.layout.slots();
        let (a, s) = (&mut self.arrays, &self.stream);
        s.upload(&state.pos, a.pos.part_mut(0..4 * slots))?;
        s.upload(&state.low, a.low.part_mut(0..3 * slots))?;
        s.upload(&state.velocities, a.velocities.part_mut(0..3 * slots))?;
        s.upload(&state.images, a.images.part_mut(0..3 * slots))?;
        s.upload(&state.ids, a.ids.part_mut(0..slots))?;
        s.synchronise()
    }

    /// The state as it is now.
    pub(super) fn download(&mut self) -> Result<State, CudaError> {
        self.read_control()?;
        let slots = self.layout.slots();
        let (a, s) = (&self.arrays, &self.stream);
        let (p, h) = (self.last.parity as usize, self.last.side as usize);
        let half = |which: usize, length: usize| which * length..(which + 1) * length;
        Ok(State {
            pos: s.download_part(a.pos.part(half(p, 4 * slots)))?,
            low: s.download_part(a.low.part(half(h, 3 * slots)))?,
            velocities: s.download_part(a.velocities.part(half(h, 3 * slots)))?,
            images: s.download_part(a.images.part(half(h, 3 * slots)))?,
            ids: s.download_part(a.ids.part(half(h, slots)))?,
        })
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
                self.stream.replay(&graph)?;
            }
            self.graph = Some(graph);
            self.read_control()?;
            let (steps, lists) = (self.last.step - step, u64::from(self.last.builds - builds));
            if lists == 0 && steps >= 4 * u64::from(self.steps_of_graph) && self.steps_of_graph < 64 {
                self.steps_of_graph = (2 * self.steps_of_graph).min(64);
                self.graph = None;
            } else if lists >= 8 {
                // One list to a graph: as many steps as a list lasts, and one more.
                let fitting = (steps / lists + 1).clamp(1, 64) as u32;
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
            self.stream.replay(&graph)?;
            self.rebuild = Some(graph);
            self.read_control()?;
            self.check()?;
        }
        Ok(())
    }

    /// Reports what went wrong, makes room for what did not fit.
    fn check(&mut self) -> Result<(), EngineError> {
        if self.last.lost != 0 {
            return Err(EngineError::Lost {
                step: self.last.step,
                particle: self.last.lost - 1,
            });
        }
        if self.last.overflow != 0 {
            self.grow()?;
        }
        Ok(())
    }

    fn grow(&mut self) -> Result<(), EngineError> {
        let state = self.download()?;
        let layout = self.layout.grown(self.last.needed)?;
        let old = self.layout.slots();
        self.relayout(layout)?;
        self.upload(&state.moved(old, layout.slots()))?;
        self.last = Control {
            step: self.last.step,
            target: self.last.target,
            stale: 1,
            blocks: self.last.blocks,
            builds: self.last.builds,
            ..Control::default()
        };
        Ok(self.write_control()?)
    }

    fn capture(&mut self, steps: u32) -> Result<Graph, CudaError> {
        let stream = self.device.stream()?;
        stream.capture(|s| {
            self.queue_rebuild(s)?;
            (0..steps).try_for_each(|_| self.queue_step(s))
        })
    }

    fn queue_rebuild(&mut self, s: &Stream) -> Result<(), CudaError> {
        let given = || (&self.world, self.setup);
        let k = &self.kernels;
        k.keys
            .launch(s, Shape::covering(self.layout.slots(), 256), given())?;
        let a = &mut self.arrays;
        a.sort.sort(s, a.keys.all(), a.order.all_mut(), &mut a.starts)?;
        k.columns.launch(s, Shape::new(1, 1024), given())?;
        k.place.launch(s, self.blocks(0), given())?;
        self.queue_lists(s)
    }

    /// Boxes and lists of the reference positions.
    pub(super) fn queue_lists(&self, s: &Stream) -> Result<(), CudaError> {
        let given = || (&self.world, self.setup);
        let k = &self.kernels;
        k.boxes.launch(s, self.blocks(0), given())?;
        k.lists
            .launch(s, self.blocks(self.layout.list_shared()), given())?;
        k.commit.launch(s, Shape::new(1, 32), given())
    }

    fn queue_step(&self, s: &Stream) -> Result<(), CudaError> {
        let shape = self.blocks(self.layout.step_shared());
        self.kernels.step.launch(s, shape, (&self.world, self.setup))
    }

    /// A thread for every slot, with so much shared memory.
    fn blocks(&self, shared: u32) -> Shape {
        Shape::new(self.layout.blocks as u32, BLOCK as u32).shared(shared)
    }

    /// Forces; energies by term, virial and Σ m v⊗v. The list must be good.
    pub(super) fn evaluate(&mut self) -> Result<Vec<f64>, EngineError> {
        let shape = self.blocks(self.layout.step_shared());
        let given = (&self.world, self.setup);
        self.kernels.evaluate.launch(&self.stream, shape, given)?;
        let width = self.pair_terms + 12;
        let used = self.last.blocks as usize * width;
        let parts = self.stream.download_part(self.arrays.partial.part(0..used))?;
        let mut sums = vec![0.0; width];
        for block in parts.chunks_exact(width) {
            sums.iter_mut().zip(block).for_each(|(sum, x)| *sum += x);
        }
        Ok(sums)
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
            let inverse_mass = self.terms.kinds[4 * kind as usize];
            for k in 0..3 {
                let at = k * slots + slot;
                state.velocities[at] -= 0.5 * self.values.dt * inverse_mass * forces[at];
            }
        }
        let half = self.last.side as usize * 3 * slots;
        let to = self.arrays.velocities.part_mut(half..half + 3 * slots);
        self.stream.upload(&state.velocities, to)?;
        Ok(self.stream.synchronise()?)
    }

    /// Particles as they are now, in the order of the input.
    pub(super) fn particles(&mut self, like: &Particles, cell: &Cell) -> Result<Particles, EngineError> {
        self.settle()?;
        self.evaluate()?;
        let state = self.download()?;
        let forces = self.stream.download(&self.arrays.forces)?;
        let slots = self.layout.slots();
        let mut out = like.clone();
        out.images.resize(like.len(), [0; 3]);
        for (slot, &id) in state.used(&self.last) {
            let i = id as usize;
            let inverse_mass = self.terms.kinds[4 * state.pos[4 * slot + 3] as usize];
            let s: [f64; 3] = std::array::from_fn(|k| {
                let at = u64::from(state.pos[4 * slot + k]) << 32 | u64::from(state.low[k * slots + slot]);
                at as f64 / 2.0_f64.powi(64)
            });
            out.positions[i] = cell.position(Vec3::from(s));
            out.velocities[i] = Vec3::from(std::array::from_fn(|k| {
                let at = k * slots + slot;
                state.velocities[at] + 0.5 * self.values.dt * inverse_mass * forces[at]
            }));
            out.images[i] = std::array::from_fn(|k| state.images[k * slots + slot]);
        }
        Ok(out)
    }

    /// Forces in the order of the input.
    pub(super) fn forces(&mut self) -> Result<Vec<Vec3<f64>>, EngineError> {
        self.settle()?;
        self.evaluate()?;
        let state = self.download()?;
        let forces = self.stream.download(&self.arrays.forces)?;
        let slots = self.layout.slots();
        let mut out = vec![Vec3::zero(); self.terms.kind_of.len()];
        for (slot, &id) in state.used(&self.last) {
            out[id as usize] = Vec3::from(std::array::from_fn(|k| forces[k * slots + slot]));
        }
        Ok(out)
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
    ) -> Result<(), CudaError> {
        let a = &mut self.arrays;
        self.stream.upload(reference, a.reference.all_mut())?;
        self.stream.upload(block_column, a.block_column.all_mut())?;
        self.stream.upload(column_blocks, a.column_blocks.all_mut())?;
        // The commit changes sides.
        let Control {
            parity, side, builds, ..
        } = self.last;
        self.last.parity = parity ^ 1;
        self.last.side = side ^ 1;
        self.last.building = 1;
        self.last.builds = builds.wrapping_sub(1);
        self.write_control()?;
        let stream = self.device.stream()?;
        self.queue_lists(&stream)?;
        stream.synchronise()?;
        self.read_control()
    }

    /// Another layout, with everything anew.
    pub(super) fn relayout(&mut self, layout: Layout) -> Result<(), CudaError> {
        self.graph = None;
        self.rebuild = None;
        self.layout = layout;
        self.setup = setup(&layout, &self.values);
        self.kernels = Kernels::new(&self.device, &layout, &self.terms)?;
        self.arrays = Arrays::new(&self.device, &layout, self.pair_terms)?;
        self.world = world(&self.control, &self.arrays, &self.numbers);
        Ok(())
    }
}

impl Skeleton for Resident {
    fn place(&mut self, particles: &Particles, cell: &Cell) -> Result<(), EngineError> {
        Self::place(self, particles, cell)
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

    fn evaluate(&mut self) -> Result<Vec<f64>, EngineError> {
        Self::evaluate(self)
    }

    fn particles(&mut self, like: &Particles, cell: &Cell) -> Result<Particles, EngineError> {
        Self::particles(self, like, cell)
    }

    fn forces(&mut self) -> Result<Vec<Vec3<f64>>, EngineError> {
        Self::forces(self)
    }

    fn builds(&self) -> u32 {
        Self::builds(self)
    }

    fn pairs(&self) -> usize {
        Self::pairs(self)
    }

    fn bytes(&self) -> usize {
        Self::bytes(self)
    }

    fn saved(&mut self) -> Result<Vec<u8>, EngineError> {
        self.state_saved()
    }

    fn restore(&mut self, saved: &[u8]) -> Result<u64, EngineError> {
        self.restored(saved)
    }
}
