//! [`BoundaryForces`]: what surrounds all images at infinity, or the gap above a slab.

use super::kernels::{KernelConfig, Setup, World};
use super::layout::BLOCK;
use debye_gpu::{
    Address, Addresses, Binder, Buffer, Bundle, ConstAddress, CudaError, Device, Kernel, ModuleSource, Shape,
    Stream,
};

debye_gpu::device_struct! {
    /// What kernels need of the charges.
    pub(super) struct BoundaryCharges {
        /// By kind.
        charges: ConstAddress<f64>,
        /// [`BOUNDARY_SUMS`] of every block: Σ q r, and Σ q z² along the open axis.
        partial: Address<f64>,
        /// Energy, and virial xx yy zz xy xz yz.
        sums: Address<f64>,
        /// Coulomb's constant over the permittivity.
        k: f64,
        /// Of all charges.
        total: f64,
    }
}

type OnCharges = Kernel<(Addresses<World>, Setup, Addresses<BoundaryCharges>)>;

/// Sums of a block.
pub(super) const BOUNDARY_SUMS: usize = 4;
/// Stands for vacuum where the open axis of a slab would be.
pub(super) const VACUUM: usize = 3;

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
    pub(super) fn source(&self, case: KernelConfig<'_>) -> ModuleSource {
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
    bundle: Bundle<BoundaryCharges>,
    blocks: usize,
}

impl BoundaryForces {
    /// Energy and virial go to seven numbers of `sums`, from `first` on.
    pub(super) fn new(
        device: &Device,
        tables: &BoundaryTables,
        case: KernelConfig<'_>,
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

    /// Adds its forces to those of the mesh, when they are `due`.
    pub(super) fn queue(
        &self,
        s: &Stream,
        world: &Bundle<World>,
        mut setup: Setup,
        due: u32,
    ) -> Result<(), CudaError> {
        setup.due = due;
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
) -> Result<Bundle<BoundaryCharges>, CudaError> {
    let mut at = Binder::default();
    let there = BoundaryCharges {
        charges: at.address(charges),
        partial: at.address(&device.zeros::<f64>(BOUNDARY_SUMS * blocks)?),
        sums: at.address::<Address<f64>>(sums).plus(first),
        k: tables.k,
        total: tables.total,
    };
    Ok(at.bundle(there))
}
