//! Findings as files: CSV, JSON, SVG, PNG and the page.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::findings::{Comparison, Findings, Row, Shown, Table};
use super::{DeviceStudied, Study, StudyError, html};

/// Everything as JSON.
#[derive(Serialize)]
struct All<'f> {
    schema: &'static str,
    study: &'static str,
    paper: &'static str,
    version: &'static str,
    machine: DeviceStudied,
    /// Whether the study came to its end.
    complete: bool,
    rows: &'f [Row],
    sections: Vec<Part<'f>>,
}

#[derive(Serialize)]
struct Part<'f> {
    title: &'f str,
    meaning: &'f str,
    comparisons: &'f [Comparison],
    tables: &'f [Table],
    figures: Vec<&'f str>,
}

impl Findings {
    /// Writes `report.html`, `results.csv`, `results.json`, tables as CSV and figures as SVG and PNG into a folder. Pictures
    /// of particles are PNG alone; a film is an animated PNG and a page that plays it.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn save(&self, study: &Study, folder: &Path) -> Result<(), StudyError> {
        let write = |name: String, bytes: &[u8]| {
            let path: PathBuf = folder.join(name);
            std::fs::write(&path, bytes)
                .map_err(|error| StudyError::Other(format!("cannot write {}: {error}", path.display())))
        };
        write("results.csv".into(), self.csv().as_bytes())?;
        write("results.json".into(), self.json(study)?.as_bytes())?;
        for section in &self.sections {
            for table in &section.tables {
                write(format!("{}.csv", table.name), table.csv().as_bytes())?;
            }
            for figure in &section.figures {
                let name = &figure.name;
                let png = match &figure.shown {
                    Shown::Chart(chart) => {
                        write(format!("{name}.svg"), chart.to_svg().as_bytes())?;
                        chart.to_png()?
                    }
                    Shown::Picture(picture) => picture.to_png()?,
                    Shown::Film(film) => {
                        write(format!("{name}.html"), film.to_html()?.as_bytes())?;
                        film.to_png()?
                    }
                };
                write(format!("{name}.png"), &png)?;
            }
        }
        write("report.html".into(), html::page(self, study)?.as_bytes())
    }

    fn csv(&self) -> String {
        let head = "ladder,variant,place,input,size,work,unit,seconds,fastest,slowest,rounds,rate,error,tolerance,failure,skipped";
        let number = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:e}"));
        let words = |value: &Option<String>| quoted(value.as_deref().unwrap_or_default());
        let line = |row: &Row| {
            [
                quoted(row.ladder),
                quoted(&row.variant),
                row.place.name().into(),
                quoted(&row.input),
                row.size.to_string(),
                format!("{:e}", row.work),
                quoted(row.unit),
                number(row.seconds),
                number(row.fastest),
                number(row.slowest),
                row.rounds.to_string(),
                number(row.rate()),
                number(row.error),
                format!("{:e}", row.tolerance),
                words(&row.failure),
                words(&row.skipped),
            ]
            .join(",")
        };
        let lines: Vec<String> = std::iter::once(head.into())
            .chain(self.rows.iter().map(line))
            .collect();
        lines.join("\n") + "\n"
    }

    fn json(&self, study: &Study) -> Result<String, StudyError> {
        let all = All {
            schema: "debye/study/1",
            study: study.name,
            paper: study.paper,
            version: env!("CARGO_PKG_VERSION"),
            machine: DeviceStudied::here(&self.device),
            complete: self.complete,
            rows: &self.rows,
            sections: self
                .sections
                .iter()
                .map(|section| Part {
                    title: &section.title,
                    meaning: &section.meaning,
                    comparisons: &section.comparisons,
                    tables: &section.tables,
                    figures: section
                        .figures
                        .iter()
                        .map(|figure| figure.name.as_str())
                        .collect(),
                })
                .collect(),
        };
        serde_json::to_string_pretty(&all)
            .map(|text| text + "\n")
            .map_err(StudyError::other)
    }
}

impl Table {
    fn csv(&self) -> String {
        let line = |cells: &Vec<String>| {
            cells
                .iter()
                .map(|cell| quoted(cell))
                .collect::<Vec<_>>()
                .join(",")
        };
        let lines: Vec<String> = std::iter::once(&self.head).chain(&self.rows).map(line).collect();
        lines.join("\n") + "\n"
    }
}

/// A cell of a CSV file (RFC 4180).
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into()
    }
}
