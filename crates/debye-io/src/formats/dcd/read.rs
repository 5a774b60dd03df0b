//! Reading DCD frames.

use std::io::Read;

use super::DcdHeader;
use crate::bytes::Bytes;
use crate::cell::{self, Cell};
use crate::error::IoError;
use crate::frame::{Frame, LengthUnit};
use crate::read_frames::{ReadFrames, fused};

/// Reads the frames of a DCD file until its end, whatever count the header of an interrupted
/// program has; an end before that count is an error.
///
/// Unit cells of CHARMM's symmetric matrix are turned to the convention (a along x, b in the xy
/// plane), and the positions with them.
pub struct DcdReader<R> {
    bytes: Bytes<R>,
    header: DcdHeader,
    frame: usize,
    done: bool,
    buffer: Vec<u8>,
    /// Positions of all atoms in the first frame, kept where some are fixed.
    first: Option<Vec<[f64; 3]>>,
}

impl<R: Read> DcdReader<R> {
    /// Reads the header of `source`, which messages call `label`.
    ///
    /// # Errors
    /// As [`DcdHeader::read`].
    pub fn new(source: R, label: impl Into<String>) -> Result<Self, IoError> {
        let mut bytes = Bytes::new(source, label);
        let header = DcdHeader::parse(&mut bytes)?;
        Ok(DcdReader {
            bytes,
            header,
            frame: 0,
            done: false,
            buffer: Vec::new(),
            first: None,
        })
    }

    /// The header of the file.
    pub fn header(&self) -> &DcdHeader {
        &self.header
    }

    fn read(&mut self) -> Result<Option<Frame>, IoError> {
        let Some(first_mark) = self.bytes.array::<4>()? else {
            let promised = self.header.frames as usize;
            if self.frame < promised {
                let found = format!("{} frames", self.frame);
                return Err(self.bytes.truncated(
                    self.frame + 1,
                    format!("{promised} frames, as the header says"),
                    found,
                ));
            }
            return Ok(None);
        };
        self.frame += 1;
        let mut mark = Some(self.word(first_mark));
        let (cell, axes) = if self.header.has_cell {
            self.cell(&mut mark)?
        } else {
            (None, None)
        };
        let count = match (&self.header.free_atoms, &self.first) {
            (Some(free), Some(_)) => free.len(),
            _ => self.header.atoms,
        };
        let mut rows: Vec<[f64; 3]> = Vec::new();
        for axis in 0..3 {
            self.coordinates(&mut mark, count, axis, &mut rows)?;
        }
        if self.header.has_fourth_dimension {
            self.record(&mut mark, 4 * count as u64, "the fourth coordinate")?;
        }
        let mut positions = self.with_fixed(rows);
        if let Some(axes) = axes {
            for position in &mut positions {
                *position = cell::turned(*position, &axes);
            }
        }
        let (step, time) = self.clock();
        let title = self.header.title.clone();
        Ok(Some(Frame {
            title,
            step,
            time,
            length_unit: LengthUnit::Angstrom,
            cell,
            positions,
            ..Frame::default()
        }))
    }

    fn word(&self, word: [u8; 4]) -> u32 {
        if self.header.big_endian {
            u32::from_be_bytes(word)
        } else {
            u32::from_le_bytes(word)
        }
    }

    /// Reads a record of `expected` bytes into the buffer. `mark` is its opening mark if that has
    /// been read already.
    fn record(&mut self, mark: &mut Option<u32>, expected: u64, what: &str) -> Result<(), IoError> {
        let cut = |reader: &Self| {
            reader
                .bytes
                .truncated(reader.frame, format!("{expected} bytes of {what}"), "fewer")
        };
        let length = match mark.take() {
            Some(mark) => mark,
            None => match self.bytes.array::<4>()? {
                Some(word) => self.word(word),
                None => return Err(cut(self)),
            },
        };
        if u64::from(length) != expected {
            let at = self.bytes.offset() - 4;
            return Err(self
                .bytes
                .unexpected(at, length, format!("{expected}, the length of {what}")));
        }
        if (self.bytes.read_up_to(expected, &mut self.buffer)? as u64) < expected {
            return Err(cut(self));
        }
        let Some(closing) = self.bytes.array::<4>()? else {
            return Err(cut(self));
        };
        let closing = self.word(closing);
        if closing != length {
            let at = self.bytes.offset() - 4;
            return Err(self
                .bytes
                .unexpected(at, closing, format!("{length}, the length of {what}")));
        }
        Ok(())
    }

    /// The cell of a frame, and the axes to turn its positions to where the cell was turned.
    fn cell(&mut self, mark: &mut Option<u32>) -> Result<(Option<Cell>, Option<Cell>), IoError> {
        self.record(mark, 48, "the unit cell")?;
        let mut values = [0.0; 6];
        for (value, word) in values.iter_mut().zip(self.buffer.chunks_exact(8)) {
            let mut bits = [0; 8];
            bits.copy_from_slice(word);
            *value = if self.header.big_endian {
                f64::from_be_bytes(bits)
            } else {
                f64::from_le_bytes(bits)
            };
        }
        let at = self.bytes.offset() - 52;
        if let Some(value) = values.iter().find(|value| !value.is_finite()) {
            return Err(self.bytes.not_finite(at, *value));
        }
        if [values[0], values[2], values[5]] == [0.0; 3] {
            return Ok((None, None));
        }
        let expected = "lengths and angles of a box (a, gamma, b, beta, alpha, c) or a symmetric matrix \
                        (xx, xy, yy, xz, yz, zz)";
        match unit_cell(values, self.header.version) {
            Some((cell, axes)) => Ok((Some(cell), axes)),
            None => Err(self.bytes.unexpected(at, format!("{values:?}"), expected)),
        }
    }

    fn coordinates(
        &mut self,
        mark: &mut Option<u32>,
        count: usize,
        axis: usize,
        rows: &mut Vec<[f64; 3]>,
    ) -> Result<(), IoError> {
        self.record(
            mark,
            4 * count as u64,
            ["x of all atoms", "y of all atoms", "z of all atoms"][axis],
        )?;
        // The record is in memory, so this many atoms are real.
        rows.resize(count, [0.0; 3]);
        let start = self.bytes.offset() - 4 - self.buffer.len() as u64;
        for (index, (row, word)) in rows.iter_mut().zip(self.buffer.chunks_exact(4)).enumerate() {
            let mut bits = [0; 4];
            bits.copy_from_slice(word);
            let value = f64::from(f32::from_bits(self.word(bits)));
            if !value.is_finite() {
                return Err(self.bytes.not_finite(start + 4 * index as u64, value));
            }
            row[axis] = value;
        }
        Ok(())
    }

    /// The rows of a frame at the place of their atoms.
    fn with_fixed(&mut self, rows: Vec<[f64; 3]>) -> Vec<[f64; 3]> {
        match (&self.header.free_atoms, &self.first) {
            (None, _) => rows,
            (Some(_), None) => {
                self.first = Some(rows.clone());
                rows
            }
            (Some(free), Some(first)) => {
                let mut all = first.clone();
                for (index, row) in free.iter().zip(rows) {
                    if let Some(place) = all.get_mut(*index) {
                        *place = row;
                    }
                }
                all
            }
        }
    }

    fn clock(&self) -> (Option<u64>, Option<f64>) {
        let steps = i64::from(self.header.step_interval).checked_mul(self.frame as i64 - 1);
        let step = steps.and_then(|steps| u64::try_from(i64::from(self.header.first_step) + steps).ok());
        let has_clock = self.header.step_interval > 0 && self.header.timestep != 0.0;
        let time = step
            .filter(|_| has_clock)
            .map(|step| step as f64 * self.header.timestep);
        (step, time.filter(|time| time.is_finite()))
    }
}

impl<R: Read> ReadFrames for DcdReader<R> {
    fn next_frame(&mut self) -> Result<Option<Frame>, IoError> {
        fused(self, |r| &mut r.done, |r| r.read())
    }
}

/// The last version of CHARMM whose cells are lengths and angles.
const LAST_WITH_ANGLES: i32 = 24;
/// Angles of boxes are above this, in degrees; elements of a matrix may be anything.
const SMALLEST_ANGLE: f64 = 20.0;

/// The box of six values: lengths with cosines (NAMD, VMD) or degrees, or from CHARMM 25 on the
/// triangle of a symmetric matrix whose rows are the box vectors. The values do not say which; what
/// makes no box as one of them is the other, and the version decides where both are possible. With
/// a matrix come the axes of the convention, to which its positions must be turned.
fn unit_cell(values: [f64; 6], version: i32) -> Option<(Cell, Option<Cell>)> {
    let [a, gamma, b, beta, alpha, c] = values;
    let angles = [alpha, beta, gamma];
    // No angle of a box is below one degree: numbers that small are cosines.
    let cosines = angles.iter().all(|angle| angle.abs() <= 1.0);
    let by_angles = match cosines {
        true => cell::from_cosines([a, b, c], angles),
        false => cell::from_degrees([a, b, c], angles),
    };
    let by_matrix = || {
        let rows = [[a, gamma, beta], [gamma, b, alpha], [beta, alpha, c]];
        // The matrices CHARMM writes are positive definite.
        let definite = a > 0.0 && b > 0.0 && c > 0.0 && a * b > gamma * gamma;
        let axes = cell::standard_axes(&rows).filter(|_| definite)?;
        let cell = cell::standard(&rows, &axes);
        (0..3)
            .all(|axis| cell[axis][axis] > 0.0)
            .then_some((cell, Some(axes)))
    };
    let usual = angles
        .iter()
        .all(|angle| (SMALLEST_ANGLE..=180.0 - SMALLEST_ANGLE).contains(angle));
    let matrix_first = version > LAST_WITH_ANGLES && angles != [0.0; 3] && !usual;
    let by_angles = by_angles.map(|cell| (cell, None));
    match matrix_first {
        true => by_matrix().or(by_angles),
        false => by_angles.or_else(by_matrix),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_different_programs() {
        let right = cell::from_lengths([30.0, 31.0, 32.0]);
        // Cosines, degrees, and a diagonal matrix.
        for (angle, version) in [(0.0, 24), (90.0, 24), (0.0, 36), (90.0, 36)] {
            let (cell, axes) = unit_cell([30.0, angle, 31.0, angle, angle, 32.0], version).unwrap();
            assert!(cell == right && axes.is_none(), "{angle} of version {version}");
        }
        let (cell, axes) = unit_cell([30.0, 0.5, 30.0, 0.0, 0.0, 30.0], 24).unwrap();
        assert!((cell[1][0] - 15.0).abs() < 1e-12 && axes.is_none());
        // A matrix that the version tells, and one that no angles can be.
        for (values, version) in [
            ([30.0, 0.5, 31.0, 0.0, 0.0, 32.0], 36),
            ([30.0, 7.0, 31.0, 7.0, 7.0, 32.0], 36),
            ([30.0, 14.6, 31.8, 9.6, -2.6, 32.7], 24),
        ] {
            let (cell, axes) = unit_cell(values, version).unwrap();
            let axes = axes.unwrap();
            let [xx, xy, _, xz, ..] = values;
            assert!((cell[0][0].powi(2) - xx * xx - xy * xy - xz * xz).abs() < 1e-9);
            // The rows of the matrix are turned as positions are.
            let row = cell::turned([xx, xy, xz], &axes);
            assert!((row[0] - cell[0][0]).abs() + row[1].abs() + row[2].abs() < 1e-12);
        }
        assert!(unit_cell([30.0, 40.0, 30.0, 0.0, -40.0, 30.0], 36).is_none());
    }
}
