//! Reading PDB.

use std::collections::{BTreeSet, HashMap};
use std::io::BufRead;

use crate::alternates::{self, Alternates, Site};
use crate::cell::{self, Cell};
use crate::element;
use crate::error::IoError;
use crate::frame::{Frame, LengthUnit};
use crate::lines::Lines;
use crate::structure::{Atom, Bonded, Structure};
use crate::read_frames::{ReadFrames, fused};

/// Reads the models of a PDB file as frames.
pub struct PdbReader<R> {
    lines: Lines<R>,
    cell: Option<Cell>,
    title: String,
    frame: usize,
    done: bool,
    /// Index of the atom with a serial number; `None` where several atoms have it.
    serials: HashMap<String, Option<usize>>,
    bonds: BTreeSet<[usize; 2]>,
    /// Whether a first model that no ENDMDL closes is taken.
    open_models: bool,
    /// The next model has begun already: the one before it had no ENDMDL.
    next_began: bool,
    closed_before: bool,
    atoms_before: Option<usize>,
    alternates_told: bool,
    warnings: Vec<String>,
}

/// Reads the first model of a PDB file with its atoms, and the CONECT records of the whole file.
///
/// CONECT records that name atoms which are not there, or serial numbers that several atoms share
/// (files beyond 99 999 atoms), are skipped.
///
/// # Errors
/// Everything that is wrong with the records read; [`IoError::Empty`] without atoms.
pub fn read_pdb<R: BufRead>(source: R, label: impl Into<String>) -> Result<Structure, IoError> {
    let mut reader = PdbReader::new(source, label).open_models();
    let mut atoms = Vec::new();
    let Some(frame) = reader.read(Some(&mut atoms))? else {
        let file = reader.lines.file().to_owned();
        return Err(IoError::Empty {
            file,
            expected: "ATOM or HETATM records",
        });
    };
    while reader.lines.advance()? {
        reader.connect();
    }
    let bonds = reader
        .bonds
        .iter()
        .map(|atoms| Bonded {
            kind: String::new(),
            atoms: *atoms,
        })
        .collect();
    Ok(Structure {
        atoms,
        frame,
        bonds,
        warnings: reader.warnings(),
        ..Structure::default()
    })
}

impl<R: BufRead> PdbReader<R> {
    /// A reader of `source`, which messages call `label`.
    pub fn new(source: R, label: impl Into<String>) -> Self {
        PdbReader {
            lines: Lines::new(source, label),
            cell: None,
            title: String::new(),
            frame: 0,
            done: false,
            serials: HashMap::new(),
            bonds: BTreeSet::new(),
            open_models: false,
            next_began: false,
            closed_before: false,
            atoms_before: None,
            alternates_told: false,
            warnings: Vec::new(),
        }
    }

    /// Takes a first model that neither ENDMDL nor END closes, with a warning: it may be whole.
    #[must_use]
    pub fn open_models(mut self) -> Self {
        self.open_models = true;
        self
    }

    fn read(&mut self, mut atoms: Option<&mut Vec<Atom>>) -> Result<Option<Frame>, IoError> {
        let mut positions = Vec::new();
        let mut alternates = Alternates::default();
        let mut open_model = std::mem::take(&mut self.next_began);
        let mut after_atoms = false;
        self.frame += 1;
        while self.lines.advance()? {
            match self.lines.columns(0, 6) {
                "ATOM" | "HETATM" => {
                    after_atoms = false;
                    self.note_alternate(positions.len(), &mut alternates);
                    positions.push(self.position()?);
                    if let Some(atoms) = atoms.as_deref_mut() {
                        let atom = self.atom(atoms.last())?;
                        self.note_serial(atoms.len());
                        atoms.push(atom);
                    }
                }
                "CRYST1" => self.cell = self.crystal()?,
                "TITLE" => {
                    let text = self.lines.columns(10, usize::MAX).to_owned();
                    self.title = if self.title.is_empty() {
                        text
                    } else {
                        format!("{} {text}", self.title)
                    };
                }
                "MODEL" if !positions.is_empty() => {
                    self.next_began = true;
                    self.warn_of_open_model(open_model);
                    open_model = false;
                    break;
                }
                "MODEL" => open_model = true,
                // Several frames separated by END alone are common too.
                end @ ("ENDMDL" | "END") => {
                    self.closed_before |= end == "ENDMDL";
                    open_model = false;
                    if !positions.is_empty() {
                        break;
                    }
                }
                "CONECT" => {
                    after_atoms = true;
                    self.connect();
                }
                "TER" | "MASTER" => after_atoms = true,
                _ => {}
            }
        }
        if open_model {
            self.check_open_model(positions.len(), after_atoms)?;
        }
        if positions.is_empty() {
            return Ok(None);
        }
        self.atoms_before = Some(positions.len());
        let left_out = alternates.left_out();
        if !left_out.is_empty() {
            self.leave_out(&left_out, &mut positions, atoms);
        }
        let title = self.title.clone();
        Ok(Some(Frame {
            title,
            length_unit: LengthUnit::Angstrom,
            cell: self.cell,
            positions,
            ..Frame::default()
        }))
    }

    /// Judges a model that is open at the end of the file: it is whole if records follow its atoms,
    /// or if it is as long as models before it that had no ENDMDL either.
    fn check_open_model(&mut self, count: usize, after_atoms: bool) -> Result<(), IoError> {
        let whole = match self.atoms_before {
            None => (after_atoms || self.open_models) && count > 0,
            Some(before) => (after_atoms || before == count) && !self.closed_before,
        };
        if whole {
            self.warn_of_open_model(true);
            return Ok(());
        }
        let found = format!("{count} atoms");
        Err(self.lines.truncated(self.frame, "ENDMDL", found))
    }

    fn warn_of_open_model(&mut self, open: bool) {
        let file = self.lines.file();
        let text = format!(
            "{file}: models are not closed by ENDMDL; a new MODEL or the end of the file is taken for it"
        );
        if open && !self.warnings.contains(&text) {
            self.warnings.push(text);
        }
    }

    fn note_serial(&mut self, index: usize) {
        let serial = self.lines.columns(6, 11).to_owned();
        self.serials
            .entry(serial)
            .and_modify(|known| *known = None)
            .or_insert(Some(index));
    }

    fn note_alternate(&self, index: usize, alternates: &mut Alternates) {
        let label = self.lines.columns(16, 17);
        if label.is_empty() {
            return;
        }
        let site = Site {
            chain: self.lines.columns(21, 22),
            number: self.lines.columns(22, 27),
            residue: self.lines.columns(17, 21),
            name: self.lines.columns(12, 16),
        };
        let occupancy = self.lines.columns(54, 60).parse().unwrap_or(0.0);
        alternates.note(index, label, site, occupancy);
    }

    /// Removes atoms, and moves what refers to the others.
    fn leave_out(
        &mut self,
        left_out: &[usize],
        positions: &mut Vec<[f64; 3]>,
        atoms: Option<&mut Vec<Atom>>,
    ) {
        alternates::remove(positions, left_out);
        if let Some(atoms) = atoms {
            alternates::remove(atoms, left_out);
            let moved = |index: usize| match left_out.binary_search(&index) {
                Ok(_) => None,
                Err(before) => Some(index - before),
            };
            for index in self.serials.values_mut() {
                *index = index.and_then(moved);
            }
            let bonds = std::mem::take(&mut self.bonds);
            let bonds = bonds
                .into_iter()
                .filter_map(|[a, b]| Some([moved(a)?, moved(b)?]));
            self.bonds = bonds.collect();
        }
        if !std::mem::replace(&mut self.alternates_told, true) {
            self.warnings
                .push(alternates::warning(self.lines.file(), left_out.len()));
        }
    }

    fn position(&self) -> Result<[f64; 3], IoError> {
        let mut position = [0.0; 3];
        for (axis, value) in position.iter_mut().enumerate() {
            let from = 30 + 8 * axis;
            let expected = [
                "x in columns 31 to 38",
                "y in columns 39 to 46",
                "z in columns 47 to 54",
            ][axis];
            *value = self.lines.float(self.lines.columns(from, from + 8), expected)?;
        }
        Ok(position)
    }

    fn atom(&self, previous: Option<&Atom>) -> Result<Atom, IoError> {
        let name = self.lines.columns(12, 16);
        let residue = self.lines.columns(17, 21);
        let chain = match self.lines.columns(21, 22) {
            "" => self.lines.columns(72, 76),
            chain => chain,
        };
        let element = element::symbol(self.lines.columns(76, 78)).unwrap_or_else(|| {
            let columns = self.lines.text().get(12..16).unwrap_or(name);
            element::guess_from_pdb_columns(columns, residue)
        });
        Ok(Atom {
            name: name.to_owned(),
            element: element.to_owned(),
            residue: residue.to_owned(),
            residue_number: self.residue_number(previous)?,
            insertion: self.lines.columns(26, 27).to_owned(),
            hetero: self.lines.columns(0, 6) == "HETATM",
            chain: chain.to_owned(),
            ..Atom::default()
        })
    }

    fn residue_number(&self, previous: Option<&Atom>) -> Result<i64, IoError> {
        let text = self.lines.columns(22, 26);
        if text.is_empty() || text.starts_with('*') {
            return Ok(previous.map_or(0, |atom| atom.residue_number));
        }
        if let Ok(number) = text.parse() {
            return Ok(number);
        }
        hybrid(text).ok_or_else(|| {
            self.lines
                .unexpected(text, "a residue number in columns 23 to 26")
        })
    }

    fn crystal(&self) -> Result<Option<Cell>, IoError> {
        let expected = "CRYST1 with three lengths and three angles of a box";
        let columns = [(6, 15), (15, 24), (24, 33), (33, 40), (40, 47), (47, 54)];
        let mut words: Vec<&str> = columns
            .iter()
            .map(|(from, to)| self.lines.columns(*from, *to))
            .collect();
        if words.iter().any(|word| word.parse::<f64>().is_err()) {
            // Files written by hand separate the numbers by blanks only.
            words = self.lines.text().split_whitespace().skip(1).take(6).collect();
        }
        let lengths = self.lines.vector(&words, 0, expected)?;
        let angles = self.lines.vector(&words, 3, expected)?;
        cell::from_crystal(lengths, angles).ok_or_else(|| self.lines.unexpected(self.lines.text(), expected))
    }

    /// Takes the bonds of a CONECT line; does nothing on other lines.
    fn connect(&mut self) {
        if self.lines.columns(0, 6) != "CONECT" {
            return;
        }
        let index = |serial: &str| self.serials.get(serial).copied().flatten();
        let Some(first) = index(self.lines.columns(6, 11)) else {
            return;
        };
        for from in [11, 16, 21, 26] {
            match index(self.lines.columns(from, from + 5)) {
                Some(second) if second != first => self.bonds.insert([first.min(second), first.max(second)]),
                _ => continue,
            };
        }
    }
}

impl<R: BufRead> ReadFrames for PdbReader<R> {
    fn next_frame(&mut self) -> Result<Option<Frame>, IoError> {
        fused(self, |r| &mut r.done, |r| r.read(None))
    }

    fn warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    fn at_unfinished_line(&self) -> bool {
        self.lines.unfinished()
    }
}

/// A number in hybrid base 36 of four or five columns: `A000` is 10 000, `A0000` is 100 000.
fn hybrid(text: &str) -> Option<i64> {
    let digits = u32::try_from(text.len())
        .ok()
        .filter(|length| (4..=5).contains(length))?;
    let (lower, offset) = match text.bytes().next()? {
        b'A'..=b'Z' => (false, 10 * 36_i64.pow(digits - 1)),
        // Lower case follows after all the upper case numbers.
        b'a'..=b'z' => (true, -16 * 36_i64.pow(digits - 1)),
        _ => return None,
    };
    let fits = |b: u8| {
        b.is_ascii_digit()
            || (if lower {
                b.is_ascii_lowercase()
            } else {
                b.is_ascii_uppercase()
            })
    };
    if !text.bytes().all(fits) {
        return None;
    }
    let value = i64::from_str_radix(text, 36).ok()?;
    Some(value - offset + 10_i64.pow(digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hybrid_numbers() {
        assert_eq!(hybrid("A000"), Some(10_000));
        assert_eq!(hybrid("A001"), Some(10_001));
        assert_eq!(hybrid("A0000"), Some(100_000));
        assert_eq!(hybrid("ZZZZ"), Some(1_223_055));
        assert_eq!(hybrid("a000"), Some(1_223_056));
        assert_eq!(hybrid("Aa00"), None);
        assert_eq!(hybrid("A0"), None);
    }
}
