//! [`Mapped`]: the paper's kernels on a device, ready to be launched.

use debye_gpu::{Buffer, Const, CudaError, Device, Kernel, ModuleSource, Mut, Shape, Stream};

use super::bins::{DeviceBins, Layout, MAP_THREADS, MapWork, particles_source, source};
use super::input::Sites;

/// Slots of whole bins that a thread keeps, and that a layer of bins fits into 48 KiB of shared memory with.
pub(super) const MOST_WHOLE: usize = 48;
/// Bytes of shared memory that every device has.
const SHARED: usize = 48 * 1024;

/// How a grid-centric kernel reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointRead {
    /// Whole bins; the polynomial is branched to. Algorithm 5.
    Branches,
    /// The same; all polynomials are evaluated and one is selected.
    Selection,
    /// The same, bins copied to shared memory by a block.
    Shared,
    /// Only particles, from interleaved slots. Algorithm 6.
    Reduced,
}

impl PointRead {
    /// Its bins.
    pub fn layout(self) -> Layout {
        match self {
            Self::Reduced => Layout::Interleaved,
            _ => Layout::Whole,
        }
    }
}

/// Who maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A thread for each particle, unsorted: Algorithm 3.
    Particle,
    /// A thread for each bin: Algorithm 4.
    Bin(Layout),
    /// A thread for each point.
    Point(PointRead),
}

impl Owner {
    /// The name of its kernel.
    pub fn kernel(self) -> &'static str {
        match self {
            Self::Particle => "debye_map_particles",
            Self::Bin(Layout::Whole) => "debye_map_bins_whole",
            Self::Bin(Layout::Interleaved) => "debye_map_bins_interleaved",
            Self::Bin(Layout::Coalesced) => "debye_map_bins_coalesced",
            Self::Point(PointRead::Branches) => "debye_map_points_branches",
            Self::Point(PointRead::Selection) => "debye_map_points_selection",
            Self::Point(PointRead::Shared) => "debye_map_points_shared",
            Self::Point(PointRead::Reduced) => "debye_map_points_reduced",
        }
    }
}

/// Points of a block that shares bins: as many as fit.
fn tile(slots: usize) -> [usize; 3] {
    let fits = |tile: &[usize; 3]| layer_bytes(*tile, slots) <= SHARED;
    let tiles = [[8, 4, 4], [4, 4, 4]];
    tiles.into_iter().find(fits).unwrap_or([4, 4, 4])
}

fn layer_bytes([x, y, _]: [usize; 3], slots: usize) -> usize {
    (x + 3) * (y + 3) * (1 + 4 * slots) * 4
}

pub(super) fn points_source(read: PointRead, slots: usize) -> ModuleSource {
    let text = include_str!("../kernels/map_points.cu");
    let [x, y, z] = tile(slots);
    source("map_points.cu", text, read.layout(), slots)
        .define("SELECTION", u32::from(read != PointRead::Branches))
        .define("TILE_X", x)
        .define("TILE_Y", y)
        .define("TILE_Z", z)
}

type OnBins = Kernel<(MapWork, Const<u32>, Const<f32>, Mut<f32>)>;

enum Launch {
    Particles(Kernel<(MapWork, Const<f32>, Mut<f32>)>),
    Bins(OnBins, Shape),
}

/// A kernel with its bins and the mesh.
pub(super) struct Mapped {
    bins: DeviceBins,
    launch: Launch,
    /// Whether kernels add to the mesh.
    adds: bool,
    /// Whether bins are made in every pass.
    fresh: bool,
    mesh: Buffer<f32>,
}

impl Mapped {
    pub(super) fn new(device: &Device, sites: &Sites, owner: Owner, fresh: bool) -> Result<Self, CudaError> {
        let layout = match owner {
            Owner::Particle => Layout::Coalesced,
            Owner::Bin(layout) => layout,
            Owner::Point(read) => read.layout(),
        };
        let bins = match owner {
            // It has none.
            Owner::Particle => DeviceBins::with_slots(device, sites, layout, 1)?,
            _ => DeviceBins::new(device, sites, layout)?,
        };
        let slots = bins.slots();
        let each = Shape::covering(sites.points(), MAP_THREADS as u32);
        let launch = match owner {
            Owner::Particle => {
                let module = device.module(&particles_source(layout, slots))?;
                Launch::Particles(module.kernel(owner.kernel())?)
            }
            Owner::Bin(_) => {
                let module = device.module(&particles_source(layout, slots))?;
                Launch::Bins(module.kernel(owner.kernel())?, each)
            }
            Owner::Point(read) => {
                let module = device.module(&points_source(read, slots))?;
                let kernel = module.kernel(owner.kernel())?;
                if read == PointRead::Shared {
                    let (tile, size) = (tile(slots), sites.size());
                    let shape = Shape {
                        grid: std::array::from_fn(|k| size[k].div_ceil(tile[k]) as u32),
                        ..Shape::new(1, tile.iter().product::<usize>() as u32)
                    };
                    let shape = shape.shared(layer_bytes(tile, slots) as u32);
                    Launch::Bins(kernel, shape)
                } else {
                    Launch::Bins(kernel, each)
                }
            }
        };
        Ok(Self {
            adds: !matches!(owner, Owner::Point(_)),
            fresh: fresh && owner != Owner::Particle,
            mesh: device.zeros(sites.points())?,
            bins,
            launch,
        })
    }

    /// Queues one mapping.
    pub(super) fn queue(&mut self, stream: &Stream) -> Result<(), CudaError> {
        if self.fresh {
            self.bins.fill(stream)?;
        }
        if self.adds {
            stream.fill(self.mesh.all_mut(), 0)?;
        }
        let (bins, mesh) = (&self.bins, self.mesh.all_mut());
        match &self.launch {
            Launch::Particles(kernel) => {
                let shape = Shape::covering(bins.work.particles as usize, MAP_THREADS as u32);
                kernel.launch(stream, shape, (bins.work, bins.particles.all(), mesh))
            }
            Launch::Bins(kernel, shape) => {
                let given = (bins.work, bins.counters.all(), bins.words.all(), mesh);
                kernel.launch(stream, *shape, given)
            }
        }
    }

    /// The mesh; refused where a bin overflowed.
    pub(super) fn mesh(&mut self, stream: &Stream) -> Result<Vec<f32>, CudaError> {
        self.queue(stream)?;
        let needed = match self.launch {
            Launch::Particles(_) => 0,
            Launch::Bins(..) => self.bins.needed(stream)?,
        };
        if needed > 0 {
            let reason = format!("a bin needs {needed} slots and has {}", self.bins.slots());
            return Err(CudaError::shape("debye_map_bin", reason));
        }
        stream.download(&self.mesh)
    }
}
