//! Writing XTC frames.

use std::io::Write;
use std::sync::Arc;

use super::UNCOMPRESSED_ATOMS;
use super::encode::encode;
use crate::error::{IoError, Place};
use crate::frame::{Frame, LengthUnit};
use crate::structure::Atom;
use crate::output::{EncodeFrame, Output, WriteEncoded, WriteFrames, through_output};

/// The layout of 1995, which every program reads.
const MAGIC: i32 = 1995;

/// Writes frames with positions rounded to `1 / precision`. The step keeps its lower 32 bits, as
/// all that the format has; the time is the measure then.
pub struct XtcWriter<W> {
    out: Output<W>,
    precision: f32,
    rounded: Vec<[i32; 3]>,
    stream: Vec<u8>,
    buffer: Vec<u8>,
}

impl<W: Write + Send> XtcWriter<W> {
    /// A writer with the usual precision of 1000 (0.001 nm).
    pub fn new(sink: W, label: impl Into<String>) -> Self {
        XtcWriter::with_precision(sink, label, 1000.0)
    }

    /// A writer with another precision; one that is not a positive number is taken as 1000.
    pub fn with_precision(sink: W, label: impl Into<String>, precision: f32) -> Self {
        let precision = if precision.is_normal() && precision > 0.0 {
            precision
        } else {
            1000.0
        };
        XtcWriter {
            precision,
            ..XtcWriter::resume(Output::new(sink, label))
        }
    }

    pub(crate) fn resume(out: Output<W>) -> Self {
        XtcWriter {
            out,
            precision: 1000.0,
            rounded: Vec::new(),
            stream: Vec::new(),
            buffer: Vec::new(),
        }
    }

    fn put(&mut self, word: i32) {
        self.buffer.extend_from_slice(&word.to_be_bytes());
    }

    fn put_single(&mut self, value: f64, place: Place) -> Result<(), IoError> {
        let single = value as f32;
        if !single.is_finite() {
            return Err(self.out.too_large(place, value, "single precision"));
        }
        self.put(single.to_bits() as i32);
        Ok(())
    }

    fn put_header(&mut self, frame: &Frame, atoms: i32) -> Result<(), IoError> {
        self.buffer.clear();
        self.put(MAGIC);
        self.put(atoms);
        self.put(frame.step.unwrap_or(self.out.frames) as u32 as i32);
        self.put_single(frame.time.unwrap_or(0.0), Place::Time)?;
        for value in frame.cell.unwrap_or_default().into_iter().flatten() {
            self.put_single(value, Place::Cell)?;
        }
        self.put(atoms);
        Ok(())
    }

    fn round(&mut self, positions: &[[f64; 3]]) -> Result<(), IoError> {
        self.rounded.clear();
        let precision = f64::from(self.precision);
        for (index, position) in positions.iter().enumerate() {
            let rounded = position.map(|value| (value * precision).round());
            if let Some(axis) = rounded
                .iter()
                .position(|value| value.abs() >= f64::from(i32::MAX))
            {
                let limit = format!("|x| times the precision of {precision} below 2^31");
                return Err(self.out.too_large(Place::Atom(index + 1), position[axis], limit));
            }
            self.rounded.push(rounded.map(|value| value as i32));
        }
        Ok(())
    }

    fn put_compressed(&mut self, positions: &[[f64; 3]]) -> Result<(), IoError> {
        self.round(positions)?;
        self.stream.clear();
        let Some(prelude) = encode(&self.rounded, &mut self.stream) else {
            let limit = format!("an extent times the precision of {} below 2^31", self.precision);
            return Err(self
                .out
                .too_large(Place::Cell, "the extent of the positions", limit));
        };
        let Ok(length) = u32::try_from(self.stream.len()) else {
            return Err(self.out.too_large(
                Place::Atom(positions.len()),
                self.stream.len(),
                "4 GiB per frame",
            ));
        };
        self.put(self.precision.to_bits() as i32);
        for value in prelude.minimum.into_iter().chain(prelude.maximum) {
            self.put(value);
        }
        self.put(prelude.offset_index as i32);
        self.put(length as i32);
        self.buffer.extend_from_slice(&self.stream);
        self.buffer.resize(self.buffer.len().next_multiple_of(4), 0);
        Ok(())
    }
}

impl<W: Write + Send> WriteFrames for XtcWriter<W> {
    fn write_frame(&mut self, atoms: &[Atom], frame: &Frame) -> Result<(), IoError> {
        let names = (!atoms.is_empty()).then_some(atoms);
        self.out.check(names, frame, LengthUnit::Nanometer)?;
        let count = frame.positions.len();
        let Ok(stored) = i32::try_from(count) else {
            return Err(self
                .out
                .too_large(Place::Atom(count), count, "at most 2^31 atoms"));
        };
        self.put_header(frame, stored)?;
        if count <= UNCOMPRESSED_ATOMS {
            for (index, value) in frame.positions.iter().flatten().enumerate() {
                self.put_single(*value, Place::Atom(index / 3 + 1))?;
            }
        } else {
            self.put_compressed(&frame.positions)?;
        }
        let buffer = std::mem::take(&mut self.buffer);
        let written = self.out.write_frame(&buffer);
        self.buffer = buffer;
        written
    }

    fn apart(&mut self) -> Option<&mut dyn WriteEncoded> {
        Some(self)
    }

    through_output!();
}

impl<W: Write + Send> WriteEncoded for XtcWriter<W> {
    fn encoder(&self) -> EncodeFrame {
        let (file, precision) = (self.out.file.clone(), self.precision);
        Arc::new(move |atoms, frame| {
            let mut writer = XtcWriter::with_precision(Vec::new(), file.clone(), precision);
            writer.write_frame(atoms, frame)?;
            Ok(writer.out.sink)
        })
    }

    fn write_encoded(&mut self, frame: &[u8]) -> Result<(), IoError> {
        self.out.write_frame(frame)
    }
}
