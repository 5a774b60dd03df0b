//! [`ChangingTable`]: the optimal influence function of a cell that changes.

use crate::forces::pme::Influence;
use debye_gpu::transforms::Spectrum;
use debye_gpu::{Buffer, Const, CudaError, Device, Kernel, ModuleSource, Mut, Shape, Slice, Stream};

use super::MeshNumber;
use super::solve::{MeshCell, influence_source};

type Make<R> = Kernel<(
    Const<MeshCell>,
    Mut<u64>,
    Const<f64>,
    Const<f64>,
    Mut<R>,
    Mut<u32>,
)>;

const THREADS: usize = 256;

/// Makes a table anew where the cell is not the one that it was made for.
#[derive(Debug)]
pub(super) struct ChangingTable<R: MeshNumber> {
    make: Make<R>,
    factors: Buffer<f64>,
    aliases: Buffer<f64>,
    made_for: Buffer<u64>,
    finished: Buffer<u32>,
    numbers: usize,
}

/// What is compiled.
pub(super) fn source(sizes: &Spectrum, double: bool) -> ModuleSource {
    let text = include_str!("../kernels/table.cu");
    influence_source("table.cu", text, sizes.size, double, true).define("PADDED", 1)
}

impl<R: MeshNumber> ChangingTable<R> {
    pub(super) fn new(device: &Device, influence: &Influence, sizes: &Spectrum) -> Result<Self, CudaError> {
        let module = device.module(&source(sizes, R::DOUBLE))?;
        let half = sizes.half as usize;
        let [x, y, z] = influence.factors();
        let factors: Vec<f64> = x.iter().chain(y).chain(&z[..half]).copied().collect();
        let [x, y, z] = influence.aliases();
        let aliases: Vec<f64> = x.iter().chain(y).chain(&z[..half]).flatten().copied().collect();
        Ok(Self {
            make: module.kernel("debye_mesh_table")?,
            factors: device.upload(&factors)?,
            aliases: device.upload(&aliases)?,
            // No cell is nothing.
            made_for: device.zeros(size_of::<MeshCell>() / 8)?,
            finished: device.zeros(1)?,
            numbers: sizes.columns as usize * sizes.size[0] as usize,
        })
    }

    pub(super) fn queue(
        &mut self,
        stream: &Stream,
        cell: Slice<'_, MeshCell>,
        table: &mut Buffer<R>,
    ) -> Result<(), CudaError> {
        let shape = Shape::covering(self.numbers, THREADS as u32);
        let given = (
            cell,
            self.made_for.all_mut(),
            self.factors.all(),
            self.aliases.all(),
            table.all_mut(),
            self.finished.all_mut(),
        );
        self.make.launch(stream, shape, given)
    }
}
