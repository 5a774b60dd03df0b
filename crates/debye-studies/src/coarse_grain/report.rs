//! What the measurements mean: the paper's tables and figures with ours.

use debye::plot::{Axis, Chart, Series, Stroke};
use debye::prelude::Precision;

use super::beads::Model;
use super::variants::{BeadVariant, Part};
use super::versions::{Arithmetic, Types, Version};
use super::{MERGED, STEPS, ladder};
use crate::study::{
    Bench, Comparison, Figure, Findings, Lead, Place, Row, Section, Shown, Table, Variant, number, seconds,
};

pub(super) const SERIAL: &str = "CPU serial";

pub(super) fn kernels_name(types: Types, arithmetic: Arithmetic) -> String {
    BeadVariant::Kernels(Version::of(types, arithmetic), Part::Forces).name()
}

pub(super) fn engine_name(precision: Precision, place: Place) -> String {
    BeadVariant::Engine(precision, place).name()
}

/// Sizes, and how many times faster than the forces of the serial program a variant is. They are nearly all of its step.
fn speed_ups(found: &Findings, model: Model, part: Part, variant: &str) -> (Vec<f64>, Vec<f64>) {
    let ratio = |row: &Row| {
        let serial = found
            .of(ladder(model, Part::Forces), SERIAL)
            .find(|s| s.size == row.size)?;
        Some((row.size, serial.seconds? / row.seconds?))
    };
    found.of(ladder(model, part), variant).filter_map(ratio).unzip()
}

/// A whole step of the engine on the processor beside the forces of the serial program, on the largest system.
fn on_host(found: &Findings, model: Model) -> Option<Lead> {
    let name = engine_name(Precision::Mixed, Place::Cpu);
    let step = found
        .of(ladder(model, Part::Step), &name)
        .filter(|row| row.seconds.is_some());
    let step = step.last()?;
    let mut serial = found.of(ladder(model, Part::Forces), SERIAL);
    Lead::of(step, serial.find(|row| row.size == step.size)?)
}

/// The highest of them.
fn best(found: &Findings, model: Model, part: Part, variant: &str) -> Option<f64> {
    speed_ups(found, model, part, variant)
        .1
        .into_iter()
        .max_by(f64::total_cmp)
}

pub(super) fn compare(
    what: &str,
    paper: f64,
    source: &'static str,
    ours: Option<f64>,
    unit: &'static str,
) -> Comparison {
    Comparison {
        what: what.into(),
        paper,
        source,
        ours,
        unit,
    }
}

/// None where it has no rows.
pub(super) fn filled(name: &str, title: &str, head: &[&str], rows: Vec<Vec<String>>) -> Vec<Table> {
    if rows.is_empty() {
        return Vec::new();
    }
    vec![table(name, title, head, rows)]
}

pub(super) fn table(name: &str, title: &str, head: &[&str], rows: Vec<Vec<String>>) -> Table {
    Table {
        name: name.into(),
        title: title.into(),
        head: head.iter().map(|cell| (*cell).to_owned()).collect(),
        rows,
    }
}

pub(super) fn figure(name: &str, caption: &str, chart: Chart) -> Figure {
    Figure {
        name: name.into(),
        caption: caption.into(),
        shown: Shown::Chart(Box::new(chart)),
    }
}

pub(super) fn percent(x: Option<f64>) -> Option<f64> {
    x.map(|x| 100.0 * x)
}

/// Speed-up against size, water and lipids: Figs. 7 and 9, Table 3.
pub(super) fn speed(bench: &mut Bench<'_>) {
    let found = &bench.found;
    let mut chart = Chart::new(
        "Speed-up over the serial program",
        Axis::log("beads"),
        Axis::log("times as fast as one thread"),
    )
    .with_size(760.0, 460.0);
    let mut curves = Vec::new();
    for (arithmetic, stroke) in [
        (Arithmetic::Single, Stroke::Solid),
        (Arithmetic::Double, Stroke::Dashed),
    ] {
        let name = |types: Types| kernels_name(types, arithmetic);
        let kind = arithmetic.name();
        curves.push((
            format!("forces, water only, {kind}"),
            Model::Water,
            Part::Forces,
            name(Types::WaterOnly),
            stroke,
            0,
        ));
        curves.push((
            format!("forces, water, complete, {kind}"),
            Model::Water,
            Part::Forces,
            name(Types::Matrix),
            stroke,
            1,
        ));
        curves.push((
            format!("forces, lipids, {kind}"),
            Model::Lipids,
            Part::Forces,
            name(Types::Matrix),
            stroke,
            2,
        ));
    }
    for (model, color) in [(Model::Water, 3), (Model::Lipids, 4)] {
        for (place, stroke) in [(Place::Cuda, Stroke::Solid), (Place::Cpu, Stroke::Thin)] {
            let name = engine_name(Precision::Mixed, place);
            let legend = format!("step, engine, {}, {}", model.name(), place.name());
            curves.push((legend, model, Part::Step, name, stroke, color));
        }
    }
    for (legend, model, part, variant, stroke, color) in curves {
        let (x, y) = speed_ups(found, model, part, &variant);
        if !x.is_empty() {
            chart = chart.with(Series::new(&legend, &x, &y).with_stroke(stroke).with_color(color));
        }
    }
    let forces =
        |model, types, arithmetic| best(found, model, Part::Forces, &kernels_name(types, arithmetic));
    let engine = |model, place| best(found, model, Part::Step, &engine_name(Precision::Mixed, place));
    let lost = |arithmetic: Arithmetic| -> Vec<f64> {
        let of = |types: Types| {
            let name = kernels_name(types, arithmetic);
            speed_ups(found, Model::Water, Part::Forces, &name).1
        };
        let (complete, alone) = (of(Types::Matrix), of(Types::WaterOnly));
        complete
            .iter()
            .zip(&alone)
            .map(|(c, a)| 100.0 * (1.0 - c / a))
            .collect()
    };
    let mean = |x: &[f64]| (!x.is_empty()).then(|| x.iter().sum::<f64>() / x.len() as f64);
    let [single, double] = [lost(Arithmetic::Single), lost(Arithmetic::Double)];
    let line = |name: &str, lost: &[f64]| {
        let cell = |x: Option<f64>| x.map_or("not measured".into(), |x| format!("{x:.1} %"));
        vec![
            name.to_owned(),
            cell(mean(lost)),
            cell(lost.iter().copied().max_by(f64::total_cmp)),
            cell(lost.iter().copied().min_by(f64::total_cmp)),
        ]
    };
    // A step against a step, on the largest system that both were given.
    let whole = |model: Model| {
        let kernels = kernels_name(Types::Matrix, Arithmetic::Single);
        let engine = engine_name(Precision::Mixed, Place::Cuda);
        found.lead(ladder(model, Part::Step), &engine, &kernels)
    };
    let meaning = match (whole(Model::Water), whole(Model::Lipids)) {
        (Some(water), Some(lipids)) => {
            let why = match water.wins() && lipids.wins() {
                true => {
                    ": lists by class of particle keep warps together, and blocks of neighbors share what they read"
                }
                false => "",
            };
            format!(
                "A whole step of the engine, bonds, lists and thermostat included, is {} a step of the paper's kernels, which \
                 makes no list, for {} beads of water, and {} it for {} of lipids{why}. The paper compares with one thread of its \
                 own serial program; so does this, in double precision.",
                water.words(),
                number(water.size),
                lipids.words(),
                number(lipids.size),
            )
        }
        _ => match (on_host(found, Model::Water), on_host(found, Model::Lipids)) {
            (Some(water), Some(lipids)) => format!(
                "A whole step of the engine on {} threads of this processor is {} the forces of the serial program for {} beads \
                 of water, and {} them for {} of lipids. The paper's kernels were not measured: no CUDA device was used.",
                rayon::current_num_threads(),
                water.words(),
                number(water.size),
                lipids.words(),
                number(lipids.size),
            ),
            _ => "Nothing was measured.".into(),
        },
    };
    let section = Section {
        title: "Speed against size (Figs. 7 and 9, Table 3)".into(),
        meaning,
        comparisons: vec![
            compare(
                "water only, single",
                12.0,
                "GTX 295",
                forces(Model::Water, Types::WaterOnly, Arithmetic::Single),
                "times",
            ),
            compare(
                "water, complete, double",
                13.69,
                "GTX 480",
                forces(Model::Water, Types::Matrix, Arithmetic::Double),
                "times",
            ),
            compare(
                "lipids, double",
                7.0,
                "GTX 480",
                forces(Model::Lipids, Types::Matrix, Arithmetic::Double),
                "times",
            ),
            compare(
                "water, engine, whole step",
                13.69,
                "GTX 480",
                engine(Model::Water, Place::Cuda),
                "times",
            ),
            compare(
                "lipids, engine, whole step",
                7.0,
                "GTX 480",
                engine(Model::Lipids, Place::Cuda),
                "times",
            ),
            compare(
                "lost to types of beads, single",
                28.85,
                "GTX 295, average",
                mean(&single),
                "%",
            ),
            compare(
                "lost to types of beads, double",
                13.65,
                "GTX 295, average",
                mean(&double),
                "%",
            ),
        ],
        tables: vec![table(
            "heterogeneity",
            "Table 3: what the complete version loses on water beside the one for water alone",
            &["arithmetic", "average", "largest", "smallest"],
            vec![line("single", &single), line("double", &double)],
        )],
        figures: vec![figure(
            "speed-up",
            "Figs. 7 and 9. Solid: single or mixed precision; dashed: double; thin: the engine on this processor.",
            chart,
        )],
        ladders: STEPS,
        ..Section::default()
    };
    bench.found.sections.push(section);
}

/// Forces and integration in one kernel or two: §9.1.
pub(super) fn merged(bench: &mut Bench<'_>) {
    let found = &bench.found;
    // Sizes, and by how much two kernels take longer, %.
    let losses = |model: Model| -> Vec<(f64, f64)> {
        let ladder = ladder(model, Part::Step);
        let [one, two] =
            [MERGED, MERGED.apart()].map(|version| BeadVariant::Kernels(version, Part::Step).name());
        let loss = |row: &Row| {
            let other = found.of(ladder, &two).find(|other| other.size == row.size)?;
            Some((row.size, 100.0 * (other.seconds? / row.seconds? - 1.0)))
        };
        found.of(ladder, &one).filter_map(loss).collect()
    };
    let (mut words, mut comparisons, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    for model in Model::ALL {
        let all = losses(model);
        let by = |(_, a): &&(f64, f64), (_, b): &&(f64, f64)| a.total_cmp(b);
        let worst = all.iter().max_by(by);
        if let (Some(most), Some(least)) = (worst, all.iter().min_by(by)) {
            let faster = all.iter().filter(|(_, loss)| *loss < 0.0).count();
            words.push(format!(
                "{:+.1} % with {} beads to {:+.1} % with {} for {}, less than nothing at {faster} of {} sizes",
                least.1,
                number(least.0),
                most.1,
                number(most.0),
                model.name(),
                all.len()
            ));
        }
        rows.extend(
            all.iter()
                .map(|(size, loss)| vec![model.name().into(), number(*size), format!("{loss:+.1} %")]),
        );
        comparisons.push(compare(
            &format!("two kernels in place of one, {}", model.name()),
            11.0,
            "up to, in words",
            worst.map(|(_, loss)| *loss),
            "% slower",
        ));
    }
    let meaning = if words.is_empty() {
        "The kernels of the paper were not measured: no CUDA device was used.".into()
    } else {
        format!(
            "What a kernel of its own for the second half of a step costs: {}.",
            words.join("; ")
        )
    };
    bench.found.sections.push(Section {
        title: "Merging work (§9.1)".into(),
        meaning,
        comparisons,
        tables: filled(
            "merging",
            "Two kernels in place of one: time of a step more",
            &["", "beads", "more"],
            rows,
        ),
        ..Section::default()
    });
}

/// Blocks of one type of interaction beside the matrix of types.
pub(super) fn blocks(bench: &mut Bench<'_>) {
    let found = &bench.found;
    let (mut rows, mut words) = (Vec::new(), Vec::new());
    for model in Model::ALL {
        for (part, what) in [(Part::Forces, "forces"), (Part::Step, "step")] {
            let ladder = ladder(model, part);
            let [matrix, blocks] =
                [Types::Matrix, Types::Blocks].map(|types| kernels_name(types, Arithmetic::Single));
            let mut gains = Vec::new();
            for row in found.of(ladder, &matrix) {
                let other = found.of(ladder, &blocks).find(|other| other.size == row.size);
                if let Some((a, b)) = row.seconds.zip(other.and_then(|other| other.seconds)) {
                    gains.push(a / b);
                    rows.push(vec![
                        format!("{}, {what}", model.name()),
                        number(row.size),
                        seconds(a),
                        seconds(b),
                        number(a / b),
                    ]);
                }
            }
            let extremes = gains
                .iter()
                .copied()
                .min_by(f64::total_cmp)
                .zip(gains.iter().copied().max_by(f64::total_cmp));
            if let Some((least, most)) = extremes {
                words.push(format!(
                    "{least:.2} to {most:.2} times ({}, {what})",
                    model.name()
                ));
            }
        }
    }
    let meaning = if words.is_empty() {
        "The kernels were not measured: no CUDA device was used.".into()
    } else {
        format!(
            "Beads are sorted by species and columns by type, and each block has pairs of one type alone, so that its warps \
             decide alike; a kernel then adds the parts of each bead. As fast as with the matrix of types: {}. A list takes \
             a pass over the cells for each type.",
            words.join(", ")
        )
    };
    bench.found.sections.push(Section {
        title: "Blocks of one type of interaction".into(),
        meaning,
        comparisons: Vec::new(),
        tables: filled(
            "blocks",
            "Class-pure blocks beside the matrix of types, single precision",
            &[
                "",
                "beads",
                "matrix of types",
                "class-pure blocks",
                "times as fast",
            ],
            rows,
        ),
        ..Section::default()
    });
}
