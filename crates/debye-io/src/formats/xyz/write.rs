//! Writing extended XYZ, which readers of the plain form understand too.

use std::fmt::Write as _;
use std::io::Write;

use crate::error::{IoError, Place};
use crate::frame::{Frame, LengthUnit};
use crate::structure::Atom;
use crate::output::{Output, WriteFrames, one_line, one_word, through_output};

/// Writes frames with all digits, so that reading them back gives the same numbers. The species
/// column is the element, or the name where the element is not known; types (else names) that differ from it
/// have a column `name` of their own. Charges are written if every atom has one, numbers of molecules if any
/// two atoms share one.
pub struct XyzWriter<W> {
    out: Output<W>,
    text: String,
}

impl<W: Write + Send> XyzWriter<W> {
    /// A writer to `sink`, which messages call `label`.
    pub fn new(sink: W, label: impl Into<String>) -> Self {
        XyzWriter::resume(Output::new(sink, label))
    }

    pub(crate) fn resume(out: Output<W>) -> Self {
        XyzWriter {
            out,
            text: String::new(),
        }
    }

    fn put_comment(&mut self, frame: &Frame, names: bool, charges: bool, molecules: bool) {
        if let Some(cell) = &frame.cell {
            let numbers: Vec<String> = cell.iter().flatten().map(|value| format!("{value:?}")).collect();
            let _ = write!(self.text, "Lattice=\"{}\" ", numbers.join(" "));
            if let Some(periodic) = frame.periodic {
                let pbc = periodic.map(|p| if p { "T" } else { "F" });
                let _ = write!(self.text, "pbc=\"{}\" ", pbc.join(" "));
            }
        }
        self.text.push_str("Properties=species:S:1:pos:R:3");
        for (present, column) in [
            (names, ":name:S:1"),
            (frame.velocities.is_some(), ":vel:R:3"),
            (frame.forces.is_some(), ":forces:R:3"),
            (frame.orientations.is_some(), ":orientation:R:4"),
            (frame.dipoles.is_some(), ":dipole:R:3"),
            (charges, ":charge:R:1"),
            (molecules, ":molecule:I:1"),
        ] {
            if present {
                self.text.push_str(column);
            }
        }
        if let Some(time) = frame.time {
            let _ = write!(self.text, " Time={time:?}");
        }
        if let Some(step) = frame.step {
            let _ = write!(self.text, " Step={step}");
        }
        let title = one_line(&frame.title).replace('"', "'");
        if !title.is_empty() {
            let _ = write!(self.text, " title=\"{title}\"");
        }
        self.text.push('\n');
    }
}

impl<W: Write + Send> WriteFrames for XyzWriter<W> {
    fn write_frame(&mut self, atoms: &[Atom], frame: &Frame) -> Result<(), IoError> {
        self.out.check(Some(atoms), frame, LengthUnit::Angstrom)?;
        let charges: Option<Vec<f64>> = atoms.iter().map(|atom| atom.charge).collect();
        let charges = charges.filter(|charges| !charges.is_empty());
        if let Some(atom) = charges.iter().flatten().position(|charge| !charge.is_finite()) {
            let value = charges
                .iter()
                .flatten()
                .nth(atom)
                .map(f64::to_string)
                .unwrap_or_default();
            return Err(IoError::NotFinite {
                file: self.out.file.clone(),
                place: Place::Atom(atom + 1),
                value,
            });
        }
        self.text.clear();
        let _ = writeln!(self.text, "{}", atoms.len());
        let molecules = molecules(atoms);
        let names = atoms.iter().any(|atom| called(atom) != species(atom));
        self.put_comment(frame, names, charges.is_some(), molecules.is_some());
        for (index, atom) in atoms.iter().enumerate() {
            self.text.push_str(&one_word(species(atom), 64));
            for value in frame.positions[index] {
                let _ = write!(self.text, " {value:?}");
            }
            if names {
                self.text.push(' ');
                self.text.push_str(&one_word(called(atom), 64));
            }
            let vectors = [frame.velocities.as_ref(), frame.forces.as_ref()];
            let vectors = vectors.into_iter().flatten().flat_map(|rows| rows[index]);
            let orientation = frame.orientations.iter().flat_map(|rows| rows[index]);
            let dipole = frame.dipoles.iter().flat_map(|rows| rows[index]);
            let vectors = vectors.chain(orientation).chain(dipole);
            for value in vectors.chain(charges.as_ref().map(|charges| charges[index])) {
                let _ = write!(self.text, " {value:?}");
            }
            if let Some(molecules) = &molecules {
                let _ = write!(self.text, " {}", molecules[index]);
            }
            self.text.push('\n');
        }
        self.out.write_frame(self.text.as_bytes())
    }

    through_output!();
}

/// What programs take for the element.
fn species(atom: &Atom) -> &str {
    if atom.element.is_empty() {
        called(atom)
    } else {
        &atom.element
    }
}

/// What an atom is to a simulation: its type, else its name.
fn called(atom: &Atom) -> &str {
    atom.type_name.as_deref().unwrap_or(&atom.name)
}

/// Numbers of the molecules, where every atom has one and some share theirs.
fn molecules(atoms: &[Atom]) -> Option<Vec<i64>> {
    let numbers: Vec<i64> = atoms.iter().map(|atom| atom.molecule).collect::<Option<_>>()?;
    let mut sorted = numbers.clone();
    sorted.sort_unstable();
    sorted
        .windows(2)
        .any(|pair| pair[0] == pair[1])
        .then_some(numbers)
}
