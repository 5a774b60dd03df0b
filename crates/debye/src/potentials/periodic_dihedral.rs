//! Periodic dihedral: u(φ) = k [1 + cos(nφ − φ₀)], n whole, φ = 0 in cis.
//!
//! Valid for every φ. k may be negative, n = 0 is a constant. The form of the AMBER, CHARMM and
//! OPLS force fields: Cornell et al., J. Am. Chem. Soc. 117, 5179 (1995), Eq. 1 (with k = V/2).

use super::{BondedSample, DihedralPotential, MAX_BONDED, Mixing, Parameter, ParameterError, Parameters};
use crate::expr::Real;
use crate::system::Dimension;

/// One term of a Fourier series in the dihedral angle.
#[derive(Debug)]
pub struct PeriodicDihedral;

impl DihedralPotential for PeriodicDihedral {
    const NAME: &'static str = "periodic-dihedral";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::quantity("k", Dimension::ENERGY, Mixing::Explicit),
        Parameter::quantity("n", Dimension::NONE, Mixing::Explicit),
        Parameter::quantity("phase", Dimension::NONE, Mixing::Explicit),
    ];

    fn check(p: Parameters) -> Result<(), ParameterError> {
        let [k, n, phase] = p.numbers();
        ParameterError::unless(k.is_finite(), "k", k, "an energy")?;
        // A dihedral angle is known up to whole turns only, so n must be whole.
        ParameterError::unless(
            (0.0..=64.0).contains(&n) && n.fract() == 0.0,
            "n",
            n,
            "a whole number from 0 to 64",
        )?;
        ParameterError::unless(phase.is_finite(), "phase", phase, "an angle")
    }

    fn coefficients(p: Parameters) -> [f64; MAX_BONDED] {
        let [k, n, phase] = p.numbers();
        [k, n, phase, 0.0, 0.0, 0.0, 0.0, 0.0]
    }

    #[inline(always)]
    fn energy<R: Real>(phi: R, c: &[R; MAX_BONDED]) -> R {
        c[0] * (R::lit(1.0) + (c[1] * phi - c[2]).cos())
    }

    fn samples() -> Vec<BondedSample> {
        let pi = std::f64::consts::PI;
        vec![
            BondedSample::numbers([5.9, 3.0, 0.0], -pi, pi),
            BondedSample::numbers([-12.0, 2.0, pi], -pi, pi),
        ]
    }
}
