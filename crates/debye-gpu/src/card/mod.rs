//! A card, through NVIDIA's libraries: where they are, the driver, and the run-time compiler.

mod devices;
mod driver;
mod graphs;
pub mod library;
mod nvrtc;

pub use devices::driver_version;
pub(crate) use driver::Gpu;
pub use driver::{compile_for, report_compilations};
pub use nvrtc::{Compiled, Nvrtc};
