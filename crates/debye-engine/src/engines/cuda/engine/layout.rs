//! [`Layout`]: into how many columns and blocks a cell is cut, and how much room its lists get.

use super::frame::Region;
use super::kernels::Needed;
use super::unsupported;
use crate::engines::EngineError;

/// Particles of a block.
pub(super) const BLOCK: usize = 256;
pub(super) const WARP: usize = 32;
/// The most blocks of a column, and columns within reach: a lane of a warp takes each.
const MOST: usize = WARP;
/// Particles of a layer, about.
const LAYER: f64 = 8.0;
/// How much longer than the others a block may become where particles are not everywhere alike.
const LONGEST_BLOCK: f64 = 3.0;

/// What lists know of: how many slots it has, and how many of them may have particles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grain {
    pub(super) lanes: usize,
    pub(super) sites: usize,
}

impl Grain {
    /// A particle with one thread.
    pub(super) const PARTICLE: Self = Self { lanes: 1, sites: 1 };

    /// Bodies of a block.
    pub(super) fn bodies(self) -> usize {
        BLOCK / self.lanes
    }
}

/// Shape of the sort and room of the lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) grain: Grain,
    /// Columns along x and y, layers along z.
    pub(super) columns: [u32; 3],
    /// How many columns away neighbors may be.
    pub(super) reach: [u32; 2],
    /// Most blocks.
    pub(super) blocks: usize,
    /// Most bodies of a stage.
    pub(super) stage: usize,
    /// Most candidates of a warp, in groups of 32.
    pub(super) groups: usize,
    /// Most rows of four neighbors.
    pub(super) rows: usize,
    /// Most near blocks.
    pub(super) near: usize,
    /// Whether differences of places in a stage must be wrapped.
    pub(super) wrap: bool,
    /// Whether they may have to be where blocks are long: then kernels that do so are compiled in time.
    pub(super) may_wrap: bool,
    /// Whether lists are those of warps instead of particles.
    pub(super) tiles: bool,
}

impl Layout {
    /// The smallest there is, for arrays that only keep a place.
    pub(super) fn smallest() -> Self {
        Self {
            grain: Grain::PARTICLE,
            columns: [1; 3],
            reach: [1; 2],
            blocks: 1,
            stage: WARP,
            groups: 1,
            rows: 1,
            near: WARP,
            wrap: false,
            may_wrap: false,
            tiles: false,
        }
    }

    /// For bodies whose anchors are at these fractions of a region, and whose particles are at most an arm from them.
    pub(super) fn new(
        fractions: &[[f64; 3]],
        region: &Region,
        radius: f64,
        grain: Grain,
        arm: f64,
    ) -> Result<Self, EngineError> {
        let (n, lengths) = (fractions.len() as f64, region.heights());
        let bodies = grain.bodies() as f64;
        let density = local_density(fractions, region, radius);
        // Blocks as cubes, but not too many above each other, and columns no narrower than half the radius, so that
        // few are within reach.
        let cube = (bodies / density).cbrt();
        let slim = (0.75 * MOST as f64 * bodies / (density * lengths.z)).sqrt();
        let side = cube.min(slim).max(0.5 * radius);
        // Never narrower, so that neighbors are at most two columns away.
        let most = [lengths.x, lengths.y].map(|length| ((1.999_999 * length / radius).floor() as u32).max(1));
        let cubes = [0, 1].map(|k| ((lengths[k] / side).round() as u32).clamp(1, most[k]));
        // Places within the radius of a box.
        let pi = std::f64::consts::PI;
        let around = |wx: f64, wy: f64, high: f64| {
            wx * wy * high
                + 2.0 * (wx * wy + wy * high + high * wx) * radius
                + pi * (wx + wy + high) * radius * radius
                + 4.0 / 3.0 * pi * radius.powi(3)
        };
        let edges = |[nx, ny]: [u32; 2]| {
            let (wx, wy) = (lengths.x / f64::from(nx), lengths.y / f64::from(ny));
            [wx, wy, bodies / (density * wx * wy)]
        };
        // Whether a block may have a neighbor on two sides.
        let reached = 2.1 * radius + 2.0 * arm;
        let wraps_if =
            |longer: f64, columns| (0..3).any(|k| longer * edges(columns)[k] + reached > lengths[k]);
        let wraps = |columns: [u32; 2]| wraps_if(1.0, columns);
        // Room of a stage; none where a block would have a neighbor on two sides and as a cube has not.
        let stage_of = |columns: [u32; 2]| {
            let [wx, wy, high] = edges(columns);
            let room = (1.18 * density * around(wx, wy, high)) as usize + 64;
            let fine = wraps(cubes) || !wraps(columns);
            fine.then(|| room.min(fractions.len() + WARP).next_multiple_of(WARP))
        };
        // Lists of particles by themselves take longer to make for blocks that are no cubes.
        let columns = if grain.sites > 1 {
            filled(fractions, cubes, most, grain.bodies(), &stage_of)
        } else if wraps(cubes) {
            cubes
        } else {
            let fits =
                |columns: [u32; 2], high: f64| !wraps(columns) && high * lengths.z + reached <= lengths.z;
            flat(fractions, cubes, grain.bodies(), fits)
        };
        let ([nx, ny], [wx, wy, _]) = (columns, edges(columns));
        let reach =
            |length: f64, count: u32| ((radius / (length / f64::from(count))).ceil() as u32).min(count);
        let reach = [reach(lengths.x, nx), reach(lengths.y, ny)];
        // A warp has 32 bodies, and none are sorted within a layer.
        let candidates = density * around(wx, wy, (WARP as f64 + LAYER) / (density * wx * wy));
        let neighbors = density * 4.0 / 3.0 * pi * radius.powi(3);
        // Layers for the sort.
        let most_layers = (4.0 * n / f64::from(nx * ny)).clamp(64.0, 4096.0);
        let layers = (density * wx * wy * lengths.z / LAYER)
            .ceil()
            .clamp(1.0, most_layers) as u32;
        let stage = stage_of(columns).unwrap_or(WARP);
        let layout = Self {
            grain,
            columns: [nx, ny, layers],
            reach,
            blocks: blocks_of(fractions, nx, ny, grain.bodies()),
            stage,
            groups: ((1.08 * candidates) as usize / WARP + 2).min(stage / WARP),
            rows: (1.3 * neighbors / 4.0) as usize + 6,
            near: 64,
            wrap: wraps(columns),
            may_wrap: wraps_if(LONGEST_BLOCK, columns),
            tiles: false,
        };
        layout.checked()
    }

    /// With room for what a list was found to need.
    pub(super) fn grown(mut self, needed: Needed) -> Result<Self, EngineError> {
        let more = |old: usize, needed: u32| {
            let needed = needed as usize;
            if needed > old { needed + needed / 8 } else { old }
        };
        if needed.column_blocks as usize > MOST {
            return Err(unsupported(format!(
                "{} blocks of particles above each other (at most {MOST})",
                needed.column_blocks
            )));
        }
        self.blocks = more(self.blocks, needed.blocks);
        self.near = more(self.near, needed.near_blocks).next_multiple_of(WARP);
        self.stage = more(self.stage, needed.places).next_multiple_of(WARP);
        // Few more: these decide how many blocks share a multiprocessor.
        if needed.groups as usize > self.groups {
            self.groups = needed.groups as usize + 2;
        }
        self.groups = self.groups.min(self.stage / WARP);
        self.rows = more(self.rows, needed.rows);
        self.wrap |= needed.wrap > 0;
        self.checked()
    }

    /// Whether particles lie in these slots as they do in those of another layout, whatever room lists have.
    pub(super) fn has_slots_of(&self, other: &Self) -> bool {
        self.blocks == other.blocks && self.tiles == other.tiles
    }

    fn checked(self) -> Result<Self, EngineError> {
        let span = |k: usize| (2 * self.reach[k] + 1).min(self.columns[k]) as usize;
        if span(0) * span(1) > MOST {
            return Err(unsupported(format!(
                "{} columns of particles within reach of each other (at most {MOST})",
                span(0) * span(1)
            )));
        }
        if self.stage > 255 * WARP {
            return Err(unsupported(format!(
                "{} particles around a block of {}; the cut-off is too long for this density",
                self.stage * self.grain.sites,
                self.grain.bodies() * self.grain.sites
            )));
        }
        Ok(self)
    }

    /// With lists of warps where those of particles need more shared memory than there is; refused where neither fits.
    pub(super) fn fitting(mut self, shared: u32, staged: usize, excludes: bool) -> Result<Self, EngineError> {
        // Besides what is asked for at a launch, kernels have some of their own.
        let own = if self.grain.sites > 1 { 12_288 } else { 8192 };
        let most = shared.saturating_sub(own);
        self.tiles |= self.list_shared() > most && !excludes && self.grain == Grain::PARTICLE;
        let needed = self.list_shared().max(self.step_shared(staged));
        if needed > most {
            return Err(unsupported(format!(
                "{} particles around a block of {}: that takes {} KiB of shared memory, and this device has {}; the \
                 cut-off is too long for this density",
                self.stage * self.grain.sites,
                self.grain.bodies() * self.grain.sites,
                needed / 1024,
                shared / 1024
            )));
        }
        Ok(self)
    }

    /// Slots of all blocks.
    pub(super) fn slots(&self) -> usize {
        self.blocks * BLOCK
    }

    /// Of the sort.
    pub(super) fn buckets(&self) -> usize {
        self.columns.iter().map(|&n| n as usize).product()
    }

    /// Room for bodies.
    pub(super) fn bodies(&self) -> usize {
        self.blocks * self.grain.bodies()
    }

    /// Boxes of a block: its own, and one for every 32 of its bodies.
    pub(super) fn boxes(&self) -> usize {
        1 + self.grain.bodies() / WARP
    }

    /// Shared memory of the kernel that makes stages: near blocks, and of their warps bits, masks, numbers and sums.
    pub(super) fn near_shared(&self) -> u32 {
        let warps = self.near * self.grain.bodies() / WARP;
        (4 * self.near + 4 * warps / WARP + 8 * warps) as u32
    }

    /// Shared memory of the kernel that makes lists.
    pub(super) fn list_shared(&self) -> u32 {
        // Places and candidates; for each particle its place, words and the groups they are of.
        let words = self.groups + self.groups.div_ceil(WARP);
        let particle = if self.tiles { 0 } else { 16 + 4 * words };
        (16 * self.stage + self.grain.bodies() * (2 * self.groups + particle)) as u32
    }

    /// Numbers of all lists together.
    pub(super) fn list_entries(&self) -> usize {
        if self.tiles {
            self.blocks * (BLOCK / WARP) * (self.groups * WARP + 16)
        } else {
            4 * self.rows * self.bodies()
        }
    }

    /// Shared memory of the kernels that use them, with so many bytes for each body.
    pub(super) fn step_shared(&self, staged: usize) -> u32 {
        (staged * self.stage) as u32
    }
}

/// Columns along x and y, about as many as `cubes` says and no more than `most`, whose last blocks are as full as may be: half of
/// the last block of every column is empty on average, and a step takes as long for it as for a full one. `stage` tells the room
/// that the stage of a block needs, or nothing where columns will not do; no more than with cubes is taken, since it decides
/// how many blocks share a multiprocessor. Nor are columns made too high.
fn filled(
    fractions: &[[f64; 3]],
    cubes: [u32; 2],
    most: [u32; 2],
    bodies: usize,
    stage: &dyn Fn([u32; 2]) -> Option<usize>,
) -> [u32; 2] {
    // Where columns have many blocks there is little to gain.
    let high = fractions.len() as f64 / f64::from(cubes[0] * cubes[1]) / bodies as f64;
    if high > HIGH || fractions.len() > LOOKED_AT {
        return cubes;
    }
    let room = stage(cubes);
    let cost = |columns: [u32; 2]| {
        let fits =
            columns == cubes || stage(columns).is_some_and(|needed| room.is_none_or(|room| needed <= room));
        let counts = if fits {
            counts_of(fractions, columns)
        } else {
            return None;
        };
        let tallest = counts.iter().max().map_or(0, |n| n.div_ceil(bodies));
        if tallest > MOST * 3 / 4 && columns != cubes {
            return None;
        }
        // Particles move on.
        let blocks =
            |n: usize| n.div_ceil(bodies) + (n - n / 50).div_ceil(bodies) + (n + n / 50).div_ceil(bodies);
        Some(counts.into_iter().map(blocks).sum::<usize>())
    };
    let near = |k: usize| {
        let reach = (cubes[k] / 4).clamp(1, 4);
        cubes[k].saturating_sub(reach).max(1)..=(cubes[k] + reach).min(most[k])
    };
    let away = |[nx, ny]: [u32; 2]| nx.abs_diff(cubes[0]) + ny.abs_diff(cubes[1]);
    let all = near(0).flat_map(|nx| near(1).map(move |ny| [nx, ny]));
    let best = all.filter_map(|columns| Some((cost(columns)?, away(columns), columns)));
    best.min().map_or(cubes, |best| best.2)
}

/// Columns wide enough that no block is so high that it has a neighbor on two sides, where few particles fill much of a cell:
/// among the tails of a bilayer, for one. `fits` tells whether that is so of columns with blocks of a height, as a fraction of
/// the cell.
fn flat(
    fractions: &[[f64; 3]],
    cubes: [u32; 2],
    bodies: usize,
    fits: impl Fn([u32; 2], f64) -> bool,
) -> [u32; 2] {
    if fractions.len() > LOOKED_AT {
        return cubes;
    }
    // Particles move on.
    let low = |columns: &[u32; 2]| {
        let (height, blocks) = highest(fractions, *columns, bodies);
        blocks <= MOST * 3 / 4 && fits(*columns, 1.1 * height)
    };
    let wider = |part: u32| cubes.map(|n| (n * part).div_ceil(8).max(1));
    (4..=8).rev().map(wider).find(low).unwrap_or(cubes)
}

/// The highest block, as a fraction of the cell, and the most blocks of a column.
fn highest(fractions: &[[f64; 3]], columns: [u32; 2], bodies: usize) -> (f64, usize) {
    let mut heights = vec![Vec::new(); (columns[0] * columns[1]) as usize];
    for s in fractions {
        heights[column_of(s, columns)].push(s[2]);
    }
    let (mut most, mut blocks) = (0.0_f64, 0);
    for column in &mut heights {
        column.sort_by(f64::total_cmp);
        blocks = blocks.max(column.len().div_ceil(bodies));
        for block in column.chunks(bodies) {
            most = most.max(block[block.len() - 1] - block[0]);
        }
    }
    (most, blocks)
}

/// Blocks of a column above which it does not matter that the last is not full, and bodies above which nobody counts.
const HIGH: f64 = 24.0;
const LOOKED_AT: usize = 2_000_000;

/// Bodies of every column.
fn counts_of(fractions: &[[f64; 3]], [nx, ny]: [u32; 2]) -> Vec<usize> {
    let mut counts = vec![0_usize; (nx * ny) as usize];
    for s in fractions {
        counts[column_of(s, [nx, ny])] += 1;
    }
    counts
}

/// The column of a place.
fn column_of(s: &[f64; 3], [nx, ny]: [u32; 2]) -> usize {
    let at = |x: f64, n: u32| ((x * f64::from(n)).max(0.0) as u32).min(n - 1);
    (at(s[1], ny) * nx + at(s[0], nx)) as usize
}

/// Blocks of all columns, with some room: particles move on, and lists that need more ask for it.
fn blocks_of(fractions: &[[f64; 3]], nx: u32, ny: u32, bodies: usize) -> usize {
    let counts = counts_of(fractions, [nx, ny]);
    let blocks: usize = counts.iter().map(|count| count.div_ceil(bodies)).sum();
    let used = counts.iter().filter(|&&count| count > 0).count();
    blocks + used.min(blocks / 8) + 4
}

/// The density that particles have around them, which in a droplet is not that of the cell.
fn local_density(fractions: &[[f64; 3]], region: &Region, radius: f64) -> f64 {
    let (n, lengths, volume) = (fractions.len() as f64, region.heights(), region.volume());
    let cells: [usize; 3] = std::array::from_fn(|k| ((lengths[k] / (2.0 * radius)) as usize).clamp(1, 256));
    let mut counts = vec![0_u32; cells.iter().product()];
    let cell_of = |s: &[f64; 3]| {
        let at = |k: usize| ((s[k] * cells[k] as f64).max(0.0) as usize).min(cells[k] - 1);
        (at(2) * cells[1] + at(1)) * cells[0] + at(0)
    };
    fractions.iter().for_each(|s| counts[cell_of(s)] += 1);
    let mean: f64 = fractions
        .iter()
        .map(|s| f64::from(counts[cell_of(s)]))
        .sum::<f64>()
        / n;
    (mean * counts.len() as f64 / volume).max(n / volume)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::Cell;

    fn region(lengths: [f64; 3]) -> Region {
        Region {
            cell: Cell::orthorhombic(lengths).unwrap(),
            begin: [0.0; 3],
            length: [1.0; 3],
        }
    }

    fn layout(lengths: [f64; 3], fractions: &[[f64; 3]], radius: f64) -> Layout {
        Layout::new(fractions, &region(lengths), radius, Grain::PARTICLE, 0.0).unwrap()
    }

    /// Points that fill a box evenly: the additive recurrence of Roberts' R3.
    fn even(n: usize) -> Vec<[f64; 3]> {
        let step = [
            0.819_172_513_396_164_4,
            0.671_043_606_703_789_3,
            0.549_700_477_901_970_2,
        ];
        (0..n).map(|k| step.map(|a| (k as f64 * a).fract())).collect()
    }

    #[test]
    fn tall_cells_keep_neighbors_within_two_columns() {
        for (lengths, radius, n) in [
            ([20.0, 20.0, 3700.0], 2.9, 1_249_000),
            ([12.0, 12.0, 12.0], 2.9, 1459),
        ] {
            let made = layout(lengths, &even(n), radius);
            assert!(made.reach[0] <= 2 && made.reach[1] <= 2, "{made:?}");
        }
    }

    #[test]
    fn blocks_of_molecules_are_fuller_than_cubes() {
        // How full blocks are, the room of a stage, and how many blocks are above each other.
        let made = |lengths: [f64; 3], sites: usize| {
            let n = (33.15 * lengths.iter().product::<f64>()) as usize;
            let (all, grain) = (even(n), Grain { lanes: 4, sites });
            let made = Layout::new(&all, &region(lengths), 1.163, grain, 0.0957).unwrap();
            let [nx, ny, _] = made.columns;
            let counts = counts_of(&all, [nx, ny]);
            let blocks = || counts.iter().map(|n| n.div_ceil(grain.bodies()));
            let full = n as f64 / (blocks().sum::<usize>() * grain.bodies()) as f64;
            (full, made.stage, blocks().max().unwrap_or(0))
        };
        for lengths in [
            [12.0, 9.0, 9.0],
            [10.0, 9.0, 8.0],
            [9.0, 9.0, 4.2],
            [9.0, 9.0, 33.0],
            [3.5, 3.5, 30.0],
        ] {
            let (cubes, filled) = (made(lengths, 1), made(lengths, 3));
            let better = filled.0 >= cubes.0 && filled.1 <= cubes.1;
            assert!(
                better && filled.2 <= MOST - 4,
                "{lengths:?}: {filled:?}, {cubes:?} as cubes"
            );
        }
        let water = made([12.0, 9.0, 9.0], 3);
        assert!(water.0 > 0.93, "{water:?}");
    }

    #[test]
    fn one_stray_particle_takes_no_room_for_empty_columns() {
        let mut drop: Vec<_> = even(50_000).iter().map(|s| s.map(|x| 0.5 + 0.02 * x)).collect();
        drop.push([0.1, 0.1, 0.1]);
        let made = layout([2000.0; 3], &drop, 2.9);
        assert!(made.blocks < 4 * 50_000 / BLOCK, "{made:?}");
    }

    #[test]
    fn lists_of_warps_where_shared_memory_is_short() {
        let made = layout([30.0; 3], &even(22_800), 2.9);
        let small = made.fitting(made.list_shared(), 16, false).unwrap();
        assert!(!made.tiles && small.tiles);
        assert!(made.fitting(made.list_shared(), 16, true).is_err());
        assert!(made.fitting(20_000, 16, false).is_err());
    }
}
