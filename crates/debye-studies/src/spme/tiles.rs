//! [`Tiles`]: pairs of blocks of 32 ions that are near each other, found as in the paper or through cells.

use rayon::prelude::*;

use super::order::{BLOCK, EMPTY, Order};
use super::salt::{SKIN, Salt};
use crate::study::StudyError;

/// Two blocks, and which ions of the second are within the cut-off of the first one's box.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tile {
    /// The first block.
    pub i: u32,
    /// The second, not before the first.
    pub j: u32,
    /// A bit for every ion of the second.
    pub flags: u32,
}

/// How a tile is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A block with itself: half of the pairs.
    Diagonal,
    /// Only flagged ions of the second block, each with all of the first, and a sum over the warp.
    Sparse,
    /// All 1024 pairs, staggered.
    Dense,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Diagonal, Self::Sparse, Self::Dense];
}

/// More ions than this without a flag make a tile sparse: the paper.
pub(super) const UNFLAGGED: u32 = 24;

impl Tile {
    /// How it is computed where tiles with more than so many ions without a flag are sparse.
    pub fn kind(&self, unflagged: u32) -> Kind {
        if self.i == self.j {
            Kind::Diagonal
        } else if self.flags.count_zeros() > unflagged {
            Kind::Sparse
        } else {
            Kind::Dense
        }
    }
}

/// Ions in slots of blocks, with the boxes around blocks.
pub struct Blocks {
    /// The ion in every slot, or none.
    pub(super) slots: Vec<u32>,
    /// Positions and charges; those of empty slots are without charge, at the place of another ion of the block.
    pub(super) places: Vec<[f64; 4]>,
    /// Middle and half of the extent of every block.
    pub(super) boxes: Vec<([f64; 3], [f64; 3])>,
    pub(super) side: f64,
    pub(super) cutoff: f64,
}

impl Blocks {
    /// Cuts ions into blocks.
    pub fn new(salt: &Salt, order: Order) -> Result<Self, StudyError> {
        let slots = order.slots(salt)?;
        let ion = |i: u32| {
            let ([x, y, z], q) = (salt.positions[i as usize], salt.charges[i as usize]);
            [x, y, z, q]
        };
        let mut places = Vec::with_capacity(slots.len());
        let mut boxes = Vec::with_capacity(slots.len() / BLOCK);
        for block in slots.chunks_exact(BLOCK) {
            let mut last = [0.0; 4];
            let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
            for &slot in block {
                if slot != EMPTY {
                    last = ion(slot);
                    (0..3).for_each(|k| (low[k], high[k]) = (low[k].min(last[k]), high[k].max(last[k])));
                } else {
                    last[3] = 0.0;
                }
                places.push(last);
            }
            boxes.push((
                std::array::from_fn(|k| 0.5 * (low[k] + high[k])),
                std::array::from_fn(|k| 0.5 * (high[k] - low[k])),
            ));
        }
        Ok(Self {
            slots,
            places,
            boxes,
            side: salt.side,
            cutoff: salt.cutoff,
        })
    }

    /// The nearest image of a difference.
    fn nearest(&self, d: f64) -> f64 {
        d - self.side * (d / self.side).round()
    }

    /// The square of the distance between two boxes.
    fn apart(&self, i: usize, j: usize) -> f64 {
        let ((a, ha), (b, hb)) = (&self.boxes[i], &self.boxes[j]);
        (0..3)
            .map(|k| (self.nearest(a[k] - b[k]).abs() - ha[k] - hb[k]).max(0.0).powi(2))
            .sum()
    }

    /// The tile of two blocks, if they are near each other.
    fn tile(&self, i: usize, j: usize) -> Option<Tile> {
        if self.apart(i, j) >= (self.cutoff + SKIN).powi(2) {
            return None;
        }
        let (middle, half) = &self.boxes[i];
        let flags = (0..BLOCK).fold(0, |flags, k| {
            let place = &self.places[j * BLOCK + k];
            let away = |a: usize| {
                (self.nearest(place[a] - middle[a]).abs() - half[a])
                    .max(0.0)
                    .powi(2)
            };
            let near = away(0) + away(1) + away(2) < self.cutoff * self.cutoff;
            let there = self.slots[j * BLOCK + k] != EMPTY;
            flags | u32::from(near && there) << k
        });
        Some(Tile {
            i: i as u32,
            j: j as u32,
            flags,
        })
    }

    /// Blocks.
    pub fn len(&self) -> usize {
        self.boxes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.boxes.is_empty()
    }

    /// Tiles by the distances of all pairs of boxes, as written in the paper: O(N²).
    pub fn by_all_pairs(&self) -> Vec<Tile> {
        let n = self.len();
        (0..n)
            .flat_map(|i| (i..n).filter_map(move |j| self.tile(i, j)))
            .collect()
    }

    /// The same tiles by looking only at blocks whose middles lie in cells nearby: O(N), but for the few blocks that are
    /// much longer than the others, which look at all.
    pub fn by_cells(&self) -> Vec<Tile> {
        let longest = |b: usize| self.boxes[b].1.into_iter().fold(0.0, f64::max);
        let mut lengths: Vec<f64> = (0..self.len()).map(longest).collect();
        lengths.sort_by(f64::total_cmp);
        let limit = 1.5 * lengths.get(lengths.len() / 2).copied().unwrap_or(0.0);
        let (long, short): (Vec<usize>, Vec<usize>) = (0..self.len()).partition(|&b| longest(b) > limit);
        let halves = (self.side / (self.cutoff + SKIN + 2.0 * limit)).floor() as usize;
        if halves < 3 {
            return self.by_all_pairs();
        }
        // Cells of half the reach.
        let along = 2 * halves;
        let number = |x: f64| ((x.rem_euclid(self.side) / self.side * along as f64) as usize).min(along - 1);
        let cell = |[x, y, z]: [usize; 3]| (z * along + y) * along + x;
        let mut cells: Vec<Vec<usize>> = vec![Vec::new(); along.pow(3)];
        for &b in &short {
            cells[cell(self.boxes[b].0.map(number))].push(b);
        }
        let near = |&i: &usize| {
            let at = self.boxes[i].0.map(number);
            let mut found = Vec::new();
            for m in 0..125 {
                let by = [m % 5, m / 5 % 5, m / 25];
                let others = &cells[cell(std::array::from_fn(|k| (at[k] + along + by[k] - 2) % along))];
                found.extend(
                    others
                        .iter()
                        .filter(|&&j| j >= i)
                        .filter_map(|&j| self.tile(i, j)),
                );
            }
            found
        };
        let far = |&b: &usize| {
            let pair = move |other: usize| self.tile(b.min(other), b.max(other));
            let others = (0..self.len()).filter(move |&other| other >= b || longest(other) <= limit);
            others.filter_map(pair).collect::<Vec<Tile>>()
        };
        let mut found: Vec<Tile> = short.par_iter().flat_map_iter(near).collect();
        found.par_extend(long.par_iter().flat_map_iter(far));
        found.par_sort_unstable();
        found
    }

    /// How many tiles a search without periodic images leaves out, as the paper's code does.
    pub(super) fn without_images(&self, tiles: &[Tile]) -> usize {
        let beyond = |tile: &&Tile| {
            let ((a, ha), (b, hb)) = (&self.boxes[tile.i as usize], &self.boxes[tile.j as usize]);
            let apart: f64 = (0..3)
                .map(|k| ((a[k] - b[k]).abs() - ha[k] - hb[k]).max(0.0).powi(2))
                .sum();
            apart >= (self.cutoff + SKIN).powi(2)
        };
        tiles.iter().filter(beyond).count()
    }

    /// The share of pairs within the cut-off that tiles, in order, do not hold, for some of the ions.
    pub(super) fn missed(&self, tiles: &[Tile], unflagged: u32) -> f64 {
        let there: Vec<usize> = (0..self.slots.len())
            .filter(|&s| self.slots[s] != EMPTY)
            .collect();
        let holds = |a: usize, b: usize| {
            let (first, second) = if a / BLOCK <= b / BLOCK { (a, b) } else { (b, a) };
            let key = ((first / BLOCK) as u32, (second / BLOCK) as u32);
            let found = tiles.binary_search_by_key(&key, |tile| (tile.i, tile.j));
            found.is_ok_and(|at| {
                tiles[at].kind(unflagged) != Kind::Sparse || tiles[at].flags >> (second % BLOCK) & 1 == 1
            })
        };
        let of = |&a: &usize| {
            let (mut all, mut missed) = (0_u64, 0_u64);
            for &b in &there {
                let d = |k: usize| self.nearest(self.places[a][k] - self.places[b][k]);
                let r2: f64 = (0..3).map(|k| d(k) * d(k)).sum();
                if a != b && r2 < self.cutoff * self.cutoff {
                    all += 1;
                    missed += u64::from(!holds(a, b));
                }
            }
            (all, missed)
        };
        let step = there.len().div_ceil(200).max(1);
        let (all, missed) = there
            .par_iter()
            .step_by(step)
            .map(of)
            .reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        missed as f64 / all.max(1) as f64
    }
}
