//! Vectors as arrays, for processors without a hand-written set: the compiler turns the loops
//! into whatever the target has.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::{Lanes, Masked, TableOf};
use crate::expr::{Real, Table, Vec3};

/// `N` numbers.
#[derive(Clone, Copy, Debug)]
pub struct Array<T, const N: usize>([T; N]);

macro_rules! operator {
    ($trait:ident, $method:ident, $op:tt) => {
        impl<T: Real, const N: usize> $trait for Array<T, N> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, o: Self) -> Self {
                Self(std::array::from_fn(|i| self.0[i] $op o.0[i]))
            }
        }
    };
}
operator!(Add, add, +);
operator!(Sub, sub, -);
operator!(Mul, mul, *);
operator!(Div, div, /);

impl<T: Real, const N: usize> Neg for Array<T, N> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(self.0.map(|x| -x))
    }
}

impl<T: Real<Index = usize>, const N: usize> Real for Array<T, N> {
    type Index = [usize; N];

    #[inline(always)]
    fn lit(x: f64) -> Self {
        Self([T::lit(x); N])
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(self.0.map(T::sqrt))
    }
    #[inline(always)]
    fn exp(self) -> Self {
        Self(self.0.map(T::exp))
    }
    #[inline(always)]
    fn ln(self) -> Self {
        Self(self.0.map(T::ln))
    }
    #[inline(always)]
    fn sin(self) -> Self {
        Self(self.0.map(T::sin))
    }
    #[inline(always)]
    fn cos(self) -> Self {
        Self(self.0.map(T::cos))
    }
    #[inline(always)]
    fn acos(self) -> Self {
        Self(self.0.map(T::acos))
    }
    #[inline(always)]
    fn atan2(self, x: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i].atan2(x.0[i])))
    }
    #[inline(always)]
    fn erfc(self) -> Self {
        Self(self.0.map(T::erfc))
    }
    #[inline(always)]
    fn erfc_beside(self, gaussian: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i].erfc_beside(gaussian.0[i])))
    }
    #[inline(always)]
    fn screened(self) -> Self {
        Self(self.0.map(T::screened))
    }
    #[inline(always)]
    fn real_space_force(self) -> Self {
        Self(self.0.map(T::real_space_force))
    }
    #[inline(always)]
    fn select_lt(a: Self, b: Self, yes: Self, no: Self) -> Self {
        Self(std::array::from_fn(|i| {
            T::select_lt(a.0[i], b.0[i], yes.0[i], no.0[i])
        }))
    }
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i].mul_add(a.0[i], b.0[i])))
    }
    #[inline(always)]
    fn split(self) -> ([usize; N], Self) {
        let parts = self.0.map(T::split);
        (parts.map(|p| p.0), Self(parts.map(|p| p.1)))
    }
    #[inline(always)]
    fn gather(table: &Table, index: [usize; N], offset: usize) -> Self {
        Self(index.map(|i| T::gather(table, i, offset)))
    }
}

macro_rules! array_lanes {
    ($element:ident, $width:literal, $coordinate:ident, $difference:expr, $number:expr) => {
        impl Masked for Array<$element, $width> {
            const DOUBLE: bool = size_of::<$element>() == 8;
            type Mask = [bool; $width];
            #[inline(always)]
            fn less(a: Self, b: Self) -> [bool; $width] {
                std::array::from_fn(|i| a.0[i] < b.0[i])
            }
            #[inline(always)]
            fn keep(mask: [bool; $width], x: Self) -> Self {
                Self(std::array::from_fn(|i| if mask[i] { x.0[i] } else { 0.0 }))
            }
        }

        impl Lanes for Array<$element, $width> {
            const WIDTH: usize = $width;
            type Element = $element;
            type Coordinate = $coordinate;
            type Indices = [u32; $width];
            type Stored = [[$coordinate; 4]; $width];

            #[inline(always)]
            unsafe fn indices(entries: *const u32) -> [u32; $width] {
                // SAFETY: the caller promised that many readable numbers.
                unsafe { entries.cast::<[u32; $width]>().read_unaligned() }
            }
            #[inline(always)]
            unsafe fn gather_records(
                coordinates: *const [$coordinate; 4],
                numbers: *const u32,
            ) -> Self::Stored {
                // SAFETY: the caller promised readable indices inside the coordinates.
                unsafe { Self::indices(numbers) }.map(|j| unsafe { *coordinates.add(j as usize) })
            }
            #[inline(always)]
            fn pick(bits: u16, yes: Self, no: Self) -> Self {
                let lane = |k: usize| {
                    if bits >> k & 1 == 1 {
                        yes.0[k]
                    } else {
                        no.0[k]
                    }
                };
                Self(std::array::from_fn(lane))
            }
            #[inline(always)]
            unsafe fn scatter_add(to: *mut [$element; 4], numbers: *const u32, vectors: Vec3<Self>) {
                let Vec3 { x, y, z } = vectors;
                // SAFETY: the caller promised readable numbers inside the records.
                for (k, number) in unsafe { Self::indices(numbers) }.into_iter().enumerate() {
                    let to = unsafe { &mut *to.add(number as usize) };
                    to[0] += x.0[k];
                    to[1] += y.0[k];
                    to[2] += z.0[k];
                }
            }
            #[inline(always)]
            fn away(these: &Self::Stored, other: &[$coordinate; 4]) -> Vec3<Self> {
                let axis = |k: usize| Self(these.map(|row| $difference(row[k], other[k])));
                Vec3::new(axis(0), axis(1), axis(2))
            }
            #[inline(always)]
            fn numbers(stored: &Self::Stored, place: usize) -> Self {
                Self(stored.map(|row| $number(row[place])))
            }
            #[inline(always)]
            fn own_number(own: &[$coordinate; 4], place: usize) -> Self {
                Self([$number(own[place]); $width])
            }
            #[inline(always)]
            unsafe fn species(species: *const u32, others: [u32; $width], offset: u32) -> [u32; $width] {
                // SAFETY: the caller promised indices inside the list of species.
                others.map(|j| offset + unsafe { *species.add(j as usize) })
            }
            #[inline(always)]
            unsafe fn lookup(column: *const $element, indices: [u32; $width]) -> Self {
                // SAFETY: the caller promised indices inside the column.
                Self(indices.map(|j| unsafe { *column.add(j as usize) }))
            }
            #[inline(always)]
            fn load(from: &[$element]) -> Self {
                Self(std::array::from_fn(|k| from[k]))
            }
            #[inline(always)]
            fn store(self, to: &mut [$element]) {
                to[..$width].copy_from_slice(&self.0);
            }
            #[inline(always)]
            fn element(x: f64) -> $element {
                x as $element
            }
            #[inline(always)]
            fn splat(x: $element) -> Self {
                Self([x; $width])
            }
            #[inline(always)]
            fn table(table: &Table) -> &[$element] {
                TableOf::of(table)
            }
            #[inline(always)]
            fn any(mask: [bool; $width]) -> bool {
                mask.contains(&true)
            }
            #[inline(always)]
            fn sum(self) -> f64 {
                self.0.iter().map(|&x| f64::from(x)).sum()
            }
            fn to_vec(self) -> Vec<f64> {
                self.0.map(f64::from).to_vec()
            }
            fn from_values(values: &[f64]) -> Self {
                Self(std::array::from_fn(|i| {
                    values[i % values.len()] as $element
                }))
            }
        }
    };
}

array_lanes!(
    f32,
    4,
    i32,
    |a: i32, b: i32| (a.wrapping_sub(b)) as f32,
    |w: i32| f32::from_bits(w as u32)
);
array_lanes!(f64, 2, f64, |a: f64, b: f64| a - b, |w: f64| w);
