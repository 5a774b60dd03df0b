//! [`MappingVariant`]: the rungs of the ladder.

use debye::engines::InstructionSet;
use debye::engines::cpu::Mesh;
use debye::forces::electrostatics::MeshPlan;
use debye::prelude::Cell;
use debye_gpu::Device;
use rayon::ThreadPoolBuilder;

use super::bins::{HostBins, Layout, slots, too_large};
use super::device::{MOST_WHOLE, Mapped, Owner, PointRead};
use super::fixed_point::{FixedPoint, SINGLE};
use super::host;
use super::input::Sites;
use crate::design::{Design, Spreading};
use crate::study::{Input, OnDevice, OnHost, Place, Rounded, StudyError, Variant, Work};

/// How charges are mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Algorithm 1.
    Baseline,
    /// Algorithm 2.
    Optimized,
    /// Algorithm 2, weights of several particles side by side.
    Vectorized,
    /// Algorithm 2 over static bins.
    Binned,
    /// The engine's spreading on one thread.
    EngineOnOneThread,
    /// The engine's spreading on all threads.
    Engine,
    /// A kernel of the paper.
    Kernel(Owner),
    /// The engine's kernel ([`Design::Owner`]), and two other designs of blocks with bricks of the mesh.
    Bricks(Design),
}

impl How {
    /// The rungs on the processor.
    pub const HOST: [Self; 6] = [
        Self::Baseline,
        Self::Optimized,
        Self::Vectorized,
        Self::Binned,
        Self::EngineOnOneThread,
        Self::Engine,
    ];
    /// Table I.
    pub const PARTICLE_CENTRIC: [Self; 4] = [
        Self::Kernel(Owner::Particle),
        Self::Kernel(Owner::Bin(Layout::Whole)),
        Self::Kernel(Owner::Bin(Layout::Interleaved)),
        Self::Kernel(Owner::Bin(Layout::Coalesced)),
    ];
    /// Table II.
    pub const GRID_CENTRIC: [Self; 4] = [
        Self::Kernel(Owner::Point(PointRead::Branches)),
        Self::Kernel(Owner::Point(PointRead::Selection)),
        Self::Kernel(Owner::Point(PointRead::Shared)),
        Self::Kernel(Owner::Point(PointRead::Reduced)),
    ];
    /// The engine's kernel, and those beside it.
    pub const BRICKS: [Self; 3] = [
        Self::Bricks(Design::Owner),
        Self::Bricks(Design::Halo),
        Self::Bricks(Design::Grid),
    ];

    /// Its name in tables and figures.
    pub fn name(self) -> &'static str {
        match self {
            Self::Baseline => "CPU Algorithm 1",
            Self::Optimized => "CPU Algorithm 2",
            Self::Vectorized => "CPU vectorized",
            Self::Binned => "CPU binned",
            Self::EngineOnOneThread => "CPU engine, one thread",
            Self::Engine => "CPU engine",
            Self::Kernel(Owner::Particle) => "PC baseline",
            Self::Kernel(Owner::Bin(Layout::Whole)) => "PC binning",
            Self::Kernel(Owner::Bin(Layout::Interleaved)) => "PC reduced reads",
            Self::Kernel(Owner::Bin(Layout::Coalesced)) => "PC coalescing",
            Self::Kernel(Owner::Point(PointRead::Branches)) => "GC baseline",
            Self::Kernel(Owner::Point(PointRead::Selection)) => "GC compute efficient",
            Self::Kernel(Owner::Point(PointRead::Shared)) => "GC shared memory",
            Self::Kernel(Owner::Point(PointRead::Reduced)) => "GC reduced reads",
            Self::Bricks(Design::Owner) => "GPU engine",
            Self::Bricks(Design::Halo) => "GPU bricks with halo",
            Self::Bricks(Design::Grid) => "GPU bricks of points",
        }
    }

    /// Whether it reads bins whole.
    fn reads_whole(self) -> bool {
        match self {
            Self::Kernel(Owner::Bin(layout)) => layout == Layout::Whole,
            Self::Kernel(Owner::Point(read)) => read.layout() == Layout::Whole,
            _ => false,
        }
    }

    fn has_bins(self) -> bool {
        matches!(self, Self::Binned | Self::Kernel(Owner::Bin(_) | Owner::Point(_)))
    }
}

/// A rung.
#[derive(Clone, Copy, Debug)]
pub struct MappingVariant {
    /// How it maps.
    pub how: How,
    /// Whether every pass begins with positions in no order and makes its bins or lists; on the processor those positions
    /// are in space and of double precision, as a simulation has them. Else coordinates in mesh units and bins are ready,
    /// as in the paper. The engine on the processor always begins with positions in space.
    pub fresh: bool,
    /// The most particles it is given.
    pub most: usize,
}

impl MappingVariant {
    /// With bins ready, any number of particles.
    pub fn new(how: How) -> Self {
        Self {
            how,
            fresh: false,
            most: usize::MAX,
        }
    }
}

impl Variant<Sites> for MappingVariant {
    fn name(&self) -> String {
        self.how.name().into()
    }

    fn place(&self) -> Place {
        match self.how {
            How::Kernel(_) | How::Bricks(_) => Place::Cuda,
            _ => Place::Cpu,
        }
    }

    fn tolerance(&self) -> f64 {
        match self.how {
            // Weights in single precision. What fixed-point sums cost is added: [`FixedPoint::cost`].
            How::EngineOnOneThread | How::Engine | How::Bricks(_) => SINGLE,
            // Sums in single precision, one after another.
            _ => 2e-5,
        }
    }

    fn declines(&self, sites: &Sites) -> Option<String> {
        let [_, slots] = slots(sites);
        if sites.work() > self.most as f64 {
            Some("it would take too long".into())
        } else if self.how.has_bins() && too_large(sites, slots).is_some() {
            too_large(sites, slots)
        } else if self.how.reads_whole() && slots > MOST_WHOLE {
            let crowd = sites.crowd();
            Some(format!(
                "a bin holds {crowd} particles; a thread keeps bins of {MOST_WHOLE}"
            ))
        } else {
            None
        }
    }

    fn prepare<'i>(
        &self,
        sites: &'i Sites,
        device: Option<&Device>,
    ) -> Result<Box<dyn Work<Vec<f32>> + 'i>, StudyError> {
        let needed = || device.ok_or(StudyError::NoDevice);
        match self.how {
            How::Baseline | How::Optimized | How::Vectorized | How::Binned => Ok(self.on_host(sites)),
            How::EngineOnOneThread | How::Engine => {
                let one = (self.how == How::EngineOnOneThread)
                    .then(|| ThreadPoolBuilder::new().num_threads(1).build());
                let one = one.transpose().map_err(StudyError::other)?;
                Ok(Box::new(EngineOnHost::new(sites, one)?))
            }
            How::Kernel(owner) => {
                let device = needed()?;
                let mapped = Mapped::new(device, sites, owner, self.fresh)?;
                OnDevice::boxed(device, mapped, Mapped::queue, |mapped, stream| {
                    Ok(mapped.mesh(stream)?)
                })
            }
            How::Bricks(design) => {
                let device = needed()?;
                let spreading = Spreading::new(device, &sites.shape(), &sites.charges(), design, self.fresh)?;
                let sums = FixedPoint::new(sites, spreading.fixed());
                let rounding = sums.cost();
                let work = OnDevice::boxed(device, spreading, Spreading::queue, move |spreading, stream| {
                    let mesh = spreading.mesh(stream)?;
                    sums.check(&mesh)?;
                    Ok(mesh)
                })?;
                Ok(Box::new(Rounded { work, rounding }))
            }
        }
    }
}

impl MappingVariant {
    /// A loop of the paper.
    fn on_host<'i>(&self, sites: &'i Sites) -> Box<dyn Work<Vec<f32>> + 'i> {
        let size = sites.size();
        if !self.fresh && self.how == How::Binned {
            let bins = HostBins::new(size, sites.particles());
            return OnHost::boxed(move || Ok(host::binned(&bins)));
        }
        let how = self.how;
        let map = move |particles: &[[f32; 4]]| match how {
            How::Baseline => host::baseline(size, particles),
            How::Vectorized => host::vectorized(size, particles),
            How::Binned => host::binned(&HostBins::new(size, particles)),
            _ => host::optimized(size, particles),
        };
        if !self.fresh {
            return OnHost::boxed(move || Ok(map(sites.particles())));
        }
        let (positions, charges) = sites.positions();
        OnHost::boxed(move || Ok(map(&sites.in_mesh_units(&positions, &charges))))
    }
}

/// The engine's mesh on the processor.
struct EngineOnHost {
    mesh: Mesh<f32>,
    cell: Cell,
    positions: Vec<debye::prelude::Vec3<f64>>,
    charges: Vec<f64>,
    one: Option<rayon::ThreadPool>,
}

impl EngineOnHost {
    fn new(sites: &Sites, one: Option<rayon::ThreadPool>) -> Result<Self, StudyError> {
        let shape = sites.shape();
        let plan = MeshPlan {
            size: shape.size.map(|n| n as usize),
            basis: shape.basis,
            optimal: false,
        };
        let (positions, charges) = sites.positions();
        Ok(Self {
            // The splitting parameter is not used in spreading.
            mesh: Mesh::new(plan, 3.0, InstructionSet::detect()),
            cell: Cell::orthorhombic(sites.cell_edges()).map_err(StudyError::other)?,
            positions,
            charges,
            one,
        })
    }
}

impl Work<Vec<f32>> for EngineOnHost {
    fn seconds(&mut self, passes: u32) -> Result<f64, StudyError> {
        let began = std::time::Instant::now();
        let (mesh, cell, positions, charges) = (&mut self.mesh, &self.cell, &self.positions, &self.charges);
        let mut all = || (0..passes).for_each(|_| mesh.spread(cell, positions, charges));
        match &self.one {
            Some(pool) => pool.install(all),
            None => all(),
        }
        Ok(began.elapsed().as_secs_f64())
    }

    fn output(&mut self) -> Result<Vec<f32>, StudyError> {
        self.mesh.spread(&self.cell, &self.positions, &self.charges);
        Ok(self.mesh.values())
    }
}
