//! Meshes on a device: charges spread over points, and forces gathered from potentials there.

mod bricks;
mod design;
mod gather;
mod shape;
pub mod speed;
mod spread;

pub use bricks::{Bricks, Entered, Notes};
pub use design::{Design, Tiling, Timed};
pub use gather::{Gather, Way};
pub use shape::{MeshNumber, MeshShape, Particles, Word};
pub use spread::{Fixed, Spread};

pub(super) use design::modules;
