//! Where writers put their bytes, and what every one of them checks.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::sync::Arc;

use crate::error::{IoError, Place};
use crate::frame::{Frame, LengthUnit};
use crate::structure::Atom;

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
    /// checkpoint stores, and what [`open_append`](crate::open_append) takes back.
    fn bytes_written(&self) -> u64;

    /// Frames in the file so far, those before an append included.
    fn frames_written(&self) -> u64;

    /// How to write frames whose bytes are made elsewhere, where no frame depends on those before it.
    fn apart(&mut self) -> Option<&mut dyn WriteEncoded> {
        None
    }
}

/// Makes the bytes of a frame, on any thread.
///
/// # Errors
/// Those of [`WriteFrames::write_frame`].
pub type EncodeFrame = Arc<dyn Fn(&[Atom], &Frame) -> Result<Vec<u8>, IoError> + Send + Sync>;

/// A writer of frames whose bytes are made elsewhere, several at a time where they take long.
pub trait WriteEncoded {
    /// What makes the bytes.
    fn encoder(&self) -> EncodeFrame;

    /// Writes a frame that was made so.
    ///
    /// # Errors
    /// [`IoError::Io`].
    fn write_encoded(&mut self, frame: &[u8]) -> Result<(), IoError>;
}

/// What of [`WriteFrames`] is that of the [`Output`] in a writer's field `out`.
macro_rules! through_output {
    () => {
        fn flush(&mut self) -> Result<(), IoError> {
            self.out.flush()
        }

        fn bytes_written(&self) -> u64 {
            self.out.bytes
        }

        fn frames_written(&self) -> u64 {
            self.out.frames
        }
    };
}
pub(crate) use through_output;

/// Where the bytes of a writer go, with their count.
pub struct Output<W> {
    /// What they are written to.
    pub sink: W,
    /// What messages call it.
    pub file: String,
    /// Length of the file so far.
    pub bytes: u64,
    /// Frames in the file so far.
    pub frames: u64,
}

/// A file that is to be continued after its first bytes. What follows them is still there, so that a writer can
/// refuse the file before anything is lost.
pub struct Resumption {
    /// The file, at its beginning, open to read and write.
    pub sink: File,
    /// What messages call it.
    pub file: String,
    /// Length of what is kept.
    pub bytes: u64,
    /// Frames in what is kept.
    pub frames: u64,
}

impl Resumption {
    /// Cuts off what follows.
    ///
    /// # Errors
    /// [`IoError::Io`].
    pub fn cut(self) -> Result<Output<File>, IoError> {
        let mut out = Output {
            sink: self.sink,
            file: self.file,
            bytes: self.bytes,
            frames: self.frames,
        };
        let cut = out.sink.set_len(self.bytes);
        let end = cut.and_then(|()| out.sink.seek(SeekFrom::Start(self.bytes)));
        end.map_err(|source| out.io(source))?;
        Ok(out)
    }
}

impl<W: Write> Output<W> {
    /// An empty file, which messages call `file`.
    pub fn new(sink: W, file: impl Into<String>) -> Self {
        Output {
            sink,
            file: file.into(),
            bytes: 0,
            frames: 0,
        }
    }

    /// Writes bytes that are no frame.
    ///
    /// # Errors
    /// [`IoError::Io`].
    pub fn write(&mut self, data: &[u8]) -> Result<(), IoError> {
        self.sink.write_all(data).map_err(|source| self.io(source))?;
        self.bytes += data.len() as u64;
        Ok(())
    }

    /// Writes a frame in one piece.
    ///
    /// # Errors
    /// [`IoError::Io`].
    pub fn write_frame(&mut self, data: &[u8]) -> Result<(), IoError> {
        self.write(data)?;
        self.frames += 1;
        Ok(())
    }

    /// Hands everything to the operating system.
    ///
    /// # Errors
    /// [`IoError::Io`].
    pub fn flush(&mut self) -> Result<(), IoError> {
        self.sink.flush().map_err(|source| self.io(source))
    }

    /// An error of the system about this file.
    pub fn io(&self, source: std::io::Error) -> IoError {
        IoError::Io {
            file: self.file.clone(),
            source,
        }
    }

    /// The refusal of a value beyond what the format can hold.
    pub fn too_large(&self, place: Place, value: impl ToString, limit: impl Into<String>) -> IoError {
        IoError::TooLarge {
            file: self.file.clone(),
            place,
            value: value.to_string(),
            limit: limit.into(),
        }
    }

    /// What every format asks of a frame: the unit of length, equal numbers of everything, finite values. `atoms` is
    /// checked where the format needs them.
    ///
    /// # Errors
    /// [`IoError::UnitMismatch`], [`IoError::AtomCountMismatch`] or [`IoError::NotFinite`].
    pub fn check(&self, atoms: Option<&[Atom]>, frame: &Frame, unit: LengthUnit) -> Result<(), IoError> {
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

    /// Appends `value` with `decimals` digits in `width` columns.
    ///
    /// # Errors
    /// [`IoError::TooLarge`] if it takes more columns.
    pub fn fixed(
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
