//! `build = { kind = "bilayer", … }` and `"dispersion"`: lipids in water.

use super::builders::{Built, COUNT, Work};
use super::error::InputError;
use super::reader::{Item, Section};
use super::system::CellKeys;
use crate::system::builders;
use crate::system::{Dimension, Molecule, Species, Units};

type Result<T> = std::result::Result<T, InputError>;

pub(super) const BILAYER_KEYS: &[&str] = &[
    "kind",
    "lipids",
    "upper",
    "lower",
    "waters",
    "water",
    "area",
    "thickness",
    "minimum_distance",
    "seed",
];
pub(super) const DISPERSION_KEYS: &[&str] = &[
    "kind",
    "lipids",
    "waters",
    "water",
    "relative_density",
    "minimum_distance",
    "seed",
];

/// The water unless another one is named.
const WATER: &str = "W";

impl<'a> Work<'_, '_, 'a> {
    pub(super) fn bilayer(&self, parent: &Section<'a>, keys: CellKeys) -> Result<Built> {
        let section = self.section;
        section.not_both("lipids", "upper")?;
        section.not_both("lipids", "lower")?;
        let mut builder = builders::bilayer().units(self.units()).seed(self.seed()?);
        let leaflets = [section.get("upper"), section.get("lower")];
        let mut particles = 0;
        match leaflets {
            [Some(upper), Some(lower)] => {
                for (lipid, count) in self.lipids(upper, &mut particles)? {
                    builder = builder.upper(lipid.clone(), count);
                }
                for (lipid, count) in self.lipids(lower, &mut particles)? {
                    builder = builder.lower(lipid.clone(), count);
                }
            }
            [Some(_), None] => return Err(section.missing("lower", "lower = { DOPC = 64 }")),
            [None, Some(_)] => return Err(section.missing("upper", "upper = { DOPC = 64 }")),
            [None, None] => {
                let item = section.require("lipids", "lipids = { DOPC = 128 }")?;
                for (lipid, count) in self.lipids(item, &mut particles)? {
                    builder = builder.lipids(lipid.clone(), count);
                }
            }
        }
        if let Some((water, count)) = self.waters(&mut particles)? {
            builder = builder.water(water, count);
        }
        let area = section.map("area", |i| i.positive(self.units(), Dimension::AREA))?;
        if let Some(area) = area {
            builder = builder.area(area);
        }
        let length = |key: &str| section.map(key, |i| i.positive(self.units(), Dimension::LENGTH));
        if let Some(thickness) = length("thickness")? {
            builder = builder.thickness(thickness);
        }
        if let Some(distance) = length("minimum_distance")? {
            builder = builder.minimum_distance(distance);
        }
        if let Some(cell) = self.own_cell(parent, keys)? {
            self.refuse_beside_cell("area")?;
            builder = builder.cell(cell);
        } else if self.units() == Units::LennardJones {
            return Err(parent.missing("cell", "cell = [10.0, 10.0, 12.0]"));
        }
        Ok(builder.build())
    }

    pub(super) fn dispersion(&self, parent: &Section<'a>, keys: CellKeys) -> Result<Built> {
        let section = self.section;
        let mut builder = builders::dispersion().units(self.units()).seed(self.seed()?);
        let mut particles = 0;
        let item = section.require("lipids", "lipids = { DOPC = 128 }")?;
        for (lipid, count) in self.lipids(item, &mut particles)? {
            builder = builder.lipids(lipid.clone(), count);
        }
        if let Some((water, count)) = self.waters(&mut particles)? {
            builder = builder.water(water, count);
        }
        if let Some(density) =
            section.map("relative_density", |i| i.positive(self.units(), Dimension::NONE))?
        {
            builder = builder.relative_density(density);
        }
        if let Some(distance) = section.map("minimum_distance", |i| {
            i.positive(self.units(), Dimension::LENGTH)
        })? {
            builder = builder.minimum_distance(distance);
        }
        if let Some(cell) = self.own_cell(parent, keys)? {
            self.refuse_beside_cell("relative_density")?;
            builder = builder.cell(cell);
        } else if self.units() == Units::LennardJones {
            return Err(parent.missing("cell", "cell = [10.0, 10.0, 12.0]"));
        }
        Ok(builder.build())
    }

    /// Molecules with their numbers, `{ DOPC = 40, DOPE = 24 }`.
    fn lipids(&self, item: &Item<'a>, particles: &mut usize) -> Result<Vec<(&Molecule, usize)>> {
        let mut found = Vec::new();
        for (name, item) in item.entries()? {
            let lipid = self.setting.molecules.named(name, &item, self.root)?;
            let count = item.count(1..=4_000_000_000, COUNT)?;
            *particles = particles.saturating_add(count.saturating_mul(lipid.beads.len()));
            self.setting.refuse_too_many(&item, *particles)?;
            found.push((lipid, count));
        }
        match found.is_empty() {
            true => Err(item.wrong("at least one lipid with its number, such as { DOPC = 128 }")),
            false => Ok(found),
        }
    }

    /// The water, where there is any.
    fn waters(&self, particles: &mut usize) -> Result<Option<(Species, usize)>> {
        let item = self.section.require("waters", "waters = 4232, or waters = 0")?;
        let count = item.count(0..=4_000_000_000, "a whole number of at least 0")?;
        *particles = particles.saturating_add(count);
        self.setting.refuse_too_many(item, *particles)?;
        if count == 0 {
            return Ok(None);
        }
        let species = self.setting.species;
        let water = match self.section.get("water") {
            Some(item) => species.named(item.text()?, item)?,
            None => species.find(WATER).ok_or_else(|| {
                self.section
                    .missing("water", "water = \"W\", the species of the water")
            })?,
        };
        Ok(Some((water.single(self.units())?, count)))
    }

    fn refuse_beside_cell(&self, key: &str) -> Result<()> {
        match self.section.get(key) {
            None => Ok(()),
            Some(item) => Err(item
                .key_error(format!("`{key}` makes a cell, but [system] has `cell`"))
                .expected(format!("one of `{key}` and `cell`"))),
        }
    }
}
