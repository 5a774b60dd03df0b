//! [`Profile`]: what NVIDIA's `ncu` counted, read from its CSV.

use std::collections::BTreeMap;
use std::path::Path;

use super::StudyError;

/// Metrics of the first launch of every kernel in a profile.
#[derive(Clone, Debug, Default)]
pub struct Profile(BTreeMap<String, BTreeMap<String, f64>>);

impl Profile {
    /// Reads what `ncu --csv` wrote.
    ///
    /// # Errors
    /// A file that cannot be read or has no metrics.
    pub fn read(path: &Path) -> Result<Self, StudyError> {
        let name = path.display();
        let text = std::fs::read_to_string(path)
            .map_err(|error| StudyError::Other(format!("cannot read {name}: {error}")))?;
        Self::parse(&text)
            .ok_or_else(|| StudyError::Other(format!("{name} has no metrics; write it with `ncu --csv`")))
    }

    /// None where there are no metrics. What the program and `ncu` print before the table is passed over.
    pub fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines().map(cells);
        let (id, kernel, metric, value) = lines.by_ref().find_map(|head| {
            let at = |name: &str| head.iter().position(|cell| cell == name);
            Some((
                at("ID")?,
                at("Kernel Name")?,
                at("Metric Name")?,
                at("Metric Value")?,
            ))
        })?;
        let mut found = Self::default();
        let mut first: BTreeMap<String, String> = BTreeMap::new();
        for row in lines {
            let cell = |k: usize| row.get(k).cloned().unwrap_or_default();
            let (id, kernel) = (cell(id), cell(kernel));
            let Ok(number) = cell(value).replace(',', "").parse::<f64>() else {
                continue;
            };
            // Parameters may follow the name.
            let kernel = kernel.split('(').next().unwrap_or_default().to_owned();
            if *first.entry(kernel.clone()).or_insert_with(|| id.clone()) == id {
                found.0.entry(kernel).or_default().insert(cell(metric), number);
            }
        }
        (!found.0.is_empty()).then_some(found)
    }

    /// The sum of some metrics of a kernel, each with its factor, as far as the profile has them.
    pub fn sum(&self, kernel: &str, metrics: &[(f64, &str)]) -> Option<f64> {
        let known = self.0.get(kernel)?;
        let parts = metrics
            .iter()
            .filter_map(|(factor, name)| Some(factor * known.get(*name)?));
        let parts: Vec<f64> = parts.collect();
        (!parts.is_empty()).then(|| parts.iter().sum())
    }
}

/// Cells of a line of CSV.
fn cells(line: &str) -> Vec<String> {
    let (mut all, mut quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => all.push(String::new()),
            _ => {
                if let Some(last) = all.last_mut() {
                    last.push(c);
                }
            }
        }
    }
    all
}
