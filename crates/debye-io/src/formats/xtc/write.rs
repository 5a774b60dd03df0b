//! Writing XTC frames.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

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
        self.rounded.reserve(positions.len());
        for (index, position) in positions.iter().enumerate() {
            let scaled = position.map(|value| value * precision);
            let too_large = |value: &f64| value.abs() >= f64::from(i32::MAX) - 0.5;
            if let Some(axis) = scaled.iter().position(too_large) {
                let limit = format!("|x| times the precision of {precision} below 2^31");
                return Err(self.out.too_large(Place::Atom(index + 1), position[axis], limit));
            }
            self.rounded.push(scaled.map(nearest));
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

/// [`f64::round`] of a number below 2³¹, without the call that it is where a processor need not have an instruction for
/// it: the largest number below one half, so that nothing below one half becomes 1.
fn nearest(value: f64) -> i32 {
    (value + f64::copysign(0.5_f64.next_down(), value)) as i32
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
        // Writers that have written: their memory is used again.
        let spare: Mutex<Vec<XtcWriter<Vec<u8>>>> = Mutex::default();
        Arc::new(move |atoms, frame| {
            let earlier = spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut writer =
                earlier.unwrap_or_else(|| XtcWriter::with_precision(Vec::new(), file.clone(), precision));
            writer.write_frame(atoms, frame)?;
            let written = std::mem::replace(&mut writer.out, Output::new(Vec::new(), file.clone()));
            spare.lock().unwrap_or_else(PoisonError::into_inner).push(writer);
            Ok(written.sink)
        })
    }

    fn write_encoded(&mut self, frame: &[u8]) -> Result<(), IoError> {
        self.out.write_frame(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_rounded_away_from_zero() {
        let mut state = 1_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / 2.0_f64.powi(53) - 0.5
        };
        let scattered = (0..10_000).map(|k| next() * 4.2e9 / f64::from(k + 1));
        let halves = (0..100).map(|k| f64::from(k) + 0.5);
        let beside = halves
            .clone()
            .flat_map(|x: f64| [x.next_down(), x.next_up(), -x, -x.next_down(), -x.next_up()]);
        for x in scattered.chain(halves).chain(beside).chain([0.0, -0.0]) {
            assert_eq!(nearest(x), x.round() as i32, "{x:e}");
        }
    }

    #[test]
    fn frames_encoded_in_memory_of_others_are_the_same() {
        let frame = |number: usize| Frame {
            length_unit: LengthUnit::Nanometer,
            step: Some(number as u64),
            positions: (0..5 * number).map(|k| [k as f64 * 0.3, (k * k % 7) as f64, -1.5]).collect(),
            ..Frame::default()
        };
        let encode = XtcWriter::new(Vec::new(), "x.xtc").encoder();
        for number in [30, 2, 40, 1] {
            let mut alone = XtcWriter::new(Vec::new(), "x.xtc");
            alone.write_frame(&[], &frame(number)).unwrap();
            assert!(encode(&[], &frame(number)).unwrap() == alone.out.sink, "{number}");
        }
    }
}
