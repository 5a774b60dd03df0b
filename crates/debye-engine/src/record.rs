//! What a model says of itself: its formula, its keys and their units, its conventions beside those of other programs.
//!
//! A [`Doc`] lives in the file of the thing it describes: `const DOC` of a potential, a [`Record`] of everything else.
//! [`manual`](crate::manual) renders them.

use crate::system::{Dimension, Units};

/// What a user must know of a model before trusting its numbers.
#[derive(Clone, Copy, Debug)]
pub struct Doc {
    /// What it is called in the literature.
    pub title: &'static str,
    /// The formula, in plain text; the first line stands for it in lists.
    pub formula: &'static str,
    /// Where it holds, and what surprises; one fact each.
    pub remarks: &'static [&'static str],
    /// The same thing in other programs.
    pub conventions: Conventions,
    /// Authors, journal, volume, page (year).
    pub references: &'static [&'static str],
    /// Numbers worked out from the formula, not by the code.
    pub examples: &'static [Example],
}

impl Doc {
    /// Nothing is said: descriptions of models outside this library begin with it.
    pub const NONE: Doc = Doc {
        title: "",
        formula: "",
        remarks: &[],
        conventions: Conventions {
            gromacs: [NOTHING; 2],
            lammps: [NOTHING; 2],
            openmm: [NOTHING; 2],
            amber_charmm: [NOTHING; 2],
        },
        references: &[],
        examples: &[],
    };
}

/// Stands for the way to ours where there is none.
pub const NOTHING: &str = "–";

/// How other programs write the same thing: their form, and how to come from it to ours.
#[derive(Clone, Copy, Debug)]
pub struct Conventions {
    /// GROMACS.
    pub gromacs: [&'static str; 2],
    /// LAMMPS.
    pub lammps: [&'static str; 2],
    /// OpenMM.
    pub openmm: [&'static str; 2],
    /// AMBER and CHARMM.
    pub amber_charmm: [&'static str; 2],
}

impl Conventions {
    /// Program, its form, the way to ours.
    pub fn rows(&self) -> [(&'static str, [&'static str; 2]); 4] {
        [
            ("GROMACS", self.gromacs),
            ("LAMMPS", self.lammps),
            ("OpenMM", self.openmm),
            ("AMBER/CHARMM", self.amber_charmm),
        ]
    }
}

/// An energy worked out from the formula as it is written, in md units.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// Parameters, in their order.
    pub values: &'static [f64],
    /// The cut-off, for formulas that know it; else 0.
    pub cutoff: f64,
    /// The distance, or the angle in radians.
    pub at: f64,
    /// The energy; per k_e q₁q₂ where the formula is multiplied by that.
    pub energy: f64,
}

/// What is taken where a key is absent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Absent {
    /// Nothing: the key must be there.
    Required,
    /// This number.
    Value(f64),
    /// This number in md units, another in lj units.
    Both(f64, f64),
    /// This number of this unit in md units; required in lj units.
    Md(f64, &'static str),
    /// What these words say.
    Otherwise(&'static str),
}

/// What a key takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Takes {
    /// A quantity of this dimension.
    Quantity(Dimension),
    /// An angle: radians, or a text with `deg`.
    Angle,
    /// Rows of distance and energy.
    Samples,
    /// One of these names.
    Name(&'static str),
}

impl Takes {
    /// The unit of a plain number in files of these units; empty where it has none.
    pub fn unit(self, units: Units) -> String {
        match self {
            Self::Quantity(dimension) => raised(&units.label(dimension)),
            Self::Angle => "rad".into(),
            Self::Samples => "rows (distance, energy)".into(),
            Self::Name(names) => names.into(),
        }
    }
}

/// `nm^6` as `nm⁶`.
pub(crate) fn raised(unit: &str) -> String {
    let mut out = unit.replace("^1", "");
    for (digit, small) in (2..10).zip("²³⁴⁵⁶⁷⁸⁹".chars()) {
        out = out.replace(&format!("^{digit}"), &small.to_string());
    }
    out
}

/// A number as people write it: 8.37e-6, not 0.00000837.
pub(crate) fn number(x: f64) -> String {
    if x != 0.0 && x.abs() < 1e-3 {
        format!("{x:e}")
    } else {
        x.to_string()
    }
}

/// A key of an input file.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// How it is spelled.
    pub name: &'static str,
    /// Its symbol and what it is.
    pub words: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// What is taken where it is absent.
    pub absent: Absent,
}

impl Key {
    /// A quantity.
    pub const fn new(name: &'static str, words: &'static str, dimension: Dimension, absent: Absent) -> Self {
        Self {
            name,
            words,
            takes: Takes::Quantity(dimension),
            absent,
        }
    }

    /// One of some names.
    pub const fn name(
        name: &'static str,
        words: &'static str,
        names: &'static str,
        absent: &'static str,
    ) -> Self {
        Self {
            name,
            words,
            takes: Takes::Name(names),
            absent: Absent::Otherwise(absent),
        }
    }
}

/// A model that is not a potential: its name in input files, its keys, its documentation.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// The name in input files.
    pub name: &'static str,
    /// Other names it is known by.
    pub also: &'static [&'static str],
    /// Its keys.
    pub keys: &'static [Key],
    /// What it computes.
    pub doc: Doc,
}
