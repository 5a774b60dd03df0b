//! [`Grid`]: cells over the region that particles and their images occupy.

use crate::expr::Vec3;
use crate::system::Cell;

/// A regular grid of small cells in serpentine order: rows run along x, every other one backwards, and
/// planes of rows likewise. Cells that follow each other touch, and neighboring cells of a row are one range.
#[derive(Clone, Debug)]
pub struct Grid {
    low: Vec3<f64>,
    region: (Vec3<f64>, Vec3<f64>),
    per_length: Vec3<f64>,
    dims: [usize; 3],
    rows: Vec<StencilRow>,
}

/// A row of cells along x that can hold neighbors, relative to a cell.
#[derive(Clone, Copy, Debug)]
struct StencilRow {
    y: isize,
    z: isize,
    reach: usize,
}

/// Cells per search radius. A row along x is one range however fine its cells are; along y and z
/// nine long rows are quicker to search than twenty-five short ones.
const DIVISION: [f64; 3] = [4.0, 1.0, 1.0];

/// The share of particles, at either end of an open direction, that the grid need not reach.
const STRAYS: f64 = 0.01;

impl Grid {
    /// A grid over every place within `radius` of a particle's cell. In directions without
    /// periodicity it covers the particles.
    pub fn over(cell: &Cell, positions: &[Vec3<f64>], radius: f64) -> Self {
        let everything = region(cell, positions, radius, 0.0);
        let most = (4 * positions.len()).clamp(4096, 1 << 28) as f64;
        // Without a radius nobody has neighbors, and any cells will do.
        let widest = (0..3)
            .map(|k| everything.1[k] - everything.0[k])
            .fold(0.0, f64::max);
        let side = if radius > 0.0 { radius } else { widest.max(1.0) };
        let mut size: [f64; 3] = DIVISION.map(|d| side / d);
        let dims_of = |(low, high): (Vec3<f64>, Vec3<f64>), size: &[f64; 3]| -> [usize; 3] {
            std::array::from_fn(|k| (((high[k] - low[k]) / size[k]).floor() as usize).max(1))
        };
        let count = |dims: &[usize; 3]| dims.iter().map(|&d| d as f64).product::<f64>();
        // A few particles far from all others must not make the cells of the rest large. Those outside belong to
        // the nearest cell: that brings no two of them farther apart, so no pair is lost.
        let covered = if count(&dims_of(everything, &size)) > most && cell.periodic() != [true; 3] {
            region(cell, positions, radius, STRAYS)
        } else {
            everything
        };
        let dims_for = |size: &[f64; 3]| dims_of(covered, size);
        let (low, high) = covered;
        while count(&dims_for(&size)) > most {
            size = size.map(|s| s * 1.25);
        }
        let dims = dims_for(&size);
        // Flat systems: one cell, as thick as the search is wide, so that its neighbors stay few.
        let edge: [f64; 3] = std::array::from_fn(|k| {
            let edge = (high[k] - low[k]) / dims[k] as f64;
            if dims[k] == 1 { edge.max(side) } else { edge }
        });
        let per_length = Vec3::new(1.0 / edge[0], 1.0 / edge[1], 1.0 / edge[2]);
        Self {
            low,
            region: everything,
            per_length,
            dims,
            rows: stencil(edge, radius),
        }
    }

    /// The corners of the region that holds every place.
    pub fn region(&self) -> (Vec3<f64>, Vec3<f64>) {
        self.region
    }

    /// The volume of a cell.
    pub fn cell_volume(&self) -> f64 {
        1.0 / (self.per_length.x * self.per_length.y * self.per_length.z)
    }

    /// How many cells there are.
    pub fn cells(&self) -> usize {
        self.dims.iter().product()
    }

    /// The cell of a place; places outside belong to the nearest cell.
    #[inline]
    pub fn cell_of(&self, r: Vec3<f64>) -> u32 {
        let s = (r - self.low).scale(self.per_length);
        let at = |x: f64, n: usize| (x.max(0.0) as usize).min(n - 1);
        let [nx, ny, nz] = self.dims;
        let row = self.row(at(s.y, ny), at(s.z, nz));
        (row * nx + turned(at(s.x, nx), nx, row)) as u32
    }

    /// Ranges of cells (first, one past last) in which neighbors of the particles of `cells` may be, none
    /// of them twice. The cells must ascend.
    pub fn neighbors(&self, cells: &[u32], ranges: &mut Vec<(u32, u32)>) {
        ranges.clear();
        let [nx, ny, nz] = self.dims;
        let row_of = |cell: u32| cell as usize / nx;
        let mut rows = 0;
        for run in cells.chunk_by(|&a, &b| row_of(a) == row_of(b)) {
            rows += 1;
            let row = row_of(run[0]);
            let (z, y) = (row / ny, turned(row % ny, ny, row / ny));
            let ends = [run[0], run[run.len() - 1]].map(|cell| turned(cell as usize % nx, nx, row));
            let (low, high) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
            for near in &self.rows {
                let (Some(y), Some(z)) = (y.checked_add_signed(near.y), z.checked_add_signed(near.z)) else {
                    continue;
                };
                if y >= ny || z >= nz {
                    continue;
                }
                let row = self.row(y, z);
                let ends = [low.saturating_sub(near.reach), (high + near.reach).min(nx - 1)]
                    .map(|x| row * nx + turned(x, nx, row));
                let (first, last) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
                ranges.push((first as u32, last as u32 + 1));
            }
        }
        if rows > 1 {
            join(ranges);
        }
    }

    /// Which row the cells at these places along y and z belong to.
    #[inline]
    fn row(&self, y: usize, z: usize) -> usize {
        z * self.dims[1] + turned(y, self.dims[1], z)
    }
}

/// The place of `at` in a line of `n` that is walked backwards if its number is odd; its own inverse.
#[inline]
fn turned(at: usize, n: usize, line: usize) -> usize {
    if line.is_multiple_of(2) { at } else { n - 1 - at }
}

/// Sorts ranges and joins those that overlap or touch.
fn join(ranges: &mut Vec<(u32, u32)>) {
    ranges.sort_unstable();
    ranges.dedup_by(|next, last| {
        let joined = next.0 <= last.1;
        if joined {
            last.1 = last.1.max(next.1);
        }
        joined
    });
}

/// Rows of cells that come within `radius` of the cell in the middle.
fn stencil(edge: [f64; 3], radius: f64) -> Vec<StencilRow> {
    let gap = |steps: isize, edge: f64| (steps.unsigned_abs() as f64 - 1.0).max(0.0) * edge;
    let reach = |edge: f64| (radius / edge).floor() as isize + 1;
    let mut rows = Vec::new();
    for z in -reach(edge[2])..=reach(edge[2]) {
        for y in -reach(edge[1])..=reach(edge[1]) {
            let left2 = radius * radius - gap(y, edge[1]).powi(2) - gap(z, edge[2]).powi(2);
            if left2 >= 0.0 {
                rows.push(StencilRow {
                    y,
                    z,
                    reach: (left2.sqrt() / edge[0]).floor() as usize + 1,
                });
            }
        }
    }
    rows
}

/// A box around the cell and everything within `radius` of it. In directions without periodicity it covers the particles,
/// less this share of them at either end.
fn region(cell: &Cell, positions: &[Vec3<f64>], radius: f64, strays: f64) -> (Vec3<f64>, Vec3<f64>) {
    let (periodic, heights) = (cell.periodic(), cell.heights());
    let mut from: [f64; 3] = std::array::from_fn(|k| -radius / heights[k]);
    let mut to: [f64; 3] = std::array::from_fn(|k| 1.0 + radius / heights[k]);
    if periodic != [true; 3] {
        let bounds = if strays > 0.0 {
            trimmed(cell, positions, strays)
        } else {
            let mut bounds = [(f64::INFINITY, f64::NEG_INFINITY); 3];
            for &r in positions {
                let s = cell.fractional(r);
                for (k, (low, high)) in bounds.iter_mut().enumerate() {
                    (*low, *high) = (low.min(s[k]), high.max(s[k]));
                }
            }
            bounds
        };
        for k in 0..3 {
            if !periodic[k] && !positions.is_empty() {
                (from[k], to[k]) = bounds[k];
            }
        }
    }
    let mut low = Vec3::splat(f64::INFINITY);
    let mut high = Vec3::splat(f64::NEG_INFINITY);
    for corner in 0..8 {
        let pick = |k: usize| if corner >> k & 1 == 0 { from[k] } else { to[k] };
        let r = cell.position(Vec3::new(pick(0), pick(1), pick(2)));
        low = Vec3::new(low.x.min(r.x), low.y.min(r.y), low.z.min(r.z));
        high = Vec3::new(high.x.max(r.x), high.y.max(r.y), high.z.max(r.z));
    }
    (low, high)
}

/// Between which fractional coordinates all but a share of the particles lie, at either end.
fn trimmed(cell: &Cell, positions: &[Vec3<f64>], strays: f64) -> [(f64, f64); 3] {
    let fractional: Vec<_> = positions.iter().map(|&r| cell.fractional(r)).collect();
    let left_out = (positions.len() as f64 * strays) as usize;
    std::array::from_fn(|k| {
        let mut along: Vec<f64> = fractional.iter().map(|s| s[k]).collect();
        let mut nth = |n: usize| *along.select_nth_unstable_by(n, f64::total_cmp).1;
        let last = positions.len() - 1;
        (nth(left_out.min(last)), nth(last - left_out.min(last)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_close_pair_is_in_the_ranges() {
        let cell = Cell::orthorhombic([7.0, 5.0, 9.0]).unwrap();
        let grid = Grid::over(&cell, &[], 2.3);
        let mut state = 12345_u64;
        let mut next = |scale: f64| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1_u64 << 53) as f64 * scale
        };
        let mut ranges = Vec::new();
        for _ in 0..20_000 {
            let a = Vec3::new(next(7.0), next(5.0), next(9.0));
            let d = Vec3::new(next(4.6) - 2.3, next(4.6) - 2.3, next(4.6) - 2.3);
            if d.norm() > 2.3 {
                continue;
            }
            let b = grid.cell_of(a + d);
            grid.neighbors(&[grid.cell_of(a)], &mut ranges);
            assert!(ranges.iter().any(|&(first, end)| (first..end).contains(&b)));
        }
    }

    #[test]
    fn cells_that_follow_each_other_touch() {
        let cell = Cell::orthorhombic([7.0, 5.0, 9.0]).unwrap();
        let grid = Grid::over(&cell, &[], 1.0);
        let [nx, ny, nz] = grid.dims;
        let mut middles = vec![None; grid.cells()];
        for (x, y, z) in (0..nx).flat_map(|x| (0..ny).flat_map(move |y| (0..nz).map(move |z| (x, y, z)))) {
            let place = |at: usize, k: usize| grid.low[k] + (at as f64 + 0.5) / grid.per_length[k];
            let r = Vec3::new(place(x, 0), place(y, 1), place(z, 2));
            assert!(middles[grid.cell_of(r) as usize].replace([x, y, z]).is_none());
        }
        for pair in middles.windows(2) {
            let (a, b) = (pair[0].unwrap(), pair[1].unwrap());
            assert_eq!(
                (0..3).map(|k| a[k].abs_diff(b[k])).sum::<usize>(),
                1,
                "{a:?} {b:?}"
            );
        }
    }

    #[test]
    fn runs_of_cells_have_each_neighbor_once() {
        let cell = Cell::orthorhombic([7.0, 5.0, 9.0]).unwrap();
        let grid = Grid::over(&cell, &[], 1.0);
        let (mut one, mut all) = (Vec::new(), Vec::new());
        for first in (0..grid.cells() as u32 - 40).step_by(17) {
            let cells = [first, first + 1, first + 11, first + 40];
            grid.neighbors(&cells, &mut all);
            assert!(all.is_sorted_by(|a, b| a.1 <= b.0) || all.len() <= grid.rows.len());
            for cell in cells {
                grid.neighbors(&[cell], &mut one);
                let inside = |c: u32| all.iter().filter(|(a, b)| (*a..*b).contains(&c)).count();
                assert!(one.iter().all(|&(a, b)| (a..b).all(|c| inside(c) == 1)));
            }
        }
    }

    #[test]
    fn flat_and_straight_systems_have_neighbors() {
        let cell = Cell::orthorhombic([4.0; 3]).unwrap().with_periodicity([false; 3]);
        for thin in [0.0, 1e-9, 1e-6, 1e-3] {
            for axes in [
                [1.1, thin, thin],
                [thin, 1.1, thin],
                [thin, thin, 1.1],
                [1.1, 0.7, thin],
            ] {
                let places = [Vec3::zero(), Vec3::from(axes)];
                let grid = Grid::over(&cell, &places, 2.8);
                let mut ranges = Vec::new();
                grid.neighbors(&[grid.cell_of(places[0])], &mut ranges);
                let other = grid.cell_of(places[1]);
                assert!(
                    ranges.iter().any(|&(first, end)| (first..end).contains(&other)),
                    "{axes:?}"
                );
                assert!(ranges.len() <= 25);
            }
        }
    }

    #[test]
    fn strays_do_not_coarsen_the_grid() {
        let cell = Cell::orthorhombic([10.0; 3])
            .unwrap()
            .with_periodicity([false; 3]);
        let mut places: Vec<_> = (0..8000)
            .map(|i| Vec3::new((i % 20) as f64, (i / 20 % 20) as f64, (i / 400) as f64))
            .collect();
        let dense = Grid::over(&cell, &places, 2.0).dims;
        places.push(Vec3::new(1e5, -3e5, 2e4));
        places.push(Vec3::new(1e5, -3e5, 2e4 + 1.5));
        let grid = Grid::over(&cell, &places, 2.0);
        assert!(
            (0..3).all(|k| grid.dims[k] + 4 >= dense[k]),
            "{:?} {dense:?}",
            grid.dims
        );
        assert_eq!(grid.region().1.x, 1e5);
        let mut ranges = Vec::new();
        grid.neighbors(&[grid.cell_of(places[8000])], &mut ranges);
        let other = grid.cell_of(places[8001]);
        assert!(ranges.iter().any(|&(first, end)| (first..end).contains(&other)));
    }

    #[test]
    fn an_empty_giant_box_stays_small() {
        let cell = Cell::orthorhombic([1e6; 3]).unwrap();
        assert!(Grid::over(&cell, &[Vec3::zero(); 10], 1.0).cells() <= 4096);
    }
}
