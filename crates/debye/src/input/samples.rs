//! Sampled functions: rows of distance and energy, in the file itself or in one beside it.

use std::path::Path;

use super::error::InputError;
use super::reader::Item;
use crate::system::{Dimension, Units};

type Result<T> = std::result::Result<T, InputError>;

/// Rows written as [[r, u], …], or the name of a file with two columns.
pub(super) fn read(item: &Item, folder: &Path, units: Units) -> Result<Vec<[f64; 2]>> {
    let expected = "rows [[distance, energy], …] or the name of a file with two columns";
    if item.is_list() {
        let row = |row: Item| {
            let [r, u] = row.array("a distance and an energy")?;
            Ok([
                r.quantity(units, Dimension::LENGTH)?,
                u.quantity(units, Dimension::ENERGY)?,
            ])
        };
        return item.list()?.into_iter().map(row).collect();
    }
    if !item.is_text() {
        return Err(item.wrong(expected));
    }
    let path = folder.join(item.file_name()?);
    let shown = path.display();
    let text = std::fs::read_to_string(&path).map_err(|e| {
        item.error(format!("cannot be read: {shown}: {e}"))
            .expected(expected)
    })?;
    let mut rows = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        let mut columns = line
            .split(|c: char| c.is_whitespace() || c == ',')
            .filter(|c| !c.is_empty());
        let mut next = || {
            columns
                .next()
                .and_then(|c| c.parse().ok())
                .filter(|x: &f64| x.is_finite())
        };
        let (Some(r), Some(u)) = (next(), next()) else {
            let excerpt: String = line.chars().take(60).collect();
            return Err(item
                .error(format!(
                    "cannot be read: {shown}, line {}: found `{excerpt}`",
                    number + 1
                ))
                .expected("two finite numbers, distance and energy"));
        };
        rows.push([r, u]);
    }
    Ok(rows)
}
