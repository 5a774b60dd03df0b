//! [`LentParticles`]: particles whose memory is used again.

use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use crate::system::Particles;

/// Memory for particles of one system. A million of them take 80 MB: to have that from the operating system for every
/// frame takes longer than to fill it.
pub(crate) struct ParticleMemory {
    like: Particles,
    /// What nobody uses now.
    spare: Mutex<Vec<Particles>>,
}

impl ParticleMemory {
    /// For particles like these.
    pub(crate) fn new(like: Particles) -> Self {
        Self {
            like,
            spare: Mutex::default(),
        }
    }

    /// As many particles as there are. What changes in a run is that of an earlier moment: who asks sets it.
    pub(crate) fn lend(self: &Arc<Self>) -> LentParticles {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let earlier = spare.pop();
        drop(spare);
        LentParticles {
            particles: earlier.unwrap_or_else(|| self.like.clone()),
            memory: Some(Arc::clone(self)),
        }
    }
}

/// Particles whose memory goes back to where it came from when they are dropped.
pub struct LentParticles {
    particles: Particles,
    memory: Option<Arc<ParticleMemory>>,
}

impl LentParticles {
    pub(crate) fn get_mut(&mut self) -> &mut Particles {
        &mut self.particles
    }
}

impl From<Particles> for LentParticles {
    /// Particles that are nobody else's.
    fn from(particles: Particles) -> Self {
        Self {
            particles,
            memory: None,
        }
    }
}

impl Deref for LentParticles {
    type Target = Particles;

    fn deref(&self) -> &Particles {
        &self.particles
    }
}

impl Drop for LentParticles {
    fn drop(&mut self) {
        if let Some(memory) = &self.memory {
            let mut spare = memory.spare.lock().unwrap_or_else(PoisonError::into_inner);
            spare.push(std::mem::take(&mut self.particles));
        }
    }
}
