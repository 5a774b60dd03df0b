//! Meshes on a device.

mod cufft;
mod fft;
pub mod fft_speed;
mod number;
mod passes;
mod solve;

pub use fft::{Across, Cut, Fft, Lines, radices};
pub use number::MeshNumber;
pub use solve::{MeshCell, Part, Solve};

pub(super) use fft::modules;
