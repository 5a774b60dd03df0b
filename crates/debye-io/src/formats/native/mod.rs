//! The native structure file (`.debye`): everything a simulation knows about its particles, bit for bit.
//!
//! A file is an [`Envelope`] around named sections, each a text and its bytes. Sections that would say what is
//! expected anyway are left out (masses, charges and moments of inertia that are those of the species, molecules of one
//! particle, images of particles that never left, orientations of points). A reader refuses a section it does not know: what it holds would be lost.

mod decode;
mod encode;

use std::io::{Read, Write};
use std::path::Path;

use crate::codec::{CodecError, Envelope};
use crate::error::IoError;
use crate::format::{FileFormat, Format};
use crate::frame::{Frame, LengthUnit};
use crate::labels::AtomLabels;
use crate::structure::{Atom, Bonded, Structure};

impl Format {
    /// Native structure file.
    pub const NATIVE: Format = Format::new(&FileFormat {
        name: "debye",
        extensions: &["debye"],
        velocities: true,
        orientations: true,
        charges: true,
        bonds: true,
        read_structure: Some(|source, label| Ok(Some(NativeStructure::read_from(source, label)?.to_structure()))),
        write_structure: Some(|_, label, _| Err(Format::NATIVE.refuse(label, "write from a structure alone"))),
        ..FileFormat::NONE
    });
}

const ENVELOPE: Envelope = Envelope {
    magic: b"DEBYESTR",
    version: 2,
    what: "native structure file",
};

/// A sort of particle.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NativeSpecies {
    /// Its name.
    pub name: String,
    /// Its mass.
    pub mass: f64,
    /// Its charge.
    pub charge: f64,
    /// How it turns.
    pub rotor: NativeRotor,
}

/// Principal moments of inertia about the axes x, y, z of a body, and the dipole along z; all zero for a point.
pub type NativeRotor = [f64; 4];

/// Bonds, angles or dihedrals, with the names of their kinds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NativeLinks<const N: usize> {
    /// Names of the kinds.
    pub kinds: Vec<String>,
    /// Place of its kind, and the particles counted from 0.
    pub links: Vec<(u32, [u32; N])>,
}

/// The particles of a simulation at one moment, column by column.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NativeStructure {
    /// What it is called.
    pub title: String,
    /// Whether numbers are in reduced units; otherwise in nm, ps, u and e.
    pub reduced: bool,
    /// The step.
    pub step: u64,
    /// The time.
    pub time: f64,
    /// Cell vectors as rows.
    pub cell: [[f64; 3]; 3],
    /// Along which of them the cell repeats.
    pub periodic: [bool; 3],
    /// The sorts of particles.
    pub species: Vec<NativeSpecies>,
    /// The sort of every particle.
    pub species_of: Vec<u32>,
    /// Positions.
    pub positions: Vec<[f64; 3]>,
    /// Velocities.
    pub velocities: Vec<[f64; 3]>,
    /// How many cells each particle has left behind.
    pub images: Vec<[i32; 3]>,
    /// Masses.
    pub masses: Vec<f64>,
    /// Charges.
    pub charges: Vec<f64>,
    /// Molecule numbers from 0.
    pub molecules: Vec<u32>,
    /// How every particle turns. This list and the next two are empty where everything is a point.
    pub rotors: Vec<NativeRotor>,
    /// Unit quaternions w, x, y, z that turn the axes of bodies into those of the cell.
    pub orientations: Vec<[f64; 4]>,
    /// Angular momenta.
    pub angular_momenta: Vec<[f64; 3]>,
    /// Names, elements, residues and chains.
    pub labels: AtomLabels,
    /// Bonds.
    pub bonds: NativeLinks<2>,
    /// Angles.
    pub angles: NativeLinks<3>,
    /// Proper dihedrals.
    pub dihedrals: NativeLinks<4>,
    /// Improper dihedrals.
    pub impropers: NativeLinks<4>,
    /// Restraints of the axis of the first particle to the direction of the second.
    pub axes: NativeLinks<2>,
}

impl NativeStructure {
    /// Writes a file.
    ///
    /// # Errors
    /// [`IoError::Io`].
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), IoError> {
        crate::replace::replace(path.as_ref(), |mut file, label| {
            file.write_all(&self.to_bytes())
                .map_err(|source| IoError::Io { file: label, source })
        })
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`IoError::Io`], [`IoError::Damaged`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self, IoError> {
        let file = path.as_ref().display().to_string();
        match std::fs::File::open(&path) {
            Ok(source) => Self::read_from(source, file),
            Err(source) => Err(IoError::Io { file, source }),
        }
    }

    fn read_from(mut source: impl Read, file: String) -> Result<Self, IoError> {
        let mut bytes = Vec::new();
        if let Err(source) = source.read_to_end(&mut bytes) {
            return Err(IoError::Io { file, source });
        }
        Self::from_bytes(&bytes).map_err(|CodecError(why)| IoError::Damaged { file, why })
    }

    /// The same as other formats have it: texts for every atom.
    pub fn to_structure(&self) -> Structure {
        let atom = |i: usize| {
            let name = &self.species[self.species_of[i] as usize].name;
            let mut atom = Atom {
                name: name.clone(),
                element: crate::element::element_of(name).unwrap_or_default().to_owned(),
                type_name: Some(name.clone()),
                molecule: Some(i64::from(self.molecules[i]) + 1),
                charge: Some(self.charges[i]),
                mass: Some(self.masses[i]),
                dipole: self.dipole(i),
                ..Atom::default()
            };
            self.labels.apply(i, &mut atom);
            atom
        };
        Structure {
            atoms: (0..self.positions.len()).map(atom).collect(),
            frame: Frame {
                title: self.title.clone(),
                step: Some(self.step),
                time: Some(self.time),
                length_unit: if self.reduced {
                    LengthUnit::Unspecified
                } else {
                    LengthUnit::Nanometer
                },
                cell: Some(self.cell),
                periodic: Some(self.periodic),
                positions: self.positions.clone(),
                velocities: Some(self.velocities.clone()),
                ..Frame::default()
            },
            images: Some(self.images.clone()),
            bonds: self.bonds.to_bonded(),
            angles: self.angles.to_bonded(),
            dihedrals: self.dihedrals.to_bonded(),
            impropers: self.impropers.to_bonded(),
            ..Structure::default()
        }
    }
}

impl NativeStructure {
    /// The dipole of a particle that has one: along the axis z of its body, as that is turned.
    fn dipole(&self, i: usize) -> Option<[f64; 3]> {
        let size = self.rotors.get(i)?[3];
        let [w, x, y, z] = *self.orientations.get(i)?;
        let axis = [
            2.0 * (x * z + w * y),
            2.0 * (y * z - w * x),
            1.0 - 2.0 * (x * x + y * y),
        ];
        (size != 0.0).then(|| axis.map(|along| size * along))
    }
}

impl<const N: usize> NativeLinks<N> {
    fn to_bonded(&self) -> Vec<Bonded<N>> {
        let bonded = |&(kind, atoms): &(u32, [u32; N])| Bonded {
            kind: self.kinds[kind as usize].clone(),
            atoms: atoms.map(|i| i as usize),
        };
        self.links.iter().map(bonded).collect()
    }
}
