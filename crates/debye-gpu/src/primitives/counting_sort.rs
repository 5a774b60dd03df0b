//! [`CountingSort`]: a stable sort by small keys, such as the numbers of cells.

use crate::{Buffer, Const, CudaError, Device, Kernel, ModuleSource, Mut, Shape, Slice, SliceMut, Stream};

use super::{Scan, check_room};

const THREADS: u32 = 256;
/// Buckets longer than this are noted.
pub(super) const SHORT: usize = 64;

crate::device_struct! {
    /// What a sort notes for itself and the host.
    pub(super) struct SortNotes {
        long_buckets: u32,
        bad_keys: u32,
    }
}

pub(super) fn source() -> ModuleSource {
    super::source("counting_sort.cu", include_str!("../kernels/counting_sort.cu"))
}

type In = Const<u32>;
type Out = Mut<u32>;
type Noted = Mut<SortNotes>;

/// A stable sort of indices by keys below a stated number of buckets.
///
/// Time grows with the number of items and of buckets. Buckets of more than 64 items are slower, but not by much
/// unless nearly everything is in one.
#[derive(Debug)]
pub struct CountingSort {
    count: Kernel<(In, Out, Out, Out, Noted, u32, u32)>,
    scatter: Kernel<(In, In, In, Out, u32, u32)>,
    order_rows: Kernel<(In, In, In, Out, u32)>,
    order_long_rows: Kernel<(In, In, Const<SortNotes>, Out, Out, u32)>,
    scan: Scan,
    counts: Buffer<u32>,
    ranks: Buffer<u32>,
    any_order: Buffer<u32>,
    long_list: Buffer<u32>,
    notes: Buffer<SortNotes>,
    blocks_for_long: u32,
}

impl CountingSort {
    /// For up to `capacity` items and exactly `buckets` buckets.
    pub fn new(device: &Device, capacity: usize, buckets: usize) -> Result<Self, CudaError> {
        check_room("counting sort", capacity.max(buckets), u32::MAX as usize - 1)?;
        let module = device.module(&source())?;
        Ok(Self {
            count: module.kernel("debye_sort_count")?,
            scatter: module.kernel("debye_sort_scatter")?,
            order_rows: module.kernel("debye_sort_rows")?,
            order_long_rows: module.kernel("debye_sort_long_rows")?,
            scan: Scan::new(device, buckets)?,
            counts: device.allocate(buckets)?,
            ranks: device.allocate(capacity)?,
            any_order: device.allocate(capacity)?,
            long_list: device.allocate(capacity / (SHORT + 1) + 1)?,
            notes: device.zeros(1)?,
            blocks_for_long: device.info().multiprocessors,
        })
    }

    /// What is compiled for one with so many buckets.
    pub fn sources(device: &Device, buckets: usize) -> [ModuleSource; 2] {
        [source(), Scan::source(device, buckets)]
    }

    /// Kernels that a sort launches.
    pub const LAUNCHES: u64 = 5;

    /// Bytes of device memory that one for so many items and buckets takes.
    pub fn bytes(device: &Device, capacity: usize, buckets: usize) -> usize {
        let long_list = capacity / (SHORT + 1) + 1;
        size_of::<u32>() * (buckets + 2 * capacity + long_list)
            + size_of::<SortNotes>()
            + Scan::bytes(device, buckets)
    }

    /// Bytes that a sort must read and write at least.
    pub fn traffic(items: f64, buckets: f64) -> f64 {
        // Keys three times, ranks and the first order written and read, the order written; counts zeroed, added to and
        // read, starts written and read twice.
        32.0 * items + 28.0 * buckets
    }

    /// Puts the indices of `keys` in the order of the keys, equal ones in their own order, and where each bucket
    /// begins into `starts` (one more than there are buckets).
    ///
    /// A key beyond the last bucket is left out; [`CountingSort::bad_keys`] says how many there were.
    pub fn sort(
        &mut self,
        stream: &Stream,
        keys: Slice<'_, u32>,
        mut order: SliceMut<'_, u32>,
        starts: &mut Buffer<u32>,
    ) -> Result<(), CudaError> {
        let (n, buckets) = (keys.len(), self.counts.len());
        check_room("counting sort", n, self.ranks.len())?;
        CudaError::check_length("order of a counting sort", order.len(), n)?;
        CudaError::check_length("starts of a counting sort", starts.len(), buckets + 1)?;
        let (items, number) = (n as u32, buckets as u32);
        stream.fill(self.counts.all_mut(), 0)?;
        stream.fill(self.notes.all_mut(), 0)?;
        let shape = Shape::covering(n, THREADS);
        if n > 0 {
            let (counts, ranks) = (self.counts.all_mut(), self.ranks.all_mut());
            let (long_list, notes) = (self.long_list.all_mut(), self.notes.all_mut());
            self.count.launch(
                stream,
                shape,
                (keys, counts, ranks, long_list, notes, items, number),
            )?;
        }
        let (first, total) = starts.split_mut(buckets);
        self.scan.exclusive(stream, self.counts.all(), first, total)?;
        if n == 0 {
            return Ok(());
        }
        let (ranks, any_order) = (self.ranks.all(), self.any_order.all_mut());
        self.scatter.launch(
            stream,
            shape,
            (keys, starts.all(), ranks, any_order, items, number),
        )?;
        let any_order = self.any_order.all();
        self.order_rows.launch(
            stream,
            shape,
            (keys, starts.all(), any_order, order.again(), number),
        )?;
        let digits = (32 - (items - 1).leading_zeros()).div_ceil(8).max(1);
        let passes = digits + (1 - digits % 2);
        self.order_long_rows.launch(
            stream,
            Shape::new(self.blocks_for_long, THREADS),
            (
                starts.all(),
                self.long_list.all(),
                self.notes.all(),
                self.any_order.all_mut(),
                order,
                passes,
            ),
        )
    }

    /// How many keys of the last sort were beyond the last bucket; waits for it.
    pub fn bad_keys(&self, stream: &Stream) -> Result<u32, CudaError> {
        Ok(stream
            .download(&self.notes)?
            .first()
            .map_or(0, |notes| notes.bad_keys))
    }
}
