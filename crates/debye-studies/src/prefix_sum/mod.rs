//! `prefix-sum`: scans, the loop over bins, and the argon sphere (Hedman, "Fast prefix sum on the GPU, for molecular
//! dynamics", 2016). `docs/studies/prefix-sum.md` is its page.

mod banks;
mod bins;
mod clusters;
mod forces;
mod scans;
mod sphere;

pub use banks::Counted;
pub use bins::{Argon, BinVariant, Gas};
pub use scans::{Counts, How, Numbers, ScanVariant};

use debye::plot::Axis;
use debye_gpu::ModuleSource;

use crate::study::{
    Bench, Comparison, Extent, Figure, Findings, Place, Row, Section, Shown, Study, StudyError, Table,
    Variant, number,
};

pub(crate) const STUDY: Study = Study {
    name: "prefix-sum",
    paper: "D. Hedman, Fast prefix sum on the GPU, for molecular dynamics, Luleå University of Technology (2016)",
    what: "prefix sums by balanced trees and double-buffered, the loop over bins for Lennard-Jones forces, and the collapse \
           of a sphere of argon",
    page: "docs/studies/prefix-sum.md",
    counters: false,
    why,
    run,
};

pub(crate) fn modules() -> Vec<ModuleSource> {
    let both = [false, true];
    let scans = both.map(|padded| scans::source(padded, scans::THREADS));
    scans.into_iter().chain(both.map(bins::source)).collect()
}

const SCANS: &str = "scan";
const LAUNCHED: &str = "scan, launched by the host";
const FORCES: &str = "forces";

/// Why the engine may lose.
fn why(row: &Row) -> Option<&'static str> {
    match (row.ladder, row.place) {
        (SCANS, Place::Cpu) => Some(
            "it sums in 64 bits first, so that a sum that does not fit is reported, and so reads the array twice; threads share \
             blocks of 2^15 elements, so that up to there one thread has them all",
        ),
        (SCANS | LAUNCHED, Place::Cuda) => Some(
            "its tiles of 2048 elements or more hand sums to each other through memory, also where there is only one; the other has \
             one block of 512 threads there, and no second pass",
        ),
        (FORCES, _) => {
            Some("a step also moves particles and looks after its lists, which a force kernel does not")
        }
        _ => None,
    }
}

fn run(bench: &mut Bench<'_>) -> Result<(), StudyError> {
    scans(bench);
    conflicts(bench);
    forces::forces(bench)?;
    if bench.stopped() {
        return Ok(());
    }
    sphere::collapse(bench)
}

/// The most elements that a rung is given.
fn most(extent: Extent, how: How) -> usize {
    match how {
        How::QuadraticOnHost => extent.pick(1 << 10, 1 << 15, 1 << 16),
        How::Quadratic => extent.pick(1 << 10, 1 << 17, 1 << 19),
        _ => usize::MAX,
    }
}

/// Prefix sums of all lengths: Fig. 1.
fn scans(bench: &mut Bench<'_>) {
    let extent = bench.extent;
    let powers: Vec<u32> = extent.pick(vec![9, 11], (9..=24).collect(), (9..=27).collect());
    for &power in &powers {
        let numbers = Numbers::new(Counts::Random, 1 << power);
        let size = f64::from(1_u32 << power);
        for how in ScanVariant::ALL {
            let mut variant = ScanVariant {
                most: most(extent, how),
                ..ScanVariant::new(how)
            };
            bench.measure(SCANS, "elements", size, &numbers, &variant);
            let compared = matches!(
                how,
                How::Loop | How::Tree { padded: true } | How::Double | How::Engine
            );
            if compared {
                variant.launched = variant.place() == Place::Cuda;
                bench.measure(LAUNCHED, "elements", size, &numbers, &variant);
            }
        }
    }
    let found = &bench.found;
    // At the largest size that both ran.
    let ratio = |a: &str, b: &str| Some(found.lead(SCANS, a, b)?.ratio);
    let chart = |ladder: &str, title: &str| {
        let (x, y) = (Axis::log("elements"), Axis::log("million elements per second"));
        found.chart(ladder, title, x, y, |row| row.rate().map(|rate| rate * 1e-6))
    };
    let (tree, double, engine, plain) = (
        "GPU balanced trees",
        "GPU double-buffered",
        "GPU engine",
        "CPU loop",
    );
    let meaning = match (
        found.lead(SCANS, engine, double),
        found.lead(SCANS, "CPU engine", plain),
    ) {
        (Some(lead), _) => {
            let why = match lead.wins() {
                true => ": it reads and writes every element once, in one launch",
                false => "",
            };
            format!(
                "For {} elements the engine's scan is {} the double-buffered one{why}. Both kernels of the paper write the array, \
                 read it again and write it once more when they add the sums of blocks.{}",
                number(lead.size),
                lead.words(),
                naive(found),
            )
        }
        (None, Some(lead)) => format!(
            "For {} elements the engine's scan on {} threads is {} one loop. The kernels of the paper were not measured: no CUDA \
             device was used.",
            number(lead.size),
            rayon::current_num_threads(),
            lead.words(),
        ),
        _ => "Nothing was measured.".into(),
    };
    let percent = |a: Option<f64>| a.map(|a| 100.0 * (a - 1.0));
    let equal = found
        .lead_at(LAUNCHED, double, tree, 65_536.0)
        .map(|lead| lead.ratio);
    let mut figures = vec![Figure {
        name: "scans".into(),
        caption: "Fig. 1: rates on the device, by replays of a graph. Dashed: this processor.".into(),
        shown: Shown::Chart(Box::new(chart(SCANS, "Prefix sums"))),
    }];
    if found.device.is_ok() {
        figures.push(Figure {
            name: "scans-launched".into(),
            caption: "The same with launches and waiting by the host, as the paper measured it.".into(),
            shown: Shown::Chart(Box::new(chart(LAUNCHED, "Prefix sums, launched one by one"))),
        });
    }
    let section = Section {
        title: "Prefix sums (Fig. 1)".into(),
        meaning,
        comparisons: vec![
            Comparison {
                what: "double-buffered before balanced trees, large arrays".into(),
                paper: 14.0,
                source: "GeForce GTX 760",
                ours: percent(ratio(double, tree)),
                unit: "% faster",
            },
            Comparison {
                what: "double-buffered over one loop of the processor".into(),
                paper: 10.0,
                source: "GeForce GTX 760, Core i7-4770K",
                ours: ratio(double, plain),
                unit: "times",
            },
            Comparison {
                what: "the same over the engine on all threads".into(),
                paper: 2.5,
                source: "2.5 to 3, estimated for a parallel CPU scan",
                ours: ratio(double, "CPU engine"),
                unit: "times",
            },
            Comparison {
                what: "double-buffered over balanced trees, 2^16 elements, launched by the host".into(),
                paper: 1.0,
                source: "negligible difference up to 10⁵ elements",
                ours: equal,
                unit: "times",
            },
            Comparison {
                what: "the engine over one loop of the processor".into(),
                paper: 10.0,
                source: "GeForce GTX 760, Core i7-4770K",
                ours: ratio(engine, plain),
                unit: "times",
            },
            Comparison {
                what: "elements above which the GPU wins, double-buffered".into(),
                paper: 1e4,
                source: "Fig. 1, launches from Python",
                ours: found.crossover(LAUNCHED, double, plain),
                unit: "elements",
            },
            Comparison {
                what: "elements above which the GPU wins, engine".into(),
                paper: 1e4,
                source: "Fig. 1, launches from Python",
                ours: found.crossover(LAUNCHED, engine, plain),
                unit: "elements",
            },
        ],
        figures,
        ladders: &[SCANS, LAUNCHED],
        ..Section::default()
    };
    bench.found.sections.push(section);
}

/// The quadratic scan on the device beside one loop, on the largest array that it was given.
fn naive(found: &Findings) -> String {
    let lead = found.lead(SCANS, "GPU quadratic", "CPU loop");
    lead.map_or(String::new(), |lead| {
        format!(
            " For {} elements the quadratic scan on the device is {} one loop of the processor, where the paper says \"on par with \
             the CPU\".",
            number(lead.size),
            lead.words()
        )
    })
}

/// Bank conflicts and divergence of a block, counted.
fn conflicts(bench: &mut Bench<'_>) {
    let kernels = [
        ("balanced trees, no padding", Counted::tree(false), 1024),
        ("balanced trees, padded", Counted::tree(true), 1024),
        ("double-buffered", Counted::double(), 512),
    ];
    let row = |(name, c, elements): &(&str, Counted, u32)| {
        vec![
            (*name).to_string(),
            elements.to_string(),
            c.accesses.to_string(),
            (c.cycles - c.accesses).to_string(),
            format!("{:.2}", f64::from(c.cycles) * 1000.0 / f64::from(*elements)),
            format!("{:.1} %", 100.0 * f64::from(c.divergent) / f64::from(c.branches)),
        ]
    };
    let rows: Vec<Vec<String>> = kernels.iter().map(row).collect();
    let [plain, padded, _] = kernels;
    bench.found.sections.push(Section {
        title: "Bank conflicts and divergence, counted".into(),
        meaning: format!(
            "Padding takes {} of {} conflicts of the balanced trees away: the paper says \"partly solved\". Neighboring lanes \
             of the double-buffered kernel use neighboring words, so it has none.",
            plain.1.cycles - plain.1.accesses - (padded.1.cycles - padded.1.accesses),
            plain.1.cycles - plain.1.accesses,
        ),
        comparisons: vec![Comparison {
            what: "divergent branches of the balanced trees".into(),
            paper: 12.5,
            source: "profiler, GeForce GTX 760",
            ours: Some(100.0 * f64::from(padded.1.divergent) / f64::from(padded.1.branches)),
            unit: "%",
        }],
        tables: vec![Table {
            name: "conflicts".into(),
            title: "A block of 512 threads".into(),
            head: [
                "",
                "elements",
                "accesses of warps to shared memory",
                "bank conflicts",
                "cycles for 1000 elements",
                "divergent branches",
            ]
            .map(String::from)
            .into(),
            rows,
        }],
        ..Section::default()
    });
}
