//! Writing XTC frames.

use std::io::Write;

use crate::error::{IoError, Place};
use crate::frame::{Frame, LengthUnit};
use crate::structure::Atom;
use crate::writer::{Output, WriteFrames};

/// Writes frames with positions rounded to `1 / precision`. The step keeps its lower 32 bits, as
/// all that the format has; the time is the measure then.
pub struct XtcWriter<W> {
    out: Output<W>,
    precision: f32,
    frame: molly::Frame,
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
            frame: molly::Frame::default(),
            buffer: Vec::new(),
        }
    }

    /// Refuses what the integers of the format, or the encoder, cannot hold.
    fn check_range(&self, frame: &Frame) -> Result<(), IoError> {
        let limit = 2_f64.powi(31);
        let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        for (index, position) in frame.positions.iter().enumerate() {
            for axis in 0..3 {
                let rounded = (f64::from(position[axis] as f32 * self.precision)).round();
                if rounded.is_nan() || rounded.abs() >= limit {
                    let limit = format!("|x| times the precision of {} below 2^31", self.precision);
                    return Err(self.out.too_large(Place::Atom(index + 1), position[axis], limit));
                }
                low[axis] = low[axis].min(rounded);
                high[axis] = high[axis].max(rounded);
            }
        }
        if frame.positions.is_empty() {
            return Ok(());
        }
        let extents = [0, 1, 2].map(|axis| high[axis] - low[axis]);
        // The encoder adds the three distances between neighbours in 32 bits, and packs the three
        // ranges of a box below 2^24 in 64 bits.
        let ranges = extents.map(|extent| extent as u128 + 1);
        let packed = ranges.iter().all(|range| *range <= 0x00ff_ffff);
        let too_wide = packed && ranges.iter().product::<u128>() >> 64 != 0;
        if extents.iter().sum::<f64>() >= limit || too_wide {
            let value = format!("an extent of {extents:?} times 1/{}", self.precision);
            let limit = "sum of extents below 2^31 and product below 2^64; use a lower precision";
            return Err(self.out.too_large(Place::Cell, value, limit));
        }
        Ok(())
    }

    fn single(&self, value: f64, place: Place) -> Result<f32, IoError> {
        let single = value as f32;
        match single.is_finite() {
            true => Ok(single),
            false => Err(self.out.too_large(place, value, "single precision")),
        }
    }
}

impl<W: Write + Send> WriteFrames for XtcWriter<W> {
    fn write_frame(&mut self, atoms: &[Atom], frame: &Frame) -> Result<(), IoError> {
        let names = (!atoms.is_empty()).then_some(atoms);
        self.out.check(names, frame, LengthUnit::Nanometre)?;
        self.check_range(frame)?;
        let count = frame.positions.len();
        if count > molly::XTC_1995_MAX_NATOMS {
            return Err(self
                .out
                .too_large(Place::Atom(count), count, "at most 298261617 atoms"));
        }
        let cell = frame.cell.unwrap_or_default();
        for (single, value) in self.frame.boxvec.iter_mut().zip(cell.iter().flatten()) {
            *single = *value as f32;
        }
        if let Some(value) = cell.iter().flatten().find(|value| !(**value as f32).is_finite()) {
            return Err(self.out.too_large(Place::Cell, value, "single precision"));
        }
        self.frame.step = frame.step.unwrap_or(self.out.frames) as u32;
        self.frame.time = self.single(frame.time.unwrap_or(0.0), Place::Time)?;
        self.frame.precision = self.precision;
        self.frame.positions.clear();
        self.frame
            .positions
            .extend(frame.positions.iter().flatten().map(|value| *value as f32));
        self.buffer.clear();
        let encoded = molly::XTCWriter::new(&mut self.buffer).write_frame(&self.frame);
        encoded.map_err(|source| self.out.io(source))?;
        self.out.write_frame(&self.buffer)
    }

    fn flush(&mut self) -> Result<(), IoError> {
        self.out.flush()
    }

    fn bytes_written(&self) -> u64 {
        self.out.bytes
    }

    fn frames_written(&self) -> u64 {
        self.out.frames
    }
}
