//! [`DeviceLevels`]: the potential of charges on the finest of nested grids.

use std::collections::BTreeMap;

use debye_gpu::{
    Buffer, Const, CudaError, Device, Float, Header, Kernel, ModuleSource, Mut, Shape, Slice, SliceMut,
    Stream, Value, constants,
};

use super::MESH_SUMS;
use crate::forces::multilevel::{GridReal, Levels, MultilevelPlan, Nested};
use crate::simd::InstructionSet;

/// Points of a thread along x, over which rows of a stencil slide.
const OUT: usize = 8;
/// Blocks that keep any device busy; the same everywhere, so that sums are.
const BUSY: u32 = 512;
/// Parts that energies are summed in.
const PARTS: usize = 64;

debye_gpu::device_struct! {
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
        periodic: [u32; 3],
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
pub(crate) fn source(double: bool) -> ModuleSource {
    let shared = Header::new(&["prelude.cuh"])
        .constants(&constants![OUT])
        .define::<LevelPass>()
        .define::<LevelStencil>()
        .define::<LevelRow>();
    ModuleSource::new("levels.cu", include_str!("../kernels/levels.cu"))
        .include("levels_shared.cuh", &shared.text())
        .define("DOUBLE", u32::from(double))
}

/// For every place along an axis, what it takes from where.
pub(crate) type Lists<T> = [Vec<(usize, T)>];

/// A number of a grid on a device.
pub trait LevelNumber: GridReal + Float + Value {}
impl<T: GridReal + Float + Value> LevelNumber for T {}

type Along<T> = Kernel<(LevelPass, Const<u32>, Const<u32>, Const<T>, Const<T>, Mut<T>)>;
type Dot<T> = Kernel<(Const<T>, Const<T>, u64, Mut<f64>)>;
type Total = Kernel<(Const<f64>, u32, f64, Mut<f64>, u32)>;
type Sum<T> = Kernel<(LevelStencil, Const<LevelRow>, Const<T>, Const<T>, Mut<T>)>;

#[derive(Debug)]
struct Kernels<T: LevelNumber> {
    pad: Kernel<(LevelStencil, Const<T>, Mut<T>)>,
    sum: Sum<T>,
    parts: Kernel<(Const<T>, u32, u64, Mut<T>)>,
    dot: Dot<T>,
    total: Total,
}

impl<T: LevelNumber> Kernels<T> {
    fn new(device: &Device) -> Result<Self, CudaError> {
        let module = device.module(&source(T::DOUBLE))?;
        Ok(Self {
            pad: module.kernel("debye_level_pad")?,
            sum: module.kernel("debye_level_stencil")?,
            parts: module.kernel("debye_level_parts")?,
            dot: module.kernel("debye_level_dot")?,
            total: module.kernel("debye_level_total")?,
        })
    }
}

/// Sums along one axis after another; what each but the last makes is kept here.
#[derive(Debug)]
pub(crate) struct AxisPasses<T: LevelNumber> {
    along: Along<T>,
    passes: Vec<AxisPass<T>>,
}

#[derive(Debug)]
struct AxisPass<T: LevelNumber> {
    work: LevelPass,
    starts: Buffer<u32>,
    places: Buffer<u32>,
    weights: Buffer<T>,
    made: Buffer<T>,
}

impl<T: LevelNumber> AxisPasses<T> {
    /// Of a grid of this shape, axis by axis as listed; the last is scaled, and added to what is there already.
    pub(crate) fn new(
        device: &Device,
        mut shape: [usize; 3],
        axes: [(usize, &Lists<T>); 3],
        scale: f64,
        adds: bool,
    ) -> Result<Self, CudaError> {
        let along = device.module(&source(T::DOUBLE))?.kernel("debye_level_along")?;
        let mut passes = Vec::new();
        for (number, (axis, lists)) in axes.into_iter().enumerate() {
            let is_last = number == 2;
            let length = shape[axis];
            shape[axis] = lists.len();
            let number = shape.iter().product::<usize>();
            let mut starts = vec![0_u32];
            for list in lists {
                starts.push(starts[starts.len() - 1] + list.len() as u32);
            }
            let places: Vec<u32> = lists.iter().flatten().map(|&(place, _)| place as u32).collect();
            let weights: Vec<T> = lists.iter().flatten().map(|&(_, weight)| weight).collect();
            passes.push(AxisPass {
                work: LevelPass {
                    number: number as u64,
                    inner: shape[axis + 1..].iter().product::<usize>() as u64,
                    length: length as u64,
                    lists: lists.len() as u64,
                    scale: if is_last { scale } else { 1.0 },
                    adds: u64::from(is_last && adds),
                },
                starts: device.upload(&starts)?,
                places: device.upload(&places)?,
                weights: device.upload(&weights)?,
                made: device.allocate(if is_last { 0 } else { number })?,
            });
        }
        Ok(Self { along, passes })
    }

    /// Numbers that come out.
    pub(crate) fn len(&self) -> usize {
        self.passes.last().map_or(0, |last| last.work.number as usize)
    }

    pub(crate) fn queue(
        &mut self,
        stream: &Stream,
        from: Slice<'_, T>,
        mut to: SliceMut<'_, T>,
    ) -> Result<(), CudaError> {
        CudaError::check_length("a grid", to.len(), self.len())?;
        for k in 0..self.passes.len() {
            let (before, rest) = self.passes.split_at_mut(k);
            let Some((pass, later)) = rest.split_first_mut() else {
                break;
            };
            let source = before.last().map_or(from, |before| before.made.all());
            let shape = Shape::covering(pass.work.number as usize, 256);
            let lists = (pass.starts.all(), pass.places.all(), pass.weights.all());
            let made = match later {
                [] => to.again(),
                _ => pass.made.all_mut(),
            };
            let given = (pass.work, lists.0, lists.1, lists.2, source, made);
            self.along.launch(stream, shape, given)?;
        }
        Ok(())
    }
}

/// A stencil as the kernels read it.
#[derive(Debug)]
struct DeviceStencil<T: LevelNumber> {
    work: LevelStencil,
    rows: Buffer<LevelRow>,
    coefficients: Buffer<T>,
}

impl<T: LevelNumber> DeviceStencil<T> {
    fn new(
        device: &Device,
        shape: [usize; 3],
        periodic: [bool; 3],
        entries: &[([i64; 3], T)],
    ) -> Result<Self, CudaError> {
        let range = |axis: usize| {
            let all = || entries.iter().map(|(d, _)| d[axis]);
            [all().min().unwrap_or(0), all().max().unwrap_or(0)]
        };
        let [x, y, z] = [range(0), range(1), range(2)];
        let length = (x[1] - x[0] + 1) as usize;
        let turns = (length + OUT - 1).div_ceil(OUT);
        let zero = <T as GridReal>::of(0.0);
        // Rows along x, the same for all y and z, but for those that are zero.
        let mut rows = BTreeMap::<[i64; 2], Vec<T>>::new();
        for (d, value) in entries {
            let row = rows
                .entry([d[1], d[2]])
                .or_insert_with(|| vec![zero; turns * OUT + OUT - 1]);
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
            coefficients.extend(vec![zero; missing]);
        }
        Ok(Self {
            work: LevelStencil {
                shape: shape.map(|n| n as u32),
                padded: padded.map(|n| n as u32),
                below: [x[0], y[0], z[0]].map(|least| -least as u32),
                periodic: periodic.map(u32::from),
                rows: listed.len() as u32,
            },
            rows: device.upload(&listed)?,
            coefficients: device.upload(&coefficients)?,
        })
    }

    fn blocks(&self) -> u32 {
        let [nx, ny, nz] = self.work.shape;
        nx.div_ceil(OUT as u32) * ny.div_ceil(4) * nz.div_ceil(32)
    }

    /// Parts that rows are cut into, so that small grids keep a device busy too.
    fn parts(&self) -> u32 {
        (BUSY / self.blocks()).clamp(1, self.work.rows.max(1))
    }

    /// Numbers that the parts make; none for one part.
    fn found(&self) -> usize {
        let points: u32 = self.work.shape.iter().product();
        match self.parts() {
            1 => 0,
            parts => points as usize * parts as usize,
        }
    }

    fn padded(&self) -> usize {
        self.work.padded.iter().map(|&n| n as usize).product()
    }

    /// to = K * from, with a copy that goes on beyond the ends.
    fn queue(
        &self,
        kernels: &Kernels<T>,
        stream: &Stream,
        from: Slice<'_, T>,
        room: &mut Room<T>,
        mut to: SliceMut<'_, T>,
    ) -> Result<(), CudaError> {
        let size = self.padded();
        let given = (self.work, from, room.copy.part_mut(0..size));
        kernels.pad.launch(stream, Shape::covering(size, 256), given)?;
        let (parts, points) = (self.parts(), to.len());
        let shape = Shape {
            grid: [self.blocks(), parts, 1],
            ..Shape::new(1, 128)
        };
        let (rows, coefficients) = (self.rows.all(), self.coefficients.all());
        let sums = match parts {
            1 => to.again(),
            _ => room.found.part_mut(0..self.found()),
        };
        kernels.sum.launch(
            stream,
            shape,
            (self.work, rows, coefficients, room.copy.all(), sums),
        )?;
        if parts == 1 {
            return Ok(());
        }
        let given = (room.found.part(0..self.found()), parts, points as u64, to);
        kernels.parts.launch(stream, Shape::covering(points, 256), given)
    }
}

/// Room that stencils share.
#[derive(Debug)]
struct Room<T: LevelNumber> {
    /// A copy of a grid that goes on beyond its ends.
    copy: Buffer<T>,
    /// What parts of a stencil find.
    found: Buffer<T>,
}

/// One level.
#[derive(Debug)]
struct DeviceLevel<T: LevelNumber> {
    stencil: DeviceStencil<T>,
    /// Derivatives by a strain: xx yy zz xy xz yz. None where there is no virial.
    strains: Vec<DeviceStencil<T>>,
    /// Of the finest they are given.
    charges: Buffer<T>,
    potential: Buffer<T>,
    /// From charges of the finer level, and to its potential; none for the finest.
    joined: Option<[AxisPasses<T>; 2]>,
}

/// Nested grids on a device.
///
/// Using them allocates nothing and can be captured in a graph. Every result has the same bits every time.
#[derive(Debug)]
pub struct DeviceLevels<T: LevelNumber> {
    kernels: Kernels<T>,
    levels: Vec<DeviceLevel<T>>,
    room: Room<T>,
    /// What strains make of charges.
    strained: Buffer<T>,
    partial: Buffer<f64>,
}

impl<T: LevelNumber> DeviceLevels<T> {
    /// The same grids as on the host; with `virial`, what its sums need too.
    pub(crate) fn new(device: &Device, levels: &Levels<T>, virial: bool) -> Result<Self, CudaError> {
        let shapes = levels.shapes();
        let periodic = levels.nested().boundaries.periodic();
        let mut all = Vec::new();
        for (l, &shape) in shapes.iter().enumerate() {
            let points = shape.iter().product::<usize>();
            let of = |entries: &[([i64; 3], T)]| DeviceStencil::new(device, shape, periodic, entries);
            let strains = match virial && periodic == [true; 3] {
                true => levels
                    .strain_entries(l)
                    .iter()
                    .map(|entries| of(entries))
                    .collect(),
                false => Ok(Vec::new()),
            };
            let joined = match l {
                0 => None,
                _ => {
                    let down = [0, 1, 2].map(|axis| levels.joined(l, axis));
                    let up = [0, 1, 2].map(|axis| levels.parents(l, axis));
                    let order = |lists: &[Vec<Vec<(usize, T)>>; 3], axes: [usize; 3], from, adds| {
                        let axes = axes.map(|axis| (axis, &lists[axis][..]));
                        AxisPasses::new(device, from, axes, 1.0, adds)
                    };
                    Some([
                        order(&down, [2, 1, 0], shapes[l - 1], false)?,
                        order(&up, [0, 1, 2], shape, true)?,
                    ])
                }
            };
            all.push(DeviceLevel {
                stencil: of(&levels.stencil(l))?,
                strains: strains?,
                charges: device.allocate(if l == 0 { 0 } else { points })?,
                potential: device.allocate(points)?,
                joined,
            });
        }
        let stencils = |level: &DeviceLevel<T>, size: fn(&DeviceStencil<T>) -> usize| {
            let all = [&level.stencil].into_iter().chain(&level.strains);
            all.map(size).max().unwrap_or(0)
        };
        let largest = |size: fn(&DeviceStencil<T>) -> usize| {
            let levels = all.iter().map(|level| stencils(level, size));
            device.allocate(levels.max().unwrap_or(0))
        };
        let finest = shapes[0].iter().product::<usize>();
        Ok(Self {
            kernels: Kernels::new(device)?,
            room: Room {
                copy: largest(DeviceStencil::padded)?,
                found: largest(DeviceStencil::found)?,
            },
            strained: device.allocate(if virial { finest } else { 0 })?,
            partial: device.allocate(PARTS)?,
            levels: all,
        })
    }

    /// Launches without sums.
    pub(crate) fn launches(&self) -> u64 {
        let parts = self.levels.iter().filter(|level| level.stencil.parts() > 1);
        8 * self.levels.len() as u64 - 6 + parts.count() as u64
    }

    /// The grids of a plan in a periodic cell of these edges, without virial; for measurements.
    #[doc(hidden)]
    pub fn periodic(device: &Device, split: &MultilevelPlan, edges: [f64; 3]) -> Result<Self, CudaError> {
        let nested = Nested::periodic(split, edges);
        let levels = Levels::new(*split, nested, InstructionSet::detect());
        Self::new(device, &levels, false)
    }

    /// From charges on the finest grid to their potential. `sums`, if wanted, are [`MESH_SUMS`] numbers: energy, and the
    /// virial xx yy zz xy xz yz.
    pub fn queue(
        &mut self,
        stream: &Stream,
        mesh: &mut Buffer<T>,
        sums: Option<SliceMut<'_, f64>>,
    ) -> Result<(), CudaError> {
        for l in 1..self.levels.len() {
            let (finer, rest) = self.levels.split_at_mut(l);
            if let (Some(level), Some(finer)) = (rest.first_mut(), finer.last())
                && let Some([down, _]) = &mut level.joined
            {
                let from = if l == 1 { mesh.all() } else { finer.charges.all() };
                down.queue(stream, from, level.charges.all_mut())?;
            }
        }
        for l in (0..self.levels.len()).rev() {
            let (finer, coarser) = self.levels.split_at_mut(l + 1);
            let Some(level) = finer.last_mut() else { break };
            let charges = if l == 0 { mesh.all() } else { level.charges.all() };
            let to = level.potential.all_mut();
            level
                .stencil
                .queue(&self.kernels, stream, charges, &mut self.room, to)?;
            if let Some(coarse) = coarser.first_mut()
                && let Some([_, up]) = &mut coarse.joined
            {
                up.queue(stream, coarse.potential.all(), level.potential.all_mut())?;
            }
        }
        if let Some(sums) = sums {
            self.sum(stream, mesh, sums)?;
        }
        match self.levels.first() {
            Some(finest) => stream.copy(finest.potential.all(), mesh.all_mut()),
            None => Ok(()),
        }
    }

    fn sum(
        &mut self,
        stream: &Stream,
        mesh: &Buffer<T>,
        mut sums: SliceMut<'_, f64>,
    ) -> Result<(), CudaError> {
        CudaError::check_length("energy and virial of grids", sums.len(), MESH_SUMS)?;
        stream.fill(sums.again(), 0)?;
        for (l, level) in self.levels.iter().enumerate() {
            let charges = if l == 0 { mesh.all() } else { level.charges.all() };
            let points = charges.len();
            let (kernels, partial) = (&self.kernels, &mut self.partial);
            let mut add = |with: Slice<'_, T>, scale: f64, which: usize| {
                let given = (charges, with, points as u64, partial.all_mut());
                kernels.dot.launch(stream, Shape::new(PARTS as u32, 256), given)?;
                let given = (partial.all(), PARTS as u32, scale, sums.again(), which as u32);
                kernels.total.launch(stream, Shape::new(1, 32), given)
            };
            if l == 0 {
                add(level.potential.all(), 0.5, 0)?;
            }
            for (k, strain) in level.strains.iter().enumerate() {
                let to = self.strained.part_mut(0..points);
                strain.queue(kernels, stream, charges, &mut self.room, to)?;
                add(self.strained.part(0..points), -0.5, 1 + k)?;
            }
        }
        Ok(())
    }
}
