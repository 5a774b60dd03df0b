//! [`Mat3`]: a three by three matrix, by rows.

use super::{Real, Vec3};

/// A matrix with rows `x`, `y`, `z`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Mat3<R> {
    /// First row.
    pub x: Vec3<R>,
    /// Second row.
    pub y: Vec3<R>,
    /// Third row.
    pub z: Vec3<R>,
}

impl<R: Real> Mat3<R> {
    /// The matrix with these rows.
    #[inline(always)]
    pub const fn from_rows(x: Vec3<R>, y: Vec3<R>, z: Vec3<R>) -> Self {
        Self { x, y, z }
    }

    /// The matrix with this diagonal and nothing else.
    #[inline(always)]
    pub fn diagonal(d: Vec3<R>) -> Self {
        let o = R::lit(0.0);
        Self::from_rows(Vec3::new(d.x, o, o), Vec3::new(o, d.y, o), Vec3::new(o, o, d.z))
    }

    /// Matrix times column vector.
    #[inline(always)]
    pub fn apply(self, v: Vec3<R>) -> Vec3<R> {
        Vec3::new(self.x.dot(v), self.y.dot(v), self.z.dot(v))
    }

    /// Row vector times matrix: `v.x`·row x + `v.y`·row y + `v.z`·row z.
    #[inline(always)]
    pub fn combine(self, v: Vec3<R>) -> Vec3<R> {
        self.x * v.x + self.y * v.y + self.z * v.z
    }

    /// Rows and columns exchanged.
    #[inline(always)]
    pub fn transpose(self) -> Self {
        Self::from_rows(
            Vec3::new(self.x.x, self.y.x, self.z.x),
            Vec3::new(self.x.y, self.y.y, self.z.y),
            Vec3::new(self.x.z, self.y.z, self.z.z),
        )
    }

    /// Determinant.
    #[inline(always)]
    pub fn determinant(self) -> R {
        self.x.dot(self.y.cross(self.z))
    }

    /// Inverse; not finite where the determinant is zero.
    #[inline(always)]
    pub fn inverse(self) -> Self {
        let scale = self.determinant().recip();
        Self::from_rows(
            self.y.cross(self.z) * scale,
            self.z.cross(self.x) * scale,
            self.x.cross(self.y) * scale,
        )
        .transpose()
    }

    /// Sum of the diagonal.
    #[inline(always)]
    pub fn trace(self) -> R {
        self.x.x + self.y.y + self.z.z
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverse_undoes() {
        let m = Mat3::from_rows(
            Vec3::new(2.0, 0.0, 0.0),
            Vec3::new(0.5, 3.0, 0.0),
            Vec3::new(-0.3, 0.7, 1.5),
        );
        let v = Vec3::new(0.3_f64, -1.7, 2.2);
        let back = m.inverse().apply(m.apply(v));
        assert!((back - v).norm() < 1e-14);
        assert!((m.transpose().apply(v) - m.combine(v)).norm() < 1e-15);
        assert_eq!(m.determinant(), 9.0);
    }

    #[test]
    fn diagonal_scales_and_trace_sums() {
        let d = Vec3::new(2.0_f64, 3.0, 5.0);
        let m = Mat3::diagonal(d);
        assert_eq!(m.apply(Vec3::splat(1.0)), d);
        assert_eq!((m.trace(), m.determinant()), (10.0, 30.0));
        assert_eq!(m.inverse().apply(d), Vec3::splat(1.0));
    }

    /// d det(M)/dM = det(M) M⁻ᵀ (Jacobi's formula).
    #[test]
    fn works_in_duals() {
        let rows = [[2.0, 0.3, -0.1], [0.5, 3.0, 0.2], [-0.3, 0.7, 1.5]];
        let plain = Mat3::from_rows(rows[0].into(), rows[1].into(), rows[2].into());
        let expected = plain.inverse().transpose().y.z * plain.determinant();
        let mut rows = rows.map(|row| row.map(crate::expr::Dual::constant));
        rows[1][2].derivative = 1.0_f64;
        let dual = Mat3::from_rows(rows[0].into(), rows[1].into(), rows[2].into());
        assert!((dual.determinant().derivative - expected).abs() < 1e-14);
    }
}
