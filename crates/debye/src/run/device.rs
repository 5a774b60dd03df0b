//! Where a simulation computes.

use std::cell::LazyCell;

use debye_gpu::{Device, Nvrtc};

use super::fingerprint::fingerprint;
use super::folder::checkpoint_plan;
use super::{Existing, RunError};
use crate::checkpoint::Checkpoint;
use crate::engines::cuda::CudaEngine;
use crate::engines::{Needs, Settings};
use crate::simulation::{Buffer, DeviceChoice, Simulation};

/// Where a simulation will compute, and why where that was not said: `auto` takes the first CUDA device if there is one
/// and it can do the simulation, else the CPU. A run that goes on stays where it was.
pub fn choose_device(simulation: &Simulation, existing: Existing) -> (DeviceChoice, Option<String>) {
    if simulation.run.device != DeviceChoice::Auto {
        return (simulation.run.device, None);
    }
    let found = match (existing, &simulation.output.folder) {
        (Existing::Resume, Some(folder)) => Checkpoint::newest(
            &folder.join(checkpoint_plan(simulation).file),
            Some(&fingerprint(simulation)),
        )
        .ok()
        .flatten(),
        _ => None,
    };
    if let Some(found) = found {
        let was_cuda = found.checkpoint.device.starts_with("CUDA");
        if !was_cuda {
            return (DeviceChoice::Cpu, Some("where the run began".into()));
        }
        if Device::open(0).is_ok() {
            return (DeviceChoice::Cuda(0), Some("where the run began".into()));
        }
    }
    let s = simulation;
    let needs = |device: Device| CudaEngine::needs(&device, &s.system, &s.forces, &s.dynamics, &settings(s));
    let instead = |why: String| (DeviceChoice::Cpu, Some(why));
    match Device::open(0).map(needs) {
        Ok(Ok(_)) => match Nvrtc::get() {
            Ok(_) => (DeviceChoice::Cuda(0), Some("the first CUDA device".into())),
            Err(why) => instead(format!(
                "there is a CUDA device, but its kernels cannot be compiled: {why}"
            )),
        },
        Ok(Err(why)) => instead(format!("there is a CUDA device, but: {why}")),
        Err(why) => {
            let text = why.to_string();
            let first = text.lines().next().unwrap_or_default();
            instead(format!(
                "no CUDA device can be used ({first}); `debye info` says more"
            ))
        }
    }
}

/// The CUDA device that a simulation computes on, or none for the CPU.
pub(super) fn device(simulation: &Simulation, existing: Existing) -> Result<Option<Device>, RunError> {
    match choose_device(simulation, existing).0 {
        DeviceChoice::Cuda(number) => Device::open(number)
            .map(Some)
            .map_err(|error| RunError::Device(format!("cuda:{number}"), error.to_string())),
        DeviceChoice::Cpu | DeviceChoice::Auto => Ok(None),
    }
}

/// The device memory that a simulation will take, refused where it is not free; `None` on the CPU.
pub fn device_memory(simulation: &Simulation) -> Result<Option<Needs>, RunError> {
    let s = simulation;
    let needs = |device: Device| CudaEngine::needs(&device, &s.system, &s.forces, &s.dynamics, &settings(s));
    Ok(device(simulation, Existing::Refuse)?.map(needs).transpose()?)
}

/// Whether two descriptions of a device differ at most in the number of threads, which changes nothing.
pub(super) fn same_device(a: &str, b: &str) -> bool {
    let parts = |text: &str| -> Vec<String> {
        let kept = text
            .split(", ")
            .filter(|part| !part.ends_with(" threads") && !part.ends_with(" thread"));
        kept.map(str::to_owned).collect()
    };
    parts(a) == parts(b)
}

/// How an engine is to compute.
pub(super) fn settings(simulation: &Simulation) -> Settings {
    Settings {
        precision: simulation.run.precision,
        buffer: match simulation.neighbors.buffer {
            Buffer::Auto => None,
            Buffer::Length(length) => Some(length),
        },
        drift_tolerance: simulation.neighbors.drift_tolerance,
        instruction_set: None,
        lists: simulation.neighbors.lists,
        minimizes: simulation.minimize.is_some(),
        counts_pairs: counts_pairs(simulation),
    }
}

/// Whether an analysis wants pairs by their distance and nothing else.
fn counts_pairs(simulation: &Simulation) -> bool {
    let subject = LazyCell::new(|| simulation.subject());
    let mut analyses = simulation
        .analyses
        .iter()
        .map(|plan| plan.request.build(&subject));
    analyses.any(|made| made.is_ok_and(|mut analysis| analysis.of_pairs().is_some()))
}
