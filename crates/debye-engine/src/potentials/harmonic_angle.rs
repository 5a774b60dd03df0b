//! Harmonic angle.

use super::{AnglePotential, BondedSample, MAX_BONDED, Mixing, Parameter, ParameterError, Parameters};
use crate::expr::Real;
use crate::record::{Conventions, Doc, Example};
use crate::system::Dimension;

crate::parameters! {
    /// A spring in the angle.
    pub struct HarmonicAngle { k, theta0 }
}

impl AnglePotential for HarmonicAngle {
    const NAME: &'static str = "harmonic-angle";
    const DOC: Doc = Doc {
        title: "Harmonic angle",
        formula: "u(θ) = ½ k (θ − θ₀)²",
        remarks: &[
            "With the factor ½. θ in radians: k is an energy per rad², written as an energy.",
            "Valid for 0 ≤ θ ≤ π; where θ₀ < π the force is not defined in a straight line, because the \
             direction in which to bend is not.",
        ],
        conventions: Conventions {
            gromacs: [
                "angles of type 1: ½ k_θ (θ − θ₀)²; θ₀ in degrees, k_θ per rad²",
                "k = k_θ; theta0 = \"109.5 deg\"",
            ],
            lammps: [
                "angle_style harmonic: K (θ − θ₀)²; θ₀ in degrees, K per rad²",
                "k = 2K; theta0 with \"deg\"",
            ],
            openmm: [
                "HarmonicAngleForce: ½ k (θ − θ₀)², in radians",
                "k, theta0 as they are",
            ],
            amber_charmm: [
                "K_θ (θ − θ₀)²; θ₀ in degrees, K_θ per rad². CHARMM adds Urey–Bradley K_UB (S − S₀)²",
                "k = 2K_θ; theta0 with \"deg\"; Urey–Bradley as `harmonic-bond` with k = 2K_UB",
            ],
        },
        references: &["AMBER's form: Cornell et al., J. Am. Chem. Soc. 117, 5179 (1995), Eq. 1"],
        examples: &[Example {
            values: &[400.0, 1.91],
            cutoff: 0.0,
            at: 2.01,
            energy: 2.0,
        }],
    };
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::quantity("k", "stiffness, per rad²", Dimension::ENERGY, Mixing::Explicit),
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
