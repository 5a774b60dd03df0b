//! [`PotentialProfile`]: the mean of the potential over planes across an axis of a periodic cell.

use std::f64::consts::TAU;

use crate::parallel::{Indexed, IntoIndexed};

use super::average::standard_error;
use super::{MapError, PointCharges};
use crate::system::{Cell, Units};

/// Blocks of frames that errors come from.
const BLOCKS: usize = 10;

/// Profiles of frames, one after the other, and their mean.
///
/// The mean over a plane is that of sheets of charge and their images: a sum over charges of 2πk/A (−|u| + u²/L + L/6),
/// u the distance along the axis to the nearest image, exact also for planes through charges. The mean over the cell is
/// zero.
#[derive(Clone, Debug)]
pub struct PotentialProfile {
    axis: usize,
    points: usize,
    corner: f64,
    permittivity: f64,
    edge: f64,
    frames: Vec<Vec<f64>>,
}

impl PotentialProfile {
    /// At so many places from a corner of the cell on, across axis 0, 1 or 2.
    pub fn new(axis: usize, points: usize, corner: f64, permittivity: f64) -> Self {
        Self {
            axis: axis.min(2),
            points,
            corner,
            permittivity,
            edge: 0.0,
            frames: Vec::new(),
        }
    }

    /// Adds a frame.
    pub fn add(&mut self, charges: &PointCharges, cell: &Cell) -> Result<(), MapError> {
        if !cell.is_orthorhombic() || cell.periodic() != [true; 3] {
            return Err(MapError::Profile);
        }
        let vectors = cell.to_arrays();
        let edge = vectors[self.axis][self.axis];
        let scale = TAU * Units::Md.coulomb_constant() / self.permittivity * edge / cell.volume();
        let values = (0..self.points).into_par_iter().map(|i| {
            let at = self.corner + edge * i as f64 / self.points as f64;
            let of = |x: f64, q: f64| {
                let u = (at - x) / edge;
                let u = (u - u.round()).abs();
                q * edge * (u * u - u + 1.0 / 6.0)
            };
            let all = charges.positions().iter().zip(charges.charges());
            scale * all.map(|(r, &q)| of(r[self.axis], q)).sum::<f64>()
        });
        self.frames.push(values.collect());
        self.edge += edge;
        Ok(())
    }

    /// Coordinate in nm, mean and standard error in kJ/mol/e. The error is that of the means of ten blocks of
    /// successive frames; NaN with fewer frames.
    pub fn rows(&self) -> Vec<[f64; 3]> {
        let n = self.frames.len();
        let length = n / BLOCKS;
        let mean = |frames: &[Vec<f64>], i: usize| {
            frames.iter().map(|frame| frame[i]).sum::<f64>() / frames.len() as f64
        };
        let row = |i: usize| {
            let edge = self.edge / n as f64;
            let error = match length {
                0 => f64::NAN,
                _ => standard_error(
                    self.frames
                        .chunks_exact(length)
                        .take(BLOCKS)
                        .map(|block| mean(block, i)),
                ),
            };
            [
                self.corner + edge * i as f64 / self.points as f64,
                mean(&self.frames, i),
                error,
            ]
        };
        (0..self.points).map(row).collect()
    }
}
