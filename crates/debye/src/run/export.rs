//! Particles as the file formats want them.

use std::collections::HashMap;

use debye_io::{Atom, Format, Frame, LengthUnit, Structure};

use crate::expr::Vec3;
use crate::system::{Cell, Particles, System, Units};

/// Which particles are written, and how they are called.
#[derive(Clone, Debug)]
pub struct Export {
    atoms: Vec<Atom>,
    format: Format,
    chosen: Vec<u32>,
    units: Units,
    unwrap: bool,
}

impl Export {
    /// All particles of the named species (all where none is named), for files of this format.
    pub fn new(system: &System, format: Format, species: &[u32], unwrap: bool) -> Self {
        let p = &system.particles;
        let chosen: Vec<u32> = (0..p.len() as u32)
            .filter(|&i| species.is_empty() || species.contains(&p.species[i as usize]))
            .collect();
        // Names of a million particles take more memory than their positions.
        let named = if format.has_atoms() { &chosen[..] } else { &[] };
        let residues = residues(system, named);
        let atoms = named
            .iter()
            .map(|&i| {
                let i = i as usize;
                let name = &system.species[p.species[i] as usize].name;
                Atom {
                    name: name.clone(),
                    // PDB has a column for real elements; XYZ would lose the name to it.
                    element: match debye_io::element_of(name) {
                        Some(symbol) if format == Format::Pdb => symbol.to_owned(),
                        _ => name.clone(),
                    },
                    residue: residues.get(&p.molecules[i]).unwrap_or(name).clone(),
                    residue_number: i64::from(p.molecules[i]) + 1,
                    type_name: Some(name.clone()),
                    molecule: Some(i64::from(p.molecules[i]) + 1),
                    charge: Some(p.charges[i]),
                    mass: Some(p.masses[i]),
                    ..Atom::default()
                }
            })
            .collect();
        Self {
            atoms,
            format,
            chosen,
            units: system.units,
            unwrap,
        }
    }

    /// Names of the particles; none where the format has no place for them.
    pub fn atoms(&self) -> &[Atom] {
        &self.atoms
    }

    /// A frame in the unit of the format. In reduced units the numbers are written as they are.
    pub fn frame(&self, particles: &Particles, cell: &Cell, step: u64, time: f64, title: &str) -> Frame {
        let length_unit = self.format.length_unit();
        let factor = match (self.units, length_unit) {
            (Units::Md, LengthUnit::Angstrom) => 10.0,
            _ => 1.0,
        };
        let place = |&i: &u32| {
            let i = i as usize;
            let r = particles.positions[i];
            let r = if self.unwrap {
                r + cell.translation(particles.images[i])
            } else {
                r
            };
            (r * factor).to_array()
        };
        let speed = |&i: &u32| (particles.velocities[i as usize] * factor).to_array();
        Frame {
            title: title.to_owned(),
            step: Some(step),
            time: Some(time),
            length_unit,
            cell: Some(cell.to_arrays().map(|row| row.map(|x| x * factor))),
            positions: self.chosen.iter().map(place).collect(),
            velocities: matches!(self.format, Format::Gro | Format::Xyz)
                .then(|| self.chosen.iter().map(speed).collect()),
            forces: None,
        }
    }

    /// Names and one frame.
    pub fn structure(
        &self,
        particles: &Particles,
        cell: &Cell,
        step: u64,
        time: f64,
        title: &str,
    ) -> Structure {
        Structure {
            atoms: self.atoms.clone(),
            frame: self.frame(particles, cell, step, time, title),
            ..Structure::default()
        }
    }
}

/// Names of the molecules that have several species, so that formats with residues keep them together: water is `HOH`,
/// others are named after their first particle.
fn residues(system: &System, named: &[u32]) -> HashMap<u32, String> {
    let p = &system.particles;
    let mut first: HashMap<u32, usize> = HashMap::new();
    let mut mixed: HashMap<u32, Vec<usize>> = HashMap::new();
    for i in named.iter().map(|&i| i as usize) {
        let start = *first.entry(p.molecules[i]).or_insert(i);
        if p.species[i] != p.species[start] {
            mixed.entry(p.molecules[i]).or_insert_with(|| vec![start]).push(i);
        }
    }
    // Particles like the first one are not listed: two hydrogens after an oxygen are.
    let is_water = |members: &[usize]| match members {
        &[oxygen, a, b] => {
            let masses = [oxygen, a, b].map(|i| p.masses[i].round());
            system.units == Units::Md && masses == [16.0, 1.0, 1.0]
        }
        _ => false,
    };
    let name = |members: &[usize]| {
        if is_water(members) {
            "HOH".to_owned()
        } else {
            system.species[p.species[members[0]] as usize].name.clone()
        }
    };
    mixed
        .into_iter()
        .map(|(molecule, members)| (molecule, name(&members)))
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
