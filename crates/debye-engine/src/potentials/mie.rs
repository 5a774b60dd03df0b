//! Mie. The powers are exp(−½n ln(r²/σ²)): exponents need not be whole.

use super::{Coefficients, Mixing, Pair, PairPotential, PairSample, Parameter, ParameterError, Parameters};
use super::{Preparation, Tail};
use crate::expr::Real;
use crate::record::{Conventions, Doc, Example};
use crate::system::Dimension;

crate::parameters! {
    /// The Mie n-m potential.
    pub struct Mie { epsilon, sigma, n, m }
}

/// C ε.
fn prefactor([epsilon, _, n, m]: [f64; 4]) -> f64 {
    epsilon * n / (n - m) * (n / m).powf(m / (n - m))
}

impl PairPotential for Mie {
    const NAME: &'static str = "mie";
    const DOC: Doc = Doc {
        title: "Mie n-m",
        formula: "u(r) = C ε [(σ/r)ⁿ − (σ/r)ᵐ]\n\
                  C = n/(n−m) (n/m)^(m/(n−m)), so that the well is ε deep",
        remarks: &[
            "Valid for r > 0 and n > m > 0, whole or not. n = 12, m = 6 is Lennard-Jones (C = 4).",
            "In single precision the relative error grows as ½n |ln(r²/σ²)|, to about 1e-6 at 3σ for n = \
             12.",
        ],
        conventions: Conventions {
            gromacs: [
                "no such function; a table",
                "the same table: kind = \"tabulated\"",
            ],
            lammps: [
                "pair_style mie/cut epsilon sigma gammaR gammaA, the same prefactor",
                "n = gammaR, m = gammaA",
            ],
            openmm: [
                "CustomNonbondedForce with the formula",
                "the same parameters if the prefactor C is in it",
            ],
            amber_charmm: ["12-6 only", "–"],
        },
        references: &[
            "Mie, Ann. Phys. 316, 657 (1903)",
            "the prefactor as in Avendaño et al., J. Phys. Chem. B 115, 11154 (2011)",
        ],
        examples: &[Example {
            values: &[1.2, 0.37, 14.65, 5.5],
            cutoff: 0.0,
            at: 0.4,
            energy: -1.14999698,
        }],
    };
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
        Parameter::quantity("n", "exponent of the repulsion", Dimension::NONE, Mixing::Same),
        Parameter::quantity(
            "m",
            "exponent of the attraction, below n",
            Dimension::NONE,
            Mixing::Same,
        ),
    ];

    fn check(p: Parameters) -> Result<(), ParameterError> {
        let [epsilon, sigma, n, m] = p.numbers();
        ParameterError::unless(epsilon >= 0.0, "epsilon", epsilon, "a number ≥ 0")?;
        ParameterError::unless(sigma > 0.0, "sigma", sigma, "a length > 0")?;
        ParameterError::unless(m > 0.0, "m", m, "a number > 0")?;
        ParameterError::unless(n > m && n.is_finite(), "n", n, "a number > m")
    }

    fn coefficients(p: Parameters, _: &mut Preparation) -> Coefficients<f64> {
        let [_, sigma, n, m] = p.numbers();
        [
            prefactor(p.numbers()),
            sigma.powi(-2),
            -0.5 * n,
            -0.5 * m,
            0.0,
            0.0,
            0.0,
            0.0,
        ]
    }

    #[inline(always)]
    fn energy<R: Real>(pair: Pair<R>, c: &Coefficients<R>) -> R {
        let logarithm = (pair.r2 * c[1]).ln();
        c[0] * ((c[2] * logarithm).exp() - (c[3] * logarithm).exp())
    }

    fn tail(p: Parameters, cutoff: f64) -> Option<Tail> {
        let [_, sigma, n, m] = p.numbers();
        let c = prefactor(p.numbers());
        let power = |k: f64| (sigma / cutoff).powf(k);
        let integral = |k: f64| cutoff.powi(3) * power(k) / (k - 3.0);
        let energy = c * (integral(n) - integral(m));
        (m > 3.0).then(|| Tail::from_energy(energy, cutoff, c * (power(n) - power(m))))
    }

    fn samples() -> Vec<PairSample> {
        vec![
            PairSample::numbers([1.0, 1.0, 12.0, 6.0], 0.75, 3.0),
            PairSample::numbers([1.2, 0.37, 14.65, 5.5], 0.3, 1.2),
        ]
    }
}
