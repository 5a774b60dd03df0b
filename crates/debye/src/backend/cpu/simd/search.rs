//! The search of a run of places for those within a radius, per instruction set.

use std::ops::Range;

use super::InstructionSet;
use crate::expr::Vec3;

/// Appends to a list the places of a run that are close to a point.
#[derive(Clone, Copy, Debug)]
pub struct Search(InstructionSet);

impl Search {
    /// The search for an instruction set, which must be one this processor has.
    pub fn new(set: InstructionSet) -> Self {
        Self(if InstructionSet::available().contains(&set) {
            set
        } else {
            InstructionSet::Portable
        })
    }

    /// Appends every place of the runs within √`radius2` of `own`, except the place `skip`.
    #[inline]
    pub fn append(
        self,
        places: [&[f32]; 3],
        runs: &[Range<usize>],
        own: Vec3<f32>,
        radius2: f32,
        skip: u32,
        found: &mut Vec<u32>,
    ) {
        let most = places[0].len().min(places[1].len()).min(places[2].len());
        assert!(runs.iter().all(|run| run.end <= most));
        found.reserve(runs.iter().map(Range::len).sum::<usize>() + 16);
        match self.0 {
            // SAFETY: `new` checked the instruction set, the lines above the bounds.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 => unsafe { avx512(places, runs, own, radius2, skip, found) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 => unsafe { avx2(places, runs, own, radius2, skip, found) },
            _ => runs
                .iter()
                .for_each(|run| portable(places, run.clone(), own, radius2, skip, found)),
        }
    }
}

#[inline(always)]
fn portable(
    places: [&[f32]; 3],
    run: Range<usize>,
    own: Vec3<f32>,
    radius2: f32,
    skip: u32,
    found: &mut Vec<u32>,
) {
    for j in run {
        let d = [own.x - places[0][j], own.y - places[1][j], own.z - places[2][j]];
        if d[0] * d[0] + d[1] * d[1] + d[2] * d[2] < radius2 && j as u32 != skip {
            found.push(j as u32);
        }
    }
}

/// # Safety
/// Needs AVX2; the runs inside `places`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2(
    places: [&[f32]; 3],
    runs: &[Range<usize>],
    own: Vec3<f32>,
    radius2: f32,
    skip: u32,
    found: &mut Vec<u32>,
) {
    use std::arch::x86_64::*;
    let axis = |k: usize, j: usize, own: f32| unsafe {
        _mm256_sub_ps(_mm256_set1_ps(own), _mm256_loadu_ps(places[k].as_ptr().add(j)))
    };
    for run in runs {
        let whole = run.start + run.len() / 8 * 8;
        for j in (run.start..whole).step_by(8) {
            let (x, y, z) = (axis(0, j, own.x), axis(1, j, own.y), axis(2, j, own.z));
            let r2 = _mm256_fmadd_ps(x, x, _mm256_fmadd_ps(y, y, _mm256_mul_ps(z, z)));
            let mut mask =
                _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_LT_OQ>(r2, _mm256_set1_ps(radius2))) as u32;
            while mask != 0 {
                let place = j as u32 + mask.trailing_zeros();
                mask &= mask - 1;
                if place != skip {
                    found.push(place);
                }
            }
        }
        portable(places, whole..run.end, own, radius2, skip, found);
    }
}

/// # Safety
/// Needs AVX-512; the runs inside `places`; room for them and a vector more in `found`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,popcnt")]
unsafe fn avx512(
    places: [&[f32]; 3],
    runs: &[Range<usize>],
    own: Vec3<f32>,
    radius2: f32,
    skip: u32,
    found: &mut Vec<u32>,
) {
    use std::arch::x86_64::*;
    let (x0, y0, z0) = (
        _mm512_set1_ps(own.x),
        _mm512_set1_ps(own.y),
        _mm512_set1_ps(own.z),
    );
    let limit = _mm512_set1_ps(radius2);
    let skip = _mm512_set1_epi32(skip as i32);
    let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let out = found.as_mut_ptr();
    let mut length = found.len();
    for run in runs {
        let mut j = run.start;
        while j < run.end {
            let left = run.end - j;
            let valid: __mmask16 = if left >= 16 { 0xffff } else { (1 << left) - 1 };
            // SAFETY: lanes beyond the run are masked; `found` has room for all runs.
            unsafe {
                let axis = |k: usize, own: __m512| {
                    _mm512_sub_ps(own, _mm512_maskz_loadu_ps(valid, places[k].as_ptr().add(j)))
                };
                let (x, y, z) = (axis(0, x0), axis(1, y0), axis(2, z0));
                let r2 = _mm512_fmadd_ps(x, x, _mm512_fmadd_ps(y, y, _mm512_mul_ps(z, z)));
                let place = _mm512_add_epi32(_mm512_set1_epi32(j as i32), lanes);
                let near = _mm512_mask_cmp_ps_mask::<_CMP_LT_OQ>(valid, r2, limit);
                let near = _mm512_mask_cmpneq_epi32_mask(near, place, skip);
                // Compressing in a register and storing a whole vector is quicker than a masked store.
                _mm512_storeu_si512(out.add(length).cast(), _mm512_maskz_compress_epi32(near, place));
                length += near.count_ones() as usize;
            }
            j += 16;
        }
    }
    // SAFETY: that many were written.
    unsafe { found.set_len(length) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_finds_the_same() {
        let n = 1003;
        let axis = |a: u32| -> Vec<f32> {
            (0..n)
                .map(|i: u32| (i.wrapping_mul(a) % 997) as f32 / 100.0)
                .collect()
        };
        let (x, y, z) = (axis(7919), axis(104_729), axis(1_299_709));
        let places = [&x[..], &y[..], &z[..]];
        for run in [0..1003, 5..21, 17..18, 100..100, 990..1003] {
            let mut expected = Vec::new();
            portable(
                places,
                run.clone(),
                Vec3::new(x[10], y[10], z[10]),
                20.0,
                10,
                &mut expected,
            );
            for set in InstructionSet::available() {
                let mut found = vec![42];
                Search::new(set).append(
                    places,
                    std::slice::from_ref(&run),
                    Vec3::new(x[10], y[10], z[10]),
                    20.0,
                    10,
                    &mut found,
                );
                assert_eq!(found[1..], expected[..], "{set:?} {run:?}");
            }
        }
    }
}
