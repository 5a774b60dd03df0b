//! XYZ files, plain and extended, one frame or many.
//!
//! A frame is the number of atoms, a comment, and one row per atom. The comment of an extended file
//! is a list of `key=value`, of which `Lattice`, `Properties`, `Time`, `Step` and `title` are read.
//! In a plain file the comment is the title; three box forms in it are understood: `cell: x y z`,
//! three numbers alone, and `1 x y z xy xz yz` (the tilted boxes of the NIST reference data).

mod comment;
mod read;
mod write;

use crate::format::{FileFormat, Format};
use crate::frame::LengthUnit;

pub use read::XyzReader;
pub use write::XyzWriter;

impl Format {
    /// XYZ, plain and extended.
    pub const XYZ: Format = Format::new(&FileFormat {
        name: "xyz",
        extensions: &["xyz", "extxyz"],
        length_unit: LengthUnit::Angstrom,
        velocities: true,
        orientations: true,
        charges: true,
        read_structure: Some(|source, label| XyzReader::new(source, label).next_structure()),
        read_frames: Some(|source, label, _| Ok(Box::new(XyzReader::new(source, label)))),
        write_frames: Some(|file, label| Box::new(XyzWriter::new(file, label))),
        resume: Some(|kept| Ok(Box::new(XyzWriter::resume(kept.cut()?)))),
        ..FileFormat::NONE
    });
}
