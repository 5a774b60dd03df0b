//! Which charts a report shows.

use super::{Kind, Quantity, Report};
use crate::plot::{Axis, Chart, Series, Stroke};

/// `name (unit)`.
fn label(name: &str, unit: &str) -> String {
    if unit.is_empty() {
        name.into()
    } else {
        format!("{name} ({unit})")
    }
}

/// The charts of the table, with a caption each.
pub(super) fn of(report: &Report) -> Vec<Chart> {
    let picked = |kinds: &[Kind]| -> Vec<&Quantity> {
        report
            .table
            .iter()
            .filter(|q| kinds.contains(&q.kind) && varies(&q.column.values))
            .collect()
    };
    let mut charts = Vec::new();
    charts.extend(drift_chart(report));
    let energies = picked(&[Kind::Potential, Kind::Kinetic, Kind::Total]);
    charts.extend(chart(report, "Energies", "energy", &energies));
    for (kind, title) in [
        (Kind::Temperature, "Temperature"),
        (Kind::Pressure, "Pressure"),
        (Kind::Volume, "Volume"),
        (Kind::Density, "Density"),
    ] {
        charts.extend(chart(report, title, &title.to_lowercase(), &picked(&[kind])));
    }
    charts.extend(chart(
        report,
        "Energies by term",
        "energy",
        &picked(&[Kind::Term]),
    ));
    charts
}

/// Whether there is anything to see: a constant column has its line in the table of averages.
fn varies(values: &[f64]) -> bool {
    let mut finite = values.iter().filter(|v| v.is_finite());
    let first = finite.next();
    finite.any(|v| Some(v) != first)
}

fn chart(report: &Report, title: &str, name: &str, quantities: &[&Quantity]) -> Option<Chart> {
    let unit = &quantities.first()?.column.unit;
    let mut chart = empty(report, title, &label(name, unit));
    for quantity in quantities.iter().filter(|q| q.column.unit == *unit) {
        let column = &quantity.column;
        let mut series = Series::new(&column.name, &report.time.values, &column.values);
        if column.values.len() > 300 {
            series = series.with_stroke(Stroke::Thin);
        }
        chart = chart.with(series);
    }
    Some(chart)
}

fn empty(report: &Report, title: &str, y: &str) -> Chart {
    let x = label(
        if report.time.name.is_empty() {
            "time"
        } else {
            &report.time.name
        },
        &report.time.unit,
    );
    Chart::new(title, Axis::new(&x), Axis::new(y)).with_size(560.0, 320.0)
}

/// The total energy with its line.
fn drift_chart(report: &Report) -> Option<Chart> {
    let drift = report.drift?.drift;
    let total = &report.table.iter().find(|q| q.kind == Kind::Total)?.column;
    let ends: Vec<f64> = {
        let fitted = report.time.values.iter().skip(report.equilibration_rows);
        let times = fitted.copied().filter(|t| t.is_finite());
        let low = times.clone().reduce(f64::min)?;
        vec![low, times.reduce(f64::max)?]
    };
    let line: Vec<f64> = ends.iter().map(|t| drift.intercept + drift.slope * t).collect();
    let thin = if total.values.len() > 300 {
        Stroke::Thin
    } else {
        Stroke::Solid
    };
    let chart = empty(
        report,
        "Total energy and its drift",
        &label("total energy", &total.unit),
    )
    .with(Series::new(&total.name, &report.time.values, &total.values).with_stroke(thin))
    .with(Series::new("fitted line", &ends, &line));
    Some(chart)
}
