//! [`Scan`]: the exclusive prefix sum of `u32`.

use crate::{Buffer, Const, CudaError, Device, Kernel, ModuleSource, Mut, Shape, Slice, SliceMut, Stream};

use super::check_room;

type Parameters = (Const<u32>, Mut<u32>, Mut<u32>, Mut<u64>, u64);

/// How the kernel cuts its input: threads of a block, elements per thread, and tiles in shared memory (none: a
/// block has one tile, which stays in registers).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiling {
    /// Threads of a block.
    pub threads: u32,
    /// Elements per thread.
    pub items: u32,
    /// Tiles in shared memory.
    pub stages: u32,
}

impl Tiling {
    /// Everything that is used, from the smallest tile to the largest.
    pub const ALL: &'static [Self] = &[
        Self::one_shot(256, 4),
        Self::one_shot(512, 4),
        Self::staged(256, 4),
        Self::staged(512, 8),
        Self::staged(512, 16),
        Self::staged(1024, 16),
    ];

    const fn one_shot(threads: u32, items: u32) -> Self {
        Self {
            threads,
            items,
            stages: 0,
        }
    }

    const fn staged(threads: u32, items: u32) -> Self {
        Self {
            threads,
            items,
            stages: 3,
        }
    }

    /// Elements of a tile.
    pub fn tile(self) -> usize {
        (self.threads * self.items) as usize
    }

    /// Bytes of dynamic shared memory.
    fn shared(self) -> u32 {
        self.stages * self.threads * self.items * 4
    }

    /// What is compiled.
    pub(super) fn source(self) -> ModuleSource {
        ModuleSource::new("scan.cu", include_str!("../kernels/scan.cu"))
            .define("THREADS", self.threads)
            .define("ITEMS", self.items)
            .define("STAGES", self.stages)
    }

    /// What is fastest for this length on this device.
    fn choose(device: &Device, length: usize) -> Self {
        let info = device.info();
        let fits = |tiling: &Self| tiling.shared() + 4096 <= info.shared_per_block;
        let candidates: &[Self] = if info.emulated {
            // Small, so that small inputs have many tiles.
            if length <= 1024 {
                &[Self::one_shot(256, 4)]
            } else {
                &[Self::staged(256, 4)]
            }
        } else if length <= info.multiprocessors as usize * 2048 {
            &[Self::one_shot(512, 4)]
        } else if length < 1 << 23 {
            &[Self::staged(512, 16), Self::staged(512, 8)]
        } else {
            &[
                Self::staged(1024, 16),
                Self::staged(512, 16),
                Self::staged(512, 8),
            ]
        };
        let chosen = candidates.iter().copied().find(fits);
        chosen.unwrap_or(Self::staged(256, 4))
    }
}

/// The exclusive prefix sum of `u32`, wrapping, in one launch.
#[derive(Debug)]
pub struct Scan {
    kernel: Kernel<Parameters>,
    tiling: Tiling,
    resident: u32,
    capacity: usize,
    state: Buffer<u64>,
}

impl Scan {
    /// For up to `capacity` elements.
    pub fn new(device: &Device, capacity: usize) -> Result<Self, CudaError> {
        Self::with_tiling(device, capacity, Tiling::choose(device, capacity))
    }

    /// What is compiled for up to `capacity` elements.
    pub(super) fn source(device: &Device, capacity: usize) -> ModuleSource {
        Tiling::choose(device, capacity).source()
    }

    /// The same, cut in a stated way; for tests and measurements.
    pub fn with_tiling(device: &Device, capacity: usize, tiling: Tiling) -> Result<Self, CudaError> {
        let kernel = device.module(&tiling.source())?.kernel("debye_scan")?;
        let resident = kernel.resident_blocks(tiling.threads, tiling.shared())?;
        let tiles = capacity.div_ceil(tiling.tile());
        let capacity = if tiling.stages == 0 {
            capacity.min(resident as usize * tiling.tile())
        } else {
            capacity
        };
        Ok(Self {
            state: device.zeros(tiles + 1)?,
            kernel,
            tiling,
            resident,
            capacity,
        })
    }

    /// Bytes of device memory that one for this capacity takes.
    pub fn bytes(device: &Device, capacity: usize) -> usize {
        let tiles = capacity.div_ceil(Tiling::choose(device, capacity).tile());
        size_of::<u64>() * (tiles + 1)
    }

    /// How it cuts its input.
    pub fn tiling(&self) -> Tiling {
        self.tiling
    }

    /// The most elements it takes.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Sets `out[i]` to the sum of `input[..i]`, and `total` (one element or none) to the sum of all.
    ///
    /// `input` and `out` are of one length.
    pub fn exclusive(
        &mut self,
        stream: &Stream,
        input: Slice<'_, u32>,
        out: SliceMut<'_, u32>,
        total: SliceMut<'_, u32>,
    ) -> Result<(), CudaError> {
        CudaError::check_length("scan", out.len(), input.len())?;
        check_room("scan", input.len(), self.capacity)?;
        check_room("total of a scan", total.len(), 1)?;
        if input.is_empty() {
            return stream.fill(total, 0);
        }
        let tiles = input.len().div_ceil(self.tiling.tile());
        let blocks = u32::try_from(tiles).unwrap_or(u32::MAX).min(self.resident);
        let shape = Shape::new(blocks, self.tiling.threads)
            .shared(self.tiling.shared())
            .cooperative();
        let length = input.len() as u64;
        self.kernel
            .launch(stream, shape, (input, out, total, self.state.all_mut(), length))
    }
}
