//! Writing PDB.

use std::fmt::Write as _;
use std::io::Write;

use crate::cell::{self, Cell};
use crate::error::{IoError, Place};
use crate::frame::{Frame, LengthUnit};
use crate::structure::{Atom, Bonded};
use crate::output::{Output, WriteFrames, column_text, one_line, through_output};

/// The highest serial number of an atom, and so the most atoms whose bonds can be written.
pub const PDB_SERIALS: usize = 99_999;

/// Writes each frame as a MODEL, unless there is to be only [one](PdbWriter::single). Serial and residue numbers wrap
/// around (at 100 000 and 10 000), names are cut to their columns.
pub struct PdbWriter<W> {
    out: Output<W>,
    bonds: Vec<Bonded<2>>,
    atoms: usize,
    single: bool,
    text: String,
}

impl<W: Write + Send> PdbWriter<W> {
    /// A writer to `sink`, which messages call `label`.
    pub fn new(sink: W, label: impl Into<String>) -> Self {
        PdbWriter::resume(Output::new(sink, label))
    }

    pub(crate) fn resume(out: Output<W>) -> Self {
        PdbWriter {
            out,
            bonds: Vec::new(),
            atoms: 0,
            single: false,
            text: String::new(),
        }
    }

    /// Without MODEL records, for a file of one frame: some programs take ENDMDL and END for the ends of two.
    pub fn single(mut self) -> Self {
        self.single = true;
        self
    }

    /// Bonds to write as CONECT records at the end of the file; of more than [`PDB_SERIALS`] atoms none are written,
    /// since serial numbers then stand for several.
    pub fn set_bonds(&mut self, bonds: &[Bonded<2>]) {
        self.bonds = bonds.to_vec();
    }

    fn put_cell(&mut self, cell: &Cell) -> Result<(), IoError> {
        let Some((lengths, cosines)) = cell::to_cosines(cell) else {
            let limit = "a box with a along x and b in the xy plane";
            return Err(self.out.too_large(Place::Cell, format!("{cell:?}"), limit));
        };
        // As a reader will find them.
        let lengths = lengths.map(|length| (length * 1e3).round() / 1e3);
        let angles = cosines.map(|cosine| (cosine.acos().to_degrees() * 1e2).round() / 1e2);
        if cell::from_degrees(lengths, angles).is_none() {
            let limit = "a box that angles of two decimals describe; this one is too flat";
            return Err(self.out.too_large(Place::Cell, format!("{cell:?}"), limit));
        }
        self.text.push_str("CRYST1");
        for length in lengths {
            self.out.fixed(&mut self.text, length, 9, 3, Place::Cell)?;
        }
        for angle in angles {
            self.out.fixed(&mut self.text, angle, 7, 2, Place::Cell)?;
        }
        self.text.push_str(" P 1           1\n");
        Ok(())
    }

    fn put_atom(&mut self, index: usize, atom: &Atom, position: [f64; 3]) -> Result<(), IoError> {
        let serial = (index + 1) % 100_000;
        let name = column_text(&atom.name, 4);
        let element = column_text(&atom.element, 2).to_uppercase();
        // The element symbol is right-aligned in the first two columns of the name.
        let name = if name.len() < 4 && element.len() < 2 {
            format!(" {name:<3}")
        } else {
            format!("{name:<4}")
        };
        let residue = column_text(&atom.residue, 4);
        let residue = if residue.len() < 4 {
            format!("{residue:>3} ")
        } else {
            residue
        };
        let record = if atom.hetero { "HETATM" } else { "ATOM  " };
        let chain = column_text(&atom.chain, 1);
        let insertion = column_text(&atom.insertion, 1);
        let number = if (-999..=9999).contains(&atom.residue_number) {
            atom.residue_number
        } else {
            atom.residue_number.rem_euclid(10_000)
        };
        let _ = write!(
            self.text,
            "{record}{serial:>5} {name} {residue}{chain:1}{number:>4}{insertion:1}   "
        );
        for value in position {
            self.out
                .fixed(&mut self.text, value, 8, 3, Place::Atom(index + 1))?;
        }
        let _ = writeln!(self.text, "  1.00  0.00          {element:>2}  ");
        Ok(())
    }

    fn put_bonds(&mut self) -> Result<(), IoError> {
        if self.atoms > PDB_SERIALS {
            return Ok(());
        }
        self.text.clear();
        for bond in &self.bonds {
            let [first, second] = bond.atoms;
            let (Some(first), Some(second)) = (first.checked_add(1), second.checked_add(1)) else {
                continue;
            };
            if first.max(second) > self.atoms {
                let found = first.max(second);
                let what = "atoms named by the bonds";
                let file = self.out.file.clone();
                return Err(IoError::AtomCountMismatch {
                    file,
                    what,
                    expected: self.atoms,
                    found,
                });
            }
            let _ = writeln!(self.text, "CONECT{first:>5}{second:>5}");
            let _ = writeln!(self.text, "CONECT{second:>5}{first:>5}");
        }
        self.out.write(self.text.as_bytes())
    }
}

impl<W: Write + Send> WriteFrames for PdbWriter<W> {
    fn write_frame(&mut self, atoms: &[Atom], frame: &Frame) -> Result<(), IoError> {
        self.out.check(Some(atoms), frame, LengthUnit::Angstrom)?;
        self.text.clear();
        let title = one_line(&frame.title);
        if self.out.frames == 0 && !title.is_empty() {
            let _ = writeln!(self.text, "TITLE     {title}");
        }
        if let Some(cell) = &frame.cell {
            self.put_cell(cell)?;
        }
        if !self.single {
            let _ = writeln!(self.text, "MODEL     {:>4}", (self.out.frames + 1) % 10_000);
        }
        for (index, (atom, position)) in atoms.iter().zip(&frame.positions).enumerate() {
            if index > 0 && atoms[index - 1].chain != atom.chain {
                self.text.push_str("TER\n");
            }
            self.put_atom(index, atom, *position)?;
        }
        self.text
            .push_str(if self.single { "TER\n" } else { "TER\nENDMDL\n" });
        self.atoms = atoms.len();
        self.out.write_frame(self.text.as_bytes())
    }

    fn finish(&mut self) -> Result<(), IoError> {
        self.put_bonds()?;
        self.out.write(b"END\n")?;
        self.out.flush()
    }

    through_output!();
}
