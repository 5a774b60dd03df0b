//! [`Emulated`]: the kernels of this program, run on the host.
//!
//! Everything is done at once and in order. A captured graph is the list of what was asked.

// Loading the compiled kernels and calling them is unsafe by nature, as is memory known by its address.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc};
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::io::Write;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use libloading::Library;

use super::compiler::{HostCompiler, Instrument};
use crate::driver::{DeviceInfo, Driver, Handle, Memory, Packed, RawKernel, Takes};
use crate::error::CudaError;
use crate::shape::Shape;
use crate::source::ModuleSource;

/// How a device is emulated.
#[derive(Clone, Debug)]
pub struct Emulation {
    /// Decides the order in which blocks and threads run.
    pub seed: u64,
    /// What is watched.
    pub instrument: Instrument,
    /// Multiprocessors it pretends to have.
    pub multiprocessors: u32,
    /// Bytes of memory it pretends to have.
    pub memory: usize,
    /// Kernels it runs before it answers no more, as a card that is lost; `None` for one that never is.
    pub fail_after: Option<u64>,
}

impl Default for Emulation {
    fn default() -> Self {
        Self {
            seed: 1,
            instrument: Instrument::Nothing,
            multiprocessors: 3,
            memory: 1 << 30,
            fail_after: None,
        }
    }
}

impl Emulation {
    /// The library that a process must be started with (`LD_PRELOAD`) to watch memory; `None` if the compiler has
    /// none.
    pub fn preload() -> Result<Option<String>, CudaError> {
        let compiler = HostCompiler::find()?;
        let clang = format!("libclang_rt.asan-{}.so", std::env::consts::ARCH);
        Ok(compiler
            .own_library("libasan.so")
            .or_else(|| compiler.own_library(&clang)))
    }
}

/// Every allocation lies as on a card.
const ALIGNMENT: usize = 256;
/// Blocks that fit on one of its multiprocessors.
const BLOCKS_EACH: u32 = 2;
/// Dynamic shared memory that a kernel may be launched with before its occupancy was asked for.
const SHARED_UNASKED: u32 = 48 * 1024;

#[repr(C)]
struct KernelRecord {
    name: *const c_char,
    signature: *const c_char,
    call: *const c_void,
    threads: c_uint,
}

#[repr(C)]
struct LaunchShape {
    grid: [u32; 3],
    block: [u32; 3],
    shared: u64,
    cooperative: u32,
    seed: u64,
}

type LaunchCall =
    unsafe extern "C" fn(*const c_void, *mut *mut c_void, *const LaunchShape, *mut c_char, usize) -> c_int;

struct Loaded {
    library: Library,
    launch: LaunchCall,
    kernels: HashMap<String, RawKernel>,
    name: String,
}

// SAFETY: what the pointers lead to lives as long as the library, and launches are serialized inside it.
unsafe impl Send for Loaded {}

#[derive(Clone)]
enum Step {
    Copy {
        to: u64,
        from: u64,
        bytes: usize,
    },
    Fill {
        address: u64,
        byte: u8,
        bytes: usize,
    },
    Launch {
        kernel: Handle,
        name: String,
        launch: LaunchCall,
        shape: Shape,
        values: Packed,
    },
    /// What follows in the graph is done unless this is zero, as it is before a replay.
    If(Arc<AtomicU32>),
}

#[derive(Default)]
struct State {
    used: usize,
    next: Handle,
    modules: HashMap<Handle, Loaded>,
    /// Which library launches a kernel.
    launchers: HashMap<Handle, LaunchCall>,
    recording: HashMap<Handle, Vec<Step>>,
    /// Streams whose work is recorded with that of another.
    beside: HashMap<Handle, Handle>,
    /// Of streams that record what decides about the rest.
    conditions: HashMap<Handle, Arc<AtomicU32>>,
    graphs: HashMap<Handle, Vec<Step>>,
    events: HashMap<Handle, Instant>,
}

/// The emulated device.
pub(crate) struct Emulated {
    emulation: Emulation,
    compiler: HostCompiler,
    info: DeviceInfo,
    launches: AtomicU64,
    state: Mutex<State>,
    /// How much dynamic shared memory a kernel may be launched with, where it was asked for.
    allowed: Mutex<HashMap<Handle, u32>>,
}

impl Emulated {
    pub(crate) fn new(emulation: Emulation) -> Result<Self, CudaError> {
        Ok(Self {
            compiler: HostCompiler::find()?,
            info: DeviceInfo {
                name: "emulated device".into(),
                capability: (9, 0),
                multiprocessors: emulation.multiprocessors,
                memory: emulation.memory,
                shared_per_block: 227 * 1024,
                l2: 0,
                bandwidth: None,
                emulated: true,
            },
            launches: AtomicU64::new(0),
            state: Mutex::default(),
            allowed: Mutex::default(),
            emulation,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn allowed(&self) -> MutexGuard<'_, HashMap<Handle, u32>> {
        self.allowed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses everything once it was told to fail.
    fn alive(&self) -> Result<(), CudaError> {
        match self.emulation.fail_after {
            Some(last) if self.launches.load(Ordering::Relaxed) > last => Err(CudaError::Lost {
                reason: format!("the emulated device was told to fail after {last} kernels"),
            }),
            _ => Ok(()),
        }
    }

    fn handle(&self) -> Handle {
        let mut state = self.state();
        state.next += 1;
        state.next
    }

    /// Records the step if a graph is captured, else does it.
    fn take(&self, stream: Handle, step: Step) -> Result<(), CudaError> {
        let mut state = self.state();
        let recorder = state.beside.get(&stream).copied().unwrap_or(stream);
        if let Some(steps) = state.recording.get_mut(&recorder) {
            steps.push(step);
            return Ok(());
        }
        self.perform(&step)
    }

    fn perform(&self, step: &Step) -> Result<(), CudaError> {
        self.alive()?;
        match step {
            // SAFETY: addresses and lengths come from buffers that are alive, and slices of one never overlap
            // with those of another; copies inside a buffer are allowed to.
            Step::Copy { to, from, bytes } => unsafe {
                std::ptr::copy(*from as *const u8, *to as *mut u8, *bytes);
            },
            // SAFETY: as above.
            Step::Fill { address, byte, bytes } => unsafe {
                std::ptr::write_bytes(*address as *mut u8, *byte, *bytes);
            },
            Step::Launch {
                kernel,
                name,
                launch,
                shape,
                values,
            } => self.run(*kernel, name, *launch, *shape, values)?,
            Step::If(_) => {}
        }
        Ok(())
    }

    fn run(
        &self,
        kernel: Handle,
        name: &str,
        launch: LaunchCall,
        shape: Shape,
        values: &Packed,
    ) -> Result<(), CudaError> {
        let number = self.launches.fetch_add(1, Ordering::Relaxed);
        self.alive()?;
        let allowed = self.allowed().get(&kernel).copied().unwrap_or(SHARED_UNASKED);
        if shape.shared > allowed {
            let reason =
                format!("more than {allowed} bytes of dynamic shared memory, which nobody asked for");
            return Err(CudaError::shape(name, reason));
        }
        let launch_shape = LaunchShape {
            grid: shape.grid,
            block: shape.block,
            shared: u64::from(shape.shared),
            cooperative: u32::from(shape.cooperative),
            seed: self
                .emulation
                .seed
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .wrapping_add(number),
        };
        let mut pointers = values.pointers();
        let mut message = [0_u8; 4096];
        // SAFETY: the kernel is of the library that `launch` comes from; the values have the types it takes,
        // which was checked when it was looked up, and live through the call.
        let status = unsafe {
            launch(
                kernel as *const c_void,
                pointers.as_mut_ptr(),
                &launch_shape,
                message.as_mut_ptr().cast(),
                message.len(),
            )
        };
        if status == 0 {
            return Ok(());
        }
        let text = CStr::from_bytes_until_nul(&message).unwrap_or_default();
        Err(CudaError::Launch {
            kernel: name.to_owned(),
            reason: text.to_string_lossy().into_owned(),
        })
    }

    fn open(&self, source: &ModuleSource) -> Result<Loaded, CudaError> {
        let failed = |error: &dyn std::fmt::Display| {
            CudaError::HostCompiler(format!("{} does not load on the host: {error}", source.label()))
        };
        let bytes = self.compile(source)?;
        let mut file = tempfile::NamedTempFile::new().map_err(|e| failed(&e))?;
        file.write_all(&bytes).map_err(|e| failed(&e))?;
        let path = file.into_temp_path();
        // SAFETY: the library was compiled from files of this program and only registers its kernels when loaded.
        let library = unsafe { Library::new(path.as_os_str()) }.map_err(|e| failed(&e))?;
        let mut records: *const KernelRecord = std::ptr::null();
        // SAFETY: the signatures are those of emulator.cpp; the records live as long as the library.
        let (launch, records) = unsafe {
            let list = library
                .get::<unsafe extern "C" fn(*mut *const KernelRecord) -> c_uint>("debye_emulator_kernels")
                .map_err(|e| failed(&e))?;
            let count = list(&mut records);
            let launch = *library
                .get::<LaunchCall>("debye_emulator_launch")
                .map_err(|e| failed(&e))?;
            (launch, std::slice::from_raw_parts(records, count as usize))
        };
        // SAFETY: names and signatures are C strings of the library.
        let text = |text: *const c_char| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
        let kernel = |record: &KernelRecord| {
            let raw = RawKernel {
                handle: record.call as Handle,
                takes: Takes::Types(text(record.signature)),
                max_threads: record.threads,
            };
            (text(record.name), raw)
        };
        Ok(Loaded {
            launch,
            kernels: records.iter().map(kernel).collect(),
            library,
            name: source.label(),
        })
    }
}

impl Driver for Emulated {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn memory(&self) -> Result<Memory, CudaError> {
        let total = self.emulation.memory;
        Ok(Memory {
            free: total - self.state().used,
            total,
        })
    }

    fn allocate(&self, bytes: usize) -> Result<u64, CudaError> {
        let Memory { free, total } = self.memory()?;
        let refused = CudaError::OutOfMemory {
            wanted: bytes,
            free,
            total,
        };
        if bytes > free {
            return Err(refused);
        }
        let Ok(layout) = Layout::from_size_align(bytes, ALIGNMENT) else {
            return Err(refused);
        };
        // SAFETY: the layout is not empty; nobody allocates nothing.
        let address = unsafe { alloc(layout) };
        if address.is_null() {
            return Err(refused);
        }
        // Nobody may rely on what is there.
        // SAFETY: the memory was just allocated with this many bytes.
        unsafe { std::ptr::write_bytes(address, 0xa5, bytes) };
        self.state().used += bytes;
        Ok(address as u64)
    }

    fn free(&self, address: u64, bytes: usize) {
        if let Ok(layout) = Layout::from_size_align(bytes, ALIGNMENT) {
            // SAFETY: it was allocated by `allocate` with this layout, and is freed once.
            unsafe { dealloc(address as *mut u8, layout) };
            self.state().used -= bytes;
        }
    }

    fn allocate_host(&self, bytes: usize) -> Result<u64, CudaError> {
        let layout = Layout::from_size_align(bytes.max(1), ALIGNMENT);
        // SAFETY: the layout is not empty.
        let address = layout.map_or(0, |layout| unsafe { alloc(layout) } as u64);
        if address == 0 {
            let Memory { free, total } = self.memory()?;
            let wanted = bytes;
            return Err(CudaError::OutOfMemory { wanted, free, total });
        }
        Ok(address)
    }

    fn free_host(&self, address: u64, bytes: usize) {
        if let Ok(layout) = Layout::from_size_align(bytes.max(1), ALIGNMENT) {
            // SAFETY: it was allocated by `allocate_host` with this layout, and is freed once.
            unsafe { dealloc(address as *mut u8, layout) };
        }
    }

    fn host_memory(&self, address: u64, bytes: usize) -> &[u8] {
        // SAFETY: the caller's memory is alive, at least this long, written once, and nobody writes to it now.
        unsafe { std::slice::from_raw_parts(address as *const u8, bytes) }
    }

    fn compile(&self, source: &ModuleSource) -> Result<Vec<u8>, CudaError> {
        self.compiler.compile(source, self.emulation.instrument)
    }

    fn load(&self, source: &ModuleSource) -> Result<Handle, CudaError> {
        let loaded = self.open(source)?;
        let handle = self.handle();
        let mut state = self.state();
        for kernel in loaded.kernels.values() {
            state.launchers.insert(kernel.handle, loaded.launch);
        }
        state.modules.insert(handle, loaded);
        Ok(handle)
    }

    fn unload(&self, module: Handle) {
        let mut state = self.state();
        if let Some(loaded) = state.modules.remove(&module) {
            for kernel in loaded.kernels.values() {
                state.launchers.remove(&kernel.handle);
            }
        }
    }

    fn kernel(&self, module: Handle, name: &str) -> Result<RawKernel, CudaError> {
        let state = self.state();
        let loaded = state.modules.get(&module);
        let kernel = loaded.and_then(|loaded| loaded.kernels.get(name)).cloned();
        kernel.ok_or_else(|| {
            let module = loaded.map_or("", |loaded| loaded.name.as_str());
            CudaError::HostCompiler(format!("{module} has no kernel {name}"))
        })
    }

    fn variable(&self, module: Handle, name: &str) -> Result<(u64, usize), CudaError> {
        let state = self.state();
        let missing = || CudaError::HostCompiler(format!("there is no variable {name}"));
        let loaded = state.modules.get(&module).ok_or_else(missing)?;
        let bytes = format!("debye_bytes_of_{name}");
        // SAFETY: `CONSTANT` in emulator.h defines both names, the second as a `size_t`.
        unsafe {
            let address = loaded.library.get::<*mut c_void>(name).map_err(|_| missing())?;
            let size = loaded
                .library
                .get::<*const usize>(bytes.as_str())
                .map_err(|_| missing())?;
            Ok((*address as u64, **size))
        }
    }

    fn occupancy(&self, kernel: &RawKernel, name: &str, threads: u32, shared: u32) -> Result<u32, CudaError> {
        if threads > kernel.max_threads || shared > self.info.shared_per_block {
            let reason = format!("{threads} threads and {shared} bytes of shared memory");
            return Err(CudaError::shape(name, reason));
        }
        let mut allowed = self.allowed();
        let allowed = allowed.entry(kernel.handle).or_insert(SHARED_UNASKED);
        *allowed = shared.max(*allowed);
        Ok(BLOCKS_EACH)
    }

    fn stream(&self) -> Result<Handle, CudaError> {
        Ok(self.handle())
    }

    fn end_stream(&self, stream: Handle) {
        self.state().recording.remove(&stream);
    }

    fn synchronize(&self, _stream: Handle) -> Result<(), CudaError> {
        self.alive()
    }

    fn write(&self, _stream: Handle, address: u64, bytes: &[u8]) -> Result<(), CudaError> {
        self.alive()?;
        // SAFETY: the caller's buffer is alive and at least this long.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), address as *mut u8, bytes.len()) };
        Ok(())
    }

    fn read(&self, _stream: Handle, address: u64, bytes: &mut [u8]) -> Result<(), CudaError> {
        self.alive()?;
        // SAFETY: as for `write`.
        unsafe { std::ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    fn copy(&self, stream: Handle, to: u64, from: u64, bytes: usize) -> Result<(), CudaError> {
        self.take(stream, Step::Copy { to, from, bytes })
    }

    fn copy_to_host(&self, stream: Handle, to: u64, from: u64, bytes: usize) -> Result<(), CudaError> {
        self.copy(stream, to, from, bytes)
    }

    fn fill(&self, stream: Handle, address: u64, byte: u8, bytes: usize) -> Result<(), CudaError> {
        self.take(stream, Step::Fill { address, byte, bytes })
    }

    fn launch(
        &self,
        stream: Handle,
        kernel: &RawKernel,
        name: &str,
        shape: Shape,
        values: &Packed,
    ) -> Result<(), CudaError> {
        let blocks: u64 = shape.grid.iter().map(|&x| u64::from(x)).product();
        if shape.cooperative && blocks > u64::from(BLOCKS_EACH * self.info.multiprocessors) {
            return Err(CudaError::Shape {
                kernel: name.to_owned(),
                reason: format!("{blocks} blocks cannot run at the same time"),
            });
        }
        let launch = self.state().launchers.get(&kernel.handle).copied();
        let Some(launch) = launch else {
            return Err(CudaError::HostCompiler(format!(
                "kernel {name} is no longer loaded"
            )));
        };
        self.take(
            stream,
            Step::Launch {
                kernel: kernel.handle,
                name: name.to_owned(),
                launch,
                shape,
                values: values.clone(),
            },
        )
    }

    fn event(&self, _stream: Handle) -> Result<Handle, CudaError> {
        let handle = self.handle();
        self.state().events.insert(handle, Instant::now());
        Ok(handle)
    }

    fn end_event(&self, event: Handle) {
        self.state().events.remove(&event);
    }

    fn wait_for(&self, _event: Handle) -> Result<(), CudaError> {
        self.alive()
    }

    fn is_reached(&self, _event: Handle) -> Result<bool, CudaError> {
        self.alive().map(|()| true)
    }

    /// Work is done when it is queued, or when a graph is replayed in the order in which it was.
    fn wait(&self, stream: Handle, other: Handle) -> Result<(), CudaError> {
        let mut state = self.state();
        if state.beside.get(&other) == Some(&stream) {
            state.beside.remove(&other);
        } else if state.recording.contains_key(&other) {
            state.beside.insert(stream, other);
        }
        Ok(())
    }

    fn seconds(&self, from: Handle, to: Handle) -> Result<f64, CudaError> {
        let state = self.state();
        let (from, to) = (state.events.get(&from), state.events.get(&to));
        let passed = from.zip(to).map(|(from, to)| to.duration_since(*from));
        Ok(passed.unwrap_or_default().as_secs_f64())
    }

    fn begin_capture(&self, stream: Handle) -> Result<(), CudaError> {
        self.state().recording.insert(stream, Vec::new());
        Ok(())
    }

    fn begin_condition(&self, stream: Handle) -> Result<u64, CudaError> {
        let condition = Arc::new(AtomicU32::new(0));
        let mut state = self.state();
        state.recording.insert(stream, Vec::new());
        let number = condition.as_ptr() as u64;
        state.conditions.insert(stream, condition);
        Ok(number)
    }

    fn begin_conditional(&self, stream: Handle) -> Result<(), CudaError> {
        let mut state = self.state();
        let condition = state.conditions.remove(&stream);
        if let (Some(condition), Some(steps)) = (condition, state.recording.get_mut(&stream)) {
            steps.push(Step::If(condition));
        }
        Ok(())
    }

    fn end_capture(&self, stream: Handle) -> Result<Handle, CudaError> {
        let handle = self.handle();
        let mut state = self.state();
        let steps = state.recording.remove(&stream).unwrap_or_default();
        state.conditions.remove(&stream);
        state.graphs.insert(handle, steps);
        Ok(handle)
    }

    fn replay(&self, graph: Handle, _stream: Handle) -> Result<(), CudaError> {
        let steps = self.state().graphs.get(&graph).cloned().unwrap_or_default();
        let conditions = || {
            steps
                .iter()
                .filter_map(|step| if let Step::If(c) = step { Some(c) } else { None })
        };
        conditions().for_each(|condition| condition.store(0, Ordering::Relaxed));
        for step in &steps {
            match step {
                Step::If(condition) if condition.load(Ordering::Relaxed) == 0 => return Ok(()),
                step => self.perform(step)?,
            }
        }
        Ok(())
    }

    fn end_graph(&self, graph: Handle) {
        self.state().graphs.remove(&graph);
    }
}
