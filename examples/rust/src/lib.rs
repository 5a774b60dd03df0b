//! An extension of Debye from outside its library: a pair potential, an analysis and a file format, one file each.
//!
//! `register` makes their names known to input files too, for as long as the program runs.

#![forbid(unsafe_code)]

mod coordination;
mod gaussian_core;
mod rows;

pub use coordination::{COORDINATION, Coordination};
pub use gaussian_core::GaussianCore;
pub use rows::{ROWS, RowsWriter};

use debye::analysis::ANALYSES;
use debye::io::{Format, NameTaken};
use debye::potentials;

/// Adds all three to the registers.
///
/// # Errors
/// Names that are taken, as on a second call.
pub fn register() -> Result<(), NameTaken> {
    potentials::PAIRS.add(potentials::pair::<GaussianCore>())?;
    ANALYSES.add(&COORDINATION)?;
    Format::register(&ROWS)?;
    Ok(())
}
