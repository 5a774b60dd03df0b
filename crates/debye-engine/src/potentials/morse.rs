//! Morse, between particles that are not bonded.

use super::{Coefficients, Mixing, Pair, PairPotential, PairSample, Parameter, ParameterError, Parameters};
use super::{Preparation, Tail};
use crate::expr::Real;
use crate::record::{Conventions, Doc, Example};
use crate::system::Dimension;

crate::parameters! {
    /// The Morse potential between particles that are not bonded.
    pub struct Morse { d, alpha, r0 }
}

impl PairPotential for Morse {
    const NAME: &'static str = "morse";
    const DOC: Doc = Doc {
        title: "Morse, between particles that are not bonded",
        formula: "u(r) = D [(1 − exp(−α(r−r₀)))² − 1]",
        remarks: &[
            "−D at r₀ and 0 at infinity. Also written D [exp(−2α(r−r₀)) − 2 exp(−α(r−r₀))].",
            "Finite at r = 0: choose α r₀ large enough that u(0) ≈ D exp(2α r₀) is a barrier.",
            "A bond, whose energy is 0 at r₀, is `morse-bond`.",
        ],
        conventions: Conventions {
            gromacs: [
                "as a bond only (`morse-bond`); between pairs a table",
                "the same table: kind = \"tabulated\"",
            ],
            lammps: [
                "pair_style morse D0 alpha r0, the same form",
                "D = D0; alpha, r0 as they are",
            ],
            openmm: [
                "CustomNonbondedForce with the formula",
                "as the formula is written there",
            ],
            amber_charmm: ["no such function", "–"],
        },
        references: &["Morse, Phys. Rev. 34, 57 (1929)"],
        examples: &[Example {
            values: &[33.2, 13.6, 0.287],
            cutoff: 0.0,
            at: 0.35,
            energy: -22.20485366,
        }],
    };
    const EXPONENTIAL: bool = true;
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::quantity("D", "depth of the well", Dimension::ENERGY, Mixing::Explicit),
        Parameter::quantity(
            "alpha",
            "α, inverse width of the well",
            Dimension::PER_LENGTH,
            Mixing::Explicit,
        ),
        Parameter::quantity(
            "r0",
            "r₀, distance of the minimum",
            Dimension::LENGTH,
            Mixing::Explicit,
        ),
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
