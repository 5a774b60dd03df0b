//! Every registered potential: its derivative, its tape, its single-precision form.

use debye::expr::{Dual, Table, Tape};
use debye::potentials::checks::{check_against_f64, pair_cases, points};
use debye::potentials::{ANGLES, BONDS, DIHEDRALS, PAIRS, Pair, Parameters};

use super::Finding;
use crate::Failed;

/// Allowed error of a derivative from differences, of its largest value.
const DIFFERENCES: f64 = 1e-9;
/// Allowed difference of the tape and the function, of the largest value.
const TAPE: f64 = 1e-12;

/// The checks of this section.
pub fn check() -> Result<Vec<Finding>, Failed> {
    let mut findings = Vec::new();
    for family in &PAIRS {
        let mut worst = Worst::default();
        for case in pair_cases(family) {
            let (kind, table) = (case.truncation.kind(), &case.table);
            let tape = family.tape(kind);
            // The variable is the square of the distance, as in the kernels.
            let squares: Vec<f64> = points(case.from, case.to).iter().map(|r| r * r).collect();
            let inputs = |r2: f64| std::iter::once(r2).chain(case.c).chain(case.t).collect();
            let at = |r2| family.truncated(kind, Pair { r2, table }, &case.c, &case.t);
            worst.look(&squares, &at, &tape, &[table], &inputs);
        }
        worst.report(family.name(), &mut findings);
    }
    macro_rules! bonded {
        ($list:ident) => {
            for family in &$list {
                let mut worst = Worst::default();
                for sample in family.samples() {
                    let c = family.coefficients(Parameters(&sample.values));
                    let inputs = |x: f64| std::iter::once(x).chain(c).collect();
                    let at = |x| family.energy_and_derivative(x, &c);
                    let coordinates = points(sample.from, sample.to);
                    worst.look(&coordinates, &at, &family.tape(), &[], &inputs);
                }
                worst.report(family.name(), &mut findings);
            }
        };
    }
    bonded!(BONDS);
    bonded!(ANGLES);
    bonded!(DIHEDRALS);
    let single = check_against_f64::<f32>();
    let note = format!("of the rounding error allowed, {} numbers", single.compared);
    findings.push(Finding::new("all, in single precision", single.worst, 1.0, note));
    Ok(findings)
}

/// The largest errors of a potential.
#[derive(Default)]
struct Worst {
    derivative: f64,
    tape: f64,
}

impl Worst {
    fn look(
        &mut self,
        coordinates: &[f64],
        at: &dyn Fn(f64) -> Dual<f64>,
        tape: &Tape,
        tables: &[&Table],
        inputs: &dyn Fn(f64) -> Vec<f64>,
    ) {
        let (mut scale, mut derivative_error, mut tape_error) = ([0.0_f64; 2], 0.0_f64, 0.0_f64);
        let span = coordinates.last().copied().unwrap_or(1.0) - coordinates[0];
        for &x in coordinates {
            let exact = at(x);
            scale[0] = scale[0].max(exact.value.abs());
            scale[1] = scale[1].max(exact.derivative.abs());
            // Central differences with one Richardson step: the error is of fourth order in h.
            let h = 1e-4 * span.min(x.abs().max(0.01 * span));
            let difference = |h: f64| (at(x + h).value - at(x - h).value) / (2.0 * h);
            let derivative = (4.0 * difference(0.5 * h) - difference(h)) / 3.0;
            let error = (derivative - exact.derivative).abs();
            derivative_error = derivative_error.max(error);
            for (found, wanted) in tape
                .evaluate(&inputs(x), tables)
                .iter()
                .zip([exact.value, exact.derivative])
            {
                tape_error =
                    tape_error.max((found - wanted).abs() / wanted.abs().max(1e-300).max(1e-3 * scale[0]));
            }
        }
        self.derivative = self.derivative.max(derivative_error / scale[1].max(1e-300));
        self.tape = self.tape.max(tape_error);
    }

    fn report(&self, name: &str, findings: &mut Vec<Finding>) {
        findings.push(Finding::new(
            format!("{name}: derivative"),
            self.derivative,
            DIFFERENCES,
            "of the largest derivative",
        ));
        findings.push(Finding::new(format!("{name}: tape"), self.tape, TAPE, "relative"));
    }
}
