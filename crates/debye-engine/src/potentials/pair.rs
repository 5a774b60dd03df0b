//! Interactions of two particles that depend on their distance alone, times their charges where they have any.

use std::marker::PhantomData;

use super::kernels::PairKernels;
use super::parameter::{Parameter, ParameterError, Parameters, Value};
use crate::expr::{Dual, Real, Sym, Table, Tape};
use crate::record::Doc;
use crate::truncation::{
    Adapter, ForceShifted, QuadraticShifted, Shifted, Switched, TRUNCATION_COEFFICIENTS,
    TruncationCoefficients, TruncationKind, constant_truncation,
};

/// How many numbers a pair potential may keep per pair of species.
pub const MAX_COEFFICIENTS: usize = 8;

/// What a potential precomputes from its parameters, once per pair of species.
pub type Coefficients<R> = [R; MAX_COEFFICIENTS];

/// What a formula knows of a pair of particles.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a, R> {
    /// Squared distance.
    pub r2: R,
    /// The term's lookup table.
    pub table: &'a Table,
}

/// What a potential may use while it prepares its coefficients.
#[derive(Debug)]
pub struct Preparation<'a> {
    /// The cut-off of this pair of species.
    pub cutoff: f64,
    /// Numbers for [`Real::gather`]; add to it with [`Table::extend`].
    pub table: &'a mut Table,
}

/// Integrals of a potential beyond its cut-off, for a uniform fluid.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tail {
    /// ∫ from the cut-off to ∞ of r² u(r) dr.
    pub energy: f64,
    /// ∫ from the cut-off to ∞ of r³ u′(r) dr.
    pub virial: f64,
}

impl Tail {
    /// Both integrals from the first one and u at the cut-off: by parts,
    /// ∫ r³ u′ dr = −r_c³ u(r_c) − 3 ∫ r² u dr for every u that falls faster than r⁻³.
    pub fn from_energy(energy: f64, cutoff: f64, end: f64) -> Self {
        Self {
            energy,
            virial: -cutoff.powi(3) * end - 3.0 * energy,
        }
    }
}

/// Parameters for which the tests of every potential are run, and the distances they cover.
#[derive(Clone, Debug)]
pub struct PairSample {
    /// In the order of `PARAMETERS`.
    pub values: Vec<Value>,
    /// From which distance.
    pub from: f64,
    /// To which distance; also the cut-off.
    pub to: f64,
}

impl PairSample {
    /// A sample for a potential whose parameters are all numbers.
    pub fn numbers<const N: usize>(values: [f64; N], from: f64, to: f64) -> Self {
        Self {
            values: values.map(Value::Number).to_vec(),
            from,
            to,
        }
    }
}

/// A pair potential u(r).
///
/// `energy` alone is enough: forces are derived from it with [`Dual`]. Where a hand-written
/// derivative is measurably faster, override `energy_and_derivative`; the tests hold both together.
pub trait PairPotential: Send + Sync + 'static {
    /// The `kind` in input files.
    const NAME: &'static str;
    /// Its formula, its conventions beside those of other programs, its reference.
    const DOC: Doc;
    /// What an input file must give.
    const PARAMETERS: &'static [Parameter];
    /// Whether the formula is per unit of k_e q_i q_j: the engine then multiplies the energy,
    /// truncation included, by that product.
    const USES_CHARGES: bool = false;

    /// Whether the formula is cheap and common enough that the CPU gets kernels of its own for it: for steps that
    /// need no energies, and for one set of parameters. The price is a longer build of the program.
    const TUNED: bool = false;

    /// Whether the formula falls off exponentially. Far beyond the cut-off its numbers become so small (below 10⁻³⁸ in
    /// single precision) that a processor takes hundreds of cycles for each; so what is listed but out of reach is
    /// evaluated at the cut-off, and then left out.
    const EXPONENTIAL: bool = false;
    /// The same for kernels of single precision, where it differs.
    const EXPONENTIAL_IN_SINGLE: bool = Self::EXPONENTIAL;

    /// Refuses parameters that make no sense.
    fn check(p: Parameters) -> Result<(), ParameterError>;

    /// Precomputes the numbers `energy` reads.
    fn coefficients(p: Parameters, preparation: &mut Preparation) -> Coefficients<f64>;

    /// The energy of a pair.
    fn energy<R: Real>(pair: Pair<R>, c: &Coefficients<R>) -> R;

    /// The energy and its derivative by the *squared* distance.
    #[inline(always)]
    fn energy_and_derivative<R: Real>(pair: Pair<R>, c: &Coefficients<R>) -> Dual<R> {
        let dual = Pair {
            r2: Dual::variable(pair.r2),
            table: pair.table,
        };
        Self::energy(dual, &constants(c))
    }

    /// Whether the potential of these parameters is zero everywhere, so that the pair need not be visited.
    fn vanishes(_p: Parameters) -> bool {
        false
    }

    /// The cut-off that belongs to the potential itself, where it has one (WCA).
    fn natural_cutoff(_p: Parameters) -> Option<f64> {
        None
    }

    /// The analytic tail beyond the cut-off, where it is finite and known.
    fn tail(_p: Parameters, _cutoff: f64) -> Option<Tail> {
        None
    }

    /// Parameters for the tests; at least one.
    fn samples() -> Vec<PairSample>;
}

/// Coefficients that do not change with the distance. Written out, as this is part of every kernel.
#[inline(always)]
fn constants<R: Real>(c: &Coefficients<R>) -> Coefficients<Dual<R>> {
    [
        Dual::constant(c[0]),
        Dual::constant(c[1]),
        Dual::constant(c[2]),
        Dual::constant(c[3]),
        Dual::constant(c[4]),
        Dual::constant(c[5]),
        Dual::constant(c[6]),
        Dual::constant(c[7]),
    ]
}

/// The energy of a pair, truncated, and its derivative by r²: what a pair kernel computes.
#[inline(always)]
pub fn truncated<P: PairPotential, A: Adapter, R: Real>(
    pair: Pair<R>,
    c: &Coefficients<R>,
    t: &TruncationCoefficients<R>,
) -> Dual<R> {
    A::apply(
        P::energy_and_derivative(pair, c),
        Dual::variable(pair.r2),
        &constant_truncation(t),
    )
}

/// The same with the truncation known only at run time.
#[inline(always)]
pub(super) fn truncated_by_kind<P: PairPotential, R: Real>(
    kind: TruncationKind,
    pair: Pair<R>,
    c: &Coefficients<R>,
    t: &TruncationCoefficients<R>,
) -> Dual<R> {
    match kind {
        TruncationKind::Shifted => truncated::<P, Shifted, R>(pair, c, t),
        TruncationKind::ForceShifted => truncated::<P, ForceShifted, R>(pair, c, t),
        TruncationKind::QuadraticShifted => truncated::<P, QuadraticShifted, R>(pair, c, t),
        TruncationKind::Switched => truncated::<P, Switched, R>(pair, c, t),
    }
}

/// Names of the inputs of [`PairFamily::tape`], in order.
pub const PAIR_INPUTS: [&str; 1 + MAX_COEFFICIENTS + TRUNCATION_COEFFICIENTS] = [
    "r2", "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "t0", "t1", "t2", "t3",
];

fn pair_tape<P: PairPotential>(kind: TruncationKind) -> Tape {
    // The values are not looked at while recording.
    let table = Table::default();
    let tape = Tape::record(PAIR_INPUTS.len(), |inputs| {
        let pair = Pair {
            r2: inputs[0],
            table: &table,
        };
        let c: Coefficients<Sym> = std::array::from_fn(|i| inputs[1 + i]);
        let t: TruncationCoefficients<Sym> = std::array::from_fn(|i| inputs[1 + MAX_COEFFICIENTS + i]);
        let energy = truncated_by_kind::<P, Sym>(kind, pair, &c, &t);
        vec![energy.value, energy.derivative]
    });
    tape.named(&PAIR_INPUTS, &["energy", "derivative"])
}

/// Something to do with each registered pair potential as a type; see `visit_pairs`.
pub trait PairVisitor {
    /// Called once per potential.
    fn visit<P: PairPotential>(&mut self);
}

/// What every potential of pairs says of itself, whether its particles have orientations or not.
pub trait PairModel: Send + Sync {
    /// The `kind` in input files.
    fn name(&self) -> &'static str;
    /// Its formula, conventions and reference.
    fn doc(&self) -> &'static Doc;
    /// What an input file must give for a pair of species.
    fn parameters(&self) -> &'static [Parameter];
    /// What it must give for every species.
    fn own(&self) -> &'static [Parameter] {
        &[]
    }
    /// Refuses parameters of a pair that make no sense.
    fn check(&self, p: Parameters) -> Result<(), ParameterError>;
    /// Refuses parameters of a species.
    fn check_own(&self, _own: Parameters) -> Result<(), ParameterError> {
        Ok(())
    }
    /// Whether the potential of these parameters is zero everywhere.
    fn vanishes(&self, _p: Parameters) -> bool {
        false
    }
    /// The potential's own cut-off.
    fn natural_cutoff(&self, p: Parameters) -> Option<f64>;
}

/// A [`PairPotential`] behind a pointer: what the register holds.
pub trait PairFamily: PairModel + PairKernels {
    /// Whether charges matter.
    fn uses_charges(&self) -> bool;
    /// Whether the CPU has kernels of its own for it.
    fn is_tuned(&self) -> bool;
    /// Precomputes coefficients.
    fn coefficients(&self, p: Parameters, preparation: &mut Preparation) -> Coefficients<f64>;
    /// The analytic tail.
    fn tail(&self, p: Parameters, cutoff: f64) -> Option<Tail>;
    /// Parameters for the tests.
    fn samples(&self) -> Vec<PairSample>;
    /// Energy and derivative by r², in double precision.
    fn energy_and_derivative(&self, pair: Pair<f64>, c: &Coefficients<f64>) -> Dual<f64>;
    /// Energy and derivative by r², in single precision.
    fn energy_and_derivative_f32(&self, pair: Pair<f32>, c: &Coefficients<f32>) -> Dual<f32>;
    /// The energy alone, as the formula is written.
    fn energy(&self, pair: Pair<f64>, c: &Coefficients<f64>) -> f64;
    /// The truncated energy and its derivative by r², in double precision.
    fn truncated(
        &self,
        kind: TruncationKind,
        pair: Pair<f64>,
        c: &Coefficients<f64>,
        t: &TruncationCoefficients<f64>,
    ) -> Dual<f64>;
    /// The truncated energy and its derivative by r², in single precision.
    fn truncated_f32(
        &self,
        kind: TruncationKind,
        pair: Pair<f32>,
        c: &Coefficients<f32>,
        t: &TruncationCoefficients<f32>,
    ) -> Dual<f32>;
    /// The truncated energy and its derivative by r² (`energy`, `derivative`) as a tape over
    /// [`PAIR_INPUTS`]; its only table, where it has one, is the term's.
    fn tape(&self, kind: TruncationKind) -> Tape;
}

/// Makes a [`PairFamily`] of a [`PairPotential`].
pub(crate) struct PairAdapter<P>(pub(crate) PhantomData<P>);

impl<P: PairPotential> PairModel for PairAdapter<P> {
    fn name(&self) -> &'static str {
        P::NAME
    }
    fn doc(&self) -> &'static Doc {
        &P::DOC
    }
    fn parameters(&self) -> &'static [Parameter] {
        P::PARAMETERS
    }
    fn check(&self, p: Parameters) -> Result<(), ParameterError> {
        p.check_finite(P::PARAMETERS)?;
        P::check(p)
    }
    fn vanishes(&self, p: Parameters) -> bool {
        P::vanishes(p)
    }
    fn natural_cutoff(&self, p: Parameters) -> Option<f64> {
        P::natural_cutoff(p)
    }
}

impl<P: PairPotential> PairFamily for PairAdapter<P> {
    fn uses_charges(&self) -> bool {
        P::USES_CHARGES
    }
    fn is_tuned(&self) -> bool {
        P::TUNED
    }
    fn coefficients(&self, p: Parameters, preparation: &mut Preparation) -> Coefficients<f64> {
        P::coefficients(p, preparation)
    }
    fn tail(&self, p: Parameters, cutoff: f64) -> Option<Tail> {
        P::tail(p, cutoff)
    }
    fn samples(&self) -> Vec<PairSample> {
        P::samples()
    }
    fn energy_and_derivative(&self, pair: Pair<f64>, c: &Coefficients<f64>) -> Dual<f64> {
        P::energy_and_derivative(pair, c)
    }
    fn energy_and_derivative_f32(&self, pair: Pair<f32>, c: &Coefficients<f32>) -> Dual<f32> {
        P::energy_and_derivative(pair, c)
    }
    fn energy(&self, pair: Pair<f64>, c: &Coefficients<f64>) -> f64 {
        P::energy(pair, c)
    }
    fn truncated(
        &self,
        kind: TruncationKind,
        pair: Pair<f64>,
        c: &Coefficients<f64>,
        t: &TruncationCoefficients<f64>,
    ) -> Dual<f64> {
        truncated_by_kind::<P, f64>(kind, pair, c, t)
    }
    fn truncated_f32(
        &self,
        kind: TruncationKind,
        pair: Pair<f32>,
        c: &Coefficients<f32>,
        t: &TruncationCoefficients<f32>,
    ) -> Dual<f32> {
        truncated_by_kind::<P, f32>(kind, pair, c, t)
    }
    fn tape(&self, kind: TruncationKind) -> Tape {
        pair_tape::<P>(kind)
    }
}
