//! `[[forces]]` of bonds, angles and dihedrals.

use std::collections::HashSet;

use super::coefficients::Values;
use super::error::InputError;
use super::forces::Terms;
use super::reader::{Item, Section};
use super::structure::species_kind;
use crate::forces::{BondedFamily, BondedTerm, ForceField};
use crate::potentials::{AxisFamily, DihedralFamily, Parameter, Parameters, Value};
use crate::system::{Class, Dimension, Link};

type Result<T> = std::result::Result<T, InputError>;

pub(super) const BONDED_KEYS: &[&str] = &["kind", "name", "types"];
/// Beside those of [`BONDED_KEYS`], where the potential is one of a dihedral angle.
pub(super) const DIHEDRAL_KEYS: &[&str] = &["on"];

impl<'a> Terms<'_, 'a> {
    pub(super) fn dihedral<'f>(
        &mut self,
        item: &Item<'a>,
        kind: &str,
        field: &'f mut ForceField,
    ) -> Result<Option<&'f mut String>> {
        let t = &self.system.topology;
        let on = item.entries()?.into_iter().find(|(name, _)| *name == "on");
        let impropers = match on {
            Some((_, item)) => item.choice("target", &[("dihedrals", false), ("impropers", true)])?,
            None => false,
        };
        let (what, kinds, list) = match impropers {
            true => ("impropers", &t.improper_kinds, &mut field.impropers),
            false => ("dihedrals", &t.dihedral_kinds, &mut field.dihedrals),
        };
        list.push(self.bonded::<dyn DihedralFamily>(item, kind, what, kinds, DIHEDRAL_KEYS)?);
        Ok(list.last_mut().map(|t| &mut t.name))
    }

    pub(super) fn bonded<F: BondedFamily + ?Sized>(
        &mut self,
        item: &Item<'a>,
        kind: &str,
        what: &str,
        kinds: &[String],
        more_keys: &[&str],
    ) -> Result<BondedTerm<F>> {
        let Some(family) = F::register().find(kind) else {
            return Err(item.wrong("a potential"));
        };
        let parameters = family.family_parameters();
        let names: Vec<&str> = parameters.iter().map(|p| p.name).collect();
        let section = item.section("[[forces]]", &[BONDED_KEYS, more_keys, &names].concat())?;
        let everywhere = self.values(&section, parameters)?;
        let check = |p: Parameters| family.prepared(p).map(|_| ());
        let lengths = self.smallest_length;
        self.check(&section, parameters, &everywhere, &[], check)?;
        let mut rows: Vec<Option<Vec<(String, Value)>>> = match everywhere.is_empty() {
            true => vec![None; kinds.len()],
            false => vec![Some(everywhere.clone()); kinds.len()],
        };
        if let Some(types) = section.get("types") {
            for (name, item) in types.entries()? {
                let table = item.section(&format!("type {name}"), &names)?;
                let mut values = everywhere.clone();
                for (key, value) in self.values(&table, parameters)? {
                    values.retain(|(k, _)| *k != key);
                    values.push((key, value));
                }
                self.check(&table, parameters, &values, &[], check)?;
                let given = |p: &&Parameter| p.default.is_none() && !values.iter().any(|(k, _)| k == p.name);
                if let Some(p) = parameters.iter().find(given) {
                    return Err(table.missing(p.name, &format!("{} = …", p.name)));
                }
                let parts: Vec<&str> = name.split('-').collect();
                let same = |k: &&String| k.as_str() == name || **k == species_kind(&parts);
                match kinds.iter().position(|k| same(&k)) {
                    Some(place) => rows[place] = Some(values),
                    None if item.is_included() => {}
                    None => self
                        .warnings
                        .push(format!("`{}`: there are no {what} of kind `{name}`", item.path())),
                }
            }
        } else if everywhere.is_empty() {
            let found = self.bonded_coefficients(&section, what, kind)?;
            if found.is_empty() {
                if let Some(refusal) = self.coefficients.iter().find_map(|c| c.unknown_style(what, kind)) {
                    return Err(Self::refused(&section, refusal));
                }
                return Err(section.missing(
                    "types",
                    &format!("types = {{ kind = {{ {} = … }} }}", names.join(" = …, ")),
                ));
            }
            for (name, values) in found {
                self.check(&section, parameters, &values, &[], check)?;
                if let Some(place) = kinds.iter().position(|k| *k == name) {
                    rows[place] = Some(values);
                }
            }
        }
        self.smallest_length = lengths;
        if what == "bonds" {
            let limit = |row: &Option<Vec<(String, Value)>>| {
                let row = row.as_ref()?;
                let value = |p: &Parameter| {
                    let given = row
                        .iter()
                        .find(|(key, _)| key == p.name)
                        .map(|(_, value)| value.clone());
                    given.or(p.default.map(Value::Number))
                };
                let values: Option<Vec<Value>> = parameters.iter().map(value).collect();
                family.longest(Parameters(&values?))
            };
            let limits: Vec<Option<f64>> = rows.iter().map(limit).collect();
            self.refuse_long_bonds(&section, &limits)?;
        }
        let mut term = BondedTerm::<F>::build(kind, &rows)
            .map_err(|e| self.term_error(e, &section, parameters, false))?;
        if let Some(name) = section.map("name", Item::text)? {
            term.name = name.to_owned();
        }
        Ok(term)
    }

    /// Parameters by type, from the coefficients of the structure file.
    fn bonded_coefficients(
        &mut self,
        section: &Section,
        what: &str,
        kind: &str,
    ) -> Result<Vec<(String, Values)>> {
        let mut all = Vec::new();
        for coefficients in &mut self.coefficients {
            let found = coefficients.bonded(what, kind);
            all.extend(found.map_err(|e| Self::refused(section, e))?);
        }
        Ok(all)
    }

    /// Refuses bonds, angles or dihedrals no term acts on.
    pub(super) fn all_covered(&self, list: &Item, field: &ForceField) -> Result<()> {
        let t = &self.system.topology;
        let pairs = self.system.constraints.pairs();
        let held: HashSet<[u32; 2]> = pairs.map(|([i, j], _)| [i.min(j), i.max(j)]).collect();
        let bare = [
            ("bonds", bare(&t.bond_kinds, &t.bonds, &field.bonds, &held)),
            ("angles", bare(&t.angle_kinds, &t.angles, &field.angles, &held)),
            (
                "dihedrals",
                bare(&t.dihedral_kinds, &t.dihedrals, &field.dihedrals, &held),
            ),
            (
                "impropers",
                bare(&t.improper_kinds, &t.impropers, &field.impropers, &held),
            ),
            // No distance says how an axis lies.
            ("axes", bare(&t.axis_kinds, &t.axes, &field.axes, &HashSet::new())),
        ];
        for (what, found) in bare {
            if let Some((kind, count)) = found {
                return Err(list
                    .key_error(format!(
                        "no [[forces]] act on the {count} {what} of kind `{kind}`"
                    ))
                    .found("nothing")
                    .expected(format!("parameters of the {what} of kind `{kind}`"))
                    .help(format!(
                        "add types = {{ {kind} = {{ … }} }} to a [[forces]] for {what}"
                    )));
            }
        }
        Ok(())
    }

    /// Refuses restraints of the axes of points.
    pub(super) fn refuse_points(&self, item: &Item, term: &BondedTerm<dyn AxisFamily>) -> Result<()> {
        let (t, p) = (&self.system.topology, &self.system.particles);
        let acts = |link: &&Link<2>| term.rows[link.kind as usize].is_some();
        let is_point = |i: usize| p.orientations.rotor(i).class() == Class::Point;
        let first = |link: &Link<2>| link.atoms[0] as usize;
        match t.axes.iter().filter(acts).map(first).find(|i| is_point(*i)) {
            None => Ok(()),
            Some(i) => {
                let species = &self.system.species[p.species[i] as usize].name;
                Err(item
                    .key_error(format!(
                        "a restraint of kind `{}` is to hold the axis of particle {} (species `{species}`), which is a point",
                        term.name,
                        i + 1
                    ))
                    .expected("a first particle with a moment of inertia")
                    .help(format!("add `inertia` (and `dipole`) to [species.{species}], or name the particle with the axis first")))
            }
        }
    }

    /// Refuses bonds that are longer than their potential can be (FENE): no minimizer mends them.
    fn refuse_long_bonds(&self, section: &Section, limits: &[Option<f64>]) -> Result<()> {
        let system = self.system;
        let unit = system.units.label(Dimension::LENGTH);
        for bond in &system.topology.bonds {
            let [i, j] = bond.atoms.map(|k| k as usize);
            let places = (
                system.particles.positions.get(i),
                system.particles.positions.get(j),
            );
            let (Some(limit), (Some(a), Some(b))) =
                (limits.get(bond.kind as usize).copied().flatten(), places)
            else {
                continue;
            };
            let length = system.cell.minimum_image(*b - *a).norm();
            if length >= limit {
                let kind = &system.topology.bond_kinds[bond.kind as usize];
                return Err(section
                    .error(format!(
                        "the bond of particles {} and {} (kind `{kind}`) is {length:.4} {unit} long, its potential ends at {limit:.4} {unit}",
                        i + 1,
                        j + 1
                    ))
                    .found(format!("{length}"))
                    .expected(format!("bonds shorter than {limit} {unit}"))
                    .help("check the cell, the unit of length of the structure and the parameters of the bond"));
            }
        }
        Ok(())
    }
}

/// The first kind that has links and no term, and how many. Links that constraints keep as they are need none.
fn bare<const N: usize, F: ?Sized>(
    kinds: &[String],
    links: &[Link<N>],
    terms: &[BondedTerm<F>],
    held: &HashSet<[u32; 2]>,
) -> Option<(String, usize)> {
    let mut counts = vec![0; kinds.len()];
    let moves = |link: &&Link<N>| {
        let mut atoms = link.atoms;
        atoms.sort_unstable();
        (0..N).any(|j| (0..j).any(|i| !held.contains(&[atoms[i], atoms[j]])))
    };
    for link in links.iter().filter(moves) {
        counts[link.kind as usize] += 1;
    }
    let place = (0..kinds.len()).find(|&k| counts[k] > 0 && !covers(terms, k))?;
    Some((kinds[place].clone(), counts[place]))
}

fn covers<F: ?Sized>(terms: &[BondedTerm<F>], kind: usize) -> bool {
    terms
        .iter()
        .any(|t| t.rows.get(kind).is_some_and(Option::is_some))
}
