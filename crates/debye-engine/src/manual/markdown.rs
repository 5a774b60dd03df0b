//! The page `docs/models.md`.

use super::text::{absent, one_line, unit};
use super::{Entry, NOTHING, Section, entries};

/// A sign that must not begin a line may follow.
const WIDTH: usize = 118;

const HEAD: &str = "\
# Models: formulas, units, conventions

Generated from the source by `debye info --markdown > docs/models.md`; a test keeps it true. One model on a terminal:
`debye info harmonic-bond`.

Every quantity may carry its unit, so numbers of other programs can be written as they are published:
`k = \"310 kcal/mol/Å^2\"`. Units do not mend a factor of two: see \"In other programs\" of each model. Plain numbers are
in the units of the file, `md` (nm, ps, u, e, K, kJ/mol, as in GROMACS and OpenMM) or `lj` (σ, ε, m).

| from | to md units |
|---|---|
| 1 kcal/mol | 4.184 kJ/mol |
| 1 kcal/mol/Å² | 418.4 kJ/mol/nm² |
| 1 Å | 0.1 nm |
| 1 eV | 96.48533 kJ/mol |
| 1 bar | 0.0602214 kJ/mol/nm³ |
| 1 atm | 1.01325 bar |

A force is the negative gradient of the energy given here. A pressure is positive where a system pushes outward:
P = (Σ m v⊗v + Σ r⊗F)/V. Each pair and each bonded group counts once.
";

/// The whole page.
pub fn page() -> String {
    let all = entries();
    let mut out = format!("{HEAD}\n{}", contents(&all));
    for section in Section::ALL {
        out += &format!("\n## {}\n", section.title());
        for entry in all.iter().filter(|entry| entry.section == section) {
            out += &format!("\n{}", entry_markdown(entry));
        }
    }
    out
}

/// The list of all models, with their formulas.
fn contents(all: &[Entry]) -> String {
    let mut out = String::from("| model | | formula |\n|---|---|---|\n");
    for entry in all {
        let formula = one_line(entry).replace('|', "\\|");
        let anchor = heading(entry).replace(['`', '(', ')'], "").replace(' ', "-");
        out += &format!(
            "| [{}](#{anchor}) | {} | {formula} |\n",
            entry.name,
            entry.section.noun()
        );
    }
    out
}

/// No two headings are the same: a thermostat and a barostat share a name, and constraints one with the bonds.
fn heading(entry: &Entry) -> String {
    match entry.section {
        Section::Thermostat | Section::Barostat | Section::Constraint => {
            format!("`{}` ({})", entry.name, entry.section.noun())
        }
        _ => format!("`{}`", entry.name),
    }
}

/// One model.
pub fn entry_markdown(entry: &Entry) -> String {
    let doc = entry.doc;
    let mut out = format!("### {}\n\n", heading(entry));
    let (key, section) = entry.section.place(entry.name);
    out += &wrap("", &format!("{}: `{key}` in {section}.", doc.title));
    out += &format!("\n```text\n{}\n```\n", doc.formula);
    if !entry.keys.is_empty() {
        out += "\n| key | unit | if absent | meaning |\n|---|---|---|---|\n";
        for key in &entry.keys {
            let cells = [unit(key), absent(key), key.words.to_owned()].map(|cell| cell.replace('|', "\\|"));
            out += &format!(
                "| `{}` | {} | {} | {} |\n",
                key.name, cells[0], cells[1], cells[2]
            );
        }
    }
    if let Some(mixing) = entry.mixing_words() {
        out += &format!("\n{}", wrap("", &format!("Unlike pairs: {mixing}.")));
    }
    if !doc.remarks.is_empty() {
        out.push('\n');
        for remark in doc.remarks {
            out += &wrap("* ", remark);
        }
    }
    out += "\nIn other programs:\n\n";
    for (program, [theirs, ours]) in doc.conventions.rows() {
        let ours = if ours == NOTHING {
            String::new()
        } else {
            format!(" → **{ours}**")
        };
        out += &wrap("* ", &format!("{program}: {theirs}{ours}"));
    }
    for example in doc.examples {
        out += &format!(
            "\n{}",
            wrap("", &format!("Example: {}.", entry.example_words(example)))
        );
    }
    let references = doc.references.join("; ");
    out += &format!("\n{}", wrap("", &format!("Reference: {references}.")));
    out
}

/// Words that would begin a list, a quote or a heading at the start of a line.
fn must_follow(word: &str) -> bool {
    matches!(word, "+" | "-" | "*" | ">" | "#" | "=")
}

/// A paragraph or an item of a list, within the width of a page.
fn wrap(head: &str, text: &str) -> String {
    let indent = " ".repeat(head.len());
    let mut out = String::new();
    let mut line = String::from(head);
    for word in text.split_whitespace() {
        let empty = line.trim_start_matches("* ").trim().is_empty();
        if !empty && !must_follow(word) && line.chars().count() + 1 + word.chars().count() > WIDTH {
            out += &format!("{line}\n");
            line = format!("{indent}{word}");
        } else {
            line += &if empty {
                word.to_owned()
            } else {
                format!(" {word}")
            };
        }
    }
    out + &line + "\n"
}
