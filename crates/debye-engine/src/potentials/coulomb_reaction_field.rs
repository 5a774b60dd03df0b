//! Coulomb with a reaction field.

use super::Preparation;
use super::dipoles::{EPSILON_R, check_permittivity};
use super::{Coefficients, Mixing, Pair, PairPotential, PairSample, Parameter, ParameterError, Parameters};
use crate::expr::{Dual, Real};
use crate::record::{Conventions, Doc, Example};
use crate::system::Dimension;

crate::parameters! {
    /// Coulomb inside a dielectric continuum.
    pub struct CoulombReactionField { epsilon_rf, epsilon_r }
}

/// ε_rf and ε_r, of charges and of dipoles.
pub(super) const PERMITTIVITIES: [Parameter; 2] = [
    Parameter::quantity(
        "epsilon_rf",
        "ε_rf, relative permittivity of the continuum; 0 for ∞",
        Dimension::NONE,
        Mixing::Same,
    )
    .or(0.0),
    EPSILON_R,
];

/// Refuses permittivities that are none.
pub(super) fn check_permittivities(p: Parameters) -> Result<(), ParameterError> {
    let [epsilon_rf, epsilon_r] = p.numbers();
    let fits = epsilon_rf >= 0.0;
    ParameterError::unless(fits, "epsilon_rf", epsilon_rf, "a number > 0, or 0 for infinity")?;
    check_permittivity(epsilon_r)
}

/// 1/ε_r, k_rf and c_rf.
pub(super) fn reaction_field(p: Parameters, cutoff: f64) -> [f64; 3] {
    let [epsilon_rf, epsilon_r] = p.numbers();
    let infinite = epsilon_rf == 0.0 || epsilon_rf.is_infinite();
    let ratio = if infinite {
        0.5
    } else {
        (epsilon_rf - epsilon_r) / (2.0 * epsilon_rf + epsilon_r)
    };
    let k_rf = ratio / cutoff.powi(3);
    [1.0 / epsilon_r, k_rf, 1.0 / cutoff + k_rf * cutoff * cutoff]
}

impl PairPotential for CoulombReactionField {
    const NAME: &'static str = "coulomb-reaction-field";
    const DOC: Doc = Doc {
        title: "Coulomb with a reaction field",
        formula: "u(r) = k_e q₁q₂/ε_r [1/r + k_rf r² − c_rf]\n\
                  k_rf = (ε_rf − ε_r)/(2ε_rf + ε_r)/r_c³\n\
                  c_rf = 1/r_c + k_rf r_c²",
        remarks: &[
            "Beyond the cut-off r_c lies a continuum of permittivity ε_rf; `epsilon_rf = 0` stands for ∞, \
             a conductor. u(r_c) = 0; for ε_rf = ∞ the force is zero there too. Valid for 0 < r ≤ r_c.",
            "Pairs left out by [exclusions] feel no reaction field, and there is no self-term: energies \
             differ from those of programs that have them, and forces within molecules too.",
            "No salt: the formula of Tironi et al. for κ = 0.",
        ],
        conventions: Conventions {
            gromacs: [
                "the same k_rf and c_rf, epsilon-rf = 0 for ∞; excluded pairs within the cut-off get k_rf \
                 r² − c_rf, each charge −½ c_rf",
                "epsilon_rf, epsilon_r as they are; the energy differs by those terms",
            ],
            lammps: ["not among its pair styles", "–"],
            openmm: [
                "CutoffPeriodic and CutoffNonPeriodic: the same k_rf and c_rf with ε_r = 1, ε_rf = 78.3 \
                 unless set; exceptions without reaction field",
                "epsilon_rf = the reaction field dielectric",
            ],
            amber_charmm: ["not in use", "–"],
        },
        references: &["Tironi, Sperb, Smith & van Gunsteren, J. Chem. Phys. 102, 5451 (1995)"],
        examples: &[Example {
            values: &[78.4, 1.0],
            cutoff: 0.9,
            at: 0.3,
            energy: 1.737783411,
        }],
    };
    const TUNED: bool = true;
    const PARAMETERS: &'static [Parameter] = &PERMITTIVITIES;
    const USES_CHARGES: bool = true;

    fn check(p: Parameters) -> Result<(), ParameterError> {
        check_permittivities(p)
    }

    fn coefficients(p: Parameters, preparation: &mut Preparation) -> Coefficients<f64> {
        let [scale, k_rf, c_rf] = reaction_field(p, preparation.cutoff);
        [scale, k_rf * scale, c_rf * scale, 0.0, 0.0, 0.0, 0.0, 0.0]
    }

    #[inline(always)]
    fn energy<R: Real>(pair: Pair<R>, c: &Coefficients<R>) -> R {
        c[0].mul_add(pair.r2.sqrt().recip(), c[1].mul_add(pair.r2, -c[2]))
    }

    /// du/d(r²) = −1/(2 ε_r r³) + k_rf/ε_r, with one square root and one inverse in all.
    #[inline(always)]
    fn energy_and_derivative<R: Real>(pair: Pair<R>, c: &Coefficients<R>) -> Dual<R> {
        let inverse = pair.r2.sqrt().recip();
        let direct = c[0] * inverse;
        Dual {
            value: direct + c[1].mul_add(pair.r2, -c[2]),
            derivative: (direct * inverse).mul_add(inverse * R::lit(-0.5), c[1]),
        }
    }

    fn samples() -> Vec<PairSample> {
        vec![
            PairSample::numbers([0.0, 1.0], 0.1, 1.2),
            PairSample::numbers([78.4, 1.0], 0.1, 0.9),
            PairSample::numbers([61.0, 2.0], 0.2, 1.4),
        ]
    }
}
