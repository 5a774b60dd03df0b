//! [`Topology`]: who is bonded to whom.

/// A term of a kind between `N` particles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link<const N: usize> {
    /// Index into the names of its sort.
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
}
