//! [`Whole`]: energies and forces of the whole sum (Fig. 7).

use debye::engines::cuda::mesh::MeshCell;
use debye::expr::Mat3;
use debye::forces::pme::{Basis, Influence};
use debye::prelude::SimulationBuilder;
use debye_gpu::transforms::Cut;
use debye_gpu::{Buffer, CudaError, Device, Stream};

use super::beside::InLammps;
use super::device::{MeshKernels, TileSum};
use super::exact::{MADELUNG, Sums, coulomb};
use super::interpolation::{each_point, spread};
use super::order::Order;
use super::real_space::{Kinds, tile_loop};
use super::reciprocal::ComplexTransform;
use super::salt::{Ions, ORDER, SPACING, Salt};
use super::tiles::{Blocks, UNFLAGGED};
use crate::cufft::cufft_version;
use crate::fft::{Fft, Solver};
use crate::lammps::Lammps;
use crate::study::{Input, OnDevice, OnHost, Place, Steps, StudyError, Variant, Work};

/// The whole Ewald sum of salt.
pub struct Whole(pub Salt);

impl Whole {
    /// Madelung's energy of a perfect crystal.
    pub(super) fn madelung(ions: usize) -> f64 {
        -0.5 * MADELUNG * coulomb() / (0.5 * SPACING) * ions as f64
    }
}

impl Input for Whole {
    type Output = Sums;

    fn label(&self) -> String {
        format!("{}, mesh of {}³", self.0.label(), self.0.mesh())
    }

    fn work(&self) -> f64 {
        self.0.len() as f64
    }

    /// Against a direct Ewald sum in double precision, or for a perfect crystal against Madelung's energy and no forces.
    fn error(&self, sums: &Sums) -> f64 {
        if self.0.ions == Ions::Perfect {
            let want = Sums {
                energy: Self::madelung(self.0.len()),
                forces: vec![[0.0; 3]],
            };
            return self.0.error(&want, sums);
        }
        self.0.error(self.0.whole(), sums)
    }
}

/// The longest side of a mesh that the engine's transforms have on a device.
pub(super) const LONGEST: usize = 512;

/// How the whole sum is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WholeHow {
    /// Tiles, Eq. 9 and rustfft in plain loops.
    Loops,
    /// A whole step of the engine on the processor, with the paper's mesh.
    EngineOnHost,
    /// The same with splitting and mesh as the engine chooses them.
    ChosenOnHost,
    /// LAMMPS on one process.
    Lammps,
    /// The paper's kernels one after the other.
    Kernels,
    /// A whole step of the engine on the device, with the paper's mesh.
    Engine,
    /// The same with splitting and mesh as the engine chooses them.
    Chosen,
}

impl WholeHow {
    /// Every rung.
    pub const ALL: [Self; 7] = [
        Self::Loops,
        Self::EngineOnHost,
        Self::ChosenOnHost,
        Self::Lammps,
        Self::Kernels,
        Self::Engine,
        Self::Chosen,
    ];
}

/// A rung of the ladder of whole sums.
#[derive(Clone, Debug)]
pub struct WholeVariant {
    /// How.
    pub how: WholeHow,
    /// The most ions that it is given.
    pub most: usize,
    /// The most points along an axis that the engine's mesh may have.
    pub longest: usize,
    /// LAMMPS, or why it does not run.
    pub(super) lammps: Result<Lammps, String>,
}

impl WholeVariant {
    /// However many ions there are.
    pub fn new(how: WholeHow) -> Self {
        let on_device = matches!(how, WholeHow::Engine | WholeHow::Chosen);
        Self {
            how,
            most: usize::MAX,
            longest: if on_device { LONGEST } else { usize::MAX },
            lammps: Err("LAMMPS was not looked for".into()),
        }
    }
}

impl WholeVariant {
    /// The engine's simulation, where its mesh is not too long.
    fn setup(&self, salt: &Salt, own: bool) -> Result<SimulationBuilder, StudyError> {
        let split = salt.split(self.longest);
        if own {
            let points = salt.chosen(&split)?.0.points;
            if points > self.longest {
                return Err(StudyError::Missing(format!(
                    "its own mesh would have {points} points along an axis, of {} that its transforms have on a device",
                    self.longest
                )));
            }
        }
        salt.charged(&split, own)
    }
}

impl Variant<Whole> for WholeVariant {
    fn name(&self) -> String {
        let name = match self.how {
            WholeHow::Loops => "CPU loops",
            WholeHow::EngineOnHost => "CPU engine, whole step",
            WholeHow::ChosenOnHost => "CPU engine, its own mesh",
            WholeHow::Lammps => "LAMMPS, one process",
            WholeHow::Kernels => "GPU kernels of the paper",
            WholeHow::Engine => "GPU engine, whole step",
            WholeHow::Chosen => "GPU engine, its own mesh",
        };
        name.into()
    }

    fn place(&self) -> Place {
        match self.how {
            WholeHow::Kernels | WholeHow::Engine | WholeHow::Chosen => Place::Cuda,
            _ => Place::Cpu,
        }
    }

    /// Single precision has 1e-3 of real space ([`super::RealVariant`]); a mesh for 1e-4 leaves as much.
    fn tolerance(&self) -> f64 {
        match self.how {
            WholeHow::Kernels => 2e-3,
            _ => 1e-3,
        }
    }

    fn declines(&self, input: &Whole) -> Option<String> {
        let ions = input.0.len();
        if let (WholeHow::Lammps, Err(why)) = (self.how, &self.lammps) {
            return Some(why.clone());
        }
        (ions > self.most).then(|| format!("{ions} ions are more than the {} it is given", self.most))
    }

    fn prepare<'i>(
        &self,
        input: &'i Whole,
        device: Option<&Device>,
    ) -> Result<Box<dyn Work<Sums> + 'i>, StudyError> {
        let salt = &input.0;
        let given = || device.ok_or(StudyError::NoDevice);
        match self.how {
            WholeHow::Loops => {
                let blocks = Blocks::new(salt, Order::Hilbert)?;
                let tiles = blocks.by_cells();
                let mut transform = ComplexTransform::new(salt.mesh(), salt.side, salt.alpha);
                Ok(OnHost::boxed(move || {
                    let sums = tile_loop(salt, &blocks, &tiles, UNFLAGGED);
                    Ok(with_mesh(salt, &mut transform, sums))
                }))
            }
            WholeHow::Kernels => Chain::boxed(salt, given()?),
            WholeHow::EngineOnHost => Ok(Box::new(engine(self.setup(salt, false)?, None)?)),
            WholeHow::ChosenOnHost => Ok(Box::new(engine(self.setup(salt, true)?, None)?)),
            WholeHow::Engine => Ok(Box::new(engine(self.setup(salt, false)?, Some(given()?))?)),
            WholeHow::Chosen => Ok(Box::new(engine(self.setup(salt, true)?, Some(given()?))?)),
            WholeHow::Lammps => {
                let lammps = self.lammps.as_ref().map_err(StudyError::other)?;
                Ok(Box::new(InLammps::new(*lammps, salt)))
            }
        }
    }
}

fn engine(setup: SimulationBuilder, device: Option<&Device>) -> Result<Steps<Sums>, StudyError> {
    Steps::new(setup, device, |run| {
        Ok(Sums {
            energy: run.observe()?.potential,
            forces: run.forces()?.iter().map(|f| f.to_array()).collect(),
        })
    })
}

/// Adds the reciprocal and the self part to the real-space sum.
fn with_mesh(salt: &Salt, transform: &mut ComplexTransform, mut sums: Sums) -> Sums {
    let charges = spread(salt, salt.mesh());
    let potential = transform.potential(&charges);
    let energy: f64 = charges.iter().zip(&potential).map(|(q, phi)| q * phi).sum();
    sums.energy += 0.5 * coulomb() * energy + salt.self_energy();
    each_point(salt, salt.mesh(), |ion, [x, y, z], at, per_length| {
        let f = -coulomb() * salt.charges[ion] * per_length * potential[at];
        let force = &mut sums.forces[ion];
        force[0] += f * x.1 * y.0 * z.0;
        force[1] += f * x.0 * y.1 * z.0;
        force[2] += f * x.0 * y.0 * z.1;
    });
    sums
}

/// Tiles, interpolation, transforms and forces back, in one stream.
struct Chain {
    tiles: TileSum,
    mesh: MeshKernels,
    solver: Solver<f32>,
    charges: Buffer<f32>,
    potential: Buffer<f32>,
    cell: Buffer<MeshCell>,
}

impl Chain {
    fn boxed<'i>(salt: &'i Salt, device: &Device) -> Result<Box<dyn Work<Sums> + 'i>, StudyError> {
        let blocks = Blocks::new(salt, Order::Hilbert)?;
        let tiles = blocks.by_cells();
        let (rows, volume) = (Mat3::diagonal([1.0 / salt.side; 3].into()), salt.side.powi(3));
        let size = [salt.mesh(); 3];
        let influence = Influence::new(rows, volume, salt.alpha, size, Basis::BSpline(ORDER), false);
        // cuFFT as in the paper; its emulation has none.
        let solver = if cufft_version(device).is_ok() {
            Solver::library(device, &influence)?
        } else {
            let cut = Cut::rule(device.info(), size.map(|n| n as u32), false)?;
            Solver::new(device, &influence, Fft::Own(cut))?
        };
        let points = size.iter().product();
        let chain = Self {
            tiles: TileSum::new(device, salt, &blocks, &tiles, Kinds::Three.unflagged())?,
            mesh: MeshKernels::new(device, salt, Some(&blocks.slots), false)?,
            solver,
            charges: device.zeros(points)?,
            potential: device.zeros(points)?,
            cell: device.upload(&[MeshCell::new(rows, volume, salt.alpha)])?,
        };
        OnDevice::boxed(device, chain, Self::queue, move |chain, stream| {
            chain.queue(stream)?;
            let mut sums = chain.tiles.sums(stream, &blocks)?;
            sums.energy += salt.self_energy();
            Ok(sums)
        })
    }

    fn queue(&mut self, stream: &Stream) -> Result<(), CudaError> {
        self.tiles.queue(stream)?;
        self.mesh.interpolate(stream, self.charges.all_mut())?;
        let (charges, potential) = (self.charges.all(), self.potential.all_mut());
        self.solver
            .queue_apart(stream, charges, potential, self.cell.all(), None)?;
        self.mesh
            .forces_back(stream, self.potential.all(), self.tiles.forces.all_mut())
    }
}
