//! [`smooth`]: the smooth part of a multilevel sum, on a device.

use debye_gpu::{Buffer, Const, CudaError, Device, Header, Kernel, ModuleSource, Mut, Shape, Stream};

use super::sums::check_memory;
use crate::engines::cuda::mesh::levels::AxisPasses;
use crate::engines::cuda::mesh::{DeviceLevels, LevelNumber};
use crate::expr::{CudaReal, Tape};
use crate::forces::multilevel::{Boundaries, Interpolation, Levels};
use crate::maps::charges::PointCharges;
use crate::maps::{MapError, MapGrid};

debye_gpu::device_struct! {
    /// The finest grid.
    struct LevelGrid {
        shape: [u32; 3],
        /// The place of the point at the origin.
        first: i32,
        periodic: u32,
    }
}

/// The module of the kernels.
pub(super) fn source(interpolation: Interpolation, double: bool) -> ModuleSource {
    let shared = Header::new(&["prelude.cuh"]).define::<LevelGrid>();
    let order = interpolation.order();
    let printed = Tape::record(1, |s| interpolation.weights(s[0])[..order].to_vec());
    let printed = printed.to_cuda("printed_weights", CudaReal::Double);
    let list: Vec<String> = (0..order).map(|j| format!("w[{j}]")).collect();
    let weights = format!(
        "#pragma once\n{printed}__device__ __forceinline__ void level_weights(double rest, double (&w)[{order}])\n\
         {{\n    printed_weights(rest, {});\n}}\n",
        list.join(", ")
    );
    ModuleSource::new("level_spread.cu", include_str!("kernels/level_spread.cu"))
        .include("level_grid.cuh", &shared.text())
        .include("level_weights.cuh", &weights)
        .define("DOUBLE", u32::from(double))
        .define("ORDER", order)
}

type Spread = Kernel<(LevelGrid, Const<f64>, u32, f64, Mut<u64>)>;

/// `scale` times the smooth part of the potential at every point of a grid.
pub(super) fn smooth<T: LevelNumber>(
    device: &Device,
    levels: &Levels<T>,
    grid: &MapGrid,
    charges: &PointCharges,
    scale: f64,
) -> Result<Buffer<T>, MapError> {
    let shapes = levels.shapes();
    let points = |shape: &[usize; 3]| shape.iter().product::<usize>();
    // Charges and potentials of all levels, copies, and a map that is interpolated axis by axis.
    let finest = points(&shapes[0]);
    let needed = (12 * finest + 2 * grid.points()) * size_of::<T>() + 8 * finest + 32 * charges.len();
    check_memory(device, grid.points(), needed)?;
    let stream = device.stream()?;
    let mut values = spread(device, &stream, levels, charges)?;
    let mut grids = DeviceLevels::new(device, levels, false)?;
    grids.queue(&stream, &mut values, None)?;
    let lists = [0, 1, 2].map(|axis| levels.interpolated(axis, grid.along(axis)));
    let axes = [2, 1, 0].map(|axis| (axis, &lists[axis][..]));
    let mut passes = AxisPasses::new(device, shapes[0], axes, scale, false)?;
    let mut map = device.allocate(passes.len())?;
    passes.queue(&stream, values.all(), map.all_mut())?;
    stream.synchronize()?;
    Ok(map)
}

/// Charges on the finest grid.
fn spread<T: LevelNumber>(
    device: &Device,
    stream: &Stream,
    levels: &Levels<T>,
    charges: &PointCharges,
) -> Result<Buffer<T>, CudaError> {
    let module = device.module(&source(levels.interpolation(), T::DOUBLE))?;
    let spread: Spread = module.kernel("debye_level_spread")?;
    let round: Kernel<(Const<u64>, f64, Mut<T>, u64)> = module.kernel("debye_level_round")?;
    let shape = levels.shapes()[0];
    let points = shape.iter().product::<usize>();
    let mut at = Vec::with_capacity(4 * charges.len());
    for (r, &q) in charges.positions().iter().zip(charges.charges()) {
        at.extend((0..3).map(|axis| levels.in_spacings(axis, r[axis])));
        at.push(q);
    }
    // All charges on one point would fit: weights of all axes are below 1.3 each.
    let total: f64 = charges.charges().iter().map(|q| q.abs()).sum();
    let scale = 2_f64.powi(60 - total.log2().ceil() as i32);
    let mut sums = device.zeros::<u64>(points)?;
    let work = LevelGrid {
        shape: shape.map(|n| n as u32),
        first: -levels.first()[0] as i32,
        periodic: u32::from(levels.nested().boundaries == Boundaries::Periodic),
    };
    let at = device.upload(&at)?;
    let number = charges.len() as u32;
    let given = (work, at.all(), number, scale, sums.all_mut());
    spread.launch(stream, Shape::covering(charges.len(), 128), given)?;
    let mut values = device.allocate(points)?;
    let given = (sums.all(), scale.recip(), values.all_mut(), points as u64);
    round.launch(stream, Shape::covering(points, 256), given)?;
    // What they read goes away here.
    stream.synchronize()?;
    Ok(values)
}
