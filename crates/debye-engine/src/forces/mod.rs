//! What acts on the particles: terms with their parameters, ready for an engine.

mod builders;
pub mod constraints;
pub mod electrostatics;
pub mod ewald;
pub mod geometry;
mod long_range;
pub mod multilevel;
pub mod pme;
mod tail;

pub use builders::{
    BondedFamily, BondedForce, MixingRule, PairForce, PairTermBuilder, TermError, pair_potential,
};
pub use electrostatics::Electrostatics;
pub use long_range::{LongRange, LongRangeError};
pub use tail::TailCorrection;

use crate::expr::{Dual, Table};
use crate::potentials::{
    AngleFamily, AxisFamily, BondFamily, Coefficients, DihedralFamily, MAX_BONDED, OrientedCoefficients,
    OrientedFamily, Pair, PairFamily,
};
use crate::system::{Link, ScaledPair, Species, System, Units};
use crate::truncation::{Truncation, TruncationCoefficients};

/// All terms of a simulation.
#[derive(Clone)]
pub struct ForceField {
    /// Terms over all pairs within a cut-off.
    pub pairs: Vec<PairTerm>,
    /// Terms over all pairs of particles with orientations.
    pub oriented: Vec<OrientedTerm>,
    /// Bonds.
    pub bonds: Vec<BondedTerm<dyn BondFamily>>,
    /// Angles.
    pub angles: Vec<BondedTerm<dyn AngleFamily>>,
    /// Dihedrals.
    pub dihedrals: Vec<BondedTerm<dyn DihedralFamily>>,
    /// Impropers, as potentials of the dihedral angle.
    pub impropers: Vec<BondedTerm<dyn DihedralFamily>>,
    /// Restraints of axes.
    pub axes: Vec<BondedTerm<dyn AxisFamily>>,
    /// Long-range electrostatics; its pair term is among the pairs.
    pub electrostatics: Option<Electrostatics>,
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
    /// How the rows of unlike species were found from those of like ones.
    pub mixing: MixingRule,
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

/// A potential of pairs with orientations, with its parameters for every ordered pair of species.
#[derive(Clone)]
pub struct OrientedTerm {
    /// Name in tables; the potential's name unless several terms share it.
    pub name: String,
    /// The potential.
    pub family: &'static dyn OrientedFamily,
    /// How it ends.
    pub truncation: Truncation,
    /// How the rows of unlike species were found from those of like ones.
    pub mixing: MixingRule,
    /// `rows[i * species + j]` for a first particle of species i; `None` where the pair does not interact.
    pub rows: Vec<Option<OrientedRow>>,
    /// Lookup table of the term.
    pub table: Table,
}

impl OrientedTerm {
    /// What the energy is multiplied by.
    pub fn strength(&self, coulomb_constant: f64) -> f64 {
        if self.family.is_electrostatic() {
            coulomb_constant
        } else {
            1.0
        }
    }

    /// What all particles have by themselves.
    pub fn self_energy(&self, system: &System, coulomb_constant: f64) -> f64 {
        let (p, species) = (&system.particles, system.species.len());
        let of = |i: usize| {
            let row = self.rows[p.species[i] as usize * (species + 1)]?;
            let dipole = p.orientations.rotor(i).dipole;
            Some(self.family.self_energy(p.charges[i], dipole, &row.coefficients))
        };
        self.strength(coulomb_constant) * (0..p.len()).filter_map(of).sum::<f64>()
    }
}

/// An ordered pair of species of an oriented term.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OrientedRow {
    /// Cut-off.
    pub cutoff: f64,
    /// Numbers of the truncation.
    pub truncation: TruncationCoefficients<f64>,
    /// Numbers of the potential.
    pub coefficients: OrientedCoefficients<f64>,
}

/// A pair term over given pairs, each with its factor, at the nearest image.
#[derive(Clone)]
pub struct ListedPairs {
    /// Name in tables.
    pub name: String,
    /// The term.
    pub term: PairTerm,
    /// Pairs of particles, and the factors their interaction is multiplied by.
    pub pairs: Vec<([u32; 2], f64)>,
}

impl ForceField {
    /// No terms yet, with Coulomb's constant of these units.
    pub fn new(units: Units) -> Self {
        Self {
            pairs: Vec::new(),
            oriented: Vec::new(),
            bonds: Vec::new(),
            angles: Vec::new(),
            dihedrals: Vec::new(),
            impropers: Vec::new(),
            axes: Vec::new(),
            electrostatics: None,
            coulomb_constant: units.coulomb_constant(),
        }
    }

    /// Adds long-range electrostatics of known settings, with its real-space pair term.
    ///
    /// # Errors
    /// Numbers that the pair term refuses.
    pub fn add_electrostatics(&mut self, plan: Electrostatics, species: &[Species]) -> Result<(), TermError> {
        self.pairs.push(plan.short_range(species)?);
        self.electrostatics = Some(plan);
        Ok(())
    }

    /// Whether charges act.
    pub fn uses_charges(&self) -> bool {
        self.electrostatics.is_some()
            || self.pairs.iter().any(|t| t.family.uses_charges())
            || self.oriented.iter().any(|t| t.family.is_electrostatic())
    }

    /// What acts between pairs that are left out of the lists: pair terms, scaled, and what an Ewald sum has too much of.
    pub fn listed_pairs(&self, system: &System) -> Vec<ListedPairs> {
        let scaled = &system.exclusions.scaled;
        let of_term = |term: &PairTerm| {
            let charges = term.family.uses_charges();
            let factor = |s: &ScaledPair| if charges { s.charge } else { s.pair };
            ListedPairs {
                name: format!("{} 1-4", term.name),
                term: term.clone(),
                pairs: scaled.iter().map(|s| (s.atoms, factor(s))).collect(),
            }
        };
        let mut all = Vec::new();
        if !scaled.is_empty() {
            all.extend(self.pairs.iter().map(of_term));
        }
        let plan = self.electrostatics.as_ref();
        all.extend(plan.and_then(|plan| plan.excluded(system.species.len(), &system.exclusions)));
        all
    }
}

impl ListedPairs {
    /// Energy of a pair of particles of these species and charges, and its derivative by the square of their distance.
    pub fn act(&self, species: [u32; 2], charges: f64, factor: f64, r2: f64) -> Dual<f64> {
        let kinds = (self.term.rows.len() as f64).sqrt().round() as u32;
        let row = &self.term.rows[(species[0] * kinds + species[1]) as usize];
        if r2 >= row.cutoff * row.cutoff {
            return Dual::constant(0.0);
        }
        let table = &self.term.table;
        let bare = self
            .term
            .family
            .energy_and_derivative(Pair { r2, table }, &row.coefficients);
        let whole = self.term.truncation.apply(bare, r2, &row.truncation);
        let strength = if self.term.family.uses_charges() {
            charges
        } else {
            1.0
        };
        whole * Dual::constant(factor * strength)
    }
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

impl<F: ?Sized> BondedTerm<F> {
    /// How many of these bonds, angles or dihedrals it acts on.
    pub fn count<const N: usize>(&self, links: &[Link<N>]) -> usize {
        let acts = |link: &&Link<N>| self.rows.get(link.kind as usize).is_some_and(Option::is_some);
        links.iter().filter(acts).count()
    }
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
