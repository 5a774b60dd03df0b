//! What the file gives and nothing uses: charges without a Coulomb term, terms that act on nothing.

use super::error::InputError;
use super::reader::{Item, Section};
use crate::expr::{Quat, Vec3};
use crate::forces::{BondedTerm, ForceField, OrientedRow, OrientedTerm};
use crate::potentials::{ANGLES, AXES, BONDS, DIHEDRALS, ORIENTED, OrientedPair, PAIRS};
use crate::system::{Class, Link, System};

type Result<T> = std::result::Result<T, InputError>;

/// Warnings of what has no effect but may be meant; refuses bonded terms that act on nothing.
pub(super) fn check(root: &Section, system: &System, field: &ForceField) -> Result<Vec<String>> {
    let mut warnings = Vec::new();
    if let Some(list) = root.get("forces") {
        terms(list, system, field, &mut warnings)?;
        warnings.extend(charges(list, system, field));
        warnings.extend(dipoles(list, system, field));
        warnings.extend(idle_dipoles(list, system, field));
        warnings.extend(loose_molecules(list, system, field));
    }
    warnings.extend(exclusions(root, system, field));
    Ok(warnings)
}

/// A sentence with its place in front, as errors have it.
fn at(error: &InputError) -> String {
    format!("{}:{}: {}", error.file, error.line, error.headline)
}

/// The value of a key in a table.
fn get<'a>(item: &Item<'a>, key: &str) -> Option<Item<'a>> {
    let entries = item.entries().ok()?;
    entries
        .into_iter()
        .find(|(name, _)| *name == key)
        .map(|(_, item)| item)
}

/// How many terms of each kind the list has had so far: they stand in the field in the same order.
#[derive(Default)]
struct Places {
    pairs: usize,
    oriented: usize,
    bonds: usize,
    angles: usize,
    dihedrals: usize,
    impropers: usize,
    axes: usize,
}

/// The place, and the next one from now on.
fn take(place: &mut usize) -> usize {
    *place += 1;
    *place - 1
}

fn terms(list: &Item, system: &System, field: &ForceField, warnings: &mut Vec<String>) -> Result<()> {
    let t = &system.topology;
    let mut places = Places::default();
    for item in list.one_or_many() {
        let Some(kind_item) = get(&item, "kind") else {
            continue;
        };
        let kind = kind_item.text()?;
        // Terms of published sets stand behind those of the file, and may act on nothing.
        if item.is_included() {
            continue;
        }
        if PAIRS.has(kind) {
            let Some(term) = field.pairs.get(take(&mut places.pairs)) else {
                continue;
            };
            if term.rows.iter().all(|row| row.cutoff == 0.0) {
                warnings.push(at(&kind_item.error(format!(
                    "is \"{kind}\", which acts on no pair: every pair is \"none\", or its strength is zero"
                ))));
            }
            let charged = system.particles.charges.iter().any(|q| *q != 0.0);
            if term.family.uses_charges() && !charged {
                warnings.push(at(
                    &kind_item.error(format!("is \"{kind}\", but no particle has a charge"))
                ));
            }
        } else if ORIENTED.has(kind) {
            let Some(term) = field.oriented.get(take(&mut places.oriented)) else {
                continue;
            };
            let doubt = idle_orientations(term, system);
            warnings.extend(doubt.map(|why| at(&kind_item.error(format!("is \"{kind}\", {why}")))));
        } else if BONDS.has(kind) {
            let term = field.bonds.get(take(&mut places.bonds));
            refuse_idle(&kind_item, kind, "bonds", term, &t.bonds)?;
        } else if ANGLES.has(kind) {
            let term = field.angles.get(take(&mut places.angles));
            refuse_idle(&kind_item, kind, "angles", term, &t.angles)?;
        } else if DIHEDRALS.has(kind) {
            let impropers = get(&item, "on").is_some_and(|on| on.text().ok() == Some("impropers"));
            if impropers {
                let term = field.impropers.get(take(&mut places.impropers));
                refuse_idle(&kind_item, kind, "impropers", term, &t.impropers)?;
            } else {
                let term = field.dihedrals.get(take(&mut places.dihedrals));
                refuse_idle(&kind_item, kind, "dihedrals", term, &t.dihedrals)?;
            }
        } else if AXES.has(kind) {
            let term = field.axes.get(take(&mut places.axes));
            refuse_idle(&kind_item, kind, "axes", term, &t.axes)?;
        }
    }
    Ok(())
}

/// Why a term of orientations does not do what it is for: no pair has it, or particles it would turn never turn.
fn idle_orientations(term: &OrientedTerm, system: &System) -> Option<String> {
    let species = &system.species;
    if term.family.is_electrostatic() {
        let p = &system.particles;
        let dipoles = p.orientations.rotors.iter().any(|rotor| rotor.dipole != 0.0);
        // Without charges too it is told of as a term that acts on nothing.
        let charges = p.charges.iter().any(|q| *q != 0.0);
        return (charges && !dipoles).then(|| {
            "but no particle has a dipole: it acts on charges alone; set `dipole` and `inertia` in [species.…], or take \
             kind = \"coulomb\""
                .into()
        });
    }
    if term.rows.iter().all(Option::is_none) {
        return Some("which acts on no pair: every pair is \"none\", or its strength is zero".into());
    }
    let rows = |k: usize| &term.rows[k * species.len()..(k + 1) * species.len()];
    let idle = (0..species.len()).filter(|&k| {
        species[k].rotor.class() == Class::Point
            && rows(k).iter().flatten().any(|row| turning_matters(term, row))
    });
    let names: Vec<String> = idle.map(|k| format!("`{}`", species[k].name)).collect();
    (!names.is_empty()).then(|| {
        format!(
            "which depends on orientations, but particles of {} have none and never turn; set `inertia` in [species.…]",
            names.join(", ")
        )
    })
}

/// Whether the energy of a pair changes as its first particle is turned.
fn turning_matters(term: &OrientedTerm, row: &OrientedRow) -> bool {
    let other = Quat::about(Vec3::new(0.6, 0.0, 0.8), 0.7).axes();
    let turned = Quat::about(Vec3::new(0.48, 0.64, 0.6), 1.1).axes();
    let direction = Vec3::new(0.36, 0.48, 0.8) * row.cutoff;
    (1..20).any(|part| {
        let energy = |axes| {
            let d = direction * (0.05 * f64::from(part));
            let pair = OrientedPair::new(d, [axes, other], [0.0; 2], [0.0; 2], &term.table);
            term.family
                .energy(term.truncation, &pair, &row.coefficients, &row.truncation)
        };
        let (before, after) = (energy(Quat::identity().axes()), energy(turned));
        (before - after).abs() > 1e-9 * before.abs() && (before - after).is_finite()
    })
}

fn refuse_idle<const N: usize, F: ?Sized>(
    kind_item: &Item,
    kind: &str,
    what: &str,
    term: Option<&BondedTerm<F>>,
    links: &[Link<N>],
) -> Result<()> {
    if term.is_none_or(|term| term.count(links) > 0) {
        return Ok(());
    }
    let (why, expected) = match links.len() {
        0 => (
            format!("the system has no {what}"),
            format!("{what} in the system"),
        ),
        n => (
            format!("none of the {n} {what} of the system is of its `types`"),
            format!("`types` of {what} that the system has"),
        ),
    };
    Err(kind_item
        .error(format!("is \"{kind}\", which acts on nothing: {why}"))
        .expected(expected)
        .help(format!(
            "{what} come from [topology], LAMMPS data, CONECT records of PDB files (bonds), the polymer builder (bonds), or \
             `[system] from = …`; leave this [[forces]] out where there are none"
        )))
}

fn charges(list: &Item, system: &System, field: &ForceField) -> Option<String> {
    let charged = system.particles.charges.iter().filter(|q| **q != 0.0).count();
    if charged == 0 || field.uses_charges() {
        return None;
    }
    let remedy = match system.cell.periodic() {
        [true, true, true] => "kind = \"pme\"",
        [false, false, false] => "kind = \"coulomb\" with a cut-off beyond the size of the system",
        _ => "kind = \"pme\", or \"coulomb-reaction-field\"",
    };
    Some(at(&list.key_error(format!(
        "{charged} particles have charges, but no [[forces]] uses them: they do not act on one another; add {remedy}, or \
         set charge = 0"
    ))))
}

fn dipoles(list: &Item, system: &System, field: &ForceField) -> Option<String> {
    let rotors = &system.particles.orientations.rotors;
    let count = rotors.iter().filter(|rotor| rotor.dipole != 0.0).count();
    let used = field.oriented.iter().any(|t| t.family.is_electrostatic());
    (count > 0 && !used).then(|| {
        at(&list.key_error(format!(
            "{count} particles have dipoles, but no [[forces]] uses them: add kind = \"dipoles\" or \
             \"dipoles-reaction-field\", or set dipole = 0"
        )))
    })
}

/// Terms of charges and dipoles where there are neither.
fn idle_dipoles(list: &Item, system: &System, field: &ForceField) -> Option<String> {
    let p = &system.particles;
    let acts = p.charges.iter().any(|q| *q != 0.0) || p.orientations.rotors.iter().any(|r| r.dipole != 0.0);
    let idle = field
        .oriented
        .iter()
        .find(|t| t.family.is_electrostatic() && !acts)?;
    Some(at(&list.key_error(format!(
        "kind = \"{}\" acts on nothing: no particle has a charge or a dipole; set `dipole` and `inertia` in [species.…]",
        idle.family.name()
    ))))
}

/// Molecules of several charged particles with neither bonds nor constraints: nothing keeps them together, and unlike
/// charges within them fall on one another.
fn loose_molecules(list: &Item, system: &System, field: &ForceField) -> Option<String> {
    let (p, t) = (&system.particles, &system.topology);
    if !field.uses_charges() {
        return None;
    }
    let count = p.molecules.iter().max().map_or(0, |m| *m as usize + 1);
    let (mut charged, mut linked) = (vec![0_u32; count], vec![false; count]);
    for (molecule, charge) in p.molecules.iter().zip(&p.charges) {
        charged[*molecule as usize] += u32::from(*charge != 0.0);
    }
    let pairs = t.bonds.iter().map(|b| b.atoms);
    for [i, _] in pairs.chain(system.constraints.pairs().map(|(atoms, _)| atoms)) {
        linked[p.molecules[i as usize] as usize] = true;
    }
    let loose = charged
        .iter()
        .zip(&linked)
        .filter(|(n, linked)| **n > 1 && !**linked);
    match loose.count() {
        0 => None,
        n => Some(at(&list.key_error(format!(
            "{n} molecules of several charged particles have neither bonds nor constraints: nothing keeps them together; \
             rigid water takes [[constraints]]"
        )))),
    }
}

fn exclusions(root: &Section, system: &System, field: &ForceField) -> Option<String> {
    let item = root.get("exclusions")?;
    let no_pairs = get(item, "pairs").is_none_or(|list| list.list().is_ok_and(|l| l.is_empty()));
    if item.is_included() {
        return None;
    }
    if field.pairs.is_empty() && field.oriented.is_empty() {
        return Some(at(
            &item.key_error("[exclusions] has no effect: no [[forces]] acts on pairs")
        ));
    }
    if system.topology.bonds.is_empty() && no_pairs {
        return Some(at(&item.key_error(
            "[exclusions] has no effect: the system has no bonds, and it names no `pairs`",
        )));
    }
    let scale = get(item, "scale_14")?;
    system.exclusions.scaled.is_empty().then(|| {
        at(&scale.key_error("`exclusions.scale_14` has no effect: no two particles are three bonds apart"))
    })
}
