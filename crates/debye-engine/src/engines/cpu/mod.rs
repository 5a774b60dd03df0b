//! The CPU: threads, vectors, and lists of neighbors.

mod axes;
mod block_forces;
mod bonded;
mod constraints;
mod diagnosis;
mod engine;
mod interactions;
mod long_range;
#[doc(hidden)]
pub mod mesh;
mod minimize;
mod motion;
mod observe;
mod oriented;
pub(crate) mod pair;
mod rigid;
mod rotation;
mod save;
mod shared_rows;
mod space;
mod state;
mod tolerance;
mod verlet;

#[doc(hidden)]
pub use bonded::{BondedForces, Slots};
pub use engine::CpuEngine;
pub use interactions::ListSize;
#[doc(hidden)]
pub use mesh::{Mesh, MeshReal, grids::Grids};
pub(crate) use minimize::Descent;
pub use minimize::{FIRE, Fire, Minimized};
pub use observe::describe;
