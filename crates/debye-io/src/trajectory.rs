//! Whole files of any format that can be read.

use std::path::Path;

use crate::error::IoError;
use crate::format::Format;
use crate::frame::Frame;
use crate::orientations::{Missing, OrientationReader};
use crate::read_frames::{ReadFrames, Single};
use crate::source::open;
use crate::structure::Structure;

/// Damaged records that are told of, one by one.
const MOST_TOLD: usize = 10;

/// How a trajectory is to be read. The default takes the format from the extension and is strict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadOptions {
    /// The format, where the extension does not say it.
    pub format: Option<Format>,
    /// Whether a file that ends inside a frame, or before the number of frames its header promises,
    /// gives its whole frames and a warning. Strict reading makes it an error, as damage elsewhere
    /// in the file is in both.
    pub lenient: bool,
}

/// A trajectory file of any readable format, read as a stream; compressed files are unpacked. Orientations that lie
/// beside it ([`orientations_path`](crate::orientations_path)) are those of its frames.
pub struct Trajectory {
    frames: Box<dyn ReadFrames + Send>,
    /// The file beside it, as long as it fits.
    orientations: Option<OrientationReader>,
    /// Frames that have no orientations because of damage in that file.
    without_orientations: usize,
    /// Whether the last frame is one of them.
    orientations_missing: bool,
    format: Format,
    lenient: bool,
    count: usize,
    warnings: Vec<String>,
}

impl Trajectory {
    /// Opens a file; its extension says the format.
    ///
    /// # Errors
    /// [`IoError::UnknownFormat`], or [`IoError::Io`] from opening it.
    pub fn open(path: impl AsRef<Path>) -> Result<Trajectory, IoError> {
        Trajectory::open_with(path, ReadOptions::default())
    }

    /// Opens a file of a given format whatever its extension.
    ///
    /// # Errors
    /// [`IoError::Io`] from opening it, and errors of the header where the format has one.
    pub fn open_as(path: impl AsRef<Path>, format: Format) -> Result<Trajectory, IoError> {
        let format = Some(format);
        let options = ReadOptions {
            format,
            lenient: false,
        };
        Trajectory::open_with(path, options)
    }

    /// Opens a file as the options say.
    ///
    /// # Errors
    /// As [`Trajectory::open`] and [`Trajectory::open_as`].
    pub fn open_with(path: impl AsRef<Path>, options: ReadOptions) -> Result<Trajectory, IoError> {
        let path = path.as_ref();
        let format = match options.format {
            Some(format) => format,
            None => Format::of_input(path)?,
        };
        let frames: Box<dyn ReadFrames + Send> = match format.description().read_frames {
            Some(read) => {
                let (source, label) = open(path)?;
                read(source, label, options.lenient)?
            }
            None => {
                let structure = read_structure_as(path, format)?;
                Box::new(Single(Some(structure.frame), structure.warnings))
            }
        };
        let mut warnings = Vec::new();
        let orientations = match OrientationReader::beside(path).filter(|_| !format.holds_orientations()) {
            Some(Ok(reader)) => Some(reader),
            Some(Err(error)) => {
                warnings.push(format!("{error}; frames have no orientations"));
                None
            }
            None => None,
        };
        Ok(Trajectory {
            frames,
            orientations,
            without_orientations: 0,
            orientations_missing: false,
            format,
            lenient: options.lenient,
            count: 0,
            warnings,
        })
    }

    /// The format of the file.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Whether the last frame has no orientations because the file beside the trajectory is damaged or ends there.
    pub fn orientations_missing(&self) -> bool {
        self.orientations_missing
    }

    /// Gives a frame the orientations beside it. A damaged record costs those of its frame; where the file ends or does
    /// not fit, frames have none from there on.
    fn orient(&mut self, frame: &mut Frame) {
        let Some(reader) = &mut self.orientations else {
            return;
        };
        let number = self.count;
        let missing = match reader.next(frame) {
            Ok(found) => {
                frame.orientations = Some(found);
                self.orientations_missing = false;
                return;
            }
            Err(missing) => missing,
        };
        self.orientations_missing = true;
        match missing {
            Missing::Once(error) => {
                self.without_orientations += 1;
                let more = match self.without_orientations {
                    ..MOST_TOLD => "",
                    MOST_TOLD => "; further damage is not told",
                    _ => return,
                };
                let warning = format!("{error}; frame {number} has no orientations{more}");
                self.warnings.push(warning);
            }
            Missing::ForGood(error) => {
                let warning = format!("{error}; no orientations from frame {number} on");
                self.warnings.push(warning);
                self.orientations = None;
            }
        }
    }

    /// Whether the error is that of a file which ends too early.
    fn is_cut(&self, error: &IoError) -> bool {
        match error {
            IoError::Truncated { .. } => true,
            IoError::Io { source, .. } => source.kind() == std::io::ErrorKind::UnexpectedEof,
            IoError::Parse { .. } => self.frames.at_unfinished_line(),
            _ => false,
        }
    }
}

impl ReadFrames for Trajectory {
    fn next_frame(&mut self) -> Result<Option<Frame>, IoError> {
        let next = self.frames.next_frame();
        match next {
            Err(error) if self.lenient && self.count > 0 && self.is_cut(&error) => {
                let whole = match self.count {
                    1 => "the one whole frame before that is used".to_owned(),
                    count => format!("the {count} whole frames before that are used"),
                };
                self.warnings.push(format!("{error}; {whole}"));
                Ok(None)
            }
            mut next => {
                if let Ok(Some(frame)) = &mut next {
                    self.count += 1;
                    self.orient(frame);
                }
                next
            }
        }
    }

    fn warnings(&mut self) -> Vec<String> {
        let mut warnings = self.frames.warnings();
        warnings.append(&mut self.warnings);
        warnings
    }

    fn at_unfinished_line(&self) -> bool {
        self.frames.at_unfinished_line()
    }
}

impl Iterator for Trajectory {
    type Item = Result<Frame, IoError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_frame().transpose()
    }
}

/// Reads atoms and the first frame; the extension says the format.
///
/// # Errors
/// Everything that is wrong with the file; [`IoError::NotSupported`] for DCD, XTC and TRR, which
/// hold no atoms.
pub fn read_structure(path: impl AsRef<Path>) -> Result<Structure, IoError> {
    let format = Format::of_input(&path)?;
    read_structure_as(path, format)
}

/// Reads atoms and the first frame of a file of a given format.
///
/// # Errors
/// As [`read_structure`].
pub fn read_structure_as(path: impl AsRef<Path>, format: Format) -> Result<Structure, IoError> {
    let (source, file) = open(path.as_ref())?;
    let Some(read) = format.description().read_structure else {
        return Err(format.refuse(file, "read atoms (it holds no names)"));
    };
    read(source, file.clone())?.ok_or(IoError::Empty {
        file,
        expected: "at least one frame",
    })
}
