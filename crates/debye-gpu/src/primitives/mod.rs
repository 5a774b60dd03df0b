//! Scans, sorts, reductions and compaction on a device, and copies to the host. All give the same bits every time.
//!
//! Each holds its compiled kernels and scratch memory for up to a stated length, so that using it allocates nothing
//! and can be captured in a graph.

mod collect;
mod compact;
mod counting_sort;
mod reduce;
mod scan;

pub use collect::{Collected, Collection, Pieces, Place, Turns};
pub use compact::Compact;
pub use counting_sort::CountingSort;
pub use reduce::{Extremes, Ordered, Reduce};
pub use scan::{Scan, Tiling};

use crate::{Header, ModuleSource, constants};

use counting_sort::{SHORT, SortNotes};
use reduce::TREE_TILE;

/// Elements of a tile of a sort.
pub const SORT_TILE: usize = 4096;
/// Values of a digit that a sort goes by.
pub const DIGITS: usize = 256;

/// A module of one file, which may include what the primitives share with their kernels.
pub fn source(name: &str, text: &str) -> ModuleSource {
    let shared = Header::new(&["prelude.cuh"])
        .constants(&constants![DIGITS, SORT_TILE, SHORT, TREE_TILE])
        .define::<SortNotes>();
    ModuleSource::new(name, text).include("primitives_shared.cuh", &shared.text())
}

/// Every module of the primitives, in every specialization, for tests that compile them all.
pub fn modules() -> Vec<ModuleSource> {
    let mut all: Vec<ModuleSource> = Tiling::ALL.iter().map(|tiling| tiling.source()).collect();
    all.push(counting_sort::source());
    all.push(reduce::source());
    all.push(compact::source());
    all.push(collect::source());
    all
}

/// Refuses more elements than there is room for.
fn check_room(what: &'static str, given: usize, room: usize) -> Result<(), crate::CudaError> {
    if given <= room {
        return Ok(());
    }
    Err(crate::CudaError::Length {
        what,
        given,
        needed: room,
    })
}
