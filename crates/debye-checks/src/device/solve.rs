//! Transforms of meshes against plain sums in double precision, and potentials, energies and virials.

use std::f64::consts::TAU;

use rayon::prelude::*;

use super::{Extent, Place, Wrong};
use debye::engines::cuda::mesh::{MeshCell, MeshNumber, Word};
use debye::expr::Mat3;
use debye::forces::pme::{Basis, Influence};
use debye_gpu::transforms::{Across, Cut, Lines};
use debye_gpu::{CudaError, Device};
use debye_studies::{Fft, Solver, cufft_version};

type Complex = [f64; 2];

/// Lengths that cover every radix and many products.
const LENGTHS: [u32; 47] = [
    4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 16, 20, 21, 25, 27, 28, 30, 32, 35, 36, 40, 42, 45, 48, 49, 50, 54, 56,
    60, 63, 64, 70, 72, 75, 80, 81, 84, 90, 96, 100, 105, 108, 112, 120, 125, 126, 128,
];

/// Transforms one axis by its definition.
fn plain_transform(data: &mut [Complex], size: [usize; 3], axis: usize, sign: f64) {
    let n = size[axis];
    let stride: usize = size[axis + 1..].iter().product();
    let twiddles: Vec<Complex> = (0..n)
        .map(|k| {
            let (sin, cos) = (TAU * k as f64 / n as f64).sin_cos();
            [cos, sign * sin]
        })
        .collect();
    let mut line = vec![[0.0; 2]; n];
    for first in (0..data.len()).filter(|i| (i / stride).is_multiple_of(n)) {
        for (k, x) in line.iter_mut().enumerate() {
            *x = data[first + k * stride];
        }
        for k in 0..n {
            let mut sum = [0.0; 2];
            for (j, x) in line.iter().enumerate() {
                let w = twiddles[j * k % n];
                sum[0] += x[0] * w[0] - x[1] * w[1];
                sum[1] += x[0] * w[1] + x[1] * w[0];
            }
            data[first + k * stride] = sum;
        }
    }
}

/// Random charges, as a mesh holds them.
fn charges<R: MeshNumber>(place: &mut Place<'_>, size: [usize; 3]) -> Vec<R> {
    let points = size.iter().product::<usize>();
    (0..points).map(|_| R::rounded(place.random.real())).collect()
}

fn wide<R: MeshNumber>(mesh: &[R]) -> Vec<Complex> {
    mesh.iter().map(|x| [x.wide(), 0.0]).collect()
}

/// What a solve must give.
struct Expected {
    potential: Vec<f64>,
    sums: [f64; 7],
}

/// A loop over the full spectrum.
fn expected(
    mesh: &[Complex],
    size: [usize; 3],
    at: impl Fn([usize; 3]) -> f64,
    virial: impl Fn([usize; 3]) -> [f64; 6],
) -> Expected {
    let mut data = mesh.to_vec();
    (0..3).for_each(|axis| plain_transform(&mut data, size, axis, -1.0));
    let mut sums = [0.0; 7];
    for (i, q) in data.iter_mut().enumerate() {
        let index = [i / (size[1] * size[2]), i / size[2] % size[1], i % size[2]];
        let g = at(index);
        let e = 0.5 * g * (q[0] * q[0] + q[1] * q[1]);
        sums[0] += e;
        for (sum, factor) in sums[1..].iter_mut().zip(virial(index)) {
            *sum += e * factor;
        }
        *q = q.map(|x| x * g);
    }
    (0..3).for_each(|axis| plain_transform(&mut data, size, axis, 1.0));
    Expected {
        potential: data.iter().map(|x| x[0]).collect(),
        sums,
    }
}

impl Place<'_> {
    /// Counts a case and compares with the largest value in mind.
    fn close(
        &mut self,
        what: &str,
        got: &[f64],
        want: &[f64],
        scale: f64,
        allowed: f64,
    ) -> Result<(), Wrong> {
        self.count(what, got, want)?;
        let error = |i: usize| (got[i] - want[i]).abs() / scale;
        let wrong = (0..got.len()).find(|&i| !matches!(error(i), e if e <= allowed));
        wrong.map_or(Ok(()), |i| {
            Err(Wrong::Result(format!(
                "{what}: value {i} of {} is {:e}, expected {:e}; off by {:.1e} of {scale:.3e}, allowed {allowed:.0e}",
                got.len(),
                got[i],
                want[i],
                error(i)
            )))
        })
    }
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most: f64, x| most.max(x.abs()))
}

/// Rounding in a transform, against the largest value.
fn allowed<R: MeshNumber>() -> f64 {
    if R::DOUBLE { 1e-13 } else { 3e-6 }
}

fn unit_cell(device: &Device) -> Result<debye_gpu::Buffer<MeshCell>, CudaError> {
    let unit = Mat3::diagonal([1.0; 3].into());
    device.upload(&[MeshCell::new(unit, 1.0, 1.0)])
}

/// Transforms a mesh along z and y, then all of it times a table and back.
fn transforms<R: MeshNumber>(place: &mut Place<'_>, size: [u32; 3], fft: Fft) -> Result<(), Wrong> {
    let device = place.device;
    let stream = device.stream()?;
    let n = size.map(|n| n as usize);
    let what = format!("{size:?} {fft}{}", if R::DOUBLE { ", double" } else { "" });
    // Smooth, the same for opposite reciprocal vectors, and different along every axis.
    let value = |i: [usize; 3]| {
        let m: [f64; 3] = std::array::from_fn(|a| i[a].min(n[a] - i[a]) as f64 / n[a] as f64);
        1.0 / (1.0 + 3.0 * m[0] + 5.0 * m[1] * m[1] + 7.0 * m[2])
    };
    let influence = Influence::new(
        Mat3::diagonal([1.0; 3].into()),
        1.0,
        1.0,
        n,
        Basis::BSpline(4),
        true,
    );
    let mut solve = Solver::<R>::new(device, &influence, fft)?;
    let half = n[2] / 2 + 1;
    let mut table = Vec::with_capacity(n[0] * n[1] * half);
    for x in 0..n[0] {
        for y in 0..n[1] {
            table.extend((0..half).map(|z| value([x, y, z])));
        }
    }
    solve.set_table(&stream, &table)?;
    let mesh = charges::<R>(place, n);
    let mut on_device = device.upload(&mesh)?;
    let cell = unit_cell(device)?;
    if let Solver::Own(own) = &mut solve {
        // Nothing is done while a word is not zero, with sums or without.
        let word = device.upload(&[1_u32])?;
        let mut sums = device.upload(&[7.0_f64; 7])?;
        let rest = Word::of(&word, 0);
        for with_sums in [true, false] {
            let sums = with_sums.then(|| sums.all_mut());
            own.forward(&stream, on_device.all(), Some(&rest))?;
            own.middle(&stream, cell.all(), with_sums, Some(&rest))?;
            own.backward(&stream, on_device.all_mut(), sums, Some(&rest))?;
        }
        place.expect(&format!("{what}: sums rest"), &stream.download(&sums)?, &[7.0; 7])?;
        let (left, spectrum) = (stream.download(&on_device)?, stream.download(own.spectrum().0)?);
        let same = wide(&left) == wide(&mesh) && spectrum.iter().all(|x| x.wide() == 0.0);
        place.expect(&format!("{what}: rests"), &[same], &[true])?;
        own.forward(&stream, on_device.all(), None)?;
        let (spectrum, stride) = own.spectrum();
        let spectrum = stream.download(spectrum)?;
        let mut data = wide(&mesh);
        plain_transform(&mut data, n, 2, -1.0);
        plain_transform(&mut data, n, 1, -1.0);
        let mut want = Vec::new();
        let mut got = Vec::new();
        for (i, x) in data.iter().enumerate().filter(|(i, _)| i % n[2] < half) {
            let at = i / (n[1] * n[2]) * stride + 2 * (i / n[2] % n[1] * half + i % n[2]);
            want.extend(*x);
            got.extend(spectrum[at..at + 2].iter().map(|x| x.wide()));
        }
        let scale = largest(&want);
        place.close(
            &format!("{what}: spectrum of planes"),
            &got,
            &want,
            scale,
            allowed::<R>(),
        )?;
    }
    solve.queue(&stream, on_device.all_mut(), cell.all(), None)?;
    let got: Vec<f64> = stream.download(&on_device)?.iter().map(|x| x.wide()).collect();
    let want = expected(&wide(&mesh), n, value, |_| [0.0; 6]).potential;
    let scale = largest(&want);
    place.close(&what, &got, &want, scale, allowed::<R>())
}

/// A cut with blocks of few threads, so that they go round several times.
fn narrow(planes: bool, radix: u32) -> Fft {
    let lines = |lines, threads| Lines { lines, threads };
    Fft::Own(Cut {
        radix,
        across: if planes {
            Across::Planes(64)
        } else {
            Across::Rows {
                pairs: lines(3, 32),
                strip: lines(5, 32),
            }
        },
        tile: lines(5, 64),
    })
}

/// Compiles side by side what is then taken from the cache: most of the time of a card goes there.
fn compile_ahead(device: &Device, sizes: &[[u32; 3]], fft: Fft) {
    if !device.info().emulated {
        sizes.par_iter().for_each(|&size| {
            // What fails here fails again where it is used.
            let _ = Solver::<f32>::new(device, &influence(size, CELLS[0], Basis::Cubic, true), fft);
        });
    }
}

pub(super) fn lengths(place: &mut Place<'_>) -> Result<(), Wrong> {
    let few: &[[u32; 3]] = match place.extent {
        Extent::Watched | Extent::Smallest => &[[16, 4, 15], [14, 9, 4]],
        // All radices from 2 to 16, and products of two.
        Extent::Small => &[
            [16, 4, 27],
            [14, 9, 50],
            [35, 6, 64],
            [81, 5, 24],
            [20, 7, 42],
            [45, 8, 96],
        ],
        Extent::Full => &[],
    };
    let mut all = few.to_vec();
    if place.extent == Extent::Full {
        let middle = [4, 5, 6, 7, 8, 9, 10];
        let pairs = LENGTHS.chunks(2).enumerate();
        all.extend(pairs.map(|(i, pair)| [pair[0], middle[i % 7], pair[pair.len() - 1]]));
    }
    compile_ahead(place.device, &all, narrow(true, 16));
    for size in all {
        transforms::<f32>(place, size, narrow(true, 16))?;
    }
    // Three and more stages.
    transforms::<f64>(place, [27, 16, 40], narrow(false, 5))?;
    if place.extent > Extent::Smallest {
        transforms::<f32>(place, [36, 27, 64], narrow(true, 4))?;
    }
    Ok(())
}

pub(super) fn meshes(place: &mut Place<'_>) -> Result<(), Wrong> {
    let sizes: &[[u32; 3]] = match place.extent {
        Extent::Watched | Extent::Smallest => &[[6, 5, 7]],
        Extent::Small => &[[12, 10, 14], [5, 7, 9]],
        Extent::Full => &[
            [12, 10, 14],
            [64, 64, 64],
            [108, 81, 45],
            [54, 128, 75],
            [160, 48, 192],
        ],
    };
    for &size in sizes {
        let info = place.device.info();
        let rule = [false, true].map(|double| Cut::rule(info, size, double));
        let [single, double] = rule;
        transforms::<f32>(place, size, Fft::Own(single?))?;
        transforms::<f32>(place, size, narrow(false, 16))?;
        if place.extent > Extent::Smallest {
            transforms::<f64>(place, size, Fft::Own(double?))?;
            transforms::<f64>(place, size, narrow(true, 16))?;
        }
        if cufft_version(place.device).is_ok() {
            transforms::<f32>(place, size, Fft::Library)?;
            transforms::<f64>(place, size, Fft::Library)?;
        }
    }
    let error = Solver::<f32>::new(
        place.device,
        &influence([4, 11, 8], CELLS[0], Basis::Cubic, false),
        narrow(true, 16),
    );
    let refused = error.err().map(|error| error.to_string()).unwrap_or_default();
    place.expect(
        "11 points are refused",
        &[refused.contains("2, 3, 5 and 7")],
        &[true],
    )
}

/// Lower triangles of vectors a, b, c.
const CELLS: [[f64; 6]; 2] = [[7.0, 0.0, 8.0, 0.0, 0.0, 9.5], [8.0, 1.1, 7.5, -0.7, 1.9, 9.0]];
const ALPHA: f64 = 0.8;

fn reciprocal(cell: [f64; 6]) -> (Mat3<f64>, f64) {
    let [a, bx, by, cx, cy, cz] = cell;
    let rows = Mat3::from_rows([a, 0.0, 0.0].into(), [bx, by, 0.0].into(), [cx, cy, cz].into());
    (rows.inverse().transpose(), rows.determinant())
}

fn influence(size: [u32; 3], cell: [f64; 6], basis: Basis, optimal: bool) -> Influence {
    let (reciprocal, volume) = reciprocal(cell);
    Influence::new(
        reciprocal,
        volume,
        ALPHA,
        size.map(|n| n as usize),
        basis,
        optimal,
    )
}

/// A solve of this cell, and of the other one where the function follows the cell.
fn solves<R: MeshNumber>(
    place: &mut Place<'_>,
    size: [u32; 3],
    first: usize,
    optimal: bool,
    fft: Fft,
) -> Result<(), Wrong> {
    let (device, n) = (place.device, size.map(|n| n as usize));
    let stream = device.stream()?;
    let basis = if optimal { Basis::Cubic } else { Basis::BSpline(5) };
    let mut solve = Solver::<R>::new(device, &influence(size, CELLS[first], basis, optimal), fft)?;
    let mesh = charges::<R>(place, n);
    let from = device.upload(&mesh)?;
    let (mut to, mut sums) = (device.zeros::<R>(mesh.len())?, device.zeros::<f64>(7)?);
    let mut cell = device.zeros::<MeshCell>(1)?;
    let graph = stream.capture(|stream| {
        let (to, sums) = (to.all_mut(), Some(sums.all_mut()));
        solve.queue_apart(stream, from.all(), to, cell.all(), sums)
    })?;
    let others: &[usize] = if optimal { &[0] } else { &[0, 1] };
    for which in others.iter().map(|other| (first + other) % 2) {
        let (reciprocal, volume) = reciprocal(CELLS[which]);
        let exact = influence(size, CELLS[which], basis, optimal);
        stream.upload(&[MeshCell::new(reciprocal, volume, ALPHA)], cell.all_mut())?;
        stream.replay(&graph)?;
        let (potential, found) = (stream.download(&to)?, stream.download(&sums)?);
        let what = format!(
            "{size:?} {fft}, cell {which}{}{}",
            if optimal { ", optimal" } else { "" },
            if R::DOUBLE { ", double" } else { "" }
        );
        let want = expected(&wide(&mesh), n, |i| exact.at(i), |i| exact.virial_factor(i));
        let wide: Vec<f64> = potential.iter().map(|x| x.wide()).collect();
        let scale = largest(&want.potential);
        place.close(&what, &wide, &want.potential, scale, allowed::<R>())?;
        let name = format!("{what}: energy and virial");
        place.close(&name, &found, &want.sums, want.sums[0], 3.0 * allowed::<R>())?;
        // Again, in place, with and without sums.
        stream.replay(&graph)?;
        let bytes = |values: &[R]| bytemuck::cast_slice::<R, u8>(values).to_vec();
        place.expect(
            &format!("{what}: same bits"),
            &bytes(&stream.download(&to)?),
            &bytes(&potential),
        )?;
        let bits = |values: &[f64]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        place.expect(
            &format!("{name}: same bits"),
            &bits(&stream.download(&sums)?),
            &bits(&found),
        )?;
        let mut own = device.upload(&mesh)?;
        solve.queue(&stream, own.all_mut(), cell.all(), None)?;
        let own: Vec<f64> = stream.download(&own)?.iter().map(|x| x.wide()).collect();
        place.close(
            &format!("{what}: in place"),
            &own,
            &want.potential,
            scale,
            allowed::<R>(),
        )?;
    }
    Ok(())
}

pub(super) fn potentials(place: &mut Place<'_>) -> Result<(), Wrong> {
    solves::<f32>(place, [8, 6, 10], 0, false, narrow(true, 16))?;
    solves::<f64>(place, [5, 6, 7], 1, true, narrow(false, 16))?;
    if place.extent > Extent::Smallest {
        solves::<f64>(place, [9, 12, 10], 1, false, narrow(true, 8))?;
        solves::<f32>(place, [20, 8, 15], 1, true, narrow(true, 8))?;
        solves::<f32>(place, [18, 20, 16], 1, false, narrow(false, 16))?;
        solves::<f64>(place, [8, 6, 10], 0, true, narrow(true, 16))?;
    }
    let sizes: &[[u32; 3]] = if place.extent == Extent::Full {
        &[[64, 64, 64], [108, 54, 81], [40, 144, 125]]
    } else {
        &[]
    };
    for &size in sizes {
        let info = place.device.info();
        let rule = [false, true].map(|double| Cut::rule(info, size, double));
        let [single, double] = rule;
        solves::<f32>(place, size, 1, false, Fft::Own(single?))?;
        solves::<f64>(place, size, 0, false, Fft::Own(double?))?;
        if cufft_version(place.device).is_ok() {
            solves::<f32>(place, size, 1, false, Fft::Library)?;
            solves::<f64>(place, size, 0, true, Fft::Library)?;
        }
    }
    Ok(())
}
