//! Harmonic improper.

use std::f64::consts::PI;

use super::{BondedSample, DihedralPotential, MAX_BONDED, Mixing, Parameter, ParameterError, Parameters};
use crate::expr::Real;
use crate::record::{Conventions, Doc, Example};
use crate::system::Dimension;

crate::parameters! {
    /// A spring in an improper dihedral angle.
    pub struct HarmonicImproper { k, xi0 }
}

impl DihedralPotential for HarmonicImproper {
    const NAME: &'static str = "harmonic-improper";
    const DOC: Doc = Doc {
        title: "Harmonic improper",
        formula: "u(ξ) = ½ k (ξ − ξ₀)², the difference taken into −π … π",
        remarks: &[
            "ξ is the dihedral angle i–j–k–l, measured as in `periodic-dihedral`; the order of the four \
             particles is that of the topology.",
            "With the factor ½. At the angle opposite to ξ₀ the force jumps. It keeps four atoms planar \
             (ξ₀ = 0) or a center chiral (ξ₀ ≈ 35.26°).",
            "`on = \"impropers\"` makes it act on the impropers of the topology.",
        ],
        conventions: Conventions {
            gromacs: [
                "dihedrals of type 2: ½ k_ξ (ξ − ξ₀)², ξ₀ in degrees",
                "k = k_ξ, xi0 with \"deg\"",
            ],
            lammps: [
                "improper_style harmonic: K (χ − χ₀)², χ₀ in degrees",
                "k = 2K, xi0 with \"deg\"",
            ],
            openmm: [
                "CustomTorsionForce with the formula",
                "as the formula is written there; take the difference into −π … π",
            ],
            amber_charmm: [
                "CHARMM: K_ψ (ψ − ψ₀)²; AMBER: periodic impropers",
                "CHARMM: k = 2K_ψ; AMBER: kind = \"periodic-dihedral\" with `on = \"impropers\"`",
            ],
        },
        references: &["CHARMM's form: Brooks et al., J. Comput. Chem. 4, 187 (1983)"],
        examples: &[Example {
            values: &[334.0, 0.615],
            cutoff: 0.0,
            at: -2.5,
            energy: 1620.438575,
        }],
    };
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::quantity("k", "stiffness, per rad²", Dimension::ENERGY, Mixing::Explicit),
        Parameter::angle("xi0", "ξ₀, angle at rest, −π to π"),
    ];

    fn check(p: Parameters) -> Result<(), ParameterError> {
        let [k, xi0] = p.numbers();
        ParameterError::unless(k >= 0.0, "k", k, "an energy ≥ 0")?;
        ParameterError::unless(
            (-PI..=PI).contains(&xi0),
            "xi0",
            xi0,
            "an angle from −π to π (±180°)",
        )
    }

    fn coefficients(p: Parameters) -> [f64; MAX_BONDED] {
        let [k, xi0] = p.numbers();
        [0.5 * k, xi0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    }

    #[inline(always)]
    fn energy<R: Real>(xi: R, c: &[R; MAX_BONDED]) -> R {
        let turn = R::lit(2.0 * PI);
        let d = xi - c[1];
        let d = R::select_lt(R::lit(PI), d, d - turn, d);
        let d = R::select_lt(d, R::lit(-PI), d + turn, d);
        c[0] * d.squared()
    }

    fn samples() -> Vec<BondedSample> {
        vec![
            BondedSample::numbers([167.0, 0.0], -1.5, 1.5),
            BondedSample::numbers([334.0, 0.615], -2.5, PI),
            BondedSample::numbers([100.0, 3.0], -PI, -0.2),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_is_the_shorter_way_round() {
        let c = [0.5, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        let across = 2.0 * PI - 6.0;
        assert!((HarmonicImproper::energy(-3.0, &c) - 0.5 * across * across).abs() < 1e-14);
        assert!((HarmonicImproper::energy(2.0, &c) - 0.5).abs() < 1e-14);
    }
}
