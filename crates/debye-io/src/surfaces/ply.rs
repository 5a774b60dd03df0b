//! PLY 1.0, binary and little endian (Turk, "The PLY Polygon File Format", 1994).
//!
//! Written by hand: a header of text, then the numbers as they are.

use std::io::Write;

use super::{PIECE, Surface};
use crate::error::IoError;
use crate::output::Output;

/// Writes a surface to `sink`, which messages call `label`.
///
/// # Errors
/// Before anything is written: [`IoError::NotFinite`] for a vertex or normal, [`IoError::TooLarge`] for a triangle of a
/// vertex that is none, [`IoError::AtomCountMismatch`] unless every vertex has a normal. [`IoError::Io`].
pub fn write_ply(sink: impl Write, label: impl Into<String>, surface: &Surface) -> Result<(), IoError> {
    let mut out = Output::new(sink, label);
    surface.check(&out)?;
    let properties = ["x", "y", "z", "nx", "ny", "nz"].map(|name| format!("property float {name}\n"));
    let header = format!(
        "ply\nformat binary_little_endian 1.0\nelement vertex {}\n{}element face {}\n\
         property list uchar uint vertex_indices\nend_header\n",
        surface.vertices.len(),
        properties.concat(),
        surface.triangles.len(),
    );
    let mut bytes = header.into_bytes();
    for (vertex, normal) in surface.vertices.iter().zip(&surface.normals) {
        bytes.extend(vertex.iter().chain(normal).flat_map(|x| x.to_le_bytes()));
        hand_over(&mut bytes, &mut out)?;
    }
    for triangle in &surface.triangles {
        bytes.push(3);
        bytes.extend(triangle.iter().flat_map(|n| n.to_le_bytes()));
        hand_over(&mut bytes, &mut out)?;
    }
    out.write(&bytes)?;
    out.flush()
}

fn hand_over<W: Write>(bytes: &mut Vec<u8>, out: &mut Output<W>) -> Result<(), IoError> {
    if bytes.len() >= PIECE {
        out.write(bytes)?;
        bytes.clear();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::surface::tests::tetrahedron;
    use super::*;

    #[test]
    fn bytes_after_the_header() {
        let mut file = Vec::new();
        write_ply(&mut file, "a.ply", &tetrahedron()).unwrap();
        let end = b"end_header\n";
        let start = file.windows(end.len()).position(|w| w == end).unwrap() + end.len();
        let header = std::str::from_utf8(&file[..start]).unwrap();
        assert!(
            header.starts_with("ply\nformat binary_little_endian 1.0\nelement vertex 4\nproperty float x\n")
        );
        assert!(header.contains("property float nz\nelement face 4\n"));
        let body = &file[start..];
        assert_eq!(body.len(), 4 * 24 + 4 * 13);
        let second: Vec<f32> = body[24..48]
            .chunks(4)
            .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .collect();
        assert_eq!(second, [1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
        assert_eq!(body[96..109], [3, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0]);
    }
}
