//! [`Spread`]: charges spread over a mesh; [`Fixed`]: the whole numbers that are summed.

use debye_gpu::{Addresses, Buffer, CudaError, Device, Kernel, ModuleSource, Mut, Shape, Stream};

use crate::forces::pme::Basis;

use super::bricks::{Bricks, Entered, MeshLists, Notes};
use super::design::{Design, Tiling};
use super::shape::{MeshNumber, MeshParticles, MeshShape, Particles, Word};

/// Sums at the points of a mesh are whole numbers of 2^−bits: 32 bits of them for `f32`, 64 for `f64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// Binary places.
    pub bits: i32,
}

/// Edge of the boxes that charges near a point are summed in.
pub(super) fn box_edge(basis: Basis) -> u32 {
    if basis.points() <= 5 { 4 } else { 8 }
}

impl Fixed {
    /// As many places as charges of these sizes, spread evenly but for chance, leave room for.
    ///
    /// `f64`: all charges at one point fit, so nothing can go wrong. `f32`: the kernels bound the charge near every point in
    /// every step ([`Notes::range`]), and [`Fixed::holds`] says whether the sums are right.
    pub fn choose<M: MeshNumber>(
        shape: &MeshShape,
        design: Design,
        charges: impl IntoIterator<Item = f64>,
    ) -> Self {
        let (total, most) = charges.into_iter().fold((0.0_f64, 0.0_f64), |(sum, most), q| {
            (sum + q.abs(), most.max(q.abs()))
        });
        let weight = shape.most_weight().powi(3);
        if M::DOUBLE {
            let bound = (1.001 * total * weight).max(f64::MIN_POSITIVE);
            return Self::within(62, bound, 52);
        }
        let near = f64::from(2 * box_edge(shape.basis))
            .powi(3)
            .min(shape.points() as f64);
        let spread = (2.0 * total * near / shape.points() as f64).max(4.0 * most);
        // Tiles that overlap each bound their own part.
        let times = if design == Design::Halo { 8.0 } else { 1.0 };
        Self::within(31, (spread * weight * times).max(f64::MIN_POSITIVE), 28)
    }

    fn within(width: i32, bound: f64, most: i32) -> Self {
        let bits = f64::from(width) - bound.log2();
        Self {
            bits: (bits.floor() as i32).clamp(-60, most),
        }
    }

    /// The largest sum that fits.
    pub fn range(self) -> f64 {
        2_f64.powi(31 - self.bits)
    }

    /// Whether all sums were right.
    pub fn holds(self, notes: &Notes) -> bool {
        f64::from(notes.range) < self.range()
    }

    /// Fewer places, so that sums fit with room to spare.
    pub fn after(self, notes: &Notes) -> Self {
        let beyond = (f64::from(notes.range) / self.range()).log2().ceil().max(0.0);
        Self {
            bits: self.bits - (beyond as i32).min(64) - 1,
        }
    }

    fn scale<M: MeshNumber>(self) -> M {
        M::rounded(2_f64.powi(self.bits))
    }
}

type OnLists<M> = Kernel<(Addresses<MeshParticles>, Addresses<MeshLists>, Mut<M>, M, u32)>;

/// Spreads charges over a mesh; owns the lists it works from.
///
/// All designs give the same bits, whatever the order of particles.
#[derive(Debug)]
pub struct Spread<M: MeshNumber> {
    shape: MeshShape,
    design: Design,
    tiling: Tiling,
    fixed: Fixed,
    bricks: Bricks,
    kernel: OnLists<M>,
    convert: Option<Kernel<(Mut<M>, M)>>,
    shared: u32,
}

/// The most tiles, or parts of one that is longer than the mesh, that a point lies in.
fn cover(shape: &MeshShape, edges: [u32; 3], margin: [u32; 3]) -> u64 {
    let along = |a: usize| {
        let (size, edge) = (shape.size[a] as usize, edges[a] as usize);
        let mut times = vec![0_u64; size];
        for origin in (0..size).step_by(edge) {
            let begun = edge.min(size - origin) + 2 * margin[a] as usize;
            let first = (origin + size * (1 + margin[a] as usize / size)) - margin[a] as usize;
            for point in first..first + begun + shape.basis.points() - 1 {
                times[point % size] += 1;
            }
        }
        times.into_iter().max().unwrap_or(1)
    };
    along(0) * along(1) * along(2)
}

/// Words of a row and of a plane in shared memory; as in the kernels.
fn row_words(n: u32) -> u32 {
    n + (12 - n % 8) % 8
}

fn plane_words(rows: u32, row: u32) -> u32 {
    rows * row + (48 - rows * row % 32) % 32
}

/// Bytes of a tile of so many points, rows apart as in the kernels.
pub(super) fn tile_bytes(points: [u32; 3], word: u32) -> u32 {
    points[0] * plane_words(points[1], row_words(points[2])) * word
}

/// Bytes of shared memory of a block.
pub(super) fn shared_bytes<M: MeshNumber>(
    shape: &MeshShape,
    design: Design,
    tiling: Tiling,
    margin: [u32; 3],
) -> u32 {
    let (points, e) = (shape.basis.points() as u32, tiling.edges);
    let word = size_of::<M>() as u32;
    let edge = box_edge(shape.basis);
    let boxes = |extra: [u32; 3]| -> u32 { (0..3).map(|a| (e[a] + extra[a]).div_ceil(edge)).product() };
    match design {
        Design::Owner => {
            let before = (points - 1).next_multiple_of(4);
            tile_bytes([e[0], e[1], before + e[2] + points - 1], word) + 4 * (boxes([edge; 3]) + 1)
        }
        Design::Halo => {
            let twice = margin.map(|m| 2 * m);
            let tile = std::array::from_fn(|a| e[a] + points - 1 + twice[a]);
            tile_bytes(tile, word) + 4 * (boxes(twice) + 1)
        }
        Design::Grid => BATCH * (near_bytes(points, word) + 4) + 4 * (boxes([edge; 3]) + 2),
    }
}

/// Particles that are sorted in shared memory at a time.
const BATCH: u32 = 512;

/// Bytes of a particle beside its weights.
fn near_bytes(points: u32, word: u32) -> u32 {
    (12_u32.next_multiple_of(word) + 3 * points * word).next_multiple_of(word)
}

/// The module of a design.
pub(super) fn source<M: MeshNumber>(
    shape: &MeshShape,
    design: Design,
    tiling: Tiling,
    margin: [u32; 3],
) -> ModuleSource {
    let (name, text) = match design {
        Design::Owner => ("spread.cu", include_str!("../kernels/spread.cu")),
        Design::Halo => ("spread_halo.cu", include_str!("../kernels/spread_halo.cu")),
        Design::Grid => ("spread_grid.cu", include_str!("../kernels/spread_grid.cu")),
    };
    let mut module = shape
        .source::<M>(name, text, tiling.edges)
        .define("THREADS", tiling.threads)
        .define("RESIDENT", tiling.resident)
        .define("SHARED_BYTES", shared_bytes::<M>(shape, design, tiling, margin));
    match design {
        Design::Owner => {}
        Design::Halo => {
            for (axis, name) in ["X", "Y", "Z"].into_iter().enumerate() {
                module = module.define(&format!("MARGIN_{name}"), margin[axis]);
            }
            module = module.define("COVER", cover(shape, tiling.edges, margin));
        }
        Design::Grid => module = module.define("BATCH", BATCH),
    }
    module
}

impl<M: MeshNumber> Spread<M> {
    /// Spreads with this design; lists have `capacity` places and stay right for `margin` mesh cells. `when`: see
    /// [`Bricks::new`].
    #[expect(clippy::too_many_arguments, reason = "each is a fact of its own")]
    pub fn new(
        device: &Device,
        shape: &MeshShape,
        design: Design,
        tiling: Tiling,
        fixed: Fixed,
        margin: [u32; 3],
        capacity: u32,
        when: Option<&Word>,
    ) -> Result<Self, CudaError> {
        tiling.check()?;
        let entered = design.entered();
        let bricks = Bricks::new::<M>(device, shape, tiling.edges, entered, margin, capacity, when)?;
        let module = device.module(&source::<M>(shape, design, tiling, margin))?;
        let (name, convert) = match design {
            Design::Owner => ("debye_mesh_owner", None),
            Design::Halo => ("debye_mesh_halo", Some(module.kernel("debye_mesh_convert")?)),
            Design::Grid => ("debye_mesh_grid", None),
        };
        let kernel: OnLists<M> = module.kernel(name)?;
        let shared = shared_bytes::<M>(shape, design, tiling, margin);
        if kernel.resident_blocks(tiling.threads, shared)? == 0 {
            return Err(CudaError::Shape {
                kernel: name.into(),
                reason: format!("{shared} bytes of shared memory do not fit"),
            });
        }
        Ok(Self {
            shape: *shape,
            design,
            tiling,
            fixed,
            bricks,
            kernel,
            convert,
            shared,
        })
    }

    /// Queues the making of lists from where particles are now.
    pub fn list(&self, stream: &Stream, particles: &Particles) -> Result<(), CudaError> {
        particles.check::<M>()?;
        self.bricks.queue(stream, particles, false)
    }

    /// Queues the spreading; sets every point of `mesh`.
    pub fn queue(
        &self,
        stream: &Stream,
        particles: &Particles,
        mesh: &mut Buffer<M>,
    ) -> Result<(), CudaError> {
        self.spread(stream, particles, mesh, false)
    }

    /// Queues both, for lists that are used once. Counts must be clear ([`Bricks::clear`]) and are left so.
    pub fn queue_fresh(
        &self,
        stream: &Stream,
        particles: &Particles,
        mesh: &mut Buffer<M>,
    ) -> Result<(), CudaError> {
        particles.check::<M>()?;
        self.bricks.queue(stream, particles, true)?;
        self.spread(stream, particles, mesh, true)
    }

    fn spread(
        &self,
        stream: &Stream,
        particles: &Particles,
        mesh: &mut Buffer<M>,
        once: bool,
    ) -> Result<(), CudaError> {
        particles.check::<M>()?;
        CudaError::check_length("mesh", mesh.len(), self.shape.points())?;
        let scale: M = self.fixed.scale();
        if self.convert.is_some() {
            stream.fill(mesh.all_mut(), 0)?;
        }
        let blocks = Shape::new(self.bricks.number() as u32, self.tiling.threads).shared(self.shared);
        let given = (
            &particles.bundle,
            self.bricks.at(),
            mesh.all_mut(),
            scale,
            u32::from(once),
        );
        self.kernel.launch(stream, blocks, given)?;
        let Some(convert) = &self.convert else {
            return Ok(());
        };
        let points = self.shape.points();
        let items = if points.is_multiple_of(4) && !M::DOUBLE {
            points / 4
        } else {
            points
        };
        convert.launch(stream, Shape::covering(items, 256), (mesh.all_mut(), scale))
    }

    /// The lists.
    pub fn bricks(&self) -> &Bricks {
        &self.bricks
    }

    /// The lists, to make room in them.
    pub fn bricks_mut(&mut self) -> &mut Bricks {
        &mut self.bricks
    }

    /// The whole numbers that are summed.
    pub fn fixed(&self) -> Fixed {
        self.fixed
    }

    /// Sums other whole numbers. Graphs that spread must be captured anew.
    pub fn set_fixed(&mut self, fixed: Fixed) {
        self.fixed = fixed;
    }

    /// The design.
    pub fn design(&self) -> Design {
        self.design
    }

    /// How it is cut.
    pub fn tiling(&self) -> Tiling {
        self.tiling
    }

    /// Whether lists fitted, no particle strayed and all sums are right, since the notes were last cleared; if not, makes
    /// room so that they will be, and clears the notes: what was captured must be captured anew and done again. Waits for
    /// the stream.
    pub fn settle(&mut self, device: &Device, stream: &Stream) -> Result<bool, CudaError> {
        let notes = self.bricks.notes(stream)?;
        let mut right = !notes.strayed;
        if let Some(needed) = notes.listed {
            self.bricks.grow(device, needed + needed / 8)?;
            right = false;
        }
        if !M::DOUBLE && !self.fixed.holds(&notes) {
            self.fixed = self.fixed.after(&notes);
            right = false;
        }
        self.bricks.forget(stream)?;
        Ok(right)
    }
}

impl Design {
    /// How particles are listed for it.
    pub fn entered(self) -> Entered {
        match self {
            Self::Owner | Self::Grid => Entered::Touched,
            Self::Halo => Entered::Begun,
        }
    }
}
