//! Maps by particle mesh Ewald: the engine's own spreading and transforms.

use crate::parallel::{Indexed, IntoIndexed};

use super::charges::PointCharges;
use super::tiles::MapReal;
use super::{MapError, MapGrid, MapRequest};
use crate::engines::cpu::mesh::{Mesh, MeshReal};
use crate::engines::cuda::mesh::{MeshNumber, MeshShape};
use crate::expr::Vec3;
use crate::forces::electrostatics::{Boundary, MeshPlan};
use crate::forces::multilevel::GridReal;
use crate::forces::multilevel::separable::along_axis;
use crate::forces::pme::Basis;
use crate::forces::pme::estimate::{Charged, coarsest};
use crate::system::{Cell, Units};

/// The cut-off of the real-space part unless another is asked for, in nm.
pub(super) const CUTOFF: f64 = 0.9;
/// The tolerance unless another is asked for, in forces between neighbors.
const TOLERANCE: f64 = 1e-4;

/// The order of splines for a tolerance. Maps are gathered axis by axis, so that a high order costs little.
fn order(tolerance: f64) -> usize {
    if tolerance < 2e-5 { 8 } else { 6 }
}

/// Numbers of a mesh that a map may be gathered from, on the CPU and on a device.
pub(super) trait MapMesh: MeshReal + MeshNumber {}
impl MapMesh for f32 {}
impl MapMesh for f64 {}

/// How 1/r is split, and the mesh.
pub(super) struct Plan {
    pub(super) alpha: f64,
    pub(super) cutoff: f64,
    pub(super) mesh: MeshPlan,
    pub(super) cell: Cell,
}

impl Plan {
    pub(super) fn new(request: &MapRequest, charges: &PointCharges) -> Result<Self, MapError> {
        let cell = request.cell.filter(|cell| cell.periodic() == [true; 3]);
        let cell = cell.ok_or(MapError::Open("mesh"))?;
        let cutoff = request.cutoff.unwrap_or(CUTOFF);
        let tolerance = request.tolerance.unwrap_or(TOLERANCE);
        let charged = Charged::new(
            &cell,
            Boundary::Conductor,
            charges.charges(),
            Units::Md.coulomb_constant(),
        );
        let error = tolerance * charged.usual_force();
        let alpha = charged.alpha(cutoff, error);
        let mesh = coarsest(&charged, alpha, Basis::BSpline(order(tolerance)), false, error);
        Ok(Self {
            alpha,
            cutoff,
            mesh: mesh.ok_or(MapError::Tolerance(tolerance))?,
            cell,
        })
    }

    /// The mesh, for a device.
    pub(super) fn shape(&self) -> MeshShape {
        MeshShape {
            size: self.mesh.size.map(|n| n as u32),
            basis: self.mesh.basis,
        }
    }

    /// For people.
    pub(super) fn described(&self) -> String {
        let [a, b, c] = self.mesh.size;
        let order = self.mesh.basis.points();
        format!(
            "{a} × {b} × {c} points of order {order}, cut-off {} Å",
            10.0 * self.cutoff
        )
    }

    /// `k` times the smooth part: what the mesh gives at every point, and the background of a cell that is not neutral.
    pub(super) fn smooth<T: MapReal + GridReal + MapMesh>(
        &self,
        request: &MapRequest,
        charges: &PointCharges,
        k: f64,
    ) -> Vec<T> {
        let mut mesh = Mesh::<T>::new(self.mesh, self.alpha, request.set);
        let potential = mesh.potential(&self.cell, charges.positions(), charges.charges());
        let background = self.background(charges.total());
        let mut values = self.gathered(&request.grid, potential);
        for value in &mut values {
            *value = <T as MapReal>::of(k * (<T as Into<f64>>::into(*value) + background));
        }
        values
    }

    /// The potential of the background of a cell with a net charge.
    pub(super) fn background(&self, net: f64) -> f64 {
        -std::f64::consts::PI * net / (self.alpha * self.alpha * self.cell.volume())
    }

    /// What a potential on the mesh is at the points of a grid.
    pub(super) fn gathered<T: GridReal>(&self, grid: &MapGrid, potential: Vec<T>) -> Vec<T> {
        if !self.cell.is_orthorhombic() {
            let at = |i| T::of(self.at(grid.position(grid.point(i)), &potential));
            return (0..grid.points()).into_par_iter().map(at).collect();
        }
        // Axis by axis.
        let (mut values, mut shape) = (potential, self.mesh.size);
        for (axis, lists) in self.lists(grid).iter().enumerate().rev() {
            values = along_axis(&values, shape, axis, lists);
            shape[axis] = lists.len();
        }
        values
    }

    /// In a rectangular cell, what each plane of a grid takes from planes of the mesh, along x, y and z.
    pub(super) fn lists<T: GridReal>(&self, grid: &MapGrid) -> [Vec<Vec<(usize, T)>>; 3] {
        let vectors = self.cell.to_arrays();
        std::array::from_fn(|axis| {
            let scale = self.mesh.size[axis] as f64 / vectors[axis][axis];
            let touched = |x: f64| self.touched(axis, x * scale);
            let list = |x: f64| touched(x).map(|(i, w)| (i, T::of(w))).collect();
            grid.along(axis).map(list).collect()
        })
    }

    /// The mesh points that a coordinate takes its value from, in units of the mesh, and their weights.
    fn touched(&self, axis: usize, u: f64) -> impl Iterator<Item = (usize, f64)> + use<> {
        let MeshPlan { size, basis, .. } = self.mesh;
        let weights = basis.weights(u - u.floor()).values;
        let first = u.floor() as i64 + i64::from(basis.first());
        (0..basis.points()).map(move |j| {
            (
                (first + j as i64).rem_euclid(size[axis] as i64) as usize,
                weights[j],
            )
        })
    }

    /// In any cell.
    fn at<T: Copy + Into<f64>>(&self, r: Vec3<f64>, potential: &[T]) -> f64 {
        let size = self.mesh.size;
        let s = self.cell.fractional(r);
        let [xs, ys, zs] = [0, 1, 2].map(|k| self.touched(k, s[k] * size[k] as f64).collect::<Vec<_>>());
        let mut sum = 0.0;
        for &(x, a) in &xs {
            for &(y, b) in &ys {
                let row = (x * size[1] + y) * size[2];
                for &(z, c) in &zs {
                    sum += a * b * c * potential[row + z].into();
                }
            }
        }
        sum
    }
}
