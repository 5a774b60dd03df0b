//! The real-space part of an Ewald sum.

use super::Preparation;
use super::{Coefficients, Mixing, Pair, PairPotential, PairSample, Parameter, ParameterError, Parameters};
use crate::expr::{Dual, Real};
use crate::record::{Conventions, Doc, Example};
use crate::system::Dimension;

crate::parameters! {
    /// Coulomb, screened by a Gaussian cloud.
    pub struct CoulombEwald { alpha, epsilon_r }
}

impl PairPotential for CoulombEwald {
    const NAME: &'static str = "coulomb-ewald";
    const DOC: Doc = Doc {
        title: "Real-space part of an Ewald sum",
        formula: "u(r) = k_e q₁q₂ erfc(α r)/(ε_r r)",
        remarks: &[
            "Valid for r > 0. It is the pair term of `ewald`, `pme` and `p3m`, which write it themselves \
             and add the rest; do not give it beside them.",
            "Alone and shifted it is the pair part of Wolf's sum, without Wolf's self-energy (a \
             constant).",
        ],
        conventions: Conventions {
            gromacs: ["β, from ewald-rtol: erfc(β rcoulomb) = ewald-rtol", "alpha = β"],
            lammps: [
                "g_ewald (kspace_modify gewald); alpha of coul/wolf",
                "alpha as it is",
            ],
            openmm: ["α = √(−ln(2δ))/r_c, δ the Ewald error tolerance", "alpha = α"],
            amber_charmm: [
                "AMBER: ew_coeff, from dsum_tol: erfc(ew_coeff r_c)/r_c = dsum_tol; CHARMM: KAPPA",
                "alpha = ew_coeff = KAPPA",
            ],
        },
        references: &[
            "Essmann et al., J. Chem. Phys. 103, 8577 (1995)",
            "alone: Wolf et al., J. Chem. Phys. 110, 8254 (1999)",
        ],
        examples: &[Example {
            values: &[3.1234, 1.0],
            cutoff: 0.0,
            at: 0.4,
            energy: 0.193128416,
        }],
    };
    const TUNED: bool = true;
    const EXPONENTIAL: bool = true;
    // There it is a table or a quotient of polynomials.
    const EXPONENTIAL_IN_SINGLE: bool = false;
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::quantity(
            "alpha",
            "α, splitting parameter",
            Dimension::PER_LENGTH,
            Mixing::Same,
        ),
        Parameter::quantity(
            "epsilon_r",
            "ε_r, relative permittivity",
            Dimension::NONE,
            Mixing::Same,
        )
        .or(1.0),
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
        let derivative = -0.5 * strength * alpha * alpha;
        [strength, alpha * alpha, derivative, 0.0, 0.0, 0.0, 0.0, 0.0]
    }

    #[inline(always)]
    fn energy<R: Real>(pair: Pair<R>, c: &Coefficients<R>) -> R {
        let x = (c[1] * pair.r2).sqrt();
        c[0] * x.erfc() / x
    }

    /// With x = α²r²: u = α s(x)/ε_r and du/d(r²) = −α³ p(x)/(2 ε_r).
    #[inline(always)]
    fn energy_and_derivative<R: Real>(pair: Pair<R>, c: &Coefficients<R>) -> Dual<R> {
        let x = c[1] * pair.r2;
        Dual {
            value: c[0] * x.screened(),
            derivative: c[2] * x.real_space_force(),
        }
    }

    fn samples() -> Vec<PairSample> {
        vec![
            PairSample::numbers([3.123_4, 1.0], 0.1, 1.0),
            PairSample::numbers([0.3, 2.0], 0.8, 10.0),
        ]
    }
}
