//! Particles that turn, as the kernels know them: the formulas of their rotation, printed, and what others see of them.

use std::sync::LazyLock;

use crate::engines::Precision;
use crate::expr::{CudaReal, Quat, Sym, Tape, Vec3};
use crate::integrate::rotation::{turn_body, turn_to_minimum, turn_top};
use crate::system::{Class, Orientations};

/// Values of `Kind::turns`; 0 for a point.
pub(super) const LINEAR: u32 = 1;
pub(super) const BODY: u32 = 2;

/// The class of a particle in the kernels.
pub(super) fn number_of(class: Class) -> u32 {
    match class {
        Class::Point => 0,
        Class::Linear => LINEAR,
        Class::Body => BODY,
    }
}

fn quaternion(s: &[Sym]) -> Quat<Sym> {
    Quat {
        w: s[0],
        v: vector(&s[1..]),
    }
}

fn vector(s: &[Sym]) -> Vec3<Sym> {
    Vec3::new(s[0], s[1], s[2])
}

fn numbers(q: Quat<Sym>) -> Vec<Sym> {
    [&[q.w][..], &q.v.to_array()].concat()
}

/// The text of `rotation_formulas.cuh`.
pub(in crate::engines::cuda) fn text() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let linear = |s: &[Sym]| {
            let (q, l) = turn_top(quaternion(s), vector(&s[4..]), s[7], s[8]);
            [numbers(q), l.to_array().to_vec()].concat()
        };
        let body = |s: &[Sym]| {
            numbers(turn_body(
                quaternion(s),
                vector(&s[4..]),
                [s[7], s[8], s[9]],
                s[10],
            ))
        };
        let inward = |s: &[Sym]| {
            quaternion(s)
                .conjugate()
                .rotate(vector(&s[4..]))
                .to_array()
                .to_vec()
        };
        let outward = |s: &[Sym]| quaternion(s).rotate(vector(&s[4..])).to_array().to_vec();
        let to_minimum = |s: &[Sym]| numbers(turn_to_minimum(quaternion(s), vector(&s[4..]), s[7]));
        let z = |s: &[Sym]| quaternion(s).axes()[2].to_array().to_vec();
        let axes = || Tape::record(4, |s| quaternion(s).axes().map(Vec3::to_array).concat());
        let double = CudaReal::Double;
        let all = [
            Tape::record(9, linear).to_cuda("turn_linear", double),
            Tape::record(11, body).to_cuda("turn_body", double),
            Tape::record(8, to_minimum).to_cuda("turn_to_minimum", double),
            Tape::record(7, inward).to_cuda("to_body", double),
            Tape::record(7, outward).to_cuda("to_laboratory", double),
            Tape::record(4, z).to_cuda("z_axis_of", double),
            axes().to_cuda("axes_of", CudaReal::Float),
            axes().to_cuda("axes_of", double),
        ];
        format!("#pragma once\n#include \"prelude.cuh\"\n{}", all.concat())
    });
    &TEXT
}

/// What others see of a particle, as words: its axis z and its dipole, or its orientation where terms read all `axes`.
pub(super) fn facing(of: &Orientations, i: usize, axes: usize, precision: Precision) -> Vec<u32> {
    let turn = of.rotations.get(i).copied().unwrap_or(Quat::identity());
    let numbers = if axes == 1 {
        let z = turn.axes()[2];
        [z.x, z.y, z.z, of.rotor(i).dipole]
    } else {
        [turn.v.x, turn.v.y, turn.v.z, turn.w]
    };
    super::arrays::words(&numbers, precision == Precision::Double)
}
