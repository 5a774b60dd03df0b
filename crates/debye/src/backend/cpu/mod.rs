//! The CPU: threads, vectors, and lists of neighbours.

mod bonded;
mod diagnosis;
mod engine;
mod interactions;
mod motion;
pub mod pair;
pub mod simd;
mod space;
mod state;

pub use engine::CpuEngine;
pub use interactions::ListSize;
