//! [`Choice`]: how a simulation is laid out on a device, by rule or, for tests and measurements, as told.

use crate::system::Cell;

/// Up to so many particles a small system's kernel is the faster one.
const SMALL: usize = 12_000;
/// The most particles that lists with images can name.
pub(super) const MOST: usize = 65_535;

/// What to override; all by rule if nothing is set. For tests and measurements.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Choice {
    /// Whether to take the kernel for small systems.
    pub small: Option<bool>,
    /// Lanes that share a particle of a small system.
    pub lanes: Option<u32>,
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
        let long_enough = shortest(cell) >= 2.0 * (cutoff + buffer.unwrap_or(0.16 * cutoff));
        let by_rule = particles <= SMALL || (!long_enough && particles <= MOST);
        self.small.unwrap_or(by_rule)
    }
}

/// The buffer of a small system: lists are cheap to walk and dear to make. Where a somewhat shorter one keeps the cell as long
/// as twice the radius, so that no images need be told apart, it is that.
pub(super) fn buffer(cell: &Cell, cutoff: f64) -> f64 {
    let wanted = 0.32 * cutoff;
    let fitting = 0.5 * shortest(cell) * (1.0 - 1e-12) - cutoff;
    if fitting >= 0.12 * cutoff {
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
