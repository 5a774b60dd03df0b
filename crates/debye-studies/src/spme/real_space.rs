//! [`RealSpace`]: the real-space sum by all pairs, by tiles and by the engine (Fig. 4).

use debye_gpu::Device;
use rayon::prelude::*;

use debye::expr::Real;

use super::device::TileSum;
use super::exact::{Sums, coulomb};
use super::order::{BLOCK, EMPTY, Order};
use super::salt::Salt;
use super::tiles::{Blocks, Kind, Tile, UNFLAGGED};
use crate::study::{Input, OnDevice, OnHost, Place, Steps, StudyError, Variant, Work};

/// The real-space sum of salt.
pub struct RealSpace(pub Salt);

impl Input for RealSpace {
    type Output = Sums;

    fn label(&self) -> String {
        self.0.label()
    }

    fn work(&self) -> f64 {
        self.0.len() as f64
    }

    fn error(&self, sums: &Sums) -> f64 {
        self.0.error(self.0.real_space(), sums)
    }
}

/// Which kinds of tile there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kinds {
    /// Diagonal, sparse and dense: the paper.
    Three,
    /// No sparse ones.
    Dense,
    /// No dense ones.
    Sparse,
}

impl Kinds {
    /// More ions than this without a flag make a tile sparse.
    pub(super) fn unflagged(self) -> u32 {
        match self {
            Self::Three => UNFLAGGED,
            Self::Dense => BLOCK as u32,
            // Where all have flags it makes no difference but for the way they are summed.
            Self::Sparse => 0,
        }
    }
}

/// How the real-space sum is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// All pairs, on the processor.
    Loop,
    /// The paper's tiles, on the processor.
    TilesOnHost(Order),
    /// A whole step of the engine on the processor.
    EngineOnHost,
    /// The paper's kernel.
    Tiles(Order, Kinds),
    /// A whole step of the engine on the device.
    Engine,
}

/// A rung of the ladder of the real-space sum.
#[derive(Clone, Copy, Debug)]
pub struct RealVariant {
    /// How.
    pub how: How,
    /// The most ions that it is given.
    pub most: usize,
}

impl RealVariant {
    /// However many ions there are.
    pub fn new(how: How) -> Self {
        Self {
            how,
            most: usize::MAX,
        }
    }
}

impl How {
    /// Every rung.
    pub const ALL: [Self; 11] = [
        Self::Loop,
        Self::TilesOnHost(Order::Hilbert),
        Self::TilesOnHost(Order::Columns),
        Self::EngineOnHost,
        Self::Tiles(Order::Hilbert, Kinds::Three),
        Self::Tiles(Order::Hilbert, Kinds::Dense),
        Self::Tiles(Order::Hilbert, Kinds::Sparse),
        Self::Tiles(Order::Rows, Kinds::Three),
        Self::Tiles(Order::Cells, Kinds::Three),
        Self::Tiles(Order::Columns, Kinds::Three),
        Self::Engine,
    ];

    pub(super) fn name(self) -> String {
        match self {
            Self::Loop => "CPU all pairs".into(),
            Self::TilesOnHost(order) => format!("CPU tiles, {}", order.name()),
            Self::EngineOnHost => "CPU engine, whole step".into(),
            Self::Tiles(order, Kinds::Three) => format!("GPU tiles, {}", order.name()),
            Self::Tiles(order, Kinds::Dense) => format!("GPU dense tiles, {}", order.name()),
            Self::Tiles(order, Kinds::Sparse) => format!("GPU sparse tiles, {}", order.name()),
            Self::Engine => "GPU engine, whole step".into(),
        }
    }
}

impl Variant<RealSpace> for RealVariant {
    fn name(&self) -> String {
        self.how.name()
    }

    fn place(&self) -> Place {
        match self.how {
            How::Loop | How::TilesOnHost(_) | How::EngineOnHost => Place::Cpu,
            How::Tiles(..) | How::Engine => Place::Cuda,
        }
    }

    fn tolerance(&self) -> f64 {
        match self.how {
            How::Loop | How::TilesOnHost(_) => 1e-10,
            // Coordinates of single precision from the corner of a box of 45 nm are right to 3e-6 nm.
            How::Tiles(..) => 1e-3,
            How::EngineOnHost | How::Engine => 1e-4,
        }
    }

    fn declines(&self, input: &RealSpace) -> Option<String> {
        let ions = input.0.len();
        (ions > self.most).then(|| format!("{ions} ions are more than the {} it is given", self.most))
    }

    fn prepare<'i>(
        &self,
        input: &'i RealSpace,
        device: Option<&Device>,
    ) -> Result<Box<dyn Work<Sums> + 'i>, StudyError> {
        let salt = &input.0;
        match self.how {
            How::Loop => Ok(OnHost::boxed(move || Ok(all_pairs(salt)))),
            How::TilesOnHost(order) => {
                let blocks = Blocks::new(salt, order)?;
                let tiles = blocks.by_cells();
                let unflagged = Kinds::Three.unflagged();
                Ok(OnHost::boxed(move || {
                    Ok(tile_loop(salt, &blocks, &tiles, unflagged))
                }))
            }
            How::Tiles(order, kinds) => {
                let device = device.ok_or(StudyError::NoDevice)?;
                let blocks = Blocks::new(salt, order)?;
                let tiles = blocks.by_cells();
                let sum = TileSum::new(device, salt, &blocks, &tiles, kinds.unflagged())?;
                OnDevice::boxed(device, sum, TileSum::queue, move |sum, stream| {
                    sum.queue(stream)?;
                    Ok(sum.sums(stream, &blocks)?)
                })
            }
            How::EngineOnHost => Ok(Box::new(engine(salt, None)?)),
            How::Engine => Ok(Box::new(engine(salt, Some(device.ok_or(StudyError::NoDevice)?))?)),
        }
    }
}

/// The real-space term alone as steps of the engine.
pub(super) fn engine(salt: &Salt, device: Option<&Device>) -> Result<Steps<Sums>, StudyError> {
    Steps::new(salt.pairs()?, device, |run| {
        Ok(Sums {
            energy: run.observe()?.potential,
            forces: run.forces()?.iter().map(|f| f.to_array()).collect(),
        })
    })
}

/// Energy and force over r of a pair of unit charges, with the library's erfc.
#[inline]
fn pair(r2: f64, alpha: f64) -> (f64, f64) {
    let r = r2.sqrt();
    let gauss = (-alpha * alpha * r2).exp();
    let screened = Real::erfc(alpha * r) / r;
    (
        screened,
        (screened + std::f64::consts::FRAC_2_SQRT_PI * alpha * gauss) / r2,
    )
}

fn nearest(a: &[f64; 3], b: &[f64; 3], side: f64) -> ([f64; 3], f64) {
    let d: [f64; 3] = std::array::from_fn(|k| {
        let d = a[k] - b[k];
        d - side * (d / side).round()
    });
    (d, d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
}

/// Every ion with all others.
pub(super) fn all_pairs(salt: &Salt) -> Sums {
    let cutoff2 = salt.cutoff * salt.cutoff;
    let of = |i: usize| {
        let (mut energy, mut force) = (0.0, [0.0; 3]);
        for (j, they) in salt.positions.iter().enumerate() {
            let (d, r2) = nearest(&salt.positions[i], they, salt.side);
            if j != i && r2 < cutoff2 {
                let (u, f) = pair(r2, salt.alpha);
                let q = coulomb() * salt.charges[i] * salt.charges[j];
                energy += 0.5 * q * u;
                (0..3).for_each(|k| force[k] += q * f * d[k]);
            }
        }
        (energy, force)
    };
    let all: Vec<(f64, [f64; 3])> = (0..salt.len()).into_par_iter().map(of).collect();
    Sums {
        energy: all.iter().map(|one| one.0).sum(),
        forces: all.into_iter().map(|one| one.1).collect(),
    }
}

/// Tiles that a thread takes at a time.
const AT_ONCE: usize = 4096;

/// The pairs of tiles, each pair once, by their kinds.
pub(super) fn tile_loop(salt: &Salt, blocks: &Blocks, tiles: &[Tile], unflagged: u32) -> Sums {
    let cutoff2 = salt.cutoff * salt.cutoff;
    let nothing = || (0.0, vec![[0.0; 3]; salt.len()]);
    let sum = |(mut energy, mut forces): (f64, Vec<[f64; 3]>), tiles: &[Tile]| {
        for tile in tiles {
            let kind = tile.kind(unflagged);
            for a in 0..BLOCK {
                let ion = blocks.slots[tile.i as usize * BLOCK + a];
                if ion == EMPTY {
                    continue;
                }
                let [x, y, z, own] = blocks.places[tile.i as usize * BLOCK + a];
                for b in 0..BLOCK {
                    let wanted = match kind {
                        Kind::Diagonal => b < a,
                        Kind::Sparse => tile.flags >> b & 1 == 1,
                        Kind::Dense => true,
                    };
                    let other = blocks.slots[tile.j as usize * BLOCK + b];
                    if !wanted || other == EMPTY {
                        continue;
                    }
                    let [u, v, w, q] = blocks.places[tile.j as usize * BLOCK + b];
                    let (d, r2) = nearest(&[x, y, z], &[u, v, w], salt.side);
                    if r2 < cutoff2 {
                        let (e, f) = pair(r2, salt.alpha);
                        let q = coulomb() * own * q;
                        energy += q * e;
                        for k in 0..3 {
                            forces[ion as usize][k] += q * f * d[k];
                            forces[other as usize][k] -= q * f * d[k];
                        }
                    }
                }
            }
        }
        (energy, forces)
    };
    // Whole chunks, each with forces of its own: few, since every one has room for all ions.
    let chunk = tiles.len().div_ceil(rayon::current_num_threads()).max(AT_ONCE);
    let (energy, forces) = tiles.par_chunks(chunk).map(|tiles| sum(nothing(), tiles)).reduce(
        nothing,
        |(e, mut into), (u, forces)| {
            for (to, f) in into.iter_mut().zip(forces) {
                (0..3).for_each(|k| to[k] += f[k]);
            }
            (e + u, into)
        },
    );
    Sums { energy, forces }
}

/// Tiles of one kind: how long they take, each checked against the same pairs in double precision.
pub struct OneKind {
    salt: Salt,
    blocks: Blocks,
    tiles: Vec<Tile>,
    kind: Kind,
    want: Sums,
}

impl OneKind {
    /// Those that the paper's scheme makes of this kind, along a Hilbert curve.
    pub fn new(salt: Salt, kind: Kind) -> Result<Self, StudyError> {
        let blocks = Blocks::new(&salt, Order::Hilbert)?;
        let all = blocks.by_cells();
        let tiles: Vec<Tile> = all
            .into_iter()
            .filter(|tile| tile.kind(UNFLAGGED) == kind)
            .collect();
        let want = tile_loop(&salt, &blocks, &tiles, UNFLAGGED);
        Ok(Self {
            salt,
            blocks,
            tiles,
            kind,
            want,
        })
    }

    /// Tiles.
    pub fn tiles(&self) -> usize {
        self.tiles.len()
    }

    /// Pairs of slots that lanes work on, of 1024 in a tile.
    pub(super) fn pairs(&self) -> f64 {
        let of = |tile: &Tile| match self.kind {
            Kind::Diagonal => 496,
            Kind::Sparse => BLOCK as u32 * tile.flags.count_ones(),
            Kind::Dense => (BLOCK * BLOCK) as u32,
        };
        self.tiles.iter().map(|tile| f64::from(of(tile))).sum()
    }
}

impl Input for OneKind {
    type Output = Sums;

    fn label(&self) -> String {
        format!("{} of {}", self.kind.name(), self.salt.label())
    }

    fn work(&self) -> f64 {
        self.tiles.len() as f64
    }

    fn error(&self, sums: &Sums) -> f64 {
        self.salt.error(&self.want, sums)
    }
}

impl Kind {
    /// In words.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Diagonal => "diagonal tiles",
            Self::Sparse => "sparse tiles",
            Self::Dense => "dense tiles",
        }
    }
}

/// Tiles of one kind on the processor, or on the device.
#[derive(Clone, Copy, Debug)]
pub struct KindVariant(pub Place, pub Kind);

impl Variant<OneKind> for KindVariant {
    fn name(&self) -> String {
        let place = if self.0 == Place::Cpu { "CPU" } else { "GPU" };
        format!("{place} {}", self.1.name())
    }

    fn place(&self) -> Place {
        self.0
    }

    fn tolerance(&self) -> f64 {
        if self.0 == Place::Cpu { 1e-10 } else { 1e-3 }
    }

    fn declines(&self, input: &OneKind) -> Option<String> {
        input
            .tiles
            .is_empty()
            .then(|| format!("there are no {}", self.1.name()))
    }

    fn prepare<'i>(
        &self,
        input: &'i OneKind,
        device: Option<&Device>,
    ) -> Result<Box<dyn Work<Sums> + 'i>, StudyError> {
        if self.0 == Place::Cpu {
            return Ok(OnHost::boxed(move || {
                Ok(tile_loop(&input.salt, &input.blocks, &input.tiles, UNFLAGGED))
            }));
        }
        let device = device.ok_or(StudyError::NoDevice)?;
        let sum = TileSum::new(device, &input.salt, &input.blocks, &input.tiles, UNFLAGGED)?;
        OnDevice::boxed(device, sum, TileSum::queue, |sum, stream| {
            sum.queue(stream)?;
            Ok(sum.sums(stream, &input.blocks)?)
        })
    }
}
