//! OpenDX: a text of objects, of which a map has four.
//!
//! ```text
//! # comment
//! object 1 class gridpositions counts 2 2 2
//! origin 0.0 0.0 0.0
//! delta 0.5 0.0 0.0
//! delta 0.0 0.5 0.0
//! delta 0.0 0.0 0.5
//! object 2 class gridconnections counts 2 2 2
//! object 3 class array type double rank 0 items 8 data follows
//! 1.0 2.0 3.0
//! 4.0 5.0 6.0
//! 7.0 8.0
//! attribute "dep" string "positions"
//! object "regular positions regular connections" class field
//! component "positions" value 1
//! component "connections" value 2
//! component "data" value 3
//! ```
//!
//! This is what APBS writes, and the writer too. The reader takes any blanks and line ends between words, comments
//! anywhere, objects in any order and names of objects in quotes, as VMD and GridDataFormats write them. The format is
//! described in the OpenDX User's Guide, Appendix B, and in the manual of APBS.

mod read;
mod words;
mod write;

pub use read::read_dx;
pub use write::write_dx;
