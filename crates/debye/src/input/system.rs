//! `[system]`: from a file or a builder to particles in a cell.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use super::coefficients::FileNotes;
use super::error::InputError;
use super::molecules::MoleculeList;
use super::reader::{Item, Section};
use super::species::SpeciesList;
use super::{InputOptions, builders, constraints, previous, structure, topology};
use crate::system::display::number;
use crate::system::{
    Cell, CellError, Dimension, HydrogenError, Particles, System, Units, builders::replicate,
};

type Result<T> = std::result::Result<T, InputError>;

pub(super) const KEYS: &[&str] = &[
    "file",
    "from",
    "format",
    "atom_style",
    "length_unit",
    "time_unit",
    "energy_unit",
    "build",
    "cell",
    "periodic",
    "orientations",
    "hydrogen_mass",
    "copies",
];

/// Coordinates and velocities beyond this, in the run's own units, are taken for mistakes: 10 cm in nm.
const FARTHEST: f64 = 1e8;

/// What the sections before `[system]` say.
pub(super) struct Setting<'s, 'a> {
    pub(super) units: Units,
    pub(super) species: &'s SpeciesList<'a>,
    pub(super) molecules: &'s MoleculeList<'a>,
    /// Folder of the input file.
    pub(super) folder: &'s Path,
    pub(super) seed: u64,
    pub(super) options: &'s InputOptions,
    /// What structure files say beside their particles.
    pub(super) notes: RefCell<FileNotes>,
}

/// Refuses keys that say how to read a file, where there is none.
fn refuse_file_keys(section: &Section, instead: &str) -> Result<()> {
    for key in ["format", "atom_style", "length_unit", "time_unit", "energy_unit"] {
        if let Some(item) = section.get(key) {
            return Err(item
                .key_error(format!("`{key}` belongs to `file`, but [system] has `{instead}`"))
                .expected("no such key"));
        }
    }
    Ok(())
}

/// A length with the cell it was meant for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CellKeys {
    pub(super) vectors: Option<[[f64; 3]; 3]>,
    pub(super) periodic: Option<[bool; 3]>,
}

impl<'a> Setting<'_, 'a> {
    /// The particles in their cell; only species that have particles.
    pub(super) fn system(&self, root: &Section<'a>) -> Result<System> {
        let section = root
            .require(
                "system",
                "a section [system] with file = \"…\", build = { … } or from = \"…\"",
            )?
            .section("[system]", KEYS)?;
        section.not_both("file", "build")?;
        section.not_both("file", "from")?;
        section.not_both("build", "from")?;
        let keys = self.cell_keys(&section)?;
        let [file, build, from] = ["file", "build", "from"].map(|key| section.get(key));
        let mut system = if let Some(file) = file {
            structure::read(self, &section, file, keys)?
        } else if let Some(build) = build {
            refuse_file_keys(&section, "build")?;
            let mut built = builders::read(self, root, &section, build, keys)?;
            // Builders that lay no particle any way know masses and charges; how particles turn is said here.
            if built.particles.orientations.is_empty() {
                for species in &mut built.species {
                    if let Some(declared) = self.species.find(&species.name) {
                        species.rotor = declared.rotor;
                    }
                }
                built.orient_at_random(self.seed);
            }
            built
        } else if let Some(from) = from {
            refuse_file_keys(&section, "from")?;
            previous::read(self, from, keys)?
        } else {
            return Err(section
                .error("[system] has neither `file`, `build` nor `from`")
                .found("none of them")
                .expected("file, build or from")
                .help(
                    "add file = \"start.gro\", build = { kind = \"lattice\", … }, or from = \"nvt.out\", the folder of \
                     another run",
                ));
        };
        if let Some(vectors) = keys.vectors {
            let item = section.get("cell").unwrap_or(&section.item);
            system.cell =
                cell(item, vectors, &keys)?.with_periodicity(keys.periodic.unwrap_or(system.cell.periodic()));
        } else if let Some(periodic) = keys.periodic {
            system.cell = system.cell.with_periodicity(periodic);
        }
        self.refuse_far(section.get("build").unwrap_or(&section.item), &system.particles)?;
        if system.particles.is_empty() {
            return Err(section
                .error("the system has no particles")
                .found("none")
                .expected("at least one"));
        }
        for species in &mut system.species {
            species.electrons = self.species.find(&species.name).map_or(0.0, |d| d.electrons);
        }
        topology::read(root, &mut system)?;
        constraints::read(self, root, &mut system)?;
        self.change_masses(section.get("hydrogen_mass"), &mut system)?;
        if let Some(item) = section.get("copies") {
            system = self.copies(item, system)?;
        }
        Ok(system)
    }

    fn cell_keys(&self, section: &Section) -> Result<CellKeys> {
        let expected = "three lengths, or nine numbers: the vectors a, b, c one after another";
        let vectors = section.map("cell", |item| {
            let mut numbers = Vec::new();
            for member in item.list().map_err(|_| item.wrong(expected))? {
                if member.is_list() {
                    for inner in member.list()? {
                        numbers.push(inner.quantity(self.units, Dimension::LENGTH)?);
                    }
                } else {
                    numbers.push(member.quantity(self.units, Dimension::LENGTH)?);
                }
            }
            match *numbers.as_slice() {
                [x, y, z] => Ok([[x, 0.0, 0.0], [0.0, y, 0.0], [0.0, 0.0, z]]),
                [ax, ay, az, bx, by, bz, cx, cy, cz] => Ok([[ax, ay, az], [bx, by, bz], [cx, cy, cz]]),
                _ => Err(item.wrong(expected)),
            }
        })?;
        let periodic = section.map("periodic", |item| {
            if !item.is_list() {
                return item
                    .flag()
                    .map(|p| [p; 3])
                    .map_err(|_| item.wrong("[true, true, true] or the like"));
            }
            let [x, y, z] = item.array("three of true and false")?;
            Ok([x.flag()?, y.flag()?, z.flag()?])
        })?;
        // Found out here and not after reading a large file.
        if let (Some(vectors), Some(item)) = (vectors, section.get("cell")) {
            cell(item, vectors, &CellKeys::default())?;
        }
        Ok(CellKeys { vectors, periodic })
    }

    /// Makes hydrogens heavier where that is asked for; velocities are those that belong to the masses of before, which are
    /// those of the run where a system comes from one.
    fn change_masses(&self, hydrogens: Option<&Item>, system: &mut System) -> Result<()> {
        let mut masses = system.particles.masses.clone();
        if let Some(item) = hydrogens {
            let mass = item.positive(self.units, Dimension::MASS)?;
            masses = (system.masses_with_hydrogens_of(mass)).map_err(|e| {
                let help = match e {
                    HydrogenError::Units => {
                        "reduced units have masses of their own choice: give them in [species]"
                    }
                    HydrogenError::Partners { .. } | HydrogenError::NoHydrogens => {
                        "hydrogens are known by their mass, their partners by [topology] and [[constraints]]"
                    }
                    HydrogenError::Body { .. } => "give the masses of its sites in [species]",
                    _ => "hydrogen_mass = \"3.024 u\" is usual",
                };
                item.error(format!("cannot be applied: {e}"))
                    .expected("a mass that every hydrogen can take from the atom it is bonded to")
                    .help(help)
            })?;
        }
        let mut notes = self.notes.borrow_mut();
        let p = &mut system.particles;
        if let Some(of_run) = notes.masses.take() {
            let changed = (0..masses.len()).find(|&i| of_run[i] != masses[i]);
            if let (Some(i), None) = (changed, hydrogens) {
                let species = &system.species[p.species[i] as usize].name;
                let unit = self.units.label(Dimension::MASS);
                notes.warnings.push(format!(
                    "[system] from: particle {} ({species}) had {} {unit} in that run and has {} {unit} now; velocities are scaled to \
                     keep kinetic energies",
                    i + 1,
                    number(of_run[i]),
                    number(masses[i])
                ));
            }
            p.masses = of_run;
        }
        if p.masses != masses {
            p.change_masses(masses);
        }
        Ok(())
    }

    fn copies(&self, item: &Item, system: System) -> Result<System> {
        let expected = "three whole numbers of at least 1";
        let [x, y, z] = item.array(expected)?;
        let count = |i: &Item| i.count(1..=1_000_000, expected);
        let copies = [count(&x)?, count(&y)?, count(&z)?];
        let total = copies
            .iter()
            .fold(system.particles.len(), |n, k| n.saturating_mul(*k));
        self.refuse_too_many(item, total)?;
        for axis in 0..3 {
            if copies[axis] > 1 && !system.cell.periodic()[axis] {
                let along = ["a", "b", "c"][axis];
                return Err(item
                    .error(format!(
                        "repeats the system along {along}, along which the cell is not periodic"
                    ))
                    .expected(format!("1 copy along {along}")));
            }
        }
        replicate(&system, copies).map_err(|e| item.error(format!("cannot be done: {e}")).expected(expected))
    }

    /// Refuses a number of particles beyond the limit of the caller.
    pub(super) fn refuse_too_many(&self, item: &Item, particles: usize) -> Result<()> {
        let most = self.options.max_particles;
        if particles <= most {
            return Ok(());
        }
        Err(item
            .error(format!(
                "would make {particles} particles; the memory that is free, or the limit given, holds {most}"
            ))
            .found(particles.to_string())
            .expected(format!("at most {most} particles")))
    }

    /// Refuses positions and velocities that no simulation has, which come of a wrong unit or column.
    pub(super) fn refuse_far(&self, item: &Item, particles: &Particles) -> Result<()> {
        let length = self.units.label(Dimension::LENGTH);
        let velocity = format!("{length}/{}", self.units.label(Dimension::TIME));
        for (what, unit, rows) in [
            ("position", &length, &particles.positions),
            ("velocity", &velocity, &particles.velocities),
        ] {
            let far = |x: &f64| x.is_nan() || x.abs() > FARTHEST;
            let found = rows.iter().enumerate().find_map(|(i, r)| {
                r.to_array()
                    .into_iter()
                    .zip(["x", "y", "z"])
                    .find(|(x, _)| far(x))
                    .map(|f| (i, f))
            });
            if let Some((i, (value, axis))) = found {
                return Err(item
                    .key_error(format!(
                        "particle {} has the {what} {axis} = {value:e} {unit}, which no simulation reaches",
                        i + 1
                    ))
                    .found(format!("{value:e}"))
                    .expected(format!("numbers of at most {FARTHEST:e} {unit}"))
                    .help(
                        "check the unit of length and the columns of the file, or the lengths of the builder",
                    ));
            }
        }
        Ok(())
    }

    /// A path of the file, relative to the folder of the input file.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// A cell from its vectors, with the error at `item`.
pub(super) fn cell(item: &Item, vectors: [[f64; 3]; 3], keys: &CellKeys) -> Result<Cell> {
    let made = Cell::triclinic(vectors).map_err(|error| {
        let help = match error {
            CellError::NoVolume(_) => "every length must be greater than zero",
            CellError::Orientation(_) => "turn the system so that a lies along x and b in the xy plane",
        };
        item.error(format!("is not a usable cell: {error}"))
            .expected("a cell with a volume, a along x and b in the xy plane")
            .help(help)
    })?;
    Ok(made.with_periodicity(keys.periodic.unwrap_or([true; 3])))
}
