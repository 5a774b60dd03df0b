//! [`Cufft`]: transforms of a mesh by NVIDIA's cuFFT, where there is one.

// Loading a library and calling its C functions is unsafe by nature; nothing else here is.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

use debye_gpu::library::{self, Found, Wanted};
use debye_gpu::{CudaError, Device, Float, Slice, SliceMut, Stream};

/// Plans of one mesh: real numbers to their spectrum, and back.
pub struct Cufft<R: Float> {
    plans: Arc<Plans>,
    of: PhantomData<R>,
}

/// A plan there and one back; they hold their work area, so that using them allocates nothing.
struct Plans {
    there: c_int,
    back: c_int,
}

/// The functions of the library that are used; signatures as in cufft.h.
struct Calls {
    _found: Found,
    version: (u32, u32),
    plan: unsafe extern "C" fn(*mut c_int, c_int, c_int, c_int, c_int) -> c_int,
    destroy: unsafe extern "C" fn(c_int) -> c_int,
    set_stream: unsafe extern "C" fn(c_int, *mut c_void) -> c_int,
    /// Single there and back, double there and back.
    execute: [unsafe extern "C" fn(c_int, *mut c_void, *mut c_void) -> c_int; 4],
}

/// CUFFT_R2C, CUFFT_C2R, CUFFT_D2Z, CUFFT_Z2D.
const KINDS: [c_int; 4] = [0x2a, 0x2c, 0x6a, 0x6c];

fn calls() -> Result<&'static Calls, CudaError> {
    static CALLS: OnceLock<Result<Calls, CudaError>> = OnceLock::new();
    CALLS.get_or_init(load).as_ref().map_err(Clone::clone)
}

fn load() -> Result<Calls, CudaError> {
    let missing = |help: String| CudaError::Missing {
        what: Wanted::Cufft.name(),
        help,
    };
    let found = library::find(Wanted::Cufft).map_err(|m| missing(m.help()))?;
    macro_rules! function {
        ($name:literal) => {
            // SAFETY: the type is that of cufft.h; the library stays loaded as long as the pointer.
            *unsafe { found.library.get($name) }.map_err(|e| missing(format!("it lacks a function: {e}")))?
        };
    }
    let get_version: unsafe extern "C" fn(*mut c_int) -> c_int = function!("cufftGetVersion");
    let mut version = 0;
    // SAFETY: the pointer is valid for the call.
    accept("cufftGetVersion", unsafe { get_version(&mut version) })?;
    let version = version.unsigned_abs();
    Ok(Calls {
        version: (version / 1000, version % 1000 / 100),
        plan: function!("cufftPlan3d"),
        destroy: function!("cufftDestroy"),
        set_stream: function!("cufftSetStream"),
        execute: [
            function!("cufftExecR2C"),
            function!("cufftExecC2R"),
            function!("cufftExecD2Z"),
            function!("cufftExecZ2D"),
        ],
        _found: found,
    })
}

fn accept(call: &str, status: c_int) -> Result<(), CudaError> {
    if status == 0 {
        return Ok(());
    }
    Err(CudaError::Launch {
        kernel: call.to_owned(),
        reason: format!("cuFFT answers {status}"),
    })
}

/// The version of cuFFT, if it can be used on a device.
pub fn cufft_version(device: &Device) -> Result<(u32, u32), CudaError> {
    if device.info().emulated {
        return Err(CudaError::Missing {
            what: Wanted::Cufft.name(),
            help: "the emulated device has no libraries".into(),
        });
    }
    Ok(calls()?.version)
}

impl Plans {
    fn new(device: &Device, size: [u32; 3], double: bool) -> Result<Self, CudaError> {
        let calls = calls()?;
        // Makes the device's context the one of this thread.
        device.memory()?;
        let [x, y, z] = size.map(u32::cast_signed);
        let make = |kind: c_int| -> Result<c_int, CudaError> {
            let mut plan = 0;
            // SAFETY: the pointer is valid for the call.
            accept("cufftPlan3d", unsafe { (calls.plan)(&mut plan, x, y, z, kind) })?;
            Ok(plan)
        };
        let first = 2 * usize::from(double);
        let there = make(KINDS[first])?;
        let back = make(KINDS[first + 1]).inspect_err(|_| destroy(there))?;
        Ok(Self { there, back })
    }
}

fn destroy(plan: c_int) {
    if let Ok(calls) = calls() {
        // SAFETY: the plan was made by this library and is destroyed once. Nothing can be done where it fails.
        let _ = unsafe { (calls.destroy)(plan) };
    }
}

impl Drop for Plans {
    fn drop(&mut self) {
        destroy(self.there);
        destroy(self.back);
    }
}

impl<R: Float> Cufft<R> {
    /// For meshes of this size, the last axis contiguous.
    pub fn new(device: &Device, size: [u32; 3]) -> Result<Self, CudaError> {
        cufft_version(device)?;
        Ok(Self {
            plans: Arc::new(Plans::new(device, size, R::DOUBLE)?),
            of: PhantomData,
        })
    }

    /// Queues the transform of a mesh.
    pub fn forward(
        &self,
        stream: &Stream,
        mesh: Slice<'_, R>,
        spectrum: SliceMut<'_, R>,
    ) -> Result<(), CudaError> {
        self.execute(stream, self.plans.there, 0, mesh, spectrum)
    }

    /// Queues the way back; the spectrum is not kept.
    pub fn backward(
        &self,
        stream: &Stream,
        spectrum: SliceMut<'_, R>,
        mesh: SliceMut<'_, R>,
    ) -> Result<(), CudaError> {
        self.execute(stream, self.plans.back, 1, spectrum.read(), mesh)
    }

    fn execute(
        &self,
        stream: &Stream,
        plan: c_int,
        way: usize,
        from: Slice<'_, R>,
        to: SliceMut<'_, R>,
    ) -> Result<(), CudaError> {
        let calls = calls()?;
        let execute = calls.execute[2 * usize::from(R::DOUBLE) + way];
        stream.call_library(&self.plans, from, to, |stream, from, to| {
            // SAFETY: plan and stream are alive; both arrays are as long as the mesh of the plan, which the caller
            // checked.
            unsafe {
                accept("cufftSetStream", (calls.set_stream)(plan, stream as *mut c_void))?;
                accept("cufftExec", execute(plan, from as *mut c_void, to as *mut c_void))
            }
        })
    }
}

impl<R: Float> std::fmt::Debug for Cufft<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cufft").finish_non_exhaustive()
    }
}
