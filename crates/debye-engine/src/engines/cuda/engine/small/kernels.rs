//! The kernels of small systems, what they share with the host, and their memory.

use super::super::arrays::words;
use super::super::bonded::{LinkTables, Links};
use super::super::frame::{Frame, Region};
use super::super::resident::{GROUP_SUMS, VIRIAL_SUMS};
use super::super::rules::{Ensemble, Rules, ScalingThermostat};
use super::super::shared::{Real, Speed, Uint4};
use super::super::terms::{Kind, Terms};
use super::shape::{Form, WARP};
use crate::engines::{Needs, Precision};
use debye_gpu::{
    Address, Addresses, Binder, Buffer, Bundle, ConstAddress, CudaError, Device, Kernel, ModuleSource,
};

/// Snapshots that a launch takes on its way.
pub(in super::super) const MOST_DUE: usize = 16;
/// In a word of [`SmallSetup::due`]: what is wanted, after the step; 0 where nothing is. Sums are without energies and
/// virial unless these are wanted too.
pub(in super::super) const DUE_BITS: u32 = 3;
pub(in super::super) const DUE_SUMS: u32 = 1;
pub(in super::super) const DUE_PLACES: u32 = 2;
pub(in super::super) const DUE_ENERGIES: u32 = 4;

debye_gpu::device_struct! {
    /// How a snapshot on the way begins.
    pub(in super::super) struct SmallShot {
        pub(super) step: u64,
        /// The number of the launch that took it.
        pub(super) batch: u64,
    }

    /// Where the snapshots of a launch lie: bytes from the beginning of the memory, and from one to the next; in each,
    /// bytes from its beginning.
    #[derive(Default)]
    pub(in super::super) struct SmallShots {
        pub(super) first: u64,
        pub(super) stride: u64,
        /// Where the words that steer are put.
        pub(super) control: u64,
        pub(super) batch: u64,
        pub(super) frame: u32,
        pub(super) thermostats: u32,
        pub(super) sums: u32,
        pub(super) pos: u32,
        pub(super) low: u32,
        pub(super) images: u32,
        pub(super) velocities: u32,
        pub(super) forces: u32,
    }

    /// What does not change during a launch.
    pub(in super::super) struct SmallSetup {
        frame: Frame,
        dt: f64,
        seed: u64,
        /// Steps to do.
        pub(super) target: u64,
        cutoff: f64,
        /// Of the lists.
        radius2: f32,
        radius: f32,
        particles: u32,
        /// Make a new list even if there is no step to do.
        pub(super) refresh: u32,
        /// Images to look at on either side.
        reach: [i32; 3],
        /// Entries that a list has room for.
        pub(super) capacity: u32,
        /// Steps between removals of momentum, and between changes of the cell.
        remove_every: u32,
        scale_every: u32,
        /// Thermostats that scale velocities.
        thermostats: u32,
        /// As in [`Rules`].
        rescale_every: u32,
        /// Which words the blocks meet at: 0 and 1 by turns of launches.
        pub(super) turn: u32,
        unused: u32,
        /// Steps of snapshots, and what is wanted of them.
        pub(super) due: [u64; MOST_DUE],
        pub(super) shots: SmallShots,
    }

    /// Words in device memory that steer a run.
    #[derive(Default)]
    pub(in super::super) struct SmallControl {
        /// Steps done.
        pub(super) step: u64,
        /// Which of the two `pos` is now.
        pub(super) parity: u32,
        /// The lists must be made anew before the next step.
        pub(super) stale: u32,
        /// A list did not fit.
        pub(super) overflow: u32,
        /// 1 + a particle whose position is no number.
        pub(super) failed: u32,
        /// Times that lists were made.
        pub(super) builds: u32,
        /// Entries of the longest list that did not fit.
        pub(super) needed: u32,
        /// The cell cannot be followed.
        pub(super) cell_invalid: u32,
        /// How often a barostat was held back.
        pub(super) limited: u32,
    }

    /// Everything in device memory.
    pub(in super::super) struct SmallWorld {
        control: Address<SmallControl>,
        /// Two words at which the blocks meet, by turns, for this launch and for the next.
        meetings: Address<u64>,
        /// Two halves, by `SmallControl::parity`.
        pos: Address<Uint4>,
        /// Where FINE like `pos`, without kinds; else axis by axis, like all that follow.
        low: Address<u32>,
        velocities: Address<Speed>,
        images: Address<i32>,
        /// Positions the lists were made from.
        reference: Address<Uint4>,
        /// `SmallSetup::capacity` to a particle.
        lists: Address<u32>,
        counts: Address<u32>,
        forces: Address<f64>,
        partial: Address<f64>,
        /// Of every warp's particles, column by column; only there if steps need sums.
        sums: Address<f64>,
        /// Now, and when the lists were made; only there if a barostat changes the cell.
        frames: Address<Frame>,
        thermostats: Address<ScalingThermostat>,
        ensemble: ConstAddress<Ensemble>,
        /// Where the partners of every particle begin that are excluded, and these.
        excluded_starts: ConstAddress<u32>,
        excluded: ConstAddress<u32>,
        parameters: ConstAddress<Real>,
        tables: ConstAddress<Real>,
        kinds: ConstAddress<Kind>,
        /// Snapshots on the way, and sums of their warps; only there once any were asked for.
        shots: Address<u64>,
        shot_sums: Address<f64>,
        /// Only there with bonded terms.
        links: Links,
    }
}

/// Numbers of the simulation that the kernels need.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct SmallValues {
    pub(in super::super) region: Region,
    pub(in super::super) dt: f64,
    pub(in super::super) seed: u64,
    pub(in super::super) radius: f64,
    pub(in super::super) cutoff: f64,
}

impl SmallValues {
    /// Whether a particle can be near several images of another.
    pub(in super::super) fn images(&self) -> bool {
        let h = self.region.heights();
        2.0 * self.radius > h.x.min(h.y).min(h.z)
    }

    /// Images to look at on either side: |s + n| h ≤ radius with |s| ≤ ½.
    pub(in super::super) fn reach(&self) -> [i32; 3] {
        let h = self.region.heights().to_array();
        h.map(|h| (self.radius / h + 0.5 + 1e-6).floor() as i32)
    }

    pub(super) fn setup(&self, particles: usize, capacity: u32, rules: &Rules) -> SmallSetup {
        SmallSetup {
            frame: self.frame(),
            dt: self.dt,
            seed: self.seed,
            target: 0,
            cutoff: self.cutoff,
            radius2: (self.radius * self.radius) as f32,
            radius: self.radius as f32,
            particles: particles as u32,
            refresh: 0,
            reach: self.reach(),
            capacity,
            remove_every: rules.remove_every,
            scale_every: rules.scale_every,
            thermostats: rules.thermostats.len() as u32,
            rescale_every: rules.rescale_every,
            turn: 0,
            unused: 0,
            due: [0; MOST_DUE],
            shots: SmallShots::default(),
        }
    }

    /// What kernels know of the cell to begin with.
    pub(super) fn frame(&self) -> Frame {
        self.region.frame(self.radius, self.cutoff)
    }
}

/// What is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Variant {
    pub(in super::super) form: Form,
    pub(in super::super) images: bool,
    pub(in super::super) triclinic: bool,
    pub(in super::super) exclusions: bool,
    /// Lists are kept in shared memory.
    pub(in super::super) staged: bool,
    /// Positions are read through the first cache.
    pub(in super::super) cached: bool,
    /// Steps may need sums over all particles.
    pub(in super::super) split: bool,
    /// Groups of particles, see [`Rules`].
    pub(in super::super) groups: usize,
    /// A barostat changes the cell.
    pub(in super::super) moving: bool,
    /// Bonded terms.
    pub(in super::super) bonded: usize,
}

impl Variant {
    /// Whether lower halves are published: for pairs of double precision and for bonded terms.
    pub(super) fn fine(&self, terms: &Terms) -> bool {
        terms.precision == Precision::Double || terms.precision == Precision::Mixed && self.bonded > 0
    }

    /// Numbers that a block sums when it evaluates: energies, virial, for every group Σ m v⊗v and Σ m v, and entries.
    pub(super) fn columns(&self, terms: &Terms) -> usize {
        terms.count + self.bonded + VIRIAL_SUMS + GROUP_SUMS * self.groups + 1
    }

    /// Numbers of sums over all particles, if steps need them.
    fn sums(&self, particles: usize) -> usize {
        let together = (WARP / self.form.lanes) as usize;
        usize::from(self.split) * (4 * self.groups + 7) * particles.div_ceil(together)
    }

    /// Bytes of shared memory for lists.
    pub(super) fn shared(&self, capacity: u32) -> u64 {
        let lists = u64::from(self.form.rounds) * u64::from(self.form.threads / self.form.lanes);
        4 * u64::from(self.staged) * lists * u64::from(capacity)
    }

    pub(in super::super) fn source(&self, terms: &Terms, links: Option<&LinkTables>) -> ModuleSource {
        // Quotients and roots to 2 ulp, as the pair functions of single precision are on the CPU.
        let source =
            crate::engines::cuda::kernels::source("small.cu", include_str!("../../kernels/small.cu"))
                .define("PRECISION", terms.precision as u32)
                .define("LANES", self.form.lanes)
                .define("THREADS", self.form.threads)
                .define("ROUNDS", self.form.rounds)
                .define("IMAGES", u32::from(self.images))
                .define("TRICLINIC", u32::from(self.triclinic))
                .define("EXCLUSIONS", u32::from(self.exclusions))
                .define("STAGED", u32::from(self.staged))
                .define("CACHED", u32::from(self.cached))
                .define("LANGEVIN", u32::from(terms.langevin))
                .define("SPLIT", u32::from(self.split))
                .define("GROUPS_OF", self.groups)
                .define("MOVING", u32::from(self.moving))
                .define("BONDED", u32::from(links.is_some()))
                .define("FINE", u32::from(self.fine(terms)))
                .define("COLUMNS", self.columns(terms))
                .include("pair_terms.cuh", &terms.text)
                .option("--prec-div=false")
                .option("--prec-sqrt=false");
        match links {
            Some(links) => source.include("bonded_terms.cuh", &links.text),
            None => source,
        }
    }
}

type OnWorld = Kernel<(Addresses<SmallWorld>, SmallSetup)>;

/// The kernels of one variant.
pub(super) struct Kernels {
    pub(super) steps: OnWorld,
    pub(super) evaluate: OnWorld,
    pub(super) shots: OnWorld,
}

impl Kernels {
    pub(super) fn new(
        device: &Device,
        variant: &Variant,
        terms: &Terms,
        links: Option<&LinkTables>,
    ) -> Result<Self, CudaError> {
        let module = device.module(&variant.source(terms, links))?;
        Ok(Self {
            steps: module.kernel("debye_small_steps")?,
            evaluate: module.kernel("debye_small_evaluate")?,
            shots: module.kernel("debye_small_shots")?,
        })
    }
}

/// Threads of a block that evaluates.
pub(in super::super) const EVALUATE: u32 = 256;

/// The memory of a small system.
pub(super) struct Arrays {
    pub(super) control: Buffer<SmallControl>,
    meetings: Buffer<u64>,
    pub(super) pos: Buffer<u32>,
    pub(super) low: Buffer<u32>,
    pub(super) velocities: Buffer<u32>,
    pub(super) images: Buffer<i32>,
    pub(super) reference: Buffer<u32>,
    pub(super) lists: Buffer<u32>,
    counts: Buffer<u32>,
    pub(super) forces: Buffer<f64>,
    pub(super) partial: Buffer<f64>,
    sums: Buffer<f64>,
    /// Now, and when the lists were made.
    pub(super) frames: Buffer<Frame>,
    pub(super) thermostats: Buffer<ScalingThermostat>,
    ensemble: Buffer<Ensemble>,
    excluded_starts: Buffer<u32>,
    excluded: Buffer<u32>,
    parameters: Buffer<u32>,
    tables: Buffer<u32>,
    kinds: Buffer<Kind>,
    links: Option<LinkArrays>,
}

/// Tables of bonded terms.
struct LinkArrays {
    starts: Buffer<u32>,
    links: Buffer<u32>,
    rows: Buffer<f64>,
    tables: Buffer<f64>,
}

impl LinkArrays {
    fn new(device: &Device, made: &LinkTables) -> Result<Self, CudaError> {
        Ok(Self {
            starts: device.upload(&made.starts)?,
            links: device.upload(made.links.as_flattened())?,
            rows: device.upload(made.rows.as_flattened())?,
            tables: device.upload(&made.tables)?,
        })
    }
}

/// What decides how much memory there is.
#[derive(Clone, Copy)]
pub(super) struct Extents<'a> {
    pub(super) variant: &'a Variant,
    pub(super) terms: &'a Terms,
    pub(super) links: Option<&'a LinkTables>,
    /// Where the partners of each particle that are left out begin, and these.
    pub(super) excluded: [&'a [u32]; 2],
    pub(super) capacity: u32,
}

/// The device memory that [`Arrays`] will take.
pub(super) fn needs(extents: Extents<'_>) -> Needs {
    let Extents {
        variant,
        terms,
        links,
        excluded,
        capacity,
    } = extents;
    let n = terms.kind_of.len();
    let excluded = size_of_val(excluded[0]) + size_of_val(excluded[1]);
    let each = if terms.precision == Precision::Double {
        8
    } else {
        4
    };
    let parameters = each * (terms.parameters.len() + terms.tables.len())
        + size_of::<Kind>() * terms.kinds.len()
        + excluded
        + size_of::<SmallControl>()
        + size_of::<Ensemble>()
        + 2 * size_of::<Frame>()
        + variant.groups * size_of::<ScalingThermostat>()
        + links.map_or(0, |links| links.needs().0)
        + 4 * 8;
    let sums = evaluating_blocks(n, &variant.form) * variant.columns(terms) + variant.sums(n);
    Needs(vec![
        // Two halves of positions, images, the list's positions, forces; lower halves and velocities.
        (
            "particles",
            n * (2 * 16 + 12 + 16 + 24) + 4 * (low_words(variant, terms) + velocity_words(terms)),
        ),
        ("lists", 4 * n * (capacity as usize + 1)),
        ("sums", 8 * sums),
        ("parameters", parameters),
    ])
}

/// Words of lower halves: two of everything where all see them, none where there are none.
fn low_words(variant: &Variant, terms: &Terms) -> usize {
    let halves = if variant.fine(terms) { 2 } else { 1 };
    halves * low_words_of_half(variant, terms)
}

pub(super) fn low_words_of_half(variant: &Variant, terms: &Terms) -> usize {
    let each = match terms.precision {
        Precision::Single => 0,
        _ if variant.fine(terms) => 4,
        _ => 3,
    };
    each * terms.kind_of.len()
}

pub(super) fn velocity_words(terms: &Terms) -> usize {
    let single = terms.precision == Precision::Single;
    (if single { 3 } else { 6 }) * terms.kind_of.len()
}

pub(super) fn evaluating_blocks(particles: usize, form: &Form) -> usize {
    (particles * form.lanes as usize).div_ceil(EVALUATE as usize)
}

impl Arrays {
    pub(super) fn new(
        device: &Device,
        extents: Extents<'_>,
        rules: &Rules,
        frame: Frame,
    ) -> Result<Self, CudaError> {
        let (variant, terms, links) = (extents.variant, extents.terms, extents.links);
        let [starts, partners] = extents.excluded;
        let n = terms.kind_of.len();
        let blocks = evaluating_blocks(n, &variant.form);
        // Kernels take no empty arrays.
        let thermostats = [&rules.thermostats[..], &[ScalingThermostat::default()]].concat();
        let double = terms.precision == Precision::Double;
        Ok(Self {
            control: device.zeros(1)?,
            meetings: device.zeros(4)?,
            pos: device.zeros(8 * n)?,
            low: device.zeros(low_words(variant, terms))?,
            velocities: device.zeros(velocity_words(terms))?,
            images: device.zeros(3 * n)?,
            reference: device.zeros(4 * n)?,
            lists: device.allocate(n * extents.capacity as usize)?,
            counts: device.zeros(n)?,
            forces: device.zeros(3 * n)?,
            partial: device.zeros(blocks * variant.columns(terms))?,
            sums: device.zeros(variant.sums(n))?,
            frames: device.upload(&[frame; 2])?,
            thermostats: device.upload(&thermostats)?,
            ensemble: device.upload(&[rules.ensemble])?,
            excluded_starts: device.upload(starts)?,
            excluded: device.upload(partners)?,
            parameters: device.upload(&words(&terms.parameters, double))?,
            tables: device.upload(&words(&terms.tables, double))?,
            kinds: device.upload(&terms.kinds)?,
            links: links.map(|made| LinkArrays::new(device, made)).transpose()?,
        })
    }

    /// Where everything lies; snapshots of a launch and the sums of their warps too, once there is room for them.
    pub(super) fn world(&self, shots: Option<(&Buffer<u64>, &Buffer<f64>)>) -> Bundle<SmallWorld> {
        let mut at = Binder::default();
        let world = SmallWorld {
            control: at.address(&self.control),
            meetings: at.address(&self.meetings),
            pos: at.address(&self.pos),
            low: at.address(&self.low),
            velocities: at.address(&self.velocities),
            images: at.address(&self.images),
            reference: at.address(&self.reference),
            lists: at.address(&self.lists),
            counts: at.address(&self.counts),
            forces: at.address(&self.forces),
            partial: at.address(&self.partial),
            sums: at.address(&self.sums),
            frames: at.address(&self.frames),
            thermostats: at.address(&self.thermostats),
            ensemble: at.address(&self.ensemble),
            excluded_starts: at.address(&self.excluded_starts),
            excluded: at.address(&self.excluded),
            parameters: at.address(&self.parameters),
            tables: at.address(&self.tables),
            kinds: at.address(&self.kinds),
            shots: shots.map_or(Address::default(), |(shots, _)| at.address(shots)),
            shot_sums: shots.map_or(Address::default(), |(_, sums)| at.address(sums)),
            links: self.links.as_ref().map_or(Links::default(), |l| Links {
                starts: at.address(&l.starts),
                links: at.address(&l.links),
                rows: at.address(&l.rows),
                tables: at.address(&l.tables),
                ..Links::default()
            }),
        };
        at.bundle(world)
    }
}
