//! Wavefront OBJ: a line of text for each vertex, normal and triangle; vertices are counted from 1.

use std::fmt::Arguments;
use std::io::Write;

use super::{PIECE, Surface};
use crate::error::IoError;
use crate::output::Output;

/// Writes a surface to `sink`, which messages call `label`.
///
/// # Errors
/// As [`write_ply`](super::write_ply).
pub fn write_obj(sink: impl Write, label: impl Into<String>, surface: &Surface) -> Result<(), IoError> {
    let mut out = Output::new(sink, label);
    surface.check(&out)?;
    let mut text = Vec::with_capacity(PIECE + 256);
    let mut put = |line: Arguments<'_>| {
        // Writing to memory cannot fail.
        let _ = text.write_fmt(line);
        if text.len() < PIECE {
            return Ok(());
        }
        let written = out.write(&text);
        text.clear();
        written
    };
    for [x, y, z] in &surface.vertices {
        put(format_args!("v {x} {y} {z}\n"))?;
    }
    for [x, y, z] in &surface.normals {
        put(format_args!("vn {x} {y} {z}\n"))?;
    }
    for triangle in &surface.triangles {
        let [a, b, c] = triangle.map(|n| u64::from(n) + 1);
        put(format_args!("f {a}//{a} {b}//{b} {c}//{c}\n"))?;
    }
    out.write(&text)?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::super::surface::tests::tetrahedron;
    use super::*;

    #[test]
    fn lines_are_those_of_the_format() {
        let mut file = Vec::new();
        let mut surface = tetrahedron();
        surface.vertices[0] = [0.1, -1e-7, 16_777_216.0];
        write_obj(&mut file, "a.obj", &surface).unwrap();
        let text = String::from_utf8(file).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 12);
        assert_eq!(lines[0], "v 0.1 -0.0000001 16777216");
        assert_eq!(lines[4], "vn -1 0 0");
        assert_eq!(lines[8], "f 1//1 3//3 2//2");
    }
}
