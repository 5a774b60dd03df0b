//! Molecules in one piece: which cell each particle must stand in so that no molecule is cut by a face.

use super::exclusions::Graph;
use super::{Cell, ExclusionError, Link, Particles, Topology};
use crate::expr::Vec3;

/// Positions with every molecule in one piece around its first particle, which stays where it is. Molecules bonded to
/// their own images cannot be whole and are cut somewhere.
pub fn whole_positions(particles: &Particles, cell: &Cell, topology: &Topology) -> Vec<Vec3<f64>> {
    let positions = &particles.positions;
    match Whole::new(cell, positions, &particles.molecules, &topology.bonds) {
        Ok(whole) => (positions.iter().zip(&whole.shift))
            .map(|(&r, &shift)| r + cell.translation(shift))
            .collect(),
        // Bonds between particles that are not there: no system was built from them.
        Err(_) => positions.clone(),
    }
}

pub(super) fn add(a: [i32; 3], b: [i32; 3]) -> [i32; 3] {
    std::array::from_fn(|axis| a[axis] + b[axis])
}

/// How to make molecules whole.
pub(super) struct Whole<'a> {
    cell: &'a Cell,
    positions: &'a [Vec3<f64>],
    /// Cells to move each particle by.
    pub(super) shift: Vec<[i32; 3]>,
    /// To which group of bonded particles each belongs.
    group: Vec<u32>,
    /// Groups bonded to their own images, which cannot be made whole.
    endless: Vec<bool>,
}

impl<'a> Whole<'a> {
    /// Follows the bonds; particles of a molecule that are not bonded follow its first one.
    pub(super) fn new(
        cell: &'a Cell,
        positions: &'a [Vec3<f64>],
        molecules: &[u32],
        bonds: &[Link<2>],
    ) -> Result<Self, ExclusionError> {
        let n = positions.len();
        let graph = Graph::from_edges(n, "bond", bonds.iter().map(|b| b.atoms))?;
        let mut whole = Self {
            cell,
            positions,
            shift: vec![[0; 3]; n],
            group: vec![u32::MAX; n],
            endless: Vec::new(),
        };
        let mut anchor = std::collections::HashMap::new();
        let mut open = Vec::new();
        for root in 0..n as u32 {
            if whole.group[root as usize] != u32::MAX {
                continue;
            }
            let first = *anchor.entry(molecules[root as usize]).or_insert(root);
            if first != root {
                whole.shift[root as usize] = whole.nearest(first, root);
            }
            let group = whole.endless.len() as u32;
            whole.endless.push(false);
            whole.group[root as usize] = group;
            open.push(root);
            while let Some(i) = open.pop() {
                for &j in graph.of(i) {
                    let shift = whole.nearest(i, j);
                    if whole.group[j as usize] == u32::MAX {
                        whole.group[j as usize] = group;
                        whole.shift[j as usize] = shift;
                        open.push(j);
                    } else if whole.shift[j as usize] != shift {
                        whole.endless[group as usize] = true;
                    }
                }
            }
        }
        Ok(whole)
    }

    /// The shift of `j` that brings it next to the shifted `i`.
    fn nearest(&self, i: u32, j: u32) -> [i32; 3] {
        let (cell, r) = (self.cell, self.positions);
        let d = r[j as usize] - r[i as usize];
        let moved = cell.fractional(cell.minimum_image(d) - d);
        add(self.shift[i as usize], moved.to_array().map(|s| s.round() as i32))
    }

    /// How many copies away from the copy of `i` its partner `j` is.
    pub(super) fn between(&self, i: u32, j: u32) -> [i32; 3] {
        let (a, b) = (self.group[i as usize], self.group[j as usize]);
        if a == b && !self.endless[a as usize] {
            return [0; 3];
        }
        let near = self.nearest(i, j);
        std::array::from_fn(|axis| near[axis] - self.shift[j as usize][axis])
    }
}
