//! Born–Mayer–Huggins.

use super::{Coefficients, Mixing, Pair, PairPotential, PairSample, Parameter, ParameterError, Parameters};
use super::{Preparation, Tail, energy_times_length};
use crate::expr::Real;
use crate::record::{Conventions, Doc, Example};
use crate::system::Dimension;

crate::parameters! {
    /// Repulsion and dispersion of ions.
    pub struct BornMayerHuggins { a, sigma, rho, c, d }
}

impl PairPotential for BornMayerHuggins {
    const NAME: &'static str = "born-mayer-huggins";
    const DOC: Doc = Doc {
        title: "Born–Mayer–Huggins in the form of Tosi and Fumi",
        formula: "u(r) = A exp((σ−r)/ρ) − C/r⁶ − D/r⁸",
        remarks: &[
            "The short-range part of a molten or crystalline alkali halide; add a term for the charges.",
            "As with `buckingham`, u → −∞ for r → 0: valid beyond the inner maximum only.",
        ],
        conventions: Conventions {
            gromacs: [
                "no such function; a table",
                "the same table: kind = \"tabulated\"",
            ],
            lammps: [
                "pair_style born A rho sigma C D: A exp((σ−r)/ρ) − C/r⁶ + D/r⁸, in that order",
                "D with the opposite sign; rho and sigma are named, so their order does not matter",
            ],
            openmm: [
                "CustomNonbondedForce with the formula",
                "as the formula is written there",
            ],
            amber_charmm: ["no such function", "–"],
        },
        references: &[
            "Fumi & Tosi, J. Phys. Chem. Solids 25, 31 (1964)",
            "Tosi & Fumi, J. Phys. Chem. Solids 25, 45 (1964)",
        ],
        examples: &[Example {
            values: &[20.35, 0.2755, 0.0317, 0.000674, 8.37e-06],
            cutoff: 0.0,
            at: 0.28,
            energy: 16.03666917,
        }],
    };
    const EXPONENTIAL: bool = true;
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::quantity(
            "A",
            "strength of the repulsion",
            Dimension::ENERGY,
            Mixing::Explicit,
        ),
        Parameter::quantity(
            "sigma",
            "σ, sum of the ionic radii",
            Dimension::LENGTH,
            Mixing::Explicit,
        ),
        Parameter::quantity(
            "rho",
            "ρ, decay length of the repulsion",
            Dimension::LENGTH,
            Mixing::Explicit,
        ),
        Parameter::quantity(
            "C",
            "dipole–dipole dispersion, subtracted",
            energy_times_length(6),
            Mixing::Explicit,
        ),
        Parameter::quantity(
            "D",
            "dipole–quadrupole dispersion, subtracted",
            energy_times_length(8),
            Mixing::Explicit,
        ),
    ];

    fn check(p: Parameters) -> Result<(), ParameterError> {
        let [a, sigma, rho, c, d] = p.numbers();
        ParameterError::unless(a >= 0.0, "A", a, "an energy ≥ 0")?;
        ParameterError::unless(sigma >= 0.0, "sigma", sigma, "a length ≥ 0")?;
        ParameterError::unless(rho > 0.0, "rho", rho, "a length > 0")?;
        ParameterError::unless(c >= 0.0, "C", c, "a number ≥ 0")?;
        ParameterError::unless(d >= 0.0, "D", d, "a number ≥ 0")
    }

    fn coefficients(p: Parameters, _: &mut Preparation) -> Coefficients<f64> {
        let [a, sigma, rho, c, d] = p.numbers();
        [a, 1.0 / rho, sigma, c, d, 0.0, 0.0, 0.0]
    }

    #[inline(always)]
    fn energy<R: Real>(pair: Pair<R>, c: &Coefficients<R>) -> R {
        let inverse2 = pair.r2.recip();
        let repulsion = c[0] * (c[1] * (c[2] - pair.r2.sqrt())).exp();
        repulsion - inverse2.powi(3) * c[4].mul_add(inverse2, c[3])
    }

    fn tail(p: Parameters, cutoff: f64) -> Option<Tail> {
        let [a, sigma, rho, c, d] = p.numbers();
        let r = cutoff;
        let exponential = a * ((sigma - r) / rho).exp();
        let repulsion = exponential * rho * (r * r + 2.0 * r * rho + 2.0 * rho * rho);
        let dispersion = c / (3.0 * r.powi(3)) + d / (5.0 * r.powi(5));
        let end = exponential - c / r.powi(6) - d / r.powi(8);
        Some(Tail::from_energy(repulsion - dispersion, cutoff, end))
    }

    fn samples() -> Vec<PairSample> {
        vec![
            // About Na⁺–Cl⁻ in nm and kJ/mol.
            PairSample::numbers([20.35, 0.2755, 0.0317, 6.74e-4, 8.37e-6], 0.2, 1.2),
            PairSample::numbers([1.0, 1.0, 0.1, 0.8, 0.3], 0.8, 3.0),
        ]
    }
}
