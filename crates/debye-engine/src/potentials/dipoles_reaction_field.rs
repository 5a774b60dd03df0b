//! Point charges and point dipoles in a reaction field.

use super::coulomb_reaction_field::{PERMITTIVITIES, check_permittivities, reaction_field};
use super::dipoles::projections;
use super::{
    Axes, OrientedCoefficients, OrientedPair, OrientedPotential, OrientedSample, Parameter, ParameterError,
    Parameters, Preparation,
};
use crate::expr::Real;
use crate::record::{Conventions, Doc};

crate::parameters! {
    /// Charges and dipoles inside a dielectric continuum.
    pub struct DipolesReactionField { epsilon_rf, epsilon_r }
}

impl OrientedPotential for DipolesReactionField {
    const NAME: &'static str = "dipoles-reaction-field";
    const DOC: Doc = Doc {
        title: "Charges and dipoles with a reaction field",
        formula: "u = k_e/ε_r [q₁q₂ (1/r + k r² − c) + A (1/r³ − 2k) − 3(p₁·d)(p₂·d)/r⁵]\n\
                  A = q₂ p₁·d − q₁ p₂·d + p₁·p₂, d = r₂ − r₁\n\
                  k = (ε_rf − ε_r)/(2ε_rf + ε_r)/r_c³, c = 1/r_c + k r_c²\n\
                  every dipole has −k_e/ε_r k p² by itself",
        remarks: &[
            "Beyond the cut-off r_c lies a continuum of permittivity ε_rf; `epsilon_rf = 0` stands for ∞, a conductor.",
            "The energy of two dipoles jumps at the cut-off. Where energies must be conserved, take it off smoothly with \
             `truncation = \"switch\"`, usually from 0.95 r_c on.",
            "Charges are part of it: a term `coulomb-reaction-field` beside it would count them twice. Pairs left out by \
             [exclusions] feel no reaction field.",
        ],
        conventions: Conventions {
            gromacs: ["no point dipoles", "–"],
            lammps: ["not among its pair styles", "–"],
            openmm: ["no point dipoles with a reaction field", "–"],
            amber_charmm: ["not in use", "–"],
        },
        references: &[
            "Neumann, Mol. Phys. 50, 841 (1983)",
            "Fennell & Gezelter, J. Chem. Phys. 120, 9175 (2004), for water",
        ],
        examples: &[],
    };
    const PARAMETERS: &'static [Parameter] = &PERMITTIVITIES;
    const AXES: Axes = Axes::Z;
    const ELECTROSTATIC: bool = true;

    fn check(p: Parameters) -> Result<(), ParameterError> {
        check_permittivities(p)
    }

    fn coefficients(
        p: Parameters,
        _own: [Parameters; 2],
        preparation: &mut Preparation,
    ) -> OrientedCoefficients<f64> {
        let mut c = [0.0; super::MAX_ORIENTED];
        c[..3].copy_from_slice(&reaction_field(p, preparation.cutoff));
        c
    }

    #[inline(always)]
    fn energy<R: Real>(pair: &OrientedPair<R>, c: &OrientedCoefficients<R>) -> R {
        let [a, b, ab] = projections(pair);
        let [first, second] = pair.charges;
        let per_r2 = pair.r2.recip();
        let per_r = per_r2.sqrt();
        let per_r3 = per_r2 * per_r;
        let both = first * second * (per_r + c[1] * pair.r2 - c[2]);
        let linear = (second * a - first * b + ab) * (per_r3 - c[1] - c[1]);
        c[0] * (both + linear - R::lit(3.0) * per_r3 * per_r2 * a * b)
    }

    fn self_energy(_charge: f64, dipole: f64, c: &OrientedCoefficients<f64>) -> f64 {
        -c[0] * c[1] * dipole * dipole
    }

    fn samples() -> Vec<OrientedSample> {
        vec![
            OrientedSample::numbers(&[0.0, 1.0], [&[], &[]], 0.2, 1.2),
            OrientedSample::numbers(&[80.0, 1.0], [&[], &[]], 0.2, 0.9),
        ]
    }
}
