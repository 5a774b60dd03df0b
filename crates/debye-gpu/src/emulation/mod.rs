//! A device on the host: the same kernels, compiled by a C++ compiler, with every CUDA thread a fiber.

mod compiler;
mod driver;

pub use compiler::Instrument;
pub(crate) use driver::Emulated;
pub use driver::Emulation;
