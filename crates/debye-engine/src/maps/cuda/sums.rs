//! [`PointSums`]: sums over charges at every point of a grid, on a device.

use debye_gpu::{
    Buffer, Const, CudaError, Device, Float, Header, Kernel as Compiled, ModuleSource, Mut, Shape, Slice,
    Stream,
};

use super::cut::{Cut, Tuning, Work};
use crate::expr::{CudaReal, Real, Sym, Tape};
use crate::maps::charges::PointCharges;
pub(super) use crate::maps::near::Cubes;
use crate::maps::near::Near;
use crate::maps::tiles::Kernel;
use crate::maps::{MapError, MapGrid};

debye_gpu::device_struct! {
    /// What a kernel is to do. Lengths in units of the points' distance along lines, from the first point.
    pub(crate) struct MapWork {
        /// The points' distance along lines, strips and rows.
        ratio: [f64; 3],
        scale: f64,
        exclusion2: f64,
        /// The square of the distance from the middle of a line beyond which its polynomial serves.
        line2: f64,
        /// And beyond which fewer of its terms do.
        far_line2: f64,
        reach: f64,
        reach2: f64,
        numbers: [f64; 5],
        /// The corner of the first cube of space, along x, y and z, and the edge of all.
        cube_lower: [f64; 3],
        cube_edge: f64,
        /// Between values of neighbors along lines, strips and rows.
        strides: [u64; 3],
        points: u64,
        items: u64,
        /// Whether sums are added to what is there.
        adds: u64,
        /// Points along lines, strips and rows.
        shape: [u32; 3],
        axes: [u32; 3],
        cubes: [u32; 3],
        chunks: u32,
        width: u32,
        wide_strips: u32,
        atoms: u32,
        /// Charges of a block.
        per_part: u32,
    }
}

/// The terms of finite reach, for the kernels: of the square of the distance, 1/r as it is to be taken, and numbers.
fn term_text(kernel: &Kernel, double: bool) -> String {
    let record = |far: bool| {
        Tape::record(7, |s: &[Sym]| {
            let (r2, inverse) = (s[0], s[1]);
            vec![match kernel {
                // Without a root: what is left of 1/r.
                Kernel::Screened { .. } if far => (s[2] * s[2] * r2).screened() * s[2],
                _ => kernel.value(r2, inverse, [s[2], s[3], s[4], s[5], s[6]]),
            }]
        })
    };
    let real = if double { CudaReal::Double } else { CudaReal::Float };
    let [near, far] =
        [("near_term", false), ("far_term", true)].map(|(name, far)| record(far).to_cuda(name, real));
    format!("#pragma once\n{near}{far}")
}

/// The module of a kernel.
pub(super) fn source(kernel: &Kernel, tuning: Tuning, double: bool) -> ModuleSource {
    let shared = Header::new(&["prelude.cuh"]).define::<MapWork>().text();
    let short = !matches!(kernel, Kernel::Coulomb { .. });
    let source = ModuleSource::new("points.cu", include_str!("kernels/points.cu"))
        .include("map_shared.cuh", &shared)
        // Squares of distances are never denormal, and roots are one instruction this way.
        .option("--ftz=true")
        .define("POINTS", tuning.points)
        .define("THREADS", tuning.threads)
        .define("RESIDENT", tuning.resident)
        .define("UNROLL", tuning.unroll)
        .define("DOUBLE", u32::from(double))
        .define("SOFTWARE", tuning.software)
        .define("ROOT_TERMS", tuning.root_terms)
        .define("BETWEEN", tuning.between)
        .define("LINE_ORDER", tuning.line_order)
        .define("FAR_ORDER", tuning.far_order)
        .define("SHORT", u32::from(short));
    if short {
        source.include("map_term.cuh", &term_text(kernel, double))
    } else {
        source
    }
}

/// The largest x whose powers beyond an order sum to no more than two thirds of a tolerance.
fn convergence(order: u32, tolerance: f64) -> f64 {
    let left_out = |x: f64| x.powi(order as i32 + 1) / (1.0 - x);
    let (mut low, mut high) = (0.0, 0.5);
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        if left_out(middle) <= 0.66 * tolerance {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// Orders of polynomials along lines to choose from, of far charges and of the farthest: high ones where few are far.
const ORDERS: [(u32, u32); 5] = [(8, 5), (9, 6), (10, 6), (12, 7), (14, 9)];

/// The charges that are summed.
pub(super) enum Source<'a> {
    All(&'a PointCharges),
    Near(&'a Near),
}

type Points<T> = Compiled<(MapWork, Const<T>, Const<u32>, Mut<T>, Mut<f64>)>;

/// Sums at every point of a grid: what lies on the device for them.
pub struct PointSums<T: Float> {
    points: Points<T>,
    total: Compiled<(MapWork, Const<f64>, u32, Mut<T>)>,
    work: MapWork,
    tuning: Tuning,
    cut: Cut,
    blocks: u32,
    number: u32,
    atoms: Buffer<T>,
    starts: Buffer<u32>,
    values: Buffer<T>,
    parts: Buffer<f64>,
}

impl<T: Float + debye_gpu::Value> PointSums<T> {
    /// `scale` Σ q/r over all charges. With a tolerance, in single precision, far charges may be taken by polynomials
    /// along lines of points, if that is expected to save time. `tuning` for measurements.
    pub fn direct(
        device: &Device,
        grid: &MapGrid,
        charges: &PointCharges,
        exclusion: f64,
        scale: f64,
        tolerance: Option<f64>,
        tuning: Option<Tuning>,
    ) -> Result<Self, MapError> {
        let (shape, given) = (grid.shape(), tuning.map(|tuning| tuning.points));
        let (mut cut, points, mut least) = Cut::choose(shape, Work::Direct { double: T::DOUBLE }, given);
        let mut usual = Tuning::direct(points, T::DOUBLE);
        let lines = tolerance.filter(|&t| t >= 1e-6 && !T::DOUBLE);
        if let (Some(tolerance), None) = (lines, tuning) {
            for (order, far) in ORDERS {
                let orders = [order, far].map(|order| (order, convergence(order, tolerance).recip()));
                let (other, points, time) = Cut::choose(shape, Work::Lines { orders }, None);
                if time < least {
                    (cut, usual, least) = (other, Tuning::lines(points, order, far), time);
                }
            }
        }
        let tuning = tuning.unwrap_or(usual);
        let kernel = Kernel::Coulomb { exclusion };
        let charges = Source::All(charges);
        Self::new(device, grid, &charges, &kernel, scale, lines, cut, tuning, None)
    }

    /// `scale` Σ q K(r) over charges within reach, added to values or by itself.
    pub(super) fn short(
        device: &Device,
        grid: &MapGrid,
        near: &Near,
        kernel: &Kernel,
        scale: f64,
        onto: Option<Buffer<T>>,
    ) -> Result<Self, MapError> {
        let (cut, points, _) = Cut::choose(grid.shape(), Work::Short, None);
        let tuning = Tuning::short(points, T::DOUBLE);
        let charges = Source::Near(near);
        Self::new(device, grid, &charges, kernel, scale, None, cut, tuning, onto)
    }

    #[allow(clippy::too_many_arguments)]
    fn new(
        device: &Device,
        grid: &MapGrid,
        source_of: &Source<'_>,
        kernel: &Kernel,
        scale: f64,
        lines: Option<f64>,
        cut: Cut,
        tuning: Tuning,
        onto: Option<Buffer<T>>,
    ) -> Result<Self, MapError> {
        let charges = match source_of {
            Source::All(charges) => charges.len(),
            Source::Near(near) => near.charges.len(),
        };
        let too_many = |_| MapError::Shape(grid.shape());
        let number = u32::try_from(charges).map_err(too_many)?;
        let (parts, per_part) = match source_of {
            Source::All(_) => cut.parts(&tuning, number),
            Source::Near(_) => (1, number),
        };
        let starts: &[u32] = match source_of {
            Source::All(_) => &[],
            Source::Near(near) => &near.starts,
        };
        let points = grid.points();
        let partial = if parts > 1 { points * parts as usize } else { 0 };
        let new = if onto.is_none() {
            points * size_of::<T>()
        } else {
            0
        };
        let needed = new + partial * 8 + charges * 32 + starts.len() * 4;
        check_memory(device, points, needed)?;
        let blocks = u32::try_from(cut.items.div_ceil(u64::from(tuning.threads))).map_err(too_many)?;
        let mut work = work_of(grid, kernel, scale, lines, &cut, &tuning);
        (work.atoms, work.per_part) = (number, per_part);
        work.adds = u64::from(onto.is_some());
        let (origin, unit) = (grid.origin(), grid.spacing()[cut.axes[0]]);
        let place = |r: [f64; 3]| cut.axes.map(|axis| (r[axis] - origin[axis]) / unit);
        let mut atoms = Vec::with_capacity(charges * 32 / size_of::<T>());
        match source_of {
            Source::All(charges) => {
                for (r, &q) in charges.positions().iter().zip(charges.charges()) {
                    push(&mut atoms, place(r.to_array()), q);
                }
            }
            Source::Near(near) => {
                work.lie_in(&near.cubes, grid, unit);
                for &(r, q) in &near.charges {
                    push(&mut atoms, place(r), q);
                }
            }
        }
        let module = device.module(&source(kernel, tuning, T::DOUBLE))?;
        Ok(Self {
            points: module.kernel("debye_map_points")?,
            total: module.kernel("debye_map_total")?,
            work,
            tuning,
            cut,
            blocks,
            number: parts,
            atoms: device.upload(&atoms)?,
            starts: device.upload(starts)?,
            values: onto.map_or_else(|| device.allocate(points), Ok)?,
            parts: device.allocate(partial)?,
        })
    }

    /// Room for sums over charges within reach, up to so many in these cubes, that are made on the device.
    pub(super) fn resident(
        device: &Device,
        grid: &MapGrid,
        kernel: &Kernel,
        scale: f64,
        cubes: &Cubes,
        most: usize,
    ) -> Result<Self, MapError> {
        check_memory(
            device,
            grid.points(),
            32 * most + 3 * grid.points() * size_of::<T>(),
        )?;
        let nothing = PointCharges::new(&[grid.origin()], &[1.0])?;
        let nothing = Near::new(&nothing, None, &grid.bounds(), kernel.reach());
        let onto = device.allocate(grid.points())?;
        let mut sums = Self::short(device, grid, &nothing, kernel, scale, Some(onto))?;
        sums.atoms = device.allocate(most * 32 / size_of::<T>())?;
        sums.starts = device.allocate(cubes.shape.iter().product::<usize>() + 1)?;
        Ok(sums)
    }

    /// The axes of the grid that lines, strips and rows lie along.
    pub(super) fn axes(&self) -> [u32; 3] {
        self.work.axes
    }

    /// The unit of length of charges: the distance of points along lines.
    pub(super) fn unit(&self, grid: &MapGrid) -> f64 {
        grid.spacing()[self.cut.axes[0]]
    }

    /// Charges, relative to the first point, and where those of each cube begin.
    pub(super) fn charges(&mut self) -> (&mut Buffer<T>, &mut Buffer<u32>) {
        (&mut self.atoms, &mut self.starts)
    }

    /// Takes another grid of as many points and other values to add to.
    pub(super) fn set(
        &mut self,
        grid: &MapGrid,
        kernel: &Kernel,
        scale: f64,
        cubes: &Cubes,
        onto: Buffer<T>,
    ) -> Result<(), CudaError> {
        CudaError::check_length("values of a map", onto.len(), self.values.len())?;
        let MapWork { atoms, per_part, .. } = self.work;
        self.work = work_of(grid, kernel, scale, None, &self.cut, &self.tuning);
        (self.work.atoms, self.work.per_part, self.work.adds) = (atoms, per_part, 1);
        let unit = self.unit(grid);
        self.work.lie_in(cubes, grid, unit);
        self.values = onto;
        Ok(())
    }

    /// The sums where they are.
    pub(super) fn on_device(&self) -> Slice<'_, T> {
        self.values.all()
    }

    /// What the kernel was compiled with.
    pub fn tuning(&self) -> Tuning {
        self.tuning
    }

    /// Queues the sums.
    pub fn queue(&mut self, stream: &Stream) -> Result<(), CudaError> {
        let shape = Shape {
            grid: [self.blocks, self.number, 1],
            ..Shape::new(1, self.tuning.threads)
        };
        let (atoms, starts) = (self.atoms.all(), self.starts.all());
        let given = (
            self.work,
            atoms,
            starts,
            self.values.all_mut(),
            self.parts.all_mut(),
        );
        self.points.launch(stream, shape, given)?;
        if self.number == 1 {
            return Ok(());
        }
        let shape = Shape::covering(self.values.len(), 256);
        let given = (self.work, self.parts.all(), self.number, self.values.all_mut());
        self.total.launch(stream, shape, given)
    }

    /// The sums; waits for them.
    pub fn values(&self, stream: &Stream) -> Result<Vec<T>, CudaError> {
        stream.download(&self.values)
    }
}

/// What kernels are to do for a grid; charges are not counted yet.
fn work_of(
    grid: &MapGrid,
    kernel: &Kernel,
    scale: f64,
    lines: Option<f64>,
    cut: &Cut,
    tuning: &Tuning,
) -> MapWork {
    let (axes, shape) = (cut.axes, grid.shape());
    let unit = grid.spacing()[axes[0]];
    let strides = [shape[1] * shape[2], shape[2], 1];
    let scaled = kernel.in_units_of(unit);
    let half = 0.5 * f64::from(tuning.points - 1);
    let beyond = |order| lines.map_or(0.0, |tolerance| (half / convergence(order, tolerance)).powi(2));
    MapWork {
        ratio: axes.map(|axis| grid.spacing()[axis] / unit),
        scale: scale / unit,
        exclusion2: scaled.exclusion().powi(2),
        line2: beyond(tuning.line_order),
        far_line2: beyond(tuning.far_order),
        reach: scaled.reach(),
        reach2: scaled.reach().powi(2),
        numbers: scaled.numbers(),
        cube_lower: [0.0; 3],
        cube_edge: 1.0,
        strides: axes.map(|axis| strides[axis] as u64),
        points: grid.points() as u64,
        items: cut.items,
        adds: 0,
        shape: axes.map(|axis| shape[axis] as u32),
        axes: axes.map(|axis| axis as u32),
        cubes: [1; 3],
        chunks: cut.chunks,
        width: cut.width,
        wide_strips: cut.wide_strips,
        atoms: 0,
        per_part: 0,
    }
}

impl MapWork {
    /// Charges lie in these cubes.
    fn lie_in(&mut self, cubes: &Cubes, grid: &MapGrid, unit: f64) {
        let origin = grid.origin();
        self.cube_lower = std::array::from_fn(|k| (cubes.lower[k] - origin[k]) / unit);
        self.cube_edge = cubes.edge / unit;
        self.cubes = cubes.shape.map(|n| n as u32);
    }
}

/// A charge as kernels read it, 32 bytes: in single precision the coordinates and what they leave.
fn push<T: Float>(atoms: &mut Vec<T>, r: [f64; 3], q: f64) {
    let high = r.map(T::rounded);
    atoms.extend(high);
    atoms.push(T::rounded(q));
    if !T::DOUBLE {
        atoms.extend([0, 1, 2].map(|k| T::rounded(r[k] - high[k].wide())));
        atoms.push(T::rounded(0.0));
    }
}

/// Refuses what does not fit into the memory of a device.
pub(super) fn check_memory(device: &Device, points: usize, needed: usize) -> Result<(), MapError> {
    let available = device.memory()?.free;
    if needed <= available {
        return Ok(());
    }
    Err(MapError::Memory {
        points,
        needed,
        available,
    })
}
