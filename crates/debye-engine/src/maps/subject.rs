//! [`MapSubject`]: the molecule of a map, as files have it.

use std::path::Path;

use debye_io::{Format, LengthUnit, Structure, read_structure, write_structure};

use super::charges::{DIPOLE_LENGTH, PointCharges};
use super::grid::Bounds;
use super::{MapError, MapGrid};
use crate::expr::Vec3;
use crate::system::{Cell, System};

/// Atoms with charges, and the cell they are in. Lengths in nm.
#[derive(Clone, Debug)]
pub struct MapSubject {
    /// Names, elements, residues and radii, as the file has them; its frame has the positions in its own unit.
    pub structure: Structure,
    /// Where the atoms are.
    pub positions: Vec<Vec3<f64>>,
    /// Their charges.
    pub charges: Vec<f64>,
    /// Their dipoles, of those that have one.
    pub dipoles: Vec<(usize, Vec3<f64>)>,
    /// The cell, if there is one.
    pub cell: Option<Cell>,
    /// The structure's unit of length, in nm.
    pub(super) length: f64,
}

impl MapSubject {
    /// Atoms without names; charges that are missing are zero.
    pub fn new(positions: Vec<Vec3<f64>>, mut charges: Vec<f64>) -> Self {
        charges.resize(positions.len(), 0.0);
        Self {
            structure: Structure {
                atoms: vec![debye_io::Atom::default(); positions.len()],
                frame: debye_io::Frame {
                    length_unit: LengthUnit::Nanometer,
                    positions: positions.iter().map(|r| r.to_array()).collect(),
                    ..debye_io::Frame::default()
                },
                ..Structure::default()
            },
            positions,
            charges,
            dipoles: Vec::new(),
            cell: None,
            length: 1.0,
        }
    }

    /// Reads a structure file with charges (PQR, LAMMPS data, native). `unit` is the length in nm of a file that does not
    /// say its own.
    pub fn read(path: &Path, unit: Option<f64>) -> Result<Self, MapError> {
        Self::of_structure(read_structure(path)?, unit)
    }

    /// From a structure file. Atoms without a charge have none.
    pub fn of_structure(structure: Structure, unit: Option<f64>) -> Result<Self, MapError> {
        let length = match structure.frame.length_unit {
            LengthUnit::Nanometer => 1.0,
            LengthUnit::Angstrom => 0.1,
            LengthUnit::Unspecified => unit.ok_or(MapError::LengthUnit)?,
        };
        let vector = |r: &[f64; 3]| Vec3::from(r.map(|x| x * length));
        let cell = structure.frame.cell.map(|rows| {
            let cell = Cell::triclinic(rows.map(|row| row.map(|x| x * length)))?;
            Ok::<_, crate::system::CellError>(match structure.frame.periodic {
                Some(periodic) => cell.with_periodicity(periodic),
                None => cell,
            })
        });
        let dipoles = structure.atoms.iter().enumerate();
        let dipoles = dipoles.filter_map(|(i, atom)| Some((i, vector(&atom.dipole?))));
        Ok(Self {
            positions: structure.frame.positions.iter().map(vector).collect(),
            charges: structure
                .atoms
                .iter()
                .map(|atom| atom.charge.unwrap_or(0.0))
                .collect(),
            dipoles: dipoles.filter(|(_, p)| p.norm2() > 0.0).collect(),
            cell: cell
                .transpose()
                .map_err(|error| MapError::Cell(error.to_string()))?,
            length,
            structure,
        })
    }

    /// Of a system.
    pub fn of_system(system: &System) -> Self {
        let particles = &system.particles;
        let orientations = &particles.orientations;
        let dipole = |i: usize| orientations.axes(i)[2] * orientations.rotor(i).dipole;
        let atoms = particles
            .species
            .iter()
            .zip(&particles.charges)
            .zip(&particles.masses);
        let atoms = atoms
            .zip(&particles.molecules)
            .map(|(((&kind, &charge), &mass), &molecule)| {
                let name = &system.species[kind as usize].name;
                debye_io::Atom {
                    name: name.clone(),
                    element: debye_io::element_of(name).unwrap_or_default().to_owned(),
                    charge: Some(charge),
                    mass: Some(mass),
                    molecule: Some(i64::from(molecule) + 1),
                    ..debye_io::Atom::default()
                }
            });
        let turning = (0..orientations.rotors.len()).filter(|&i| orientations.rotor(i).dipole != 0.0);
        let mut subject = Self::new(particles.positions.clone(), particles.charges.clone());
        subject.structure.atoms = atoms.collect();
        subject.dipoles = turning.map(|i| (i, dipole(i))).collect();
        subject.with_cell(system.cell.has_volume().then_some(system.cell))
    }

    /// The same in another cell, or in none.
    #[must_use]
    pub fn with_cell(self, cell: Option<Cell>) -> Self {
        Self { cell, ..self }
    }

    /// Writes the structure; the extension says the format.
    pub fn save(&self, path: &Path) -> Result<(), MapError> {
        let format = Format::from_path(path)?;
        let unit = match format.length_unit() {
            LengthUnit::Unspecified => self.structure.frame.length_unit,
            unit => unit,
        };
        let factor = match unit {
            LengthUnit::Nanometer => 1.0,
            LengthUnit::Angstrom => 10.0,
            LengthUnit::Unspecified => 1.0 / self.length,
        };
        let mut structure = self.structure.clone();
        structure.origin = self
            .structure
            .origin
            .map(|corner| corner.map(|x| x * self.length * factor));
        structure.frame.length_unit = unit;
        structure.frame.positions = self.positions.iter().map(|r| (*r * factor).to_array()).collect();
        structure.frame.cell = self
            .cell
            .map(|cell| cell.to_arrays().map(|row| row.map(|x| x * factor)));
        Ok(write_structure(path, &structure)?)
    }

    /// What makes the potential: the charges, and for a dipole p two charges ±p/δ at a distance δ, [`DIPOLE_LENGTH`].
    pub fn point_charges(&self) -> Result<PointCharges, MapError> {
        let mut positions = self.positions.clone();
        let mut charges = self.charges.clone();
        for &(i, p) in &self.dipoles {
            let moment = p.norm();
            let half = p * (0.5 * DIPOLE_LENGTH / moment);
            positions.extend([self.positions[i] + half, self.positions[i] - half]);
            charges.extend([moment / DIPOLE_LENGTH, -moment / DIPOLE_LENGTH]);
        }
        PointCharges::new(&positions, &charges)
    }

    /// Atoms by a list of names of atoms or residues, and ranges of numbers from 1: `CA,LYS,1-20`. Counted from 0.
    pub fn select(&self, text: &str) -> Result<Vec<usize>, MapError> {
        let atoms = &self.structure.atoms;
        let mut chosen = vec![false; atoms.len()];
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let number = |text: &str| text.parse::<usize>().ok().filter(|&n| n >= 1 && n <= atoms.len());
            let range = match word.split_once('-') {
                Some((first, last)) => number(first).zip(number(last)),
                None => number(word).map(|n| (n, n)),
            };
            let is = |i: usize| match range {
                Some((first, last)) => (first..=last).contains(&(i + 1)),
                None => atoms[i].name == word || atoms[i].residue == word,
            };
            let found: Vec<usize> = (0..atoms.len()).filter(|&i| is(i)).collect();
            if found.is_empty() {
                return Err(MapError::Selection(word.to_owned()));
            }
            found.into_iter().for_each(|i| chosen[i] = true);
        }
        Ok((0..atoms.len()).filter(|&i| chosen[i]).collect())
    }

    /// Those of the atoms that are to be kept. Bonds go, as their atoms may have.
    pub(super) fn without(&self, keep: &[bool]) -> Self {
        fn kept<T: Clone>(list: &[T], keep: &[bool]) -> Vec<T> {
            let both = list.iter().zip(keep);
            both.filter(|(_, keep)| **keep)
                .map(|(item, _)| item.clone())
                .collect()
        }
        let mut places = vec![None; keep.len()];
        let left = places.iter_mut().zip(keep).filter(|(_, keep)| **keep);
        for (number, (place, _)) in left.enumerate() {
            *place = Some(number);
        }
        let dipoles = self.dipoles.iter().filter_map(|&(i, p)| Some((places[i]?, p)));
        Self {
            structure: Structure {
                atoms: kept(&self.structure.atoms, keep),
                frame: debye_io::Frame {
                    positions: kept(&self.structure.frame.positions, keep),
                    velocities: None,
                    forces: None,
                    orientations: None,
                    dipoles: None,
                    angular_velocities: None,
                    ..self.structure.frame.clone()
                },
                origin: self.structure.origin,
                ..Structure::default()
            },
            positions: kept(&self.positions, keep),
            charges: kept(&self.charges, keep),
            dipoles: dipoles.collect(),
            cell: self.cell,
            length: self.length,
        }
    }

    /// One more atom.
    pub(super) fn push(&mut self, atom: debye_io::Atom, position: Vec3<f64>, charge: f64) {
        let written = position * (1.0 / self.length);
        self.structure.frame.positions.push(written.to_array());
        self.structure.atoms.push(atom);
        self.positions.push(position);
        self.charges.push(charge);
    }

    /// Pairs of atoms with charges at the same place, counted from 1; their potentials add up there.
    pub fn coincident(&self) -> Option<[usize; 2]> {
        let mut places: Vec<([u64; 3], usize)> = (0..self.positions.len())
            .filter(|&i| self.charges[i] != 0.0)
            .map(|i| (self.positions[i].to_array().map(f64::to_bits), i))
            .collect();
        places.sort_unstable();
        let pair = places.windows(2).find(|pair| pair[0].0 == pair[1].0)?;
        Some([pair[0].1 + 1, pair[1].1 + 1])
    }

    /// The corner of the cell: as the file has it; else the origin, or where the atoms lie about another middle, half a cell below that.
    pub(super) fn corner(&self, cell: &Cell) -> [f64; 3] {
        if let Some(corner) = self.structure.origin {
            return corner.map(|x| x * self.length);
        }
        let bounds = Bounds::of(&self.positions);
        let vectors = cell.to_arrays();
        std::array::from_fn(|k| {
            let edge: f64 = vectors.iter().map(|v| v[k]).sum();
            let middle = 0.5 * (bounds.lower[k] + bounds.upper[k]);
            if (middle - 0.5 * edge).abs() < 0.25 * edge {
                0.0
            } else {
                middle - 0.5 * edge
            }
        })
    }

    /// A grid over the whole cell, from its corner on, with points at most `spacing` apart: where images count.
    pub fn grid_over_cell(&self, spacing: f64) -> Result<MapGrid, MapError> {
        let cell = self.cell.as_ref().ok_or(MapError::NoCell)?;
        MapGrid::of_cell(cell, self.corner(cell), spacing)
    }

    /// A grid around the atoms, with so much room on every side.
    pub fn grid_around(&self, padding: f64, spacing: f64) -> Result<MapGrid, MapError> {
        MapGrid::around(&self.positions, padding, spacing)
    }
}
