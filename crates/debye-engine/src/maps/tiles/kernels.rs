//! The inner loops of the sums over charges, for every instruction set.

#![allow(unsafe_code)]

use super::{Block, LANES, MapReal, Points, ROWS};
use crate::expr::{self, Real};
use crate::forces::multilevel::Softening;
use crate::simd::{Array, InstructionSet, Lanes};
#[cfg(target_arch = "x86_64")]
use crate::simd::{F32x8, F32x16, F64x4, F64x8};

/// What a unit charge makes at a distance. Nearer than the exclusion radius d, 1/r is 1/d; what is subtracted from it comes
/// back from a grid at the distance as it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kernel {
    /// 1/r.
    Coulomb {
        /// d.
        exclusion: f64,
    },
    /// 1/r − γ(r/a)/a up to r = a.
    Softened {
        /// d.
        exclusion: f64,
        /// a.
        reach: f64,
        /// γ.
        softening: Softening,
    },
    /// 1/r − erf(αr)/r up to a cut-off.
    Screened {
        /// d.
        exclusion: f64,
        /// The cut-off.
        reach: f64,
        /// α.
        alpha: f64,
    },
}

impl Kernel {
    pub(crate) fn exclusion(&self) -> f64 {
        match self {
            Self::Coulomb { exclusion }
            | Self::Softened { exclusion, .. }
            | Self::Screened { exclusion, .. } => *exclusion,
        }
    }

    /// How far it reaches.
    pub(crate) fn reach(&self) -> f64 {
        match self {
            Self::Coulomb { .. } => f64::INFINITY,
            Self::Softened { reach, .. } | Self::Screened { reach, .. } => *reach,
        }
    }

    /// With lengths in another unit.
    pub(crate) fn in_units_of(mut self, unit: f64) -> Self {
        match &mut self {
            Self::Coulomb { exclusion } => *exclusion /= unit,
            Self::Softened { exclusion, reach, .. } => {
                *exclusion /= unit;
                *reach /= unit;
            }
            Self::Screened {
                exclusion,
                reach,
                alpha,
            } => {
                *exclusion /= unit;
                *reach /= unit;
                *alpha *= unit;
            }
        }
        self
    }

    /// The numbers of its formula: coefficients of γ(r/a)/a as a polynomial in r², or α.
    pub(crate) fn numbers(&self) -> [f64; 5] {
        match self {
            Self::Coulomb { .. } => [0.0; 5],
            Self::Softened { reach, softening, .. } => {
                let coefficients = softening.coefficients();
                std::array::from_fn(|k| coefficients[k] / reach.powi(2 * k as i32 + 1))
            }
            Self::Screened { alpha, .. } => [*alpha, 0.0, 0.0, 0.0, 0.0],
        }
    }

    /// Its value within reach, of the square of the distance, the inverse distance that is to be taken, and its numbers.
    pub(crate) fn value<R: Real>(&self, r2: R, inverse: R, numbers: [R; 5]) -> R {
        match self {
            Self::Coulomb { .. } => inverse,
            Self::Softened { softening, .. } => softened(r2, inverse, &numbers[..softening.terms()]),
            Self::Screened { .. } => screened(r2, inverse, numbers[0]),
        }
    }
}

/// 1/r less a polynomial in r².
#[inline(always)]
fn softened<R: Real>(r2: R, inverse: R, coefficients: &[R]) -> R {
    let (&last, rest) = coefficients.split_last().unwrap_or((&inverse, &[]));
    inverse - rest.iter().rev().fold(last, |sum, &c| sum.mul_add(r2, c))
}

/// 1/r less erf(αr)/r, in full precision also at r = 0.
fn screened<R: Real>(r2: R, inverse: R, alpha: R) -> R {
    let x = alpha * alpha * r2;
    let root = x.sqrt();
    // erf(√x)/√x for x < 1: Σ 2/√π (−x)^k/(k! (2k + 1)).
    let mut coefficient = std::f64::consts::FRAC_2_SQRT_PI;
    let coefficients: [f64; 17] = std::array::from_fn(|k| {
        if k > 0 {
            coefficient /= -(k as f64);
        }
        coefficient / (2 * k + 1) as f64
    });
    let series = coefficients
        .iter()
        .rev()
        .fold(R::lit(0.0), |sum, &c| sum.mul_add(x, R::lit(c)));
    let smooth = R::select_lt(x, R::lit(1.0), series, (R::lit(1.0) - root.erfc()) / root);
    inverse - smooth * alpha
}

/// A kernel with its numbers, as the loops call it.
trait Term: Copy {
    /// The square of the distance beyond which it is zero, if there is one.
    const ENDS: bool;
    fn reach2(&self) -> f64;
    fn exclusion2(&self) -> f64;
    /// Its value, of the square of the distance and of the same, no smaller than that of the exclusion radius.
    fn of<R: Real>(&self, r2: R, outside2: R) -> R;
    /// The same where the two may differ.
    #[inline(always)]
    fn near<R: Real>(&self, r2: R, outside2: R) -> R {
        self.of(r2, outside2)
    }
}

#[derive(Clone, Copy)]
struct Coulomb {
    exclusion2: f64,
}

impl Term for Coulomb {
    const ENDS: bool = false;
    fn reach2(&self) -> f64 {
        f64::INFINITY
    }
    fn exclusion2(&self) -> f64 {
        self.exclusion2
    }
    #[inline(always)]
    fn of<R: Real>(&self, _: R, outside2: R) -> R {
        outside2.inverse_sqrt()
    }
}

/// With so many coefficients of γ.
#[derive(Clone, Copy)]
struct Softened<const TERMS: usize> {
    exclusion2: f64,
    reach: f64,
    coefficients: [f64; 5],
}

impl<const TERMS: usize> Term for Softened<TERMS> {
    const ENDS: bool = true;
    fn reach2(&self) -> f64 {
        self.reach * self.reach
    }
    fn exclusion2(&self) -> f64 {
        self.exclusion2
    }
    #[inline(always)]
    fn of<R: Real>(&self, r2: R, outside2: R) -> R {
        let coefficients: [R; TERMS] = std::array::from_fn(|k| R::lit(self.coefficients[k]));
        softened(r2, outside2.inverse_sqrt(), &coefficients)
    }
}

#[derive(Clone, Copy)]
struct Screened {
    exclusion2: f64,
    reach: f64,
    alpha: f64,
}

impl Term for Screened {
    const ENDS: bool = true;
    fn reach2(&self) -> f64 {
        self.reach * self.reach
    }
    fn exclusion2(&self) -> f64 {
        self.exclusion2
    }
    #[inline(always)]
    fn of<R: Real>(&self, _: R, outside2: R) -> R {
        // To 3·10⁻⁸ of 1/r in either precision: far below what a mesh gives.
        expr::screened(false, outside2 * R::lit(self.alpha * self.alpha)) * R::lit(self.alpha)
    }
    #[inline(always)]
    fn near<R: Real>(&self, r2: R, outside2: R) -> R {
        // The mesh has erf(αr)/r at the distance as it is.
        let smooth = expr::smooth(r2 * R::lit(self.alpha * self.alpha)) * R::lit(self.alpha);
        outside2.inverse_sqrt() - smooth
    }
}

/// Adds the terms of a block of charges to the sums of a tile.
pub(in crate::maps) type Far<T> = unsafe fn(&Kernel, &Block<T>, &Points<T>, &mut [f64]);

/// The loops for one instruction set.
///
/// Each may be called only on a processor that has it.
pub(in crate::maps) struct Entries {
    pub(super) single: Far<f32>,
    pub(super) double: Far<f64>,
    pub(super) near: Far<f64>,
}

/// The term of a kernel in the loops.
#[inline(always)]
fn add<L, const NEAR: bool, const AT_ONCE: usize>(
    kernel: &Kernel,
    block: &Block<L::Element>,
    points: &Points<L::Element>,
    sums: &mut [f64],
) where
    L: Lanes<Element: MapReal>,
{
    let exclusion2 = kernel.exclusion().powi(2);
    match *kernel {
        Kernel::Coulomb { .. } => tile::<L, _, NEAR, AT_ONCE>(Coulomb { exclusion2 }, block, points, sums),
        Kernel::Softened { reach, softening, .. } => {
            let coefficients = kernel.numbers();
            macro_rules! with {
                ($terms:literal) => {{
                    let term = Softened::<$terms> {
                        exclusion2,
                        reach,
                        coefficients,
                    };
                    tile::<L, _, NEAR, AT_ONCE>(term, block, points, sums);
                }};
            }
            match softening {
                Softening::C2 => with!(3),
                Softening::C3 => with!(4),
                Softening::C4 => with!(5),
            }
        }
        Kernel::Screened { reach, alpha, .. } => {
            let term = Screened {
                exclusion2,
                reach,
                alpha,
            };
            tile::<L, _, NEAR, AT_ONCE>(term, block, points, sums);
        }
    }
}

#[inline(always)]
fn tile<L, K, const NEAR: bool, const AT_ONCE: usize>(
    term: K,
    block: &Block<L::Element>,
    points: &Points<L::Element>,
    sums: &mut [f64],
) where
    L: Lanes<Element: MapReal>,
    K: Term,
{
    let [rows, layers] = points.shape;
    for layer in 0..layers {
        for lane in (0..LANES).step_by(L::WIDTH) {
            let mut row = 0;
            while row < rows {
                let from = [lane, row, layer];
                row += match rows - row {
                    left if left >= AT_ONCE => group::<L, K, NEAR, AT_ONCE>(term, block, points, from, sums),
                    2.. => group::<L, K, NEAR, 2>(term, block, points, from, sums),
                    _ => group::<L, K, NEAR, 1>(term, block, points, from, sums),
                };
            }
        }
    }
}

/// The terms of `N` rows of one layer; gives N.
#[inline(always)]
fn group<L, K, const NEAR: bool, const N: usize>(
    term: K,
    block: &Block<L::Element>,
    points: &Points<L::Element>,
    [lane, row, layer]: [usize; 3],
    sums: &mut [f64],
) -> usize
where
    L: Lanes<Element: MapReal>,
    K: Term,
{
    let [at_lanes, at_rows, at_layers] = &points.at;
    let x = L::load(&at_lanes[lane..]);
    let y: [L; N] = std::array::from_fn(|k| L::splat(at_rows[row + k]));
    let z = L::splat(at_layers[layer]);
    let (reach2, exclusion2) = (L::lit(term.reach2()), L::lit(term.exclusion2()));
    let mut totals = [L::lit(0.0); N];
    let [lanes, rows, layers, charges] = &block.at;
    let box_lower = [at_lanes[lane].into(), at_rows[row].into()];
    let box_upper = [at_lanes[lane + L::WIDTH - 1].into(), at_rows[row + N - 1].into()];
    let at_layer: f64 = at_layers[layer].into();
    for i in 0..block.length {
        if K::ENDS {
            // Whether any of these points is within reach.
            let [a, b]: [f64; 2] = [lanes[i].into(), rows[i].into()];
            let outside = |k: usize, at: f64| (box_lower[k] - at).max(at - box_upper[k]).max(0.0);
            let c: f64 = at_layer - Into::<f64>::into(layers[i]);
            if outside(0, a).powi(2) + outside(1, b).powi(2) + c * c >= term.reach2() {
                continue;
            }
        }
        let (dx, dz) = (x - L::splat(lanes[i]), z - L::splat(layers[i]));
        let base = dx.mul_add(dx, dz * dz);
        let (along, charge) = (L::splat(rows[i]), L::splat(charges[i]));
        for k in 0..N {
            let dy = y[k] - along;
            let r2 = dy.mul_add(dy, base);
            let value = if NEAR {
                term.near(r2, r2.max(exclusion2))
            } else {
                term.of(r2, r2)
            };
            let value = if K::ENDS {
                L::keep(L::less(r2, reach2), value)
            } else {
                value
            };
            totals[k] = charge.mul_add(value, totals[k]);
        }
    }
    let mut line = [L::Element::default(); LANES];
    for (k, total) in totals.into_iter().enumerate() {
        total.store(&mut line);
        let to = &mut sums[(layer * ROWS + row + k) * LANES + lane..][..L::WIDTH];
        for (sum, part) in to.iter_mut().zip(line) {
            *sum += Into::<f64>::into(part);
        }
    }
    N
}

/// The loops compiled for one instruction set.
#[cfg(target_arch = "x86_64")]
macro_rules! of_set {
    ($module:ident, $features:literal, $singles:ty, $doubles:ty, $at_once:literal) => {
        mod $module {
            use super::*;
            #[target_feature(enable = $features)]
            unsafe fn single(kernel: &Kernel, block: &Block<f32>, points: &Points<f32>, sums: &mut [f64]) {
                add::<$singles, false, $at_once>(kernel, block, points, sums);
            }
            #[target_feature(enable = $features)]
            unsafe fn double(kernel: &Kernel, block: &Block<f64>, points: &Points<f64>, sums: &mut [f64]) {
                add::<$doubles, false, $at_once>(kernel, block, points, sums);
            }
            #[target_feature(enable = $features)]
            unsafe fn near(kernel: &Kernel, block: &Block<f64>, points: &Points<f64>, sums: &mut [f64]) {
                add::<$doubles, true, $at_once>(kernel, block, points, sums);
            }
            pub(super) const ALL: Entries = Entries {
                single,
                double,
                near,
            };
        }
    };
}
#[cfg(target_arch = "x86_64")]
of_set!(avx512, "avx512f,avx512dq,avx512vl,avx2,fma", F32x16, F64x8, 8);
#[cfg(target_arch = "x86_64")]
of_set!(avx2, "avx2,fma", F32x8, F64x4, 4);

/// The loops of a set, which this processor must have.
pub(super) fn entries(set: InstructionSet) -> Entries {
    match set {
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512 => avx512::ALL,
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => avx2::ALL,
        _ => Entries {
            single: add::<Array<f32, 4>, false, 4>,
            double: add::<Array<f64, 2>, false, 4>,
            near: add::<Array<f64, 2>, true, 4>,
        },
    }
}
