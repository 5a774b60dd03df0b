//! Coefficient sections of a LAMMPS data file as parameters of `[[forces]]`.
//!
//! A term takes them where its own table gives no parameters and the style, which the comment of the
//! section names (`Bond Coeffs # harmonic`), is one whose mapping is exact:
//!
//! | section | style | potential | mapping |
//! |---|---|---|---|
//! | Pair, PairIJ | `lj/cut`, `lj/cut/coul/…` | `lennard-jones` | ε, σ |
//! | Bond | `harmonic`, K (r − r₀)² | `harmonic-bond` | k = 2K |
//! | Bond | `fene` | `fene-bond` | K, R₀, ε, σ |
//! | Angle | `harmonic`, K (θ − θ₀)² | `harmonic-angle` | k = 2K, degrees |
//! | Dihedral | `harmonic`, K [1 + d cos nφ] | `periodic-dihedral` | phase 0 or π |
//! | Dihedral | `charmm` without 1-4 weight | `periodic-dihedral` | degrees |

use std::collections::HashMap;

use debye_io::{CoefficientRow, CoefficientSection, Structure};

use crate::potentials::Value;

/// Parameters by name.
pub(super) type Values = Vec<(String, Value)>;

/// What a structure file said beside its particles.
#[derive(Default)]
pub(super) struct FileNotes {
    /// What was odd about it.
    pub(super) warnings: Vec<String>,
    /// Its coefficients.
    pub(super) coefficients: Vec<Coefficients>,
    /// The run that a system was taken from.
    pub(super) origin: Option<crate::simulation::Origin>,
    /// Masses of the particles in that run.
    pub(super) masses: Option<Vec<f64>>,
}

/// The coefficients of one file.
pub(super) struct Coefficients {
    file: String,
    sections: Vec<CoefficientSection>,
    /// Rows that a term took, by section.
    used: Vec<Vec<bool>>,
    /// Species of the types of atoms.
    species: HashMap<String, String>,
    /// The file's unit of length in that of the run.
    length: f64,
    /// The same of energy, where it is known.
    energy: Option<f64>,
}

/// Why coefficients cannot be taken.
pub(super) enum Refusal {
    /// The unit of energy is not known.
    EnergyUnit { file: String, section: String },
    /// A row is not what its style says, or contradicts another.
    Row { message: String, expected: String },
    /// A section has parameters, but of no style that is known.
    Style { message: String, help: String },
}

/// Lennard-Jones parameters of a file.
#[derive(Default)]
pub(super) struct PairCoefficients {
    /// By species.
    pub(super) likes: Vec<(String, Values)>,
    /// By pairs of species.
    pub(super) pairs: Vec<([String; 2], Values)>,
}

impl Coefficients {
    /// Those of a structure; `None` if it has none. `species` gives that of every atom.
    pub(super) fn of<'s>(
        file: String,
        structure: &mut Structure,
        species: impl Iterator<Item = &'s str>,
        length: f64,
        energy: Option<f64>,
    ) -> Option<Self> {
        let sections = std::mem::take(&mut structure.coefficients);
        if sections.is_empty() {
            return None;
        }
        let types = structure.atoms.iter().filter_map(|atom| atom.type_name.clone());
        Some(Self {
            file,
            used: sections.iter().map(|s| vec![false; s.rows.len()]).collect(),
            sections,
            species: types.zip(species.map(str::to_owned)).collect(),
            length,
            energy,
        })
    }

    /// The rows of a potential of bonds, angles or dihedrals, by type.
    pub(super) fn bonded(&mut self, what: &str, potential: &str) -> Result<Vec<(String, Values)>, Refusal> {
        let mut found = Vec::new();
        for (at, section) in self
            .sections
            .iter()
            .enumerate()
            .filter(|(_, s)| sections_of(what).contains(&s.section.as_str()))
        {
            for (place, row) in section.rows.iter().enumerate() {
                let (style, words) = style_of(section, row);
                let Some(map) = bonded_map(what, style, potential) else {
                    continue;
                };
                let scale = self.scale(section)?;
                let numbers = self.numbers(section, row, words)?;
                let Some(values) = map(&numbers, scale) else {
                    return Err(self.wrong(
                        section,
                        row,
                        &format!("coefficients of {style} that have an equal here"),
                    ));
                };
                let values = values
                    .into_iter()
                    .map(|(key, x)| (key.to_owned(), Value::Number(x)));
                found.push((row.types.concat(), values.collect()));
                self.used[at][place] = true;
            }
        }
        Ok(found)
    }

    /// Lennard-Jones parameters of the species.
    pub(super) fn lennard_jones(&mut self) -> Result<PairCoefficients, Refusal> {
        let mut found = PairCoefficients::default();
        for (at, section) in self.sections.iter().enumerate() {
            if !sections_of("pairs").contains(&section.section.as_str()) {
                continue;
            }
            for (place, row) in section.rows.iter().enumerate() {
                let (style, words) = style_of(section, row);
                if !is_lennard_jones(style) {
                    continue;
                }
                let scale = self.scale(section)?;
                let numbers = self.numbers(section, row, words)?;
                let &[epsilon, sigma, ..] = &numbers[..] else {
                    return Err(self.wrong(section, row, "epsilon and sigma"));
                };
                let values = [
                    ("epsilon", epsilon * scale.energy),
                    ("sigma", sigma * scale.length),
                ];
                let values: Values = values.map(|(key, x)| (key.to_owned(), Value::Number(x))).into();
                self.used[at][place] = true;
                // Types that no atom has need no parameters.
                let species: Option<Vec<&String>> = row.types.iter().map(|t| self.species.get(t)).collect();
                let twice = match species.as_deref() {
                    Some([a]) => insert(&mut found.likes, (*a).clone(), values),
                    Some([a, b]) => {
                        let (a, b) = if a <= b { (a, b) } else { (b, a) };
                        insert(&mut found.pairs, [(*a).clone(), (*b).clone()], values)
                    }
                    _ => false,
                };
                if twice {
                    let expected =
                        "the same coefficients for all types of one species, or species of their own";
                    return Err(self.wrong(section, row, expected));
                }
            }
        }
        Ok(found)
    }

    /// Why a term of pairs, bonds, … without parameters of its own took none: the section that has them for these is of
    /// a style that is not known. `None` where there is no such section.
    pub(super) fn unknown_style(&self, what: &str, potential: &str) -> Option<Refusal> {
        let section = self
            .sections
            .iter()
            .find(|s| sections_of(what).contains(&s.section.as_str()))?;
        let style = match section.rows.first() {
            Some(row) => style_of(section, row).0,
            None => section.style.as_deref().unwrap_or(""),
        };
        let (named, said) = match style {
            "" => (false, "names no style".to_owned()),
            style => (true, format!("is of style {style}")),
        };
        let known = known_styles(what, potential);
        let takes = match known {
            [] => format!("`{potential}` takes no parameters from LAMMPS data"),
            known => format!("`{potential}` takes those of style {}", known.join(" and ")),
        };
        let (section, file) = (&section.section, &self.file);
        Some(Refusal::Style {
            message: format!("the section `{section}` of \"{file}\" {said}; {takes}"),
            help: match (named, known) {
                (false, [style, ..]) => {
                    format!(
                        "name the style behind the section (`{section} # {style}`), or give parameters here"
                    )
                }
                _ => "give its parameters here".to_owned(),
            },
        })
    }

    /// Sections of which rows were not used.
    pub(super) fn unused(&self) -> impl Iterator<Item = String> {
        let rows = self.sections.iter().zip(&self.used);
        rows.filter_map(|(section, used)| {
            let left = used.iter().filter(|used| !**used).count();
            if left == 0 {
                return None;
            }
            let style = match &section.style {
                Some(style) => format!("style {style}"),
                None => "no style named".to_owned(),
            };
            let count = match left == used.len() {
                true => String::new(),
                false => format!("{left} of {} rows of ", used.len()),
            };
            Some(format!(
                "{}: {count}the section `{}` ({style}) {} not used; parameters are those of [[forces]]",
                self.file,
                section.section,
                if count.is_empty() { "is" } else { "are" }
            ))
        })
    }

    fn scale(&self, section: &CoefficientSection) -> Result<Scale, Refusal> {
        match self.energy {
            Some(energy) => Ok(Scale {
                energy,
                length: self.length,
            }),
            None => Err(Refusal::EnergyUnit {
                file: self.file.clone(),
                section: section.section.clone(),
            }),
        }
    }

    fn numbers(
        &self,
        section: &CoefficientSection,
        row: &CoefficientRow,
        words: &[String],
    ) -> Result<Vec<f64>, Refusal> {
        let number = |word: &String| word.parse().ok().filter(|x: &f64| x.is_finite());
        let numbers: Option<Vec<f64>> = words.iter().map(number).collect();
        numbers.ok_or_else(|| self.wrong(section, row, "numbers"))
    }

    fn wrong(&self, section: &CoefficientSection, row: &CoefficientRow, expected: &str) -> Refusal {
        let (file, line) = (&self.file, row.line);
        Refusal::Row {
            message: format!(
                "{file}, line {line}: `{} {}` in {}",
                row.types.join(" "),
                row.words.join(" "),
                section.section
            ),
            expected: expected.to_owned(),
        }
    }
}

/// The file's units in those of the run.
#[derive(Clone, Copy)]
struct Scale {
    energy: f64,
    length: f64,
}

/// Adds values; `true` if others are there already.
fn insert<K: PartialEq>(list: &mut Vec<(K, Values)>, key: K, values: Values) -> bool {
    let same = |a: &Value, b: &Value| matches!((a, b), (Value::Number(a), Value::Number(b)) if a == b);
    match list.iter().find(|(known, _)| *known == key) {
        Some((_, known)) => !known.iter().zip(&values).all(|(a, b)| same(&a.1, &b.1)),
        None => {
            list.push((key, values));
            false
        }
    }
}

/// Style and coefficients of a row: rows of hybrid styles begin with theirs.
fn style_of<'s>(section: &'s CoefficientSection, row: &'s CoefficientRow) -> (&'s str, &'s [String]) {
    let style = section.style.as_deref().unwrap_or("");
    match (style.starts_with("hybrid"), row.words.split_first()) {
        (true, Some((own, rest))) => (plain(own), rest),
        _ => (plain(style), &row.words),
    }
}

/// A style without the suffix of an accelerated variant.
fn plain(style: &str) -> &str {
    let suffixes = ["/omp", "/gpu", "/kk", "/intel", "/opt", "/kk/device", "/kk/host"];
    let cut = suffixes.iter().find_map(|suffix| style.strip_suffix(suffix));
    cut.unwrap_or(style)
}

fn is_lennard_jones(style: &str) -> bool {
    let Some(rest) = style.strip_prefix("lj/cut") else {
        return false;
    };
    let coulomb = ["cut", "debye", "dsf", "long", "msm", "wolf"];
    rest.is_empty()
        || rest
            .strip_prefix("/coul/")
            .is_some_and(|kind| coulomb.contains(&kind))
}

/// The sections that parameters of pairs, bonds, … stand in.
fn sections_of(what: &str) -> &'static [&'static str] {
    match what {
        "pairs" => &["Pair Coeffs", "PairIJ Coeffs"],
        "bonds" => &["Bond Coeffs"],
        "angles" => &["Angle Coeffs"],
        "dihedrals" => &["Dihedral Coeffs"],
        "impropers" => &["Improper Coeffs"],
        _ => &[],
    }
}

/// The styles whose coefficients a potential takes, as messages name them.
fn known_styles(what: &str, potential: &str) -> &'static [&'static str] {
    match (what, potential) {
        ("pairs", "lennard-jones") => &["lj/cut", "lj/cut/coul/…"],
        ("bonds", "harmonic-bond") | ("angles", "harmonic-angle") => &["harmonic"],
        ("bonds", "fene-bond") => &["fene"],
        ("dihedrals", "periodic-dihedral") => &["harmonic", "charmm"],
        _ => &[],
    }
}

type Mapped = Option<Vec<(&'static str, f64)>>;

/// How the numbers of a style become the parameters of a potential; `None` if they do not.
fn bonded_map(what: &str, style: &str, potential: &str) -> Option<fn(&[f64], Scale) -> Mapped> {
    match (what, style, potential) {
        ("bonds", "harmonic", "harmonic-bond") => Some(|numbers, scale| match *numbers {
            [k, r0] => {
                let k = 2.0 * k * scale.energy / scale.length.powi(2);
                Some(vec![("k", k), ("r0", r0 * scale.length)])
            }
            _ => None,
        }),
        ("bonds", "fene", "fene-bond") => Some(|numbers, scale| match *numbers {
            [k, r0, epsilon, sigma] => Some(vec![
                ("k", k * scale.energy / scale.length.powi(2)),
                ("r0", r0 * scale.length),
                ("epsilon", epsilon * scale.energy),
                ("sigma", sigma * scale.length),
            ]),
            _ => None,
        }),
        ("angles", "harmonic", "harmonic-angle") => Some(|numbers, scale| match *numbers {
            [k, theta] => Some(vec![
                ("k", 2.0 * k * scale.energy),
                ("theta0", theta.to_radians()),
            ]),
            _ => None,
        }),
        ("dihedrals", "harmonic", "periodic-dihedral") => Some(|numbers, scale| match *numbers {
            [k, sign, n] if sign.abs() == 1.0 => {
                let phase = if sign < 0.0 { std::f64::consts::PI } else { 0.0 };
                Some(vec![("k", k * scale.energy), ("n", n), ("phase", phase)])
            }
            _ => None,
        }),
        // The weight is that of interactions between the first and the last atom, which are no part of it here.
        ("dihedrals", "charmm", "periodic-dihedral") => Some(|numbers, scale| match *numbers {
            [k, n, phase, 0.0] => Some(vec![
                ("k", k * scale.energy),
                ("n", n),
                ("phase", phase.to_radians()),
            ]),
            _ => None,
        }),
        _ => None,
    }
}
