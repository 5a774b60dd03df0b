//! Morse: u(r) = D [(1 − e^(−α(r−r₀)))² − 1], which is −D at r₀ and vanishes at infinity.
//!
//! Valid for r ≥ 0, where it stays finite: choose α r₀ large enough that e^(α r₀) D is a barrier.
//! Morse, Phys. Rev. 34, 57 (1929). For a bond, whose energy is zero at r₀, see `morse-bond`.

use super::{Coefficients, Mixing, Pair, PairPotential, PairSample, Parameter, ParameterError, Parameters};
use super::{Preparation, Tail};
use crate::expr::Real;
use crate::system::Dimension;

/// The Morse potential between particles that are not bonded.
#[derive(Debug)]
pub struct Morse;

impl PairPotential for Morse {
    const NAME: &'static str = "morse";
    const EXPONENTIAL: bool = true;
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

    fn coefficients(p: Parameters, _: &mut Preparation) -> Coefficients<f64> {
        let [d, alpha, r0] = p.numbers();
        [d, alpha, r0, 0.0, 0.0, 0.0, 0.0, 0.0]
    }

    #[inline(always)]
    fn energy<R: Real>(pair: Pair<R>, c: &Coefficients<R>) -> R {
        let e = (c[1] * (c[2] - pair.r2.sqrt())).exp();
        c[0] * e * (e - R::lit(2.0))
    }

    fn tail(p: Parameters, cutoff: f64) -> Option<Tail> {
        let [d, alpha, r0] = p.numbers();
        let r = cutoff;
        let e = (-alpha * (r - r0)).exp();
        // ∫ r² e^(−k(r−r₀)) dr from the cut-off on
        let integral = |k: f64| (-k * (r - r0)).exp() * (r * r / k + 2.0 * r / (k * k) + 2.0 / k.powi(3));
        let energy = d * (integral(2.0 * alpha) - 2.0 * integral(alpha));
        Some(Tail::from_energy(energy, cutoff, d * e * (e - 2.0)))
    }

    fn samples() -> Vec<PairSample> {
        vec![
            PairSample::numbers([1.0, 6.0, 1.1], 0.8, 2.5),
            PairSample::numbers([33.2, 13.6, 0.287], 0.18, 1.0),
        ]
    }
}
