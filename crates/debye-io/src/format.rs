//! The formats by name and by extension.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::error::IoError;
use crate::frame::LengthUnit;
use crate::source::without_compression;

/// A file format of this crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// GROMACS structure, one or many frames, with velocities.
    Gro,
    /// Protein Data Bank.
    Pdb,
    /// XYZ, plain and extended.
    Xyz,
    /// PDB-like with charge and radius.
    Pqr,
    /// CHARMM / NAMD binary trajectory.
    Dcd,
    /// GROMACS compressed trajectory.
    Xtc,
    /// LAMMPS data file.
    Lammps,
    /// Native structure file.
    Native,
    /// GROMACS trajectory in full precision (read only).
    Trr,
    /// mmCIF structure (read only).
    Cif,
    /// LAMMPS dump in text form (read only).
    LammpsDump,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 11] = [
        Format::Gro,
        Format::Pdb,
        Format::Xyz,
        Format::Pqr,
        Format::Dcd,
        Format::Xtc,
        Format::Lammps,
        Format::Native,
        Format::Trr,
        Format::Cif,
        Format::LammpsDump,
    ];

    /// The name used in messages and understood by [`Format::from_str`].
    pub fn name(self) -> &'static str {
        match self {
            Format::Gro => "gro",
            Format::Pdb => "pdb",
            Format::Xyz => "xyz",
            Format::Pqr => "pqr",
            Format::Dcd => "dcd",
            Format::Xtc => "xtc",
            Format::Lammps => "lammps",
            Format::Native => "debye",
            Format::Trr => "trr",
            Format::Cif => "mmcif",
            Format::LammpsDump => "lammpstrj",
        }
    }

    /// Extensions that mean this format, lower case.
    pub fn extensions(self) -> &'static [&'static str] {
        match self {
            Format::Gro => &["gro"],
            Format::Pdb => &["pdb", "ent"],
            Format::Xyz => &["xyz", "extxyz"],
            Format::Pqr => &["pqr"],
            Format::Dcd => &["dcd"],
            Format::Xtc => &["xtc"],
            Format::Lammps => &["lammps", "data", "lmp", "lmpdat"],
            Format::Native => &["debye"],
            Format::Trr => &["trr"],
            Format::Cif => &["mmcif", "cif", "pdbx"],
            Format::LammpsDump => &["lammpstrj", "dump", "lammpsdump"],
        }
    }

    /// The format a path's extension stands for, in any case.
    ///
    /// # Errors
    /// [`IoError::UnknownFormat`] lists the extensions that are known.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Format, IoError> {
        let path = path.as_ref();
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
        Format::by_extension(extension).ok_or_else(|| IoError::UnknownFormat {
            file: path.display().to_string(),
            known: Format::ALL
                .iter()
                .flat_map(|f| f.extensions())
                .map(|e| format!(".{e}"))
                .collect::<Vec<_>>()
                .join(" "),
        })
    }

    /// The format of a file to read: as [`Format::from_path`], but an extension `.gz`, `.bz2`, `.xz` or
    /// `.zst` may follow, since readers unpack what is compressed and writers do not pack.
    ///
    /// # Errors
    /// As [`Format::from_path`].
    pub fn of_input(path: impl AsRef<Path>) -> Result<Format, IoError> {
        let path = path.as_ref();
        Format::from_path(without_compression(path)).map_err(|error| match error {
            IoError::UnknownFormat { known, .. } => IoError::UnknownFormat {
                file: path.display().to_string(),
                known: format!("{known}, also with .gz .bz2 .xz .zst"),
            },
            other => other,
        })
    }

    fn by_extension(extension: &str) -> Option<Format> {
        let matches = |format: &Format| {
            format
                .extensions()
                .iter()
                .any(|e| e.eq_ignore_ascii_case(extension))
        };
        Format::ALL.into_iter().find(matches)
    }

    /// The unit of length files of this format are in.
    pub fn length_unit(self) -> LengthUnit {
        match self {
            Format::Gro | Format::Xtc | Format::Trr => LengthUnit::Nanometre,
            Format::Pdb | Format::Xyz | Format::Pqr | Format::Dcd | Format::Cif => LengthUnit::Angstrom,
            // A dump may say it, frame by frame.
            Format::Lammps | Format::Native | Format::LammpsDump => LengthUnit::Unspecified,
        }
    }

    /// Whether frames of this format carry the names of the atoms.
    pub fn has_atoms(self) -> bool {
        !matches!(self, Format::Dcd | Format::Xtc | Format::Trr)
    }

    /// Whether a file of this format can hold more than one frame.
    pub fn holds_frames(self) -> bool {
        !matches!(self, Format::Pqr | Format::Lammps | Format::Native)
    }

    /// Whether this crate writes the format.
    pub fn is_writable(self) -> bool {
        !matches!(self, Format::Trr | Format::Cif | Format::LammpsDump)
    }

    /// Whether [`create_writer`](crate::create_writer) writes it, frame by frame; the others are written whole.
    pub fn writes_frames(self) -> bool {
        self.is_writable() && !matches!(self, Format::Lammps | Format::Native)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = IoError;

    fn from_str(name: &str) -> Result<Format, IoError> {
        Format::by_extension(name).ok_or_else(|| IoError::UnknownFormat {
            file: name.to_owned(),
            known: Format::ALL.map(Format::name).join(" "),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions() {
        assert_eq!(Format::from_path("a/b.c/conf.GRO").unwrap(), Format::Gro);
        assert_eq!(Format::from_path("water.data").unwrap(), Format::Lammps);
        assert_eq!("xtc".parse::<Format>().unwrap(), Format::Xtc);
        let message = Format::from_path("run.tpr").unwrap_err().to_string();
        assert!(
            message.contains("run.tpr") && message.contains(".xtc"),
            "{message}"
        );
        assert!(Format::from_path("no_extension").is_err());
        assert_eq!(Format::of_input("a/run.trr.GZ").unwrap(), Format::Trr);
        assert_eq!(Format::of_input("water.lammpstrj").unwrap(), Format::LammpsDump);
        // Nothing is packed where it is written.
        assert!(Format::from_path("conf.gro.gz").is_err());
        assert!(Format::of_input("conf.gz").is_err());
    }
}
