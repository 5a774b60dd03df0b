//! The page of a study: one file that needs nothing else.

use std::fmt::Write as _;

use debye::plot::{STYLE, data_uri, escape};

use super::findings::{Comparison, Figure, Findings, Row, Section, Shown, Table};
use super::{DeviceStudied, Study, StudyError};

const PAGE_STYLE: &str = include_str!("page.css");

/// Writes the page.
pub(super) fn page(found: &Findings, study: &Study) -> Result<String, StudyError> {
    let machine = DeviceStudied::here(&found.device);
    let mut body = format!(
        "<h1>{}</h1>\n<p>{}</p>\n<p>{}</p>\n\
         <table><tbody><tr><th>processor</th><td class=\"words\">{}, {} threads</td></tr>\
         <tr><th>CUDA</th><td class=\"words\">{}</td></tr></tbody></table>\n",
        escape(study.name),
        escape(study.paper),
        escape(study.what),
        escape(&machine.processor),
        machine.threads,
        escape(&machine.cuda),
    );
    if !found.complete {
        body += "<p class=\"failed\">The study was stopped before its end: this report is partial.</p>";
    }
    let failures: Vec<&Row> = found.failures().collect();
    if !failures.is_empty() {
        body += "<p class=\"failed\">These variants failed their check:</p>";
        body += &measurements(&failures);
    }
    for part in &found.sections {
        body += &section(part)?;
    }
    body += "<section><h2>Every measurement</h2>\n<p>The median of the rounds; in brackets the fastest and the slowest. \
             The error is relative, against double precision.</p>\n";
    body += &measurements(&found.rows.iter().collect::<Vec<_>>());
    body += "</section>\n";
    Ok(format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>{} – Debye</title>\n\
         <style>{PAGE_STYLE}{}</style></head>\n<body>\n{body}</body></html>\n",
        escape(study.name),
        *STYLE,
    ))
}

fn section(part: &Section) -> Result<String, StudyError> {
    let mut text = format!(
        "<section><h2>{}</h2>\n<p>{}</p>\n",
        escape(&part.title),
        escape(&part.meaning)
    );
    if !part.comparisons.is_empty() {
        text += &compared(&part.comparisons);
    }
    for figure in &part.figures {
        let shown = match &figure.shown {
            Shown::Chart(chart) => chart.to_svg_inline(),
            Shown::Picture(picture) => image(figure, &picture.to_data_uri()?),
            Shown::Film(film) => image(figure, &data_uri("image/png", &film.to_png()?)),
        };
        let _ = writeln!(
            text,
            "<figure>{shown}<figcaption>{}</figcaption></figure>",
            escape(&figure.caption)
        );
    }
    for Table {
        title, head, rows, ..
    } in &part.tables
    {
        let _ = writeln!(text, "<h3>{}</h3>{}", escape(title), table(head, rows));
    }
    Ok(text + "</section>\n")
}

fn image(figure: &Figure, source: &str) -> String {
    format!("<img alt=\"{}\" src=\"{source}\">", escape(&figure.caption))
}

fn compared(all: &[Comparison]) -> String {
    let head = ["", "paper", "measured on", "here", "unit", "here / paper"].map(String::from);
    let row = |c: &Comparison| {
        let ratio = c.ours.map(|ours| ours / c.paper);
        vec![
            c.what.clone(),
            number(c.paper),
            c.source.into(),
            c.ours.map_or("not measured".into(), number),
            c.unit.into(),
            ratio.map_or("–".into(), number),
        ]
    };
    table(&head, &all.iter().map(row).collect::<Vec<_>>())
}

fn measurements(rows: &[&Row]) -> String {
    let head = ["ladder", "variant", "input", "time", "rate", "error", "allowed"].map(String::from);
    let cells = |row: &&Row| {
        let time = match (row.seconds, row.fastest, row.slowest) {
            (Some(median), Some(low), Some(high)) => {
                format!("{} [{} – {}]", seconds(median), seconds(low), seconds(high))
            }
            _ => match (&row.failure, &row.skipped) {
                (Some(failure), _) => format!("FAILED: {failure}"),
                (_, Some(why)) => format!("not run: {why}"),
                _ => String::new(),
            },
        };
        vec![
            row.ladder.into(),
            row.variant.clone(),
            row.input.clone(),
            time,
            row.rate()
                .map_or(String::new(), |rate| format!("{} {}/s", number(rate), row.unit)),
            row.error.map_or(String::new(), |error| format!("{error:.1e}")),
            format!("{:.0e}", row.tolerance),
        ]
    };
    table(&head, &rows.iter().map(cells).collect::<Vec<_>>())
}

/// Cells that are numbers stand to the right.
fn table(head: &[String], rows: &[Vec<String>]) -> String {
    let mut text = String::from("<div class=\"wide\"><table><thead><tr>");
    head.iter().for_each(|cell| {
        let _ = write!(text, "<th>{}</th>", escape(cell));
    });
    text += "</tr></thead><tbody>\n";
    for row in rows {
        text += "<tr>";
        for cell in row {
            let numeric = cell.starts_with(|c: char| c.is_ascii_digit() || c == '−' || c == '–');
            let class = if numeric { "" } else { " class=\"words\"" };
            let _ = write!(text, "<td{class}>{}</td>", escape(cell));
        }
        text += "</tr>\n";
    }
    text + "</tbody></table></div>\n"
}

/// A number with three digits and a prefix where it is large: `1.27 T`.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    for (scale, name) in [(1e12, " T"), (1e9, " G"), (1e6, " M")] {
        if size >= scale {
            return format!("{}{name}", digits(value / scale));
        }
    }
    if size != 0.0 && size < 1e-3 {
        return format!("{value:.2e}");
    }
    digits(value)
}

pub(super) fn digits(value: f64) -> String {
    let size = value.abs();
    if size >= 1000.0 || (value.fract() == 0.0 && size < 1e6) {
        format!("{value:.0}")
    } else if size >= 100.0 {
        format!("{value:.1}")
    } else if size >= 1.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.3}")
    }
}

/// A time.
pub(crate) fn seconds(value: f64) -> String {
    for (scale, name) in [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs")] {
        if value >= scale {
            return format!("{} {name}", digits(value / scale));
        }
    }
    format!("{} ns", digits(value / 1e-9))
}
