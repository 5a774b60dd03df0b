//! [`PotentialUnit`]: what a value of a map means.

use std::fmt;
use std::str::FromStr;

use crate::system::Units;
use crate::system::units::{AVOGADRO, ELEMENTARY_CHARGE};

/// A unit of the electrostatic potential.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PotentialUnit {
    /// kT/e at this temperature in K.
    Thermal(f64),
    /// Volts.
    Volt,
    /// Millivolts.
    Millivolt,
    /// kJ/mol/e, as the library computes.
    KilojoulePerMole,
    /// kcal/mol/e.
    KilocaloriePerMole,
}

impl PotentialUnit {
    /// Names as they are typed.
    pub const NAMES: [&str; 5] = ["kT/e", "V", "mV", "kJ/mol/e", "kcal/mol/e"];

    /// What a potential in kJ/mol/e is multiplied with.
    pub fn factor(self) -> f64 {
        match self {
            Self::Thermal(temperature) => 1.0 / (Units::Md.boltzmann() * temperature),
            Self::Volt => 1e3 / (AVOGADRO * ELEMENTARY_CHARGE),
            Self::Millivolt => 1e6 / (AVOGADRO * ELEMENTARY_CHARGE),
            Self::KilojoulePerMole => 1.0,
            Self::KilocaloriePerMole => 1.0 / 4.184,
        }
    }

    /// The same unit, kT/e at this temperature.
    pub fn at_temperature(self, temperature: f64) -> Self {
        match self {
            Self::Thermal(_) => Self::Thermal(temperature),
            other => other,
        }
    }

    /// The unit that the title of a map names, as [`PotentialMap`](super::PotentialMap) writes it.
    pub fn of_title(title: &str) -> Option<Self> {
        let unit = title
            .strip_prefix("electrostatic potential, ")?
            .split(';')
            .next()?;
        match unit.split_once(" at ") {
            Some((name, temperature)) => {
                let temperature = temperature.strip_suffix(" K")?.parse().ok()?;
                Some(name.parse::<Self>().ok()?.at_temperature(temperature))
            }
            None => unit.parse().ok(),
        }
    }

    /// With the temperature, where it has one.
    pub fn described(self) -> String {
        match self {
            Self::Thermal(temperature) => format!("kT/e at {temperature} K"),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for PotentialUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Thermal(_) => Self::NAMES[0],
            Self::Volt => Self::NAMES[1],
            Self::Millivolt => Self::NAMES[2],
            Self::KilojoulePerMole => Self::NAMES[3],
            Self::KilocaloriePerMole => Self::NAMES[4],
        })
    }
}

/// kT/e is that at 300 K.
impl FromStr for PotentialUnit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [
            Self::Thermal(300.0),
            Self::Volt,
            Self::Millivolt,
            Self::KilojoulePerMole,
            Self::KilocaloriePerMole,
        ];
        all.into_iter()
            .find(|unit| unit.to_string().eq_ignore_ascii_case(text))
            .ok_or_else(|| {
                format!(
                    "`{text}` is no unit of a potential; one of {}",
                    Self::NAMES.join(", ")
                )
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_convert() {
        // One e at 1 Å: 332.0637 kcal/mol/e = 14.399645 V = 557.0 kT/e at 300 K (physics tables).
        let k = Units::Md.coulomb_constant() / 0.1;
        let at = |unit: PotentialUnit| k * unit.factor();
        assert!((at(PotentialUnit::KilocaloriePerMole) - 332.0637).abs() < 1e-3);
        assert!((at(PotentialUnit::Volt) - 14.399645).abs() < 1e-6);
        assert!((at(PotentialUnit::Thermal(300.0)) - 557.0).abs() < 0.1);
        assert_eq!("kj/mol/e".parse(), Ok(PotentialUnit::KilojoulePerMole));
        assert!("mA".parse::<PotentialUnit>().is_err());
        for unit in [PotentialUnit::Thermal(310.5), PotentialUnit::Millivolt] {
            let title = format!("electrostatic potential, {}; direct", unit.described());
            assert_eq!(PotentialUnit::of_title(&title), Some(unit));
        }
    }
}
