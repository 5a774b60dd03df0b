//! Morse bond: u(r) = D (1 − e^(−α(r−r₀)))², zero at r₀ and D for a broken bond.
//!
//! Valid for r ≥ 0. Near r₀ it is a spring of stiffness 2Dα². Morse, Phys. Rev. 34, 57 (1929).

use super::{BondPotential, BondedSample, MAX_BONDED, Mixing, Parameter, ParameterError, Parameters};
use crate::expr::Real;
use crate::system::Dimension;

/// A bond that can break.
#[derive(Debug)]
pub struct MorseBond;

impl BondPotential for MorseBond {
    const NAME: &'static str = "morse-bond";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::quantity("D", Dimension::ENERGY, Mixing::Explicit),
        Parameter::quantity("alpha", Dimension::PER_LENGTH, Mixing::Explicit),
        Parameter::quantity("r0", Dimension::LENGTH, Mixing::Explicit),
    ];

    fn check(p: Parameters) -> Result<(), ParameterError> {
        let [d, alpha, r0] = p.numbers();
        ParameterError::unless(d >= 0.0, "D", d, "an energy ≥ 0")?;
        ParameterError::unless(alpha > 0.0, "alpha", alpha, "an inverse length > 0")?;
        ParameterError::unless(r0 >= 0.0, "r0", r0, "a length ≥ 0")
    }

    fn coefficients(p: Parameters) -> [f64; MAX_BONDED] {
        let [d, alpha, r0] = p.numbers();
        [d, alpha, r0, 0.0, 0.0, 0.0, 0.0, 0.0]
    }

    #[inline(always)]
    fn energy<R: Real>(r: R, c: &[R; MAX_BONDED]) -> R {
        let e = (c[1] * (c[2] - r)).exp();
        c[0] * (R::lit(1.0) - e).squared()
    }

    fn samples() -> Vec<BondedSample> {
        vec![
            BondedSample::numbers([400.0, 20.0, 0.12], 0.08, 0.3),
            BondedSample::numbers([1.0, 2.0, 1.0], 0.5, 4.0),
        ]
    }
}
