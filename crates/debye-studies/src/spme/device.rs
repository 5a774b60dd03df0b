//! The paper's kernels, ready to be launched: [`TileSum`], [`TileSearch`] and [`MeshKernels`].

use debye_gpu::{
    Buffer, Const, CudaError, Device, Header, Kernel, ModuleSource, Mut, Shape, Slice, SliceMut, Stream,
    constants,
};

use super::exact::{Sums, coulomb};
use super::order::EMPTY;
use super::salt::{ORDER, SKIN, Salt};
use super::tiles::{Blocks, Tile};

const SEARCH_THREADS: usize = 128;
/// "with a block size of 64"
const MESH_THREADS: usize = 64;

debye_gpu::device_struct! {
    /// What kernels of tiles are to do. Lengths in nm.
    pub(crate) struct TileWork {
        side: f32,
        cutoff2: f32,
        /// The square of how near boxes must be.
        reach2: f32,
        alpha: f32,
        coulomb: f32,
        blocks: u32,
        /// Tiles that there is room for.
        capacity: u32,
        /// More ions than this without a flag make a tile sparse.
        unflagged: u32,
    }
    /// What kernels of a mesh are to do.
    pub(crate) struct MeshWork {
        coulomb: f32,
        /// Points of one nm.
        per_length: f32,
        /// Along an axis.
        points: u32,
        ions: u32,
    }
}

fn header() -> String {
    Header::new(&["prelude.cuh"])
        .constants(&constants![SEARCH_THREADS, MESH_THREADS])
        .define::<TileWork>()
        .define::<MeshWork>()
        .text()
}

fn tile_source() -> ModuleSource {
    ModuleSource::new("spme_tiles.cu", include_str!("../kernels/spme_tiles.cu"))
        .include("spme_shared.cuh", &header())
}

fn mesh_source(stored: bool) -> ModuleSource {
    ModuleSource::new("spme_mesh.cu", include_str!("../kernels/spme_mesh.cu"))
        .include("spme_shared.cuh", &header())
        .define("ORDER", ORDER)
        .define("STORED", u32::from(stored))
}

pub(crate) fn modules() -> Vec<ModuleSource> {
    vec![tile_source(), mesh_source(false), mesh_source(true)]
}

fn tile_work(salt: &Salt, blocks: &Blocks, unflagged: u32) -> TileWork {
    TileWork {
        side: salt.side as f32,
        cutoff2: (salt.cutoff * salt.cutoff) as f32,
        reach2: (salt.cutoff + SKIN).powi(2) as f32,
        alpha: salt.alpha as f32,
        coulomb: coulomb() as f32,
        blocks: blocks.len() as u32,
        capacity: 0,
        unflagged,
    }
}

fn places(blocks: &Blocks) -> Vec<f32> {
    blocks
        .places
        .iter()
        .flat_map(|place| place.map(|x| x as f32))
        .collect()
}

type SumKernel = Kernel<(TileWork, Const<f32>, Const<u32>, Mut<f32>)>;

/// The real-space sum over a list of tiles.
pub(super) struct TileSum {
    kernel: SumKernel,
    work: TileWork,
    number: u32,
    sorted: Buffer<f32>,
    tiles: Buffer<u32>,
    pub(super) forces: Buffer<f32>,
}

impl TileSum {
    pub(super) fn new(
        device: &Device,
        salt: &Salt,
        blocks: &Blocks,
        tiles: &[Tile],
        unflagged: u32,
    ) -> Result<Self, CudaError> {
        let sorted = places(blocks);
        let words: Vec<u32> = tiles.iter().flat_map(|t| [t.i, t.j, t.flags]).collect();
        Ok(Self {
            kernel: device.module(&tile_source())?.kernel("debye_tiles")?,
            work: tile_work(salt, blocks, unflagged),
            number: tiles.len() as u32,
            tiles: device.upload(&words)?,
            forces: device.zeros(sorted.len())?,
            sorted: device.upload(&sorted)?,
        })
    }

    /// Clears the forces and sums.
    pub(super) fn queue(&mut self, stream: &Stream) -> Result<(), CudaError> {
        stream.fill(self.forces.all_mut(), 0)?;
        if self.number == 0 {
            return Ok(());
        }
        let given = (
            self.work,
            self.sorted.all(),
            self.tiles.all(),
            self.forces.all_mut(),
        );
        self.kernel.launch(stream, Shape::new(self.number, 32), given)
    }

    /// Forces in the order of the ions, and the energy.
    pub(super) fn sums(&self, stream: &Stream, blocks: &Blocks) -> Result<Sums, CudaError> {
        let found = stream.download(&self.forces)?;
        let ions = blocks.slots.iter().filter(|slot| **slot != EMPTY).count();
        let mut sums = Sums {
            energy: 0.0,
            forces: vec![[0.0; 3]; ions],
        };
        for (&slot, f) in blocks.slots.iter().zip(found.chunks_exact(4)) {
            if slot != EMPTY {
                sums.forces[slot as usize] = [f[0], f[1], f[2]].map(f64::from);
                sums.energy += f64::from(f[3]);
            }
        }
        Ok(sums)
    }
}

type SearchKernel = Kernel<(TileWork, Const<f32>, Const<f32>, Mut<u32>, Mut<u32>)>;

/// The search for tiles over all pairs of blocks.
pub(super) struct TileSearch {
    kernel: SearchKernel,
    work: TileWork,
    sorted: Buffer<f32>,
    boxes: Buffer<f32>,
    tiles: Buffer<u32>,
    found: Buffer<u32>,
}

impl TileSearch {
    /// With room for so many tiles; more is made by [`Self::tiles`] where they do not fit.
    pub(super) fn new(device: &Device, salt: &Salt, blocks: &Blocks, room: usize) -> Result<Self, CudaError> {
        let boxes: Vec<f32> = blocks
            .boxes
            .iter()
            .flat_map(|(middle, half)| {
                let [x, y, z] = middle.map(|x| x as f32);
                // A little wider, for what rounding took.
                let [a, b, c] = half.map(|x| (x * (1.0 + 1e-6) + 1e-6 * salt.side) as f32);
                [x, y, z, 0.0, a, b, c, 0.0]
            })
            .collect();
        Ok(Self {
            kernel: device.module(&tile_source())?.kernel("debye_tile_search")?,
            work: TileWork {
                capacity: room as u32,
                ..tile_work(salt, blocks, 0)
            },
            sorted: device.upload(&places(blocks))?,
            boxes: device.upload(&boxes)?,
            tiles: device.zeros(3 * room)?,
            found: device.zeros(1)?,
        })
    }

    pub(super) fn queue(&mut self, stream: &Stream) -> Result<(), CudaError> {
        stream.fill(self.found.all_mut(), 0)?;
        let given = (
            self.work,
            self.sorted.all(),
            self.boxes.all(),
            self.tiles.all_mut(),
            self.found.all_mut(),
        );
        let shape = Shape::new(self.work.blocks, SEARCH_THREADS as u32);
        self.kernel.launch(stream, shape, given)
    }

    /// Searches and reads what was found, in order. Makes room where there was too little.
    pub(super) fn tiles(&mut self, device: &Device, stream: &Stream) -> Result<Vec<Tile>, CudaError> {
        self.queue(stream)?;
        let mut number = stream.download(&self.found)?[0];
        if number > self.work.capacity {
            self.work.capacity = number;
            self.tiles = device.zeros(3 * number as usize)?;
            self.queue(stream)?;
            number = stream.download(&self.found)?[0];
        }
        let words = stream.download_part(self.tiles.part(0..3 * number as usize))?;
        let mut tiles: Vec<Tile> = words
            .chunks_exact(3)
            .map(|t| Tile {
                i: t[0],
                j: t[1],
                flags: t[2],
            })
            .collect();
        tiles.sort_unstable();
        Ok(tiles)
    }
}

type Interpolate = Kernel<(MeshWork, Const<f32>, Const<f32>, Mut<f32>)>;
type ForcesBack = Kernel<(MeshWork, Const<f32>, Const<u32>, Const<f32>, Mut<f32>)>;

/// Charges onto a mesh, and forces back.
pub(super) struct MeshKernels {
    interpolate: Interpolate,
    back: ForcesBack,
    work: MeshWork,
    ions: Buffer<f32>,
    stored: Buffer<f32>,
    slots: Buffer<u32>,
}

impl MeshKernels {
    /// For ions in the order of `slots`, or in their own.
    pub(super) fn new(
        device: &Device,
        salt: &Salt,
        slots: Option<&[u32]>,
        stored: bool,
    ) -> Result<Self, CudaError> {
        let points = salt.mesh();
        let own: Vec<u32> = (0..salt.len() as u32).collect();
        let order = slots.unwrap_or(&own);
        let there = || order.iter().zip(0_u32..).filter(|(ion, _)| **ion != EMPTY);
        let scale = points as f64 / salt.side;
        let ions: Vec<f32> = there()
            .flat_map(|(&i, _)| {
                let [x, y, z] = salt.positions[i as usize].map(|x| in_mesh(x * scale, points));
                [x, y, z, salt.charges[i as usize] as f32]
            })
            .collect();
        let weights: Vec<f32> = if stored {
            let basis = salt.plan().basis;
            ions.chunks_exact(4)
                .flat_map(|ion| [ion[0], ion[1], ion[2]])
                .flat_map(|u| {
                    let values = basis.weights(f64::from(u - u.floor())).values;
                    values.into_iter().take(ORDER).map(|w| w as f32)
                })
                .collect()
        } else {
            vec![0.0]
        };
        let module = device.module(&mesh_source(stored))?;
        Ok(Self {
            interpolate: module.kernel("debye_interpolate")?,
            back: module.kernel("debye_forces_back")?,
            work: MeshWork {
                coulomb: coulomb() as f32,
                per_length: scale as f32,
                points: points as u32,
                ions: salt.len() as u32,
            },
            stored: device.upload(&weights)?,
            slots: device.upload(&there().map(|(_, slot)| slot).collect::<Vec<u32>>())?,
            ions: device.upload(&ions)?,
        })
    }

    fn shape(&self) -> Shape {
        Shape::covering(self.work.ions as usize, MESH_THREADS as u32)
    }

    /// Clears the mesh and adds all charges to it.
    pub(super) fn interpolate(&self, stream: &Stream, mut mesh: SliceMut<'_, f32>) -> Result<(), CudaError> {
        stream.fill(mesh.again(), 0)?;
        let given = (self.work, self.ions.all(), self.stored.all(), mesh);
        self.interpolate.launch(stream, self.shape(), given)
    }

    /// Adds the forces of a potential, and energies.
    pub(super) fn forces_back(
        &self,
        stream: &Stream,
        mesh: Slice<'_, f32>,
        forces: SliceMut<'_, f32>,
    ) -> Result<(), CudaError> {
        let given = (self.work, self.ions.all(), self.slots.all(), mesh, forces);
        self.back.launch(stream, self.shape(), given)
    }
}

/// A coordinate of the mesh in single precision, below the number of points.
fn in_mesh(u: f64, points: usize) -> f32 {
    let u = u as f32;
    if u >= points as f32 { 0.0 } else { u }
}
