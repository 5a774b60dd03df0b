//! Protein Data Bank files.
//!
//! Read: ATOM, HETATM, CRYST1, MODEL/ENDMDL, TITLE, CONECT, END. Columns as in version 3.3 of the
//! format, with the liberties real files take: lines that end after the positions, no element
//! column, serial numbers in hexadecimal, base 36 or stars, four-letter residue names. Alternate
//! locations are all kept, as the file has them.

mod read;
mod write;

use crate::format::{FileFormat, Format};
use crate::frame::LengthUnit;
use crate::output::WriteFrames;

pub use read::{PdbReader, read_pdb};
pub use write::{PDB_SERIALS, PdbWriter};

impl Format {
    /// Protein Data Bank.
    pub const PDB: Format = Format::new(&FileFormat {
        name: "pdb",
        extensions: &["pdb", "ent"],
        length_unit: LengthUnit::Angstrom,
        bonds: true,
        read_structure: Some(|source, label| read_pdb(source, label).map(Some)),
        read_frames: Some(|source, label, lenient| {
            let reader = PdbReader::new(source, label);
            Ok(Box::new(if lenient { reader.open_models() } else { reader }))
        }),
        write_structure: Some(|file, label, structure| {
            let mut writer = PdbWriter::new(file, label).single();
            writer.set_bonds(&structure.bonds);
            writer.write_frame(&structure.atoms, &structure.frame)?;
            writer.finish()
        }),
        write_frames: Some(|file, label| Box::new(PdbWriter::new(file, label))),
        resume: Some(|kept| Ok(Box::new(PdbWriter::resume(kept.cut()?)))),
        ..FileFormat::NONE
    });
}
