//! Gay–Berne: ellipsoids with a soft core and an attraction that depends on their sides.

use super::{
    Axes, Mixing, OrientedCoefficients, OrientedPair, OrientedPotential, OrientedSample, Parameter,
    ParameterError, Parameters, Preparation,
};
use crate::expr::Real;
use crate::record::{Conventions, Doc};
use crate::system::Dimension;

crate::parameters! {
    /// Ellipsoids of any three diameters, and spheres among them.
    pub struct GayBerne { epsilon, sigma, gamma, upsilon, mu }
}

const fn diameter(name: &'static str, words: &'static str) -> Parameter {
    Parameter::quantity(name, words, Dimension::LENGTH, Mixing::Explicit)
}

const fn well(name: &'static str, words: &'static str) -> Parameter {
    Parameter::quantity(name, words, Dimension::NONE, Mixing::Explicit).or(1.0)
}

impl OrientedPotential for GayBerne {
    const NAME: &'static str = "gay-berne";
    const DOC: Doc = Doc {
        title: "Gay–Berne ellipsoids",
        formula: "u = 4ε (ϱ¹² − ϱ⁶) η χ, ϱ = σ/(r − σ₁₂ + γσ)\n\
                  σ₁₂ = [½ r̂ᵀ(G₁ + G₂)⁻¹r̂]^(−1/2), η = [2 s₁s₂/det(G₁ + G₂)]^(υ/2), χ = [2 r̂ᵀ(B₁ + B₂)⁻¹r̂]^μ\n\
                  G = diag(a², b², c²), B = diag(ε_a, ε_b, ε_c)^(−1/μ) in the axes of a particle\n\
                  of radii a, b, c; s = (ab + c²)√(ab)",
        remarks: &[
            "Uniaxial particles of the literature, GB(κ, κ′, μ, ν): diameters σ, σ, κσ, wells 1, 1, 1/κ′, γ = 1, υ = ν and \
             μ = μ. Some authors exchange the letters μ and ν.",
            "A sphere has three equal diameters and wells of one. Two spheres of diameter σ with γ = 1 have the \
             Lennard-Jones potential.",
            "The wells are relative depths where particles touch along x, y and z.",
        ],
        conventions: Conventions {
            gromacs: ["no", "–"],
            lammps: [
                "pair_style gayberne gamma upsilon mu; shapes are diameters, wells ε_a, ε_b, ε_c",
                "as they are, with the axes x, y, z",
            ],
            openmm: [
                "GayBerneForce: radii, wells of each particle; γ = 1, υ = μ = 1 alone",
                "diameters = 2 × radii",
            ],
            amber_charmm: ["no", "–"],
        },
        references: &[
            "Gay & Berne, J. Chem. Phys. 74, 3316 (1981)",
            "Berardi, Fava & Zannoni, Chem. Phys. Lett. 297, 8 (1998)",
            "Everaers & Ejtehadi, Phys. Rev. E 67, 041710 (2003)",
        ],
        examples: &[],
    };
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::quantity("epsilon", "ε, depth", Dimension::ENERGY, Mixing::Energy),
        Parameter::quantity("sigma", "σ, smallest diameter", Dimension::LENGTH, Mixing::Length),
        Parameter::quantity("gamma", "γ, shift of the distance", Dimension::NONE, Mixing::Same).or(1.0),
        Parameter::quantity("upsilon", "υ, exponent of η", Dimension::NONE, Mixing::Same).or(1.0),
        Parameter::quantity("mu", "μ, exponent of χ", Dimension::NONE, Mixing::Same).or(2.0),
    ];
    const OWN: &'static [Parameter] = &[
        diameter("diameter_x", "2a, diameter along x"),
        diameter("diameter_y", "2b, diameter along y"),
        diameter("diameter_z", "2c, diameter along z"),
        well("well_x", "ε_a, relative depth along x"),
        well("well_y", "ε_b, relative depth along y"),
        well("well_z", "ε_c, relative depth along z"),
    ];
    const AXES: Axes = Axes::All;

    fn check(p: Parameters) -> Result<(), ParameterError> {
        let [epsilon, sigma, gamma, _, mu] = p.numbers();
        ParameterError::unless(epsilon >= 0.0, "epsilon", epsilon, "an energy ≥ 0")?;
        ParameterError::unless(sigma > 0.0, "sigma", sigma, "a length > 0")?;
        ParameterError::unless(gamma > 0.0, "gamma", gamma, "a number > 0")?;
        ParameterError::unless(mu != 0.0, "mu", mu, "a number other than 0")
    }

    fn check_own(own: Parameters) -> Result<(), ParameterError> {
        for (k, parameter) in Self::OWN.iter().enumerate() {
            let value = own.number(k);
            ParameterError::unless(value > 0.0, parameter.name, value, "a number > 0")?;
        }
        Ok(())
    }

    fn coefficients(
        p: Parameters,
        own: [Parameters; 2],
        _preparation: &mut Preparation,
    ) -> OrientedCoefficients<f64> {
        let [epsilon, sigma, gamma, upsilon, mu] = p.numbers();
        let mut c = [0.0; super::MAX_ORIENTED];
        c[..5].copy_from_slice(&[4.0 * epsilon, sigma, gamma * sigma, 0.5 * upsilon, mu]);
        let mut twice_s = 2.0;
        for (side, own) in own.into_iter().enumerate() {
            let numbers: [f64; 6] = own.numbers();
            let [x, y, z] = [0, 1, 2].map(|k| 0.5 * numbers[k]);
            twice_s *= (x * y + z * z) * (x * y).sqrt();
            for (k, radius) in [x, y, z].into_iter().enumerate() {
                c[6 + 6 * side + k] = radius * radius;
                c[9 + 6 * side + k] = numbers[3 + k].powf(-mu.recip());
            }
        }
        c[5] = twice_s;
        c
    }

    #[inline(always)]
    fn energy<R: Real>(pair: &OrientedPair<R>, c: &OrientedCoefficients<R>) -> R {
        let per_r2 = pair.r2.recip();
        let sum = |at: usize| {
            Symmetric::sum(
                [c[at], c[at + 1], c[at + 2]],
                [c[at + 6], c[at + 7], c[at + 8]],
                pair,
            )
        };
        let (shape, depth) = (sum(6), sum(9));
        let d = pair.along[0];
        let across = shape.inverse_form(d) * per_r2;
        let sigma12 = (R::lit(0.5) * across).sqrt().recip();
        let power = |x: R, exponent: R| (x.ln() * exponent).exp();
        let eta = power(c[5] / shape.determinant(), c[3]);
        let chi = power(R::lit(2.0) * depth.inverse_form(d) * per_r2, c[4]);
        let rho = c[1] / (pair.r2.sqrt() - sigma12 + c[2]);
        let rho6 = rho.powi(6);
        c[0] * (rho6 * rho6 - rho6) * eta * chi
    }

    fn samples() -> Vec<OrientedSample> {
        let (sphere, rod): (&[f64], &[f64]) =
            (&[1.0, 1.0, 1.0, 1.0, 1.0, 1.0], &[1.0, 1.0, 3.0, 1.0, 1.0, 0.2]);
        let brick: &[f64] = &[2.0, 1.5, 1.0, 1.0, 0.5, 0.2];
        vec![
            OrientedSample::numbers(&[1.0, 1.0, 1.0, 1.0, 2.0], [rod, rod], 3.0, 5.0),
            OrientedSample::numbers(&[1.0, 1.0, 1.0, 3.0, 1.0], [brick, rod], 2.6, 4.0),
            OrientedSample::numbers(&[3.0, 1.0, 1.0, 3.0, 1.0], [sphere, brick], 1.6, 4.0),
        ]
    }
}

/// A symmetric matrix in the axes of the first particle: xx, yy, zz, xy, xz, yz.
#[derive(Clone, Copy)]
struct Symmetric<R>([R; 6]);

impl<R: Real> Symmetric<R> {
    /// diag(first) in the first particle's axes and diag(second) in the second's.
    #[inline(always)]
    fn sum(first: [R; 3], second: [R; 3], pair: &OrientedPair<R>) -> Self {
        let turned = |a: usize, b: usize| {
            let (u, v) = (pair.cosines[a], pair.cosines[b]);
            second[0] * u[0] * v[0] + second[1] * u[1] * v[1] + second[2] * u[2] * v[2]
        };
        Self([
            first[0] + turned(0, 0),
            first[1] + turned(1, 1),
            first[2] + turned(2, 2),
            turned(0, 1),
            turned(0, 2),
            turned(1, 2),
        ])
    }

    /// The inverse times the determinant.
    #[inline(always)]
    fn adjugate(&self) -> Self {
        let [xx, yy, zz, xy, xz, yz] = self.0;
        Self([
            yy * zz - yz * yz,
            xx * zz - xz * xz,
            xx * yy - xy * xy,
            xz * yz - xy * zz,
            xy * yz - xz * yy,
            xy * xz - xx * yz,
        ])
    }

    #[inline(always)]
    fn determinant(&self) -> R {
        let (m, a) = (self.0, self.adjugate().0);
        m[0] * a[0] + m[3] * a[3] + m[4] * a[4]
    }

    /// dᵀ M⁻¹ d.
    #[inline(always)]
    fn inverse_form(&self, [x, y, z]: [R; 3]) -> R {
        let a = self.adjugate().0;
        let squares = a[0] * x * x + a[1] * y * y + a[2] * z * z;
        let products = a[3] * x * y + a[4] * x * z + a[5] * y * z;
        (squares + products + products) / self.determinant()
    }
}
