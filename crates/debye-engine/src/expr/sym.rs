//! [`Sym`]: a number that is not known yet.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::recorder::with;
use super::{Binary, Real, Table, Unary};

/// A line of the tape that is being recorded on this thread.
///
/// Symbols live inside [`super::Tape::record`]; using one outside, or in another recording, panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sym {
    pub(super) place: u32,
    pub(super) recording: u32,
}

/// A whole number that is not known yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SymIndex(Sym);

macro_rules! operator {
    ($trait:ident, $method:ident, $op:ident) => {
        impl $trait for Sym {
            type Output = Self;
            #[inline(never)]
            fn $method(self, o: Self) -> Self {
                with(|r| r.binary(Binary::$op, self, o))
            }
        }
    };
}

operator!(Add, add, Add);
operator!(Sub, sub, Sub);
operator!(Mul, mul, Mul);
operator!(Div, div, Div);

impl Neg for Sym {
    type Output = Self;
    #[inline(never)]
    fn neg(self) -> Self {
        with(|r| r.unary(Unary::Neg, self))
    }
}

macro_rules! function {
    ($($method:ident: $op:ident),*) => {
        $( #[inline(never)]
        fn $method(self) -> Self {
            with(|r| r.unary(Unary::$op, self))
        } )*
    };
}

impl Real for Sym {
    type Index = SymIndex;

    function!(
        sqrt: Sqrt, recip: Recip, exp: Exp, ln: Ln, sin: Sin, cos: Cos, acos: Acos, erfc: Erfc,
        screened: Screened, real_space_force: RealSpaceForce
    );

    #[inline(never)]
    fn lit(x: f64) -> Self {
        with(|r| r.constant(x))
    }
    #[inline(never)]
    fn atan2(self, x: Self) -> Self {
        with(|r| r.binary(Binary::Atan2, self, x))
    }
    #[inline(never)]
    fn erfc_beside(self, gaussian: Self) -> Self {
        with(|r| r.binary(Binary::ErfcBeside, self, gaussian))
    }
    #[inline(never)]
    fn select_lt(a: Self, b: Self, yes: Self, no: Self) -> Self {
        with(|r| r.select_lt(a, b, yes, no))
    }
    #[inline(never)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        with(|r| r.mul_add(self, a, b))
    }
    #[inline(never)]
    fn split(self) -> (SymIndex, Self) {
        let (index, rest) = with(|r| r.split(self));
        (SymIndex(index), rest)
    }
    #[inline(never)]
    fn gather(table: &Table, index: SymIndex, offset: usize) -> Self {
        with(|r| r.gather(table, index.0, offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Tape;

    /// Everything `Real` offers, once.
    fn everything<R: Real>(x: R, y: R, table: &Table) -> Vec<R> {
        let (index, rest) = (x * R::lit(3.0)).split();
        vec![
            x + y,
            x - y,
            x * y,
            x / y,
            -x,
            x.recip(),
            x.sqrt(),
            x.exp(),
            x.ln(),
            x.sin(),
            x.cos(),
            (x * R::lit(0.1)).acos(),
            x.atan2(y),
            x.erfc(),
            x.abs().erfc_beside((-(x * x)).exp()),
            x.abs().screened(),
            x.abs().real_space_force(),
            R::select_lt(x, y, x, R::lit(2.5)),
            x.mul_add(y, x),
            rest,
            R::gather(table, index, 1),
            x.abs() + y.min(x) * y.max(x),
            x.powi(7),
            x.squared() / R::lit(4.0),
        ]
    }

    #[test]
    fn a_tape_computes_what_the_function_computes() {
        let table = Table::new((0..40).map(|i| f64::from(i * i)).collect());
        let tape = Tape::record(2, |s| everything(s[0], s[1], &table));
        for (x, y) in [(1.3_f64, 0.4_f64), (0.2, 7.0), (5.0, -1.0), (100.0, 1.0)] {
            let expected = everything(x, y, &table);
            for (a, b) in tape.evaluate(&[x, y], &[&table]).into_iter().zip(expected) {
                assert!(a == b || (a.is_nan() && b.is_nan()), "{a} {b}");
            }
            let (x, y) = (x as f32, y as f32);
            for (a, b) in tape
                .evaluate(&[x, y], &[&table])
                .into_iter()
                .zip(everything(x, y, &table))
            {
                assert!(a == b || (a.is_nan() && b.is_nan()), "{a} {b}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "outside Tape::record")]
    fn a_symbol_outside_a_recording_is_refused() {
        let _ = Sym::lit(1.0);
    }

    #[test]
    #[should_panic(expected = "another recording")]
    fn a_symbol_of_another_recording_is_refused() {
        let mut leaked = None;
        let _ = Tape::record(1, |x| {
            leaked = Some(x[0]);
            vec![x[0]]
        });
        let _ = Tape::record(1, |x| vec![x[0] + leaked.unwrap()]);
    }
}
