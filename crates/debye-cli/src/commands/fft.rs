//! The part of `debye bench` that measures mesh solves on a CUDA device.

use clap::Args;
use debye::engines::Precision;
use debye::engines::cuda::mesh::MeshNumber;
use debye::simulation::DeviceChoice;
use debye_gpu::{CudaError, Device};
use debye_studies::{Fft, TimedSolve, cufft_version, solves};
use serde::Serialize;

use super::primitives::{describe, device_for};
use crate::console;
use crate::failure::Failure;

/// What case `fft` measures.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Meshes of case `fft`, such as 64x64x64 [default: a list]
    #[arg(id = "meshes", long = "meshes", hide = true, value_delimiter = ',', value_parser = mesh, value_name = "SIZES")]
    mesh: Vec<Mesh>,
    /// Transform meshes of case `fft` as told, such as "planes=512 tile=16x256 radix=16" or cufft
    #[arg(long, hide = true, value_name = "HOW")]
    fft: Vec<Fft>,
    /// Measure every way to transform the meshes of case `fft`
    #[arg(long, hide = true)]
    sweep: bool,
}

/// Points along each axis.
pub type Mesh = [u32; 3];

const MESHES: [Mesh; 9] = [
    [48, 48, 48],
    [64, 64, 64],
    [72, 72, 72],
    [108, 108, 80],
    [108, 81, 81],
    [128, 128, 128],
    [160, 160, 160],
    [192, 192, 192],
    [256, 256, 256],
];

/// Reads a mesh from its sizes.
pub fn mesh(text: &str) -> Result<Mesh, String> {
    let numbers: Result<Vec<u32>, _> = text.split('x').map(str::parse).collect();
    match numbers.as_deref() {
        Ok(&[x, y, z]) => Ok([x, y, z]),
        _ => Err(format!("`{text}`: expected three numbers, such as 64x64x64")),
    }
}

/// One measurement as JSON.
#[derive(Serialize)]
struct Line {
    device: String,
    mesh: Mesh,
    precision: &'static str,
    transform: String,
    microseconds: f64,
    microseconds_with_sums: f64,
    parts: Vec<PartLine>,
    fastest: bool,
}

/// A part of a solve.
#[derive(Serialize)]
struct PartLine {
    name: &'static str,
    microseconds: f64,
    bytes: usize,
    share_of_bandwidth: Option<f64>,
}

/// Measures solves of meshes, kernel by kernel.
pub fn bench(
    choice: DeviceChoice,
    precisions: &[Precision],
    flags: &Flags,
    json: bool,
) -> Result<(), Failure> {
    let (device, number) = device_for(choice, "case `fft`")?;
    if !json {
        let library = cufft_version(&device).map_or("no cuFFT".into(), |(a, b)| format!("cuFFT {a}.{b}"));
        console::print(&format!(
            "CUDA device {number}: {}; {library}\nµs of a solve, with energy and virial, and of its parts (share of the memory's speed)\n",
            describe(device.info())
        ))?;
    }
    let meshes = if flags.mesh.is_empty() {
        &MESHES[..]
    } else {
        &flags.mesh
    };
    let mut all = Vec::new();
    for &mesh in meshes {
        for &precision in precisions {
            let lines = match precision {
                Precision::Double => lines::<f64>(&device, mesh, precision, flags),
                _ => lines::<f32>(&device, mesh, precision, flags),
            };
            let lines = lines.map_err(Failure::failed)?;
            if !json {
                console::print(&table(&lines))?;
            }
            all.extend(lines);
        }
    }
    if json {
        console::print(&console::json_list("bench-fft/1", &all)?)?;
    }
    Ok(())
}

fn lines<R: MeshNumber>(
    device: &Device,
    mesh: Mesh,
    precision: Precision,
    flags: &Flags,
) -> Result<Vec<Line>, CudaError> {
    let ways = if flags.fft.is_empty() {
        Fft::candidates::<R>(device, mesh, flags.sweep)?
    } else {
        flags.fft.clone()
    };
    let timed = solves::<R>(device, mesh, &ways)?;
    let line = |(rank, timed): (usize, TimedSolve)| Line {
        device: device.info().name.clone(),
        mesh,
        precision: precision.name(),
        transform: timed.fft.to_string(),
        microseconds: 1e6 * timed.seconds,
        microseconds_with_sums: 1e6 * timed.with_sums,
        parts: parts(device, &timed),
        fastest: rank == 0,
    };
    Ok(timed.into_iter().enumerate().map(line).collect())
}

fn parts(device: &Device, timed: &TimedSolve) -> Vec<PartLine> {
    let limit = device.info().bandwidth;
    let names = ["forward", "middle", "backward"];
    let part = |(name, &(seconds, bytes)): (&'static str, &(f64, usize))| PartLine {
        name,
        microseconds: 1e6 * seconds,
        bytes,
        share_of_bandwidth: limit.map(|limit| bytes as f64 / seconds / limit),
    };
    names.into_iter().zip(&timed.parts).map(part).collect()
}

fn table(lines: &[Line]) -> String {
    let mut text = String::new();
    for (k, line) in lines.iter().enumerate() {
        if k == 0 {
            let [x, y, z] = line.mesh;
            text += &format!("{x} × {y} × {z}, {}\n", line.precision);
        }
        text += &format!(
            "  {:8.2} {:8.2}  ",
            line.microseconds, line.microseconds_with_sums
        );
        for part in &line.parts {
            let share = part.share_of_bandwidth.unwrap_or(0.0);
            text += &format!("{:8.2} ({:2.0} %)", part.microseconds, 100.0 * share);
        }
        text += &format!("  {}\n", line.transform);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meshes_are_three_numbers() {
        assert_eq!(mesh("64x32x81"), Ok([64, 32, 81]));
        for bad in ["64", "64x64", "axbxc", "1x2x3x4", ""] {
            assert!(mesh(bad).unwrap_err().contains("64x64x64"));
        }
    }
}
