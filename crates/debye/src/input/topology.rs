//! `[topology]` and `[exclusions]`: bonds beside those of the structure file, and pairs left out.

use super::error::InputError;
use super::reader::{Item, Section};
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
        add(section.get("bonds"), n, &mut t.bond_kinds, &mut t.bonds)?;
        add(section.get("angles"), n, &mut t.angle_kinds, &mut t.angles)?;
        add(
            section.get("dihedrals"),
            n,
            &mut t.dihedral_kinds,
            &mut t.dihedrals,
        )?;
        add(
            section.get("impropers"),
            n,
            &mut t.improper_kinds,
            &mut t.impropers,
        )?;
        add(section.get("axes"), n, &mut t.axis_kinds, &mut t.axes)?;
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

fn particle(item: &Item, particles: usize) -> Result<u32> {
    let expected = format!("a particle number from 1 to {particles}");
    let number = item.whole(1..=particles as u64, &expected)?;
    Ok((number - 1) as u32)
}

pub(super) fn distinct<const N: usize>(
    items: [&Item; N],
    particles: usize,
    whole: &Item,
) -> Result<[u32; N]> {
    let mut atoms = [0; N];
    for k in 0..N {
        atoms[k] = particle(items[k], particles)?;
        if atoms[..k].contains(&atoms[k]) {
            return Err(whole
                .error(format!("names particle {} twice", atoms[k] + 1))
                .expected(format!("{N} different particles")));
        }
    }
    Ok(atoms)
}

fn add<const N: usize>(
    list: Option<&Item>,
    particles: usize,
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
        let expected = format!("{N} particle numbers and the name of a kind");
        let members = item.list().map_err(|_| item.wrong(expected.as_str()))?;
        let (Some((kind, places)), true) = (members.split_last(), members.len() == N + 1) else {
            return Err(item.wrong(expected));
        };
        let name = kind.text()?;
        let places: [&Item; N] = std::array::from_fn(|k| &places[k]);
        let atoms = distinct(places, particles, &item)?;
        let kind = kinds.iter().position(|k| k == name).unwrap_or_else(|| {
            kinds.push(name.to_owned());
            kinds.len() - 1
        });
        if !known.insert((kind as u32, forward(atoms))) {
            let numbers = atoms.map(|i| (i + 1).to_string()).join("–");
            return Err(item
                .error(format!(
                    "is there already: {numbers} of kind `{name}` would count twice"
                ))
                .expected("each bond, angle or dihedral of a kind once")
                .help("leave it out, or say keep = false to drop what the file or the run before has"));
        }
        links.push(Link {
            kind: kind as u32,
            atoms,
        });
    }
    Ok(())
}
