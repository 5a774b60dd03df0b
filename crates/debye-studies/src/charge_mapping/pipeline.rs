//! The whole of Fig. 1: charges mapped, the Poisson equation solved by transforms or on nested grids, forces interpolated
//! back; by the engine, and the time of each stage.

use std::sync::OnceLock;
use std::time::Instant;

use debye::engines::InstructionSet;
use debye::engines::cpu::{Grids, Mesh, MeshReal};
use debye::engines::cuda::mesh::{
    DeviceLevels, Gather, GatherMethod, MeshCell, MeshShape, Particles, Spread, Tiling,
};
use debye::expr::Mat3;
use debye::forces::electrostatics::MeshPlan;
use debye::forces::multilevel::{Boundaries, GridPlan, GridReal, Interpolation, MultilevelPlan};
use debye::forces::pme::{Basis, Influence};
use debye::prelude::{Cell, Vec3};
use debye_gpu::transforms::Cut;
use debye_gpu::{Buffer, CudaError, Device, Stream};

use super::input::Sites;
use crate::design::{Design, fitted};
use crate::fft::{Fft, Solver};
use crate::study::{Input, OnDevice, Place, Rounded, StudyError, Variant, Work};

/// Where the short-range part ends, in nm.
const CUTOFF: f64 = 1.2;
/// The splitting parameter: erfc(α r) is 10⁻⁵ at the cut-off.
const ALPHA: f64 = 3.1234 / CUTOFF;
/// Spacing of the finest of nested grids, in nm.
const SPACING: f64 = 0.2;

/// How the Poisson equation is solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Particle mesh Ewald.
    Transforms,
    /// Multilevel summation.
    Grids,
}

/// A part of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Charges to the mesh.
    Mapping,
    /// From charges to potentials at the points.
    Solve,
    /// Forces from the potentials.
    Interpolation,
    /// All three.
    All,
}

impl Stage {
    /// In order, and all.
    pub const ALL: [Self; 4] = [Self::Mapping, Self::Solve, Self::Interpolation, Self::All];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mapping => "mapping",
            Self::Solve => "solve",
            Self::Interpolation => "interpolation",
            Self::All => "all three",
        }
    }
}

/// Charges whose long-range forces are wanted, for k_e = 1 in e²/nm².
pub struct Charged {
    sites: Sites,
    method: Method,
    cell: Cell,
    positions: Vec<Vec3<f64>>,
    charges: Vec<f64>,
    reference: OnceLock<Vec<Vec3<f64>>>,
}

impl Charged {
    /// On the mesh of these sites, or on nested grids of 0.2 nm.
    ///
    /// # Errors
    /// Edges that make no cell.
    pub fn new(sites: Sites, method: Method) -> Result<Self, StudyError> {
        let (positions, charges) = sites.positions();
        Ok(Self {
            method,
            cell: Cell::orthorhombic(sites.cell_edges()).map_err(StudyError::other)?,
            positions,
            charges,
            sites,
            reference: OnceLock::new(),
        })
    }

    fn split() -> Result<MultilevelPlan, StudyError> {
        let order = Interpolation::of_order(4).ok_or_else(|| StudyError::other("no cubic"))?;
        Ok(MultilevelPlan {
            cutoff: CUTOFF,
            spacing: SPACING,
            interpolation: order,
        })
    }

    fn grids(&self) -> Result<GridPlan, StudyError> {
        let edges = self.sites.cell_edges();
        Ok(GridPlan::new(Self::split()?, Boundaries::Periodic, edges))
    }

    /// The finest mesh or grid.
    fn shape(&self) -> Result<MeshShape, StudyError> {
        Ok(match self.method {
            Method::Transforms => self.sites.shape(),
            Method::Grids => MeshShape {
                size: self.grids()?.points.map(|n| n as u32),
                basis: Basis::Cubic,
            },
        })
    }

    fn reference(&self) -> Result<&[Vec3<f64>], StudyError> {
        if let Some(known) = self.reference.get() {
            return Ok(known);
        }
        let mut staged = StagedOnHost::<f64>::new(self, Stage::All)?;
        let forces = staged.output()?;
        Ok(self.reference.get_or_init(|| forces))
    }

    /// What single precision costs the forces, and on a device that every part of a charge is a whole number of 2^−places;
    /// all else in double precision. Charges of one sign have a potential that is large everywhere, of which forces are
    /// small differences.
    fn rounding(&self, places: Option<i32>) -> Result<f64, StudyError> {
        let [z, y, x] = self.shape()?.size.map(|n| n as usize);
        let sites = self.sites.on_mesh([x, y, z]);
        let mut host = StagedOnHost::<f64>::new(self, Stage::All)?;
        host.pass()?;
        let exact = host.forces_of(sites.exact());
        let single = SINGLE * relative(&host.forces_of_single(), &exact);
        let whole = |places| relative(&host.forces_of(&sites.rounded(places)), &exact);
        Ok(single + places.map_or(0.0, whole))
    }
}

/// Arithmetic in single precision may cost so many times what one rounding of the potential does: on nested grids a point
/// sums over all others, and where charges have one sign nothing of it cancels. With 600 of these it is 80 times.
const SINGLE: f64 = 128.0;

/// √(Σ|ΔF|² / Σ|F|²).
fn relative(forces: &[Vec3<f64>], reference: &[Vec3<f64>]) -> f64 {
    let pairs = forces.iter().zip(reference);
    let (off, all) = pairs.fold((0.0, f64::MIN_POSITIVE), |(off, all), (a, b)| {
        (off + (*a - *b).norm2(), all + b.norm2())
    });
    (off / all).sqrt()
}

impl Input for Charged {
    type Output = Vec<Vec3<f64>>;

    fn label(&self) -> String {
        let size = self.shape().map(|shape| shape.size).unwrap_or_default();
        let [z, y, x] = size;
        let number = self.charges.len();
        let what = match self.method {
            Method::Transforms => "FFT",
            Method::Grids => "multilevel",
        };
        format!("{what}, {number} particles on {x} × {y} × {z}")
    }

    fn work(&self) -> f64 {
        self.charges.len() as f64
    }

    /// √(Σ|ΔF|² / Σ|F|²), against the engine's own mesh in double precision.
    fn error(&self, forces: &Vec<Vec3<f64>>) -> f64 {
        match self.reference() {
            Ok(reference) if forces.len() == reference.len() => relative(forces, reference),
            _ => f64::NAN,
        }
    }
}

/// A stage on a processor or a device. The check is of the forces after all stages.
#[derive(Clone, Copy, Debug)]
pub struct Staged {
    /// What is timed.
    pub stage: Stage,
    /// Where.
    pub place: Place,
}

impl Variant<Charged> for Staged {
    fn name(&self) -> String {
        let place = match self.place {
            Place::Cpu => "CPU",
            Place::Cuda => "GPU",
        };
        format!("{place} {}", self.stage.name())
    }

    fn place(&self) -> Place {
        self.place
    }

    fn tolerance(&self) -> f64 {
        5e-5
    }

    fn prepare<'i>(
        &self,
        charged: &'i Charged,
        device: Option<&Device>,
    ) -> Result<Box<dyn Work<Vec<Vec3<f64>>> + 'i>, StudyError> {
        if self.place == Place::Cpu {
            let work = Box::new(StagedOnHost::<f32>::new(charged, self.stage)?);
            let rounding = charged.rounding(None)?;
            return Ok(Box::new(Rounded { work, rounding }));
        }
        let device = device.ok_or(StudyError::NoDevice)?;
        let staged = StagedOnDevice::new(device, charged, self.stage)?;
        let rounding = charged.rounding(Some(staged.spread.fixed().bits))?;
        let work = OnDevice::boxed(device, staged, StagedOnDevice::queue, move |staged, stream| {
            Ok(staged.forces(stream)?)
        })?;
        Ok(Box::new(Rounded { work, rounding }))
    }
}

/// The engine's mesh or grids on the processor.
enum OnCpu<T: MeshReal + GridReal> {
    Mesh(Box<Mesh<T>>),
    Grids(Box<Grids<T>>),
}

struct StagedOnHost<'i, T: MeshReal + GridReal> {
    charged: &'i Charged,
    stage: Stage,
    by: OnCpu<T>,
    forces: Vec<Vec3<f64>>,
}

impl<'i, T: MeshReal + GridReal> StagedOnHost<'i, T> {
    fn new(charged: &'i Charged, stage: Stage) -> Result<Self, StudyError> {
        let set = InstructionSet::detect();
        let by = match charged.method {
            Method::Grids => OnCpu::Grids(Box::new(Grids::new(charged.grids()?, set))),
            Method::Transforms => {
                let shape = charged.sites.shape();
                let plan = MeshPlan {
                    size: shape.size.map(|n| n as usize),
                    basis: shape.basis,
                    optimal: false,
                };
                OnCpu::Mesh(Box::new(Mesh::new(plan, ALPHA, set)))
            }
        };
        Ok(Self {
            charged,
            stage,
            by,
            forces: vec![Vec3::zero(); charged.charges.len()],
        })
    }

    fn solve(&mut self) {
        match &mut self.by {
            OnCpu::Mesh(mesh) => mesh.solve(false),
            OnCpu::Grids(grids) => grids.solve(false),
        };
    }

    fn gather(&mut self) {
        let charges = &self.charged.charges;
        match &mut self.by {
            OnCpu::Mesh(mesh) => mesh.gather(1.0, charges, &mut self.forces),
            OnCpu::Grids(grids) => grids.gather(1.0, charges, &mut self.forces),
        }
    }

    /// All stages; seconds of each.
    fn pass(&mut self) -> Result<[f64; 3], StudyError> {
        let Charged {
            cell,
            positions,
            charges,
            ..
        } = self.charged;
        self.forces.fill(Vec3::zero());
        let began = Instant::now();
        match &mut self.by {
            OnCpu::Mesh(mesh) => mesh.spread(cell, positions, charges),
            OnCpu::Grids(grids) => grids.spread(cell, positions, charges)?,
        }
        let mapped = Instant::now();
        self.solve();
        let solved = Instant::now();
        self.gather();
        let between = [began, mapped, solved, Instant::now()];
        Ok(std::array::from_fn(|k| {
            (between[k + 1] - between[k]).as_secs_f64()
        }))
    }
}

impl StagedOnHost<'_, f64> {
    /// Forces that a mesh of charges gives, the last axis of the shape contiguous; after a pass.
    fn forces_of(&mut self, values: &[f64]) -> Vec<Vec3<f64>> {
        match &mut self.by {
            OnCpu::Mesh(mesh) => mesh.set_values(&self.charged.cell, values),
            OnCpu::Grids(grids) => grids.set_values(values),
        }
        self.solve();
        self.gathered()
    }

    /// Forces from the potential as it is, rounded to single precision.
    fn forces_of_single(&mut self) -> Vec<Vec3<f64>> {
        let rounded =
            |values: Vec<f64>| -> Vec<f64> { values.iter().map(|&v| f64::from(v as f32)).collect() };
        match &mut self.by {
            OnCpu::Mesh(mesh) => mesh.set_values(&self.charged.cell, &rounded(mesh.values())),
            OnCpu::Grids(grids) => grids.set_values(&rounded(grids.values())),
        }
        self.gathered()
    }

    fn gathered(&mut self) -> Vec<Vec3<f64>> {
        self.forces.fill(Vec3::zero());
        self.gather();
        self.forces.clone()
    }
}

impl<T: MeshReal + GridReal> Work<Vec<Vec3<f64>>> for StagedOnHost<'_, T> {
    fn seconds(&mut self, passes: u32) -> Result<f64, StudyError> {
        let mut sums = [0.0; 3];
        for _ in 0..passes {
            let pass = self.pass()?;
            (0..3).for_each(|k| sums[k] += pass[k]);
        }
        Ok(match self.stage {
            Stage::Mapping => sums[0],
            Stage::Solve => sums[1],
            Stage::Interpolation => sums[2],
            Stage::All => sums.iter().sum(),
        })
    }

    fn output(&mut self) -> Result<Vec<Vec3<f64>>, StudyError> {
        self.pass()?;
        Ok(self.forces.clone())
    }
}

enum OnGpu {
    Transforms(Box<Solver<f32>>, Buffer<MeshCell>),
    Grids(Box<DeviceLevels<f32>>),
}

/// The engine's kernels on a device, lists ready.
struct StagedOnDevice {
    stage: Stage,
    particles: Particles,
    spread: Spread<f32>,
    solver: OnGpu,
    gather: Gather<f32>,
    mesh: Buffer<f32>,
    forces: Buffer<f64>,
    charged: Vec<bool>,
}

impl StagedOnDevice {
    fn new(device: &Device, charged: &Charged, stage: Stage) -> Result<Self, StudyError> {
        let (stream, shape) = (device.stream()?, charged.shape()?);
        let charges = charged.sites.charges();
        let (slots, table) = charges.kinds();
        let table: Vec<f32> = table.iter().map(|&q| q as f32).collect();
        let (pos, table) = (device.upload(&slots)?, device.upload(&table)?);
        let particles = Particles::new(&pos, &table);
        let number = charges.charges.len();
        let tiling = Tiling::usual::<f32>(device, &shape, number);
        let spread = fitted(
            device,
            &stream,
            &shape,
            Design::Owner,
            tiling,
            &particles,
            &charges.charges,
            [0; 3],
        )?;
        let edges = charged.sites.cell_edges();
        let solver = match charged.method {
            Method::Transforms => {
                let (reciprocal, volume) = (
                    Mat3::diagonal(edges.map(f64::recip).into()),
                    edges.iter().product(),
                );
                let size = shape.size.map(|n| n as usize);
                let influence = Influence::new(reciprocal, volume, ALPHA, size, shape.basis, false);
                let cut = Cut::rule(device.info(), shape.size, false)?;
                let solver = Solver::new(device, &influence, Fft::Own(cut))?;
                let cell = device.upload(&[MeshCell::new(reciprocal, volume, ALPHA)])?;
                OnGpu::Transforms(Box::new(solver), cell)
            }
            Method::Grids => {
                let levels = DeviceLevels::periodic(device, &Charged::split()?, edges)?;
                OnGpu::Grids(Box::new(levels))
            }
        };
        let method = GatherMethod::usual::<f32>(device, &shape, spread.bricks(), 1, 1);
        let mut gather = Gather::usual(device, &shape, method, spread.bricks().edges())?;
        let turn =
            std::array::from_fn(|k| std::array::from_fn(|j| if j == k { edges[k].recip() } else { 0.0 }));
        let own: Vec<bool> = charges.charges.iter().map(|q| *q != 0.0).collect();
        gather.set_cell(&stream, turn, 1.0, own.iter().filter(|own| **own).count())?;
        stream.synchronize()?;
        Ok(Self {
            stage,
            particles,
            spread,
            solver,
            gather,
            mesh: device.zeros(shape.points())?,
            forces: device.zeros(3 * number)?,
            charged: own,
        })
    }

    fn one(&mut self, stage: Stage, stream: &Stream) -> Result<(), CudaError> {
        match stage {
            Stage::Mapping => self.spread.queue(stream, &self.particles, &mut self.mesh),
            // In place: what comes of solving twice is no number of interest, and takes as long.
            Stage::Solve => match &mut self.solver {
                OnGpu::Transforms(solver, cell) => {
                    solver.queue(stream, self.mesh.all_mut(), cell.all(), None)
                }
                OnGpu::Grids(levels) => levels.queue(stream, &mut self.mesh, None),
            },
            Stage::Interpolation => self.gather.queue(
                stream,
                &self.particles,
                Some(self.spread.bricks()),
                &self.mesh,
                &mut self.forces,
                None,
                false,
                None,
            ),
            Stage::All => {
                self.one(Stage::Mapping, stream)?;
                self.one(Stage::Solve, stream)?;
                self.one(Stage::Interpolation, stream)
            }
        }
    }

    fn queue(&mut self, stream: &Stream) -> Result<(), CudaError> {
        self.one(self.stage, stream)
    }

    /// Forces less their mean, after all stages.
    fn forces(&mut self, stream: &Stream) -> Result<Vec<Vec3<f64>>, CudaError> {
        self.one(Stage::All, stream)?;
        let found = stream.download(&self.forces)?;
        let n = self.charged.len();
        let force = |i: usize| Vec3::new(found[i], found[n + i], found[2 * n + i]);
        let sum = (0..n).fold(Vec3::zero(), |sum, i| sum + force(i));
        let charged = self.charged.iter().filter(|own| **own).count().max(1);
        let mean = sum * (1.0 / charged as f64);
        let without = |i: usize| {
            if self.charged[i] {
                force(i) - mean
            } else {
                force(i)
            }
        };
        Ok((0..n).map(without).collect())
    }
}
