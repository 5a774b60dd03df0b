//! What every registered potential must fulfil. A new one is tested by its line in the register.

// A test may stop at the first surprise.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::HashSet;

use debye::expr::{CudaReal, Dual, Table, Tape};
use debye::potentials::checks::{PairCase, Rounding, check_against_f64, pair_cases, points};
use debye::potentials::{
    ANGLES, BONDS, BondedSample, DIHEDRALS, MAX_BONDED, PAIRS, Pair, PairFamily, PairPotential, PairVisitor,
    Parameter, ParameterError, Parameters, Value, visit_pairs,
};
use debye::truncation::{Truncation, TruncationKind};

const UNIT_ROUNDOFF: f64 = 0.5 * f64::EPSILON;

type Check = dyn Fn(Parameters) -> Result<(), ParameterError>;
type Formula<R, T> = dyn Fn(R, &[R; MAX_BONDED]) -> T;

/// The three bonded sorts as one: they have the same functions.
struct Bonded {
    name: &'static str,
    parameters: &'static [Parameter],
    samples: Vec<BondedSample>,
    check: Box<Check>,
    coefficients: Box<dyn Fn(Parameters) -> [f64; MAX_BONDED]>,
    energy: Box<Formula<f64, f64>>,
    energy_and_derivative: Box<Formula<f64, Dual<f64>>>,
    energy_and_derivative_f32: Box<Formula<f32, Dual<f32>>>,
    tape: Tape,
}

fn bonded() -> Vec<Bonded> {
    macro_rules! erased {
        ($list:ident) => {
            $list.iter().map(|family| Bonded {
                name: family.name(),
                parameters: family.parameters(),
                samples: family.samples(),
                check: Box::new(move |p| family.check(p)),
                coefficients: Box::new(move |p| family.coefficients(p)),
                energy: Box::new(move |x, c| family.energy(x, c)),
                energy_and_derivative: Box::new(move |x, c| family.energy_and_derivative(x, c)),
                energy_and_derivative_f32: Box::new(move |x, c| family.energy_and_derivative_f32(x, c)),
                tape: family.tape(),
            })
        };
    }
    erased!(BONDS)
        .chain(erased!(ANGLES))
        .chain(erased!(DIHEDRALS))
        .collect()
}

/// The inputs of a pair's tape.
fn pair_inputs(case: &PairCase, r2: f64) -> Vec<f64> {
    std::iter::once(r2).chain(case.c).chain(case.t).collect()
}

fn pair_truncated(family: &dyn PairFamily, case: &PairCase, r: f64) -> Dual<f64> {
    family.truncated(
        case.truncation.kind(),
        Pair {
            r2: r * r,
            table: &case.table,
        },
        &case.c,
        &case.t,
    )
}

fn for_every_pair_case(mut f: impl FnMut(&'static dyn PairFamily, &PairCase)) {
    for family in &PAIRS {
        pair_cases(family).iter().for_each(|case| f(family, case));
    }
}

/// A tape with inputs, for checks that all sorts share.
fn for_every_tape(mut f: impl FnMut(&str, &Tape, &[&Table], &[f64])) {
    for_every_pair_case(|family, case| {
        let tape = family.tape(case.truncation.kind());
        for r in points(case.from, case.to) {
            f(&case.name, &tape, &[&case.table], &pair_inputs(case, r * r));
        }
    });
    for potential in bonded() {
        for sample in &potential.samples {
            let c = (potential.coefficients)(Parameters(&sample.values));
            for x in points(sample.from, sample.to) {
                let inputs: Vec<f64> = std::iter::once(x).chain(c).collect();
                f(potential.name, &potential.tape, &[], &inputs);
            }
        }
    }
}

/// Error bounds of a tape's outputs in double precision.
fn bounds(tape: &Tape, tables: &[&Table], inputs: &[f64]) -> Vec<f64> {
    let inputs: Vec<Rounding> = inputs.iter().map(|&x| Rounding::stored(x)).collect();
    tape.evaluate(&inputs, tables)
        .iter()
        .map(|bound| UNIT_ROUNDOFF * bound.error)
        .collect()
}

#[test]
fn names_and_samples_fit_the_declarations() {
    let mut names = HashSet::new();
    let mut fits = |name: &'static str, parameters: &[Parameter], samples: Vec<Vec<Value>>| {
        assert!(names.insert(name), "{name} is registered twice");
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{name}");
        assert!(!samples.is_empty(), "{name} has no samples");
        assert!(
            samples.iter().all(|values| values.len() == parameters.len()),
            "{name}"
        );
    };
    for family in &PAIRS {
        fits(
            family.name(),
            family.parameters(),
            family.samples().into_iter().map(|s| s.values).collect(),
        );
    }
    for b in bonded() {
        fits(
            b.name,
            b.parameters,
            b.samples.iter().map(|s| s.values.clone()).collect(),
        );
    }
}

fn refuses_what_is_not_finite(name: &str, values: &[Value], check: &Check) {
    for i in 0..values.len() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let mut values = values.to_vec();
            values[i] = Value::Number(bad);
            assert!(
                check(Parameters(&values)).is_err(),
                "{name} accepts {bad} in place {i}"
            );
        }
    }
}

#[test]
fn samples_are_accepted_and_nonsense_is_refused() {
    for family in &PAIRS {
        for sample in family.samples() {
            assert_eq!(
                family.check(Parameters(&sample.values)),
                Ok(()),
                "{}",
                family.name()
            );
        }
        assert!(
            family.check(Parameters(&[])).is_err(),
            "{} accepts nothing",
            family.name()
        );
        refuses_what_is_not_finite(family.name(), &family.samples()[0].values, &|p| family.check(p));
    }
    for b in bonded() {
        for sample in &b.samples {
            assert_eq!((b.check)(Parameters(&sample.values)), Ok(()), "{}", b.name);
            refuses_what_is_not_finite(b.name, &sample.values, &b.check);
        }
    }
}

/// The five-point formula; its error is of order h⁴.
fn five_point(f: impl Fn(f64) -> f64, x: f64, h: f64) -> f64 {
    (8.0 * (f(x + h) - f(x - h)) - (f(x + 2.0 * h) - f(x - 2.0 * h))) / (12.0 * h)
}

/// Validation row A18. `noise` is the rounding error of one energy: the formula sums four of them,
/// with weights of 1.5/h in all.
fn assert_derivative(name: &str, x: f64, derivative: f64, difference: f64, noise: f64, h: f64) -> f64 {
    let (error, noise) = ((derivative - difference).abs(), 1.5 * noise / h);
    assert!(
        error <= 1e-7 * derivative.abs() + noise,
        "{name} at {x}: {derivative} but differences say {difference}"
    );
    (error - noise).max(0.0) / derivative.abs()
}

#[test]
fn forces_are_derivatives_of_energies() {
    let mut worst = 0.0_f64;
    for_every_pair_case(|family, case| {
        let tape = family.tape(case.truncation.kind());
        for r in points(case.from, case.to) {
            let h = 2e-5 * r;
            let difference = five_point(|r| pair_truncated(family, case, r).value, r, h);
            let noise = bounds(&tape, &[&case.table], &pair_inputs(case, r * r))[0];
            let derivative = 2.0 * r * pair_truncated(family, case, r).derivative;
            worst = worst.max(assert_derivative(&case.name, r, derivative, difference, noise, h));
        }
    });
    for b in bonded() {
        for sample in &b.samples {
            let c = (b.coefficients)(Parameters(&sample.values));
            for x in points(sample.from, sample.to) {
                let h = 2e-5 * x.abs().max(0.1);
                let inputs: Vec<f64> = std::iter::once(x).chain(c).collect();
                let noise = bounds(&b.tape, &[], &inputs)[0];
                let difference = five_point(|x| (b.energy)(x, &c), x, h);
                let derivative = (b.energy_and_derivative)(x, &c).derivative;
                worst = worst.max(assert_derivative(b.name, x, derivative, difference, noise, h));
            }
        }
    }
    println!("derivative against differences: {worst:e} at worst, beyond rounding");
}

/// A hand-written `energy_and_derivative` against the one derived from `energy`, without truncation.
struct HandWritten;

impl PairVisitor for HandWritten {
    fn visit<P: PairPotential>(&mut self) {
        let family = PAIRS
            .iter()
            .find(|family| family.name() == P::NAME)
            .expect("it is registered");
        let tape = family.tape(TruncationKind::Shifted);
        for case in pair_cases(family)
            .iter()
            .filter(|case| case.truncation == Truncation::Cut)
        {
            for r in points(case.from, case.to) {
                let table = &case.table;
                let bound = bounds(&tape, &[table], &pair_inputs(case, r * r));
                let written = P::energy_and_derivative(Pair { r2: r * r, table }, &case.c);
                let derived = P::energy(
                    Pair {
                        r2: Dual::variable(r * r),
                        table,
                    },
                    &case.c.map(Dual::constant),
                );
                let near = |a: f64, b: f64, bound: f64| (a - b).abs() <= 1e-12 * b.abs() + 2.0 * bound;
                assert!(
                    near(written.value, derived.value, bound[0])
                        && near(written.derivative, derived.derivative, bound[1]),
                    "{} at {r}: {written:?} {derived:?}",
                    case.name
                );
            }
        }
    }
}

#[test]
fn hand_written_derivatives_equal_derived_ones() {
    visit_pairs(&mut HandWritten);
}

#[test]
fn single_precision_agrees_within_its_rounding() {
    let findings = check_against_f64::<f32>();
    println!("f32 against f64: {findings:?}");
    assert!(findings.faults.is_empty(), "{:#?}", findings.faults);
    // What is left when terms cancel, relative to the largest value of the sample: u times the number
    // of roundings in a formula (some tens) times the ratio of terms to result (below ten).
    assert!(findings.worst_of_scale < 1e-5, "{findings:?}");
    let double = check_against_f64::<f64>();
    assert!(double.faults.is_empty() && double.worst == 0.0);
}

#[test]
fn a_tape_computes_what_the_function_computes() {
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-14 * b.abs();
    for_every_pair_case(|family, case| {
        let kind = case.truncation.kind();
        let tape = family.tape(kind);
        for r in points(case.from, case.to) {
            let direct = pair_truncated(family, case, r);
            let outputs = tape.evaluate(&pair_inputs(case, r * r), &[&case.table]);
            assert!(
                close(outputs[0], direct.value) && close(outputs[1], direct.derivative),
                "{} at {r}",
                case.name
            );
            let singles: Vec<f32> = pair_inputs(case, r * r).iter().map(|&x| x as f32).collect();
            let (c, t) = (case.c.map(|x| x as f32), case.t.map(|x| x as f32));
            let direct = family.truncated_f32(
                kind,
                Pair {
                    r2: (r * r) as f32,
                    table: &case.table,
                },
                &c,
                &t,
            );
            let outputs = tape.evaluate(&singles, &[&case.table]);
            assert_eq!(
                outputs,
                [direct.value, direct.derivative],
                "{} at {r} in f32",
                case.name
            );
        }
    });
    for b in bonded() {
        for sample in &b.samples {
            let c = (b.coefficients)(Parameters(&sample.values));
            let singles = c.map(|x| x as f32);
            for x in points(sample.from, sample.to) {
                let direct = (b.energy_and_derivative)(x, &c);
                let inputs: Vec<f64> = std::iter::once(x).chain(c).collect();
                let outputs = b.tape.evaluate(&inputs, &[]);
                assert!(
                    close(outputs[0], direct.value) && close(outputs[1], direct.derivative),
                    "{} at {x}",
                    b.name
                );
                let direct = (b.energy_and_derivative_f32)(x as f32, &singles);
                let inputs: Vec<f32> = inputs.iter().map(|&x| x as f32).collect();
                assert_eq!(
                    b.tape.evaluate(&inputs, &[]),
                    [direct.value, direct.derivative],
                    "{} at {x}",
                    b.name
                );
            }
        }
    }
}

#[test]
fn reverse_gradients_equal_forward_ones() {
    let mut last: Option<(String, Tape)> = None;
    for_every_tape(|name, tape, tables, inputs| {
        if last.as_ref().is_none_or(|(known, _)| known != name) {
            last = Some((name.to_owned(), tape.gradient(0)));
        }
        let Some((_, gradient)) = &last else { return };
        let reverse = gradient.evaluate(inputs, tables);
        let bound = bounds(gradient, tables, inputs);
        for i in 0..inputs.len() {
            let mut duals: Vec<Dual<f64>> = inputs.iter().map(|&x| Dual::constant(x)).collect();
            duals[i] = Dual::variable(inputs[i]);
            let forward = tape.evaluate(&duals, tables)[0].derivative;
            let allowed = 1e-12 * forward.abs() + 4.0 * bound[i];
            assert!(
                (reverse[i] - forward).abs() <= allowed,
                "{name}, input {i} of {inputs:?}: {} {forward}",
                reverse[i]
            );
        }
    });
}

#[test]
fn truncations_end_as_they_promise() {
    for_every_pair_case(|family, case| {
        let bare = |r: f64| {
            family.energy_and_derivative(
                Pair {
                    r2: r * r,
                    table: &case.table,
                },
                &case.c,
            )
        };
        let scale = points(case.from, case.to).iter().fold([0.0_f64; 2], |m, &r| {
            let e = bare(r);
            [m[0].max(e.value.abs()), m[1].max(e.derivative.abs())]
        });
        let end = pair_truncated(family, case, case.to);
        let zero = |x: f64, scale: f64| assert!(x.abs() <= 1e-13 * scale, "{}: {end:?}", case.name);
        match case.truncation {
            Truncation::Cut => assert_eq!(end, bare(case.to), "{}", case.name),
            Truncation::Shift => {
                zero(end.value, scale[0]);
                assert_eq!(end.derivative, bare(case.to).derivative, "{}", case.name);
            }
            Truncation::ForceShift | Truncation::QuadraticShift => {
                zero(end.value, scale[0]);
                zero(end.derivative, scale[1]);
            }
            Truncation::Switch { from } => {
                zero(end.value, scale[0]);
                zero(end.derivative, scale[1]);
                for near in [from * (1.0 - 1e-9), from * (1.0 + 1e-9)] {
                    let (switched, bare) = (pair_truncated(family, case, near), bare(near));
                    zero(switched.value - bare.value, 1e5 * scale[0]);
                    zero(switched.derivative - bare.derivative, 1e6 * scale[1]);
                }
                assert_eq!(
                    pair_truncated(family, case, 0.99 * from),
                    bare(0.99 * from),
                    "{}",
                    case.name
                );
            }
        }
    });
}

/// ∫ f(r) dr from a to ∞ by the double exponential rule r = a + exp(π/2 sinh t).
fn integral_to_infinity(f: impl Fn(f64) -> f64, a: f64) -> f64 {
    let h = 1.0 / 64.0;
    let half_pi = std::f64::consts::FRAC_PI_2;
    let term = |i: i32| {
        let t = f64::from(i) * h;
        let step = (half_pi * t.sinh()).exp();
        f(a + step) * step * half_pi * t.cosh()
    };
    (-256..=256).map(term).sum::<f64>() * h
}

#[test]
fn tails_are_the_integrals_they_claim_to_be() {
    let mut with_tail = 0;
    for_every_pair_case(|family, case| {
        if case.truncation != Truncation::Cut {
            return;
        }
        let sample = family
            .samples()
            .into_iter()
            .find(|s| s.to == case.to && s.from == case.from);
        let Some(tail) = sample.and_then(|s| family.tail(Parameters(&s.values), case.to)) else {
            return;
        };
        let at = |r: f64| {
            family.energy_and_derivative(
                Pair {
                    r2: r * r,
                    table: &case.table,
                },
                &case.c,
            )
        };
        let energy = integral_to_infinity(|r| r * r * at(r).value, case.to);
        let virial = integral_to_infinity(|r| r.powi(3) * 2.0 * r * at(r).derivative, case.to);
        let name = &case.name;
        // What rounding leaves of a potential that ends (WCA), relative to its depth within the cut-off.
        let nothing = 1e-15 * case.to.powi(3) * at(case.from).value.abs();
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-10 * b.abs() + nothing;
        assert!(close(tail.energy, energy), "{name}: {} {energy}", tail.energy);
        assert!(close(tail.virial, virial), "{name}: {} {virial}", tail.virial);
        with_tail += 1;
    });
    assert!(with_tail >= 12, "{with_tail}");
}

/// A distance outside its table, an overlap or a NaN must not make a look-up read elsewhere.
#[test]
fn extreme_distances_do_not_panic() {
    for_every_pair_case(|family, case| {
        for r2 in [0.0, 1e-300, 1e-30, 1e30, f64::MAX, f64::INFINITY, f64::NAN] {
            let pair = Pair {
                r2,
                table: &case.table,
            };
            let _ = family.truncated(case.truncation.kind(), pair, &case.c, &case.t);
            let _ = family
                .tape(case.truncation.kind())
                .evaluate(&pair_inputs(case, r2), &[&case.table]);
        }
    });
}

/// `docs/adding-a-potential.md` quotes a file of the register; the quote must stay true.
#[test]
fn the_guide_quotes_the_file() {
    let guide = include_str!("../../../docs/adding-a-potential.md");
    let file = include_str!("../../debye-engine/src/potentials/born_mayer_huggins.rs");
    assert!(
        guide.contains(file),
        "docs/adding-a-potential.md no longer quotes born_mayer_huggins.rs"
    );
    assert!(guide.contains("born_mayer_huggins::BornMayerHuggins,"));
    let family = PAIRS
        .iter()
        .find(|family| family.name() == "born-mayer-huggins")
        .unwrap();
    let text = family
        .tape(TruncationKind::Shifted)
        .to_cuda("born_mayer_huggins", CudaReal::Float);
    assert!(
        guide.contains(&text),
        "docs/adding-a-potential.md should quote\n{text}"
    );
}
