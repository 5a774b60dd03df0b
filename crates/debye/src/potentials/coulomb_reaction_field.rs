//! Coulomb with a reaction field: u(r) = (1/ε_r) [1/r + k_rf r² − c_rf], times k_e q₁q₂, with
//! k_rf = (ε_rf − ε_r)/(2ε_rf + ε_r)/r_c³ and c_rf = 1/r_c + k_rf r_c².
//!
//! What lies beyond the cut-off r_c is a continuum of permittivity ε_rf; `epsilon_rf = 0` stands for
//! ∞ (a conductor), as it does in GROMACS. The energy is zero at r_c; for ε_rf = ∞ so is the force.
//! Valid for 0 < r ≤ r_c; cut it plainly. Excluded pairs feel the reaction field in a consistent
//! model; that is a term of their own, not of this formula.
//! Tironi et al., J. Chem. Phys. 102, 5451 (1995), without salt.

use super::Preparation;
use super::{Coefficients, Mixing, Pair, PairPotential, PairSample, Parameter, ParameterError, Parameters};
use crate::expr::{Dual, Real};
use crate::system::Dimension;

/// Coulomb inside a dielectric continuum.
#[derive(Debug)]
pub struct CoulombReactionField;

impl PairPotential for CoulombReactionField {
    const NAME: &'static str = "coulomb-reaction-field";
    const TUNED: bool = true;
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::quantity("epsilon_rf", Dimension::NONE, Mixing::Same).or(0.0),
        Parameter::quantity("epsilon_r", Dimension::NONE, Mixing::Same).or(1.0),
    ];
    const USES_CHARGES: bool = true;

    fn check(p: Parameters) -> Result<(), ParameterError> {
        let [epsilon_rf, epsilon_r] = p.numbers();
        ParameterError::unless(
            epsilon_rf >= 0.0,
            "epsilon_rf",
            epsilon_rf,
            "a number > 0, or 0 for infinity",
        )?;
        ParameterError::unless(epsilon_r > 0.0, "epsilon_r", epsilon_r, "a number > 0")
    }

    fn coefficients(p: Parameters, preparation: &mut Preparation) -> Coefficients<f64> {
        let [epsilon_rf, epsilon_r] = p.numbers();
        let rc = preparation.cutoff;
        let infinite = epsilon_rf == 0.0 || epsilon_rf.is_infinite();
        let ratio = if infinite {
            0.5
        } else {
            (epsilon_rf - epsilon_r) / (2.0 * epsilon_rf + epsilon_r)
        };
        let k_rf = ratio / rc.powi(3);
        let c_rf = 1.0 / rc + k_rf * rc * rc;
        [
            1.0 / epsilon_r,
            k_rf / epsilon_r,
            c_rf / epsilon_r,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
        ]
    }

    #[inline(always)]
    fn energy<R: Real>(pair: Pair<R>, c: &Coefficients<R>) -> R {
        c[0].mul_add(pair.r2.sqrt().recip(), c[1].mul_add(pair.r2, -c[2]))
    }

    /// du/d(r²) = −1/(2 ε_r r³) + k_rf/ε_r, with one square root and one inverse in all.
    #[inline(always)]
    fn energy_and_slope<R: Real>(pair: Pair<R>, c: &Coefficients<R>) -> Dual<R> {
        let inverse = pair.r2.sqrt().recip();
        let direct = c[0] * inverse;
        Dual {
            value: direct + c[1].mul_add(pair.r2, -c[2]),
            derivative: (direct * inverse).mul_add(inverse * R::lit(-0.5), c[1]),
        }
    }

    fn samples() -> Vec<PairSample> {
        vec![
            PairSample::numbers([0.0, 1.0], 0.1, 1.2),
            PairSample::numbers([78.4, 1.0], 0.1, 0.9),
            PairSample::numbers([61.0, 2.0], 0.2, 1.4),
        ]
    }
}
