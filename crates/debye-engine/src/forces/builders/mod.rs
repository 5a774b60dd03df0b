//! From parameters to terms: mixing rules, cut-offs, truncation, tails.
//!
//! ```
//! use debye::forces::{MixingRule, PairTerm};
//! use debye::system::Species;
//! use debye::truncation::Truncation;
//!
//! let species = ["Ne", "Ar"].map(|name| Species::point(name, 1.0, 0.0));
//! let term = PairTerm::build("lennard-jones", &species)?
//!     .cutoff(2.5)
//!     .truncation(Truncation::Shift)
//!     .mixing(MixingRule::LorentzBerthelot)
//!     .like("Ne", &[("epsilon", 0.3), ("sigma", 0.82)])?
//!     .like("Ar", &[("epsilon", 1.0), ("sigma", 1.0)])?
//!     .finish()?;
//! assert_eq!(term.rows.len(), 4);
//! # Ok::<(), debye::forces::TermError>(())
//! ```

mod bonded;
mod force;
mod pair;
#[cfg(test)]
mod tests;

pub use bonded::BondedFamily;
pub use force::{BondedForce, PairForce};
pub use pair::{MixingRule, PairTermBuilder, pair_potential};

use crate::potentials::{Parameter, ParameterError, Value};

/// Why a term could not be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TermError {
    /// No potential of this name.
    #[error("there is no potential named `{0}`")]
    UnknownPotential(String),
    /// No species of this name.
    #[error("there is no species named `{0}`")]
    UnknownSpecies(String),
    /// No kind of bonds, angles or dihedrals of this name.
    #[error("there is no kind `{kind}` in the topology; there are: {known}")]
    UnknownKind {
        /// The name given.
        kind: String,
        /// The names there are.
        known: String,
    },
    /// No parameter of this name.
    #[error("`{potential}` has no parameter `{parameter}`; it has {known}")]
    UnknownParameter {
        /// The potential.
        potential: &'static str,
        /// The name given.
        parameter: String,
        /// The names there are.
        known: String,
    },
    /// A parameter without a value.
    #[error("`{potential}` of {of} lacks its parameter `{parameter}`")]
    MissingParameter {
        /// The potential.
        potential: &'static str,
        /// The pair, species or kind.
        of: String,
        /// The parameter.
        parameter: &'static str,
    },
    /// A pair of species nothing was said about.
    #[error("`{potential}` has no parameters for the pair {}-{}", pair[0], pair[1])]
    MissingPair {
        /// The potential.
        potential: &'static str,
        /// The species.
        pair: [String; 2],
        /// Which parameter could not be mixed, where mixing was tried.
        unmixed: Option<&'static str>,
    },
    /// A value the potential refuses.
    #[error("`{potential}` of {of}: {source}")]
    Refused {
        /// The potential.
        potential: &'static str,
        /// The pair, species or kind.
        of: String,
        /// Its reason.
        source: ParameterError,
    },
    /// No cut-off was given and the potential has none of its own.
    #[error("`{potential}` of {of} needs a cut-off")]
    MissingCutoff {
        /// The potential.
        potential: &'static str,
        /// The pair.
        of: String,
    },
    /// A cut-off that is none.
    #[error("the cut-off {cutoff} of {of} is not a length greater than zero")]
    BadCutoff {
        /// The pair.
        of: String,
        /// The number.
        cutoff: f64,
    },
    /// Switching begins where the potential has ended.
    #[error("switching begins at {from}, beyond the cut-off {cutoff} of {of}")]
    SwitchBeyondCutoff {
        /// The pair.
        of: String,
        /// Where switching begins.
        from: f64,
        /// The cut-off.
        cutoff: f64,
    },
    /// A tail was asked of a potential that has none, or of a truncation it is wrong for.
    #[error("no tail correction: {0}")]
    NoTail(String),
    /// The potential is infinite or undefined at its cut-off.
    #[error("`{potential}` of {of} is not finite at its cut-off {cutoff}")]
    NotFinite {
        /// The potential.
        potential: &'static str,
        /// The pair.
        of: String,
        /// The cut-off.
        cutoff: f64,
    },
}

/// Puts named numbers in the order of the parameters.
fn ordered(
    potential: &'static str,
    parameters: &'static [Parameter],
    given: Vec<(String, Value)>,
) -> Result<Vec<Option<Value>>, TermError> {
    let mut values = vec![None; parameters.len()];
    for (name, value) in given {
        match parameters.iter().position(|p| p.name == name) {
            Some(place) => values[place] = Some(value),
            None => {
                let known: Vec<&str> = parameters.iter().map(|p| p.name).collect();
                return Err(TermError::UnknownParameter {
                    potential,
                    parameter: name,
                    known: known.join(", "),
                });
            }
        }
    }
    Ok(values)
}

/// Named numbers as named values.
fn named(numbers: &[(&str, f64)]) -> Vec<(String, Value)> {
    let value = |&(name, number): &(&str, f64)| (name.to_owned(), Value::Number(number));
    numbers.iter().map(value).collect()
}

/// Values with defaults filled in; the first parameter that has neither otherwise.
fn complete(
    parameters: &'static [Parameter],
    layers: &[&[Option<Value>]],
) -> Result<Vec<Value>, &'static str> {
    let value = |(place, parameter): (usize, &Parameter)| {
        let given = layers.iter().find_map(|layer| layer[place].clone());
        given
            .or(parameter.default.map(Value::Number))
            .ok_or(parameter.name)
    };
    parameters.iter().enumerate().map(value).collect()
}
