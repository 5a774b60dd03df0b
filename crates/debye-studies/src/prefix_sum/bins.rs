//! [`BinVariant`]: Lennard-Jones forces of argon by loops over bins, and by the engine.

use std::sync::OnceLock;

use debye::prelude::{
    Cell, LennardJones, PairForce, Particles, Simulation, SimulationBuilder, System, Truncation, Vec3,
    builders,
};
use debye_gpu::{
    Buffer, Const, CudaError, Device, Header, Kernel, ModuleSource, Mut, Shape, Stream, constants,
};
use rayon::prelude::*;

use crate::random::Random;
use crate::study::{Input, OnDevice, OnHost, Place, Steps, StudyError, Variant, Work};

/// Table III of the paper, in nm and kJ/mol.
pub(super) const EPSILON: f64 = 0.0104 * 96.485_332_12;
pub(super) const SIGMA: f64 = 0.340;
pub(super) const CUTOFF: f64 = 1.2;
pub(super) const MASS: f64 = 39.948;
/// Bins along a cut-off: the paper's 175 bins of 105.12 nm are half a cut-off each.
const REACH: usize = 2;
const BIN_THREADS: usize = 128;
/// Most particles whose forces are compared.
const COMPARED: usize = 300;

debye_gpu::device_struct! {
    /// What the kernel is to do. Lengths in nm.
    pub(crate) struct BinWork {
        side: f32,
        /// Bins of one nm.
        per_bin: f32,
        cutoff2: f32,
        sigma2: f32,
        epsilon: f32,
        bins: u32,
        reach: u32,
        particles: u32,
    }
}

pub(crate) fn source(branches: bool) -> ModuleSource {
    let shared = Header::new(&["prelude.cuh"])
        .constants(&constants![BIN_THREADS])
        .define::<BinWork>();
    ModuleSource::new("lj_bins.cu", include_str!("../kernels/lj_bins.cu"))
        .include("bins_shared.cuh", &shared.text())
        .define("BRANCHES", u32::from(branches))
}

/// How atoms lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gas {
    /// A ball of liquid around the middle of the box, a gas elsewhere.
    Ball,
    /// Everywhere alike.
    Random,
    /// In a tight cluster, and far from it.
    Clustered,
    /// Against the faces.
    Boundary,
}

/// Argon atoms in a cubic box, sorted by bin.
pub struct Argon {
    side: f64,
    bins: usize,
    /// Sorted by bin.
    positions: Vec<[f64; 3]>,
    starts: Vec<u32>,
    reference: OnceLock<Vec<(usize, [f64; 3])>>,
}

impl Argon {
    /// About so many atoms, none nearer to another than 0.9 σ.
    pub fn new(gas: Gas, atoms: usize) -> Self {
        // A lattice of the density of the paper's sphere, shaken.
        let spacing = 0.5256;
        let cells = ((2.0 * atoms as f64).cbrt().ceil() as usize).max(8);
        let side = cells as f64 * spacing;
        let mut random = Random(5);
        let middle = 0.5 * cells as f64;
        let mut positions = Vec::new();
        for n in 0..cells.pow(3) {
            let at = [n % cells, n / cells % cells, n / (cells * cells)].map(|i| i as f64);
            let from_middle: f64 = at.iter().map(|x| (x - middle).powi(2)).sum();
            let keep = match gas {
                Gas::Ball => from_middle < (0.492 * cells as f64).powi(2) || random.unit() < 0.05,
                Gas::Random => random.unit() < 0.5,
                Gas::Clustered => from_middle < 9.0 || random.unit() < 0.02,
                Gas::Boundary => at.iter().any(|&x| x < 1.5 || x > cells as f64 - 1.5) && random.unit() < 0.8,
            };
            if keep {
                // The ball is nearly the lattice of the paper's sphere: the engine's steps are of a system at rest.
                let far = if gas == Gas::Ball { 0.05 } else { 0.3 };
                let shaken = at.map(|x| (x + 0.25 + far * random.unit()) * spacing);
                positions.push(shaken.map(|x| f64::from((x % side) as f32)));
            }
        }
        let bins = (side / (CUTOFF / REACH as f64)).floor() as usize;
        let bin = |r: &[f64; 3]| {
            let [x, y, z] = r.map(|x| ((x as f32 * (bins as f64 / side) as f32) as usize).min(bins - 1));
            (z * bins + y) * bins + x
        };
        positions.sort_by_key(bin);
        let mut starts = vec![0_u32; bins.pow(3) + 1];
        positions.iter().for_each(|r| starts[bin(r) + 1] += 1);
        (0..starts.len() - 1).for_each(|i| starts[i + 1] += starts[i]);
        Self {
            side,
            bins,
            positions,
            starts,
            reference: OnceLock::new(),
        }
    }

    fn apart(&self, i: usize, j: usize) -> [f64; 3] {
        let (a, b) = (self.positions[i], self.positions[j]);
        std::array::from_fn(|k| {
            let d = a[k] - b[k];
            d - self.side * (d / self.side).round()
        })
    }

    /// Forces on some particles, by a loop over all others in double precision.
    fn reference(&self) -> &[(usize, [f64; 3])] {
        self.reference.get_or_init(|| {
            let n = self.positions.len();
            let step = n.div_ceil(COMPARED);
            let force = |i: usize| {
                let mut force = [0.0; 3];
                for j in (0..n).filter(|&j| j != i) {
                    let d = self.apart(i, j);
                    let r2: f64 = d.iter().map(|x| x * x).sum();
                    if r2 < CUTOFF * CUTOFF {
                        let f = pair(r2);
                        (0..3).for_each(|k| force[k] += f * d[k]);
                    }
                }
                (i, force)
            };
            (0..n).into_par_iter().step_by(step).map(force).collect()
        })
    }

    /// The share of a warp's decisions about a face that its lanes disagree on, as the kernel with branches makes them.
    pub fn divergence(&self) -> f64 {
        let (mut all, mut divided) = (0_u64, 0_u64);
        let bin = |r: &[f64; 3]| r.map(|x| (x as f32 * (self.bins as f64 / self.side) as f32) as i64);
        let reach = REACH as i64;
        for warp in self.positions.chunks(32) {
            let bins: Vec<[i64; 3]> = warp.iter().map(bin).collect();
            for k in 0..3 {
                // Loops within loops: the inner ones ask again for every turn of the outer ones.
                let turns = (2 * REACH as u64 + 1).pow(2 - k as u32);
                for step in -reach..=reach {
                    let faces = |b: &[i64; 3]| match b[k] + step {
                        x if x < 0 => -1,
                        x if x >= self.bins as i64 => 1,
                        _ => 0,
                    };
                    let first = bins.first().map(faces);
                    all += turns;
                    divided += turns * u64::from(bins.iter().any(|b| Some(faces(b)) != first));
                }
            }
        }
        divided as f64 / all as f64
    }

    fn simulation(&self) -> Result<SimulationBuilder, StudyError> {
        let cell = Cell::orthorhombic([self.side; 3]).map_err(StudyError::other)?;
        // A box of the right side, with other particles in it.
        let mut system = builders::small_argon_sphere()
            .build()
            .map_err(StudyError::other)?;
        system.cell = cell;
        system.particles = Particles::default();
        for &r in &self.positions {
            system
                .particles
                .push(Vec3::from(r), 0, MASS, 0.0, system.particles.len() as u32);
        }
        system.labels = Default::default();
        Ok(argon(system))
    }
}

/// 24 ε (2 (σ/r)¹² − (σ/r)⁶) / r².
fn pair(r2: f64) -> f64 {
    let s6 = (SIGMA * SIGMA / r2).powi(3);
    24.0 * EPSILON * s6 * (2.0 * s6 - 1.0) / r2
}

/// Argon of the paper's Table III.
pub(super) fn argon(system: System) -> SimulationBuilder {
    let force = PairForce::new(LennardJones::new(EPSILON, SIGMA))
        .cutoff(CUTOFF)
        .truncation(Truncation::Cut);
    Simulation::builder(system).pair(force).timestep(0.002)
}

impl Input for Argon {
    type Output = Vec<[f64; 3]>;

    fn label(&self) -> String {
        format!("{} atoms in {}³ bins", self.positions.len(), self.bins)
    }

    fn work(&self) -> f64 {
        self.positions.len() as f64
    }

    /// The largest difference of a force, by the largest force.
    fn error(&self, forces: &Vec<[f64; 3]>) -> f64 {
        if forces.len() != self.positions.len() {
            return f64::NAN;
        }
        let (mut worst, mut largest) = (0.0_f64, f64::MIN_POSITIVE);
        for (i, want) in self.reference() {
            for k in 0..3 {
                let off = (forces[*i][k] - want[k]).abs();
                worst = if off.is_nan() { f64::NAN } else { worst.max(off) };
                largest = largest.max(want[k].abs());
            }
        }
        worst / largest
    }
}

/// How forces are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinVariant {
    /// Loops over bins on the processor, all threads.
    Loop,
    /// A whole step of the engine on the processor.
    EngineOnHost,
    /// The paper's kernel.
    Kernel {
        /// Whether faces are handled by branches, as in the paper.
        branches: bool,
    },
    /// A whole step of the engine on the device.
    Engine,
}

impl BinVariant {
    /// Every way.
    pub const ALL: [Self; 5] = [
        Self::Loop,
        Self::EngineOnHost,
        Self::Kernel { branches: true },
        Self::Kernel { branches: false },
        Self::Engine,
    ];
}

impl Variant<Argon> for BinVariant {
    fn name(&self) -> String {
        let name = match self {
            Self::Loop => "CPU bins",
            Self::EngineOnHost => "CPU engine, whole step",
            Self::Kernel { branches: true } => "GPU bins, branches at faces",
            Self::Kernel { branches: false } => "GPU bins, no branches",
            Self::Engine => "GPU engine, whole step",
        };
        name.into()
    }

    fn place(&self) -> Place {
        match self {
            Self::Loop | Self::EngineOnHost => Place::Cpu,
            _ => Place::Cuda,
        }
    }

    fn tolerance(&self) -> f64 {
        match self {
            Self::Loop => 1e-12,
            // Coordinates of single precision in a box of 100 nm are right to 4e-6 nm, and so are shifts across faces: a
            // force at 0.9 σ to 13 times as much of σ.
            Self::Kernel { .. } => 1e-3,
            Self::EngineOnHost | Self::Engine => 5e-5,
        }
    }

    fn prepare<'i>(
        &self,
        argon: &'i Argon,
        device: Option<&Device>,
    ) -> Result<Box<dyn Work<Vec<[f64; 3]>> + 'i>, StudyError> {
        match *self {
            Self::Loop => Ok(OnHost::boxed(move || Ok(bin_loop(argon)))),
            Self::Kernel { branches } => {
                let device = device.ok_or(StudyError::NoDevice)?;
                let forces = BinForces::new(device, argon, branches)?;
                OnDevice::boxed(device, forces, BinForces::queue, |forces, stream| {
                    forces.queue(stream)?;
                    let found = stream.download(&forces.forces)?;
                    Ok(found
                        .chunks_exact(4)
                        .map(|f| [f[0], f[1], f[2]].map(f64::from))
                        .collect())
                })
            }
            Self::EngineOnHost | Self::Engine => {
                let device = match self {
                    Self::Engine => Some(device.ok_or(StudyError::NoDevice)?),
                    _ => None,
                };
                let steps = Steps::new(argon.simulation()?, device, |run| {
                    Ok(run
                        .forces()?
                        .iter()
                        .map(|f| f.to_array())
                        .collect::<Vec<[f64; 3]>>())
                })?;
                Ok(Box::new(steps))
            }
        }
    }
}

/// The kernel's loops on the processor, in double precision.
fn bin_loop(argon: &Argon) -> Vec<[f64; 3]> {
    let (bins, reach) = (argon.bins as i64, REACH as i64);
    let per_bin = (argon.bins as f64 / argon.side) as f32;
    let force = |(own, me): (usize, &[f64; 3])| {
        let mut force = [0.0; 3];
        let at = me.map(|x| (x as f32 * per_bin) as i64);
        for z in at[2] - reach..=at[2] + reach {
            for y in at[1] - reach..=at[1] + reach {
                for x in at[0] - reach..=at[0] + reach {
                    let [wx, wy, wz] = [x, y, z].map(|b| b.rem_euclid(bins));
                    let shift =
                        [(x, wx), (y, wy), (z, wz)].map(|(b, w)| (b - w) as f64 / bins as f64 * argon.side);
                    let bin = ((wz * bins + wy) * bins + wx) as usize;
                    for other in argon.starts[bin] as usize..argon.starts[bin + 1] as usize {
                        let they = argon.positions[other];
                        let d: [f64; 3] = std::array::from_fn(|k| me[k] - they[k] - shift[k]);
                        let r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
                        if r2 < CUTOFF * CUTOFF && other != own {
                            let f = pair(r2);
                            (0..3).for_each(|k| force[k] += f * d[k]);
                        }
                    }
                }
            }
        }
        force
    };
    argon.positions.par_iter().enumerate().map(force).collect()
}

type BinKernel = Kernel<(BinWork, Const<f32>, Const<u32>, Mut<f32>)>;

/// The paper's kernel, ready to be launched.
struct BinForces {
    kernel: BinKernel,
    work: BinWork,
    sorted: Buffer<f32>,
    starts: Buffer<u32>,
    forces: Buffer<f32>,
}

impl BinForces {
    fn new(device: &Device, argon: &Argon, branches: bool) -> Result<Self, CudaError> {
        let sorted: Vec<f32> = argon
            .positions
            .iter()
            .flat_map(|r| [r[0] as f32, r[1] as f32, r[2] as f32, 0.0])
            .collect();
        Ok(Self {
            kernel: device.module(&source(branches))?.kernel("debye_lj_bins")?,
            work: BinWork {
                side: argon.side as f32,
                per_bin: (argon.bins as f64 / argon.side) as f32,
                cutoff2: (CUTOFF * CUTOFF) as f32,
                sigma2: (SIGMA * SIGMA) as f32,
                epsilon: EPSILON as f32,
                bins: argon.bins as u32,
                reach: REACH as u32,
                particles: argon.positions.len() as u32,
            },
            sorted: device.upload(&sorted)?,
            starts: device.upload(&argon.starts)?,
            forces: device.zeros(sorted.len())?,
        })
    }

    fn queue(&mut self, stream: &Stream) -> Result<(), CudaError> {
        let shape = Shape::covering(self.work.particles as usize, BIN_THREADS as u32);
        let given = (
            self.work,
            self.sorted.all(),
            self.starts.all(),
            self.forces.all_mut(),
        );
        self.kernel.launch(stream, shape, given)
    }
}

/// The share of a multiprocessor's threads that the kernel can fill.
pub(super) fn kernel_occupancy(device: &Device, branches: bool) -> Result<f64, CudaError> {
    let kernel: BinKernel = device.module(&source(branches))?.kernel("debye_lj_bins")?;
    let resident = kernel.resident_blocks(BIN_THREADS as u32, 0)?;
    Ok(crate::study::occupancy(device, resident, BIN_THREADS as u32))
}
