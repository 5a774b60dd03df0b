//! Whole files of any format that can be written, new or continued.

use std::fs::{File, OpenOptions};
use std::path::Path;

use crate::error::IoError;
use crate::format::Format;
use crate::output::{Resumption, WriteFrames};
use crate::replace::replace;
use crate::structure::Structure;

/// Creates (or empties) a file and returns the writer for it.
///
/// # Errors
/// [`IoError::Io`], or [`IoError::NotSupported`] for a format that is only read.
pub fn create_writer(path: impl AsRef<Path>, format: Format) -> Result<Box<dyn WriteFrames>, IoError> {
    let label = path.as_ref().display().to_string();
    let Some(new) = format.description().write_frames else {
        return Err(format.refuse(label, "write frame by frame"));
    };
    match File::create(&path) {
        Ok(file) => Ok(new(file, label)),
        Err(source) => Err(IoError::Io { file: label, source }),
    }
}

/// Opens a trajectory to go on writing after its first `byte_length` bytes, which hold
/// `frames_written` frames; what follows them is cut off. A run that continues from a checkpoint
/// gives the numbers the writer told when the checkpoint was made.
///
/// # Errors
/// [`IoError::Truncated`] if the file is shorter than that, [`IoError::NotSupported`] for formats
/// that hold no more than one frame, [`IoError::Io`].
pub fn open_append(
    path: impl AsRef<Path>,
    format: Format,
    byte_length: u64,
    frames_written: u64,
) -> Result<Box<dyn WriteFrames>, IoError> {
    let label = path.as_ref().display().to_string();
    let Some(resume) = format.description().resume else {
        return Err(format.refuse(label, "append"));
    };
    let io = |source| IoError::Io {
        file: label.clone(),
        source,
    };
    let sink = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&path)
        .map_err(io)?;
    let length = sink.metadata().map_err(io)?.len();
    if length < byte_length {
        return Err(IoError::Truncated {
            file: label,
            frame: usize::try_from(frames_written).unwrap_or(usize::MAX),
            expected: format!("{byte_length} bytes up to the point to continue from"),
            found: format!("{length} bytes"),
        });
    }
    resume(Resumption {
        sink,
        file: label,
        bytes: byte_length,
        frames: frames_written,
    })
}

/// Writes atoms and their one frame to a new file; the extension says the format. PDB also gets
/// the bonds, as CONECT records (up to 99,999 atoms, which is as far as PDB counts), LAMMPS data the
/// whole topology.
///
/// The file is written under another name and renamed when it is whole: a failure leaves nothing,
/// and a file that was there as it was.
///
/// # Errors
/// As [`create_writer`] and [`WriteFrames::write_frame`]. A native file holds more than a
/// [`Structure`]: [`NativeStructure::write`](crate::NativeStructure::write) makes it.
pub fn write_structure(path: impl AsRef<Path>, structure: &Structure) -> Result<(), IoError> {
    let path = path.as_ref();
    let format = Format::from_path(path)?;
    let description = format.description();
    replace(path, |file, label| {
        if let Some(write) = description.write_structure {
            return write(file, label, structure);
        }
        let Some(new) = description.write_frames else {
            return Err(format.refuse(label, "write"));
        };
        let mut writer = new(file, label);
        writer.write_frame(&structure.atoms, &structure.frame)?;
        writer.finish()
    })
}
