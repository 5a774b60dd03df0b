//! `file = "…"`: from what a structure file says to particles, species and topology.

use std::collections::HashMap;

use debye_io::{AtomLabels, AtomStyle, Format, LengthUnit, Structure};

use super::coefficients::Coefficients;
use super::error::InputError;
use super::reader::{Item, Section};
use super::species::Declared;
use super::system::{CellKeys, Setting, cell};
use crate::expr::{Quat, Vec3};
use crate::system::connected;
use crate::system::{
    Cell, Class, Constraints, Dimension, Exclusions, Link, Particles, Rotor, Species, System, Topology, Units,
};

type Result<T> = std::result::Result<T, InputError>;

pub(super) fn read<'a>(
    setting: &Setting<'_, 'a>,
    section: &Section<'a>,
    file: &Item<'a>,
    keys: CellKeys,
) -> Result<System> {
    let native = Format::from_path(setting.path(file.file_name()?)).is_ok_and(|f| f == Format::NATIVE);
    if native {
        return super::previous::read(setting, file, keys);
    }
    let mut structure = load(setting, section, file)?;
    setting.refuse_too_many(file, structure.atoms.len())?;
    let work = Work {
        setting,
        section,
        file,
    };
    let (length, time) = work.units(&structure)?;
    let origin = structure.origin.unwrap_or_default();
    let to_position = |r: &[f64; 3]| Vec3::from(std::array::from_fn(|k| (r[k] - origin[k]) * length));
    let positions: Vec<Vec3<f64>> = structure.frame.positions.iter().map(to_position).collect();
    let read = Particles {
        positions,
        ..Particles::default()
    };
    setting.refuse_far(file, &read)?;
    let positions = read.positions;
    let cell = work.cell(&structure, length, &positions, keys)?;
    let (species, kinds) = work.species(&structure)?;
    work.note(&mut structure, length, &species, &kinds)?;
    let mut particles = Particles::default();
    let molecules = molecules(&structure);
    for (i, (atom, kind)) in structure.atoms.iter().zip(kinds).enumerate() {
        let of = &species[kind as usize];
        let declared = setting.species.find(&of.name);
        let mass = match (declared.and_then(|d| d.mass), atom.mass) {
            (Some(mass), _) => mass,
            (None, Some(mass)) if mass > 0.0 => mass,
            (None, _) => of.mass,
        };
        let charge = charge_of(declared, atom);
        let position = positions.get(i).copied().unwrap_or_else(Vec3::zero);
        particles.push(position, kind, mass, charge, molecules[i]);
        if let Some((rotor, turn)) = work.orientation(i, atom, declared, length)? {
            particles.orient(i, rotor, turn);
        }
    }
    work.turn_at_random(&mut particles)?;
    if let Some(velocities) = &structure.frame.velocities {
        let scale = length / time;
        for (to, from) in particles.velocities.iter_mut().zip(velocities) {
            *to = Vec3::from(*from) * scale;
        }
    }
    if let Some(angular) = &structure.frame.angular_velocities
        && !particles.orientations.is_empty()
    {
        let momentum = |(rotor, omega): (&Rotor, &[f64; 3])| match rotor.class() {
            Class::Linear => Vec3::from(*omega) * (rotor.inertia[0] / time),
            // A point does not turn, and LAMMPS knows no other axes of a body.
            Class::Point | Class::Body => Vec3::zero(),
        };
        let momenta = particles.orientations.rotors.iter().zip(angular).map(momentum);
        particles.orientations.set_momenta(momenta.collect());
    }
    if let Some(images) = &structure.images {
        particles.images.clone_from(images);
        particles.images.resize(particles.len(), [0; 3]);
    }
    let topology = topology(&structure, &particles, &species);
    Ok(System {
        units: setting.units,
        cell,
        species,
        particles,
        topology,
        exclusions: Exclusions::default(),
        constraints: Constraints::default(),
        labels: labels(&structure),
    })
}

/// What the file calls its atoms, where it knows residues; other files have no more than the species.
fn labels(structure: &Structure) -> AtomLabels {
    match structure.atoms.iter().any(|atom| !atom.residue.is_empty()) {
        true => AtomLabels::new(&structure.atoms),
        false => AtomLabels::default(),
    }
}

fn load(setting: &Setting, section: &Section, file: &Item) -> Result<Structure> {
    let path = setting.path(file.file_name()?);
    let shown = path.display();
    let formats: Vec<(&str, Format)> = Format::all().map(|f| (f.name(), f)).collect();
    let format = match section.get("format") {
        Some(item) => item.choice("format", &formats)?,
        None => Format::of_input(&path).map_err(|e| {
            file.error(format!("has no known format: {e}"))
                .expected("a structure file")
                .help("rename it, or add format = \"gro\" or the like")
        })?,
    };
    let styles: Vec<(&str, AtomStyle)> = AtomStyle::ALL.iter().map(|s| (s.name(), *s)).collect();
    let style = section.map("atom_style", |i| i.choice("atom style", &styles))?;
    if let (Some(item), true) = (section.get("atom_style"), format != Format::LAMMPS) {
        return Err(item
            .key_error("`atom_style` belongs to LAMMPS data files")
            .expected("no such key"));
    }
    if !path.is_file() {
        let reason = if path.exists() {
            "is not a file"
        } else {
            "does not exist"
        };
        return Err(file
            .error(format!("names {shown}, which {reason}"))
            .expected("a structure file")
            .help("paths are relative to the folder of the input file"));
    }
    let read = match style {
        Some(_) => debye_io::read_lammps_file(&path, style),
        None => debye_io::read_structure_as(&path, format),
    };
    read.map_err(|e| {
        file.error(format!("cannot be read: {e}"))
            .expected("a readable structure file")
    })
}

struct Work<'w, 's, 'a> {
    setting: &'w Setting<'s, 'a>,
    section: &'w Section<'a>,
    file: &'w Item<'a>,
}

impl Work<'_, '_, '_> {
    /// The file's units of length and of time (in velocities), in those of the run.
    fn units(&self, structure: &Structure) -> Result<(f64, f64)> {
        let declared = lammps_units(structure, self.setting.units);
        let length = self
            .unit("length_unit", Dimension::LENGTH)?
            .or(declared.map(|units| units.length));
        let time = self
            .unit("time_unit", Dimension::TIME)?
            .or(declared.map(|units| units.time));
        let length = match (length, self.setting.units, structure.frame.length_unit) {
            (Some(length), _, _) => length,
            // Reduced numbers travel in any format as they are.
            (None, Units::LennardJones, _) | (None, Units::Md, LengthUnit::Nanometer) => 1.0,
            (None, Units::Md, LengthUnit::Angstrom) => 0.1,
            (None, Units::Md, LengthUnit::Unspecified) => {
                let name = self.file.text()?;
                return Err(self
                    .file
                    .error(format!("\"{name}\" does not say what unit its lengths are in"))
                    .expected("length_unit beside file")
                    .help("add length_unit = \"Å\" (and time_unit = \"fs\" for its velocities)"));
            }
        };
        Ok((length, time.unwrap_or(1.0)))
    }

    /// What a key says a unit of the file is, in the run's.
    fn unit(&self, key: &str, dimension: Dimension) -> Result<Option<f64>> {
        self.section.map(key, |item| {
            let text = item.text()?;
            let value = self.setting.units.quantity(&format!("1 {text}"), dimension);
            match value {
                Ok(x) if x > 0.0 => Ok(x),
                Ok(_) => Err(item.wrong(format!("a unit of {dimension}"))),
                Err(e) => Err(item
                    .error(format!("is not a unit of {dimension}: {e}"))
                    .expected("a unit")),
            }
        })
    }

    /// Keeps the warnings and the coefficients of the file.
    fn note(&self, structure: &mut Structure, length: f64, species: &[Species], kinds: &[u32]) -> Result<()> {
        let energy =
            self.unit("energy_unit", Dimension::ENERGY)?
                .or(lammps_units(structure, self.setting.units).map(|units| units.energy));
        let energy = match self.setting.units {
            // Reduced numbers are taken as they are.
            Units::LennardJones => energy.or(Some(1.0)),
            Units::Md => energy,
        };
        let names = kinds.iter().map(|kind| species[*kind as usize].name.as_str());
        let file = self.file.text()?.to_owned();
        let found = Coefficients::of(file, structure, names, length, energy);
        let mut notes = self.setting.notes.borrow_mut();
        notes.warnings.append(&mut structure.warnings);
        notes.coefficients.extend(found);
        Ok(())
    }

    fn cell(&self, structure: &Structure, length: f64, r: &[Vec3<f64>], keys: CellKeys) -> Result<Cell> {
        if let Some(vectors) = keys.vectors {
            return cell(self.section.get("cell").unwrap_or(self.file), vectors, &keys);
        }
        if let Some(vectors) = structure.frame.cell {
            let keys = CellKeys {
                periodic: keys.periodic.or(structure.frame.periodic),
                ..keys
            };
            return cell(self.file, vectors.map(|v| v.map(|x| x * length)), &keys);
        }
        if keys.periodic == Some([false; 3]) {
            // Open in all directions: any cell that holds the particles will do.
            let span = |axis: usize| {
                let (low, high) = r
                    .iter()
                    .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), r| {
                        (low.min(r[axis]), high.max(r[axis]))
                    });
                (high - low).max(0.0) + 1.0
            };
            let [x, y, z] = [span(0), span(1), span(2)];
            return cell(self.file, [[x, 0.0, 0.0], [0.0, y, 0.0], [0.0, 0.0, z]], &keys);
        }
        Err(self
            .file
            .error(format!("\"{}\" has no cell", self.file.text()?))
            .found("no cell")
            .expected("a cell in the file or the key `cell`")
            .help("add cell = [\"4 nm\", \"4 nm\", \"4 nm\"], or periodic = [false, false, false] for an open system"))
    }

    /// The species that occur, in the order of the input file, and that of every atom.
    fn species(&self, structure: &Structure) -> Result<(Vec<Species>, Vec<u32>)> {
        let declared = &self.setting.species.all;
        let by_name: HashMap<&str, usize> = declared
            .iter()
            .enumerate()
            .flat_map(|(place, s)| s.names.iter().map(move |name| (*name, place)))
            .collect();
        let mut kinds = Vec::with_capacity(structure.atoms.len());
        let mut example = vec![None; declared.len()];
        for (i, atom) in structure.atoms.iter().enumerate() {
            // The label of a numbered type says more than its number, which is that of this file.
            let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
            let labeled = atom.type_name.as_deref().is_some_and(number) && !number(&atom.name);
            let candidates = [
                labeled.then_some(atom.name.as_str()),
                atom.type_name.as_deref(),
                Some(atom.name.as_str()),
                Some(atom.unnumbered()),
                Some(atom.element.as_str()),
            ];
            let found = candidates
                .into_iter()
                .flatten()
                .find_map(|name| by_name.get(name));
            let Some(&place) = found else {
                return Err(self.stranger(i, atom));
            };
            example[place].get_or_insert(i);
            kinds.push(place);
        }
        let mut new_place = vec![0u32; declared.len()];
        let mut species = Vec::new();
        for (place, first) in example.iter().enumerate() {
            let Some(first) = *first else { continue };
            new_place[place] = species.len() as u32;
            let d = &declared[place];
            let atom = &structure.atoms[first];
            let mass = match (d.mass, atom.mass.filter(|m| *m > 0.0), self.setting.units) {
                (Some(mass), _, _) | (None, Some(mass), _) => mass,
                (None, None, Units::LennardJones) => 1.0,
                (None, None, Units::Md) => return Err(d.missing_mass()),
            };
            species.push(Species::point(d.name, mass, charge_of(Some(d), atom)).with_rotor(d.rotor));
        }
        Ok((species, kinds.into_iter().map(|place| new_place[place]).collect()))
    }

    /// How a particle turns and lies; `None` for points, and for those that are to lie anyhow.
    fn orientation(
        &self,
        i: usize,
        atom: &debye_io::Atom,
        declared: Option<&Declared>,
        length: f64,
    ) -> Result<Option<(Rotor, Quat<f64>)>> {
        let Some(declared) = declared.filter(|d| d.rotor.class() != Class::Point) else {
            return Ok(None);
        };
        let dipole = Vec3::from(atom.dipole.unwrap_or_default()) * length;
        let size = dipole.norm();
        // But for its last digits, a dipole that was written is the one that was declared.
        let same = (size - declared.rotor.dipole).abs() <= 1e-9 * declared.rotor.dipole;
        let rotor = match declared.yields && size > 0.0 && !same {
            true => declared.rotor.with_dipole(size),
            false => declared.rotor,
        };
        if let Some([x, y, z, w]) = atom.orientation {
            let turn = Quat {
                w,
                v: Vec3::new(x, y, z),
            };
            let norm = (w * w + turn.v.norm2()).sqrt();
            if norm.is_nan() || (norm - 1.0).abs() > 1e-3 {
                return Err(self
                    .file
                    .error(format!(
                        "has in its column `orientation` no unit quaternion of atom {}: x {x}, y {y}, z {z}, w {w}",
                        i + 1
                    ))
                    .expected("x² + y² + z² + w² = 1"));
            }
            if turn.normalized().axes()[2].dot(dipole) < 0.999 * size {
                return Err(self
                    .file
                    .error(format!(
                        "has a `dipole` of atom {} that does not point along the axis z of its `orientation`",
                        i + 1
                    ))
                    .expected("one of the two columns, or dipoles along the axes z"));
            }
            return Ok(Some((rotor, turn.normalized())));
        }
        match rotor.class() {
            Class::Linear if size > 0.0 => Ok(Some((rotor, Quat::from_z_to(dipole * size.recip())))),
            _ if self.random_orientations()? => Ok(Some((rotor, Quat::identity()))),
            _ => {
                let name = declared.name;
                let item = self.file;
                Err(item
                    .error(format!(
                        "has no orientation of atom {} (species `{name}`), which can turn",
                        i + 1
                    ))
                    .expected("a dipole or an orientation of every particle with a moment of inertia")
                    .help("say orientations = \"random\" in [system] to draw them"))
            }
        }
    }

    fn random_orientations(&self) -> Result<bool> {
        let asked = self.section.map("orientations", |item| {
            item.choice("orientations", &[("random", true)])
        })?;
        Ok(asked.unwrap_or(false))
    }

    /// Draws all orientations, where that was asked for.
    fn turn_at_random(&self, particles: &mut Particles) -> Result<()> {
        if self.random_orientations()? {
            particles.turn_at_random(self.setting.seed);
        }
        Ok(())
    }

    fn stranger(&self, i: usize, atom: &debye_io::Atom) -> InputError {
        let name = atom
            .type_name
            .as_deref()
            .filter(|t| !t.is_empty())
            .unwrap_or(&atom.name);
        let residue = match atom.residue.as_str() {
            "" => String::new(),
            residue => format!(" of residue `{residue}`"),
        };
        self.file
            .error(format!(
                "has an atom of no declared species: atom {}, `{name}`{residue}",
                i + 1
            ))
            .found(name)
            .expected(format!(
                "one of the species {}",
                self.setting.species.names().join(", ")
            ))
            .help(format!(
                "add [species.{name}] with its mass, or names = [\"{name}\"] to a species it belongs to"
            ))
    }
}

/// The charge that counts: what the input says, else the file's, else an included set's.
fn charge_of(declared: Option<&Declared>, atom: &debye_io::Atom) -> f64 {
    let (said, yields) = declared.map_or((None, false), |d| (d.charge, d.yields));
    let charge = if yields {
        atom.charge.or(said)
    } else {
        said.or(atom.charge)
    };
    charge.unwrap_or(0.0)
}

/// Units of LAMMPS data in nm, ps and kJ/mol.
#[derive(Clone, Copy)]
struct LammpsUnits {
    length: f64,
    time: f64,
    energy: f64,
}

/// The units that the first line of LAMMPS data names, as LAMMPS itself does: `units = real`.
fn lammps_units(structure: &Structure, units: Units) -> Option<LammpsUnits> {
    if units != Units::Md || structure.frame.length_unit != LengthUnit::Unspecified {
        return None;
    }
    let (_, after) = structure.frame.title.split_once("units = ")?;
    let name = after.split(|c: char| !c.is_ascii_alphanumeric()).next()?;
    let energy = |text| Units::Md.quantity(text, Dimension::ENERGY).ok();
    let (length, time, energy) = match name {
        "real" => (0.1, 1e-3, energy("1 kcal/mol")?),
        "metal" => (0.1, 1.0, energy("1 eV")?),
        // Attograms, nanometers and nanoseconds.
        "nano" => (1.0, 1e3, energy("1e-21 J")?),
        _ => return None,
    };
    Some(LammpsUnits { length, time, energy })
}

/// Molecule of every atom: as the file says, else by bonds, by residue where it has no bonds, else one each.
fn molecules(structure: &Structure) -> Vec<u32> {
    let n = structure.atoms.len();
    let atoms = &structure.atoms;
    if n > 0 && atoms.iter().all(|a| a.molecule.is_some()) {
        let mut numbers = HashMap::new();
        let number = |a: &debye_io::Atom| {
            let next = numbers.len() as u32;
            *numbers.entry(a.molecule).or_insert(next)
        };
        return atoms.iter().map(number).collect();
    }
    let mut bonded = vec![false; n];
    for i in structure.bonds.iter().flat_map(|b| b.atoms).filter(|i| *i < n) {
        bonded[i] = true;
    }
    // A bonded molecule may have many residues, and water around it has residues only.
    let same_residue = |i: usize| {
        let (a, b) = (&atoms[i - 1], &atoms[i]);
        !bonded[i - 1]
            && !bonded[i]
            && !b.residue.is_empty()
            && (a.residue_number, &a.insertion, &a.residue, &a.chain)
                == (b.residue_number, &b.insertion, &b.residue, &b.chain)
    };
    let by_residue = (1..n).filter(|i| same_residue(*i)).map(|i| [i - 1, i]);
    connected(n, structure.bonds.iter().map(|b| b.atoms).chain(by_residue))
}

fn topology(structure: &Structure, particles: &Particles, species: &[Species]) -> Topology {
    let names: Vec<&str> = species.iter().map(|s| s.name.as_str()).collect();
    let name = |i: usize| names[particles.species[i] as usize];
    let mut topology = Topology::default();
    (topology.bond_kinds, topology.bonds) = links(&structure.bonds, name);
    (topology.angle_kinds, topology.angles) = links(&structure.angles, name);
    (topology.dihedral_kinds, topology.dihedrals) = links(&structure.dihedrals, name);
    (topology.improper_kinds, topology.impropers) = links(&structure.impropers, name);
    topology
}

/// Links with their kinds; those without a kind are named by their species, `C-H`.
fn links<'n, const N: usize>(
    bonded: &[debye_io::Bonded<N>],
    name: impl Fn(usize) -> &'n str,
) -> (Vec<String>, Vec<Link<N>>) {
    let mut kinds: Vec<String> = Vec::new();
    let mut places: HashMap<String, u32> = HashMap::new();
    let mut made = Vec::with_capacity(bonded.len());
    for b in bonded {
        let kind = match b.kind.as_str() {
            "" => species_kind(&b.atoms.map(&name)),
            kind => kind.to_owned(),
        };
        let next = kinds.len() as u32;
        let place = *places.entry(kind).or_insert_with_key(|kind| {
            kinds.push(kind.clone());
            next
        });
        made.push(Link {
            kind: place,
            atoms: b.atoms.map(|i| i as u32),
        });
    }
    (kinds, made)
}

/// `H-C` and `C-H` are the same kind: the one that comes first in the alphabet.
pub(super) fn species_kind(names: &[&str]) -> String {
    let forward = names.join("-");
    let backward = names.iter().rev().copied().collect::<Vec<_>>().join("-");
    forward.min(backward)
}
