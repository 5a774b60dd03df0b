//! Weeks–Chandler–Andersen.

use super::{Coefficients, Mixing, Pair, PairPotential, PairSample, Parameter, ParameterError, Parameters};
use super::{Preparation, Tail};
use crate::expr::{Dual, Real};
use crate::record::{Conventions, Doc, Example};
use crate::system::Dimension;

crate::parameters! {
    /// The purely repulsive Lennard-Jones potential.
    pub struct Wca { epsilon, sigma }
}

impl PairPotential for Wca {
    const NAME: &'static str = "wca";
    const DOC: Doc = Doc {
        title: "Weeks–Chandler–Andersen",
        formula: "u(r) = 4ε [(σ/r)¹² − (σ/r)⁶] + ε for r < 2^(1/6) σ, else 0",
        remarks: &[
            "The repulsive part of Lennard-Jones; energy and force vanish at the cut-off. Valid for r > \
             0.",
            "The cut-off is its own, 2^(1/6) σ of each pair of species: `cutoff` is not needed.",
        ],
        conventions: Conventions {
            gromacs: [
                "Lennard-Jones with rvdw = 2^(1/6) σ and vdw-modifier = Potential-shift, for one σ only",
                "epsilon, sigma as they are",
            ],
            lammps: [
                "pair_style lj/cut with cutoff 1.122462 σ and pair_modify shift yes",
                "epsilon, sigma as they are",
            ],
            openmm: [
                "CustomNonbondedForce with the formula",
                "epsilon, sigma as they are",
            ],
            amber_charmm: ["no such function", "–"],
        },
        references: &["Weeks, Chandler & Andersen, J. Chem. Phys. 54, 5237 (1971)"],
        examples: &[Example {
            values: &[0.998, 0.34],
            cutoff: 0.0,
            at: 0.36,
            energy: 0.1754999541,
        }],
    };
    const TUNED: bool = true;
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::quantity("epsilon", "ε, energy at r = σ", Dimension::ENERGY, Mixing::Energy),
        Parameter::quantity("sigma", "σ, diameter", Dimension::LENGTH, Mixing::Length),
    ];

    fn check(p: Parameters) -> Result<(), ParameterError> {
        let [epsilon, sigma] = p.numbers();
        ParameterError::unless(epsilon >= 0.0, "epsilon", epsilon, "a number ≥ 0")?;
        ParameterError::unless(sigma > 0.0, "sigma", sigma, "a length > 0")
    }

    fn coefficients(p: Parameters, _: &mut Preparation) -> Coefficients<f64> {
        let [epsilon, sigma] = p.numbers();
        let s6 = sigma.powi(6);
        let end2 = 2.0_f64.cbrt() * sigma * sigma;
        let (c12, c6) = (4.0 * epsilon * s6 * s6, 4.0 * epsilon * s6);
        [c12, c6, epsilon, end2, -6.0 * c12, 3.0 * c6, 0.0, 0.0]
    }

    #[inline(always)]
    fn energy<R: Real>(pair: Pair<R>, c: &Coefficients<R>) -> R {
        let inverse6 = pair.r2.recip().powi(3);
        let inside = (c[0] * inverse6 - c[1]).mul_add(inverse6, c[2]);
        R::select_lt(pair.r2, c[3], inside, R::lit(0.0))
    }

    /// As for Lennard-Jones: a third of the operations of the derived one.
    #[inline(always)]
    fn energy_and_derivative<R: Real>(pair: Pair<R>, c: &Coefficients<R>) -> Dual<R> {
        let inverse2 = pair.r2.recip();
        let inverse6 = inverse2.powi(3);
        let derivative = c[4].mul_add(inverse6, c[5]) * inverse6 * inverse2;
        Dual {
            value: Self::energy(pair, c),
            derivative: R::select_lt(pair.r2, c[3], derivative, R::lit(0.0)),
        }
    }

    fn natural_cutoff(p: Parameters) -> Option<f64> {
        Some(2.0_f64.powf(1.0 / 6.0) * p.number(1))
    }

    fn tail(_: Parameters, _: f64) -> Option<Tail> {
        Some(Tail::default())
    }

    fn samples() -> Vec<PairSample> {
        vec![
            PairSample::numbers([1.0, 1.0], 0.75, 2.0_f64.powf(1.0 / 6.0)),
            PairSample::numbers([0.998, 0.34], 0.25, 0.34 * 2.0_f64.powf(1.0 / 6.0)),
        ]
    }
}
