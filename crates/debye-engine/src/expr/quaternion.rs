//! [`Quat`]: an orientation.

use super::{Mat3, Real, Vec3};

/// A quaternion w + xi + yj + zk.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Quat<R> {
    /// Scalar part.
    pub w: R,
    /// Vector part.
    pub v: Vec3<R>,
}

impl<R: Real> Quat<R> {
    /// No rotation.
    #[inline(always)]
    pub fn identity() -> Self {
        Self {
            w: R::lit(1.0),
            v: Vec3::zero(),
        }
    }

    /// The rotation by `angle` about a unit vector.
    #[inline(always)]
    pub fn about(axis: Vec3<R>, angle: R) -> Self {
        let half = angle * R::lit(0.5);
        Self {
            w: half.cos(),
            v: axis * half.sin(),
        }
    }

    /// First `other`, then `self`.
    #[inline(always)]
    pub fn compose(self, other: Self) -> Self {
        Self {
            w: self.w * other.w - self.v.dot(other.v),
            v: other.v * self.w + self.v * other.w + self.v.cross(other.v),
        }
    }

    /// The opposite rotation.
    #[inline(always)]
    pub fn conjugate(self) -> Self {
        Self {
            w: self.w,
            v: -self.v,
        }
    }

    /// Scaled to length one.
    #[inline(always)]
    pub fn normalized(self) -> Self {
        let s = (self.w * self.w + self.v.norm2()).sqrt().recip();
        Self {
            w: self.w * s,
            v: self.v * s,
        }
    }

    /// The vector turned by this rotation.
    #[inline(always)]
    pub fn rotate(self, u: Vec3<R>) -> Vec3<R> {
        let t = self.v.cross(u) * R::lit(2.0);
        u + t * self.w + self.v.cross(t)
    }

    /// The axes x, y, z turned by it.
    #[inline(always)]
    pub fn axes(self) -> [Vec3<R>; 3] {
        let (o, e) = (R::lit(0.0), R::lit(1.0));
        [[e, o, o], [o, e, o], [o, o, e]].map(|axis| self.rotate(axis.into()))
    }

    /// As a matrix that turns column vectors.
    #[inline(always)]
    pub fn to_matrix(self) -> Mat3<R> {
        let [x, y, z] = self.axes();
        Mat3::from_rows(x, y, z).transpose()
    }
}

impl Quat<f64> {
    /// The shortest rotation that takes the axis z to a unit vector.
    pub fn from_z_to(to: Vec3<f64>) -> Self {
        // Half a turn about x, where any axis across z would do.
        let across = to.x * to.x + to.y * to.y;
        if to.z < 0.0 && across < 1e-30 {
            return Self {
                w: 0.0,
                v: Vec3::new(1.0, 0.0, 0.0),
            };
        }
        Self {
            // 1 + z, where that would cancel from x² + y² + z² = 1.
            w: if to.z < 0.0 {
                across / (1.0 - to.z)
            } else {
                1.0 + to.z
            },
            v: Vec3::new(-to.y, to.x, 0.0),
        }
        .normalized()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quarter_turn_about_z() {
        let q = Quat::about(Vec3::new(0.0, 0.0, 1.0), std::f64::consts::FRAC_PI_2);
        let u = q.rotate(Vec3::new(1.0, 0.0, 0.0));
        assert!((u - Vec3::new(0.0, 1.0, 0.0)).norm() < 1e-15);
        assert!(
            (q.to_matrix().apply(Vec3::new(1.0, 2.0, 3.0)) - q.rotate(Vec3::new(1.0, 2.0, 3.0))).norm()
                < 1e-14
        );
        let back = q.conjugate().compose(q);
        assert!((back.w - 1.0).abs() < 1e-15);
    }

    #[test]
    fn z_is_taken_anywhere() {
        let near_pole = Vec3::new(1e-7, 0.0, -1.0);
        for to in [
            Vec3::new(0.0, 0.0, 1.0),
            Vec3::new(0.0, 0.0, -1.0),
            Vec3::new(0.6, -0.48, 0.64),
            near_pole * near_pole.norm().recip(),
        ] {
            let turned = Quat::from_z_to(to).rotate(Vec3::new(0.0, 0.0, 1.0));
            assert!((turned - to).norm() < 1e-9, "{to:?} {turned:?}");
        }
    }

    fn some_rotation(seed: f64) -> Quat<f64> {
        let v = Vec3::new(seed.sin(), (2.0 * seed).cos(), (3.0 * seed).sin());
        Quat {
            w: (5.0 * seed).cos(),
            v,
        }
        .normalized()
    }

    #[test]
    fn composition_is_one_rotation_after_the_other() {
        let u = Vec3::new(0.3_f64, -1.1, 0.8);
        for seed in [0.1, 0.9, 2.3, 4.0] {
            let (a, b) = (some_rotation(seed), some_rotation(seed + 0.7));
            assert!((a.compose(b).rotate(u) - a.rotate(b.rotate(u))).norm() < 1e-14);
            assert!((a.rotate(u).norm() - u.norm()).abs() < 1e-15);
            assert!((a.conjugate().rotate(a.rotate(u)) - u).norm() < 1e-14);
            let m = a.to_matrix();
            assert!((m.determinant() - 1.0).abs() < 1e-14);
            assert!((m.transpose().apply(m.apply(u)) - u).norm() < 1e-14);
        }
        assert_eq!(Quat::identity().rotate(u), u);
    }

    /// A turning vector moves with ω × u.
    #[test]
    fn works_in_duals() {
        use crate::expr::Dual;
        let axis = Vec3::new(0.0_f64, 0.6, 0.8);
        let u = Vec3::new(0.3, -1.1, 0.8);
        let turned = Quat::about(axis.map(Dual::constant), Dual::variable(0.4)).rotate(u.map(Dual::constant));
        let velocity = turned.map(|x| x.derivative);
        assert!((velocity - axis.cross(turned.map(|x| x.value))).norm() < 1e-14);
    }
}
