//! `prefix-sum`: scans, the loop over bins, and the argon sphere (Hedman, "Fast prefix sum on the GPU, for molecular
//! dynamics", 2016). `docs/studies/prefix-sum.md` is its page.

mod banks;
mod bins;
mod scans;
mod sphere;

pub use banks::Counted;
pub use bins::{Argon, BinVariant, Gas};
pub use scans::{Counts, How, Numbers, ScanVariant};

use debye::plot::Axis;
use debye_gpu::ModuleSource;

use crate::study::{
    Bench, Comparison, Extent, Figure, Findings, Place, Section, Shown, Study, StudyError, Table, Variant,
    faster, loses, number, seconds,
};

pub(crate) const STUDY: Study = Study {
    name: "prefix-sum",
    paper: "D. Hedman, Fast prefix sum on the GPU, for molecular dynamics, Luleå University of Technology (2016)",
    what: "prefix sums by balanced trees and double-buffered, the loop over bins for Lennard-Jones forces, and the collapse \
           of a sphere of argon",
    page: "docs/studies/prefix-sum.md",
    counters: false,
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
/// A step of the engine, and the paper's kernel.
const STEP: &str = "GPU engine, whole step";
const BRANCHES: &str = "GPU bins, branches at faces";

fn run(bench: &mut Bench<'_>) -> Result<(), StudyError> {
    scans(bench);
    conflicts(bench);
    forces(bench)?;
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
    let ratio = |a: &str, b: &str| Some(found.lead(SCANS, a, b)?.1);
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
        (Some((size, gpu)), _) => {
            let why = match gpu >= 1.0 {
                true => "it reads and writes every element once, in one launch",
                false => loses(bench.device(), size),
            };
            format!(
                "For {} elements the engine's scan is {} the double-buffered one: {why}. Both kernels of the paper write the \
                 array, read it again and write it once more when they add the sums of blocks.",
                number(size),
                faster(gpu),
            )
        }
        (None, Some((size, cpu))) => format!(
            "For {} elements the engine's scan on {} threads is {} one loop. It first sums in 64 bits, so that a sum that does \
             not fit is reported, and so reads the array twice. The kernels of the paper were not measured: no CUDA device \
             was used.",
            number(size),
            rayon::current_num_threads(),
            faster(cpu),
        ),
        _ => "Nothing was measured.".into(),
    };
    let percent = |a: Option<f64>| a.map(|a| 100.0 * (a - 1.0));
    let equal = found.leads(LAUNCHED, double, tree);
    let equal = equal.iter().find(|lead| lead.0 == 65_536.0).map(|lead| lead.1);
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
        tables: Vec::new(),
        figures,
    };
    bench.found.sections.push(section);
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
        figures: Vec::new(),
    });
}

/// The loop over bins.
fn forces(bench: &mut Bench<'_>) -> Result<(), StudyError> {
    let sizes: &[usize] = bench
        .extent
        .pick(&[400], &[4000, 30_000], &[30_000, 250_000, 1_000_000]);
    let mut rows = Vec::new();
    for &atoms in sizes {
        let argon = Argon::new(Gas::Ball, atoms);
        for variant in BinVariant::ALL {
            bench.measure(
                FORCES,
                "particles",
                crate::study::Input::work(&argon),
                &argon,
                &variant,
            );
        }
        rows.push((crate::study::Input::label(&argon), argon.divergence()));
    }
    let occupancy = |branches: bool| {
        bench
            .device()
            .map(|device| bins::kernel_occupancy(device, branches))
            .transpose()
    };
    let (with, without) = (occupancy(true)?, occupancy(false)?);
    let found = &bench.found;
    let meaning = match (
        found.lead(FORCES, STEP, BRANCHES),
        found.lead(FORCES, "CPU engine, whole step", "CPU bins"),
    ) {
        (Some(_), _) => {
            let arithmetic = found.lead(FORCES, "GPU bins, no branches", BRANCHES).map_or(
                String::new(),
                |(size, lead)| {
                    let (size, faster) = (number(size), faster(lead));
                    format!(
                        " For {size} atoms the kernel without branches at faces is {faster} that with them."
                    )
                },
            );
            step_against_kernel(found) + &arithmetic
        }
        (None, Some((size, cpu))) => format!(
            "For {} atoms a whole step of the engine on this processor is {} a loop over bins for the forces alone. The kernels \
             of the paper were not measured: no CUDA device was used.",
            number(size),
            faster(cpu)
        ),
        _ => "Nothing was measured.".into(),
    };
    let percent = |x: Option<f64>| x.map(|x| 100.0 * x);
    let last = rows.last().map(|(_, divergence)| *divergence);
    let chart = found.chart(
        FORCES,
        "Lennard-Jones forces",
        Axis::log("atoms"),
        Axis::log("million particles per second"),
        |row| row.rate().map(|rate| rate * 1e-6),
    );
    let table = rows
        .iter()
        .map(|(label, divergence)| vec![label.clone(), format!("{:.1} %", 100.0 * divergence)])
        .collect();
    let section = Section {
        title: "The loop over bins".into(),
        meaning,
        comparisons: vec![
            Comparison {
                what: "decisions about faces that lanes of a warp disagree on".into(),
                paper: 40.6,
                source: "profiler, Tesla K80",
                ours: percent(last),
                unit: "%",
            },
            Comparison {
                what: "theoretical occupancy, with branches".into(),
                paper: 75.0,
                source: "39 registers, Tesla K80",
                ours: percent(with),
                unit: "%",
            },
            Comparison {
                what: "theoretical occupancy, without".into(),
                paper: 75.0,
                source: "39 registers, Tesla K80",
                ours: percent(without),
                unit: "%",
            },
        ],
        tables: vec![Table {
            name: "faces".into(),
            title: "Decisions about faces that lanes of a warp disagree on, counted".into(),
            head: ["", "divergent"].map(String::from).into(),
            rows: table,
        }],
        figures: vec![Figure {
            name: "forces".into(),
            caption: "Bins of half a cut-off, 5³ of them for each particle. Dashed: this processor.".into(),
            shown: Shown::Chart(Box::new(chart)),
        }],
    };
    bench.found.sections.push(section);
    Ok(())
}

/// A step of the engine against the paper's kernel at every size that both ran, and what is known of why it loses.
fn step_against_kernel(found: &Findings) -> String {
    let leads = found.leads(FORCES, STEP, BRANCHES);
    let each: Vec<String> = leads
        .iter()
        .map(|&(size, lead)| format!("for {} atoms {} it", number(size), faster(lead)))
        .collect();
    let mut text = format!(
        "A whole step of the engine against the paper's force kernel alone: {}.",
        each.join(", ")
    );
    let lost = leads.iter().rev().find(|(_, lead)| *lead < 1.0);
    let row = lost.and_then(|(size, _)| found.of(FORCES, STEP).find(|row| row.size == *size));
    let Some((row, (fastest, slowest))) = row.and_then(|row| Some((row, row.fastest.zip(row.slowest)?)))
    else {
        return text + " Its list leaves out most particles of the 125 bins.";
    };
    text += &format!(
        " Rounds of the engine on {} atoms take {} to {} a step.",
        number(row.size),
        seconds(fastest),
        seconds(slowest)
    );
    // What rounds of one length differ by: moving particles and new lists alone are no factor of two.
    text + match slowest > 2.0 * fastest {
        true => {
            " They are timed from the first steps of the ball on: its lists grow as it collapses, and when they outgrow their \
             kernels these are compiled again, which the median includes."
        }
        false => " It also moves particles and looks after its lists, which the kernel does not.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::Row;

    /// Seconds of the fastest round, the median and the slowest.
    fn row(variant: &str, size: f64, [fastest, seconds, slowest]: [f64; 3]) -> Row {
        Row {
            ladder: FORCES,
            variant: variant.into(),
            place: Place::Cuda,
            input: String::new(),
            size,
            work: size,
            unit: "particles",
            seconds: Some(seconds),
            fastest: Some(fastest),
            slowest: Some(slowest),
            rounds: 9,
            error: None,
            tolerance: 0.0,
            failure: None,
            skipped: None,
        }
    }

    /// Each size is compared with itself, whoever wins there, and rounds that differ are told of.
    #[test]
    fn the_report_says_where_the_engine_loses() {
        let mut found = Findings::new(Ok("a card".into()));
        found.rows = vec![
            row(BRANCHES, 3e4, [1e-4; 3]),
            row(BRANCHES, 1e6, [9e-4; 3]),
            row(STEP, 3e4, [2.5e-5; 3]),
            row(STEP, 1e6, [3e-4, 1.8e-3, 3e-3]),
        ];
        let text = step_against_kernel(&found);
        let rounds = format!("take {} to {} a step", seconds(3e-4), seconds(3e-3));
        for part in [
            "for 30000 atoms 4.0 times as fast as it",
            "for 1 M atoms 2.0 times slower than it",
            &rounds,
            "compiled again",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        found.rows[3] = row(STEP, 1e6, [1.8e-3; 3]);
        assert!(!step_against_kernel(&found).contains("compiled"));
        found.rows[3] = row(STEP, 1e6, [3e-4; 3]);
        let wins = step_against_kernel(&found);
        assert!(
            wins.contains("for 1 M atoms 3.0 times as fast") && !wins.contains("Rounds"),
            "{wins}"
        );
    }
}
