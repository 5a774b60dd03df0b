//! The sections of the report after Tables I and II: numbers of particles, Fig. 5, Table III and Fig. 1.

use debye::plot::{Axis, Chart, Series, Stroke};

use super::counters::{self, Counted};
use super::input::Sites;
use super::pipeline::{Method, Stage, Staged};
use super::report::{BEST_GC, BEST_PC, ENGINE, NO_DEVICE, fastest, ppus, ratio, shown};
use super::variants::How;
use super::{SIZES, TABLES};
use crate::study::{
    Bench, Comparison, Figure, Input, Place, Profile, Row, Section, Shown, Table, Variant, seconds,
};

/// At most this, since the best is more than 25 times as fast.
const NAMD: f64 = BEST_PC / 25.0;
/// At most this, since the best grid-centric kernel is more than twice as fast; that the best of all is more than 14
/// times as fast says less.
const FEN_ZI: f64 = BEST_GC / 2.0;

/// The ladders of Fig. 1, and how each solves.
pub(super) const PIPELINES: [(&str, Method); 2] = [
    ("stages, FFT", Method::Transforms),
    ("stages, multilevel", Method::Grids),
];

/// Rates over numbers of particles.
pub(super) fn sizes(bench: &mut Bench<'_>) {
    let found = &bench.found;
    let (x, y) = (Axis::log("particles"), Axis::log("particles per µs"));
    let title = "Charge mapping, 0.1 particles per Å³";
    let value = |row: &Row| row.rate().map(|rate| rate * 1e-6);
    let chart = found.chart(SIZES, title, x, y, value);
    let largest = |name: &'static str| found.of(SIZES, name).filter(|row| row.seconds.is_some()).last();
    let on_device = How::PARTICLE_CENTRIC[3].name();
    let meaning = match (found.lead(SIZES, ENGINE, on_device), largest("CPU engine")) {
        (Some(lead), _) => format!(
            "At {} particles the engine is {} `{on_device}`. The curves of kernels rise until a card is full.",
            lead.size,
            lead.words()
        ),
        (None, Some(engine)) => format!(
            "The rate of the engine on the processor is {} particles/µs at {} particles. {NO_DEVICE}",
            shown(value(engine)),
            engine.work
        ),
        _ => "Nothing was measured.".into(),
    };
    bench.found.sections.push(Section {
        title: "Numbers of particles".into(),
        meaning,
        figures: vec![Figure {
            name: "sizes".into(),
            caption: "Bins are ready, 2.8 particles for each point as ApoA1 has on the paper's mesh. Dashed: this processor."
                .into(),
            shown: Shown::Chart(Box::new(chart)),
        }],
        ladders: &[SIZES],
        ..Section::default()
    });
}

/// Fig. 5.
pub(super) fn throughput(bench: &mut Bench<'_>, apoa1: &Sites) {
    let found = &bench.found;
    let of = |name: &str| ppus(found, TABLES, name, 0.0);
    let best = |rungs: &[How]| fastest(found, TABLES, rungs, 0.0).map(|best| best.1);
    let paper = [
        ("NAMD <", Some(NAMD)),
        ("Fen-ZI <", Some(FEN_ZI)),
        ("GC", Some(BEST_GC)),
        ("PC", Some(BEST_PC)),
        ("FPGA >", Some(BEST_PC)),
    ];
    let ours = [
        ("Alg. 2", of(How::Optimized.name())),
        ("CPU engine", of(How::Engine.name())),
        ("GC here", best(&How::GRID_CENTRIC)),
        ("PC here", best(&How::PARTICLE_CENTRIC)),
        (ENGINE, of(ENGINE)),
    ];
    // What was not measured has no place on the axis.
    let drawn = |all: &[(&'static str, Option<f64>)]| -> Vec<(&'static str, f64)> {
        all.iter()
            .filter_map(|(name, rate)| Some((*name, (*rate)?)))
            .collect()
    };
    let (of_paper, of_ours) = (drawn(&paper), drawn(&ours));
    let named = of_paper.iter().chain(&of_ours).enumerate();
    let axis = Axis {
        names: named
            .map(|(k, (name, _))| (k as f64, (*name).to_string()))
            .collect(),
        ..Axis::new("")
    };
    let bars = |name: &str, all: &[(&str, f64)], first: usize| {
        let x: Vec<f64> = (0..all.len()).map(|k| (first + k) as f64).collect();
        let y: Vec<f64> = all.iter().map(|bar| bar.1).collect();
        Series::new(name, &x, &y).with_stroke(Stroke::Bars)
    };
    let chart = Chart::new("Fig. 5: ApoA1", axis, Axis::log("particles per µs"))
        .with_size(860.0, 420.0)
        .with(bars("the paper", &of_paper, 0))
        .with(bars("here", &of_ours, of_paper.len()));
    let row =
        |place: &str, (name, rate): &(&str, Option<f64>)| vec![(*name).into(), place.into(), shown(*rate)];
    let rows = paper
        .iter()
        .map(|bar| row("paper", bar))
        .chain(ours.iter().map(|bar| row("here", bar)));
    let compare = |what: &str, paper: f64, source, ours| Comparison {
        what: what.into(),
        paper,
        source,
        ours,
        unit: "times",
    };
    let mut meaning = "The paper prints no numbers of Fig. 5 but its ratios: NAMD and Fen-ZI reach at most what is drawn, the \
                       FPGA more."
        .to_string();
    match (of(ENGINE), of(How::Engine.name())) {
        (Some(engine), _) => {
            meaning += &format!(
                " The engine here reaches {} times the paper's best.",
                shown(Some(engine / BEST_PC))
            );
        }
        (None, Some(engine)) => {
            meaning += &format!(
                " The engine on this processor reaches {:.2} times the rate that bounds NAMD's on one core.",
                engine / NAMD
            );
        }
        _ => {}
    }
    let comparisons = vec![
        compare(
            "best particle-centric over one core (paper: NAMD; here: Algorithm 2)",
            25.0,
            "§V C, more than",
            ratio(best(&How::PARTICLE_CENTRIC), of(How::Optimized.name())),
        ),
        compare(
            "best particle-centric over best grid-centric",
            BEST_PC / BEST_GC,
            "Tables I and II, K40m",
            ratio(best(&How::PARTICLE_CENTRIC), best(&How::GRID_CENTRIC)),
        ),
    ];
    let section = Section {
        title: "Fig. 5: throughput".into(),
        meaning,
        comparisons,
        tables: vec![Table {
            name: "figure-5".into(),
            title: "Particles per µs".into(),
            head: ["", "", "particles/µs"].map(String::from).into(),
            rows: rows.collect(),
        }],
        figures: vec![Figure {
            name: "throughput".into(),
            caption: format!(
                "Bars of NAMD and Fen-ZI are upper bounds, that of the FPGA a lower one. Here: {}.",
                apoa1.label()
            ),
            shown: Shown::Chart(Box::new(chart)),
        }],
        ..Section::default()
    };
    bench.found.sections.push(section);
}

/// Table III.
pub(super) fn counters(bench: &mut Bench<'_>, apoa1: &Sites, profile: Option<&Profile>) {
    let (pc, gc) = (Counted::particle_centric(apoa1), Counted::grid_centric(apoa1));
    let compare = |what: &str, paper: f64, source, ours: usize| Comparison {
        what: what.into(),
        paper,
        source,
        ours: Some(ours as f64),
        unit: "",
    };
    let meaning = format!(
        "As counted, the grid-centric kernel issues {:.0} times the loads of the particle-centric one and {:.0} times its operations \
         (paper: {:.0} and {:.0}), since it evaluates the weights of a particle anew at each of 64 points. {}",
        gc.loads as f64 / pc.loads.max(1) as f64,
        gc.flops as f64 / pc.flops.max(1) as f64,
        3_834_694.0 / 85_372.0,
        (56_983_823.0 + 72_334_599.0) / (17_333_048.0 + 3_873_408.0),
        match profile {
            Some(_) => "Profiled numbers are those of the first launch of each kernel.",
            None => "Caches and stalls need a profile of `ncu`, given by `--counters`.",
        }
    );
    bench.found.sections.push(Section {
        title: "Table III: what the kernels do".into(),
        meaning,
        comparisons: vec![
            compare(
                "atomic additions of warps, particle-centric",
                4e5,
                "§V B, about",
                pc.atomics,
            ),
            compare("stores, grid-centric", 1022.0, "Table III", gc.stores),
        ],
        tables: vec![counters::table(apoa1, profile)],
        ..Section::default()
    });
}

/// The stages of Fig. 1.
pub(super) fn pipeline(bench: &mut Bench<'_>) {
    let found = &bench.found;
    let time = |ladder: &str, place: Place, stage: Stage| {
        let variant = Staged { stage, place };
        let name = variant.name();
        found.of(ladder, &name).next().and_then(|row| row.seconds)
    };
    let mut rows = Vec::new();
    let mut shares = Vec::new();
    let mut all_times = Vec::new();
    for (ladder, _) in PIPELINES {
        let input = found.rows.iter().find(|row| row.ladder == ladder);
        for place in [Place::Cpu, Place::Cuda] {
            let times = Stage::ALL.map(|stage| time(ladder, place, stage));
            let mut row = vec![
                input.map_or(String::new(), |row| row.input.clone()),
                place.name().into(),
            ];
            row.extend(times.map(|t| t.map_or("not measured".into(), seconds)));
            rows.push(row);
            if times.iter().any(Option::is_some) {
                all_times.push((format!("{}, {}", place.name(), method_of(ladder)), times));
            }
            if let [Some(mapping), Some(solve), Some(back), _] = times {
                shares.push((place, ladder, (mapping + back) / (mapping + solve + back)));
            }
        }
    }
    let share = |(place, ladder, share): &(Place, &str, f64)| {
        format!("{:.0} % ({}, {})", 100.0 * share, place.name(), method_of(ladder))
    };
    let all: Vec<String> = shares.iter().map(share).collect();
    let meaning = format!(
        "The paper counts 500 operations for each mapping of a particle and 100 for the transforms, so that both mappings \
         are 91 % of the work. Of the time of the three stages they take {} here.",
        all.join(", ")
    );
    let head = ["", "", "mapping", "solve", "interpolation", "all three"];
    let paper = |place: Place| {
        let found = shares
            .iter()
            .find(|(at, ladder, _)| *at == place && *ladder == PIPELINES[0].0);
        found.map(|(.., share)| 100.0 * share)
    };
    let compare = |what: &str, place: Place| Comparison {
        what: what.into(),
        paper: 100.0 * 1000.0 / 1100.0,
        source: "§I, operations",
        ours: paper(place),
        unit: "%",
    };
    bench.found.sections.push(Section {
        title: "Fig. 1: mapping, solve, interpolation".into(),
        meaning,
        comparisons: vec![
            compare(
                "both mappings, of all three stages with FFT, processor",
                Place::Cpu,
            ),
            compare("both mappings, of all three stages with FFT, device", Place::Cuda),
        ],
        tables: vec![Table {
            name: "stages".into(),
            title: "Times of the engine's stages".into(),
            head: head.map(String::from).into(),
            rows,
        }],
        figures: vec![Figure {
            name: "stages".into(),
            caption: "Fig. 1 with the time of each stage; lists are ready on a device, and made in every pass on a processor."
                .into(),
            shown: Shown::Chart(Box::new(stage_bars(&all_times))),
        }],
        ..Section::default()
    });
}

/// What comes after `stages, `.
fn method_of(ladder: &str) -> &str {
    ladder.trim_start_matches("stages, ")
}

/// Three bars for each place and method.
fn stage_bars(all: &[(String, [Option<f64>; 4])]) -> Chart {
    let at = |group: usize, stage: usize| (4 * group + stage) as f64;
    let names = all
        .iter()
        .enumerate()
        .map(|(group, (name, _))| (at(group, 1), name.clone()));
    let axis = Axis {
        names: names.collect(),
        ..Axis::new("")
    };
    let chart =
        Chart::new("Stages of long-range forces", axis, Axis::log("time (ms)")).with_size(760.0, 400.0);
    (0..3).fold(chart, |chart, stage| {
        let bars = all.iter().enumerate();
        let bars = bars.filter_map(|(group, (_, times))| Some((at(group, stage), 1e3 * times[stage]?)));
        let (x, y): (Vec<f64>, Vec<f64>) = bars.unzip();
        chart.with(Series::new(Stage::ALL[stage].name(), &x, &y).with_stroke(Stroke::Bars))
    })
}
