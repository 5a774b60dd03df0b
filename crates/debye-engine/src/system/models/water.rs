//! Rigid water of three sites.

use super::Site;

/// A rigid water molecule: an isosceles triangle with the oxygen at its apex.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WaterModel {
    /// Its name in input files.
    pub name: &'static str,
    /// Its name in print.
    pub title: &'static str,
    /// Who published it.
    pub citation: &'static str,
    /// The oxygen.
    pub oxygen: Site,
    /// Either hydrogen.
    pub hydrogen: Site,
    /// Distance from the oxygen to a hydrogen.
    pub bond: f64,
    /// Distance between the hydrogens.
    pub base: f64,
}

impl WaterModel {
    /// Oxygen and hydrogen.
    pub fn sites(&self) -> [&Site; 2] {
        [&self.oxygen, &self.hydrogen]
    }

    /// Mass of a molecule.
    pub fn mass(&self) -> f64 {
        self.oxygen.mass + 2.0 * self.hydrogen.mass
    }

    /// Distance from the oxygen to the middle between the hydrogens.
    pub fn height(&self) -> f64 {
        (self.bond * self.bond - 0.25 * self.base * self.base).sqrt()
    }

    /// The angle between the bonds, in radians.
    pub fn angle(&self) -> f64 {
        2.0 * (0.5 * self.base / self.bond).asin()
    }
}

/// Standard atomic weights of oxygen and hydrogen, abridged.
const OXYGEN: f64 = 15.999;
const HYDROGEN: f64 = 1.008;

/// √(8/3) Å: the side opposite the tetrahedral angle 2·atan(√2) of two bonds of 1 Å.
const SPCE_BASE: f64 = 0.163_299_316_185_545_2;

const fn site(name: &'static str, mass: f64, charge: f64, sigma: f64, epsilon: f64) -> Site {
    Site {
        name,
        mass,
        charge,
        sigma,
        epsilon,
    }
}

/// All water models.
///
/// TIP3P: charges, lengths and the angle of 104.52° agree in OpenMM's `amber14/tip3p.xml` (0.09572 nm, 1.82421813418 rad,
/// hence 0.15139 nm between the hydrogens) and the benchmark inputs this project is measured by; σ is R_min/2 = 1.7683 Å
/// and ε 0.1520 kcal/mol of the Amber files (0.31507524 nm, 0.635968 kJ/mol).
///
/// SPC/E: σ = B²/A and ε = (A/B)¹²/4 of the published A = 0.37122 nm (kJ/mol)^⅙ and B = 0.3428 nm (kJ/mol)^1/12; NIST's
/// reference calculations give the same numbers as 0.316555789 nm and 78.19743111 K. Amber's files, and so OpenMM's
/// `amber14/spce.xml`, round them to 0.316572 nm and 0.6497752 kJ/mol.
pub static WATERS: &[WaterModel] = &[
    WaterModel {
        name: "tip3p",
        title: "TIP3P",
        citation: "Jorgensen, Chandrasekhar, Madura, Impey & Klein, J. Chem. Phys. 79, 926 (1983)",
        oxygen: site("O", OXYGEN, -0.834, 0.315_075_24, 0.635_968),
        hydrogen: site("H", HYDROGEN, 0.417, 0.0, 0.0),
        bond: 0.095_72,
        base: 0.151_39,
    },
    WaterModel {
        name: "spce",
        title: "SPC/E",
        citation: "Berendsen, Grigera & Straatsma, J. Phys. Chem. 91, 6269 (1987)",
        oxygen: site("O", OXYGEN, -0.8476, 0.316_555_789, 0.650_169_58),
        hydrogen: site("H", HYDROGEN, 0.4238, 0.0, 0.0),
        bond: 0.1,
        base: SPCE_BASE,
    },
];

#[cfg(test)]
mod tests {
    use super::super::water;
    use super::*;

    #[test]
    fn molecules_are_neutral_triangles() {
        for model in WATERS {
            assert!((model.oxygen.charge + 2.0 * model.hydrogen.charge).abs() < 1e-15);
            assert!(model.base < 2.0 * model.bond && model.height() > 0.05);
            assert!((model.mass() - 18.015).abs() < 1e-12);
        }
    }

    /// Against the numbers as others print them.
    #[test]
    fn numbers_of_the_sources() {
        let tip3p = water("tip3p").unwrap();
        assert!((tip3p.angle() - 1.824_218_134_18).abs() < 2e-6);
        assert!((tip3p.oxygen.sigma - 0.176_83 * 2f64.powf(5.0 / 6.0)).abs() < 1e-7);
        assert!((tip3p.oxygen.epsilon - 0.1520 * 4.184).abs() < 1e-12);

        let spce = water("spce").unwrap();
        assert!((spce.angle() - 2.0 * 2f64.sqrt().atan()).abs() < 1e-14);
        let (a, b) = (0.371_22f64, 0.3428f64);
        assert!((spce.oxygen.sigma - b * b / a).abs() < 1e-9);
        assert!((spce.oxygen.epsilon - (a / b).powi(12) / 4.0).abs() < 1e-8);
        let kelvin = crate::system::Units::Md.boltzmann();
        assert!((spce.oxygen.epsilon / (78.197_431_11 * kelvin) - 1.0).abs() < 1e-6);
    }
}
