//! Temperatures and energies of the processor and of the device: Tables 6 and 7, Fig. 11.

use debye::plot::{Axis, Chart, Series, Stroke};
use debye::prelude::Precision;

use super::beads::Beads;
use super::courses::{Conserved, Course, NVE_STEP, Spread, by_engine, warming};
use super::report::{compare, engine_name, figure, kernels_name, table};
use super::versions::{Arithmetic, Types};
use crate::study::{Bench, Comparison, Extent, Figure, Input, Place, Section, StudyError};

/// The time step with a thermostat, fs.
const NVT_STEP: f64 = 10.0;

/// Runs of the engine: what they are called, and what they gave with and without a thermostat.
struct Pair {
    name: String,
    heated: Course,
    alone: Course,
    /// Without a thermostat, for longer, where there was time.
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

/// The processor in double precision first.
fn pairs(bench: &Bench<'_>, lipids: &Beads, conserved: &Conserved) -> Result<Vec<Pair>, StudyError> {
    let mut all = Vec::new();
    let runs = match bench.device() {
        Some(_) => [
            (Precision::Double, Place::Cpu),
            (Precision::Mixed, Place::Cuda),
            (Precision::Double, Place::Cuda),
        ]
        .to_vec(),
        None => [(Precision::Double, Place::Cpu), (Precision::Mixed, Place::Cpu)].to_vec(),
    };
    for (precision, place) in runs {
        let device = bench.device().filter(|_| place == Place::Cuda);
        // What a processor does in some ten seconds, and a device too: 10 ps, 1 ns and 200 ps of the full extent.
        let full = match (place, precision) {
            (Place::Cpu, _) => [50, 20],
            (Place::Cuda, Precision::Double) => [100, 200],
            (Place::Cuda, _) => [500, 200],
        };
        let looks = bench.extent.pick([5, 4], [20, 40], full);
        let variant = engine_name(precision, place);
        let Some(alone) = conserved.of(&variant) else {
            continue;
        };
        let long = match (device, precision, bench.extent) {
            (Some(device), Precision::Mixed, Extent::Full) => {
                let looks = [1000, 100];
                Some(by_engine(
                    lipids,
                    NVE_STEP,
                    "nve",
                    precision,
                    looks,
                    Some(device),
                )?)
            }
            _ => None,
        };
        all.push(Pair {
            name: variant.replace(" engine", "").replace(", whole step", ""),
            heated: by_engine(lipids, NVT_STEP, "langevin", precision, looks, device)?,
            alone: alone.clone(),
            long,
        });
    }
    Ok(all)
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

/// The total energy without a thermostat of the paper's processor and cards.
fn conserved_comparisons(device: Option<&Pair>, reference: &Course) -> Vec<Comparison> {
    let alone = device.map(|pair| Spread::of(&pair.alone.total));
    let reference = Spread::of(&reference.total);
    let off = alone.map(|x| x.percent_from(reference));
    let mut all = Vec::new();
    for (card, percent) in [("GTX 295", 25.28), ("GTX 480", 0.72), ("C2050", 0.65)] {
        all.push(compare(
            "NVE, mean total energy off the processor's",
            percent,
            card,
            off,
            "%",
        ));
    }
    let deviation = alone.map(|x| x.deviation);
    all.push(compare(
        "NVE, standard deviation of the total energy, processor",
        0.1514,
        "CPU",
        Some(reference.deviation),
        "kJ/mol",
    ));
    for (card, paper) in [("GTX 480", 0.0464), ("C2050", 0.0428)] {
        all.push(compare(
            "NVE, standard deviation of the total energy",
            paper,
            card,
            deviation,
            "kJ/mol",
        ));
    }
    all
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
    let mut rows = vec![line(&all, "length with a thermostat (ps)", &|pair| {
        format!("{}", pair.heated.length().round())
    })];
    rows.extend(means(&all, "temperature of lipids (°C)", 2, |p| {
        &p.heated.temperatures[0]
    }));
    rows.push(line(&all, "its second half beside the first", &|pair| {
        pair.warming(0)
    }));
    rows.extend(means(&all, "temperature of water (°C)", 2, |p| {
        &p.heated.temperatures[1]
    }));
    rows.push(line(&all, "its second half beside the first", &|pair| {
        pair.warming(1)
    }));
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
    let settled = if relaxing.is_empty() {
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
        "{}, Langevin at {NVT_STEP} fs: mean potential energies of {} and {} are {:.3} % apart; that of the \
         first is uncertain by {noise:.3} %, with one independent value for each ps. {settled}. Without a thermostat at \
         {NVE_STEP} fs the means of the total energy are {:.1e} % apart.",
        lipids.label(),
        first.name,
        second.name,
        off(|p| &p.heated.potential),
        off(|p| &p.alone.total),
    );
    let mut comparisons = vec![
        compare(
            "temperature of lipids, processor",
            30.0018,
            "CPU; asked for here are 29.85 °C",
            Some(first.of(|p| &p.heated.temperatures[0]).mean),
            "°C",
        ),
        compare(
            "temperature of lipids, off the processor's",
            0.0017,
            "GTX 480",
            Some(off(|p| &p.heated.temperatures[0])),
            "%",
        ),
        compare(
            "temperature of water, off the processor's",
            0.01,
            "GTX 480",
            Some(off(|p| &p.heated.temperatures[1])),
            "%",
        ),
        compare(
            "potential energy, off the processor's",
            0.68,
            "GTX 480",
            Some(off(|p| &p.heated.potential)),
            "%",
        ),
    ];
    comparisons.extend(conserved_comparisons(Some(second), &first.alone));
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
        figures: vec![
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
        ],
        ..Section::default()
    };
    bench.found.sections.push(section);
    Ok(())
}
