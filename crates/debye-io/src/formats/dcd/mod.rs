//! DCD: binary trajectories of CHARMM and NAMD, single precision, Å.
//!
//! Fortran records, each between two copies of its length in 4 bytes: a header of 84 bytes, titles,
//! the number of atoms, then per frame the unit cell (if the header says so) and x, y, z apart.
//! Files of either byte order are read, with the angles of the cell as cosines or in degrees, and
//! with fixed atoms; files are written little-endian with cosines.

mod header;
mod read;
mod write;

use crate::format::{FileFormat, Format};
use crate::frame::LengthUnit;

pub use header::DcdHeader;
pub use read::DcdReader;
pub use write::DcdWriter;

/// The unit of time in DCD headers in picoseconds: sqrt(g/mol Å² / (kcal/mol)).
const AKMA_PICOSECONDS: f64 = 0.048_888_21;

impl Format {
    /// CHARMM / NAMD binary trajectory.
    pub const DCD: Format = Format::new(&FileFormat {
        name: "dcd",
        extensions: &["dcd"],
        length_unit: LengthUnit::Angstrom,
        read_frames: Some(|source, label, _| Ok(Box::new(DcdReader::new(source, label)?))),
        write_frames: Some(|file, label| Box::new(DcdWriter::new(file, label))),
        resume: Some(|kept| Ok(Box::new(DcdWriter::resume(kept)?))),
        ..FileFormat::NONE
    });
}
