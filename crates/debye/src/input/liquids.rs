//! `build = { kind = "water", … }` and its kin: salt, water, solutions.

use super::builders::{Built, COUNT, Work};
use super::error::InputError;
use super::reader::{Item, Section};
use super::species::Declared;
use super::structure;
use super::system::CellKeys;
use crate::system::builders::{self, Lattice, NACL_SPACING, SolutionBuilder};
use crate::system::models::{self, Site, WaterModel};
use crate::system::{Dimension, Species, Units};

type Result<T> = std::result::Result<T, InputError>;

pub(super) const NACL_KEYS: &[&str] = &["kind", "cells", "spacing", "species"];
/// Mass densities that are taken for liquid water, in g/cm³.
const DENSITIES: std::ops::RangeInclusive<f64> = 0.05..=20.0;

pub(super) const WATER_KEYS: &[&str] = &["kind", "model", "molecules", "density", "species", "seed"];
pub(super) const SOLUTION_KEYS: &[&str] = &[
    "kind",
    "model",
    "molecules",
    "density",
    "species",
    "seed",
    "ions",
    "molality",
    "pairs",
    "ions_apart",
    "solute",
    "format",
    "atom_style",
    "length_unit",
    "time_unit",
    "energy_unit",
    "padding",
    "clearance",
    "neutralize",
];

pub(super) const LIQUID_KEYS: &[&str] = &["kind", "counts", "density", "disorder", "stretch", "axes", "seed"];

/// Keys that say something about a solute.
const SOLUTE_KEYS: &[&str] = &[
    "format",
    "atom_style",
    "length_unit",
    "time_unit",
    "energy_unit",
    "padding",
    "clearance",
    "neutralize",
];

impl<'a> Work<'_, '_, 'a> {
    pub(super) fn nacl(&self) -> Result<Built> {
        let ions = self.ions("species")?;
        let cells = self.cells(Lattice::RockSalt)?;
        let [cation, anion] = &ions;
        let is = |ion: &Declared, element: &str| match ion.model {
            Some((_, site)) => site.element() == element,
            None => ion.name == element,
        };
        let species = self.charged(ions)?;
        let spacing = self
            .section
            .map("spacing", |i| i.positive(self.units(), Dimension::LENGTH))?;
        let spacing = match spacing {
            Some(spacing) => spacing,
            None if self.units() == Units::Md && is(cation, "Na") && is(anion, "Cl") => NACL_SPACING,
            None => {
                let salt = format!("the lattice constant of {}{}", cation.name, anion.name);
                return Err(self.section.missing("spacing", &format!("spacing = …, {salt}")));
            }
        };
        Ok(builders::salt(cells, species, spacing)
            .units(self.units())
            .build())
    }

    pub(super) fn water(&self, parent: &Section<'a>, keys: CellKeys) -> Result<Built> {
        self.finish(self.liquid(parent, keys, None)?)
    }

    pub(super) fn solution(&self, parent: &Section<'a>, keys: CellKeys) -> Result<Built> {
        let section = self.section;
        let solute = section.get("solute");
        if solute.is_some() {
            section.not_both("solute", "molecules")?;
        } else if let Some(item) = SOLUTE_KEYS.iter().find_map(|key| section.get(key)) {
            return Err(item
                .key_error(format!(
                    "`{}` belongs to `solute`, of which there is none",
                    item.path()
                ))
                .expected("no such key, or a solute")
                .help("add solute = \"protein.pqr\""));
        }
        section.not_both("molality", "pairs")?;
        let mut builder = self.liquid(parent, keys, solute)?;
        let molality = section.map("molality", |item| self.molality(item))?;
        let pairs = section.map("pairs", |i| i.count(1..=1_000_000_000, COUNT))?;
        let neutralize = section.map("neutralize", Item::flag)?.unwrap_or(false);
        if molality.is_some() || pairs.is_some() || neutralize || section.get("ions").is_some() {
            let [cation, anion] = self.charged(self.ions("ions")?)?;
            builder = builder.ions(cation, anion).neutralize(neutralize);
        } else if solute.is_none() {
            return Err(section.missing(
                "molality",
                "molality = 1.0 (in mol/kg), pairs = 20 or solute = \"…\"",
            ));
        }
        if let Some(molality) = molality {
            builder = builder.molality(molality);
        }
        if let Some(pairs) = pairs {
            builder = builder.ion_pairs(pairs);
        }
        let length = |key: &str| section.map(key, |i| i.not_negative(self.units(), Dimension::LENGTH));
        if let Some(apart) = length("ions_apart")? {
            builder = builder.ions_apart(apart);
        }
        if let Some(padding) = length("padding")? {
            if let (Some(item), Some(_)) = (section.get("padding"), keys.vectors) {
                return Err(item
                    .key_error("`padding` makes a cell, but [system] has `cell`")
                    .expected("one of `padding` and `cell`"));
            }
            builder = builder.padding(padding);
        }
        if let Some(clearance) = length("clearance")? {
            builder = builder.clearance(clearance);
        }
        if let Some(file) = solute {
            let open = CellKeys {
                vectors: None,
                periodic: Some([false; 3]),
            };
            builder = builder.solute(structure::read(self.setting, section, file, open)?);
        }
        self.finish(builder)
    }

    /// Particles near the sites of a lattice.
    pub(super) fn single_sites(&self, parent: &Section<'a>, keys: CellKeys) -> Result<Built> {
        let section = self.section;
        let counts = section.require("counts", "counts = { W = 1000 }")?;
        let mut builder = builders::liquid().units(self.units()).seed(self.seed()?);
        let (mut total, mut mass) = (0usize, 0.0);
        let mut particles = 0usize;
        for (name, item) in counts.entries()? {
            let count = item.count(1..=4_000_000_000, COUNT)?;
            total = total.saturating_add(count);
            let molecule = match self.setting.species.find(name) {
                None if self.setting.molecules.has(name) => {
                    Some(self.setting.molecules.named(name, &item, self.root)?)
                }
                _ => None,
            };
            particles = particles.saturating_add(count.saturating_mul(molecule.map_or(1, |m| m.beads.len())));
            self.setting.refuse_too_many(&item, particles)?;
            if let Some(molecule) = molecule {
                mass += count as f64 * molecule.beads.iter().map(|bead| bead.mass).sum::<f64>();
                builder = builder.molecules(count, molecule.clone());
            } else {
                let species = self.setting.species.named(name, &item)?.single(self.units())?;
                mass += count as f64 * species.mass;
                builder = builder.add(count, species);
            }
        }
        if total == 0 {
            return Err(counts.wrong("at least one species or molecule with its number"));
        }
        match (self.own_cell(parent, keys)?, section.get("density")) {
            (Some(_), Some(item)) => {
                return Err(item
                    .key_error("`density` makes a cell, but [system] has `cell`")
                    .expected("one of `density` and `cell`"));
            }
            (Some(cell), None) => builder = builder.cell(cell),
            (None, Some(item)) => builder = builder.density(self.number_density(item, mass / total as f64)?),
            (None, None) => {
                let example = match self.units() {
                    Units::Md => {
                        "density = \"0.997 g/cm^3\", or cell = [\"4 nm\", \"4 nm\", \"4 nm\"] to [system]"
                    }
                    Units::LennardJones => "density = 0.8, or cell = [10.0, 10.0, 10.0] to [system]",
                };
                return Err(section.missing("density", example));
            }
        }
        let number = |key: &str| section.map(key, |i| i.not_negative(self.units(), Dimension::NONE));
        if let Some(disorder) = number("disorder")? {
            builder = builder.disorder(disorder);
        }
        if let Some(stretch) = number("stretch")? {
            builder = builder.stretch(stretch);
        }
        let aligned = section.map("axes", |i| {
            i.choice("axes", &[("random", false), ("aligned", true)])
        })?;
        Ok(builder.aligned(aligned.unwrap_or(false)).build())
    }

    /// Builds it, unless there is no room.
    fn finish(&self, builder: SolutionBuilder) -> Result<Built> {
        if let Ok(most) = builder.most_particles() {
            self.setting.refuse_too_many(&self.section.item, most)?;
        }
        Ok(builder.build())
    }

    /// Water of the right model and size.
    fn liquid(
        &self,
        parent: &Section<'a>,
        keys: CellKeys,
        solute: Option<&Item<'a>>,
    ) -> Result<SolutionBuilder> {
        let section = self.section;
        if self.units() != Units::Md {
            return Err(section
                .error("water has md units: its models have no reduced ones")
                .expected("units = \"md\""));
        }
        let model = self.model()?;
        let [oxygen, hydrogen] = self.sites(model)?;
        let mut builder = builders::water(model).sites(oxygen, hydrogen).seed(self.seed()?);
        let density = section.map("density", |i| i.positive(self.units(), Dimension::MASS_DENSITY))?;
        let molecules = section.map("molecules", |i| i.count(1..=1_000_000_000, COUNT))?;
        let own_cell = self.own_cell(parent, keys)?;
        if let (Some(item), Some(_), Some(_)) = (section.get("density"), molecules, own_cell) {
            return Err(item
                .key_error("`density` follows from `molecules` and `cell`, which are both given")
                .expected("at most two of density, molecules and cell"));
        }
        if let Some(density) = density {
            let grams = density * self.units().grams_per_cubic_centimeter();
            if let Some(item) = section.get("density").filter(|_| !DENSITIES.contains(&grams)) {
                return Err(item
                    .error(format!("is {grams:.4} g/cm³, which is no liquid water"))
                    .expected("a mass density from 0.05 to 20 g/cm³")
                    .help("write the unit: density = \"0.997 g/cm^3\""));
            }
            builder = builder.density(density);
        }
        if let Some(molecules) = molecules {
            builder = builder.molecules(molecules);
        }
        if let Some(cell) = own_cell {
            builder = builder.cell(cell);
        } else if molecules.is_none() && solute.is_none() {
            return Err(section.missing(
                "molecules",
                "molecules = 1000, or cell = [\"4 nm\", \"4 nm\", \"4 nm\"] to [system]",
            ));
        }
        Ok(builder)
    }

    /// The water model: named, or the only one among the species.
    fn model(&self) -> Result<&'static WaterModel> {
        let names: Vec<(&str, &WaterModel)> = models::WATERS.iter().map(|m| (m.name, m)).collect();
        if let Some(item) = self.section.get("model") {
            return item.choice("water model", &names);
        }
        let used = |model: &WaterModel| {
            let of = |site: &'static Site| model.sites().iter().any(|own| std::ptr::eq(*own, site));
            let declared = &self.setting.species.all;
            declared.iter().any(|d| d.model.is_some_and(|(_, site)| of(site)))
        };
        let found: Vec<&WaterModel> = models::WATERS.iter().filter(|m| used(m)).collect();
        match found[..] {
            [one] => Ok(one),
            _ => Err(self.section.missing("model", "model = \"tip3p\"")),
        }
    }

    /// Oxygen and hydrogen: the two named, or those whose models they are.
    fn sites(&self, model: &'static WaterModel) -> Result<[Species; 2]> {
        let declared = self.setting.species;
        let sites = model.sites();
        let complete = |species: &Declared, site: &Site| {
            Species::point(
                species.name,
                species.mass.unwrap_or(site.mass),
                species.charge.unwrap_or(site.charge),
            )
        };
        if let Some(item) = self.section.get("species") {
            let names = item.names()?;
            let [oxygen, hydrogen] = &names[..] else {
                return Err(item.wrong("two species, oxygen and hydrogen, such as [\"OW\", \"HW\"]"));
            };
            if oxygen.0 == hydrogen.0 {
                return Err(item.wrong("two different species, oxygen and hydrogen"));
            }
            let oxygen = declared.named(oxygen.0, &oxygen.1)?;
            let hydrogen = declared.named(hydrogen.0, &hydrogen.1)?;
            return Ok([complete(oxygen, sites[0]), complete(hydrogen, sites[1])]);
        }
        let find = |site: &'static Site, name: &str| {
            let is = |d: &&Declared| d.model.is_some_and(|(_, own)| std::ptr::eq(own, site));
            let found = declared.all.iter().find(is);
            let found = found.ok_or_else(|| {
                let (model, atom) = (model.name, site.name);
                self.section
                    .error(format!("no species has model = \"{model}:{atom}\""))
                    .found("none")
                    .expected(format!("a species with model = \"{model}:{atom}\""))
                    .help(format!(
                        "add [species.{name}] with model = \"{model}:{atom}\", or name two with `species`"
                    ))
            })?;
            Ok(complete(found, site))
        };
        Ok([find(sites[0], "OW")?, find(sites[1], "HW")?])
    }

    /// Cation and anion: the two that `key` names, or the only ones that can be meant.
    fn ions(&self, key: &str) -> Result<[&Declared<'a>; 2]> {
        let declared = self.setting.species;
        if let Some(item) = self.section.get(key) {
            let names = item.names()?;
            let [cation, anion] = &names[..] else {
                return Err(item.wrong("two species, cation and anion, such as [\"Na\", \"Cl\"]"));
            };
            return Ok([
                declared.named(cation.0, &cation.1)?,
                declared.named(anion.0, &anion.1)?,
            ]);
        }
        let of = |sign: f64| -> Vec<&Declared<'a>> {
            let is_ion = |d: &&Declared| {
                d.model.is_some_and(|(name, _)| {
                    name.split_once(':')
                        .is_some_and(|(set, _)| models::ions(set).is_some())
                })
            };
            let charged = |d: &&Declared| d.charge.is_some_and(|q| q * sign > 0.0);
            // Among water and a solute only ions by their model can be meant; alone, any two are.
            let alone = declared.all.len() == 2;
            declared
                .all
                .iter()
                .filter(|d| charged(d) && (alone || is_ion(d)))
                .collect()
        };
        match (&of(1.0)[..], &of(-1.0)[..]) {
            ([cation], [anion]) => Ok([cation, anion]),
            // Two species without charges: as they stand, as a lattice takes them.
            _ if key == "species" && declared.all.len() == 2 => Ok([&declared.all[0], &declared.all[1]]),
            _ => Err(self.section.missing(key, &format!("{key} = [\"Na\", \"Cl\"]"))),
        }
    }

    /// Ions with charges of +1 and −1 where nothing is said about them.
    fn charged(&self, ions: [&Declared<'a>; 2]) -> Result<[Species; 2]> {
        let charge = |ion: &Declared, default: f64| -> Result<Species> {
            let mut species = ion.single(self.units())?;
            species.charge = ion.charge.unwrap_or(default);
            Ok(species)
        };
        let [cation, anion] = [charge(ions[0], 1.0)?, charge(ions[1], -1.0)?];
        let neutral = (cation.charge + anion.charge).abs() < 1e-9 * cation.charge.abs();
        if cation.charge > 0.0 && neutral {
            return Ok([cation, anion]);
        }
        let (first, second) = (&cation, &anion);
        Err(self
            .section
            .error(format!(
                "`{}` has the charge {} and `{}` the charge {}",
                first.name, first.charge, second.name, second.charge
            ))
            .found(format!("{}, {}", first.charge, second.charge))
            .expected("a cation of charge +q, then an anion of charge −q")
            .help("name a cation of charge +q first, then an anion of charge −q"))
    }

    /// Moles per kilogram of water: a number, or a text with its unit.
    fn molality(&self, item: &Item) -> Result<f64> {
        if item.is_number() {
            return item.positive(self.units(), Dimension::NONE);
        }
        Ok(item.positive(self.units(), Dimension::PER_MASS)? * 1e3)
    }
}
