//! The manual: what each model computes, in its formula, its parameters and their units, beside the conventions of
//! other programs.
//!
//! A [`Doc`] lives in the file of the thing it describes: `const DOC` of a potential, a [`Record`] of everything else.
//! `debye info NAME` and `docs/models.md` are rendered from it, and the tests hold the examples against the code.

mod markdown;
mod text;

pub use markdown::{entry_markdown, page};
pub use text::{one_line, text};

use crate::backend::cpu::FIRE;
use crate::forces::MixingRule;
use crate::forces::constraints::{RIGID_WATER, SHAKE};
use crate::forces::electrostatics::{EWALD, P3M, PME};
use crate::input::nearest;
use crate::integrate::{BarostatKind, Scheme, ThermostatKind};
use crate::potentials::{ANGLES, BONDS, DIHEDRALS, Kind, Mixing, PAIRS, Parameter};
use crate::system::{Dimension, Units};
use crate::truncation::Truncation;

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
fn raised(unit: &str) -> String {
    let mut out = unit.replace("^1", "");
    for (digit, small) in (2..10).zip("²³⁴⁵⁶⁷⁸⁹".chars()) {
        out = out.replace(&format!("^{digit}"), &small.to_string());
    }
    out
}

/// A number as people write it: 8.37e-6, not 0.00000837.
fn number(x: f64) -> String {
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

    fn of(parameter: &Parameter) -> Self {
        Self {
            name: parameter.name,
            words: parameter.words,
            takes: match parameter.kind {
                Kind::Quantity(dimension) => Takes::Quantity(dimension),
                Kind::Angle => Takes::Angle,
                Kind::Samples => Takes::Samples,
            },
            absent: parameter.default.map_or(Absent::Required, Absent::Value),
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

/// Where in an input file a model stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// `[[forces]]` between pairs.
    Pair,
    /// `[[forces]]` on bonds.
    Bond,
    /// `[[forces]]` on angles.
    Angle,
    /// `[[forces]]` on dihedrals and impropers.
    Dihedral,
    /// `[[forces]]` between all charges.
    Electrostatics,
    /// `truncation` of a pair term.
    Truncation,
    /// `mixing` of a pair term.
    Mixing,
    /// `[integrator]`.
    Integrator,
    /// `[[thermostat]]`.
    Thermostat,
    /// `[barostat]`.
    Barostat,
    /// `[[constraints]]`.
    Constraint,
    /// `[minimize]`.
    Minimizer,
}

impl Section {
    /// All of them, in the order of the page.
    pub const ALL: [Self; 12] = [
        Self::Pair,
        Self::Bond,
        Self::Angle,
        Self::Dihedral,
        Self::Electrostatics,
        Self::Truncation,
        Self::Mixing,
        Self::Integrator,
        Self::Thermostat,
        Self::Barostat,
        Self::Constraint,
        Self::Minimizer,
    ];

    /// Its heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::Pair => "Pair potentials",
            Self::Bond => "Bonds",
            Self::Angle => "Angles",
            Self::Dihedral => "Dihedrals and impropers",
            Self::Electrostatics => "Long-range electrostatics",
            Self::Truncation => "Truncations",
            Self::Mixing => "Mixing rules",
            Self::Integrator => "Integrators",
            Self::Thermostat => "Thermostats",
            Self::Barostat => "Barostats",
            Self::Constraint => "Constraints",
            Self::Minimizer => "Minimizer",
        }
    }

    /// One of its kind.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Pair => "pair potential",
            Self::Bond => "bond potential",
            Self::Angle => "angle potential",
            Self::Dihedral => "dihedral potential",
            Self::Electrostatics => "long-range electrostatics",
            Self::Truncation => "truncation",
            Self::Mixing => "mixing rule",
            Self::Integrator => "integrator",
            Self::Thermostat => "thermostat",
            Self::Barostat => "barostat",
            Self::Constraint => "constraint",
            Self::Minimizer => "minimizer",
        }
    }

    /// How it is asked for, and where.
    pub fn place(self, name: &str) -> (String, &'static str) {
        let key = match self {
            Self::Truncation => "truncation",
            Self::Mixing => "mixing",
            _ => "kind",
        };
        let section = match self {
            Self::Pair | Self::Bond | Self::Angle | Self::Dihedral | Self::Electrostatics => "[[forces]]",
            Self::Truncation | Self::Mixing => "[[forces]] of pairs",
            Self::Integrator => "[integrator]",
            Self::Thermostat => "[integrator] or [[thermostat]]",
            Self::Barostat => "[barostat]",
            Self::Constraint => "[[constraints]]",
            Self::Minimizer => "[minimize]",
        };
        (format!("{key} = \"{name}\""), section)
    }

    /// The unit of the coordinate of a potential.
    fn coordinate_unit(self) -> &'static str {
        match self {
            Self::Angle | Self::Dihedral => "rad",
            _ => "nm",
        }
    }
}

/// A model of the manual.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Where it stands.
    pub section: Section,
    /// The name in input files.
    pub name: &'static str,
    /// Other names it is known by.
    pub also: &'static [&'static str],
    /// Its keys.
    pub keys: Vec<Key>,
    /// What it computes.
    pub doc: &'static Doc,
    /// How its parameters mix; empty for all but pair potentials.
    pub mixing: Vec<(&'static str, Mixing)>,
    /// Whether the formula is multiplied by k_e q₁q₂.
    pub uses_charges: bool,
}

impl Entry {
    fn of_record(section: Section, record: &'static Record) -> Self {
        Self {
            section,
            name: record.name,
            also: record.also,
            keys: record.keys.to_vec(),
            doc: &record.doc,
            mixing: Vec::new(),
            uses_charges: false,
        }
    }

    fn of_potential(
        section: Section,
        name: &'static str,
        parameters: &'static [Parameter],
        doc: &'static Doc,
    ) -> Self {
        Self {
            section,
            name,
            also: &[],
            keys: parameters.iter().map(Key::of).collect(),
            doc,
            mixing: Vec::new(),
            uses_charges: false,
        }
    }

    /// How unlike pairs follow from like ones, in words; `None` for all but pair potentials.
    pub fn mixing_words(&self) -> Option<String> {
        if self.section != Section::Pair {
            return None;
        }
        if self.mixing.iter().any(|(_, mixing)| *mixing == Mixing::Explicit) {
            return Some("not mixed; give their parameters in `pairs`".into());
        }
        let word = |mixing: &Mixing| match mixing {
            Mixing::Length => "as a length",
            Mixing::Energy => "as an energy",
            Mixing::Same => "must be equal",
            Mixing::Explicit => "not mixed",
        };
        let words = self
            .mixing
            .iter()
            .map(|(name, mixing)| format!("{name} {}", word(mixing)));
        Some(words.collect::<Vec<_>>().join(", "))
    }

    /// An example in words: `k = 1000 kJ/mol/nm², r0 = 0.15 nm: at r = 0.16 nm, u = 0.05 kJ/mol`.
    pub fn example_words(&self, example: &Example) -> String {
        let quantity = |value: f64, unit: String| format!("{} {unit}", number(value)).trim_end().to_owned();
        let values = self.keys.iter().zip(example.values);
        let mut words: Vec<String> = values
            .map(|(key, value)| format!("{} = {}", key.name, quantity(*value, key.takes.unit(Units::Md))))
            .collect();
        if example.cutoff > 0.0 {
            words.push(format!("cutoff = {} nm", example.cutoff));
        }
        // The formula begins with u(r).
        let letter = self
            .doc
            .formula
            .trim_start_matches("u(")
            .chars()
            .next()
            .unwrap_or('r');
        let unit = self.section.coordinate_unit();
        let (of, energy_unit) = if self.uses_charges {
            ("u/(k_e q₁q₂)", "1/nm")
        } else {
            ("u", "kJ/mol")
        };
        format!(
            "{}: at {letter} = {} {unit}, {of} = {} {energy_unit}",
            words.join(", "),
            example.at,
            example.energy
        )
    }
}

/// Every model, in the order of the page.
pub fn entries() -> Vec<Entry> {
    let mut all = Vec::new();
    for family in PAIRS {
        let parameters = family.parameters();
        let mut entry = Entry::of_potential(Section::Pair, family.name(), parameters, family.doc());
        entry.mixing = parameters.iter().map(|p| (p.name, p.mixing)).collect();
        entry.uses_charges = family.uses_charges();
        all.push(entry);
    }
    let bonds = BONDS
        .iter()
        .map(|f| (Section::Bond, f.name(), f.parameters(), f.doc()));
    let angles = ANGLES
        .iter()
        .map(|f| (Section::Angle, f.name(), f.parameters(), f.doc()));
    let dihedrals = DIHEDRALS
        .iter()
        .map(|f| (Section::Dihedral, f.name(), f.parameters(), f.doc()));
    let bonded = bonds.chain(angles).chain(dihedrals);
    all.extend(
        bonded.map(|(section, name, parameters, doc)| Entry::of_potential(section, name, parameters, doc)),
    );
    all.extend([&EWALD, &PME, &P3M].map(|r| Entry::of_record(Section::Electrostatics, r)));
    all.extend(Truncation::ALL.map(|t| Entry::of_record(Section::Truncation, t.record())));
    let rules = MixingRule::ALL.into_iter().filter_map(MixingRule::record);
    all.extend(rules.map(|r| Entry::of_record(Section::Mixing, r)));
    all.extend(Scheme::ALL.map(|s| Entry::of_record(Section::Integrator, s.record())));
    all.extend(ThermostatKind::ALL.map(|t| Entry::of_record(Section::Thermostat, t.record())));
    all.extend(BarostatKind::ALL.map(|b| Entry::of_record(Section::Barostat, b.record())));
    all.extend([&RIGID_WATER, &SHAKE].map(|r| Entry::of_record(Section::Constraint, r)));
    all.push(Entry::of_record(Section::Minimizer, &FIRE));
    all
}

/// The models of this name: more than one where a thermostat and a barostat share it.
pub fn find(name: &str) -> Vec<Entry> {
    let plain = name.trim().to_lowercase().replace(['_', ' '], "-");
    let mut all = entries();
    all.retain(|entry| entry.name == plain || entry.also.contains(&plain.as_str()));
    all
}

/// The name most like this one, or ours for what another program calls it.
pub fn suggestion(name: &str) -> Option<&'static str> {
    let names: Vec<&'static str> = entries()
        .iter()
        .flat_map(|entry| std::iter::once(entry.name).chain(entry.also.iter().copied()))
        .collect();
    nearest(name, names)
}
