//! The time step: Fig. 10.

use std::time::Instant;

use debye::engines::EngineError;
use debye::plot::{Axis, Chart, Series, Stroke};
use debye::prelude::Precision;
use debye::run::engine_on;
use debye_gpu::Device;

use super::MERGED;
use super::beads::{BUFFER, Beads, Model};
use super::courses::changed;
use super::device::OnCard;
use super::ladder;
use super::report::{SERIAL, compare, figure, kernels_name, table};
use super::variants::{FEW, Part};
use super::versions::{Arithmetic, Types};
use crate::study::{Bench, Input, Section, StudyError, number};

/// Time steps in fs, and the paper's steps for each list.
const STEPS: [(f64, f64); 3] = [(1.0, 100.0), (10.0, 10.0), (20.0, 5.0)];

/// The paper's speed-ups, GTX 480.
fn published(model: Model) -> [f64; 3] {
    match model {
        Model::Water => [13.69, 13.83, 13.88],
        Model::Lipids => [7.0, 7.44, 7.9],
    }
}

/// Seconds of a step of the engine, and its steps for each list; why there are none, where beads fly apart.
fn pace(
    beads: &Beads,
    femtoseconds: f64,
    steps: u64,
    device: Option<&Device>,
) -> Result<Result<[f64; 2], String>, StudyError> {
    let simulation = changed(beads, femtoseconds, "langevin", Precision::Mixed)?;
    let mut engine = engine_on(&simulation, device)?;
    let mut timed = || {
        engine.advance(steps / 2, false)?;
        let (lists, began) = (engine.lists().builds, Instant::now());
        engine.advance(steps, false)?;
        let (seconds, lists) = (began.elapsed().as_secs_f64(), engine.lists().builds - lists);
        Ok([seconds / steps as f64, steps as f64 / lists.max(1) as f64])
    };
    match timed() {
        Ok(measured) => Ok(Ok(measured)),
        Err(error @ (EngineError::Exploded(_) | EngineError::Lost { .. })) => Ok(Err(error.to_string())),
        Err(error) => Err(error.into()),
    }
}

/// fs until a bead has crossed half of the buffer of the paper's lists, as the engine moves them: the mean of some lists.
fn lifetime(beads: &Beads, lists: u32, device: Option<&Device>) -> Result<f64, StudyError> {
    // Looked at every 5 steps of 1 fs.
    const EVERY: u64 = 5;
    let simulation = changed(beads, STEPS[0].0, "langevin", Precision::Mixed)?;
    let mut engine = engine_on(&simulation, device)?;
    let mut steps = 0;
    for _ in 0..lists {
        let start = engine.particles()?.positions;
        let mut far = false;
        while !far {
            engine.advance(EVERY, false)?;
            steps += EVERY;
            let now = engine.particles()?.positions;
            let crossed = |i: usize| beads.nearest(now[i] - start[i]).norm() > 0.5 * BUFFER;
            far = (0..beads.len()).any(crossed);
        }
    }
    Ok(steps as f64 * STEPS[0].0 / f64::from(lists))
}

/// Seconds for all matrices, those of the host among them: the fastest of three.
fn listing(beads: &Beads, types: Types, device: &Device) -> Result<f64, StudyError> {
    let version = super::Version { types, ..MERGED };
    let (mut card, stream) = (
        OnCard::<f32>::new(device, beads, version, 0.0, FEW)?,
        device.stream()?,
    );
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let began = Instant::now();
        card.relist(device, &stream, &beads.particles().positions)?;
        best = best.min(began.elapsed().as_secs_f64());
    }
    Ok(best)
}

/// What is known at three time steps: seconds of a step of the serial program, of each version of the kernels, of the
/// engine.
struct Known {
    serial: [Option<f64>; 3],
    kernels: Vec<(Types, [Option<f64>; 3])>,
    /// And its steps for each list, or why there are none.
    engine: Vec<Result<[f64; 2], String>>,
    /// Steps for each list of the paper's.
    intervals: [f64; 3],
}

impl Known {
    fn engine(&self) -> [Option<f64>; 3] {
        std::array::from_fn(|k| self.engine[k].as_ref().ok().map(|[seconds, _]| *seconds))
    }
}

fn known(bench: &Bench<'_>, beads: &Beads) -> Result<Known, StudyError> {
    let (steps, lists) = bench.extent.pick((20, 1), (400, 2), (4000, 5));
    let device = bench.device();
    let lifetime = lifetime(beads, lists, device)?;
    let intervals = STEPS.map(|(femtoseconds, _)| (lifetime / femtoseconds).max(1.0));
    let engine: Vec<Result<[f64; 2], String>> = STEPS
        .iter()
        .map(|(femtoseconds, _)| pace(beads, *femtoseconds, steps, device))
        .collect::<Result<_, _>>()?;
    let seconds = |part: Part, variant: &str| {
        let rows = bench.found.of(ladder(beads.model, part), variant);
        rows.filter(|row| row.size == beads.work())
            .find_map(|row| row.seconds)
    };
    // A step, and its share of a list; none where a run would fly apart.
    let step = |whole: Option<f64>, list: Option<f64>| -> [Option<f64>; 3] {
        let share = |k: usize| Some(whole? + list? / intervals[k]);
        std::array::from_fn(|k| share(k).filter(|_| engine[k].is_ok()))
    };
    let forces_and_motion = seconds(Part::Forces, SERIAL)
        .zip(seconds(Part::Integration, SERIAL))
        .map(|(a, b)| a + b);
    let mut kernels = Vec::new();
    for types in [Types::WaterOnly, Types::Matrix] {
        let whole = seconds(Part::Step, &kernels_name(types, Arithmetic::Single));
        if let (Some(device), Some(_)) = (device, whole) {
            let list = listing(beads, types, device)?;
            kernels.push((types, step(whole, Some(list))));
        }
    }
    Ok(Known {
        serial: step(forces_and_motion, seconds(Part::Neighbors, SERIAL)),
        kernels,
        engine,
        intervals,
    })
}

/// Speed-ups of water and lipids at three time steps.
pub(super) fn timestep(bench: &mut Bench<'_>, systems: &[Beads]) -> Result<(), StudyError> {
    let (mut rows, mut comparisons, mut words) = (Vec::new(), Vec::new(), Vec::new());
    let mut chart = Chart::new(
        "Speed-up over the serial program",
        Axis::new("time step (fs)"),
        Axis::log("times as fast as one thread"),
    )
    .with_size(760.0, 420.0);
    for beads in systems {
        if bench.stopped() {
            return Ok(());
        }
        let known = known(bench, beads)?;
        let name = beads.model.name();
        let over = |seconds: [Option<f64>; 3]| -> [Option<f64>; 3] {
            std::array::from_fn(|k| Some(known.serial[k]? / seconds[k]?))
        };
        let mut lines: Vec<(String, [Option<f64>; 3], Stroke)> =
            vec![(format!("{name}, the engine"), over(known.engine()), Stroke::Solid)];
        for &(types, seconds) in &known.kernels {
            let stroke = match types {
                Types::WaterOnly => Stroke::Thin,
                _ => Stroke::Dashed,
            };
            lines.push((format!("{name}, {} kernels", types.name()), over(seconds), stroke));
        }
        for (legend, speed_ups, stroke) in lines {
            let (x, y): (Vec<f64>, Vec<f64>) = STEPS
                .iter()
                .zip(speed_ups)
                .filter_map(|(step, y)| Some((step.0, y?)))
                .unzip();
            if x.is_empty() {
                continue;
            }
            chart = chart.with(Series::new(&legend, &x, &y).with_stroke(stroke));
            let mut cells = vec![legend];
            cells.extend(speed_ups.map(|y| y.map_or("not measured".into(), number)));
            rows.push(cells);
        }
        let complete = known.kernels.iter().find(|(types, _)| *types == Types::Matrix);
        let kernels = complete.map_or([None; 3], |(_, seconds)| over(*seconds));
        let engine = over(known.engine());
        for (k, (femtoseconds, every)) in STEPS.into_iter().enumerate() {
            let what = |x: &str| format!("{name}, {femtoseconds} fs: {x}");
            let paper = published(beads.model)[k];
            comparisons.push(compare(
                &what("complete kernels"),
                paper,
                "GTX 480",
                kernels[k],
                "times",
            ));
            comparisons.push(compare(&what("the engine"), paper, "GTX 480", engine[k], "times"));
            let interval = Some(known.intervals[k]);
            comparisons.push(compare(
                &what("steps for each list"),
                every,
                "in words",
                interval,
                "steps",
            ));
        }
        // From the shortest to the longest step that was measured.
        for (who, all) in [("the kernels", kernels), ("the engine", engine)] {
            let last = (1..3).rev().find_map(|k| Some((STEPS[k].0, all[k]?)));
            if let (Some(first), Some((longest, last))) = (all[0], last) {
                words.push(format!(
                    "{}: from 1 to {longest} fs the speed-up of {who} changes by {:+.1} %",
                    beads.label(),
                    100.0 * (last / first - 1.0)
                ));
            }
        }
        let of_engine = |k: usize, value: fn(f64, [f64; 2]) -> f64| match &known.engine[k] {
            Ok(measured) => number(value(STEPS[k].0, *measured)),
            Err(_) => "unstable".into(),
        };
        let per_day = |k| {
            of_engine(k, |femtoseconds, [seconds, _]| {
                femtoseconds * 86_400.0 * 1e-6 / seconds
            })
        };
        let lists = |k| of_engine(k, |_, [_, every]| every);
        for (what, cell) in [
            ("the engine, ns/day", &per_day as &dyn Fn(usize) -> String),
            ("the engine, steps for each list", &lists),
            ("the paper's lists, steps for each", &|k| {
                number(known.intervals[k])
            }),
        ] {
            let mut cells = vec![format!("{name}, {what}")];
            cells.extend((0..3).map(cell));
            rows.push(cells);
        }
        for ((femtoseconds, _), result) in STEPS.iter().zip(&known.engine) {
            if let Err(why) = result {
                let why = why.split(';').next().unwrap_or_default();
                words.push(format!(
                    "{name} is unstable with steps of {femtoseconds} fs: {why}"
                ));
            }
        }
    }
    let section = Section {
        title: "The time step (Fig. 10)".into(),
        meaning: format!(
            "{}. In the paper it rises by 12.89 % for lipids and 1.38 % for water, as lists are a larger part of the \
             serial program. The engine is run, with bonds and thermostat. For the serial program and the kernels the \
             measured times of forces, integration and lists are added, a list for as many steps as a bead takes through \
             half of the buffer of {BUFFER} nm in a run with steps of 1 fs; the matrix of cells, made by the host, counts.",
            words.join("; ")
        ),
        comparisons,
        tables: vec![table(
            "time-step",
            "Fig. 10: speed-up at three time steps",
            &["", "1 fs", "10 fs", "20 fs"],
            rows,
        )],
        figures: vec![figure(
            "time-step",
            "Fig. 10. Solid: the engine; dashed: the complete kernels; thin: those for water alone.",
            chart,
        )],
        ..Section::default()
    };
    bench.found.sections.push(section);
    Ok(())
}
