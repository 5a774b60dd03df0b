//! `[topology]` and `[exclusions]`: bonds beside those of the structure file, and pairs left out.

use super::error::InputError;
use super::reader::{Item, Section};
use super::structure::species_kind;
use crate::potentials::AXES;
use crate::system::{Dimension, ExclusionRule, Exclusions, Link, System, Topology};

type Result<T> = std::result::Result<T, InputError>;

pub(super) const TOPOLOGY_KEYS: &[&str] = &["keep", "bonds", "angles", "dihedrals", "impropers", "axes"];
pub(super) const EXCLUSIONS_KEYS: &[&str] = &["bonds", "scale_14", "pairs"];
pub(super) const SCALE_KEYS: &[&str] = &["pair", "charge"];

/// Applies both sections. Particles are counted from 1, as in structure files.
pub(super) fn read(root: &Section, system: &mut System) -> Result<()> {
    let n = system.particles.len();
    if let Some(item) = root.get("topology") {
        let section = item.section("[topology]", TOPOLOGY_KEYS)?;
        if section.map("keep", Item::flag)? == Some(false) {
            system.topology = Topology::default();
        }
        let t = &mut system.topology;
        let numbering = Numbering {
            what: "particle",
            count: n,
            names: None,
        };
        numbering.add(section.get("bonds"), &mut t.bond_kinds, &mut t.bonds)?;
        numbering.add(section.get("angles"), &mut t.angle_kinds, &mut t.angles)?;
        numbering.add(section.get("dihedrals"), &mut t.dihedral_kinds, &mut t.dihedrals)?;
        numbering.add(section.get("impropers"), &mut t.improper_kinds, &mut t.impropers)?;
        numbering.add(section.get("axes"), &mut t.axis_kinds, &mut t.axes)?;
        if section.get("bonds").is_some() {
            system.join_molecules();
        }
    }
    restraints_among_angles(root, &mut system.topology)?;
    let (rule, at) = match root.get("exclusions") {
        Some(item) => (exclusion_rule(item, n, !system.topology.bonds.is_empty())?, item),
        None if system.topology.bonds.is_empty() => return Ok(()),
        None => (ExclusionRule::through(DEFAULT_BONDS), &root.item),
    };
    system.exclusions = Exclusions::from_bonds(&system.topology, n, &rule)
        .map_err(|e| at.key_error(format!("cannot find the pairs to leave out: {e}")))?;
    Ok(())
}

/// LAMMPS writes restraints of dipoles as angles whose third atom is not used. Angles of a kind that a restraint names
/// become what they mean.
fn restraints_among_angles(root: &Section, topology: &mut Topology) -> Result<()> {
    for term in root.get("forces").map(Item::one_or_many).unwrap_or_default() {
        let entries = term.entries()?;
        let value = |key: &str| {
            entries
                .iter()
                .find(|(name, _)| *name == key)
                .map(|(_, item)| item)
        };
        let is_restraint = value("kind").is_some_and(|kind| kind.text().is_ok_and(|name| AXES.has(name)));
        for (name, _) in value("types")
            .filter(|_| is_restraint)
            .map(Item::entries)
            .transpose()?
            .unwrap_or_default()
        {
            let Some(kind) = topology.angle_kinds.iter().position(|k| k == name) else {
                continue;
            };
            let place = topology
                .axis_kinds
                .iter()
                .position(|k| k == name)
                .unwrap_or_else(|| {
                    topology.axis_kinds.push(name.to_owned());
                    topology.axis_kinds.len() - 1
                });
            let is_one = |link: &Link<3>| link.kind as usize == kind;
            let of_kind = topology.angles.iter().filter(|link| is_one(link));
            topology.axes.extend(of_kind.map(|link| Link {
                kind: place as u32,
                atoms: [link.atoms[0], link.atoms[1]],
            }));
            topology.angles.retain(|link| !is_one(link));
        }
    }
    Ok(())
}

/// Pairs up to this many bonds apart are left out unless said.
const DEFAULT_BONDS: u32 = 3;

fn exclusion_rule(item: &Item, particles: usize, bonded: bool) -> Result<ExclusionRule> {
    let section = item.section("[exclusions]", EXCLUSIONS_KEYS)?;
    let bonds = section.map("bonds", |i| i.whole(0..=10, "a whole number from 0 to 10"))?;
    let scale = section.map("scale_14", |item| {
        let factors = item.section("`scale_14`", SCALE_KEYS)?;
        let factor = |key: &str| {
            let value = factors.map(key, |i| i.quantity(crate::system::Units::Md, Dimension::NONE))?;
            Ok(value.unwrap_or(1.0))
        };
        Ok((factor("pair")?, factor("charge")?))
    })?;
    let through = match (bonds, scale) {
        (Some(bonds), Some(_)) if bonds >= 3 => {
            let item = section.get("bonds").unwrap_or(item);
            return Err(item
                .error(format!(
                    "is {bonds}, which leaves out the 1-4 pairs that `scale_14` would scale"
                ))
                .expected("0, 1 or 2 beside scale_14")
                .help("say bonds = 2, or leave `scale_14` out"));
        }
        (Some(bonds), _) => bonds as u32,
        (None, _) if !bonded => 0,
        (None, Some(_)) => 2,
        (None, None) => DEFAULT_BONDS,
    };
    let mut rule = ExclusionRule::through(through);
    rule.one_four = scale;
    if let Some(list) = section.get("pairs") {
        for item in list.list()? {
            let [i, j] = item.array("two particle numbers")?;
            rule.extra.push(distinct([&i, &j], particles, &item)?);
        }
    }
    Ok(rule)
}

/// Different particles, counted from 1.
pub(super) fn distinct<const N: usize>(
    items: [&Item; N],
    particles: usize,
    whole: &Item,
) -> Result<[u32; N]> {
    let numbering = Numbering {
        what: "particle",
        count: particles,
        names: None,
    };
    numbering.distinct(items, whole)
}

/// What links join: particles of a system, or beads of a molecule, counted from 1.
pub(super) struct Numbering<'n> {
    /// `particle` or `bead`.
    pub(super) what: &'static str,
    pub(super) count: usize,
    /// Species, by which links without a kind are named; without them each needs one.
    pub(super) names: Option<&'n dyn Fn(u32) -> &'n str>,
}

impl Numbering<'_> {
    fn number(&self, item: &Item) -> Result<u32> {
        let expected = format!("a {} number from 1 to {}", self.what, self.count);
        let number = item.whole(1..=self.count as u64, &expected)?;
        Ok((number - 1) as u32)
    }

    fn distinct<const N: usize>(&self, items: [&Item; N], whole: &Item) -> Result<[u32; N]> {
        let mut atoms = [0; N];
        for k in 0..N {
            atoms[k] = self.number(items[k])?;
            if atoms[..k].contains(&atoms[k]) {
                return Err(whole
                    .error(format!("names {} {} twice", self.what, atoms[k] + 1))
                    .expected(format!("{N} different {}s", self.what)));
            }
        }
        Ok(atoms)
    }

    /// Reads links `[1, 2, "kind"]` and adds them.
    pub(super) fn add<const N: usize>(
        &self,
        list: Option<&Item>,
        kinds: &mut Vec<String>,
        links: &mut Vec<Link<N>>,
    ) -> Result<()> {
        let Some(list) = list else { return Ok(()) };
        let forward = |atoms: [u32; N]| {
            let mut back = atoms;
            back.reverse();
            atoms.min(back)
        };
        let mut known: std::collections::HashSet<(u32, [u32; N])> = (links.iter())
            .map(|link| (link.kind, forward(link.atoms)))
            .collect();
        for item in list.list()? {
            let expected = match self.names {
                None => format!("{N} {} numbers and the name of a kind", self.what),
                Some(_) => format!(
                    "{N} {} numbers, and the name of a kind where it is not that of the species",
                    self.what
                ),
            };
            let members = item.list().map_err(|_| item.wrong(expected.as_str()))?;
            if members.len() != N + 1 && !(members.len() == N && self.names.is_some()) {
                return Err(item.wrong(expected));
            }
            let places: [&Item; N] = std::array::from_fn(|k| &members[k]);
            let atoms = self.distinct(places, &item)?;
            let given = members.get(N).map(Item::text).transpose()?;
            let own = self.names.map(|names| species_kind(&atoms.map(names)));
            let name = match (given, own) {
                // P-G and G-P are one kind, whoever writes it.
                (Some(kind), Some(own)) if species_kind(&kind.split('-').collect::<Vec<_>>()) == own => own,
                (Some(kind), _) => kind.to_owned(),
                (None, Some(own)) => own,
                (None, None) => return Err(item.wrong(expected)),
            };
            let kind = kinds.iter().position(|k| *k == name).unwrap_or_else(|| {
                kinds.push(name.clone());
                kinds.len() - 1
            });
            if !known.insert((kind as u32, forward(atoms))) {
                let numbers = atoms.map(|i| (i + 1).to_string()).join("–");
                let help = match self.names {
                    None => "leave it out, or say keep = false to drop what the file or the run before has",
                    Some(_) => "leave it out",
                };
                return Err(item
                    .error(format!(
                        "is there already: {numbers} of kind `{name}` would count twice"
                    ))
                    .expected("each bond, angle or dihedral of a kind once")
                    .help(help));
            }
            links.push(Link {
                kind: kind as u32,
                atoms,
            });
        }
        Ok(())
    }
}
