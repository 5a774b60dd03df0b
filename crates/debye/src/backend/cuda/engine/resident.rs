//! [`Resident`]: everything that lives on the device, and the graphs that work on it.

use crate::backend::cuda::{Buffer, Bundle, CudaError, Device, Graph, Shape, Stream};
use crate::backend::{EngineError, Precision};
use crate::expr::Vec3;
use crate::system::Particles;

use super::arrays::{self, Arrays, Numbers, world};
use super::bonded::{Bonded, LinkSums, LinkTables};
use super::frame::{Frame, Region};
use super::kernels::{Case, Control, Kernels, Setup, Values, World, setup};
use super::layout::{BLOCK, Layout};
use super::rules::{DeviceBath, Fire, Rules};
use super::state::{NOBODY, State, fraction};
use super::terms::Terms;

/// A simulation in device memory.
pub(super) struct Resident {
    device: Device,
    stream: Stream,
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
    graph: Option<Graph>,
    rebuild: Option<Graph>,
    last: Control,
    bonded: Option<Bonded>,
}

/// Sums over all particles.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    pub(super) energies: Vec<f64>,
    pub(super) virial: [f64; 6],
    /// Σ m v⊗v and Σ m v of every group.
    pub(super) groups: Vec<([f64; 6], [f64; 3])>,
}

/// What happens to the velocities of a group: v becomes v × factor − shift.
pub(super) type Change = (f64, [f64; 3]);

impl Resident {
    pub(super) fn new(
        device: &Device,
        layout: Layout,
        terms: Terms,
        rules: Rules,
        links: Option<&LinkTables>,
        values: Values,
    ) -> Result<Self, EngineError> {
        let case = Case {
            layout: &layout,
            terms: &terms,
            rules: &rules,
            region: &values.region,
            bonded: links.is_some(),
        };
        let bonded = links.map(|links| Bonded::new(device, links, case)).transpose()?;
        let kernels = Kernels::new(device, case)?;
        let arrays = Arrays::new(device, case)?;
        let frame = values.region.frame(values.radius, values.cutoff);
        let numbers = Numbers::new(device, &terms, &rules, frame)?;
        let control = device.upload(&[Control::default()])?;
        Ok(Self {
            setup: setup(&layout, &values, &rules),
            world: world(&control, &arrays, &numbers),
            control,
            numbers,
            stream: device.stream()?,
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
        })
    }

    fn case(&self) -> Case<'_> {
        Case {
            layout: &self.layout,
            terms: &self.terms,
            rules: &self.rules,
            region: &self.values.region,
            bonded: self.bonded.is_some(),
        }
    }

    pub(super) fn builds(&self) -> u32 {
        self.last.builds
    }

    pub(super) fn held(&self) -> u32 {
        self.last.held
    }

    pub(super) fn pairs(&self) -> usize {
        (u64::from(self.last.pairs[0]) | u64::from(self.last.pairs[1]) << 32) as usize
    }

    pub(super) fn bytes(&self) -> usize {
        self.arrays.bytes() + self.bonded.as_ref().map_or(0, Bonded::bytes)
    }

    /// Puts particles into slots in their own order; the list is stale.
    pub(super) fn place(&mut self, particles: &Particles) -> Result<(), EngineError> {
        let (n, region) = (particles.len(), self.values.region);
        let slots = self.layout.slots();
        let (mut pos, mut low) = (vec![0_u32; 4 * slots], vec![0_u32; 3 * slots]);
        let (mut velocities, mut images) = (vec![0.0; 3 * slots], vec![0_i32; 3 * slots]);
        let mut ids = vec![NOBODY; slots];
        for slot in 0..slots {
            pos[4 * slot + 3] = NOBODY;
        }
        for i in 0..n {
            let (inside, shift) = region.cell.wrap(particles.positions[i]);
            let s = region.fractional(inside);
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
            split: u32::from(self.rules.needs_sums(0)),
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
        let (a, s) = (&mut self.arrays, &self.stream);
        s.upload(&state.pos, a.pos.part_mut(0..4 * slots))?;
        if !single {
            s.upload(&state.low, a.low.part_mut(0..3 * slots))?;
        }
        let velocities = arrays::words(&state.velocities, !single);
        s.upload(&velocities, a.velocities.part_mut(0..velocities.len()))?;
        s.upload(&state.images, a.images.part_mut(0..3 * slots))?;
        s.upload(&state.ids, a.ids.part_mut(0..slots))?;
        if self.bonded.is_some() {
            s.upload(&state.slot_of(), a.slot_of.part_mut(0..slots))?;
        }
        s.synchronise()
    }

    /// The state as it is now.
    pub(super) fn download(&mut self) -> Result<State, CudaError> {
        self.read_control()?;
        let (slots, single) = (self.layout.slots(), self.is(Precision::Single));
        let (a, s) = (&self.arrays, &self.stream);
        let (p, h) = (self.last.parity as usize, self.last.side as usize);
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
        if self.last.torn != 0 {
            return Err(EngineError::Cell {
                step: self.last.step,
                why: "its pressure cannot be followed".into(),
            });
        }
        if self.last.overflow != 0 {
            self.grow()?;
        }
        Ok(())
    }

    fn grow(&mut self) -> Result<(), EngineError> {
        let mut state = self.download()?;
        let old = self.layout.slots();
        let layout = if self.last.needed[7] > 0 {
            self.other_region(&mut state)?
        } else {
            self.layout.grown(self.last.needed)?
        };
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
        let fractions: Vec<_> = used.iter().map(|&slot| state.fractions(slot, slots)).collect();
        Layout::new(&fractions, &self.values.region, radius)
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
        k.stages.launch(s, self.blocks(0), given())?;
        k.lists
            .launch(s, self.blocks(self.layout.list_shared()), given())?;
        k.commit.launch(s, Shape::new(1, 32), given())
    }

    fn queue_step(&self, s: &Stream) -> Result<(), CudaError> {
        if let Some(bonded) = &self.bonded {
            bonded.queue(s, &self.world, self.setup)?;
        }
        let shape = self.blocks(self.case().step_shared());
        let given = || (&self.world, self.setup);
        if self.rules.baths.is_empty() {
            self.kernels.step.launch(s, shape, given())?;
        }
        if let Some([pull, moves]) = &self.kernels.split {
            pull.launch(s, shape, given())?;
            moves.launch(s, self.blocks(0), given())?;
        }
        Ok(())
    }

    /// A thread for every slot, with so much shared memory.
    fn blocks(&self, shared: u32) -> Shape {
        Shape::new(self.layout.blocks as u32, BLOCK as u32).shared(shared)
    }

    /// Forces, energies by term, virial and what velocities sum to. The list must be good.
    pub(super) fn evaluate(&mut self) -> Result<Sums, EngineError> {
        let links = self.bonded_sums()?;
        let shape = self.blocks(self.case().step_shared());
        let given = (&self.world, self.setup);
        self.kernels.evaluate.launch(&self.stream, shape, given)?;
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
        };
        if let Some((energies, virial)) = links {
            sums.energies.extend(energies);
            sums.virial.iter_mut().zip(virial).for_each(|(sum, x)| *sum += x);
        }
        Ok(sums)
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
        self.last.split = u32::from(self.rules.needs_sums(step));
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
                if let Some(bonded) = &self.bonded {
                    bonded.queue(&stream, &self.world, self.setup)?;
                }
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
        self.setup = setup(&layout, &self.values, &self.rules);
        self.kernels = Kernels::new(&self.device, self.case())?;
        // The old arrays go first: both need not fit.
        self.arrays = Arrays::new(&self.device, self.case())?;
        if let Some(bonded) = &mut self.bonded {
            bonded.resize(&self.device, layout.blocks)?;
        }
        self.world = world(&self.control, &self.arrays, &self.numbers);
        Ok(())
    }
}
