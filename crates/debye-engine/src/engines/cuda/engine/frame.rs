//! [`Region`]: the box that coordinates are fractions of, and [`Frame`], the same for the kernels.

use crate::expr::{Real, Vec3};
use crate::system::{Cell, Particles};

debye_gpu::device_struct! {
    /// The cell, or a box around the particles where that is open. Matrices are triangular: ax by cz bx cx cy.
    #[derive(PartialEq)]
    pub(super) struct Frame {
        pub(super) cell: [f64; 6],
        /// Its inverse, in whole coordinates of 64 bits.
        per_length: [f64; 6],
        /// Factors that velocities are yet to be multiplied with.
        pub(super) pending: [f64; 3],
        /// By how much it has changed since the list.
        pub(super) scale: [f64; 3],
        /// Lengths per unit of the upper halves of coordinates.
        unit: [f32; 6],
        /// Between opposite faces.
        height: [f32; 3],
        /// A particle that moved farther than the root of this makes the list stale.
        pub(super) limit2: f32,
    }
}

/// A box whose faces are those of the cell, or, along vectors that do not repeat, farther out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Region {
    pub(super) cell: Cell,
    /// Where it begins along each vector of the cell, and how long it is.
    pub(super) begin: [f64; 3],
    pub(super) length: [f64; 3],
}

/// Lengths around all particles of an open system that lists and near faces need, in radii.
const ROOM: f64 = 4.0;

impl Region {
    /// Around all particles, with room where the cell is open.
    pub(super) fn around(cell: &Cell, positions: &[Vec3<f64>], radius: f64) -> Self {
        let (mut begin, mut length) = ([0.0; 3], [1.0; 3]);
        let heights = cell.heights();
        for axis in 0..3 {
            if cell.periodic()[axis] {
                continue;
            }
            let along = positions.iter().map(|&r| cell.fractional(r)[axis]);
            let (low, high) = along.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), s| {
                (low.min(s), high.max(s))
            });
            // As much again as there is, and what lists and near faces need.
            let room = 0.5 * (high - low) + ROOM * radius / heights[axis];
            begin[axis] = low - room;
            length[axis] = high - low + 2.0 * room;
        }
        Self {
            cell: *cell,
            begin,
            length,
        }
    }

    /// The same with faces at whole multiples of a spacing along open axes, where grids want that.
    pub(super) fn on_grid(mut self, spacing: Option<f64>) -> Self {
        let (heights, periodic) = (self.cell.heights(), self.cell.periodic());
        for k in (0..3).filter(|&k| !periodic[k]) {
            let Some(h) = spacing else { break };
            let each = h / heights[k];
            let end = ((self.begin[k] + self.length[k]) / each).ceil();
            let first = (self.begin[k] / each).floor();
            (self.begin[k], self.length[k]) = (first * each, (end - first) * each);
        }
        self
    }

    /// How far particles were apart along each axis when the region was laid around them, about.
    pub(super) fn spread(&self, radius: f64) -> [f64; 3] {
        let heights = self.cell.heights();
        std::array::from_fn(|k| (0.5 * self.length[k] * heights[k] - ROOM * radius).max(0.0))
    }

    /// For a slab: as long along its open axis as the cell of the reciprocal vectors, around the middle of the
    /// particles, and begun at a point of the mesh. None where that leaves too little room above and below for lists.
    pub(super) fn of_slab(
        cell: &Cell,
        positions: &[Vec3<f64>],
        radius: f64,
        axis: usize,
        factor: f64,
        points: usize,
    ) -> Option<Self> {
        let along = positions.iter().map(|&r| cell.fractional(r)[axis]);
        let (low, high) = along.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), s| {
            (low.min(s), high.max(s))
        });
        let each = factor / points as f64;
        let first = ((0.5 * (low + high - factor)) / each).round() * each;
        let room = 1.5 * radius / cell.heights()[axis];
        if low - room < first || high + room > first + factor {
            return None;
        }
        let (mut begin, mut length) = ([0.0; 3], [1.0; 3]);
        (begin[axis], length[axis]) = (first, factor);
        Some(Self {
            cell: *cell,
            begin,
            length,
        })
    }

    /// A position as fractions of the box.
    pub(super) fn fractional(&self, r: Vec3<f64>) -> [f64; 3] {
        let s = self.cell.fractional(r);
        std::array::from_fn(|k| (s[k] - self.begin[k]) / self.length[k])
    }

    /// The position of fractions of the box.
    pub(super) fn position(&self, s: [f64; 3]) -> Vec3<f64> {
        self.cell
            .position(std::array::from_fn(|k| self.begin[k] + s[k] * self.length[k]).into())
    }

    /// A bit for every vector along which it ends.
    pub(super) fn open(&self) -> u32 {
        (0..3).filter(|&k| !self.cell.periodic()[k]).map(|k| 1 << k).sum()
    }

    /// Distances between opposite faces.
    pub(super) fn heights(&self) -> Vec3<f64> {
        self.cell.heights().scale(self.length.into())
    }

    pub(super) fn volume(&self) -> f64 {
        self.cell.volume() * self.length.iter().product::<f64>()
    }

    /// The wrapped fractions of every particle.
    pub(super) fn fractions(&self, particles: &Particles) -> Vec<[f64; 3]> {
        let wrapped = |&r: &Vec3<f64>| self.fractional(self.cell.wrap(r).0);
        particles.positions.iter().map(wrapped).collect()
    }

    /// What kernels know of it, for lists of this radius.
    pub(super) fn frame(&self, radius: f64, cutoff: f64) -> Frame {
        let [a, b, c] = self.cell.to_arrays();
        let [la, lb, lc] = self.length;
        let [ax, by, cz] = [a[0] * la, b[1] * lb, c[2] * lc];
        let [bx, cx, cy] = [b[0] * lb, c[0] * lc, c[1] * lc];
        let cell = [ax, by, cz, bx, cx, cy];
        let (per_length, unit, height) = derived(cell);
        Frame {
            cell,
            per_length,
            pending: [1.0; 3],
            scale: [1.0; 3],
            unit: unit.map(|x| x as f32),
            height: height.map(|x| x as f32),
            limit2: limit2(radius, cutoff, 1.0) as f32,
        }
    }

    /// With the cell as a barostat left it.
    pub(super) fn with_frame(&self, frame: &Frame) -> Self {
        let [ax, by, cz, bx, cx, cy] = frame.cell;
        let vectors = [[ax, 0.0, 0.0], [bx, by, 0.0], [cx, cy, cz]];
        // A cell that spans nothing was caught on the device.
        let cell = Cell::triclinic(vectors).map_or(self.cell, |c| c.with_periodicity(self.cell.periodic()));
        Self { cell, ..*self }
    }
}

/// What follows from a cell, which is given as in [`Frame`]: `per_length`, `unit` and `height`.
pub(super) fn derived<R: Real>(cell: [R; 6]) -> ([R; 6], [R; 6], [R; 3]) {
    let [ax, by, cz, bx, cx, cy] = cell;
    let inverse = [
        ax.recip(),
        by.recip(),
        cz.recip(),
        -bx / (ax * by),
        (bx * cy - cx * by) / (ax * by * cz),
        -cy / (by * cz),
    ];
    let [xx, yy, _, yx, zx, zy] = inverse;
    let height = [
        (xx * xx + yx * yx + zx * zx).sqrt().recip(),
        (yy * yy + zy * zy).sqrt().recip(),
        cz,
    ];
    let (whole, upper) = (R::lit(2.0_f64.powi(64)), R::lit(2.0_f64.powi(32)));
    (inverse.map(|x| x * whole), cell.map(|x| x / upper), height)
}

/// The square of how far a particle may move before a list is stale; the cell shrank by this factor since the list.
pub(super) fn limit2<R: Real>(radius: R, cutoff: R, shrunk: R) -> R {
    let half = (R::lit(0.5) * (radius * shrunk - cutoff)).max(R::lit(0.0));
    half * half * R::lit(0.9999)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_from_a_cell_is_its_inverse_and_its_heights() {
        let cell = Cell::triclinic([[7.0, 0.0, 0.0], [1.1, 8.0, 0.0], [-0.7, 1.9, 9.5]]).unwrap();
        let (per_length, unit, height) = derived([7.0, 8.0, 9.5, 1.1, -0.7, 1.9]);
        let s = cell.fractional(Vec3::new(2.0, 3.0, 5.0));
        let [xx, yy, zz, yx, zx, zy] = per_length.map(|x| x / 2.0_f64.powi(64));
        let found = [2.0 * xx + 3.0 * yx + 5.0 * zx, 3.0 * yy + 5.0 * zy, 5.0 * zz];
        for k in 0..3 {
            assert!((found[k] - s[k]).abs() < 1e-15 && (height[k] - cell.heights()[k]).abs() < 1e-14);
        }
        assert_eq!(unit[3] * 2.0_f64.powi(32), 1.1);
    }
}
