//! [`Terms`]: what a kernel adds up for every pair it meets, one term or two.

use std::marker::PhantomData;

use super::super::simd::Lanes;
use super::TOGETHER;
use crate::expr::{Dual, Table};
use crate::potentials::{MAX_COEFFICIENTS, Pair, PairPotential};
use crate::truncation::{Adapter, TRUNCATION_COEFFICIENTS};

/// A row of numbers, the same in every lane or gathered.
#[derive(Clone, Copy)]
pub struct Row<L> {
    cutoff2: L,
    truncation: [L; TRUNCATION_COEFFICIENTS],
    coefficients: [L; MAX_COEFFICIENTS],
}

impl<L: Lanes> Row<L> {
    #[inline(always)]
    pub(super) fn with(mut read: impl FnMut(usize) -> L) -> Self {
        Self {
            cutoff2: read(0),
            truncation: std::array::from_fn(|k| read(1 + k)),
            coefficients: std::array::from_fn(|k| read(1 + TRUNCATION_COEFFICIENTS + k)),
        }
    }
}

/// Energy, and its derivative by r², of a vector of pairs; zero beyond the cut-off, and for those that `with` leaves out.
/// The force is −2 du/d(r²) times the distance; the factor is left to the sums.
#[inline(always)]
fn interact<P, T, L>(r2: L, with: Option<u32>, row: &Row<L>, charges: L, table: &Table) -> (L, L)
where
    P: PairPotential,
    T: Adapter,
    L: Lanes,
{
    let mut inside = L::less(r2, row.cutoff2);
    if let Some(bits) = with {
        inside = L::only(inside, bits);
    }
    let r2 = if P::EXPONENTIAL { r2.min(row.cutoff2) } else { r2 };
    let bare = P::energy_and_slope(Pair { r2, table }, &row.coefficients);
    let full = T::apply(bare, Dual::variable(r2), &row.truncation.map(Dual::constant));
    let (mut energy, mut slope) = (full.value, full.derivative);
    if P::USES_CHARGES {
        (energy, slope) = (energy * charges, slope * charges);
    }
    (L::keep(inside, energy), L::keep(inside, slope))
}

/// The terms of a kernel.
pub trait Terms {
    /// How many.
    const COUNT: usize;
    /// Whether there is code for particles that share a row; without, they are visited one after the other. Only where
    /// it is worth the build.
    const SHARES: bool;

    /// Energy and slope by term, of the lanes whose bits are set in `with`. `FIRST` says whether there is anything of the
    /// first of two terms between these pairs.
    fn interact<L: Lanes, const FIRST: bool>(
        r2: L,
        with: Option<u32>,
        rows: &[Row<L>; TOGETHER],
        charges: L,
        tables: [&Table; TOGETHER],
    ) -> [(L, L); TOGETHER];

    /// The slope of all terms.
    #[inline(always)]
    fn total<L: Lanes>(found: &[(L, L); TOGETHER]) -> L {
        if Self::COUNT == 1 {
            found[0].1
        } else {
            found[0].1 + found[1].1
        }
    }
}

/// One term.
pub struct One<P, T>(PhantomData<(P, T)>);

/// Two terms in one pass over the list. The first may be absent between some species.
pub struct Both<P, T, Q, S>(PhantomData<(P, T, Q, S)>);

impl<P: PairPotential, T: Adapter> Terms for One<P, T> {
    const COUNT: usize = 1;
    const SHARES: bool = false;

    #[inline(always)]
    fn interact<L: Lanes, const FIRST: bool>(
        r2: L,
        with: Option<u32>,
        rows: &[Row<L>; TOGETHER],
        charges: L,
        tables: [&Table; TOGETHER],
    ) -> [(L, L); TOGETHER] {
        let found = interact::<P, T, L>(r2, with, &rows[0], charges, tables[0]);
        [found, (L::lit(0.0), L::lit(0.0))]
    }
}

impl<P, T, Q, S> Terms for Both<P, T, Q, S>
where
    P: PairPotential,
    T: Adapter,
    Q: PairPotential,
    S: Adapter,
{
    const COUNT: usize = 2;
    const SHARES: bool = true;

    #[inline(always)]
    fn interact<L: Lanes, const FIRST: bool>(
        r2: L,
        with: Option<u32>,
        rows: &[Row<L>; TOGETHER],
        charges: L,
        tables: [&Table; TOGETHER],
    ) -> [(L, L); TOGETHER] {
        let first = if FIRST {
            interact::<P, T, L>(r2, with, &rows[0], charges, tables[0])
        } else {
            (L::lit(0.0), L::lit(0.0))
        };
        let second = interact::<Q, S, L>(r2, with, &rows[1], charges, tables[1]);
        [first, second]
    }
}
