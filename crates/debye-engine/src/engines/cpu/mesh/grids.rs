//! [`Grids`]: multilevel summation on the CPU. Charges are spread over the finest grid and forces gathered from it as with
//! a mesh; nested grids give the potential between.

use super::kernels::Axes;
use super::planes::Planes;
use super::spread::{OPEN_SLAB, Spots};
use super::{MeshReal, add_without_mean};
use crate::engines::EngineError;
use crate::expr::Vec3;
use crate::forces::electrostatics::{MeshPlan, Part};
use crate::forces::multilevel::{GridPlan, GridReal, GridSums, Levels, Nested};
use crate::forces::pme::Basis;
use crate::simd::InstructionSet;
use crate::system::Cell;

/// Points of the finest grid, at most.
const MOST_POINTS: f64 = 1e8;

/// Grids that follow the cell along periodic axes and the particles along open ones.
pub struct Grids<T: MeshReal + GridReal> {
    plan: GridPlan,
    set: InstructionSet,
    placed: Option<Placed<T>>,
    forces: Vec<Vec3<f64>>,
}

/// Grids as they are now.
struct Placed<T: MeshReal + GridReal> {
    edges: [f64; 3],
    /// What they cover along open axes. Sums do not depend on it: charges further out are zero.
    covers: Bounds,
    levels: Levels<T>,
    axes: Axes,
    spots: Spots<T>,
    planes: Planes<T>,
}

type Bounds = [[f64; 3]; 2];

impl<T: MeshReal + GridReal> Grids<T> {
    /// For a plan. A set this processor lacks is refitted by the best it has.
    pub fn new(plan: GridPlan, set: InstructionSet) -> Self {
        let has = InstructionSet::available().contains(&set);
        Self {
            plan,
            set: if has { set } else { InstructionSet::detect() },
            placed: None,
            forces: Vec::new(),
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let of_grids = |p: &Placed<T>| p.planes.bytes() + p.spots.bytes() + p.levels.bytes();
        self.placed.as_ref().map_or(0, of_grids) + self.forces.capacity() * 24
    }

    /// Adds the forces of the smooth part of 1/r; with `energy`, gives its energy, and its virial in periodic cells. `k` is
    /// k_e over the permittivity.
    ///
    /// # Errors
    /// Particles too far apart for grids between them.
    pub fn add(
        &mut self,
        cell: &Cell,
        k: f64,
        positions: &[Vec3<f64>],
        charges: &[f64],
        forces: &mut [Vec3<f64>],
        energy: bool,
    ) -> Result<Part, EngineError> {
        self.spread(cell, positions, charges)?;
        let part = self.solve(energy);
        self.gather(k, charges, forces);
        Ok(Part {
            energy: k * part.energy,
            virial: part.virial.map(|w| k * w),
        })
    }

    /// The first stage of [`Self::add`]: charges on the finest grid.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn spread(
        &mut self,
        cell: &Cell,
        positions: &[Vec3<f64>],
        charges: &[f64],
    ) -> Result<(), EngineError> {
        let placed = match self.placed.take() {
            Some(placed) => self.plan.refitted(placed, cell, positions, self.set)?,
            None => Placed::new(&self.plan, edges(cell), bounds(positions), self.set)?,
        };
        let placed = self.placed.insert(placed);
        placed.spots.place(&placed.axes, positions, charges);
        placed.spots.spread(&mut placed.planes);
        Ok(())
    }

    /// Puts values on every point that [`Self::spread`] spread to, the third index fastest.
    pub fn set_values(&mut self, values: &[T]) {
        if let Some(placed) = &mut self.placed {
            placed.planes.unpack(values);
        }
    }

    /// What is at every point now, the third index fastest; empty before [`Self::spread`].
    pub fn values(&self) -> Vec<T> {
        self.placed
            .as_ref()
            .map_or(Vec::new(), |placed| placed.planes.packed())
    }

    /// The second: their potential, without k_e. With `sums`, energy and virial.
    pub fn solve(&mut self, sums: bool) -> Part {
        let Some(placed) = &mut self.placed else {
            return Part::default();
        };
        let (potential, GridSums { energy, virial }) =
            placed.levels.potential_of(placed.planes.packed(), sums);
        placed.planes.unpack(&potential);
        Part { energy, virial }
    }

    /// The third: adds forces from the potential on the finest grid, less their mean.
    pub fn gather(&mut self, k: f64, charges: &[f64], forces: &mut [Vec3<f64>]) {
        let Some(placed) = &self.placed else {
            return;
        };
        self.forces.resize(charges.len(), Vec3::zero());
        let spacing = placed.levels.spacing();
        let along = std::array::from_fn(|axis| unit(axis) * (-k / spacing[axis]));
        let sum = placed
            .spots
            .gather(&placed.planes, charges, along, &mut self.forces);
        add_without_mean(&self.forces, sum, charges, forces);
    }
}

impl GridPlan {
    /// The same grids, unless the cell has changed or particles have left them.
    fn refitted<T: MeshReal + GridReal>(
        &self,
        placed: Placed<T>,
        cell: &Cell,
        positions: &[Vec3<f64>],
        set: InstructionSet,
    ) -> Result<Placed<T>, EngineError> {
        let periodic = self.boundaries.periodic();
        let [lower, upper] = bounds(positions);
        let inside =
            (0..3).all(|k| periodic[k] || placed.covers[0][k] <= lower[k] && upper[k] <= placed.covers[1][k]);
        let levels = self.levels_over(lower, upper);
        if placed.edges == edges(cell) && inside && placed.levels.shapes().len() == levels {
            return Ok(placed);
        }
        Placed::new(self, edges(cell), [lower, upper], set)
    }
}

impl<T: MeshReal + GridReal> Placed<T> {
    fn new(
        plan: &GridPlan,
        edges: [f64; 3],
        [lower, upper]: Bounds,
        set: InstructionSet,
    ) -> Result<Self, EngineError> {
        let split = plan.split;
        // Room to move before there must be other grids.
        let room = 2.0 * split.spacing;
        let covers = [lower.map(|x| x - room), upper.map(|x| x + room)];
        let spread = (0..3).map(|k| covers[1][k] - covers[0][k]).fold(0.0, f64::max);
        let along = |k: usize| match plan.boundaries.periodic()[k] {
            true => plan.points[k] as f64,
            false => (covers[1][k] - covers[0][k]) / split.spacing,
        };
        let points: f64 = (0..3).map(along).product();
        if !(points <= MOST_POINTS && spread / split.spacing < 1e6) {
            return Err(EngineError::Spread { spread, points });
        }
        let levels = plan.levels_over(lower, upper);
        // Pairs of slabs begin at the same points wherever the grid begins, so that sums have one order.
        let nested = Nested::of_plan(plan, edges, covers, [2 * OPEN_SLAB as i64, 1, 1], levels);
        let (first, size) = nested.shapes[0];
        let mesh = MeshPlan {
            size,
            basis: Basis::interpolating(split.interpolation),
            optimal: false,
        };
        let open = |k: usize| !plan.boundaries.periodic()[k];
        let per = |k: usize| if open(k) { split.spacing } else { edges[k] };
        Ok(Self {
            edges,
            covers,
            levels: Levels::new(split, nested, set),
            axes: Axes {
                vectors: std::array::from_fn(|k| unit(k) * per(k).recip()),
                first: std::array::from_fn(|k| open(k).then_some(first[k] as i32)),
            },
            spots: if open(0) {
                Spots::open(mesh, set)
            } else {
                Spots::new(mesh, set)
            },
            planes: Planes::new(size),
        })
    }
}

/// The edges of an orthorhombic cell.
fn edges(cell: &Cell) -> [f64; 3] {
    let vectors = cell.to_arrays();
    std::array::from_fn(|k| vectors[k][k])
}

fn unit(axis: usize) -> Vec3<f64> {
    Vec3::from(std::array::from_fn(|k| if k == axis { 1.0 } else { 0.0 }))
}

/// The smallest and largest coordinates.
fn bounds(positions: &[Vec3<f64>]) -> Bounds {
    positions
        .iter()
        .fold([[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]], |[low, high], r| {
            [
                std::array::from_fn(|k| low[k].min(r[k])),
                std::array::from_fn(|k| high[k].max(r[k])),
            ]
        })
}
