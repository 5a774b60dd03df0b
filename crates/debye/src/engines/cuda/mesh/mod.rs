//! Particle meshes on a device: charges spread over points, their potential, and forces gathered from it.

mod bricks;
mod candidates;
mod design;
mod fft;
pub mod fft_speed;
mod gather;
mod multiply;
mod passes;
mod reciprocal;
mod shape;
mod solve;
pub mod speed;
mod spread;
mod table;

pub use bricks::{Bricks, Entered, Follow, Notes};
pub use design::{Design, Tiling, Timed};
pub use fft::{Across, Cut, Fft, Lines, radices};
pub use gather::{Gather, Way, mean_of_sums};
pub use shape::{MeshNumber, MeshShape, Particles, Word};
pub use solve::{MeshCell, Part, Solve};
pub use spread::{Fixed, Spread};

#[doc(hidden)]
pub use design::modules as spread_modules;
#[doc(hidden)]
pub use fft::modules as solve_modules;
