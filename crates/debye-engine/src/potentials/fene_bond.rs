//! FENE bond.

use super::{BondPotential, BondedSample, MAX_BONDED, Mixing, Parameter, ParameterError, Parameters};
use crate::expr::Real;
use crate::record::{Conventions, Doc, Example};
use crate::system::Dimension;

crate::parameters! {
    /// A bond that cannot be longer than r₀.
    pub struct FeneBond { k, r0, epsilon, sigma }
}

impl BondPotential for FeneBond {
    const NAME: &'static str = "fene-bond";
    const DOC: Doc = Doc {
        title: "Finitely extensible nonlinear elastic (FENE) bond",
        formula: "u(r) = −½ k r₀² ln(1 − (r/r₀)²) + w(r)\n\
                  w(r) = 4ε [(σ/r)¹² − (σ/r)⁶] + ε for r < 2^(1/6) σ, else 0",
        remarks: &[
            "Valid for 0 < r < r₀, the longest the bond can be; a longer one stops the run.",
            "w is there with `epsilon` and `sigma` only. Give them where bonded beads are excluded from \
             the pair terms; leave them out where the pair terms act between bonded beads (`[exclusions] \
             bonds = 0`).",
        ],
        conventions: Conventions {
            gromacs: [
                "bonds of type 7: the logarithm alone",
                "k = k_b, r0 = b_m; no epsilon, no sigma",
            ],
            lammps: [
                "bond_style fene K R0 epsilon sigma: both parts; special_bonds fene excludes bonded pairs \
                 only",
                "k = K, r0 = R0, epsilon, sigma; `[exclusions] bonds = 1`",
            ],
            openmm: [
                "CustomBondForce with the formula",
                "as the formula is written there",
            ],
            amber_charmm: ["no such function", "–"],
        },
        references: &["Kremer & Grest, J. Chem. Phys. 92, 5057 (1990)"],
        examples: &[Example {
            values: &[30.0, 1.5, 1.0, 1.0],
            cutoff: 0.0,
            at: 0.97,
            energy: 20.24159001,
        }],
    };
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::quantity(
            "k",
            "stiffness: the spring constant at r = 0",
            Dimension::ENERGY_PER_AREA,
            Mixing::Explicit,
        ),
        Parameter::quantity("r0", "r₀, longest length", Dimension::LENGTH, Mixing::Explicit),
        Parameter::quantity(
            "epsilon",
            "ε of the repulsion between the bonded; 0 leaves it out",
            Dimension::ENERGY,
            Mixing::Explicit,
        )
        .or(0.0),
        Parameter::quantity(
            "sigma",
            "σ of that repulsion",
            Dimension::LENGTH,
            Mixing::Explicit,
        )
        .or(0.0),
    ];

    fn check(p: Parameters) -> Result<(), ParameterError> {
        let [k, r0, epsilon, sigma] = p.numbers();
        ParameterError::unless(k >= 0.0, "k", k, "a number ≥ 0")?;
        ParameterError::unless(r0 > 0.0, "r0", r0, "a length > 0")?;
        ParameterError::unless(epsilon >= 0.0, "epsilon", epsilon, "an energy ≥ 0")?;
        ParameterError::unless(
            sigma >= 0.0 && sigma < r0,
            "sigma",
            sigma,
            "a length ≥ 0 and < r0",
        )?;
        ParameterError::unless(
            epsilon == 0.0 || sigma > 0.0,
            "sigma",
            sigma,
            "a length > 0 where epsilon is not 0",
        )
    }

    fn coefficients(p: Parameters) -> [f64; MAX_BONDED] {
        let [k, r0, epsilon, sigma] = p.numbers();
        let s6 = sigma.powi(6);
        let end2 = 2.0_f64.cbrt() * sigma * sigma;
        [
            -0.5 * k * r0 * r0,
            r0.powi(-2),
            4.0 * epsilon * s6 * s6,
            4.0 * epsilon * s6,
            epsilon,
            end2,
            0.0,
            0.0,
        ]
    }

    #[inline(always)]
    fn energy<R: Real>(r: R, c: &[R; MAX_BONDED]) -> R {
        let r2 = r * r;
        let inverse6 = r2.recip().powi(3);
        let inside = (c[2] * inverse6 - c[3]).mul_add(inverse6, c[4]);
        let repulsion = R::select_lt(r2, c[5], inside, R::lit(0.0));
        c[0].mul_add((R::lit(1.0) - r2 * c[1]).ln(), repulsion)
    }

    fn limit(p: Parameters) -> Option<f64> {
        Some(p.number(1))
    }

    fn samples() -> Vec<BondedSample> {
        vec![
            BondedSample::numbers([30.0, 1.5, 1.0, 1.0], 0.7, 1.45),
            BondedSample::numbers([7.0, 2.0, 0.0, 0.0], 0.1, 1.9),
        ]
    }
}
