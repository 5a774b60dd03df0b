//! [`Search`]: who is near whom, by all pairs of blocks as in the paper, through cells, and by the engine.

use debye::engines::cuda::{Choice, CudaEngine};
use debye::engines::{Engine, ListKind, Settings};
use debye::expr::Vec3;
use debye::run::engine_on;
use debye_gpu::Device;

use super::device::TileSearch;
use super::exact::Sums;
use super::order::Order;
use super::salt::{SKIN, Salt};
use super::tiles::{Blocks, Tile, UNFLAGGED};
use crate::study::{Input, OnDevice, OnHost, Place, StudyError, Variant, Work};

/// The ions near each other, of salt in blocks along a Hilbert curve.
pub struct Search {
    salt: Salt,
    blocks: Blocks,
}

impl Search {
    /// Of this salt.
    pub fn new(salt: Salt) -> Result<Self, StudyError> {
        let blocks = Blocks::new(&salt, Order::Hilbert)?;
        Ok(Self { salt, blocks })
    }
}

/// What a search gives.
#[derive(Clone, Debug)]
pub enum Listed {
    /// Tiles.
    Tiles(Vec<Tile>),
    /// A list of the engine, shown by the sums that it gives.
    Sums(Sums),
}

impl Input for Search {
    type Output = Listed;

    fn label(&self) -> String {
        self.salt.label()
    }

    fn work(&self) -> f64 {
        self.salt.len() as f64
    }

    /// The share of pairs within the cut-off that are not listed, or how far sums are from what is right.
    fn error(&self, listed: &Listed) -> f64 {
        match listed {
            Listed::Tiles(tiles) => self.blocks.missed(tiles, UNFLAGGED),
            Listed::Sums(sums) => self.salt.error(self.salt.real_space(), sums),
        }
    }
}

/// How neighbors are searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchHow {
    /// All pairs of blocks on one thread: the paper.
    AllPairs,
    /// The same tiles through cells.
    Cells,
    /// The engine's list on the processor.
    EngineOnHost,
    /// All pairs of blocks on the device.
    AllPairsOnDevice,
    /// The kernels that make the engine's list on the device.
    Engine,
}

/// A rung of the ladder of searches.
#[derive(Clone, Copy, Debug)]
pub struct SearchVariant {
    /// How.
    pub how: SearchHow,
    /// The most ions that it is given.
    pub most: usize,
    /// Tiles that there is room for at first, on the device.
    pub room: usize,
}

impl SearchVariant {
    /// Every rung.
    pub const ALL: [SearchHow; 5] = [
        SearchHow::AllPairs,
        SearchHow::Cells,
        SearchHow::EngineOnHost,
        SearchHow::AllPairsOnDevice,
        SearchHow::Engine,
    ];

    /// However many ions there are.
    pub fn new(how: SearchHow) -> Self {
        Self {
            how,
            most: usize::MAX,
            room: 1 << 12,
        }
    }
}

impl Variant<Search> for SearchVariant {
    fn name(&self) -> String {
        let name = match self.how {
            SearchHow::AllPairs => "CPU all pairs of blocks, one thread",
            SearchHow::Cells => "CPU blocks through cells",
            SearchHow::EngineOnHost => "CPU engine, sort and list",
            SearchHow::AllPairsOnDevice => "GPU all pairs of blocks",
            SearchHow::Engine => "GPU engine, sort and list",
        };
        name.into()
    }

    fn place(&self) -> Place {
        match self.how {
            SearchHow::AllPairsOnDevice | SearchHow::Engine => Place::Cuda,
            _ => Place::Cpu,
        }
    }

    fn tolerance(&self) -> f64 {
        match self.how {
            SearchHow::EngineOnHost | SearchHow::Engine => 1e-4,
            _ => 0.0,
        }
    }

    fn declines(&self, input: &Search) -> Option<String> {
        let ions = input.salt.len();
        (ions > self.most).then(|| format!("{ions} ions are more than the {} it is given", self.most))
    }

    fn prepare<'i>(
        &self,
        input: &'i Search,
        device: Option<&Device>,
    ) -> Result<Box<dyn Work<Listed> + 'i>, StudyError> {
        let blocks = &input.blocks;
        match self.how {
            SearchHow::AllPairs => Ok(OnHost::boxed(|| Ok(Listed::Tiles(blocks.by_all_pairs())))),
            SearchHow::Cells => Ok(OnHost::boxed(|| Ok(Listed::Tiles(blocks.by_cells())))),
            SearchHow::EngineOnHost => Ok(Box::new(EngineList {
                salt: &input.salt,
                last: None,
            })),
            SearchHow::AllPairsOnDevice => {
                let device = device.ok_or(StudyError::NoDevice)?;
                let mut search = TileSearch::new(device, &input.salt, blocks, self.room)?;
                // Room is made before anything is timed.
                search.tiles(device, &device.stream()?)?;
                let again = device.clone();
                OnDevice::boxed(device, search, TileSearch::queue, move |search, stream| {
                    Ok(Listed::Tiles(search.tiles(&again, stream)?))
                })
            }
            SearchHow::Engine => {
                let device = device.ok_or(StudyError::NoDevice)?;
                Ok(Box::new(Drifting::new(&input.salt, device)?))
            }
        }
    }
}

/// The list of the engine on the processor: what an engine takes at its start to sort ions and to list neighbors.
struct EngineList<'i> {
    salt: &'i Salt,
    last: Option<Sums>,
}

impl Work<Listed> for EngineList<'_> {
    fn seconds(&mut self, passes: u32) -> Result<f64, StudyError> {
        let simulation = self.salt.pairs()?.build().map_err(StudyError::other)?;
        let mut seconds = 0.0;
        for _ in 0..passes {
            let mut engine = engine_on(&simulation, None)?;
            let stages = engine.stages().list();
            let listing = stages.iter().filter(|s| ["sort", "neighbors"].contains(&s.name));
            seconds += listing.map(|s| s.seconds).sum::<f64>();
            if self.last.is_none() {
                self.last = Some(sums(engine.as_mut())?);
            }
        }
        Ok(seconds)
    }

    fn output(&mut self) -> Result<Listed, StudyError> {
        if self.last.is_none() {
            self.seconds(1)?;
        }
        let last = self.last.clone();
        last.map(Listed::Sums)
            .ok_or_else(|| StudyError::other("the engine gave nothing"))
    }
}

fn sums(engine: &mut dyn Engine) -> Result<Sums, StudyError> {
    Ok(Sums {
        energy: engine.observe()?.potential,
        forces: engine.forces()?.iter().map(|f| f.to_array()).collect(),
    })
}

/// The kernels that make a list of the engine on a device, by their names in a profile.
const LIST_KERNELS: [&str; 8] = [
    "keys", "sort", "columns", "place", "boxes", "stages", "lists", "commit",
];

/// A crystal that drifts as a whole by the buffer of its list at every step: every step needs a new list, and sums stay
/// what they are. Its kernels are timed one by one, by events around each.
struct Drifting(CudaEngine);

impl Drifting {
    fn new(salt: &Salt, device: &Device) -> Result<Self, StudyError> {
        // The paper's skin, where the nearest image remains the only one within it.
        let buffer = SKIN.min(0.99 * (0.5 * salt.side - salt.cutoff));
        let mut setup = salt.pairs()?.build().map_err(StudyError::other)?;
        let velocity = Vec3::from([buffer / setup.dynamics.timestep, 0.0, 0.0]);
        setup.system.particles.velocities.fill(velocity);
        // Of both kinds of list the one that names the neighbors of every ion: trials of steps, which choose the faster
        // kind elsewhere, would all make lists here.
        let settings = Settings {
            buffer: Some(buffer),
            lists: Some(ListKind::Particles),
            ..Settings::default()
        };
        // The kernel of small systems makes its lists inside, where nothing can time them.
        let choice = Choice {
            small: Some(false),
            ..Choice::default()
        };
        let (system, forces, dynamics) = (&setup.system, &setup.forces, &setup.dynamics);
        let engine = CudaEngine::with_choice(device, system, forces, dynamics, &settings, &choice)?;
        Ok(Self(engine))
    }
}

impl Work<Listed> for Drifting {
    fn seconds(&mut self, passes: u32) -> Result<f64, StudyError> {
        // Who has looked at the sums has a list that is ready; after a step it never is.
        self.0.advance(1, false)?;
        self.0.profile(0, u64::from(passes));
        self.0.advance(u64::from(passes), false)?;
        let profile = self.0.device_use().and_then(|used| used.profile);
        let kernels = profile.map_or(Vec::new(), |profile| profile.kernels);
        let mut seconds = 0.0;
        for name in LIST_KERNELS {
            let kernel = kernels.iter().find(|kernel| kernel.name == name);
            match kernel.filter(|kernel| kernel.launches == u64::from(passes)) {
                Some(kernel) => seconds += kernel.seconds,
                None => {
                    return Err(StudyError::other(format!(
                        "`{name}` did not run once for each of {passes} lists"
                    )));
                }
            }
        }
        Ok(seconds)
    }

    fn output(&mut self) -> Result<Listed, StudyError> {
        Ok(Listed::Sums(sums(&mut self.0)?))
    }
}
