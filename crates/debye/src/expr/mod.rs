//! The numbers physics is written in.
//!
//! A potential, a truncation or a rotation is one generic function over [`Real`]. Calling it with
//! `f64` gives the reference, with `f32` or SIMD lanes the fast CPU code, with [`Dual`] an exact
//! derivative, and with [`Sym`] a tape that is printed as a CUDA device function.

mod dual;
mod matrix;
mod quaternion;
mod real;
mod table;
mod vector;

pub use dual::Dual;
pub use matrix::Mat3;
pub use quaternion::Quat;
pub use real::Real;
pub use table::Table;
pub use vector::Vec3;
