//! The manual: what each model computes, in its formula, its parameters and their units, beside the conventions of
//! other programs.
//!
//! What a model says of itself is in its own file ([`record`](crate::record)). `debye info NAME` and `docs/models.md` are rendered from it, and the tests hold the examples against the code.

mod markdown;
mod text;

pub use crate::record::{Absent, Conventions, Doc, Example, Key, NOTHING, Record, Takes};
pub use markdown::{entry_markdown, page};
pub use text::{one_line, text};

use crate::engines::cpu::FIRE;
use crate::forces::MixingRule;
use crate::forces::constraints::{RIGID_BODY, RIGID_WATER, SHAKE};
use crate::forces::electrostatics::{EWALD, MULTILEVEL, P3M, PME};
use crate::integrate::{BarostatKind, Scheme, ThermostatKind};
use crate::potentials::{ANGLES, AXES, BONDS, DIHEDRALS, Kind, Mixing, ORIENTED, PAIRS, Parameter};
use crate::record::number;
use crate::suggest::nearest;
use crate::system::Units;
use crate::truncation::Truncation;

/// Where in an input file a model stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// `[[forces]]` between pairs.
    Pair,
    /// `[[forces]]` between pairs with orientations.
    Oriented,
    /// `[[forces]]` on bonds.
    Bond,
    /// `[[forces]]` on angles.
    Angle,
    /// `[[forces]]` on dihedrals and impropers.
    Dihedral,
    /// `[[forces]]` on axes.
    Axis,
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
    pub const ALL: [Self; 14] = [
        Self::Pair,
        Self::Oriented,
        Self::Bond,
        Self::Angle,
        Self::Dihedral,
        Self::Axis,
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
            Self::Oriented => "Potentials of orientations",
            Self::Bond => "Bonds",
            Self::Angle => "Angles",
            Self::Dihedral => "Dihedrals and impropers",
            Self::Axis => "Axes",
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
            Self::Oriented => "potential of orientations",
            Self::Bond => "bond potential",
            Self::Angle => "angle potential",
            Self::Dihedral => "dihedral potential",
            Self::Axis => "potential of an axis",
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
            Self::Pair
            | Self::Oriented
            | Self::Bond
            | Self::Angle
            | Self::Dihedral
            | Self::Axis
            | Self::Electrostatics => "[[forces]]",
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
            Self::Axis => "",
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
            keys: parameters.iter().map(key_of).collect(),
            doc,
            mixing: Vec::new(),
            uses_charges: false,
        }
    }

    /// How unlike pairs follow from like ones, in words; `None` for all but pair potentials.
    pub fn mixing_words(&self) -> Option<String> {
        if !matches!(self.section, Section::Pair | Section::Oriented) {
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
            "{}: at {letter} = {}, {of} = {} {energy_unit}",
            words.join(", "),
            quantity(example.at, unit.into()),
            example.energy
        )
    }
}

/// Every model, in the order of the page.
pub fn entries() -> Vec<Entry> {
    let mut all = Vec::new();
    for family in &PAIRS {
        let parameters = family.parameters();
        let mut entry = Entry::of_potential(Section::Pair, family.name(), parameters, family.doc());
        entry.mixing = parameters.iter().map(|p| (p.name, p.mixing)).collect();
        entry.uses_charges = family.uses_charges();
        all.push(entry);
    }
    for family in &ORIENTED {
        let mut entry = Entry::of_potential(
            Section::Oriented,
            family.name(),
            family.parameters(),
            family.doc(),
        );
        // What belongs to a species stands beside what belongs to a pair.
        entry.keys.extend(family.own().iter().map(key_of));
        entry.mixing = family.parameters().iter().map(|p| (p.name, p.mixing)).collect();
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
    let axes = AXES
        .iter()
        .map(|f| (Section::Axis, f.name(), f.parameters(), f.doc()));
    let bonded = bonds.chain(angles).chain(dihedrals).chain(axes);
    all.extend(
        bonded.map(|(section, name, parameters, doc)| Entry::of_potential(section, name, parameters, doc)),
    );
    all.extend([&EWALD, &PME, &P3M, &MULTILEVEL].map(|r| Entry::of_record(Section::Electrostatics, r)));
    all.extend(Truncation::ALL.map(|t| Entry::of_record(Section::Truncation, t.record())));
    let rules = MixingRule::ALL.into_iter().filter_map(MixingRule::record);
    all.extend(rules.map(|r| Entry::of_record(Section::Mixing, r)));
    all.extend(Scheme::ALL.map(|s| Entry::of_record(Section::Integrator, s.record())));
    all.extend(
        ThermostatKind::ALL
            .iter()
            .map(|t| Entry::of_record(Section::Thermostat, t.record())),
    );
    all.extend(BarostatKind::ALL.map(|b| Entry::of_record(Section::Barostat, b.record())));
    all.extend([&RIGID_WATER, &RIGID_BODY, &SHAKE].map(|r| Entry::of_record(Section::Constraint, r)));
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

/// A parameter of a potential as a key.
fn key_of(parameter: &Parameter) -> Key {
    Key {
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
