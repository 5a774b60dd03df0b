//! Internal coordinates, their gradients and virials, written once for every bonded potential and every engine.

use crate::expr::{Real, Vec3};

/// A coordinate and its derivative by the position of each particle.
#[derive(Clone, Copy, Debug)]
pub struct Coordinate<R, const N: usize> {
    /// Distance or its square, or angle in radians.
    pub value: R,
    /// Gradients, in the order of the particles.
    pub gradient: [Vec3<R>; N],
    /// Positions of the particles relative to one of them, so that the virial needs no origin.
    pub relative: [Vec3<R>; N],
}

impl<R: Real, const N: usize> Coordinate<R, N> {
    /// The forces on the particles where the energy has this derivative by the coordinate.
    #[inline(always)]
    pub fn forces(&self, derivative: R) -> [Vec3<R>; N] {
        self.gradient.map(|g| g * -derivative)
    }
}

/// Adds the virial d⊗f of a force: xx yy zz xy xz yz.
#[inline(always)]
pub fn add_virial<R: Real>(virial: &mut [R; 6], d: Vec3<R>, f: Vec3<R>) {
    let products = [d.x * f.x, d.y * f.y, d.z * f.z, d.x * f.y, d.x * f.z, d.y * f.z];
    for (sum, product) in virial.iter_mut().zip(products) {
        *sum = *sum + product;
    }
}

/// The smallest sine a gradient is divided by: beyond it an angle is taken as straight.
const SMALLEST_SINE: f64 = 1e-8;

/// The distance of j from i; `ij` = r_j − r_i.
#[inline(always)]
pub fn distance<R: Real>(ij: Vec3<R>) -> Coordinate<R, 2> {
    let r = ij.norm();
    let along = ij * r.recip();
    Coordinate {
        value: r,
        gradient: [-along, along],
        relative: [Vec3::zero(), ij],
    }
}

/// The square of that distance.
#[inline(always)]
pub fn squared_distance<R: Real>(ij: Vec3<R>) -> Coordinate<R, 2> {
    let twice = ij * R::lit(2.0);
    Coordinate {
        value: ij.norm2(),
        gradient: [-twice, twice],
        relative: [Vec3::zero(), ij],
    }
}

/// The angle i–j–k from `ji` = r_i − r_j and `jk` = r_k − r_j.
#[inline(always)]
pub fn angle<R: Real>(ji: Vec3<R>, jk: Vec3<R>) -> Coordinate<R, 3> {
    let (a, b) = (ji.norm(), jk.norm());
    let sine_ab = ji.cross(jk).norm();
    let value = sine_ab.atan2(ji.dot(jk));
    let per_ab = (a * b).recip();
    let cosine = ji.dot(jk) * per_ab;
    let per_sine = (sine_ab * per_ab).max(R::lit(SMALLEST_SINE)).recip();
    let i = (ji * (cosine / (a * a)) - jk * per_ab) * per_sine;
    let k = (jk * (cosine / (b * b)) - ji * per_ab) * per_sine;
    Coordinate {
        value,
        gradient: [i, -(i + k), k],
        relative: [ji, Vec3::zero(), jk],
    }
}

/// The dihedral angle i–j–k–l, zero when i and l are cis, from `ji` = r_i − r_j, `kj` = r_j − r_k
/// and `kl` = r_l − r_k (Blondel & Karplus 1996, Eq. 27; no division by a sine).
#[inline(always)]
pub fn dihedral<R: Real>(ji: Vec3<R>, kj: Vec3<R>, kl: Vec3<R>) -> Coordinate<R, 4> {
    let (a, b) = (ji.cross(kj), kl.cross(kj));
    let (a2, b2, g) = (a.norm2(), b.norm2(), kj.norm());
    let value = b.cross(a).dot(kj).atan2(a.dot(b) * g);
    // Three particles in a line leave the angle undefined: the gradient vanishes there with the normal.
    let smallest = |u: Vec3<R>| u.norm2() * kj.norm2() * R::lit(SMALLEST_SINE * SMALLEST_SINE);
    let (per_a2, per_b2) = (a2.max(smallest(ji)).recip(), b2.max(smallest(kl)).recip());
    let per_g = g.recip();
    let i = a * -(g * per_a2);
    let l = b * (g * per_b2);
    let shared = a * (ji.dot(kj) * per_a2 * per_g) - b * (kl.dot(kj) * per_b2 * per_g);
    Coordinate {
        value,
        gradient: [i, shared - i, -shared - l, l],
        relative: [ji, Vec3::zero(), -kj, kl - kj],
    }
}

/// The cosine between an axis and a direction, and what changes it.
#[derive(Clone, Copy, Debug)]
pub struct AxisCosine<R> {
    /// The cosine.
    pub value: R,
    /// Derivative by the separation.
    pub by_separation: Vec3<R>,
    /// Derivative by a rotation of the axis: the torque is minus this times that of the energy.
    pub torque: Vec3<R>,
}

/// The cosine between a unit axis of one particle and the separation to another.
#[inline(always)]
pub fn axis<R: Real>(axis: Vec3<R>, separation: Vec3<R>) -> AxisCosine<R> {
    let per_r = separation.norm().recip();
    let along = separation * per_r;
    let value = axis.dot(along);
    AxisCosine {
        value,
        by_separation: (axis - along * value) * per_r,
        torque: axis.cross(along),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Dual;

    /// Every gradient against forward differentiation of the value, particle by particle.
    fn check<const N: usize>(
        r: [Vec3<f64>; N],
        plain: impl Fn([Vec3<f64>; N]) -> Coordinate<f64, N>,
        dual: impl Fn([Vec3<Dual<f64>>; N]) -> Dual<f64>,
    ) {
        let gradient = plain(r).gradient;
        for (p, of_particle) in gradient.iter().enumerate() {
            for axis in 0..3 {
                let mut moved = r.map(|v| v.map(Dual::constant));
                let component = match axis {
                    0 => &mut moved[p].x,
                    1 => &mut moved[p].y,
                    _ => &mut moved[p].z,
                };
                component.derivative = 1.0;
                let expected = dual(moved).derivative;
                assert!(
                    (of_particle[axis] - expected).abs() < 1e-11,
                    "particle {p} axis {axis}"
                );
            }
        }
    }

    const R: [Vec3<f64>; 4] = [
        Vec3::new(0.1, 0.2, -0.3),
        Vec3::new(1.2, 0.1, 0.2),
        Vec3::new(1.9, 1.3, -0.1),
        Vec3::new(2.6, 1.1, 1.4),
    ];

    #[test]
    fn gradients_are_derivatives() {
        let [i, j, k, l] = R;
        check([i, j], |r| distance(r[1] - r[0]), |r| distance(r[1] - r[0]).value);
        check(
            [i, j],
            |r| squared_distance(r[1] - r[0]),
            |r| squared_distance(r[1] - r[0]).value,
        );
        check(
            [i, j, k],
            |r| angle(r[0] - r[1], r[2] - r[1]),
            |r| angle(r[0] - r[1], r[2] - r[1]).value,
        );
        check(
            [i, j, k, l],
            |r| dihedral(r[0] - r[1], r[1] - r[2], r[3] - r[2]),
            |r| dihedral(r[0] - r[1], r[1] - r[2], r[3] - r[2]).value,
        );
    }

    #[test]
    fn straight_chains_have_finite_gradients() {
        let x = |x: f64| Vec3::new(x, 0.0, 0.0);
        for l in [x(3.0), Vec3::new(3.0, 1.0, 0.0)] {
            let d = dihedral(x(0.0) - x(1.0), x(1.0) - x(2.0), l - x(2.0));
            assert!(d.gradient.iter().all(|g| g.norm2().is_finite()));
            let a = angle(x(0.0) - x(1.0), x(2.0) - x(1.0));
            assert!(a.gradient.iter().all(|g| g.norm2().is_finite()));
        }
    }

    #[test]
    fn cis_is_zero_and_trans_is_pi() {
        let at = |x: f64, y: f64| Vec3::new(x, y, 0.0);
        let [j, k] = [at(0.0, 0.0), at(1.0, 0.0)];
        let phi = |i: Vec3<f64>, l: Vec3<f64>| dihedral(i - j, j - k, l - k).value;
        assert!(phi(at(-0.5, 1.0), at(1.5, 1.0)).abs() < 1e-15);
        assert!((phi(at(-0.5, 1.0), at(1.5, -1.0)).abs() - std::f64::consts::PI).abs() < 1e-15);
        // Looking along j→k, l a quarter turn clockwise from i counts as +90° (IUPAC).
        let l = Vec3::new(1.5, 0.0, 1.0);
        assert!((phi(at(-0.5, 1.0), l) - std::f64::consts::FRAC_PI_2).abs() < 1e-15);
    }
}
