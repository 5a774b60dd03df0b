//! Comparisons: kernels and libraries beside which the engine's own are measured, and what measures them.
//!
//! What a simulation does not use lives here, so that the library stays small. `debye bench` prints the measurements,
//! and `debye-checks` checks that everything measured is also right.
//!
//! | what | beside the engine's |
//! |---|---|
//! | [`Design`]: owners of particles, owners of points one by one | owners of points ([`SpreadKernel`]) |
//! | [`Fft::candidates`], cuFFT ([`cufft_version`]) | [`Cut::rule`] |
//! | [`RadixSort`], a plain copy ([`primitives`]) | scan and counting sort |
//!
//! The papers as commands (`debye study`) are [`STUDIES`]: [`mod@charge_mapping`], [`coarse_grain`], [`potential_map`],
//! [`prefix_sum`] and [`spme`], each a ladder of variants behind one trait ([`study`]).
//!
//! [`SpreadKernel`]: debye::engines::cuda::mesh::SpreadKernel
//! [`Cut::rule`]: debye_gpu::transforms::Cut::rule

pub mod charge_mapping;
mod charges;
pub mod coarse_grain;
mod cufft;
mod cuts;
mod design;
mod fft;
pub mod lammps;
mod mapping;
mod multiply;
pub mod potential_map;
pub mod prefix_sum;
pub mod primitives;
mod radix_sort;
mod random;
pub mod spme;
pub mod study;
mod transforms;

pub use charges::Charges;
pub use cufft::cufft_version;
pub use design::{Design, TimedDesign, fastest};
pub use fft::{Fft, LibrarySolve, Solver};
pub use mapping::{MeshRate, charge_mapping};
pub use radix_sort::{RadixKey, RadixSort};
pub use study::{STUDIES, Study};
pub use transforms::{TimedSolve, solves};

use debye_gpu::{CudaError, ModuleSource, Stream};

/// Every file of kernels, for tests that compile them.
pub fn modules() -> Vec<ModuleSource> {
    let mut all = design::modules();
    all.extend([
        primitives::source(),
        radix_sort::source("u32"),
        radix_sort::source("u64"),
        multiply::source([64, 64, 64], false, false),
        multiply::source([128, 105, 45], true, true),
        multiply::source([98, 75, 120], false, false),
        potential_map::source(),
    ]);
    all.extend(prefix_sum::modules());
    all.extend(coarse_grain::modules());
    all.extend(charge_mapping::modules());
    all.extend(spme::modules());
    all
}

/// Rounds; the median counts.
const ROUNDS: usize = 9;
/// Repetitions inside a graph, so that gaps between launches do not count.
const REPETITIONS: usize = 20;

/// Seconds that a piece of work takes on the device: the median.
fn median(
    stream: &Stream,
    repetitions: usize,
    mut work: impl FnMut(&Stream) -> Result<(), CudaError>,
) -> Result<f64, CudaError> {
    let graph = stream.capture(|stream| (0..repetitions).try_for_each(|_| work(stream)))?;
    stream.time(&graph, 2)?;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        times.push(stream.time(&graph, 1)? / repetitions as f64);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[ROUNDS / 2])
}
