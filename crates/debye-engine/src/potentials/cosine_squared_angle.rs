//! Cosine-squared angle.

use super::{AnglePotential, BondedSample, MAX_BONDED, Mixing, Parameter, ParameterError, Parameters};
use crate::expr::Real;
use crate::record::{Conventions, Doc, Example};
use crate::system::Dimension;

crate::parameters! {
    /// A spring in the cosine of the angle.
    pub struct CosineSquaredAngle { k, theta0 }
}

impl AnglePotential for CosineSquaredAngle {
    const NAME: &'static str = "cosine-squared-angle";
    const DOC: Doc = Doc {
        title: "Cosine-squared angle",
        formula: "u(θ) = ½ k (cos θ − cos θ₀)²",
        remarks: &[
            "With the factor ½. Smooth in a straight line too. For small deviations it is \
             `harmonic-angle` with k sin²θ₀; at θ₀ = 0 or π it is of fourth order.",
        ],
        conventions: Conventions {
            gromacs: [
                "angles of type 2 (GROMOS-96): ½ k (cos θ − cos θ₀)², θ₀ in degrees; type 10 divides by \
                 sin²θ and is another function",
                "k as it is",
            ],
            lammps: [
                "angle_style cosine/squared: K (cos θ − cos θ₀)², θ₀ in degrees",
                "k = 2K",
            ],
            openmm: [
                "CustomAngleForce with the formula",
                "as the formula is written there",
            ],
            amber_charmm: ["not in their standard force fields", "–"],
        },
        references: &[
            "GROMOS-96: van Gunsteren et al., Biomolecular Simulation: The GROMOS96 Manual and User \
             Guide, vdf, Zürich (1996)",
        ],
        examples: &[Example {
            values: &[520.0, 1.9],
            cutoff: 0.0,
            at: 2.0,
            energy: 2.241842859,
        }],
    };
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::quantity("k", "stiffness", Dimension::ENERGY, Mixing::Explicit),
        Parameter::angle("theta0", "θ₀, angle at rest, 0 to π"),
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
