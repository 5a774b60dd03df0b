//! CUDA: the engine on a device ([`debye_gpu`]) and its meshes.

mod engine;
mod kernels;
pub mod mesh;

pub use engine::{Choice, CudaEngine};
#[doc(hidden)]
pub use engine::{bonded_alone, modules, small_module};
