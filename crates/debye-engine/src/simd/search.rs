//! The search of runs of places for those within a radius of a few others, per instruction set.

use std::ops::Range;

use super::InstructionSet;

/// Finds the places that are close to a few others.
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
}

/// Places near a few members, and near which of them: bit k of a place's mask for member k.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Near {
    /// The places.
    pub places: Vec<u32>,
    /// One mask for each.
    pub masks: Vec<u32>,
}

impl Near {
    fn clear(&mut self, room: usize) {
        self.places.clear();
        self.masks.clear();
        self.places.reserve(room);
        self.masks.reserve(room);
    }

    #[inline]
    fn push(&mut self, place: usize, mask: u32) {
        self.places.push(place as u32);
        self.masks.push(mask);
    }
}

impl Search {
    /// How many members a search is best made for.
    pub fn members(self) -> usize {
        match self.0 {
            InstructionSet::Avx512 => 16,
            InstructionSet::Avx2 | InstructionSet::Portable => 8,
        }
    }

    /// Puts into `near` every place of the runs within √`radius2` of a run of at most 32 places, its members.
    #[inline]
    pub fn cluster(
        self,
        places: [&[f32]; 3],
        runs: &[Range<usize>],
        members: Range<usize>,
        radius2: f32,
        near: &mut Near,
    ) {
        let most = places[0].len().min(places[1].len()).min(places[2].len());
        assert!(members.end <= most && runs.iter().all(|run| run.end <= most));
        near.clear(runs.iter().map(Range::len).sum::<usize>() + 16);
        match self.0 {
            // SAFETY: `new` checked the instruction set, the lines above the bounds and the room.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 if members.len() <= 16 => unsafe {
                cluster_avx512(places, runs, members, radius2, near)
            },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 if members.len() <= 8 => unsafe {
                cluster_avx2(places, runs, members, radius2, near)
            },
            _ => cluster_portable(places, runs, members, radius2, near),
        }
    }

    /// Sorts places into groups, in the same order within each; those whose masks are empty drop out.
    pub fn by_group(self, near: &Near, group_of: &[u32], groups: &mut [Near]) {
        assert!(near.places.len() == near.masks.len());
        for group in groups.iter_mut() {
            group.clear(near.places.len() + 16);
        }
        match self.0 {
            // SAFETY: `new` checked the instruction set, the lines above the lengths and the room.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 => unsafe { by_group_avx512(near, group_of, groups) },
            _ => {
                for (&place, &mask) in near.places.iter().zip(&near.masks) {
                    if mask != 0 {
                        groups[group_of[place as usize] as usize].push(place as usize, mask);
                    }
                }
            }
        }
    }

    /// Puts into `found` the index of every place whose number ends in one that is marked: bit n of `marked` for ends n.
    pub fn marked(self, places: &[u32], numbers: &[u32], marked: &[u32; 32], found: &mut Vec<u32>) {
        found.clear();
        match self.0 {
            // SAFETY: `new` checked the instruction set.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 => unsafe { marked_avx512(places, numbers, marked, found) },
            _ => {
                for (at, &place) in (0..).zip(places) {
                    let number = numbers[place as usize];
                    if marked[number as usize / 32 % 32] >> (number % 32) & 1 == 1 {
                        found.push(at);
                    }
                }
            }
        }
    }

    /// Replaces every index by what the table has there.
    pub fn look_up(self, indices: &mut [u32], table: &[u32]) {
        match self.0 {
            // SAFETY: `new` checked the instruction set.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 => unsafe { look_up_avx512(indices, table) },
            _ => indices
                .iter_mut()
                .for_each(|index| *index = table[*index as usize]),
        }
    }

    /// Appends the places that are near any of some members, one bit for each.
    #[inline]
    pub fn of_members(self, near: &Near, members: u32, found: &mut Vec<u32>) {
        assert!(near.places.len() == near.masks.len());
        found.reserve(near.places.len() + 16);
        match self.0 {
            // SAFETY: `new` checked the instruction set, the lines above the lengths and the room.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 => unsafe { of_members_avx512(near, members, found) },
            _ => {
                for (&place, mask) in near.places.iter().zip(&near.masks) {
                    if mask & members != 0 {
                        found.push(place);
                    }
                }
            }
        }
    }
}

/// Smallest and largest coordinate of the members along each axis.
#[inline(always)]
fn corners(places: [&[f32]; 3], members: Range<usize>) -> [(f32, f32); 3] {
    places.map(|axis| {
        axis[members.clone()]
            .iter()
            .fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), &x| {
                (low.min(x), high.max(x))
            })
    })
}

fn cluster_portable(
    places: [&[f32]; 3],
    runs: &[Range<usize>],
    members: Range<usize>,
    radius2: f32,
    near: &mut Near,
) {
    let corners = corners(places, members.clone());
    for j in runs.iter().cloned().flatten() {
        let gap = |k: usize| {
            let (x, (low, high)) = (places[k][j], corners[k]);
            (low - x).max(x - high).max(0.0)
        };
        if gap(0) * gap(0) + gap(1) * gap(1) + gap(2) * gap(2) >= radius2 {
            continue;
        }
        let close = |i: usize| {
            let d = |k: usize| places[k][i] - places[k][j];
            u32::from(d(0) * d(0) + d(1) * d(1) + d(2) * d(2) < radius2)
        };
        let mask = members
            .clone()
            .enumerate()
            .fold(0, |mask, (k, i)| mask | close(i) << k);
        if mask != 0 {
            near.push(j, mask);
        }
    }
}

/// # Safety
/// Needs AVX2; the runs and at most 8 members inside `places`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,popcnt")]
unsafe fn cluster_avx2(
    places: [&[f32]; 3],
    runs: &[Range<usize>],
    members: Range<usize>,
    radius2: f32,
    near: &mut Near,
) {
    use std::arch::x86_64::*;
    let limit = _mm256_set1_ps(radius2);
    let zero = _mm256_setzero_ps();
    let corners = corners(places, members.clone());
    // Lanes without a member are out of everyone's reach.
    let own = places.map(|axis| {
        let mut lanes = [f32::INFINITY; 8];
        lanes[..members.len()].copy_from_slice(&axis[members.clone()]);
        // SAFETY: eight numbers.
        unsafe { _mm256_loadu_ps(lanes.as_ptr()) }
    });
    let square = |x, y, z| _mm256_fmadd_ps(x, x, _mm256_fmadd_ps(y, y, _mm256_mul_ps(z, z)));
    let mut test = |j: usize| {
        let d = |k: usize| _mm256_sub_ps(own[k], _mm256_set1_ps(places[k][j]));
        let close = _mm256_cmp_ps::<_CMP_LT_OQ>(square(d(0), d(1), d(2)), limit);
        let mask = _mm256_movemask_ps(close) as u32;
        if mask != 0 {
            near.push(j, mask);
        }
    };
    for run in runs {
        let whole = run.start + run.len() / 8 * 8;
        for j in (run.start..whole).step_by(8) {
            let gap = |k: usize| {
                // SAFETY: the run is inside the places.
                let x = unsafe { _mm256_loadu_ps(places[k].as_ptr().add(j)) };
                let (low, high) = (_mm256_set1_ps(corners[k].0), _mm256_set1_ps(corners[k].1));
                _mm256_max_ps(zero, _mm256_max_ps(_mm256_sub_ps(low, x), _mm256_sub_ps(x, high)))
            };
            let close = _mm256_cmp_ps::<_CMP_LT_OQ>(square(gap(0), gap(1), gap(2)), limit);
            let mut mask = _mm256_movemask_ps(close) as u32;
            while mask != 0 {
                test(j + mask.trailing_zeros() as usize);
                mask &= mask - 1;
            }
        }
        (whole..run.end).for_each(&mut test);
    }
}

/// # Safety
/// Needs AVX-512; the runs and at most 16 members inside `places`; room for the runs and a vector more in `near`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,popcnt")]
unsafe fn cluster_avx512(
    places: [&[f32]; 3],
    runs: &[Range<usize>],
    members: Range<usize>,
    radius2: f32,
    near: &mut Near,
) {
    use std::arch::x86_64::*;
    let limit = _mm512_set1_ps(radius2);
    let zero = _mm512_setzero_ps();
    let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let first = |n: usize| -> __mmask16 { if n >= 16 { 0xffff } else { (1 << n) - 1 } };
    let present = first(members.len());
    // Lanes without a member are out of everyone's reach.
    let own = places.map(|axis| {
        // SAFETY: lanes beyond the members are masked.
        unsafe {
            _mm512_mask_loadu_ps(
                _mm512_set1_ps(f32::INFINITY),
                present,
                axis.as_ptr().add(members.start),
            )
        }
    });
    let low = own.map(|x| _mm512_set1_ps(_mm512_mask_reduce_min_ps(present, x)));
    let high = own.map(|x| _mm512_set1_ps(_mm512_mask_reduce_max_ps(present, x)));
    let square = |x, y, z| _mm512_fmadd_ps(x, x, _mm512_fmadd_ps(y, y, _mm512_mul_ps(z, z)));
    let (out, masks) = (near.places.as_mut_ptr(), near.masks.as_mut_ptr());
    let mut length = 0;
    for run in runs {
        let mut j = run.start;
        while j < run.end {
            let valid = first(run.end - j);
            let gap = |k: usize| {
                // SAFETY: lanes beyond the run are masked.
                let x = unsafe { _mm512_maskz_loadu_ps(valid, places[k].as_ptr().add(j)) };
                _mm512_max_ps(
                    zero,
                    _mm512_max_ps(_mm512_sub_ps(low[k], x), _mm512_sub_ps(x, high[k])),
                )
            };
            let close = _mm512_mask_cmp_ps_mask::<_CMP_LT_OQ>(valid, square(gap(0), gap(1), gap(2)), limit);
            let place = _mm512_add_epi32(_mm512_set1_epi32(j as i32), lanes);
            // SAFETY: there is room for all runs and a vector.
            unsafe {
                _mm512_storeu_si512(out.add(length).cast(), _mm512_maskz_compress_epi32(close, place));
            }
            length += close.count_ones() as usize;
            j += 16;
        }
    }
    // What is near the box, one by one against the members.
    let mut kept = 0;
    for at in 0..length {
        // SAFETY: that many were written, all inside the places; what is kept is written behind what is read.
        unsafe {
            let j = *out.add(at);
            let d = |k: usize| _mm512_sub_ps(own[k], _mm512_set1_ps(*places[k].get_unchecked(j as usize)));
            let close = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(square(d(0), d(1), d(2)), limit);
            *out.add(kept) = j;
            *masks.add(kept) = u32::from(close);
            kept += usize::from(close != 0);
        }
    }
    // SAFETY: that many were written.
    unsafe {
        near.places.set_len(kept);
        near.masks.set_len(kept);
    }
}

/// What a table has at some of sixteen indices, zero for the others.
///
/// # Safety
/// Needs AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn at_avx512(
    table: &[u32],
    which: std::arch::x86_64::__mmask16,
    indices: std::arch::x86_64::__m512i,
) -> std::arch::x86_64::__m512i {
    use std::arch::x86_64::*;
    let end = _mm512_set1_epi32(table.len().min(i32::MAX as usize) as i32);
    let inside = _mm512_mask_cmplt_epu32_mask(which, indices, end);
    assert!(inside == which, "an index beyond the end of a table");
    // SAFETY: all of these are inside.
    unsafe {
        _mm512_mask_i32gather_epi32::<4>(_mm512_setzero_si512(), inside, indices, table.as_ptr().cast())
    }
}

/// # Safety
/// Needs AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn look_up_avx512(indices: &mut [u32], table: &[u32]) {
    use std::arch::x86_64::*;
    for indices in indices.chunks_mut(16) {
        let valid = ((1_u32 << indices.len()) - 1) as __mmask16;
        // SAFETY: lanes beyond the end are masked.
        unsafe {
            let at = _mm512_maskz_loadu_epi32(valid, indices.as_ptr().cast());
            _mm512_mask_storeu_epi32(indices.as_mut_ptr().cast(), valid, at_avx512(table, valid, at));
        }
    }
}

/// # Safety
/// Needs AVX-512; as many masks as places; room for them and a vector more in every group.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,popcnt")]
unsafe fn by_group_avx512(near: &Near, group_of: &[u32], groups: &mut [Near]) {
    use std::arch::x86_64::*;
    for (number, group) in (0..).zip(groups) {
        let wanted = _mm512_set1_epi32(number);
        let (places, masks) = (group.places.as_mut_ptr(), group.masks.as_mut_ptr());
        let mut length = 0;
        for at in (0..near.places.len()).step_by(16) {
            let left = near.places.len() - at;
            let valid: __mmask16 = if left >= 16 { 0xffff } else { (1 << left) - 1 };
            // SAFETY: lanes beyond the end are masked; there is room for all and a vector.
            unsafe {
                let place = _mm512_maskz_loadu_epi32(valid, near.places.as_ptr().add(at).cast());
                let mask = _mm512_maskz_loadu_epi32(valid, near.masks.as_ptr().add(at).cast());
                let group = at_avx512(group_of, valid, place);
                let some = _mm512_test_epi32_mask(mask, mask);
                let own = _mm512_mask_cmpeq_epi32_mask(some, group, wanted);
                _mm512_storeu_si512(places.add(length).cast(), _mm512_maskz_compress_epi32(own, place));
                _mm512_storeu_si512(masks.add(length).cast(), _mm512_maskz_compress_epi32(own, mask));
                length += own.count_ones() as usize;
            }
        }
        // SAFETY: that many were written.
        unsafe {
            group.places.set_len(length);
            group.masks.set_len(length);
        }
    }
}

/// # Safety
/// Needs AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,popcnt")]
unsafe fn marked_avx512(places: &[u32], numbers: &[u32], marked: &[u32; 32], found: &mut Vec<u32>) {
    use std::arch::x86_64::*;
    // SAFETY: thirty-two words.
    let words = unsafe {
        [
            _mm512_loadu_si512(marked.as_ptr().cast()),
            _mm512_loadu_si512(marked.as_ptr().add(16).cast()),
        ]
    };
    for at in (0..places.len()).step_by(16) {
        let left = places.len() - at;
        let valid: __mmask16 = if left >= 16 { 0xffff } else { (1 << left) - 1 };
        // SAFETY: lanes beyond the end are masked.
        let number = unsafe {
            let place = _mm512_maskz_loadu_epi32(valid, places.as_ptr().add(at).cast());
            at_avx512(numbers, valid, place)
        };
        // The permutation looks at five bits of the word's number, the shift at five of the bit's.
        let word = _mm512_permutex2var_epi32(words[0], _mm512_srli_epi32::<5>(number), words[1]);
        let low = _mm512_and_epi32(number, _mm512_set1_epi32(31));
        let bit = _mm512_srlv_epi32(word, low);
        let mut hits = _mm512_mask_test_epi32_mask(valid, bit, _mm512_set1_epi32(1));
        while hits != 0 {
            found.push(at as u32 + hits.trailing_zeros());
            hits &= hits - 1;
        }
    }
}

/// # Safety
/// Needs AVX-512; as many masks as places; room for them and a vector more in `found`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,popcnt")]
unsafe fn of_members_avx512(near: &Near, members: u32, found: &mut Vec<u32>) {
    use std::arch::x86_64::*;
    let bits = _mm512_set1_epi32(members as i32);
    let (places, masks) = (near.places.as_ptr(), near.masks.as_ptr());
    let out = found.as_mut_ptr();
    let mut length = found.len();
    for at in (0..near.places.len()).step_by(16) {
        let left = near.places.len() - at;
        let valid: __mmask16 = if left >= 16 { 0xffff } else { (1 << left) - 1 };
        // SAFETY: lanes beyond the end are masked; there is room for all places and a vector.
        unsafe {
            let of = _mm512_maskz_loadu_epi32(valid, masks.add(at).cast());
            let place = _mm512_maskz_loadu_epi32(valid, places.add(at).cast());
            let close = _mm512_test_epi32_mask(of, bits);
            _mm512_storeu_si512(out.add(length).cast(), _mm512_maskz_compress_epi32(close, place));
            length += close.count_ones() as usize;
        }
    }
    // SAFETY: that many were written.
    unsafe { found.set_len(length) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some_places() -> [Vec<f32>; 3] {
        [7919, 104_729, 1_299_709].map(|a: u32| {
            (0..1003)
                .map(|i: u32| (i.wrapping_mul(a) % 997) as f32 / 100.0)
                .collect()
        })
    }

    #[test]
    fn every_set_finds_the_same() {
        let [x, y, z] = some_places();
        let places = [&x[..], &y[..], &z[..]];
        let runs = [0..100, 100..100, 107..433, 500..1003];
        for members in [0..4, 8..10, 13..14, 992..1000, 987..1003] {
            let close = |i: usize, j: usize| {
                let d = |k: usize| places[k][i] - places[k][j];
                d(0) * d(0) + d(1) * d(1) + d(2) * d(2) < 5.0
            };
            let all = || runs.iter().cloned().flatten();
            for set in InstructionSet::available() {
                let (search, mut near) = (Search::new(set), Near::default());
                search.cluster(places, &runs, members.clone(), 5.0, &mut near);
                let any = |&j: &usize| members.clone().any(|i| close(i, j));
                assert!(all().filter(any).eq(near.places.iter().map(|&j| j as usize)));
                let group_of: Vec<u32> = (0..1003).map(|k| k * 31 % 3).collect();
                let mut groups = vec![Near::default(); 3];
                near.masks[0] = 0;
                search.by_group(&near, &group_of, &mut groups);
                for (g, group) in groups.iter().enumerate() {
                    let all = near.places.iter().copied().zip(near.masks.iter().copied());
                    let own = all.filter(|p| p.1 != 0 && group_of[p.0 as usize] as usize == g);
                    assert!(own.eq(group.places.iter().copied().zip(group.masks.iter().copied())));
                }
                let numbers: Vec<u32> = (0..1003).map(|k| k * 7 % 5000).collect();
                let mut marked = [0; 32];
                for end in [0, 31, 32, 500, 517, 1023] {
                    marked[end / 32] |= 1_u32 << (end % 32);
                }
                let mut hits = vec![9];
                search.marked(&near.places, &numbers, &marked, &mut hits);
                let ends = |at: &u32| {
                    let end = numbers[near.places[*at as usize] as usize] as usize % 1024;
                    marked[end / 32] >> (end % 32) & 1 == 1
                };
                assert!((0..near.places.len() as u32).filter(ends).eq(hits));
                let mut looked_up = near.places.clone();
                search.look_up(&mut looked_up, &numbers);
                let number = |&place: &u32| numbers[place as usize];
                assert!(near.places.iter().map(number).eq(looked_up));
                search.cluster(places, &runs, members.clone(), 5.0, &mut near);
                for (k, i) in members.clone().enumerate() {
                    let mut found = vec![42];
                    search.of_members(&near, 1 << k, &mut found);
                    let expected = all().filter(|&j| close(i, j)).map(|j| j as u32);
                    assert!(expected.eq(found[1..].iter().copied()), "{set:?} {members:?} {k}");
                    let (next, mut found) = (members.end.min(i + 2), Vec::new());
                    search.of_members(&near, 0b11 << k, &mut found);
                    let near_either = |&j: &usize| (i..next).any(|i| close(i, j));
                    assert!(all().filter(near_either).eq(found.iter().map(|&j| j as usize)));
                }
            }
        }
    }
}
