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

/// Why the engine's kernels may lose to simpler ones on inputs that do not fill a card.
pub(crate) const NOT_FILLED: &str =
    "the engine's kernels are made for inputs that fill a card, which these do not";

/// Why the engine loses on an input of so many elements, as far as its size tells.
pub(crate) fn loses(device: Option<&Device>, elements: f64) -> &'static str {
    let filled = device.is_none_or(|device| elements >= f64::from(room(device)));
    match filled {
        true => "what costs it time was not measured",
        false => NOT_FILLED,
    }
}
