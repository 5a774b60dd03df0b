//! `coarse-grain`: water and lipids by cell, neighbor and interaction-type matrices, and by the engine (Shkurti, Orsi,
//! Macii, Ficarra & Acquaviva, J. Comput. Chem. 34, 803 (2013)). `docs/studies/coarse-grain.md` is its page.

mod beads;
mod branches;
mod device;
mod divergence;
mod interactions;
mod report;
mod runs;
mod sequential;
mod steps;
mod variants;
mod versions;

pub use beads::{Acted, Beads, Model, Order};
pub use branches::{Branches, Ways, of_kernels};
pub use interactions::Interaction;
pub use steps::step_error;
pub use variants::{BeadVariant, Part};
pub(crate) use versions::modules;
pub use versions::{Arithmetic, Types, Version};

use debye::prelude::Precision;

use crate::study::{Bench, Input, Place, Study, StudyError};

pub(crate) const STUDY: Study = Study {
    name: "coarse-grain",
    paper: "A. Shkurti, M. Orsi, E. Macii, E. Ficarra & A. Acquaviva, Acceleration of coarse grain molecular dynamics on GPU \
            architectures, J. Comput. Chem. 34, 803 (2013)",
    what: "sticky water and lipid bilayers by matrices of neighbors and of interaction types, in four kinds of arithmetic, and \
           by the engine: speed against size, divergence, time step, accuracy, memory",
    page: "docs/studies/coarse-grain.md",
    counters: false,
    run,
};

/// The paper's complete version in single precision.
const MERGED: Version = Version::of(Types::Matrix, Arithmetic::Single);

fn run(bench: &mut Bench<'_>) -> Result<(), StudyError> {
    let sizes: &[usize] = bench.extent.pick(
        &[840],
        &[840, 2_496, 6_144],
        &[840, 2_496, 6_144, 23_040, 55_008, 100_032, 218_904],
    );
    // Steps of 2 fs after minimization.
    let settle = bench.extent.pick(20, 300, 2000);
    // Kernels are looked at one by one where the paper does.
    let table = bench.extent.pick(840, 6_144, 100_032);
    let mut last = Vec::new();
    for &size in sizes {
        for model in Model::ALL {
            if bench.stopped() {
                break;
            }
            // The engine brings the beads to rest where it will run, the emulation of a device apart: that is slow.
            let device = bench
                .device()
                .filter(|_| bench.extent > crate::study::Extent::Smallest);
            let beads = Beads::relaxed(model, size, settle, device)?;
            measure(bench, &beads, size == sizes[sizes.len() / 2], size == table);
            if size == table {
                last.push(beads);
            }
        }
    }
    report::speed(bench);
    if bench.stopped() || last.len() < 2 {
        return Ok(());
    }
    divergence::kernels(bench, &last);
    divergence::ways(bench, &last);
    report::blocks(bench);
    report::arithmetic(bench);
    report::merged(bench);
    report::capacity(bench, &last)?;
    let middle = bench.extent.pick(840, 2_496, 23_040);
    let device = bench
        .device()
        .filter(|_| bench.extent > crate::study::Extent::Smallest);
    let lipids = Beads::relaxed(Model::Lipids, middle, 2 * settle, device)?;
    runs::timestep(bench, &lipids)?;
    if bench.stopped() {
        return Ok(());
    }
    runs::accuracy(bench, &lipids)
}

/// Every way on a system; every arithmetic, and every kernel, where asked for.
fn measure(bench: &mut Bench<'_>, beads: &Beads, all: bool, each: bool) {
    let size = beads.work();
    let ladder = |part: Part| ladder(beads.model, part);
    let mut see =
        |part: Part, variant: &BeadVariant| bench.measure(ladder(part), "beads", size, beads, variant);
    see(Part::Forces, &BeadVariant::Sequential(Part::Forces));
    for part in [Part::Neighbors, Part::Integration] {
        if each {
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
        (Model::Water, Part::Step) => "step, water",
        (Model::Lipids, Part::Neighbors) => "neighbors, lipids",
        (Model::Lipids, Part::Forces) => "forces, lipids",
        (Model::Lipids, Part::Integration) => "integration, lipids",
        (Model::Lipids, Part::Step) => "step, lipids",
    }
}
