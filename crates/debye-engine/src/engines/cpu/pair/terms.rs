//! [`Terms`]: what a kernel adds up for every pair it meets, one term or two.

use std::marker::PhantomData;

use crate::expr::{Dual, Table};
use crate::potentials::{MAX_COEFFICIENTS, Pair, PairPotential, TOGETHER};
use crate::simd::{Abreast, Lanes, Masked};
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

impl<L: Masked> Row<L> {
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

impl<S: Copy> Row<S> {
    /// Numbers that are alike for all that are side by side.
    #[inline(always)]
    pub fn alike<L: Lanes>(row: &Row<L>) -> Self
    where
        S: Abreast<L>,
    {
        Self::with(|k| S::alike(row.number(k)))
    }

    /// Numbers of each.
    #[inline(always)]
    pub fn each<'a, L: Lanes>(rows: &impl Fn(usize) -> &'a Row<L>) -> Self
    where
        S: Abreast<L>,
    {
        Self::with(|k| S::each(|site| rows(site).number(k)))
    }

    /// A number by its place.
    #[inline(always)]
    fn number(&self, k: usize) -> S {
        match k {
            0 => self.cutoff2,
            1..=TRUNCATION_COEFFICIENTS => self.truncation[k - 1],
            _ => self.coefficients[k - 1 - TRUNCATION_COEFFICIENTS],
        }
    }
}

/// The truncations that a kernel has the code of.
pub trait End: Send + Sync + 'static {
    /// Whether the kernel is made for this truncation alone, because it must be fast.
    const ALONE: bool;

    /// The truncated energy from the bare one; `kind` is one of those the kernel has.
    fn apply<L: Masked>(
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
    const ALONE: bool = true;

    #[inline(always)]
    fn apply<L: Masked>(
        _kind: TruncationKind,
        bare: Dual<L>,
        r2: Dual<L>,
        t: &TruncationCoefficients<Dual<L>>,
    ) -> Dual<L> {
        Shifted::apply(bare, r2, t)
    }
}

impl End for Any {
    const ALONE: bool = false;

    #[inline(always)]
    fn apply<L: Masked>(
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
    L: Masked,
{
    let inside = L::less(r2, row.cutoff2);
    let clamped = if L::DOUBLE {
        P::EXPONENTIAL
    } else {
        P::EXPONENTIAL_IN_SINGLE
    };
    let r2 = if clamped { r2.min(row.cutoff2) } else { r2 };
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
    /// Whether there is code for the particles of a row side by side; without, they are visited one after the other. Only
    /// where it is worth the build.
    const SIDE_BY_SIDE: bool;

    /// Energy and derivative by term, side by side where vectors are. `FIRST` says which of them have anything of the first of
    /// two terms: [`NONE`], [`ONE`] or [`ALL`].
    fn interact<L: Lanes, S: Abreast<L>, const FIRST: u32>(
        r2: S,
        rows: &[Row<S>; TOGETHER],
        charges: S,
        tables: [&Table; TOGETHER],
        ends: [TruncationKind; TOGETHER],
    ) -> [(S, S); TOGETHER];

    /// The derivative of all terms.
    #[inline(always)]
    fn total<L: Lanes, S: Abreast<L>, const FIRST: u32>(found: &[(S, S); TOGETHER]) -> S {
        let [(_, first), (_, second)] = *found;
        if const { Self::COUNT == 1 } {
            first
        } else if const { FIRST == NONE } {
            second
        } else if const { FIRST == ONE } {
            second.plus_at_first(first.at(0))
        } else {
            first + second
        }
    }
}

/// No site has the first of two terms with the others of a vector.
pub const NONE: u32 = 0;
/// The first site has it, and no other.
pub const ONE: u32 = 1;
/// Every site has it; those that lack it have no reach.
pub const ALL: u32 = u32::MAX;

/// One term.
pub struct One<P, T>(PhantomData<(P, T)>);

/// Two terms in one pass over the list. The first may be absent between some species.
pub struct Both<P, T, Q, S>(PhantomData<(P, T, Q, S)>);

impl<P: PairPotential, T: End> Terms for One<P, T> {
    const COUNT: usize = 1;
    const SIDE_BY_SIDE: bool = T::ALONE;

    #[inline(always)]
    fn interact<L: Lanes, S: Abreast<L>, const FIRST: u32>(
        r2: S,
        rows: &[Row<S>; TOGETHER],
        charges: S,
        tables: [&Table; TOGETHER],
        ends: [TruncationKind; TOGETHER],
    ) -> [(S, S); TOGETHER] {
        let found = interact::<P, T, S>(r2, &rows[0], charges, tables[0], ends[0]);
        [found, (S::lit(0.0), S::lit(0.0))]
    }
}

impl<P, T, Q, U> Terms for Both<P, T, Q, U>
where
    P: PairPotential,
    T: End,
    Q: PairPotential,
    U: End,
{
    const COUNT: usize = 2;
    const SIDE_BY_SIDE: bool = true;

    #[inline(always)]
    fn interact<L: Lanes, S: Abreast<L>, const FIRST: u32>(
        r2: S,
        rows: &[Row<S>; TOGETHER],
        charges: S,
        tables: [&Table; TOGETHER],
        ends: [TruncationKind; TOGETHER],
    ) -> [(S, S); TOGETHER] {
        let zero = S::lit(0.0);
        let first = if const { FIRST == NONE } {
            (zero, zero)
        } else if const { FIRST == ONE } {
            let row = Row::<L>::with(|k| rows[0].number(k).at(0));
            let (energy, derivative) = interact::<P, T, L>(r2.at(0), &row, charges.at(0), tables[0], ends[0]);
            (zero.plus_at_first(energy), zero.plus_at_first(derivative))
        } else {
            interact::<P, T, S>(r2, &rows[0], charges, tables[0], ends[0])
        };
        let second = interact::<Q, U, S>(r2, &rows[1], charges, tables[1], ends[1]);
        [first, second]
    }
}
