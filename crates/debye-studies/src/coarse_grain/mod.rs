//! `coarse-grain`: water and lipids by cell, neighbor and interaction-type matrices, and by the engine (Shkurti, Orsi,
//! Macii, Ficarra & Acquaviva, J. Comput. Chem. 34, 803 (2013)). `docs/studies/coarse-grain.md` is its page.

mod arithmetic;
mod beads;
mod branches;
mod capacity;
mod courses;
mod device;
mod divergence;
mod dynamics;
mod interactions;
mod report;
mod runs;
mod sequential;
mod steps;
mod timestep;
mod variants;
mod versions;

pub use beads::{Acted, Beads, Model, Order};
pub use branches::{Branches, Ways, of_kernels};
pub use courses::{RunDifference, run_difference};
pub use interactions::Interaction;
pub use steps::step_error;
pub use variants::{BeadVariant, Part};
pub(crate) use versions::modules;
pub use versions::{Arithmetic, Types, Version};

use debye::prelude::Precision;

use crate::study::{Bench, Input, Place, Row, Study, StudyError};

pub(crate) const STUDY: Study = Study {
    name: "coarse-grain",
    paper: "A. Shkurti, M. Orsi, E. Macii, E. Ficarra & A. Acquaviva, Acceleration of coarse grain molecular dynamics on GPU \
            architectures, J. Comput. Chem. 34, 803 (2013)",
    what: "sticky water and lipid bilayers by matrices of neighbors and of interaction types, in five kinds of arithmetic, and \
           by the engine: speed against size, divergence, time step, accuracy, memory",
    page: "docs/studies/coarse-grain.md",
    counters: false,
    why,
    run,
};

/// The paper's complete version in single precision.
const MERGED: Version = Version::of(Types::Matrix, Arithmetic::Single);

/// Why the engine may lose.
fn why(row: &Row) -> Option<&'static str> {
    match (STEPS.contains(&row.ladder), row.place) {
        (true, Place::Cpu) => {
            Some("a step has bonds, a thermostat and new lists in it, which the serial step has not")
        }
        (true, Place::Cuda) => Some(
            "a step has bonds, a thermostat and new lists in it, which that of the kernels has not, in more launches; in double \
             precision it is compared with kernels in single precision",
        ),
        _ => None,
    }
}

/// Ladders of whole steps.
const STEPS: &[&str] = &["step, water", "step, lipids"];

fn run(bench: &mut Bench<'_>) -> Result<(), StudyError> {
    let sizes: &[usize] = bench.extent.pick(
        &[840],
        &[840, 2_496, 6_144],
        &[840, 2_496, 6_144, 23_040, 55_008, 100_032, 218_904],
    );
    // Steps of 2 fs after minimization.
    let relaxation = bench.extent.pick(20, 300, 2000);
    // Kernels are looked at one by one where the paper does.
    let table = bench.extent.pick(840, 6_144, 100_032);
    // Runs and time steps are looked at here.
    let at = sizes[sizes.len() / 2];
    let (mut last, mut middle) = (Vec::new(), Vec::new());
    for &size in sizes {
        for model in Model::ALL {
            if bench.stopped() {
                break;
            }
            // The engine brings the beads to rest where it will run, the emulation of a device apart: that is slow.
            let device = bench
                .device()
                .filter(|_| bench.extent > crate::study::Extent::Smallest);
            // Longer where it runs with a thermostat later: some times the 1 ps of that.
            let longer = match model {
                Model::Lipids if size == at => bench.extent.pick(1, 8, 10),
                _ => 1,
            };
            let beads = Beads::relaxed(model, size, longer * relaxation, device)?;
            measure(bench, &beads, size == at, size == table);
            if size == at {
                middle.push(beads.clone());
            }
            if size == table {
                last.push(beads);
            }
        }
    }
    report::speed(bench);
    if bench.stopped() || last.len() < 2 || middle.len() < 2 {
        return Ok(());
    }
    divergence::kernels(bench, &last);
    divergence::ways(bench, &middle);
    report::blocks(bench);
    let looks = bench.extent.pick([2, 3], [10, 100], [10, 100]);
    let conserved = middle
        .iter()
        .map(|beads| courses::Conserved::new(bench, beads, looks))
        .collect::<Result<Vec<_>, _>>()?;
    arithmetic::arithmetic(bench, &conserved);
    report::merged(bench);
    if bench.stopped() {
        return Ok(());
    }
    capacity::capacity(bench, &last)?;
    timestep::timestep(bench, &last)?;
    if bench.stopped() {
        return Ok(());
    }
    runs::accuracy(bench, &middle[1], &conserved[1])
}

/// Every way on a system; every arithmetic, and every kernel, where asked for.
fn measure(bench: &mut Bench<'_>, beads: &Beads, all: bool, table: bool) {
    let size = beads.work();
    let ladder = |part: Part| ladder(beads.model, part);
    let mut see =
        |part: Part, variant: &BeadVariant| bench.measure(ladder(part), "beads", size, beads, variant);
    see(Part::Forces, &BeadVariant::Sequential(Part::Forces));
    for part in [Part::Neighbors, Part::Integration] {
        if all || table {
            see(part, &BeadVariant::Sequential(part));
            see(part, &BeadVariant::Kernels(MERGED, part));
        }
    }
    for version in Version::all(beads.model) {
        if all || version.is_floating() {
            see(Part::Forces, &BeadVariant::Kernels(version, Part::Forces));
        }
        if version.arithmetic == Arithmetic::Single {
            see(Part::Step, &BeadVariant::Kernels(version, Part::Step));
        }
    }
    see(Part::Step, &BeadVariant::Kernels(MERGED.apart(), Part::Step));
    for place in [Place::Cpu, Place::Cuda] {
        see(Part::Step, &BeadVariant::Engine(Precision::Mixed, place));
        if all {
            see(Part::Step, &BeadVariant::Engine(Precision::Double, place));
        }
    }
}

/// Names of the ladders.
fn ladder(model: Model, part: Part) -> &'static str {
    match (model, part) {
        (Model::Water, Part::Neighbors) => "neighbors, water",
        (Model::Water, Part::Forces) => "forces, water",
        (Model::Water, Part::Integration) => "integration, water",
        (Model::Water, Part::Step) => STEPS[0],
        (Model::Lipids, Part::Neighbors) => "neighbors, lipids",
        (Model::Lipids, Part::Forces) => "forces, lipids",
        (Model::Lipids, Part::Integration) => "integration, lipids",
        (Model::Lipids, Part::Step) => STEPS[1],
    }
}
