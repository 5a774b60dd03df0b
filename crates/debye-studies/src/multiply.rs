//! [`Multiply`]: a spectrum times the influence function, where a library transforms the mesh.

use debye::engines::cuda::mesh::{MESH_SUMS, MeshCell, MeshNumber, influence_source};
use debye::forces::pme::Influence;
use debye_gpu::{
    Buffer, Const, CudaError, Device, Kernel, ModuleSource, Mut, Shape, Slice, SliceMut, Stream,
};

type Plain<R> = Kernel<(Mut<R>, Const<R>, Const<MeshCell>, Const<R>)>;
type WithSums<R> = Kernel<(Mut<R>, Const<R>, Const<MeshCell>, Const<R>, Mut<f64>)>;
type Add = Kernel<(Const<f64>, Mut<f64>, u32)>;

const THREADS: u32 = 256;

/// The kernels of one mesh and the numbers they read.
#[derive(Debug)]
pub(crate) struct Multiply<R: MeshNumber> {
    plain: Plain<R>,
    with_sums: WithSums<R>,
    add: Add,
    blocks: u32,
    /// 1/w² for every index of x, y, and of the half of z that is kept.
    factors: Buffer<R>,
    /// G itself where it is optimal; else empty.
    table: Buffer<R>,
    /// Sums of every block.
    partial: Buffer<f64>,
}

/// What is compiled.
pub(crate) fn source(size: [u32; 3], double: bool, table: bool) -> ModuleSource {
    influence_source(
        "multiply.cu",
        include_str!("kernels/multiply.cu"),
        size,
        double,
        table,
    )
    .define("PADDED", 0)
    .define("MULTIPLY_THREADS", THREADS)
}

fn rounded<R: MeshNumber>(values: &[f64]) -> Vec<R> {
    values.iter().map(|&x| R::rounded(x)).collect()
}

impl<R: MeshNumber> Multiply<R> {
    pub(crate) fn new(device: &Device, size: [u32; 3], influence: &Influence) -> Result<Self, CudaError> {
        let module = device.module(&source(size, R::DOUBLE, influence.is_optimal()))?;
        let with_sums: WithSums<R> = module.kernel("debye_mesh_multiply_sums")?;
        let resident = with_sums.resident_blocks(THREADS, 0)?.max(1);
        let half = size[2] / 2 + 1;
        let blocks = (size[0] * size[1] * half).div_ceil(THREADS).min(resident);
        let [x, y, z] = influence.factors();
        let factors = [x, y, &z[..half as usize]].concat();
        let table = if influence.is_optimal() {
            influence.table()
        } else {
            Vec::new()
        };
        Ok(Self {
            plain: module.kernel("debye_mesh_multiply")?,
            with_sums,
            add: module.kernel("debye_mesh_add")?,
            blocks,
            factors: device.upload(&rounded(&factors))?,
            table: device.upload(&rounded(&table))?,
            partial: device.zeros(blocks as usize * MESH_SUMS)?,
        })
    }

    /// Bytes of the table.
    pub(crate) fn table_bytes(&self) -> usize {
        self.table.bytes()
    }

    /// Takes another table; waits for the stream.
    pub(crate) fn set_table(&mut self, stream: &Stream, values: &[f64]) -> Result<(), CudaError> {
        stream.upload(&rounded(values), self.table.all_mut())?;
        stream.synchronize()
    }

    /// Multiplies; leaves sums of every block where they are asked for.
    pub(crate) fn queue(
        &mut self,
        stream: &Stream,
        spectrum: SliceMut<'_, R>,
        cell: Slice<'_, MeshCell>,
        sums: bool,
    ) -> Result<(), CudaError> {
        let shape = Shape::new(self.blocks, THREADS);
        let (factors, table) = (self.factors.all(), self.table.all());
        if sums {
            let values = (spectrum, factors, cell, table, self.partial.all_mut());
            self.with_sums.launch(stream, shape, values)
        } else {
            self.plain.launch(stream, shape, (spectrum, factors, cell, table))
        }
    }

    /// Adds the sums of all blocks.
    pub(crate) fn add(&self, stream: &Stream, sums: SliceMut<'_, f64>) -> Result<(), CudaError> {
        let values = (self.partial.all(), sums, self.blocks);
        self.add.launch(stream, Shape::new(1, THREADS), values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use debye::expr::Mat3;
    use debye::forces::pme::Basis;
    use debye_gpu::Emulation;

    #[test]
    fn numbers_of_a_spectrum_are_multiplied_and_summed() {
        let device = Device::emulated(Emulation::default()).unwrap();
        let stream = device.stream().unwrap();
        let rows = Mat3::from_rows(
            [7.0, 0.0, 0.0].into(),
            [1.0, 8.0, 0.0].into(),
            [-2.0, 1.5, 6.0].into(),
        );
        let (reciprocal, volume) = (rows.inverse().transpose(), rows.determinant());
        for (size, optimal) in [([6_u32, 8, 10], false), ([5, 6, 7], true)] {
            let mesh = size.map(|n| n as usize);
            let half = mesh[2] / 2 + 1;
            let influence = Influence::new(reciprocal, volume, 0.8, mesh, Basis::BSpline(5), optimal);
            let mut multiply = Multiply::<f64>::new(&device, size, &influence).unwrap();
            let numbers: Vec<f64> = (0..2 * mesh[0] * mesh[1] * half)
                .map(|i| ((i * 37 % 101) as f64 - 50.0) / 7.0)
                .collect();
            let (mut one, mut two) = (device.upload(&numbers).unwrap(), device.upload(&numbers).unwrap());
            let mut sums = device.zeros::<f64>(7).unwrap();
            let cell = device.upload(&[MeshCell::new(reciprocal, volume, 0.8)]).unwrap();
            multiply.queue(&stream, one.all_mut(), cell.all(), false).unwrap();
            multiply.queue(&stream, two.all_mut(), cell.all(), true).unwrap();
            multiply.add(&stream, sums.all_mut()).unwrap();
            let mut want = [0.0; 7];
            let found = [one, two].map(|buffer| stream.download(&buffer).unwrap());
            for (i, q) in numbers.chunks(2).enumerate() {
                let index = [i / (mesh[1] * half), i / half % mesh[1], i % half];
                let g = influence.at(index);
                let weight = if index[2] == 0 || 2 * index[2] == mesh[2] {
                    0.5
                } else {
                    1.0
                };
                let e = weight * g * (q[0] * q[0] + q[1] * q[1]);
                want[0] += e;
                for (want, factor) in want[1..].iter_mut().zip(influence.virial_factor(index)) {
                    *want += e * factor;
                }
                for got in &found {
                    for k in 0..2 {
                        assert!(
                            (got[2 * i + k] - g * q[k]).abs() <= 1e-13 * (g * q[k]).abs(),
                            "{index:?}"
                        );
                    }
                }
            }
            let got = stream.download(&sums).unwrap();
            for (got, want_one) in got.iter().zip(want) {
                assert!((got - want_one).abs() < 1e-12 * want[0], "{got} {want_one}");
            }
        }
    }
}
