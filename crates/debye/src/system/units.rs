//! Units: what a number in an input file means.

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
    /// A plain number.
    pub const NONE: Self = Self::new(0, 0, 0, 0, 0);
    /// Length.
    pub const LENGTH: Self = Self::new(1, 0, 0, 0, 0);
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
    /// 1 / length.
    pub const PER_LENGTH: Self = Self::new(-1, 0, 0, 0, 0);
    /// Energy / length².
    pub const ENERGY_PER_AREA: Self = Self::new(0, 1, -2, 0, 0);
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
    /// Boltzmann's constant: kJ/mol/K (the exact SI values of 2019), or one.
    pub fn boltzmann(self) -> f64 {
        match self {
            Self::LennardJones => 1.0,
            Self::Md => 8.314_462_618_153_24e-3,
        }
    }
}
