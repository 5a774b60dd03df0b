//! Checks of a whole system that no single key can fail.

use crate::parallel::{InParallel, Indexed, IntoIndexed};

use crate::expr::Vec3;
use crate::system::System;

/// Two particles on top of one another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overlap {
    /// The two, counted from 0, in order.
    pub particles: [usize; 2],
    /// Their distance.
    pub distance: f64,
}

/// The first pair of particles closer than `distance`, excluded pairs left aside; `None` where there
/// is none.
///
/// Time is proportional to the number of particles however they are spread: they are hashed by boxes
/// 16 times as wide as `distance`, and only those near a border look beyond their own.
pub fn check_overlaps(system: &System, distance: f64) -> Option<Overlap> {
    if !(distance.is_finite() && distance > 0.0) {
        return None;
    }
    let cell = &system.cell;
    let width = 16.0 * distance;
    let near_face = cell.heights().to_array().map(|height| distance / height);
    let positions: Vec<Vec3<f64>> = system
        .particles
        .positions
        .par_iter()
        .map(|r| cell.wrap(*r).0)
        .collect();
    // Buckets hold the last particle put there, which leads to the one before it. Two boxes may share
    // a bucket: the distance decides.
    let bits = (2 * positions.len()).max(2).next_power_of_two().trailing_zeros();
    let mut last = vec![NO_PARTICLE; 1 << bits];
    let mut before = vec![NO_PARTICLE; positions.len()];
    // Positions beyond the range of i64 saturate.
    let place = |x: f64| (x / width).floor() as i64;
    let bucket = |place: [i64; 3]| {
        let [x, y, z] = place.map(|x| x as u64);
        let mixed = x.wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ y.wrapping_mul(0xc2b2_ae3d_27d4_eb4f).rotate_left(21)
            ^ z.wrapping_mul(0x1656_67b1_9e37_79f9).rotate_left(42);
        (mixed.wrapping_mul(0xff51_afd7_ed55_8ccd) >> (64 - bits)) as usize
    };
    for (i, r) in positions.iter().enumerate().filter(|(_, r)| is_finite(r)) {
        let own = bucket(r.to_array().map(place));
        before[i] = std::mem::replace(&mut last[own], i as u32);
    }
    // Everyone looks for those before them, so that the first to find one is the same on any number of threads.
    let look = |looked: &mut Vec<usize>, i: usize| {
        let r = positions[i];
        if !is_finite(&r) {
            return None;
        }
        let s = cell.fractional(r).to_array();
        let shifts: [&[i32]; 3] = std::array::from_fn(|axis| {
            let (low, high) = (s[axis] < near_face[axis], s[axis] > 1.0 - near_face[axis]);
            match (cell.periodic()[axis], low, high) {
                (false, _, _) | (true, false, false) => &[0][..],
                (true, true, false) => &[0, 1],
                (true, false, true) => &[0, -1],
                (true, true, true) => &[0, 1, -1],
            }
        });
        looked.clear();
        for &a in shifts[0] {
            for &b in shifts[1] {
                for &c in shifts[2] {
                    let image = (r + cell.translation([a, b, c])).to_array();
                    let [x, y, z] = image.map(|x| [place(x - distance), place(x + distance)]);
                    for corner in 0..8 {
                        let at = [x[corner & 1], y[corner >> 1 & 1], z[corner >> 2]];
                        // A corner in the same box as the one before it along an axis adds nothing.
                        let new = [(x, 1), (y, 2), (z, 4)]
                            .iter()
                            .all(|(ends, bit)| corner & bit == 0 || ends[0] != ends[1]);
                        let at = bucket(at);
                        if new && !looked.contains(&at) {
                            looked.push(at);
                        }
                    }
                }
            }
        }
        for &at in looked.iter() {
            let mut j = last[at];
            while j != NO_PARTICLE {
                let apart = || cell.minimum_image(r - positions[j as usize]).norm();
                let apart = if (j as usize) < i { apart() } else { distance };
                if apart < distance && !system.exclusions.contains(i as u32, j) {
                    return Some(Overlap {
                        particles: [j as usize, i],
                        distance: apart,
                    });
                }
                j = before[j as usize];
            }
        }
        None
    };
    let blocks = 0..positions.len().div_ceil(BLOCK);
    let of_block = |looked: &mut Vec<usize>, block: usize| {
        let mut those = block * BLOCK..positions.len().min((block + 1) * BLOCK);
        those.find_map(|i| look(looked, i))
    };
    let found: Vec<Option<Overlap>> = blocks.into_par_iter().map_init(Vec::new, of_block).collect();
    found.into_iter().flatten().next()
}

fn is_finite(r: &Vec3<f64>) -> bool {
    r.x.is_finite() && r.y.is_finite() && r.z.is_finite()
}

/// Particles that are looked at together.
const BLOCK: usize = 1024;

/// The end of a chain of particles.
const NO_PARTICLE: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::builders::{Lattice, lattice};

    fn crystal() -> System {
        lattice(Lattice::Fcc, [4, 4, 4]).density(0.8442).build().unwrap()
    }

    #[test]
    fn crystals_do_not_overlap() {
        let system = crystal();
        assert_eq!(check_overlaps(&system, 0.01), None);
        let nearest = 0.5f64.sqrt() * (4.0 / 0.8442f64).cbrt();
        assert_eq!(check_overlaps(&system, 0.999 * nearest), None);
        assert!(check_overlaps(&system, 1.001 * nearest).is_some());
    }

    #[test]
    fn found_inside_and_across_the_border() {
        let mut system = crystal();
        system.particles.positions[200] = system.particles.positions[7] + Vec3::new(0.0, 5e-4, 0.0);
        let overlap = check_overlaps(&system, 1e-3).unwrap();
        assert_eq!(overlap.particles, [7, 200]);
        assert!((overlap.distance - 5e-4).abs() < 1e-9);

        let mut system = crystal();
        let side = system.cell.vectors().x.x;
        system.particles.positions[90] = Vec3::new(side - 2e-4, -2e-4, 3.0 * side);
        assert_eq!(check_overlaps(&system, 1e-3).unwrap().particles, [0, 90]);
        system.cell = system.cell.with_periodicity([false; 3]);
        assert_eq!(check_overlaps(&system, 1e-3), None);
    }

    /// Against all pairs, in a triclinic cell with positions of any size.
    #[test]
    fn agrees_with_all_pairs() {
        let mut system = crystal();
        system.cell =
            crate::system::Cell::triclinic([[3.0, 0.0, 0.0], [1.0, 2.5, 0.0], [-0.7, 0.4, 2.0]]).unwrap();
        let mut state = 1u64;
        for r in &mut system.particles.positions {
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 40) as f64 / (1u64 << 24) as f64 * 9.0 - 3.0
            };
            *r = Vec3::new(next(), next(), next());
        }
        let positions = &system.particles.positions;
        let mut smallest = f64::INFINITY;
        for i in 0..positions.len() {
            for j in 0..i {
                smallest = smallest.min(system.cell.minimum_image(positions[i] - positions[j]).norm());
            }
        }
        assert_eq!(check_overlaps(&system, smallest * (1.0 - 1e-9)), None);
        let found = check_overlaps(&system, smallest * (1.0 + 1e-9)).unwrap();
        assert!((found.distance / smallest - 1.0).abs() < 1e-9);
    }
}
