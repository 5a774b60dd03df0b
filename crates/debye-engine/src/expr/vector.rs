//! [`Vec3`]: three numbers with directions.

use std::ops::{Add, AddAssign, Index, Mul, Neg, Sub, SubAssign};

use super::Real;

/// A vector in space.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Vec3<R> {
    /// Component along x.
    pub x: R,
    /// Component along y.
    pub y: R,
    /// Component along z.
    pub z: R,
}

impl<R> Vec3<R> {
    /// The vector (x, y, z).
    #[inline(always)]
    pub const fn new(x: R, y: R, z: R) -> Self {
        Self { x, y, z }
    }
}

impl<R: Real> Vec3<R> {
    /// The vector (v, v, v).
    #[inline(always)]
    pub fn splat(v: R) -> Self {
        Self::new(v, v, v)
    }

    /// The zero vector.
    #[inline(always)]
    pub fn zero() -> Self {
        Self::splat(R::lit(0.0))
    }

    /// Scalar product.
    #[inline(always)]
    pub fn dot(self, o: Self) -> R {
        self.x.mul_add(o.x, self.y.mul_add(o.y, self.z * o.z))
    }

    /// Vector product.
    #[inline(always)]
    pub fn cross(self, o: Self) -> Self {
        Self::new(
            self.y * o.z - self.z * o.y,
            self.z * o.x - self.x * o.z,
            self.x * o.y - self.y * o.x,
        )
    }

    /// Squared length.
    #[inline(always)]
    pub fn norm2(self) -> R {
        self.dot(self)
    }

    /// Length.
    #[inline(always)]
    pub fn norm(self) -> R {
        self.norm2().sqrt()
    }

    /// Product component by component.
    #[inline(always)]
    pub fn scale(self, o: Self) -> Self {
        Self::new(self.x * o.x, self.y * o.y, self.z * o.z)
    }

    /// Every component through `f`.
    #[inline(always)]
    pub fn map<S>(self, f: impl Fn(R) -> S) -> Vec3<S> {
        Vec3::new(f(self.x), f(self.y), f(self.z))
    }

    /// As an array.
    #[inline(always)]
    pub fn to_array(self) -> [R; 3] {
        [self.x, self.y, self.z]
    }
}

impl<R> From<[R; 3]> for Vec3<R> {
    #[inline(always)]
    fn from([x, y, z]: [R; 3]) -> Self {
        Self { x, y, z }
    }
}

impl<R> From<Vec3<R>> for [R; 3] {
    #[inline(always)]
    fn from(v: Vec3<R>) -> Self {
        [v.x, v.y, v.z]
    }
}

impl<R: Real> Add for Vec3<R> {
    type Output = Self;
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        Self::new(self.x + o.x, self.y + o.y, self.z + o.z)
    }
}

impl<R: Real> Sub for Vec3<R> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        Self::new(self.x - o.x, self.y - o.y, self.z - o.z)
    }
}

impl<R: Real> Neg for Vec3<R> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self::new(-self.x, -self.y, -self.z)
    }
}

impl<R: Real> Mul<R> for Vec3<R> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, s: R) -> Self {
        Self::new(self.x * s, self.y * s, self.z * s)
    }
}

impl<R: Real> AddAssign for Vec3<R> {
    #[inline(always)]
    fn add_assign(&mut self, o: Self) {
        *self = *self + o;
    }
}

impl<R: Real> SubAssign for Vec3<R> {
    #[inline(always)]
    fn sub_assign(&mut self, o: Self) {
        *self = *self - o;
    }
}

impl<R> Index<usize> for Vec3<R> {
    type Output = R;
    #[inline(always)]
    fn index(&self, axis: usize) -> &R {
        match axis {
            0 => &self.x,
            1 => &self.y,
            _ => &self.z,
        }
    }
}
