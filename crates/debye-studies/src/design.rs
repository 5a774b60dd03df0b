//! [`Design`]: ways to spread charges over a mesh, and which of them is fastest.

use std::fmt;

use debye::engines::cuda::mesh::{
    Bricks, Entered, Fixed, MeshNumber, MeshShape, Particles, Spread, SpreadKernel, Tiling, tile_bytes,
};
use debye::forces::pme::Basis;
use debye_gpu::{Buffer, CudaError, Device, ModuleSource, Stream};

use crate::charges::Charges;
use crate::{REPETITIONS, median};

/// Who adds charges to the mesh. All of them give the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// A block owns a brick of points, and a thread takes a particle that touches it: what a simulation does.
    Owner,
    /// A block has the particles of a brick and adds them to all points they touch.
    Halo,
    /// A thread owns points and looks at the particles near them.
    Grid,
}

impl fmt::Display for Design {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Owner => "owner",
            Self::Halo => "halo",
            Self::Grid => "grid",
        })
    }
}

/// Particles of [`Design::Grid`] that are sorted in shared memory at a time.
const BATCH: u32 = 512;

impl Design {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Owner, Self::Halo, Self::Grid];

    /// How many blocks may add to a point; see [`Fixed::choose`].
    pub fn overlap(self) -> f64 {
        if self == Self::Halo { 8.0 } else { 1.0 }
    }

    /// Its kernel for a mesh that is cut in this way, and lists with this margin.
    pub fn kernel<M: MeshNumber>(self, shape: &MeshShape, tiling: Tiling, margin: [u32; 3]) -> SpreadKernel {
        let (points, word, edges) = (shape.basis.points() as u32, size_of::<M>() as u32, tiling.edges);
        let boxes = |extra: [u32; 3]| -> u32 {
            let along = |a: usize| (edges[a] + extra[a]).div_ceil(shape.box_edge());
            (0..3).map(along).product()
        };
        match self {
            Self::Owner => SpreadKernel::owner::<M>(shape, tiling),
            Self::Halo => {
                let twice = margin.map(|m| 2 * m);
                let tile = std::array::from_fn(|a| edges[a] + points - 1 + twice[a]);
                let shared = tile_bytes(tile, word) + 4 * (boxes(twice) + 1);
                let text = include_str!("kernels/spread_halo.cu");
                SpreadKernel {
                    source: SpreadKernel::source::<M>(shape, "spread_halo.cu", text, tiling, shared)
                        .define("MARGIN_X", margin[0])
                        .define("MARGIN_Y", margin[1])
                        .define("MARGIN_Z", margin[2])
                        .define("COVER", cover(shape, edges, margin)),
                    name: "debye_mesh_halo",
                    convert: Some("debye_mesh_convert"),
                    entered: Entered::Begun,
                    tiling,
                    shared,
                }
            }
            Self::Grid => {
                // A particle beside its weights.
                let near = 12_u32.next_multiple_of(word) + 3 * points * word;
                let shared = BATCH * (near + 4) + 4 * (boxes([shape.box_edge(); 3]) + 2);
                let text = include_str!("kernels/spread_grid.cu");
                SpreadKernel {
                    source: SpreadKernel::source::<M>(shape, "spread_grid.cu", text, tiling, shared)
                        .define("BATCH", BATCH),
                    name: "debye_mesh_grid",
                    convert: None,
                    entered: Entered::Touched,
                    tiling,
                    shared,
                }
            }
        }
    }

    /// How the mesh is cut for so many particles: the engine's choice for its own design, else the first that keeps all
    /// multiprocessors busy, or the one with the most bricks.
    fn tiling(self, device: &Device, shape: &MeshShape, particles: usize) -> Result<Tiling, CudaError> {
        if self == Self::Owner {
            return Ok(Tiling::usual::<f32>(device, shape, particles));
        }
        let bricks = |tiling: &Tiling| cut_into(shape, tiling);
        let all = device.info().multiprocessors;
        let fitting = self.fitting::<f32>(device, shape, [0; 3]);
        let enough = fitting.iter().find(|tiling| bricks(tiling) >= all);
        let found = enough.or_else(|| fitting.iter().max_by_key(|tiling| bricks(tiling)));
        found.copied().ok_or_else(none_fits)
    }

    /// How many bricks the mesh is cut into for so many particles.
    pub(crate) fn bricks(
        self,
        device: &Device,
        shape: &MeshShape,
        particles: usize,
    ) -> Result<u32, CudaError> {
        Ok(cut_into(shape, &self.tiling(device, shape, particles)?))
    }

    /// Ways to cut the mesh that fit this device, the fastest on an H200 first.
    pub(crate) fn fitting<M: MeshNumber>(
        self,
        device: &Device,
        shape: &MeshShape,
        margin: [u32; 3],
    ) -> Vec<Tiling> {
        let all = match self {
            _ if device.info().emulated => &[SMALL],
            Self::Owner => OWNER,
            Self::Halo => HALO,
            Self::Grid => GRID,
        };
        let room = device.info().shared_per_block;
        let fits = |tiling: &&Tiling| self.kernel::<M>(shape, **tiling, margin).shared <= room;
        all.iter().filter(fits).copied().collect()
    }
}

fn cut_into(shape: &MeshShape, tiling: &Tiling) -> u32 {
    (0..3).map(|k| shape.size[k].div_ceil(tiling.edges[k])).product()
}

/// The most tiles, or parts of one that is longer than the mesh, that a point lies in.
fn cover(shape: &MeshShape, edges: [u32; 3], margin: [u32; 3]) -> u64 {
    let along = |a: usize| {
        let (size, edge) = (shape.size[a] as usize, edges[a] as usize);
        let mut times = vec![0_u64; size];
        for origin in (0..size).step_by(edge) {
            let begun = edge.min(size - origin) + 2 * margin[a] as usize;
            let first = (origin + size * (1 + margin[a] as usize / size)) - margin[a] as usize;
            for point in first..first + begun + shape.basis.points() - 1 {
                times[point % size] += 1;
            }
        }
        times.into_iter().max().unwrap_or(1)
    };
    along(0) * along(1) * along(2)
}

/// For the emulation.
const SMALL: Tiling = Tiling::new([8, 8, 8], 64, 1);

/// Ways to cut for the owners of points, the usual choice first.
const OWNER: &[Tiling] = &[
    Tiling::new([16, 16, 16], 448, 3),
    Tiling::new([16, 16, 16], 512, 3),
    Tiling::new([16, 16, 16], 512, 4),
    Tiling::new([16, 16, 16], 1024, 2),
    Tiling::new([16, 16, 8], 256, 4),
    Tiling::new([16, 8, 16], 256, 6),
    Tiling::new([8, 16, 16], 256, 6),
    Tiling::new([8, 16, 16], 512, 4),
    Tiling::new([8, 16, 32], 512, 3),
    Tiling::new([8, 16, 40], 512, 3),
    Tiling::new([12, 16, 20], 448, 3),
    Tiling::new([12, 16, 20], 512, 2),
    Tiling::new([12, 16, 20], 768, 2),
    Tiling::new([16, 12, 20], 512, 3),
    Tiling::new([12, 12, 20], 448, 4),
    Tiling::new([12, 12, 16], 384, 4),
    Tiling::new([12, 12, 40], 512, 3),
    Tiling::new([16, 16, 32], 768, 2),
    Tiling::new([8, 8, 16], 128, 8),
];

/// For the owners of particles.
const HALO: &[Tiling] = &[
    Tiling::new([16, 16, 16], 512, 3),
    Tiling::new([16, 16, 16], 448, 4),
    Tiling::new([16, 16, 32], 512, 2),
    Tiling::new([8, 16, 32], 512, 3),
    Tiling::new([8, 16, 16], 256, 6),
    Tiling::new([8, 8, 16], 256, 6),
    Tiling::new([8, 8, 32], 256, 6),
    Tiling::new([8, 8, 8], 256, 8),
];

/// For points.
const GRID: &[Tiling] = &[
    Tiling::new([8, 8, 16], 256, 2),
    Tiling::new([8, 8, 8], 256, 2),
    Tiling::new([16, 16, 16], 512, 1),
];

/// A way to spread that was timed.
#[derive(Clone, Debug)]
pub struct TimedDesign {
    /// The design.
    pub design: Design,
    /// How the mesh was cut.
    pub tiling: Tiling,
    /// Seconds to spread all charges once, with lists ready.
    pub seconds: f64,
}

/// The fastest of both particle-centric designs for these particles, timed on the device, and what was found, the
/// fastest first. `charges` are those of all particles.
pub fn fastest<M: MeshNumber>(
    device: &Device,
    shape: &MeshShape,
    particles: &Particles,
    charges: &[f64],
    margin: [u32; 3],
) -> Result<(Spread<M>, Vec<TimedDesign>), CudaError> {
    let stream = device.stream()?;
    let mut mesh = device.zeros::<M>(shape.points())?;
    let mut found: Option<(Spread<M>, f64)> = None;
    let mut all = Vec::new();
    for design in [Design::Owner, Design::Halo] {
        for tiling in design.fitting::<M>(device, shape, margin) {
            let spread = fitted(device, &stream, shape, design, tiling, particles, charges, margin)?;
            let seconds = time(&spread, &stream, particles, &mut mesh)?;
            all.push(TimedDesign {
                design,
                tiling,
                seconds,
            });
            if found.as_ref().is_none_or(|(_, best)| seconds < *best) {
                found = Some((spread, seconds));
            }
        }
    }
    all.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let found = found.map(|(spread, _)| (spread, all));
    found.ok_or_else(none_fits)
}

fn none_fits() -> CudaError {
    CudaError::shape("debye_mesh", "no brick fits into shared memory")
}

/// Charges on a device, and a mesh in single precision that they are spread over.
pub(crate) struct Spreading {
    spread: Spread<f32>,
    particles: Particles,
    mesh: Buffer<f32>,
    fresh: bool,
}

impl Spreading {
    /// `fresh`: every pass makes its lists anew.
    pub(crate) fn new(
        device: &Device,
        shape: &MeshShape,
        charges: &Charges,
        design: Design,
        fresh: bool,
    ) -> Result<Self, CudaError> {
        let stream = device.stream()?;
        let (slots, table) = charges.kinds();
        let table: Vec<f32> = table.iter().map(|&q| q as f32).collect();
        let particles = Particles::new(&device.upload(&slots)?, &device.upload(&table)?);
        let all = &charges.charges;
        let tiling = design.tiling(device, shape, all.len())?;
        let mut spread = fitted(device, &stream, shape, design, tiling, &particles, all, [0; 3])?;
        if fresh {
            spread.bricks_mut().clear(&stream)?;
        }
        stream.synchronize()?;
        Ok(Self {
            spread,
            particles,
            mesh: device.zeros(shape.points())?,
            fresh,
        })
    }

    /// The whole numbers that it sums.
    pub(crate) fn fixed(&self) -> Fixed {
        self.spread.fixed()
    }

    /// Queues a pass.
    pub(crate) fn queue(&mut self, stream: &Stream) -> Result<(), CudaError> {
        if self.fresh {
            self.spread.queue_fresh(stream, &self.particles, &mut self.mesh)
        } else {
            self.spread.queue(stream, &self.particles, &mut self.mesh)
        }
    }

    /// The mesh after a pass; refused where lists or sums overflowed.
    pub(crate) fn mesh(&mut self, stream: &Stream) -> Result<Vec<f32>, CudaError> {
        self.queue(stream)?;
        let notes = self.spread.bricks().notes(stream)?;
        if notes.listed.is_some() || notes.strayed || !self.spread.fixed().holds(&notes) {
            return Err(CudaError::shape("debye_mesh", "lists or sums that overflowed"));
        }
        stream.download(&self.mesh)
    }
}

/// With lists that fit and sums that hold for where particles are now, lists made.
#[expect(clippy::too_many_arguments, reason = "each is a fact of its own")]
pub(crate) fn fitted<M: MeshNumber>(
    device: &Device,
    stream: &Stream,
    shape: &MeshShape,
    design: Design,
    tiling: Tiling,
    particles: &Particles,
    charges: &[f64],
    margin: [u32; 3],
) -> Result<Spread<M>, CudaError> {
    let kernel = design.kernel::<M>(shape, tiling, margin);
    let capacity = Bricks::capacity_for(shape, tiling.edges, kernel.entered, margin, charges.len());
    let fixed = Fixed::choose::<M>(shape, design.overlap(), charges.iter().copied());
    let mut spread = Spread::new(device, shape, &kernel, fixed, margin, capacity, None)?;
    let mut mesh = device.zeros::<M>(shape.points())?;
    for _ in 0..8 {
        spread.list(stream, particles)?;
        spread.queue(stream, particles, &mut mesh)?;
        if spread.grow_if_full(device, stream)? {
            return Ok(spread);
        }
    }
    let reason = "charges that never fit the lists or the sums; are positions and charges finite?";
    Err(CudaError::shape("debye_mesh", reason))
}

/// Seconds to spread once, with lists ready: the median.
pub(crate) fn time<M: MeshNumber>(
    spread: &Spread<M>,
    stream: &Stream,
    particles: &Particles,
    mesh: &mut Buffer<M>,
) -> Result<f64, CudaError> {
    median(stream, REPETITIONS, |stream| {
        spread.queue(stream, particles, mesh)
    })
}

/// Modules for a few meshes, for tests that compile them.
pub(crate) fn modules() -> Vec<ModuleSource> {
    let usual = MeshShape {
        size: [108, 108, 80],
        basis: Basis::Cubic,
    };
    let odd = MeshShape {
        size: [18, 15, 14],
        basis: Basis::BSpline(8),
    };
    vec![
        Design::Halo.kernel::<f32>(&usual, HALO[0], [0; 3]).source,
        Design::Halo.kernel::<f64>(&odd, SMALL, [1, 0, 2]).source,
        Design::Grid.kernel::<f32>(&odd, SMALL, [0; 3]).source,
    ]
}
