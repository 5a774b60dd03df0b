//! Harmonic angle: u(θ) = ½ k (θ − θ₀)².
//!
//! Valid for 0 ≤ θ ≤ π; where θ₀ < π the force is not defined in a straight line, because the
//! direction in which to bend is not.

use super::{AnglePotential, BondedSample, MAX_BONDED, Mixing, Parameter, ParameterError, Parameters};
use crate::expr::Real;
use crate::system::Dimension;

/// A spring in the angle.
#[derive(Debug)]
pub struct HarmonicAngle;

impl AnglePotential for HarmonicAngle {
    const NAME: &'static str = "harmonic-angle";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::quantity("k", Dimension::ENERGY, Mixing::Explicit),
        Parameter::quantity("theta0", Dimension::NONE, Mixing::Explicit),
    ];

    fn check(p: Parameters) -> Result<(), ParameterError> {
        let [k, theta0] = p.numbers();
        ParameterError::unless(k >= 0.0, "k", k, "an energy ≥ 0")?;
        let fits = (0.0..=std::f64::consts::PI).contains(&theta0);
        ParameterError::unless(fits, "theta0", theta0, "an angle from 0 to π (180°)")
    }

    fn coefficients(p: Parameters) -> [f64; MAX_BONDED] {
        let [k, theta0] = p.numbers();
        [0.5 * k, theta0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    }

    #[inline(always)]
    fn energy<R: Real>(theta: R, c: &[R; MAX_BONDED]) -> R {
        c[0] * (theta - c[1]).squared()
    }

    fn samples() -> Vec<BondedSample> {
        vec![BondedSample::numbers([400.0, 1.91], 0.3, 3.1)]
    }
}
