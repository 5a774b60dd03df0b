//! [`Arrays`]: the memory of a simulation on its device.

use crate::backend::cuda::primitives::CountingSort;
use crate::backend::cuda::{Buffer, CudaError, Device};

use super::layout::{BLOCK, Layout};

/// Memory that a layout decides.
pub(super) struct Arrays {
    /// Both halves, one after the other.
    pub(super) pos: Buffer<u32>,
    pub(super) low: Buffer<u32>,
    pub(super) velocities: Buffer<f64>,
    pub(super) ids: Buffer<u32>,
    pub(super) images: Buffer<i32>,
    pub(super) reference: Buffer<u32>,
    pub(super) block_column: Buffer<u32>,
    pub(super) column_blocks: Buffer<u32>,
    pub(super) boxes: Buffer<u32>,
    pub(super) warp_boxes: Buffer<u32>,
    pub(super) stage_counts: Buffer<u32>,
    pub(super) stages: Buffer<u32>,
    pub(super) lists: Buffer<u16>,
    pub(super) rows_of: Buffer<u16>,
    pub(super) keys: Buffer<u32>,
    pub(super) order: Buffer<u32>,
    pub(super) starts: Buffer<u32>,
    pub(super) forces: Buffer<f64>,
    pub(super) partial: Buffer<f64>,
    pub(super) sort: CountingSort,
}

impl Arrays {
    pub(super) fn new(device: &Device, layout: &Layout, terms: usize) -> Result<Self, CudaError> {
        let (slots, blocks) = (layout.slots(), layout.blocks);
        let columns = (layout.columns[0] * layout.columns[1]) as usize;
        let buckets = columns * layout.columns[2] as usize;
        Ok(Self {
            pos: device.zeros(8 * slots)?,
            low: device.zeros(6 * slots)?,
            velocities: device.zeros(6 * slots)?,
            ids: device.zeros(2 * slots)?,
            images: device.zeros(6 * slots)?,
            reference: device.zeros(4 * slots)?,
            block_column: device.zeros(blocks)?,
            column_blocks: device.zeros(columns + 1)?,
            boxes: device.zeros(8 * blocks)?,
            warp_boxes: device.zeros(8 * 8 * blocks)?,
            stage_counts: device.zeros(blocks)?,
            stages: device.allocate(blocks * layout.stage)?,
            lists: device.allocate(4 * blocks * layout.rows * BLOCK)?,
            rows_of: device.zeros(slots)?,
            keys: device.allocate(slots)?,
            order: device.allocate(slots)?,
            starts: device.zeros(buckets + 1)?,
            forces: device.zeros(3 * slots)?,
            partial: device.zeros(blocks * (terms + 12))?,
            sort: CountingSort::new(device, slots, buckets)?,
        })
    }

    pub(super) fn bytes(&self) -> usize {
        self.pos.bytes()
            + self.low.bytes()
            + self.velocities.bytes()
            + self.ids.bytes()
            + self.images.bytes()
            + self.reference.bytes()
            + self.stages.bytes()
            + self.lists.bytes()
            + self.rows_of.bytes()
            + self.keys.bytes() * 5
            + self.order.bytes()
            + self.starts.bytes() * 2
            + self.forces.bytes()
            + self.warp_boxes.bytes()
    }
}
