//! [`Order`]: in which order ions are cut into blocks of 32.

use debye::neighbors::Grid;

use super::salt::{CUTOFF, SKIN, Salt};
use crate::study::StudyError;

/// Ions of a block: lanes of a warp.
pub const BLOCK: usize = 32;
/// A slot of a block without an ion.
pub(super) const EMPTY: u32 = u32::MAX;

/// An order of ions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Voxels along a Hilbert curve: the paper.
    Hilbert,
    /// Voxels in rows: what the paper's code comes to.
    Rows,
    /// The cells of the engine on the processor, row after row in serpentines.
    Cells,
    /// Columns along z, each cut into whole blocks, as the engine on CUDA devices has them.
    Columns,
}

impl Order {
    /// Every order.
    pub const ALL: [Self; 4] = [Self::Hilbert, Self::Rows, Self::Cells, Self::Columns];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hilbert => "Hilbert curve",
            Self::Rows => "rows of voxels",
            Self::Cells => "cells in serpentines",
            Self::Columns => "columns along z",
        }
    }

    /// The ion in every slot; whole blocks, some slots [`EMPTY`].
    pub(super) fn slots(self, salt: &Salt) -> Result<Vec<u32>, StudyError> {
        let mut slots = match self {
            Self::Hilbert => sorted(salt, hilbert),
            Self::Rows => sorted(salt, |[x, y, z], bits| {
                (u64::from(x) << (2 * bits)) | (u64::from(y) << bits) | u64::from(z)
            }),
            Self::Cells => {
                let positions = salt.vectors();
                let grid = Grid::over(&salt.cell()?, &positions, salt.cutoff + SKIN);
                let mut order: Vec<u32> = (0..salt.len() as u32).collect();
                order.sort_by_key(|&i| grid.cell_of(positions[i as usize]));
                order
            }
            Self::Columns => columns(salt),
        };
        slots.resize(slots.len().next_multiple_of(BLOCK), EMPTY);
        Ok(slots)
    }
}

/// Voxels along an axis: a power of two, each no wider than the cut-off (as the paper's code chooses them).
fn voxels(salt: &Salt) -> u32 {
    let least = (salt.side / salt.cutoff.min(CUTOFF)).ceil().max(1.0) as u32;
    least.next_power_of_two()
}

/// Ions by the number of their voxel; those of one voxel in the order of the input.
fn sorted(salt: &Salt, number: impl Fn([u32; 3], u32) -> u64) -> Vec<u32> {
    let along = voxels(salt);
    let bits = along.trailing_zeros();
    let voxel = |r: &[f64; 3]| r.map(|x| ((x / salt.side * f64::from(along)) as u32).min(along - 1));
    let mut order: Vec<(u64, u32)> = salt
        .positions
        .iter()
        .zip(0..)
        .map(|(r, i)| (number(voxel(r), bits), i))
        .collect();
    order.sort_unstable();
    order.into_iter().map(|(_, i)| i).collect()
}

/// How far along a Hilbert curve of 2^bits points along each axis a point lies (Skilling 2004); it starts at (0, 0, 0).
pub fn hilbert(mut at: [u32; 3], bits: u32) -> u64 {
    if bits == 0 {
        return 0;
    }
    // Undo excess work, from the highest bit down.
    let mut q = 1 << (bits - 1);
    while q > 1 {
        let p = q - 1;
        for i in 0..3 {
            if at[i] & q != 0 {
                at[0] ^= p;
            } else {
                let t = (at[0] ^ at[i]) & p;
                at[0] ^= t;
                at[i] ^= t;
            }
        }
        q >>= 1;
    }
    // Gray code.
    at[1] ^= at[0];
    at[2] ^= at[1];
    let mut t = 0;
    let mut q = 1 << (bits - 1);
    while q > 1 {
        if at[2] & q != 0 {
            t ^= q - 1;
        }
        q >>= 1;
    }
    let at = at.map(|x| x ^ t);
    (0..bits).rev().fold(0, |number, bit| {
        let digit = |k: usize| u64::from(at[k] >> bit & 1);
        number << 3 | digit(0) << 2 | digit(1) << 1 | digit(2)
    })
}

/// Columns of about the width of a cube of 32 ions, each sorted by z and filled up to whole blocks.
fn columns(salt: &Salt) -> Vec<u32> {
    let per_block = BLOCK as f64 / salt.len() as f64;
    let along = (per_block.cbrt().recip().round() as usize).max(1);
    let number = |x: f64| ((x / salt.side * along as f64) as usize).min(along - 1);
    let mut all: Vec<Vec<u32>> = vec![Vec::new(); along * along];
    for (r, i) in salt.positions.iter().zip(0..) {
        all[number(r[1]) * along + number(r[0])].push(i);
    }
    let mut slots = Vec::new();
    for column in &mut all {
        let height = |i: u32| salt.positions[i as usize][2];
        column.sort_by(|&a, &b| height(a).total_cmp(&height(b)));
        slots.extend_from_slice(column);
        slots.resize(slots.len().next_multiple_of(BLOCK), EMPTY);
    }
    slots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hilbert_curve_goes_from_neighbor_to_neighbor() {
        for bits in 1..=4 {
            let along = 1_u32 << bits;
            let mut curve = vec![None; 1 << (3 * bits)];
            for n in 0..along.pow(3) {
                let at = [n % along, n / along % along, n / (along * along)];
                let number = hilbert(at, bits) as usize;
                assert!(curve[number].replace(at).is_none(), "{at:?}");
            }
            let curve: Vec<[u32; 3]> = curve.into_iter().flatten().collect();
            assert_eq!((curve.len(), curve[0]), (1 << (3 * bits), [0; 3]));
            for pair in curve.windows(2) {
                let apart: u32 = (0..3).map(|k| pair[0][k].abs_diff(pair[1][k])).sum();
                assert_eq!(apart, 1, "{pair:?}");
            }
        }
    }
}
