//! [`Verlet`]: what the list of neighbors was made from, how long it holds, and how it is made anew.

use std::time::Instant;

use crate::parallel::{Indexed, IntoIndexed};

use super::engine::CpuEngine;
use super::motion;
use super::shared_rows;
use super::space::Sorted;
use super::state::BLOCK;
use super::tolerance::CutoffEnd;
use crate::engines::EngineError;
use crate::engines::memory::refuse_large_lists;
use crate::expr::Vec3;
use crate::neighbors::{CountingSort, Grid};
use crate::system::Cell;

/// Cost of a new list in units of one evaluation of the forces; only the choice of the buffer uses it. More than is
/// measured (2 to 3.5): a part of an evaluation does not grow with the list.
const REBUILD_COST: f64 = 4.0;

/// What the list of neighbors was made from, and how long it holds.
#[derive(Clone, Debug)]
pub(super) struct Verlet {
    /// Largest cut-off.
    pub(super) cutoff: f64,
    /// The buffer asked for; `None` to choose.
    pub(super) fixed_buffer: Option<f64>,
    /// Everything within this distance was listed.
    pub(super) radius: f64,
    /// Positions then.
    pub(super) reference: Vec<Vec3<f64>>,
    /// Cell then.
    pub(super) reference_cell: Cell,
    /// By how much a barostat has scaled space since.
    pub(super) scale: Vec3<f64>,
    /// Step of the list.
    pub(super) step: u64,
    /// Lists made so far.
    pub(super) builds: u64,
    /// Energy per particle and step that missed pairs may cost, and how the potentials end; `None`
    /// to miss no pair.
    pub(super) tolerance: Option<(f64, CutoffEnd)>,
}

impl CpuEngine {
    /// Brings the list up to date: a new one where any pair may have come too close unseen.
    pub(super) fn refresh(&mut self) -> Result<(), EngineError> {
        let began = Instant::now();
        let v = &self.verlet;
        let moved = motion::displacements(&self.state.positions, &v.reference, v.scale);
        let [first, second] = moved.largest;
        let heights = self.state.cell.heights();
        let longest = heights.x.max(heights.y).max(heights.z).max(4.0 * v.radius);
        if first.is_nan() || first > longest {
            return Err(self.diagnose());
        }
        let shrink = v.scale.x.min(v.scale.y).min(v.scale.z);
        let left = if v.cutoff > 0.0 {
            v.radius * shrink - v.cutoff - first - second
        } else {
            // No pairs: particles are only wrapped now and then.
            0.1 * heights.x.min(heights.y).min(heights.z) - first
        };
        // Coordinates and the place out of reach belong to the region the list was made for.
        let stretched = v.scale.to_array().iter().any(|s| !(0.95..1.05).contains(s));
        if stretched || left < 0.0 && !self.tolerates(&moved, shrink) {
            self.choose_buffer(first + second);
            self.state.wrap();
            self.rebuild()?;
        } else {
            self.pairs
                .update(&self.state.cell, &self.state.positions, &self.state.rotations);
            self.stages.add("positions", began);
        }
        Ok(())
    }

    /// Whether a list that may have missed pairs is still within the drift allowed.
    fn tolerates(&self, moved: &motion::Moved, shrink: f64) -> bool {
        let v = &self.verlet;
        let Some((per_step, end)) = v.tolerance else {
            return false;
        };
        // Coordinates leave a margin of a fifth of the radius around the particles.
        if v.cutoff <= 0.0 || moved.largest[0] > 0.1 * v.radius {
            return false;
        }
        let listed = self.pairs.size().pairs as f64 / self.state.len() as f64;
        let density = listed / (4.0 / 3.0 * std::f64::consts::PI * v.radius.powi(3));
        let buffer = v.radius * shrink - v.cutoff;
        // The displacements of two particles add their variances.
        let missed = end.missed_energy((2.0 * moved.variance).sqrt(), buffer, density, v.cutoff);
        missed <= per_step * (self.state.step - v.step) as f64
    }

    /// The buffer b for which (r_c + b)³ (1 + B w/b) is smallest: forces cost as the volume of the
    /// list, lists B times that every b/w steps, w being how fast the two fastest particles moved.
    fn choose_buffer(&mut self, moved: f64) {
        let cost = REBUILD_COST;
        let v = &mut self.verlet;
        let buffer = v.fixed_buffer.unwrap_or_else(|| {
            let steps = (self.state.step - v.step).max(1) as f64;
            let bw = cost * moved / steps;
            let best = ((4.0 * bw * bw + 12.0 * bw * v.cutoff).sqrt() - 2.0 * bw) / 6.0;
            best.clamp(0.03 * v.cutoff, 0.5 * v.cutoff)
        });
        v.radius = v.cutoff + buffer;
    }

    /// Sorts the particles and makes a new list.
    pub(super) fn rebuild(&mut self) -> Result<(), EngineError> {
        let began = Instant::now();
        let radius = self.verlet.radius;
        let s = &self.state;
        let grid = grid(&s.cell, &s.positions, &s.sharing, radius);
        let sort = sort_into(&grid, &s.positions, &s.sharing);
        if self.verlet.builds == 0 {
            let sharing = &self.state.sharing;
            refuse_large_lists(
                &self.state.cell,
                &self.state.positions,
                self.pairs.rows(self.state.len()),
                radius + shared_rows::arm(&self.state.positions, sharing),
                &grid,
                sort.starts(),
            )?;
        }
        self.state.sort(sort.order());
        self.constrained.set_slots(&self.state.slot_of);
        self.verlet.reference = self.state.positions.clone();
        self.verlet.reference_cell = self.state.cell;
        self.verlet.scale = Vec3::splat(1.0);
        self.verlet.step = self.state.step;
        self.verlet.builds += 1;
        self.stages.add("sort", began);
        let began = Instant::now();
        self.list(&grid, sort.starts());
        self.stages.add("neighbors", began);
        Ok(())
    }

    /// The list of the reference positions, which are in the order of `grid`.
    fn list(&mut self, grid: &Grid, starts: &[u32]) {
        let (positions, sharing) = (&self.verlet.reference, &self.state.sharing);
        let sorted = Sorted {
            grid,
            cells: &cells_of(grid, positions, sharing),
            starts,
            positions,
            sharing,
            arm: shared_rows::arm(positions, sharing),
            species: &self.state.species,
            charges: &self.state.charges,
            ids: &self.state.ids,
            exclusions: &self.exclusions,
            rotations: &self.state.rotations,
        };
        self.pairs
            .rebuild(&self.verlet.reference_cell, &sorted, self.verlet.radius);
    }

    /// Makes the list of a restored state again, bit for bit. Where the state was saved by a program or on a processor whose
    /// lists are made otherwise, a new one is made.
    pub(super) fn restore_list(&mut self) -> Result<(), EngineError> {
        self.constrained.set_slots(&self.state.slot_of);
        let (v, sharing) = (&self.verlet, &self.state.sharing);
        let grid = grid(&v.reference_cell, &v.reference, sharing, v.radius);
        let sort = sort_into(&grid, &v.reference, sharing);
        let in_order = (0..).zip(sort.order()).all(|(slot, &from)| slot == from);
        if !in_order || !shared_rows::are_gathered(&v.reference_cell, &v.reference, sharing) {
            if let Some(shared_rows) = &self.shared_rows {
                let of = &self.state.slot_of;
                let order: Vec<u32> = shared_rows.order().iter().map(|&id| of[id as usize]).collect();
                self.state.sort(&order);
                self.state.sharing = shared_rows.sharing(&self.state.ids);
            }
            self.state.wrap();
            return self.rebuild();
        }
        self.list(&grid, sort.starts());
        self.pairs
            .update(&self.state.cell, &self.state.positions, &self.state.rotations);
        Ok(())
    }
}

/// Cells in which everybody within `radius` is found. Both of a pair may be in the cell of a companion.
fn grid(cell: &Cell, positions: &[Vec3<f64>], sharing: &[u8], radius: f64) -> Grid {
    Grid::over(
        cell,
        positions,
        radius + 2.0 * shared_rows::arm(positions, sharing),
    )
}

/// The cell of each particle, or of the first of those that share its row.
fn cells_of(grid: &Grid, positions: &[Vec3<f64>], sharing: &[u8]) -> Vec<u32> {
    (0..positions.len())
        .into_par_iter()
        .with_min_len(BLOCK)
        .map(|slot| grid.cell_of(positions[shared_rows::first_of(sharing, slot)]))
        .collect()
}

fn sort_into(grid: &Grid, positions: &[Vec3<f64>], sharing: &[u8]) -> CountingSort {
    let keys = cells_of(grid, positions, sharing);
    let mut sort = CountingSort::new();
    // The keys are cells of the grid, so the sort cannot refuse them.
    if sort.sort(&keys, grid.cells()).is_err() {
        debug_assert!(false, "a cell outside the grid");
    }
    sort
}
