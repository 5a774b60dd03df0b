//! XYZ files, plain and extended, one frame or many.
//!
//! A frame is the number of atoms, a comment, and one row per atom. The comment of an extended file
//! is a list of `key=value`, of which `Lattice`, `Properties`, `Time`, `Step` and `title` are read.
//! In a plain file the comment is the title; three box forms in it are understood: `cell: x y z`,
//! three numbers alone, and `1 x y z xy xz yz` (the tilted boxes of the NIST reference data).

mod comment;
mod read;
mod write;

pub use read::XyzReader;
pub use write::XyzWriter;
