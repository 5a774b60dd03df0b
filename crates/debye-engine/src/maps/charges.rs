//! [`PointCharges`]: what makes a potential.

use super::MapError;
use crate::expr::Vec3;

/// How far apart the two charges lie that stand for a point dipole, in nm.
///
/// At a distance r their potential is that of the point dipole but for (δ/2r)²: 1e-4 at 5 Å.
pub const DIPOLE_LENGTH: f64 = 0.01;

/// Charges and where they are: e, nm.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PointCharges {
    positions: Vec<Vec3<f64>>,
    charges: Vec<f64>,
}

impl PointCharges {
    /// Charges at positions. Those of zero are left out.
    pub fn new(positions: &[Vec3<f64>], charges: &[f64]) -> Result<Self, MapError> {
        if positions.is_empty() {
            return Err(MapError::Empty);
        }
        if positions.len() != charges.len() {
            return Err(MapError::Lengths(positions.len(), charges.len()));
        }
        let mut all = Self::default();
        for (atom, (&r, &q)) in positions.iter().zip(charges).enumerate() {
            if !(q.is_finite() && r.to_array().iter().all(|x| x.is_finite())) {
                return Err(MapError::NotFinite(atom + 1));
            }
            if q != 0.0 {
                all.positions.push(r);
                all.charges.push(q);
            }
        }
        if all.charges.is_empty() {
            return Err(MapError::NoCharges);
        }
        Ok(all)
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.charges.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.charges.is_empty()
    }

    /// Where they are.
    pub fn positions(&self) -> &[Vec3<f64>] {
        &self.positions
    }

    /// The charges.
    pub fn charges(&self) -> &[f64] {
        &self.charges
    }

    /// Their sum.
    pub fn total(&self) -> f64 {
        self.charges.iter().sum()
    }
}
