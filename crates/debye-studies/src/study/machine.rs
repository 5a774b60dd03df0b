//! What the report says of the machine.

use debye_gpu::Device;
use serde::Serialize;

/// The machine of a study.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceStudied {
    /// The processor and its threads.
    pub processor: String,
    /// Threads that variants on all threads use.
    pub threads: usize,
    /// The CUDA device, or why there is none.
    pub cuda: String,
}

impl DeviceStudied {
    /// This one.
    pub fn here(device: &Result<String, String>) -> Self {
        Self {
            processor: debye::run::report::processor(),
            threads: rayon::current_num_threads(),
            cuda: match device {
                Ok(name) => name.clone(),
                Err(why) => format!("not used: {why}"),
            },
        }
    }
}

/// The most threads that a device runs at the same time.
fn room(device: &Device) -> u32 {
    let info = device.info();
    // CUDA C++ Programming Guide, technical specifications by compute capability.
    let most = match info.capability {
        (7, 5) => 1024,
        (8, 6 | 7 | 9) | (12, _) => 1536,
        _ => 2048,
    };
    info.multiprocessors * most
}

/// The share of a device's threads that blocks of a kernel can fill. `resident` is how many blocks run at the same time.
pub fn occupancy(device: &Device, resident: u32, threads: u32) -> f64 {
    f64::from(resident * threads) / f64::from(room(device))
}
