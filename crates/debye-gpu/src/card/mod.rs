//! A card, through NVIDIA's libraries: where they are, the driver, and the run-time compiler.

mod driver;
pub mod library;
mod nvrtc;

pub(crate) use driver::Gpu;
pub use driver::{compile_for, driver_version};
pub use nvrtc::{Compiled, Nvrtc};
