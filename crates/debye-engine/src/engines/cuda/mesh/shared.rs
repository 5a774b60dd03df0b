//! What the kernels of meshes share with the host, printed from its declarations: `mesh_shared.cuh` for those that know
//! particles, `solve_shared.cuh` for those that transform.

use debye_gpu::{Header, constants};

use super::bricks::{MeshChangingCell, MeshLists, MeshNotes, Reach, STRAYED, TOO_STRONG};
use super::gather::{GatherCell, GatheredForces};
use super::shape::{EMPTY_SLOT, MeshParticles};
use super::solve::{MESH_SUMS, MeshCell, Multiplier};

debye_gpu::device_types! {
    /// Four words.
    pub(super) Uint4 = "uint4" in u32;
    /// A number of the mesh.
    pub(super) MeshReal = "mesh_real" in u32;
    /// A number of the spectrum.
    pub(super) SpectrumReal = "real" in u32;
}

/// The text of `mesh_shared.cuh`.
pub(super) fn of_particles() -> String {
    Header::new(&["prelude.cuh", "basis.cuh"])
        .constants(&constants![EMPTY_SLOT, STRAYED, TOO_STRONG])
        .define::<MeshNotes>()
        .define::<MeshCell>()
        .define::<GatherCell>()
        .define::<MeshParticles>()
        .define::<MeshChangingCell>()
        .define::<MeshLists>()
        .define::<Reach>()
        .define::<GatheredForces>()
        .text()
}

/// The text of `solve_shared.cuh`.
pub(super) fn of_solving() -> String {
    Header::new(&["prelude.cuh"])
        .constants(&constants![SUMS = MESH_SUMS])
        .define::<MeshCell>()
        .define::<Multiplier>()
        .text()
}
