//! Sums over charges at every point of a grid, tile by tile of points.
//!
//! A tile is up to [`LANES`] points along one axis, [`ROWS`] along the next and [`LAYERS`] along the last. A grid is cut
//! so that next to no lane is idle, whatever its shape: what is left of rows of x lies in rows of y, what is left of
//! those in rows of z. Each tile belongs to one thread, and its sums have one order.
//!
//! In single precision, far charges are taken relative to the middle of their tile, in blocks whose sums are added in
//! double precision. Charges near the tile are summed in double precision: their distances are what rounding hurts, and
//! theirs are the largest terms.

mod kernels;

use crate::parallel::{InParallel, Indexed};

pub use kernels::Kernel;
use kernels::{Entries, Far, entries};

use super::charges::PointCharges;
use super::grid::{Bounds, MapGrid};
use super::near::Near;
use crate::simd::InstructionSet;

/// Points of a tile along its first axis.
pub(crate) const LANES: usize = 16;
/// Points along the second.
pub(crate) const ROWS: usize = 8;
/// Points along the third.
pub(crate) const LAYERS: usize = 8;
const POINTS: usize = LANES * ROWS * LAYERS;
/// Charges whose terms are summed before they are added to the others.
const BLOCK: usize = 64;

/// Tiles whose sums are held at once.
const BATCH: usize = 256;

/// Told how much is done, from 0 to 1.
pub(crate) type Watch<'a> = &'a (dyn Fn(f64) + Sync);

/// A box of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tile {
    /// Which axes of the grid its lanes, rows and layers lie along.
    axes: [usize; 3],
    /// Its first point, in the order of x, y, z.
    start: [usize; 3],
    /// Points along x, y, z.
    shape: [usize; 3],
}

/// Cuts a grid into tiles.
fn tiles(shape: [usize; 3]) -> Vec<Tile> {
    let mut tiles = Vec::new();
    let (mut start, mut rest) = ([0; 3], shape);
    for lane in 0..3 {
        // Whole lanes along this axis; what is left of them goes to the next.
        let whole = rest[lane] / LANES * LANES;
        let mut part = rest;
        part[lane] = whole;
        cut(lane, start, part, &mut tiles);
        start[lane] += whole;
        rest[lane] -= whole;
    }
    let longest = (0..3).max_by_key(|&k| rest[k]).unwrap_or(0);
    cut(longest, start, rest, &mut tiles);
    tiles
}

fn cut(lane: usize, start: [usize; 3], shape: [usize; 3], tiles: &mut Vec<Tile>) {
    let axes = [lane, (lane + 1) % 3, (lane + 2) % 3];
    let mut edges = [0; 3];
    for (axis, edge) in axes.into_iter().zip([LANES, ROWS, LAYERS]) {
        edges[axis] = edge;
    }
    for x in (0..shape[0]).step_by(edges[0]) {
        for y in (0..shape[1]).step_by(edges[1]) {
            for z in (0..shape[2]).step_by(edges[2]) {
                let offset = [x, y, z];
                tiles.push(Tile {
                    axes,
                    start: std::array::from_fn(|k| start[k] + offset[k]),
                    shape: std::array::from_fn(|k| edges[k].min(shape[k] - offset[k])),
                });
            }
        }
    }
}

impl Tile {
    fn bounds(&self, grid: &MapGrid) -> Bounds {
        let last = std::array::from_fn(|k| self.start[k] + self.shape[k] - 1);
        Bounds {
            lower: grid.position(self.start).to_array(),
            upper: grid.position(last).to_array(),
        }
    }
}

/// Numbers a map may be summed in.
pub(in crate::maps) trait MapReal:
    Copy + Send + Sync + Default + Into<f64> + std::ops::AddAssign + 'static
{
    /// From double precision.
    fn of(x: f64) -> Self;
    /// The loops over far charges in this precision.
    fn far(entries: &Entries) -> Far<Self>;
}

impl MapReal for f32 {
    fn of(x: f64) -> Self {
        x as Self
    }
    fn far(entries: &Entries) -> Far<Self> {
        entries.single
    }
}

impl MapReal for f64 {
    fn of(x: f64) -> Self {
        x
    }
    fn far(entries: &Entries) -> Far<Self> {
        entries.double
    }
}

/// Charges as a tile reads them: along lanes, rows and layers relative to its middle, and the charge.
pub(crate) struct Block<T> {
    at: [[T; BLOCK]; 4],
    length: usize,
}

impl<T: MapReal> Block<T> {
    fn new() -> Self {
        Self {
            at: [[T::default(); BLOCK]; 4],
            length: 0,
        }
    }

    /// Puts a charge behind the last; it stays there if it `counts`.
    #[inline(always)]
    fn push(&mut self, d: [f64; 3], charge: f64, counts: bool) {
        for (list, value) in self.at.iter_mut().zip([d[0], d[1], d[2], charge]) {
            list[self.length] = T::of(value);
        }
        self.length += usize::from(counts);
    }
}

/// The points of a tile relative to its middle, along lanes, rows and layers.
pub(crate) struct Points<T> {
    at: [[T; LANES]; 3],
    /// Rows and layers that there are.
    shape: [usize; 2],
}

/// Whose potential is summed.
pub(crate) enum Charges<'a> {
    /// All of these.
    All(&'a PointCharges),
    /// Those near a tile.
    Near(&'a Near),
}

/// Adds `scale` Σ q K(r) over charges to the value of every point of a grid.
pub(crate) fn sum<T: MapReal>(
    grid: &MapGrid,
    charges: &Charges<'_>,
    kernel: &Kernel,
    scale: f64,
    set: InstructionSet,
    watch: Watch<'_>,
    values: &mut [T],
) {
    let entries = entries(set);
    let tiles = tiles(grid.shape());
    // So many at a time, that their sums take little memory.
    for (number, batch) in tiles.chunks(BATCH).enumerate() {
        let sums: Vec<Vec<f64>> = batch
            .par_iter()
            .map(|tile| Summation::<T>::new(grid, tile, kernel, &entries).over(charges))
            .collect();
        for (tile, sums) in batch.iter().zip(&sums) {
            let [lanes, rows, layers] = tile.axes.map(|axis| tile.shape[axis]);
            for layer in 0..layers {
                for row in 0..rows {
                    let line = &sums[(layer * ROWS + row) * LANES..][..lanes];
                    for (lane, sum) in line.iter().enumerate() {
                        let mut point = tile.start;
                        for (axis, offset) in tile.axes.into_iter().zip([lane, row, layer]) {
                            point[axis] += offset;
                        }
                        values[grid.index(point)] += T::of(scale * sum);
                    }
                }
            }
        }
        watch((number * BATCH + batch.len()) as f64 / tiles.len() as f64);
    }
}

/// The sums of one tile.
struct Summation<'a, T: MapReal> {
    kernel: &'a Kernel,
    entries: &'a Entries,
    axes: [usize; 3],
    bounds: Bounds,
    middle: [f64; 3],
    /// Charges nearer than the root of this are summed in double precision and kept apart from points on them.
    near2: f64,
    far_points: Points<T>,
    near_points: Points<f64>,
    far: Block<T>,
    near: Block<f64>,
    sums: Vec<f64>,
}

impl<'a, T: MapReal> Summation<'a, T> {
    fn new(grid: &MapGrid, tile: &Tile, kernel: &'a Kernel, entries: &'a Entries) -> Self {
        let bounds = tile.bounds(grid);
        let middle: [f64; 3] = std::array::from_fn(|k| 0.5 * (bounds.lower[k] + bounds.upper[k]));
        // Beyond half of the tile's half diagonal, rounding a coordinate costs no more than three units in the last
        // place of the distance.
        let half2: f64 = (0..3).map(|k| (bounds.upper[k] - middle[k]).powi(2)).sum();
        Self {
            kernel,
            entries,
            axes: tile.axes,
            bounds,
            middle,
            near2: (0.25 * half2).max(kernel.exclusion().powi(2)),
            far_points: points(grid, tile, &middle),
            near_points: points(grid, tile, &middle),
            far: Block::new(),
            near: Block::new(),
            sums: vec![0.0; POINTS],
        }
    }

    fn over(mut self, charges: &Charges<'_>) -> Vec<f64> {
        match charges {
            Charges::All(all) => {
                for (r, &charge) in all.positions().iter().zip(all.charges()) {
                    self.push(r.to_array(), charge);
                }
            }
            Charges::Near(near) => {
                let bounds = self.bounds;
                near.visit(&bounds, |r, charge| self.push(r, charge));
            }
        }
        self.sum_far();
        self.sum_near();
        self.sums
    }

    #[inline(always)]
    fn push(&mut self, r: [f64; 3], charge: f64) {
        let near = self.bounds.distance2(r) < self.near2;
        let d = self.axes.map(|axis| r[axis] - self.middle[axis]);
        self.far.push(d, charge, !near);
        self.near.push(d, charge, near);
        if self.far.length == BLOCK {
            self.sum_far();
        }
        if self.near.length == BLOCK {
            self.sum_near();
        }
    }

    fn sum_far(&mut self) {
        let sum = T::far(self.entries);
        // SAFETY: the entries are those of a set that this processor has.
        #[allow(unsafe_code)]
        unsafe {
            sum(self.kernel, &self.far, &self.far_points, &mut self.sums);
        }
        self.far.length = 0;
    }

    fn sum_near(&mut self) {
        // SAFETY: the entries are those of a set that this processor has.
        #[allow(unsafe_code)]
        unsafe {
            (self.entries.near)(self.kernel, &self.near, &self.near_points, &mut self.sums);
        }
        self.near.length = 0;
    }
}

/// Where the points of a tile are. Lanes without a point have one beyond the others, whose sum nobody reads.
fn points<T: MapReal>(grid: &MapGrid, tile: &Tile, middle: &[f64; 3]) -> Points<T> {
    let at = tile.axes.map(|axis| {
        let first = grid.origin()[axis] + grid.spacing()[axis] * tile.start[axis] as f64 - middle[axis];
        std::array::from_fn(|i| T::of(first + grid.spacing()[axis] * i as f64))
    });
    Points {
        at,
        shape: [tile.shape[tile.axes[1]], tile.shape[tile.axes[2]]],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_cover_every_point_once() {
        for shape in [[21, 21, 21], [1, 1, 1], [16, 8, 8], [33, 5, 70], [3, 40, 2]] {
            let mut seen = vec![0; shape.iter().product()];
            let mut lanes = 0;
            for tile in tiles(shape) {
                let [a, b, c] = tile.shape;
                lanes += a * b * c / tile.shape[tile.axes[0]] * LANES;
                for x in 0..a {
                    for y in 0..b {
                        for z in 0..c {
                            let [i, j, k] = [tile.start[0] + x, tile.start[1] + y, tile.start[2] + z];
                            seen[(i * shape[1] + j) * shape[2] + k] += 1;
                        }
                    }
                }
            }
            assert!(seen.iter().all(|&n| n == 1), "{shape:?}");
            if shape == [21, 21, 21] {
                assert!((lanes as f64) < 1.04 * seen.len() as f64, "{lanes}");
            }
        }
    }
}
