//! Meshes on a device.

mod candidates;
mod cufft;
mod fft;
pub mod fft_speed;
mod multiply;
mod number;
mod passes;
mod solve;

pub use fft::{Across, Cut, Fft, Lines, radices};
pub use number::MeshNumber;
pub use solve::{MeshCell, Part, Solve};

pub(super) use fft::modules;
