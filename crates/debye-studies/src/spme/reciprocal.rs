//! [`Potential`]: the potential of a mesh of charges by transforms there and back (Fig. 6).

use std::sync::{Arc, OnceLock};

use debye::engines::InstructionSet;
use debye::engines::cpu::mesh::Mesh;
use debye::engines::cuda::mesh::MeshCell;
use debye::expr::Mat3;
use debye::forces::electrostatics::MeshPlan;
use debye::forces::pme::{Basis, Influence};
use debye::prelude::Cell;
use debye_fft::{Complex, Fft as Plan, Transformed};
use debye_gpu::transforms::Cut;
use debye_gpu::{Buffer, CudaError, Device, Stream};
use rayon::prelude::*;

use super::interpolation::{Widened, relative};
use super::salt::{ORDER, Salt};
use crate::cufft::cufft_version;
use crate::fft::{Fft, Solver};
use crate::study::{Input, OnDevice, OnHost, Place, Rounded, StudyError, Variant, Work};

/// Charges on a cubic mesh, and what they are to become.
pub struct Potential {
    pub(super) points: usize,
    tolerance: f64,
    side: f64,
    alpha: f64,
    charges: Vec<f64>,
    want: OnceLock<Vec<f64>>,
}

/// How many points there are along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// As many as the tolerance asks for: the paper's code.
    Computed,
    /// Rounded up to a product of 2, 3 and 5: the paper's text.
    Smooth,
}

impl Potential {
    /// Salt on the mesh of its tolerance.
    pub fn new(salt: &Salt, sizes: Sizes) -> Self {
        let points = match sizes {
            Sizes::Smooth => salt.mesh(),
            Sizes::Computed => super::salt::points(salt.alpha, salt.side, salt.tolerance).max(ORDER),
        };
        Self {
            points,
            tolerance: salt.tolerance,
            side: salt.side,
            alpha: salt.alpha,
            charges: super::interpolation::spread(salt, points),
            want: OnceLock::new(),
        }
    }

    fn rows(&self) -> Mat3<f64> {
        Mat3::diagonal([1.0 / self.side; 3].into())
    }

    fn influence(&self) -> Influence {
        let size = [self.points; 3];
        Influence::new(
            self.rows(),
            self.side.powi(3),
            self.alpha,
            size,
            Basis::BSpline(ORDER),
            false,
        )
    }

    /// What single precision may cost: the potential of a spectrum off by 2^−20 of the charges at every vector, by the
    /// potential. Of a perfect crystal there is next to no potential, and what is off at long wavelengths counts most.
    fn single(&self) -> f64 {
        let square = |values: &[f64]| values.iter().map(|v| v * v).sum::<f64>();
        let table = factors(self.points, self.side, self.alpha);
        let apart = square(&self.charges) * square(&table) * self.points.pow(3) as f64;
        2_f64.powi(-20) * (apart / square(self.reference())).sqrt()
    }

    /// By transforms written as sums, axis by axis.
    fn reference(&self) -> &[f64] {
        self.want.get_or_init(|| {
            let n = self.points;
            let table = factors(n, self.side, self.alpha);
            let mut values: Vec<Complex<f64>> = self.charges.iter().map(|&q| Complex::new(q, 0.0)).collect();
            by_sums(&mut values, n, -1.0);
            values.iter_mut().zip(&table).for_each(|(v, g)| *v *= *g);
            by_sums(&mut values, n, 1.0);
            values.into_iter().map(|v| v.re).collect()
        })
    }
}

/// exp(−π²m²/α²)/(πVm²) |b₁b₂b₃|² of every vector m of a cubic mesh, with b of Eq. 10.
pub(super) fn factors(points: usize, side: f64, alpha: f64) -> Vec<f64> {
    let pi = std::f64::consts::PI;
    let splines = Basis::BSpline(ORDER).weights::<f64>(0.0).values;
    let b: Vec<f64> = (0..points)
        .map(|m| {
            // M_n(k + 1), k = 0 … n − 2; weights run from the highest point down.
            let sum: Complex<f64> = (0..ORDER - 1)
                .map(|k| {
                    let turn = 2.0 * pi * (m * k) as f64 / points as f64;
                    Complex::from_polar(splines[ORDER - 2 - k], turn)
                })
                .sum();
            1.0 / sum.norm_sqr()
        })
        .collect();
    let folded = |m: usize| {
        let m = m as f64;
        (if 2.0 * m > points as f64 {
            m - points as f64
        } else {
            m
        }) / side
    };
    let mut table = Vec::with_capacity(points.pow(3));
    for x in 0..points {
        for y in 0..points {
            for z in 0..points {
                let m2 = folded(x).powi(2) + folded(y).powi(2) + folded(z).powi(2);
                let g = (-(pi / alpha).powi(2) * m2).exp() / (pi * side.powi(3) * m2) * b[x] * b[y] * b[z];
                table.push(if m2 > 0.0 { g } else { 0.0 });
            }
        }
    }
    table
}

/// Σ f exp(±2πi mk/n) along each axis, without any trick.
fn by_sums(values: &mut [Complex<f64>], n: usize, sign: f64) {
    let turns: Vec<Complex<f64>> = (0..n)
        .map(|k| Complex::from_polar(1.0, sign * 2.0 * std::f64::consts::PI * k as f64 / n as f64))
        .collect();
    for _ in 0..3 {
        // Along the last axis, then the axes are turned: three times bring them back.
        let rows: Vec<Vec<Complex<f64>>> = values
            .par_chunks_exact(n)
            .map(|row| {
                let sum = |m: usize| row.iter().enumerate().map(|(k, v)| v * turns[m * k % n]).sum();
                (0..n).map(sum).collect()
            })
            .collect();
        for (row, sums) in rows.iter().enumerate() {
            for (m, sum) in sums.iter().enumerate() {
                values[m * n * n + row] = *sum;
            }
        }
    }
}

impl Input for Potential {
    type Output = Vec<f64>;

    fn label(&self) -> String {
        format!("tolerance {:.0e}, mesh of {}³", self.tolerance, self.points)
    }

    fn work(&self) -> f64 {
        self.points.pow(3) as f64
    }

    fn error(&self, potential: &Vec<f64>) -> f64 {
        relative(potential, self.reference())
    }
}

/// How a mesh is transformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransformHow {
    /// Complex transforms there and back by rustfft on one thread, as the paper's code does by FFTW.
    Complex,
    /// The engine on the processor: real numbers, all threads.
    EngineOnHost,
    /// cuFFT.
    Library,
    /// The engine on the device.
    Engine,
}

/// A rung of the ladder of transforms.
#[derive(Clone, Copy, Debug)]
pub struct TransformVariant {
    /// How.
    pub how: TransformHow,
    /// What kind of sizes it is given.
    pub sizes: Sizes,
}

impl TransformVariant {
    /// Every rung.
    pub const ALL: [Self; 6] = [
        Self::new(TransformHow::Complex, Sizes::Computed),
        Self::new(TransformHow::Complex, Sizes::Smooth),
        Self::new(TransformHow::EngineOnHost, Sizes::Smooth),
        Self::new(TransformHow::Library, Sizes::Computed),
        Self::new(TransformHow::Library, Sizes::Smooth),
        Self::new(TransformHow::Engine, Sizes::Smooth),
    ];

    const fn new(how: TransformHow, sizes: Sizes) -> Self {
        Self { how, sizes }
    }
}

impl Variant<Potential> for TransformVariant {
    fn name(&self) -> String {
        let how = match self.how {
            TransformHow::Complex => "CPU rustfft, complex",
            TransformHow::EngineOnHost => "CPU engine",
            TransformHow::Library => "GPU cuFFT",
            TransformHow::Engine => "GPU engine",
        };
        match self.sizes {
            Sizes::Computed => format!("{how}, any size"),
            Sizes::Smooth => how.into(),
        }
    }

    fn place(&self) -> Place {
        match self.how {
            TransformHow::Complex | TransformHow::EngineOnHost => Place::Cpu,
            TransformHow::Library | TransformHow::Engine => Place::Cuda,
        }
    }

    fn tolerance(&self) -> f64 {
        match self.how {
            TransformHow::Complex => 1e-12,
            _ => 1e-5,
        }
    }

    fn prepare<'i>(
        &self,
        input: &'i Potential,
        device: Option<&Device>,
    ) -> Result<Box<dyn Work<Vec<f64>> + 'i>, StudyError> {
        let work = match self.how {
            TransformHow::Complex => {
                let mut transform = ComplexTransform::new(input.points, input.side, input.alpha);
                return Ok(OnHost::boxed(move || Ok(transform.potential(&input.charges))));
            }
            TransformHow::EngineOnHost => {
                let plan = MeshPlan {
                    size: [input.points; 3],
                    basis: Basis::BSpline(ORDER),
                    optimal: false,
                };
                let mut mesh = Mesh::<f32>::new(plan, input.alpha, InstructionSet::detect());
                let charges: Vec<f32> = input.charges.iter().map(|&q| q as f32).collect();
                let cell = Cell::orthorhombic([input.side; 3]).map_err(StudyError::other)?;
                Widened::boxed(OnHost::boxed(move || {
                    mesh.set_values(&cell, &charges);
                    mesh.solve(false);
                    Ok(mesh.values())
                }))
            }
            TransformHow::Library | TransformHow::Engine => {
                let device = device.ok_or(StudyError::NoDevice)?;
                let library = self.how == TransformHow::Library;
                if library {
                    cufft_version(device).map_err(|error| StudyError::Missing(error.to_string()))?;
                }
                let size = [input.points as u32; 3];
                let solver = if library {
                    Solver::library(device, &input.influence())?
                } else {
                    let cut = Cut::rule(device.info(), size, false)?;
                    Solver::new(device, &input.influence(), Fft::Own(cut))?
                };
                let charges: Vec<f32> = input.charges.iter().map(|&q| q as f32).collect();
                let state = OnMesh {
                    solver,
                    potential: device.zeros(charges.len())?,
                    charges: device.upload(&charges)?,
                    cell: device.upload(&[MeshCell::new(input.rows(), input.side.powi(3), input.alpha)])?,
                };
                OnDevice::boxed(device, state, OnMesh::queue, |state, stream| {
                    state.queue(stream)?;
                    let found = stream.download(&state.potential)?;
                    Ok(found.into_iter().map(f64::from).collect())
                })?
            }
        };
        Ok(Box::new(Rounded {
            work,
            rounding: input.single(),
        }))
    }
}

struct OnMesh {
    solver: Solver<f32>,
    charges: Buffer<f32>,
    potential: Buffer<f32>,
    cell: Buffer<MeshCell>,
}

impl OnMesh {
    fn queue(&mut self, stream: &Stream) -> Result<(), CudaError> {
        let (charges, potential) = (self.charges.all(), self.potential.all_mut());
        self.solver
            .queue_apart(stream, charges, potential, self.cell.all(), None)
    }
}

/// Complex transforms of a cubic mesh on one thread.
pub(super) struct ComplexTransform {
    points: usize,
    there: Arc<dyn Plan<f64>>,
    back: Arc<dyn Plan<f64>>,
    table: Vec<f64>,
    values: Vec<Complex<f64>>,
    turned: Vec<Complex<f64>>,
}

impl ComplexTransform {
    pub(super) fn new(points: usize, side: f64, alpha: f64) -> Self {
        let (there, back) = f64::complex_plans(points);
        let zero = vec![Complex::new(0.0, 0.0); points.pow(3)];
        Self {
            points,
            there,
            back,
            table: factors(points, side, alpha),
            turned: zero.clone(),
            values: zero,
        }
    }

    /// The potential of charges.
    pub(super) fn potential(&mut self, charges: &[f64]) -> Vec<f64> {
        for (to, &q) in self.values.iter_mut().zip(charges) {
            *to = Complex::new(q, 0.0);
        }
        self.along_all(true);
        self.values
            .iter_mut()
            .zip(&self.table)
            .for_each(|(v, g)| *v *= *g);
        self.along_all(false);
        self.values.iter().map(|v| v.re).collect()
    }

    /// Along the last axis, then the axes are turned, three times.
    fn along_all(&mut self, there: bool) {
        let n = self.points;
        let plan = if there { &self.there } else { &self.back };
        for _ in 0..3 {
            plan.process(&mut self.values);
            for (row, values) in self.values.chunks_exact(n).enumerate() {
                for (m, value) in values.iter().enumerate() {
                    self.turned[m * n * n + row] = *value;
                }
            }
            std::mem::swap(&mut self.values, &mut self.turned);
        }
    }
}
