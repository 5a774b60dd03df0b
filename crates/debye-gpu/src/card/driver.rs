//! [`Gpu`]: a card through NVIDIA's driver.

// Every call into the driver is unsafe by nature. Handles are those that the driver gave and that the layers above
// keep alive; addresses and lengths come from buffers that are alive.
#![allow(unsafe_code)]

use std::ffi::{CString, c_int, c_uint, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use cudarc::driver::sys::{self, cudaError_enum as Status};

use super::devices::{accept, count, describe, device, words};
use super::graphs::{Graphs, synchronize};
use super::nvrtc::{Compiled, Nvrtc};
use crate::cache;
use crate::driver::{DeviceInfo, Driver, Handle, Memory, Packed, RawKernel, Takes};
use crate::error::{CudaError, NvrtcError};
use crate::shape::Shape;
use crate::source::ModuleSource;

/// A card.
pub(crate) struct Gpu {
    device: sys::CUdevice,
    context: sys::CUcontext,
    info: DeviceInfo,
    /// Whether every launch is waited for, so that a failure names its kernel.
    wait: bool,
    graphs: Mutex<Graphs>,
}

/// Held while the limit of a kernel is read and set.
static LIMITS: Mutex<()> = Mutex::new(());

// SAFETY: the driver's functions may be called from any thread; the context is made current before each.
unsafe impl Send for Gpu {}
// SAFETY: as above.
unsafe impl Sync for Gpu {}

impl Gpu {
    pub(crate) fn list() -> Vec<DeviceInfo> {
        let devices = 0..count().unwrap_or(0);
        devices
            .filter_map(|number| describe(device(number).ok()?).ok())
            .collect()
    }

    pub(crate) fn open(number: u32) -> Result<Self, CudaError> {
        let count = match count() {
            Err(CudaError::Driver { call, reason }) => {
                let reason = format!("{call}: {reason}");
                return Err(CudaError::NoDevice { number, reason });
            }
            other => other?,
        };
        if number >= count {
            let reason = format!("the driver sees {count}");
            return Err(CudaError::NoDevice { number, reason });
        }
        let device = device(number)?;
        let info = describe(device)?;
        if info.capability < (7, 5) {
            return Err(CudaError::TooOld {
                name: info.name,
                major: info.capability.0,
                minor: info.capability.1,
            });
        }
        let mut context: sys::CUcontext = ptr::null_mut();
        // SAFETY: the pointer is valid for the call; the context is released when this is dropped.
        accept("cuDevicePrimaryCtxRetain", unsafe {
            sys::cuDevicePrimaryCtxRetain(&mut context, device)
        })?;
        Ok(Self {
            device,
            context,
            info,
            wait: std::env::var_os("DEBYE_CUDA_WAIT").is_some_and(|value| value == "1"),
            graphs: Mutex::default(),
        })
    }

    /// Makes the context current for this thread.
    fn bind(&self) -> Result<(), CudaError> {
        // SAFETY: the context is retained as long as this lives.
        accept("cuCtxSetCurrent", unsafe { sys::cuCtxSetCurrent(self.context) })
    }

    fn graphs(&self) -> MutexGuard<'_, Graphs> {
        self.graphs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Told what is compiled for a card.
static REPORT: OnceLock<fn(&str)> = OnceLock::new();

/// Has this function told the name of each module that is compiled for a card from now on, as it begins, from any thread.
/// The first one stays.
pub fn report_compilations(report: fn(&str)) {
    let _ = REPORT.set(report);
}

/// What to compile for: `sm_90`, or PTX of the newest architecture before it.
fn target(nvrtc: &Nvrtc, capability: (u32, u32)) -> Result<String, CudaError> {
    let number = capability.0 * 10 + capability.1;
    let known = nvrtc.architectures()?;
    if known.contains(&number) {
        return Ok(format!("sm_{number}"));
    }
    let older = known.into_iter().filter(|&known| known < number).max();
    let older = older.ok_or_else(|| NvrtcError::Call {
        call: "nvrtcGetSupportedArchs",
        reason: format!("this NVRTC does not compile for compute capability {number}"),
    })?;
    Ok(format!("compute_{older}"))
}

/// Compiles a module for an architecture.
pub fn compile_for(nvrtc: &Nvrtc, source: &ModuleSource, target: &str) -> Result<Compiled, NvrtcError> {
    let mut options = vec!["--std=c++17".to_owned(), "-lineinfo".to_owned()];
    options.extend(
        source
            .defines
            .iter()
            .map(|(name, value)| format!("-D{name}={value}")),
    );
    options.extend(source.options.iter().cloned());
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let (name, text) = source.files.first().cloned().unwrap_or_default();
    nvrtc.compile_with(
        &name,
        &text,
        source.files.get(1..).unwrap_or_default(),
        target,
        &options,
    )
}

impl Driver for Gpu {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn memory(&self) -> Result<Memory, CudaError> {
        self.bind()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: both pointers are valid for the call.
        accept("cuMemGetInfo", unsafe {
            sys::cuMemGetInfo_v2(&mut free, &mut total)
        })?;
        Ok(Memory { free, total })
    }

    fn allocate(&self, bytes: usize) -> Result<u64, CudaError> {
        self.bind()?;
        let mut address = 0;
        // SAFETY: the pointer is valid for the call.
        let status = unsafe { sys::cuMemAlloc_v2(&mut address, bytes) };
        if status == Status::CUDA_ERROR_OUT_OF_MEMORY {
            let Memory { free, total } = self.memory()?;
            return Err(CudaError::OutOfMemory {
                wanted: bytes,
                free,
                total,
            });
        }
        accept("cuMemAlloc", status)?;
        Ok(address)
    }

    fn free(&self, address: u64, _bytes: usize) {
        if self.bind().is_ok() {
            // Waits for the work that uses it. Nothing can be done where it fails: the device is lost.
            // SAFETY: it was allocated by `allocate` and is freed once.
            let _ = unsafe { sys::cuMemFree_v2(address) };
        }
    }

    fn allocate_host(&self, bytes: usize) -> Result<u64, CudaError> {
        self.bind()?;
        let mut address = ptr::null_mut();
        // SAFETY: the pointer is valid for the call.
        accept("cuMemHostAlloc", unsafe {
            sys::cuMemHostAlloc(&mut address, bytes.max(1), sys::CU_MEMHOSTALLOC_PORTABLE)
        })?;
        // One address for all: cards of 64-bit programs see the host's memory where the host does.
        Ok(address as u64)
    }

    fn free_host(&self, address: u64, _bytes: usize) {
        if self.bind().is_ok() {
            // SAFETY: it was allocated by `allocate_host` and is freed once.
            let _ = unsafe { sys::cuMemFreeHost(address as *mut _) };
        }
    }

    fn host_memory(&self, address: u64, bytes: usize) -> &[u8] {
        // SAFETY: the caller's memory is alive, at least this long, written once, and nobody writes to it now.
        unsafe { std::slice::from_raw_parts(address as *const u8, bytes) }
    }

    /// Machine code for exactly this card, or PTX where the compiler does not know it.
    fn compile(&self, source: &ModuleSource) -> Result<Vec<u8>, CudaError> {
        let nvrtc = Nvrtc::get()?;
        let target = target(nvrtc, self.info.capability)?;
        let (major, minor) = nvrtc.version()?;
        let version = format!("nvrtc {major}.{minor}");
        let texts = [version.as_str(), target.as_str()]
            .into_iter()
            .chain(source.fingerprint());
        cache::get(&cache::key(texts), || {
            if let Some(report) = REPORT.get() {
                report(&source.name);
            }
            Ok(compile_for(nvrtc, source, &target)?.code)
        })
    }

    fn load(&self, source: &ModuleSource) -> Result<Handle, CudaError> {
        self.bind()?;
        let mut code = self.compile(source)?;
        // PTX is text and must end.
        code.push(0);
        let mut module: sys::CUmodule = ptr::null_mut();
        // SAFETY: the image was made by NVRTC and ends in NUL; the pointer is valid for the call.
        accept("cuModuleLoadData", unsafe {
            sys::cuModuleLoadData(&mut module, code.as_ptr().cast())
        })?;
        Ok(module as Handle)
    }

    fn unload(&self, module: Handle) {
        if self.bind().is_ok() {
            // SAFETY: it was loaded by `load` and is unloaded once.
            let _ = unsafe { sys::cuModuleUnload(module as sys::CUmodule) };
        }
    }

    fn kernel(&self, module: Handle, name: &str) -> Result<RawKernel, CudaError> {
        self.bind()?;
        let text = CString::new(name).map_err(|_| NvrtcError::NulByte)?;
        let mut function: sys::CUfunction = ptr::null_mut();
        // SAFETY: the name ends in NUL; the pointer is valid for the call.
        accept("cuModuleGetFunction", unsafe {
            sys::cuModuleGetFunction(&mut function, module as sys::CUmodule, text.as_ptr())
        })?;
        let mut threads: c_int = 0;
        // SAFETY: the pointer is valid for the call.
        accept("cuFuncGetAttribute", unsafe {
            sys::cuFuncGetAttribute(
                &mut threads,
                sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                function,
            )
        })?;
        Ok(RawKernel {
            handle: function as Handle,
            takes: parameter_sizes(function),
            max_threads: u32::try_from(threads).unwrap_or(0),
        })
    }

    fn variable(&self, module: Handle, name: &str) -> Result<(u64, usize), CudaError> {
        self.bind()?;
        let text = CString::new(name).map_err(|_| NvrtcError::NulByte)?;
        let (mut address, mut bytes) = (0, 0);
        // SAFETY: the name ends in NUL; both pointers are valid for the call.
        accept("cuModuleGetGlobal", unsafe {
            sys::cuModuleGetGlobal_v2(&mut address, &mut bytes, module as sys::CUmodule, text.as_ptr())
        })?;
        Ok((address, bytes))
    }

    fn occupancy(&self, kernel: &RawKernel, name: &str, threads: u32, shared: u32) -> Result<u32, CudaError> {
        self.bind()?;
        let function = kernel.handle as sys::CUfunction;
        let mut blocks: c_int = 0;
        let _alone = LIMITS.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the pointers are valid for the calls.
        let asked = unsafe {
            let limit = sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            let mut allowed: c_int = 0;
            let got = sys::cuFuncGetAttribute(&mut allowed, limit, function);
            // What was allowed for a larger launch stays so.
            let wanted = c_int::try_from(shared).unwrap_or(c_int::MAX).max(allowed);
            let set = || sys::cuFuncSetAttribute(function, limit, wanted);
            let done = accept("cuFuncGetAttribute", got).and_then(|()| accept("cuFuncSetAttribute", set()));
            done.and_then(|()| {
                accept(
                    "cuOccupancyMaxActiveBlocksPerMultiprocessor",
                    sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                        &mut blocks,
                        function,
                        c_int::try_from(threads).unwrap_or(c_int::MAX),
                        shared as usize,
                    ),
                )
            })
        };
        let shape = |reason| CudaError::shape(name, reason);
        match asked {
            Err(CudaError::Driver { reason, .. }) => Err(shape(format!(
                "{threads} threads and {shared} bytes of shared memory: {reason}"
            ))),
            Err(error) => Err(error),
            Ok(()) if blocks < 1 => Err(shape(format!(
                "a block of {threads} threads and {shared} bytes of shared memory does not fit"
            ))),
            Ok(()) => Ok(u32::try_from(blocks).unwrap_or(1)),
        }
    }

    fn stream(&self) -> Result<Handle, CudaError> {
        self.bind()?;
        let mut stream: sys::CUstream = ptr::null_mut();
        let flags = sys::CUstream_flags_enum::CU_STREAM_NON_BLOCKING as c_uint;
        // SAFETY: the pointer is valid for the call.
        accept("cuStreamCreate", unsafe {
            sys::cuStreamCreate(&mut stream, flags)
        })?;
        Ok(stream as Handle)
    }

    fn end_stream(&self, stream: Handle) {
        if self.bind().is_ok() {
            synchronize(stream);
            self.graphs().forget_stream(stream);
            // SAFETY: it was made by `stream` and is destroyed once.
            let _ = unsafe { sys::cuStreamDestroy_v2(stream as sys::CUstream) };
        }
    }

    fn synchronize(&self, stream: Handle) -> Result<(), CudaError> {
        self.bind()?;
        // SAFETY: the stream is alive.
        accept("cuStreamSynchronize", unsafe {
            sys::cuStreamSynchronize(stream as sys::CUstream)
        })
    }

    fn write(&self, stream: Handle, address: u64, bytes: &[u8]) -> Result<(), CudaError> {
        self.bind()?;
        // SAFETY: the buffer is at least this long. Pageable memory is copied before the call returns.
        accept("cuMemcpyHtoDAsync", unsafe {
            sys::cuMemcpyHtoDAsync_v2(
                address,
                bytes.as_ptr().cast(),
                bytes.len(),
                stream as sys::CUstream,
            )
        })
    }

    fn read(&self, stream: Handle, address: u64, bytes: &mut [u8]) -> Result<(), CudaError> {
        self.bind()?;
        // SAFETY: the buffer is at least this long, and the copy has ended when this returns.
        accept("cuMemcpyDtoHAsync", unsafe {
            sys::cuMemcpyDtoHAsync_v2(
                bytes.as_mut_ptr().cast(),
                address,
                bytes.len(),
                stream as sys::CUstream,
            )
        })?;
        self.synchronize(stream)
    }

    fn copy(&self, stream: Handle, to: u64, from: u64, bytes: usize) -> Result<(), CudaError> {
        self.bind()?;
        // SAFETY: both buffers are at least this long.
        accept("cuMemcpyDtoDAsync", unsafe {
            sys::cuMemcpyDtoDAsync_v2(to, from, bytes, stream as sys::CUstream)
        })
    }

    fn copy_to_host(&self, stream: Handle, to: u64, from: u64, bytes: usize) -> Result<(), CudaError> {
        self.bind()?;
        // SAFETY: both are at least this long, and whoever asked keeps them until an event behind this.
        accept("cuMemcpyDtoHAsync", unsafe {
            sys::cuMemcpyDtoHAsync_v2(to as *mut _, from, bytes, stream as sys::CUstream)
        })
    }

    fn fill(&self, stream: Handle, address: u64, byte: u8, bytes: usize) -> Result<(), CudaError> {
        self.bind()?;
        // SAFETY: the buffer is at least this long.
        accept("cuMemsetD8Async", unsafe {
            sys::cuMemsetD8Async(address, byte, bytes, stream as sys::CUstream)
        })
    }

    fn launch(
        &self,
        stream: Handle,
        kernel: &RawKernel,
        name: &str,
        shape: Shape,
        values: &Packed,
    ) -> Result<(), CudaError> {
        self.bind()?;
        let stream = stream as sys::CUstream;
        let mut pointers: Vec<*mut c_void> = values.pointers();
        // SAFETY: all zeros is a valid value of this plain structure.
        let mut cooperative: sys::CUlaunchAttribute = unsafe { MaybeUninit::zeroed().assume_init() };
        cooperative.id = sys::CUlaunchAttributeID_enum::CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        cooperative.value.cooperative = 1;
        let config = sys::CUlaunchConfig {
            gridDimX: shape.grid[0],
            gridDimY: shape.grid[1],
            gridDimZ: shape.grid[2],
            blockDimX: shape.block[0],
            blockDimY: shape.block[1],
            blockDimZ: shape.block[2],
            sharedMemBytes: shape.shared,
            hStream: stream,
            attrs: &mut cooperative,
            numAttrs: c_uint::from(shape.cooperative),
        };
        // SAFETY: the values have the sizes the kernel takes, which was checked when it was looked up, and are
        // copied by the call; what they point to is kept alive by the caller or the graph.
        let status = unsafe {
            sys::cuLaunchKernelEx(
                &config,
                kernel.handle as sys::CUfunction,
                pointers.as_mut_ptr(),
                ptr::null_mut(),
            )
        };
        match accept("cuLaunchKernelEx", status) {
            Err(CudaError::Driver { reason, .. }) => {
                return Err(CudaError::shape(name, format!("{shape:?}: {reason}")));
            }
            other => other?,
        }
        if self.wait {
            let mut state = sys::CUstreamCaptureStatus_enum::CU_STREAM_CAPTURE_STATUS_NONE;
            // SAFETY: the stream is alive, the pointer valid for the call.
            let status = unsafe { sys::cuStreamIsCapturing(stream, &mut state) };
            accept("cuStreamIsCapturing", status)?;
            if state == sys::CUstreamCaptureStatus_enum::CU_STREAM_CAPTURE_STATUS_NONE {
                // SAFETY: the stream is alive.
                let status = unsafe { sys::cuStreamSynchronize(stream) };
                if status != Status::CUDA_SUCCESS {
                    return Err(CudaError::Launch {
                        kernel: name.to_owned(),
                        reason: words(status),
                    });
                }
            }
        }
        Ok(())
    }

    fn event(&self, stream: Handle) -> Result<Handle, CudaError> {
        self.bind()?;
        let mut event: sys::CUevent = ptr::null_mut();
        // SAFETY: the pointer is valid for the call, the stream alive.
        unsafe {
            accept("cuEventCreate", sys::cuEventCreate(&mut event, 0))?;
            accept(
                "cuEventRecord",
                sys::cuEventRecord(event, stream as sys::CUstream),
            )?;
        }
        Ok(event as Handle)
    }

    fn end_event(&self, event: Handle) {
        if self.bind().is_ok() {
            // SAFETY: it was made by `event` and is destroyed once.
            let _ = unsafe { sys::cuEventDestroy_v2(event as sys::CUevent) };
        }
    }

    fn wait_for(&self, event: Handle) -> Result<(), CudaError> {
        self.bind()?;
        // SAFETY: the event is alive.
        accept("cuEventSynchronize", unsafe {
            sys::cuEventSynchronize(event as sys::CUevent)
        })
    }

    fn is_reached(&self, event: Handle) -> Result<bool, CudaError> {
        self.bind()?;
        // SAFETY: the event is alive.
        match unsafe { sys::cuEventQuery(event as sys::CUevent) } {
            Status::CUDA_ERROR_NOT_READY => Ok(false),
            status => accept("cuEventQuery", status).map(|()| true),
        }
    }

    fn wait(&self, stream: Handle, other: Handle) -> Result<(), CudaError> {
        let event = self.event(other)?;
        // SAFETY: stream and event are alive; an event that is destroyed is given back when it has been waited for.
        let waits = unsafe { sys::cuStreamWaitEvent(stream as sys::CUstream, event as sys::CUevent, 0) };
        self.end_event(event);
        accept("cuStreamWaitEvent", waits)
    }

    fn seconds(&self, from: Handle, to: Handle) -> Result<f64, CudaError> {
        self.bind()?;
        let mut milliseconds = 0_f32;
        // SAFETY: both events are alive, the pointer valid for the call.
        unsafe {
            accept("cuEventSynchronize", sys::cuEventSynchronize(to as sys::CUevent))?;
            let (from, to) = (from as sys::CUevent, to as sys::CUevent);
            accept(
                "cuEventElapsedTime",
                sys::cuEventElapsedTime(&mut milliseconds, from, to),
            )?;
        }
        Ok(f64::from(milliseconds) * 1e-3)
    }

    fn begin_capture(&self, stream: Handle) -> Result<(), CudaError> {
        self.bind()?;
        self.graphs().begin(stream)
    }

    fn begin_condition(&self, stream: Handle) -> Result<u64, CudaError> {
        self.bind()?;
        self.graphs().begin_condition(stream, self.context)
    }

    fn begin_conditional(&self, stream: Handle) -> Result<(), CudaError> {
        self.bind()?;
        self.graphs().begin_conditional(stream)
    }

    fn end_capture(&self, stream: Handle) -> Result<Handle, CudaError> {
        self.bind()?;
        let template = self.graphs().end(stream)?;
        let executable = Graphs::instantiate(template)?;
        self.graphs().insert(executable, template);
        Ok(executable)
    }

    fn replay(&self, graph: Handle, stream: Handle) -> Result<(), CudaError> {
        self.bind()?;
        self.graphs().note_replay(graph, stream);
        // SAFETY: graph and stream are alive.
        accept("cuGraphLaunch", unsafe {
            sys::cuGraphLaunch(graph as sys::CUgraphExec, stream as sys::CUstream)
        })
    }

    fn end_graph(&self, graph: Handle) {
        if self.bind().is_ok() {
            self.graphs().remove(graph);
        }
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        // SAFETY: it was retained by `open` and is released once.
        let _ = unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device) };
    }
}

/// The sizes of a kernel's parameters, where the driver tells them (since CUDA 12.4).
fn parameter_sizes(function: sys::CUfunction) -> Takes {
    // SAFETY: only asks whether the driver has the function; the bindings would panic without it.
    let known = unsafe { sys::culib().get::<*const c_void>(b"cuFuncGetParamInfo\0").is_ok() };
    if !known {
        return Takes::Unknown;
    }
    let mut sizes = Vec::new();
    loop {
        let (mut offset, mut size) = (0, 0);
        // SAFETY: both pointers are valid for the call; an index beyond the last is answered by an error.
        let status = unsafe { sys::cuFuncGetParamInfo(function, sizes.len(), &mut offset, &mut size) };
        if status != Status::CUDA_SUCCESS {
            return Takes::Sizes(sizes);
        }
        sizes.push(size);
    }
}
