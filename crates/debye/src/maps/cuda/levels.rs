//! [`smooth`]: the smooth part of a multilevel sum, on a device.

use debye_gpu::{
    Buffer, Const, CudaError, Device, Float, Header, Kernel, ModuleSource, Mut, Shape, Stream, Value,
    constants,
};

use super::sums::check_memory;
use crate::expr::{CudaReal, Tape};
use crate::forces::multilevel::{GridReal, Interpolation, Levels};
use crate::maps::charges::PointCharges;
use crate::maps::mesh::{MapMesh, Plan};
use crate::maps::{MapError, MapGrid};

/// Points of a thread along x, over which rows of a stencil slide.
const OUT: usize = 8;

debye_gpu::device_struct! {
    /// The finest grid.
    struct LevelGrid {
        shape: [u32; 3],
        /// The place of the point at the origin.
        first: i32,
        periodic: u32,
    }

    /// A sum along one axis of a grid.
    struct LevelPass {
        /// Numbers that come out.
        number: u64,
        /// Numbers between neighbors along the axis.
        inner: u64,
        /// Numbers along the axis, before and after.
        length: u64,
        lists: u64,
        scale: f64,
        adds: u64,
    }

    /// The stencil of a level, and the copy of its grid that it reads.
    struct LevelStencil {
        shape: [u32; 3],
        padded: [u32; 3],
        /// How far the copy goes on before the first point.
        below: [u32; 3],
        periodic: u32,
        rows: u32,
    }

    /// Coefficients along x.
    struct LevelRow {
        /// From a point to the first number that it needs of this row.
        offset: i64,
        begin: u32,
        turns: u32,
    }
}

/// The module of the kernels.
pub(super) fn source(interpolation: Interpolation, double: bool) -> ModuleSource {
    let shared = Header::new(&["prelude.cuh"])
        .constants(&constants![OUT])
        .define::<LevelGrid>()
        .define::<LevelPass>()
        .define::<LevelStencil>()
        .define::<LevelRow>();
    let order = interpolation.order();
    let printed = Tape::record(1, |s| interpolation.weights(s[0])[..order].to_vec());
    let printed = printed.to_cuda("printed_weights", CudaReal::Double);
    let list: Vec<String> = (0..order).map(|j| format!("w[{j}]")).collect();
    let weights = format!(
        "#pragma once\n{printed}__device__ __forceinline__ void level_weights(double rest, double (&w)[{order}])\n\
         {{\n    printed_weights(rest, {});\n}}\n",
        list.join(", ")
    );
    ModuleSource::new("levels.cu", include_str!("kernels/levels.cu"))
        .include("levels_shared.cuh", &shared.text())
        .include("level_weights.cuh", &weights)
        .define("DOUBLE", u32::from(double))
        .define("ORDER", order)
}

type Spread = Kernel<(LevelGrid, Const<f64>, u32, f64, Mut<u64>)>;
type Along<T> = Kernel<(LevelPass, Const<u32>, Const<u32>, Const<T>, Const<T>, Mut<T>)>;
type Sum<T> = Kernel<(LevelStencil, Const<LevelRow>, Const<T>, Const<T>, Mut<T>)>;
/// For every place along an axis, what it takes from where.
type Lists<T> = [Vec<(usize, T)>];

/// Kernels and where they run.
pub(super) struct Grids<T: Float> {
    device: Device,
    stream: Stream,
    spread: Spread,
    round: Kernel<(Const<u64>, f64, Mut<T>, u64)>,
    along: Along<T>,
    pad: Kernel<(LevelStencil, Const<T>, Mut<T>)>,
    sum: Sum<T>,
}

/// `scale` times the smooth part of the potential at every point of a grid.
pub(super) fn smooth<T: GridReal + Float + Value>(
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
    let grids = Grids::new(device, levels.interpolation())?;
    let mut charged = vec![grids.spread(levels, charges)?];
    for l in 1..shapes.len() {
        let lists = [0, 1, 2].map(|axis| levels.joined(l, axis));
        let [x, y, z] = &lists;
        let passes: [(usize, &Lists<T>); 3] = [(2, z), (1, y), (0, x)];
        let coarser = grids.passes(&charged[l - 1], shapes[l - 1], &passes, 1.0, None)?;
        charged.push(coarser);
    }
    let mut above: Option<Buffer<T>> = None;
    for l in (0..shapes.len()).rev() {
        let mut potential = grids.stencil(levels, l, &charged[l])?;
        if let Some(coarse) = above {
            let lists = [0, 1, 2].map(|axis| levels.parents(l + 1, axis));
            let [x, y, z] = &lists;
            let passes: [(usize, &Lists<T>); 3] = [(0, x), (1, y), (2, z)];
            potential = grids.passes(&coarse, shapes[l + 1], &passes, 1.0, Some(potential))?;
        }
        above = Some(potential);
    }
    let lists = [0, 1, 2].map(|axis| levels.interpolated(axis, grid.along(axis)));
    let [x, y, z] = &lists;
    let passes: [(usize, &Lists<T>); 3] = [(2, z), (1, y), (0, x)];
    let potential = above.ok_or(MapError::Empty)?;
    let values = grids.passes(&potential, shapes[0], &passes, scale, None)?;
    grids.stream.synchronize()?;
    Ok(values)
}

impl<T: GridReal + MapMesh> Grids<T> {
    /// `scale` times what a potential on a mesh is at the points of a grid.
    pub(super) fn smooth(
        &self,
        plan: &Plan,
        grid: &MapGrid,
        potential: &Buffer<T>,
        scale: f64,
    ) -> Result<Buffer<T>, CudaError> {
        if plan.cell.is_orthorhombic() {
            let [x, y, z] = plan.lists(grid);
            return self.passes(
                potential,
                plan.mesh.size,
                &[(2, &z), (1, &y), (0, &x)],
                scale,
                None,
            );
        }
        // The mesh is small: the rest of its way is the CPU's.
        let mut values = plan.gathered(grid, self.stream.download(potential)?);
        let by = <T as GridReal>::of(scale);
        values.iter_mut().for_each(|value| *value = *value * by);
        self.device.upload(&values)
    }
}

impl<T: GridReal + Float + Value> Grids<T> {
    pub(super) fn new(device: &Device, interpolation: Interpolation) -> Result<Self, CudaError> {
        let module = device.module(&source(interpolation, T::DOUBLE))?;
        Ok(Self {
            device: device.clone(),
            stream: device.stream()?,
            spread: module.kernel("debye_level_spread")?,
            round: module.kernel("debye_level_round")?,
            along: module.kernel("debye_level_along")?,
            pad: module.kernel("debye_level_pad")?,
            sum: module.kernel("debye_level_stencil")?,
        })
    }

    /// Charges on the finest grid.
    fn spread(&self, levels: &Levels<T>, charges: &PointCharges) -> Result<Buffer<T>, CudaError> {
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
        let mut sums = self.device.zeros::<u64>(points)?;
        let work = LevelGrid {
            shape: shape.map(|n| n as u32),
            first: -levels.first()[0] as i32,
            periodic: u32::from(levels.is_periodic()),
        };
        let at = self.device.upload(&at)?;
        let number = charges.len() as u32;
        let given = (work, at.all(), number, scale, sums.all_mut());
        self.spread
            .launch(&self.stream, Shape::covering(charges.len(), 128), given)?;
        let mut values = self.device.allocate(points)?;
        let given = (sums.all(), scale.recip(), values.all_mut(), points as u64);
        self.round
            .launch(&self.stream, Shape::covering(points, 256), given)?;
        self.stream.synchronize()?;
        Ok(values)
    }

    /// Sums along one axis after another; the last is scaled, and added to what is there already.
    fn passes(
        &self,
        from: &Buffer<T>,
        mut shape: [usize; 3],
        passes: &[(usize, &Lists<T>)],
        scale: f64,
        onto: Option<Buffer<T>>,
    ) -> Result<Buffer<T>, CudaError> {
        let mut onto = onto;
        let mut values: Option<Buffer<T>> = None;
        for (number, &(axis, lists)) in passes.iter().enumerate() {
            let is_last = number + 1 == passes.len();
            let length = shape[axis];
            shape[axis] = lists.len();
            let number = shape.iter().product::<usize>();
            let mut starts = vec![0_u32];
            let (mut places, mut weights) = (Vec::new(), Vec::new());
            for &(place, weight) in lists.iter().flatten() {
                places.push(place as u32);
                weights.push(weight);
            }
            for list in lists {
                starts.push(starts[starts.len() - 1] + list.len() as u32);
            }
            let base = onto.take_if(|_| is_last);
            let work = LevelPass {
                number: number as u64,
                inner: shape[axis + 1..].iter().product::<usize>() as u64,
                length: length as u64,
                lists: lists.len() as u64,
                scale: if is_last { scale } else { 1.0 },
                adds: u64::from(base.is_some()),
            };
            let mut to = base.map_or_else(|| self.device.allocate(number), Ok)?;
            CudaError::check_length("a grid", to.len(), number)?;
            let (starts, places) = (self.device.upload(&starts)?, self.device.upload(&places)?);
            let weights = self.device.upload(&weights)?;
            let source = values.as_ref().unwrap_or(from);
            let lists = (starts.all(), places.all(), weights.all());
            let given = (work, lists.0, lists.1, lists.2, source.all(), to.all_mut());
            self.along
                .launch(&self.stream, Shape::covering(number, 256), given)?;
            // What it read goes away here.
            self.stream.synchronize()?;
            values = Some(to);
        }
        values.map_or_else(|| self.device.allocate(0), Ok)
    }

    /// The sums of a level with its kernel.
    fn stencil(&self, levels: &Levels<T>, l: usize, charges: &Buffer<T>) -> Result<Buffer<T>, CudaError> {
        let shape = levels.shapes()[l];
        let entries = levels.stencil(l);
        let range = |axis: usize| {
            let all = || entries.iter().map(|(d, _)| d[axis]);
            [all().min().unwrap_or(0), all().max().unwrap_or(0)]
        };
        let [x, y, z] = [range(0), range(1), range(2)];
        let length = (x[1] - x[0] + 1) as usize;
        let turns = (length + OUT - 1).div_ceil(OUT);
        // Rows along x, the same for all y and z, but for those that are zero.
        let mut rows = std::collections::BTreeMap::<[i64; 2], Vec<T>>::new();
        for (d, value) in &entries {
            let row = rows
                .entry([d[1], d[2]])
                .or_insert_with(|| vec![<T as GridReal>::of(0.0); turns * OUT + OUT - 1]);
            row[(d[0] - x[0]) as usize + OUT - 1] = *value;
        }
        // Turns of the last points read on.
        let along_x = shape[0].next_multiple_of(OUT) - OUT + turns * OUT;
        let padded = [
            along_x,
            shape[1] + (y[1] - y[0]) as usize,
            shape[2] + (z[1] - z[0]) as usize,
        ];
        let mut coefficients = Vec::new();
        let mut listed = Vec::new();
        for ([dy, dz], row) in rows {
            // Turns without coefficients at either end do nothing.
            let some = |k: &usize| row[*k].into() != 0.0_f64;
            let last = (0..row.len()).rfind(some).unwrap_or(0);
            let first = (0..row.len()).find(some).unwrap_or(0).saturating_sub(OUT - 1) / OUT;
            let turns = (last + 1).div_ceil(OUT) - first;
            listed.push(LevelRow {
                offset: (x[0] + (first * OUT) as i64) * (padded[1] * padded[2]) as i64
                    + dy * padded[2] as i64
                    + dz,
                begin: coefficients.len() as u32,
                turns: turns as u32,
            });
            let end = ((first + turns) * OUT + OUT - 1).min(row.len());
            coefficients.extend_from_slice(&row[first * OUT..end]);
            let missing = turns * OUT + OUT - 1 - (end - first * OUT);
            coefficients.extend(vec![<T as GridReal>::of(0.0); missing]);
        }
        let work = LevelStencil {
            shape: shape.map(|n| n as u32),
            padded: padded.map(|n| n as u32),
            below: [x[0], y[0], z[0]].map(|least| -least as u32),
            periodic: u32::from(levels.is_periodic()),
            rows: listed.len() as u32,
        };
        let (listed, coefficients) = (self.device.upload(&listed)?, self.device.upload(&coefficients)?);
        let size = padded.iter().product::<usize>();
        let mut copy = self.device.allocate(size)?;
        let given = (work, charges.all(), copy.all_mut());
        self.pad.launch(&self.stream, Shape::covering(size, 256), given)?;
        let mut sums = self.device.allocate(charges.len())?;
        let blocks = shape[0].div_ceil(OUT) * shape[1].div_ceil(4) * shape[2].div_ceil(32);
        let given = (work, listed.all(), coefficients.all(), copy.all(), sums.all_mut());
        self.sum
            .launch(&self.stream, Shape::new(blocks as u32, 128), given)?;
        self.stream.synchronize()?;
        Ok(sums)
    }
}
