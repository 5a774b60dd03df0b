//! How fast the primitives are on a device, beside a plain copy; timed by events around replays of a graph.

use debye_gpu::primitives::{CountingSort, Scan};
use debye_gpu::{Const, CudaError, Device, ModuleSource, Mut, Shape};

use crate::radix_sort::RadixSort;
use crate::{REPETITIONS, median};

/// What was measured.
#[derive(Clone, Debug)]
pub struct Rate {
    /// What ran.
    pub what: String,
    /// Elements.
    pub elements: usize,
    /// Seconds for all of them: the median.
    pub seconds: f64,
}

impl Rate {
    /// Elements per nanosecond: 10⁹ per second.
    pub fn giga_per_second(&self) -> f64 {
        self.elements as f64 / self.seconds * 1e-9
    }
}

/// The kernel that copies.
pub(crate) fn source() -> ModuleSource {
    ModuleSource::new("copy.cu", include_str!("kernels/copy.cu"))
}

/// Fewer repetitions of what takes long.
fn repetitions(elements: usize) -> usize {
    if elements >= 1 << 25 { 4 } else { REPETITIONS }
}

/// Measures a copy and a scan of this many elements.
pub fn scan(device: &Device, elements: usize) -> Result<[Rate; 2], CudaError> {
    let stream = device.stream()?;
    let from = device.upload(&vec![1_u32; elements])?;
    let (mut to, mut total) = (device.zeros::<u32>(elements)?, device.zeros::<u32>(1)?);
    let kernel = device
        .module(&source())?
        .kernel::<(Const<u32>, Mut<u32>, u64)>("debye_copy")?;
    let repeat = repetitions(elements);
    let quads = elements / 4;
    let shape = Shape::new(quads.div_ceil(2048).max(1) as u32, 512);
    let copy = Rate {
        what: "copy".into(),
        elements,
        seconds: median(&stream, repeat, |stream| {
            kernel.launch(stream, shape, (from.all(), to.all_mut(), quads as u64))
        })?,
    };
    let mut scan = Scan::new(device, elements)?;
    let seconds = median(&stream, repeat, |stream| {
        scan.exclusive(stream, from.all(), to.all_mut(), total.all_mut())
    })?;
    // Not timed if wrong.
    let last = stream.download_part(to.part(elements - 1..elements))?;
    CudaError::check_length(
        "the last element of a measured scan",
        last[0] as usize,
        elements - 1,
    )?;
    let tiling = scan.tiling();
    let what = format!("scan {}x{}x{}", tiling.threads, tiling.items, tiling.stages);
    Ok([
        copy,
        Rate {
            what,
            elements,
            seconds,
        },
    ])
}

/// Measures a counting sort into buckets of four on average, and radix sorts of all bits of 32-bit and 64-bit keys.
pub fn sorts(device: &Device, elements: usize) -> Result<Vec<Rate>, CudaError> {
    let stream = device.stream()?;
    let buckets = elements / 4 + 1;
    let mix = |i: usize| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let keys: Vec<u32> = (0..elements)
        .map(|i| (((mix(i) >> 32) * buckets as u64) >> 32) as u32)
        .collect();
    let from = device.upload(&keys)?;
    let (mut order, mut starts) = (device.zeros::<u32>(elements)?, device.zeros::<u32>(buckets + 1)?);
    let mut counting = CountingSort::new(device, elements, buckets)?;
    let repeat = repetitions(elements);
    let mut all = vec![Rate {
        what: "counting sort".into(),
        elements,
        seconds: median(&stream, repeat, |stream| {
            counting.sort(stream, from.all(), order.all_mut(), &mut starts)
        })?,
    }];
    macro_rules! radix {
        ($key:ty, $what:literal, $bits:literal) => {{
            let mixed: Vec<$key> = (0..elements).map(|i| (mix(i) >> (64 - <$key>::BITS)) as $key).collect();
            let (fresh, mut keys) = (device.upload(&mixed)?, device.upload(&mixed)?);
            let mut sort = RadixSort::<$key>::new(device, elements)?;
            // Sorted input would be easier: every sort begins with a copy of the keys, which is timed with it.
            let seconds = median(&stream, repeat, |stream| {
                stream.copy(fresh.all(), keys.all_mut())?;
                sort.sort(stream, keys.all_mut(), order.all_mut(), $bits)
            })?;
            all.push(Rate {
                what: $what.into(),
                elements,
                seconds,
            });
        }};
    }
    radix!(u32, "radix sort, u32, 32 bits", 32);
    radix!(u32, "radix sort, u32, 24 bits", 24);
    radix!(u64, "radix sort, u64, 64 bits", 64);
    Ok(all)
}
