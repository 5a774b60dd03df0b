//! `reciprocal.cuh`: the formulas of the influence function, printed for the kernels.

use crate::expr::{CudaReal, Mat3, Real, Sym, Tape, Vec3};
use crate::forces::pme::{ReciprocalSpace, share};

fn rows(s: &[Sym]) -> [Vec3<Sym>; 3] {
    [0, 3, 6].map(|k| Vec3::new(s[k], s[k + 1], s[k + 2]))
}

/// With π²/α² and πV, and with the reciprocal vectors where they are needed.
fn prepared(reciprocal: Mat3<Sym>, narrow: Sym, volume: Sym) -> ReciprocalSpace<Sym> {
    ReciprocalSpace {
        reciprocal,
        narrow: [narrow, Sym::lit(1.0)],
        volume,
    }
}

/// The text of `reciprocal.cuh`, for spectra of this precision.
pub(super) fn text(double: bool) -> String {
    let none = || Mat3::diagonal(Vec3::zero());
    let numbers = Tape::record(2, |s| {
        let space = ReciprocalSpace::new(none(), s[0], s[1]);
        vec![space.narrow[0] / space.narrow[1], space.volume]
    });
    let exact = Tape::record(14, |s| {
        let [x, y, z] = rows(s);
        let space = ReciprocalSpace::new(Mat3::from_rows(x, y, z), s[9], s[10]);
        vec![space.smeared(space.vector([s[11], s[12], s[13]]).1)]
    });
    // The axis of a column comes last, so that what its vectors share is computed once.
    let vector = Tape::record(14, |s| {
        let [x, y, z] = rows(s);
        let space = prepared(Mat3::from_rows(z, y, x), s[9], s[10]);
        let (m, m2) = space.vector([s[13], s[12], s[11]]);
        vec![space.smeared(m2), m.x, m.y, m.z, m2]
    });
    let bracket = Tape::record(5, |s| {
        let m = Vec3::new(s[0], s[1], s[2]);
        prepared(none(), s[4], Sym::lit(1.0)).bracket(m, s[3]).to_vec()
    });
    let share = Tape::record(2, |s| vec![share(s[0], s[1])]);
    let real = if double { CudaReal::Double } else { CudaReal::Float };
    [
        "#pragma once\n".to_owned(),
        numbers.to_cuda("space_numbers", CudaReal::Double),
        exact.to_cuda("exact_smeared", CudaReal::Double),
        vector.to_cuda("space_vector", real),
        bracket.to_cuda("space_bracket", real),
        share.to_cuda("space_share", real),
    ]
    .concat()
}
