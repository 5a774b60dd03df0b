//! Static bins with ghost slots (section III B): [`HostBins`] in the processor's memory, [`DeviceBins`] in a device's.
//!
//! The paper declares bins of a fixed size "to address the worst case" and bounds that by the density of a system. A
//! density bounds no bin, so what does not fit is counted here, and the bins are made again with as many slots as needed.

use debye_gpu::{
    Buffer, Const, CudaError, Device, Header, Kernel, ModuleSource, Mut, Shape, Stream, constants,
};

use super::input::{Sites, bin};

/// Threads of a block.
pub(super) const MAP_THREADS: usize = 128;
/// The most memory that bins are given.
const MOST_BYTES: usize = 4 << 30;

/// Slots for so many particles in a bin on average: what chance alone hardly exceeds, in fours.
pub(super) fn slots_for(mean: f64) -> usize {
    ((mean + 6.0 * mean.sqrt() + 4.0).ceil() as usize).next_multiple_of(4)
}

/// Slots where a bin needs so many. Few different numbers are compiled for.
fn enlarged(needed: usize) -> usize {
    needed.next_multiple_of(16)
}

/// Slots of the first try, and of the one that holds all.
pub(super) fn slots(sites: &Sites) -> [usize; 2] {
    let first = slots_for(sites.particles().len() as f64 / sites.points() as f64);
    let fits = sites.crowd() <= first;
    [first, if fits { first } else { enlarged(sites.crowd()) }]
}

/// Why bins of so many slots are not made.
pub(super) fn too_large(sites: &Sites, slots: usize) -> Option<String> {
    let bytes = sites.points() * (1 + 4 * slots) * 4;
    (bytes > MOST_BYTES).then(|| {
        format!(
            "a bin holds {} particles, and bins of {slots} slots would take {:.1} GB",
            sites.crowd(),
            bytes as f64 * 1e-9
        )
    })
}

/// Bins on the processor.
pub struct HostBins {
    size: [usize; 3],
    slots: usize,
    counters: Vec<u32>,
    particles: Vec<[f32; 4]>,
}

impl HostBins {
    /// In one pass; in further ones where bins overflow, which have twice as many slots then.
    pub fn new(size: [usize; 3], particles: &[[f32; 4]]) -> Self {
        let mut slots = slots_for(particles.len() as f64 / size.iter().product::<usize>() as f64);
        loop {
            if let Some(bins) = Self::fill(size, particles, slots) {
                return bins;
            }
            slots *= 2;
        }
    }

    /// None if a bin overflows.
    fn fill(size: [usize; 3], particles: &[[f32; 4]], slots: usize) -> Option<Self> {
        let number = size.iter().product();
        let mut bins = Self {
            size,
            slots,
            counters: vec![0; number],
            particles: vec![[0.0; 4]; number * slots],
        };
        for particle in particles {
            let at = bin(bins.size, particle);
            let counter = &mut bins.counters[at];
            if *counter as usize == slots {
                return None;
            }
            bins.particles[at * slots + *counter as usize] = *particle;
            *counter += 1;
        }
        Some(bins)
    }

    /// Points along x, y, z.
    pub fn size(&self) -> [usize; 3] {
        self.size
    }

    /// How many there are.
    pub fn number(&self) -> usize {
        self.counters.len()
    }

    /// Slots of each.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// The number and the particles of every bin, ghosts left out.
    pub fn all(&self) -> impl Iterator<Item = (usize, &[[f32; 4]])> {
        let slots = self.particles.chunks_exact(self.slots);
        let bins = slots.zip(&self.counters).enumerate();
        bins.map(|(number, (slots, &counter))| (number, &slots[..counter as usize]))
    }
}

/// How bins lie in a device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// A counter and its slots one after another, read whole.
    Whole,
    /// Equal slots of all bins one after another, and an array of counters: Fig. 4a.
    Interleaved,
    /// The same, with equal coordinates one after another: Fig. 4b.
    Coalesced,
}

debye_gpu::device_struct! {
    /// What the kernels of charge mapping are to do.
    pub(crate) struct MapWork {
        /// Points along x, y, z.
        size: [u32; 3],
        bins: u32,
        pub(super) particles: u32,
        /// Of a bin.
        slots: u32,
    }
}

/// A module of charge mapping. Whole bins have so many slots; others may have any number.
pub(super) fn source(name: &str, text: &str, layout: Layout, slots: usize) -> ModuleSource {
    let shared = Header::new(&["prelude.cuh"])
        .constants(&constants![MAP_THREADS])
        .define::<MapWork>();
    let module = ModuleSource::new(name, text)
        .include("mapping_shared.cuh", &shared.text())
        .include("skeel.cuh", include_str!("../kernels/skeel.cuh"))
        .define("WHOLE", Layout::Whole as u32)
        .define("INTERLEAVED", Layout::Interleaved as u32)
        .define("COALESCED", Layout::Coalesced as u32)
        .define("LAYOUT", layout as u32);
    match layout {
        Layout::Whole => module.define("SLOTS", slots),
        Layout::Interleaved | Layout::Coalesced => module,
    }
}

/// The module of kernels that own particles, and make bins.
pub(super) fn particles_source(layout: Layout, slots: usize) -> ModuleSource {
    let text = include_str!("../kernels/map_particles.cu");
    source("map_particles.cu", text, layout, slots)
}

type Fill = Kernel<(MapWork, Const<f32>, Mut<u32>, Mut<f32>, Mut<u32>)>;

/// Bins on a device.
pub(super) struct DeviceBins {
    kernel: Fill,
    slots: usize,
    layout: Layout,
    pub(super) work: MapWork,
    pub(super) particles: Buffer<f32>,
    pub(super) counters: Buffer<u32>,
    pub(super) words: Buffer<f32>,
    needed: Buffer<u32>,
}

impl DeviceBins {
    /// With as many slots as all particles need.
    pub(super) fn new(device: &Device, sites: &Sites, layout: Layout) -> Result<Self, CudaError> {
        let stream = device.stream()?;
        let mut slots = slots(sites)[0];
        loop {
            let mut bins = Self::with_slots(device, sites, layout, slots)?;
            bins.fill(&stream)?;
            match bins.needed(&stream)? {
                0 => return Ok(bins),
                needed => slots = enlarged(needed),
            }
        }
    }

    pub(super) fn with_slots(
        device: &Device,
        sites: &Sites,
        layout: Layout,
        slots: usize,
    ) -> Result<Self, CudaError> {
        let number = sites.points();
        let words = number * (4 * slots + usize::from(layout == Layout::Whole));
        if words > u32::MAX as usize || number * (4 * slots + 1) * 4 > MOST_BYTES {
            let reason = format!("bins of {slots} slots take more than {} GiB", MOST_BYTES >> 30);
            return Err(CudaError::shape("debye_map_bin", reason));
        }
        let flat = sites.particles().as_flattened();
        Ok(Self {
            kernel: device
                .module(&particles_source(layout, slots))?
                .kernel("debye_map_bin")?,
            slots,
            layout,
            work: MapWork {
                size: sites.size().map(|n| n as u32),
                bins: number as u32,
                particles: sites.particles().len() as u32,
                slots: slots as u32,
            },
            particles: device.upload(flat)?,
            counters: device.zeros(number)?,
            words: device.zeros(words)?,
            needed: device.zeros(1)?,
        })
    }

    /// Queues the making of bins: one pass over the particles. Ghosts are written where they are read, in whole bins.
    pub(super) fn fill(&mut self, stream: &Stream) -> Result<(), CudaError> {
        match self.layout {
            Layout::Whole => stream.fill(self.words.all_mut(), 0)?,
            Layout::Interleaved | Layout::Coalesced => stream.fill(self.counters.all_mut(), 0)?,
        }
        let given = (
            self.work,
            self.particles.all(),
            self.counters.all_mut(),
            self.words.all_mut(),
            self.needed.all_mut(),
        );
        let shape = Shape::covering(self.work.particles as usize, MAP_THREADS as u32);
        self.kernel.launch(stream, shape, given)
    }

    /// Slots that a bin would have to have; 0 if all have been large enough so far.
    pub(super) fn needed(&self, stream: &Stream) -> Result<usize, CudaError> {
        Ok(stream.download(&self.needed)?[0] as usize)
    }

    /// Slots of each.
    pub(super) fn slots(&self) -> usize {
        self.slots
    }
}
