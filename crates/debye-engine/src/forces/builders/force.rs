//! [`PairForce`] and [`BondedForce`]: typed potentials with the species or kinds they are for.

use std::marker::PhantomData;

use super::{BondedFamily, MixingRule, PairTermBuilder, TermError};
use crate::forces::{BondedTerm, PairTerm};
use crate::potentials::{self, PairPotential, Parameter, Parametrized, Value};
use crate::system::Species;
use crate::truncation::Truncation;

/// A pair potential and its parameters, before the species are known.
///
/// ```
/// use debye::prelude::*;
///
/// let salt = PairForce::like("Na", LennardJones::new(0.35, 0.22))
///     .and_like("Cl", LennardJones::new(0.49, 0.44))
///     .mixing(MixingRule::LorentzBerthelot)
///     .cutoff(0.9)
///     .truncation(Truncation::ForceShift);
/// # let _ = salt;
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct PairForce<P> {
    name: Option<String>,
    everywhere: Option<Vec<Value>>,
    likes: Vec<(String, Vec<Value>)>,
    pairs: Vec<([String; 2], Vec<Value>)>,
    cutoff: Option<f64>,
    truncation: Truncation,
    mixing: MixingRule,
    tail: bool,
    potential: PhantomData<P>,
}

impl<P: PairPotential + Parametrized> PairForce<P> {
    fn empty() -> Self {
        Self {
            name: None,
            everywhere: None,
            likes: Vec::new(),
            pairs: Vec::new(),
            cutoff: None,
            truncation: Truncation::Shift,
            mixing: MixingRule::None,
            tail: false,
            potential: PhantomData,
        }
    }

    /// This potential between all pairs that have none of their own.
    pub fn new(potential: P) -> Self {
        Self {
            everywhere: Some(potential.values()),
            ..Self::empty()
        }
    }

    /// This potential between two particles of one species. Say more with [`Self::and_like`] and [`Self::and_pair`].
    pub fn like(species: &str, potential: P) -> Self {
        Self::empty().and_like(species, potential)
    }

    /// This potential between two species.
    pub fn between(first: &str, second: &str, potential: P) -> Self {
        Self::empty().and_pair(first, second, potential)
    }

    /// The same for another species.
    pub fn and_like(mut self, species: &str, potential: P) -> Self {
        self.likes.push((species.to_owned(), potential.values()));
        self
    }

    /// The same for two other species.
    pub fn and_pair(mut self, first: &str, second: &str, potential: P) -> Self {
        let pair = [first.to_owned(), second.to_owned()];
        self.pairs.push((pair, potential.values()));
        self
    }

    /// Name in tables; the potential's name unless said.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Where the potential ends; required unless it has an end of its own.
    pub fn cutoff(mut self, cutoff: f64) -> Self {
        self.cutoff = Some(cutoff);
        self
    }

    /// How it ends; shifted to zero unless said.
    pub fn truncation(mut self, truncation: Truncation) -> Self {
        self.truncation = truncation;
        self
    }

    /// How unlike pairs follow from like ones; not at all unless said.
    pub fn mixing(mut self, rule: MixingRule) -> Self {
        self.mixing = rule;
        self
    }

    /// Adds the analytic tail beyond the cut-off to energy and pressure.
    pub fn tail(mut self) -> Self {
        self.tail = true;
        self
    }

    /// The term for these species.
    ///
    /// # Errors
    /// Unknown species, pairs without parameters, and what the potential refuses.
    pub fn term(&self, species: &[Species]) -> Result<PairTerm, TermError> {
        let named = |values: &[Value]| named(P::PARAMETERS, values);
        let mut builder = PairTermBuilder::new(potentials::pair::<P>(), species)
            .truncation(self.truncation)
            .mixing(self.mixing)
            .tail(self.tail);
        if let Some(name) = &self.name {
            builder = builder.name(name);
        }
        if let Some(cutoff) = self.cutoff {
            builder = builder.cutoff(cutoff);
        }
        if let Some(values) = &self.everywhere {
            builder = builder.all_values(named(values))?;
        }
        for (species, values) in &self.likes {
            builder = builder.like_values(species, named(values))?;
        }
        for ([first, second], values) in &self.pairs {
            builder = builder.pair_values(first, second, named(values), None)?;
        }
        builder.finish()
    }
}

/// A bonded potential and its parameters by kind of bond, angle or dihedral.
///
/// ```
/// use debye::prelude::*;
///
/// let backbone = BondedForce::new("backbone", FeneBond::new(30.0, 1.5, 1.0, 1.0));
/// # let _ = backbone;
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct BondedForce<P> {
    kinds: Vec<(String, P)>,
}

impl<P: Parametrized> BondedForce<P> {
    /// This potential for one kind of bonds, angles or dihedrals of the topology.
    pub fn new(kind: &str, potential: P) -> Self {
        Self { kinds: Vec::new() }.and(kind, potential)
    }

    /// The same for another kind.
    pub fn and(mut self, kind: &str, potential: P) -> Self {
        self.kinds.push((kind.to_owned(), potential));
        self
    }

    /// The term of a family for the kinds of a topology; those that are not named are left alone.
    ///
    /// # Errors
    /// Kinds that are not there, and what the potential refuses.
    pub fn term<F: BondedFamily + ?Sized>(
        &self,
        family: &'static F,
        kinds: &[String],
    ) -> Result<BondedTerm<F>, TermError> {
        if let Some((kind, _)) = self.kinds.iter().find(|(kind, _)| !kinds.contains(kind)) {
            return Err(TermError::UnknownKind {
                kind: kind.clone(),
                known: kinds.join(", "),
            });
        }
        let values = |kind: &String| {
            let found = self.kinds.iter().find(|(name, _)| name == kind);
            found.map(|(_, potential)| named(family.family_parameters(), &potential.values()))
        };
        let given: Vec<_> = kinds.iter().map(values).collect();
        BondedTerm::of(family, &given)
    }
}

/// Values with their names.
fn named(parameters: &'static [Parameter], values: &[Value]) -> Vec<(String, Value)> {
    let pairs = parameters.iter().zip(values);
    pairs
        .map(|(p, value)| (p.name.to_owned(), value.clone()))
        .collect()
}
