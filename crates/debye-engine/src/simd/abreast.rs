//! [`Three`] and [`Four`]: vectors side by side. What is done to one is done to all of them before the next step, so that a step
//! does not wait for the one before it: a processor looks ahead too short a way to find as much by itself.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::{Lanes, Masked};
use crate::expr::{Real, Table, Vec3};

/// Three vectors.
#[derive(Clone, Copy, Debug)]
pub struct Three<L>(L, L, L);

/// Four vectors.
#[derive(Clone, Copy, Debug)]
pub struct Four<L>(L, L, L, L);

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
    /// `sum` with all products added, one after the other.
    fn add_products(self, o: Self, sum: L) -> L;
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
    fn add_products(self, o: Self, sum: L) -> L {
        self.mul_add(o, sum)
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

/// What several vectors have in common with one, all written out: closures of arrays do not have a kernel's instructions.
macro_rules! side_by_side {
    ($name:ident, $count:literal: $($at:tt),*) => {
        impl<L: Lanes> Abreast<L> for $name<L> {
            const COUNT: usize = $count;
            #[inline(always)]
            fn alike(x: L) -> Self {
                Self::each(|_| x)
            }
            #[inline(always)]
            fn each(mut f: impl FnMut(usize) -> L) -> Self {
                Self($(f($at)),*)
            }
            #[inline(always)]
            fn vectors(mut f: impl FnMut(usize) -> Vec3<L>) -> Vec3<Self> {
                let v = [$(f($at)),*];
                Vec3::new(Self($(v[$at].x),*), Self($(v[$at].y),*), Self($(v[$at].z),*))
            }
            #[inline(always)]
            fn add_products(self, o: Self, sum: L) -> L {
                $(let sum = self.$at.mul_add(o.$at, sum);)*
                sum
            }
            #[inline(always)]
            fn at(self, k: usize) -> L {
                [$(self.$at),*][k]
            }
            #[inline(always)]
            fn plus_at_first(mut self, x: L) -> Self {
                self.0 = self.0 + x;
                self
            }
        }

        impl<L: Lanes> Masked for $name<L> {
            const DOUBLE: bool = L::DOUBLE;
            type Mask = [L::Mask; $count];
            #[inline(always)]
            fn less(a: Self, b: Self) -> Self::Mask {
                [$(L::less(a.$at, b.$at)),*]
            }
            #[inline(always)]
            fn keep(mask: Self::Mask, x: Self) -> Self {
                Self($(L::keep(mask[$at], x.$at)),*)
            }
        }

        side_by_side!(operator $name Add add + $($at)*);
        side_by_side!(operator $name Sub sub - $($at)*);
        side_by_side!(operator $name Mul mul * $($at)*);
        side_by_side!(operator $name Div div / $($at)*);

        impl<L: Lanes> Neg for $name<L> {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                Self($(-self.$at),*)
            }
        }

        impl<L: Lanes> Real for $name<L> {
            type Index = [L::Index; $count];

            #[inline(always)]
            fn lit(x: f64) -> Self {
                Self::alike(L::lit(x))
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                Self($(self.$at.sqrt()),*)
            }
            #[inline(always)]
            fn exp(self) -> Self {
                Self($(self.$at.exp()),*)
            }
            #[inline(always)]
            fn ln(self) -> Self {
                Self($(self.$at.ln()),*)
            }
            #[inline(always)]
            fn sin(self) -> Self {
                Self($(self.$at.sin()),*)
            }
            #[inline(always)]
            fn cos(self) -> Self {
                Self($(self.$at.cos()),*)
            }
            #[inline(always)]
            fn acos(self) -> Self {
                Self($(self.$at.acos()),*)
            }
            #[inline(always)]
            fn erfc(self) -> Self {
                Self($(self.$at.erfc()),*)
            }
            #[inline(always)]
            fn recip(self) -> Self {
                Self($(self.$at.recip()),*)
            }
            #[inline(always)]
            fn inverse_sqrt(self) -> Self {
                Self($(self.$at.inverse_sqrt()),*)
            }
            #[inline(always)]
            fn real_space_force(self) -> Self {
                let found = L::real_space_forces([$(self.$at),*]);
                Self($(found[$at]),*)
            }
            #[inline(always)]
            fn atan2(self, x: Self) -> Self {
                Self($(self.$at.atan2(x.$at)),*)
            }
            #[inline(always)]
            fn over(self, below: Self) -> Self {
                Self($(self.$at.over(below.$at)),*)
            }
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                Self($(self.$at.mul_add(a.$at, b.$at)),*)
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
            fn select_lt(a: Self, b: Self, yes: Self, no: Self) -> Self {
                Self($(L::select_lt(a.$at, b.$at, yes.$at, no.$at)),*)
            }
            #[inline(always)]
            fn split(self) -> (Self::Index, Self) {
                let parts = [$(self.$at.split()),*];
                ([$(parts[$at].0),*], Self($(parts[$at].1),*))
            }
            #[inline(always)]
            fn gather(table: &Table, index: Self::Index, offset: usize) -> Self {
                Self($(L::gather(table, index[$at], offset)),*)
            }
        }
    };
    (operator $name:ident $trait:ident $method:ident $op:tt $($at:tt)*) => {
        impl<L: Lanes> $trait for $name<L> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, o: Self) -> Self {
                Self($(self.$at $op o.$at),*)
            }
        }
    };
}

side_by_side!(Three, 3: 0, 1, 2);
side_by_side!(Four, 4: 0, 1, 2, 3);
