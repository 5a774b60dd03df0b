//! [`Molecule`]: beads, what joins them, and a conformation to begin with.

use super::{Species, Topology};
use crate::expr::Vec3;

/// A molecule that builders make copies of.
#[derive(Clone, Debug, PartialEq)]
pub struct Molecule {
    /// Its name.
    pub name: String,
    /// The species of each bead.
    pub beads: Vec<Species>,
    /// Bonds, angles and restraints, beads counted from 0.
    pub topology: Topology,
    /// A conformation: the long axis along z, the head of a lipid at the top.
    pub positions: Vec<Vec3<f64>>,
}

impl Molecule {
    /// How far it reaches along z: its lowest and its highest bead.
    pub fn extent(&self) -> [f64; 2] {
        let each = |pick: fn(f64, f64) -> f64| self.positions.iter().map(|r| r.z).reduce(pick).unwrap_or(0.0);
        [each(f64::min), each(f64::max)]
    }

    /// How long it is along z.
    pub fn length(&self) -> f64 {
        let [low, high] = self.extent();
        high - low
    }
}
