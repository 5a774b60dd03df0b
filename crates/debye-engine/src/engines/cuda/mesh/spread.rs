//! [`Spread`]: charges spread over a mesh; [`Fixed`]: the whole numbers that are summed.

use debye_gpu::{Addresses, Buffer, CudaError, Device, Kernel, ModuleSource, Mut, Shape, Stream};

use super::bricks::{Bricks, Entered, MeshLists, Notes};
use super::shape::{MeshNumber, MeshParticles, MeshShape, Particles, Word};
use super::tiling::Tiling;

/// Sums at the points of a mesh are whole numbers of 2^−bits: 32 bits of them for `f32`, 64 for `f64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// Binary places.
    pub bits: i32,
}

impl Fixed {
    /// As many places as charges of these sizes, spread evenly but for chance, leave room for.
    ///
    /// `f64`: all charges at one point fit, so nothing can go wrong. `f32`: the kernels bound the charge near every
    /// point in every step ([`Notes::range`]), and [`Fixed::holds`] says whether the sums are right. `overlap`: so many
    /// blocks may add to a point, each of which bounds its own part.
    pub fn choose<M: MeshNumber>(
        shape: &MeshShape,
        overlap: f64,
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
        let near = f64::from(2 * shape.box_edge()).powi(3).min(shape.points() as f64);
        let spread = (2.0 * total * near / shape.points() as f64).max(4.0 * most);
        Self::within(31, (spread * weight * overlap).max(f64::MIN_POSITIVE), 28)
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

/// A kernel that spreads charges from lists of bricks, a block for each, and what the host must know of it.
#[derive(Clone, Debug)]
pub struct SpreadKernel {
    /// The module that it is in.
    pub source: ModuleSource,
    /// Its name.
    pub name: &'static str,
    /// Another kernel, where blocks add whole numbers to points that they share: it makes numbers of the mesh of them.
    pub convert: Option<&'static str>,
    /// Which bricks it looks for a particle in.
    pub entered: Entered,
    /// How the mesh is cut.
    pub tiling: Tiling,
    /// Bytes of shared memory of a block.
    pub shared: u32,
}

impl SpreadKernel {
    /// The owners of points: a block owns a brick of points, and a thread takes a particle that touches it.
    pub fn owner<M: MeshNumber>(shape: &MeshShape, tiling: Tiling) -> Self {
        let shared = shared_bytes::<M>(shape, tiling);
        let text = include_str!("../kernels/spread.cu");
        Self {
            source: Self::source::<M>(shape, "spread.cu", text, tiling, shared),
            name: "debye_mesh_owner",
            convert: None,
            entered: Entered::Touched,
            tiling,
            shared,
        }
    }

    /// The module of a kernel that spreads, from its file.
    pub fn source<M: MeshNumber>(
        shape: &MeshShape,
        name: &str,
        text: &str,
        tiling: Tiling,
        shared: u32,
    ) -> ModuleSource {
        shape
            .source::<M>(name, text, tiling.edges)
            .define("THREADS", tiling.threads)
            .define("RESIDENT", tiling.resident)
            .define("SHARED_BYTES", shared)
    }
}

/// Bytes of shared memory of a block that owns points.
pub(super) fn shared_bytes<M: MeshNumber>(shape: &MeshShape, tiling: Tiling) -> u32 {
    let (points, edge, e) = (shape.basis.points() as u32, shape.box_edge(), tiling.edges);
    let before = (points - 1).next_multiple_of(4);
    let boxes: u32 = e.iter().map(|e| (e + edge).div_ceil(edge)).product();
    tile_bytes([e[0], e[1], before + e[2] + points - 1], size_of::<M>() as u32) + 4 * (boxes + 1)
}

/// Spreads charges over a mesh; owns the lists it works from.
///
/// All kernels give the same bits, whatever the order of particles.
#[derive(Debug)]
pub struct Spread<M: MeshNumber> {
    shape: MeshShape,
    tiling: Tiling,
    fixed: Fixed,
    bricks: Bricks,
    kernel: OnLists<M>,
    convert: Option<Kernel<(Mut<M>, M)>>,
    shared: u32,
}

/// Words of a row and of a plane in shared memory; as in the kernels.
fn row_words(n: u32) -> u32 {
    n + (12 - n % 8) % 8
}

fn plane_words(rows: u32, row: u32) -> u32 {
    rows * row + (48 - rows * row % 32) % 32
}

/// Bytes of a tile of so many points, rows apart as in the kernels.
pub fn tile_bytes(points: [u32; 3], word: u32) -> u32 {
    points[0] * plane_words(points[1], row_words(points[2])) * word
}

impl<M: MeshNumber> Spread<M> {
    /// Spreads with this kernel; lists have `capacity` places and stay right for `margin` mesh cells. `when`: see
    /// [`Bricks::new`].
    pub fn new(
        device: &Device,
        shape: &MeshShape,
        with: &SpreadKernel,
        fixed: Fixed,
        margin: [u32; 3],
        capacity: u32,
        when: Option<&Word>,
    ) -> Result<Self, CudaError> {
        let SpreadKernel { tiling, shared, .. } = *with;
        tiling.check()?;
        let bricks = Bricks::new::<M>(device, shape, tiling.edges, with.entered, margin, capacity, when)?;
        let module = device.module(&with.source)?;
        let kernel: OnLists<M> = module.kernel(with.name)?;
        if kernel.resident_blocks(tiling.threads, shared)? == 0 {
            let reason = format!("{shared} bytes of shared memory do not fit");
            return Err(CudaError::shape(with.name, reason));
        }
        Ok(Self {
            shape: *shape,
            tiling,
            fixed,
            bricks,
            kernel,
            convert: with.convert.map(|name| module.kernel(name)).transpose()?,
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

    /// How it is cut.
    pub fn tiling(&self) -> Tiling {
        self.tiling
    }

    /// Whether lists fitted, no particle strayed and all sums are right, since the notes were last cleared; if not,
    /// makes room so that they will be, and clears the notes: what was captured must be captured anew and done again.
    /// Waits for the stream.
    pub fn grow_if_full(&mut self, device: &Device, stream: &Stream) -> Result<bool, CudaError> {
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
