//! Writing LAMMPS data: atoms with their types, masses, velocities, image flags, and the topology.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write;

use super::style::{AtomStyle, sphere_volume};
use crate::error::{IoError, Place};
use crate::frame::LengthUnit;
use crate::structure::{Atom, Bonded, Structure};
use crate::output::{Output, one_line};

/// Writes a data file with all digits. Numbers are those of the structure: the caller chooses the units, and says
/// them in the title (`… units = real`), where LAMMPS itself does.
///
/// Atom types are the type names (else the names) in the order of their first atoms, one for each mass. Types and kinds
/// that are no numbers are written as type labels. The style is `full` where there are bonds or molecules of several
/// atoms, else `charge` where every atom has a charge and any is not zero, else `atomic`. Where atoms have dipoles, it is
/// `hybrid` of `angle` (or `molecular`), `dipole` and `sphere`: diameters are twice the radii, and masses follow from
/// them and the densities, as LAMMPS takes no Masses then. An atom without a radius is a sphere of density one.
///
/// # Errors
/// What every format refuses, and a box that is not along x and in the xy plane.
pub fn write_lammps_data<W: Write>(
    sink: W,
    label: impl Into<String>,
    structure: &Structure,
) -> Result<(), IoError> {
    let mut out = Output::new(sink, label);
    out.check(Some(&structure.atoms), &structure.frame, LengthUnit::Unspecified)?;
    let text = Data::new(structure).text(&out)?;
    out.write(text.as_bytes())?;
    out.flush()
}

struct Data<'a> {
    structure: &'a Structure,
    style: AtomStyle,
    types: Types<'a>,
}

/// Types of atoms: a name and a mass.
struct Types<'a> {
    /// Name and mass of each, from type 1 on.
    all: Vec<(&'a str, f64)>,
    /// Type of every atom, from 0.
    of: Vec<usize>,
}

impl<'a> Types<'a> {
    fn new(atoms: &'a [Atom]) -> Self {
        let mut places: HashMap<(&str, u64), usize> = HashMap::new();
        let mut types = Types {
            all: Vec::new(),
            of: Vec::with_capacity(atoms.len()),
        };
        for atom in atoms {
            let name = atom.type_name.as_deref().unwrap_or(&atom.name);
            let mass = atom.mass.unwrap_or(1.0);
            let place = *places.entry((name, mass.to_bits())).or_insert_with(|| {
                types.all.push((name, mass));
                types.all.len() - 1
            });
            types.of.push(place);
        }
        types
    }
}

impl<'a> Data<'a> {
    fn new(structure: &'a Structure) -> Self {
        let s = structure;
        let bonded =
            !(s.bonds.is_empty() && s.angles.is_empty() && s.dihedrals.is_empty() && s.impropers.is_empty());
        let mut molecules = std::collections::HashSet::new();
        let numbers = s.atoms.iter().filter_map(|atom| atom.molecule);
        let bonded = bonded || !numbers.into_iter().all(|number| molecules.insert(number));
        let charges = || s.atoms.iter().map(|atom| atom.charge);
        let charged = charges().all(|q| q.is_some()) && charges().flatten().any(|q| q != 0.0);
        let dipoles = s.atoms.iter().any(|atom| atom.dipole.is_some());
        let style = match (bonded, charged) {
            _ if dipoles => AtomStyle::HybridSphereDipole,
            (true, _) => AtomStyle::Full,
            (false, true) => AtomStyle::Charge,
            (false, false) => AtomStyle::Atomic,
        };
        Data {
            structure,
            style,
            types: Types::new(&s.atoms),
        }
    }

    fn text(&self, out: &Output<impl Write>) -> Result<String, IoError> {
        let s = self.structure;
        let mut text = String::new();
        // LAMMPS skips the first line, whatever it says.
        let title = one_line(&s.frame.title);
        let _ = writeln!(text, "LAMMPS data file, {title}\n");
        let bonds = Kinds::new(&s.bonds);
        let angles = Kinds::new(&s.angles);
        let dihedrals = Kinds::new(&s.dihedrals);
        let impropers = Kinds::new(&s.impropers);
        let _ = writeln!(
            text,
            "{} atoms\n{} atom types",
            s.atoms.len(),
            self.types.all.len()
        );
        for (count, types, what) in [
            (s.bonds.len(), &bonds, "bond"),
            (s.angles.len(), &angles, "angle"),
            (s.dihedrals.len(), &dihedrals, "dihedral"),
            (s.impropers.len(), &impropers, "improper"),
        ] {
            if count > 0 {
                let _ = writeln!(text, "{count} {what}s\n{} {what} types", types.names.len());
            }
        }
        self.put_box(&mut text, out)?;
        let names: Vec<&str> = self.types.all.iter().map(|(name, _)| *name).collect();
        put_labels(&mut text, "Atom", &names);
        for (kinds, what) in [
            (&bonds, "Bond"),
            (&angles, "Angle"),
            (&dihedrals, "Dihedral"),
            (&impropers, "Improper"),
        ] {
            put_labels(&mut text, what, &kinds.names);
        }
        if self.style != AtomStyle::HybridSphereDipole {
            text.push_str("\nMasses\n\n");
            for (number, (name, mass)) in self.types.all.iter().enumerate() {
                let _ = writeln!(text, "{} {mass:?}  # {}", number + 1, one_line(name));
            }
        }
        self.put_atoms(&mut text);
        if let Some(velocities) = &s.frame.velocities {
            text.push_str("\nVelocities\n\n");
            let angular = s.frame.angular_velocities.as_ref();
            for (number, [x, y, z]) in velocities.iter().enumerate() {
                let _ = write!(text, "{} {x:?} {y:?} {z:?}", number + 1);
                // LAMMPS expects these of every sphere.
                if self.style == AtomStyle::HybridSphereDipole {
                    let [x, y, z] = angular.map_or([0.0; 3], |all| all[number]);
                    let _ = write!(text, " {x:?} {y:?} {z:?}");
                }
                text.push('\n');
            }
        }
        put_links(&mut text, "Bonds", &s.bonds, &bonds);
        put_links(&mut text, "Angles", &s.angles, &angles);
        put_links(&mut text, "Dihedrals", &s.dihedrals, &dihedrals);
        put_links(&mut text, "Impropers", &s.impropers, &impropers);
        Ok(text)
    }

    fn put_box(&self, text: &mut String, out: &Output<impl Write>) -> Result<(), IoError> {
        let Some(cell) = &self.structure.frame.cell else {
            let limit = "LAMMPS data needs a box";
            return Err(out.too_large(Place::Cell, "none", limit));
        };
        let [a, b, c] = cell;
        if a[1] != 0.0 || a[2] != 0.0 || b[2] != 0.0 {
            let limit = "a box with a along x and b in the xy plane";
            return Err(out.too_large(Place::Cell, format!("{cell:?}"), limit));
        }
        let low = self.structure.origin.unwrap_or_default();
        text.push('\n');
        for (axis, (name, length)) in [("x", a[0]), ("y", b[1]), ("z", c[2])].into_iter().enumerate() {
            let _ = writeln!(text, "{:?} {:?} {name}lo {name}hi", low[axis], low[axis] + length);
        }
        if b[0] != 0.0 || c[0] != 0.0 || c[1] != 0.0 {
            let _ = writeln!(text, "{:?} {:?} {:?} xy xz yz", b[0], c[0], c[1]);
        }
        Ok(())
    }

    fn put_atoms(&self, text: &mut String) {
        let s = self.structure;
        let _ = writeln!(text, "\nAtoms # {}\n", self.style.name());
        for (i, (atom, [x, y, z])) in s.atoms.iter().zip(&s.frame.positions).enumerate() {
            let _ = write!(text, "{}", i + 1);
            let (molecule, charge) = (atom.molecule.unwrap_or(0), atom.charge.unwrap_or(0.0));
            if self.style == AtomStyle::Full {
                let _ = write!(text, " {molecule}");
            }
            let _ = write!(text, " {}", self.types.of[i] + 1);
            if matches!(self.style, AtomStyle::Full | AtomStyle::Charge) {
                let _ = write!(text, " {charge:?}");
            }
            let _ = write!(text, " {x:?} {y:?} {z:?}");
            if self.style == AtomStyle::HybridSphereDipole {
                let [x, y, z] = atom.dipole.unwrap_or_default();
                let (diameter, density) = sphere(atom);
                let _ = write!(
                    text,
                    " {molecule} {charge:?} {x:?} {y:?} {z:?} {diameter:?} {density:?}"
                );
            }
            if let Some([a, b, c]) = s.images.as_ref().map(|images| images[i]) {
                let _ = write!(text, " {a} {b} {c}");
            }
            text.push('\n');
        }
    }
}

/// Diameter and density of an atom: by its radius, else those of a sphere of density one.
fn sphere(atom: &Atom) -> (f64, f64) {
    let mass = atom.mass.unwrap_or(1.0);
    let diameter = match atom.radius {
        Some(radius) if radius > 0.0 => 2.0 * radius,
        _ => (mass / sphere_volume(1.0)).cbrt(),
    };
    (diameter, mass / sphere_volume(diameter))
}

/// Kinds of bonds, angles … and their numbers. Kinds that are numbers already keep theirs.
struct Kinds<'a> {
    names: Vec<&'a str>,
    numbers: HashMap<&'a str, usize>,
}

impl<'a> Kinds<'a> {
    fn new<const N: usize>(links: &'a [Bonded<N>]) -> Self {
        let mut numbers = HashMap::new();
        let mut names: Vec<&str> = Vec::new();
        for link in links {
            numbers.entry(link.kind.as_str()).or_insert_with(|| {
                names.push(&link.kind);
                names.len()
            });
        }
        /// Numbers beyond this are taken for names: a file would have that many types.
        const MOST: usize = 10_000;
        let own = |kind: &&str| kind.parse().ok().filter(|k| (1..=MOST).contains(k));
        if let Some(given) = names.iter().map(own).collect::<Option<Vec<usize>>>() {
            numbers = names.iter().copied().zip(given.iter().copied()).collect();
            let last = given.iter().copied().max().unwrap_or(0);
            names = vec![""; last];
        }
        Kinds { names, numbers }
    }
}

/// A section of labels, where all names can be labels: LAMMPS takes no numbers for them.
fn put_labels(text: &mut String, what: &str, names: &[&str]) {
    let label = |name: &&str| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit() || c == '#' || c == '*')
            && !name.contains(char::is_whitespace)
    };
    let distinct: std::collections::HashSet<&&str> = names.iter().collect();
    if names.is_empty() || !names.iter().all(label) || distinct.len() != names.len() {
        return;
    }
    let _ = writeln!(text, "\n{what} Type Labels\n");
    for (number, name) in names.iter().enumerate() {
        let _ = writeln!(text, "{} {name}", number + 1);
    }
}

fn put_links<const N: usize>(text: &mut String, what: &str, links: &[Bonded<N>], kinds: &Kinds) {
    if links.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{what}\n");
    for (number, link) in links.iter().enumerate() {
        let kind = kinds.numbers.get(link.kind.as_str()).copied().unwrap_or(1);
        let _ = write!(text, "{} {kind}", number + 1);
        for atom in link.atoms {
            let _ = write!(text, " {}", atom + 1);
        }
        text.push('\n');
    }
}
