//! Coulomb, cut off: u(r) = 1/(ε_r r), times k_e q₁q₂.
//!
//! Valid for r > 0. Cut plainly it is a poor model of charges in a periodic cell, because the
//! energy jumps wherever a charge crosses the cut-off; use it force-shifted (Fennell & Gezelter,
//! J. Chem. Phys. 124, 234104 (2006), with α = 0), with a reaction field, or for small clusters.

use super::Preparation;
use super::{Coefficients, Mixing, Pair, PairPotential, PairSample, Parameter, ParameterError, Parameters};
use crate::expr::{Dual, Real};
use crate::system::Dimension;

/// The bare Coulomb potential.
#[derive(Debug)]
pub struct Coulomb;

impl PairPotential for Coulomb {
    const NAME: &'static str = "coulomb";
    const PARAMETERS: &'static [Parameter] =
        &[Parameter::quantity("epsilon_r", Dimension::NONE, Mixing::Same).or(1.0)];
    const USES_CHARGES: bool = true;

    fn check(p: Parameters) -> Result<(), ParameterError> {
        let [epsilon_r] = p.numbers();
        ParameterError::unless(epsilon_r > 0.0, "epsilon_r", epsilon_r, "a number > 0")
    }

    fn coefficients(p: Parameters, _: &mut Preparation) -> Coefficients<f64> {
        [p.number(0).recip(), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    }

    #[inline(always)]
    fn energy<R: Real>(pair: Pair<R>, c: &Coefficients<R>) -> R {
        c[0] * pair.r2.sqrt().recip()
    }

    /// du/d(r²) = −u/(2r²), with one square root and one inverse in all.
    #[inline(always)]
    fn energy_and_slope<R: Real>(pair: Pair<R>, c: &Coefficients<R>) -> Dual<R> {
        let inverse = pair.r2.sqrt().recip();
        let value = c[0] * inverse;
        Dual {
            value,
            derivative: value * inverse * (inverse * R::lit(-0.5)),
        }
    }

    fn samples() -> Vec<PairSample> {
        vec![
            PairSample::numbers([1.0], 0.1, 1.2),
            PairSample::numbers([78.4], 0.1, 3.0),
        ]
    }
}
