//! How fast a mesh is solved, kernel by kernel, and the choice that follows from it.

use rayon::prelude::*;

use crate::engines::cuda::speed::median;
use crate::expr::Mat3;
use crate::forces::pme::{Basis, Influence};
use debye_gpu::{CudaError, Device};

use super::solve::library_version;
use super::{Cut, Fft, MeshCell, MeshNumber, Part, Solve};

/// Repetitions inside a graph, so that gaps between launches do not count.
const REPETITIONS: usize = 20;

/// What was measured.
#[derive(Clone, Debug)]
pub struct Timed {
    /// How the mesh was transformed.
    pub fft: Fft,
    /// Seconds of a solve without sums.
    pub seconds: f64,
    /// Seconds of a solve with energy and virial; `None` where only the first was asked for.
    pub with_sums: Option<f64>,
    /// Seconds and least bytes of the parts, if they were asked for: forward, middle, backward.
    pub parts: Vec<(f64, usize)>,
}

impl Fft {
    /// The version of cuFFT, if it can be used on a device.
    pub fn library(device: &Device) -> Option<(u32, u32)> {
        library_version(device)
    }

    /// What is expected to be fastest on a device.
    pub fn rule<R: MeshNumber>(device: &Device, size: [u32; 3]) -> Result<Self, CudaError> {
        Ok(Self::Own(Cut::rule(device.info(), size, R::DOUBLE)?))
    }

    /// What is fastest on a device, and everything that was measured, the fastest first. Measure once and keep the choice:
    /// another one may round otherwise. An emulated device takes the rule.
    pub fn choose<R: MeshNumber>(device: &Device, size: [u32; 3]) -> Result<(Self, Vec<Timed>), CudaError> {
        if device.info().emulated {
            return Ok((Self::rule::<R>(device, size)?, Vec::new()));
        }
        let all = Self::candidates::<R>(device, size, false)?;
        let timed = measure::<R>(device, size, &all, false)?;
        let best = match timed.first() {
            Some(best) => best.fft,
            None => Self::rule::<R>(device, size)?,
        };
        Ok((best, timed))
    }

    /// What is worth measuring; `all` for more than a run waits for.
    pub fn candidates<R: MeshNumber>(
        device: &Device,
        size: [u32; 3],
        all: bool,
    ) -> Result<Vec<Self>, CudaError> {
        let cuts = Cut::candidates(device.info(), size, R::DOUBLE, all)?;
        let own = cuts.into_iter().map(Self::Own);
        let library = Self::library(device).map(|_| Self::Library);
        Ok(own.chain(library).collect())
    }
}

/// Measures solves of the plain influence function, the fastest first; `parts` for every part of them, and with sums. Ways
/// that a device refuses are left out.
pub fn measure<R: MeshNumber>(
    device: &Device,
    size: [u32; 3],
    ways: &[Fft],
    parts: bool,
) -> Result<Vec<Timed>, CudaError> {
    let influence = Influence::new(
        Mat3::diagonal([1.0 / SIDE; 3].into()),
        SIDE.powi(3),
        ALPHA,
        size.map(|n| n as usize),
        Basis::BSpline(5),
        false,
    );
    // Compiled side by side: that takes far longer than to measure.
    let solves: Vec<_> = ways
        .par_iter()
        .map(|&fft| Solve::<R>::new(device, &influence, fft))
        .collect();
    let mut all = Vec::new();
    for solve in solves {
        match solve.and_then(|mut solve| measure_one(device, &mut solve, parts)) {
            Ok(timed) => all.push(timed),
            Err(CudaError::Shape { .. }) if ways.len() > 1 => {}
            Err(error) => return Err(error),
        }
    }
    all.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    Ok(all)
}

/// Edge of a cubic cell and splitting parameter, such as a box of water has.
const SIDE: f64 = 80.0;
const ALPHA: f64 = 0.35;

fn measure_one<R: MeshNumber>(
    device: &Device,
    solve: &mut Solve<R>,
    parts: bool,
) -> Result<Timed, CudaError> {
    let stream = device.stream()?;
    let charge = |i: usize| R::rounded(((i % 97) as f64 - 48.0) * 1e-9);
    let charges = device.upload(&(0..solve.points()).map(charge).collect::<Vec<R>>())?;
    let mut mesh = device.zeros::<R>(solve.points())?;
    let mut sums = device.zeros::<f64>(7)?;
    let unit = Mat3::diagonal([1.0 / SIDE; 3].into());
    let cell = device.upload(&[MeshCell::new(unit, SIDE.powi(3), ALPHA)])?;
    let mut whole = |with_sums: bool| -> Result<f64, CudaError> {
        let graph = stream.capture(|stream| {
            (0..REPETITIONS).try_for_each(|_| {
                let sums = with_sums.then(|| sums.all_mut());
                solve.queue_apart(stream, charges.all(), mesh.all_mut(), cell.all(), sums)
            })
        })?;
        median(&stream, &graph, REPETITIONS)
    };
    let seconds = whole(false)?;
    let with_sums = if parts { Some(whole(true)?) } else { None };
    let mut each = Vec::new();
    for part in Part::ALL.into_iter().filter(|_| parts) {
        let graph = stream.capture(|stream| {
            (0..REPETITIONS)
                .try_for_each(|_| solve.queue_part(stream, part, mesh.all_mut(), cell.all(), None, None))
        })?;
        each.push((median(&stream, &graph, REPETITIONS)?, solve.part_bytes(part)));
    }
    Ok(Timed {
        fft: solve.fft(),
        seconds,
        with_sums,
        parts: each,
    })
}
