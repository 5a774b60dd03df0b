//! [`Three`]: vectors side by side. What is done to one is done to all of them before the next step, so that a step
//! does not wait for the one before it: a processor looks ahead too short a way to find as much by itself.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::{Lanes, Masked};
use crate::expr::{Real, Table, Vec3};

/// Three vectors.
#[derive(Clone, Copy, Debug)]
pub struct Three<L>(L, L, L);

/// One vector, or a few side by side.
pub trait Abreast<L: Lanes>: Masked {
    /// How many.
    const COUNT: usize;
    /// The same for all.
    fn alike(x: L) -> Self;
    /// Each by its number.
    fn each(f: impl FnMut(usize) -> L) -> Self;
    /// Each vector of vectors by its number.
    fn vectors(f: impl FnMut(usize) -> Vec3<L>) -> Vec3<Self>;
    /// The sum of all products.
    fn dot(self, o: Self) -> L;
    /// One of them.
    fn at(self, k: usize) -> L;
    /// With `x` added to the first.
    fn plus_at_first(self, x: L) -> Self;
}

impl<L: Lanes> Abreast<L> for L {
    const COUNT: usize = 1;
    #[inline(always)]
    fn alike(x: L) -> Self {
        x
    }
    #[inline(always)]
    fn each(mut f: impl FnMut(usize) -> L) -> Self {
        f(0)
    }
    #[inline(always)]
    fn vectors(mut f: impl FnMut(usize) -> Vec3<L>) -> Vec3<Self> {
        f(0)
    }
    #[inline(always)]
    fn dot(self, o: Self) -> L {
        self * o
    }
    #[inline(always)]
    fn at(self, _k: usize) -> L {
        self
    }
    #[inline(always)]
    fn plus_at_first(self, x: L) -> Self {
        self + x
    }
}

impl<L: Lanes> Abreast<L> for Three<L> {
    const COUNT: usize = 3;
    #[inline(always)]
    fn alike(x: L) -> Self {
        Self(x, x, x)
    }
    #[inline(always)]
    fn each(mut f: impl FnMut(usize) -> L) -> Self {
        Self(f(0), f(1), f(2))
    }
    #[inline(always)]
    fn vectors(mut f: impl FnMut(usize) -> Vec3<L>) -> Vec3<Self> {
        let (a, b, c) = (f(0), f(1), f(2));
        Vec3::new(Self(a.x, b.x, c.x), Self(a.y, b.y, c.y), Self(a.z, b.z, c.z))
    }
    #[inline(always)]
    fn dot(self, o: Self) -> L {
        self.2.mul_add(o.2, self.1.mul_add(o.1, self.0 * o.0))
    }
    #[inline(always)]
    fn at(self, k: usize) -> L {
        [self.0, self.1, self.2][k]
    }
    #[inline(always)]
    fn plus_at_first(self, x: L) -> Self {
        Self(self.0 + x, self.1, self.2)
    }
}

impl<L: Lanes> Masked for Three<L> {
    type Mask = [L::Mask; 3];
    #[inline(always)]
    fn less(a: Self, b: Self) -> Self::Mask {
        [L::less(a.0, b.0), L::less(a.1, b.1), L::less(a.2, b.2)]
    }
    #[inline(always)]
    fn keep(mask: Self::Mask, x: Self) -> Self {
        Self(
            L::keep(mask[0], x.0),
            L::keep(mask[1], x.1),
            L::keep(mask[2], x.2),
        )
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident, $op:tt) => {
        impl<L: Lanes> $trait for Three<L> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, o: Self) -> Self {
                Self(self.0 $op o.0, self.1 $op o.1, self.2 $op o.2)
            }
        }
    };
}
operator!(Add, add, +);
operator!(Sub, sub, -);
operator!(Mul, mul, *);
operator!(Div, div, /);

impl<L: Lanes> Neg for Three<L> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(-self.0, -self.1, -self.2)
    }
}

/// Methods that do the same to all.
macro_rules! for_all {
    ($($method:ident($($with:ident),*)),* $(,)?) => {$(
        #[inline(always)]
        fn $method(self, $($with: Self),*) -> Self {
            Self(
                self.0.$method($($with.0),*),
                self.1.$method($($with.1),*),
                self.2.$method($($with.2),*),
            )
        }
    )*};
}

impl<L: Lanes> Real for Three<L> {
    type Index = [L::Index; 3];

    #[inline(always)]
    fn lit(x: f64) -> Self {
        Self::alike(L::lit(x))
    }
    for_all! {
        sqrt(), exp(), ln(), sin(), cos(), acos(), atan2(x), erfc(), recip(), over(below), inverse_sqrt(), mul_add(a, b),
    }
    #[inline(always)]
    fn erfc_beside(self, gaussian: Self) -> Self {
        crate::expr::erfc_beside(L::DOUBLE, self, gaussian)
    }
    #[inline(always)]
    fn screened(self) -> Self {
        crate::expr::screened(L::DOUBLE, self)
    }
    #[inline(always)]
    fn real_space_force(self) -> Self {
        crate::expr::real_space_force(L::DOUBLE, self)
    }
    #[inline(always)]
    fn select_lt(a: Self, b: Self, yes: Self, no: Self) -> Self {
        Self(
            L::select_lt(a.0, b.0, yes.0, no.0),
            L::select_lt(a.1, b.1, yes.1, no.1),
            L::select_lt(a.2, b.2, yes.2, no.2),
        )
    }
    #[inline(always)]
    fn split(self) -> (Self::Index, Self) {
        let (a, b, c) = (self.0.split(), self.1.split(), self.2.split());
        ([a.0, b.0, c.0], Self(a.1, b.1, c.1))
    }
    #[inline(always)]
    fn gather(table: &Table, index: Self::Index, offset: usize) -> Self {
        Self(
            L::gather(table, index[0], offset),
            L::gather(table, index[1], offset),
            L::gather(table, index[2], offset),
        )
    }
}
