//! [`PairCounting`]: pairs counted by their distance where the particles are.

use debye_gpu::{
    Address, Addresses, Binder, Buffer, Bundle, ConstAddress, CudaError, Device, Header, Kernel,
    ModuleSource, Shape, Slice, Stream, constants,
};

use super::frame::{Frame, Region};
use super::layout::WARP;
use super::shared::Uint4;
use crate::engines::cuda::mesh::EMPTY_SLOT;
use crate::engines::{EngineError, PairCounts, PairHistogram};

/// Threads of a block that gathers: a warp for every lane.
const GATHERED: usize = WARP * WARP;
/// Threads of a block that counts.
const COUNTING: usize = 256;
/// Items that each warp of a block counts, in the mean, before the block adds to the counts of all: few enough for 32 bits.
const ROUND: usize = 4096;
/// Items for each warp of a device, where there are so many.
const ITEMS: usize = 2;
/// Histograms that particles have bits for.
const MOST: usize = 16;
const SET_BITS: usize = 2;
/// Shared memory of a block beside its counts.
const BESIDE: u64 = 8192;

debye_gpu::device_struct! {
    /// Where particles are, what is counted of them, and room for it.
    struct Counted {
        /// Two halves, by a word.
        pos: ConstAddress<Uint4>,
        parity: ConstAddress<u32>,
        /// None in single precision.
        low: ConstAddress<u32>,
        low_half: ConstAddress<u32>,
        /// None where slots are in the order of the input.
        ids: ConstAddress<u32>,
        side: ConstAddress<u32>,
        /// Blocks in use; none where all are.
        blocks: ConstAddress<u32>,
        frame: ConstAddress<Frame>,
        /// Two bits of each particle for every histogram: 1 the first of the pair, 2 the second.
        sets: ConstAddress<u32>,
        /// Upper and lower halves of those that are counted, and a box for 32 of them.
        chosen: Address<Uint4>,
        fine: Address<Uint4>,
        boxes: Address<CountBox>,
        counts: Address<u64>,
    }

    /// A histogram.
    struct Counting {
        /// Intervals to a length, and the largest distance.
        scale: f64,
        reach: f64,
        slots: u32,
        /// Slots of a block.
        block: u32,
        /// How lower halves lie: words of a half, from slot to slot, and from axis to axis.
        low_words: u32,
        low_stride: u32,
        low_axis: u32,
        /// A bit for every axis that ends.
        open: u32,
        right_angled: u32,
        /// Of the bits of a particle.
        shift: u32,
        /// What the sets of a pair differ by.
        differ: u32,
        bins: u32,
        /// Where its counts begin.
        first: u32,
        /// Groups that a warp looks at for an item.
        chunk: u32,
        /// Bytes from a configuration to the next, and a bit for each that is counted.
        stride: u64,
        those: u32,
        /// Whether counts are of an earlier time until they are gathered for.
        clears: u32,
        /// Blocks of a configuration that gather, and that count.
        gathered: u32,
        counted: u32,
    }

    /// Up to 32 particles, in upper halves of coordinates.
    struct CountBox {
        members: u32,
        middle: [u32; 3],
        half: [f32; 3],
    }
}

/// The module of the kernels.
pub(super) fn source() -> ModuleSource {
    let shared = Header::new(&["prelude.cuh"])
        .constants(&constants![GATHERED, COUNTING, ROUND, EMPTY_SLOT])
        .define::<Frame>()
        .define::<CountBox>()
        .define::<Counted>()
        .define::<Counting>();
    ModuleSource::new("count.cu", include_str!("../kernels/count.cu"))
        .include("count_shared.cuh", &shared.text())
}

/// Where a layout has its particles.
pub(super) struct Slots {
    pub(super) at: Binder,
    pub(super) pos: ConstAddress<Uint4>,
    pub(super) parity: ConstAddress<u32>,
    pub(super) low: ConstAddress<u32>,
    pub(super) low_half: ConstAddress<u32>,
    pub(super) ids: ConstAddress<u32>,
    pub(super) side: ConstAddress<u32>,
    pub(super) blocks: ConstAddress<u32>,
    pub(super) frame: ConstAddress<Frame>,
    pub(super) slots: usize,
    pub(super) block: usize,
    /// Words of a half of the lower halves, from slot to slot, and from axis to axis.
    pub(super) low_words: [usize; 3],
}

/// Configurations that lie side by side.
#[derive(Clone, Copy)]
pub(super) struct Several {
    /// Which of the places that are bound.
    pub(super) room: usize,
    /// A bit for each of them.
    pub(super) those: u32,
    /// Bytes from one to the next.
    pub(super) stride: usize,
}

/// Histograms that are counted on a device.
pub(super) struct PairCounting {
    gather: Kernel<(Addresses<Counted>, Counting)>,
    count: Kernel<(Addresses<Counted>, Counting)>,
    /// Where the device counts them; `None` for those of others.
    histograms: Vec<Option<Histogram>>,
    sets: Buffer<u32>,
    counts: Buffer<u64>,
    room: Option<Room>,
    /// For configurations that lie side by side.
    several: Vec<Room>,
}

struct Histogram {
    of: PairHistogram,
    /// Where its counts begin.
    first: usize,
    blocks: u32,
}

/// What follows from the layout.
struct Room {
    world: Bundle<Counted>,
    slots: usize,
    block: usize,
    low_words: [usize; 3],
    blocks: usize,
    /// Configurations that there is room for.
    most: usize,
}

impl PairCounting {
    /// For those of these that fit the cell and the device, the first sixteen at most; the species of every particle.
    /// `None` where there are none.
    pub(super) fn new(
        device: &Device,
        of: &[PairHistogram],
        species: &[u32],
        region: &Region,
    ) -> Result<Option<Self>, EngineError> {
        let bytes_of = |of: &PairHistogram| u32::try_from(size_of::<u32>() * of.bins).unwrap_or(u32::MAX);
        let has_room = |of: &PairHistogram| {
            u64::from(bytes_of(of)) + BESIDE <= u64::from(device.info().shared_per_block)
        };
        let able = |of: &PairHistogram| has_room(of) && fits(of, region);
        if !of.iter().take(MOST).any(able) {
            return Ok(None);
        }
        let module = device.module(&source())?;
        let count: Kernel<_> = module.kernel("debye_count_pairs")?;
        let mut sets = vec![0; species.len()];
        let (mut histograms, mut bins) = (Vec::new(), 0);
        for (number, &of) in of.iter().enumerate() {
            if number >= MOST || !able(&of) {
                histograms.push(None);
                continue;
            }
            for (set, &species) in sets.iter_mut().zip(species) {
                *set |= of.place(species).map_or(0, |place| 1 + place) << (SET_BITS * number);
            }
            histograms.push(Some(Histogram {
                of,
                first: bins,
                blocks: count.resident_blocks(COUNTING as u32, bytes_of(&of))?.max(1),
            }));
            bins += of.bins;
        }
        Ok(Some(Self {
            gather: module.kernel("debye_count_gather")?,
            count,
            histograms,
            sets: device.upload(&sets)?,
            counts: device.zeros(bins)?,
            room: None,
            several: Vec::new(),
        }))
    }

    /// A bit for each that is counted here.
    pub(super) fn bits(&self) -> u32 {
        let bit = |(number, h): (usize, &Option<Histogram>)| u32::from(h.is_some()) << number;
        self.histograms.iter().enumerate().take(MOST).map(bit).sum()
    }

    /// Where all counts come to lie.
    pub(super) fn counts(&self) -> Slice<'_, u64> {
        self.counts.all()
    }

    /// Bytes of device memory.
    pub(super) fn bytes(&self) -> usize {
        let of_block = GATHERED * 2 * size_of::<[u32; 4]>() + WARP * size_of::<CountBox>();
        let rooms = self.room.iter().chain(&self.several);
        let blocks: usize = rooms.map(|room| room.most * room.blocks).sum();
        size_of::<u32>() * self.sets.len() + size_of::<u64>() * self.counts.len() + blocks * of_block
    }

    /// Gives memory back before the particles come to lie elsewhere.
    pub(super) fn unbind(&mut self) {
        self.room = None;
    }

    /// For particles that lie elsewhere now.
    pub(super) fn bind(&mut self, device: &Device, slots: Slots) -> Result<(), CudaError> {
        self.unbind();
        let counts = self.counts.all();
        self.room = Some(self.room_for(device, slots, 1, |at| at.part(counts))?);
        Ok(())
    }

    /// For up to so many configurations side by side, in each of these places, with their counts so many bytes into
    /// an array.
    pub(super) fn bind_several<const N: usize>(
        &mut self,
        device: &Device,
        most: usize,
        places: [(Slots, &Buffer<u64>, usize); N],
    ) -> Result<(), CudaError> {
        self.several.clear();
        for (slots, memory, counts) in places {
            let room = self.room_for(device, slots, most, |at| at.field(memory, counts))?;
            self.several.push(room);
        }
        Ok(())
    }

    /// How many numbers all counts are.
    pub(super) fn numbers(&self) -> usize {
        self.counts.len()
    }

    fn room_for(
        &self,
        device: &Device,
        slots: Slots,
        most: usize,
        counts: impl FnOnce(&mut Binder) -> Address<u64>,
    ) -> Result<Room, CudaError> {
        let blocks = slots.slots.div_ceil(GATHERED);
        let all = most * blocks;
        let chosen: Buffer<u32> = device.allocate(4 * all * GATHERED)?;
        let fine: Buffer<u32> = device.allocate(4 * all * GATHERED)?;
        let boxes: Buffer<CountBox> = device.allocate(all * WARP)?;
        let mut at = slots.at;
        let world = Counted {
            pos: slots.pos,
            parity: slots.parity,
            low: slots.low,
            low_half: slots.low_half,
            ids: slots.ids,
            side: slots.side,
            blocks: slots.blocks,
            frame: slots.frame,
            sets: at.address(&self.sets),
            chosen: at.address_as(&chosen),
            fine: at.address_as(&fine),
            boxes: at.address(&boxes),
            counts: counts(&mut at),
        };
        Ok(Room {
            world: at.bundle(world),
            slots: slots.slots,
            block: slots.block,
            low_words: slots.low_words,
            blocks,
            most,
        })
    }

    /// Queues the counting of those with a bit.
    pub(super) fn queue(&mut self, stream: &Stream, which: u32, region: &Region) -> Result<(), EngineError> {
        stream.fill(self.counts.all_mut(), 0)?;
        self.queue_in(stream, self.room.as_ref(), which, region, (1, 0, false))
    }

    /// The same for configurations that lie side by side.
    pub(super) fn queue_several(
        &self,
        stream: &Stream,
        several: Several,
        which: u32,
        region: &Region,
    ) -> Result<(), EngineError> {
        let Several { room, those, stride } = several;
        self.queue_in(
            stream,
            self.several.get(room),
            which,
            region,
            (those, stride, true),
        )
    }

    fn queue_in(
        &self,
        stream: &Stream,
        room: Option<&Room>,
        which: u32,
        region: &Region,
        (those, stride, clears): (u32, usize, bool),
    ) -> Result<(), EngineError> {
        let Some(room) = room else {
            return Err(EngineError::Device(
                "pairs cannot be counted before particles are there".into(),
            ));
        };
        let number_of = those.count_ones();
        let groups = room.blocks * WARP;
        for (number, histogram) in self.histograms.iter().enumerate() {
            let Some(Histogram { of, first, blocks }) =
                histogram.as_ref().filter(|_| which >> number & 1 != 0)
            else {
                continue;
            };
            let counted = blocks.div_ceil(number_of);
            let warps = ITEMS * counted as usize * COUNTING / WARP;
            let [low_words, low_stride, low_axis] = room.low_words.map(|n| n as u32);
            let counting = Counting {
                scale: of.bins as f64 / of.reach,
                reach: of.reach,
                slots: room.slots as u32,
                block: room.block as u32,
                low_words,
                low_stride,
                low_axis,
                open: region.open(),
                right_angled: u32::from(region.cell.is_orthorhombic()),
                shift: (SET_BITS * number) as u32,
                differ: if of.is_mixed() { 3 } else { 0 },
                bins: of.bins as u32,
                first: *first as u32,
                chunk: (groups * groups / 2 / warps).clamp(1, WARP) as u32,
                stride: stride as u64,
                those,
                clears: u32::from(clears),
                gathered: room.blocks as u32,
                counted,
            };
            let gather = Shape::new(number_of * room.blocks as u32, GATHERED as u32);
            self.gather.launch(stream, gather, (&room.world, counting))?;
            let shape =
                Shape::new(number_of * counted, COUNTING as u32).shared((size_of::<u32>() * of.bins) as u32);
            self.count.launch(stream, shape, (&room.world, counting))?;
        }
        Ok(())
    }

    /// The counts of those with a bit; `None` where the cell became too small for one of them.
    pub(super) fn read(&self, counts: &[u64], which: u32, region: &Region) -> Option<PairCounts> {
        let of = |(number, histogram): (usize, &Option<Histogram>)| match histogram {
            Some(h) if which >> number & 1 != 0 => {
                fits(&h.of, region).then(|| counts[h.first..h.first + h.of.bins].to_vec())
            }
            _ => Some(Vec::new()),
        };
        self.histograms.iter().enumerate().map(of).collect()
    }
}

/// Whether no particle is within reach of two images of another.
fn fits(of: &PairHistogram, region: &Region) -> bool {
    let (heights, periodic) = (region.cell.heights(), region.cell.periodic());
    (0..3).all(|k| !periodic[k] || 2.0 * of.reach <= heights[k] * (1.0 + 1e-12))
}
