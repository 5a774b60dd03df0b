//! [`Surface`]: triangles with common vertices.

use std::collections::HashMap;
use std::io::Write;

use crate::error::{IoError, Place};
use crate::output::Output;

/// Triangles with common vertices. Seen from outside, the corners of a triangle run counterclockwise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surface {
    /// Places of the vertices.
    pub vertices: Vec<[f32; 3]>,
    /// For each vertex a vector of length 1 that points outwards.
    pub normals: Vec<[f32; 3]>,
    /// The numbers of three vertices each.
    pub triangles: Vec<[u32; 3]>,
}

impl Surface {
    /// The sum of the areas of the triangles.
    pub fn area(&self) -> f64 {
        let area = |[a, b, c]: [[f64; 3]; 3]| {
            let n = cross(minus(b, a), minus(c, a));
            0.5 * dot(n, n).sqrt()
        };
        self.corners().map(area).sum()
    }

    /// The volume inside a closed surface; negative where it is turned inside out.
    pub fn enclosed_volume(&self) -> f64 {
        // About the first vertex, so that surfaces far from the origin lose no digits.
        let origin = self.vertices.first().map_or([0.0; 3], |v| v.map(f64::from));
        let six = |corners: [[f64; 3]; 3]| {
            let [a, b, c] = corners.map(|p| minus(p, origin));
            dot(a, cross(b, c))
        };
        self.corners().map(six).sum::<f64>() / 6.0
    }

    /// Whether every edge belongs to two triangles that run through it in opposite directions.
    pub fn is_closed(&self) -> bool {
        let mut edges: HashMap<[u32; 2], u32> = HashMap::new();
        for &[a, b, c] in &self.triangles {
            for edge in [[a, b], [b, c], [c, a]] {
                *edges.entry(edge).or_default() += 1;
            }
        }
        let mut all = edges.iter();
        all.all(|(&[a, b], &count)| count == 1 && edges.get(&[b, a]) == Some(&1))
    }

    /// The corners of each triangle; triangles that name no vertex are passed over.
    fn corners(&self) -> impl Iterator<Item = [[f64; 3]; 3]> {
        self.triangles.iter().filter_map(|triangle| {
            let place = |n: u32| self.vertices.get(n as usize).map(|v| v.map(f64::from));
            Some([place(triangle[0])?, place(triangle[1])?, place(triangle[2])?])
        })
    }

    /// What every format asks of a surface.
    pub(super) fn check<W: Write>(&self, out: &Output<W>) -> Result<(), IoError> {
        let (expected, found) = (self.vertices.len(), self.normals.len());
        if expected != found {
            return Err(IoError::AtomCountMismatch {
                file: out.file.clone(),
                what: "normals of vertices",
                expected,
                found,
            });
        }
        let infinite = |v: &[f32; 3]| v.iter().any(|x| !x.is_finite());
        let both = self.vertices.iter().zip(&self.normals);
        for (number, (vertex, normal)) in both.enumerate() {
            if let Some(vector) = [vertex, normal].into_iter().find(|v| infinite(v)) {
                return Err(IoError::NotFinite {
                    file: out.file.clone(),
                    place: Place::Vertex(number),
                    value: format!("{vector:?}"),
                });
            }
        }
        for (number, triangle) in self.triangles.iter().enumerate() {
            if let Some(vertex) = triangle.iter().find(|&&n| n as usize >= expected) {
                let limit = format!("{expected} vertices, counted from 0");
                return Err(out.too_large(Place::Triangle(number), vertex, limit));
            }
        }
        Ok(())
    }
}

fn minus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The tetrahedron of the origin and the ends of the unit vectors.
    pub(crate) fn tetrahedron() -> Surface {
        Surface {
            vertices: vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            normals: vec![
                [-1.0, 0.0, 0.0],
                [1.0, 0.0, 0.0],
                [0.0, 1.0, 0.0],
                [0.0, 0.0, 1.0],
            ],
            triangles: vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]],
        }
    }

    #[test]
    fn measures_of_a_tetrahedron() {
        let mut surface = tetrahedron();
        assert!((surface.area() - 1.5 - 0.75_f64.sqrt()).abs() < 1e-12);
        assert!((surface.enclosed_volume() - 1.0 / 6.0).abs() < 1e-12);
        assert!(surface.is_closed());
        surface.triangles[3] = [1, 3, 2];
        assert!(!surface.is_closed());
        surface.triangles.truncate(3);
        assert!(!surface.is_closed());
    }

    #[test]
    fn unsound_surfaces_are_refused() {
        let refused = |change: fn(&mut Surface)| {
            let mut surface = tetrahedron();
            change(&mut surface);
            let out = Output::new(Vec::new(), "a.ply");
            surface.check(&out).unwrap_err().to_string()
        };
        let index = refused(|s| s.triangles[2][1] = 4);
        assert_eq!(
            index,
            "a.ply, triangle 2: 4 does not fit the format (4 vertices, counted from 0)"
        );
        let infinite = refused(|s| s.vertices[3][0] = f32::INFINITY);
        assert_eq!(
            infinite,
            "a.ply, vertex 3: `[inf, 0.0, 1.0]` is not a finite number"
        );
        let normals = refused(|s| s.normals.truncate(1));
        assert_eq!(normals, "a.ply: normals of vertices: expected 4, found 1");
    }
}
