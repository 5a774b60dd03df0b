//! [`Triangle`]: a rigid molecule of one particle and two like ones at equal distances, such as water.

use crate::expr::{Real, Vec3};
use crate::record::{Absent, Conventions, Doc, Key, Record};
use crate::system::Dimension;

/// A rigid triangle A–B–C with |AB| = |AC| and like masses of B and C.
///
/// In its own frame, with the center of mass at the origin, A is at (0, `apex`), B and C at (∓`half`, −`foot`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Triangle<R> {
    /// Shares of the mass: of A, and of B or C.
    share: [R; 2],
    /// Inverse masses: of A, and of B or C.
    inverse_mass: [R; 2],
    apex: R,
    foot: R,
    half: R,
}

// Functions, not closures: these may be left out of the function that has the instruction set.
#[inline(always)]
fn cosine<R: Real>(sine: R) -> R {
    (R::lit(1.0) - sine * sine).sqrt()
}

#[inline(always)]
fn unit<R: Real>(v: Vec3<R>) -> Vec3<R> {
    v * v.norm().recip()
}

impl<R: Real> Triangle<R> {
    /// From the masses of A and of B, and the lengths AB and BC.
    pub fn new(masses: [f64; 2], bond: f64, base: f64) -> Self {
        let [a, b] = masses;
        let total = a + 2.0 * b;
        let half = 0.5 * base;
        let height = (bond * bond - half * half).sqrt();
        Self {
            share: [R::lit(a / total), R::lit(b / total)],
            inverse_mass: [R::lit(1.0 / a), R::lit(1.0 / b)],
            apex: R::lit(2.0 * b * height / total),
            foot: R::lit(a * height / total),
            half: R::lit(half),
        }
    }

    /// Its numbers, for who keeps them elsewhere.
    #[inline(always)]
    pub fn numbers(&self) -> [R; 7] {
        let ([a, b], [c, d]) = (self.share, self.inverse_mass);
        [a, b, c, d, self.apex, self.foot, self.half]
    }

    /// A triangle of such numbers.
    #[inline(always)]
    pub fn from_numbers([a, b, c, d, apex, foot, half]: [R; 7]) -> Self {
        Self {
            share: [a, b],
            inverse_mass: [c, d],
            apex,
            foot,
            half,
        }
    }

    /// Where the particles go that moved from `old` to `new` without constraints: the rigid triangle reached from `new` by
    /// forces along the sides of `old` (SETTLE: Miyamoto & Kollman, J. Comput. Chem. 13, 952 (1992), Sec. II and
    /// Appendix A). Not a number where there is none: the molecule turned by too much at once.
    #[inline(always)]
    pub fn positions(&self, old: [Vec3<R>; 3], new: [Vec3<R>; 3]) -> [Vec3<R>; 3] {
        let [a, b, c] = new;
        let center = a * self.share[0] + (b + c) * self.share[1];
        let (a, b, c) = (a - center, b - center, c - center);
        let (b0, c0) = (old[1] - old[0], old[2] - old[0]);
        // The frame of the paper: z upright on the old plane, A above the middle of it in x.
        let z = unit(b0.cross(c0));
        let x = unit(a.cross(z));
        let y = z.cross(x);
        let (b0x, b0y) = (b0.dot(x), b0.dot(y));
        let (c0x, c0y) = (c0.dot(x), c0.dot(y));
        let (bx, by) = (b.dot(x), b.dot(y));
        let (cx, cy) = (c.dot(x), c.dot(y));
        let (az, bz, cz) = (a.dot(z), b.dot(z), c.dot(z));
        // Tilts out of the old plane, known from the heights.
        let sin_phi = az / self.apex;
        let cos_phi = cosine(sin_phi);
        let sin_psi = (bz - cz) / ((self.half + self.half) * cos_phi);
        let cos_psi = cosine(sin_psi);
        let a2 = self.apex * cos_phi;
        let b2x = -(self.half * cos_psi);
        let (middle, lean) = (-(self.foot * cos_phi), self.half * sin_psi * sin_phi);
        let (b2y, c2y) = (middle - lean, middle + lean);
        // The turn θ within the plane: the constraints exert no torque about z.
        let alpha = b2x * (b0x - c0x) + b0y * b2y + c0y * c2y;
        let beta = b2x * (c0y - b0y) + b0x * b2y + c0x * c2y;
        let gamma = b0x * by - bx * b0y + c0x * cy - cx * c0y;
        let both = alpha * alpha + beta * beta;
        let sin_theta = (alpha * gamma - beta * (both - gamma * gamma).sqrt()) / both;
        let cos_theta = cosine(sin_theta);
        let (b3x, b3y) = (
            b2x * cos_theta - b2y * sin_theta,
            b2x * sin_theta + b2y * cos_theta,
        );
        let (c3x, c3y) = (
            -(b2x * cos_theta) - c2y * sin_theta,
            c2y * cos_theta - b2x * sin_theta,
        );
        [
            center + x * -(a2 * sin_theta) + y * (a2 * cos_theta) + z * az,
            center + x * b3x + y * b3y + z * bz,
            center + x * c3x + y * c3y + z * cz,
        ]
    }

    /// How `rates` (velocities or accelerations of A, B, C at places `r`) must change by forces along the sides, so that
    /// side · difference of rates is `wanted` for AB, AC and BC. The changes, and the multiplier of each side: a particle of
    /// mass m changes by multiplier × side / m.
    #[inline(always)]
    pub fn rates(&self, r: [Vec3<R>; 3], rates: [Vec3<R>; 3], wanted: [R; 3]) -> ([Vec3<R>; 3], [R; 3]) {
        let [u, w] = self.inverse_mass;
        let sides = [r[0] - r[1], r[0] - r[2], r[1] - r[2]];
        let [p, q, s] = sides;
        // The symmetric matrix of the three equations.
        let (pp, qq, ss) = ((u + w) * p.norm2(), (u + w) * q.norm2(), (w + w) * s.norm2());
        let (pq, ps, qs) = (u * p.dot(q), -(w * p.dot(s)), w * q.dot(s));
        let right = [
            wanted[0] - p.dot(rates[0] - rates[1]),
            wanted[1] - q.dot(rates[0] - rates[2]),
            wanted[2] - s.dot(rates[1] - rates[2]),
        ];
        let rows = [
            Vec3::new(pp, pq, ps),
            Vec3::new(pq, qq, qs),
            Vec3::new(ps, qs, ss),
        ];
        let minors = [
            rows[1].cross(rows[2]),
            rows[2].cross(rows[0]),
            rows[0].cross(rows[1]),
        ];
        let per_determinant = rows[0].dot(minors[0]).recip();
        let g = (minors[0] * right[0] + minors[1] * right[1] + minors[2] * right[2]) * per_determinant;
        let change = [
            (p * g.x + q * g.y) * u,
            (s * g.z - p * g.x) * w,
            -((q * g.y + s * g.z) * w),
        ];
        (change, g.to_array())
    }
}

/// `rigid-water`.
pub const RIGID_WATER: Record = Record {
    name: "rigid-water",
    also: &["settle"],
    keys: &[
        Key::new(
            "bond",
            "distance of each hydrogen from the oxygen",
            Dimension::LENGTH,
            Absent::Otherwise("of the model"),
        ),
        Key::new(
            "base",
            "distance of the hydrogens",
            Dimension::LENGTH,
            Absent::Otherwise("of the model"),
        ),
    ],
    doc: Doc {
        title: "Rigid three-site molecules by SETTLE",
        formula: "|r_OH1| = |r_OH2| = bond, |r_H1H2| = base\n\
                  reached from the free motion by forces along the sides of the old triangle, in closed \
                  form",
        remarks: &[
            "Exact to rounding: no tolerance. Velocities have no component along the sides. Each molecule \
             has six degrees of freedom.",
            "The angle: base = 2 bond sin(θ/2).",
        ],
        conventions: Conventions {
            gromacs: ["[settles]: doh, dhh", "bond = doh, base = dhh"],
            lammps: [
                "fix shake or rattle on two bonds and an angle, within a tolerance",
                "bond, and base = 2 bond sin(θ/2)",
            ],
            openmm: [
                "rigidWater = True: three constraints, by SETTLE",
                "bond, base as the distances",
            ],
            amber_charmm: [
                "SHAKE with fast water (jfastw; FAST WATER): SETTLE",
                "bond, and base from the H–H bond of the model",
            ],
        },
        references: &["Miyamoto & Kollman, J. Comput. Chem. 13, 952 (1992)"],
        examples: &[],
    },
};
