//! How fast a mesh is solved, kernel by kernel.

use debye::engines::cuda::mesh::{MESH_SUMS, MeshCell, MeshNumber, Part};
use debye::expr::Mat3;
use debye::forces::pme::{Basis, Influence};
use debye_gpu::{CudaError, Device};
use rayon::prelude::*;

use crate::fft::{Fft, Solver};
use crate::{REPETITIONS, median};

/// What was measured.
#[derive(Clone, Debug)]
pub struct TimedSolve {
    /// How the mesh was transformed.
    pub fft: Fft,
    /// Seconds of a solve without sums.
    pub seconds: f64,
    /// Seconds of a solve with energy and virial.
    pub with_sums: f64,
    /// Seconds and least bytes of the parts: forward, middle, backward.
    pub parts: Vec<(f64, usize)>,
}

/// Measures solves of the plain influence function, the fastest first. Ways that a device refuses are left out.
pub fn solves<R: MeshNumber>(
    device: &Device,
    size: [u32; 3],
    ways: &[Fft],
) -> Result<Vec<TimedSolve>, CudaError> {
    let influence = Influence::new(
        Mat3::diagonal([1.0 / SIDE; 3].into()),
        SIDE.powi(3),
        ALPHA,
        size.map(|n| n as usize),
        Basis::BSpline(5),
        false,
    );
    // Compiled side by side: that takes far longer than to measure.
    let solves: Vec<Result<_, CudaError>> = ways
        .par_iter()
        .map(|&fft| Ok((fft, Solver::<R>::new(device, &influence, fft)?)))
        .collect();
    let mut all = Vec::new();
    for solver in solves {
        match solver.and_then(|(fft, solver)| measure(device, fft, solver)) {
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

fn measure<R: MeshNumber>(device: &Device, fft: Fft, mut solver: Solver<R>) -> Result<TimedSolve, CudaError> {
    let stream = device.stream()?;
    let charge = |i: usize| R::rounded(((i % 97) as f64 - 48.0) * 1e-9);
    let charges = device.upload(&(0..solver.points()).map(charge).collect::<Vec<R>>())?;
    let mut mesh = device.zeros::<R>(solver.points())?;
    let mut sums = device.zeros::<f64>(MESH_SUMS)?;
    let unit = Mat3::diagonal([1.0 / SIDE; 3].into());
    let cell = device.upload(&[MeshCell::new(unit, SIDE.powi(3), ALPHA)])?;
    let mut whole = |with_sums: bool| {
        median(&stream, REPETITIONS, |stream| {
            let sums = with_sums.then(|| sums.all_mut());
            solver.queue_apart(stream, charges.all(), mesh.all_mut(), cell.all(), sums)
        })
    };
    let (seconds, with_sums) = (whole(false)?, whole(true)?);
    let mut parts = Vec::new();
    for part in Part::ALL {
        let seconds = median(&stream, REPETITIONS, |stream| {
            solver.queue_part(stream, part, mesh.all_mut(), cell.all())
        })?;
        parts.push((seconds, solver.part_bytes(part)));
    }
    Ok(TimedSolve {
        fft,
        seconds,
        with_sums,
        parts,
    })
}
