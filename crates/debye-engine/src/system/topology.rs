//! [`Topology`]: who is bonded to whom.

use super::System;

/// A term of a kind between `N` particles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link<const N: usize> {
    /// Index into the names of its kind.
    pub kind: u32,
    /// The particles, in order.
    pub atoms: [u32; N],
}

/// Bonds, angles, dihedrals and impropers, each with the names of its kinds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topology {
    /// Names of the kinds of bonds.
    pub bond_kinds: Vec<String>,
    /// Bonds.
    pub bonds: Vec<Link<2>>,
    /// Names of the kinds of angles.
    pub angle_kinds: Vec<String>,
    /// Angles i–j–k, j in the middle.
    pub angles: Vec<Link<3>>,
    /// Names of the kinds of dihedrals.
    pub dihedral_kinds: Vec<String>,
    /// Dihedrals i–j–k–l about the bond j–k.
    pub dihedrals: Vec<Link<4>>,
    /// Names of the kinds of impropers.
    pub improper_kinds: Vec<String>,
    /// Impropers i–j–k–l: the dihedral angle i–j–k–l, out of plane.
    pub impropers: Vec<Link<4>>,
    /// Names of the kinds of restraints of axes.
    pub axis_kinds: Vec<String>,
    /// Restraints of the axis z of the first particle to the direction of the second.
    pub axes: Vec<Link<2>>,
}

impl System {
    /// Molecules that are bonded to one another, or joined by constraints, become one.
    pub fn join_molecules(&mut self) {
        let n = self.particles.len();
        let molecules = &self.particles.molecules;
        let mut first = std::collections::HashMap::new();
        let within: Vec<[usize; 2]> = (0..n)
            .map(|i| [*first.entry(molecules[i]).or_insert(i), i])
            .collect();
        let bonds = self.topology.bonds.iter().map(|b| b.atoms.map(|i| i as usize));
        let fixed = self
            .constraints
            .pairs()
            .map(|(atoms, _)| atoms.map(|i| i as usize));
        self.particles.molecules = connected(n, within.into_iter().chain(bonds).chain(fixed));
    }
}

/// For each of `n` vertices the number of its connected part, in the order of their first members. Edges to others are
/// left out.
pub fn connected(n: usize, edges: impl Iterator<Item = [usize; 2]>) -> Vec<u32> {
    let mut parent: Vec<usize> = (0..n).collect();
    fn root(parent: &mut [usize], mut i: usize) -> usize {
        while parent[i] != i {
            parent[i] = parent[parent[i]];
            i = parent[i];
        }
        i
    }
    for [a, b] in edges.filter(|e| e.iter().all(|i| *i < n)) {
        let (a, b) = (root(&mut parent, a), root(&mut parent, b));
        parent[a.max(b)] = a.min(b);
    }
    let mut numbers = std::collections::HashMap::new();
    let number = |i| {
        let next = numbers.len() as u32;
        *numbers.entry(root(&mut parent, i)).or_insert(next)
    };
    (0..n).map(number).collect()
}
