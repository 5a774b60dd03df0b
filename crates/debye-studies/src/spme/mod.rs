//! `spme`: the real-space sum by tiles, charges on a mesh, transforms, and the whole Ewald sum of rock salt (Meitz &
//! Hattrup, "Smooth particle mesh Ewald in CUDA.jl", 2023). `docs/studies/spme.md` is its page.

mod beside;
mod device;
mod exact;
mod interpolation;
mod order;
mod paper;
mod real_space;
mod reciprocal;
mod report;
mod salt;
mod search;
mod tiles;
mod whole;

pub use exact::Sums;
pub use interpolation::{Interpolation, MeshHow, MeshVariant};
pub use order::{BLOCK, Order, hilbert};
pub use real_space::{How, KindVariant, Kinds, OneKind, RealSpace, RealVariant};
pub use reciprocal::{Potential, Sizes, TransformHow, TransformVariant};
pub use salt::{Ions, Salt, Split};
pub use search::{Listed, Search, SearchHow, SearchVariant};
pub use tiles::{Blocks, Kind, Tile};
pub use whole::{Whole, WholeHow, WholeVariant};

pub(crate) use device::modules;

use crate::lammps::Lammps;
use crate::study::{Bench, Extent, Input, Place, Row, Study, StudyError};

pub(crate) const STUDY: Study = Study {
    name: "spme",
    paper: "E. Meitz, N. Hattrup, Smooth particle mesh Ewald in CUDA.jl, Carnegie Mellon University (2023)",
    what: "the real-space sum by tiles of 32 × 32 ions along a Hilbert curve, the search for neighbors, charges on a mesh, \
           transforms, and the whole Ewald sum of rock salt",
    page: "docs/studies/spme.md",
    counters: false,
    why,
    run,
};

const SEARCH: &str = "neighbor search";
const REAL: &str = "real space";
const KINDS: &str = "kinds of tile";
const MESH: &str = "interpolation";
const FFT: &str = "transform";
const WHOLE: &str = "whole sum";
const MADELUNG: &str = "perfect crystal";

/// Why the engine may lose.
fn why(row: &Row) -> Option<&'static str> {
    match (row.ladder, row.place) {
        (SEARCH, Place::Cpu) => Some(
            "it sorts ions and lists single ions within cut-off and skin, where the others compare boxes of blocks that are \
             sorted already; that pays in the pair sum, whose list holds few pairs beyond the cut-off",
        ),
        (SEARCH, Place::Cuda) => Some(
            "in some ten launches it sorts ions and lists single ions within cut-off and skin, where the other compares boxes of \
             blocks that are sorted already, in one; that pays in the pair sum, whose list holds few pairs beyond the cut-off",
        ),
        (REAL, _) => Some(
            "a step also moves ions and looks after its lists, and the engine sums a pair twice where a tile sums it once",
        ),
        (MESH, Place::Cpu) => Some("it sorts ions by slabs of planes and starts threads in every pass"),
        (MESH, Place::Cuda) => Some(
            "blocks own bricks of the mesh and read every ion near them; with its lists to make it also sorts ions, in more than \
             one launch",
        ),
        (FFT, Place::Cpu) => Some("it shares lines among threads, which meshes of few points do not repay"),
        (FFT, Place::Cuda) => {
            Some("how it cuts lines follows a rule, which need not be the best for this mesh")
        }
        (WHOLE, Place::Cpu) if !row.variant.contains("its own mesh") => Some(
            "it has the paper's mesh, where LAMMPS chooses its own, with the errors of the table; a step also starts threads for \
             pairs, for the mesh and for transforms",
        ),
        (WHOLE, Place::Cpu) => Some(
            "a step also moves ions and looks after its lists, and starts threads for pairs, for the mesh and for transforms",
        ),
        (WHOLE, Place::Cuda) => {
            Some("a step also moves ions and looks after its lists, which the paper's kernels do not")
        }
        _ => None,
    }
}

fn run(bench: &mut Bench<'_>) -> Result<(), StudyError> {
    let sizes = sizes(bench);
    real_space(bench, &sizes);
    report::orders(bench)?;
    kinds(bench)?;
    search(bench, &sizes)?;
    interpolation(bench, &sizes);
    transforms(bench);
    whole(bench, &sizes)
}

/// Cells along an axis.
fn sizes(bench: &Bench<'_>) -> Vec<usize> {
    match (bench.extent, bench.device().is_some()) {
        (Extent::Smallest, _) => vec![2, 4],
        (Extent::Quick, _) | (Extent::Full, false) => (1..=salt::LARGEST).collect(),
        (Extent::Full, true) => vec![1, 2, 3, 4, 5, 6, 7, 8, 9, 20, 80],
    }
}

/// Whether the engine on a device is asked for crystals of this size too: it compiles its kernels anew for each.
fn engine_takes(extent: Extent, cells: usize) -> bool {
    extent != Extent::Full || [3, 5, 9, 20, 80].contains(&cells)
}

fn ions(cells: usize) -> usize {
    8 * cells.pow(3)
}

/// The most ions that all pairs on the processor are given.
fn most_of_all_pairs(extent: Extent) -> usize {
    extent.pick(ions(2), ions(9), ions(9))
}

/// The most ions that anything on the processor is given.
fn most_on_host(extent: Extent) -> usize {
    extent.pick(ions(4), ions(9), ions(20))
}

fn real_space(bench: &mut Bench<'_>, sizes: &[usize]) {
    let extent = bench.extent;
    for &cells in sizes {
        let input = RealSpace(Salt::new(Ions::Displaced, cells));
        for how in How::ALL {
            if how == How::Engine && !engine_takes(extent, cells) {
                continue;
            }
            let variant = RealVariant {
                most: match how {
                    How::Loop => most_of_all_pairs(extent),
                    How::TilesOnHost(_) | How::EngineOnHost => most_on_host(extent),
                    How::Tiles(Order::Hilbert | Order::Columns, Kinds::Three) | How::Engine => usize::MAX,
                    // The largest crystal has one list of the paper's and one of ours.
                    How::Tiles(..) => ions(20),
                },
                ..RealVariant::new(how)
            };
            bench.measure(REAL, "ions", input.work(), &input, &variant);
        }
    }
    report::real_space(bench);
}

fn kinds(bench: &mut Bench<'_>) -> Result<(), StudyError> {
    let largest = if bench.device().is_some() {
        20
    } else {
        salt::LARGEST
    };
    // Four cells have no sparse tiles.
    let cells = bench.extent.pick(5, salt::LARGEST, largest);
    let mut counted = Vec::new();
    for kind in Kind::ALL {
        let input = OneKind::new(Salt::new(Ions::Displaced, cells), kind)?;
        for place in [Place::Cpu, Place::Cuda] {
            bench.measure(KINDS, "tiles", input.work(), &input, &KindVariant(place, kind));
        }
        counted.push((kind, input.tiles(), input.pairs()));
    }
    report::kinds(bench, &counted);
    Ok(())
}

fn search(bench: &mut Bench<'_>, sizes: &[usize]) -> Result<(), StudyError> {
    let extent = bench.extent;
    // Where the square of the ions begins to count.
    let more: &[usize] = extent.pick(&[], &[12, 16, 24], &[14, 30]);
    let mut sizes: Vec<usize> = sizes.iter().chain(more).copied().collect();
    sizes.sort_unstable();
    for cells in sizes {
        let input = Search::new(Salt::new(Ions::Displaced, cells))?;
        for how in SearchVariant::ALL {
            if how == SearchHow::Engine && !engine_takes(extent, cells) && !more.contains(&cells) {
                continue;
            }
            let variant = SearchVariant {
                most: match how {
                    SearchHow::AllPairs | SearchHow::EngineOnHost => extent.pick(ions(4), ions(24), ions(30)),
                    _ => usize::MAX,
                },
                ..SearchVariant::new(how)
            };
            bench.measure(SEARCH, "ions", input.work(), &input, &variant);
        }
    }
    report::search(bench);
    Ok(())
}

fn interpolation(bench: &mut Bench<'_>, sizes: &[usize]) {
    let extent = bench.extent;
    for &cells in sizes {
        let input = Interpolation::new(Salt::new(Ions::Displaced, cells));
        for how in MeshHow::ALL {
            let engine = matches!(how, MeshHow::Engine | MeshHow::EngineAndLists);
            if engine && !engine_takes(extent, cells) {
                continue;
            }
            let variant = MeshVariant {
                how,
                most: match how {
                    MeshHow::Loop | MeshHow::EngineOnHost => most_on_host(extent),
                    MeshHow::Atomics { stored: true } | MeshHow::Engine => usize::MAX,
                    _ => ions(20),
                },
            };
            bench.measure(MESH, "ions", input.work(), &input, &variant);
        }
    }
    report::interpolation(bench);
}

/// Tolerances of Fig. 6, for four cells along an axis.
fn transforms(bench: &mut Bench<'_>) {
    let tolerances = bench
        .extent
        .pick(&[1e-3, 1e-4][..], &paper::TOLERANCES, &paper::TOLERANCES);
    let mut chosen = Vec::new();
    for &tolerance in tolerances {
        let salt = Salt::within(Ions::Displaced, 4, tolerance);
        let both = [Sizes::Computed, Sizes::Smooth].map(|sizes| Potential::new(&salt, sizes));
        for variant in TransformVariant::ALL {
            let input = &both[usize::from(variant.sizes == Sizes::Smooth)];
            bench.measure(FFT, "points", tolerance, input, &variant);
        }
        chosen.push((tolerance, both.map(|input| input.points)));
    }
    report::transforms(bench, &chosen);
}

fn whole(bench: &mut Bench<'_>, sizes: &[usize]) -> Result<(), StudyError> {
    let (extent, lammps) = (bench.extent, Lammps::find());
    let most = |how: WholeHow| match how {
        WholeHow::Loops => extent.pick(ions(4), ions(9), ions(9)),
        WholeHow::EngineOnHost | WholeHow::ChosenOnHost => most_on_host(extent),
        // LAMMPS counts in seconds beyond.
        WholeHow::Lammps => extent.pick(ions(2), ions(9), ions(9)),
        _ => usize::MAX,
    };
    let variants = WholeHow::ALL.map(|how| WholeVariant {
        most: most(how),
        lammps: lammps.clone(),
        ..WholeVariant::new(how)
    });
    for &cells in sizes {
        let input = Whole(Salt::new(Ions::Displaced, cells));
        for variant in &variants {
            let asked = match variant.how {
                WholeHow::Chosen | WholeHow::Engine => engine_takes(extent, cells),
                _ => true,
            };
            if !asked {
                continue;
            }
            bench.measure(WHOLE, "ions", input.work(), &input, variant);
        }
    }
    let perfect = Whole(Salt::new(Ions::Perfect, extent.pick(2, 9, 9)));
    for variant in &variants {
        bench.measure(MADELUNG, "ions", perfect.work(), &perfect, variant);
    }
    report::whole(bench, sizes, &lammps)
}
