//! The parts of `debye check` and `debye bench` that concern a CUDA device and its primitives.

use std::process::ExitCode;

use debye::engines::Profile;
use debye::simulation::DeviceChoice;
use debye_checks::device::{self as checks, Extent, Finding};
use debye_gpu::{Device, DeviceInfo, driver_version};
use debye_studies::primitives as speed;
use serde::Serialize;

use crate::console;
use crate::failure::Failure;

/// One check as JSON.
#[derive(Serialize)]
struct Line {
    what: &'static str,
    passed: bool,
    cases: usize,
    seconds: f64,
    failure: Option<String>,
}

/// One measurement as JSON.
#[derive(Serialize)]
struct Measured {
    device: String,
    what: String,
    elements: usize,
    microseconds: f64,
    giga_elements_per_second: f64,
}

/// A device in a line.
pub fn describe(info: &DeviceInfo) -> String {
    let (major, minor) = info.capability;
    let rate = info
        .bandwidth
        .map_or(String::new(), |rate| format!(" at {:.0} GB/s", 1e-9 * rate));
    format!(
        "{}, compute capability {major}.{minor}, {} multiprocessors, {:.1} GiB{rate}",
        info.name,
        info.multiprocessors,
        info.memory as f64 / f64::from(1 << 30)
    )
}

/// A device in the header of a run, with its driver.
pub fn on_device(info: &DeviceInfo) -> String {
    let driver = driver_version().map_or(String::new(), |(major, minor)| {
        format!(", driver for CUDA {major}.{minor}")
    });
    let (major, minor) = info.capability;
    format!(
        "{} ({:.1} GiB, compute capability {major}.{minor}{driver})",
        info.name,
        info.memory as f64 / f64::from(1 << 30)
    )
}

/// The kernels of a profile as a table.
pub fn profile(profile: &Profile) -> String {
    let rows: Vec<Vec<String>> = profile.table();
    let table = console::columns(&rows);
    let table: String = table.lines().map(|line| format!("  {line}\n")).collect();
    format!("{table}  {}\n", profile.note())
}

/// Checks a device: memory, kernels, graphs, primitives, simulations.
pub fn check(number: u32, quick: bool, only: &str, json: bool) -> Result<ExitCode, Failure> {
    if checks::count(only) == 0 {
        return Err(Failure::refused(format!("no check has `{only}` in its name")));
    }
    let device = Device::open(number).map_err(Failure::refused)?;
    let extent = if quick { Extent::Smallest } else { Extent::Full };
    if !json {
        console::print(&format!(
            "CUDA device {number}: {}\nprimitives against plain loops on the host, simulations against the CPU; in the order they end\n",
            describe(device.info())
        ))?;
    }
    let report = |found: &Finding| {
        if !json {
            // Where nobody reads, the end will say so.
            let _ = console::print(&line(found));
        }
    };
    let findings = checks::run(std::slice::from_ref(&device), extent, 1, only, &report);
    let (all, failed) = (
        findings.len(),
        findings.iter().filter(|found| found.failure.is_some()).count(),
    );
    if json {
        let lines = findings.into_iter().map(|found| Line {
            what: found.what,
            passed: found.failure.is_none(),
            cases: found.cases,
            seconds: found.seconds,
            failure: found.failure,
        });
        console::print(&console::json_list("check-cuda/1", &lines.collect::<Vec<_>>())?)?;
    }
    if failed > 0 {
        return Err(Failure::failed(format!("{failed} of {all} checks failed")));
    }
    if !json {
        console::print(&format!("all {all} checks passed\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A check that is over, in a line, and one more for what is wrong.
fn line(found: &Finding) -> String {
    let verdict = if found.failure.is_none() { "ok" } else { "FAILED" };
    let failure = found.failure.as_ref().map(|failure| format!("    {failure}\n"));
    format!(
        "  {:<46} {verdict:<6} {:>5} cases {:>9}\n{}",
        found.what,
        found.cases,
        console::duration(found.seconds),
        failure.unwrap_or_default()
    )
}

/// The CUDA device that something needs, and its number.
pub fn device_for(choice: DeviceChoice, what: &str) -> Result<(Device, u32), Failure> {
    let number = match choice {
        DeviceChoice::Cuda(number) => number,
        DeviceChoice::Auto => 0,
        DeviceChoice::Cpu => {
            return Err(Failure::refused(format!(
                "{what} needs a CUDA device; use --device cuda"
            )));
        }
    };
    Ok((Device::open(number).map_err(Failure::refused)?, number))
}

/// Measures scans and sorts of several lengths beside a plain copy.
pub fn bench(choice: DeviceChoice, what: &str, json: bool) -> Result<(), Failure> {
    let (device, number) = device_for(choice, &format!("case `{what}`"))?;
    let mut all = Vec::new();
    if !json {
        let head = format!(
            "CUDA device {number}: {}\n{:28} {:>12} {:>12} {:>14}\n",
            describe(device.info()),
            what,
            "elements",
            "µs",
            "10⁹ elements/s"
        );
        console::print(&head)?;
    }
    let lengths: &[u32] = if what == "scan" {
        &[16, 18, 20, 22, 24, 26, 27]
    } else {
        &[14, 17, 20, 24]
    };
    for &power in lengths {
        let rates = if what == "scan" {
            speed::scan(&device, 1 << power).map(Vec::from)
        } else {
            speed::sorts(&device, 1 << power)
        };
        for rate in rates.map_err(Failure::failed)? {
            let measured = Measured {
                device: device.info().name.clone(),
                elements: rate.elements,
                microseconds: rate.seconds * 1e6,
                giga_elements_per_second: rate.giga_per_second(),
                what: rate.what,
            };
            if !json {
                console::print(&format!(
                    "{:28} {:>12} {:>12.2} {:>14.1}\n",
                    measured.what,
                    format!("2^{power}"),
                    measured.microseconds,
                    measured.giga_elements_per_second
                ))?;
            }
            all.push(measured);
        }
    }
    if json {
        console::print(&console::json_list("bench-primitives/1", &all)?)?;
    }
    Ok(())
}
