//! [`Interpolation`]: charges interpolated onto a mesh with B-splines (Fig. 5).

use std::sync::OnceLock;

use debye::engines::InstructionSet;
use debye::engines::cpu::mesh::Mesh;
use debye::engines::cuda::mesh::MeshShape;
use debye::forces::pme::Basis;
use debye_gpu::{Buffer, CudaError, Device, Stream};

use super::device::MeshKernels;
use super::salt::{ORDER, Salt};
use crate::charges::Charges;
use crate::design::{Design, Spreading};
use crate::study::{Input, OnDevice, OnHost, Place, StudyError, Variant, Work};

/// Charges of salt and the mesh that its tolerance asks for.
pub struct Interpolation {
    pub(super) salt: Salt,
    charges: Charges,
    shape: MeshShape,
    want: OnceLock<Vec<f64>>,
}

/// The charges of salt as fractions of the cell.
pub(super) fn charges(salt: &Salt) -> Charges {
    let unit = 4_294_967_296.0 / salt.side;
    Charges {
        places: salt
            .positions
            .iter()
            .map(|r| r.map(|x| (x * unit).round() as u64 as u32))
            .collect(),
        charges: salt.charges.clone(),
    }
}

impl Interpolation {
    /// Of this salt.
    pub fn new(salt: Salt) -> Self {
        Self {
            charges: charges(&salt),
            shape: MeshShape {
                size: [salt.mesh() as u32; 3],
                basis: Basis::BSpline(ORDER),
            },
            salt,
            want: OnceLock::new(),
        }
    }
}

impl Input for Interpolation {
    type Output = Vec<f64>;

    fn label(&self) -> String {
        format!("{}, mesh of {}³", self.salt.label(), self.salt.mesh())
    }

    fn work(&self) -> f64 {
        self.salt.len() as f64
    }

    /// ‖mesh − reference‖/‖reference‖.
    fn error(&self, mesh: &Vec<f64>) -> f64 {
        let want = self.want.get_or_init(|| self.charges.mesh(&self.shape));
        relative(mesh, want)
    }
}

/// ‖a − b‖/‖b‖.
pub(super) fn relative(a: &[f64], b: &[f64]) -> f64 {
    if a.len() != b.len() {
        return f64::NAN;
    }
    let (off, all) = a.iter().zip(b).fold((0.0, 0.0), |(off, all), (a, b)| {
        (off + (a - b).powi(2), all + b * b)
    });
    (off / all).sqrt()
}

/// How charges are interpolated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeshHow {
    /// One loop over ions.
    Loop,
    /// The engine on the processor.
    EngineOnHost,
    /// The paper's kernel, a thread for each ion and atomic adds.
    Atomics {
        /// Whether weights come from memory, as in the paper's code.
        stored: bool,
    },
    /// The engine on the device, its lists ready.
    Engine,
    /// The same with the making of lists.
    EngineAndLists,
}

impl MeshHow {
    /// Every rung.
    pub const ALL: [Self; 6] = [
        Self::Loop,
        Self::EngineOnHost,
        Self::Atomics { stored: true },
        Self::Atomics { stored: false },
        Self::Engine,
        Self::EngineAndLists,
    ];
}

/// A rung of the ladder of interpolation.
#[derive(Clone, Copy, Debug)]
pub struct MeshVariant {
    /// How.
    pub how: MeshHow,
    /// The most ions that it is given.
    pub most: usize,
}

impl MeshVariant {
    /// However many ions there are.
    pub fn new(how: MeshHow) -> Self {
        Self {
            how,
            most: usize::MAX,
        }
    }
}

impl Variant<Interpolation> for MeshVariant {
    fn name(&self) -> String {
        let name = match self.how {
            MeshHow::Loop => "CPU loop",
            MeshHow::EngineOnHost => "CPU engine",
            MeshHow::Atomics { stored: true } => "GPU atomics, stored splines",
            MeshHow::Atomics { stored: false } => "GPU atomics",
            MeshHow::Engine => "GPU engine",
            MeshHow::EngineAndLists => "GPU engine, with its lists",
        };
        name.into()
    }

    fn place(&self) -> Place {
        match self.how {
            MeshHow::Loop | MeshHow::EngineOnHost => Place::Cpu,
            _ => Place::Cuda,
        }
    }

    fn tolerance(&self) -> f64 {
        match self.how {
            // Fractions of the cell are rounded to 2⁻³².
            MeshHow::Loop => 1e-6,
            // Positions in single precision, from the corner of the mesh.
            MeshHow::Atomics { .. } => 3e-4,
            _ => 1e-5,
        }
    }

    fn declines(&self, input: &Interpolation) -> Option<String> {
        let ions = input.salt.len();
        (ions > self.most).then(|| format!("{ions} ions are more than the {} it is given", self.most))
    }

    fn prepare<'i>(
        &self,
        input: &'i Interpolation,
        device: Option<&Device>,
    ) -> Result<Box<dyn Work<Vec<f64>> + 'i>, StudyError> {
        let (salt, shape) = (&input.salt, &input.shape);
        match self.how {
            MeshHow::Loop => Ok(OnHost::boxed(move || Ok(spread(salt, salt.mesh())))),
            MeshHow::EngineOnHost => {
                let mut mesh = Mesh::<f32>::new(salt.plan(), salt.alpha, InstructionSet::detect());
                let (cell, positions) = (salt.cell()?, salt.vectors());
                Ok(Widened::boxed(OnHost::boxed(move || {
                    mesh.spread(&cell, &positions, &salt.charges);
                    Ok(mesh.values())
                })))
            }
            MeshHow::Atomics { stored } => {
                let device = device.ok_or(StudyError::NoDevice)?;
                let state = Atomics {
                    kernels: MeshKernels::new(device, salt, None, stored)?,
                    mesh: device.zeros(shape.points())?,
                };
                OnDevice::boxed(device, state, Atomics::queue, |state, stream| {
                    state.queue(stream)?;
                    wide(stream.download(&state.mesh)?)
                })
            }
            MeshHow::Engine | MeshHow::EngineAndLists => {
                let device = device.ok_or(StudyError::NoDevice)?;
                let fresh = self.how == MeshHow::EngineAndLists;
                let state = Spreading::new(device, shape, &input.charges, Design::Owner, fresh)?;
                OnDevice::boxed(device, state, Spreading::queue, |state, stream| {
                    wide(state.mesh(stream)?)
                })
            }
        }
    }
}

/// Work that gives a mesh in single precision; it becomes double where it is read, which is not timed.
pub(super) struct Widened<'i>(Box<dyn Work<Vec<f32>> + 'i>);

impl<'i> Widened<'i> {
    pub(super) fn boxed(work: Box<dyn Work<Vec<f32>> + 'i>) -> Box<dyn Work<Vec<f64>> + 'i> {
        Box::new(Self(work))
    }
}

impl Work<Vec<f64>> for Widened<'_> {
    fn seconds(&mut self, passes: u32) -> Result<f64, StudyError> {
        self.0.seconds(passes)
    }

    fn output(&mut self) -> Result<Vec<f64>, StudyError> {
        wide(self.0.output()?)
    }
}

fn wide(mesh: Vec<f32>) -> Result<Vec<f64>, StudyError> {
    Ok(mesh.into_iter().map(f64::from).collect())
}

struct Atomics {
    kernels: MeshKernels,
    mesh: Buffer<f32>,
}

impl Atomics {
    fn queue(&mut self, stream: &Stream) -> Result<(), CudaError> {
        self.kernels.interpolate(stream, self.mesh.all_mut())
    }
}

/// The mesh by one loop over ions, as Eq. 9 is written.
pub(super) fn spread(salt: &Salt, points: usize) -> Vec<f64> {
    let mut mesh = vec![0.0; points.pow(3)];
    each_point(salt, points, |ion, [wx, wy, wz], at, _| {
        mesh[at] += salt.charges[ion] * wx.0 * wy.0 * wz.0;
    });
    mesh
}

/// Calls with an ion, the weights and derivatives along three axes, and the number of the point, for all points of all
/// ions.
pub(super) fn each_point(
    salt: &Salt,
    points: usize,
    mut call: impl FnMut(usize, [(f64, f64); 3], usize, f64),
) {
    let (basis, per_length) = (Basis::BSpline(ORDER), points as f64 / salt.side);
    for (ion, r) in salt.positions.iter().enumerate() {
        let along: [(i64, _); 3] = r.map(|x| {
            let u = x * per_length;
            let first = u.floor() as i64 + i64::from(basis.first());
            (first, basis.weights::<f64>(u - u.floor()))
        });
        let at = |a: usize, k: usize| (along[a].0 + k as i64).rem_euclid(points as i64) as usize;
        let weight = |a: usize, k: usize| (along[a].1.values[k], along[a].1.derivatives[k]);
        for i in 0..ORDER {
            for j in 0..ORDER {
                let row = (at(0, i) * points + at(1, j)) * points;
                for k in 0..ORDER {
                    let weights = [weight(0, i), weight(1, j), weight(2, k)];
                    call(ion, weights, row + at(2, k), per_length);
                }
            }
        }
    }
}
