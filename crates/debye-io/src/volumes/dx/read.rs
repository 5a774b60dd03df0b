//! The reader of OpenDX files.

use std::io::BufRead;

use super::words::{Words, number_of};
use crate::error::IoError;
use crate::volumes::number::{Growing, Number, check_limit};
use crate::volumes::volume::{Volume, VolumeError, VolumeValues, check_geometry, points};

/// Reads the one map of an OpenDX file, which messages call `label`. Lengths stay those of the file, Å by custom.
///
/// Values of type `float` are kept in single precision, those of type `double` or `int` in double precision. The
/// title is the first comment that says something.
///
/// # Errors
/// [`IoError::Parse`], [`IoError::NotFinite`] and [`IoError::Volume`] name the line. NaN and infinities, binary values, arrays
/// of vectors and grids that are not regular are refused; so are more than [`LARGEST_READ`](crate::volumes::LARGEST_READ) points.
pub fn read_dx(source: impl BufRead, label: impl Into<String>) -> Result<Volume, IoError> {
    let mut words = Words::new(source, label);
    let mut parts = Parts::default();
    const STATEMENT: &str = "`object`, `attribute`, `component` or the end of the file";
    let mut after_array = None;
    while words.advance()? {
        if words.is("object") {
            read_object(&mut words, &mut parts)?;
        } else if words.is("attribute") {
            words.need("the name of an attribute")?;
            words.need("`string`, `number` or `value`")?;
            words.need("the value of an attribute")?;
        } else if words.is("component") {
            words.need("the name of a component")?;
            words.need("`value` or the name of an object")?;
            if words.is("value") {
                words.need("the name of an object")?;
            }
        } else if words.is("end") {
            break;
        } else if let Some(count) = after_array {
            let expected = format!("{STATEMENT} after the {count} values of the array");
            return Err(words.unexpected(expected));
        } else {
            return Err(words.unexpected(STATEMENT));
        }
        after_array = parts.array.as_ref().map(|array| array.values.len());
    }
    let missing = |what: &str| words.parse_error("the end of the file", what);
    let grid = parts
        .grid
        .ok_or_else(|| missing("an `object` of class `gridpositions`"))?;
    let array = parts
        .array
        .ok_or_else(|| missing("an `object` of class `array`"))?;
    let volume = Volume::new(grid.shape, grid.origin, grid.steps, array.values);
    let volume = volume.map_err(|error| words.refuse_at(array.line, error))?;
    Ok(volume.with_title(words.title()))
}

/// What has been read so far.
#[derive(Default)]
struct Parts {
    grid: Option<Grid>,
    /// Counts of the object of class gridconnections, which must be those of the grid.
    connections: Option<[usize; 3]>,
    array: Option<Array>,
}

struct Grid {
    shape: [usize; 3],
    origin: [f64; 3],
    steps: [[f64; 3]; 3],
}

struct Array {
    /// Where the number of values stands.
    line: usize,
    values: VolumeValues,
}

fn read_object<R: BufRead>(words: &mut Words<R>, parts: &mut Parts) -> Result<(), IoError> {
    words.need("the number or name of an object")?;
    words.keyword("class")?;
    words.need("the class of an object")?;
    if words.is("gridpositions") {
        if parts.grid.is_some() {
            return Err(words.unexpected("one object of this class, not two"));
        }
        let shape = read_counts(words)?;
        agree(words, shape, parts.connections)?;
        parts.grid = Some(read_grid(words, shape)?);
    } else if words.is("gridconnections") {
        let shape = read_counts(words)?;
        agree(words, shape, parts.grid.as_ref().map(|grid| grid.shape))?;
        parts.connections = Some(shape);
    } else if words.is("array") {
        if parts.array.is_some() {
            return Err(words.unexpected("one object of this class, not two"));
        }
        let shape = parts.grid.as_ref().map(|grid| grid.shape);
        parts.array = Some(read_array(words, shape)?);
    } else if !words.is("field") {
        let known =
            "class `gridpositions`, `gridconnections`, `array` or `field`, those of a map on a regular grid";
        return Err(words.unexpected(known));
    }
    Ok(())
}

/// `counts 2 3 4`.
fn read_counts<R: BufRead>(words: &mut Words<R>) -> Result<[usize; 3], IoError> {
    words.keyword("counts")?;
    let mut shape = [0; 3];
    for count in &mut shape {
        *count = words.count("a number of points along each of three axes")?;
    }
    let checked = points(shape).and_then(check_limit);
    checked.map_err(|error| words.refuse(error))?;
    Ok(shape)
}

/// Refuses two grids in one file.
fn agree<R: BufRead>(words: &Words<R>, shape: [usize; 3], other: Option<[usize; 3]>) -> Result<(), IoError> {
    match other {
        Some(other) if other != shape => {
            let [x, y, z] = shape;
            let [a, b, c] = other;
            let expected = format!("counts {a} {b} {c}, those of the other object of the grid");
            Err(words.parse_error(&format!("counts {x} {y} {z}"), expected))
        }
        _ => Ok(()),
    }
}

/// `origin x y z`, and three of `delta x y z`.
fn read_grid<R: BufRead>(words: &mut Words<R>, shape: [usize; 3]) -> Result<Grid, IoError> {
    words.keyword("origin")?;
    let origin = words.vector("three coordinates of the origin")?;
    let mut steps = [[0.0; 3]; 3];
    for step in &mut steps {
        words.keyword("delta")?;
        *step = words.vector("three coordinates of a step")?;
    }
    check_geometry(shape, origin, steps).map_err(|error| words.refuse(error))?;
    Ok(Grid { shape, origin, steps })
}

/// `type double rank 0 items 8 data follows`, and the values.
fn read_array<R: BufRead>(words: &mut Words<R>, shape: Option<[usize; 3]>) -> Result<Array, IoError> {
    const WORDS: &str = "`type`, `rank`, `items` or `data follows`";
    let mut single = false;
    let mut items = None;
    loop {
        words.need(WORDS)?;
        if words.is("type") {
            const TYPES: &str = "type `double`, `float` or `int`";
            words.need(TYPES)?;
            if words.is("signed") || words.is("unsigned") {
                words.need(TYPES)?;
            }
            single = words.is("float");
            if !(single || words.is("double") || words.is("int")) {
                return Err(words.unexpected(TYPES));
            }
        } else if words.is("category") {
            words.keyword("real")?;
        } else if words.is("rank") {
            let expected = "rank 0: one number per point";
            if words.count(expected)? != 0 {
                return Err(words.unexpected(expected));
            }
        } else if words.is("items") {
            let expected = "the number of values";
            let count = words.count(expected)?;
            if let Some(shape) = shape {
                let expected = points(shape).map_err(|error| words.refuse(error))?;
                if count != expected {
                    let found = count;
                    let error = VolumeError::ValueCount {
                        shape,
                        expected,
                        found,
                    };
                    return Err(words.refuse(error));
                }
            }
            check_limit(count).map_err(|error| words.refuse(error))?;
            items = Some((count, words.line()));
        } else if ["binary", "ieee", "xdr"].iter().any(|binary| words.is(binary)) {
            return Err(words.unexpected("values as text; binary values of OpenDX are not read"));
        } else if words.is("data") {
            let expected = "`follows`: values in other files, or at an offset, are not read";
            words.need(expected)?;
            if !words.is("follows") {
                return Err(words.unexpected(expected));
            }
            break;
        } else if !["text", "ascii", "msb", "lsb"].iter().any(|word| words.is(word)) {
            return Err(words.unexpected(WORDS));
        }
    }
    let Some((count, line)) = items else {
        return Err(words.unexpected("`items` with the number of values before `data follows`"));
    };
    let values = if single {
        VolumeValues::F32(read_values(words, count)?)
    } else {
        VolumeValues::F64(read_values(words, count)?)
    };
    Ok(Array { line, values })
}

fn read_values<R: BufRead, T: Number>(words: &mut Words<R>, count: usize) -> Result<Vec<T>, IoError> {
    let mut values = Growing::new(count).map_err(|error| words.refuse(error))?;
    while values.len() < count {
        let expected = |values: &Growing<T>| format!("value {} of {count}", values.len() + 1);
        if !words.advance()? {
            return Err(words.parse_error("the end of the file", expected(&values)));
        }
        let text = words.text();
        let Some(value) = number_of::<T>(&text) else {
            return Err(words.unexpected(expected(&values)));
        };
        if !value.to_f64().is_finite() {
            return Err(words.not_finite());
        }
        values.push(value).map_err(|error| words.refuse(error))?;
    }
    Ok(values.finish())
}
