//! Surfaces of triangles in files.
//!
//! | format | extension | write | numbers |
//! |---|---|---|---|
//! | PLY 1.0 | `.ply` | yes | `f32`, little endian |
//! | Wavefront OBJ | `.obj` | yes | text, as many digits as an `f32` needs |
//!
//! Both keep the normals. Neither has a unit of length: coordinates are written as they are.
//!
//! ```
//! use debye_io::surfaces::{Surface, write_obj};
//!
//! let surface = Surface {
//!     vertices: vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
//!     normals: vec![[0.0, 0.0, 1.0]; 3],
//!     triangles: vec![[0, 1, 2]],
//! };
//! let mut file = Vec::new();
//! write_obj(&mut file, "corner.obj", &surface)?;
//! assert!(String::from_utf8(file)?.ends_with("f 1//1 2//2 3//3\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod file;
mod obj;
mod ply;
mod surface;

pub use file::{SurfaceFormat, write_surface};
pub use obj::write_obj;
pub use ply::write_ply;
pub use surface::Surface;

/// Bytes that are put together before they are written.
const PIECE: usize = 1 << 16;
