//! [`Shape`]: how many blocks and threads a kernel is launched with.

use crate::error::CudaError;

/// How a kernel is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block; a multiple of 32 in all.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// Whether all blocks must run at the same time, because they wait for each other.
    pub cooperative: bool,
}

impl Shape {
    /// So many blocks of so many threads.
    pub fn new(blocks: u32, threads: u32) -> Self {
        Self {
            grid: [blocks, 1, 1],
            block: [threads, 1, 1],
            shared: 0,
            cooperative: false,
        }
    }

    /// Enough blocks for one thread per item.
    pub fn covering(items: usize, threads: u32) -> Self {
        Self::new(
            u32::try_from(items.div_ceil(threads as usize)).unwrap_or(u32::MAX),
            threads,
        )
    }

    /// With dynamic shared memory.
    pub fn shared(self, bytes: u32) -> Self {
        Self {
            shared: bytes,
            ..self
        }
    }

    /// With all blocks at the same time.
    pub fn cooperative(self) -> Self {
        Self {
            cooperative: true,
            ..self
        }
    }

    pub(crate) fn threads(self) -> u64 {
        self.block.iter().map(|&x| u64::from(x)).product()
    }

    pub(crate) fn check(self, name: &str, max_threads: u32) -> Result<(), CudaError> {
        let threads = self.threads();
        let refuse = |reason: String| Err(CudaError::shape(name, reason));
        if threads == 0 || !threads.is_multiple_of(32) || threads > u64::from(max_threads) {
            return refuse(format!(
                "{threads} threads per block, which must be a multiple of 32 and at most {max_threads}"
            ));
        }
        if self.grid.contains(&0) || self.grid[0] > i32::MAX as u32 || self.grid[1].max(self.grid[2]) > 65_535
        {
            return refuse(format!("a grid of {:?} blocks", self.grid));
        }
        Ok(())
    }
}
