//! Reading the sections.

use std::collections::HashMap;
use std::io::BufRead;
use std::path::Path;

use super::header::{Header, without_comment};
use super::style::{AtomStyle, Columns, is_other_style, sphere_volume};
use crate::element;
use crate::error::IoError;
use crate::frame::{Frame, LengthUnit};
use crate::lines::Lines;
use crate::source;
use crate::structure::{Atom, Bonded, CoefficientRow, CoefficientSection, Structure};

/// Reads a LAMMPS data file whose atom style is known, or is to be found out (`None`): from the
/// comment `Atoms # style`, else from the columns.
///
/// # Errors
/// [`IoError::AmbiguousStyle`] if the columns fit several styles, and everything that is wrong with
/// the file.
pub fn read_lammps_file(path: impl AsRef<Path>, style: Option<AtomStyle>) -> Result<Structure, IoError> {
    let (source, label) = source::open(path.as_ref())?;
    read_lammps_data(source, label, style)
}

/// As [`read_lammps_file`], from `source`, which messages call `label`.
///
/// # Errors
/// As [`read_lammps_file`].
pub fn read_lammps_data<R: BufRead>(
    source: R,
    label: impl Into<String>,
    style: Option<AtomStyle>,
) -> Result<Structure, IoError> {
    let mut reader = Reader::new(Lines::new(source, label), style);
    reader.read()?;
    reader.assemble()
}

/// One row of `Atoms`.
struct Row {
    id: i64,
    atom: Atom,
    position: [f64; 3],
    image: Option<[i32; 3]>,
}

/// A row of `Bonds`, `Angles` … before identifiers become indices.
struct Term<const N: usize> {
    line: usize,
    kind: String,
    ids: [i64; N],
}

struct Reader<R> {
    lines: Lines<R>,
    style: Option<AtomStyle>,
    header: Header,
    rows: Vec<Row>,
    /// Mass, and element where the comment of the row is one.
    /// Labels of types, by what they are of and their number.
    labels: HashMap<(Labeled, String), String>,
    masses: HashMap<String, (f64, &'static str)>,
    /// With angular velocities, where the style has them.
    velocities: Vec<(i64, [f64; 3], Option<[f64; 3]>)>,
    bonds: Vec<Term<2>>,
    angles: Vec<Term<3>>,
    dihedrals: Vec<Term<4>>,
    impropers: Vec<Term<4>>,
    coefficients: Vec<CoefficientSection>,
    warnings: Vec<String>,
}

/// The sections of a data file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Masses,
    Atoms,
    Velocities,
    Bonds,
    Angles,
    Dihedrals,
    Impropers,
    Labels(Labeled),
    Coefficients,
    Skipped,
}

/// What a section of labels is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Labeled {
    Atom,
    Bond,
    Angle,
    Dihedral,
    Improper,
}

impl Section {
    fn of(line: &str) -> Option<Section> {
        Some(match without_comment(line) {
            "Masses" => Section::Masses,
            "Atoms" => Section::Atoms,
            "Velocities" => Section::Velocities,
            "Bonds" => Section::Bonds,
            "Angles" => Section::Angles,
            "Dihedrals" => Section::Dihedrals,
            "Impropers" => Section::Impropers,
            "Ellipsoids" | "Lines" | "Triangles" | "Bodies" => Section::Skipped,
            "Atom Type Labels" => Section::Labels(Labeled::Atom),
            "Bond Type Labels" => Section::Labels(Labeled::Bond),
            "Angle Type Labels" => Section::Labels(Labeled::Angle),
            "Dihedral Type Labels" => Section::Labels(Labeled::Dihedral),
            "Improper Type Labels" => Section::Labels(Labeled::Improper),
            other if other.ends_with(" Coeffs") => Section::Coefficients,
            other if other.ends_with(" Labels") => Section::Skipped,
            _ => return None,
        })
    }
}

impl<R: BufRead> Reader<R> {
    fn new(lines: Lines<R>, style: Option<AtomStyle>) -> Self {
        Reader {
            lines,
            style,
            header: Header::default(),
            rows: Vec::new(),
            masses: HashMap::new(),
            labels: HashMap::new(),
            velocities: Vec::new(),
            bonds: Vec::new(),
            angles: Vec::new(),
            dihedrals: Vec::new(),
            impropers: Vec::new(),
            coefficients: Vec::new(),
            warnings: Vec::new(),
        }
    }

    fn read(&mut self) -> Result<(), IoError> {
        // The first line is a title whatever it says.
        if self.lines.advance()? {
            self.header.title = self.lines.text().trim().to_owned();
        }
        let mut section = None;
        while self.lines.advance()? {
            if let Some(next) = Section::of(self.lines.text()) {
                section = Some(next);
                self.style_hint(next)?;
                self.open(next);
                continue;
            }
            if without_comment(self.lines.text()).is_empty() {
                continue;
            }
            match section {
                None => {
                    if !self.header.take(&self.lines)? {
                        return Err(self
                            .lines
                            .unexpected(self.lines.text(), "a header line or the name of a section"));
                    }
                }
                Some(section) => self.take(section)?,
            }
        }
        self.check_counts()
    }

    /// Takes the style from `Atoms # style`, unless it was given.
    fn style_hint(&mut self, section: Section) -> Result<(), IoError> {
        if section != Section::Atoms || self.style.is_some() {
            return Ok(());
        }
        let hint = self.lines.text().split_once('#').map_or("", |(_, hint)| hint);
        let Some(name) = hint.split_whitespace().next() else {
            return Ok(());
        };
        match name.parse() {
            Ok(style) => self.style = Some(style),
            Err(_) if is_other_style(name) => {
                let known = AtomStyle::ALL.map(AtomStyle::name).join(", ");
                let expected = format!("an atom style among {known}");
                return Err(self.lines.unexpected(name, expected));
            }
            // A comment like any other: the columns tell.
            Err(_) => {}
        }
        Ok(())
    }

    fn take(&mut self, section: Section) -> Result<(), IoError> {
        match section {
            Section::Atoms => {
                let row = self.atom_row()?;
                self.rows.push(row);
            }
            Section::Masses => self.mass_row()?,
            Section::Velocities => {
                let words = self.words();
                let id = self.lines.integer(words[0], "the identifier of an atom")?;
                let velocity = self.lines.vector(&words, 1, "id vx vy vz")?;
                let turns = self.style == Some(AtomStyle::HybridSphereDipole) && words.len() > 4;
                let angular = turns
                    .then(|| self.lines.vector(&words, 4, "id vx vy vz wx wy wz"))
                    .transpose()?;
                self.velocities.push((id, velocity, angular));
            }
            Section::Bonds => self.bonds.push(self.term("id type i j")?),
            Section::Angles => self.angles.push(self.term("id type i j k")?),
            Section::Dihedrals => self.dihedrals.push(self.term("id type i j k l")?),
            Section::Impropers => self.impropers.push(self.term("id type i j k l")?),
            Section::Labels(what) => {
                let words = self.words();
                let [number, label] = words[..] else {
                    return Err(self.lines.unexpected(self.lines.text(), "a type and its label"));
                };
                self.labels.insert((what, number.to_owned()), label.to_owned());
            }
            Section::Coefficients => self.coefficient_row(),
            Section::Skipped => {}
        }
        Ok(())
    }

    /// Takes notice of a section that opens: of its name and style if it holds coefficients.
    fn open(&mut self, section: Section) {
        let (name, comment) = match self.lines.text().split_once('#') {
            Some((name, comment)) => (name.trim().to_owned(), comment.split_whitespace().next()),
            None => (self.lines.text().trim().to_owned(), None),
        };
        match section {
            Section::Coefficients => self.coefficients.push(CoefficientSection {
                style: comment.map(str::to_owned),
                section: name,
                rows: Vec::new(),
            }),
            Section::Skipped => {
                let file = self.lines.file();
                self.warnings
                    .push(format!("{file}: the section {name} is not read"));
            }
            _ => {}
        }
    }

    fn coefficient_row(&mut self) {
        let mut words = self.words().into_iter().map(str::to_owned);
        let Some(section) = self.coefficients.last() else {
            return;
        };
        let types = if section.section.starts_with("PairIJ") {
            2
        } else {
            1
        };
        let row = CoefficientRow {
            line: self.lines.number(),
            types: words.by_ref().take(types).collect(),
            words: words.collect(),
        };
        if let Some(section) = self.coefficients.last_mut() {
            section.rows.push(row);
        }
    }

    /// The words of the line, of which there is at least one.
    fn words(&self) -> Vec<&str> {
        without_comment(self.lines.text()).split_whitespace().collect()
    }

    fn mass_row(&mut self) -> Result<(), IoError> {
        let words = self.words();
        let [kind, mass] = words[..] else {
            return Err(self.lines.unexpected(self.lines.text(), "a type and its mass"));
        };
        let mass = self.lines.float(mass, "a mass")?;
        let comment = self
            .lines
            .text()
            .split_once('#')
            .map_or("", |(_, comment)| comment.trim());
        let element = element::symbol(comment).unwrap_or("");
        let kind = kind.to_owned();
        self.masses.insert(kind, (mass, element));
        Ok(())
    }

    fn atom_row(&mut self) -> Result<Row, IoError> {
        let words = self.words();
        let style = match self.style {
            Some(style) => style,
            None => AtomStyle::guess(&self.lines, &words, self.header.bonds > 0)?,
        };
        let row = self.parse_atom(&words, style, style.columns())?;
        self.style = Some(style);
        Ok(row)
    }

    fn parse_atom(&self, words: &[&str], style: AtomStyle, columns: Columns) -> Result<Row, IoError> {
        let image = match words.len().checked_sub(columns.count) {
            Some(0) => None,
            Some(3) => {
                let mut image = [0; 3];
                for (flag, word) in image.iter_mut().zip(&words[columns.count..]) {
                    *flag = word
                        .parse()
                        .map_err(|_| self.lines.unexpected(word, "an image flag"))?;
                }
                Some(image)
            }
            _ => {
                let count = columns.count;
                let expected = format!(
                    "{count} columns of atom style {}, or {} with image flags",
                    style.name(),
                    count + 3
                );
                return Err(self.lines.unexpected(self.lines.text(), expected));
            }
        };
        let number =
            |at: Option<usize>, what: &str| at.map(|at| self.lines.float(words[at], what)).transpose();
        let kind = words[columns.kind];
        let diameter = number(columns.diameter, "a diameter")?;
        let atom = Atom {
            name: kind.to_owned(),
            type_name: Some(kind.to_owned()),
            molecule: columns
                .molecule
                .map(|at| self.lines.integer(words[at], "a molecule number"))
                .transpose()?,
            charge: number(columns.charge, "a charge")?,
            dipole: columns
                .dipole
                .map(|at| self.lines.vector(words, at, "a dipole"))
                .transpose()?,
            radius: diameter.map(|diameter| 0.5 * diameter),
            density: number(columns.diameter.map(|at| at + 1), "a density")?,
            ..Atom::default()
        };
        // What spheres weigh, unless there are Masses; a sphere without a diameter has its mass for a density.
        let atom = match (atom.radius, atom.density) {
            (Some(radius), Some(density)) if radius > 0.0 => Atom {
                mass: Some(sphere_volume(2.0 * radius) * density),
                ..atom
            },
            (_, density) => Atom { mass: density, ..atom },
        };
        Ok(Row {
            id: self.lines.integer(words[0], "the identifier of an atom")?,
            atom,
            position: self.lines.vector(words, columns.position, "a position")?,
            image,
        })
    }

    fn term<const N: usize>(&self, expected: &str) -> Result<Term<N>, IoError> {
        let words = self.words();
        if words.len() != N + 2 {
            return Err(self.lines.unexpected(self.lines.text(), expected));
        }
        let mut ids = [0; N];
        for (id, word) in ids.iter_mut().zip(&words[2..]) {
            *id = self.lines.integer(word, expected)?;
        }
        Ok(Term {
            line: self.lines.number(),
            kind: words[1].to_owned(),
            ids,
        })
    }

    fn check_counts(&self) -> Result<(), IoError> {
        let Some(atoms) = self.header.atoms else {
            return Err(IoError::Empty {
                file: self.lines.file().to_owned(),
                expected: "a header with `N atoms`",
            });
        };
        let velocities = if self.velocities.is_empty() { 0 } else { atoms };
        let header = &self.header;
        for (what, expected, found) in [
            ("rows of Atoms for the header's count", atoms, self.rows.len()),
            (
                "rows of Velocities for the header's count of atoms",
                velocities,
                self.velocities.len(),
            ),
            (
                "rows of Bonds for the header's count",
                header.bonds,
                self.bonds.len(),
            ),
            (
                "rows of Angles for the header's count",
                header.angles,
                self.angles.len(),
            ),
            (
                "rows of Dihedrals for the header's count",
                header.dihedrals,
                self.dihedrals.len(),
            ),
            (
                "rows of Impropers for the header's count",
                header.impropers,
                self.impropers.len(),
            ),
        ] {
            if expected != found {
                return Err(IoError::AtomCountMismatch {
                    file: self.lines.file().to_owned(),
                    what,
                    expected,
                    found,
                });
            }
        }
        Ok(())
    }

    /// Sorts by identifier and turns identifiers into indices.
    fn assemble(mut self) -> Result<Structure, IoError> {
        self.rows.sort_by_key(|row| row.id);
        let twice = self.rows.windows(2).find(|pair| pair[0].id == pair[1].id);
        if let Some(twice) = twice {
            return Err(self
                .lines
                .unexpected(&twice[0].id.to_string(), "identifiers that occur once in Atoms"));
        }
        let index: HashMap<i64, usize> = self
            .rows
            .iter()
            .enumerate()
            .map(|(at, row)| (row.id, at))
            .collect();
        let (file, masses) = (self.lines.file().to_owned(), &self.masses);
        let unknown = |line: usize, id: i64| IoError::Parse {
            file: file.clone(),
            place: crate::error::Place::Line(line),
            found: id.to_string(),
            expected: "the identifier of an atom in Atoms".to_owned(),
        };
        let (velocities, angular_velocities) = if self.velocities.is_empty() {
            (None, None)
        } else {
            let mut sorted = vec![None; self.rows.len()];
            for (id, velocity, angular) in &self.velocities {
                let at = index.get(id).ok_or_else(|| unknown(self.lines.number(), *id))?;
                sorted[*at] = Some((*velocity, *angular));
            }
            // As many rows as atoms: a gap means that another atom came twice.
            let Some(all) = sorted.into_iter().collect::<Option<Vec<_>>>() else {
                return Err(self
                    .lines
                    .unexpected("an atom twice", "one row of Velocities per atom"));
            };
            let (velocities, angular): (Vec<_>, Vec<_>) = all.into_iter().unzip();
            (Some(velocities), angular.into_iter().collect())
        };
        let labels = &self.labels;
        let named = |what| move |kind: String| labels.get(&(what, kind.clone())).cloned().unwrap_or(kind);
        let bonds = resolve(self.bonds, &index, &unknown, named(Labeled::Bond))?;
        let angles = resolve(self.angles, &index, &unknown, named(Labeled::Angle))?;
        let dihedrals = resolve(self.dihedrals, &index, &unknown, named(Labeled::Dihedral))?;
        let impropers = resolve(self.impropers, &index, &unknown, named(Labeled::Improper))?;
        let images: Option<Vec<[i32; 3]>> = self.rows.iter().map(|row| row.image).collect();
        let images = images.filter(|images| !images.is_empty());
        let (cell, origin) = self.header.cell().unzip();
        let positions = self.rows.iter().map(|row| row.position).collect();
        let mut atoms: Vec<Atom> = self.rows.into_iter().map(|row| row.atom).collect();
        for atom in &mut atoms {
            if let Some((mass, element)) = masses.get(&atom.name) {
                atom.mass = Some(*mass);
                atom.element = (*element).to_owned();
            }
            // The type stays the number; a label is the name.
            if let Some(label) = labels.get(&(Labeled::Atom, atom.name.clone())) {
                atom.name.clone_from(label);
            }
        }
        let title = self.header.title;
        let length_unit = LengthUnit::Unspecified;
        let frame = Frame {
            title,
            length_unit,
            cell,
            positions,
            velocities,
            angular_velocities,
            ..Frame::default()
        };
        Ok(Structure {
            atoms,
            frame,
            origin,
            images,
            bonds,
            angles,
            dihedrals,
            impropers,
            coefficients: self.coefficients,
            warnings: self.warnings,
        })
    }
}

fn resolve<const N: usize>(
    terms: Vec<Term<N>>,
    index: &HashMap<i64, usize>,
    unknown: &impl Fn(usize, i64) -> IoError,
    named: impl Fn(String) -> String,
) -> Result<Vec<Bonded<N>>, IoError> {
    let resolve = |term: Term<N>| {
        let mut atoms = [0; N];
        for (atom, id) in atoms.iter_mut().zip(term.ids) {
            *atom = *index.get(&id).ok_or_else(|| unknown(term.line, id))?;
        }
        Ok(Bonded {
            kind: named(term.kind),
            atoms,
        })
    };
    terms.into_iter().map(resolve).collect()
}
