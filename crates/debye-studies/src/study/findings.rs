//! [`Findings`]: what a study has found, as data.

use debye::plot::{Animation, Axis, Chart, Picture, Series, Stroke};
use serde::Serialize;

use super::Place;
use super::losses::is_engine;

/// A variant on an input.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Which comparison it belongs to.
    pub ladder: &'static str,
    /// The variant.
    pub variant: String,
    /// Where it ran.
    pub place: Place,
    /// The input.
    pub input: String,
    /// Where it stands in a figure.
    pub size: f64,
    /// Units of work of one pass.
    pub work: f64,
    /// What the units are.
    pub unit: &'static str,
    /// Seconds of a pass: the median.
    pub seconds: Option<f64>,
    /// Of the fastest round.
    pub fastest: Option<f64>,
    /// Of the slowest round.
    pub slowest: Option<f64>,
    /// How many rounds.
    pub rounds: usize,
    /// How far it is from the reference.
    pub error: Option<f64>,
    /// How far it may be.
    pub tolerance: f64,
    /// What went wrong.
    pub failure: Option<String>,
    /// Why it was not run.
    pub skipped: Option<String>,
}

impl Row {
    /// Units of work per second.
    pub fn rate(&self) -> Option<f64> {
        self.seconds.map(|seconds| self.work / seconds)
    }
}

/// A number of the paper and ours.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// What is compared.
    pub what: String,
    /// The paper's number.
    pub paper: f64,
    /// Where the paper measured it, or says it.
    pub source: &'static str,
    /// Ours; none where it was not measured.
    pub ours: Option<f64>,
    /// Of both.
    pub unit: &'static str,
}

/// A table of words and numbers.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// Its file, without extension.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// The head.
    pub head: Vec<String>,
    /// The rows, as long as the head.
    pub rows: Vec<Vec<String>>,
}

/// What a figure shows.
#[derive(Clone, Debug)]
pub enum Shown {
    /// Curves.
    Chart(Box<Chart>),
    /// Pixels.
    Picture(Box<Picture>),
    /// Pictures that follow one another.
    Film(Box<Animation>),
}

/// A figure.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Its file, without extension.
    pub name: String,
    /// What is to be seen.
    pub caption: String,
    /// What is drawn.
    pub shown: Shown,
}

/// A part of a report.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Its title.
    pub title: String,
    /// What the numbers mean, in two sentences.
    pub meaning: String,
    /// The paper's numbers and ours.
    pub comparisons: Vec<Comparison>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Figures.
    pub figures: Vec<Figure>,
    /// Ladders that it is about: where the engine loses on them is added to it.
    pub ladders: &'static [&'static str],
    /// Where it is about one place alone.
    pub place: Option<Place>,
}

/// Everything a study has found.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The CUDA device, or why there is none.
    pub device: Result<String, String>,
    /// Every measurement.
    pub rows: Vec<Row>,
    /// The report.
    pub sections: Vec<Section>,
    /// Whether the study came to its end.
    pub complete: bool,
}

impl Findings {
    /// Nothing yet.
    pub fn new(device: Result<String, String>) -> Self {
        Self {
            device,
            rows: Vec::new(),
            sections: Vec::new(),
            complete: false,
        }
    }

    /// Measurements that failed.
    pub fn failures(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.failure.is_some())
    }

    /// The measurements of a variant on a ladder.
    pub fn of<'f>(&'f self, ladder: &'f str, variant: &'f str) -> impl Iterator<Item = &'f Row> {
        self.rows
            .iter()
            .filter(move |row| row.ladder == ladder && row.variant == variant)
    }

    /// The highest rate of a variant on a ladder.
    pub fn best_rate(&self, ladder: &str, variant: &str) -> Option<f64> {
        self.of(ladder, variant)
            .filter_map(Row::rate)
            .max_by(f64::total_cmp)
    }

    /// Names of what was measured on a ladder and where, in order.
    fn measured(&self, ladder: &str) -> Vec<(String, Place)> {
        let mut names: Vec<(String, Place)> = Vec::new();
        for row in self.rows.iter().filter(|row| row.ladder == ladder) {
            let name = (row.variant.clone(), row.place);
            if row.seconds.is_some() && !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// A chart of a ladder with a curve for each variant; those of the processor are dashed. `value` makes the height.
    pub fn chart(
        &self,
        ladder: &str,
        title: &str,
        x: Axis,
        y: Axis,
        value: impl Fn(&Row) -> Option<f64>,
    ) -> Chart {
        let mut chart = Chart::new(title, x, y).with_size(760.0, 460.0);
        let measured = self.measured(ladder);
        for (name, place) in &measured {
            let (sizes, values): (Vec<f64>, Vec<f64>) = self
                .of(ladder, name)
                .filter_map(|row| Some((row.size, value(row)?)))
                .unzip();
            let there = measured.iter().filter(|other| other.1 == *place);
            let (color, again) = color(&there.map(|other| other.0.as_str()).collect::<Vec<_>>(), name);
            let stroke = match (place, again) {
                (Place::Cpu, _) => Stroke::Dashed,
                (Place::Cuda, true) => Stroke::Thin,
                (Place::Cuda, false) => Stroke::Solid,
            };
            let series = Series::new(name, &sizes, &values);
            chart = chart.with(series.with_stroke(stroke).with_color(color));
        }
        chart
    }
}

/// The engine's own color on every chart.
const ENGINE: usize = 0;
/// That of the engine in another way of working.
const ENGINE_TOO: usize = 5;
/// The others.
const OTHERS: [usize; 4] = [1, 2, 3, 4];

/// The color of a variant among those that run in one place, and whether another of them has it already. The engine as
/// it is has the shortest of the engine's names.
fn color(names: &[&str], name: &str) -> (usize, bool) {
    let mut engines: Vec<&str> = names.iter().copied().filter(|n| is_engine(n)).collect();
    engines.sort_by_key(|name| name.len());
    let others: Vec<&str> = names.iter().copied().filter(|n| !is_engine(n)).collect();
    match engines.iter().position(|n| *n == name) {
        Some(0) => (ENGINE, false),
        Some(1) => (ENGINE_TOO, false),
        rest => {
            let own = others.iter().position(|n| *n == name);
            let place = own.unwrap_or(others.len() + rest.unwrap_or(2) - 2);
            (OTHERS[place % OTHERS.len()], place >= OTHERS.len())
        }
    }
}

/// A measurement with the seconds of its fastest round, its median and its slowest round.
#[cfg(test)]
pub(crate) fn timed(
    ladder: &'static str,
    variant: &str,
    size: f64,
    [fastest, seconds, slowest]: [f64; 3],
) -> Row {
    Row {
        ladder,
        variant: variant.into(),
        place: if variant.starts_with("CPU") {
            Place::Cpu
        } else {
            Place::Cuda
        },
        input: size.to_string(),
        size,
        work: size,
        unit: "elements",
        seconds: Some(seconds),
        fastest: Some(fastest),
        slowest: Some(slowest),
        rounds: 9,
        error: None,
        tolerance: 0.0,
        failure: None,
        skipped: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_has_a_color_of_its_own() {
        let tiles = ["a", "b", "c", "d", "e"];
        let names = [
            &tiles[..],
            &["GPU engine, lists", "GPU engine", "GPU engine, other"],
        ]
        .concat();
        let colors = names.iter().map(|name| color(&names, name)).collect::<Vec<_>>();
        assert_eq!(colors[6], (ENGINE, false));
        // Nothing else is blue, and no two of the others look alike.
        for (i, one) in colors.iter().enumerate() {
            assert!(i == 6 || one.0 != ENGINE);
            assert!(!colors[..i].contains(one), "{colors:?}");
        }
    }
}
