//! [`Bricks`]: lists of the particles that may touch each brick of a mesh.

use debye_gpu::{
    Address, Addresses, Binder, Buffer, Bundle, ConstAddress, CudaError, Device, Kernel, ModuleSource, Shape,
    Stream,
};

use super::gather::GatherCell;
use super::shape::{MeshNumber, MeshParticles, MeshShape, Particles, Word};
use super::solve::MeshCell;

/// Which bricks a particle is entered in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entered {
    /// All that it touches.
    Touched,
    /// The one where its first point is.
    Begun,
}

/// Bits of `MeshNotes::faults`: a particle was further from where it was listed than the margin, a force was too large to
/// be summed.
pub(super) const STRAYED: u32 = 1;
pub(super) const TOO_STRONG: u32 = 2;

debye_gpu::device_struct! {
    /// What the host must know.
    #[derive(Default)]
    pub struct MeshNotes {
        /// The longest list of a brick, if it did not fit.
        listed: u32,
        /// A bound on |Σ q| at a point, as the bits of an `f32`: sums are right if it is within their range.
        range: u32,
        /// [`STRAYED`], [`TOO_STRONG`].
        faults: u32,
        finished: u32,
    }

    /// Where the cell of now is taken from, and for whom. No frame: it does not change.
    #[derive(Default)]
    pub(super) struct MeshChangingCell {
        /// ax by cz bx cx cy.
        frame: ConstAddress<f64>,
        solver: Address<MeshCell>,
        gatherer: Address<GatherCell>,
        /// How far a particle may go before lists are stale.
        reach: f64,
        /// And which fraction of the cell that may be: if it is more, `MeshLists::overflow` is told.
        most: [f64; 3],
    }

    /// The particles that may touch each brick, `capacity` places for each.
    pub(super) struct MeshLists {
        counts: Address<u32>,
        slots: Address<u32>,
        notes: Address<MeshNotes>,
        /// Made anew only if this word is not zero; none: always.
        when: ConstAddress<u32>,
        /// Told when a list does not fit; may be none.
        overflow: Address<u32>,
        /// Three sums that spreading makes ready for gathering; may be none.
        sums: Address<u64>,
        capacity: u32,
        unused: u32,
        changing: MeshChangingCell,
    }

    /// Points below the first and beyond it that a particle may touch.
    pub(super) struct Reach {
        low: [u32; 3],
        high: [u32; 3],
    }
}

/// A cell that changes between steps: spreading tells those who solve and gather.
#[derive(Clone, Debug)]
pub struct ChangingCell {
    /// The cell: six numbers, ax by cz bx cx cy.
    pub frame: Word,
    /// [`super::MeshCell`] of those who solve.
    pub solver: Word,
    /// That of [`super::Gather`].
    pub gatherer: Word,
    /// How far a particle may go before lists are stale, and which fraction of the cell this may be along each axis; if
    /// it is more, who is told of lists that do not fit is told.
    pub reach: f64,
    /// See `reach`.
    pub most: [f64; 3],
}

/// What the kernels have to say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Notes {
    /// The longest list, if it did not fit: there must be room for so many.
    pub listed: Option<u32>,
    /// A bound on the charge at a point, without signs; zero where none is needed.
    pub range: f32,
    /// A particle was further from where it was listed than the margin.
    pub strayed: bool,
    /// A force was too large to be summed.
    pub too_strong: bool,
}

impl Notes {
    pub(super) fn read(stream: &Stream, notes: &Buffer<MeshNotes>) -> Result<Self, CudaError> {
        Ok(Self::of(&stream.download(notes)?))
    }

    /// What was read.
    pub(in super::super) fn of(found: &[MeshNotes]) -> Self {
        let found = found.first().copied().unwrap_or_default();
        Self {
            listed: Some(found.listed).filter(|&n| n > 0),
            range: f32::from_bits(found.range),
            strayed: found.faults & STRAYED != 0,
            too_strong: found.faults & TOO_STRONG != 0,
        }
    }
}

/// Threads of a block that makes lists.
const THREADS: u32 = 512;
/// Bricks that are counted in shared memory.
const MOST_SHARED: u32 = 8192;

/// Lists of the particles that may touch each brick of a mesh, made on the device.
///
/// With a margin, lists stay right until a particle has moved by more than so many mesh cells along an axis since they
/// were made. The order inside a list differs from run to run; what is summed from it are whole numbers, which does
/// not.
#[derive(Debug)]
pub struct Bricks {
    edges: [u32; 3],
    number: usize,
    entered: Entered,
    margin: [u32; 3],
    reach: Reach,
    capacity: u32,
    counts: Buffer<u32>,
    slots: Buffer<u32>,
    notes: Buffer<MeshNotes>,
    bundle: Bundle<MeshLists>,
    when: Option<Word>,
    overflow: Option<Word>,
    sums: Option<Word>,
    changing: Option<ChangingCell>,
    clear: Kernel<(Addresses<MeshLists>,)>,
    make: Kernel<(Addresses<MeshParticles>, Addresses<MeshLists>, Reach)>,
    shared: u32,
}

/// The module that makes lists.
pub(super) fn source<M: MeshNumber>(shape: &MeshShape, edges: [u32; 3]) -> ModuleSource {
    let number: u32 = shape.bricks(edges).iter().product();
    shape
        .source::<M>("bricks.cu", include_str!("../kernels/bricks.cu"), edges)
        .define("THREADS", THREADS)
        .define("DIRECT", u32::from(number > MOST_SHARED))
}

impl Bricks {
    /// Bricks with these edges, `capacity` places in each list.
    ///
    /// If `when` is given, lists are made only while it is not zero: so they can be part of a graph
    /// that makes them when they are stale.
    pub fn new<M: MeshNumber>(
        device: &Device,
        shape: &MeshShape,
        edges: [u32; 3],
        entered: Entered,
        margin: [u32; 3],
        capacity: u32,
        when: Option<&Word>,
    ) -> Result<Self, CudaError> {
        shape.check()?;
        let module = device.module(&source::<M>(shape, edges))?;
        let number: u32 = shape.bricks(edges).iter().product();
        let extra = match entered {
            Entered::Touched => shape.basis.points() as u32 - 1,
            Entered::Begun => 0,
        };
        // A particle is listed where it begins; how far it may move is the tile's affair.
        let low = match entered {
            Entered::Touched => margin,
            Entered::Begun => [0; 3],
        };
        let make: Kernel<(Addresses<MeshParticles>, Addresses<MeshLists>, Reach)> =
            module.kernel("debye_mesh_lists")?;
        let shared = if number > MOST_SHARED { 0 } else { 4 * number };
        make.resident_blocks(THREADS, shared)?;
        let (counts, notes) = (device.zeros(number as usize)?, device.zeros(1)?);
        let slots = device.allocate(number as usize * capacity as usize)?;
        let bundle = bundle(&counts, &slots, &notes, [when, None, None], None, capacity);
        Ok(Self {
            edges,
            number: number as usize,
            entered,
            margin,
            reach: Reach {
                low,
                high: low.map(|m| m + extra),
            },
            capacity,
            bundle,
            counts,
            slots,
            notes,
            when: when.cloned(),
            overflow: None,
            sums: None,
            changing: None,
            clear: module.kernel("debye_mesh_clear")?,
            make,
            shared,
        })
    }

    /// Places that each list should have for so many charges, spread evenly but for chance.
    pub fn capacity_for(
        shape: &MeshShape,
        edges: [u32; 3],
        entered: Entered,
        margin: [u32; 3],
        charges: usize,
    ) -> u32 {
        let per_point = charges as f64 / shape.points() as f64;
        let wide = |a: usize| match entered {
            Entered::Touched => edges[a] + shape.basis.points() as u32 - 1 + 2 * margin[a],
            Entered::Begun => edges[a],
        };
        let cells: f64 = (0..3).map(|a| f64::from(wide(a).min(shape.size[a]))).product();
        let mean = per_point * cells;
        // Matter is denser in places than on average.
        let room = 1.25 * mean + 8.0 * mean.sqrt() + 32.0;
        (room.min(charges as f64).max(1.0) as u32).next_multiple_of(32)
    }

    /// Queues the clearing of counts.
    pub fn clear(&self, stream: &Stream) -> Result<(), CudaError> {
        self.clear
            .launch(stream, Shape::covering(self.number, 256), (&self.bundle,))
    }

    /// Queues the making of lists. `cleared`: the last use left the counts clear (see [`super::Spread::queue_fresh`]).
    pub fn queue(&self, stream: &Stream, particles: &Particles, cleared: bool) -> Result<(), CudaError> {
        if !cleared {
            self.clear(stream)?;
        }
        let shape = Shape::covering(particles.slots.max(1), THREADS).shared(self.shared);
        self.make
            .launch(stream, shape, (&particles.bundle, &self.bundle, self.reach))
    }

    /// Makes room for so many particles in each list. Graphs that use the lists must be captured anew.
    pub fn grow(&mut self, device: &Device, capacity: u32) -> Result<(), CudaError> {
        let capacity = capacity.next_multiple_of(32);
        self.slots = device.allocate(self.number * capacity as usize)?;
        self.capacity = capacity;
        self.bind();
        Ok(())
    }

    /// Sets a word to one when a list does not fit. Graphs that make lists must be captured anew.
    pub fn set_overflow(&mut self, overflow: &Word) {
        self.overflow = Some(overflow.clone());
        self.bind();
    }

    /// Has spreading set three 64-bit sums to zero, which [`super::Gather`] adds to.
    pub fn clear_sums(&mut self, sums: &Word) {
        self.sums = Some(sums.clone());
        self.bind();
    }

    /// Has spreading read a cell that changes.
    pub fn set_changing_cell(&mut self, changing: ChangingCell) {
        self.changing = Some(changing);
        self.bind();
    }

    fn bind(&mut self) {
        let words = [self.when.as_ref(), self.overflow.as_ref(), self.sums.as_ref()];
        let changing = self.changing.as_ref();
        self.bundle = bundle(
            &self.counts,
            &self.slots,
            &self.notes,
            words,
            changing,
            self.capacity,
        );
    }

    /// What was noted since [`Bricks::forget`]; waits for the stream.
    pub fn notes(&self, stream: &Stream) -> Result<Notes, CudaError> {
        Notes::read(stream, &self.notes)
    }

    /// Where they are noted.
    pub(in super::super) fn noted(&self) -> &Buffer<MeshNotes> {
        &self.notes
    }

    /// Clears the notes.
    pub fn forget(&mut self, stream: &Stream) -> Result<(), CudaError> {
        stream.fill(self.notes.all_mut(), 0)
    }

    /// Edges of a brick.
    pub fn edges(&self) -> [u32; 3] {
        self.edges
    }

    /// Which bricks a particle is in.
    pub fn entered(&self) -> Entered {
        self.entered
    }

    /// Mesh cells that a particle may move by.
    pub fn margin(&self) -> [u32; 3] {
        self.margin
    }

    /// Places of a list.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// How many there are.
    pub fn number(&self) -> usize {
        self.number
    }

    /// How many particles are in each; waits for the stream.
    pub fn counts(&self, stream: &Stream) -> Result<Vec<u32>, CudaError> {
        stream.download(&self.counts)
    }

    pub(super) fn at(&self) -> &Bundle<MeshLists> {
        &self.bundle
    }
}

fn bundle(
    counts: &Buffer<u32>,
    slots: &Buffer<u32>,
    notes: &Buffer<MeshNotes>,
    [when, overflow, sums]: [Option<&Word>; 3],
    changing: Option<&ChangingCell>,
    capacity: u32,
) -> Bundle<MeshLists> {
    let mut at = Binder::default();
    let changing = changing.map_or(MeshChangingCell::default(), |to| MeshChangingCell {
        frame: Word::address(Some(&to.frame), &mut at),
        solver: Word::address(Some(&to.solver), &mut at),
        gatherer: Word::address(Some(&to.gatherer), &mut at),
        reach: to.reach,
        most: to.most,
    });
    let addresses = MeshLists {
        counts: at.address(counts),
        slots: at.address(slots),
        notes: at.address(notes),
        when: Word::address(when, &mut at),
        overflow: Word::address(overflow, &mut at),
        sums: Word::address(sums, &mut at),
        capacity,
        unused: 0,
        changing,
    };
    at.bundle(addresses)
}
