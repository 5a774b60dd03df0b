//! [`Collection`]: parts of device memory that the host wants to see together, without waiting for them.

use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

use crate::driver::{Allocation, Driver};
use crate::element::Element;
use crate::{
    Buffer, CudaError, Device, Event, Header, Kernel, ModuleSource, Shape, Slice, Stream, constants,
};

const COLLECT_THREADS: usize = 256;
/// Pieces begin at multiples of this.
const ALIGNMENT: usize = 16;
/// Blocks of a multiprocessor: enough to fill the way to the host.
const BLOCKS_EACH: usize = 2;
/// Larger collections are put together on the device, and copied to the host while it goes on.
const STAGED: usize = 64 * 1024;
/// Where less than so many times as much memory is left, they are not.
const RESERVE: usize = 8;
/// The most pieces: they are a parameter of the kernel.
const MOST_PIECES: usize = 24;

crate::device_struct! {
    /// A piece: where it is, and where it goes.
    #[derive(Default)]
    struct Piece {
        from: u64,
        /// The address of a word that says how many pieces further on it is; 0: none.
        which: u64,
        /// Bytes.
        length: u64,
        to: u64,
    }

    /// All of them.
    struct PieceList {
        pieces: [Piece; MOST_PIECES],
    }
}

pub(super) fn source() -> ModuleSource {
    let shared = Header::new(&["prelude.cuh"])
        .constants(&constants![COLLECT_THREADS, MOST_PIECES])
        .define::<Piece>()
        .define::<PieceList>();
    ModuleSource::new("collect.cu", include_str!("../kernels/collect.cu"))
        .include("collect_shared.cuh", &shared.text())
}

/// Where a piece lies in what was collected.
#[derive(Debug)]
pub struct Place<T> {
    at: usize,
    length: usize,
    kind: PhantomData<fn() -> T>,
}

impl<T> Clone for Place<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Place<T> {}

impl<T> Place<T> {
    /// So many elements, so many bytes from the beginning.
    pub fn new(at: usize, length: usize) -> Self {
        Self {
            at,
            length,
            kind: PhantomData,
        }
    }
}

/// Pieces in the order in which they are added.
#[derive(Debug, Default)]
pub struct Pieces {
    pieces: Vec<Piece>,
    memory: Vec<Arc<Allocation>>,
    bytes: usize,
}

impl Pieces {
    /// Adds a part of an array, of whole words of four bytes.
    pub fn add<T: Element>(&mut self, part: Slice<'_, T>) -> Place<T> {
        self.put(part, 0)
    }

    /// Adds one of the parts of this length that an array is made of: the word so many bytes into another array says
    /// which, when the device comes to it.
    pub fn add_which<T: Element, W: Element>(
        &mut self,
        buffer: &Buffer<T>,
        length: usize,
        (words, bytes): (&Buffer<W>, usize),
    ) -> Place<T> {
        self.memory.push(Arc::clone(&words.allocation));
        self.put(buffer.part(0..length), words.allocation.address + bytes as u64)
    }

    fn put<T: Element>(&mut self, part: Slice<'_, T>, which: u64) -> Place<T> {
        debug_assert!(size_of::<T>().is_multiple_of(4));
        let place = Place::new(self.bytes, part.len());
        let length = part.len() * size_of::<T>();
        if length > 0 {
            self.memory.push(Arc::clone(part.allocation));
            self.pieces.push(Piece {
                from: part.address(),
                which,
                length: length as u64,
                to: self.bytes as u64,
            });
            self.bytes += length.next_multiple_of(ALIGNMENT);
        }
        place
    }

    /// What copies them.
    pub fn collection(self, device: &Device) -> Result<Collection, CudaError> {
        super::check_room("pieces to collect", self.pieces.len(), MOST_PIECES)?;
        let mut pieces = [Piece::default(); MOST_PIECES];
        pieces[..self.pieces.len()].copy_from_slice(&self.pieces);
        let blocks = (self.bytes / (ALIGNMENT * COLLECT_THREADS)).max(1);
        Ok(Collection {
            kernel: device.module(&source())?.kernel("debye_collect")?,
            driver: device.driver(),
            blocks: blocks.min(BLOCKS_EACH * device.info().multiprocessors as usize) as u32,
            pieces: PieceList { pieces },
            number: self.pieces.len() as u32,
            stage: (self.bytes > STAGED)
                .then(|| Stage::new(device, self.bytes))
                .flatten()
                .map(Mutex::new),
            bytes: self.bytes,
            _memory: self.memory,
        })
    }
}

/// Copies pieces to the host in one launch, with the bits they have when the device comes to it.
pub struct Collection {
    kernel: Kernel<(PieceList, u32, u64)>,
    driver: Arc<dyn Driver>,
    blocks: u32,
    pieces: PieceList,
    number: u32,
    stage: Option<Mutex<Stage>>,
    bytes: usize,
    _memory: Vec<Arc<Allocation>>,
}

/// Memory of the device where pieces are put together, and the stream that copies them from there to the host.
struct Stage {
    memory: Buffer<u8>,
    beside: Stream,
}

impl Stage {
    /// None where it would take much of what is left: then pieces go to the host at once.
    fn new(device: &Device, bytes: usize) -> Option<Self> {
        let free = device.memory().ok()?.free;
        (free > RESERVE * bytes).then_some(())?;
        Some(Self {
            memory: device.allocate(bytes).ok()?,
            beside: device.stream().ok()?,
        })
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // The memory goes when nobody copies it any more.
        let _ = self.beside.synchronize();
    }
}

/// Two parts of device memory that are filled by turns: one is copied to the host while the device fills the other.
pub struct Turns {
    memory: Buffer<u64>,
    /// Each copies its part.
    beside: [Stream; 2],
    driver: Arc<dyn Driver>,
    /// The part that is filled next.
    turn: usize,
}

impl Turns {
    /// Parts of so many bytes, zero at first: nobody finds what others left there. `None` where they would take much of the
    /// memory that is left.
    pub fn new(device: &Device, bytes: usize) -> Result<Option<Self>, CudaError> {
        let words = bytes.div_ceil(size_of::<u64>());
        let all = 2 * words * size_of::<u64>();
        if device.memory()?.free < RESERVE * all {
            return Ok(None);
        }
        Ok(Some(Self {
            memory: device.zeros(2 * words)?,
            beside: [device.stream()?, device.stream()?],
            driver: device.driver(),
            turn: 0,
        }))
    }

    /// Both parts.
    pub fn memory(&self) -> &Buffer<u64> {
        &self.memory
    }

    /// Where the part that is filled next begins, in bytes. The stream waits until it was copied.
    pub fn begin(&self, stream: &Stream) -> Result<usize, CudaError> {
        stream.wait_for(&self.beside[self.turn])?;
        Ok(self.first(self.turn))
    }

    /// The part that is filled next.
    pub fn turn(&self) -> usize {
        self.turn
    }

    /// Where a part begins, in bytes.
    pub fn first(&self, turn: usize) -> usize {
        turn * (self.memory.len() / 2) * size_of::<u64>()
    }

    /// Queues a copy of the first bytes of the part that the stream has filled then, and goes on with the other.
    pub fn queue(
        &mut self,
        stream: &Stream,
        bytes: usize,
        again: Option<Collected>,
    ) -> Result<Collected, CudaError> {
        let to = Pinned::new(&self.driver, bytes, again)?;
        let beside = &self.beside[self.turn];
        let first = self.first(self.turn);
        beside.wait_for(stream)?;
        let from = self.memory.allocation.address + first as u64;
        self.driver.copy_to_host(
            beside.handle,
            to.address,
            from,
            bytes.min(self.memory.len() / 2 * size_of::<u64>()),
        )?;
        // Without an event nobody knows when it is there.
        let event = beside.event().inspect_err(|_| drop(beside.synchronize()))?;
        self.turn ^= 1;
        Ok(Collected { event, to: Some(to) })
    }
}

impl Drop for Turns {
    fn drop(&mut self) {
        // The memory goes when nobody copies it any more.
        self.beside.iter().for_each(|beside| drop(beside.synchronize()));
    }
}

/// Memory of the host that the device writes to.
struct Pinned {
    driver: Arc<dyn Driver>,
    address: u64,
    bytes: usize,
}

impl Pinned {
    /// Room for so many bytes: where earlier ones went that nobody needs any more, if there is enough.
    fn new(driver: &Arc<dyn Driver>, bytes: usize, again: Option<Collected>) -> Result<Self, CudaError> {
        let earlier = again.map(Collected::into_memory).transpose()?.flatten();
        if let Some(to) = earlier.filter(|to| to.bytes >= bytes) {
            return Ok(to);
        }
        Ok(Self {
            address: driver.allocate_host(bytes)?,
            driver: Arc::clone(driver),
            bytes,
        })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        self.driver.free_host(self.address, self.bytes);
    }
}

/// What was or will be collected.
pub struct Collected {
    /// There until it is dropped or used again.
    to: Option<Pinned>,
    event: Event,
}

impl Drop for Collected {
    fn drop(&mut self) {
        // The memory goes when nobody writes to it any more.
        if self.to.is_some() {
            let _ = self.event.wait();
        }
    }
}

impl Collection {
    /// The module that it takes.
    pub fn source() -> ModuleSource {
        source()
    }

    /// Bytes of the host that each collecting takes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes of the device that it takes.
    pub fn bytes_on_device(&self) -> usize {
        self.stage.as_ref().map_or(0, |_| self.bytes)
    }

    /// Queues the copies. They go where earlier ones went that nobody needs any more, if there are any.
    pub fn queue(&self, stream: &Stream, again: Option<Collected>) -> Result<Collected, CudaError> {
        let to = Pinned::new(&self.driver, self.bytes, again)?;
        let shape = Shape::new(self.blocks, COLLECT_THREADS as u32);
        let collect = |to: u64| self.kernel.launch(stream, shape, (self.pieces, self.number, to));
        let Some(stage) = &self.stage else {
            collect(to.address)?;
            return Ok(Collected {
                event: stream.event()?,
                to: Some(to),
            });
        };
        let Stage { memory, beside } = &*stage.lock().unwrap_or_else(PoisonError::into_inner);
        // After the copy before.
        stream.wait_for(beside)?;
        let from = memory.allocation.address;
        collect(from)?;
        beside.wait_for(stream)?;
        self.driver
            .copy_to_host(beside.handle, to.address, from, self.bytes)?;
        // Without an event nobody knows when it is there.
        let event = beside.event().inspect_err(|_| drop(beside.synchronize()))?;
        Ok(Collected { event, to: Some(to) })
    }
}

impl Collected {
    /// Whether it is all there.
    pub fn is_there(&self) -> Result<bool, CudaError> {
        self.event.is_reached()
    }

    /// Waits until it is all there.
    pub fn wait(&self) -> Result<(), CudaError> {
        self.event.wait()
    }

    /// A piece; waits for it.
    pub fn read<T: Element>(&self, place: Place<T>) -> Result<Vec<T>, CudaError> {
        self.read_first(place, place.length)
    }

    /// The first elements of a piece; waits for it.
    pub fn read_first<T: Element>(&self, place: Place<T>, length: usize) -> Result<Vec<T>, CudaError> {
        let all = self.view(place)?;
        Ok(all[..length.min(all.len())].to_vec())
    }

    /// A piece where it lies; waits for it.
    pub fn view<T: Element>(&self, place: Place<T>) -> Result<&[T], CudaError> {
        self.wait()?;
        let from = self.to.as_ref().filter(|_| place.length > 0);
        Ok(from.map_or(&[], |from| {
            let bytes = place.length * size_of::<T>();
            bytemuck::cast_slice(from.driver.host_memory(from.address + place.at as u64, bytes))
        }))
    }

    /// Its memory, when it is all there.
    fn into_memory(mut self) -> Result<Option<Pinned>, CudaError> {
        self.wait()?;
        Ok(self.to.take())
    }
}
