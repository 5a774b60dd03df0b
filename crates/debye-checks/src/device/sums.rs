//! Sums and extremes.

use super::{Place, Wrong};
use debye_gpu::primitives::Reduce;

pub(super) fn sums(place: &mut Place<'_>) -> Result<(), Wrong> {
    let device = place.device;
    let stream = device.stream()?;
    let (mut out, mut flag) = (device.zeros::<u64>(1)?, device.zeros::<u32>(1)?);
    for n in place.lengths() {
        let reduce = Reduce::new(device, n)?;
        let whole: Vec<i64> = (0..n).map(|_| place.random.next().cast_signed()).collect();
        let want = whole.iter().fold(0_i64, |sum, x| sum.wrapping_add(*x));
        reduce.sum(&stream, device.upload(&whole)?.all(), out.all_mut())?;
        place.expect("whole numbers", &stream.download(&out)?, &[want.cast_unsigned()])?;

        let scale = (1_u64 << 40) as f64;
        let double: Vec<f64> = (0..n).map(|_| place.random.real() * 1000.0).collect();
        let fixed = |x: f64| (x * scale).round_ties_even() as i64;
        let want = double.iter().fold(0_i64, |sum, x| sum.wrapping_add(fixed(*x)));
        let from = device.upload(&double)?;
        reduce.sum_fixed_f64(&stream, from.all(), scale, out.all_mut(), flag.all_mut())?;
        place.expect("double", &stream.download(&out)?, &[want.cast_unsigned()])?;
        let single: Vec<f32> = double.iter().map(|x| *x as f32).collect();
        let want = single
            .iter()
            .fold(0_i64, |sum, x| sum.wrapping_add(fixed(f64::from(*x))));
        let from = device.upload(&single)?;
        reduce.sum_fixed_f32(&stream, from.all(), scale, out.all_mut(), flag.all_mut())?;
        place.expect("single", &stream.download(&out)?, &[want.cast_unsigned()])?;
        place.expect("nothing is too large", &stream.download(&flag)?, &[0])?;
    }
    let reduce = Reduce::new(device, 100)?;
    for bad in [f64::NAN, f64::INFINITY, -1e300, 5e18] {
        let mut values = vec![1.0; 100];
        values[37] = bad;
        stream.fill(flag.all_mut(), 0)?;
        reduce.sum_fixed_f64(
            &stream,
            device.upload(&values)?.all(),
            1.0,
            out.all_mut(),
            flag.all_mut(),
        )?;
        place.expect("what does not fit is noticed", &stream.download(&flag)?, &[1])?;
    }
    Ok(())
}

pub(super) fn segments(place: &mut Place<'_>) -> Result<(), Wrong> {
    let device = place.device;
    let stream = device.stream()?;
    for (i, n) in place.lengths().into_iter().enumerate() {
        let reduce = Reduce::new(device, n)?;
        let values: Vec<i64> = (0..n).map(|_| place.random.next().cast_signed()).collect();
        // Lengths from none to many; also one segment of everything.
        let longest = [3, 40, 5000, 1][i % 4];
        let mut starts = vec![0_u32];
        while starts.len() < 2 || (i % 5 != 0 && (starts[starts.len() - 1] as usize) < n) {
            let last = starts[starts.len() - 1] as usize;
            let next = if i % 5 == 0 {
                n
            } else {
                last + place.random.below(longest + 1) + usize::from(longest == 1)
            };
            starts.push(next.min(n) as u32);
        }
        let mut out = device.zeros::<i64>(starts.len() - 1)?;
        let (x, from) = (device.upload(&values)?, device.upload(&starts)?);
        reduce.sum_segments(&stream, x.all(), from.all(), out.all_mut())?;
        let sum = |w: &[u32]| {
            let part = &values[w[0] as usize..w[1] as usize];
            part.iter().fold(0_i64, |sum, x| sum.wrapping_add(*x))
        };
        let want: Vec<i64> = starts.windows(2).map(sum).collect();
        place.expect(&format!("{n} values"), &stream.download(&out)?, &want)?;
    }
    Ok(())
}

/// The tree that the kernel makes.
fn tree(x: &[f64]) -> f64 {
    let leaf = |tile: &[f64]| {
        let mut sums = [0.0; 256];
        for (i, x) in tile.iter().enumerate() {
            sums[i % 256] += x;
        }
        let mut half = 128;
        while half > 0 {
            for i in 0..half {
                sums[i] += sums[i + half];
            }
            half /= 2;
        }
        sums[0]
    };
    let mut level: Vec<f64> = x.chunks(2048).map(leaf).collect();
    while level.len() > 1 {
        level = level.chunks(2048).map(leaf).collect();
    }
    level.first().copied().unwrap_or(0.0)
}

pub(super) fn ordered(place: &mut Place<'_>) -> Result<(), Wrong> {
    let device = place.device;
    let stream = device.stream()?;
    let mut out = device.zeros::<f64>(1)?;
    let mut lengths = place.lengths();
    if place.extent == super::Extent::Full {
        lengths.push(2048 * 2048 + 1);
    }
    for n in lengths {
        let mut reduce = Reduce::new(device, n)?;
        let values: Vec<f64> = (0..n)
            .map(|_| place.random.real() * 2_f64.powi(place.random.below(60) as i32))
            .collect();
        reduce.sum_ordered(&stream, device.upload(&values)?.all(), out.all_mut())?;
        let got = stream.download(&out)?[0];
        place.expect(
            &format!("{n} values, bit for bit"),
            &[got.to_bits()],
            &[tree(&values).to_bits()],
        )?;
    }
    Ok(())
}

pub(super) fn extremes(place: &mut Place<'_>) -> Result<(), Wrong> {
    let device = place.device;
    let stream = device.stream()?;
    for n in place.lengths() {
        let mut reduce = Reduce::new(device, n)?;
        let bits: Vec<u32> = (0..n).map(|_| place.random.next() as u32).collect();
        macro_rules! check {
            ($values:expr, $least:expr, $most:expr) => {{
                let found = reduce.extremes(&stream, device.upload(&$values)?.all())?;
                let got: Vec<_> = found.map(|e| (e.least, e.most)).into_iter().collect();
                let want: Vec<_> = $values
                    .iter()
                    .copied()
                    .reduce($least)
                    .zip($values.iter().copied().reduce($most))
                    .into_iter()
                    .collect();
                place.expect(&format!("{n} values"), &got, &want)?;
            }};
        }
        check!(bits, u32::min, u32::max);
        let signed: Vec<i32> = bits.iter().map(|x| x.cast_signed()).collect();
        check!(signed, i32::min, i32::max);
        let single: Vec<f32> = signed.iter().map(|x| *x as f32 * 1e-3).collect();
        check!(single, f32::min, f32::max);
        let double: Vec<f64> = signed.iter().map(|x| f64::from(*x) * 1e-100).collect();
        check!(double, f64::min, f64::max);
        if n > 0 {
            let mut double = double;
            let at = place.random.below(n);
            double[at] = f64::NAN;
            let found = reduce.extremes(&stream, device.upload(&double)?.all())?;
            let nan = found.is_some_and(|e| e.least.is_nan() && e.most.is_nan());
            place.expect("NaN is not lost", &[nan], &[true])?;
        }
    }
    Ok(())
}
