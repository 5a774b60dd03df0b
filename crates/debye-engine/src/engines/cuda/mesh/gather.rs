//! [`Gather`]: forces and potentials of charges from a mesh of potentials.

use debye_gpu::{
    Address, Addresses, Binder, Buffer, Bundle, Const, ConstAddress, CudaError, Device, DeviceInfo, Kernel,
    ModuleSource, Shape, Stream,
};

use super::bricks::{Bricks, Entered, MeshLists, MeshNotes, Notes};
use super::shape::{MeshNumber, MeshParticles, MeshShape, Particles, Word};
use super::spread::tile_bytes;
use super::tiling::Tiling;

/// How points are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GatherMethod {
    /// From memory, a thread per slot.
    Slots,
    /// From memory, as many threads as slots to the particles in the first of those.
    Groups {
        /// Slots: a power of two up to 32.
        slots: u32,
        /// How many of them may have particles.
        particles: u32,
    },
    /// From shared memory, a block per brick.
    Tiles,
}

debye_gpu::device_struct! {
    /// What may change between steps.
    pub(super) struct GatherCell {
        /// force = turn × (−q ∂φ/∂fraction), by rows.
        turn: [f64; 9],
        /// Times q φ.
        potential: f64,
        /// Units of the sums of forces.
        scale: f64,
        /// The largest force that cannot make a sum too large.
        most: f64,
    }

    /// Where forces go.
    pub(super) struct GatheredForces {
        cell: ConstAddress<GatherCell>,
        /// Axis by axis.
        forces: Address<f64>,
        /// May be none.
        potentials: Address<f64>,
        /// Of the forces on all charged particles; may be none.
        sums: Address<u64>,
        notes: Address<MeshNotes>,
        /// 1: to what is there.
        add: u32,
        unused: u32,
    }
}

fn shared_bytes<M: MeshNumber>(shape: &MeshShape, method: GatherMethod, tiling: Tiling) -> u32 {
    let more = shape.basis.points() as u32 - 1;
    let [x, y, z] = tiling.edges;
    match method {
        GatherMethod::Slots | GatherMethod::Groups { .. } => 0,
        GatherMethod::Tiles => {
            let points = [x + more, y + more, (z + more).next_multiple_of(4)];
            tile_bytes(points, size_of::<M>() as u32)
        }
    }
}

pub(super) fn source<M: MeshNumber>(shape: &MeshShape, method: GatherMethod, tiling: Tiling) -> ModuleSource {
    let [lanes, sites] = match method {
        GatherMethod::Slots | GatherMethod::Tiles => [1, 1],
        GatherMethod::Groups { slots, particles } => [slots, particles],
    };
    shape
        .source::<M>("gather.cu", include_str!("../kernels/gather.cu"), tiling.edges)
        .define("THREADS", tiling.threads)
        .define("RESIDENT", tiling.resident)
        .define("TILED", u32::from(method == GatherMethod::Tiles))
        .define("LANES", lanes)
        .define("SITES", sites)
        .define("SHARED_BYTES", shared_bytes::<M>(shape, method, tiling))
}

type OnSlots<M> = Kernel<(Addresses<MeshParticles>, Const<M>, Addresses<GatheredForces>)>;
type OnTiles<M> = Kernel<(
    Addresses<MeshParticles>,
    Addresses<MeshLists>,
    Const<M>,
    Addresses<GatheredForces>,
)>;

#[derive(Debug)]
enum By<M: MeshNumber> {
    /// And what the number of slots is a multiple of.
    Slots(OnSlots<M>, usize),
    Tiles(OnTiles<M>, u32),
}

/// Gathers forces and potentials from a mesh; all methods give the same bits.
#[derive(Debug)]
pub struct Gather<M: MeshNumber> {
    shape: MeshShape,
    tiling: Tiling,
    by: By<M>,
    cell: Buffer<GatherCell>,
    notes: Buffer<MeshNotes>,
    /// Whether there may be particles without charge.
    some_neutral: bool,
}

/// What sums of forces on so many particles are whole numbers of: as fine as sums of forces of up to some 2²² leave
/// room for in 63 bits, so that the mean is as exact as the forces.
fn sum_scale(charged: usize) -> f64 {
    let particles = charged.max(1).next_power_of_two().ilog2() as i32;
    2_f64.powi((40 - particles).max(20))
}

/// What the sums of forces on so many particles are multiplied with for the mean force.
pub fn mean_of_sums(charged: usize) -> f64 {
    1.0 / (sum_scale(charged) * charged.max(1) as f64)
}

impl GatherMethod {
    /// Threads and blocks that were fastest on an H200, and the edges of its bricks; those do not matter where points
    /// are read from memory.
    pub const fn tiling(self) -> Tiling {
        match self {
            Self::Slots | Self::Groups { .. } => Tiling::new([16; 3], 128, 6),
            Self::Tiles => Tiling::new([16; 3], 256, 4),
        }
    }

    /// The usual threads, and bricks with these edges if it is from tiles.
    pub(super) fn tiling_for<M: MeshNumber>(self, shape: &MeshShape, edges: [u32; 3]) -> Tiling {
        let usual = self.tiling().for_registers::<M>(shape);
        match self {
            Self::Slots | Self::Groups { .. } => usual,
            Self::Tiles => Tiling { edges, ..usual },
        }
    }

    /// What is taken without measuring, for slots that belong together and the particles that may be in them: on an
    /// H200, tiles were faster where every multiprocessor has several bricks, and groups where a particle has many
    /// slots to itself.
    pub fn usual<M: MeshNumber>(
        device: &Device,
        shape: &MeshShape,
        bricks: &Bricks,
        slots: usize,
        particles: usize,
    ) -> Self {
        Self::by_rule::<M>(device.info(), shape, bricks.edges(), [slots, particles])
    }

    pub(super) fn by_rule<M: MeshNumber>(
        info: &DeviceInfo,
        shape: &MeshShape,
        edges: [u32; 3],
        [slots, particles]: [usize; 2],
    ) -> Self {
        let bricks: u32 = shape.bricks(edges).iter().product();
        let several = bricks >= 4 * info.multiprocessors;
        if slots > 1 && particles == 1 {
            Self::Groups {
                slots: slots as u32,
                particles: 1,
            }
        } else if several && tiles_fit::<M>(shape, edges, info.shared_per_block) {
            Self::Tiles
        } else {
            Self::Slots
        }
    }
}

/// Whether a brick with these edges, and what lies above it, fits into so much shared memory, with queues and sums of a
/// block.
fn tiles_fit<M: MeshNumber>(shape: &MeshShape, edges: [u32; 3], shared: u32) -> bool {
    let tiling = Tiling {
        edges,
        ..GatherMethod::Tiles.tiling()
    };
    shared_bytes::<M>(shape, GatherMethod::Tiles, tiling) + 8 * tiling.threads + 64 <= shared
}

impl<M: MeshNumber> Gather<M> {
    /// Gathers by this method.
    pub fn new(
        device: &Device,
        shape: &MeshShape,
        method: GatherMethod,
        tiling: Tiling,
    ) -> Result<Self, CudaError> {
        shape.check()?;
        tiling.check()?;
        let module = device.module(&source::<M>(shape, method, tiling))?;
        let by = match method {
            GatherMethod::Slots => By::Slots(module.kernel("debye_mesh_gather")?, 1),
            GatherMethod::Groups { slots, particles } => {
                if !slots.is_power_of_two() || slots > 32 || !(1..=slots).contains(&particles) {
                    let reason =
                        format!("{method:?}: a power of two up to 32 slots, and some particles in them");
                    return Err(CudaError::shape("debye_mesh_gather", reason));
                }
                // Whole warps take part.
                By::Slots(module.kernel("debye_mesh_gather")?, 32)
            }
            GatherMethod::Tiles => {
                let kernel: OnTiles<M> = module.kernel("debye_mesh_gather_tile")?;
                let shared = shared_bytes::<M>(shape, method, tiling);
                kernel.resident_blocks(tiling.threads, shared)?;
                By::Tiles(kernel, shared)
            }
        };
        Ok(Self {
            shape: *shape,
            tiling,
            by,
            cell: device.zeros(1)?,
            notes: device.zeros(1)?,
            some_neutral: true,
        })
    }

    /// With the usual threads, from bricks with these edges if it is from tiles.
    pub fn usual(
        device: &Device,
        shape: &MeshShape,
        method: GatherMethod,
        edges: [u32; 3],
    ) -> Result<Self, CudaError> {
        Self::new(device, shape, method, method.tiling_for::<M>(shape, edges))
    }

    /// For particles that all have charges: from tiles, what is in slots without a particle is then left as it is.
    pub fn all_charged(self) -> Self {
        Self {
            some_neutral: false,
            ..self
        }
    }

    /// Sets what turns −q ∂φ/∂(fraction of the cell) into a force (the rows of `turn` are its components: the
    /// reciprocal vectors as columns, and units), the factor of q φ, and how many particles have a charge.
    pub fn set_cell(
        &mut self,
        stream: &Stream,
        turn: [[f64; 3]; 3],
        potential: f64,
        charged: usize,
    ) -> Result<(), CudaError> {
        let scale = sum_scale(charged);
        let cell = GatherCell {
            turn: std::array::from_fn(|k| turn[k / 3][k % 3]),
            potential,
            scale,
            most: 2_f64.powi(62) / (scale * charged.max(1) as f64),
        };
        stream.upload(&[cell], self.cell.all_mut())
    }

    fn forces_at(
        &self,
        forces: &Buffer<f64>,
        potentials: Option<&Buffer<f64>>,
        add: bool,
        sums: Option<&Word>,
    ) -> Bundle<GatheredForces> {
        let mut at = Binder::default();
        let addresses = GatheredForces {
            cell: at.address(&self.cell),
            forces: at.address(forces),
            potentials: potentials.map_or(Address::default(), |p| at.address(p)),
            sums: Word::address(sums, &mut at),
            notes: at.address(&self.notes),
            add: u32::from(add),
            unused: 0,
        };
        at.bundle(addresses)
    }

    /// Queues the gathering from `mesh`: sets, or adds to, `forces` (axis by axis), and sets the potentials q φ.
    /// `sums` are three 64-bit whole numbers that forces are added to ([`mean_of_sums`]). Tiles need lists of the
    /// particles that touch each brick.
    #[expect(clippy::too_many_arguments, reason = "each is a fact of its own")]
    pub fn queue(
        &self,
        stream: &Stream,
        particles: &Particles,
        bricks: Option<&Bricks>,
        mesh: &Buffer<M>,
        forces: &mut Buffer<f64>,
        mut potentials: Option<&mut Buffer<f64>>,
        add: bool,
        sums: Option<&Word>,
    ) -> Result<(), CudaError> {
        particles.check::<M>()?;
        CudaError::check_length("mesh", mesh.len(), self.shape.points())?;
        // There may be more behind them.
        let room = forces.len().min(3 * particles.slots);
        CudaError::check_length("forces of a mesh", room, 3 * particles.slots)?;
        if let Some(p) = &potentials {
            CudaError::check_length("potentials of a mesh", p.len(), particles.slots)?;
        }
        let threads = self.tiling.threads;
        match &self.by {
            By::Slots(kernel, unit) => {
                let whole = particles.slots.next_multiple_of(*unit);
                CudaError::check_length("slots of a mesh in whole warps", particles.slots, whole)?;
                let to = self.forces_at(forces, potentials.as_deref(), add, sums);
                let blocks = Shape::covering(particles.slots.max(1), threads);
                kernel.launch(stream, blocks, (&particles.bundle, mesh.all(), &to))
            }
            By::Tiles(kernel, shared) => {
                let bricks = self.suitable(bricks)?;
                // Particles without charge are in no list.
                if !add && self.some_neutral {
                    stream.fill(forces.all_mut(), 0)?;
                }
                if let Some(p) = &mut potentials {
                    stream.fill(p.all_mut(), 0)?;
                }
                let to = self.forces_at(forces, potentials.as_deref(), add, sums);
                let blocks = Shape::new(bricks.number() as u32, threads).shared(*shared);
                kernel.launch(stream, blocks, (&particles.bundle, bricks.at(), mesh.all(), &to))
            }
        }
    }

    fn suitable<'a>(&self, bricks: Option<&'a Bricks>) -> Result<&'a Bricks, CudaError> {
        let right = |b: &&Bricks| {
            b.edges() == self.tiling.edges && (b.entered() == Entered::Touched || b.margin() == [0; 3])
        };
        bricks.filter(right).ok_or_else(|| {
            let edges = self.tiling.edges;
            let reason = format!("it needs lists of what touches bricks of {edges:?} points");
            CudaError::shape("debye_mesh_gather_tile", reason)
        })
    }

    /// Where it notes.
    pub(in super::super) fn noted(&self) -> &Buffer<MeshNotes> {
        &self.notes
    }

    /// What was noted; waits for the stream.
    pub fn notes(&self, stream: &Stream) -> Result<Notes, CudaError> {
        Notes::read(stream, &self.notes)
    }

    /// Where what [`Gather::set_cell`] sets is, for who follows a cell that changes.
    pub fn cell(&self) -> Word {
        Word::of(&self.cell, 0)
    }

    /// How it is cut.
    pub fn tiling(&self) -> Tiling {
        self.tiling
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forces::pme::Basis;

    #[test]
    fn tiles_are_taken_where_they_fit() {
        let shape = |order| MeshShape {
            size: [80; 3],
            basis: Basis::BSpline(order),
        };
        // Of an H200, and of cards with 99 KiB.
        assert!(
            tiles_fit::<f32>(&shape(5), [16; 3], 232_448) && tiles_fit::<f64>(&shape(8), [16; 3], 232_448)
        );
        assert!(
            tiles_fit::<f32>(&shape(8), [16; 3], 101_376) && !tiles_fit::<f64>(&shape(6), [16; 3], 101_376)
        );
    }
}
