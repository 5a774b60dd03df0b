//! Trajectories as plain rows of numbers, `frame,particle,name,x,y,z` in nanometers, for a spreadsheet.

use std::fmt::Write as _;
use std::fs::File;

use debye::io::{Atom, FileFormat, Frame, IoError, LengthUnit, Output, WriteFrames};

/// The format of files with the extension `.rows`.
pub static ROWS: FileFormat = FileFormat {
    name: "rows",
    extensions: &["rows"],
    length_unit: LengthUnit::Nanometer,
    names: true,
    write_frames: Some(|file, name| Box::new(RowsWriter(Output::new(file, name)))),
    resume: Some(|kept| Ok(Box::new(RowsWriter(kept.cut()?)))),
    ..FileFormat::NONE
};

/// Writes the format.
pub struct RowsWriter(Output<File>);

impl WriteFrames for RowsWriter {
    fn write_frame(&mut self, atoms: &[Atom], frame: &Frame) -> Result<(), IoError> {
        self.0.check(Some(atoms), frame, ROWS.length_unit)?;
        let mut text = String::new();
        for (i, (atom, [x, y, z])) in atoms.iter().zip(&frame.positions).enumerate() {
            // A string takes all that is written to it.
            let _ = writeln!(text, "{},{i},{},{x},{y},{z}", self.0.frames, atom.name);
        }
        self.0.write_frame(text.as_bytes())
    }

    fn flush(&mut self) -> Result<(), IoError> {
        self.0.flush()
    }

    fn bytes_written(&self) -> u64 {
        self.0.bytes
    }

    fn frames_written(&self) -> u64 {
        self.0.frames
    }
}
