//! What the measurements mean: the sections of the report.

mod mesh;
mod pairs;
mod whole;

pub(super) use mesh::{interpolation, transforms};
pub(super) use pairs::{kinds, orders, real_space, search};
pub(super) use whole::whole;

use debye::plot::{Axis, Chart, Series, Stroke};

use super::paper;
use crate::study::{Comparison, Figure, Findings, Shown};

/// The largest crystal of a ladder that the paper has too: its place among [`paper::IONS`] and its ions.
fn largest_common(found: &Findings, ladder: &str) -> (usize, f64) {
    let last = paper::IONS.len() - 1;
    let measured = |ions: f64| {
        found
            .rows
            .iter()
            .any(|row| row.ladder == ladder && row.size == ions && row.seconds.is_some())
    };
    let place = (0..=last).rev().find(|&i| measured(paper::IONS[i]));
    let place = place.unwrap_or(last);
    (place, paper::IONS[place])
}

/// Seconds of a variant on an input of this size.
fn at(found: &Findings, ladder: &str, variant: &str, size: f64) -> Option<f64> {
    found.of(ladder, variant).find(|row| row.size == size)?.seconds
}

fn figure(name: &str, caption: &str, chart: Chart) -> Figure {
    Figure {
        name: name.into(),
        caption: caption.into(),
        shown: Shown::Chart(Box::new(chart)),
    }
}

/// Curves of a ladder in a unit of time, with those of the paper as dots.
fn times(
    found: &Findings,
    ladder: &str,
    title: &str,
    (x, per_second, unit): (Axis, f64, &str),
    of_paper: &[(&str, &[f64], &[f64])],
) -> Chart {
    let mut chart = found.chart(ladder, title, x, Axis::log(&format!("time ({unit})")), |row| {
        row.seconds.map(|s| s * per_second)
    });
    for (color, (name, x, y)) in of_paper.iter().enumerate() {
        chart = chart.with(
            Series::new(name, x, y)
                .with_stroke(Stroke::Dots)
                .with_color(color + 1),
        );
    }
    chart
}

fn compared(
    what: String,
    (paper, source): (f64, &'static str),
    ours: Option<f64>,
    unit: &'static str,
) -> Comparison {
    Comparison {
        what,
        paper,
        source,
        ours,
        unit,
    }
}

const NO_DEVICE: &str = "The kernels of the paper were not measured: no CUDA device was used.";
