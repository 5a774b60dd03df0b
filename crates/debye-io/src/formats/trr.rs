//! TRR: trajectories of GROMACS in full precision, nm, ps; read only.
//!
//! Everything is big-endian. A frame is the number 1993, the name of the layout, the sizes of its
//! blocks in bytes, the number of atoms, the step, time and lambda, then the blocks: energies, box,
//! virial, pressure, topology, symbols, positions, velocities and forces, those with a size. Numbers
//! have 4 or 8 bytes; the size of a block tells.

use std::io::Read;

use crate::bytes::Bytes;
use crate::cell;
use crate::error::IoError;
use crate::format::{FileFormat, Format};
use crate::frame::{Frame, LengthUnit};
use crate::read_frames::{ReadFrames, fused};

impl Format {
    /// GROMACS trajectory in full precision (read only).
    pub const TRR: Format = Format::new(&FileFormat {
        name: "trr",
        extensions: &["trr"],
        length_unit: LengthUnit::Nanometer,
        velocities: true,
        read_frames: Some(|source, label, _| Ok(Box::new(TrrReader::new(source, label)))),
        ..FileFormat::NONE
    });
}

const MAGIC: i32 = 1993;
/// Name of the only layout, with the length of its C string and its own before it.
const LAYOUT: &[u8; 20] = b"\0\0\0\x0d\0\0\0\x0cGMX_trn_file";
/// Words of the header between the layout and the time.
const WORDS: usize = 13;

/// Reads the frames of a TRR file, of single or double precision. Frames without positions are left
/// out, with a warning.
pub struct TrrReader<R> {
    bytes: Bytes<R>,
    frame: usize,
    done: bool,
    buffer: Vec<u8>,
    without_positions: usize,
}

/// What the header of a frame says.
struct Header {
    /// Sizes of what stands before the positions and is not read: inputrec, energies; virial,
    /// pressure, topology and symbols.
    before_box: u64,
    after_box: u64,
    cell: u64,
    positions: u64,
    velocities: u64,
    forces: u64,
    atoms: usize,
    step: u32,
    double: bool,
    time: f64,
}

impl<R: Read> TrrReader<R> {
    /// A reader of `source`, which messages call `label`.
    pub fn new(source: R, label: impl Into<String>) -> Self {
        TrrReader {
            bytes: Bytes::new(source, label),
            frame: 0,
            done: false,
            buffer: Vec::new(),
            without_positions: 0,
        }
    }

    fn read(&mut self) -> Result<Option<Frame>, IoError> {
        loop {
            let Some(header) = self.header()? else {
                return Ok(None);
            };
            let frame = self.body(&header)?;
            if header.positions > 0 || header.atoms == 0 {
                return Ok(Some(frame));
            }
            self.without_positions += 1;
        }
    }

    fn header(&mut self) -> Result<Option<Header>, IoError> {
        let start = self.bytes.offset();
        let length = 4 + LAYOUT.len() as u64 + 4 * WORDS as u64;
        let found = self.bytes.read_up_to(length, &mut self.buffer)? as u64;
        if found == 0 {
            return Ok(None);
        }
        self.frame += 1;
        let opened = Words(&self.buffer).integer(0) == MAGIC || found < 4;
        if !opened {
            let found = Words(&self.buffer).integer(0);
            let expected = format!("{MAGIC}, which opens a TRR frame");
            return Err(self.bytes.unexpected(start, found, expected));
        }
        if found < length {
            let expected = format!("a header of {length} bytes");
            return Err(self
                .bytes
                .truncated(self.frame, expected, format!("{found} bytes")));
        }
        if self.buffer.get(4..4 + LAYOUT.len()) != Some(&LAYOUT[..]) {
            let found = String::from_utf8_lossy(&self.buffer[12..24]).into_owned();
            return Err(self.bytes.unexpected(start + 4, found, "GMX_trn_file"));
        }
        let words = Words(&self.buffer[4 + LAYOUT.len()..]);
        let sizes: [i32; WORDS] = std::array::from_fn(|index| words.integer(index));
        let step = sizes[11] as u32;
        let Some(sizes) = sizes[..11]
            .iter()
            .map(|size| u64::try_from(*size).ok())
            .collect::<Option<Vec<u64>>>()
        else {
            let expected = "sizes of blocks and a number of atoms";
            return Err(self.bytes.unexpected(start + 24, format!("{sizes:?}"), expected));
        };
        let Some(double) = precision(&sizes) else {
            let expected = "sizes of blocks of 4-byte or 8-byte numbers for the number of atoms";
            return Err(self.bytes.unexpected(start + 24, format!("{sizes:?}"), expected));
        };
        let at = self.bytes.offset();
        self.block(if double { 16 } else { 8 }, "time and lambda")?;
        let time = Words(&self.buffer).real(0, double);
        if !time.is_finite() {
            return Err(self.bytes.not_finite(at, time));
        }
        Ok(Some(Header {
            before_box: sizes[0] + sizes[1],
            cell: sizes[2],
            after_box: sizes[3] + sizes[4] + sizes[5] + sizes[6],
            positions: sizes[7],
            velocities: sizes[8],
            forces: sizes[9],
            atoms: usize::try_from(sizes[10]).unwrap_or(usize::MAX),
            step,
            double,
            time,
        }))
    }

    fn body(&mut self, header: &Header) -> Result<Frame, IoError> {
        self.block(header.before_box, "energies")?;
        let mut cell = None;
        if header.cell > 0 {
            let rows = self.vectors(header.cell, 3, header.double, "the box")?;
            cell = match rows[..] {
                [a, b, c] => cell::unless_zero([a, b, c]),
                _ => None,
            };
        }
        self.block(header.after_box, "virial and pressure")?;
        let mut block = |size: u64, what: &str| match size {
            0 => Ok(None),
            size => self.vectors(size, header.atoms, header.double, what).map(Some),
        };
        let positions = block(header.positions, "positions")?.unwrap_or_default();
        let velocities = block(header.velocities, "velocities")?;
        let forces = block(header.forces, "forces")?;
        Ok(Frame {
            step: Some(u64::from(header.step)),
            time: Some(header.time),
            length_unit: LengthUnit::Nanometer,
            cell,
            positions,
            velocities,
            forces,
            ..Frame::default()
        })
    }

    /// The next `count` bytes, all of them.
    fn block(&mut self, count: u64, what: &str) -> Result<(), IoError> {
        self.bytes.block(count, &mut self.buffer, self.frame, what)
    }

    fn vectors(
        &mut self,
        size: u64,
        count: usize,
        double: bool,
        what: &str,
    ) -> Result<Vec<[f64; 3]>, IoError> {
        let start = self.bytes.offset();
        self.block(size, what)?;
        let words = Words(&self.buffer);
        // The block is in memory, so this many rows are real.
        let mut rows = Vec::with_capacity(count);
        for index in 0..count {
            let row = [0, 1, 2].map(|axis| words.real(3 * index + axis, double));
            if let Some(value) = row.iter().find(|value| !value.is_finite()) {
                let width = if double { 24 } else { 12 };
                return Err(self.bytes.not_finite(start + width * index as u64, *value));
            }
            rows.push(row);
        }
        Ok(rows)
    }
}

/// Whether the numbers have 8 bytes; `None` if the sizes are none of blocks for this many atoms.
fn precision(sizes: &[u64]) -> Option<bool> {
    let atoms = sizes[10];
    let fits = |number: u64| {
        let vectors = sizes[7..10]
            .iter()
            .all(|size| *size == 0 || *size == 3 * number * atoms);
        let tensors = [sizes[2], sizes[3], sizes[4]]
            .iter()
            .all(|size| *size == 0 || *size == 9 * number);
        vectors && tensors
    };
    if fits(4) {
        return Some(false);
    }
    fits(8).then_some(true)
}

/// Big-endian words of a block that has been read in full.
struct Words<'a>(&'a [u8]);

impl Words<'_> {
    fn bytes<const N: usize>(&self, index: usize) -> [u8; N] {
        let mut word = [0; N];
        if let Some(bytes) = self.0.get(N * index..N * index + N) {
            word.copy_from_slice(bytes);
        }
        word
    }

    fn integer(&self, index: usize) -> i32 {
        i32::from_be_bytes(self.bytes(index))
    }

    fn real(&self, index: usize, double: bool) -> f64 {
        match double {
            true => f64::from_be_bytes(self.bytes(index)),
            false => f64::from(f32::from_be_bytes(self.bytes(index))),
        }
    }
}

impl<R: Read> ReadFrames for TrrReader<R> {
    fn next_frame(&mut self) -> Result<Option<Frame>, IoError> {
        fused(self, |r| &mut r.done, |r| r.read())
    }

    fn warnings(&mut self) -> Vec<String> {
        match std::mem::take(&mut self.without_positions) {
            0 => Vec::new(),
            count => vec![format!(
                "{}: {count} frames hold no positions and are left out",
                self.bytes.file()
            )],
        }
    }
}
