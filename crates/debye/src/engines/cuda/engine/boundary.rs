//! [`BoundaryForces`]: what surrounds all images at infinity, or the gap above a slab.

use super::kernels::{Case, Setup, World};
use super::layout::BLOCK;
use debye_gpu::{Addresses, Binder, Buffer, Bundle, CudaError, Device, Kernel, ModuleSource, Shape, Stream};

/// What kernels need of the charges; as in the kernels.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct BoundaryAt {
    charges: u64,
    partial: u64,
    sums: u64,
    k: f64,
    total: f64,
}
debye_gpu::cuda_struct!(BoundaryAt);

type OnCharges = Kernel<(Addresses<World>, Setup, Addresses<BoundaryAt>)>;

/// Sums of a block; as in the kernels.
const OF_BLOCK: usize = 4;
/// Stands for vacuum where the open axis of a slab would be; as in the kernels.
const VACUUM: usize = 3;

/// What the total dipole of all charges does.
#[derive(Clone, Debug)]
pub(super) struct BoundaryTables {
    /// The open axis of a slab; none for vacuum.
    pub(super) axis: Option<usize>,
    /// Charges by kind of particle.
    pub(super) charges: Vec<f64>,
    /// Of all charges.
    pub(super) total: f64,
    /// k_e over the permittivity.
    pub(super) k: f64,
}

impl BoundaryTables {
    /// The module of its kernels.
    pub(super) fn source(&self, case: Case<'_>) -> ModuleSource {
        case.module("boundary.cu", include_str!("../kernels/boundary.cu"))
            .define("SLAB", self.axis.unwrap_or(VACUUM))
    }
}

/// Kernels that add the forces of a boundary to those of a mesh.
pub(super) struct BoundaryForces {
    tables: BoundaryTables,
    sum: OnCharges,
    push: OnCharges,
    charges: Buffer<f64>,
    bundle: Bundle<BoundaryAt>,
    blocks: usize,
}

impl BoundaryForces {
    /// Energy and virial go to seven numbers of `sums`, from `first` on.
    pub(super) fn new(
        device: &Device,
        tables: &BoundaryTables,
        case: Case<'_>,
        sums: &Buffer<f64>,
        first: usize,
    ) -> Result<Self, CudaError> {
        let module = device.module(&tables.source(case))?;
        let charges = device.upload(&tables.charges)?;
        let blocks = case.layout.blocks;
        Ok(Self {
            sum: module.kernel("debye_boundary_sum")?,
            push: module.kernel("debye_boundary_push")?,
            bundle: bundle(device, tables, &charges, blocks, sums, first)?,
            tables: tables.clone(),
            charges,
            blocks,
        })
    }

    /// The same for another number of blocks.
    pub(super) fn resize(
        &mut self,
        device: &Device,
        blocks: usize,
        sums: &Buffer<f64>,
        first: usize,
    ) -> Result<(), CudaError> {
        self.bundle = bundle(device, &self.tables, &self.charges, blocks, sums, first)?;
        self.blocks = blocks;
        Ok(())
    }

    /// Adds its forces to those of the mesh; in a step, unless lists are stale.
    pub(super) fn queue(
        &self,
        s: &Stream,
        world: &Bundle<World>,
        mut setup: Setup,
        step: bool,
    ) -> Result<(), CudaError> {
        setup.links = u32::from(step);
        let shape = Shape::new(self.blocks as u32, BLOCK as u32);
        self.sum.launch(s, shape, (world, setup, &self.bundle))?;
        self.push.launch(s, shape, (world, setup, &self.bundle))
    }
}

fn bundle(
    device: &Device,
    tables: &BoundaryTables,
    charges: &Buffer<f64>,
    blocks: usize,
    sums: &Buffer<f64>,
    first: usize,
) -> Result<Bundle<BoundaryAt>, CudaError> {
    let mut at = Binder::default();
    let there = BoundaryAt {
        charges: at.address(charges),
        partial: at.address(&device.zeros::<f64>(OF_BLOCK * blocks)?),
        sums: at.address(sums) + 8 * first as u64,
        k: tables.k,
        total: tables.total,
    };
    Ok(at.bundle(there))
}
