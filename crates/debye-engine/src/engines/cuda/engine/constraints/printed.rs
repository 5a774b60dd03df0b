//! The formulas of constraints, printed for the kernels.

use super::NUMBERS;
use crate::expr::{CudaReal, Sym, Tape, Vec3};
use crate::forces::constraints::Triangle;
use crate::integrate::rotation::{angular_velocity, turn_axes, turn_linear_axes};
use crate::system::{axes_of, directions, linear_axes};

/// How rigid bodies turn, printed from the formulas of the CPU.
pub(super) fn rigid_bodies() -> String {
    let vector = |s: &[Sym]| Vec3::new(s[0], s[1], s[2]);
    let three = |s: &[Sym]| [vector(s), vector(&s[3..]), vector(&s[6..])];
    let flat = |v: [Vec3<Sym>; 3]| v.map(Vec3::to_array).as_flattened().to_vec();
    let all = [
        Tape::record(15, |s| {
            flat(axes_of(directions(vector(s), vector(&s[3..])), three(&s[6..])))
        })
        .to_cuda("rigid_axes", CudaReal::Double),
        Tape::record(12, |s| flat(axes_of(linear_axes(vector(s)), three(&s[3..]))))
            .to_cuda("rigid_axes_linear", CudaReal::Double),
        Tape::record(16, |s| {
            flat(turn_axes(three(s), vector(&s[9..]), [s[12], s[13], s[14]], s[15]))
        })
        .to_cuda("turn_axes", CudaReal::Double),
        Tape::record(14, |s| {
            flat(turn_linear_axes(three(s), vector(&s[9..]), s[12], s[13]))
        })
        .to_cuda("turn_axes_linear", CudaReal::Double),
        Tape::record(15, |s| {
            let rate = angular_velocity(three(s), vector(&s[9..]), [s[12], s[13], s[14]]);
            rate.to_array().to_vec()
        })
        .to_cuda("angular_velocity", CudaReal::Double),
    ];
    format!("#pragma once\n{}", all.concat())
}

/// SETTLE, printed from the formulas of the CPU.
pub(super) fn settle() -> String {
    let triangle = |s: &[Sym]| Triangle::from_numbers(std::array::from_fn(|k| s[k]));
    let three = |s: &[Sym], from: usize| {
        let at = |k: usize| from + 3 * k;
        std::array::from_fn(|k| Vec3::new(s[at(k)], s[at(k) + 1], s[at(k) + 2]))
    };
    let flat = |v: [Vec3<Sym>; 3]| v.map(Vec3::to_array).as_flattened().to_vec();
    let positions = Tape::record(NUMBERS + 18, |s| {
        flat(triangle(s).positions(three(s, NUMBERS), three(s, NUMBERS + 9)))
    });
    let rates = Tape::record(NUMBERS + 21, |s| {
        let wanted = std::array::from_fn(|k| s[NUMBERS + 18 + k]);
        let (change, multipliers) = triangle(s).rates(three(s, NUMBERS), three(s, NUMBERS + 9), wanted);
        [flat(change), multipliers.to_vec()].concat()
    });
    format!(
        "#pragma once\n{}{}",
        positions.to_cuda("settle_positions", CudaReal::Double),
        rates.to_cuda("settle_rates", CudaReal::Double)
    )
}
