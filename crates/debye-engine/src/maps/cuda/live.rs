//! [`LiveMap`]: maps of a running simulation, from particles that stay on the device.

use debye_gpu::primitives::CountingSort;
use debye_gpu::{
    Buffer, Const, CudaError, Device, Header, Kernel as Compiled, ModuleSource, Mut, Shape, Stream,
};

use super::mesh::{MeshPotential, smooth};
use super::sums::{Cubes, PointSums};
use crate::engines::cuda::mesh::{Particles, Unpack};
use crate::expr::Vec3;
use crate::forces::multilevel::GridReal;
use crate::maps::charges::PointCharges;
use crate::maps::mesh::{MapMesh, Plan};
use crate::maps::tiles::Kernel;
use crate::maps::{MapError, MapGrid};
use crate::system::Cell;

debye_gpu::device_struct! {
    /// Which images are near a grid. Lengths in nm.
    struct LiveWork {
        /// Of the cell, one after another.
        vectors: [f64; 9],
        /// In fractions of the cell: the middle of the grid, and how far from it images count.
        middle: [f64; 3],
        far: [f64; 3],
        lower: [f64; 3],
        upper: [f64; 3],
        reach: f64,
        edge: f64,
        /// What sums count from, and in which unit.
        origin: [f64; 3],
        unit: f64,
        cubes: [u32; 3],
        /// Images along each vector of the cell.
        images: [u32; 3],
        axes: [u32; 3],
        entries: u32,
    }
}

/// The module of the kernels.
pub(super) fn source(double: bool) -> ModuleSource {
    let shared = Header::new(&["prelude.cuh"]).define::<LiveWork>().text();
    ModuleSource::new("live.cu", include_str!("kernels/live.cu"))
        .include("live_shared.cuh", &shared)
        .define("DOUBLE", u32::from(double))
}

type Ordered<T> = Compiled<(LiveWork, Const<f64>, Const<u32>, Const<u32>, Mut<T>)>;

/// Maps by a mesh over the whole cell, summed on the device until they are asked for.
pub(in crate::maps) struct LiveMap<T: MapMesh> {
    plan: Plan,
    kernel: Kernel,
    scale: f64,
    net_charge: f64,
    stream: Stream,
    unpack: Unpack,
    keys_of: Compiled<(LiveWork, Const<f64>, Mut<u32>)>,
    charges_of: Ordered<T>,
    add: Compiled<(Const<T>, f64, u64, Mut<f64>)>,
    mesh: MeshPotential<T>,
    sums: PointSums<T>,
    sort: CountingSort,
    keys: Buffer<u32>,
    order: Buffer<u32>,
    particles: Buffer<f64>,
    images: [u32; 3],
    cubes: Cubes,
    total: Buffer<f64>,
    frames: usize,
}

impl<T: MapMesh + GridReal> LiveMap<T> {
    /// For particles in so many slots, with these charges, in a cell about as large as this.
    #[allow(clippy::too_many_arguments)]
    pub(in crate::maps) fn new(
        device: &Device,
        grid: &MapGrid,
        cell: &Cell,
        charges: &PointCharges,
        slots: usize,
        plan: Plan,
        kernel: Kernel,
        scale: f64,
    ) -> Result<Self, MapError> {
        let reach = kernel.reach();
        let far = far(grid, cell, reach);
        // One more where a cell that shrinks may need it.
        let images = far.map(|far| (2.1 * far).floor() as u32 + 1);
        let entries = slots * images.iter().product::<u32>() as usize;
        let bounds = grid.bounds();
        let size: f64 = (0..3)
            .map(|k| bounds.upper[k] - bounds.lower[k] + 2.0 * reach)
            .product();
        let expected = charges.len() as f64 * size / cell.volume();
        let cubes = Cubes::new(&bounds, reach, expected as usize);
        let buckets = cubes.shape.iter().product();
        let module = device.module(&source(T::DOUBLE))?;
        Ok(Self {
            stream: device.stream()?,
            unpack: Unpack::new::<T>(device, &plan.shape())?,
            keys_of: module.kernel("debye_live_keys")?,
            charges_of: module.kernel("debye_live_charges")?,
            add: module.kernel("debye_live_add")?,
            mesh: MeshPotential::new(device, &plan, charges)?,
            sums: PointSums::resident(device, grid, &kernel, scale, &cubes, entries)?,
            sort: CountingSort::new(device, entries, buckets)?,
            keys: device.allocate(entries)?,
            order: device.allocate(entries)?,
            particles: device.allocate(4 * slots)?,
            net_charge: charges.total(),
            images,
            cubes,
            total: device.zeros(grid.points())?,
            frames: 0,
            plan,
            kernel,
            scale,
        })
    }

    /// Adds the map of particles as they are now, on a grid of as many points as before. Whether it could: a cell that
    /// became much smaller needs another one of these.
    pub(in crate::maps) fn add(
        &mut self,
        device: &Device,
        grid: &MapGrid,
        particles: &Particles,
        cell: &Cell,
    ) -> Result<bool, MapError> {
        let reach = self.kernel.reach();
        let far = far(grid, cell, reach);
        if (0..3).any(|k| (2.0 * far[k]).floor() as u32 + 1 > self.images[k]) {
            return Ok(false);
        }
        self.plan.cell = *cell;
        let bounds = grid.bounds();
        self.cubes.fit(&bounds, reach);
        let (vectors, middle) = (cell.to_arrays(), middle(grid));
        let entries = self.keys.len();
        let work = LiveWork {
            vectors: std::array::from_fn(|i| vectors[i / 3][i % 3]),
            middle: cell.fractional(middle).to_array(),
            far,
            lower: bounds.lower,
            upper: bounds.upper,
            reach,
            edge: self.cubes.edge,
            origin: grid.origin().to_array(),
            unit: self.sums.unit(grid),
            cubes: self.cubes.shape.map(|n| n as u32),
            images: self.images,
            axes: self.sums.axes(),
            entries: entries as u32,
        };
        self.unpack.queue(&self.stream, particles, &mut self.particles)?;
        let shape = Shape::covering(entries, 256);
        let given = (work, self.particles.all(), self.keys.all_mut());
        self.keys_of.launch(&self.stream, shape, given)?;
        let (charges, starts) = self.sums.charges();
        self.sort
            .sort(&self.stream, self.keys.all(), self.order.all_mut(), starts)?;
        let given = (
            work,
            self.particles.all(),
            self.order.all(),
            starts.all(),
            charges.all_mut(),
        );
        self.charges_of.launch(&self.stream, shape, given)?;
        let potential = self.mesh.of(device, particles, cell)?;
        let smooth = smooth(device, &self.stream, &self.plan, grid, potential, self.scale)?;
        self.sums
            .set(grid, &self.kernel, self.scale, &self.cubes, smooth)?;
        self.sums.queue(&self.stream)?;
        let offset = self.scale * self.plan.background(self.net_charge);
        let points = grid.points();
        let given = (self.sums.on_device(), offset, points as u64, self.total.all_mut());
        self.add
            .launch(&self.stream, Shape::covering(points, 256), given)?;
        self.stream.synchronize()?;
        self.frames += 1;
        Ok(true)
    }

    /// Frames that are summed.
    pub(in crate::maps) fn frames(&self) -> usize {
        self.frames
    }

    /// The sum of maps.
    pub(in crate::maps) fn sum(&self) -> Result<Vec<f64>, CudaError> {
        self.stream.download(&self.total)
    }

    /// Begins another.
    pub(in crate::maps) fn clear(&mut self) -> Result<(), CudaError> {
        self.frames = 0;
        self.stream.fill(self.total.all_mut(), 0)?;
        self.stream.synchronize()
    }

    /// Goes on from a sum of so many frames.
    pub(in crate::maps) fn resume(&mut self, sum: &[f64], frames: usize) -> Result<(), CudaError> {
        CudaError::check_length("a sum of maps", sum.len(), self.total.len())?;
        self.frames = frames;
        self.stream.upload(sum, self.total.all_mut())?;
        self.stream.synchronize()
    }
}

fn middle(grid: &MapGrid) -> Vec3<f64> {
    let bounds = grid.bounds();
    let [x, y, z] = std::array::from_fn(|k| 0.5 * (bounds.lower[k] + bounds.upper[k]));
    Vec3::new(x, y, z)
}

/// How far images may be from the middle of a grid along each vector of the cell, in fractions of it.
fn far(grid: &MapGrid, cell: &Cell, reach: f64) -> [f64; 3] {
    let bounds = grid.bounds();
    let heights = cell.heights();
    std::array::from_fn(|k| {
        let normal = cell.normal(k);
        let half = |c: usize| 0.5 * (bounds.upper[c] - bounds.lower[c]);
        let across: f64 = (0..3).map(|c| (normal[c] * half(c)).abs()).sum();
        (across + reach) / heights[k]
    })
}
