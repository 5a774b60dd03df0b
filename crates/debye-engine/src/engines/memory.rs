//! How much memory there is, and how much lists of neighbors take.

use crate::expr::Vec3;
use crate::neighbors::Grid;
use crate::system::Cell;

use super::EngineError;

/// Bytes of an image: coordinates, species, charge, whose it is and where.
const BYTES_PER_IMAGE: f64 = 64.0;
/// Bytes a neighbor takes in a list.
const BYTES_PER_NEIGHBOR: f64 = 4.0;

/// Bytes of memory that are free, where the operating system says so.
pub fn available() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<usize>().ok()? * 1024)
}

/// Refuses lists that the memory cannot hold. There are so many `rows`; `starts` are those of the particles sorted into
/// `grid`.
pub(crate) fn refuse_large_lists(
    cell: &Cell,
    positions: &[Vec3<f64>],
    rows: usize,
    radius: f64,
    grid: &Grid,
    starts: &[u32],
) -> Result<(), EngineError> {
    let n = positions.len() as f64;
    let (uniform, copies) = spread(cell, positions, radius);
    // Where particles lie in drops, by their own cells of the grid.
    let others: f64 = starts
        .windows(2)
        .map(|pair| f64::from(pair[1] - pair[0]))
        .map(|count| count * (count - 1.0).max(0.0))
        .sum();
    let sphere = 4.0 / 3.0 * std::f64::consts::PI * radius.powi(3);
    let crowded = others / n * sphere / grid.cell_volume();
    let neighbors = uniform.max(crowded).min(n * copies);
    let images = n * (copies - 1.0);
    let needed = BYTES_PER_NEIGHBOR * rows as f64 * neighbors + BYTES_PER_IMAGE * images;
    match available() {
        Some(bytes) if needed > bytes as f64 => Err(EngineError::Memory {
            radius,
            neighbors,
            images,
            needed,
            available: bytes as f64,
        }),
        _ => Ok(()),
    }
}

/// Neighbors of a particle where particles are spread evenly, and how often each is there, images included.
fn spread(cell: &Cell, positions: &[Vec3<f64>], radius: f64) -> (f64, f64) {
    let heights = cell.heights().to_array();
    let (mut part, mut copies, mut covered) = (1.0, 1.0, 0);
    for (k, height) in heights.into_iter().enumerate() {
        if cell.periodic()[k] {
            part *= 2.0 * radius / height;
            copies *= 1.0 + 2.0 * radius / height;
            continue;
        }
        let (low, high) = positions
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), r| {
                (low.min(r[k]), high.max(r[k]))
            });
        if high - low > 2.0 * radius {
            part *= 2.0 * radius / (high - low);
        } else {
            covered += 1;
        }
    }
    // A ball fills so much of the box around it, a disc of its square.
    let filled = [std::f64::consts::FRAC_PI_6, std::f64::consts::FRAC_PI_4, 1.0, 1.0][covered];
    (positions.len() as f64 * part * filled, copies)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::builders::{Lattice, lattice};

    #[test]
    fn neighbors_of_crystals_and_sheets() {
        let mut system = lattice(Lattice::Fcc, [4, 4, 4]).density(0.8).build().unwrap();
        let positions = &mut system.particles.positions;
        for radius in [2.0, 30.0] {
            let (neighbors, copies) = spread(&system.cell, positions, radius);
            let expected = 0.8 * 4.0 / 3.0 * std::f64::consts::PI * radius.powi(3);
            assert!((neighbors / expected - 1.0).abs() < 1e-9);
            assert!(copies > 1.0);
        }
        // A sheet has no volume, and an open cell no images.
        positions.iter_mut().for_each(|r| r.z = 0.0);
        let open = system.cell.with_periodicity([false; 3]);
        let (neighbors, copies) = spread(&open, positions, 1.0);
        assert!(neighbors < 40.0 && copies == 1.0, "{neighbors}");
        assert_eq!(spread(&open, positions, 1e9).0, 256.0);
    }
}
