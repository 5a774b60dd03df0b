//! [`Skeleton`]: a way to lay a simulation out on a device. `Resident` is for large systems, `Small` for small ones.

use super::resident::Resident;
use super::snapshot::{AHEAD, Snapshot};
use crate::engines::{ChargesOnDevice, DeviceUse, EngineError, Needs, PairHistogram, Wanted};
use crate::expr::Vec3;
use crate::system::{Cell, Particles};

/// What the engine asks of its layout.
pub(super) trait Skeleton: Send {
    /// Takes particles as they are at step 0; velocities are those of now.
    fn place(&mut self, particles: &Particles) -> Result<(), EngineError>;
    /// Takes half a kick from the velocities: from those of now to those that are kept.
    fn kick_back(&mut self) -> Result<(), EngineError>;
    /// Does steps until the target.
    fn advance(&mut self, target: u64) -> Result<(), EngineError>;
    /// Makes a new list if the old one is stale.
    fn refresh_list(&mut self) -> Result<(), EngineError>;
    /// What is there now and wanted, after a new list if the old one is stale.
    fn snapshot(&mut self, wanted: Wanted) -> Result<Snapshot, EngineError>;
    /// Queues the steps up to this one and a snapshot of it, without waiting; says how many graphs surely have steps to do.
    fn queue(&mut self, step: u64, wanted: Wanted) -> Result<u64, EngineError>;
    /// How many snapshots may be on their way before the host waits for the first.
    fn most_ahead(&self) -> usize {
        AHEAD
    }
    /// Whether kernels of the steps up to this one are timed, one after the other.
    fn times(&self, _step: u64) -> bool {
        false
    }
    /// Whether the first snapshot that was queued has arrived.
    fn snapshot_arrived(&self) -> Result<bool, EngineError>;
    /// That snapshot, waiting for it; `None` where the device has not come to this step, or something went wrong.
    fn next_snapshot(&mut self, step: u64) -> Result<Option<Snapshot>, EngineError>;
    /// Gives up all snapshots that were queued.
    fn discard_snapshots(&mut self) -> Result<(), EngineError>;
    /// Forces in the order of the input.
    fn forces(&mut self) -> Result<Vec<Vec3<f64>>, EngineError>;
    /// Torques in the order of the input; empty where nothing turns.
    fn torques(&mut self) -> Result<Vec<Vec3<f64>>, EngineError> {
        Ok(Vec::new())
    }
    /// The number of the step, where particles were placed anew.
    fn set_step(&mut self, step: u64) -> Result<(), EngineError>;
    /// The cell, where it changes.
    fn cell(&self) -> Result<Option<Cell>, EngineError> {
        Ok(None)
    }
    /// Gets ready to count pairs by distance, of particles of these species; a bit for each that it will count.
    fn count_pairs(&mut self, of: &[PairHistogram], species: &[u32]) -> Result<u32, EngineError>;
    /// How often a barostat was held back.
    fn limited(&self) -> u32 {
        0
    }
    /// Charges of a mesh as they are now, where they are; waits for the steps.
    fn charges_on_device(&self) -> Result<Option<ChargesOnDevice>, EngineError> {
        Ok(None)
    }
    /// Lists made.
    fn builds(&self) -> u32;
    /// Entries of the list.
    fn pairs(&self) -> usize;
    /// Bytes of device memory, by what they are for.
    fn needs(&self) -> &Needs;
    /// What the device did for `steps` steps.
    fn device_use(&self, steps: u64) -> DeviceUse;
    /// Asks for the times of the kernels of some steps; false where a step has no kernels of its own.
    fn profile(&mut self, _from: u64, _steps: u64) -> bool {
        false
    }
    /// The step that went wrong, and the particles before it.
    fn before_the_step(&mut self, like: &Particles) -> Result<(u64, Particles), EngineError>;
    /// Everything that is not in the input, with a good list.
    fn saved(&mut self) -> Result<Vec<u8>, EngineError>;
    /// Goes on from a saved state; gives its step and how many lists were made.
    fn restore(&mut self, saved: &[u8]) -> Result<(u64, u32), EngineError>;
    /// The layout of large systems, which minimizes by itself.
    fn large(&mut self) -> Option<&mut Resident> {
        None
    }
}
