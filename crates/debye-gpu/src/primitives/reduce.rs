//! [`Reduce`]: sums and extremes that do not depend on the order of execution.

use crate::{
    Buffer, Const, CudaError, Device, Element, Kernel, Module, ModuleSource, Mut, Shape, Slice, SliceMut,
    Stream,
};

use super::check_room;

const THREADS: u32 = 256;
/// Numbers of a leaf of a tree of sums.
pub(super) const TREE_TILE: usize = 2048;

pub(super) fn source() -> ModuleSource {
    super::source("reduce.cu", include_str!("../kernels/reduce.cu"))
}

/// A type whose extremes can be found.
pub trait Ordered: Element {
    /// The value of a key of the kernel; NaN where a key says so.
    fn from_key(key: u64) -> Self;
}

impl Ordered for u32 {
    fn from_key(key: u64) -> Self {
        key.wrapping_sub(1) as Self
    }
}

impl Ordered for i32 {
    fn from_key(key: u64) -> Self {
        ((key.wrapping_sub(1) as u32) ^ 0x8000_0000).cast_signed()
    }
}

impl Ordered for f64 {
    fn from_key(key: u64) -> Self {
        if key == 0 || key == u64::MAX {
            return Self::NAN;
        }
        Self::from_bits(if key >> 63 == 1 { key ^ (1 << 63) } else { !key })
    }
}

impl Ordered for f32 {
    fn from_key(key: u64) -> Self {
        f64::from_key(key) as Self
    }
}

/// The smallest and the largest of some values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extremes<T> {
    /// The smallest; NaN if one of them is.
    pub least: T,
    /// The largest; NaN if one of them is.
    pub most: T,
}

type SegmentParameters = (Const<i64>, Const<u32>, Mut<i64>, u32);
type Fixed<T> = Kernel<(Const<T>, Mut<u64>, Mut<u32>, f64, u64)>;

/// Sums and extremes. Results stay on the device unless a method says that it waits.
#[derive(Debug)]
pub struct Reduce {
    module: Module,
    sum: Kernel<(Const<i64>, Mut<u64>, u64)>,
    fixed_f32: Fixed<f32>,
    fixed_f64: Fixed<f64>,
    segments: Kernel<SegmentParameters>,
    tree: Kernel<(Const<f64>, Mut<f64>, u64)>,
    levels: [Buffer<f64>; 2],
    keys: Buffer<u64>,
    blocks: u32,
    capacity: usize,
}

impl Reduce {
    /// For up to `capacity` numbers.
    pub fn new(device: &Device, capacity: usize) -> Result<Self, CudaError> {
        let module = device.module(&source())?;
        let leaves = capacity.div_ceil(TREE_TILE);
        Ok(Self {
            sum: module.kernel("debye_sum_i64")?,
            fixed_f32: module.kernel("debye_sum_fixed_f32")?,
            fixed_f64: module.kernel("debye_sum_fixed_f64")?,
            segments: module.kernel("debye_sum_segments")?,
            tree: module.kernel("debye_tree_f64")?,
            levels: [
                device.allocate(leaves)?,
                device.allocate(leaves.div_ceil(TREE_TILE))?,
            ],
            keys: device.zeros(2)?,
            blocks: device.info().multiprocessors * 8,
            module,
            capacity,
        })
    }

    fn shape(&self, n: usize) -> Shape {
        let enough = Shape::covering(n, THREADS * 4);
        Shape::new(enough.grid[0].clamp(1, self.blocks), THREADS)
    }

    /// Sets `out` (one element) to the sum of whole numbers, modulo 2⁶⁴.
    pub fn sum(
        &self,
        stream: &Stream,
        x: Slice<'_, i64>,
        mut out: SliceMut<'_, u64>,
    ) -> Result<(), CudaError> {
        CudaError::check_length("a sum", out.len(), 1)?;
        stream.fill(out.again(), 0)?;
        if x.is_empty() {
            return Ok(());
        }
        self.sum
            .launch(stream, self.shape(x.len()), (x, out, x.len() as u64))
    }

    /// Sets `out` (one element) to the sum of numbers, each rounded to a whole number of 1/`scale`.
    ///
    /// `flag` (one element) becomes 1 when one of them is NaN or reaches 2⁶²/`scale`, and else stays as it is.
    pub fn sum_fixed_f64(
        &self,
        stream: &Stream,
        x: Slice<'_, f64>,
        scale: f64,
        mut out: SliceMut<'_, u64>,
        flag: SliceMut<'_, u32>,
    ) -> Result<(), CudaError> {
        CudaError::check_length("a sum", out.len(), 1)?;
        CudaError::check_length("the flag of a sum", flag.len(), 1)?;
        stream.fill(out.again(), 0)?;
        if x.is_empty() {
            return Ok(());
        }
        let arguments = (x, out, flag, scale, x.len() as u64);
        self.fixed_f64.launch(stream, self.shape(x.len()), arguments)
    }

    /// The same for single precision.
    pub fn sum_fixed_f32(
        &self,
        stream: &Stream,
        x: Slice<'_, f32>,
        scale: f64,
        mut out: SliceMut<'_, u64>,
        flag: SliceMut<'_, u32>,
    ) -> Result<(), CudaError> {
        CudaError::check_length("a sum", out.len(), 1)?;
        CudaError::check_length("the flag of a sum", flag.len(), 1)?;
        stream.fill(out.again(), 0)?;
        if x.is_empty() {
            return Ok(());
        }
        let arguments = (x, out, flag, scale, x.len() as u64);
        self.fixed_f32.launch(stream, self.shape(x.len()), arguments)
    }

    /// Sets `out[s]` to the sum of `x[starts[s]..starts[s + 1]]`.
    pub fn sum_segments(
        &self,
        stream: &Stream,
        x: Slice<'_, i64>,
        starts: Slice<'_, u32>,
        out: SliceMut<'_, i64>,
    ) -> Result<(), CudaError> {
        CudaError::check_length("starts of segments", starts.len(), out.len() + 1)?;
        if out.is_empty() {
            return Ok(());
        }
        let segments = out.len() as u32;
        let shape = Shape::covering(out.len(), THREADS / 32);
        let shape = Shape::new(shape.grid[0], THREADS);
        self.segments.launch(stream, shape, (x, starts, out, segments))
    }

    /// Sets `out` (one element) to the sum of numbers in an order that depends on how many there are alone.
    pub fn sum_ordered(
        &mut self,
        stream: &Stream,
        x: Slice<'_, f64>,
        mut out: SliceMut<'_, f64>,
    ) -> Result<(), CudaError> {
        CudaError::check_length("a sum", out.len(), 1)?;
        check_room("an ordered sum", x.len(), self.capacity)?;
        if x.is_empty() {
            return stream.fill(out, 0);
        }
        let mut tiles = x.len().div_ceil(TREE_TILE);
        let shape = Shape::new(tiles as u32, THREADS);
        if tiles == 1 {
            return self.tree.launch(stream, shape, (x, out, x.len() as u64));
        }
        let [even, odd] = &mut self.levels;
        self.tree
            .launch(stream, shape, (x, even.part_mut(0..tiles), x.len() as u64))?;
        let (mut from, mut to) = (even, odd);
        while tiles > 1 {
            let (n, next) = (tiles, tiles.div_ceil(TREE_TILE));
            let shape = Shape::new(next as u32, THREADS);
            let target = if next == 1 {
                out.again()
            } else {
                to.part_mut(0..next)
            };
            self.tree
                .launch(stream, shape, (from.part(0..n), target, n as u64))?;
            std::mem::swap(&mut from, &mut to);
            tiles = next;
        }
        Ok(())
    }

    /// The smallest and the largest; `None` of nothing. Waits for the answer.
    pub fn extremes<T: Ordered>(
        &mut self,
        stream: &Stream,
        x: Slice<'_, T>,
    ) -> Result<Option<Extremes<T>>, CudaError> {
        if x.is_empty() {
            return Ok(None);
        }
        let name = format!("debye_extremes_{}", T::name());
        let kernel = self.module.kernel::<(Const<T>, Mut<u64>, u64)>(&name)?;
        stream.fill(self.keys.part_mut(0..1), 0xff)?;
        stream.fill(self.keys.part_mut(1..2), 0)?;
        let shape = self.shape(x.len());
        kernel.launch(stream, shape, (x, self.keys.all_mut(), x.len() as u64))?;
        let keys = stream.download(&self.keys)?;
        Ok(Some(Extremes {
            least: T::from_key(keys[0]),
            most: T::from_key(keys[1]),
        }))
    }
}
