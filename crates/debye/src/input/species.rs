//! `[species.Name]`: the kinds of particles, their masses, charges and names in files.

use super::error::{InputError, suggestion};
use super::reader::{Item, Section};
use crate::system::models::{self, Site};
use crate::system::{Dimension, Rotor, Species, Units};

type Result<T> = std::result::Result<T, InputError>;

pub(super) const KEYS: &[&str] = &[
    "model",
    "mass",
    "charge",
    "dipole",
    "inertia",
    "electrons",
    "names",
];

/// A species as the file declares it.
#[derive(Clone, Debug)]
pub(super) struct Declared<'a> {
    pub(super) name: &'a str,
    /// The published model it is an atom of, by its name.
    pub(super) model: Option<(&'a str, &'static Site)>,
    /// The file's, else the model's; `None` leaves it to the structure file.
    pub(super) mass: Option<f64>,
    /// The file's, else the model's; `None` leaves it to the structure file, else zero.
    pub(super) charge: Option<f64>,
    /// How it turns; a point where the file says nothing.
    pub(super) rotor: Rotor,
    /// Electrons it stands for; zero where the file says nothing.
    pub(super) electrons: f64,
    /// Whether charge and dipole are those of an included set: a structure file that has its own keeps them.
    pub(super) yields: bool,
    /// Whether the whole species comes from an included set.
    pub(super) included: bool,
    /// Atom names and types of structure files that are this species.
    pub(super) names: Vec<&'a str>,
    pub(super) section: Section<'a>,
}

impl Declared<'_> {
    /// The species, where the input file says everything about it.
    pub(super) fn complete(&self, units: Units) -> Result<Species> {
        let mass = match (self.mass, units) {
            (Some(mass), _) => mass,
            (None, Units::LennardJones) => 1.0,
            (None, Units::Md) => return Err(self.missing_mass()),
        };
        Ok(Species::point(self.name, mass, self.charge.unwrap_or(0.0)).with_rotor(self.rotor))
    }

    /// The same of particles that stand alone, which need a mass.
    pub(super) fn single(&self, units: Units) -> Result<Species> {
        match self.section.get("mass") {
            Some(item) if self.mass == Some(0.0) => Err(item
                .error("is zero, but a particle that belongs to no rigid body needs a mass")
                .expected("a mass above zero")),
            _ => self.complete(units),
        }
    }

    pub(super) fn missing_mass(&self) -> InputError {
        self.section.missing("mass", "mass = \"39.948 u\"")
    }
}

/// All species of the file, in its order.
#[derive(Clone, Debug, Default)]
pub(super) struct SpeciesList<'a> {
    pub(super) all: Vec<Declared<'a>>,
}

impl<'a> SpeciesList<'a> {
    pub(super) fn read(item: Option<&Item<'a>>, units: Units) -> Result<Self> {
        let Some(item) = item else {
            return Ok(Self::default());
        };
        let mut list = Self::default();
        for (name, item) in item.entries()? {
            let section = item.section(&format!("[species.{name}]"), KEYS)?;
            let model = section.map("model", |i| model(i, units))?;
            let site = model.map(|(_, site)| site);
            // Zero only for sites of rigid bodies: input/constraints.rs.
            let mass = section.map("mass", |i| i.not_negative(units, Dimension::MASS))?;
            let mass = mass.or(site.map(|s| s.mass));
            let charge = section.map("charge", |i| i.quantity(units, Dimension::CHARGE))?;
            let charge = charge.or(site.map(|s| s.charge));
            let rotor = rotor(&section, units)?;
            let electrons = section.map("electrons", |i| i.not_negative(units, Dimension::NONE))?;
            let given: Vec<&Item> = ["charge", "dipole"]
                .iter()
                .filter_map(|key| section.get(key))
                .collect();
            let yields = !given.is_empty() && given.iter().all(|item| item.is_included());
            let names = match section.get("names") {
                None => vec![name],
                Some(item) => {
                    let names = item.names()?;
                    for (other, item) in &names {
                        list.refuse_twice(other, item)?;
                    }
                    names.into_iter().map(|(name, _)| name).collect()
                }
            };
            list.all.push(Declared {
                name,
                model,
                mass,
                charge,
                rotor,
                electrons: electrons.unwrap_or(0.0),
                yields,
                included: item.is_included(),
                names,
                section,
            });
        }
        Ok(list)
    }

    fn refuse_twice(&self, name: &str, item: &Item) -> Result<()> {
        match self.all.iter().find(|s| s.names.contains(&name)) {
            Some(other) => Err(item
                .error(format!(
                    "claims the atoms `{name}`, which species `{}` claims too",
                    other.name
                ))
                .expected("each name in one species")),
            None => Ok(()),
        }
    }

    pub(super) fn names(&self) -> Vec<&'a str> {
        self.all.iter().map(|s| s.name).collect()
    }

    pub(super) fn find(&self, name: &str) -> Option<&Declared<'a>> {
        self.all.iter().find(|s| s.name == name)
    }

    /// The species a value names.
    pub(super) fn named(&self, name: &str, item: &Item) -> Result<&Declared<'a>> {
        self.find(name).ok_or_else(|| self.unknown(name, item))
    }

    pub(super) fn unknown(&self, name: &str, item: &Item) -> InputError {
        let help = if self.all.is_empty() {
            format!("declare it: [species.{name}] with mass = …")
        } else {
            suggestion(name, "declared are", &self.names())
        };
        item.mention(
            name,
            format!("there is no species `{name}` (in `{}`)", item.path()),
        )
        .found(name)
        .expected(self.names().join(", "))
        .help(help)
    }

    /// The two species of `Ar-Ne`; names may contain hyphens themselves (`Na+-Cl-`).
    pub(super) fn pair(&self, text: &str, item: &Item) -> Result<[&'a str; 2]> {
        let known = |name: &str| self.find(name).map(|s| s.name);
        let splits = || {
            text.match_indices('-')
                .map(|(at, _)| (&text[..at], &text[at + 1..]))
        };
        if let Some(pair) = splits().find_map(|(a, b)| Some([known(a)?, known(b)?])) {
            return Ok(pair);
        }
        let halves: Vec<(&str, &str)> = splits().collect();
        match halves.as_slice() {
            [(a, b)] => {
                let stranger = if known(a).is_none() { a } else { b };
                Err(self.unknown(stranger, item))
            }
            _ => Err(item
                .mention(
                    text,
                    format!("`{text}` is not a pair of species (in `{}`)", item.path()),
                )
                .found(text)
                .expected("two declared species joined by a hyphen, such as Ar-Ar")
                .help(format!("declared are: {}", self.names().join(", ")))),
        }
    }
}

/// `inertia = "100 u*Å^2"` of a linear top, or three of a body, and `dipole`.
fn rotor(section: &Section, units: Units) -> Result<Rotor> {
    let moment = |item: &Item| item.positive(units, Dimension::MOMENT_OF_INERTIA);
    let inertia = section.map("inertia", |item| match item.is_list() {
        true => {
            let three = item.array("three moments of inertia, about x, y and z")?;
            let [x, y, z] = &three;
            Ok(Rotor::body([moment(x)?, moment(y)?, moment(z)?]))
        }
        false => Ok(Rotor::linear(moment(item)?)),
    })?;
    let dipole = section.map("dipole", |item| item.not_negative(units, Dimension::DIPOLE))?;
    let rotor = inertia.unwrap_or(Rotor::POINT).with_dipole(dipole.unwrap_or(0.0));
    rotor.check().map_err(|e| {
        let item = section
            .get("inertia")
            .or(section.get("dipole"))
            .unwrap_or(&section.item);
        let example = match units {
            Units::Md => "inertia = \"100 u*Å^2\"",
            Units::LennardJones => "inertia = 0.1",
        };
        let error = item.error(format!("cannot be: {e}"));
        match section.get("inertia") {
            Some(_) => error.expected("moments of inertia of a body"),
            None => error
                .expected("a moment of inertia beside it")
                .help(format!("add {example}: without one it could never turn")),
        }
    })?;
    Ok(rotor)
}

/// `model = "tip3p:O"`.
fn model<'a>(item: &Item<'a>, units: Units) -> Result<(&'a str, &'static Site)> {
    let name = item.text()?;
    if units != Units::Md {
        return Err(item
            .error("is a model in md units, but the file has units = \"lj\"")
            .expected("no model in reduced units")
            .help("say units = \"md\" at the top, or give the numbers yourself"));
    }
    let names = models::site_names();
    match models::site(name) {
        Some(site) => Ok((name, site)),
        None => Err(item.unknown("model", &names.iter().map(String::as_str).collect::<Vec<_>>())),
    }
}
