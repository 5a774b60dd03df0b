//! The engine of the CPU against closed forms and plain loops.

mod motion;
mod pairs;
mod potentials;

use crate::Failed;

/// One check and how it went.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What was checked.
    pub what: String,
    /// The largest error.
    pub error: f64,
    /// What is allowed.
    pub allowed: f64,
    /// Whether it holds.
    pub passed: bool,
    /// How the error is measured, or why there is none.
    pub note: String,
}

impl Finding {
    /// Compares an error with what is allowed; NaN fails.
    pub fn new(what: impl Into<String>, error: f64, allowed: f64, note: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            error,
            allowed,
            passed: error <= allowed,
            note: note.into(),
        }
    }
}

/// A section: its title, and what runs it.
pub type Section = (&'static str, fn() -> Result<Vec<Finding>, Failed>);
/// The sections, in the order they run.
pub const SECTIONS: &[Section] = &[
    (
        "potentials: derivative against differences, tape against function",
        potentials::check,
    ),
    (
        "kernels: every pair potential through lists and vectors, against all pairs in double precision",
        pairs::check,
    ),
    ("motion: conserved energies, exact continuation", motion::check),
];
