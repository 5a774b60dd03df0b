//! [`Near`]: charges sorted by place, to find those near a box of points.

use super::charges::PointCharges;
use super::grid::Bounds;
use crate::expr::Vec3;
use crate::system::Cell;

/// Cubes of space that reach beyond a box.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cubes {
    /// The corner of the first cube.
    pub(super) lower: [f64; 3],
    /// The edge of a cube.
    pub(super) edge: f64,
    /// Cubes along x, y, z; z fastest.
    pub(super) shape: [usize; 3],
}

impl Cubes {
    /// For so many charges: as many cubes at most.
    pub(super) fn new(bounds: &Bounds, reach: f64, charges: usize) -> Self {
        let size = Self::size(bounds, reach);
        let fine = (size.iter().product::<f64>() / charges.max(1) as f64).cbrt();
        let edge = (reach / 4.0).max(fine);
        Self {
            lower: bounds.lower.map(|x| x - reach),
            edge,
            shape: size.map(|length| (length / edge).ceil().max(1.0) as usize),
        }
    }

    /// As many about another box.
    pub(super) fn fit(&mut self, bounds: &Bounds, reach: f64) {
        let size = Self::size(bounds, reach);
        self.lower = bounds.lower.map(|x| x - reach);
        self.edge = (0..3).map(|k| size[k] / self.shape[k] as f64).fold(0.0, f64::max);
    }

    fn size(bounds: &Bounds, reach: f64) -> [f64; 3] {
        std::array::from_fn(|k| bounds.upper[k] - bounds.lower[k] + 2.0 * reach)
    }

    fn cube(&self, r: [f64; 3]) -> [usize; 3] {
        std::array::from_fn(|k| {
            let place = (r[k] - self.lower[k]) / self.edge;
            (place.max(0.0) as usize).min(self.shape[k] - 1)
        })
    }

    fn index(&self, [i, j, k]: [usize; 3]) -> usize {
        (i * self.shape[1] + j) * self.shape[2] + k
    }
}

/// Charges within a reach of a box, images included, in cubes of space.
pub(crate) struct Near {
    reach: f64,
    pub(super) cubes: Cubes,
    /// Where the charges of each cube begin, and the end.
    pub(super) starts: Vec<u32>,
    pub(super) charges: Vec<([f64; 3], f64)>,
}

impl Near {
    /// Charges no farther than `reach` from a box. With a cell, along its periodic axes, also their images.
    pub(crate) fn new(charges: &PointCharges, cell: Option<&Cell>, bounds: &Bounds, reach: f64) -> Self {
        let mut all = Vec::new();
        for (&r, &q) in charges.positions().iter().zip(charges.charges()) {
            let mut keep = |r: Vec3<f64>| {
                if bounds.distance2(r.to_array()) < reach * reach {
                    all.push((r.to_array(), q));
                }
            };
            match cell {
                Some(cell) => images(cell, cell.wrap(r).0, bounds, reach).for_each(&mut keep),
                None => keep(r),
            }
        }
        let cubes = Cubes::new(bounds, reach, all.len());
        let mut near = Self {
            reach,
            cubes,
            starts: vec![0; cubes.shape.iter().product::<usize>() + 1],
            charges: Vec::new(),
        };
        let mut keyed: Vec<(usize, usize)> = all
            .iter()
            .enumerate()
            .map(|(i, (r, _))| (cubes.index(cubes.cube(*r)), i))
            .collect();
        // Charges of one cube stay in the order of the input.
        keyed.sort_unstable();
        for &(key, _) in &keyed {
            near.starts[key + 1] += 1;
        }
        for key in 1..near.starts.len() {
            near.starts[key] += near.starts[key - 1];
        }
        near.charges = keyed.into_iter().map(|(_, i)| all[i]).collect();
        near
    }

    /// Calls with every charge within reach of a box, in the same order whoever asks.
    pub(crate) fn visit(&self, bounds: &Bounds, mut found: impl FnMut([f64; 3], f64)) {
        let cubes = &self.cubes;
        let first = cubes.cube(bounds.lower.map(|x| x - self.reach));
        let last = cubes.cube(bounds.upper.map(|x| x + self.reach));
        let reach2 = self.reach * self.reach;
        for i in first[0]..=last[0] {
            for j in first[1]..=last[1] {
                let row = cubes.index([i, j, first[2]])..=cubes.index([i, j, last[2]]);
                let begin = self.starts[*row.start()] as usize;
                let end = self.starts[*row.end() + 1] as usize;
                for &(r, q) in &self.charges[begin..end] {
                    if bounds.distance2(r) < reach2 {
                        found(r, q);
                    }
                }
            }
        }
    }
}

/// The images of a position that may be within reach of a box.
pub(super) fn images<'a>(
    cell: &'a Cell,
    r: Vec3<f64>,
    bounds: &Bounds,
    reach: f64,
) -> impl Iterator<Item = Vec3<f64>> + use<'a> {
    let heights = cell.heights();
    let periodic = cell.periodic();
    let middle = |k: usize| 0.5 * (bounds.lower[k] + bounds.upper[k]);
    let middle = Vec3::new(middle(0), middle(1), middle(2));
    let half = Vec3::new(bounds.upper[0], bounds.upper[1], bounds.upper[2]) - middle;
    // In fractions of the cell, the box around the middle reaches so far along each vector.
    let here = cell.fractional(r - middle);
    let range: [std::ops::RangeInclusive<i32>; 3] = std::array::from_fn(|k| {
        if !periodic[k] {
            return 0..=0;
        }
        let normal = cell.normal(k);
        let across: f64 = (0..3).map(|c| (normal[c] * half[c]).abs()).sum();
        let far = (across + reach) / heights[k];
        (-far - here[k]).ceil() as i32..=(far - here[k]).floor() as i32
    });
    let [a, b, c] = range;
    a.flat_map(move |i| {
        let c = c.clone();
        b.clone().flat_map(move |j| c.clone().map(move |k| [i, j, k]))
    })
    .map(move |n| r + cell.translation(n))
}
