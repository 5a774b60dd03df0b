//! Scans, sorts, compaction.

use super::{Extent, Place, Random, Wrong};
use debye_gpu::primitives::{Compact, CountingSort, Scan, Tiling};
use debye_studies::{RadixKey, RadixSort};

/// The exclusive sums, wrapping, and the sum of all.
fn plain_scan(input: &[u32]) -> (Vec<u32>, u32) {
    let mut sum = 0_u32;
    let one = |&x: &u32| {
        let before = sum;
        sum = sum.wrapping_add(x);
        before
    };
    let before = input.iter().map(one).collect();
    (before, sum)
}

fn scan(place: &mut Place<'_>, scan: &mut Scan, input: &[u32], shift: usize) -> Result<(), Wrong> {
    let device = place.device;
    let stream = device.stream()?;
    // Everything lies `shift` elements off, to be unaligned.
    let padded: Vec<u32> = std::iter::repeat_n(7, shift)
        .chain(input.iter().copied())
        .collect();
    let from = device.upload(&padded)?;
    let mut to = device.zeros::<u32>(padded.len() + 1)?;
    let mut total = device.zeros::<u32>(1)?;
    let range = shift..padded.len();
    let (want, sum) = plain_scan(input);
    // Twice: the second launch finds what the first left behind.
    for _ in 0..2 {
        stream.fill(to.all_mut(), 0xff)?;
        let out = to.part_mut(range.clone());
        scan.exclusive(&stream, from.part(range.clone()), out, total.all_mut())?;
        let what = format!("{:?}, {} elements, offset {shift}", scan.tiling(), input.len());
        place.expect(&what, &stream.download_part(to.part(range.clone()))?, &want)?;
        place.expect(&what, &stream.download(&total)?, &[sum])?;
        let beyond = stream.download_part(to.part(padded.len()..padded.len() + 1))?;
        place.expect("nothing is written beyond the end", &beyond, &[u32::MAX])?;
    }
    Ok(())
}

/// Numbers of several kinds.
fn numbers(random: &mut Random, n: usize, kind: usize) -> Vec<u32> {
    (0..n)
        .map(|_| match kind % 4 {
            0 => random.next() as u32,
            1 => u32::MAX,
            2 => random.below(3) as u32,
            _ => 0,
        })
        .collect()
}

pub(super) fn scan_tilings(place: &mut Place<'_>) -> Result<(), Wrong> {
    let device = place.device;
    for &tiling in Tiling::ALL {
        let small_card = device.info().shared_per_block < 220 * 1024;
        if small_card && tiling.stages > 0 && tiling.tile() > 4096 {
            continue;
        }
        let tile = tiling.tile();
        let rounds = 2 * device.info().multiprocessors as usize;
        let mut lengths = vec![1, tile - 1, tile, tile + 1, 3 * tile + 17];
        match place.extent {
            Extent::Watched | Extent::Smallest => lengths.truncate(if tile > 4096 { 1 } else { 5 }),
            Extent::Small if tile > 4096 => {}
            // More tiles than blocks: several rounds.
            _ => lengths.extend([rounds * tile, 3 * rounds * tile + 5, 5 * rounds * tile]),
        }
        let most = lengths.iter().copied().max().unwrap_or(0);
        let mut ready = Scan::with_tiling(device, most, tiling)?;
        for (i, &n) in lengths.iter().enumerate() {
            if n > ready.capacity() {
                continue;
            }
            let input = numbers(&mut place.random, n, i);
            scan(place, &mut ready, &input, i % 3)?;
        }
    }
    Ok(())
}

pub(super) fn scan_lengths(place: &mut Place<'_>) -> Result<(), Wrong> {
    let mut lengths = place.lengths();
    if place.extent == Extent::Full {
        lengths.extend([(1 << 24) + 7, 1 << 27, (1 << 27) + 12_345]);
    }
    for (i, n) in lengths.into_iter().enumerate() {
        let mut ready = Scan::new(place.device, n)?;
        let input = numbers(&mut place.random, n, i);
        scan(place, &mut ready, &input, 0)?;
        if n > 100 && n < 1 << 22 {
            // A smaller input with the scratch memory of a larger one.
            scan(place, &mut ready, &input[..n / 3], 1)?;
        }
    }
    Ok(())
}

/// Keys of several kinds below a limit, also such that put everything in one bucket.
fn keys(random: &mut Random, n: usize, limit: usize, kind: usize) -> Vec<u32> {
    let one = |i: usize, random: &mut Random| match kind % 6 {
        0 => random.below(limit),
        1 => limit - 1,
        2 => i * limit / n.max(1),
        3 => limit - 1 - i * limit / n.max(1),
        // A few long buckets among short ones.
        4 if random.below(2) == 0 => random.below(limit.min(3)),
        4 => random.below(limit),
        _ => (i * 7919) % limit,
    };
    (0..n).map(|i| one(i, random) as u32).collect()
}

pub(super) fn counting_sort(place: &mut Place<'_>) -> Result<(), Wrong> {
    let device = place.device;
    let stream = device.stream()?;
    for (i, n) in place.lengths().into_iter().enumerate() {
        let buckets = match i % 4 {
            0 => 1,
            1 => n / 4 + 1,
            2 => 2 * n + 3,
            _ => 300,
        };
        let mut sort = CountingSort::new(device, n, buckets)?;
        let kinds = match n {
            _ if place.extent <= Extent::Smallest => i % 6..i % 6 + 1,
            50_000.. => i % 5..i % 5 + 2,
            _ => 0..6,
        };
        for kind in kinds {
            let keys = keys(&mut place.random, n, buckets, kind);
            let from = device.upload(&keys)?;
            let mut order = device.zeros::<u32>(n)?;
            let mut starts = device.zeros::<u32>(buckets + 1)?;
            sort.sort(&stream, from.all(), order.all_mut(), &mut starts)?;
            let what = format!("{n} items, {buckets} buckets, keys of kind {kind}");
            let mut want: Vec<u32> = (0..n as u32).collect();
            want.sort_by_key(|&i| keys[i as usize]);
            place.expect(&what, &stream.download(&order)?, &want)?;
            let mut counts = vec![0; buckets];
            keys.iter().for_each(|&key| counts[key as usize] += 1);
            let (mut want, total) = plain_scan(&counts);
            want.push(total);
            place.expect(&what, &stream.download(&starts)?, &want)?;
        }
        if n > 0 {
            let bad = device.upload(&vec![buckets as u32; n])?;
            let (mut order, mut starts) = (device.zeros::<u32>(n)?, device.zeros::<u32>(buckets + 1)?);
            sort.sort(&stream, bad.all(), order.all_mut(), &mut starts)?;
            place.expect("bad keys are counted", &[sort.bad_keys(&stream)?], &[n as u32])?;
        }
    }
    Ok(())
}

fn radix_sort<K: RadixKey + Ord + std::fmt::Debug>(
    place: &mut Place<'_>,
    widen: impl Fn(u64) -> K,
) -> Result<(), Wrong> {
    let device = place.device;
    let stream = device.stream()?;
    for (i, n) in place.lengths().into_iter().enumerate() {
        let mut sort = RadixSort::<K>::new(device, n)?;
        let bits = if i % 3 == 0 { 11 } else { K::BITS };
        let limit = if bits < 32 { 1 << bits } else { usize::MAX };
        let values: Vec<u32> = (0..n).map(|_| place.random.next() as u32).collect();
        let keys: Vec<K> = (0..n)
            .map(|j| match i % 4 {
                0 | 1 => place.random.below(limit) as u64,
                2 => ((n - j) % limit) as u64,
                _ => 5 + place.random.below(3) as u64,
            })
            .map(&widen)
            .collect();
        let (mut k, mut v) = (device.upload(&keys)?, device.upload(&values)?);
        sort.sort(&stream, k.all_mut(), v.all_mut(), bits)?;
        let mut want: Vec<(K, u32)> = keys.into_iter().zip(values).collect();
        want.sort_by_key(|pair| pair.0);
        let got = stream.download(&k)?.into_iter().zip(stream.download(&v)?);
        place.expect(
            &format!("{n} pairs, {bits} bits"),
            &got.collect::<Vec<_>>(),
            &want,
        )?;
    }
    Ok(())
}

pub(super) fn radix_sort_u32(place: &mut Place<'_>) -> Result<(), Wrong> {
    radix_sort(place, |x| x as u32)
}

pub(super) fn radix_sort_u64(place: &mut Place<'_>) -> Result<(), Wrong> {
    radix_sort(place, |x| x)
}

pub(super) fn compaction(place: &mut Place<'_>) -> Result<(), Wrong> {
    let device = place.device;
    let stream = device.stream()?;
    for (i, n) in place.lengths().into_iter().enumerate() {
        let mut compact = Compact::new(device, n)?;
        let values: Vec<u32> = (0..n).map(|_| place.random.next() as u32).collect();
        let share = [2, 1, 100, 1_000_000][i % 4];
        let marks: Vec<u32> = (0..n)
            .map(|_| u32::from(place.random.below(share) == 0))
            .collect();
        let (from, chosen) = (device.upload(&values)?, device.upload(&marks)?);
        let (mut out, mut count) = (device.zeros::<u32>(n)?, device.zeros::<u32>(1)?);
        compact.values(&stream, from.all(), chosen.all(), out.all_mut(), count.all_mut())?;
        let kept = |list: &[u32]| -> Vec<u32> {
            let marked = list.iter().zip(&marks).filter(|(_, mark)| **mark == 1);
            marked.map(|(x, _)| *x).collect()
        };
        let want = kept(&values);
        let what = format!("{n} values");
        place.expect(&what, &stream.download(&count)?, &[want.len() as u32])?;
        place.expect(&what, &stream.download_part(out.part(0..want.len()))?, &want)?;
        compact.indices(&stream, chosen.all(), out.all_mut(), count.all_mut())?;
        let want = kept(&(0..n as u32).collect::<Vec<_>>());
        place.expect(&what, &stream.download_part(out.part(0..want.len()))?, &want)?;
    }
    Ok(())
}
