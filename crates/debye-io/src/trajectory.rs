//! Frames one after the other.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use crate::error::IoError;
use crate::format::Format;
use crate::frame::Frame;
use crate::native::NativeStructure;
use crate::structure::Structure;
use crate::{dcd, gro, lammps, pdb, pqr, xtc, xyz};

/// A source of frames.
///
/// After an error or the end a reader stays at its end, so that a loop over it always stops.
pub trait ReadFrames {
    /// The next frame, or `None` at the end of the file.
    ///
    /// # Errors
    /// Whatever is wrong with the file at this place; a frame cut short is [`IoError::Truncated`].
    fn next_frame(&mut self) -> Result<Option<Frame>, IoError>;
}

/// Marks the reader as done unless it delivered something.
pub(crate) fn fuse<T>(done: &mut bool, result: Result<Option<T>, IoError>) -> Result<Option<T>, IoError> {
    *done = !matches!(result, Ok(Some(_)));
    result
}

/// A trajectory file of any readable format, read as a stream.
pub struct Trajectory {
    frames: Box<dyn ReadFrames + Send>,
    format: Format,
}

impl Trajectory {
    /// Opens a file; its extension says the format.
    ///
    /// # Errors
    /// [`IoError::UnknownFormat`], or [`IoError::Io`] from opening it.
    pub fn open(path: impl AsRef<Path>) -> Result<Trajectory, IoError> {
        let format = Format::from_path(&path)?;
        Trajectory::open_as(path, format)
    }

    /// Opens a file of a given format whatever its extension.
    ///
    /// # Errors
    /// [`IoError::Io`] from opening it, and errors of the header where the format has one.
    pub fn open_as(path: impl AsRef<Path>, format: Format) -> Result<Trajectory, IoError> {
        let path = path.as_ref();
        let (source, label) = open(path)?;
        let frames: Box<dyn ReadFrames + Send> = match format {
            Format::Gro => Box::new(gro::GroReader::new(source, label)),
            Format::Pdb => Box::new(pdb::PdbReader::new(source, label)),
            Format::Xyz => Box::new(xyz::XyzReader::new(source, label)),
            Format::Dcd => Box::new(dcd::DcdReader::new(source, label)?),
            Format::Xtc => Box::new(xtc::XtcReader::new(source, label)),
            Format::Pqr => Box::new(Single(Some(pqr::read_pqr(source, label)?.frame))),
            Format::Native => Box::new(Single(Some(NativeStructure::read(path)?.to_structure().frame))),
            Format::Lammps => Box::new(Single(Some(lammps::read_lammps_data(source, label, None)?.frame))),
        };
        Ok(Trajectory { frames, format })
    }

    /// The format of the file.
    pub fn format(&self) -> Format {
        self.format
    }
}

impl ReadFrames for Trajectory {
    fn next_frame(&mut self) -> Result<Option<Frame>, IoError> {
        self.frames.next_frame()
    }
}

impl Iterator for Trajectory {
    type Item = Result<Frame, IoError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_frame().transpose()
    }
}

/// The one frame of a format that has only one.
struct Single(Option<Frame>);

impl ReadFrames for Single {
    fn next_frame(&mut self) -> Result<Option<Frame>, IoError> {
        Ok(self.0.take())
    }
}

/// Reads atoms and the first frame; the extension says the format.
///
/// # Errors
/// Everything that is wrong with the file; [`IoError::NotSupported`] for DCD and XTC, which hold
/// no atoms.
pub fn read_structure(path: impl AsRef<Path>) -> Result<Structure, IoError> {
    let format = Format::from_path(&path)?;
    read_structure_as(path, format)
}

/// Reads atoms and the first frame of a file of a given format.
///
/// # Errors
/// As [`read_structure`].
pub fn read_structure_as(path: impl AsRef<Path>, format: Format) -> Result<Structure, IoError> {
    let path = path.as_ref();
    let (source, label) = open(path)?;
    let file = label.clone();
    let first = match format {
        Format::Gro => gro::GroReader::new(source, label).next_structure()?,
        Format::Pdb => Some(pdb::read_pdb(source, label)?),
        Format::Xyz => xyz::XyzReader::new(source, label).next_structure()?,
        Format::Pqr => Some(pqr::read_pqr(source, label)?),
        Format::Lammps => Some(lammps::read_lammps_data(source, label, None)?),
        Format::Native => Some(NativeStructure::read(path)?.to_structure()),
        Format::Dcd | Format::Xtc => {
            let operation = "read atoms (it holds positions only)";
            return Err(IoError::NotSupported {
                file,
                format: format.name(),
                operation,
            });
        }
    };
    first.ok_or(IoError::Empty {
        file,
        expected: "at least one frame",
    })
}

fn open(path: &Path) -> Result<(BufReader<File>, String), IoError> {
    let label = path.display().to_string();
    let file = File::open(path).map_err(|source| IoError::Io {
        file: label.clone(),
        source,
    })?;
    Ok((BufReader::with_capacity(1 << 16, file), label))
}
