//! Places for a given number of molecules, evenly spread over any cell.

use crate::expr::Vec3;
use crate::system::Cell;

/// Basis of the lattices that are tried, as fractions of a small cell.
const LATTICES: [&[[f64; 3]]; 3] = [
    &[[0.5, 0.5, 0.5]],
    &[[0.25, 0.25, 0.25], [0.75, 0.75, 0.75]],
    &[
        [0.25, 0.25, 0.25],
        [0.75, 0.75, 0.25],
        [0.75, 0.25, 0.75],
        [0.25, 0.75, 0.75],
    ],
];

/// This many places: those of the simple, body-centerd or face-centerd lattice that keeps them farthest apart. What the
/// lattice has more than are wanted stays empty, spread evenly.
pub(super) fn spread(cell: &Cell, wanted: usize) -> Vec<Vec3<f64>> {
    let candidates = LATTICES.map(|basis| {
        let counts = divide(cell, wanted.div_ceil(basis.len()));
        (basis, counts, nearest(cell, basis, counts))
    });
    let best = candidates
        .into_iter()
        .reduce(|best, other| if other.2 > best.2 { other } else { best });
    let Some((basis, [nx, ny, nz], _)) = best else {
        return Vec::new();
    };
    let total = nx * ny * nz * basis.len();
    let place = |site: usize| {
        let (small, [x, y, z]) = (site / basis.len(), basis[site % basis.len()]);
        let [i, j, k] = [small % nx, small / nx % ny, small / (nx * ny)];
        cell.position(Vec3::new(
            (i as f64 + x) / nx as f64,
            (j as f64 + y) / ny as f64,
            (k as f64 + z) / nz as f64,
        ))
    };
    // Products of two numbers below 2³² fit into 64 bits.
    let chosen = |n: usize| (n as u64 * total as u64 / wanted.max(1) as u64) as usize;
    (0..wanted).map(|n| place(chosen(n))).collect()
}

/// How often to divide the cell along each vector for at least this many small cells, as nearly cubic as can be.
fn divide(cell: &Cell, small_cells: usize) -> [usize; 3] {
    let heights = cell.heights().to_array();
    let mut counts = [1usize; 3];
    while counts.iter().product::<usize>() < small_cells {
        let height = |axis: usize| heights[axis] / (counts[axis] + 1) as f64;
        let widest = (1..3).fold(
            0,
            |best, axis| {
                if height(axis) > height(best) { axis } else { best }
            },
        );
        counts[widest] += 1;
    }
    counts
}

/// The smallest distance between two places, images included.
fn nearest(cell: &Cell, basis: &[[f64; 3]], counts: [usize; 3]) -> f64 {
    let first = basis[0];
    let mut smallest = f64::INFINITY;
    for other in basis {
        for shift in 0..125 {
            let n = [shift % 5, shift / 5 % 5, shift / 25].map(|k| f64::from(k) - 2.0);
            let s: [f64; 3] = std::array::from_fn(|k| (other[k] - first[k] + n[k]) / counts[k] as f64);
            let distance = cell.position(Vec3::from(s)).norm();
            if distance > 0.0 {
                smallest = smallest.min(distance);
            }
        }
    }
    smallest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn smallest(cell: &Cell, places: &[Vec3<f64>]) -> f64 {
        let mut smallest = f64::INFINITY;
        for i in 0..places.len() {
            for j in 0..i {
                smallest = smallest.min(cell.minimum_image(places[i] - places[j]).norm());
            }
        }
        smallest
    }

    /// As many as asked for, inside, and never much closer than close packing of so many allows.
    #[test]
    fn any_number_in_any_cell() {
        let cells = [
            Cell::orthorhombic([1.0, 1.0, 1.0]).unwrap(),
            Cell::orthorhombic([3.0, 1.0, 0.5]).unwrap(),
            Cell::triclinic([[2.0, 0.0, 0.0], [0.7, 1.5, 0.0], [-0.5, 0.4, 1.2]]).unwrap(),
        ];
        for cell in &cells {
            for wanted in [0, 1, 2, 3, 4, 7, 27, 100, 217, 500] {
                let places = spread(cell, wanted);
                assert_eq!(places.len(), wanted);
                for r in &places {
                    assert_eq!(cell.wrap(*r).1, [0; 3], "{wanted}");
                }
                if wanted > 20 {
                    let packed = (std::f64::consts::SQRT_2 * cell.volume() / wanted as f64).cbrt();
                    let found = smallest(cell, &places);
                    assert!(found > 0.72 * packed, "{wanted}: {found} {packed}");
                }
            }
        }
    }

    #[test]
    fn full_lattices_where_the_number_allows() {
        let cell = Cell::orthorhombic([2.0; 3]).unwrap();
        // Four per cell: face-centerd, the densest.
        let places = spread(&cell, 4 * 27);
        assert!((smallest(&cell, &places) - 2.0 / 3.0 / 2f64.sqrt()).abs() < 1e-12);
    }
}
