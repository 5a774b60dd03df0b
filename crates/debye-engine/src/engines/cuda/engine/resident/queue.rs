//! What a graph holds: the kernels of lists and steps, in their order.

use std::cell::RefCell;

use super::super::constraints::ConstraintKernels;
use super::super::kernels::{Control, DUE_ALWAYS, DUE_WITH_SUMS, DUE_WITHOUT_SUMS, OnWorld, Setup, World};
use super::super::layout::BLOCK;
use super::super::mesh::Request;
use super::super::watch::{Bytes, Counted};
use super::Resident;
use debye_gpu::primitives::CountingSort;
use debye_gpu::{Bundle, CudaError, Shape, Stream};

/// Queues a kernel of the constraints.
type QueueConstraints = fn(&ConstraintKernels, &Stream, &Bundle<World>, Setup) -> Result<(), CudaError>;

/// Upper halves, forces, stages and lists.
const OF_PAIRS: Bytes = |n| n.slots * (16.0 + 24.0) + 4.0 * n.staged + n.listed;

impl Resident {
    /// A list if there must be one, and so many steps; perhaps only where steps are left.
    pub(super) fn capture(&mut self, steps: u32, if_left: bool) -> Result<Counted, CudaError> {
        let work = |resident: &mut Self, s: &Stream| {
            resident.queue_rebuild(s)?;
            (0..steps).try_for_each(|number| resident.queue_step(s, number))
        };
        if !if_left {
            return self.capture_with(work);
        }
        let (stream, before) = (self.device.stream()?, self.watch.recording());
        let this = RefCell::new(self);
        let decide = |s: &Stream, condition| {
            let resident = this.borrow();
            let shape = Shape::new(1, 32);
            resident
                .kernels
                .steps_left
                .launch(s, shape, (&resident.world, condition))
        };
        let graph = stream.capture_if(decide, |s| work(&mut this.borrow_mut(), s))?;
        let launches = this.borrow().watch.recorded(before);
        Ok(Counted { graph, launches })
    }

    pub(super) fn capture_with(
        &mut self,
        work: impl FnOnce(&mut Self, &Stream) -> Result<(), CudaError>,
    ) -> Result<Counted, CudaError> {
        let stream = self.device.stream()?;
        let before = self.watch.recording();
        let graph = stream.capture(|s| work(self, s))?;
        let launches = self.watch.recorded(before);
        Ok(Counted { graph, launches })
    }

    /// Queues a kernel; `bytes` is what it must move at least.
    pub(super) fn launch(
        &self,
        s: &Stream,
        kernel: &OnWorld,
        shape: Shape,
        bytes: Bytes,
    ) -> Result<(), CudaError> {
        let queue = || kernel.launch(s, shape, (&self.world, self.setup));
        self.watch.around(s, kernel.name(), 1, bytes, queue)
    }

    pub(super) fn queue_rebuild(&mut self, s: &Stream) -> Result<(), CudaError> {
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
    pub(in super::super) fn queue_lists(&self, s: &Stream) -> Result<(), CudaError> {
        let k = &self.kernels;
        self.launch(s, &k.boxes, self.bodies(0), |n| {
            16.0 * n.slots + 9.0 * 32.0 * n.blocks
        })?;
        // Boxes, and the positions of what may be near; stages.
        self.launch(s, &k.stages, self.blocks(self.layout.near_shared()), |n| {
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

    /// Bonded terms before the steps that they are due for: `Setup::due`.
    fn queue_bonded(&self, s: &Stream, due: u32) -> Result<(), CudaError> {
        let Some(bonded) = &self.bonded else {
            return Ok(());
        };
        let mut setup = self.setup;
        setup.due = due;
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
    pub(super) fn queue_links(&self, s: &Stream, due: u32) -> Result<(), CudaError> {
        if self.moved_by_links() {
            self.queue_bonded(s, due)
        } else {
            Ok(())
        }
    }

    /// Whether bonded terms move anybody, or change the cell.
    fn moved_by_links(&self) -> bool {
        let scales = self.rules.scale_every > 0;
        self.bonded.as_ref().is_some_and(|links| !links.inert || scales)
    }

    /// Forces of the mesh at the positions of now, on top of those of bonded terms.
    pub(super) fn queue_mesh(&mut self, s: &Stream, asked: Request) -> Result<(), CudaError> {
        let add = self.moved_by_links() || asked.sums && self.bonded.is_some();
        let Some(mesh) = &mut self.mesh else {
            return Ok(());
        };
        let forces = &mut self.arrays.bonded;
        for stage in mesh.stages() {
            let ((name, bytes), launches) = (stage.watched(), mesh.launches(stage));
            let queue = || mesh.queue(s, stage, forces, (&self.world, self.setup), add, asked);
            self.watch.around(s, name, launches, bytes, queue)?;
        }
        Ok(())
    }

    /// Kernels of constraints, for steps without sums or those with: `Setup::due`.
    fn queue_constraints(&self, s: &Stream, queue: QueueConstraints, due: u32) -> Result<(), CudaError> {
        let Some(constrained) = &self.constrained else {
            return Ok(());
        };
        let mut setup = self.setup;
        setup.due = due;
        let queued = || queue(constrained, s, &self.world, setup);
        // At most all particles: place, what moves both ways, the list's position and the new place; and all forces.
        let motion: Bytes = |n| n.slots * (3.0 * 16.0 + 2.0 * n.moving);
        let step: Bytes = |n| n.slots * (3.0 * 16.0 + 2.0 * n.moving + 48.0);
        if due == DUE_WITHOUT_SUMS && constrained.steps_alone(&self.setup) {
            self.watch.around(s, "step", 1, step, queued)
        } else {
            self.watch.around(s, "constraints", 1, motion, queued)
        }
    }

    /// A step of a graph, or without one: the kernels of plain steps, and every so many of those the kernels of steps
    /// that need sums. Each returns at once if it is not due.
    pub(super) fn queue_step(&mut self, s: &Stream, number: u32) -> Result<(), CudaError> {
        let plain = !self.rules.always();
        let due = number.is_multiple_of(self.rules.spacing());
        if plain {
            self.queue_plain(s)?;
        }
        if self.kernels.split.is_none() || !due {
            return Ok(());
        }
        self.with_side(|resident, side| resident.queue_beside_sums(s, side))?;
        self.queue_split(s)
    }

    /// Forces of a step that needs sums, as far as they can be found side by side.
    fn queue_beside_sums(&mut self, s: &Stream, side: Option<&Stream>) -> Result<(), CudaError> {
        let rest = side.unwrap_or(s);
        if let Some(side) = side {
            side.wait_for(s)?;
        }
        let plain = !self.rules.always();
        // What came before may have been the step before.
        self.queue_links(rest, if plain { DUE_WITH_SUMS } else { DUE_ALWAYS })?;
        // A barostat asks for the virial.
        let (sums, due) = (self.rules.scale_every > 0, DUE_WITH_SUMS);
        self.queue_mesh(rest, Request { sums, due })?;
        // Where it does, one kernel finds the forces of pairs with it.
        if let Some(pairs) = self.kernels.pairs.as_ref().filter(|_| self.rules.sums_alone()) {
            let (mut setup, shape) = (self.setup, self.blocks(self.case().step_shared()));
            setup.due = due;
            let queue = || pairs.launch(s, shape, (&self.world, setup));
            self.watch.around(s, pairs.name(), 1, OF_PAIRS, queue)?;
        }
        match side {
            Some(side) => s.wait_for(side),
            None => Ok(()),
        }
    }

    /// The kernels of a step that needs no sums. Pairs and the mesh know nothing of each other.
    fn queue_plain(&mut self, s: &Stream) -> Result<(), CudaError> {
        self.with_side(|resident, side| resident.queue_beside(s, side))?;
        self.queue_constraints(s, ConstraintKernels::queue_step, DUE_WITHOUT_SUMS)
    }

    /// With a stream for what can be done beside pairs, where there is a mesh.
    pub(super) fn with_side(
        &mut self,
        work: impl FnOnce(&mut Self, Option<&Stream>) -> Result<(), CudaError>,
    ) -> Result<(), CudaError> {
        let beside = self.mesh.is_some() && !self.watch.timing();
        let side = self.side.take_if(|_| beside);
        let queued = work(self, side.as_ref());
        self.side = side.or(self.side.take());
        queued
    }

    /// The kernels of a step that needs no sums, up to constraints, with a stream for what can be done beside pairs.
    fn queue_beside(&mut self, s: &Stream, side: Option<&Stream>) -> Result<(), CudaError> {
        let rest = side.unwrap_or(s);
        if let Some(side) = side {
            side.wait_for(s)?;
        }
        let links_due = if self.kernels.split.is_some() {
            DUE_WITHOUT_SUMS
        } else {
            DUE_ALWAYS
        };
        self.queue_links(rest, links_due)?;
        let (sums, due) = (false, DUE_WITHOUT_SUMS);
        self.queue_mesh(rest, Request { sums, due })?;
        let (k, shape) = (&self.kernels, self.blocks(self.case().step_shared()));
        // Upper halves read and written, the list's positions, what moves both ways, id and rows; stages, lists.
        let bytes: Bytes = |n| n.slots * (3.0 * 16.0 + 2.0 * n.moving + 6.0) + 4.0 * n.staged + n.listed;
        match &k.pairs {
            Some(pairs) => {
                self.launch(s, pairs, shape, OF_PAIRS)?;
                if let Some(side) = side {
                    s.wait_for(side)?;
                }
                if self
                    .constrained
                    .as_ref()
                    .is_some_and(|constrained| constrained.steps_alone(&self.setup))
                {
                    return Ok(());
                }
                let of_motion: Bytes = |n| n.slots * (3.0 * 16.0 + 2.0 * n.moving + 4.0 + 48.0);
                self.launch(s, &k.step, self.blocks(0), of_motion)
            }
            None => self.launch(s, &k.step, shape, bytes),
        }
    }

    /// What follows in a step that needs sums.
    fn queue_split(&self, s: &Stream) -> Result<(), CudaError> {
        let (k, shape) = (&self.kernels, self.blocks(self.case().step_shared()));
        match &k.split {
            Some(split) => {
                // Upper halves, what moves and forces; those of pairs, or stages and lists.
                let beside: Bytes = |n| n.slots * (16.0 + n.moving + 48.0);
                let alone: Bytes = |n| n.slots * (16.0 + n.moving + 24.0 + 2.0) + 4.0 * n.staged + n.listed;
                if let Some(forces) = &split.forces_sums {
                    match k.pairs {
                        Some(_) => self.launch(s, forces, self.blocks(0), beside)?,
                        None => self.launch(s, forces, shape, alone)?,
                    }
                }
                if let Some(forces) = &split.forces_sums_virial {
                    self.launch(s, forces, shape, alone)?;
                }
                self.queue_constraints(s, ConstraintKernels::queue_sums, DUE_WITH_SUMS)?;
                let bytes: Bytes = |n| n.slots * (3.0 * 16.0 + 2.0 * n.moving + 24.0 + 4.0);
                self.launch(s, &split.moves, self.blocks(0), bytes)?;
                self.queue_constraints(s, ConstraintKernels::queue_motion, DUE_WITH_SUMS)?;
                self.queue_constraints(s, ConstraintKernels::queue_reshape, DUE_WITH_SUMS)
            }
            _ => Ok(()),
        }
    }

    /// A thread for every body, with so much shared memory.
    pub(super) fn bodies(&self, shared: u32) -> Shape {
        Shape::new(self.layout.blocks as u32, self.layout.grain.bodies() as u32).shared(shared)
    }

    /// A thread for every slot, with so much shared memory.
    pub(super) fn blocks(&self, shared: u32) -> Shape {
        Shape::new(self.layout.blocks as u32, BLOCK as u32).shared(shared)
    }
}
