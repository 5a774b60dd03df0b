//! Cosine-squared angle: u(θ) = ½ k (cos θ − cos θ₀)².
//!
//! Valid for 0 ≤ θ ≤ π, and smooth in a straight line too. For small deviations it is a harmonic
//! angle of stiffness k sin²θ₀; at θ₀ = 0 or π it is of fourth order.
//! GROMOS-96: van Gunsteren et al., Biomolecular Simulation: The GROMOS96 Manual (1996).

use super::{AnglePotential, BondedSample, MAX_BONDED, Mixing, Parameter, ParameterError, Parameters};
use crate::expr::Real;
use crate::system::Dimension;

/// A spring in the cosine of the angle.
#[derive(Debug)]
pub struct CosineSquaredAngle;

impl AnglePotential for CosineSquaredAngle {
    const NAME: &'static str = "cosine-squared-angle";
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
        [0.5 * k, theta0.cos(), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    }

    #[inline(always)]
    fn energy<R: Real>(theta: R, c: &[R; MAX_BONDED]) -> R {
        c[0] * (theta.cos() - c[1]).squared()
    }

    fn samples() -> Vec<BondedSample> {
        vec![
            BondedSample::numbers([520.0, 1.9], 0.2, 3.1),
            BondedSample::numbers([25.0, std::f64::consts::PI], 0.5, 3.1),
        ]
    }
}
