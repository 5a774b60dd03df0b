//! The input file: one TOML text that says what to simulate, how, and what to write.
//!
//! Every key is listed in `docs/input-file.md`. A file that cannot be taken as it is meant is
//! refused with an [`InputError`] that quotes the place and says what would do.
//!
//! ```
//! let text = r#"
//! units = "lj"
//! [system]
//! build = { kind = "lattice", lattice = "fcc", cells = [4, 4, 4], density = 0.8442 }
//! [species.A]
//! [[forces]]
//! kind = "lennard-jones"
//! cutoff = 2.5
//! epsilon = 1.0
//! sigma = 1.0
//! [integrator]
//! kind = "nve"
//! timestep = 0.005
//! [run]
//! steps = 1000
//! temperature = 1.44
//! "#;
//! let simulation = debye::simulation::Simulation::parse(text, ".", "melt.toml")?;
//! assert_eq!(simulation.system.particles.len(), 256);
//! # Ok::<(), debye::input::InputError>(())
//! ```
//!
//! Everything an input file can say can be said without one: see [`Simulation::builder`].

mod bonded;
mod builders;
mod check;
mod coefficients;
mod constraints;
mod doubts;
mod dynamics;
mod edit;
mod electrostatics;
mod error;
mod forces;
mod include;
mod liquids;
mod membranes;
mod molecules;
mod output;
mod previous;
mod reader;
mod samples;
mod species;
mod structure;
mod system;
mod topology;
mod unused;

use std::path::{Path, PathBuf};

pub use check::{Overlap, check_overlaps};
pub use edit::{electrostatics_lines, electrostatics_tolerance, with_electrostatics};
pub use error::{InputDetails, InputError};
pub use include::SETS;

use error::Source;
use molecules::MoleculeList;
use reader::{Item, Node, Section};
use species::SpeciesList;

use crate::engines::available_memory;
use crate::forces::ForceField;
use crate::simulation::Simulation;
use crate::system::velocities;
use crate::system::{Molecule, Species, System, Units};

type Result<T> = std::result::Result<T, InputError>;

const ROOT_KEYS: &[&str] = &[
    "units",
    "title",
    "system",
    "species",
    "molecules",
    "forcefield",
    "forces",
    "topology",
    "exclusions",
    "constraints",
    "integrator",
    "thermostat",
    "barostat",
    "minimize",
    "run",
    "neighbors",
    "output",
    "analyze",
];

const UNITS: [(&str, Units); 2] = [("md", Units::Md), ("lj", Units::LennardJones)];
const UNITS_EXAMPLE: &str = "units = \"md\" or units = \"lj\" at the top";

/// The largest input file that is read, in bytes.
const LARGEST_FILE: u64 = 64 << 20;

/// Particles closer than this fraction of the smallest length of the force field overlap.
const OVERLAP: f64 = 1e-3;

/// What an input file is read for, and limits of what it may ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputOptions {
    /// Systems with more particles are refused before memory is taken for them.
    pub max_particles: usize,
    /// Whether steps will be made, so that `[integrator]` must say how, and `[run]` how many.
    pub moves: bool,
}

impl Default for InputOptions {
    /// As many as fit into the memory that is free now, with the lists of a dense liquid.
    fn default() -> Self {
        Self {
            max_particles: available_memory().map_or(1_000_000_000, |bytes| bytes / BYTES_PER_PARTICLE),
            moves: true,
        }
    }
}

/// What a particle takes in a run: 560 bytes in the engine, 90 in the system, 130 in a checkpoint.
const BYTES_PER_PARTICLE: usize = 800;

impl Simulation {
    /// Reads an input file. Paths in it are relative to its folder.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        Self::read_with(path, &InputOptions::default())
    }

    /// [`Self::read`] for a purpose.
    pub fn read_with(path: impl AsRef<Path>, options: &InputOptions) -> Result<Self> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let unreadable =
            |reason: String| InputError::of_file(&name, format!("cannot read the input file: {reason}"));
        let size = std::fs::metadata(path).map_err(|e| unreadable(e.to_string()))?;
        if size.is_dir() {
            return Err(unreadable("it is a folder".into()));
        }
        if !size.is_file() {
            return Err(unreadable("it is a device or a pipe, not a file".into()));
        }
        if size.len() > LARGEST_FILE {
            return Err(unreadable(format!(
                "it has {} MiB; an input file is a text of at most {}",
                size.len() >> 20,
                LARGEST_FILE >> 20
            )));
        }
        let bytes = std::fs::read(path).map_err(|e| unreadable(e.to_string()))?;
        let text = utf8(bytes, &name)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut simulation = Self::parse_with(&text, folder, &name, options)?;
        simulation.input_path = path.to_owned();
        Ok(simulation)
    }

    /// Takes the text of an input file; `name` is what messages call it, `base_folder` what paths in
    /// it are relative to.
    pub fn parse(text: &str, base_folder: impl AsRef<Path>, name: &str) -> Result<Self> {
        Self::parse_with(text, base_folder, name, &InputOptions::default())
    }

    /// [`Self::parse`] with limits.
    pub fn parse_with(
        text: &str,
        base_folder: impl AsRef<Path>,
        name: &str,
        options: &InputOptions,
    ) -> Result<Self> {
        let mut source = Source::new(name, text);
        let mut node = Node::parse(&source)?;
        include::apply(&mut source, &mut node, base_folder.as_ref())?;
        let root = Item::root(&source, &node).section("the file", ROOT_KEYS)?;
        assemble(&root, base_folder.as_ref(), name, options).map(|simulation| Self {
            input_text: text.into(),
            input_path: name.into(),
            ..simulation
        })
    }
}

/// The system of a structure file, with the masses and charges of these species; only native files need none.
///
/// # Errors
/// Files that cannot be read, and species that are not declared.
pub fn read_structure(path: impl AsRef<Path>, units: Units, species: &[Species]) -> Result<System> {
    let mut text = toml_edit::DocumentMut::new();
    let value = toml_edit::value::<&str>;
    text["units"] = value(if units == Units::Md { "md" } else { "lj" });
    text["system"]["file"] = value(&path.as_ref().to_string_lossy());
    for s in species {
        text["species"][&s.name]["mass"] = toml_edit::value(s.mass);
        text["species"][&s.name]["charge"] = toml_edit::value(s.charge);
    }
    let options = InputOptions {
        moves: false,
        ..InputOptions::default()
    };
    let name = path.as_ref().display().to_string();
    Simulation::parse_with(&text.to_string(), "", &name, &options).map(|simulation| simulation.system)
}

/// What a set of a force field is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Components {
    /// Its species.
    pub species: Vec<Species>,
    /// Its molecules.
    pub molecules: Vec<Molecule>,
}

impl Components {
    /// The species of this name.
    pub fn species(&self, name: &str) -> Option<&Species> {
        self.species.iter().find(|s| s.name == name)
    }

    /// The molecule of this name.
    pub fn molecule(&self, name: &str) -> Option<&Molecule> {
        self.molecules.iter().find(|m| m.name == name)
    }
}

/// Species and molecules of a published set, or of a file such as `[forcefield]` includes.
///
/// ```
/// let elba = debye::input::components("elba")?;
/// assert_eq!(elba.molecule("DOPC").unwrap().beads.len(), 15);
/// # Ok::<(), debye::input::InputError>(())
/// ```
///
/// # Errors
/// Sets that are not known, and files that cannot be read.
pub fn components(set: &str) -> Result<Components> {
    let mut text = toml_edit::DocumentMut::new();
    text["forcefield"]["include"] = toml_edit::value(set);
    let mut source = Source::new(set, text.to_string());
    let mut node = Node::parse(&source)?;
    include::apply(&mut source, &mut node, Path::new(""))?;
    let root = Item::root(&source, &node).section("the file", ROOT_KEYS)?;
    let units = root
        .require("units", UNITS_EXAMPLE)?
        .choice("unit system", &UNITS)?;
    let declared = SpeciesList::read(root.get("species"), units)?;
    let molecules = MoleculeList::read(root.get("molecules"), &declared, units)?;
    Ok(Components {
        species: (declared.all.iter())
            .map(|s| s.complete(units))
            .collect::<Result<_>>()?,
        molecules: molecules.into_molecules(),
    })
}

/// The bytes as a text, or where they are none. No text holds the zero bytes that UTF-16 is full of.
fn utf8(bytes: Vec<u8>, name: &str) -> Result<String> {
    let zero = bytes.iter().position(|b| *b == 0);
    let wrong = std::str::from_utf8(&bytes).err().map(|e| e.valid_up_to());
    let Some(at) = zero.into_iter().chain(wrong).min() else {
        return Ok(String::from_utf8(bytes).unwrap_or_default());
    };
    let line = 1 + bytes[..at].iter().filter(|b| **b == b'\n').count();
    Err(InputError::of_line(
        name,
        line,
        format!(
            "not UTF-8 text; saved as Latin-1 or UTF-16? There is a byte {:#04x}. Save the file as UTF-8",
            bytes[at]
        ),
    ))
}

fn assemble(root: &Section, folder: &Path, name: &str, options: &InputOptions) -> Result<Simulation> {
    let units = root
        .require("units", UNITS_EXAMPLE)?
        .choice("unit system", &UNITS)?;
    let stem = Path::new(name)
        .file_stem()
        .map(|s| s.to_string_lossy().into_owned());
    let stem = stem.unwrap_or_else(|| "run".into());
    let title = root
        .map("title", Item::text)?
        .map_or_else(|| stem.clone(), str::to_owned);

    // Cheap sections first: nobody wants to wait for a large file to hear of a misspelled key.
    let (mut run, remove_momentum_every) = output::run(root.get("run"), units, options.moves)?;
    let neighbors = output::neighbors(root.get("neighbors"), units)?;
    let minimize = dynamics::minimize(root.get("minimize"), units)?;
    for (key, heading, keys) in [
        ("system", "[system]", system::KEYS),
        ("topology", "[topology]", topology::TOPOLOGY_KEYS),
        ("exclusions", "[exclusions]", topology::EXCLUSIONS_KEYS),
        ("integrator", "[integrator]", dynamics::INTEGRATOR_KEYS),
        ("barostat", "[barostat]", dynamics::BAROSTAT_KEYS),
        ("output", "[output]", output::OUTPUT_KEYS),
    ] {
        root.map(key, |item| item.section(heading, keys))?;
    }
    let declared = SpeciesList::read(root.get("species"), units)?;
    let molecules = MoleculeList::read(root.get("molecules"), &declared, units)?;
    let setting = system::Setting {
        units,
        species: &declared,
        molecules: &molecules,
        folder,
        seed: run.seed,
        options,
        notes: Default::default(),
    };
    let mut system = setting.system(root)?;
    let notes = setting.notes.into_inner();
    let origin = notes.origin;

    let mut terms = forces::Terms {
        units,
        declared: &declared,
        system: &system,
        folder,
        target_pressure: dynamics::target_pressure(root, units),
        pressure_tolerance: None,
        warnings: notes.warnings,
        smallest_length: None,
        coefficients: notes.coefficients,
    };
    let forces = terms.read(root)?;
    output::refuse_absurd_buffer(root, &system, forces.cutoff())?;
    let pressure_tolerance = terms.pressure_tolerance;
    let (mut warnings, smallest) = (terms.warnings, terms.smallest_length);
    let unused = declared
        .all
        .iter()
        .filter(|d| !d.included && !system.species.iter().any(|s| s.name == d.name));
    warnings
        .extend(unused.map(|d| format!("species `{}` is declared, but no particle belongs to it", d.name)));
    if let Some(temperature) = run.temperature {
        let entries = root.map("system", Item::entries)?.unwrap_or_default();
        let kept = entries.iter().any(|(key, _)| *key == "from");
        if kept && system.particles.velocities.iter().any(|v| v.norm2() > 0.0) {
            warnings.push(
                "velocities are drawn anew for [run] temperature; without it, those of [system] from stay"
                    .into(),
            );
        }
        let at = root.get("run").unwrap_or(&root.item);
        velocities::thermalize(&mut system, temperature, run.seed)
            .map_err(|e| at.key_error(format!("cannot draw initial velocities: {e}")))?;
    }

    let around = dynamics::Surroundings {
        units,
        system: &system,
        declared: &declared,
        seed: run.seed,
        remove_momentum_every,
    };
    let still = if options.moves { None } else { around.at_rest(root) };
    let dynamics = match still {
        Some(still) => still,
        None => around.dynamics(root)?,
    };
    run.equilibration = output::equilibration(root.get("run"), units, dynamics.timestep)?;
    let mut outputs = output::Outputs {
        around: &around,
        folder,
        stem,
        timestep: dynamics.timestep,
        equilibration: run.equilibration,
        files: Vec::new(),
    };
    let output = outputs.output(root.get("output"))?;
    let analyses = outputs.analyses(root.get("analyze"))?;
    refuse_overlaps(root, &system, &forces, smallest)?;
    warnings.extend(unused::check(root, &system, &forces)?);
    let seen = doubts::Seen {
        system: &system,
        forces: &forces,
        dynamics: &dynamics,
        run: &run,
        analyses: &analyses,
        maps: &output.maps,
        moves: options.moves,
    };
    warnings.extend(doubts::of(root, &seen));
    let simulation = Simulation {
        title,
        forces,
        dynamics,
        minimize,
        run,
        output,
        neighbors,
        pressure_tolerance,
        analyses,
        warnings,
        input_text: String::new(),
        input_path: PathBuf::new(),
        system,
        origin,
    };
    if options.moves {
        output::check_analyses(root.get("analyze"), &simulation)?;
    }
    Ok(simulation)
}

fn refuse_overlaps(
    root: &Section,
    system: &System,
    forces: &ForceField,
    smallest: Option<f64>,
) -> Result<()> {
    if forces.pairs.is_empty() && forces.oriented.is_empty() {
        return Ok(());
    }
    let oriented = forces.oriented.iter().flat_map(|t| t.rows.iter().flatten());
    let cutoffs = forces.pairs.iter().flat_map(|t| &t.rows).map(|row| row.cutoff);
    let cutoffs = cutoffs.chain(oriented.map(|row| row.cutoff));
    let smallest = smallest.or_else(|| cutoffs.filter(|c| *c > 0.0).reduce(f64::min).map(|c| 0.1 * c));
    let Some(overlap) = smallest.and_then(|length| check_overlaps(system, OVERLAP * length)) else {
        return Ok(());
    };
    let [i, j] = overlap.particles;
    let unit = system.units.label(crate::system::Dimension::LENGTH);
    let at = root.get("system").unwrap_or(&root.item);
    let r = system.particles.positions[i].to_array();
    let [a, b] = overlap.particles.map(|i| called(system, i));
    let help = if a == b {
        "this looks like one atom twice, by duplicated lines or by alternate locations (altLoc, column 17 of a PDB file): \
         keep one of them"
    } else {
        "check for duplicated atoms or molecules and for alternate locations (altLoc) in the file; check the cell and the \
         periodicity: atoms on opposite faces of a periodic cell are the same atom"
    };
    Err(at
        .key_error(format!(
            "particles {} ({a}) and {} ({b}) lie on top of one another: {:.3e} {unit} apart, at {r:.3?} {unit}",
            i + 1,
            j + 1,
            overlap.distance
        ))
        .found(format!("{:e}", overlap.distance))
        .expected("particles apart from one another")
        .help(help))
}

/// A particle as its file calls it, else by its species.
fn called(system: &System, particle: usize) -> String {
    let mut atom = debye_io::Atom::default();
    if system.labels.apply(particle, &mut atom) {
        let chain = match atom.chain.as_str() {
            "" => String::new(),
            chain => format!(", chain {chain}"),
        };
        return format!(
            "{} of residue {} {}{chain}",
            atom.name, atom.residue, atom.residue_number
        );
    }
    let species = system.particles.species[particle] as usize;
    (system.species.get(species)).map_or_else(String::new, |s| s.name.clone())
}

#[cfg(test)]
mod tests;
