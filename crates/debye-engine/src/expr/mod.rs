//! The numbers physics is written in.
//!
//! A potential, a truncation or a rotation is one generic function over [`Real`]. Calling it with
//! `f64` gives the reference, with `f32` or SIMD lanes the fast CPU code, with [`Dual`] an exact
//! derivative, and with [`Sym`] a [`Tape`] that is printed as a CUDA device function.
//!
//! ```
//! use debye::expr::{CudaReal, Dual, Real, Tape};
//!
//! fn spring<R: Real>(r: R) -> R {
//!     R::lit(0.5) * (r - R::lit(1.0)).squared()
//! }
//!
//! assert_eq!(spring(3.0_f64), 2.0);
//! assert_eq!(spring(Dual::variable(3.0)).derivative, 2.0);
//! let tape = Tape::record(1, |r| vec![spring(r[0])]);
//! assert_eq!(tape.operations(), 3);
//! assert!(tape.to_cuda("spring", CudaReal::Float).contains("0.5f"));
//! ```

mod dual;
mod emit_cuda;
mod erfc;
mod gradient;
mod interpret;
mod matrix;
mod quaternion;
mod real;
mod recorder;
mod sym;
mod symmetric;
mod table;
mod tape;
mod vector;

pub use dual::Dual;
pub use emit_cuda::CudaReal;
pub(crate) use emit_cuda::KnownInputs;
pub(crate) use erfc::{erfc_beside, real_space_force, screened, smooth};
pub use matrix::Mat3;
pub use quaternion::Quat;
pub use real::Real;
pub use sym::{Sym, SymIndex};
pub use symmetric::eigen;
pub(crate) use symmetric::eigenvectors;
pub use table::Table;
pub use tape::{Binary, Node, Tape, Unary};
pub use vector::Vec3;
