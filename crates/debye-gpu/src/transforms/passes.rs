//! [`Passes`]: the kernels that transform a mesh and multiply its spectrum.

use std::f64::consts::TAU;

use super::{Across, Cut, Spectrum};
use crate::{
    Addresses, Buffer, Bundle, Const, ConstAddress, CudaError, Device, Float, Kernel, ModuleSource, Mut,
    Shape, Slice, SliceMut, Stream, Value,
};

crate::device_struct! {
    /// Nothing is done while this word, if there is one, is not zero.
    pub struct Rest {
        /// Its address.
        pub word: ConstAddress<u32>,
    }
}

type Forward<R> = Kernel<(Const<R>, Mut<R>, Const<R>, Addresses<Rest>)>;
type Columns<R> = Kernel<(Mut<R>, Const<R>, Addresses<Rest>)>;
type Middle<R, B> = Kernel<(Mut<R>, Const<R>, Addresses<B>, Addresses<Rest>)>;
type MiddleWithSums<R, B> = Kernel<(Mut<R>, Const<R>, Addresses<B>, Mut<f64>, Addresses<Rest>)>;
type Backward<R> = Kernel<(
    Const<R>,
    Mut<R>,
    Const<R>,
    Const<f64>,
    Mut<f64>,
    u32,
    Addresses<Rest>,
)>;

/// The kernels of one mesh, and the numbers they read. `B` is the caller's `Multiplier`.
#[derive(Debug)]
pub struct Passes<R: Float, B: Value> {
    forward: (Forward<R>, Shape),
    /// Columns along y there and back, where planes are not taken whole.
    columns: Option<(Columns<R>, Columns<R>, Shape)>,
    middle: Middle<R, B>,
    middle_with_sums: MiddleWithSums<R, B>,
    tiles: Shape,
    backward: Backward<R>,
    /// exp(−2πi k/K) for every axis.
    twiddles: Buffer<R>,
}

impl<R: Float, B: Value> Passes<R, B> {
    /// `source` is that of the cut, with the caller's files.
    pub fn new(
        device: &Device,
        sizes: &Spectrum,
        cut: &Cut,
        source: &ModuleSource,
    ) -> Result<Self, CudaError> {
        cut.check(device.info(), sizes.size, R::DOUBLE)?;
        let module = device.module(source)?;
        let tiles = Shape::new(sizes.columns.div_ceil(cut.tile.lines), cut.tile.threads)
            .shared(sizes.tile_shared(cut.tile, R::DOUBLE));
        let (shape, columns, names) = match cut.across {
            Across::Planes(threads) => {
                let shape = Shape::new(sizes.size[0], threads).shared(sizes.plane_shared(R::DOUBLE));
                (shape, None, ["debye_mesh_forward", "debye_mesh_backward"])
            }
            Across::Rows { pairs, strip } => {
                let rows = sizes.size[0] * sizes.size[1];
                let shape = Shape::new(rows.div_ceil(2 * pairs.lines), pairs.threads)
                    .shared(sizes.pairs_shared(pairs, R::DOUBLE));
                let strips = sizes.size[0] * sizes.half.div_ceil(strip.lines);
                let columns = Shape::new(strips, strip.threads).shared(sizes.strip_shared(strip, R::DOUBLE));
                let names = ["debye_mesh_rows_forward", "debye_mesh_rows_backward"];
                (shape, Some(columns), names)
            }
        };
        let columns = columns.map(|shape| -> Result<_, CudaError> {
            let there = module.kernel("debye_mesh_columns_forward")?;
            let back = module.kernel("debye_mesh_columns_backward")?;
            Ok((allowed(there, shape)?, allowed(back, shape)?, shape))
        });
        Ok(Self {
            forward: (allowed(module.kernel(names[0])?, shape)?, shape),
            columns: columns.transpose()?,
            middle: allowed(module.kernel("debye_mesh_solve")?, tiles)?,
            middle_with_sums: allowed(module.kernel("debye_mesh_solve_sums")?, tiles)?,
            tiles,
            backward: allowed(module.kernel(names[1])?, shape)?,
            twiddles: device.upload(&twiddles::<R>(sizes.size))?,
        })
    }

    /// Whether planes are taken whole.
    pub fn takes_planes(&self) -> bool {
        self.columns.is_none()
    }

    /// Blocks that leave sums.
    pub fn blocks(&self) -> u32 {
        self.tiles.grid[0]
    }

    /// The mesh to its spectrum along z and y.
    pub fn forward(
        &self,
        stream: &Stream,
        mesh: Slice<'_, R>,
        mut spectrum: SliceMut<'_, R>,
        rest: &Bundle<Rest>,
    ) -> Result<(), CudaError> {
        let (kernel, shape) = &self.forward;
        kernel.launch(
            stream,
            *shape,
            (mesh, spectrum.again(), self.twiddles.all(), rest),
        )?;
        if let Some((there, _, shape)) = &self.columns {
            there.launch(stream, *shape, (spectrum, self.twiddles.all(), rest))?;
        }
        Ok(())
    }

    /// Along x, multiplied, and back; sums of every block where there is room for them.
    pub fn middle(
        &self,
        stream: &Stream,
        spectrum: SliceMut<'_, R>,
        by: &Bundle<B>,
        partial: Option<SliceMut<'_, f64>>,
        rest: &Bundle<Rest>,
    ) -> Result<(), CudaError> {
        let twiddles = self.twiddles.all();
        match partial {
            Some(partial) => {
                let values = (spectrum, twiddles, by, partial, rest);
                self.middle_with_sums.launch(stream, self.tiles, values)
            }
            None => self
                .middle
                .launch(stream, self.tiles, (spectrum, twiddles, by, rest)),
        }
    }

    /// The spectrum along z and y back to the mesh; adds sums of blocks where there is room for them.
    #[expect(clippy::too_many_arguments, reason = "each is a fact of its own")]
    pub fn backward(
        &self,
        stream: &Stream,
        mut spectrum: SliceMut<'_, R>,
        mesh: SliceMut<'_, R>,
        partial: Slice<'_, f64>,
        sums: Option<SliceMut<'_, f64>>,
        none: SliceMut<'_, f64>,
        rest: &Bundle<Rest>,
    ) -> Result<(), CudaError> {
        if let Some((_, back, shape)) = &self.columns {
            back.launch(stream, *shape, (spectrum.again(), self.twiddles.all(), rest))?;
        }
        let mut shape = self.forward.1;
        let blocks = if sums.is_some() { self.blocks() } else { 0 };
        // One block more adds them.
        shape.grid[0] += u32::from(sums.is_some());
        let sums = sums.unwrap_or(none);
        self.backward.launch(
            stream,
            shape,
            (
                spectrum.read(),
                mesh,
                self.twiddles.all(),
                partial,
                sums,
                blocks,
                rest,
            ),
        )
    }
}

/// A kernel that may have the shared memory of its launches.
fn allowed<A: crate::Arguments>(kernel: Kernel<A>, shape: Shape) -> Result<Kernel<A>, CudaError> {
    if kernel.resident_blocks(shape.block[0], shape.shared)? > 0 {
        return Ok(kernel);
    }
    let (threads, bytes) = (shape.block[0], shape.shared);
    let reason =
        format!("{threads} threads and {bytes} bytes of shared memory do not fit on a multiprocessor");
    Err(CudaError::shape(kernel.name(), reason))
}

/// exp(−2πi k/K), axis after axis, rounded from double precision.
fn twiddles<R: Float>(size: [u32; 3]) -> Vec<R> {
    let axis = |n: u32| (0..n).flat_map(move |k| twiddle(k, n)).map(R::rounded);
    size.into_iter().flat_map(axis).collect()
}

/// cos and −sin of k/n of a turn, exact at its quarters.
fn twiddle(k: u32, n: u32) -> [f64; 2] {
    let eighths = 8 * u64::from(k) / u64::from(n);
    // Angles within an eighth of a turn of an axis.
    let quarter = eighths.div_ceil(2) % 4;
    let beyond = 4.0 * f64::from(k) - eighths.div_ceil(2) as f64 * f64::from(n);
    let (sin, cos) = (TAU * beyond / (4.0 * f64::from(n))).sin_cos();
    let [x, y] = match quarter {
        0 => [cos, sin],
        1 => [-sin, cos],
        2 => [-cos, -sin],
        _ => [sin, -cos],
    };
    [x, -y]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twiddles_are_those_of_the_turn() {
        for n in 4..=512 {
            for k in 0..n {
                let [x, y] = twiddle(k, n);
                let angle = TAU * f64::from(k) / f64::from(n);
                assert!(
                    (x - angle.cos()).abs() < 2e-15 && (y + angle.sin()).abs() < 2e-15,
                    "{k}/{n}"
                );
            }
        }
        assert_eq!(twiddle(3, 12), [0.0, -1.0]);
        assert_eq!(twiddle(6, 12), [-1.0, 0.0]);
    }
}
