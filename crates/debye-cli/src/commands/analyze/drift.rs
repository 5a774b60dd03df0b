//! `debye analyze drift`: the slope of the conserved energy in a table.

use std::path::PathBuf;

use clap::Args;
use debye::analysis::drift;
use debye::system::Units;
use serde::Serialize;

use super::rows::Rows;
use crate::console;
use crate::failure::Failure;

/// The table of a run.
#[derive(Args)]
pub struct Table {
    /// The table a run wrote (energy.csv)
    table: PathBuf,
    /// Leave out rows before this time: "100 ps", or a number in the unit of the table
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    from: Option<String>,
    /// The column to look at
    #[arg(long, default_value = "conserved")]
    column: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Answer {
    rows: usize,
    units: &'static str,
    slope: f64,
    slope_error: f64,
    deviation: f64,
    kt_per_time_per_dof: f64,
    kt_per_time_per_dof_error: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    kt_per_ns_per_dof: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kt_per_ns_per_dof_error: Option<f64>,
    converged: bool,
}

impl Table {
    /// Does it.
    pub fn execute(&self) -> Result<(), Failure> {
        let file = self.table.display();
        let read = Rows::read(&self.table)?;
        let (columns, units) = (&read.columns, read.units);
        let find = |wanted: &str| read.find(wanted);
        let time = find("time")?;
        let kept = read.from(self.from.as_deref(), None)?;
        let column = |k: usize| -> Vec<f64> { columns[k][kept.clone()].to_vec() };
        let (times, energies) = (column(time), column(find(&self.column)?));
        let (kinetic, temperature) = (column(find("kinetic")?), column(find("temperature")?));
        if times.len() < 3 || energies.iter().any(|e| !e.is_finite()) {
            return Err(Failure::refused(format!(
                "{file}: {} rows of `{}`; a drift needs at least three, all of them finite",
                times.len(),
                self.column
            )));
        }
        // The table says how many degrees of freedom there are: twice the kinetic energy in kT.
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let kt = units.boltzmann() * mean(&temperature);
        let freedom = 2.0 * mean(&kinetic) / kt;
        let d = drift(&times, &energies, kt, freedom);
        let per_ns = (units == Units::Md).then(|| d.per_nanosecond());
        if self.json {
            let answer = Answer {
                rows: times.len(),
                units: units.name(),
                slope: d.slope,
                slope_error: d.standard_error,
                deviation: d.deviation,
                kt_per_time_per_dof: d.per_freedom,
                kt_per_time_per_dof_error: d.per_freedom_error,
                kt_per_ns_per_dof: per_ns.map(|[rate, _]| rate),
                kt_per_ns_per_dof_error: per_ns.map(|[_, error]| error),
                converged: d.converged,
            };
            return console::print(&console::json("analyze-drift/1", &answer)?);
        }
        let ([rate, error], unit) = match per_ns {
            Some(both) => (both, "kT/ns/dof"),
            None => ([d.per_freedom, d.per_freedom_error], "kT/τ/dof"),
        };
        let mut rows = vec![
            ("drift", format!("{} {unit}", console::measured(rate, error))),
            (
                "slope",
                format!(
                    "{} per unit of time",
                    console::measured(d.slope, d.standard_error)
                ),
            ),
            ("deviation", format!("{:.4e} about the line", d.deviation)),
            ("rows", times.len().to_string()),
        ];
        if !d.converged {
            rows.push((
                "caution",
                "the series is short for its correlation: the errors are lower bounds".into(),
            ));
        }
        console::print(&console::facts(&rows))
    }
}
