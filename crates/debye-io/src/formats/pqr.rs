//! PQR: PDB rows separated by blanks, with charge and radius at the end.
//!
//! `ATOM serial name residue [chain] number x y z charge radius`. The chain may be missing, the
//! record name may run into the serial number.

use std::fmt::Write as _;
use std::io::{BufRead, Write};

use crate::cell;
use crate::element;
use crate::error::{IoError, Place};
use crate::format::{FileFormat, Format};
use crate::frame::{Frame, LengthUnit};
use crate::lines::Lines;
use crate::structure::{Atom, Structure};
use crate::output::{Output, WriteFrames, one_line, one_word, through_output};

impl Format {
    /// PDB-like with charge and radius.
    pub const PQR: Format = Format::new(&FileFormat {
        name: "pqr",
        extensions: &["pqr"],
        length_unit: LengthUnit::Angstrom,
        charges: true,
        read_structure: Some(|source, label| read_pqr(source, label).map(Some)),
        write_frames: Some(|file, label| Box::new(PqrWriter::new(file, label))),
        ..FileFormat::NONE
    });
}

const ROW: &str = "ATOM serial name residue [chain] number x y z charge radius";

/// Reads a PQR file up to its END.
///
/// # Errors
/// Everything that is wrong with the records read; [`IoError::Empty`] without atoms.
pub fn read_pqr<R: BufRead>(source: R, label: impl Into<String>) -> Result<Structure, IoError> {
    let mut lines = Lines::new(source, label);
    let mut atoms = Vec::new();
    let mut frame = Frame {
        length_unit: LengthUnit::Angstrom,
        ..Frame::default()
    };
    while lines.advance()? {
        let text = lines.text();
        if text.starts_with("ATOM") || text.starts_with("HETATM") {
            let (atom, position) = row(&lines)?;
            atoms.push(atom);
            frame.positions.push(position);
        } else if text.starts_with("CRYST1") {
            let words: Vec<&str> = text.split_whitespace().skip(1).take(6).collect();
            let expected = "CRYST1 with three lengths and three angles of a box";
            let (lengths, angles) = (
                lines.vector(&words, 0, expected)?,
                lines.vector(&words, 3, expected)?,
            );
            let found = cell::from_degrees(lengths, angles);
            frame.cell = Some(found.ok_or_else(|| lines.unexpected(text, expected))?);
        } else if let Some(title) = text.strip_prefix("TITLE") {
            frame.title = title.trim().to_owned();
        } else if text.trim_end() == "END" && !atoms.is_empty() {
            break;
        }
    }
    if atoms.is_empty() {
        return Err(IoError::Empty {
            file: lines.file().to_owned(),
            expected: "ATOM or HETATM records",
        });
    }
    Ok(Structure {
        atoms,
        frame,
        ..Structure::default()
    })
}

fn row<R: BufRead>(lines: &Lines<R>) -> Result<(Atom, [f64; 3]), IoError> {
    let text = lines.text();
    let record = if text.starts_with("ATOM") {
        "ATOM"
    } else {
        "HETATM"
    };
    let words: Vec<&str> = text[record.len()..].split_whitespace().collect();
    let (chain, after_residue) = match words.len() {
        9 => ("", 3),
        10 => (words[3], 4),
        _ => return Err(lines.unexpected(text, ROW)),
    };
    let (name, residue) = (words[1], words[2]);
    // An insertion code may follow the number.
    let number = words[after_residue];
    let digits = number.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let residue_number = lines.integer(digits, "a residue number")?;
    let position = lines.vector(&words, after_residue + 1, "a position")?;
    let atom = Atom {
        name: name.to_owned(),
        element: element::guess(name, residue).to_owned(),
        residue: residue.to_owned(),
        residue_number,
        chain: chain.to_owned(),
        charge: Some(lines.float(words[after_residue + 4], "a charge")?),
        radius: Some(lines.float(words[after_residue + 5], "a radius")?),
        ..Atom::default()
    };
    Ok((atom, position))
}

/// Writes one frame. Charges and radii that are not known are written as 0; blanks in names become
/// underscores.
pub struct PqrWriter<W> {
    out: Output<W>,
    text: String,
}

impl<W: Write + Send> PqrWriter<W> {
    /// A writer to `sink`, which messages call `label`.
    pub fn new(sink: W, label: impl Into<String>) -> Self {
        PqrWriter {
            out: Output::new(sink, label),
            text: String::new(),
        }
    }
}

impl<W: Write + Send> WriteFrames for PqrWriter<W> {
    fn write_frame(&mut self, atoms: &[Atom], frame: &Frame) -> Result<(), IoError> {
        if self.out.frames > 0 {
            let file = self.out.file.clone();
            return Err(IoError::NotSupported {
                file,
                format: "pqr",
                operation: "write more than one frame",
            });
        }
        self.out.check(Some(atoms), frame, LengthUnit::Angstrom)?;
        self.text.clear();
        let title = one_line(&frame.title);
        if !title.is_empty() {
            let _ = writeln!(self.text, "TITLE     {title}");
        }
        if let Some(cell) = &frame.cell {
            let limit = "a box with a along x and b in the xy plane";
            let found = cell::to_cosines(cell);
            let (lengths, cosines) =
                found.ok_or_else(|| self.out.too_large(Place::Cell, format!("{cell:?}"), limit))?;
            let [alpha, beta, gamma] = cosines.map(|cosine| cosine.acos().to_degrees());
            let [a, b, c] = lengths;
            let _ = writeln!(
                self.text,
                "CRYST1 {a:9.4} {b:9.4} {c:9.4} {alpha:8.4} {beta:8.4} {gamma:8.4}"
            );
        }
        for (index, (atom, [x, y, z])) in atoms.iter().zip(&frame.positions).enumerate() {
            let (charge, radius) = (atom.charge.unwrap_or(0.0), atom.radius.unwrap_or(0.0));
            if let Some(value) = [charge, radius].into_iter().find(|value| !value.is_finite()) {
                let (file, place) = (self.out.file.clone(), Place::Atom(index + 1));
                return Err(IoError::NotFinite {
                    file,
                    place,
                    value: value.to_string(),
                });
            }
            let (serial, name, residue) = (index + 1, one_word(&atom.name, 16), one_word(&atom.residue, 16));
            let chain = if atom.chain.trim().is_empty() {
                String::new()
            } else {
                one_word(&atom.chain, 16)
            };
            let number = atom.residue_number;
            let _ = write!(
                self.text,
                "ATOM  {serial:>5} {name:<4} {residue:<4} {chain:1} {number:>5}    "
            );
            let _ = writeln!(self.text, "{x:9.4} {y:9.4} {z:9.4} {charge:9.6} {radius:7.4}");
        }
        self.text.push_str("END\n");
        self.out.write_frame(self.text.as_bytes())
    }

    through_output!();
}
