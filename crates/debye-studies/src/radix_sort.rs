//! [`RadixSort`]: a stable sort of pairs by whole keys. The engine sorts by few buckets and takes the counting sort of
//! `debye_gpu::primitives`.

use debye_gpu::primitives::{self, DIGITS, SORT_TILE, Scan};
use debye_gpu::{
    Buffer, Const, CudaError, Device, Element, Kernel, ModuleSource, Mut, Shape, Slice, SliceMut, Stream,
};

const THREADS: u32 = 256;

pub(crate) fn source(key: &str) -> ModuleSource {
    primitives::source("radix_sort.cu", include_str!("kernels/radix_sort.cu")).define("KEY", key)
}

/// A type of keys: `u32` or `u64`.
pub trait RadixKey: Element {
    /// Its bits.
    const BITS: u32;
}

impl RadixKey for u32 {
    const BITS: u32 = 32;
}

impl RadixKey for u64 {
    const BITS: u32 = 64;
}

type CountParameters<K> = (Const<K>, Mut<u32>, u64, u32);
type ScatterParameters<K> = (Const<K>, Const<u32>, Mut<K>, Mut<u32>, Const<u32>, u64, u32);

/// A stable sort of keys with a `u32` each.
#[derive(Debug)]
pub struct RadixSort<K: RadixKey> {
    passes: Passes<K>,
    keys: Buffer<K>,
    values: Buffer<u32>,
}

/// One pass over all pairs.
#[derive(Debug)]
struct Passes<K: RadixKey> {
    count: Kernel<CountParameters<K>>,
    scatter: Kernel<ScatterParameters<K>>,
    scan: Scan,
    counts: Buffer<u32>,
    offsets: Buffer<u32>,
    no_total: Buffer<u32>,
}

impl<K: RadixKey> RadixSort<K> {
    /// For up to `capacity` pairs.
    pub fn new(device: &Device, capacity: usize) -> Result<Self, CudaError> {
        check_room(capacity, u32::MAX as usize)?;
        let module = device.module(&source(&<K as Element>::name()))?;
        let counts = capacity.div_ceil(SORT_TILE) * DIGITS;
        Ok(Self {
            passes: Passes {
                count: module.kernel("debye_radix_count")?,
                scatter: module.kernel("debye_radix_scatter")?,
                scan: Scan::new(device, counts)?,
                counts: device.allocate(counts)?,
                offsets: device.allocate(counts)?,
                no_total: device.allocate(0)?,
            },
            keys: device.allocate(capacity)?,
            values: device.allocate(capacity)?,
        })
    }

    /// Sorts pairs by the lowest `bits` bits of their keys, rounded up to whole bytes; equal ones keep their order.
    pub fn sort(
        &mut self,
        stream: &Stream,
        mut keys: SliceMut<'_, K>,
        mut values: SliceMut<'_, u32>,
        bits: u32,
    ) -> Result<(), CudaError> {
        let n = keys.len();
        check_room(n, self.keys.len())?;
        CudaError::check_length("values of a radix sort", values.len(), n)?;
        if n == 0 {
            return Ok(());
        }
        let (mut own_keys, mut own_values) = (self.keys.part_mut(0..n), self.values.part_mut(0..n));
        let passes = bits.min(K::BITS).div_ceil(8);
        for pass in 0..passes {
            let (from, to) = if pass % 2 == 0 {
                (
                    (keys.read(), values.read()),
                    (own_keys.again(), own_values.again()),
                )
            } else {
                (
                    (own_keys.read(), own_values.read()),
                    (keys.again(), values.again()),
                )
            };
            self.passes.run(stream, from, to, 8 * pass)?;
        }
        if passes % 2 == 1 {
            stream.copy(own_keys.read(), keys)?;
            stream.copy(own_values.read(), values)?;
        }
        Ok(())
    }
}

impl<K: RadixKey> Passes<K> {
    fn run(
        &mut self,
        stream: &Stream,
        (keys, values): (Slice<'_, K>, Slice<'_, u32>),
        (out_keys, out_values): (SliceMut<'_, K>, SliceMut<'_, u32>),
        shift: u32,
    ) -> Result<(), CudaError> {
        let (n, tiles) = (keys.len() as u64, keys.len().div_ceil(SORT_TILE));
        let shape = Shape::new(tiles as u32, THREADS);
        let used = 0..tiles * DIGITS;
        let arguments = (keys, self.counts.part_mut(used.clone()), n, shift);
        self.count.launch(stream, shape, arguments)?;
        let (counts, offsets) = (
            self.counts.part(used.clone()),
            self.offsets.part_mut(used.clone()),
        );
        self.scan
            .exclusive(stream, counts, offsets, self.no_total.all_mut())?;
        let offsets = self.offsets.part(used);
        self.scatter.launch(
            stream,
            shape,
            (keys, values, out_keys, out_values, offsets, n, shift),
        )
    }
}

/// Refuses more pairs than there is room for.
fn check_room(given: usize, room: usize) -> Result<(), CudaError> {
    if given <= room {
        return Ok(());
    }
    Err(CudaError::Length {
        what: "radix sort",
        given,
        needed: room,
    })
}
