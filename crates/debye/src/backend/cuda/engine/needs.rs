//! How much device memory a layout takes, before any of it is taken.

use super::kernels::Control;
use super::layout::{BLOCK, Layout};
use super::terms::Terms;
use crate::backend::cuda::primitives::CountingSort;
use crate::backend::cuda::{Device, Memory};
use crate::backend::{EngineError, Needs, Shortage};

/// What [`Arrays`](super::arrays::Arrays) and all else on the device will take; a check holds it to what they do.
pub(super) fn needs(device: &Device, layout: &Layout, terms: &Terms) -> Needs {
    let (slots, blocks) = (layout.slots(), layout.blocks);
    let columns = (layout.columns[0] * layout.columns[1]) as usize;
    let buckets = columns * layout.columns[2] as usize;
    // Two halves of positions, lower halves, velocities, ids and images; the list's positions; forces.
    let particles = slots * (2 * (16 + 12 + 24 + 4 + 12) + 16 + 24);
    // Column, count of the stage, a box for it and for each of its eight warps.
    let boxes = blocks * (4 + 4 + 32 + 8 * 32) + 4 * (columns + 1);
    let numbers = 4 * (terms.parameters.len() + terms.tables.len()) + 8 * terms.kinds.len();
    Needs(vec![
        ("particles", particles),
        ("lists", 8 * blocks * layout.rows * BLOCK + 2 * slots),
        ("stages", 4 * blocks * layout.stage),
        (
            "sort",
            4 * (2 * slots + buckets + 1) + CountingSort::bytes(device, slots, buckets),
        ),
        ("boxes", boxes),
        ("sums", 8 * blocks * (terms.count + 12)),
        ("parameters", numbers + size_of::<Control>()),
    ])
}

/// Refuses a layout that the free memory of the device cannot hold.
pub(super) fn check(
    device: &Device,
    layout: &Layout,
    terms: &Terms,
    radius: f64,
) -> Result<Needs, EngineError> {
    let needs = needs(device, layout, terms);
    let Memory { free, total } = device.memory()?;
    if needs.total() <= free {
        return Ok(needs);
    }
    Err(EngineError::DeviceMemory(Box::new(Shortage {
        device: device.info().name.clone(),
        needs,
        free,
        total,
        radius,
    })))
}
