//! Particle meshes on a device: charges spread over points, their potential, and forces gathered from it.
//!
//! The crate `debye-studies` measures other kernels beside those that a simulation takes. For it [`SpreadKernel`],
//! [`MeshShape::source`] and [`influence_source`] are public.

mod bricks;
mod gather;
pub(crate) mod levels;
mod reciprocal;
mod shape;
mod shared;
mod solve;
mod spread;
mod table;
mod tiling;
mod unpack;

pub use bricks::{Bricks, ChangingCell, Entered, MeshNotes, Notes};
pub use gather::{Gather, GatherMethod, mean_of_sums};
pub use levels::{DeviceLevels, LevelNumber};
pub use shape::{MeshNumber, MeshShape, Particles, Word};
pub use solve::{MESH_SUMS, MeshCell, Part, Solve, influence_source};
pub use spread::{Fixed, Spread, SpreadKernel, tile_bytes};
pub use tiling::Tiling;
pub use unpack::Unpack;

pub(super) use shape::EMPTY_SLOT;

use crate::forces::multilevel::Interpolation;
use crate::forces::pme::Basis;
use debye_gpu::{CudaError, Device, ModuleSource};

/// What is compiled for a mesh with so many charges on a device, where nothing is measured. `slots`: those that belong
/// together, and the particles that may be in them. `fourier`: whether the influence function is optimal and whether it
/// follows the cell; `None` for grids of many levels.
pub(super) fn sources<M: MeshNumber>(
    device: &Device,
    shape: &MeshShape,
    charges: usize,
    slots: [usize; 2],
    fourier: Option<[bool; 2]>,
) -> Result<Vec<ModuleSource>, CudaError> {
    let tiling = Tiling::usual::<M>(device, shape, charges);
    let method = GatherMethod::by_rule::<M>(device.info(), shape, tiling.edges, slots);
    let mut all = match fourier {
        Some(kind) => Solve::<M>::sources(device.info(), shape.size, kind)?,
        None => vec![levels::source(M::DOUBLE)],
    };
    all.extend([
        bricks::source::<M>(shape, tiling.edges),
        SpreadKernel::owner::<M>(shape, tiling).source,
        gather::source::<M>(shape, method, method.tiling_for::<M>(shape, tiling.edges)),
    ]);
    Ok(all)
}

/// Modules for a few meshes, for tests that compile them.
#[doc(hidden)]
pub fn modules() -> Vec<ModuleSource> {
    let usual = MeshShape {
        size: [108, 108, 80],
        basis: Basis::Cubic,
    };
    let odd = MeshShape {
        size: [18, 15, 14],
        basis: Basis::BSpline(8),
    };
    let large = MeshShape {
        size: [256; 3],
        basis: Basis::BSpline(5),
    };
    let groups = GatherMethod::Groups {
        slots: 8,
        particles: 1,
    };
    let mut all = solve::modules();
    all.extend([false, true].map(levels::source));
    let sixth = MeshShape {
        size: [24, 20, 28],
        basis: Basis::Interpolating(Interpolation::SIX),
    };
    all.extend([
        SpreadKernel::owner::<f32>(&usual, tiling::CUBES[0]).source,
        SpreadKernel::owner::<f64>(&odd, tiling::SMALL).source,
        SpreadKernel::owner::<f32>(&sixth, tiling::SMALL).source,
        gather::source::<f32>(&sixth, GatherMethod::Slots, tiling::SMALL),
        bricks::source::<f32>(&usual, [16, 16, 16]),
        unpack::source::<f32>(&usual),
        unpack::source::<f64>(&odd),
        bricks::source::<f64>(&large, [8; 3]),
    ]);
    all.extend(
        [GatherMethod::Slots, groups, GatherMethod::Tiles]
            .map(|method| gather::source::<f32>(&usual, method, method.tiling())),
    );
    all.extend(
        [GatherMethod::Slots, GatherMethod::Tiles]
            .map(|method| gather::source::<f64>(&odd, method, tiling::SMALL)),
    );
    all
}
