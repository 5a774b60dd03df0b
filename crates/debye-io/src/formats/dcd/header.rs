//! The header of a DCD file.

use std::io::Read;

use super::AKMA_PICOSECONDS;
use crate::bytes::Bytes;
use crate::error::{IoError, Place};

/// What the header of a DCD file says.
#[derive(Debug, Clone, PartialEq)]
pub struct DcdHeader {
    /// Numbers are stored with the most significant byte first.
    pub big_endian: bool,
    /// Number of frames; 0 in files of interrupted programs.
    pub frames: u32,
    /// Step of the first frame.
    pub first_step: i32,
    /// Steps between frames.
    pub step_interval: i32,
    /// Length of a step in picoseconds.
    pub timestep: f64,
    /// Version of CHARMM the file claims to be of; 0 for X-PLOR.
    pub version: i32,
    /// Each frame opens with a unit cell.
    pub has_cell: bool,
    /// Each frame has a fourth coordinate, which is skipped.
    pub has_fourth_dimension: bool,
    /// Title lines, joined.
    pub title: String,
    /// Number of atoms.
    pub atoms: usize,
    /// Indices of the atoms that move, if some are fixed: only these are in the second and later frames.
    pub free_atoms: Option<Vec<usize>>,
    /// Length of the header in bytes.
    pub byte_length: u64,
}

/// Length of the first record.
const CONTROL_BYTES: u32 = 84;

impl DcdHeader {
    /// Reads the header from the start of a file, which messages call `label`.
    ///
    /// # Errors
    /// [`IoError::Parse`] with the byte offset if this is no DCD header, [`IoError::Truncated`] for
    /// frame 0 if the file ends inside it.
    pub fn read(source: impl Read, label: &str) -> Result<DcdHeader, IoError> {
        DcdHeader::parse(&mut Bytes::new(source, label))
    }

    pub(super) fn parse<R: Read>(bytes: &mut Bytes<R>) -> Result<DcdHeader, IoError> {
        let Some(first) = bytes.array::<4>()? else {
            return Err(bytes.truncated(0, "a header", "less than 4 bytes"));
        };
        let big_endian = match (u32::from_le_bytes(first), u32::from_be_bytes(first)) {
            (CONTROL_BYTES, _) => false,
            (_, CONTROL_BYTES) => true,
            (found, _) => {
                let expected = "a DCD header with 4-byte record marks (84 in either byte order)";
                return Err(bytes.unexpected(0, found, expected));
            }
        };
        let mut records = Records {
            bytes,
            big_endian,
            buffer: Vec::new(),
        };
        let control = records.body(CONTROL_BYTES, "the first header record")?;
        if &control[..4] != b"CORD" {
            let found = String::from_utf8_lossy(&control[..4]).into_owned();
            return Err(records.bytes.unexpected(4, found, "CORD"));
        }
        let control = control[4..].to_vec();
        let integer = |index: usize| Records::<R>::integer(big_endian, &control, index);
        let charmm = integer(19) != 0;
        let timestep = if charmm {
            f64::from(f32::from_bits(integer(9) as u32))
        } else {
            // X-PLOR has a double here; its high half comes first in big-endian files.
            let (low, high) = if big_endian {
                (integer(10), integer(9))
            } else {
                (integer(9), integer(10))
            };
            f64::from_bits(u64::from(high as u32) << 32 | u64::from(low as u32))
        };
        let title = records.titles()?;
        let atoms = records.atom_count()?;
        let fixed = usize::try_from(integer(8)).ok().filter(|fixed| *fixed <= atoms);
        let Some(fixed) = fixed else {
            return Err(bytes.unexpected(
                4 + 4 + 4 * 8,
                integer(8),
                format!("a number of fixed atoms up to {atoms}"),
            ));
        };
        let free_atoms = if fixed > 0 {
            Some(records.free_atoms(atoms, atoms - fixed)?)
        } else {
            None
        };
        Ok(DcdHeader {
            big_endian,
            frames: u32::try_from(integer(0)).unwrap_or(0),
            first_step: integer(1),
            step_interval: integer(2),
            timestep: if timestep.is_finite() {
                timestep * AKMA_PICOSECONDS
            } else {
                0.0
            },
            version: integer(19),
            has_cell: charmm && integer(10) != 0,
            has_fourth_dimension: charmm && integer(11) != 0,
            title,
            atoms,
            free_atoms,
            byte_length: bytes.offset(),
        })
    }

    /// Checks that frames of this crate's writer may follow `frames` frames in `byte_length` bytes.
    pub(crate) fn check_append(&self, label: &str, byte_length: u64, frames: u64) -> Result<(), IoError> {
        let same_kind =
            !self.big_endian && self.has_cell && !self.has_fourth_dimension && self.free_atoms.is_none();
        if !same_kind {
            return Err(IoError::NotSupported {
                file: label.to_owned(),
                format: "dcd",
                operation: "append to a file of another kind than this program writes",
            });
        }
        // A cell of 48 bytes and three axes of 4 bytes per atom, each between two marks.
        let frame = 56 + 3 * (4 * self.atoms as u64 + 8);
        let expected = frames
            .checked_mul(frame)
            .and_then(|bytes| bytes.checked_add(self.byte_length));
        if expected == Some(byte_length) {
            return Ok(());
        }
        Err(IoError::Parse {
            file: label.to_owned(),
            place: Place::Byte(byte_length),
            found: format!("a point to continue from after {frames} frames"),
            expected: format!(
                "a header of {} bytes and frames of {frame} bytes before it",
                self.byte_length
            ),
        })
    }
}

/// Fortran records of the header.
struct Records<'a, R> {
    bytes: &'a mut Bytes<R>,
    big_endian: bool,
    buffer: Vec<u8>,
}

impl<R: Read> Records<'_, R> {
    fn integer(big_endian: bool, data: &[u8], index: usize) -> i32 {
        let mut word = [0; 4];
        if let Some(bytes) = data.get(4 * index..4 * index + 4) {
            word.copy_from_slice(bytes);
        }
        if big_endian {
            i32::from_be_bytes(word)
        } else {
            i32::from_le_bytes(word)
        }
    }

    fn mark(&mut self, what: &str) -> Result<u32, IoError> {
        match self.bytes.array::<4>()? {
            Some(word) => Ok(Self::integer(self.big_endian, &word, 0) as u32),
            None => Err(self.bytes.truncated(0, what, "the end of the file in the header")),
        }
    }

    /// The content of a record whose first mark has been read.
    fn body(&mut self, length: u32, what: &str) -> Result<&[u8], IoError> {
        let found = self.bytes.read_up_to(u64::from(length), &mut self.buffer)?;
        if found < length as usize {
            return Err(self.bytes.truncated(
                0,
                format!("{length} bytes of {what}"),
                format!("{found} bytes"),
            ));
        }
        let at = self.bytes.offset();
        let closing = self.mark(what)?;
        if closing != length {
            return Err(self
                .bytes
                .unexpected(at, closing, format!("{length}, the length of {what}")));
        }
        Ok(&self.buffer)
    }

    fn record(&mut self, what: &str) -> Result<&[u8], IoError> {
        let length = self.mark(what)?;
        self.body(length, what)
    }

    fn titles(&mut self) -> Result<String, IoError> {
        let record = self.title_record()?;
        let lines = record.get(4..).unwrap_or_default().chunks(80);
        let clean = |line: &[u8]| String::from_utf8_lossy(line).replace('\0', " ").trim().to_owned();
        Ok(lines
            .map(clean)
            .filter(|line| !line.is_empty())
            .collect::<Vec<_>>()
            .join("; "))
    }

    /// The record of the titles. Some writers mark it as long as two lines and write three.
    fn title_record(&mut self) -> Result<&[u8], IoError> {
        const WHAT: &str = "the titles";
        /// More lines than any program writes.
        const MOST: u64 = 1000;
        let length = self.mark(WHAT)?;
        let found = self.bytes.read_up_to(u64::from(length), &mut self.buffer)?;
        let lines = Self::integer(self.big_endian, &self.buffer, 0) as u32;
        let at = self.bytes.offset();
        let closing = self.mark(WHAT)?;
        if closing == length {
            return Ok(&self.buffer);
        }
        let counted = 4 + 80 * u64::from(lines);
        let more = counted.checked_sub(u64::from(length) + 4);
        if let Some(more) = more.filter(|_| found == length as usize && u64::from(lines) <= MOST) {
            let mut rest = Vec::new();
            self.bytes.read_up_to(more, &mut rest)?;
            if self.mark(WHAT)? == length {
                return Ok(&self.buffer);
            }
        }
        let expected = format!("{length}, the length of {WHAT}");
        Err(self.bytes.unexpected(at, closing, expected))
    }

    fn atom_count(&mut self) -> Result<usize, IoError> {
        let big_endian = self.big_endian;
        let record = self.record("the number of atoms")?;
        let count = Self::integer(big_endian, record, 0);
        let good = record.len() == 4;
        match usize::try_from(count) {
            Ok(count) if good => Ok(count),
            _ => Err(self.bytes.unexpected(
                self.bytes.offset(),
                count,
                "a number of atoms in a record of 4 bytes",
            )),
        }
    }

    fn free_atoms(&mut self, atoms: usize, free: usize) -> Result<Vec<usize>, IoError> {
        let big_endian = self.big_endian;
        let record = self.record("the list of free atoms")?;
        let found = record.len();
        let index = |at| {
            usize::try_from(Self::integer(big_endian, record, at))
                .ok()?
                .checked_sub(1)
        };
        if found as u64 == 4 * free as u64 {
            let list: Option<Vec<usize>> = (0..free)
                .map(|at| index(at).filter(|index| *index < atoms))
                .collect();
            if let Some(list) = list {
                return Ok(list);
            }
        }
        let expected = format!("{free} indices of free atoms between 1 and {atoms}");
        Err(self
            .bytes
            .unexpected(self.bytes.offset(), format!("{found} bytes"), expected))
    }
}
