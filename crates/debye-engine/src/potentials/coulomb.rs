//! Coulomb's law between near charges.

use super::Preparation;
use super::{Coefficients, Mixing, Pair, PairPotential, PairSample, Parameter, ParameterError, Parameters};
use crate::expr::{Dual, Real};
use crate::record::{Conventions, Doc, Example};
use crate::system::Dimension;

crate::parameters! {
    /// The bare Coulomb potential.
    pub struct Coulomb { epsilon_r }
}

impl PairPotential for Coulomb {
    const NAME: &'static str = "coulomb";
    const DOC: Doc = Doc {
        title: "Coulomb, cut off",
        formula: "u(r) = k_e q₁q₂/(ε_r r)\n\
                  k_e = 138.935458 kJ/mol nm/e², or 1 in lj units",
        remarks: &[
            "Valid for r > 0. Cut plainly it is a poor model of charges in a periodic cell: the energy \
             jumps wherever a charge crosses the cut-off. Use it force-shifted, or for clusters with a \
             cut-off beyond their size; else `pme`.",
            "k_e = e² N_A/(4π ε₀) by CODATA 2018, as in GROMACS and OpenMM. LAMMPS (real) has 332.06371 \
             kcal/mol Å/e², 1e-8 off; AMBER 332.0522 (charges times 18.2223), 3.5e-5 smaller; CHARMM \
             332.0716, 2.4e-5 larger.",
            "Charges stand in [species] or in the structure file, in e.",
        ],
        conventions: Conventions {
            gromacs: [
                "coulombtype = Cut-off is a reaction field with epsilon-rf = 1, which is shifted to zero \
                 at the cut-off",
                "epsilon_r = epsilon-r; `truncation = \"shift\"`",
            ],
            lammps: [
                "pair_style coul/cut, cut without a shift; `dielectric` divides it",
                "epsilon_r = dielectric; `truncation = \"cut\"`",
            ],
            openmm: [
                "NonbondedForce NoCutoff; with a cut-off it is a reaction field",
                "a cut-off beyond the system, `truncation = \"cut\"`; else kind = \
                 \"coulomb-reaction-field\"",
            ],
            amber_charmm: [
                "AMBER: cut = 9999 without a cell; CHARMM: SHIFT multiplies by (1 − (r/r_c)²)², FSHIFT by \
                 (1 − r/r_c)²",
                "FSHIFT is `truncation = \"force-shift\"`; SHIFT is not there",
            ],
        },
        references: &[
            "cut and force-shifted: Fennell & Gezelter, J. Chem. Phys. 124, 234104 (2006), with α = 0",
        ],
        examples: &[Example {
            values: &[2.0],
            cutoff: 0.0,
            at: 0.4,
            energy: 1.25,
        }],
    };
    const PARAMETERS: &'static [Parameter] = &[Parameter::quantity(
        "epsilon_r",
        "ε_r, relative permittivity",
        Dimension::NONE,
        Mixing::Same,
    )
    .or(1.0)];
    const USES_CHARGES: bool = true;

    fn check(p: Parameters) -> Result<(), ParameterError> {
        let [epsilon_r] = p.numbers();
        ParameterError::unless(epsilon_r > 0.0, "epsilon_r", epsilon_r, "a number > 0")
    }

    fn coefficients(p: Parameters, _: &mut Preparation) -> Coefficients<f64> {
        [p.number(0).recip(), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    }

    #[inline(always)]
    fn energy<R: Real>(pair: Pair<R>, c: &Coefficients<R>) -> R {
        c[0] * pair.r2.sqrt().recip()
    }

    /// du/d(r²) = −u/(2r²), with one square root and one inverse in all.
    #[inline(always)]
    fn energy_and_derivative<R: Real>(pair: Pair<R>, c: &Coefficients<R>) -> Dual<R> {
        let inverse = pair.r2.sqrt().recip();
        let value = c[0] * inverse;
        Dual {
            value,
            derivative: value * inverse * (inverse * R::lit(-0.5)),
        }
    }

    fn samples() -> Vec<PairSample> {
        vec![
            PairSample::numbers([1.0], 0.1, 1.2),
            PairSample::numbers([78.4], 0.1, 3.0),
        ]
    }
}
