//! Protein Data Bank files.
//!
//! Read: ATOM, HETATM, CRYST1, MODEL/ENDMDL, TITLE, CONECT, END. Columns as in version 3.3 of the
//! format, with the liberties real files take: lines that end after the positions, no element
//! column, serial numbers in hexadecimal, base 36 or stars, four-letter residue names. Alternate
//! locations are all kept, as the file has them.

mod read;
mod write;

pub use read::{PdbReader, read_pdb};
pub use write::{PDB_SERIALS, PdbWriter};
