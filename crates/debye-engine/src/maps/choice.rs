//! What `auto` takes, and what a tolerance means.

use std::f64::consts::PI;

use super::charges::PointCharges;
use super::grid::Bounds;
use super::request::refuse_memory;
use super::{MapError, MapMethod, MapRequest};
use crate::forces::multilevel::{Interpolation, MultilevelPlan};

/// The relative error that is allowed unless another is asked for: √⟨ΔV²⟩ over √⟨V²⟩.
pub const TOLERANCE: f64 = 1e-3;

/// Settings of multilevel summation and their error on the charges of ApoA1 (92,224 atoms, 19,800 points): order, cut-off
/// and spacing in nm, √⟨ΔV²⟩/√⟨V²⟩. The cheapest first (docs/maps.md has the whole table).
const MEASURED: [(usize, f64, f64, f64); 6] = [
    (4, 1.2, 0.3, 1.8e-3),
    (6, 1.2, 0.25, 3.5e-4),
    (8, 1.2, 0.25, 1.7e-4),
    (8, 1.2, 0.2, 6.0e-5),
    (8, 1.6, 0.2, 1.4e-5),
    (8, 1.6, 0.15, 4.4e-6),
];

/// Costs in units of one charge at one point of the direct sum.
struct Costs {
    /// Of any map that is not a direct sum.
    fixed: f64,
    charge: f64,
    point: f64,
    /// Of a charge at a point within reach.
    near: f64,
    /// Of a coefficient of a stencil at a point of a level.
    stencil: f64,
    /// Of the mesh, per charge and per point of it.
    mesh: f64,
}

/// Measured on AVX-512 cores.
const CPU: Costs = Costs {
    fixed: 0.0,
    charge: 0.0,
    point: 40.0,
    near: 1.5,
    stencil: 0.15,
    mesh: 4000.0,
};

/// Measured on one H200, where a unit is 0.21 ps: charges are sorted on the host.
const CUDA: Costs = Costs {
    fixed: 2.9e10,
    charge: 6e5,
    point: 5e3,
    near: 11.0,
    stencil: 0.0,
    mesh: f64::INFINITY,
};

/// Memory of a point of the finest grid of multilevel summation, with its share of the coarser ones.
pub(super) const LEVEL_BYTES: f64 = 32.0;

/// Points of a mesh are about this far apart, in nm.
const MESH_SPACING: f64 = 0.11;

/// A method with the reason for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Which.
    pub method: MapMethod,
    /// Why, for people.
    pub why: Option<String>,
}

/// The cheapest settings of multilevel summation whose error was found below a tolerance.
pub(super) fn for_tolerance(tolerance: f64) -> Option<(usize, f64, f64, f64)> {
    // Other systems may fare worse than the one that was measured.
    MEASURED.into_iter().find(|(.., error)| 2.0 * error <= tolerance)
}

impl MapRequest {
    /// Split and grids of multilevel summation: as asked for, else for the tolerance.
    pub(super) fn multilevel_plan(&self) -> Result<MultilevelPlan, MapError> {
        let tolerance = self.tolerance.unwrap_or(TOLERANCE);
        let asked = self.order.is_some() || self.cutoff.is_some() || self.spacing.is_some();
        let (order, cutoff, spacing, _) = match for_tolerance(tolerance) {
            Some(measured) => measured,
            None if asked => MEASURED[MEASURED.len() - 1],
            None => {
                let least = MEASURED[MEASURED.len() - 1].3;
                return Err(MapError::MultilevelTolerance { tolerance, least });
            }
        };
        let order = self.order.unwrap_or(order);
        let cutoff = self.cutoff.unwrap_or(cutoff);
        Ok(MultilevelPlan {
            cutoff,
            spacing: self.spacing.unwrap_or(spacing),
            interpolation: Interpolation::of_order(order).ok_or(MapError::Order(order))?,
        })
    }

    /// The method that will be taken: the one that was asked for, or by predicted cost the cheapest that reaches the
    /// tolerance.
    pub fn choose(&self, charges: &PointCharges) -> Choice {
        let take = |method, why: String| Choice {
            method,
            why: Some(why),
        };
        if self.method != MapMethod::Auto {
            return Choice {
                method: self.method,
                why: None,
            };
        }
        let tolerance = self.tolerance.unwrap_or(TOLERANCE);
        let multilevel = for_tolerance(tolerance).map(|(order, ..)| (order, self.multilevel_cost(charges)));
        match (&self.cell, multilevel) {
            (Some(cell), _) if !cell.is_orthorhombic() => {
                take(MapMethod::Mesh, "the cell is periodic and triclinic".into())
            }
            (Some(_), None) => take(
                MapMethod::Mesh,
                format!("periodic, and below the error of multilevel summation: {tolerance}"),
            ),
            (Some(_), Some((_, cost))) => {
                let mesh = self.mesh_cost(charges);
                if mesh < cost {
                    take(MapMethod::Mesh, compared("multilevel", cost / mesh))
                } else {
                    take(MapMethod::Multilevel, compared("mesh", mesh / cost))
                }
            }
            (None, None) => take(
                MapMethod::Direct,
                format!("below the error of multilevel summation: {tolerance}"),
            ),
            (None, Some((_, cost))) => {
                let direct = charges.len() as f64 * self.grid.points() as f64;
                if direct <= cost {
                    take(MapMethod::Direct, compared("multilevel", cost / direct))
                } else {
                    take(MapMethod::Multilevel, compared("direct", direct / cost))
                }
            }
        }
    }

    fn costs(&self) -> Costs {
        match self.target.device() {
            Ok(Some(_)) => CUDA,
            _ => CPU,
        }
    }

    fn multilevel_cost(&self, charges: &PointCharges) -> f64 {
        let costs = self.costs();
        let Ok(plan) = self.multilevel_plan() else {
            return f64::INFINITY;
        };
        let levels = self.level_points(&plan, charges);
        if refuse_memory(self.grid.points(), LEVEL_BYTES * levels).is_err() {
            return f64::INFINITY;
        }
        let stencil = 4.0 / 3.0 * PI * (2.0 * plan.cutoff / plan.spacing).powi(3);
        costs.fixed
            + costs.charge * charges.len() as f64
            + costs.near * self.near(plan.cutoff, charges)
            + costs.stencil * 8.0 / 7.0 * levels * stencil.min(8.0 * levels)
            + costs.point * self.grid.points() as f64
    }

    /// Points of the finest grid of multilevel summation: over the cell, or over all charges and points.
    pub(super) fn level_points(&self, plan: &MultilevelPlan, charges: &PointCharges) -> f64 {
        let all = Bounds::of(charges.positions()).with(self.grid.bounds());
        match self.cell {
            Some(cell) => cell.volume() / plan.spacing.powi(3),
            None => (0..3)
                .map(|k| (all.upper[k] - all.lower[k]) / plan.spacing + 8.0)
                .product(),
        }
    }

    fn mesh_cost(&self, charges: &PointCharges) -> f64 {
        let points = self.cell.map_or(0.0, |cell| cell.volume()) / MESH_SPACING.powi(3);
        let costs = self.costs();
        2.0 * costs.near * self.near(self.cutoff.unwrap_or(super::mesh::CUTOFF), charges)
            + costs.mesh * (points + charges.len() as f64)
            + costs.point * self.grid.points() as f64
    }

    /// For a part that reaches so far: points of the rows that charges are near to.
    fn near(&self, reach: f64, charges: &PointCharges) -> f64 {
        let [a, b, c] = self.grid.spacing().to_array();
        let [x, y, z] = [16.0 * a, 8.0 * b, c];
        let near = x * y * z
            + 2.0 * (x * y + y * z + z * x) * reach
            + PI * reach * reach * (x + y + z)
            + 4.0 / 3.0 * PI * reach.powi(3);
        let points = (near / (a * b * c)).min(self.grid.points() as f64);
        points * charges.len() as f64
    }
}

fn compared(other: &str, factor: f64) -> String {
    let times = match factor {
        ..10.0 => format!("{factor:.1} times "),
        // More than the memory holds, or not for this device.
        f64::INFINITY => String::new(),
        _ => format!("{factor:.0} times "),
    };
    format!("predicted to take {times}less than {other}")
}
