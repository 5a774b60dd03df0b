//! Every formula holds for many lanes at once: the checks with the plainest vector there is.
//!
//! A SIMD type is held to the same checks in the same way: `impl Probe`, and one line at the end.

use std::array::from_fn;
use std::ops::{Add, Div, Mul, Neg, Sub};

use debye::expr::{Real, Table};
use debye::potentials::checks::{Probe, check_against_f64};

/// Eight numbers in single precision.
#[derive(Clone, Copy, Debug)]
struct Eight([f32; 8]);

impl Eight {
    fn zip(self, o: Self, f: impl Fn(f32, f32) -> f32) -> Self {
        Self(from_fn(|i| f(self.0[i], o.0[i])))
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident),*) => {
        $( impl $trait for Eight {
            type Output = Self;
            fn $method(self, o: Self) -> Self {
                self.zip(o, f32::$method)
            }
        } )*
    };
}

operators!(Add add, Sub sub, Mul mul, Div div);

impl Neg for Eight {
    type Output = Self;
    fn neg(self) -> Self {
        Self(self.0.map(f32::neg))
    }
}

macro_rules! functions {
    ($($name:ident),*) => {
        $( fn $name(self) -> Self {
            Self(self.0.map(<f32 as Real>::$name))
        } )*
    };
}

impl Real for Eight {
    type Index = [usize; 8];

    functions!(sqrt, exp, ln, sin, cos, acos, erfc);

    fn lit(x: f64) -> Self {
        Self([x as f32; 8])
    }
    fn atan2(self, x: Self) -> Self {
        self.zip(x, f32::atan2)
    }
    fn select_lt(a: Self, b: Self, yes: Self, no: Self) -> Self {
        Self(from_fn(|i| f32::select_lt(a.0[i], b.0[i], yes.0[i], no.0[i])))
    }
    fn mul_add(self, a: Self, b: Self) -> Self {
        Self(from_fn(|i| f32::mul_add(self.0[i], a.0[i], b.0[i])))
    }
    fn split(self) -> ([usize; 8], Self) {
        let parts = self.0.map(Real::split);
        (parts.map(|(index, _)| index), Self(parts.map(|(_, rest)| rest)))
    }
    fn gather(table: &Table, index: [usize; 8], offset: usize) -> Self {
        Self(index.map(|index| f32::gather(table, index, offset)))
    }
}

impl Probe for Eight {
    const UNIT_ROUNDOFF: f64 = f32::UNIT_ROUNDOFF;
    const WIDTH: usize = 8;
    fn load(values: &[f64]) -> Self {
        Self(from_fn(|i| values[i] as f32))
    }
    fn lane(self, i: usize) -> f64 {
        f64::from(self.0[i])
    }
}

#[test]
fn lanes_agree_with_f64() {
    let findings = check_against_f64::<Eight>();
    assert!(findings.faults.is_empty(), "{:#?}", findings.faults);
    assert!(findings.compared > 10_000);
}
