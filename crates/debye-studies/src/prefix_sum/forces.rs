//! The section of the report on the loop over bins.

use debye::plot::Axis;

use super::FORCES;
use super::bins::{Argon, BinVariant, Gas, kernel_occupancy};
use crate::study::{
    Bench, Comparison, Figure, Findings, Input, Row, Section, Shown, StudyError, Table, number, seconds,
};

/// A step of the engine, and the paper's kernel.
const STEP: &str = "GPU engine, whole step";
const BRANCHES: &str = "GPU bins, branches at faces";

/// The loop over bins.
pub(super) fn forces(bench: &mut Bench<'_>) -> Result<(), StudyError> {
    let sizes: &[usize] = bench
        .extent
        .pick(&[400], &[4000, 30_000], &[30_000, 250_000, 1_000_000]);
    let mut rows = Vec::new();
    for &atoms in sizes {
        let argon = Argon::new(Gas::Ball, atoms);
        for variant in BinVariant::ALL {
            bench.measure(FORCES, "particles", argon.work(), &argon, &variant);
        }
        rows.push((argon.label(), argon.divergence()));
    }
    let occupancy = |branches: bool| {
        bench
            .device()
            .map(|device| kernel_occupancy(device, branches))
            .transpose()
    };
    let (with, without) = (occupancy(true)?, occupancy(false)?);
    let found = &bench.found;
    let meaning = match (
        found.lead(FORCES, STEP, BRANCHES),
        found.lead(FORCES, "CPU engine, whole step", "CPU bins"),
    ) {
        (Some(_), _) => {
            let arithmetic = found.lead(FORCES, "GPU bins, no branches", BRANCHES);
            let arithmetic = arithmetic.map_or(String::new(), |lead| {
                format!(
                    " For {} atoms the kernel without branches at faces is {} that with them.",
                    number(lead.size),
                    lead.words()
                )
            });
            step_against_kernel(found) + &arithmetic
        }
        (None, Some(lead)) => format!(
            "For {} atoms a whole step of the engine on this processor is {} a loop over bins for the forces alone. The kernels \
             of the paper were not measured: no CUDA device was used.",
            number(lead.size),
            lead.words()
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
        ladders: &[FORCES],
        ..Section::default()
    };
    bench.found.sections.push(section);
    Ok(())
}

/// A step of the engine against the paper's kernel at every size that both ran.
fn step_against_kernel(found: &Findings) -> String {
    let leads = found.leads(FORCES, STEP, BRANCHES);
    let each: Vec<String> = leads
        .iter()
        .map(|lead| format!("for {} atoms {} it", number(lead.size), lead.words()))
        .collect();
    let mut text = format!(
        "A whole step of the engine against the paper's force kernel alone: {}.",
        each.join(", ")
    );
    let lost = leads.iter().rev().find(|lead| !lead.wins());
    let row = lost.and_then(|lead| found.of(FORCES, STEP).find(|row| row.size == lead.size));
    text += &row
        .and_then(rounds)
        .unwrap_or_else(|| " Its list leaves out most particles of the 125 bins.".into());
    text
}

/// What the rounds of a step that loses took.
fn rounds(row: &Row) -> Option<String> {
    Some(format!(
        " Rounds of the engine on {} atoms take {} to {} a step.",
        number(row.size),
        seconds(row.fastest?),
        seconds(row.slowest?)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::timed;

    /// Each size is compared with itself, whoever wins there, and rounds that differ are told of.
    #[test]
    fn the_report_says_where_the_engine_loses() {
        let mut found = Findings::new(Ok("a card".into()));
        found.rows = vec![
            timed(FORCES, BRANCHES, 3e4, [1e-4; 3]),
            timed(FORCES, BRANCHES, 1e6, [9e-4; 3]),
            timed(FORCES, STEP, 3e4, [2.5e-5; 3]),
            timed(FORCES, STEP, 1e6, [3e-4, 1.8e-3, 3e-3]),
        ];
        let text = step_against_kernel(&found);
        let rounds = format!("take {} to {} a step", seconds(3e-4), seconds(3e-3));
        for part in [
            "for 30000 atoms 4.0 times as fast as it",
            "for 1 M atoms not decidedly faster or slower (medians 0.50, rounds overlap) than it",
            &rounds,
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        found.rows[3] = timed(FORCES, STEP, 1e6, [1.8e-3; 3]);
        let loses = step_against_kernel(&found);
        assert!(
            loses.contains("for 1 M atoms 2.0 times slower than it"),
            "{loses}"
        );
        found.rows[3] = timed(FORCES, STEP, 1e6, [3e-4; 3]);
        let wins = step_against_kernel(&found);
        assert!(
            wins.contains("for 1 M atoms 3.0 times as fast") && !wins.contains("Rounds"),
            "{wins}"
        );
    }
}
