//! [`Terms`]: what a kernel adds up for every pair it meets, one term or two.

use std::marker::PhantomData;

use crate::expr::{Dual, Table};
use crate::potentials::{MAX_COEFFICIENTS, Pair, PairPotential, TOGETHER};
use crate::simd::Lanes;
use crate::truncation::{
    Adapter, ForceShifted, QuadraticShifted, Shifted, Switched, TRUNCATION_COEFFICIENTS,
    TruncationCoefficients, TruncationKind, constant_truncation,
};

/// A row of numbers, the same in every lane or gathered.
#[derive(Clone, Copy)]
pub struct Row<L> {
    cutoff2: L,
    truncation: [L; TRUNCATION_COEFFICIENTS],
    coefficients: [L; MAX_COEFFICIENTS],
}

impl<L: Lanes> Row<L> {
    /// Numbers by their place in a row.
    #[inline(always)]
    pub fn with(mut read: impl FnMut(usize) -> L) -> Self {
        Self {
            cutoff2: read(0),
            // Written out: closures of arrays are most of what a kernel costs to compile.
            truncation: [read(1), read(2), read(3), read(4)],
            coefficients: [
                read(5),
                read(6),
                read(7),
                read(8),
                read(9),
                read(10),
                read(11),
                read(12),
            ],
        }
    }
}

/// The truncations that a kernel has the code of.
pub trait End: Send + Sync + 'static {
    /// The truncated energy from the bare one; `kind` is one of those the kernel has.
    fn apply<L: Lanes>(
        kind: TruncationKind,
        bare: Dual<L>,
        r2: Dual<L>,
        t: &TruncationCoefficients<Dual<L>>,
    ) -> Dual<L>;
}

/// Cut and shift, which most terms have: nothing but one subtraction.
pub struct Plain;

/// Any truncation, looked up for every vector. The branch is always the same one, so that it costs next to nothing;
/// kernels of one truncation each would make the program and its build three times larger.
pub struct Any;

impl End for Plain {
    #[inline(always)]
    fn apply<L: Lanes>(
        _kind: TruncationKind,
        bare: Dual<L>,
        r2: Dual<L>,
        t: &TruncationCoefficients<Dual<L>>,
    ) -> Dual<L> {
        Shifted::apply(bare, r2, t)
    }
}

impl End for Any {
    #[inline(always)]
    fn apply<L: Lanes>(
        kind: TruncationKind,
        bare: Dual<L>,
        r2: Dual<L>,
        t: &TruncationCoefficients<Dual<L>>,
    ) -> Dual<L> {
        match kind {
            TruncationKind::Shifted => Shifted::apply(bare, r2, t),
            TruncationKind::ForceShifted => ForceShifted::apply(bare, r2, t),
            TruncationKind::QuadraticShifted => QuadraticShifted::apply(bare, r2, t),
            TruncationKind::Switched => Switched::apply(bare, r2, t),
        }
    }
}

/// Energy, and its derivative by r², of a vector of pairs; zero beyond the cut-off.
/// The force is −2 du/d(r²) times the distance; the factor is left to the sums.
#[inline(always)]
pub fn interact<P, T, L>(r2: L, row: &Row<L>, charges: L, table: &Table, end: TruncationKind) -> (L, L)
where
    P: PairPotential,
    T: End,
    L: Lanes,
{
    let inside = L::less(r2, row.cutoff2);
    let r2 = if P::EXPONENTIAL { r2.min(row.cutoff2) } else { r2 };
    let bare = P::energy_and_derivative(Pair { r2, table }, &row.coefficients);
    let full = T::apply(
        end,
        bare,
        Dual::variable(r2),
        &constant_truncation(&row.truncation),
    );
    let (mut energy, mut derivative) = (full.value, full.derivative);
    if P::USES_CHARGES {
        (energy, derivative) = (energy * charges, derivative * charges);
    }
    (L::keep(inside, energy), L::keep(inside, derivative))
}

/// The terms of a kernel.
pub trait Terms {
    /// How many.
    const COUNT: usize;
    /// Whether there is code for particles that share a row; without, they are visited one after the other. Only where
    /// it is worth the build.
    const SHARES: bool;

    /// Energy and derivative by term. `FIRST` says whether there is anything of the
    /// first of two terms between these pairs.
    fn interact<L: Lanes, const FIRST: bool>(
        r2: L,
        rows: &[Row<L>; TOGETHER],
        charges: L,
        tables: [&Table; TOGETHER],
        ends: [TruncationKind; TOGETHER],
    ) -> [(L, L); TOGETHER];

    /// The derivative of all terms; `first` as above.
    #[inline(always)]
    fn total<L: Lanes>(found: &[(L, L); TOGETHER], first: bool) -> L {
        if Self::COUNT == 1 {
            found[0].1
        } else if first {
            found[0].1 + found[1].1
        } else {
            found[1].1
        }
    }
}

/// One term.
pub struct One<P, T>(PhantomData<(P, T)>);

/// Two terms in one pass over the list. The first may be absent between some species.
pub struct Both<P, T, Q, S>(PhantomData<(P, T, Q, S)>);

impl<P: PairPotential, T: End> Terms for One<P, T> {
    const COUNT: usize = 1;
    const SHARES: bool = false;

    #[inline(always)]
    fn interact<L: Lanes, const FIRST: bool>(
        r2: L,
        rows: &[Row<L>; TOGETHER],
        charges: L,
        tables: [&Table; TOGETHER],
        ends: [TruncationKind; TOGETHER],
    ) -> [(L, L); TOGETHER] {
        let found = interact::<P, T, L>(r2, &rows[0], charges, tables[0], ends[0]);
        [found, (L::lit(0.0), L::lit(0.0))]
    }
}

impl<P, T, Q, S> Terms for Both<P, T, Q, S>
where
    P: PairPotential,
    T: End,
    Q: PairPotential,
    S: End,
{
    const COUNT: usize = 2;
    const SHARES: bool = true;

    #[inline(always)]
    fn interact<L: Lanes, const FIRST: bool>(
        r2: L,
        rows: &[Row<L>; TOGETHER],
        charges: L,
        tables: [&Table; TOGETHER],
        ends: [TruncationKind; TOGETHER],
    ) -> [(L, L); TOGETHER] {
        let first = if FIRST {
            interact::<P, T, L>(r2, &rows[0], charges, tables[0], ends[0])
        } else {
            (L::lit(0.0), L::lit(0.0))
        };
        let second = interact::<Q, S, L>(r2, &rows[1], charges, tables[1], ends[1]);
        [first, second]
    }
}
