//! Ryckaert–Bellemans.

use super::{BondedSample, DihedralPotential, MAX_BONDED, Mixing, Parameter, ParameterError, Parameters};
use crate::expr::Real;
use crate::record::{Conventions, Doc, Example};
use crate::system::Dimension;

crate::parameters! {
    /// A polynomial in the cosine of the dihedral angle.
    pub struct RyckaertBellemans { c0, c1, c2, c3, c4, c5 }
}

impl DihedralPotential for RyckaertBellemans {
    const NAME: &'static str = "ryckaert-bellemans";
    const DOC: Doc = Doc {
        title: "Ryckaert–Bellemans dihedral",
        formula: "u(φ) = Σ cₙ cosⁿψ for n = 0 … 5, with ψ = φ − 180°",
        remarks: &[
            "ψ is the angle of the polymer convention, 0 in trans; φ is that of the other dihedrals here \
             (IUPAC), 0 in cis. So cos ψ = −cos φ: coefficients published for φ change sign for odd n.",
            "OPLS, ½ Σ F_n [1 ± cos nφ]: c0 = F2 + ½(F1 + F3), c1 = ½(3F3 − F1), c2 = 4F4 − F2, c3 = \
             −2F3, c4 = −4F4, c5 = 0.",
        ],
        conventions: Conventions {
            gromacs: [
                "dihedrals of type 3: Σ C_n cosⁿψ, ψ = φ − 180°",
                "c0 … c5 as they are",
            ],
            lammps: [
                "dihedral_style multi/harmonic: Σ A_n cosⁿ⁻¹φ, n = 1 … 5, 180° in trans; opls: K1 … K4",
                "c0 = A1, c1 = −A2, c2 = A3, c3 = −A4, c4 = A5; opls with F = K above",
            ],
            openmm: [
                "RBTorsionForce: the polymer convention too",
                "c0 … c5 as they are",
            ],
            amber_charmm: ["not in use: periodic terms", "kind = \"periodic-dihedral\""],
        },
        references: &["Ryckaert & Bellemans, Chem. Phys. Lett. 30, 123 (1975)"],
        examples: &[Example {
            values: &[9.28, 12.16, -13.12, -3.06, 26.24, -31.5],
            cutoff: 0.0,
            at: 1.0,
            energy: 3.049122105,
        }],
    };
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::quantity("c0", "coefficient of cos⁰ψ", Dimension::ENERGY, Mixing::Explicit),
        Parameter::quantity("c1", "coefficient of cos¹ψ", Dimension::ENERGY, Mixing::Explicit),
        Parameter::quantity("c2", "coefficient of cos²ψ", Dimension::ENERGY, Mixing::Explicit),
        Parameter::quantity("c3", "coefficient of cos³ψ", Dimension::ENERGY, Mixing::Explicit),
        Parameter::quantity("c4", "coefficient of cos⁴ψ", Dimension::ENERGY, Mixing::Explicit).or(0.0),
        Parameter::quantity("c5", "coefficient of cos⁵ψ", Dimension::ENERGY, Mixing::Explicit).or(0.0),
    ];

    fn check(p: Parameters) -> Result<(), ParameterError> {
        for (parameter, c) in Self::PARAMETERS.iter().zip(p.numbers::<6>()) {
            ParameterError::unless(c.is_finite(), parameter.name, c, "an energy")?;
        }
        Ok(())
    }

    fn coefficients(p: Parameters) -> [f64; MAX_BONDED] {
        let [c0, c1, c2, c3, c4, c5] = p.numbers();
        [c0, c1, c2, c3, c4, c5, 0.0, 0.0]
    }

    #[inline(always)]
    fn energy<R: Real>(phi: R, c: &[R; MAX_BONDED]) -> R {
        let x = -phi.cos(); // cos ψ
        c[5].mul_add(x, c[4])
            .mul_add(x, c[3])
            .mul_add(x, c[2])
            .mul_add(x, c[1])
            .mul_add(x, c[0])
    }

    fn samples() -> Vec<BondedSample> {
        let pi = std::f64::consts::PI;
        // Butane: Ryckaert & Bellemans 1975, in kJ/mol.
        vec![BondedSample::numbers(
            [9.28, 12.16, -13.12, -3.06, 26.24, -31.5],
            -pi,
            pi,
        )]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn butane_is_lowest_in_trans() {
        let c = RyckaertBellemans::coefficients(Parameters(&RyckaertBellemans::samples()[0].values));
        let pi = std::f64::consts::PI;
        let (cis, trans) = (
            RyckaertBellemans::energy(0.0, &c),
            RyckaertBellemans::energy(pi, &c),
        );
        assert!(trans.abs() < 0.02 && (cis - 44.8).abs() < 0.1, "{cis} {trans}");
    }
}
