//! Yukawa.

use super::{Coefficients, Mixing, Pair, PairPotential, PairSample, Parameter, ParameterError, Parameters};
use super::{Preparation, Tail, energy_times_length};
use crate::expr::Real;
use crate::record::{Conventions, Doc, Example};
use crate::system::Dimension;

crate::parameters! {
    /// The Yukawa potential.
    pub struct Yukawa { a, kappa }
}

impl PairPotential for Yukawa {
    const NAME: &'static str = "yukawa";
    const DOC: Doc = Doc {
        title: "Yukawa, or screened Coulomb",
        formula: "u(r) = A exp(−κr)/r",
        remarks: &[
            "Valid for r > 0 and κ ≥ 0. Charges of the particles do not enter.",
            "Debye–Hückel: A = k_e q₁q₂/ε_r with k_e = 138.935458 kJ/mol nm/e², and 1/κ the Debye length.",
        ],
        conventions: Conventions {
            gromacs: [
                "no such function; a table",
                "the same table: kind = \"tabulated\"",
            ],
            lammps: [
                "pair_style yukawa kappa cutoff, pair_coeff A: the same form, A an energy times a length",
                "A, kappa as they are",
            ],
            openmm: [
                "CustomNonbondedForce with the formula",
                "as the formula is written there",
            ],
            amber_charmm: ["as salt screening of generalized Born only", "–"],
        },
        references: &[
            "Yukawa, Proc. Phys.-Math. Soc. Japan 17, 48 (1935)",
            "Debye & Hückel, Phys. Z. 24, 185 (1923)",
        ],
        examples: &[Example {
            values: &[-138.9, 3.0],
            cutoff: 0.0,
            at: 0.5,
            energy: -61.98555849,
        }],
    };
    const EXPONENTIAL: bool = true;
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::quantity(
            "A",
            "strength, positive for repulsion",
            energy_times_length(1),
            Mixing::Explicit,
        ),
        Parameter::quantity(
            "kappa",
            "κ, inverse screening length",
            Dimension::PER_LENGTH,
            Mixing::Same,
        ),
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
