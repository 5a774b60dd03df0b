//! [`Unpack`]: particles of a simulation as plain numbers on the device.

use debye_gpu::{Addresses, Buffer, CudaError, Device, Kernel, Mut, Shape, Stream};

use super::shape::{MeshNumber, MeshParticles, MeshShape, Particles};

/// Fractions of the cell and charges of particles, slot by slot: four numbers each.
#[derive(Debug)]
pub struct Unpack(Kernel<(Addresses<MeshParticles>, Mut<f64>)>);

pub(super) fn source<M: MeshNumber>(shape: &MeshShape) -> debye_gpu::ModuleSource {
    shape.source::<M>("unpack.cu", include_str!("../kernels/unpack.cu"), [4; 3])
}

impl Unpack {
    /// Of particles whose charges are numbers of this kind.
    pub fn new<M: MeshNumber>(device: &Device, shape: &MeshShape) -> Result<Self, CudaError> {
        Ok(Self(
            device.module(&source::<M>(shape))?.kernel("debye_mesh_unpack")?,
        ))
    }

    /// Queues it; slots without a particle have no charge.
    pub fn queue(
        &self,
        stream: &Stream,
        particles: &Particles,
        to: &mut Buffer<f64>,
    ) -> Result<(), CudaError> {
        CudaError::check_length("unpacked particles", to.len(), 4 * particles.slots)?;
        let shape = Shape::covering(particles.slots, 256);
        self.0.launch(stream, shape, (&particles.bundle, to.all_mut()))
    }
}
