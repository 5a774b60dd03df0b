//! The sticky part of soft sticky dipole water.

use super::oriented::scaled;
use super::{
    Axes, Mixing, OrientedCoefficients, OrientedEnergy, OrientedPair, OrientedPotential, OrientedSample,
    Parameter, ParameterError, Parameters, Preparation,
};
use crate::expr::Real;
use crate::record::{Conventions, Doc};
use crate::system::Dimension;
use crate::truncation::Truncation;

crate::parameters! {
    /// The tetrahedral attraction of soft sticky dipole water.
    pub struct Sticky { v0, w0, lower, upper, lower_prime, upper_prime }
}

impl OrientedPotential for Sticky {
    const NAME: &'static str = "sticky";
    const DOC: Doc = Doc {
        title: "Sticky potential of soft sticky dipole (SSD) water",
        formula: "u = ½ v₀ [s(r) (w₁ + w₂) + s′(r) (w′₁ + w′₂)]\n\
                  w = 2 (x² − y²) z/r³, w′ = (z/r − 0.6)² (z/r + 0.8)² − w₀\n\
                  (x, y, z) is the way to the partner in a molecule's own axes\n\
                  s = 1 for r < r_L, 0 for r > r_U, else (r_U − r)² (r_U + 2r − 3r_L)/(r_U − r_L)³\n\
                  s′ the same with r′_L and r′_U",
        remarks: &[
            "Axes of a molecule: z bisects the angle H–O–H and points to the hydrogens, which lie in the plane of y and z.",
            "SSD water is this beside `lennard-jones` and `dipoles` or `dipoles-reaction-field`. The parametrizations SSD, \
             SSD1, SSD/E and SSD/RF come with `include`.",
            "It ends by itself at the larger of r_U and r′_U; with `truncation = \"cut\"` it is fastest.",
        ],
        conventions: Conventions {
            gromacs: ["no", "–"],
            lammps: ["no", "–"],
            openmm: ["no", "–"],
            amber_charmm: [
                "CHARMM has had SSD as a water model of its own; OpenMD has it today",
                "as in OpenMD",
            ],
        },
        references: &[
            "Liu & Ichiye, J. Phys. Chem. 100, 2723 (1996)",
            "Fennell & Gezelter, J. Chem. Phys. 120, 9175 (2004)",
        ],
        examples: &[],
    };
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::quantity("v0", "v₀, strength", Dimension::ENERGY, Mixing::Explicit),
        Parameter::quantity(
            "w0",
            "w₀, what makes w′ zero on average",
            Dimension::NONE,
            Mixing::Explicit,
        ),
        Parameter::quantity(
            "lower",
            "r_L, where s begins to fall",
            Dimension::LENGTH,
            Mixing::Explicit,
        ),
        Parameter::quantity("upper", "r_U, where s ends", Dimension::LENGTH, Mixing::Explicit),
        Parameter::quantity(
            "lower_prime",
            "r′_L, where s′ begins to fall",
            Dimension::LENGTH,
            Mixing::Explicit,
        ),
        Parameter::quantity(
            "upper_prime",
            "r′_U, where s′ ends",
            Dimension::LENGTH,
            Mixing::Explicit,
        ),
    ];
    const AXES: Axes = Axes::All;

    fn check(p: Parameters) -> Result<(), ParameterError> {
        let [_, _, lower, upper, lower_prime, upper_prime] = p.numbers();
        let expected = "a length above that where the function begins to fall";
        ParameterError::unless(lower >= 0.0, "lower", lower, "a length ≥ 0")?;
        ParameterError::unless(upper > lower, "upper", upper, expected)?;
        ParameterError::unless(lower_prime >= 0.0, "lower_prime", lower_prime, "a length ≥ 0")?;
        ParameterError::unless(upper_prime > lower_prime, "upper_prime", upper_prime, expected)
    }

    fn coefficients(
        p: Parameters,
        _own: [Parameters; 2],
        _preparation: &mut Preparation,
    ) -> OrientedCoefficients<f64> {
        let [v0, w0, lower, upper, lower_prime, upper_prime] = p.numbers();
        let mut c = [0.0; super::MAX_ORIENTED];
        (c[0], c[1]) = (0.5 * v0, w0);
        (c[2], c[3], c[4]) = (lower, upper, (upper - lower).powi(-3));
        (c[5], c[6], c[7]) = (lower_prime, upper_prime, (upper_prime - lower_prime).powi(-3));
        c
    }

    #[inline(always)]
    fn energy<R: Real>(pair: &OrientedPair<R>, c: &OrientedCoefficients<R>) -> R {
        let per_r = pair.r2.sqrt().recip();
        let r = pair.r2 * per_r;
        let falling = |lower: R, upper: R, per_cube: R| {
            let left = upper - r;
            let fall = left * left * (upper + r + r - R::lit(3.0) * lower) * per_cube;
            let below = R::select_lt(r, upper, fall, R::lit(0.0));
            R::select_lt(r, lower, R::lit(1.0), below)
        };
        let (s, s_prime) = (falling(c[2], c[3], c[4]), falling(c[5], c[6], c[7]));
        // The direction to the partner: from the second particle it is the other way.
        let [first, second] = pair.along;
        let molecule = |[x, y, z]: [R; 3], per_r: R| {
            let (x, y, z) = (x * per_r, y * per_r, z * per_r);
            let squares = ((z - R::lit(0.6)) * (z + R::lit(0.8))).squared();
            [R::lit(2.0) * (x * x - y * y) * z, squares - c[1]]
        };
        let ([w1, w1_prime], [w2, w2_prime]) = (molecule(first, per_r), molecule(second, -per_r));
        c[0] * (s * (w1 + w2) + s_prime * (w1_prime + w2_prime))
    }

    /// A third of the operations of the derived ones.
    #[inline(always)]
    fn energy_and_derivatives<R: Real>(
        truncation: Truncation,
        pair: &OrientedPair<R>,
        c: &OrientedCoefficients<R>,
    ) -> Option<OrientedEnergy<R>> {
        if truncation != Truncation::Cut {
            return None;
        }
        let zero = R::lit(0.0);
        let per_r = pair.r2.sqrt().recip();
        let (r, per_r2) = (pair.r2 * per_r, per_r * per_r);
        let at = At { r, per_r, per_r2 };
        let [s, ds] = at.falling(c[2], c[3], c[4]);
        let [s_prime, ds_prime] = at.falling(c[5], c[6], c[7]);
        let first = at.molecule(pair.along[0], per_r, s, s_prime);
        let second = at.molecule(pair.along[1], -per_r, s, s_prime);
        let (w, w_prime) = (first.w + second.w, first.w_prime + second.w_prime - c[1] - c[1]);
        Some(OrientedEnergy {
            value: c[0] * (s * w + s_prime * w_prime),
            r2: c[0] * (first.by_r2 + second.by_r2 + ds * w + ds_prime * w_prime),
            along: [scaled(first.by, c[0]), scaled(second.by, c[0])],
            cosines: [[zero; 3]; 3],
        })
    }

    fn natural_cutoff(p: Parameters) -> Option<f64> {
        Some(p.number(3).max(p.number(5)))
    }

    fn samples() -> Vec<OrientedSample> {
        vec![
            // SSD and SSD/E.
            OrientedSample::numbers(
                &[15.5996256, 0.07715, 0.275, 0.335, 0.275, 0.4],
                [&[], &[]],
                0.2,
                0.4,
            ),
            OrientedSample::numbers(
                &[16.3176, 0.07715, 0.24, 0.38, 0.275, 0.335],
                [&[], &[]],
                0.2,
                0.38,
            ),
        ]
    }
}

/// A distance.
struct At<R> {
    r: R,
    per_r: R,
    per_r2: R,
}

/// What a molecule adds: w, w′ + w₀, and the derivatives of s w + s′ w′ at constant s and s′, by the components of the way
/// and by r².
struct Part<R> {
    w: R,
    w_prime: R,
    by: [R; 3],
    by_r2: R,
}

impl<R: Real> At<R> {
    /// A function that falls from one to zero, and its derivative by r².
    #[inline(always)]
    fn falling(&self, lower: R, upper: R, per_cube: R) -> [R; 2] {
        let (zero, three, r) = (R::lit(0.0), R::lit(3.0), self.r);
        let left = (upper - r) * per_cube;
        let fall = left * (upper - r) * (upper + r + r - three * lower);
        let ds = three * left * (lower - r) * self.per_r;
        [
            R::select_lt(r, lower, R::lit(1.0), R::select_lt(r, upper, fall, zero)),
            R::select_lt(r, lower, zero, R::select_lt(r, upper, ds, zero)),
        ]
    }

    #[inline(always)]
    fn molecule(&self, [x, y, z]: [R; 3], per_r: R, s: R, s_prime: R) -> Part<R> {
        let two = R::lit(2.0);
        let (x, y, z) = (x * per_r, y * per_r, z * per_r);
        let (square, a, b) = (x * x - y * y, z - R::lit(0.6), z + R::lit(0.8));
        let (w, product) = (two * square * z, a * b);
        let steep = two * product * (a + b) * s_prime;
        let four = R::lit(4.0) * z * s;
        Part {
            w,
            w_prime: product * product,
            by: scaled([four * x, -(four * y), two * square * s + steep], per_r),
            by_r2: -(R::lit(0.5) * self.per_r2) * (R::lit(3.0) * s * w + z * steep),
        }
    }
}
