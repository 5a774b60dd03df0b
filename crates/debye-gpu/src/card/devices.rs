//! The driver and the cards it has: versions, properties, and what its answers mean.

// Every call into the driver is unsafe by nature.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int};
use std::ptr;
use std::sync::OnceLock;

use cudarc::driver::sys::{self, CUresult, cudaError_enum as Status};

use super::library::{self, Found, Wanted};
use crate::driver::DeviceInfo;
use crate::error::CudaError;

/// The oldest driver that is used, as it numbers itself.
const OLDEST_DRIVER: i32 = 12_040;

/// Loads and initializes the driver, once; gives the version of CUDA it is for.
pub fn driver_version() -> Result<(u32, u32), CudaError> {
    static DRIVER: OnceLock<Result<(i32, Found), CudaError>> = OnceLock::new();
    let start = || {
        let found = library::find(Wanted::Driver).map_err(|missing| CudaError::Missing {
            what: Wanted::Driver.name(),
            help: missing.help(),
        })?;
        // The bindings load the driver by its name and would panic where that fails; it is loaded already, so
        // that the name is known wherever it was found.
        // SAFETY: loads a library, as above.
        if !unsafe { sys::is_culib_present() } {
            return Err(CudaError::Missing {
                what: Wanted::Driver.name(),
                help: format!("{} cannot be loaded by its name", found.path.display()),
            });
        }
        let mut version: c_int = 0;
        // SAFETY: the pointer is valid for the call.
        unsafe {
            accept("cuDriverGetVersion", sys::cuDriverGetVersion(&mut version))?;
            if version < OLDEST_DRIVER {
                return Err(CudaError::Driver {
                    call: "cuDriverGetVersion",
                    reason: format!(
                        "the driver is for CUDA {}.{}; version 550 or newer is needed",
                        version / 1000,
                        version % 1000 / 10
                    ),
                });
            }
            accept("cuInit", sys::cuInit(0))?;
        }
        Ok((version, found))
    };
    let driver = DRIVER.get_or_init(start);
    let (version, _) = driver.as_ref().map_err(Clone::clone)?;
    let version = version.unsigned_abs();
    Ok((version / 1000, version % 1000 / 10))
}

pub(super) fn words(status: CUresult) -> String {
    let text = |get: unsafe fn(CUresult, *mut *const c_char) -> CUresult| {
        let mut found: *const c_char = ptr::null();
        // SAFETY: the driver stores a pointer to a static string, or null.
        unsafe {
            get(status, &mut found);
            if found.is_null() {
                return String::new();
            }
            CStr::from_ptr(found).to_string_lossy().into_owned()
        }
    };
    format!("{} ({})", text(sys::cuGetErrorString), text(sys::cuGetErrorName))
}

/// Turns what the driver says into an error that says what it means.
pub(super) fn accept(call: &'static str, status: CUresult) -> Result<(), CudaError> {
    match status {
        Status::CUDA_SUCCESS => Ok(()),
        Status::CUDA_ERROR_ILLEGAL_ADDRESS
        | Status::CUDA_ERROR_LAUNCH_TIMEOUT
        | Status::CUDA_ERROR_ASSERT
        | Status::CUDA_ERROR_HARDWARE_STACK_ERROR
        | Status::CUDA_ERROR_ILLEGAL_INSTRUCTION
        | Status::CUDA_ERROR_MISALIGNED_ADDRESS
        | Status::CUDA_ERROR_INVALID_ADDRESS_SPACE
        | Status::CUDA_ERROR_INVALID_PC
        | Status::CUDA_ERROR_LAUNCH_FAILED
        | Status::CUDA_ERROR_ECC_UNCORRECTABLE
        | Status::CUDA_ERROR_CONTEXT_IS_DESTROYED
        | Status::CUDA_ERROR_DEVICE_UNAVAILABLE => Err(CudaError::Lost {
            reason: format!("{call}: {}", words(status)),
        }),
        _ => Err(CudaError::Driver {
            call,
            reason: words(status),
        }),
    }
}

fn attribute(device: sys::CUdevice, which: sys::CUdevice_attribute) -> Result<u32, CudaError> {
    let mut value: c_int = 0;
    // SAFETY: the pointer is valid for the call.
    accept("cuDeviceGetAttribute", unsafe {
        sys::cuDeviceGetAttribute(&mut value, which, device)
    })?;
    Ok(u32::try_from(value).unwrap_or(0))
}

pub(super) fn describe(device: sys::CUdevice) -> Result<DeviceInfo, CudaError> {
    use sys::CUdevice_attribute_enum as Attribute;
    let mut name = [0_u8; 256];
    let mut memory = 0_usize;
    // SAFETY: the buffer is as long as stated, the pointer valid for the call.
    unsafe {
        accept(
            "cuDeviceGetName",
            sys::cuDeviceGetName(name.as_mut_ptr().cast(), 256, device),
        )?;
        accept("cuDeviceTotalMem", sys::cuDeviceTotalMem_v2(&mut memory, device))?;
    }
    let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
    let get = |which| attribute(device, which);
    // Kilohertz and bits; memory moves two bits per line and cycle.
    let clock = get(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE).unwrap_or(0);
    let width = get(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH).unwrap_or(0);
    let bandwidth = 2.0 * 1e3 * f64::from(clock) * f64::from(width) / 8.0;
    Ok(DeviceInfo {
        name: name.to_string_lossy().into_owned(),
        capability: (
            get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
        multiprocessors: get(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        memory,
        shared_per_block: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        l2: get(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?,
        bandwidth: (bandwidth > 0.0).then_some(bandwidth),
        emulated: false,
    })
}

pub(super) fn count() -> Result<u32, CudaError> {
    driver_version()?;
    let mut count: c_int = 0;
    // SAFETY: the pointer is valid for the call.
    accept("cuDeviceGetCount", unsafe { sys::cuDeviceGetCount(&mut count) })?;
    Ok(u32::try_from(count).unwrap_or(0))
}

pub(super) fn device(number: u32) -> Result<sys::CUdevice, CudaError> {
    let mut device = 0;
    // SAFETY: the pointer is valid for the call.
    accept("cuDeviceGet", unsafe {
        sys::cuDeviceGet(&mut device, c_int::try_from(number).unwrap_or(c_int::MAX))
    })?;
    Ok(device)
}
