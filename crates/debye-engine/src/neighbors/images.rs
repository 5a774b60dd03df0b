//! [`Images`]: copies of particles beyond the faces of the cell, so that kernels know no boundary.

use crate::parallel::{InParallel, Indexed};

use crate::expr::Vec3;
use crate::system::Cell;

/// A copy of a particle, moved by whole cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// The particle it copies.
    pub owner: u32,
    /// By how many cells along a, b, c.
    pub shift: [i16; 3],
}

/// Particles per block of work.
const BLOCK: usize = 4096;

/// Every image within `radius` of the cell, for particles inside the cell. Small cells give
/// several images of a particle along an axis.
pub fn images(cell: &Cell, positions: &[Vec3<f64>], radius: f64) -> Vec<Image> {
    let heights = cell.heights();
    let margin: [f64; 3] = std::array::from_fn(|k| radius / heights[k]);
    let blocks: Vec<Vec<Image>> = positions
        .par_chunks(BLOCK)
        .enumerate()
        .map(|(block, chunk)| {
            let mut found = Vec::new();
            for (offset, &r) in chunk.iter().enumerate() {
                push_images(cell, margin, (block * BLOCK + offset) as u32, r, &mut found);
            }
            found
        })
        .collect();
    blocks.concat()
}

#[inline]
fn push_images(cell: &Cell, margin: [f64; 3], owner: u32, r: Vec3<f64>, found: &mut Vec<Image>) {
    let s = cell.fractional(r);
    let range = |k: usize| {
        if cell.periodic()[k] {
            (-floor(margin[k] + s[k]), floor(1.0 + margin[k] - s[k]))
        } else {
            (0, 0)
        }
    };
    let [x, y, z] = [range(0), range(1), range(2)];
    if x == (0, 0) && y == (0, 0) && z == (0, 0) {
        return;
    }
    for k in z.0..=z.1 {
        for j in y.0..=y.1 {
            for i in x.0..=x.1 {
                if [i, j, k] != [0; 3] {
                    found.push(Image {
                        owner,
                        shift: [i, j, k],
                    });
                }
            }
        }
    }
}

/// The largest whole number not above `x`; on the baseline instruction set `f64::floor` is a function call.
#[inline(always)]
fn floor(x: f64) -> i16 {
    let towards_zero = x as i16;
    towards_zero - i16::from(f64::from(towards_zero) > x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_cell_has_many_images() {
        let cell = Cell::orthorhombic([1.0; 3]).unwrap();
        let found = images(&cell, &[Vec3::new(0.5, 0.5, 0.5)], 1.6);
        // −1, 0, 1 and ±2 reach ±1.6 beyond the faces: 0.5 ± 2 = 2.5 ≤ 2.6.
        assert_eq!(found.len(), 5 * 5 * 5 - 1);
        let open = cell.with_periodicity([true, false, false]);
        assert_eq!(images(&open, &[Vec3::new(0.5, 0.5, 0.5)], 1.6).len(), 4);
    }
}
