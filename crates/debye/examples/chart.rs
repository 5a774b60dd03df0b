//! Draws columns of tables into one chart.
//!
//! ```text
//! chart energies.svg "Argon sphere" "time (ps)" "energy (kJ/mol)" CPU=cpu/energy.csv:time:kinetic GPU=gpu/energy.csv:time:kinetic
//! ```
//!
//! First the file (`.svg` or `.png`), the title and what the axes are called, `log:` before that for a logarithmic axis;
//! then a name, a table and two of its columns for every curve. A third column's name, after another colon, is a factor
//! for the second: `GPU=gpu/energy.csv:time:kinetic:0.0104`; `dots` or `dashed` in its place or after it say how to draw.
#![allow(clippy::unwrap_used, reason = "a program for developers")]

use std::path::Path;

use debye::plot::{Axis, Chart, Series, Stroke};
use debye::run::table::read_table;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, title, x, y, curves @ ..] = &arguments[..] else {
        eprintln!("chart FILE TITLE X-LABEL Y-LABEL NAME=TABLE:COLUMN:COLUMN[:FACTOR][:dots|dashed]…");
        std::process::exit(2);
    };
    let mut chart = Chart::new(title, axis(x), axis(y));
    for text in curves {
        let drawn = curve(text).unwrap_or_else(|why| {
            eprintln!("chart: {text}: {why}");
            std::process::exit(2);
        });
        chart = chart.with(drawn);
    }
    let bytes = match Path::new(file).extension().is_some_and(|e| e == "svg") {
        true => chart.to_svg().into_bytes(),
        false => chart.to_png().unwrap(),
    };
    std::fs::write(file, bytes).unwrap();
}

fn axis(text: &str) -> Axis {
    text.strip_prefix("log:")
        .map_or_else(|| Axis::new(text), Axis::log)
}

fn curve(text: &str) -> Result<Series, String> {
    let (name, rest) = text.split_once('=').ok_or("expected NAME=TABLE:COLUMN:COLUMN")?;
    let parts: Vec<&str> = rest.split(':').collect();
    let [table, x, y, more @ ..] = &parts[..] else {
        return Err("expected a table and two columns".into());
    };
    let (names, columns) = read_table(Path::new(table)).map_err(|e| e.to_string())?;
    let column = |wanted: &str| {
        let bare = |name: &String| name.split(" (").next() == Some(wanted);
        let place = names.iter().position(bare);
        place
            .map(|k| columns[k].clone())
            .ok_or_else(|| format!("no column `{wanted}`; there are {}", names.join(", ")))
    };
    let (mut factor, mut stroke) = (1.0, Stroke::Solid);
    for word in more {
        match *word {
            "dots" => stroke = Stroke::Dots,
            "dashed" => stroke = Stroke::Dashed,
            number => factor = number.parse().map_err(|_| format!("`{number}` is no factor"))?,
        }
    }
    let y: Vec<f64> = column(y)?.iter().map(|y| y * factor).collect();
    Ok(Series::new(name, &column(x)?, &y).with_stroke(stroke))
}
