//! Buckingham: u(r) = A exp(−r/ρ) − C/r⁶.
//!
//! Valid beyond its inner maximum only: for r → 0 the exponential stays at A while −C/r⁶ falls to
//! −∞, so particles that come closer than the maximum collapse onto each other. Thermal motion does
//! not reach it for usual parameters, but a random start, a high temperature or a long time step may.
//! Buckingham, Proc. R. Soc. Lond. A 168, 264 (1938).

use super::{Coefficients, Mixing, Pair, PairPotential, PairSample, Parameter, ParameterError, Parameters};
use super::{Preparation, Tail, energy_times_length};
use crate::expr::Real;
use crate::system::Dimension;

/// Exponential repulsion and dispersion.
#[derive(Debug)]
pub struct Buckingham;

impl PairPotential for Buckingham {
    const NAME: &'static str = "buckingham";
    const EXPONENTIAL: bool = true;
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::quantity("A", Dimension::ENERGY, Mixing::Explicit),
        Parameter::quantity("rho", Dimension::LENGTH, Mixing::Explicit),
        Parameter::quantity("C", energy_times_length(6), Mixing::Explicit),
    ];

    fn check(p: Parameters) -> Result<(), ParameterError> {
        let [a, rho, c] = p.numbers();
        ParameterError::unless(a >= 0.0, "A", a, "an energy ≥ 0")?;
        ParameterError::unless(rho > 0.0, "rho", rho, "a length > 0")?;
        ParameterError::unless(c >= 0.0, "C", c, "a number ≥ 0")
    }

    fn coefficients(p: Parameters, _: &mut Preparation) -> Coefficients<f64> {
        let [a, rho, c] = p.numbers();
        [a, -1.0 / rho, c, 0.0, 0.0, 0.0, 0.0, 0.0]
    }

    #[inline(always)]
    fn energy<R: Real>(pair: Pair<R>, c: &Coefficients<R>) -> R {
        let repulsion = c[0] * (c[1] * pair.r2.sqrt()).exp();
        repulsion - c[2] * pair.r2.recip().powi(3)
    }

    fn tail(p: Parameters, cutoff: f64) -> Option<Tail> {
        let [a, rho, c] = p.numbers();
        let (r, exponential) = (cutoff, a * (-cutoff / rho).exp());
        let energy = exponential * rho * (r * r + 2.0 * r * rho + 2.0 * rho * rho) - c / (3.0 * r.powi(3));
        Some(Tail::from_energy(energy, cutoff, exponential - c / r.powi(6)))
    }

    fn samples() -> Vec<PairSample> {
        vec![
            PairSample::numbers([1000.0, 0.1, 1.0], 0.6, 2.5),
            PairSample::numbers([1.5e5, 0.03, 3e-3], 0.2, 1.2),
        ]
    }
}
