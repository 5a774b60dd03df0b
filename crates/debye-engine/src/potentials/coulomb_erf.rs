//! The smooth part of Coulomb's law taken out again: u(r) = −erf(α r)/(ε_r r), times k_e q₁q₂.
//!
//! Between pairs that are excluded from an Ewald sum, whose reciprocal vectors know nothing of exclusions. At r = 0 it
//! is −2α/√π.

use super::Preparation;
use super::{
    Coefficients, Pair, PairFamily, PairPotential, PairSample, Parameter, ParameterError, Parameters,
};
use super::{CoulombEwald, PairAdapter};
use crate::expr::{Dual, Real};
use crate::record::{Doc, Example};

/// What an Ewald sum has too much of between excluded pairs. Not a term by itself, so it is in no register.
#[derive(Debug)]
pub struct CoulombErf;

/// [`CoulombErf`] behind a pointer.
pub static COULOMB_ERF: &dyn PairFamily = &PairAdapter::<CoulombErf>(std::marker::PhantomData);

impl PairPotential for CoulombErf {
    const NAME: &'static str = "coulomb-erf";
    const DOC: Doc = Doc {
        title: "Correction of an Ewald sum between excluded pairs",
        formula: "u(r) = −k_e q₁q₂ erf(α r)/(ε_r r)",
        examples: &[Example {
            values: &[3.0, 1.0],
            cutoff: 0.0,
            at: 0.2,
            energy: -3.019280454,
        }],
        ..CoulombEwald::DOC
    };
    const PARAMETERS: &'static [Parameter] = CoulombEwald::PARAMETERS;
    const USES_CHARGES: bool = true;

    fn check(p: Parameters) -> Result<(), ParameterError> {
        CoulombEwald::check(p)
    }

    fn coefficients(p: Parameters, _: &mut Preparation) -> Coefficients<f64> {
        let [alpha, epsilon_r] = p.numbers();
        let derivative = alpha * std::f64::consts::FRAC_2_SQRT_PI;
        [epsilon_r.recip(), alpha, derivative, 0.0, 0.0, 0.0, 0.0, 0.0]
    }

    #[inline(always)]
    fn energy<R: Real>(pair: Pair<R>, c: &Coefficients<R>) -> R {
        let r = pair.r2.sqrt();
        c[0] * ((c[1] * r).erfc() - R::lit(1.0)) / r
    }

    /// Below α r = 0.3 by the series of erf, where the difference of erfc and one has lost its digits.
    #[inline(always)]
    fn energy_and_derivative<R: Real>(pair: Pair<R>, c: &Coefficients<R>) -> Dual<R> {
        let one = R::lit(1.0);
        let x2 = c[1] * c[1] * pair.r2;
        let inverse = pair.r2.sqrt().recip();
        let gaussian = (-x2).exp();
        let far = (c[1] * pair.r2 * inverse).erfc_beside(gaussian) - one;
        let value = c[0] * (far * inverse);
        let steep = (c[0] * c[2]).mul_add(gaussian, value);
        let derivative = steep * (inverse * inverse * R::lit(-0.5));
        // erf(x)/x = 2/√π Σ (−x²)ⁿ/(n! (2n+1)), and its derivative by x².
        let (mut sum, mut rise) = (R::lit(0.0), R::lit(0.0));
        let mut coefficient = 1.0;
        let terms: [f64; 10] = std::array::from_fn(|n| {
            if n > 0 {
                coefficient *= -1.0 / n as f64;
            }
            coefficient / (2.0 * n as f64 + 1.0)
        });
        for n in (0..10).rev() {
            sum = sum.mul_add(x2, R::lit(terms[n]));
            if n > 0 {
                rise = rise.mul_add(x2, R::lit(n as f64 * terms[n]));
            }
        }
        let near = c[0] * c[2];
        let limit = R::lit(0.09);
        Dual {
            value: R::select_lt(x2, limit, -(near * sum), value),
            derivative: R::select_lt(x2, limit, -(near * rise * c[1] * c[1]), derivative),
        }
    }

    fn samples() -> Vec<PairSample> {
        vec![PairSample::numbers([3.0, 1.0], 0.05, 1.0)]
    }
}
