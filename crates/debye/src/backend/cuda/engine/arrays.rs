//! [`Arrays`]: the memory of a simulation on its device.

use crate::backend::cuda::primitives::CountingSort;
use crate::backend::cuda::{Binder, Buffer, Bundle, CudaError, Device};

use super::kernels::{Control, World};
use super::layout::{BLOCK, Layout};
use super::terms::Terms;

/// Numbers of the terms and of the kinds of particles.
pub(super) struct Numbers {
    parameters: Buffer<f32>,
    tables: Buffer<f32>,
    kinds: Buffer<f64>,
}

impl Numbers {
    pub(super) fn new(device: &Device, terms: &Terms) -> Result<Self, CudaError> {
        Ok(Self {
            parameters: device.upload(&terms.parameters)?,
            tables: device.upload(&terms.tables)?,
            kinds: device.upload(&terms.kinds)?,
        })
    }
}

/// Where everything lies.
pub(super) fn world(control: &Buffer<Control>, a: &Arrays, numbers: &Numbers) -> Bundle<World> {
    let mut at = Binder::default();
    let world = World {
        control: at.address(control),
        pos: at.address(&a.pos),
        low: at.address(&a.low),
        velocities: at.address(&a.velocities),
        ids: at.address(&a.ids),
        images: at.address(&a.images),
        reference: at.address(&a.reference),
        block_column: at.address(&a.block_column),
        column_blocks: at.address(&a.column_blocks),
        boxes: at.address(&a.boxes),
        warp_boxes: at.address(&a.warp_boxes),
        stage_counts: at.address(&a.stage_counts),
        stages: at.address(&a.stages),
        lists: at.address(&a.lists),
        rows_of: at.address(&a.rows_of),
        keys: at.address(&a.keys),
        order: at.address(&a.order),
        starts: at.address(&a.starts),
        forces: at.address(&a.forces),
        partial: at.address(&a.partial),
        parameters: at.address(&numbers.parameters),
        tables: at.address(&numbers.tables),
        kinds: at.address(&numbers.kinds),
    };
    at.bundle(world)
}

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
}
