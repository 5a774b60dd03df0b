//! Morse bond.

use super::{BondPotential, BondedSample, MAX_BONDED, Mixing, Parameter, ParameterError, Parameters};
use crate::expr::Real;
use crate::record::{Conventions, Doc, Example};
use crate::system::Dimension;

crate::parameters! {
    /// A bond that can break.
    pub struct MorseBond { d, alpha, r0 }
}

impl BondPotential for MorseBond {
    const NAME: &'static str = "morse-bond";
    const DOC: Doc = Doc {
        title: "Morse bond",
        formula: "u(r) = D (1 − exp(−α(r−r₀)))²",
        remarks: &[
            "0 at r₀ and D for a broken bond. Valid for r ≥ 0. Near r₀ it is `harmonic-bond` with k = \
             2Dα².",
        ],
        conventions: Conventions {
            gromacs: [
                "bonds of type 3, the same form; parameters in the order b, D, β",
                "r0 = b, alpha = β; D as it is",
            ],
            lammps: [
                "bond_style morse D alpha r0, the same form",
                "D, alpha, r0 as they are",
            ],
            openmm: [
                "CustomBondForce with the formula",
                "as the formula is written there",
            ],
            amber_charmm: ["not in their standard force fields", "–"],
        },
        references: &["Morse, Phys. Rev. 34, 57 (1929)"],
        examples: &[Example {
            values: &[400.0, 20.0, 0.12],
            cutoff: 0.0,
            at: 0.15,
            energy: 81.42837589,
        }],
    };
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::quantity(
            "D",
            "energy of a broken bond",
            Dimension::ENERGY,
            Mixing::Explicit,
        ),
        Parameter::quantity(
            "alpha",
            "α, inverse width of the well",
            Dimension::PER_LENGTH,
            Mixing::Explicit,
        ),
        Parameter::quantity("r0", "r₀, length at rest", Dimension::LENGTH, Mixing::Explicit),
    ];

    fn check(p: Parameters) -> Result<(), ParameterError> {
        let [d, alpha, r0] = p.numbers();
        ParameterError::unless(d >= 0.0, "D", d, "an energy ≥ 0")?;
        ParameterError::unless(alpha > 0.0, "alpha", alpha, "an inverse length > 0")?;
        ParameterError::unless(r0 >= 0.0, "r0", r0, "a length ≥ 0")
    }

    fn coefficients(p: Parameters) -> [f64; MAX_BONDED] {
        let [d, alpha, r0] = p.numbers();
        [d, alpha, r0, 0.0, 0.0, 0.0, 0.0, 0.0]
    }

    #[inline(always)]
    fn energy<R: Real>(r: R, c: &[R; MAX_BONDED]) -> R {
        let e = (c[1] * (c[2] - r)).exp();
        c[0] * (R::lit(1.0) - e).squared()
    }

    fn samples() -> Vec<BondedSample> {
        vec![
            BondedSample::numbers([400.0, 20.0, 0.12], 0.08, 0.3),
            BondedSample::numbers([1.0, 2.0, 1.0], 0.5, 4.0),
        ]
    }
}
