//! Every file format, one file or folder each; the lines at the end of this module are the register.
//!
//! A format's file holds its reader, its writer, and its description as a constant of [`Format`], whose fields say
//! what the format can do. A line in the register makes it known to every function of this crate.

use std::path::Path;
use std::str::FromStr;

use crate::error::IoError;
use crate::format::{FileFormat, Format};
use crate::register::{NameTaken, Register};
use crate::source::without_compression;

/// Declares the modules of the formats, what they make public, and the register.
macro_rules! register {
    ($($constant:ident: $module:ident { $($public:ident),* $(,)? }),* $(,)?) => {
        $( mod $module; pub use $module::{$($public),*}; )*
        static REGISTER: Register<FileFormat> = Register::new(&[$( Format::$constant.description() ),*]);
    };
}

register! {
    GRO: gro { GroReader, GroWriter },
    PDB: pdb { PDB_SERIALS, PdbReader, PdbWriter, read_pdb },
    XYZ: xyz { XyzReader, XyzWriter },
    PQR: pqr { PqrWriter, read_pqr },
    DCD: dcd { DcdHeader, DcdReader, DcdWriter },
    XTC: xtc { XtcReader, XtcWriter },
    LAMMPS: lammps { AtomStyle, read_lammps_data, read_lammps_file, write_lammps_data },
    NATIVE: native { NativeLinks, NativeRotor, NativeSpecies, NativeStructure },
    TRR: trr { TrrReader },
    CIF: cif { CifReader },
    LAMMPS_DUMP: dump { DumpReader },
}

impl Format {
    /// All formats, in the order of the register.
    pub fn all() -> impl Iterator<Item = Format> + Clone {
        REGISTER.iter().map(Format::new)
    }

    /// Makes a format of another crate known to every function of this one, for as long as the program runs.
    ///
    /// # Errors
    /// [`NameTaken`] where there is a format of its name or of one of its extensions.
    pub fn register(description: &'static FileFormat) -> Result<Format, NameTaken> {
        let taken = |e: &&&str| Format::by_extension(e).is_some();
        if let Some(extension) = description.extensions.iter().find(taken) {
            return Err(NameTaken((*extension).to_owned()));
        }
        REGISTER.add(description)?;
        Ok(Format::new(description))
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
            known: Format::all()
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
        let means = |format: &Format| {
            let mut extensions = format.extensions().iter();
            extensions.any(|e| e.eq_ignore_ascii_case(extension))
        };
        Format::all().find(means)
    }
}

impl FromStr for Format {
    type Err = IoError;

    fn from_str(name: &str) -> Result<Format, IoError> {
        Format::by_extension(name).ok_or_else(|| IoError::UnknownFormat {
            file: name.to_owned(),
            known: Format::all().map(Format::name).collect::<Vec<_>>().join(" "),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions() {
        assert_eq!(Format::from_path("a/b.c/conf.GRO").unwrap(), Format::GRO);
        assert_eq!(Format::from_path("water.data").unwrap(), Format::LAMMPS);
        assert_eq!("xtc".parse::<Format>().unwrap(), Format::XTC);
        let message = Format::from_path("run.tpr").unwrap_err().to_string();
        assert!(
            message.contains("run.tpr") && message.contains(".xtc"),
            "{message}"
        );
        assert!(Format::from_path("no_extension").is_err());
        assert_eq!(Format::of_input("a/run.trr.GZ").unwrap(), Format::TRR);
        assert_eq!(Format::of_input("water.lammpstrj").unwrap(), Format::LAMMPS_DUMP);
        // Nothing is packed where it is written.
        assert!(Format::from_path("conf.gro.gz").is_err());
        assert!(Format::of_input("conf.gz").is_err());
    }

    #[test]
    fn every_format_is_found_by_its_name() {
        for format in Format::all() {
            assert_eq!(format.name().parse::<Format>().unwrap(), format);
            assert!(
                format.has_atoms() || format.holds_frames(),
                "{format} is not read"
            );
            assert!(
                !(format.writes_frames() && format.holds_frames()) || format.description().resume.is_some(),
                "{format} is not continued"
            );
        }
    }
}
