//! Snapshots of the state on the device: energies, virial, sums over velocities, and the particles themselves.

use std::mem::offset_of;
use std::sync::Arc;
use std::time::Instant;

use super::super::arrays::numbers;
use super::super::constraints::ConstraintSums;
use super::super::frame::{Frame, Region};
use super::super::kernels::{Control, DUE_WITH_LIST};
use super::super::mesh::{MeshPlaces, Request};
use super::super::rules::ScalingThermostat;
use super::super::snapshot::{CopiedParticles, Snapshot, SnapshotPlan, Snapshots};
use super::super::state::{Used, part_of, rotation};
use super::super::terms::Kind;
use super::super::watch::{Bytes, Counted};
use super::sums::{GROUP_SUMS, Sums, VIRIAL_SUMS};
use super::{Change, Resident};
use crate::engines::{EngineError, Precision, Wanted};
use crate::expr::Vec3;
use crate::system::Particles;
use debye_gpu::primitives::{Pieces, Place};
use debye_gpu::{CudaError, Stream};

/// Where everything lies in what was copied.
pub(super) struct Places {
    control: Place<Control>,
    frame: Place<Frame>,
    thermostats: Place<ScalingThermostat>,
    partial: Place<f64>,
    links: Option<Place<f64>>,
    mesh: Option<MeshPlaces>,
    constrained: Option<Place<f64>>,
    particles: Option<ParticlePlaces>,
    counts: Option<Place<u64>>,
}

/// Where particles lie.
struct ParticlePlaces {
    pos: Place<u32>,
    low: Place<u32>,
    images: Place<i32>,
    ids: Place<u32>,
    turns: Place<u32>,
    motion: Option<MotionPlaces>,
}

/// Where what their velocities follow from lies.
#[derive(Clone, Copy)]
struct MotionPlaces {
    velocities: Place<u32>,
    momenta: Place<u32>,
    forces: Place<f64>,
    torques: Place<f64>,
    constrained: Option<Place<f64>>,
}

type QueuedSnapshot = super::super::snapshot::QueuedSnapshot<Places>;

impl Resident {
    /// What to copy for a snapshot.
    fn plan_snapshot(&self, wanted: Wanted) -> Result<SnapshotPlan<Places>, CudaError> {
        let mut pieces = Pieces::default();
        let (a, slots) = (&self.arrays, self.layout.slots());
        let side = (&self.control, offset_of!(Control, side));
        let parity = (&self.control, offset_of!(Control, parity));
        let of_low = if self.is(Precision::Double) { parity } else { side };
        let constrained = self.constrained.as_ref().map(|c| c.snapshot_buffers());
        let counting = self.counting.as_ref().filter(|_| wanted.counts != 0);
        let places = Places {
            control: pieces.add(self.control.all()),
            frame: pieces.add(self.numbers.frame.all()),
            thermostats: pieces.add(self.numbers.thermostats.all()),
            partial: pieces.add(a.partial.all()),
            links: self.bonded.as_ref().map(|b| pieces.add(b.partial().all())),
            mesh: self.mesh.as_ref().map(|mesh| mesh.add_to(&mut pieces)),
            constrained: constrained.map(|[partial, _]| pieces.add(partial.all())),
            particles: wanted.particles.then(|| ParticlePlaces {
                pos: pieces.add_which(&a.pos, 4 * slots, parity),
                low: pieces.add_which(&a.low, a.low.len() / 2, of_low),
                images: pieces.add_which(&a.images, 3 * slots, side),
                ids: pieces.add_which(&a.ids, slots, side),
                turns: pieces.add_which(&a.turns, a.turns.len() / 2, side),
                motion: wanted.velocities.then(|| MotionPlaces {
                    velocities: pieces.add_which(&a.velocities, a.velocities.len() / 2, side),
                    momenta: pieces.add_which(&a.momenta, a.momenta.len() / 2, side),
                    forces: pieces.add(a.forces.all()),
                    torques: pieces.add(a.torques.all()),
                    constrained: constrained.map(|[_, velocities]| pieces.add(velocities.all())),
                }),
            }),
            counts: counting.map(|counting| pieces.add(counting.counts())),
        };
        SnapshotPlan::new(&self.device, places, pieces)
    }

    /// Queues a list if there must be one, and forces, energies and sums of now; nothing happens while there is no list.
    fn capture_snapshot(&mut self) -> Result<Counted, CudaError> {
        self.capture_with(|resident, s| {
            resident.queue_rebuild(s)?;
            resident.with_side(|resident, side| resident.queue_evaluation(s, side))?;
            match &resident.constrained {
                Some(constrained) => constrained.queue_snapshot(s, &resident.world, resident.setup),
                None => Ok(()),
            }
        })
    }

    /// Queues forces, energies and sums of what is there; on a stream of their own those that need not wait for pairs.
    fn queue_evaluation(&mut self, s: &Stream, side: Option<&Stream>) -> Result<(), CudaError> {
        let rest = side.unwrap_or(s);
        if let Some(side) = side {
            side.wait_for(s)?;
        }
        if let Some(bonded) = &self.bonded {
            bonded.queue_sums(rest, &self.world, self.setup)?;
        }
        let (sums, due) = (true, DUE_WITH_LIST);
        self.queue_mesh(rest, Request { sums, due })?;
        let (k, shape) = (&self.kernels, self.blocks(self.case().step_shared()));
        // Upper halves, what moves, forces and how many rows; stages and lists.
        let bytes: Bytes = |n| n.slots * (16.0 + n.moving + 24.0 + 2.0) + 4.0 * n.staged + n.listed;
        let Some(pairs) = &k.evaluate_pairs else {
            return self.launch(s, &k.evaluate, shape, bytes);
        };
        let of_pairs: Bytes = |n| n.slots * (16.0 + 24.0 + 2.0) + 4.0 * n.staged + n.listed;
        self.launch(s, pairs, shape, of_pairs)?;
        if let Some(side) = side {
            s.wait_for(side)?;
        }
        self.launch(s, &k.evaluate, self.blocks(0), |n| {
            n.slots * (16.0 + n.moving + 48.0)
        })
    }

    /// Queues a snapshot of the configuration that the device will have come to, with forces and energies where it is to
    /// evaluate them.
    pub(super) fn queue_snapshot(&mut self, mut wanted: Wanted, evaluates: bool) -> Result<(), EngineError> {
        if evaluates {
            let graph = match self.snapshot_graph.take() {
                Some(graph) => graph,
                None => self.capture_snapshot()?,
            };
            self.watch.replay(&self.stream, &graph)?;
            self.snapshot_graph = Some(graph);
        }
        // Where nobody counts, or the cell may become too small for it, particles come in place of counts.
        let moving = self.rules.scale_every > 0;
        wanted.particles |= wanted.counts != 0 && (self.counting.is_none() || moving);
        if let (true, Some(counting)) = (wanted.counts != 0, &mut self.counting) {
            counting.queue(&self.stream, wanted.counts, &self.values.region)?;
        }
        let plan = match self.snapshots.plan(wanted) {
            Some(plan) => plan,
            None => Arc::new(self.plan_snapshot(wanted)?),
        };
        self.snapshots.queue(&self.stream, wanted, evaluates, plan)?;
        self.needs.set("snapshots", self.snapshots.bytes_on_device());
        Ok(())
    }

    /// What was copied is of another layout now.
    pub(super) fn discard_plans(&mut self) {
        self.snapshots = Snapshots::default();
        self.snapshot_graph = None;
    }

    /// Sees what is there now, after a new list if there must be one.
    pub(in super::super) fn snapshot(&mut self, wanted: Wanted) -> Result<Snapshot, EngineError> {
        loop {
            self.queue_snapshot(wanted, true)?;
            let Some(queued) = self.snapshots.pop_last() else {
                continue;
            };
            let control = self.control_of(&queued)?;
            self.last = control;
            if control.stale != 0 {
                self.check()?;
                continue;
            }
            if let (Some(mesh), Some(places)) = (&mut self.mesh, &queued.places().mesh)
                && !mesh.is_sound(|place| queued.read(place), places)?
            {
                mesh.check(&self.device, &self.stream)?;
            }
            let snapshot = self.read(queued, control)?;
            // Forces that are no numbers are somebody else's fault.
            let mut numbers = snapshot.sums.energies.iter().chain(&snapshot.sums.pair_virial);
            if numbers.all(|x| x.is_finite()) {
                self.check_constraints(control.step)?;
            }
            return Ok(snapshot);
        }
    }

    /// The first snapshot that was queued, waiting for it; `None` where the device has not come to this step, or something
    /// went wrong.
    pub(super) fn next_snapshot(&mut self, step: u64) -> Result<Option<Snapshot>, EngineError> {
        let Some(queued) = self.snapshots.pop_first() else {
            return Ok(None);
        };
        let began = Instant::now();
        let control = self.control_of(&queued)?;
        self.watch.waited(began);
        // Places are there without a list.
        let stale = if queued.evaluated { control.stale } else { 0 };
        let wrong = control.failed | control.cell_invalid | control.overflow | stale;
        let sound = match (&self.mesh, &queued.places().mesh) {
            (Some(mesh), Some(places)) => mesh.is_sound(|place| queued.read(place), places)?,
            _ => true,
        };
        let came = control.step == step && wrong == 0 && control.unsolved == 0 && sound;
        self.learn(&control);
        if !came {
            return Ok(None);
        }
        self.last = control;
        self.read(queued, control).map(Some)
    }

    fn control_of(&self, queued: &QueuedSnapshot) -> Result<Control, CudaError> {
        let read = queued.read(queued.places().control)?;
        Ok(read.first().copied().unwrap_or(self.last))
    }

    fn read(&self, queued: QueuedSnapshot, control: Control) -> Result<Snapshot, EngineError> {
        let at = queued.places();
        let frame = queued.read(at.frame)?.first().copied();
        let frame = frame.unwrap_or_else(|| self.values.region.frame(1.0, 1.0));
        let region = self.region(&frame);
        let mut thermostats = queued.read(at.thermostats)?;
        thermostats.truncate(self.rules.thermostats.len());
        let counts = match (&self.counting, at.counts) {
            (Some(counting), Some(place)) => counting.read(&queued.read(place)?, queued.counts, &region),
            _ => None,
        };
        Ok(Snapshot {
            step: control.step,
            counts,
            sums: match queued.evaluated {
                true => self.sums_of(&queued, &control, &region)?,
                false => Sums::default(),
            },
            thermostats,
            cell: (self.rules.scale_every > 0).then_some(region.cell),
            particles: at.particles.is_some().then(|| {
                Box::new(CopiedSlots {
                    control,
                    slots: self.layout.slots(),
                    region,
                    pending: frame.pending,
                    dt: self.values.dt,
                    precision: self.terms.precision,
                    kinds: Arc::clone(&self.terms.kinds),
                    constrained: self.constrained.as_ref().map(|c| c.atoms()),
                    queued,
                }) as Box<dyn CopiedParticles>
            }),
        })
    }

    /// Sums of blocks, added in their order.
    fn sums_of(
        &self,
        from: &QueuedSnapshot,
        control: &Control,
        region: &Region,
    ) -> Result<Sums, EngineError> {
        let (terms, groups, blocks) = (self.terms.count, self.rules.groups(), control.blocks as usize);
        let width = self.case().sums();
        let mut all = vec![0.0; width];
        for block in from.read(from.places().partial)?.chunks_exact(width).take(blocks) {
            all.iter_mut().zip(block).for_each(|(sum, x)| *sum += x);
        }
        let of_group = |g: usize| {
            let first = terms + VIRIAL_SUMS + GROUP_SUMS * g;
            let tensor = std::array::from_fn(|k| all[first + k]);
            (tensor, std::array::from_fn(|k| all[first + 6 + k]))
        };
        let mut sums = Sums {
            energies: all[..terms].to_vec(),
            virial: std::array::from_fn(|k| all[terms + k]),
            groups: (0..groups).map(of_group).collect(),
            rotations: all[terms + VIRIAL_SUMS + GROUP_SUMS * groups..].to_vec(),
            constraint_virial: vec![[0.0; 6]; groups],
            pair_virial: [0.0; 6],
        };
        if let (Some(bonded), Some(place)) = (&self.bonded, from.places().links) {
            let (energies, virial) = bonded.sums(&from.read(place)?, blocks);
            sums.energies.extend(energies);
            sums.virial.iter_mut().zip(virial).for_each(|(sum, x)| *sum += x);
        }
        if let (Some(mesh), Some(places)) = (&self.mesh, &from.places().mesh) {
            for part in mesh.parts(&from.read(places.sums)?, &region.cell) {
                sums.energies.push(part.energy);
                let to = sums.virial.iter_mut();
                to.zip(part.virial).for_each(|(sum, x)| *sum += x);
            }
        }
        sums.pair_virial = sums.virial;
        if let (Some(constrained), Some(place)) = (&self.constrained, from.places().constrained) {
            sums.add_constrained(constrained.sums(&from.read(place)?, groups));
        }
        Ok(sums)
    }
}

impl Sums {
    /// Velocities of the particles at fixed distances, and the virial of what holds them.
    fn add_constrained(&mut self, more: ConstraintSums) {
        let add = |to: &mut [f64], from: &[f64]| to.iter_mut().zip(from).for_each(|(sum, x)| *sum += x);
        add(&mut self.virial, &more.forces);
        for ((tensor, momentum), more) in self.groups.iter_mut().zip(&more.groups) {
            add(tensor, &more.0);
            add(momentum, &more.1);
        }
        self.constraint_virial = more.turning;
    }
}

/// Everything that particles are made of, slot by slot, in memory of the host.
struct CopiedSlots {
    queued: QueuedSnapshot,
    control: Control,
    slots: usize,
    region: Region,
    /// What velocities are yet to be multiplied with.
    pending: [f64; 3],
    dt: f64,
    precision: Precision,
    kinds: Arc<[Kind]>,
    /// Particles at fixed distances.
    constrained: Option<Arc<[u32]>>,
}

impl CopiedParticles for CopiedSlots {
    fn fill(&self, out: &mut Particles, change: &[Change]) -> Result<(), EngineError> {
        let Some(at) = &self.queued.places().particles else {
            return Ok(());
        };
        let (read, slots, double) = (&self.queued, self.slots, self.precision != Precision::Single);
        let (pos, low, images) = (read.view(at.pos)?, read.view(at.low)?, read.view(at.images)?);
        let turns = numbers(read.view(at.turns)?, double);
        let used = Used::new(&self.control, pos, read.view(at.ids)?);
        out.images.resize(out.positions.len(), [0; 3]);
        for (slot, id) in used.slots() {
            let kind = &self.kinds[used.kind(slot)];
            let fractions = std::array::from_fn(|k| {
                let low = if double { low[k * slots + slot] } else { 0 };
                part_of(pos[4 * slot + k], low)
            });
            out.positions[id] = self.region.position(fractions);
            out.images[id] = std::array::from_fn(|k| images[k * slots + slot]);
            if let Some(turn) = out.orientations.rotations.get_mut(id).filter(|_| kind.turns != 0) {
                *turn = rotation(&turns, slot, slots);
            }
        }
        match &at.motion {
            Some(motion) => self.set_moving(out, used, motion, change)?,
            None => out.velocities.clear(),
        }
        Ok(())
    }
}

impl CopiedSlots {
    /// Velocities and angular momenta.
    fn set_moving(
        &self,
        out: &mut Particles,
        used: Used,
        at: &MotionPlaces,
        change: &[Change],
    ) -> Result<(), EngineError> {
        let (read, slots, half) = (&self.queued, self.slots, 0.5 * self.dt);
        let double = self.precision != Precision::Single;
        let velocities = numbers(read.view(at.velocities)?, double);
        let momenta = numbers(read.view(at.momenta)?, double);
        let (forces, torques) = (read.view(at.forces)?, read.view(at.torques)?);
        out.velocities.resize(out.positions.len(), Vec3::zero());
        let mut groups = vec![0; if self.constrained.is_some() { out.len() } else { 0 }];
        for (slot, i) in used.slots() {
            let kind = &self.kinds[used.kind(slot)];
            let (factor, shift) = change[kind.group as usize];
            out.velocities[i] = Vec3::from(std::array::from_fn(|k| {
                let at = k * slots + slot;
                let kept = velocities[at] * self.pending[k];
                (kept + half * kind.inverse_mass * forces[at]) * factor - shift[k]
            }));
            if let Some(group) = groups.get_mut(i) {
                *group = kind.group as usize;
            }
            if kind.turns != 0 && i < out.orientations.angular_momenta.len() {
                out.orientations.angular_momenta[i] = Vec3::from(std::array::from_fn(|k| {
                    let at = k * slots + slot;
                    (momenta[at] + half * torques[at]) * factor
                }));
            }
        }
        if let (Some(atoms), Some(place)) = (&self.constrained, at.constrained) {
            let v = read.view(place)?;
            for (place, &id) in atoms.iter().enumerate() {
                let v = Vec3::from(std::array::from_fn(|k| v[k * atoms.len() + place]));
                let (factor, shift) = change[groups[id as usize]];
                out.velocities[id as usize] = v * factor - Vec3::from(shift);
            }
        }
        Ok(())
    }
}
