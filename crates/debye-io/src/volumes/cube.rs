//! Gaussian cube files: text, in Bohr.
//!
//! Two lines of comment; the number of atoms and the origin; per axis the number of points and the step; per atom its
//! number, charge and position; the values, z fastest, six per line, with a new line after each row along z. The
//! format is described with Gaussian's program `cubegen`. Positive numbers of points say that lengths are in Bohr.
//!
//! Gaussian has six digits of a value and six decimals of a length. This writer has more of both, since readers take
//! what stands between blanks.

use std::fmt::Write as _;
use std::io::Write;

use super::number::{Number, PIECE, put_scientific};
use super::volume::{Volume, VolumeValues};
use crate::error::IoError;
use crate::output::{Output, one_line};

/// Writes a Gaussian cube file to `sink`, which messages call `label`. The volume and its atoms are to be in Bohr.
///
/// # Errors
/// [`IoError::Io`].
pub fn write_cube(sink: impl Write, label: impl Into<String>, volume: &Volume) -> Result<(), IoError> {
    let mut out = Output::new(sink, label);
    let mut text = one_line(volume.title());
    text.push_str("\nOUTER LOOP: X, MIDDLE LOOP: Y, INNER LOOP: Z\n");
    put_row(&mut text, volume.atoms().len(), &volume.origin());
    for (count, step) in volume.shape().into_iter().zip(volume.steps()) {
        put_row(&mut text, count, &step);
    }
    for atom in volume.atoms() {
        let [x, y, z] = atom.position;
        put_row(&mut text, atom.number as usize, &[atom.charge, x, y, z]);
    }
    out.write(text.as_bytes())?;
    let row = volume.shape()[2];
    match volume.values() {
        VolumeValues::F32(values) => put_values(&mut out, values, row)?,
        VolumeValues::F64(values) => put_values(&mut out, values, row)?,
    }
    out.flush()
}

fn put_row(text: &mut String, count: usize, numbers: &[f64]) {
    let _ = write!(text, "{count:5}");
    for number in numbers {
        let _ = write!(text, " {number:14.9}");
    }
    text.push('\n');
}

fn put_values<W: Write, T: Number>(out: &mut Output<W>, values: &[T], row: usize) -> Result<(), IoError> {
    const PER_LINE: usize = 6;
    let mut text = String::with_capacity(PIECE + 256);
    for row in values.chunks(row) {
        for line in row.chunks(PER_LINE) {
            for value in line {
                text.push(' ');
                put_scientific(&mut text, *value);
            }
            text.push('\n');
            if text.len() >= PIECE {
                out.write(text.as_bytes())?;
                text.clear();
            }
        }
    }
    out.write(text.as_bytes())
}
