//! [`Skeleton`]: a way to lay a simulation out on a device. `Resident` is for large systems, `Small` for small ones.

use crate::backend::EngineError;
use crate::expr::Vec3;
use crate::system::{Cell, Particles};

/// What the engine asks of its layout.
pub(super) trait Skeleton: Send {
    /// Takes particles as they are at step 0; velocities are those of now.
    fn place(&mut self, particles: &Particles, cell: &Cell) -> Result<(), EngineError>;
    /// Takes half a kick from the velocities: from those of now to those that are kept.
    fn kick_back(&mut self) -> Result<(), EngineError>;
    /// Does steps until the target.
    fn advance(&mut self, target: u64) -> Result<(), EngineError>;
    /// Makes a new list if the old one is stale.
    fn settle(&mut self) -> Result<(), EngineError>;
    /// Forces; energies by term, virial and Σ m v⊗v. The list must be good.
    fn evaluate(&mut self) -> Result<Vec<f64>, EngineError>;
    /// Particles as they are now, in the order of the input.
    fn particles(&mut self, like: &Particles, cell: &Cell) -> Result<Particles, EngineError>;
    /// Forces in the order of the input.
    fn forces(&mut self) -> Result<Vec<Vec3<f64>>, EngineError>;
    /// Lists made.
    fn builds(&self) -> u32;
    /// Entries of the list.
    fn pairs(&self) -> usize;
    /// Bytes of device memory.
    fn bytes(&self) -> usize;
    /// Everything that is not in the input, with a good list.
    fn saved(&mut self) -> Result<Vec<u8>, EngineError>;
    /// Goes on from a saved state; gives its step.
    fn restore(&mut self, saved: &[u8]) -> Result<u64, EngineError>;
}
