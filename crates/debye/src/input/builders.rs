//! `build = { … }`: the builders of [`crate::system::build`] behind keys.

use super::error::InputError;
use super::liquids::{LIQUID_KEYS, NACL_KEYS, SOLUTION_KEYS, WATER_KEYS};
use super::membranes::{BILAYER_KEYS, DISPERSION_KEYS};
use super::reader::{Item, Section};
use super::system::{CellKeys, Setting, cell};
use crate::system::builders::{self, BuildError, Edge, Lattice};
use crate::system::{Cell, Dimension, QuantityError, Species, System, Units};

type Result<T> = std::result::Result<T, InputError>;

pub(super) const LATTICE_KEYS: &[&str] = &["kind", "lattice", "cells", "spacing", "density", "species"];
pub(super) const SPHERE_KEYS: &[&str] = &[
    "kind",
    "lattice",
    "radius",
    "radius_spacings",
    "side_spacings",
    "edge_spacing",
    "spacing",
    "density",
    "species",
];
pub(super) const RANDOM_KEYS: &[&str] = &["kind", "counts", "minimum_distance", "seed", "attempts"];
pub(super) const POLYMER_KEYS: &[&str] = &[
    "kind",
    "chains",
    "beads",
    "density",
    "bond_length",
    "minimum_distance",
    "bond_kind",
    "species",
    "seed",
];

const LATTICES: &[(&str, Lattice)] = &[
    ("sc", Lattice::Sc),
    ("bcc", Lattice::Bcc),
    ("fcc", Lattice::Fcc),
    ("hcp", Lattice::Hcp),
    ("diamond", Lattice::Diamond),
    ("rock-salt", Lattice::RockSalt),
    ("cscl", Lattice::CsCl),
    ("zinc-blende", Lattice::ZincBlende),
];

pub(super) const COUNT: &str = "a whole number of at least 1";

#[derive(Clone, Copy)]
enum Kind {
    Lattice,
    Sphere,
    Random,
    Polymer,
    Nacl,
    Water,
    Solution,
    Liquid,
    Bilayer,
    Dispersion,
}

const KINDS: &[(&str, Kind)] = &[
    ("lattice", Kind::Lattice),
    ("sphere", Kind::Sphere),
    ("random", Kind::Random),
    ("polymer", Kind::Polymer),
    ("nacl", Kind::Nacl),
    ("water", Kind::Water),
    ("solution", Kind::Solution),
    ("liquid", Kind::Liquid),
    ("bilayer", Kind::Bilayer),
    ("dispersion", Kind::Dispersion),
];

pub(super) fn read<'a>(
    setting: &Setting<'_, 'a>,
    root: &Section<'a>,
    parent: &Section<'a>,
    item: &Item<'a>,
    keys: CellKeys,
) -> Result<System> {
    let kind_item = item.entries()?.into_iter().find(|(name, _)| *name == "kind");
    let Some((_, kind_item)) = kind_item else {
        return Err(item
            .section("`build`", &all_keys())?
            .missing("kind", "kind = \"lattice\""));
    };
    let kind = kind_item.choice("builder", KINDS)?;
    let (heading, allowed) = match kind {
        Kind::Lattice => ("a build of kind \"lattice\"", LATTICE_KEYS),
        Kind::Sphere => ("a build of kind \"sphere\"", SPHERE_KEYS),
        Kind::Random => ("a build of kind \"random\"", RANDOM_KEYS),
        Kind::Polymer => ("a build of kind \"polymer\"", POLYMER_KEYS),
        Kind::Nacl => ("a build of kind \"nacl\"", NACL_KEYS),
        Kind::Water => ("a build of kind \"water\"", WATER_KEYS),
        Kind::Solution => ("a build of kind \"solution\"", SOLUTION_KEYS),
        Kind::Liquid => ("a build of kind \"liquid\"", LIQUID_KEYS),
        Kind::Bilayer => ("a build of kind \"bilayer\"", BILAYER_KEYS),
        Kind::Dispersion => ("a build of kind \"dispersion\"", DISPERSION_KEYS),
    };
    let section = item.section(heading, allowed)?;
    let work = Work {
        setting,
        root,
        section: &section,
    };
    let built = match kind {
        Kind::Lattice => work.lattice()?,
        Kind::Sphere => work.sphere()?,
        Kind::Random => work.random(parent, keys)?,
        Kind::Polymer => work.polymer()?,
        Kind::Nacl => work.nacl()?,
        Kind::Water => work.water(parent, keys)?,
        Kind::Solution => work.solution(parent, keys)?,
        Kind::Liquid => work.single_sites(parent, keys)?,
        Kind::Bilayer => work.bilayer(parent, keys)?,
        Kind::Dispersion => work.dispersion(parent, keys)?,
    };
    built.map_err(|error| section.error(format!("cannot build this system: {error}")))
}

fn all_keys() -> Vec<&'static str> {
    [
        LATTICE_KEYS,
        SPHERE_KEYS,
        RANDOM_KEYS,
        POLYMER_KEYS,
        NACL_KEYS,
        WATER_KEYS,
        SOLUTION_KEYS,
        LIQUID_KEYS,
        BILAYER_KEYS,
        DISPERSION_KEYS,
    ]
    .concat()
}

pub(super) type Built = std::result::Result<System, BuildError>;

/// A builder in the making.
pub(super) struct Work<'w, 's, 'a> {
    pub(super) setting: &'w Setting<'s, 'a>,
    /// The whole file.
    pub(super) root: &'w Section<'a>,
    pub(super) section: &'w Section<'a>,
}

impl<'a> Work<'_, '_, 'a> {
    pub(super) fn units(&self) -> Units {
        self.setting.units
    }

    /// The species a builder takes, completely known.
    fn species(&self, count: usize) -> Result<Vec<Species>> {
        let declared = self.setting.species;
        let found = match self.section.get("species") {
            Some(item) => {
                let names = item.names()?;
                let species = names
                    .iter()
                    .map(|(name, item)| declared.named(name, item)?.single(self.units()))
                    .collect::<Result<Vec<_>>>()?;
                if species.len() != count {
                    let expected = if count == 1 {
                        "one species".into()
                    } else {
                        format!("{count} species")
                    };
                    return Err(item.wrong(expected));
                }
                species
            }
            None if declared.all.len() == count => declared
                .all
                .iter()
                .map(|s| s.single(self.units()))
                .collect::<Result<Vec<_>>>()?,
            None => {
                let example = if count == 1 {
                    "species = \"Ar\""
                } else {
                    "species = [\"Na\", \"Cl\"]"
                };
                return Err(self.section.missing("species", example));
            }
        };
        Ok(found)
    }

    /// Particles per volume; a mass density is divided by the mean mass.
    fn density(&self, item: &Item, species: &[Species]) -> Result<f64> {
        let mean = species.iter().map(|s| s.mass).sum::<f64>() / species.len() as f64;
        self.number_density(item, mean)
    }

    /// Particles per volume; a mass density is divided by this mass.
    pub(super) fn number_density(&self, item: &Item, mean: f64) -> Result<f64> {
        let units = self.units();
        if let Ok(text) = item.text()
            && let Err(QuantityError::Dimension {
                found: Dimension::MASS_DENSITY,
                ..
            }) = units.quantity(text, Dimension::NUMBER_DENSITY)
        {
            return Ok(item.positive(units, Dimension::MASS_DENSITY)? / mean);
        }
        item.positive(units, Dimension::NUMBER_DENSITY)
    }

    fn lattice_choice(&self) -> Result<Lattice> {
        self.section
            .require("lattice", "lattice = \"fcc\"")?
            .choice("lattice", LATTICES)
    }

    /// The lattice constant.
    fn spacing(&self, lattice: Lattice, species: &[Species]) -> Result<f64> {
        self.section.not_both("spacing", "density")?;
        if let Some(item) = self.section.get("density") {
            let [x, y, z] = lattice.sides();
            let volume = lattice.particles_per_cell() as f64 / self.density(item, species)?;
            return Ok((volume / (x * y * z)).cbrt());
        }
        let example = match self.units() {
            Units::Md => "spacing = \"5.256 Å\" or density = \"1.4 g/cm^3\"",
            Units::LennardJones => "density = 0.8442 or spacing = 1.68",
        };
        self.section
            .require("spacing", example)?
            .positive(self.units(), Dimension::LENGTH)
    }

    /// How often a lattice is repeated.
    pub(super) fn cells(&self, lattice: Lattice) -> Result<[usize; 3]> {
        let item = self.section.require("cells", "cells = [10, 10, 10]")?;
        let expected = "three whole numbers of at least 1";
        let cells = if item.is_number() {
            [item.count(1..=1_000_000_000, expected)?; 3]
        } else {
            let [x, y, z] = item.array(expected)?;
            let count = |i: &Item| i.count(1..=1_000_000_000, expected);
            [count(&x)?, count(&y)?, count(&z)?]
        };
        let per_cell = lattice.particles_per_cell();
        let total = cells.iter().fold(per_cell, |n, k| n.saturating_mul(*k));
        self.setting.refuse_too_many(item, total)?;
        Ok(cells)
    }

    fn lattice(&self) -> Result<Built> {
        let lattice = self.lattice_choice()?;
        let species = self.species(lattice.species_count())?;
        let cells = self.cells(lattice)?;
        let spacing = self.spacing(lattice, &species)?;
        let start = builders::lattice(lattice, cells)
            .spacing(spacing)
            .units(self.units());
        let full = species
            .iter()
            .fold(start, |b, s| b.species(&s.name, s.mass, s.charge));
        Ok(full.build())
    }

    fn sphere(&self) -> Result<Built> {
        let lattice = self.lattice_choice()?;
        let species = self.species(lattice.species_count())?;
        let spacing = self.spacing(lattice, &species)?;
        self.section.not_both("radius", "radius_spacings")?;
        let (item, radius) = match self.section.get("radius_spacings") {
            Some(item) => (item, item.positive(self.units(), Dimension::NONE)?),
            None => {
                let item = self
                    .section
                    .require("radius", "radius_spacings = 15, or radius as a length")?;
                let ratio = item.positive(self.units(), Dimension::LENGTH)? / spacing;
                // 63 × 0.5256 / 0.5256 shall be 63: a lattice has many points just there.
                let whole = ratio.round();
                (
                    item,
                    if (ratio - whole).abs() < 1e-9 * whole {
                        whole
                    } else {
                        ratio
                    },
                )
            }
        };
        let [x, y, z] = lattice.sides();
        let total = 4.2 * radius.powi(3) * lattice.particles_per_cell() as f64 / (x * y * z);
        self.setting
            .refuse_too_many(item, if total < 1e18 { total as usize } else { usize::MAX })?;
        let mut start = builders::sphere(lattice, radius)
            .spacing(spacing)
            .units(self.units());
        if let Some(item) = self.section.get("side_spacings") {
            let side = item.count(2..=1_000_000, "an even whole number")?;
            if side % 2 == 1 || side as f64 <= 2.0 * radius {
                return Err(item.wrong(format!(
                    "an even whole number greater than the diameter, {}",
                    2.0 * radius
                )));
            }
            start = start.side(side);
        }
        if let Some(item) = self.section.get("edge_spacing") {
            start = start.edge(Edge::Rounded {
                spacing: item.positive(self.units(), Dimension::NONE)?,
            });
        }
        let full = species
            .iter()
            .fold(start, |b, s| b.species(&s.name, s.mass, s.charge));
        Ok(full.build())
    }

    /// The cell of `[system]`, where it has one.
    pub(super) fn own_cell(&self, parent: &Section<'a>, keys: CellKeys) -> Result<Option<Cell>> {
        let item = parent.get("cell").unwrap_or(&parent.item);
        keys.vectors.map(|vectors| cell(item, vectors, &keys)).transpose()
    }

    fn random(&self, parent: &Section<'a>, keys: CellKeys) -> Result<Built> {
        let section = self.section;
        let cell = self
            .own_cell(parent, keys)?
            .ok_or_else(|| parent.missing("cell", "cell = [\"4 nm\", \"4 nm\", \"4 nm\"]"))?;
        let mut builder = builders::random(cell).units(self.units()).seed(self.seed()?);
        let counts = section.require("counts", "counts = { Ar = 100 }")?;
        let mut total = 0usize;
        for (name, item) in counts.entries()? {
            let species = self.setting.species.named(name, &item)?.single(self.units())?;
            let count = item.count(1..=4_000_000_000, COUNT)?;
            total = total.saturating_add(count);
            self.setting.refuse_too_many(&item, total)?;
            builder = builder.add(count, name, species.mass, species.charge);
        }
        if total == 0 {
            return Err(counts.wrong("at least one species with its number of particles"));
        }
        if let Some(item) = section.get("minimum_distance") {
            builder = builder.minimum_distance(item.not_negative(self.units(), Dimension::LENGTH)?);
        }
        if let Some(item) = section.get("attempts") {
            let attempts = item.whole(1..=u64::from(u32::MAX), COUNT)?;
            builder = builder.attempts(attempts as u32);
        }
        Ok(builder.build())
    }

    fn polymer(&self) -> Result<Built> {
        let section = self.section;
        let units = self.units();
        let species = self.species(1)?;
        let chains_item = section.require("chains", "chains = 100")?;
        let chains = chains_item.count(1..=4_000_000_000, COUNT)?;
        let beads = section
            .require("beads", "beads = 50")?
            .count(1..=4_000_000_000, COUNT)?;
        self.setting
            .refuse_too_many(chains_item, chains.saturating_mul(beads))?;
        let density = self.density(section.require("density", "density = 0.85")?, &species)?;
        let mut builder = builders::polymers(chains, beads)
            .density(density)
            .units(units)
            .seed(self.seed()?);
        for s in &species {
            builder = builder.species(&s.name, s.mass, s.charge);
        }
        // The builder's own lengths are those of reduced units.
        let length = |key: &str, example: &str| match (section.get(key), units) {
            (Some(item), _) => item.positive(units, Dimension::LENGTH).map(Some),
            (None, Units::LennardJones) => Ok(None),
            (None, Units::Md) => Err(section.missing(key, example)),
        };
        if let Some(x) = length("bond_length", "bond_length = \"0.47 nm\"")? {
            builder = builder.bond_length(x);
        }
        if let Some(x) = length("minimum_distance", "minimum_distance = \"0.4 nm\"")? {
            builder = builder.minimum_distance(x);
        }
        if let Some(item) = section.get("bond_kind") {
            builder = builder.bond_kind(item.text()?);
        }
        Ok(builder.build())
    }

    pub(super) fn seed(&self) -> Result<u64> {
        let own = self
            .section
            .map("seed", |i| i.whole(.., "a whole number of at least 0"))?;
        Ok(own.unwrap_or(self.setting.seed))
    }
}
