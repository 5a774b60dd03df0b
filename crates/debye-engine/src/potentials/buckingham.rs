//! Buckingham.

use super::{Coefficients, Mixing, Pair, PairPotential, PairSample, Parameter, ParameterError, Parameters};
use super::{Preparation, Tail, energy_times_length};
use crate::expr::Real;
use crate::record::{Conventions, Doc, Example};
use crate::system::Dimension;

crate::parameters! {
    /// Exponential repulsion and dispersion.
    pub struct Buckingham { a, rho, c }
}

impl PairPotential for Buckingham {
    const NAME: &'static str = "buckingham";
    const DOC: Doc = Doc {
        title: "Buckingham",
        formula: "u(r) = A exp(−r/ρ) − C/r⁶",
        remarks: &[
            "Valid beyond its inner maximum only: for r → 0 the exponential stays at A while −C/r⁶ falls \
             to −∞, so particles that come closer than the maximum collapse onto each other. A random \
             start, a high temperature or a long time step may bring them there.",
            "The exp-6 form with depth ε at r_m and steepness α: A = 6 ε e^α/(α−6), rho = r_m/α, C = α ε \
             r_m⁶/(α−6).",
        ],
        conventions: Conventions {
            gromacs: [
                "A exp(−B r) − C/r⁶ (nbfunc 2; not with the Verlet scheme of present versions)",
                "rho = 1/B; A, C as they are",
            ],
            lammps: ["pair_style buck A rho C, the same form", "A, rho, C as they are"],
            openmm: [
                "CustomNonbondedForce with the formula",
                "as the formula is written there",
            ],
            amber_charmm: ["no such function", "–"],
        },
        references: &["Buckingham, Proc. R. Soc. Lond. A 168, 264 (1938)"],
        examples: &[Example {
            values: &[150000.0, 0.03, 0.003],
            cutoff: 0.0,
            at: 0.3,
            energy: 2.694763127,
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
        Parameter::quantity("rho", "ρ, its decay length", Dimension::LENGTH, Mixing::Explicit),
        Parameter::quantity(
            "C",
            "strength of the dispersion, subtracted",
            energy_times_length(6),
            Mixing::Explicit,
        ),
    ];

    fn check(p: Parameters) -> Result<(), ParameterError> {
        let [a, rho, c] = p.numbers();
        ParameterError::unless(a >= 0.0, "A", a, "an energy ≥ 0")?;
        ParameterError::unless(rho > 0.0, "rho", rho, "a length > 0")?;
        ParameterError::unless(c >= 0.0, "C", c, "a number ≥ 0")
    }

    fn coefficients(p: Parameters, _: &mut Preparation) -> Coefficients<f64> {
        let [a, rho, c] = p.numbers();
        [a, -1.0 / rho, c, 0.0, 0.0, 0.0, 0.0, 0.0]
    }

    #[inline(always)]
    fn energy<R: Real>(pair: Pair<R>, c: &Coefficients<R>) -> R {
        let repulsion = c[0] * (c[1] * pair.r2.sqrt()).exp();
        repulsion - c[2] * pair.r2.recip().powi(3)
    }

    fn tail(p: Parameters, cutoff: f64) -> Option<Tail> {
        let [a, rho, c] = p.numbers();
        let (r, exponential) = (cutoff, a * (-cutoff / rho).exp());
        let energy = exponential * rho * (r * r + 2.0 * r * rho + 2.0 * rho * rho) - c / (3.0 * r.powi(3));
        Some(Tail::from_energy(energy, cutoff, exponential - c / r.powi(6)))
    }

    fn samples() -> Vec<PairSample> {
        vec![
            PairSample::numbers([1000.0, 0.1, 1.0], 0.6, 2.5),
            PairSample::numbers([1.5e5, 0.03, 3e-3], 0.2, 1.2),
        ]
    }
}
