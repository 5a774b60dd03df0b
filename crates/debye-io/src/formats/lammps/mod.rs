//! LAMMPS data files.
//!
//! A title line, a header of counts and box bounds, then sections. `Masses`, `Atoms`, `Velocities`,
//! `Bonds`, `Angles`, `Dihedrals` and `Impropers` are read; coefficients are kept as they are written
//! ([`Structure::coefficients`](crate::Structure)), other sections are skipped with a warning. Atoms come out in the
//! order of their identifiers, with the positions of the file. The style `hybrid` of the ELBA model has dipoles, spheres
//! and angular velocities. Units are whatever the input script says, so
//! [`LengthUnit::Unspecified`](crate::LengthUnit).

mod header;
mod read;
mod style;
mod write;

use crate::format::{FileFormat, Format};

pub use read::{read_lammps_data, read_lammps_file};
pub use style::AtomStyle;
pub use write::write_lammps_data;

impl Format {
    /// LAMMPS data file.
    pub const LAMMPS: Format = Format::new(&FileFormat {
        name: "lammps",
        extensions: &["lammps", "data", "lmp", "lmpdat"],
        velocities: true,
        charges: true,
        bonds: true,
        read_structure: Some(|source, label| read_lammps_data(source, label, None).map(Some)),
        write_structure: Some(|file, label, structure| {
            write_lammps_data(std::io::BufWriter::new(file), label, structure)
        }),
        ..FileFormat::NONE
    });
}
