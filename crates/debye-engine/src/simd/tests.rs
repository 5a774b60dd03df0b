//! Every formula holds for many lanes at once, on every instruction set this processor has.

use crate::potentials::checks::{Probe, check_against_f64};
use crate::simd::{Array, InstructionSet, Lanes};

fn check<L: Lanes>() {
    let findings = check_against_f64::<L>();
    assert!(findings.faults.is_empty(), "{:#?}", findings.faults);
    assert!(findings.compared > 10_000);
}

/// Functions against the standard library, in units of the last place of the result.
fn functions<L: Lanes>(tolerance: f64) {
    let unit = <L as Probe>::UNIT_ROUNDOFF;
    let close = |name: &str, x: f64, found: f64, exact: f64| {
        let scale = exact.abs().max(if name == "ln" { 1.0 } else { 0.0 });
        assert!(
            (found - exact).abs() <= tolerance * 2.0 * unit * scale,
            "{name}({x}) = {found}, not {exact}"
        );
    };
    for step in -800..800 {
        // A number both precisions hold exactly, so that only the function can be off.
        let x = f64::from(step) / 16.0;
        let lanes = L::from_values(&[x]);
        close("exp", x, lanes.exp().to_vec()[0], x.exp());
        let y = f64::from(step + 801) / 64.0;
        let lanes = L::from_values(&[y]);
        close("ln", y, lanes.ln().to_vec()[0], y.ln());
        close("recip", y, lanes.recip().to_vec()[0], y.recip());
        close("sqrt", y, lanes.sqrt().to_vec()[0], y.sqrt());
    }
    let distinct: Vec<f64> = (0..<L as Lanes>::WIDTH).map(|i| i as f64).collect();
    assert_eq!(L::from_values(&distinct).to_vec(), distinct);
    assert_eq!(L::from_values(&distinct).sum(), distinct.iter().sum::<f64>());
    let kept = L::keep(L::less(L::from_values(&distinct), L::lit(1.5)), L::lit(f64::NAN));
    assert!(
        kept.to_vec()
            .iter()
            .enumerate()
            .all(|(i, x)| if i < 2 { x.is_nan() } else { *x == 0.0 })
    );
}

#[test]
fn portable() {
    check::<Array<f32, 4>>();
    check::<Array<f64, 2>>();
    functions::<Array<f32, 4>>(1.0);
    functions::<Array<f64, 2>>(1.0);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn avx2() {
    use crate::simd::{F32x8, F64x4};
    if InstructionSet::available().contains(&InstructionSet::Avx2) {
        check::<F32x8>();
        check::<F64x4>();
        functions::<F32x8>(2.0);
        functions::<F64x4>(2.0);
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn avx512() {
    use crate::simd::{F32x16, F64x8};
    if InstructionSet::available().contains(&InstructionSet::Avx512) {
        check::<F32x16>();
        check::<F64x8>();
        functions::<F32x16>(2.0);
        functions::<F64x8>(2.0);
    }
}
