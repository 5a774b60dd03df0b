//! The short-range part of an Ewald sum: u(r) = erfc(α r)/(ε_r r), times k_e q₁q₂.
//!
//! Valid for r > 0. It is a term by itself (Wolf's damped Coulomb, when shifted), and half of `ewald`, `pme` and `p3m`,
//! which add the rest of 1/r on a mesh or by waves. Essmann et al., J. Chem. Phys. 103, 8577 (1995).

use super::Preparation;
use super::{Coefficients, Mixing, Pair, PairPotential, PairSample, Parameter, ParameterError, Parameters};
use crate::expr::{Dual, Real};
use crate::system::Dimension;

/// Coulomb, screened by a Gaussian cloud.
#[derive(Debug)]
pub struct CoulombEwald;

impl PairPotential for CoulombEwald {
    const NAME: &'static str = "coulomb-ewald";
    const TUNED: bool = true;
    const EXPONENTIAL: bool = true;
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::quantity("alpha", Dimension::PER_LENGTH, Mixing::Same),
        Parameter::quantity("epsilon_r", Dimension::NONE, Mixing::Same).or(1.0),
    ];
    const USES_CHARGES: bool = true;

    fn check(p: Parameters) -> Result<(), ParameterError> {
        let [alpha, epsilon_r] = p.numbers();
        ParameterError::unless(alpha > 0.0, "alpha", alpha, "an inverse length > 0")?;
        ParameterError::unless(epsilon_r > 0.0, "epsilon_r", epsilon_r, "a number > 0")
    }

    fn coefficients(p: Parameters, _: &mut Preparation) -> Coefficients<f64> {
        let [alpha, epsilon_r] = p.numbers();
        let strength = alpha / epsilon_r;
        let slope = -0.5 * strength * alpha * alpha;
        [strength, alpha * alpha, slope, 0.0, 0.0, 0.0, 0.0, 0.0]
    }

    #[inline(always)]
    fn energy<R: Real>(pair: Pair<R>, c: &Coefficients<R>) -> R {
        let x = (c[1] * pair.r2).sqrt();
        c[0] * x.erfc() / x
    }

    /// With x = α²r²: u = α s(x)/ε_r and du/d(r²) = −α³ p(x)/(2 ε_r).
    #[inline(always)]
    fn energy_and_slope<R: Real>(pair: Pair<R>, c: &Coefficients<R>) -> Dual<R> {
        let x = c[1] * pair.r2;
        Dual {
            value: c[0] * x.screened(),
            derivative: c[2] * x.screened_pull(),
        }
    }

    fn samples() -> Vec<PairSample> {
        vec![
            PairSample::numbers([3.123_4, 1.0], 0.1, 1.0),
            PairSample::numbers([0.3, 2.0], 0.8, 10.0),
        ]
    }
}
