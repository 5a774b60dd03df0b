//! Floating point, fixed point, intrinsics: Table 8.

use debye::plot::{Axis, Chart, Series, Stroke};
use debye::prelude::Precision;

use super::beads::Model;
use super::courses::{Conserved, NVE_STEP, Spread};
use super::ladder;
use super::report::{SERIAL, compare, engine_name, figure, kernels_name, table};
use super::variants::Part;
use super::versions::{Arithmetic, Types};
use crate::study::{Bench, Comparison, Figure, Findings, Place, Row, Section, number};

/// Where variants of a model were measured at the size of a run.
struct Measured<'f> {
    found: &'f Findings,
    run: &'f Conserved,
}

impl Measured<'_> {
    fn row(&self, part: Part, variant: &str) -> Option<&Row> {
        let ladder = ladder(self.run.model, part);
        let size = self.run.beads as f64;
        self.found
            .rows
            .iter()
            .find(|row| row.ladder == ladder && row.variant == variant && row.size == size)
    }

    fn seconds(&self, part: Part, variant: &str) -> Option<f64> {
        self.row(part, variant)?.seconds
    }

    /// A line of the table: speed-up, error of forces, and how well the total energy is kept.
    fn line(&self, part: Part, variant: &str) -> Option<Vec<String>> {
        let row = self.row(part, variant)?;
        row.seconds?;
        let unknown = || "not measured".to_owned();
        let serial = self.seconds(Part::Forces, SERIAL);
        let speed = serial.zip(row.seconds).map(|(serial, seconds)| serial / seconds);
        let mut cells = vec![
            format!("{}, {variant}", self.run.model.name()),
            speed.map_or_else(unknown, number),
            row.error.map_or_else(unknown, |error| format!("{error:.1e}")),
        ];
        match self.run.of(variant) {
            Some(course) => cells.extend([
                format!("{:.1e}", Spread::of(&course.total).deviation),
                format!("{:+.1e}", course.drift()),
                format!("{:.1e}", self.off(variant).unwrap_or(f64::NAN)),
            ]),
            None => cells.extend([(); 3].map(|()| unknown())),
        }
        Some(cells)
    }

    /// By how much the mean total energy is off that of the processor in double precision, %.
    fn off(&self, variant: &str) -> Option<f64> {
        let [mine, reference] =
            [self.run.of(variant)?, &self.run.reference].map(|course| Spread::of(&course.total));
        Some(mine.percent_from(reference))
    }
}

fn name(arithmetic: Arithmetic) -> String {
    kernels_name(Types::Matrix, arithmetic)
}

/// Speeds beside double precision, and mean total energies.
fn comparisons(measured: &Measured<'_>) -> Vec<Comparison> {
    let model = measured.run.model;
    let over_double = |arithmetic| {
        let [a, b] = [Arithmetic::Double, arithmetic].map(|a| measured.seconds(Part::Forces, &name(a)));
        Some(a? / b?)
    };
    let (fixed, intrinsic) = match model {
        Model::Water => (19.61 / 13.69, 27.71 / 13.69),
        Model::Lipids => (9.81 / 7.0, 12.91 / 7.0),
    };
    let mut all = Vec::new();
    for (arithmetic, paper) in [(Arithmetic::Fixed, fixed), (Arithmetic::Intrinsic, intrinsic)] {
        all.push(compare(
            &format!("{}: {} over double", model.name(), arithmetic.name()),
            paper,
            "GTX 480, ratio of speed-ups",
            over_double(arithmetic),
            "times",
        ));
    }
    if model == Model::Lipids {
        for (arithmetic, paper, source) in [
            (Arithmetic::Fixed, 112.4, "at most, fixed point or intrinsics"),
            (
                Arithmetic::Intrinsic,
                104.0,
                "at least, fixed point or intrinsics",
            ),
        ] {
            let what = format!(
                "lipids: total energy by {}, from the processor's",
                arithmetic.name()
            );
            let ours = measured.off(&name(arithmetic));
            all.push(compare(&what, paper, source, ours, "%"));
        }
    }
    all
}

/// What the kernels do to the total energy.
fn energies(run: &Conserved) -> Option<Figure> {
    let mut chart = Chart::new(
        &format!("Total energy by the paper's kernels, NVE, {}", run.model.name()),
        Axis::new("time (ps)"),
        Axis::new("change (J/mol per bead)"),
    );
    let mut any = false;
    let kernels = Arithmetic::ALL.map(|arithmetic| (arithmetic.name(), name(arithmetic)));
    let reference = "CPU, double";
    let processor = (reference, engine_name(Precision::Double, Place::Cpu));
    for (legend, variant) in kernels.into_iter().chain([processor]) {
        let Some(course) = run.of(&variant) else { continue };
        let first = course.total.first().copied().unwrap_or(0.0);
        let changes: Vec<f64> = course.total.iter().map(|e| 1e3 * (e - first)).collect();
        let series = Series::new(legend, &course.times, &changes);
        any |= legend != reference;
        chart = chart.with(if legend == reference {
            series.with_stroke(Stroke::Dashed)
        } else {
            series
        });
    }
    any.then(|| {
        figure(
            &format!("kernels-energy-{}", run.model.name()),
            "The total energy from its start. Dashed: the engine on the processor in double precision.",
            chart,
        )
    })
}

/// The section, from what was measured and from runs without a thermostat.
pub(super) fn arithmetic(bench: &mut Bench<'_>, runs: &[Conserved]) {
    let found = &bench.found;
    let (mut rows, mut compared, mut figures) = (Vec::new(), Vec::new(), Vec::new());
    let (mut off, mut length) = ([None::<f64>; 5], 0.0_f64);
    for run in runs {
        let measured = Measured { found, run };
        rows.extend(
            Arithmetic::ALL
                .into_iter()
                .filter_map(|a| measured.line(Part::Forces, &name(a))),
        );
        for place in [Place::Cuda, Place::Cpu] {
            for precision in [Precision::Mixed, Precision::Double] {
                rows.extend(measured.line(Part::Step, &engine_name(precision, place)));
            }
        }
        compared.extend(comparisons(&measured));
        figures.extend(energies(run));
        for (worst, arithmetic) in off.iter_mut().zip(Arithmetic::ALL) {
            let now = measured.off(&name(arithmetic));
            *worst = now.map(|x| worst.map_or(x, |w| w.max(x))).or(*worst);
        }
        length = length.max(run.reference.length());
    }
    let worst = |arithmetic| {
        let errors = found.rows.iter().filter(|row| row.variant == name(arithmetic));
        errors.filter_map(|row| row.error).max_by(f64::total_cmp)
    };
    let said: Vec<String> = Arithmetic::ALL
        .into_iter()
        .zip(off)
        .filter_map(|(a, off)| Some(format!("{} {:.0e} and {:.1e} %", a.name(), worst(a)?, off?)))
        .collect();
    let meaning = match (off[Arithmetic::Fixed as usize], off[Arithmetic::Intrinsic as usize]) {
        (Some(fixed), Some(intrinsic)) => {
            let verdict = if fixed.max(intrinsic) < 1.0 {
                "The intrinsics it names round as IEEE 754 asks, and 40 bits behind the point are enough: neither is to blame"
            } else {
                "So it is here"
            };
            format!(
                "Errors of forces and torques, and of the mean total energy of {length} ps with steps of {NVE_STEP} fs from \
                 that of the processor in double precision, at most: {}. The paper has total energies that are 104 to \
                 112.4 % off by fixed point and intrinsics, and gives no format. {verdict}.",
                said.join("; ")
            )
        }
        _ => "The kernels of the paper were not measured: no CUDA device was used. The energies are those of the engine.".into(),
    };
    let section = Section {
        title: "Arithmetic (Table 8)".into(),
        meaning,
        comparisons: compared,
        tables: vec![table(
            "arithmetic",
            &format!(
                "Table 8: speed-up over the serial program; the error of forces and torques; the total energy of a bead in \
                 {length} ps without a thermostat: its standard deviation (kJ/mol), its drift (kJ/mol and ps), its mean \
                 from that of the processor in double precision (%)"
            ),
            &["", "speed-up", "error", "deviation", "drift", "mean, % off"],
            rows,
        )],
        figures,
        ..Section::default()
    };
    bench.found.sections.push(section);
}
