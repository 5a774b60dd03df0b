//! [`Resident`]: everything that lives on the device, and the graphs that work on it.

mod queue;
mod snapshot;
mod steps;
mod sums;
mod transfer;

pub(super) use sums::{GROUP_SUMS, Sums, VIRIAL_SUMS};

use std::mem::offset_of;
use std::time::Instant;

use snapshot::Places;
use steps::StepGraphs;

use super::arrays::{Arrays, Numbers, world};
use super::bonded::Bonded;
use super::constraints::ConstraintKernels;
use super::count::{PairCounting, Slots};
use super::frame::{Frame, Region};
use super::kernels::{Control, KernelConfig, Kernels, Setup, Values, World, setup};
use super::layout::{BLOCK, Layout};
use super::mesh::{MeshForces, Within};
use super::needs::{self, Tables};
use super::parts::{Parts, refuse_short};
use super::rules::Rules;
use super::skeleton::Skeleton;
use super::snapshot::{Snapshot, Snapshots};
use super::state::State;
use super::terms::Terms;
use super::watch::{Counted, Watch};
use crate::engines::ChargesOnDevice;
use crate::engines::{DeviceUse, EngineError, Needs, PairHistogram, Precision, Wanted};
use crate::expr::Vec3;
use crate::system::{Cell, Particles};
use debye_gpu::{Binder, Buffer, Bundle, CudaError, Device, Stream};

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
    graphs: StepGraphs,
    snapshots: Snapshots<Places>,
    snapshot_graph: Option<Counted>,
    /// The step that all that is queued leads to.
    aimed: u64,
    /// Steps that a list lasts.
    list_lasts: f64,
    /// Kernels that a graph has for each step.
    kernels_of_step: f64,
    last: Control,
    bonded: Option<Bonded>,
    mesh: Option<MeshForces>,
    constrained: Option<ConstraintKernels>,
    counting: Option<PairCounting>,
    needs: Needs,
    watch: Watch,
    /// Whether what is done now is a minimization.
    descends: bool,
}

/// What happens to the velocities of a group: v becomes v × factor − shift.
pub(super) type Change = (f64, [f64; 3]);

impl Resident {
    pub(super) fn new(device: &Device, parts: Parts) -> Result<Self, EngineError> {
        let case = parts.case();
        let needs = needs::check(device, case, parts.tables(), parts.values.radius)?;
        let links = parts.links.as_ref();
        let bonded = links.map(|links| Bonded::new(device, links, case)).transpose()?;
        let kernels = Kernels::new(device, case)?;
        let arrays = Arrays::new(device, case)?;
        let frame = parts
            .values
            .region
            .frame(parts.values.radius, parts.values.cutoff);
        let numbers = Numbers::new(device, &parts.terms, &parts.rules, frame)?;
        let control = device.upload(&[Control::default()])?;
        let within = Within {
            control: &control,
            pos: &arrays.pos,
            low: &arrays.low,
            reference: &arrays.reference,
            column_blocks: &arrays.column_blocks,
            frame: &numbers.frame,
            slots: parts.layout.slots(),
            grain: parts.layout.grain,
        };
        let mesh = parts.mesh.as_ref();
        let mesh = mesh
            .map(|mesh| MeshForces::new(device, mesh, within, case))
            .transpose()?;
        let constrained = parts.constrained.as_ref();
        let constrained = constrained
            .map(|constrained| ConstraintKernels::new(device, constrained.clone(), case))
            .transpose()?;
        let Parts {
            layout,
            terms,
            rules,
            values,
            ..
        } = parts;
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
            graphs: StepGraphs::default(),
            snapshots: Snapshots::default(),
            snapshot_graph: None,
            aimed: 0,
            list_lasts: f64::INFINITY,
            kernels_of_step: 1.0,
            last: Control::default(),
            bonded,
            mesh,
            constrained,
            counting: None,
            needs,
            watch: Watch::default(),
            descends: false,
        })
    }

    fn case(&self) -> KernelConfig<'_> {
        KernelConfig {
            layout: &self.layout,
            terms: &self.terms,
            rules: &self.rules,
            region: &self.values.region,
            bonded: self.bonded.is_some() || self.mesh.is_some(),
            meshed: self.mesh.is_some(),
            constrained: self.constrained.as_ref().map(ConstraintKernels::kinds),
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

    fn is(&self, precision: Precision) -> bool {
        self.terms.precision == precision
    }

    pub(super) fn control_mut(&mut self) -> &mut Control {
        &mut self.last
    }

    /// Reports what went wrong, makes room for what did not fit.
    fn check(&mut self) -> Result<(), EngineError> {
        self.check_constraints(self.last.step.saturating_sub(1))?;
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
        let full = self.last.overflow != 0;
        if let Some(mesh) = &mut self.mesh {
            mesh.check(&self.device, &self.stream)?;
        }
        if full {
            self.grow()?;
        }
        Ok(())
    }

    /// Reports a distance that could not be constrained in a step.
    fn check_constraints(&self, step: u64) -> Result<(), EngineError> {
        match &self.constrained {
            Some(constrained) if self.last.unsolved != 0 => Err(constrained.failed(self.last.unsolved, step)),
            _ => Ok(()),
        }
    }

    fn grow(&mut self) -> Result<(), EngineError> {
        self.read_control()?;
        let (shared, excludes) = (self.device.info().shared_per_block, self.terms.own_lists());
        let staged = self.terms.staged_bytes();
        if self.last.needed.frame == 0 {
            let layout = self.layout.grown(self.last.needed)?;
            let layout = layout.fitting(shared, staged, excludes)?;
            if layout.has_slots_of(&self.layout) {
                return self.enlarge_lists(layout);
            }
        }
        let mut state = self.download()?;
        let old = self.layout.slots();
        let layout = if self.last.needed.frame > 0 {
            self.other_region(&mut state)?
        } else {
            self.layout.grown(self.last.needed)?
        };
        let layout = layout.fitting(shared, staged, excludes)?;
        self.relayout(layout)?;
        self.upload(&state.moved(old, layout.slots()))?;
        self.last = self.without_list();
        Ok(self.write_control()?)
    }

    /// The words that steer, before a new list, with particles on the first sides.
    fn without_list(&self) -> Control {
        Control {
            step: self.last.step,
            target: self.last.target,
            stale: 1,
            blocks: self.last.blocks,
            split: self.last.split,
            builds: self.last.builds,
            limited: self.last.limited,
            ..Control::default()
        }
    }

    /// More room for lists alone: particles stay where they are.
    fn enlarge_lists(&mut self, layout: Layout) -> Result<(), EngineError> {
        self.graphs = StepGraphs::default();
        self.snapshot_graph = None;
        // The old lists go before the new ones come.
        (self.arrays.stages, self.arrays.lists) = (self.device.allocate(0)?, self.device.allocate(0)?);
        self.world = world(&self.control, &self.arrays, &self.numbers, self.mesh.as_ref());
        self.layout = layout;
        let needs = self.needs.clone();
        self.needs = needs::with_lists(&self.device, needs, self.case(), self.values.radius)?;
        self.setup = setup(&layout, &self.values, &self.rules);
        let _ahead = (self.device).compile_ahead(self.case().of_lists(self.descends));
        self.kernels = Kernels::new(&self.device, self.case())?;
        self.arrays.stages = self.device.allocate(layout.blocks * layout.stage)?;
        self.arrays.lists = self.device.allocate(layout.list_entries())?;
        self.world = world(&self.control, &self.arrays, &self.numbers, self.mesh.as_ref());
        self.last = Control {
            parity: self.last.parity,
            side: self.last.side,
            ..self.without_list()
        };
        Ok(self.write_control()?)
    }

    /// A layout for a cell that changed too much, or for particles that left the region: then theirs is a larger one.
    fn other_region(&mut self, state: &mut State) -> Result<Layout, EngineError> {
        let (old, radius) = (self.values.region, self.values.radius);
        let slots = self.layout.slots();
        let used: Vec<usize> = state.used(&self.last).slots().map(|(slot, _)| slot).collect();
        if old.open() == 0 {
            let mut frame = self.frame()?;
            self.values.region = old.with_frame(&frame);
            refuse_short(&self.values.region, radius)?;
            let half = 0.5 * (radius - self.values.cutoff);
            frame.limit2 = (half * half * 0.9999) as f32;
            self.set_frame(frame)?;
        } else if self.mesh.as_ref().is_some_and(|mesh| mesh.tables().is_slab()) {
            return Err(EngineError::Device(format!(
                "particles of a slab came nearer than {:.4} to the end of the cell that its vectors are summed in; a larger \
                 `slab_factor` makes room",
                1.5 * radius
            )));
        } else {
            let positions: Vec<_> = used
                .iter()
                .map(|&slot| old.position(state.fractions(slot, slots)))
                .collect();
            let grids = self.mesh.as_ref().and_then(|mesh| mesh.tables().spacing());
            let region = Region::around(&old.cell, &positions, radius).on_grid(grids);
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

    /// The region as a barostat left it.
    pub(super) fn region(&self, frame: &Frame) -> Region {
        if self.rules.scale_every > 0 {
            self.values.region.with_frame(frame)
        } else {
            self.values.region
        }
    }

    /// Forgets what was counted and timed so far.
    pub(super) fn forget(&mut self) {
        self.watch = Watch::default();
    }

    /// Another layout, with everything anew.
    pub(super) fn relayout(&mut self, layout: Layout) -> Result<(), EngineError> {
        self.graphs = StepGraphs::default();
        self.discard_plans();
        // The old arrays go before the new ones come.
        if let Some(counting) = &mut self.counting {
            counting.unbind();
        }
        self.layout = Layout {
            grain: layout.grain,
            ..Layout::smallest()
        };
        self.arrays = Arrays::new(&self.device, self.case())?;
        self.world = world(&self.control, &self.arrays, &self.numbers, self.mesh.as_ref());
        self.layout = layout;
        let tables = Tables {
            links: self.bonded.as_ref().map(Bonded::needs),
            constrained: self.constrained.as_ref().map(ConstraintKernels::bytes),
            mesh: self.mesh.as_ref().map_or(0, |mesh| mesh.tables().bytes()),
        };
        self.needs = needs::check(&self.device, self.case(), tables, self.values.radius)?;
        self.setup = setup(&layout, &self.values, &self.rules);
        let _ahead = (self.device).compile_ahead(self.case().of_lists(self.descends));
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
                low: &self.arrays.low,
                reference: &self.arrays.reference,
                column_blocks: &self.arrays.column_blocks,
                frame: &self.numbers.frame,
                slots: layout.slots(),
                grain: layout.grain,
            };
            mesh.rebind(
                &self.device,
                within,
                (&self.values.region, [&cells[0], &cells[1]]),
            )?;
        }
        self.world = world(&self.control, &self.arrays, &self.numbers, self.mesh.as_ref());
        Ok(self.bind_counting()?)
    }

    /// Tells what counts pairs where the particles are.
    fn bind_counting(&mut self) -> Result<(), CudaError> {
        let Some(mut counting) = self.counting.take() else {
            return Ok(());
        };
        let (a, slots, mut at) = (&self.arrays, self.layout.slots(), Binder::default());
        let [parity, side, blocks] = [
            offset_of!(Control, parity),
            offset_of!(Control, side),
            offset_of!(Control, blocks),
        ];
        let low_half = if self.is(Precision::Double) { parity } else { side };
        let low = a.low.all();
        let where_they_are = Slots {
            pos: at.address(&a.pos),
            parity: at.field(&self.control, parity),
            low: at.part(low),
            low_half: at.field(&self.control, low_half),
            ids: at.address(&a.ids),
            side: at.field(&self.control, side),
            blocks: at.field(&self.control, blocks),
            frame: at.address(&self.numbers.frame),
            at,
            slots,
            block: BLOCK,
            low_words: [3 * slots, 1, slots],
        };
        counting.bind(&self.device, where_they_are)?;
        self.needs.set("pairs by distance", counting.bytes());
        self.counting = Some(counting);
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

    fn refresh_list(&mut self) -> Result<(), EngineError> {
        Self::refresh_list(self)
    }

    fn snapshot(&mut self, wanted: Wanted) -> Result<Snapshot, EngineError> {
        Self::snapshot(self, wanted)
    }

    fn queue(&mut self, step: u64, wanted: Wanted) -> Result<u64, EngineError> {
        let began = Instant::now();
        let graphs = self.queue_until(step)?;
        self.queue_snapshot(wanted, wanted.needs_forces())?;
        self.watch.host_seconds += began.elapsed().as_secs_f64();
        Ok(graphs)
    }

    fn times(&self, step: u64) -> bool {
        let (first, last) = self.watch.span();
        first <= step && self.last.step < last
    }

    fn snapshot_arrived(&self) -> Result<bool, EngineError> {
        Ok(self.snapshots.arrived()?)
    }

    fn next_snapshot(&mut self, step: u64) -> Result<Option<Snapshot>, EngineError> {
        Self::next_snapshot(self, step)
    }

    fn discard_snapshots(&mut self) -> Result<(), EngineError> {
        self.snapshots.forget();
        Ok(self.stream.synchronize()?)
    }

    fn forces(&mut self) -> Result<Vec<Vec3<f64>>, EngineError> {
        Self::forces(self)
    }

    fn torques(&mut self) -> Result<Vec<Vec3<f64>>, EngineError> {
        Self::torques(self)
    }

    fn set_step(&mut self, step: u64) -> Result<(), EngineError> {
        Ok(Self::set_step(self, step)?)
    }

    fn cell(&self) -> Result<Option<Cell>, EngineError> {
        let moves = self.rules.scale_every > 0;
        Ok(if moves {
            Some(self.region(&self.frame()?).cell)
        } else {
            None
        })
    }

    fn charges_on_device(&self) -> Result<Option<ChargesOnDevice>, EngineError> {
        self.stream.synchronize()?;
        Ok(self.mesh.as_ref().map(|mesh| ChargesOnDevice {
            device: self.device.clone(),
            particles: mesh.now(),
        }))
    }

    fn count_pairs(&mut self, of: &[PairHistogram], species: &[u32]) -> Result<u32, EngineError> {
        let region = self.region(&self.frame()?);
        self.counting = PairCounting::new(&self.device, of, species, &region)?;
        self.discard_plans();
        match self.bind_counting() {
            // They are counted from particles then.
            Err(CudaError::OutOfMemory { .. }) => self.counting = None,
            bound => bound?,
        }
        Ok(self.counting.as_ref().map_or(0, PairCounting::bits))
    }

    fn limited(&self) -> u32 {
        self.last.limited
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
        for (slot, i) in state.used(&control).slots() {
            // The lower halves are those of the step that went wrong.
            let s = std::array::from_fn(|k| f64::from(state.pos[4 * slot + k]) / 2.0_f64.powi(32));
            out.positions[i] = region.position(s);
            out.velocities[i] = Vec3::from(std::array::from_fn(|k| state.velocities[k * slots + slot]));
            out.images[i] = std::array::from_fn(|k| state.images[k * slots + slot]);
            if let Some(turn) = out.orientations.rotations.get_mut(i) {
                *turn = state.rotation(slot, slots);
            }
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
