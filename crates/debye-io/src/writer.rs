//! Writing frames, to a new file or to the end of a cut one.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::error::{IoError, Place};
use crate::format::Format;
use crate::frame::{Frame, LengthUnit};
use crate::structure::{Atom, Structure};
use crate::{dcd, gro, lammps, pdb, pqr, xtc, xyz};

/// A sink of frames.
///
/// Each frame is put together in memory and handed to the system in one piece, so that a killed
/// program leaves whole frames.
pub trait WriteFrames: Send {
    /// Writes one frame. `atoms` may be empty for formats that hold positions only (XTC, DCD).
    ///
    /// # Errors
    /// Refuses what the format cannot hold, before anything is written: numbers that are not
    /// finite or too large, a wrong number of atoms, the wrong unit of length.
    fn write_frame(&mut self, atoms: &[Atom], frame: &Frame) -> Result<(), IoError>;

    /// Hands everything to the operating system.
    ///
    /// # Errors
    /// [`IoError::Io`].
    fn flush(&mut self) -> Result<(), IoError>;

    /// Writes what closes a file of the format, and flushes. Nothing may be written afterwards.
    ///
    /// # Errors
    /// [`IoError::Io`].
    fn finish(&mut self) -> Result<(), IoError> {
        self.flush()
    }

    /// Length of the file so far, what was there before an append included. This is what a
    /// checkpoint stores, and what [`open_append`] takes back.
    fn bytes_written(&self) -> u64;

    /// Frames in the file so far, those before an append included.
    fn frames_written(&self) -> u64;
}

/// Creates (or empties) a file and returns the writer for it.
///
/// # Errors
/// [`IoError::Io`], or [`IoError::NotSupported`] for a format that is only read.
pub fn create_writer(path: impl AsRef<Path>, format: Format) -> Result<Box<dyn WriteFrames>, IoError> {
    let new = frame_writer(format).ok_or_else(|| IoError::NotSupported {
        file: path.as_ref().display().to_string(),
        format: format.name(),
        operation: "write frame by frame",
    })?;
    let label = path.as_ref().display().to_string();
    match File::create(&path) {
        Ok(file) => Ok(new(file, label)),
        Err(source) => Err(IoError::Io { file: label, source }),
    }
}

/// Makes a writer of frames to a file.
type NewWriter = fn(File, String) -> Box<dyn WriteFrames>;

/// How to write frames of a format, where that is possible.
fn frame_writer(format: Format) -> Option<NewWriter> {
    let new: NewWriter = match format {
        Format::Gro => |file, label| Box::new(gro::GroWriter::new(file, label)),
        Format::Pdb => |file, label| Box::new(pdb::PdbWriter::new(file, label)),
        Format::Xyz => |file, label| Box::new(xyz::XyzWriter::new(file, label)),
        Format::Pqr => |file, label| Box::new(pqr::PqrWriter::new(file, label)),
        Format::Dcd => |file, label| Box::new(dcd::DcdWriter::new(file, label)),
        Format::Xtc => |file, label| Box::new(xtc::XtcWriter::new(file, label)),
        Format::Lammps | Format::Native | Format::Trr | Format::Cif | Format::LammpsDump => return None,
    };
    Some(new)
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
    if !(format.is_writable() && format.holds_frames()) {
        return Err(IoError::NotSupported {
            file: label,
            format: format.name(),
            operation: "append",
        });
    }
    let io = |source| IoError::Io {
        file: label.clone(),
        source,
    };
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&path)
        .map_err(io)?;
    let length = file.metadata().map_err(io)?.len();
    if length < byte_length {
        return Err(IoError::Truncated {
            file: label,
            frame: usize::try_from(frames_written).unwrap_or(usize::MAX),
            expected: format!("{byte_length} bytes up to the point to continue from"),
            found: format!("{length} bytes"),
        });
    }
    // The header of a DCD file is judged before anything is cut off.
    let dcd_header = match format {
        Format::Dcd if byte_length > 0 => {
            let header = dcd::DcdHeader::read(&mut file, &label)?;
            header.check_append(&label, byte_length, frames_written)?;
            Some(header)
        }
        _ => None,
    };
    file.set_len(byte_length).map_err(io)?;
    file.seek(SeekFrom::Start(byte_length)).map_err(io)?;
    let out = Output::resume(file, label, byte_length, frames_written);
    match format {
        Format::Xtc => Ok(Box::new(xtc::XtcWriter::resume(out))),
        Format::Dcd => Ok(Box::new(dcd::DcdWriter::resume(out, dcd_header)?)),
        Format::Gro => Ok(Box::new(gro::GroWriter::resume(out))),
        Format::Pdb => Ok(Box::new(pdb::PdbWriter::resume(out))),
        _ => Ok(Box::new(xyz::XyzWriter::resume(out))),
    }
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
    replace(path, |file, label| write_whole(file, label, format, structure))
}

/// Writes a file under another name and renames it when it is whole.
pub(crate) fn replace(
    path: &Path,
    write: impl FnOnce(File, String) -> Result<(), IoError>,
) -> Result<(), IoError> {
    let label = path.display().to_string();
    let io = |source| IoError::Io {
        file: label.clone(),
        source,
    };
    // What is there and no file (a device, a pipe) cannot be replaced; a link leads to what is.
    if path.metadata().is_ok_and(|found| !found.is_file()) {
        return write(File::create(path).map_err(io)?, label);
    }
    let place = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let unfinished = unfinished(&place);
    let file = File::create(&unfinished).map_err(io)?;
    let written = write(file, label.clone()).and_then(|()| std::fs::rename(&unfinished, &place).map_err(io));
    if written.is_err() {
        let _ = std::fs::remove_file(&unfinished);
    }
    written
}

/// How the names of structure files begin that are being written; a killed program leaves one behind.
pub const UNFINISHED_STRUCTURE: &str = ".unfinished-structure-";

/// A name beside `path` for a file that is not whole yet.
fn unfinished(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{UNFINISHED_STRUCTURE}{}-{name}", std::process::id()))
}

fn write_whole(file: File, label: String, format: Format, structure: &Structure) -> Result<(), IoError> {
    let mut writer: Box<dyn WriteFrames> = match (format, frame_writer(format)) {
        (Format::Pdb, _) => {
            let mut writer = pdb::PdbWriter::new(file, label).single();
            writer.set_bonds(&structure.bonds);
            Box::new(writer)
        }
        (Format::Lammps, _) => {
            return lammps::write_lammps_data(std::io::BufWriter::new(file), label, structure);
        }
        (_, Some(new)) => new(file, label),
        (_, None) => {
            return Err(IoError::NotSupported {
                file: label,
                format: format.name(),
                operation: if format.is_writable() {
                    "write from a structure alone"
                } else {
                    "write"
                },
            });
        }
    };
    writer.write_frame(&structure.atoms, &structure.frame)?;
    writer.finish()
}

/// Where bytes go, with their count.
pub(crate) struct Output<W> {
    pub(crate) sink: W,
    pub(crate) file: String,
    pub(crate) bytes: u64,
    pub(crate) frames: u64,
}

impl<W: Write> Output<W> {
    pub(crate) fn new(sink: W, file: impl Into<String>) -> Self {
        Output::resume(sink, file, 0, 0)
    }

    pub(crate) fn resume(sink: W, file: impl Into<String>, bytes: u64, frames: u64) -> Self {
        Output {
            sink,
            file: file.into(),
            bytes,
            frames,
        }
    }

    pub(crate) fn write(&mut self, data: &[u8]) -> Result<(), IoError> {
        self.sink.write_all(data).map_err(|source| self.io(source))?;
        self.bytes += data.len() as u64;
        Ok(())
    }

    pub(crate) fn write_frame(&mut self, data: &[u8]) -> Result<(), IoError> {
        self.write(data)?;
        self.frames += 1;
        Ok(())
    }

    pub(crate) fn flush(&mut self) -> Result<(), IoError> {
        self.sink.flush().map_err(|source| self.io(source))
    }

    pub(crate) fn io(&self, source: std::io::Error) -> IoError {
        IoError::Io {
            file: self.file.clone(),
            source,
        }
    }

    pub(crate) fn too_large(&self, place: Place, value: impl ToString, limit: impl Into<String>) -> IoError {
        IoError::TooLarge {
            file: self.file.clone(),
            place,
            value: value.to_string(),
            limit: limit.into(),
        }
    }

    /// What every format asks of a frame. `atoms` is checked where the format needs them.
    pub(crate) fn check(
        &self,
        atoms: Option<&[Atom]>,
        frame: &Frame,
        unit: LengthUnit,
    ) -> Result<(), IoError> {
        if frame.length_unit != unit && frame.length_unit != LengthUnit::Unspecified {
            let (found, expected) = (frame.length_unit.name(), unit.name());
            return Err(IoError::UnitMismatch {
                file: self.file.clone(),
                found,
                expected,
            });
        }
        let expected = frame.positions.len();
        let count = |what, found| -> Result<(), IoError> {
            if found == expected {
                return Ok(());
            }
            Err(IoError::AtomCountMismatch {
                file: self.file.clone(),
                what,
                expected,
                found,
            })
        };
        if let Some(atoms) = atoms {
            count("atoms for the positions of a frame", atoms.len())?;
        }
        let rows = [
            ("positions", Some(&frame.positions)),
            ("velocities", frame.velocities.as_ref()),
            ("forces", frame.forces.as_ref()),
        ];
        for (what, rows) in rows {
            let Some(rows) = rows else { continue };
            count(what, rows.len())?;
            for (atom, row) in rows.iter().enumerate() {
                self.finite(row, Place::Atom(atom + 1))?;
            }
        }
        self.finite(frame.cell.iter().flatten().flatten(), Place::Cell)?;
        self.finite(&frame.time, Place::Time)
    }

    fn finite<'a>(&self, values: impl IntoIterator<Item = &'a f64>, place: Place) -> Result<(), IoError> {
        match values.into_iter().find(|value| !value.is_finite()) {
            None => Ok(()),
            Some(value) => Err(IoError::NotFinite {
                file: self.file.clone(),
                place,
                value: value.to_string(),
            }),
        }
    }

    /// `value` with `decimals` digits in `width` columns.
    pub(crate) fn fixed(
        &self,
        text: &mut String,
        value: f64,
        width: usize,
        decimals: usize,
        place: Place,
    ) -> Result<(), IoError> {
        use std::fmt::Write as _;
        let start = text.len();
        // Writing to a string cannot fail.
        let _ = write!(text, "{value:width$.decimals$}");
        if text.len() - start <= width {
            return Ok(());
        }
        Err(self.too_large(place, value, format!("{width} columns, {decimals} decimals")))
    }
}

/// `text` without line ends, for a title.
pub(crate) fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect::<String>()
        .trim()
        .to_owned()
}

/// `text` as one word without blanks, at most `longest` characters, never empty.
pub(crate) fn one_word(text: &str, longest: usize) -> String {
    let clean = |c: char| {
        if c.is_whitespace() || c.is_control() {
            '_'
        } else {
            c
        }
    };
    let word: String = text.trim().chars().map(clean).take(longest).collect();
    if word.is_empty() { "X".to_owned() } else { word }
}

/// `text` for fixed columns: printable ASCII, at most `longest` characters.
pub(crate) fn column_text(text: &str, longest: usize) -> String {
    text.trim()
        .chars()
        .map(|c| if c.is_ascii_graphic() { c } else { '_' })
        .take(longest)
        .collect()
}
