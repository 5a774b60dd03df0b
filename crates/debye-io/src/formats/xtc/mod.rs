//! XTC: compressed trajectories of GROMACS, nm, positions rounded to 1/precision.
//!
//! A frame is a header of 14 words (big-endian), then for up to nine atoms their positions in
//! single precision, else a precision, the range of the rounded positions and a bit stream:
//!
//! Rounded positions are written either in full, as a mixed-radix number below the ranges of the
//! three axes, or as a small offset from the atom before. After each full position a flag bit tells
//! whether the length of the run of offsets changes; if so, five bits give three times that length
//! plus 0, 1 or 2 for "offsets get smaller, stay, get larger". The first atom of a run changes
//! places with the full one, which suits water molecules (oxygen before its hydrogens).
//!
//! The codec is written here rather than taken from the `molly` crate, with which the tests compare
//! it: molly's decoder panics on damaged files, so that it could neither be fuzzed nor used in a
//! program that aborts on panics, and its encoder (0.7.0) writes wrong positions once an offset or
//! a full position takes more than 64 bits, as in dilute or finely resolved systems.

mod bits;
mod decode;
mod encode;
mod read;
mod write;

use crate::format::{FileFormat, Format};
use crate::frame::LengthUnit;

pub use read::XtcReader;
pub use write::XtcWriter;

/// Frames up to this many atoms are not compressed.
const UNCOMPRESSED_ATOMS: usize = 9;

impl Format {
    /// GROMACS compressed trajectory.
    pub const XTC: Format = Format::new(&FileFormat {
        name: "xtc",
        extensions: &["xtc"],
        length_unit: LengthUnit::Nanometer,
        read_frames: Some(|source, label, _| Ok(Box::new(XtcReader::new(source, label)))),
        write_frames: Some(|file, label| Box::new(XtcWriter::new(file, label))),
        resume: Some(|kept| Ok(Box::new(XtcWriter::resume(kept.cut()?)))),
        ..FileFormat::NONE
    });
}
