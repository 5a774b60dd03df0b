//! Harmonic improper: u(ξ) = ½ k (ξ − ξ₀)², the difference taken into −π..π.
//!
//! Valid for every dihedral angle ξ and −π ≤ ξ₀ ≤ π; at the angle opposite to ξ₀ the force jumps.
//! It keeps four atoms planar (ξ₀ = 0) or a centre chiral (ξ₀ ≈ 35.26°).

use std::f64::consts::PI;

use super::{BondedSample, DihedralPotential, MAX_BONDED, Mixing, Parameter, ParameterError, Parameters};
use crate::expr::Real;
use crate::system::Dimension;

/// A spring in an improper dihedral angle.
#[derive(Debug)]
pub struct HarmonicImproper;

impl DihedralPotential for HarmonicImproper {
    const NAME: &'static str = "harmonic-improper";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::quantity("k", Dimension::ENERGY, Mixing::Explicit),
        Parameter::quantity("xi0", Dimension::NONE, Mixing::Explicit),
    ];

    fn check(p: Parameters) -> Result<(), ParameterError> {
        let [k, xi0] = p.numbers();
        ParameterError::unless(k >= 0.0, "k", k, "an energy ≥ 0")?;
        ParameterError::unless(
            (-PI..=PI).contains(&xi0),
            "xi0",
            xi0,
            "an angle from −π to π (±180°)",
        )
    }

    fn coefficients(p: Parameters) -> [f64; MAX_BONDED] {
        let [k, xi0] = p.numbers();
        [0.5 * k, xi0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    }

    #[inline(always)]
    fn energy<R: Real>(xi: R, c: &[R; MAX_BONDED]) -> R {
        let turn = R::lit(2.0 * PI);
        let d = xi - c[1];
        let d = R::select_lt(R::lit(PI), d, d - turn, d);
        let d = R::select_lt(d, R::lit(-PI), d + turn, d);
        c[0] * d.squared()
    }

    fn samples() -> Vec<BondedSample> {
        vec![
            BondedSample::numbers([167.0, 0.0], -1.5, 1.5),
            BondedSample::numbers([334.0, 0.615], -2.5, PI),
            BondedSample::numbers([100.0, 3.0], -PI, -0.2),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_is_the_shorter_way_round() {
        let c = [0.5, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        let across = 2.0 * PI - 6.0;
        assert!((HarmonicImproper::energy(-3.0, &c) - 0.5 * across * across).abs() < 1e-14);
        assert!((HarmonicImproper::energy(2.0, &c) - 0.5).abs() < 1e-14);
    }
}
