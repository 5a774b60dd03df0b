//! The writer of OpenDX files.

use std::fmt::Write as _;
use std::io::Write;

use crate::error::IoError;
use crate::output::{Output, one_line};
use crate::volumes::number::{Number, PIECE, put_scientific};
use crate::volumes::volume::{Volume, VolumeValues};

/// Writes an OpenDX file to `sink`, which messages call `label`. The volume is to be in Å.
///
/// The array is said to be of type `double` in either precision, since APBS reads no other. Values of single precision
/// have nine digits, which give back the same number.
///
/// # Errors
/// [`IoError::Io`].
pub fn write_dx(sink: impl Write, label: impl Into<String>, volume: &Volume) -> Result<(), IoError> {
    let mut out = Output::new(sink, label);
    out.write(head(volume).as_bytes())?;
    match volume.values() {
        VolumeValues::F32(values) => put_values(&mut out, values)?,
        VolumeValues::F64(values) => put_values(&mut out, values)?,
    }
    out.write(
        b"attribute \"dep\" string \"positions\"\n\
        object \"regular positions regular connections\" class field\n\
        component \"positions\" value 1\n\
        component \"connections\" value 2\n\
        component \"data\" value 3\n",
    )?;
    out.flush()
}

fn head(volume: &Volume) -> String {
    let mut text = String::new();
    let title = one_line(volume.title());
    // Writing to a string cannot fail.
    if !title.is_empty() {
        let _ = writeln!(text, "# {title}");
    }
    let [x, y, z] = volume.shape();
    let _ = writeln!(text, "object 1 class gridpositions counts {x} {y} {z}");
    let origin = std::iter::once(("origin", volume.origin()));
    for (word, [x, y, z]) in origin.chain(volume.steps().map(|step| ("delta", step))) {
        let _ = writeln!(text, "{word} {x:?} {y:?} {z:?}");
    }
    let _ = writeln!(text, "object 2 class gridconnections counts {x} {y} {z}");
    let items = volume.values().len();
    let _ = writeln!(
        text,
        "object 3 class array type double rank 0 items {items} data follows"
    );
    text
}

fn put_values<W: Write, T: Number>(out: &mut Output<W>, values: &[T]) -> Result<(), IoError> {
    const PER_LINE: usize = 3;
    let mut text = String::with_capacity(PIECE + 256);
    for line in values.chunks(PER_LINE) {
        for (column, value) in line.iter().enumerate() {
            if column > 0 {
                text.push(' ');
            }
            put_scientific(&mut text, *value);
        }
        text.push('\n');
        if text.len() >= PIECE {
            out.write(text.as_bytes())?;
            text.clear();
        }
    }
    out.write(text.as_bytes())
}
