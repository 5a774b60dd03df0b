//! Molecular file formats: tolerant of real files, strict about damaged ones.
//!
//! | format | read | write | append | frames | length unit |
//! |---|---|---|---|---|---|
//! | GRO | yes | yes | yes | many | nm |
//! | PDB | yes | yes | | many (MODEL) | Å |
//! | XYZ, extended XYZ | yes | yes (extended) | yes | many | Å |
//! | PQR | yes | yes | | one | Å |
//! | DCD | yes | yes | yes | many | Å |
//! | XTC | yes | yes | yes | many | nm |
//! | LAMMPS data | yes | yes | | one | unspecified |
//! | native (`.debye`) | yes | yes | | one | nm, or reduced |
//! | LAMMPS dump (text) | yes | | | many | unspecified, or as `ITEM: UNITS` says |
//! | TRR | yes | | | many | nm |
//! | mmCIF | yes | | | many (models) | Å |
//!
//! Orientations are kept by extended XYZ and native files. [`OrientationWriter`] writes them beside trajectories of other
//! formats, and [`Trajectory`] reads them there.
//!
//! Files compressed by gzip, bzip2, xz or zstd are unpacked as they are read.
//!
//! Numbers stay those of the file: a [`Frame`] says its [`LengthUnit`], and writers refuse a frame
//! of the wrong one. Memory is bounded by the (unpacked) size of the input, whatever counts its
//! header claims; no input makes a reader panic. What is odd without being wrong is told by
//! [`ReadFrames::warnings`] and [`Structure::warnings`]; [`ReadOptions::lenient`] also reads the
//! whole frames of a trajectory that is cut short. Every error of [`IoError`] names the file, the line or byte, what
//! was found and what was expected.
//!
//! ```
//! use debye_io::{Format, GroReader, ReadFrames, WriteFrames, XyzWriter, LengthUnit};
//!
//! let text = "water\n  1\n    1SOL     OW    1   0.100   0.200   0.300\n   1.0   1.0   1.0\n";
//! let mut structure = GroReader::new(text.as_bytes(), "water.gro").next_structure()?.unwrap();
//! assert_eq!(structure.atoms[0].element, "O");
//! assert_eq!(structure.frame.length_unit, Format::GRO.length_unit());
//!
//! // XYZ is in ångströms; converting is the caller's business.
//! structure.frame.positions.iter_mut().flatten().for_each(|x| *x *= 10.0);
//! structure.frame.cell = None;
//! structure.frame.length_unit = LengthUnit::Angstrom;
//! let mut file = Vec::new();
//! let mut writer = XyzWriter::new(&mut file, "water.xyz");
//! writer.write_frame(&structure.atoms, &structure.frame)?;
//! writer.finish()?;
//! # drop(writer);
//! assert!(String::from_utf8(file).unwrap().contains("O 1.0 2.0 3.0"));
//! # Ok::<(), debye_io::IoError>(())
//! ```
//!
//! Grids of numbers, such as maps of a potential, have formats of their own: [`volumes`]. So have triangles:
//! [`surfaces`].
//!
//! Whole files: [`read_structure`], [`Trajectory::open`], [`write_structure`], [`create_writer`],
//! and [`open_append`] to continue a trajectory from a checkpoint.

mod alternates;
mod bytes;
mod cell;
pub mod codec;
mod element;
mod error;
mod format;
mod formats;
mod frame;
mod labels;
mod lines;
mod orientations;
mod output;
mod read_frames;
mod register;
mod replace;
mod source;
mod structure;
pub mod surfaces;
mod trajectory;
pub mod volumes;
mod writer;

pub use element::{atomic_number, element_of};
pub use error::{IoError, Place};
pub use format::{
    CreateFrames, FileFormat, Format, OpenFrames, ReadStructure, ResumeFrames, Source, WriteStructure,
};
pub use formats::*;
pub use frame::{Frame, LengthUnit};
pub use labels::AtomLabels;
pub use orientations::{OrientationWriter, orientations_path};
pub use output::{EncodeFrame, Output, Resumption, WriteEncoded, WriteFrames};
pub use read_frames::ReadFrames;
pub use register::{Entries, NameTaken, Register, Registered};
pub use replace::UNFINISHED_STRUCTURE;
pub use source::unpack;
pub use structure::{Atom, Bonded, CoefficientRow, CoefficientSection, Structure};
pub use trajectory::{ReadOptions, Trajectory, read_structure, read_structure_as};
pub use writer::{create_writer, open_append, write_structure};
