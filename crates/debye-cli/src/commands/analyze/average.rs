//! `debye analyze average`: means of the columns of a table with errors that know of correlation.

use std::path::PathBuf;

use clap::Args;
use debye::analysis::{BlockAverage, Rounded};
use serde::Serialize;

use super::rows::Rows;
use crate::console;
use crate::failure::Failure;

/// The table of a run.
#[derive(Args)]
#[command(after_help = "\
Examples:
  debye analyze average argon.out/energy.csv --from \"20 ps\"
  debye analyze average argon.out/energy.csv --from-step 5000 --columns temperature,density

Errors are standard errors of the mean from block averages (Flyvbjerg & Petersen 1989). The inefficiency is the number of
rows that count as one independent value; the correlation time is half of that, as a time. A mark ≥ says that the series is
too short for its correlation, so that the error is a lower bound.")]
pub struct Table {
    /// The table a run wrote (energy.csv)
    table: PathBuf,
    /// Leave out rows before this time: \"100 ps\", or a number in the unit of the table
    #[arg(
        long,
        value_name = "TIME",
        conflicts_with = "from_step",
        allow_hyphen_values = true
    )]
    from: Option<String>,
    /// Leave out rows before this step
    #[arg(long, value_name = "N")]
    from_step: Option<u64>,
    /// The columns to average [default: all but step and time]
    #[arg(long, value_delimiter = ',', value_name = "NAME,…")]
    columns: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Fewer rows give no error that means anything.
const FEWEST_ROWS: usize = 10;

#[derive(Serialize)]
struct Answer {
    rows: usize,
    /// Time of the first row that counts; null where the table has no times.
    from: Option<f64>,
    columns: Vec<Mean>,
}

#[derive(Serialize)]
struct Mean {
    name: String,
    unit: String,
    mean: f64,
    error: f64,
    /// Rows that count as one independent value.
    inefficiency: f64,
    /// In the table's unit of time; null where it has none.
    correlation_time: Option<f64>,
    converged: bool,
    lowest: f64,
    highest: f64,
}

impl Table {
    /// Does it.
    pub fn execute(&self) -> Result<(), Failure> {
        let rows = Rows::read(&self.table)?;
        let kept = rows.from(self.from.as_deref(), self.from_step)?;
        if kept.len() < FEWEST_ROWS {
            let of = rows.columns.first().map_or(0, Vec::len);
            return Err(Failure::refused(format!(
                "{}: {} of {of} rows are left to average; errors need at least {FEWEST_ROWS}",
                self.table.display(),
                kept.len()
            )));
        }
        let places = match self.columns.as_slice() {
            [] => (0..rows.names.len())
                .filter(|&k| !["step", "time"].contains(&rows.names[k].0.as_str()))
                .collect(),
            chosen => chosen
                .iter()
                .map(|name| rows.find(name.trim()))
                .collect::<Result<Vec<_>, _>>()?,
        };
        let times = rows.find("time").ok().map(|k| &rows.columns[k][kept.clone()]);
        let interval = times.map(|t| (t[t.len() - 1] - t[0]) / (t.len() - 1) as f64);
        let answer = Answer {
            rows: kept.len(),
            from: times.map(|t| t[0]),
            columns: places
                .into_iter()
                .map(|k| mean(&rows.names[k], &rows.columns[k][kept.clone()], interval))
                .collect(),
        };
        let text = match self.json {
            true => console::json("analyze-average/1", &answer)?,
            false => answer.text(rows.find("time").map_or("", |k| &rows.names[k].1)),
        };
        console::print(&text)
    }
}

fn mean((name, unit): &(String, String), values: &[f64], interval: Option<f64>) -> Mean {
    let average = BlockAverage::of(values);
    let finite = || values.iter().copied().filter(|x| x.is_finite());
    Mean {
        name: name.clone(),
        unit: unit.clone(),
        mean: average.mean,
        error: average.standard_error,
        inefficiency: average.inefficiency(),
        correlation_time: interval.map(|interval| interval * average.correlation_time),
        converged: average.converged,
        lowest: finite().fold(f64::INFINITY, f64::min),
        highest: finite().fold(f64::NEG_INFINITY, f64::max),
    }
}

impl Answer {
    fn text(&self, unit: &str) -> String {
        let rows = console::grouped(self.rows as u64);
        let mut text = match self.from {
            Some(from) => format!("averages from {} {unit} on, {rows} rows\n", console::short(from)),
            None => format!("averages over {rows} rows\n"),
        };
        let head = [
            "column",
            "mean ± error",
            "unit",
            "inefficiency",
            "correlation time",
        ];
        let mut table = vec![head.map(String::from).to_vec()];
        for m in &self.columns {
            let value = match Rounded::new(m.mean, m.error) {
                Some(rounded) => rounded.to_string(),
                None => console::short(m.mean),
            };
            let mark = if m.converged || !m.mean.is_finite() {
                ""
            } else {
                "≥ "
            };
            let varies = m.error > 0.0;
            let time = m.correlation_time.filter(|_| varies);
            table.push(vec![
                m.name.clone(),
                value,
                m.unit.clone(),
                match varies {
                    true => format!("{mark}{:.1}", m.inefficiency),
                    false => "–".into(),
                },
                time.map_or_else(|| "–".into(), |t| format!("{} {unit}", console::short(t))),
            ]);
        }
        text += &console::columns(&table);
        text
    }
}
