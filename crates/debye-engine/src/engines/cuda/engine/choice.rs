//! [`Choice`]: how a simulation is laid out on a device, by rule or, for tests and measurements, as told.

use super::bodies::Bodies;
use super::constraints::HostConstraints;
use crate::engines::Settings;
use crate::system::{Cell, System};

/// Up to so many particles a small system's kernel is the faster one.
const SMALL: usize = 12_000;
/// The most particles that lists with images can name.
pub(super) const MOST: usize = 65_535;

/// Buffers of the lists of a large system, in cut-offs. Anchors of molecules move slowly; terms of orientations take long,
/// also for pairs that are too far.
const PARTICLES: f64 = 0.16;
const MOLECULES: f64 = 0.08;
const TURNING: f64 = 0.11;
/// The least buffer, in cut-offs, that makes room in a short cell.
const LEAST: f64 = 0.03;

/// What to override; all by rule if nothing is set. For tests and measurements.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Choice {
    /// Whether snapshots of steps to come are queued ahead; `None`: where steps do not take long.
    pub ahead: Option<bool>,
    /// Whether to take the kernel for small systems.
    pub small: Option<bool>,
    /// Threads that share a particle: a power of two.
    pub lanes: Option<u32>,
    /// Whether lists know rigid molecules instead of particles, where they can.
    pub molecules: Option<bool>,
    /// Threads of a block.
    pub threads: Option<u32>,
    /// Buffer of the lists beyond the cut-off, instead of the one in the settings.
    pub buffer: Option<f64>,
    /// Room for entries in the list of a particle at first.
    pub capacity: Option<u32>,
    /// Whether lists are kept in shared memory.
    pub staged: Option<bool>,
    /// Whether positions are read through the first cache.
    pub cached: Option<bool>,
    /// Whether the kind of lists of a large system is chosen by their speed.
    pub measure: Option<bool>,
}

impl Choice {
    /// Whether a system is small. `cutoff` is the longest.
    pub(super) fn is_small(&self, particles: usize, cell: &Cell, cutoff: f64, buffer: Option<f64>) -> bool {
        let long_enough = shortest(cell) >= 2.0 * (cutoff + buffer.unwrap_or(PARTICLES * cutoff));
        let by_rule = particles <= SMALL || (!long_enough && particles <= MOST);
        self.small.unwrap_or(by_rule)
    }

    /// What lists of a large system know of, and their buffer beyond the cut-off. Where a cell is too short for the lists of
    /// molecules, these are particles.
    pub(super) fn bodies(
        &self,
        system: &System,
        constrained: Option<&HostConstraints>,
        kind_of: &[u32],
        cutoff: f64,
        settings: &Settings,
        moving: bool,
    ) -> (Bodies, f64) {
        let asked = self.buffer.or(settings.buffer);
        let particles = system.particles.len();
        let molecules = constrained
            .filter(|_| self.molecules.unwrap_or(true))
            .and_then(|constrained| Bodies::molecules(system, constrained, kind_of, self.lanes));
        if let Some(bodies) = molecules {
            let buffer = asked.unwrap_or(MOLECULES * cutoff);
            if 2.0 * (cutoff + 2.0 * bodies.arm() + buffer) <= shortest(&system.cell) {
                return (bodies, buffer);
            }
        }
        let turning = !system.particles.orientations.is_empty();
        let lanes = self
            .lanes
            .map_or_else(|| lanes(particles), |lanes| lanes as usize);
        let wanted = if turning { TURNING } else { PARTICLES } * cutoff;
        // A barostat may shrink the cell.
        let by_rule = if moving {
            wanted
        } else {
            fitting(&system.cell, cutoff, wanted, LEAST * cutoff)
        };
        (
            Bodies::particles(particles, lanes.clamp(1, 8)),
            asked.unwrap_or(by_rule),
        )
    }
}

/// Threads of a particle: more where there are too few particles to keep a device busy.
fn lanes(particles: usize) -> usize {
    match particles {
        0..16_000 => 8,
        16_000..40_000 => 4,
        _ => 1,
    }
}

/// The buffer of a small system: lists are cheap to walk and dear to make. Where a somewhat shorter one keeps the cell as long
/// as twice the radius, so that no images need be told apart, it is that.
pub(super) fn buffer(cell: &Cell, cutoff: f64) -> f64 {
    fitting(cell, cutoff, 0.32 * cutoff, 0.12 * cutoff)
}

/// The wanted buffer, or where the cell is too short for it what fits, if that is not less than the least.
fn fitting(cell: &Cell, cutoff: f64, wanted: f64, least: f64) -> f64 {
    let fitting = 0.5 * shortest(cell) * (1.0 - 1e-12) - cutoff;
    if fitting >= least {
        wanted.min(fitting)
    } else {
        wanted
    }
}

fn shortest(cell: &Cell) -> f64 {
    let h = cell.heights();
    h.x.min(h.y).min(h.z)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_looks_at_size_and_cell_alone() {
        let cell = |l: f64| Cell::orthorhombic([l, l + 1.0, l + 2.0]).unwrap();
        let rule = Choice::default();
        assert!(rule.is_small(1000, &cell(10.0), 2.5, None));
        assert!(!rule.is_small(20_000, &cell(10.0), 2.5, None));
        assert!(rule.is_small(20_000, &cell(5.5), 2.5, None));
        assert!(rule.is_small(20_000, &cell(10.0), 2.5, Some(3.0)));
        assert!(!rule.is_small(80_000, &cell(5.5), 2.5, None));
        let told = Choice {
            small: Some(false),
            ..rule
        };
        assert!(!told.is_small(1000, &cell(10.0), 2.5, None));
    }

    #[test]
    fn a_buffer_gives_way_to_the_cell_if_it_can() {
        let cell = |l: f64| Cell::orthorhombic([l; 3]).unwrap();
        assert_eq!(buffer(&cell(10.0), 2.5), 0.8);
        assert!((buffer(&cell(6.0), 2.5) - 0.5).abs() < 1e-9);
        assert_eq!(buffer(&cell(5.2), 2.5), 0.8);
        assert_eq!(buffer(&cell(2.0), 2.5), 0.8);
    }
}
