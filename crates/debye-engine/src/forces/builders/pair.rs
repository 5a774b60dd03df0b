//! [`PairTermBuilder`]: parameters of like and unlike pairs, cut-offs, truncation, tails.

use super::{TermError, complete, named, ordered};
use crate::expr::Table;
use crate::forces::{OrientedRow, OrientedTerm, PairRow, PairTerm};
use crate::potentials::{
    self, MAX_COEFFICIENTS, Mixing, OrientedFamily, Pair, PairFamily, PairModel, Parameter, Parameters,
    Preparation, Tail, Value, oriented_truncation,
};
use crate::record::{Conventions, Doc, Record};
use crate::system::Species;
use crate::truncation::{TRUNCATION_COEFFICIENTS, Truncation};

/// How the parameters of unlike species follow from those of like ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MixingRule {
    /// Not at all: unlike pairs must be given.
    #[default]
    None,
    /// Lengths by the arithmetic mean, energies by the geometric one.
    LorentzBerthelot,
    /// Both by the geometric mean.
    Geometric,
}

impl MixingRule {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::None, Self::LorentzBerthelot, Self::Geometric];

    /// Its name in input files, its formula, its conventions; where there is no rule, there is nothing to say.
    pub fn record(self) -> Option<&'static Record> {
        match self {
            Self::None => None,
            Self::LorentzBerthelot => Some(&LORENTZ_BERTHELOT),
            Self::Geometric => Some(&GEOMETRIC),
        }
    }

    /// Its name in input files.
    pub fn name(self) -> &'static str {
        self.record().map_or("none", |record| record.name)
    }
}

/// What was said about a pair of species.
#[derive(Clone, Debug)]
enum PairValues {
    Values {
        values: Vec<Option<Value>>,
        cutoff: Option<f64>,
    },
    Nothing,
}

/// All values of a pair, and its own cut-off where it has one.
type Resolved = (Vec<Value>, Option<f64>);

/// Makes a [`PairTerm`] or an [`OrientedTerm`]; see [`PairTerm::build`] and [`OrientedTerm::build`].
#[must_use]
pub struct PairTermBuilder<'a, F: ?Sized + 'static = dyn PairFamily> {
    family: &'static F,
    species: &'a [Species],
    name: String,
    cutoff: Option<f64>,
    truncation: Truncation,
    mixing: MixingRule,
    tail: bool,
    everywhere: Vec<Option<Value>>,
    likes: Vec<Option<Vec<Option<Value>>>>,
    pairs: Vec<Option<PairValues>>,
    /// What belongs to each species by itself.
    own: Vec<Option<Vec<Option<Value>>>>,
}

impl<F: ?Sized> Clone for PairTermBuilder<'_, F> {
    fn clone(&self) -> Self {
        Self {
            name: self.name.clone(),
            everywhere: self.everywhere.clone(),
            likes: self.likes.clone(),
            pairs: self.pairs.clone(),
            own: self.own.clone(),
            ..*self
        }
    }
}

impl PairTerm {
    /// Begins a term of the registered potential `name` for these species.
    pub fn build<'a>(name: &str, species: &'a [Species]) -> Result<PairTermBuilder<'a>, TermError> {
        let family = pair_potential(name).ok_or_else(|| TermError::UnknownPotential(name.into()))?;
        Ok(PairTermBuilder::new(family, species))
    }
}

impl OrientedTerm {
    /// Begins a term of the registered oriented potential `name` for these species.
    pub fn build<'a>(
        name: &str,
        species: &'a [Species],
    ) -> Result<PairTermBuilder<'a, dyn OrientedFamily>, TermError> {
        let family = potentials::ORIENTED.find(name);
        let family = family.ok_or_else(|| TermError::UnknownPotential(name.into()))?;
        Ok(PairTermBuilder::new(family, species))
    }
}

impl<'a, F: PairModel + ?Sized> PairTermBuilder<'a, F> {
    /// A term of a potential of any crate for these species.
    pub fn new(family: &'static F, species: &'a [Species]) -> Self {
        Self {
            family,
            species,
            name: family.name().into(),
            cutoff: None,
            truncation: Truncation::Shift,
            mixing: MixingRule::None,
            tail: false,
            everywhere: vec![None; family.parameters().len()],
            likes: vec![None; species.len()],
            pairs: vec![None; species.len() * species.len()],
            own: vec![None; species.len()],
        }
    }
}

/// The registered pair potential of this name.
pub fn pair_potential(name: &str) -> Option<&'static dyn PairFamily> {
    potentials::PAIRS.find(name)
}

impl<F: PairModel + ?Sized> PairTermBuilder<'_, F> {
    /// The potential.
    pub fn family(&self) -> &'static F {
        self.family
    }

    /// Name in tables; the potential's name unless said.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Cut-off of every pair that has no shorter one of its own.
    pub fn cutoff(mut self, cutoff: f64) -> Self {
        self.cutoff = Some(cutoff);
        self
    }

    /// How the potential ends; shifted unless said.
    pub fn truncation(mut self, truncation: Truncation) -> Self {
        self.truncation = truncation;
        self
    }

    /// How unlike pairs follow from like ones; not at all unless said.
    pub fn mixing(mut self, rule: MixingRule) -> Self {
        self.mixing = rule;
        self
    }

    /// Whether the analytic tail is added to energy and pressure.
    pub fn tail(mut self, tail: bool) -> Self {
        self.tail = tail;
        self
    }

    /// Parameters of every pair that has none of its own.
    pub fn all(self, parameters: &[(&str, f64)]) -> Result<Self, TermError> {
        self.all_values(named(parameters))
    }

    /// [`Self::all`] for any kind of value.
    pub fn all_values(mut self, parameters: Vec<(String, Value)>) -> Result<Self, TermError> {
        self.everywhere = ordered(self.family.name(), self.family.parameters(), parameters)?;
        Ok(self)
    }

    /// Parameters of a species with itself, from which unlike pairs are mixed.
    pub fn like(self, species: &str, parameters: &[(&str, f64)]) -> Result<Self, TermError> {
        self.like_values(species, named(parameters))
    }

    /// [`Self::like`] for any kind of value.
    pub fn like_values(mut self, species: &str, parameters: Vec<(String, Value)>) -> Result<Self, TermError> {
        let place = self.place(species)?;
        self.likes[place] = Some(ordered(self.family.name(), self.family.parameters(), parameters)?);
        Ok(self)
    }

    /// Parameters of a pair; they win over mixed ones.
    pub fn pair(self, first: &str, second: &str, parameters: &[(&str, f64)]) -> Result<Self, TermError> {
        self.pair_values(first, second, named(parameters), None)
    }

    /// [`Self::pair`] for any kind of value, with a cut-off of its own where one is given.
    pub fn pair_values(
        mut self,
        first: &str,
        second: &str,
        parameters: Vec<(String, Value)>,
        cutoff: Option<f64>,
    ) -> Result<Self, TermError> {
        let values = ordered(self.family.name(), self.family.parameters(), parameters)?;
        self.set(first, second, PairValues::Values { values, cutoff })?;
        Ok(self)
    }

    /// What belongs to a species by itself, such as its shape.
    pub fn own_values(mut self, species: &str, parameters: Vec<(String, Value)>) -> Result<Self, TermError> {
        let place = self.place(species)?;
        self.own[place] = Some(ordered(self.family.name(), self.family.own(), parameters)?);
        Ok(self)
    }

    /// Leaves a pair of species without this interaction.
    pub fn no_interaction(mut self, first: &str, second: &str) -> Result<Self, TermError> {
        self.set(first, second, PairValues::Nothing)?;
        Ok(self)
    }

    fn set(&mut self, first: &str, second: &str, given: PairValues) -> Result<(), TermError> {
        let (i, j) = (self.place(first)?, self.place(second)?);
        let n = self.species.len();
        self.pairs[j * n + i] = Some(given.clone());
        self.pairs[i * n + j] = Some(given);
        Ok(())
    }

    fn place(&self, species: &str) -> Result<usize, TermError> {
        let found = self.species.iter().position(|s| s.name == species);
        found.ok_or_else(|| TermError::UnknownSpecies(species.into()))
    }

    fn pair_name(&self, i: usize, j: usize) -> String {
        format!("{}-{}", self.species[i].name, self.species[j].name)
    }

    /// Values and own cut-off of a pair; `None` where it does not interact.
    fn values(&self, i: usize, j: usize) -> Result<Option<Resolved>, TermError> {
        let potential = self.family.name();
        let parameters = self.family.parameters();
        let missing = |parameter| TermError::MissingParameter {
            potential,
            of: self.pair_name(i, j),
            parameter,
        };
        match &self.pairs[i * self.species.len() + j] {
            Some(PairValues::Nothing) => return Ok(None),
            Some(PairValues::Values { values, cutoff }) => {
                let values = complete(parameters, &[values, &self.everywhere]).map_err(missing)?;
                return Ok(Some((values, *cutoff)));
            }
            None => {}
        }
        let like = |k: usize| match &self.likes[k] {
            Some(given) => complete(parameters, &[given, &self.everywhere])
                .map(Some)
                .map_err(|parameter| TermError::MissingParameter {
                    potential,
                    of: self.species[k].name.clone(),
                    parameter,
                }),
            None => Ok(None),
        };
        let mut unmixed = None;
        if let (Some(a), Some(b)) = (like(i)?, like(j)?) {
            if i == j {
                return Ok(Some((a, None)));
            }
            match mix(self.mixing, parameters, &a, &b) {
                Ok(values) => return Ok(Some((values, None))),
                Err(parameter) => unmixed = (self.mixing != MixingRule::None).then_some(parameter),
            }
        }
        if let Ok(values) = complete(parameters, &[&self.everywhere]) {
            return Ok(Some((values, None)));
        }
        // One key of several given for all pairs: the lack is of the others, not of the pair.
        match complete(parameters, &[&self.everywhere]) {
            Err(parameter) if self.everywhere.iter().any(Option::is_some) => Err(missing(parameter)),
            _ => Err(TermError::MissingPair {
                potential,
                pair: [self.species[i].name.clone(), self.species[j].name.clone()],
                unmixed,
            }),
        }
    }

    /// Checked values of a pair and its cut-off; `None` where it does not interact.
    fn resolved(&self, i: usize, j: usize) -> Result<Option<(Vec<Value>, f64)>, TermError> {
        let Some((values, own_cutoff)) = self.values(i, j)? else {
            return Ok(None);
        };
        let potential = self.family.name();
        let of = || self.pair_name(i, j);
        let p = Parameters(&values);
        self.family.check(p).map_err(|source| TermError::Refused {
            potential,
            of: of(),
            source,
        })?;
        if self.family.vanishes(p) {
            return Ok(None);
        }
        let given = own_cutoff.or(self.cutoff);
        let cutoff = match (given, self.family.natural_cutoff(p)) {
            (Some(given), Some(natural)) => given.min(natural),
            (Some(cutoff), None) | (None, Some(cutoff)) => cutoff,
            (None, None) => return Err(TermError::MissingCutoff { potential, of: of() }),
        };
        if !(cutoff.is_finite() && cutoff > 0.0) {
            return Err(TermError::BadCutoff { of: of(), cutoff });
        }
        if let Truncation::Switch { from } = self.truncation
            && !(from >= 0.0 && from < cutoff)
        {
            return Err(TermError::SwitchBeyondCutoff {
                of: of(),
                from,
                cutoff,
            });
        }
        Ok(Some((values, cutoff)))
    }
}

impl PairTermBuilder<'_> {
    /// The term, or what is missing or wrong.
    pub fn finish(self) -> Result<PairTerm, TermError> {
        if self.tail && self.truncation != Truncation::Cut {
            let reason = "it completes a plain cut: with truncation = \"cut\" energy and pressure are those of the whole potential";
            return Err(TermError::NoTail(reason.into()));
        }
        let n = self.species.len();
        let mut table = Table::new(Vec::new());
        let mut rows = vec![no_interaction(); n * n];
        for i in 0..n {
            for j in i..n {
                let row = self.row(i, j, &mut table)?;
                rows[i * n + j] = row;
                rows[j * n + i] = row;
            }
        }
        // Coefficients are ready when the table is: the truncation may read it.
        for i in 0..n {
            for j in i..n {
                let mut row = rows[i * n + j];
                if row.cutoff > 0.0 {
                    let end = Pair {
                        r2: row.cutoff * row.cutoff,
                        table: &table,
                    };
                    let end = self.family.energy_and_derivative(end, &row.coefficients);
                    row.truncation = self.truncation.coefficients(row.cutoff, end);
                    if !row.truncation.iter().all(|x| x.is_finite()) {
                        return Err(TermError::NotFinite {
                            potential: self.family.name(),
                            of: self.pair_name(i, j),
                            cutoff: row.cutoff,
                        });
                    }
                    rows[i * n + j] = row;
                    rows[j * n + i] = row;
                }
            }
        }
        Ok(PairTerm {
            name: self.name,
            family: self.family,
            truncation: self.truncation,
            mixing: self.mixing,
            rows,
            table,
            tail: self.tail,
        })
    }

    fn row(&self, i: usize, j: usize, table: &mut Table) -> Result<PairRow, TermError> {
        let Some((values, cutoff)) = self.resolved(i, j)? else {
            return Ok(no_interaction());
        };
        let (potential, p) = (self.family.name(), Parameters(&values));
        let coefficients = self.family.coefficients(p, &mut Preparation { cutoff, table });
        let tail = match (self.tail, self.family.tail(p, cutoff)) {
            (false, _) => Tail::default(),
            (true, Some(tail)) => tail,
            (true, None) => {
                return Err(TermError::NoTail(format!(
                    "`{potential}` has no finite analytic tail"
                )));
            }
        };
        if !coefficients.iter().all(|x| x.is_finite()) {
            return Err(TermError::NotFinite {
                potential,
                of: self.pair_name(i, j),
                cutoff,
            });
        }
        Ok(PairRow {
            cutoff,
            truncation: [0.0; TRUNCATION_COEFFICIENTS],
            coefficients,
            tail,
        })
    }
}

impl PairTermBuilder<'_, dyn OrientedFamily> {
    /// The term, or what is missing or wrong.
    pub fn finish(self) -> Result<OrientedTerm, TermError> {
        if self.tail {
            return Err(TermError::NoTail("a potential of orientations has none".into()));
        }
        let n = self.species.len();
        let own = (0..n).map(|k| self.own_of(k)).collect::<Result<Vec<_>, _>>()?;
        let mut table = Table::new(Vec::new());
        let mut rows = vec![None; n * n];
        for i in 0..n {
            for j in 0..n {
                rows[i * n + j] = self.oriented_row([i, j], [&own[i], &own[j]], &mut table)?;
            }
        }
        Ok(OrientedTerm {
            name: self.name,
            family: self.family,
            truncation: self.truncation,
            mixing: self.mixing,
            rows,
            table,
        })
    }

    /// What belongs to a species; `None` where it was not said, which matters only if it interacts.
    fn own_of(&self, k: usize) -> Result<Result<Vec<Value>, &'static str>, TermError> {
        let nothing = vec![None; self.family.own().len()];
        let values = complete(self.family.own(), &[self.own[k].as_ref().unwrap_or(&nothing)]);
        if let Ok(values) = &values {
            let checked = self.family.check_own(Parameters(values));
            checked.map_err(|source| TermError::Refused {
                potential: self.family.name(),
                of: self.species[k].name.clone(),
                source,
            })?;
        }
        Ok(values)
    }

    fn oriented_row(
        &self,
        [i, j]: [usize; 2],
        own: [&Result<Vec<Value>, &'static str>; 2],
        table: &mut Table,
    ) -> Result<Option<OrientedRow>, TermError> {
        // Parameters are those of the pair in either order.
        let Some((values, cutoff)) = self.resolved(i.min(j), i.max(j))? else {
            return Ok(None);
        };
        let potential = self.family.name();
        let of_species = |k: usize, own: &Result<Vec<Value>, &'static str>| {
            own.clone().map_err(|parameter| TermError::MissingParameter {
                potential,
                of: self.species[k].name.clone(),
                parameter,
            })
        };
        let own = [of_species(i, own[0])?, of_species(j, own[1])?];
        let preparation = &mut Preparation { cutoff, table };
        let own = [Parameters(&own[0]), Parameters(&own[1])];
        let coefficients = self.family.coefficients(Parameters(&values), own, preparation);
        let truncation = oriented_truncation(self.truncation, cutoff);
        if !coefficients.iter().chain(&truncation).all(|x| x.is_finite()) {
            let of = self.pair_name(i, j);
            return Err(TermError::NotFinite {
                potential,
                of,
                cutoff,
            });
        }
        Ok(Some(OrientedRow {
            cutoff,
            truncation,
            coefficients,
        }))
    }
}

fn no_interaction() -> PairRow {
    PairRow {
        cutoff: 0.0,
        truncation: [0.0; TRUNCATION_COEFFICIENTS],
        coefficients: [0.0; MAX_COEFFICIENTS],
        tail: Tail::default(),
    }
}

/// Parameters of an unlike pair, or the first one that does not mix.
fn mix(
    rule: MixingRule,
    parameters: &'static [Parameter],
    a: &[Value],
    b: &[Value],
) -> Result<Vec<Value>, &'static str> {
    let one = |place: usize| {
        let parameter = &parameters[place];
        let (Value::Number(x), Value::Number(y)) = (&a[place], &b[place]) else {
            return Err(parameter.name);
        };
        let mean = match (rule, parameter.mixing) {
            (MixingRule::None, _) | (_, Mixing::Explicit) => return Err(parameter.name),
            (_, Mixing::Same) if x == y => *x,
            (_, Mixing::Same) => return Err(parameter.name),
            (MixingRule::LorentzBerthelot, Mixing::Length) => 0.5 * (x + y),
            (MixingRule::Geometric, Mixing::Length) | (_, Mixing::Energy) => (x * y).sqrt(),
        };
        Ok(Value::Number(mean))
    };
    (0..parameters.len()).map(one).collect()
}

/// `lorentz-berthelot`.
pub const LORENTZ_BERTHELOT: Record = Record {
    name: "lorentz-berthelot",
    also: &[],
    keys: &[],
    doc: Doc {
        title: "Lorentz–Berthelot",
        formula: "σ_ab = ½(σ_a + σ_b), ε_ab = √(ε_a ε_b)",
        remarks: &[
            "Parameters that mix as a length take the arithmetic mean, those that mix as an energy the \
             geometric mean; others must be equal or given. `pairs` wins over what is mixed. `debye info \
             NAME` says how each parameter mixes.",
        ],
        conventions: Conventions {
            gromacs: ["comb-rule 2", "the same"],
            lammps: [
                "pair_modify mix arithmetic; its default for lj/cut is geometric",
                "the same",
            ],
            openmm: ["NonbondedForce, always", "the same"],
            amber_charmm: [
                "Rmin,i/2 + Rmin,j/2 and √(ε_i ε_j)",
                "the same, with sigma from Rmin/2 of each",
            ],
        },
        references: &[
            "Lorentz, Ann. Phys. 248, 127 (1881)",
            "Berthelot, C. R. Acad. Sci. 126, 1703 (1898)",
        ],
        examples: &[],
    },
};

/// `geometric`.
pub const GEOMETRIC: Record = Record {
    name: "geometric",
    also: &[],
    keys: &[],
    doc: Doc {
        title: "Geometric means",
        formula: "σ_ab = √(σ_a σ_b), ε_ab = √(ε_a ε_b)",
        remarks: &["The rule of the OPLS force fields. The same as geometric means of C6 and C12."],
        conventions: Conventions {
            gromacs: ["comb-rule 3 for σ and ε; comb-rule 1 for C6 and C12", "the same"],
            lammps: [
                "pair_modify mix geometric, its default for lj/cut; sixthpower is neither of ours",
                "the same; sixthpower: give `pairs`",
            ],
            openmm: ["not for NonbondedForce: CustomNonbondedForce", "the same"],
            amber_charmm: ["CHARMM: GEOM, for OPLS; AMBER: no", "the same"],
        },
        references: &[
            "Good & Hope, J. Chem. Phys. 53, 540 (1970)",
            "Jorgensen, Maxwell & Tirado-Rives, J. Am. Chem. Soc. 118, 11225 (1996)",
        ],
        examples: &[],
    },
};
