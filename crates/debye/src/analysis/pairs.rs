//! Counting pairs by distance, images included, in time proportional to the number of pairs.

use crate::parallel::{InParallel, Indexed, IntoIndexed};

use super::AnalysisError;
use crate::expr::Vec3;
use crate::system::Cell;

/// No more boxes than this are searched around each box.
const MOST_OFFSETS: f64 = 2.0e6;

/// Which pairs count, by the kinds of their two particles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Match {
    /// All.
    Any,
    /// Those of different kinds.
    Different,
}

/// Particles sorted into a grid of boxes that divides the cell.
///
/// Boxes are numbered on without end through the periodic images, so that box + offset names one
/// box of one image: every image within reach is visited exactly once, however small the cell.
pub(crate) struct Grid<'a, T> {
    cell: &'a Cell,
    boxes: [usize; 3],
    start: Vec<u32>,
    /// Positions inside the cell and kinds or numbers, by box.
    sorted: Vec<(Vec3<f64>, T)>,
    offsets: Vec<[i32; 3]>,
    reach: f64,
}

/// Refuses a reach of so many images that counting pairs would never end.
pub(crate) fn check_reach(cell: &Cell, particles: usize, reach: f64) -> Result<(), AnalysisError> {
    divide(cell, particles, reach).map(drop)
}

/// How many boxes a cell of so many particles has along its vectors, and how many of them a search reaches; an absurd
/// reach is refused.
fn divide(cell: &Cell, particles: usize, reach: f64) -> Result<([usize; 3], [f64; 3]), AnalysisError> {
    let heights = cell.heights().to_array();
    let periodic = cell.periodic();
    // Two boxes per reach, but not many more boxes than particles.
    let ideal = heights.map(|h| (2.0 * h / reach).max(1.0));
    let crowd = ideal.iter().product::<f64>() / (particles as f64 + 1.0);
    let shrink = if crowd > 1.0 { crowd.cbrt() } else { 1.0 };
    let boxes = ideal.map(|n| ((n / shrink).floor() as usize).clamp(1, 2000));
    let far: [f64; 3] = std::array::from_fn(|k| {
        let far = (reach * boxes[k] as f64 / heights[k] + 1e-9).ceil();
        if periodic[k] {
            far
        } else {
            far.min(boxes[k] as f64 - 1.0)
        }
    });
    if far.iter().map(|f| 2.0 * f + 1.0).product::<f64>() > MOST_OFFSETS {
        return Err(AnalysisError::Setting {
            analysis: "rdf",
            setting: "r_max",
            value: reach.to_string(),
            expected: format!("not many times the cell's smallest height, {:?}", heights),
        });
    }
    Ok((boxes, far))
}

impl<'a, T: Copy + Default + PartialEq + Send + Sync> Grid<'a, T> {
    /// Sorts particles for a search up to distance `reach`.
    pub(crate) fn new(
        cell: &'a Cell,
        particles: &[(Vec3<f64>, T)],
        reach: f64,
    ) -> Result<Self, AnalysisError> {
        let periodic = cell.periodic();
        let heights = cell.heights().to_array();
        let (boxes, far) = divide(cell, particles.len(), reach)?;
        let place = |r: Vec3<f64>| {
            let s = cell.fractional(r);
            let mut index = 0;
            let mut turns = [0.0; 3];
            for k in 0..3 {
                turns[k] = if periodic[k] { s[k].floor() } else { 0.0 };
                let box_k = ((s[k] - turns[k]) * boxes[k] as f64).max(0.0) as usize;
                index = index * boxes[k] + box_k.min(boxes[k] - 1);
            }
            (index, r - cell.position(turns.into()))
        };
        let mut start = vec![0_u32; boxes.iter().product::<usize>() + 1];
        let placed: Vec<(usize, Vec3<f64>)> = particles.par_iter().map(|&(r, _)| place(r)).collect();
        placed.iter().for_each(|&(index, _)| start[index + 1] += 1);
        for index in 1..start.len() {
            start[index] += start[index - 1];
        }
        let mut next = start.clone();
        let mut sorted = vec![(Vec3::zero(), T::default()); particles.len()];
        for (&(index, r), &(_, kind)) in placed.iter().zip(particles) {
            sorted[next[index] as usize] = (r, kind);
            next[index] += 1;
        }
        let thickness: [f64; 3] = std::array::from_fn(|k| heights[k] / boxes[k] as f64);
        let offsets = offsets(far.map(|f| f as i32), thickness, cell.is_orthorhombic(), reach);
        Ok(Self {
            cell,
            boxes,
            start,
            sorted,
            offsets,
            reach,
        })
    }

    /// How many pairs lie in each of `bins` equal intervals of distance; each pair counted once, a
    /// particle and its own image being a pair too.
    pub(crate) fn histogram(&self, bins: usize, matching: Match) -> Vec<u64> {
        // Whole numbers are added: the order, and with it the number of threads, does not matter.
        (0..self.start.len() - 1).into_par_iter().fold(
            || vec![0_u64; bins],
            |counts, index| self.count_box(index, matching, counts),
            |all, counts| all.iter_mut().zip(counts).for_each(|(a, b)| *a += b),
        )
    }

    fn members(&self, index: usize) -> &[(Vec3<f64>, T)] {
        &self.sorted[self.start[index] as usize..self.start[index + 1] as usize]
    }

    fn count_box(&self, index: usize, matching: Match, counts: &mut [u64]) {
        let scale = counts.len() as f64 / self.reach;
        self.each_pair(index, |kinds, d| {
            if matching == Match::Any || kinds[0] != kinds[1] {
                let bin = (d.norm() * scale) as usize;
                counts[bin.min(counts.len() - 1)] += 1;
            }
        });
    }

    /// Every pair within reach, each once, and the way from the first to the second; always in the same order.
    pub(crate) fn pairs(&self) -> Vec<([T; 2], Vec3<f64>)> {
        let of_box = |index: usize| {
            let mut found = Vec::new();
            self.each_pair(index, |both, d| found.push((both, d)));
            found
        };
        let all: Vec<Vec<_>> = (0..self.start.len() - 1).into_par_iter().map(of_box).collect();
        all.concat()
    }

    /// The pairs of a box with itself and with those after it.
    fn each_pair(&self, index: usize, mut visit: impl FnMut([T; 2], Vec3<f64>)) {
        let own = self.members(index);
        if own.is_empty() {
            return;
        }
        let reach2 = self.reach * self.reach;
        let mut look = |(a, first): (Vec3<f64>, T), (b, second): (Vec3<f64>, T)| {
            if (b - a).norm2() < reach2 {
                visit([first, second], b - a);
            }
        };
        for (i, &a) in own.iter().enumerate() {
            own[i + 1..].iter().for_each(|&b| look(a, b));
        }
        let [nx, ny, nz] = self.boxes.map(|n| n as i32);
        let index = index as i32;
        let here = [index / (ny * nz), index / nz % ny, index % nz];
        for offset in &self.offsets {
            let mut turns = [0_i32; 3];
            let mut there = [0_i32; 3];
            for (k, n) in [nx, ny, nz].into_iter().enumerate() {
                turns[k] = (here[k] + offset[k]).div_euclid(n);
                there[k] = (here[k] + offset[k]).rem_euclid(n);
            }
            if (0..3).any(|k| turns[k] != 0 && !self.cell.periodic()[k]) {
                continue;
            }
            let others = self.members(((there[0] * ny + there[1]) * nz + there[2]) as usize);
            let shift = self.cell.translation(turns);
            for &(a, tag) in own {
                others.iter().for_each(|&b| look((a - shift, tag), b));
            }
        }
    }
}

/// Half of the offsets between boxes that may hold a pair within reach: one of each o, −o.
fn offsets(far: [i32; 3], thickness: [f64; 3], right_angled: bool, reach: f64) -> Vec<[i32; 3]> {
    let mut found = Vec::new();
    for x in 0..=far[0] {
        for y in -far[1]..=far[1] {
            for z in -far[2]..=far[2] {
                let offset = [x, y, z];
                if offset <= [0; 3] {
                    continue;
                }
                let gap: [f64; 3] = std::array::from_fn(|k| {
                    f64::from((offset[k].abs() - 1).max(0)) * thickness[k] * (1.0 - 1e-9)
                });
                let near = if right_angled {
                    gap.iter().map(|g| g * g).sum::<f64>() <= reach * reach
                } else {
                    gap.iter().all(|&g| g <= reach)
                };
                if near {
                    found.push(offset);
                }
            }
        }
    }
    found
}
