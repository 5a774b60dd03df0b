//! Yukawa, or screened Coulomb: u(r) = A e^(−κr) / r.
//!
//! Valid for r > 0 and κ ≥ 0. Yukawa, Proc. Phys.-Math. Soc. Japan 17, 48 (1935); with
//! A = k_e q₁q₂ and 1/κ the Debye length, Debye & Hückel, Phys. Z. 24, 185 (1923).

use super::{Coefficients, Mixing, Pair, PairPotential, PairSample, Parameter, ParameterError, Parameters};
use super::{Preparation, Tail, energy_times_length};
use crate::expr::Real;
use crate::system::Dimension;

/// The Yukawa potential.
#[derive(Debug)]
pub struct Yukawa;

impl PairPotential for Yukawa {
    const NAME: &'static str = "yukawa";
    const EXPONENTIAL: bool = true;
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::quantity("A", energy_times_length(1), Mixing::Explicit),
        Parameter::quantity("kappa", Dimension::PER_LENGTH, Mixing::Same),
    ];

    fn check(p: Parameters) -> Result<(), ParameterError> {
        let [a, kappa] = p.numbers();
        ParameterError::unless(a.is_finite(), "A", a, "a number")?;
        ParameterError::unless(kappa >= 0.0, "kappa", kappa, "an inverse length ≥ 0")
    }

    fn coefficients(p: Parameters, _: &mut Preparation) -> Coefficients<f64> {
        let [a, kappa] = p.numbers();
        [a, -kappa, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    }

    #[inline(always)]
    fn energy<R: Real>(pair: Pair<R>, c: &Coefficients<R>) -> R {
        let inverse = pair.r2.sqrt().recip();
        let r = pair.r2 * inverse;
        c[0] * (c[1] * r).exp() * inverse
    }

    fn tail(p: Parameters, cutoff: f64) -> Option<Tail> {
        let [a, kappa] = p.numbers();
        let e = a * (-kappa * cutoff).exp();
        let energy = e * (cutoff / kappa + kappa.powi(-2));
        (kappa > 0.0).then(|| Tail::from_energy(energy, cutoff, e / cutoff))
    }

    fn samples() -> Vec<PairSample> {
        vec![
            PairSample::numbers([1.0, 1.0], 0.3, 5.0),
            PairSample::numbers([-138.9, 3.0], 0.15, 1.4),
        ]
    }
}
