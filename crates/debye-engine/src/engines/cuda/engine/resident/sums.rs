//! What the host reads of a configuration: energies, virial, sums over velocities.

use super::super::bonded::LinkSums;
use super::Resident;
use debye_gpu::CudaError;

/// Numbers of a virial, xx yy zz xy xz yz, and those of a group: Σ m v⊗v, Σ m v.
pub(in super::super) const VIRIAL_SUMS: usize = 6;
pub(in super::super) const GROUP_SUMS: usize = VIRIAL_SUMS + 3;

/// Sums over all particles.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Sums {
    pub(in super::super) energies: Vec<f64>,
    pub(in super::super) virial: [f64; 6],
    /// Σ m v⊗v and Σ m v of every group.
    pub(in super::super) groups: Vec<([f64; 6], [f64; 3])>,
    /// Σ L·ω of every group: twice the kinetic energy of rotation; empty where nothing turns.
    pub(in super::super) rotations: Vec<f64>,
    /// Virial of what keeps molecules together as they turn, of every group; goes with the square of its velocities.
    pub(in super::super) constraint_virial: Vec<[f64; 6]>,
    /// The virial without what holds particles at fixed distances.
    pub(in super::super) pair_virial: [f64; 6],
}

impl Resident {
    /// Forces of the bonded terms, and their sums, where there are any.
    pub(in super::super) fn bonded_sums(&self) -> Result<Option<LinkSums>, CudaError> {
        let Some(bonded) = &self.bonded else {
            return Ok(None);
        };
        bonded.queue_sums(&self.stream, &self.world, self.setup)?;
        let parts = self.stream.download(bonded.partial())?;
        Ok(Some(bonded.sums(&parts, self.last.blocks as usize)))
    }
}
