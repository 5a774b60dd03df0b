//! Reading a quantity: a number, then a product and quotient of units with powers.

use super::{AVOGADRO, Dimension, ELEMENTARY_CHARGE, Units};

/// Why a quantity was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum QuantityError {
    /// There is no number in front.
    #[error("a quantity must begin with a number, found \"{text}\"")]
    Number {
        /// The quantity as written.
        text: String,
    },
    /// The number is infinite, or becomes so in the units of the run.
    #[error("\"{text}\" is not a finite number in the units of the run")]
    NotFinite {
        /// The quantity as written.
        text: String,
    },
    /// The units cannot be read.
    #[error("cannot read the unit of \"{text}\": {reason}")]
    Syntax {
        /// The quantity as written.
        text: String,
        /// What is the matter.
        reason: &'static str,
    },
    /// No such unit.
    #[error("unknown unit `{unit}` in \"{text}\"{}", hint(.nearest))]
    UnknownUnit {
        /// The quantity as written.
        text: String,
        /// The unknown part.
        unit: String,
        /// The known unit that looks most like it.
        nearest: Option<&'static str>,
    },
    /// A unit of the laboratory in a file of reduced units.
    #[error(
        "`{unit}` in \"{text}\" is a unit of the laboratory, but units = \"lj\" counts in σ, ε, m and τ: \
         write a plain number, or use units = \"md\""
    )]
    Laboratory {
        /// The quantity as written.
        text: String,
        /// The unit.
        unit: String,
    },
    /// A reduced unit in a file of laboratory units.
    #[error(
        "`{unit}` in \"{text}\" is a reduced unit and belongs to units = \"lj\"; this file has units = \"md\""
    )]
    Reduced {
        /// The quantity as written.
        text: String,
        /// The unit.
        unit: String,
    },
    /// A mole of something where one particle's share was meant.
    #[error("\"{text}\" is {value:.1e} {unit} for every single particle: is a `/mol` missing?")]
    PerMole {
        /// The quantity as written.
        text: String,
        /// What it amounts to.
        value: f64,
        /// The unit of the run.
        unit: String,
    },
    /// A length where a time was asked for.
    #[error("expected {expected}{}, found \"{text}\" ({found})", such_as(.example))]
    Dimension {
        /// The quantity as written.
        text: String,
        /// Its dimension.
        found: Dimension,
        /// The dimension asked for.
        expected: Dimension,
        /// A quantity of the dimension asked for.
        example: Option<&'static str>,
    },
}

fn hint(nearest: &Option<&'static str>) -> String {
    nearest
        .map(|n| format!("; did you mean `{n}`?"))
        .unwrap_or_default()
}

fn such_as(example: &Option<&'static str>) -> String {
    example.map(|e| format!(" such as {e}")).unwrap_or_default()
}

/// A unit in nm, u, ps, e, K, times a power of Avogadro's number.
///
/// That power is counted and not multiplied, so that `kJ/mol` is one without a rounding error.
#[derive(Clone, Copy)]
struct Factor {
    value: f64,
    avogadro: i8,
    dimension: Dimension,
}

impl Factor {
    const ONE: Self = unit(1.0, Dimension::NONE);

    fn times(self, other: Self, power: i8) -> Option<Self> {
        Some(Self {
            // Dividing and not multiplying by the inverse keeps 1/1000 exact.
            value: if power < 0 {
                self.value / other.value.powi(-i32::from(power))
            } else {
                self.value * other.value.powi(i32::from(power))
            },
            avogadro: self.avogadro.checked_add(other.avogadro.checked_mul(power)?)?,
            dimension: self.dimension.times(other.dimension, power)?,
        })
    }
}

const fn unit(value: f64, dimension: Dimension) -> Factor {
    Factor {
        value,
        avogadro: 0,
        dimension,
    }
}

/// A unit of one particle that is counted in moles of them inside.
const fn molar(value: f64, dimension: Dimension) -> Factor {
    Factor {
        value,
        avogadro: 1,
        dimension,
    }
}

/// Hartree energy, J (CODATA 2018).
const HARTREE: f64 = 4.359_744_722_207_1e-18;
/// 1 debye = 1e-21 C m²/s ÷ c, in e nm.
const DEBYE: f64 = 1e-21 / 299_792_458.0 / ELEMENTARY_CHARGE * 1e9;
/// Bohr radius, nm (CODATA 2018).
const BOHR: f64 = 0.052_917_721_090_3;

type Entry = (&'static [&'static str], Factor);

/// Units of the laboratory. Energies of one particle are in kJ, which is N_A times the unit inside.
static LABORATORY: &[Entry] = &[
    (&["fs"], unit(1e-3, Dimension::TIME)),
    (&["ps"], unit(1.0, Dimension::TIME)),
    (&["ns"], unit(1e3, Dimension::TIME)),
    (&["us", "µs", "μs"], unit(1e6, Dimension::TIME)),
    (&["ms"], unit(1e9, Dimension::TIME)),
    (&["s"], unit(1e12, Dimension::TIME)),
    (&["pm"], unit(1e-3, Dimension::LENGTH)),
    (
        &["Å", "Å", "angstrom", "Angstrom", "ångström", "A"],
        unit(0.1, Dimension::LENGTH),
    ),
    (&["bohr"], unit(BOHR, Dimension::LENGTH)),
    (&["nm"], unit(1.0, Dimension::LENGTH)),
    (&["um", "µm", "μm"], unit(1e3, Dimension::LENGTH)),
    (&["mm"], unit(1e6, Dimension::LENGTH)),
    (&["cm"], unit(1e7, Dimension::LENGTH)),
    (&["m"], unit(1e9, Dimension::LENGTH)),
    (&["uL", "µL", "μL", "ul"], unit(1e18, Dimension::VOLUME)),
    (&["mL", "ml", "cc"], unit(1e21, Dimension::VOLUME)),
    (&["cL", "cl"], unit(1e22, Dimension::VOLUME)),
    (&["dL", "dl"], unit(1e23, Dimension::VOLUME)),
    (&["L", "l"], unit(1e24, Dimension::VOLUME)),
    (&["u", "amu", "Da"], unit(1.0, Dimension::MASS)),
    (&["kDa"], unit(1e3, Dimension::MASS)),
    (&["mg"], molar(1e-3, Dimension::MASS)),
    (&["g"], molar(1.0, Dimension::MASS)),
    (&["kg"], molar(1e3, Dimension::MASS)),
    (&["J"], molar(1e-3, Dimension::ENERGY)),
    (&["kJ"], molar(1.0, Dimension::ENERGY)),
    (&["cal"], molar(4.184e-3, Dimension::ENERGY)),
    (&["kcal"], molar(4.184, Dimension::ENERGY)),
    (&["meV"], molar(ELEMENTARY_CHARGE * 1e-6, Dimension::ENERGY)),
    (&["eV"], molar(ELEMENTARY_CHARGE * 1e-3, Dimension::ENERGY)),
    (&["keV"], molar(ELEMENTARY_CHARGE, Dimension::ENERGY)),
    (
        &["hartree", "Hartree", "Eh"],
        molar(HARTREE * 1e-3, Dimension::ENERGY),
    ),
    (&["Ry", "rydberg"], molar(HARTREE * 5e-4, Dimension::ENERGY)),
    (&["mol"], molar(1.0, Dimension::NONE)),
    (&["N"], molar(1e-12, Dimension::FORCE)),
    (&["mN"], molar(1e-15, Dimension::FORCE)),
    (&["pN"], molar(1e-24, Dimension::FORCE)),
    (&["Pa"], molar(1e-30, Dimension::PRESSURE)),
    (&["hPa", "mbar"], molar(1e-28, Dimension::PRESSURE)),
    (&["kPa"], molar(1e-27, Dimension::PRESSURE)),
    (&["MPa"], molar(1e-24, Dimension::PRESSURE)),
    (&["GPa"], molar(1e-21, Dimension::PRESSURE)),
    (&["bar"], molar(1e-25, Dimension::PRESSURE)),
    (&["kbar"], molar(1e-22, Dimension::PRESSURE)),
    (&["atm"], molar(1.013_25e-25, Dimension::PRESSURE)),
    (&["e"], unit(1.0, Dimension::CHARGE)),
    (&["C"], unit(1.0 / ELEMENTARY_CHARGE, Dimension::CHARGE)),
    (&["D", "debye"], unit(DEBYE, Dimension::DIPOLE)),
    (&["K"], unit(1.0, Dimension::TEMPERATURE)),
    (&["mK"], unit(1e-3, Dimension::TEMPERATURE)),
];

/// Units of reduced quantities.
static REDUCED: &[Entry] = &[
    (&["σ", "sigma"], unit(1.0, Dimension::LENGTH)),
    (&["ε", "epsilon"], unit(1.0, Dimension::ENERGY)),
    (&["τ", "tau"], unit(1.0, Dimension::TIME)),
    (&["m"], unit(1.0, Dimension::MASS)),
];

/// Units that mean the same everywhere.
static ANGLES: &[Entry] = &[
    (&["rad"], unit(1.0, Dimension::NONE)),
    (
        &["deg", "°", "degrees"],
        unit(std::f64::consts::PI / 180.0, Dimension::NONE),
    ),
];

fn find(table: &[Entry], name: &str) -> Option<Factor> {
    table
        .iter()
        .find(|(names, _)| names.contains(&name))
        .map(|(_, factor)| *factor)
}

pub(super) fn quantity(units: Units, text: &str, expected: Dimension) -> Result<f64, QuantityError> {
    let trimmed = text.trim();
    let length = number_length(trimmed);
    let digits: String = trimmed[..length].chars().filter(|c| *c != '_').collect();
    let number: f64 = digits
        .parse()
        .map_err(|_| QuantityError::Number { text: text.into() })?;
    let mut parser = Parser {
        units,
        text,
        rest: trimmed[length..].trim_start(),
    };
    let finite = |x: f64| {
        x.is_finite()
            .then_some(x)
            .ok_or_else(|| QuantityError::NotFinite { text: text.into() })
    };
    if parser.rest.is_empty() {
        return finite(number);
    }
    let factor = parser.product(0)?;
    if !parser.rest.is_empty() {
        return Err(parser.syntax("unbalanced `)`"));
    }
    if factor.dimension != expected {
        return Err(QuantityError::Dimension {
            text: text.into(),
            found: factor.dimension,
            expected,
            example: expected.example(units),
        });
    }
    let value = finite(number * factor.value * AVOGADRO.powi(i32::from(factor.avogadro)))?;
    if factor.avogadro == 1 && value.abs() > ABSURD {
        return Err(QuantityError::PerMole {
            text: text.into(),
            value,
            unit: units.label(expected),
        });
    }
    Ok(value)
}

/// No particle has such a mass or energy in u or kJ/mol; 1 g and 1 kJ are far beyond.
const ABSURD: f64 = 1e15;

/// Bytes of the number at the start: `-1_000.5e-3` of `-1_000.5e-3 nm`, `1` of `1 e`.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        bytes[from..]
            .iter()
            .take_while(|b| b.is_ascii_digit() || **b == b'_')
            .count()
    };
    let sign = |at: usize| usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
    let mut end = sign(0);
    end += digits(end);
    if bytes.get(end) == Some(&b'.') {
        end += 1 + digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let exponent = end + 1 + sign(end + 1);
        let count = digits(exponent.min(bytes.len()));
        if count > 0 {
            end = exponent + count;
        }
    }
    end
}

struct Parser<'a> {
    units: Units,
    text: &'a str,
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn syntax(&self, reason: &'static str) -> QuantityError {
        QuantityError::Syntax {
            text: self.text.into(),
            reason,
        }
    }

    fn take(&mut self, c: char) -> bool {
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    /// `a·b/c d^2`, up to the end or a closing parenthesis.
    fn product(&mut self, depth: usize) -> Result<Factor, QuantityError> {
        let mut product = Factor::ONE;
        let mut first = true;
        while !self.rest.is_empty() && !self.rest.starts_with(')') {
            let divide = self.take('/');
            if !divide && !first {
                // A blank between two units is a product too.
                let _ = self.take('*') || self.take('·') || self.take('⋅');
            }
            let (factor, power) = self.power(depth)?;
            let power = if divide { -power } else { power };
            product = product
                .times(factor, power)
                .ok_or_else(|| self.syntax("a power is too large"))?;
            first = false;
        }
        Ok(product)
    }

    /// A unit or a parenthesis, and its power.
    fn power(&mut self, depth: usize) -> Result<(Factor, i8), QuantityError> {
        let factor = if self.rest.starts_with('(') {
            if depth > 8 {
                return Err(self.syntax("too many parentheses"));
            }
            self.take('(');
            let inside = self.product(depth + 1)?;
            if !self.take(')') {
                return Err(self.syntax("missing `)`"));
            }
            inside
        } else {
            self.name()?
        };
        let exponent = self.exponent()?;
        Ok((factor, exponent))
    }

    fn name(&mut self) -> Result<Factor, QuantityError> {
        let end = self
            .rest
            .find(|c: char| !(c.is_alphabetic() || c == '°'))
            .unwrap_or(self.rest.len());
        let name = &self.rest[..end];
        if name.is_empty() {
            // The one of `1/bar`, as long as something is divided by.
            if let Some(rest) = self.rest.strip_prefix('1')
                && rest.trim_start().starts_with('/')
            {
                self.rest = rest.trim_start();
                return Ok(Factor::ONE);
            }
            return Err(self.syntax("expected the name of a unit"));
        }
        self.rest = &self.rest[end..];
        let (own, foreign) = match self.units {
            Units::Md => (LABORATORY, REDUCED),
            Units::LennardJones => (REDUCED, LABORATORY),
        };
        if let Some(factor) = find(own, name).or_else(|| find(ANGLES, name)) {
            return Ok(factor);
        }
        let (text, unit) = (self.text.to_owned(), name.to_owned());
        Err(match (find(foreign, name), self.units) {
            (Some(_), Units::Md) => QuantityError::Reduced { text, unit },
            (Some(_), Units::LennardJones) => QuantityError::Laboratory { text, unit },
            (None, _) => QuantityError::UnknownUnit {
                nearest: nearest(own, name),
                text,
                unit,
            },
        })
    }

    /// `^-2`, `²`, or nothing.
    fn exponent(&mut self) -> Result<i8, QuantityError> {
        let hat = self.rest.starts_with('^');
        let start = if hat { &self.rest[1..] } else { self.rest };
        let digit = |c: char| match c {
            '⁻' => Some('-'),
            '¹' => Some('1'),
            '²' => Some('2'),
            '³' => Some('3'),
            '⁴'..='⁹' => char::from_digit(c as u32 - '⁰' as u32, 10),
            '-' | '0'..='9' if hat => Some(c),
            _ => None,
        };
        let written: String = start.chars().map_while(digit).collect();
        let length: usize = start
            .chars()
            .take_while(|c| digit(*c).is_some())
            .map(char::len_utf8)
            .sum();
        self.rest = start[length..].trim_start();
        match (written.is_empty(), hat) {
            (true, false) => Ok(1),
            (true, true) => Err(self.syntax("expected a whole number after `^`")),
            _ => match written.parse::<i8>() {
                Ok(power) if power.abs() <= 12 => Ok(power),
                _ => Err(self.syntax("a power must be a whole number from -12 to 12")),
            },
        }
    }
}

fn nearest(table: &[Entry], name: &str) -> Option<&'static str> {
    let known = table
        .iter()
        .chain(ANGLES)
        .flat_map(|(names, _)| names.iter().copied());
    known
        .map(|k| {
            (
                strsim::damerau_levenshtein(&k.to_lowercase(), &name.to_lowercase()),
                k,
            )
        })
        .filter(|(distance, k)| *distance <= 1.max(k.chars().count() / 3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, k)| k)
}
