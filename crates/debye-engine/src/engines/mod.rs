//! Where a simulation runs, and what every engine answers.

pub mod cpu;
pub mod cuda;
mod device_choice;
mod device_use;
mod error;
mod lent;
pub(crate) mod memory;
mod observation;
mod pair_histogram;
pub mod reference;
mod stages;

pub use cuda::ChargesOnDevice;
pub use device_choice::DeviceChoice;
pub use device_use::{DeviceUse, KernelUse, Needs, Profile, Shortage};
pub use error::{Culprit, EngineError};
pub use lent::LentParticles;
pub use memory::available as available_memory;
pub use observation::Observation;
pub use pair_histogram::{PairCounts, PairHistogram};
pub use stages::{Stage, Stages};

pub use crate::simd::InstructionSet;

use cpu::{Fire, ListSize, Minimized};

use crate::expr::Vec3;
use crate::integrate::MotionState;
use crate::system::{Cell, Particles};

/// Particles of a moment that has passed, in the order of the input.
pub type LaterParticles = Box<dyn FnOnce() -> Result<LentParticles, EngineError> + Send>;

/// What is wanted of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Energies and pressure.
    pub observation: bool,
    /// The particles: where they are, and how they lie.
    pub particles: bool,
    /// Also how they move. Else there may be no velocities, and the angular momenta are those of any step.
    pub velocities: bool,
    /// Pairs by distance: a bit for each of those that [`Engine::count_pairs`] takes on.
    pub counts: u32,
}

impl Wanted {
    /// Whether it takes forces.
    pub(crate) fn needs_forces(self) -> bool {
        self.observation || self.velocities
    }

    pub(crate) const PARTICLES: Self = Self {
        observation: false,
        particles: true,
        velocities: true,
        counts: 0,
    };
}

/// What was wanted of a step.
pub struct Moment {
    /// The step.
    pub step: u64,
    /// The cell then.
    pub cell: Cell,
    /// Energies and pressure.
    pub observation: Option<Observation>,
    /// The particles, put in order when they are asked for.
    pub particles: Option<LaterParticles>,
    /// Pairs by distance, as they were named; `None` where none were wanted, or where the cell became too small to count
    /// them. Then the particles are there.
    pub counts: Option<PairCounts>,
}

impl Moment {
    /// What is wanted of the step that an engine is at.
    pub fn of(engine: &mut (impl Engine + ?Sized), wanted: Wanted) -> Result<Self, EngineError> {
        let observation = wanted.observation.then(|| engine.observe()).transpose()?;
        let counts = match wanted.counts {
            0 => None,
            which => engine.pair_counts(which)?,
        };
        let uncounted = wanted.counts != 0 && counts.is_none();
        let particles = (wanted.particles || uncounted).then(|| engine.particles_later());
        Ok(Self {
            step: engine.step_number(),
            cell: engine.cell(),
            observation,
            particles: particles.transpose()?,
            counts,
        })
    }
}

/// A place where a simulation runs: all that the rest of the program asks of it.
pub trait Engine: Send {
    /// What it is, for the header of a log.
    fn device(&self) -> String;
    /// Does `steps` steps. With `observe`, the next observation costs nothing.
    fn advance(&mut self, steps: u64, observe: bool) -> Result<(), EngineError>;
    /// Does `steps` steps and sees what is wanted of the last. Gives what has been seen so far, in order: that of a device
    /// may be still to come when this returns, and comes with a later call or with [`Engine::rest`]. What goes wrong is
    /// told after all that was seen before.
    fn advance_for(&mut self, steps: u64, wanted: Wanted) -> Result<Vec<Moment>, EngineError> {
        self.advance(steps, wanted.observation)?;
        Ok(vec![Moment::of(self, wanted)?])
    }
    /// What is still to come, waiting for it; nothing when all has come.
    fn rest(&mut self) -> Result<Vec<Moment>, EngineError> {
        Ok(Vec::new())
    }
    /// Moves the particles to an energy minimum, asking after every step whether to go on.
    fn minimize(
        &mut self,
        fire: Fire,
        proceed: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Minimized, EngineError>;
    /// Energies and pressure now.
    fn observe(&mut self) -> Result<Observation, EngineError>;
    /// The particles now, in the order of the input.
    fn particles(&self) -> Result<Particles, EngineError>;
    /// The particles now, put in order when they are asked for, by any thread.
    fn particles_later(&self) -> Result<LaterParticles, EngineError> {
        let particles = self.particles()?;
        Ok(Box::new(|| Ok(particles.into())))
    }
    /// Forces on them.
    fn forces(&self) -> Result<Vec<Vec3<f64>>, EngineError>;
    /// Torques on them, in the laboratory's axes; none where everything is a point.
    fn torques(&self) -> Result<Vec<Vec3<f64>>, EngineError>;
    /// The step it is at.
    fn step_number(&self) -> u64;
    /// The cell now.
    fn cell(&self) -> Cell;
    /// Everything needed to go on bit for bit, in the engine's own order.
    fn save(&self) -> Result<Vec<u8>, EngineError>;
    /// What thermostats and barostat remember: with [`particles`](Self::particles) and [`cell`](Self::cell), what any
    /// other engine goes on from.
    fn motion(&self) -> Result<MotionState, EngineError>;
    /// Time per stage.
    fn stages(&self) -> &Stages;
    /// Lists made so far, the radius of the last, and its size.
    fn lists(&self) -> Lists;
    /// Bytes held.
    fn bytes(&self) -> usize;
    /// How often a barostat was held back from changing the cell by more than a tenth at once.
    fn barostat_limited(&self) -> u64;
    /// What a device did for it so far; `None` where there is none.
    fn device_use(&self) -> Option<DeviceUse> {
        None
    }
    /// The charges of a mesh where they lie on a device, for maps that are made there; `None` where there are none.
    fn charges_on_device(&mut self) -> Result<Option<ChargesOnDevice>, EngineError> {
        Ok(None)
    }
    /// Says which pairs will be wanted by their distance, and gives a bit for each of these that the engine will count
    /// where its particles are. The others are counted from particles.
    fn count_pairs(&mut self, _of: &[PairHistogram]) -> Result<u32, EngineError> {
        Ok(0)
    }
    /// Pairs by distance now, of those with a bit; `None` where the cell became too small for that.
    fn pair_counts(&mut self, _which: u32) -> Result<Option<PairCounts>, EngineError> {
        Ok(None)
    }
    /// Times every kernel of so many steps, after so many others; results stay the same. Says whether it can.
    fn profile(&mut self, _after: u64, _steps: u64) -> bool {
        false
    }
}

/// The neighbor lists of a run so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lists {
    /// Lists made.
    pub builds: u64,
    /// Radius of the last.
    pub radius: f64,
    /// Size of the last.
    pub size: ListSize,
}

/// What a neighbor list is a list of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKind {
    /// The neighbors of every particle: tests the fewest pairs.
    Particles,
    /// The neighbors of the particles of a warp, in tiles: CUDA only.
    Clusters,
}

impl ListKind {
    /// Every kind by its name in input files.
    pub const NAMES: &'static [(&'static str, Option<Self>)] = &[
        ("auto", None),
        ("particles", Some(Self::Particles)),
        ("clusters", Some(Self::Clusters)),
    ];
}

/// In which precision a simulation runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// Pair arithmetic, positions and velocities in single precision.
    Single,
    /// Pair arithmetic in single precision from exact differences; sums and motion in double.
    #[default]
    Mixed,
    /// Everything in double precision.
    Double,
}

impl Precision {
    /// Every precision by its name in input files.
    pub const NAMES: &'static [(&'static str, Self)] = &[
        ("single", Self::Single),
        ("mixed", Self::Mixed),
        ("double", Self::Double),
    ];

    /// Its name in input files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Mixed => "mixed",
            Self::Double => "double",
        }
    }
}

/// How an engine computes, apart from what.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Precision.
    pub precision: Precision,
    /// Buffer of the neighbor list beyond the cut-off; `None` to choose while running.
    pub buffer: Option<f64>,
    /// Energy per particle and time that pairs missed by a list may cost; `None` to miss none.
    pub drift_tolerance: Option<f64>,
    /// Instruction set; `None` for the best this processor has.
    pub instruction_set: Option<InstructionSet>,
    /// Kind of neighbor list; `None` for the one that suits the pair terms.
    pub lists: Option<ListKind>,
    /// Whether the energy will be minimized: a device compiles the kernels of that beside the others.
    pub minimizes: bool,
    /// Whether pairs will be counted by their distance, likewise.
    pub counts_pairs: bool,
}
