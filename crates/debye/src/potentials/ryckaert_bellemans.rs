//! Ryckaert–Bellemans: u(φ) = Σ cₙ cosⁿψ for n = 0..5, with ψ = φ − 180°.
//!
//! Valid for every φ. ψ is the angle of the polymer convention, zero in trans; φ is the dihedral
//! angle of the rest of Debye (IUPAC), zero in cis. Coefficients published with φ = 0 in cis have
//! the opposite sign for odd n. Ryckaert & Bellemans, Chem. Phys. Lett. 30, 123 (1975).

use super::{BondedSample, DihedralPotential, MAX_BONDED, Mixing, Parameter, ParameterError, Parameters};
use crate::expr::Real;
use crate::system::Dimension;

/// A polynomial in the cosine of the dihedral angle.
#[derive(Debug)]
pub struct RyckaertBellemans;

impl DihedralPotential for RyckaertBellemans {
    const NAME: &'static str = "ryckaert-bellemans";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::quantity("c0", Dimension::ENERGY, Mixing::Explicit),
        Parameter::quantity("c1", Dimension::ENERGY, Mixing::Explicit),
        Parameter::quantity("c2", Dimension::ENERGY, Mixing::Explicit),
        Parameter::quantity("c3", Dimension::ENERGY, Mixing::Explicit),
        Parameter::quantity("c4", Dimension::ENERGY, Mixing::Explicit).or(0.0),
        Parameter::quantity("c5", Dimension::ENERGY, Mixing::Explicit).or(0.0),
    ];

    fn check(p: Parameters) -> Result<(), ParameterError> {
        for (parameter, c) in Self::PARAMETERS.iter().zip(p.numbers::<6>()) {
            ParameterError::unless(c.is_finite(), parameter.name, c, "an energy")?;
        }
        Ok(())
    }

    fn coefficients(p: Parameters) -> [f64; MAX_BONDED] {
        let [c0, c1, c2, c3, c4, c5] = p.numbers();
        [c0, c1, c2, c3, c4, c5, 0.0, 0.0]
    }

    #[inline(always)]
    fn energy<R: Real>(phi: R, c: &[R; MAX_BONDED]) -> R {
        let x = -phi.cos(); // cos ψ
        c[5].mul_add(x, c[4])
            .mul_add(x, c[3])
            .mul_add(x, c[2])
            .mul_add(x, c[1])
            .mul_add(x, c[0])
    }

    fn samples() -> Vec<BondedSample> {
        let pi = std::f64::consts::PI;
        // Butane: Ryckaert & Bellemans 1975, in kJ/mol.
        vec![BondedSample::numbers(
            [9.28, 12.16, -13.12, -3.06, 26.24, -31.5],
            -pi,
            pi,
        )]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn butane_is_lowest_in_trans() {
        let c = RyckaertBellemans::coefficients(Parameters(&RyckaertBellemans::samples()[0].values));
        let pi = std::f64::consts::PI;
        let (cis, trans) = (
            RyckaertBellemans::energy(0.0, &c),
            RyckaertBellemans::energy(pi, &c),
        );
        assert!(trans.abs() < 0.02 && (cis - 44.8).abs() < 0.1, "{cis} {trans}");
    }
}
