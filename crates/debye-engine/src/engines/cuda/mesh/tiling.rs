//! [`Tiling`]: how a mesh is cut into bricks, and which cut to take.

use std::fmt;

use debye_gpu::{CudaError, Device};

use super::shape::{MeshNumber, MeshShape};
use super::spread;

/// How a mesh is cut: edges of a brick (multiples of four), threads of its block, and blocks on a multiprocessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiling {
    /// Edges.
    pub edges: [u32; 3],
    /// Threads.
    pub threads: u32,
    /// Blocks that registers are limited for.
    pub resident: u32,
}

impl fmt::Display for Tiling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.edges;
        write!(
            f,
            "{x}x{y}x{z}, {} threads, {} blocks",
            self.threads, self.resident
        )
    }
}

impl Tiling {
    /// Edges, threads and blocks.
    pub const fn new(edges: [u32; 3], threads: u32, resident: u32) -> Self {
        Self {
            edges,
            threads,
            resident,
        }
    }

    /// Refuses what no kernel can do.
    pub(super) fn check(&self) -> Result<(), CudaError> {
        let edges = self
            .edges
            .iter()
            .all(|&e| e > 0 && e.is_multiple_of(4) && e <= 256);
        if edges
            && self.threads.is_multiple_of(32)
            && (32..=1024).contains(&self.threads)
            && self.resident > 0
        {
            return Ok(());
        }
        let rule = "edges must be multiples of 4 up to 256, threads a multiple of 32 up to 1024";
        Err(CudaError::shape("debye_mesh", format!("{self}: {rule}")))
    }

    /// What is taken for so many charges: the first that fits into shared memory, or columns of few points, where
    /// otherwise most multiprocessors had none.
    pub fn usual<M: MeshNumber>(device: &Device, shape: &MeshShape, charges: usize) -> Self {
        let info = device.info();
        let fits = |tiling: &Self| spread::shared_bytes::<M>(shape, *tiling) <= info.shared_per_block;
        let cubes = if info.emulated { &[] } else { CUBES };
        let cube = cubes.iter().copied().find(fits).unwrap_or(SMALL);
        let column = Self::column(shape, cube, charges, info.multiprocessors);
        let column = column.filter(|column| !info.emulated && fits(column));
        column.unwrap_or(cube).for_registers::<M>(shape)
    }

    /// Columns along z, where there are fewer cubes than half of the multiprocessors: up to 40 points long if charges
    /// are dense, since the more bricks there are the more charges are visited twice, else up to 16, since all wait for
    /// the last brick.
    fn column(shape: &MeshShape, cube: Self, charges: usize, multiprocessors: u32) -> Option<Self> {
        let cubes: u32 = shape.bricks(cube.edges).iter().product();
        if 2 * cubes >= multiprocessors {
            return None;
        }
        let sparse = 8 * charges < shape.points();
        let (longest, threads) = if sparse { (16, 384) } else { (40, 448) };
        let parts = shape.size[2].div_ceil(longest);
        let edge = shape.size[2].div_ceil(parts).next_multiple_of(4);
        Some(Self::new([8, 8, edge], threads, 2))
    }

    /// Fewer blocks where a thread needs more registers.
    pub(super) fn for_registers<M: MeshNumber>(self, shape: &MeshShape) -> Self {
        let many = M::DOUBLE || shape.basis.points() > 5;
        let resident = if many {
            self.resident.div_ceil(2)
        } else {
            self.resident
        };
        Self { resident, ..self }
    }
}

/// For the emulation, and where shared memory is short.
pub(super) const SMALL: Tiling = Tiling::new([8, 8, 8], 64, 1);

/// The fastest on an H200, and what fits into less shared memory; debye-studies measures others.
pub(super) const CUBES: &[Tiling] = &[
    Tiling::new([16, 16, 16], 448, 3),
    Tiling::new([16, 16, 8], 256, 4),
    Tiling::new([8, 8, 16], 128, 8),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forces::pme::Basis;

    #[test]
    fn few_bricks_become_columns() {
        let cut = |size: [u32; 3], charges: usize| {
            let basis = Basis::BSpline(5);
            let column = Tiling::column(&MeshShape { size, basis }, CUBES[0], charges, 132);
            column.map(|tiling| {
                tiling.check().unwrap();
                tiling.edges
            })
        };
        assert_eq!(cut([42; 3], 5_832), Some([8, 8, 16]));
        assert_eq!(cut([40; 3], 21_480), Some([8, 8, 40]));
        assert_eq!(cut([64, 40, 64], 40_000), Some([8, 8, 32]));
        assert_eq!(cut([80, 60, 60], 96_660), None);
    }
}
