//! `[[constraints]]`: rigid waters, rigid bodies and fixed distances.

use std::collections::{HashMap, HashSet};

use super::error::InputError;
use super::reader::{Item, Section};
use super::structure::species_kind;
use super::system::Setting;
use super::topology;
use crate::expr::Vec3;
use crate::forces::constraints::{RIGID_BODY, RIGID_WATER, SHAKE, misfit};
use crate::system::constraints::FARTHEST_START;
use crate::system::models::{self, Site, WaterModel};
use crate::system::{
    ConstraintError, Dimension, FixedDistance, RigidBodies, RigidShape, RigidWater, System, Units,
};

type Result<T> = std::result::Result<T, InputError>;

const HEADING: &str = "[[constraints]]";
pub(super) const WATER_KEYS: &[&str] = &["kind", "model", "species", "bond", "base"];
pub(super) const BODY_KEYS: &[&str] = &["kind", "species", "sites"];
pub(super) const BONDS_KEYS: &[&str] = &["kind", "bonds", "pairs", "tolerance"];

/// The least accuracy that may be asked for; beyond it a bond is not fixed any more.
const LARGEST_TOLERANCE: f64 = 1e-3;
/// Rounding allows no better in clusters of some size.
const SMALLEST_TOLERANCE: f64 = 1e-13;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Water,
    Body,
    Bonds,
}

/// Adds the constraints, leaves their pairs out of the pair terms, and brings the distances to their lengths.
pub(super) fn read(setting: &Setting, root: &Section, system: &mut System) -> Result<()> {
    let Some(list) = root.get("constraints") else {
        return refuse_massless(setting, root, system);
    };
    let reader = Reader { setting };
    for item in list.one_or_many() {
        let all: Vec<&str> = [WATER_KEYS, BODY_KEYS, BONDS_KEYS].concat();
        let section = item.section(HEADING, &all)?;
        let kinds = [
            (RIGID_WATER.name, Kind::Water),
            (RIGID_BODY.name, Kind::Body),
            (SHAKE.name, Kind::Bonds),
        ];
        let kind = section
            .require("kind", "kind = \"rigid-water\"")?
            .choice("kind of constraints", &kinds)?;
        match kind {
            Kind::Water => reader.water(&item.section(HEADING, WATER_KEYS)?, system)?,
            Kind::Body => reader.body(&item.section(HEADING, BODY_KEYS)?, system)?,
            Kind::Bonds => reader.bonds(&item.section(HEADING, BONDS_KEYS)?, system)?,
        }
        let masses = &system.particles.masses;
        let checked = system.constraints.check(masses);
        checked.map_err(|e| refused(&section, &e))?;
    }
    refuse_massless(setting, root, system)?;
    system
        .apply_constraints()
        .map_err(|e| list.key_error(format!("cannot hold the constraints: {e}")))
}

/// A particle without mass must be carried by a rigid body.
fn refuse_massless(setting: &Setting, root: &Section, system: &System) -> Result<()> {
    let p = &system.particles;
    let carried = system.constraints.in_bodies(p.len());
    let Some(i) = (0..p.len()).find(|&i| p.masses[i] == 0.0 && !carried[i]) else {
        return Ok(());
    };
    let name = &system.species[p.species[i] as usize].name;
    let what = format!(
        "particle {} ({name}) has no mass and belongs to no rigid body",
        i + 1
    );
    let error = match setting.species.find(name).and_then(|d| d.section.get("mass")) {
        Some(item) => item.error(format!("is zero, but {what}")),
        None => root.error(what),
    };
    Err(error
        .expected("a mass above zero, or the species in [[constraints]] of kind \"rigid-body\"")
        .help("[[constraints]] kind = \"rigid-body\", species = [\"OW\", \"HW\", \"HW\", \"M\"]"))
}

fn refused(section: &Section, error: &ConstraintError) -> InputError {
    let help = match error {
        ConstraintError::Twice { .. } => "leave one of the two constraints out",
        ConstraintError::Shared { .. } => "a rigid molecule keeps its shape without further constraints",
        ConstraintError::Flat { .. } => "`base` must be shorter than twice `bond`",
        ConstraintError::Masses { .. } => "give both hydrogens one mass in [species]",
        ConstraintError::SiteMass { .. } => "molecules of one shape have the same masses, site by site",
        ConstraintError::Turns { .. } => {
            "leave `inertia` and `dipole` of its species out: the body turns, not its sites"
        }
        _ => "see docs/input-file.md",
    };
    section
        .error(error.to_string())
        .expected("constraints that can be held")
        .help(help)
}

struct Reader<'s, 'r, 'a> {
    setting: &'s Setting<'r, 'a>,
}

impl Reader<'_, '_, '_> {
    fn length(&self, item: &Item) -> Result<f64> {
        item.positive(self.setting.units, Dimension::LENGTH)
    }

    fn water(&self, section: &Section, system: &mut System) -> Result<()> {
        let model = section.map("model", |item| self.model(item))?;
        let (item, species) = match (section.get("species"), model) {
            (Some(item), _) => (item, self.named_species(item, system)?),
            (None, Some(model)) => (&section.item, self.modeled_species(section, model, system)?),
            (None, None) => {
                let hint = "species = [\"OW\", \"HW\", \"HW\"], or model = \"tip3p\"";
                return Err(section.missing("species", hint));
            }
        };
        let length = |key: &str, of_model: Option<f64>, hint: &str| match (section.get(key), of_model) {
            (Some(item), _) => self.length(item),
            (None, Some(length)) => Ok(length),
            (None, None) => Err(section.missing(key, hint)),
        };
        let bond = length("bond", model.map(|m| m.bond), "bond = \"0.9572 Å\"")?;
        let base = length("base", model.map(|m| m.base), "base = \"1.5139 Å\"")?;
        let water = RigidWater {
            bond,
            base,
            molecules: (molecules(item, system, &species)?.iter())
                .map(|atoms| [atoms[0], atoms[1], atoms[2]])
                .collect(),
        };
        let unit = system.units.label(Dimension::LENGTH);
        for (number, atoms) in water.molecules.iter().enumerate() {
            for side in water.sides() {
                let [i, j] = side.ends.map(|end| atoms[end as usize]);
                let found = distance(system, [i, j]);
                if !near(found, side.length) {
                    let [a, b, c] = atoms.map(|i| i + 1);
                    return Err(section
                        .error(format!(
                            "molecule {} (particles {a}, {b} and {c}) does not have the shape of its constraints: particles {} \
                             and {} are {found:.5} {unit} apart instead of {:.5} {unit}",
                            number + 1,
                            i + 1,
                            j + 1,
                            side.length
                        ))
                        .found(format!("{found:.5}"))
                        .expected(format!("{:.5} {unit}, within 5 %", side.length))
                        .help("check the cell, the order of the particles, and `bond` and `base`"));
                }
            }
        }
        system.constraints.waters.push(water);
        Ok(())
    }

    fn body(&self, section: &Section, system: &mut System) -> Result<()> {
        let list = section.require("species", "species = [\"OW\", \"HW\", \"HW\", \"M\"]")?;
        let names = list.list()?;
        if names.len() < 2 {
            return Err(list
                .error("names fewer than two sites")
                .expected("the species of every site")
                .help("name the species of every site of a molecule, in the order of its particles"));
        }
        let species: Vec<u32> = (names.iter())
            .map(|name| self.named(name, system))
            .collect::<Result<_>>()?;
        let molecules = molecules(list, system, &species)?;
        let (p, cell) = (&system.particles, &system.cell);
        // `named` has found a particle of each, and each is in a molecule.
        let first = &molecules[0];
        let from = |&i: &u32| cell.minimum_image(p.positions[i as usize] - p.positions[first[0] as usize]);
        let places = match section.get("sites") {
            Some(item) => self.sites(item, species.len())?,
            None => first.iter().map(from).collect(),
        };
        let masses: Vec<f64> = first.iter().map(|&i| p.masses[i as usize]).collect();
        let shape = match section.get("sites") {
            Some(_) => RigidShape::new(&places, &masses),
            None => RigidShape::of_rounded(&places, &masses),
        };
        let shape = shape.map_err(|e| {
            let item = section.get("sites").unwrap_or(list);
            item.error(format!("gives {e}"))
                .expected("sites that have a center of mass and can turn")
                .help("a site may have no mass; all mass in a point, or beside its line a site without, cannot be")
        })?;
        self.refuse_other_shapes(section, system, &shape, &molecules)?;
        let particles = molecules.concat();
        system.constraints.bodies.push(RigidBodies { shape, particles });
        Ok(())
    }

    /// Every molecule must have the shape, but for what rounding did to it.
    fn refuse_other_shapes(
        &self,
        section: &Section,
        system: &System,
        shape: &RigidShape,
        molecules: &[Vec<u32>],
    ) -> Result<()> {
        let (p, cell, unit) = (
            &system.particles,
            &system.cell,
            system.units.label(Dimension::LENGTH),
        );
        for (number, atoms) in molecules.iter().enumerate() {
            let first = p.positions[atoms[0] as usize];
            let from = |&i: &u32| cell.minimum_image(p.positions[i as usize] - first);
            let places: Vec<Vec3<f64>> = atoms.iter().map(from).collect();
            let Some((site, off, mirrored)) = misfit(shape, &places) else {
                continue;
            };
            let height = cell
                .heights()
                .to_array()
                .into_iter()
                .fold(f64::INFINITY, f64::min);
            let help = match (mirrored, 2.0 * shape.reach() > height) {
                (true, _) => {
                    "its distances are right, but it is the mirror image: swap two sites of one species in the file"
                }
                (_, true) => "it reaches farther than half of the cell: use `copies`, or a larger cell",
                (false, false) => "check the cell, the order of the particles, and `sites`",
            };
            let particle = atoms[site] as usize;
            return Err(section
                .error(format!(
                    "molecule {} does not have the shape of its body: particle {} ({}) is {off:.5} {unit} from its site",
                    number + 1,
                    particle + 1,
                    system.species[p.species[particle] as usize].name,
                ))
                .found(format!("{off:.5} {unit}"))
                .expected(format!("at most 5 % of its size of {:.5} {unit}", shape.size()))
                .help(help));
        }
        Ok(())
    }

    /// `sites = [["0 Å", "0 Å", "0 Å"], …]`.
    fn sites(&self, item: &Item, count: usize) -> Result<Vec<Vec3<f64>>> {
        let rows = item.list()?;
        if rows.len() != count {
            return Err(item
                .error(format!("has {} places for {count} species", rows.len()))
                .expected("a place for each species")
                .help("a place for each species, in their order: sites = [[x, y, z], …]"));
        }
        let place = |row: &Item| -> Result<Vec3<f64>> {
            let numbers: [Item; 3] = row.array("three coordinates")?;
            let mut place = [0.0; 3];
            for (to, number) in place.iter_mut().zip(&numbers) {
                *to = number.quantity(self.setting.units, Dimension::LENGTH)?;
            }
            Ok(Vec3::from(place))
        };
        rows.iter().map(place).collect()
    }

    /// `model = "tip3p"`.
    fn model(&self, item: &Item) -> Result<&'static WaterModel> {
        let name = item.text()?;
        if self.setting.units != Units::Md {
            return Err(item
                .error("is a model in md units, but the file has units = \"lj\"")
                .expected("no model in reduced units")
                .help("say units = \"md\" at the top, or give `species`, `bond` and `base`"));
        }
        let known: Vec<&str> = models::WATERS.iter().map(|m| m.name).collect();
        models::water(name).ok_or_else(|| item.unknown("water model", &known))
    }

    /// The species of a name.
    fn named(&self, name: &Item, system: &System) -> Result<u32> {
        let text = name.text()?;
        self.setting.species.named(text, name)?;
        let found = system.species.iter().position(|s| s.name == text);
        let found = found.ok_or_else(|| {
            name.error(format!(
                "names species `{text}`, of which the system has no particle"
            ))
            .expected("a species of the system")
        })?;
        Ok(found as u32)
    }

    /// The species that `species` names.
    fn named_species(&self, item: &Item, system: &System) -> Result<[u32; 3]> {
        let names: [Item; 3] = item.array("the species of oxygen, hydrogen and hydrogen")?;
        let mut species = [0; 3];
        for (name, place) in names.iter().zip(&mut species) {
            *place = self.named(name, system)?;
        }
        if species[1] != species[2] {
            return Err(item
                .error("names two species of hydrogen")
                .expected("one species for both"));
        }
        Ok(species)
    }

    /// The species that are atoms of the model.
    fn modeled_species(&self, section: &Section, model: &WaterModel, system: &System) -> Result<[u32; 3]> {
        let of = |site: &Site| {
            let name = format!("{}:{}", model.name, site.name);
            let declared = self.setting.species.all.iter();
            let has = |d: &&super::species::Declared| d.model.is_some_and(|(m, _)| m == name);
            let found: Vec<&str> = declared.filter(has).map(|d| d.name).collect();
            let place = |species: &str| system.species.iter().position(|s| s.name == species);
            match found[..] {
                [one] => place(one).map(|k| k as u32).ok_or_else(|| {
                    section
                        .error(format!(
                            "the system has no particle of species `{one}`, which is {name}"
                        ))
                        .expected("molecules of this water in the system")
                }),
                [] => Err(section
                    .error(format!("no species is {name}, so that the molecules cannot be found"))
                    .expected("a [species] of that model")
                    .help(format!(
                        "say model = \"{name}\" in its [species], or name them: species = [\"OW\", \"HW\", \"HW\"]"
                    ))),
                _ => Err(section
                    .error(format!("several species are {name}: {}", found.join(", ")))
                    .expected("one of them")
                    .help("name those that are rigid: species = [\"OW\", \"HW\", \"HW\"]")),
            }
        };
        let [oxygen, hydrogen] = [of(&model.oxygen)?, of(&model.hydrogen)?];
        Ok([oxygen, hydrogen, hydrogen])
    }

    fn bonds(&self, section: &Section, system: &mut System) -> Result<()> {
        if section.get("bonds").is_none() && section.get("pairs").is_none() {
            return Err(section.missing(
                "bonds",
                "bonds = { CH = \"1.09 Å\" }, or pairs = [[1, 2, \"1.0 Å\"]]",
            ));
        }
        let mut added = Vec::new();
        if let Some(table) = section.get("bonds") {
            for (name, item) in table.entries()? {
                let length = self.length(&item)?;
                let kind = bond_kind(system, name, &item)?;
                let of_kind = system.topology.bonds.iter().filter(|b| b.kind == kind);
                added.extend(of_kind.map(|b| FixedDistance {
                    atoms: b.atoms,
                    length,
                }));
            }
        }
        let particles = system.particles.len();
        if let Some(list) = section.get("pairs") {
            for item in list.list()? {
                let [i, j, length] = item.array("two particle numbers and a length")?;
                let atoms = topology::distinct([&i, &j], particles, &item)?;
                let length = self.length(&length)?;
                added.push(FixedDistance { atoms, length });
            }
        }
        if added.is_empty() {
            return Err(section
                .error("[[constraints]] of kind \"bonds\" match nothing: no bond and no pair is named that exists")
                .found("nothing")
                .expected("at least one bond or pair")
                .help("name kinds of bonds that the topology has, or pairs = [[1, 2, length], …]; or leave it out"));
        }
        let unit = system.units.label(Dimension::LENGTH);
        for d in &added {
            let found = distance(system, d.atoms);
            if !near(found, d.length) {
                let [i, j] = d.atoms.map(|i| i + 1);
                return Err(section
                    .error(format!(
                        "particles {i} and {j} are {found:.5} {unit} apart, and their constraint is {:.5} {unit}",
                        d.length
                    ))
                    .found(format!("{found:.5}"))
                    .expected(format!("{:.5} {unit}, within 5 %", d.length))
                    .help("minimize with a stiff bond first, or check the cell and the length"));
            }
        }
        system.constraints.distances.extend(added);
        if let Some(item) = section.get("tolerance") {
            let tolerance = item.quantity(self.setting.units, Dimension::NONE)?;
            if !(SMALLEST_TOLERANCE..=LARGEST_TOLERANCE).contains(&tolerance) {
                return Err(item.wrong(format!(
                    "a number from {SMALLEST_TOLERANCE:e} to {LARGEST_TOLERANCE:e}"
                )));
            }
            let smallest = &mut system.constraints.tolerance;
            *smallest = smallest.min(tolerance);
        }
        Ok(())
    }
}

fn bond_kind(system: &System, name: &str, item: &Item) -> Result<u32> {
    let kinds = &system.topology.bond_kinds;
    let parts: Vec<&str> = name.split('-').collect();
    let place = kinds.iter().position(|k| k == name || *k == species_kind(&parts));
    let place = place.ok_or_else(|| {
        let known = if kinds.is_empty() {
            "the system has no bonds".into()
        } else {
            format!("there are {}", kinds.join(", "))
        };
        item.key_error(format!("there are no bonds of kind `{name}`"))
            .found(name)
            .expected("a kind of bonds of the topology")
            .help(known)
    })?;
    Ok(place as u32)
}

fn distance(system: &System, atoms: [u32; 2]) -> f64 {
    let [a, b] = atoms.map(|i| system.particles.positions[i as usize]);
    system.cell.minimum_image(a - b).norm()
}

fn near(found: f64, wanted: f64) -> bool {
    (found / wanted - 1.0).abs() <= FARTHEST_START
}

/// The molecules: consecutive particles of these species. Every particle of them must belong to one, or by the structure to a
/// molecule that is made of others.
fn molecules(item: &Item, system: &System, species: &[u32]) -> Result<Vec<Vec<u32>>> {
    let p = &system.particles;
    let mut made_of: HashMap<u32, Vec<u32>> = HashMap::new();
    for (&molecule, &kind) in p.molecules.iter().zip(&p.species) {
        made_of.entry(molecule).or_default().push(kind);
    }
    made_of.values_mut().for_each(|kinds| kinds.sort_unstable());
    let mut wanted = species.to_vec();
    wanted.sort_unstable();
    let size = |molecule: &u32| made_of[molecule].len();
    let is_other = |molecule: &u32| size(molecule) > 1 && made_of[molecule] != wanted;
    let mut found = Vec::new();
    let mut i = 0;
    while i < p.len() {
        if !species.contains(&p.species[i]) || is_other(&p.molecules[i]) {
            i += 1;
            continue;
        }
        let end = i + species.len();
        if p.species.get(i..end) != Some(species) {
            let names: Vec<&str> = species
                .iter()
                .map(|&s| system.species[s as usize].name.as_str())
                .collect();
            return Err(item
                .error(format!(
                    "does not fit particle {} ({}): it does not begin a molecule of {}",
                    i + 1,
                    system.species[p.species[i] as usize].name,
                    names.join(", ")
                ))
                .expected("these species only in such molecules, their particles one after another")
                .help("name the species in the order of the particles; give those of other molecules a species of their own"));
        }
        let of = &p.molecules[i..end];
        // Either the file says nothing of molecules, and each particle is one; or these are one.
        let silent = of.iter().all(|m| size(m) == 1);
        let distinct: HashSet<&u32> = of.iter().collect();
        if !(silent || distinct.len() == 1 && size(&of[0]) == species.len()) {
            return Err(item
                .error(format!(
                    "takes particles {} for a molecule, but by the structure they are not one of their own",
                    listed(i + 1..end + 1)
                ))
                .expected(format!("molecules of {} particles", species.len()))
                .help("check molecule or residue numbers, and bonds, of the structure"));
        }
        found.push((i as u32..end as u32).collect());
        i = end;
    }
    if found.is_empty() {
        return Err(item
            .error("fits no molecule: by the structure, all of these species are in others")
            .expected("the species of all particles of a molecule, in their order")
            .help("check molecule or residue numbers, and bonds, of the structure"));
    }
    Ok(found)
}

/// 1, 2 and 3; more than three are named by the first and the last.
fn listed(numbers: std::ops::Range<usize>) -> String {
    match numbers.len() {
        3 => format!(
            "{}, {} and {}",
            numbers.start,
            numbers.start + 1,
            numbers.start + 2
        ),
        _ => format!("{} to {}", numbers.start, numbers.end - 1),
    }
}
