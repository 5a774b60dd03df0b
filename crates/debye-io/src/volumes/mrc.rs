//! MRC2014 and CCP4 maps: a header of 1024 bytes and the values, x fastest, in single precision and little endian.
//!
//! Words of the header are those of Cheng et al., J. Struct. Biol. 192, 146 (2015), and of the pages of CCP-EM. The
//! header is written by hand: the crate `mrc` (0.8) writes to files that it seeks in, while maps here go to any sink,
//! also a compressed one.
//!
//! There are two places for an origin, and no agreement about them. Microscopy reads ORIGIN (words 50 to 52, a length).
//! Crystallography reads NXSTART, NYSTART and NZSTART (words 5 to 7, in steps) and ignores ORIGIN. ChimeraX and Mol*
//! take ORIGIN unless it is zero; GridDataFormats adds the two. So only one of them is ever set: see [`MrcOrigin`].

use std::io::Write;

use super::number::Number;
use super::volume::{Volume, VolumeValues};
use crate::error::{IoError, Place};
use crate::output::Output;

/// Where the header says the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum MrcOrigin {
    /// As a length, in the words ORIGIN, as electron microscopy does: files `.mrc`.
    #[default]
    Length,
    /// In steps, in the words NXSTART, NYSTART and NZSTART, as crystallography does: files `.ccp4` and `.map`. An
    /// origin that is no whole number of steps is written as a length, which programs of crystallography do not see.
    Steps,
}

/// Sections along z that are put together at a time: one cache line of single precision, so that each is read once.
const SECTIONS: usize = 16;
const GEOMETRY: &str = "first step along x, second in the xy plane, right-handed";

/// Writes an MRC2014 file of mode 2 to `sink`, which messages call `label`. The volume is to be in Å.
///
/// Values of double precision are rounded. The title becomes a label of at most 80 characters. Minimum, maximum, mean
/// and deviation of the header are those of the finite values.
///
/// # Errors
/// [`IoError::TooLarge`], before anything is written: a finite value beyond single precision, more than 2³¹ − 1 points
/// along an axis, or steps that the format cannot hold. It keeps lengths and angles, so that the first step must lie
/// along x, the second in the xy plane, and the third on the side of positive z. [`IoError::Io`].
pub fn write_mrc(
    sink: impl Write,
    label: impl Into<String>,
    volume: &Volume,
    origin: MrcOrigin,
) -> Result<(), IoError> {
    let mut out = Output::new(sink, label);
    match volume.values() {
        VolumeValues::F32(values) => write_values(&mut out, volume, values, origin)?,
        VolumeValues::F64(values) => write_values(&mut out, volume, values, origin)?,
    }
    out.flush()
}

fn write_values<W: Write, T: Number>(
    out: &mut Output<W>,
    volume: &Volume,
    values: &[T],
    origin: MrcOrigin,
) -> Result<(), IoError> {
    let beyond = |x: &T| x.to_f64().is_finite() && !x.to_f32().is_finite();
    if let Some(index) = values.iter().position(beyond) {
        let place = Place::Point(volume.point(index));
        let value = format!("{:e}", values[index]);
        return Err(out.too_large(place, value, "single precision"));
    }
    let mut header = header(out, volume, origin)?;
    put_statistics(&mut header, values);
    out.write(&header.0)?;
    let [nx, ny, nz] = volume.shape();
    let mut sections = vec![Vec::new(); SECTIONS.min(nz)];
    for first in (0..nz).step_by(SECTIONS) {
        let here = SECTIONS.min(nz - first);
        sections.iter_mut().for_each(Vec::clear);
        for y in 0..ny {
            for x in 0..nx {
                let start = (x * ny + y) * nz + first;
                for (section, value) in sections.iter_mut().zip(&values[start..start + here]) {
                    value.to_f32().put_bytes(section);
                }
            }
        }
        for section in &sections[..here] {
            out.write(section)?;
        }
    }
    Ok(())
}

/// The header; words are counted from 1, as the specification does.
struct Header([u8; 1024]);

impl Header {
    fn bytes(&mut self, word: usize, bytes: &[u8]) {
        let start = 4 * (word - 1);
        self.0[start..start + bytes.len()].copy_from_slice(bytes);
    }

    fn integers(&mut self, word: usize, values: [i32; 3]) {
        for (i, value) in values.into_iter().enumerate() {
            self.bytes(word + i, &value.to_le_bytes());
        }
    }

    fn reals(&mut self, word: usize, values: [f64; 3]) {
        for (i, value) in values.into_iter().enumerate() {
            self.bytes(word + i, &(value as f32).to_le_bytes());
        }
    }
}

fn header<W: Write>(out: &Output<W>, volume: &Volume, origin: MrcOrigin) -> Result<Header, IoError> {
    let shape = volume.shape();
    let mut counts = [0; 3];
    for (count, points) in counts.iter_mut().zip(shape) {
        let limit = "at most 2147483647 points along an axis";
        *count = i32::try_from(points).map_err(|_| out.too_large(Place::Grid, points, limit))?;
    }
    let steps = volume.steps();
    let Some((lengths, angles)) = lengths_and_angles(steps) else {
        return Err(out.too_large(Place::Grid, format!("steps {steps:?}"), GEOMETRY));
    };
    let cell = [0, 1, 2].map(|axis| lengths[axis] * shape[axis] as f64);
    let beyond = |x: &f64| !(*x as f32).is_finite();
    if let Some(length) = cell.iter().chain(&volume.origin()).find(|x| beyond(x)) {
        return Err(out.too_large(Place::Grid, format!("{length:e}"), "single precision"));
    }

    let mut header = Header([0; 1024]);
    header.integers(1, counts);
    header.bytes(4, &2_i32.to_le_bytes());
    let start = match origin {
        MrcOrigin::Length => None,
        MrcOrigin::Steps => whole_steps(volume),
    };
    match start {
        Some(start) => header.integers(5, start),
        None => header.reals(50, volume.origin()),
    }
    header.integers(8, counts);
    header.reals(11, cell);
    header.reals(14, angles);
    header.integers(17, [1, 2, 3]);
    // A volume, not a stack of images; no symmetry records.
    header.bytes(23, &1_i32.to_le_bytes());
    header.bytes(28, &20141_i32.to_le_bytes());
    header.bytes(53, b"MAP ");
    // Little endian.
    header.bytes(54, &[0x44, 0x44, 0, 0]);
    let printable = |c: char| if (' '..='~').contains(&c) { c } else { '?' };
    let title: String = volume.title().trim().chars().take(80).map(printable).collect();
    if !title.is_empty() {
        header.bytes(56, &1_i32.to_le_bytes());
        header.bytes(57, format!("{title:80}").as_bytes());
    }
    Ok(header)
}

/// Lengths of the steps, and angles between them in degrees: b and c, a and c, a and b. `None` where these do not tell
/// the steps.
fn lengths_and_angles(steps: [[f64; 3]; 3]) -> Option<([f64; 3], [f64; 3])> {
    /// Components of a step that must be zero are so to this part of its length.
    const ZERO: f64 = 1e-6;
    let lengths = steps.map(|[x, y, z]| x.hypot(y).hypot(z));
    let [a, b, c] = steps;
    let zero = |x: f64, axis: usize| x.abs() <= ZERO * lengths[axis];
    let upper = zero(a[1], 0) && zero(a[2], 0) && zero(b[2], 1);
    if !(upper && a[0] > 0.0 && b[1] > 0.0 && c[2] > 0.0) {
        return None;
    }
    let angle = |i: usize, j: usize| {
        let (v, w) = (steps[i].map(|x| x / lengths[i]), steps[j].map(|x| x / lengths[j]));
        let cosine = v[0] * w[0] + v[1] * w[1] + v[2] * w[2];
        cosine.clamp(-1.0, 1.0).acos().to_degrees()
    };
    Some((lengths, [angle(1, 2), angle(0, 2), angle(0, 1)]))
}

/// The origin in steps, where it is a whole number of each. The steps form a lower triangle.
fn whole_steps(volume: &Volume) -> Option<[i32; 3]> {
    /// An origin that is this part of a step away from a point is at the point.
    const NEAR: f64 = 1e-4;
    let steps = volume.steps();
    let mut rest = volume.origin();
    let mut start = [0; 3];
    for axis in [2, 1, 0] {
        let count = rest[axis] / steps[axis][axis];
        let whole = count.round();
        if (count - whole).abs() > NEAR || whole.abs() > f64::from(i32::MAX) {
            return None;
        }
        start[axis] = whole as i32;
        rest = [0, 1, 2].map(|i| rest[i] - whole * steps[axis][i]);
    }
    Some(start)
}

/// Minimum, maximum, mean and root mean square deviation, of what the file will hold.
fn put_statistics<T: Number>(header: &mut Header, values: &[T]) {
    let finite = || {
        let single = values.iter().map(|x| f64::from(x.to_f32()));
        single.filter(|x| x.is_finite())
    };
    let (mut smallest, mut largest, mut sum, mut count) = (f64::INFINITY, f64::NEG_INFINITY, 0.0, 0.0);
    for x in finite() {
        smallest = smallest.min(x);
        largest = largest.max(x);
        sum += x;
        count += 1.0;
    }
    let (statistics, deviation) = if count > 0.0 {
        let mean = sum / count;
        let squares: f64 = finite().map(|x| (x - mean) * (x - mean)).sum();
        ([smallest, largest, mean], (squares / count).sqrt())
    } else {
        // The specification's way to say that they are not known.
        ([0.0, -1.0, -2.0], -1.0)
    };
    header.reals(20, statistics);
    header.bytes(55, &(deviation as f32).to_le_bytes());
}
