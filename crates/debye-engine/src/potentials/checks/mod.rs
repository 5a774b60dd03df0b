//! Checks that every registered potential goes through, for any kind of number.
//!
//! A new lane type is held to the reference with one `impl Probe` and one line in a test,
//! `check_against_f64::<Lanes>()`; `simd/tests.rs` shows both.

mod rounding;

use std::marker::PhantomData;

pub use rounding::Rounding;

use super::pair::truncated_by_kind;
use super::*;
use crate::expr::{Dual, Real, Table};
use crate::simd::Lanes;
use crate::truncation::{Truncation, TruncationCoefficients};

/// A kind of number whose lanes can be filled and read.
pub trait Probe: Real {
    /// Largest relative error of one rounding: 2⁻²⁴ for f32, 2⁻⁵³ for f64.
    const UNIT_ROUNDOFF: f64;
    /// How many lanes.
    const WIDTH: usize;
    /// How many times the first-order bound a result may be off: 2 covers higher orders and
    /// functions good to two units in the last place.
    const SLACK: f64 = 2.0;
    /// Lane i is `values[i]`.
    fn load(values: &[f64]) -> Self;
    /// The number in a lane.
    fn lane(self, i: usize) -> f64;
}

impl Probe for f32 {
    const UNIT_ROUNDOFF: f64 = 0.5 * f32::EPSILON as f64;
    const WIDTH: usize = 1;
    fn load(values: &[f64]) -> Self {
        values[0] as Self
    }
    fn lane(self, _: usize) -> f64 {
        f64::from(self)
    }
}

impl Probe for f64 {
    const UNIT_ROUNDOFF: f64 = 0.5 * f64::EPSILON;
    const WIDTH: usize = 1;
    fn load(values: &[f64]) -> Self {
        values[0]
    }
    fn lane(self, _: usize) -> f64 {
        self
    }
}

impl<L: Lanes> Probe for L {
    const UNIT_ROUNDOFF: f64 = if size_of::<L::Element>() == 4 {
        f32::UNIT_ROUNDOFF
    } else {
        f64::UNIT_ROUNDOFF
    };
    const WIDTH: usize = <L as Lanes>::WIDTH;
    /// Reciprocals by Newton's method are good to two units in the last place, not to half of one.
    const SLACK: f64 = 4.0;
    fn load(values: &[f64]) -> Self {
        Self::from_values(values)
    }
    fn lane(self, i: usize) -> f64 {
        self.to_vec()[i]
    }
}

/// Coordinates tested per sample; a multiple of every width.
pub const POINTS: usize = 192;

/// Points between two coordinates, clear of the ends.
pub fn points(from: f64, to: f64) -> Vec<f64> {
    (0..POINTS)
        .map(|i| from + (to - from) * (i as f64 + 0.5) / POINTS as f64)
        .collect()
}

/// A pair potential with one sample's parameters and one truncation, ready to be evaluated.
#[derive(Debug)]
pub struct PairCase {
    /// Potential, sample and truncation in words.
    pub name: String,
    /// How it ends.
    pub truncation: Truncation,
    /// Numbers of the potential.
    pub c: Coefficients<f64>,
    /// Numbers of the truncation.
    pub t: TruncationCoefficients<f64>,
    /// Its table.
    pub table: Table,
    /// Smallest distance.
    pub from: f64,
    /// Largest distance, and the cut-off.
    pub to: f64,
}

/// Every sample with every truncation.
pub fn pair_cases(family: &dyn PairFamily) -> Vec<PairCase> {
    let mut cases = Vec::new();
    for (i, sample) in family.samples().iter().enumerate() {
        let begin = sample.from + 0.7 * (sample.to - sample.from);
        let truncations = [
            Truncation::Cut,
            Truncation::Shift,
            Truncation::ForceShift,
            Truncation::QuadraticShift,
            Truncation::Switch { from: begin },
        ];
        for truncation in truncations {
            let mut table = Table::default();
            let preparation = &mut Preparation {
                cutoff: sample.to,
                table: &mut table,
            };
            let c = family.coefficients(Parameters(&sample.values), preparation);
            let end = Pair {
                r2: sample.to * sample.to,
                table: &table,
            };
            let t = truncation.coefficients(sample.to, family.energy_and_derivative(end, &c));
            let name = format!("{} sample {i} {truncation:?}", family.name());
            cases.push(PairCase {
                name,
                truncation,
                c,
                t,
                table,
                from: sample.from,
                to: sample.to,
            });
        }
    }
    cases
}

/// What [`check_against_f64`] found.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Numbers compared.
    pub compared: usize,
    /// Largest error as a part of what is allowed; at most one where nothing is wrong.
    pub worst: f64,
    /// Largest error relative to the largest value of the same quantity of the same sample.
    pub worst_of_scale: f64,
    /// Where `worst_of_scale` is.
    pub worst_of_scale_at: String,
    /// Everything out of bounds.
    pub faults: Vec<String>,
}

/// Evaluates every registered potential in `R`, with every truncation, and compares energy and
/// derivative with `f64`, within the error that rounding explains.
pub fn check_against_f64<R: Probe>() -> Findings {
    let mut check = Check::<R> {
        findings: Findings::default(),
        number: PhantomData,
    };
    visit_pairs(&mut check);
    visit_bonds(&mut check);
    visit_angles(&mut check);
    visit_dihedrals(&mut check);
    check.findings
}

struct Check<R> {
    findings: Findings,
    number: PhantomData<R>,
}

/// A potential evaluated in three kinds of numbers.
struct Evaluations<'a, R> {
    probe: &'a dyn Fn(R) -> Dual<R>,
    reference: &'a dyn Fn(f64) -> Dual<f64>,
    bound: &'a dyn Fn(Rounding) -> Dual<Rounding>,
}

impl<R: Probe> Check<R> {
    fn compare(&mut self, name: &str, coordinates: &[f64], e: Evaluations<R>) {
        let (mut scale, mut worst) = ([0.0_f64; 2], [0.0_f64; 2]);
        for chunk in coordinates.chunks(R::WIDTH) {
            let probe = (e.probe)(R::load(chunk));
            for (lane, &x) in chunk.iter().enumerate() {
                let (reference, bound) = ((e.reference)(x), (e.bound)(Rounding::stored(x)));
                let got = [probe.value.lane(lane), probe.derivative.lane(lane)];
                let want = [reference.value, reference.derivative];
                let bound = [bound.value.error, bound.derivative.error];
                for i in 0..2 {
                    let (error, allowed) = ((got[i] - want[i]).abs(), R::SLACK * R::UNIT_ROUNDOFF * bound[i]);
                    self.record(
                        &format!("{name} at {x}, output {i}"),
                        [got[i], want[i], error, allowed],
                    );
                    scale[i] = scale[i].max(want[i].abs());
                    worst[i] = worst[i].max(error);
                }
            }
        }
        for i in 0..2 {
            let of_scale = worst[i] / scale[i];
            if of_scale > self.findings.worst_of_scale {
                self.findings.worst_of_scale = of_scale;
                self.findings.worst_of_scale_at = format!("{name}, output {i}");
            }
        }
    }

    fn record(&mut self, place: &str, [got, want, error, allowed]: [f64; 4]) {
        self.findings.compared += 1;
        if error > 0.0 {
            self.findings.worst = self.findings.worst.max(error / allowed);
        }
        // A comparison with NaN is false, and a fault.
        if error.partial_cmp(&allowed).is_none_or(std::cmp::Ordering::is_gt) {
            self.findings.faults.push(format!(
                "{place}: {got} instead of {want}, off by {error:e} of {allowed:e}"
            ));
        }
    }
}

impl<R: Probe> PairVisitor for Check<R> {
    fn visit<P: PairPotential>(&mut self) {
        // The registered one: another would bring its kernels once more.
        for case in PAIRS.find(P::NAME).into_iter().flat_map(pair_cases) {
            let (kind, table) = (case.truncation.kind(), &case.table);
            let (c, t) = (case.c.map(R::lit), case.t.map(R::lit));
            let (bound_c, bound_t) = (case.c.map(Rounding::stored), case.t.map(Rounding::stored));
            let evaluations = Evaluations::<R> {
                probe: &|r2| truncated_by_kind::<P, _>(kind, Pair { r2, table }, &c, &t),
                reference: &|r2| truncated_by_kind::<P, _>(kind, Pair { r2, table }, &case.c, &case.t),
                bound: &|r2| truncated_by_kind::<P, _>(kind, Pair { r2, table }, &bound_c, &bound_t),
            };
            let squares: Vec<f64> = points(case.from, case.to).iter().map(|r| r * r).collect();
            self.compare(&case.name, &squares, evaluations);
        }
    }
}

macro_rules! bonded_check {
    ($visitor:ident, $potential:ident) => {
        impl<R: Probe> $visitor for Check<R> {
            fn visit<P: $potential>(&mut self) {
                for (i, sample) in P::samples().iter().enumerate() {
                    let c = P::coefficients(Parameters(&sample.values));
                    let (probe, bound) = (c.map(R::lit), c.map(Rounding::stored));
                    let evaluations = Evaluations::<R> {
                        probe: &|x| P::energy_and_derivative(x, &probe),
                        reference: &|x| P::energy_and_derivative(x, &c),
                        bound: &|x| P::energy_and_derivative(x, &bound),
                    };
                    let name = format!("{} sample {i}", P::NAME);
                    self.compare(&name, &points(sample.from, sample.to), evaluations);
                }
            }
        }
    };
}

bonded_check!(BondVisitor, BondPotential);
bonded_check!(AngleVisitor, AnglePotential);
bonded_check!(DihedralVisitor, DihedralPotential);
