//! Which kernel fits: every skeleton for every instruction set, picked at run time. Unit tests of this crate do with
//! the portable ones, for a shorter build; those in `crates/debye/tests` run all of them.

use super::terms::{Any, One, Plain, Terms};
use super::visit::visit;
use crate::neighbors::ListBlock;
use crate::potentials::{
    PairAdapter, PairForces, PairJob, PairKernel, PairKernels, PairPotential, PairSums, TOGETHER,
};
use crate::simd::{Array, InstructionSet, Lanes};
#[cfg(all(target_arch = "x86_64", not(test)))]
use crate::simd::{F32x8, F32x16, F64x4, F64x8};
use crate::truncation::{Truncation, TruncationKind};

/// The kernel of an instruction set, or the portable one in its place.
macro_rules! entry {
    ($name:ident, $features:literal, $lanes:ident, $portable:ty) => {
        #[cfg_attr(all(target_arch = "x86_64", not(test)), target_feature(enable = $features))]
        unsafe fn $name<K: Terms, const U: bool, const E: bool>(
            job: &PairJob<<$portable as Lanes>::Coordinate, <$portable as Lanes>::Element>,
            block: &ListBlock,
            to: PairForces<<$portable as Lanes>::Element>,
        ) -> [PairSums; TOGETHER] {
            #[cfg(not(all(target_arch = "x86_64", not(test))))]
            type $lanes = $portable;
            // SAFETY: the caller's promise.
            unsafe { visit::<K, $lanes, U, E>(job, block, to) }
        }
    };
}
entry!(avx512_single, "avx512f,avx512dq,avx512vl,avx2,fma", F32x16, Array<f32, 4>);
entry!(avx512_double, "avx512f,avx512dq,avx512vl,avx2,fma", F64x8, Array<f64, 2>);
entry!(avx2_single, "avx2,fma", F32x8, Array<f32, 4>);
entry!(avx2_double, "avx2,fma", F64x4, Array<f64, 2>);

/// Which of a potential's kernels fits. Every variant takes time to compile, so there are few: tuned potentials have
/// kernels without energies, for one set of parameters, and for plain truncation; of all others there is one.
macro_rules! choose {
    ($set:expr, $truncation:expr, $uniform:expr, $energy:expr, $avx512:ident, $avx2:ident, $lanes:ty) => {{
        let plain = $truncation.kind() == TruncationKind::Shifted;
        match ($set, $uniform, $energy) {
            (InstructionSet::Avx512, true, false) if P::TUNED && plain => {
                $avx512::<One<P, Plain>, true, false>
            }
            (InstructionSet::Avx512, false, false) if P::TUNED && plain => {
                $avx512::<One<P, Plain>, false, false>
            }
            (InstructionSet::Avx512, _, false) if P::TUNED => $avx512::<One<P, Any>, false, false>,
            (InstructionSet::Avx512, _, _) => $avx512::<One<P, Any>, false, true>,
            (InstructionSet::Avx2, true, false) if P::TUNED && plain => $avx2::<One<P, Plain>, true, false>,
            (InstructionSet::Avx2, false, false) if P::TUNED && plain => $avx2::<One<P, Plain>, false, false>,
            (InstructionSet::Avx2, _, false) if P::TUNED => $avx2::<One<P, Any>, false, false>,
            (InstructionSet::Avx2, _, _) => $avx2::<One<P, Any>, false, true>,
            _ => visit::<One<P, Any>, $lanes, false, true>,
        }
    }};
}

impl<P: PairPotential> PairKernels for PairAdapter<P> {
    fn single(
        &self,
        set: InstructionSet,
        t: Truncation,
        uniform: bool,
        energy: bool,
    ) -> PairKernel<i32, f32, ListBlock> {
        choose!(set, t, uniform, energy, avx512_single, avx2_single, Array<f32, 4>)
    }
    fn double(
        &self,
        set: InstructionSet,
        t: Truncation,
        uniform: bool,
        energy: bool,
    ) -> PairKernel<f64, f64, ListBlock> {
        choose!(set, t, uniform, energy, avx512_double, avx2_double, Array<f64, 2>)
    }
}

/// Kernels of two terms in one pass: only of the couple that most charged systems have, for the build's sake.
pub(super) mod together {
    use super::super::terms::Both;
    use super::*;
    use crate::forces::PairTerm;
    use crate::potentials::{CoulombEwald, LennardJones};

    macro_rules! together {
        ($name:ident, $coordinate:ty, $element:ty, $avx512:ident, $avx2:ident) => {
            /// The kernel of Lennard-Jones and the short-range part of an Ewald sum.
            pub fn $name(
                first: &PairTerm,
                second: &PairTerm,
                set: InstructionSet,
                energy: bool,
            ) -> Option<PairKernel<$coordinate, $element, ListBlock>> {
                let names = [first, second].map(|term| term.family.name());
                let ends = [first, second].map(|term| term.truncation);
                let plain = ends[1].kind() == TruncationKind::Shifted;
                if names != [LennardJones::NAME, CoulombEwald::NAME] || !plain {
                    return None;
                }
                macro_rules! with {
                    ($t:ty) => {
                        match (set, energy) {
                            (InstructionSet::Avx512, false) => {
                                Some($avx512::<Both<LennardJones, $t, CoulombEwald, Plain>, false, false>)
                            }
                            (InstructionSet::Avx512, true) => {
                                Some($avx512::<Both<LennardJones, $t, CoulombEwald, Plain>, false, true>)
                            }
                            (InstructionSet::Avx2, false) => {
                                Some($avx2::<Both<LennardJones, $t, CoulombEwald, Plain>, false, false>)
                            }
                            (InstructionSet::Avx2, true) => {
                                Some($avx2::<Both<LennardJones, $t, CoulombEwald, Plain>, false, true>)
                            }
                            _ => None,
                        }
                    };
                }
                match ends[0].kind() {
                    TruncationKind::Shifted => with!(Plain),
                    TruncationKind::Switched => with!(Any),
                    TruncationKind::ForceShifted | TruncationKind::QuadraticShifted => None,
                }
            }
        };
    }
    together!(single, i32, f32, avx512_single, avx2_single);
    together!(double, f64, f64, avx512_double, avx2_double);
}
