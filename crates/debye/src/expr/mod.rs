//! The numbers physics is written in.
//!
//! A potential, a truncation or a rotation is one generic function over [`Real`]. Calling it with
//! `f64` gives the reference, with `f32` or SIMD lanes the fast CPU code, with [`Dual`] an exact
//! derivative, and with [`Sym`] a [`Tape`] that is printed as a CUDA device function.

mod dual;
mod emit_cuda;
mod gradient;
mod interpret;
mod matrix;
mod nvrtc;
mod quaternion;
mod real;
mod recorder;
mod sym;
mod table;
mod tape;
mod vector;

pub use dual::Dual;
pub use emit_cuda::CudaReal;
pub use matrix::Mat3;
pub use nvrtc::{Nvrtc, NvrtcError};
pub use quaternion::Quat;
pub use real::Real;
pub use sym::{Sym, SymIndex};
pub use table::Table;
pub use tape::{Binary, Node, Tape, Unary};
pub use vector::Vec3;
