//! One body of tests for the card and its emulation: everything on a device against plain loops on the host.
//!
//! `cargo test` runs it on the emulation, `debye check --device cuda` on the user's own card.

mod basics;
mod bonded;
mod constraints;
mod electrostatics;
mod engine;
mod maps;
mod mesh;
mod mesh_forces;
mod orders;
mod pair_counts;
mod rotation;
mod small;
mod solve;
mod studies;
mod studies_charge_mapping;
mod studies_spme;
mod sums;
mod systems;
mod watch;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use debye_gpu::{CudaError, Device, ModuleSource, primitives};

/// How much is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    /// One version of each kernel or two: what an emulation does in a minute that watches memory or races, or that
    /// repeats what another has done.
    Watched,
    /// Every kernel, in the versions that differ in what they do, on as little as shows a fault.
    Smallest,
    /// What the plain emulation does in seconds.
    Small,
    /// What a card does in seconds.
    Full,
}

/// One check and how it went.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What was checked.
    pub what: &'static str,
    /// How many cases.
    pub cases: usize,
    /// How long it took.
    pub seconds: f64,
    /// What went wrong.
    pub failure: Option<String>,
}

/// Why a check failed.
#[derive(Debug, thiserror::Error)]
enum Wrong {
    #[error("{0}")]
    Result(String),
    #[error(transparent)]
    Device(#[from] CudaError),
}

/// Where and how much to check.
struct Place<'a> {
    device: &'a Device,
    extent: Extent,
    random: Random,
    cases: usize,
}

type Check = fn(&mut Place<'_>) -> Result<(), Wrong>;

const CHECKS: &[(&str, Check)] = &[
    ("memory: copies, fills, limits", basics::memory),
    (
        "kernels: parameters, constants, types checked",
        basics::parameters,
    ),
    ("kernels: shuffles, votes, matches", basics::collectives),
    ("kernels: shared memory, atomics", basics::shared),
    ("kernels: blocks that wait for each other", basics::meeting),
    ("graphs: captured once, replayed", basics::graphs),
    ("scan, every tiling", orders::scan_tilings),
    ("scan, any length", orders::scan_lengths),
    ("counting sort, stable", orders::counting_sort),
    ("radix sort, 32-bit keys", orders::radix_sort_u32),
    ("radix sort, 64-bit keys", orders::radix_sort_u64),
    ("compaction, stable", orders::compaction),
    ("copies to the host, not waited for", basics::collecting),
    ("sums of whole and fixed-point numbers", sums::sums),
    ("sums of segments", sums::segments),
    ("sums of floating-point numbers, fixed order", sums::ordered),
    ("extremes", sums::extremes),
    ("mesh: transforms of every length", solve::lengths),
    ("mesh: transforms of whole meshes", solve::meshes),
    ("mesh: potential, energy, virial", solve::potentials),
    ("mesh: charges spread, every basis and design", mesh::spreading),
    ("mesh: lists with a margin", mesh::margins),
    ("mesh: lists that do not fit", mesh::overflow),
    ("mesh: sums that are too large", mesh::saturation),
    ("mesh: the fastest design", mesh::choice),
    ("mesh: forces gathered, mean removed", mesh_forces::gathering),
    (
        "mesh: forces are derivatives of the energy",
        mesh_forces::derivatives,
    ),
    ("maps: every point, any grid", maps::points),
    ("maps: points on charges", maps::exclusion),
    ("maps: charges shared by blocks", maps::parts),
    ("maps: polynomials along lines", maps::lines),
    ("maps: terms of finite reach", maps::reaches),
    ("maps: multilevel summation", maps::levels),
    ("maps: requests, and what is refused", maps::requests),
    ("maps: ions, the same as on the CPU", maps::ions),
    ("studies: direct sums of maps", studies::maps),
    ("studies: prefix sums", studies::scans),
    ("studies: loops over bins", studies::bins),
    ("studies: beads with orientations", studies::beads),
    ("studies: beads that move", studies::beads_that_move),
    ("studies: charge mapping", studies_charge_mapping::mapping),
    ("studies: stages of a mesh", studies_charge_mapping::stages),
    ("studies: tiles of 32 × 32 ions", studies_spme::tiles),
    (
        "studies: charges onto a mesh by atomics",
        studies_spme::interpolation,
    ),
    ("studies: kernels of a whole Ewald sum", studies_spme::sums),
    ("engine: energies, pressure, forces", engine::forces),
    ("engine: pairs left out", engine::exclusions),
    ("engine: lists of particles and of warps", engine::tiles),
    ("engine: motion, lists, images", engine::motion),
    ("engine: same bits again and resumed", engine::continuation),
    ("engine: from the CPU to the device and back", engine::handover),
    ("engine: minimization", engine::minimization),
    ("engine: pairs by distance", pair_counts::counts),
    ("bonded: every potential, chains, hubs", bonded::potentials),
    ("bonded: particles in a line", bonded::straight),
    ("bonded: motion, same bits resumed", bonded::motion),
    (
        "electrostatics: energies, pressure, forces",
        electrostatics::forces,
    ),
    (
        "electrostatics: motion, same bits resumed",
        electrostatics::motion,
    ),
    ("electrostatics: multilevel summation", electrostatics::multilevel),
    ("electrostatics: rigid waters", electrostatics::waters),
    ("electrostatics: a cell that shrinks", electrostatics::shrinking),
    ("electrostatics: what is not done", electrostatics::refused),
    ("constraints: energies, pressure", constraints::observed),
    ("constraints: motion, lengths", constraints::motion),
    (
        "constraints: same bits again and resumed",
        constraints::continuation,
    ),
    ("constraints: minimization", constraints::minimization),
    ("constraints: what cannot be held or done", constraints::refused),
    ("rotation: energies, pressure, forces, torques", rotation::forces),
    ("rotation: numbers of every particle's own", rotation::own_numbers),
    ("rotation: motion, same bits resumed", rotation::motion),
    ("rotation: minimization", rotation::minimization),
    ("engine: explosions explained", watch::explosions),
    ("small systems: any number of lanes", small::lanes),
    ("small systems: ways to move", small::motion),
    ("small systems: cells shorter than the radius", small::short_cells),
    ("small systems: triclinic cells", small::triclinic),
    ("small systems: exclusions", small::exclusions),
    ("small systems: lists that do not fit", small::overflow),
    ("small systems: snapshots on the way", small::on_the_way),
    ("small systems: particles that explode", small::exploded),
];

/// Checks that run at the same time on a card: kernels are compiled on the host, one after another in each.
const AT_ONCE: usize = 8;

/// How many checks have `only` in their names.
pub fn count(only: &str) -> usize {
    CHECKS.iter().filter(|(what, _)| what.contains(only)).count()
}

/// Runs every check whose name has `only` in it: on a card several at a time, on emulated devices one at a time on each
/// of them. `report` hears of each when it is over, in any order.
///
/// All devices must be of one kind; there must be one at least.
pub fn run(
    devices: &[Device],
    extent: Extent,
    seed: u64,
    only: &str,
    report: &(dyn Fn(&Finding) + Sync),
) -> Vec<Finding> {
    let chosen: Vec<_> = CHECKS.iter().filter(|(what, _)| what.contains(only)).collect();
    let Some(device) = devices.first() else {
        return Vec::new();
    };
    // An emulated device is one thread's work, and tools that watch a card do not like to see two streams captured at
    // once.
    let alone = device.info().emulated || extent < Extent::Full;
    let workers = if alone { devices.len() } else { AT_ONCE };
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let mut chosen = &chosen[..];
    // Memory in use is counted while nobody else takes any.
    if let Some((&&first, rest)) = chosen
        .split_first()
        .filter(|(first, _)| first.0.starts_with("memory"))
    {
        let finding = run_one(device, extent, seed, first);
        report(&finding);
        found
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((0, finding));
        chosen = rest;
    }
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let device = &devices[worker % devices.len()];
            let (next, found) = (&next, &found);
            scope.spawn(move || {
                // The longest are the last in the list.
                while let Some(number) = chosen.len().checked_sub(next.fetch_add(1, Ordering::Relaxed) + 1) {
                    let finding = run_one(device, extent, seed, *chosen[number]);
                    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                    report(&finding);
                    found.push((number + 1, finding));
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_by_key(|(number, _)| *number);
    found.into_iter().map(|(_, finding)| finding).collect()
}

fn run_one(device: &Device, extent: Extent, seed: u64, (what, check): (&'static str, Check)) -> Finding {
    let mut place = Place {
        device,
        extent,
        random: Random(seed),
        cases: 0,
    };
    let began = Instant::now();
    let failure = check(&mut place).err().map(|wrong| wrong.to_string());
    Finding {
        what,
        cases: place.cases,
        seconds: began.elapsed().as_secs_f64(),
        failure,
    }
}

/// Every module that the checks use, in every specialization.
pub fn modules() -> Vec<ModuleSource> {
    let mut all = primitives::modules();
    all.push(basics::source());
    all.extend(debye_studies::modules());
    all.extend(debye::engines::cuda::mesh::modules());
    all.extend(debye::maps::cuda::modules());
    all.extend(engine::modules());
    all.push(debye::engines::cuda::pair_counting());
    all.extend(bonded::modules());
    all.extend(constraints::modules());
    all.extend(electrostatics::modules());
    all.extend(rotation::modules());
    all
}

/// Compiles a module with NVRTC for an architecture like `sm_90`; gives the warnings. Since 12.9 it can be told that the
/// code need not be fast, and takes an eighth of the time.
pub fn warnings(
    nvrtc: &debye_gpu::Nvrtc,
    source: &ModuleSource,
    architecture: &str,
) -> Result<String, debye_gpu::NvrtcError> {
    let mut source = source.clone();
    if nvrtc.version()? >= (12, 9) {
        source = source.option("--Ofast-compile=max");
    }
    Ok(debye_gpu::compile_for(nvrtc, &source, architecture)?.log)
}

/// Kernels that are wrong on purpose, to test the emulation.
pub fn faults() -> ModuleSource {
    ModuleSource::new("faults.cu", include_str!("kernels/faults.cu"))
}

impl Place<'_> {
    /// Counts a case and compares lengths.
    fn count<T>(&mut self, what: &str, got: &[T], want: &[T]) -> Result<(), Wrong> {
        self.cases += 1;
        if got.len() == want.len() {
            return Ok(());
        }
        let (got, want) = (got.len(), want.len());
        Err(Wrong::Result(format!("{what}: {got} values, expected {want}")))
    }

    /// Counts a case and compares.
    fn expect<T: PartialEq + std::fmt::Debug>(
        &mut self,
        what: &str,
        got: &[T],
        want: &[T],
    ) -> Result<(), Wrong> {
        self.count(what, got, want)?;
        let wrong = got.iter().zip(want).position(|(got, want)| got != want);
        wrong.map_or(Ok(()), |at| {
            Err(Wrong::Result(format!(
                "{what}: value {at} of {} is {:?}, expected {:?}",
                got.len(),
                got[at],
                want[at]
            )))
        })
    }

    /// Lengths that catch out kernels: nothing, one, around powers of two and tiles, and some at random.
    fn lengths(&mut self) -> Vec<usize> {
        let mut all = vec![0, 1, 2, 33, 255, 1025];
        if self.extent >= Extent::Small {
            all.extend([3, 31, 32, 256, 257, 1023, 1024, 4095, 4096, 4097, 12_289]);
            all.extend((0..6).map(|_| self.random.below(20_000)));
        } else {
            all.extend([4097, self.random.below(6000)]);
        }
        if self.extent == Extent::Full {
            all.extend([65_537, 1 << 20, (1 << 20) + 1]);
            all.extend((0..12).map(|_| self.random.below(3_000_000)));
        }
        all
    }
}

/// A small generator of random numbers: the same everywhere for one seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    /// Between -1 and 1.
    fn real(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}
