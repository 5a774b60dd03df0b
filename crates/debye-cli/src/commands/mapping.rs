//! `debye bench --cases charge-mapping`: charges spread over a mesh and forces gathered from it, on a CUDA device.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use debye::engines::Precision;
use debye::engines::cuda::mesh::{MeshShape, Tiling};
use debye::forces::pme::Basis;
use debye::simulation::DeviceChoice;
use debye_gpu::{Device, DeviceInfo};
use debye_studies::{Charges, Design, MeshRate, charge_mapping};
use serde::Serialize;

use super::fft::mesh;
use super::primitives;
use crate::console;
use crate::failure::Failure;

/// The name of the case.
pub const CASE: &str = "charge-mapping";

/// Its options.
#[derive(Args)]
pub struct Options {
    /// Charges for the case charge-mapping: after a line with `box X Y Z`, lines of x, y, z and charge
    #[arg(long, value_name = "FILE")]
    charges: Option<PathBuf>,
    /// Points along each axis of the mesh for them
    #[arg(long, hide = true, default_value = "108x108x80", value_parser = mesh, value_name = "XxYxZ")]
    mesh: [u32; 3],
    /// Basis: cubic, or the order of B-splines
    #[arg(long, hide = true, default_value = "cubic", value_parser = basis)]
    basis: Basis,
    /// Designs to measure instead of all: owner, halo or grid, edges of a brick, threads, blocks; as
    /// owner:16x16x16:448:3
    #[arg(long, hide = true, value_delimiter = ',', value_parser = parse_design)]
    tilings: Vec<(Design, Tiling)>,
}

fn basis(text: &str) -> Result<Basis, String> {
    match text.parse() {
        Ok(order @ 3..=8) => Ok(Basis::BSpline(order)),
        Err(_) if text == "cubic" => Ok(Basis::Cubic),
        _ => Err("expected cubic, or an order from 3 to 8".into()),
    }
}

fn parse_design(text: &str) -> Result<(Design, Tiling), String> {
    let parts: Vec<&str> = text.split(':').collect();
    let design = Design::ALL
        .into_iter()
        .find(|d| Some(&d.to_string().as_str()) == parts.first());
    let number = |k: usize| parts.get(k).and_then(|x| x.parse().ok());
    let edges = parts.get(1).and_then(|x| mesh(x).ok());
    match (design, edges, number(2), number(3)) {
        (Some(design), Some(edges), Some(threads), Some(blocks)) => {
            Ok((design, Tiling::new(edges, threads, blocks)))
        }
        _ => Err("expected a design, edges, threads and blocks, such as owner:16x16x16:448:3".into()),
    }
}

/// One measurement as JSON.
#[derive(Serialize)]
struct Line {
    device: String,
    case: String,
    what: String,
    tiling: String,
    charges: usize,
    microseconds: f64,
    charges_per_microsecond: f64,
    bytes: f64,
    /// What moving the bytes takes at the memory's best rate.
    limit_microseconds: Option<f64>,
    error: Option<f64>,
    failure: Option<String>,
}

impl Line {
    fn new(info: &DeviceInfo, case: &str, rate: &MeshRate) -> Self {
        Self {
            device: info.name.clone(),
            case: case.into(),
            what: rate.what.clone(),
            tiling: rate.tiling.to_string(),
            charges: rate.charges,
            microseconds: rate.seconds * 1e6,
            charges_per_microsecond: rate.per_microsecond(),
            bytes: rate.bytes,
            limit_microseconds: info.bandwidth.map(|limit| rate.bytes / limit * 1e6),
            error: rate.error,
            failure: rate.failure.clone(),
        }
    }

    fn text(&self) -> String {
        if let Some(failure) = &self.failure {
            return format!("{:24} {:36} {failure}\n", self.what, self.tiling);
        }
        let limit = self.limit_microseconds.map_or("-".into(), |x| format!("{x:.2}"));
        let error = self.error.map_or("-".into(), |x| format!("{x:.1e}"));
        format!(
            "{:24} {:36} {:>9.2} {:>11.0} {:>9.2} {limit:>9} {error:>9}\n",
            self.what,
            self.tiling,
            self.microseconds,
            self.charges_per_microsecond,
            1e-6 * self.bytes
        )
    }
}

fn head(case: &str) -> String {
    format!(
        "{case}\n{:24} {:36} {:>9} {:>11} {:>9} {:>9} {:>9}\n",
        "what", "bricks", "µs", "charges/µs", "MB", "limit µs", "error"
    )
}

/// Reads charges in a box.
fn read(path: &Path) -> Result<Charges, Failure> {
    let text = fs::read_to_string(path).map_err(|e| Failure::refused(format!("{}: {e}", path.display())))?;
    let bad = |line: usize, what: &str| Failure::refused(format!("{}:{line}: {what}", path.display()));
    let sides: Vec<f64> = text
        .lines()
        .next()
        .and_then(|line| line.split_once("box "))
        .map(|(_, rest)| {
            rest.split_whitespace()
                .map_while(|x| x.parse().ok())
                .take(3)
                .collect()
        })
        .unwrap_or_default();
    let Ok(sides) = <[f64; 3]>::try_from(sides) else {
        return Err(bad(1, "expected `box X Y Z` in the first line"));
    };
    if !sides.iter().all(|&side| side > 0.0 && side.is_finite()) {
        return Err(bad(1, "expected sides of the box above zero"));
    }
    let (mut places, mut charges) = (Vec::new(), Vec::new());
    for (number, line) in text
        .lines()
        .enumerate()
        .skip(1)
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let numbers: Vec<f64> = line.split_whitespace().filter_map(|x| x.parse().ok()).collect();
        let Ok([x, y, z, q]) = <[f64; 4]>::try_from(numbers) else {
            return Err(bad(number + 1, "expected x, y, z and a charge"));
        };
        if ![x, y, z, q].iter().all(|v| v.is_finite()) {
            return Err(bad(number + 1, "expected finite numbers"));
        }
        let fraction = |r: f64, side: f64| ((r / side).rem_euclid(1.0) * 4_294_967_296.0) as u64 as u32;
        places.push([
            fraction(x, sides[0]),
            fraction(y, sides[1]),
            fraction(z, sides[2]),
        ]);
        charges.push(q);
    }
    if charges.is_empty() {
        return Err(bad(2, "expected charges"));
    }
    Ok(Charges { places, charges })
}

/// Measures all cases in every precision asked for.
pub fn bench(
    choice: DeviceChoice,
    precisions: &[Precision],
    options: &Options,
    json: bool,
) -> Result<(), Failure> {
    let (device, number) = primitives::device_for(choice, &format!("case `{CASE}`"))?;
    if !json {
        console::print(&format!(
            "CUDA device {number}: {}\n",
            primitives::describe(device.info())
        ))?;
    }
    let shape = |size: [u32; 3]| MeshShape {
        size,
        basis: options.basis,
    };
    let mut cases: Vec<(String, MeshShape, Charges)> = vec![
        (
            "92,224 charges at random".into(),
            shape([108, 108, 80]),
            Charges::random(92_224),
        ),
        (
            "1,000,000 charges at random".into(),
            shape([128; 3]),
            Charges::random(1_000_000),
        ),
    ];
    if let Some(path) = &options.charges {
        let charges = read(path)?;
        let name = format!("{} charges of {}", charges.charges.len(), path.display());
        cases = vec![(name, shape(options.mesh), charges)];
    }
    let mut all = Vec::new();
    for &precision in precisions {
        for (name, shape, charges) in &cases {
            let [x, y, z] = shape.size;
            let name = format!("{name} on {x}x{y}x{z}, {:?}, {}", shape.basis, precision.name());
            // As a simulation keeps its particles, and in the order they come in.
            let orders = [
                ("in order", charges.ordered(shape, 6)),
                ("not in order", charges.clone()),
            ];
            for (order, charges) in orders {
                let case = format!("{name}, {order}");
                measure(
                    &device, precision, shape, &charges, &case, options, json, &mut all,
                )?;
            }
        }
    }
    if json {
        console::print(&console::json_list("bench-charge-mapping/1", &all)?)?;
    }
    Ok(())
}

#[expect(clippy::too_many_arguments, reason = "each is a fact of its own")]
fn measure(
    device: &Device,
    precision: Precision,
    shape: &MeshShape,
    charges: &Charges,
    case: &str,
    options: &Options,
    json: bool,
    all: &mut Vec<Line>,
) -> Result<(), Failure> {
    if !json {
        console::print(&head(case))?;
    }
    let mut printed = Ok(());
    let each = |rate: &MeshRate| {
        let line = Line::new(device.info(), case, rate);
        if !json && printed.is_ok() {
            printed = console::print(&line.text());
        }
        all.push(line);
    };
    let measured = if precision == Precision::Double {
        charge_mapping::<f64>(device, shape, charges, &options.tilings, each)
    } else {
        charge_mapping::<f32>(device, shape, charges, &options.tilings, each)
    };
    printed?;
    measured.map_err(Failure::failed)
}
