//! Particles as the file formats want them.

use std::collections::HashMap;
use std::path::Path;

use debye_io::{Atom, Bonded, Format, Frame, LengthUnit, PDB_SERIALS, Structure, write_structure};

use super::RunError;
use crate::expr::{Quat, Vec3};
use crate::system::{
    Cell, Class, Link, Orientations, Particles, Rotor, System, Topology, Units, whole_positions,
};

/// Where particles near the faces of a periodic cell are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Inside the cell.
    Wrapped,
    /// Where they went, however far from the cell.
    Unwrapped,
    /// Molecules in one piece, beginning inside the cell.
    Whole,
}

/// Which particles are written, and how they are called.
#[derive(Clone, Debug)]
pub struct Export {
    atoms: Vec<Atom>,
    format: Format,
    chosen: Vec<u32>,
    units: Units,
    placement: Placement,
    /// Whether frames have orientations: where the format holds them, or a file beside it.
    orientations: bool,
    /// What is needed to make molecules whole.
    topology: Topology,
}

impl Export {
    /// All particles of the named species (all where none is named), for files of this format.
    pub fn new(system: &System, format: Format, species: &[u32], placement: Placement) -> Self {
        let p = &system.particles;
        let chosen: Vec<u32> = (0..p.len() as u32)
            .filter(|&i| species.is_empty() || species.contains(&p.species[i as usize]))
            .collect();
        // Names of a million particles take more memory than their positions.
        let named = if format.has_atoms() { &chosen[..] } else { &[] };
        Self {
            atoms: Names::new(system, named).atoms(),
            format,
            chosen,
            units: system.units,
            placement,
            orientations: format.holds_orientations(),
            topology: if placement == Placement::Whole {
                system.topology.clone()
            } else {
                Topology::default()
            },
        }
    }

    /// How many particles are written.
    pub fn len(&self) -> usize {
        self.chosen.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.chosen.is_empty()
    }

    /// With orientations in every frame, whatever the format holds.
    pub fn with_orientations(mut self) -> Self {
        self.orientations = true;
        self
    }

    /// Whether frames have velocities.
    pub fn holds_velocities(&self) -> bool {
        self.format.holds_velocities()
    }

    /// Names of the particles; none where the format has no place for them.
    pub fn atoms(&self) -> &[Atom] {
        &self.atoms
    }

    /// Lengths and velocities of the file in those of the run. In reduced units numbers are written as they are; LAMMPS
    /// data are in its units `real`, Å and fs.
    fn factors(&self) -> (f64, f64) {
        match self.units {
            Units::Md if self.format == Format::LAMMPS => (10.0, 0.01),
            Units::Md if self.format.length_unit() == LengthUnit::Angstrom => (10.0, 10.0),
            Units::Md | Units::LennardJones => (1.0, 1.0),
        }
    }

    /// A frame in the unit of the format.
    pub fn frame(&self, particles: &Particles, cell: &Cell, step: u64, time: f64, title: &str) -> Frame {
        self.frame_in(Frame::default(), particles, cell, (step, time, title))
    }

    /// The same in the memory of an earlier frame.
    pub(super) fn frame_in(
        &self,
        earlier: Frame,
        particles: &Particles,
        cell: &Cell,
        (step, time, title): (u64, f64, &str),
    ) -> Frame {
        let (length, speed) = self.factors();
        let placed: Vec<Vec3<f64>>;
        let positions = match self.placement {
            Placement::Wrapped => &particles.positions,
            Placement::Unwrapped => {
                placed = unwrapped(particles, cell);
                &placed
            }
            Placement::Whole => {
                placed = whole_positions(particles, cell, &self.topology);
                &placed
            }
        };
        let place = |&i: &u32| (positions[i as usize] * length).to_array();
        let velocity = |&i: &u32| (particles.velocities[i as usize] * speed).to_array();
        let o = &particles.orientations;
        let turns = self.orientations && !o.is_empty();
        let orientation = |&i: &u32| {
            let Quat { w, v } = o.rotations[i as usize];
            [v.x, v.y, v.z, w]
        };
        let dipole = |&i: &u32| {
            let i = i as usize;
            (o.axes(i)[2] * (o.rotor(i).dipole * length)).to_array()
        };
        Frame {
            title: title.to_owned(),
            step: Some(step),
            time: Some(time),
            length_unit: self.format.length_unit(),
            cell: Some(cell.to_arrays().map(|row| row.map(|x| x * length))),
            periodic: Some(cell.periodic()),
            positions: filled(earlier.positions, self.chosen.iter().map(place)),
            velocities: self.format.holds_velocities().then(|| {
                let earlier = earlier.velocities.unwrap_or_default();
                filled(earlier, self.chosen.iter().map(velocity))
            }),
            forces: None,
            orientations: turns.then(|| self.chosen.iter().map(orientation).collect()),
            dipoles: (turns && self.format.holds_orientations())
                .then(|| self.chosen.iter().map(dipole).collect()),
            angular_velocities: None,
        }
    }
}

/// These rows in memory that had others.
fn filled(mut rows: Vec<[f64; 3]>, new: impl Iterator<Item = [f64; 3]>) -> Vec<[f64; 3]> {
    rows.clear();
    rows.extend(new);
    rows
}

/// One configuration of a system, with the moment it is of.
#[derive(Clone, Copy)]
pub struct Moment<'a> {
    /// What it is called.
    pub title: &'a str,
    /// The step.
    pub step: u64,
    /// The time.
    pub time: f64,
    /// The particles.
    pub particles: &'a Particles,
    /// The cell.
    pub cell: &'a Cell,
}

/// Writes a structure file with all its format holds: molecules whole, bonds in PDB, the whole topology and the dipoles
/// of linear tops in LAMMPS data, everything bit for bit in a native file. Says what a reader of the file will miss and
/// might not expect to.
pub fn write_system(path: &Path, system: &System, now: Moment) -> Result<Option<String>, RunError> {
    let Moment {
        title,
        step,
        time,
        particles,
        cell,
    } = now;
    let format = Format::from_path(path)?;
    if format == Format::NATIVE {
        system.to_native(particles, cell, step, time, title).write(path)?;
        return Ok(None);
    }
    // LAMMPS has flags for the cells that a particle crossed.
    let placement = if format == Format::LAMMPS {
        Placement::Wrapped
    } else {
        Placement::Whole
    };
    let mut export = Export::new(system, format, &[], placement);
    let mut frame = export.frame(particles, cell, step, time, title);
    let mut without_orientation = 0;
    if format == Format::LAMMPS {
        let factors = export.factors();
        without_orientation = lammps_tops(&mut export.atoms, &mut frame, &particles.orientations, factors);
    }
    let turning = frame
        .angular_velocities
        .iter()
        .flatten()
        .flatten()
        .any(|w| *w != 0.0);
    if !turning && frame.velocities.iter().flatten().flatten().all(|v| *v == 0.0) {
        frame.velocities = None;
    }
    if format == Format::LAMMPS {
        let units = match system.units {
            Units::Md => "real",
            Units::LennardJones => "lj",
        };
        frame.title = format!("written by debye, timestep = {step}, units = {units}: {title}");
    }
    let t = &system.topology;
    let structure = Structure {
        atoms: export.atoms,
        frame,
        images: (format == Format::LAMMPS).then(|| particles.images.clone()),
        bonds: bonded(&t.bond_kinds, &t.bonds),
        angles: match format == Format::LAMMPS {
            true => [bonded(&t.angle_kinds, &t.angles), restraints(t, particles.len())].concat(),
            false => bonded(&t.angle_kinds, &t.angles),
        },
        dihedrals: bonded(&t.dihedral_kinds, &t.dihedrals),
        impropers: bonded(&t.improper_kinds, &t.impropers),
        ..Structure::default()
    };
    write_structure(path, &structure)?;
    if without_orientation > 0 {
        return Ok(Some(format!(
            "{} has no orientations of {without_orientation} particles: LAMMPS data have a place for dipoles of linear \
             tops only. Write .debye or .xyz to keep them",
            path.display()
        )));
    }
    let drops_bonds = format == Format::PDB && !t.bonds.is_empty() && particles.len() > PDB_SERIALS;
    Ok(drops_bonds.then(|| {
        format!(
            "{} has no bonds: PDB numbers atoms up to {PDB_SERIALS}. Write .data or .debye to keep them",
            path.display()
        )
    }))
}

/// Gives atoms of LAMMPS data what particles that turn have there: dipoles, diameters d = √(10 I/m) by which spheres
/// have their moments of inertia I, and angular velocities. Says how many particles lose their orientations: bodies, and
/// axes without a dipole.
fn lammps_tops(
    atoms: &mut [Atom],
    frame: &mut Frame,
    orientations: &Orientations,
    (length, speed): (f64, f64),
) -> usize {
    let is_top = |rotor: &Rotor| rotor.class() == Class::Linear && rotor.dipole != 0.0;
    let turns = |rotor: &&Rotor| rotor.class() != Class::Point;
    let rotors = &orientations.rotors;
    let dropped = rotors.iter().filter(turns).filter(|rotor| !is_top(rotor)).count();
    if !rotors.iter().any(is_top) {
        return dropped;
    }
    let mut angular = vec![[0.0; 3]; atoms.len()];
    for (i, atom) in atoms.iter_mut().enumerate() {
        let rotor = orientations.rotor(i);
        atom.dipole = Some([0.0; 3]);
        if !is_top(&rotor) {
            continue;
        }
        let inertia = rotor.inertia[0];
        atom.dipole = Some((orientations.axes(i)[2] * (rotor.dipole * length)).to_array());
        atom.radius = atom
            .mass
            .map(|mass| 0.5 * length * (10.0 * inertia / mass).sqrt());
        angular[i] = (orientations.angular_momenta[i] * (speed / length / inertia)).to_array();
    }
    frame.angular_velocities = Some(angular);
    dropped
}

/// Restraints of axes as LAMMPS has them: angles whose third atom means nothing. It must be another one, and near.
fn restraints(t: &Topology, particles: usize) -> Vec<Bonded<3>> {
    if t.axes.is_empty() {
        return Vec::new();
    }
    let mut partners: HashMap<u32, Vec<u32>> = HashMap::new();
    for link in &t.bonds {
        let [a, b] = link.atoms;
        partners.entry(a).or_default().push(b);
        partners.entry(b).or_default().push(a);
    }
    let restraint = |link: &Link<2>| {
        let [a, b] = link.atoms;
        let near = [b, a]
            .into_iter()
            .filter_map(|i| partners.get(&i))
            .flatten()
            .copied();
        let third = near
            .chain(0..particles as u32)
            .find(|k| ![a, b].contains(k))
            .unwrap_or(b);
        Bonded {
            kind: t.axis_kinds[link.kind as usize].clone(),
            atoms: [a, b, third].map(|i| i as usize),
        }
    };
    t.axes.iter().map(restraint).collect()
}

fn bonded<const N: usize>(kinds: &[String], links: &[Link<N>]) -> Vec<Bonded<N>> {
    let bonded = |link: &Link<N>| Bonded {
        kind: kinds[link.kind as usize].clone(),
        atoms: link.atoms.map(|i| i as usize),
    };
    links.iter().map(bonded).collect()
}

/// What particles are called: as the file did that they came from, else by their species.
struct Names<'a> {
    system: &'a System,
    chosen: &'a [u32],
    /// Residues of molecules of several species.
    residues: HashMap<u32, Residue>,
}

enum Residue {
    /// Rigid or not: an oxygen and two hydrogens.
    Water,
    /// Any other molecule, by the name of its first particle.
    Named(String),
}

impl<'a> Names<'a> {
    fn new(system: &'a System, chosen: &'a [u32]) -> Self {
        Self {
            system,
            chosen,
            residues: residues(system, chosen),
        }
    }

    fn atoms(&self) -> Vec<Atom> {
        let (system, p) = (self.system, &self.system.particles);
        let mut hydrogens: HashMap<u32, u32> = HashMap::new();
        let mut atom = |&i: &u32| {
            let i = i as usize;
            let (species, molecule) = (&system.species[p.species[i] as usize].name, p.molecules[i]);
            let mut atom = Atom {
                type_name: Some(species.clone()),
                molecule: Some(i64::from(molecule) + 1),
                charge: Some(p.charges[i]),
                mass: Some(p.masses[i]),
                ..Atom::default()
            };
            if system.labels.apply(i, &mut atom) {
                return atom;
            }
            atom.element = debye_io::element_of(species).unwrap_or_default().to_owned();
            atom.residue_number = i64::from(molecule) + 1;
            atom.name.clone_from(species);
            atom.residue = match self.residues.get(&molecule) {
                None => species.clone(),
                Some(Residue::Named(name)) => name.clone(),
                Some(Residue::Water) => {
                    // As every water model calls them: programs drop the second of two atoms of one name.
                    if system.species[p.species[i] as usize].mass.round() == 1.0 {
                        let number = hydrogens.entry(molecule).or_default();
                        *number += 1;
                        atom.name = format!("{species}{number}");
                    }
                    "HOH".to_owned()
                }
            };
            atom
        };
        self.chosen.iter().map(&mut atom).collect()
    }
}

/// Residues of the molecules that have several species, so that formats with residues keep them together.
fn residues(system: &System, chosen: &[u32]) -> HashMap<u32, Residue> {
    let p = &system.particles;
    let mut first: HashMap<u32, usize> = HashMap::new();
    let mut mixed: HashMap<u32, Vec<usize>> = HashMap::new();
    for i in chosen.iter().map(|&i| i as usize) {
        let start = *first.entry(p.molecules[i]).or_insert(i);
        if p.species[i] != p.species[start] {
            mixed.entry(p.molecules[i]).or_insert_with(|| vec![start]).push(i);
        }
    }
    // Particles like the first one are not listed: two hydrogens after an oxygen are. Particles may have other masses than
    // their species: heavier hydrogens.
    let is_water = |members: &[usize]| match members {
        &[oxygen, a, b] => {
            let masses = [oxygen, a, b].map(|i| system.species[p.species[i] as usize].mass.round());
            system.units == Units::Md && masses == [16.0, 1.0, 1.0]
        }
        _ => false,
    };
    let residue = |members: Vec<usize>| {
        if is_water(&members) {
            Residue::Water
        } else {
            Residue::Named(system.species[p.species[members[0]] as usize].name.clone())
        }
    };
    mixed
        .into_iter()
        .map(|(molecule, members)| (molecule, residue(members)))
        .collect()
}

/// Positions followed through the faces of the cell.
pub fn unwrapped(particles: &Particles, cell: &Cell) -> Vec<Vec3<f64>> {
    particles
        .positions
        .iter()
        .zip(&particles.images)
        .map(|(&r, &n)| r + cell.translation(n))
        .collect()
}
