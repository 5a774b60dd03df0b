//! The sections of the report on the rungs: §III, Tables I and II, bins made in every pass, and a fine mesh.

use debye_gpu::Device;

use super::input::Sites;
use super::variants::How;
use super::{FINE, FRESH, TABLES};
use crate::design::Design;
use crate::study::{Bench, Comparison, Findings, Input, Lead, Place, Section, Table};

/// Particles per µs of Table I on the M2070 with ApoA1 and DMPC, then on the K40m.
const TABLE_1: [[f64; 4]; 4] = [
    [5.6, 5.1, 129.7, 124.0],
    [46.2, 39.3, 144.5, 125.0],
    [50.9, 45.1, 201.8, 193.0],
    [50.9, 45.9, 198.4, 194.0],
];
/// Of Table II.
const TABLE_2: [[f64; 4]; 4] = [
    [2.4, 2.0, 3.5, 3.3],
    [2.2, 1.8, 3.7, 3.7],
    [2.2, 1.7, 3.0, 2.3],
    [15.2, 14.1, 26.6, 28.2],
];
/// The paper's best on ApoA1: K40m, reduced reads.
pub(super) const BEST_PC: f64 = 201.8;
pub(super) const BEST_GC: f64 = 26.6;
pub(super) const ENGINE: &str = "GPU engine";
pub(super) const NO_DEVICE: &str = "The kernels of the paper were not measured: no CUDA device was used.";

/// Particles per µs of a variant on an input.
pub(super) fn ppus(found: &Findings, ladder: &str, variant: &str, size: f64) -> Option<f64> {
    let row = found.of(ladder, variant).find(|row| row.size == size)?;
    Some(row.rate()? * 1e-6)
}

pub(super) fn ratio(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    Some(a? / b?)
}

pub(super) fn shown(value: Option<f64>) -> String {
    match value {
        Some(value) if value >= 100.0 => format!("{value:.0}"),
        Some(value) if value >= 10.0 => format!("{value:.1}"),
        Some(value) => format!("{value:.2}"),
        None => "not measured".into(),
    }
}

/// The fastest of some rungs.
pub(super) fn fastest(
    found: &Findings,
    ladder: &str,
    rungs: &[How],
    size: f64,
) -> Option<(&'static str, f64)> {
    let rates = rungs
        .iter()
        .filter_map(|how| Some((how.name(), ppus(found, ladder, how.name(), size)?)));
    rates.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// Section III.
pub(super) fn serial(bench: &mut Bench<'_>, sites: &Sites) {
    let found = &bench.found;
    let rate = |how: How| ppus(found, TABLES, how.name(), 0.0);
    let over = |a: How, b: How| Some(found.lead_at(TABLES, a.name(), b.name(), 0.0)?.words());
    let gains = (
        over(How::Optimized, How::Baseline),
        over(How::Vectorized, How::Optimized),
        over(How::Binned, How::Optimized),
        over(How::EngineOnOneThread, How::Optimized),
    );
    let meaning = match gains {
        (Some(two), Some(vectors), Some(bins), Some(engine)) => format!(
            "With precomputed weights Algorithm 2 is {two} Algorithm 1. With weights of eight particles side by side it is \
             {vectors} without, and with bins that are ready {bins} without. The engine on one thread is {engine} it."
        ),
        _ => "Nothing was measured.".into(),
    };
    let rows = How::HOST
        .iter()
        .map(|how| vec![how.name().into(), shown(rate(*how))])
        .collect();
    let [first, needed] = super::bins::slots(sites);
    let section = Section {
        title: "Mapping on a processor (§III)".into(),
        meaning,
        tables: vec![
            Table {
                name: "serial".into(),
                title: format!("Particles per µs: {}", sites.label()),
                head: ["", "particles/µs"].map(String::from).into(),
                rows,
            },
            Table {
                name: "bins".into(),
                title: "Static bins of this set".into(),
                head: ["", ""].map(String::from).into(),
                rows: vec![
                    vec!["bins".into(), sites.points().to_string()],
                    vec![
                        "particles in a bin, on average".into(),
                        format!("{:.2}", sites.particles().len() as f64 / sites.points() as f64),
                    ],
                    vec!["particles in the fullest bin".into(), sites.crowd().to_string()],
                    vec!["slots of a bin at first".into(), first.to_string()],
                    vec!["slots that hold all".into(), needed.to_string()],
                ],
            },
        ],
        ladders: &[TABLES],
        place: Some(Place::Cpu),
        ..Section::default()
    };
    bench.found.sections.push(section);
}

/// One of Tables I and II.
fn versions(found: &Findings, name: &str, title: &str, rungs: &[How; 4], paper: &[[f64; 4]; 4]) -> Table {
    let head = [
        "version", "A-M2070", "D-M2070", "A-K40m", "D-K40m", "A here", "D here",
    ];
    let row = |(how, paper): (&How, &[f64; 4])| {
        let mut row = vec![how.name().to_string()];
        row.extend(paper.map(|value| value.to_string()));
        row.extend([0.0, 1.0].map(|size| shown(ppus(found, TABLES, how.name(), size))));
        row
    };
    Table {
        name: name.into(),
        title: title.into(),
        head: head.map(String::from).into(),
        rows: rungs.iter().zip(paper).map(row).collect(),
    }
}

/// Tables I and II.
pub(super) fn tables(bench: &mut Bench<'_>, [apoa1, dmpc]: [&Sites; 2]) {
    let found = &bench.found;
    let here = |how: How| ppus(found, TABLES, how.name(), 0.0);
    let compare = |(how, paper): (&How, &[f64; 4])| Comparison {
        what: format!("{}, ApoA1", how.name()),
        paper: paper[2],
        source: "Tesla K40m",
        ours: here(*how),
        unit: "particles/µs",
    };
    let mut comparisons: Vec<Comparison> = How::PARTICLE_CENTRIC.iter().zip(&TABLE_1).map(compare).collect();
    comparisons.extend(How::GRID_CENTRIC.iter().zip(&TABLE_2).map(compare));
    comparisons.push(Comparison {
        what: "the engine beside the paper's best, ApoA1".into(),
        paper: BEST_PC,
        source: "Tesla K40m",
        ours: ppus(found, TABLES, ENGINE, 0.0),
        unit: "particles/µs",
    });
    let best_pc = fastest(found, TABLES, &How::PARTICLE_CENTRIC, 0.0);
    let best_gc = fastest(found, TABLES, &How::GRID_CENTRIC, 0.0);
    let meaning = match (best_pc, best_gc) {
        (Some((pc, pc_rate)), Some((gc, gc_rate))) => {
            let over = |a: &str, b: &str| {
                let lead = found.lead_at(TABLES, a, b, 0.0);
                lead.map_or("not compared with".into(), |lead| lead.words())
            };
            let faster = if pc_rate >= gc_rate { pc } else { gc };
            format!(
                "The fastest particle-centric kernel here is `{pc}`, {} the fastest grid-centric one, `{gc}` (paper: {:.1} times \
                 as fast). The engine is {} the faster of both.{}",
                over(pc, gc),
                BEST_PC / BEST_GC,
                over(ENGINE, faster),
                bricks(bench.device(), apoa1),
            )
        }
        _ => NO_DEVICE.into(),
    };
    let inputs = format!("A: {}. D: {}.", apoa1.label(), dmpc.label());
    let section = Section {
        title: "Tables I and II: kernels of the paper".into(),
        meaning: format!("{meaning} {inputs}"),
        comparisons,
        tables: vec![
            versions(
                found,
                "table-1",
                "Table I: particle-centric, particles per µs",
                &How::PARTICLE_CENTRIC,
                &TABLE_1,
            ),
            versions(
                found,
                "table-2",
                "Table II: grid-centric, particles per µs",
                &How::GRID_CENTRIC,
                &TABLE_2,
            ),
            listed(
                found,
                "bricks",
                "The engine's kernel and two of its kind, particles per µs",
                &How::BRICKS,
                TABLES,
            ),
        ],
        ladders: &[TABLES],
        place: Some(Place::Cuda),
        ..Section::default()
    };
    bench.found.sections.push(section);
}

/// How many bricks the engine cuts the mesh into.
fn bricks(device: Option<&Device>, sites: &Sites) -> String {
    let cut = device.and_then(|device| {
        let bricks = Design::Owner
            .bricks(device, &sites.shape(), sites.particles().len())
            .ok()?;
        Some((bricks, device.info().multiprocessors))
    });
    cut.map_or(String::new(), |(bricks, all)| {
        format!(" It cuts the mesh of A into {bricks} bricks, for {all} multiprocessors.")
    })
}

/// Rates of some rungs on the first input of a ladder.
fn listed(found: &Findings, name: &str, title: &str, rungs: &[How], ladder: &str) -> Table {
    let row = |how: &How| vec![how.name().into(), shown(ppus(found, ladder, how.name(), 0.0))];
    Table {
        name: name.into(),
        title: title.into(),
        head: ["", "particles/µs"].map(String::from).into(),
        rows: rungs.iter().map(row).collect(),
    }
}

/// What bins cost.
pub(super) fn fresh(bench: &mut Bench<'_>) {
    let found = &bench.found;
    let ready = |how: How| {
        let [ready, fresh] = [TABLES, FRESH].map(|ladder| found.of(ladder, how.name()).next());
        Some(Lead::of(ready?, fresh?)?.words())
    };
    let [coalesced, engine, binned, alone] = [
        How::PARTICLE_CENTRIC[3],
        How::Bricks(Design::Owner),
        How::Binned,
        How::EngineOnOneThread,
    ];
    let best = fastest(found, FRESH, &super::fresh_rungs()[5..9], 0.0);
    let lead = best.and_then(|best| found.lead_at(FRESH, ENGINE, best.0, 0.0));
    let meaning = match (ready(coalesced), ready(engine), lead, ready(binned)) {
        (Some(bins), Some(lists), Some(lead), _) => format!(
            "With its bins ready `{}` is {bins} with bins to make; the paper leaves that time out. The engine with its lists \
             ready is {lists} with lists to make, and with them to make {} the fastest kernel of the paper.",
            coalesced.name(),
            lead.words()
        ),
        (.., Some(bins)) => format!(
            "From coordinates in mesh units and with its bins ready, `{}` is {bins} from positions in space with bins to make; \
             the paper leaves that time out. On one thread and from positions in space the engine is {} Algorithm 2. \
             {NO_DEVICE}",
            binned.name(),
            found
                .lead_at(FRESH, alone.name(), How::Optimized.name(), 0.0)
                .map_or("not compared with".into(), |lead| lead.words())
        ),
        _ => "Nothing was measured.".into(),
    };
    let table = listed(
        found,
        "fresh",
        "Particles per µs from positions in no order, bins or lists made in every pass, ApoA1",
        &super::fresh_rungs(),
        FRESH,
    );
    bench.found.sections.push(Section {
        title: "From positions: with bins or lists to make".into(),
        meaning,
        tables: vec![table],
        ladders: &[FRESH],
        ..Section::default()
    });
}

/// The mesh of a simulation.
pub(super) fn fine(bench: &mut Bench<'_>) {
    let found = &bench.found;
    let paper: Vec<How> = [How::PARTICLE_CENTRIC, How::GRID_CENTRIC].concat();
    let best = fastest(found, FINE, &paper, 0.0);
    let meaning = match best.and_then(|best| Some((best.0, found.lead_at(FINE, ENGINE, best.0, 0.0)?))) {
        Some((name, lead)) => {
            let why = match lead.wins() {
                true => ": most bins are empty here, and a thread with an empty bin waits for its neighbors",
                false => "",
            };
            format!(
                "On the mesh that simulations of ApoA1 have, the paper's fastest kernel is `{name}`. The engine is {} it{why}.",
                lead.words()
            )
        }
        None => match found.lead_at(FINE, How::Engine.name(), How::Optimized.name(), 0.0) {
            Some(lead) => format!(
                "On {} threads the engine is {} Algorithm 2 on one. {NO_DEVICE}",
                rayon::current_num_threads(),
                lead.words()
            ),
            None => NO_DEVICE.into(),
        },
    };
    let table = listed(
        found,
        "fine",
        "Particles per µs, ApoA1 on 108 × 108 × 80",
        &super::rungs(),
        FINE,
    );
    bench.found.sections.push(Section {
        title: "A mesh of about one point for each Å".into(),
        meaning,
        tables: vec![table],
        ladders: &[FINE],
        ..Section::default()
    });
}
