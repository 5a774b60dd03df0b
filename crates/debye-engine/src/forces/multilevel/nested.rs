//! [`Nested`]: where the grids of all levels lie. [`GridPlan`]: what is decided of them before a run.

use super::{Interpolation, MultilevelPlan};

/// Along which axes grids begin again where they end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundaries {
    /// None.
    Open,
    /// All but one.
    Slab {
        /// That one.
        open: usize,
    },
    /// All.
    Periodic,
}

impl Boundaries {
    /// Of a cell that is periodic along these axes; none for a cell periodic along one.
    pub fn of(periodic: [bool; 3]) -> Option<Self> {
        let open: Vec<usize> = (0..3).filter(|&k| !periodic[k]).collect();
        match open[..] {
            [] => Some(Self::Periodic),
            [open] => Some(Self::Slab { open }),
            [_, _] => None,
            _ => Some(Self::Open),
        }
    }

    /// Which axes are periodic.
    pub fn periodic(self) -> [bool; 3] {
        match self {
            Self::Open => [false; 3],
            Self::Slab { open } => std::array::from_fn(|k| k != open),
            Self::Periodic => [true; 3],
        }
    }
}

/// Grids of a simulation. Along periodic axes the number of their points never changes: they follow the cell. Along open
/// axes point i lies at i h wherever the particles are, and there are as many as they need.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GridPlan {
    /// How 1/r is split.
    pub split: MultilevelPlan,
    /// Which axes are periodic.
    pub boundaries: Boundaries,
    /// Points of the finest grid; along open axes at first, about.
    pub points: [usize; 3],
    /// Grids; in open systems more once particles spread over more than twice their first extent along an axis.
    pub levels: usize,
}

impl GridPlan {
    /// For a cell of these edges. Along open axes they say how far the particles spread, about.
    pub fn new(split: MultilevelPlan, boundaries: Boundaries, edges: [f64; 3]) -> Self {
        let (periodic, order) = (boundaries.periodic(), split.interpolation.order());
        let needed: [usize; 3] = std::array::from_fn(|k| {
            let points = (edges[k] / split.spacing - 1e-9).ceil().max(1.0) as usize;
            if periodic[k] { points.max(order) } else { points }
        });
        let halvings = match boundaries {
            // As many levels as leave four points along the shortest edge.
            Boundaries::Slab { .. } | Boundaries::Periodic => {
                let along = (0..3).filter(|&k| periodic[k]).map(|k| needed[k]);
                (along.min().unwrap_or(1) / 4).max(1).ilog2()
            }
            // A device has room for lists around the particles.
            Boundaries::Open => around(split.interpolation, needed.map(|n| 3 * n as i64)).len() as u32 - 1,
        };
        let unit = 1_usize << halvings;
        Self {
            split,
            boundaries,
            points: std::array::from_fn(|k| match periodic[k] {
                true => needed[k].next_multiple_of(unit),
                false => needed[k],
            }),
            levels: halvings as usize + 1,
        }
    }

    /// The spacing of the finest grid in a cell of these edges.
    pub fn spacing(&self, edges: [f64; 3]) -> [f64; 3] {
        std::array::from_fn(|k| match self.boundaries.periodic()[k] {
            true => edges[k] / self.points[k] as f64,
            false => self.split.spacing,
        })
    }

    /// Products of a step, about: points of the finest grid times those of its stencil, and a seventh for the coarser ones.
    pub(crate) fn products(&self) -> f64 {
        let beside = |k: usize| match self.boundaries.periodic()[k] {
            true => 0,
            false => self.split.interpolation.order(),
        };
        let points: f64 = (0..3).map(|k| (self.points[k] + beside(k)) as f64).product();
        let reach = 2.0 * self.split.cutoff / self.split.spacing;
        let stencil = 4.0 / 3.0 * std::f64::consts::PI * reach.powi(3);
        8.0 / 7.0 * points * stencil.min(points)
    }

    /// Grids for particles between two corners: one more for each doubling of an open system, after the first. It follows
    /// from where particles are now, so that a resumed run has as many.
    pub(crate) fn levels_over(&self, lower: [f64; 3], upper: [f64; 3]) -> usize {
        let spread = |k: usize| (upper[k] - lower[k]) / (2.0 * self.split.spacing * self.points[k] as f64);
        let most = (0..3).map(spread).fold(1.0, f64::max);
        match self.boundaries {
            Boundaries::Open => self.levels + most.log2().ceil().min(20.0) as usize,
            _ => self.levels,
        }
    }
}

/// Where grids lie: point i of level l at origin + i 2^l h along each axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Nested {
    pub(crate) boundaries: Boundaries,
    pub(crate) origin: [f64; 3],
    pub(crate) spacing: [f64; 3],
    /// First point and points of every level, the finest first.
    pub(crate) shapes: Vec<Shape>,
}

type Shape = ([i64; 3], [usize; 3]);

impl Nested {
    /// Over what lies between two corners, without images.
    pub(crate) fn open(plan: &MultilevelPlan, lower: [f64; 3], upper: [f64; 3]) -> Self {
        let h = plan.spacing;
        let last = std::array::from_fn(|k| ((upper[k] - lower[k]) / h).floor() as i64);
        Self {
            boundaries: Boundaries::Open,
            origin: lower,
            spacing: [h; 3],
            shapes: around(plan.interpolation, last),
        }
    }

    /// Over a periodic box of these edges.
    pub(crate) fn periodic(plan: &MultilevelPlan, edges: [f64; 3]) -> Self {
        let grids = GridPlan::new(*plan, Boundaries::Periodic, edges);
        Self::of_plan(&grids, edges, [[0.0; 3]; 2], [1; 3], grids.levels)
    }

    /// So many grids of a plan, in a cell of these edges; along open axes between two corners, the finest from a multiple of
    /// `unit` points to another.
    pub(crate) fn of_plan(
        plan: &GridPlan,
        edges: [f64; 3],
        [lower, upper]: [[f64; 3]; 2],
        unit: [i64; 3],
        levels: usize,
    ) -> Self {
        let (spacing, interpolation) = (plan.spacing(edges), plan.split.interpolation);
        let below = |x: [f64; 3]| -> [i64; 3] { std::array::from_fn(|k| (x[k] / spacing[k]).floor() as i64) };
        let (lowest, highest) = (below(lower), below(upper));
        let reach = interpolation.order() as i64 / 2;
        let first = std::array::from_fn(|k| (lowest[k] + 1 - reach).div_euclid(unit[k]) * unit[k]);
        let last = std::array::from_fn(|k| ((highest[k] + reach).div_euclid(unit[k]) + 1) * unit[k] - 1);
        Self::of_points(plan, spacing, first, last, levels)
    }

    /// The same from the first to the last point of the finest grid along open axes.
    pub(crate) fn of_points(
        plan: &GridPlan,
        spacing: [f64; 3],
        first: [i64; 3],
        last: [i64; 3],
        levels: usize,
    ) -> Self {
        let open = open_shapes(plan.split.interpolation, first, last, Some(levels));
        let shapes = open.into_iter().enumerate().map(|(l, (mut first, mut shape))| {
            for k in (0..3).filter(|&k| plan.boundaries.periodic()[k]) {
                (first[k], shape[k]) = (0, plan.points[k] >> l);
            }
            (first, shape)
        });
        Self {
            boundaries: plan.boundaries,
            origin: [0.0; 3],
            spacing,
            shapes: shapes.collect(),
        }
    }
}

/// As many grids as are worth it for charges whose points below are between the origin and another.
fn around(interpolation: Interpolation, highest: [i64; 3]) -> Vec<Shape> {
    let last = highest.map(|i| i + interpolation.order() as i64 / 2);
    open_shapes(interpolation, [interpolation.first(); 3], last, None)
}

/// Points along an axis of a grid that is not worth a coarser one. Coarsening ends at 2(p − 1) points for an order p: near
/// that, a coarser grid has nearly as many, and the stencil reaches over all of them anyway.
fn few(interpolation: Interpolation) -> i64 {
    2 * (interpolation.order() as i64 - 1) + 4
}

/// Grids over points of the finest: so many, or as many as are worth it.
fn open_shapes(
    interpolation: Interpolation,
    mut first: [i64; 3],
    mut last: [i64; 3],
    levels: Option<usize>,
) -> Vec<Shape> {
    let mut shapes = Vec::new();
    loop {
        shapes.push((first, std::array::from_fn(|k| (last[k] - first[k] + 1) as usize)));
        let reach = interpolation.order() as i64 - 1;
        let coarse_first =
            first.map(|i| (i - reach).div_euclid(2) + i64::from((i - reach).rem_euclid(2) != 0));
        let coarse_last = last.map(|i| (i + reach).div_euclid(2));
        let small = (0..3).all(|k| last[k] - first[k] < few(interpolation));
        let coarser = (0..3).any(|k| coarse_last[k] - coarse_first[k] < last[k] - first[k]);
        if levels.map_or(small || !coarser, |levels| shapes.len() == levels) {
            return shapes;
        }
        (first, last) = (coarse_first, coarse_last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coarsening_ends_where_it_gains_nothing() {
        for order in [4, 6, 8] {
            let interpolation = Interpolation::of_order(order).unwrap();
            let shapes = around(interpolation, [40; 3]);
            let points: Vec<usize> = shapes.iter().map(|(_, shape)| shape[0]).collect();
            // No grid is followed by one that is nearly as large.
            assert!(
                points.windows(2).all(|pair| 10 * pair[1] <= 9 * pair[0]),
                "{order}: {points:?}"
            );
            assert!(
                points.len() <= 5 && points[points.len() - 1] <= 2 * order + 2,
                "{points:?}"
            );
        }
    }
}
