//! Multilevel summation: 1/r as a short-range part and smooth parts on nested grids, in linear time.
//!
//! ```text
//! 1/r = [1/r − g_a] + [g_a − g_2a] + … + g_(2^L a),    g_s(r) = γ(r/s)/s
//! ```
//! The first bracket reaches as far as a and is summed over pairs. Each further one varies over 2^l a, so that a grid of
//! spacing 2^l h represents it: charges are spread over the finest grid (`interpolation.rs`), from grid to coarser grid,
//! summed with the kernel of the level (`stencil.rs`), and potentials come back the same way.
//! Skeel, Tezcan & Hardy (2002); Hardy's thesis (2006).

mod interpolation;
mod kernel;
mod levels;
mod nested;
mod periodic;
pub(crate) mod separable;
mod slab;
mod softening;
mod stencil;

pub use interpolation::Interpolation;
pub(crate) use levels::GridSums;
pub use levels::{GridReal, Levels, MultilevelPlan};
pub(crate) use nested::Nested;
pub use nested::{Boundaries, GridPlan};
pub use softening::Softening;
