//! The columns of an `Atoms` section.

use std::io::BufRead;
use std::str::FromStr;

use crate::error::IoError;
use crate::lines::Lines;

/// What the columns of an `Atoms` row are. Three image flags may follow in every style.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AtomStyle {
    /// `id type x y z`
    Atomic,
    /// `id type q x y z`
    Charge,
    /// `id molecule type x y z` (also `angle` and `molecular`)
    Bond,
    /// `id molecule type x y z`
    Molecular,
    /// `id molecule type q x y z`
    Full,
    /// `id type x y z molecule q mux muy muz diameter density`: the hybrid of spheres, dipoles and
    /// molecules the ELBA lipid model uses.
    HybridSphereDipole,
}

/// Where the columns of a style are, from 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Columns {
    pub(super) count: usize,
    pub(super) kind: usize,
    pub(super) position: usize,
    pub(super) molecule: Option<usize>,
    pub(super) charge: Option<usize>,
    pub(super) dipole: Option<usize>,
    /// Diameter, with the density after it.
    pub(super) diameter: Option<usize>,
}

impl AtomStyle {
    /// All styles.
    pub const ALL: [AtomStyle; 6] = [
        AtomStyle::Atomic,
        AtomStyle::Charge,
        AtomStyle::Bond,
        AtomStyle::Molecular,
        AtomStyle::Full,
        AtomStyle::HybridSphereDipole,
    ];

    /// LAMMPS's name of the style.
    pub fn name(self) -> &'static str {
        match self {
            AtomStyle::Atomic => "atomic",
            AtomStyle::Charge => "charge",
            AtomStyle::Bond => "bond",
            AtomStyle::Molecular => "molecular",
            AtomStyle::Full => "full",
            AtomStyle::HybridSphereDipole => "hybrid",
        }
    }

    pub(super) fn columns(self) -> Columns {
        let plain = Columns {
            count: 5,
            kind: 1,
            position: 2,
            molecule: None,
            charge: None,
            dipole: None,
            diameter: None,
        };
        match self {
            AtomStyle::Atomic => plain,
            AtomStyle::Charge => Columns {
                count: 6,
                charge: Some(2),
                position: 3,
                ..plain
            },
            AtomStyle::Bond | AtomStyle::Molecular => Columns {
                count: 6,
                molecule: Some(1),
                kind: 2,
                position: 3,
                ..plain
            },
            AtomStyle::Full => Columns {
                count: 7,
                molecule: Some(1),
                kind: 2,
                charge: Some(3),
                position: 4,
                ..plain
            },
            AtomStyle::HybridSphereDipole => Columns {
                count: 12,
                molecule: Some(5),
                charge: Some(6),
                dipole: Some(7),
                diameter: Some(10),
                ..plain
            },
        }
    }

    /// Whether a row of words may be of this style: the number of columns, and integers where the
    /// style has integers.
    fn fits(self, words: &[&str], bonds: bool) -> bool {
        let columns = self.columns();
        let integer = |at: usize| words.get(at).is_some_and(|word| word.parse::<i64>().is_ok());
        let images = match words.len().checked_sub(columns.count) {
            Some(0) => true,
            Some(3) => (columns.count..words.len()).all(integer),
            _ => false,
        };
        let molecule = columns.molecule.map_or(!bonds, integer);
        images && molecule && integer(0) && integer(columns.kind)
    }

    /// The style of a section that does not name it, from its first row.
    pub(super) fn guess<R: BufRead>(
        lines: &Lines<R>,
        words: &[&str],
        bonds: bool,
    ) -> Result<AtomStyle, IoError> {
        // `bond` has the columns of `molecular`: one of them is enough.
        let styles = AtomStyle::ALL
            .into_iter()
            .filter(|style| *style != AtomStyle::Bond);
        let fitting: Vec<AtomStyle> = styles.filter(|style| style.fits(words, bonds)).collect();
        match fitting[..] {
            [style] => Ok(style),
            [] => {
                let expected = format!(
                    "columns of atom style {}",
                    AtomStyle::ALL.map(AtomStyle::name).join(", ")
                );
                Err(lines.unexpected(lines.text(), expected))
            }
            _ => Err(IoError::AmbiguousStyle {
                file: lines.file().to_owned(),
                line: lines.number(),
                columns: words.len(),
                candidates: fitting
                    .iter()
                    .map(|style| style.name())
                    .collect::<Vec<_>>()
                    .join(" or "),
            }),
        }
    }
}

/// Volume of a sphere of this diameter.
pub(super) fn sphere_volume(diameter: f64) -> f64 {
    std::f64::consts::PI / 6.0 * diameter.powi(3)
}

/// Styles of LAMMPS whose columns are not known here.
#[rustfmt::skip]
const OTHERS: [&str; 24] = [
    "amoeba", "apip", "body", "bpm", "dielectric", "dipole", "dpd", "edpd", "electron", "ellipsoid", "line", "mdpd",
    "mesont", "oxdna", "peri", "rheo", "smd", "sph", "sphere", "spin", "tdpd", "template", "tri", "wavepacket",
];

/// Whether this is the name of a style that is not read, also with a suffix (`bpm/sphere`, `sphere/kk`).
pub(super) fn is_other_style(name: &str) -> bool {
    let first = name.split('/').next().unwrap_or(name);
    OTHERS.iter().any(|other| other.eq_ignore_ascii_case(first))
}

impl FromStr for AtomStyle {
    type Err = IoError;

    fn from_str(name: &str) -> Result<AtomStyle, IoError> {
        let lower = name.to_ascii_lowercase();
        let lower = if lower == "angle" { "molecular" } else { &lower };
        let found = AtomStyle::ALL.into_iter().find(|style| style.name() == lower);
        found.ok_or_else(|| IoError::UnknownFormat {
            file: format!("atom style {name}"),
            known: AtomStyle::ALL.map(AtomStyle::name).join(" "),
        })
    }
}
