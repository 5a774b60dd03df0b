//! Checks of a whole system that no single key can fail.

use std::collections::HashMap;

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
/// Time is proportional to the number of particles however they are spread: they are hashed into
/// boxes 16 times as wide as `distance`, and only those near a border look beyond their own.
pub fn check_overlaps(system: &System, distance: f64) -> Option<Overlap> {
    let finite = |r: &Vec3<f64>| r.x.is_finite() && r.y.is_finite() && r.z.is_finite();
    if !(distance.is_finite() && distance > 0.0) {
        return None;
    }
    let cell = &system.cell;
    let width = 16.0 * distance;
    // Positions beyond the range of i64 saturate; they then share a box and are compared.
    let place = |r: Vec3<f64>| r.to_array().map(|x| (x / width).floor() as i64);
    let near_face = cell.heights().to_array().map(|height| distance / height);
    let positions: Vec<Vec3<f64>> = system
        .particles
        .positions
        .iter()
        .map(|r| cell.wrap(*r).0)
        .collect();
    let mut boxes: HashMap<[i64; 3], Vec<u32>> = HashMap::with_capacity(positions.len());
    for (i, &r) in positions.iter().enumerate() {
        if !finite(&r) {
            continue;
        }
        let s = cell.fractional(r).to_array();
        let shifts = |axis: usize| -> &'static [i32] {
            match (
                cell.periodic()[axis],
                s[axis] < near_face[axis],
                s[axis] > 1.0 - near_face[axis],
            ) {
                (false, _, _) | (true, false, false) => &[0],
                (true, true, false) => &[0, 1],
                (true, false, true) => &[0, -1],
                (true, true, true) => &[0, 1, -1],
            }
        };
        let mut looked: Vec<[i64; 3]> = Vec::new();
        for &a in shifts(0) {
            for &b in shifts(1) {
                for &c in shifts(2) {
                    let image = r + cell.translation([a, b, c]);
                    for corner in 0..8 {
                        let side = |bit: u32| {
                            if corner >> bit & 1 == 0 {
                                -distance
                            } else {
                                distance
                            }
                        };
                        let key = place(image + Vec3::new(side(0), side(1), side(2)));
                        if !looked.contains(&key) {
                            looked.push(key);
                        }
                    }
                }
            }
        }
        for &j in looked.iter().filter_map(|key| boxes.get(key)).flatten() {
            let apart = cell.minimum_image(r - positions[j as usize]).norm();
            if apart < distance && !system.exclusions.contains(i as u32, j) {
                return Some(Overlap {
                    particles: [j as usize, i],
                    distance: apart,
                });
            }
        }
        boxes.entry(place(r)).or_default().push(i as u32);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::build::{Lattice, lattice};

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
