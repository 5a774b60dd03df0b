//! A model as plain text for a terminal.

use super::{Absent, Entry, Key, NOTHING};
use crate::record::number;
use crate::system::Units;

/// The first line of the formula: what lists show.
pub fn one_line(entry: &Entry) -> &'static str {
    entry.doc.formula.lines().next().unwrap_or_default()
}

/// A model on a terminal of this width.
pub fn text(entry: &Entry, width: usize) -> String {
    let doc = entry.doc;
    let mut out = format!("{} ({}): {}\n", entry.name, entry.section.noun(), doc.title);
    let (key, section) = entry.section.place(entry.name);
    out += &format!("{key} in {section}\n\n");
    for line in doc.formula.lines() {
        out += &format!("    {line}\n");
    }
    if !entry.keys.is_empty() {
        out += &format!("\nParameters\n{}", keys(&entry.keys, width));
    }
    if let Some(mixing) = entry.mixing_words() {
        out += &paragraph("  Unlike pairs: ", &mixing, width);
    }
    if !doc.remarks.is_empty() {
        out += "\nRemarks\n";
        for remark in doc.remarks {
            out += &paragraph("  - ", remark, width);
        }
    }
    out += "\nIn other programs\n";
    for (program, [theirs, ours]) in doc.conventions.rows() {
        out += &paragraph(&format!("  {program:14}"), theirs, width);
        if ours != NOTHING {
            out += &paragraph(&format!("  {:14}→ ", ""), ours, width);
        }
    }
    if !doc.examples.is_empty() {
        out += "\nExample\n";
        for example in doc.examples {
            out += &paragraph("  ", &entry.example_words(example), width);
        }
    }
    out += "\nReferences\n";
    for reference in doc.references {
        out += &paragraph("  ", reference, width);
    }
    out
}

/// Keys in columns; what they are goes under itself where the line is full.
fn keys(keys: &[Key], width: usize) -> String {
    let cells: Vec<[String; 3]> = keys
        .iter()
        .map(|key| [key.name.to_owned(), unit(key), absent(key)])
        .collect();
    let column = |k: usize| cells.iter().map(|row| row[k].chars().count()).max().unwrap_or(0);
    let [name, unit, absent] = [column(0), column(1), column(2)];
    let mut out = String::new();
    for (key, row) in keys.iter().zip(&cells) {
        if name + unit + absent > width / 2 {
            let facts = [row[1].as_str(), row[2].as_str()];
            let facts: Vec<&str> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
            out += &paragraph(&format!("  {:name$}  ", row[0]), key.words, width);
            out += &paragraph(
                &format!("  {:name$}  ", ""),
                &format!("({})", facts.join("; ")),
                width,
            );
            continue;
        }
        let head = format!("  {:name$}  {:unit$}  {:absent$}  ", row[0], row[1], row[2]);
        out += &paragraph(&head, key.words, width);
    }
    out
}

/// The units of a plain number in md and in lj units: `nm or σ`.
pub(super) fn unit(key: &Key) -> String {
    let [md, lj] = [Units::Md, Units::LennardJones].map(|units| key.takes.unit(units));
    if md == lj { md } else { format!("{md} or {lj}") }
}

/// What is taken where the key is absent.
pub(super) fn absent(key: &Key) -> String {
    let unit = |x: f64, units| {
        let text = format!("{} {}", number(x), key.takes.unit(units));
        text.trim_end().to_owned()
    };
    match key.absent {
        Absent::Required => "required".into(),
        Absent::Value(x) => format!("default {}", number(x)),
        Absent::Both(md, lj) => format!(
            "default {} or {}",
            unit(md, Units::Md),
            unit(lj, Units::LennardJones)
        ),
        Absent::Md(x, unit) => format!("default {x:e} {unit}; required in lj units"),
        Absent::Otherwise(words) => format!("default {words}"),
    }
}

/// Text after a head, wrapped at the width and indented under its beginning.
fn paragraph(head: &str, text: &str, width: usize) -> String {
    let indent = head.chars().count();
    let mut out = String::from(head);
    let mut column = indent;
    for (k, word) in text.split_whitespace().enumerate() {
        let length = word.chars().count();
        if k > 0 && column + 1 + length > width {
            out += &format!("\n{}", " ".repeat(indent));
            column = indent;
        } else if k > 0 {
            out.push(' ');
            column += 1;
        }
        out += word;
        column += length;
    }
    out.push('\n');
    out
}
