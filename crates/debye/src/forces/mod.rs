//! What acts on the particles: terms with their parameters, ready for a backend.

mod build;
pub mod constraints;
pub mod geometry;
mod tail;

pub use build::{BondedFamily, MixingRule, PairTermBuilder, TermError, pair_potential};
pub use tail::TailCorrection;

use crate::expr::Table;
use crate::potentials::{AngleFamily, BondFamily, Coefficients, DihedralFamily, MAX_BONDED, PairFamily};
use crate::truncation::{Truncation, TruncationCoefficients};

/// All terms of a simulation.
#[derive(Clone, Default)]
pub struct ForceField {
    /// Terms over all pairs within a cut-off.
    pub pairs: Vec<PairTerm>,
    /// Bonds.
    pub bonds: Vec<BondedTerm<dyn BondFamily>>,
    /// Angles.
    pub angles: Vec<BondedTerm<dyn AngleFamily>>,
    /// Dihedrals.
    pub dihedrals: Vec<BondedTerm<dyn DihedralFamily>>,
    /// Impropers, as potentials of the dihedral angle.
    pub impropers: Vec<BondedTerm<dyn DihedralFamily>>,
    /// Coulomb's constant k_e of this unit system: energy × length / charge².
    pub coulomb_constant: f64,
}

/// A pair potential with its parameters for every pair of species.
#[derive(Clone)]
pub struct PairTerm {
    /// Name in tables; the potential's name unless several terms share it.
    pub name: String,
    /// The potential.
    pub family: &'static dyn PairFamily,
    /// How it ends.
    pub truncation: Truncation,
    /// `rows[i * species + j]`, symmetric. Cut-off 0 where the pair does not interact.
    pub rows: Vec<PairRow>,
    /// Lookup table of the term.
    pub table: Table,
    /// Whether the analytic tail beyond the cut-off is added to energy and pressure.
    pub tail: bool,
}

/// A pair of species of a pair term.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairRow {
    /// Cut-off.
    pub cutoff: f64,
    /// Numbers of the truncation.
    pub truncation: TruncationCoefficients<f64>,
    /// Numbers of the potential.
    pub coefficients: Coefficients<f64>,
    /// Tail integrals, zero where there are none.
    pub tail: crate::potentials::Tail,
}

/// A bonded potential with its parameters per kind of bond, angle or dihedral.
pub struct BondedTerm<F: ?Sized + 'static> {
    /// Name in tables.
    pub name: String,
    /// The potential.
    pub family: &'static F,
    /// By kind in the topology; `None` for kinds this term leaves alone.
    pub rows: Vec<Option<[f64; MAX_BONDED]>>,
}

impl<F: ?Sized> Clone for BondedTerm<F> {
    fn clone(&self) -> Self {
        Self {
            name: self.name.clone(),
            family: self.family,
            rows: self.rows.clone(),
        }
    }
}
