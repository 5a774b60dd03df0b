//! NumPy's `.npy`: a header that is a Python dictionary, and the values.
//!
//! Version 1.0 is written, 1.0 to 3.0 are read; a header of three counts never needs the longer ones of 2.0 and 3.0. The
//! format is described in the documentation of `numpy.lib.format`. The file has no origin and no steps.
//!
//! Written by hand: the crate `npyz` (0.9) reads any array that NumPy writes, but its errors do not say the byte, and it
//! brings parsers of Python literals and of large integers for a header of three entries.

use std::io::{Read, Write};

use super::number::{Growing, Number, PIECE, check_limit, reserve};
use super::volume::{Volume, VolumeError, VolumeValues, points};
use crate::bytes::Bytes;
use crate::error::{IoError, Place, excerpt};
use crate::output::Output;

const MAGIC: [u8; 6] = *b"\x93NUMPY";
/// Values begin at a multiple of this.
const ALIGNMENT: usize = 64;
/// A longer header is no header of a grid.
const LONGEST_HEADER: u64 = 1 << 16;
const UNIT_STEPS: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// Writes the values to `sink`, which messages call `label`: an array of shape (nx, ny, nz) in C order, type `<f4` or
/// `<f8` as the values are.
///
/// # Errors
/// [`IoError::Io`].
pub fn write_npy(sink: impl Write, label: impl Into<String>, volume: &Volume) -> Result<(), IoError> {
    let mut out = Output::new(sink, label);
    match volume.values() {
        VolumeValues::F32(values) => write_values(&mut out, volume.shape(), values)?,
        VolumeValues::F64(values) => write_values(&mut out, volume.shape(), values)?,
    }
    out.flush()
}

fn write_values<W: Write, T: Number>(
    out: &mut Output<W>,
    [x, y, z]: [usize; 3],
    values: &[T],
) -> Result<(), IoError> {
    let description = T::DESCRIPTION;
    let mut header =
        format!("{{'descr': '{description}', 'fortran_order': False, 'shape': ({x}, {y}, {z}), }}");
    let before = MAGIC.len() + 4;
    while !(before + header.len() + 1).is_multiple_of(ALIGNMENT) {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = MAGIC.to_vec();
    bytes.extend([1, 0]);
    // Far from the largest: three counts have sixty digits at most.
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    out.write(&bytes)?;
    for piece in values.chunks(PIECE / size_of::<T>()) {
        bytes.clear();
        piece.iter().for_each(|value| value.put_bytes(&mut bytes));
        out.write(&bytes)?;
    }
    Ok(())
}

/// Reads an array of three axes from `source`, which messages call `label`: little-endian `f4` or `f8`, in C or Fortran
/// order. The volume lies at the origin and has steps of 1; [`Volume::with_geometry`] puts it elsewhere.
///
/// An array in Fortran order is held twice while its axes are exchanged.
///
/// # Errors
/// [`IoError::Parse`] and [`IoError::Volume`] name the byte; more than
/// [`LARGEST_READ`](super::LARGEST_READ) points are refused.
pub fn read_npy(source: impl Read, label: impl Into<String>) -> Result<Volume, IoError> {
    let mut bytes = Bytes::new(source, label);
    let header = read_header(&mut bytes)?;
    let values = if header.single {
        VolumeValues::F32(read_values(&mut bytes, &header)?)
    } else {
        VolumeValues::F64(read_values(&mut bytes, &header)?)
    };
    let volume = Volume::new(header.shape, [0.0; 3], UNIT_STEPS, values);
    volume.map_err(|error| refuse(&bytes, header.shape_at, error))
}

fn refuse<R: Read>(bytes: &Bytes<R>, offset: u64, source: VolumeError) -> IoError {
    IoError::Volume {
        file: bytes.file().to_owned(),
        place: Place::Byte(offset),
        source: Box::new(source),
    }
}

struct Header {
    single: bool,
    fortran: bool,
    shape: [usize; 3],
    /// Where the shape stands.
    shape_at: u64,
}

fn ended<R: Read>(bytes: &Bytes<R>, expected: impl Into<String>) -> IoError {
    bytes.unexpected(bytes.offset(), "the end of the file", expected)
}

fn read_header<R: Read>(bytes: &mut Bytes<R>) -> Result<Header, IoError> {
    let Some(magic) = bytes.array::<6>()? else {
        return Err(ended(
            bytes,
            "the six bytes \\x93NUMPY that every .npy file begins with",
        ));
    };
    if magic != MAGIC {
        let found = String::from_utf8_lossy(&magic).escape_debug().to_string();
        return Err(bytes.unexpected(0, found, "\\x93NUMPY, which every .npy file begins with"));
    }
    let Some([major, minor]) = bytes.array::<2>()? else {
        return Err(ended(bytes, "the version of the format"));
    };
    let length = "the length of the header";
    let count = match (major, minor) {
        (1, 0) => bytes.array()?.map(|b| u64::from(u16::from_le_bytes(b))),
        (2 | 3, 0) => bytes.array()?.map(|b| u64::from(u32::from_le_bytes(b))),
        _ => return Err(bytes.unexpected(6, format!("version {major}.{minor}"), "version 1.0, 2.0 or 3.0")),
    };
    let count = count.ok_or_else(|| ended(bytes, length))?;
    if count > LONGEST_HEADER {
        let expected = format!("a header of at most {LONGEST_HEADER} bytes");
        return Err(bytes.unexpected(8, format!("{count} bytes"), expected));
    }
    let start = bytes.offset();
    let mut text = Vec::new();
    if (bytes.read_up_to(count, &mut text)? as u64) < count {
        return Err(ended(bytes, format!("a header of {count} bytes")));
    }
    let mut dictionary = Dictionary { text: &text, at: 0 };
    let header = dictionary.read().map_err(|wrong| {
        let found = String::from_utf8_lossy(&text[wrong.at..]).into_owned();
        let found = match excerpt(&found) {
            blank if blank.is_empty() => "the end of the header".to_owned(),
            text => text,
        };
        bytes.unexpected(start + wrong.at as u64, found, wrong.expected)
    })?;
    let shape_at = start + header.shape_at;
    let points = points(header.shape).and_then(check_limit);
    points.map_err(|error| refuse(bytes, shape_at, error))?;
    Ok(Header { shape_at, ..header })
}

fn read_values<R: Read, T: Number>(bytes: &mut Bytes<R>, header: &Header) -> Result<Vec<T>, IoError> {
    let size = size_of::<T>();
    let refused = |bytes: &Bytes<R>, error| refuse(bytes, header.shape_at, error);
    let count = points(header.shape).map_err(|error| refused(bytes, error))?;
    let mut values = Growing::new(count).map_err(|error| refused(bytes, error))?;
    let mut piece = Vec::with_capacity(PIECE);
    while values.len() < count {
        let wanted = PIECE.min((count - values.len()) * size);
        let found = bytes.read_up_to(wanted as u64, &mut piece)?;
        if found < wanted {
            let whole = values.len() + found / size;
            let expected = format!("{count} values of {size} bytes; {whole} are there");
            return Err(ended(bytes, expected));
        }
        for own in piece.chunks_exact(size) {
            let pushed = values.push(T::from_bytes(own));
            pushed.map_err(|error| refused(bytes, error))?;
        }
    }
    if bytes.read_up_to(1, &mut piece)? > 0 {
        let expected = format!("the end of the file after {count} values");
        return Err(bytes.unexpected(bytes.offset() - 1, "another byte", expected));
    }
    let values = values.finish();
    if !header.fortran {
        return Ok(values);
    }
    let [nx, ny, nz] = header.shape;
    let mut turned = Vec::new();
    reserve(&mut turned, count).map_err(|error| refused(bytes, error))?;
    for x in 0..nx {
        for y in 0..ny {
            turned.extend((0..nz).map(|z| values[(z * ny + y) * nx + x]));
        }
    }
    Ok(turned)
}

/// A parser of the dictionary with the three entries that NumPy writes.
struct Dictionary<'a> {
    text: &'a [u8],
    at: usize,
}

/// What is wrong, and where in the header.
struct Wrong {
    at: usize,
    expected: &'static str,
}

impl Dictionary<'_> {
    fn read(&mut self) -> Result<Header, Wrong> {
        let (mut single, mut fortran, mut shape) = (None, None, None);
        self.need(b'{', "a dictionary in braces")?;
        while !self.take(b'}') {
            self.blanks();
            let key_at = self.at;
            const KEYS: &str = "'descr', 'fortran_order' or 'shape', each once";
            let key = self.quoted(KEYS)?;
            self.need(b':', "a colon")?;
            self.blanks();
            let wrong = Wrong {
                at: key_at,
                expected: KEYS,
            };
            match key.as_str() {
                "descr" if single.is_none() => single = Some(self.description()?),
                "fortran_order" if fortran.is_none() => fortran = Some(self.boolean()?),
                "shape" if shape.is_none() => shape = Some((self.at, self.shape()?)),
                _ => return Err(wrong),
            }
            if !self.take(b',') {
                self.need(b'}', "a comma or a closing brace")?;
                break;
            }
        }
        let missing = |expected| Wrong {
            at: self.at,
            expected,
        };
        let (shape_at, shape) = shape.ok_or_else(|| missing("an entry 'shape' before the closing brace"))?;
        Ok(Header {
            single: single.ok_or_else(|| missing("an entry 'descr' before the closing brace"))?,
            fortran: fortran.ok_or_else(|| missing("an entry 'fortran_order' before the closing brace"))?,
            shape,
            shape_at: shape_at as u64,
        })
    }

    fn blanks(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        self.blanks();
        let there = self.text.get(self.at) == Some(&byte);
        self.at += usize::from(there);
        there
    }

    fn need(&mut self, byte: u8, expected: &'static str) -> Result<(), Wrong> {
        if self.take(byte) {
            return Ok(());
        }
        Err(Wrong {
            at: self.at,
            expected,
        })
    }

    fn quoted(&mut self, expected: &'static str) -> Result<String, Wrong> {
        let wrong = Wrong {
            at: self.at,
            expected,
        };
        let Some(&quote @ (b'\'' | b'"')) = self.text.get(self.at) else {
            return Err(wrong);
        };
        let rest = &self.text[self.at + 1..];
        let end = rest.iter().position(|byte| *byte == quote).ok_or(wrong)?;
        self.at += end + 2;
        Ok(String::from_utf8_lossy(&rest[..end]).into_owned())
    }

    /// Whether values are in single precision.
    fn description(&mut self) -> Result<bool, Wrong> {
        let at = self.at;
        const TYPES: &str = "type '<f4' or '<f8', little-endian real numbers";
        match self.quoted(TYPES)?.as_str() {
            "<f4" => Ok(true),
            "<f8" => Ok(false),
            _ => Err(Wrong { at, expected: TYPES }),
        }
    }

    fn boolean(&mut self) -> Result<bool, Wrong> {
        for (word, value) in [("True", true), ("False", false)] {
            if self.text[self.at..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(value);
            }
        }
        let expected = "True or False";
        Err(Wrong {
            at: self.at,
            expected,
        })
    }

    fn shape(&mut self) -> Result<[usize; 3], Wrong> {
        let start = self.at;
        const THREE: &str = "a shape of three axes, such as (10, 20, 30)";
        self.need(b'(', THREE)?;
        let mut shape = Vec::new();
        while !self.take(b')') {
            let at = self.at;
            let digits = self.text[at..].iter().take_while(|byte| byte.is_ascii_digit());
            self.at += digits.count();
            let count = std::str::from_utf8(&self.text[at..self.at]).unwrap_or_default();
            let expected = "a number of points that a machine can address";
            shape.push(count.parse().map_err(|_| Wrong { at, expected })?);
            // Python 2 wrote long integers so.
            let _ = self.take(b'L');
            if !self.take(b',') {
                self.need(b')', "a comma or a closing parenthesis")?;
                break;
            }
        }
        let expected = THREE;
        shape.try_into().map_err(|_| Wrong { at: start, expected })
    }
}
