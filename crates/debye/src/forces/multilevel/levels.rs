//! [`Levels`]: nested grids of charges and potentials.

use super::interpolation::MOST;
use super::periodic::PeriodicKernel;
use super::separable::along_axis;
use super::stencil::{Rows, Stencil, double, single};
use super::{Interpolation, Softening};
use crate::expr::Vec3;
use crate::simd::InstructionSet;

/// Points along an axis of a grid that is not worth a coarser one.
const FEW: usize = 12;

/// How 1/r is split and represented.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MultilevelPlan {
    /// a: how far the short-range part reaches.
    pub cutoff: f64,
    /// h: the spacing of the finest grid, at most.
    pub spacing: f64,
    /// Between points of a grid.
    pub interpolation: Interpolation,
}

impl MultilevelPlan {
    /// γ.
    pub fn softening(&self) -> Softening {
        Softening::for_order(self.interpolation.order())
    }
}

/// Numbers a grid may hold: `f32` or `f64`.
pub trait GridReal:
    Copy + Send + Sync + Default + Into<f64> + std::ops::AddAssign + std::ops::Mul<Output = Self> + 'static
{
    /// From double precision.
    fn of(x: f64) -> Self;
    /// The loop of stencils for an instruction set, which this processor must have.
    #[doc(hidden)]
    fn rows_of(set: InstructionSet) -> StencilRows<Self>;
}

/// The loop of stencils.
#[doc(hidden)]
pub type StencilRows<T> = Rows<T>;

impl GridReal for f32 {
    fn of(x: f64) -> Self {
        x as Self
    }
    fn rows_of(set: InstructionSet) -> Rows<Self> {
        single(set)
    }
}

impl GridReal for f64 {
    fn of(x: f64) -> Self {
        x
    }
    fn rows_of(set: InstructionSet) -> Rows<Self> {
        double(set)
    }
}

/// The region of space that grids cover.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Region {
    /// Open: what lies between two corners.
    Open([f64; 3], [f64; 3]),
    /// Periodic: a box of these edges from a corner.
    Periodic([f64; 3], [f64; 3]),
}

/// One grid: point i of level l lies at origin + i 2^l h.
struct Level<T> {
    first: [i64; 3],
    shape: [usize; 3],
    stencil: Stencil<T>,
}

impl<T> Level<T> {
    fn points(&self) -> usize {
        self.shape.iter().product()
    }
}

/// Grids over a region, and the smooth part of the potential of charges on the finest of them.
pub struct Levels<T: GridReal> {
    plan: MultilevelPlan,
    origin: [f64; 3],
    spacing: [f64; 3],
    periodic: bool,
    levels: Vec<Level<T>>,
    potential: Vec<T>,
    set: InstructionSet,
}

impl<T: GridReal> Levels<T> {
    pub(crate) fn new(plan: MultilevelPlan, region: Region, set: InstructionSet) -> Self {
        let (origin, spacing, shapes) = match region {
            Region::Open(lower, upper) => open_shapes(&plan, lower, upper),
            Region::Periodic(corner, edges) => periodic_shapes(&plan, corner, edges),
        };
        let periodic = matches!(region, Region::Periodic(..));
        let last = shapes.len() - 1;
        let softening = plan.softening();
        let levels = shapes
            .into_iter()
            .enumerate()
            .map(|(l, (first, shape))| {
                let s = plan.cutoff * f64::from(1_u32 << l);
                let step = spacing.map(|h| h * f64::from(1_u32 << l));
                let place = |n: [i64; 3]| -> [f64; 3] { std::array::from_fn(|k| n[k] as f64 * step[k]) };
                let length = |n: [i64; 3]| place(n).iter().map(|x| x * x).sum::<f64>().sqrt();
                let between = |r: f64| softening.smooth(r, s) - softening.smooth(r, 2.0 * s);
                let whole = shape.map(|n| n as i64 - 1);
                let ranges = |reach: f64| -> [_; 3] {
                    std::array::from_fn(|k| {
                        let most = (reach / step[k]).floor() as i64;
                        -most..=most
                    })
                };
                let stencil = match (periodic, l == last) {
                    (false, false) => {
                        let inside = ranges(2.0 * s);
                        let inside: [_; 3] = std::array::from_fn(|k| {
                            inside[k].start().max(&-whole[k]).to_owned()..=*inside[k].end().min(&whole[k])
                        });
                        Stencil::new(inside, |n| between(length(n)))
                    }
                    (false, true) => {
                        Stencil::new(whole.map(|most| -most..=most), |n| softening.smooth(length(n), s))
                    }
                    (true, false) => {
                        let reach = ranges(2.0 * s);
                        if (0..3).all(|k| 2 * reach[k].end() < shape[k] as i64) {
                            Stencil::new(reach, |n| between(length(n)))
                        } else {
                            let edges = std::array::from_fn(|k| step[k] * shape[k] as f64);
                            let all = whole.map(|most| 0..=most);
                            Stencil::new(all, |n| folded(place(n), edges, 2.0 * s, &between))
                        }
                    }
                    (true, true) => {
                        let edges = std::array::from_fn(|k| step[k] * shape[k] as f64);
                        let kernel = PeriodicKernel::new(edges, softening, s);
                        Stencil::new(whole.map(|most| 0..=most), |n| kernel.at(place(n)))
                    }
                };
                Level {
                    first,
                    shape,
                    stencil,
                }
            })
            .collect();
        Self {
            plan,
            origin,
            spacing,
            periodic,
            levels,
            potential: Vec::new(),
            set,
        }
    }

    /// The spacing of the finest grid along x, y, z.
    pub fn spacing(&self) -> [f64; 3] {
        self.spacing
    }

    /// The points of every grid, the finest first.
    pub fn shapes(&self) -> Vec<[usize; 3]> {
        self.levels.iter().map(|level| level.shape).collect()
    }

    /// Products of all sums over grids.
    pub fn products(&self) -> f64 {
        self.levels
            .iter()
            .map(|level| level.points() as f64 * level.stencil.points() as f64)
            .sum()
    }

    pub(crate) fn interpolation(&self) -> Interpolation {
        self.plan.interpolation
    }

    pub(crate) fn is_periodic(&self) -> bool {
        self.periodic
    }

    /// The first point of the finest grid, counted from the origin.
    pub(crate) fn first(&self) -> [i64; 3] {
        self.levels[0].first
    }

    /// The coefficients of a level's sums, by the difference of two points.
    pub(crate) fn stencil(&self, l: usize) -> Vec<([i64; 3], T)> {
        self.levels[l].stencil.entries().collect()
    }

    /// A coordinate in spacings of the finest grid from the origin.
    pub(crate) fn in_spacings(&self, axis: usize, x: f64) -> f64 {
        (x - self.origin[axis]) / self.spacing[axis]
    }

    /// Finds the smooth part of the potential of charges.
    pub fn solve(&mut self, positions: &[Vec3<f64>], charges: &[f64]) {
        let mut charged = vec![self.spread(positions, charges)];
        for l in 1..self.levels.len() {
            charged.push(self.restrict(l, &charged[l - 1]));
        }
        let axes = [self.periodic; 3];
        let mut above: Option<Vec<T>> = None;
        for (l, level) in self.levels.iter().enumerate().rev() {
            let mut potential = level.stencil.apply(level.shape, axes, &charged[l], self.set);
            if let Some(coarse) = above {
                self.prolongate(l + 1, &coarse, &mut potential);
            }
            above = Some(potential);
        }
        self.potential = above.unwrap_or_default();
    }

    /// The point below a coordinate, and how far beyond it.
    fn below(&self, axis: usize, x: f64) -> (i64, f64) {
        let u = self.in_spacings(axis, x);
        (u.floor() as i64, u - u.floor())
    }

    /// The place of a point of a level along an axis; `None` where there is none.
    fn place(&self, l: usize, axis: usize, i: i64) -> Option<usize> {
        let (first, n) = (self.levels[l].first[axis], self.levels[l].shape[axis] as i64);
        if self.periodic {
            Some((i - first).rem_euclid(n) as usize)
        } else {
            (0..n).contains(&(i - first)).then_some((i - first) as usize)
        }
    }

    /// Charges on the finest grid.
    fn spread(&self, positions: &[Vec3<f64>], charges: &[f64]) -> Vec<T> {
        let [nx, ny, nz] = self.levels[0].shape;
        let mut grid = vec![0.0_f64; nx * ny * nz];
        let interpolation = self.plan.interpolation;
        let order = interpolation.order();
        for (r, &q) in positions.iter().zip(charges) {
            let mut places = [[0; MOST]; 3];
            let weights: [[f64; MOST]; 3] = std::array::from_fn(|axis| {
                let (below, rest) = self.below(axis, r[axis]);
                let weights = interpolation.weights(rest);
                for (j, place) in places[axis].iter_mut().enumerate().take(order) {
                    let at = self.place(0, axis, below + interpolation.first() + j as i64);
                    *place = at.unwrap_or(0);
                }
                weights
            });
            for a in 0..order {
                for b in 0..order {
                    let row = (places[0][a] * ny + places[1][b]) * nz;
                    let share = q * weights[0][a] * weights[1][b];
                    for c in 0..order {
                        grid[row + places[2][c]] += share * weights[2][c];
                    }
                }
            }
        }
        grid.into_iter().map(T::of).collect()
    }

    /// How points of level l touch those of the finer level along an axis: place there, weight.
    pub(crate) fn joined(&self, l: usize, axis: usize) -> Vec<Vec<(usize, T)>> {
        let halves = self.plan.interpolation.halves();
        let level = &self.levels[l];
        (0..level.shape[axis] as i64)
            .map(|i| {
                let fine = |k: i64| self.place(l - 1, axis, 2 * (level.first[axis] + i) + k);
                let touched = halves.iter().filter_map(|&(k, w)| Some((fine(k)?, T::of(w))));
                touched.collect()
            })
            .collect()
    }

    /// The same by points of the finer level.
    pub(crate) fn parents(&self, l: usize, axis: usize) -> Vec<Vec<(usize, T)>> {
        let mut lists = vec![Vec::new(); self.levels[l - 1].shape[axis]];
        for (i, touched) in self.joined(l, axis).into_iter().enumerate() {
            for (there, weight) in touched {
                lists[there].push((i, weight));
            }
        }
        lists
    }

    /// Charges of level l from those of the finer level.
    fn restrict(&self, l: usize, fine: &[T]) -> Vec<T> {
        let mut shape = self.levels[l - 1].shape;
        let mut values = fine.to_vec();
        for axis in (0..3).rev() {
            let lists = self.joined(l, axis);
            values = along_axis(&values, shape, axis, &lists);
            shape[axis] = lists.len();
        }
        values
    }

    /// Adds the potential of level l to the finer level.
    fn prolongate(&self, l: usize, coarse: &[T], fine: &mut [T]) {
        let mut shape = self.levels[l].shape;
        let mut values = coarse.to_vec();
        for axis in 0..3 {
            let lists = self.parents(l, axis);
            values = along_axis(&values, shape, axis, &lists);
            shape[axis] = lists.len();
        }
        for (to, from) in fine.iter_mut().zip(values) {
            *to += from;
        }
    }

    /// The points of the finest grid that values at coordinates along an axis come from, and their weights.
    pub(crate) fn interpolated(
        &self,
        axis: usize,
        coordinates: impl IntoIterator<Item = f64>,
    ) -> Vec<Vec<(usize, T)>> {
        let interpolation = self.plan.interpolation;
        let touched = |x: f64| {
            let (below, rest) = self.below(axis, x);
            let weights = interpolation.weights(rest);
            let from = |j: usize| self.place(0, axis, below + interpolation.first() + j as i64);
            let used = (0..interpolation.order()).filter_map(|j| Some((from(j)?, T::of(weights[j]))));
            used.collect()
        };
        coordinates.into_iter().map(touched).collect()
    }

    /// The potential at the points of a rectangular grid, which lies along the axes: x slowest.
    pub(crate) fn on_grid(&self, coordinates: [Vec<f64>; 3]) -> Vec<T> {
        let mut shape = self.levels[0].shape;
        let mut values: Option<Vec<T>> = None;
        for axis in (0..3).rev() {
            let lists = self.interpolated(axis, coordinates[axis].iter().copied());
            values = Some(along_axis(
                values.as_ref().unwrap_or(&self.potential),
                shape,
                axis,
                &lists,
            ));
            shape[axis] = lists.len();
        }
        values.unwrap_or_default()
    }
}

/// Where grids begin and how large they are: origin, spacing, and first point and shape of every level.
type Shapes = ([f64; 3], [f64; 3], Vec<([i64; 3], [usize; 3])>);

fn open_shapes(plan: &MultilevelPlan, lower: [f64; 3], upper: [f64; 3]) -> Shapes {
    let h = plan.spacing;
    let interpolation = plan.interpolation;
    let reach = interpolation.order() as i64 / 2;
    let mut first: [i64; 3] = [interpolation.first(); 3];
    let mut last: [i64; 3] = std::array::from_fn(|k| ((upper[k] - lower[k]) / h).floor() as i64 + reach);
    let mut shapes = Vec::new();
    loop {
        shapes.push((first, std::array::from_fn(|k| (last[k] - first[k] + 1) as usize)));
        let reach = interpolation.order() as i64 - 1;
        let coarse_first =
            first.map(|i| (i - reach).div_euclid(2) + i64::from((i - reach).rem_euclid(2) != 0));
        let coarse_last = last.map(|i| (i + reach).div_euclid(2));
        let small = (0..3).all(|k| last[k] - first[k] < FEW as i64);
        let coarser = (0..3).any(|k| coarse_last[k] - coarse_first[k] < last[k] - first[k]);
        if small || !coarser {
            return (lower, [h; 3], shapes);
        }
        (first, last) = (coarse_first, coarse_last);
    }
}

/// Grids that halve evenly: as many levels as leave four points along the shortest edge.
fn periodic_shapes(plan: &MultilevelPlan, corner: [f64; 3], edges: [f64; 3]) -> Shapes {
    let needed = edges.map(|edge| (edge / plan.spacing - 1e-9).ceil().max(1.0) as usize);
    let least = needed.into_iter().min().unwrap_or(1);
    let halvings = (least / 4).max(1).ilog2();
    let unit = 1_usize << halvings;
    let finest = needed.map(|n| n.next_multiple_of(unit));
    let shapes = (0..=halvings).map(|l| ([0; 3], finest.map(|n| n >> l))).collect();
    (
        corner,
        std::array::from_fn(|k| edges[k] / finest[k] as f64),
        shapes,
    )
}

/// A kernel of finite reach summed over images.
fn folded(d: [f64; 3], edges: [f64; 3], reach: f64, kernel: &impl Fn(f64) -> f64) -> f64 {
    let most: [i64; 3] = std::array::from_fn(|k| (reach / edges[k]).ceil() as i64 + 1);
    let mut sum = 0.0;
    for i in -most[0]..=most[0] {
        for j in -most[1]..=most[1] {
            for k in -most[2]..=most[2] {
                let n = [i, j, k];
                let r2: f64 = (0..3).map(|c| (d[c] + n[c] as f64 * edges[c]).powi(2)).sum();
                if r2 < reach * reach {
                    sum += kernel(r2.sqrt());
                }
            }
        }
    }
    sum
}
