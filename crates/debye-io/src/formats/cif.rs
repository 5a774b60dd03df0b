//! mmCIF structures, read only.
//!
//! The rows of the `_atom_site` loop become atoms, its models frames. Names, residues and chains are
//! those of the authors where both kinds are given, as in PDB files. The cell is that of `_cell`.

mod tokens;

use std::io::BufRead;

use crate::alternates::{self, Alternates, Site};
use crate::cell::{self, Cell};
use crate::element;
use crate::error::IoError;
use crate::format::{FileFormat, Format};
use crate::frame::{Frame, LengthUnit};
use crate::lines::Lines;
use crate::structure::{Atom, Structure};
use crate::read_frames::{ReadFrames, fused};
use tokens::{Token, Tokens};

impl Format {
    /// mmCIF structure (read only).
    pub const CIF: Format = Format::new(&FileFormat {
        name: "mmcif",
        extensions: &["mmcif", "cif", "pdbx"],
        length_unit: LengthUnit::Angstrom,
        read_structure: Some(|source, label| CifReader::new(source, label).next_structure()),
        read_frames: Some(|source, label, _| Ok(Box::new(CifReader::new(source, label)))),
        ..FileFormat::NONE
    });
}

/// Reads the models of an mmCIF file as frames.
pub struct CifReader<R> {
    tokens: Tokens<R>,
    done: bool,
    frame: usize,
    title: String,
    /// Lengths and angles, as far as they have come.
    cell: [Option<f64>; 6],
    columns: Option<Columns>,
    /// The first row of the next model.
    next: Option<Vec<String>>,
    alternates_told: bool,
    warnings: Vec<String>,
}

/// Where the columns of `_atom_site` are, from 0.
#[derive(Debug, Clone)]
struct Columns {
    count: usize,
    position: [usize; 3],
    group: Option<usize>,
    name: Option<usize>,
    residue: Option<usize>,
    number: Option<usize>,
    insertion: Option<usize>,
    chain: Option<usize>,
    element: Option<usize>,
    alternate: Option<usize>,
    occupancy: Option<usize>,
    model: Option<usize>,
}

impl Columns {
    /// The columns of these names, which lack `_atom_site.`; `None` without positions.
    fn of(names: &[String]) -> Option<Columns> {
        let at = |name: &str| names.iter().position(|known| known == name);
        let author = |author: &str, label: &str| at(author).or(at(label));
        Some(Columns {
            count: names.len(),
            position: [at("cartn_x")?, at("cartn_y")?, at("cartn_z")?],
            group: at("group_pdb"),
            name: author("auth_atom_id", "label_atom_id"),
            residue: author("auth_comp_id", "label_comp_id"),
            number: author("auth_seq_id", "label_seq_id"),
            insertion: at("pdbx_pdb_ins_code"),
            chain: author("auth_asym_id", "label_asym_id"),
            element: at("type_symbol"),
            alternate: at("label_alt_id"),
            occupancy: at("occupancy"),
            model: at("pdbx_pdb_model_num"),
        })
    }
}

/// A value, empty where the file says that it is unknown or does not apply.
fn value(row: &[String], at: Option<usize>) -> &str {
    match at.and_then(|at| row.get(at)).map_or("", String::as_str) {
        "." | "?" => "",
        text => text,
    }
}

const LOOP: &str = "an _atom_site loop with Cartn_x, Cartn_y and Cartn_z";

impl<R: BufRead> CifReader<R> {
    /// A reader of `source`, which messages call `label`.
    pub fn new(source: R, label: impl Into<String>) -> Self {
        CifReader {
            tokens: Tokens::new(Lines::new(source, label)),
            done: false,
            frame: 0,
            title: String::new(),
            cell: [None; 6],
            columns: None,
            next: None,
            alternates_told: false,
            warnings: Vec::new(),
        }
    }

    /// The next model with its atoms.
    ///
    /// # Errors
    /// As [`ReadFrames::next_frame`]; a file without atoms is [`IoError::Empty`].
    pub fn next_structure(&mut self) -> Result<Option<Structure>, IoError> {
        let mut atoms = Vec::new();
        let frame = fused(self, |r| &mut r.done, |r| r.read(Some(&mut atoms)))?;
        Ok(frame.map(|frame| Structure {
            atoms,
            frame,
            warnings: self.warnings(),
            ..Structure::default()
        }))
    }

    fn read(&mut self, mut atoms: Option<&mut Vec<Atom>>) -> Result<Option<Frame>, IoError> {
        let Some(columns) = self.find_atoms()? else {
            return match self.frame {
                0 => Err(IoError::Empty {
                    file: self.tokens.lines().file().to_owned(),
                    expected: LOOP,
                }),
                _ => Ok(None),
            };
        };
        self.frame += 1;
        let mut positions = Vec::new();
        let mut alternates = Alternates::default();
        let mut row = self.next.take().unwrap_or_default();
        let mut model = String::new();
        while !row.is_empty() || self.row(columns.count, &mut row)? {
            let number = value(&row, columns.model);
            if positions.is_empty() {
                number.clone_into(&mut model);
            } else if *number != model {
                break;
            }
            note_alternate(&columns, &row, positions.len(), &mut alternates);
            positions.push(self.position(&columns, &row)?);
            if let Some(atoms) = atoms.as_deref_mut() {
                atoms.push(self.atom(&columns, &row)?);
            }
            row.clear();
        }
        if row.is_empty() {
            // The loop is over: what follows may still be the cell.
            self.columns = None;
            self.find_next_loop()?;
        } else {
            self.next = Some(row);
        }
        let left_out = alternates.left_out();
        alternates::remove(&mut positions, &left_out);
        if let Some(atoms) = atoms {
            alternates::remove(atoms, &left_out);
        }
        if !left_out.is_empty() && !std::mem::replace(&mut self.alternates_told, true) {
            let file = self.tokens.lines().file();
            self.warnings.push(alternates::warning(file, left_out.len()));
        }
        Ok(Some(Frame {
            title: self.title.clone(),
            length_unit: LengthUnit::Angstrom,
            cell: self.crystal()?,
            positions,
            ..Frame::default()
        }))
    }

    /// The columns of the atoms to read next; `None` at the end of the file.
    fn find_atoms(&mut self) -> Result<Option<Columns>, IoError> {
        if self.columns.is_none() {
            self.find_next_loop()?;
        }
        Ok(self.columns.clone())
    }

    /// Goes on to the next loop of atoms that has a row, or to the end of the file.
    fn find_next_loop(&mut self) -> Result<(), IoError> {
        while let Some(token) = self.tokens.next()? {
            if token == Token::Loop {
                self.open_loop()?;
                if self.columns.is_some() {
                    return Ok(());
                }
            } else if token == Token::Name {
                let name = self.tokens.text().to_ascii_lowercase();
                self.item(&name)?;
            }
        }
        Ok(())
    }

    /// Reads the names of a loop, and the first row if it is that of the atoms.
    fn open_loop(&mut self) -> Result<(), IoError> {
        let mut names = Vec::new();
        let mut atoms = true;
        while self.tokens.next()? == Some(Token::Name) {
            let name = self.tokens.text().to_ascii_lowercase();
            match name.strip_prefix("_atom_site.") {
                Some(column) if atoms => names.push(column.to_owned()),
                _ => atoms = false,
            }
        }
        self.tokens.back();
        if !atoms || names.is_empty() {
            return Ok(());
        }
        let Some(columns) = Columns::of(&names) else {
            let lines = self.tokens.lines();
            return Err(lines.unexpected(lines.text(), LOOP));
        };
        let mut row = Vec::new();
        if self.row(columns.count, &mut row)? {
            self.next = Some(row);
            self.columns = Some(columns);
        }
        Ok(())
    }

    /// Takes an item outside of loops.
    fn item(&mut self, name: &str) -> Result<(), IoError> {
        let place = match name {
            "_cell.length_a" => 0,
            "_cell.length_b" => 1,
            "_cell.length_c" => 2,
            "_cell.angle_alpha" => 3,
            "_cell.angle_beta" => 4,
            "_cell.angle_gamma" => 5,
            "_entry.id" | "_struct.title" => 6,
            _ => return Ok(()),
        };
        if self.tokens.next()? != Some(Token::Value) {
            self.tokens.back();
            return Ok(());
        }
        let text = self.tokens.text();
        if let Some(number) = self.cell.get_mut(place) {
            if !matches!(text, "." | "?") {
                // Uncertainties may follow in parentheses.
                let digits = text.split('(').next().unwrap_or(text);
                let lines = self.tokens.lines();
                *number = Some(lines.float(digits, "a length or an angle of the cell")?);
            }
        } else if !matches!(text, "." | "?") && (self.title.is_empty() || name == "_struct.title") {
            self.title = text.split_whitespace().collect::<Vec<_>>().join(" ");
        }
        Ok(())
    }

    /// The next row of the loop; `false` at its end.
    fn row(&mut self, count: usize, row: &mut Vec<String>) -> Result<bool, IoError> {
        row.clear();
        for index in 0..count {
            match self.tokens.next()? {
                Some(Token::Value) => row.push(self.tokens.text().to_owned()),
                None if index > 0 => {
                    let frame = self.frame.max(1);
                    let expected = format!("{count} values of an atom");
                    let lines = self.tokens.lines();
                    return Err(lines.truncated(frame, expected, index.to_string()));
                }
                _ if index > 0 => {
                    let lines = self.tokens.lines();
                    return Err(lines.unexpected(lines.text(), format!("{count} values of an atom")));
                }
                _ => {
                    self.tokens.back();
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn position(&self, columns: &Columns, row: &[String]) -> Result<[f64; 3], IoError> {
        let mut position = [0.0; 3];
        for ((component, at), name) in position
            .iter_mut()
            .zip(columns.position)
            .zip(["Cartn_x", "Cartn_y", "Cartn_z"])
        {
            let digits = row[at].split('(').next().unwrap_or("");
            *component = self.tokens.lines().float(digits, name)?;
        }
        Ok(position)
    }

    fn atom(&self, columns: &Columns, row: &[String]) -> Result<Atom, IoError> {
        let text = |at| value(row, at);
        let (name, residue) = (text(columns.name), text(columns.residue));
        let number = text(columns.number);
        let element = element::symbol(text(columns.element));
        Ok(Atom {
            name: name.to_owned(),
            element: element
                .unwrap_or_else(|| element::guess(name, residue))
                .to_owned(),
            residue: residue.to_owned(),
            residue_number: match number {
                "" => 0,
                number => self.tokens.lines().integer(number, "the number of a residue")?,
            },
            insertion: text(columns.insertion).to_owned(),
            hetero: text(columns.group) == "HETATM",
            chain: text(columns.chain).to_owned(),
            ..Atom::default()
        })
    }

    fn crystal(&self) -> Result<Option<Cell>, IoError> {
        let [Some(a), Some(b), Some(c), alpha, beta, gamma] = self.cell else {
            return Ok(None);
        };
        let angles = [alpha, beta, gamma].map(|angle| angle.unwrap_or(90.0));
        cell::from_crystal([a, b, c], angles).ok_or_else(|| {
            let found = format!("{:?}", self.cell);
            let expected = "lengths and angles of a box in _cell";
            self.tokens.lines().unexpected(&found, expected)
        })
    }
}

fn note_alternate(columns: &Columns, row: &[String], index: usize, alternates: &mut Alternates) {
    let label = value(row, columns.alternate);
    if label.is_empty() {
        return;
    }
    let number = format!("{}{}", value(row, columns.number), value(row, columns.insertion));
    let site = Site {
        chain: value(row, columns.chain),
        number: &number,
        residue: value(row, columns.residue),
        name: value(row, columns.name),
    };
    let occupancy = value(row, columns.occupancy).parse().unwrap_or(0.0);
    alternates.note(index, label, site, occupancy);
}

impl<R: BufRead> ReadFrames for CifReader<R> {
    fn next_frame(&mut self) -> Result<Option<Frame>, IoError> {
        fused(self, |r| &mut r.done, |r| r.read(None))
    }

    fn warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    fn at_unfinished_line(&self) -> bool {
        self.tokens.lines().unfinished()
    }
}
