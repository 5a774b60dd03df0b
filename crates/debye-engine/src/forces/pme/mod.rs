//! Particle meshes: the smooth part of 1/r by Fourier transforms on a mesh.
//!
//! Charges are spread over a mesh ([`Basis`]), the mesh is transformed, multiplied by the influence function, transformed
//! back, and the potential is gathered at the charges. B-splines with Essmann's influence function are smooth particle
//! mesh Ewald; any basis with the optimal one is P3M (Hockney & Eastwood 1981).

mod basis;
pub mod estimate;
pub mod expected;
mod influence;
pub mod pressure;
mod structure;

pub use basis::{Basis, MOST_POINTS, Weights, b_spline, cubic};
pub use influence::Influence;
pub(crate) use influence::{ReciprocalSpace, share};
pub use structure::Structure;
