//! [`Driver`]: what a card and its emulation both do; everything else is built on it.

use std::sync::Arc;

use crate::error::CudaError;
use crate::shape::Shape;
use crate::source::ModuleSource;

/// A thing of the driver: a stream, a module, a kernel, an event, a graph.
pub(crate) type Handle = u64;

/// What a kernel takes, as far as the device knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    /// The types, spelled as in [`crate::Element::name`].
    Types(String),
    /// The sizes in bytes.
    Sizes(Vec<usize>),
    /// Nobody says.
    Unknown,
}

/// A kernel of a loaded module.
#[derive(Clone, Debug)]
pub(crate) struct RawKernel {
    pub(crate) handle: Handle,
    pub(crate) takes: Takes,
    pub(crate) max_threads: u32,
}

/// The values of a launch: 8-byte aligned bytes and where each begins.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packed {
    pub(crate) words: Vec<u64>,
    pub(crate) starts: Vec<usize>,
}

impl Packed {
    /// Adds a value.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        // Parameters may be aligned to 16 bytes.
        if self.words.len() % 2 == 1 {
            self.words.push(0);
        }
        self.starts.push(self.words.len());
        for chunk in bytes.chunks(8) {
            let mut word = [0_u8; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.words.push(u64::from_ne_bytes(word));
        }
    }

    /// Pointers to the values, as launch calls take them.
    pub(crate) fn pointers(&self) -> Vec<*mut std::ffi::c_void> {
        let one = |&start: &usize| self.words[start..].as_ptr().cast_mut().cast();
        self.starts.iter().map(one).collect()
    }
}

/// What is known of a device.
#[derive(Clone, Debug)]
pub struct DeviceInfo {
    /// Its name.
    pub name: String,
    /// Compute capability, first and second number.
    pub capability: (u32, u32),
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of memory.
    pub memory: usize,
    /// The most shared memory a block can ask for.
    pub shared_per_block: u32,
    /// Bytes of second-level cache.
    pub l2: u32,
    /// Bytes per second that its memory moves at best; `None` where it is not known.
    pub bandwidth: Option<f64>,
    /// Whether this is the emulation.
    pub emulated: bool,
}

/// Memory of a device in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Free.
    pub free: usize,
    /// In all.
    pub total: usize,
}

/// What a card and its emulation both do. Handles are those that this driver gave.
pub(crate) trait Driver: Send + Sync {
    fn info(&self) -> &DeviceInfo;
    fn memory(&self) -> Result<Memory, CudaError>;
    fn allocate(&self, bytes: usize) -> Result<u64, CudaError>;
    fn free(&self, address: u64, bytes: usize);
    /// Memory of the host that kernels write to.
    fn allocate_host(&self, bytes: usize) -> Result<u64, CudaError>;
    fn free_host(&self, address: u64, bytes: usize);
    /// Memory of the host that no kernel writes to any more, for as long as the caller keeps it.
    fn host_memory(&self, address: u64, bytes: usize) -> &[u8];
    /// The code of a module, from the cache on disk where it is there.
    fn compile(&self, source: &ModuleSource) -> Result<Vec<u8>, CudaError>;
    fn load(&self, source: &ModuleSource) -> Result<Handle, CudaError>;
    fn unload(&self, module: Handle);
    fn kernel(&self, module: Handle, name: &str) -> Result<RawKernel, CudaError>;
    /// Address and bytes of a variable of a module.
    fn variable(&self, module: Handle, name: &str) -> Result<(u64, usize), CudaError>;
    /// Allows a kernel this much dynamic shared memory, and says how many blocks fit on a multiprocessor.
    fn occupancy(&self, kernel: &RawKernel, name: &str, threads: u32, shared: u32) -> Result<u32, CudaError>;
    fn stream(&self) -> Result<Handle, CudaError>;
    fn end_stream(&self, stream: Handle);
    fn synchronize(&self, stream: Handle) -> Result<(), CudaError>;
    fn write(&self, stream: Handle, address: u64, bytes: &[u8]) -> Result<(), CudaError>;
    /// Waits for the stream.
    fn read(&self, stream: Handle, address: u64, bytes: &mut [u8]) -> Result<(), CudaError>;
    fn copy(&self, stream: Handle, to: u64, from: u64, bytes: usize) -> Result<(), CudaError>;
    /// To memory that [`Driver::allocate_host`] gave; waits for nothing.
    fn copy_to_host(&self, stream: Handle, to: u64, from: u64, bytes: usize) -> Result<(), CudaError>;
    fn fill(&self, stream: Handle, address: u64, byte: u8, bytes: usize) -> Result<(), CudaError>;
    fn launch(
        &self,
        stream: Handle,
        kernel: &RawKernel,
        name: &str,
        shape: Shape,
        values: &Packed,
    ) -> Result<(), CudaError>;
    fn event(&self, stream: Handle) -> Result<Handle, CudaError>;
    fn end_event(&self, event: Handle);
    /// Waits for an event.
    fn wait_for(&self, event: Handle) -> Result<(), CudaError>;
    fn is_reached(&self, event: Handle) -> Result<bool, CudaError>;
    /// Makes a stream wait for what another has queued so far.
    fn wait(&self, stream: Handle, other: Handle) -> Result<(), CudaError>;
    /// Seconds between two events; waits for the later.
    fn seconds(&self, from: Handle, to: Handle) -> Result<f64, CudaError>;
    fn begin_capture(&self, stream: Handle) -> Result<(), CudaError>;
    /// Begins a capture with the kernel that sets a condition, and gives the number of the condition.
    fn begin_condition(&self, stream: Handle) -> Result<u64, CudaError>;
    /// What is captured from now on is done where the condition holds.
    fn begin_conditional(&self, stream: Handle) -> Result<(), CudaError>;
    fn end_capture(&self, stream: Handle) -> Result<Handle, CudaError>;
    fn replay(&self, graph: Handle, stream: Handle) -> Result<(), CudaError>;
    fn end_graph(&self, graph: Handle);
}

/// Memory of a device, given back when nobody uses it any more.
pub(crate) struct Allocation {
    pub(crate) driver: Arc<dyn Driver>,
    pub(crate) address: u64,
    pub(crate) bytes: usize,
}

impl Drop for Allocation {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.driver.free(self.address, self.bytes);
        }
    }
}

impl std::fmt::Debug for Allocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes at {:#x}", self.bytes, self.address)
    }
}
