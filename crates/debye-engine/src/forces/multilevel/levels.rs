//! [`Levels`]: nested grids of charges and potentials.

use crate::parallel::{InParallel, Indexed, IntoIndexed};

use super::interpolation::MOST;
use super::kernel::Kernel;
use super::nested::Nested;
use super::separable::along_axis;
use super::stencil::{Rows, Stencil, double, single};
use super::{Interpolation, Softening};
use crate::expr::Vec3;
use crate::simd::InstructionSet;

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

/// Grids over a region, and the smooth part of the potential of charges on the finest of them.
pub struct Levels<T: GridReal> {
    plan: MultilevelPlan,
    nested: Nested,
    stencils: Vec<Stencil<T>>,
    /// Derivatives of the coefficients by a strain, once they are asked for.
    strains: Vec<Vec<[f64; 6]>>,
    potential: Vec<T>,
    set: InstructionSet,
}

/// Energy and virial (xx yy zz xy xz yz) of charges on grids, for k_e = 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct GridSums {
    pub(crate) energy: f64,
    pub(crate) virial: [f64; 6],
}

impl<T: GridReal> Levels<T> {
    pub(crate) fn new(plan: MultilevelPlan, nested: Nested, set: InstructionSet) -> Self {
        let stencil = |l: usize| {
            let (kernel, shape) = (Kernel::new(&plan, &nested, l), nested.shapes[l].1);
            let ranges = kernel.ranges(&nested, shape);
            if !kernel.is_costly() {
                return Stencil::new(ranges, |n| kernel.at(n).0);
            }
            let known = Mirrored::new(&nested, shape, |n| kernel.at(n).0);
            Stencil::new(ranges, |n| *known.at(n).0)
        };
        Self {
            stencils: (0..nested.shapes.len()).map(stencil).collect(),
            strains: Vec::new(),
            plan,
            nested,
            potential: Vec::new(),
            set,
        }
    }

    /// The spacing of the finest grid along x, y, z.
    pub fn spacing(&self) -> [f64; 3] {
        self.nested.spacing
    }

    /// The points of every grid, the finest first.
    pub fn shapes(&self) -> Vec<[usize; 3]> {
        self.nested.shapes.iter().map(|(_, shape)| *shape).collect()
    }

    /// Bytes of stencils.
    pub(crate) fn bytes(&self) -> usize {
        let coefficients: usize = self.stencils.iter().map(Stencil::points).sum();
        coefficients * size_of::<T>() + self.strains.iter().map(|s| s.len() * 48).sum::<usize>()
    }

    /// Products of all sums over grids.
    pub fn products(&self) -> f64 {
        let points = |shape: &[usize; 3]| shape.iter().product::<usize>() as f64;
        let of =
            |((_, shape), stencil): (&(_, [usize; 3]), &Stencil<T>)| points(shape) * stencil.points() as f64;
        self.nested.shapes.iter().zip(&self.stencils).map(of).sum()
    }

    pub(crate) fn interpolation(&self) -> Interpolation {
        self.plan.interpolation
    }

    /// Where the grids lie.
    pub(crate) fn nested(&self) -> &Nested {
        &self.nested
    }

    /// The first point of the finest grid, counted from the origin.
    pub(crate) fn first(&self) -> [i64; 3] {
        self.nested.shapes[0].0
    }

    /// The coefficients of a level's sums, by the difference of two points.
    pub(crate) fn stencil(&self, l: usize) -> Vec<([i64; 3], T)> {
        self.stencils[l].entries().collect()
    }

    /// A coordinate in spacings of the finest grid from the origin.
    pub(crate) fn in_spacings(&self, axis: usize, x: f64) -> f64 {
        (x - self.nested.origin[axis]) / self.nested.spacing[axis]
    }

    /// Finds the smooth part of the potential of charges.
    pub fn solve(&mut self, positions: &[Vec3<f64>], charges: &[f64]) {
        let spread = self.spread(positions, charges);
        self.potential = self.potential_of(spread, false).0;
    }

    /// The potential of charges on the finest grid; with `sums`, their energy, and in periodic grids their virial.
    pub(crate) fn potential_of(&mut self, charges: Vec<T>, sums: bool) -> (Vec<T>, GridSums) {
        let mut charged = vec![charges];
        for l in 1..self.stencils.len() {
            charged.push(self.restrict(l, &charged[l - 1]));
        }
        let axes = self.nested.boundaries.periodic();
        let mut above: Option<Vec<T>> = None;
        for (l, stencil) in self.stencils.iter().enumerate().rev() {
            let mut potential = stencil.apply(self.nested.shapes[l].1, axes, &charged[l], self.set);
            if let Some(coarse) = above {
                self.prolongate(l + 1, &coarse, &mut potential);
            }
            above = Some(potential);
        }
        let potential = above.unwrap_or_default();
        let mut found = GridSums::default();
        if sums {
            // Row by row: rows without charges add nothing, however many an open grid has.
            let along_z = self.nested.shapes[0].1[2];
            let product = |(q, v): (&T, &T)| Into::<f64>::into(*q) * Into::<f64>::into(*v);
            let rows = charged[0].chunks(along_z).zip(potential.chunks(along_z));
            let of_row = |(q, v): (&[T], &[T])| q.iter().zip(v).map(product).sum::<f64>();
            found.energy = 0.5 * rows.map(of_row).sum::<f64>();
            if axes == [true; 3] {
                found.virial = self.virial(&charged);
            }
        }
        (potential, found)
    }

    /// −∂E/∂ε for a strain ε of the cell. Charges keep their weights, as their fractional coordinates stay, so that only
    /// kernels change: −½ Σ_d ∂K(d)/∂ε Σ_i Q(i) Q(i + d), level by level.
    fn virial(&mut self, charged: &[Vec<T>]) -> [f64; 6] {
        if self.strains.is_empty() {
            self.strains = (0..self.stencils.len()).map(|l| self.strains_of(l)).collect();
        }
        let axes = self.nested.boundaries.periodic();
        let mut virial = [0.0; 6];
        for (l, stencil) in self.stencils.iter().enumerate() {
            let found = stencil.correlate(self.nested.shapes[l].1, axes, &charged[l], self.set);
            for (c, strain) in found.iter().zip(&self.strains[l]) {
                virial.iter_mut().zip(strain).for_each(|(w, x)| *w -= 0.5 * c * x);
            }
        }
        virial
    }

    /// Derivatives of a level's coefficients by a strain: xx yy zz xy xz yz.
    pub(crate) fn strain_entries(&self, l: usize) -> [Vec<([i64; 3], T)>; 6] {
        let strains = self.strains_of(l);
        let places = || self.stencils[l].entries().map(|(n, _)| n);
        std::array::from_fn(|k| places().zip(&strains).map(|(n, s)| (n, T::of(s[k]))).collect())
    }

    fn strains_of(&self, l: usize) -> Vec<[f64; 6]> {
        let (kernel, shape) = (Kernel::new(&self.plan, &self.nested, l), self.nested.shapes[l].1);
        let places: Vec<[i64; 3]> = self.stencils[l].entries().map(|(n, _)| n).collect();
        if !kernel.is_costly() {
            return places.par_iter().map(|&n| kernel.at(n).1).collect();
        }
        let known = Mirrored::new(&self.nested, shape, |n| kernel.at(n).1);
        let strain = |n: &[i64; 3]| {
            let (w, signs) = known.at(*n);
            let [x, y, z] = signs;
            [w[0], w[1], w[2], x * y * w[3], x * z * w[4], y * z * w[5]]
        };
        places.iter().map(strain).collect()
    }

    /// The point below a coordinate, and how far beyond it.
    fn below(&self, axis: usize, x: f64) -> (i64, f64) {
        let u = self.in_spacings(axis, x);
        (u.floor() as i64, u - u.floor())
    }

    /// The place of a point of a level along an axis; `None` where there is none.
    fn place(&self, l: usize, axis: usize, i: i64) -> Option<usize> {
        let (first, shape) = self.nested.shapes[l];
        let (first, n) = (first[axis], shape[axis] as i64);
        if self.nested.boundaries.periodic()[axis] {
            Some((i - first).rem_euclid(n) as usize)
        } else {
            (0..n).contains(&(i - first)).then_some((i - first) as usize)
        }
    }

    /// Charges on the finest grid.
    fn spread(&self, positions: &[Vec3<f64>], charges: &[f64]) -> Vec<T> {
        let [nx, ny, nz] = self.nested.shapes[0].1;
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
        let (first, shape) = self.nested.shapes[l];
        (0..shape[axis] as i64)
            .map(|i| {
                let fine = |k: i64| self.place(l - 1, axis, 2 * (first[axis] + i) + k);
                let touched = halves.iter().filter_map(|&(k, w)| Some((fine(k)?, T::of(w))));
                touched.collect()
            })
            .collect()
    }

    /// The same by points of the finer level.
    pub(crate) fn parents(&self, l: usize, axis: usize) -> Vec<Vec<(usize, T)>> {
        let mut lists = vec![Vec::new(); self.nested.shapes[l - 1].1[axis]];
        for (i, touched) in self.joined(l, axis).into_iter().enumerate() {
            for (there, weight) in touched {
                lists[there].push((i, weight));
            }
        }
        lists
    }

    /// Charges of level l from those of the finer level.
    fn restrict(&self, l: usize, fine: &[T]) -> Vec<T> {
        let mut shape = self.nested.shapes[l - 1].1;
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
        let mut shape = self.nested.shapes[l].1;
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
        let mut shape = self.nested.shapes[0].1;
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

/// Values of a kernel that is the same for n and −n along each axis, and for N − n along periodic ones.
struct Mirrored<V> {
    shape: [usize; 3],
    periodic: [bool; 3],
    values: Vec<V>,
}

impl<V: Send> Mirrored<V> {
    fn new(nested: &Nested, shape: [usize; 3], value: impl Fn([i64; 3]) -> V + Sync) -> Self {
        let periodic = nested.boundaries.periodic();
        let mut mirrored = Self {
            shape,
            periodic,
            values: Vec::new(),
        };
        let [nx, ny, nz] = std::array::from_fn(|k| mirrored.length(k));
        let each = (0..nx * ny * nz).into_par_iter().map(|i| {
            let n = [i / (ny * nz), i / nz % ny, i % nz];
            value(n.map(|n| n as i64))
        });
        mirrored.values = each.collect();
        mirrored
    }

    fn length(&self, axis: usize) -> usize {
        match self.periodic[axis] {
            true => self.shape[axis] / 2 + 1,
            false => self.shape[axis],
        }
    }

    /// The value, and the signs that odd functions of the differences have.
    fn at(&self, n: [i64; 3]) -> (&V, [f64; 3]) {
        let mut signs = [1.0; 3];
        let places: [usize; 3] = std::array::from_fn(|k| {
            let size = self.shape[k] as i64;
            let place = if self.periodic[k] {
                n[k].rem_euclid(size)
            } else {
                n[k]
            };
            let (place, sign) = match self.periodic[k] {
                true if 2 * place > size => (size - place, -1.0),
                _ => (place.abs(), if place < 0 { -1.0 } else { 1.0 }),
            };
            signs[k] = sign;
            place as usize
        });
        let place = (places[0] * self.length(1) + places[1]) * self.length(2) + places[2];
        (&self.values[place], signs)
    }
}
