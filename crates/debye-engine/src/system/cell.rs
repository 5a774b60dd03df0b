//! [`Cell`]: the box, orthorhombic or triclinic, periodic along any of its vectors.

use crate::expr::{Mat3, Vec3};

/// A simulation cell. Vector a lies along x, b in the xy plane; the origin is a corner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// Rows are the vectors a, b, c.
    vectors: Mat3<f64>,
    inverse: Mat3<f64>,
    /// Along which vectors the cell repeats.
    periodic: [bool; 3],
}

/// Why a cell was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CellError {
    /// A length or the volume is not positive and finite.
    #[error("cell vectors {0:?} span no volume; expected finite vectors with a·(b×c) > 0")]
    NoVolume([[f64; 3]; 3]),
    /// Not in the standard orientation.
    #[error("cell vectors {0:?} are not in standard orientation; expected a along x and b in the xy plane")]
    Orientation([[f64; 3]; 3]),
}

impl Cell {
    /// An orthorhombic periodic cell.
    pub fn orthorhombic(lengths: [f64; 3]) -> Result<Self, CellError> {
        let [x, y, z] = lengths;
        Self::triclinic([[x, 0.0, 0.0], [0.0, y, 0.0], [0.0, 0.0, z]])
    }

    /// A periodic cell from its vectors a, b, c.
    pub fn triclinic(vectors: [[f64; 3]; 3]) -> Result<Self, CellError> {
        let [a, b, c] = vectors.map(Vec3::from);
        let matrix = Mat3::from_rows(a, b, c);
        let volume = matrix.determinant();
        if !(volume.is_finite() && volume > 0.0) {
            return Err(CellError::NoVolume(vectors));
        }
        let tiny = 1e-6 * a.norm().max(b.norm()).max(c.norm());
        if a.y.abs() > tiny || a.z.abs() > tiny || b.z.abs() > tiny {
            return Err(CellError::Orientation(vectors));
        }
        let matrix = Mat3::from_rows(Vec3::new(a.x, 0.0, 0.0), Vec3::new(b.x, b.y, 0.0), c);
        Ok(Self {
            vectors: matrix,
            inverse: matrix.inverse(),
            periodic: [true; 3],
        })
    }

    /// The same cell, repeating only along the vectors marked.
    pub fn with_periodicity(mut self, periodic: [bool; 3]) -> Self {
        self.periodic = periodic;
        self
    }

    /// Rows are the vectors a, b, c.
    #[inline]
    pub fn vectors(&self) -> Mat3<f64> {
        self.vectors
    }

    /// The vectors as arrays.
    pub fn to_arrays(&self) -> [[f64; 3]; 3] {
        [
            self.vectors.x.to_array(),
            self.vectors.y.to_array(),
            self.vectors.z.to_array(),
        ]
    }

    /// Along which vectors the cell repeats.
    #[inline]
    pub fn periodic(&self) -> [bool; 3] {
        self.periodic
    }

    /// Whether a, b, c are at right angles.
    #[inline]
    pub fn is_orthorhombic(&self) -> bool {
        self.vectors.y.x == 0.0 && self.vectors.z.x == 0.0 && self.vectors.z.y == 0.0
    }

    /// Volume.
    #[inline]
    pub fn volume(&self) -> f64 {
        self.vectors.x.x * self.vectors.y.y * self.vectors.z.z
    }

    /// Whether its volume is that of what it holds: only where it repeats in all directions. An open direction ends
    /// wherever somebody put the face, so that pressure and density would be arbitrary.
    #[inline]
    pub fn has_volume(&self) -> bool {
        self.periodic == [true; 3]
    }

    /// Distances between opposite faces.
    pub fn heights(&self) -> Vec3<f64> {
        let columns = self.inverse.transpose();
        Vec3::new(
            1.0 / columns.x.norm(),
            1.0 / columns.y.norm(),
            1.0 / columns.z.norm(),
        )
    }

    /// Unit vector across the faces of a (0), b (1) or c (2).
    pub fn normal(&self, axis: usize) -> Vec3<f64> {
        let columns = self.inverse.transpose();
        let across = [columns.x, columns.y, columns.z][axis];
        across * across.norm().recip()
    }

    /// Fractional coordinates.
    #[inline(always)]
    pub fn fractional(&self, r: Vec3<f64>) -> Vec3<f64> {
        self.inverse.combine(r)
    }

    /// Position from fractional coordinates.
    #[inline(always)]
    pub fn position(&self, s: Vec3<f64>) -> Vec3<f64> {
        self.vectors.combine(s)
    }

    /// The lattice vector n·(a, b, c).
    #[inline(always)]
    pub fn translation(&self, n: [i32; 3]) -> Vec3<f64> {
        self.vectors
            .combine(Vec3::new(f64::from(n[0]), f64::from(n[1]), f64::from(n[2])))
    }

    /// The image of `r` inside the cell, and how many cells it was moved back along each vector.
    #[inline(always)]
    pub fn wrap(&self, r: Vec3<f64>) -> (Vec3<f64>, [i32; 3]) {
        let s = self.fractional(r);
        let outside = |axis: usize| self.periodic[axis] && !(0.0..1.0).contains(&s[axis]);
        if !(outside(0) || outside(1) || outside(2)) {
            return (r, [0; 3]);
        }
        let n = std::array::from_fn(|axis| {
            if self.periodic[axis] {
                s[axis].floor() as i32
            } else {
                0
            }
        });
        (r - self.translation(n), n)
    }

    /// The shortest image of a difference vector, in any cell.
    #[inline]
    pub fn minimum_image(&self, d: Vec3<f64>) -> Vec3<f64> {
        let (a, b, c) = (self.vectors.x, self.vectors.y, self.vectors.z);
        // The last vector first: those before it have no component along its height.
        let along = |d: Vec3<f64>, axis: usize, v: Vec3<f64>| {
            if self.periodic[axis] {
                d - v * (d[axis] / v[axis]).round()
            } else {
                d
            }
        };
        let near = along(along(along(d, 2, c), 1, b), 0, a);
        if self.is_orthorhombic() {
            return near;
        }
        let mut best = near;
        let reach = |axis: usize, height: f64| {
            if self.periodic[axis] {
                (near.norm() / height).ceil() as i32
            } else {
                0
            }
        };
        for k in -reach(2, c.z)..=reach(2, c.z) {
            let of_c = along(near + c * f64::from(k), 1, b);
            for j in -reach(1, b.y)..=reach(1, b.y) {
                let other = along(of_c + b * f64::from(j), 0, a);
                if other.norm2() < best.norm2() {
                    best = other;
                }
            }
        }
        best
    }

    /// The cell with every vector scaled along x, y and z.
    pub fn scaled(&self, factors: Vec3<f64>) -> Self {
        let scale = |v: Vec3<f64>| v.scale(factors);
        let vectors = Mat3::from_rows(
            scale(self.vectors.x),
            scale(self.vectors.y),
            scale(self.vectors.z),
        );
        Self {
            vectors,
            inverse: vectors.inverse(),
            periodic: self.periodic,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_and_returns() {
        let cell = Cell::triclinic([[10.0, 0.0, 0.0], [1.7, 9.8, 0.0], [2.6, 0.4, 9.6]]).unwrap();
        let r = Vec3::new(-13.0, 25.0, 99.0);
        let (inside, n) = cell.wrap(r);
        let s = cell.fractional(inside);
        assert!(
            [s.x, s.y, s.z]
                .iter()
                .all(|&f| (-1e-12..1.0 + 1e-12).contains(&f))
        );
        assert!((inside + cell.translation(n) - r).norm() < 1e-12);
        assert!((cell.volume() - cell.vectors().determinant()).abs() < 1e-10);
    }

    #[test]
    fn the_shortest_image_does_not_depend_on_the_basis() {
        let reduced = Cell::triclinic([[10.0, 0.0, 0.0], [5.0, 10.0, 0.0], [1.0, -4.0, 9.0]]).unwrap();
        let skewed = Cell::triclinic([[10.0, 0.0, 0.0], [45.0, 10.0, 0.0], [-64.0, 26.0, 9.0]]).unwrap();
        let mut state = 1_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1_u64 << 53) as f64 * 200.0 - 100.0
        };
        for _ in 0..2000 {
            let d = Vec3::new(next(), next(), next());
            let (one, other) = (reduced.minimum_image(d).norm(), skewed.minimum_image(d).norm());
            let mut brute = f64::INFINITY;
            let s = reduced.fractional(d);
            for i in -3..=3 {
                for j in -3..=3 {
                    for k in -3..=3 {
                        let n = [
                            s.x.round() as i32 + i,
                            s.y.round() as i32 + j,
                            s.z.round() as i32 + k,
                        ];
                        brute = brute.min((d - reduced.translation(n)).norm());
                    }
                }
            }
            assert!(
                (one - brute).abs() < 1e-9 && (other - brute).abs() < 1e-9,
                "{one} {other} {brute}"
            );
        }
    }

    #[test]
    fn refuses_flat_and_turned_cells() {
        assert!(Cell::orthorhombic([1.0, 0.0, 1.0]).is_err());
        assert!(Cell::orthorhombic([1.0, f64::NAN, 1.0]).is_err());
        assert!(Cell::triclinic([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]).is_err());
    }
}
