//! [`Analyzed`]: what an analysis found.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::plot::{Axis, Chart, PlotError, Series};

/// Named columns with units, single numbers, and how to plot them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Analyzed {
    /// A short name, fit for a file.
    pub name: String,
    /// What it is, for a reader.
    pub title: String,
    /// How it was made: settings, number of frames, conventions. One sentence per line.
    pub notes: Vec<String>,
    /// The columns; all have the same length.
    pub columns: Vec<Column>,
    /// Single results.
    pub scalars: Vec<Scalar>,
    /// The charts it is best seen in.
    pub plots: Vec<Plot>,
}

/// A column of numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its unit; empty for a plain number.
    pub unit: String,
    /// The numbers.
    pub values: Vec<f64>,
    /// Their standard errors, where known.
    pub errors: Option<Vec<f64>>,
}

impl Column {
    /// A column.
    pub fn new(name: &str, unit: &str, values: Vec<f64>, errors: Option<Vec<f64>>) -> Self {
        Self {
            name: name.into(),
            unit: unit.into(),
            values,
            errors,
        }
    }
}

/// A single number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scalar {
    /// Its name.
    pub name: String,
    /// Its unit; empty for a plain number.
    pub unit: String,
    /// The number.
    pub value: f64,
    /// Its standard error; NaN where not known.
    pub error: f64,
    /// How it was obtained.
    pub note: String,
}

impl Scalar {
    /// A number with its standard error (NaN where not known) and how it was obtained.
    pub fn new(name: &str, unit: &str, value: f64, error: f64, note: &str) -> Self {
        Self {
            name: name.into(),
            unit: unit.into(),
            value,
            error,
            note: note.into(),
        }
    }
}

/// A chart of some columns over one other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plot {
    /// What it shows; empty where the analysis' title says it.
    pub title: String,
    /// Label of the horizontal axis, unit included.
    pub x_label: String,
    /// Label of the vertical axis, unit included.
    pub y_label: String,
    /// The column along the horizontal axis.
    pub x: usize,
    /// The columns drawn.
    pub columns: Vec<usize>,
    /// Whether both axes are logarithmic.
    pub logarithmic: bool,
    /// Names of the rows, which stand at the horizontal axis in place of numbers; empty for numbers.
    pub names: Vec<String>,
}

impl Plot {
    /// A chart of `columns` over the first column, with linear axes.
    pub fn new(title: &str, x_label: &str, y_label: &str, columns: Vec<usize>) -> Self {
        Self {
            title: title.into(),
            x_label: x_label.into(),
            y_label: y_label.into(),
            x: 0,
            columns,
            logarithmic: false,
            names: Vec::new(),
        }
    }

    /// With names of the rows at the horizontal axis.
    #[must_use]
    pub fn with_names(mut self, names: Vec<String>) -> Self {
        self.names = names;
        self
    }
}

/// `name (unit)`, or the name alone for a plain number.
pub(crate) fn with_unit(name: &str, unit: &str) -> String {
    if unit.is_empty() {
        name.into()
    } else {
        format!("{name} ({unit})")
    }
}

impl Analyzed {
    /// The same without what belongs to `groups` that are not among the `kept`: their columns, curves and numbers. Those of a
    /// group carry its name, alone or at the end (`D, Na`). The first column, which all are drawn over, stays.
    pub fn only(mut self, kept: &[&str], groups: &[&str]) -> Self {
        let of = |name: &str, group: &&str| {
            let rest = name.strip_suffix(*group);
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with(", "))
        };
        let stays = |name: &str| {
            let group = groups.iter().find(|group| of(name, group));
            group.is_none_or(|group| kept.contains(group))
        };
        let (mut places, mut columns) = (Vec::new(), Vec::new());
        for (number, column) in self.columns.into_iter().enumerate() {
            let kept = number == 0 || stays(&column.name);
            places.push(kept.then_some(columns.len()));
            columns.extend(kept.then_some(column));
        }
        self.columns = columns;
        self.scalars.retain(|scalar| stays(&scalar.name));
        for plot in &mut self.plots {
            plot.columns = plot.columns.iter().filter_map(|&k| places[k]).collect();
        }
        self
    }

    /// Comma-separated values under a header of comment lines: title, notes, single results.
    pub fn to_csv(&self) -> String {
        let mut text = format!("# {}\n", one_line(&self.title));
        for note in &self.notes {
            let _ = writeln!(text, "# {}", one_line(note));
        }
        for s in &self.scalars {
            let _ = write!(text, "# {} = {}", one_line(&s.name), number(s.value));
            if s.error.is_finite() {
                let _ = write!(text, " ± {}", number(s.error));
            }
            let _ = writeln!(text, " {} {}", one_line(&s.unit), one_line(&s.note));
        }
        let mut columns: Vec<(String, &[f64])> = Vec::new();
        for column in &self.columns {
            columns.push((with_unit(&column.name, &column.unit), &column.values));
            if let Some(errors) = &column.errors {
                columns.push((with_unit(&format!("{} s.e.", column.name), &column.unit), errors));
            }
        }
        let names: Vec<String> = columns.iter().map(|(name, _)| quoted(&one_line(name))).collect();
        let _ = writeln!(text, "{}", names.join(","));
        let rows = columns.iter().map(|(_, values)| values.len()).max().unwrap_or(0);
        for row in 0..rows {
            let cells: Vec<String> = columns
                .iter()
                .map(|(_, values)| values.get(row).map_or(String::new(), |&v| number(v)))
                .collect();
            let _ = writeln!(text, "{}", cells.join(","));
        }
        text
    }

    /// The files of a result and their contents: the table, and pictures beside it that take its name.
    ///
    /// # Errors
    /// Those of drawing.
    pub fn files(&self, csv: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>, PlotError> {
        let stem = csv.file_stem().unwrap_or_default().to_string_lossy();
        let mut files = vec![(csv.to_path_buf(), self.to_csv().into_bytes())];
        for (number, chart) in self.charts().iter().enumerate() {
            let picture = match number {
                0 => format!("{stem}.png"),
                _ => format!("{stem}-{}.png", number + 1),
            };
            files.push((csv.with_file_name(picture), chart.to_png()?));
        }
        Ok(files)
    }

    /// The charts, in the order of [`Analyzed::plots`].
    pub fn charts(&self) -> Vec<Chart> {
        self.plots.iter().map(|plot| self.chart(plot)).collect()
    }

    fn chart(&self, plot: &Plot) -> Chart {
        let title = if plot.title.is_empty() {
            &self.title
        } else {
            &plot.title
        };
        let axis = |label: &str| {
            if plot.logarithmic {
                Axis::log(label)
            } else {
                Axis::new(label)
            }
        };
        let mut chart = Chart::new(title, axis(&plot.x_label), axis(&plot.y_label));
        let Some(x) = self.columns.get(plot.x) else {
            return chart;
        };
        chart.x.names = x.values.iter().copied().zip(plot.names.iter().cloned()).collect();
        for column in plot.columns.iter().filter_map(|&index| self.columns.get(index)) {
            let mut series = Series::new(&column.name, &x.values, &column.values);
            if let Some(errors) = &column.errors {
                series = series.with_errors(errors);
            }
            chart = chart.with(series);
        }
        chart
    }
}

/// The shortest text that reads back as the same number.
fn number(value: f64) -> String {
    if value != 0.0 && !(1e-4..1e9).contains(&value.abs()) && value.is_finite() {
        format!("{value:e}")
    } else {
        format!("{value}")
    }
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into()
    }
}
