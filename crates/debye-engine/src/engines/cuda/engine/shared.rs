//! `shared.cuh`: what the kernels of the engine share with the host, printed from its declarations.

use debye_gpu::{Header, constants};

use super::bonded::{Links, PLACE_BITS, ROW_BITS};
use super::boundary::{BOUNDARY_SUMS, BoundaryCharges, VACUUM};
use super::constraints::{
    CONSTRAIN_THREADS, CONSTRAINT_SUMS, ConstraintTables, RIGID_COUNTS, RIGID_NUMBERS, RIGID_SITE, SHAPE,
};
use super::exclusions::EXCLUDED_BELOW;
use super::frame::Frame;
use super::kernels::{
    Control, DUE_ALWAYS, DUE_WITH_LIST, DUE_WITH_SUMS, DUE_WITHOUT_SUMS, MeshLeft, Needed, Setup, World,
};
use super::layout::BLOCK;
use super::resident::{GROUP_SUMS, VIRIAL_SUMS};
use super::rotation::LINEAR;
use super::rules::{
    Ensemble, Fire, MOST_GROUPS, MOST_LINKS, NOSE_HOOVER, SCALES, SUMMED, SUMS, ScalingThermostat,
    VelocityScaling,
};
use super::small::{
    DUE_BITS, DUE_ENERGIES, DUE_PLACES, DUE_SUMS, EVALUATE, IMAGE_BITS, IMAGE_X, IMAGE_Y, IMAGE_Z, MOST_DUE,
    MOST_IMAGES, SmallControl, SmallSetup, SmallShot, SmallShots, SmallWorld,
};
use super::terms::Kind;
use crate::engines::cuda::mesh::{EMPTY_SLOT, MESH_SUMS};
use crate::random::{GAMMA, MULTIPLIERS, NORMALS, ROUNDS, WEYL, stream};

debye_gpu::device_types! {
    /// A number of pairs: its size follows from the precision.
    pub(super) Real = "real" in u32;
    /// A number of motion.
    pub(super) Speed = "speed" in u32;
    /// Four words.
    pub(super) Uint4 = "uint4" in u32;
    /// The box of a block: its size follows from the shape of the cell.
    pub(super) BoundingBox = "struct Box" in u32;
    /// What others see of a particle that turns: its size follows from the precision.
    pub(super) Facing = "struct Facing" in u32;
}

/// The text of `shared.cuh`.
pub(in crate::engines::cuda) fn header() -> String {
    Header::new(&["precision.cuh"])
        .constants(&constants![BLOCK, EMPTY_SLOT, MOST_LINKS, MOST_GROUPS])
        .constants(&constants![SUMS, SCALES, SUMMED])
        .constants(&constants![
            DUE_ALWAYS,
            DUE_WITHOUT_SUMS,
            DUE_WITH_SUMS,
            DUE_WITH_LIST
        ])
        .constants(&constants![NOSE_HOOVER, LINEAR])
        .constants(&constants![
            ROW_BITS,
            PLACE_BITS,
            SHAPE,
            RIGID_NUMBERS,
            RIGID_SITE,
            RIGID_COUNTS,
            CONSTRAIN_THREADS,
            MESH_SUMS,
            BOUNDARY_SUMS,
            VACUUM
        ])
        .constants(&constants![
            VIRIAL_SUMS,
            GROUP_SUMS,
            CONSTRAINT_SUMS,
            EXCLUDED_BELOW
        ])
        .constants(&constants![
            EVALUATE,
            MOST_DUE,
            DUE_BITS,
            DUE_SUMS,
            DUE_PLACES,
            DUE_ENERGIES,
            MOST_IMAGES,
            IMAGE_BITS,
            IMAGE_X,
            IMAGE_Y,
            IMAGE_Z
        ])
        .constants(&constants![
            STREAM_LANGEVIN = stream::LANGEVIN,
            STREAM_LANGEVIN_ROTATIONS = stream::LANGEVIN_ROTATIONS,
            STREAM_BUSSI = stream::BUSSI,
            STREAM_BAROSTAT = stream::BAROSTAT,
            STREAM_THERMOSTATS = stream::THERMOSTATS,
        ])
        .constants(&constants![
            PHILOX_ROUNDS = ROUNDS,
            PHILOX_MULTIPLIER_0 = MULTIPLIERS[0],
            PHILOX_MULTIPLIER_1 = MULTIPLIERS[1],
            PHILOX_WEYL_0 = WEYL[0],
            PHILOX_WEYL_1 = WEYL[1],
            PHILOX_NORMALS = NORMALS,
            PHILOX_GAMMA = GAMMA,
        ])
        .define::<Kind>()
        .define::<Frame>()
        .define::<Setup>()
        .define::<Needed>()
        .define::<Control>()
        .define::<MeshLeft>()
        .define::<ScalingThermostat>()
        .define::<VelocityScaling>()
        .define::<Ensemble>()
        .define::<Fire>()
        .define::<World>()
        .define::<Links>()
        .define::<ConstraintTables>()
        .define::<BoundaryCharges>()
        .define::<SmallShot>()
        .define::<SmallShots>()
        .define::<SmallSetup>()
        .define::<SmallControl>()
        .define::<SmallWorld>()
        .text()
}
