//! [`Compact`]: what is marked, close together and in order.

use crate::{Buffer, Const, CudaError, Device, Kernel, ModuleSource, Mut, Shape, Slice, SliceMut, Stream};

use super::{Scan, check_room};

const THREADS: u32 = 256;

pub(super) fn source() -> ModuleSource {
    ModuleSource::new("compact.cu", include_str!("../kernels/compact.cu"))
}

type In = Const<u32>;

/// Keeps what is marked, in its order.
#[derive(Debug)]
pub struct Compact {
    scan: Scan,
    values: Kernel<(In, In, In, Mut<u32>, u64)>,
    indices: Kernel<(In, In, Mut<u32>, u64)>,
    places: Buffer<u32>,
}

impl Compact {
    /// For up to `capacity` elements.
    pub fn new(device: &Device, capacity: usize) -> Result<Self, CudaError> {
        let module = device.module(&source())?;
        Ok(Self {
            scan: Scan::new(device, capacity)?,
            values: module.kernel("debye_compact")?,
            indices: module.kernel("debye_compact_indices")?,
            places: device.allocate(capacity)?,
        })
    }

    /// Puts the values whose mark is 1 (all others are 0) into the beginning of `out`, and their number into `count`.
    ///
    /// `out` must have room for them; room for all is always enough.
    pub fn values(
        &mut self,
        stream: &Stream,
        values: Slice<'_, u32>,
        marks: Slice<'_, u32>,
        out: SliceMut<'_, u32>,
        count: SliceMut<'_, u32>,
    ) -> Result<(), CudaError> {
        let n = marks.len();
        CudaError::check_length("compaction", values.len(), n)?;
        self.find_places(stream, marks, count)?;
        if n == 0 {
            return Ok(());
        }
        let arguments = (values, marks, self.places.part(0..n), out, n as u64);
        self.values.launch(stream, Shape::covering(n, THREADS), arguments)
    }

    /// The same for the indices of the marks.
    pub fn indices(
        &mut self,
        stream: &Stream,
        marks: Slice<'_, u32>,
        out: SliceMut<'_, u32>,
        count: SliceMut<'_, u32>,
    ) -> Result<(), CudaError> {
        let n = marks.len();
        self.find_places(stream, marks, count)?;
        if n == 0 {
            return Ok(());
        }
        let arguments = (marks, self.places.part(0..n), out, n as u64);
        self.indices
            .launch(stream, Shape::covering(n, THREADS), arguments)
    }

    fn find_places(
        &mut self,
        stream: &Stream,
        marks: Slice<'_, u32>,
        count: SliceMut<'_, u32>,
    ) -> Result<(), CudaError> {
        check_room("compaction", marks.len(), self.places.len())?;
        let places = self.places.part_mut(0..marks.len());
        self.scan.exclusive(stream, marks, places, count)
    }
}
