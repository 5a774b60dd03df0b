//! The CPU: threads, vectors, and lists of neighbours.

pub mod pair;
pub mod simd;
