//! `[[forces]]`: pair terms and bonded terms from their keys.

use std::path::Path;

use super::bonded::BONDED_KEYS;
use super::coefficients::{Coefficients, PairCoefficients, Refusal};
use super::electrostatics;
use super::error::InputError;
use super::reader::{Item, Section};
use super::samples;
use super::species::SpeciesList;
use crate::forces::{BondedTerm, ForceField, MixingRule, PairTerm, PairTermBuilder, TermError};
use crate::potentials::{
    ANGLES, AXES, AngleFamily, AxisFamily, BONDS, BondFamily, DIHEDRALS, Kind, ORIENTED, PAIRS, PairModel,
    Parameter, Parameters, Value,
};
use crate::system::{Cell, Dimension, Species, System, Units};
use crate::truncation::Truncation;

type Result<T> = std::result::Result<T, InputError>;

pub(super) const PAIR_KEYS: &[&str] = &[
    "kind",
    "name",
    "cutoff",
    "truncation",
    "switch_from",
    "mixing",
    "tail",
    "species",
    "pairs",
];
/// The longest cut-off that makes sense, in heights of the cell: the images of a small cell are
/// summed, but thousands of them are a misplaced unit.
pub(super) const MOST_IMAGES: f64 = 10.0;

/// What the terms are read against.
pub(super) struct Terms<'s, 'a> {
    pub(super) units: Units,
    pub(super) declared: &'s SpeciesList<'a>,
    pub(super) system: &'s System,
    pub(super) folder: &'s Path,
    /// The size of the pressure a barostat is to keep, if there is one.
    pub(super) target_pressure: Option<f64>,
    /// The largest error of the pressure that is allowed, once it is known.
    pub(super) pressure_tolerance: Option<f64>,
    pub(super) warnings: Vec<String>,
    /// The smallest length among the parameters: what "on top of one another" is measured by.
    pub(super) smallest_length: Option<f64>,
    /// Coefficients of the structure file.
    pub(super) coefficients: Vec<Coefficients>,
}

/// A term over pairs as an item describes it.
struct DescribedTerm<'s, 'a, F: ?Sized + 'static> {
    builder: PairTermBuilder<'s, F>,
    said: Said<'a>,
}

/// Where a term over pairs was described.
struct Said<'a> {
    section: Section<'a>,
    /// Whether the item gives no parameters at all.
    bare: bool,
    /// Whether the structure file gave some.
    taken: bool,
}

impl<'s, 'a> Terms<'s, 'a> {
    pub(super) fn read(&mut self, root: &Section<'a>) -> Result<ForceField> {
        let mut field = ForceField::new(self.units);
        let Some(list) = root.get("forces") else {
            self.warnings
                .push("there are no [[forces]]: the particles do not interact".into());
            self.warn_of_unused_coefficients();
            return Ok(field);
        };
        let mut names: Vec<String> = Vec::new();
        let mut long_range = Vec::new();
        for item in list.one_or_many() {
            let kind_item = item.entries()?.into_iter().find(|(name, _)| *name == "kind");
            let Some((_, kind_item)) = kind_item else {
                let section = item.section("[[forces]]", &[PAIR_KEYS, BONDED_KEYS].concat())?;
                return Err(section.missing("kind", "kind = \"lennard-jones\""));
            };
            let kind = kind_item.text()?;
            // A published set has terms for whatever a system may have.
            let acts = |count: usize| count > 0 || !item.is_included();
            let name = if let Some(family) = PAIRS.find(kind) {
                let asked = self.pair(&item, family)?;
                let term = asked
                    .builder
                    .finish()
                    .map_err(|e| self.pair_error(e, &asked.said, family))?;
                self.refuse_absurd_cutoff(&term, &asked.said.section)?;
                field.pairs.push(term);
                field.pairs.last_mut().map(|t| &mut t.name)
            } else if let Some(family) = ORIENTED.find(kind) {
                let asked = self.pair(&item, family)?;
                let term = asked
                    .builder
                    .finish()
                    .map_err(|e| self.pair_error(e, &asked.said, family))?;
                field.oriented.push(term);
                field.oriented.last_mut().map(|t| &mut t.name)
            } else if BONDS.has(kind) {
                let t = &self.system.topology;
                let term = self.bonded::<dyn BondFamily>(&item, kind, "bonds", &t.bond_kinds, &[])?;
                add(&mut field.bonds, acts(term.count(&t.bonds)), term)
            } else if ANGLES.has(kind) {
                let t = &self.system.topology;
                let term = self.bonded::<dyn AngleFamily>(&item, kind, "angles", &t.angle_kinds, &[])?;
                add(&mut field.angles, acts(term.count(&t.angles)), term)
            } else if DIHEDRALS.has(kind) {
                self.dihedral(&item, kind, &mut field)?
            } else if AXES.has(kind) {
                let t = &self.system.topology;
                let term = self.bonded::<dyn AxisFamily>(&item, kind, "axes", &t.axis_kinds, &[])?;
                self.refuse_points(&item, &term)?;
                add(&mut field.axes, acts(term.count(&t.axes)), term)
            } else if electrostatics::KINDS.contains(&kind) {
                long_range.push((item, kind));
                continue;
            } else {
                return Err(kind_item.unknown("potential", &all_kinds()));
            };
            if let Some(name) = name {
                unique(name, &mut names);
            }
        }
        for (item, kind) in &long_range {
            self.electrostatics(item, kind, &mut field)?;
        }
        if !field.oriented.is_empty() && !self.system.exclusions.scaled.is_empty() {
            return Err(list
                .key_error("`exclusions.scale_14` does not act on potentials of orientations")
                .expected("pairs three bonds apart that interact in full or not at all")
                .help("leave `scale_14` out, and say `bonds` in [exclusions]"));
        }
        self.all_covered(list, &field)?;
        self.warn_of_unused_coefficients();
        Ok(field)
    }

    fn warn_of_unused_coefficients(&mut self) {
        let unused = self.coefficients.iter().flat_map(Coefficients::unused);
        self.warnings.extend(unused);
    }

    /// The refusal of coefficients as an error of the term that asked for them.
    pub(super) fn refused(section: &Section, refusal: Refusal) -> InputError {
        match refusal {
            Refusal::EnergyUnit { file, section: name } => section
                .error(format!(
                    "[[forces]] gives no parameters; \"{file}\" has them in `{name}`, but does not say its unit of energy"
                ))
                .expected("energy_unit in [system], or parameters here")
                .help("add energy_unit = \"kcal/mol\" beside file"),
            Refusal::Row { message, expected } => section
                .error(format!("[[forces]] takes its parameters from {message}"))
                .expected(expected),
            Refusal::Style { message, help } => section
                .error(format!("[[forces]] gives no parameters, and {message}"))
                .expected("parameters here, or a style that is known")
                .help(help),
        }
    }

    /// A value of a parameter.
    fn value(&self, parameter: &Parameter, item: &Item) -> Result<Value> {
        match parameter.kind {
            Kind::Angle => item.quantity(self.units, Dimension::NONE).map(Value::Number),
            Kind::Quantity(dimension) => item.quantity(self.units, dimension).map(Value::Number),
            Kind::Samples => samples::read(item, self.folder, self.units).map(Value::Samples),
        }
    }

    /// The parameters among the keys of a table.
    pub(super) fn values(&self, section: &Section, parameters: &[Parameter]) -> Result<Vec<(String, Value)>> {
        let mut values = Vec::new();
        for parameter in parameters {
            if let Some(item) = section.get(parameter.name) {
                values.push((parameter.name.to_owned(), self.value(parameter, item)?));
            }
        }
        Ok(values)
    }

    /// Everything that an item says of a term over pairs.
    fn pair<F: PairModel + ?Sized>(
        &mut self,
        item: &Item<'a>,
        family: &'static F,
    ) -> Result<DescribedTerm<'s, 'a, F>> {
        let species: &'s [Species] = &self.system.species;
        let mut builder = PairTermBuilder::new(family, species);
        let own_names: Vec<&str> = family.own().iter().map(|p| p.name).collect();
        let parameters = family.parameters();
        let parameter_names: Vec<&str> = parameters.iter().map(|p| p.name).collect();
        let of_species = [&parameter_names[..], &own_names].concat();
        let section = item.section("[[forces]]", &[PAIR_KEYS, &parameter_names].concat())?;
        let refuse = |e: TermError, section: &Section| section.error(format!("[[forces]]: {e}"));

        let cutoff = section.map("cutoff", |i| i.positive(self.units, Dimension::LENGTH))?;
        if let Some(cutoff) = cutoff {
            builder = builder.cutoff(cutoff);
        }
        builder = builder.truncation(self.truncation(&section)?);
        let rules = MixingRule::ALL.map(|rule| (rule.name(), rule));
        if let Some(rule) = section.map("mixing", |i| i.choice("mixing rule", &rules))? {
            builder = builder.mixing(rule);
        }
        if section.map("tail", Item::flag)? == Some(true) {
            if self.system.cell.periodic() != [true; 3] {
                let item = section.get("tail").unwrap_or(item);
                return Err(item
                    .error("is true, but a tail correction needs a cell that is periodic in all directions")
                    .expected("tail = false"));
            }
            builder = builder.tail(true);
        }
        if let Some(name) = section.map("name", Item::text)? {
            builder = builder.name(name);
        }

        let everywhere = self.values(&section, parameters)?;
        self.check(&section, parameters, &everywhere, &[], |p| family.check(p))?;
        builder = builder
            .all_values(everywhere.clone())
            .map_err(|e| refuse(e, &section))?;
        let has = |name: &str| species.iter().any(|s| s.name == name);
        let mut likes: Vec<(&str, Vec<(String, Value)>)> = Vec::new();
        if let Some(item) = section.get("species") {
            for (name, item) in item.entries()? {
                self.declared.named(name, &item)?;
                let table = item.section(&format!("species {name}"), &of_species)?;
                let values = self.values(&table, parameters)?;
                self.check(&table, parameters, &values, &everywhere, |p| family.check(p))?;
                let own = self.values(&table, family.own())?;
                self.check(&table, family.own(), &own, &[], |p| family.check_own(p))?;
                if has(name) && !own.is_empty() {
                    builder = builder.own_values(name, own).map_err(|e| refuse(e, &table))?;
                }
                likes.extend((!values.is_empty()).then_some((name, values)));
            }
        }
        let own = ["species", "pairs"].iter().any(|key| section.get(key).is_some());
        let bare = everywhere.is_empty() && !own;
        let from_file = match family.name() == "lennard-jones" && bare {
            true => self.pair_coefficients(&section)?,
            false => PairCoefficients::default(),
        };
        for (_, values) in &from_file.likes {
            self.check(&section, parameters, values, &[], |p| family.check(p))?;
        }
        let modeled = |name: &str| {
            self.declared
                .all
                .iter()
                .any(|d| d.name == name && d.model.is_some())
        };
        for (name, values) in from_file.likes.iter().filter(|(name, _)| !modeled(name)) {
            likes.push((name, values.clone()));
        }
        for ([a, b], values) in &from_file.pairs {
            self.check(&section, parameters, values, &[], |p| family.check(p))?;
            builder = builder
                .pair_values(a, b, values.clone(), None)
                .map_err(|e| refuse(e, &section))?;
        }
        let filled = self.with_models(family.name(), &everywhere, likes);
        for (name, values) in filled.into_iter().filter(|(name, _)| has(name)) {
            builder = builder
                .like_values(name, values)
                .map_err(|e| refuse(e, &section))?;
        }
        if let Some(item) = section.get("pairs") {
            let mut seen: Vec<[&str; 2]> = Vec::new();
            for (text, item) in item.entries()? {
                let [a, b] = self.declared.pair(text, &item)?;
                let sorted = if a <= b { [a, b] } else { [b, a] };
                if seen.contains(&sorted) {
                    return Err(item
                        .key_error(format!("the pair {a}-{b} is given twice in [[forces]]"))
                        .expected("each pair once, in either order")
                        .help("leave one of the two orders out"));
                }
                seen.push(sorted);
                if item.is_text() {
                    item.choice("pair", &[("none", ())])
                        .map_err(|_| item.wrong("\"none\" or a table of parameters"))?;
                    if has(a) && has(b) {
                        builder = builder.no_interaction(a, b).map_err(|e| refuse(e, &section))?;
                    }
                    continue;
                }
                let table = item.section(
                    &format!("pair {text}"),
                    &[&parameter_names[..], &["cutoff"]].concat(),
                )?;
                let values = self.values(&table, parameters)?;
                let own = table.map("cutoff", |i| i.positive(self.units, Dimension::LENGTH))?;
                self.check(&table, parameters, &values, &everywhere, |p| family.check(p))?;
                if has(a) && has(b) {
                    builder = builder
                        .pair_values(a, b, values, own)
                        .map_err(|e| refuse(e, &table))?;
                }
            }
        }
        let taken = !(from_file.likes.is_empty() && from_file.pairs.is_empty());
        Ok(DescribedTerm {
            builder,
            said: Said { section, bare, taken },
        })
    }

    fn pair_error<F: PairModel + ?Sized>(&self, error: TermError, said: &Said, family: &F) -> InputError {
        let missing = matches!(
            error,
            TermError::MissingPair { .. } | TermError::MissingParameter { .. }
        );
        let style = (self.coefficients.iter()).find_map(|c| c.unknown_style("pairs", family.name()));
        match style {
            Some(refusal) if missing && said.bare && !said.taken => Self::refused(&said.section, refusal),
            _ => self.term_error(error, &said.section, family.parameters(), said.taken),
        }
    }

    fn pair_coefficients(&mut self, section: &Section) -> Result<PairCoefficients> {
        let mut all = PairCoefficients::default();
        for coefficients in &mut self.coefficients {
            let found = coefficients
                .lennard_jones()
                .map_err(|e| Self::refused(section, e))?;
            all.likes.extend(found.likes);
            all.pairs.extend(found.pairs);
        }
        Ok(all)
    }

    /// Parameters by species, with those of published models where the file gives none.
    fn with_models<'n>(
        &mut self,
        potential: &str,
        everywhere: &[(String, Value)],
        mut likes: Vec<(&'n str, Vec<(String, Value)>)>,
    ) -> Vec<(&'n str, Vec<(String, Value)>)>
    where
        'a: 'n,
    {
        if potential != "lennard-jones" {
            return likes;
        }
        for declared in &self.declared.all {
            let Some((_, site)) = declared.model else { continue };
            let mut own = match likes.iter().position(|(name, _)| *name == declared.name) {
                Some(place) => likes.swap_remove(place).1,
                None => Vec::new(),
            };
            for (name, value) in [("epsilon", site.epsilon), ("sigma", site.sigma)] {
                if !own.iter().chain(everywhere).any(|(given, _)| given == name) {
                    own.push((name.to_owned(), Value::Number(value)));
                }
            }
            if site.sigma > 0.0 {
                self.smallest_length = Some(self.smallest_length.map_or(site.sigma, |s| s.min(site.sigma)));
            }
            if !own.is_empty() {
                likes.push((declared.name, own));
            }
        }
        likes
    }

    fn truncation(&self, section: &Section) -> Result<Truncation> {
        let from = section.map("switch_from", |i| i.not_negative(self.units, Dimension::LENGTH))?;
        // The length in `Switch` is filled in below.
        let choices = Truncation::ALL.map(|truncation| (truncation.record().name, truncation));
        let chosen = section.map("truncation", |i| i.choice("truncation", &choices))?;
        match (chosen, from, section.get("switch_from")) {
            (Some(Truncation::Switch { .. }), Some(from), Some(item)) => {
                if let Some(cutoff) = section.map("cutoff", |i| i.positive(self.units, Dimension::LENGTH))?
                    && from >= cutoff
                {
                    return Err(item
                        .wrong(format!("a length below the cut-off ({cutoff} {})", self.label()))
                        .help("switching begins at `switch_from` and ends at `cutoff`"));
                }
                Ok(Truncation::Switch { from })
            }
            (Some(Truncation::Switch { .. }), ..) => Err(section.missing(
                "switch_from",
                if self.units == Units::Md {
                    "switch_from = \"10 Å\""
                } else {
                    "switch_from = 2.0"
                },
            )),
            (_, Some(_), Some(item)) => Err(item
                .key_error("`switch_from` belongs to truncation = \"switch\"")
                .expected("no such key")
                .help("say truncation = \"switch\"")),
            (chosen, ..) => Ok(chosen.unwrap_or(Truncation::Shift)),
        }
    }

    fn label(&self) -> String {
        self.units.label(Dimension::LENGTH)
    }

    pub(super) fn example(&self) -> &'static str {
        Dimension::LENGTH.example(self.units).unwrap_or("1.0")
    }

    /// Lets the potential look at the values where they stand, once they are complete.
    pub(super) fn check(
        &mut self,
        section: &Section,
        parameters: &[Parameter],
        own: &[(String, Value)],
        outer: &[(String, Value)],
        check: impl Fn(Parameters) -> std::result::Result<(), crate::potentials::ParameterError>,
    ) -> Result<()> {
        let given = |name: &str| {
            own.iter()
                .chain(outer)
                .find(|(n, _)| n == name)
                .map(|(_, v)| v.clone())
        };
        let value = |p: &Parameter| given(p.name).or(p.default.map(Value::Number));
        for p in parameters {
            if let (Kind::Quantity(Dimension::LENGTH), Some(Value::Number(x))) = (p.kind, given(p.name))
                && x > 0.0
            {
                self.smallest_length = Some(self.smallest_length.map_or(x, |s| s.min(x)));
            }
        }
        let Some(values) = parameters.iter().map(value).collect::<Option<Vec<_>>>() else {
            return Ok(());
        };
        check(Parameters(&values)).map_err(|e| match section.get(e.parameter) {
            Some(item) => item.wrong(e.expected),
            None => section
                .error(format!("{}: {e}", section.heading))
                .found(e.value)
                .expected(e.expected),
        })
    }

    pub(super) fn term_error(
        &self,
        error: TermError,
        section: &Section,
        parameters: &[Parameter],
        from_file: bool,
    ) -> InputError {
        let blank: Vec<String> = parameters.iter().map(|p| format!("{} = …", p.name)).collect();
        let blank = blank.join(", ");
        let at = section.error(format!("[[forces]]: {error}"));
        match &error {
            TermError::MissingPair {
                pair: [a, b],
                unmixed,
                ..
            } => {
                let mix = match (unmixed, a == b) {
                    (Some(p), _) => format!(" (`{p}` cannot be mixed)"),
                    (None, true) => String::new(),
                    (None, false) if from_file => {
                        ", or say how LAMMPS mixed them: mixing = \"geometric\" (its default for lj/cut) \
                         or \"lorentz-berthelot\" (pair_modify mix arithmetic)"
                            .into()
                    }
                    (None, false) => ", or set `mixing` and give `species`".into(),
                };
                at.found("nothing")
                    .expected(format!("parameters for {a}-{b}"))
                    .help(format!(
                        "add {a}-{b} = {{ {blank} }} to `pairs`, or {a}-{b} = \"none\"{mix}"
                    ))
            }
            TermError::MissingCutoff { .. } => {
                section.missing("cutoff", &format!("cutoff = {}", self.example()))
            }
            TermError::MissingParameter { of, parameter, .. } => at
                .found("nothing")
                .expected(format!("`{parameter}` for {of}"))
                .help(format!("it takes {blank}")),
            TermError::NoTail(_) => match section.get("tail") {
                Some(item) => item
                    .error(format!("is true, but there is {error}"))
                    .expected("tail = false"),
                None => at,
            },
            TermError::SwitchBeyondCutoff { cutoff, .. } => match section.get("switch_from") {
                Some(item) => item.wrong(format!(
                    "a length below every cut-off ({cutoff} {})",
                    self.label()
                )),
                None => at,
            },
            _ => at,
        }
    }

    pub(super) fn refuse_absurd_cutoff(&self, term: &PairTerm, section: &Section) -> Result<()> {
        let shortest = shortest_period(&self.system.cell);
        let longest = term.rows.iter().map(|row| row.cutoff).fold(0.0, f64::max);
        if longest <= MOST_IMAGES * shortest {
            return Ok(());
        }
        let unit = self.label();
        let item = section.get("cutoff").unwrap_or(&section.item);
        Err(item
            .error(format!(
                "reaches {} {unit}, more than {MOST_IMAGES} times the shortest height of the cell ({} {unit})",
                number(longest),
                number(shortest)
            ))
            .expected(format!("at most {} {unit}", number(MOST_IMAGES * shortest)))
            .help("check the unit of the cut-off and of the cell"))
    }
}

/// The shortest height of a cell along which it is periodic; infinite where it is open.
pub(super) fn shortest_period(cell: &Cell) -> f64 {
    let heights = cell.heights().to_array();
    (0..3)
        .filter(|&k| cell.periodic()[k])
        .map(|k| heights[k])
        .fold(f64::INFINITY, f64::min)
}

/// A number for a message: absurd ones without their hundreds of digits.
pub(super) fn number(x: f64) -> String {
    if x == 0.0 || (1e-6..1e9).contains(&x.abs()) {
        x.to_string()
    } else {
        format!("{x:e}")
    }
}

/// Adds a term where it acts; gives its name.
fn add<F: ?Sized>(to: &mut Vec<BondedTerm<F>>, acts: bool, term: BondedTerm<F>) -> Option<&mut String> {
    if !acts {
        return None;
    }
    to.push(term);
    to.last_mut().map(|term| &mut term.name)
}

fn all_kinds() -> Vec<&'static str> {
    let pairs = PAIRS.iter().map(|f| f.name());
    let bonds = BONDS.iter().map(|f| f.name());
    let angles = ANGLES.iter().map(|f| f.name());
    let oriented = ORIENTED.iter().map(|f| f.name());
    let axes = AXES.iter().map(|f| f.name());
    pairs
        .chain(bonds)
        .chain(angles)
        .chain(DIHEDRALS.iter().map(|f| f.name()))
        .chain(oriented)
        .chain(axes)
        .chain(electrostatics::KINDS.iter().copied())
        .collect()
}

/// Numbers terms of the same name.
fn unique(name: &mut String, taken: &mut Vec<String>) {
    let plain = name.clone();
    let mut number = 1;
    while taken.contains(name) {
        number += 1;
        *name = format!("{plain}-{number}");
    }
    taken.push(name.clone());
}
