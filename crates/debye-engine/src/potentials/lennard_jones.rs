//! Lennard-Jones.

use super::{Coefficients, Mixing, Pair, PairPotential, PairSample, Parameter, ParameterError, Parameters};
use super::{Preparation, Tail};
use crate::expr::{Dual, Real};
use crate::record::{Conventions, Doc, Example};
use crate::system::Dimension;

crate::parameters! {
    /// The Lennard-Jones 12-6 potential.
    pub struct LennardJones { epsilon, sigma }
}

impl PairPotential for LennardJones {
    const NAME: &'static str = "lennard-jones";
    const DOC: Doc = Doc {
        title: "Lennard-Jones 12-6",
        formula: "u(r) = 4ε [(σ/r)¹² − (σ/r)⁶]",
        remarks: &[
            "The minimum is −ε, at r = 2^(1/6) σ. Valid for r > 0; single precision overflows below about \
             0.001 σ.",
            "ε = 0 is no interaction, whatever σ is (hydrogens of water).",
            "Without `truncation` the energy is shifted to zero at the cut-off.",
        ],
        conventions: Conventions {
            gromacs: [
                "σ and ε in the same form (comb-rule 2 and 3); C12/r¹² − C6/r⁶ (comb-rule 1)",
                "sigma = σ, epsilon = ε; sigma = (C12/C6)^(1/6), epsilon = C6²/(4 C12)",
            ],
            lammps: [
                "pair_style lj/cut, the same form; not shifted unless pair_modify shift yes",
                "epsilon, sigma as they are; `truncation = \"cut\"` for its default",
            ],
            openmm: [
                "NonbondedForce, the same form; cut, not shifted",
                "epsilon, sigma as they are; `truncation = \"cut\"` for its default",
            ],
            amber_charmm: [
                "ε [(R/r)¹² − 2 (R/r)⁶] with R = Rmin,i/2 + Rmin,j/2; AMBER's files list ε and Rmin/2, \
                 CHARMM's −ε and Rmin/2; prmtop: A/r¹² − B/r⁶ with A = εR¹², B = 2εR⁶",
                "sigma = 2^(5/6) Rmin/2 = 1.7817974 Rmin/2, epsilon = |ε|",
            ],
        },
        references: &[
            "Jones, Proc. R. Soc. Lond. A 106, 463 (1924)",
            "Lennard-Jones, Proc. Phys. Soc. 43, 461 (1931)",
        ],
        examples: &[Example {
            values: &[0.998, 0.34],
            cutoff: 0.0,
            at: 0.4,
            energy: -0.9377517719,
        }],
    };
    const TUNED: bool = true;
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::quantity(
            "epsilon",
            "ε, depth of the well",
            Dimension::ENERGY,
            Mixing::Energy,
        ),
        Parameter::quantity(
            "sigma",
            "σ, distance at which u = 0",
            Dimension::LENGTH,
            Mixing::Length,
        ),
    ];

    fn check(p: Parameters) -> Result<(), ParameterError> {
        let [epsilon, sigma] = p.numbers();
        ParameterError::unless(epsilon >= 0.0, "epsilon", epsilon, "a number ≥ 0")?;
        // Hydrogens of water and the like: no interaction, however large.
        let enough = if epsilon > 0.0 { sigma > 0.0 } else { sigma >= 0.0 };
        ParameterError::unless(enough, "sigma", sigma, "a length > 0")
    }

    fn vanishes(p: Parameters) -> bool {
        let [epsilon, _] = p.numbers();
        epsilon == 0.0
    }

    fn coefficients(p: Parameters, _: &mut Preparation) -> Coefficients<f64> {
        let [epsilon, sigma] = p.numbers();
        let s6 = sigma.powi(6);
        let (c12, c6) = (4.0 * epsilon * s6 * s6, 4.0 * epsilon * s6);
        [c12, c6, -6.0 * c12, 3.0 * c6, 0.0, 0.0, 0.0, 0.0]
    }

    #[inline(always)]
    fn energy<R: Real>(pair: Pair<R>, c: &Coefficients<R>) -> R {
        let inverse6 = pair.r2.recip().powi(3);
        (c[0] * inverse6 - c[1]) * inverse6
    }

    /// du/d(r²) = r⁻⁶ r⁻² (3 c₆ − 6 c₁₂ r⁻⁶): a third of the operations of the derived one.
    #[inline(always)]
    fn energy_and_derivative<R: Real>(pair: Pair<R>, c: &Coefficients<R>) -> Dual<R> {
        let inverse2 = pair.r2.recip();
        let inverse6 = inverse2.powi(3);
        Dual {
            value: (c[0] * inverse6 - c[1]) * inverse6,
            derivative: c[2].mul_add(inverse6, c[3]) * inverse6 * inverse2,
        }
    }

    fn tail(p: Parameters, cutoff: f64) -> Option<Tail> {
        let [epsilon, sigma] = p.numbers();
        let (r3, r9) = (sigma.powi(6) / cutoff.powi(3), sigma.powi(12) / cutoff.powi(9));
        Some(Tail {
            energy: 4.0 * epsilon * (r9 / 9.0 - r3 / 3.0),
            virial: 4.0 * epsilon * (-12.0 * r9 / 9.0 + 6.0 * r3 / 3.0),
        })
    }

    fn samples() -> Vec<PairSample> {
        vec![
            PairSample::numbers([1.0, 1.0], 0.75, 2.5),
            PairSample::numbers([0.998, 0.34], 0.25, 1.2),
        ]
    }
}
