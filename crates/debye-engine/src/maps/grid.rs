//! [`MapGrid`]: the points where a potential is wanted.

use super::MapError;
use crate::expr::Vec3;
use crate::system::Cell;

/// A regular grid of points along x, y and z. Lengths in nm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MapGrid {
    origin: Vec3<f64>,
    spacing: Vec3<f64>,
    shape: [usize; 3],
}

impl MapGrid {
    /// Points at `origin` + (i, j, k) × `spacing`.
    ///
    /// ```
    /// use debye::prelude::*;
    ///
    /// let grid = MapGrid::new([0.0; 3], [0.2; 3], [21, 21, 21])?;
    /// assert_eq!(grid.position([1, 0, 20]), Vec3::new(0.2, 0.0, 4.0));
    /// # Ok::<(), MapError>(())
    /// ```
    pub fn new(origin: [f64; 3], spacing: [f64; 3], shape: [usize; 3]) -> Result<Self, MapError> {
        if let Some(&bad) = spacing.iter().find(|s| !s.is_finite() || **s <= 0.0) {
            return Err(MapError::Spacing(bad));
        }
        let points = shape
            .iter()
            .try_fold(1_usize, |product, &n| product.checked_mul(n));
        if points.is_none_or(|points| points == 0 || points > isize::MAX as usize / 16) {
            return Err(MapError::Shape(shape));
        }
        let far = |k: usize| origin[k].abs() + spacing[k] * shape[k] as f64;
        if (0..3).any(|k| !far(k).is_finite()) {
            return Err(MapError::Origin(origin));
        }
        let vector = |v: [f64; 3]| Vec3::new(v[0], v[1], v[2]);
        Ok(Self {
            origin: vector(origin),
            spacing: vector(spacing),
            shape,
        })
    }

    /// Around positions, with so much room on every side.
    pub fn around(positions: &[Vec3<f64>], padding: f64, spacing: f64) -> Result<Self, MapError> {
        if positions.is_empty() {
            return Err(MapError::Empty);
        }
        if !padding.is_finite() || padding < 0.0 {
            return Err(MapError::Padding(padding));
        }
        let bounds = Bounds::of(positions);
        let shape = std::array::from_fn(|k| {
            let room = bounds.upper[k] - bounds.lower[k] + 2.0 * padding;
            // A length that is a whole number of spacings but for rounding needs no further point.
            ((room / spacing - 1e-9).ceil().max(0.0) as usize).saturating_add(1)
        });
        Self::new(bounds.lower.map(|x| x - padding), [spacing; 3], shape)
    }

    /// Over a periodic cell whose corner is at `corner`: points that repeat with the cell, at most `spacing` apart. Of a
    /// triclinic cell, over the upright box around it.
    pub fn of_cell(cell: &Cell, corner: [f64; 3], spacing: f64) -> Result<Self, MapError> {
        if !spacing.is_finite() || spacing <= 0.0 {
            return Err(MapError::Spacing(spacing));
        }
        let vectors = cell.to_arrays();
        let reach = |k: usize, sign: f64| -> f64 { vectors.iter().map(|v| (sign * v[k]).max(0.0)).sum() };
        let edges: [f64; 3] = std::array::from_fn(|k| reach(k, 1.0) + reach(k, -1.0));
        let shape = edges.map(|edge| (edge / spacing - 1e-9).ceil().max(1.0) as usize);
        let origin = std::array::from_fn(|k| corner[k] - reach(k, -1.0));
        Self::new(origin, std::array::from_fn(|k| edges[k] / shape[k] as f64), shape)
    }

    /// As many points from the same corner over another cell.
    pub(super) fn over(&self, cell: &Cell) -> Result<Self, MapError> {
        let vectors = cell.to_arrays();
        let edge = |k: usize| vectors.iter().map(|v| v[k].abs()).sum::<f64>();
        let spacing = std::array::from_fn(|k| edge(k) / self.shape[k] as f64);
        Self::new(self.origin.to_array(), spacing, self.shape)
    }

    /// The first point.
    pub fn origin(&self) -> Vec3<f64> {
        self.origin
    }

    /// The distance of points along each axis.
    pub fn spacing(&self) -> Vec3<f64> {
        self.spacing
    }

    /// Points along each axis.
    pub fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// Points in all.
    pub fn points(&self) -> usize {
        self.shape.iter().product()
    }

    /// Where a point is.
    pub fn position(&self, point: [usize; 3]) -> Vec3<f64> {
        let at = |k: usize| self.origin[k] + self.spacing[k] * point[k] as f64;
        Vec3::new(at(0), at(1), at(2))
    }

    /// The point at a place in a list of all.
    pub fn point(&self, index: usize) -> [usize; 3] {
        let [_, along_y, along_z] = self.shape;
        [
            index / (along_y * along_z),
            index / along_z % along_y,
            index % along_z,
        ]
    }

    /// The place of a point in a list of all: x slowest, z fastest.
    pub fn index(&self, [i, j, k]: [usize; 3]) -> usize {
        (i * self.shape[1] + j) * self.shape[2] + k
    }

    /// The coordinates of all points along an axis.
    pub(crate) fn along(&self, axis: usize) -> impl Iterator<Item = f64> + '_ {
        (0..self.shape[axis]).map(move |i| self.origin[axis] + self.spacing[axis] * i as f64)
    }

    /// The box that holds all points.
    pub(crate) fn bounds(&self) -> Bounds {
        let last = self.position(self.shape.map(|n| n - 1));
        Bounds {
            lower: self.origin.to_array(),
            upper: last.to_array(),
        }
    }
}

/// An upright box.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) lower: [f64; 3],
    pub(crate) upper: [f64; 3],
}

impl Bounds {
    /// The smallest that holds these.
    pub(crate) fn of(positions: &[Vec3<f64>]) -> Self {
        let empty = Self {
            lower: [f64::INFINITY; 3],
            upper: [f64::NEG_INFINITY; 3],
        };
        positions.iter().fold(empty, |bounds, r| Self {
            lower: std::array::from_fn(|k| bounds.lower[k].min(r[k])),
            upper: std::array::from_fn(|k| bounds.upper[k].max(r[k])),
        })
    }

    /// The smallest that holds both.
    pub(crate) fn with(self, other: Self) -> Self {
        Self {
            lower: std::array::from_fn(|k| self.lower[k].min(other.lower[k])),
            upper: std::array::from_fn(|k| self.upper[k].max(other.upper[k])),
        }
    }

    /// The square of the distance of a point from the box; zero inside.
    #[inline(always)]
    pub(crate) fn distance2(&self, r: [f64; 3]) -> f64 {
        (0..3)
            .map(|k| (self.lower[k] - r[k]).max(r[k] - self.upper[k]).max(0.0).powi(2))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_hold_what_they_are_made_around() {
        let atoms = [Vec3::new(0.0, 0.0, 0.0), Vec3::new(1.0, 0.2, 0.0)];
        let grid = MapGrid::around(&atoms, 0.5, 0.1).unwrap();
        assert_eq!(grid.shape(), [21, 13, 11]);
        assert!((grid.position([20, 0, 0]).x - 1.5).abs() < 1e-12);
        let cell = Cell::orthorhombic([1.0, 2.0, 0.95]).unwrap();
        let grid = MapGrid::of_cell(&cell, [0.0; 3], 0.1).unwrap();
        assert_eq!(grid.shape(), [10, 20, 10]);
        assert!((grid.spacing().z - 0.095).abs() < 1e-12);
        let oblique = Cell::triclinic([[1.0, 0.0, 0.0], [-0.5, 1.0, 0.0], [0.0, 0.0, 1.0]]).unwrap();
        let grid = MapGrid::of_cell(&oblique, [0.0; 3], 0.1).unwrap();
        assert_eq!((grid.origin().x, grid.shape()), (-0.5, [15, 10, 10]));
    }

    #[test]
    fn absurd_grids_are_refused() {
        assert!(matches!(
            MapGrid::new([0.0; 3], [0.0; 3], [1; 3]),
            Err(MapError::Spacing(_))
        ));
        assert!(matches!(
            MapGrid::new([0.0; 3], [0.1; 3], [1, 0, 1]),
            Err(MapError::Shape(_))
        ));
        assert!(matches!(
            MapGrid::new([0.0; 3], [0.1; 3], [1 << 40; 3]),
            Err(MapError::Shape(_))
        ));
        assert!(matches!(MapGrid::around(&[], 1.0, 0.1), Err(MapError::Empty)));
    }
}
