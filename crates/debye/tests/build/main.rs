//! Systems that are built: counts, geometry, and the same bits for the same seed.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod crystals;
mod liquids;
mod membranes;
mod polymers;

use debye::system::System;

/// The smallest distance of particles of two molecules.
fn nearest(system: &System) -> f64 {
    let p = &system.particles;
    let mut smallest = f64::INFINITY;
    for i in 0..p.len() {
        for j in 0..i {
            if p.molecules[i] != p.molecules[j] {
                let d = system.cell.minimum_image(p.positions[i] - p.positions[j]);
                smallest = smallest.min(d.norm());
            }
        }
    }
    smallest
}
