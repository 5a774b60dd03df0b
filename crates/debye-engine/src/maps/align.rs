//! [`Alignment`]: frames laid over a reference.

use super::MapError;
use crate::expr::{Quat, Vec3, eigenvectors};

/// Turns and moves frames so that some of their atoms lie as near as can be to where they are in a reference.
#[derive(Clone, Debug)]
pub struct Alignment {
    atoms: Vec<usize>,
    /// The reference about its middle.
    reference: Vec<Vec3<f64>>,
    middle: Vec3<f64>,
}

impl Alignment {
    /// Onto these atoms, counted from 0, of a reference.
    pub fn new(reference: &[Vec3<f64>], atoms: Vec<usize>) -> Result<Self, MapError> {
        let places: Vec<Vec3<f64>> = atoms.iter().filter_map(|&i| reference.get(i).copied()).collect();
        if places.len() < 3 || places.len() != atoms.len() {
            return Err(MapError::Alignment(atoms.len(), places.len()));
        }
        let middle = mean(&places);
        Ok(Self {
            atoms,
            reference: places.into_iter().map(|r| r - middle).collect(),
            middle,
        })
    }

    /// Moves a frame; gives the rotation, and the root mean square distance from the reference that is left.
    pub fn apply(&self, positions: &mut [Vec3<f64>]) -> Result<(Quat<f64>, f64), MapError> {
        let here: Vec<Vec3<f64>> = self
            .atoms
            .iter()
            .filter_map(|&i| positions.get(i).copied())
            .collect();
        if here.len() != self.atoms.len() {
            return Err(MapError::Alignment(self.atoms.len(), here.len()));
        }
        let middle = mean(&here);
        let turn = self.turn(&here, middle);
        for r in positions.iter_mut() {
            *r = turn.rotate(*r - middle) + self.middle;
        }
        let apart = self.atoms.iter().zip(&self.reference);
        let square: f64 = apart
            .map(|(&i, r)| (positions[i] - self.middle - *r).norm2())
            .sum();
        Ok((turn, (square / here.len() as f64).sqrt()))
    }

    /// The rotation with the least squares (Horn 1987): the quaternion of the largest eigenvalue of a 4 × 4 matrix.
    fn turn(&self, here: &[Vec3<f64>], middle: Vec3<f64>) -> Quat<f64> {
        let mut s = [[0.0; 3]; 3];
        for (r, to) in here.iter().zip(&self.reference) {
            let from = *r - middle;
            for (a, row) in s.iter_mut().enumerate() {
                for (b, value) in row.iter_mut().enumerate() {
                    *value += from[a] * to[b];
                }
            }
        }
        let [[xx, xy, xz], [yx, yy, yz], [zx, zy, zz]] = s;
        let matrix = [
            [xx + yy + zz, yz - zy, zx - xz, xy - yx],
            [yz - zy, xx - yy - zz, xy + yx, zx + xz],
            [zx - xz, xy + yx, yy - xx - zz, yz + zy],
            [xy - yx, zx + xz, yz + zy, zz - xx - yy],
        ];
        let [.., (_, [w, x, y, z])] = eigenvectors(matrix);
        Quat {
            w,
            v: Vec3::new(x, y, z),
        }
    }
}

fn mean(places: &[Vec3<f64>]) -> Vec3<f64> {
    let sum = places.iter().fold(Vec3::zero(), |sum, &r| sum + r);
    sum * (1.0 / places.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turned_molecule_comes_back() {
        let reference: Vec<Vec3<f64>> = (0..7)
            .map(|i| {
                let x = f64::from(i);
                Vec3::new(x.sin(), (1.7 * x).cos(), 0.3 * x)
            })
            .collect();
        let turn = Quat::about(Vec3::new(0.0, 0.6, 0.8), 2.3);
        let mut moved: Vec<Vec3<f64>> = reference
            .iter()
            .map(|&r| turn.rotate(r) + Vec3::new(1.0, -2.0, 0.5))
            .collect();
        let alignment = Alignment::new(&reference, (0..7).collect()).unwrap();
        assert!(alignment.apply(&mut moved).unwrap().1 < 1e-12);
        for (a, b) in reference.iter().zip(&moved) {
            assert!((*a - *b).norm() < 1e-12);
        }
        assert!(Alignment::new(&reference, vec![0, 99, 2]).is_err());
    }
}
