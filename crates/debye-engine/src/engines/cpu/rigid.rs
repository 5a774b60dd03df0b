//! Rigid waters, a vector of them at a time: SETTLE for positions and for rates.
#![allow(unsafe_code)]

use crate::expr::Vec3;
use crate::forces::constraints::Triangle;
use crate::simd::{Array, InstructionSet, Lanes};
#[cfg(target_arch = "x86_64")]
use crate::simd::{F64x4, F64x8};

/// Waters that are worked on together.
pub(super) const TOGETHER: usize = 8;

/// Three vectors of several waters: by particle, then axis, then water.
pub(super) type Waters = [[[f64; TOGETHER]; 3]; 3];

/// Replaces `second`, the places after a step or the rates at the places of `first`, by those that hold the triangle.
type Constrain = unsafe fn(&Triangle<f64>, first: &Waters, second: &mut Waters);

/// Both for one instruction set. Each may be called only on a processor that has it.
#[derive(Clone, Copy)]
pub(super) struct Rigid {
    pub(super) positions: Constrain,
    pub(super) rates: Constrain,
}

#[inline(always)]
fn read_one<L: Lanes<Element = f64>>([x, y, z]: &[[f64; TOGETHER]; 3], at: usize) -> Vec3<L> {
    Vec3::new(L::load(&x[at..]), L::load(&y[at..]), L::load(&z[at..]))
}

/// Written out: a closure may become a function of its own, one without the instruction set.
#[inline(always)]
fn broadcast<L: Lanes<Element = f64>>(triangle: &Triangle<f64>) -> Triangle<L> {
    let [a, b, c, d, e, f, g] = triangle.numbers();
    Triangle::from_numbers([
        L::splat(a),
        L::splat(b),
        L::splat(c),
        L::splat(d),
        L::splat(e),
        L::splat(f),
        L::splat(g),
    ])
}

#[inline(always)]
fn read<L: Lanes<Element = f64>>(from: &Waters, at: usize) -> [Vec3<L>; 3] {
    [
        read_one(&from[0], at),
        read_one(&from[1], at),
        read_one(&from[2], at),
    ]
}

#[inline(always)]
fn write<L: Lanes<Element = f64>>(to: &mut Waters, at: usize, values: [Vec3<L>; 3]) {
    for ([x, y, z], value) in to.iter_mut().zip(values) {
        value.x.store(&mut x[at..]);
        value.y.store(&mut y[at..]);
        value.z.store(&mut z[at..]);
    }
}

#[inline(always)]
fn positions<L: Lanes<Element = f64>>(triangle: &Triangle<f64>, old: &Waters, new: &mut Waters) {
    let triangle = broadcast::<L>(triangle);
    for at in (0..TOGETHER).step_by(L::WIDTH) {
        let settled = triangle.positions(read::<L>(old, at), read::<L>(new, at));
        write(new, at, settled);
    }
}

#[inline(always)]
fn rates<L: Lanes<Element = f64>>(triangle: &Triangle<f64>, places: &Waters, rates: &mut Waters) {
    let triangle = broadcast::<L>(triangle);
    for at in (0..TOGETHER).step_by(L::WIDTH) {
        let now = read::<L>(rates, at);
        let (change, _) = triangle.rates(read::<L>(places, at), now, [L::lit(0.0); 3]);
        write(
            rates,
            at,
            [now[0] + change[0], now[1] + change[1], now[2] + change[2]],
        );
    }
}

macro_rules! entries {
    ($name:ident, $features:literal, $lanes:ty) => {
        #[cfg(target_arch = "x86_64")]
        mod $name {
            use super::*;

            #[target_feature(enable = $features)]
            unsafe fn positions(triangle: &Triangle<f64>, old: &Waters, new: &mut Waters) {
                super::positions::<$lanes>(triangle, old, new);
            }
            #[target_feature(enable = $features)]
            unsafe fn rates(triangle: &Triangle<f64>, places: &Waters, rates: &mut Waters) {
                super::rates::<$lanes>(triangle, places, rates);
            }
            pub(super) const BOTH: Rigid = Rigid { positions, rates };
        }
    };
}
entries!(avx512, "avx512f,avx512dq,avx512vl,avx2,fma", F64x8);
entries!(avx2, "avx2,fma", F64x4);

impl Rigid {
    /// For a set; one this processor lacks is replaced by the best it has.
    pub(super) fn new(set: InstructionSet) -> Self {
        let has = InstructionSet::available().contains(&set);
        match if has { set } else { InstructionSet::detect() } {
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 => avx512::BOTH,
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 => avx2::BOTH,
            _ => Self {
                positions: positions::<Array<f64, 2>>,
                rates: rates::<Array<f64, 2>>,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_waters_are_held_as_one_is() {
        let triangle = Triangle::new([16.0, 1.0], 0.1, 0.16);
        let half = 0.08_f64;
        let height = (0.01 - half * half).sqrt();
        let still = [[0.0, 0.0, 0.0], [half, height, 0.0], [-half, height, 0.0]];
        let shake = |n: usize| ((n * 7919 % 101) as f64 / 101.0 - 0.5) * 0.02;
        let mut old: Waters = [[[0.0; TOGETHER]; 3]; 3];
        let mut new = old;
        for (n, (atom, axis, water)) in (0..72).map(|n| (n, (n / 24, n / 8 % 3, n % 8))) {
            old[atom][axis][water] = still[atom][axis];
            new[atom][axis][water] = still[atom][axis] + shake(n);
        }
        let of = |all: &Waters, water: usize| {
            all.map(|atom| Vec3::new(atom[0][water], atom[1][water], atom[2][water]))
        };
        for set in InstructionSet::available() {
            let (mut settled, mut constrained) = (new, new);
            // SAFETY: the set is one this processor has.
            unsafe {
                (Rigid::new(set).positions)(&triangle, &old, &mut settled);
                (Rigid::new(set).rates)(&triangle, &old, &mut constrained);
            }
            for water in 0..TOGETHER {
                let (before, after) = (of(&old, water), of(&new, water));
                let places = triangle.positions(before, after);
                let change = triangle.rates(before, after, [0.0; 3]).0;
                for atom in 0..3 {
                    let off = (of(&settled, water)[atom] - places[atom]).norm();
                    assert!(off < 1e-15, "{set:?} {water}: {off}");
                    let off = (of(&constrained, water)[atom] - after[atom] - change[atom]).norm();
                    assert!(off < 1e-15, "{set:?} {water}: {off}");
                }
            }
        }
    }
}
