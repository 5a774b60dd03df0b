//! `potential-map`: direct Coulomb summation (Stone, "Molecular visualization and analysis", chapter 15 of Kirk & Hwu,
//! *Programming Massively Parallel Processors*, third edition, 2016). `docs/studies/potential-map.md` is its page.

mod input;
mod ions;
mod slices;
mod variants;

pub use input::{Arrangement, Molecule};
pub use slices::Version;
pub use variants::{How, MapVariant};

pub(crate) use slices::source;

use debye::plot::Axis;

use crate::study::{Bench, Comparison, Extent, Figure, Place, Row, Section, Shown, Study, StudyError, Table};

pub(crate) const STUDY: Study = Study {
    name: "potential-map",
    paper: "J. Stone, Application case study: molecular visualization and analysis, in Kirk & Hwu, Programming \
            Massively Parallel Processors (2016), chapter 15",
    what: "the electrostatic potential on a grid by direct summation: three kernels, the sequential loop, the engine, and \
           methods of linear cost",
    page: "docs/studies/potential-map.md",
    counters: false,
    why,
    run,
};

/// What the paper's rates of GFLOPS and of evaluations imply for one evaluation: 535.16 / 72.56. Of the eight points of
/// version 3: 11 operations shared by all, and 6 for each, with two for the reciprocal root.
const FLOPS: f64 = 7.375;

const GRIDS: &str = "grid";
const ATOMS: &str = "atoms";
const VOLUMES: &str = "volume";
const UNIT: &str = "evaluations";

/// Why the engine may lose.
fn why(row: &Row) -> Option<&'static str> {
    match (row.ladder, row.place) {
        (GRIDS | ATOMS, Place::Cpu) => Some(
            "it plans the map and cuts the grid for threads before it sums, which few evaluations do not repay",
        ),
        (GRIDS | ATOMS, Place::Cuda) => Some(
            "its kernel is made for grids that fill a card; with lines it also sorts charges into near and far ones, which few \
             evaluations do not repay",
        ),
        _ => None,
    }
}

fn run(bench: &mut Bench<'_>) -> Result<(), StudyError> {
    grids(bench);
    padding(bench);
    atoms(bench);
    volumes(bench);
    ions::measure(bench);
    Ok(())
}

/// The rungs of the direct sum.
fn direct() -> Vec<How> {
    let mut all = vec![How::Loop, How::LoopOnThreads, How::EngineOnOneThread, How::Engine];
    all.extend(Version::ALL.map(How::Version));
    all.extend([How::EngineOnDevice, How::Lines]);
    all
}

/// The most evaluations that a rung is given, so that a study ends.
fn most(extent: Extent, how: How) -> f64 {
    match how {
        How::Loop | How::LoopOnThreads => extent.pick(1e7, 3e8, 1e9),
        How::EngineOnOneThread | How::Engine => extent.pick(1e8, 4e9, 8e9),
        _ => f64::INFINITY,
    }
}

/// Rates over sizes of the grid: section 15.2 to 15.5.
fn grids(bench: &mut Bench<'_>) {
    let extent = bench.extent;
    let sizes: &[usize] = extent.pick(&[20], &[32, 48, 64, 100], &[32, 64, 100, 192, 320, 512, 1000]);
    let (slices, atoms) = extent.pick((4, 200), (8, 1000), (64, 4096));
    for &n in sizes {
        let molecule = Molecule::new(Arrangement::Random, [n, n, slices.min(n)], atoms);
        for how in direct() {
            let whole = false;
            let variant = MapVariant {
                how,
                whole,
                most: most(extent, how),
            };
            bench.measure(GRIDS, UNIT, n as f64, &molecule, &variant);
        }
    }
    let found = &bench.found;
    let rate = |name: &str| found.best_rate(GRIDS, name);
    let gflops = |name: &str| rate(name).map(|r| r * FLOPS * 1e-9);
    // On the largest grid that both were given.
    let ratio = |a: &str, b: &str| found.lead(GRIDS, a, b);
    let compare = |what: &str, paper, source, ours, unit| Comparison {
        what: what.into(),
        paper,
        source,
        ours,
        unit,
    };
    let giga = |name: &str| rate(name).map(|r| r * 1e-9);
    let three = "GPU version 3";
    let comparisons = vec![
        compare(
            "version 3",
            72.56,
            "a Fermi GPU",
            giga(three),
            "10⁹ evaluations/s",
        ),
        compare(
            "version 3",
            171.83,
            "GeForce GTX 680",
            giga(three),
            "10⁹ evaluations/s",
        ),
        compare("version 3", 535.16, "a Fermi GPU", gflops(three), "GFLOPS"),
        compare("version 3", 1267.26, "GeForce GTX 680", gflops(three), "GFLOPS"),
        compare(
            "the engine beside it",
            171.83,
            "GeForce GTX 680",
            giga("GPU engine"),
            "10⁹ evaluations/s",
        ),
        compare(
            "version 2 over version 1",
            1.4,
            "§15.3",
            ratio("GPU version 2", "GPU version 1").map(|lead| lead.ratio),
            "times",
        ),
    ];
    let cpu = ratio("CPU engine, one thread", "CPU loop of Fig. 15.3");
    let gpu = ratio("GPU engine", three);
    let meaning = match (gpu, cpu) {
        (Some(lead), _) => {
            let (n, blocks) = (lead.size, slices::blocks(Version::Three, 192));
            let why = match lead.wins() {
                true => {
                    ": it takes the whole grid in one launch and computes a part of the reciprocal roots by multiplications"
                }
                false => "",
            };
            format!(
                "On slices of {n} × {n} points the engine's kernel is {} version 3{why}. A slice of 192 × 192 points is {blocks} \
                 blocks of version 3, for {} multiprocessors.",
                lead.words(),
                bench.device().map_or(0, |device| device.info().multiprocessors)
            )
        }
        (None, Some(lead)) => format!(
            "On one thread and slices of {n} × {n} points the engine's vectors are {} the paper's sequential loop, which \
             divides by a root for one point at a time. The kernels of the paper were not measured: no CUDA device was used.",
            lead.words(),
            n = lead.size,
        ),
        _ => "Nothing was measured.".into(),
    };
    let chart = found.chart(
        GRIDS,
        "Direct summation: evaluations per second",
        Axis::log("points along the edge of a slice"),
        Axis::log("10⁹ atom evaluations/s"),
        |row| row.rate().map(|rate| rate * 1e-9),
    );
    let section = Section {
        title: "Three versions of the direct sum, and the engine".into(),
        meaning,
        comparisons,
        tables: vec![rates(bench)],
        figures: vec![Figure {
            name: "rates".into(),
            caption: format!(
                "{} slices, {atoms} atoms. Dashed: this processor. Solid: the CUDA device.",
                slices
            ),
            shown: Shown::Chart(Box::new(chart)),
        }],
        ladders: &[GRIDS],
        ..Section::default()
    };
    bench.found.sections.push(section);
}

/// The highest rate of every rung.
fn rates(bench: &Bench<'_>) -> Table {
    let mut rows = Vec::new();
    for how in direct() {
        let variant = MapVariant {
            how,
            whole: false,
            most: 0.0,
        };
        let name = crate::study::Variant::name(&variant);
        let rate = bench.found.best_rate(GRIDS, &name);
        let show = |x: Option<f64>| x.map_or("not measured".into(), crate::study::number);
        rows.push(vec![
            name,
            show(rate.map(|r| r * 1e-9)),
            show(rate.map(|r| r * FLOPS * 1e-9)),
        ]);
    }
    Table {
        name: "best-rates".into(),
        title: format!(
            "The highest rate of each rung; an evaluation counts {FLOPS} operations, as in the paper"
        ),
        head: ["", "10⁹ evaluations/s", "GFLOPS"].map(String::from).into(),
        rows,
    }
}

/// What padding costs: section 15.4.
fn padding(bench: &mut Bench<'_>) {
    let share =
        |padded: usize, points: usize| format!("{:.1} %", 100.0 * (padded as f64 / points as f64 - 1.0));
    let mut rows = Vec::new();
    for n in [32_usize, 64, 100, 192, 300, 512, 1000] {
        let mut row = vec![format!("{n} × {n}")];
        for version in Version::ALL {
            let [x, y] = version.padded([n, n]);
            row.push(format!("{x} × {y}"));
            row.push(share(x * y, n * n));
        }
        let [x, y] = Version::Three.padded([n, n]);
        row.push(share(x * y * n.next_multiple_of(slices::SIDE), n * n * n));
        rows.push(row);
    }
    let overhead = |n: usize, cube: bool| {
        let [x, y] = Version::Three.padded([n, n]);
        let z = if cube {
            n.next_multiple_of(slices::SIDE) as f64 / n as f64
        } else {
            1.0
        };
        Some(100.0 * ((x * y) as f64 * z / (n * n) as f64 - 1.0))
    };
    let compare = |what: &str, paper, ours| Comparison {
        what: what.into(),
        paper,
        source: "§15.4",
        ours,
        unit: "% more points",
    };
    bench.found.sections.push(Section {
        title: "What padding costs".into(),
        meaning: "Version 3 pads a slice to multiples of 128 × 16 points, so that small grids pay for points that nobody \
                  wants. The engine cuts its lines so that every thread has work and pads nothing."
            .into(),
        comparisons: vec![
            compare("100 × 100, a slice", 43.0, overhead(100, false)),
            compare("1000 × 1000, a slice", 3.2, overhead(1000, false)),
            compare("100 × 100 × 100, as a whole", 60.0, overhead(100, true)),
        ],
        tables: vec![Table {
            name: "padding".into(),
            title: "Points of a padded slice, and how many more they are".into(),
            head: ["slice", "version 1", "", "version 2", "", "version 3", "", "version 3, whole cube"]
                .map(String::from)
                .into(),
            rows,
        }],
        ..Section::default()
    });
}

/// Time against the number of atoms, from memory to memory: Fig. 15.10.
fn atoms(bench: &mut Bench<'_>) {
    let extent = bench.extent;
    let edge = extent.pick(12, 40, 128);
    let numbers: &[usize] = extent.pick(
        &[10, 100],
        &[10, 30, 100, 300, 1000, 3000],
        &[10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000],
    );
    for &number in numbers {
        let molecule = Molecule::new(Arrangement::Random, [edge; 3], number);
        for how in direct() {
            let variant = MapVariant {
                how,
                whole: true,
                most: most(extent, how),
            };
            bench.measure(ATOMS, UNIT, number as f64, &molecule, &variant);
        }
    }
    let found = &bench.found;
    let chart = found.chart(
        ATOMS,
        "Time of a whole map",
        Axis::log("atoms"),
        Axis::log("seconds"),
        |row| row.seconds,
    );
    let (plain, three, engine) = ("CPU loop of Fig. 15.3", "GPU version 3", "GPU engine");
    let last = |name: &str| {
        found
            .of(ATOMS, name)
            .filter(|row| row.seconds.is_some())
            .last()
            .and_then(|row| row.rate())
    };
    let ratio = |a: &str, b: &str| Some(last(a)? / last(b)?);
    let crossover = |gpu: &str| {
        // Below the smallest number of atoms there is no crossing to see.
        found.crossover(ATOMS, gpu, plain)
    };
    let meaning = match found.lead(ATOMS, engine, plain) {
        Some(lead) => format!(
            "From atoms in the host's memory to values there, the engine's map of {} atoms is {} the sequential loop. Kernels are \
             compiled before; where a curve is flat, copies and launches take the time.",
            lead.size,
            lead.words()
        ),
        None => format!(
            "Between the two largest numbers of atoms the time of the sequential loop grows with their power {}. Without a CUDA \
             device there is no crossing to be seen.",
            found
                .growth(ATOMS, plain)
                .map_or("(not measured)".into(), |p| format!("{p:.2}"))
        ),
    };
    let section = Section {
        title: "Processor against GPU (Fig. 15.10)".into(),
        meaning,
        comparisons: vec![
            Comparison {
                what: "atoms at which version 3 overtakes the sequential loop".into(),
                paper: 400.0,
                source: "Fig. 15.10",
                ours: crossover(three),
                unit: "atoms",
            },
            Comparison {
                what: "version 3 over the sequential loop, many atoms".into(),
                paper: 44.0,
                source: "Fig. 15.10",
                ours: ratio(three, plain),
                unit: "times",
            },
            Comparison {
                what: "the engine over the sequential loop, many atoms".into(),
                paper: 44.0,
                source: "Fig. 15.10",
                ours: ratio(engine, plain),
                unit: "times",
            },
        ],
        figures: vec![Figure {
            name: "crossover".into(),
            caption: format!(
                "{edge} × {edge} × {edge} points. Dashed: this processor. Solid: the CUDA device."
            ),
            shown: Shown::Chart(Box::new(chart)),
        }],
        ladders: &[ATOMS],
        ..Section::default()
    };
    bench.found.sections.push(section);
}

/// Time against the volume, with as many charges per nm³ as water: what section 15.5 says of quadratic cost.
fn volumes(bench: &mut Bench<'_>) {
    let extent = bench.extent;
    let edges: &[usize] = extent.pick(&[16], &[24, 40, 60, 80], &[32, 64, 100, 160, 256]);
    for &n in edges {
        let volume = (n as f64 * input::SPACING).powi(3);
        let molecule = Molecule::new(Arrangement::Random, [n; 3], (100.0 * volume) as usize);
        for place in [Place::Cpu, Place::Cuda] {
            let direct = match place {
                Place::Cpu => How::Engine,
                Place::Cuda => How::EngineOnDevice,
            };
            for how in [direct, How::Cutoff(place), How::Multilevel(place)] {
                let variant = MapVariant {
                    how,
                    whole: true,
                    most: most(extent, how),
                };
                bench.measure(VOLUMES, UNIT, volume, &molecule, &variant);
            }
        }
    }
    let found = &bench.found;
    let chart = found.chart(
        VOLUMES,
        "Time of a map of a volume",
        Axis::log("volume (nm³)"),
        Axis::log("seconds"),
        |row| row.seconds,
    );
    let crossing = |place: &str| {
        found.crossover(
            VOLUMES,
            &format!("{place} engine, multilevel"),
            &format!("{place} engine"),
        )
    };
    let place = if found.device.is_ok() { "GPU" } else { "CPU" };
    let power = |name: &str| {
        let power = found.growth(VOLUMES, name);
        power.map_or("(not measured)".into(), |p| format!("{p:.2}"))
    };
    let meaning = format!(
        "By their operations the direct sum grows with the square of a volume, and multilevel summation with its first power. \
         Between the two largest volumes here times grew with the power {} and {}. {}",
        power(&format!("{place} engine")),
        power(&format!("{place} engine, multilevel")),
        crossing(place).map_or("Their curves do not cross here.".into(), |v| format!(
            "On the {place} they cross at {v:.0} nm³; `debye map --method auto` takes the cheaper one."
        )),
    );
    bench.found.sections.push(Section {
        title: "Quadratic and linear cost (§15.5)".into(),
        meaning,
        figures: vec![Figure {
            name: "volumes".into(),
            caption: "Points 0.05 nm apart, 100 charges per nm³. The cut-off leaves out what is far; multilevel summation \
                      does not."
                .into(),
            shown: Shown::Chart(Box::new(chart)),
        }],
        ..Section::default()
    });
}
