//! Every formula holds for many lanes at once, on every instruction set this processor has.

use crate::expr::Vec3;
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
    // Below the table's beginning, in every octave of it, and beyond its end.
    for step in -160..80 {
        let x = f64::from(((f64::from(step) / 16.0).exp2()) as f32);
        let exact = crate::expr::real_space_force(true, x);
        let several = L::real_space_forces([L::lit(x), L::lit(1e-3), L::lit(2.0 * x)]);
        let alone = L::lit(x).real_space_force().to_vec();
        assert_eq!(several[0].to_vec(), alone);
        let limit = if L::DOUBLE {
            1e-13 * exact
        } else {
            8e-7 * x.powf(-1.5)
        };
        assert!((alone[0] - exact).abs() <= limit, "{x}: {} {exact}", alone[0]);
    }
    let distinct: Vec<f64> = (0..<L as Lanes>::WIDTH).map(|i| i as f64).collect();
    assert_eq!(L::from_values(&distinct).to_vec(), distinct);
    assert_eq!(L::from_values(&distinct).sum(), distinct.iter().sum::<f64>());
    let v = Vec3::new(
        L::from_values(&distinct),
        L::lit(3.0),
        L::from_values(&distinct) * L::lit(-2.0),
    );
    assert_eq!(L::sums(v), Vec3::new(v.x.sum(), v.y.sum(), v.z.sum()));
    let picked = L::pick(0b1010_0110_0101_1010, L::lit(1.0), L::lit(0.0)).to_vec();
    for (lane, picked) in picked.into_iter().enumerate() {
        assert_eq!(picked, f64::from(0b1010_0110_0101_1010_u16 >> lane & 1));
    }
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
