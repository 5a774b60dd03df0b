//! Reading XTC frames.

use std::io::Read;

use super::UNCOMPRESSED_ATOMS;
use super::decode::{FEWEST_BITS, Prelude, decode};
use crate::bytes::Bytes;
use crate::cell;
use crate::error::IoError;
use crate::frame::{Frame, LengthUnit};
use crate::read_frames::{ReadFrames, fused};

/// Reads the frames of an XTC file, of the layout of 1995 and that of 2023.
pub struct XtcReader<R> {
    bytes: Bytes<R>,
    frame: usize,
    done: bool,
    buffer: Vec<u8>,
}

impl<R: Read> XtcReader<R> {
    /// A reader of `source`, which messages call `label`.
    pub fn new(source: R, label: impl Into<String>) -> Self {
        XtcReader {
            bytes: Bytes::new(source, label),
            frame: 0,
            done: false,
            buffer: Vec::new(),
        }
    }

    fn read(&mut self) -> Result<Option<Frame>, IoError> {
        let start = self.bytes.offset();
        match self.bytes.read_up_to(56, &mut self.buffer)? {
            0 => return Ok(None),
            56 => {}
            found => {
                let frame = self.frame + 1;
                return Err(self
                    .bytes
                    .truncated(frame, "a header of 56 bytes", format!("{found} bytes")));
            }
        }
        self.frame += 1;
        let header = Words(&self.buffer);
        let long_count = match header.integer(0) {
            1995 => false,
            2023 => true,
            found => {
                return Err(self
                    .bytes
                    .unexpected(start, found, "1995 or 2023, which opens an XTC frame"));
            }
        };
        let (atoms, repeated) = (header.integer(1), header.integer(13));
        let count = usize::try_from(atoms).ok().filter(|_| atoms == repeated);
        let step = header.integer(2) as u32;
        let time = f64::from(header.float(3));
        let mut rows = [[0.0; 3]; 3];
        for (index, value) in rows.iter_mut().flatten().enumerate() {
            *value = f64::from(header.float(4 + index));
        }
        let Some(count) = count else {
            let found = format!("{atoms} and {repeated}");
            return Err(self
                .bytes
                .unexpected(start + 4, found, "the same number of atoms twice"));
        };
        if let Some(value) = rows
            .iter()
            .flatten()
            .chain([&time])
            .find(|value| !value.is_finite())
        {
            return Err(self.bytes.not_finite(start + 12, *value));
        }
        let positions = match count {
            0..=UNCOMPRESSED_ATOMS => self.uncompressed(count)?,
            _ => self.compressed(count, long_count)?,
        };
        Ok(Some(Frame {
            step: Some(u64::from(step)),
            time: Some(time),
            length_unit: LengthUnit::Nanometer,
            cell: cell::unless_zero(rows),
            positions,
            ..Frame::default()
        }))
    }

    /// The next `count` bytes, all of them.
    fn block(&mut self, count: u64, what: &str) -> Result<(), IoError> {
        self.bytes.block(count, &mut self.buffer, self.frame, what)
    }

    fn uncompressed(&mut self, count: usize) -> Result<Vec<[f64; 3]>, IoError> {
        let start = self.bytes.offset();
        self.block(12 * count as u64, "positions")?;
        let words = Words(&self.buffer);
        let mut positions = Vec::with_capacity(count);
        for atom in 0..count {
            let position = [0, 1, 2].map(|axis| f64::from(words.float(3 * atom + axis)));
            if let Some(value) = position.iter().find(|value| !value.is_finite()) {
                return Err(self.bytes.not_finite(start + 12 * atom as u64, *value));
            }
            positions.push(position);
        }
        Ok(positions)
    }

    fn compressed(&mut self, count: usize, long_count: bool) -> Result<Vec<[f64; 3]>, IoError> {
        let start = self.bytes.offset();
        self.block(if long_count { 40 } else { 36 }, "the ranges of the positions")?;
        let words = Words(&self.buffer);
        let precision = f64::from(words.float(0));
        let three = |first: usize| [0, 1, 2].map(|axis| words.integer(first + axis));
        let prelude = Prelude {
            minimum: three(1),
            maximum: three(4),
            offset_index: words.integer(7) as u32 as usize,
        };
        let low = u64::from(words.integer(if long_count { 9 } else { 8 }) as u32);
        let high = if long_count {
            u64::from(words.integer(8) as u32)
        } else {
            0
        };
        let length = high << 32 | low;
        // A precision so small that a rounded position overflows is no precision.
        if !(precision.is_finite() && precision > 1e-30) {
            return Err(self.bytes.unexpected(start, precision, "a positive precision"));
        }
        if let Err(expected) = prelude.check() {
            return Err(self.bytes.unexpected(start + 4, format!("{prelude:?}"), expected));
        }
        let padded = length.checked_next_multiple_of(4);
        let enough = (count as u64).saturating_mul(FEWEST_BITS) <= length.saturating_mul(8);
        let Some(padded) = padded.filter(|_| enough) else {
            let expected = format!("bytes for {count} atoms");
            return Err(self.bytes.unexpected(start + 32, length, expected));
        };
        self.block(padded, "compressed positions")?;
        let stream = self.buffer.get(..length as usize).unwrap_or_default();
        let rounded = decode(stream, &prelude, count);
        let rounded = rounded.map_err(|expected| {
            self.bytes
                .unexpected(start, format!("damaged data in frame {}", self.frame), expected)
        })?;
        Ok(rounded
            .into_iter()
            .map(|position| position.map(|value| value as f64 / precision))
            .collect())
    }
}

/// Big-endian words of a block that has been read in full.
struct Words<'a>(&'a [u8]);

impl Words<'_> {
    fn integer(&self, index: usize) -> i32 {
        let mut word = [0; 4];
        if let Some(bytes) = self.0.get(4 * index..4 * index + 4) {
            word.copy_from_slice(bytes);
        }
        i32::from_be_bytes(word)
    }

    fn float(&self, index: usize) -> f32 {
        f32::from_bits(self.integer(index) as u32)
    }
}

impl<R: Read> ReadFrames for XtcReader<R> {
    fn next_frame(&mut self) -> Result<Option<Frame>, IoError> {
        fused(self, |r| &mut r.done, |r| r.read())
    }
}
