//! Atoms, what connects them, and where they are.

use crate::frame::Frame;

/// What a file says about one atom. Fields the format does not have stay empty.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Atom {
    /// Name within the residue.
    pub name: String,
    /// Element symbol (`Na`), read or guessed; empty where neither worked.
    pub element: String,
    /// Residue name.
    pub residue: String,
    /// Residue number as written (formats wrap it around).
    pub residue_number: i64,
    /// Insertion code, which tells residues of one number apart (PDB, mmCIF).
    pub insertion: String,
    /// Whether the atom stands in a HETATM record: it is of no standard residue.
    pub hetero: bool,
    /// Chain identifier.
    pub chain: String,
    /// Force-field type.
    pub type_name: Option<String>,
    /// Molecule number.
    pub molecule: Option<i64>,
    /// Charge in elementary charges.
    pub charge: Option<f64>,
    /// Radius.
    pub radius: Option<f64>,
    /// Mass.
    pub mass: Option<f64>,
    /// Point dipole (LAMMPS hybrid sphere dipole).
    pub dipole: Option<[f64; 3]>,
    /// Orientation: a quaternion x, y, z, w (extended XYZ).
    pub orientation: Option<[f64; 4]>,
    /// Mass density of the sphere (LAMMPS hybrid sphere dipole).
    pub density: Option<f64>,
}

impl Atom {
    /// Whether its residue has one of the usual names of water.
    pub fn is_water(&self) -> bool {
        const NAMES: [&str; 16] = [
            "HOH", "SOL", "WAT", "H2O", "DOD", "TIP3", "TIP3P", "TIP4", "TIP4P", "TIP5", "TIP5P", "SPC",
            "SPCE", "OPC", "TP3", "T3P",
        ];
        NAMES.contains(&self.residue.as_str())
    }

    /// The name without the number that tells the hydrogens of a water apart: `HW1` and `HW2` are `HW`. Other names
    /// stay as they are.
    pub fn unnumbered(&self) -> &str {
        let hydrogen = self.element == "H" && self.is_water();
        match self.name.strip_suffix(['1', '2']) {
            Some(name) if hydrogen && !name.is_empty() => name,
            _ => &self.name,
        }
    }

    /// What an atom is called where it counts as one of a kind: by its type, else by its name. A type that is a number
    /// (LAMMPS) goes by its label, where it has one.
    pub fn sort_name(&self) -> &str {
        let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        match self.type_name.as_deref() {
            Some(kind) if !number(kind) || number(&self.name) => kind,
            _ => self.unnumbered(),
        }
    }
}

/// A term between `N` atoms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bonded<const N: usize> {
    /// Type of the term as the file names it; empty where it has none.
    pub kind: String,
    /// Indices into [`Structure::atoms`], from 0.
    pub atoms: [usize; N],
}

/// A coefficient section of a LAMMPS data file, as written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CoefficientSection {
    /// Name of the section, such as `Bond Coeffs`.
    pub section: String,
    /// The style its comment names (`Bond Coeffs # harmonic`).
    pub style: Option<String>,
    /// Its rows.
    pub rows: Vec<CoefficientRow>,
}

/// A row of a coefficient section.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CoefficientRow {
    /// Line of the file, from 1.
    pub line: usize,
    /// The type, or the two types of `PairIJ Coeffs`.
    pub types: Vec<String>,
    /// What follows; in hybrid styles the first word is the name of a style.
    pub words: Vec<String>,
}

/// Everything a structure file says.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Structure {
    /// The atoms, in the order of the file (LAMMPS data: in the order of their identifiers).
    pub atoms: Vec<Atom>,
    /// Their positions.
    pub frame: Frame,
    /// Corner of the box, where the file has one (LAMMPS data: `xlo ylo zlo`).
    pub origin: Option<[f64; 3]>,
    /// How many boxes each atom has left behind (LAMMPS image flags). Positions are those of the
    /// file, not unwrapped.
    pub images: Option<Vec<[i32; 3]>>,
    /// Bonds.
    pub bonds: Vec<Bonded<2>>,
    /// Angles.
    pub angles: Vec<Bonded<3>>,
    /// Proper dihedrals.
    pub dihedrals: Vec<Bonded<4>>,
    /// Improper dihedrals.
    pub impropers: Vec<Bonded<4>>,
    /// Coefficients of a LAMMPS data file, in its order.
    pub coefficients: Vec<CoefficientSection>,
    /// What was odd about the file without being wrong.
    pub warnings: Vec<String>,
}
