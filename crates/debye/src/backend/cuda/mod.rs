//! CUDA: the engine on a device ([`debye_gpu`]), its meshes, and the checks of both.

pub mod checks;
mod engine;
mod kernels;
pub mod mesh;
pub mod speed;

pub use engine::{Choice, CudaEngine};
