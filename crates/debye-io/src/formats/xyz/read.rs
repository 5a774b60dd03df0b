//! Reading XYZ.

use std::io::BufRead;

use super::comment::{self, Column, Meaning};
use crate::cell::{self, Cell};
use crate::element;
use crate::error::IoError;
use crate::frame::{Frame, LengthUnit};
use crate::lines::Lines;
use crate::structure::{Atom, Structure};
use crate::read_frames::{ReadFrames, fused};

/// Reads frames of an XYZ file.
pub struct XyzReader<R> {
    lines: Lines<R>,
    frame: usize,
    done: bool,
}

impl<R: BufRead> XyzReader<R> {
    /// A reader of `source`, which messages call `label`.
    pub fn new(source: R, label: impl Into<String>) -> Self {
        XyzReader {
            lines: Lines::new(source, label),
            frame: 0,
            done: false,
        }
    }

    /// The next frame with its atoms.
    ///
    /// # Errors
    /// As [`ReadFrames::next_frame`].
    pub fn next_structure(&mut self) -> Result<Option<Structure>, IoError> {
        let mut atoms = Vec::new();
        let frame = fused(self, |r| &mut r.done, |r| r.read(Some(&mut atoms)))?;
        Ok(frame.map(|frame| Structure {
            atoms,
            frame,
            ..Structure::default()
        }))
    }

    fn read(&mut self, mut atoms: Option<&mut Vec<Atom>>) -> Result<Option<Frame>, IoError> {
        loop {
            if !self.lines.advance()? {
                return Ok(None);
            }
            if !self.lines.text().trim().is_empty() {
                break;
            }
        }
        self.frame += 1;
        let count = self
            .lines
            .count(self.lines.text().trim(), "the number of atoms")?;
        if !self.lines.advance()? {
            return Err(self.lines.truncated(
                self.frame,
                format!("a comment and {count} atoms"),
                "the count only",
            ));
        }
        let (mut frame, columns) = self.head()?;
        for index in 0..count {
            if !self.lines.advance()? {
                return Err(self.lines.truncated(
                    self.frame,
                    format!("{count} atoms"),
                    format!("{index} atoms"),
                ));
            }
            let atom = self.row(&columns, &mut frame)?;
            if let Some(atoms) = atoms.as_deref_mut() {
                atoms.push(atom());
            }
        }
        Ok(Some(frame))
    }

    /// What the comment says about the frame and its columns.
    fn head(&self) -> Result<(Frame, Vec<Column>), IoError> {
        let text = self.lines.text();
        let mut frame = Frame {
            length_unit: LengthUnit::Angstrom,
            ..Frame::default()
        };
        let mut columns = None;
        let mut extended = false;
        for (key, value) in comment::pairs(text) {
            match key.to_ascii_lowercase().as_str() {
                "lattice" => {
                    frame.cell = self.lattice(value)?;
                    extended = true;
                }
                "properties" => {
                    let found = comment::columns(value);
                    let expected = "Properties=name:type:count… with pos:R:3";
                    columns = Some(found.ok_or_else(|| self.lines.unexpected(value, expected))?);
                    extended = true;
                }
                "pbc" => frame.periodic = comment::flags(value),
                "time" => frame.time = value.parse().ok().filter(|time: &f64| time.is_finite()),
                "step" => frame.step = value.parse().ok(),
                "title" | "comment" => frame.title = value.to_owned(),
                _ => {}
            }
        }
        if !extended && frame.title.is_empty() {
            frame.title = text.trim().to_owned();
            frame.cell = comment::plain_cell(text);
        }
        let columns = columns.unwrap_or_else(|| comment::PLAIN.to_vec());
        let has = |wanted| columns.iter().any(|(meaning, _)| *meaning == wanted);
        frame.velocities = has(Meaning::Velocity).then(Vec::new);
        frame.forces = has(Meaning::Force).then(Vec::new);
        frame.orientations = has(Meaning::Orientation).then(Vec::new);
        frame.dipoles = has(Meaning::Dipole).then(Vec::new);
        Ok((frame, columns))
    }

    fn lattice(&self, value: &str) -> Result<Option<Cell>, IoError> {
        let expected = "Lattice with nine numbers";
        let words: Vec<&str> = value.split_whitespace().take(10).collect();
        if words.len() != 9 {
            return Err(self.lines.unexpected(value, expected));
        }
        let row = |first| self.lines.vector(&words, first, expected);
        Ok(cell::unless_zero([row(0)?, row(3)?, row(6)?]))
    }

    /// Adds the row's vectors to the frame, and returns the maker of its atom: most frames of a
    /// trajectory are read without their names.
    fn row(
        &self,
        columns: &[Column],
        frame: &mut Frame,
    ) -> Result<impl FnOnce() -> Atom + use<'_, R>, IoError> {
        let words: Vec<&str> = self.lines.text().split_whitespace().collect();
        let mut named: Vec<(Meaning, &str)> = Vec::new();
        let (mut charge, mut mass, mut radius) = (None, None, None);
        let (mut orientation, mut dipole) = (None, None);
        for &(meaning, at) in columns {
            let word = || {
                let row = || {
                    self.lines
                        .unexpected(self.lines.text(), format!("at least {} columns", at + 1))
                };
                words.get(at).copied().ok_or_else(row)
            };
            match meaning {
                Meaning::Position => {
                    frame
                        .positions
                        .push(self.lines.vector(&words, at, "a name and a position")?)
                }
                Meaning::Velocity => {
                    let velocity = self.lines.vector(&words, at, "a velocity")?;
                    frame.velocities.get_or_insert_default().push(velocity);
                }
                Meaning::Force => {
                    let force = self.lines.vector(&words, at, "a force")?;
                    frame.forces.get_or_insert_default().push(force);
                }
                Meaning::Orientation => {
                    let four = words.get(at..at + 4).unwrap_or_default();
                    let numbers: Result<Vec<f64>, IoError> = four
                        .iter()
                        .map(|word| self.lines.float(word, "an orientation"))
                        .collect();
                    let found: [f64; 4] = numbers?.try_into().map_err(|_| {
                        self.lines
                            .unexpected(self.lines.text(), "an orientation of four numbers".to_owned())
                    })?;
                    orientation = Some(found);
                    frame.orientations.get_or_insert_default().push(found);
                }
                Meaning::Dipole => {
                    let found = self.lines.vector(&words, at, "a dipole")?;
                    dipole = Some(found);
                    frame.dipoles.get_or_insert_default().push(found);
                }
                Meaning::Charge => charge = Some(self.lines.float(word()?, "a charge")?),
                Meaning::Mass => mass = Some(self.lines.float(word()?, "a mass")?),
                Meaning::Radius => radius = Some(self.lines.float(word()?, "a radius")?),
                _ => named.push((meaning, word()?)),
            }
        }
        Ok(move || {
            let mut atom = Atom {
                charge,
                mass,
                radius,
                orientation,
                dipole,
                ..Atom::default()
            };
            for (meaning, word) in named {
                name_atom(&mut atom, meaning, word);
            }
            if atom.name.is_empty() {
                atom.name.clone_from(&atom.element);
            }
            atom
        })
    }
}

fn name_atom(atom: &mut Atom, meaning: Meaning, word: &str) {
    match meaning {
        Meaning::Species => {
            let element = element::symbol(word).unwrap_or_else(|| element::guess(word, ""));
            atom.element = element.to_owned();
            if atom.name.is_empty() {
                atom.name = word.to_owned();
            }
        }
        Meaning::AtomicNumber => {
            let element = word.parse().ok().and_then(element::by_number);
            atom.element = element.unwrap_or("").to_owned();
        }
        Meaning::Name => atom.name = word.to_owned(),
        Meaning::Type => atom.type_name = Some(word.to_owned()),
        Meaning::Residue => atom.residue = word.to_owned(),
        Meaning::ResidueNumber => atom.residue_number = word.parse().unwrap_or(0),
        Meaning::Molecule => atom.molecule = word.parse().ok(),
        _ => {}
    }
}

impl<R: BufRead> ReadFrames for XyzReader<R> {
    fn next_frame(&mut self) -> Result<Option<Frame>, IoError> {
        fused(self, |r| &mut r.done, |r| r.read(None))
    }

    fn at_unfinished_line(&self) -> bool {
        self.lines.unfinished()
    }
}
