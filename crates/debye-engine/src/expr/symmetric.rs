//! Symmetric matrices.

use super::Vec3;

/// Eigenvalues of a symmetric matrix and their unit vectors, smallest first, by Jacobi's rotations.
pub(crate) fn eigenvectors<const N: usize>(mut a: [[f64; N]; N]) -> [(f64, [f64; N]); N] {
    let mut v: [[f64; N]; N] = std::array::from_fn(|i| std::array::from_fn(|j| f64::from(u8::from(i == j))));
    for _ in 0..12 {
        for p in 0..N {
            for q in p + 1..N {
                if a[p][q] == 0.0 {
                    continue;
                }
                let theta = 0.5 * (a[q][q] - a[p][p]) / a[p][q];
                let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
                let c = t.hypot(1.0).recip();
                let s = t * c;
                for row in a.iter_mut().chain(&mut v) {
                    (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
                }
                let (above, below) = (a[p], a[q]);
                a[p] = std::array::from_fn(|k| c * above[k] - s * below[k]);
                a[q] = std::array::from_fn(|k| s * above[k] + c * below[k]);
            }
        }
    }
    let mut all: [(f64, [f64; N]); N] = std::array::from_fn(|k| (a[k][k], v.map(|row| row[k])));
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all
}

/// Eigenvalues of a symmetric 3 × 3 matrix (xx, yy, zz, xy, xz, yz), smallest first, and their unit vectors.
pub fn eigen([xx, yy, zz, xy, xz, yz]: [f64; 6]) -> [(f64, Vec3<f64>); 3] {
    eigenvectors([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        .map(|(value, vector)| (value, Vec3::from(vector)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eigenvalues_and_vectors_of_a_known_matrix() {
        // Eigenvalues 1, 2, 4 along (1, −1, 0)/√2, (0, 0, 1), (1, 1, 0)/√2.
        let [(a, u), (b, v), (c, w)] = eigen([2.5, 2.5, 2.0, 1.5, 0.0, 0.0]);
        for (found, expected) in [(a, 1.0), (b, 2.0), (c, 4.0)] {
            assert!((found - expected).abs() < 1e-14, "{found}");
        }
        assert!((u.x + u.y).abs() < 1e-14 && v.z.abs() > 1.0 - 1e-14 && (w.x - w.y).abs() < 1e-14);
    }
}
