//! [`SharedRows`]: particles that share a row of the list of neighbors, the atoms of a water above all.
//!
//! Whoever is near one of them is near the others, so their neighbors are brought together once for all of them, and
//! their sums, which do not wait for each other, fill the processor.

use crate::expr::Vec3;
use crate::neighbors::Sharing;
use crate::system::{Cell, System};

/// A particle and its companions.
const ATOMS: usize = 3;

/// How far companions may be from the first of them, in cut-offs: beyond, a row has too many that are near another only.
const MOST_ARM: f64 = 0.2;

/// Which particles are companions, by their numbers in the input.
#[derive(Clone, Debug)]
pub(super) struct SharedRows {
    /// The others of the first of a few companions; empty for everybody else.
    others: Vec<Option<[u32; ATOMS - 1]>>,
    /// Whether a particle is one of the others.
    follows: Vec<bool>,
}

impl SharedRows {
    /// Those that are left out of each other's pairs and of no others, and kept together by bonds or fixed distances, where most
    /// particles are so and close together.
    pub(super) fn of(system: &System, cutoff: f64) -> Option<Self> {
        let n = system.particles.len();
        let mut ties = vec![0_u8; n];
        let bonds = system.topology.bonds.iter().map(|bond| bond.atoms);
        let distances = system.constraints.pairs().map(|(atoms, _)| atoms);
        for i in bonds.chain(distances).flatten() {
            ties[i as usize] = ties[i as usize].saturating_add(1);
        }
        let mut found = Self {
            others: vec![None; n],
            follows: vec![false; n],
        };
        let positions = &system.particles.positions;
        let mut count = 0;
        for i in 0..n as u32 {
            let Ok(others) = <[u32; ATOMS - 1]>::try_from(system.exclusions.of(i)) else {
                continue;
            };
            let all = |j: &u32| *j == i || others.contains(j);
            let alone = others.iter().all(|&j| {
                j > i && system.exclusions.of(j).len() == ATOMS - 1 && system.exclusions.of(j).iter().all(all)
            });
            // Two bonds among three particles that have no other partners.
            let tied: u32 = std::iter::once(i)
                .chain(others)
                .map(|j| u32::from(ties[j as usize]))
                .sum();
            if !alone || tied < 2 * (ATOMS as u32 - 1) {
                continue;
            }
            let far = |&j: &u32| {
                let d = positions[j as usize] - positions[i as usize];
                system.cell.minimum_image(d).norm() > MOST_ARM * cutoff
            };
            if others.iter().any(far) {
                return None;
            }
            others.iter().for_each(|&j| found.follows[j as usize] = true);
            found.others[i as usize] = Some(others);
            count += ATOMS;
        }
        (2 * count > n).then_some(found)
    }

    /// All particles, companions behind the first of them.
    pub(super) fn order(&self) -> Vec<u32> {
        let firsts = (0..self.others.len() as u32).filter(|&i| !self.follows[i as usize]);
        firsts
            .flat_map(|i| std::iter::once(i).chain(self.others[i as usize].into_iter().flatten()))
            .collect()
    }

    /// Who shares a row, among particles in this order.
    pub(super) fn sharing(&self, ids: &[u32]) -> Sharing {
        let mut sharing = vec![1; ids.len()];
        for (slot, &id) in ids.iter().enumerate() {
            if let Some(others) = &self.others[id as usize]
                && ids[slot + 1..].starts_with(others)
            {
                sharing[slot..slot + ATOMS].fill(0);
                sharing[slot] = ATOMS as u8;
            }
        }
        sharing
    }
}

/// The first of the companions of each particle, itself where it has none.
#[inline(always)]
pub(super) fn first_of(sharing: &[u8], slot: usize) -> usize {
    let mut first = slot;
    while sharing.get(first) == Some(&0) {
        first -= 1;
    }
    first
}

/// Pairs of a particle and the first of its companions.
fn pairs(sharing: &[u8]) -> impl Iterator<Item = (usize, usize)> {
    let firsts = sharing.iter().enumerate().filter(|(_, alike)| **alike > 1);
    firsts.flat_map(|(first, &alike)| (1..usize::from(alike)).map(move |k| (first + k, first)))
}

/// How far companions are from the first of them at most.
pub(super) fn arm(positions: &[Vec3<f64>], sharing: &[u8]) -> f64 {
    let far = pairs(sharing).map(|(k, first)| (positions[k] - positions[first]).norm2());
    far.fold(0.0, f64::max).sqrt()
}

/// Moves companions to the images that are next to the first of them, counting in `images`.
pub(super) fn gather(cell: &Cell, sharing: &[u8], positions: &mut [Vec3<f64>], images: &mut [[i32; 3]]) {
    let heights = cell.heights();
    let near = (0.5 * heights.x.min(heights.y).min(heights.z)).powi(2);
    for (k, first) in pairs(sharing) {
        let d = positions[k] - positions[first];
        if d.norm2() < near {
            continue;
        }
        let away = cell.fractional(d - cell.minimum_image(d));
        let n: [i32; 3] = std::array::from_fn(|axis| away[axis].round() as i32);
        positions[k] -= cell.translation(n);
        for (total, moved) in images[k].iter_mut().zip(n) {
            *total += moved;
        }
    }
}

/// Whether particles are inside the cell, and companions next to the first of them.
pub(super) fn are_gathered(cell: &Cell, positions: &[Vec3<f64>], sharing: &[u8]) -> bool {
    // Rounding may leave a particle just outside.
    const SLIGHTLY: f64 = 1e-6;
    let inside = |slot: usize| {
        let s = cell.fractional(positions[first_of(sharing, slot)]);
        let range = -SLIGHTLY..=1.0 + SLIGHTLY;
        (0..3).all(|axis| !cell.periodic()[axis] || range.contains(&s[axis]))
    };
    let heights = cell.heights();
    let near = 0.5 * heights.x.min(heights.y).min(heights.z);
    (0..positions.len()).all(inside) && arm(positions, sharing) <= near
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atoms_of_a_water_come_together() {
        let cell = Cell::triclinic([[3.0, 0.0, 0.0], [0.9, 2.8, 0.0], [-0.7, 0.5, 3.1]]).unwrap();
        let sharing = [1, 3, 0, 0, 3, 0, 0, 1];
        let whole: Vec<_> = [2.9, 0.05, 0.1, 0.02, 1.5, 1.55, 1.45, 0.0]
            .into_iter()
            .map(|x| cell.position(Vec3::new(x / 3.0, 0.99, 0.01)))
            .collect();
        let (mut positions, mut images): (Vec<_>, Vec<_>) = whole.iter().map(|&r| cell.wrap(r)).unzip();
        positions[2] += cell.translation([2, -1, 1]);
        images[2] = [-2, 1, -1];
        positions[6] += cell.translation([0, 0, -1]);
        images[6] = [0, 0, 1];
        gather(&cell, &sharing, &mut positions, &mut images);
        for (k, first) in pairs(&sharing) {
            assert!(
                (positions[k] - positions[first]).norm() < 0.2,
                "{k} {positions:?}"
            );
            assert_eq!(first_of(&sharing, k), first);
        }
        for ((r, n), whole) in positions.iter().zip(images).zip(whole) {
            assert!((*r + cell.translation(n) - whole).norm() < 1e-12);
        }
        assert!((0.04..0.1).contains(&arm(&positions, &sharing)));
    }
}
