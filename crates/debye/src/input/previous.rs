//! `from = "nvt.out"`: the system as another run left it, bit for bit. Native structure files come the same way.

use std::path::Path;

use debye_io::{IoError, NativeStructure};

use super::error::InputError;
use super::reader::Item;
use super::system::{CellKeys, Setting, cell};
use crate::checkpoint::Checkpoint;
use crate::expr::Vec3;
use crate::simulation::Origin;
use crate::system::native::from_links;
use crate::system::native::from_rotor;
use crate::system::{
    Class, Constraints, Exclusions, Orientations, Particles, Species, System, Topology, Units,
};

type Result<T> = std::result::Result<T, InputError>;

/// Positions, velocities, images, cell, topology, charges, molecules and labels of the run; masses and charges that
/// `[species]` gives win, and so do `cell` and `periodic`.
pub(super) fn read(setting: &Setting, item: &Item, keys: CellKeys) -> Result<System> {
    let path = setting.path(item.file_name()?);
    let (mut native, warnings) = load(item, &path)?;
    let mut orientations = Orientations::from_native(&mut native);
    setting.refuse_too_many(item, native.positions.len())?;
    {
        let mut notes = setting.notes.borrow_mut();
        notes.warnings.extend(warnings);
        notes.origin = Some(Origin {
            name: item.text()?.to_owned(),
            path,
            step: native.step,
        });
    }
    let units = match native.reduced {
        true => Units::LennardJones,
        false => Units::Md,
    };
    if units != setting.units {
        let name = |units| match units {
            Units::Md => "\"md\"",
            Units::LennardJones => "\"lj\"",
        };
        return Err(item
            .error(format!(
                "holds a system in units = {}, but this file has units = {}",
                name(units),
                name(setting.units)
            ))
            .expected("a run with the same units"));
    }
    let keys = CellKeys {
        vectors: Some(keys.vectors.unwrap_or(native.cell)),
        periodic: Some(keys.periodic.unwrap_or(native.periodic)),
    };
    let cell = cell(item, native.cell, &keys)?;
    let (species, places) = species(setting, item, &native)?;
    let topology = {
        let mut t = Topology::default();
        (t.bond_kinds, t.bonds) = from_links(native.bonds);
        (t.angle_kinds, t.angles) = from_links(native.angles);
        (t.dihedral_kinds, t.dihedrals) = from_links(native.dihedrals);
        (t.improper_kinds, t.impropers) = from_links(native.impropers);
        (t.axis_kinds, t.axes) = from_links(native.axes);
        t
    };
    let kinds: Vec<u32> = native.species_of.iter().map(|&s| places[s as usize]).collect();
    let declared = |kind: u32| setting.species.find(&species[kind as usize].name);
    let given: Vec<(Option<f64>, Option<f64>)> = (0..species.len() as u32)
        .map(|kind| declared(kind).map_or((None, None), |d| (d.mass, d.charge)))
        .collect();
    for (i, &kind) in kinds.iter().enumerate() {
        let Some(declared) = declared(kind).filter(|d| d.rotor.class() != Class::Point) else {
            continue;
        };
        let was = orientations.rotor(i);
        if was.class() == Class::Point {
            return Err(item
                .error(format!(
                    "has no orientation of particle {} (species `{}`), which can turn",
                    i + 1,
                    declared.name
                ))
                .expected("orientations of every particle with a moment of inertia"));
        }
        let dipole = if declared.yields {
            was.dipole
        } else {
            declared.rotor.dipole
        };
        orientations.rotors[i] = declared.rotor.with_dipole(dipole);
    }
    let masses = (kinds.iter().zip(&native.masses)).map(|(&k, &mass)| given[k as usize].0.unwrap_or(mass));
    let masses: Vec<f64> = masses.collect();
    setting.notes.borrow_mut().masses = Some(native.masses);
    let charges = (kinds.iter().zip(native.charges)).map(|(&k, q)| given[k as usize].1.unwrap_or(q));
    Ok(System {
        units,
        cell,
        particles: Particles {
            positions: native.positions.into_iter().map(Vec3::from).collect(),
            velocities: native.velocities.into_iter().map(Vec3::from).collect(),
            images: native.images,
            masses,
            charges: charges.collect(),
            molecules: native.molecules,
            species: kinds,
            orientations,
        },
        species,
        topology,
        exclusions: Exclusions::default(),
        constraints: Constraints::default(),
        labels: native.labels,
    })
}

/// A run folder, a checkpoint, or a native structure file, and what is odd about it.
fn load(item: &Item, path: &Path) -> Result<(NativeStructure, Vec<String>)> {
    let shown = path.display();
    let help =
        "name the output folder of a run, one of its checkpoints, or a file that `final = \"x.debye\"` wrote";
    if path.is_dir() {
        let found = Checkpoint::latest(path).map_err(|e| item.error(format!("cannot be read: {e}")))?;
        let Some(found) = found else {
            return Err(item
                .error(format!("names the folder {shown}, which holds no checkpoint"))
                .expected("the output folder of a run")
                .help(help));
        };
        let passed = found.passed.iter();
        let mut warnings: Vec<String> = passed
            .map(|why| format!("[system] from: {why}; the checkpoint before it was taken"))
            .collect();
        warnings.extend(unfinished(&found.checkpoint, path));
        let system = found.checkpoint.native_system(&found.file);
        let system = system.map_err(|e| item.error(format!("cannot be read: {e}")))?;
        return Ok((system, warnings));
    }
    if !path.exists() {
        return Err(item
            .error(format!("names {shown}, which does not exist"))
            .expected("a run folder, a checkpoint or a native structure file")
            .help("paths are relative to the folder of the input file"));
    }
    if Checkpoint::is_one(path) {
        let unreadable = |e| item.error(format!("cannot be read: {e}"));
        let checkpoint = Checkpoint::read(path).map_err(unreadable)?;
        let system = checkpoint.native_system(path).map_err(unreadable)?;
        return Ok((system, Vec::new()));
    }
    let read = NativeStructure::read(path).map_err(|e| match e {
        IoError::Damaged { why, .. } => item
            .error(format!("cannot be read: {shown}: {why}"))
            .expected("a run folder, a checkpoint or a native structure file")
            .help(help),
        other => item.error(format!("cannot be read: {other}")),
    })?;
    Ok((read, Vec::new()))
}

/// A run that is on its way, or was stopped.
fn unfinished(checkpoint: &Checkpoint, folder: &Path) -> Option<String> {
    let Checkpoint { step, planned, .. } = checkpoint;
    (step < planned).then(|| {
        format!(
            "[system] from: the run in {} has not ended: its last checkpoint is of step {step} of {planned}",
            folder.display()
        )
    })
}

/// The species that occur, in the order of the input file, and the place of each of the run's among them.
fn species(setting: &Setting, item: &Item, native: &NativeStructure) -> Result<(Vec<Species>, Vec<u32>)> {
    let mut occurs = vec![false; native.species.len()];
    for &s in &native.species_of {
        occurs[s as usize] = true;
    }
    let declared = &setting.species.all;
    let claims = |name: &str| {
        declared
            .iter()
            .position(|d| d.names.contains(&name) || d.name == name)
    };
    let mut claimed = vec![None; native.species.len()];
    for (s, was) in native.species.iter().enumerate().filter(|(s, _)| occurs[*s]) {
        let Some(place) = claims(&was.name) else {
            return Err(item
                .error(format!("has particles of species `{}`, which is not declared", was.name))
                .found(was.name.as_str())
                .expected(format!(
                    "one of the species {}",
                    setting.species.names().join(", ")
                ))
                .help(format!(
                    "add [species.{0}] (its mass and charge come with the particles), or names = [\"{0}\"] to a species",
                    was.name
                )));
        };
        claimed[s] = Some(place);
    }
    let mut made = Vec::new();
    let mut places = vec![0; native.species.len()];
    for (place, d) in declared.iter().enumerate() {
        let mine = |s: &usize| claimed[*s] == Some(place);
        let Some(first) = (0..claimed.len()).find(mine) else {
            continue;
        };
        for s in (0..claimed.len()).filter(mine) {
            places[s] = made.len() as u32;
        }
        let was = &native.species[first];
        let (mass, charge) = (d.mass.unwrap_or(was.mass), d.charge.unwrap_or(was.charge));
        let rotor = match d.rotor.class() {
            Class::Point => from_rotor(was.rotor),
            _ => d.rotor,
        };
        made.push(Species::point(d.name, mass, charge).with_rotor(rotor));
    }
    Ok((made, places))
}
