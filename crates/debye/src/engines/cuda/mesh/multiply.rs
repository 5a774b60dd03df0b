//! [`Multiply`]: a spectrum times the influence function, where a library transforms the mesh.

use debye_gpu::{Const, CudaError, Device, Kernel, ModuleSource, Mut, Shape, Slice, SliceMut, Stream};

use super::MeshNumber;
use super::fft::{Sizes, with_mesh};
use super::solve::{MeshCell, Multiplier};

type Plain<R> = Kernel<(Mut<R>, Const<R>, Const<MeshCell>, Const<R>)>;
type WithSums<R> = Kernel<(Mut<R>, Const<R>, Const<MeshCell>, Const<R>, Mut<f64>)>;
type Add = Kernel<(Const<f64>, Mut<f64>, u32)>;

const THREADS: u32 = 256;

/// The kernels of one mesh.
#[derive(Debug)]
pub(super) struct Multiply<R: MeshNumber> {
    plain: Plain<R>,
    with_sums: WithSums<R>,
    add: Add,
    blocks: u32,
}

/// What is compiled.
pub(super) fn source(sizes: &Sizes, double: bool, table: bool) -> ModuleSource {
    let text = include_str!("../kernels/multiply.cu");
    with_mesh("multiply.cu", text, sizes, double, table)
        .define("PADDED", 0)
        .define("MULTIPLY_THREADS", THREADS)
}

impl<R: MeshNumber> Multiply<R> {
    pub(super) fn new(device: &Device, sizes: &Sizes, table: bool) -> Result<Self, CudaError> {
        let module = device.module(&source(sizes, R::DOUBLE, table))?;
        let with_sums: WithSums<R> = module.kernel("debye_mesh_multiply_sums")?;
        let resident = with_sums.resident_blocks(THREADS, 0)?.max(1);
        Ok(Self {
            plain: module.kernel("debye_mesh_multiply")?,
            with_sums,
            add: module.kernel("debye_mesh_add")?,
            blocks: (sizes.size[0] * sizes.columns).div_ceil(THREADS).min(resident),
        })
    }

    /// Blocks that leave sums.
    pub(super) fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Multiplies; leaves sums of every block where there is room for them.
    pub(super) fn queue(
        &self,
        stream: &Stream,
        spectrum: SliceMut<'_, R>,
        by: &Multiplier<R>,
        cell: Slice<'_, MeshCell>,
        partial: Option<SliceMut<'_, f64>>,
    ) -> Result<(), CudaError> {
        let shape = Shape::new(self.blocks, THREADS);
        let (factors, table) = (by.factors.all(), by.table.all());
        match partial {
            Some(partial) => {
                let values = (spectrum, factors, cell, table, partial);
                self.with_sums.launch(stream, shape, values)
            }
            None => self.plain.launch(stream, shape, (spectrum, factors, cell, table)),
        }
    }

    /// Adds the sums of all blocks.
    pub(super) fn add(
        &self,
        stream: &Stream,
        partial: Slice<'_, f64>,
        sums: SliceMut<'_, f64>,
    ) -> Result<(), CudaError> {
        self.add
            .launch(stream, Shape::new(1, THREADS), (partial, sums, self.blocks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Mat3;
    use crate::forces::pme::{Basis, Influence};
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
            let sizes = Sizes::new(size, 16, false).unwrap();
            let by = Multiplier::<f64>::new(&device, &influence, &sizes).unwrap();
            let multiply = Multiply::<f64>::new(&device, &sizes, optimal).unwrap();
            let numbers: Vec<f64> = (0..sizes.spectrum())
                .map(|i| ((i * 37 % 101) as f64 - 50.0) / 7.0)
                .collect();
            let (mut one, mut two) = (device.upload(&numbers).unwrap(), device.upload(&numbers).unwrap());
            let mut partial = device.zeros::<f64>(7 * multiply.blocks() as usize).unwrap();
            let mut sums = device.zeros::<f64>(7).unwrap();
            let cell = device.upload(&[MeshCell::new(reciprocal, volume, 0.8)]).unwrap();
            multiply
                .queue(&stream, one.all_mut(), &by, cell.all(), None)
                .unwrap();
            let room = Some(partial.all_mut());
            multiply
                .queue(&stream, two.all_mut(), &by, cell.all(), room)
                .unwrap();
            multiply.add(&stream, partial.all(), sums.all_mut()).unwrap();
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
