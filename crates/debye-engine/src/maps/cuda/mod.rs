//! Maps on a CUDA device.
//!
//! [`PointSums`] is the sum over charges at every point: all charges, or those near the points of a block. The kernels are
//! in `kernels/points.cu`; [`Tuning`] is what they are compiled with.

mod cut;
mod levels;
mod live;
mod mesh;
mod sums;

pub use cut::Tuning;
pub(super) use live::LiveMap;
use mesh::{MeshPotential, Uploaded};
pub use sums::PointSums;

use debye_gpu::{Buffer, CudaError, Device, Float, ModuleSource, Nvrtc, Value};

use super::charges::PointCharges;
use super::mesh::{MapMesh, Plan};
use super::near::Near;
#[doc(hidden)]
pub use super::tiles::Kernel as PointKernel;
use super::{MapError, MapGrid};
use crate::engines::DeviceChoice;
use crate::engines::EngineError;
use crate::forces::multilevel::{GridReal, Interpolation, Levels};
use crate::system::Cell;

/// Where a map is computed.
#[derive(Clone, Debug)]
pub(super) enum Target {
    Choice(DeviceChoice),
    Given(Device),
}

impl Target {
    /// The device, or none for the CPU: `auto` takes the first CUDA device where there is one.
    pub(super) fn device(&self) -> Result<Option<Device>, MapError> {
        match self {
            Self::Choice(DeviceChoice::Cpu) => Ok(None),
            Self::Choice(DeviceChoice::Auto) => Ok(Device::open(0).ok().filter(|_| Nvrtc::get().is_ok())),
            Self::Choice(DeviceChoice::Cuda(number)) => Ok(Some(Device::open(*number)?)),
            Self::Given(device) => Ok(Some(device.clone())),
        }
    }
}

impl From<CudaError> for MapError {
    fn from(error: CudaError) -> Self {
        Self::Device(EngineError::Device(error.to_string()))
    }
}

/// `scale` Σ q/r at every point; see [`PointSums::direct`].
pub(super) fn direct<T: Float + Value>(
    device: &Device,
    grid: &MapGrid,
    charges: &PointCharges,
    exclusion: f64,
    scale: f64,
    tolerance: Option<f64>,
) -> Result<Vec<T>, MapError> {
    let stream = device.stream()?;
    let mut sums = PointSums::direct(device, grid, charges, exclusion, scale, tolerance, None)?;
    sums.queue(&stream)?;
    Ok(sums.values(&stream)?)
}

/// `scale` Σ q K(r) at every point, over charges within reach and, with a cell, their images.
#[doc(hidden)]
pub fn short<T: Float + Value>(
    device: &Device,
    grid: &MapGrid,
    charges: &PointCharges,
    cell: Option<&Cell>,
    kernel: &PointKernel,
    scale: f64,
) -> Result<Vec<T>, MapError> {
    short_onto(device, grid, charges, cell, kernel, scale, None)
}

fn short_onto<T: Float + Value>(
    device: &Device,
    grid: &MapGrid,
    charges: &PointCharges,
    cell: Option<&Cell>,
    kernel: &PointKernel,
    scale: f64,
    onto: Option<Buffer<T>>,
) -> Result<Vec<T>, MapError> {
    let near = Near::new(charges, cell, &grid.bounds(), kernel.reach());
    let stream = device.stream()?;
    let mut sums = PointSums::short(device, grid, &near, kernel, scale, onto)?;
    sums.queue(&stream)?;
    Ok(sums.values(&stream)?)
}

/// `scale` Σ q/r by multilevel summation; `kernel` is its part of finite reach.
pub(super) fn multilevel<T: GridReal + Float + Value>(
    device: &Device,
    grid: &MapGrid,
    charges: &PointCharges,
    cell: Option<&Cell>,
    kernel: &PointKernel,
    scale: f64,
    levels: &Levels<T>,
) -> Result<Vec<T>, MapError> {
    let values = levels::smooth(device, levels, grid, charges, scale)?;
    short_onto(device, grid, charges, cell, kernel, scale, Some(values))
}

/// `scale` Σ q/r over all images by a mesh; `kernel` is its part of finite reach.
pub(super) fn by_mesh<T: GridReal + MapMesh>(
    device: &Device,
    grid: &MapGrid,
    charges: &PointCharges,
    plan: &Plan,
    kernel: &PointKernel,
    scale: f64,
) -> Result<Vec<T>, MapError> {
    let uploaded = Uploaded::<T>::new(device, &plan.cell, charges)?;
    let mut potential = MeshPotential::<T>::new(device, plan, charges)?;
    let potential = potential.of(device, &uploaded.particles(), &plan.cell)?;
    let smooth = mesh::smooth(device, &device.stream()?, plan, grid, potential, scale)?;
    let mut values = short_onto(
        device,
        grid,
        charges,
        Some(&plan.cell),
        kernel,
        scale,
        Some(smooth),
    )?;
    let background = plan.background(charges.total());
    if background != 0.0 {
        let background = <T as GridReal>::of(scale * background);
        values.iter_mut().for_each(|value| *value += background);
    }
    Ok(values)
}

/// Modules in a few specializations, for tests that compile them.
#[doc(hidden)]
pub fn modules() -> Vec<ModuleSource> {
    use crate::forces::multilevel::Softening;
    let (exclusion, reach) = (0.01, 1.2);
    let coulomb = PointKernel::Coulomb { exclusion };
    let mut all: Vec<ModuleSource> = [1, 7, 12, 16]
        .map(|points| sums::source(&coulomb, Tuning::direct(points, false), false))
        .into();
    let three = Tuning {
        root_terms: 3,
        ..Tuning::direct(12, false)
    };
    all.push(sums::source(&coulomb, three, false));
    all.extend(
        [(24, 8, 5), (15, 14, 9)]
            .map(|(points, order, far)| sums::source(&coulomb, Tuning::lines(points, order, far), false)),
    );
    all.extend([false, true].map(live::source));
    all.extend([3, 8].map(|points| sums::source(&coulomb, Tuning::direct(points, true), true)));
    let softened = [Softening::C2, Softening::C3, Softening::C4].map(|softening| PointKernel::Softened {
        exclusion,
        reach,
        softening,
    });
    let alpha = 3.0;
    let screened = PointKernel::Screened {
        exclusion,
        reach,
        alpha,
    };
    for kernel in softened.into_iter().chain([screened]) {
        all.extend([false, true].map(|double| sums::source(&kernel, Tuning::short(8, double), double)));
    }
    for (order, double) in [(4, false), (6, true), (8, false)] {
        all.extend(Interpolation::of_order(order).map(|interpolation| levels::source(interpolation, double)));
    }
    all
}
