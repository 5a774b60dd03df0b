//! Temperatures and energies of the processor and of the device: Tables 6 and 7, Fig. 11.

use debye::plot::{Axis, Chart, Series, Stroke};
use debye::prelude::Precision;

use super::beads::{BILAYER_KELVIN, Beads};
use super::courses::{CELSIUS, Conserved, Course, NVE_STEP, Run, Spread, courses, warming};
use super::report::{compare, engine_name, figure, kernels_name, table};
use super::versions::{Arithmetic, Types};
use crate::study::{Bench, Comparison, Extent, Figure, Input, Place, Section, StudyError, number};

/// The time step of the engine's simulations with a thermostat, fs. The paper's is that without one.
const LONG_STEP: f64 = 10.0;
/// The temperature asked for, °C.
const TARGET: f64 = BILAYER_KELVIN - CELSIUS;
/// The length of the paper's runs, ps.
const PAPER_LENGTH: f64 = 1000.0;

/// Runs of the engine: what they are called, and what they gave with and without a thermostat.
struct Pair {
    name: String,
    /// With a thermostat and the paper's time step.
    fine: Course,
    /// With a thermostat and [`LONG_STEP`].
    heated: Course,
    alone: Course,
    /// Without a thermostat, as long as the paper's, where there was time.
    long: Option<Course>,
}

impl Pair {
    fn of(&self, value: fn(&Self) -> &Vec<f64>) -> Spread {
        Spread::of(value(self))
    }

    /// How much warmer lipids or water get within the run, if so.
    fn change(&self, group: usize) -> Option<f64> {
        let run = &self.heated;
        warming(&run.temperatures[group], run.freedom[group], run.length())
    }

    fn warming(&self, group: usize) -> String {
        match self.change(group) {
            Some(change) => format!("still relaxing: {change:+.2} °C"),
            None => "the same within chance".into(),
        }
    }
}

/// 10⁶ steps of the paper's length, looked at so often.
const PAPER_LOOKS: [u64; 2] = [5000, 200];

/// The processor in double precision first.
fn pairs(bench: &Bench<'_>, lipids: &Beads, conserved: &Conserved) -> Result<Vec<Pair>, StudyError> {
    let places: &[(Precision, Place)] = match bench.device() {
        Some(_) => &[
            (Precision::Double, Place::Cpu),
            (Precision::Mixed, Place::Cuda),
            (Precision::Double, Place::Cuda),
        ],
        None => &[(Precision::Double, Place::Cpu), (Precision::Mixed, Place::Cpu)],
    };
    let (mut runs, mut known) = (Vec::new(), Vec::new());
    for &(precision, place) in places {
        let device = bench.device().filter(|_| place == Place::Cuda);
        // What a processor does in some ten seconds: 1 ps of the paper's step and 10 ps of the long one at the full extent.
        // A device in mixed precision does the paper's 10⁶ steps in two minutes.
        let (fine, full) = match (place, precision) {
            (Place::Cpu, _) => ([50, 20], [50, 20]),
            (Place::Cuda, Precision::Double) => ([100, 200], [100, 200]),
            (Place::Cuda, _) => (PAPER_LOOKS, [500, 200]),
        };
        let variant = engine_name(precision, place);
        let Some(alone) = conserved.of(&variant) else {
            continue;
        };
        let heated = |femtoseconds, looks| Run {
            femtoseconds,
            ensemble: "langevin",
            precision,
            looks,
            device,
        };
        runs.push(heated(NVE_STEP, bench.extent.pick([5, 4], [50, 20], fine)));
        runs.push(heated(LONG_STEP, bench.extent.pick([5, 4], [20, 40], full)));
        let long = (precision, place, bench.extent) == (Precision::Mixed, Place::Cuda, Extent::Full);
        if long {
            runs.push(Run::alone(precision, PAPER_LOOKS, device));
        }
        known.push((variant, alone, long));
    }
    let mut courses = courses(bench.stop_flag(), lipids, &runs)?.into_iter();
    let mut next = || courses.next().unwrap_or_default();
    Ok(known
        .into_iter()
        .map(|(variant, alone, long)| Pair {
            name: variant.replace(" engine", "").replace(", whole step", ""),
            fine: next(),
            heated: next(),
            alone: alone.clone(),
            long: long.then(&mut next),
        })
        .collect())
}

/// A row of the table.
fn line(all: &[Pair], name: &str, cell: &dyn Fn(&Pair) -> String) -> Vec<String> {
    let mut cells = vec![name.to_owned()];
    cells.extend(all.iter().map(cell));
    cells
}

/// Mean and deviation, and by how much the mean is off the processor's.
fn means(all: &[Pair], name: &str, digits: usize, value: fn(&Pair) -> &Vec<f64>) -> [Vec<String>; 2] {
    let reference = all.first().map(|first| first.of(value));
    [
        line(all, name, &|pair| {
            let x = pair.of(value);
            format!("{:.*} ± {:.*}", digits, x.mean, digits, x.deviation)
        }),
        line(all, "its mean off the processor's (%)", &|pair| {
            reference.map_or(String::new(), |r| {
                format!("{:.4}", pair.of(value).percent_from(r))
            })
        }),
    ]
}

/// The paper's numbers, beside runs that are as long as its own alone.
fn comparisons(all: &[Pair]) -> Vec<Comparison> {
    let as_long = |course: &&Course| course.length() > 0.99 * PAPER_LENGTH;
    let heated = all.iter().map(|pair| &pair.fine).find(as_long);
    let alone = all.iter().filter_map(|pair| pair.long.as_ref()).find(as_long);
    let [lipids, water] = [0, 1].map(|group| heated.map(|course| Spread::of(&course.temperatures[group])));
    let potential = heated.map(|course| Spread::of(&course.potential));
    let total = alone.map(|course| Spread::of(&course.total));
    let card = "GTX 480, 1 ns with steps of 1 fs";
    let mut rows = Vec::new();
    for (what, papers, ours, unit) in [
        ("temperature of lipids", [30.0023, 0.3129], lipids, "°C"),
        ("temperature of water", [30.0, 0.2951], water, "°C"),
        ("potential energy", [-33.3228, 0.0951], potential, "kJ/mol"),
    ] {
        let deviation = format!("{what}, standard deviation");
        rows.push(compare(
            &format!("{what}, mean"),
            papers[0],
            card,
            ours.map(|x| x.mean),
            unit,
        ));
        rows.push(compare(
            &deviation,
            papers[1],
            card,
            ours.map(|x| x.deviation),
            unit,
        ));
    }
    let deviation = "NVE, standard deviation of the total energy";
    rows.push(compare(
        deviation,
        0.0464,
        card,
        total.map(|x| x.deviation),
        "kJ/mol",
    ));
    rows
}

/// How far a temperature is from the one asked for, and the standard error of its mean, °C.
fn off_target(course: &Course, group: usize) -> [f64; 2] {
    let mean = Spread::of(&course.temperatures[group]).mean;
    let values = course.length().max(1.0);
    [
        mean - TARGET,
        BILAYER_KELVIN * (2.0 / course.freedom[group] / values).sqrt(),
    ]
}

/// Runs with a thermostat shorter than this say nothing of equilibrium, ps.
const TELLING: f64 = 20.0;

/// Whether the time step is why a temperature is off.
fn blame([off, error]: [f64; 2], [fine, sure]: [f64; 2]) -> &'static str {
    match () {
        () if off.abs() <= 2.0 * error => "with the long step it is not off by more than chance",
        () if fine.abs() > 2.0 * sure => {
            "the short step leaves some of it, so that the long one is not the only cause"
        }
        () if 4.0 * sure > off.abs() => {
            "the run with the short step is not long enough to tell whether the step is the cause"
        }
        () => "so the long step is the cause",
    }
}

/// Temperatures of the run that is the longest, against what was asked for.
fn targets(all: &[Pair]) -> String {
    let longest = all
        .iter()
        .max_by(|a, b| a.fine.length().total_cmp(&b.fine.length()));
    longest.map_or(String::new(), |pair| {
        let group = |group: usize, name: &str| {
            let [long, short] = [&pair.heated, &pair.fine].map(|course| off_target(course, group));
            format!(
                "{name} {:+.2} ± {:.2} °C with steps of {LONG_STEP} fs and {:+.2} ± {:.2} with {NVE_STEP} fs ({})",
                long[0],
                long[1],
                short[0],
                short[1],
                match pair.change(group) {
                    None if pair.fine.length().min(pair.heated.length()) >= TELLING => blame(long, short),
                    _ => "runs that are too short, or still relaxing, to tell why",
                }
            )
        };
        format!(
            "From the {TARGET:.2} °C that are asked for, {} has {}, and {}.",
            pair.name,
            group(0, "lipids"),
            group(1, "water")
        )
    })
}

/// Total or potential energies without a thermostat, from where they start.
fn curves(
    name: &str,
    title: &str,
    conserved: &Conserved,
    scale: (f64, &str),
    value: fn(&Course) -> &Vec<f64>,
) -> Figure {
    let mut chart = Chart::new(title, Axis::new("time (ps)"), Axis::new(scale.1));
    let engine = |precision, place| engine_name(precision, place);
    for (legend, variant, stroke) in [
        (
            "CPU, double",
            engine(Precision::Double, Place::Cpu),
            Stroke::Solid,
        ),
        ("CPU, mixed", engine(Precision::Mixed, Place::Cpu), Stroke::Thin),
        (
            "GPU, mixed",
            engine(Precision::Mixed, Place::Cuda),
            Stroke::Dashed,
        ),
        (
            "GPU, double",
            engine(Precision::Double, Place::Cuda),
            Stroke::Dashed,
        ),
        (
            "GPU, the paper's kernels, double",
            kernels_name(Types::Matrix, Arithmetic::Double),
            Stroke::Dashed,
        ),
    ] {
        if let Some(course) = conserved.of(&variant) {
            let first = value(course).first().copied().unwrap_or(0.0);
            let changes: Vec<f64> = value(course).iter().map(|e| scale.0 * (e - first)).collect();
            chart = chart.with(Series::new(legend, &course.times, &changes).with_stroke(stroke));
        }
    }
    let caption = format!(
        "Fig. 11: {}, without a thermostat, from its start.",
        title.to_lowercase()
    );
    figure(name, &caption, chart)
}

/// The section. `conserved` are the runs without a thermostat, of the same beads.
pub(super) fn accuracy(
    bench: &mut Bench<'_>,
    lipids: &Beads,
    conserved: &Conserved,
) -> Result<(), StudyError> {
    let all = pairs(bench, lipids, conserved)?;
    let (Some(first), Some(second)) = (all.first(), all.get(1)) else {
        return Ok(());
    };
    let mut rows = vec![line(&all, "length with a thermostat, 1 fs (ps)", &|pair| {
        number(pair.fine.length())
    })];
    rows.extend(means(&all, "temperature of lipids (°C)", 2, |p| {
        &p.fine.temperatures[0]
    }));
    rows.extend(means(&all, "temperature of water (°C)", 2, |p| {
        &p.fine.temperatures[1]
    }));
    rows.extend(means(&all, "potential energy (kJ/mol per bead)", 4, |p| {
        &p.fine.potential
    }));
    rows.push(line(&all, "length with a thermostat, 10 fs (ps)", &|pair| {
        number(pair.heated.length())
    }));
    for (group, name) in ["temperature of lipids (°C)", "temperature of water (°C)"]
        .into_iter()
        .enumerate()
    {
        let value: fn(&Pair) -> &Vec<f64> = match group {
            0 => |p| &p.heated.temperatures[0],
            _ => |p| &p.heated.temperatures[1],
        };
        rows.extend(means(&all, name, 2, value));
        rows.push(line(&all, "its second half beside the first", &|pair| {
            pair.warming(group)
        }));
    }
    rows.extend(means(&all, "potential energy (kJ/mol per bead)", 4, |p| {
        &p.heated.potential
    }));
    rows.push(line(&all, "length, NVE (ps)", &|p| {
        format!("{}", p.alone.length())
    }));
    rows.extend(means(&all, "total energy, NVE (kJ/mol per bead)", 6, |p| {
        &p.alone.total
    }));
    if all.iter().any(|pair| pair.long.is_some()) {
        let said = |p: &Pair, of: &dyn Fn(&Course) -> String| p.long.as_ref().map_or("not run".into(), of);
        rows.push(line(&all, "longer, NVE (ps)", &|p| {
            said(p, &|c| format!("{}", c.length()))
        }));
        rows.push(line(
            &all,
            "its drift of the total energy (kJ/mol per bead and ns)",
            &|p| said(p, &|c| format!("{:+.1e}", 1e3 * c.drift())),
        ));
    }
    let off = |value: fn(&Pair) -> &Vec<f64>| second.of(value).percent_from(first.of(value));
    let relaxing: Vec<&str> = all
        .iter()
        .filter(|p| (0..2).any(|group| p.change(group).is_some()))
        .map(|p| p.name.as_str())
        .collect();
    let equilibrated = if relaxing.is_empty() {
        "No temperature changes from the first half of its run to the second by more than chance".to_owned()
    } else {
        format!(
            "Temperatures are still relaxing in the runs of {}, and their means are not those of equilibrium",
            relaxing.join(" and of ")
        )
    };
    let potential = first.of(|p| &p.heated.potential);
    let noise = 100.0 * (potential.deviation / potential.mean).abs() / first.heated.length().max(1.0).sqrt();
    let meaning = format!(
        "{}, Langevin with steps of {LONG_STEP} fs: mean potential energies of {} and {} are {:.3} % apart; that of the \
         first is uncertain by {noise:.3} %, with one independent value for each ps. {equilibrated}. Without a thermostat and with \
         steps of {NVE_STEP} fs the means of the total energy are {:.1e} % apart. {} The paper has 10⁶ steps of 1 fs on processor \
         and cards; only runs of that length stand beside its numbers, and none of the processor is as long.",
        lipids.label(),
        first.name,
        second.name,
        off(|p| &p.heated.potential),
        off(|p| &p.alone.total),
        targets(&all),
    );
    let comparisons = comparisons(&all);
    let mut head = vec![""];
    head.extend(all.iter().map(|pair| pair.name.as_str()));
    let section = Section {
        title: "Accuracy (Tables 6 and 7, Fig. 11)".into(),
        meaning,
        comparisons,
        tables: vec![table(
            "accuracy",
            &format!("{}: mean ± standard deviation", lipids.label()),
            &head,
            rows,
        )],
        figures: figures(&all, conserved),
        ..Section::default()
    };
    bench.found.sections.push(section);
    Ok(())
}

/// Fig. 11: short runs of all, and the long one where there is one.
fn figures(all: &[Pair], conserved: &Conserved) -> Vec<Figure> {
    let mut figures = vec![
        curves(
            "total-energy",
            "Total energy, NVE",
            conserved,
            (1e3, "change (J/mol per bead)"),
            |c| &c.total,
        ),
        curves(
            "potential-energy",
            "Potential energy, NVE",
            conserved,
            (1.0, "change (kJ/mol per bead)"),
            |c| &c.potential,
        ),
    ];
    let long = all
        .iter()
        .find_map(|pair| Some((&pair.name, pair.long.as_ref()?)));
    if let Some((name, course)) = long {
        let mut chart = Chart::new(
            "Energies, NVE",
            Axis::new("time (ps)"),
            Axis::new("change (kJ/mol per bead)"),
        );
        for (legend, values) in [("total", &course.total), ("potential", &course.potential)] {
            let first = values.first().copied().unwrap_or(0.0);
            let changes: Vec<f64> = values.iter().map(|e| e - first).collect();
            chart = chart.with(Series::new(legend, &course.times, &changes));
        }
        let caption =
            format!("Fig. 11 as long as in the paper: {name}, without a thermostat, from its start.");
        figures.push(figure("long-energy", &caption, chart));
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_blamed_only_for_what_is_measured() {
        assert!(blame([0.1, 0.1], [0.0, 0.1]).contains("not off by more than chance"));
        assert!(blame([-2.0, 0.1], [-1.0, 0.1]).contains("not the only cause"));
        assert!(blame([-2.0, 0.1], [0.3, 1.0]).contains("not long enough"));
        assert!(blame([-2.0, 0.1], [0.05, 0.04]).contains("is the cause"));
    }
}
