//! The CUDA files of the engine.

use debye_gpu::ModuleSource;

use super::engine::shared;

/// The headers that the engine's kernels may include.
const HEADERS: &[(&str, &str)] = &[
    ("precision.cuh", include_str!("precision.cuh")),
    ("frame.cuh", include_str!("frame.cuh")),
    ("bonded.cuh", include_str!("bonded.cuh")),
    ("ensemble.cuh", include_str!("ensemble.cuh")),
    ("engine.cuh", include_str!("engine.cuh")),
    ("motion.cuh", include_str!("motion.cuh")),
    ("sums.cuh", include_str!("sums.cuh")),
    ("lists.cuh", include_str!("lists.cuh")),
    ("visit.cuh", include_str!("visit.cuh")),
    ("oriented.cuh", include_str!("oriented.cuh")),
    ("rotation.cuh", include_str!("rotation.cuh")),
    ("molecules.cuh", include_str!("molecules.cuh")),
    ("pair_forces.cuh", include_str!("pair_forces.cuh")),
    ("exact.cuh", include_str!("exact.cuh")),
    ("block_sum.cuh", include_str!("block_sum.cuh")),
    ("constraints.cuh", include_str!("constraints.cuh")),
    ("constrained.cuh", include_str!("constrained.cuh")),
    ("rigid.cuh", include_str!("rigid.cuh")),
    ("rigid_bodies.cuh", include_str!("rigid_bodies.cuh")),
    ("random.cuh", include_str!("random.cuh")),
    ("small.cuh", include_str!("small.cuh")),
    ("small_motion.cuh", include_str!("small_motion.cuh")),
];

/// A module of one file, which may include the headers of the engine and what is printed of it.
pub(crate) fn source(name: &str, text: &str) -> ModuleSource {
    ModuleSource::new(name, text)
        .headers(HEADERS)
        .include("shared.cuh", &shared::header())
        .include("coupling.cuh", super::engine::coupling::text())
        .include("rotation_formulas.cuh", super::engine::rotation::text())
}
