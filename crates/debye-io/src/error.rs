//! What can go wrong with a file, said so that a person can find the place.

use std::fmt;
use std::io;

use crate::volumes::VolumeError;

/// Where in a file (or in data about to be written) something was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// A line of a text file, counted from 1.
    Line(usize),
    /// A byte offset in a binary file, counted from 0.
    Byte(u64),
    /// An atom of a frame about to be written, counted from 1.
    Atom(usize),
    /// The box of a frame about to be written.
    Cell,
    /// The time of a frame about to be written.
    Time,
    /// A point of a grid about to be written: its indices, counted from 0.
    Point([usize; 3]),
    /// The shape or the steps of a grid about to be written.
    Grid,
    /// A vertex of a surface about to be written, counted from 0.
    Vertex(usize),
    /// A triangle of a surface about to be written, counted from 0.
    Triangle(usize),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(line) => write!(f, "line {line}"),
            Place::Byte(offset) => write!(f, "byte {offset}"),
            Place::Atom(atom) => write!(f, "atom {atom}"),
            Place::Cell => write!(f, "box"),
            Place::Time => write!(f, "time"),
            Place::Point([x, y, z]) => write!(f, "point ({x}, {y}, {z})"),
            Place::Grid => write!(f, "grid"),
            Place::Vertex(vertex) => write!(f, "vertex {vertex}"),
            Place::Triangle(triangle) => write!(f, "triangle {triangle}"),
        }
    }
}

/// The error of every function of this crate.
///
/// `file` is the path, or the label given to a reader that was built from bytes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IoError {
    /// The operating system refused.
    #[error("{file}: {source}")]
    Io {
        /// Path or label.
        file: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The extension or name belongs to no format of this crate.
    #[error("{file}: unknown format; known are {known}")]
    UnknownFormat {
        /// Path or name asked for.
        file: String,
        /// The names that would have been understood.
        known: String,
    },
    /// The format is known, but cannot do what was asked.
    #[error("{file}: {format} cannot be used to {operation}")]
    NotSupported {
        /// Path or label.
        file: String,
        /// Name of the format.
        format: &'static str,
        /// What was asked for.
        operation: &'static str,
    },
    /// The text or bytes are not what the format says.
    #[error("{file}, {place}: found `{found}`, expected {expected}")]
    Parse {
        /// Path or label.
        file: String,
        /// Where.
        place: Place,
        /// What stands there.
        found: String,
        /// What should stand there.
        expected: String,
    },
    /// A number is NaN or infinite.
    #[error("{file}, {place}: `{value}` is not a finite number")]
    NotFinite {
        /// Path or label.
        file: String,
        /// Where.
        place: Place,
        /// The value as written.
        value: String,
    },
    /// The file ends inside a frame; all frames before it are good.
    #[error("{file}: frame {frame} is cut short: expected {expected}, found {found}")]
    Truncated {
        /// Path or label.
        file: String,
        /// The damaged frame, counted from 1.
        frame: usize,
        /// What the frame should hold.
        expected: String,
        /// What it holds.
        found: String,
    },
    /// A file in one piece that is not sound.
    #[error("{file}: {why}")]
    Damaged {
        /// Path or label.
        file: String,
        /// What is wrong.
        why: String,
    },
    /// A line without end: this is no text file of the format.
    #[error("{file}, line {line}: longer than {limit} bytes")]
    LineTooLong {
        /// Path or label.
        file: String,
        /// The line, counted from 1.
        line: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The bytes of a line are not text as this crate reads it.
    #[error("{file}, line {line}: not UTF-8 text; saved as Latin-1 or UTF-16? Save the file as UTF-8")]
    NotUtf8 {
        /// Path or label.
        file: String,
        /// The line, counted from 1.
        line: usize,
    },
    /// Two counts of atoms that must agree do not.
    #[error("{file}: {what}: expected {expected}, found {found}")]
    AtomCountMismatch {
        /// Path or label.
        file: String,
        /// Which count.
        what: &'static str,
        /// The count that was promised.
        expected: usize,
        /// The count that was found.
        found: usize,
    },
    /// A value does not fit the columns or the integers of the format.
    #[error("{file}, {place}: {value} does not fit the format ({limit})")]
    TooLarge {
        /// Path or label.
        file: String,
        /// Where.
        place: Place,
        /// The value.
        value: String,
        /// The limit of the format.
        limit: String,
    },
    /// The frame is in another unit of length than the format; this crate converts nothing.
    #[error("{file}: positions are in {found}, the format holds {expected}")]
    UnitMismatch {
        /// Path or label.
        file: String,
        /// Unit of the frame.
        found: &'static str,
        /// Unit of the format.
        expected: &'static str,
    },
    /// The columns of a LAMMPS `Atoms` section fit several atom styles.
    #[error("{file}, line {line}: {columns} columns may be atom style {candidates}; name the style")]
    AmbiguousStyle {
        /// Path or label.
        file: String,
        /// The line, counted from 1.
        line: usize,
        /// How many columns were found.
        columns: usize,
        /// The styles that would fit.
        candidates: String,
    },
    /// What a file says of its grid of values is impossible, or too much for the memory.
    #[error("{file}, {place}: {source}")]
    Volume {
        /// Path or label.
        file: String,
        /// Where.
        place: Place,
        /// What is wrong with the grid.
        source: Box<VolumeError>,
    },
    /// The file holds no frame at all.
    #[error("{file}: no atoms found; expected {expected}")]
    Empty {
        /// Path or label.
        file: String,
        /// What a file of this format should hold.
        expected: &'static str,
    },
}

/// The start of `text`, short enough for a message.
pub(crate) fn excerpt(text: &str) -> String {
    const LONGEST: usize = 60;
    let text = text.trim_end();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
