//! [`Design`] and [`Tiling`]: ways to spread charges, and which to take.

use std::fmt;

use crate::forces::pme::Basis;
use debye_gpu::{CudaError, Device, ModuleSource, Stream};

use super::bricks::{self, Bricks};
use super::gather::{self, Way};
use super::shape::{MeshNumber, MeshShape, Particles};
use super::speed::median;
use super::spread::{self, Fixed, Spread};

/// Who adds charges to the mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// A block owns a brick of points, and a thread takes a particle that touches it.
    Owner,
    /// A block has the particles of a brick and adds them to all points they touch.
    Halo,
    /// A thread owns points and looks at the particles near them.
    Grid,
}

impl Design {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Owner, Self::Halo, Self::Grid];

    /// What is taken without measuring. Owners of points visit some particles more than once, tiles that overlap are added to
    /// memory: on an H200 the first was faster at 0.1 charges per point, the second at 0.5. [`Spread::fastest`] measures.
    pub fn usual(shape: &MeshShape, charges: usize) -> Self {
        if charges * 4 < shape.points() {
            Self::Owner
        } else {
            Self::Halo
        }
    }
}

impl fmt::Display for Design {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Owner => "owner",
            Self::Halo => "halo",
            Self::Grid => "grid",
        })
    }
}

/// How a mesh is cut: edges of a brick (multiples of four), threads of its block, and blocks on a multiprocessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiling {
    /// Edges.
    pub edges: [u32; 3],
    /// Threads.
    pub threads: u32,
    /// Blocks that registers are limited for.
    pub resident: u32,
}

impl fmt::Display for Tiling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.edges;
        write!(
            f,
            "{x}x{y}x{z}, {} threads, {} blocks",
            self.threads, self.resident
        )
    }
}

impl Tiling {
    /// Edges, threads and blocks.
    pub const fn new(edges: [u32; 3], threads: u32, resident: u32) -> Self {
        Self {
            edges,
            threads,
            resident,
        }
    }

    pub(super) fn check(&self) -> Result<(), CudaError> {
        let edges = self
            .edges
            .iter()
            .all(|&e| e > 0 && e.is_multiple_of(4) && e <= 256);
        if edges
            && self.threads.is_multiple_of(32)
            && (32..=1024).contains(&self.threads)
            && self.resident > 0
        {
            return Ok(());
        }
        Err(CudaError::Shape {
            kernel: "debye_mesh".into(),
            reason: format!(
                "{self}: edges must be multiples of 4 up to 256, threads a multiple of 32 up to 1024"
            ),
        })
    }

    /// What is taken without measuring for so many charges: the first that fits into shared memory, or columns of few points
    /// for the owners of points, where otherwise most multiprocessors had none.
    pub fn usual<M: MeshNumber>(
        device: &Device,
        shape: &MeshShape,
        design: Design,
        margin: [u32; 3],
        charges: usize,
    ) -> Self {
        let (info, taken) = (device.info(), fitting::<M>(device, shape, design, margin));
        let cube = taken.first().copied().unwrap_or(SMALL[0]);
        let column = Self::column(shape, cube, charges, info.multiprocessors);
        let wanted = column.filter(|_| design == Design::Owner && !info.emulated);
        let fits = |tiling: &Self| {
            spread::shared_bytes::<M>(shape, design, *tiling, margin) <= info.shared_per_block
        };
        wanted.filter(fits).unwrap_or(cube).for_registers::<M>(shape)
    }

    /// Columns along z, where there are fewer cubes than half of the multiprocessors: up to 40 points long if charges are dense,
    /// since the more bricks there are the more charges are visited twice, else up to 16, since all wait for the last brick.
    fn column(shape: &MeshShape, cube: Self, charges: usize, multiprocessors: u32) -> Option<Self> {
        let cubes: u32 = shape.bricks(cube.edges).iter().product();
        if 2 * cubes >= multiprocessors {
            return None;
        }
        let sparse = 8 * charges < shape.points();
        let (longest, threads) = if sparse { (16, 384) } else { (40, 448) };
        let parts = shape.size[2].div_ceil(longest);
        let edge = shape.size[2].div_ceil(parts).next_multiple_of(4);
        Some(Self::new([8, 8, edge], threads, 2))
    }

    /// Fewer blocks where a thread needs more registers.
    pub(super) fn for_registers<M: MeshNumber>(self, shape: &MeshShape) -> Self {
        let many = M::DOUBLE || shape.basis.points() > 5;
        let resident = if many {
            self.resident.div_ceil(2)
        } else {
            self.resident
        };
        Self { resident, ..self }
    }
}

/// For the emulation, and where shared memory is short.
const SMALL: &[Tiling] = &[Tiling::new([8, 8, 8], 64, 1)];

/// Ways to cut for the owners of points, the usual choice first.
const OWNER: &[Tiling] = &[
    Tiling::new([16, 16, 16], 448, 3),
    Tiling::new([16, 16, 16], 512, 3),
    Tiling::new([16, 16, 16], 512, 4),
    Tiling::new([16, 16, 16], 1024, 2),
    Tiling::new([16, 16, 8], 256, 4),
    Tiling::new([16, 8, 16], 256, 6),
    Tiling::new([8, 16, 16], 256, 6),
    Tiling::new([8, 16, 16], 512, 4),
    Tiling::new([8, 16, 32], 512, 3),
    Tiling::new([8, 16, 40], 512, 3),
    Tiling::new([12, 16, 20], 448, 3),
    Tiling::new([12, 16, 20], 512, 2),
    Tiling::new([12, 16, 20], 768, 2),
    Tiling::new([16, 12, 20], 512, 3),
    Tiling::new([12, 12, 20], 448, 4),
    Tiling::new([12, 12, 16], 384, 4),
    Tiling::new([12, 12, 40], 512, 3),
    Tiling::new([16, 16, 32], 768, 2),
    Tiling::new([8, 8, 16], 128, 8),
];

/// For the owners of particles.
const HALO: &[Tiling] = &[
    Tiling::new([16, 16, 16], 512, 3),
    Tiling::new([16, 16, 16], 448, 4),
    Tiling::new([16, 16, 32], 512, 2),
    Tiling::new([8, 16, 32], 512, 3),
    Tiling::new([8, 16, 16], 256, 6),
    Tiling::new([8, 8, 16], 256, 6),
    Tiling::new([8, 8, 32], 256, 6),
    Tiling::new([8, 8, 8], 256, 8),
];

/// For points.
const GRID: &[Tiling] = &[
    Tiling::new([8, 8, 16], 256, 2),
    Tiling::new([8, 8, 8], 256, 2),
    Tiling::new([16, 16, 16], 512, 1),
];

/// What is tried for a design, the usual choice first.
pub(super) fn candidates(design: Design) -> &'static [Tiling] {
    match design {
        Design::Owner => OWNER,
        Design::Halo => HALO,
        Design::Grid => GRID,
    }
}

/// A way to spread that was timed.
#[derive(Clone, Debug)]
pub struct Timed {
    /// The design.
    pub design: Design,
    /// How the mesh was cut.
    pub tiling: Tiling,
    /// Seconds to spread all charges once, with lists ready.
    pub seconds: f64,
}

impl<M: MeshNumber> Spread<M> {
    /// The fastest of both particle-centric designs for these particles, timed on the device, and what was found. `charges`
    /// are those of all particles.
    pub fn fastest(
        device: &Device,
        shape: &MeshShape,
        particles: &Particles,
        charges: &[f64],
        margin: [u32; 3],
    ) -> Result<(Self, Vec<Timed>), CudaError> {
        let stream = device.stream()?;
        let mut mesh = device.zeros::<M>(shape.points())?;
        let mut found: Option<(Self, f64)> = None;
        let mut all = Vec::new();
        for design in [Design::Owner, Design::Halo] {
            for tiling in fitting::<M>(device, shape, design, margin) {
                let mut spread =
                    Self::settled(device, &stream, shape, design, tiling, particles, charges, margin)?;
                let seconds = spread.time(&stream, particles, &mut mesh)?;
                all.push(Timed {
                    design,
                    tiling,
                    seconds,
                });
                if found.as_ref().is_none_or(|(_, best)| seconds < *best) {
                    found = Some((spread, seconds));
                }
            }
        }
        all.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let found = found.map(|(spread, _)| (spread, all));
        found.ok_or_else(|| CudaError::Shape {
            kernel: "debye_mesh".into(),
            reason: "no brick fits into shared memory".into(),
        })
    }

    /// With lists that fit and sums that hold for where particles are now, lists made.
    #[expect(clippy::too_many_arguments, reason = "each is a fact of its own")]
    pub(super) fn settled(
        device: &Device,
        stream: &Stream,
        shape: &MeshShape,
        design: Design,
        tiling: Tiling,
        particles: &Particles,
        charges: &[f64],
        margin: [u32; 3],
    ) -> Result<Self, CudaError> {
        let capacity = Bricks::capacity_for(shape, tiling.edges, design.entered(), margin, charges.len());
        let fixed = Fixed::choose::<M>(shape, design, charges.iter().copied());
        let mut spread = Self::new(device, shape, design, tiling, fixed, margin, capacity, None)?;
        let mut mesh = device.zeros::<M>(shape.points())?;
        for _ in 0..8 {
            spread.list(stream, particles)?;
            spread.queue(stream, particles, &mut mesh)?;
            if spread.settle(device, stream)? {
                return Ok(spread);
            }
        }
        Err(CudaError::Shape {
            kernel: "debye_mesh".into(),
            reason: "charges that never fit the lists or the sums; are positions and charges finite?".into(),
        })
    }

    /// Seconds to spread once, with lists ready: the median.
    pub(super) fn time(
        &mut self,
        stream: &Stream,
        particles: &Particles,
        mesh: &mut debye_gpu::Buffer<M>,
    ) -> Result<f64, CudaError> {
        let spread = &*self;
        median(stream, |stream| spread.queue(stream, particles, mesh))
    }
}

/// Ways to cut the mesh for a design that fit this device.
pub(super) fn fitting<M: MeshNumber>(
    device: &Device,
    shape: &MeshShape,
    design: Design,
    margin: [u32; 3],
) -> Vec<Tiling> {
    let all = if device.info().emulated {
        SMALL
    } else {
        candidates(design)
    };
    let fits = |tiling: &&Tiling| {
        spread::shared_bytes::<M>(shape, design, **tiling, margin) <= device.info().shared_per_block
    };
    all.iter().filter(fits).copied().collect()
}

/// Modules for a few meshes, for tests that compile them.
pub fn modules() -> Vec<ModuleSource> {
    let mut all = Vec::new();
    let usual = MeshShape {
        size: [108, 108, 80],
        basis: Basis::Cubic,
    };
    let odd = MeshShape {
        size: [18, 15, 14],
        basis: Basis::BSpline(8),
    };
    for design in [Design::Owner, Design::Halo] {
        let tiling = candidates(design)[0];
        all.push(spread::source::<f32>(&usual, design, tiling, [0; 3]));
        all.push(spread::source::<f64>(&odd, design, SMALL[0], [1, 0, 2]));
    }
    all.push(spread::source::<f32>(&odd, Design::Grid, SMALL[0], [0; 3]));
    let slots = gather::candidates(Way::Slots)[0];
    all.push(gather::source::<f32>(&usual, Way::Slots, slots));
    let groups = Way::Groups {
        slots: 8,
        particles: 1,
    };
    all.push(gather::source::<f32>(&usual, groups, slots));
    all.push(gather::source::<f32>(
        &usual,
        Way::Tiles,
        gather::candidates(Way::Tiles)[0],
    ));
    for way in [Way::Slots, Way::Tiles] {
        all.push(gather::source::<f64>(&odd, way, SMALL[0]));
    }
    all.push(bricks::source::<f32>(&usual, [16, 16, 16]));
    all.push(bricks::source::<f64>(
        &MeshShape {
            size: [256; 3],
            basis: Basis::BSpline(5),
        },
        [8; 3],
    ));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_bricks_become_columns() {
        let cut = |size: [u32; 3], charges: usize| {
            let basis = Basis::BSpline(5);
            let column = Tiling::column(&MeshShape { size, basis }, OWNER[0], charges, 132);
            column.map(|tiling| {
                tiling.check().unwrap();
                tiling.edges
            })
        };
        assert_eq!(cut([42; 3], 5_832), Some([8, 8, 16]));
        assert_eq!(cut([40; 3], 21_480), Some([8, 8, 40]));
        assert_eq!(cut([64, 40, 64], 40_000), Some([8, 8, 32]));
        assert_eq!(cut([80, 60, 60], 96_660), None);
    }
}
