//! `debye info NAME`: what the manual has about a model.

use debye::manual::{self, Absent, Entry, Key};
use debye::system::Units;
use serde::Serialize;

use crate::console;
use crate::failure::Failure;

/// Columns of a page of text.
const WIDTH: usize = 100;

/// Everything the manual has about a model.
#[derive(Serialize)]
struct Page {
    name: &'static str,
    is: &'static str,
    title: &'static str,
    key: String,
    section: &'static str,
    formula: &'static str,
    parameters: Vec<KeyLine>,
    unlike_pairs: Option<String>,
    remarks: &'static [&'static str],
    conventions: Vec<ConventionLine>,
    examples: Vec<ExampleLine>,
    references: &'static [&'static str],
}

#[derive(Serialize)]
struct KeyLine {
    name: &'static str,
    meaning: &'static str,
    unit_md: String,
    unit_lj: String,
    required: bool,
    default: Option<f64>,
    default_lj: Option<f64>,
    /// The unit of `default` where that is not `unit_md`.
    default_unit: Option<&'static str>,
    if_absent: Option<&'static str>,
}

#[derive(Serialize)]
struct ConventionLine {
    program: &'static str,
    writes: &'static str,
    here: &'static str,
}

#[derive(Serialize)]
struct ExampleLine {
    parameters: &'static [f64],
    cutoff: Option<f64>,
    at: f64,
    energy: f64,
    text: String,
}

/// The models of this name as text, JSON or Markdown.
pub fn about(name: &str, json: bool, markdown: bool) -> Result<String, Failure> {
    let entries = named(name)?;
    if json {
        return console::json_list("info-model/1", &entries.iter().map(Page::new).collect::<Vec<_>>());
    }
    let one = |entry| {
        if markdown {
            manual::entry_markdown(entry)
        } else {
            manual::text(entry, WIDTH)
        }
    };
    Ok(entries.iter().map(one).collect::<Vec<_>>().join("\n"))
}

/// The models of this name, or what was probably meant.
fn named(name: &str) -> Result<Vec<Entry>, Failure> {
    let entries = manual::find(name);
    if !entries.is_empty() {
        return Ok(entries);
    }
    let near = match name.to_lowercase().as_str() {
        "nvt" => Some("an ensemble is an integrator with a thermostat, such as `bussi` or `langevin`; ".to_owned()),
        "npt" => Some("an ensemble is an integrator with a thermostat and a barostat, such as `bussi` and `cell-rescale`; ".to_owned()),
        _ => manual::suggestion(name).map(|near| format!("did you mean `{near}`? ")),
    };
    Err(Failure::refused(format!(
        "there is no model `{name}`\n help: {}`debye info` lists all",
        near.unwrap_or_default()
    )))
}

impl Page {
    fn new(entry: &Entry) -> Self {
        let doc = entry.doc;
        Self {
            name: entry.name,
            is: entry.section.noun(),
            title: doc.title,
            key: entry.section.place(entry.name).0,
            section: entry.section.place(entry.name).1,
            formula: doc.formula,
            parameters: entry.keys.iter().map(KeyLine::new).collect(),
            unlike_pairs: entry.mixing_words(),
            remarks: doc.remarks,
            conventions: doc
                .conventions
                .rows()
                .map(|(program, [writes, here])| ConventionLine {
                    program,
                    writes,
                    here,
                })
                .into(),
            examples: doc
                .examples
                .iter()
                .map(|example| ExampleLine {
                    parameters: example.values,
                    cutoff: (example.cutoff > 0.0).then_some(example.cutoff),
                    at: example.at,
                    energy: example.energy,
                    text: entry.example_words(example),
                })
                .collect(),
            references: doc.references,
        }
    }
}

impl KeyLine {
    fn new(key: &Key) -> Self {
        Self {
            name: key.name,
            meaning: key.words,
            unit_md: key.takes.unit(Units::Md),
            unit_lj: key.takes.unit(Units::LennardJones),
            required: key.absent == Absent::Required,
            default: match key.absent {
                Absent::Value(x) | Absent::Both(x, _) | Absent::Md(x, _) => Some(x),
                _ => None,
            },
            default_lj: match key.absent {
                Absent::Value(x) | Absent::Both(_, x) => Some(x),
                _ => None,
            },
            default_unit: match key.absent {
                Absent::Md(_, unit) => Some(unit),
                _ => None,
            },
            if_absent: match key.absent {
                Absent::Otherwise(words) => Some(words),
                _ => None,
            },
        }
    }
}
