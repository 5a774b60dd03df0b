//! `charge-mapping`: charges spread over a mesh (Sanaullah, Mojumder, Lewis & Herbordt, "GPU-accelerated charge mapping",
//! 2016). `docs/studies/charge-mapping.md` is its page.

mod bins;
mod counters;
mod device;
mod fixed_point;
mod host;
mod impact;
mod input;
mod pipeline;
mod report;
mod variants;

pub use bins::{HostBins, Layout};
pub use counters::{Counted, metrics};
pub use device::{Owner, PointRead};
pub use fixed_point::FixedPoint;
pub use input::{Arrangement, Sites};
pub use pipeline::{Charged, Method, Stage, Staged};
pub use variants::{How, MappingVariant};

use debye_gpu::ModuleSource;

use crate::design::Design;
use crate::study::{Bench, Extent, Place, Row, Study, StudyError};

pub(crate) const STUDY: Study = Study {
    name: "charge-mapping",
    paper: "A. Sanaullah, S. A. Mojumder, K. M. Lewis, M. C. Herbordt, GPU-accelerated charge mapping, IEEE High \
            Performance Extreme Computing Conference (2016)",
    what: "charges spread over a mesh with Skeel's cubic: four versions on one core, four with threads for particles, four \
           with threads for points, the engine, and the stages around it",
    page: "docs/studies/charge-mapping.md",
    counters: true,
    why,
    run,
};

/// Every module for a few sizes of bins, for tests that compile them.
pub(crate) fn modules() -> Vec<ModuleSource> {
    let layouts = [Layout::Whole, Layout::Interleaved, Layout::Coalesced];
    let reads = [
        PointRead::Branches,
        PointRead::Selection,
        PointRead::Shared,
        PointRead::Reduced,
    ];
    let particles = layouts.map(|layout| bins::particles_source(layout, 20));
    let points = reads.map(|read| device::points_source(read, 20));
    particles.into_iter().chain(points).collect()
}

/// Mapping with bins ready, on the paper's benchmarks: Tables I and II.
const TABLES: &str = "tables I and II";
/// The same from positions in no order.
const FRESH: &str = "from positions";
/// On the mesh of a simulation.
const FINE: &str = "a point for each Å";
/// Over numbers of particles.
const SIZES: &str = "sizes";
const UNIT: &str = "particles";

/// Why the engine may lose.
fn why(row: &Row) -> Option<&'static str> {
    match (row.ladder, row.place) {
        (FRESH, Place::Cpu) => Some(
            "it sorts positions in every pass so that threads share no point and sums have one order, and works on rows of \
             eight points where this basis has four",
        ),
        (TABLES | FINE | SIZES, Place::Cpu) => Some(
            "it begins with positions in space, sorts them in every pass so that threads share no point and sums have one \
             order, and works on rows of eight points where this basis has four",
        ),
        (TABLES | FRESH | FINE | SIZES, Place::Cuda) => Some(
            "a block owns a brick of points and visits every particle that touches it, those near faces more than once; a mesh \
             of few bricks leaves multiprocessors without work",
        ),
        _ => None,
    }
}

/// The mesh that simulations of ApoA1 have.
const FINE_MESH: [usize; 3] = [108, 108, 80];

fn run(bench: &mut Bench<'_>) -> Result<(), StudyError> {
    let profile = bench.counters.take();
    // A synthetic set stands for ApoA1 where seconds count.
    let smallest = bench.extent == Extent::Smallest;
    let apoa1 = match smallest {
        true => Sites::liquid(1000),
        false => Sites::apoa1(input::PAPER_MESH)?,
    };
    let dmpc = if smallest {
        Sites::liquid(700)
    } else {
        Sites::dmpc()
    };
    for (number, sites) in [&apoa1, &dmpc].into_iter().enumerate() {
        ladder(bench, TABLES, number as f64, sites, false, &rungs());
    }
    report::serial(bench, &apoa1);
    report::tables(bench, [&apoa1, &dmpc]);
    ladder(bench, FRESH, 0.0, &apoa1, true, &fresh_rungs());
    report::fresh(bench);
    let fine = match smallest {
        true => Sites::synthetic(Arrangement::Random, [12, 10, 9], 110),
        false => Sites::apoa1(FINE_MESH)?,
    };
    ladder(bench, FINE, 0.0, &fine, false, &rungs());
    report::fine(bench);
    sizes(bench);
    impact::throughput(bench, &apoa1);
    impact::counters(bench, &apoa1, profile.as_ref());
    stages(bench)
}

/// Every rung.
fn rungs() -> Vec<How> {
    let mut all = How::HOST.to_vec();
    all.extend(How::PARTICLE_CENTRIC);
    all.extend(How::GRID_CENTRIC);
    all.extend(How::BRICKS);
    all
}

/// Those that are measured from positions.
fn fresh_rungs() -> Vec<How> {
    vec![
        How::Optimized,
        How::Vectorized,
        How::Binned,
        How::EngineOnOneThread,
        How::Engine,
        How::PARTICLE_CENTRIC[0],
        How::PARTICLE_CENTRIC[1],
        How::PARTICLE_CENTRIC[3],
        How::GRID_CENTRIC[3],
        How::Bricks(Design::Owner),
    ]
}

/// The most particles that a rung is given, so that a study ends.
fn most(extent: Extent, how: How) -> usize {
    match how {
        How::Baseline => extent.pick(10_000, 100_000, 1_000_000),
        How::Optimized | How::Vectorized | How::Binned | How::EngineOnOneThread => {
            extent.pick(10_000, 1_000_000, 1_000_000)
        }
        How::Engine => extent.pick(10_000, 1_000_000, 10_000_000),
        _ => usize::MAX,
    }
}

fn ladder(bench: &mut Bench<'_>, name: &'static str, size: f64, sites: &Sites, fresh: bool, rungs: &[How]) {
    for &how in rungs {
        let variant = MappingVariant {
            how,
            fresh,
            // The benchmarks are measured whole.
            most: if name == SIZES {
                most(bench.extent, how)
            } else {
                usize::MAX
            },
        };
        bench.measure(name, UNIT, size, sites, &variant);
    }
}

/// Synthetic sets of all sizes.
fn sizes(bench: &mut Bench<'_>) {
    let numbers: &[usize] = bench.extent.pick(
        &[500, 1500],
        &[1000, 10_000, 100_000, 1_000_000],
        &[1000, 10_000, 100_000, 1_000_000, 10_000_000],
    );
    let mut all = How::HOST.to_vec();
    all.extend(How::PARTICLE_CENTRIC);
    all.extend(How::GRID_CENTRIC);
    all.push(How::Bricks(Design::Owner));
    for &number in numbers {
        if bench.stopped() {
            break;
        }
        let sites = Sites::liquid(number);
        ladder(bench, SIZES, number as f64, &sites, false, &all);
    }
    impact::sizes(bench);
}

/// The stages of Fig. 1.
fn stages(bench: &mut Bench<'_>) -> Result<(), StudyError> {
    for (ladder, method) in impact::PIPELINES {
        if bench.stopped() {
            return Ok(());
        }
        let sites = match bench.extent {
            Extent::Smallest => Sites::synthetic(Arrangement::Random, [12, 10, 9], 500),
            _ => Sites::apoa1(FINE_MESH)?,
        };
        let charged = Charged::new(sites, method)?;
        for place in [Place::Cpu, Place::Cuda] {
            for stage in Stage::ALL {
                bench.measure(ladder, UNIT, 0.0, &charged, &Staged { stage, place });
            }
        }
    }
    impact::pipeline(bench);
    Ok(())
}
