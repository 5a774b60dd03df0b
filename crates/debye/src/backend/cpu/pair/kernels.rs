//! Which kernel fits: every skeleton for every instruction set, picked at run time.

use super::super::simd::{Array, InstructionSet, Lanes};
#[cfg(target_arch = "x86_64")]
use super::super::simd::{F32x8, F32x16, F64x4, F64x8};
use super::visit::{visit, visit_clusters};
use super::{PairJob, PairSums};
use crate::expr::Vec3;
use crate::neighbors::{ClusterBlock, ListBlock};
use crate::potentials::{PairAdapter, PairPotential};
use crate::truncation::{Adapter, ForceShifted, Shifted, Switched, Truncation};

/// A kernel: adds forces of one block `B` of a list; returns sums if it is a kernel with energies.
///
/// # Safety
/// The processor must have the kernel's instruction set, every entry of the block must be inside `coordinates`
/// and `species`, and both must go on for a vector beyond the block's particles.
pub type PairKernel<C, E, B> = unsafe fn(&PairJob<C, E>, &B, &mut [Vec3<f64>]) -> PairSums;

/// Kernels of one potential, picked at run time: `uniform` if all pairs of species interact alike, `energy` if energies
/// are needed (they may be computed where none are). The forces of all variants are the same to the last bit.
pub trait PairKernels {
    /// In single precision over fixed-point coordinates.
    fn single(
        &self,
        set: InstructionSet,
        t: Truncation,
        uniform: bool,
        energy: bool,
    ) -> PairKernel<i32, f32, ListBlock>;
    /// In double precision.
    fn double(
        &self,
        set: InstructionSet,
        t: Truncation,
        uniform: bool,
        energy: bool,
    ) -> PairKernel<f64, f64, ListBlock>;
    /// Over clusters, in single precision. Only of tuned potentials.
    fn single_clusters(
        &self,
        set: InstructionSet,
        t: Truncation,
        uniform: bool,
        energy: bool,
    ) -> Option<PairKernel<i32, f32, ClusterBlock>>;
    /// Over clusters, in double precision.
    fn double_clusters(
        &self,
        set: InstructionSet,
        t: Truncation,
        uniform: bool,
        energy: bool,
    ) -> Option<PairKernel<f64, f64, ClusterBlock>>;
}

macro_rules! entry {
    ($name:ident, $clusters:ident, $features:literal, $lanes:ty) => {
        #[target_feature(enable = $features)]
        unsafe fn $name<P: PairPotential, T: Adapter, const U: bool, const E: bool>(
            job: &PairJob<<$lanes as Lanes>::Coordinate, <$lanes as Lanes>::Element>,
            block: &ListBlock,
            forces: &mut [Vec3<f64>],
        ) -> PairSums {
            // SAFETY: the caller's promise.
            unsafe { visit::<P, T, $lanes, U, E>(job, block, forces) }
        }

        #[target_feature(enable = $features)]
        unsafe fn $clusters<P: PairPotential, T: Adapter, const U: bool, const E: bool>(
            job: &PairJob<<$lanes as Lanes>::Coordinate, <$lanes as Lanes>::Element>,
            block: &ClusterBlock,
            forces: &mut [Vec3<f64>],
        ) -> PairSums {
            // SAFETY: the caller's promise.
            unsafe { visit_clusters::<P, T, $lanes, U, E>(job, block, forces) }
        }
    };
}
#[cfg(target_arch = "x86_64")]
entry!(
    avx512_single,
    avx512_single_clusters,
    "avx512f,avx512dq,avx512vl,avx2,fma",
    F32x16
);
#[cfg(target_arch = "x86_64")]
entry!(
    avx512_double,
    avx512_double_clusters,
    "avx512f,avx512dq,avx512vl,avx2,fma",
    F64x8
);
#[cfg(target_arch = "x86_64")]
entry!(avx2_single, avx2_single_clusters, "avx2,fma", F32x8);
#[cfg(target_arch = "x86_64")]
entry!(avx2_double, avx2_double_clusters, "avx2,fma", F64x4);

/// Which of a potential's kernels fits. Every variant takes time to compile, so only tuned potentials have those
/// without energies and for one set of parameters.
macro_rules! choose {
    ($set:expr, $truncation:expr, $uniform:expr, $energy:expr, $avx512:ident, $avx2:ident, $portable:ident, $lanes:ty) => {{
        macro_rules! with {
            ($t:ty) => {
                match ($set, $uniform, $energy) {
                    #[cfg(target_arch = "x86_64")]
                    (InstructionSet::Avx512, true, false) if P::TUNED => $avx512::<P, $t, true, false>,
                    #[cfg(target_arch = "x86_64")]
                    (InstructionSet::Avx512, false, false) if P::TUNED => $avx512::<P, $t, false, false>,
                    #[cfg(target_arch = "x86_64")]
                    (InstructionSet::Avx512, _, _) => $avx512::<P, $t, false, true>,
                    #[cfg(target_arch = "x86_64")]
                    (InstructionSet::Avx2, true, false) if P::TUNED => $avx2::<P, $t, true, false>,
                    #[cfg(target_arch = "x86_64")]
                    (InstructionSet::Avx2, false, false) if P::TUNED => $avx2::<P, $t, false, false>,
                    #[cfg(target_arch = "x86_64")]
                    (InstructionSet::Avx2, _, _) => $avx2::<P, $t, false, true>,
                    _ => $portable::<P, $t, $lanes, false, true>,
                }
            };
        }
        match $truncation {
            Truncation::Cut | Truncation::Shift => with!(Shifted),
            Truncation::ForceShift => with!(ForceShifted),
            Truncation::Switch { .. } => with!(Switched),
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
        choose!(set, t, uniform, energy, avx512_single, avx2_single, visit, Array<f32, 4>)
    }
    fn double(
        &self,
        set: InstructionSet,
        t: Truncation,
        uniform: bool,
        energy: bool,
    ) -> PairKernel<f64, f64, ListBlock> {
        choose!(set, t, uniform, energy, avx512_double, avx2_double, visit, Array<f64, 2>)
    }
    fn single_clusters(
        &self,
        set: InstructionSet,
        t: Truncation,
        uniform: bool,
        energy: bool,
    ) -> Option<PairKernel<i32, f32, ClusterBlock>> {
        if !P::TUNED {
            return None;
        }
        Some(
            choose!(set, t, uniform, energy, avx512_single_clusters, avx2_single_clusters, visit_clusters, Array<f32, 4>),
        )
    }
    fn double_clusters(
        &self,
        set: InstructionSet,
        t: Truncation,
        uniform: bool,
        energy: bool,
    ) -> Option<PairKernel<f64, f64, ClusterBlock>> {
        if !P::TUNED {
            return None;
        }
        Some(
            choose!(set, t, uniform, energy, avx512_double_clusters, avx2_double_clusters, visit_clusters, Array<f64, 2>),
        )
    }
}
