//! LAMMPS dumps in text form (`lammpstrj`), read only.
//!
//! A frame is a row of items, each opened by `ITEM:`; `TIMESTEP`, `TIME`, `UNITS`, `NUMBER OF ATOMS`,
//! `BOX BOUNDS` and `ATOMS` are read, others are skipped. The names after `ITEM: ATOMS` say the
//! columns. Atoms come out in the order of their identifiers, since LAMMPS writes them in any.
//!
//! Without `ITEM: UNITS` numbers are those of the file and the unit of length is unspecified. With
//! it, times are ps and velocities per ps in the styles `real`, `metal` and `nano`.

mod columns;

use std::io::BufRead;

use crate::cell::{self, Cell};
use crate::element;
use crate::error::IoError;
use crate::format::{FileFormat, Format};
use crate::frame::{Frame, LengthUnit};
use crate::lines::Lines;
use crate::structure::{Atom, Structure};
use crate::read_frames::{ReadFrames, fused};
use columns::{Columns, Place};

impl Format {
    /// LAMMPS dump in text form (read only). A frame may say its unit of length.
    pub const LAMMPS_DUMP: Format = Format::new(&FileFormat {
        name: "lammpstrj",
        extensions: &["lammpstrj", "dump", "lammpsdump"],
        velocities: true,
        charges: true,
        read_structure: Some(|source, label| DumpReader::new(source, label).next_structure()),
        read_frames: Some(|source, label, _| Ok(Box::new(DumpReader::new(source, label)))),
        ..FileFormat::NONE
    });
}

/// Reads the frames of a LAMMPS dump.
pub struct DumpReader<R> {
    lines: Lines<R>,
    frame: usize,
    done: bool,
    units: Units,
    warnings: Vec<String>,
}

/// What a unit style of LAMMPS says about lengths and times.
#[derive(Clone, Copy)]
struct Units {
    length: LengthUnit,
    /// The unit of time in ps.
    time: f64,
}

const UNKNOWN: Units = Units {
    length: LengthUnit::Unspecified,
    time: 1.0,
};

impl Units {
    fn of(style: &str) -> Units {
        let (length, time) = match style {
            "real" => (LengthUnit::Angstrom, 1e-3),
            "metal" => (LengthUnit::Angstrom, 1.0),
            "nano" => (LengthUnit::Nanometer, 1e3),
            _ => return UNKNOWN,
        };
        Units { length, time }
    }
}

/// The box of a frame.
#[derive(Clone, Copy)]
struct Bounds {
    cell: Cell,
    origin: [f64; 3],
    /// Axes of the convention, for a box of any orientation.
    axes: Option<Cell>,
}

/// What stands before the atoms of a frame.
#[derive(Default)]
struct Head {
    step: Option<u64>,
    time: Option<f64>,
    count: Option<usize>,
    bounds: Option<Bounds>,
}

/// One atom as read.
struct Row {
    id: i64,
    position: [f64; 3],
    velocity: Option<[f64; 3]>,
    force: Option<[f64; 3]>,
    image: Option<[i32; 3]>,
    atom: Option<Atom>,
}

impl<R: BufRead> DumpReader<R> {
    /// A reader of `source`, which messages call `label`.
    pub fn new(source: R, label: impl Into<String>) -> Self {
        DumpReader {
            lines: Lines::new(source, label),
            frame: 0,
            done: false,
            units: UNKNOWN,
            warnings: Vec::new(),
        }
    }

    /// The next frame with its atoms.
    ///
    /// # Errors
    /// As [`ReadFrames::next_frame`].
    pub fn next_structure(&mut self) -> Result<Option<Structure>, IoError> {
        let structure = fused(self, |r| &mut r.done, |r| r.read(true))?;
        Ok(structure.map(|structure| Structure {
            warnings: self.warnings(),
            ..structure
        }))
    }

    fn read(&mut self, with_atoms: bool) -> Result<Option<Structure>, IoError> {
        let Some((head, columns)) = self.head()? else {
            return Ok(None);
        };
        let Some(count) = head.count else {
            let expected = "ITEM: NUMBER OF ATOMS before it";
            return Err(self.lines.unexpected(self.lines.text(), expected));
        };
        let columns = Columns::of(&self.lines, &columns)?;
        let mut rows: Vec<Row> = Vec::new();
        for index in 0..count {
            if !self.lines.advance()? {
                return Err(self.cut(&format!("{count} atoms"), &index.to_string()));
            }
            rows.push(self.row(&columns, head.bounds.as_ref(), with_atoms)?);
        }
        if columns.id.is_none() && self.frame == 1 {
            let file = self.lines.file();
            let text =
                "the dump has no column id: atoms are taken in the order of the file, which may change";
            self.warnings.push(format!("{file}: {text}"));
        }
        if !rows.is_sorted_by_key(|row| row.id) {
            rows.sort_by_key(|row| row.id);
        }
        if let Some(twice) = rows.windows(2).find(|pair| pair[0].id == pair[1].id) {
            let id = twice[0].id.to_string();
            let expected = format!("identifiers that occur once in frame {}", self.frame);
            return Err(self.lines.unexpected(&id, expected));
        }
        Ok(Some(self.assemble(head, rows)))
    }

    /// The items up to `ITEM: ATOMS`, and the names of its columns; `None` at the end of the file.
    fn head(&mut self) -> Result<Option<(Head, Vec<String>)>, IoError> {
        let mut head = Head::default();
        let mut begun = false;
        while self.lines.advance()? {
            let text = self.lines.text().trim();
            let Some(item) = text.strip_prefix("ITEM:") else {
                // Lines of items that are not known, and blank ones.
                if begun || text.is_empty() {
                    continue;
                }
                return Err(self.lines.unexpected(text, "ITEM: TIMESTEP, which opens a frame"));
            };
            if !begun {
                begun = true;
                self.frame += 1;
            }
            let words: Vec<String> = item.split_whitespace().map(str::to_owned).collect();
            let names: Vec<&str> = words.iter().map(String::as_str).collect();
            match names[..] {
                ["TIMESTEP"] => {
                    self.value("the step")?;
                    head.step = self.lines.text().trim().parse().ok();
                }
                ["TIME"] => {
                    self.value("the time")?;
                    let time = self.lines.float(self.lines.text().trim(), "a time")?;
                    head.time = Some(time * self.units.time).filter(|time| time.is_finite());
                }
                ["UNITS"] => {
                    self.value("the unit style")?;
                    self.units = Units::of(self.lines.text().trim());
                }
                ["NUMBER", "OF", "ATOMS"] => {
                    self.value("the number of atoms")?;
                    let text = self.lines.text().trim();
                    head.count = Some(self.lines.count(text, "the number of atoms")?);
                }
                ["BOX", "BOUNDS", ..] => head.bounds = self.bounds(&names[2..])?,
                ["ATOMS", ..] => return Ok(Some((head, words[1..].to_vec()))),
                ["ENTRIES", ..] | ["NUMBER", "OF", "ENTRIES"] => {
                    let expected = "a dump of atoms (this one is of local quantities)";
                    return Err(self.lines.unexpected(self.lines.text(), expected));
                }
                _ => {}
            }
        }
        match begun {
            true => Err(self.cut("ITEM: ATOMS", "other items only")),
            false => Ok(None),
        }
    }

    /// Loads the line of an item's value.
    fn value(&mut self, what: &str) -> Result<(), IoError> {
        match self.lines.advance()? {
            true => Ok(()),
            false => Err(self.cut(what, "nothing")),
        }
    }

    /// The three lines of a box: two bounds, two and a tilt, or a vector and the origin.
    fn bounds(&mut self, names: &[&str]) -> Result<Option<Bounds>, IoError> {
        let general = names.starts_with(&["abc", "origin"]);
        let tilted = names.starts_with(&["xy", "xz", "yz"]);
        let columns = match (general, tilted) {
            (true, _) => 4,
            (_, true) => 3,
            _ => 2,
        };
        let mut rows = [[0.0; 4]; 3];
        for row in &mut rows {
            self.value("three lines of box bounds")?;
            let expected = format!("{columns} numbers of a box");
            let words: Vec<&str> = self.lines.text().split_whitespace().take(5).collect();
            if words.len() != columns {
                return Err(self.lines.unexpected(self.lines.text(), expected));
            }
            for (value, word) in row.iter_mut().zip(words) {
                *value = self.lines.float(word, &expected)?;
            }
        }
        let bounds = match general {
            true => general_box(&rows),
            false => restricted_box(&rows),
        };
        // A box of no volume stands for no box, as with shrink-wrapped plane systems.
        let flat = rows.iter().any(|row| !general && row[0] == row[1]);
        let finite = |b: &Bounds| b.cell.iter().flatten().chain(&b.origin).all(|x| x.is_finite());
        match bounds.filter(finite) {
            Some(bounds) => Ok(Some(bounds)),
            None if flat => Ok(None),
            None => {
                let expected = "bounds of a box, the lower first";
                Err(self.lines.unexpected(self.lines.text(), expected))
            }
        }
    }

    fn row(&self, columns: &Columns, bounds: Option<&Bounds>, with_atom: bool) -> Result<Row, IoError> {
        let words: Vec<&str> = self.lines.text().split_whitespace().collect();
        if words.len() != columns.count {
            let expected = format!("{} columns, as ITEM: ATOMS names", columns.count);
            return Err(self.lines.unexpected(self.lines.text(), expected));
        }
        let vector = |at: Option<[usize; 3]>, what: &str| -> Result<Option<[f64; 3]>, IoError> {
            let Some(at) = at else { return Ok(None) };
            let mut vector = [0.0; 3];
            for (value, at) in vector.iter_mut().zip(at) {
                *value = self.lines.float(words[at], what)?;
            }
            Ok(Some(vector))
        };
        let id = match columns.id {
            Some(at) => self.lines.integer(words[at], "the identifier of an atom")?,
            None => self.lines.number() as i64,
        };
        let (place, at) = columns.position;
        let raw = vector(Some(at), "a position")?.unwrap_or_default();
        let position = match (place, bounds) {
            (Place::Absolute, _) => raw,
            (Place::Scaled, Some(bounds)) => bounds.unscaled(raw),
            (Place::Scaled, None) => {
                let expected = "ITEM: BOX BOUNDS of a box, as positions are in units of it";
                return Err(self.lines.unexpected(self.lines.text(), expected));
            }
        };
        if let Some(value) = position.iter().find(|value| !value.is_finite()) {
            return Err(self.lines.unexpected(&value.to_string(), "a finite position"));
        }
        let velocity = vector(columns.velocity, "a velocity")?;
        let velocity = velocity.map(|v| v.map(|x| x / self.units.time));
        let mut image = None;
        if let Some(at) = columns.image {
            let mut flags = [0; 3];
            for (flag, at) in flags.iter_mut().zip(at) {
                let word = words[at];
                *flag = word
                    .parse()
                    .map_err(|_| self.lines.unexpected(word, "an image flag"))?;
            }
            image = Some(flags);
        }
        Ok(Row {
            id,
            position,
            velocity,
            force: vector(columns.force, "a force")?,
            image,
            atom: match with_atom {
                true => Some(self.atom(columns, &words)?),
                false => None,
            },
        })
    }

    fn atom(&self, columns: &Columns, words: &[&str]) -> Result<Atom, IoError> {
        let word = |at: Option<usize>| at.map(|at| words[at]);
        let number = |at: Option<usize>, what: &str| {
            let word = at.map(|at| words[at]);
            word.map(|word| self.lines.float(word, what)).transpose()
        };
        let (kind, element) = (word(columns.kind), word(columns.element));
        let symbol = element.map(|text| element::symbol(text).unwrap_or_else(|| element::guess(text, "")));
        let diameter = number(columns.diameter, "a diameter")?;
        Ok(Atom {
            name: element.or(kind).unwrap_or("X").to_owned(),
            element: symbol.unwrap_or("").to_owned(),
            type_name: kind.map(str::to_owned),
            molecule: word(columns.molecule).and_then(|word| word.parse().ok()),
            charge: number(columns.charge, "a charge")?,
            mass: number(columns.mass, "a mass")?,
            radius: match diameter {
                Some(diameter) => Some(0.5 * diameter),
                None => number(columns.radius, "a radius")?,
            },
            ..Atom::default()
        })
    }

    fn assemble(&self, head: Head, rows: Vec<Row>) -> Structure {
        let axes = head.bounds.and_then(|bounds| bounds.axes);
        let turn = |v: [f64; 3]| axes.map_or(v, |axes| cell::turned(v, &axes));
        let images: Option<Vec<[i32; 3]>> = rows.iter().map(|row| row.image).collect();
        let all = |of: fn(&Row) -> Option<[f64; 3]>| {
            let vectors = rows.iter().map(|row| of(row).map(turn));
            vectors
                .collect::<Option<Vec<[f64; 3]>>>()
                .filter(|all| !all.is_empty())
        };
        let frame = Frame {
            step: head.step,
            time: head.time,
            length_unit: self.units.length,
            cell: head.bounds.map(|bounds| bounds.cell),
            positions: rows.iter().map(|row| turn(row.position)).collect(),
            velocities: all(|row| row.velocity),
            forces: all(|row| row.force),
            ..Frame::default()
        };
        Structure {
            frame,
            origin: head.bounds.map(|bounds| turn(bounds.origin)),
            images: images.filter(|images| !images.is_empty()),
            atoms: rows.into_iter().filter_map(|row| row.atom).collect(),
            ..Structure::default()
        }
    }

    fn cut(&self, expected: &str, found: &str) -> IoError {
        self.lines.truncated(self.frame, expected, found)
    }
}

impl Bounds {
    fn unscaled(&self, scaled: [f64; 3]) -> [f64; 3] {
        let [a, b, c] = self.cell;
        let (origin, [u, v, w]) = (self.origin, scaled);
        std::array::from_fn(|k| origin[k] + u * a[k] + v * b[k] + w * c[k])
    }
}

/// A box of bounds and tilts. The bounds are those of the corners, which the tilts move out.
fn restricted_box(rows: &[[f64; 4]; 3]) -> Option<Bounds> {
    let [xy, xz, yz] = rows.map(|row| row[2]);
    let low_x = [0.0, xy, xz, xy + xz].into_iter().fold(0.0, f64::min);
    let high_x = [0.0, xy, xz, xy + xz].into_iter().fold(0.0, f64::max);
    let (low, high) = ([low_x, yz.min(0.0), 0.0], [high_x, yz.max(0.0), 0.0]);
    let origin: [f64; 3] = std::array::from_fn(|k| rows[k][0] - low[k]);
    let [x, y, z]: [f64; 3] = std::array::from_fn(|k| rows[k][1] - high[k] - origin[k]);
    let cell = [[x, 0.0, 0.0], [xy, y, 0.0], [xz, yz, z]];
    (x > 0.0 && y > 0.0 && z > 0.0).then_some(Bounds {
        cell,
        origin,
        axes: None,
    })
}

/// A box of three vectors of any orientation, turned to the convention.
fn general_box(rows: &[[f64; 4]; 3]) -> Option<Bounds> {
    let vectors = rows.map(|[x, y, z, _]| [x, y, z]);
    let axes = cell::standard_axes(&vectors)?;
    Some(Bounds {
        cell: cell::standard(&vectors, &axes),
        origin: rows.map(|row| row[3]),
        axes: Some(axes),
    })
}

impl<R: BufRead> ReadFrames for DumpReader<R> {
    fn next_frame(&mut self) -> Result<Option<Frame>, IoError> {
        let structure = fused(self, |r| &mut r.done, |r| r.read(false))?;
        Ok(structure.map(|structure| structure.frame))
    }

    fn warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    fn at_unfinished_line(&self) -> bool {
        self.lines.unfinished()
    }
}
