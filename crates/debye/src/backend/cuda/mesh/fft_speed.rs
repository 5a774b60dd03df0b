//! How fast a mesh is solved, kernel by kernel, and the choice that follows from it.

use crate::backend::cuda::speed::median;
use crate::backend::cuda::{CudaError, Device};
use crate::expr::Mat3;
use crate::forces::pme::{Basis, Influence};

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
        let mut timed = Vec::new();
        for fft in all {
            timed.push(measure::<R>(device, size, fft, false)?);
        }
        timed.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
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

/// Measures a solve of the plain influence function; `parts` for every part of it, and a solve with sums.
pub fn measure<R: MeshNumber>(
    device: &Device,
    size: [u32; 3],
    fft: Fft,
    parts: bool,
) -> Result<Timed, CudaError> {
    let stream = device.stream()?;
    let n = size.map(|n| n as usize);
    let unit = Mat3::diagonal([1.0 / 80.0; 3].into());
    let influence = Influence::new(unit, 80.0_f64.powi(3), 0.35, n, Basis::BSpline(5), false);
    let mut solve = Solve::<R>::new(device, &influence, fft)?;
    // A wave of a few periods, small, so that repeating the solve stays finite.
    let charge = |i: usize| R::rounded(((i % 97) as f64 - 48.0) * 1e-9);
    let charges = device.upload(&(0..solve.points()).map(charge).collect::<Vec<R>>())?;
    let mut mesh = device.zeros::<R>(solve.points())?;
    let mut sums = device.zeros::<f64>(7)?;
    let cell = device.upload(&[MeshCell::new(unit, 80.0_f64.powi(3), 0.35)])?;
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
                .try_for_each(|_| solve.queue_part(stream, part, mesh.all_mut(), cell.all(), None))
        })?;
        each.push((median(&stream, &graph, REPETITIONS)?, solve.part_bytes(part)));
    }
    Ok(Timed {
        fft,
        seconds,
        with_sums,
        parts: each,
    })
}
