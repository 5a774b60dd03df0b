//! `[molecules.NAME]`: molecules of beads that builders make copies of.

use super::error::{InputError, suggestion};
use super::reader::{Item, Section};
use super::species::SpeciesList;
use super::structure::species_kind;
use super::topology::Numbering;
use crate::expr::Vec3;
use crate::potentials::{ANGLES, AXES, BONDS, DIHEDRALS};
use crate::system::{Dimension, Link, Molecule, Topology, Units};

type Result<T> = std::result::Result<T, InputError>;

pub(super) const KEYS: &[&str] = &[
    "beads",
    "bonds",
    "angles",
    "dihedrals",
    "impropers",
    "axes",
    "positions",
    "length_unit",
];

/// All molecules of the file and of the sets it includes.
pub(super) struct MoleculeList<'a> {
    all: Vec<(Molecule, Section<'a>)>,
}

impl<'a> MoleculeList<'a> {
    pub(super) fn read(item: Option<&Item<'a>>, species: &SpeciesList<'a>, units: Units) -> Result<Self> {
        let mut all = Vec::new();
        for (name, item) in item.map(Item::entries).transpose()?.unwrap_or_default() {
            let section = item.section(&format!("[molecules.{name}]"), KEYS)?;
            all.push((molecule(name, &section, species, units)?, section));
        }
        Ok(Self { all })
    }

    pub(super) fn into_molecules(self) -> Vec<Molecule> {
        self.all.into_iter().map(|(molecule, _)| molecule).collect()
    }

    /// Whether there is one of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.all.iter().any(|(molecule, _)| molecule.name == name)
    }

    /// The molecule that a key or a value names; its links must be of kinds that some force knows.
    pub(super) fn named(&self, name: &str, item: &Item, root: &Section) -> Result<&Molecule> {
        let Some((molecule, section)) = self.all.iter().find(|(molecule, _)| molecule.name == name) else {
            let names: Vec<&str> = self
                .all
                .iter()
                .map(|(molecule, _)| molecule.name.as_str())
                .collect();
            let help = match names.is_empty() {
                true => "declare it: [molecules.NAME] with beads, bonds and positions, or include a set that has it: \
                         [forcefield] include = \"elba\""
                    .to_owned(),
                false => suggestion(name, "declared are", &names),
            };
            return Err(item
                .mention(
                    name,
                    format!("there is no molecule `{name}` (in `{}`)", item.path()),
                )
                .expected(names.join(", "))
                .help(help));
        };
        let t = &molecule.topology;
        let known = Known { root, section };
        known.check("bonds", "bond", |k| BONDS.has(k), &t.bonds, &t.bond_kinds)?;
        known.check("angles", "angle", |k| ANGLES.has(k), &t.angles, &t.angle_kinds)?;
        let is_dihedral = |k: &str| DIHEDRALS.has(k);
        known.check(
            "dihedrals",
            "dihedral",
            is_dihedral,
            &t.dihedrals,
            &t.dihedral_kinds,
        )?;
        known.check(
            "impropers",
            "improper",
            is_dihedral,
            &t.impropers,
            &t.improper_kinds,
        )?;
        known.check("axes", "restraint", |k| AXES.has(k), &t.axes, &t.axis_kinds)?;
        Ok(molecule)
    }
}

fn molecule<'a>(
    name: &str,
    section: &Section<'a>,
    species: &SpeciesList<'a>,
    units: Units,
) -> Result<Molecule> {
    let list = section.require("beads", "beads = [\"C\", \"P\", …]")?;
    let names = list.names()?;
    if names.is_empty() {
        return Err(list.wrong("at least one species"));
    }
    let beads = names
        .iter()
        .map(|(name, item)| species.named(name, item)?.complete(units))
        .collect::<Result<Vec<_>>>()?;
    let name_of = |bead: u32| names[bead as usize].0;
    let numbering = Numbering {
        what: "bead",
        count: beads.len(),
        names: Some(&name_of),
    };
    let mut t = Topology::default();
    numbering.add(section.get("bonds"), &mut t.bond_kinds, &mut t.bonds)?;
    numbering.add(section.get("angles"), &mut t.angle_kinds, &mut t.angles)?;
    numbering.add(section.get("dihedrals"), &mut t.dihedral_kinds, &mut t.dihedrals)?;
    numbering.add(section.get("impropers"), &mut t.improper_kinds, &mut t.impropers)?;
    numbering.add(section.get("axes"), &mut t.axis_kinds, &mut t.axes)?;
    Ok(Molecule {
        name: name.to_owned(),
        positions: positions(section, beads.len(), units)?,
        beads,
        topology: t,
    })
}

/// `positions = [[x, y, z], …]`: quantities, or numbers in `length_unit`.
fn positions(section: &Section, beads: usize, units: Units) -> Result<Vec<Vec3<f64>>> {
    let unit = section.map("length_unit", |item| {
        let text = format!("1 {}", item.text()?);
        units.quantity(&text, Dimension::LENGTH).map_err(|e| {
            item.error(format!("is not a unit of length: {e}"))
                .expected("a unit of length")
        })
    })?;
    let item = section.require("positions", "positions = [[0.0, 0.0, 0.0], …], one for each bead")?;
    let list = item.list()?;
    if list.len() != beads {
        return Err(item
            .error(format!("has {} positions for {beads} beads", list.len()))
            .expected(format!("{beads} positions, one for each bead")));
    }
    let position = |item: Item| {
        let three: [Item; 3] = item.array("three coordinates")?;
        let mut r = [0.0; 3];
        for (to, from) in r.iter_mut().zip(&three) {
            let scale = if from.is_number() {
                unit.unwrap_or(1.0)
            } else {
                1.0
            };
            *to = scale * from.quantity(units, Dimension::LENGTH)?;
        }
        Ok(Vec3::from(r))
    };
    list.into_iter().map(position).collect()
}

/// What the forces of the file know.
struct Known<'k, 'a> {
    root: &'k Section<'a>,
    /// The molecule.
    section: &'k Section<'a>,
}

impl Known<'_, '_> {
    /// Refuses links of a kind that no force has parameters for, where forces name kinds.
    fn check<const N: usize>(
        &self,
        key: &str,
        what: &str,
        is_family: impl Fn(&str) -> bool,
        links: &[Link<N>],
        kinds: &[String],
    ) -> Result<()> {
        let Some(forces) = self.root.get("forces") else {
            return Ok(());
        };
        let mut names = Vec::new();
        for force in forces.one_or_many() {
            let entries = force.entries()?;
            let value = |key: &str| {
                entries
                    .iter()
                    .find(|(name, _)| *name == key)
                    .map(|(_, item)| item)
            };
            if !value("kind").is_some_and(|kind| kind.text().is_ok_and(&is_family)) {
                continue;
            }
            match value("types") {
                Some(types) => names.extend(types.entries()?.into_iter().map(|(name, _)| name)),
                // One set of parameters for all kinds.
                None => return Ok(()),
            }
        }
        let is_known = |kind: &str| {
            let same = |name: &&str| {
                let parts: Vec<&str> = name.split('-').collect();
                *name == kind || species_kind(&parts) == kind
            };
            names.iter().any(same)
        };
        let Some(unknown) = links
            .iter()
            .position(|link| !is_known(&kinds[link.kind as usize]))
        else {
            return Ok(());
        };
        let kind = kinds[links[unknown].kind as usize].as_str();
        let list = self
            .section
            .get(key)
            .map(Item::list)
            .transpose()?
            .unwrap_or_default();
        let at = list.get(unknown).unwrap_or(&self.section.item);
        Err(at
            .error(format!(
                "is of the kind `{kind}`, of which no [[forces]] know a {what}"
            ))
            .found(kind)
            .expected(names.join(", "))
            .help(suggestion(kind, "kinds with parameters are", &names)))
    }
}
