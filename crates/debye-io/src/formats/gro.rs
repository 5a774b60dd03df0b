//! GROMACS structure files, one frame or many.
//!
//! Columns: residue number 5, residue name 5, atom name 5, atom number 5, then positions (nm) and
//! velocities (nm/ps) of one width, which the distance of the decimal points tells. Numbers wrap
//! around at 100 000.

use std::fmt::Write as _;
use std::io::{BufRead, Write};

use crate::cell::{self, Cell};
use crate::element;
use crate::error::{IoError, Place};
use crate::format::{FileFormat, Format};
use crate::frame::{Frame, LengthUnit};
use crate::lines::Lines;
use crate::structure::{Atom, Structure};
use crate::read_frames::{ReadFrames, fused};
use crate::output::{Output, WriteFrames, column_text, one_line, through_output};

impl Format {
    /// GROMACS structure, one or many frames, with velocities.
    pub const GRO: Format = Format::new(&FileFormat {
        name: "gro",
        extensions: &["gro"],
        length_unit: LengthUnit::Nanometer,
        velocities: true,
        read_structure: Some(|source, label| GroReader::new(source, label).next_structure()),
        read_frames: Some(|source, label, _| Ok(Box::new(GroReader::new(source, label)))),
        write_frames: Some(|file, label| Box::new(GroWriter::new(file, label))),
        resume: Some(|kept| Ok(Box::new(GroWriter::resume(kept.cut()?)))),
        ..FileFormat::NONE
    });
}

/// First column of the numbers.
const NUMBERS: usize = 20;

/// Reads frames of a GRO file.
pub struct GroReader<R> {
    lines: Lines<R>,
    frame: usize,
    done: bool,
    warnings: Vec<String>,
}

impl<R: BufRead> GroReader<R> {
    /// A reader of `source`, which messages call `label`.
    pub fn new(source: R, label: impl Into<String>) -> Self {
        GroReader {
            lines: Lines::new(source, label),
            frame: 0,
            done: false,
            warnings: Vec::new(),
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
            warnings: self.warnings(),
            ..Structure::default()
        }))
    }

    fn read(&mut self, mut atoms: Option<&mut Vec<Atom>>) -> Result<Option<Frame>, IoError> {
        let Some((title, count)) = self.read_head()? else {
            return Ok(None);
        };
        let (title, time, step) = split_title(&title);
        let mut positions = Vec::new();
        let mut velocities: Option<Vec<[f64; 3]>> = None;
        let (mut width, mut missing) = (0, 0);
        let mut residue_number = 0;
        for index in 0..count {
            if !self.lines.advance()? {
                return Err(self.truncated(count, index));
            }
            if index == 0 {
                width = self.number_width()?;
                velocities = (self.lines.text().trim_end().len() > NUMBERS + 3 * width).then(Vec::new);
            }
            positions.push(self.vector(NUMBERS, width, "a position in the columns of the first atom")?);
            if let Some(velocities) = &mut velocities {
                let from = NUMBERS + 3 * width;
                if self.lines.columns(from, usize::MAX).is_empty() {
                    missing += 1;
                    velocities.push([0.0; 3]);
                } else {
                    velocities.push(self.vector(from, width, "a velocity, as the first atom has")?);
                }
            }
            if let Some(atoms) = atoms.as_deref_mut() {
                let atom = self.atom(residue_number)?;
                residue_number = atom.residue_number;
                atoms.push(atom);
            }
        }
        if !self.lines.advance()? {
            return Err(self.truncated(count, count));
        }
        let cell = self.box_line()?;
        if missing > 0 && self.frame == 1 {
            self.warnings.push(format!(
                "{}: {missing} of {count} atoms have no velocity; they are taken to be at rest",
                self.lines.file()
            ));
        }
        Ok(Some(Frame {
            periodic: None,
            title,
            step,
            time,
            length_unit: LengthUnit::Nanometer,
            cell,
            positions,
            velocities,
            ..Frame::default()
        }))
    }

    /// Title and number of atoms; `None` at the end. Blank lines after the last frame are no frame.
    fn read_head(&mut self) -> Result<Option<(String, usize)>, IoError> {
        if !self.lines.advance()? {
            return Ok(None);
        }
        self.frame += 1;
        let mut title = self.lines.text().to_owned();
        loop {
            if !self.lines.advance()? {
                if title.trim().is_empty() {
                    return Ok(None);
                }
                return Err(self
                    .lines
                    .truncated(self.frame, "the number of atoms", "the title only"));
            }
            if !(title.trim().is_empty() && self.lines.text().trim().is_empty()) {
                break;
            }
            title.clear();
        }
        let text = self.lines.text().trim();
        Ok(Some((title, self.lines.count(text, "the number of atoms")?)))
    }

    /// Width of a number, from the distance of the first two decimal points.
    fn number_width(&self) -> Result<usize, IoError> {
        let text = self.lines.text();
        let mut points = text
            .bytes()
            .enumerate()
            .skip(NUMBERS)
            .filter(|(_, b)| *b == b'.')
            .map(|(at, _)| at);
        match (points.next(), points.next()) {
            (Some(first), Some(second)) => Ok(second - first),
            _ => Err(self
                .lines
                .unexpected(text, "three positions with decimal points from column 21 on")),
        }
    }

    fn vector(&self, from: usize, width: usize, expected: &str) -> Result<[f64; 3], IoError> {
        let mut vector = [0.0; 3];
        for (axis, value) in vector.iter_mut().enumerate() {
            let from = from + axis * width;
            *value = self
                .lines
                .float(self.lines.columns(from, from + width), expected)?;
        }
        Ok(vector)
    }

    fn atom(&self, previous_number: i64) -> Result<Atom, IoError> {
        let number = self.lines.columns(0, 5);
        let residue_number = match number.starts_with('*') {
            true => previous_number,
            false => self.lines.integer(number, "a residue number in columns 1 to 5")?,
        };
        let (residue, name) = (self.lines.columns(5, 10), self.lines.columns(10, 15));
        Ok(Atom {
            name: name.to_owned(),
            element: element::guess(name, residue).to_owned(),
            residue: residue.to_owned(),
            residue_number,
            ..Atom::default()
        })
    }

    fn box_line(&self) -> Result<Option<Cell>, IoError> {
        let expected = "3 or 9 box lengths";
        let text = self.lines.text();
        let words: Vec<&str> = text.split_whitespace().take(10).collect();
        let joined = words.iter().any(|word| word.matches('.').count() > 1);
        let words = if joined { split_at_decimals(text) } else { words };
        let values = words.iter().map(|word| self.lines.float(word, expected));
        let values = values.collect::<Result<Vec<f64>, IoError>>()?;
        match values[..] {
            [x, y, z] => Ok(cell::unless_zero(cell::from_lengths([x, y, z]))),
            [ax, by, cz, ay, az, bx, bz, cx, cy] => {
                Ok(cell::unless_zero([[ax, ay, az], [bx, by, bz], [cx, cy, cz]]))
            }
            _ => Err(self.lines.unexpected(text, expected)),
        }
    }

    fn truncated(&self, count: usize, found: usize) -> IoError {
        let expected = format!("{count} atoms and a box");
        self.lines
            .truncated(self.frame, expected, format!("{found} atoms"))
    }
}

impl<R: BufRead> ReadFrames for GroReader<R> {
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

/// Numbers that fill their columns, so that no blank is between them: each has as many decimals as
/// the last one.
fn split_at_decimals(text: &str) -> Vec<&str> {
    let mut rest = text.trim();
    let decimals = rest.rfind('.').map_or(0, |point| rest.len() - point - 1);
    let mut words = Vec::new();
    while let Some(point) = rest.find('.').filter(|_| words.len() < 10) {
        let Some((word, after)) = rest.split_at_checked(point + 1 + decimals) else {
            break;
        };
        words.push(word.trim());
        rest = after;
    }
    if !rest.trim().is_empty() {
        words.push(rest.trim());
    }
    words
}

/// Splits `title t= 1.0 step= 2` as GROMACS writes it.
fn split_title(line: &str) -> (String, Option<f64>, Option<u64>) {
    let after = |key: &str| -> Option<(usize, &str)> {
        let at = line.rfind(key)?;
        let value = line[at + key.len()..].split_whitespace().next()?;
        let starts_word = at == 0 || line[..at].ends_with([' ', ',']);
        starts_word.then_some((at, value))
    };
    let time = after("t=").and_then(|(at, value)| {
        value
            .parse()
            .ok()
            .filter(|t: &f64| t.is_finite())
            .map(|t| (at, t))
    });
    let step = after("step=").and_then(|(at, value)| value.parse().ok().map(|s: u64| (at, s)));
    let ends = [time.map(|(at, _)| at), step.map(|(at, _)| at)];
    let end = ends.into_iter().flatten().min().unwrap_or(line.len());
    let title = line[..end].trim().trim_end_matches(',').to_owned();
    (title, time.map(|(_, t)| t), step.map(|(_, s)| s))
}

/// Writes frames of a GRO file. Names are cut to five characters, numbers wrap around.
pub struct GroWriter<W> {
    out: Output<W>,
    decimals: usize,
    text: String,
}

impl<W: Write + Send> GroWriter<W> {
    /// A writer with the usual three decimals.
    pub fn new(sink: W, label: impl Into<String>) -> Self {
        GroWriter::with_decimals(sink, label, 3)
    }

    /// A writer with `decimals` digits (1 to 15) after the point in positions, one more in velocities.
    pub fn with_decimals(sink: W, label: impl Into<String>, decimals: usize) -> Self {
        GroWriter {
            out: Output::new(sink, label),
            decimals: decimals.clamp(1, 15),
            text: String::new(),
        }
    }

    pub(crate) fn resume(out: Output<W>) -> Self {
        GroWriter {
            out,
            decimals: 3,
            text: String::new(),
        }
    }

    fn put_atom(&mut self, index: usize, atom: &Atom, frame: &Frame) -> Result<(), IoError> {
        let residue_number = atom.residue_number.rem_euclid(100_000);
        let (residue, name) = (column_text(&atom.residue, 5), column_text(&atom.name, 5));
        let number = (index + 1) % 100_000;
        let _ = write!(self.text, "{residue_number:>5}{residue:<5}{name:>5}{number:>5}");
        let width = self.decimals + 5;
        for value in frame.positions[index] {
            self.out.fixed(
                &mut self.text,
                value,
                width,
                self.decimals,
                Place::Atom(index + 1),
            )?;
        }
        if let Some(velocities) = &frame.velocities {
            for value in velocities[index] {
                self.out.fixed(
                    &mut self.text,
                    value,
                    width,
                    self.decimals + 1,
                    Place::Atom(index + 1),
                )?;
            }
        }
        self.text.push('\n');
        Ok(())
    }

    fn put_box(&mut self, cell: Cell) {
        let [a, b, c] = cell;
        let mut values = vec![a[0], b[1], c[2], a[1], a[2], b[0], b[2], c[0], c[1]];
        if values[3..].iter().all(|value| *value == 0.0) {
            values.truncate(3);
        }
        // The box line is free format: more digits than the columns of the atoms cost nothing.
        let decimals = self.decimals.max(5);
        for value in values {
            let _ = write!(self.text, " {value:9.decimals$}");
        }
        self.text.push('\n');
    }
}

impl<W: Write + Send> WriteFrames for GroWriter<W> {
    fn write_frame(&mut self, atoms: &[Atom], frame: &Frame) -> Result<(), IoError> {
        self.out.check(Some(atoms), frame, LengthUnit::Nanometer)?;
        self.text.clear();
        self.text.push_str(&one_line(&frame.title));
        if let Some(time) = frame.time {
            let _ = write!(self.text, " t= {time:?}");
        }
        if let Some(step) = frame.step {
            let _ = write!(self.text, " step= {step}");
        }
        let _ = writeln!(self.text, "\n{:5}", atoms.len());
        for (index, atom) in atoms.iter().enumerate() {
            self.put_atom(index, atom, frame)?;
        }
        self.put_box(frame.cell.unwrap_or_default());
        self.out.write_frame(self.text.as_bytes())
    }

    through_output!();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_box_lengths() {
        let words = split_at_decimals("40000.0000040000.00000 1.00000");
        assert_eq!(words, ["40000.00000", "40000.00000", "1.00000"]);
        assert_eq!(split_at_decimals("1.2.3"), ["1.2", ".3"]);
    }

    #[test]
    fn titles() {
        assert_eq!(
            split_title("Water t=   0.50000 step= 250"),
            ("Water".to_owned(), Some(0.5), Some(250))
        );
        assert_eq!(
            split_title("MD of 2 waters, t= 0.0"),
            ("MD of 2 waters".to_owned(), Some(0.0), None)
        );
        assert_eq!(split_title("dt=2 fs"), ("dt=2 fs".to_owned(), None, None));
        assert_eq!(split_title("t= nan"), ("t= nan".to_owned(), None, None));
    }
}
