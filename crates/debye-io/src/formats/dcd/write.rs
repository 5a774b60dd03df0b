//! Writing DCD frames.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};

use super::{AKMA_PICOSECONDS, DcdHeader};
use crate::cell;
use crate::error::{IoError, Place};
use crate::frame::{Frame, LengthUnit};
use crate::structure::Atom;
use crate::output::{Output, Resumption, WriteFrames, one_line, through_output};

/// Offset of the number of frames, of the first step, of the steps between frames and of the
/// length of a step, each 4 bytes.
const FRAMES_AT: u64 = 8;
const FIRST_STEP_AT: u64 = 12;
const STEP_INTERVAL_AT: u64 = 16;
const TIMESTEP_AT: u64 = 44;

/// Writes frames with a unit cell each (zeros where a frame has none). The header is brought up to
/// date with every frame: the number of frames, and with the second frame the steps and the time
/// between frames, which the format takes to be even.
pub struct DcdWriter<W> {
    out: Output<W>,
    atoms: Option<usize>,
    /// Step and time of the first frame of this writer, until the second has come.
    first: Option<(u64, f64)>,
    buffer: Vec<u8>,
}

impl DcdWriter<File> {
    /// Goes on with a file of the kind that this writer makes. Its header is judged before anything is cut off.
    pub(super) fn resume(mut kept: Resumption) -> Result<Self, IoError> {
        let mut header = None;
        if kept.bytes > 0 {
            let found = DcdHeader::read(&mut kept.sink, &kept.file)?;
            found.check_append(&kept.file, kept.bytes, kept.frames)?;
            header = Some(found);
        }
        let mut writer = DcdWriter {
            out: kept.cut()?,
            atoms: None,
            first: None,
            buffer: Vec::new(),
        };
        let Some(header) = header else { return Ok(writer) };
        writer.atoms = Some(header.atoms);
        // With one frame in the file its distance to the next is still to be told.
        if writer.out.frames == 1 {
            let step = u64::try_from(header.first_step).unwrap_or(0);
            writer.first = Some((step, step as f64 * header.timestep));
        }
        writer.update_header(&[])?;
        Ok(writer)
    }
}

impl<W: Write + Seek + Send> DcdWriter<W> {
    /// A writer to `sink`, which messages call `label`. The file must start where `sink` starts.
    pub fn new(sink: W, label: impl Into<String>) -> Self {
        DcdWriter {
            out: Output::new(sink, label),
            atoms: None,
            first: None,
            buffer: Vec::new(),
        }
    }

    fn put_integer(&mut self, value: i32) {
        self.buffer.extend_from_slice(&value.to_le_bytes());
    }

    fn put_header(&mut self, frame: &Frame, atoms: i32) {
        self.buffer.clear();
        self.put_integer(84);
        self.buffer.extend_from_slice(b"CORD");
        let mut control = [0_i32; 20];
        control[1] = step_number(frame.step.unwrap_or(0));
        control[2] = 1;
        control[9] = 1.0_f32.to_bits() as i32;
        if let (Some(step @ 1..), Some(time)) = (frame.step, frame.time) {
            control[9] = timestep_bits(time / step as f64);
        }
        control[10] = 1;
        // Version 24 of CHARMM: the version other programs claim for this layout.
        control[19] = 24;
        for value in control {
            self.put_integer(value);
        }
        self.put_integer(84);
        let mut title = [b' '; 80];
        let text = one_line(&frame.title);
        let text: Vec<u8> = text
            .chars()
            .map(|c| if c.is_ascii() { c as u8 } else { b'?' })
            .take(80)
            .collect();
        title[..text.len()].copy_from_slice(&text);
        self.put_integer(84);
        self.put_integer(1);
        self.buffer.extend_from_slice(&title);
        self.put_integer(84);
        for value in [4, atoms, 4] {
            self.put_integer(value);
        }
    }

    fn put_cell(&mut self, frame: &Frame) -> Result<(), IoError> {
        let (lengths, cosines) = match &frame.cell {
            None => ([0.0; 3], [0.0; 3]),
            Some(cell) => cell::to_cosines(cell).ok_or_else(|| {
                let limit = "a box with a along x and b in the xy plane";
                self.out.too_large(Place::Cell, format!("{cell:?}"), limit)
            })?,
        };
        let ([a, b, c], [alpha, beta, gamma]) = (lengths, cosines);
        self.put_integer(48);
        for value in [a, gamma, b, beta, alpha, c] {
            self.buffer.extend_from_slice(&f64::to_le_bytes(value));
        }
        self.put_integer(48);
        Ok(())
    }

    fn put_coordinates(&mut self, frame: &Frame, axis: usize, length: i32) -> Result<(), IoError> {
        self.put_integer(length);
        for (index, position) in frame.positions.iter().enumerate() {
            let value = position[axis] as f32;
            if !value.is_finite() {
                return Err(self
                    .out
                    .too_large(Place::Atom(index + 1), position[axis], "single precision"));
            }
            self.buffer.extend_from_slice(&value.to_le_bytes());
        }
        self.put_integer(length);
        Ok(())
    }

    /// Writes the number of frames and other words of the header, and returns to the end.
    fn update_header(&mut self, words: &[(u64, i32)]) -> Result<(), IoError> {
        let frames = i32::try_from(self.out.frames).unwrap_or(i32::MAX);
        for (at, word) in words.iter().copied().chain([(FRAMES_AT, frames)]) {
            let seek = self.out.sink.seek(SeekFrom::Start(at));
            let write = seek.and_then(|_| self.out.sink.write_all(&word.to_le_bytes()));
            write.map_err(|source| self.out.io(source))?;
        }
        let back = self.out.sink.seek(SeekFrom::Start(self.out.bytes));
        back.map(|_| ()).map_err(|source| self.out.io(source))
    }

    /// The words of the header that the second frame makes known.
    fn clock_words(&mut self, frame: &Frame) -> Vec<(u64, i32)> {
        let Some(step) = frame.step else { return Vec::new() };
        let time = frame.time.unwrap_or(0.0);
        let Some((first_step, first_time)) = self.first.take() else {
            if self.out.frames == 1 {
                self.first = Some((step, time));
            }
            return Vec::new();
        };
        let Some(interval @ 1..) = step.checked_sub(first_step) else {
            return Vec::new();
        };
        let mut words = vec![
            (FIRST_STEP_AT, step_number(first_step)),
            (STEP_INTERVAL_AT, step_number(interval)),
        ];
        let timestep = (time - first_time) / interval as f64;
        if frame.time.is_some() && timestep > 0.0 {
            words.push((TIMESTEP_AT, timestep_bits(timestep)));
        }
        words
    }
}

fn step_number(step: u64) -> i32 {
    i32::try_from(step).unwrap_or(i32::MAX)
}

fn timestep_bits(picoseconds: f64) -> i32 {
    ((picoseconds / AKMA_PICOSECONDS) as f32).to_bits() as i32
}

impl<W: Write + Seek + Send> WriteFrames for DcdWriter<W> {
    fn write_frame(&mut self, atoms: &[Atom], frame: &Frame) -> Result<(), IoError> {
        let names = (!atoms.is_empty()).then_some(atoms);
        self.out.check(names, frame, LengthUnit::Angstrom)?;
        let count = frame.positions.len();
        let length = i32::try_from(count).ok().and_then(|count| count.checked_mul(4));
        let Some(length) = length else {
            return Err(self
                .out
                .too_large(Place::Atom(count), count, "records below 2 GiB"));
        };
        match self.atoms {
            None => self.put_header(frame, length / 4),
            Some(expected) if expected == count => self.buffer.clear(),
            Some(expected) => {
                let (file, what) = (self.out.file.clone(), "atoms in every frame of the file");
                return Err(IoError::AtomCountMismatch {
                    file,
                    what,
                    expected,
                    found: count,
                });
            }
        }
        self.put_cell(frame)?;
        for axis in 0..3 {
            self.put_coordinates(frame, axis, length)?;
        }
        let buffer = std::mem::take(&mut self.buffer);
        let written = self.out.write_frame(&buffer);
        self.buffer = buffer;
        written?;
        self.atoms = Some(count);
        let words = self.clock_words(frame);
        self.update_header(&words)
    }

    through_output!();
}
