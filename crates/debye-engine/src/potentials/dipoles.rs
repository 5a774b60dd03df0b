//! Point charges and point dipoles.

use super::{
    Axes, Mixing, OrientedCoefficients, OrientedEnergy, OrientedPair, OrientedPotential, OrientedSample,
    Parameter, ParameterError, Parameters, Preparation,
};
use crate::expr::Real;
use crate::record::{Conventions, Doc};
use crate::system::Dimension;
use crate::truncation::Truncation;

crate::parameters! {
    /// Electrostatics of point charges and point dipoles.
    pub struct Dipoles { epsilon_r }
}

/// Relative permittivity, which both potentials of dipoles have.
pub(super) const EPSILON_R: Parameter = Parameter::quantity(
    "epsilon_r",
    "ε_r, relative permittivity within the cut-off",
    Dimension::NONE,
    Mixing::Same,
)
.or(1.0);

/// Refuses a permittivity that is none.
pub(super) fn check_permittivity(epsilon_r: f64) -> Result<(), ParameterError> {
    ParameterError::unless(epsilon_r > 0.0, "epsilon_r", epsilon_r, "a number > 0")
}

/// p₁·d, p₂·d and p₁·p₂.
#[inline(always)]
pub(super) fn projections<R: Real>(pair: &OrientedPair<R>) -> [R; 3] {
    let [first, second] = pair.dipoles;
    [
        first * pair.along[0][2],
        second * pair.along[1][2],
        first * second * pair.cosines[2][2],
    ]
}

impl OrientedPotential for Dipoles {
    const NAME: &'static str = "dipoles";
    const DOC: Doc = Doc {
        title: "Point charges and point dipoles",
        formula: "u = k_e/ε_r [q₁q₂/r + (q₂ p₁·d − q₁ p₂·d + p₁·p₂)/r³ − 3(p₁·d)(p₂·d)/r⁵]\n\
                  d = r₂ − r₁",
        remarks: &[
            "Charges are part of it: a term `coulomb` beside it would count them twice. A dipole points along the axis z \
             of its particle.",
            "With `truncation = \"force-shift\"` the radial functions become (1 − x)²/r, (1 − 3x² + 2x³)/r³ and (1 − 4x³ + \
             3x⁴)/r³ with x = r/r_c, for the three kinds of pairs.",
            "The interaction of dipoles falls off as r⁻³: what is beyond the cut-off matters for the permittivity of the \
             fluid. Use `dipoles-reaction-field` where that counts.",
        ],
        conventions: Conventions {
            gromacs: ["no point dipoles", "–"],
            lammps: [
                "pair_style lj/cut/dipole/cut; lj/sf/dipole/sf is this with force-shift, beside Lennard-Jones with \
                 quadratic-shift",
                "dipole = |mu|; the same otherwise",
            ],
            openmm: ["AmoebaMultipoleForce, never cut", "–"],
            amber_charmm: ["not in their standard force fields", "–"],
        },
        references: &[
            "Allen & Tildesley, Computer Simulation of Liquids, 2nd ed., Oxford (2017)",
            "Orsi & Essex, PLoS ONE 6, e28637 (2011), for the force-shifted form",
        ],
        examples: &[],
    };
    const PARAMETERS: &'static [Parameter] = &[EPSILON_R];
    const AXES: Axes = Axes::Z;
    const ELECTROSTATIC: bool = true;

    fn check(p: Parameters) -> Result<(), ParameterError> {
        check_permittivity(p.number(0))
    }

    fn coefficients(
        p: Parameters,
        _own: [Parameters; 2],
        preparation: &mut Preparation,
    ) -> OrientedCoefficients<f64> {
        let mut c = [0.0; super::MAX_ORIENTED];
        (c[0], c[1]) = (p.number(0).recip(), preparation.cutoff.recip());
        c
    }

    #[inline(always)]
    fn energy<R: Real>(pair: &OrientedPair<R>, c: &OrientedCoefficients<R>) -> R {
        let one = R::lit(1.0);
        multipoles(pair, c[0], [one; 3])
    }

    #[inline(always)]
    fn force_shifted<R: Real>(pair: &OrientedPair<R>, c: &OrientedCoefficients<R>, _cutoff: R) -> R {
        multipoles(pair, c[0], shifted(pair.r2.sqrt() * c[1]))
    }

    #[inline(always)]
    fn energy_and_derivatives<R: Real>(
        truncation: Truncation,
        pair: &OrientedPair<R>,
        c: &OrientedCoefficients<R>,
    ) -> Option<OrientedEnergy<R>> {
        match truncation {
            Truncation::Cut => {
                let one = R::lit(1.0);
                Some(derivatives(pair, c[0], [one; 3], [one; 2]))
            }
            Truncation::ForceShift => {
                let (one, x) = (R::lit(1.0), pair.r2.sqrt() * c[1]);
                let x2 = x * x;
                Some(derivatives(pair, c[0], shifted(x), [one - x2, one - x2 * x2]))
            }
            _ => None,
        }
    }

    fn samples() -> Vec<OrientedSample> {
        vec![
            OrientedSample::numbers(&[1.0], [&[], &[]], 0.2, 1.2),
            OrientedSample::numbers(&[2.5], [&[], &[]], 0.3, 0.9),
        ]
    }
}

/// The energy with a factor for pairs of charges, of a charge and a dipole, and of dipoles.
#[inline(always)]
fn multipoles<R: Real>(pair: &OrientedPair<R>, scale: R, [charges, mixed, dipoles]: [R; 3]) -> R {
    let [a, b, ab] = projections(pair);
    let [first, second] = pair.charges;
    let per_r2 = pair.r2.recip();
    let per_r = per_r2.sqrt();
    let per_r3 = scale * per_r2 * per_r;
    let both = scale * per_r * charges * (first * second);
    let one = per_r3 * mixed * (second * a - first * b);
    both + one + per_r3 * dipoles * (ab - R::lit(3.0) * per_r2 * a * b)
}

/// The factors of a force shift, for x = r/r_c.
#[inline(always)]
fn shifted<R: Real>(x: R) -> [R; 3] {
    let (one, x2) = (R::lit(1.0), x * x);
    let charges = (one - x) * (one - x);
    let mixed = one + x2 * (x + x - R::lit(3.0));
    let dipoles = one + x2 * x * (R::lit(3.0) * x - R::lit(4.0));
    [charges, mixed, dipoles]
}

/// [`multipoles`] and its derivatives. The derivative of the radial functions 1/r and 1/r³ with their factors by r² is
/// −½ r⁻³ and −3/2 r⁻⁵ times `falls`: one for charges alone and with a dipole, another for two dipoles.
#[inline(always)]
fn derivatives<R: Real>(
    pair: &OrientedPair<R>,
    scale: R,
    [charges, mixed, dipoles]: [R; 3],
    falls: [R; 2],
) -> OrientedEnergy<R> {
    let [a, b, ab] = projections(pair);
    let [first, second] = pair.charges;
    let (half, three, zero) = (R::lit(0.5), R::lit(3.0), R::lit(0.0));
    let per_r2 = pair.r2.recip();
    let per_r = per_r2.sqrt();
    let per_r3 = scale * per_r2 * per_r;
    let per_r5 = per_r3 * per_r2;
    let (product, crossed) = (first * second, second * a - first * b);
    let (f1, f2, f3) = (per_r3 * mixed, per_r3 * dipoles, three * per_r5 * dipoles);
    let value = scale * per_r * charges * product + f1 * crossed + f2 * ab - f3 * a * b;
    let steep = R::lit(-1.5) * per_r5;
    let of_pairs = falls[0] * (steep * crossed - half * per_r3 * product);
    let of_dipoles = steep * falls[1] * (ab - three * per_r2 * a * b) + f3 * per_r2 * a * b;
    let [mine, theirs] = pair.dipoles;
    OrientedEnergy {
        value,
        r2: of_pairs + of_dipoles,
        along: [
            [zero, zero, mine * (f1 * second - f3 * b)],
            [zero, zero, -(theirs * (f1 * first + f3 * a))],
        ],
        cosines: [[zero; 3], [zero; 3], [zero, zero, mine * theirs * f2]],
    }
}
