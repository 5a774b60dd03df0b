//! CUDA: the engine on a device ([`debye_gpu`]) and its meshes.

mod engine;
mod kernels;
pub mod mesh;

pub use engine::{Choice, CudaEngine};
#[doc(hidden)]
pub use engine::{bonded_alone, modules, pair_counting, small_module};

/// Charges where they lie on a device.
#[derive(Clone, Debug)]
pub struct ChargesOnDevice {
    /// The device.
    pub device: debye_gpu::Device,
    /// Fractions of the cell and charges, slot by slot.
    pub particles: mesh::Particles,
}
