//! The short-range part of multilevel summation, and the smooth part taken out again.

use super::{
    Coefficients, Mixing, Pair, PairAdapter, PairFamily, PairPotential, PairSample, Parameter,
    ParameterError, Parameters, Preparation,
};
use crate::expr::{Dual, Real};
use crate::forces::multilevel::{Interpolation, Softening};
use crate::record::{Conventions, Doc, Example};
use crate::system::Dimension;

crate::parameters! {
    /// Coulomb less its part that varies slowly.
    pub struct CoulombMultilevel { a, order, epsilon_r }
}

impl PairPotential for CoulombMultilevel {
    const NAME: &'static str = "coulomb-multilevel";
    const DOC: Doc = Doc {
        title: "Short-range part of multilevel summation",
        formula: "u(r) = k_e q₁q₂/ε_r [1/r − γ(r/a)/a] for r < a, 0 beyond\n\
                  γ(x): Taylor expansion of (x²)^(−1/2) about x = 1\n\
                  order 4: γ(x) = 15/8 − 5/4 x² + 3/8 x⁴\n\
                  order 6: γ(x) = 35/16 − 35/16 x² + 21/16 x⁴ − 5/16 x⁶\n\
                  order 8: γ(x) = 315/128 − 105/32 x² + 189/64 x⁴ − 45/32 x⁶ + 35/128 x⁸",
        remarks: &[
            "Valid for r > 0. It is the pair term of `multilevel`, which writes it itself and adds the rest; do not \
             give it beside that. Alone it is Coulomb's law that ends smoothly at a.",
        ],
        conventions: Conventions {
            gromacs: [
                "no such function; a table",
                "the same table: kind = \"tabulated\"",
            ],
            lammps: [
                "pair_style coul/msm r_c with kspace_style msm, kspace_modify order 4 to 10",
                "a = r_c, order as it is",
            ],
            openmm: [
                "CustomNonbondedForce with the formula",
                "as the formula is written there",
            ],
            amber_charmm: ["no such function", "–"],
        },
        references: &["Hardy et al., J. Chem. Theory Comput. 11, 766 (2015)"],
        examples: &[Example {
            values: &[1.2, 4.0, 1.0],
            cutoff: 0.0,
            at: 0.4,
            energy: 1.049382716,
        }],
    };
    const TUNED: bool = true;
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::quantity("a", "where it ends", Dimension::LENGTH, Mixing::Same),
        Parameter::quantity(
            "order",
            "of the interpolation that γ goes with: 4, 6 or 8",
            Dimension::NONE,
            Mixing::Same,
        ),
        Parameter::quantity(
            "epsilon_r",
            "ε_r, relative permittivity",
            Dimension::NONE,
            Mixing::Same,
        )
        .or(1.0),
    ];
    const USES_CHARGES: bool = true;

    fn check(p: Parameters) -> Result<(), ParameterError> {
        let [a, order, epsilon_r] = p.numbers();
        ParameterError::unless(a > 0.0, "a", a, "a length > 0")?;
        let known = Interpolation::ORDERS.iter().any(|&known| known as f64 == order);
        ParameterError::unless(known, "order", order, "4, 6 or 8")?;
        ParameterError::unless(epsilon_r > 0.0, "epsilon_r", epsilon_r, "a number > 0")
    }

    /// 1/ε_r, coefficients of γ(r/a)/(a ε_r) by powers of (r/a)², 1/a².
    fn coefficients(p: Parameters, _: &mut Preparation) -> Coefficients<f64> {
        let [a, order, epsilon_r] = p.numbers();
        let [c0, c1, c2, c3, c4] = Softening::for_order(order as usize)
            .coefficients()
            .map(|c| c / (a * epsilon_r));
        [epsilon_r.recip(), c0, c1, c2, c3, c4, (a * a).recip(), 0.0]
    }

    #[inline(always)]
    fn energy<R: Real>(pair: Pair<R>, c: &Coefficients<R>) -> R {
        let x = c[6] * pair.r2;
        let near = c[0] * pair.r2.sqrt().recip() - polynomial(x, c).value;
        R::select_lt(x, R::lit(1.0), near, R::lit(0.0))
    }

    #[inline(always)]
    fn energy_and_derivative<R: Real>(pair: Pair<R>, c: &Coefficients<R>) -> Dual<R> {
        let x = c[6] * pair.r2;
        let (inverse, smooth) = (pair.r2.sqrt().recip(), polynomial(x, c));
        let bare = c[0] * inverse;
        let derivative = bare * inverse * (inverse * R::lit(-0.5)) - smooth.derivative;
        let (one, zero) = (R::lit(1.0), R::lit(0.0));
        Dual {
            value: R::select_lt(x, one, bare - smooth.value, zero),
            derivative: R::select_lt(x, one, derivative, zero),
        }
    }

    fn samples() -> Vec<PairSample> {
        vec![
            PairSample::numbers([1.2, 4.0, 1.0], 0.1, 1.2),
            PairSample::numbers([1.2, 6.0, 1.0], 0.1, 1.2),
            PairSample::numbers([3.0, 8.0, 2.0], 0.4, 3.0),
        ]
    }
}

/// γ(r/a)/(a ε_r) of x = (r/a)² < 1, and its derivative by r².
#[inline(always)]
fn polynomial<R: Real>(x: R, c: &Coefficients<R>) -> Dual<R> {
    let mut sum = Dual::constant(c[5]);
    for k in (1..5).rev() {
        sum = Dual {
            value: sum.value.mul_add(x, c[k]),
            derivative: sum.derivative.mul_add(x, sum.value),
        };
    }
    Dual {
        derivative: sum.derivative * c[6],
        ..sum
    }
}

/// What the grids of multilevel summation have too much of between excluded pairs: −γ(r/a)/(a ε_r), at any distance. Not a
/// term by itself, so it is in no register.
#[derive(Debug)]
pub struct CoulombSmooth;

/// [`CoulombSmooth`] behind a pointer.
pub static COULOMB_SMOOTH: &dyn PairFamily = &PairAdapter::<CoulombSmooth>(std::marker::PhantomData);

impl PairPotential for CoulombSmooth {
    const NAME: &'static str = "coulomb-smooth";
    const DOC: Doc = Doc {
        title: "Correction of multilevel summation between excluded pairs",
        formula: "u(r) = −k_e q₁q₂ γ(r/a)/(a ε_r), γ(x) = 1/x for x ≥ 1",
        examples: &[Example {
            values: &[1.2, 4.0, 1.0],
            cutoff: 0.0,
            at: 0.4,
            energy: -1.450617284,
        }],
        ..CoulombMultilevel::DOC
    };
    const PARAMETERS: &'static [Parameter] = CoulombMultilevel::PARAMETERS;
    const USES_CHARGES: bool = true;

    fn check(p: Parameters) -> Result<(), ParameterError> {
        CoulombMultilevel::check(p)
    }

    fn coefficients(p: Parameters, preparation: &mut Preparation) -> Coefficients<f64> {
        CoulombMultilevel::coefficients(p, preparation)
    }

    #[inline(always)]
    fn energy<R: Real>(pair: Pair<R>, c: &Coefficients<R>) -> R {
        let x = c[6] * pair.r2;
        let far = c[0] * pair.r2.sqrt().recip();
        -R::select_lt(x, R::lit(1.0), polynomial(x, c).value, far)
    }

    #[inline(always)]
    fn energy_and_derivative<R: Real>(pair: Pair<R>, c: &Coefficients<R>) -> Dual<R> {
        let x = c[6] * pair.r2;
        let (inverse, near) = (pair.r2.sqrt().recip(), polynomial(x, c));
        let far = c[0] * inverse;
        let derivative = far * inverse * (inverse * R::lit(-0.5));
        let one = R::lit(1.0);
        Dual {
            value: -R::select_lt(x, one, near.value, far),
            derivative: -R::select_lt(x, one, near.derivative, derivative),
        }
    }

    fn samples() -> Vec<PairSample> {
        vec![PairSample::numbers([1.2, 6.0, 1.0], 0.05, 2.0)]
    }
}
