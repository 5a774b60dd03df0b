//! Units: what a number in an input file means, and what it is called in a table.
//!
//! Inside, every number is in the units of the run; unit names exist only at the edges.
//!
//! * `md`: nm, ps, u, e, K. Energies are then in u nm²/ps² = kJ/mol: 1 u is taken as exactly
//!   1 g/mol (the 2019 SI makes that true to 4 parts in 10¹⁰).
//! * `lj`: σ, ε, m and k_B are one, so time counts in τ = σ√(m/ε).
//!
//! Constants: the exact e, N_A and k_B of the SI of 2019, and ε₀ of CODATA 2018
//! (Tiesinga et al., Rev. Mod. Phys. 93, 025010 (2021)).

pub mod display;
mod parse;

use std::fmt;

pub use parse::QuantityError;

/// Avogadro's number (exact), 1/mol.
pub(crate) const AVOGADRO: f64 = 6.022_140_76e23;
/// Elementary charge (exact), C.
pub(crate) const ELEMENTARY_CHARGE: f64 = 1.602_176_634e-19;
/// Vacuum permittivity, F/m (CODATA 2018, relative uncertainty 1.5e-10).
const PERMITTIVITY: f64 = 8.854_187_812_8e-12;

/// Exponents of length, mass, time, charge and temperature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// Power of length.
    pub length: i8,
    /// Power of mass.
    pub mass: i8,
    /// Power of time.
    pub time: i8,
    /// Power of charge.
    pub charge: i8,
    /// Power of temperature.
    pub temperature: i8,
}

/// A dimension people have a word for.
struct Named {
    dimension: Dimension,
    /// With its article.
    name: &'static str,
    /// How one is written in md units, and in lj units.
    examples: [&'static str; 2],
}

const fn named(dimension: Dimension, name: &'static str, md: &'static str, lj: &'static str) -> Named {
    Named {
        dimension,
        name,
        examples: [md, lj],
    }
}

static NAMED: &[Named] = &[
    named(Dimension::NONE, "a plain number", "0.5", "0.5"),
    named(Dimension::LENGTH, "a length", "\"12 Å\"", "2.5"),
    named(Dimension::MASS, "a mass", "\"39.948 u\"", "1.0"),
    named(Dimension::TIME, "a time", "\"2 fs\"", "0.005"),
    named(Dimension::CHARGE, "a charge", "\"1 e\"", "1.0"),
    named(Dimension::TEMPERATURE, "a temperature", "\"120 K\"", "0.722"),
    named(Dimension::ENERGY, "an energy", "\"0.0104 eV\"", "1.0"),
    named(Dimension::PRESSURE, "a pressure", "\"1 bar\"", "0.1"),
    named(
        Dimension::PER_PRESSURE,
        "an inverse pressure",
        "\"4.5e-5 1/bar\"",
        "0.05",
    ),
    named(Dimension::PER_MASS, "an amount per mass", "\"1 mol/kg\"", "0.1"),
    named(Dimension::PER_LENGTH, "an inverse length", "\"3.1 1/nm\"", "1.0"),
    named(Dimension::PER_TIME, "an inverse time", "\"1 1/ps\"", "0.1"),
    named(Dimension::AREA, "an area", "\"0.64 nm^2\"", "1.0"),
    named(Dimension::VOLUME, "a volume", "\"30 Å^3\"", "1.0"),
    named(Dimension::VELOCITY, "a velocity", "\"1 nm/ps\"", "1.0"),
    named(Dimension::FORCE, "a force", "\"10 kJ/mol/nm\"", "1.0"),
    named(
        Dimension::ENERGY_PER_AREA,
        "an energy per area",
        "\"1000 kJ/mol/nm^2\"",
        "30.0",
    ),
    named(
        Dimension::MASS_DENSITY,
        "a mass density",
        "\"0.8 g/cm^3\"",
        "0.8442",
    ),
    named(
        Dimension::NUMBER_DENSITY,
        "a number density",
        "\"21 1/nm^3\"",
        "0.8442",
    ),
    named(Dimension::DIPOLE, "a dipole moment", "\"2.35 D\"", "1.0"),
    named(
        Dimension::MOMENT_OF_INERTIA,
        "a moment of inertia",
        "\"0.01 u*nm^2\"",
        "0.1",
    ),
];

impl Dimension {
    const fn new(length: i8, mass: i8, time: i8, charge: i8, temperature: i8) -> Self {
        Self {
            length,
            mass,
            time,
            charge,
            temperature,
        }
    }
    /// A plain number; also an angle, in radians.
    pub const NONE: Self = Self::new(0, 0, 0, 0, 0);
    /// Length.
    pub const LENGTH: Self = Self::new(1, 0, 0, 0, 0);
    /// Length².
    pub const AREA: Self = Self::new(2, 0, 0, 0, 0);
    /// Length³.
    pub const VOLUME: Self = Self::new(3, 0, 0, 0, 0);
    /// Mass.
    pub const MASS: Self = Self::new(0, 1, 0, 0, 0);
    /// Time.
    pub const TIME: Self = Self::new(0, 0, 1, 0, 0);
    /// Charge.
    pub const CHARGE: Self = Self::new(0, 0, 0, 1, 0);
    /// Temperature.
    pub const TEMPERATURE: Self = Self::new(0, 0, 0, 0, 1);
    /// Energy (per mole or per particle: the same number of particles).
    pub const ENERGY: Self = Self::new(2, 1, -2, 0, 0);
    /// Pressure.
    pub const PRESSURE: Self = Self::new(-1, 1, -2, 0, 0);
    /// 1 / pressure: compressibility.
    pub const PER_PRESSURE: Self = Self::new(1, -1, 2, 0, 0);
    /// Amount per mass: a molality.
    pub const PER_MASS: Self = Self::new(0, -1, 0, 0, 0);
    /// 1 / length.
    pub const PER_LENGTH: Self = Self::new(-1, 0, 0, 0, 0);
    /// 1 / time: friction.
    pub const PER_TIME: Self = Self::new(0, 0, -1, 0, 0);
    /// Length / time.
    pub const VELOCITY: Self = Self::new(1, 0, -1, 0, 0);
    /// Energy / length.
    pub const FORCE: Self = Self::new(1, 1, -2, 0, 0);
    /// Energy / length².
    pub const ENERGY_PER_AREA: Self = Self::new(0, 1, -2, 0, 0);
    /// Mass / length³.
    pub const MASS_DENSITY: Self = Self::new(-3, 1, 0, 0, 0);
    /// Particles / length³.
    pub const NUMBER_DENSITY: Self = Self::new(-3, 0, 0, 0, 0);
    /// Charge × length.
    pub const DIPOLE: Self = Self::new(1, 0, 0, 1, 0);
    /// Mass × length².
    pub const MOMENT_OF_INERTIA: Self = Self::new(2, 1, 0, 0, 0);

    fn exponents(self) -> [i8; 5] {
        [self.length, self.mass, self.time, self.charge, self.temperature]
    }

    /// This dimension times `other` to the power `power`; `None` where an exponent leaves its range.
    fn times(self, other: Self, power: i8) -> Option<Self> {
        let mut sum = self.exponents();
        for (a, b) in sum.iter_mut().zip(other.exponents()) {
            *a = a.checked_add(b.checked_mul(power)?)?;
        }
        let [length, mass, time, charge, temperature] = sum;
        Some(Self::new(length, mass, time, charge, temperature))
    }

    fn named(self) -> Option<&'static Named> {
        NAMED.iter().find(|n| n.dimension == self)
    }

    /// n where this is energy × lengthⁿ (the coefficient of r⁻ⁿ of a pair potential), n ≠ 0.
    fn energy_times_length(self) -> Option<i8> {
        let power = self.length.checked_sub(Self::ENERGY.length)?;
        let energy = Self {
            length: Self::ENERGY.length,
            ..self
        };
        (energy == Self::ENERGY && power != 0).then_some(power)
    }

    /// An example as it stands in a file of these units, where there is a usual one.
    pub fn example(self, units: Units) -> Option<&'static str> {
        let [md, lj] = self.named()?.examples;
        Some(if units == Units::Md { md } else { lj })
    }
}

/// With its article: `a length`, `an energy per area`, `length^4 time^-1`.
impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(n) = self.named() {
            return f.write_str(n.name);
        }
        if let Some(power) = self.energy_times_length() {
            return write!(f, "an energy times length^{power}");
        }
        f.write_str("a quantity of dimension ")?;
        let bases = ["length", "mass", "time", "charge", "temperature"];
        powers(bases, *self, f)
    }
}

/// Writes the base names with their powers.
fn powers(names: [&str; 5], dimension: Dimension, f: &mut dyn fmt::Write) -> fmt::Result {
    let present = names.iter().zip(dimension.exponents()).filter(|(_, p)| *p != 0);
    for (place, (name, power)) in present.enumerate() {
        let between = if place > 0 { " " } else { "" };
        match power {
            1 => write!(f, "{between}{name}")?,
            _ => write!(f, "{between}{name}^{power}")?,
        }
    }
    Ok(())
}

/// A system of units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Units {
    /// Reduced Lennard-Jones units: σ, ε, m and k_B are one.
    LennardJones,
    /// nm, ps, kJ/mol, u, e, K.
    Md,
}

impl Units {
    /// The name in input files.
    pub fn name(self) -> &'static str {
        match self {
            Self::LennardJones => "lj",
            Self::Md => "md",
        }
    }

    /// Boltzmann's constant: kJ/mol/K (the exact SI values of 2019), or one.
    pub fn boltzmann(self) -> f64 {
        match self {
            Self::LennardJones => 1.0,
            Self::Md => 8.314_462_618_153_24e-3,
        }
    }

    /// Coulomb's constant e²N_A/(4πε₀) = 138.935458 kJ/mol nm/e², or one (charges in √(4πε₀σε)).
    pub fn coulomb_constant(self) -> f64 {
        match self {
            Self::LennardJones => 1.0,
            Self::Md => {
                let joule_meter =
                    ELEMENTARY_CHARGE * ELEMENTARY_CHARGE / (4.0 * std::f64::consts::PI * PERMITTIVITY);
                joule_meter * AVOGADRO * 1e6
            }
        }
    }

    /// bar per unit of pressure of the run (kJ/mol/nm³): 16.6053906717…; one in lj units.
    pub fn bar(self) -> f64 {
        match self {
            Self::LennardJones => 1.0,
            Self::Md => 1e25 / AVOGADRO,
        }
    }

    /// mN/m per unit of surface tension of the run (kJ/mol/nm²): 1.66053906717…; one in lj units.
    pub fn millinewtons_per_meter(self) -> f64 {
        match self {
            Self::LennardJones => 1.0,
            Self::Md => 1e24 / AVOGADRO,
        }
    }

    /// What people read a surface tension in, and by what to multiply the run's number. Other energies per area, such
    /// as force constants, are read in the run's own unit.
    pub fn readable_tension(self) -> (f64, String) {
        match self {
            Self::LennardJones => (1.0, self.label(Dimension::ENERGY_PER_AREA)),
            Self::Md => (self.millinewtons_per_meter(), "mN/m".into()),
        }
    }

    /// g/cm³ per unit of mass density of the run (u/nm³): 1.66053906717e-3; one in lj units.
    pub fn grams_per_cubic_centimeter(self) -> f64 {
        match self {
            Self::LennardJones => 1.0,
            Self::Md => 1e21 / AVOGADRO,
        }
    }

    /// What the run's own unit of this dimension is called: `nm`, `kJ/mol/nm³`, `ε/σ³`.
    pub fn label(self, dimension: Dimension) -> String {
        let (energy, length, bases) = match self {
            Self::LennardJones => ("ε", "σ", ["σ", "m", "τ", "q", "ε/k"]),
            Self::Md => ("kJ/mol", "nm", ["nm", "u", "ps", "e", "K"]),
        };
        match dimension {
            Dimension::NONE => String::new(),
            Dimension::ENERGY => energy.into(),
            Dimension::PRESSURE => format!("{energy}/{length}³"),
            Dimension::FORCE => format!("{energy}/{length}"),
            Dimension::ENERGY_PER_AREA => format!("{energy}/{length}²"),
            Dimension::VELOCITY => format!("{length}/{}", bases[2]),
            Dimension::MASS_DENSITY => format!("{}/{length}³", bases[1]),
            Dimension::NUMBER_DENSITY => format!("1/{length}³"),
            Dimension::PER_LENGTH => format!("1/{length}"),
            Dimension::PER_TIME => format!("1/{}", bases[2]),
            Dimension::PER_PRESSURE if self == Self::LennardJones => "σ³/ε".into(),
            Dimension::PER_PRESSURE => "nm³ mol/kJ".into(),
            _ if dimension.energy_times_length().is_some() => {
                let power = dimension.energy_times_length().unwrap_or_default();
                format!("{energy} {length}^{power}")
            }
            _ => {
                let mut text = String::new();
                // Writing to a string cannot fail.
                let _ = powers(bases, dimension, &mut text);
                text
            }
        }
    }

    /// The unit people read this dimension in, and by what to multiply the run's number:
    /// (16.605…, `bar`) for a pressure, (1.66e-3, `g/cm³`) for a density.
    pub fn readable(self, dimension: Dimension) -> (f64, String) {
        match (self, dimension) {
            (Self::Md, Dimension::PRESSURE) => (self.bar(), "bar".into()),
            (Self::Md, Dimension::PER_PRESSURE) => (self.bar().recip(), "1/bar".into()),
            (Self::Md, Dimension::MASS_DENSITY) => (self.grams_per_cubic_centimeter(), "g/cm³".into()),
            _ => (1.0, self.label(dimension)),
        }
    }

    /// The unit people read tensions of surfaces in, and by what to multiply the run's number.
    pub fn tension(self) -> (f64, String) {
        match self {
            // 1 bar nm = 0.1 mN/m.
            Self::Md => (0.1 * self.bar(), "mN/m".into()),
            Self::LennardJones => (1.0, self.label(Dimension::ENERGY_PER_AREA)),
        }
    }

    /// A quantity such as `12 Å`, `4.5e-5 1/bar` or `1000 kJ/mol/nm^2` in the units of the run.
    ///
    /// A plain number is taken to be in the units of the run already. Units of the laboratory
    /// belong to md files; lj files take plain numbers, or powers of σ, ε, τ and m.
    pub fn quantity(self, text: &str, expected: Dimension) -> Result<f64, QuantityError> {
        parse::quantity(self, text, expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn md(text: &str, dimension: Dimension) -> f64 {
        Units::Md.quantity(text, dimension).unwrap()
    }

    fn close(found: f64, expected: f64, tolerance: f64) {
        assert!(
            (found / expected - 1.0).abs() <= tolerance,
            "{found} is not {expected}"
        );
    }

    #[test]
    fn constants() {
        close(Units::Md.coulomb_constant(), 138.935_457_644, 1e-10);
        close(Units::Md.bar(), 16.605_390_671_7, 1e-11);
        close(Units::Md.boltzmann(), 1.380_649e-23 * AVOGADRO * 1e-3, 1e-15);
        assert_eq!(Units::LennardJones.coulomb_constant(), 1.0);
    }

    #[test]
    fn exact_conversions() {
        use Dimension as D;
        for (text, dimension, expected) in [
            ("1 kJ/mol", D::ENERGY, 1.0),
            ("1 u*nm^2/ps^2", D::ENERGY, 1.0),
            ("1 u nm² ps⁻²", D::ENERGY, 1.0),
            ("4 kcal/mol", D::ENERGY, 16.736),
            ("1 J/mol", D::ENERGY, 1e-3),
            ("1000 kJ/mol/nm^2", D::ENERGY_PER_AREA, 1000.0),
            ("1000 kJ/(mol nm²)", D::ENERGY_PER_AREA, 1000.0),
            ("39.948 g/mol", D::MASS, 39.948),
            ("39.948 Da", D::MASS, 39.948),
            ("2 fs", D::TIME, 0.002),
            ("10 ns", D::TIME, 10_000.0),
            ("1 s", D::TIME, 1e12),
            ("12 Å", D::LENGTH, 1.2000000000000002),
            ("0.25", D::LENGTH, 0.25),
            ("-2 e", D::CHARGE, -2.0),
            ("1/ps", D::PER_TIME, 1.0),
            ("1 e", D::CHARGE, 1.0),
            ("1e", D::CHARGE, 1.0),
            ("1e3 e", D::CHARGE, 1000.0),
            ("120 K", D::TEMPERATURE, 120.0),
            ("1.5 rad", D::NONE, 1.5),
            ("1_000 nm", D::LENGTH, 1000.0),
        ] {
            assert_eq!(md(text, dimension), expected, "{text}");
        }
    }

    #[test]
    fn measured_conversions() {
        use Dimension as D;
        for (text, dimension, expected) in [
            ("1 eV", D::ENERGY, 96.485_332_123_310_02),
            ("1 meV", D::ENERGY, 0.096_485_332_123_310_02),
            ("1e-20 J", D::ENERGY, 6.022_140_76),
            ("1 hartree", D::ENERGY, 2_625.499_639_48),
            ("2 Ry", D::ENERGY, 2_625.499_639_48),
            ("16.6053906717384 bar", D::PRESSURE, 1.0),
            ("1 atm", D::PRESSURE, 1.01325 / 16.605_390_671_738_4),
            ("0.1 MPa", D::PRESSURE, 1.0 / 16.605_390_671_738_4),
            ("1 GPa", D::PRESSURE, 1e4 / 16.605_390_671_738_4),
            ("1 kJ/mol/nm^3", D::PRESSURE, 1.0),
            ("1.66053906717384 mN/m", D::ENERGY_PER_AREA, 1.0),
            ("16.6053906717384 bar*nm", D::ENERGY_PER_AREA, 1.0),
            ("1e-3 N/m", D::ENERGY_PER_AREA, 1.0 / 1.660_539_067_173_84),
            ("1.66053906717384 pN", D::FORCE, 1.0),
            ("4.5e-5 1/bar", D::PER_PRESSURE, 4.5e-5 * 16.605_390_671_738_4),
            ("2 mol/kg", D::PER_MASS, 2e-3),
            ("4.5e-5 bar^-1", D::PER_PRESSURE, 4.5e-5 * 16.605_390_671_738_4),
            ("109.5 deg", D::NONE, 1.911_135_530_920_691),
            ("3.405 angstrom", D::LENGTH, 0.3405),
            ("1.602176634e-19 C", D::CHARGE, 1.0),
            ("0.8 g/cm^3", D::MASS_DENSITY, 0.8 / 1.660_539_067_173_84e-3),
            ("0.8 g/ml", D::MASS_DENSITY, 0.8 / 1.660_539_067_173_84e-3),
            ("800 mg/mL", D::MASS_DENSITY, 0.8 / 1.660_539_067_173_84e-3),
            ("80 g/dL", D::MASS_DENSITY, 0.8 / 1.660_539_067_173_84e-3),
            ("1e-18 µL", D::VOLUME, 1.0),
            ("800 kg/m³", D::MASS_DENSITY, 0.8 / 1.660_539_067_173_84e-3),
            ("1 D", D::DIPOLE, 0.020_819_433_27),
            ("1e-27 kg", D::MASS, 0.602_214_076),
        ] {
            close(md(text, dimension), expected, 1e-8);
        }
    }

    /// The unit of argon with ε = 0.0104 eV, σ = 3.40 Å, m = 39.948 u.
    #[test]
    fn argon() {
        let epsilon = md("0.0104 eV", Dimension::ENERGY);
        let sigma = md("3.40 Å", Dimension::LENGTH);
        let mass = md("39.948 u", Dimension::MASS);
        let (bar, _) = Units::Md.readable(Dimension::PRESSURE);
        let (density, _) = Units::Md.readable(Dimension::MASS_DENSITY);
        // The validation page rounds 1.68775 up to 1.6878.
        close(mass / sigma.powi(3) * density, 1.687_747, 1e-6);
        close(epsilon / sigma.powi(3) * bar * 0.1, 42.39, 1.2e-4);
        close(epsilon / Units::Md.boltzmann(), 120.69, 5e-5);
        close(sigma * (mass / epsilon).sqrt(), 2.145, 2e-4);
    }

    #[test]
    fn reduced() {
        let lj = |text, d| Units::LennardJones.quantity(text, d);
        assert_eq!(lj("2.5", Dimension::LENGTH), Ok(2.5));
        assert_eq!(lj("2.5 sigma", Dimension::LENGTH), Ok(2.5));
        assert_eq!(lj("30 ε/σ²", Dimension::ENERGY_PER_AREA), Ok(30.0));
        assert_eq!(lj("0.005 tau", Dimension::TIME), Ok(0.005));
        assert_eq!(lj("2 m", Dimension::MASS), Ok(2.0));
        assert_eq!(lj("180 deg", Dimension::NONE), Ok(std::f64::consts::PI));
        assert!(lj("2 sigma", Dimension::TIME).is_err());
        let refused = lj("12 Å", Dimension::LENGTH).unwrap_err().to_string();
        assert!(refused.contains("units = \"lj\""), "{refused}");
        let refused = Units::Md
            .quantity("2 sigma", Dimension::LENGTH)
            .unwrap_err()
            .to_string();
        assert!(refused.contains("units = \"lj\""), "{refused}");
    }

    #[test]
    fn refusals() {
        let refused = |text, d| Units::Md.quantity(text, d).unwrap_err().to_string();
        assert_eq!(
            refused("12 ps", Dimension::LENGTH),
            "expected a length such as \"12 Å\", found \"12 ps\" (a time)"
        );
        assert_eq!(
            refused("12 angstrm", Dimension::LENGTH),
            "unknown unit `angstrm` in \"12 angstrm\"; did you mean `angstrom`?"
        );
        assert_eq!(
            refused("39.948 g", Dimension::MASS),
            "\"39.948 g\" is 2.4e25 u for every single particle: is a `/mol` missing?"
        );
        assert!(refused("1 kJ", Dimension::ENERGY).contains("/mol"));
        assert!(refused("twelve", Dimension::LENGTH).contains("must begin with a number"));
        for text in [
            "", "12 Å^", "12 (Å", "12 Å)", "1 nm^200", "12 //Å", "nan", "inf Å", "1e999", "1 nm^2^",
            "12 Å^x", "1 *", "1 2", "1 nm 3",
        ] {
            assert!(Units::Md.quantity(text, Dimension::LENGTH).is_err(), "{text}");
        }
    }

    #[test]
    fn labels() {
        assert_eq!(Units::Md.label(Dimension::ENERGY), "kJ/mol");
        assert_eq!(Units::Md.label(Dimension::LENGTH), "nm");
        assert_eq!(Units::LennardJones.label(Dimension::PRESSURE), "ε/σ³");
        assert_eq!(Units::Md.readable(Dimension::PRESSURE).1, "bar");
        assert_eq!(Units::Md.label(Dimension::DIPOLE), "nm e");
        let dispersion = Dimension {
            length: 8,
            ..Dimension::ENERGY
        };
        assert_eq!(Units::Md.label(dispersion), "kJ/mol nm^6");
        assert_eq!(dispersion.to_string(), "an energy times length^6");
        for named in NAMED {
            for units in [Units::Md, Units::LennardJones] {
                let example = named.dimension.example(units).unwrap().trim_matches('"');
                units.quantity(example, named.dimension).unwrap();
            }
        }
    }
}
