//! [`isosurface`]: marching cubes (Lorensen & Cline 1987) with a table that is computed.
//!
//! On each face of a cube the lines of the surface follow from the signs of its four corners alone ([`cuts`]), so cubes
//! with a common face agree. The lines of the six faces close to polygons, whose triangles have no edge within a face
//! but those lines: every edge of the surface belongs to two triangles, ambiguous faces included.

use std::sync::LazyLock;

use debye_io::surfaces::Surface;
use debye_io::volumes::Volume;

use super::contour::cuts;

/// The edge of a cube from a corner along an axis, as 3 · corner + axis. Bit a of a corner is its end along axis a.
type Edge = u8;

const NONE: u32 = u32::MAX;
/// Values beyond these count as these, so that differences of them are finite.
const LARGEST: f64 = 1e300;

/// For each set of corners inside the triangles, as edges that hold their vertices.
static TRIANGLES: LazyLock<Vec<Vec<[Edge; 3]>>> = LazyLock::new(|| (0..=255).map(triangles).collect());

/// The surface where a volume has the value `level`, in the volume's unit of length.
///
/// Inside are values above a level that is positive or zero, and values below a negative one. Normals are those of the
/// field, from central differences; they and the triangles face outwards. The surface is closed except where it meets
/// the border of the grid or a value that is NaN. An axis of one point leaves no surface.
pub fn isosurface(volume: &Volume, level: f64) -> Surface {
    let [x, y, z] = volume.shape();
    if [x, y, z].contains(&1) || level.is_nan() {
        return Surface::default();
    }
    let mut march = March::new(volume, level);
    for i in 0..x - 1 {
        for j in 0..y - 1 {
            for k in 0..z - 1 {
                march.add_cube([i, j, k]);
            }
        }
        march.next_layer();
    }
    march.surface
}

/// The lines that cut the faces of a cube close to polygons; each becomes a fan of triangles.
fn triangles(inside: u8) -> Vec<[Edge; 3]> {
    let mut next = [None; 24];
    for ring in faces() {
        let edge = |side: usize| {
            let [a, b] = [ring[side], ring[(side + 1) % 4]];
            3 * a.min(b) + (a ^ b).ilog2() as u8
        };
        for (from, to) in cuts(ring.map(|corner| inside >> corner & 1 == 1)) {
            next[edge(from) as usize] = Some(edge(to));
        }
    }
    let mut fans = Vec::new();
    for first in 0..24 {
        let mut polygon: Vec<Edge> = Vec::new();
        let mut edge = first;
        while let Some(after) = next[edge].take() {
            polygon.push(edge as Edge);
            edge = after as usize;
        }
        // A fan from a vertex none of whose diagonals lies in a face; there always is one.
        let corners = polygon.len();
        let free = |start: &usize| {
            let at = |k: usize| polygon[(start + k) % corners];
            (2..corners - 1).all(|k| !in_one_face(at(0), at(k)))
        };
        if let Some(start) = (0..corners).find(free) {
            let at = |k: usize| polygon[(start + k) % corners];
            fans.extend((1..corners - 1).map(|k| [at(0), at(k), at(k + 1)]));
        }
    }
    fans
}

/// The corners of each face, counterclockwise seen from outside.
fn faces() -> impl Iterator<Item = [u8; 4]> {
    (0..6).map(|face| {
        let (axis, far) = (face / 2, face % 2);
        let [b, c] = [1 << ((axis + 1) % 3), 1 << ((axis + 2) % 3)];
        let ring = if far == 1 {
            [0, b, b | c, c]
        } else {
            [0, c, b | c, b]
        };
        ring.map(|corner| corner | far << axis)
    })
}

fn in_one_face(a: Edge, b: Edge) -> bool {
    (0..3).any(|axis| {
        let differ = ((a / 3) ^ (b / 3)) >> axis & 1 == 1;
        a % 3 != axis && b % 3 != axis && !differ
    })
}

struct March<'a> {
    volume: &'a Volume,
    level: f64,
    /// 1 where inside is above the level, −1 where it is below.
    sign: f64,
    /// Vectors whose sum, weighted by derivatives along the steps, points along the gradient.
    reciprocal: [[f64; 3]; 3],
    /// Whether the steps are left-handed.
    mirrored: bool,
    /// First index of the cubes of this layer.
    layer: usize,
    /// Vertices on the edges that begin in this layer of points and in the next, by axis.
    known: [Vec<[u32; 3]>; 2],
    surface: Surface,
}

impl<'a> March<'a> {
    fn new(volume: &'a Volume, level: f64) -> Self {
        let [_, y, z] = volume.shape();
        let steps = volume.steps();
        // Only directions count; near 1, products neither overflow nor vanish.
        let largest = steps.iter().flatten().fold(0.0, |m: f64, x| m.max(x.abs()));
        let [a, b, c] = steps.map(|step| step.map(|x| x / largest));
        let determinant = dot(a, cross(b, c));
        let turned = |v: [f64; 3]| v.map(|x| x * determinant.signum());
        March {
            volume,
            level,
            sign: if level < 0.0 { -1.0 } else { 1.0 },
            reciprocal: [cross(b, c), cross(c, a), cross(a, b)].map(turned),
            mirrored: determinant < 0.0,
            layer: 0,
            known: std::array::from_fn(|_| vec![[NONE; 3]; y * z]),
            surface: Surface::default(),
        }
    }

    fn value(&self, point: [usize; 3]) -> f64 {
        let value = self.volume.value(point).unwrap_or(f64::NAN);
        value.clamp(-LARGEST, LARGEST)
    }

    fn add_cube(&mut self, low: [usize; 3]) {
        let mut inside = 0;
        for corner in 0..8 {
            let value = self.value(moved(low, corner));
            if value.is_nan() {
                return;
            }
            inside |= u8::from(self.sign * value >= self.sign * self.level) << corner;
        }
        for triangle in &TRIANGLES[inside as usize] {
            let [a, b, c] = triangle.map(|edge| self.vertex(moved(low, edge / 3), (edge % 3) as usize));
            let triangle = if self.mirrored { [a, c, b] } else { [a, b, c] };
            self.surface.triangles.push(triangle);
        }
    }

    fn next_layer(&mut self) {
        self.layer += 1;
        self.known.swap(0, 1);
        self.known[1].fill([NONE; 3]);
    }

    /// The vertex on the edge from a point along an axis.
    fn vertex(&mut self, from: [usize; 3], axis: usize) -> u32 {
        let place = from[1] * self.volume.shape()[2] + from[2];
        let layer = from[0] - self.layer;
        if self.known[layer][place][axis] == NONE {
            self.known[layer][place][axis] = self.surface.vertices.len() as u32;
            self.add_vertex(from, axis);
        }
        self.known[layer][place][axis]
    }

    fn add_vertex(&mut self, from: [usize; 3], axis: usize) {
        let to = moved(from, 1 << axis);
        let [a, b] = [from, to].map(|point| self.value(point));
        let share = ((self.level - a) / (b - a)).clamp(0.0, 1.0);
        let mix = |a: [f64; 3], b: [f64; 3]| [0, 1, 2].map(|k| a[k] + share * (b[k] - a[k]));
        let position = mix(self.volume.position(from), self.volume.position(to));
        let mut along = mix(self.derivatives(from), self.derivatives(to));
        let mut largest = along.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        if largest < 1e-9 * (b - a).abs() {
            // The field is flat but for this edge.
            along = [0.0; 3];
            along[axis] = b - a;
            largest = (b - a).abs();
        }
        let outwards: [f64; 3] = std::array::from_fn(|k| {
            let part = |axis: usize| -self.sign * along[axis] / largest * self.reciprocal[axis][k];
            part(0) + part(1) + part(2)
        });
        let length = dot(outwards, outwards).sqrt();
        self.surface.vertices.push(position.map(|x| x as f32));
        self.surface.normals.push(outwards.map(|x| (x / length) as f32));
    }

    /// Differences per step at a point, from both sides where there are two.
    fn derivatives(&self, point: [usize; 3]) -> [f64; 3] {
        let here = self.value(point);
        std::array::from_fn(|axis| {
            let beside = |step: isize| {
                let mut beside = point;
                beside[axis] = beside[axis].wrapping_add_signed(step);
                Some(self.value(beside)).filter(|v| !v.is_nan())
            };
            match [beside(-1), beside(1)] {
                [Some(below), Some(above)] => 0.5 * above - 0.5 * below,
                [Some(below), None] => here - below,
                [None, Some(above)] => above - here,
                [None, None] => 0.0,
            }
        })
    }
}

/// The corner of a cube whose lowest point is `low`.
fn moved(low: [usize; 3], corner: u8) -> [usize; 3] {
    std::array::from_fn(|axis| low[axis] + usize::from(corner >> axis & 1))
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
mod tests {
    use std::f64::consts::PI;

    use super::*;

    const RADIUS: f64 = 7.3;
    const CUBIC: [[f64; 3]; 3] = [[0.5, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.5]];

    fn volume(steps: [[f64; 3]; 3], size: usize, value: impl Fn([f64; 3], usize) -> f64) -> Volume {
        let shape = [size; 3];
        let half = (size - 1) as f64 / 2.0;
        let origin = std::array::from_fn(|k| -half * (steps[0][k] + steps[1][k] + steps[2][k]));
        let count = size * size * size;
        let empty = Volume::new(shape, origin, steps, vec![0.0_f32; count]).unwrap();
        let point = |n: usize| empty.position([n / (size * size), n / size % size, n % size]);
        let values: Vec<f64> = (0..count).map(|n| value(point(n), n)).collect();
        Volume::new(shape, origin, steps, values).unwrap()
    }

    fn norm(v: [f64; 3]) -> f64 {
        dot(v, v).sqrt()
    }

    /// A sphere of a charge: area, volume, closed, normals and triangles outwards.
    fn check_sphere(steps: [[f64; 3]; 3], charge: f64, size: usize) {
        let surface = isosurface(&volume(steps, size, |p, _| charge / norm(p)), charge / RADIUS);
        let area = 4.0 * PI * RADIUS * RADIUS;
        assert!(
            (surface.area() / area - 1.0).abs() < 0.01,
            "{}",
            surface.area() / area
        );
        let ratio = surface.enclosed_volume() / (area * RADIUS / 3.0);
        assert!((ratio - 1.0).abs() < 0.01, "{ratio}");
        assert!(surface.is_closed());
        // Euler: a closed surface without handles has twice as many triangles as vertices, less four.
        assert_eq!(surface.triangles.len() + 4, 2 * surface.vertices.len());
        for (vertex, normal) in surface.vertices.iter().zip(&surface.normals) {
            let [vertex, normal] = [vertex, normal].map(|v| v.map(f64::from));
            assert!((norm(vertex) - RADIUS).abs() < 0.03, "{vertex:?}");
            assert!(dot(vertex, normal) > 0.995 * RADIUS, "{vertex:?} {normal:?}");
        }
    }

    #[test]
    fn spheres_of_charges() {
        check_sphere(CUBIC, 1.0, 37);
        check_sphere(CUBIC, -3.0, 37);
        let oblique = [[0.5, 0.0, 0.0], [0.2, 0.45, 0.0], [-0.15, 0.1, 0.5]];
        check_sphere(oblique, 1.0, 61);
        check_sphere(oblique, -1.0, 61);
        let [a, b, c] = oblique;
        check_sphere([b, a, c], 1.0, 61);
        check_sphere([a.map(|x| -x), b, c], -1.0, 61);
    }

    #[test]
    fn the_most_ambiguous_field_is_closed_too() {
        let border = |n: usize| [n / 400, n / 20 % 20, n % 20].iter().any(|k| [0, 19].contains(k));
        let noise = |n: usize| (n as f64 * 12.9898).sin() * 43_758.545_3;
        let value = |n: usize| {
            if border(n) {
                -1.0
            } else {
                2.0 * (noise(n) - noise(n).floor()) - 1.0
            }
        };
        for level in [0.1, 0.3, 0.6] {
            let surface = isosurface(&volume(CUBIC, 20, |_, n| value(n)), level);
            assert!(surface.triangles.len() > 5000 && surface.is_closed(), "{level}");
            assert!(surface.enclosed_volume() > 0.0);
        }
        let surface = isosurface(&volume(CUBIC, 20, |_, n| -value(n)), -0.3);
        assert!(surface.is_closed() && surface.enclosed_volume() > 0.0);
    }

    #[test]
    fn gaps_infinities_and_flat_grids() {
        let hole = |p: [f64; 3], _| if p[0] > 5.0 { f64::NAN } else { 1.0 / norm(p) };
        let open = isosurface(&volume(CUBIC, 37, hole), 1.0 / RADIUS);
        assert!(!open.triangles.is_empty() && !open.is_closed());
        let finite = |surface: &Surface| {
            let mut vectors = surface.vertices.iter().chain(&surface.normals).flatten();
            vectors.all(|x| x.is_finite())
        };
        assert!(finite(&open));
        let wild = |_, n| [f64::INFINITY, f64::NEG_INFINITY, 0.0, 1e300, -1e300][n * n % 7 % 5];
        let surface = isosurface(&volume(CUBIC, 9, wild), 0.5);
        assert!(finite(&surface) && !surface.triangles.is_empty());
        let flat = Volume::new([9, 1, 9], [0.0; 3], CUBIC, vec![1.0_f32; 81]).unwrap();
        for level in [0.5, 1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(isosurface(&flat, level), Surface::default());
        }
        assert_eq!(isosurface(&volume(CUBIC, 5, |_, _| 1.0), 1.0), Surface::default());
    }
}
