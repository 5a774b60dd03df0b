//! Harmonic bond.

use super::{BondPotential, BondedSample, MAX_BONDED, Mixing, Parameter, ParameterError, Parameters};
use crate::expr::Real;
use crate::record::{Conventions, Doc, Example};
use crate::system::Dimension;

crate::parameters! {
    /// A harmonic spring between two particles.
    pub struct HarmonicBond { k, r0 }
}

impl BondPotential for HarmonicBond {
    const NAME: &'static str = "harmonic-bond";
    const DOC: Doc = Doc {
        title: "Harmonic bond",
        formula: "u(r) = ½ k (r − r₀)²",
        remarks: &["With the factor ½: the force is −k (r − r₀)."],
        conventions: Conventions {
            gromacs: ["bonds of type 1: ½ k_b (r − b)²", "k = k_b"],
            lammps: ["bond_style harmonic: K (r − r₀)²", "k = 2K"],
            openmm: ["HarmonicBondForce: ½ k (r − r₀)²", "k as it is"],
            amber_charmm: [
                "K_b (r − r₀)²; in kcal/mol/Å²",
                "k = 2K_b; K_b = 340 kcal/mol/Å² is k = 284512 kJ/mol/nm²",
            ],
        },
        references: &["AMBER's form: Cornell et al., J. Am. Chem. Soc. 117, 5179 (1995), Eq. 1"],
        examples: &[Example {
            values: &[1000.0, 0.15],
            cutoff: 0.0,
            at: 0.16,
            energy: 0.05,
        }],
    };
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::quantity(
            "k",
            "spring constant",
            Dimension::ENERGY_PER_AREA,
            Mixing::Explicit,
        ),
        Parameter::quantity("r0", "r₀, length at rest", Dimension::LENGTH, Mixing::Explicit),
    ];

    fn check(p: Parameters) -> Result<(), ParameterError> {
        let [k, r0] = p.numbers();
        ParameterError::unless(k >= 0.0, "k", k, "a number ≥ 0")?;
        ParameterError::unless(r0 >= 0.0, "r0", r0, "a length ≥ 0")
    }

    fn coefficients(p: Parameters) -> [f64; MAX_BONDED] {
        let [k, r0] = p.numbers();
        [0.5 * k, r0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    }

    fn energy<R: Real>(r: R, c: &[R; MAX_BONDED]) -> R {
        c[0] * (r - c[1]).squared()
    }

    fn samples() -> Vec<BondedSample> {
        vec![BondedSample::numbers([1000.0, 0.15], 0.1, 0.2)]
    }
}
