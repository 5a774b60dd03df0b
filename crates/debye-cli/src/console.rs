//! What the user sees: standard output and standard error, neither of which can make the program panic.

use std::io::{ErrorKind, Write};
use std::path::Path;

use debye::analysis::Rounded;

use crate::failure::Failure;

/// Writes to standard output. A reader that went away (`| head`) is no error.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    match written {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::refused(format!("cannot write to standard output: {e}")))
        }
        _ => Ok(()),
    }
}

/// Writes a line to standard error, if anyone listens.
pub fn report(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Tells what is compiled for a card, which takes seconds where it is not on disk.
pub fn report_compilations() {
    debye_gpu::report_compilations(|name| report(&format!("compiling {name}")));
}

/// Refuses files that are there (unless they may be replaced), two of one name, and folders that are not there.
pub fn check_new(files: &[std::path::PathBuf], overwrite: bool) -> Result<(), Failure> {
    for (n, path) in files.iter().enumerate() {
        let name = path.display();
        let refused = |what: &str| Err(Failure::refused(format!("{name} {what}")));
        if files[..n].contains(path) {
            return refused("would be written twice: give another name");
        }
        if path.exists() && !overwrite {
            return refused("is there already; --overwrite replaces it");
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if folder.is_some_and(|folder| !folder.is_dir()) || path.is_dir() {
            return refused("cannot be written: its folder is not there, or it is a folder itself");
        }
    }
    Ok(())
}

/// Makes a folder for results; one that is there must be allowed.
pub fn new_folder(folder: &Path, overwrite: bool) -> Result<(), Failure> {
    let name = folder.display();
    if folder.is_file() {
        return Err(Failure::refused(format!(
            "{name} is a file; -o takes a folder, which is made for the results and their figures"
        )));
    }
    if folder.exists() && !overwrite {
        return Err(Failure::refused(format!(
            "{name} is there already; --overwrite writes into it"
        )));
    }
    std::fs::create_dir_all(folder).map_err(|e| Failure::refused(format!("cannot make {name}: {e}")))
}

/// Writes a file.
pub fn save(path: &Path, content: &[u8]) -> Result<(), Failure> {
    std::fs::write(path, content)
        .map_err(|e| Failure::refused(format!("cannot write {}: {e}", path.display())))
}

/// Facts as indented JSON with a line break. `schema` is the command and the version of what it prints, `energy/1`:
/// the version counts up when a key goes away or changes its meaning.
pub fn json(schema: &str, value: &impl serde::Serialize) -> Result<String, Failure> {
    #[derive(serde::Serialize)]
    struct Marked<'a, T> {
        schema: String,
        #[serde(flatten)]
        value: &'a T,
    }
    let schema = format!("debye/{schema}");
    serde_json::to_string_pretty(&Marked { schema, value })
        .map(|text| text + "\n")
        .map_err(Failure::failed)
}

/// The same for a list, as `results`.
pub fn json_list(schema: &str, results: &[impl serde::Serialize]) -> Result<String, Failure> {
    #[derive(serde::Serialize)]
    struct List<'a, T> {
        results: &'a [T],
    }
    json(schema, &List { results })
}

/// Rows in columns as wide as they need; the first column to the left, the others to the right.
pub fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |k: usize| {
        let cells = rows.iter().filter_map(|row| row.get(k));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (k, cell) in row.iter().enumerate() {
            let room = " ".repeat(widths[k] - cell.chars().count());
            let gap = if k > 0 { "  " } else { "" };
            line += &if k == 0 {
                format!("{gap}{cell}{room}")
            } else {
                format!("{gap}{room}{cell}")
            };
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// Facts as `name  value`, names in a column.
pub fn facts(rows: &[(&str, String)]) -> String {
    let width = rows
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or(0);
    rows.iter()
        .map(|(name, value)| format!("  {name:width$}  {value}\n"))
        .collect()
}

/// A whole number with thin groups of three: `1 047 293`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) && digits.len() > 4 {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// A number with about four digits, for people.
pub fn short(x: f64) -> String {
    let magnitude = x.abs();
    if x == 0.0 || !x.is_finite() {
        format!("{x}")
    } else if !(1e-3..1e6).contains(&magnitude) {
        format!("{x:.3e}")
    } else {
        let digits = (3 - magnitude.log10().floor() as i32).max(0) as usize;
        format!("{x:.digits$}")
    }
}

/// A value and its standard error, both to the second digit of the error: `-1.234 ± 0.056`.
pub fn measured(value: f64, error: f64) -> String {
    Rounded::new(value, error).map_or_else(|| short(value), |rounded| rounded.to_string())
}

/// A duration in the units people think in.
pub fn duration(seconds: f64) -> String {
    if seconds < 60.0 {
        format!("{seconds:.1} s")
    } else if seconds < 3600.0 {
        format!(
            "{} min {:.0} s",
            (seconds / 60.0) as u64,
            (seconds % 60.0).floor()
        )
    } else {
        format!(
            "{} h {} min",
            (seconds / 3600.0) as u64,
            (seconds % 3600.0 / 60.0) as u64
        )
    }
}
