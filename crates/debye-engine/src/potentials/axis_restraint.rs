//! A restraint of the axis of a particle, such as its dipole, to the direction of another particle.

use super::{AxisPotential, BondedSample, MAX_BONDED, Mixing, Parameter, ParameterError, Parameters};
use crate::expr::Real;
use crate::record::{Conventions, Doc, Example};
use crate::system::Dimension;

crate::parameters! {
    /// A spring in the cosine of the angle between an axis and a direction.
    pub struct AxisRestraint { k, gamma0 }
}

impl AxisPotential for AxisRestraint {
    const NAME: &'static str = "axis-restraint";
    const DOC: Doc = Doc {
        title: "Restraint of an axis, such as a dipole",
        formula: "u(c) = ½ k (c − cos γ₀)², c = cos γ = z₁·(r₂ − r₁)/|r₂ − r₁|",
        remarks: &[
            "z₁ is the axis z of the first particle, along which its dipole points; the second particle is any other. The \
             first gets a torque, and both the couple that balances it.",
            "With the factor ½. In LAMMPS data these are angles whose third atom is not used: name their kind in `types`.",
        ],
        conventions: Conventions {
            gromacs: ["no", "–"],
            lammps: [
                "angle_style dipole: K (cos γ − cos γ₀)², γ₀ in degrees; the third atom of an angle is not used",
                "k = 2K; gamma0 with \"deg\"",
            ],
            openmm: ["no", "–"],
            amber_charmm: ["no", "–"],
        },
        references: &["Orsi & Essex, PLoS ONE 6, e28637 (2011)"],
        examples: &[Example {
            values: &[10.0, 0.0],
            cutoff: 0.0,
            at: 0.25,
            energy: 2.8125,
        }],
    };
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::quantity("k", "stiffness", Dimension::ENERGY, Mixing::Explicit),
        Parameter::angle("gamma0", "γ₀, angle at rest, 0 to π").or(0.0),
    ];

    fn check(p: Parameters) -> Result<(), ParameterError> {
        let [k, gamma0] = p.numbers();
        ParameterError::unless(k >= 0.0, "k", k, "an energy ≥ 0")?;
        let fits = (0.0..=std::f64::consts::PI).contains(&gamma0);
        ParameterError::unless(fits, "gamma0", gamma0, "an angle from 0 to π (180°)")
    }

    fn coefficients(p: Parameters) -> [f64; MAX_BONDED] {
        let [k, gamma0] = p.numbers();
        [0.5 * k, gamma0.cos(), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    }

    #[inline(always)]
    fn energy<R: Real>(cosine: R, c: &[R; MAX_BONDED]) -> R {
        c[0] * (cosine - c[1]).squared()
    }

    fn samples() -> Vec<BondedSample> {
        vec![
            BondedSample::numbers([10.0, 0.0], -1.0, 1.0),
            BondedSample::numbers([4.0, 1.2], -1.0, 1.0),
        ]
    }
}
