//! [`Format`]: what a file format is called, and what can be done with it.

use std::fmt;
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io::BufRead;

use crate::error::IoError;
use crate::frame::LengthUnit;
use crate::output::{Resumption, WriteFrames};
use crate::read_frames::ReadFrames;
use crate::register::Registered;
use crate::structure::Structure;

/// Bytes of a file, unpacked.
pub type Source = Box<dyn BufRead + Send>;
/// Reads atoms and the first frame.
pub type ReadStructure = fn(Source, String) -> Result<Option<Structure>, IoError>;
/// Opens a file of many frames; the flag asks for tolerance of one that is cut short.
pub type OpenFrames = fn(Source, String, bool) -> Result<Box<dyn ReadFrames + Send>, IoError>;
/// Writes a whole structure.
pub type WriteStructure = fn(File, String, &Structure) -> Result<(), IoError>;
/// Begins a file that is written frame by frame.
pub type CreateFrames = fn(File, String) -> Box<dyn WriteFrames>;
/// Goes on with a file that is written frame by frame.
pub type ResumeFrames = fn(Resumption) -> Result<Box<dyn WriteFrames>, IoError>;

/// The description of a file format. What it cannot do is `None`.
///
/// Functions take the name of the file for messages after its content.
pub struct FileFormat {
    /// The name used in messages and understood by [`Format::from_str`](std::str::FromStr::from_str).
    pub name: &'static str,
    /// Extensions that mean this format, lower case.
    pub extensions: &'static [&'static str],
    /// The unit of length of its files.
    pub length_unit: LengthUnit,
    /// Whether its frames can hold velocities.
    pub velocities: bool,
    /// Whether its frames can hold orientations.
    pub orientations: bool,
    /// Whether its frames carry the names of the atoms; those that are read as structures do.
    pub names: bool,
    /// Whether its files hold a charge for each atom.
    pub charges: bool,
    /// Whether its files hold bonds.
    pub bonds: bool,
    /// `None` for formats without names of atoms.
    pub read_structure: Option<ReadStructure>,
    /// `None` for formats of one frame, which `read_structure` reads.
    pub read_frames: Option<OpenFrames>,
    /// For formats that hold more of a structure than the one frame `write_frames` would write.
    pub write_structure: Option<WriteStructure>,
    /// `None` for formats that are written whole or not at all.
    pub write_frames: Option<CreateFrames>,
    /// `None` for formats that cannot be continued.
    pub resume: Option<ResumeFrames>,
}

impl FileFormat {
    /// A format that can do nothing: descriptions begin with it and say what is different.
    pub const NONE: FileFormat = FileFormat {
        name: "",
        extensions: &[],
        length_unit: LengthUnit::Unspecified,
        velocities: false,
        orientations: false,
        names: false,
        charges: false,
        bonds: false,
        read_structure: None,
        read_frames: None,
        write_structure: None,
        write_frames: None,
        resume: None,
    };
}

impl Registered for FileFormat {
    fn registered_name(&self) -> &str {
        self.name
    }
}

/// A file format. Two are equal if they have the same name.
#[derive(Clone, Copy)]
pub struct Format(&'static FileFormat);

impl Format {
    /// The format of a description.
    pub const fn new(description: &'static FileFormat) -> Self {
        Format(description)
    }

    /// Its description.
    pub const fn description(self) -> &'static FileFormat {
        self.0
    }

    /// The name used in messages and understood by [`Format::from_str`](std::str::FromStr::from_str).
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// Extensions that mean this format, lower case.
    pub fn extensions(self) -> &'static [&'static str] {
        self.0.extensions
    }

    /// The unit of length files of this format are in.
    pub fn length_unit(self) -> LengthUnit {
        self.0.length_unit
    }

    /// Whether frames of this format carry the names of the atoms.
    pub fn has_atoms(self) -> bool {
        self.0.names || self.0.read_structure.is_some()
    }

    /// Whether frames of this format can hold velocities.
    pub fn holds_velocities(self) -> bool {
        self.0.velocities
    }

    /// Whether frames of this format can hold orientations.
    pub fn holds_orientations(self) -> bool {
        self.0.orientations
    }

    /// Whether a file of this format can hold more than one frame.
    pub fn holds_frames(self) -> bool {
        self.0.read_frames.is_some() || self.0.resume.is_some()
    }

    /// Whether the format can be written.
    pub fn is_writable(self) -> bool {
        self.0.write_structure.is_some() || self.writes_frames()
    }

    /// Whether [`create_writer`](crate::create_writer) writes it, frame by frame; the others are written whole.
    pub fn writes_frames(self) -> bool {
        self.0.write_frames.is_some()
    }

    /// The refusal of what the format cannot do.
    pub(crate) fn refuse(self, file: String, operation: &'static str) -> IoError {
        IoError::NotSupported {
            file,
            format: self.name(),
            operation,
        }
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Format {}

impl Hash for Format {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
