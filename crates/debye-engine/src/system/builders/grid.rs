//! [`Grid`]: points kept in bins, so that the distance to the nearest one is found at once.

use crate::expr::Vec3;
use crate::system::Cell;

const NONE: u32 = u32::MAX;

/// Points in a cell.
pub(super) struct Grid {
    cell: Cell,
    bins: [usize; 3],
    /// Last point of each bin, or `NONE`.
    head: Vec<u32>,
    /// For each point, the one before it in its bin, or `NONE`.
    before: Vec<u32>,
    points: Vec<Vec3<f64>>,
}

impl Grid {
    /// An empty grid that answers about distances up to `reach`, for about `expected` points.
    pub(super) fn new(cell: Cell, reach: f64, expected: usize) -> Self {
        // More bins than a few per point would cost memory and save nothing.
        let most = (4.0 * expected as f64).cbrt().ceil().max(1.0);
        let bins = cell
            .heights()
            .to_array()
            .map(|height| (height / reach).floor().clamp(1.0, most) as usize);
        Self {
            cell,
            bins,
            head: vec![NONE; bins[0] * bins[1] * bins[2]],
            before: Vec::with_capacity(expected),
            points: Vec::with_capacity(expected),
        }
    }

    /// How many points there are.
    pub(super) fn len(&self) -> usize {
        self.points.len()
    }

    fn bin(&self, r: Vec3<f64>) -> [usize; 3] {
        let s = self.cell.fractional(r);
        std::array::from_fn(|axis| {
            let n = self.bins[axis];
            let fraction = if self.cell.periodic()[axis] {
                s[axis] - s[axis].floor()
            } else {
                s[axis].clamp(0.0, 1.0)
            };
            ((fraction * n as f64) as usize).min(n - 1)
        })
    }

    fn index(&self, [x, y, z]: [usize; 3]) -> usize {
        (z * self.bins[1] + y) * self.bins[0] + x
    }

    /// The bins along an axis that touch bin `b`, itself included, each once.
    fn around(&self, axis: usize, b: usize) -> ([usize; 3], usize) {
        let n = self.bins[axis];
        if !self.cell.periodic()[axis] {
            let (low, high) = (b.saturating_sub(1), (b + 1).min(n - 1));
            return ([low, low + 1, low + 2], high - low + 1);
        }
        if n < 3 {
            return ([0, 1, 2], n);
        }
        ([(b + n - 1) % n, b, (b + 1) % n], 3)
    }

    /// Hands over every point within reach of `r` and perhaps some beyond, with its number and the shortest
    /// vector from `r` to it.
    pub(super) fn visit(&self, r: Vec3<f64>, mut f: impl FnMut(u32, Vec3<f64>)) {
        let center = self.bin(r);
        let [(xs, nx), (ys, ny), (zs, nz)] = std::array::from_fn(|axis| self.around(axis, center[axis]));
        for &z in &zs[..nz] {
            for &y in &ys[..ny] {
                for &x in &xs[..nx] {
                    let mut point = self.head[self.index([x, y, z])];
                    while point != NONE {
                        f(point, self.cell.minimum_image(self.points[point as usize] - r));
                        point = self.before[point as usize];
                    }
                }
            }
        }
    }

    /// Squared distance from `r` to the nearest point but `skip`; anything above reach² may be reported
    /// as infinite.
    pub(super) fn nearest2(&self, r: Vec3<f64>, skip: Option<u32>) -> f64 {
        let mut nearest = f64::INFINITY;
        self.visit(r, |point, d| {
            if Some(point) != skip {
                nearest = nearest.min(d.norm2());
            }
        });
        nearest
    }

    /// Adds a point, inside the cell or not.
    pub(super) fn push(&mut self, r: Vec3<f64>) {
        let bin = self.index(self.bin(r));
        self.before.push(self.head[bin]);
        self.head[bin] = self.points.len() as u32;
        self.points.push(r);
    }

    /// All points, in the order they were added.
    pub(super) fn points(&self) -> &[Vec3<f64>] {
        &self.points
    }
}
